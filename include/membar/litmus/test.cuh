// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
/// @file
/// Litmus tests in C++, compiled ahead: device code written with membar's operations, beside its twin in the model.
///
/// ```cpp
/// namespace model = membar::model;
/// struct message_passing {
///   static constexpr model::variable x{0}, y{1};
///   static constexpr model::reg r0{0}, r1{1};
///   static constexpr auto twin = model::litmus(
///       model::thread(model::block(0), model::store(x, 1), model::store<device>(y, 1, membar::release)),
///       model::thread(model::block(1), model::load<device>(r0, y, membar::acquire), model::load(r1, x)))
///           .when(model::in(1, r0) == 1 && model::in(1, r1) == 0);
///
///   template <int Thread>
///   static __device__ void run(const membar::litmus::cells& at, const auto& out) {
///     if constexpr (Thread == 0) {
///       membar::store_weak(at.as<int>(0), 1);
///       membar::store<device>(at.as<int>(1), 1, membar::release);
///     } else {
///       const int r0 = membar::load<device>(at.as<int>(1), membar::acquire);
///       const int r1 = membar::load_weak(at.as<int>(0));
///       out.write(0, r0);  // what the condition names, in its order
///       out.write(1, r1);
///     }
///   }
/// };
/// const membar::litmus::runnable_test mp = membar::litmus::make_test<message_passing>("MP");
/// const membar::litmus::report seen = membar::litmus::make_report(mp, engine.run(mp));
/// ```
///
/// The twin says what is allowed; nobody marks an outcome by hand. That the code does what the twin says is the reader's to
/// see, line by line.
#pragma once

#include <membar/litmus/kernel.cuh>
#include <membar/litmus/launch_view.hpp>
#include <membar/litmus/test.hpp>
#include <membar/model/named_test.hpp>
#include <membar/model/program.hpp>
#include <membar/model/test.hpp>

#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>

namespace membar::litmus {

namespace detail {

/// What the kernel needs to know of a twin: the terms that its condition names, each once, in its order.
struct observed_terms {
  model::term what[max_observations] = {};
  int count = 0;

  constexpr void add(const model::term& t) noexcept {
    if (t.kind == model::term::kind_t::constant) {
      return;
    }
    for (int o = 0; o < count; ++o) {
      const model::term& known = what[o];
      if (known.kind == t.kind && known.index == t.index &&
          (t.kind == model::term::kind_t::memory_value || known.thread == t.thread)) {
        return;
      }
    }
    if (count < max_observations) {
      what[count] = t;
    }
    ++count;  // more than fit are refused where the kernel is compiled
  }
};

template <class Twin>
[[nodiscard]] consteval observed_terms terms_of(const Twin& twin) {
  observed_terms terms;
  for (const model::condition_node& n : twin.asked()) {
    if (n.kind == model::condition_node::kind_t::compare) {
      terms.add(n.left);
    }
  }
  return terms;
}

/// The values that a location or a register of the twin can have are below this: no more than the largest constant and all that
/// is added.
template <class Twin>
[[nodiscard]] consteval unsigned values_of(const Twin& twin) {
  std::int64_t largest = 1;
  std::int64_t added = 0;
  const auto look = [&](const model::operand& o) { largest = !o.is_register && o.value > largest ? o.value : largest; };
  for (std::size_t t = 0; t < Twin::threads; ++t) {
    for (const model::instruction& i : twin.code(t)) {
      if (i.what == model::operation::add && !i.a.is_register) {
        added += i.a.value;
      } else {
        look(i.a);
        look(i.b);
      }
    }
  }
  return static_cast<unsigned>(largest + added + 1);
}

}  // namespace detail

/// A test in C++ as the kernel asks for one. `Test` may say `bytes`, the size of its accesses to the locations that are
/// observed (4 if it does not; of more than 8 bytes the first 8), and `values`, where the values that it can produce are 0 to
/// `values` - 1 and the twin's constants do not show that.
template <class Test>
struct kernel_test : Test {
  static constexpr int threads = static_cast<int>(decltype(Test::twin)::threads);
  static constexpr int locations = Test::twin.locations();
  static constexpr int observations = detail::terms_of(Test::twin).count;
  static_assert(observations > 0, "membar: a litmus test observes what its twin's condition names: give it one with when()");
  static_assert(observations <= max_observations, "membar: a litmus test on a GPU observes at most 16 values");

  static constexpr int bytes = [] {
    if constexpr (requires { Test::bytes; }) {
      return Test::bytes < 8 ? static_cast<int>(Test::bytes) : 8;
    } else {
      return 4;
    }
  }();
  static constexpr unsigned values = [] {
    if constexpr (requires { Test::values; }) {
      return static_cast<unsigned>(Test::values);
    } else {
      return detail::values_of(Test::twin);
    }
  }();

  MEMBAR_HOST_DEVICE static constexpr observation observed(int o) noexcept {
    constexpr detail::observed_terms terms = detail::terms_of(Test::twin);
    const bool memory = terms.what[o].kind == model::term::kind_t::memory_value;
    return {memory ? terms.what[o].index : -1, bytes, values + 1, 0};
  }
  MEMBAR_HOST_DEVICE static constexpr unsigned digit(int, long long value) noexcept {
    return value >= 0 && value < static_cast<long long>(values) ? static_cast<unsigned>(value) : values;
  }
  MEMBAR_HOST_DEVICE static constexpr cell_value initial(int) noexcept { return {}; }
};

/// `Test` and its twin as a test that an engine runs. Threads whose twin is on the host are given to the engine by `on_host`.
template <class Test>
[[nodiscard]] runnable_test make_test(std::string name, host_thread on_host = {}) {
  using on_gpu = kernel_test<Test>;
  runnable_test result;
  result.twin = model::named_test(Test::twin, std::move(name));
  for (const model::observable& what : result.twin.observed) {
    observed_value one{what, {}};
    for (unsigned v = 0; v < on_gpu::values; ++v) {
      one.values.push_back(static_cast<std::int64_t>(v));
    }
    result.observed.push_back(std::move(one));
  }
  result.cells = on_gpu::locations;
  result.kernel = reinterpret_cast<const void*>(&run_instances<on_gpu>);
  result.on_host = std::move(on_host);
  return result;
}

}  // namespace membar::litmus
