// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Cumulativity across three threads, the example that motivates memory synchronization domains. Thread 1 (kernel A) writes x
// and sets a; thread 2 (kernel B) waits for a and sets b; thread 3 (the CPU) waits for b and reads x. All values only increase,
// round after round, so "must see x" means "sees an x that is no older than the a (or b) that it has read". Every test here has
// the label `concurrent`: two kernels and the host run concurrently, so tools that serialize kernels would cause a timeout.
#include <membar/atomic.cuh>

#include <tests/common/checked.cuh>
#include <tests/common/gpu_test.hpp>
#include <tests/common/sync.cuh>

#include <cstdio>
#include <string>

namespace membar_test {
namespace {

constexpr int rounds = 100'000;
/// Marks the last round. Thread 1 stores it even if its time is up before all rounds are done.
constexpr int last_round = 0x40000000;

/// What a thread in a chain has observed: in how many rounds it saw the flag, and in how many of these x was older than the
/// flag.
struct seen_rounds {
  unsigned long long seen = 0;
  unsigned long long stale = 0;
  bool timed_out = false;
};

/// The data that the host and the device share in pinned host memory; each object has its own line.
struct shared_state {
  alignas(256) int x;
  alignas(256) int b;
  alignas(256) int b_kernel_is_there;
  alignas(256) int end;
  alignas(256) int rounds_written;
  alignas(256) seen_rounds seen_by_b;
  alignas(256) int a_timed_out;
};

template <class T>
MEMBAR_HOST_DEVICE membar::atomic_ref<T, thread_scope::system> everywhere(T& object) {
  return membar::atomic_ref<T, thread_scope::system>(object);
}

/// Thread 1 of the chain is the kernel's first thread. The other blocks write to host memory as fast as they can, so that x is
/// one of many writes in flight.
template <thread_scope ScopeOfA>
__global__ void kernel_a(shared_state* state, int* a, int* elsewhere, int count) {
  if (blockIdx.x != 0) {
    membar::detail::polling poll(generous);
    const unsigned index = (blockIdx.x - 1) * blockDim.x + threadIdx.x;
    for (int i = 0; everywhere(state->end).load(membar::relaxed) == 0 && !poll.over(); ++i) {
      for (int k = 0; k != 16; ++k) {
        everywhere(elsewhere[index]).store(i, membar::relaxed);
      }
    }
    return;
  }
  if (threadIdx.x != 0) {
    return;
  }
  const bool b_came = wait_for(generous, [&] { return everywhere(state->b_kernel_is_there).load(membar::relaxed) != 0; });
  state->a_timed_out = b_came ? 0 : 1;
  membar::detail::polling time(wait_budget::milliseconds(1'000));
  int round = 0;
  while (round != count && !time.over() && b_came) {
    ++round;
    everywhere(state->x).store(round, membar::relaxed);
    membar::atomic_ref<int, ScopeOfA>(*a).store(round, membar::release);
  }
  state->rounds_written = round;
  everywhere(state->x).store(last_round, membar::relaxed);
  everywhere(*a).store(last_round, membar::release);
  everywhere(state->end).store(1, membar::relaxed);
}

/// Polls `flag` until the last round. In each round that it sees, reads x and passes the round on with `pass_on(round)`.
MEMBAR_CALLS_EITHER
template <thread_scope Scope, class PassOn>
MEMBAR_HOST_DEVICE seen_rounds follow(int& flag, int& x, PassOn pass_on) {
  seen_rounds result;
  int before = 0;
  int round = 0;
  const auto comes = [&] {
    round = membar::atomic_ref<int, Scope>(flag).load(membar::acquire);
    return round != before;
  };
  while (before != last_round && wait_for(generous, comes)) {
    result.stale += checked(everywhere(x).load(membar::relaxed) < round);
    pass_on(round);
    ++result.seen;
    before = round;
  }
  result.timed_out = before != last_round;
  return result;
}

/// Thread 2 of the chain.
template <thread_scope ScopeOfA>
__global__ void kernel_b(shared_state* state, int* a) {
  everywhere(state->b_kernel_is_there).store(1, membar::relaxed);
  state->seen_by_b = follow<ScopeOfA>(*a, state->x, [&](int round) { everywhere(state->b).store(round, membar::release); });
}

class cumulativity : public gpu_test {
 protected:
  /// Runs the three threads. If x is `carried`, expects that no thread saw a stale x.
  template <thread_scope ScopeOfA>
  static void run(int domain_of_a, int domain_of_b, bool carried) {
    if ((domain_of_a != 0 || domain_of_b != 0) && membar::sync_domain_count() < 2) {
      GTEST_SKIP() << "this test needs two synchronization domains, but the GPU has one (compute capability below 9.0)";
    }
    constexpr unsigned noisy_blocks = 4;
    constexpr unsigned threads = 64;
    load(kernel_a<ScopeOfA>);
    load(kernel_b<ScopeOfA>);
    const support::pinned_memory<shared_state> state(1);
    const support::pinned_memory<int> elsewhere(noisy_blocks * threads);
    const support::device_memory<int> a(1);
    const support::stream stream_a;
    const support::stream stream_b;
    const auto both = [](int domain) { return membar::sync_domain_map{.default_ = domain, .remote = domain}; };
    membar::launch(launch_config{1 + noisy_blocks, threads, stream_a.get()}.with(both(domain_of_a)), kernel_a<ScopeOfA>,
                   state.get(), a.get(), elsewhere.get(), rounds);
    membar::launch(launch_config{1, 1, stream_b.get()}.with(both(domain_of_b)), kernel_b<ScopeOfA>, state.get(), a.get());

    // Thread 3 of the chain.
    const seen_rounds on_cpu = follow<thread_scope::system>(state[0].b, state[0].x, [](int) {});
    stream_a.synchronize();
    stream_b.synchronize();
    const seen_rounds& in_b = state[0].seen_by_b;
    EXPECT_EQ(state[0].a_timed_out, 0) << "thread 1 timed out waiting for thread 2: the kernels did not run concurrently";
    EXPECT_FALSE(in_b.timed_out) << "thread 2 timed out waiting for thread 1";
    EXPECT_FALSE(on_cpu.timed_out) << "the CPU timed out waiting for thread 2";
    EXPECT_GT(state[0].rounds_written, 0);
    EXPECT_GT(on_cpu.seen, 0U);
    RecordProperty("rounds", std::to_string(state[0].rounds_written));
    RecordProperty("rounds_seen_by_thread_2", std::to_string(in_b.seen));
    RecordProperty("rounds_seen_by_cpu", std::to_string(on_cpu.seen));
    RecordProperty("stale_x_in_thread_2", std::to_string(in_b.stale));
    RecordProperty("stale_x_on_cpu", std::to_string(on_cpu.stale));
    std::printf("%d rounds; thread 2 saw %llu, x stale in %llu; the CPU saw %llu, x stale in %llu\n", state[0].rounds_written,
                in_b.seen, in_b.stale, on_cpu.seen, on_cpu.stale);
    if (carried) {
      EXPECT_EQ(in_b.stale, 0U);
      EXPECT_EQ(on_cpu.stale, 0U) << "thread 2's release also covers what thread 2 has observed";
    }
  }
};

TEST_F(cumulativity, within_one_domain_device_scope_carries_x_to_both) { run<thread_scope::device>(0, 0, true); }
TEST_F(cumulativity, within_another_domain_device_scope_carries_x_to_both) { run<thread_scope::device>(1, 1, true); }
TEST_F(cumulativity, across_domains_system_scope_carries_x_to_both) { run<thread_scope::system>(0, 1, true); }

// Nothing is guaranteed here, so the test asserts only that the run ends. The counts are printed and recorded.
TEST_F(cumulativity, across_domains_device_scope_promises_nothing) { run<thread_scope::device>(0, 1, false); }

}  // namespace
}  // namespace membar_test
