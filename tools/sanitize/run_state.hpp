// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
/// @file
/// The state that all components of a run share: its program, its memory and threads, and its findings.
#pragma once

#include <check/async_copies.hpp>
#include <check/graph.hpp>
#include <check/program.hpp>
#include <check/trace.hpp>
#include <membar/model/array.hpp>
#include <sanitize/memory.hpp>
#include <sanitize/program_code.hpp>
#include <sanitize/sanitize.hpp>
#include <sanitize/threads.hpp>

#include <algorithm>
#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

namespace membar::sanitize {

using check::check_status;

/// The random numbers of a schedule.
class random_source {
 public:
  explicit random_source(std::uint64_t seed) noexcept : state_(seed * 0x9e3779b97f4a7c15U + 0x632be59bd9b4e019U) {}
  [[nodiscard]] std::uint64_t next() noexcept {  // splitmix64
    std::uint64_t z = (state_ += 0x9e3779b97f4a7c15U);
    z = (z ^ (z >> 30U)) * 0xbf58476d1ce4e5b9U;
    z = (z ^ (z >> 27U)) * 0x94d049bb133111ebU;
    return z ^ (z >> 31U);
  }
  [[nodiscard]] std::uint64_t below(std::uint64_t n) noexcept { return n == 0 ? 0 : next() % n; }

 private:
  std::uint64_t state_;
};

/// The author of an access: a thread or one of its asynchronous operations.
struct actor {
  const launch_run* launch = nullptr;
  std::uint64_t index = 0;  ///< the index of the block in its launch
  std::uint64_t local = 0;
  bool copy = false;
};

/// An asynchronous operation that a thread has started.
struct started_copy {
  thread_key starter = 0;
  int bytes_read = 0;
  int bytes_written = 0;
};

/// The order of a run's events up to a finding.
struct recorded_schedule {
  std::uint64_t until = 0;  ///< the key of the finding
  std::vector<check::replayed_schedule::step> steps{};
  std::size_t changes = 0;        ///< the number of steps up to the last one that changed memory
  std::uint64_t last_change = 0;  ///< the value of `run_state::last_change` at the last step
};

/// Assigns numbers to the instructions of all kernels. Stamps identify an instruction by its number.
struct numbered_instructions {
  explicit numbered_instructions(const check::program& p) {
    for (const auto& kernel : p.kernels) {
      first[kernel.get()] = static_cast<std::uint32_t>(all.size());
      for (const check::instruction& i : kernel->code) {
        all.push_back(&i);
      }
    }
  }
  std::unordered_map<const check::kernel_code*, std::uint32_t> first{};
  std::vector<const check::instruction*> all{};
};

/// The running blocks, by their numbers among the blocks of all launches.
class block_table {
 public:
  block_table() = default;
  block_table(int first, int count) : first_(first), blocks_(static_cast<std::size_t>(count), nullptr) {}
  /// Returns the block with this number, or null if it is not running.
  [[nodiscard]] block* at(std::int64_t number) const noexcept {
    const auto k = static_cast<std::uint64_t>(number - first_);
    return k < blocks_.size() ? blocks_[static_cast<std::size_t>(k)] : nullptr;
  }
  void set(int number, block* b) { blocks_.at(static_cast<std::size_t>(number - first_)) = b; }

 private:
  int first_ = 0;
  std::vector<block*> blocks_{};
};

/// The blocks of a launch that a part of a run executes.
struct part_blocks {
  int launch = 0;
  std::uint64_t first = 0;
  std::uint64_t end = 0;
};

struct run_state {
  run_state(const check::program& p, const std::vector<check::planned_launch>& plans, program_code& analysed,
            std::uint64_t seed, const sanitize_options& options)
      : checked(p),
        code(analysed),
        how(options),
        random(seed),
        schedule(seed),
        memory(p.memory),
        numbered(std::make_shared<const numbered_instructions>(p)) {
    std::uint64_t keys = 16;
    int blocks = 0;
    int threads = 0;
    for (const check::planned_launch& plan : plans) {
      launch_run& l = launches.emplace_back();
      l.plan = &plan;
      while (l.keys_of_block < plan.block_size) {
        l.keys_of_block *= 2;
      }
      keys = check::aligned(keys, l.keys_of_block);
      l.first_key = static_cast<thread_key>(keys);
      l.first_thread = threads;
      threads += static_cast<int>(plan.blocks * plan.block_size);
      keys += plan.blocks * l.keys_of_block;
      blocks = std::max(blocks, plan.first_block + static_cast<int>(plan.blocks));
      wide = wide || check::starts_copies(*plan.request.kernel);
    }
    first_copy = next_copy = static_cast<thread_key>(keys);
    constexpr std::uint64_t most_copies = std::uint64_t{1} << 24U;
    clock::use_levels(clock::levels_for(keys + (wide ? most_copies : 0)));
    has_mbarriers = std::any_of(numbered->all.begin(), numbered->all.end(),
                                [](const check::instruction* i) { return i->mbarrier == check::mbarrier_op::init; });
    by_number = block_table(0, blocks);
    for (launch_run& l : launches) {
      l.first_access = numbered->first.at(l.plan->request.kernel.get());
      l.until = l.plan->blocks;
    }
  }

  /// Creates a part of the run `whole`, which executes some blocks of a launch with its own seed. The part reads `whole` and
  /// does not change it.
  run_state(run_state& whole, std::uint64_t seed, const part_blocks& of, private_pages& pages)
      : checked(whole.checked),
        code(whole.code),
        how(whole.how),
        random(seed),
        schedule(whole.schedule),
        memory(whole.memory, pages),
        numbered(whole.numbered),
        has_mbarriers(whole.has_mbarriers),
        first_copy(whole.first_copy),
        next_copy(whole.next_copy),
        is_part(true) {
    for (const launch_run& theirs : whole.launches) {
      launch_run& l = launches.emplace_back();
      l.plan = theirs.plan;
      l.first_key = theirs.first_key;
      l.first_thread = theirs.first_thread;
      l.keys_of_block = theirs.keys_of_block;
      l.first_access = theirs.first_access;
      l.has_begin = true;
    }
    const launch_run& theirs = whole.launches[static_cast<std::size_t>(of.launch)];
    launch_run& l = launches[static_cast<std::size_t>(of.launch)];
    l.code = theirs.code;
    l.begin = theirs.begin;
    l.started = l.ended = of.first;
    l.until = of.end;
    by_number = block_table(l.plan->first_block + static_cast<int>(of.first), static_cast<int>(of.end - of.first));
  }

  /// Returns whether the events in `known` may precede the end of the launches before a programmatic dependent launch.
  [[nodiscard]] bool is_early(int launch, const knowledge& known) const {
    const auto number = static_cast<std::size_t>(launch);
    const std::vector<int>& before = checked.launches_before[number];
    return checked.dependent[number] && !std::all_of(before.begin(), before.end(), [&](int k) {
             return known.base.covers(launches[static_cast<std::size_t>(k)].first_key, end_of_time);
           });
  }

  /// Returns the number that stamps use to identify an instruction.
  [[nodiscard]] std::uint32_t number_of(const check::kernel_code& kernel, std::int32_t pc) const {
    return numbered->first.at(&kernel) + static_cast<std::uint32_t>(pc);
  }

  [[nodiscard]] object* find(std::uint64_t address, std::uint64_t bytes) noexcept {
    if (address < check::shared_window) {
      return memory.find(address, bytes);
    }
    const std::uint64_t window = address >= check::tensor_window ? check::tensor_window : check::shared_window;
    block* const b = by_number.at(static_cast<std::int64_t>((address - window) >> 32U));
    return b == nullptr ? nullptr : b->find(address, bytes);
  }

  [[nodiscard]] actor actor_of(thread_key key) const {
    if (key >= first_copy) {
      actor a = actor_of(copies[key - first_copy].starter);
      a.copy = true;
      return a;
    }
    const auto after = std::upper_bound(launches.begin(), launches.end(), key,
                                        [](thread_key k, const launch_run& l) { return k < l.first_key; });
    const launch_run& l = *std::prev(after);
    return {&l, (key - l.first_key) / l.keys_of_block, (key - l.first_key) % l.keys_of_block};
  }
  [[nodiscard]] check::thread_context context_of(const actor& a) const {
    check::thread_context c = check::context_of(*a.launch->plan, a.index, a.local);
    c.number_in_program = a.launch->first_thread + static_cast<int>(a.index * a.launch->plan->block_size + a.local);
    return c;
  }
  /// Returns the place of a thread, without the data that is needed only for thread names.
  [[nodiscard]] model::place place_of(thread_key key) const {
    const actor a = actor_of(key);
    const check::launch_request& r = a.launch->plan->request;
    model::place result;
    result.gpu = r.device;
    result.domain = r.domain;
    result.host = r.host;
    result.block = a.launch->plan->first_block + static_cast<int>(a.index);
    result.cluster = r.cluster > 0 ? a.launch->plan->first_block + static_cast<int>(a.index) / r.cluster : -1;
    result.warp = static_cast<int>(a.local / 32);
    return result;
  }

  /// Records an event of a thread if the schedule is being recorded.
  void note(const lane& l, std::uint64_t chosen = 0, int operation = -1) {
    if (recorded != nullptr) {
      if (recorded->last_change != last_change) {
        recorded->last_change = last_change;
        recorded->changes = recorded->steps.size();
      }
      recorded->steps.push_back({number_of(l), operation, chosen});
    }
  }
  /// Returns the thread's number among the threads of all launches.
  [[nodiscard]] static int number_of(const lane& l) {
    const launch_run& of = *l.home->launch;
    return of.first_thread + static_cast<int>(l.home->index * of.plan->block_size) + l.local;
  }

  /// Discards the last event, unless that event produced the wanted finding.
  void forget_last() {
    if (recorded != nullptr && !stopped) {
      recorded->steps.pop_back();
    }
  }

  /// Stops one thread because its next step is undefined. The other threads continue: the result is an execution in which this
  /// thread has not been scheduled again yet.
  void stall(lane& l) noexcept {
    l.where = stand::stalled;
    stalled = true;
  }
  /// Stops the schedule because the rest of the execution is undefined.
  void stop() noexcept { stopped = true; }

  const check::program& checked;  ///< the memory, kernels and assumptions; the program contains no threads
  program_code& code;
  const sanitize_options& how;
  random_source random;
  std::uint64_t schedule;
  global_memory memory;
  std::deque<launch_run> launches{};
  block_table by_number{};
  std::shared_ptr<const numbered_instructions> numbered;
  std::unordered_map<std::uint64_t, sync_cell> cells{};
  std::vector<std::uint64_t>
      dropped_cells{};         ///< in a part: addresses at which the part has erased the `sync_cell` of an earlier strong write
  bool wide = false;           ///< whether a kernel starts asynchronous operations
  bool has_mbarriers = false;  ///< whether a kernel initializes an mbarrier
  thread_key first_copy = 0;
  thread_key next_copy = 0;
  std::vector<started_copy> copies{};  ///< the asynchronous operations; the first one has the key `first_copy`
  std::uint64_t instructions = 0;
  std::uint64_t accesses_made = 0;
  std::uint64_t writes = 0;       ///< the number of writes and other events that may end a wait
  std::uint64_t last_change = 0;  ///< the value of `instructions` when memory last changed or a thread last exited
  std::uint64_t serials = 0;
  recorded_schedule* recorded = nullptr;
  bool stopped = false;
  bool stalled = false;  ///< whether a thread is stalled
  bool is_part = false;
};

}  // namespace membar::sanitize
