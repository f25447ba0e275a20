// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "refused.hpp"

#include <membar/multimem.cuh>

using membar::multimem_ref, membar::thread_scope;

__global__ void multimem(int* i, float* f, float4* quad, membar::packed_half8* halves) {
  const multimem_ref<int, thread_scope::system> number(i);
  const multimem_ref<float, thread_scope::system> real(f);
  const multimem_ref<membar::packed_half8, thread_scope::system> eight(halves);
  // expect: a store or reduction through a multimem address must be relaxed or
  REFUSED(a_multimem_store_acquires_nothing, number.store(1, membar::acquire));
  number.store(1, membar::release);
  // expect: a store or reduction through a multimem address must be relaxed or
  REFUSED(a_multimem_reduction_is_not_seq_cst, number.add(1, membar::seq_cst));
  number.add(1, membar::relaxed);
  // expect: a load through a multimem address must be relaxed or acquire:
  REFUSED(a_multimem_load_releases_nothing, *i = number.load_sum(membar::release));
  *i = number.load_sum(membar::acquire);
  // expect: PTX has no multimem minimum or maximum for this type: only sums
  REFUSED(a_float_has_no_multimem_minimum, real.min(1, membar::relaxed));
  number.min(1, membar::relaxed);
  // expect: PTX has no multimem bitwise operations for this type: use an
  REFUSED(halves_have_no_multimem_bits, *halves = eight.load_and(membar::relaxed));
  *halves = eight.load_max(membar::relaxed);
  // expect: a multimem address supports 32-bit and 64-bit integers, float,
  REFUSED(a_multimem_address_has_no_short, static_cast<void>(multimem_ref<short, thread_scope::system>(nullptr)));
  // expect: no instance of constructor
  REFUSED(a_multimem_address_is_of_its_type, static_cast<void>(multimem_ref<float4, thread_scope::system>(f)));
  static_cast<void>(multimem_ref<float4, thread_scope::system>(quad));
}
