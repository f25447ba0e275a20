// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <check/machine.hpp>
#include <sanitize/accesses.hpp>
#include <sanitize/copies.hpp>
#include <sanitize/fast_code.hpp>
#include <sanitize/meetings.hpp>
#include <sanitize/orders.hpp>
#include <sanitize/parts.hpp>
#include <sanitize/queue.hpp>
#include <sanitize/races.hpp>
#include <sanitize/reporter.hpp>
#include <sanitize/run.hpp>
#include <sanitize/run_state.hpp>

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <cstring>
#include <memory>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

namespace membar::sanitize {

namespace {

using check::op;
using check::thread_status;

constexpr int no_thread = -1;  ///< marks a removed step of the schedule

/// Runs a thread from one event to the next.
class lane_watch {
 public:
  lane_watch(run_state& state, lane& l) : state_(state), lane_(l), machine_(l.home->machine_of(l)) {}

  template <class Instruction>
  [[nodiscard]] check::watched operator()(const check::thread_state&, const Instruction&, bool) noexcept {
    ++state_.instructions;
    return check::watched::goes_on;
  }

  /// Executes instructions up to the first one that `fast_instruction` does not support, or none if the thread has unknown
  /// values. Returns false if the thread stops earlier because it repeats a state at a loop head, or has executed too many
  /// instructions.
  [[nodiscard]] bool hurries(check::thread_state& s) {
    const std::vector<fast_instruction>& code = *lane_.home->launch->code.fast;
    if (code.empty() || machine_.has_unknown_values(s)) {
      return true;
    }
    constexpr int most = 100'000;
    std::uint64_t* const words = s.words();
    const check::thread_context& context = machine_.context();
    std::int32_t pc = s.pc;
    int n = 0;
    for (; n < most; ++n) {
      const fast_instruction& f = code[static_cast<std::size_t>(pc)];
      if (f.what == fast_instruction::kind::slow) {
        break;
      }
      if (f.head) {
        s.pc = pc;
        if (comes_to_head(s)) {
          state_.instructions += static_cast<std::uint64_t>(n);
          return false;
        }
      }
      const bool runs = f.guard < 0 || ((words[f.guard] & 1U) != 0) != f.guard_negated;
      if (f.what == fast_instruction::kind::jumps) {
        pc = runs ? f.target : pc + 1;
        continue;
      }
      if (runs) {
        words[f.target] = f.compute(f, words, context) & f.kept;
      }
      ++pc;
    }
    s.pc = pc;
    state_.instructions += static_cast<std::uint64_t>(n);
    if (n == most) {
      s.status = thread_status::too_long;
    }
    return n < most;
  }

  /// Returns whether a thread is at a loop head where it has been before in the same state, and has not changed anything since.
  [[nodiscard]] bool comes_to_head(check::thread_state& s) {
    if (state_.recorded != nullptr) {
      forget_round(s);
    }
    lane::loop_watch& loop = lane_.loop;
    constexpr std::uint32_t first_copy = 4;
    if (loop.effects != s.effects || (loop.pc != s.pc && ++loop.others > 4 * (loop.visits + 8))) {
      loop.pc = -1;
    }
    if (loop.pc < 0) {
      loop = {s.pc, s.effects, 0, first_copy, 0, std::move(loop.copy), false};
      return false;
    }
    if (loop.pc != s.pc) {
      return false;
    }
    ++loop.visits;
    if (loop.has_copy) {
      const auto& then = *reinterpret_cast<const check::thread_state*>(loop.copy.get());
      if (machine_.are_equal(s, then)) {
        s.status = then.events != s.events ? thread_status::waiting
                   : s.clock_read          ? thread_status::waits_for_time
                                           : thread_status::endless;
        loop.pc = -1;
        return true;
      }
    }
    if (loop.visits >= loop.next) {
      if (loop.copy == nullptr) {
        loop.copy = std::make_unique<std::byte[]>(machine_.bytes());
      }
      std::memcpy(loop.copy.get(), static_cast<const void*>(&s), machine_.bytes());
      loop.has_copy = true;
      loop.next *= 2;
    }
    return false;
  }

 private:
  /// If another round of the loop has changed nothing, removes the thread's events in that round from the schedule.
  void forget_round(const check::thread_state& s) {
    std::vector<check::replayed_schedule::step>& steps = state_.recorded->steps;
    lane::noted_head& head = lane_.noted[s.pc];
    if (head.copy != nullptr && head.effects == s.effects &&
        machine_.are_equal(s, *reinterpret_cast<const check::thread_state*>(head.copy.get()))) {
      const int mine = state_.number_of(lane_);
      for (std::size_t k = head.step; k < steps.size() && head.has_round && head.writes == state_.writes; ++k) {
        steps[k].thread = steps[k].thread == mine && steps[k].operation < 0 ? no_thread : steps[k].thread;
      }
      head.has_round = true;
      head.writes = state_.writes;
      head.step = steps.size();
      return;
    }
    if (head.copy == nullptr) {
      head.copy = std::make_unique<std::byte[]>(machine_.bytes());
    }
    std::memcpy(head.copy.get(), static_cast<const void*>(&s), machine_.bytes());
    head.effects = s.effects;
    head.has_round = false;
    head.step = steps.size();
  }

  run_state& state_;
  lane& lane_;
  const check::machine& machine_;
};

/// A running schedule.
class schedule_run {
 public:
  schedule_run(const check::program& p, const std::vector<check::planned_launch>& plans, program_code& code, std::uint64_t seed,
               const sanitize_options& options, crew& all)
      : crew_(&all), state_(p, plans, code, seed, options), queue_(state_.random, seed, threads_of(plans)) {
    const std::uint64_t threads = threads_of(plans);
    begin_schedule(threads);
    for (launch_run& l : state_.launches) {
      l.in_parts = threads > few_threads && l.plan->blocks > blocks_of_part(l) && may_run_in_parts(state_, l);
    }
  }

  /// Creates a part of the schedule `whole`. The part has its own seed.
  schedule_run(schedule_run& whole, std::uint64_t seed, const part_blocks& of, part_result& result)
      : state_(whole.state_, seed, of, result.pages),
        queue_(state_.random, state_.schedule,
               (of.end - of.first) * state_.launches[static_cast<std::size_t>(of.launch)].plan->block_size),
        pages_(&result.pages),
        most_instructions_(state_.how.most_instructions - whole.state_.instructions) {
    const launch_run& l = state_.launches[static_cast<std::size_t>(of.launch)];
    begin_schedule((of.end - of.first) * l.plan->block_size);
  }

  void run() {
    start_blocks();
    while (!state_.stopped) {
      if (queue_.empty() && running_.empty() && run_parts()) {
        continue;
      }
      if (queue_.empty() && !wake()) {
        break;
      }
      std::uint64_t events = 0;
      lane* const l = queue_.take(events);
      run(*l, events);
      if (copies_.perform_some()) {
        wake_waiting();
      }
      if (++turns_ % 64 == 0 && !spinning_.empty()) {
        wake_spinning();
      }
      check_limits();
    }
  }

  /// Moves the results of a part to `result`.
  void finish_part(const part_blocks& of, part_result& result) {
    launch_run& l = state_.launches[static_cast<std::size_t>(of.launch)];
    result.whole = !state_.stopped && !state_.stalled && l.ended == of.end;
    result.end = std::move(l.end);
    result.dropped_cells = std::move(state_.dropped_cells);
    result.found = out_.take();
    result.instructions = state_.instructions;
    result.accesses = state_.accesses_made;
    result.writes = state_.writes;
  }

  [[nodiscard]] bool is_whole() const {
    return !state_.stopped &&
           std::all_of(state_.launches.begin(), state_.launches.end(), [](const launch_run& l) { return l.is_over(); });
  }
  [[nodiscard]] run_state& state() noexcept { return state_; }
  [[nodiscard]] std::uint64_t parts() const noexcept { return parts_; }
  /// Returns the largest total number of clock nodes that the parts of any batch had when they ended.
  [[nodiscard]] std::uint64_t most_nodes_of_parts() const noexcept { return most_nodes_of_parts_; }
  void record(recorded_schedule& to) noexcept { state_.recorded = &to; }
  /// Ends the schedule soon after this number of instructions, without a finding.
  void end_after(std::uint64_t instructions) noexcept { last_instruction_ = instructions; }
  [[nodiscard]] reporter& out() noexcept { return out_; }

 private:
  [[nodiscard]] static std::uint64_t threads_of(const std::vector<check::planned_launch>& plans) {
    std::uint64_t sum = 0;
    for (const check::planned_launch& p : plans) {
      sum += p.blocks * p.block_size;
    }
    return sum;
  }

  static constexpr std::uint64_t few_threads = 4096;

  void begin_schedule(std::uint64_t threads) {
    constexpr std::uint64_t few[] = {2, 8, 32};
    at_once_ = state_.schedule <= 1 ? 8 : few[state_.random.below(3)];
    at_once_ = threads <= few_threads && (state_.schedule % 2 == 0 || state_.schedule <= 1) ? ~std::uint64_t{0} : at_once_;
  }

  // ---- parts of a schedule

  [[nodiscard]] static std::uint64_t blocks_of_part(const launch_run& l) noexcept {
    constexpr std::uint64_t threads = 1024;
    return std::max<std::uint64_t>(threads / std::max<std::uint64_t>(l.plan->block_size, 1), 1);
  }

  /// Runs the blocks of a launch in parts until the parts communicate. Returns false if no launch that may begin can run in
  /// parts.
  bool run_parts() {
    const auto at = std::find_if(state_.launches.begin(), state_.launches.end(),
                                 [&](const launch_run& l) { return l.in_parts && l.started < l.plan->blocks && may_begin(l); });
    if (at == state_.launches.end()) {
      return false;
    }
    launch_run& l = *at;
    begin(l);
    find_code(l);
    constexpr std::uint64_t most = 64;          // the maximum number of parts in a batch
    constexpr std::uint64_t pages = 1U << 15U;  // the approximate number of pages in a batch
    std::uint64_t parts = 2;
    while (l.in_parts && l.started < l.plan->blocks && !state_.stopped) {
      const std::uint64_t made = run_batch(l, parts);
      parts = std::min({most, 2 * parts, std::max<std::uint64_t>(pages * parts / std::max<std::uint64_t>(made, 1), 1)});
    }
    if (l.is_over()) {
      end_launch(l);
    }
    start_blocks();
    return true;
  }

  /// Runs the next `parts` parts of a launch and returns their number of pages. If a part fails or the parts communicate,
  /// returns 0, and the remaining blocks of the launch run together.
  std::uint64_t run_batch(launch_run& l, std::uint64_t parts) {
    const std::uint64_t each = blocks_of_part(l);
    const std::uint64_t end = std::min(l.plan->blocks, l.started + each * parts);
    part_results results(static_cast<std::size_t>((end - l.started + each - 1) / each));
    std::atomic<bool> failed = false;
    crew_->perform(results.size(), [&, levels = clock::levels()](std::size_t k) {
      const std::uint64_t first = l.started + k * each;
      results[k] = std::make_unique<part_result>();
      if (!failed) {
        run_part({l.plan->number, first, std::min(end, first + each)}, *results[k], levels);
        failed = failed || !results[k]->whole;
      }
    });
    const auto key_of = [&](std::uint64_t block) { return l.first_key + static_cast<thread_key>(block * l.keys_of_block); };
    page_merge merge(results, *crew_, key_of(l.started), key_of(end) - 1);
    std::uint64_t instructions = state_.instructions;
    for (const auto& r : results) {
      instructions += r->instructions;
    }
    if (failed || instructions > state_.how.most_instructions || merge.communicate()) {
      l.in_parts = false;
      return 0;
    }
    merge.perform();
    std::uint64_t nodes = 0;
    for (const auto& r : results) {
      join(l, *r);
      nodes += r->nodes.live;
    }
    most_nodes_of_parts_ = std::max(most_nodes_of_parts_, nodes);
    parts_ += results.size();
    l.launching += end - l.started;
    l.started = l.ended = end;
    return merge.pages();
  }

  void run_part(const part_blocks& of, part_result& result, int levels) noexcept {
    try {
      const clock::using_nodes own(result.nodes, levels);
      constexpr std::uint64_t mixed = 0x9e3779b97f4a7c15U;
      const auto number = static_cast<std::uint64_t>(of.launch) << 40U | of.first;
      schedule_run one(*this, (state_.schedule + 1) * mixed ^ (number + 1) * 0xbf58476d1ce4e5b9U, of, result);
      one.run();
      one.finish_part(of, result);
    } catch (...) {
      result.whole = false;  // the blocks then run together, and the error occurs again
    }
  }

  void join(launch_run& l, part_result& r) {
    knowledge end;
    end.base = r.end.base.adopted();
    end.begun = r.end.begun.adopted();
    l.end.join(end, true);
    for (const std::uint64_t address : r.dropped_cells) {
      state_.cells.erase(address);
    }
    out_.add(std::move(r.found));
    state_.instructions += r.instructions;
    state_.accesses_made += r.accesses;
    state_.writes += r.writes;
    state_.last_change = state_.instructions;
  }

  // ---- blocks

  /// Abandons a schedule that takes too long.
  void check_limits() {
    if (pages_ != nullptr && pages_->are_too_many()) {
      state_.stop();
    }
    if (state_.instructions > last_instruction_) {
      state_.stop();
      return;
    }
    constexpr std::uint64_t each = 1'000'000;  // the maximum number of instructions per running thread without a change to
                                               // memory
    // the limit allows for 32 more threads, because a thread that runs alone may read a lot of memory
    constexpr std::uint64_t few = 32;
    const std::uint64_t idle = each * (queue_.size() + spinning_.size() + few);
    if (state_.instructions > most_instructions_) {
      out_.add(check_status::gave_up, "the schedule took more than " + std::to_string(state_.how.most_instructions) +
                                          " instructions: raise the limit with --limit=N");
      state_.stop();
    } else if (state_.instructions > state_.last_change + idle) {
      out_.only_polls(state_.instructions - state_.last_change);
      state_.stop();
    }
  }

  [[nodiscard]] const launch_run& before(int number) const { return state_.launches[static_cast<std::size_t>(number)]; }
  [[nodiscard]] const std::vector<int>& launches_before(const launch_run& l) const {
    return model::at(state_.checked.launches_before, l.plan->number);
  }
  [[nodiscard]] bool is_dependent(const launch_run& l) const {
    return state_.checked.dependent[static_cast<std::size_t>(l.plan->number)];
  }
  [[nodiscard]] bool may_begin(const launch_run& l) const {
    const std::vector<int>& all = launches_before(l);
    return std::all_of(all.begin(), all.end(), [&](int k) {
      return is_dependent(l) ? before(k).launching == before(k).plan->blocks : before(k).is_over();
    });
  }

  /// Starts blocks until the maximum number of them are running.
  void start_blocks() {
    for (launch_run& l : state_.launches) {
      const auto group = static_cast<std::uint64_t>(std::max(l.plan->request.cluster, 1));
      while (l.started < l.until && !l.in_parts && running_of(l) + group <= std::max(group, std::min(at_once_, resident(l))) &&
             (state_.is_part || may_begin(l))) {
        begin(l);
        for (std::uint64_t k = 0; k < group; ++k) {
          start(l);
        }
      }
    }
  }
  [[nodiscard]] std::uint64_t running_of(const launch_run& l) const noexcept { return l.started - l.ended; }
  [[nodiscard]] std::uint64_t resident(const launch_run& l) const { return resident_blocks(*l.plan, state_.how.device); }

  void begin(launch_run& l) {
    if (l.has_begin) {
      return;
    }
    l.has_begin = true;
    if (state_.wide) {
      l.begin.more = std::make_unique<knowledge::proxies>();
      l.end.more = std::make_unique<knowledge::proxies>();
    }
    if (!is_dependent(l)) {
      follow_launches(l, l.begin);
    }
  }
  /// Adds to `known` the events of the earlier launches that happen before the threads of `l`.
  void follow_launches(const launch_run& l, knowledge& known) const {
    for (const int k : launches_before(l)) {
      known.join(before(k).end, true);
    }
    known.cross(~0U);  // a kernel boundary orders accesses across all proxies
  }

  void find_code(launch_run& l) {
    if (l.code.registers == nullptr) {
      l.code = state_.code.of(*l.plan);
    }
  }

  void start(launch_run& l) {
    const auto size = static_cast<std::size_t>(l.plan->block_size);
    std::unique_ptr<block> made = free_.empty() ? std::make_unique<block>() : std::move(free_.back());
    if (!free_.empty()) {
      free_.pop_back();
    }
    block& b = *made;
    const std::uint64_t index = l.started++;
    find_code(l);
    const bool fits = b.launch == &l;  // otherwise the block is new or was used for another launch
    b.launch = &l;
    b.index = index;
    b.number = l.plan->first_block + static_cast<int>(index);
    b.first_key = l.first_key + static_cast<thread_key>(index * l.keys_of_block);
    b.alive = static_cast<int>(size);
    b.together.clear();
    b.at_end = {};
    b.has_heard = false;
    b.launched_dependents = false;
    b.meetings.clear();
    b.described = check::shared_objects(l.plan->request, b.number);
    b.shared.clear();
    for (const check::memory_object& o : b.described) {
      b.shared.emplace_back(o);
    }
    if (!fits) {
      b.contexts.clear();
      b.machines.clear();
      b.lanes.clear();
      b.contexts.reserve(size);
      b.machines.reserve(size);
    }
    for (std::size_t t = 0; t < size; ++t) {
      check::thread_context c = check::context_of(*l.plan, index, t);
      c.registers = l.code.registers;
      c.number_in_program = static_cast<int>(t);
      fits ? static_cast<void>(b.contexts[t] = std::move(c)) : b.contexts.push_back(std::move(c));
    }
    if (!fits) {
      for (std::size_t t = 0; t < size; ++t) {
        b.machines.emplace_back(b.contexts[t], arena_);
      }
      b.points = std::make_unique<check::sync_points>(b.contexts, b.machines);
      b.states = std::make_unique_for_overwrite<std::byte[]>(size * stride(b.machines.front()));
      b.lanes = std::vector<lane>(size);
    }
    state_.by_number.set(b.number, &b);
    begin_lanes(b);
    running_.emplace(&b, std::move(made));
  }
  [[nodiscard]] static std::size_t stride(const check::machine& m) noexcept {
    return static_cast<std::size_t>(check::aligned(m.bytes(), 64));
  }

  void begin_lanes(block& b) {
    const std::size_t step = stride(b.machines.front());
    for (std::size_t t = 0; t < b.lanes.size(); ++t) {
      lane& l = b.lanes[t];
      std::unique_ptr<std::byte[]> copy = std::move(l.loop.copy);
      l = lane();
      l.loop.copy = std::move(copy);
      l.home = &b;
      l.local = static_cast<std::uint16_t>(t);
      l.key = b.first_key + static_cast<thread_key>(t);
      l.known = b.launch->begin;
      lane_watch watch(state_, l);
      l.state = &b.machines[t].begin_in_place(b.states.get() + t * step, watch);
      queue_.add(l);
    }
  }

  void end(lane& l) {
    l.where = stand::gone;
    // a thread that exits counts as a change, because it did not only poll
    state_.last_change = state_.instructions;
    block& b = *l.home;
    if (state_.checked.assumed.kernel_boundary_acquires) {
      orders_.acquire_all(l);
    }
    // For most threads of a block, the same events happen before their exit, so the join is usually skipped.
    if (!b.launch->last_end.is_same(l.known.base) || state_.wide) {
      b.launch->end.join(l.known, true);
      b.launch->last_end = l.known.base;
    }
    if (lives_matter(b)) {
      b.at_end.base.join(l.known.base);
    }
    --b.alive;
    if (b.alive == 0) {
      end(b);
    } else {
      meetings_.left(b);
      if (b.contexts.front().cluster_blocks > 1) {
        finish_cluster(b);
      }
    }
  }

  void end(block& b) {
    launch_run& l = *b.launch;
    copies_.finish(b);
    if (lives_matter(b)) {
      races_.end_of(b, b.at_end);
    }
    if (b.contexts.front().cluster_blocks > 1) {
      finish_cluster(b);
    }
    ++l.ended;
    l.launching += b.launched_dependents ? 0 : 1;
    if (l.is_over() && !state_.is_part) {
      end_launch(l);
    }
    ++state_.writes;
    const auto it = running_.find(&b);
    if (b.contexts.front().cluster_blocks == 1) {
      state_.by_number.set(b.number, nullptr);
      free_.push_back(std::move(it->second));
    } else {
      kept_.push_back(std::move(it->second));  // other blocks of the cluster may still access its shared memory
    }
    running_.erase(it);
    wake_waiting();
    start_blocks();
  }
  static void end_launch(launch_run& l) {
    l.end.base.raise(l.first_key, l.first_key + static_cast<thread_key>(l.plan->blocks * l.keys_of_block) - 1, end_of_time);
  }
  void wake_waiting() {
    for (lane* const w : std::exchange(waiting_, {})) {
      queue_.add(*w);
    }
  }

  /// Returns whether threads of other blocks, or asynchronous operations, may access the shared memory of a block.
  [[nodiscard]] bool lives_matter(const block& b) const noexcept {
    return state_.wide || b.contexts.front().cluster_blocks > 1;
  }

  // ---- choice of the next thread

  /// Called when no thread can continue immediately. Releases some of the threads that wait for others. Returns false if no
  /// thread can be released.
  bool wake() {
    if (wake_spinning()) {
      return true;
    }
    if (copies_.perform_one()) {
      wake_waiting();
      return wake_spinning() || !queue_.empty() || wake();
    }
    bool some = false;
    for (const auto& [at, b] : running_) {
      some = meetings_.finish_active_masks(*at) || some;
    }
    if (some) {
      return true;
    }
    const std::uint64_t most = at_once_;
    while (queue_.empty() && at_once_ < (std::uint64_t{1} << 24U)) {
      at_once_ = std::min(at_once_, std::uint64_t{1} << 23U) * 2;
      start_blocks();
    }
    if (!queue_.empty()) {
      return true;
    }
    at_once_ = most;
    if (!running_.empty() && !state_.stalled) {
      report_hang();
    }
    return false;
  }

  bool wake_spinning() {
    bool some = false;
    std::erase_if(spinning_, [&](lane* l) {
      const bool wakes = l->writes_seen != state_.writes;
      if (wakes) {
        queue_.add(*l);
        some = true;
      }
      return wakes;
    });
    return some;
  }

  void report_hang() {
    std::vector<const lane*> stuck;
    bool limited = false;
    for (const auto& [at, b] : running_) {
      for (const lane& l : at->lanes) {
        if (l.where != stand::gone) {
          stuck.push_back(&l);
        }
      }
      limited = limited || at->launch->started < at->launch->plan->blocks;
    }
    std::ranges::sort(stuck, {}, [](const lane* l) { return l->key; });
    std::string text = "threads wait, and no other thread can end their wait";
    if (limited) {
      const launch_run& l = *stuck.front()->home->launch;
      text += ": the device can hold only " + std::to_string(resident(l)) + " of the " + std::to_string(l.plan->blocks) +
              " blocks at once, and these blocks wait for the others";
    }
    out_.hang(text, stuck);
    state_.stop();
  }

  /// Runs a thread for at most `events` events.
  void run(lane& l, std::uint64_t events) {
    // A thread that also writes while it polls must not delay other threads forever.
    constexpr std::uint64_t most = 16'384;
    lane_watch watch(state_, l);
    for (std::uint64_t n = 0; !state_.stopped; ++n) {
      if (n >= most) {
        queue_.lower(l);
      }
      if (n >= events || n >= most) {
        queue_.add(l);
        return;
      }
      if (!step(l, watch)) {
        return;
      }
      if (queue_.changes(l, std::exchange(fenced_, false))) {
        queue_.add(l);
        return;
      }
    }
  }

  /// Performs the next event of a thread. Returns false if it cannot continue.
  bool step(lane& l, lane_watch& watch) {
    check::thread_state& s = *l.state;
    const check::machine& m = l.home->machine_of(l);
    switch (s.status) {
      case thread_status::at_event:
        break;
      case thread_status::ended:
        end(l);
        return false;
      case thread_status::waiting:
        s.status = thread_status::at_event;
        if (l.writes_seen != state_.writes) {
          l.writes_seen = state_.writes;
          m.go_on(s, watch);
          return true;
        }
        s.status = thread_status::waiting;
        l.where = stand::spinning;
        queue_.lower(l);
        spinning_.push_back(&l);
        return false;
      case thread_status::too_long:
        m.go_on(s, watch);
        return true;
      default:
        report_status(l);
        state_.stall(l);
        return false;
    }
    if (s.choosing) {
      const std::uint64_t chosen = state_.random.below(2);
      state_.note(l, chosen);
      m.step_in_place(s, {chosen, 0}, watch);
      return true;
    }
    return perform(l, m, m.at(s), watch);
  }

  bool perform(lane& l, const check::machine& m, const check::instruction& i, lane_watch& watch) {
    switch (i.code) {
      case op::load:
      case op::store:
      case op::atomic:
      case op::reduction:
        state_.note(l);
        memory_.perform(l, watch);
        if (l.where == stand::stalled) {
          state_.forget_last();
        }
        return l.where != stand::stalled;
      case op::fence:
        orders_.fence(l, i);
        fenced_ = i.order == memory_order::seq_cst && i.scope != thread_scope::block;
        break;
      case op::proxy_fence:
        orders_.proxy_fence(l, i);
        break;
      case op::cluster_arrive:
        return arrive_at_cluster(l, i, watch);
      case op::cluster_wait:
        return wait_for_cluster(l, i, watch);
      case op::grid_launch:
        observe(l, i, observed_event::kind_t::launch_dependents);
        launch_dependents(*l.home);
        break;
      case op::grid_wait:
        observe(l, i, observed_event::kind_t::wait_for_launches);
        return wait_for_launches(l, watch);
      case op::async_copy:
        state_.note(l);
        if (!copies_.start(l)) {
          return false;
        }
        if (i.performers > 1) {  // the other threads may wait until all of them have started the operation
          wake_waiting();
        }
        break;
      case op::async_commit:
        copies_.commit(l, i);
        break;
      case op::async_wait:
        if (!copies_.wait(l, i)) {
          l.where = stand::waiting;
          waiting_.push_back(&l);
          return false;
        }
        break;
      default:
        if (i.code != op::block_arrive) {  // for `bar.arrive`, the arrival and the continuation are one event
          state_.note(l);
        }
        if (!meetings_.arrive(l)) {
          state_.stop();
        }
        return false;
    }
    if (i.code != op::async_copy) {
      state_.note(l);
    }
    m.step_in_place(*l.state, {}, watch);
    return true;
  }

  /// Continues a thread that a sync point has released.
  void go_on(lane& l, check::wide_value given) {
    lane_watch watch(state_, l);
    state_.note(l);
    l.home->machine_of(l).step_in_place(*l.state, given, watch);
    queue_.add(l);
    ++state_.writes;
  }

  void report_status(lane& l) {
    const check::instruction& i = l.home->machine_of(l).at(*l.state);
    const std::string number = "thread " + out_.number_of(l);
    switch (l.state->status) {
      case thread_status::trapped:
        out_.add(check_status::violated,
                 l.home->context_of(l).where.host
                     ? number + ": '" + i.text + "' does not hold"
                     : number + (i.text == check::assertion_text ? ": an assertion fails" : " traps"),
                 l);
        break;
      case thread_status::endless:
        out_.add(check_status::hang, number + " is in a loop that accesses no memory and never ends", l);
        break;
      case thread_status::waits_for_time:
        out_.add(check_status::gave_up,
                 number +
                     " waits for time to pass, but clocks stand still in this check: leave out the wait, for example with a "
                     "macro that the scenario's source line defines",
                 l);
        break;
      case thread_status::uninitialised:
        out_.add(check_status::uninitialised, number + " reads local memory that it never wrote", l);
        break;
      case thread_status::out_of_bounds:
        out_.add(check_status::out_of_bounds, number + " accesses local memory out of bounds", l);
        break;
      case thread_status::others_memory:
        out_.add(check_status::undefined, number + " accesses the local memory of another thread", l);
        break;
      case thread_status::held:
      case thread_status::unfenced:
        out_.add(check_status::undefined,
                 number + " uses, in '" + i.text +
                     "', a register of an asynchronous matrix operation without the wait or fence that must precede it",
                 l);
        break;
      case thread_status::unknown_operand:
        out_.add(check_status::gave_up,
                 "an unknown value determines what '" + i.text + "' of " + number +
                     " does: " + check::origin_of_unknown_values(state_.checked),
                 l);
        break;
      default:
        out_.add(check_status::gave_up,
                 number + " reaches '" + i.text + "', which membar-check can read but not execute" +
                     (i.reason.empty() ? "" : ": " + i.reason),
                 l);
        break;
    }
  }

  // ---- launches that depend on each other

  void observe(const lane& l, const check::instruction& i, observed_event::kind_t kind) {
    if (state_.how.observe) {
      const int launch = l.home->launch->plan->number;
      state_.how.observe({kind, launch, &i, 0, 0, true, state_.is_early(launch, l.known)});
    }
  }
  void launch_dependents(block& b) {
    if (!std::exchange(b.launched_dependents, true)) {
      ++b.launch->launching;
      start_blocks();
    }
  }
  bool wait_for_launches(lane& l, lane_watch& watch) {
    const std::vector<int>& all = launches_before(*l.home->launch);
    if (!std::all_of(all.begin(), all.end(), [&](int k) { return before(k).is_over(); })) {
      l.where = stand::waiting;
      waiting_.push_back(&l);
      return false;
    }
    follow_launches(*l.home->launch, l.known);
    state_.note(l);
    l.home->machine_of(l).step_in_place(*l.state, {}, watch);
    return true;
  }

  // ---- barriers of clusters

  struct cluster_run {
    std::uint64_t phase = 0;
    release_heads heads{};
    release_heads last{};  ///< the release heads of the completed phase
    std::vector<lane*> waiting{};
  };
  [[nodiscard]] cluster_run& cluster_of(const block& b) {
    return clusters_[b.number - static_cast<int>(b.contexts.front().cluster_rank)];
  }

  bool misuses_cluster(const lane& l, bool arrives) {
    if ((l.cluster_phase > l.cluster_waits) != arrives) {
      return false;
    }
    state_.note(l);
    out_.add(check_status::undefined,
             "thread " + out_.number_of(l) +
                 (arrives ? " arrives at the cluster's barrier twice without a wait"
                          : " waits at the cluster's barrier without an arrival"),
             l);
    state_.stop();
    return true;
  }

  bool arrive_at_cluster(lane& l, const check::instruction& i, lane_watch& watch) {
    if (misuses_cluster(l, true)) {
      return false;
    }
    cluster_run& c = cluster_of(*l.home);
    if (model::releases(i.order)) {
      c.heads.add(orders_.released(l, i.scope));
    }
    thread_order::for_each_fence(l, [&](const release_head& h) { c.heads.add(h); });
    ++l.cluster_phase;
    state_.note(l);
    l.home->machine_of(l).step_in_place(*l.state, {}, watch);
    finish_cluster(*l.home);
    return true;
  }

  bool wait_for_cluster(lane& l, const check::instruction& i, lane_watch& watch) {
    if (misuses_cluster(l, false)) {
      return false;
    }
    cluster_run& c = cluster_of(*l.home);
    if (c.phase < l.cluster_phase) {
      l.where = stand::meeting;
      c.waiting.push_back(&l);
      return false;
    }
    for (const release_head& h : c.last) {
      if (h.reaches(i.scope, l.home->context_of(l).where)) {
        orders_.synchronize(l, h);
      }
    }
    ++l.cluster_waits;
    state_.note(l);
    l.home->machine_of(l).step_in_place(*l.state, {}, watch);
    return true;
  }

  /// Ends the current phase of a cluster's barrier if all threads have arrived.
  void finish_cluster(const block& b) {
    cluster_run& c = cluster_of(b);
    const int first = b.number - static_cast<int>(b.contexts.front().cluster_rank);
    bool some = false;
    for (int k = 0; k < static_cast<int>(b.contexts.front().cluster_blocks); ++k) {
      const block* const other = state_.by_number.at(first + k);
      if (other == nullptr) {
        return;
      }
      for (const lane& l : other->lanes) {
        some = some || l.cluster_phase > c.phase;
        if (l.where != stand::gone && l.cluster_phase <= c.phase) {
          return;
        }
      }
    }
    if (!some) {
      return;
    }
    ++c.phase;
    c.last = std::exchange(c.heads, {});
    ++state_.writes;
    for (lane* const l : std::exchange(c.waiting, {})) {
      queue_.add(*l);
    }
  }

  crew* crew_ = nullptr;  ///< null in a part of a schedule
  run_state state_;
  reporter out_{state_};
  race_detector races_{state_, out_};
  thread_order orders_{state_};
  memory_events memory_{state_, out_, races_, orders_};
  meetings meetings_{state_, out_, orders_, [this](lane& l, check::wide_value given) { go_on(l, given); }};
  thread_queue queue_;
  bool fenced_ = false;  ///< whether the last event was a `fence.sc` with a scope wider than a block
  std::uint64_t parts_ = 0;
  std::uint64_t most_nodes_of_parts_ = 0;
  const private_pages* pages_ = nullptr;  ///< only in a part of a schedule
  std::uint64_t most_instructions_ = state_.how.most_instructions;
  std::uint64_t last_instruction_ = ~std::uint64_t{0};
  check::stack_arena arena_{};
  asynchronous_operations copies_{state_, out_, races_, orders_, arena_};
  std::uint64_t at_once_ = 8;  ///< the number of blocks of a launch that run at once
  std::uint64_t turns_ = 0;
  std::unordered_map<block*, std::unique_ptr<block>> running_{};
  std::vector<std::unique_ptr<block>> free_{};
  std::vector<std::unique_ptr<block>> kept_{};
  std::vector<lane*> spinning_{};
  std::vector<lane*> waiting_{};                     ///< threads that wait for other launches
  std::unordered_map<int, cluster_run> clusters_{};  ///< by the index of the cluster's first block
};

/// The memory at the end of a schedule, for the check of the final state.
class memory_at_end final : public check::final_memory {
 public:
  explicit memory_at_end(run_state& state) : state_(state) {}
  [[nodiscard]] std::uint64_t value(std::uint64_t address, int bytes) const override { return whole(address, bytes).low; }
  [[nodiscard]] bool is_unknown(std::uint64_t address, int bytes) const override { return whole(address, bytes).unknown; }
  [[nodiscard]] const check::graph& execution() const noexcept override { return none_; }

 private:
  [[nodiscard]] check::wide_value whole(std::uint64_t address, int bytes) const {
    const object* const o = state_.find(address, static_cast<std::uint64_t>(bytes));
    return o == nullptr ? check::wide_value{} : o->value(address, static_cast<unsigned>(bytes));
  }
  run_state& state_;
  check::graph none_{};
};

std::vector<sanitizer_finding> findings_of(schedule_run& one, const check::check_property& property,
                                           sanitize_statistics& counts) {
  one.run();
  if (one.is_whole() && property) {
    if (const check::violation broken = property(memory_at_end(one.state())); !broken.empty()) {
      one.out().add(check_status::violated, broken.text(), broken.rule);
    }
  }
  counts.schedules = 1;
  counts.instructions = one.state().instructions;
  counts.accesses = one.state().accesses_made;
  counts.clock_bytes = (clock::nodes() + one.most_nodes_of_parts()) * clock::node_bytes;
  counts.parts = one.parts();
  return one.out().take();
}

}  // namespace

std::vector<sanitizer_finding> run_schedule(const check::program& p, const std::vector<check::planned_launch>& launches,
                                            program_code& code, const check::check_property& property, std::uint64_t seed,
                                            const sanitize_options& options, crew& all, sanitize_statistics& counts) {
  schedule_run one(p, launches, code, seed, options, all);
  return findings_of(one, property, counts);
}

check::replayed_schedule schedule_of(const check::program& p, const std::vector<check::planned_launch>& launches,
                                     const check::check_property& property, const sanitizer_finding& f,
                                     const sanitize_options& options) {
  crew alone;
  program_code code;
  schedule_run one(p, launches, code, f.seed, options, alone);
  recorded_schedule recorded{f.key, {}};
  one.record(recorded);
  if (f.polls) {
    one.end_after(f.last_change);  // the steps after the last change are removed below
  }
  sanitize_statistics counts;
  static_cast<void>(findings_of(one, property, counts));
  if (f.polls && recorded.last_change == one.state().last_change) {  // otherwise the last step is the last change
    recorded.steps.resize(recorded.changes);
  }
  check::replayed_schedule result{std::move(recorded.steps), f.polls ? check_status::hang : f.found.status, {}};
  std::erase_if(result.steps, [](const auto& s) { return s.thread == no_thread; });
  const auto number = [&](int t) { return model::at(f.found.whole->threads, t).number_in_program; };
  for (const check::trace_event& e : f.found.events) {
    result.places.push_back({number(e.thread), f.found.status == check_status::race ? e.at->line : 0});
  }
  if (f.found.thread >= 0) {
    result.places.push_back({number(f.found.thread), 0});
  }
  return result;
}

std::uint64_t resident_blocks(const check::planned_launch& launch, const device_limits& device) {
  if (launch.request.host) {
    return 1;
  }
  std::uint64_t shared = 1024;  // the amount that CUDA reserves in each block
  for (const auto& [variable, offset] : launch.request.kernel->shared) {
    shared += variable.bytes;
  }
  shared += launch.request.dynamic_shared;
  const std::uint64_t warps = (launch.block_size + 31) / 32;
  const std::uint64_t each = std::min({device.blocks, device.threads / (32 * warps), device.shared_bytes / shared});
  return std::max<std::uint64_t>(each * device.multiprocessors, 1);
}

}  // namespace membar::sanitize
