// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <check/arrival_notes.hpp>
#include <check/barrier_notes.hpp>
#include <check/copy_notes.hpp>
#include <check/flag_notes.hpp>
#include <check/handover.hpp>
#include <check/machine.hpp>
#include <check/program.hpp>
#include <check/race_notes.hpp>
#include <check/shown_execution.hpp>
#include <check/trace.hpp>
#include <check/update_notes.hpp>
#include <ptx/cuda_words.hpp>

#include <array>
#include <cstdint>
#include <limits>
#include <string>
#include <utility>
#include <vector>

namespace membar::check {

namespace {

using namespace detail;

/// Returns whether threads of one block perform the accesses, which are not both strong.
[[nodiscard]] bool is_within_block(const shown_execution& shown, const trace_event& first, const trace_event& second) {
  if (first.event.strong && second.event.strong) {
    return false;
  }
  const thread_context& x = shown.context_of(first);
  const thread_context& y = shown.context_of(second);
  return &x != &y && !x.where.host && !y.where.host && x.block_number == y.block_number;
}

/// Returns whether threads of different blocks of one launch perform the accesses, which are both weak. Whether the threads also
/// synchronize must be known, so the program must not be an excerpt.
[[nodiscard]] bool is_between_blocks(const shown_execution& shown, const trace_event& first, const trace_event& second) {
  const thread_context& x = shown.context_of(first);
  const thread_context& y = shown.context_of(second);
  return !shown.whole().excerpt && !first.event.strong && !second.event.strong && !x.where.host && !y.where.host &&
         x.launch == y.launch && x.block_number != y.block_number;
}

/// Explains a race between two accesses of a block that no flag orders.
[[nodiscard]] std::string note_within_block(const shown_execution& shown, const trace_event& first, const trace_event& second) {
  const std::string note = misplaced_arrival_note(shown, first, second);
  return note.empty() ? missing_barrier_note(shown, first, second) : note;
}

/// Returns the notes that are not empty.
[[nodiscard]] std::vector<std::string> written(std::vector<std::string> notes) {
  std::erase(notes, "");
  return notes;
}

[[nodiscard]] std::vector<std::string> notes_of_race(const shown_execution& shown) {
  const auto [x, y] = shown.blamed();
  if (x == nullptr) {
    return {};
  }
  if (shown.found().lacks_only_fence) {
    return proxy_fence_notes(shown, *x, *y);
  }
  if (const std::string wait = missing_wait_note(shown, *x, *y); !wait.empty()) {
    return {wait};
  }
  const bool within_block = is_within_block(shown, *x, *y);
  if (const handover passed = handover_in(shown); !passed.values.empty()) {
    std::vector<std::string> notes =
        passed.first->event.strong && passed.second->event.strong ? std::vector<std::string>() : handover_notes(shown, passed);
    // If the flag is as it should be, it may be meant for other data.
    return notes.empty() && within_block ? std::vector{note_within_block(shown, *x, *y)} : notes;
  }
  for (const auto note : {&early_flag_note, &lost_update_note}) {
    if (const std::string found = note(shown, *x, *y); !found.empty()) {
      return {found};
    }
  }
  return within_block                       ? std::vector{note_within_block(shown, *x, *y)}
         : is_between_blocks(shown, *x, *y) ? std::vector{between_blocks_note(shown, *x, *y)}
                                            : std::vector<std::string>();
}

/// Explains a read of memory that was never written, if the finding shows a write that comes too late.
[[nodiscard]] std::vector<std::string> notes_of_early_read(const shown_execution& shown) {
  auto [write, read] = shown.blamed();
  if (write == nullptr) {
    return {};
  }
  if (write->event.kind != event_kind::write) {
    std::swap(write, read);
  }
  if (&shown.start_of(*write) != write) {
    return {unfinished_copy_note(shown, *write, *read, std::numeric_limits<int>::max())};
  }
  std::vector<std::string> notes = {shown.place(*write) + in_thread(*write) + " writes " +
                                    place_text(shown.whole(), write->event.address) +
                                    ", but nothing orders this write before " + shown.place(*read)};
  if (is_within_block(shown, *write, *read) && !shown.is_copy(*read)) {
    const std::string arrival = misplaced_arrival_note(shown, *write, *read);
    const bool is_in_order = shown.leads_to(*write, *read) || !shown.leads_to(*read, *write);
    notes.push_back(arrival.empty() && is_in_order ? missing_barrier_note(shown, *write, *read) : arrival);
  }
  return written(std::move(notes));
}

/// Returns the order that an access to a flag needs.
[[nodiscard]] memory_order order_of(const trace_event& e) {
  return e.at->code == op::atomic ? memory_order::acq_rel
         : e.at->code == op::load ? memory_order::acquire
                                  : memory_order::release;
}

/// Returns `scope`, widened to the device if `e` accesses memory outside its block and its launch has several blocks, which may
/// access the memory too.
[[nodiscard]] thread_scope scope_of_launch(const shown_execution& shown, const trace_event& e, thread_scope scope) {
  const std::array<std::uint32_t, 3>& blocks = shown.context_of(e).blocks;
  return scope == thread_scope::block && !machine::is_shared(e.event.address) && blocks[0] * blocks[1] * blocks[2] > 1
             ? thread_scope::device
             : scope;
}

/// Says which assumption accepts a race in which two weak stores write the same value.
[[nodiscard]] std::string same_value_note(const shown_execution& shown, const trace_event& x, const trace_event& y) {
  const auto is_store = [&](const trace_event& e) { return e.event.kind == event_kind::write && !shown.is_copy(e); };
  const wide_value& a = x.event.value;
  const wide_value& b = y.event.value;
  const bool same = is_store(x) && is_store(y) && x.event.address == y.event.address && x.event.bytes == y.event.bytes &&
                    !a.unknown && !b.unknown && a.low == b.low && a.high == b.high;
  return same ? "both stores write the same value; if that is intended, use relaxed atomic stores, or write `assume same-value "
                "writes` in the scenario"
              : "";
}

/// Says how to write access `e` in C++ so that it no longer races with `other`. Returns an empty string if `e` is already strong and
/// its scope includes the other thread, or if C++ has no function for it.
[[nodiscard]] std::string access_note(const shown_execution& shown, const trace_event& e, const trace_event& other) {
  const bool suffices = e.event.strong && scope_gap(shown.whole(), e.thread, e.event.scope, other.thread).empty();
  const thread_scope scope = scope_of_launch(shown, e, scope_with(shown.whole(), e.thread, other.thread, e.event.address));
  const memory_order order = e.event.strong ? e.at->order : order_of(e);
  const std::string access = suffices || !shown.has_spelling(e) ? "" : in_cuda(e.at->code, e.at->what, order, scope).cuda;
  if (access.empty()) {
    return "";
  }
  const std::string kind = e.at->code == op::load ? "load" : e.at->code == op::store ? "store" : "update";
  const std::string to = scope == thread_scope::block ? "block" : scope == thread_scope::device ? "device" : "system";
  return (e.event.strong ? "widen the scope of the " + kind + " at " + shown.place(e) + " to " + to
                         : "if this race is intended, make the " + kind + " atomic at " + to + " scope") +
         ": " + access + (e.event.strong ? "" : ", or with memory_order_relaxed if no other memory depends on this " + kind) +
         (e.at->code == op::store && other.event.rmw ? "; the store still overwrites the updates that precede it" : "");
}

}  // namespace

std::vector<std::string> race_notes(const program& launched, const finding& f) {
  const shown_execution shown(whole_program(launched, f), f);
  return f.status == check_status::race            ? notes_of_race(shown)
         : f.status == check_status::uninitialised ? notes_of_early_read(shown)
                                                   : std::vector<std::string>();
}

std::vector<std::string> access_notes(const program& launched, const finding& f) {
  const shown_execution shown(whole_program(launched, f), f);
  const auto [x, y] = shown.blamed();
  if (f.status != check_status::race || x == nullptr || f.lacks_only_fence) {
    return {};
  }
  if (!x->event.strong && !y->event.strong) {
    return written({same_value_note(shown, *x, *y)});
  }
  const handover passed = handover_in(shown);
  const trace_event& first = passed.first != nullptr ? *passed.first : *x;
  const trace_event& second = passed.second != nullptr ? *passed.second : *y;
  return written({access_note(shown, first, second), access_note(shown, second, first)});
}

}  // namespace membar::check
