// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "refused.hpp"

#include <membar/atomic.cuh>
#include <membar/fence.cuh>

using membar::thread_scope;

__global__ void fences() {
  // expect: a relaxed fence would order nothing: use acquire, release, acq_rel or seq_cst
  REFUSED(a_fence_is_never_relaxed, membar::thread_fence<thread_scope::device>(membar::relaxed));
  membar::thread_fence<thread_scope::device>(membar::acq_rel);
  // expect: the scope, which specifies the participating threads, is missing: pass
  REFUSED(a_fence_has_no_default_scope, membar::thread_fence(membar::acq_rel));
  membar::thread_fence<thread_scope::cluster>(membar::release);
  // expect: membar: a fence needs an order: pass acquire, release, acq_rel or
  REFUSED(a_fence_has_no_default_order, membar::thread_fence<thread_scope::device>());
  membar::thread_fence<thread_scope::device>(membar::seq_cst);
  // expect: no instance of overloaded function "membar::proxy_fence"
  REFUSED(a_proxy_fence_names_its_proxy, membar::proxy_fence());
  membar::proxy_fence<membar::proxy::async>();
  // expect: a fence of the tensormap proxy needs a scope and an order:
  REFUSED(a_tensormap_fence_has_a_scope_and_an_order, membar::proxy_fence<membar::proxy::tensormap>());
  membar::proxy_fence<membar::proxy::tensormap, thread_scope::device>(membar::release);
  // expect: only the tensormap proxy has a release fence
  REFUSED(only_the_tensormap_proxy_has_a_release_fence,
          membar::proxy_fence<membar::proxy::async, thread_scope::device>(membar::release));
  membar::proxy_fence<membar::proxy::tensormap, thread_scope::system>(membar::release);
  // expect: only the tensormap proxy has an acquire fence
  REFUSED(only_the_tensormap_proxy_has_an_acquire_fence,
          membar::proxy_fence<membar::proxy::alias, thread_scope::device>(membar::acquire, nullptr));
  membar::proxy_fence<membar::proxy::tensormap, thread_scope::device>(membar::acquire, nullptr);
  // expect: no instance of overloaded function "membar::proxy_fence"
  REFUSED(a_tensormap_fence_is_not_acq_rel,
          membar::proxy_fence<membar::proxy::tensormap, thread_scope::device>(membar::acq_rel));
  membar::proxy_fence<membar::proxy::tensormap, thread_scope::cluster>(membar::release);
  // expect: a restricted fence must be acquire or release: PTX has no other
  REFUSED(a_shared_fence_is_one_half, membar::shared_fence(membar::acq_rel));
  membar::shared_fence(membar::acquire);
  // expect: a restricted fence must be acquire or release: PTX has no other
  REFUSED(a_shared_proxy_fence_is_one_half, membar::shared_proxy_fence(membar::seq_cst));
  membar::shared_proxy_fence(membar::release);
}

// <cuda_fp16.h> is not included here.
__global__ void halves(void* object) {
  // expect: the type of this object is declared but not defined here: include its header, which is <cuda_fp16.h> for __half
  REFUSED(a_half_has_its_header,
          static_cast<void>(membar::atomic_ref<__half, thread_scope::device>(*static_cast<__half*>(object))));
  static_cast<void>(membar::atomic_ref<short, thread_scope::device>(*static_cast<short*>(object)));
}
