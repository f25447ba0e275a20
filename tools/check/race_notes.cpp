// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <check/barrier_alignment.hpp>
#include <check/program.hpp>
#include <check/race_notes.hpp>
#include <check/trace.hpp>
#include <membar/model/array.hpp>
#include <membar/model/program.hpp>
#include <ptx/cuda_words.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
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
    if (read_ == nullptr) {  // a race has no direction: the flag may be meant to order the second access before the first
      std::swap(first_, second_);
      find_flag();
    }
    if (read_ == nullptr) {
      std::swap(first_, second_);
    }
    return {first_, second_, write_, read_};
  }

  [[nodiscard]] std::vector<std::string> notes() {
    static_cast<void>(ends());
    add_barrier_of_block();
    if (read_ != nullptr && !(first_->event.strong && second_->event.strong)) {
      const bool releases = look_at_writer();
      const bool acquires = look_at_reader();
      const bool neither = !releases && !acquires && write_->at == read_->at;
      if (!releases) {
        add_remedy(*write_, *read_,
                   neither || orders(*write_, memory_order::acquire) ? memory_order::acq_rel : memory_order::release);
      }
      if (!acquires) {
        add_remedy(*read_, *write_,
                   neither || orders(*read_, memory_order::release) ? memory_order::acq_rel : memory_order::acquire);
      }
    }
    return std::move(notes_);
  }

  [[nodiscard]] std::vector<std::string> access_notes() {
    static_cast<void>(ends());
    if (first_ != nullptr && second_ != nullptr && (first_->event.strong || second_->event.strong)) {
      add_access(*first_, *second_);
      add_access(*second_, *first_);
    }
    return std::move(notes_);
  }

 private:
  /// Adds a note about the missing barrier if both accesses are in one block, are not both strong, and no flag is passed
  /// between them.
  void add_barrier_of_block() {
    if (blamed_ != 2 || read_ != nullptr || (first_->event.strong && second_->event.strong)) {
      return;
    }
    const thread_context& x = model::at(program_.threads, issuer_of(program_, first_->thread));
    const thread_context& y = model::at(program_.threads, issuer_of(program_, second_->thread));
    if (&x == &y || x.where.host || y.where.host || x.block_number != y.block_number) {
      return;
    }
    const bool one_warp = x.number_in_block() / 32 == y.number_in_block() / 32;
    notes_.push_back("both threads are in the same " + std::string(one_warp ? "warp" : "block") +
                     ", and no barrier separates " + place(*first_) + " and " + place(*second_) + ": add " +
                     (one_warp ? "__syncwarp() or __syncthreads()" : "__syncthreads()") + " between them" +
                     (is_copy(*first_) || is_copy(*second_)
                          ? ", before the copy starts or after the thread that started it has waited for its completion"
                          : ""));
  }

  void add_access(const trace_event& e, const trace_event& other) {
    const bool suffices = e.event.strong && scope_gap(program_, e.thread, e.event.scope, other.thread).empty();
    const std::string access =
        suffices || !has_spelling(e)
            ? ""
            : in_cuda(e.at->code, e.at->what, order_of(e), scope_with(program_, e.thread, other.thread, e.event.address)).cuda;
    if (!access.empty()) {
      notes_.push_back("if no other synchronization should order the accesses, in C++: " + access);
    }
  }

  /// Returns whether the event's instruction is at least as strong as `order`.
  [[nodiscard]] static bool orders(const trace_event& e, memory_order order) {
    const memory_order own = e.at->order;
    return e.at->strong && (own == order || own == memory_order::acq_rel || own == memory_order::seq_cst);
  }

  /// Returns the order that an access to a flag needs.
  [[nodiscard]] static memory_order order_of(const trace_event& e) {
    return e.at->code == op::atomic ? memory_order::acq_rel
           : e.at->code == op::load ? memory_order::acquire
                                    : memory_order::release;
  }

  /// Returns whether the access is performed by a kernel's thread and C++ has a function for it.
  [[nodiscard]] bool has_spelling(const trace_event& e) const {
    return !model::at(program_.threads, e.thread).where.host && !is_copy(e) && e.at->elements == 1 &&
           e.at->mbarrier == mbarrier_op::none;
  }

  [[nodiscard]] bool is_copy(const trace_event& e) const { return model::at(program_.threads, e.thread).copies_of >= 0; }
  [[nodiscard]] int block_of(int thread) const { return model::at(program_.threads, thread).block_number; }
  [[nodiscard]] std::string place(const trace_event& e) const {
    return place_of(program_, issuer_of(program_, e.thread), *e.at);
  }

  /// Finds the flag: the last read of a value that was written by the first access's thread or, failing that, by its block. The
  /// read must be performed by the second access's thread or, failing that, by its block. A flag with strong accesses on both
  /// sides is preferred to other locations.
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
      // In another iteration of a loop, a flag may be accessed on the wrong side of a barrier.
      if ((for_writer && !may_precede(*first_, w)) || (for_reader && !may_precede(r, *second_))) {
        continue;
      }
      const int strong = w.event.strong && r.event.strong ? 4 : 0;
      if (one_block && strong == 0) {
        continue;  // within a block, weak accesses are more likely to be data than a flag
      }
      const int rank = strong + (by_writer ? 2 : for_writer ? 1 : -9) + (by_reader ? 2 : for_reader ? 1 : -9);
      if (rank >= best && rank > 0 && w.event.address != first_->event.address) {
        best = rank;
        write_ = &w;
        read_ = &r;
      }
    }
  }

  /// Returns whether `x` comes before `y`, an event of another thread of the block, or would come before it if the code had an
  /// additional barrier.
  [[nodiscard]] bool may_precede(const trace_event& x, const trace_event& y) const {
    const auto passed_by_x = arrivals(x, true).size();
    const auto passed_by_y = arrivals(y, true).size();
    const auto is_between = [&](const trace_event* a) { return x.event.pc < a->event.pc && a->event.pc < y.event.pc; };
    const bool has_barrier =
        std::ranges::any_of(arrivals(x, false), is_between) || std::ranges::any_of(arrivals(y, true), is_between);
    return passed_by_x < passed_by_y || (passed_by_x == passed_by_y && !has_barrier);
  }

  /// Returns the arrivals of `e`'s thread at block barriers, before or after `e`.
  [[nodiscard]] std::vector<const trace_event*> arrivals(const trace_event& e, bool before) const {
    std::vector<const trace_event*> result;
    for (const trace_event& a : finding_.events) {
      const bool is_arrival = a.event.arrives && a.event.kind == event_kind::barrier &&
                              (a.at->code == op::block_barrier || a.at->code == op::block_arrive);
      if (is_arrival && a.thread == e.thread && (before ? a.number < e.number : a.number > e.number)) {
        result.push_back(&a);
      }
    }
    return result;
  }

  /// Returns the block barriers that order event `x` before event `y` of another thread, as arrivals of `x`'s thread and of
  /// `y`'s thread, in execution order.
  [[nodiscard]] std::vector<std::pair<const trace_event*, const trace_event*>> barriers(const trace_event& x,
                                                                                        const trace_event& y) const {
    std::vector<std::pair<const trace_event*, const trace_event*>> result;
    const std::vector<const trace_event*> late = arrivals(y, true);
    for (const trace_event* a : arrivals(x, false)) {
      const auto same = std::find_if(late.begin(), late.end(), [&](const trace_event* b) {
        return b->at->code == op::block_barrier && b->event.sync_point == a->event.sync_point && b->event.turn == a->event.turn;
      });
      if (same != late.end()) {
        result.emplace_back(a, *same);
      }
    }
    return result;
  }

  /// Returns whether the flag's write releases the first access, assuming that no barrier of the block is missing. Otherwise,
  /// adds a note.
  [[nodiscard]] bool look_at_writer() {
    const trace_event* from = first_;
    if (write_->thread != first_->thread) {
      const auto met = barriers(*first_, *write_);
      if (!met.empty()) {
        from = met.front().second;
      } else {
        notes_.push_back(place(*write_) + " writes " + place_text(program_, write_->event.address) +
                         " on behalf of its block, and no barrier orders " + place(*first_) +
                         " in the other threads before it" + missing_barrier(*write_, true));
        return true;
      }
    }
    return has_scope("written", *write_, *read_) &&
           look_for_fence(*from, *write_, write_->event.releases, true, *write_, *first_);
  }

  /// Like `look_at_writer`, for the flag's read, which must acquire for the second access.
  [[nodiscard]] bool look_at_reader() {
    const trace_event* to = second_;
    if (read_->thread != second_->thread) {
      const auto met = barriers(*read_, *second_);
      if (!met.empty()) {
        to = met.back().first;
      } else {
        notes_.push_back(place(*read_) + " reads " + place_text(program_, read_->event.address) +
                         " on behalf of its block, and no barrier orders it before " + place(*second_) +
                         " in the other threads" + missing_barrier(*read_, false));
        return true;
      }
    }
    return has_scope("read", *read_, *write_) && look_for_fence(*read_, *to, read_->event.acquires, false, *read_, *second_);
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

  /// Returns whether a suitable fence is between two events of a thread, or the flag's access itself orders them (`ordered`).
  /// Otherwise, adds a note that says where the nearest fence is.
  [[nodiscard]] bool look_for_fence(const trace_event& from, const trace_event& to, bool ordered, bool releases,
                                    const trace_event& flag, const trace_event& data) {
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
      return true;
    }
    notes_.push_back(place_text(program_, flag.event.address) + " is " + (releases ? "written" : "read") + " at " +
                     place(flag) + (releases ? " without a release" : " without an acquire") +
                     (narrow.empty()
                          ? ", and there is no fence between it and " + place(data) + misplaced_fence(from, to, releases)
                          : narrow));
    return false;
  }

  /// Adds a note that says how a thread's access to the flag can release or acquire in C++. A fence is sufficient only if the
  /// access is strong and its scope includes the other thread.
  void add_remedy(const trace_event& flag, const trace_event& other, memory_order order) {
    const instruction& i = *flag.at;
    if (!has_spelling(flag)) {
      return;
    }
    const bool reads = flag.event.kind == event_kind::read;
    const thread_scope scope = scope_with(program_, flag.thread, other.thread, flag.event.address);
    const std::string access = in_cuda(i.code, i.what, order, scope).cuda;
    const std::string fence = in_cuda(op::fence, {}, order, scope).cuda;
    const bool fence_is_enough = flag.event.strong && scope_gap(program_, flag.thread, flag.event.scope, other.thread).empty();
    if (!access.empty()) {
      notes_.push_back(
          std::string(reads ? "acquire" : "release") + " in C++: " + access +
          (!fence_is_enough
               ? ""
               : ", or " + fence + (reads ? " after the access or, if it polls, after the loop" : " before the access")));
    }
  }

  /// Describes which barrier is missing, and where the flag's thread may execute a block barrier that is on the wrong side of
  /// its access to the flag: after the write, or before the read.
  [[nodiscard]] std::string missing_barrier(const trace_event& flag, bool releases) const {
    const kernel_code& kernel = *model::at(program_.threads, flag.thread).kernel;
    const std::vector<bool> reached = reached_from(kernel, static_cast<std::int32_t>(flag.event.pc));
    const instruction* barrier = nullptr;
    for (int pc = 0; pc < model::count_of(kernel.code); ++pc) {
      const instruction& i = model::at(kernel.code, pc);
      const bool is_barrier = i.code == op::block_barrier || i.code == op::block_arrive;
      if (is_barrier &&
          (releases ? pc > flag.event.pc && reached[static_cast<std::size_t>(pc)] && barrier == nullptr : pc < flag.event.pc)) {
        barrier = &i;
      }
    }
    return ": add __syncthreads() between them, where all threads of the block reach it" +
           (barrier == nullptr ? std::string()
                               : "; the barrier at " + place_of(program_, flag.thread, *barrier) + " comes " +
                                     (releases ? "after " : "before ") + place(flag));
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

handover handover_of(const program& whole, const finding& f) {
  return f.status == check_status::race ? synchronization(whole, f).ends() : handover{};
}

std::vector<std::string> race_notes(const program& launched, const finding& f) {
  if (f.status != check_status::race) {
    return {};
  }
  return synchronization(whole_program(launched, f), f).notes();
}

std::vector<std::string> access_notes(const program& launched, const finding& f) {
  if (f.status != check_status::race) {
    return {};
  }
  return synchronization(whole_program(launched, f), f).access_notes();
}

}  // namespace membar::check
