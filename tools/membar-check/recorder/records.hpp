// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
/// @file
/// What the command membar-check record and its preloaded library agree on: environment variables and the form of the records.
///
/// Each process writes PID.records into the folder: lines of JSON, of which the first has the version. Beside it are PID.N.ptx, the PTX of
/// modules, and PID.N.bin, contents of memory, without the zeros at their ends. Lines about launches, what orders them and memory that is shared with other
/// processes have a time, the same clock for all processes of the machine. With `flag_dependents` a launch has the number of the one that it follows in
/// its stream, and equal launches after different ones are recorded each.
#pragma once

#include <cstdint>
#include <string>

namespace membar_record {

inline constexpr int records_version = 3;

namespace environment {
inline constexpr const char* folder = "MEMBAR_RECORD_FOLDER";    ///< where records go; unset: nothing is recorded
inline constexpr const char* kernels = "MEMBAR_RECORD_KERNELS";  ///< a regular expression; empty: those that synchronize
inline constexpr const char* flags = "MEMBAR_RECORD_FLAGS";      ///< a sum of the flags below
inline constexpr const char* limit = "MEMBAR_RECORD_LIMIT";      ///< bytes on disk
inline constexpr const char* xla = "MEMBAR_RECORD_XLA";          ///< the folder into which XLA writes PTX
inline constexpr const char* waits = "MEMBAR_RECORD_WAITS";      ///< set: recording begins by membar_record_begin
inline constexpr const char* delays = "MEMBAR_WITNESS_DELAYS";   ///< a file with the kernels that witness delays; unset: none
}  // namespace environment

enum flags : unsigned {
  flag_all = 1,
  flag_no_contents = 2,
  flag_dependents = 4,  ///< what kernels that are launched as programmatic dependents, and those before them, access
  flag_strip = 8        ///< records nothing, and launches programmatic dependents as any other kernel
};

inline constexpr std::uint64_t default_limit = std::uint64_t{1} << 30U;
/// The most recordings of one kernel.
inline constexpr unsigned most_launches_of_a_kernel = 16;
/// The most bytes of one allocation that are recorded, from its first pointer on.
inline constexpr std::uint64_t most_bytes_of_memory = std::uint64_t{16} << 20U;

struct options {
  std::string folder{};
  std::string kernels{};
  std::string xla{};
  unsigned flags = 0;
  std::uint64_t limit = default_limit;
};

}  // namespace membar_record
