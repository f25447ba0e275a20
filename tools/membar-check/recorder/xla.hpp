// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
/// @file
/// The PTX that XLA writes to its dump. XLA writes PTX only if XLA_FLAGS requests this, and ends the process if XLA_FLAGS
/// contains a flag that this version of XLA does not support. The library therefore replaces `getenv`: each library that reads
/// XLA_FLAGS gets the program's flags, plus the dump flags that it supports.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>

namespace membar_record {

/// Returns a time that is not earlier than the modification time of any file that has been written, in nanoseconds.
[[nodiscard]] std::int64_t file_time() noexcept;

/// A kernel whose PTX `in_xla_dump` looks for.
struct wanted_kernel {
  std::string_view name;
  std::string_view machine_code;            ///< the cubin that contains the kernel; empty if it is not known
  std::int64_t loaded;                      ///< the file time at which the cubin was loaded
  std::function<std::size_t()> parameters;  ///< returns the number of the kernel's parameters
};

struct dumped_ptx {
  std::string text;      ///< empty if there is none
  unsigned choices = 0;  ///< how many kernels in the dump may be this one; `text` contains the newest of them
};

/// Returns the PTX of a kernel from XLA's dump. XLA gives the same name to the kernels of different functions and shapes.
/// Therefore PTX is considered only if it was written before the cubin was loaded, if the cubin contains all its kernels, and
/// if the kernel has the same number of parameters in both. The caller must hold a lock.
[[nodiscard]] dumped_ptx in_xla_dump(const wanted_kernel& kernel);

}  // namespace membar_record
