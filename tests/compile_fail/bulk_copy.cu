// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "refused.hpp"

#include <membar/bulk_copy.cuh>
#include <membar/cluster_barrier.cuh>
#include <membar/dependent_launch.cuh>
#include <membar/sync/bulk_pipeline.cuh>
#include <membar/sync/cluster_broadcast.cuh>
#include <membar/sync/dependent_chain.cuh>

#include <cuda_fp16.h>

using namespace membar;

template <class T>
constexpr bool complete = sizeof(T) != 0;

// expect: a pipeline needs at least one stage
REFUSED(a_pipeline_has_a_stage, static_assert(complete<bulk_pipeline<0, 64>>));
static_assert(complete<bulk_pipeline<1, 64>>);
// expect: the size of a pipeline stage must be a multiple of 16 bytes
REFUSED(a_stage_is_whole, static_assert(complete<bulk_pipeline<2, 40>>));
static_assert(complete<bulk_pipeline<2, 48>>);
// expect: a pipeline needs at least one stage
REFUSED(a_broadcast_has_a_stage, static_assert(complete<cluster_broadcast<0, 64>>));
static_assert(complete<cluster_broadcast<1, 64>>);
// expect: multicast tiles reach all blocks at once and cannot be relayed:
REFUSED(multicast_tiles_have_no_relay, static_assert(complete<cluster_broadcast<2, 48, cluster_copies::multicast>::relay>));
static_assert(complete<cluster_broadcast<2, 48, cluster_copies::relayed>::relay>);

__global__ void in_a_chain(chained<const int> from, chained<int> to) {
  chain_link link;
  // expect: no suitable user-defined conversion
  REFUSED(memory_of_a_chain_is_read_after_the_wait, *to.after(link) = 1);
  // expect: no operator "=" matches these operands
  REFUSED(a_chain_keeps_const, to = from);
  const prerequisites_ended ended = link.wait();
  *to.after(ended) = *from.after(ended);
}

__global__ void copies(unsigned* global, float* numbers, const short* small, int* out) {
  extern __shared__ unsigned stage[];
  [[maybe_unused]] __shared__ mbarrier<thread_scope::block> own;
  [[maybe_unused]] __shared__ mbarrier<thread_scope::cluster> wide;
  // expect: no instance of function template "membar::v0_3::bulk_send" matches
  REFUSED(another_blocks_copy_completes_at_cluster_scope, static_cast<void>(bulk_send(stage, 1U, stage, 16U, own)));
  static_cast<void>(bulk_send(stage, 1U, stage, 16U, wide));
  // expect: bulk reductions do not support this operation on this type: see
  REFUSED(a_bulk_reduction_of_float_only_adds,
          static_cast<void>(bulk_reduce<async_operation::min>(numbers, reinterpret_cast<const float*>(stage), 16)));
  bulk_commit(bulk_reduce<async_operation::add>(numbers, reinterpret_cast<const float*>(stage), 16));
  // expect: bulk reductions do not support this operation on this type: see
  REFUSED(a_bulk_reduction_has_no_short,
          static_cast<void>(bulk_reduce<async_operation::add>(const_cast<short*>(small), small, 16)));
  bulk_commit(bulk_reduce<async_operation::bitwise_xor>(global, stage, 16));
  // expect: bulk reductions do not support this operation on this type: see
  REFUSED(a_bulk_reduction_of_half_has_no_bits,
          static_cast<void>(bulk_reduce<async_operation::bitwise_or>(reinterpret_cast<__half*>(global),
                                                                     reinterpret_cast<const __half*>(stage), 16)));
  bulk_commit(bulk_reduce<async_operation::min>(reinterpret_cast<__half*>(global), reinterpret_cast<const __half*>(stage), 16));
  // expect: no instance of function template "membar::v0_3::bulk_commit" matches
  REFUSED(a_commit_takes_copies, bulk_commit());
  bulk_commit(bulk_store(global, stage, 16) + bulk_store(global + 4, stage, 16));
  // expect: the number of pending groups cannot be negative
  REFUSED(no_fewer_than_0_groups_are_pending, bulk_wait<-1>());
  bulk_wait<0>();
  // expect: the number of pending groups cannot be negative
  REFUSED(no_fewer_than_0_groups_are_being_read, bulk_wait_read<-1>());
  bulk_wait_read<3>();
  // expect: an arrival cannot acquire, because it reads nothing: use
  REFUSED(a_cluster_arrival_acquires_nothing, static_cast<void>(cluster_arrive(acquire)));
  const cluster_arrival arrival = cluster_arrive(relaxed);
  // expect: no instance of function template "membar::v0_3::cluster_wait" matches
  REFUSED(a_cluster_wait_follows_an_arrival, cluster_wait());
  cluster_wait(arrival);
  wait_for_prerequisites();
  launch_dependents();
  out[0] = static_cast<int>(cluster_block_rank());
}
