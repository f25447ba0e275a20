// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
/// @file
/// Instructions at which threads of a block or lanes of a warp synchronize or exchange values: barriers, shuffles, votes,
/// matches, reductions and elections.
///
/// At a sync point, each thread has two events: its arrival, and its continuation once all participants that have not exited
/// the kernel have arrived. The n-th arrivals of the threads at the same barrier belong together. Only barriers order memory.
///
/// If a barrier expects a given number of warps, every thread that arrives at it participates. The n-th arrivals belong
/// together if no more warps reach the barrier than it expects, and if no thread arrives for the next phase before the current
/// phase is complete. The checker reports any other case, because timing would determine which arrivals complete the barrier.
///
/// PTX does not specify which lanes execute an `activemask` together: any subset of the lanes that reach it is possible. A
/// thread that arrives there chooses a set of lanes, unless a lane that arrived earlier has already chosen a set that contains
/// the thread. All choices are explored. If a chosen lane never arrives, the choice does not yield an execution. Choosing only
/// the thread's own lane is always valid.
#pragma once

#include <check/graph.hpp>
#include <check/machine.hpp>
#include <membar/model/array.hpp>
#include <ptx/instruction.hpp>

#include <algorithm>
#include <bit>
#include <cstdint>
#include <functional>
#include <iterator>
#include <limits>
#include <numeric>
#include <span>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

namespace membar::check {

using namespace ptx;

/// Returns whether a block barrier specifies its number of threads. Source: PTX ISA, "bar, barrier".
[[nodiscard]] constexpr bool names_threads(const instruction& i) noexcept { return i.sources > (i.destinations > 0 ? 2 : 1); }

/// Determines which threads participate in each sync point of a graph.
class sync_points {
 public:
  sync_points(std::span<const thread_context> threads, std::span<const machine> machines)
      : threads_(threads), machines_(machines) {
    for (int t = 0; t < model::count_of(threads); ++t) {
      const thread_context& c = model::at(threads, t);
      if (c.copies_of < 0) {
        widen(blocks_, static_cast<std::uint64_t>(c.block_number), t);
        widen(warps_, warp_of(c), t);
      }
    }
  }

  [[nodiscard]] const machine& machine_of(int thread) const { return model::at(machines_, thread); }

  /// Returns the number of the sync point at which `thread` is about to arrive. If the instruction is not supported, `wrong`
  /// receives an error message.
  [[nodiscard]] std::uint64_t at(int thread, const thread_state& s, std::string& wrong) const {
    const machine& m = model::at(machines_, thread);
    const instruction& i = m.at(s);
    const thread_context& c = model::at(threads_, thread);
    if (i.code == op::cluster_arrive || i.code == op::cluster_wait) {
      return cluster_sync_point;
    }
    if (i.code == op::block_barrier || i.code == op::block_arrive) {
      const std::uint64_t barrier = i.sources > 0 ? truncated(m.operand(s, 0), 8) : 0;
      const std::uint64_t size = c.block_size();
      const std::uint64_t threads = names_threads(i) ? truncated(m.operand(s, 1), 32) : size;
      const std::uint64_t warps = (size + 31) / 32;
      if (threads == size || threads == 32 * warps) {
        return barrier | (names_threads(i) ? warps << some_warps_shift : 0);
      }
      if (threads % 32 != 0 || threads == 0 || threads > size) {
        wrong = "'" + i.text + "' is a barrier for " + std::to_string(threads) + " threads; in a block of " +
                std::to_string(size) + " threads, this number must be a multiple of 32 and at most the size of the block";
      }
      return barrier | threads / 32 << some_warps_shift;
    }
    const std::uint64_t mask = truncated(m.operand(s, i.sources - 1), 32);
    return warp_sync_point | (static_cast<std::uint64_t>(i.code) << 33U) | mask;
  }

  /// Returns whether the mask of the thread's next instruction contains the thread's own lane, or the instruction has no mask.
  /// Source: PTX ISA, "shfl.sync": otherwise the behaviour is undefined.
  [[nodiscard]] bool names_caller(int thread, const thread_state& s) const {
    const machine& m = model::at(machines_, thread);
    const instruction& i = m.at(s);
    return i.code < op::warp_barrier || i.code > op::elect || i.sources == 0 ||
           (m.operand(s, i.sources - 1) & lane_bit(thread)) != 0;
  }

  /// Returns the sync points at which `thread` may arrive for the `activemask` that it has reached. The first one is always
  /// possible. If `now` is true, returns only the first sync point and, unless an earlier lane has chosen `thread`, the sync
  /// point with all lanes that have arrived. If too many lanes may arrive, returns nothing and sets `wrong` to an error
  /// message.
  [[nodiscard]] std::vector<std::uint64_t> at_active_mask(const graph& g, int thread, bool now, std::string& wrong) const {
    constexpr int most_others = 5;
    const thread_run& run = model::at(g.threads, thread);
    const std::int32_t pc = run.states.back()->pc;
    std::vector<std::uint64_t> result =
        chosen_at_active_mask(g, thread, pc, model::count_of(run.events), [](const graph_event&) { return true; });
    const machine& mine = model::at(machines_, thread);
    if (!result.empty() && (now || !leads_to(mine, pc + 1, pc))) {
      return result;
    }
    std::vector<std::uint64_t> others;
    for (int t = 0; t < model::count_of(threads_); ++t) {
      const thread_state& s = *model::at(g.threads, t).states.back();
      const bool comes = now ? s.pc == pc && s.part == 0 && s.status == thread_status::at_event
                             : s.status != thread_status::ended && leads_to(mine, s.part == 0 ? s.pc : s.pc + 1, pc);
      if (t != thread && takes_part(t, thread, warp_sync_point | 0xffffffffU) && comes) {
        others.push_back(lane_bit(t));
      }
    }
    std::vector<std::uint64_t> sets = {active_lanes(pc, lane_bit(thread))};
    if (now) {
      sets.push_back(std::accumulate(others.begin(), others.end(), sets.front(), std::bit_or<>()));
    } else if (others.size() > most_others) {
      wrong = std::to_string(others.size()) + " other lanes of the warp may execute 'activemask' at the same time; at most " +
              std::to_string(most_others) + " such lanes are supported: launch fewer threads, or use --random=N";
      return {};
    }
    for (const std::uint64_t lane : others) {
      for (std::size_t k = now ? 0 : sets.size(); k-- > 0;) {
        sets.push_back(sets[k] | lane);
      }
    }
    std::copy_if(sets.begin(), sets.end(), std::back_inserter(result),
                 [&](std::uint64_t s) { return std::find(result.begin(), result.end(), s) == result.end(); });
    return result;
  }

  /// Returns whether arrival `e` belongs to a thread that chose other lanes although it did not have to. Only the events for
  /// which `counts` returns true are considered.
  template <class Counts>
  [[nodiscard]] bool has_chosen_lanes(const graph& g, const graph_event& e, const Counts& counts) const {
    if (!e.arrives || instruction_at(e).code != op::active_mask) {
      return false;
    }
    const std::vector<std::uint64_t> chosen = chosen_at_active_mask(g, e.thread, e.pc, e.number, counts);
    return e.sync_point != (chosen.empty() ? active_lanes(e.pc, lane_bit(e.thread)) : chosen.front());
  }

  /// Returns whether `thread` waits at an `activemask` for lanes that it chose.
  [[nodiscard]] bool waits_for_chosen_lanes(int thread, const thread_state& s) const {
    return s.status == thread_status::at_event && s.part == 1 && model::at(machines_, thread).at(s).code == op::active_mask;
  }

  /// Returns the reason why the thread's next operation at its cluster's barrier is undefined, or null if it is defined.
  /// Source: PTX ISA, "barrier.cluster".
  [[nodiscard]] const char* misuse_of_cluster_barrier(const graph& g, int thread, const instruction& i) const {
    const bool has_arrived = arrivals(g, thread, cluster_sync_point) != waits(g, thread);
    return i.code == op::cluster_arrive && has_arrived  ? "arrives at the cluster's barrier twice without a wait"
           : i.code == op::cluster_wait && !has_arrived ? "waits at the cluster's barrier without an arrival"
                                                        : nullptr;
  }

  /// Returns the reason why timing would determine which phase of a barrier arrival `e` completes, or an empty string if it
  /// would not. `e` is not yet in the graph.
  [[nodiscard]] std::string ambiguity(const graph& g, const graph_event& e) const {
    if (!counts_) {
      return {};
    }
    const std::uint64_t id = number_of(e.sync_point);
    const int turn = arrivals(g, e.thread, e.sync_point) + 1;
    const std::string barrier = "barrier " + std::to_string(id);
    for (int t = 0; t < model::count_of(threads_); ++t) {
      for (const graph_event* a : model::at(g.threads, t).events) {
        if (takes_part(t, e.thread, 0) && a->kind == model::event_kind::barrier && a->arrives &&
            a->sync_point != e.sync_point && a->sync_point < warp_sync_point && number_of(a->sync_point) == id) {
          return barrier +
                 " is used with different thread counts in different places in the block, which is not supported: use a "
                 "separate barrier number for each count";
        }
      }
    }
    if (const int warps = warps_of(e.sync_point); warps != 0 && warps_at(g, e.thread, e.sync_point, turn, true) > warps) {
      return "more warps of the block arrive at " + barrier + " than the " + std::to_string(warps) +
             " that it expects, so timing determines which warps pass, which is not supported: launch a block with as many "
             "warps as the barrier expects";
    }
    return {};
  }

  /// Returns whether arrival `e`, which is not yet in the graph, is the thread's second arrival at a barrier whose previous
  /// phase may not be complete.
  [[nodiscard]] bool arrives_again(const graph& g, const graph_event& e) const {
    const int turn = counts_ ? arrivals(g, e.thread, e.sync_point) : 0;
    const graph_event* mine = nullptr;
    static_cast<void>(arrivals(g, e.thread, e.sync_point, &mine, turn));
    if (turn == 0 || mine == nullptr || instruction_at(*mine).code != op::block_arrive) {
      return false;
    }
    std::vector<const graph_event*> left;
    const std::vector<const graph_event*> all = together(g, e.thread, e.sync_point, turn, left);
    return all.empty() || std::any_of(all.begin(), all.end(), [&](const graph_event* a) { return !precedes(*a, e.base); });
  }

  /// Returns the value that an arriving thread contributes.
  [[nodiscard]] wide_value brought(int thread, const thread_state& s) const {
    const machine& m = model::at(machines_, thread);
    const instruction& i = m.at(s);
    if ((i.code == op::block_barrier ? i.destinations > 0 : i.code >= op::shuffle && i.code <= op::warp_reduce) &&
        m.is_unknown(s, i.code == op::block_barrier ? i.sources - 1 : 0)) {
      return {0, 0, true};
    }
    switch (i.code) {
      case op::block_barrier:
        return {i.destinations > 0 ? m.operand(s, i.sources - 1) & 1U : 0, 0};
      case op::shuffle:
      case op::warp_reduce:
        return {truncated(m.operand(s, 0), 32), 0};
      case op::match:
        return {truncated(m.operand(s, 0), 8 * bytes_of(i.type)), 0};
      case op::vote:
        return {m.operand(s, 0) & 1U, 0};
      default:
        return {};
    }
  }

  /// Identifies what a thread waits for. Two threads of a block or warp that wait for the same arrivals have equal values of
  /// this type.
  struct waiting {
    std::uint64_t sync_point = 0;
    int turn = 0;
    int of = 0;  ///< the block or the warp, identified by its first thread
    [[nodiscard]] friend bool operator==(const waiting&, const waiting&) noexcept = default;
  };

  /// Returns what `thread`, which has arrived at a sync point, waits for.
  [[nodiscard]] waiting waited_for(const graph& g, int thread) const {
    const thread_run& run = model::at(g.threads, thread);
    const bool cluster = model::at(machines_, thread).at(*run.states.back()).code == op::cluster_wait;
    const std::uint64_t sync_point = cluster ? cluster_sync_point : run.events.back()->sync_point;
    return {sync_point, cluster ? arrivals(g, thread, sync_point) : run.events.back()->turn,
            among(thread, cluster ? 0 : sync_point).first};
  }

  /// Returns all arrivals that belong to the same sync point as the last arrival of `thread`, or nothing while one of them is
  /// missing. Threads that have exited the kernel need not arrive; `left` receives their last events.
  [[nodiscard]] std::vector<const graph_event*> group(const graph& g, int thread, std::vector<const graph_event*>& left) const {
    const waiting w = waited_for(g, thread);
    return together(g, thread, w.sync_point, w.turn, left);
  }

  /// Returns the `turn`-th arrivals at a sync point of `thread`, in the same way as `group`.
  [[nodiscard]] std::vector<const graph_event*> together(const graph& g, int thread, std::uint64_t sync_point, int turn,
                                                         std::vector<const graph_event*>& left) const {
    left.clear();
    if (const int warps = warps_of(sync_point); warps != 0 && warps_at(g, thread, sync_point, turn, false) != warps) {
      return {};
    }
    std::vector<const graph_event*> result;
    const numbers of = among(thread, sync_point);
    for (int t = of.first; t <= of.last; ++t) {
      if (!takes_part(t, thread, sync_point) || (warps_of(sync_point) != 0 && !has_come(g, t, sync_point, turn))) {
        continue;
      }
      const graph_event* theirs = nullptr;
      static_cast<void>(arrivals(g, t, sync_point, &theirs, turn));
      if (theirs != nullptr) {
        result.push_back(theirs);
      } else if (model::at(g.threads, t).states.back()->status == thread_status::ended && sync_point >> pc_shift == 0) {
        if (!model::at(g.threads, t).events.empty()) {
          left.push_back(model::at(g.threads, t).events.back());
        }
      } else {
        return {};
      }
    }
    return result;
  }

  /// Returns whether `other` participates in a sync point of `thread`.
  [[nodiscard]] bool takes_part(int other, int thread, std::uint64_t sync_point) const noexcept {
    if (model::at(threads_, other).copies_of >= 0) {
      return false;
    }
    if (sync_point == cluster_sync_point) {
      return model::same_cluster(model::at(threads_, other).where, model::at(threads_, thread).where) ||
             model::at(threads_, other).block_number == model::at(threads_, thread).block_number;
    }
    if ((sync_point & warp_sync_point) == 0) {
      return model::at(threads_, other).block_number == model::at(threads_, thread).block_number;
    }
    return same_warp(other, thread) && (sync_point & 0xffffffffU & lane_bit(other)) != 0;
  }

  /// Returns whether sync points with this opcode order memory.
  [[nodiscard]] static bool orders(op code) noexcept { return code >= op::block_barrier && code <= op::warp_barrier; }

  /// Returns the sync point of the given lanes at the `activemask` at `pc`. The next function tests whether a sync point is of
  /// this kind.
  [[nodiscard]] static std::uint64_t of_lanes(std::int32_t pc, std::uint64_t lanes) noexcept { return active_lanes(pc, lanes); }
  [[nodiscard]] static bool is_of_lanes(std::uint64_t sync_point) noexcept { return sync_point >> pc_shift != 0; }

  /// Returns the number of a block barrier.
  [[nodiscard]] static std::uint64_t number_of(std::uint64_t sync_point) noexcept {
    return truncated(sync_point, some_warps_shift);
  }

  /// Returns the number of warps that participate in a barrier. Returns 0 if all warps of the block participate, or if the sync
  /// point is not a block barrier.
  [[nodiscard]] static int warps_of(std::uint64_t sync_point) noexcept {
    return sync_point < warp_sync_point ? static_cast<int>(sync_point >> some_warps_shift & warps_mask) : 0;
  }

  /// Returns the result for `thread`: the values of its first and second destinations.
  [[nodiscard]] wide_value result(int thread, const thread_state& s, const std::vector<const graph_event*>& arrivals) const {
    const machine& m = model::at(machines_, thread);
    const instruction& i = m.at(s);
    if (i.destinations == 0) {
      return {};
    }
    std::uint64_t ballot = 0;
    std::size_t yes = 0;
    for (std::size_t k = 0; i.code != op::shuffle && k < arrivals.size(); ++k) {
      ballot |= arrivals[k]->value.low != 0 ? lane_bit(arrivals[k]->thread) : 0;
      yes += arrivals[k]->value.low != 0 ? 1U : 0U;
    }
    if (i.code != op::shuffle && std::any_of(arrivals.begin(), arrivals.end(), [](auto* a) { return a->value.unknown; })) {
      return {0, 0, true};
    }
    const auto count = static_cast<std::size_t>(arrivals.size());
    switch (i.code) {
      case op::block_barrier:
        return {i.mode == 1 ? yes : i.mode == 2 ? (yes == count ? 1U : 0U) : (yes != 0 ? 1U : 0U), 0};
      case op::vote:
        return {i.mode == 1   ? (yes == count ? 1U : 0U)
                : i.mode == 2 ? (yes != 0 ? 1U : 0U)
                : i.mode == 3 ? (yes == count || yes == 0 ? 1U : 0U)
                              : ballot,
                0};
      case op::active_mask:
        return {truncated(arrivals.front()->sync_point, 32), 0};
      case op::match:
        return matched(i.mode == 2, lane_bit(thread), arrivals);
      case op::warp_reduce:
        return {reduced(i, arrivals), 0};
      case op::elect: {  // PTX requires the same leader for the same mask; here it is the lowest lane
        std::uint64_t lowest = lane_bit(thread);
        for (const graph_event* a : arrivals) {
          lowest = std::min(lowest, lane_bit(a->thread));
        }
        return {static_cast<std::uint64_t>(std::countr_zero(lowest)), lowest == lane_bit(thread) ? 1U : 0U};
      }
      case op::shuffle: {
        const auto [from, inside] = lane_read(thread, s);
        for (const graph_event* a : arrivals) {
          if (lane_bit(a->thread) == std::uint64_t{1} << static_cast<unsigned>(from)) {
            return {a->value.low, inside ? 1U : 0U, a->value.unknown};
          }
        }
        // Source: PTX ISA, "shfl.sync": the result is undefined if the source lane does not take part
        return {0, inside ? 1U : 0U, true};
      }
      default:
        return {};
    }
  }

  /// Returns whether the result for `thread` depends on the value of arrival `a`.
  [[nodiscard]] bool uses(int thread, const thread_state& s, const graph_event& a) const {
    const instruction& i = model::at(machines_, thread).at(s);
    return i.destinations > 0 && i.code != op::elect && i.code != op::active_mask &&
           (i.code != op::shuffle || lane_bit(a.thread) == std::uint64_t{1}
                                                               << static_cast<unsigned>(lane_read(thread, s).first));
  }

  /// Returns how many times a thread has arrived at a sync point in its first `events` events. `found` receives the arrival
  /// with number `turn`.
  [[nodiscard]] static int arrivals(const graph& g, int thread, std::uint64_t sync_point, const graph_event** found = nullptr,
                                    int turn = -1, int events = std::numeric_limits<int>::max()) {
    const auto& all = model::at(g.threads, thread).events;
    int count = 0;
    for (int n = std::min(model::count_of(all), events) - 1; n >= 0; --n) {
      const graph_event& e = *model::at(all, n);
      if (e.kind != model::event_kind::barrier || !e.arrives || e.sync_point != sync_point) {
        continue;
      }
      count = std::max(count, e.turn);
      if (found == nullptr || e.turn <= turn) {
        if (found != nullptr && e.turn == turn) {
          *found = &e;
        }
        break;
      }
    }
    return count;
  }

  /// Returns whether any block barrier specifies its number of threads.
  [[nodiscard]] bool counts() const noexcept { return counts_; }

  [[nodiscard]] bool same_warp(int x, int y) const noexcept {
    const thread_context& a = model::at(threads_, x);
    const thread_context& b = model::at(threads_, y);
    return a.block_number == b.block_number && a.number_in_block() / 32 == b.number_in_block() / 32;
  }

 private:
  /// A range of thread numbers, including both ends.
  struct numbers {
    int first = 0;
    int last = -1;
  };
  using ranges = std::unordered_map<std::uint64_t, numbers>;

  [[nodiscard]] static std::uint64_t warp_of(const thread_context& c) noexcept {
    return static_cast<std::uint64_t>(c.block_number) << 32U | c.number_in_block() / 32;
  }
  static void widen(ranges& of, std::uint64_t key, int thread) {
    of.try_emplace(key, numbers{thread, thread}).first->second.last = thread;
  }

  /// Returns a range that contains all participants of a sync point of `thread`.
  [[nodiscard]] numbers among(int thread, std::uint64_t sync_point) const {
    const thread_context& c = model::at(threads_, thread);
    if (sync_point == cluster_sync_point || c.copies_of >= 0) {
      return {0, model::count_of(threads_) - 1};
    }
    return (sync_point & warp_sync_point) == 0 ? blocks_.at(static_cast<std::uint64_t>(c.block_number)) : warps_.at(warp_of(c));
  }

  /// Returns the lane that `thread` reads from in a shuffle, and whether that lane is in range. If it is out of range, the
  /// thread reads from its own lane. Source: PTX ISA, "shfl.sync".
  [[nodiscard]] std::pair<int, bool> lane_read(int thread, const thread_state& s) const {
    const machine& m = model::at(machines_, thread);
    const int lane = std::countr_zero(lane_bit(thread));
    const int by = static_cast<int>(m.operand(s, 1) & 31U);
    const int clamp = static_cast<int>(m.operand(s, 2) & 31U);
    const int segment = static_cast<int>((m.operand(s, 2) >> 8U) & 31U);
    const int highest = (lane & segment) | (clamp & ~segment);
    const int mode = m.at(s).mode;
    const int from = mode == 1 ? lane - by : mode == 2 ? lane + by : mode == 3 ? lane ^ by : (lane & segment) | (by & ~segment);
    const bool inside = mode == 1 ? from >= highest : from <= highest;
    return {inside ? from : lane, inside};
  }

  /// Returns the sync point of the given lanes at the `activemask` at `pc`.
  [[nodiscard]] static std::uint64_t active_lanes(std::int32_t pc, std::uint64_t lanes) noexcept {
    return warp_sync_point | static_cast<std::uint64_t>(pc + 1) << pc_shift | lanes;
  }

  /// Returns the sync points at an `activemask` that other lanes chose and that include `thread`, if `thread` has not arrived
  /// there before its event `number`. Only the events of other threads for which `counts` is true are considered.
  template <class Counts>
  [[nodiscard]] std::vector<std::uint64_t> chosen_at_active_mask(const graph& g, int thread, std::int32_t pc, int number,
                                                                 const Counts& counts) const {
    std::vector<std::uint64_t> result;
    for (int t = 0; t < model::count_of(threads_); ++t) {
      for (const graph_event* a : model::at(g.threads, t).events) {
        if (t != thread && same_warp(t, thread) && a->arrives &&
            a->sync_point >> pc_shift == static_cast<std::uint64_t>(pc + 1) && takes_part(thread, t, a->sync_point) &&
            counts(*a) &&
            arrivals(g, t, a->sync_point, nullptr, -1, a->number + 1) >
                arrivals(g, thread, a->sync_point, nullptr, -1, number) &&
            std::find(result.begin(), result.end(), a->sync_point) == result.end()) {
          result.push_back(a->sync_point);
        }
      }
    }
    return result;
  }

  /// Returns whether any path through the kernel leads from instruction `from` to `to`, regardless of the branch conditions.
  [[nodiscard]] static bool leads_to(const machine& m, std::int32_t from, std::int32_t to) {
    const auto& code = m.kernel().code;
    std::vector<bool> reached(code.size(), false);
    std::vector<std::int32_t> waiting = {from};
    while (!waiting.empty()) {
      const std::int32_t n = waiting.back();
      waiting.pop_back();
      if (n == to) {
        return true;
      }
      if (n >= model::count_of(code) || reached[static_cast<std::size_t>(n)]) {
        continue;
      }
      reached[static_cast<std::size_t>(n)] = true;
      const instruction& i = model::at(code, n);
      for_each_next(i, n, [&](int next) { waiting.push_back(next); });
    }
    return false;
  }

  /// Returns the lanes whose value equals the value of lane `mine`. With `all`, returns all lanes if all values are equal and
  /// no lanes otherwise, and sets the second result to whether all values are equal.
  [[nodiscard]] wide_value matched(bool all, std::uint64_t mine, const std::vector<const graph_event*>& arrivals) const {
    std::uint64_t value = 0;
    for (const graph_event* a : arrivals) {
      value = lane_bit(a->thread) == mine ? a->value.low : value;
    }
    std::uint64_t same = 0;
    std::uint64_t lanes = 0;
    for (const graph_event* a : arrivals) {
      lanes |= lane_bit(a->thread);
      same |= a->value.low == value ? lane_bit(a->thread) : 0;
    }
    return all ? wide_value{same == lanes ? lanes : 0, same == lanes ? 1U : 0U} : wide_value{same, 0};
  }

  /// Returns the result of a `redux` over the arrivals' values. Source: PTX ISA, "redux.sync".
  [[nodiscard]] static std::uint64_t reduced(const instruction& i, const std::vector<const graph_event*>& arrivals) {
    const auto less = [&](std::uint64_t a, std::uint64_t b) {
      return i.type == ptx_type::s32 ? static_cast<std::int32_t>(a) < static_cast<std::int32_t>(b) : a < b;
    };
    std::uint64_t result = arrivals.front()->value.low;
    for (const graph_event* a : std::span(arrivals).subspan(1)) {
      const std::uint64_t next = a->value.low;
      switch (i.mode) {
        case 1:
          result += next;
          break;
        case 2:
          result = less(next, result) ? next : result;
          break;
        case 3:
          result = less(result, next) ? next : result;
          break;
        case 4:
          result &= next;
          break;
        case 5:
          result |= next;
          break;
        default:
          result ^= next;
          break;
      }
    }
    return truncated(result, 32);
  }

  [[nodiscard]] const instruction& instruction_at(const graph_event& e) const {
    return model::at(model::at(threads_, e.thread).kernel->code, e.pc);
  }

  /// Returns whether a thread in the same warp as `thread` has arrived at a sync point for the `turn`-th time.
  [[nodiscard]] bool has_come(const graph& g, int thread, std::uint64_t sync_point, int turn) const {
    for (int t = 0; t < model::count_of(threads_); ++t) {
      if (model::at(threads_, t).copies_of < 0 && same_warp(t, thread) && arrivals(g, t, sync_point) >= turn) {
        return true;
      }
    }
    return false;
  }

  /// Returns how many warps of the thread's block have reached a sync point for the `turn`-th time. If `comes` is true, the
  /// warp of `thread` counts as having reached the sync point.
  [[nodiscard]] int warps_at(const graph& g, int thread, std::uint64_t sync_point, int turn, bool comes) const {
    int count = 0;
    const numbers of = among(thread, 0);
    for (int t = of.first; t <= of.last; ++t) {
      const bool first = t == 0 || !same_warp(t - 1, t);
      if (first && takes_part(t, thread, 0)) {
        count += (comes && same_warp(t, thread)) || has_come(g, t, sync_point, turn) ? 1 : 0;
      }
    }
    return count;
  }

  // The sync point of a block barrier contains the barrier's number and, in the bits above it, the number of participating
  // warps unless all warps participate.
  static constexpr unsigned some_warps_shift = 8;
  static constexpr std::uint64_t warps_mask = 0xff;
  static constexpr std::uint64_t warp_sync_point = std::uint64_t{1} << 40U;
  static constexpr std::uint64_t cluster_sync_point = std::uint64_t{1} << 41U;
  static constexpr unsigned pc_shift = 42;  ///< the position of the bits that contain the index of the `activemask` instruction
                                            ///< plus 1

  /// Returns how many times a thread has waited at its cluster's barrier.
  [[nodiscard]] static int waits(const graph& g, int thread) {
    int count = 0;
    for (const graph_event* e : model::at(g.threads, thread).events) {
      count += e->sync_point == cluster_sync_point && !e->arrives ? 1 : 0;
    }
    return count;
  }

  [[nodiscard]] std::uint64_t lane_bit(int thread) const noexcept {
    return std::uint64_t{1} << (model::at(threads_, thread).number_in_block() % 32);
  }

  std::span<const thread_context> threads_;
  std::span<const machine> machines_;
  ranges blocks_{};
  ranges warps_{};
  /// Whether any block barrier specifies its number of threads.
  bool counts_ = std::any_of(threads_.begin(), threads_.end(), [](const thread_context& c) {
    return std::any_of(c.kernel->code.begin(), c.kernel->code.end(), [](const instruction& i) {
      return i.code == op::block_arrive || (i.code == op::block_barrier && names_threads(i));
    });
  });
};

}  // namespace membar::check
