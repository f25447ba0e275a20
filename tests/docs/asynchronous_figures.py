# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Makes the tables in docs/asynchronous_copies.md from the results of bench/asynchronous and the conformance suite; see figures.py."""

WAYS = ("ptx", "cuda", "cuda_barrier", "cooperative_groups", "ptx_bulk", "cuda_memcpy_async", "atomicAdd", "atomicCAS", "volatile")


def table(header, lines):
    return "\n".join(["| " + " | ".join(header) + " |", "|" + " --- |" * len(header), *("| " + " | ".join(line) + " |" for line in lines)])


def ns(value):
    return f"{value:.0f}" if value >= 20 else f"{value:.1f}"


def barriers(results):
    cases = results.cases("h200/mbarrier_latency")

    def row(words, name, arms):
        return [words, *(ns(cases[f"mbarrier_latency/{name}/{arm}"]["ns"]) if arm else "" for arm in arms)]

    block = [row(f"{threads} threads of a block", f"block/{threads}_threads",
                 ("membar", "membar_cluster_scope", "cuda_barrier", "syncthreads", None, None)) for threads in (32, 128, 512, 1024)]
    cluster = [row(f"{blocks} blocks of 128 threads", f"cluster/{blocks}_blocks", (None, None, None, None, "membar", "membar_grid_barrier"))
               for blocks in (2, 4, 8)]
    return table(["all arrive and wait, ns", "mbarrier, block scope", "mbarrier, cluster scope", "`cuda::barrier`", "`__syncthreads`", "`cluster_sync`",
                  "`grid_barrier`"], block + cluster)


def messages(results):
    cases = results.cases("h200/mbarrier_latency")
    return table(["round trip between two threads", "ns"], [
        [words, ns(cases[f"mbarrier_latency/{name}/membar"]["ns"])] for words, name in (
            ("one mbarrier per thread, in one block", "there_and_back/block"), ("one mbarrier per thread, in two blocks of a cluster", "there_and_back/cluster"),
            ("the same with a value, by `async_store`", "there_and_back/cluster_with_value"),
            ("a wait for a completed phase, one way", "complete_phase/block"))])


def proxy_fences(results):
    cases = results.cases("h200/proxy_fence_cost")
    where = ("alone", "after_shared_store", "after_global_store", "beside_bulk_loads", "beside_bulk_stores")

    def cost(situation, kind, arm):
        of = f"proxy_fence_cost/{situation}/{kind}"
        return ns(cases[f"{of}/{arm}"]["ns"] - cases[f"{of}/no_fence"]["ns"])

    return table(["ns per fence", "alone", "after a store to shared memory", "after a store to global memory", "during bulk loads", "during bulk stores"],
                 [[f"`proxy_fence<proxy::{kind}>`", *(cost(w, kind, "membar") for w in where)]
                  for kind in ("async", "async_shared_cluster", "async_shared_block", "async_global")] +
                 [[f"`thread_fence`, {scope} scope", *(cost(w, "thread_fence", scope) for w in where)] for scope in ("block", "cluster", "device")])


def distributed(results):
    cases = results.cases("h200/distributed_shared_memory")
    return table(["ns per operation", "own block", "another block, cluster of 2", "another block, cluster of 8", "global memory, in L2"],
                 [[f"`{what}`", *(ns(cases[f"distributed_shared_memory/{what}/{place}/membar"]["ns"])
                                  for place in ("own", "other_of_2", "other_of_8", "global"))] for what in ("load", "fetch_add", "compare_exchange")])


def size(count):
    return f"{count // 1024} KiB" if count >= 1024 else f"{count} B"


def tile_latency(results):
    cases = results.cases("h200/copy_by_size")
    arms = ("membar_bulk", "membar_async", "words")
    lines = [[size(count), *(ns(cases[f"copy_by_size/latency/{place}/{count}/{arm}"]["ns"]) for place in ("from_l2", "from_memory") for arm in arms)]
             for count in (64, 256, 1024, 4096, 16384, 32768)]
    return table(["ns per tile", *(f"{way}, {place}" for place in ("L2", "memory") for way in ("bulk", "`cp.async`", "loads and stores"))], lines)


def tile_bandwidth(results):
    cases = results.cases("h200/copy_by_size")
    lines = []
    for bytes_, stages, blocks in ((256, 4, 4), (4096, 2, 1), (1024, 4, 4), (4096, 4, 1), (4096, 4, 2), (4096, 4, 4), (8192, 4, 4), (16384, 4, 2),
                                   (4096, 8, 4)):
        of = f"{bytes_}x{stages}x{blocks}"
        lines.append([f"{bytes_ * (stages - 1) * blocks / 1024:.0f} KiB", f"{size(bytes_)}, {stages}, {blocks}",
                      *(f"{cases[f'copy_by_size/{way}/{of}/{arm}']['GB_per_s'] / 1000:.2f}" for way, arm in (
                          ("bandwidth", "membar_bulk"), ("bandwidth", "membar_async"), ("bandwidth", "words"), ("out", "membar_bulk"), ("out", "words")))])
    lines.sort(key=lambda line: int(line[0].split()[0]))
    return table(["bytes in flight per multiprocessor", "tile, stages, blocks", "in: bulk, TB/s", "in: `cp.async`", "in: loads and stores", "out: bulk",
                  "out: loads and stores"], lines)


def chains(results):
    cases = results.cases("h200/dependent_chain")
    arms = ("full_dependency", "membar_late_trigger", "membar", "full_dependency_in_stream", "membar_in_stream")
    lines = []
    for prepares, works in ((0, 0), (2000, 0), (0, 2000), (2000, 2000), (10000, 10000)):
        of = f"dependent_chain/prepares_{prepares}_ns/works_{works}_ns"
        lines.append([f"{prepares / 1000:.0f} µs, {works / 1000:.0f} µs", *(f"{cases[f'{of}/{arm}']['ns'] / 1000:.2f}" for arm in arms)])
    return table(["preparation, work of each kernel (times in µs per kernel)", "graph, full edges", "graph, trigger at the end", "graph, trigger at the start", "stream, full order",
                  "stream, trigger at the start"], lines)


def ratios(results):
    lines = []
    for bench in ("mbarrier_latency", "proxy_fence_cost", "distributed_shared_memory", "copy_by_size", "dependent_chain"):
        cases = results.cases(f"h200/{bench}")
        for way in WAYS:
            found = sorted((case["membar_ratio"], name.removeprefix(bench + "/").rsplit("/", 1)[0]) for name, case in cases.items()
                           if name.endswith("/" + way))
            if found:
                lines.append([f"`{bench}`", f"`{way}`", str(len(found)), f"{found[0][0]:.2f}", f"{found[len(found) // 2][0]:.3f}",
                              f"{found[-1][0]:.3f}, `{found[-1][1]}`"])
    return table(["bench", "compared with", "cases", "smallest", "median", "largest, and the case"], lines)


def seen(results):
    tests = {}
    for file in ("conformance", "conformance_asynchronous", "conformance_reuse", "conformance_proxies"):
        for test in results.read(f"h200/{file}")["tests"]:
            of = tests.setdefault(test["test"], [0, 0, 0])
            of[0], of[1], of[2] = of[0] + test["instances"], of[1] + test["weak"], of[2] + test["forbidden"]
    rows = (("the proxy fence before a bulk store", "Proxy+copy_in_bulk.no-fence@one_block", ("Proxy+copy_in_bulk.proxy_fence.async_shared_block@one_block",)),
            ("the proxy fence before a bulk load of what was stored", "Proxy+load_in_bulk.no-fence@one_block",
             ("Proxy+load_in_bulk.proxy_fence.async_global@one_block",)),
            ("the same, before a bulk load that overwrites what was stored", "Proxy+store_before_load_in_bulk.no-fence@one_block",
             ("Proxy+store_before_load_in_bulk.proxy_fence.async_shared_block@one_block",)),
            ("the same, before a bulk load that overwrites what was read", "Proxy+load_before_load_in_bulk.no-fence@one_block",
             ("Proxy+load_before_load_in_bulk.proxy_fence.async_shared_block@one_block",)),
            ("the `bulk_wait_read` before a stage is written again", "Reuse+no-wait@one_block", ("Reuse+bulk_wait_read.0@one_block",)),
            ("the wait for the newest group before a stage is written again", "Reuse+bulk_wait_read.1@one_block", ("Reuse+bulk_wait_read.0@one_block",)),
            ("the dependency wait", "MP.launch+no-wait@two_kernels", ("MP.launch+wait_for_prerequisites@two_kernels",)),
            ("the fence before a relaxed arrival at the cluster's barrier, data in global memory", "MP+cluster_arrive.relaxed@cluster_barrier",
             ("MP+cluster_arrive.release@cluster_barrier", "MP+thread_fence.release.cluster-cluster_arrive.relaxed@cluster_barrier")),
            ("the same, data in the reader's shared memory", "MP.shared_data+cluster_arrive.relaxed@cluster_barrier",
             ("MP.shared_data+cluster_arrive.release@cluster_barrier",
              "MP.shared_data+thread_fence.release.cluster-cluster_arrive.relaxed@cluster_barrier")),
            ("the release of an arrival at another block's mbarrier", "MP+mbarrier.arrive.relaxed+mbarrier.wait.acquire@cluster_barrier",
             ("MP+mbarrier.arrive.release+mbarrier.wait.acquire@cluster_barrier",)),
            ("the same, data in the reader's shared memory", "MP.shared_data+mbarrier.arrive.relaxed+mbarrier.wait.acquire@cluster_barrier",
             ("MP.shared_data+mbarrier.arrive.release+mbarrier.wait.acquire@cluster_barrier",)))
    lines = []
    for words, control, guarded in rows:
        instances, weak, _ = tests[control]
        forbidden = sum(tests[name][2] for name in guarded)
        lines.append([words, f"{weak / instances:.1e}" if weak else "never", f"{instances:.1e}", str(forbidden), f"{sum(tests[name][0] for name in guarded):.1e}"])
    return table(["what is missing", "old values per instance", "instances", "old values with the instruction in place", "instances"], lines)


TABLES = {"seen": seen, "tile latency": tile_latency, "tile bandwidth": tile_bandwidth, "proxy fences": proxy_fences, "barriers": barriers,
          "messages": messages, "distributed": distributed, "chains": chains, "ratios": ratios}
