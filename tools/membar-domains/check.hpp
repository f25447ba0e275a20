// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
/// @file
/// The check of a list: kernels that a move would put into another domain than a kernel with which they may synchronize.
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

/// The scopes at which code does something. Those below the device's cannot reach another kernel, and do not count.
struct scopes {
  bool device = false, system = false;
  [[nodiscard]] bool any() const noexcept { return device || system; }
  scopes& operator|=(const scopes& more) noexcept {
    device = device || more.device;
    system = system || more.system;
    return *this;
  }
};

/// What the code of a kernel does to synchronize with others. A fence releases and acquires.
struct synchronization {
  scopes releases, acquires, atomics;
};

/// Whether one side releases and the other acquires, or both are atomic, and either is narrower than the system: across domains that orders
/// nothing, and is not atomic.
[[nodiscard]] bool needs_one_domain(const synchronization& a, const synchronization& b) noexcept;

/// The synchronization in the PTX entry `name`, including the functions of the module if it calls any; nothing if the text has no such entry.
[[nodiscard]] std::optional<synchronization> in_ptx(std::string_view text, const std::string& name);

/// The synchronization in machine code as printed by cuobjdump -sass. A memory barrier (MEMBAR) together with a strong write releases; a strong read together with a barrier or an L1 invalidation (CCTL.IVALL) acquires. The narrower scope of the two counts.
[[nodiscard]] synchronization in_sass(std::string_view text);

/// What the check found of the processes together.
struct check_report {
  std::vector<std::string> warnings;      ///< a sentence each
  warnings_by_name warned;                ///< the same, by the recorded name of the kernel to move
  std::size_t pairs = 0;                  ///< of a remote kernel and another that ran at the same time on a device
  std::size_t sharing = 0;                ///< of these, those that were given a pointer of the same value
  std::size_t without_arguments = 0;      ///< kernels in pairs of which no launch was seen, or not all pointers
  std::vector<std::string> without_code;  ///< kernels that share a pointer, and whose code could not be read
};

/// `why_remote` as in `overlaps`. `code_of` reads the code of a kernel of the (recorded) number. Every pair that has a pointer in common is
/// a warning, as its kernels are moved together or not at all; so is a pair of which that is not known.
void check(const records& of, const std::function<std::string(std::uint32_t, const std::string&)>& why_remote,
           const std::function<std::optional<synchronization>(std::uint32_t)>& code_of, check_report& into);

/// What was found, and what could not be seen.
[[nodiscard]] std::string text(const check_report& report);

/// The code of a kernel from an image that a program loaded: of PTX as it is, of anything else by the command cuobjdump, if there is
/// one. Nothing if it cannot be read.
[[nodiscard]] std::optional<synchronization> code_in_image(const std::string& path, const std::string& name);

}  // namespace membar_domains
