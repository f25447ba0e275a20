// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
/// @file
/// Reads litmus tests in the text format that public PTX tests use. docs/litmus_files.md describes it. write_litmus.hpp writes
/// them.
#pragma once

#include <litmus/litmus_condition.hpp>
#include <litmus/litmus_instruction.hpp>
#include <litmus/litmus_names.hpp>
#include <litmus/litmus_shared.hpp>
#include <litmus/litmus_state.hpp>
#include <litmus/litmus_tokens.hpp>
#include <litmus/write_litmus.hpp>
#include <membar/model/array.hpp>
#include <membar/model/error.hpp>
#include <membar/model/litmus_test.hpp>
#include <membar/model/program.hpp>

#include <algorithm>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace membar::litmus_files {

using namespace model;

namespace detail {

/// Reads one litmus test. Constructed for a text, used once.
class litmus_reader {
 public:
  explicit litmus_reader(std::string_view text) : in_(text) {}

  [[nodiscard]] litmus_test read() {
    read_header();
    state_reader state(in_);
    state.read_initial_state();
    state.read_places();
    in_.end_declarations();
    jumps_.resize(in_.test.threads.size());
    while (!condition_reader::begins(in_)) {
      read_row();
    }
    resolve_labels();
    shared_memory(in_).divide(state.remote_addresses());
    condition_reader(in_).read();
    state.check_places();
    check_extents();
    return std::move(in_.test);
  }

 private:
  struct jump_to {
    token label;
    int instruction = 0;
  };

  void read_header() {
    const token t = in_.take();
    if (t.what != token_kind::word || lower(t.text) != "ptx") {
      fail(t, "a litmus test starts with 'PTX', found " + shown(t));
    }
    in_.test.name = in_.read_title();
    in_.skip_to_initial_state();
  }

  void read_row() {
    int column = 0;
    for (;;) {
      if (!at_cell_end()) {
        if (column >= count_of(in_.test.threads)) {
          fail(in_.peek(), "this row has more columns than there are threads");
        }
        read_cell(column);
      }
      if (in_.accept(";")) {
        return;
      }
      if (!in_.accept("|")) {
        fail(in_.peek(), "expected '|' or ';' after an instruction, found " + shown(in_.peek()));
      }
      ++column;
    }
  }

  [[nodiscard]] bool at_cell_end() { return in_.at_symbol("|") || in_.at_symbol(";"); }

  void read_cell(int thread) {
    while (!at_cell_end()) {
      if (in_.at_symbol("@")) {
        append(thread, instruction_reader::with_predicate(in_, thread));
        return;
      }
      const token word = in_.expect_word("an instruction");
      const int next = count_of(at(in_.test.threads, thread).code);
      if (!in_.accept(":")) {
        append(thread, instruction_reader(in_, thread, word));
        return;
      }
      if (label_target(thread, word) >= 0) {
        fail(word, "the label '" + std::string(word.text) + "' is there twice");
      }
      at(in_.test.threads, thread).labels.emplace_back(std::string(word.text), next);
    }
  }

  void append(int thread, instruction_reader instruction) {
    const int next = count_of(at(in_.test.threads, thread).code);
    if (const std::optional<token> label = instruction.read()) {
      at(jumps_, thread).push_back({*label, next});
    }
  }

  /// The instruction that a label stands before, -1 if the thread has no such label.
  [[nodiscard]] int label_target(int thread, const token& label) const {
    for (const auto& [name, target] : at(in_.test.threads, thread).labels) {
      if (name == label.text) {
        return target;
      }
    }
    return -1;
  }

  void resolve_labels() {
    for (int t = 0; t < count_of(in_.test.threads); ++t) {
      for (const auto& [label, instruction] : at(jumps_, t)) {
        const int target = label_target(t, label);
        if (target < 0) {
          fail(label, "there is no label '" + std::string(label.text) + "' in this thread");
        }
        at(at(in_.test.threads, t).code, instruction).target = target;
      }
    }
  }

  /// Accesses of different size to one location are for the model to judge. An access that reaches into a neighbour has no
  /// meaning here, as a name stands for one value.
  void check_extents() const {
    std::map<std::string, std::set<int>> sizes;
    for_each_array_access([&](const instruction& i, const std::string& array) { sizes[array].insert(i.bytes); });
    for_each_array_access([&](const instruction& i, const std::string& array) {
      if (sizes[array].size() > 1) {
        throw error(i.line, 1, "mixed-size accesses of the array '" + array + "' are not decided");
      }
    });
  }

  template <class Use>
  void for_each_array_access(const Use& use) const {
    for (const litmus_test::thread& t : in_.test.threads) {
      for (const instruction& i : t.code) {
        if (const std::string array = array_of(i); !array.empty()) {
          use(i, array);
        }
      }
    }
  }

  /// The array of several elements that an instruction accesses; nothing for any other instruction.
  [[nodiscard]] std::string array_of(const instruction& i) const {
    if (!accesses_memory(i.code) || i.indirect || i.target < 0) {
      return "";
    }
    const std::string& name = at(in_.test.location_names, i.target);
    const std::string array = name.substr(0, name.find('['));
    const bool has_elements = std::any_of(in_.test.location_names.begin(), in_.test.location_names.end(),
                                          [&](const std::string& other) { return starts(other, array + "["); });
    return has_elements ? array : "";
  }

  litmus_names in_;
  std::vector<std::vector<jump_to>> jumps_;  ///< per thread
};

}  // namespace detail

/// Reads one litmus test. Throws `error` with line and column for text that is none.
[[nodiscard]] inline litmus_test read_litmus(std::string_view text) { return detail::litmus_reader(text).read(); }

}  // namespace membar::litmus_files
