// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
/// @file
/// Splits PTX text into the parts of a module. The contents of the parts are not parsed, so PTX of any version and size can be
/// split.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace membar::ptx {

/// A top-level part of a module.
struct ptx_part {
  enum class kind_t : unsigned char { directive, kernel, function, variable, other };
  kind_t kind = kind_t::other;
  std::string_view name{};  ///< the name of a kernel, function or variable
  std::string_view text{};
};

/// Returns the parts of a module. They refer to `text`.
[[nodiscard]] std::vector<ptx_part> parts_of(std::string_view text);

/// Returns whether the module defines a kernel with this name.
[[nodiscard]] bool defines_kernel(std::string_view text, std::string_view kernel);

/// Returns whether the kernel may synchronize threads, which is the case if it contains an atomic operation, a fence, an
/// ordered or volatile access, an mbarrier instruction, an asynchronous copy, store or reduction, a cluster barrier, a
/// programmatic launch, or an instruction whose name begins with `multimem`, `wgmma`, `tcgen05`, `st.bulk` or
/// `tensormap.replace`. If the kernel calls functions, all functions of the module are also considered.
[[nodiscard]] bool synchronizes(const std::vector<ptx_part>& module, std::string_view kernel);

/// Returns the text of the module after removing the kernels that are not in `kernels`, unreferenced variables, and debug
/// sections.
[[nodiscard]] std::string with_kernels(std::string_view text, const std::vector<std::string>& kernels);

}  // namespace membar::ptx
