// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
/// @file
/// A litmus test made of actions. The same type is both the code that the engine runs and the test for the model.
#pragma once

#include "atomic_actions.cuh"

#include <membar/litmus/test.cuh>
#include <membar/model/test.hpp>

#include <array>
#include <cstddef>
#include <tuple>
#include <utility>

namespace conformance {

/// The locations of a test.
inline constexpr int x = 0;
inline constexpr int y = 1;
inline constexpr int z = 2;

/// An action on a location whose result is observed.
template <int Location, class Action>
struct see {
  using action = Action;
  static constexpr int location = Location;
  static constexpr int observations = conformance::observations<Action>;
};

/// An action on a location whose result is not observed.
template <int Location, class Action>
struct at : see<Location, ignored<Action>> {};

/// The actions of one thread, in program order.
template <class... Steps>
struct thread {
  static constexpr int observations = (Steps::observations + ... + 0);

  /// Returns the observations, four bits each, the first in the lowest bits.
  MEMBAR_CALLS_EITHER
  MEMBAR_HOST_DEVICE static unsigned run(const membar::litmus::instance_cells& memory) noexcept {
    // The thread computes addresses before the first action and digits after the last action, so that nothing comes between the
    // actions.
    void* const cell[] = {memory.as<quad>(Steps::location)...};
    return run_from<0, Steps...>(cell);
  }

  /// The thread's instructions for the model. Observation n of the thread is in register n.
  [[nodiscard]] static constexpr auto instructions() noexcept { return instructions_from<0, Steps...>(); }

 private:
  MEMBAR_CALLS_EITHER
  template <int Step, class First, class... Rest>
  MEMBAR_HOST_DEVICE static unsigned run_from(void* const* cell) noexcept {
    const auto value = First::action::run(cell[Step]);
    if constexpr (sizeof...(Rest) == 0) {
      return value.digits();
    } else {
      const unsigned later = run_from<Step + 1, Rest...>(cell);
      return value.digits() | later << (4 * First::observations);
    }
  }

  template <int Next>
  [[nodiscard]] static constexpr auto instructions_from() noexcept {
    return steps<0>{};
  }
  template <int Next, class First, class... Rest>
  [[nodiscard]] static constexpr auto instructions_from() noexcept {
    return joined(First::action::instructions(model::variable{First::location}, model::reg{Next}),
                  instructions_from<Next + First::observations, Rest...>());
  }
};

/// The locations whose final value is observed.
template <int... Locations>
struct finally {};

/// The outcome that a test asks about: the value of each observation, in order.
template <int... Numbers>
struct outcome {};

/// The places of a test's threads. In `two_domains`, `two_devices` and `host_last`, the last thread is separate from the
/// others; in `host_first`, the first thread is. In `cluster_shared`, the flag is in shared memory (shared_memory.cuh), and the
/// first thread is in another block of the cluster. In `cluster_barrier`, the threads are in two blocks of a cluster, and all
/// threads of these blocks pass a barrier; in `two_kernels`, the second thread is in a kernel that depends on the first
/// thread's (asynchronous.cuh).
enum class where {
  one_block,
  one_cluster,
  one_device,
  two_domains,
  two_devices,
  host_last,
  host_first,
  cluster_shared,
  cluster_barrier,
  two_kernels
};

/// Returns whether tests at a place have their own kernels instead of the engine's kernel.
[[nodiscard]] constexpr bool has_own_kernels(where w) noexcept {
  return w == where::cluster_shared || w == where::cluster_barrier || w == where::two_kernels;
}

[[nodiscard]] inline const char* name(where w) {
  constexpr const char* names[] = {"one_block", "one_cluster", "one_device",     "two_domains",     "two_devices",
                                   "host_last", "host_first",  "cluster_shared", "cluster_barrier", "two_kernels"};
  return names[static_cast<int>(w)];
}

template <int Threads>
[[nodiscard]] constexpr std::array<model::place, static_cast<std::size_t>(Threads)> places(where w) noexcept {
  std::array<model::place, static_cast<std::size_t>(Threads)> all{};
  for (int t = 0; t != Threads; ++t) {
    const bool last = t == Threads - 1;
    model::place here = w == where::one_block ? model::block(0) : model::block(t);
    if (w == where::cluster_shared || w == where::cluster_barrier) {
      here = model::in_cluster(model::block(t == 0 ? 0 : 1), 0);
    } else if (w == where::one_cluster) {
      here = model::in_cluster(here, 0);
    } else if (w == where::two_domains && last) {
      here = model::in_domain(here, 1);
    } else if (w == where::two_devices && last) {
      here = model::block(0, 1);
    } else if ((w == where::host_last && last) || (w == where::host_first && t == 0)) {
      here = model::host();
    }
    all[static_cast<std::size_t>(t)] = here;
  }
  return all;
}

/// The parts of `program`. They are a base class because the member `model_test` needs a complete class.
template <class Finally, class Outcome, class... Threads>
struct parts_of_program;
template <int... Finals, int... Numbers, class... Threads>
struct parts_of_program<finally<Finals...>, outcome<Numbers...>, Threads...> {
  static constexpr int threads = sizeof...(Threads);
  static constexpr int registers = (Threads::observations + ... + 0);
  static_assert(sizeof...(Numbers) == registers + sizeof...(Finals), "an outcome has a number for each observation");

  /// The model's test with its threads at `w`. Its condition is the outcome.
  [[nodiscard]] static constexpr auto model_test_at(where w) {
    const auto all = places<threads>(w);
    const auto code_at = [&]<std::size_t... Index>(std::index_sequence<Index...>) {
      return model::litmus(model::thread_code{all[Index], Threads::instructions()}...);
    };
    return code_at(std::index_sequence_for<Threads...>{}).when(condition());
  }

  template <int Thread, class Results>
  __device__ static void run(const membar::litmus::instance_cells& memory, const Results& out) noexcept {
    report<Thread>(part<Thread>::run(memory), [&](int o, unsigned number) { out.write(o, number); });
  }

  /// Runs a thread on the host. Calls `put(o, number)` for each observation.
  template <int Thread, class Put>
  static void run_on_host(const membar::litmus::instance_cells& memory, Put put) {
    report<Thread>(part<Thread>::run(memory), put);
  }

 private:
  template <int Thread>
  using part = std::tuple_element_t<static_cast<std::size_t>(Thread), std::tuple<Threads...>>;

  /// The number of observations of the threads before `Thread`.
  template <int Thread>
  static constexpr int first_of = [] {
    constexpr int counts[] = {Threads::observations...};
    int first = 0;
    for (int t = 0; t != Thread; ++t) {
      first += counts[t];
    }
    return first;
  }();

  MEMBAR_CALLS_EITHER
  template <int Thread, int Next = 0, class Put>
  MEMBAR_HOST_DEVICE static void report(unsigned digits, const Put& put) {
    if constexpr (Next != part<Thread>::observations) {
      put(first_of<Thread> + Next, digits >> (4 * Next) & 15U);
      report<Thread, Next + 1>(digits, put);
    }
  }

  [[nodiscard]] static constexpr model::condition condition() {
    constexpr int numbers[] = {Numbers...};
    model::condition all;
    int o = 0;
    const auto also = [&](const model::final_value& value) {
      const model::condition one = value == numbers[o];
      all = o == 0 ? one : all && one;
      ++o;
    };
    int t = 0;
    const auto registers_of = [&](int count) {
      for (int r = 0; r != count; ++r) {
        also(model::in(t, model::reg{r}));
      }
      ++t;
    };
    (registers_of(Threads::observations), ...);
    (also(model::in_memory(model::variable{Finals})), ...);
    return all;
  }
};

/// A test: the locations that are observed at the end, the outcome in question, and the threads. Its device code does not
/// depend on the places of the threads.
template <class Finally, class Outcome, class... Threads>
struct program : parts_of_program<Finally, Outcome, Threads...> {
  /// The engine reads the instructions, the observations and the condition from this member. The suite sets the places of the
  /// threads.
  static constexpr auto model_test = parts_of_program<Finally, Outcome, Threads...>::model_test_at(where::one_device);
};

}  // namespace conformance
