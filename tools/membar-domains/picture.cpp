// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "membar-domains/picture.hpp"

#include <algorithm>
#include <map>
#include <set>
#include <tuple>

#include "membar-domains/move_list.hpp"
#include "membar-domains/text.hpp"

namespace membar_domains {

namespace {

std::string xml(const std::string& text) {
  std::string out;
  for (const char c : text) {
    out += c == '<' ? "&lt;" : c == '>' ? "&gt;" : c == '&' ? "&amp;" : c == '"' ? "&quot;" : std::string(1, c);
  }
  return out;
}

/// A delayed boundary, with the time at which it should have ended and the time at which it did end.
struct held {
  std::uint64_t start, end;
  std::uint32_t device, stream;
};

/// The kernels of a process, sorted by stream, and which of them are remote.
struct drawn_kernels {
  std::map<std::uint32_t, std::string> brief;  ///< short names
  std::map<std::pair<std::uint32_t, std::uint32_t>, std::vector<kernel_record>> streams;
  std::set<std::uint32_t> remote;                       ///< the names of the remote kernels
  std::map<std::uint32_t, std::vector<interval>> busy;  ///< for each device, the times at which remote kernels ran
  [[nodiscard]] bool is_remote(const kernel_record& k) const { return !k.near && remote.contains(k.name); }
};

drawn_kernels sorted_for_drawing(const records& of, const overlap_report& report) {
  std::set<std::string> remote_names;
  for (const remote_kernel& r : report.remote) {
    remote_names.insert(r.name);
  }
  drawn_kernels out;
  for (const auto& [id, name] : of.names) {
    out.brief[id] = short_name(name);
    if (remote_names.contains(name)) {
      out.remote.insert(id);
    }
  }
  for (const kernel_record& k : of.kernels) {
    out.streams[{k.device, k.stream}].push_back(k);
    if (out.is_remote(k)) {
      out.busy[k.device].push_back({static_cast<std::int64_t>(k.start), static_cast<std::int64_t>(k.end)});
    }
  }
  for (auto& [device, intervals] : out.busy) {
    intervals = merge(std::move(intervals));
  }
  for (auto& [where, kernels] : out.streams) {
    std::sort(kernels.begin(), kernels.end(), [](const auto& a, const auto& b) { return a.start < b.start; });
  }
  return out;
}

/// Returns the delayed boundaries in chronological order.
std::vector<held> waits_of(drawn_kernels& of, const overlap_report& report) {
  std::map<std::tuple<std::uint32_t, std::string, std::string, bool>, const boundary*> kinds;
  for (const boundary& b : report.boundaries) {
    if (b.known && b.held_up > 0 && !b.no_room) {
      kinds[{b.device, b.before, b.after, b.in_graph}] = &b;
    }
  }
  std::vector<held> waits;
  for (const auto& [where, kernels] : of.streams) {
    for (std::size_t i = 0; i + 1 < kernels.size(); ++i) {
      const kernel_record& a = kernels[i];
      const kernel_record& b = kernels[i + 1];
      const auto kind = kinds.find({where.first, of.brief[a.name], of.brief[b.name], a.graph != 0});
      const double step = static_cast<double>(b.start - a.start) / 1000;
      // If a step took longer although no remote kernel was running, it waited for something else, for example for the host.
      if (kind != kinds.end() && b.start >= a.end && step > kind->second->step_alone && step < 2 * longest_gap_us &&
          contains(of.busy[where.first], static_cast<std::int64_t>(a.end), static_cast<std::int64_t>(b.start))) {
        const auto due = a.start + static_cast<std::uint64_t>(kind->second->step_alone * 1000);
        waits.push_back({due, b.start, where.first, where.second});
      }
    }
  }
  std::sort(waits.begin(), waits.end(), [](const held& a, const held& b) { return a.start < b.start; });
  return waits;
}

/// Returns the start of the window with the most waiting time. It coincides with the start of a wait.
std::uint64_t busiest_start(const std::vector<held>& waits, std::uint64_t span) {
  std::uint64_t from = waits.front().start;
  std::uint64_t most = 0;
  std::uint64_t now = 0;
  for (std::size_t low = 0, high = 0; low < waits.size(); ++low) {
    while (high < waits.size() && waits[high].start < waits[low].start + span) {
      now += waits[high].end - waits[high].start;
      ++high;
    }
    if (now > most) {
      most = now;
      from = waits[low].start;
    }
    now -= waits[low].end - waits[low].start;
  }
  return from;
}

constexpr double width = 960, label = 120, row = 34;

struct window {
  std::uint64_t from, to;
  [[nodiscard]] double x(std::uint64_t t) const {
    return label + (width - label - 10) * static_cast<double>(std::clamp(t, from, to) - from) / static_cast<double>(to - from);
  }
  /// Returns the position and width of a bar. Every bar is wide enough to be visible.
  [[nodiscard]] std::string bar(std::uint64_t start, std::uint64_t end, double y) const {
    return "x=\"" + fixed(x(start), 2) + "\" y=\"" + fixed(y, 0) + "\" width=\"" + fixed(std::max(x(end) - x(start), 0.6), 2) +
           "\"";
  }
};

/// Returns the bars of a stream's kernels, or an empty string if none ran in the window.
std::string bars_of(drawn_kernels& of, const std::vector<kernel_record>& kernels, const window& shown, double y) {
  std::string out;
  for (const kernel_record& k : kernels) {
    if (k.end <= shown.from || k.start >= shown.to) {
      continue;
    }
    const std::string name = of.brief[k.name];
    out += "<rect class=\"" + std::string(of.is_remote(k) ? "remote" : "local") + "\" " + shown.bar(k.start, k.end, y) +
           " height=\"20\"><title>" + xml(name) + ", " + fixed(static_cast<double>(k.end - k.start) / 1000, 2) +
           " µs</title></rect>\n";
    if (shown.x(k.end) - shown.x(k.start) > 7.0 * static_cast<double>(name.size())) {
      out += "<text class=\"in\" x=\"" + fixed(shown.x(k.start) + 4, 1) + "\" y=\"" + fixed(y + 14, 0) + "\">" + xml(name) +
             "</text>\n";
    }
  }
  return out;
}

std::string bar_of(const held& w, const window& shown, double y) {
  return "<rect class=\"held\" " + shown.bar(w.start, w.end, y + 21) + " height=\"5\"><title>delayed by " +
         fixed(static_cast<double>(w.end - w.start) / 1000, 2) + " µs</title></rect>\n";
}

std::string axis(double span_us, double y) {
  std::string out;
  for (int i = 0; i <= 4; ++i) {
    const double at = label + (width - label - 10) * i / 4;
    out += "<line x1=\"" + fixed(at, 1) + "\" y1=\"40\" x2=\"" + fixed(at, 1) + "\" y2=\"" + fixed(y, 0) + "\"/><text x=\"" +
           fixed(at, 1) + "\" y=\"" + fixed(y + 14, 0) + "\" text-anchor=\"" + (i == 4 ? "end" : "middle") + "\">" +
           fixed(span_us * i / 4, 0) + " µs</text>\n";
  }
  return out;
}

}  // namespace

std::string timeline(const records& of, const overlap_report& report, double span_us) {
  drawn_kernels drawn = sorted_for_drawing(of, report);
  const std::vector<held> waits = waits_of(drawn, report);
  if (waits.empty()) {
    return {};
  }
  const auto span = static_cast<std::uint64_t>(span_us * 1000);
  const std::uint64_t start = busiest_start(waits, span);
  const std::uint64_t from = start - std::min(start, span / 20);
  const window shown{from, from + span};
  std::string rows;
  double y = 46;
  for (const auto& [where, kernels] : drawn.streams) {
    std::string of_row = bars_of(drawn, kernels, shown, y);
    if (of_row.empty()) {
      continue;
    }
    for (const held& w : waits) {
      if (w.device == where.first && w.stream == where.second && w.start < shown.to && w.end > shown.from) {
        of_row += bar_of(w, shown, y);
      }
    }
    rows += "<text x=\"6\" y=\"" + fixed(y + 14, 0) + "\">GPU " + std::to_string(where.first) + ", stream " +
            std::to_string(where.second) + "</text>\n" + of_row;
    y += row;
  }
  return "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 960 " + fixed(y + 24, 0) +
         "\" font-family=\"sans-serif\" font-size=\"12\">\n"
         "<style>text{fill:#222}line{stroke:#ddd}.local{fill:#3b78c2}.remote{fill:#e0a030}.held{fill:#c62828}.in{fill:#fff;"
         "font-size:11px}.page{fill:#fff}"
         "@media (prefers-color-scheme:dark){text{fill:#ddd}line{stroke:#444}.page{fill:#161616}.held{fill:#ff6b6b}}</style>\n"
         "<rect class=\"page\" width=\"100%\" height=\"100%\"/>\n"
         "<rect class=\"remote\" x=\"120\" y=\"10\" width=\"14\" height=\"12\"/><text x=\"139\" y=\"20\">stores to a peer or "
         "the host</text>"
         "<rect class=\"local\" x=\"330\" y=\"10\" width=\"14\" height=\"12\"/><text x=\"349\" y=\"20\">other kernels</text>"
         "<rect class=\"held\" x=\"470\" y=\"13\" width=\"14\" height=\"5\"/><text x=\"489\" y=\"20\">delay of the next "
         "kernel</text>\n" +
         axis(span_us, y) + rows + "</svg>\n";
}

}  // namespace membar_domains
