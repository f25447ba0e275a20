// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
/// @file
/// The records that the preloaded library writes while the program runs, one file for each process. The command reads them
/// afterwards. A far pointer is a pointer to a peer's or the host's memory, and a far launch has such a pointer among its
/// arguments. A line is a letter followed by its fields. Times are in nanoseconds:
///
///     F version                                 the first line: the version of this format (format_version.hpp)
///     N id name                                 the name of a kernel
///     R name reason                             why the kernel counts as remote: peer or host
///     P name pointer graphs first last          for the check: a pointer that the kernel was given. `graphs` is 1 if a node in a graph had it. `first` and
///                                               `last` are a range of launches outside graphs, counted from 0; `1 0` if there
///                                               are none
///     S name seen launches                      for the check: `seen` is 1 if all pointers of its launches are known. `launches` is the number of launches
///                                               outside graphs, or `?` if their order is not known
///     I image name                              for the check: the kernel of this name is in <process>.<image>.image
///     K device stream graph start end name launch fills   a kernel that ran. Kernels of one graph launch have its number. `fills`
///                                               is 1 if its blocks filled the device
///     E name f2 n1 ...                          its launches outside graphs, in order: here 2 with far pointers, then 1 without; `?` if the order
///                                               is not known
///     G name far near                           the numbers of its nodes in graphs with and without far pointers
///     D name                                    the program itself runs all its launches and nodes in another domain
///     L id description                          a lane, which is a stream or graph whose pace is measured
///     T lane start end                          one unit of work in a lane
///     M mode start end                          a run of a listed kernel that was launched in this mode
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

/// How a listed kernel was launched: as in the program, moved, or with a domain map that changes nothing.
enum class mode : int { off = 0, on = 1, control = 2 };

/// The number of launches of other kernels that form one unit of work in a stream.
inline constexpr unsigned launches_in_a_unit = 50;

struct kernel_record {
  std::uint32_t device = 0, stream = 0, graph = 0;
  std::uint64_t start = 0, end = 0;
  std::uint32_t name = 0;
  std::uint32_t launch = 0;  ///< the number of the launching call; 0 if it is not known
  bool fills = false;        ///< whether its blocks filled the device
  /// whether the launch had no far pointers although other launches of kernels with the same name had some; set by
  /// `distinguish_launches`
  bool near = false;
};

struct tick {
  std::uint32_t lane = 0;
  std::int64_t start = 0, end = 0;
};

struct moved_run {
  mode how = mode::off;
  std::int64_t start = 0, end = 0;
};

/// For all kernels with the same name: which of their launches had far pointers.
struct far_launches {
  bool ordered = true;
  /// for launches outside graphs, in order: runs of consecutive launches, each stored as whether its launches are far, and
  /// their number
  std::vector<std::pair<bool, std::uint64_t>> runs;
  std::uint64_t far_nodes = 0, near_nodes = 0;
};

/// For all kernels with the same name: which of their launches had a certain pointer. Stores whether some of these launches
/// were in graphs, and a range of launches outside graphs.
struct pointer_uses {
  bool in_graphs = false;
  /// the range of launches outside graphs, by their order; empty if `first` is greater than `last`
  std::uint64_t first = 1, last = 0;
  auto operator<=>(const pointer_uses&) const = default;
};

/// The records of one process.
struct records {
  std::map<std::uint32_t, std::string> names, reasons, lanes;
  std::map<std::uint32_t, std::map<std::uint64_t, pointer_uses>> pointers;  ///< by kernel name
  /// the names for which all pointers of all launches are known
  std::set<std::uint32_t> looked_at;
  /// by kernel name: the number of launches outside graphs, if their order is known
  std::map<std::uint32_t, std::uint64_t> launched;
  std::map<std::string, std::uint32_t> images;  ///< by a kernel's name
  std::vector<kernel_record> kernels;
  std::vector<tick> ticks;
  std::vector<moved_run> moves;
  std::map<std::uint32_t, far_launches> far;  ///< by kernel name
  std::set<std::uint32_t> already_isolated;   ///< the names that the program itself runs in another domain
  std::set<std::uint32_t>
      not_distinguished;  ///< the names whose far launches `distinguish_launches` could not distinguish from the others
  int unreadable = 0;     ///< the number of truncated lines, for example after a crash
};

/// Reads the records of a process. Throws an `error` if they have no version or another version. The empty file of a process
/// that crashed early is accepted.
[[nodiscard]] records read_records(std::istream& in);

/// Determines which launches are far, for all names for which `by_pointer` returns true. These names count as remote only
/// because of pointers. Launches outside graphs are matched by their order, which is the order of CUPTI's numbers, if the
/// library and CUPTI have counted the same number of launches. Launches in graphs are distinguished if all nodes with the same
/// name are alike.
void distinguish_launches(records& of, const std::function<bool(std::uint32_t, const std::string&)>& by_pointer);

}  // namespace membar_domains
