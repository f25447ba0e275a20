// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
/// @file
/// The question: what does an atomic operation cost on a PE's own counter and on another PE's counter, with and without waiting
/// for it? The operations are compared with the raw intrinsic and with NVSHMEM. Times are per operation, issued by a single
/// thread.
#include "peer_world.cuh"

namespace {

using namespace symmetric_bench;

/// The distance in words between one PE's words and the other's: 128 bytes.
constexpr std::size_t apart = 16;

/// The code that a user would write without membar.
__global__ void raw_chain(unsigned long long* there, unsigned rounds, kernel_report* report) {
  amo_chain(rounds, report, [&](unsigned long long seen) { return atomicAdd_system(there, 1 + (seen >> 63)); });
}

template <class... Parameters>
double amo_nanoseconds(world& two, pe target, void (*kernel)(Parameters...)) {
  const scoped_array counters(two.heap.allocate<counter<unsigned long long>>(2 * apart));
  // PE 1 executes the same operations on its own counters, and accesses neither PE 0's words nor their sectors.
  return two.round_nanoseconds(1, 5'000, kernel, [&](pe which, auto launch) {
    launch(counters.on(which).subspan(apart * static_cast<std::size_t>(which.index()), 3), which == pe(0) ? target : pe(1));
  });
}

double raw_nanoseconds(world& two, pe target) {
  const scoped_array words(two.heap.allocate<unsigned long long>(2 * apart));
  return two.round_nanoseconds(1, 5'000, raw_chain, [&](pe which, auto launch) {
    launch(which == pe(0) ? words.on(target).local() : words.on(which).local() + apart);
  });
}

void add_cases(bench::suite& cases) {
  const peers of(cases);
  for (const pe target : {pe(0), pe(1)}) {
    const std::string where = target == pe(0) ? "/own_pe" : "/other_pe";
    const auto add = [&](const std::string& arm, auto kernel) {
      cases.add("amo_latency/" + arm + where, [two = of.two, target, kernel] { return amo_nanoseconds(*two, target, kernel); });
    };
    add("membar_peer_fetch_add", &fetch_add_chain<peer_backend>);
    add("membar_peer_compare_exchange", &compare_exchange_chain<peer_backend>);
    add("membar_peer_add_and_quiet", &add_stream<peer_backend>);
    cases.add("amo_latency/atomicAdd_system" + where, [two = of.two, target] { return raw_nanoseconds(*two, target); });
  }
}

}  // namespace

namespace bench {

bench::description describe() {
  return {.question = "What does an atomic operation on a counter cost, on this GPU and on another?",
          .add_cases = add_cases,
          .takes_device = false,
          .before_cuda = [](suite& cases) { symmetric_bench::add_nvshmem_cases(cases, "amo_latency"); }};
}

}  // namespace bench
