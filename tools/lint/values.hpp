// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
/// @file
/// What the registers of a kernel are computed from, whatever path a thread takes: parameters, variables, and what differs from thread to thread.
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
  kind_t kind = kind_t::parameter;  ///< `table`: a pointer that was loaded from memory that a parameter leads to
  std::int64_t number = 0;  ///< `parameter`, `table`: bytes from the beginning of the parameters; else the variable's address
  auto operator<=>(const origin&) const = default;
};

/// What is known of a register.
struct value {
  static constexpr unsigned thread = 1;   ///< differs in a block, by the number of the thread
  static constexpr unsigned block = 2;    ///< differs between blocks
  static constexpr unsigned loaded = 4;   ///< was loaded from memory that threads may write
  static constexpr unsigned elected = 8;  ///< holds in one thread of a warp
  static constexpr unsigned remote = 16;  ///< an address in the shared memory of another block of the cluster
  std::set<origin> origins;
  unsigned varies = 0;
  std::set<pc_t> loads;  ///< what loaded it, or returned it: strong loads and atomics, also through shared memory
  std::optional<std::uint64_t> constant;  ///< the same in every thread, and known
};

/// An access of memory.
struct access {
  pc_t at = 0;
  bool reads = false, writes = false;
  bool asynchronous = false;  ///< by a copy
  ptx::state_space space = ptx::state_space::generic;
  std::set<origin> origins;
};

class values {
 public:
  values(const ptx::kernel_code& kernel, const ptx::module_layout& layout, const flow& paths);

  [[nodiscard]] const std::vector<access>& accesses() const noexcept { return accesses_; }
  /// The accesses of one instruction: a copy has two.
  [[nodiscard]] std::span<const access> accesses_at(pc_t pc) const;
  [[nodiscard]] value of(const ptx::source_operand& o) const;
  [[nodiscard]] const value& word(std::int32_t w) const { return words_[static_cast<std::size_t>(w)]; }

  /// Whether the condition selects threads of a block by their number, such as the first thread.
  [[nodiscard]] bool selects_some(const condition& c) const;
  /// The same for one thread of a block or of each warp: by an equality, or by elect.sync.
  [[nodiscard]] bool selects_one(const condition& c) const;
  /// Whether the condition is the same in all threads of a block and does not depend on memory.
  [[nodiscard]] bool is_uniform(const condition& c) const;
  /// Whether what was loaded is compared with a limit, less or greater, as a place in a list is, and the last one of a count is not.
  [[nodiscard]] bool is_compared_with_limit(pc_t load) const;
  /// `thread` and `block`, as the condition depends on the numbers of these and on nothing else that varies; 0 if it depends on more.
  [[nodiscard]] unsigned numbers_compared(const condition& c) const;
  /// The loads and atomics that decide the condition.
  [[nodiscard]] std::set<pc_t> deciding_loads(const condition& c) const;

  /// The name of what addresses begin at, for people.
  [[nodiscard]] std::string name_of(const origin& o) const;

 private:
  void follow(const ptx::instruction& i, pc_t pc, bool& changed);
  void find_accesses();
  [[nodiscard]] std::set<origin> origins_of_address(const ptx::instruction& i, std::size_t operand) const;
  [[nodiscard]] bool selects(std::int32_t word, bool holds, bool only_one, int depth) const;

  const ptx::kernel_code* kernel_;
  const ptx::module_layout* layout_;
  const flow* paths_;
  std::vector<value> words_;
  std::vector<std::vector<pc_t>> written_by_;             ///< by word
  std::vector<std::pair<origin, value>> through_shared_;  ///< what was stored in variables of shared memory
  std::vector<access> accesses_;
};

/// Whether two sets have an origin in common.
[[nodiscard]] bool overlap(const std::set<origin>& a, const std::set<origin>& b);

}  // namespace membar::lint
