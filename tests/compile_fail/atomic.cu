// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <membar/atomic.cuh>

using membar::thread_scope;

__global__ void orders(int* object, int* result) {
  const membar::atomic_ref<int, thread_scope::device> n(*object);
  int expected = 0;
#ifdef RULE_a_load_releases_nothing  // expect: a load takes relaxed, acquire or seq_cst
  *result = n.load(membar::release);
#else
  *result = n.load(membar::acquire);
#endif

#ifdef RULE_a_load_is_not_acq_rel  // expect: a load takes relaxed, acquire or seq_cst
  *result = n.load(membar::acq_rel);
#else
  *result = n.load(membar::seq_cst);
#endif

#ifdef RULE_a_store_acquires_nothing  // expect: a store takes relaxed, release or seq_cst
  n.store(1, membar::acquire);
#else
  n.store(1, membar::release);
#endif

#ifdef RULE_a_store_is_not_acq_rel  // expect: a store takes relaxed, release or seq_cst
  n.store(1, membar::acq_rel);
#else
  n.store(1, membar::seq_cst);
#endif

#ifdef RULE_a_failed_compare_exchange_releases_nothing  // expect: a compare_exchange that fails takes relaxed, acquire or
                                                        // seq_cst
  n.compare_exchange(expected, 1, membar::acq_rel, membar::release);
#else
  n.compare_exchange(expected, 1, membar::acq_rel, membar::acquire);
#endif

#ifdef RULE_an_order_is_always_given  // expect: number of parameters of function template
  n.fetch_add(1);
#else
  n.fetch_add(1, membar::relaxed);
#endif

#ifdef RULE_an_order_is_a_tag  // expect: an order is one of membar's tags
  n.fetch_add(1, membar::memory_order::relaxed);
#else
  n.fetch_add(1, membar::relaxed_t{});
#endif

#ifdef RULE_an_order_of_another_library_is_none  // expect: an order is one of membar's tags
  n.fetch_add(1, cuda::memory_order_relaxed);
#else
  n.fetch_add(1, membar::relaxed);
#endif
}

__global__ void owning_orders(membar::atomic<int, thread_scope::device>* n, int* result) {
#ifdef RULE_a_load_of_an_owning_atomic_releases_nothing  // expect: a load takes relaxed, acquire or seq_cst
  *result = n->load(membar::release);
#else
  *result = n->load(membar::acquire);
#endif

#ifdef RULE_a_store_to_an_owning_atomic_acquires_nothing  // expect: a store takes relaxed, release or seq_cst
  n->store(1, membar::acquire);
#else
  n->store(1, membar::release);
#endif

#ifdef RULE_an_owning_atomic_is_not_copied  // expect: deleted function
  auto copy = *n;
#else
  auto copy = n->ref();
#endif
  copy.store(1, membar::relaxed);
}

#ifdef RULE_no_bool_is_atomic  // expect: an atomic holds an integer of 32 or 64 bits
template class membar::atomic_ref<bool, thread_scope::device>;
#else
template class membar::atomic_ref<int, thread_scope::device>;
#endif

#ifdef RULE_no_char_is_atomic  // expect: an atomic holds an integer of 32 or 64 bits
template class membar::atomic_ref<char, thread_scope::device>;
#else
template class membar::atomic_ref<long long, thread_scope::device>;
#endif

#ifdef RULE_no_float_is_atomic  // expect: an atomic holds an integer of 32 or 64 bits
template class membar::atomic_ref<float, thread_scope::device>;
#else
template class membar::atomic_ref<unsigned, thread_scope::device>;
#endif

#ifdef RULE_no_pointer_is_atomic  // expect: an atomic holds an integer of 32 or 64 bits
template class membar::atomic_ref<int*, thread_scope::device>;
#else
template class membar::atomic_ref<unsigned long long, thread_scope::device>;
#endif

#ifdef RULE_no_const_object_is_atomic  // expect: an atomic holds an integer of 32 or 64 bits
template class membar::atomic_ref<const int, thread_scope::device>;
#else
template class membar::atomic_ref<int, thread_scope::block>;
#endif

#ifdef RULE_no_bool_is_an_owning_atomic  // expect: an atomic holds an integer of 32 or 64 bits
template class membar::atomic<bool, thread_scope::device>;
#else
template class membar::atomic<int, thread_scope::device>;
#endif

__global__ void conversions(int* object) {
#ifdef RULE_cluster_scope_has_no_cuda_atomic_ref  // expect: no suitable user-defined conversion
  const membar::atomic_ref<int, thread_scope::cluster> n(*object);
#else
  const membar::atomic_ref<int, thread_scope::system> n(*object);
#endif
  const cuda::atomic_ref<int, cuda::thread_scope_system> same = n;
  same.store(1, cuda::memory_order_relaxed);

#ifdef RULE_a_scope_is_kept_by_conversion  // expect: no suitable user-defined conversion
  const membar::atomic_ref<int, thread_scope::device> m(*object);
#else
  const membar::atomic_ref<int, thread_scope::block> m(*object);
#endif
  const cuda::atomic_ref<int, cuda::thread_scope_block> same_scope = m;
  same_scope.store(1, cuda::memory_order_relaxed);

#ifdef RULE_an_object_becomes_atomic_explicitly  // expect: no suitable constructor
  const membar::atomic_ref<int, thread_scope::device> implicit = *object;
#else
  const membar::atomic_ref<int, thread_scope::device> implicit(*object);
#endif
  implicit.store(1, membar::relaxed);
}
