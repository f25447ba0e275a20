// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
/// @file
/// The interface between the command membar-check record and its preloaded library: environment variables and the format of the
/// records.
///
/// Each process writes PID.records into the folder. Its lines are JSON, and the first line contains the version. The PTX of
/// modules is in PID.N.ptx, and memory contents, without trailing zeros, are in PID.N.bin. Lines about launches, about their
/// order and about memory shared with other processes have a time, from a clock that all processes of the machine share. With
/// `flag_dependents` a launch has the number of its predecessor in the stream, and equal launches with different predecessors
/// are recorded separately.
#pragma once

#include <cstdint>
#include <string>

namespace membar_record {

inline constexpr int records_version = 3;

namespace environment {
inline constexpr const char* folder = "MEMBAR_RECORD_FOLDER";    ///< the folder for the records; unset: nothing is recorded
inline constexpr const char* kernels = "MEMBAR_RECORD_KERNELS";  ///< a regular expression; empty: kernels that synchronize
inline constexpr const char* flags = "MEMBAR_RECORD_FLAGS";      ///< a sum of the flags below
inline constexpr const char* limit = "MEMBAR_RECORD_LIMIT";      ///< bytes on disk
inline constexpr const char* xla = "MEMBAR_RECORD_XLA";          ///< the folder into which XLA writes PTX
inline constexpr const char* waits = "MEMBAR_RECORD_WAITS";      ///< set: recording begins by membar_record_begin
inline constexpr const char* delays = "MEMBAR_WITNESS_DELAYS";   ///< a file with the kernels that witness delays; unset: none
}  // namespace environment

enum flags : unsigned {
  flag_all = 1,
  flag_no_contents = 2,
  flag_dependents = 4,  ///< records the accesses of programmatic dependents and of the kernels before them
  flag_strip = 8        ///< records nothing, and launches programmatic dependents like any other kernel
};

inline constexpr std::uint64_t default_limit = std::uint64_t{1} << 30U;
/// The maximum number of recordings of one kernel.
inline constexpr unsigned most_launches_of_a_kernel = 16;
/// The maximum number of bytes recorded of one allocation, from its first pointer on.
inline constexpr std::uint64_t most_bytes_of_memory = std::uint64_t{16} << 20U;

struct options {
  std::string folder{};
  std::string kernels{};
  std::string xla{};
  unsigned flags = 0;
  std::uint64_t limit = default_limit;
};

}  // namespace membar_record
