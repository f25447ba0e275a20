// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
/// @file
/// The readings of open places of the PTX ISA by name, and the sides of them that a command asks for. docs/readings.md explains each.
#pragma once

#include <membar/model/litmus_test.hpp>
#include <membar/model/rules.hpp>

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace membar::litmus_files {

/// The names of the readings, as `--reading=` takes them.
[[nodiscard]] std::vector<std::string> reading_names();

/// A reading whose other side membar-check has too.
struct checked_reading {
  std::string_view name;
  model::reading one;
};

/// These, as rows of the same table.
[[nodiscard]] std::vector<checked_reading> checked_readings();

/// The end of the message of a race that there is none of with the other side of a reading.
[[nodiscard]] std::string depends_on(std::string_view reading);

/// The sides of the readings that differ from the model's.
class chosen_readings {
 public:
  /// Takes the other side of the reading `name`. False if there is none of that name.
  [[nodiscard]] bool take(std::string_view name);
  /// Takes the side that gives a program more guarantees (`lenient`), or fewer (`strict`), of every reading; `default`: the model's. False for
  /// another word.
  [[nodiscard]] bool take_all(std::string_view sides);

  /// Whether some side differs from the model's.
  [[nodiscard]] explicit operator bool() const noexcept { return any_; }
  [[nodiscard]] const model::other_readings& rules() const noexcept { return rules_; }
  /// Changes what the readings make of the instructions of a test.
  void apply(model::litmus_test& test) const;

 private:
  model::other_readings rules_;
  bool any_ = false;
};

}  // namespace membar::litmus_files
