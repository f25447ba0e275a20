// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <membar/atomic.cuh>

using membar::thread_scope;

__global__ void orders(int* object, int* result) {
  const membar::atomic_ref<int, thread_scope::device> n(*object);
  int expected = 0;
#ifdef RULE_a_load_releases_nothing  // expect: a load takes relaxed, acquire or seq_cst: it has nothing to release
  *result = n.load(membar::release);
#else
  *result = n.load(membar::acquire);
#endif
#ifdef RULE_a_load_is_not_acq_rel  // expect: a load takes relaxed, acquire or seq_cst: it has nothing to release
  *result = n.load(membar::acq_rel);
#else
  *result = n.load(membar::seq_cst);
#endif
#ifdef RULE_a_store_acquires_nothing  // expect: a store takes relaxed, release or seq_cst: it has nothing to acquire
  n.store(1, membar::acquire);
#else
  n.store(1, membar::release);
#endif
#ifdef RULE_a_store_is_not_acq_rel  // expect: a store takes relaxed, release or seq_cst: it has nothing to acquire
  n.store(1, membar::acq_rel);
#else
  n.store(1, membar::seq_cst);
#endif
#ifdef RULE_a_failed_compare_exchange_releases_nothing  // expect: a compare_exchange that fails takes relaxed, acquire or
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
#ifdef RULE_a_load_of_an_owning_atomic_releases_nothing  // expect: a load takes relaxed, acquire or seq_cst: it has nothing to
  *result = n->load(membar::release);
#else
  *result = n->load(membar::acquire);
#endif
#ifdef RULE_a_store_to_an_owning_atomic_acquires_nothing  // expect: a store takes relaxed, release or seq_cst: it has nothing
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

struct three_bytes {
  char bytes[3];
};
struct twenty_bytes {
  int words[5];
};
struct with_destructor {
  int value;
  ~with_destructor();
};
struct plain {
  int value;
};
struct incomplete;

__global__ void values(void* object) {
#ifdef RULE_an_atomic_has_a_size_of_the_instruction_set  // expect: an atomic holds a trivially copyable object of 1, 2, 4, 8 or
  membar::atomic_ref<three_bytes, thread_scope::device>(*static_cast<three_bytes*>(object)).store({}, membar::relaxed);
#else
  membar::atomic_ref<short, thread_scope::device>(*static_cast<short*>(object)).store({}, membar::relaxed);
#endif
#ifdef RULE_an_atomic_is_no_larger_than_16_bytes  // expect: an atomic holds a trivially copyable object of 1, 2, 4, 8 or 16
  membar::atomic_ref<twenty_bytes, thread_scope::device>(*static_cast<twenty_bytes*>(object)).store({}, membar::relaxed);
#else
  membar::atomic_ref<plain, thread_scope::device>(*static_cast<plain*>(object)).store({}, membar::relaxed);
#endif
#ifdef RULE_an_atomic_is_trivially_copyable  // expect: an atomic holds a trivially copyable object of 1, 2, 4, 8 or 16 bytes
  membar::atomic_ref<with_destructor, thread_scope::device>(*static_cast<with_destructor*>(object)).store({}, membar::relaxed);
#else
  membar::atomic_ref<plain, thread_scope::device>(*static_cast<plain*>(object)).store({}, membar::relaxed);
#endif
#ifdef RULE_no_const_object_is_atomic  // expect: an atomic holds a trivially copyable object of 1, 2, 4, 8 or 16 bytes
  static_cast<void>(membar::atomic_ref<const int, thread_scope::device>(*static_cast<const int*>(object)));
#else
  static_cast<void>(membar::atomic_ref<int, thread_scope::device>(*static_cast<int*>(object)));
#endif
#ifdef RULE_no_three_bytes_are_an_owning_atomic  // expect: an atomic holds a trivially copyable object of 1, 2, 4, 8 or 16
  static_cast<void>(static_cast<membar::atomic<three_bytes, thread_scope::device>*>(object)->load(membar::relaxed));
#else
  static_cast<void>(static_cast<membar::atomic<bool, thread_scope::device>*>(object)->load(membar::relaxed));
#endif
}

__global__ void operations(void* object) {
  using membar::atomic_ref;
  const atomic_ref<int, thread_scope::device> n(*static_cast<int*>(object));
  const atomic_ref<float, thread_scope::device> f(*static_cast<float*>(object));
  const atomic_ref<bool, thread_scope::device> b(*static_cast<bool*>(object));
  const atomic_ref<plain, thread_scope::device> s(*static_cast<plain*>(object));
  const atomic_ref<int*, thread_scope::device> p(*static_cast<int**>(object));
  const atomic_ref<void*, thread_scope::device> v(*static_cast<void**>(object));
  const atomic_ref<incomplete*, thread_scope::device> i(*static_cast<incomplete**>(object));
  const atomic_ref<unsigned, thread_scope::device> u(*static_cast<unsigned*>(object));
  using floats = membar::vector<float, 4>;
  const atomic_ref<floats, thread_scope::device> fours(*static_cast<floats*>(object));
  using doubles = membar::vector<double, 2>;
  const atomic_ref<doubles, thread_scope::device> pairs(*static_cast<doubles*>(object));

#ifdef RULE_a_reduction_acquires_nothing  // expect: a reduction takes relaxed or release: it returns nothing, so there is
  n.add(1, membar::acquire);
#else
  n.add(1, membar::relaxed);
#endif
#ifdef RULE_a_reduction_is_not_acq_rel  // expect: a reduction takes relaxed or release: it returns nothing, so there is nothing
  n.max(1, membar::acq_rel);
#else
  n.max(1, membar::release);
#endif
#ifdef RULE_a_reduction_is_not_sequentially_consistent  // expect: a reduction takes relaxed or release: it returns nothing, so
  n.bit_or(1, membar::seq_cst);
#else
  n.fetch_or(1, membar::seq_cst);
#endif
#ifdef RULE_a_wait_releases_nothing  // expect: a wait takes relaxed, acquire or seq_cst: it has nothing to release
  n.wait(1, membar::release);
#else
  n.wait(1, membar::acquire);
#endif
#ifdef RULE_an_update_has_an_order  // expect: an order is one of membar's tags
  n.fetch_update([](int x) { return x; }, 0);
#else
  n.fetch_update([](int x) { return x; }, membar::relaxed);
#endif
#ifdef RULE_no_structure_is_added  // expect: addition takes integers, float, double, half, bfloat16, their packed pairs,
  s.fetch_add(plain{1}, membar::relaxed);
#else
  n.fetch_add(1, membar::relaxed);
#endif
#ifdef RULE_no_bool_is_added  // expect: addition takes integers, float, double, half, bfloat16, their packed pairs, pointers to
  b.add(true, membar::relaxed);
#else
  b.store(true, membar::relaxed);
#endif
#ifdef RULE_no_void_pointer_moves  // expect: addition takes integers, float, double, half, bfloat16, their packed pairs,
  v.fetch_add(1, membar::relaxed);
#else
  p.fetch_add(1, membar::relaxed);
#endif
#ifdef RULE_no_pointer_to_an_incomplete_object_moves  // expect: incomplete type
  i.fetch_add(1, membar::relaxed);
#else
  p.add(1, membar::relaxed);
#endif
#ifdef RULE_no_vector_of_doubles_is_added  // expect: addition takes integers, float, double, half, bfloat16, their packed
  pairs.add(doubles{}, membar::relaxed);
#else
  fours.add(floats{}, membar::relaxed);
#endif
#ifdef RULE_no_vector_of_floats_has_a_maximum  // expect: minimum and maximum take integers, float, double, half, bfloat16
  fours.fetch_max(floats{}, membar::relaxed);
#else
  f.fetch_max(1, membar::relaxed);
#endif
#ifdef RULE_no_structure_has_a_minimum  // expect: minimum and maximum take integers, float, double, half, bfloat16
  s.min(plain{1}, membar::relaxed);
#else
  f.min(1, membar::relaxed);
#endif
#ifdef RULE_no_pointer_has_a_maximum  // expect: minimum and maximum take integers, float, double, half, bfloat16
  p.fetch_max(nullptr, membar::relaxed);
#else
  n.fetch_max(1, membar::relaxed);
#endif
#ifdef RULE_no_float_has_bits  // expect: bitwise operations take integers: use fetch_update for other types
  f.fetch_xor(1, membar::relaxed);
#else
  n.fetch_xor(1, membar::relaxed);
#endif
#ifdef RULE_no_bool_has_bits  // expect: bitwise operations take integers: use fetch_update for other types
  b.bit_or(true, membar::relaxed);
#else
  n.bit_or(1, membar::relaxed);
#endif
#ifdef RULE_no_signed_integer_wraps_around  // expect: wrapping increments and decrements take unsigned integers
  n.fetch_inc(1, membar::relaxed);
#else
  u.fetch_inc(1, membar::relaxed);
#endif
#ifdef RULE_no_float_wraps_around  // expect: wrapping increments and decrements take unsigned integers
  f.dec(1, membar::relaxed);
#else
  u.dec(1, membar::relaxed);
#endif
  static_cast<void>(b);
  static_cast<void>(s);
  static_cast<void>(v);
  static_cast<void>(i);
  static_cast<void>(pairs);
}

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
