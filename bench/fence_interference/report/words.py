# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The words of the report: what victims, noise and arms are called, and how figures are written."""

SCOPES = ("block", "cluster", "device", "system")
ORDERS = ("acq_rel", "seq_cst")
PLACEMENTS = ("own_sm", "shared_sm")

# Traffic that is not the victim's own. Spin and local stores are controls: nothing may wait for spin, and domains
# may not change anything for either.
FOREIGN = ("nvlink", "nccl", "host")
KINDS = ("none", "spin", "local", "host", "nvlink", "nccl")
PACES = ("saturating", "paced")
ARMS = ("alone", "same", "separate", "swapped", "alias", "map", "env0")

NOISE = {
    "none": "no noise",
    "spin": "a spinning kernel",
    "local": "local stores",
    "host": "stores to host memory",
    "nvlink": "NVLink stores",
    "nccl": "NCCL's all-reduce",
}

CONTEXT = (
    ("gpu", "GPU"),
    ("gpu_count", "GPUs"),
    ("compute_capability", "compute capability"),
    ("sm_count", "SMs"),
    ("sync_domain_count", "memory synchronization domains"),
    ("sm_clock_mhz", "SM clock, MHz"),
    ("link", "link"),
    ("numa", "NUMA"),
    ("driver", "driver"),
    ("cuda_runtime", "CUDA runtime"),
    ("nccl_version", "NCCL"),
    ("membar_version", "membar"),
    ("date", "date"),
    ("command", "command"),
)

_PLACED = {"own_sm": "on an SM of its own", "shared_sm": "sharing an SM with the noise"}
_BOUNDARY = {"stream": "stream launches", "graph": "graph", "shared_queue": "stream launches, NCCL's queue"}
_OPERATION = {"fence": "Fence", "release_store": "Release store", "acquire_load": "Acquire load"}

# Section order of the report; the second item says what the times of the section are.
FAMILIES = (
    ("kernel_boundary", "Kernel boundary", "time per kernel of a chain of tiny local kernels"),
    ("fence", "Fence", "time of one fence"),
    ("release_store", "Release store", "time of one release store"),
    ("acquire_load", "Acquire load", "time of one acquire load"),
)


def victims():
    """Every victim the bench knows, in the order in which the report shows them."""
    every = ["kernel_boundary." + form for form in _BOUNDARY]
    for scope in SCOPES:
        every += ["fence.%s.%s.%s" % (scope, order, place) for place in PLACEMENTS for order in ORDERS]
    for operation in ("release_store", "acquire_load"):
        every += ["%s.%s.%s" % (operation, scope, place) for scope in SCOPES for place in PLACEMENTS]
    return every


VICTIMS = tuple(victims())
NOISES = ("none", "spin") + tuple("%s.%s" % (kind, pace) for kind in KINDS[2:] for pace in PACES)


def victim_name(victim):
    """The full name, as used in titles: 'Fence, device scope, acq_rel, on an SM of its own'."""
    parts = victim.split(".")
    if parts[0] == "kernel_boundary":
        return "Kernel boundary, " + _BOUNDARY[parts[1]]
    words = [_OPERATION[parts[0]], parts[1] + " scope"] + parts[2:-1] + [_PLACED[parts[-1]]]
    return ", ".join(words)


def victim_row(victim):
    """The short name, as used in a row below the family's heading."""
    parts = victim.split(".")
    if parts[0] == "kernel_boundary":
        return _BOUNDARY[parts[1]]
    return " · ".join(parts[1:-1] + [{"own_sm": "own SM", "shared_sm": "shared SM"}[parts[-1]]])


def noise_name(noise):
    kind, _, pace = noise.partition(".")
    return NOISE[kind] + (", " + pace if pace else "")


def sentence_case(text):
    return text[:1].upper() + text[1:]


def listed(items, word="and"):
    items = list(items)
    if len(items) < 2:
        return "".join(items)
    return ", ".join(items[:-1]) + " %s " % word + items[-1]


def counted(count, noun):
    return "%d %s%s" % (count, noun, "" if count == 1 else "s")


def factor(value):
    """A ratio in a table or picture: three figures, or as many as stand before the point."""
    if value >= 99.95:
        return "{:,.0f}".format(value)
    return "%.1f" % value if value >= 9.995 else "%.2f" % value


def times(value):
    """A ratio in a sentence; near 1 with the digit that tells it from 1."""
    if value >= 9.95:
        return "{:,.0f}×".format(value)
    return ("%.1f×" if value >= 1.4 else "%.2f×") % value


def span(values):
    """A set of ratios in a sentence: one number if they are alike, else the range."""
    low, high = min(values), max(values)
    if high <= 1.15 * low or times(low) == times(high):
        return times(high)
    return times(low)[:-1] + "–" + times(high)


def unit_of(typical_ns):
    """One unit for all times of a victim: (divisor, name)."""
    return (1000.0, "µs") if typical_ns >= 2000 else (1.0, "ns")


def duration(ns, divisor):
    value = ns / divisor
    if value >= 99.95 or (divisor == 1.0 and value >= 1000):
        return "{:,.0f}".format(value)
    return "%.1f" % value if value >= 9.995 or divisor == 1.0 else "%.2f" % value


def bandwidth(gbps):
    if gbps == 0:
        return "0"
    return "%.0f" % gbps if gbps >= 9.95 else "%.1f" % gbps if gbps >= 0.095 else "%.2f" % gbps


def day(context):
    """The date without the time of day that ISO 8601 may append."""
    return context.get("date", "").partition("T")[0]


def machine(context):
    """The machine in one line, from whatever the context holds."""
    said = []
    if context.get("gpu"):
        count = context.get("gpu_count", "")
        said.append((count + " × " if count not in ("", "1") else "") + context["gpu"])
    for key, form in (("link", "%s"), ("driver", "driver %s"), ("cuda_runtime", "CUDA %s"), ("nccl_version", "NCCL %s"),
                      ("sm_clock_mhz", "%s MHz"), ("sync_domain_count", "%s domains"), ("membar_version", "membar %s"),
                      ("date", "%s")):
        if context.get(key):
            text = form % (day(context) if key == "date" else context[key])
            said.append("1 domain" if text == "1 domains" else text)
    return " · ".join(said) or "machine not stated in the file"


def recorded_line(context):
    """What every page and picture of a recorded report says."""
    place = context.get("gpu") or "another machine"
    date = day(context)
    return "recorded on %s, %snot measured on this machine" % (place, date + ", " if date else "")
