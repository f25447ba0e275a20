// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
/// @file
/// Splits PTX text into the parts of a module without parsing their contents, so that PTX of any version and size can be split.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace membar::ptx {

/// A part of a module at its outermost level.
struct ptx_part {
  enum class kind_t : unsigned char { directive, kernel, function, variable, other };
  kind_t kind = kind_t::other;
  std::string_view name{};  ///< of a kernel, function or variable
  std::string_view text{};
};

/// Returns the parts of the module, which refer to `text`.
[[nodiscard]] std::vector<ptx_part> parts_of(std::string_view text);

/// Returns whether the module defines a kernel of this name.
[[nodiscard]] bool defines_kernel(std::string_view text, std::string_view kernel);

/// Returns whether the kernel, or a function of its module if it calls any, synchronizes: it has an atomic operation, a fence,
/// an ordered or volatile access, an mbarrier, an asynchronous copy or a programmatic launch.
[[nodiscard]] bool synchronizes(const std::vector<ptx_part>& module, std::string_view kernel);

/// Returns the module without the kernels that are not named, variables that nothing refers to, and debug sections.
[[nodiscard]] std::string with_kernels(std::string_view text, const std::vector<std::string>& kernels);

}  // namespace membar::ptx
