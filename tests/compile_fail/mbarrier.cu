// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "refused.hpp"

#include <membar/mbarrier.cuh>

using namespace membar;

template <class T>
constexpr bool complete = sizeof(T) != 0;

// expect: an mbarrier is in shared memory, which only the threads of a
REFUSED(an_mbarrier_has_no_device_scope, static_assert(complete<mbarrier<thread_scope::device>>));
static_assert(complete<mbarrier<thread_scope::cluster>>);

__global__ void barriers(int* out) {
  __shared__ mbarrier<thread_scope::block> own;
  __shared__ mbarrier<thread_scope::cluster> wide;
  // expect: an arrival cannot acquire, because it reads nothing: use
  REFUSED(an_arrival_acquires_nothing, own.arrive(acquire));
  const mbarrier_token token = own.arrive(release);
  // expect: an arrival cannot acquire, because it reads nothing: use
  REFUSED(a_counted_arrival_acquires_nothing, own.arrive(acq_rel, 2));
  own.arrive(relaxed, 2);
  // expect: an arrival cannot acquire, because it reads nothing: use
  REFUSED(an_expecting_arrival_acquires_nothing, own.arrive_expect(16, seq_cst));
  own.arrive_expect(16, release);
  // expect: an arrival cannot acquire, because it reads nothing: use
  REFUSED(a_dropping_arrival_acquires_nothing, own.arrive_drop(acquire));
  own.arrive_drop(release);
  // expect: a wait for a phase cannot release, because it writes nothing:
  REFUSED(a_test_releases_nothing, out[0] = own.test_wait(token, release));
  out[0] = own.test_wait(token, acquire);
  // expect: a wait for a phase cannot release, because it writes nothing:
  REFUSED(a_try_releases_nothing, out[0] = own.try_wait_parity(0, acq_rel));
  out[0] = own.try_wait_parity(0, relaxed);
  // expect: PTX has arrive.noComplete only at block scope
  REFUSED(an_arrival_of_a_cluster_may_complete, wide.arrive_no_complete(1));
  own.arrive_no_complete(1);
  // expect: an mbarrier at which another block arrives must have cluster
  REFUSED(an_mbarrier_of_a_block_is_reached_from_no_other, own.in_block(1).arrive(release));
  wide.in_block(1).arrive(release);
  // expect: an arrival cannot acquire, because it reads nothing: use
  REFUSED(a_remote_arrival_acquires_nothing, wide.in_block(1).arrive(acquire));
  wide.in_block(1).arrive(relaxed);
  // expect: cannot be referenced
  REFUSED(an_mbarrier_is_not_copied, static_cast<void>(mbarrier<thread_scope::cluster>(wide)));
  // expect: no instance of overloaded function "membar::v0_3::mbarrier<Scope>::arrive
  REFUSED(an_arrival_has_no_default_order, own.arrive());
  // expect: no instance of function template
  REFUSED(a_wait_has_a_budget, out[1] = own.wait(token, acquire) == wait_result::done);
  out[1] = own.wait(token, acquire, wait_budget::milliseconds(1)) == wait_result::done;
}
