// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
/// @file
/// The records that the preloaded library writes while the program runs, one file for each process. The command reads them
/// afterwards. A line is a letter followed by its fields. Times are in nanoseconds:
///
///     F version                                 the first line: the version of this format (format_version.hpp)
///     N id name                                 the name of a kernel
///     R name reason                             why the kernel counts as remote: peer, host
///     P name pointer graphs first last          for the check: a pointer that the kernel was given. `graphs` is 1 if a node in a graph had it. `first` and
///                                               `last` are a range of launches outside graphs, counted from 0; 1 0: none
///     S name seen launches                      for the check: `seen` is 1 if all pointers of its launches are known. `launches` is the number of launches
///                                               outside graphs; ?: their order is not known
///     I image name                              for the check: the kernel of this name is in <process>.<image>.image
///     K device stream graph start end name launch fills   a kernel that ran. Kernels of one graph launch have its number. `fills`
///                                               is 1 if its blocks filled the device
///     E name f2 n1 ...                          its launches outside graphs, in order: here 2 with far pointers, then 1 without; ?: the order is not known
///     G name far near                           the number of its nodes in graphs with far pointers, and of those without
///     D name                                    the program itself runs all its launches and nodes in another domain
///     L id description                          a lane, which is a stream or graph whose pace is measured
///     T lane start end                          the time of a unit of work of a lane
///     M mode start end                          a listed kernel ran, moved as `mode` says
#pragma once

#include <compare>
#include <cstdint>
#include <functional>
#include <iosfwd>
#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

namespace membar_domains {

/// How a listed kernel was launched: as in the program, moved, or with a map that changes nothing.
enum class mode : int { off = 0, on = 1, control = 2 };

/// The number of launches without a remote kernel that form one unit of work of a stream.
inline constexpr unsigned launches_in_a_unit = 50;

struct kernel_record {
  std::uint32_t device = 0, stream = 0, graph = 0;
  std::uint64_t start = 0, end = 0;
  std::uint32_t name = 0;
  std::uint32_t launch = 0;  ///< the number of the launching call; 0: not known
  bool fills = false;        ///< whether its blocks filled the device
  bool near = false;         ///< it had no far pointers, while others of its name had some; set by `distinguish_launches`
};

struct tick {
  std::uint32_t lane = 0;
  std::int64_t start = 0, end = 0;
};

struct moved_run {
  mode how = mode::off;
  std::int64_t start = 0, end = 0;
};

/// The launches of a name that had far pointers.
struct far_launches {
  bool ordered = true;
  std::vector<std::pair<bool, std::uint64_t>> runs;  ///< outside graphs: whether the launches are far, and how many there are
  std::uint64_t far_nodes = 0, near_nodes = 0;
};

/// The launches of a name that had a pointer: those in graphs, and a range of those outside.
struct pointer_uses {
  bool in_graphs = false;
  std::uint64_t first = 1, last = 0;  ///< outside graphs, in their order; empty if `first` is greater than `last`
  auto operator<=>(const pointer_uses&) const = default;
};

/// The records of one process.
struct records {
  std::map<std::uint32_t, std::string> names, reasons, lanes;
  std::map<std::uint32_t, std::map<std::uint64_t, pointer_uses>> pointers;  ///< by name
  /// names for which all pointers of all launches are known
  std::set<std::uint32_t> looked_at;
  std::map<std::uint32_t, std::uint64_t> launched;  ///< by name: the number of launches outside graphs, if their order is known
  std::map<std::string, std::uint32_t> images;      ///< by a kernel's name
  std::vector<kernel_record> kernels;
  std::vector<tick> ticks;
  std::vector<moved_run> moves;
  std::map<std::uint32_t, far_launches> far;  ///< by name
  std::set<std::uint32_t> already_isolated;   ///< names that the program itself runs in another domain
  std::set<std::uint32_t>
      not_distinguished;  ///< names whose far launches `distinguish_launches` could not distinguish from the others
  int unreadable = 0;     ///< the number of truncated lines, for example after a crash
};

/// Throws `error` if the records have another version, or none. An empty file of a process that crashed early is accepted.
[[nodiscard]] records read_records(std::istream& in);

/// Distinguishes the far launches of the names for which `by_pointer` is true, which count as remote because of pointers.
/// Launches outside graphs are matched by their order, which is that of the numbers that CUPTI gives them, if both counts are
/// equal. In graphs, they are distinguished if all nodes of a name are alike.
void distinguish_launches(records& of, const std::function<bool(std::uint32_t, const std::string&)>& by_pointer);

}  // namespace membar_domains
