// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
/// @file
/// Evaluates the records of a process, for `watch` and `run`.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <string>

#include "membar-domains/check.hpp"
#include "membar-domains/job.hpp"
#include "membar-domains/options.hpp"

namespace membar_domains {

/// Returns a function that explains why a kernel of the process counts as storing to a peer or the host. It maps the kernel's
/// number and name to the reason, or to an empty string. The process must outlive the function.
[[nodiscard]] std::function<std::string(std::uint32_t, const std::string&)> why_remote_in(const options& asked,
                                                                                          const process& of);

/// Distinguishes far launches from others and, if `asked.check` is set, runs the check. `folder` contains the files of the
/// process.
void examine(const options& asked, const std::filesystem::path& folder, process& of, check_report& into);

}  // namespace membar_domains
