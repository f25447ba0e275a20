// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "refused.hpp"

#include <membar/symmetric/amo.cuh>
#include <membar/symmetric/barrier.cuh>
#include <membar/symmetric/packed.cuh>
#include <membar/symmetric/wait.cuh>

namespace symmetric = membar::symmetric;
using membar::thread_scope, membar::symmetric::amo, membar::symmetric::counter, membar::symmetric::object,
    membar::symmetric::pe, membar::symmetric::span;

constexpr membar::wait_budget budget = membar::wait_budget::milliseconds(1);

struct padded {
  char small;
  int large;
};
struct alignas(8) whole {
  int first;
  int second;
};
struct not_trivial {
  __device__ not_trivial(const not_trivial& other) : value(other.value) {}
  int value;
};

using network = membar::symmetric::basic_peer_backend<membar::symmetric::visibility::destination_only>;

__global__ void copies(span<int> data, span<float> floats, object<padded> with_gap, object<whole> one,
                       object<counter<int>> count, object<symmetric::signal<symmetric::set>> flag, int* own, pe other) {
  // expect: a private pointer is not a symmetric address
  REFUSED(a_private_pointer_is_not_put_to, symmetric::put(symmetric::by_block, own, own, other));
  symmetric::put(symmetric::by_block, data, own, other);
  // expect: the result of at(pe) is an address of another PE
  REFUSED(the_address_of_another_pe_is_not_put_to, symmetric::put(symmetric::by_block, data.at(other), own, other));
  symmetric::put(symmetric::by_warp, data, data.local(), other);
  // expect: the result of at(pe) is an address of another PE
  REFUSED(the_address_of_another_pe_is_not_got_from, symmetric::get(symmetric::by_thread, own, data.at(other), other));
  symmetric::get(symmetric::by_thread, own, data, other);
  // expect: memory of this PE, not the result of at(pe)
  REFUSED(the_address_of_another_pe_is_no_source, symmetric::put(symmetric::by_thread, data, data.at(other), other));
  symmetric::put(symmetric::by_thread, data, data.local(), other);
  // expect: cannot be referenced -- it is a deleted function
  REFUSED(a_pointer_becomes_no_symmetric_address, const object<int> refused_made(data.at(other).data()));
  const object<int> made(data[1]);
  // expect: cannot be referenced -- it is a deleted function
  REFUSED(what_is_another_pes_becomes_no_symmetric_address, const span<int> refused_theirs(data.at(other)));
  const span<int> theirs(data.subspan(1, 2));
  // expect: an integer is not a PE, because it could also be a value or a device: write
  REFUSED(a_pe_is_no_integer, symmetric::put_value(made, 1, 1));
  symmetric::put_value(made, 1, pe(1));
  // expect: pointer to objects of the symmetric object's type
  REFUSED(a_copy_keeps_the_type, symmetric::put(symmetric::by_thread, floats, own, other));
  symmetric::put(symmetric::by_thread, theirs, own, other);
  // expect: by_thread, by_warp or by_block
  REFUSED(an_operation_has_a_group, symmetric::put(32, data, own, other));
  symmetric::put_nonblocking(symmetric::by_warp, data, own, other);
  // expect: this type has bytes that do not belong to its value
  REFUSED(a_padded_struct_is_not_put_at_a_fixed_size, symmetric::put_value(with_gap, padded{'a', 1}, other));
  symmetric::put_value(one, whole{1, 2}, other);
  // expect: this type has bytes that do not belong to its value
  REFUSED(a_padded_struct_is_not_fetched_at_a_fixed_size, *own = symmetric::fetch(with_gap, other).large);
  *own = symmetric::fetch(one, other).second;
  // expect: a fixed-size operation transfers one object: select one
  REFUSED(an_operation_of_fixed_size_moves_one_object, *own = symmetric::fetch(data, other));
  *own = symmetric::fetch(data[0], other);
  // expect: only AMOs of its own type may change a counter: a put or a get
  REFUSED(a_counter_is_not_put_to, symmetric::put(symmetric::by_thread, count, own, other));
  symmetric::amo_store(count, 1, other);
  // expect: a signal is not data: only notify and put_signal may change it,
  REFUSED(a_signal_is_not_put_to, symmetric::put_value(flag, 1, other));
  symmetric::notify(symmetric::by_thread, flag, 1, other);
  // expect: a signal, a counter, a barrier word or a packed message cannot
  REFUSED(a_signal_has_no_plain_access, *own = flag.at(other) ? 1 : 0);
  *own = static_cast<int>(symmetric::signal_value(flag));
}

__global__ void signals(span<int> data, object<symmetric::signal<symmetric::set>> flag,
                        object<symmetric::signal<symmetric::add>> sum, object<counter<int>> count,
                        object<symmetric::signal<symmetric::set>, network> far, int* own, pe other) {
  // expect: only a signal can be notified, waited for and tested: data may
  REFUSED(data_is_not_waited_for, symmetric::wait(symmetric::by_block, data, symmetric::at_least(1), budget));
  symmetric::wait(symmetric::by_block, flag, symmetric::at_least(1), budget);
  // expect: only a signal can be notified, waited for and tested: data may
  REFUSED(a_counter_is_not_waited_for, symmetric::wait(symmetric::by_block, count, symmetric::at_least(1), budget));
  symmetric::wait(symmetric::by_block, sum, symmetric::at_least(1), budget);
  // expect: a signal<add> may skip a value between two polls: wait until it
  REFUSED(a_sum_is_not_waited_for_exactly, symmetric::wait(symmetric::by_block, sum, symmetric::equals(1), budget));
  symmetric::wait(symmetric::by_block, flag, symmetric::equals(1), budget);
  // expect: a signal<add> may skip a value between two polls: wait until it
  REFUSED(a_sum_is_not_tested_exactly, *own = symmetric::test(sum, symmetric::equals(1)) ? 1 : 0);
  *own = symmetric::test(sum, symmetric::at_least(1)) ? 1 : 0;
  // expect: wait for it at system scope
  REFUSED(a_signal_is_not_waited_for_at_device_scope,
          symmetric::wait<thread_scope::device>(symmetric::by_block, flag, symmetric::equals(1), budget));
  symmetric::wait<thread_scope::system>(symmetric::by_block, flag, symmetric::equals(1), budget);
  // expect: wait for it at system scope
  REFUSED(a_signal_is_not_tested_at_device_scope,
          *own = symmetric::test<thread_scope::device>(flag, symmetric::equals(1)) ? 1 : 0);
  *own = symmetric::test<thread_scope::system>(flag, symmetric::equals(1)) ? 1 : 0;
  // expect: no instance of overloaded function
  REFUSED(a_wait_has_a_budget, symmetric::wait(symmetric::by_block, flag, symmetric::equals(1)));
  symmetric::wait(symmetric::by_block, flag, symmetric::equals(1), budget);
  // expect: a wait cannot release, because it writes nothing: use acquire
  REFUSED(a_wait_releases_nothing, symmetric::wait(symmetric::by_block, flag, symmetric::equals(1), budget, membar::release));
  symmetric::wait(symmetric::by_block, flag, symmetric::equals(1), budget, membar::relaxed);
  // expect: ignoring return value
  REFUSED(how_a_wait_ended_is_not_dropped, symmetric::try_wait(symmetric::by_block, flag, symmetric::equals(1), budget));
  *own = symmetric::try_wait(symmetric::by_block, flag, symmetric::equals(1), budget) == membar::wait_result::done ? 1 : 0;
  // expect: a notification cannot acquire, because it reads nothing: use
  REFUSED(a_notification_acquires_nothing, symmetric::notify(symmetric::by_block, flag, 1, other, membar::acquire));
  symmetric::notify(symmetric::by_block, flag, 1, other, membar::release);
  // expect: only a signal can be notified, waited for and tested: data may
  REFUSED(data_is_not_notified, symmetric::notify(symmetric::by_block, data, 1, other));
  symmetric::notify(symmetric::by_block, sum, 1, other);
  // expect: a put and its signal must use the same backend: allocate both
  REFUSED(a_put_and_its_signal_have_one_backend, symmetric::put_signal(symmetric::by_block, data, own, far, 1, other));
  symmetric::put_signal(symmetric::by_block, data, own, flag, 1, other);
  // expect: an integer is not a PE, because it could also be a value or a device: write
  REFUSED(a_signal_is_put_to_a_pe, symmetric::put_signal(symmetric::by_block, data, own, flag, 1, 1));
  symmetric::put_signal(symmetric::by_block, data, own, flag, 1, pe(1));
  // expect: a put and its signal must use the same backend: allocate both
  REFUSED(a_put_and_its_signal_have_one_backend_without_blocking,
          symmetric::put_signal_nonblocking(symmetric::by_block, data, own, far, 1, other));
  symmetric::put_signal_nonblocking(symmetric::by_block, data, own, sum, 1, other);
  // expect: a transitive notification needs the visibility class 'everywhere'
  REFUSED(a_transitive_notification_needs_visibility_everywhere,
          symmetric::notify_transitively(symmetric::by_block, far, 1, other));
  symmetric::notify_transitively(symmetric::by_block, flag, 1, other);
  // expect: a flush does not complete operations at another PE: use fence
  REFUSED(a_flush_comes_before_no_notification,
          symmetric::notify(symmetric::by_block, flag, 1, other, symmetric::flush(symmetric::by_block, flag.reach())));
  symmetric::notify(symmetric::by_block, flag, 1, other, symmetric::fence(symmetric::by_block, flag.reach()));
  // expect: call the fence in the notification's argument list: otherwise, a put
  REFUSED(a_fence_is_not_kept_for_later, const auto refused_fence = symmetric::fence(symmetric::by_block, flag.reach());
          symmetric::notify(symmetric::by_block, flag, 1, other, refused_fence));
  // expect: a fence orders only notifications of the threads that execute
  REFUSED(only_the_threads_that_fenced_notify,
          symmetric::notify(symmetric::by_thread, flag, 1, other, symmetric::fence(symmetric::by_block, flag.reach())));
  symmetric::notify(symmetric::by_block, flag, 1, other, symmetric::quiet(symmetric::by_block, flag.reach()));
}

__global__ void words(span<int> data, object<counter<int>> count, object<counter<unsigned, amo::add>> sum,
                      object<counter<float>> real, object<symmetric::packed<whole>> box,
                      object<symmetric::packed<whole>, network> far, object<symmetric::packed<padded>> with_gap,
                      span<symmetric::barrier_word> barrier, whole* own, padded* gap, pe other) {
  // expect: an AMO needs a counter: on data or a signal, it would not be
  REFUSED(an_amo_takes_a_counter, symmetric::amo_add(data[0], 1, other));
  symmetric::amo_add(count, 1, other);
  // expect: the counter's type does not list this AMO: add it to
  REFUSED(an_amo_that_is_not_listed_is_not_done, own->first = static_cast<int>(symmetric::amo_fetch_add(sum, 1U, other)));
  symmetric::amo_add(sum, 1U, other);
  // expect: the counter's type does not list this AMO: add it to
  REFUSED(a_counter_of_floats_has_no_sum_unless_listed, symmetric::amo_add(real, 1.0F, other));
  symmetric::amo_store(real, 1.0F, other);
  // expect: a symmetric object has one type and one backend
  REFUSED(amos_of_two_types_are_not_mixed, const object<counter<unsigned>> refused_other_type(count));
  const object<counter<int>> other_type(count);
  // expect: an AMO without a result cannot acquire, because it returns
  REFUSED(an_amo_without_a_result_acquires_nothing, symmetric::amo_add(other_type, 1, other, membar::acquire));
  symmetric::amo_add(other_type, 1, other, membar::release);
  // expect: packed messages need the visibility class 'everywhere', because
  REFUSED(a_packed_message_needs_visibility_everywhere, symmetric::put_packed(symmetric::by_thread, far, own, 1, other));
  symmetric::put_packed(symmetric::by_thread, box, own, 1, other);
  symmetric::put_packed(symmetric::by_thread, with_gap, gap, 1, other);
  // expect: a packed message must have the same type as its box, but the
  REFUSED(a_packed_message_has_the_type_of_its_box, symmetric::put_packed(symmetric::by_thread, box, gap, 1, other));
  symmetric::put_packed(symmetric::by_thread, box, own, 1, other);
  // expect: a packed message must be sent to a symmetric object of type
  REFUSED(a_packed_message_goes_to_a_box, symmetric::put_packed(symmetric::by_thread, data, own, 1, other));
  symmetric::take_packed(symmetric::by_thread, box, own, 1, budget);
  // expect: a barrier needs the words that a heap's allocate_barrier
  REFUSED(a_barrier_takes_barrier_words, symmetric::barrier(symmetric::by_block, data, budget));
  symmetric::barrier(symmetric::by_block, barrier, budget);
  // expect: the order of a barrier must be acq_rel, or relaxed to order
  REFUSED(a_barrier_is_no_half, symmetric::barrier(symmetric::by_block, barrier, budget, membar::release));
  symmetric::barrier(symmetric::by_block, barrier, budget, membar::relaxed);
  // expect: an arrival cannot acquire, because it reads nothing: use
  REFUSED(an_arrival_acquires_nothing, static_cast<void>(symmetric::arrive(symmetric::by_block, barrier, membar::acq_rel)));
  const symmetric::arrival here = symmetric::arrive(symmetric::by_block, barrier, membar::relaxed);
  // expect: a wait cannot release, because it writes nothing: use acquire
  REFUSED(a_wait_for_an_arrival_releases_nothing, symmetric::wait(symmetric::by_block, barrier, here, budget, membar::acq_rel));
  symmetric::wait(symmetric::by_block, barrier, here, budget);
  // expect: a barrier needs the words that a heap's allocate_barrier
  REFUSED(an_arrival_takes_barrier_words, static_cast<void>(symmetric::arrive(symmetric::by_warp, data)));
  symmetric::wait(symmetric::by_warp, barrier, symmetric::arrive(symmetric::by_warp, barrier), budget);
}

template <class T>
constexpr bool complete = sizeof(T) != 0;

// expect: symmetric memory needs a trivially copyable type, because its
REFUSED(symmetric_memory_is_trivially_copyable, static_assert(complete<object<not_trivial>>));
static_assert(complete<object<padded>>);
// expect: symmetric memory needs a type without const or volatile
REFUSED(symmetric_memory_is_not_const, static_assert(complete<object<const int>>));
static_assert(complete<object<int>>);
// expect: a signal must be signal<set> or signal<add>
REFUSED(a_signal_is_set_or_added_to, static_assert(complete<symmetric::signal<int>>));
static_assert(complete<symmetric::signal<symmetric::add>>);
// expect: a counter must be a number of 4 or 8 bytes, the sizes that
REFUSED(a_counter_is_a_number_of_four_or_eight_bytes, static_assert(complete<counter<short>>));
static_assert(complete<counter<long long>>);
// expect: a floating-point counter supports only load, store, exchange and
REFUSED(a_counter_of_floats_has_no_bits, static_assert(complete<counter<float, amo::bitwise_and>>));
static_assert(complete<counter<float, amo::add>>);
