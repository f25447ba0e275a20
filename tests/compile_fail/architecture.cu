// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Compiled for sm_80, which has neither clusters nor the async proxies.
#include "refused.hpp"

#include <membar/async_copy.cuh>
#include <membar/atomic.cuh>
#include <membar/block_barrier.cuh>
#include <membar/bulk_copy.cuh>
#include <membar/cache_control.cuh>
#include <membar/cluster_barrier.cuh>
#include <membar/dependent_launch.cuh>
#include <membar/fence.cuh>
#include <membar/mbarrier.cuh>
#include <membar/multimem.cuh>

#include <cuda_bf16.h>

using namespace membar;

template <thread_scope Scope>
using number = atomic_ref<int, Scope>;
struct sixteen_bytes {
  double value;
  long long count;
};

__global__ void before_hopper(int* object) {
  // expect: thread_scope::cluster requires compute capability 9.0
  REFUSED(a_cluster_fence_requires_sm_90, thread_fence<thread_scope::cluster>(acq_rel));
  thread_fence<thread_scope::device>(acq_rel);
  // expect: thread_scope::cluster requires compute capability 9.0
  REFUSED(a_cluster_load_requires_sm_90, object[1] = number<thread_scope::cluster>(*object).load(relaxed));
  object[1] = number<thread_scope::device>(*object).load(relaxed);
  // expect: thread_scope::cluster requires compute capability 9.0
  REFUSED(a_cluster_store_requires_sm_90, number<thread_scope::cluster>(*object).store(1, relaxed));
  number<thread_scope::device>(*object).store(1, relaxed);
  // expect: thread_scope::cluster requires compute capability 9.0
  REFUSED(a_cluster_fetch_requires_sm_90, number<thread_scope::cluster>(*object).fetch_add(1, relaxed));
  number<thread_scope::device>(*object).fetch_add(1, relaxed);

  // expect: multimem addresses require compute capability 9.0
  REFUSED(a_multimem_address_requires_sm_90, static_cast<void>(multimem_ref<int, thread_scope::device>(object)));

  int expected = 0;
  // expect: thread_scope::cluster requires compute capability 9.0
  REFUSED(a_cluster_compare_exchange_requires_sm_90,
          number<thread_scope::cluster>(*object).compare_exchange(expected, 1, relaxed, relaxed));
  number<thread_scope::device>(*object).compare_exchange(expected, 1, relaxed, relaxed);
  // expect: the async proxy requires compute capability 9.0
  REFUSED(the_async_proxy_requires_sm_90, proxy_fence<proxy::async>());
  proxy_fence<proxy::alias>();
  // expect: the async proxy requires compute capability 9.0
  REFUSED(the_async_proxy_of_shared_memory_requires_sm_90, proxy_fence<proxy::async_shared_block>());
  proxy_fence<proxy::alias>();

  const atomic_ref<sixteen_bytes, thread_scope::device> wide(*reinterpret_cast<sixteen_bytes*>(object));
  sixteen_bytes found{};
  __int128& large = *reinterpret_cast<__int128*>(object);
  using floats = vec<float, 4>;
  floats& elements = *reinterpret_cast<floats*>(object);
  [[maybe_unused]] const atomic_ref<floats, thread_scope::device> vectors(elements);
  // expect: this fence requires compute capability 9.0
  REFUSED(the_tensormap_proxy_requires_sm_90, proxy_fence<proxy::tensormap, thread_scope::device>(release));
  proxy_fence<proxy::alias>();
  // expect: this fence requires compute capability 9.0
  REFUSED(an_acquire_of_a_tensor_map_requires_sm_90, proxy_fence<proxy::tensormap, thread_scope::device>(acquire, object));
  proxy_fence<proxy::alias>();
  // expect: this fence requires compute capability 9.0
  REFUSED(a_copied_tensor_map_requires_sm_90, publish_tensor_map<thread_scope::device>(object, object));
  proxy_fence<proxy::alias>();
  // expect: a tensor map requires compute capability 9.0
  REFUSED(a_prefetched_tensor_map_requires_sm_90, prefetch_tensor_map(object));
  prefetch_l2(object);
  // expect: elect_one requires compute capability 9.0
  REFUSED(an_election_requires_sm_90, object[1] = elect_one());
  named_barrier(1, 32).sync();
  // expect: this fence requires compute capability 9.0
  REFUSED(a_shared_fence_requires_sm_90, shared_fence(acquire));
  thread_fence<thread_scope::device>(acquire);
  // expect: this fence requires compute capability 9.0
  REFUSED(a_shared_proxy_fence_requires_sm_90, shared_proxy_fence(acquire));
  proxy_fence<proxy::alias>();
  // expect: this fence requires compute capability 9.0
  REFUSED(a_fence_of_barrier_initialisation_requires_sm_90, mbarrier_init_fence());
  thread_fence<thread_scope::block>(release);
  // expect: thread_scope::cluster requires compute capability 9.0
  REFUSED(a_cluster_reduction_requires_sm_90, number<thread_scope::cluster>(*object).add(1, relaxed));
  number<thread_scope::device>(*object).add(1, relaxed);
  // expect: thread_scope::cluster requires compute capability 9.0
  REFUSED(a_cluster_wait_requires_sm_90, number<thread_scope::cluster>(*object).wait(1, relaxed));
  number<thread_scope::device>(*object).wait(1, relaxed);
  // expect: thread_scope::cluster requires compute capability 9.0
  REFUSED(a_cluster_update_requires_sm_90,
          number<thread_scope::cluster>(*object).fetch_update([](int x) { return x; }, relaxed));
  number<thread_scope::device>(*object).fetch_update([](int x) { return x; }, relaxed);
  // expect: a 16-byte read-modify-write requires compute capability 9.0
  REFUSED(a_16_byte_exchange_requires_sm_90, wide.exchange({}, relaxed));
  wide.store({}, release);
  // expect: a 16-byte read-modify-write requires compute capability 9.0
  REFUSED(a_16_byte_compare_exchange_requires_sm_90, wide.compare_exchange(found, {}, relaxed, relaxed));
  found = wide.load(acquire);
  // expect: a 16-byte read-modify-write requires compute capability 9.0
  REFUSED(a_16_byte_update_requires_sm_90, wide.fetch_update([](sixteen_bytes x) { return x; }, relaxed));
  found = wide.load(relaxed);
  // expect: a 16-byte read-modify-write requires compute capability 9.0
  REFUSED(a_16_byte_sum_requires_sm_90, atomic_ref<__int128, thread_scope::device>(large).fetch_add(1, relaxed));
  atomic_ref<__int128, thread_scope::device>(large).store(1, relaxed);
  // expect: vector atomics require compute capability 9.0
  REFUSED(a_vector_sum_requires_sm_90, vectors.fetch_add(floats{}, relaxed));
  atomic_ref<float, thread_scope::device>(elements[0]).fetch_add(1, relaxed);
  // expect: vector atomics require compute capability 9.0
  REFUSED(a_vector_reduction_requires_sm_90, vectors.add(floats{}, relaxed));
  atomic_ref<float, thread_scope::device>(elements[0]).add(1, relaxed);
  wide.store(found, relaxed);
}

__global__ void mbarriers_before_hopper(int* out) {
  [[maybe_unused]] __shared__ mbarrier<thread_scope::block> own;
  [[maybe_unused]] __shared__ mbarrier<thread_scope::cluster> wide;
  const mbarrier_token token = own.arrive(release);
  // expect: on this architecture an mbarrier supports only arrive(release),
  REFUSED(a_relaxed_arrival_requires_sm_90, own.arrive(relaxed));
  own.arrive_no_complete(1);
  // expect: on this architecture an mbarrier supports only arrive(release),
  REFUSED(a_counted_arrival_requires_sm_90, own.arrive(release, 2));
  own.arrive_drop(release);
  // expect: on this architecture an mbarrier supports only arrive(release),
  REFUSED(an_arrival_at_cluster_scope_requires_sm_90, wide.arrive(release));
  out[0] = own.test_wait(token, acquire);
  // expect: on this architecture an mbarrier supports only arrive(release),
  REFUSED(an_expecting_arrival_requires_sm_90, own.arrive_expect(16, release));
  out[1] = own.test_wait_parity(0, acquire);
  // expect: on this architecture an mbarrier supports only arrive(release),
  REFUSED(expected_bytes_require_sm_90, own.expect(16));
  out[2] = own.wait(token, acquire, wait_budget::milliseconds(1)) == wait_result::done;
  // expect: on this architecture an mbarrier supports only arrive(release),
  REFUSED(completed_bytes_require_sm_90, own.complete(16));
  // expect: on this architecture an mbarrier supports only arrive(release),
  REFUSED(a_relaxed_test_requires_sm_90, out[3] = own.test_wait(token, relaxed));
  // expect: on this architecture an mbarrier supports only arrive(release),
  REFUSED(a_try_requires_sm_90, out[3] = own.try_wait(token, acquire));
  // expect: on this architecture an mbarrier supports only arrive(release),
  REFUSED(a_try_by_parity_requires_sm_90, out[3] = own.try_wait_parity(0, acquire));
  // expect: on this architecture an mbarrier supports only arrive(release),
  REFUSED(another_blocks_mbarrier_requires_sm_90, out[3] = static_cast<int>(wide.in_block(1).address()));
}

__global__ void copies_before_hopper(unsigned* global, unsigned* out) {
  extern __shared__ unsigned stage[];
  [[maybe_unused]] __shared__ mbarrier<thread_scope::block> own;
  out[0] = stage[0];
  // expect: a bulk copy requires compute capability 9.0
  REFUSED(a_bulk_load_requires_sm_90, static_cast<void>(bulk_load(stage, global, 16, own)));
  out[1] = stage[1];
  // expect: a bulk copy requires compute capability 9.0
  REFUSED(a_bulk_store_requires_sm_90, static_cast<void>(bulk_store(global, stage, 16)));
  out[2] = stage[2];
  // expect: a bulk copy requires compute capability 9.0
  REFUSED(a_bulk_reduction_requires_sm_90, static_cast<void>(bulk_reduce<async_operation::add>(global, stage, 16)));
  out[3] = stage[3];
  // expect: a bulk copy requires compute capability 9.0
  REFUSED(a_wait_for_bulk_copies_requires_sm_90, bulk_wait());
  // expect: a bulk copy requires compute capability 9.0
  REFUSED(a_wait_for_their_sources_requires_sm_90, bulk_wait_read());
  // expect: thread block clusters require compute capability 9.0
  REFUSED(an_arrival_of_a_cluster_requires_sm_90, static_cast<void>(cluster_arrive(release)));
  // expect: thread block clusters require compute capability 9.0
  REFUSED(a_block_rank_requires_sm_90, out[4] = cluster_block_rank());
  // expect: thread block clusters require compute capability 9.0
  REFUSED(a_block_count_requires_sm_90, out[4] = cluster_block_count());
  // expect: thread block clusters require compute capability 9.0
  REFUSED(another_blocks_memory_requires_sm_90, out[4] = *shared_of_block(stage, 1));
  // expect: a dependent launch requires compute capability 9.0
  REFUSED(a_wait_for_prerequisites_requires_sm_90, wait_for_prerequisites());
  // expect: a dependent launch requires compute capability 9.0
  REFUSED(a_launch_of_dependents_requires_sm_90, launch_dependents());
}

__global__ void remote_operations_before_hopper(const unsigned* global, unsigned* out) {
  extern __shared__ unsigned stage[];
  [[maybe_unused]] __shared__ mbarrier<thread_scope::block> own;
  [[maybe_unused]] __shared__ mbarrier<thread_scope::cluster> wide;
  async_arrive(async_copy(stage, global), own);  // sm_80 has this arrival
  // expect: an asynchronous store or reduction requires compute capability 9.0
  REFUSED(an_asynchronous_store_requires_sm_90, static_cast<void>(async_store(stage, 1, 2U, wide)));
  async_commit(async_copy(stage, global));
  // expect: an asynchronous store or reduction requires compute capability 9.0
  REFUSED(an_asynchronous_reduction_requires_sm_90, static_cast<void>(async_reduce<async_operation::add>(stage, 1, 2U, wide)));
  async_wait();
  out[0] = stage[0];
}

// If the instruction does not exist, the operation is compiled to a loop, so no rule is broken.
__global__ void bfloat16_before_hopper(__nv_bfloat16* object, __nv_bfloat16 value) {
  atomic_ref<__nv_bfloat16, thread_scope::device>(*object).add(value, relaxed);
}
