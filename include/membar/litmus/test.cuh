// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
/// @file
/// Litmus tests in C++: device code written with membar's operations, next to its model test.
///
/// ```cpp
/// namespace model = membar::model;
/// struct message_passing {
///   static constexpr model::variable x{0}, y{1};
///   static constexpr model::reg r0{0}, r1{1};
///   static constexpr auto model_test = model::litmus(
///       model::thread(model::block(0), model::store(x, 1), model::store<device>(y, 1, membar::release)),
///       model::thread(model::block(1), model::load<device>(r0, y, membar::acquire), model::load(r1, x)))
///           .when(model::in(1, r0) == 1 && model::in(1, r1) == 0);
///
///   template <int Thread>
///   static __device__ void run(const membar::litmus::instance_cells& at, const auto& out) {
///     if constexpr (Thread == 0) {
///       membar::store_weak(at.as<int>(0), 1);
///       membar::store<device>(at.as<int>(1), 1, membar::release);
///     } else {
///       const int r0 = membar::load<device>(at.as<int>(1), membar::acquire);
///       const int r1 = membar::load_weak(at.as<int>(0));
///       out.write(0, r0);  // the values that the condition names, in the same order
///       out.write(1, r1);
///     }
///   }
/// };
/// const membar::litmus::runnable_test mp = membar::litmus::make_test<message_passing>("MP");
/// const membar::litmus::report seen = membar::litmus::make_report(mp, engine.run(mp));
/// ```
///
/// The model test determines which outcomes are allowed. Nothing checks that the code matches the model test, so compare the
/// two line by line.
#pragma once

#include <membar/litmus/kernel.cuh>
#include <membar/litmus/launch_view.hpp>
#include <membar/litmus/runnable_test.hpp>
#include <membar/model/named_test.hpp>
#include <membar/model/program.hpp>
#include <membar/model/test.hpp>

#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>

namespace membar {
inline namespace v0_3 {
namespace litmus {

namespace detail {

/// The distinct terms that the condition of a model test names, in order of appearance. The kernel observes them.
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
    ++count;  // a static_assert of `kernel_test` rejects too many terms
  }
};

template <class ModelTest>
[[nodiscard]] consteval observed_terms terms_of(const ModelTest& test) {
  observed_terms terms;
  for (const model::condition_node& n : test.asked()) {
    if (n.kind == model::condition_node::kind_t::compare) {
      terms.add(n.left);
    }
  }
  return terms;
}

/// Returns an exclusive upper bound on the values of the model test's locations and registers, computed from the largest
/// constant and the sum of all operands that are added.
template <class ModelTest>
[[nodiscard]] consteval unsigned values_of(const ModelTest& test) {
  std::int64_t largest = 1;
  std::int64_t added = 0;
  const auto look = [&](const model::operand& o) { largest = !o.is_register && o.value > largest ? o.value : largest; };
  for (std::size_t t = 0; t < ModelTest::threads; ++t) {
    for (const model::instruction& i : test.code(t)) {
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

/// Converts a C++ test to the form that the kernel accepts. `Test` may define
/// * `bytes`, the size of its accesses to observed locations. It is 4 by default. If it is greater than 8, only the first 8
///   bytes are observed.
/// * `values`, if the constants of the model test do not bound the values, which then range from 0 to `values` - 1.
template <class Test>
struct kernel_test : Test {
  static constexpr int threads = static_cast<int>(decltype(Test::model_test)::threads);
  static constexpr int locations = Test::model_test.locations();
  static constexpr int observations = detail::terms_of(Test::model_test).count;
  static_assert(observations > 0,
                "membar: a litmus test observes the values that its model test's condition names, but the test has no "
                "condition: add one with when()");
  static_assert(observations <= max_observations, "membar: a litmus test on a GPU can observe at most 16 values");

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
      return detail::values_of(Test::model_test);
    }
  }();

  MEMBAR_HOST_DEVICE static constexpr observation observed(int o) noexcept {
    constexpr detail::observed_terms terms = detail::terms_of(Test::model_test);
    const bool memory = terms.what[o].kind == model::term::kind_t::memory_value;
    return {memory ? terms.what[o].index : -1, bytes, values + 1, 0};
  }
  MEMBAR_HOST_DEVICE static constexpr unsigned digit(int, long long value) noexcept {
    return value >= 0 && value < static_cast<long long>(values) ? static_cast<unsigned>(value) : values;
  }
  MEMBAR_HOST_DEVICE static constexpr cell_value initial(int) noexcept { return {}; }
};

namespace detail {

/// The part of `make_test` that does not depend on the test's type, so that it is compiled only once. Every observed value must
/// be less than `values`.
[[nodiscard]] inline runnable_test runnable_named_test(model::litmus_test named, unsigned values, int locations,
                                                       const void* kernel, host_thread on_host) {
  runnable_test result;
  result.model_test = std::move(named);
  for (const model::observable& what : result.model_test.observed) {
    observed_value one{what, {}};
    for (unsigned v = 0; v < values; ++v) {
      one.values.push_back(static_cast<std::int64_t>(v));
    }
    result.observed.push_back(std::move(one));
  }
  result.locations = locations;
  result.kernel = kernel;
  result.on_host = std::move(on_host);
  return result;
}

}  // namespace detail

/// Returns `Test` and its model test as a test that an engine can run. `on_host` runs the threads whose place is the host.
template <class Test>
[[nodiscard]] runnable_test make_test(std::string name, host_thread on_host = {}) {
  using on_gpu = kernel_test<Test>;
  return detail::runnable_named_test(model::named_test(Test::model_test, std::move(name)), on_gpu::values, on_gpu::locations,
                                     reinterpret_cast<const void*>(&run_instances<on_gpu>), std::move(on_host));
}

}  // namespace litmus
}  // namespace v0_3
}  // namespace membar
