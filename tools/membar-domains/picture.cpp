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

struct held {
  std::uint64_t start, end;  ///< where the boundary should have ended, and where it did
  std::uint32_t device, stream;
};

}  // namespace

std::string timeline(const records& of, const overlap_report& report, double span_us) {
  std::set<std::string> remote;
  for (const remote_kernel& r : report.remote) {
    remote.insert(r.name);
  }
  std::map<std::tuple<std::uint32_t, std::string, std::string, bool>, const boundary*> kinds;
  for (const boundary& b : report.boundaries) {
    if (b.known && b.held_up > 0 && !b.no_room) {
      kinds[{b.device, b.before, b.after, b.in_graph}] = &b;
    }
  }
  std::map<std::uint32_t, std::string> brief;
  for (const auto& [id, name] : of.names) {
    brief[id] = short_name(name);
  }
  std::map<std::pair<std::uint32_t, std::uint32_t>, std::vector<ran>> streams;
  for (const ran& k : of.kernels) {
    streams[{k.device, k.stream}].push_back(k);
  }
  std::map<std::uint32_t, std::vector<interval>> busy;
  for (const ran& k : of.kernels) {
    if (!k.near && remote.contains(of.names.count(k.name) ? of.names.at(k.name) : "")) {
      busy[k.device].push_back({static_cast<std::int64_t>(k.start), static_cast<std::int64_t>(k.end)});
    }
  }
  for (auto& [device, intervals] : busy) {
    intervals = united(std::move(intervals));
  }
  std::vector<held> waits;
  for (auto& [where, kernels] : streams) {
    std::sort(kernels.begin(), kernels.end(), [](const ran& a, const ran& b) { return a.start < b.start; });
    for (std::size_t i = 0; i + 1 < kernels.size(); ++i) {
      const ran& a = kernels[i];
      const ran& b = kernels[i + 1];
      const auto kind = kinds.find({where.first, brief[a.name], brief[b.name], a.graph != 0});
      const double step = static_cast<double>(b.start - a.start) / 1000;
      // A step that was longer without a remote kernel waited for something else, as for the host.
      if (kind != kinds.end() && b.start >= a.end && step > kind->second->step_alone && step < 2 * longest_gap_us &&
          covered(busy[where.first], static_cast<std::int64_t>(a.end), static_cast<std::int64_t>(b.start))) {
        const auto due = a.start + static_cast<std::uint64_t>(kind->second->step_alone * 1000);
        waits.push_back({due, b.start, where.first, where.second});
      }
    }
  }
  if (waits.empty()) {
    return {};
  }
  // The window, from the start of a wait, that holds most of the waiting.
  std::sort(waits.begin(), waits.end(), [](const held& a, const held& b) { return a.start < b.start; });
  const auto span = static_cast<std::uint64_t>(span_us * 1000);
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
  const std::uint64_t margin = span / 20;
  from -= std::min(from, margin);
  const std::uint64_t to = from + span;

  constexpr double width = 960, label = 120, row = 34;
  const auto x = [&](std::uint64_t t) {
    return label + (width - label - 10) * static_cast<double>(t - from) / static_cast<double>(span);
  };
  std::string bars;
  double y = 46;
  for (const auto& [where, kernels] : streams) {
    std::string of_row;
    for (const ran& k : kernels) {
      if (k.end <= from || k.start >= to) {
        continue;
      }
      const double left_edge = x(std::max(k.start, from));
      const double wide = std::max(x(std::min(k.end, to)) - left_edge, 0.6);
      const bool far = !k.near && remote.contains(of.names.count(k.name) ? of.names.at(k.name) : "");
      of_row += "<rect class=\"" + std::string(far ? "remote" : "local") + "\" x=\"" + fixed(left_edge, 2) + "\" y=\"" +
                fixed(y, 0) + "\" width=\"" + fixed(wide, 2) + "\" height=\"20\"><title>" + xml(brief[k.name]) + ", " +
                fixed(static_cast<double>(k.end - k.start) / 1000, 2) + " µs</title></rect>\n";
      if (wide > 7.0 * static_cast<double>(brief[k.name].size())) {
        of_row += "<text class=\"in\" x=\"" + fixed(left_edge + 4, 1) + "\" y=\"" + fixed(y + 14, 0) + "\">" +
                  xml(brief[k.name]) + "</text>\n";
      }
    }
    if (of_row.empty()) {
      continue;
    }
    for (const held& w : waits) {
      if (w.device == where.first && w.stream == where.second && w.start < to && w.end > from) {
        const double left_edge = x(std::max(w.start, from));
        of_row += "<rect class=\"held\" x=\"" + fixed(left_edge, 2) + "\" y=\"" + fixed(y + 21, 0) + "\" width=\"" +
                  fixed(std::max(x(std::min(w.end, to)) - left_edge, 0.6), 2) + "\" height=\"5\"><title>held up " +
                  fixed(static_cast<double>(w.end - w.start) / 1000, 2) + " µs</title></rect>\n";
      }
    }
    bars += "<text x=\"6\" y=\"" + fixed(y + 14, 0) + "\">GPU " + std::to_string(where.first) + ", stream " +
            std::to_string(where.second) + "</text>\n" + of_row;
    y += row;
  }
  std::string axis;
  for (int i = 0; i <= 4; ++i) {
    const double at = label + (width - label - 10) * i / 4;
    axis += "<line x1=\"" + fixed(at, 1) + "\" y1=\"40\" x2=\"" + fixed(at, 1) + "\" y2=\"" + fixed(y, 0) + "\"/><text x=\"" +
            fixed(at, 1) + "\" y=\"" + fixed(y + 14, 0) + "\" text-anchor=\"" + (i == 4 ? "end" : "middle") + "\">" +
            fixed(span_us * i / 4, 0) + " µs</text>\n";
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
         "<rect class=\"held\" x=\"470\" y=\"13\" width=\"14\" height=\"5\"/><text x=\"489\" y=\"20\">later than alone: the "
         "boundary was held up</text>\n" +
         axis + bars + "</svg>\n";
}

}  // namespace membar_domains
