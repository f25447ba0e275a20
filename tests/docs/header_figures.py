# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The figures in the reference and on the tools' pages, taken from the results in docs/measurements, for figures.py. A table row with a
figure for each {} is treated as a sentence. `at` makes figures from some of the cases in a file.
"""
import fnmatch
import pathlib
import re
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT / "bench" / "common"), str(ROOT / "bench" / "domains")]
import model  # noqa: E402
from guide_figures import fence, short  # noqa: E402
from results import read  # noqa: E402
from start_tables import table  # noqa: E402

COST, CONTENTION, PATTERNS = "h200/atomic_cost", "h200/atomic_contention", "h200/sync_patterns"
ROUND, WIDE, ALL, TORCH, PUBLISHER = "h100-x2/put_signal_latency", "h100-x2/put_bandwidth", "h100-x2/all_reduce_latency", "h100-x2/all_reduce_torch", "h200-x2/publisher"
DOMAINS, CHECK, WINDOW = "h200-x2/domains/domains", "model/check_throughput", "h200/l2_window"


def fixed(value, digits=3):
    """Formats a figure with this many digits, including trailing zeros: 0.950, 1.70, 15.6, 2,225."""
    return f"{value:,.0f}" if abs(value) >= 10 ** (digits - 1) else f"{value:#.{digits}g}"


def at(file, *names, by=1.0, digits=3, key="real_time", head=""):
    return lambda r: [fixed(r.cases(file)[head + name][key] / by, digits) for name in names]


def over(file, *pairs, digits=3, key="real_time"):
    """Divides one case's figure by another's."""
    return lambda r: [fixed(r.cases(file)[one][key] / r.cases(file)[other][key], digits) for one, other in pairs]


def both(*made):
    return lambda r: [figure for each in made for figure in each(r)]


def span(file, pattern, by=1.0, digits=3, key="real_time"):
    """Returns the smallest and the largest figure of the cases that match a pattern."""
    def made(r):
        found = [case[key] / by for name, case in r.cases(file).items() if re.fullmatch(pattern, name)]
        return [fixed(min(found), digits), fixed(max(found), digits)]
    return made


def rows(words, file, cases, columns, unit="", **how):
    """Makes sentences for rows: {words}, and a figure for each column, which replaces {} in the case."""
    return {f"| {name} |" + f" {{}}{unit} |" * len(columns): at(file, *(case.replace("{}", column) for column in columns), **how)
            for name, case in zip(words, cases)}


def chains(results):
    def cell(order, *cases):
        found = [f"latency/{case}" for case in (each.replace("{}", order) for each in cases) if f"latency/{case}" in results.cases(COST)]
        values = at(COST, *found)(results)
        return ("; " if len({each.rsplit("/", 1)[1] for each in found}) > 1 else ", ").join(values if len(set(values)) > 1 else values[:1]) or "–"

    def of(kind, *operations, arms=("membar",)):
        return [f"{operation}/{kind}/{{}}/device/{arm}" for operation in operations for arm in arms]

    two = ("membar", "cuda_atomic_ref")
    lines = [("32-bit fetch_add, fetch_max, exchange", of("u32", "fetch_add", "fetch_max", "exchange")),
             ("32-bit compare_exchange", of("u32", "compare_exchange")),
             ("64-bit fetch_add, fetch_max, exchange", of("u64", "fetch_add", "fetch_max", "exchange")),
             ("float fetch_add", of("f32", "fetch_add")), ("float fetch_max: membar; `cuda::atomic_ref`", of("f32", "fetch_max", arms=two)),
             ("double fetch_max: membar; `cuda::atomic_ref`", of("f64", "fetch_max", arms=two)),
             ("8-bit fetch_add: membar; `cuda::atomic_ref`", of("u8", "fetch_add", arms=two)),
             ("8-bit compare_exchange: membar; `cuda::atomic_ref`", of("u8", "compare_exchange", arms=two)),
             ("16-byte exchange", of("128", "exchange")), ("16-byte compare_exchange", of("128", "compare_exchange"))]
    return table(["chain at device scope", "relaxed", "acq_rel"],
                 [[words, cell("relaxed", *cases), cell("acq_rel", *cases)] for words, cases in lines])


KINDS = {"fetch_add/u32/relaxed/global/used": "32-bit `fetch_add`", "add/u32/relaxed/global/unused": "32-bit `add`",
         "fetch_add/u64/relaxed/global/used": "64-bit `fetch_add`", "fetch_add/f32/relaxed/global/used": "float `fetch_add`",
         "fetch_add/f64/relaxed/global/used": "double `fetch_add`", "fetch_max/u32/relaxed/global/used": "32-bit `fetch_max`",
         "fetch_max/f32/relaxed/global/used": "float `fetch_max`", "loop/f32_max/relaxed/global/used": "float maximum as a function (loop)",
         "loop/u64_user_function/relaxed/global/used": "64-bit function of your own (loop)",
         "loop/128_user_function/relaxed/global/unused": "16-byte function of your own (loop)",
         "fetch_add/u8/acq_rel/global/unused": "8-bit `fetch_add`, acq_rel (loop)",
         "fetch_add/u16/acq_rel/global/unused": "16-bit `fetch_add`, acq_rel (loop)"}
PLACES = {"one": "one address", "skewed": "skewed, 16 addresses", "per_block": "one per block", "per_warp": "one per warp", "per_lane": "one per lane",
          "stride_32": "32 bytes apart", "stride_128": "128 bytes apart"}


def aggregation(results):
    cases = results.cases(CONTENTION)
    return table(["operation", *PLACES.values()], [
        [words, *(fixed(cases[f"{kind}/{place}/aggregated"]["membar_ratio"], 2) for place in PLACES)] for kind, words in KINDS.items()])


def contended(results):
    cases = results.cases(CONTENTION)

    def row(words, kinds, arm, places):
        return [words, *(fixed(max(cases[f"{kind}/{place}/{arm}"]["membar_ratio"] for kind in kinds), 2) for place in places)]

    halves = [f"fetch_add/{kind}/acq_rel/global/unused" for kind in ("f16", "bf16")]
    places = ("one", "per_block", "per_warp", "per_lane", "stride_128")
    return table(["alternative", *("one address", "one per block", "one per warp", "neighbours", "128 bytes apart")], [
        row("`cuda::atomic_ref`: float fetch_max", ["fetch_max_beside_loops/f32/relaxed/global/used"], "cuda_atomic_ref", places),
        *(row(f"`cuda::atomic_ref`: {bits}-bit fetch_add, acq_rel", [f"fetch_add/u{bits}/acq_rel/global/unused"], "cuda_atomic_ref", places)
          for bits in (8, 16)),
        row("the PTX instruction, for which ptxas generates a loop: `__half` and `__nv_bfloat16` fetch_add, acq_rel", halves, "ptx", places),
        row("the relaxed PTX instruction between two fences: the same operations", halves, "ptx_between_fences", places)])


def all_reduces(results):
    cases = results.cases(TORCH)
    lines = []
    for size in (1 << shift for shift in range(10, 28, 2)):
        names = [f"all_reduce_torch/{arm}/gpus:2/bytes:{size}_median" for arm in ("membar", "membar_two_shots", "flashinfer_one_shot", "flashinfer_two_shots", "vllm", "torch_nccl", "torch_one_shot", "torch_two_shots")]
        times = [cases[name]["real_time"] / 1000 if name in cases else None for name in names]
        least = min(time for time in times if time is not None)
        lines.append([f"{size >> 10} KiB" if size < 1 << 20 else f"{size >> 20} MiB",
                      *("" if time is None else f"**{fixed(time)}**" if time == least else fixed(time) for time in times)])
    return table(["bytes", "`all_reduce`", "in two shots", "FlashInfer one-shot", "FlashInfer two-shot", "vLLM", "NCCL 2.28", "PyTorch one-shot", "PyTorch two-shot"], lines)


def round_trips(results):
    return table(["message, µs", "two H100", "four H200, version 0.1.0"], [
        [words, *(us(case, file=file)(results)[0] for file in (ROUND, "h200-x4/put_signal_latency"))] for words, case in (
            ("`put_signal`, 16 bytes", "membar_peer/thread:1/bytes:16"), ("packed, 16 bytes", "membar_peer_packed/thread:1/bytes:16"),
            ("packed, 1 KiB in pieces, one per thread", "membar_peer_packed_pieces/lanes:8/bytes:1024"),
            ("packed, 1 KiB, with the whole message to every thread of a block", "membar_peer_packed/block:96/bytes:1024"),
            ("packed, 1 KiB, the whole message to every thread of a warp", "membar_peer_packed/warp:32/bytes:1024"),
            ("by hand, 1 KiB: one word for each of 86 threads, without copies", "by_hand_packed_words/block:96/bytes:1024"),
            ("by hand, 1 KiB, with a block barrier after each message", "by_hand_packed_words_and_barrier/block:96/bytes:1024"))])


def fences_of_fixes(results):
    return table(["fence", "block", "device", "system"], [
        [words, *(fixed(fence(results, scope, order, "after_store")) for scope in ("block", "device", "system"))]
        for words, order in (("acquire", "acquire"), ("release", "release"), ("seq_cst: `__threadfence` and its variants", "seq_cst"))])


def prediction(results):
    results.read("h200-x2/fence_interference")
    return model.text(model.Model(read(results.folder / "h200-x2/fence_interference.json", "fence_interference")), [2, 4, 8, 72])


def of_program(program, key):
    return lambda r: [fixed(r.read(DOMAINS)["programs"][program]["summary"][key])]


def programs_of_run(r):
    return [program for machine in ("h200-x2", "h100-x2") for program in r.read(f"{machine}/domains/run")["programs"].values()]


def kept_by_run(r):
    return [program for program in programs_of_run(r) if program["processes"][0]["outcome"] == "kept"]


def beside_by_hand(r):
    """Returns the largest difference in speed, in percent, between programs whose move is kept and the same programs with kernels moved by
    hand."""
    return [f'{max(100 * abs(1 - program["gains"][0] / program["gain_by_hand"]) for program in kept_by_run(r) if program.get("gain_by_hand")):.1f}']


def beside_whole_runs(r):
    """Returns the largest difference, in percent, between the gain measured by alternating within a process and the gain of
    whole runs."""
    return [f'{max(100 * abs(1 - program["processes"][0]["measured"]["gain"]["value"] / gain) for program in kept_by_run(r) for gain in program["gains"]):.1f}']


def gains_of_sizes(r):
    programs = r.read("h200-x2/domains/run")["programs"]
    return [f'{programs[name]["gains"][0]:.2f}' for name in ("decode_symm", "decode_large_symm", "prefill_symm")]


def halo_after_run(r):
    out = []
    for machine in ("h200-x2", "h100-x2"):
        halo = r.read(f"{machine}/domains/run")["programs"]["halo"]
        run, off = (halo[arm]["result"]["beside_late"]["p50"] for arm in ("run_0", "off_0"))
        out.append(f"{100 * (run / off - 1):.2f}")
    return out


def stores_to_the_host(r):
    programs = r.read("h200/domains_host")["programs"]
    lines = []
    for name, words in (("small_kernels_offload", "small kernels of a graph that access 8 KiB each"), ("small_kernels_offload_256k", "the same, 256 KiB each"),
                        ("decode_offload", "decode step of a transformer (graph)"), ("chain_host", "chain of launches, 8 KiB"),
                        ("chain_graph_host", "the chain as a graph"), ("small_kernels_copy", "small kernels, 8 KiB, while the copy engine moves the data"),
                        ("decode_copy", "decode step while the copy engine moves the data")):
        of = programs[name]
        tried = of.get("gain_by_try")
        lines.append([words, *(fixed(of[side]["p50"]) if side in of else "" for side in ("alone_us", "beside_us", "moved_us")),
                      f"{tried['value']:.2f} [{tried['low']:.2f}, {tried['high']:.2f}]" if tried else ""])
    return table(["microseconds per kernel or step", "alone", "concurrent", "moved", "gain by `try`"], lines)


def over_copy(way):
    """Returns the best case of a method, as a fraction of the copy engine's rate, at 64 and 256 MiB."""
    def made(r):
        cases = r.cases(WIDE)
        return [fixed(max(case["GB/s"] for name, case in cases.items() if re.fullmatch(rf"put_bandwidth/{way}/.*MiB:{size}|put_bandwidth/{way}/MiB:{size}", name))
                      / cases[f"put_bandwidth/cudaMemcpyPeerAsync/MiB:{size}"]["GB/s"]) for size in (64, 256)]
    return made


def of_the_sweep(arm):
    def made(r):
        cases = r.cases(WINDOW)
        parts = [min(case["real_time"] for other, case in cases.items() if other.startswith(name.rsplit("/", 1)[0] + "/sweep_")) / cases[name]["real_time"]
                 for name in cases if name.endswith(f"/{arm}") and "region_" in name]
        return [fixed(min(parts)), fixed(max(parts))]
    return made


def ps(*names, file=COST):
    return at(file, *names, by=1e-3)


def quickest(cases, pattern):
    """Returns the time of the fastest case of put_signal_latency whose name matches."""
    return min(case["real_time"] for name, case in cases.items() if fnmatch.fnmatchcase(name, f"put_signal_latency/{pattern}"))


def us(*names, file=ROUND):
    return lambda r: [fixed(quickest(r.cases(file), name) / 1e3) for name in names]


def barrier(*names):
    return at("h100-x2/barrier_latency", *names, by=1e3, head="barrier_latency/")


def pace(*names):
    return at(PUBLISHER, *names, key="p50_cycles", head="pace/")


def per_second(*names):
    def made(r):
        cases = r.cases(CHECK)
        return [f"{cases[name + '_median'][key]:,.0f}" if key == "executions" else f"{round(cases[name + '_median'][key], -3):,.0f}"
                for name in names for key in ("executions", "executions_per_s")]
    return made


def grown(name):
    return lambda r: [f"{r.cases(CHECK)[f'growth/{name}/symmetry:{each}_median']['executions']:,.0f}" for each in (0, 1)]


def guarantees(*files):
    """Returns how many guarantees ran in these campaigns, and in how many instances. The sentence that uses these numbers
    states that no guarantee was broken."""
    def made(r):
        ran = [test for file in files for test in r.read(file)["tests"] if test["role"] == "guarantee" and test["instances"]]
        if any(test["forbidden"] for test in ran):
            raise SystemExit(f"{', '.join(files)}: a guarantee was broken, but docs/measurements/README.md says that none was")
        return [str(len({test["test"] for test in ran})), f"{sum(test['instances'] for test in ran):.1e}".replace("e+", "e")]
    return made


def step_cost(results):
    told = results.read("h200/domains_step_cost")
    return [f"{told[step][key]:.3f}" for step in ("graph", "eager") for key in ("ratio", "low", "high")]


def litmus(results):
    rates = [case["instances_per_second"] / 1e9 for name, case in results.cases("h200/litmus_rate").items()
             if name.startswith("rate/") and "host" not in name and not name.endswith("tuned")]
    host = [case["instances_per_second"] / 1e9 for name, case in results.cases("h200/litmus_rate").items() if "host" in name]
    return [fixed(min(rates), 2), fixed(max(rates), 2), fixed(min(host), 1)]


def litmus_share(results):
    cases = {name: case["instances_per_second"] for name, case in results.cases("h200/litmus_cost").items()}
    return [fixed(100 * (1 - cases["cost/MP/engine"] / cases["cost/MP/uncounted"]), 2),
            fixed(100 * (1 - cases["cost/MP/host_reset"] / cases["cost/MP/uncounted"]), 2)]


def proxy_fences(results):
    cases = results.cases("h200/proxy_fence_cost")

    def cost(kinds):
        return [fixed(each) for found in [[case["real_time"] - cases[name.replace("/membar", "/no_fence")]["real_time"] for name, case in cases.items()
                                           if re.fullmatch(rf"proxy_fence_cost/.*/({kinds})/membar", name)]] for each in (min(found), max(found))]
    return [*cost("async_global|async_shared_block"), *cost("async")]


def largest_at_first(results, kind):
    """Returns the largest footprint, in KiB, whose accesses are as fast as those of the smallest footprint."""
    found = sorted((float(name.rsplit("/", 1)[1]), case["cycles"]) for name, case in results.cases("h200/memory_ladder").items()
                   if name.startswith(f"memory_ladder/latency/{kind}/"))
    return f"{next(size for (size, _), (_, cycles) in zip(found, found[1:]) if cycles > 1.05 * found[0][1]):g}"


def by_turns(results):
    """Returns how much longer the operations take if all lanes attempt them at once instead of in turn, for blocks of eight warps with one
    object per block."""
    cases = {name: case["real_time"] for name, case in results.cases("h200/loops_by_turns").items()}
    return [fixed(max(cases[name] / cases[name.replace("/all_at_once", "/by_turns")] for name in cases if name.endswith("/per_block/all_at_once")), 2)]


def from_plain(file, pattern):
    """Returns the largest difference, in percent, between a variant's rate and the rate of the plain access."""
    def made(r):
        cases = r.cases(file)
        return [fixed(max(abs(100 * (1 - case["GB_per_s"] / cases[name.rsplit("/", 1)[0] + "/plain"]["GB_per_s"])) for name, case in cases.items()
                          if re.fullmatch(pattern, name)), 2)]
    return made


MESSAGES = {"| 16 bytes, `put_signal` | {} (from shared memory {}) | {} | {} |": us(
                "membar_peer/thread:1/bytes:16", "membar_peer_from_shared/thread:1/bytes:16", "nvshmem/*/bytes:16",
                "nvshmem_and_acquire/*/bytes:16"),
            "| 16 bytes, packed | {} |": us("membar_peer_packed/thread:1/bytes:16"),
            "| 1 KiB, `put_signal` | {} | {} | {} |": us(*(f"{arm}/*/bytes:1024" for arm in ("membar_peer", "nvshmem", "nvshmem_and_acquire"))),
            "| 1 KiB, packed: one piece per thread; the whole message to every thread of a block | {}; {} |": us(
                "membar_peer_packed_pieces/lanes:8/bytes:1024", "membar_peer_packed/block:96/bytes:1024"),
            "| barrier, by 256 threads | {} | {} | {} |": barrier(*(f"{arm}_by_block{more}/threads:256" for arm, more in (
                ("membar_peer", ""), ("nvshmem", ""), ("nvshmem", "_and_acquire")))),
            "| fetch-add at the other PE | {} | {} |": at("h100-x2/amo_latency", *(f"amo_latency/{arm}_fetch_add/other_pe" for arm in (
                "membar_peer", "nvshmem")), by=1e3, digits=2)}
BIG = {f"| {words} |" + " {} |" * 2: over_copy(way) for words, way in (
    ("`put` by a grid, in tiles", "membar_peer_tiles"), ("`put` by 132 blocks, tiles of 128 KiB", "membar_peer_tiles/KiB:128/blocks:132"),
    ("`put` by 132 blocks, one part each", "membar_peer/blocks:132"), ("bulk copy", "bulk_copy"), ("bulk copy (TMA)", "bulk_copy"),
    ("NVSHMEM's put", "nvshmem"))}


def some(sentences, *begins):
    return {sentence: made for sentence, made in sentences.items() if sentence.startswith(tuple(f"| {begin} |" for begin in begins))}


TABLES = {"docs/headers/atomic.md": {"atomic chains": chains, "contended": contended},
          "docs/headers/aggregated.md": {"aggregation": aggregation},
          "docs/measurements/README.md": {"round trips": round_trips},
          "docs/symmetric_memory.md": {"all-reduces": all_reduces},
          "docs/bugs.md": {"cost of a fix": fences_of_fixes},
          "docs/membar_domains.md": {"stores to the host": stores_to_the_host, "prediction": prediction}}
SAYS = {
    "README.md": {
        "takes [{} times as long](docs/headers/atomic.md#cost)": lambda r: [
            fixed(r.cases(CONTENTION)["fetch_max_beside_loops/f32/relaxed/global/used/one/cuda_atomic_ref"]["membar_ratio"], 2)]},
    "docs/headers/atomic.md": {
        "| 32-bit acq_rel addition at block, device, system scope | {}, {}, {} |": at(
            COST, *(f"latency/fetch_add/u32/acq_rel_by_scope/{scope}/membar" for scope in ("block", "device", "system"))),
        "| seq_cst instead of acq_rel | 0 to {} more |": lambda r: [fixed(max(
            r.cases(COST)[f"latency/fetch_add/u32/seq_cst_by_scope/{scope}/membar"]["real_time"] -
            r.cases(COST)[f"latency/fetch_add/u32/acq_rel_by_scope/{scope}/membar"]["real_time"] for scope in ("block", "device", "system")), 1)],
        "| load, acquire | {} to {} |": span(COST, "latency/load/.*/membar"),
        "| store, release | {} to {} |": span(COST, "latency/store/.*/membar"),
        "| one-byte release store: membar; `cuda::atomic_ref`, which loops | {}; {} |": at(
            COST, *(f"latency/store/u8/release/{arm}" for arm in ("membar", "cuda_atomic_ref"))),
        "| reduction, as seen by the thread that issues it | {} to {} |": span(COST, "latency/add/.*/membar"),
        "a 32-bit exchange takes {} ns on an `unsigned` and {} ns on a": at(COST, *(f"latency/exchange/{kind}/relaxed/device/membar" for kind in ("u32", "f32"))),
        "eight warps per object | up to {} times as long |": by_turns,
        "| `exchange`, each thread on its own object | {} ps |": ps("throughput/exchange/u32/relaxed/device/membar"),
        "| `add`, each thread on its own object | {} ps |": ps("throughput/add/u32/relaxed/device/membar"),
        "| **one address**: 32-bit addition and maximum, float maximum, whether or not the result is used | {} to {} ns |": span(
            CONTENTION, "(fetch_add/u32|add/u32|fetch_max/u32|fetch_max/f32)/relaxed/global/(un)?used/one/membar"),
        "| **one address**: float addition | {} ns |": at(CONTENTION, "fetch_add/f32/relaxed/global/used/one/membar"),
        "| 16-byte loop, all threads on one address | {} ns |": at(CONTENTION, "loop/128_user_function/relaxed/global/unused/one/membar"),
        "| 16-byte loop, each thread on its own object | {} ps |": ps("loop/128_user_function/relaxed/global/unused/per_lane/membar", file=CONTENTION),
        "In a dependent chain in one thread, this addition takes {} to {} times as long as": span(
            COST, "latency/fetch_add_by_hand/b?f16/.*/ptx.*", key="membar_ratio"),
        "takes {} times as long, because with a generic address it compiles to `ATOM`.": at(CONTENTION, "fetch_add/u32/relaxed/shared/intrinsic", key="membar_ratio"),
        "The test slows down a series of reductions: each takes {} ns instead of {} ns.": at(
            COST, *(f"latency/add_somewhere/u32/relaxed/device/{arm}" for arm in ("membar", "one_instruction"))),
        "whose result is not used takes {} times as long as with `cuda::atomic_ref` and {} times as long as with": at(
            COST, "throughput/fetch_add/u32/relaxed/device/cuda_atomic_ref", "throughput/fetch_add_builtin/u32/relaxed/device/builtin", key="membar_ratio"),
        "A 64-bit `fetch_add` with acq_rel takes {} times as long as with": at(COST, "throughput/fetch_add_builtin/u64/acq_rel/device/builtin", key="membar_ratio"),
    },
    "docs/measurements/README.md": {
        "take {} cycles per iteration with the publisher, and {} cycles with a release in each iteration.": pace(
            *(f"{arm}/nvlink.saturating" for arm in ("publisher/warps:4/lag:16", "release/warps:4"))),
        "16 bytes between two blocks takes {} µs, and a relaxed signal without data takes {} µs.": us("by_hand/block:32/bytes:16", "membar_peer_notify_relaxed/thread:1/bytes:0"),
        "With 16 bytes, NVSHMEM takes {} times as long as `put_signal`, and {} times as long if NVSHMEM's wait is made to acquire. Compared with packed "
        "messages, NVSHMEM takes {} times as long, and {} times as long with the acquire.": lambda r: [
            fixed(quickest(r.cases(ROUND), f"{theirs}/*/bytes:16") / quickest(r.cases(ROUND), f"{ours}/thread:1/bytes:16"))
            for ours in ("membar_peer", "membar_peer_packed") for theirs in ("nvshmem", "nvshmem_and_acquire")],
        "takes {} times as long while communication runs in the same domain, and {} times as long while": over(
            "h100-x2/domain_overlap", *((f"domain_overlap/{arm}", "domain_overlap/alone") for arm in ("same_domain", "remote_domain"))),
        "the places on two GPUs: {} guarantees ran, and none was broken in {} instances": guarantees(
            "h200/conformance", "h200-x2/conformance_two_devices"),
        "Of these guarantees, {} ran on one GPU, in {} instances": guarantees("h200/conformance"),
        "{} of these guarantees ran again for a longer time, and none was broken in {} instances.": guarantees(
            "h200/conformance_asynchronous", "h200/conformance_reuse", "h200/conformance_proxies"),
        "covers {} guarantees. None was broken in {} instances": guarantees("h200-x2/conformance_two_devices"),
        "* `litmus_rate`: {} to {} G instances": lambda r: litmus(r)[:2],
        "If 16 accesses are issued at once, each takes {} to {} cycles.": span(
            "h200/constant_broadcast", "constant_broadcast/(01|32)_addresses/stride_1/2_KiB/constant_16_at_once", key="cycles_per_access")},
    "docs/asynchronous_copies.md": {
        "takes {} to {} ns, and a fence for all state spaces takes {} to {} ns.": proxy_fences,
        "also takes {} times as long in another block's memory": at(
            "h200/distributed_shared_memory", "distributed_shared_memory/fetch_add/other_of_2/ptx", key="membar_ratio"),
        "takes {} ns with membar and {} ns in hand-written PTX.": at("h200/mbarrier_latency", *(f"mbarrier_latency/complete_phase/block/{arm}" for arm in ("membar", "ptx")))},
    "docs/memory_guide.md": {
        "Plain loads hit L1 up to {} KiB": lambda r: [largest_at_first(r, "global")],
        "Constant loads hit the first-level constant cache up to {} KiB.": lambda r: [largest_at_first(r, "constant")],
        "within {} % of a plain load's for every": from_plain("h200/read_only_load", ".*/(gather|stream)/read_only"),
        "The hints cost the copy {} to {} % of its bandwidth:": both(*(from_plain("h200/cache_hint_stream", f".*/copy/{arm}")
                                                               for arm in ("evict_first", "everything")))},
    "docs/headers/read_only.md": {
        "within {} % of a plain load's, for gathers and streams": from_plain("h200/read_only_load", ".*/(gather|stream)/read_only")},
    "docs/headers/aggregated.md": {
        "at such an address | plain, because aggregation takes {} to {} times as long |": lambda r: [fixed(1 / each, 1) for each in (
            r.cases(CONTENTION)["fetch_max/f32/relaxed/shared/aggregated"]["membar_ratio"],
            r.cases(CONTENTION)["add/u32/relaxed/shared/aggregated"]["membar_ratio"])],
    },
    "docs/headers/litmus.md": {
        "the engine runs {} to {} billion instances per second and checks every outcome; with a host thread, it runs {} billion": litmus,
        "Counting and reset take {} % of the time; if the host performed them between launches, they would take {} %.": litmus_share,
    },
    "docs/headers/cache_hint.md": {
        "or with all hints | {} to {} % less bandwidth": both(*(from_plain("h200/cache_hint_stream", f".*/copy/{arm}")
                                                                    for arm in ("no_allocate", "everything"))),
        "with `l1::no_allocate` | {} instead of {} TB/s |": at("h200/read_only_load", "read_only_load/fits_l1/gather/read_only_no_allocate",
                                                              "read_only_load/fits_l1/gather/plain", key="GB_per_s", by=1e3),
    },
    "docs/headers/managed_memory.md": rows(
        ("managed, with a prefetch", "managed, by page faults", "a copy from pinned memory, and a pass over the copy"),
        "h200/zero_copy", [f"zero_copy/1_passes/{arm}" for arm in ("managed_prefetched", "managed_faults", "copy_from_pinned")], [""], " ms", by=1e3),
    "docs/headers/mapped_memory.md": {
        "write-combined or not | {} GB/s |": at("h200/zero_copy", "zero_copy/1_passes/mapped", key="GB_per_s"),
        **rows(("one pass over 64 MiB in place", "a copy of 64 MiB from pinned memory, and a pass over the copy"), "h200/zero_copy",
               ["zero_copy/1_passes/mapped", "zero_copy/1_passes/copy_from_pinned"], [""], " ms", by=1e3)},
    "docs/headers/symmetric_amo.md": {
        **rows(("`atomicAdd_system` at a computed address", "`amo_fetch_add`", "`amo_compare_exchange`", "NVSHMEM's fetch-add"), "h100-x2/amo_latency",
               [f"amo_latency/{arm}/{{}}_pe" for arm in ("atomicAdd_system", "membar_peer_fetch_add", "membar_peer_compare_exchange", "nvshmem_fetch_add")],
               ["other", "own"]),
        "| `amo_add`, which returns nothing, so the thread does not wait for it | {} |": at(
            "h100-x2/amo_latency", "amo_latency/membar_peer_add_and_quiet/other_pe", digits=2)},
    "docs/headers/symmetric_barrier.md": {
        "| `barrier` | {} | {} | {} |": barrier("membar_peer_by_thread/threads:1", *(f"membar_peer_by_block/threads:{n}" for n in (256, 1024))),
        "| `barrier` of a team; its two halves, one right after the other | | {}; {} | |": barrier(
            *(f"membar_peer_{what}_by_block/threads:256" for what in ("team", "halves"))),
        "| `barrier`, `relaxed` | | {} | |": barrier("membar_peer_relaxed_by_block/threads:256"),
        "does not acquire | | {} | {} |": barrier(*(f"nvshmem_by_block/threads:{n}" for n in (256, 1024))),
        "| `barrier` over NVSHMEM | | {} | {} |": barrier(*(f"membar_nvshmem_by_block/threads:{n}" for n in (256, 1024)))},
    "docs/headers/symmetric_on_stream.md": {
        "| `barrier_on_stream`, one after the other | {} µs |": barrier("membar_peer_on_stream"),
        "| `barrier` in a kernel | {} µs |": barrier("membar_peer_by_thread/threads:1"),
        "| `put_on_stream` of 64 MiB, 256 MiB | {}, {} of the rate of `cudaMemcpyPeerAsync` |": over_copy("membar_peer_on_stream")},
    "docs/headers/symmetric_operations.md": {
        "| `notify` with `relaxed`, with `release` | {}, {} |": us("membar_peer_notify_relaxed/thread:1/bytes:0", "membar_peer_notify/thread:1/bytes:0"),
        "| 16 bytes with `put_value` and `notify` | {} |": us("membar_peer_value/thread:1/bytes:16"),
        "from shared memory; from global memory | {}, {} |": us("membar_peer_from_shared/thread:1/bytes:16", "membar_peer/thread:1/bytes:16"),
        "and with an added acquire | {}, {} |": us("nvshmem/*/bytes:16", "nvshmem_and_acquire/*/bytes:16"),
        "| `put_signal` by one block: 1 KiB, 16 KiB, 256 KiB, 1 MiB | {}, {}, {}, {} |": us(
            "membar_peer/block:64/bytes:1024", "membar_peer/block:1024/bytes:16384", "membar_peer/block:256/bytes:262144",
            "membar_peer/block:256/bytes:1048576"),
        "One block puts at {} GB/s; 132 blocks put at {} GB/s, in tiles": both(
            at(WIDE, "put_bandwidth/membar_peer/blocks:1/threads:1024/MiB:64", key="GB/s", digits=2),
            at(WIDE, "put_bandwidth/membar_peer_tiles/KiB:128/blocks:132/threads:1024/MiB:64", key="GB/s")),
        **some(BIG, "`put` by 132 blocks, tiles of 128 KiB", "`put` by 132 blocks, one part each", "bulk copy (TMA)", "NVSHMEM's put")},
    "docs/headers/symmetric_packed.md": {
        "from registers; from global memory | {}; {} |": us("membar_peer_packed/thread:1/bytes:16", "membar_peer_packed_in_memory/thread:1/bytes:16"),
        "| 16 | by a warp | {} |": us("membar_peer_packed/warp:32/bytes:16"),
        "in pieces, 8 per warp; 32 per warp | {}; {} |": us(*(f"membar_peer_packed_pieces/lanes:{n}/bytes:1024" for n in (8, 32))),
        "to all threads of a 96-thread block; of a warp | {}; {} |": us("membar_peer_packed/block:96/bytes:1024", "membar_peer_packed/warp:32/bytes:1024"),
        "| by a block of 1024 | {} |": us("membar_peer_packed/block:1024/bytes:16384"),
        "| `put_signal` | {}; {}; {} |": us("membar_peer/thread:1/bytes:16", "membar_peer/block:64/bytes:1024", "membar_peer/block:1024/bytes:16384"),
        "whose wait does not acquire | {}; {}; {} |": us("nvshmem/*/bytes:16", "nvshmem/*/bytes:1024", "nvshmem/block:1024/bytes:16384"),
        "| only a relaxed signal | {} |": us("membar_peer_notify_relaxed/thread:1/bytes:0"),
        "without copies, takes {} µs without a block barrier and {} µs with one.": us(
            "by_hand_packed_words/block:96/bytes:1024", "by_hand_packed_words_and_barrier/block:96/bytes:1024")},
    "docs/headers/symmetric_wait.md": {
        "| `notify` and `wait`, both relaxed | {} |": us("membar_peer_notify_relaxed/thread:1/bytes:0"),
        "`put_signal`, `try_wait` | {} | {} |": us("membar_peer/thread:1/bytes:16", "membar_peer/warp:32/bytes:16"),
        "`put_signal`, `wait` | {} | {} |": us("membar_peer_trapping/thread:1/bytes:16", "membar_peer_trapping/warp:32/bytes:16"),
        "with an added acquire fence | {}; {} |": us("nvshmem/*/bytes:16", "nvshmem_and_acquire/*/bytes:16"),
        "`try_take_packed`; `take_packed` | | {}; {} |": us("membar_peer_packed/warp:32/bytes:16", "membar_peer_packed_trapping/warp:32/bytes:16"),
        "because the block reconverges in any case: a packed message takes {} µs instead of {} µs.": us("membar_peer_packed_trapping/block:32/bytes:16", "membar_peer_packed/block:32/bytes:16")},
    "docs/headers/sync_barriers.md": {
        **rows(("32 threads, 132 blocks", "256 threads, 132 blocks", "1,024 threads, 132 blocks", "256 threads, 264 blocks"), PATTERNS,
               [f"grid_barrier/{{}}/blocks_per_sm:{blocks}/threads:{threads}" for blocks, threads in ((1, 32), (1, 256), (1, 1024), (2, 256))],
               ["membar", "cooperative_groups", "cuda_barrier"]),
        "With a relaxed `arrive` and a relaxed `wait`, 132 blocks of 256 threads take {} ns.": at(PATTERNS, "grid_barrier/membar_relaxed/blocks_per_sm:1/threads:256")},
    "docs/headers/sync_bulk_pipeline.md": {
        **rows(("pipeline; three blocks with four stages of 4 KiB", "pipeline; one block with eleven stages of 4 KiB",
                "pipeline; four blocks with four stages of 4 KiB", "pipeline; four blocks with eight stages of 4 KiB",
                "pipeline; four blocks with four stages of 8 KiB", "pipeline; four blocks with four stages of 2 KiB", "loads and stores of 16 bytes",
                "`cudaMemcpyAsync`"), "h200/bulk_pipeline", [f"bulk_pipeline/copy/{arm}" for arm in (
                    "pipeline_4x4_KiB_of_3_blocks", "pipeline_11x4_KiB_of_1_blocks", "pipeline_4x4_KiB", "pipeline_8x4_KiB", "pipeline_4x8_KiB",
                    "pipeline_4x2_KiB", "words_of_16_bytes", "cudaMemcpyAsync")], [""], key="GB_per_s", by=1e3),
        "The best pipeline therefore reaches {} of the copy engine's rate.": over(
            "h200/bulk_pipeline", ("bulk_pipeline/copy/pipeline_4x4_KiB_of_3_blocks", "bulk_pipeline/copy/cudaMemcpyAsync"), key="GB_per_s", digits=3)},
    "docs/headers/sync_cluster_broadcast.md": rows(
        ("relayed", "multicast", "each block copies separately, with [`bulk_pipeline`](sync_bulk_pipeline.md)"), "h200/cluster_broadcast",
        [f"cluster_broadcast/{{}}_blocks/{arm}" for arm in ("relayed", "multicast", "each_block")], ["2", "4", "8"], key="ns_per_tile"),
    "docs/headers/sync_channels.md": {
        **rows(("`packed_spsc_channel`, device or system scope", "`spsc_channel`, device scope", "`spsc_channel`, system scope",
                "a flag with hand-written fences, one message at a time"), PATTERNS,
               [f"channel/{arm}/pairs:{{}}" for arm in ("packed", "spsc", "spsc_system", "by_hand")], ["1", "32"]),
        **rows(("`mpmc_channel`", "the same algorithm with `cuda::atomic_ref`", "a hand-written queue: tickets from `atomicAdd`"), "h100/work_queue",
               [f"work_queue/{arm}/pairs:{{}}" for arm in ("membar", "cuda_atomic_ref", "by_hand")], ["1", "8", "64"])},
    "docs/headers/sync_locks.md": rows(
        ("`ticket_lock`", "`queue_lock`", "a hand-written lock: compare-and-swap and fences", "`cuda::binary_semaphore`, which is not fair"), PATTERNS,
        [f"lock/{arm}/blocks:{{}}" for arm in ("membar_ticket", "membar_queue", "by_hand", "cuda_binary_semaphore")], ["1", "8", "64"]),
    "docs/headers/sync_publisher.md": {
        **rows(("`warp_source`", "a release store at system scope in each warp"), PUBLISHER,
               ["pace/publisher/warps:4/lag:16/{}", "pace/release/warps:4/{}"], ["none", "nvlink.saturating"], key="p50_cycles"),
        "takes {} cycles with a lag of 16 and {} cycles with a lag of 64. With a release store in each warp, an iteration takes {} cycles.": pace(
            *(f"{arm}/host.saturating" for arm in ("publisher/warps:4/lag:16", "publisher/warps:4/lag:64", "release/warps:4"))),
        "a value is stored {} cycles after `publish`, whereas a release store takes {} cycles.": at(
            PUBLISHER, *(f"latency/{arm}/nvlink.saturating" for arm in ("publisher/warps:4/lag:16", "release/warps:4")), key="p50_cycles"),
        "the iteration takes {} cycles: the two parts": pace("by_lane/warps:4/lag:16/none")},
    "docs/headers/window_planning.md": {
        "which runs the kernel a hundred times or more | {} to {}, never": of_the_sweep("tuned"), "| `l2_plan`, which does not run the kernel | {} to {} |": of_the_sweep("plan")},
    "docs/patterns/barriers.md": {
        "takes {} ns for 128 threads and {} ns for 1,024": at(
            "h200/mbarrier_latency", *(f"mbarrier_latency/block/{n}_threads/syncthreads" for n in (128, 1024)))},
    "docs/patterns/volatile.md": {
        "a release store takes {} ns at system scope and {} ns at device scope": at(
            "h200-x2/fence_interference", *(f"release_store.{scope}.own_sm/none/alone" for scope in ("system", "device")))},
    "docs/patterns/which_pattern.md": {
        "| `grid_barrier`, 132 blocks | {} ns |": at(PATTERNS, "grid_barrier/membar/blocks_per_sm:1/threads:256"),
        "| lock, eight blocks or more | {} to {} ns |": span(PATTERNS, "lock/membar.*/blocks:(8|64)"),
        "| message, packed | {} ns |": at(PATTERNS, "channel/packed/pairs:1"),
        "| message, `spsc_channel` at device scope | {} ns |": at(PATTERNS, "channel/spsc/pairs:1"),
        "| `cross_barrier` between two GPUs | {} ns |": at("h100-x2/barrier_latency", "barrier_latency/cross_barrier/threads:1"),
        "by `publisher`, during saturating NVLink stores | {} cycles |": pace("publisher/warps:4/lag:16/nvlink.saturating"),
        "| the same, but each warp publishes with a release store at system scope | {} cycles |": pace("release/warps:4/nvlink.saturating")},
    "docs/symmetric_memory.md": {
        "1 KiB of floats takes {} µs in a graph.": at(ALL, "all_reduce_latency/captured_one_shot/gpus:2/bytes:1024", by=1e3),
        "In such a graph, an empty kernel takes {} µs, and a kernel that sends one word and receives one word takes {} µs.": at(
            ALL, "all_reduce_latency/captured_empty/gpus:2/bytes:0", "all_reduce_latency/captured_exchange/gpus:2/bytes:12", by=1e3),
        "Launched one by one, membar's all-reduces of 1 KiB take {} µs each, NCCL's {} µs and NVSHMEM's {} µs.": at(
            ALL, *(f"all_reduce_latency/{arm}/gpus:2/bytes:1024" for arm in ("one_shot", "nccl", "nvshmem")), by=1e3),
        **MESSAGES, **some(BIG, "`put` by a grid, in tiles", "NVSHMEM's put", "bulk copy"),
        "| NCCL | {} | {} | {} |": at(ROUND, *(f"put_signal_latency/nccl_send_recv/host/bytes:{n}" for n in (16, 262144, 1048576)), by=1e3, digits=2),
        "| `put_signal` by one block | {} | {} | {} |": at(
            ROUND, *(f"put_signal_latency/membar_peer/block:256/bytes:{n}" for n in (16, 262144, 1048576)), by=1e3, digits=2),
        "took {} µs per kernel on its own, {} µs during communication in the same domain, and {} µs during communication in the remote domain.": at(
            "h100-x2/domain_overlap", *(f"domain_overlap/{arm}" for arm in ("alone", "same_domain", "remote_domain")), by=1e3)},
    "docs/how_membar_check_works.md": {
        **{f"| {words} | {{}} | {{}} |": grown(name) for words, name in (
            ("ticket lock, 3 threads", "threads:3/rounds:1"), ("ticket lock, 4 threads, 2 rounds", "threads:4/rounds:2"))},
        **{f"| {words} | {events} | {{}} | {{}} |": per_second(name) for words, events, name in (
            ("store buffering, two rounds", 8, "store_buffering/rounds:2"), ("five threads, one `atom.add` each", 10, "counter/threads:5/rounds:1"),
            ("store buffering, four rounds", 16, "store_buffering/rounds:4"), ("two threads, five `atom.add` each", 20, "counter/threads:2/rounds:5"),
            ("three threads, each with private work and an update of a shared counter", 30, "long_threads"), ("ticket lock, two threads", 14, "ticket_lock/threads:2"),
            ("ticket lock, four threads", 28, "ticket_lock/threads:4"), ("ticket lock, six threads", 42, "ticket_lock/threads:6"))},
        "four threads that each take a lock twice have {} executions.": lambda r: grown("threads:4/rounds:2")(r)[:1]},
    "docs/membar_domains.md": {
        "took {} [{}, {}] times as long as without the library when launched as a graph, and {} [{}, {}] times as long when its kernels were launched one by one.": step_cost,
        "although whole runs on H200 show a gain of {}.": of_program("training_symm", "gain"),
        "a decode step without communication took {} and {} times as long as without the library, and small kernels took {} and {} times as long.": both(*(
            of_program(program, "apply_costs_alone") for program in ("decode_symm", "decode_nccl_domain0", "small_kernels_symm", "small_kernels_nccl_domain0"))),
        "the program's speed is within {} % of its speed with the same kernels moved by hand": beside_by_hand,
        "differs from the gain in whole runs by at most {} % of the gain in whole runs.": beside_whole_runs,
        "{} for the decode step with hidden size 1024, {} with hidden size 2048, and {} for prefill.": gains_of_sizes,
        "took {} % longer on H200 and {} % longer on H100 after `run` had made its decision.": halo_after_run}
}
