// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
/// @file
/// A parsed PTX module: its variables, functions and statements. instruction.hpp defines the meaning of the instructions.
#pragma once

#include <ptx/words.hpp>

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace membar::ptx {

/// A variable in a module or in a function.
struct ptx_variable {
  std::string name;
  state_space space = state_space::global;
  ptx_type type = ptx_type::none;  ///< the type of its elements
  std::uint64_t alignment = 1;
  std::uint64_t bytes = 0;
  bool external = false;
  bool managed = false;                 ///< whether the host and all devices share the variable
  std::vector<std::uint8_t> initial{};  ///< the initial bytes; if empty, the variable is zero in `.global` and `.const`, and
                                        ///< undefined elsewhere
  /// A part of the variable that is initialized with an address. Its bytes are 0 in `initial`.
  struct address {
    std::size_t at = 0;
    std::string of;
    std::uint64_t added = 0;
  };
  std::vector<address> addresses{};
  int line = 0;
};

/// An operand of an instruction.
struct ptx_operand {
  enum class kind_t : std::uint8_t { reg, number, name, address, list, sink };
  kind_t kind = kind_t::sink;
  int reg = -1;             ///< for `reg`: the register's number in the function; for `address`: the base register, or -1
  bool negated = false;     ///< whether the operand is negated, as in `!%p1`
  std::uint64_t value = 0;  ///< for `number`: its value; for `address`: the offset
  bool decimal = false;     ///< for `number`: whether it has a decimal point or an exponent; `value` then contains its bits as
                            ///< a double
  /// for `name`: a variable, label, function or special register; for `address`: the variable that is the base
  std::string name{};
  std::vector<ptx_operand> parts{};  ///< for `list`: the elements of {a, b} or (a, b); for `reg`: the second register of %p|%q
};

/// A statement in a function: an instruction or a label.
struct ptx_statement {
  std::string label{};  ///< the name of the label, or empty for an instruction
  std::string opcode{};
  std::vector<std::string> targets{};  ///< for `.branchtargets`: the targets
  int guard = -1;                      ///< the number of the predicate register, or -1 if there is none
  bool guard_negated = false;
  std::vector<ptx_operand> operands{};
  int line = 0;  ///< the line in the PTX text
  int file = 0;  ///< the number of the source file given by `.loc`; 0 if it is unknown
  int source_line = 0;
  int place = -1;  ///< the index of the source location in `ptx_module::places`, or -1
};

/// A source location given by `.loc`.
struct ptx_place {
  int file = 0;
  int line = 0;
  int inlined_at = -1;  ///< the index in `ptx_module::places` of the call into which the code was inlined, or -1
};

/// A register that a function declares.
struct ptx_register {
  std::string name;
  ptx_type type = ptx_type::b32;
  int bits = 32;
};

/// A function or a kernel.
struct ptx_function {
  std::string name;
  bool kernel = false;
  bool defined = false;
  std::vector<ptx_variable> parameters{};
  std::vector<ptx_variable> results{};
  std::vector<ptx_variable> variables{};  ///< the variables that its body declares: .shared, .local and .param
  std::vector<ptx_register> registers{};
  std::vector<ptx_statement> body{};
  int line = 0;
  int most_threads = 0;  ///< for a kernel: the limit on threads per block from `.maxntid` or `.reqntid`; 0 if there is no limit
};

/// A PTX module.
struct ptx_module {
  std::vector<ptx_variable> variables{};
  std::vector<ptx_function> functions{};
  std::vector<std::string> files{};  ///< the files, indexed by their numbers in `.file`; empty if there are none
  std::vector<ptx_place> places{};
};

/// Returns whether a file belongs to CUDA, a library that comes with CUDA, CUTLASS or membar, rather than to the program
/// itself.
[[nodiscard]] inline bool is_library(std::string_view path) noexcept {
  constexpr std::string_view folders[] = {
      "/cuda/std/",       "/cuda/__",         "/include/cuda/", "/include/cccl/",   "/include/cutlass/",
      "/include/cute/",   "/include/cub/",    "/cub/cub/",      "/include/thrust/", "/cooperative_groups",
      "/include/membar/", "/include/nvshmem", "/include/crt/",  "-linux/include/"};
  for (const std::string_view folder : folders) {
    if (path.find(folder) != std::string_view::npos && !path.ends_with(".cu")) {
      return true;
    }
  }
  return false;
}

}  // namespace membar::ptx
