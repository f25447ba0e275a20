// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Explores every execution of a program that the PTX memory model allows, each exactly once.
//
// An execution is identified by its reads-from and coherence relations, and is built event by event. For each read, every write
// that it may read from is explored; for each write, every position that it may have in coherence. A new write may also become
// the source of earlier reads that do not precede it: all events that were added after such a read and do not precede the write
// are then dropped. To prevent an execution from appearing twice, a read changes its source only in the one execution in which
// all dropped events read and write the latest values. Source: Kokologiannakis, Marmanis, Gladstein and Vafeiadis, "Truly
// stateless, optimal dynamic partial order reduction", POPL 2022.
//
// An execution ends at its first data race. Until then, the writes to a location are totally ordered, because any two of them
// are either morally strong or ordered by causality. Load buffering means that program order and reads-from form a cycle.
// Executions with load buffering are ruled out during the exploration (buffering_check.hpp) or explored at the end
// (load_buffering.hpp).
#include <check/async_copies.hpp>
#include <check/buffering_check.hpp>
#include <check/buffering_cycle.hpp>
#include <check/commuting_updates.hpp>
#include <check/event_builder.hpp>
#include <check/execution_end.hpp>
#include <check/exploration_state.hpp>
#include <check/explore.hpp>
#include <check/graph.hpp>
#include <check/kept_apart.hpp>
#include <check/load_buffering.hpp>
#include <check/machine.hpp>
#include <check/memory_bytes.hpp>
#include <check/next_thread.hpp>
#include <check/program.hpp>
#include <check/race_check.hpp>
#include <check/replayed_order.hpp>
#include <check/symmetry.hpp>
#include <check/synchronization_events.hpp>
#include <check/waiting_together.hpp>
#include <litmus/readings.hpp>
#include <membar/model/array.hpp>
#include <membar/model/program.hpp>

#include <pthread.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <functional>
#include <iterator>
#include <map>
#include <memory>
#include <numeric>
#include <optional>
#include <random>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace membar::check {

namespace detail {
namespace {

/// The instructions at which executions branch off other executions, with the number of branches at each.
class branch_counts {
 public:
  void add(const program& p, const graph_event& e) { ++counts_.try_emplace(&instruction_of(p, e), e).first->second.branches; }

  /// Returns a sentence that names the instructions with the most branches. Returns an empty string if there are no branches.
  [[nodiscard]] std::string text(const program& p) const {
    constexpr std::size_t most_shown = 2;
    constexpr std::uint64_t least_percent = 10;
    std::map<std::string, std::uint64_t> by_text;
    std::uint64_t all = 0;
    for (const auto& [at, here] : counts_) {
      by_text[std::string(here.differs) + place_of(p, here.thread, *at)] += here.branches;
      all += here.branches;
    }
    std::vector<std::pair<std::uint64_t, std::string>> sorted;
    for (const auto& [text, branches] : by_text) {
      if (const std::uint64_t percent = branches * 100 / all; percent >= least_percent) {
        sorted.emplace_back(percent, text + " (" + std::to_string(percent) + " %)");
      }
    }
    std::ranges::stable_sort(sorted, std::ranges::greater{}, &std::pair<std::uint64_t, std::string>::first);
    std::string result;
    for (std::size_t k = 0; k < std::min(sorted.size(), most_shown); ++k) {
      result += (k == 0 ? ". So far, executions differ most often in " : " and in ") + sorted[k].second;
    }
    return result;
  }

 private:
  struct branches_at {
    explicit branches_at(const graph_event& e)
        : thread(e.thread),
          differs(e.chosen                      ? "whether a thread executes "
                  : e.rmw                       ? "the order of the updates at "
                  : e.kind == event_kind::write ? "the order of the writes at "
                                                : "the value read at ") {}
    int thread;
    std::string_view differs;
    std::uint64_t branches = 0;
  };
  std::map<const instruction*, branches_at> counts_{};
};

/// One exploration.
class explorer {
 public:
  explorer(const program& checked, const check_property& property, const check_options& options, kept_apart& apart)
      : property_(property), options_(options), state_(checked, options.readings), updates_(state_, apart) {
    state_.replayed = options.replayed;
    reads_unused_once_ = options.read_unused_once && !has_sequential_fence(checked);
    if (merges_updates()) {
      for (machine& m : state_.machines) {
        m.merge_updates(apart);
      }
      updates_.look_past_updates();
    }
    if (options.symmetry && !at_random() && !state_.copies) {
      state_.equal = equals_before(checked);
      if (std::all_of(state_.equal.begin(), state_.equal.end(), [](int t) { return t < 0; })) {
        state_.equal.clear();
      }
      state_.result.symmetric = !state_.equal.empty();
    }
  }

  /// Returns the thread that ended the exploration because it starts more copies than can be performed, and how many threads
  /// start one of these copies together. The thread is -1 if no thread did.
  [[nodiscard]] std::pair<int, int> lacking() const noexcept { return synchronization_.lacking(); }

  /// Returns whether the exploration ended, and must start over, because some location's updates do not commute.
  [[nodiscard]] bool begins_again() const noexcept { return updates_.begins_again(); }

  /// Returns whether the order of updates determines some values, which are then unknown.
  [[nodiscard]] bool hides_values() const noexcept { return updates_.hides_values(); }

  [[nodiscard]] check_result run() {
    const char begin = 0;
    stack_begin_ = reinterpret_cast<std::uintptr_t>(&begin);
    if (replays()) {
      buffering_.stop();
      from_the_begin();
      if (!state_.stopped()) {
        state_.result.found.status = check_status::gave_up;
        state_.result.found.message = "the execution with this order does not show the finding";
      }
      state_.result.status = state_.result.found.status;
      return std::move(state_.result);
    }
    if (at_random()) {
      buffering_.stop();  // nothing can be verified, so load buffering does not matter
      for (std::uint64_t n = 0; n < options_.random_executions && !state_.stopped(); ++n) {
        state_.result.seed = options_.seed + n;
        random_.seed(state_.result.seed);
        from_the_begin();
      }
      if (!state_.stopped()) {
        state_.result.found.status = check_status::gave_up;
        state_.result.found.message =
            "the random executions found no fault, but others may contain one: try a larger --random=N or another --seed";
      }
      state_.result.status = state_.result.found.status;
      return std::move(state_.result);
    }
    from_the_begin();
    state_.result.status = state_.result.found.status;
    const auto& dependent = state_.checked.dependent;
    const bool begins_early = std::find(dependent.begin(), dependent.end(), true) != dependent.end();
    if (!state_.stopped() && buffering_.found() && options_.load_buffering && (state_.copies || begins_early)) {
      state_.result.status = state_.result.found.status = check_status::gave_up;
      state_.result.found.message =
          std::string("load buffering is not ruled out, and membar-check cannot explore it in programs with ") +
          (state_.copies ? "asynchronous copies" : "dependent launches") +
          ": --without-load-buffering omits such executions and says so in the result line";
      state_.result.load_buffering_is_open = true;
      return std::move(state_.result);
    }
    if (!state_.stopped() && buffering_.found() && options_.load_buffering) {
      return explore_load_buffering(state_.checked, property_, options_, std::move(state_.result));
    }
    state_.result.load_buffering_is_open = !state_.stopped() && buffering_.found();
    return std::move(state_.result);
  }

 private:
  void from_the_begin() {
    const stack_arena::mark mark = state_.arena.here();
    graph& g = take_graph();
    g = {};
    g.threads.resize(state_.checked.threads.size());
    bool fine = true;
    for (int t = 0; t < state_.count() && fine; ++t) {
      thread_run& run = model::at(g.threads, t);
      const bool copies = model::at(state_.checked.threads, t).copies_of >= 0;
      run.idle = copies ? model::at(state_.machines, t).idle() : nullptr;
      run.states.push_back(copies ? run.idle : model::at(state_.machines, t).begin());
    }
    for (int t = 0; t < state_.count() && fine; ++t) {
      fine = healthy(g, t);
    }
    if (fine) {
      visit(g);
    }
    give_graph();
    state_.arena.release(mark);
  }

  // ---- random or replayed exploration, which follows a single path, chooses the next thread differently, and never changes
  // the source of an earlier read

  [[nodiscard]] bool at_random() const noexcept { return options_.random_executions != 0 || replays(); }
  [[nodiscard]] bool replays() const noexcept { return options_.replayed != nullptr; }
  /// Returns whether only one continuation of each execution is explored.
  [[nodiscard]] bool on_one_path() const noexcept { return at_random() || early_read_ != nullptr; }
  [[nodiscard]] bool merges_updates() const noexcept { return options_.merge_updates && !at_random() && !state_.copies; }
  [[nodiscard]] int chosen(int of) { return static_cast<int>(random_() % static_cast<std::uint64_t>(of)); }

  /// Removes the last iteration of a thread that waits although later values exist. In a replay, only the thread whose turn it
  /// is can be chosen. Returns whether there was such a thread.
  [[nodiscard]] bool wake(const graph& g) {
    const int turn = replays() && early_read_ == nullptr ? order_.turn() : -1;
    for (int t = 0; t < state_.count() && !state_.stopped(); ++t) {
      if (turn >= 0 && t != turn) {
        continue;
      }
      const thread_state& s = state_of(g, t);
      const std::vector<int>& waiting = waiting_with(g, t);
      if (s.status == thread_status::repeats ||
          !std::all_of(waiting.begin(), waiting.end(), [&](int u) { return end_.waits_for_ever(g, u); })) {
        keep_.resize(state_.checked.threads.size());
        for (int u = 0; u < state_.count(); ++u) {
          model::at(keep_, u) = model::count_of(model::at(g.threads, u).events);
        }
        for (const int u : waiting) {
          model::at(keep_, u) = state_of(g, u).waits_from - (s.status == thread_status::repeats ? 1 : 0);
        }
        graph& h = take_graph();
        copy_kept(g, h, keep_, nullptr);
        visit(h);
        give_graph();
        return true;
      }
    }
    return false;
  }

  /// Graphs are kept and reused, so that copies do not allocate memory again.
  [[nodiscard]] graph& take_graph() {
    if (graphs_used_ == graphs_.size()) {
      graphs_.push_back(std::make_unique<graph>());
    }
    return *graphs_[graphs_used_++];
  }
  void give_graph() noexcept { --graphs_used_; }

  /// Returns whether thread `t` can continue, or may legitimately wait at its position.
  [[nodiscard]] bool healthy(const graph& g, int t) {
    const bool asks = merges_updates() && state_of(g, t).status == thread_status::unknown_operand;
    return (!asks || !updates_.asks_hidden_value(g, t)) && state_.healthy(g, t);
  }

  // ---- growth

  void visit(graph& g) {
    if (state_.stopped()) {
      return;
    }
    constexpr std::uint64_t between_reports = 1024;
    if (state_.result.counts.events % between_reports == 0) {
      if (options_.progress) {
        options_.progress(state_.result.counts);
      }
      if (options_.time.is_reached()) {
        state_.give_up("the exploration took more than " + options_.time.text() +
                       " of processor time: use fewer threads, rounds or bins, or try --random=N or a larger --time=SECONDS" +
                       branches_.text(state_.checked));
        return;
      }
    }
    if (++state_.result.counts.events > options_.most_events) {
      state_.give_up("more than " + std::to_string(options_.most_events) +
                     " events were explored: use fewer threads, rounds or bins, or try --random=N or a larger --limit=N" +
                     branches_.text(state_.checked));
      return;
    }
    const char here = 0;
    if (stack_used(here) > options_.most_stack || state_.arena.held() > options_.most_memory) {
      state_.give_up("the execution is too long: the exploration needs more than " +
                     std::to_string(options_.most_stack >> 20U) + " MiB of stack or " +
                     std::to_string(options_.most_memory >> 20U) + " MiB of memory: use fewer threads or rounds");
    } else if (early_read_ != nullptr && late_events_++ >= most_late_events) {
      return;
    } else if (on_one_path() && wake(g)) {
      return;
    } else if (const int t = early_read_ != nullptr ? next_.before_copies(g)
                             : replays()            ? order_.of(g, replayed_choice_)
                             : at_random()          ? next_.any_of(g, [this](int of) { return chosen(of); })
                                                    : next_.of(g);
               t < 0) {
      if (t != replayed_order::over && early_read_ == nullptr) {
        complete(g);
      }
    } else if (model::count_of(model::at(g.threads, t).events) >= options_.most_events_of_one &&
               model::at(state_.checked.threads, t).copies_of < 0) {
      state_.report(
          g, check_status::gave_up,
          "thread " + std::to_string(t) + " has more than " + std::to_string(options_.most_events_of_one) +
              " events: it contains a loop that does more than wait and might not end. Reduce the number of iterations, "
              "and let the loop end when the value that it waits for arrives, not after a fixed count or time");
    } else {
      const stack_arena::mark mark = state_.arena.here();
      const thread_state& s = state_of(g, t);
      const op code = model::at(state_.machines, t).at(s).code;
      if (s.choosing && merges_updates() && updates_.asks_hidden_value(g, t)) {
        return;
      }
      if (s.choosing) {
        add_choice(g, t);
      } else if (code == op::load || (is_rmw(code) && s.part % 2 == 0)) {
        add_read(g, t);
      } else if (code == op::store || is_rmw(code)) {
        add_write(g, t);
      } else if (code == op::fence) {
        add_fence(g, t);
      } else if (code >= op::proxy_fence) {
        add_asynchronous(g, t);
      } else if (code == op::active_mask && s.part == 0) {
        add_arrival_at_active_mask(g, t);
      } else {
        add_at_sync_point(g, t);
      }
      state_.arena.release(mark);
    }
  }

  /// Returns the number of stack bytes between the start of the exploration and `here`.
  [[nodiscard]] std::size_t stack_used(const char& here) const noexcept {
    const auto at = reinterpret_cast<std::uintptr_t>(&here);
    return at > stack_begin_ ? at - stack_begin_ : stack_begin_ - at;
  }

  // ---- reads

  void add_read(graph& g, int t) {
    const thread_state& s = state_of(g, t);
    graph_event& first = build_.make_event(g, t, event_kind::read);
    if (!build_.place_access(g, first, s)) {
      return;
    }
    g.reserve(static_cast<std::size_t>(state_.locations.size()));
    if (merges_updates() && !updates_.allow(g, first)) {
      return;
    }
    if (first.rmw) {
      buffering_.look_for_early_read(g, first);
    }
    buffering_.look_for_late_acquire(g, first);
    ++g.next_stamp;
    const bool other_sizes = bytes_.has_other_sizes(g, first.location);
    const suspects found = other_sizes ? races_.races_of(g, first) : suspects{};
    if (!found.empty() && g.fences.size() < 2) {
      state_.report_race(g, *found.front().first, *found.front().second);
      return;
    }
    const int newest = model::count_of(model::at(g.order, first.location)) - 1;
    const int mixed = other_sizes ? bytes_.changed_by_other_sizes(g, first) : -1;
    std::vector<int> places;
    find_sources(g, first, std::max(build_.oldest_source(g, first, first.location), mixed), newest, places);
    for (std::size_t k = 0; k < places.size() && !state_.stopped(); ++k) {
      const int i = places[k];
      const stack_arena::mark mark = state_.arena.here();
      graph_event& e = k == 0 ? first : build_.make_event(g, t, event_kind::read);
      if (k != 0) {
        branches_.add(state_.checked, first);
        static_cast<void>(build_.place_access(g, e, s));
        e.stamp = g.next_stamp - 1;
        e.update = first.update;
      }
      if (i == mixed) {
        if (bytes_.mixed_value(g, e, i)) {
          take_read(g, e, s);
        } else {
          look_for_late_write(g, e);
        }
      } else if (build_.read_from(g, e, model::at(model::at(g.order, first.location), i))) {
        if (e.update != 0 && e.mbarrier == mbarrier_op::none) {
          updates_.hide_rounded(g, e, s, i);
        }
        take_read(g, e, s);
      } else {
        look_for_late_write(g, e);
      }
      if (k != 0) {
        state_.arena.release(mark);
      }
    }
    --g.next_stamp;
  }

  /// Returns whether `r` is explored with only a single source, because it is a weak read whose value its thread never uses.
  /// The thread behaves in the same way whichever write the read takes its value from, and the read orders nothing. Choosing
  /// the oldest possible source excludes no execution, because everything that precedes that write in causality already exists
  /// when the read is added. A `fence.sc` may order a write before the read without causality, so no read is explored this way
  /// if the program contains one.
  [[nodiscard]] bool reads_once(const graph_event& r) const noexcept { return reads_unused_once_ && r.discarded; }

  /// Adds to `places` the positions in coherence of the writes that a read may take its value from, newest first. In random
  /// mode, adds only one of them: the newest one for read-modify-writes and for half of the other reads.
  void find_sources(const graph& g, const graph_event& r, int oldest, int newest, std::vector<int>& places) {
    if (replays() && early_read_ == nullptr) {
      places.push_back(newest);
    } else if (at_random() && early_read_ == nullptr) {
      places.push_back(r.rmw || chosen(2) == 0 ? newest : newest - chosen(newest - oldest + 1));
    } else if (r.update != 0) {
      places.push_back(newest);
    } else if (reads_once(r)) {
      places.push_back(oldest);
    } else if (merges_updates() && r.mbarrier == mbarrier_op::test) {
      updates_.find_sources(g, r, oldest, places);
    } else {
      for (int i = newest; i >= oldest; --i) {
        if (i == oldest || !updates_.is_passed_over(g, *model::at(model::at(g.order, r.location), i), r)) {
          places.push_back(i);
        }
      }
    }
    places.resize(early_read_ != nullptr ? std::min<std::size_t>(places.size(), 1) : places.size());
  }

  /// Adds a read whose source has been chosen, and explores all continuations of the execution. `also` is a write that is added
  /// together with the read.
  void take_read(graph& g, const graph_event& e, const thread_state& s, const graph_event* also = nullptr) {
    suspects found = races_.races_of(g, e);
    if (also != nullptr) {
      const suspects more = races_.races_of(g, *also);
      found.insert(found.end(), more.begin(), more.end());
    }
    thread_run& run = model::at(g.threads, e.thread);
    const stack_arena::mark mark = state_.arena.here();
    run.events.push_back(&e);
    run.states.push_back(model::at(state_.machines, e.thread).step(s, e.value));
    model::at(g.reads, e.location).push_back(&e);
    const bool in_order = g.fences_in_order;
    const bool is_possible = races_.consistent(g, found, {&e, also});
    if (is_possible && !e.unwritten && healthy(g, e.thread)) {
      if (!on_one_path() && (waits_for_the_past(g, e.thread) || looks_again(g, e) || fails_by_the_past(g, e))) {
        ++state_.result.counts.blocked;
      } else {
        visit(g);
      }
    }
    g.fences_in_order = in_order;
    model::at(g.reads, e.location).pop_back();
    run.states.pop_back();
    run.events.pop_back();
    if (is_possible && e.unwritten) {
      state_.report_unwritten_at(g, e.thread, e.address);
      look_for_late_write(g, e);
    }
    state_.arena.release(mark);
  }

  // ---- reads of memory that was never written

  /// Examines read `e`, which is not in the graph, after it may have been reported as a read of memory that was never written.
  /// Follows one continuation of the execution in which the read's thread executes nothing else. If a write then races with the
  /// read, nothing orders that write before the read: the finding then shows the continuation and blames both accesses.
  void look_for_late_write(graph& g, const graph_event& e) {
    if (state_.result.found.status != check_status::uninitialised) {
      return;
    }
    next_.leave_out(e.thread);
    if (early_read_ != nullptr) {  // another thread also reads too early
      state_.result.found = {};
      visit(g);
      return;
    }
    check_result result = state_.result;
    const replayed_schedule* const replayed = std::exchange(state_.replayed, nullptr);
    buffering_.stop();
    state_.result.found = {};
    early_read_ = &e;
    thread_run& run = model::at(g.threads, e.thread);
    run.events.push_back(&e);
    run.states.push_back(run.states.back());
    model::at(g.reads, e.location).push_back(&e);
    visit(g);
    model::at(g.reads, e.location).pop_back();
    run.states.pop_back();
    run.events.pop_back();
    blame_late_write(result.found, e);
    early_read_ = nullptr;
    state_.replayed = replayed;
    state_.result = std::move(result);
  }

  /// If the continuation after read `e` ended with a race between the read and a write, replaces the execution of `f`, the
  /// finding about the read, with this continuation.
  void blame_late_write(finding& f, const graph_event& e) {
    std::vector<trace_event>& events = state_.result.found.events;
    const auto read = std::ranges::find_if(
        events, [&](const trace_event& o) { return o.blamed && o.thread == e.thread && o.number == e.number; });
    const auto write = std::ranges::find_if(
        events, [&](const trace_event& o) { return o.blamed && (o.thread != e.thread || o.number != e.number); });
    if (state_.result.found.status != check_status::race || read == events.end() || write == events.end()) {
      return;
    }
    read->what = "reads " + place_text(state_.checked, e.address) + ", to which nothing has been written";
    std::rotate(write, write + 1, events.end());  // the write was added last
    f.events = std::move(events);
    f.waiting = std::move(state_.result.found.waiting);
    f.thread = -1;
  }

  /// Returns the threads that wait together with thread `t` in a loop, including `t`. The result is empty if `t` does not wait.
  [[nodiscard]] const std::vector<int>& waiting_with(const graph& g, int t) {
    const thread_status status = state_of(g, t).status;
    if (status != thread_status::waiting && status != thread_status::repeats) {
      return together_.of(g, t);
    }
    alone_.assign(1, t);
    return alone_;
  }

  /// Returns whether, in the last loop iteration of the threads that wait with `t`, all values were already outdated when they
  /// were read. No later write changes such a read, so these threads wait until the end. The executions in which they read
  /// later values show everything that this execution shows, including any race with one of these reads, because each read is
  /// also explored with the latest value.
  [[nodiscard]] bool waits_for_the_past(const graph& g, int t) {
    const std::vector<int>& waiting = waiting_with(g, t);
    bool any = false;
    return std::all_of(waiting.begin(), waiting.end(), [&](int u) { return has_read_the_past(g, u, any); }) && any;
  }

  /// Returns whether the last iteration of thread `t` read only values that were already outdated. Sets `any` to true if it
  /// read anything.
  [[nodiscard]] bool has_read_the_past(const graph& g, int t, bool& any) {
    const auto& events = model::at(g.threads, t).events;
    for (int n = state_of(g, t).waits_from; n < model::count_of(events); ++n) {
      const graph_event& r = *model::at(events, n);
      const bool own = r.kind == event_kind::write || (r.source != nullptr && waiting_together::is_of_round(g, *r.source));
      if (r.kind == event_kind::fence || r.kind == event_kind::barrier || r.discarded ||
          (own && waiting_together::has_come_back(g, t))) {
        continue;
      }
      if (r.kind != event_kind::read || r.mixed) {
        return false;
      }
      any = true;
      if (!has_missed_the_latest(g, r)) {
        return false;
      }
    }
    return true;
  }

  /// Returns whether `e`, the last event, is a test of an mbarrier that passes, and the thread's preceding test failed although
  /// it could have passed, without any other effect on the thread. No later write changes the failed test, because it did not
  /// read the latest value. The execution in which that test passes shows everything that this execution shows.
  [[nodiscard]] bool looks_again(const graph& g, const graph_event& e) {
    const thread_run& run = model::at(g.threads, e.thread);
    if (!merges_updates() || !e.passes || e.number == 0) {
      return false;
    }
    const graph_event& first = *model::at(run.events, e.number - 1);
    return first.mbarrier == mbarrier_op::test && !first.passes && has_missed_the_latest(g, first) &&
           model::at(state_.machines, e.thread)
               .needs_one_test(*model::at(run.states, first.number), *model::at(run.states, e.number), first.value, e.value,
                               *run.states.back());
  }

  /// Returns whether an iteration of a loop in which threads wait together failed only because `e`, the last event, read an
  /// outdated value. No later write changes `e`. The executions in which it reads later values show everything that this
  /// execution shows.
  [[nodiscard]] bool fails_by_the_past(const graph& g, const graph_event& e) {
    return options_.cut_decided_rounds && !e.rmw && !e.mixed && !e.discarded && has_missed_the_latest(g, e) &&
           together_.is_decided_to_come_back(g, e.thread);
  }

  /// Returns whether a write later than the source of `r` already existed when `r` read.
  [[nodiscard]] bool has_missed_the_latest(const graph& g, const graph_event& r) {
    const auto& order = model::at(g.order, r.location);
    return std::any_of(order.begin() + event_rules::place_in(order, r.source) + 1, order.end(), [&](const graph_event* w) {
      return updates_.changes(g, *w, r, [&](const graph_event& o) {
        return o.stamp < r.stamp || (r.source != nullptr && r.source->stamp > r.stamp && precedes(o, r.source->past));
      });
    });
  }

  // ---- writes

  void add_write(graph& g, int t) {
    const thread_state& s = state_of(g, t);
    graph_event& e = build_.make_event(g, t, event_kind::write);
    if (!build_.place_access(g, e, s)) {
      return;
    }
    g.reserve(static_cast<std::size_t>(state_.locations.size()));
    if (!e.rmw) {
      buffering_.look_for_early_read(g, e);
      buffering_.look_for_late_acquire(g, e);
    }
    thread_run& run = model::at(g.threads, t);
    e.value = model::at(state_.machines, t).stored(s);
    e.partner = e.rmw ? run.events.back() : nullptr;
    e.update = e.rmw ? e.partner->update : std::uint8_t{0};
    if (merges_updates() && !e.rmw && !updates_.allow(g, e)) {
      return;
    }
    if (e.rmw && e.mbarrier != mbarrier_op::none && !synchronization_.changes_mbarrier(g, e, s)) {
      return;
    }
    std::vector<const graph_event*>& heads = scratch_;
    heads.clear();
    state_.rules.release(g, e, heads);
    e.heads = build_.kept(heads);
    if (merges_updates()) {
      if (!updates_.allow_release(g, e)) {
        return;
      }
    }
    ++g.next_stamp;
    const suspects found = races_.races_of(g, e);
    run.events.push_back(&e);
    run.states.push_back(model::at(state_.machines, t).step(s, {}));
    if (healthy(g, t)) {
      const bool in_order = g.fences_in_order;
      for_each_place(g, e, [&] {
        if (races_.consistent(g, found, {&e, nullptr}) && synchronization_.may_begin_mbarrier(g, e)) {
          visit(g);
        }
        g.fences_in_order = in_order;
      });
      if (!on_one_path()) {
        change_reads(g, e);
      }
    }
    run.states.pop_back();
    run.events.pop_back();
    --g.next_stamp;
  }

  /// Calls `use` with each position that Coherence and Atomicity allow for `w` in its location's coherence order.
  template <class Use>
  void for_each_place(graph& g, const graph_event& w, const Use& use) {
    const auto order = [&]() -> auto& { return model::at(g.order, w.location); };  // `use` may reallocate the vector
    const int size = model::count_of(order());
    int least = build_.oldest_source(g, w, w.location) + 1;
    int most = size;
    if (w.rmw && !replays()) {
      least = most = state_.rules.place_read(g, *w.partner) + 1;
    }
    for (int at = most; at >= (on_one_path() ? most : least) && !state_.stopped(); --at) {
      // no write may be placed between the read and the write of another read-modify-write
      if (at < size && model::at(order(), at)->rmw && state_.rules.place_read(g, *model::at(order(), at)->partner) == at - 1) {
        continue;
      }
      if (at < most) {
        branches_.add(state_.checked, w);
      }
      order().insert(order().begin() + at, &w);
      use();
      order().erase(order().begin() + at);
    }
  }

  /// Makes write `w`, the last event, the source of each read that does not precede it, one at a time.
  void change_reads(graph& g, const graph_event& w) {
    const auto& reads = model::at(g.reads, w.location);
    const stack_arena::mark mark = state_.arena.here();
    const std::uint16_t* const past = updates_.past_of(w);
    for (int k = 0; k < model::count_of(reads) && !state_.stopped(); ++k) {
      const graph_event& r = *model::at(reads, k);
      if (r.thread == w.thread || reads_once(r) || precedes(r, past) || (w.update != 0 && r.update != 0) ||
          updates_.is_passed_over(g, w, r)) {
        continue;
      }
      change_read(g, r, w, past);
    }
    state_.arena.release(mark);
  }

  /// `past` is the clock of the events that exist whenever a read takes its value from `w`.
  void change_read(const graph& g, const graph_event& r, const graph_event& w, const std::uint16_t* past) {
    keep_.resize(state_.checked.threads.size());
    for (int t = 0; t < state_.count(); ++t) {
      const auto& events = model::at(g.threads, t).events;
      int n = past[t];
      while (n < model::count_of(events) && model::at(events, n)->stamp < r.stamp) {
        ++n;
      }
      model::at(keep_, t) = n;
    }
    for (int t = 0; t < state_.count(); ++t) {
      const auto& events = model::at(g.threads, t).events;
      for (int n = model::at(keep_, t); n < model::count_of(events); ++n) {
        if (!reads_and_writes_the_latest(g, *model::at(events, n), w, past)) {
          return;
        }
      }
    }
    branches_.add(state_.checked, r);
    graph& h = take_graph();
    copy_kept(g, h, keep_, &w);
    const stack_arena::mark mark = state_.arena.here();
    updates_.connect(h);
    graph_event& changed = build_.make_event(h, r.thread, event_kind::read);
    const thread_state& s = state_of(h, r.thread);
    static_cast<void>(build_.place_access(h, changed, s));
    changed.stamp = r.stamp;
    changed.update = r.update;
    if (build_.read_from(h, changed, &w)) {
      for_each_place(h, w, [&] {
        const auto& order = model::at(h.order, w.location);
        if (event_rules::place_in(order, &w) >= build_.oldest_source(h, changed, r.location)) {
          take_read(h, changed, s, &w);
        }
      });
    }
    state_.arena.release(mark);
    give_graph();
  }

  /// Returns whether `e`, which is dropped if a read changes its source to `w`, meets the requirements of the one graph from
  /// which this change is made. Only the events before `e` and the predecessors of `w` are considered. A read must read the
  /// latest write. A write must be the latest and must not have been read. A thread at an `activemask` must not have chosen
  /// other lanes unless it had to, and an instruction with an unknown predicate must have been executed.
  [[nodiscard]] bool reads_and_writes_the_latest(const graph& g, const graph_event& e, const graph_event& w,
                                                 const std::uint16_t* past) {
    const bool writes = e.kind == event_kind::write;
    const auto previous = [&](const graph_event& o) { return &o != &w && (o.stamp <= e.stamp || precedes(o, past)); };
    if (e.chosen) {
      return e.value.low != 0;
    }
    if (!writes && e.kind != event_kind::read) {
      return !state_.points.has_chosen_lanes(g, e, previous);
    }
    if (!writes && reads_once(e)) {
      return true;
    }
    const auto& reads = model::at(g.reads, e.location);
    const bool read = writes && std::any_of(reads.begin(), reads.end(), [&](auto* r) {
                        return (r->source == &e || (e.update != 0 && commuting_updates::has_seen(g, *r, e))) &&
                               r->update == 0 && previous(*r);
                      });
    if (read || e.update != 0) {
      return !read;
    }
    // not checked here: whether `e` reads from a write that was added later and is also dropped, because the check of that
    // write finds that it has been read
    const auto& order = model::at(g.order, e.location);
    for (int i = (writes ? event_rules::place_in(order, &e) : state_.rules.place_read(g, e)) + 1; i < model::count_of(order);
         ++i) {
      if (writes ? previous(*model::at(order, i)) : updates_.changes(g, *model::at(order, i), e, previous)) {
        return false;
      }
    }
    return true;
  }

  // ---- other events

  void add_fence(graph& g, int t) {
    const graph_event& e = synchronization_.next_fence(g, t);
    if (merges_updates() && !updates_.allow_acquire(g, e)) {
      return;
    }
    if (e.sequential) {
      g.fences.push_back(&e);
    }
    take_other(g, e, state_of(g, t), {}, e.sequential);
    if (e.sequential) {
      g.fences.pop_back();
    }
  }

  /// If an unknown value decides whether a thread executes its next instruction, explores both cases.
  void add_choice(graph& g, int t) {
    if (early_read_ != nullptr) {
      return;  // the finding would hold only for one of the choices
    }
    const int first = replays() ? (replayed_choice_ != 0 ? 0 : 1) : at_random() ? chosen(2) : 0;
    for (int way = first; way < (at_random() ? first + 1 : 2) && !state_.stopped(); ++way) {
      const stack_arena::mark mark = state_.arena.here();
      graph_event& e = build_.make_event(g, t, event_kind::barrier);
      e.chosen = true;
      e.value.low = way == 0 ? 1 : 0;
      if (way != first) {
        branches_.add(state_.checked, e);
      }
      take_other(g, e, state_of(g, t), e.value, false);
      state_.arena.release(mark);
    }
  }

  void add_at_sync_point(graph& g, int t, std::uint64_t chosen = 0) {
    wide_value seen{};
    if (const graph_event* const e = synchronization_.next_at_sync_point(g, t, seen, chosen); e != nullptr) {
      take_other(g, *e, state_of(g, t), seen, false);
    }
  }

  void add_arrival_at_active_mask(graph& g, int t) {
    std::string wrong;
    std::vector<std::uint64_t> choices = state_.points.at_active_mask(g, t, at_random(), wrong);
    if (choices.empty()) {
      state_.report_of(g, t, check_status::gave_up, "thread " + std::to_string(t) + ": " + wrong);
    } else if (on_one_path()) {
      choices = {model::at(choices, chosen(model::count_of(choices)))};
    }
    for (std::size_t k = 0; k < choices.size() && !state_.stopped(); ++k) {
      const stack_arena::mark mark = state_.arena.here();
      add_at_sync_point(g, t, choices[k]);
      state_.arena.release(mark);
    }
  }

  void add_asynchronous(graph& g, int t) {
    const graph_event* const e = synchronization_.next_asynchronous(g, t);
    if (e == nullptr) {
      return;
    }
    if (e->started != nullptr) {
      model::at(g.threads, e->starts).start(e);
    }
    if (e->started == nullptr || healthy(g, e->starts)) {
      take_other(g, *e, state_of(g, t), {}, false);
    }
    if (e->started != nullptr) {
      model::at(g.threads, e->starts).start(nullptr);
    }
  }

  void take_other(graph& g, const graph_event& e, const thread_state& s, wide_value seen, bool check) {
    thread_run& run = model::at(g.threads, e.thread);
    ++g.next_stamp;
    run.events.push_back(&e);
    run.states.push_back(model::at(state_.machines, e.thread).step(s, seen));
    if (healthy(g, e.thread) && (!check || races_.consistent(g, {}, {&e, nullptr}))) {
      if (!on_one_path() && waits_for_the_past(g, e.thread)) {
        ++state_.result.counts.blocked;
      } else {
        visit(g);
      }
    }
    run.states.pop_back();
    run.events.pop_back();
    --g.next_stamp;
  }

  // ---- the end

  void complete(const graph& g) {
    int longest = 0;
    bool ended = true;
    bool stuck = true;
    for (int t = 0; t < state_.count(); ++t) {
      longest += model::count_of(model::at(g.threads, t).events);
      const thread_state& s = state_of(g, t);
      ended = ended && s.status == thread_status::ended;
      const bool waits = s.status == thread_status::waiting || waiting_together::has_come_back(g, t);
      stuck = stuck && !build_.is_held(g, t) && !state_.points.waits_for_chosen_lanes(t, s) &&
              s.status != thread_status::repeats && (!waits || end_.waits_for_ever(g, t));
    }
    state_.result.counts.longest = std::max(state_.result.counts.longest, longest);
    if (!ended || (!synchronization_.has_parted_warp(g) && !synchronization_.keeps_tensor_memory(g))) {
      end_.finish(g, ended, stuck);
    }
  }

  const check_property& property_;
  check_options options_;
  exploration_state state_;
  event_builder build_{state_};
  commuting_updates updates_;
  race_check races_{state_, merges_updates()};
  memory_bytes bytes_{state_};
  synchronization_events synchronization_{state_, build_};
  waiting_together together_{state_};
  next_thread next_{state_, build_, synchronization_, together_};
  replayed_order order_{state_, next_};
  std::uint64_t replayed_choice_ = 0;
  buffering_check buffering_{state_};
  execution_end end_{state_, property_, merges_updates() ? &updates_ : nullptr};
  std::mt19937_64 random_{};
  std::vector<std::unique_ptr<graph>> graphs_{};
  std::size_t graphs_used_ = 0;
  std::vector<const graph_event*> scratch_{};
  bool reads_unused_once_ = false;
  branch_counts branches_{};
  std::vector<int> keep_{};
  std::vector<int> alone_{};
  static constexpr std::uint64_t most_late_events = 10'000;  ///< the maximum number of events after a read that is too early
  const graph_event* early_read_ = nullptr;  ///< a read of memory that was never written, while its continuation is followed
  std::uint64_t late_events_ = 0;
  std::uintptr_t stack_begin_ = 0;
};

}  // namespace
}  // namespace detail

namespace {

/// The maximum total number of events in the random executions that are tried before the checker gives up.
constexpr std::uint64_t random_events = 300'000;

/// Before the checker gives up, its random executions may take the time limit divided by this number, in addition to the time of
/// the exploration.
constexpr double random_time_divisor = 10;

/// For each thread, the number of its asynchronous operations that can be performed. The number is increased when an
/// exploration finds that it is too small.
class copy_counts {
 public:
  explicit copy_counts(const program& p) : each_(p.threads.size()) {
    for (const thread_context& c : p.threads) {
      starting_.push_back(starts_copies(*c.kernel));
    }
    if (std::count(starting_.begin(), starting_.end(), true) <= few) {
      grow_all();
    }
  }

  [[nodiscard]] const std::vector<copy_counts_of_thread>& each() const noexcept { return each_; }

  /// Increases the number for thread `t`, for operations that `starters` threads start together. If `starters` is 1, also
  /// increases the numbers for all other threads that may start operations, unless there are more than 32 such threads and at
  /// most 32 of them have needed an increase. Returns false if the total would exceed the limit.
  [[nodiscard]] bool grow(int t, int starters) {
    const std::vector<copy_counts_of_thread> before = each_;
    asked_.insert(t);
    if (starters == 1 && (std::count(starting_.begin(), starting_.end(), true) <= few || model::count_of(asked_) > few)) {
      grow_all();
    } else {
      const auto kind = std::find(std::begin(starter_counts), std::end(starter_counts), starters) - std::begin(starter_counts);
      grow_one(model::at(each_, t)[static_cast<std::size_t>(kind)]);
    }
    int sum = 0;
    for (const copy_counts_of_thread& counts : each_) {
      sum = std::accumulate(counts.begin(), counts.end(), sum);
    }
    each_ = sum <= most_copies ? each_ : before;
    return sum <= most_copies;
  }

 private:
  static constexpr int few = 32;

  static void grow_one(int& count) { count = std::max(2, 2 * count); }
  void grow_all() {
    for (std::size_t t = 0; t < each_.size(); ++t) {
      if (starting_[t]) {
        grow_one(each_[t][0]);
      }
    }
  }

  std::vector<copy_counts_of_thread> each_;
  std::vector<bool> starting_{};
  std::set<int> asked_{};
};

check_result explore_all(const program& checked, const check_property& property, const check_options& options) {
  kept_apart apart;
  std::optional<check_result> found;  // a finding in which some values are hidden, kept in case the next exploration gives up
  while (checked.copies || !starts_copies(checked)) {
    detail::explorer exploration(checked, property, options, apart);
    check_result result = exploration.run();
    if (exploration.begins_again()) {
      continue;
    }
    const bool finds = result.status != check_status::verified && result.status != check_status::gave_up;
    if (!finds || !exploration.hides_values()) {
      return found && result.status == check_status::gave_up && !checked.assumed.same_value_writes ? *std::move(found)
                                                                                                   : std::move(result);
    }
    found = std::move(result);
    apart.add_hidden_values();
  }
  copy_counts counts(checked);
  for (;;) {
    auto whole = std::make_shared<const program>(with_copies(checked, counts.each()));
    detail::explorer exploration(*whole, property, options, apart);
    check_result result = exploration.run();
    if (const auto [thread, starters] = exploration.lacking(); thread < 0 || !counts.grow(thread, starters)) {
      result.found.whole = std::move(whole);
      return result;
    }
  }
}

/// Returns the instructions that a finding blames.
[[nodiscard]] std::set<const instruction*> blamed_instructions(const finding& f) {
  std::set<const instruction*> result;
  for (const trace_event& e : f.events) {
    if (e.blamed) {
      result.insert(e.at);
    }
  }
  return result;
}

/// Explores the program again under each reading on which the finding may depend. All of these readings give programs more
/// guarantees, so a finding under one of them is also a finding without it. If there is another finding, it replaces the given
/// one, which might hide it; otherwise the message names the reading. Ignores load buffering unless the finding is load
/// buffering itself, because exploring it takes much longer.
void name_readings(const program& checked, const check_property& property, const check_options& options, check_result& result) {
  check_options others = options;
  others.most_events = std::min<std::uint64_t>(options.most_events, 1'000'000);
  others.load_buffering = options.load_buffering && !buffering_cycle(result.found).empty();
  for (const auto& [name, one] : litmus_files::checked_readings()) {
    if (options.readings.takes(one) || !may_depend_on(checked, result.found, one)) {
      continue;
    }
    others.readings = options.readings;
    others.readings.take(one);
    check_result other = explore_all(checked, property, others);
    if (other.status == check_status::verified) {
      result.found.message += litmus_files::depends_on(name);
    } else if (other.status != check_status::gave_up && result.status == check_status::race &&
               blamed_instructions(other.found) != blamed_instructions(result.found)) {
      other.found.message += "; there is also a " + result.found.message.substr(0, result.found.message.find(';')) +
                             litmus_files::depends_on(name, ", which");
      result = std::move(other);
      return;
    }
  }
}

}  // namespace

namespace {

/// Runs `what` on a thread with a stack of `bytes` bytes, or on the current thread if no thread can be created.
void run_on_stack(std::size_t bytes, const std::function<void()>& what) {
  struct task {
    const std::function<void()>* what;
    std::exception_ptr thrown{};
  } mine{&what};
  pthread_attr_t attributes;
  pthread_t thread{};
  pthread_attr_init(&attributes);
  pthread_attr_setstacksize(&attributes, bytes);
  const auto run = [](void* of) -> void* {
    auto& t = *static_cast<task*>(of);
    try {
      (*t.what)();
    } catch (...) {
      t.thrown = std::current_exception();
    }
    return nullptr;
  };
  const bool started = pthread_create(&thread, &attributes, run, &mine) == 0;
  pthread_attr_destroy(&attributes);
  if (!started) {
    what();
    return;
  }
  pthread_join(thread, nullptr);
  if (mine.thrown != nullptr) {
    std::rethrow_exception(mine.thrown);
  }
}

check_result explore_here(const program& checked, const check_property& property, const check_options& options) {
  check_result result = explore_all(checked, property, options);
  if (options.name_readings && options.replayed == nullptr) {
    name_readings(checked, property, options, result);
  }
  if (result.status != check_status::gave_up || options.random_executions != 0 || options.replayed != nullptr ||
      options.random_before_giving_up == 0) {
    return result;
  }
  check_options random = options;
  random.random_executions = options.random_before_giving_up;
  random.most_events = random_events;
  random.time = time_limit(options.time.seconds() / random_time_divisor);
  check_result shown = explore_all(checked, property, random);
  return shown.status == check_status::gave_up ? std::move(result) : std::move(shown);
}

}  // namespace

check_result explore(const program& checked, const check_property& property, const check_options& options) {
  constexpr std::size_t besides = std::size_t{1} << 20U;
  check_result result;
  run_on_stack(options.most_stack + besides, [&] { result = explore_here(checked, property, options); });
  return result;
}

}  // namespace membar::check
