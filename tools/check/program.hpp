// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
/// @file
/// The input of an exploration and its findings.
#pragma once

#include <check/event.hpp>
#include <check/thread_context.hpp>
#include <membar/model/rules.hpp>
#include <ptx/decode.hpp>
#include <ptx/instruction.hpp>

#include <algorithm>
#include <cstdint>
#include <functional>
#include <iterator>
#include <memory>
#include <string>
#include <vector>

namespace membar::check {

using namespace ptx;

struct graph;

/// An object of memory.
struct memory_object {
  std::string name;
  std::uint64_t address = 0;
  std::uint64_t bytes = 0;
  bool initialised = true;
  bool constant = false;
  std::vector<std::uint8_t> initial{};  ///< if it is shorter than the object, zeros follow
  bool host = false;                    ///< whether the scenario says that it is in host memory
  ptx_type type = ptx_type::none;       ///< the type of its elements, as the scenario or the module declares it
  /// Bytes whose initial values are not tracked.
  struct range {
    std::uint64_t offset = 0;
    std::uint64_t bytes = 0;
  };
  std::vector<range> unknown{};  ///< by offset

  /// Returns whether the initial value of a byte is unknown.
  [[nodiscard]] bool is_unknown(std::uint64_t offset) const noexcept {
    const auto behind = std::upper_bound(unknown.begin(), unknown.end(), offset,
                                         [](std::uint64_t at, const range& r) { return at < r.offset; });
    return behind != unknown.begin() && offset - std::prev(behind)->offset < std::prev(behind)->bytes;
  }
};

/// The assumptions of a scenario about the hardware, and the behaviour of its program that it accepts, in addition to the PTX
/// ISA.
struct assumptions {
  /// Bytes whose accesses count as at least relaxed at system scope.
  struct range {
    std::uint64_t address = 0;
    std::uint64_t bytes = 0;
  };
  bool shuffle_orders = false;  ///< shuffles, votes, matches and `redux` order memory like `bar.warp.sync`
  /// a write of the current value, or of the value that another write stores, is not a race
  bool same_value_writes = false;
  bool kernel_boundary_acquires = false;  ///< the end of a kernel is a fence that acquires at system scope
  std::vector<range> accepted_races{};

  [[nodiscard]] bool accepts(std::uint64_t address) const noexcept {
    for (const range& r : accepted_races) {
      if (address >= r.address && address - r.address < r.bytes) {
        return true;
      }
    }
    return false;
  }
};

/// Threads with their code and arguments, and the memory they share.
struct program {
  std::vector<std::shared_ptr<const kernel_code>> kernels;
  std::vector<thread_context> threads;
  std::vector<memory_object> memory;
  std::vector<std::vector<int>> launches_before;  ///< per launch: the launches that have ended before it begins
  std::vector<bool> dependent{};  ///< per launch: it begins before those have ended, as a programmatic dependent launch
  bool fragment = false;          ///< a litmus test: fragments of kernels, which do not end where their threads do
  assumptions assumed{};
  bool copies = false;   ///< the last elements of `threads` perform asynchronous operations
  bool excerpt = false;  ///< `threads` are some of a program's threads, with their original numbers
};

/// The result of an exploration.
enum class check_status : std::uint8_t {
  verified,       ///< every execution was explored, and none breaks a rule
  race,           ///< two conflicting accesses that are neither morally strong nor ordered
  violated,       ///< the final condition does not hold, or a thread has trapped
  hang,           ///< threads wait, and no other thread can end their wait
  uninitialised,  ///< a read of memory that was never written
  out_of_bounds,  ///< an access outside of every object, or one that is not aligned
  undefined,      ///< behaviour that PTX or CUDA leaves undefined: a barrier, a lifetime, a mask, a state-space window
  gave_up         ///< the exploration was cut short, or something is not supported: unexplored executions may be wrong
};

/// Returns the status in words.
[[nodiscard]] constexpr const char* name(check_status status) noexcept {
  constexpr const char* names[] = {"verified",      "race",          "violated",  "hang",
                                   "uninitialised", "out of bounds", "undefined", "gave up"};
  return names[static_cast<std::size_t>(status)];
}

/// One event, in words, of an execution that breaks a rule.
struct trace_event {
  int thread = 0;
  int number = 0;
  const instruction* at = nullptr;
  std::string what;  ///< "reads 1 from flag, written by thread 0 event 1"
  bool blamed = false;
  graph_event event{};     ///< without its pointers
  int source_thread = -1;  ///< the thread of a read's source; -1: the initial value, or several writes
  int source_number = -1;
};

/// A finding.
struct finding {
  check_status status = check_status::verified;
  std::string message;
  std::vector<trace_event> events;          ///< in an order in which they may have been executed
  std::vector<const instruction*> waiting;  ///< per thread: the instruction at which it waits; null if it does not
  int thread = -1;  ///< the thread of the finding if it has a position; -1: several threads, or an event to blame
  /// the program including the threads that perform its asynchronous copies; null if it has none
  std::shared_ptr<const program> whole{};
};

/// Returns the program of a finding's threads: `p`, or the version with the threads that perform its asynchronous copies.
[[nodiscard]] inline const program& whole_program(const program& p, const finding& f) noexcept {
  return f.whole != nullptr ? *f.whole : p;
}

/// The statistics of an exploration.
struct check_statistics {
  std::uint64_t executions = 0;  ///< complete executions, each counted once
  std::uint64_t blocked = 0;     ///< executions that ended with a thread waiting for something that other executions show
  std::uint64_t events = 0;      ///< the events added in all executions
  std::uint64_t buffered = 0;    ///< the complete executions with load buffering
  int longest = 0;               ///< the largest number of events in one execution
};

/// The result of `explore`.
struct check_result {
  check_status status = check_status::verified;
  finding found{};
  check_statistics counts{};
  /// whether some execution may have load buffering and those executions were not explored
  bool load_buffering_is_open = false;
  /// whether executions were omitted that differ only by a permutation of equal threads
  bool symmetric = false;
  const instruction* discarded_at = nullptr;  ///< a load whose race was not reported, because its thread never uses the value
  int discarded = 0;                          ///< the thread of that load
  std::uint64_t seed = 0;                     ///< the seed of the random execution that showed the finding
};

/// The final memory of a complete execution.
class final_memory {
 public:
  virtual ~final_memory() = default;
  /// Returns the value of `bytes` bytes, at most 8.
  [[nodiscard]] virtual std::uint64_t value(std::uint64_t address, int bytes) const = 0;
  /// Returns whether it is data that was not tracked.
  [[nodiscard]] virtual bool is_unknown(std::uint64_t, int) const { return false; }
  [[nodiscard]] virtual const graph& execution() const noexcept = 0;
};

/// The property that must hold at the end of every complete execution: empty, or a function that returns a sentence if it does
/// not hold.
using check_property = std::function<std::string(const final_memory&)>;

/// The order in which the threads of an execution had their events, up to a finding, so that an exploration can follow it.
/// Every read in it reads the newest write.
struct replayed_schedule {
  struct step {
    int thread = 0;
    int operation = -1;        ///< if not -1: the thread's asynchronous operation with this number is performed
    std::uint64_t chosen = 0;  ///< the value that a thread gets if an unknown value decides its next instruction
  };
  struct place {
    int thread = 0;
    int line = 0;  ///< the line of the instruction in the PTX; 0: any
  };

  std::vector<step> steps{};
  check_status status = check_status::race;  ///< the status of the finding; a replay ignores all others
  std::vector<place> places{};               ///< the places of the finding, two for a race; empty: any

  [[nodiscard]] bool is_at(int thread, int line) const noexcept {
    bool found = places.empty();
    for (const place& p : places) {
      found = found || (p.thread == thread && (p.line == line || p.line == 0 || line == 0));
    }
    return found;
  }
};

/// The limits and options of an exploration.
struct check_options {
  std::uint64_t most_events = 200'000'000;        ///< added in all executions before it gives up
  int most_events_of_one = 2'000;                 ///< in one execution
  bool load_buffering = true;                     ///< explore load buffering where it is not ruled out
  std::uint64_t most_buffered_steps = 2'000'000;  ///< for that exploration before it gives up
  /// Omits executions that differ only by a permutation of equal threads (symmetry.hpp), where possible. This is valid only for
  /// a property that depends only on memory, like the final conditions of a scenario: a property that examines the execution
  /// may distinguish equal threads.
  bool symmetry = false;
  /// Explores only one of the executions that differ by the order of commuting updates (commuting_updates.hpp). This is valid
  /// only for a property that depends only on memory: registers that are never needed hold the values of one order.
  bool merge_updates = false;
  /// of a loop in which threads wait together, as soon as one of them has brought the value that decides the iteration
  bool cut_decided_rounds = true;
  bool read_unused_once = true;  ///< explores a weak read whose value its thread never uses with only one write
  /// if not 0: explores this number of random executions, with seeds starting at `seed`, instead of all executions
  std::uint64_t random_executions = 0;
  std::uint64_t seed = 1;
  /// if not null: explores the execution with this order instead of all executions
  const replayed_schedule* replayed = nullptr;
  /// Tries this number of random executions, starting at `seed`, before the exploration gives up, so that a finding in one of
  /// them is still reported.
  std::uint64_t random_before_giving_up = 20;
  model::other_readings readings{};  ///< for the ambiguities of the PTX ISA: docs/readings.md
  /// whether the message of a race says that there is none under the alternative of a reading
  bool name_readings = true;
  std::function<void(const check_statistics&)> progress{};  ///< called from time to time with the statistics so far
  std::uint64_t most_memory = std::uint64_t{900} << 20U;
  std::uint64_t most_stack = std::uint64_t{96} << 20U;  ///< for the thread that explores, which needs slightly more
};

}  // namespace membar::check
