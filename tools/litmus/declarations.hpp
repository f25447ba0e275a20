// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
/// @file
/// The names that a litmus file has declared so far: locations, threads and registers.
#pragma once

#include <common/quote.hpp>
#include <litmus/lexer.hpp>
#include <litmus/nearest_name.hpp>
#include <membar/model/array.hpp>
#include <membar/model/litmus_test.hpp>
#include <membar/model/program.hpp>
#include <membar/model/relation.hpp>

#include <algorithm>
#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace membar::litmus_files::detail {

using namespace model;

/// Returns the number n if the word is a thread's name "Pn", or nothing otherwise.
[[nodiscard]] inline std::optional<int> thread_number(std::string_view word) {
  if (word.size() < 2 || word.size() > 7 || (word.front() != 'P' && word.front() != 'p')) {
    return std::nullopt;
  }
  int value = 0;
  for (const char c : word.substr(1)) {
    if (!digit(c)) {
      return std::nullopt;
    }
    value = value * 10 + (c - '0');
  }
  return value;
}

/// Returns whether an undeclared word has the form of a register: r followed by digits, or % followed by any characters.
[[nodiscard]] inline bool register_shape(std::string_view word) {
  if (!word.empty() && word.front() == '%') {
    word.remove_prefix(1);
    return !word.empty();
  }
  if (word.size() < 2 || word.front() != 'r') {
    return false;
  }
  for (const char c : word.substr(1)) {
    if (!digit(c)) {
      return false;
    }
  }
  return true;
}

/// The part of a file's test that has been read so far, and information about its names that only the reader needs.
class declarations {
 public:
  /// Returns the index of the location with this name, or -1 if there is none.
  [[nodiscard]] int find_location(std::string_view name) const { return index_in(test.location_names, name); }

  int declare(const token& word, const std::string& name) {
    const int index = count_of(test.locations);
    if (index == max_events) {
      fail(word, "a test can have at most 64 locations");
    }
    test.location_names.push_back(name);
    test.locations.push_back({index, index, 0, 0});
    return index;
  }

  int location_for(const token& word, const std::string& name) {
    refuse_multimem(word, name);
    const int known = find_location(name);
    return known >= 0 ? known : declare(word, name);
  }

  /// Declares a multimem address for the given objects. There is one location for each object, with a name that cannot occur in
  /// a file.
  void declare_multimem(const token& word, const std::string& name, const std::vector<int>& objects) {
    const int first = count_of(test.locations);
    for (const int object : objects) {
      const int index = declare(word, name + "." + test.location_names[static_cast<std::size_t>(object)]);
      location& l = at(test.locations, index);
      l.physical = object;
      l.initial = at(test.locations, object).initial;
      l.multimem = first;
    }
    multimem_.push_back({name, first});
  }
  /// Returns the first location of a multimem address, or -1 if the name is not a multimem address.
  [[nodiscard]] int find_multimem(std::string_view name) const {
    const auto found = std::find_if(multimem_.begin(), multimem_.end(), [&](const auto& one) { return one.first == name; });
    return found == multimem_.end() ? -1 : found->second;
  }
  /// Rejects the name of a multimem address where a location is expected.
  void refuse_multimem(const token& word, std::string_view name) const {
    if (find_multimem(name) >= 0) {
      fail(word, membar_tools::quote(name) +
                     " is a multimem address, which only multimem.ld_reduce, multimem.st and multimem.red can access: name one "
                     "of its objects");
    }
  }

  /// Declares a location as shared memory.
  void declare_shared(const std::string& name) { shared_.push_back(name); }
  [[nodiscard]] bool is_declared_shared(const std::string& name) const { return index_in(shared_, name) >= 0; }

  /// Returns the shared-memory location that a name refers to in a thread, or -1 if there is none. Each block has its own
  /// location.
  [[nodiscard]] int find_location_of(int thread, const std::string& name) const {
    const place& here = at(test.threads, thread).where;
    for (int l = 0; l < count_of(test.locations); ++l) {
      const int owner = at(test.locations, l).owner;
      const std::string& full = at(test.location_names, l);
      if (owner >= 0 && same_block(here, at(test.threads, owner).where) && full.substr(full.find(':') + 1) == name) {
        return l;
      }
    }
    return -1;
  }

  /// Ends the declarations. From now on, a location with a new name counts as accessed but not declared.
  void end_declarations() { declared_ = test.location_names; }

  /// Returns the location for an access, as `location_for` does. Adds a remark if the location was not declared.
  int accessed_location(const token& word, const std::string& name) {
    const bool known = find_location(name) >= 0;
    const int index = location_for(word, name);
    if (!known) {
      const std::string nearest = nearest_name(name, declared_);
      test.remarks.push_back({word.line, word.column,
                              membar_tools::quote(name) + " is accessed but not declared" +
                                  (nearest.empty() ? "" : "; did you mean " + membar_tools::quote(nearest) + "?")});
    }
    return index;
  }

  /// Returns the index of thread P`number`, or -1 if there is none.
  [[nodiscard]] int thread_index(int number) const {
    for (int t = 0; t < count_of(test.threads); ++t) {
      if (at(test.threads, t).number == number) {
        return t;
      }
    }
    return -1;
  }

  /// Returns the index of a register, or -1 if the thread has not used this name so far.
  [[nodiscard]] int find_register(int thread, std::string_view name) const {
    return index_in(at(test.threads, thread).register_names, name);
  }

  int register_for(const token& word, int thread, const std::string& name) {
    litmus_test::thread& t = at(test.threads, thread);
    const int known = find_register(thread, name);
    if (known >= 0) {
      return known;
    }
    if (count_of(t.registers) == max_registers) {
      fail(word, "a thread can use at most 32 registers");
    }
    t.register_names.push_back(name);
    t.registers.push_back(0);
    return count_of(t.registers) - 1;
  }

  [[nodiscard]] bool known_register(int thread, std::string_view name) const { return find_register(thread, name) >= 0; }

  /// Returns whether the word is a register of the thread or could name a new register.
  [[nodiscard]] bool names_register(int thread, std::string_view name) const {
    return known_register(thread, name) || (register_shape(name) && find_location(name) < 0);
  }

  litmus_test test;

 private:
  [[nodiscard]] static int index_in(const std::vector<std::string>& names, std::string_view name) {
    const auto found = std::find(names.begin(), names.end(), name);
    return found == names.end() ? -1 : static_cast<int>(found - names.begin());
  }

  std::vector<std::string> declared_;
  std::vector<std::string> shared_;
  std::vector<std::pair<std::string, int>> multimem_;  ///< the name, and the location of the first object
};

}  // namespace membar::litmus_files::detail
