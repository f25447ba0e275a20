// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
/// @file
/// PTX as text: the parts of a module, found without reading what is in them, so that any version and any size of PTX can be divided.
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

/// The parts of the module, which refer to `text`.
[[nodiscard]] std::vector<ptx_part> parts_of(std::string_view text);

/// Whether the module defines a kernel of this name.
[[nodiscard]] bool defines_kernel(std::string_view text, std::string_view kernel);

/// Whether the kernel, or a function of its module if it calls any, synchronizes: it has an atomic operation, a fence, an ordered or volatile access,
/// an mbarrier, an asynchronous copy or a programmatic launch.
[[nodiscard]] bool synchronizes(const std::vector<ptx_part>& module, std::string_view kernel);

/// The module without the kernels that are not named, variables that nothing names, and sections for debuggers.
[[nodiscard]] std::string with_kernels(std::string_view text, const std::vector<std::string>& kernels);

}  // namespace membar::ptx
