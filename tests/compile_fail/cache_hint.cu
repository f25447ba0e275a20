// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "refused.hpp"

#include <membar/cache_control.cuh>
#include <membar/cache_hint.cuh>
#include <membar/interop/annotated_ptr.cuh>

using namespace membar;

__global__ void policies(unsigned long long* out) {
  // expect: needs_a_constant_above_0_and_at_most_1_or_hit_fraction_at_run_time
  REFUSED(a_fraction_is_at_most_1, *out = cache_policy<l2::evict_last>(1.5f).bits());
  *out = cache_policy<l2::evict_last>(1.0f).bits();
  // expect: needs_a_constant_above_0_and_at_most_1_or_hit_fraction_at_run_time
  REFUSED(a_fraction_is_above_0, *out = cache_policy<l2::evict_last>(0.0).bits());
  *out = cache_policy<l2::evict_last>(0.5).bits();
  // expect: needs_a_constant_above_0_and_at_most_1_or_hit_fraction_at_run_time
  REFUSED(a_fraction_is_a_number, *out = cache_policy<l2::evict_last>(__builtin_nanf("")).bits());
  *out = cache_policy<l2::evict_last>(1).bits();
  // expect: needs_a_constant_above_0_and_at_most_1_or_hit_fraction_at_run_time
  REFUSED(a_fraction_is_a_constant, *out = cache_policy<l2::evict_last>(static_cast<float>(*out)).bits());
  *out = cache_policy<l2::evict_last>(hit_fraction::at_run_time(static_cast<float>(*out))).bits();
  // expect: needs_a_constant_above_0_and_at_most_1_or_hit_fraction_at_run_time
  REFUSED(a_fraction_of_a_named_policy_is_at_most_1, cache_policy<l2::evict_last> refused_hot(1.5f); *out = refused_hot.bits());
  cache_policy<l2::evict_last> hot(0.5f);
  *out = hot.bits();
  // expect: membar: the secondary priority of a cache policy must be
  REFUSED(evict_normal_is_no_secondary_priority, *out = cache_policy<l2::evict_last, l2::evict_normal>(0.5).bits());
  *out = cache_policy<l2::evict_last, l2::evict_first>(0.5).bits();
  // expect: membar: the secondary priority of a cache policy must be
  REFUSED(evict_last_is_no_secondary_priority_of_a_range,
          *out = cache_policy_range<l2::evict_first, l2::evict_last>(out, 64, 128).bits());
  *out = cache_policy_range<l2::evict_first, l2::evict_unchanged>(out, 64, 128).bits();
}

__global__ void control(int* p, const int* q) {
  // expect: membar: the priority of a prefetch into L2 must be evict_last or
  REFUSED(a_prefetch_is_not_evict_first, prefetch_l2(p, l2::evict_first));
  prefetch_l2(p, l2::evict_last);
  // expect: membar: the priority of apply_priority must be evict_normal
  REFUSED(apply_priority_is_evict_normal, apply_priority(p, l2::evict_last));
  apply_priority(p, l2::evict_normal);
  // expect: membar: apply_priority supports only 128 bytes
  REFUSED(apply_priority_acts_on_128_bytes, apply_priority<64>(p, l2::evict_normal));
  apply_priority<128>(p, l2::evict_normal);
  // expect: membar: discard_l2 supports only 128 bytes
  REFUSED(discard_acts_on_128_bytes, discard_l2<256>(p));
  discard_l2<128>(p);
  // expect: membar: discard_l2 destroys the data
  REFUSED(discard_destroys_nothing_const, discard_l2(q));
  discard_l2(p);
  // expect: membar: the size of a bulk prefetch must be a multiple of 16
  REFUSED(a_bulk_prefetch_is_a_multiple_of_16, bulk_prefetch_l2<100>(p));
  bulk_prefetch_l2<112>(p);
}

__global__ void interop(const int* p, int* out) {
  const cuda::annotated_ptr<const int, cuda::access_property::persisting> hot(p);
  // expect: membar: an access can have at most one order and at most one hint
  REFUSED(an_annotated_pointer_has_its_policy, *out = load_weak(hot, cache_policy<l2::evict_first>(1.0f)));
  *out = load_weak(hot, l1::no_allocate);
}
