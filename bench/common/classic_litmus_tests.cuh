// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
/// @file
/// The classic litmus tests in C++, each beside its model test. Their threads are in blocks of their own, and every
/// access is at `Scope`; what is between or on the accesses is the parameter of each test.
#pragma once

#include <membar/fence.cuh>
#include <membar/litmus/test.cuh>
#include <membar/load_store.cuh>
#include <membar/model/test.hpp>

#include <atomic>

namespace support::classic {

namespace model = membar::model;
using membar::thread_scope;
using membar::litmus::instance_cells;

enum : int { x, y, z };
inline constexpr model::reg r0{0};
inline constexpr model::reg r1{1};

/// @name A test's statement, for the model and for the device
/// @{
template <thread_scope Scope, class Order = membar::relaxed_t>
[[nodiscard]] constexpr model::instruction put(int location, int value, Order order = Order{}) {
  return model::store<Scope>(model::variable{location}, value, order);
}
template <thread_scope Scope, class Order = membar::relaxed_t>
[[nodiscard]] constexpr model::instruction get(model::reg to, int location, Order order = Order{}) {
  return model::load<Scope>(to, model::variable{location}, order);
}
template <thread_scope Scope, class Order = membar::relaxed_t>
__device__ void put(const instance_cells& at, int location, int value, Order order = Order{}) {
  membar::store<Scope>(at.as<int>(location), value, order);
}
template <thread_scope Scope, class Order = membar::relaxed_t>
[[nodiscard]] __device__ int get(const instance_cells& at, int location, Order order = Order{}) {
  return membar::load<Scope>(at.as<int>(location), order);
}
/// @}

/// Data, then a flag; the flag, then the data.
template <thread_scope Scope, class Publish = membar::relaxed_t, class Observe = membar::relaxed_t>
struct mp {
  static constexpr auto model_test =
      model::litmus(model::thread(model::block(0), put<Scope>(x, 1), put<Scope>(y, 1, Publish{})),
                    model::thread(model::block(1), get<Scope>(r0, y, Observe{}), get<Scope>(r1, x)))
          .when(model::in(1, r0) == 1 && model::in(1, r1) == 0);

  template <int Thread>
  static __device__ void run(const instance_cells& at, const auto& out) {
    if constexpr (Thread == 0) {
      put<Scope>(at, x, 1);
      put<Scope>(at, y, 1, Publish{});
    } else {
      const int flag = get<Scope>(at, y, Observe{});
      const int data = get<Scope>(at, x);
      out.write(0, flag);
      out.write(1, data);
    }
  }
};

/// A thread of `mp` at system scope on the host, released and acquired: it shows no more than the model test allows, whatever order
/// that has.
inline void mp_on_host(int thread, const instance_cells& at, const membar::litmus::instance_digits& out) {
  using test = membar::litmus::kernel_test<mp<thread_scope::system>>;
  const std::atomic_ref<int> data(*at.as<int>(x));
  const std::atomic_ref<int> flag(*at.as<int>(y));
  if (thread == 0) {
    data.store(1, std::memory_order_relaxed);
    flag.store(1, std::memory_order_release);
  } else {
    const int seen = flag.load(std::memory_order_acquire);
    const int found = data.load(std::memory_order_relaxed);
    out.put(0, test::digit(0, seen));
    out.put(1, test::digit(1, found));
  }
}

/// Each thread stores, then looks at what the other one stores.
template <thread_scope Scope>
struct sb {
  static constexpr auto model_test = model::litmus(model::thread(model::block(0), put<Scope>(x, 1), get<Scope>(r0, y)),
                                                   model::thread(model::block(1), put<Scope>(y, 1), get<Scope>(r0, x)))
                                         .when(model::in(0, r0) == 0 && model::in(1, r0) == 0);

  template <int Thread>
  static __device__ void run(const instance_cells& at, const auto& out) {
    put<Scope>(at, Thread == 0 ? x : y, 1);
    out.write(Thread, get<Scope>(at, Thread == 0 ? y : x));
  }
};

/// Store buffering with a sequentially consistent fence in between.
template <thread_scope Scope>
struct sb_fenced {
  static constexpr auto model_test =
      model::litmus(
          model::thread(model::block(0), put<Scope>(x, 1), model::thread_fence<Scope>(membar::seq_cst), get<Scope>(r0, y)),
          model::thread(model::block(1), put<Scope>(y, 1), model::thread_fence<Scope>(membar::seq_cst), get<Scope>(r0, x)))
          .when(model::in(0, r0) == 0 && model::in(1, r0) == 0);

  template <int Thread>
  static __device__ void run(const instance_cells& at, const auto& out) {
    put<Scope>(at, Thread == 0 ? x : y, 1);
    membar::thread_fence<Scope>(membar::seq_cst);
    out.write(Thread, get<Scope>(at, Thread == 0 ? y : x));
  }
};

/// Each thread looks at what the other one stores afterwards.
template <thread_scope Scope>
struct lb {
  static constexpr auto model_test = model::litmus(model::thread(model::block(0), get<Scope>(r0, x), put<Scope>(y, 1)),
                                                   model::thread(model::block(1), get<Scope>(r0, y), put<Scope>(x, 1)))
                                         .when(model::in(0, r0) == 1 && model::in(1, r0) == 1);

  template <int Thread>
  static __device__ void run(const instance_cells& at, const auto& out) {
    const int seen = get<Scope>(at, Thread == 0 ? x : y);
    put<Scope>(at, Thread == 0 ? y : x, 1);
    out.write(Thread, seen);
  }
};

/// Two stores by two threads; two readers disagree about which came first.
template <thread_scope Scope>
struct iriw {
  static constexpr auto model_test =
      model::litmus(model::thread(model::block(0), put<Scope>(x, 1)), model::thread(model::block(1), put<Scope>(y, 1)),
                    model::thread(model::block(2), get<Scope>(r0, x), get<Scope>(r1, y)),
                    model::thread(model::block(3), get<Scope>(r0, y), get<Scope>(r1, x)))
          .when(model::in(2, r0) == 1 && model::in(2, r1) == 0 && model::in(3, r0) == 1 && model::in(3, r1) == 0);

  template <int Thread>
  static __device__ void run(const instance_cells& at, const auto& out) {
    if constexpr (Thread < 2) {
      put<Scope>(at, Thread == 0 ? x : y, 1);
    } else {
      const int first = get<Scope>(at, Thread == 2 ? x : y);
      const int second = get<Scope>(at, Thread == 2 ? y : x);
      out.write(2 * (Thread - 2), first);
      out.write(2 * (Thread - 2) + 1, second);
    }
  }
};

/// Message passing by way of a third thread.
template <thread_scope Scope>
struct isa2 {
  static constexpr auto model_test = model::litmus(model::thread(model::block(0), put<Scope>(x, 1), put<Scope>(y, 1)),
                                                   model::thread(model::block(1), get<Scope>(r0, y), put<Scope>(z, 1)),
                                                   model::thread(model::block(2), get<Scope>(r0, z), get<Scope>(r1, x)))
                                         .when(model::in(1, r0) == 1 && model::in(2, r0) == 1 && model::in(2, r1) == 0);

  template <int Thread>
  static __device__ void run(const instance_cells& at, const auto& out) {
    if constexpr (Thread == 0) {
      put<Scope>(at, x, 1);
      put<Scope>(at, y, 1);
    } else if constexpr (Thread == 1) {
      const int seen = get<Scope>(at, y);
      put<Scope>(at, z, 1);
      out.write(0, seen);
    } else {
      const int first = get<Scope>(at, z);
      const int second = get<Scope>(at, x);
      out.write(1, first);
      out.write(2, second);
    }
  }
};

/// A thread passes on a store that it has seen.
template <thread_scope Scope>
struct wrc {
  static constexpr auto model_test = model::litmus(model::thread(model::block(0), put<Scope>(x, 1)),
                                                   model::thread(model::block(1), get<Scope>(r0, x), put<Scope>(y, 1)),
                                                   model::thread(model::block(2), get<Scope>(r0, y), get<Scope>(r1, x)))
                                         .when(model::in(1, r0) == 1 && model::in(2, r0) == 1 && model::in(2, r1) == 0);

  template <int Thread>
  static __device__ void run(const instance_cells& at, const auto& out) {
    if constexpr (Thread == 0) {
      put<Scope>(at, x, 1);
    } else if constexpr (Thread == 1) {
      const int seen = get<Scope>(at, x);
      put<Scope>(at, y, 1);
      out.write(0, seen);
    } else {
      const int first = get<Scope>(at, y);
      const int second = get<Scope>(at, x);
      out.write(1, first);
      out.write(2, second);
    }
  }
};

/// A thread sees one store and not yet another; the writer of the other one has not seen the first.
template <thread_scope Scope>
struct rwc {
  static constexpr auto model_test = model::litmus(model::thread(model::block(0), put<Scope>(x, 1)),
                                                   model::thread(model::block(1), get<Scope>(r0, x), get<Scope>(r1, y)),
                                                   model::thread(model::block(2), put<Scope>(y, 1), get<Scope>(r0, x)))
                                         .when(model::in(1, r0) == 1 && model::in(1, r1) == 0 && model::in(2, r0) == 0);

  template <int Thread>
  static __device__ void run(const instance_cells& at, const auto& out) {
    if constexpr (Thread == 0) {
      put<Scope>(at, x, 1);
    } else if constexpr (Thread == 1) {
      const int first = get<Scope>(at, x);
      const int second = get<Scope>(at, y);
      out.write(0, first);
      out.write(1, second);
    } else {
      put<Scope>(at, y, 1);
      out.write(2, get<Scope>(at, x));
    }
  }
};

/// Two stores in each of two orders; the first ones last.
template <thread_scope Scope>
struct two_plus_two_w {
  static constexpr auto model_test =
      model::litmus(model::thread(model::block(0), put<Scope>(x, 1), put<Scope>(y, 2)),
                    model::thread(model::block(1), put<Scope>(y, 1), put<Scope>(x, 2)))
          .when(model::in_memory(model::variable{x}) == 1 && model::in_memory(model::variable{y}) == 1);

  template <int Thread>
  static __device__ void run(const instance_cells& at, const auto&) {
    put<Scope>(at, Thread == 0 ? x : y, 1);
    put<Scope>(at, Thread == 0 ? y : x, 2);
  }
};

/// Two loads of one location go back in time: coherence forbids it, whatever the order.
template <thread_scope Scope>
struct corr {
  static constexpr auto model_test = model::litmus(model::thread(model::block(0), put<Scope>(x, 1)),
                                                   model::thread(model::block(1), get<Scope>(r0, x), get<Scope>(r1, x)))
                                         .when(model::in(1, r0) == 1 && model::in(1, r1) == 0);

  template <int Thread>
  static __device__ void run(const instance_cells& at, const auto& out) {
    if constexpr (Thread == 0) {
      put<Scope>(at, x, 1);
    } else {
      const int first = get<Scope>(at, x);
      const int second = get<Scope>(at, x);
      out.write(0, first);
      out.write(1, second);
    }
  }
};

}  // namespace support::classic
