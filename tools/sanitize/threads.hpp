// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
/// @file
/// The threads, blocks and launches of a run.
#pragma once

#include <check/event.hpp>
#include <check/launch.hpp>
#include <check/machine.hpp>
#include <check/program.hpp>
#include <check/sync_points.hpp>
#include <sanitize/clock.hpp>
#include <sanitize/fast_code.hpp>
#include <sanitize/knowledge.hpp>
#include <sanitize/memory.hpp>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <utility>
#include <vector>

namespace membar::sanitize {

struct block;

/// The state of a thread.
enum class stand : std::uint8_t {
  queued,    ///< it can continue
  meeting,   ///< it waits for others at a sync point
  spinning,  ///< it has executed one round of a loop that only reads
  waiting,   ///< it waits for launches, or for asynchronous operations
  stalled,   ///< its next step is undefined, so the schedule continues without it
  gone       ///< it has exited
};

/// Operations of a thread that may become part of a pattern with its later events.
struct thread_orders {
  /// A strong read that did not acquire what it observed.
  struct observation {
    std::uint64_t address = 0;
    release_head head{};
  };
  /// the last releasing fence of each kind and scope, including proxy fences of one direction
  std::vector<release_head> fences{};
  std::vector<observation> observed{};
  clock last_sequential{};                 ///< the state of the order of `fence.sc` when the thread last took part in it
  std::uint64_t last_sequential_head = 0;  ///< 0: it has not taken part

  void keep(release_head h) {
    const auto same = std::ranges::find_if(fences, [&](const release_head& f) { return f.is_like(h); });
    if (same != fences.end()) {
      *same = std::move(h);
    } else {
      fences.push_back(std::move(h));
    }
  }
};

/// An asynchronous operation that a thread, or several threads together, have started.
struct operation {
  static constexpr thread_time reading = 1;  ///< the time of its reads
  static constexpr thread_time writing = 2;  ///< the time of its writes

  thread_key key = 0;
  block* home = nullptr;
  std::uint16_t starter = 0;  ///< the thread that has started it, or the first of several
  std::uint32_t number = 0;   ///< the number of the instruction
  int start = 0;              ///< the number of operations that `starter` had started before
  ptx::async_group group = ptx::async_group::none;
  int starts_missing = 0;
  bool has_started = false;  ///< `known` contains the knowledge of some starter
  bool done = false;
  knowledge known{};  ///< the events that happen before it
  knowledge given{};  ///< the events that its completion passes on
  std::vector<check::copy_step> steps{};
  std::vector<std::shared_ptr<operation>> before{};  ///< earlier operations of its thread that precede it
};

/// An operation in the list of a thread that has started it.
struct started_operation {
  std::shared_ptr<operation> what{};
  std::uint32_t group = 0;  ///< the number of the group in which it was committed; 0: in none yet
};

/// A thread.
struct lane {
  block* home = nullptr;
  check::thread_state* state = nullptr;
  thread_key key = 0;
  thread_time time = 1;
  thread_time of_block = 0;  ///< the time up to which it knows all threads of its block
  stand where = stand::queued;
  std::uint16_t local = 0;  ///< its number in the block
  std::uint32_t priority = 0;
  std::uint64_t place = 0;  ///< in the queue of threads that can continue, where these have priorities
  knowledge known{};
  std::unique_ptr<thread_orders> orders{};
  std::vector<started_operation> operations{};  ///< operations that it has not waited for
  std::array<std::uint32_t, 8> groups{};        ///< the number of groups committed so far, by kind
  std::array<std::uint32_t, 3> together{};      ///< the number of operations started with others, by the number of threads
  check::graph_event arrival{};                 ///< its arrival at the sync point where it waits

  /// Detects a loop that only waits: a state at a loop head that recurs.
  struct loop_watch {
    std::int32_t pc = -1;
    std::uint32_t effects = 0;
    std::uint32_t visits = 0;
    std::uint32_t next = 0;
    std::uint32_t others = 0;
    std::unique_ptr<std::byte[]> copy{};
    bool has_copy = false;
  };
  loop_watch loop{};
  /// A loop head, for a recorded schedule: the first of the rounds that return to this state is kept, and one after each write.
  struct noted_head {
    std::uint32_t effects = 0;
    bool has_round = false;
    std::uint64_t writes = 0;
    std::size_t step = 0;  ///< its position in the schedule
    std::unique_ptr<std::byte[]> copy{};
  };
  std::map<std::int32_t, noted_head> noted{};
  int starts = 0;                   ///< the number of asynchronous operations started
  std::uint64_t cluster_phase = 0;  ///< the number of arrivals at the barrier of its cluster
  std::uint64_t cluster_waits = 0;  ///< the number of waits at that barrier
  std::uint64_t writes_seen = 0;    ///< the number of writes when it began to wait
};

static_assert(sizeof(lane) + sizeof(thread_orders) + sizeof(check::thread_context) + sizeof(check::machine) +
                      sizeof(check::thread_state) <=
                  2048,
              "a thread takes at most 2 KiB in addition to its registers");

/// A sync point at which threads wait.
struct meeting_point {
  std::uint64_t number = 0;
  int warp = -1;  ///< -1: it belongs to the block
  std::vector<int> arrived{};
  std::array<std::uint32_t, 32> lanes{};  ///< of each warp, those that have arrived

  void add(int thread) {
    arrived.push_back(thread);
    lanes[static_cast<std::size_t>(thread / 32)] |= bit_of(thread);
  }
  [[nodiscard]] bool has(int thread) const noexcept {
    return (lanes[static_cast<std::size_t>(thread / 32)] & bit_of(thread)) != 0;
  }
  [[nodiscard]] static std::uint32_t bit_of(int thread) noexcept { return 1U << (static_cast<unsigned>(thread) % 32U); }
};

struct launch_run;

/// A running block.
struct block {
  launch_run* launch = nullptr;
  int number = 0;           ///< its number among all blocks
  std::uint64_t index = 0;  ///< its index in its launch
  thread_key first_key = 0;
  int alive = 0;
  int left = 0;
  bool launched_dependents = false;
  bool has_heard = false;  ///< some thread of it has read a value that another block has written
  knowledge at_end{};      ///< the knowledge of its threads that have exited
  std::vector<check::thread_context> contexts{};
  std::vector<check::machine> machines{};
  std::unique_ptr<check::sync_points> points{};
  std::vector<lane> lanes{};
  std::unique_ptr<std::byte[]> states{};
  std::vector<check::memory_object> described{};
  std::vector<object> shared{};
  std::vector<meeting_point> meetings{};
  /// Operations that several threads start, by the first of these threads and their number, as in `check::starter_counts`.
  std::map<std::pair<int, int>, std::vector<std::shared_ptr<operation>>> together{};

  [[nodiscard]] object* find(std::uint64_t address, std::uint64_t bytes) noexcept {
    for (object& o : shared) {
      if (o.holds(address, bytes)) {
        return &o;
      }
    }
    return nullptr;
  }
  [[nodiscard]] const check::machine& machine_of(const lane& l) const noexcept { return machines[l.local]; }
  [[nodiscard]] const check::thread_context& context_of(const lane& l) const noexcept { return contexts[l.local]; }
};

/// A launch in a run.
struct launch_run {
  const check::planned_launch* plan = nullptr;
  thread_key first_key = 0;
  int first_thread = 0;  ///< its index among all threads
  std::uint32_t keys_of_block = 16;
  std::uint32_t first_access = 0;  ///< the number of its kernel's first instruction
  std::uint64_t started = 0;       ///< the number of blocks started
  std::uint64_t until = 0;  ///< the first block that is not started: the number of blocks, unless this is a part of a run
  std::uint64_t ended = 0;
  std::uint64_t launching = 0;  ///< the number of blocks that have ended or launched the dependents
  std::shared_ptr<const check::register_use> registers{};
  std::shared_ptr<const std::vector<fast_instruction>> fast{};
  knowledge begin{};  ///< the knowledge with which all threads begin
  knowledge end{};    ///< the knowledge of all threads that have ended
  clock last_end{};   ///< the knowledge of the last thread that has ended
  bool has_begin = false;
  bool in_parts = false;  ///< its blocks run in parts, as they have not communicated so far

  [[nodiscard]] bool is_over() const noexcept { return ended == plan->blocks; }
};

}  // namespace membar::sanitize
