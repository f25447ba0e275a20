// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
/// @file
/// Determines, over all paths of a thread, what a kernel's registers are computed from: parameters, variables, and values that
/// differ between threads.
#pragma once

#include <lint/flow.hpp>
#include <ptx/decode.hpp>
#include <ptx/instruction.hpp>
#include <ptx/module.hpp>

#include <compare>
#include <cstdint>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <vector>

namespace membar::lint {

/// The origin of an address: a parameter, a table of pointers, or a variable.
struct origin {
  enum class kind_t : std::uint8_t { parameter, table, global, shared };
  kind_t kind = kind_t::parameter;  ///< `table`: a pointer loaded from memory to which a parameter points
  /// the byte offset in the parameters for `parameter` and `table`; otherwise the variable's address
  std::int64_t number = 0;
  auto operator<=>(const origin&) const = default;
};

/// The known properties of a register's value.
struct value {
  static constexpr unsigned thread = 1;   ///< differs within a block and depends on the thread's number
  static constexpr unsigned block = 2;    ///< differs between blocks
  static constexpr unsigned loaded = 4;   ///< was loaded from memory that threads may write
  static constexpr unsigned elected = 8;  ///< is true in only one thread of a warp
  static constexpr unsigned remote = 16;  ///< an address in the shared memory of another block of the cluster
  std::set<origin> origins;
  unsigned varies = 0;
  std::set<pc_t> loads;  ///< the strong loads and atomics that returned the value, even if it was then stored in shared memory
  std::optional<std::uint64_t> constant;  ///< the value, if it is known and the same in every thread
};

/// An access to memory.
struct access {
  pc_t at = 0;
  bool reads = false, writes = false;
  bool asynchronous = false;  ///< whether it is performed by an asynchronous copy
  ptx::state_space space = ptx::state_space::generic;
  std::set<origin> origins;
  /// the constant part of the address's distance from the pointer, for example the offset of a field; empty if it is unknown
  std::optional<std::int64_t> displacement;
  /// The rest of the distance is a multiple of this number, for example the size of an array's elements. It is 0 if there is no rest.
  std::uint64_t stride = 0;
};

class values {
 public:
  values(const ptx::kernel_code& kernel, const ptx::module_layout& layout, const flow& paths);

  [[nodiscard]] const std::vector<access>& accesses() const noexcept { return accesses_; }
  /// Returns the accesses of one instruction. A copy has two.
  [[nodiscard]] std::span<const access> accesses_at(pc_t pc) const;
  [[nodiscard]] value of(const ptx::source_operand& o) const;
  [[nodiscard]] const value& word(std::int32_t w) const { return words_[static_cast<std::size_t>(w)]; }

  /// Returns whether the condition selects threads of a block by their number, for example the first thread.
  [[nodiscard]] bool selects_some(const condition& c) const;
  /// Returns whether the condition selects one thread of a block or of each warp, with an equality or elect.sync.
  [[nodiscard]] bool selects_one(const condition& c) const;
  /// Returns whether the condition is the same in all threads of a block and does not depend on memory.
  [[nodiscard]] bool is_uniform(const condition& c) const;
  /// Returns whether the operand is an odd constant on some path.
  [[nodiscard]] bool may_be_odd(const ptx::source_operand& o) const { return may_be_odd(o, 0); }
  /// Returns whether a `less` or `greater` comparison compares a loaded value with a limit. Such a comparison is typical of a
  /// position in a list, but not of a wait for the last value of a counter.
  [[nodiscard]] bool is_compared_with_limit(pc_t load) const;
  /// Returns a combination of the bits `thread` and `block`, which show whether the condition depends on thread or block
  /// numbers. Returns 0 if the condition also depends on something else that varies.
  [[nodiscard]] unsigned numbers_compared(const condition& c) const;
  /// Returns the loads and atomics whose results decide the condition.
  [[nodiscard]] std::set<pc_t> deciding_loads(const condition& c) const;

  /// Returns whether the condition holds if the access at `load` returns `loaded`. Returns an empty optional if the condition
  /// also depends on something that is not a constant.
  [[nodiscard]] std::optional<bool> holds_for(const condition& c, pc_t load, std::uint64_t loaded) const;
  /// Returns whether the conditions are equalities that select different threads of a block: the first thread and the last
  /// one, or threads with different constant numbers.
  [[nodiscard]] bool select_different(const condition& a, const condition& b) const;

  /// Returns the name of an address's origin, as shown in messages.
  [[nodiscard]] std::string name_of(const origin& o) const;

 private:
  void follow(const ptx::instruction& i, pc_t pc, bool& changed);
  void follow_store(const ptx::instruction& i, bool& changed);
  void find_accesses();
  [[nodiscard]] std::set<origin> origins_of_address(const ptx::instruction& i, std::size_t operand) const;
  /// Returns the sum of the constants that are added to a pointer from memory or a parameter, or to a variable's address.
  [[nodiscard]] std::optional<std::int64_t> displacement_of(const ptx::source_operand& o, int depth) const;
  /// Returns a number of which the operand is always a multiple, apart from the pointer and the constants that `displacement_of` returns.
  [[nodiscard]] std::uint64_t stride_of(const ptx::source_operand& o, int depth) const;
  [[nodiscard]] bool may_be_odd(const ptx::source_operand& o, int depth) const;
  [[nodiscard]] bool selects(std::int32_t word, bool holds, bool only_one, int depth) const;
  /// Returns the operand's value if the access at `load` returns `loaded`.
  [[nodiscard]] std::optional<std::uint64_t> computed(const ptx::source_operand& o, pc_t load, std::uint64_t loaded,
                                                      int depth) const;
  /// A special register plus a constant. For a constant, the register is `special::zero`.
  struct offset_value {
    ptx::special base = ptx::special::zero;
    std::int64_t offset = 0;
  };
  [[nodiscard]] std::optional<offset_value> number_of(const ptx::source_operand& o, int depth) const;
  /// The thread that an equality selects: the special register that contains the thread's number, and the number.
  struct selected_thread {
    ptx::special axis = ptx::special::zero;
    offset_value is{};
  };
  [[nodiscard]] std::optional<selected_thread> selected_by(const ptx::source_operand& o, bool holds, int depth) const;

  const ptx::kernel_code* kernel_;
  const ptx::module_layout* layout_;
  const flow* paths_;
  std::vector<value> words_;
  std::vector<std::pair<origin, value>> through_shared_;  ///< values that were stored in variables in shared memory
  std::set<origin> through_local_;                        ///< parameters that were stored in local memory
  std::vector<access> accesses_;
};

/// Returns whether the two sets have a common origin.
[[nodiscard]] bool overlap(const std::set<origin>& a, const std::set<origin>& b);

}  // namespace membar::lint
