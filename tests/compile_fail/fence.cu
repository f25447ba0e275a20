// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <membar/fence.cuh>

using membar::thread_scope;

__global__ void fences() {
#ifdef RULE_a_fence_is_never_relaxed  // expect: a fence takes acquire, release, acq_rel or seq_cst
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

#ifdef RULE_a_proxy_fence_names_its_proxy  // expect: no instance of function template "membar::proxy_fence"
  membar::proxy_fence();
#else
  membar::proxy_fence<membar::proxy::async>();
#endif
}
