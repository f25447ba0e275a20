// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
/// @file
/// The classic litmus tests in C++. Each test is written once, for the model and for the device: its threads are in separate
/// blocks, and every access has scope `Scope`. The orders and fences are parameters of each test.
#pragma once

#include <membar/fence.cuh>
#include <membar/litmus/test.cuh>
#include <membar/load_store.cuh>
#include <membar/model/test.hpp>

#include <atomic>
#include <tuple>
#include <utility>

namespace support::classic {

namespace model = membar::model;
using membar::thread_scope;
using membar::litmus::instance_cells;
using model::in;

enum : int { x, y, z };
inline constexpr model::reg r0{0};
inline constexpr model::reg r1{1};

/// @name Statements, for the model and for the device; the device stores the loaded values in `seen`
/// @{
template <int Location, int Value = 1, class Order = membar::relaxed_t>
struct put {
  static constexpr int loads = 0;
  template <thread_scope Scope>
  static constexpr model::instruction modelled = model::store<Scope>(model::variable{Location}, Value, Order{});
  template <thread_scope Scope>
  static __device__ void run(const instance_cells& at, int*&) {
    membar::store<Scope>(at.as<int>(Location), Value, Order{});
  }
};
template <int Register, int Location, class Order = membar::relaxed_t>
struct get {
  static constexpr int loads = 1;
  template <thread_scope Scope>
  static constexpr model::instruction modelled = model::load<Scope>(model::reg{Register}, model::variable{Location}, Order{});
  template <thread_scope Scope>
  static __device__ void run(const instance_cells& at, int*& seen) {
    *seen++ = membar::load<Scope>(at.as<int>(Location), Order{});
  }
};
struct sc_fence {
  static constexpr int loads = 0;
  template <thread_scope Scope>
  static constexpr model::instruction modelled = model::thread_fence<Scope>(membar::seq_cst);
  template <thread_scope Scope>
  static __device__ void run(const instance_cells&, int*&) {
    membar::thread_fence<Scope>(membar::seq_cst);
  }
};
/// @}

template <class... Statements>
struct thread {
  static constexpr int loads = (Statements::loads + ... + 0);
  template <thread_scope Scope>
  [[nodiscard]] static constexpr auto modelled(int block) {
    return model::thread(model::block(block), Statements::template modelled<Scope>...);
  }
  template <thread_scope Scope>
  static __device__ void run(const instance_cells& at, int* seen) {
    (Statements::template run<Scope>(at, seen), ...);
  }
};

/// The threads of a test. Conditions name the registers in the order of the loads.
template <thread_scope Scope, class... Threads>
struct program {
  [[nodiscard]] static constexpr auto modelled() {
    return []<std::size_t... Block>(std::index_sequence<Block...>) {
      return model::litmus(Threads::template modelled<Scope>(static_cast<int>(Block))...);
    }(std::index_sequence_for<Threads...>());
  }

  template <int Thread>
  static __device__ void run(const instance_cells& at, const auto& out) {
    using which = std::tuple_element_t<Thread, std::tuple<Threads...>>;
    int seen[which::loads + 1];
    which::template run<Scope>(at, seen);
#pragma unroll
    for (int load = 0; load < which::loads; ++load) {
      out.write(loads_before(Thread) + load, seen[load]);
    }
  }

 private:
  [[nodiscard]] static consteval int loads_before(int thread) {
    int sum = 0;
    int number = 0;
    ((sum += number++ < thread ? Threads::loads : 0), ...);
    return sum;
  }
};

/// One thread writes data and then a flag; the other reads the flag and then the data.
template <thread_scope Scope, class Publish = membar::relaxed_t, class Observe = membar::relaxed_t>
struct mp : program<Scope, thread<put<x>, put<y, 1, Publish>>, thread<get<0, y, Observe>, get<1, x>>> {
  static constexpr auto model_test = mp::modelled().when(in(1, r0) == 1 && in(1, r1) == 0);
};

/// A thread of `mp` on the host, at system scope, with release and acquire. This thread causes no outcome that the model
/// forbids for the test, regardless of the orders that the test uses.
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

/// Each thread stores to one location, and then loads the location that the other thread stores to.
template <thread_scope Scope>
struct sb : program<Scope, thread<put<x>, get<0, y>>, thread<put<y>, get<0, x>>> {
  static constexpr auto model_test = sb::modelled().when(in(0, r0) == 0 && in(1, r0) == 0);
};

/// Store buffering with a sequentially consistent fence between the store and the load.
template <thread_scope Scope>
struct sb_fenced : program<Scope, thread<put<x>, sc_fence, get<0, y>>, thread<put<y>, sc_fence, get<0, x>>> {
  static constexpr auto model_test = sb_fenced::modelled().when(in(0, r0) == 0 && in(1, r0) == 0);
};

/// Each thread loads the location that the other thread stores to afterwards.
template <thread_scope Scope>
struct lb : program<Scope, thread<get<0, x>, put<y>>, thread<get<0, y>, put<x>>> {
  static constexpr auto model_test = lb::modelled().when(in(0, r0) == 1 && in(1, r0) == 1);
};

/// Two threads store; two readers disagree about which store came first.
template <thread_scope Scope>
struct iriw : program<Scope, thread<put<x>>, thread<put<y>>, thread<get<0, x>, get<1, y>>, thread<get<0, y>, get<1, x>>> {
  static constexpr auto model_test =
      iriw::modelled().when(in(2, r0) == 1 && in(2, r1) == 0 && in(3, r0) == 1 && in(3, r1) == 0);
};

/// Message passing through a third thread.
template <thread_scope Scope>
struct isa2 : program<Scope, thread<put<x>, put<y>>, thread<get<0, y>, put<z>>, thread<get<0, z>, get<1, x>>> {
  static constexpr auto model_test = isa2::modelled().when(in(1, r0) == 1 && in(2, r0) == 1 && in(2, r1) == 0);
};

/// A thread observes a store and passes it on to another thread.
template <thread_scope Scope>
struct wrc : program<Scope, thread<put<x>>, thread<get<0, x>, put<y>>, thread<get<0, y>, get<1, x>>> {
  static constexpr auto model_test = wrc::modelled().when(in(1, r0) == 1 && in(2, r0) == 1 && in(2, r1) == 0);
};

/// A thread sees one store but not yet another, whose writer has not seen the first store.
template <thread_scope Scope>
struct rwc : program<Scope, thread<put<x>>, thread<get<0, x>, get<1, y>>, thread<put<y>, get<0, x>>> {
  static constexpr auto model_test = rwc::modelled().when(in(1, r0) == 1 && in(1, r1) == 0 && in(2, r0) == 0);
};

/// Two threads each store to both locations, in opposite orders; the final values are the values of the first stores.
template <thread_scope Scope>
struct two_plus_two_w : program<Scope, thread<put<x>, put<y, 2>>, thread<put<y>, put<x, 2>>> {
  static constexpr auto model_test =
      two_plus_two_w::modelled().when(model::in_memory(model::variable{x}) == 1 && model::in_memory(model::variable{y}) == 1);
};

/// Two loads of one location read values in reverse coherence order, which coherence forbids for every memory order.
template <thread_scope Scope>
struct corr : program<Scope, thread<put<x>>, thread<get<0, x>, get<1, x>>> {
  static constexpr auto model_test = corr::modelled().when(in(1, r0) == 1 && in(1, r1) == 0);
};

}  // namespace support::classic
