// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
/// @file
/// What the preloaded library writes while the program runs, a file for each process, and the command reads afterwards. A line is
/// a letter and its fields; times are in nanoseconds:
///
///     N id name                                 a kernel's name
///     R name reason                             why the kernel counts as remote: peer, host
///     P name pointer                            with --check: a pointer that the kernel was given
///     I image name                              with --check: the kernel of this name is in <process>.<image>.image
///     K device stream graph start end name launch   a kernel that ran; those of a graph's launch have its number
///     L id description                          a lane: a stream or graph whose pace is measured
///     T lane start end                          the time that a lane took for its unit of work
///     M mode start end                          a listed kernel ran, moved as `mode` says
#pragma once

#include <cstdint>
#include <iosfwd>
#include <map>
#include <set>
#include <string>
#include <vector>

namespace membar_domains {

/// How a listed kernel was launched: as the program did, moved, or with a map that changes nothing.
enum class mode : int { off = 0, on = 1, control = 2 };

struct ran {
  std::uint32_t device = 0, stream = 0, graph = 0;
  std::uint64_t start = 0, end = 0;
  std::uint32_t name = 0;
  std::uint32_t launch = 0;  ///< the call that launched it; 0: not known
};

struct tick {
  std::uint32_t lane = 0;
  std::int64_t start = 0, end = 0;
};

struct moved_run {
  mode how = mode::off;
  std::int64_t start = 0, end = 0;
};

/// What one process wrote.
struct records {
  std::map<std::uint32_t, std::string> names, reasons, lanes;
  std::map<std::uint32_t, std::set<std::uint64_t>> pointers;  ///< by name
  std::map<std::string, std::uint32_t> images;                ///< by a kernel's name
  std::vector<ran> kernels;
  std::vector<tick> ticks;
  std::vector<moved_run> moves;
  int unreadable = 0;  ///< lines that were cut off, as by a crash
};

[[nodiscard]] records read_records(std::istream& in);

}  // namespace membar_domains
