// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <membar/cache_control.cuh>
#include <membar/cache_hint.cuh>
#include <membar/interop/annotated_ptr.cuh>

using namespace membar;

__global__ void policies(unsigned long long* out) {
#ifdef RULE_a_fraction_is_at_most_1  // expect: above_0_and_at_most_1
  *out = cache_policy<l2::evict_last>(1.5f).bits();
#else
  *out = cache_policy<l2::evict_last>(1.0f).bits();
#endif
#ifdef RULE_a_fraction_is_above_0  // expect: above_0_and_at_most_1
  *out = cache_policy<l2::evict_last>(0.0).bits();
#else
  *out = cache_policy<l2::evict_last>(0.5).bits();
#endif
#ifdef RULE_a_fraction_is_a_number  // expect: above_0_and_at_most_1
  *out = cache_policy<l2::evict_last>(__builtin_nanf("")).bits();
#else
  *out = cache_policy<l2::evict_last>(1).bits();
#endif
#ifdef RULE_a_fraction_is_a_constant  // expect: above_0_and_at_most_1
  *out = cache_policy<l2::evict_last>(static_cast<float>(*out)).bits();
#else
  *out = cache_policy<l2::evict_last>(hit_fraction::at_run_time(static_cast<float>(*out))).bits();
#endif
#ifdef RULE_evict_normal_is_no_secondary_priority  // expect: membar: the secondary priority of a cache policy is
  *out = cache_policy<l2::evict_last, l2::evict_normal>(0.5).bits();
#else
  *out = cache_policy<l2::evict_last, l2::evict_first>(0.5).bits();
#endif
#ifdef RULE_evict_last_is_no_secondary_priority_of_a_range  // expect: membar: the secondary priority of a cache policy is
  *out = cache_policy_range<l2::evict_first, l2::evict_last>(out, 64, 128).bits();
#else
  *out = cache_policy_range<l2::evict_first, l2::evict_unchanged>(out, 64, 128).bits();
#endif
}

__global__ void control(int* p, const int* q) {
#ifdef RULE_a_prefetch_is_not_evict_first  // expect: membar: a prefetch into L2 gives a line the priority evict_last or
  prefetch_l2(p, l2::evict_first);
#else
  prefetch_l2(p, l2::evict_last);
#endif
#ifdef RULE_apply_priority_is_evict_normal  // expect: membar: apply_priority gives the priority evict_normal and no other
  apply_priority(p, l2::evict_last);
#else
  apply_priority(p, l2::evict_normal);
#endif
#ifdef RULE_apply_priority_acts_on_128_bytes  // expect: membar: apply_priority acts on 128 bytes
  apply_priority<64>(p, l2::evict_normal);
#else
  apply_priority<128>(p, l2::evict_normal);
#endif
#ifdef RULE_discard_acts_on_128_bytes  // expect: membar: discard_l2 acts on 128 bytes
  discard_l2<256>(p);
#else
  discard_l2<128>(p);
#endif
#ifdef RULE_discard_destroys_nothing_const  // expect: membar: discard_l2 destroys what it is given
  discard_l2(q);
#else
  discard_l2(p);
#endif
#ifdef RULE_a_bulk_prefetch_is_a_multiple_of_16  // expect: membar: a bulk prefetch moves a multiple of 16 bytes
  bulk_prefetch_l2<100>(p);
#else
  bulk_prefetch_l2<112>(p);
#endif
}

__global__ void interop(const int* p, int* out) {
  const cuda::annotated_ptr<const int, cuda::access_property::persisting> hot(p);
#ifdef RULE_an_annotated_pointer_has_its_policy  // expect: membar: an access takes each kind of hint, and an order, at most
  *out = load_weak(hot, cache_policy<l2::evict_first>(1.0f));
#else
  *out = load_weak(hot, l1::no_allocate);
#endif
}
