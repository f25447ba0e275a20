// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "refused.hpp"

#include <membar/fence.cuh>

using namespace membar;

__global__ void fences() {
  // expect: a fence takes acquire, release, acq_rel or seq_cst: a relaxed fence would order
  REFUSED(a_fence_is_never_relaxed, thread_fence<thread_scope::device>(relaxed));
  thread_fence<thread_scope::device>(acq_rel);
  // expect: no instance of function template "membar::thread_fence"
  REFUSED(a_fence_has_no_default_scope, thread_fence(acq_rel));
  thread_fence<thread_scope::cluster>(release);
  // expect: no instance of function template "membar::thread_fence"
  REFUSED(a_fence_has_no_default_order, thread_fence<thread_scope::device>());
  thread_fence<thread_scope::device>(seq_cst);
  // expect: no instance of overloaded function "membar::proxy_fence"
  REFUSED(a_proxy_fence_names_its_proxy, proxy_fence());
  proxy_fence<proxy::async>();
  // expect: a fence of the tensormap proxy has a scope and an order
  REFUSED(a_tensormap_fence_has_a_scope_and_an_order, proxy_fence<proxy::tensormap>());
  proxy_fence<proxy::tensormap, thread_scope::device>(release);
  // expect: only the tensormap proxy has a release fence
  REFUSED(only_the_tensormap_proxy_has_a_release_fence, proxy_fence<proxy::async, thread_scope::device>(release));
  proxy_fence<proxy::tensormap, thread_scope::system>(release);
  // expect: only the tensormap proxy has an acquire fence
  REFUSED(only_the_tensormap_proxy_has_an_acquire_fence, proxy_fence<proxy::alias, thread_scope::device>(acquire, nullptr));
  proxy_fence<proxy::tensormap, thread_scope::device>(acquire, nullptr);
  // expect: no instance of overloaded function "membar::proxy_fence"
  REFUSED(a_tensormap_fence_is_not_acq_rel, proxy_fence<proxy::tensormap, thread_scope::device>(acq_rel));
  proxy_fence<proxy::tensormap, thread_scope::cluster>(release);
  // expect: a restricted fence takes acquire or release
  REFUSED(a_shared_fence_is_one_half, shared_fence(acq_rel));
  shared_fence(acquire);
  // expect: a restricted fence takes acquire or release
  REFUSED(a_shared_proxy_fence_is_one_half, shared_proxy_fence(seq_cst));
  shared_proxy_fence(release);
}
