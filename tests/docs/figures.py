#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Fills in the measured figures on the pages from the results in docs/measurements, and states the hash of the headers used for each measurement.

usage: figures.py [--check] [--root FOLDER]

A table of figures is between `<!-- figures.py: NAME -->` and `<!-- end -->`; TABLES lists the tables on each page. Figures in prose are
written into the sentences in SAYS; each `{}` in a sentence is a figure. The guide's sentences are in guide_figures.py. Every result names
the
headers it was made with, by the hash of their folder (bench/common/include_hash.py). Results that are older than this rule are
in OLDER, a list to which nothing may be added. docs/measurements/README.md lists them, and a page that links to one of them
also links to that list, with a sentence that says so. A measured figure that is neither in a table nor in such a sentence is an
error (unbound_figures.py). --check writes nothing, and fails if a page is out of date or a result names no headers.
tests/conformance/table.py writes the tables of docs/conformance.md.
"""
import argparse
import pathlib
import re
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT / "bench" / "common"), str(pathlib.Path(__file__).resolve().parent)]
import asynchronous_figures  # noqa: E402
import guide_figures  # noqa: E402
import header_figures  # noqa: E402
import record_figures  # noqa: E402
import start_tables  # noqa: E402
import unbound_figures  # noqa: E402
from results import parsed  # noqa: E402
from start_tables import table, time_of  # noqa: E402

NOT_RECORDED = "not recorded"
MEASUREMENTS = "docs/measurements/README.md"
README = "README.md"
LIST = "results-that-name-no-headers"  # The anchor of a heading in that file.
HASH = re.compile(r"[0-9a-f]{40}")

OLDER = {
    "h200": ("fence_interference", "loops_by_turns"),
    "h200-x2": ("hardware_queues",),
    "h200-x4": ("put_signal_latency",),
    "codegen": ("mutations",),
    "model": ("model_throughput",),
}


class Results:
    """The contents of docs/measurements, together with the files from which a table was made."""

    def __init__(self, folder):
        self.folder, self._used, self._cases = folder, [], {}

    def read(self, name):
        if name not in self._used:
            self._used.append(name)
        return parsed((self.folder / f"{name}.json").read_text(encoding="utf-8"))

    def cases(self, name):
        """Returns the counters of each case in a bench."""
        if name not in self._cases or name not in self._used:
            self._cases[name] = {re.sub(r"/iterations:.*", "", case["name"]): case for case in self.read(name)["benchmarks"]}
        return self._cases[name]

    def sources(self, page):
        """Returns a line for `page` that names the files of the last table, each with the hash of the headers that it was measured with."""
        to = "../" * (len(pathlib.PurePath(page).parts) - 2) + "measurements"

        def headers(name):
            told = self.read(name).get("context", self.read(name))["include"]
            return f"[no header hash]({to}/README.md#{LIST})" if told == NOT_RECORDED else f"header hash `{told}`"

        told = [f"[{pathlib.PurePath(name).name}.json]({to}/{name}.json) ({headers(name)})" for name in self._used]
        self._used = []
        return "Measured: " + "; ".join(told) + "."


def rate(value):
    return f"{value / 1e9:.2g}e9" if value < 1e9 else f"{value / 1e9:.1f}e9"


def part(value):
    return f"{value:.1e}" if value else "not observed"


def litmus_rates(results):
    cases = results.cases("h200/litmus_rate")
    rows = [(f"{shape}, relaxed, blocks of one GPU", f"rate/device/{shape}") for shape in "MP SB LB IRIW ISA2 WRC RWC 2+2W CoRR".split()]
    rows += [("MP in one block", "rate/block/MP"), ("MP in one cluster", "rate/cluster/MP"),
             ("MP across two domains, relaxed at system scope", "rate/domains/MP"), ("MP from a GPU to a host thread", "rate/host_reads/MP"),
             ("MP from a host thread to a GPU", "rate/host_writes/MP")]
    lines = []
    for words, name in rows:
        plain, tuned = cases[name], cases.get(f"{name}/tuned")
        lines.append([words, *(say(plain[key]) + (f"; tuned {say(tuned[key])}" if tuned else "")
                               for key, say in (("instances_per_second", rate), ("weak_fraction", part)))])
    return table(["test", "instances/s", "weak outcomes per instance"], lines)


def litmus_costs(results):
    cases = {name: case["instances_per_second"] for name, case in results.cases("h200/litmus_cost").items()}
    stress = [value for name, value in cases.items() if name.startswith("cost/MP/share=75 stress=25 ")]
    return table(["variant", "instances/s"], [
        ["default", rate(cases["cost/MP/engine"])],
        ["without counting and reset (the outcomes are then meaningless)", rate(cases["cost/MP/uncounted"])],
        ["counting and reset on the host, between two launches", rate(cases["cost/MP/host_reset"])],
        ["a quarter of the blocks create stress", f"{rate(min(stress))} to {rate(max(stress))}"],
        ["cells 128 bytes apart", rate(cases["cost/MP/stride=128"])],
        ["threads in one warp", rate(cases["cost/MP/within=lanes"])]])


def questions(results):
    tests = [t for t in results.read("h200/conformance")["tests"] if t["instances"]]

    def chosen(role, place, words="", without=()):
        return [t for t in tests if t["role"] == role and t["test"].rsplit("@", 1)[1].startswith(place) and re.search(words, t["test"])
                and shape(t) not in without]

    def shape(test):
        return re.match(r"2\+2W|[^+]+", test["test"]).group()

    def sum_of(found, key):
        return sum(t[key] for t in found)

    def seen(found):
        weak = sum_of(found, "weak")
        return "not observed" if weak == 0 else f"observed {weak} times"

    def highest(found, shapes):
        rates = {name: max((t["weak"] / t["instances"] for t in found if shape(t) == name), default=0) for name in shapes}
        return ", ".join(f"{name} {part(value)}" for name, value in rates.items())

    not_order = ("Atomicity", "Atomicity.final", "Torn", "CoRR", "Proxy", "Reuse")
    block = chosen("control", "one_block", without=not_order)
    proxy = chosen("control", "one_block", "^Proxy")
    cluster = chosen("control", "one_cluster", "relaxed.cluster")
    device = chosen("control", "two_domains", r"^MP.*\.device")
    domains = chosen("control", "two_domains", r"relaxed\.system")
    halves = chosen("guarantee", "", r"thread_fence\.(acquire|release)\.")
    without = max(t["weak"] / t["instances"] for t in chosen("control", "one_device", "^MP"))
    host = {place: max(t["weak"] / t["instances"] for t in chosen("control", place, "^MP.*relaxed")) for place in ("host_last", "host_first")}
    kept = chosen("guarantee", "host", "^MP")
    ran = {place: sorted(t["instances"] for t in tests if ("host" in t["test"].rsplit("@", 1)[1]) == (place == "host")) for place in ("gpu", "host")}
    return table(["question", "answer"], [
        ["Are weak outcomes ever observed between threads of one block?",
         f"{seen(block)} in the generic proxy, in {len(block)} forms of {len(set(map(shape, block)))} shapes and {sum_of(block, 'instances'):.1e} "
         f"instances; without its proxy fence, a bulk copy reads old data at a rate of {part(sum_of(proxy, 'weak') / sum_of(proxy, 'instances'))}"],
        ["What are the highest rates between blocks of one cluster, with accesses that are relaxed at cluster scope?",
         highest(cluster, ("MP", "SB", "LB", "2+2W", "IRIW"))],
        ["Are weak outcomes observed between two domains at *device* scope, where the model allows them?",
         f"{seen(device)} in {len(device)} forms of MP and {sum_of(device, 'instances'):.1e} instances, all in local memory; the only stores for which "
         "a fence does not wait are another domain's stores to remote memory"],
        ["What are the highest rates between two domains, with accesses that are relaxed at system scope?",
         highest(domains, ("MP", "SB", "LB", "ISA2", "WRC", "IRIW"))],
        ["Is an acquire-only or a release-only fence enough where the model says that it is?",
         f"{sum_of(halves, 'forbidden')} forbidden outcomes in {len(halves)} forms and {sum_of(halves, 'instances'):.1e} instances; a control for MP "
         f"shows a rate of up to {part(without)}"],
        ["What is observed between a GPU and a host thread in mapped memory?",
         f"relaxed MP at rates of {part(host['host_last'])} (the host reads) and {part(host['host_first'])} (the host writes); with the guarantees for MP, "
         f"{sum_of(kept, 'forbidden')} forbidden outcomes in {sum_of(kept, 'instances'):.1e} instances"]]) + (
             f"\n\nEach form ran between {ran['gpu'][0]:.1e} and {ran['gpu'][-1]:.1e} instances; forms with a host thread ran between "
             f"{ran['host'][0]:.1e} and {ran['host'][-1]:.1e}.")


def domain_costs(results):
    cases = results.cases("h200-x2/fence_interference")
    boundary = {"stream": "end of a tiny kernel, stream launches", "graph": "end of a tiny kernel, graph"}
    rows = [(words, f"kernel_boundary.{form}", noise) for noise in ("nvlink.saturating", "nccl.saturating") for form, words in boundary.items()]
    rows += [("end of a tiny kernel, graph", "kernel_boundary.graph", "nccl.paced")]
    places = {"shared_sm": "on the other kernel's multiprocessor", "own_sm": "on another multiprocessor"}
    rows += [(f"device-scope fence, {places['shared_sm']}", "fence.device.acq_rel.shared_sm", noise)
             for noise in ("nvlink.saturating", "nvlink.paced", "nccl.saturating")]
    rows += [(f"device-scope fence, {places['own_sm']}", "fence.device.acq_rel.own_sm", noise) for noise in ("nvlink.saturating", "nccl.saturating")]
    rows += [(f"system-scope fence, {places['own_sm']}", "fence.system.acq_rel.own_sm", noise)
             for noise in ("nvlink.saturating", "nvlink.paced", "nccl.saturating")]
    rows += [(f"block-scope fence, {places['shared_sm']}", "fence.block.acq_rel.shared_sm", "nvlink.saturating")]
    traffic = {"nvlink.saturating": "NVLink stores", "nvlink.paced": "NVLink stores", "nccl.saturating": "NCCL's all-reduce",
               "nccl.paced": "NCCL's all-reduce on two blocks"}

    return table(["what waits", "what runs meanwhile", "alone", "same domain", "separate domain"],
                 [[words, f"{traffic[noise]} at {cases[f'{victim}/{noise}/same']['noise_gbps']:.0f} GB/s",
                   *(time_of(cases[f"{victim}/{arm}"]["p50_ns"]) for arm in ("none/alone", f"{noise}/same", f"{noise}/separate"))]
                  for words, victim, noise in rows])


def bugs(results):
    lines = []
    for name, case in sorted(results.cases("h200/bugs").items(), key=lambda item: item[1]["wrong"] + item[1]["hangs"] == 0):
        seen = [f"{case[key]:,} {word}{'s' if case[key] > 1 else ''}" for key, word in (("wrong", "wrong value"), ("hangs", "hang")) if case[key]]
        lines.append([f"`{name}`", ", ".join(seen) or "never", f"{case['runs']:,}", f"{case['fixed_runs']:,}"])
    return table(["wrong kernel", "faults seen", "runs", "runs of the fixed kernel, without a fault"], lines)


def witnessed(folder, file):
    """Returns how often the entries in a folder failed on a GPU when their threads were delayed."""
    def made(results):
        lines = []
        for name, told in results.read(file)["entries"].items():
            if not (ROOT / folder / f"{name}.wrong.scenario").exists() or "fixed" not in told or told["status"] == "verified":
                continue
            runs = {arm["kind"]: arm for arm in told["wrong"]["runs"]}
            cells = []
            for kind in ("no delays", "delays", "no delays and early loads", "delays and early loads"):
                arm = runs.get(kind)
                bad = 0 if arm is None else arm["wrong"] + arm["hangs"]
                cells.append("" if arm is None else f"{f'**{bad:,}**' if bad else '0'} of {arm['runs']:,}")
            fixed = told["fixed"]["runs"]
            cells.append(f"{sum(arm['wrong'] + arm['hangs'] for arm in fixed):,} of {sum(arm['runs'] for arm in fixed):,}")
            lines.append([f"`{name}`", *cells])
        return table(["entry", "no delays", "delays", "no delays, early loads", "delays and early loads", "fixed, all runs"], lines)
    return made


def witnessed_dependents(results):
    """Returns the same counts for a PyTorch program's kernels, and the machine on which they ran."""
    file = "h200/witness_dependents"
    rows = witnessed("tests/record", file)(results)
    told = results.read(file)
    devices = {entry["device"].removeprefix("NVIDIA ") for entry in told["entries"].values()}
    return f"On one {', '.join(sorted(devices))}, driver {told['context']['driver']}, {told['context']['date']}:\n\n{rows}"


def older_results(results):
    lines = []
    for machine, names in OLDER.items():
        for name in names:
            told = results.read(f"{machine}/{name}")
            context = told.get("context", told)
            lines.append([f"[{machine}/{name}]({machine}/{name}.json)", context.get("date", NOT_RECORDED)[:len(NOT_RECORDED)].split("T")[0],
                          context.get("membar_version", "not recorded")])
    return table(["result", "date", "version of membar"], lines)


def one_number(results):
    told = results.read("h200-x2/domains/run")

    def times(program):
        off, moved = (told["programs"][program][arm]["result"] for arm in ("off_0", "run_0"))
        return off["alone"]["p50"], off["beside_late"]["p50"], moved["beside_late"]["p50"], moved["beside_late"]["count"]

    alone, beside, moved, count = times("decode_symm")
    _, larger, larger_moved, _ = times("decode_large_symm")
    return (f"One number: on two {told['gpu'].removeprefix('NVIDIA ')} GPUs, a captured decode step of a transformer takes {alone:.0f} µs on its own, and {beside:.0f} µs "
            f"while PyTorch's two-shot all-reduces run. With the all-reduces in their own domain, it takes {moved:.0f} µs, **{beside / moved:.2f} times as fast**. "
            "`membar-domains run` found the all-reduces, measured the gain and moved them while the program ran, without recompilation. With twice the hidden size and twice "
            f"the batch, the step becomes {larger / larger_moved:.2f} times as fast ({larger_moved:,.0f} instead of {larger:,.0f} µs). Conditions: medians of "
            f"{count:,} steps, PyTorch {told['torch']}, driver {told['driver']}, {told['date']} ([results](docs/measurements/h200-x2/domains/run.json)). "
            "[Other programs](docs/membar_domains.md#one-command) gain more, less, or nothing.")


TABLES = {README: {"one number": one_number},
          MEASUREMENTS: {"older results": older_results},
          "docs/litmus_on_gpu.md": {"litmus rates": litmus_rates, "litmus costs": litmus_costs, "questions": questions},
          "docs/asynchronous_copies.md": asynchronous_figures.TABLES,
          "docs/sync_domains.md": {"domains": domain_costs},
          "docs/bugs.md": {"bugs on a GPU": bugs},
          "docs/witness.md": {"witnessed bugs": witnessed("examples/bugs", "h100/witness"), "witnessed dependents": witnessed_dependents},
          "docs/found.md": {"witnessed faults": witnessed("examples/found", "h100/witness_found")},
          **record_figures.TABLES,
          **start_tables.TABLES}
SAYS = {}
for made in (guide_figures, header_figures):  # A page may have figures of both kinds.
    for into, pages in ((TABLES, made.TABLES), (SAYS, made.SAYS)):
        for page, of in pages.items():
            into[page] = {**into.get(page, {}), **of}
FIGURE = r"(\d+(?:,\d{3})*(?:\.\d+)?(?:e\d+)?)"


def filled(page, text, results, tables):
    """Returns the page with its tables. The sources of a table are listed below it, or in the page's table of sources, if it has one."""
    for name, made in [*tables.items(), *([("sources", None)] if "<!-- figures.py: sources -->" in text else [])]:
        begin, end = f"<!-- figures.py: {name} -->", "<!-- end -->"
        parts = text.split(begin)
        if len(parts) != 2 or end not in parts[1]:
            raise SystemExit(f"figures.py: {page} needs {begin}, followed by {end}, exactly once")
        together = name != "sources" and "<!-- figures.py: sources -->" in text
        body = results.sources(page) if name == "sources" else made(results)
        sources = "" if page in (MEASUREMENTS, README) or together or name == "sources" else f"\n{results.sources(page)}\n"
        text = f"{parts[0]}{begin}\n{body}\n{sources}{end}{parts[1].split(end, 1)[1]}"
    return text


def pattern_of(sentence):
    return FIGURE.join(r"\s+".join(map(re.escape, re.split(r"\s+", part))) for part in sentence.split("{}"))


def said(page, text, results, sentences):
    """Returns the page with the figures from its results in these sentences. A sentence may contain line breaks anywhere."""
    for sentence, made in sentences.items():
        found = list(re.finditer(pattern_of(sentence), text))
        if len(found) != 1:
            raise SystemExit(f"figures.py: {page} has the sentence \"{sentence}\" {len(found)} times: it must occur once, with a figure "
                             f"for each {{}}")
        figures = made(results)
        if len(figures) != sentence.count("{}"):
            raise SystemExit(f"figures.py: {page}: {len(figures)} figures for the sentence \"{sentence}\", which takes "
                             f"{sentence.count('{}')}")
        for place, figure in reversed(list(enumerate(figures, 1))):
            text = text[:found[0].start(place)] + figure + text[found[0].end(place):]
    return text


def unnamed(folder):
    """Yields the errors in the headers that the results name."""
    older = {f"{machine}/{name}" for machine, names in OLDER.items() for name in names}
    for file in sorted(folder.glob("*/*.json")):
        name = file.relative_to(folder).with_suffix("").as_posix()
        told = parsed(file.read_text(encoding="utf-8"))
        headers = told.get("context", told).get("include")
        if name in older:
            older.remove(name)
            if headers != NOT_RECORDED:
                yield f"{name} names its headers now: take it out of OLDER in figures.py"
        elif not HASH.fullmatch(str(headers)):
            yield f"{name} names no headers: measure it with a program of this repository, which records the hash of `include`"
    yield from (f"{name} is in OLDER in figures.py and has no result: take it out" for name in sorted(older))


def unsaid(root):
    """Yields the pages that link to a result without headers but do not mention that it names none."""
    older = [f"{machine}/{name}.json" for machine, names in OLDER.items() for name in names]
    for page in sorted(root.glob("docs/**/*.md")):
        text = page.read_text(encoding="utf-8")
        links = re.findall(r"\]\(([^)#]+\.json)\)", text)
        to = sorted({name for name in older for link in links if f"measurements/{name}" in (page.parent / link).resolve().as_posix()})
        if to and page != root / MEASUREMENTS and f"README.md#{LIST}" not in text:
            yield f"{page.relative_to(root)} links to {', '.join(to)}, which names no headers: say so, and link to {MEASUREMENTS}#{LIST}"


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--check", action="store_true")
    parser.add_argument("--root", type=pathlib.Path, default=ROOT)
    options = parser.parse_args()
    folder = options.root / "docs" / "measurements"
    wrong = [*unnamed(folder), *unsaid(options.root)]
    for page in dict.fromkeys([*TABLES, *SAYS]):
        path = options.root / page
        text = path.read_text(encoding="utf-8")
        results = Results(folder)
        new = said(page, text, results, SAYS.get(page, {}))
        if "<!-- figures.py: sources -->" not in text:
            results = Results(folder)  # A table names the files that contain its figures.
        new = filled(page, new, results, TABLES.get(page, {}))
        if new != text and options.check:
            wrong.append(f"{page} does not match its results: run tests/docs/figures.py")
        elif new != text:
            path.write_text(new, encoding="utf-8")
    pages = [options.root / README, *sorted((options.root / "docs").rglob("*.md"))]
    named = [(page.relative_to(options.root).as_posix(), page.read_text(encoding="utf-8")) for page in pages]
    wrong += unbound_figures.unbound([(name, text, [*map(pattern_of, SAYS.get(name, {}))]) for name, text in named])
    print(*wrong or ["every figure in a table or sentence of figures.py matches its results"], sep="\n")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
