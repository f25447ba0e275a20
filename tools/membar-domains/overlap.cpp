// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "membar-domains/overlap.hpp"

#include <algorithm>
#include <array>
#include <map>
#include <set>
#include <sstream>
#include <string_view>
#include <tuple>

#include "membar-domains/format_version.hpp"
#include "membar-domains/move_list.hpp"
#include "membar-domains/text.hpp"

namespace membar_domains {

std::vector<interval> merge(std::vector<interval> intervals, std::int64_t close) {
  std::sort(intervals.begin(), intervals.end(), [](const interval& a, const interval& b) { return a.start < b.start; });
  std::vector<interval> out;
  for (const interval& next : intervals) {
    if (!out.empty() && next.start <= out.back().end + close) {
      out.back().end = std::max(out.back().end, next.end);
    } else {
      out.push_back(next);
    }
  }
  return out;
}

namespace {

/// Returns the last interval that starts at or before `time`, or the end iterator if there is none.
std::span<const interval>::iterator last_before(std::span<const interval> intervals, std::int64_t time) {
  const auto after =
      std::upper_bound(intervals.begin(), intervals.end(), time, [](std::int64_t t, const interval& i) { return t < i.start; });
  return after == intervals.begin() ? intervals.end() : after - 1;
}

void sort_by_cost(overlap_report& report) {
  std::sort(report.boundaries.begin(), report.boundaries.end(), [](const boundary& a, const boundary& b) {
    return std::pair(a.total_ms(), a.beside) > std::pair(b.total_ms(), b.beside);
  });
}

interval time_of(const kernel_record& k) { return {static_cast<std::int64_t>(k.start), static_cast<std::int64_t>(k.end)}; }

}  // namespace

bool contains(std::span<const interval> intervals, std::int64_t start, std::int64_t end) {
  const auto at = last_before(intervals, start);
  return at != intervals.end() && at->end >= end;
}

bool overlaps(std::span<const interval> intervals, std::int64_t start, std::int64_t end) {
  const auto at = last_before(intervals, end);
  return at != intervals.end() && at->end >= start;
}

double median(std::vector<double> values) {
  if (values.empty()) {
    return 0;
  }
  const auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
  std::nth_element(values.begin(), middle, values.end());
  const double upper = *middle;
  if (values.size() % 2 == 1) {
    return upper;
  }
  return (upper + *std::max_element(values.begin(), middle)) / 2;
}

std::string grouped(std::size_t number) {
  std::string digits = std::to_string(number);
  for (std::ptrdiff_t at = static_cast<std::ptrdiff_t>(digits.size()) - 3; at > 0; at -= 3) {
    digits.insert(static_cast<std::size_t>(at), 1, ',');
  }
  return digits;
}

namespace {

using why_remote_function = std::function<std::string(std::uint32_t, const std::string&)>;
using intervals_by_device = std::map<std::uint32_t, std::vector<interval>>;

/// The kernels of a process, sorted by stream, and the times of the kernels that affect the boundaries of other kernels.
struct sorted_kernels {
  /// for each name, why it counts as remote
  std::map<std::uint32_t, std::string> why;
  std::map<std::uint32_t, std::string> brief;                                             ///< short names
  std::map<std::pair<std::uint32_t, std::uint32_t>, std::vector<kernel_record>> streams;  ///< by device and stream
  intervals_by_device local, remote, isolated, filled;
  [[nodiscard]] bool is_remote(const kernel_record& k) const { return why.contains(k.name) && !k.near; }
};

sorted_kernels sort_kernels(const records& of, const why_remote_function& why_remote) {
  sorted_kernels out;
  for (const auto& [id, name] : of.names) {
    out.brief[id] = short_name(name);
    if (std::string reason = why_remote(id, name); !reason.empty()) {
      out.why[id] = std::move(reason);
    }
  }
  for (const kernel_record& k : of.kernels) {
    if (!out.is_remote(k)) {
      out.local[k.device].push_back(time_of(k));
    }
    out.streams[{k.device, k.stream}].push_back(k);
  }
  for (auto& [where, kernels] : out.streams) {
    std::sort(kernels.begin(), kernels.end(), [](const auto& a, const auto& b) { return a.start < b.start; });
  }
  const auto merge_all = [](intervals_by_device& side) {
    for (auto& [device, intervals] : side) {
      intervals = merge(std::move(intervals));
    }
  };
  merge_all(out.local);
  // If there are kernels to move, the report shows the delay that they cause. Otherwise, it shows the delay that remains while
  // kernels run that the program has already isolated.
  const bool any_to_move = std::any_of(of.kernels.begin(), of.kernels.end(), [&](const kernel_record& k) {
    return out.is_remote(k) && !of.already_isolated.contains(k.name) &&
           overlaps(out.local[k.device], time_of(k).start, time_of(k).end);
  });
  for (const kernel_record& k : of.kernels) {
    if (out.is_remote(k)) {
      (any_to_move && of.already_isolated.contains(k.name) ? out.isolated : out.remote)[k.device].push_back(time_of(k));
      if (k.fills) {
        out.filled[k.device].push_back(time_of(k));
      }
    }
  }
  merge_all(out.remote);
  merge_all(out.isolated);
  merge_all(out.filled);
  return out;
}

/// Sorts the kernels by how long they ran concurrently with others, longest first.
void sort_by_shared_time(std::vector<remote_kernel>& remote) {
  std::sort(remote.begin(), remote.end(), [](const auto& a, const auto& b) { return a.shared_ms > b.shared_ms; });
}

std::vector<remote_kernel> remote_kernels_of(const records& of, sorted_kernels& sorted) {
  std::set<std::string> short_names_of_others;
  for (const auto& [id, name] : sorted.brief) {
    if (!sorted.why.contains(id)) {
      short_names_of_others.insert(name);
    }
  }
  std::map<std::uint32_t, remote_kernel> by_name;
  std::map<std::uint32_t, std::size_t> near;
  for (const kernel_record& k : of.kernels) {
    const auto reason = sorted.why.find(k.name);
    if (reason == sorted.why.end()) {
      continue;
    }
    if (k.near) {
      ++near[k.name];
      continue;
    }
    remote_kernel& r = by_name[k.name];
    r.name = of.names.at(k.name);
    r.distinguished = !of.not_distinguished.contains(k.name);
    r.already_isolated = of.already_isolated.contains(k.name);
    r.fills += k.fills ? 1 : 0;
    r.why = reason->second;
    r.alone_of_its_short_name = !short_names_of_others.contains(sorted.brief[k.name]);
    ++r.count;
    const double ms = static_cast<double>(k.end - k.start) / 1e6;
    r.total_ms += ms;
    r.shared_ms += overlaps(sorted.local[k.device], time_of(k).start, time_of(k).end) ? ms : 0;
  }
  std::vector<remote_kernel> out;
  for (auto& [id, r] : by_name) {
    r.near = near[id];
    out.push_back(std::move(r));
  }
  sort_by_shared_time(out);
  return out;
}

/// The kind of a boundary: the device, the names of the kernels before and after it, and whether a graph launched the kernels.
using boundary_kind = std::tuple<std::uint32_t, std::uint32_t, std::uint32_t, bool>;

/// The times, in µs, of boundaries of the same kind.
struct boundary_times {
  std::vector<double> step, gap, length;
};

/// Whether a boundary was concurrent with no remote kernel, with a remote kernel, or with one that fills the device. The value
/// is used as an index.
enum place : std::size_t { alone, beside, beside_one_that_fills };

struct seen_boundaries {
  std::map<boundary_kind, std::array<boundary_times, 3>> kinds;  ///< for each `place`
  double beside_ms = 0;
};

seen_boundaries see_boundaries(sorted_kernels& sorted) {
  seen_boundaries out;
  for (const auto& [where, kernels] : sorted.streams) {
    for (std::size_t i = 0; i + 1 < kernels.size(); ++i) {
      const kernel_record& a = kernels[i];
      const kernel_record& b = kernels[i + 1];
      if (sorted.is_remote(a) || sorted.is_remote(b) || b.start < a.end ||
          static_cast<double>(b.start - a.end) > longest_gap_us * 1000) {
        continue;
      }
      const auto start = static_cast<std::int64_t>(a.start);
      const auto next = static_cast<std::int64_t>(b.start);
      const std::vector<interval>& busy = sorted.remote[where.first];
      const bool is_beside = contains(busy, static_cast<std::int64_t>(a.end), next);
      if (!is_beside && (overlaps(busy, start, next) || overlaps(sorted.isolated[where.first], start, next))) {
        continue;  // the boundary overlaps a remote kernel only partly, or overlaps one that will not be moved
      }
      const boundary_kind kind{where.first, a.name, b.name, a.graph != 0};
      // A kernel that waits for free multiprocessors has to wait regardless of its domain.
      const bool no_room = is_beside && overlaps(sorted.filled[where.first], start, next);
      boundary_times& into = out.kinds[kind][no_room ? beside_one_that_fills : is_beside ? beside : alone];
      into.step.push_back(static_cast<double>(b.start - a.start) / 1000);
      into.gap.push_back(static_cast<double>(b.start - a.end) / 1000);
      into.length.push_back(static_cast<double>(a.end - a.start) / 1000);
      if (is_beside && !no_room) {
        out.beside_ms += static_cast<double>(b.start - a.start) / 1e6;
      }
    }
  }
  return out;
}

/// Compares boundaries of the same kind: those that are concurrent with remote kernels, and those that are not.
boundary compared(const boundary_times& before, const boundary_times& after) {
  boundary b;
  b.alone = before.step.size();
  b.beside = after.step.size();
  b.step_alone = median(before.step);
  b.step_beside = median(after.step);
  b.gap_alone = median(before.gap);
  b.gap_beside = median(after.gap);
  b.known = b.alone >= enough && b.beside >= enough;
  if (b.known) {
    const bool small = median(before.length) <= longest_small_kernel_us;
    b.held_up = std::max(0.0, small ? b.step_beside - b.step_alone : b.gap_beside - b.gap_alone);
  }
  return b;
}

/// Adds the rows and the sums for all kinds of boundaries to the report.
void add_boundaries(const seen_boundaries& seen, std::map<std::uint32_t, std::string>& brief, overlap_report& out) {
  for (const auto& [kind, times] : seen.kinds) {
    const auto& [device, before, after, in_graph] = kind;
    for (const place at : {beside, beside_one_that_fills}) {
      if (times[at].step.empty()) {
        continue;
      }
      boundary b = compared(times[alone], times[at]);
      b.no_room = at == beside_one_that_fills;
      b.device = device;
      b.before = brief[before];
      b.after = brief[after];
      b.in_graph = in_graph;
      if (b.no_room) {
        out.no_room += b.beside;
        out.no_room_ms += b.total_ms();
      } else if (b.known) {
        out.held_up_ms += b.total_ms();
        out.held_up_count += b.held_up > 0 ? b.beside : 0;
      } else {
        out.unknown += b.beside;
      }
      out.boundaries.push_back(std::move(b));
    }
  }
  sort_by_cost(out);
}

}  // namespace

overlap_report find_overlaps(const records& of, const why_remote_function& why_remote) {
  overlap_report out;
  sorted_kernels sorted = sort_kernels(of, why_remote);
  for (const kernel_record& k : of.kernels) {
    if (!sorted.is_remote(k) && of.names.contains(k.name)) {
      out.local.insert(of.names.at(k.name));
    }
  }
  out.remote = remote_kernels_of(of, sorted);
  const seen_boundaries seen = see_boundaries(sorted);
  out.beside_ms = seen.beside_ms;
  add_boundaries(seen, sorted.brief, out);
  return out;
}

overlap_report merge_reports(const std::vector<overlap_report>& reports) {
  overlap_report out;
  std::map<std::string, std::set<std::string>> of_short_name;  // for each short name, the kernel names in all processes
  for (const overlap_report& report : reports) {
    for (const std::string& name : report.local) {
      of_short_name[short_name(name)].insert(name);
    }
  }
  std::map<std::string, remote_kernel> remote;
  std::map<std::tuple<std::string, std::string, bool>, boundary> boundaries;
  const auto weigh = [](double& mean, double other, std::size_t before, std::size_t more) {
    mean += more == 0 ? 0 : (other - mean) * static_cast<double>(more) / static_cast<double>(before + more);
  };
  for (const overlap_report& report : reports) {
    for (const remote_kernel& r : report.remote) {
      const auto [at, is_new] = remote.try_emplace(r.name, r);
      const std::set<std::string>& others = of_short_name[short_name(r.name)];
      at->second.alone_of_its_short_name = at->second.alone_of_its_short_name && others.size() == others.count(r.name);
      if (!is_new) {
        at->second.count += r.count;
        at->second.total_ms += r.total_ms;
        at->second.shared_ms += r.shared_ms;
        at->second.near += r.near;
        at->second.fills += r.fills;
        at->second.distinguished = at->second.distinguished && r.distinguished;
        at->second.already_isolated = at->second.already_isolated && r.already_isolated;
        at->second.alone_of_its_short_name = at->second.alone_of_its_short_name && r.alone_of_its_short_name;
      }
    }
    for (const boundary& b : report.boundaries) {
      // Boundaries with known and with unknown delays are kept separate, because unknown delays would distort the mean.
      const auto [at, is_new] =
          boundaries.try_emplace({b.before, b.after + (b.known ? "" : "?") + (b.no_room ? "!" : ""), b.in_graph}, b);
      if (!is_new) {
        boundary& all = at->second;
        weigh(all.step_alone, b.step_alone, all.beside, b.beside);
        weigh(all.step_beside, b.step_beside, all.beside, b.beside);
        weigh(all.gap_alone, b.gap_alone, all.beside, b.beside);
        weigh(all.gap_beside, b.gap_beside, all.beside, b.beside);
        weigh(all.held_up, b.held_up, all.beside, b.beside);
        all.alone += b.alone;
        all.beside += b.beside;
      }
    }
    out.held_up_count += report.held_up_count;
    out.held_up_ms += report.held_up_ms;
    out.beside_ms += report.beside_ms;
    out.unknown += report.unknown;
    out.local.insert(report.local.begin(), report.local.end());
    out.no_room += report.no_room;
    out.no_room_ms += report.no_room_ms;
  }
  for (auto& [name, r] : remote) {
    out.remote.push_back(std::move(r));
  }
  sort_by_shared_time(out.remote);
  for (auto& [key, b] : boundaries) {
    out.boundaries.push_back(std::move(b));
  }
  sort_by_cost(out);
  return out;
}

namespace {

/// The short names of remote kernels that ran concurrently with others. At most three of them are listed.
struct name_list {
  std::string text;
  bool many = false;
};

name_list list_names(const overlap_report& report) {
  std::vector<std::string> names;
  for (const remote_kernel& r : report.remote) {
    const std::string brief = short_name(r.name);
    if (r.shared_ms > 0 && (!r.already_isolated || report.all_isolated()) &&
        std::find(names.begin(), names.end(), brief) == names.end()) {
      names.push_back(brief);
    }
  }
  std::string out;
  const std::size_t shown = std::min<std::size_t>(names.size(), 3);
  for (std::size_t i = 0; i < shown; ++i) {
    out += (i == 0 ? "" : i + 1 == names.size() ? " and " : ", ") + names[i];
  }
  return {names.size() > 3 ? out + " and " + std::to_string(names.size() - 3) + " more" : out, names.size() > 1};
}

/// Returns the names of the kernels for which `chosen` returns true.
template <class Chosen>
std::string names_of(const overlap_report& report, Chosen chosen) {
  std::set<std::string> names;
  std::string out;
  for (const remote_kernel& r : report.remote) {
    if (chosen(r) && names.insert(short_name(r.name)).second) {
      out += (out.empty() ? "" : ", ") + short_name(r.name);
    }
  }
  return out;
}

/// Returns a sentence about boundaries that wait for multiprocessors, or an empty string.
std::string about_room(const overlap_report& report) {
  return report.no_room == 0
             ? ""
             : grouped(report.no_room) + " boundaries ran while blocks of " +
                   names_of(report, [](const remote_kernel& r) { return r.fills != 0 && r.shared_ms > 0; }) +
                   " occupied all multiprocessors, and took " + fixed(report.no_room_ms, 2) +
                   " ms longer than when no other kernel ran: moving a kernel to another domain does not free multiprocessors.";
}

/// Returns a sentence that explains why the report contains no delay, or an empty string.
std::string about_names(const overlap_report& report) {
  return report.distinguished() ? ""
                                : "Launches of " + names_of(report, [](const remote_kernel& r) { return !r.distinguished; }) +
                                      " with pointers to a peer or the host could not be distinguished from its other "
                                      "launches: a :far rule decides at each launch, and membar-domains try measures the gain.";
}

}  // namespace

bool overlap_report::to_host() const {
  const auto first = std::find_if(remote.begin(), remote.end(), [](const remote_kernel& r) { return !r.already_isolated; });
  return first != remote.end() && first->why.ends_with("host memory");
}

bool overlap_report::all_isolated() const {
  const auto beside = [](const remote_kernel& r) { return r.shared_ms > 0; };
  return std::any_of(remote.begin(), remote.end(), beside) &&
         std::all_of(remote.begin(), remote.end(), [&](const remote_kernel& r) { return r.already_isolated || !beside(r); });
}

bool overlap_report::distinguished() const {
  return std::all_of(remote.begin(), remote.end(), [](const remote_kernel& r) { return r.distinguished; });
}

std::string sentence(const overlap_report& report) {
  if (report.remote.empty()) {
    return "No kernel in the program is known to store to a peer or to the host: name such kernels with --remote=REGEX.";
  }
  if (!report.distinguished()) {
    return about_names(report);
  }
  if (report.beside_ms == 0 && report.no_room != 0) {
    return about_room(report);
  }
  if (report.beside_ms == 0) {
    return "No kernel ran concurrently with a kernel that stores to a peer or to the host: there is nothing to move.";
  }
  const std::string room = (report.no_room == 0 ? "" : " ") + about_room(report);
  const name_list names = list_names(report);
  if (report.all_isolated()) {
    return names.text + (names.many ? " are" : " is") + " already isolated in another domain: there is nothing to move. " +
           (report.held_up_count == 0
                ? "No boundary of other kernels took longer meanwhile."
                : "Meanwhile " + grouped(report.held_up_count) + " boundaries of other kernels still took longer, by " +
                      fixed(report.held_up_ms, 2) + " ms in " + fixed(report.beside_ms, 2) +
                      " ms, which moving kernels to another domain does not recover.") +
           room;
  }
  const std::string measure =
      report.to_host() ? " These are stores to the host: in measurements, another domain recovered 0 to 0.63 of such a delay, "
                         "and less if the delayed kernels access more memory; membar-domains try measures the gain "
                         "here. The copy engine (cudaMemcpyAsync) does not delay kernels: use it to move the data."
                       : " membar-domains try measures how much of this delay a move to another domain recovers.";
  if (report.held_up_count == 0 && report.unknown == 0) {
    return "Kernels ran concurrently with " + names.text +
           ", but none of their recorded boundaries took longer. If the program is limited by the host's launch rate, "
           "recording can "
           "hide a delay: membar-domains try measures without recording." +
           room;
  }
  if (report.held_up_count == 0) {
    return grouped(report.unknown) + " boundaries ran concurrently with " + names.text +
           ", but too few of each kind were recorded both alone and concurrently, so their delay is not known: membar-domains "
           "try measures the gain." +
           room;
  }
  const double each = report.held_up_ms * 1000 / static_cast<double>(report.held_up_count);
  return names.text + (names.many ? " delay " : " delays ") + grouped(report.held_up_count) +
         " boundaries of other kernels by " + fixed(each, 2) + " µs each, " + fixed(report.held_up_ms, 2) + " ms in " +
         fixed(report.beside_ms, 2) + " ms of concurrent work." + measure + room;
}

std::string table(const overlap_report& report, std::size_t rows) {
  std::string out = "kernels that store to a peer or the host\n";
  for (const remote_kernel& r : report.remote) {
    out += "  " + left(short_name(r.name), 44) + right(grouped(r.count), 9) + " times" + right(fixed(r.total_ms, 2), 11) +
           " ms, " + fixed(r.shared_ms, 2) + " ms concurrent with others  (" + r.why +
           (r.near == 0 ? "" : "; " + grouped(r.near) + " more launches have no such pointer") +
           (r.distinguished ? "" : "; it is not known which launches have one") +
           (r.already_isolated ? "; already isolated" : "") +
           (r.fills == 0 ? "" : "; " + grouped(r.fills) + " fill the device") + ")\n";
  }
  out += "\n" + left("boundary of", 34) + left("to", 34) + left("in", 8) + right("concurrent", 12) + right("alone", 9) +
         right("alone µs", 10) + right("concurrent µs", 15) + right("delay µs", 12) + right("total ms", 10) + "\n";
  std::size_t left_out = 0;
  for (const boundary& b : report.boundaries) {
    if (rows-- == 0) {
      left_out = 1;
      break;
    }
    out += left(b.before, 34) + left(b.after, 34) + left(b.in_graph ? "graph" : "stream", 8) + right(grouped(b.beside), 12) +
           right(grouped(b.alone), 9) + right(b.alone == 0 ? "-" : fixed(b.step_alone, 2), 10) +
           right(fixed(b.step_beside, 2), 15) + right(b.known ? fixed(b.held_up, 2) : "not known", 12) +
           right(b.known ? fixed(b.total_ms(), 2) : "-", 10) + (b.no_room ? "  multiprocessors full" : "") + "\n";
  }
  if (left_out != 0) {
    out += "  and others with smaller totals\n";
  }
  return out;
}

std::string list_of(const overlap_report& report, const warnings_by_name* warned) {
  std::string out =
      list_header + std::to_string(list_version) +
      "\n# Kernels to run in another memory synchronization domain: membar-domains apply --list=<this file> -- <program>\n"
      "# Each line: remote, default or the number of a physical domain, then a regular expression for kernel names. The first "
      "match\n# decides.\n"
      "# With :far after the domain, a line applies only to launches with a pointer to a peer's or the host's memory among "
      "their\n# arguments.\n"
      "# Requirement: no kernel listed here synchronizes at device scope with a kernel in another domain while both run.\n";
  std::set<std::string> listed;
  for (const remote_kernel& r : report.remote) {
    const std::string pattern = "^" + escaped(r.alone_of_its_short_name ? short_name(r.name) : r.name) + "$";
    if (!listed.insert(pattern).second) {
      continue;
    }
    const std::string rule = (report.local.contains(r.name) || !r.distinguished ? "remote:far " : "remote ") + pattern;
    const bool is_active = !r.already_isolated && r.shared_ms > 0;
    out += std::string(r.already_isolated ? "# already isolated: "
                       : is_active        ? ""
                                          : "# ran while no other kernel did: ") +
           rule + "  # " + r.why + ", " + fixed(r.shared_ms, 2) + " ms concurrent with others\n";
    if (is_active && warned != nullptr) {
      const auto found = warned->find(r.name);
      out += check_line(rule, found == warned->end() ? "" : *found->second.begin());
    }
  }
  return out;
}

}  // namespace membar_domains
