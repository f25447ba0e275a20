// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
/// @file
/// A table that says why each memory order in some headers is needed: the line, a weaker order, what goes wrong with it, and
/// the model's two verdicts. Every line of the headers with an order stronger than relaxed must have a row, and every row a
/// line.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <ostream>
#include <regex>
#include <set>
#include <span>
#include <string>
#include <vector>

namespace membar_test {

struct order_row {
  const char* header;     ///< in the folder that the table is about
  const char* code;       ///< the line of the header, or enough of it
  const char* weakened;   ///< the weaker order in its place
  const char* violation;  ///< what goes wrong with it
  bool (*as_written)();   ///< whether the model allows the violation
  bool (*as_weakened)();  ///< whether it allows the violation with the weaker order
};

inline std::ostream& operator<<(std::ostream& out, const order_row& row) {
  return out << row.header << ": " << row.code << " as " << row.weakened << ": " << row.violation;
}

class row_test : public ::testing::TestWithParam<order_row> {
 protected:
  static void expect_the_guarantee() {
    EXPECT_FALSE(GetParam().as_written()) << "the model allows, as the header is written: " << GetParam();
  }
  static void expect_the_need() { EXPECT_TRUE(GetParam().as_weakened()) << "the weaker order is enough: " << GetParam(); }
};

inline std::string name_of_row(const ::testing::TestParamInfo<order_row>& each) {
  std::string name = std::string(each.param.header) + "_" + std::to_string(each.index);
  std::ranges::replace(name, '.', '_');
  return name;
}

/// The lines of a header that name an order other than relaxed outside comments, strings and static_asserts.
inline std::vector<std::string> lines_with_orders(const std::filesystem::path& header) {
  std::ifstream file(header);
  std::vector<std::string> found;
  const std::regex order(R"(\b(release|acquire|acq_rel|seq_cst)(_t)?\b)");
  const std::regex not_an_order(R"(//.*|"[^"]*"|memory_order::\w+)");
  for (std::string line; std::getline(file, line);) {
    line = std::regex_replace(line, not_an_order, "");
    if (std::regex_search(line, order)) {
      found.push_back(line);
    }
  }
  return found;
}

/// Expects that the device headers of a folder and the table name the same lines.
inline void expect_every_order_of(const std::filesystem::path& folder, std::span<const order_row> table) {
  std::set<std::string> headers;
  for (const auto& file : std::filesystem::directory_iterator(folder)) {
    if (file.path().extension() != ".cuh") {
      continue;  // a host header has no instruction with an order
    }
    const std::string name = file.path().filename().string();
    headers.insert(name);
    for (const std::string& line : lines_with_orders(file.path())) {
      const bool known = std::ranges::any_of(
          table, [&](const order_row& row) { return name == row.header && line.find(row.code) != std::string::npos; });
      EXPECT_TRUE(known) << name << " has an order without a row in the table: " << line;
    }
  }
  for (const order_row& row : table) {
    const bool there = headers.contains(row.header) &&
                       std::ranges::any_of(lines_with_orders(folder / row.header),
                                           [&](const std::string& line) { return line.find(row.code) != std::string::npos; });
    EXPECT_TRUE(there) << "the header has no such line: " << row;
  }
}

}  // namespace membar_test
