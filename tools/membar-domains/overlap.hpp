// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
/// @file
/// Finds the kernels that ran concurrently with remote kernels, which are kernels that store to a peer or to the host.
/// Determines by how much the boundaries between these kernels were delayed. A boundary is the step from one kernel to the next
/// kernel in the same stream.
#pragma once

#include <functional>
#include <map>
#include <set>
#include <span>
#include <string>
#include <vector>

#include "membar-domains/records.hpp"

namespace membar_domains {

struct interval {
  std::int64_t start = 0, end = 0;
};

/// Returns the union of the intervals in order. Intervals with a gap of at most `close` are joined.
[[nodiscard]] std::vector<interval> merge(std::vector<interval> intervals, std::int64_t close = 0);

/// Returns whether one interval of the ordered, disjoint `intervals` contains [start, end].
[[nodiscard]] bool contains(std::span<const interval> intervals, std::int64_t start, std::int64_t end);

/// Returns whether an interval of the ordered, disjoint `intervals` overlaps [start, end].
[[nodiscard]] bool overlaps(std::span<const interval> intervals, std::int64_t start, std::int64_t end);

/// The boundaries of one kind, at which the kernel `after` directly follows the kernel `before` in a stream. `alone` is the
/// number of these boundaries that no remote kernel overlapped, and `beside` is the number that ran concurrently with a remote
/// kernel. Times are medians in µs: `step` is the time from start to start, and `gap` is the time from end to start.
struct boundary {
  std::uint32_t device = 0;
  std::string before, after;  ///< short names
  bool in_graph = false;
  std::size_t alone = 0, beside = 0;
  double step_alone = 0, step_beside = 0, gap_alone = 0, gap_beside = 0;
  double held_up = 0;  ///< the delay of each concurrent boundary in µs; 0 if it is not known
  /// whether this row contains only boundaries concurrent with a remote kernel that fills the device; other boundaries are in
  /// another row
  bool no_room = false;
  bool known = false;  ///< whether the delay is known, which requires that `alone` and `beside` are at least `enough`
  double total_ms() const { return held_up * static_cast<double>(beside) / 1000; }
};

struct remote_kernel {
  std::string name;  ///< the recorded name
  std::string why;
  std::size_t count = 0;
  double total_ms = 0;
  double shared_ms = 0;                 ///< how long kernels in other streams ran at the same time
  bool alone_of_its_short_name = true;  ///< whether no other kernel has the same short name
  std::size_t near = 0;                 ///< the number of launches without far pointers, which do not count as remote
  std::size_t fills = 0;                ///< the number of launches whose blocks fill the device
  bool distinguished = true;            ///< whether the far launches could be distinguished from the others
  bool already_isolated = false;        ///< whether the program itself runs this kernel in another domain
};

struct overlap_report {
  std::vector<remote_kernel> remote;
  std::vector<boundary> boundaries;  ///< the boundaries, most expensive first
  std::size_t held_up_count = 0;
  double held_up_ms = 0;
  double beside_ms = 0;         ///< how long streams with other kernels were busy while remote kernels ran
  std::size_t unknown = 0;      ///< the number of concurrent boundaries of a kind that ran alone too rarely for a comparison
  std::set<std::string> local;  ///< the names of the kernels that ran and are not remote
  /// the number of boundaries concurrent with a remote kernel that fills the device; moving that kernel does not improve these
  /// boundaries
  std::size_t no_room = 0;
  double no_room_ms = 0;  ///< how much longer these boundaries took than when no remote kernel ran
  /// Returns whether the kernel to move that ran concurrently with other kernels for the longest time stores to the host.
  bool to_host() const;
  bool all_isolated() const;  ///< returns whether all remote kernels that ran concurrently with others are isolated
  /// Returns whether the far launches of every remote kernel could be distinguished from its other launches.
  bool distinguished() const;
};

/// A gap longer than this means that the stream was idle.
inline constexpr double longest_gap_us = 50;
/// Kernels that run longer than this share bandwidth with the remote kernel. For them, only the gap after the kernel is
/// evaluated.
inline constexpr double longest_small_kernel_us = 20;
/// The minimum number of boundaries of a kind that must be recorded without a remote kernel, and also the minimum number that
/// must be recorded concurrently with one.
inline constexpr std::size_t enough = 5;

/// Finds the overlaps. `why_remote` returns why a kernel with this recorded name counts as remote, or an empty string if it
/// does not.
[[nodiscard]] overlap_report find_overlaps(const records& of,
                                           const std::function<std::string(std::uint32_t, const std::string&)>& why_remote);

/// Combines the reports of several processes. Boundaries with the same short names are combined. Their times are averaged,
/// weighted by each process's number of concurrent boundaries.
[[nodiscard]] overlap_report merge_reports(const std::vector<overlap_report>& reports);

/// Returns the verdict in one sentence.
[[nodiscard]] std::string sentence(const overlap_report& report);

/// Returns the table of boundaries as plain text.
[[nodiscard]] std::string table(const overlap_report& report, std::size_t rows = 12);

/// Warnings, by the recorded name of the kernel to move.
using warnings_by_name = std::map<std::string, std::set<std::string>>;

/// Returns the list for `apply`, with the result of the check for each rule. If `warned` is null, the rules were not checked.
[[nodiscard]] std::string list_of(const overlap_report& report, const warnings_by_name* warned = nullptr);

/// Returns the median, or 0 for an empty range.
[[nodiscard]] double median(std::vector<double> values);

/// Returns a number with commas between groups of three digits.
[[nodiscard]] std::string grouped(std::size_t number);

}  // namespace membar_domains
