// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
/// @file
/// Determines the reads that each event of an execution depends on, by running the threads again with the values that they have
/// read.
#pragma once

#include <check/data_flow.hpp>
#include <check/graph.hpp>
#include <check/machine.hpp>
#include <check/program.hpp>
#include <check/sync_points.hpp>
#include <membar/model/array.hpp>
#include <membar/model/execution.hpp>

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <unordered_map>
#include <utility>
#include <vector>

namespace membar::check {

using namespace ptx;

/// Returns the value that a thread received at an event. The results of sync points are in the registers of the following state.
[[nodiscard]] inline wide_value value_seen(const thread_context& c, const thread_run& run, const graph_event& e,
                                           const instruction& i, int part) {
  if (e.chosen || i.code <= op::fence || part == 0 || i.destinations == 0) {
    return e.value;
  }
  stack_arena none;
  return machine(c, none).given(*model::at(run.states, e.number + 1), i);
}

/// Runs a thread again with the values that its events have read, and tracks which of its events each register depends on. Calls
/// `before(machine, state, data_flow)` before each of the thread's events up to event `last`, which may be the next event.
template <class Before>
void replay(const thread_context& c, const thread_run& run, int last, Before&& before) {
  stack_arena arena;
  const machine m(c, arena);
  data_flow flow(m, model::count_of(run.events) + 1);
  const auto watch = [&](const thread_state& s, const instruction& i, bool runs) {
    static_cast<void>(flow.follow(s, i, runs));
    return watched::goes_on;
  };
  const thread_state* s = m.begin(watch);
  for (int n = 0;; ++n) {
    before(m, *s, flow);
    if (n == last) {
      return;
    }
    const instruction& i = m.at(*s);
    const graph_event& e = *model::at(run.events, n);
    data_flow::set value = flow.none();
    if (e.chosen) {
      // the predicate is already among the dependencies of the path
    } else if (i.code == op::load) {
      data_flow::put(value, n);
      flow.put_result(i, i.to[s->part], value);
    } else if (i.code == op::atomic) {
      if (s->part == 2 * i.elements - 1 || (i.elements == 1 && !m.writes(*s, e.value))) {
        for (int read = n - s->part; read <= n; read += 2) {
          data_flow::put(value, read);
        }
        for (unsigned k = 0; k < i.destinations; ++k) {
          flow.put_result(i, i.to[k], value);
        }
      }
    } else if (i.code > op::fence) {
      if (s->part == 1) {
        data_flow::put(value, n);
      }
      for (unsigned k = 1; i.code == op::shuffle && k < 3; ++k) {
        flow.join(value, i.by[k], false);
      }
      for (unsigned k = 0; k < i.destinations; ++k) {
        flow.put_result(i, i.to[k], value);
      }
    }
    s = m.step(*s, value_seen(c, run, e, i, s->part), watch);
  }
}

/// Returns the numbers of a thread's events whose results determine the address of its access with number `number`.
[[nodiscard]] inline std::vector<int> events_of_address(const thread_context& c, const thread_run& run, int number) {
  std::vector<int> result;
  replay(c, run, number, [&, n = 0](const machine& m, const thread_state& s, const data_flow& flow) mutable {
    const instruction& i = m.at(s);
    if (n++ == number) {
      data_flow::set on = flow.none();
      flow.join(on, i.by[0], false);
      for (int k = 0; k < number; ++k) {
        if (data_flow::has(on, k)) {
          result.push_back(k);
        }
      }
    }
  });
  return result;
}

/// The dependencies of one execution. The result of a shuffle, a vote, a match, a reduction or a barrier with a vote depends on
/// the other threads' values from which it is computed. Source: PTX ISA, "Axiom: No-Thin-Air", "inter-thread communication".
class dependencies {
 public:
  /// For one thread: the thread's reads that each of its events, including the next one, directly depends on.
  using of_thread = std::vector<data_flow::set>;
  /// A cache of threads' dependencies. In many executions, a thread reads the same values and therefore has the same
  /// dependencies.
  class memory {
   public:
    /// Clears the cache if it has grown too large.
    void tidy(std::size_t threads) {
      if (known_.size() != threads || entries_ > most_entries) {
        known_.assign(threads, {});
        entries_ = 0;
      }
      threads_.assign(threads, nullptr);
      seen_.resize(threads);
    }

   private:
    friend class dependencies;
    struct hash {
      [[nodiscard]] std::size_t operator()(const std::vector<std::uint64_t>& key) const noexcept {
        std::uint64_t result = 14695981039346656037ULL;  // FNV-1a, one word at a time
        for (const std::uint64_t word : key) {
          result = (result ^ word) * 1099511628211ULL;
        }
        return static_cast<std::size_t>(result ^ (result >> 32U));
      }
    };
    static constexpr std::size_t most_entries = 20'000;
    /// per thread, keyed by the values of its events
    std::vector<std::unordered_map<std::vector<std::uint64_t>, of_thread, hash>> known_{};
    std::size_t entries_ = 0;
    // used for one execution; these are members to avoid repeated memory allocations
    std::vector<const of_thread*> threads_{};
    std::vector<std::uint64_t> key_{};
    std::vector<std::pair<int, int>> open_{};
    std::vector<std::vector<std::uint64_t>> seen_{};  ///< per thread: one bit per event
    std::vector<int> seen_threads_{};                 ///< the threads with bits in `seen_`
    /// per thread: the number of its events before which all sync points have been visited, or -1
    std::vector<int> waits_seen_{};
  };

  /// Uses the entries of `known`, and adds new results to it.
  dependencies(const graph& g, const program& p, const sync_points& points, memory& known)
      : graph_(g), program_(p), points_(points), memory_(known) {
    memory_.tidy(p.threads.size());
  }

  /// Returns whether event `number` of thread `t`, which may be the thread's next event, depends on read `on` through
  /// dependencies within threads and reads-from. If the next event is a read-modify-write, the result holds for both its read
  /// and its write.
  [[nodiscard]] bool reaches(const graph_event& on, int t, int number) { return search(&on, t, number, false); }

  /// Finds the reads that must have a source before event `number` of thread `t` can take place: as in `reaches`, and because
  /// all threads must first arrive at a sync point or reach the end of an earlier launch.
  void find_what_holds_back(int t, int number) { static_cast<void>(search(nullptr, t, number, true)); }

  /// Returns whether the last call of `find_what_holds_back` has found a read.
  [[nodiscard]] bool has_found(const graph_event& read) const noexcept {
    const std::vector<std::uint64_t>& bits = model::at(memory_.seen_, read.thread);
    const auto word = static_cast<std::size_t>(read.number) / 64;
    return word < bits.size() && ((bits[word] >> (static_cast<unsigned>(read.number) % 64)) & 1U) != 0;
  }

 private:
  /// Visits the reads that an event depends on and, if `with_waits` is true, those that hold it back in another way. Stops at
  /// read `on`, which may be null, and returns whether it has been visited.
  [[nodiscard]] bool search(const graph_event* on, int t, int number, bool with_waits) {
    memory_.waits_seen_.assign(with_waits ? program_.threads.size() : 0, -1);
    std::vector<std::pair<int, int>>& open = memory_.open_;
    open.assign(1, {t, number});
    for (const int seen : memory_.seen_threads_) {
      model::at(memory_.seen_, seen).clear();
    }
    memory_.seen_threads_.clear();
    while (!open.empty()) {
      const auto [thread, event] = open.back();
      open.pop_back();
      if (model::at(program_.threads, thread).copies_of >= 0) {
        if (depends_on_issue(thread, event, on)) {
          return true;
        }
        continue;
      }
      if (with_waits) {
        add_what_it_waits_for(thread, event);
      }
      const data_flow::set& before = model::at(of(thread), event);
      for (int first = 0; first < event; first += 64) {
        const auto word = static_cast<std::size_t>(first) / 64;
        std::uint64_t& seen = seen_of(thread, word);
        std::uint64_t left = before[word] & truncated(~std::uint64_t{0}, std::min(event - first, 64)) & ~seen;
        seen |= left;
        for (; left != 0; left &= left - 1) {
          const int n = first + std::countr_zero(left);
          if (on != nullptr && thread == on->thread && n == on->number) {
            return true;
          }
          continue_at(thread, n);
        }
      }
    }
    return false;
  }

  /// Continues with the arrivals at the sync points that precede an event in its thread, and with the ends of the threads whose
  /// launches end before its launch begins.
  void add_what_it_waits_for(int thread, int event) {
    const thread_run& run = model::at(graph_.threads, thread);
    int& seen = model::at(memory_.waits_seen_, thread);
    if (seen < 0) {
      for (int t = 0; t < model::count_of(program_.threads); ++t) {
        if (program_.ends_before(model::at(program_.threads, t).launch, model::at(program_.threads, thread).launch)) {
          memory_.open_.emplace_back(t, model::count_of(model::at(graph_.threads, t).events));
        }
      }
    }
    std::vector<const graph_event*> left;
    for (int n = std::max(seen, 1); n < event; ++n) {
      const graph_event& arrival = *model::at(run.events, n - 1);
      if (arrival.arrives && arrival.kind == model::event_kind::barrier && is_continuation(*model::at(run.events, n)) &&
          !sync_points::is_of_lanes(arrival.sync_point) && see(arrival)) {
        for (const graph_event* a : points_.together(graph_, thread, arrival.sync_point, arrival.turn, left)) {
          static_cast<void>(see(*a));
          memory_.open_.emplace_back(a->thread, a->number);
        }
      }
    }
    seen = std::max(seen, event);
  }

  /// Marks an arrival as seen. Returns whether it was not seen before.
  [[nodiscard]] bool see(const graph_event& arrival) const {
    std::uint64_t& bits = seen_of(arrival.thread, static_cast<std::size_t>(arrival.number) / 64);
    const std::uint64_t bit = std::uint64_t{1} << (static_cast<unsigned>(arrival.number) % 64);
    const bool is_new = (bits & bit) == 0;
    bits |= bit;
    return is_new;
  }

  /// Returns whether an event continues after a sync point at which its thread has arrived.
  [[nodiscard]] static bool is_continuation(const graph_event& e) noexcept {
    return e.kind == model::event_kind::barrier && !e.arrives && !e.chosen;
  }

  /// Returns one 64-bit word of the bit set that marks which events of a thread `reaches` has visited.
  [[nodiscard]] std::uint64_t& seen_of(int thread, std::size_t word) const {
    std::vector<std::uint64_t>& bits = model::at(memory_.seen_, thread);
    if (bits.empty()) {
      memory_.seen_threads_.push_back(thread);
    }
    bits.resize(std::max(bits.size(), word + 1));
    return bits[word];
  }

  /// Continues with the events that a read directly depends on, in its own thread and in others.
  void continue_at(int thread, int n) {
    memory_.open_.emplace_back(thread, n);
    const graph_event& read = *model::at(model::at(graph_.threads, thread).events, n);
    if (read.source != nullptr) {
      memory_.open_.emplace_back(read.source->thread, read.source->number);
    }
    if (read.kind == model::event_kind::barrier) {
      add_what_others_bring(read);
    }
  }

  /// Continues with the arrivals whose values determine the result of the sync point before `e`.
  void add_what_others_bring(const graph_event& e) {
    const thread_run& run = model::at(graph_.threads, e.thread);
    const graph_event& arrival = *model::at(run.events, e.number - 1);
    std::vector<const graph_event*> left;
    for (const graph_event* a : points_.together(graph_, e.thread, arrival.sync_point, arrival.turn, left)) {
      if (points_.uses(e.thread, *model::at(run.states, e.number), *a)) {
        memory_.open_.emplace_back(a->thread, a->number);
      }
    }
  }

  /// For an event of an asynchronous operation: continues with the instructions that start the operation. If the event is the
  /// write of a read-modify-write, also continues with the source of its read, and returns whether `on` is that read.
  /// Dependencies between the pieces of a copy are not tracked.
  [[nodiscard]] bool depends_on_issue(int thread, int event, const graph_event* on) {
    const thread_run& run = model::at(graph_.threads, thread);
    std::uint64_t& seen = seen_of(thread, static_cast<std::size_t>(event) / 64);
    const std::uint64_t bit = std::uint64_t{1} << (static_cast<unsigned>(event) % 64);
    if ((seen & bit) != 0 || run.issue == nullptr) {
      return false;
    }
    seen |= bit;
    const thread_context& c = model::at(program_.threads, thread);
    for (int t = c.copies_of; t < c.copies_of + c.starters; ++t) {
      for (const graph_event* e : model::at(graph_.threads, t).events) {
        if (e->starts == thread) {
          memory_.open_.emplace_back(t, e->number);
        }
      }
    }
    const graph_event* const read = event < model::count_of(run.events) ? model::at(run.events, event)->partner : nullptr;
    if (read != nullptr && read->source != nullptr) {
      memory_.open_.emplace_back(read->source->thread, read->source->number);
    }
    return on != nullptr && read != nullptr && read->thread == on->thread && read->number == on->number;
  }

  [[nodiscard]] const of_thread& of(int t) {
    const of_thread*& result = model::at(memory_.threads_, t);
    if (result == nullptr) {
      memory_.key_.clear();
      for (const graph_event* e : model::at(graph_.threads, t).events) {
        memory_.key_.insert(memory_.key_.end(), {e->value.low, e->value.high, e->value.unknown ? 1U : 0U});
        // at some barriers, lanes exchange values; these values are in the registers
        if (e->kind == model::event_kind::barrier) {
          const wide_value seen = value_seen(model::at(program_.threads, t), model::at(graph_.threads, t), *e,
                                             model::at(model::at(program_.threads, t).kernel->code, e->pc), 1);
          memory_.key_.insert(memory_.key_.end(), {seen.low, seen.high, seen.unknown ? 1U : 0U});
        }
      }
      const auto [at, is_new] = model::at(memory_.known_, t).try_emplace(memory_.key_);
      if (is_new) {
        follow(t, at->second);
        ++memory_.entries_;
      }
      result = &at->second;
    }
    return *result;
  }

  void follow(int t, of_thread& result) const {
    const thread_run& run = model::at(graph_.threads, t);
    replay(model::at(program_.threads, t), run, model::count_of(run.events),
           [&](const machine& m, const thread_state& s, data_flow& flow) {
             const instruction& i = m.at(s);
             const int n = model::count_of(result);
             data_flow::set on = flow.none();
             if (s.status == thread_status::ended) {
               flow.join_path(on, i);
             } else if (s.status == thread_status::at_event) {
               flow.join_path(on, i);
               const bool accesses =
                   i.code == op::load || i.code == op::store || i.code == op::atomic || i.code == op::reduction;
               const bool last = n == model::count_of(run.events);
               const bool writes = i.code == op::store || (accesses && i.code != op::load && (m.is_amid_rmw(s) || last));
               if (accesses) {
                 flow.join(on, i.by[0], false);
               }
               for (unsigned k = 0; i.code == op::async_copy && k < i.sources; ++k) {
                 flow.join(on, i.by[k], false);
               }
               if (brings(i, s)) {
                 flow.join(on, i.by[i.code == op::block_barrier ? i.sources - 1U : 0U], false);
               }
               if (writes && i.code == op::store) {
                 flow.join(on, i.by[1U + s.part], i.type == ptx_type::b128);
               } else if (writes) {
                 flow.join(on, i.by[1U + s.part / 2U / i.packed], i.type == ptx_type::b128);
                 flow.join(on, i.by[2], i.type == ptx_type::b128);
                 if (m.is_amid_rmw(s)) {
                   data_flow::put(on, n - 1);
                 }
               }
             }
             result.push_back(on);
           });
  }

  /// Returns whether the next event, an arrival, contributes a value to the sync point.
  [[nodiscard]] static bool brings(const instruction& i, const thread_state& s) noexcept {
    return i.code > op::fence && i.code < op::async_copy && i.destinations > 0 && s.part == 0;
  }

  const graph& graph_;
  const program& program_;
  const sync_points& points_;
  memory& memory_;
};

}  // namespace membar::check
