// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
/// @file
/// Litmus tests in C++, compiled ahead: device code written with membar's operations beside its twin in the model.
///
/// ```cpp
/// struct message_passing {
///   static constexpr membar::model::variable x{0}, y{1};
///   static constexpr membar::model::reg r0{0}, r1{1};
///   static constexpr auto twin = membar::model::litmus(
///       membar::model::thread(membar::model::block(0), store(x, 1), store<device>(y, 1, release)),
///       membar::model::thread(membar::model::block(1), load<device>(r0, y, acquire), load(r1, x)))
///           .when(in(1, r0) == 1 && in(1, r1) == 0);
///
///   template <int Thread>
///   static __device__ void run(const membar::litmus::cells& at, const auto& out) {
///     int* const x = at.as<int>(0);
///     int* const y = at.as<int>(1);
///     if constexpr (Thread == 0) {
///       *x = 1;
///       membar::atomic_ref<int, device>(*y).store(1, release);
///     } else {
///       out.write(0, membar::atomic_ref<int, device>(*y).load(acquire));
///       out.write(1, *x);
///     }
///   }
/// };
/// const membar::litmus::runnable_test mp = membar::litmus::make_test<message_passing>("MP");
/// ```
#pragma once

#include <membar/litmus/kernel.cuh>
#include <membar/litmus/test.hpp>
#include <membar/model/test.hpp>

#include <string>

namespace membar::litmus {

/// `Test` and its twin as a test that an engine runs. What the twin's condition names is observed, in its order.
template <class Test>
[[nodiscard]] runnable_test make_test(std::string name);

}  // namespace membar::litmus
