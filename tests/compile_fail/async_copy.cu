// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "refused.hpp"

#include <membar/async_copy.cuh>
#include <membar/bulk_copy.cuh>

using namespace membar;

struct loose {  // 16 bytes that need not be together
  float x, y, z, w;
};

__global__ void copies(const unsigned* numbers, const short* small, const double* wide, const loose* quads, const uint4* words,
                       unsigned* global) {
  extern __shared__ uint4 stage[];
  [[maybe_unused]] __shared__ mbarrier<thread_scope::block> own;
  [[maybe_unused]] __shared__ mbarrier<thread_scope::cluster> far;
  auto* const to = reinterpret_cast<unsigned*>(stage);
  // expect: an asynchronous copy takes a trivially copyable type of 4, 8 or 16 bytes
  REFUSED(an_asynchronous_copy_has_4_8_or_16_bytes, async_commit(async_copy(reinterpret_cast<short*>(stage), small)));
  async_commit(async_copy(to, numbers));
  // expect: an asynchronous copy takes a trivially copyable type of 4, 8 or 16 bytes that is aligned to its size
  REFUSED(an_asynchronous_copy_is_aligned_to_its_size, async_commit(async_copy(reinterpret_cast<loose*>(stage), quads)));
  async_commit(async_copy(stage, words));
  // expect: an asynchronous copy past L1 takes a type of 16 bytes
  REFUSED(a_copy_past_l1_has_16_bytes,
          async_commit(async_copy<async_caching::l2_only>(reinterpret_cast<double*>(stage), wide)));
  async_commit(async_copy<async_caching::l2_only>(stage, words));
  // expect: an asynchronous copy past L1 takes a type of 16 bytes
  REFUSED(a_part_past_l1_is_of_16_bytes, async_commit(async_copy_first<async_caching::l2_only>(to, numbers, 4)));
  async_commit(async_copy_first<async_caching::l2_only>(stage, words, 4) + async_copy_first(to, numbers, 0));
  // expect: no instance of function template "membar::v0_2::async_commit" matches
  REFUSED(a_bulk_copy_is_in_no_group_of_small_ones, async_commit(bulk_store(global, to, 16)));
  bulk_commit(bulk_store(global, to, 16));
  // expect: no instance of function template "membar::v0_2::bulk_commit" matches
  REFUSED(a_small_copy_is_in_no_bulk_group, bulk_commit(async_copy(to, numbers)));
  async_arrive(async_copy(to, numbers), own);
  // expect: no instance of function template "membar::v0_2::async_arrive" matches
  REFUSED(an_arrival_of_copies_names_the_copies, async_arrive(own));
  async_arrive_beside(async_copy(to, numbers), far);
  // expect: no fewer than 0 groups can be pending
  REFUSED(no_fewer_than_0_small_groups_are_pending, async_wait<-1>());
  async_wait<1>();
  // expect: no instance of function template "membar::v0_2::async_store" matches
  REFUSED(a_remote_store_completes_at_cluster_scope, static_cast<void>(async_store(to, 1U, 2U, own)));
  static_cast<void>(async_store(to, 1U, 2U, far));
  // expect: an asynchronous store takes a trivially copyable type of 4, 8 or 16 bytes
  REFUSED(a_remote_store_has_no_short,
          static_cast<void>(async_store(reinterpret_cast<short*>(stage), 1U, static_cast<short>(2), far)));
  static_cast<void>(async_store(stage, 1U, uint4{}, far));
  // expect: no asynchronous reduction has this operation on this type
  REFUSED(a_remote_reduction_has_no_float,
          static_cast<void>(async_reduce<async_operation::add>(reinterpret_cast<float*>(stage), 1U, 2.0F, far)));
  static_cast<void>(async_reduce<async_operation::add>(to, 1U, 2U, far));
  // expect: no asynchronous reduction has this operation on this type
  REFUSED(a_remote_reduction_of_8_bytes_only_adds,
          static_cast<void>(async_reduce<async_operation::min>(reinterpret_cast<long long*>(stage), 1U, 2LL, far)));
  static_cast<void>(async_reduce<async_operation::add>(reinterpret_cast<long long*>(stage), 1U, 2LL, far));
}
