// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <check/barrier_alignment.hpp>
#include <check/update_notes.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <set>
#include <string>
#include <utility>
#include <vector>

namespace membar::check::detail {

namespace {

[[nodiscard]] bool is_among(const std::set<std::int32_t>& words, const source_operand& o) {
  return o.kind == source_operand::kind_t::reg && words.contains(o.word);
}

/// Returns the register words that may be computed from the value of the read at `read`, without passing through memory.
[[nodiscard]] std::set<std::int32_t> words_computed_from(const kernel_code& kernel, std::int32_t read) {
  const std::vector<bool> later = reached_from(kernel, read);
  std::set<std::int32_t> words;
  const auto add = [&](const instruction& i) {
    const std::size_t before = words.size();
    for (unsigned d = 0; d < i.destinations; ++d) {
      for (std::int32_t w = i.to[d].word; w >= 0 && w < i.to[d].word + (i.to[d].bits > 64 ? 2 : 1); ++w) {
        words.insert(w);
      }
    }
    return words.size() > before;
  };
  for (bool grows = add(model::at(kernel.code, read)); grows;) {
    grows = false;
    for (std::int32_t pc = 0; pc < model::count_of(kernel.code); ++pc) {
      const instruction& i = model::at(kernel.code, pc);
      const bool uses =
          words.contains(i.guard) || std::ranges::any_of(i.by, [&](const source_operand& o) { return is_among(words, o); });
      grows = (later[static_cast<std::size_t>(pc)] && !is_event(i.code) && uses && add(i)) || grows;
    }
  }
  return words;
}

/// Returns whether the value of the read at `from`, and nothing else between them, decides whether the store at `to` is executed,
/// or whether the value stored is computed from it and the store is always executed after the read.
[[nodiscard]] bool decides(const kernel_code& kernel, std::int32_t from, std::int32_t to) {
  const instruction& store = model::at(kernel.code, to);
  const std::int32_t end = model::count_of(kernel.code);
  const std::set<std::int32_t> words = words_computed_from(kernel, from);
  const std::vector<bool> after_read = reached_from(kernel, from, to);
  bool found = store.guard >= 0 ? words.contains(store.guard) : is_among(words, store.by[1]);
  if ((store.guard >= 0 && !found) || !reached_from(kernel, from)[static_cast<std::size_t>(to)]) {
    return false;
  }
  const std::vector<std::vector<std::int32_t>> next = next_instructions(kernel);
  const std::vector<bool> may_write = leading_to(kernel, {to}, from);
  const std::vector<bool> may_skip = leading_to(kernel, {from, end}, to);
  // how threads continue from an instruction: whether they may perform the write, and whether they may skip it
  const auto continues = [&](std::int32_t pc) {
    return pc == to || pc == from || pc == end
               ? std::pair<bool, bool>(pc == to, pc != to)
               : std::pair<bool, bool>(may_write[static_cast<std::size_t>(pc)], may_skip[static_cast<std::size_t>(pc)]);
  };
  for (std::int32_t pc = 0; pc < end; ++pc) {
    const std::vector<std::int32_t>& then = model::at(next, pc);
    if (!after_read[static_cast<std::size_t>(pc)] || then.size() < 2 || !continues(pc).first ||
        std::ranges::all_of(then, [&](std::int32_t n) { return continues(n) == continues(then.front()); })) {
      continue;
    }
    if (!words.contains(model::at(kernel.code, pc).guard)) {
      return false;
    }
    found = true;
  }
  return found;
}

/// Returns the plain read of the same bytes that decides, in the same thread, whether `write` is performed or what it writes.
/// Returns null if there is no such read, if the thread synchronizes between them, or if something else also decides whether a
/// thread that performs the read also performs the write.
[[nodiscard]] const trace_event* tested_by(const shown_execution& shown, const trace_event& write) {
  const trace_event* read = nullptr;
  for (const trace_event& e : shown.events()) {
    if (shown.is_copy(write) || e.thread != write.thread || e.number >= write.number) {
      continue;
    }
    const bool reads = e.event.kind == event_kind::read && e.event.address == write.event.address &&
                       e.event.bytes == write.event.bytes && e.at->code == op::load;
    read = reads ? &e : waits_for_others(e) ? nullptr : read;
  }
  return read != nullptr && write.at->code == op::store &&
                 decides(*shown.context_of(write).kernel, shown.pc_of(*read), shown.pc_of(write))
             ? read
             : nullptr;
}

/// Returns whether `e` is a plain write that depends on a read of the same bytes, or such a read.
[[nodiscard]] bool tests(const shown_execution& shown, const trace_event& e) {
  if (shown.is_copy(e) || e.at->code != op::load) {
    return tested_by(shown, e) != nullptr;
  }
  const kernel_code& kernel = *shown.context_of(e).kernel;
  for (std::int32_t pc = 0; pc < model::count_of(kernel.code); ++pc) {
    const instruction& i = model::at(kernel.code, pc);
    const bool is_same_address = i.code == op::store && i.by[0].kind == e.at->by[0].kind && i.by[0].word == e.at->by[0].word &&
                                 i.by[0].low == e.at->by[0].low && i.offset == e.at->offset && i.bytes == e.at->bytes;
    if (is_same_address && decides(kernel, shown.pc_of(e), pc)) {
      return true;
    }
  }
  return false;
}

/// Returns the note if `write` is the write of one of the threads and `other` is the other thread's access.
[[nodiscard]] std::string note_on(const shown_execution& shown, const trace_event& write, const trace_event& other) {
  const trace_event* const read = tested_by(shown, write);
  if (read == nullptr || shown.context_of(write).launch != shown.context_of(other).launch || !tests(shown, other)) {
    return "";
  }
  const kernel_code& kernel = *shown.context_of(write).kernel;
  const bool computes = is_among(words_computed_from(kernel, shown.pc_of(*read)), write.at->by[1]);
  const std::string what = place_text(shown.whole(), write.event.address);
  const std::string at = shown.place(write) == shown.place(*read) ? "" : " at " + shown.place(*read);
  return "both threads read " + what + at + " and then write it at " + shown.place(write) +
         (computes ? ", with a value computed from the value that they read, so one of the updates may be lost"
                   : ", depending on the value that they read, so both may write it") +
         ": if both threads may execute this, " +
         (computes ? "use an atomic read-modify-write, such as atomicAdd()"
                   : "let one thread win with atomicCAS() or atomicExch()") +
         "; otherwise, the synchronization that should let only one of them through is wrong";
}

}  // namespace

std::string lost_update_note(const shown_execution& shown, const trace_event& x, const trace_event& y) {
  if (x.thread == y.thread) {
    return "";
  }
  const std::string note = note_on(shown, x, y);
  return note.empty() ? note_on(shown, y, x) : note;
}

}  // namespace membar::check::detail
