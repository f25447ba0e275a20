// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
/// @file
/// Of --check: kernels that a move would put into another domain than a kernel that they may synchronize with at device scope.
#pragma once

#include <cstddef>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "membar-domains/records.hpp"

namespace membar_domains {

/// What the code of a kernel does at device scope.
struct device_scope {
  bool releases = false, acquires = false;
};

/// Of the entry `name` in PTX, with the functions beside it if it calls any; nothing if the text has no such entry. A fence counts as
/// both, and only what names the scope `gpu` counts: system scope holds in any domain, block scope is within a kernel.
[[nodiscard]] std::optional<device_scope> in_ptx(std::string_view text, const std::string& name);

/// Of machine code as cuobjdump -sass prints it. A device-scope barrier of memory (MEMBAR with GPU) beside a strong access at device
/// scope releases; such an access beside an invalidation of L1 (CCTL.IVALL) acquires.
[[nodiscard]] device_scope in_sass(std::string_view text);

/// What --check found of the processes together.
struct check_report {
  std::vector<std::string> warnings;      ///< a sentence each
  std::size_t pairs = 0;                  ///< of a remote kernel and another that ran at the same time on a device
  std::size_t sharing = 0;                ///< of these, those that were given a pointer of the same value
  std::size_t without_arguments = 0;      ///< kernels in pairs of which no pointer was seen
  std::vector<std::string> without_code;  ///< kernels that share a pointer, and whose code could not be read
};

/// `why_remote` as in `overlaps`. `code_of` reads the code of a kernel of the (recorded) number.
void check(const records& of, const std::function<std::string(std::uint32_t, const std::string&)>& why_remote,
           const std::function<std::optional<device_scope>(std::uint32_t)>& code_of, check_report& into);

/// What was found, and what could not be seen.
[[nodiscard]] std::string text(const check_report& report);

/// The code of a kernel from an image that a program loaded: of PTX as it is, of anything else by the command cuobjdump, if there is
/// one. Nothing if it cannot be read.
[[nodiscard]] std::optional<device_scope> code_in_image(const std::string& path, const std::string& name);

}  // namespace membar_domains
