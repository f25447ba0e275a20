// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
/// @file
/// Reads the operands of an instruction of a litmus file: registers, numbers and addresses.
#pragma once

#include <litmus/litmus_mnemonic.hpp>
#include <litmus/litmus_names.hpp>
#include <litmus/litmus_tokens.hpp>
#include <membar/model/array.hpp>
#include <membar/model/litmus_test.hpp>
#include <membar/model/program.hpp>

#include <cstdint>
#include <string>
#include <vector>

namespace membar::litmus_files::detail {

using namespace model;

/// Reads operands into an instruction.
class operand_reader {
 protected:
  operand_reader(litmus_names& in, int thread, const token& word)
      : in_(in), thread_(thread), word_(word), head_(split(lower(word.text)).front()) {
    i_.line = word.line;
  }
  ~operand_reader() = default;

  void need_comma() { in_.expect(",", "between operands"); }

  [[nodiscard]] int read_destination() {
    const token word = in_.expect_word("a register");
    if (word.text == "_") {
      return -1;
    }
    if ((in_.find_location(word.text) >= 0 || in_.find_multimem(word.text) >= 0) && !in_.known_register(thread_, word.text)) {
      fail(word, "'" + std::string(word.text) + "' is a location; expected a register");
    }
    if (word.text.find('.') != std::string_view::npos) {
      fail(word, "expected a register, found " + shown(word));
    }
    return in_.register_for(word, thread_, std::string(word.text));
  }

  [[nodiscard]] operand read_operand() {
    if (in_.peek().what == token_kind::number) {
      return {false, 0, in_.take().value};
    }
    const token word = in_.expect_word("a register or a number");
    if (in_.names_register(thread_, word.text)) {
      return {true, in_.register_for(word, thread_, std::string(word.text)), 0};
    }
    if (in_.find_location(word.text) >= 0 || in_.find_multimem(word.text) >= 0) {
      fail(word, "'" + std::string(word.text) + "' is a location; expected a register or a number");
    }
    fail(word, "'" + std::string(word.text) + "' is no register of this thread");
  }

  void read_address() {
    const bool bracketed = in_.accept("[");
    const token word = in_.expect_word("a location");
    if (in_.names_register(thread_, word.text)) {
      i_.indirect = true;
      i_.target = in_.register_for(word, thread_, std::string(word.text));
    } else {
      i_.target = in_.accessed_location(word, bracketed ? std::string(word.text) : in_.location_name(word));
      if (at(in_.test.locations, i_.target).arrivals != 0) {
        fail(word, "'" + std::string(word.text) + "' is an mbarrier");
      }
    }
    if (bracketed) {
      in_.expect("]", "after an address");
    }
  }

  std::int64_t read_constant(const std::string& what, std::int64_t most) {
    const token word = in_.peek();
    if (word.what != token_kind::number || word.value < 0 || word.value > most) {
      fail(word, what + " is a number from 0 to " + std::to_string(most) + " here, found " + shown(word));
    }
    return in_.take().value;
  }

  litmus_names& in_;
  int thread_;
  token word_;  ///< the mnemonic
  std::string head_;
  instruction i_;
  std::vector<instruction> more_;  ///< the elements after the first, of a vector access or of a copy
};

}  // namespace membar::litmus_files::detail
