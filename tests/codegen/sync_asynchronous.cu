// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The instructions in the asynchronous patterns, and their order.
#include <membar/sync/cluster_broadcast.cuh>
#include <membar/sync/dependent_chain.cuh>

using relayed = membar::cluster_broadcast<2, 64>;
using multicast = membar::cluster_broadcast<2, 64, membar::cluster_copies::multicast>;
constexpr auto budget = membar::wait_budget::milliseconds(1);

// CHECK-LABEL: .entry fill_relayed(
// CHECK-NOT: fence.
// CHECK: mbarrier.try_wait.parity.acquire.cluster.shared::cta.b64
// CHECK: fence.proxy.async::generic.acquire.sync_restrict::shared::cluster.cluster;
// CHECK: cp.async.bulk.shared::cta.global.mbarrier::complete_tx::bytes
// CHECK: mbarrier.arrive.expect_tx.release.cta.shared::cta.b64
// CHECK-NOT: {{fence\.|mapa}}
// CHECK: ret;
extern "C" __global__ void fill_relayed(const int* from, membar::wait_result* result) {
  __shared__ relayed ring;
  relayed::producer fills(ring);
  *result = fills.fill(from, 64, budget);
}

// CHECK-LABEL: .entry pass_on(
// CHECK-NOT: fence.
// CHECK: mbarrier.try_wait.parity.acquire.cta.shared::cta.b64
// CHECK: mapa.shared::cluster.u32
// CHECK: cp.async.bulk.shared::cluster.shared::cta.mbarrier::complete_tx::bytes
// CHECK: mbarrier.arrive.expect_tx.relaxed.cluster.shared::cluster.b64
// CHECK-NOT: fence.
// CHECK: ret;
extern "C" __global__ void pass_on(membar::wait_result* result) {
  __shared__ relayed ring;
  relayed::relay passes(ring);
  *result = passes.pass_on(64, budget);
}

// CHECK-LABEL: .entry fill_multicast(
// CHECK-NOT: fence.
// CHECK: mbarrier.try_wait.parity.acquire.cluster.shared::cta.b64
// CHECK: fence.proxy.async::generic.acquire.sync_restrict::shared::cluster.cluster;
// CHECK: cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes.multicast::cluster
// CHECK: mapa.shared::cluster.u32
// CHECK: mbarrier.arrive.expect_tx.relaxed.cluster.shared::cluster.b64
// CHECK-NOT: fence.
// CHECK: ret;
extern "C" __global__ void fill_multicast(const int* from, membar::wait_result* result) {
  __shared__ multicast ring;
  multicast::producer fills(ring);
  *result = fills.fill(from, 64, budget);
}

// CHECK-LABEL: .entry take_and_give_back(
// CHECK-NOT: fence.
// CHECK: mbarrier.try_wait.parity.acquire.cta.shared::cta.b64
// CHECK-NOT: fence.
// CHECK: fence.proxy.async::generic.release.sync_restrict::shared::cta.cluster;
// CHECK: mapa.shared::cluster.u32
// CHECK: mbarrier.arrive.release.cluster.shared::cluster.b64
// CHECK-NOT: fence.
// CHECK: ret;
extern "C" __global__ void take_and_give_back(int* to) {
  __shared__ relayed ring;
  relayed::consumer takes(ring);
  if (const auto tile = takes.take(budget); tile.result == membar::wait_result::done) {
    *to = *static_cast<const int*>(tile.memory);
    takes.give_back();
  }
}

// A link first lets the next kernel begin, and then waits before memory is accessed. A link that has waited does not wait
// again.
// CHECK-LABEL: .entry step(
// CHECK-NOT: {{(ld|st)\.global}}
// CHECK: griddepcontrol.launch_dependents;
// CHECK-NOT: {{(ld|st)\.global}}
// CHECK: griddepcontrol.wait;
// CHECK: ld.global
// CHECK: st.global
// CHECK-NOT: griddepcontrol
// CHECK: ret;
extern "C" __global__ void step(membar::chained<const int> from, membar::chained<int> to) {
  membar::chain_link link;
  const membar::prerequisites_ended ended = link.wait();
  *to.after(ended) = *from.after(ended) + 1;
}

// If no thread waits through the link, the link waits at the end of its lifetime.
// CHECK-LABEL: .entry pass(
// CHECK: griddepcontrol.launch_dependents;
// CHECK: griddepcontrol.wait;
// CHECK-NOT: griddepcontrol
// CHECK: ret;
extern "C" __global__ void pass() { const membar::chain_link link; }
