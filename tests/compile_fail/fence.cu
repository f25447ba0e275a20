// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <membar/fence.cuh>

using membar::thread_scope;

__global__ void fences() {
#ifdef RULE_a_fence_is_never_relaxed  // expect: a fence takes acquire, release, acq_rel or seq_cst: a relaxed fence would order
  membar::thread_fence<thread_scope::device>(membar::relaxed);
#else
  membar::thread_fence<thread_scope::device>(membar::acq_rel);
#endif
#ifdef RULE_a_fence_has_no_default_scope  // expect: no instance of function template "membar::thread_fence"
  membar::thread_fence(membar::acq_rel);
#else
  membar::thread_fence<thread_scope::cluster>(membar::release);
#endif
#ifdef RULE_a_fence_has_no_default_order  // expect: no instance of function template "membar::thread_fence"
  membar::thread_fence<thread_scope::device>();
#else
  membar::thread_fence<thread_scope::device>(membar::seq_cst);
#endif
#ifdef RULE_a_proxy_fence_names_its_proxy  // expect: no instance of overloaded function "membar::proxy_fence"
  membar::proxy_fence();
#else
  membar::proxy_fence<membar::proxy::async>();
#endif
#ifdef RULE_a_tensormap_fence_has_a_scope_and_an_order  // expect: a fence of the tensormap proxy has a scope and an order
  membar::proxy_fence<membar::proxy::tensormap>();
#else
  membar::proxy_fence<membar::proxy::tensormap, thread_scope::device>(membar::release);
#endif
#ifdef RULE_only_the_tensormap_proxy_has_a_release_fence  // expect: only the tensormap proxy has a release fence
  membar::proxy_fence<membar::proxy::async, thread_scope::device>(membar::release);
#else
  membar::proxy_fence<membar::proxy::tensormap, thread_scope::system>(membar::release);
#endif
#ifdef RULE_only_the_tensormap_proxy_has_an_acquire_fence  // expect: only the tensormap proxy has an acquire fence
  membar::proxy_fence<membar::proxy::alias, thread_scope::device>(membar::acquire, nullptr);
#else
  membar::proxy_fence<membar::proxy::tensormap, thread_scope::device>(membar::acquire, nullptr);
#endif
#ifdef RULE_a_tensormap_fence_is_not_acq_rel  // expect: no instance of overloaded function "membar::proxy_fence"
  membar::proxy_fence<membar::proxy::tensormap, thread_scope::device>(membar::acq_rel);
#else
  membar::proxy_fence<membar::proxy::tensormap, thread_scope::cluster>(membar::release);
#endif
#ifdef RULE_a_shared_fence_is_one_half  // expect: a restricted fence takes acquire or release
  membar::shared_fence(membar::acq_rel);
#else
  membar::shared_fence(membar::acquire);
#endif
#ifdef RULE_a_shared_proxy_fence_is_one_half  // expect: a restricted fence takes acquire or release
  membar::shared_proxy_fence(membar::seq_cst);
#else
  membar::shared_proxy_fence(membar::release);
#endif
}
