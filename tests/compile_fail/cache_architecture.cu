// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Compiled for sm_75, which does not have policies, 256-byte prefetches or a bulk prefetch.
#include "refused.hpp"

#include <membar/async_copy.cuh>
#include <membar/atomic.cuh>
#include <membar/cache_control.cuh>
#include <membar/load_store.cuh>
#include <membar/mbarrier.cuh>

using namespace membar;

__global__ void mbarriers() {
  __shared__ mbarrier<thread_scope::block> own;
  // expect: membar: an mbarrier requires compute capability 8.0
  REFUSED(an_mbarrier_needs_sm_80, own.init(1));
  static_cast<void>(own.native_handle());
}

__global__ void copies(const int* p, int* out) {
  extern __shared__ int stage[];
  out[0] = stage[0];
  // expect: membar: an asynchronous copy requires compute capability 8.0
  REFUSED(an_asynchronous_copy_needs_sm_80, static_cast<void>(async_copy(stage, p)));
  out[1] = stage[1];
  // expect: membar: an asynchronous copy requires compute capability 8.0
  REFUSED(a_wait_for_asynchronous_copies_needs_sm_80, async_wait());
}

__global__ void accesses(int* p, int* out, unsigned long long bits) {
  // expect: membar: a cache policy requires compute capability 8.0
  REFUSED(a_policy_needs_sm_80, const cache_policy<l2::evict_last> refused_policy(1.0f);
          out[0] = static_cast<int>(refused_policy.bits()));
  out[0] = static_cast<int>(l2_policy(bits).bits());
  // expect: membar: an L2 policy requires compute capability 8.0
  REFUSED(an_access_with_a_policy_needs_sm_80, out[1] = load_weak(p, l2_policy(bits)));
  out[1] = load_weak(p, l1::no_allocate);
  // expect: membar: an L2 policy requires compute capability
  REFUSED(an_atomic_with_a_policy_needs_sm_80, atomic_ref<int, thread_scope::device>(*p).add(1, relaxed, l2_policy(bits)));
  atomic_ref<int, thread_scope::device>(*p).add(1, relaxed);
  // expect: membar: a prefetch size of 256 bytes requires compute capability 8.0
  REFUSED(a_prefetch_of_256_bytes_needs_sm_80, out[2] = load_weak(p, prefetch_256B));
  out[2] = load_weak(p, prefetch_128B);
  // expect: membar: L2 priorities and discard require compute capability 8.0
  REFUSED(a_priority_of_lines_needs_sm_80, prefetch_l2(p, l2::evict_last));
  prefetch_l2(p);
  // expect: membar: a bulk prefetch requires compute capability 9.0
  REFUSED(a_bulk_prefetch_needs_sm_90, bulk_prefetch_l2<128>(p));
  prefetch_l2(p);
  // expect: membar: thread_scope::cluster requires compute capability 9.0
  REFUSED(cluster_scope_needs_sm_90, out[3] = load<thread_scope::cluster>(p, acquire));
  out[3] = load<thread_scope::device>(p, acquire);
}
