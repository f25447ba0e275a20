// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
/// @file
/// The sequence lock, the only synchronization pattern that fits into a cell and never waits. Source: sync/sequence_lock.cuh.
#include "message_passing.cuh"

#include <membar/sync/sequence_lock.cuh>

namespace conformance {

template <thread_scope Scope>
using one_number = membar::sequence_lock<unsigned long long, Scope>;

/// Writes the number 1. In the model's version, the sequence is the location, and the number is the next location; the same
/// applies to `read_number`.
template <thread_scope Scope>
struct write_number {
  static_assert(sizeof(one_number<Scope>) <= membar::litmus::cell_bytes);
  __device__ static nothing run(void* cell) noexcept {
    as<one_number<Scope>>(cell).write(1);
    return {};
  }
  static constexpr auto instructions(model::variable at, model::reg) {
    return sequence(model::store<Scope>(at, 1, membar::relaxed), model::thread_fence<Scope>(membar::release),
                    model::store<Scope>(model::variable{at.index + 1}, 1, membar::relaxed),
                    model::store<Scope>(at, 2, membar::release));
  }
  static std::string text() { return std::string("sequence_lock.write.") + membar::name(Scope); }
};

/// Reads the number. The observation is 2 if the read would have to wait.
template <thread_scope Scope>
struct read_number {
  __device__ static read<unsigned long long> run(void* cell) noexcept {
    unsigned long long value = 0;
    const membar::wait_result how = as<const one_number<Scope>>(cell).try_read(value);
    return {how == membar::wait_result::done ? value : 2};
  }
  static constexpr auto instructions(model::variable at, model::reg first) {
    constexpr model::reg before{8}, after{9}, wrong{10}, rest{11};
    const auto compute = [](model::reg to, model::operation what, model::source a, model::source b) {
      model::instruction i;
      i.what = what;
      i.destination = to.index;
      i.a = a.value;
      i.b = b.value;
      return i;
    };
    using enum model::operation;
    return sequence(model::load<Scope>(before, at, membar::acquire),
                    model::load<Scope>(first, model::variable{at.index + 1}, membar::relaxed),
                    model::thread_fence<Scope>(membar::acquire), model::load<Scope>(after, at, membar::relaxed),
                    // `wrong` is 1 if `before` is odd or differs from `after`, else 0; the result is 2 or the number.
                    compute(wrong, subtract, after, before), compute(wrong, multiply, wrong, wrong),
                    compute(before, bit_and, before, 1), compute(wrong, bit_or, wrong, before),
                    compute(wrong, minimum, wrong, 1), compute(rest, subtract, 2, first), compute(rest, multiply, rest, wrong),
                    compute(first, add, rest, first));
  }
  static std::string text() { return std::string("sequence_lock.try_read.") + membar::name(Scope); }
};

namespace patterns_rows {

template <thread_scope Scope>
void add_at(const adding& to) {
  using enum memory_order;
  holds_within<Scope, message_passing<write_number<Scope>, read_number<Scope>>,
               message_passing<atomic_store<Scope, relaxed>, atomic_load<Scope, relaxed>>>(to);
}

void add(suite& all) {
  const adding to{&all, "patterns"};
  add_at<thread_scope::block>(to);
  add_at<thread_scope::cluster>(to);
  add_at<thread_scope::device>(to);
  add_at<thread_scope::system>(to);
}

const registered_family here("patterns", &add);

}  // namespace patterns_rows
}  // namespace conformance
