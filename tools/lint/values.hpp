// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
/// @file
/// Determines from what the registers of a kernel are computed, whatever path a thread takes: parameters, variables, and values
/// that differ between threads.
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

/// The parameter, table of pointers or variable from which an address is computed.
struct origin {
  enum class kind_t : std::uint8_t { parameter, table, global, shared };
  kind_t kind = kind_t::parameter;  ///< `table`: a pointer loaded from memory to which a parameter points
  /// for `parameter` and `table`: the byte offset in the parameters; otherwise the variable's address
  std::int64_t number = 0;
  auto operator<=>(const origin&) const = default;
};

/// The known properties of a register.
struct value {
  static constexpr unsigned thread = 1;   ///< differs within a block, depending on the number of the thread
  static constexpr unsigned block = 2;    ///< differs between blocks
  static constexpr unsigned loaded = 4;   ///< was loaded from memory to which threads may write
  static constexpr unsigned elected = 8;  ///< is true in one thread of a warp
  static constexpr unsigned remote = 16;  ///< an address in the shared memory of another block of the cluster
  std::set<origin> origins;
  unsigned varies = 0;
  std::set<pc_t> loads;  ///< the instructions that loaded or returned it: strong loads and atomics, also through shared memory
  std::optional<std::uint64_t> constant;  ///< a known value that is the same in every thread
};

/// An access to memory.
struct access {
  pc_t at = 0;
  bool reads = false, writes = false;
  bool asynchronous = false;  ///< whether a copy performs it
  ptx::state_space space = ptx::state_space::generic;
  std::set<origin> origins;
};

class values {
 public:
  values(const ptx::kernel_code& kernel, const ptx::module_layout& layout, const flow& paths);

  [[nodiscard]] const std::vector<access>& accesses() const noexcept { return accesses_; }
  /// Returns the accesses of one instruction: a copy has two.
  [[nodiscard]] std::span<const access> accesses_at(pc_t pc) const;
  [[nodiscard]] value of(const ptx::source_operand& o) const;
  [[nodiscard]] const value& word(std::int32_t w) const { return words_[static_cast<std::size_t>(w)]; }

  /// Returns whether the condition selects threads of a block by their number, such as the first thread.
  [[nodiscard]] bool selects_some(const condition& c) const;
  /// Returns whether the condition selects one thread of a block or of each warp, by an equality or by elect.sync.
  [[nodiscard]] bool selects_one(const condition& c) const;
  /// Returns whether the condition is the same in all threads of a block and does not depend on memory.
  [[nodiscard]] bool is_uniform(const condition& c) const;
  /// Returns whether some path sets the operand to an odd constant.
  [[nodiscard]] bool may_be_odd(const ptx::source_operand& o) const { return may_be_odd(o, 0); }
  /// Returns whether a loaded value is compared with a limit by less or greater, as a position in a list is and the last number of a count is not.
  [[nodiscard]] bool is_compared_with_limit(pc_t load) const;
  /// Returns `thread` and `block` if the condition depends on those numbers and on nothing else that varies, or 0 if it depends on more.
  [[nodiscard]] unsigned numbers_compared(const condition& c) const;
  /// Returns the loads and atomics that decide the condition.
  [[nodiscard]] std::set<pc_t> deciding_loads(const condition& c) const;

  /// Returns a readable name for the origin of addresses.
  [[nodiscard]] std::string name_of(const origin& o) const;

 private:
  void follow(const ptx::instruction& i, pc_t pc, bool& changed);
  void follow_store(const ptx::instruction& i, bool& changed);
  void find_accesses();
  [[nodiscard]] std::set<origin> origins_of_address(const ptx::instruction& i, std::size_t operand) const;
  [[nodiscard]] bool may_be_odd(const ptx::source_operand& o, int depth) const;
  [[nodiscard]] bool selects(std::int32_t word, bool holds, bool only_one, int depth) const;

  const ptx::kernel_code* kernel_;
  const ptx::module_layout* layout_;
  const flow* paths_;
  std::vector<value> words_;
  std::vector<std::vector<pc_t>> written_by_;             ///< by word
  std::vector<std::pair<origin, value>> through_shared_;  ///< the values that were stored in variables in shared memory
  std::set<origin> through_local_;                        ///< the parameters that were stored in local memory
  std::vector<access> accesses_;
};

/// Returns whether two sets have an origin in common.
[[nodiscard]] bool overlap(const std::set<origin>& a, const std::set<origin>& b);

}  // namespace membar::lint
