// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
/// @file
/// Determines which kernels of a PTX module are launched as programmatic dependents, using only the text of the module's
/// sources.
#pragma once

#include <set>
#include <string>
#include <string_view>
#include <vector>

namespace membar::lint {

/// Returns the last component of a kernel's name in PTX, without namespaces, template arguments and parameters.
[[nodiscard]] std::string plain_name(std::string_view kernel);

/// The names that occur in calls and functions that launch with the programmatic stream serialization attribute.
class dependent_launches {
 public:
  dependent_launches() = default;
  /// Reads the sources. CUDA headers and files that do not exist are skipped.
  explicit dependent_launches(const std::vector<std::string>& files);

  /// Returns whether any such launch mentions the kernel with this plain name.
  [[nodiscard]] bool have(std::string_view plain_name) const { return names_.contains(plain_name); }

 private:
  std::set<std::string, std::less<>> names_;
};

}  // namespace membar::lint
