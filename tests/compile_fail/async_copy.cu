// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "refused.hpp"

#include <membar/async_copy.cuh>
#include <membar/atomic.cuh>
#include <membar/bulk_copy.cuh>
#include <membar/cluster_launch.cuh>

using namespace membar;

struct loose {  // 16 bytes, aligned to 4 bytes.
  float x, y, z, w;
};

__global__ void copies(const unsigned* numbers, const short* small, const double* wide, const loose* quads, const uint4* words,
                       unsigned* global) {
  extern __shared__ uint4 stage[];
  [[maybe_unused]] __shared__ mbarrier<thread_scope::block> own;
  [[maybe_unused]] __shared__ mbarrier<thread_scope::cluster> far;
  auto* const to = reinterpret_cast<unsigned*>(stage);
  // expect: an asynchronous copy needs a trivially copyable type of 4, 8 or 16 bytes
  REFUSED(an_asynchronous_copy_has_4_8_or_16_bytes, async_commit(async_copy(reinterpret_cast<short*>(stage), small)));
  async_commit(async_copy(to, numbers));
  // expect: an asynchronous copy needs a trivially copyable type of 4, 8 or 16 bytes that is aligned to its size
  REFUSED(an_asynchronous_copy_is_aligned_to_its_size, async_commit(async_copy(reinterpret_cast<loose*>(stage), quads)));
  async_commit(async_copy(stage, words));
  // expect: an asynchronous copy that bypasses L1 needs a 16-byte type: use
  REFUSED(a_copy_past_l1_has_16_bytes,
          async_commit(async_copy<async_caching::l2_only>(reinterpret_cast<double*>(stage), wide)));
  async_commit(async_copy<async_caching::l2_only>(stage, words));
  // expect: an asynchronous copy that bypasses L1 needs a 16-byte type: use
  REFUSED(a_part_past_l1_is_of_16_bytes, async_commit(async_copy_first<async_caching::l2_only>(to, numbers, 4)));
  async_commit(async_copy_first<async_caching::l2_only>(stage, words, 4) + async_copy_first(to, numbers, 0));
  // expect: no instance of function template "membar::v0_3::async_commit" matches
  REFUSED(a_bulk_copy_is_in_no_group_of_small_ones, async_commit(bulk_store(global, to, 16)));
  bulk_commit(bulk_store(global, to, 16));
  // expect: no instance of function template "membar::v0_3::bulk_commit" matches
  REFUSED(a_small_copy_is_in_no_bulk_group, bulk_commit(async_copy(to, numbers)));
  async_arrive(async_copy(to, numbers), own);
  // expect: no instance of function template "membar::v0_3::async_arrive" matches
  REFUSED(an_arrival_of_copies_names_the_copies, async_arrive(own));
  async_arrive_beside(async_copy(to, numbers), far);
  // expect: the number of pending groups cannot be negative
  REFUSED(no_fewer_than_0_small_groups_are_pending, async_wait<-1>());
  async_wait<1>();
  // expect: no instance of function template "membar::v0_3::async_store" matches
  REFUSED(a_remote_store_completes_at_cluster_scope, static_cast<void>(async_store(to, 1U, 2U, own)));
  static_cast<void>(async_store(to, 1U, 2U, far));
  // expect: an asynchronous store needs a trivially copyable type of 4, 8 or 16 bytes
  REFUSED(a_remote_store_has_no_short,
          static_cast<void>(async_store(reinterpret_cast<short*>(stage), 1U, static_cast<short>(2), far)));
  static_cast<void>(async_store(stage, 1U, uint4{}, far));
  // expect: asynchronous reductions do not support this operation on this
  REFUSED(a_remote_reduction_has_no_float,
          static_cast<void>(async_reduce<async_operation::add>(reinterpret_cast<float*>(stage), 1U, 2.0F, far)));
  static_cast<void>(async_reduce<async_operation::add>(to, 1U, 2U, far));
  // expect: asynchronous reductions do not support this operation on this
  REFUSED(a_remote_reduction_of_8_bytes_only_adds,
          static_cast<void>(async_reduce<async_operation::min>(reinterpret_cast<long long*>(stage), 1U, 2LL, far)));
  static_cast<void>(async_reduce<async_operation::add>(reinterpret_cast<long long*>(stage), 1U, 2LL, far));
  // expect: an asynchronous store or reduction with release order requires compute capability 10.0
  REFUSED(an_asynchronous_store_that_releases_requires_sm_100, async_store_release<thread_scope::device>(global, 1U, release));
  atomic_ref<unsigned, thread_scope::device>(*global).store(1U, release);
  // expect: an asynchronous store or reduction with release order requires compute capability 10.0
  REFUSED(an_asynchronous_reduction_that_releases_requires_sm_100,
          (async_reduce_release<async_operation::add, thread_scope::system>(global, 1U, mmio)));
  atomic_ref<unsigned, thread_scope::system>(*global).add(1U, release);
  // expect: the order of an asynchronous operation on global memory must be release or mmio, which also
  REFUSED(an_asynchronous_store_to_global_memory_releases, async_store_release<thread_scope::device>(global, 1U, relaxed));
  // expect: an asynchronous operation on global memory needs device or system scope, and mmio needs system
  REFUSED(an_asynchronous_store_that_releases_has_no_block_scope,
          async_store_release<thread_scope::block>(global, 1U, release));
  // expect: an asynchronous operation on global memory needs device or system scope, and mmio needs system
  REFUSED(mmio_has_system_scope, (async_reduce_release<async_operation::add, thread_scope::device>(global, 1U, mmio)));
  // expect: an asynchronous store to global memory needs a trivially copyable type of 2, 4 or 8 bytes
  REFUSED(an_asynchronous_store_that_releases_has_no_16_bytes,
          async_store_release<thread_scope::device>(stage, uint4{}, release));
  // expect: asynchronous reductions do not support this operation on this
  REFUSED(an_asynchronous_reduction_in_global_memory_has_no_float,
          (async_reduce_release<async_operation::add, thread_scope::device>(reinterpret_cast<float*>(global), 1.0F, release)));
  // expect: bulk_zero requires compute capability 10.0
  REFUSED(zeros_in_bulk_require_sm_100, bulk_zero(stage, 64));
  // expect: a bulk copy with a byte mask requires compute capability 10.0
  REFUSED(a_byte_mask_requires_sm_100, bulk_commit(bulk_store_masked(global, to, 16, 3)));
  // expect: a bulk copy with a byte mask requires compute capability 10.0
  REFUSED(a_byte_mask_with_a_policy_requires_sm_100, bulk_commit(bulk_store_masked(global, to, 16, 3, l2_policy(0))));
  bulk_commit(bulk_store(global, to, 16, l2_policy(0)));
  // expect: cluster launch control requires compute capability 10.0
  REFUSED(a_launch_is_cancelled_from_sm_100_on,
          static_cast<void>(cancel_launch(*reinterpret_cast<cancelled_launch*>(stage), own)));
  // expect: cluster launch control requires compute capability 10.0
  REFUSED(an_answer_is_read_from_sm_100_on, *to = reinterpret_cast<cancelled_launch*>(stage)->succeeded());
  // expect: cluster launch control requires compute capability 10.0
  REFUSED(a_cancelled_block_is_read_from_sm_100_on, *to = reinterpret_cast<cancelled_launch*>(stage)->first_block().x);
}
