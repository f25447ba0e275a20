// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
/// @file
/// Reads the PTX that NVRTC makes of litmus files, for the tests of their sources.
#pragma once

#include <map>
#include <set>
#include <string>
#include <vector>

namespace membar_test {

/// The lines of each kernel's PTX, by the kernel's name.
[[nodiscard]] std::map<std::string, std::vector<std::string>> kernels_of(const std::string& ptx);

/// The statements of inline assembly in a kernel's PTX, each as one line.
[[nodiscard]] std::vector<std::string> inline_statements(const std::vector<std::string>& lines);

/// Whether a word of a mnemonic is a type, such as "b32".
[[nodiscard]] bool is_type(const std::string& word);

/// The words that the mnemonic of a file becomes in PTX, with PTX's defaults and without state space.
[[nodiscard]] std::multiset<std::string> expected_words(const std::string& text);

/// The words of a statement's memory instruction or fence, in the form of `expected_words`; empty if it has none.
[[nodiscard]] std::multiset<std::string> statement_words(const std::string& statement, bool typed);

/// The accesses to memory between the first and the last inline statement that are not part of one. They would move the test's
/// accesses apart in time. Constant memory, which holds the zero that no compiler can foresee, does not count.
[[nodiscard]] std::vector<std::string> accesses_between(const std::vector<std::string>& lines);

/// The numbers among a statement's operands, in order. A register that holds a constant counts as that constant.
[[nodiscard]] std::vector<long long> numbers_of(const std::string& statement, const std::vector<std::string>& lines);

/// Which registers of a kernel's PTX are computed from which.
class data_flow {
 public:
  explicit data_flow(const std::vector<std::string>& lines);

  /// Whether `reg` is computed from one of `goals`.
  [[nodiscard]] bool reaches(const std::string& reg, const std::set<std::string>& goals) const;

  /// The registers that were loaded from the test's memory.
  [[nodiscard]] const std::set<std::string>& loads() const { return loads_; }
  /// The registers that hold the zero that no compiler can foresee.
  [[nodiscard]] const std::set<std::string>& unforeseen() const { return unforeseen_; }
  /// The registers of each store of the file.
  [[nodiscard]] const std::vector<std::vector<std::string>>& stores() const { return stores_; }

 private:
  std::map<std::string, std::set<std::string>> sources_;
  std::set<std::string> loads_;
  std::set<std::string> unforeseen_;
  std::vector<std::vector<std::string>> stores_;
};

}  // namespace membar_test
