// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
/// @file
/// The readings of ambiguous passages in the PTX ISA, by name, and a command's choices between them. docs/readings.md explains
/// each reading.
#pragma once

#include <membar/model/litmus_test.hpp>
#include <membar/model/rules.hpp>

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace membar::litmus_files {

/// Returns the names of the readings that `--reading=` accepts.
[[nodiscard]] std::vector<std::string> reading_names();

/// A reading whose alternative membar-check also supports.
struct checked_reading {
  std::string_view name;
  model::reading one;
};

/// Returns the readings that membar-check also supports.
[[nodiscard]] std::vector<checked_reading> checked_readings();

/// Returns a remark that names the readings whose alternative membar-check takes, or an empty string if there are none.
[[nodiscard]] std::string alternatives_taken(const model::other_readings& readings);

/// Returns the end of a message about a race that was not found under the alternative to `reading`.
[[nodiscard]] std::string depends_on(std::string_view reading, const std::string& what = "; this");

/// The chosen readings that differ from the model's.
class chosen_readings {
 public:
  /// Chooses the alternative to the reading `name`. Returns false if there is no reading with that name.
  [[nodiscard]] bool take(std::string_view name);
  /// For every reading, chooses the alternative if it gives programs more guarantees (`lenient`) or fewer (`strict`) than the
  /// model's reading. `default` keeps the model's readings. Returns false for any other word.
  [[nodiscard]] bool take_all(std::string_view sides);

  /// Returns whether any choice differs from the model's reading.
  [[nodiscard]] explicit operator bool() const noexcept { return any_; }
  [[nodiscard]] const model::other_readings& rules() const noexcept { return rules_; }
  /// Applies the readings that change the meaning of a test's instructions.
  void apply(model::litmus_test& test) const;

 private:
  model::other_readings rules_;
  bool any_ = false;
};

}  // namespace membar::litmus_files
