// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Cumulativity across three threads, the example for which memory synchronization domains exist. Thread 1 (kernel A) writes x
// and sets a; thread 2 (kernel B) waits for a and sets b; thread 3 (the CPU) waits for b and reads x. All values only grow,
// round after round, so "must see x" is "sees an x no older than the a (or b) it read". Every test here carries the label
// `concurrent`: two kernels and the host run at once, which tools that run one kernel after another would turn into a timeout.
#include <membar/atomic.cuh>

#include <tests/common/deadline.cuh>
#include <tests/common/gpu_test.hpp>

#include <cstdio>
#include <string>

namespace membar_test {
namespace {

constexpr int rounds = 100'000;
/// Stands for "a last round has been": thread 1 also ends when its time is up.
constexpr int last_round = 0x40000000;

/// What host and device share, in pinned host memory, each in a line of its own.
struct shared_state {
  alignas(256) int x;
  alignas(256) int b;
  alignas(256) int b_kernel_is_there;
  alignas(256) int end;
  alignas(256) int rounds_written;
  alignas(256) unsigned long long rounds_seen_by_b;
  alignas(256) unsigned long long stale_in_b;
  alignas(256) int a_timed_out;
  alignas(256) int b_timed_out;
};

template <class T>
__device__ membar::atomic_ref<T, thread_scope::system> everywhere(T& object) {
  return membar::atomic_ref<T, thread_scope::system>(object);
}

/// Thread 1 is the first thread. The other blocks write to host memory as fast as they can, so that x is one of many writes on
/// their way there.
template <thread_scope ScopeOfA>
__global__ void kernel_a(shared_state* state, int* a, int* elsewhere, int count) {
  if (blockIdx.x != 0) {
    const device_deadline deadline;
    const unsigned index = (blockIdx.x - 1) * blockDim.x + threadIdx.x;
    for (int i = 0; everywhere(state->end).load(membar::relaxed) == 0 && !deadline.passed(); ++i) {
      for (int k = 0; k != 16; ++k) {
        everywhere(elsewhere[index]).store(i, membar::relaxed);
      }
    }
    return;
  }
  if (threadIdx.x != 0) {
    return;
  }
  device_deadline waiting;
  while (everywhere(state->b_kernel_is_there).load(membar::relaxed) == 0) {
    if (waiting.passed()) {
      state->a_timed_out = 1;
      break;
    }
  }
  const device_deadline time(1'000'000'000);
  int round = 0;
  while (round != count && !time.passed() && state->a_timed_out == 0) {
    ++round;
    everywhere(state->x).store(round, membar::relaxed);
    membar::atomic_ref<int, ScopeOfA>(*a).store(round, membar::release);
  }
  state->rounds_written = round;
  everywhere(state->x).store(last_round, membar::relaxed);
  membar::atomic_ref<int, thread_scope::system>(*a).store(last_round, membar::release);
  everywhere(state->end).store(1, membar::relaxed);
}

/// Thread 2.
template <thread_scope ScopeOfA>
__global__ void kernel_b(shared_state* state, const int* a) {
  everywhere(state->b_kernel_is_there).store(1, membar::relaxed);
  unsigned long long seen = 0;
  unsigned long long stale = 0;
  int before = 0;
  device_deadline deadline;
  while (before != last_round) {
    const int round = membar::atomic_ref<int, ScopeOfA>(const_cast<int&>(*a)).load(membar::acquire);
    if (round == before) {
      if (deadline.passed()) {
        state->b_timed_out = 1;
        break;
      }
      continue;
    }
    if (everywhere(state->x).load(membar::relaxed) < round) {
      ++stale;
    }
    everywhere(state->b).store(round, membar::release);
    ++seen;
    before = round;
    deadline.renew();
  }
  state->rounds_seen_by_b = seen;
  state->stale_in_b = stale;
}

struct outcome {
  int rounds = 0;
  unsigned long long rounds_of_b = 0;    ///< values of a that thread 2 saw
  unsigned long long rounds_of_cpu = 0;  ///< values of b that the CPU saw
  unsigned long long stale_in_b = 0;     ///< x older than the a that thread 2 had read
  unsigned long long stale_on_cpu = 0;   ///< x older than the b that the CPU had read
};

class cumulativity : public gpu_test {
 protected:
  /// Runs the three threads; where x is `carried`, expects that it was.
  template <thread_scope ScopeOfA>
  static void run(int domain_of_a, int domain_of_b, bool carried) {
    if ((domain_of_a != 0 || domain_of_b != 0) && membar::sync_domain_count() < 2) {
      GTEST_SKIP() << "this test needs two synchronization domains, and the GPU has one (compute capability below 9.0)";
    }
    outcome result;
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

    // Thread 3.
    const membar::atomic_ref<int, thread_scope::system> b(state[0].b);
    const membar::atomic_ref<int, thread_scope::system> x(state[0].x);
    int before = 0;
    host_deadline deadline;
    while (before != last_round && !deadline.passed()) {
      const int round = b.load(membar::acquire);
      if (round != before) {
        if (x.load(membar::relaxed) < round) {
          ++result.stale_on_cpu;
        }
        ++result.rounds_of_cpu;
        before = round;
        deadline.renew();
      }
    }
    stream_a.synchronize();
    stream_b.synchronize();
    result.rounds = state[0].rounds_written;
    result.rounds_of_b = state[0].rounds_seen_by_b;
    result.stale_in_b = state[0].stale_in_b;
    EXPECT_EQ(state[0].a_timed_out, 0) << "thread 1 waited in vain for thread 2: the kernels did not run at once";
    EXPECT_EQ(state[0].b_timed_out, 0) << "thread 2 waited in vain for thread 1";
    EXPECT_EQ(before, last_round) << "the CPU waited in vain for thread 2";
    EXPECT_GT(result.rounds, 0);
    EXPECT_GT(result.rounds_of_cpu, 0U);
    report(result);
    if (carried) {
      EXPECT_EQ(result.stale_in_b, 0U);
      EXPECT_EQ(result.stale_on_cpu, 0U) << "what thread 2 has observed is released by it too";
    }
  }

 private:
  static void report(const outcome& result) {
    RecordProperty("rounds", std::to_string(result.rounds));
    RecordProperty("rounds_seen_by_thread_2", std::to_string(result.rounds_of_b));
    RecordProperty("rounds_seen_by_cpu", std::to_string(result.rounds_of_cpu));
    RecordProperty("stale_x_in_thread_2", std::to_string(result.stale_in_b));
    RecordProperty("stale_x_on_cpu", std::to_string(result.stale_on_cpu));
    std::printf("%d rounds; thread 2 saw %llu, x stale in %llu; the CPU saw %llu, x stale in %llu\n", result.rounds,
                result.rounds_of_b, result.stale_in_b, result.rounds_of_cpu, result.stale_on_cpu);
  }
};

TEST_F(cumulativity, within_one_domain_device_scope_carries_x_to_both) { run<thread_scope::device>(0, 0, true); }
TEST_F(cumulativity, within_another_domain_device_scope_carries_x_to_both) { run<thread_scope::device>(1, 1, true); }
TEST_F(cumulativity, across_domains_system_scope_carries_x_to_both) { run<thread_scope::system>(0, 1, true); }

// Nothing is promised here, so nothing but the end of the run is asserted: the counts are printed and recorded.
TEST_F(cumulativity, across_domains_device_scope_promises_nothing) { run<thread_scope::device>(0, 1, false); }

}  // namespace
}  // namespace membar_test
