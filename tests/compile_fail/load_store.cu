// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
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
#ifdef RULE_a_load_releases_nothing  // expect: membar: a load takes relaxed, acquire or seq_cst: it has nothing to release
  *out = load<thread_scope::device>(p, release);
#else
  *out = load<thread_scope::device>(p, acquire);
#endif
#ifdef RULE_a_store_acquires_nothing  // expect: membar: a store takes relaxed, release or seq_cst: it has nothing to acquire
  store<thread_scope::device>(p, 1, acq_rel);
#else
  store<thread_scope::device>(p, 1, release);
#endif
#ifdef RULE_a_load_with_a_scope_has_an_order  // expect: membar: a load with a scope takes an order
  *out = load<thread_scope::device>(p, l1::no_allocate);
#else
  *out = load<thread_scope::device>(p, relaxed, l1::no_allocate);
#endif
#ifdef RULE_a_store_with_a_scope_has_an_order  // expect: membar: a store with a scope takes an order
  store<thread_scope::device>(p, 1);
#else
  store<thread_scope::device>(p, 1, relaxed);
#endif
#ifdef RULE_a_weak_load_has_no_order  // expect: membar: a weak access has no order: use load or store with a scope
  *out = load_weak(p, relaxed);
#else
  *out = load_weak(p);
#endif
#ifdef RULE_a_weak_store_has_no_order  // expect: membar: a weak access has no order: use load or store with a scope
  store_weak(p, 1, release);
#else
  store_weak(p, 1);
#endif
#ifdef RULE_an_order_is_given_once  // expect: membar: an access takes each kind of hint, and an order, at most once
  *out = load<thread_scope::device>(p, relaxed, acquire);
#else
  *out = load<thread_scope::device>(p, acquire);
#endif
#ifdef RULE_volatile_takes_no_order  // expect: membar: volatile takes no order and no hint
  *out = load<thread_scope::device>(shared_flag, relaxed);
#else
  *out = load<thread_scope::device>(const_cast<const int*>(shared_flag), relaxed);
#endif
#ifdef RULE_volatile_takes_no_hint  // expect: membar: volatile takes no order and no hint
  store_weak(shared_flag, 1, l1::evict_first);
#else
  store_weak(const_cast<int*>(shared_flag), 1, l1::evict_first);
#endif
#ifdef RULE_a_store_needs_a_target_that_is_not_const  // expect: membar: a store needs a pointer to what is not const
  store_weak(constant, 1);
#else
  store_weak(const_cast<int*>(constant), 1);
#endif
#ifdef RULE_mmio_has_system_scope  // expect: membar: an mmio access has system scope
  *out = load<thread_scope::device>(p, mmio);
#else
  *out = load<thread_scope::system>(p, mmio);
#endif
#ifdef RULE_mmio_takes_no_hint  // expect: membar: an mmio access takes no cache hint: it must not be cached
  store<thread_scope::system>(p, 1, mmio, l1::no_allocate);
#else
  store<thread_scope::system>(p, 1, mmio);
#endif
#ifdef RULE_a_read_only_load_has_no_order  // expect: membar: a read-only load has no order
  *out = load_read_only(p, acquire);
#else
  *out = load_read_only(p);
#endif
}

__global__ void hints(int* p, int* out) {
  const cache_policy<l2::evict_last> policy(1.0f);
#ifdef RULE_a_priority_is_given_once  // expect: membar: an access takes each kind of hint, and an order, at most once
  *out = load_weak(p, l1::evict_first, l1::evict_last);
#else
  *out = load_weak(p, l1::evict_first);
#endif
#ifdef RULE_a_policy_is_given_once  // expect: membar: an access takes each kind of hint, and an order, at most once
  *out = load_weak(p, policy, policy);
#else
  *out = load_weak(p, policy);
#endif
#ifdef RULE_a_hint_is_one_of_membars  // expect: membar: what follows the pointer and the value is an order
  *out = load_weak(p, 128);
#else
  *out = load_weak(p, prefetch_128B);
#endif
#ifdef RULE_a_cache_operator_goes_with_no_order  // expect: membar: a cache operator goes with weak accesses only
  *out = load<thread_scope::device>(p, relaxed, cache_op::cg);
#else
  *out = load<thread_scope::device>(p, relaxed, l1::no_allocate);
#endif
#ifdef RULE_a_cache_operator_goes_with_no_order_of_a_store  // expect: membar: a cache operator goes with weak accesses only
  store<thread_scope::device>(p, 1, cache_op::cs, release);
#else
  store<thread_scope::device>(p, 1, l1::evict_first, release);
#endif
#ifdef RULE_a_cache_operator_goes_with_no_l1_priority  // expect: membar: a cache operator and an L1 eviction priority say the
  *out = load_weak(p, cache_op::cs, l1::evict_first);
#else
  *out = load_weak(p, cache_op::cs, policy, prefetch_64B);
#endif
#ifdef RULE_a_load_takes_operators_of_loads  // expect: membar: a load takes the cache operators ca, cg, cs, lu, cv
  *out = load_weak(p, cache_op::wt);
#else
  *out = load_weak(p, cache_op::cv);
#endif
#ifdef RULE_a_store_takes_operators_of_stores  // expect: membar: a store takes the cache operators wb, cg, cs, wt
  store_weak(p, 1, cache_op::ca);
#else
  store_weak(p, 1, cache_op::wb);
#endif
#ifdef RULE_a_read_only_load_takes_three_operators  // expect: membar: a read-only load takes the cache operators ca, cg, cs
  *out = load_read_only(p, cache_op::lu);
#else
  *out = load_read_only(p, cache_op::cg);
#endif
#ifdef RULE_a_store_prefetches_nothing  // expect: membar: a store takes no L2 prefetch size
  store_weak(p, 1, prefetch_64B);
#else
  store_weak(p, 1, policy);
#endif
#ifdef RULE_a_priority_for_l2_at_the_access_needs_32_bytes  // expect: membar: an L2 eviction priority at the access itself
  *out = load_weak(p, l2::evict_last);
#else
  *out = load_weak(p, policy);
#endif
#ifdef RULE_a_prefetch_size_is_64_128_or_256  // expect: membar: an L2 prefetch size is 64, 128 or 256 bytes
  *out = load_weak(p, prefetch_size<32>());
#else
  *out = load_weak(p, prefetch_size<64>());
#endif
}

__global__ void types(const unaligned* u, const float4* f, const three* t, const eight* e, const counted* c, int* out) {
#ifdef RULE_a_type_is_aligned_to_its_size  // expect: membar: one instruction moves a type that is aligned to its size
  *out = static_cast<int>(load_weak(u).x);
#else
  *out = static_cast<int>(load_weak(f).x);
#endif
#ifdef RULE_a_type_has_the_size_of_an_instruction  // expect: membar: one instruction moves 1, 2, 4, 8, 16 or 32 bytes
  *out = static_cast<int>(load_weak(t).x);
#else
  *out = static_cast<int>(load_read_only(t).x);
#endif
#ifdef RULE_an_ordered_access_has_at_most_16_bytes  // expect: membar: an ordered access has at most 16 bytes
  *out = static_cast<int>(load<thread_scope::device>(e, relaxed).values[0]);
#else
  *out = static_cast<int>(load<thread_scope::device>(f, relaxed).x);
#endif
#ifdef RULE_32_bytes_need_sm_100  // expect: membar: a 32-byte access requires compute capability 10.0
  *out = static_cast<int>(load_weak(e).values[0]);
#else
  *out = static_cast<int>(load_weak(f).x);
#endif
#ifdef RULE_a_type_is_trivially_copyable  // expect: membar: a load or a store moves the bytes of a trivially copyable type
  *out = load_weak(c).value;
#else
  *out = load_weak(&c->value);
#endif
#ifdef RULE_a_read_only_type_is_trivially_copyable  // expect: membar: a read-only load moves the bytes of a trivially copyable
  *out = load_read_only(c).value;
#else
  *out = load_read_only(&c->value);
#endif
}
