// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
/// @file
/// The PTX opcodes. A single table, shared by the parser and the printer, contains each opcode's spelling, operands and
/// operation.
#pragma once

#include <ptx/instruction.hpp>
#include <ptx/words.hpp>

#include <string>
#include <string_view>

namespace membar::ptx {

/// The kinds of operands that an instruction has. `addresses`: at most one destination, then an address, then further addresses
/// and values. `results`: any number of destinations, then sources. `tensor`: a location in shared memory and a tensor map with
/// coordinates, in either order. `product`: registers that are read and written, two matrices, and further operands.
enum class operand_shape : unsigned char {
  none,
  any,
  label,
  index,
  registers,
  sources,
  load,
  store,
  atomic,
  reduction,
  addresses,
  pending_count,
  results,
  rows_load,
  rows_store,
  tensor,
  product,
  bulk_store,
  map_field,
  map_copy,
  allocation,
  tensor_load,
  tensor_store,
  tensor_product
};

/// The operands of an opcode. For the shapes `registers`, `sources` and `addresses`, the limits apply to the number of sources,
/// and `results` is the maximum number of results; each register in a list counts. For other shapes, the limits apply to the
/// number of operands.
struct operand_form {
  operand_shape shape = operand_shape::none;
  unsigned least = 0;
  unsigned most = 0;
  unsigned results = 0;
};

/// Parses the opcode `i.text` into `i`, and returns the operands that must follow. Throws `model::error` with the line `i.line`
/// for an unsupported opcode.
[[nodiscard]] operand_form read_opcode(instruction& i);

/// Returns the name of an opcode, for example "ld" for "ld.acquire.gpu.u32".
[[nodiscard]] constexpr std::string_view name_of(std::string_view opcode) noexcept {
  return opcode.substr(0, opcode.find('.'));
}

/// Returns the spelling of an operation without the words that vary, for example "ld", "mbarrier.try_wait" or
/// "cp.async.bulk.commit_group".
[[nodiscard]] std::string_view spelling_of(op code, mbarrier_op mbarrier = mbarrier_op::none) noexcept;

// ---- printing

[[nodiscard]] inline std::string_view word_of(std::string_view word) noexcept { return word; }
[[nodiscard]] inline std::string_view word_of(memory_order order) noexcept { return word_for(order_words, order); }
[[nodiscard]] inline std::string_view word_of(thread_scope scope) noexcept { return word_for(scope_words, scope); }
[[nodiscard]] inline std::string_view word_of(model::operation what) noexcept { return word_for(operation_words, what); }
[[nodiscard]] inline std::string_view word_of(ptx_comparison test) noexcept { return word_for(comparison_words, test); }
[[nodiscard]] inline std::string_view word_of(ptx_type type) noexcept {
  return type_words[static_cast<std::size_t>(type)].word;
}

/// Builds an opcode from a spelling and further words, each of which is given as a PTX word or as the value that the word
/// represents. Empty words are skipped. For example, `opcode_text("ld", memory_order::acquire, thread_scope::device,
/// ptx_type::u32)` returns "ld.acquire.gpu.u32".
template <class... Words>
[[nodiscard]] std::string opcode_text(std::string_view spelling, Words... words) {
  std::string text(spelling);
  const auto add = [&](std::string_view word) {
    if (!word.empty()) {
      text += '.';
      text += word;
    }
  };
  (add(word_of(words)), ...);
  return text;
}

}  // namespace membar::ptx
