// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
/// @file
/// Checks a list: finds kernels that the list would move to a different domain than a kernel that they may synchronize with.
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

/// The scopes at which code performs an operation. Scopes narrower than the device are ignored, because they cannot affect
/// another kernel.
struct scopes {
  bool device = false, system = false;
  [[nodiscard]] bool any() const noexcept { return device || system; }
  scopes& operator|=(const scopes& more) noexcept {
    device = device || more.device;
    system = system || more.system;
    return *this;
  }
};

/// The operations in a kernel's code that may synchronize with other kernels. A fence both releases and acquires.
struct synchronization {
  scopes releases, acquires, atomics;
};

/// Returns whether one kernel releases and the other acquires, or both perform atomic operations, with at least one of these
/// operations at a scope narrower than the system. Across domains, such operations impose no order and are not atomic.
[[nodiscard]] bool needs_one_domain(const synchronization& a, const synchronization& b) noexcept;

/// Returns the synchronization in the PTX entry `name`. If the entry calls functions, the synchronization in the module's
/// functions is included. Returns nothing if the text has no such entry.
[[nodiscard]] std::optional<synchronization> in_ptx(std::string_view text, const std::string& name);

/// Returns the synchronization in machine code that cuobjdump -sass has printed. A memory barrier (MEMBAR) together with a
/// strong write releases. A strong read together with a barrier or an L1 invalidation (CCTL.IVALL) acquires. In each case, the
/// narrower of the two scopes counts.
[[nodiscard]] synchronization in_sass(std::string_view text);

/// The result of the check for all processes.
struct check_report {
  std::vector<std::string> warnings;      ///< one sentence each
  warnings_by_name warned;                ///< the warnings, by the recorded name of the kernel to move
  std::size_t pairs = 0;                  ///< pairs that ran concurrently on a device: a kernel to move, and another kernel
  std::size_t sharing = 0;                ///< the pairs whose kernels were given the same pointer value
  std::size_t without_arguments = 0;      ///< kernels in such pairs for which no launch was seen or some pointers are not known
  std::vector<std::string> without_code;  ///< kernels that share a pointer and whose code could not be read
};

/// Checks the recorded kernels. `why_remote` is as in `find_overlaps`. `code_of` reads the code of a kernel, given its recorded
/// number. Every pair with a common pointer causes a warning, because its kernels must be moved together or not at all. The
/// same applies to pairs for which a common pointer cannot be ruled out.
void check(const records& of, const std::function<std::string(std::uint32_t, const std::string&)>& why_remote,
           const std::function<std::optional<synchronization>(std::uint32_t)>& code_of, check_report& into);

/// Returns sentences about the findings and about what could not be examined.
[[nodiscard]] std::string text(const check_report& report);

/// Returns the synchronization in a kernel's code, read from an image that a program has loaded. PTX is read directly; other
/// code requires the command cuobjdump. Returns nothing if the code cannot be read.
[[nodiscard]] std::optional<synchronization> code_in_image(const std::string& path, const std::string& name);

}  // namespace membar_domains
