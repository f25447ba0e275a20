// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <check/barrier_alignment.hpp>
#include <check/program.hpp>
#include <check/race_notes.hpp>
#include <check/trace.hpp>
#include <membar/model/array.hpp>
#include <membar/model/program.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <map>
#include <string>
#include <utility>
#include <vector>

namespace membar::check {

namespace {

using model::event_kind;

/// Examines one race.
class synchronization {
 public:
  synchronization(const program& p, const finding& f) : program_(p), finding_(f) {
    for (const trace_event& e : f.events) {
      index_[{e.thread, e.number}] = &e;
      if (e.blamed) {
        (first_ == nullptr ? first_ : second_) = &e;
        ++blamed_;
      }
    }
  }

  [[nodiscard]] handover ends() {
    if (blamed_ != 2 || is_copy(*first_) || is_copy(*second_)) {
      return {};
    }
    find_flag();
    return {first_, second_, write_, read_};
  }

  [[nodiscard]] std::vector<std::string> notes() {
    static_cast<void>(ends());
    if (read_ != nullptr && !(first_->event.strong && second_->event.strong)) {
      look_at_writer();
      look_at_reader();
    }
    return std::move(notes_);
  }

 private:
  [[nodiscard]] bool is_copy(const trace_event& e) const { return model::at(program_.threads, e.thread).copies_of >= 0; }
  [[nodiscard]] int block_of(int thread) const { return model::at(program_.threads, thread).block_number; }
  [[nodiscard]] std::string place(const trace_event& e) const { return place_of(program_, e.thread, *e.at); }

  /// Finds the flag: the last read of a value that the first access's thread, or otherwise its block, has written. The second
  /// access's thread, or otherwise its block, must perform the read. A flag with strong accesses on both sides is preferred to
  /// other locations.
  void find_flag() {
    const bool one_block = block_of(first_->thread) == block_of(second_->thread);
    int best = 0;
    for (const trace_event& r : finding_.events) {
      const auto source = index_.find({r.source_thread, r.source_number});
      if (r.event.kind != event_kind::read || source == index_.end() || is_copy(r)) {
        continue;
      }
      const trace_event& w = *source->second;
      const bool by_writer = w.thread == first_->thread && w.number > first_->number;
      const bool by_reader = r.thread == second_->thread && r.number < second_->number;
      const bool for_writer = !one_block && w.thread != first_->thread && block_of(w.thread) == block_of(first_->thread);
      const bool for_reader = !one_block && r.thread != second_->thread && block_of(r.thread) == block_of(second_->thread);
      const int strong = w.event.strong && r.event.strong ? 4 : 0;
      const int rank = strong + (by_writer ? 2 : for_writer ? 1 : -9) + (by_reader ? 2 : for_reader ? 1 : -9);
      if (rank >= best && rank > 0 && w.event.address != first_->event.address) {
        best = rank;
        write_ = &w;
        read_ = &r;
      }
    }
  }

  /// Returns a barrier that a thread passes between its events `from` and `to`: the last one if `last` is true, otherwise the
  /// first one. Returns null if there is none.
  [[nodiscard]] const trace_event* barrier(int thread, int from, int to, bool last) const {
    const trace_event* result = nullptr;
    for (const trace_event& e : finding_.events) {
      if (e.thread == thread && e.event.kind == event_kind::barrier && e.at->code == op::block_barrier && e.number > from &&
          e.number < to && (result == nullptr || (last ? e.number > result->number : e.number < result->number))) {
        result = &e;
      }
    }
    return result;
  }

  static constexpr int end = std::numeric_limits<int>::max();

  void look_at_writer() {
    const trace_event* from = first_;
    if (write_->thread != first_->thread) {
      from = barrier(write_->thread, -1, write_->number, true);
      if (from == nullptr || barrier(first_->thread, first_->number, end, false) == nullptr) {
        notes_.push_back(place(*write_) + " writes " + place_text(program_, write_->event.address) +
                         " for the block, and no barrier orders " + place(*first_) + " in the other threads before it");
        return;
      }
    }
    if (!has_scope("written", *write_, *read_)) {
      return;
    }
    look_for_fence(*from, *write_, write_->event.releases, true, *write_, *first_);
  }

  void look_at_reader() {
    const trace_event* to = second_;
    if (read_->thread != second_->thread) {
      to = barrier(read_->thread, read_->number, end, false);
      if (to == nullptr || barrier(second_->thread, -1, second_->number, true) == nullptr) {
        notes_.push_back(place(*read_) + " reads " + place_text(program_, read_->event.address) +
                         " for the block, and no barrier orders it before " + place(*second_) + " in the other threads");
        return;
      }
    }
    if (!has_scope("read", *read_, *write_)) {
      return;
    }
    look_for_fence(*read_, *to, read_->event.acquires, false, *read_, *second_);
  }

  /// Returns whether access `e` to the flag is strong and its scope includes the thread of `other`. Otherwise, adds a note.
  [[nodiscard]] bool has_scope(const std::string& what, const trace_event& e, const trace_event& other) {
    const std::string flag = place_text(program_, e.event.address) + " is " + what + " at " + place(e);
    const std::string gap = e.event.strong ? scope_gap(program_, e.thread, e.event.scope, other.thread) : "";
    if (!e.event.strong) {
      notes_.push_back(flag + " by a weak access, which synchronizes with nothing");
    } else if (!gap.empty()) {
      notes_.push_back(flag + " with " + gap);
    }
    return e.event.strong && gap.empty();
  }

  /// Adds a note if no suitable fence is between two events of a thread and the flag's access does not order by itself
  /// (`ordered`). The note says where the nearest fence is.
  void look_for_fence(const trace_event& from, const trace_event& to, bool ordered, bool releases, const trace_event& flag,
                      const trace_event& data) {
    const int other = (releases ? read_ : write_)->thread;
    std::string narrow;
    for (const trace_event& e : finding_.events) {
      if (e.thread == flag.thread && e.number > from.number && e.number < to.number && e.event.kind == event_kind::fence &&
          (releases ? e.event.releases : e.event.acquires)) {
        const std::string gap = scope_gap(program_, e.thread, e.event.scope, other);
        ordered = ordered || gap.empty();
        narrow = gap.empty() ? narrow : "; the fence at " + place(e) + " has " + gap;
      }
    }
    if (ordered) {
      return;
    }
    notes_.push_back(place_text(program_, flag.event.address) + " is " + (releases ? "written" : "read") + " at " +
                     place(flag) + (releases ? " without a release" : " without an acquire") +
                     (narrow.empty()
                          ? ", and there is no fence between it and " + place(data) + misplaced_fence(from, to, releases)
                          : narrow));
  }

  /// Describes where the thread has executed, or may still execute, a fence that is not between the two events.
  [[nodiscard]] std::string misplaced_fence(const trace_event& from, const trace_event& to, bool releases) const {
    const kernel_code& kernel = *model::at(program_.threads, from.thread).kernel;
    const std::vector<bool> reached = reached_from(kernel, static_cast<std::int32_t>(to.event.pc));
    const instruction* before = nullptr;
    const instruction* after = nullptr;
    const auto was_executed = [&](int pc) {
      return std::any_of(finding_.events.begin(), finding_.events.end(), [&](const trace_event& e) {
        return e.thread == from.thread && e.event.kind == event_kind::fence && e.event.pc == pc;
      });
    };
    for (int pc = 0; pc < model::count_of(kernel.code); ++pc) {
      const instruction& i = model::at(kernel.code, pc);
      if (i.code == op::fence && !i.restricted) {
        before = pc < from.event.pc && was_executed(pc) ? &i : before;
        after = pc > to.event.pc && reached[static_cast<std::size_t>(pc)] && after == nullptr ? &i : after;
      }
    }
    const auto text = [&](const instruction& fence, const char* side, const trace_event& of) {
      const std::string at = place_of(program_, from.thread, fence);
      return at == place(of) ? std::string() : "; the fence at " + at + " comes " + side + " " + place(of);
    };
    if (releases) {
      return after != nullptr ? text(*after, "after", to) : before != nullptr ? text(*before, "before", from) : "";
    }
    return before != nullptr ? text(*before, "before", from) : after != nullptr ? text(*after, "after", to) : "";
  }

  const program& program_;
  const finding& finding_;
  std::map<std::pair<int, int>, const trace_event*> index_{};
  int blamed_ = 0;
  const trace_event* first_ = nullptr;
  const trace_event* second_ = nullptr;
  const trace_event* write_ = nullptr;  ///< the write of the flag
  const trace_event* read_ = nullptr;
  std::vector<std::string> notes_{};
};

}  // namespace

handover handover_of(const program& whole, const finding& f) { return synchronization(whole, f).ends(); }

std::vector<std::string> race_notes(const program& launched, const finding& f) {
  if (f.status != check_status::race) {
    return {};
  }
  return synchronization(whole_program(launched, f), f).notes();
}

}  // namespace membar::check
