// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
/// @file
/// Threads that run on past reads whose source is not chosen yet, for load_buffering.hpp. What is computed from such a read is
/// unknown: an access with an unknown address or value is left out until it is known, and an unknown branch stops the thread.
#pragma once

#include <check/data_flow.hpp>
#include <check/event_builder.hpp>
#include <check/graph.hpp>
#include <check/machine.hpp>
#include <check/program.hpp>
#include <membar/model/array.hpp>
#include <membar/model/execution.hpp>
#include <membar/model/relation.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

namespace membar::check::detail {

/// The threads of a program as far as the sources that are chosen decide them.
class buffered_threads : protected event_builder {
 protected:
  using relation = model::relation;
  using event_set = model::event_set;

  /// One event that the threads have come to.
  struct planned {
    std::uint64_t slot = 0;  ///< which instruction of the thread's run, and which of its events
    int number = -1;         ///< in `events_`; -1: it is not part of the execution yet
    bool known = false;      ///< address and value are known
    bool open = false;       ///< a read whose source is not chosen yet
    graph_event event{};
  };

  /// One event of the execution.
  struct placed {
    graph_event event{};
    std::uint64_t slot = 0;
    int source = none;  ///< a read's: the number of a write, or one of these
    int partner = -1;   ///< of an update's write
  };
  static constexpr int none = -2;  ///< open
  static constexpr int initial = -1;

  struct line {
    std::vector<planned> plan;
    const thread_state* end = nullptr;
    bool unsupported = false;
  };
  explicit buffered_threads(const program& checked) : event_builder(checked), lines_(checked.threads.size()) {}
  ~buffered_threads() = default;

  /// Runs thread `t` again while `use` runs, and then puts back what it was.
  template <class Use>
  void with_new_run(int t, const Use& use) {
    line kept;
    if (!spare_.empty()) {
      kept = std::move(spare_.back());
      spare_.pop_back();
    }
    std::swap(kept, model::at(lines_, t));
    run_thread(t);
    use();
    std::swap(kept, model::at(lines_, t));
    spare_.push_back(std::move(kept));
  }

  // ---- threads

  [[nodiscard]] int placed_at(int t, std::uint64_t slot) const noexcept {
    for (int n = 0; n < model::count_of(events_); ++n) {
      if (model::at(events_, n).event.thread == t && model::at(events_, n).slot == slot) {
        return n;
      }
    }
    return -1;
  }

  [[nodiscard]] static bool unknown(const data_flow::set& s) noexcept { return s[0] != 0; }

  /// Runs thread `t` from its begin, with the sources that are chosen, as far as it is decided.
  void run_thread(int t) {
    const machine& m = model::at(machines_, t);
    line& to = model::at(lines_, t);
    to.plan.clear();
    to.end = nullptr;
    to.unsupported = false;
    data_flow flow(m, 1);
    data_flow::set open = flow.none();
    data_flow::put(open, 0);
    std::uint64_t steps = 0;
    const auto watch = [&](const thread_state& s, const instruction& i, bool runs) {
      ++steps;
      data_flow::set guard = flow.none();
      flow.join_predicate(guard, i);
      const bool jumps = i.code == op::branch || i.code == op::branch_index || i.code == op::exit || i.code == op::trap;
      if (i.code == op::branch_index) {
        flow.join(guard, i.by[0], false);
      }
      if (unknown(guard)) {
        if (jumps || i.code > op::fence) {
          to.unsupported = to.unsupported || i.code > op::fence;
          return watched::stops;
        }
        const bool local = (i.code == op::load || i.code == op::store) && machine::is_local(m.base_address(s, i));
        if (local || !flow.follow(s, i, false)) {
          to.unsupported = true;
          return watched::stops;
        }
        if (is_event(i.code)) {
          to.plan.emplace_back().slot = steps * 32;
        }
        return watched::skips;
      }
      if (!flow.follow(s, i, runs)) {
        to.unsupported = true;
        return watched::stops;
      }
      return watched::goes_on;
    };
    const thread_state* s = m.begin(watch);
    while (s->status == thread_status::at_event && to.plan.size() <= model::max_events) {
      const instruction& i = m.at(*s);
      to.unsupported = to.unsupported || i.mbarrier != mbarrier_op::none || i.restricted;
      planned& p = to.plan.emplace_back();
      const std::size_t here = to.plan.size() - 1;
      p.slot = steps * 32 + s->part;
      p.event.thread = t;
      p.event.pc = s->pc;
      p.event.scope = i.scope;
      data_flow::set address = flow.none();
      data_flow::set operands = flow.none();
      flow.join(address, i.by[0], false);
      wide_value seen{};
      if (i.code == op::load || (is_update(i.code) && s->part == 0)) {
        p.event.kind = event_kind::read;
        p.known = !unknown(address) && placed_memory(t, *s, p.event);
        p.number = placed_at(t, p.slot);
        p.open = p.number < 0 || model::at(events_, p.number).source == none;
        if (!p.open) {
          seen = model::at(events_, p.number).event.value;
        }
        if (i.code == op::load) {
          flow.put_result(i, i.to[s->part], p.open ? open : flow.none());
          s = m.step(*s, seen, watch);
          continue;
        }
        flow.join(operands, i.by[1], i.type == ptx_type::b128);
        if (i.what == model::operation::compare_exchange) {
          flow.join(operands, i.by[2], i.type == ptx_type::b128);
        }
        const bool undecided = i.what == model::operation::compare_exchange && (p.open || unknown(operands));
        const wide_value old = seen;
        if (undecided) {
          // whether it writes is not known: go on as if it did not
          seen = {m.operand(*s, 1) + 1, 0};
          planned& write = to.plan.emplace_back();
          write.slot = steps * 32 + 1;
        }
        if (!undecided && m.writes(*s, seen)) {
          s = m.step(*s, seen, watch);  // the write is next
          continue;
        }
        if (i.code == op::atomic) {
          flow.put_result(i, i.to[0], to.plan[here].open ? open : flow.none());
        }
        if (undecided && i.code == op::atomic && i.to[0].word >= 0) {
          pending_result_ = {true, i.to[0], old};
        }
        s = m.step(*s, seen, [&](const thread_state& now, const instruction& next, bool runs) {
          if (pending_result_.set) {  // what it read may be known although what it was compared with is not
            pending_result_.set = false;
            auto* const words = const_cast<thread_state&>(now).words();
            words[pending_result_.to.word] = truncated(pending_result_.value.low, std::min<int>(pending_result_.to.bits, 64));
            if (pending_result_.to.bits > 64) {
              words[pending_result_.to.word + 1] = pending_result_.value.high;
            }
          }
          return watch(now, next, runs);
        });
        pending_result_.set = false;
        continue;
      }
      if (i.code == op::store || is_update(i.code)) {
        p.event.kind = event_kind::write;
        const bool update = is_update(i.code);
        bool read_open = false;
        if (update) {
          flow.join(operands, i.by[1], i.type == ptx_type::b128);
          read_open = to.plan[to.plan.size() - 2].open;
        } else {
          flow.join(operands, i.by[1U + s->part], i.type == ptx_type::b128);
        }
        if (update && i.what == model::operation::compare_exchange) {
          flow.join(operands, i.by[2], i.type == ptx_type::b128);
        }
        p.known = !unknown(address) && !unknown(operands) && !read_open && placed_memory(t, *s, p.event);
        p.event.value = m.stored(*s);
        p.number = placed_at(t, p.slot);
        if (i.code == op::atomic) {
          flow.put_result(i, i.to[0], read_open ? open : flow.none());
        }
        s = m.step(*s, {}, watch);
        continue;
      }
      p.known = true;
      p.number = placed_at(t, p.slot);
      if (i.code == op::fence) {
        p.event.kind = event_kind::fence;
        p.event.strong = true;
        p.event.acquires = model::acquires(i.order);
        p.event.releases = model::releases(i.order);
        p.event.sequential = i.order == memory_order::seq_cst;
      } else {
        p.event.kind = event_kind::barrier;
        std::string wrong;
        for (const source_operand& o : i.by) {
          flow.join(operands, o, false);
        }
        if (i.destinations > 0 || !meetings::orders(i.code) || unknown(operands)) {
          to.unsupported = true;  // lanes that exchange values pass dependencies on
          break;
        }
        p.event.releases = s->part == 0;
        p.event.meeting = meetings_.at(t, *s, wrong);
        to.unsupported =
            to.unsupported || !wrong.empty() || i.code == op::block_arrive || meetings::warps_of(p.event.meeting) != 0;
      }
      s = m.step(*s, {}, watch);
    }
    to.unsupported = to.unsupported || to.plan.size() > model::max_events;
    to.end = s;
  }

  /// Fills in what an access of memory is. False if it is to no memory, of which the thread's line tells.
  [[nodiscard]] bool placed_memory(int t, const thread_state& s, graph_event& e) {
    const instruction& i = model::at(machines_, t).at(s);
    describe_access(e, model::at(machines_, t), s);
    const memory_object* const object = locations_.object_of(e.address, e.bytes);
    const bool wrong = object == nullptr || e.address % alignment_of(i, s.part) != 0 ||
                       (object->constant && e.kind == event_kind::write) || acquires_or_releases_a_vector(i) ||
                       (i.non_coherent && !object->constant);
    if (!wrong) {
      e.location = locations_.number_of(e.address, e.bytes);
      order_.resize(static_cast<std::size_t>(locations_.size()));
    }
    model::at(lines_, t).unsupported = model::at(lines_, t).unsupported || wrong;
    return !wrong;
  }

  std::vector<line> lines_;
  std::vector<placed> events_{};
  std::vector<std::vector<int>> order_{};  ///< per location: its writes in coherence order, without the initial one

 private:
  struct pending_result {
    bool set = false;
    destination_operand to{};
    wide_value value{};
  };

  pending_result pending_result_{};
  std::vector<line> spare_{};  ///< their memory is used again
};

}  // namespace membar::check::detail
