// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "refused.hpp"

#include <membar/atomic.cuh>
#include <membar/cache_hint.cuh>

#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include <cuda/atomic>

using namespace membar;

__global__ void orders(int* object, int* result) {
  const atomic_ref<int, thread_scope::device> n(*object);
  int expected = 0;
  // expect: a load cannot release, because it writes nothing: use relaxed,
  REFUSED(a_load_releases_nothing, *result = n.load(release));
  *result = n.load(acquire);
  // expect: a load cannot release, because it writes nothing: use relaxed,
  REFUSED(a_load_is_not_acq_rel, *result = n.load(acq_rel));
  *result = n.load(seq_cst);
  // expect: a store cannot acquire, because it reads nothing: use relaxed,
  REFUSED(a_store_acquires_nothing, n.store(1, acquire));
  n.store(1, release);
  // expect: a store cannot acquire, because it reads nothing: use relaxed,
  REFUSED(a_store_is_not_acq_rel, n.store(1, acq_rel));
  n.store(1, seq_cst);
  // expect: the failure order of compare_exchange must be relaxed, acquire
  REFUSED(a_failed_compare_exchange_releases_nothing, n.compare_exchange(expected, 1, acq_rel, release));
  n.compare_exchange(expected, 1, acq_rel, acquire);
  // expect: membar: an atomic operation needs an order
  REFUSED(an_order_is_always_given, n.fetch_add(1));
  n.fetch_add(1, relaxed);
  // expect: the order must be one of membar's tags: relaxed, acquire,
  REFUSED(an_order_is_a_tag, n.fetch_add(1, memory_order::relaxed));
  n.fetch_add(1, relaxed_t{});
  // expect: the order must be one of membar's tags: relaxed, acquire,
  REFUSED(an_order_of_another_library_is_not_accepted, n.fetch_add(1, cuda::memory_order_relaxed));
  n.fetch_add(1, relaxed);
}

__global__ void owning_orders(atomic<int, thread_scope::device>* n, int* result) {
  // expect: a load cannot release, because it writes nothing: use relaxed,
  REFUSED(a_load_of_an_owning_atomic_releases_nothing, *result = n->load(release));
  *result = n->load(acquire);
  // expect: a store cannot acquire, because it reads nothing: use relaxed,
  REFUSED(a_store_to_an_owning_atomic_acquires_nothing, n->store(1, acquire));
  n->store(1, release);
  // expect: deleted function
  REFUSED(an_owning_atomic_is_not_copied, auto refused_copy = *n);
  auto copy = n->ref();
  copy.store(1, relaxed);
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
  // expect: an atomic object must be trivially copyable, not volatile, and
  REFUSED(an_atomic_has_a_size_of_the_instruction_set,
          atomic_ref<three_bytes, thread_scope::device>(*static_cast<three_bytes*>(object)).store({}, relaxed));
  atomic_ref<short, thread_scope::device>(*static_cast<short*>(object)).store({}, relaxed);
  // expect: an atomic object must be trivially copyable, not volatile, and
  REFUSED(an_atomic_is_no_larger_than_16_bytes,
          atomic_ref<twenty_bytes, thread_scope::device>(*static_cast<twenty_bytes*>(object)).store({}, relaxed));
  atomic_ref<plain, thread_scope::device>(*static_cast<plain*>(object)).store({}, relaxed);
  // expect: an atomic object must be trivially copyable, not volatile, and 1, 2,
  REFUSED(an_atomic_is_trivially_copyable,
          atomic_ref<with_destructor, thread_scope::device>(*static_cast<with_destructor*>(object)).store({}, relaxed));
  atomic_ref<plain, thread_scope::device>(*static_cast<plain*>(object)).store({}, relaxed);
  // expect: an atomic object must be trivially copyable, not volatile, and 1, 2, 4, 8 or 16 bytes long
  REFUSED(no_volatile_object_is_atomic,
          static_cast<void>(atomic_ref<volatile int, thread_scope::device>(*static_cast<volatile int*>(object))));
  static_cast<void>(atomic_ref<const int, thread_scope::device>(*static_cast<const int*>(object)));
  // expect: an atomic object must be trivially copyable, neither const nor volatile, and 1, 2, 4, 8 or 16
  REFUSED(no_const_object_is_an_owning_atomic,
          static_cast<void>(static_cast<atomic<const int, thread_scope::device>*>(object)->load(relaxed)));
  static_cast<void>(static_cast<const atomic<int, thread_scope::device>*>(object)->load(relaxed));
  // expect: an atomic object must be trivially copyable, neither const nor
  REFUSED(no_three_bytes_are_an_owning_atomic,
          static_cast<void>(static_cast<atomic<three_bytes, thread_scope::device>*>(object)->load(relaxed)));
  static_cast<void>(static_cast<atomic<bool, thread_scope::device>*>(object)->load(relaxed));
}

__global__ void operations(void* object) {
  const atomic_ref<int, thread_scope::device> n(*static_cast<int*>(object));
  const atomic_ref<float, thread_scope::device> f(*static_cast<float*>(object));
  const atomic_ref<bool, thread_scope::device> b(*static_cast<bool*>(object));
  [[maybe_unused]] const atomic_ref<plain, thread_scope::device> s(*static_cast<plain*>(object));
  const atomic_ref<int*, thread_scope::device> p(*static_cast<int**>(object));
  [[maybe_unused]] const atomic_ref<void*, thread_scope::device> v(*static_cast<void**>(object));
  [[maybe_unused]] const atomic_ref<incomplete*, thread_scope::device> i(*static_cast<incomplete**>(object));
  const atomic_ref<unsigned, thread_scope::device> u(*static_cast<unsigned*>(object));
  using floats = vec<float, 4>;
  const atomic_ref<floats, thread_scope::device> fours(*static_cast<floats*>(object));
  using doubles = vec<double, 2>;
  [[maybe_unused]] const atomic_ref<doubles, thread_scope::device> pairs(*static_cast<doubles*>(object));

  // expect: a reduction cannot acquire, because it returns nothing: use relaxed or
  REFUSED(a_reduction_acquires_nothing, n.add(1, acquire));
  n.add(1, relaxed);
  // expect: a reduction cannot acquire, because it returns nothing: use relaxed or
  REFUSED(a_reduction_is_not_acq_rel, n.max(1, acq_rel));
  n.max(1, release);
  // expect: a reduction cannot acquire, because it returns nothing: use
  REFUSED(a_reduction_is_not_sequentially_consistent, n.bit_or(1, seq_cst));
  n.fetch_or(1, seq_cst);
  // expect: a wait cannot release, because it writes nothing: use relaxed,
  REFUSED(a_wait_releases_nothing, n.wait(1, release));
  n.wait(1, acquire);
  // expect: the order must be one of membar's tags: relaxed, acquire,
  REFUSED(an_update_has_an_order, n.fetch_update([](int x) { return x; }, 0));
  n.fetch_update([](int x) { return x; }, relaxed);
  // expect: addition supports integers, float, double, half, bfloat16, their packed
  REFUSED(no_structure_is_added, s.fetch_add(plain{1}, relaxed));
  n.fetch_add(1, relaxed);
  // expect: addition supports integers, float, double, half, bfloat16, their packed pairs, pointers
  REFUSED(no_bool_is_added, b.add(true, relaxed));
  b.store(true, relaxed);
  // expect: addition supports integers, float, double, half, bfloat16, their packed
  REFUSED(no_void_pointer_moves, v.fetch_add(1, relaxed));
  p.fetch_add(1, relaxed);
  // expect: incomplete type
  REFUSED(no_pointer_to_an_incomplete_object_moves, i.fetch_add(1, relaxed));
  p.add(1, relaxed);
  // expect: addition supports integers, float, double, half, bfloat16, their
  REFUSED(no_vector_of_doubles_is_added, pairs.add(doubles{}, relaxed));
  fours.add(floats{}, relaxed);
  // expect: minimum and maximum support integers, float, double, half,
  REFUSED(no_vector_of_floats_has_a_maximum, fours.fetch_max(floats{}, relaxed));
  f.fetch_max(1, relaxed);
  // expect: minimum and maximum support integers, float, double, half,
  REFUSED(no_structure_has_a_minimum, s.min(plain{1}, relaxed));
  f.min(1, relaxed);
  // expect: minimum and maximum support integers, float, double, half,
  REFUSED(no_pointer_has_a_maximum, p.fetch_max(nullptr, relaxed));
  n.fetch_max(1, relaxed);
  // expect: bitwise operations support only integers: use fetch_update for
  REFUSED(no_float_has_bits, f.fetch_xor(1, relaxed));
  n.fetch_xor(1, relaxed);
  // expect: bitwise operations support only integers: use fetch_update for
  REFUSED(no_bool_has_bits, b.bit_or(true, relaxed));
  n.bit_or(1, relaxed);
  // expect: wrapping increments and decrements require an unsigned integer
  REFUSED(no_signed_integer_wraps_around, n.fetch_inc(1, relaxed));
  u.fetch_inc(1, relaxed);
  // expect: wrapping increments and decrements require an unsigned integer
  REFUSED(no_float_wraps_around, f.dec(1, relaxed));
  u.dec(1, relaxed);
}

__global__ void constant_objects(const int* object, int* other) {
  const atomic_ref<const int, thread_scope::device> n(*object);
  const atomic_ref<int, thread_scope::device> m(*other);
  int expected = n.load(relaxed);
  // expect: a reference to const can only load: use a reference to a
  REFUSED(a_reference_to_const_stores_nothing, n.store(1, relaxed));
  m.store(1, relaxed);
  // expect: a reference to const can only load: use a reference to a
  REFUSED(a_reference_to_const_exchanges_nothing, n.exchange(1, relaxed));
  m.exchange(1, relaxed);
  // expect: a reference to const can only load: use a reference to a
  REFUSED(a_reference_to_const_compares_and_exchanges_nothing, n.compare_exchange_weak(expected, 1, relaxed));
  m.compare_exchange_weak(expected, 1, relaxed);
  // expect: a reference to const can only load: use a reference to a
  REFUSED(a_reference_to_const_reduces_nothing, n.bit_or(1, relaxed));
  m.bit_or(1, relaxed);
  // expect: a reference to const can only load: use a reference to a
  REFUSED(a_reference_to_const_updates_nothing, n.fetch_update([](int x) { return x; }, relaxed));
  m.fetch_update([](int x) { return x; }, relaxed);
  // expect: no suitable user-defined conversion
  REFUSED(a_reference_to_const_becomes_no_other, const atomic_ref<int, thread_scope::device> refused_reference = n);
  const atomic_ref<const int, thread_scope::device> reference = m;
  n.wait(reference.load(acquire), acquire);
}

__global__ void single_orders(int* object) {
  const atomic_ref<int, thread_scope::device> n(*object);
  int expected = 0;
  // expect: an atomic operation needs an order: pass relaxed, acquire, release, acq_rel or
  REFUSED(a_compare_exchange_is_given_an_order, n.compare_exchange_strong(expected, 1));
  n.compare_exchange_strong(expected, 1, release);
  // expect: the failure order of compare_exchange must be relaxed, acquire
  REFUSED(a_failed_weak_compare_exchange_releases_nothing, n.compare_exchange_weak(expected, 1, relaxed, release));
  n.compare_exchange_weak(expected, 1, relaxed, acquire);
}

__global__ void numbers_and_policies(void* object) {
  const atomic_ref<int, thread_scope::device> n(*static_cast<int*>(object));
  const atomic_ref<float, thread_scope::device> f(*static_cast<float*>(object));
  const atomic_ref<unsigned char, thread_scope::device> b(*static_cast<unsigned char*>(object));
  const cache_policy<l2_priority::evict_last> hot(1.0F);
  // expect: fetch_fminimum_num and fetch_fmaximum_num support only float and
  REFUSED(an_integer_is_never_nan, n.fetch_fmaximum_num(1, relaxed));
  f.fetch_fmaximum_num(1, relaxed);
  // expect: only an L2 policy can follow the order of an atomic operation:
  REFUSED(a_policy_follows_the_order, n.fetch_add(1, relaxed, l2::evict_last));
  n.fetch_add(1, relaxed, hot);
  // expect: only an L2 policy can follow the order of an atomic operation:
  REFUSED(a_policy_follows_the_order_of_a_reduction, n.max(1, relaxed, relaxed));
  n.max(1, relaxed, hot);
  // expect: an L2 policy applies to a single instruction, but this operation compiles to a
  REFUSED(a_loop_on_a_byte_takes_no_policy, b.fetch_add(1, relaxed, hot));
  b.fetch_add(1, relaxed);
  // expect: an L2 policy applies to a single instruction, but this operation
  REFUSED(a_reduction_of_a_byte_takes_no_policy, b.add(1, relaxed, hot));
  b.add(1, relaxed);
  // expect: an L2 policy applies to a single instruction, but this
  REFUSED(an_update_takes_no_policy, n.fetch_update([](int x) { return x; }, relaxed, hot));
  n.fetch_update([](int x) { return x; }, relaxed);
  // expect: an L2 policy applies to a single instruction, but this
  REFUSED(a_minimum_of_numbers_takes_no_policy, f.fetch_fminimum_num(1, relaxed, hot));
  f.fetch_min(1, relaxed, hot);
}

__global__ void objects(int* object, const int* constant, volatile int* moving, atomic<int, thread_scope::device>* owned) {
  const atomic_ref<int, thread_scope::device> n(*object);
  // expect: an atomic_ref takes the object, not its address: write *pointer
  REFUSED(a_pointer_is_not_the_object, const atomic_ref<int, thread_scope::device> refused_pointer(object));
  n.store(1, relaxed);
  // expect: the object is const: use atomic_ref<const T, Scope>, which can only load and wait
  REFUSED(a_const_object_is_referred_to_as_const, const atomic_ref<int, thread_scope::device> refused_const(*constant));
  static_cast<void>(atomic_ref<const int, thread_scope::device>(*constant).load(relaxed));
  // expect: an atomic_ref must refer to a non-volatile variable, not to a
  REFUSED(a_volatile_object_is_not_referred_to, const atomic_ref<int, thread_scope::device> refused_volatile(*moving));
  n.store(1, release);
  // expect: an atomic_ref<T, Scope> must refer to an object of type T: use
  REFUSED(an_object_has_the_type_of_its_reference, float other = 1;
          const atomic_ref<int, thread_scope::device> refused_type(other));
  // expect: the scope, which specifies the participating threads, is missing: pass
  REFUSED(a_reference_has_a_scope, const atomic_ref<int> refused_scope_of_reference(*object));
  n.store(1, relaxed);
  // expect: the scope, which specifies the participating threads, is missing: pass
  REFUSED(a_reference_whose_type_is_deduced_has_a_scope, atomic_ref refused_deduction(*object);
          refused_deduction.add(1, relaxed));
  n.add(1, relaxed);
  // expect: the scope, which specifies the participating threads, is missing: pass
  REFUSED(an_owning_atomic_has_a_scope, atomic<int> refused_scope; refused_scope.store(1, relaxed));
  owned->store(1, relaxed);
  // expect: an operator cannot take an order: use a named function, such as add(1, order), which returns
  REFUSED(an_increment_names_no_order, ++n);
  n.add(1, relaxed);
  // expect: an operator cannot take an order: use a named function, such as add(1, order), which
  REFUSED(a_postfix_increment_names_no_order, (*owned)++);
  owned->fetch_add(1, relaxed);
  // expect: an operator cannot take an order: use a named function, such as add(1, order), which
  REFUSED(a_compound_assignment_names_no_order, n |= 4);
  n.bit_or(4, relaxed);
  // expect: cannot be referenced -- it is a deleted function
  REFUSED(a_reference_is_not_assigned, atomic_ref<int, thread_scope::device> other_reference(*object); other_reference = n);
  const atomic_ref<int, thread_scope::device> copy = n;
  copy.store(1, relaxed);
}

// A value that the object's type may be unable to represent.
enum small_set { first = 1, last = 300 };
enum large_set : long long { far = 1LL << 40 };

__global__ void wide_values(unsigned* object, long long wide, atomic<unsigned, thread_scope::device>* owned, double real) {
  const atomic_ref<unsigned, thread_scope::device> n(*object);
  // expect: the object cannot hold every value of this argument's type, and the argument is not a constant expression: cast it to the object's type
  REFUSED(a_variable_that_is_wider_is_not_added, n.add(wide, relaxed));
  n.add(static_cast<unsigned>(wide), relaxed);
  // expect: the object cannot hold every value of this argument's type, and the argument is not a constant expression: cast it to the object's
  REFUSED(a_variable_that_is_wider_is_not_stored, owned->store(wide, relaxed));
  owned->store(7ULL, relaxed);
  // expect: the object cannot hold every value of this argument's type, and the argument is not a constant expression: cast it to the
  REFUSED(a_fraction_is_not_cut_off, n.fetch_max(real, relaxed));
  n.fetch_max(4.0, relaxed);
  // expect: cast_this_value_unless_it_is_a_constant_that_the_object_can_hold
  REFUSED(a_constant_fits_the_object, n.exchange(1LL << 32, relaxed));
  n.exchange(1LL << 31, relaxed);
  // expect: cast_this_value_unless_it_is_a_constant_that_the_object_can_hold
  REFUSED(a_wider_result_is_not_cut, n.fetch_add(wide + 1, relaxed));
  n.fetch_add(static_cast<unsigned>(wide + 1), relaxed);
}
__global__ void wide_enumerations(unsigned char* object, unsigned* other, small_set member, large_set wide) {
  const atomic_ref<unsigned char, thread_scope::device> byte(*object);
  const atomic_ref<unsigned, thread_scope::device> n(*other);
  // expect: the object cannot hold every value of this argument's type, and the argument is not a
  REFUSED(a_variable_of_a_wider_enumeration_is_not_cut, byte.store(member, relaxed));
  n.store(member, relaxed);
  // expect: the object cannot hold every value of this argument's type, and the argument is not
  REFUSED(a_variable_of_an_enumeration_of_64_bits_is_not_cut, n.add(wide, relaxed));
  n.add(static_cast<unsigned>(wide), relaxed);
  // expect: cast_this_value_unless_it_is_a_constant_that_the_object_can_hold
  REFUSED(an_enumerator_fits_the_object, byte.store(last, relaxed));
  byte.store(first, relaxed);
  // expect: cast_this_value_unless_it_is_a_constant_that_the_object_can_hold
  REFUSED(a_far_enumerator_fits_the_object, n.exchange(far, relaxed));
  byte.exchange(7, relaxed);
}
__global__ void wide_extended_types(unsigned* object, __int128 wide, __half real, __nv_bfloat16 short_real) {
  const atomic_ref<unsigned, thread_scope::device> n(*object);
  // expect: the object cannot hold every value of this argument's type, and the argument is
  REFUSED(a_variable_of_128_bits_is_not_cut, n.store(wide, relaxed));
  n.store(static_cast<unsigned>(wide), relaxed);
  // expect: the object cannot hold every value of this argument's type, and the argument
  REFUSED(a_half_is_not_cut, n.add(real, relaxed));
  n.add(static_cast<unsigned>(real), relaxed);
  // expect: the object cannot hold every value of this argument's type, and the
  REFUSED(a_bfloat16_is_not_cut, n.add(short_real, relaxed));
  n.add(static_cast<unsigned>(short_real), relaxed);
}

__global__ void conversions(int* object) {
  // expect: no suitable user-defined conversion
  REFUSED(cluster_scope_has_no_cuda_atomic_ref, const atomic_ref<int, thread_scope::cluster> cluster(*object);
          const cuda::atomic_ref<int, cuda::thread_scope_system> refused = cluster);
  const atomic_ref<int, thread_scope::system> n(*object);
  const cuda::atomic_ref<int, cuda::thread_scope_system> same = n;
  same.store(1, cuda::memory_order_relaxed);

  // expect: no suitable user-defined conversion
  REFUSED(a_scope_is_kept_by_conversion, const atomic_ref<int, thread_scope::device> device(*object);
          const cuda::atomic_ref<int, cuda::thread_scope_block> refused_scope = device);
  const atomic_ref<int, thread_scope::block> m(*object);
  const cuda::atomic_ref<int, cuda::thread_scope_block> same_scope = m;
  same_scope.store(1, cuda::memory_order_relaxed);

  // expect: no suitable constructor
  REFUSED(an_object_becomes_atomic_explicitly, const atomic_ref<int, thread_scope::device> refused_implicit = *object);
  const atomic_ref<int, thread_scope::device> implicit(*object);
  implicit.store(1, relaxed);
}
