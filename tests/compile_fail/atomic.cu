// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "refused.hpp"

#include <membar/atomic.cuh>

using membar::thread_scope;

__global__ void orders(int* object, int* result) {
  const membar::atomic_ref<int, thread_scope::device> n(*object);
  int expected = 0;
  // expect: a load takes relaxed, acquire or seq_cst: it has nothing to release
  REFUSED(a_load_releases_nothing, *result = n.load(membar::release));
  *result = n.load(membar::acquire);
  // expect: a load takes relaxed, acquire or seq_cst: it has nothing to release
  REFUSED(a_load_is_not_acq_rel, *result = n.load(membar::acq_rel));
  *result = n.load(membar::seq_cst);
  // expect: a store takes relaxed, release or seq_cst: it has nothing to acquire
  REFUSED(a_store_acquires_nothing, n.store(1, membar::acquire));
  n.store(1, membar::release);
  // expect: a store takes relaxed, release or seq_cst: it has nothing to acquire
  REFUSED(a_store_is_not_acq_rel, n.store(1, membar::acq_rel));
  n.store(1, membar::seq_cst);
  // expect: a compare_exchange that fails takes relaxed, acquire or
  REFUSED(a_failed_compare_exchange_releases_nothing, n.compare_exchange(expected, 1, membar::acq_rel, membar::release));
  n.compare_exchange(expected, 1, membar::acq_rel, membar::acquire);
  // expect: membar: an atomic operation is given its order
  REFUSED(an_order_is_always_given, n.fetch_add(1));
  n.fetch_add(1, membar::relaxed);
  // expect: an order is one of membar's tags
  REFUSED(an_order_is_a_tag, n.fetch_add(1, membar::memory_order::relaxed));
  n.fetch_add(1, membar::relaxed_t{});
  // expect: an order is one of membar's tags
  REFUSED(an_order_of_another_library_is_none, n.fetch_add(1, cuda::memory_order_relaxed));
  n.fetch_add(1, membar::relaxed);
}

__global__ void owning_orders(membar::atomic<int, thread_scope::device>* n, int* result) {
  // expect: a load takes relaxed, acquire or seq_cst: it has nothing to
  REFUSED(a_load_of_an_owning_atomic_releases_nothing, *result = n->load(membar::release));
  *result = n->load(membar::acquire);
  // expect: a store takes relaxed, release or seq_cst: it has nothing
  REFUSED(a_store_to_an_owning_atomic_acquires_nothing, n->store(1, membar::acquire));
  n->store(1, membar::release);
  // expect: deleted function
  REFUSED(an_owning_atomic_is_not_copied, auto refused_copy = *n);
  auto copy = n->ref();
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
  // expect: an atomic holds a trivially copyable object of 1, 2, 4, 8 or
  REFUSED(an_atomic_has_a_size_of_the_instruction_set,
          membar::atomic_ref<three_bytes, thread_scope::device>(*static_cast<three_bytes*>(object)).store({}, membar::relaxed));
  membar::atomic_ref<short, thread_scope::device>(*static_cast<short*>(object)).store({}, membar::relaxed);
  // expect: an atomic holds a trivially copyable object of 1, 2, 4, 8 or 16
  REFUSED(
      an_atomic_is_no_larger_than_16_bytes,
      membar::atomic_ref<twenty_bytes, thread_scope::device>(*static_cast<twenty_bytes*>(object)).store({}, membar::relaxed));
  membar::atomic_ref<plain, thread_scope::device>(*static_cast<plain*>(object)).store({}, membar::relaxed);
  // expect: an atomic holds a trivially copyable object of 1, 2, 4, 8 or 16 bytes
  REFUSED(an_atomic_is_trivially_copyable,
          membar::atomic_ref<with_destructor, thread_scope::device>(*static_cast<with_destructor*>(object))
              .store({}, membar::relaxed));
  membar::atomic_ref<plain, thread_scope::device>(*static_cast<plain*>(object)).store({}, membar::relaxed);
  // expect: an atomic holds a trivially copyable object of 1, 2, 4, 8 or 16 bytes
  REFUSED(no_const_object_is_atomic,
          static_cast<void>(membar::atomic_ref<const int, thread_scope::device>(*static_cast<const int*>(object))));
  static_cast<void>(membar::atomic_ref<int, thread_scope::device>(*static_cast<int*>(object)));
  // expect: an atomic holds a trivially copyable object of 1, 2, 4, 8 or 16
  REFUSED(no_three_bytes_are_an_owning_atomic,
          static_cast<void>(static_cast<membar::atomic<three_bytes, thread_scope::device>*>(object)->load(membar::relaxed)));
  static_cast<void>(static_cast<membar::atomic<bool, thread_scope::device>*>(object)->load(membar::relaxed));
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

  // expect: a reduction takes relaxed or release: it returns nothing, so there is
  REFUSED(a_reduction_acquires_nothing, n.add(1, membar::acquire));
  n.add(1, membar::relaxed);
  // expect: a reduction takes relaxed or release: it returns nothing, so there is nothing
  REFUSED(a_reduction_is_not_acq_rel, n.max(1, membar::acq_rel));
  n.max(1, membar::release);
  // expect: a reduction takes relaxed or release: it returns nothing, so
  REFUSED(a_reduction_is_not_sequentially_consistent, n.bit_or(1, membar::seq_cst));
  n.fetch_or(1, membar::seq_cst);
  // expect: a wait takes relaxed, acquire or seq_cst: it has nothing to release
  REFUSED(a_wait_releases_nothing, n.wait(1, membar::release));
  n.wait(1, membar::acquire);
  // expect: an order is one of membar's tags
  REFUSED(an_update_has_an_order, n.fetch_update([](int x) { return x; }, 0));
  n.fetch_update([](int x) { return x; }, membar::relaxed);
  // expect: addition takes integers, float, double, half, bfloat16, their packed pairs,
  REFUSED(no_structure_is_added, s.fetch_add(plain{1}, membar::relaxed));
  n.fetch_add(1, membar::relaxed);
  // expect: addition takes integers, float, double, half, bfloat16, their packed pairs, pointers to
  REFUSED(no_bool_is_added, b.add(true, membar::relaxed));
  b.store(true, membar::relaxed);
  // expect: addition takes integers, float, double, half, bfloat16, their packed pairs,
  REFUSED(no_void_pointer_moves, v.fetch_add(1, membar::relaxed));
  p.fetch_add(1, membar::relaxed);
  // expect: incomplete type
  REFUSED(no_pointer_to_an_incomplete_object_moves, i.fetch_add(1, membar::relaxed));
  p.add(1, membar::relaxed);
  // expect: addition takes integers, float, double, half, bfloat16, their packed
  REFUSED(no_vector_of_doubles_is_added, pairs.add(doubles{}, membar::relaxed));
  fours.add(floats{}, membar::relaxed);
  // expect: minimum and maximum take integers, float, double, half, bfloat16
  REFUSED(no_vector_of_floats_has_a_maximum, fours.fetch_max(floats{}, membar::relaxed));
  f.fetch_max(1, membar::relaxed);
  // expect: minimum and maximum take integers, float, double, half, bfloat16
  REFUSED(no_structure_has_a_minimum, s.min(plain{1}, membar::relaxed));
  f.min(1, membar::relaxed);
  // expect: minimum and maximum take integers, float, double, half, bfloat16
  REFUSED(no_pointer_has_a_maximum, p.fetch_max(nullptr, membar::relaxed));
  n.fetch_max(1, membar::relaxed);
  // expect: bitwise operations take integers: use fetch_update for other types
  REFUSED(no_float_has_bits, f.fetch_xor(1, membar::relaxed));
  n.fetch_xor(1, membar::relaxed);
  // expect: bitwise operations take integers: use fetch_update for other types
  REFUSED(no_bool_has_bits, b.bit_or(true, membar::relaxed));
  n.bit_or(1, membar::relaxed);
  // expect: wrapping increments and decrements take unsigned integers
  REFUSED(no_signed_integer_wraps_around, n.fetch_inc(1, membar::relaxed));
  u.fetch_inc(1, membar::relaxed);
  // expect: wrapping increments and decrements take unsigned integers
  REFUSED(no_float_wraps_around, f.dec(1, membar::relaxed));
  u.dec(1, membar::relaxed);
  static_cast<void>(b);
  static_cast<void>(s);
  static_cast<void>(v);
  static_cast<void>(i);
  static_cast<void>(pairs);
}

__global__ void conversions(int* object) {
  // expect: no suitable user-defined conversion
  REFUSED(cluster_scope_has_no_cuda_atomic_ref, const membar::atomic_ref<int, thread_scope::cluster> cluster(*object);
          const cuda::atomic_ref<int, cuda::thread_scope_system> refused = cluster);
  const membar::atomic_ref<int, thread_scope::system> n(*object);
  const cuda::atomic_ref<int, cuda::thread_scope_system> same = n;
  same.store(1, cuda::memory_order_relaxed);

  // expect: no suitable user-defined conversion
  REFUSED(a_scope_is_kept_by_conversion, const membar::atomic_ref<int, thread_scope::device> device(*object);
          const cuda::atomic_ref<int, cuda::thread_scope_block> refused_scope = device);
  const membar::atomic_ref<int, thread_scope::block> m(*object);
  const cuda::atomic_ref<int, cuda::thread_scope_block> same_scope = m;
  same_scope.store(1, cuda::memory_order_relaxed);

  // expect: no suitable constructor
  REFUSED(an_object_becomes_atomic_explicitly, const membar::atomic_ref<int, thread_scope::device> refused_implicit = *object);
  const membar::atomic_ref<int, thread_scope::device> implicit(*object);
  implicit.store(1, membar::relaxed);
}
