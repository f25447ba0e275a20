// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
/// @file
/// Which kernels the sources of a PTX module launch as programmatic dependents, as far as their text says so.
#pragma once

#include <set>
#include <string>
#include <string_view>
#include <vector>

namespace membar::lint {

/// The last part of a kernel's name in PTX: without namespaces, template arguments and parameters.
[[nodiscard]] std::string plain_name(std::string_view kernel);

/// The names in the text of calls and functions that launch with the attribute of programmatic stream serialization.
class dependent_launches {
 public:
  dependent_launches() = default;
  /// Reads the sources; one that does not exist, or is a header of CUDA, is left out.
  explicit dependent_launches(const std::vector<std::string>& files);

  /// Whether such a launch names the kernel, which is given by its plain name.
  [[nodiscard]] bool have(std::string_view plain_name) const { return names_.contains(plain_name); }

 private:
  std::set<std::string, std::less<>> names_;
};

}  // namespace membar::lint
