// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
/// @file
/// The kernel that runs a litmus test: blocks that stay, run instances of the test step by step, reset the memory and count
/// the outcomes.
///
/// A test is a type:
///
/// ```cpp
/// struct message_passing {
///   static constexpr int threads = 2;
///   static constexpr int locations = 2;
///   static constexpr int observations = 2;
///   __host__ __device__ static constexpr membar::litmus::observation observed(int o);
///   __host__ __device__ static constexpr unsigned digit(int o, long long value);  // radix - 1: a value that is not expected
///   __host__ __device__ static constexpr membar::litmus::cell_value initial(int location);
///   template <int Thread>
///   static __device__ void run(const membar::litmus::cells& at, const membar::litmus::results<message_passing>& out);
/// };
/// ```
///
/// An outcome is a number: the sum of each observation's digit times the product of the radices of those before it. `test.cuh`
/// makes such a type of a test written with membar's operations, `source.hpp` writes one for a litmus file. A loop in `run`
/// looks at `abandoned(at)`, and leaves if that is true.
///
/// Freestanding: NVRTC compiles it with instance_layout.hpp, launch_view.hpp, device_clock.cuh and
/// detail/config.hpp, and nothing else.
#pragma once

#include <membar/detail/config.hpp>
#include <membar/device_clock.cuh>
#include <membar/litmus/instance_layout.hpp>
#include <membar/litmus/launch_view.hpp>

namespace membar::litmus {

/// The number of outcomes of `Test`, those with unexpected values included; at most `max_outcomes`.
template <class Test>
[[nodiscard]] MEMBAR_HOST_DEVICE constexpr unsigned outcome_count() noexcept {
  unsigned count = 1;
  for (int o = 0; o < Test::observations; ++o) {
    count *= Test::observed(o).radix;
  }
  return count;
}

namespace detail {

/// @name The words that blocks meet at
/// At device scope, or at system scope if `wide`.
/// @{
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
/// Adds 1, acquires and releases, and returns what was there.
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
/// Adds 1 and orders nothing.
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

/// The compiler moves no access across this; it is no instruction.
__device__ inline void compiler_fence() noexcept { asm volatile("" ::: "memory"); }

/// What a step's permutations are for one block, for each test thread and location. One warp finds out for all.
struct block_plan {
  struct seat_plan {
    unsigned home_block;
    unsigned factor;
    unsigned shift;
    unsigned high_shift;
  };
  seat_plan seats[max_threads];
  unsigned rotations[max_locations];
};
static_assert(max_threads + max_locations == warp_lanes, "a lane for each");

/// The part of `lane` in the plan of `step` for this block.
__device__ inline void plan_step(const launch_view& view, unsigned step, unsigned lane, block_plan& plan) noexcept {
  if (lane < max_threads) {
    const seat_map m = seat_map_of(view.where, view.seats[lane], step);
    plan.seats[lane] = {home_block(view.where, m, blockIdx.x), m.factor, m.shift, m.high_shift};
  } else {
    plan.rotations[lane - max_threads] = rotation_of(view.where, step, lane - max_threads);
  }
}

/// Whether a thread that waits leaves the memory system to others between two looks.
enum class polling : unsigned char { busy, resting };

/// Waits until the counter `word` has come to `target`. False if the run is given up, by others or now because the deadline has
/// passed.
__device__ inline bool wait_for(const launch_view& view, const unsigned* word, unsigned target, bool wide, polling how,
                                unsigned long long deadline, unsigned barrier) noexcept {
  constexpr unsigned polls_per_look = 64;
  constexpr unsigned busy_polls = 2;
  constexpr unsigned rest_ns = 32;
  for (unsigned polls = 1; static_cast<int>(load_relaxed(word, wide) - target) < 0; ++polls) {
    if (polls % polls_per_look == 0) {
      if (load_relaxed(&view.all_words->abandoned, true) != 0) {
        return false;
      }
      if (global_nanoseconds() > deadline) {
        store_relaxed(&view.all_words->abandoned_at, barrier);
        store_relaxed(&view.all_words->abandoned, 1 + view.party);
        return false;
      }
    }
    if (how == polling::resting && polls >= busy_polls) {
      // a thousand blocks that poll one word stand in the way of its store
      __nanosleep(rest_ns);
    }
  }
  return true;
}

/// What one thread of a block does after its arrival, before which `before` had arrived. Blocks wait at a word of their own,
/// which the last one stores: polls of `arrived` would stand in a queue with the arrivals.
__device__ inline bool meet_others(const launch_view& view, unsigned barrier, unsigned before,
                                   unsigned long long deadline) noexcept {
  launch_words& own = *view.own_words;
  const bool wide = view.parties > 1;
  if (before + 1 != barrier * view.where.blocks) {
    if (!wait_for(view, &own.passed, barrier, wide, polling::resting, deadline, barrier)) {
      return false;
    }
    static_cast<void>(load_acquire(&own.passed, wide));
    return true;
  }
  if (wide) {
    // the last block of this launch meets the other parties
    store_release(&view.all_words->parties[view.party].reached, barrier, true);
    for (unsigned p = 0; p < view.parties; ++p) {
      const unsigned* const reached = &view.all_words->parties[p].reached;
      if (p != view.party) {
        if (!wait_for(view, reached, barrier, true, polling::resting, deadline, barrier)) {
          return false;
        }
        static_cast<void>(load_acquire(reached, true));
      }
    }
  }
  store_release(&own.passed, barrier, wide);
  return true;
}

/// The barrier of all testing blocks of all launches and all host threads; the `barrier`-th of the slice, counted from 1. False
/// if the run is given up.
///
/// What any thread did before it is visible to every thread after it, weak accesses included: bar.sync brings what the block's
/// threads did to its first thread, which releases it by its arrival; the last one to arrive acquires what all brought, and
/// releases it by one store; the first thread of every other block acquires that, and bar.sync hands it to the block. Every hop
/// is morally strong, so base causality orders a reset or a store of an earlier step before every access of a later one: a
/// stale value in L1, in a store queue or on a link is then forbidden by the axioms Coherence and Causality, and cannot be
/// taken for a weak outcome. Within one launch device scope covers all of its blocks, which are in one domain. With several
/// parties every operation is at system scope, which alone includes other domains, other devices and the host.
/// tests/litmus/engine_barrier_test.cpp has the model decide this for each placement, and show what each weaker barrier would
/// let through.
///
/// When its block has arrived, its last warp plans `step`, the next one.
__device__ inline bool meet(const launch_view& view, unsigned barrier, unsigned long long deadline, unsigned step,
                            block_plan& plan) noexcept {
  __syncthreads();
  unsigned before = 0;
  if (threadIdx.x == 0) {
    before = arrive(&view.own_words->arrived, view.parties > 1);
  }
  if (threadIdx.x >= view.where.width - warp_lanes) {
    plan_step(view, step, threadIdx.x % warp_lanes, plan);
  }
  int given_up = 0;
  if (threadIdx.x == 0) {
    given_up = meet_others(view, barrier, before, deadline) ? 0 : 1;
  }
  return __syncthreads_or(given_up) == 0;
}

/// Brings the blocks of the launch to one point in time, and orders nothing.
__device__ inline bool meet_in_time(const launch_view& view, unsigned turn, unsigned long long deadline) noexcept {
  int given_up = 0;
  if (threadIdx.x == 0) {
    arrive_unordered(&view.own_words->aligned);
    given_up = wait_for(view, &view.own_words->aligned, turn * view.where.blocks, false, polling::busy, deadline, turn) ? 0 : 1;
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

/// `turns` times two accesses of this thread's word of scratch line `line`.
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
  // what was loaded is used, so that no turn overtakes the last one
  asm volatile("" ::"r"(value) : "memory");
}

/// What a block beyond the testing ones does: stress, until the launch's testing blocks have come to the last barrier.
__device__ inline void stress_until_done(const launch_view& view, unsigned long long deadline) noexcept {
  // Looks are rare: the words are what the testing blocks meet at, and may be in the host's memory.
  constexpr unsigned turns_per_look = 8;
  constexpr unsigned accesses_per_turn = 128;
  const unsigned last = (1 + view.steps) * view.where.blocks;
  const unsigned warp = (blockIdx.x * blockDim.x + threadIdx.x) / warp_lanes;
  for (unsigned turn = 0; static_cast<int>(load_relaxed(&view.own_words->arrived, false) - last) < 0; ++turn) {
    if (turn % turns_per_look == 0 &&
        (load_relaxed(&view.all_words->abandoned, true) != 0 || global_nanoseconds() > deadline)) {
      return;
    }
    const unsigned random = mixed(draw(view.where.seed, turn, purpose::stress) ^ (warp * 0x9e3779b9U));
    stress_line(view, view.pattern, scaled(random, view.stress_lines), accesses_per_turn);
  }
}

/// Counts `key`, of which every lane of the warp has one: one addition for each different key.
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

/// The first bytes of a part of a cell, sign extended.
[[nodiscard]] __device__ inline long long value_of(const unsigned char* cell, int bytes) noexcept {
  return bytes == 1   ? *reinterpret_cast<const signed char*>(cell)
         : bytes == 2 ? *reinterpret_cast<const short*>(cell)
         : bytes == 4 ? *reinterpret_cast<const int*>(cell)
                      : *reinterpret_cast<const long long*>(cell);
}

/// A GPU thread's share of a region that nobody tests in: counts the outcomes of the step that ran there by `plan`, if
/// `tallies`, and makes the cells what they are when an instance begins. A thread resets the cells that it has read, and no
/// others.
template <class Test>
__device__ void tally_and_reset(const launch_view& view, unsigned region, const block_plan& plan, bool tallies,
                                unsigned* counts) noexcept {
  unsigned char* const cells = view.cells + region * view.where.region_bytes();
  const unsigned char* const digits = view.digits + region * view.where.digit_bytes();
#pragma unroll 1
  for (unsigned round = 0; round < view.where.batch; ++round) {
    const unsigned instance = home_instance(view.where, {blockIdx.x, threadIdx.x, round});
    if (tallies) {
      unsigned key = 0;
      unsigned weight = 1;
#pragma unroll
      for (int o = 0; o < Test::observations; ++o) {
        const observation seen = Test::observed(o);
        unsigned digit = seen.radix - 1;
        if (seen.location < 0) {
          digit = digits[digit_offset(view.where, static_cast<unsigned>(o), instance)];
        } else {
          const unsigned char* const cell =
              cells + cell_offset(view.where, plan.rotations[seen.location], static_cast<unsigned>(seen.location), instance);
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
          cell_offset(view.where, plan.rotations[location], static_cast<unsigned>(location), instance);
      *reinterpret_cast<cell_value*>(cells + offset) = Test::initial(location);
    }
  }
}

/// Whether this warp tallies and resets before it tests. The two are in different regions: any order will do.
[[nodiscard]] __device__ inline bool tallies_first(const launch_view& view, unsigned step) noexcept {
  if (view.tally != tally_time::mixed) {
    return view.tally == tally_time::before;
  }
  const unsigned warp = (blockIdx.x * view.where.width + threadIdx.x) / warp_lanes;
  return (mixed(draw(view.where.seed, step, purpose::tally) ^ warp * 0x9e3779b9U) & 1U) != 0;
}

/// Runs test thread `which` of one instance.
template <class Test, int Thread = 0>
__device__ void run_test_thread(const launch_view& view, unsigned which, const block_plan& plan, unsigned region,
                                unsigned round, unsigned long long deadline) noexcept {
  if constexpr (Thread < Test::threads) {
    if (which == Thread) {
      const block_plan::seat_plan& seat = plan.seats[Thread];
      const unsigned instance = home_instance(
          view.where, {seat.home_block, home_thread(view.where, seat.factor, seat.shift, seat.high_shift, threadIdx.x), round});
      // Registers: an access of the test is then all that stands between two accesses. All of them, whatever a test says that
      // it counts of its locations; those that it does not name cost nothing.
      unsigned rotations[max_locations];
#pragma unroll
      for (int location = 0; location < max_locations; ++location) {
        rotations[location] = plan.rotations[location];
      }
      const cells memory(view.where, view.cells + region * view.where.region_bytes(), rotations, instance, view.all_words,
                         deadline);
      const results<Test> out(view.where, view.digits + region * view.where.digit_bytes(), instance);
      compiler_fence();
      Test::template run<Thread>(memory, out);
      compiler_fence();
    } else {
      run_test_thread<Test, Thread + 1>(view, which, plan, region, round, deadline);
    }
  }
}

/// Runs every test thread of this launch, each of another instance, `batch` times.
template <class Test>
__device__ void run_test_threads(const launch_view& view, unsigned step, const block_plan& plan, unsigned region,
                                 unsigned long long deadline) noexcept {
  const unsigned runner = blockIdx.x * view.where.width + threadIdx.x;
  unsigned random = 0;
  unsigned first = 0;
  if (view.order != run_order::fixed || view.delay != 0) {
    // A warp's lanes draw alike, unless each is to begin with a test thread of its own.
    random = draw(view.where.seed, step, purpose::order);
    random = mixed(random ^ (view.order == run_order::by_lane ? runner : runner / warp_lanes) * 0x9e3779b9U);
    first = view.order == run_order::fixed ? 0 : scaled(random, view.own_count);
  }
#pragma unroll 1
  for (unsigned round = 0; round < view.where.batch; ++round) {
#pragma unroll 1
    for (unsigned i = 0; i < view.own_count; ++i) {
      if (view.delay != 0) {
        random = mixed(random + i + 1);
        const unsigned wait = scaled(random, view.delay + 1);
        for (const unsigned begin = clock_cycles(); clock_cycles() - begin < wait;) {
        }
      }
      run_test_thread<Test>(view, view.own[add_modulo(i, first, view.own_count)], plan, region, round, deadline);
    }
  }
}

}  // namespace detail

/// Whether the run has been given up, or its time is over: a loop inside a test leaves then, and the run is reported as timed
/// out. Reads a clock and a word that others share; look at it every few dozen turns.
[[nodiscard]] __device__ inline bool abandoned(const cells& at) noexcept {
  if (detail::load_relaxed(&at.words()->abandoned, true) != 0) {
    return true;
  }
  if (global_nanoseconds() <= at.deadline()) {
    return false;
  }
  detail::store_relaxed(&at.words()->abandoned, 1 + max_parties);
  return true;
}

/// A launch's part of a slice: the body of `run_instances`, for kernels of another name.
///
/// Two regions of memory take turns: while a step runs in one, the other, where the step before ran, is tallied and reset. One
/// barrier ends both.
///
/// Launch: `where.blocks` testing blocks of `where.width` threads, then any number of blocks that make stress, all resident at
/// once; in clusters of `where.cluster` blocks if that is not 1. Dynamic shared memory: 4 bytes per outcome.
///
/// What an instance costs in L2, in sectors of 32 bytes: an access of the test half a sector to one (16-byte cells, a warp's
/// side by side or scattered), a reset half a sector per location, an observed location half a sector more, a register 1/32 to
/// write (up to 1/4 scattered) and 1/32 to read. Message passing: 3.1 to 5.6 sectors, 100 to 180 bytes; IRIW: 4.3 to 8.1. There
/// is no atomic per instance, and one barrier for `batch` instances per thread.
template <class Test>
__device__ void run_launch(const launch_view& view) {
  static_assert(Test::threads <= max_threads && Test::locations <= max_locations && Test::observations <= max_observations,
                "membar: a litmus test on a GPU has at most 16 threads, 16 locations and 16 observations");
  static_assert(outcome_count<Test>() <= max_outcomes,
                "membar: a litmus test on a GPU has at most 4096 outcomes: observe less, or fewer values");
  extern __shared__ unsigned membar_litmus_counts[];
  unsigned* const counts = membar_litmus_counts;
  __shared__ detail::block_plan plans[2];  // of this step and of the one before, then of the next one
  const unsigned long long deadline = global_nanoseconds() + view.budget_ns;
  if (blockIdx.x >= view.where.blocks) {
    detail::stress_until_done(view, deadline);
    return;
  }
  for (unsigned key = threadIdx.x; key < outcome_count<Test>(); key += view.where.width) {
    counts[key] = 0;
  }
  if (threadIdx.x < max_locations) {
    plans[1].rotations[threadIdx.x] = 0;
  }
  __syncthreads();
  if (view.keeper) {
    // nothing has run there: any rotation resets all of it
    detail::tally_and_reset<Test>(view, 0, plans[1], false, counts);
  }
  if (!detail::meet(view, 1, deadline, view.first_step, plans[0])) {
    return;
  }
#pragma unroll 1
  for (unsigned k = 0; k < view.steps; ++k) {
    const unsigned step = view.first_step + k;
    const unsigned region = k & 1U;
    if (view.pre_stress != 0) {
      const unsigned warp = (blockIdx.x * view.where.width + threadIdx.x) / warp_lanes;
      const unsigned random = detail::mixed(detail::draw(view.where.seed, step, detail::purpose::stress) ^ warp * 0x9e3779b9U);
      detail::stress_line(view, view.pre_pattern, detail::scaled(random, view.stress_lines), view.pre_stress);
    }
    if (view.align && !detail::meet_in_time(view, k + 1, deadline)) {
      return;
    }
    const bool tallies_first = detail::tallies_first(view, step);
    if (view.keeper && tallies_first) {
      detail::tally_and_reset<Test>(view, region ^ 1U, plans[region ^ 1U], k != 0, counts);
    }
    detail::run_test_threads<Test>(view, step, plans[region], region, deadline);
    if (view.keeper && !tallies_first) {
      detail::tally_and_reset<Test>(view, region ^ 1U, plans[region ^ 1U], k != 0, counts);
    }
    if (!detail::meet(view, k + 2, deadline, step + 1, plans[region ^ 1U])) {
      return;
    }
  }
  if (view.keeper) {
    const unsigned last = (view.steps & 1U) ^ 1U;
    detail::tally_and_reset<Test>(view, last, plans[last], true, counts);
    __syncthreads();
    for (unsigned key = threadIdx.x; key < outcome_count<Test>(); key += view.where.width) {
      if (counts[key] != 0) {
        atomicAdd(&view.counts[key], static_cast<unsigned long long>(counts[key]));
      }
    }
  }
}

/// The kernel. It has at most 64 registers, so that 1024 threads fit into a multiprocessor.
template <class Test>
__global__ void __launch_bounds__(1024, 1) run_instances(const __grid_constant__ launch_view view) {
  run_launch<Test>(view);
}

}  // namespace membar::litmus
