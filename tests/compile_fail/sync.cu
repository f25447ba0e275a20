// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <membar/sync/cross_barrier.cuh>
#include <membar/sync/grid_barrier.cuh>
#include <membar/sync/mpsc_channel.cuh>
#include <membar/sync/packed_channel.cuh>
#include <membar/sync/publisher.cuh>
#include <membar/sync/sequence_lock.cuh>
#include <membar/sync/spsc_channel.cuh>

using membar::thread_scope;
using membar::wait_budget;

struct not_trivial {
  __device__ not_trivial(const not_trivial& other) : value(other.value) {}
  int value;
};
struct twelve_bytes {
  int values[3];
};
struct sixteen_bytes {
  int values[4];
};

template <class T>
constexpr unsigned long long complete = sizeof(T);

#ifdef RULE_a_publisher_widens  // expect: a publisher widens: the scope it publishes at is wider than the one it is fed at
static_assert(complete<membar::publisher<1, 2, thread_scope::system, thread_scope::device>> != 0);
#else
static_assert(complete<membar::publisher<1, 2, thread_scope::block, thread_scope::device>> != 0);
#endif
#ifdef RULE_a_publisher_does_not_keep_the_scope  // expect: a publisher widens
static_assert(complete<membar::publisher<1, 2, thread_scope::device, thread_scope::device>> != 0);
#else
static_assert(complete<membar::publisher<1, 2, thread_scope::device, thread_scope::system>> != 0);
#endif
#ifdef RULE_a_lag_is_a_power_of_two  // expect: the lag of a publisher is a power of two
static_assert(complete<membar::publisher<1, 3>> != 0);
#else
static_assert(complete<membar::publisher<1, 4>> != 0);
#endif
#ifdef RULE_a_publisher_has_a_source  // expect: a publisher has at least one source
static_assert(complete<membar::publisher<0, 4>> != 0);
#else
static_assert(complete<membar::publisher<33, 4>> != 0);
#endif
#ifdef RULE_a_message_is_trivially_copyable  // expect: a message of a channel is trivially copyable
static_assert(complete<membar::spsc_channel<not_trivial, 4, thread_scope::device>> != 0);
#else
static_assert(complete<membar::spsc_channel<sixteen_bytes, 4, thread_scope::device>> != 0);
#endif
#ifdef RULE_a_message_of_many_producers_is_trivially_copyable  // expect: a message of a channel is trivially copyable
static_assert(complete<membar::mpsc_channel<not_trivial, 4, thread_scope::device>> != 0);
#else
static_assert(complete<membar::mpsc_channel<sixteen_bytes, 4, thread_scope::device>> != 0);
#endif
#ifdef RULE_a_capacity_is_a_power_of_two  // expect: the capacity of a channel is a power of two
static_assert(complete<membar::spsc_channel<int, 12, thread_scope::device>> != 0);
#else
static_assert(complete<membar::spsc_channel<int, 1, thread_scope::device>> != 0);
#endif
#ifdef RULE_a_packed_message_leaves_room_for_its_number  // expect: a packed message has at most 12 bytes
static_assert(complete<membar::packed_spsc_channel<sixteen_bytes, 4, thread_scope::device>> != 0);
#else
static_assert(complete<membar::packed_spsc_channel<twelve_bytes, 4, thread_scope::device>> != 0);
#endif
#ifdef RULE_a_sequence_lock_holds_what_is_trivially_copyable  // expect: the value of a sequence lock is trivially copyable
static_assert(complete<membar::sequence_lock<not_trivial, thread_scope::device>> != 0);
#else
static_assert(complete<membar::sequence_lock<sixteen_bytes, thread_scope::device>> != 0);
#endif

__global__ void barriers(membar::grid_barrier<thread_scope::device>* grid, membar::cross_barrier<2>* cross,
                         membar::wait_result* result) {
  constexpr wait_budget budget = wait_budget::milliseconds(1);
#ifdef RULE_an_arrival_acquires_nothing  // expect: arriving at a barrier takes relaxed or release
  auto arrival = grid->arrive(membar::acquire);
#else
  auto arrival = grid->arrive(membar::release);
#endif
#ifdef RULE_an_arrival_is_not_acq_rel  // expect: arriving at a barrier takes relaxed or release
  arrival = grid->arrive(membar::acq_rel);
#else
  arrival = grid->arrive(membar::relaxed);
#endif
#ifdef RULE_a_wait_releases_nothing  // expect: waiting at a barrier takes relaxed or acquire
  *result = grid->wait(arrival, membar::release, budget);
#else
  *result = grid->wait(arrival, membar::acquire, budget);
#endif
#ifdef RULE_a_wait_has_a_budget  // expect: no instance of function template
  *result = grid->wait(arrival, membar::relaxed);
#else
  *result = grid->wait(arrival, membar::relaxed, budget);
#endif
#ifdef RULE_a_budget_has_a_unit  // expect: is inaccessible
  *result = grid->sync(wait_budget(5));
#else
  *result = grid->sync(wait_budget::nanoseconds(5));
#endif
#ifdef RULE_a_rank_that_arrives_acquires_nothing  // expect: arriving at a barrier takes relaxed or release
  cross->arrive(membar::acquire);
#else
  cross->arrive(membar::release);
#endif
#ifdef RULE_a_rank_that_waits_releases_nothing  // expect: waiting at a barrier takes relaxed or acquire
  *result = cross->wait(membar::release, budget);
#else
  *result = cross->wait(membar::acquire, budget);
#endif
#ifdef RULE_an_arrival_is_not_dropped  // expect: ignoring return value
  grid->arrive(membar::relaxed);
#else
  arrival = grid->arrive(membar::relaxed);
#endif
}
