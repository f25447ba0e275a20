// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
/// @file
/// Tests whose flag is in shared memory, and their kernel. Source: docs/headers/atomic.md, "Where the object is".
///
/// ptxas expands many atomic instructions in shared memory into loops. If the instruction's own acquire is before that loop,
/// the reader may get data from its L1 cache that was filled in before the loop's last read. This shows only if the loop takes
/// many iterations. Therefore, some other threads write to the flag at the same time, and others keep the data's line in the
/// reader's L1 cache. Instances take turns: each block runs a single instance at a time, which takes one round.
#pragma once

#include "holds.cuh"

#include <membar/litmus/kernel.cuh>

#include <cuda_bf16.h>
#include <cuda_fp16.h>

namespace conformance {

/// @name Pairs
/// Pairs occur only in tests' names and in shared memory, never in a test's digits.
/// @{
template <class T>
concept pair_value = std::is_same_v<T, __half2> || std::is_same_v<T, __nv_bfloat162>;
template <pair_value T>
struct number<T> {
  static constexpr int parts = 1;
};
template <>
[[nodiscard]] inline std::string type_name<__half2>() {
  return "half2";
}
template <>
[[nodiscard]] inline std::string type_name<__nv_bfloat162>() {
  return "bfloat16x2";
}
/// @}

/// The values of a flag: down, up, and the disturbances that other threads add. A disturbance never changes whether the flag is
/// up, and the sum of the disturbances stays small.
template <class T>
struct flag_value {
  __device__ static T of(bool up) noexcept { return number<T>::of(up ? 1 << 20 : 0); }
  __device__ static bool up(T value) noexcept { return value > number<T>::of(1 << 19); }
  __device__ static void disturb(T& flag, unsigned lane, bool odd) noexcept {
    const membar::atomic_ref<T, thread_scope::device> object(flag);
    if constexpr (std::is_integral_v<T>) {
      object.fetch_xor(static_cast<T>(2) << lane % 8, membar::relaxed);
    } else {
      object.fetch_add(number<T>::of(odd ? -2 : 2), membar::relaxed);
    }
  }
};
template <pair_value T>
struct flag_value<T> {
  __device__ static T pair(float low, float high) noexcept {
    if constexpr (std::is_same_v<T, __half2>) {
      return __floats2half2_rn(low, high);
    } else {
      return __floats2bfloat162_rn(low, high);
    }
  }
  __device__ static T of(bool up) noexcept { return pair(up ? 1.0F : 0.0F, 0.0F); }
  __device__ static bool up(T value) noexcept { return __low2float(value) > 0.5F; }
  __device__ static void disturb(T& flag, unsigned, bool odd) noexcept {
    membar::atomic_ref<T, thread_scope::device>(flag).fetch_add(pair(0.0F, odd ? -1.0F : 1.0F), membar::relaxed);
  }
};

/// How an action sets or polls a flag in shared memory: the action's call, with the values of a flag. `inverted`: the flag is
/// set by lowering it. `variable`: the flag is named as a variable instead of a pointer about which the compiler has no
/// information. `compared`: the flag is set only if no other thread changes it meanwhile.
template <class Action>
struct flag_by;

struct flag_plainly {
  static constexpr bool inverted = false;
  static constexpr bool variable = false;
  static constexpr bool compared = false;
};

template <update_kind Kind, thread_scope Scope, memory_order Order, int Value, class T>
struct flag_by<update<Kind, Scope, Order, Value, T>> : flag_plainly {
  using value_type = T;
  static constexpr bool inverted = Kind == update_kind::bit_and || Kind == update_kind::min;

  __device__ static T operand(bool sets) noexcept {
    if constexpr (Kind == update_kind::bit_and) {
      return sets ? static_cast<T>(~flag_value<T>::of(true)) : static_cast<T>(~T{0});
    } else {
      return flag_value<T>::of(sets != inverted);
    }
  }
  __device__ static void set(T& flag) noexcept {
    static_cast<void>(update_by<Kind>(membar::atomic_ref<T, Scope>(flag), operand(true), tag<Order>));
  }
  __device__ static T poll(T& flag) noexcept {
    return update_by<Kind>(membar::atomic_ref<T, Scope>(flag), operand(false), tag<Order>);
  }
};
template <update_kind Kind, thread_scope Scope, memory_order Order, int Value, class T>
struct flag_by<reduction<Kind, Scope, Order, Value, T>> : flag_by<update<Kind, Scope, memory_order::relaxed, Value, T>> {
  __device__ static void set(T& flag) noexcept {
    reduce_by<Kind>(membar::atomic_ref<T, Scope>(flag), flag_by::operand(true), tag<Order>);
  }
};
template <thread_scope Scope, memory_order Success, memory_order Failure, int Expected, int Desired, class T>
struct flag_by<compare_exchange<Scope, Success, Failure, Expected, Desired, T>> : flag_plainly {
  using value_type = T;
  static constexpr bool compared = true;
  __device__ static void set(T& flag) noexcept {
    T seen = flag_value<T>::of(false);
    membar::atomic_ref<T, Scope>(flag).compare_exchange(seen, flag_value<T>::of(true), tag<Success>, tag<Failure>);
  }
  __device__ static T poll(T& flag) noexcept {
    T seen = flag_value<T>::of(true);
    membar::atomic_ref<T, Scope>(flag).compare_exchange(seen, flag_value<T>::of(false), tag<Success>, tag<Failure>);
    return seen;
  }
};
template <thread_scope Scope, memory_order Order, int Value, class T>
struct flag_by<fetch_update<Scope, Order, Value, T>> : flag_plainly {
  using value_type = T;
  __device__ static void set(T& flag) noexcept {
    membar::atomic_ref<T, Scope>(flag).fetch_update([](T seen) { return seen | flag_value<T>::of(true); }, tag<Order>);
  }
  __device__ static T poll(T& flag) noexcept {
    return membar::atomic_ref<T, Scope>(flag).fetch_update([](T seen) { return seen; }, tag<Order>);
  }
};
template <thread_scope Scope, memory_order Order, class T>
struct flag_by<atomic_load<Scope, Order, T>> : flag_plainly {
  using value_type = T;
  __device__ static T poll(T& flag) noexcept { return membar::atomic_ref<T, Scope>(flag).load(tag<Order>); }
};
template <class Action>
struct flag_by<ignored<Action>> : flag_by<Action> {};
/// The first action gives the model's flag a value other than 0. The kernel's flag is reset after each round.
template <class First, class Second>
struct flag_by<both<First, Second>> : flag_by<Second> {};

/// An action on a variable of the block.
template <class Action>
struct on_variable : Action {
  static std::string text() { return "variable." + Action::text(); }
};
template <class Action>
struct flag_by<on_variable<Action>> : flag_by<Action> {
  static constexpr bool variable = true;
};

/// Message passing whose flag is in the shared memory of one of two blocks. The data is in global memory, or in the reader's
/// shared memory.
template <class Release, class Acquire, bool SharedData = false>
struct passed_in_shared_memory : message_passing<Release, Acquire> {
  using set_by = flag_by<Release>;
  using poll_by = flag_by<Acquire>;
  static constexpr bool shared_data = SharedData;
  static std::string name() {
    return (SharedData ? "MP.shared_data" : "MP") + message_passing<Release, Acquire>::name().substr(2);
  }
};
/// How the threads of a round access the flag. This changes every few rounds.
enum class flag_home { reader, reader_by_cluster_address, writer };

template <class Test>
[[nodiscard]] __device__ inline flag_home home_in(unsigned long long seed, unsigned round) noexcept {
  if constexpr (Test::poll_by::variable) {
    return flag_home::reader;
  } else {
    return static_cast<flag_home>(membar::litmus::detail::draw(seed, round / 64, 0) % 3);
  }
}

/// A reference whose state space the compiler does not know.
template <class T>
[[nodiscard]] __device__ inline T& unknown(T* object) noexcept {
  asm volatile("" : "+l"(object));
  return *object;
}

/// Loads the word into the L1 cache.
__device__ inline void fill_cache(const unsigned* word) noexcept {
  if (membar::load_weak(word) == 0xffffffffU) {  // No round has this value, but ptxas would remove an unused load.
    __nanosleep(1);
  }
}

__device__ inline void pause(unsigned clocks) noexcept {
  for (const unsigned begin = membar::litmus::detail::clock_cycles();
       membar::litmus::detail::clock_cycles() - begin < clocks;) {
  }
}

/// Polls until `done()` returns true. Returns false if the run's time is up.
template <class Done>
[[nodiscard]] __device__ inline bool polled(const membar::litmus::instance_cells& at, Done done) {
  for (unsigned polls = 1; !done(); ++polls) {
    if (polls % 64 == 0 && membar::litmus::abandoned(at)) {
      return false;
    }
  }
  return true;
}

/// Runs `Test` in clusters of two blocks: each block reads what the other block writes. Round n stores n as data, and sets the
/// flag. Each quarter of a block's threads has one role:
/// * the first thread of one quarter, the reader, polls the flag, reads the data and lowers the flag;
/// * the first thread of another quarter writes, and its other threads store to scratch memory;
/// * the threads of the third quarter load the data, so that the L1 cache holds it;
/// * the threads of the fourth quarter change the flag's lower part. How many of them do so depends on the round; occasionally
///   all of them rest, so that no thread waits forever.
///
/// The duration of a round varies with the parameters by orders of magnitude. After a quarter of the slice's budget, a writer
/// starts no further round and informs its reader; the reader counts the rounds that took place.
///
/// The launch is the same as for `membar::litmus::run_launch`, in clusters of two blocks.
template <class Kernel, class Test>
__device__ void run_rounds(const membar::litmus::launch_view& view) {
  namespace litmus = membar::litmus;
  using set_by = typename Test::set_by;
  using poll_by = typename Test::poll_by;
  using flag_type = typename poll_by::value_type;
  using value = flag_value<flag_type>;
  constexpr auto device = thread_scope::device;
  constexpr bool down = set_by::inverted;  // The value of a flag that is not set.
  __shared__ flag_type flags[2];           // Used if the flag is in the reader's block, or in the writer's block.
  __shared__ unsigned shared_data, noise[litmus::warp_lanes];
  __shared__ volatile unsigned round_here, ended;

  const unsigned long long begin = membar::global_nanoseconds();
  const unsigned long long deadline = begin + view.budget_ns, last_begin = begin + view.budget_ns / 4;
  if (blockIdx.x >= view.layout.blocks) {
    litmus::detail::stress_until_done(view, deadline);
    return;
  }
  const unsigned rotations[litmus::max_locations] = {};
  const litmus::instance_cells at(view.layout, view.cells, rotations, 0, view.run_barrier, deadline);
  const unsigned rounds = view.steps * view.layout.batch * view.layout.width;
  const unsigned rank = blockIdx.x % 2, other = blockIdx.x ^ 1U;
  const auto there = [](auto* object, unsigned block) {
    return static_cast<decltype(object)>(__cluster_map_shared_rank(object, block % 2));
  };
  // For each block, one line for its data, and one line for the number of rounds that its reader has finished and the first
  // round that its writer leaves out.
  const auto data_of = [&](unsigned block) { return reinterpret_cast<unsigned*>(view.cells + 256ULL * block); };
  const auto done_of = [&](unsigned block) { return data_of(block) + 32; };
  const auto left_out_of = [&](unsigned block) { return data_of(block) + 33; };
  const auto meet = [] {
    __cluster_barrier_arrive();
    __cluster_barrier_wait();
  };
  if (threadIdx.x == 0) {
    flags[0] = flags[1] = value::of(down);
    shared_data = 0;
    round_here = 0;
    ended = 0;
    membar::store<device>(data_of(blockIdx.x), 0U, membar::relaxed);
    membar::store<device>(done_of(blockIdx.x), 0U, membar::relaxed);
    membar::store<device>(left_out_of(blockIdx.x), rounds + 1, membar::relaxed);
  }
  meet();

  unsigned* const data = Test::shared_data ? &shared_data : data_of(blockIdx.x);
  const unsigned quarter = blockDim.x / 4, part = threadIdx.x / quarter, lane = threadIdx.x % quarter;
  const bool helped = blockDim.x >= 4 * litmus::warp_lanes;  // With fewer warps, the helpers would slow down the test threads.
  constexpr unsigned mains = 2;
  const auto end = [&] { atomicAdd(const_cast<unsigned*>(&ended), 1U); };
  const auto flag_of_reader = [&](unsigned round) -> flag_type& {
    if constexpr (poll_by::variable) {
      return flags[0];
    } else {
      const flag_home home = home_in<Test>(view.layout.seed, round);
      return unknown(home == flag_home::reader                      ? &flags[0]
                     : home == flag_home::reader_by_cluster_address ? there(&flags[0], rank)
                                                                    : there(&flags[1], other));
    }
  };
  if (threadIdx.x == 0) {
    unsigned old = 0, ran = 0, polls = 0;
    for (unsigned round = 1; round <= rounds; ++round) {
      round_here = round;
      flag_type& flag = flag_of_reader(round);
      fill_cache(data);
      bool set = false;
      const bool goes_on = polled(at, [&] {
        set = value::up(poll_by::poll(flag)) != down;
        return set || (++polls % 64 == 0 && membar::load<device>(left_out_of(blockIdx.x), membar::relaxed) <= round);
      });
      if (!goes_on || !set) {
        break;
      }
      ran = round;
      old += membar::load_weak(data) == round ? 0 : 1;
      membar::atomic_ref<flag_type, device>(flag).store(value::of(down), membar::relaxed);
      membar::store<device>(done_of(blockIdx.x), round, membar::release);
    }
    // The possible outcomes: every observation is 1, except that the data may be old.
    unsigned all_seen = 0, weight = 1;
    for (int o = 0; o != Kernel::observations; ++o) {
      all_seen += weight;
      weight *= o + 1 == Kernel::observations ? 1 : Kernel::observed(o).radix;
    }
    atomicAdd(&view.counts[all_seen], static_cast<unsigned long long>(ran - old));
    atomicAdd(&view.counts[all_seen - weight], static_cast<unsigned long long>(old));
    end();
  } else if (part == 1 && lane == 0) {
    for (unsigned round = 1; round <= rounds; ++round) {
      if (!polled(at, [&] { return membar::load<device>(done_of(other), membar::relaxed) == round - 1; })) {
        break;
      }
      if (membar::global_nanoseconds() >= last_begin) {
        membar::store<device>(left_out_of(other), round, membar::relaxed);
        break;
      }
      pause(litmus::detail::draw(view.layout.seed, round, blockIdx.x) % (1024 + view.delay));
      membar::store_weak(Test::shared_data ? there(&shared_data, other) : data_of(other), round);
      const bool at_writer = home_in<Test>(view.layout.seed, round) == flag_home::writer;
      set_by::set(unknown(at_writer ? &flags[1] : there(&flags[0], other)));
    }
    end();
  } else if (part == 1 && helped) {
    const unsigned words = view.stress_lines * view.stress_line_bytes / 4;
    for (unsigned turn = 0; ended != mains; ++turn) {
      const unsigned random = litmus::detail::mixed(turn ^ (blockIdx.x * blockDim.x + threadIdx.x) * 0x9e3779b9U);
      if constexpr (Test::shared_data) {
        membar::store<device>(there(&noise[lane % litmus::warp_lanes], other), random, membar::relaxed);
      } else {
        membar::store<device>(reinterpret_cast<unsigned*>(view.scratch) + random % words, random, membar::relaxed);
      }
    }
  } else if (part == 2 && helped) {
    while (ended != mains) {
      fill_cache(data);
    }
  } else if (part == 3 && helped) {
    for (bool odd = false; ended != mains;) {
      const unsigned round = round_here;
      const unsigned random = litmus::detail::draw(view.layout.seed, round / 64, 1);
      const bool rests = (litmus::detail::clock_cycles() & 0x6000U) == 0;
      if (!rests && lane < quarter >> random % 9) {
        flag_type& flag = flags[home_in<Test>(view.layout.seed, round) == flag_home::writer ? 1 : 0];
        if constexpr (set_by::compared) {  // A release waits for the other stores, and the flag would change during this time.
          membar::atomic_ref<flag_type, device>(flag).fetch_add(0, membar::relaxed);
        } else {
          value::disturb(flag, lane, odd);
          odd = !odd;
        }
      }
      pause((random >> 8) % 4 * 128);
    }
  }
  __syncthreads();
  if (threadIdx.x == 0) {
    atomicAdd(&view.block_barrier->arrived, 1 + view.steps);  // Ends the blocks that cause stress.
  }
  meet();  // Until then, the other block uses this block's shared memory.
}

template <class Kernel>
struct test_of_kernel;
template <class Test>
struct test_of_kernel<membar::litmus::kernel_test<Test>> {
  using type = Test;
};

template <class Kernel>
__global__ void __launch_bounds__(1024, 1) run_in_shared_memory(const __grid_constant__ membar::litmus::launch_view view) {
  run_rounds<Kernel, typename test_of_kernel<Kernel>::type>(view);
}

template <class Test>
struct own_kernels<Test, where::cluster_shared> {
  static const void* first() { return reinterpret_cast<const void*>(&run_in_shared_memory<membar::litmus::kernel_test<Test>>); }
  static const void* dependent() { return nullptr; }
};

}  // namespace conformance
