# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The wording of the report: the names of victims, noise and arms, and the format of figures."""

SCOPES = ("block", "cluster", "device", "system")
ORDERS = ("acq_rel", "seq_cst")
PLACEMENTS = ("own_sm", "shared_sm")

# Traffic that is not the victim's own. Spin and local stores are controls: nothing may wait for spin, and domains must make no
# difference for either control.
FOREIGN = ("nvlink", "nvlink_both", "nccl", "host")
KINDS = ("none", "spin", "local", "host", "nvlink", "nvlink_both", "nccl")
PACES = ("saturating", "paced")
ARMS = ("alone", "same", "separate", "swapped", "alias", "map", "env0")

NOISE = {"none": "no noise", "spin": "a spinning kernel", "local": "local stores", "host": "stores to host memory",
         "nvlink": "NVLink stores", "nvlink_both": "NVLink stores both ways",
         "nccl": "NCCL's all-reduce"}
CONTEXT = (("gpu", "GPU"), ("gpu_count", "GPUs"), ("compute_capability", "compute capability"), ("sm_count", "SMs"),
           ("sync_domain_count", "memory synchronization domains"), ("sm_clock_mhz", "SM clock, MHz"), ("link", "link"),
           ("numa", "NUMA"), ("driver", "driver"), ("cuda_runtime", "CUDA runtime"), ("nccl_version", "NCCL"),
           ("membar_version", "membar"), ("date", "date"), ("command", "command"))

_PLACED = {"own_sm": "on its own SM", "shared_sm": "sharing an SM with the noise"}
_BOUNDARY = {"stream": "stream launches", "graph": "graph", "shared_queue": "stream launches on NCCL's queue"}
_OPERATION = {"fence": "Fence", "release_store": "Release store", "acquire_load": "Acquire load"}

# The sections in order. The second item of each entry describes the times in that section.
FAMILIES = (
    ("kernel_boundary", "Kernel boundary", "time per kernel in a chain of tiny local kernels"),
    ("fence", "Fence", "time of one fence"),
    ("release_store", "Release store", "time of one release store"),
    ("acquire_load", "Acquire load", "time of one acquire load"),
)


# The names that the bench uses, in the report's order.
VICTIMS = (*[f"kernel_boundary.{form}" for form in _BOUNDARY],
           *[f"fence.{scope}.{order}.{place}" for scope in SCOPES for place in PLACEMENTS for order in ORDERS],
           *[f"{operation}.{scope}.{place}" for operation in ("release_store", "acquire_load") for scope in SCOPES
             for place in PLACEMENTS])
NOISES = ("none", "spin", *[f"{kind}.{pace}" for kind in KINDS[2:] for pace in PACES])


def victim_name(victim):
    """Returns the full name, as used in titles: 'Fence, device scope, acq_rel, on its own SM'."""
    parts = victim.split(".")
    if parts[0] == "kernel_boundary":
        return "Kernel boundary, " + _BOUNDARY[parts[1]]
    return ", ".join([_OPERATION[parts[0]], f"{parts[1]} scope", *parts[2:-1], _PLACED[parts[-1]]])


def victim_row(victim):
    """Returns the short name, as used in a row below the family's heading."""
    parts = victim.split(".")
    if parts[0] == "kernel_boundary":
        return _BOUNDARY[parts[1]]
    return " · ".join(parts[1:-1] + [{"own_sm": "own SM", "shared_sm": "shared SM"}[parts[-1]]])


def event(victim, noise, determiner="a"):
    """Returns one event and the conditions under which it occurs, each as a part of a sentence: ('the end of each kernel in a graph',
    'during paced NVLink stores'). `determiner` precedes the event's noun."""
    operation, kind, *rest = victim.split(".")
    if operation == "kernel_boundary":
        what = {"stream": "that is launched into a stream", "graph": "in a graph", "shared_queue": "on the hardware queue of NCCL's stream"}
        return f"the end of {determiner} kernel {what[kind]}", f"during {traffic(noise)}"
    order = f" ({rest[0]})" if len(rest) == 2 else ""
    place = {"own_sm": f"during {traffic(noise)} on other SMs", "shared_sm": f"on an SM that also executes {traffic(noise)}"}[rest[-1]]
    return f"{determiner} {kind}-scope {operation.replace('_', ' ')}{order}", place


def traffic(noise):
    """Returns the noise within a sentence: 'saturating NVLink stores'."""
    kind, _, pace = noise.partition(".")
    kinds = {**NOISE, "nccl": "NCCL all-reduces", "nvlink_both": "NVLink stores in both directions"}
    return f"{pace} {kinds[kind]}".strip()


def noise_name(noise):
    kind, _, pace = noise.partition(".")
    return NOISE[kind] + (", " + pace if pace else "")


def sentence_case(text):
    return text[:1].upper() + text[1:]


def listed(items, word="and"):
    *all_but_last, last = list(items) or [""]
    return ", ".join(all_but_last) + f" {word} " * bool(all_but_last) + last


def counted(count, noun):
    return f"{count} {noun}{'' if count == 1 else 's'}"


def factor(value):
    """Formats a ratio in a table or picture: three digits, or all digits before the point if there are more."""
    if value >= 99.95:
        return "{:,.0f}".format(value)
    return "%.1f" % value if value >= 9.995 else "%.2f" % value


def times(value):
    """Formats a ratio in a sentence; a ratio near 1 gets enough digits to differ from 1."""
    if value >= 9.95:
        return "{:,.0f}×".format(value)
    return ("%.1f×" if value >= 1.4 else "%.2f×") % value


def span(values):
    """Formats a set of ratios in a sentence: one number if they are alike, otherwise the range."""
    low, high = min(values), max(values)
    if high <= 1.15 * low or times(low) == times(high):
        return times(high)
    return times(low)[:-1] + "–" + times(high)


def unit_of(typical_ns):
    """Returns a unit for all times of a victim: (divisor, name)."""
    return (1000.0, "µs") if typical_ns >= 2000 else (1.0, "ns")


def duration(ns, divisor):
    value = ns / divisor
    if value >= 99.95 or (divisor == 1.0 and value >= 1000):
        return "{:,.0f}".format(value)
    return "%.1f" % value if value >= 9.995 or divisor == 1.0 else "%.2f" % value


def bandwidth(gbps):
    return "0" if gbps == 0 else "%.0f" % gbps if gbps >= 9.95 else "%.1f" % gbps if gbps >= 0.095 else "%.2f" % gbps


def day(context):
    """Returns the date without the time of day that ISO 8601 may append."""
    return context.get("date", "").partition("T")[0]


def machine(context):
    """Describes the machine in one line, from the available context."""
    several = context.get("gpu_count", "1") != "1"
    known = {**context, "date": day(context)}
    forms = {"gpu": "{gpu_count} × {gpu}" if several else "{gpu}", "link": "{link}", "driver": "driver {driver}",
             "cuda_runtime": "CUDA {cuda_runtime}", "nccl_version": "NCCL {nccl_version}", "sm_clock_mhz": "{sm_clock_mhz} MHz",
             "sync_domain_count": "1 domain" if known.get("sync_domain_count") == "1" else "{sync_domain_count} domains",
             "membar_version": "membar {membar_version}", "date": "{date}"}
    return " · ".join(form.format_map(known) for key, form in forms.items() if known.get(key)) or "machine not stated in the file"


def recorded_line(context):
    """Returns the line that appears on every page and picture of a recorded report."""
    parts = [f"recorded on {context.get('gpu') or 'another machine'}", day(context), "not measured on this machine"]
    return ", ".join(part for part in parts if part)
