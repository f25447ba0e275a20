// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Compiled for sm_75, which has neither policies nor 256-byte prefetches nor a bulk prefetch.
#include <membar/cache_control.cuh>
#include <membar/load_store.cuh>

using namespace membar;

__global__ void accesses(int* p, int* out, unsigned long long bits) {
#ifdef RULE_a_policy_needs_sm_80  // expect: membar: a cache policy requires compute capability 8.0
  const cache_policy<l2::evict_last> policy(1.0f);
  out[0] = static_cast<int>(policy.bits());
#else
  out[0] = static_cast<int>(l2_policy(bits).bits());
#endif
#ifdef RULE_an_access_with_a_policy_needs_sm_80  // expect: membar: an L2 policy requires compute capability 8.0
  out[1] = load_weak(p, l2_policy(bits));
#else
  out[1] = load_weak(p, l1::no_allocate);
#endif
#ifdef RULE_a_prefetch_of_256_bytes_needs_sm_80  // expect: membar: a prefetch size of 256 bytes requires compute capability 8.0
  out[2] = load_weak(p, prefetch_256B);
#else
  out[2] = load_weak(p, prefetch_128B);
#endif
#ifdef RULE_a_priority_of_lines_needs_sm_80  // expect: membar: L2 priorities and discard require compute capability 8.0
  prefetch_l2(p, l2::evict_last);
#else
  prefetch_l2(p);
#endif
#ifdef RULE_a_bulk_prefetch_needs_sm_90  // expect: membar: a bulk prefetch requires compute capability 9.0
  bulk_prefetch_l2<128>(p);
#else
  prefetch_l2(p);
#endif
#ifdef RULE_cluster_scope_needs_sm_90  // expect: membar: thread_scope::cluster requires compute capability 9.0
  out[3] = load<thread_scope::cluster>(p, acquire);
#else
  out[3] = load<thread_scope::device>(p, acquire);
#endif
}
