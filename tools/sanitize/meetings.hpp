// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
/// @file
/// Synchronization points of blocks, warps and clusters. Sync points determine which threads wait for each other, which results
/// the threads receive, and which events happen before the threads' later events.
#pragma once

#include <check/barrier_alignment.hpp>
#include <sanitize/orders.hpp>
#include <sanitize/reporter.hpp>
#include <sanitize/run_state.hpp>

#include <algorithm>
#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

namespace membar::sanitize {

class meetings {
 public:
  /// Called with each thread that a sync point releases, and with the thread's result.
  using let_go = std::function<void(lane&, check::wide_value)>;

  meetings(run_state& state, reporter& out, thread_order& orders, let_go go_on)
      : state_(state), out_(out), orders_(orders), go_on_(std::move(go_on)) {}

  /// Handles a thread's arrival at the sync point of its next event. Returns false if an error is reported.
  bool arrive(lane& l) {
    block& b = *l.home;
    const check::machine& m = b.machine_of(l);
    const check::instruction& i = m.at(*l.state);
    std::string wrong;
    if (!b.points->names_caller(l.local, *l.state)) {
      out_.add(
          check_status::undefined,
          "thread " + out_.number_of(l) + " executes '" + i.text + "' with a mask that does not contain the executing lane", l);
      return false;
    }
    const std::uint64_t number = i.code == check::op::active_mask
                                     ? check::sync_points::of_lanes(l.state->pc, std::uint64_t{1} << (l.local % 32U))
                                     : b.points->at(l.local, *l.state, wrong);
    if (!wrong.empty()) {
      out_.add(check_status::gave_up, "thread " + out_.number_of(l) + ": " + wrong, l);
      return false;
    }
    const bool of_block = i.code == check::op::block_barrier || i.code == check::op::block_arrive;
    meeting_point& at = point_of(b, number, of_block ? -1 : l.local / 32);
    if (of_block && at.has(l.local)) {
      out_.add(check_status::undefined,
               "thread " + out_.number_of(l) + " arrives at barrier " + std::to_string(check::sync_points::number_of(number)) +
                   " a second time, and nothing orders this arrival after the end of the first phase",
               l);
      return false;
    }
    if (of_block && mixes_counts(b, at, l)) {
      return false;
    }
    l.arrival = {};
    l.arrival.thread = l.local;
    l.arrival.sync_point = number;
    l.arrival.arrives = true;
    l.arrival.pc = l.state->pc;
    l.arrival.value = b.points->brought(l.local, *l.state);
    at.add(l.local);
    if (i.code == check::op::block_arrive) {
      arrivals_[{&b, l.local, number}] = {orders_.released(l, thread_scope::block), l.arrival};
      go_on_(l, {});
    } else {
      l.where = stand::meeting;
      m.step_in_place(*l.state, {}, check::nobody{});  // only records the thread's arrival
    }
    return finish(b, point_of(b, number, of_block ? -1 : l.local / 32));
  }

  /// Called when a thread of the block has exited, which may release other threads.
  void left(block& b) {
    for (std::size_t k = 0; k < b.meetings.size() && !state_.stopped; ++k) {
      const std::size_t before = b.meetings.size();
      static_cast<void>(finish(b, b.meetings[k]));
      k = b.meetings.size() < before ? static_cast<std::size_t>(-1) : k;  // restarts the loop
    }
  }

  /// Releases the lanes that wait at an `activemask`. Lanes of a warp that are at the same `activemask` continue together.
  /// Returns false if there are no such lanes.
  bool finish_active_masks(block& b) {
    std::vector<meeting_point> at;
    std::erase_if(b.meetings, [&](const meeting_point& p) {
      const bool is = check::sync_points::is_of_lanes(p.number);
      if (is) {
        at.push_back(p);
      }
      return is;
    });
    std::map<std::pair<int, std::int32_t>, std::vector<int>> together;
    for (const meeting_point& p : at) {
      for (const int t : p.arrived) {
        together[{p.warp, b.lanes[static_cast<std::size_t>(t)].arrival.pc}].push_back(t);
      }
    }
    for (const auto& [place, lanes] : together) {
      std::uint64_t mask = 0;
      for (const int t : lanes) {
        mask |= std::uint64_t{1} << (static_cast<unsigned>(t) % 32U);
      }
      for (const int t : lanes) {
        lane& l = b.lanes[static_cast<std::size_t>(t)];
        go_on_(l, {mask, 0});
      }
    }
    return !at.empty();
  }

 private:
  struct early_arrival {
    release_head head{};
    check::graph_event event{};
  };

  static meeting_point& point_of(block& b, std::uint64_t number, int warp) {
    for (meeting_point& p : b.meetings) {
      if (p.number == number && p.warp == warp) {
        return p;
      }
    }
    b.meetings.push_back({number, warp, {}, {}});
    return b.meetings.back();
  }

  /// Returns whether a barrier is already in use with a different number of threads. If so, reports an error.
  bool mixes_counts(const block& b, const meeting_point& at, const lane& l) {
    const std::uint64_t id = check::sync_points::number_of(at.number);
    const bool mixed = std::any_of(b.meetings.begin(), b.meetings.end(), [&](const meeting_point& p) {
      return p.warp < 0 && !p.arrived.empty() && p.number != at.number && check::sync_points::number_of(p.number) == id;
    });
    if (mixed) {
      out_.add(check_status::gave_up,
               "thread " + out_.number_of(l) + ": barrier " + std::to_string(id) +
                   " is used with different thread counts in different places in the block, which is not supported: use a "
                   "separate barrier number for each count",
               l);
    }
    return mixed;
  }

  [[nodiscard]] static bool is_gone(const block& b, int t) { return b.lanes[static_cast<std::size_t>(t)].where == stand::gone; }

  /// Returns whether all participants have arrived. A thread may have exited after it arrived.
  [[nodiscard]] static bool is_complete(const block& b, const meeting_point& p) {
    if (check::sync_points::is_of_lanes(p.number) || p.arrived.empty()) {
      return false;
    }
    const int size = static_cast<int>(b.lanes.size());
    const int warps = p.warp < 0 ? check::sync_points::warps_of(p.number) : 0;
    if (p.warp < 0 && warps == 0 && static_cast<int>(p.arrived.size()) < b.alive) {
      return false;
    }
    const auto& come = p.lanes;
    if (std::count_if(come.begin(), come.end(), [](std::uint32_t lanes) { return lanes != 0; }) < warps) {
      return false;
    }
    const std::uint32_t mask = p.warp < 0 ? ~0U : static_cast<std::uint32_t>(p.number);
    const int first = p.warp < 0 ? 0 : 32 * p.warp;
    for (int t = first; t < (p.warp < 0 ? size : std::min(size, first + 32)); ++t) {
      const bool takes_part =
          (mask & meeting_point::bit_of(t)) != 0 && (warps == 0 || come[static_cast<std::size_t>(t / 32)] != 0);
      if (takes_part && !p.has(t) && !is_gone(b, t)) {
        return false;
      }
    }
    return true;
  }

  /// Releases all threads at a sync point if all of them have arrived. Returns false if it reports an error.
  bool finish(block& b, meeting_point& at) {
    if (!is_complete(b, at)) {
      return true;
    }
    const meeting_point p = std::move(at);
    b.meetings.erase(b.meetings.begin() + (&at - b.meetings.data()));
    std::vector<const check::graph_event*> arrivals;
    std::vector<lane*> waiting;
    for (const int t : p.arrived) {
      lane& l = b.lanes[static_cast<std::size_t>(t)];
      const auto early = arrivals_.find({&b, t, p.number});
      const bool is_early = p.warp < 0 && early != arrivals_.end();
      arrivals.push_back(is_early ? &early->second.event : &l.arrival);
      if (!is_early) {
        waiting.push_back(&l);
      }
    }
    if (waiting.empty() || !is_allowed(b, *waiting.front(), arrivals)) {
      return waiting.empty();
    }
    const check::op code = b.machine_of(*waiting.front()).at(*waiting.front()->state).code;
    if (check::sync_points::orders(code) || state_.checked.assumed.shuffle_orders) {
      join_all(b, p, waiting);
    }
    give(b, waiting, arrivals);
    for (const int t : p.arrived) {
      arrivals_.erase({&b, t, p.number});
    }
    return true;
  }

  void give(block& b, const std::vector<lane*>& waiting, const std::vector<const check::graph_event*>& arrivals) {
    std::vector<check::wide_value> given;
    for (const lane* l : waiting) {
      given.push_back(b.points->result(l->local, *l->state, arrivals));
    }
    for (std::size_t k = 0; k < waiting.size(); ++k) {
      go_on_(*waiting[k], given[k]);
    }
  }

  /// Orders all earlier events of the arriving threads before all later events of the released threads. All released threads
  /// then have the same time, so that one entry of a clock can cover them all.
  void join_all(block& b, const meeting_point& p, const std::vector<lane*>& waiting) {
    lane& first = *waiting.front();
    knowledge all = first.known;
    thread_time last = 0;
    for (const lane* l : waiting) {
      if (l != &first) {
        all.join(l->known, true);
      }
      last = std::max(last, l->time);
    }
    for (const int t : p.arrived) {
      if (const auto early = arrivals_.find({&b, t, p.number}); p.warp < 0 && early != arrivals_.end()) {
        all.join(*early->second.head.known, true);
      }
    }
    std::vector<int> order;
    order.reserve(waiting.size());
    for (const lane* l : waiting) {
      order.push_back(l->local);
    }
    std::ranges::sort(order);
    const int size = static_cast<int>(b.lanes.size());
    for (std::size_t k = 0; k < order.size();) {  // runs of adjacent threads
      std::size_t n = k;
      while (n + 1 < order.size() && order[n + 1] == order[n] + 1) {
        ++n;
      }
      const int end = order[n] + 1 == size ? static_cast<int>(b.launch->keys_of_block) : order[n] + 1;
      const thread_key from = b.first_key + static_cast<thread_key>(order[k]);
      all.base.raise(from, b.first_key + static_cast<thread_key>(end) - 1, last);
      k = n + 1;
    }
    const bool whole = waiting.size() == b.lanes.size();
    for (lane* l : waiting) {
      l->known = all;
      l->time = last + 1;
      l->of_block = whole ? last : l->of_block;
    }
  }

  /// Returns whether CUDA and PTX allow these threads to synchronize, although they may have arrived at different barrier
  /// instructions. If not, reports an error.
  bool is_allowed(const block& b, const lane& mine, const std::vector<const check::graph_event*>& arrivals) {
    const auto& code = b.context_of(mine).kernel->code;
    for (const check::graph_event* a : arrivals) {
      if (a->pc == mine.arrival.pc) {
        continue;
      }
      for (const check::graph_event* e : arrivals) {
        const std::string wrong = e->pc == a->pc
                                      ? std::string()
                                      : check::misuse_of_barrier(*out_.excerpt({mine.key}), 0, model::at(code, e->pc),
                                                                 model::at(code, a->pc), e->thread / 32 == a->thread / 32);
        if (!wrong.empty()) {
          out_.add(check_status::undefined, wrong, mine);
          state_.stop();
          return false;
        }
      }
    }
    return true;
  }

  run_state& state_;
  reporter& out_;
  thread_order& orders_;
  let_go go_on_;
  std::map<std::tuple<const block*, int, std::uint64_t>, early_arrival>
      arrivals_{};  ///< for each thread, its `bar.arrive` arrivals at each barrier
};

}  // namespace membar::sanitize
