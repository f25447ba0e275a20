// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
/// @file
/// Finds which kernels ran concurrently with remote kernels, and how much longer their boundaries took.
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

/// The union of the intervals, in order; gaps of at most `close` are closed.
[[nodiscard]] std::vector<interval> merge(std::vector<interval> intervals, std::int64_t close = 0);

/// Whether one interval of the ordered, disjoint `intervals` contains [start, end].
[[nodiscard]] bool contains(std::span<const interval> intervals, std::int64_t start, std::int64_t end);

/// Whether an interval of the ordered, disjoint `intervals` shares a moment with [start, end].
[[nodiscard]] bool overlaps(std::span<const interval> intervals, std::int64_t start, std::int64_t end);

/// A kernel followed by another in its stream, many times. Times are medians in µs: `step` from start to start, `gap` from end to
/// start.
struct boundary {
  std::uint32_t device = 0;
  std::string before, after;  ///< short names
  bool in_graph = false;
  std::size_t alone = 0, beside = 0;
  double step_alone = 0, step_beside = 0, gap_alone = 0, gap_beside = 0;
  double held_up = 0;  ///< delay in µs of each concurrent boundary; 0 if not known
  bool no_room =
      false;  ///< the row is for boundaries concurrent with a remote kernel that fills the device; others are in another row
  bool known = false;  ///< both were seen often enough
  double total_ms() const { return held_up * static_cast<double>(beside) / 1000; }
};

struct remote_kernel {
  std::string name;  ///< as recorded
  std::string why;
  std::size_t count = 0;
  double total_ms = 0;
  double shared_ms = 0;                 ///< the part of it that is concurrent with kernels of other streams
  bool alone_of_its_short_name = true;  ///< no other kernel has its short name
  std::size_t near = 0;                 ///< launches without far pointers, which do not count as remote
  std::size_t fills = 0;                ///< launches whose blocks fill the device
  bool distinguished = true;            ///< its far launches could be distinguished from the others
  bool already_isolated = false;        ///< the program itself runs it in another domain
};

struct overlap_report {
  std::vector<remote_kernel> remote;
  std::vector<boundary> boundaries;  ///< the costliest first
  std::size_t held_up_count = 0;
  double held_up_ms = 0;
  double beside_ms = 0;         ///< time for which streams of other kernels worked concurrently with remote kernels
  std::size_t unknown = 0;      ///< concurrent boundaries with too few of the same kind alone
  std::set<std::string> local;  ///< names of kernels that ran and are not remote
  std::size_t no_room = 0;      ///< boundaries concurrent with a remote kernel that fills the device, which no domain helps
  double no_room_ms = 0;        ///< how much longer they took than alone
  bool to_host() const;         ///< the remote kernel to move with the longest time concurrent with others stores to the host
  bool all_isolated() const;    ///< every remote kernel that ran concurrently with others is already isolated
  bool distinguished() const;   ///< the far launches of every remote kernel could be distinguished from its other launches
};

/// A gap longer than this is a stream without work.
inline constexpr double longest_gap_us = 50;
/// Kernels longer than this share bandwidth with the remote kernel: of them only the gap counts.
inline constexpr double longest_small_kernel_us = 20;
/// The fewest recorded boundaries of a kind, both alone and concurrent.
inline constexpr std::size_t enough = 5;

/// `why_remote` returns why a kernel of the (recorded) name counts as remote; empty: it does not.
[[nodiscard]] overlap_report find_overlaps(const records& of,
                                           const std::function<std::string(std::uint32_t, const std::string&)>& why_remote);

/// One report of many processes: boundaries of the same short names become one, whose times are means, each process with the weight
/// of its boundaries beside.
[[nodiscard]] overlap_report merge_reports(const std::vector<overlap_report>& reports);

/// The verdict in one sentence.
[[nodiscard]] std::string sentence(const overlap_report& report);

/// The table of boundaries, in lines of plain text.
[[nodiscard]] std::string table(const overlap_report& report, std::size_t rows = 12);

/// Sentences of warnings, by the recorded name of the kernel to move.
using warnings_by_name = std::map<std::string, std::set<std::string>>;

/// The list that `apply` takes, and what the check found of each rule; null: there was no check.
[[nodiscard]] std::string list_of(const overlap_report& report, const warnings_by_name* warned = nullptr);

/// A median; 0 of nothing.
[[nodiscard]] double median(std::vector<double> values);

/// A number with a comma between thousands.
[[nodiscard]] std::string grouped(std::size_t number);

}  // namespace membar_domains
