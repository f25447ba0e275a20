// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
/// @file
/// Asynchronous operations: cluster barriers, mbarriers at which another block arrives, dependent launches, and bulk
/// copies whose source is written again. Source: cluster_barrier.cuh, mbarrier.cuh, dependent_launch.cuh, bulk_copy.cuh.
#include "asynchronous.cuh"

namespace conformance {
namespace asynchronous_rows {

template <bool SharedData>
void add_meetings(const adding& to) {
  using enum memory_order;
  using unordered = met<at_cluster_barrier<relaxed>, SharedData>;
  holds<met<at_cluster_barrier<release>, SharedData>, where::cluster_barrier, unordered>(to);
  holds<met<at_cluster_barrier<relaxed, true>, SharedData>, where::cluster_barrier, unordered>(to);
  holds<met<at_mbarrier<release, acquire>, SharedData>, where::cluster_barrier, met<at_mbarrier<relaxed, relaxed>, SharedData>,
        met<at_mbarrier<relaxed, acquire>, SharedData>>(to);
}

void add(suite& all) {
  const adding to{&all, "asynchronous"};
  add_meetings<false>(to);
  add_meetings<true>(to);
  holds<launched<true>, where::two_kernels, launched<false>>(to);
  holds<reused<read_wait<>>, where::one_block, reused<no_read_wait>, reused<read_wait<1>>>(to);
  holds<reused<whole_wait>, where::one_block, reused<no_read_wait>>(to);
}

const registered_family here("asynchronous", &add);

}  // namespace asynchronous_rows
}  // namespace conformance
