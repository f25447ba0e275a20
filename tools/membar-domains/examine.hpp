// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
/// @file
/// What watch and run make of the records of a process.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <string>

#include "membar-domains/check.hpp"
#include "membar-domains/job.hpp"
#include "membar-domains/options.hpp"

namespace membar_domains {

/// Why a kernel of the process counts as one that stores to a peer or the host: its number and name to the reason, or to nothing. The process must
/// outlive it.
[[nodiscard]] std::function<std::string(std::uint32_t, const std::string&)> why_remote_in(const options& asked,
                                                                                          const process& of);

/// Distinguishes far launches from others, and with `asked.check` checks them. `folder` has the files of the process.
void examine(const options& asked, const std::filesystem::path& folder, process& of, check_report& into);

}  // namespace membar_domains
