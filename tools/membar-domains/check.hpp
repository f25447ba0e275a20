// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
/// @file
/// Checks a list: finds kernels that would be moved to another domain than a kernel with which they may synchronize.
#pragma once

#include <cstddef>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "membar-domains/overlap.hpp"
#include "membar-domains/records.hpp"

namespace membar_domains {

/// The scopes at which code performs an operation. Scopes narrower than the device cannot affect another kernel, and are
/// ignored.
struct scopes {
  bool device = false, system = false;
  [[nodiscard]] bool any() const noexcept { return device || system; }
  scopes& operator|=(const scopes& more) noexcept {
    device = device || more.device;
    system = system || more.system;
    return *this;
  }
};

/// The operations in the code of a kernel that may synchronize with other kernels. A fence both releases and acquires.
struct synchronization {
  scopes releases, acquires, atomics;
};

/// Returns whether one side releases and the other acquires, or both are atomic, and at least one has a scope narrower than the
/// system. Across domains, such operations order nothing and are not atomic.
[[nodiscard]] bool needs_one_domain(const synchronization& a, const synchronization& b) noexcept;

/// Returns the synchronization in the PTX entry `name`, including that of the module's functions if it calls any. Returns
/// nothing if the text has no such entry.
[[nodiscard]] std::optional<synchronization> in_ptx(std::string_view text, const std::string& name);

/// Returns the synchronization in machine code as printed by cuobjdump -sass. A memory barrier (MEMBAR) together with a strong
/// write releases. A strong read together with a barrier or an L1 invalidation (CCTL.IVALL) acquires. The narrower scope of the
/// two counts.
[[nodiscard]] synchronization in_sass(std::string_view text);

/// The result of the check for all processes.
struct check_report {
  std::vector<std::string> warnings;      ///< one sentence each
  warnings_by_name warned;                ///< the same, by the recorded name of the kernel to move
  std::size_t pairs = 0;                  ///< pairs of a remote kernel and another one that ran at the same time on a device
  std::size_t sharing = 0;                ///< pairs among them whose kernels were given a pointer of the same value
  std::size_t without_arguments = 0;      ///< kernels in pairs for which no launch was seen, or not all pointers are known
  std::vector<std::string> without_code;  ///< kernels that share a pointer, but whose code could not be read
};

/// `why_remote` is as in `overlaps`. `code_of` reads the code of a kernel, given its recorded number. Every pair with a common
/// pointer leads to a warning, because its kernels must be moved together or not at all. So does a pair for which common
/// pointers cannot be ruled out.
void check(const records& of, const std::function<std::string(std::uint32_t, const std::string&)>& why_remote,
           const std::function<std::optional<synchronization>(std::uint32_t)>& code_of, check_report& into);

/// Returns sentences about what was found, and what could not be examined.
[[nodiscard]] std::string text(const check_report& report);

/// Returns the code of a kernel from an image that a program loaded: PTX as it is, and anything else through the command
/// cuobjdump, if it is installed. Returns nothing if the code cannot be read.
[[nodiscard]] std::optional<synchronization> code_in_image(const std::string& path, const std::string& name);

}  // namespace membar_domains
