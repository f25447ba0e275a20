// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <membar/symmetric/amo.cuh>
#include <membar/symmetric/barrier.cuh>
#include <membar/symmetric/packed.cuh>
#include <membar/symmetric/wait.cuh>

namespace symmetric = membar::symmetric;
using membar::thread_scope;
using membar::symmetric::amo;
using membar::symmetric::counter;
using membar::symmetric::object;
using membar::symmetric::pe;
using membar::symmetric::span;

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
#ifdef RULE_a_private_pointer_is_not_put_to  // expect: a private pointer is no symmetric address
  symmetric::put(symmetric::by_block, own, own, other);
#else
  symmetric::put(symmetric::by_block, data, own, other);
#endif
#ifdef RULE_the_address_of_another_pe_is_not_put_to  // expect: the result of at(pe) is the address of another PE
  symmetric::put(symmetric::by_block, data.at(other), own, other);
#else
  symmetric::put(symmetric::by_warp, data, data.local(), other);
#endif
#ifdef RULE_the_address_of_another_pe_is_not_got_from  // expect: the result of at(pe) is the address of another PE
  symmetric::get(symmetric::by_thread, own, data.at(other), other);
#else
  symmetric::get(symmetric::by_thread, own, data, other);
#endif
#ifdef RULE_the_address_of_another_pe_is_no_source  // expect: memory of this PE, not the result of at(pe)
  symmetric::put(symmetric::by_thread, data, data.at(other), other);
#else
  symmetric::put(symmetric::by_thread, data, data.local(), other);
#endif
#ifdef RULE_a_pointer_becomes_no_symmetric_address  // expect: cannot be referenced -- it is a deleted function
  const object<int> made(data.at(other).data());
#else
  const object<int> made(data[1]);
#endif
#ifdef RULE_what_is_another_pes_becomes_no_symmetric_address  // expect: cannot be referenced -- it is a deleted function
  const span<int> theirs(data.at(other));
#else
  const span<int> theirs(data.subspan(1, 2));
#endif
#ifdef RULE_a_pe_is_no_integer  // expect: argument #3 does not match parameter
  symmetric::put_value(made, 1, 1);
#else
  symmetric::put_value(made, 1, pe(1));
#endif
#ifdef RULE_a_copy_keeps_the_type  // expect: pointer to objects of the symmetric object's type
  symmetric::put(symmetric::by_thread, floats, own, other);
#else
  symmetric::put(symmetric::by_thread, theirs, own, other);
#endif
#ifdef RULE_an_operation_has_a_group  // expect: by_thread, by_warp or by_block
  symmetric::put(32, data, own, other);
#else
  symmetric::put_nonblocking(symmetric::by_warp, data, own, other);
#endif
#ifdef RULE_a_padded_struct_is_not_put_at_a_fixed_size  // expect: this type has bytes that are no value
  symmetric::put_value(with_gap, padded{'a', 1}, other);
#else
  symmetric::put_value(one, whole{1, 2}, other);
#endif
#ifdef RULE_a_padded_struct_is_not_fetched_at_a_fixed_size  // expect: this type has bytes that are no value
  *own = symmetric::fetch(with_gap, other).large;
#else
  *own = symmetric::fetch(one, other).second;
#endif
#ifdef RULE_an_operation_of_fixed_size_moves_one_object  // expect: take one of the span by [index]
  *own = symmetric::fetch(data, other);
#else
  *own = symmetric::fetch(data[0], other);
#endif
#ifdef RULE_a_counter_is_not_put_to  // expect: a counter is changed by AMOs of its own type only
  symmetric::put(symmetric::by_thread, count, own, other);
#else
  symmetric::amo_store(count, 1, other);
#endif
#ifdef RULE_a_signal_is_not_put_to  // expect: a signal is changed by notify and put_signal only
  symmetric::put_value(flag, 1, other);
#else
  symmetric::notify(symmetric::by_thread, flag, 1, other);
#endif
#ifdef RULE_a_signal_has_no_plain_access  // expect: have no plain access, at no PE
  *own = flag.at(other) ? 1 : 0;
#else
  *own = static_cast<int>(symmetric::signal_value(flag));
#endif
}

__global__ void signals(span<int> data, object<symmetric::signal<symmetric::set>> flag,
                        object<symmetric::signal<symmetric::add>> sum, object<counter<int>> count,
                        object<symmetric::signal<symmetric::set>, network> far, int* own, pe other) {
#ifdef RULE_data_is_not_waited_for  // expect: only a signal is notified, waited for and tested
  symmetric::wait(symmetric::by_block, data, symmetric::at_least(1), budget);
#else
  symmetric::wait(symmetric::by_block, flag, symmetric::at_least(1), budget);
#endif
#ifdef RULE_a_counter_is_not_waited_for  // expect: only a signal is notified, waited for and tested
  symmetric::wait(symmetric::by_block, count, symmetric::at_least(1), budget);
#else
  symmetric::wait(symmetric::by_block, sum, symmetric::at_least(1), budget);
#endif
#ifdef RULE_a_sum_is_not_waited_for_exactly  // expect: may pass a value between two polls
  symmetric::wait(symmetric::by_block, sum, symmetric::equals(1), budget);
#else
  symmetric::wait(symmetric::by_block, flag, symmetric::equals(1), budget);
#endif
#ifdef RULE_a_sum_is_not_tested_exactly  // expect: may pass a value between two polls
  *own = symmetric::test(sum, symmetric::equals(1)) ? 1 : 0;
#else
  *own = symmetric::test(sum, symmetric::at_least(1)) ? 1 : 0;
#endif
#ifdef RULE_a_signal_is_not_waited_for_at_device_scope  // expect: it is waited for at system scope
  symmetric::wait<thread_scope::device>(symmetric::by_block, flag, symmetric::equals(1), budget);
#else
  symmetric::wait<thread_scope::system>(symmetric::by_block, flag, symmetric::equals(1), budget);
#endif
#ifdef RULE_a_signal_is_not_tested_at_device_scope  // expect: it is waited for at system scope
  *own = symmetric::test<thread_scope::device>(flag, symmetric::equals(1)) ? 1 : 0;
#else
  *own = symmetric::test<thread_scope::system>(flag, symmetric::equals(1)) ? 1 : 0;
#endif
#ifdef RULE_a_wait_has_a_budget  // expect: no instance of function template
  symmetric::wait(symmetric::by_block, flag, symmetric::equals(1));
#else
  symmetric::wait(symmetric::by_block, flag, symmetric::equals(1), budget);
#endif
#ifdef RULE_a_wait_releases_nothing  // expect: a wait takes acquire or relaxed
  symmetric::wait(symmetric::by_block, flag, symmetric::equals(1), budget, membar::release);
#else
  symmetric::wait(symmetric::by_block, flag, symmetric::equals(1), budget, membar::relaxed);
#endif
#ifdef RULE_how_a_wait_ended_is_not_dropped  // expect: ignoring return value
  symmetric::try_wait(symmetric::by_block, flag, symmetric::equals(1), budget);
#else
  *own = symmetric::try_wait(symmetric::by_block, flag, symmetric::equals(1), budget) == membar::wait_result::done ? 1 : 0;
#endif
#ifdef RULE_a_notification_acquires_nothing  // expect: a notification takes relaxed or release
  symmetric::notify(symmetric::by_block, flag, 1, other, membar::acquire);
#else
  symmetric::notify(symmetric::by_block, flag, 1, other, membar::release);
#endif
#ifdef RULE_data_is_not_notified  // expect: only a signal is notified, waited for and tested
  symmetric::notify(symmetric::by_block, data, 1, other);
#else
  symmetric::notify(symmetric::by_block, sum, 1, other);
#endif
#ifdef RULE_a_put_and_its_signal_have_one_backend  // expect: a put and its signal travel by one backend
  symmetric::put_signal(symmetric::by_block, data, own, far, 1, other);
#else
  symmetric::put_signal(symmetric::by_block, data, own, flag, 1, other);
#endif
#ifdef RULE_a_put_and_its_signal_have_one_backend_without_blocking  // expect: a put and its signal travel by one backend
  symmetric::put_signal_nonblocking(symmetric::by_block, data, own, far, 1, other);
#else
  symmetric::put_signal_nonblocking(symmetric::by_block, data, own, sum, 1, other);
#endif
#ifdef RULE_a_transitive_notification_needs_visibility_everywhere  // expect: needs the visibility class everywhere
  symmetric::notify_transitively(symmetric::by_block, far, 1, other);
#else
  symmetric::notify_transitively(symmetric::by_block, flag, 1, other);
#endif
#ifdef RULE_a_flush_comes_before_no_notification  // expect: a flush completes nothing at another PE
  symmetric::notify(symmetric::by_block, flag, 1, other, symmetric::flush(symmetric::by_block, flag.reach()));
#else
  symmetric::notify(symmetric::by_block, flag, 1, other, symmetric::fence(symmetric::by_block, flag.reach()));
#endif
#ifdef RULE_who_fenced_notifies  // expect: fence and notify by the same group
  symmetric::notify(symmetric::by_thread, flag, 1, other, symmetric::fence(symmetric::by_block, flag.reach()));
#else
  symmetric::notify(symmetric::by_block, flag, 1, other, symmetric::quiet(symmetric::by_block, flag.reach()));
#endif
}

__global__ void words(span<int> data, object<counter<int>> count, object<counter<unsigned, amo::add>> sum,
                      object<counter<float>> real, object<symmetric::packed<whole>> box,
                      object<symmetric::packed<whole>, network> far, object<symmetric::packed<padded>> with_gap,
                      span<symmetric::barrier_word> barrier, whole* own, padded* gap, pe other) {
#ifdef RULE_an_amo_takes_a_counter  // expect: an AMO takes a counter
  symmetric::amo_add(data[0], 1, other);
#else
  symmetric::amo_add(count, 1, other);
#endif
#ifdef RULE_an_amo_that_is_not_listed_is_not_done  // expect: this AMO is not among those that the counter's type lists
  own->first = static_cast<int>(symmetric::amo_fetch_add(sum, 1U, other));
#else
  symmetric::amo_add(sum, 1U, other);
#endif
#ifdef RULE_a_counter_of_floats_has_no_sum_unless_listed  // expect: this AMO is not among those that the counter's type lists
  symmetric::amo_add(real, 1.0F, other);
#else
  symmetric::amo_store(real, 1.0F, other);
#endif
#ifdef RULE_amos_of_two_types_are_not_mixed  // expect: a symmetric object has one type and one backend
  const object<counter<unsigned>> other_type(count);
#else
  const object<counter<int>> other_type(count);
#endif
#ifdef RULE_an_amo_without_a_result_acquires_nothing  // expect: an AMO without a result takes relaxed or release
  symmetric::amo_add(other_type, 1, other, membar::acquire);
#else
  symmetric::amo_add(other_type, 1, other, membar::release);
#endif
#ifdef RULE_a_packed_message_needs_visibility_everywhere  // expect: packed messages need the visibility class everywhere
  symmetric::put_packed(symmetric::by_thread, far, own, 1, other);
#else
  symmetric::put_packed(symmetric::by_thread, box, own, 1, other);
#endif
#ifdef RULE_a_padded_struct_is_not_packed  // expect: this type has bytes that are no value
  symmetric::put_packed(symmetric::by_thread, with_gap, gap, 1, other);
#else
  symmetric::put_packed(symmetric::by_warp, box, own, 1, other);
#endif
#ifdef RULE_a_packed_message_has_the_type_of_its_box  // expect: the pointer is to another type
  symmetric::put_packed(symmetric::by_thread, box, gap, 1, other);
#else
  symmetric::put_packed(symmetric::by_thread, box, own, 1, other);
#endif
#ifdef RULE_a_packed_message_goes_to_a_box  // expect: a packed message goes to a symmetric object of type packed<T>
  symmetric::put_packed(symmetric::by_thread, data, own, 1, other);
#else
  symmetric::take_packed(symmetric::by_thread, box, own, 1, budget);
#endif
#ifdef RULE_a_barrier_takes_barrier_words  // expect: a barrier takes the words that a heap's allocate_barrier gave
  symmetric::barrier(symmetric::by_block, data, budget);
#else
  symmetric::barrier(symmetric::by_block, barrier, budget);
#endif
#ifdef RULE_a_barrier_is_no_half  // expect: a barrier takes acq_rel, or relaxed
  symmetric::barrier(symmetric::by_block, barrier, budget, membar::release);
#else
  symmetric::barrier(symmetric::by_block, barrier, budget, membar::relaxed);
#endif
}

template <class T>
constexpr unsigned long long complete = sizeof(T);

#ifdef RULE_symmetric_memory_is_trivially_copyable  // expect: symmetric memory holds a trivially copyable type
static_assert(complete<object<not_trivial>> != 0);
#else
static_assert(complete<object<padded>> != 0);
#endif
#ifdef RULE_symmetric_memory_is_not_const  // expect: symmetric memory holds a type without const or volatile
static_assert(complete<object<const int>> != 0);
#else
static_assert(complete<object<int>> != 0);
#endif
#ifdef RULE_a_signal_is_set_or_added_to  // expect: a signal is set or added to
static_assert(complete<symmetric::signal<int>> != 0);
#else
static_assert(complete<symmetric::signal<symmetric::add>> != 0);
#endif
#ifdef RULE_a_counter_is_a_number_of_four_or_eight_bytes  // expect: a counter holds a number of 4 or 8 bytes
static_assert(complete<counter<short>> != 0);
#else
static_assert(complete<counter<long long>> != 0);
#endif
#ifdef RULE_a_counter_of_floats_has_no_bits  // expect: a floating-point counter is loaded, stored, exchanged and added to
static_assert(complete<counter<float, amo::bitwise_and>> != 0);
#else
static_assert(complete<counter<float, amo::add>> != 0);
#endif
