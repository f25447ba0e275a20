// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <membar/symmetric/amo.cuh>
#include <membar/symmetric/barrier.cuh>
#include <membar/symmetric/packed.cuh>
#include <membar/symmetric/wait.cuh>

using membar::amo;
using membar::counter;
using membar::pe;
using membar::symmetric;
using membar::symmetric_span;
using membar::thread_scope;

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

using network = membar::basic_peer_backend<membar::visibility::destination_only>;

__global__ void copies(symmetric_span<int> data, symmetric_span<float> floats, symmetric<padded> with_gap,
                       symmetric<whole> object, symmetric<counter<int>> count, symmetric<membar::signal<membar::set>> flag,
                       int* own, pe other) {
#ifdef RULE_a_private_pointer_is_not_put_to  // expect: a private pointer is no symmetric address
  membar::put(membar::by_block, own, own, other);
#else
  membar::put(membar::by_block, data, own, other);
#endif

#ifdef RULE_the_address_of_another_pe_is_not_put_to  // expect: the result of at(pe) is the address of another PE
  membar::put(membar::by_block, data.at(other), own, other);
#else
  membar::put(membar::by_warp, data, data.local(), other);
#endif

#ifdef RULE_the_address_of_another_pe_is_not_got_from  // expect: the result of at(pe) is the address of another PE
  membar::get(membar::by_thread, own, data.at(other), other);
#else
  membar::get(membar::by_thread, own, data, other);
#endif

#ifdef RULE_the_address_of_another_pe_is_no_source  // expect: memory of this PE, not the result of at(pe)
  membar::put(membar::by_thread, data, data.at(other), other);
#else
  membar::put(membar::by_thread, data, data.local(), other);
#endif

#ifdef RULE_a_pointer_becomes_no_symmetric_address  // expect: cannot be referenced -- it is a deleted function
  const symmetric<int> made(data.at(other).data());
#else
  const symmetric<int> made(data[1]);
#endif

#ifdef RULE_what_is_another_pes_becomes_no_symmetric_address  // expect: cannot be referenced -- it is a deleted function
  const symmetric_span<int> theirs(data.at(other));
#else
  const symmetric_span<int> theirs(data.subspan(1, 2));
#endif

#ifdef RULE_a_pe_is_no_integer  // expect: argument #3 does not match parameter
  membar::put_value(made, 1, 1);
#else
  membar::put_value(made, 1, pe(1));
#endif

#ifdef RULE_a_copy_keeps_the_type  // expect: pointer to objects of the symmetric object's type
  membar::put(membar::by_thread, floats, own, other);
#else
  membar::put(membar::by_thread, theirs, own, other);
#endif

#ifdef RULE_an_operation_has_a_group  // expect: by_thread, by_warp or by_block
  membar::put(32, data, own, other);
#else
  membar::put_nonblocking(membar::by_warp, data, own, other);
#endif

#ifdef RULE_a_padded_struct_is_not_put_at_a_fixed_size  // expect: this type has bytes that are no value
  membar::put_value(with_gap, padded{'a', 1}, other);
#else
  membar::put_value(object, whole{1, 2}, other);
#endif

#ifdef RULE_a_padded_struct_is_not_fetched_at_a_fixed_size  // expect: this type has bytes that are no value
  *own = membar::fetch(with_gap, other).large;
#else
  *own = membar::fetch(object, other).second;
#endif

#ifdef RULE_an_operation_of_fixed_size_moves_one_object  // expect: take one of the span by [index]
  *own = membar::fetch(data, other);
#else
  *own = membar::fetch(data[0], other);
#endif

#ifdef RULE_a_counter_is_not_put_to  // expect: a counter is changed by AMOs of its own type only
  membar::put(membar::by_thread, count, own, other);
#else
  membar::amo_store(count, 1, other);
#endif

#ifdef RULE_a_signal_is_not_put_to  // expect: a signal is changed by notify and put_signal only
  membar::put_value(flag, 1, other);
#else
  membar::notify(membar::by_thread, flag, 1, other);
#endif

#ifdef RULE_a_signal_has_no_plain_access  // expect: have no plain access, at no PE
  *own = flag.at(other) ? 1 : 0;
#else
  *own = static_cast<int>(membar::signal_value(flag));
#endif
}

__global__ void signals(symmetric_span<int> data, symmetric<membar::signal<membar::set>> flag,
                        symmetric<membar::signal<membar::add>> sum, symmetric<counter<int>> count,
                        symmetric<membar::signal<membar::set>, network> far, int* own, pe other) {
#ifdef RULE_data_is_not_waited_for  // expect: only a signal is notified, waited for and tested
  membar::wait(membar::by_block, data, membar::at_least(1), budget);
#else
  membar::wait(membar::by_block, flag, membar::at_least(1), budget);
#endif

#ifdef RULE_a_counter_is_not_waited_for  // expect: only a signal is notified, waited for and tested
  membar::wait(membar::by_block, count, membar::at_least(1), budget);
#else
  membar::wait(membar::by_block, sum, membar::at_least(1), budget);
#endif

#ifdef RULE_a_sum_is_not_waited_for_exactly  // expect: may pass a value between two looks
  membar::wait(membar::by_block, sum, membar::equals(1), budget);
#else
  membar::wait(membar::by_block, flag, membar::equals(1), budget);
#endif

#ifdef RULE_a_sum_is_not_tested_exactly  // expect: may pass a value between two looks
  *own = membar::test(sum, membar::equals(1)) ? 1 : 0;
#else
  *own = membar::test(sum, membar::at_least(1)) ? 1 : 0;
#endif

#ifdef RULE_a_signal_is_not_waited_for_at_device_scope  // expect: it is waited for at system scope
  membar::wait<thread_scope::device>(membar::by_block, flag, membar::equals(1), budget);
#else
  membar::wait<thread_scope::system>(membar::by_block, flag, membar::equals(1), budget);
#endif

#ifdef RULE_a_signal_is_not_tested_at_device_scope  // expect: it is waited for at system scope
  *own = membar::test<thread_scope::device>(flag, membar::equals(1)) ? 1 : 0;
#else
  *own = membar::test<thread_scope::system>(flag, membar::equals(1)) ? 1 : 0;
#endif

#ifdef RULE_a_wait_has_a_budget  // expect: no instance of function template
  membar::wait(membar::by_block, flag, membar::equals(1));
#else
  membar::wait(membar::by_block, flag, membar::equals(1), budget);
#endif

#ifdef RULE_a_wait_releases_nothing  // expect: a wait takes acquire or relaxed
  membar::wait(membar::by_block, flag, membar::equals(1), budget, membar::release);
#else
  membar::wait(membar::by_block, flag, membar::equals(1), budget, membar::relaxed);
#endif

#ifdef RULE_how_a_wait_ended_is_not_dropped  // expect: ignoring return value
  membar::try_wait(membar::by_block, flag, membar::equals(1), budget);
#else
  *own = membar::try_wait(membar::by_block, flag, membar::equals(1), budget) == membar::wait_result::done ? 1 : 0;
#endif

#ifdef RULE_a_notification_acquires_nothing  // expect: a notification takes relaxed or release
  membar::notify(membar::by_block, flag, 1, other, membar::acquire);
#else
  membar::notify(membar::by_block, flag, 1, other, membar::release);
#endif

#ifdef RULE_data_is_not_notified  // expect: only a signal is notified, waited for and tested
  membar::notify(membar::by_block, data, 1, other);
#else
  membar::notify(membar::by_block, sum, 1, other);
#endif

#ifdef RULE_a_put_and_its_signal_have_one_backend  // expect: a put and its signal travel by one backend
  membar::put_signal(membar::by_block, data, own, far, 1, other);
#else
  membar::put_signal(membar::by_block, data, own, flag, 1, other);
#endif

#ifdef RULE_a_put_and_its_signal_have_one_backend_without_blocking  // expect: a put and its signal travel by one backend
  membar::put_signal_nonblocking(membar::by_block, data, own, far, 1, other);
#else
  membar::put_signal_nonblocking(membar::by_block, data, own, sum, 1, other);
#endif

#ifdef RULE_a_transitive_notification_needs_visibility_everywhere  // expect: needs the visibility class everywhere
  membar::notify_transitively(membar::by_block, far, 1, other);
#else
  membar::notify_transitively(membar::by_block, flag, 1, other);
#endif

#ifdef RULE_a_flush_comes_before_no_notification  // expect: a flush completes nothing at another PE
  membar::notify(membar::by_block, flag, 1, other, membar::flush(membar::by_block, flag.reach()));
#else
  membar::notify(membar::by_block, flag, 1, other, membar::fence(membar::by_block, flag.reach()));
#endif

#ifdef RULE_who_fenced_notifies  // expect: fence and notify by the same group
  membar::notify(membar::by_thread, flag, 1, other, membar::fence(membar::by_block, flag.reach()));
#else
  membar::notify(membar::by_block, flag, 1, other, membar::quiet(membar::by_block, flag.reach()));
#endif
}

__global__ void words(symmetric_span<int> data, symmetric<counter<int>> count, symmetric<counter<unsigned, amo::add>> sum,
                      symmetric<counter<float>> real, symmetric<membar::packed<whole>> box,
                      symmetric<membar::packed<whole>, network> far, symmetric<membar::packed<padded>> with_gap,
                      symmetric_span<membar::barrier_word> barrier, whole* own, padded* gap, pe other) {
#ifdef RULE_an_amo_takes_a_counter  // expect: an AMO takes a counter
  membar::amo_add(data[0], 1, other);
#else
  membar::amo_add(count, 1, other);
#endif

#ifdef RULE_an_amo_that_is_not_listed_is_not_done  // expect: this AMO is not among those that the counter's type lists
  own->first = static_cast<int>(membar::amo_fetch_add(sum, 1U, other));
#else
  membar::amo_add(sum, 1U, other);
#endif

#ifdef RULE_a_counter_of_floats_has_no_sum_unless_listed  // expect: this AMO is not among those that the counter's type lists
  membar::amo_add(real, 1.0F, other);
#else
  membar::amo_store(real, 1.0F, other);
#endif

#ifdef RULE_amos_of_two_types_are_not_mixed  // expect: a symmetric object has one type and one backend
  const symmetric<counter<unsigned>> other_type(count);
#else
  const symmetric<counter<int>> other_type(count);
#endif

#ifdef RULE_an_amo_without_a_result_acquires_nothing  // expect: an AMO without a result takes relaxed or release
  membar::amo_add(other_type, 1, other, membar::acquire);
#else
  membar::amo_add(other_type, 1, other, membar::release);
#endif

#ifdef RULE_a_packed_message_needs_visibility_everywhere  // expect: packed messages need the visibility class everywhere
  membar::put_packed(membar::by_thread, far, own, 1, other);
#else
  membar::put_packed(membar::by_thread, box, own, 1, other);
#endif

#ifdef RULE_a_padded_struct_is_not_packed  // expect: this type has bytes that are no value
  membar::put_packed(membar::by_thread, with_gap, gap, 1, other);
#else
  membar::put_packed(membar::by_warp, box, own, 1, other);
#endif

#ifdef RULE_a_packed_message_has_the_type_of_its_box  // expect: the pointer is to another type
  membar::put_packed(membar::by_thread, box, gap, 1, other);
#else
  membar::put_packed(membar::by_thread, box, own, 1, other);
#endif

#ifdef RULE_a_packed_message_goes_to_a_box  // expect: a packed message goes to a symmetric object of type packed<T>
  membar::put_packed(membar::by_thread, data, own, 1, other);
#else
  membar::take_packed(membar::by_thread, box, own, 1, budget);
#endif

#ifdef RULE_a_barrier_takes_barrier_words  // expect: a barrier takes the words that a heap's allocate_barrier gave
  membar::barrier(membar::by_block, data, budget);
#else
  membar::barrier(membar::by_block, barrier, budget);
#endif

#ifdef RULE_a_barrier_is_no_half  // expect: a barrier takes acq_rel, or relaxed
  membar::barrier(membar::by_block, barrier, budget, membar::release);
#else
  membar::barrier(membar::by_block, barrier, budget, membar::relaxed);
#endif
}

template <class T>
constexpr unsigned long long complete = sizeof(T);

#ifdef RULE_symmetric_memory_is_trivially_copyable  // expect: symmetric memory holds a trivially copyable type
static_assert(complete<symmetric<not_trivial>> != 0);
#else
static_assert(complete<symmetric<padded>> != 0);
#endif

#ifdef RULE_symmetric_memory_is_not_const  // expect: symmetric memory holds a type without const or volatile
static_assert(complete<symmetric<const int>> != 0);
#else
static_assert(complete<symmetric<int>> != 0);
#endif

#ifdef RULE_a_signal_is_set_or_added_to  // expect: a signal is set or added to
static_assert(complete<membar::signal<int>> != 0);
#else
static_assert(complete<membar::signal<membar::add>> != 0);
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
