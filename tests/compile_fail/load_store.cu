// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "refused.hpp"

#include <membar/load_store.cuh>
#include <membar/read_only.cuh>

using namespace membar;

struct unaligned {
  float x, y, z, w;
};
struct three {
  float x, y, z;
};
struct alignas(32) eight {
  float values[8];
};
struct counted {
  __device__ counted(const counted&) {}
  int value;
};

__global__ void orders(int* p, int* out, volatile int* shared_flag, const int* constant) {
  // expect: membar: a load cannot release, because it writes nothing: use relaxed,
  REFUSED(a_load_releases_nothing, *out = load<thread_scope::device>(p, release));
  *out = load<thread_scope::device>(p, acquire);
  // expect: membar: a store cannot acquire, because it reads nothing: use relaxed,
  REFUSED(a_store_acquires_nothing, store<thread_scope::device>(p, 1, acq_rel));
  store<thread_scope::device>(p, 1, release);
  // expect: membar: a load with a scope needs an order (relaxed, acquire or
  REFUSED(a_load_with_a_scope_has_an_order, *out = load<thread_scope::device>(p, l1::no_allocate));
  *out = load<thread_scope::device>(p, relaxed, l1::no_allocate);
  // expect: membar: a store with a scope needs an order (relaxed, release
  REFUSED(a_store_with_a_scope_has_an_order, store<thread_scope::device>(p, 1));
  store<thread_scope::device>(p, 1, relaxed);
  // expect: the scope, which specifies the participating threads, is missing: pass
  REFUSED(an_ordered_load_has_a_scope, *out = load(p, acquire));
  *out = load<thread_scope::system>(p, acquire);
  // expect: the scope, which specifies the participating threads, is missing: pass
  REFUSED(an_ordered_store_has_a_scope, store(p, 1, release));
  store<thread_scope::system>(p, 1, release);
  // expect: membar: a weak access cannot have an order: use load or store with
  REFUSED(a_weak_load_has_no_order, *out = load_weak(p, relaxed));
  *out = load_weak(p);
  // expect: membar: a weak access cannot have an order: use load or store with
  REFUSED(a_weak_store_has_no_order, store_weak(p, 1, release));
  store_weak(p, 1);
  // expect: membar: an access can have at most one order and at most one hint of
  REFUSED(an_order_is_given_once, *out = load<thread_scope::device>(p, relaxed, acquire));
  *out = load<thread_scope::device>(p, acquire);
  // expect: membar: a volatile access cannot have an order or a hint: pass
  REFUSED(volatile_takes_no_order, *out = load<thread_scope::device>(shared_flag, relaxed));
  *out = load<thread_scope::device>(const_cast<const int*>(shared_flag), relaxed);
  // expect: membar: a volatile access cannot have an order or a hint: pass
  REFUSED(volatile_takes_no_hint, store_weak(shared_flag, 1, l1::evict_first));
  store_weak(const_cast<int*>(shared_flag), 1, l1::evict_first);
  // expect: membar: a store needs a pointer to a non-const object
  REFUSED(a_store_needs_a_target_that_is_not_const, store_weak(constant, 1));
  store_weak(const_cast<int*>(constant), 1);
  // expect: membar: an mmio access must have system scope
  REFUSED(mmio_has_system_scope, *out = load<thread_scope::device>(p, mmio));
  *out = load<thread_scope::system>(p, mmio);
  // expect: membar: an mmio access cannot have a cache hint, because it must
  REFUSED(mmio_takes_no_hint, store<thread_scope::system>(p, 1, mmio, l1::no_allocate));
  store<thread_scope::system>(p, 1, mmio);
  // expect: membar: a read-only load cannot have an order, because its data
  REFUSED(a_read_only_load_has_no_order, *out = load_read_only(p, acquire));
  *out = load_read_only(p);
}

// A value that the object's type may be unable to represent.
__global__ void wide_values(int* p, unsigned char* byte, long long wide, float real) {
  // expect: the object cannot hold every value of this argument's type, and the argument is not a constant expression: cast it to the object's type
  REFUSED(a_variable_that_is_wider_is_not_stored, store<thread_scope::device>(p, wide, release));
  store<thread_scope::device>(p, static_cast<int>(wide), release);
  // expect: the object cannot hold every value of this argument's type, and the argument is not a constant expression: cast it to the object's
  REFUSED(a_fraction_is_not_cut_off, store<thread_scope::device>(p, real, release));
  store<thread_scope::device>(p, 4.0, release);
  // expect: the object cannot hold every value of this argument's type, and the argument is not a constant expression: cast it to the
  REFUSED(a_weak_store_does_not_truncate, store_weak(byte, *p));
  store_weak(byte, 7, l1::evict_first);
}

__global__ void hints(int* p, int* out) {
  const cache_policy<l2::evict_last> policy(1.0f);
  // expect: membar: an access can have at most one order and at most one hint of
  REFUSED(a_priority_is_given_once, *out = load_weak(p, l1::evict_first, l1::evict_last));
  *out = load_weak(p, l1::evict_first);
  // expect: membar: an access can have at most one order and at most one hint of
  REFUSED(a_policy_is_given_once, *out = load_weak(p, policy, policy));
  *out = load_weak(p, policy);
  // expect: membar: only these can follow the pointer and the value: an
  REFUSED(a_hint_is_one_of_membars, *out = load_weak(p, 128));
  *out = load_weak(p, prefetch_128B);
  // expect: membar: only weak accesses can have a cache operator: for an
  REFUSED(a_cache_operator_goes_with_no_order, *out = load<thread_scope::device>(p, relaxed, cache_op::cg));
  *out = load<thread_scope::device>(p, relaxed, l1::no_allocate);
  // expect: membar: only weak accesses can have a cache operator: for an
  REFUSED(a_cache_operator_goes_with_no_order_of_a_store, store<thread_scope::device>(p, 1, cache_op::cs, release));
  store<thread_scope::device>(p, 1, l1::evict_first, release);
  // expect: membar: a cache operator and an L1 eviction priority cannot be
  REFUSED(a_cache_operator_goes_with_no_l1_priority, *out = load_weak(p, cache_op::cs, l1::evict_first));
  *out = load_weak(p, cache_op::cs, policy, prefetch_64B);
  // expect: membar: the cache operator of a load must be ca, cg, cs, lu or
  REFUSED(a_load_takes_operators_of_loads, *out = load_weak(p, cache_op::wt));
  *out = load_weak(p, cache_op::cv);
  // expect: membar: the cache operator of a store must be wb, cg, cs or wt
  REFUSED(a_store_takes_operators_of_stores, store_weak(p, 1, cache_op::ca));
  store_weak(p, 1, cache_op::wb);
  // expect: membar: the cache operator of a read-only load must be ca, cg
  REFUSED(a_read_only_load_takes_three_operators, *out = load_read_only(p, cache_op::lu));
  *out = load_read_only(p, cache_op::cg);
  // expect: membar: a store cannot have an L2 prefetch size
  REFUSED(a_store_prefetches_nothing, store_weak(p, 1, prefetch_64B));
  store_weak(p, 1, policy);
  // expect: membar: only 32-byte accesses can name an L2 eviction priority
  REFUSED(a_priority_for_l2_at_the_access_needs_32_bytes, *out = load_weak(p, l2::evict_last));
  *out = load_weak(p, policy);
  // expect: membar: an L2 prefetch size must be 64, 128 or 256 bytes
  REFUSED(a_prefetch_size_is_64_128_or_256, *out = load_weak(p, prefetch_size<32>()));
  *out = load_weak(p, prefetch_size<64>());
}

__global__ void types(const unaligned* u, const float4* f, const three* t, const eight* e, const counted* c, int* out) {
  // expect: membar: a type that one instruction accesses must be aligned to
  REFUSED(a_type_is_aligned_to_its_size, *out = static_cast<int>(load_weak(u).x));
  *out = static_cast<int>(load_weak(f).x);
  // expect: membar: one instruction can access only 1, 2, 4, 8, 16 or 32
  REFUSED(a_type_has_the_size_of_an_instruction, *out = static_cast<int>(load_weak(t).x));
  *out = static_cast<int>(load_read_only(t).x);
  // expect: membar: an ordered access can be at most 16 bytes wide: a wider
  REFUSED(an_ordered_access_has_at_most_16_bytes, *out = static_cast<int>(load<thread_scope::device>(e, relaxed).values[0]));
  *out = static_cast<int>(load<thread_scope::device>(f, relaxed).x);
  // expect: membar: a 32-byte access requires compute capability 10.0
  REFUSED(32_bytes_need_sm_100, *out = static_cast<int>(load_weak(e).values[0]));
  *out = static_cast<int>(load_weak(f).x);
  // expect: membar: the type of a load or store must be trivially copyable
  REFUSED(a_type_is_trivially_copyable, *out = load_weak(c).value);
  *out = load_weak(&c->value);
  // expect: membar: the type of a read-only load must be trivially copyable
  REFUSED(a_read_only_type_is_trivially_copyable, *out = load_read_only(c).value);
  *out = load_read_only(&c->value);
}
