// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
/// @file
/// mbarriers: barriers in shared memory where threads arrive without waiting, and asynchronous copies complete.
///
/// In each of its phases, an mbarrier counts two things: pending arrivals, and bytes that asynchronous copies have not
/// delivered yet. The phase is complete when both counts are zero. The next phase then begins with the same number of expected
/// arrivals.
#pragma once

#include <membar/detail/ptx_spelling.cuh>
#include <membar/memory_order.hpp>
#include <membar/thread_scope.hpp>
#include <membar/wait_budget.cuh>

namespace membar {
inline namespace v0_3 {

namespace detail {

/// In the device compilation pass, rejects architectures without thread block clusters.
template <bool Needed>
__device__ constexpr void require_hopper_mbarrier() noexcept {
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ < 900
  static_assert(
      !Needed,
      "membar: on this architecture an mbarrier supports only arrive(release), arrive_no_complete, test_wait with acquire, and "
      "wait, all at block scope; everything else requires compute capability 9.0: compile this code only for sm_90 or newer");
#endif
}

/// Checks that the order is valid for an arrival. Returns whether it is, so that callers can avoid further error messages.
template <class Order, bool BeforeHopper>
[[nodiscard]] __device__ constexpr bool require_arrival() noexcept {
  constexpr bool legal = order_among<Order, memory_order::relaxed, memory_order::release>;
  static_assert(legal, "membar: an arrival cannot acquire, because it reads nothing: use relaxed or release");
  require_hopper_mbarrier<legal && !(BeforeHopper && order_among<Order, memory_order::release>)>();
  return legal;
}

/// Checks that the order is valid for a wait. Returns whether it is.
template <class Order, bool BeforeHopper>
[[nodiscard]] __device__ constexpr bool require_phase_wait() noexcept {
  constexpr bool legal = order_among<Order, memory_order::relaxed, memory_order::acquire>;
  static_assert(legal, "membar: a wait for a phase cannot release, because it writes nothing: use relaxed or acquire");
  require_hopper_mbarrier<legal && !(BeforeHopper && order_among<Order, memory_order::acquire>)>();
  return legal;
}

/// Converts a generic address in shared memory to the form that instructions for that state space require.
[[nodiscard]] __device__ inline unsigned shared_address(const void* object) noexcept {
  return static_cast<unsigned>(__cvta_generic_to_shared(object));
}

/// Returns the address of the object at the same location in another block in the cluster.
[[nodiscard]] __device__ inline unsigned cluster_address(unsigned own, unsigned rank) noexcept {
  unsigned there = 0;
  // mapa.shared::cluster.u32 there, here, rank;  PTX ISA 7.8, sm_90
  asm volatile("mapa.shared::cluster.u32 %0, %1, %2;" : "=r"(there) : "r"(own), "r"(rank) : "memory");
  return there;
}

}  // namespace detail

/// The phase of an mbarrier in which an arrival was counted. A thread can wait for this phase.
class mbarrier_token {
 public:
  /// Returns the state in the representation of PTX and `cuda::barrier`.
  [[nodiscard]] __device__ constexpr unsigned long long native() const noexcept { return state_; }
  /// Constructs a token from the state in PTX's representation.
  [[nodiscard]] __device__ static constexpr mbarrier_token from_native(unsigned long long state) noexcept {
    return mbarrier_token(state);
  }

 private:
  __device__ constexpr explicit mbarrier_token(unsigned long long state) noexcept : state_(state) {}
  unsigned long long state_;
};

/// The token of `arrive_no_complete`, which also holds the number of arrivals that the phase expected.
class pending_token : public mbarrier_token {
 public:
  /// Returns the number of arrivals that the phase still expected just before this arrival. It does not synchronize.
  ///
  /// PTX: `mbarrier.pending_count.b64 count, state`, one instruction. The state must come from `.noComplete`; otherwise the
  /// result is undefined. Source: PTX ISA, "mbarrier.pending_count".
  [[nodiscard]] __device__ unsigned pending_count() const noexcept {
    unsigned count = 0;
    // mbarrier.pending_count.b64 count, state;  PTX ISA 7.0, sm_80
    asm volatile("mbarrier.pending_count.b64 %0, %1;" : "=r"(count) : "l"(native()) : "memory");
    return count;
  }

 private:
  template <thread_scope Scope>
  friend class mbarrier;
  __device__ constexpr explicit pending_token(mbarrier_token token) noexcept : mbarrier_token(token) {}
};

/// The operations that a thread of the cluster may perform on an mbarrier in the shared memory of any block in the cluster.
/// Waiting is not one of them, because a thread can wait only on mbarriers of its own block.
///
/// `mbarrier::in_block` creates such an object. An arrival synchronizes with a wait at cluster scope, so the mbarrier must have
/// cluster scope. Source: PTX ISA, "mbarrier.arrive".
class remote_mbarrier {
 public:
  /// Arrives `count` times. With `release`, the arrival synchronizes with the waits that acquire the phase.
  ///
  /// PTX: `mbarrier.arrive.{relaxed,release}.cluster.shared::cluster.b64 _, [barrier], count`.
  template <class Order>
  __device__ void arrive(Order, unsigned count = 1) const noexcept {
    if constexpr (detail::require_arrival<Order, false>()) {
      // mbarrier.arrive.sem.cluster.shared::cluster.b64 _, [addr], count;  PTX ISA 8.0, relaxed 8.6, sm_90
      asm volatile("mbarrier.arrive.%2.cluster.shared::cluster.b64 _, [%0], %1;" ::"r"(address_), "r"(count),
                   "C"(detail::ptx_order<Order::value>::text)
                   : "memory");
    }
  }

  /// Arrives once and expects `bytes` more bytes in the arrival's phase. It synchronizes like `arrive`.
  ///
  /// PTX: `mbarrier.arrive.expect_tx.{relaxed,release}.cluster.shared::cluster.b64 _, [barrier], bytes`.
  template <class Order>
  __device__ void arrive_expect(unsigned bytes, Order) const noexcept {
    if constexpr (detail::require_arrival<Order, false>()) {
      // mbarrier.arrive.expect_tx.sem.cluster.shared::cluster.b64 _, [addr], bytes;  PTX ISA 8.0, relaxed 8.6, sm_90
      asm volatile("mbarrier.arrive.expect_tx.%2.cluster.shared::cluster.b64 _, [%0], %1;" ::"r"(address_), "r"(bytes),
                   "C"(detail::ptx_order<Order::value>::text)
                   : "memory");
    }
  }

  /// Arrives once and reduces by one the number of arrivals that later phases expect. It synchronizes like `arrive`.
  ///
  /// PTX: `mbarrier.arrive_drop.{relaxed,release}.cluster.shared::cluster.b64 _, [barrier]`.
  template <class Order>
  __device__ void arrive_drop(Order) const noexcept {
    if constexpr (detail::require_arrival<Order, false>()) {
      // mbarrier.arrive_drop.sem.cluster.shared::cluster.b64 _, [addr];  PTX ISA 8.0, relaxed 8.6, sm_90
      asm volatile("mbarrier.arrive_drop.%1.cluster.shared::cluster.b64 _, [%0];" ::"r"(address_),
                   "C"(detail::ptx_order<Order::value>::text)
                   : "memory");
    }
  }

  /// Like `arrive_drop`, but also expects `bytes` more bytes in the arrival's phase.
  ///
  /// PTX: `mbarrier.arrive_drop.expect_tx.{relaxed,release}.cluster.shared::cluster.b64 _, [barrier], bytes`.
  template <class Order>
  __device__ void arrive_drop_expect(unsigned bytes, Order) const noexcept {
    if constexpr (detail::require_arrival<Order, false>()) {
      // mbarrier.arrive_drop.expect_tx.sem.cluster.shared::cluster.b64 _, [addr], bytes;  PTX ISA 8.0, relaxed 8.6, sm_90
      asm volatile("mbarrier.arrive_drop.expect_tx.%2.cluster.shared::cluster.b64 _, [%0], %1;" ::"r"(address_), "r"(bytes),
                   "C"(detail::ptx_order<Order::value>::text)
                   : "memory");
    }
  }

  /// Expects `bytes` more bytes in the current phase. It does not synchronize.
  ///
  /// PTX: `mbarrier.expect_tx.relaxed.cluster.shared::cluster.b64 [barrier], bytes`.
  template <bool Needed = true>
  __device__ void expect(unsigned bytes) const noexcept {
    detail::require_hopper_mbarrier<Needed>();
    // mbarrier.expect_tx.relaxed.cluster.shared::cluster.b64 [addr], bytes;  PTX ISA 8.0, sm_90
    asm volatile("mbarrier.expect_tx.relaxed.cluster.shared::cluster.b64 [%0], %1;" ::"r"(address_), "r"(bytes) : "memory");
  }

  /// Counts `bytes` bytes as delivered, like the completion of an asynchronous copy, but releases nothing.
  ///
  /// PTX: `mbarrier.complete_tx.relaxed.cluster.shared::cluster.b64 [barrier], bytes`.
  template <bool Needed = true>
  __device__ void complete(unsigned bytes) const noexcept {
    detail::require_hopper_mbarrier<Needed>();
    // mbarrier.complete_tx.relaxed.cluster.shared::cluster.b64 [addr], bytes;  PTX ISA 8.0, sm_90
    asm volatile("mbarrier.complete_tx.relaxed.cluster.shared::cluster.b64 [%0], %1;" ::"r"(address_), "r"(bytes) : "memory");
  }

  /// Returns the address in the state space `.shared::cluster`, for handwritten PTX.
  [[nodiscard]] __device__ constexpr unsigned address() const noexcept { return address_; }

 private:
  template <thread_scope Scope>
  friend class mbarrier;
  __device__ constexpr explicit remote_mbarrier(unsigned address) noexcept : address_(address) {}
  unsigned address_;
};

/// A barrier in shared memory for the threads of a block or of a cluster. Arrivals do not wait, and asynchronous copies can
/// complete on it.
///
/// An arrival with `release` synchronizes with a wait with `acquire` for its phase, if each scope includes the other's thread.
/// A fence before a relaxed arrival and a fence after a relaxed wait have the same effect. The completion of an asynchronous
/// copy synchronizes with each wait that acquires its phase, regardless of the scope: the copy's data is then visible without a
/// proxy fence. The completion does not order any other access of the thread that started the copy.
///
/// Requires: shared memory; at block scope, compute capability 8.0 for `init`, `arrive(release)`, `arrive_no_complete`,
/// `arrive_drop(release)`, and `test_wait` and `wait` with `acquire`; 9.0 for everything else. A phase expects 1 to 2^20 - 1
/// arrivals and at most 2^20 - 1 bytes. Source: PTX ISA, "mbarrier" and its instructions.
template <thread_scope Scope>
class alignas(8) mbarrier {
  static_assert(Scope == thread_scope::block || Scope == thread_scope::cluster,
                "membar: an mbarrier is in shared memory, which only the threads of a cluster can access: its scope must be "
                "block or cluster");
  static constexpr bool before_hopper = Scope == thread_scope::block;

 public:
  /// Does not initialize the mbarrier, because objects in shared memory are not constructed: call `init` first.
  mbarrier() = default;
  mbarrier(const mbarrier&) = delete;
  mbarrier& operator=(const mbarrier&) = delete;

  /// The maximum number of arrivals, and of bytes, that a phase may expect.
  static constexpr unsigned most = (1U << 20) - 1;

  /// Returns a reference to an existing mbarrier, such as the mbarrier of a `cuda::barrier`:
  /// `of(cuda::device::barrier_native_handle(barrier))`.
  [[nodiscard]] __device__ static mbarrier& of(void* native) noexcept { return *static_cast<mbarrier*>(native); }
  /// Returns the mbarrier's 64 bits, which only mbarrier instructions may access.
  [[nodiscard]] __device__ unsigned long long* native_handle() noexcept { return &bits_; }

  /// Initializes the mbarrier: each phase expects `expected` arrivals, 1 to `most`. One thread must call it before any other
  /// use.
  ///
  /// The call does not synchronize, so it must be followed by a block barrier. If another block or an asynchronous copy uses
  /// the mbarrier, `mbarrier_init_fence` (fence.cuh) must precede that barrier.
  __device__ void init(unsigned expected) noexcept {
    // mbarrier.init.shared::cta.b64 [addr], count;  PTX ISA 7.0, sm_80
    asm volatile("mbarrier.init.shared::cta.b64 [%0], %1;" ::"r"(address()), "r"(expected) : "memory");
  }

  /// Invalidates the mbarrier, so that its memory can be used for something else. Afterwards no thread may wait or arrive on
  /// it.
  __device__ void invalidate() noexcept {
    // mbarrier.inval.shared::cta.b64 [addr];  PTX ISA 7.0, sm_80
    asm volatile("mbarrier.inval.shared::cta.b64 [%0];" ::"r"(address()) : "memory");
  }

  /// Arrives once and returns the phase. With `release`, the arrival synchronizes with the waits that acquire this phase.
  template <class Order>
  __device__ mbarrier_token arrive(Order) noexcept {
    unsigned long long state = 0;
    if constexpr (detail::require_arrival<Order, before_hopper>()) {
      // mbarrier.arrive.sem.scope.shared::cta.b64 state, [addr];  PTX ISA 8.0, relaxed 8.6; sm_80 for release.cta, else sm_90
      asm volatile("mbarrier.arrive.%2.%3.shared::cta.b64 %0, [%1];"
                   : "=l"(state)
                   : "r"(address()), "C"(detail::ptx_order<Order::value>::text), "C"(detail::ptx_scope<Scope>::text)
                   : "memory");
    }
    return mbarrier_token::from_native(state);
  }

  /// Arrives `count` times at once; `count` may range from 1 to the number of arrivals that the phase still expects. It
  /// synchronizes like `arrive(order)`.
  template <class Order>
  __device__ mbarrier_token arrive(Order, unsigned count) noexcept {
    unsigned long long state = 0;
    if constexpr (detail::require_arrival<Order, false>()) {
      // mbarrier.arrive.sem.scope.shared::cta.b64 state, [addr], count;  PTX ISA 8.0, relaxed 8.6, sm_90
      asm volatile("mbarrier.arrive.%3.%4.shared::cta.b64 %0, [%1], %2;"
                   : "=l"(state)
                   : "r"(address()), "r"(count), "C"(detail::ptx_order<Order::value>::text), "C"(detail::ptx_scope<Scope>::text)
                   : "memory");
    }
    return mbarrier_token::from_native(state);
  }

  /// Expects `bytes` more bytes in the phase and then arrives once. It synchronizes like `arrive(order)`. This arrival must be
  /// the phase's last arrival or come before that arrival, so that the phase cannot complete without the bytes.
  template <class Order>
  __device__ mbarrier_token arrive_expect(unsigned bytes, Order) noexcept {
    unsigned long long state = 0;
    if constexpr (detail::require_arrival<Order, false>()) {
      // mbarrier.arrive.expect_tx.sem.scope.shared::cta.b64 state, [addr], bytes;  PTX ISA 8.0, relaxed 8.6, sm_90
      asm volatile("mbarrier.arrive.expect_tx.%3.%4.shared::cta.b64 %0, [%1], %2;"
                   : "=l"(state)
                   : "r"(address()), "r"(bytes), "C"(detail::ptx_order<Order::value>::text), "C"(detail::ptx_scope<Scope>::text)
                   : "memory");
    }
    return mbarrier_token::from_native(state);
  }

  /// Arrives once and reduces by one the number of arrivals that later phases expect. It synchronizes like `arrive(order)`.
  template <class Order>
  __device__ mbarrier_token arrive_drop(Order) noexcept {
    unsigned long long state = 0;
    if constexpr (detail::require_arrival<Order, before_hopper>()) {
      // mbarrier.arrive_drop.sem.scope.shared::cta.b64 state, [addr];  PTX ISA 8.0, relaxed 8.6; sm_80 for release.cta, else sm_90
      asm volatile("mbarrier.arrive_drop.%2.%3.shared::cta.b64 %0, [%1];"
                   : "=l"(state)
                   : "r"(address()), "C"(detail::ptx_order<Order::value>::text), "C"(detail::ptx_scope<Scope>::text)
                   : "memory");
    }
    return mbarrier_token::from_native(state);
  }

  /// Like `arrive_drop`, but also expects `bytes` more bytes in the arrival's phase, before arriving.
  template <class Order>
  __device__ mbarrier_token arrive_drop_expect(unsigned bytes, Order) noexcept {
    unsigned long long state = 0;
    if constexpr (detail::require_arrival<Order, false>()) {
      // mbarrier.arrive_drop.expect_tx.sem.scope.shared::cta.b64 state, [addr], bytes;  PTX ISA 8.0, relaxed 8.6, sm_90
      asm volatile("mbarrier.arrive_drop.expect_tx.%3.%4.shared::cta.b64 %0, [%1], %2;"
                   : "=l"(state)
                   : "r"(address()), "r"(bytes), "C"(detail::ptx_order<Order::value>::text), "C"(detail::ptx_scope<Scope>::text)
                   : "memory");
    }
    return mbarrier_token::from_native(state);
  }

  /// Arrives `count` times at once. `count` must be less than the number of arrivals that the phase still expects, so this call
  /// cannot complete the phase. It synchronizes like `arrive(release)`.
  __device__ pending_token arrive_no_complete(unsigned count) noexcept {
    static_assert(Scope == thread_scope::block,
                  "membar: PTX has arrive.noComplete only at block scope: use arrive(order, count)");
    unsigned long long state = 0;
    // mbarrier.arrive.noComplete.release.cta.shared::cta.b64 state, [addr], count;  PTX ISA 7.0 (release.cta 8.0), sm_80
    asm volatile("mbarrier.arrive.noComplete.release.cta.shared::cta.b64 %0, [%1], %2;"
                 : "=l"(state)
                 : "r"(address()), "r"(count)
                 : "memory");
    return pending_token(mbarrier_token::from_native(state));
  }

  /// Expects `bytes` more bytes in the current phase, without an arrival. It does not synchronize. The same thread must arrive
  /// afterwards, because otherwise the phase might complete before the call.
  template <bool Needed = true>
  __device__ void expect(unsigned bytes) noexcept {
    detail::require_hopper_mbarrier<Needed>();
    // mbarrier.expect_tx.relaxed.scope.shared::cta.b64 [addr], bytes;  PTX ISA 8.0, sm_90
    asm volatile("mbarrier.expect_tx.relaxed.%2.shared::cta.b64 [%0], %1;" ::"r"(address()), "r"(bytes),
                 "C"(detail::ptx_scope<Scope>::text)
                 : "memory");
  }

  /// Counts `bytes` bytes of the current phase as delivered, like the completion of an asynchronous copy, but releases nothing.
  template <bool Needed = true>
  __device__ void complete(unsigned bytes) noexcept {
    detail::require_hopper_mbarrier<Needed>();
    // mbarrier.complete_tx.relaxed.scope.shared::cta.b64 [addr], bytes;  PTX ISA 8.0, sm_90
    asm volatile("mbarrier.complete_tx.relaxed.%2.shared::cta.b64 [%0], %1;" ::"r"(address()), "r"(bytes),
                 "C"(detail::ptx_scope<Scope>::text)
                 : "memory");
  }

  /// Returns whether the token's phase is complete. With `acquire`, a call that returns true synchronizes with the phase's
  /// arrivals and completions.
  template <class Order>
  [[nodiscard]] __device__ bool test_wait(mbarrier_token token, Order) noexcept {
    unsigned complete = 0;
    if constexpr (detail::require_phase_wait<Order, before_hopper>()) {
      // mbarrier.test_wait.sem.scope.shared::cta.b64 p, [addr], state;  PTX ISA 8.0, relaxed 8.6; sm_80 for acquire.cta, else sm_90
      asm volatile(
          "{ .reg .pred complete; mbarrier.test_wait.%3.%4.shared::cta.b64 complete, [%1], %2; selp.b32 %0, 1, 0, complete; }"
          : "=r"(complete)
          : "r"(address()), "l"(token.native()), "C"(detail::ptx_order<Order::value>::text), "C"(detail::ptx_scope<Scope>::text)
          : "memory");
    }
    return complete != 0;
  }

  /// Like `test_wait`, for the current phase if its parity is `parity`, and otherwise for the previous phase, which is
  /// complete. The parities of the phases alternate: 0, 1, 0, and so on. A thread that misses two completions mistakes a later
  /// phase for its own.
  template <class Order>
  [[nodiscard]] __device__ bool test_wait_parity(unsigned parity, Order) noexcept {
    unsigned complete = 0;
    if constexpr (detail::require_phase_wait<Order, before_hopper>()) {
      // mbarrier.test_wait.parity.sem.scope.shared::cta.b64 p, [addr], parity;  PTX ISA 8.0, relaxed 8.6; sm_80 for acquire.cta,
      // else sm_90
      asm volatile(
          "{ .reg .pred complete; mbarrier.test_wait.parity.%3.%4.shared::cta.b64 complete, [%1], %2; selp.b32 %0, 1, 0, "
          "complete; }"
          : "=r"(complete)
          : "r"(address()), "r"(parity), "C"(detail::ptx_order<Order::value>::text), "C"(detail::ptx_scope<Scope>::text)
          : "memory");
    }
    return complete != 0;
  }

  /// Like `test_wait`, but it may suspend the thread for a time that the system chooses. A later arrival by the same thread may
  /// still affect the result, unless that arrival depends on the result.
  template <class Order>
  [[nodiscard]] __device__ bool try_wait(mbarrier_token token, Order) noexcept {
    unsigned complete = 0;
    if constexpr (detail::require_phase_wait<Order, false>()) {
      // mbarrier.try_wait.sem.scope.shared::cta.b64 p, [addr], state;  PTX ISA 8.0, relaxed 8.6, sm_90
      asm volatile(
          "{ .reg .pred complete; mbarrier.try_wait.%3.%4.shared::cta.b64 complete, [%1], %2; selp.b32 %0, 1, 0, complete; }"
          : "=r"(complete)
          : "r"(address()), "l"(token.native()), "C"(detail::ptx_order<Order::value>::text), "C"(detail::ptx_scope<Scope>::text)
          : "memory");
    }
    return complete != 0;
  }

  /// Like `try_wait(token, order)`, but suspends the thread for up to `nanoseconds`.
  template <class Order>
  [[nodiscard]] __device__ bool try_wait(mbarrier_token token, Order, unsigned nanoseconds) noexcept {
    unsigned complete = 0;
    if constexpr (detail::require_phase_wait<Order, false>()) {
      // mbarrier.try_wait.sem.scope.shared::cta.b64 p, [addr], state, nanoseconds;  PTX ISA 8.0, relaxed 8.6, sm_90
      asm volatile(
          "{ .reg .pred complete; mbarrier.try_wait.%4.%5.shared::cta.b64 complete, [%1], %2, %3; selp.b32 %0, 1, 0, complete; "
          "}"
          : "=r"(complete)
          : "r"(address()), "l"(token.native()), "r"(nanoseconds), "C"(detail::ptx_order<Order::value>::text),
            "C"(detail::ptx_scope<Scope>::text)
          : "memory");
    }
    return complete != 0;
  }

  /// Like `test_wait_parity`, but it may suspend the thread for a time that the system chooses.
  template <class Order>
  [[nodiscard]] __device__ bool try_wait_parity(unsigned parity, Order) noexcept {
    unsigned complete = 0;
    if constexpr (detail::require_phase_wait<Order, false>()) {
      // mbarrier.try_wait.parity.sem.scope.shared::cta.b64 p, [addr], parity;  PTX ISA 8.0, relaxed 8.6, sm_90
      asm volatile(
          "{ .reg .pred complete; mbarrier.try_wait.parity.%3.%4.shared::cta.b64 complete, [%1], %2; selp.b32 %0, 1, 0, "
          "complete; }"
          : "=r"(complete)
          : "r"(address()), "r"(parity), "C"(detail::ptx_order<Order::value>::text), "C"(detail::ptx_scope<Scope>::text)
          : "memory");
    }
    return complete != 0;
  }

  /// Like `try_wait_parity(parity, order)`, but suspends the thread for up to `nanoseconds`.
  template <class Order>
  [[nodiscard]] __device__ bool try_wait_parity(unsigned parity, Order, unsigned nanoseconds) noexcept {
    unsigned complete = 0;
    if constexpr (detail::require_phase_wait<Order, false>()) {
      // mbarrier.try_wait.parity.sem.scope.shared::cta.b64 p, [addr], parity, nanoseconds;  PTX ISA 8.0, relaxed 8.6, sm_90
      asm volatile(
          "{ .reg .pred complete; mbarrier.try_wait.parity.%4.%5.shared::cta.b64 complete, [%1], %2, %3; selp.b32 %0, 1, 0, "
          "complete; }"
          : "=r"(complete)
          : "r"(address()), "r"(parity), "r"(nanoseconds), "C"(detail::ptx_order<Order::value>::text),
            "C"(detail::ptx_scope<Scope>::text)
          : "memory");
    }
    return complete != 0;
  }

  /// Waits until the token's phase is complete. Returns `done`, or `timed_out` after `budget`. A wait that returns `done`
  /// synchronizes like `test_wait`.
  template <class Order>
  [[nodiscard]] __device__ wait_result wait(mbarrier_token token, Order order, wait_budget budget) noexcept {
    return repeat(budget, [&] {
      if constexpr (detail::has_hopper_instructions) {
        return try_wait(token, order);
      } else {
        return test_wait(token, order);
      }
    });
  }

  /// Like `wait`, for a phase identified by its parity, as in `test_wait_parity`.
  template <class Order>
  [[nodiscard]] __device__ wait_result wait_parity(unsigned parity, Order order, wait_budget budget) noexcept {
    return repeat(budget, [&] {
      if constexpr (detail::has_hopper_instructions) {
        return try_wait_parity(parity, order);
      } else {
        return test_wait_parity(parity, order);
      }
    });
  }

  /// Returns the mbarrier at the same location in the shared memory of block `rank` in the cluster. Ranks range from 0 to the
  /// number of blocks in the cluster minus 1.
  ///
  /// PTX: `mapa.shared::cluster.u32`. Requires: cluster scope; compute capability 9.0. The other block must have started and
  /// must not have exited: execute a cluster barrier before the first use and after the last. Source: PTX ISA, "mapa".
  template <bool Needed = true>
  [[nodiscard]] __device__ remote_mbarrier in_block(unsigned rank) noexcept {
    static_assert(
        Scope == thread_scope::cluster,
        "membar: an mbarrier at which another block arrives must have cluster scope: use mbarrier<thread_scope::cluster>");
    detail::require_hopper_mbarrier<Needed>();
    return remote_mbarrier(detail::cluster_address(address(), rank));
  }

  /// Returns the address in the state space `.shared::cta`, for handwritten PTX.
  [[nodiscard]] __device__ unsigned address() const noexcept {
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ < 800
    static_assert(Scope == thread_scope::system,
                  "membar: an mbarrier requires compute capability 8.0: compile this code only for sm_80 or newer");
#endif
    return detail::shared_address(this);
  }

 private:
  /// Repeatedly tests a phase until the phase is complete or the budget is used up.
  template <class Attempt>
  [[nodiscard]] __device__ static wait_result repeat(wait_budget budget, Attempt is_complete) noexcept {
    for (detail::polling poll(budget);;) {
      if (is_complete()) {
        return wait_result::done;
      }
      if (poll.time_is_up()) {  // checked in each iteration, because a try may have taken a long time
        return wait_result::timed_out;
      }
    }
  }

  unsigned long long bits_;
};

}  // namespace v0_3
}  // namespace membar
