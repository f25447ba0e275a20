// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
/// @file
/// The readings of ambiguous places in the PTX ISA, by name, and the choices that a command makes. docs/readings.md explains
/// each of them.
#pragma once

#include <membar/model/litmus_test.hpp>
#include <membar/model/rules.hpp>

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace membar::litmus_files {

/// Returns the names of the readings, for `--reading=`.
[[nodiscard]] std::vector<std::string> reading_names();

/// A reading whose alternative membar-check also has.
struct checked_reading {
  std::string_view name;
  model::reading one;
};

/// Returns these, as rows of the same table.
[[nodiscard]] std::vector<checked_reading> checked_readings();

/// Returns the end of the message of a race that the alternative of `reading` rules out.
[[nodiscard]] std::string depends_on(std::string_view reading);

/// The choices of readings that differ from the model's.
class chosen_readings {
 public:
  /// Chooses the alternative of the reading `name`. Returns false if there is no such reading.
  [[nodiscard]] bool take(std::string_view name);
  /// Chooses the alternatives that give a program more guarantees (`lenient`) or fewer (`strict`), for every reading; `default`
  /// is the model's choice. Returns false for any other word.
  [[nodiscard]] bool take_all(std::string_view sides);

  /// Returns whether some choice differs from the model's.
  [[nodiscard]] explicit operator bool() const noexcept { return any_; }
  [[nodiscard]] const model::other_readings& rules() const noexcept { return rules_; }
  /// Applies the readings that change the meaning of a test's instructions.
  void apply(model::litmus_test& test) const;

 private:
  model::other_readings rules_;
  bool any_ = false;
};

}  // namespace membar::litmus_files
