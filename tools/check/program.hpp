// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
/// @file
/// The input and the results of an exploration.
#pragma once

#include <check/event.hpp>
#include <check/thread_context.hpp>
#include <check/time_limit.hpp>
#include <membar/model/array.hpp>
#include <membar/model/rules.hpp>
#include <ptx/decode.hpp>
#include <ptx/instruction.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <iterator>
#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace membar::check {

using namespace ptx;

struct graph;

/// The text between the name of a variable in shared memory and the number of its block, in the names of memory objects.
inline constexpr const char* of_block = " of block ";

/// A memory object.
struct memory_object {
  std::string name;
  std::uint64_t address = 0;
  std::uint64_t bytes = 0;
  bool initialised = true;  ///< whether the bytes that follow `initial` are zero, and not uninitialised
  bool constant = false;
  std::vector<std::uint8_t> initial{};  ///< the first bytes
  bool host = false;                    ///< whether the scenario declares the object in host memory
  ptx_type type = ptx_type::none;       ///< the type of its elements, as declared by the scenario or the module
  /// Bytes whose initial values are not tracked.
  struct range {
    std::uint64_t offset = 0;
    std::uint64_t bytes = 0;
  };
  std::vector<range> unknown{};  ///< sorted by offset

  /// Returns whether the initial value of a byte is unknown.
  [[nodiscard]] bool is_unknown(std::uint64_t offset) const noexcept {
    const auto behind = std::upper_bound(unknown.begin(), unknown.end(), offset,
                                         [](std::uint64_t at, const range& r) { return at < r.offset; });
    return behind != unknown.begin() && offset - std::prev(behind)->offset < std::prev(behind)->bytes;
  }
};

/// A scenario's assumptions about the hardware beyond the PTX ISA, and the program behaviour that the scenario accepts.
struct assumptions {
  /// Bytes whose accesses are treated as having at least relaxed order and system scope.
  struct range {
    std::uint64_t address = 0;
    std::uint64_t bytes = 0;
    std::uint64_t blocks = 1;  ///< for shared memory: the number of successive blocks to which the range applies

    [[nodiscard]] bool contains(std::uint64_t one) const noexcept {
      const std::uint64_t offset = one - address;
      return one >= address && (blocks == 1 ? offset < bytes : offset >> 32U < blocks && (offset & 0xffffffffU) < bytes);
    }
  };
  bool shuffle_orders = false;  ///< whether shuffles, votes, matches and `redux` order memory like `bar.warp.sync`
  /// whether writing the current value, or the same value as another write, is not a race
  bool same_value_writes = false;
  bool kernel_boundary_acquires = false;  ///< whether the end of a kernel acts as an acquire fence at system scope
  std::vector<range> accepted_races{};

  [[nodiscard]] bool accepts(std::uint64_t address) const noexcept {
    return std::any_of(accepted_races.begin(), accepted_races.end(), [&](const range& r) { return r.contains(address); });
  }
};

/// Threads with their code and arguments, and the memory that they share.
struct program {
  std::vector<std::shared_ptr<const kernel_code>> kernels;
  std::vector<thread_context> threads;
  std::vector<memory_object> memory;
  std::vector<std::vector<int>> launches_before;  ///< per launch: the launches that end before it begins
  std::vector<bool> dependent{};  ///< per launch: whether it is a programmatic dependent launch, which may begin before the
                                  ///< launches in `launches_before` have ended
  bool fragment = false;          ///< whether it is a litmus test, whose kernels are fragments that do not end where the test's
                                  ///< threads end
  assumptions assumed{};
  bool copies = false;   ///< whether the last elements of `threads` perform asynchronous operations
  bool excerpt = false;  ///< whether `threads` contains only some of a program's threads, with their original numbers

  /// Returns whether launch `first` has ended before `second` begins.
  [[nodiscard]] bool ends_before(int first, int second) const {
    if (second >= model::count_of(launches_before) || dependent[static_cast<std::size_t>(second)]) {
      return false;
    }
    const std::vector<int>& before = model::at(launches_before, second);
    return std::any_of(before.begin(), before.end(), [&](int k) { return k == first || ends_before(first, k); });
  }
};

/// Returns whether a program's kernels read the time.
[[nodiscard]] inline bool reads_clock(const program& p) {
  return std::any_of(p.kernels.begin(), p.kernels.end(), [](const auto& kernel) {
    return std::any_of(kernel->code.begin(), kernel->code.end(),
                       [](const instruction& i) { return std::any_of(i.by.begin(), i.by.end(), is_clock); });
  });
}

/// The result of an exploration.
enum class check_status : std::uint8_t {
  verified,       ///< every execution was explored, and none violates a rule
  race,           ///< two conflicting accesses that are neither morally strong nor ordered
  violated,       ///< the final condition does not hold, or a thread has trapped
  hang,           ///< threads wait, and no other thread can end their wait
  uninitialised,  ///< a read of memory that was never written
  out_of_bounds,  ///< an access that is outside every object, or misaligned
  undefined,      ///< behaviour that PTX or CUDA leaves undefined, for example because of a barrier, a lifetime, a mask or a
                  ///< state-space window
  gave_up         ///< the exploration was cut short, or something is not supported; unexplored executions may contain errors
};

/// Returns the status in words.
[[nodiscard]] constexpr const char* name(check_status status) noexcept {
  constexpr const char* names[] = {"verified",      "race",          "violated",  "hang",
                                   "uninitialised", "out of bounds", "undefined", "gave up"};
  return names[static_cast<std::size_t>(status)];
}

/// A description of one event in an execution that violates a rule.
struct trace_event {
  int thread = 0;
  int number = 0;
  const instruction* at = nullptr;
  std::string what;  ///< for example "reads 1 from flag, written by thread 0 event 1"
  bool blamed = false;
  graph_event event{};     ///< the event itself, with its pointers cleared
  int source_thread = -1;  ///< the thread that wrote the value of a read; -1 for the initial value, or for several writes
  int source_number = -1;
  /// for an event at fault: the numbers of the thread's events whose results determine the address
  std::vector<int> address_events{};
  /// for a racing access of an asynchronous operation that starts before the other access: the number of events of the starting
  /// thread that precede the other access. A wait for the operation is missing among them. -1 for other events
  int unawaited_until = -1;
};

/// A violation of a rule, and the execution that shows it.
struct finding {
  check_status status = check_status::verified;
  std::string message;
  std::vector<trace_event> events;          ///< the execution's events, in a possible order
  std::vector<const instruction*> waiting;  ///< per thread: the instruction at which it waits, or null if it does not wait
  int thread = -1;  ///< the thread at whose position the finding is; -1 if several threads or blamed events show it
  /// for a race: whether synchronization orders the accesses, and only a proxy fence or a tcgen05 fence is missing between them
  bool lacks_only_fence = false;
  /// the program including the threads that perform its asynchronous copies, or null if it has no copies
  std::shared_ptr<const program> whole{};
};

/// Returns the program that a finding's thread numbers refer to: `p`, or `p` with the threads that perform its asynchronous
/// copies.
[[nodiscard]] inline const program& whole_program(const program& p, const finding& f) noexcept {
  return f.whole != nullptr ? *f.whole : p;
}

/// The statistics of an exploration.
struct check_statistics {
  std::uint64_t executions = 0;  ///< the number of complete executions, each counted once
  std::uint64_t blocked = 0;     ///< the number of executions that were abandoned while a thread waited, because other
                                 ///< executions show how the thread continues
  std::uint64_t events = 0;      ///< the number of events added in all executions
  std::uint64_t buffered = 0;    ///< the number of complete executions with load buffering
  int longest = 0;               ///< the largest number of events in one execution
};

/// A race that the scenario accepts: two accesses to the same bytes that would race if they did not count as relaxed.
struct accepted_race {
  std::uint64_t address = 0;
  int bytes = 0;
  int threads[2] = {};
  const instruction* at[2] = {};
  [[nodiscard]] friend bool operator==(const accepted_race& x, const accepted_race& y) noexcept {
    return x.address == y.address && x.bytes == y.bytes && x.at[0] == y.at[0] && x.at[1] == y.at[1];
  }
};

/// The result of `explore`.
struct check_result {
  check_status status = check_status::verified;
  finding found{};
  check_statistics counts{};
  /// whether executions with load buffering may exist and were not explored
  bool load_buffering_is_open = false;
  /// whether only one of several executions that differ by a permutation of equal threads was explored
  bool symmetric = false;
  const instruction* discarded_at = nullptr;  ///< a load whose race was not reported because its thread never uses the value
  int discarded = 0;                          ///< the thread that executes that load
  std::vector<accepted_race> accepted{};  ///< the accepted races, once for each combination of two instructions and an address
  std::uint64_t seed = 0;                 ///< the seed of the random execution that shows the finding
};

/// The memory at the end of a complete execution.
class final_memory {
 public:
  virtual ~final_memory() = default;
  /// Returns the value of `bytes` bytes at an address. `bytes` is at most 8.
  [[nodiscard]] virtual std::uint64_t value(std::uint64_t address, int bytes) const = 0;
  /// Returns whether the bytes are data whose value is not tracked.
  [[nodiscard]] virtual bool is_unknown(std::uint64_t, int) const { return false; }
  [[nodiscard]] virtual const graph& execution() const noexcept = 0;
};

/// Consecutive bytes of memory.
struct memory_range {
  std::uint64_t address = 0;
  int bytes = 0;
};

/// Returns whether two ranges have a byte in common.
[[nodiscard]] constexpr bool overlap(const memory_range& x, const memory_range& y) noexcept {
  return x.address < y.address + static_cast<std::uint64_t>(y.bytes) &&
         y.address < x.address + static_cast<std::uint64_t>(x.bytes);
}

/// Describes how the end of an execution violates a property. By default, there is no violation.
struct violation {
  std::string rule{};                 ///< a sentence that says what does not hold; empty if the property holds
  std::string values{};               ///< the values that show it; empty if they are not known
  std::vector<memory_range> wrong{};  ///< the memory whose values are wrong, if it is known

  violation() = default;
  violation(std::string broken, std::string shown = {}, std::vector<memory_range> memory = {})
      : rule(std::move(broken)), values(std::move(shown)), wrong(std::move(memory)) {}
  violation(const char* broken) : rule(broken) {}

  [[nodiscard]] bool empty() const noexcept { return rule.empty(); }
  [[nodiscard]] std::string text() const { return rule + (values.empty() ? "" : "; " + values); }
};

/// A property that must hold at the end of every complete execution. The function may be empty.
using check_property = std::function<violation(const final_memory&)>;

/// The order in which the threads of an execution executed their events up to a finding. An exploration can follow this
/// schedule. Every read in the execution reads from the newest write.
struct replayed_schedule {
  struct step {
    int thread = 0;
    int operation = -1;        ///< if not -1: this step performs the thread's asynchronous operation with this number
    std::uint64_t chosen = 0;  ///< the thread's choice if an unknown value decides its next instruction
  };
  struct place {
    int thread = 0;
    int line = 0;  ///< the instruction's line in the PTX; 0 matches any line
  };

  std::vector<step> steps{};
  check_status status = check_status::race;  ///< the status of the finding; a replay ignores findings with any other status
  std::vector<place> places{};               ///< the places of the finding (two for a race); empty matches any place

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
  std::uint64_t most_events = 200'000'000;        ///< the maximum number of events added in all executions
  time_limit time{};                              ///< the maximum processor time; by default, there is no limit
  int most_events_of_one = 2'000;                 ///< the maximum number of events in one execution
  bool load_buffering = true;                     ///< whether load buffering is explored if it is not ruled out
  std::uint64_t most_buffered_steps = 2'000'000;  ///< the maximum number of steps of that exploration
  /// Omits executions that differ only by a permutation of equal threads (symmetry.hpp), where possible. This is valid only for
  /// a property that depends only on memory, such as a scenario's final conditions, because a property that examines the
  /// execution might distinguish equal threads.
  bool symmetry = false;
  /// Explores only one of the executions that differ only in the order of commuting updates (commuting_updates.hpp). This is
  /// valid only for a property that depends only on memory, because registers that are never needed hold the values of a single
  /// order.
  bool merge_updates = false;
  /// cuts short an iteration of a loop in which threads wait together, as soon as one of them has contributed the value that
  /// makes the iteration fail
  bool cut_decided_rounds = true;
  bool read_unused_once = true;  ///< whether to explore a weak read whose value its thread never uses with only one source
  /// if not 0: explores this number of random executions, with seeds starting at `seed`, instead of all executions
  std::uint64_t random_executions = 0;
  std::uint64_t seed = 1;
  /// if not null: follows this schedule instead of exploring all executions
  const replayed_schedule* replayed = nullptr;
  /// Before the exploration gives up, tries this number of random executions, with seeds starting at `seed`, so that a finding
  /// in one of them is still reported.
  std::uint64_t random_before_giving_up = 20;
  model::other_readings readings{};  ///< the chosen readings of ambiguous rules in the PTX ISA (docs/readings.md)
  /// whether the message about a race names the readings under which there is no race
  bool name_readings = true;
  std::function<void(const check_statistics&)> progress{};  ///< called from time to time with the current statistics
  std::uint64_t most_memory = std::uint64_t{900} << 20U;
  std::uint64_t most_stack = std::uint64_t{96} << 20U;  ///< the exploration's stack size; its thread gets slightly more
};

}  // namespace membar::check
