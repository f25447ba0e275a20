// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Operations on symmetric memory over peer access. Checks which fences and orders they contain and where, and that there are no
// others.
#include <membar/symmetric/amo.cuh>
#include <membar/symmetric/barrier.cuh>
#include <membar/symmetric/packed.cuh>
#include <membar/symmetric/wait.cuh>

namespace symmetric = membar::symmetric;
using symmetric::by_block, symmetric::by_thread, symmetric::by_warp, symmetric::equals;
using symmetric::object, symmetric::packed, symmetric::pe, symmetric::span;
using set_signal = symmetric::signal<symmetric::set>;
using add_signal = symmetric::signal<symmetric::add>;

constexpr membar::wait_budget budget = membar::wait_budget::milliseconds(1);

struct message {
  int words[8];
};
struct long_message {
  int words[200];
};

// A put consists of 16-byte weak accesses, and does not order anything. In a small put, each thread executes a load and a store
// directly before the block barrier; in a large put, eight loads come before the first store.
// CHECK-LABEL: .entry put_by_block(
// CHECK-NOT: {{fence\.|\.acquire|\.release|membar\.|ld\.weak|st\.weak|bar\.}}
// CHECK: ld.weak.v4.b32
// CHECK-NOT: {{fence\.|\.acquire|\.release|membar\.|ld\.weak|st\.weak|bar\.}}
// CHECK: st.weak.v4.b32
// CHECK-NOT: {{fence\.|\.acquire|\.release|membar\.|ld\.weak|st\.weak|bar\.}}
// CHECK: bar.sync
// CHECK-NOT: {{fence\.|\.acquire|\.release|membar\.|ld\.weak|st\.weak|bar\.}}
// CHECK: ret;
// CHECK-NOT: {{fence\.|\.acquire|\.release|membar\.|st\.weak|bar\.}}
// CHECK-COUNT-8: ld.weak.v4.b32
// CHECK-NOT: {{fence\.|\.acquire|\.release|membar\.|ld\.weak|bar\.}}
// CHECK-COUNT-8: st.weak.v4.b32
// CHECK-NOT: {{fence\.|\.acquire|\.release|membar\.|bar\.}}
extern "C" __global__ void put_by_block(span<int> to, const int* from, pe other) { symmetric::put(by_block, to, from, other); }

// There is one release after the block barrier, and no other fence.
// CHECK-LABEL: .entry put_signal_by_block(
// CHECK-NOT: {{fence\.|\.acquire|\.release|membar\.}}
// CHECK: st.weak.v4.b32
// CHECK-NOT: {{fence\.|\.acquire|\.release|membar\.}}
// CHECK: bar.sync
// CHECK-NOT: {{fence\.|\.acquire|\.release|membar\.|bar\.}}
// CHECK: st.release.sys.b64
// CHECK-NOT: {{fence\.|\.acquire|\.release|membar\.|bar\.}}
// CHECK: ret;
extern "C" __global__ void put_signal_by_block(span<int> to, const int* from, object<set_signal> flag, pe other) {
  symmetric::put_signal(by_block, to, from, flag, 1, other);
}

// CHECK-LABEL: .entry put_signal_by_warp(
// CHECK: st.weak.v4.b32
// CHECK: bar.warp.sync
// CHECK-NOT: {{fence\.|\.acquire|\.release|membar\.|bar\.}}
// CHECK: red.release.sys.global.add.u64
// CHECK-NOT: {{fence\.|\.acquire|\.release|membar\.|bar\.}}
// CHECK: ret;
extern "C" __global__ void put_signal_by_warp(span<int> to, const int* from, object<add_signal> sum, pe other) {
  symmetric::put_signal(by_warp, to, from, sum, 1, other);
}

// CHECK-LABEL: .entry put_signal_by_thread(
// CHECK-NOT: {{fence\.|\.acquire|\.release|membar\.|bar\.}}
// CHECK: st.weak
// CHECK-NOT: {{fence\.|\.acquire|\.release|membar\.|bar\.}}
// CHECK: st.release.sys.b64
// CHECK-NOT: {{fence\.|\.acquire|\.release|membar\.|bar\.}}
// CHECK: ret;
extern "C" __global__ void put_signal_by_thread(span<int> to, const int* from, object<set_signal> flag, pe other) {
  symmetric::put_signal(by_thread, to, from, flag, 1, other);
}

// CHECK-LABEL: .entry notify_after_fence(
// CHECK-NOT: {{fence\.|\.acquire|\.release|membar\.}}
// CHECK: bar.sync
// CHECK: fence.acq_rel.sys;
// CHECK: bar.sync
// CHECK-NOT: {{fence\.|\.acquire|\.release|membar\.}}
// CHECK: st.relaxed.sys.b64
// CHECK-NOT: {{fence\.|\.acquire|\.release|membar\.}}
// CHECK: ret;
extern "C" __global__ void notify_after_fence(object<set_signal> flag, pe other) {
  symmetric::notify(by_block, flag, 1, other, symmetric::fence(by_block, flag.reach()));
}

// CHECK-LABEL: .entry notify_after_quiet(
// CHECK: fence.acq_rel.sys;
// CHECK-NOT: {{fence\.|\.acquire|\.release|membar\.}}
// CHECK: red.relaxed.sys.global.add.u64
// CHECK-NOT: {{fence\.|\.acquire|\.release|membar\.}}
// CHECK: ret;
extern "C" __global__ void notify_after_quiet(object<add_signal> sum, pe other) {
  symmetric::notify(by_thread, sum, 1, other, symmetric::quiet(by_thread, sum.reach()));
}

// CHECK-LABEL: .entry flush_by_block(
// CHECK-NOT: {{fence\.|\.acquire|\.release|membar\.}}
// CHECK: bar.sync
// CHECK-NOT: {{fence\.|\.acquire|\.release|membar\.}}
// CHECK: ret;
extern "C" __global__ void flush_by_block(object<int> data) { symmetric::flush(by_block, data.reach()); }

// CHECK-LABEL: .entry notify_released(
// CHECK-NOT: {{fence\.|\.acquire|membar\.}}
// CHECK: bar.sync
// CHECK: st.release.sys.b64
// CHECK-NOT: {{fence\.|\.acquire|\.release|membar\.|bar\.}}
// CHECK: ret;
extern "C" __global__ void notify_released(object<set_signal> flag, pe other) { symmetric::notify(by_block, flag, 1, other); }

// CHECK-LABEL: .entry notify_relaxed(
// CHECK-NOT: {{fence\.|\.acquire|\.release|membar\.|bar\.}}
// CHECK: st.relaxed.sys.b64
// CHECK-NOT: {{fence\.|\.acquire|\.release|membar\.|bar\.}}
// CHECK: ret;
extern "C" __global__ void notify_relaxed(object<set_signal> flag, pe other) {
  symmetric::notify(by_thread, flag, 1, other, membar::relaxed);
}

// CHECK-LABEL: .entry notify_third(
// CHECK: bar.sync
// CHECK: st.release.sys.b64
// CHECK-NOT: {{fence\.|\.acquire|\.release|membar\.|bar\.}}
// CHECK: ret;
extern "C" __global__ void notify_third(object<set_signal> flag, pe other) {
  symmetric::notify_transitively(by_block, flag, 1, other);
}

// In a wait, one thread acquires at system scope, and informs the other threads through a block barrier.
// CHECK-LABEL: .entry wait_by_block(
// CHECK-NOT: {{fence\.|\.release|membar\.|bar\.}}
// CHECK: ld.acquire.sys.b64
// CHECK-NOT: {{fence\.|\.release|membar\.|bar\.}}
// CHECK: {{bar|barrier}}.{{(cta\.)?}}red.{{.*}}or
// CHECK-NOT: {{fence\.|\.release|membar\.}}
// CHECK: ret;
extern "C" __global__ void wait_by_block(object<set_signal> flag, membar::wait_result* result) {
  *result = symmetric::try_wait(by_block, flag, equals(1), budget);
}

// CHECK-LABEL: .entry test_relaxed(
// CHECK-NOT: {{fence\.|\.acquire|membar\.}}
// CHECK: ld.relaxed.sys.b64
// CHECK-NOT: {{fence\.|\.acquire|membar\.}}
// CHECK: ret;
extern "C" __global__ void test_relaxed(object<set_signal> flag, bool* result) {
  *result = symmetric::test(flag, equals(1), membar::relaxed);
}

// Two fetches with a fence that orders them.
// CHECK-LABEL: .entry fetch_two(
// CHECK-NOT: {{fence\.|\.acquire|\.release|membar\.}}
// CHECK: ld.relaxed.sys.b32
// CHECK: fence.acq_rel.sys;
// CHECK: ld.relaxed.sys.b32
// CHECK-NOT: {{fence\.|\.acquire|\.release|membar\.}}
// CHECK: ret;
extern "C" __global__ void fetch_two(object<int> first, object<int> second, int* result, pe other) {
  result[0] = symmetric::fetch(first, other);
  symmetric::fence(by_thread, first.reach());
  result[1] = symmetric::fetch(second, other);
}

// CHECK-LABEL: .entry put_value(
// CHECK-NOT: {{fence\.|\.acquire|\.release|membar\.}}
// CHECK: st.relaxed.sys.b64
// CHECK-NOT: {{fence\.|\.acquire|\.release|membar\.}}
// CHECK: ret;
extern "C" __global__ void put_value(object<double> to, double value, pe other) { symmetric::put_value(to, value, other); }

// CHECK-LABEL: .entry amos(
// CHECK-NOT: {{fence\.|membar\.}}
// CHECK: red.relaxed.sys{{.*}}add
// CHECK-NOT: {{fence\.|membar\.}}
// CHECK: atom{{.*}}acq_rel{{.*}}
// CHECK-NOT: {{fence\.|membar\.}}
// CHECK: ld.acquire.sys
// CHECK-NOT: {{fence\.|membar\.}}
// CHECK: ret;
extern "C" __global__ void amos(object<symmetric::counter<unsigned>> count, unsigned* result, pe other) {
  symmetric::amo_add(count, 1U, other);
  result[0] = symmetric::amo_fetch_add(count, 1U, other, membar::acq_rel);
  result[1] = symmetric::amo_load(count, other, membar::acquire);
}

// A packed message: three words of 16 bytes, each of four 32-bit pieces, and no memory order.
// CHECK-LABEL: .entry put_packed(
// CHECK-NOT: {{fence\.|\.acquire|\.release|membar\.|ld\.[a-z.]*[bu]8}}
// CHECK: st.relaxed.sys.b128
// CHECK-NOT: {{fence\.|\.acquire|\.release|membar\.|ld\.[a-z.]*[bu]8}}
// CHECK: ret;
extern "C" __global__ void put_packed(object<packed<message>> box, const message* from, pe other) {
  symmetric::put_packed(by_warp, box, from, 1, other);
}

// CHECK-LABEL: .entry take_packed(
// CHECK-NOT: {{fence\.|\.acquire|\.release|membar\.}}
// CHECK: ld.relaxed.sys.b128
// CHECK-NOT: {{fence\.|\.acquire|\.release|membar\.}}
// CHECK: ret;
extern "C" __global__ void take_packed(object<packed<message>> box, message* to, membar::wait_result* result) {
  *result = symmetric::try_take_packed(by_warp, box, to, 1, budget);
}

// In a long message of 67 words, each lane of a warp has two or three words. It reads three words, without a branch between
// them, and votes; then the warp votes on whether its time is up.
// CHECK-LABEL: .entry take_long_packed(
// CHECK: ld.relaxed.sys.b128
// CHECK-NOT: {{fence\.|\.acquire|\.release|membar\.|bar\.|bra|vote}}
// CHECK: ld.relaxed.sys.b128
// CHECK-NOT: {{fence\.|\.acquire|\.release|membar\.|bar\.|bra|vote}}
// CHECK: ld.relaxed.sys.b128
// CHECK-NOT: {{fence\.|\.acquire|\.release|membar\.|bar\.|bra|ld\.}}
// CHECK: vote.sync.all
// CHECK-NOT: {{fence\.|\.acquire|\.release|membar\.}}
// CHECK: globaltimer
// CHECK-NOT: {{fence\.|\.acquire|\.release|membar\.|bra}}
// CHECK: vote.sync.any
// CHECK-NOT: {{fence\.|\.acquire|\.release|membar\.}}
// CHECK: ret;
extern "C" __global__ void take_long_packed(object<packed<long_message>> box, long_message* to, membar::wait_result* result) {
  *result = symmetric::try_take_packed(by_warp, box, to, 1, budget);
}

// If a single thread receives a message, it issues the loads of all words before it uses or stores the first word.
// CHECK-LABEL: .entry pass_packed_by_thread(
// CHECK-NOT: {{fence\.|\.acquire|\.release|membar\.|bar\.|bra|local|[ls][dt]\.[a-z.]*[bu]8}}
// CHECK-COUNT-3: ld.relaxed.sys.b128
// CHECK-NOT: {{fence\.|\.acquire|\.release|membar\.|bar\.|local|[ls][dt]\.[a-z.]*[bu]8}}
// CHECK: st.relaxed.sys.b128
// CHECK-NOT: {{fence\.|\.acquire|\.release|membar\.|bar\.|bra|ld\.|st\.}}
// CHECK: st.relaxed.sys.b128
// CHECK-NOT: {{fence\.|\.acquire|\.release|membar\.|bar\.|bra|ld\.|st\.}}
// CHECK: st.relaxed.sys.b128
// CHECK-NOT: {{fence\.|\.acquire|\.release|membar\.|bar\.|bra|ld\.|st\.}}
// CHECK: ret;
extern "C" __global__ void pass_packed_by_thread(object<packed<message>> box, pe other) {
  message passed;
  if (symmetric::test_packed(box, &passed, 1)) {
    symmetric::put_packed(by_thread, box, &passed, 2, other);  // the message never leaves the registers
  }
}

// CHECK-LABEL: .entry barrier_by_block(
// CHECK: bar.sync
// CHECK: st.release.sys.b64
// CHECK: ld.acquire.sys.b64
// CHECK: {{bar|barrier}}.{{(cta\.)?}}red.{{.*}}or
// CHECK: ret;
extern "C" __global__ void barrier_by_block(span<symmetric::barrier_word> words, membar::wait_result* result) {
  *result = symmetric::try_barrier(by_block, words, budget);
}

// A thread that stores to several PEs releases once with a fence; if there is only one other PE, the store itself releases.
// CHECK-LABEL: .entry barrier_by_thread(
// CHECK-NOT: {{fence\.|membar\.}}
// SM_80: fence.acq_rel.sys;
// SM_90: fence.release.sys;
// CHECK-NOT: {{fence\.|membar\.}}
// CHECK: ret;
extern "C" __global__ void barrier_by_thread(span<symmetric::barrier_word> words, membar::wait_result* result) {
  *result = symmetric::try_barrier(by_thread, words, budget);
}

// CHECK-LABEL: .entry barrier_relaxed(
// CHECK-NOT: {{fence\.|\.acquire|\.release|membar\.}}
// CHECK: ret;
extern "C" __global__ void barrier_relaxed(span<symmetric::barrier_word> words, membar::wait_result* result) {
  *result = symmetric::try_barrier(by_block, words, budget, membar::relaxed);
}

// The halves of a barrier: the first half releases to each other PE and loads none of their words; the second half contains
// acquire loads and no store.
// CHECK-LABEL: .entry arrive_by_block(
// CHECK-NOT: {{ld\.acquire|fence\.acquire}}
// CHECK: bar.sync
// CHECK: st.release.sys.b64
// CHECK-NOT: {{ld\.acquire|fence\.acquire}}
// CHECK: ret;
extern "C" __global__ void arrive_by_block(span<symmetric::barrier_word> words, unsigned long long* number) {
  *number = symmetric::arrive(by_block, words).number();
}

// CHECK-LABEL: .entry wait_for_arrival_by_block(
// CHECK-NOT: {{fence\.|\.release|membar\.|st\.relaxed\.sys}}
// CHECK: ld.acquire.sys.b64
// CHECK-NOT: {{fence\.|\.release|membar\.|st\.relaxed\.sys}}
// CHECK: {{bar|barrier}}.{{(cta\.)?}}red.{{.*}}or
// CHECK-NOT: {{fence\.|\.release|membar\.|st\.relaxed\.sys}}
// CHECK: ret;
extern "C" __global__ void wait_for_arrival_by_block(span<symmetric::barrier_word> words, membar::wait_result* result) {
  *result = symmetric::try_wait(by_block, words, symmetric::last_arrival(words), budget);
}

// A team's barrier has the same orders.
// CHECK-LABEL: .entry barrier_of_a_team(
// CHECK: bar.sync
// CHECK: st.release.sys.b64
// CHECK: ld.acquire.sys.b64
// CHECK: {{bar|barrier}}.{{(cta\.)?}}red.{{.*}}or
// CHECK: ret;
extern "C" __global__ void barrier_of_a_team(symmetric::team_words<> words, membar::wait_result* result) {
  *result = symmetric::try_barrier(by_block, words, budget);
}

// CHECK-LABEL: .entry split_barrier_relaxed(
// CHECK-NOT: {{fence\.|\.acquire|\.release|membar\.}}
// CHECK: ret;
extern "C" __global__ void split_barrier_relaxed(symmetric::team_words<> words, membar::wait_result* result) {
  const auto own = symmetric::arrive(by_block, words, membar::relaxed);
  *result = symmetric::try_wait(by_block, words, own, budget, membar::relaxed);
}

// A backend over a network. Its markers show where it must make this PE's memory consistent: 6 after a signal, 7 after another
// PE's barrier word.
struct distant_reach {
  __device__ pe self() const { return pe(0); }
  __device__ int count() const { return 2; }
  __device__ void* direct(void*, pe) const { return nullptr; }
};
struct distant {
  static constexpr symmetric::visibility visible = symmetric::visibility::destination_only;
  using reach = distant_reach;
};
template <>
struct symmetric::detail::transport<distant_reach> {
  template <class Group, class Others, class Order>
  __device__ static void arrive_everywhere(Group, const distant_reach&, const Others&, unsigned long long*, unsigned long long,
                                           Order) {
    Group::sync();
  }
  __device__ static void arrived(unsigned long long*, unsigned long long) { asm volatile("pmevent 6;" ::: "memory"); }
  __device__ static void arrived_from(const distant_reach&, unsigned long long*, unsigned long long, pe) {
    asm volatile("pmevent 7;" ::: "memory");
  }
};

// CHECK-LABEL: .entry barrier_over_a_network(
// CHECK-NOT: pmevent
// CHECK: ld.acquire.sys.b64
// CHECK: pmevent {{.*}}7;
// CHECK: {{bar|barrier}}.{{(cta\.)?}}red.{{.*}}or
// CHECK: ret;
extern "C" __global__ void barrier_over_a_network(span<symmetric::barrier_word, distant> words, membar::wait_result* result) {
  *result = symmetric::try_barrier(by_block, words, budget);
}

// CHECK-LABEL: .entry wait_for_arrival_over_a_network(
// CHECK-NOT: pmevent
// CHECK: ld.acquire.sys.b64
// CHECK: pmevent {{.*}}7;
// CHECK: {{bar|barrier}}.{{(cta\.)?}}red.{{.*}}or
// CHECK: ret;
extern "C" __global__ void wait_for_arrival_over_a_network(symmetric::team_words<distant> words, membar::wait_result* result) {
  *result = symmetric::try_wait(by_block, words, symmetric::last_arrival(words), budget);
}

// CHECK-LABEL: .entry wait_over_a_network(
// CHECK-NOT: pmevent
// CHECK: ld.acquire.sys.b64
// CHECK: pmevent {{.*}}6;
// CHECK: bar.sync
// CHECK: ret;
extern "C" __global__ void wait_over_a_network(object<set_signal, distant> flag) {
  symmetric::wait(by_block, flag, equals(1), budget);
}

// A relaxed operation does not order later reads, so it need not make this PE's memory consistent.
// CHECK-LABEL: .entry relaxed_over_a_network(
// CHECK-NOT: pmevent
// CHECK: ret;
extern "C" __global__ void relaxed_over_a_network(span<symmetric::barrier_word, distant> words, membar::wait_result* result) {
  *result = symmetric::try_barrier(by_block, words, budget, membar::relaxed);
}
