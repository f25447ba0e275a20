// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
/// @file
/// How a row is added to the suite: `holds<Test, place, Control...>(to)`. At that place, the model must forbid the outcome of
/// the test and allow the outcome of each control; suite_test.py runs the model on all rows.
#pragma once

#include "shapes.cuh"
#include "suite.hpp"

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <numeric>
#include <span>
#include <string>
#include <typeinfo>
#include <utility>
#include <vector>

namespace conformance {

/// The suite to which rows are added, and the name of their family.
struct adding {
  suite* all;
  const char* family;
};

/// Runs a thread of `Test` if it is on the host at `Where`, and passes its digits to `observed`.
template <class Test, where Where>
void run_host_thread(const std::vector<membar::litmus::observed_value>& observed, int thread,
                     const membar::litmus::instance_cells& at, const membar::litmus::instance_digits& out) {
  constexpr int host = Where == where::host_first ? 0 : Test::threads - 1;
  if (thread == host) {
    Test::template run_on_host<host>(at, [&](int o, unsigned number) {
      const std::vector<std::int64_t>& values = observed[static_cast<std::size_t>(o)].values;
      const auto found = std::find(values.begin(), values.end(), static_cast<std::int64_t>(number));
      out.put(o, static_cast<unsigned>(found - values.begin()));  // The digit after the last value's digit means any other
                                                                  // value.
    });
  }
}

/// The kernels that run `Test`, if the place has its own kernels: `first()`, and `dependent()` or a null pointer.
template <class Test, where Where>
struct own_kernels;

/// `Test` in the engine's form, at `Where`.
template <class Test, where Where>
[[nodiscard]] membar::litmus::runnable_test runnable(const std::string& name) {
  if constexpr (has_own_kernels(Where)) {
    using on_gpu = membar::litmus::kernel_test<Test>;
    std::vector<std::int64_t> values(on_gpu::values);
    std::iota(values.begin(), values.end(), 0);
    membar::litmus::runnable_test one;
    one.model_test = model::named_test(Test::model_test, name);
    for (const model::observable& what : one.model_test.observed) {
      one.observed.push_back({what, values});
    }
    one.locations = on_gpu::locations;
    one.kernel = own_kernels<Test, Where>::first();
    one.dependent_kernel = own_kernels<Test, Where>::dependent();
    return one;
  } else {
    return membar::litmus::make_test<Test>(name);
  }
}

/// What the type and the place of a test determine.
struct described_test {
  std::string (*name)();
  const char* type;
  where place;
  std::span<const model::place> of_threads;
  int mbarrier_of;  ///< The location of an mbarrier at which one thread arrives, or -1.
  membar::litmus::runnable_test (*runnable)(const std::string& name);
  /// Runs a thread on the host, or a null pointer if no thread is there.
  void (*run_host_thread)(const std::vector<membar::litmus::observed_value>& observed, int thread,
                          const membar::litmus::instance_cells& at, const membar::litmus::instance_digits& out);
};

/// Adds the test to the suite and returns its name. The hundreds of types of tests share this function, because most of the
/// time to compile them went into their copies of it.
inline std::string add_test(suite& all, const described_test& described) {
  std::string name = described.name() + "@" + conformance::name(described.place);
  if (all.find(name) == nullptr) {
    placed_test one{name, described.type, described.runnable(name)};
    for (std::size_t t = 0; t != described.of_threads.size(); ++t) {
      one.test.model_test.threads[t].where = described.of_threads[t];
    }
    if (described.place == where::two_kernels) {
      one.test.model_test.launches.push_back({0, 1});
    }
    if (described.mbarrier_of >= 0) {
      one.test.model_test.locations[static_cast<std::size_t>(described.mbarrier_of)].arrivals = 1;
    }
    if (described.run_host_thread != nullptr) {
      one.test.on_host = [observed = one.test.observed, run = described.run_host_thread](
                             int thread, const membar::litmus::instance_cells& at, const membar::litmus::instance_digits& out) {
        run(observed, thread, at, out);
      };
    }
    all.add(std::move(one));
  }
  return name;
}

/// Adds `Test` at `Where` to the suite and returns its name.
template <class Test, where Where>
std::string add_test(suite& all) {
  static constexpr auto of_threads = places<Test::threads>(Where);
  described_test one{&Test::name, typeid(Test).name(), Where, of_threads, -1, &runnable<Test, Where>, nullptr};
  if constexpr (requires { Test::mbarrier_of; }) {
    one.mbarrier_of = static_cast<int>(Test::mbarrier_of);
  }
  if constexpr (Where == where::host_last || Where == where::host_first) {
    one.run_host_thread = &run_host_thread<Test, Where>;
  }
  return add_test(all, one);
}

/// Adds a guarantee: at `Where`, the outcome of `Test` is forbidden, and the outcome of each test in `Weakened` is allowed.
template <class Test, where Where, class... Weakened>
void holds(const adding& to, std::vector<std::string> controls = {}) {
  (controls.push_back(add_test<Weakened, Where>(*to.all)), ...);
  to.all->add(guarantee{to.family, add_test<Test, Where>(*to.all), std::move(controls)});
}

/// The places that a scope includes, in order of increasing distance.
template <thread_scope Scope>
inline constexpr std::array<where, 1> inside{Scope == thread_scope::block     ? where::one_block
                                             : Scope == thread_scope::cluster ? where::one_cluster
                                                                              : where::one_device};
template <>
inline constexpr std::array<where, 3> inside<thread_scope::system>{where::one_device, where::two_domains, where::two_devices};

/// Returns the nearest place that a scope does not include.
template <thread_scope Scope>
inline constexpr where outside = Scope == thread_scope::device ? where::two_domains : where::one_device;

/// Adds a guarantee at every place that `Scope` includes.
template <thread_scope Scope, class Test, class... Weakened>
void holds_inside(const adding& to, const std::vector<std::string>& controls = {}) {
  [&]<std::size_t... Index>(std::index_sequence<Index...>) {
    (holds<Test, inside<Scope>[Index], Weakened...>(to, controls), ...);
  }(std::make_index_sequence<inside<Scope>.size()>{});
}

/// Adds a guarantee that depends on the scope, at every place that `Scope` includes. If there is a place beyond the scope, the
/// test itself is a control there.
template <thread_scope Scope, class Test, class... Weakened>
void holds_within(const adding& to) {
  std::vector<std::string> beyond;
  if constexpr (Scope != thread_scope::system) {
    beyond.push_back(add_test<Test, outside<Scope>>(*to.all));
  }
  holds_inside<Scope, Test, Weakened...>(to, beyond);
}

}  // namespace conformance
