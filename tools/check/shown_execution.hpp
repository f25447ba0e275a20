// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
/// @file
/// Answers questions about the execution that a finding shows.
#pragma once

#include <check/barrier_alignment.hpp>
#include <check/program.hpp>
#include <check/trace.hpp>
#include <membar/model/array.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <vector>

namespace membar::check::detail {

using model::event_kind;

/// Returns whether `e` is a successful wait for a phase of an mbarrier.
[[nodiscard]] inline bool is_wait(const trace_event& e) {
  return e.event.kind == event_kind::read && e.at->mbarrier == mbarrier_op::test && e.event.passes;
}

/// Returns whether a thread may learn at `e` what other threads have done.
[[nodiscard]] inline bool waits_for_others(const trace_event& e) {
  const bool reads_flag = e.event.kind == event_kind::read && e.event.strong && e.at->mbarrier == mbarrier_op::none &&
                          e.source_thread >= 0 && e.source_thread != e.thread;
  return is_wait(e) || reads_flag || e.event.kind == event_kind::barrier;
}

/// Returns whether `read` and `write` are the two halves of a read-modify-write.
[[nodiscard]] inline bool updates(const trace_event& read, const trace_event& write) {
  return read.event.rmw && write.event.rmw && read.thread == write.thread && read.number + 1 == write.number;
}

/// Returns whether two events of barriers belong to the same barrier, executed for the same time.
[[nodiscard]] inline bool meet(const trace_event& x, const trace_event& y) {
  return x.event.sync_point == y.event.sync_point && x.event.turn == y.event.turn;
}

/// Names an event's thread, as the text that follows a place.
[[nodiscard]] inline std::string in_thread(const trace_event& e) { return " in thread " + std::to_string(e.thread); }

/// The execution of a finding. It refers to the program and the finding.
class shown_execution {
 public:
  /// `whole` is the program to which the finding's thread numbers refer (`whole_program`).
  shown_execution(const program& whole, const finding& f) : program_(whole), finding_(f) {
    for (const trace_event& e : f.events) {
      index_[{e.thread, e.number}] = &e;
      if (e.blamed) {
        blamed_.push_back(&e);
      }
    }
  }

  [[nodiscard]] const program& whole() const noexcept { return program_; }
  [[nodiscard]] const finding& found() const noexcept { return finding_; }
  [[nodiscard]] const std::vector<trace_event>& events() const noexcept { return finding_.events; }

  /// Returns the two accesses that the finding blames, or null pointers if it does not blame exactly two events.
  [[nodiscard]] std::pair<const trace_event*, const trace_event*> blamed() const {
    return blamed_.size() == 2 ? std::pair(blamed_[0], blamed_[1]) : std::pair<const trace_event*, const trace_event*>();
  }

  // ---- threads

  /// Returns whether an asynchronous copy performs the event.
  [[nodiscard]] bool is_copy(const trace_event& e) const { return model::at(program_.threads, e.thread).copies_of >= 0; }
  [[nodiscard]] int block_of(int thread) const { return model::at(program_.threads, thread).block_number; }

  /// Returns the thread whose code contains an event's instruction. For a copy, this is the thread that starts it.
  [[nodiscard]] const thread_context& context_of(const trace_event& e) const {
    return model::at(program_.threads, issuer_of(program_, e.thread));
  }

  /// Returns whether two threads of kernels belong to one warp.
  [[nodiscard]] bool in_one_warp(const trace_event& x, const trace_event& y) const {
    return block_of(x.thread) == block_of(y.thread) &&
           context_of(x).number_in_block() / 32 == context_of(y).number_in_block() / 32;
  }

  /// Returns whether the threads of two events belong to one block.
  [[nodiscard]] bool in_one_block(const trace_event& x, const trace_event& y) const {
    return !model::at(program_.threads, x.thread).where.host && block_of(x.thread) == block_of(y.thread);
  }

  // ---- code

  /// Returns the position of an event's instruction in the source.
  [[nodiscard]] std::string place(const trace_event& e) const {
    return place_of(program_, issuer_of(program_, e.thread), *e.at);
  }

  /// Returns the index of an event's instruction in its kernel. For a copy, this is the instruction that starts it.
  [[nodiscard]] std::int32_t pc_of(const trace_event& e) const {
    return static_cast<std::int32_t>(e.at - context_of(e).kernel->code.data());
  }

  /// Returns whether a thread that has executed the instruction of `x` may later execute the instruction of `y`, in the same
  /// kernel.
  [[nodiscard]] bool leads_to(const trace_event& x, const trace_event& y) const {
    return reached_from(*context_of(x).kernel, pc_of(x))[static_cast<std::size_t>(pc_of(y))];
  }

  /// Returns whether the access is performed by a kernel's thread and C++ has a function for it.
  [[nodiscard]] bool has_spelling(const trace_event& e) const {
    return !model::at(program_.threads, e.thread).where.host && !is_copy(e) && e.at->elements == 1 &&
           e.at->mbarrier == mbarrier_op::none;
  }

  // ---- events

  /// Returns the event that starts the copy that performs `e`, or `e` itself if a thread performs it.
  [[nodiscard]] const trace_event& start_of(const trace_event& e) const {
    const auto start = std::find_if(finding_.events.begin(), finding_.events.end(), [&](const trace_event& s) {
      return s.event.kind == event_kind::issue && s.event.starts == e.thread;
    });
    return start == finding_.events.end() ? e : *start;
  }

  /// Returns the write whose value event `e` reads, or null if there is not exactly one.
  [[nodiscard]] const trace_event* source_of(const trace_event& e) const {
    const auto source = index_.find({e.source_thread, e.source_number});
    return e.event.kind != event_kind::read || source == index_.end() ? nullptr : source->second;
  }

  /// Returns whether a read is the first half of a read-modify-write that also writes.
  [[nodiscard]] bool is_update(const trace_event& read) const {
    const auto next = index_.find({read.thread, read.number + 1});
    return next != index_.end() && updates(read, *next->second);
  }

  /// Returns whether `e` is an arrival at an mbarrier.
  [[nodiscard]] bool is_arrival(const trace_event& e) const {
    return !is_copy(e) && e.event.kind == event_kind::write && arrives(e.at->mbarrier);
  }

  /// Returns the arrivals of `e`'s thread at barriers of its block or warp, before or after `e`.
  [[nodiscard]] std::vector<const trace_event*> arrivals(const trace_event& e, bool before) const {
    std::vector<const trace_event*> result;
    for (const trace_event& a : finding_.events) {
      const bool is_arrival =
          a.event.arrives && a.event.kind == event_kind::barrier &&
          (a.at->code == op::block_barrier || a.at->code == op::block_arrive || a.at->code == op::warp_barrier);
      if (is_arrival && a.thread == e.thread && (before ? a.number < e.number : a.number > e.number)) {
        result.push_back(&a);
      }
    }
    return result;
  }

  /// Returns the barriers of a block or warp that order event `x` before event `y` of another thread, as arrivals of `x`'s
  /// thread and of `y`'s thread, in execution order.
  [[nodiscard]] std::vector<std::pair<const trace_event*, const trace_event*>> barriers(const trace_event& x,
                                                                                        const trace_event& y) const {
    std::vector<std::pair<const trace_event*, const trace_event*>> result;
    const std::vector<const trace_event*> late = arrivals(y, true);
    for (const trace_event* a : arrivals(x, false)) {
      const auto same = std::find_if(late.begin(), late.end(),
                                     [&](const trace_event* b) { return b->at->code != op::block_arrive && meet(*a, *b); });
      if (same != late.end()) {
        result.emplace_back(a, *same);
      }
    }
    return result;
  }

  /// Returns the event of `write`'s thread from which on `data` precedes the thread's events: `data` itself, or the thread's
  /// arrival at a barrier of its block or warp. Returns null if no barrier orders `data` before `write`.
  [[nodiscard]] const trace_event* start_after(const trace_event& data, const trace_event& write) const {
    if (write.thread == data.thread) {
      return &data;
    }
    const auto met = barriers(data, write);
    return met.empty() ? nullptr : met.front().second;
  }

  /// Returns whether `arrival` precedes access `x` of the same thread in the code, and both of them belong to the same round: the
  /// thread does not wait between them, and does not execute the code of `x` between its last wait and the arrival.
  [[nodiscard]] bool is_too_early(const trace_event& arrival, const trace_event& x) const {
    bool already_accessed = false;
    for (const trace_event& e : finding_.events) {
      if (e.thread != x.thread || e.number >= x.number) {
        continue;
      }
      const bool waits = waits_for_others(e);
      if (waits && e.number > arrival.number) {
        return false;
      }
      if (e.number < arrival.number) {
        already_accessed = !waits && (already_accessed || place(e) == place(x));
      }
    }
    return pc_of(arrival) < pc_of(x) && !already_accessed;
  }

 private:
  const program& program_;
  const finding& finding_;
  std::map<std::pair<int, int>, const trace_event*> index_{};
  std::vector<const trace_event*> blamed_{};
};

}  // namespace membar::check::detail
