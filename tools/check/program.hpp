// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
/// @file
/// What is explored, and what an exploration finds.
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
  std::vector<std::uint8_t> initial{};  ///< shorter than the object: zeros follow
  bool host = false;                    ///< the scenario says that it is in host memory
  ptx_type type = ptx_type::none;       ///< of its elements, as the scenario or the module declares it
  /// Bytes that begin as data which is not followed.
  struct range {
    std::uint64_t offset = 0;
    std::uint64_t bytes = 0;
  };
  std::vector<range> unknown{};  ///< by offset

  /// Whether the initial value of a byte is unknown.
  [[nodiscard]] bool is_unknown(std::uint64_t offset) const noexcept {
    const auto behind = std::upper_bound(unknown.begin(), unknown.end(), offset,
                                         [](std::uint64_t at, const range& r) { return at < r.offset; });
    return behind != unknown.begin() && offset - std::prev(behind)->offset < std::prev(behind)->bytes;
  }
};

/// What a scenario assumes of the hardware or accepts of its program, in addition to what the PTX ISA says.
struct assumptions {
  /// Bytes whose accesses count as at least relaxed, at system scope.
  struct range {
    std::uint64_t address = 0;
    std::uint64_t bytes = 0;
  };
  bool shuffle_orders = false;            ///< shuffles, votes, matches and `redux` order memory as `bar.warp.sync` does
  bool same_value_writes = false;         ///< a write of the value that is there, or that another one writes, is not a race
  bool kernel_boundary_acquires = false;  ///< the end of a kernel is a fence that acquires, at system scope
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
  std::vector<std::vector<int>> launches_before;  ///< per launch: those that have ended before it begins
  std::vector<bool> dependent{};  ///< per launch: it begins before those have ended, as a programmatic dependent launch
  bool fragment = false;          ///< a litmus test: pieces of kernels, which do not end where their threads do
  assumptions assumed{};
  bool copies = false;   ///< at the end of `threads` is what performs asynchronous operations
  bool excerpt = false;  ///< `threads` are some of a program's threads, and have their numbers in it
};

/// How an exploration ended.
enum class check_status : std::uint8_t {
  verified,       ///< every execution was explored, and none breaks a rule
  race,           ///< two conflicting accesses that are neither morally strong nor ordered
  violated,       ///< the final condition does not hold, or a thread has trapped
  hang,           ///< threads wait and nothing can end that
  uninitialised,  ///< a read of memory that nothing was written to
  out_of_bounds,  ///< an access outside of every object, or one that is not aligned
  undefined,      ///< behaviour that PTX or CUDA leaves undefined: a barrier, a lifetime, a mask, a state-space window
  gave_up         ///< something was cut or is not supported: unexplored executions may be wrong
};

/// The status in words.
[[nodiscard]] constexpr const char* name(check_status status) noexcept {
  constexpr const char* names[] = {"verified",      "race",          "violated",  "hang",
                                   "uninitialised", "out of bounds", "undefined", "gave up"};
  return names[static_cast<std::size_t>(status)];
}

/// One event of an execution that breaks a rule, in words.
struct trace_event {
  int thread = 0;
  int number = 0;
  const instruction* at = nullptr;
  std::string what;  ///< "reads 1 from flag, written by thread 0 event 1"
  bool blamed = false;
  graph_event event{};     ///< without its pointers
  int source_thread = -1;  ///< a read's source; -1: the initial value, or several writes
  int source_number = -1;
};

/// What was found.
struct finding {
  check_status status = check_status::verified;
  std::string message;
  std::vector<trace_event> events;          ///< in an order in which they may have been executed
  std::vector<const instruction*> waiting;  ///< per thread: where it waits; null if it does not
  int thread = -1;  ///< to which it happened where it waits; -1: it is of several, or of an event to blame
  std::shared_ptr<const program> whole{};  ///< the program with what performs its asynchronous copies; null if it has none
};

/// The program that a finding's threads are of: `p`, or with what performs its asynchronous copies.
[[nodiscard]] inline const program& whole_program(const program& p, const finding& f) noexcept {
  return f.whole != nullptr ? *f.whole : p;
}

/// What an exploration went through.
struct check_statistics {
  std::uint64_t executions = 0;  ///< complete ones, each once
  std::uint64_t blocked = 0;     ///< ended with a thread that waits for what other executions show
  std::uint64_t events = 0;      ///< added, over all executions
  std::uint64_t buffered = 0;    ///< of the complete ones: those with load buffering
  int longest = 0;               ///< the most events of one execution
};

/// The result of `explore`.
struct check_result {
  check_status status = check_status::verified;
  finding found{};
  check_statistics counts{};
  bool load_buffering_is_open = false;        ///< some execution may be load-buffered, and those were not explored
  bool symmetric = false;                     ///< executions that equal threads in other places show were left out
  const instruction* discarded_at = nullptr;  ///< a load whose race was not reported, because its thread never uses the value
  int discarded = 0;                          ///< that thread
  std::uint64_t seed = 0;                     ///< of the random execution that showed what was found
};

/// The final memory of a complete execution.
class final_memory {
 public:
  virtual ~final_memory() = default;
  /// The value of `bytes` bytes, at most 8.
  [[nodiscard]] virtual std::uint64_t value(std::uint64_t address, int bytes) const = 0;
  /// Whether that is data that was not followed.
  [[nodiscard]] virtual bool is_unknown(std::uint64_t, int) const { return false; }
  [[nodiscard]] virtual const graph& execution() const noexcept = 0;
};

/// What must hold at the end of every complete execution: empty, or a function that returns a sentence on what does not hold.
using check_property = std::function<std::string(const final_memory&)>;

/// In which order the threads of an execution had their events, up to something that was found: an exploration can follow it. Every read of it
/// reads the newest write.
struct replayed_schedule {
  struct step {
    int thread = 0;
    int operation = -1;        ///< if not -1: the thread's asynchronous operation of this number is performed
    std::uint64_t chosen = 0;  ///< what a thread is given whose next instruction an unknown value decides about
  };
  struct place {
    int thread = 0;
    int line = 0;  ///< of the instruction in the PTX; 0: any
  };

  std::vector<step> steps{};
  check_status status = check_status::race;  ///< what was found; a replay passes over everything else
  std::vector<place> places{};               ///< of what was found: of a race both; none: any

  [[nodiscard]] bool is_at(int thread, int line) const noexcept {
    bool found = places.empty();
    for (const place& p : places) {
      found = found || (p.thread == thread && (p.line == line || p.line == 0 || line == 0));
    }
    return found;
  }
};

/// How far an exploration goes.
struct check_options {
  std::uint64_t most_events = 200'000'000;        ///< added over all executions, before it gives up
  int most_events_of_one = 2'000;                 ///< in one execution
  bool load_buffering = true;                     ///< explore load buffering where it is not ruled out
  std::uint64_t most_buffered_steps = 2'000'000;  ///< of that exploration, before it gives up
  /// Of executions that differ by an exchange of equal threads (symmetry.hpp) leave out what can be. Only for a property that asks for memory
  /// alone, as the final conditions of a scenario do: one that looks at the execution may distinguish equal threads.
  bool symmetry = false;
  /// Of executions that differ by the order of updates that commute (commuting_updates.hpp) explore one. Only for a property that asks for memory
  /// alone: registers that can matter to nothing hold what one order gives.
  bool merge_updates = false;
  bool cut_decided_rounds =
      true;  ///< of a loop in which threads wait together, as soon as one has brought what decides the round
  bool read_unused_once = true;         ///< explore a weak read whose value its thread never uses with one write only
  std::uint64_t random_executions = 0;  ///< if not 0: as many, with seeds from `seed` on, in place of all executions
  std::uint64_t seed = 1;
  const replayed_schedule* replayed = nullptr;  ///< if not null: the execution of this order, in place of all executions
  /// So many random executions, from `seed` on, are tried before the exploration gives up: what one of them shows is found all the same.
  std::uint64_t random_before_giving_up = 20;
  model::other_readings readings{};  ///< of what the PTX ISA leaves open: docs/readings.md
  bool name_readings = true;         ///< the message of a race says if there is none with the other side of one
  std::function<void(const check_statistics&)> progress{};  ///< called now and then with what was explored so far
  std::uint64_t most_memory = std::uint64_t{900} << 20U;
  std::uint64_t most_stack = std::uint64_t{96} << 20U;  ///< of the thread that explores, which needs a little more
};

}  // namespace membar::check
