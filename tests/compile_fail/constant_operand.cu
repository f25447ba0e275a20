// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "refused.hpp"

#include <membar/load_store.cuh>

// This is the only rule of the file, so that its error is the only one: if a `consteval` constructor has `__device__`, nvcc 13.0
// reports that the constructor's evaluation failed only if there are other errors.
__global__ void constants(unsigned char* byte) {
  // expect: cast_this_value_unless_it_is_a_constant_that_the_object_can_hold
  REFUSED(a_constant_fits_the_object, membar::store<membar::thread_scope::device>(byte, 300, membar::release));
  membar::store<membar::thread_scope::device>(byte, 200, membar::release);
}
