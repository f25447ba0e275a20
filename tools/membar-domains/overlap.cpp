// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "membar-domains/overlap.hpp"

#include <algorithm>
#include <array>
#include <map>
#include <set>
#include <sstream>
#include <string_view>
#include <tuple>

#include "membar-domains/move_list.hpp"
#include "membar-domains/text.hpp"

namespace membar_domains {

std::vector<interval> united(std::vector<interval> intervals, std::int64_t close) {
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

/// The last interval that starts at `time` or before, or the end.
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

/// Computes what all boundaries together should get back. The scales are those of measured waits to recorded ones.
void expect_back(overlap_report& report, double in_graphs = 1, double in_streams = 1) {
  report.expected_back_ms = report.held_up_in_graphs_ms * report.expected.graph.share.value * in_graphs +
                            (report.held_up_ms - report.held_up_in_graphs_ms) * report.expected.stream.share.value * in_streams;
}

interval time_of(const ran& k) { return {static_cast<std::int64_t>(k.start), static_cast<std::int64_t>(k.end)}; }

}  // namespace

bool covered(std::span<const interval> intervals, std::int64_t start, std::int64_t end) {
  const auto at = last_before(intervals, start);
  return at != intervals.end() && at->end >= end;
}

bool touched(std::span<const interval> intervals, std::int64_t start, std::int64_t end) {
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

overlap_report overlaps(const records& of, const std::function<std::string(std::uint32_t, const std::string&)>& why_remote) {
  overlap_report out;
  std::map<std::uint32_t, std::string> why;
  std::map<std::uint32_t, std::string> brief;
  for (const auto& [id, name] : of.names) {
    brief[id] = short_name(name);
    if (std::string reason = why_remote(id, name); !reason.empty()) {
      why[id] = std::move(reason);
    }
  }

  const auto is_remote = [&](const ran& k) { return why.contains(k.name) && !k.near; };
  std::map<std::uint32_t, std::vector<interval>> remote_on, parted_on, local_on, filled_on;  // by device
  std::map<std::pair<std::uint32_t, std::uint32_t>, std::vector<ran>> streams;
  const auto unite = [](auto& side) {
    for (auto& [device, intervals] : side) {
      intervals = united(std::move(intervals));
    }
  };
  for (const ran& k : of.kernels) {
    if (!is_remote(k)) {
      local_on[k.device].push_back(time_of(k));
    }
    streams[{k.device, k.stream}].push_back(k);
  }
  unite(local_on);
  // Of kernels in another domain already the report says what is left; what is to be moved goes before.
  const bool any_to_move = std::any_of(of.kernels.begin(), of.kernels.end(), [&](const ran& k) {
    return is_remote(k) && !of.parted.contains(k.name) && touched(local_on[k.device], time_of(k).start, time_of(k).end);
  });
  for (const ran& k : of.kernels) {
    if (is_remote(k)) {
      (any_to_move && of.parted.contains(k.name) ? parted_on : remote_on)[k.device].push_back(time_of(k));
      if (k.fills) {
        filled_on[k.device].push_back(time_of(k));
      }
    }
  }
  unite(remote_on);
  unite(parted_on);
  unite(filled_on);

  for (const ran& k : of.kernels) {
    if (!is_remote(k) && of.names.contains(k.name)) {
      out.local.insert(of.names.at(k.name));
    }
  }
  std::set<std::string> short_names_of_others;
  for (const auto& [id, name] : brief) {
    if (!why.contains(id)) {
      short_names_of_others.insert(name);
    }
  }
  std::map<std::uint32_t, remote_kernel> remote;
  std::map<std::uint32_t, std::size_t> near;
  for (const ran& k : of.kernels) {
    if (const auto reason = why.find(k.name); reason != why.end()) {
      if (k.near) {
        ++near[k.name];
        continue;
      }
      remote_kernel& r = remote[k.name];
      r.name = of.names.at(k.name);
      r.told = !of.not_told.contains(k.name);
      r.parted = of.parted.contains(k.name);
      r.fills += k.fills ? 1 : 0;
      r.why = reason->second;
      r.alone_of_its_short_name = !short_names_of_others.contains(brief[k.name]);
      ++r.count;
      const double ms = static_cast<double>(k.end - k.start) / 1e6;
      r.total_ms += ms;
      if (touched(local_on[k.device], time_of(k).start, time_of(k).end)) {
        r.shared_ms += ms;
      }
    }
  }
  for (auto& [id, r] : remote) {
    r.near = near[id];
    out.remote.push_back(std::move(r));
  }
  std::sort(out.remote.begin(), out.remote.end(), [](const auto& a, const auto& b) { return a.shared_ms > b.shared_ms; });

  struct seen {
    std::vector<double> step, gap, length;
  };
  using kind = std::tuple<std::uint32_t, std::uint32_t, std::uint32_t, bool>;
  // By device, names and whether a graph launched them: alone [0], beside a remote kernel [1], and beside one that fills the device [2].
  std::map<kind, std::array<seen, 3>> kinds;
  struct unit {
    std::size_t boundaries = 0;
    std::vector<kind> beside, for_room;
  };
  std::map<std::tuple<bool, std::uint32_t, std::uint32_t, std::uint32_t>, unit>
      units;  // by graph or not, device, stream, number
  for (auto& [where, kernels] : streams) {
    std::sort(kernels.begin(), kernels.end(), [](const ran& a, const ran& b) { return a.start < b.start; });
    const std::vector<interval>& busy = remote_on[where.first];
    std::uint32_t launches = 0;
    for (std::size_t i = 0; i + 1 < kernels.size(); ++i) {
      const ran& a = kernels[i];
      const ran& b = kernels[i + 1];
      const bool in_graph = a.graph != 0;
      const bool has_unit = !in_graph || a.launch != 0;
      unit& of_unit = units[{in_graph, where.first, where.second, in_graph ? a.launch : launches / launches_in_a_unit}];
      if (!is_remote(a)) {
        ++of_unit.boundaries;
        launches += in_graph ? 0 : 1;
      }
      if (is_remote(a) || is_remote(b) || b.start < a.end || static_cast<double>(b.start - a.end) > longest_gap_us * 1000) {
        continue;
      }
      const auto start = static_cast<std::int64_t>(a.start);
      const auto next = static_cast<std::int64_t>(b.start);
      const bool beside = covered(busy, static_cast<std::int64_t>(a.end), next);
      if (!beside && (touched(busy, start, next) || touched(parted_on[where.first], start, next))) {
        continue;  // partly, or beside what stays where it is
      }
      const kind key{where.first, a.name, b.name, in_graph};
      // What waits for room waits in any domain.
      const bool no_room = beside && touched(filled_on[where.first], start, next);
      if (beside && has_unit) {
        (no_room ? of_unit.for_room : of_unit.beside).push_back(key);
      }
      seen& into = kinds[key][no_room ? 2 : beside ? 1 : 0];
      into.step.push_back(static_cast<double>(b.start - a.start) / 1000);
      into.gap.push_back(static_cast<double>(b.start - a.end) / 1000);
      into.length.push_back(static_cast<double>(a.end - a.start) / 1000);
      if (beside && !no_room) {
        out.beside_ms += static_cast<double>(b.start - a.start) / 1e6;
      }
    }
  }

  std::map<kind, double> held_up;
  std::map<kind, std::array<double, 3>> slower;  // by place, as `kinds`: µs that the step took longer, for whatever reason
  for (const auto& [key, times] : kinds) {
    const auto& [device, before, after, in_graph] = key;
    const seen& alone = times[0];
    for (const std::size_t place : {std::size_t{1}, std::size_t{2}}) {
      const seen& beside = times[place];
      if (beside.step.empty()) {
        continue;
      }
      boundary b;
      b.no_room = place == 2;
      b.device = device;
      b.before = brief[before];
      b.after = brief[after];
      b.in_graph = in_graph;
      b.alone = alone.step.size();
      b.beside = beside.step.size();
      b.step_alone = median(alone.step);
      b.step_beside = median(beside.step);
      b.gap_alone = median(alone.gap);
      b.gap_beside = median(beside.gap);
      b.known = b.alone >= enough && b.beside >= enough;
      if (b.known) {
        const bool small = median(alone.length) <= longest_small_kernel_us;
        b.held_up = std::max(0.0, small ? b.step_beside - b.step_alone : b.gap_beside - b.gap_alone);
        slower[key][place] = std::max(b.held_up, b.step_beside - b.step_alone);
      }
      if (b.no_room) {
        out.no_room += b.beside;
        out.no_room_ms += b.total_ms();
      } else if (b.known) {
        out.held_up_ms += b.total_ms();
        out.held_up_in_graphs_ms += in_graph ? b.total_ms() : 0;
        held_up[key] = b.held_up;
        out.held_up_count += b.held_up > 0 ? b.beside : 0;
      } else {
        out.unknown += b.beside;
      }
      out.boundaries.push_back(std::move(b));
    }
  }
  sort_by_cost(out);
  // A unit at the edge of a remote kernel was beside it for a part only: half of what is usual is needed, as in try.
  for (const bool in_graph : {false, true}) {
    std::vector<double> shares;
    std::vector<double> held;
    std::vector<double> longer;
    for (const auto& [key, u] : units) {
      if (std::get<0>(key) == in_graph && !u.beside.empty() && (in_graph || u.boundaries == launches_in_a_unit)) {
        shares.push_back(static_cast<double>(u.beside.size()) / static_cast<double>(u.boundaries));
        held.push_back(0);
        longer.push_back(0);
        for (const auto& k : u.beside) {
          const auto at = held_up.find(k);
          held.back() += at == held_up.end() ? 0 : at->second;
          longer.back() += slower[k][1];
        }
        for (const auto& k : u.for_room) {
          longer.back() += slower[k][2];
        }
      }
    }
    const double usual = median(shares);
    prediction& p = in_graph ? out.expected.graph : out.expected.stream;
    p.share = relief_of(out.to(), in_graph);
    double all_longer = 0;
    for (std::size_t i = 0; i < shares.size(); ++i) {
      if (shares[i] >= usual / 2) {
        ++p.units;
        p.wait_us += (held[i] - p.wait_us) / static_cast<double>(p.units);
        all_longer += longer[i];
      }
    }
    const double all_held = p.wait_us * static_cast<double>(p.units);
    p.of_boundaries = all_longer > 0 ? std::min(1.0, all_held / all_longer) : 1;
  }
  if (out.all_parted()) {
    out.expected = {};
  }
  expect_back(out);
  return out;
}

void use_measured(overlap_report& report, const measured_wait& in_graphs, const measured_wait& in_streams) {
  double graph_scale = 1;
  double stream_scale = 1;
  double hidden_ms = 0;
  const auto use = [&](prediction& p, const measured_wait& measured, double& scale) {
    if (p.units != 0 && measured.units != 0) {
      const bool hidden = p.wait_us == 0;
      const double wait = hidden && measured.us < measured.alone_us / 20 ? 0 : std::max(0.0, measured.us) * p.of_boundaries;
      scale = hidden ? 1 : wait / p.wait_us;
      p.wait_us = wait;
      p.units = measured.units;
      p.recorded = false;
      hidden_ms += hidden ? static_cast<double>(p.units) * p.back_us(p.share.value) / 1000 : 0;
    }
  };
  use(report.expected.graph, in_graphs, graph_scale);
  use(report.expected.stream, in_streams, stream_scale);
  expect_back(report, graph_scale, stream_scale);
  report.expected_back_ms += hidden_ms;
}

overlap_report merged(const std::vector<overlap_report>& reports) {
  overlap_report out;
  std::map<std::string, std::set<std::string>> of_short_name;  // in any process
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
        at->second.told = at->second.told && r.told;
        at->second.parted = at->second.parted && r.parted;
        at->second.alone_of_its_short_name = at->second.alone_of_its_short_name && r.alone_of_its_short_name;
      }
    }
    for (const boundary& b : report.boundaries) {
      // What is known and what is not stay apart, or the one would dilute the other.
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
    out.held_up_in_graphs_ms += report.held_up_in_graphs_ms;
    out.beside_ms += report.beside_ms;
    out.expected_back_ms += report.expected_back_ms;
    out.unknown += report.unknown;
    out.local.insert(report.local.begin(), report.local.end());
    out.no_room += report.no_room;
    out.no_room_ms += report.no_room_ms;
    for (const auto part : {&predictions::graph, &predictions::stream}) {
      const prediction& p = report.expected.*part;
      prediction& all = out.expected.*part;
      weigh(all.wait_us, p.wait_us, all.units, p.units);
      weigh(all.of_boundaries, p.of_boundaries, all.units, p.units);
      if (p.units != 0) {
        all.recorded = p.recorded || (all.units != 0 && all.recorded);
        all.share = p.units > all.units ? p.share : all.share;
      }
      all.units += p.units;
    }
  }
  for (auto& [name, r] : remote) {
    out.remote.push_back(std::move(r));
  }
  std::sort(out.remote.begin(), out.remote.end(), [](const auto& a, const auto& b) { return a.shared_ms > b.shared_ms; });
  for (auto& [key, b] : boundaries) {
    out.boundaries.push_back(std::move(b));
  }
  sort_by_cost(out);
  return out;
}

namespace {

/// Short names of the remote kernels that ran beside others, at most three.
struct name_list {
  std::string text;
  bool many = false;
};

name_list list_names(const overlap_report& report) {
  std::vector<std::string> names;
  for (const remote_kernel& r : report.remote) {
    const std::string brief = short_name(r.name);
    if (r.shared_ms > 0 && (!r.parted || report.all_parted()) && std::find(names.begin(), names.end(), brief) == names.end()) {
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

/// Names for which `chosen` is true.
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

/// Nothing, or why nothing is predicted for boundaries beside kernels that fill the device.
std::string about_room(const overlap_report& report) {
  return report.no_room == 0 ? ""
                             : grouped(report.no_room) + " boundaries ran beside blocks of " +
                                   names_of(report, [](const remote_kernel& r) { return r.fills != 0 && r.shared_ms > 0; }) +
                                   " that take all room of the multiprocessors, and took " + fixed(report.no_room_ms, 2) +
                                   " ms longer than alone: another domain gives no room, so nothing is predicted for them.";
}

/// Nothing, or why nothing is predicted at all.
std::string about_names(const overlap_report& report) {
  return report.told() ? ""
                       : "Launches of " + names_of(report, [](const remote_kernel& r) { return !r.told; }) +
                             " with pointers to a peer or the host could not be told from others of that name, so nothing is "
                             "predicted: the list parts them where they are launched, and membar-domains try measures it.";
}

std::string basis(const relief& share) {
  return fixed(share.value, 2) + " (" + fixed(share.low, 2) + " to " + fixed(share.high, 2) + ")";
}

/// What should come back to a unit of work, or only what it waits for, where that is not known beforehand.
std::string expected_back(const prediction& p, const std::string& what) {
  if (p.units == 0 || p.wait_us <= 0) {
    return "";
  }
  const std::string wait = fixed(p.wait_us, 1) + " µs " +
                           (p.recorded ? "under recording, which can be less than without" : "when nothing is recorded");
  return p.share.value == 0 ? " " + what + " beside: a wait of " + wait + "."
                            : " " + what + " beside should take " + fixed(p.back_us(p.share.value), 1) + " µs less (" +
                                  fixed(p.back_us(p.share.low), 1) + " to " + fixed(p.back_us(p.share.high), 1) +
                                  "): the wait is " + wait + ", of which on H100 and H200 " + basis(p.share) + " came back.";
}

}  // namespace

destination overlap_report::to() const {
  const auto first = std::find_if(remote.begin(), remote.end(), [](const remote_kernel& r) { return !r.parted; });
  return first == remote.end()                         ? destination::peer
         : short_name(first->name).starts_with("nccl") ? destination::peer_by_nccl
         : first->why.ends_with("host memory")         ? destination::host
                                                       : destination::peer;
}

bool overlap_report::all_parted() const {
  const auto beside = [](const remote_kernel& r) { return r.shared_ms > 0; };
  return std::any_of(remote.begin(), remote.end(), beside) &&
         std::all_of(remote.begin(), remote.end(), [&](const remote_kernel& r) { return r.parted || !beside(r); });
}

bool overlap_report::told() const {
  return std::all_of(remote.begin(), remote.end(), [](const remote_kernel& r) { return r.told; });
}

std::string sentence(const overlap_report& report) {
  if (report.remote.empty()) {
    return "No kernel of the program is known to store to a peer or to the host: name yours with --remote=REGEX.";
  }
  if (!report.told()) {
    return about_names(report);
  }
  if (report.beside_ms == 0 && report.no_room != 0) {
    return about_room(report);
  }
  if (report.beside_ms == 0) {
    return "No kernel ran beside one that stores to a peer or to the host: there is nothing to move.";
  }
  const std::string room = (report.no_room == 0 ? "" : " ") + about_room(report);
  const name_list names = list_names(report);
  const std::string units = expected_back(report.expected.graph, "A launch of a graph") +
                            expected_back(report.expected.stream, std::to_string(launches_in_a_unit) + " launches of a stream");
  if (report.all_parted()) {
    return "The program runs " + names.text + " in another domain already: there is nothing to move. " +
           (report.held_up_count == 0
                ? "No boundary beside took longer."
                : "What " + grouped(report.held_up_count) + " boundaries beside still took longer, " +
                      fixed(report.held_up_ms, 2) + " ms of " + fixed(report.beside_ms, 2) + " ms, no domain gives back.") +
           room;
  }
  const std::string copy_engine =
      "How much of the wait another domain gives back is not known beforehand: from nothing to 0.63, the less the more memory "
      "the kernels touch, and membar-domains try measures it. The copy engine (cudaMemcpyAsync) holds nothing up: let it move "
      "the data.";
  if (report.held_up_count == 0 && !units.empty()) {
    return "Kernels ran beside " + names.text +
           ", and while they were recorded none of their boundaries took longer, as launches set the pace." + units +
           (report.to() == destination::host ? " These are stores to the host. " + copy_engine : "") + room;
  }
  if (report.held_up_count == 0) {
    return report.unknown == 0
               ? "Kernels ran beside " + names.text + ", and none of their boundaries took longer: there is nothing to move." +
                     room
               : grouped(report.unknown) + " boundaries ran beside " + names.text +
                     ", and none like them ran alone, so what they cost is not known: membar-domains try measures it.";
  }
  const double each = report.held_up_ms * 1000 / static_cast<double>(report.held_up_count);
  return names.text + (names.many ? " hold up " : " holds up ") + grouped(report.held_up_count) +
         " boundaries of other kernels by " + fixed(each, 2) + " µs each, " + fixed(report.held_up_ms, 2) + " ms of " +
         fixed(report.beside_ms, 2) + " ms beside" +
         (report.to() == destination::host
              ? ". These are stores to the host. " + copy_engine
              : std::string("; moving ") + (names.many ? "them" : "it") + " to another domain should give about " +
                    fixed(report.expected_back_ms, 2) + " ms back.") +
         units + room;
}

std::string table(const overlap_report& report, std::size_t rows) {
  std::string out = "kernels that store to a peer or the host\n";
  for (const remote_kernel& r : report.remote) {
    out += "  " + left(short_name(r.name), 44) + right(grouped(r.count), 9) + " times" + right(fixed(r.total_ms, 2), 11) +
           " ms, " + fixed(r.shared_ms, 2) + " ms beside others  (" + r.why +
           (r.near == 0 ? "" : "; " + grouped(r.near) + " more launches of the name have none") +
           (r.told ? "" : "; which launches have it is not known") + (r.parted ? "; in another domain already" : "") +
           (r.fills == 0 ? "" : "; " + grouped(r.fills) + " fill the device") + ")\n";
  }
  out += "\n" + left("boundary of", 34) + left("to", 34) + left("in", 8) + right("beside", 9) + right("alone", 9) +
         right("alone µs", 10) + right("beside µs", 11) + right("held up µs", 12) + right("total ms", 10) + "\n";
  std::size_t left_out = 0;
  for (const boundary& b : report.boundaries) {
    if (rows-- == 0) {
      left_out = 1;
      break;
    }
    out += left(b.before, 34) + left(b.after, 34) + left(b.in_graph ? "graph" : "stream", 8) + right(grouped(b.beside), 9) +
           right(grouped(b.alone), 9) + right(b.alone == 0 ? "-" : fixed(b.step_alone, 2), 10) +
           right(fixed(b.step_beside, 2), 11) + right(b.known ? fixed(b.held_up, 2) : "not known", 12) +
           right(b.known ? fixed(b.total_ms(), 2) : "-", 10) + (b.no_room ? "  for room" : "") + "\n";
  }
  if (left_out != 0) {
    out += "  and others, less costly\n";
  }
  return out;
}

namespace {
constexpr std::string_view prediction_mark = "# predicted by watch, for try: ";
}

predictions predictions_in(const std::string& list) {
  predictions out;
  std::istringstream lines(list);
  std::string line;
  while (std::getline(lines, line)) {
    if (!line.starts_with(prediction_mark)) {
      continue;
    }
    std::istringstream words(line.substr(prediction_mark.size()));
    std::string what, us, wait, from;
    prediction p;
    if (words >> what >> p.wait_us >> us >> wait >> p.share.value >> p.share.low >> p.share.high >> from >> p.units) {
      (what == "graph" ? out.graph : out.stream) = p;
    }
  }
  return out;
}

std::string list_of(const overlap_report& report) {
  std::string out =
      "# Kernels to run in another memory synchronization domain: membar-domains apply --list=<this file> -- <program>\n"
      "# A line: remote, default or a physical domain's number; then a regular expression of kernel names. The first match "
      "decides.\n"
      "# With :far after the domain it is about launches with a pointer to a peer's or the host's memory among their "
      "arguments.\n"
      "# What must hold: no kernel listed here synchronizes at device scope with a kernel of another domain while both run.\n";
  for (const bool in_graph : {true, false}) {
    const prediction& p = in_graph ? report.expected.graph : report.expected.stream;
    if (p.units != 0 && p.share.value > 0 && report.told()) {
      out += std::string(prediction_mark) + (in_graph ? "graph " : "stream ") + fixed(p.wait_us, 3) + " us wait, " +
             fixed(p.share.value, 2) + " " + fixed(p.share.low, 2) + " " + fixed(p.share.high, 2) + " from " +
             std::to_string(p.units) + " units\n";
    }
  }
  std::set<std::string> listed;
  for (const remote_kernel& r : report.remote) {
    const std::string pattern = "^" + escaped(r.alone_of_its_short_name ? short_name(r.name) : r.name) + "$";
    if (listed.insert(pattern).second) {
      out += std::string(r.parted          ? "# in another domain already: "
                         : r.shared_ms > 0 ? ""
                                           : "# ran beside nothing: ") +
             (report.local.contains(r.name) || !r.told ? "remote:far " : "remote ") + pattern + "  # " + r.why + ", " +
             fixed(r.shared_ms, 2) + " ms beside others\n";
    }
  }
  return out;
}

}  // namespace membar_domains
