// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
/// @file
/// The interface between the command membar-check record and its preloaded library: environment variables and the format of the
/// records.
///
/// Each process writes PID.records to the folder. Its lines are JSON, and the first line contains the version. The PTX of
/// modules is in PID.N.ptx. Memory contents are in PID.N.bin, without trailing zeros. Lines about launches, their order, and
/// memory shared with other processes contain a timestamp from a clock that all processes on the machine share. With
/// `flag_dependents`, a launch also contains the number of its predecessor in the stream, and identical launches with different
/// predecessors are recorded separately.
#pragma once

#include <cstdint>
#include <string>

namespace membar_record {

inline constexpr int records_version = 4;

namespace environment {
inline constexpr const char* folder =
    "MEMBAR_RECORD_FOLDER";  ///< the folder for the records; if it is not set, nothing is recorded
/// a regular expression; if it is empty, kernels that synchronize are selected
inline constexpr const char* kernels = "MEMBAR_RECORD_KERNELS";
inline constexpr const char* flags = "MEMBAR_RECORD_FLAGS";  ///< a sum of the flags below
inline constexpr const char* limit = "MEMBAR_RECORD_LIMIT";  ///< the maximum number of bytes on disk
inline constexpr const char* xla = "MEMBAR_RECORD_XLA";      ///< a folder for the PTX that XLA writes
/// if set, the recording starts when membar_record_begin is called
inline constexpr const char* waits = "MEMBAR_RECORD_WAITS";
inline constexpr const char* delays = "MEMBAR_WITNESS_DELAYS";  ///< a file with the kernels that `witness` delays, if any
}  // namespace environment

enum flags : unsigned {
  flag_all = 1,
  flag_no_contents = 2,
  flag_dependents = 4,  ///< for --pdl: also records kernels that do not synchronize, and the predecessor of each launch
  flag_strip = 8        ///< records nothing and launches programmatic dependents like ordinary kernels
};

inline constexpr std::uint64_t default_limit = std::uint64_t{1} << 30U;
/// The maximum number of recordings of one kernel.
inline constexpr unsigned most_launches_of_a_kernel = 16;
/// The maximum number of bytes that are recorded for each allocation, starting at its first pointer.
inline constexpr std::uint64_t most_bytes_of_memory = std::uint64_t{16} << 20U;

struct options {
  std::string folder{};
  std::string kernels{};
  std::string xla{};
  unsigned flags = 0;
  std::uint64_t limit = default_limit;
};

}  // namespace membar_record
