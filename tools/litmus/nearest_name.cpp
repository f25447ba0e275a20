// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <litmus/nearest_name.hpp>

#include <vector>

namespace membar::litmus_files {

std::size_t edit_distance(std::string_view left, std::string_view right) {
  std::vector<std::vector<std::size_t>> table(left.size() + 1, std::vector<std::size_t>(right.size() + 1));
  for (std::size_t i = 0; i <= left.size(); ++i) {
    for (std::size_t j = 0; j <= right.size(); ++j) {
      if (i == 0 || j == 0) {
        table[i][j] = i + j;
        continue;
      }
      table[i][j] = std::min({table[i - 1][j] + 1, table[i][j - 1] + 1,
                              table[i - 1][j - 1] + (left[i - 1] == right[j - 1] ? std::size_t{0} : std::size_t{1})});
      if (i > 1 && j > 1 && left[i - 1] == right[j - 2] && left[i - 2] == right[j - 1]) {
        table[i][j] = std::min(table[i][j], table[i - 2][j - 2] + 1);
      }
    }
  }
  return table[left.size()][right.size()];
}

}  // namespace membar::litmus_files
