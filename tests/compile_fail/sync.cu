// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "refused.hpp"

#include <membar/sync/cross_barrier.cuh>
#include <membar/sync/grid_barrier.cuh>
#include <membar/sync/mpmc_channel.cuh>
#include <membar/sync/mpsc_channel.cuh>
#include <membar/sync/packed_channel.cuh>
#include <membar/sync/publisher.cuh>
#include <membar/sync/sequence_lock.cuh>
#include <membar/sync/spsc_channel.cuh>
#include <membar/sync/ticket_lock.cuh>

using namespace membar;

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
constexpr bool complete = sizeof(T) != 0;

// expect: the scope at which a publisher publishes must be wider than the scope of its sources
REFUSED(a_publisher_widens, static_assert(complete<publisher<1, 2, thread_scope::system, thread_scope::device>>));
static_assert(complete<publisher<1, 2, thread_scope::block, thread_scope::device>>);
// expect: must be wider than the scope of its sources
REFUSED(a_publisher_does_not_keep_the_scope,
        static_assert(complete<publisher<1, 2, thread_scope::device, thread_scope::device>>));
static_assert(complete<publisher<1, 2, thread_scope::device, thread_scope::system>>);
// expect: the lag of a publisher must be a power of two
REFUSED(a_lag_is_a_power_of_two, static_assert(complete<publisher<1, 3>>));
static_assert(complete<publisher<1, 4>>);
// expect: a publisher needs at least one source
REFUSED(a_publisher_has_a_source, static_assert(complete<publisher<0, 4>>));
static_assert(complete<publisher<33, 4>>);
// expect: a channel's message type must be trivially copyable
REFUSED(a_message_is_trivially_copyable, static_assert(complete<spsc_channel<not_trivial, 4, thread_scope::device>>));
static_assert(complete<spsc_channel<sixteen_bytes, 4, thread_scope::device>>);
// expect: a channel's message type must be trivially copyable
REFUSED(a_message_of_many_producers_is_trivially_copyable,
        static_assert(complete<mpsc_channel<not_trivial, 4, thread_scope::device>>));
static_assert(complete<mpsc_channel<sixteen_bytes, 4, thread_scope::device>>);
// expect: a channel's message type must be trivially copyable
REFUSED(a_message_of_many_consumers_is_trivially_copyable,
        static_assert(complete<mpmc_channel<not_trivial, 4, thread_scope::device>>));
static_assert(complete<mpmc_channel<sixteen_bytes, 4, thread_scope::device>>);
// expect: the capacity of a channel must be a power of two
REFUSED(a_channel_of_many_consumers_has_a_power_of_two, static_assert(complete<mpmc_channel<int, 3, thread_scope::device>>));
static_assert(complete<mpmc_channel<int, 2, thread_scope::device>>);
// expect: the capacity of a channel must be a power of two
REFUSED(a_capacity_is_a_power_of_two, static_assert(complete<spsc_channel<int, 12, thread_scope::device>>));
static_assert(complete<spsc_channel<int, 1, thread_scope::device>>);
// expect: a packed message can have at most 12 bytes: use spsc_channel or
REFUSED(a_packed_message_leaves_room_for_its_number,
        static_assert(complete<packed_spsc_channel<sixteen_bytes, 4, thread_scope::device>>));
static_assert(complete<packed_spsc_channel<twelve_bytes, 4, thread_scope::device>>);
// expect: the value of a sequence lock must be trivially copyable
REFUSED(a_sequence_lock_holds_what_is_trivially_copyable,
        static_assert(complete<sequence_lock<not_trivial, thread_scope::device>>));
static_assert(complete<sequence_lock<sixteen_bytes, thread_scope::device>>);

__global__ void barriers(grid_barrier<thread_scope::device>* grid, cross_barrier<2>* cross, wait_result* result) {
  constexpr wait_budget budget = wait_budget::milliseconds(1);
  // expect: arriving at a barrier cannot acquire: use relaxed or release,
  REFUSED(an_arrival_acquires_nothing, auto refused_arrival = grid->arrive(acquire));
  auto arrival = grid->arrive(release);
  // expect: arriving at a barrier cannot acquire: use relaxed or release,
  REFUSED(an_arrival_is_not_acq_rel, arrival = grid->arrive(acq_rel));
  arrival = grid->arrive(relaxed);
  // expect: waiting at a barrier cannot release: use relaxed or acquire,
  REFUSED(a_wait_releases_nothing, *result = grid->wait(arrival, release, budget));
  *result = grid->wait(arrival, acquire, budget);
  // expect: no instance of function template
  REFUSED(a_wait_has_a_budget, *result = grid->wait(arrival, relaxed));
  *result = grid->wait(arrival, relaxed, budget);
  // expect: is inaccessible
  REFUSED(a_budget_has_a_unit, *result = grid->sync(wait_budget(5)));
  *result = grid->sync(wait_budget::nanoseconds(5));
  // expect: arriving at a barrier cannot acquire: use relaxed or release,
  REFUSED(a_rank_that_arrives_acquires_nothing, cross->arrive(acquire));
  cross->arrive(release);
  // expect: waiting at a barrier cannot release: use relaxed or acquire,
  REFUSED(a_rank_that_waits_releases_nothing, *result = cross->wait(release, budget));
  *result = cross->wait(acquire, budget);
  // expect: ignoring return value
  REFUSED(an_arrival_is_not_dropped, grid->arrive(relaxed));
  arrival = grid->arrive(relaxed);
}

// A result that is not checked may be the result of a timed-out wait.
__global__ void results(membar::ticket_lock<thread_scope::device>* lock,
                        membar::spsc_channel<int, 4, thread_scope::device>* channel,
                        membar::grid_barrier<thread_scope::device>* grid,
                        membar::sequence_lock<int, thread_scope::device>* value, int* out) {
  constexpr wait_budget budget = wait_budget::milliseconds(1);
  // expect: only 'done' means that the awaited event happened: check the
  REFUSED(a_lock_that_timed_out_is_not_entered, lock->lock(budget));
  if (lock->lock(budget) == membar::wait_result::done) {
    lock->unlock();
  }
  // expect: only 'done' means that the awaited event happened: check the
  REFUSED(a_lock_that_was_not_free_is_not_entered, lock->try_lock());
  if (lock->try_lock() == membar::wait_result::done) {
    lock->unlock();
  }
  membar::spsc_channel<int, 4, thread_scope::device>::producer to(*channel);
  // expect: only 'done' means that the awaited event happened: check the
  REFUSED(a_message_that_had_no_room_is_not_sent, to.push(1, budget));
  *out = to.push(1, budget) == membar::wait_result::done ? 1 : 0;
  membar::spsc_channel<int, 4, thread_scope::device>::consumer from(*channel);
  // expect: only 'done' means that the awaited event happened: check the
  REFUSED(a_message_that_did_not_come_is_not_read, from.try_pop(*out));
  *out = from.try_pop(*out) == membar::wait_result::done ? 1 : 0;
  // expect: only 'done' means that the awaited event happened: check the
  REFUSED(a_barrier_that_nobody_came_to_is_not_passed, grid->sync(budget));
  *out = grid->sync(budget) == membar::wait_result::done ? 1 : 0;
  // expect: only 'done' means that the awaited event happened: check the
  REFUSED(a_value_that_was_not_copied_is_not_used, value->try_read(*out));
  *out = value->try_read(*out) == membar::wait_result::done ? *out : 0;
}
