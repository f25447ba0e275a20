// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// A chain of dependent kernels: each kernel reads its predecessor's results and overwrites the data that its predecessor has
// read, but never too early.
#include <membar/sync/dependent_chain.cuh>

#include <tests/common/checked.cuh>
#include <tests/common/gpu_test.hpp>
#include <tests/common/stress.hpp>
#include <tests/common/sync.cuh>

#include <algorithm>

namespace membar_test {
namespace {

using membar::chain_link, membar::chained;

constexpr unsigned blocks = 132;
constexpr unsigned threads = 256;
constexpr unsigned cells = blocks * threads;
constexpr wait_budget long_enough = wait_budget::microseconds(5);  ///< Long enough for the next kernel to start.

/// Each thread reads a word that a thread of another block wrote in the previous kernel, and expects it to be that kernel's
/// number. The thread then overwrites what the previous kernel read with the next number. One block in eight is late.
__global__ void step(chained<const unsigned> from, chained<unsigned> to, unsigned long long* stale, unsigned number) {
  chain_link link;
  const unsigned here = blockIdx.x * threads + threadIdx.x;
  const unsigned there = (here + cells / 2) % cells;
  const membar::prerequisites_ended ended = link.wait();
  const unsigned found = from.after(ended)[there];
  if (blockIdx.x % 8 == number % 8) {
    wait_for(long_enough);
  }
  if (checked(found != number)) {
    atomicAdd(stale, 1ULL);
  }
  to.after(ended)[here] = number + 1;
}

/// A kernel that does not access the chain's memory and ends immediately.
__global__ void pass() { const chain_link link; }

class dependent_chain : public gpu_test {
 protected:
  void prepare() override { need_compute_capability(9, "dependent launches"); }

  /// Runs a chain of `steps` steps, with the given number of idle kernels after each step. Returns the number of stale values.
  static unsigned long long stale_in(unsigned steps, unsigned idle) {
    const support::device_memory<unsigned> memory(2 * cells);
    const support::device_memory<unsigned long long> stale(1);
    const chained<unsigned> buffers[] = {chained(memory.get()), chained(memory.get() + cells)};
    membar::dependent_chain chain(nullptr);
    for (unsigned number = 0; number < steps; ++number) {
      chain.launch(launch_config{blocks, threads}, step, buffers[number % 2], buffers[(number + 1) % 2], stale.get(), number);
      for (unsigned i = 0; i < idle; ++i) {
        chain.launch(launch_config{1, 32}, pass);
      }
    }
    const auto last = copied(memory);
    const auto* const end = last.data() + (steps % 2) * cells;
    EXPECT_TRUE(std::all_of(end, end + cells, [steps](unsigned value) { return value == steps; }))
        << "the copy comes after the chain";
    return copied(stale)[0];
  }
};

TEST_F(dependent_chain, passes_every_value_on) {
  EXPECT_EQ(stale_in(static_cast<unsigned>(stress_count("MEMBAR_STRESS_KERNELS", 20'000)), 0), 0U);
}

TEST_F(dependent_chain, holds_across_kernels_that_have_nothing_to_do) {
  EXPECT_EQ(stale_in(static_cast<unsigned>(stress_count("MEMBAR_STRESS_KERNELS", 20'000)) / 4, 2), 0U);
}

TEST_F(dependent_chain, rejects_a_launch_in_another_stream) {
  const support::stream other;
  membar::dependent_chain chain(nullptr);
  chain.launch(launch_config{1, 32}, pass);
  try {
    chain.launch(launch_config{1, 32, other.get()}, pass);
    FAIL() << "a kernel in another stream does not wait for this chain";
  } catch (const membar::error& e) {
    EXPECT_NE(std::string(e.what()).find("give the launch the chain's stream"), std::string::npos) << e.what();
  }
  chain.launch(launch_config{1, 32}, pass);
}

}  // namespace
}  // namespace membar_test
