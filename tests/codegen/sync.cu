// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Checks the fences and orders of the synchronization patterns that are designed to save fences.
#include <membar/sync/grid_barrier.cuh>
#include <membar/sync/last_block.cuh>
#include <membar/sync/packed_channel.cuh>
#include <membar/sync/publisher.cuh>
#include <membar/sync/ticket_lock.cuh>

using membar::thread_scope;
using publisher = membar::publisher<4, 16>;
using packed = membar::packed_spsc_channel<int, 16, thread_scope::system>;

// A publication consists of two plain stores and one release at block scope, without any operation at system scope.
// CHECK-LABEL: .entry publish(
// CHECK-NOT: fence.
// CHECK-NOT: .sys
// CHECK: st.release.cta.b64
// CHECK-NOT: fence.
// CHECK-NOT: .sys
// CHECK: ret;
extern "C" __global__ void publish(publisher* p, unsigned long long* signal, membar::wait_result* result) {
  publisher::source source(*p, 0);
  *result = source.try_publish(*signal, 1);
}

// One fence for the whole batch of publications.
// CHECK-LABEL: .entry serve(
// CHECK-NOT: fence.
// CHECK: ld.acquire.cta.b64
// SM_80: fence.acq_rel.sys;
// SM_90: fence.release.sys;
// CHECK-NOT: fence.
// CHECK: st.relaxed.sys.b64
// CHECK-NOT: fence.
// CHECK: st.release.cta.b64
// CHECK-NOT: fence.
// CHECK: ret;
extern "C" __global__ void serve(publisher* p, membar::publisher_report* report) {
  *report = p->serve_warp(membar::wait_budget::milliseconds(1));
}

// The warp synchronizes, so that the work of all lanes is released. It takes a single path, which the value that lane 0 has
// read determines, and one lane publishes.
// CHECK-LABEL: .entry publish_as_a_warp(
// CHECK-NOT: fence.
// CHECK-NOT: .sys
// CHECK: bar.warp.sync
// CHECK: shfl.sync.idx
// CHECK: vote.sync.any
// CHECK: st.release.cta.b64
// CHECK: bar.warp.sync
// CHECK-NOT: fence.
// CHECK-NOT: .sys
// CHECK: ret;
extern "C" __global__ void publish_as_a_warp(publisher* p, unsigned long long* signal, membar::wait_result* result) {
  publisher::warp_source source(*p, 0);
  *result = source.publish(*signal, 1, membar::wait_budget::milliseconds(1));
}

// CHECK-LABEL: .entry push_packed(
// CHECK-NOT: {{fence|acquire|release}}
// CHECK: st.relaxed.sys.b128
// CHECK-NOT: {{fence|acquire|release}}
// CHECK: ret;
extern "C" __global__ void push_packed(packed* channel, membar::wait_result* result) {
  packed::producer end(*channel);
  *result = end.try_push(1);
}

// CHECK-LABEL: .entry pop_packed(
// CHECK-NOT: {{fence|acquire|release}}
// CHECK: ld.relaxed.sys.b128
// CHECK-NOT: {{fence|acquire|release}}
// CHECK: ret;
extern "C" __global__ void pop_packed(packed* channel, int* message, membar::wait_result* result) {
  packed::consumer end(*channel);
  *result = end.try_pop(*message);
}

// CHECK-LABEL: .entry meet(
// CHECK-NOT: {{fence\.|bar\.red}}
// CHECK: bar.sync
// CHECK: atom.release.gpu.add
// CHECK-NOT: {{fence\.|bar\.red}}
// CHECK: ld.acquire.gpu
// CHECK-NOT: {{fence\.|bar\.red}}
// CHECK: bar.sync
// CHECK-NOT: {{fence\.|bar\.red}}
// CHECK: ret;
extern "C" __global__ void meet(membar::grid_barrier<thread_scope::device>* barrier, membar::wait_result* result) {
  *result = barrier->sync(membar::wait_budget::milliseconds(1));
}

// CHECK-LABEL: .entry arrive_last(
// CHECK-NOT: fence.
// CHECK: atom.acq_rel.gpu.inc.u32
// CHECK-NOT: fence.
// CHECK: ret;
extern "C" __global__ void arrive_last(membar::last_block<thread_scope::device>* last, bool* result) {
  *result = last->arrive();
}

// CHECK-LABEL: .entry unlock(
// CHECK-NOT: fence.
// CHECK: red.release.gpu.global.add.u64
// CHECK-NOT: fence.
// CHECK: ret;
extern "C" __global__ void unlock(membar::ticket_lock<thread_scope::device>* lock) { lock->unlock(); }
