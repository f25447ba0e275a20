// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
/// @file
/// The kernel that runs a litmus test. Its blocks stay resident. In each step they run instances of the test, count the
/// outcomes and reset the memory.
///
/// A test is a type:
///
/// ```cpp
/// struct message_passing {
///   static constexpr int threads = 2;
///   static constexpr int locations = 2;
///   static constexpr int observations = 2;
///   __host__ __device__ static constexpr membar::litmus::observation observed(int o);
///   __host__ __device__ static constexpr unsigned digit(int o, long long value);  // radix - 1: an unexpected value
///   __host__ __device__ static constexpr membar::litmus::cell_value initial(int location);
///   template <int Thread>
///   static __device__ void run(const membar::litmus::instance_cells& at, const membar::litmus::results<message_passing>& out);
/// };
/// ```
///
/// An outcome is a number: the sum over the observations of each digit times the product of the radices of the preceding
/// observations. `test.cuh` creates such a type from a test written with membar's operations. The membar-litmus command
/// generates such a type from a litmus file. A loop in `run` must check `abandoned(at)` and exit if it is true.
///
/// This header is freestanding: NVRTC compiles it with only instance_layout.hpp, launch_view.hpp, device_clock.cuh and
/// base/config.hpp.
#pragma once

#include <membar/base/config.hpp>
#include <membar/device_clock.cuh>
#include <membar/litmus/instance_layout.hpp>
#include <membar/litmus/launch_view.hpp>

namespace membar {
inline namespace v0_3 {
namespace litmus {

/// Returns the number of outcomes of `Test`, including those with unexpected values; the number is at most `max_outcomes`.
template <class Test>
[[nodiscard]] MEMBAR_HOST_DEVICE constexpr unsigned outcome_count() noexcept {
  unsigned count = 1;
  for (int o = 0; o < Test::observations; ++o) {
    count *= Test::observed(o).radix;
  }
  return count;
}

namespace detail {

/// @name Accesses to the barriers' words, at device scope or, if `wide` is set, at system scope @{
[[nodiscard]] __device__ inline unsigned load_relaxed(const unsigned* word, bool wide) noexcept {
  unsigned value = 0;
  if (wide) {
    // ld.relaxed.scope.u32 d, [a];  PTX ISA 6.0, sm_70
    asm volatile("ld.relaxed.sys.u32 %0, [%1];" : "=r"(value) : "l"(word) : "memory");
  } else {
    asm volatile("ld.relaxed.gpu.u32 %0, [%1];" : "=r"(value) : "l"(word) : "memory");
  }
  return value;
}
[[nodiscard]] __device__ inline unsigned load_acquire(const unsigned* word, bool wide) noexcept {
  unsigned value = 0;
  if (wide) {
    // ld.acquire.scope.u32 d, [a];  PTX ISA 6.0, sm_70
    asm volatile("ld.acquire.sys.u32 %0, [%1];" : "=r"(value) : "l"(word) : "memory");
  } else {
    asm volatile("ld.acquire.gpu.u32 %0, [%1];" : "=r"(value) : "l"(word) : "memory");
  }
  return value;
}
__device__ inline void store_relaxed(unsigned* word, unsigned value) noexcept {
  // st.relaxed.scope.u32 [a], b;  PTX ISA 6.0, sm_70
  asm volatile("st.relaxed.sys.u32 [%0], %1;" ::"l"(word), "r"(value) : "memory");
}
__device__ inline void store_release(unsigned* word, unsigned value, bool wide) noexcept {
  if (wide) {
    // st.release.scope.u32 [a], b;  PTX ISA 6.0, sm_70
    asm volatile("st.release.sys.u32 [%0], %1;" ::"l"(word), "r"(value) : "memory");
  } else {
    asm volatile("st.release.gpu.u32 [%0], %1;" ::"l"(word), "r"(value) : "memory");
  }
}
/// Adds 1 with order acq_rel, and returns the previous value.
[[nodiscard]] __device__ inline unsigned arrive(unsigned* word, bool wide) noexcept {
  unsigned before = 0;
  if (wide) {
    // atom.acq_rel.scope.add.u32 d, [a], b;  PTX ISA 6.0, sm_70
    asm volatile("atom.acq_rel.sys.add.u32 %0, [%1], 1;" : "=r"(before) : "l"(word) : "memory");
  } else {
    asm volatile("atom.acq_rel.gpu.add.u32 %0, [%1], 1;" : "=r"(before) : "l"(word) : "memory");
  }
  return before;
}
/// Adds 1 without an order.
__device__ inline void arrive_unordered(unsigned* word) noexcept {
  // red.relaxed.scope.add.u32 [a], b;  PTX ISA 6.0, sm_70
  asm volatile("red.relaxed.gpu.add.u32 [%0], 1;" ::"l"(word) : "memory");
}
/// @}

[[nodiscard]] __device__ inline unsigned clock_cycles() noexcept {
  unsigned now = 0;
  // mov.u32 d, %clock;  PTX ISA 1.0
  asm volatile("mov.u32 %0, %%clock;" : "=r"(now)::"memory");
  return now;
}

/// Prevents the compiler from moving accesses across this call. It emits no instruction.
__device__ inline void compiler_fence() noexcept { asm volatile("" ::: "memory"); }

/// A block's permutations in one step, per test thread and per location. One warp computes them for the block.
struct block_plan {
  struct seat_plan {
    unsigned owner_block;
    unsigned factor;
    unsigned shift;
    unsigned high_shift;
  };
  seat_plan seats[max_threads];
  unsigned rotations[max_locations];
};
static_assert(max_threads + max_locations == warp_lanes, "each test thread and each location needs its own lane");

/// Computes `lane`'s entry in this block's plan for `step`.
__device__ inline void plan_step(const launch_view& view, unsigned step, unsigned lane, block_plan& plan) noexcept {
  if (lane < max_threads) {
    const seat_map m = seat_map_of(view.layout, view.seats[lane], step);
    plan.seats[lane] = {owner_block(view.layout, m, blockIdx.x), m.factor, m.shift, m.high_shift};
  } else {
    plan.rotations[lane - max_threads] = rotation_of(view.layout, step, lane - max_threads);
  }
}

/// Whether a waiting thread pauses between two polls, to leave memory bandwidth to others.
enum class polling : unsigned char { busy, resting };

/// Waits until the counter `word` reaches `target`. Returns false if the run is aborted, either by another participant or by
/// this call because the deadline has passed.
__device__ inline bool wait_for(const launch_view& view, const unsigned* word, unsigned target, bool wide, polling how,
                                unsigned long long deadline, unsigned barrier) noexcept {
  constexpr unsigned polls_per_check = 64;
  constexpr unsigned busy_polls = 2;
  constexpr unsigned rest_ns = 32;
  for (unsigned polls = 1; static_cast<int>(load_relaxed(word, wide) - target) < 0; ++polls) {
    if (polls % polls_per_check == 0) {
      if (load_relaxed(&view.run_barrier->abandoned, true) != 0) {
        return false;
      }
      if (global_nanoseconds() > deadline) {
        store_relaxed(&view.run_barrier->abandoned_at, barrier);
        store_relaxed(&view.run_barrier->abandoned, 1 + view.participant);
        return false;
      }
    }
    if (how == polling::resting && polls >= busy_polls) {
      // a thousand blocks that poll the same word delay the store to it
      __nanosleep(rest_ns);
    }
  }
  return true;
}

/// Makes a block's first thread wait after its arrival; `before` blocks had arrived earlier. Blocks poll `passed`, which the
/// last block stores, because polls of `arrived` would compete with the arrivals.
__device__ inline bool wait_for_others(const launch_view& view, unsigned barrier, unsigned before,
                                       unsigned long long deadline) noexcept {
  block_barrier_words& words = *view.block_barrier;
  const bool wide = view.participants > 1;
  if (before + 1 != barrier * view.layout.blocks) {
    if (!wait_for(view, &words.passed, barrier, wide, polling::resting, deadline, barrier)) {
      return false;
    }
    static_cast<void>(load_acquire(&words.passed, wide));
    return true;
  }
  if (wide) {
    // the last block of this launch participates in the barrier of the run
    store_release(&view.run_barrier->participants[view.participant].reached, barrier, true);
    for (unsigned p = 0; p < view.participants; ++p) {
      const unsigned* const reached = &view.run_barrier->participants[p].reached;
      if (p != view.participant) {
        if (!wait_for(view, reached, barrier, true, polling::resting, deadline, barrier)) {
          return false;
        }
        static_cast<void>(load_acquire(reached, true));
      }
    }
  }
  store_release(&words.passed, barrier, wide);
  return true;
}

/// Executes the barrier among the testing blocks of all launches and all host threads. `barrier` is the barrier's number in the
/// slice, counted from 1. Returns false if the run is aborted.
///
/// Every access before the barrier happens before every access after it, including weak accesses:
/// 1. bar.sync synchronizes the block's threads with its first thread, whose arrival releases.
/// 2. The last block to arrive acquires all arrivals and releases them with one store.
/// 3. The first thread of every other block acquires that store, and bar.sync synchronizes it with its block.
/// Every step of this chain is morally strong, so base causality orders a reset or a store of an earlier step before every
/// access of a later step. The axioms Coherence and Causality then forbid a stale value, so a stale value cannot be mistaken
/// for a weak outcome.
///
/// Within one launch, device scope covers all blocks, because they are in one domain. With several participants, every
/// operation is at system scope, the only scope that includes other domains, other devices and the host.
/// tests/litmus/engine_barrier_test.cpp checks the barrier with the model for each placement, and shows what each weaker
/// barrier would allow.
///
/// Once the block has arrived, its last warp plans `step`, the next step.
__device__ inline bool arrive_and_wait(const launch_view& view, unsigned barrier, unsigned long long deadline, unsigned step,
                                       block_plan& plan) noexcept {
  __syncthreads();
  unsigned before = 0;
  if (threadIdx.x == 0) {
    before = arrive(&view.block_barrier->arrived, view.participants > 1);
  }
  if (threadIdx.x >= view.layout.width - warp_lanes) {
    plan_step(view, step, threadIdx.x % warp_lanes, plan);
  }
  int given_up = 0;
  if (threadIdx.x == 0) {
    given_up = wait_for_others(view, barrier, before, deadline) ? 0 : 1;
  }
  return __syncthreads_or(given_up) == 0;
}

/// Makes the blocks of the launch continue at about the same time. It orders no accesses.
__device__ inline bool align_blocks(const launch_view& view, unsigned turn, unsigned long long deadline) noexcept {
  int given_up = 0;
  if (threadIdx.x == 0) {
    arrive_unordered(&view.block_barrier->aligned);
    given_up =
        wait_for(view, &view.block_barrier->aligned, turn * view.layout.blocks, false, polling::busy, deadline, turn) ? 0 : 1;
  }
  return __syncthreads_or(given_up) == 0;
}

__device__ inline void stress_access(unsigned* word, bool stores, unsigned& value) noexcept {
  if (stores) {
    // st.relaxed.scope.u32 [a], b;  PTX ISA 6.0, sm_70
    asm volatile("st.relaxed.gpu.u32 [%0], %1;" ::"l"(word), "r"(value) : "memory");
  } else {
    value += load_relaxed(word, false);
  }
}

/// Performs two accesses to this thread's word in scratch line `line`, `turns` times.
__device__ inline void stress_line(const launch_view& view, stress_pattern pattern, unsigned line, unsigned turns) noexcept {
  const unsigned offset = line * view.stress_line_bytes + threadIdx.x * 4U % view.stress_line_bytes;
  auto* const word = reinterpret_cast<unsigned*>(view.scratch + offset);
  const bool first_stores = pattern == stress_pattern::store_store || pattern == stress_pattern::store_load;
  const bool second_stores = pattern == stress_pattern::store_store || pattern == stress_pattern::load_store;
  unsigned value = line;
#pragma unroll 1
  for (unsigned turn = 0; turn < turns; ++turn) {
    stress_access(word, first_stores, value);
    stress_access(word, second_stores, value);
  }
  // this uses the loaded values, so that the compiler does not remove the accesses
  asm volatile("" ::"r"(value) : "memory");
}

/// Does a stress block's work until the launch's testing blocks have arrived at the last barrier.
__device__ inline void stress_until_done(const launch_view& view, unsigned long long deadline) noexcept {
  // Polls are rare, because they slow down the testing blocks' barrier, whose words may be in host memory.
  constexpr unsigned turns_per_poll = 8;
  constexpr unsigned accesses_per_turn = 128;
  const unsigned last = (1 + view.steps) * view.layout.blocks;
  const unsigned warp = (blockIdx.x * blockDim.x + threadIdx.x) / warp_lanes;
  for (unsigned turn = 0; static_cast<int>(load_relaxed(&view.block_barrier->arrived, false) - last) < 0; ++turn) {
    if (turn % turns_per_poll == 0 &&
        (load_relaxed(&view.run_barrier->abandoned, true) != 0 || global_nanoseconds() > deadline)) {
      return;
    }
    const unsigned random = mixed(draw(view.layout.seed, turn, purpose::stress) ^ (warp * 0x9e3779b9U));
    stress_line(view, view.pattern, scaled(random, view.stress_lines), accesses_per_turn);
  }
}

/// Counts the key of every lane of the warp, with one addition per distinct key.
__device__ inline void count(unsigned* counts, unsigned key) noexcept {
  const unsigned lane = threadIdx.x % warp_lanes;
  for (unsigned left = 0xffffffffU; left != 0;) {
    const int leader = __ffs(static_cast<int>(left)) - 1;
    const unsigned taken = __shfl_sync(0xffffffffU, key, leader);
    const unsigned same = __ballot_sync(0xffffffffU, key == taken);
    if (lane == static_cast<unsigned>(leader)) {
      atomicAdd(&counts[taken], static_cast<unsigned>(__popc(same)));
    }
    left &= ~same;
  }
}

/// Returns the first `bytes` bytes at `cell`, sign-extended.
[[nodiscard]] __device__ inline long long value_of(const unsigned char* cell, int bytes) noexcept {
  return bytes == 1   ? *reinterpret_cast<const signed char*>(cell)
         : bytes == 2 ? *reinterpret_cast<const short*>(cell)
         : bytes == 4 ? *reinterpret_cast<const int*>(cell)
                      : *reinterpret_cast<const long long*>(cell);
}

/// Processes a GPU thread's share of the region that is not in use. If `counting` is true, counts the outcomes of the step that
/// ran there with `plan`. Then resets the cells to their initial values. A thread resets only cells that it has read itself.
template <class Test>
__device__ void count_and_reset(const launch_view& view, unsigned region, const block_plan& plan, bool counting,
                                unsigned* counts) noexcept {
  unsigned char* const cells = view.cells + region * view.layout.region_bytes();
  const unsigned char* const digits = view.digits + region * view.layout.digit_bytes();
#pragma unroll 1
  for (unsigned round = 0; round < view.layout.batch; ++round) {
    const unsigned instance = owned_instance(view.layout, {blockIdx.x, threadIdx.x, round});
    if (counting) {
      unsigned key = 0;
      unsigned weight = 1;
#pragma unroll
      for (int o = 0; o < Test::observations; ++o) {
        const observation seen = Test::observed(o);
        unsigned digit = seen.radix - 1;
        if (seen.location < 0) {
          digit = digits[digit_offset(view.layout, static_cast<unsigned>(o), instance)];
        } else {
          const unsigned char* const cell =
              cells + cell_offset(view.layout, plan.rotations[seen.location], static_cast<unsigned>(seen.location), instance);
          digit = Test::digit(o, value_of(cell + seen.offset, seen.bytes));
        }
        key += (digit < seen.radix ? digit : seen.radix - 1) * weight;
        weight *= seen.radix;
      }
      count(counts, key);
    }
#pragma unroll
    for (int location = 0; location < Test::locations; ++location) {
      const unsigned long long offset =
          cell_offset(view.layout, plan.rotations[location], static_cast<unsigned>(location), instance);
      *reinterpret_cast<cell_value*>(cells + offset) = Test::initial(location);
    }
  }
}

/// Returns whether this warp counts and resets before it runs its tests. Either order is correct, because the two tasks use
/// different regions.
[[nodiscard]] __device__ inline bool counts_first(const launch_view& view, unsigned step) noexcept {
  if (view.tally != tally_time::mixed) {
    return view.tally == tally_time::before;
  }
  const unsigned warp = (blockIdx.x * view.layout.width + threadIdx.x) / warp_lanes;
  return (mixed(draw(view.layout.seed, step, purpose::tally) ^ warp * 0x9e3779b9U) & 1U) != 0;
}

/// Runs test thread `which` of one instance.
template <class Test, int Thread = 0>
__device__ void run_test_thread(const launch_view& view, unsigned which, const block_plan& plan, unsigned region,
                                unsigned round, unsigned long long deadline) noexcept {
  if constexpr (Thread < Test::threads) {
    if (which == Thread) {
      const block_plan::seat_plan& seat = plan.seats[Thread];
      const unsigned instance = owned_instance(
          view.layout,
          {seat.owner_block, owner_thread(view.layout, seat.factor, seat.shift, seat.high_shift, threadIdx.x), round});
      // This copy is in registers, so that no load of a rotation comes between two accesses of the test. All locations are
      // copied, regardless of how many the test declares; unused copies cost nothing.
      unsigned rotations[max_locations];
#pragma unroll
      for (int location = 0; location < max_locations; ++location) {
        rotations[location] = plan.rotations[location];
      }
      const instance_cells memory(view.layout, view.cells + region * view.layout.region_bytes(), rotations, instance,
                                  view.run_barrier, deadline);
      const results<Test> out(view.layout, view.digits + region * view.layout.digit_bytes(), instance);
      compiler_fence();
      Test::template run<Thread>(memory, out);
      compiler_fence();
    } else {
      run_test_thread<Test, Thread + 1>(view, which, plan, region, round, deadline);
    }
  }
}

/// Runs every test thread of this launch `batch` times, each time for a different instance.
template <class Test>
__device__ void run_test_threads(const launch_view& view, unsigned step, const block_plan& plan, unsigned region,
                                 unsigned long long deadline) noexcept {
  const unsigned runner = blockIdx.x * view.layout.width + threadIdx.x;
  unsigned random = 0;
  unsigned first = 0;
  if (view.order != run_order::fixed || view.delay != 0) {
    // All lanes of a warp draw the same number, except with `by_lane`.
    random = draw(view.layout.seed, step, purpose::order);
    random = mixed(random ^ (view.order == run_order::by_lane ? runner : runner / warp_lanes) * 0x9e3779b9U);
    first = view.order == run_order::fixed ? 0 : scaled(random, view.test_thread_count);
  }
#pragma unroll 1
  for (unsigned round = 0; round < view.layout.batch; ++round) {
#pragma unroll 1
    for (unsigned i = 0; i < view.test_thread_count; ++i) {
      if (view.delay != 0) {
        random = mixed(random + i + 1);
        const unsigned wait = scaled(random, view.delay + 1);
        for (const unsigned begin = clock_cycles(); clock_cycles() - begin < wait;) {
        }
      }
      run_test_thread<Test>(view, view.test_threads[add_modulo(i, first, view.test_thread_count)], plan, region, round,
                            deadline);
    }
  }
}

}  // namespace detail

/// Returns whether the run has been aborted or its time is over. A loop in a test must then exit, and the run is reported as
/// timed out. This function reads a clock and a shared word, so call it only every few dozen iterations.
[[nodiscard]] __device__ inline bool abandoned(const instance_cells& at) noexcept {
  if (detail::load_relaxed(&at.run_barrier()->abandoned, true) != 0) {
    return true;
  }
  if (global_nanoseconds() <= at.deadline()) {
    return false;
  }
  detail::store_relaxed(&at.run_barrier()->abandoned, 1 + max_participants);
  return true;
}

/// Runs a launch's part of a slice. This function is the body of `run_instances`; call it from kernels with another name.
///
/// The kernel alternates between two regions of memory: while a step runs in one, the previous step is counted and reset in the
/// other. One barrier ends both.
///
/// Launch: `layout.blocks` testing blocks of `layout.width` threads, followed by any number of stress blocks, all resident at
/// the same time. If `layout.cluster` is not 1, the blocks form clusters of that size. Dynamic shared memory: 4 bytes per
/// outcome.
///
/// L2 traffic per instance, in sectors of 32 bytes:
/// * an access by the test: 1/2 if a warp's cells are contiguous, 1 if they are scattered;
/// * a reset: 1/2 per location; an observed location: 1/2 more;
/// * an observed register: 1/32 to write (up to 1/4 if scattered) and 1/32 to read.
/// Message passing: 3.1 to 5.6 sectors, 100 to 180 bytes. IRIW: 4.3 to 8.1 sectors. An instance needs no atomic operation, and
/// a thread executes one barrier per `batch` instances.
template <class Test>
__device__ void run_launch(const launch_view& view) {
  static_assert(Test::threads <= max_threads && Test::locations <= max_locations && Test::observations <= max_observations,
                "membar: a litmus test on a GPU can have at most 16 threads, 16 locations and 16 observations");
  static_assert(outcome_count<Test>() <= max_outcomes,
                "membar: a litmus test on a GPU can have at most 4096 outcomes: observe fewer locations or fewer values");
  extern __shared__ unsigned membar_litmus_counts[];
  unsigned* const counts = membar_litmus_counts;
  __shared__ detail::block_plan plans[2];  // one for this step, and one for the previous or the next step
  const unsigned long long deadline = global_nanoseconds() + view.budget_ns;
  if (blockIdx.x >= view.layout.blocks) {
    detail::stress_until_done(view, deadline);
    return;
  }
  for (unsigned key = threadIdx.x; key < outcome_count<Test>(); key += view.layout.width) {
    counts[key] = 0;
  }
  if (threadIdx.x < max_locations) {
    plans[1].rotations[threadIdx.x] = 0;
  }
  __syncthreads();
  if (view.owner) {
    // no step has run in that region yet, so any rotation resets the whole region
    detail::count_and_reset<Test>(view, 0, plans[1], false, counts);
  }
  if (!detail::arrive_and_wait(view, 1, deadline, view.first_step, plans[0])) {
    return;
  }
#pragma unroll 1
  for (unsigned k = 0; k < view.steps; ++k) {
    const unsigned step = view.first_step + k;
    const unsigned region = k & 1U;
    if (view.pre_stress != 0) {
      const unsigned warp = (blockIdx.x * view.layout.width + threadIdx.x) / warp_lanes;
      const unsigned random = detail::mixed(detail::draw(view.layout.seed, step, detail::purpose::stress) ^ warp * 0x9e3779b9U);
      detail::stress_line(view, view.pre_pattern, detail::scaled(random, view.stress_lines), view.pre_stress);
    }
    if (view.align && !detail::align_blocks(view, k + 1, deadline)) {
      return;
    }
    const bool counts_first = detail::counts_first(view, step);
    if (view.owner && counts_first) {
      detail::count_and_reset<Test>(view, region ^ 1U, plans[region ^ 1U], k != 0, counts);
    }
    detail::run_test_threads<Test>(view, step, plans[region], region, deadline);
    if (view.owner && !counts_first) {
      detail::count_and_reset<Test>(view, region ^ 1U, plans[region ^ 1U], k != 0, counts);
    }
    if (!detail::arrive_and_wait(view, k + 2, deadline, step + 1, plans[region ^ 1U])) {
      return;
    }
  }
  if (view.owner) {
    const unsigned last = (view.steps & 1U) ^ 1U;
    detail::count_and_reset<Test>(view, last, plans[last], true, counts);
    __syncthreads();
    for (unsigned key = threadIdx.x; key < outcome_count<Test>(); key += view.layout.width) {
      if (counts[key] != 0) {
        atomicAdd(&view.counts[key], static_cast<unsigned long long>(counts[key]));
      }
    }
  }
}

/// The kernel of `Test`. It uses at most 64 registers, so that 1024 threads fit into a multiprocessor.
template <class Test>
__global__ void __launch_bounds__(1024, 1) run_instances(const __grid_constant__ launch_view view) {
  run_launch<Test>(view);
}

}  // namespace litmus
}  // namespace v0_3
}  // namespace membar
