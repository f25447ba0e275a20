// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
/// @file
/// Determines how a litmus file runs: the memory cells of its locations, and its observations, which are the digits of an
/// outcome.
#pragma once

#include <membar/litmus/instance_layout.hpp>
#include <membar/model/litmus_test.hpp>
#include <membar/model/program.hpp>

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace membar::litmus_files {

/// The maximum number of backward jumps that a thread may make in an instance. An instance that needs more is unfinished and
/// has no outcome.
inline constexpr int jump_limit = 1000;

/// Returns the number that represents the address of location `index` in registers and memory. The number fits into four bytes.
/// The distances between addresses are the same as in the model, so address arithmetic gives the model's results.
[[nodiscard]] constexpr std::int64_t address_token(int index) noexcept {
  return (std::int64_t{1} << 30) + 16 * std::int64_t{index};
}

/// Returns whether `value` stays the same if its low `bytes` bytes are written and read back as a signed number.
[[nodiscard]] constexpr bool fits(std::int64_t value, int bytes) noexcept {
  if (bytes >= 8) {
    return true;
  }
  const std::int64_t limit = std::int64_t{1} << (8 * bytes - 1);
  return value >= -limit && value < limit;
}

/// Returns whether an instruction is a memory access: a load, store, atom or red.
[[nodiscard]] bool is_access(model::opcode code) noexcept;
/// Returns whether an instruction is a branch or a jump.
[[nodiscard]] bool jumps(const model::instruction& i) noexcept;

/// The position of a location in memory. It is a whole cell or, for an element of an array with vector accesses, a part of a
/// cell.
struct cell_part {
  int cell = -1;  ///< -1 if no executed instruction accesses the location, for example because it is an mbarrier
  int offset = 0;
  int bytes = 4;  ///< the number of bytes of each access
};

/// One digit of an outcome: a register, a location, or how a thread ended.
struct outcome_digit {
  std::string name;
  model::term what{};
  int end_of = -1;                   ///< the thread whose `thread_end` this digit is; -1 if the digit is a value
  std::vector<std::int64_t> values;  ///< the model's values for the digits 0, 1, ...; one more digit represents all other
                                     ///< values

  [[nodiscard]] int radix() const noexcept { return static_cast<int>(values.size()) + 1; }
  /// Returns the thread that reports the digit, or -1 if the value is read from memory at the end of the instance.
  [[nodiscard]] int thread() const noexcept {
    return end_of >= 0 ? end_of : what.kind == model::term::kind_t::register_value ? what.thread : -1;
  }
};

/// How a thread with a loop or with an address in a register ended.
enum class thread_end : unsigned char {
  reached,     ///< the thread reached its end, as threads without loops always do
  strayed,     ///< the thread computed an address outside all locations, from a value that no execution produces, and stopped
  unfinished,  ///< the thread stopped after `jump_limit` backward jumps
  unknown      ///< the thread reported none of the above
};

/// The counts of a run. Instances without an outcome are counted separately.
struct folded_counts {
  std::vector<std::uint64_t> counts;       ///< per outcome of the observed values: the number of instances
  std::vector<std::uint64_t> slices_with;  ///< per outcome: a lower bound on the number of slices that showed it
  std::uint64_t unfinished = 0;
  std::uint64_t strayed = 0;  ///< the number of instances that did something that the model forbids in every execution
  std::uint64_t unknown = 0;  ///< the number of instances in which a thread did not report how it ended, because the machine or
                              ///< the engine failed
};

/// Throws `model::error` for a line of a litmus file that cannot be run.
[[noreturn]] void refuse_line(int line, const std::string& why);

/// A litmus test that is ready to run.
class run_plan {
 public:
  /// Throws `model::error`, with the line, if the test cannot be run as written. If `limit` is not 0, the model's search stops
  /// after that many steps, and the test cannot be run.
  explicit run_plan(model::litmus_test test, std::uint64_t limit = 0);

  [[nodiscard]] const model::litmus_test& test() const noexcept { return test_; }
  /// Returns the digits of an outcome: first the values that the condition or `locations` names, then the values that only the
  /// filter names, and finally how the threads ended.
  [[nodiscard]] const std::vector<outcome_digit>& digits() const noexcept { return digits_; }
  /// Returns the digit that represents how thread `thread` ended, or null if there is none.
  [[nodiscard]] const outcome_digit* end_of(int thread) const noexcept;
  [[nodiscard]] int cells() const noexcept { return static_cast<int>(initial_.size()); }
  /// Returns the bytes of a cell at the beginning of an instance.
  [[nodiscard]] const std::array<unsigned char, litmus::cell_bytes>& initial(int cell) const noexcept {
    return initial_[static_cast<std::size_t>(cell)];
  }
  [[nodiscard]] const cell_part& part(int location) const noexcept { return parts_[static_cast<std::size_t>(location)]; }

  /// Returns whether an access of `bytes` bytes with its address in a register may access location `location`.
  [[nodiscard]] bool may_point_to(int location, int bytes) const noexcept;

  /// Returns whether a thread may wait for other threads, that is, whether it has a backward jump.
  [[nodiscard]] bool waits(int thread) const noexcept;

  /// Returns a GPU thread's read-modify-write of memory that a host thread writes, in the form "line 5: '...'", or an empty
  /// string if there is none. Such an operation is atomic only if the link between GPU and host supports it.
  [[nodiscard]] std::string update_shared_with_host() const;

  /// Returns the representation of a model value in registers and memory, where an address is represented by its token.
  [[nodiscard]] std::int64_t machine_value(std::int64_t value) const noexcept;

  /// Returns the digit that represents the value `machine` of a register or a location in observation `which`.
  [[nodiscard]] unsigned digit(int which, std::int64_t machine) const noexcept;

  /// Converts a run's counts, which are per combination of all digits, to counts per outcome of the observed values.
  [[nodiscard]] folded_counts fold(const std::vector<std::uint64_t>& counts,
                                   const std::vector<std::uint64_t>& slices_with = {}) const;

 private:
  class value_collector;

  [[nodiscard]] int find(const model::term& t) const noexcept;
  [[nodiscard]] bool written_by_host(const model::instruction& i) const;
  [[nodiscard]] std::size_t physical(int location) const noexcept;
  void check_statements() const;
  void lay_out();
  void set_width(std::vector<int>& widths, int location, const model::instruction& i) const;
  void place_element(std::vector<int>& arrays, int first, const model::instruction& i) const;
  void write_initial(int location);
  void name_observations();
  [[nodiscard]] std::string name_of(const model::term& t) const;
  void ask_model(std::uint64_t limit);
  void find_values(std::uint64_t limit);
  void add_constants(const std::vector<model::condition_node>& nodes);
  void add_written(const model::event& write, std::int64_t value);
  [[nodiscard]] std::uint64_t outcomes() const noexcept;
  void check_outcomes() const;

  model::litmus_test test_;
  std::vector<cell_part> parts_;
  std::vector<std::array<unsigned char, litmus::cell_bytes>> initial_;
  std::vector<outcome_digit> digits_;
};

}  // namespace membar::litmus_files
