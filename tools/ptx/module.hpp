// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
/// @file
/// A parsed PTX module: variables, functions and statements. instruction.hpp defines the meaning of instructions.
#pragma once

#include <ptx/words.hpp>

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace membar::ptx {

/// A variable of a module or of a function.
struct ptx_variable {
  std::string name;
  state_space space = state_space::global;
  ptx_type type = ptx_type::none;  ///< the type of an element
  std::uint64_t alignment = 1;
  std::uint64_t bytes = 0;
  bool external = false;
  bool managed = false;                 ///< shared by the host and all devices
  std::vector<std::uint8_t> initial{};  ///< empty: zeros in `.global` and `.const`, undefined elsewhere
  /// The parts of it that are initialized with addresses. They are 0 in `initial`.
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
  int reg = -1;             ///< `reg`: the number in the function; `address`: the base, or -1
  bool negated = false;     ///< `!%p1`
  std::uint64_t value = 0;  ///< `number`; `address`: the offset
  bool decimal = false;     ///< `number`: it has a decimal point or an exponent, and `value` contains its bits as a double
  /// `name`: a variable, label, function or special register; `address`: the variable that is the base
  std::string name{};
  std::vector<ptx_operand> parts{};  ///< `list`: the elements of {a, b} or (a, b); `reg`: the second register of %p|%q
};

/// One statement of a function: an instruction or a label.
struct ptx_statement {
  std::string label{};  ///< not empty: the statement is a label
  std::string opcode{};
  std::vector<std::string> targets{};  ///< the targets in `.branchtargets`
  int guard = -1;                      ///< the predicate register, or -1
  bool guard_negated = false;
  std::vector<ptx_operand> operands{};
  int line = 0;  ///< the line in the PTX text
  int file = 0;  ///< the source file given by `.loc`; 0: unknown
  int source_line = 0;
  int place = -1;  ///< the source location as an index of `ptx_module::places`
};

/// A source location given by `.loc`.
struct ptx_place {
  int file = 0;
  int line = 0;
  int inlined_at = -1;  ///< the location of the call into which it was inlined, as an index of `ptx_module::places`, or -1
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
  std::vector<ptx_variable> variables{};  ///< the variables of its body: .shared, .local, .param
  std::vector<ptx_register> registers{};
  std::vector<ptx_statement> body{};
  int line = 0;
};

/// A PTX module.
struct ptx_module {
  std::vector<ptx_variable> variables{};
  std::vector<ptx_function> functions{};
  std::vector<std::string> files{};  ///< by the number of `.file`; empty if there is none
  std::vector<ptx_place> places{};
};

/// Returns whether a file is a header of CUDA, of a library that comes with it, or of membar, rather than one of the program.
[[nodiscard]] inline bool is_library(std::string_view path) noexcept {
  constexpr std::string_view folders[] = {"/cuda/std/",       "/cuda/__",         "/include/cuda/",   "/include/cccl/",
                                          "/include/cub/",    "/cub/cub/",        "/include/thrust/", "/cooperative_groups",
                                          "/include/membar/", "/include/nvshmem", "/include/crt/",    "-linux/include/"};
  for (const std::string_view folder : folders) {
    if (path.find(folder) != std::string_view::npos && !path.ends_with(".cu")) {
      return true;
    }
  }
  return false;
}

}  // namespace membar::ptx
