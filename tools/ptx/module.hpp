// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
/// @file
/// A PTX module as it stands in its text: variables, functions, statements. What an instruction means is decided in
/// instruction.hpp.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace membar::ptx {

/// A type of PTX. Source: PTX ISA, "Types".
enum class ptx_type : std::uint8_t {
  none,
  pred,
  b8,
  b16,
  b32,
  b64,
  b128,
  u8,
  u16,
  u32,
  u64,
  s8,
  s16,
  s32,
  s64,
  f32,
  f64,
  f16,
  bf16,
  f16x2,
  bf16x2,
  other  ///< a type whose values are only moved
};

/// The type's name without its dot, or `none`.
[[nodiscard]] constexpr ptx_type type_named(std::string_view name) noexcept {
  struct row {
    std::string_view name;
    ptx_type type;
  };
  constexpr row rows[] = {
      {"pred", ptx_type::pred}, {"b8", ptx_type::b8},     {"b16", ptx_type::b16},     {"b32", ptx_type::b32},
      {"b64", ptx_type::b64},   {"b128", ptx_type::b128}, {"u8", ptx_type::u8},       {"u16", ptx_type::u16},
      {"u32", ptx_type::u32},   {"u64", ptx_type::u64},   {"s8", ptx_type::s8},       {"s16", ptx_type::s16},
      {"s32", ptx_type::s32},   {"s64", ptx_type::s64},   {"f32", ptx_type::f32},     {"f64", ptx_type::f64},
      {"f16", ptx_type::f16},   {"bf16", ptx_type::bf16}, {"f16x2", ptx_type::f16x2}, {"bf16x2", ptx_type::bf16x2}};
  for (const row& r : rows) {
    if (r.name == name) {
      return r.type;
    }
  }
  return ptx_type::none;
}

/// The type's size in bytes; 1 for a predicate, 0 for `none`.
[[nodiscard]] constexpr int bytes_of(ptx_type type) noexcept {
  switch (type) {
    case ptx_type::none:
    case ptx_type::other:
      return 0;
    case ptx_type::pred:
    case ptx_type::b8:
    case ptx_type::u8:
    case ptx_type::s8:
      return 1;
    case ptx_type::b16:
    case ptx_type::u16:
    case ptx_type::s16:
    case ptx_type::f16:
    case ptx_type::bf16:
      return 2;
    case ptx_type::b32:
    case ptx_type::u32:
    case ptx_type::s32:
    case ptx_type::f32:
    case ptx_type::f16x2:
    case ptx_type::bf16x2:
      return 4;
    case ptx_type::b64:
    case ptx_type::u64:
    case ptx_type::s64:
    case ptx_type::f64:
      return 8;
    case ptx_type::b128:
      return 16;
  }
  return 0;
}

[[nodiscard]] constexpr bool is_signed(ptx_type type) noexcept {
  return type == ptx_type::s8 || type == ptx_type::s16 || type == ptx_type::s32 || type == ptx_type::s64;
}

[[nodiscard]] constexpr bool is_float(ptx_type type) noexcept { return type >= ptx_type::f32 && type <= ptx_type::bf16x2; }

/// Whether it is of floats of 16 bits: one or a pair.
[[nodiscard]] constexpr bool is_half(ptx_type type) noexcept { return type >= ptx_type::f16 && type <= ptx_type::bf16x2; }

/// Where a variable lies, or which memory an access names.
enum class state_space : std::uint8_t { generic, global, shared, local, param, constant };

/// A variable of a module or of a function.
struct ptx_variable {
  std::string name;
  state_space space = state_space::global;
  ptx_type type = ptx_type::none;  ///< of an element
  std::uint64_t alignment = 1;
  std::uint64_t bytes = 0;
  bool external = false;
  std::vector<std::uint8_t> initial{};  ///< empty: zeros in `.global` and `.const`, undefined elsewhere
  /// What in it begins as an address, and is 0 in `initial`.
  struct address {
    std::size_t at = 0;
    std::string of;
    std::uint64_t added = 0;
  };
  std::vector<address> addresses{};
  int line = 0;
};

/// What an instruction is given.
struct ptx_operand {
  enum class kind_t : std::uint8_t { reg, number, name, address, list, sink };
  kind_t kind = kind_t::sink;
  int reg = -1;             ///< `reg`: number in the function; `address`: base, -1 for none
  bool negated = false;     ///< `!%p1`
  std::uint64_t value = 0;  ///< `number`; `address`: the offset
  bool floating = false;    ///< `number`: written as 0f or 0d
  std::string name{};       ///< `name`: variable, label, function or special register; `address`: base that is a variable
  std::vector<ptx_operand> parts{};  ///< `list`: the elements of {a, b} or (a, b); `reg`: the second of %p|%q
};

/// One statement of a function: an instruction or a label.
struct ptx_statement {
  std::string label{};  ///< not empty: a label
  std::string opcode{};
  std::vector<std::string> targets{};  ///< of `.branchtargets`
  int guard = -1;                      ///< predicate register, -1: none
  bool guard_negated = false;
  std::vector<ptx_operand> operands{};
  int line = 0;  ///< in the PTX text
  int file = 0;  ///< in the source, by `.loc`; 0: unknown
  int source_line = 0;
  int caller_file = 0;  ///< where the kernel's own text has the call that was inlined
  int caller_line = 0;
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
  std::vector<ptx_variable> variables{};  ///< of its body: .shared, .local, .param
  std::vector<ptx_register> registers{};
  std::vector<ptx_statement> body{};
  int line = 0;
};

/// A PTX module.
struct ptx_module {
  std::vector<ptx_variable> variables{};
  std::vector<ptx_function> functions{};
  std::vector<std::string> files{};  ///< by the number of `.file`; empty where there is none
};

}  // namespace membar::ptx
