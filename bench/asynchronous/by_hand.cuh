// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
/// @file
/// Code shared by the benches for asynchronous operations: the same operations in hand-written PTX, and a check that ends a
/// kernel when a wait times out.
#pragma once

#include <membar/wait_budget.hpp>

#include <cuda_runtime.h>

namespace by_hand {

/// A budget that is longer than any successful wait.
constexpr membar::wait_budget generous = membar::wait_budget::milliseconds(2'000);

/// Ends the kernel with an error if a wait timed out.
__device__ inline void require(bool done) {
  if (!done) {
    __trap();
  }
}

__device__ inline unsigned shared_address(const void* object) {
  return static_cast<unsigned>(__cvta_generic_to_shared(object));
}

__device__ inline unsigned in_block(unsigned own, unsigned rank) {
  unsigned there;
  asm volatile("mapa.shared::cluster.u32 %0, %1, %2;" : "=r"(there) : "r"(own), "r"(rank) : "memory");
  return there;
}

__device__ inline void arrive(unsigned barrier) {
  asm volatile("mbarrier.arrive.release.cta.shared::cta.b64 _, [%0];" ::"r"(barrier) : "memory");
}
__device__ inline void arrive_expect(unsigned barrier, unsigned bytes) {
  asm volatile("mbarrier.arrive.expect_tx.release.cta.shared::cta.b64 _, [%0], %1;" ::"r"(barrier), "r"(bytes) : "memory");
}
__device__ inline void arrive_remote(unsigned barrier) {
  asm volatile("mbarrier.arrive.release.cluster.shared::cluster.b64 _, [%0];" ::"r"(barrier) : "memory");
}

/// Waits for the phase with this parity. Each attempt suspends the thread, so a wait of two seconds takes far fewer attempts
/// than this limit.
template <bool Cluster = false>
__device__ inline void wait_parity(unsigned barrier, unsigned parity) {
  for (unsigned tries = 0;; ++tries) {
    unsigned complete;
    if constexpr (Cluster) {
      asm volatile(
          "{ .reg .pred p; mbarrier.try_wait.parity.acquire.cluster.shared::cta.b64 p, [%1], %2; selp.b32 %0, 1, 0, p; }"
          : "=r"(complete)
          : "r"(barrier), "r"(parity)
          : "memory");
    } else {
      asm volatile("{ .reg .pred p; mbarrier.try_wait.parity.acquire.cta.shared::cta.b64 p, [%1], %2; selp.b32 %0, 1, 0, p; }"
                   : "=r"(complete)
                   : "r"(barrier), "r"(parity)
                   : "memory");
    }
    if (complete != 0) {
      return;
    }
    require(tries != 1U << 20);
  }
}

__device__ inline void bulk_load(unsigned to, const void* from, unsigned bytes, unsigned barrier) {
  asm volatile("cp.async.bulk.shared::cta.global.mbarrier::complete_tx::bytes [%0], [%1], %2, [%3];" ::"r"(to),
               "l"(__cvta_generic_to_global(from)), "r"(bytes), "r"(barrier)
               : "memory");
}

__device__ inline void bulk_store(void* to, unsigned from, unsigned bytes) {
  asm volatile("cp.async.bulk.global.shared::cta.bulk_group [%0], [%1], %2;" ::"l"(__cvta_generic_to_global(to)), "r"(from),
               "r"(bytes)
               : "memory");
  asm volatile("cp.async.bulk.commit_group;" ::: "memory");
}

__device__ inline void async_copy(unsigned to, const void* from) {
  asm volatile("cp.async.cg.shared::cta.global [%0], [%1], 16;" ::"r"(to), "l"(__cvta_generic_to_global(from)) : "memory");
}

}  // namespace by_hand
