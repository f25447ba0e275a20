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
#include <sanitize/knowledge.hpp>
#include <sanitize/memory.hpp>
#include <sanitize/program_code.hpp>

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
  queued,    ///< the thread can continue
  meeting,   ///< the thread waits for others at a sync point
  spinning,  ///< the thread has executed one round of a loop that changes nothing
  waiting,   ///< the thread waits for launches, or for asynchronous operations
  stalled,   ///< the thread's next step is undefined, so the schedule continues without it
  gone       ///< the thread has exited
};

/// Operations of a thread that may form a pattern with its later events.
struct thread_orders {
  /// A strong read that did not acquire what it observed.
  struct observation {
    std::uint64_t address = 0;
    release_head head{};
  };
  /// the last releasing fence of each kind and scope; one-directional proxy fences are included
  std::vector<release_head> fences{};
  std::vector<observation> observed{};
  clock last_sequential{};                 ///< the state of the order of `fence.sc` operations at the thread's last `fence.sc`
  std::uint64_t last_sequential_head = 0;  ///< 0 if the thread has not executed a `fence.sc`

  void keep(release_head h) {
    const auto same = std::ranges::find_if(fences, [&](const release_head& f) { return f.is_like(h); });
    if (same != fences.end()) {
      *same = std::move(h);
    } else {
      fences.push_back(std::move(h));
    }
  }
};

/// An asynchronous operation that one thread, or several threads together, have started.
struct operation {
  static constexpr thread_time reading = 1;  ///< the time of its reads
  static constexpr thread_time writing = 2;  ///< the time of its writes

  thread_key key = 0;
  block* home = nullptr;
  std::uint16_t starter = 0;  ///< the thread that has started it, or the first of them if there are several
  std::uint32_t number = 0;   ///< the number of the instruction
  int start = 0;              ///< the number of operations that `starter` had started before this one
  ptx::async_group group = ptx::async_group::none;
  int starts_missing = 0;
  bool has_started = false;  ///< whether a thread has started it; `known` then contains that thread's knowledge
  bool done = false;
  knowledge known{};  ///< the events that happen before the operation
  knowledge given{};  ///< the events that the operation's completion passes on
  std::vector<check::copy_step> steps{};
  /// earlier operations of the same thread that may have to be performed first
  std::vector<std::shared_ptr<operation>> before{};
};

/// An operation in the list of a thread that has started it.
struct started_operation {
  std::shared_ptr<operation> what{};
  std::uint32_t group = 0;  ///< the number of the group in which the operation was committed; 0 if it is not yet committed
};

/// A thread and its state.
struct lane {
  block* home = nullptr;
  check::thread_state* state = nullptr;
  thread_key key = 0;
  thread_time time = 1;
  thread_time of_block = 0;  ///< the events of the block's threads up to this time happen before the thread's next event
  stand where = stand::queued;
  std::uint16_t local = 0;  ///< the thread's number in its block
  std::uint32_t priority = 0;
  std::uint64_t place = 0;  ///< with priorities: the thread's place in the queue of threads that can continue
  knowledge known{};
  std::unique_ptr<thread_orders> orders{};
  std::vector<started_operation> operations{};  ///< operations for which the thread has not yet waited
  std::array<std::uint32_t, 8> groups{};        ///< the number of groups committed so far, by kind
  /// for each number of starting threads, the number of operations that the thread has started together with others
  std::array<std::uint32_t, 3> together{};
  check::graph_event arrival{};  ///< the thread's arrival at the sync point where it waits

  /// Detects a loop that only waits, by a state that recurs at the loop head.
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
  /// A loop head in a recorded schedule. The schedule keeps the first round that returns to the recorded state, and one round
  /// after each write.
  struct noted_head {
    std::uint32_t effects = 0;
    bool has_round = false;
    std::uint64_t writes = 0;
    std::size_t step = 0;  ///< the position in the schedule
    std::unique_ptr<std::byte[]> copy{};
  };
  std::map<std::int32_t, noted_head> noted{};
  int starts = 0;                   ///< the number of asynchronous operations started
  std::uint64_t cluster_phase = 0;  ///< the number of the thread's arrivals at its cluster's barrier
  std::uint64_t cluster_waits = 0;  ///< the number of the thread's waits at that barrier
  std::uint64_t writes_seen = 0;    ///< the number of writes in the run when the thread began to wait
};

static_assert(sizeof(lane) + sizeof(thread_orders) + sizeof(check::thread_context) + sizeof(check::machine) +
                      sizeof(check::thread_state) <=
                  2048,
              "a thread takes at most 2 KiB in addition to its registers");

/// A sync point at which threads wait.
struct meeting_point {
  std::uint64_t number = 0;
  int warp = -1;  ///< the warp; -1 if the sync point belongs to the whole block
  std::vector<int> arrived{};
  std::array<std::uint32_t, 32> lanes{};  ///< for each warp, a bit mask of the lanes that have arrived

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
  int number = 0;           ///< the block's number among the blocks of all launches
  std::uint64_t index = 0;  ///< the block's index in its launch
  thread_key first_key = 0;
  int alive = 0;
  int left = 0;
  bool launched_dependents = false;
  bool has_heard = false;  ///< whether a thread of the block has read a value that another block has written
  knowledge at_end{};      ///< the events that happen before the exits of the block's threads so far
  std::vector<check::thread_context> contexts{};
  std::vector<check::machine> machines{};
  std::unique_ptr<check::sync_points> points{};
  std::vector<lane> lanes{};
  std::unique_ptr<std::byte[]> states{};
  std::vector<check::memory_object> described{};
  std::vector<object> shared{};
  std::vector<meeting_point> meetings{};
  /// Operations that several threads start together, indexed by the first of these threads and the index of their number in
  /// `check::starter_counts`.
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
  int first_thread = 0;  ///< the index of its first thread among the threads of all launches
  std::uint32_t keys_of_block = 16;
  std::uint32_t first_access = 0;  ///< the number of its kernel's first instruction
  std::uint64_t started = 0;       ///< the number of blocks that have started
  /// blocks with this index or a higher one are not started; in a part of a run, this is the end of the part's blocks
  std::uint64_t until = 0;
  std::uint64_t ended = 0;
  std::uint64_t launching = 0;  ///< the number of blocks that have ended or have allowed the dependent launches to begin
  program_code::launch_code code{};
  knowledge begin{};  ///< the events that happen before the start of every thread
  knowledge end{};    ///< the events that happen before the exits of the launch's threads so far
  clock last_end{};   ///< the events that happen before the exit of the thread that exited last
  bool has_begin = false;
  bool in_parts = false;  ///< whether its blocks run in parts because they have not communicated so far

  [[nodiscard]] bool is_over() const noexcept { return ended == plan->blocks; }
};

}  // namespace membar::sanitize
