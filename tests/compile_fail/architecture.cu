// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Compiled for sm_80, which has neither clusters nor the async proxies.
#include <membar/atomic.cuh>
#include <membar/fence.cuh>

using membar::thread_scope;

__global__ void before_hopper(int* object) {
#ifdef RULE_a_cluster_fence_requires_sm_90  // expect: thread_scope::cluster requires compute capability 9.0
  membar::thread_fence<thread_scope::cluster>(membar::acq_rel);
#else
  membar::thread_fence<thread_scope::device>(membar::acq_rel);
#endif

#ifdef RULE_a_cluster_load_requires_sm_90  // expect: thread_scope::cluster requires compute capability 9.0
  object[1] = membar::atomic_ref<int, thread_scope::cluster>(*object).load(membar::relaxed);
#else
  object[1] = membar::atomic_ref<int, thread_scope::device>(*object).load(membar::relaxed);
#endif

#ifdef RULE_a_cluster_store_requires_sm_90  // expect: thread_scope::cluster requires compute capability 9.0
  membar::atomic_ref<int, thread_scope::cluster>(*object).store(1, membar::relaxed);
#else
  membar::atomic_ref<int, thread_scope::device>(*object).store(1, membar::relaxed);
#endif

#ifdef RULE_a_cluster_fetch_requires_sm_90  // expect: thread_scope::cluster requires compute capability 9.0
  membar::atomic_ref<int, thread_scope::cluster>(*object).fetch_add(1, membar::relaxed);
#else
  membar::atomic_ref<int, thread_scope::device>(*object).fetch_add(1, membar::relaxed);
#endif

  int expected = 0;
#ifdef RULE_a_cluster_compare_exchange_requires_sm_90  // expect: thread_scope::cluster requires compute capability 9.0
  membar::atomic_ref<int, thread_scope::cluster>(*object).compare_exchange(expected, 1, membar::relaxed, membar::relaxed);
#else
  membar::atomic_ref<int, thread_scope::device>(*object).compare_exchange(expected, 1, membar::relaxed, membar::relaxed);
#endif

#ifdef RULE_the_async_proxy_requires_sm_90  // expect: the async proxy requires compute capability 9.0
  membar::proxy_fence<membar::proxy::async>();
#else
  membar::proxy_fence<membar::proxy::alias>();
#endif

#ifdef RULE_the_async_proxy_of_shared_memory_requires_sm_90  // expect: the async proxy requires compute capability 9.0
  membar::proxy_fence<membar::proxy::async_shared_block>();
#else
  membar::proxy_fence<membar::proxy::alias>();
#endif
}
