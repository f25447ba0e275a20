// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "membar-domains/gain.hpp"

#include <algorithm>
#include <cmath>
#include <map>
#include <random>

#include "membar-domains/overlap.hpp"
#include "membar-domains/text.hpp"

namespace membar_domains {

std::vector<lane_times> sort_ticks(const records& of) {
  std::array<std::vector<interval>, 3> by_mode;
  std::vector<interval> any;
  for (const moved_run& m : of.moves) {
    by_mode[static_cast<std::size_t>(m.how)].push_back({m.start, m.end});
    any.push_back({m.start, m.end});
  }
  for (auto& intervals : by_mode) {
    intervals = united(std::move(intervals));
  }
  any = united(std::move(any));
  std::map<std::uint32_t, lane_times> lanes;
  for (const tick& t : of.ticks) {
    lane_times& lane = lanes[t.lane];
    const double us = static_cast<double>(t.end - t.start) / 1000;
    if (!touched(any, t.start, t.end)) {
      lane.alone.push_back(us);
      continue;
    }
    int beside = -1;
    int touches = 0;
    for (int m = 0; m < 3; ++m) {
      if (touched(by_mode[static_cast<std::size_t>(m)], t.start, t.end)) {
        beside = m;
        ++touches;
      }
    }
    if (touches == 1) {
      lane.beside[static_cast<std::size_t>(beside)].push_back(us);
    }
  }
  std::vector<lane_times> out;
  for (auto& [id, lane] : lanes) {
    const auto name = of.lanes.find(id);
    lane.lane = name == of.lanes.end() ? "lane " + std::to_string(id) : name->second;
    out.push_back(std::move(lane));
  }
  return out;
}

namespace {

double percentile(std::vector<double> values, double fraction) {
  if (values.empty()) {
    return 0;
  }
  const auto at = static_cast<std::ptrdiff_t>(std::ceil(fraction * static_cast<double>(values.size()))) - 1;
  const auto place = values.begin() + std::max<std::ptrdiff_t>(at, 0);
  std::nth_element(values.begin(), place, values.end());
  return *place;
}

/// Some of the values, as many as there are, up to a thousand: more do not narrow the interval that a reader sees.
std::vector<double> resample(const std::vector<double>& values, std::mt19937& random) {
  std::uniform_int_distribution<std::size_t> any(0, values.size() - 1);
  std::vector<double> out(std::min<std::size_t>(values.size(), 1000));
  for (double& v : out) {
    v = values[any(random)];
  }
  return out;
}

estimate with_interval(double value, std::vector<double> resamples) {
  std::sort(resamples.begin(), resamples.end());
  const auto at = [&](double f) { return resamples[static_cast<std::size_t>(f * static_cast<double>(resamples.size() - 1))]; };
  return {value, at(0.025), at(0.975)};
}

}  // namespace

gain_report gains(const std::vector<lane_times>& lanes) {
  constexpr int resamples = 400;
  gain_report out;
  std::vector<const lane_times*> used;
  for (const lane_times& lane : lanes) {
    const bool any = std::any_of(lane.beside.begin(), lane.beside.end(), [](const auto& v) { return !v.empty(); });
    if (std::all_of(lane.beside.begin(), lane.beside.end(), [](const auto& v) { return v.size() >= enough_ticks; })) {
      used.push_back(&lane);
    } else if (any) {
      ++out.left_out;
    }
  }
  if (used.empty()) {
    return out;
  }
  std::mt19937 random(20);
  double off = 0, on = 0, control = 0;
  std::vector<double> off_of(resamples), on_of(resamples), control_of(resamples);
  for (const lane_times* lane : used) {
    lane_gain g;
    g.lane = lane->lane;
    g.count_alone = lane->alone.size();
    g.alone = median(lane->alone);
    for (std::size_t m = 0; m < 3; ++m) {
      g.count[m] = lane->beside[m].size();
      g.p50[m] = median(lane->beside[m]);
      g.p99[m] = percentile(lane->beside[m], 0.99);
    }
    const double units = static_cast<double>(g.count[0]);
    off += units * g.p50[0];
    on += units * g.p50[1];
    control += units * g.p50[2];
    std::vector<double> ratios;
    for (std::size_t r = 0; r < resamples; ++r) {
      const double a = median(resample(lane->beside[0], random));
      const double b = median(resample(lane->beside[1], random));
      const double c = median(resample(lane->beside[2], random));
      ratios.push_back(a / b);
      off_of[r] += units * a;
      on_of[r] += units * b;
      control_of[r] += units * c;
    }
    g.gain = with_interval(g.p50[0] / g.p50[1], ratios);
    out.lanes.push_back(std::move(g));
  }
  std::vector<double> gain, same;
  for (std::size_t r = 0; r < resamples; ++r) {
    gain.push_back(off_of[r] / on_of[r]);
    same.push_back(off_of[r] / control_of[r]);
  }
  out.gain = with_interval(off / on, gain);
  out.control = with_interval(off / control, same);
  std::sort(out.lanes.begin(), out.lanes.end(), [](const lane_gain& a, const lane_gain& b) {
    return a.p50[0] * static_cast<double>(a.count[0]) > b.p50[0] * static_cast<double>(b.count[0]);
  });
  return out;
}

namespace {

std::string words(const estimate& e) {
  return fixed(e.value, 3) + "× (95 %: " + fixed(e.low, 3) + " to " + fixed(e.high, 3) + ")";
}

}  // namespace

std::string sentence(const gain_report& report) {
  if (report.lanes.empty()) {
    return "The gain is not known: no stream or graph did " + std::to_string(enough_ticks) +
           " units of work beside listed kernels of each kind (as they are, moved, control).";
  }
  std::string out = "Beside the listed kernels the others ran at " + words(report.gain) +
                    " of their pace when those were moved; a map that changes nothing gave " + words(report.control) + ".";
  if (report.control.low > 1.01 || report.control.high < 0.99) {
    out += " The control is not 1, so the gain is uncertain by as much.";
  }
  if (report.gain.high < 0.99) {
    out += " The move makes this program slower: do not apply it.";
  } else if (report.gain.low <= 1.01) {
    out += " That is no gain that this measurement can tell from none.";
  }
  return out;
}

std::string table(const gain_report& report) {
  std::string out = left("what did its work beside listed kernels", 46) + right("alone µs", 10) + right("as is p50", 11) +
                    right("p99", 9) + right("moved p50", 11) + right("p99", 9) + right("control p50", 13) + right("gain", 8) +
                    right("units", 20) + "\n";
  for (const lane_gain& g : report.lanes) {
    out += left(g.lane, 46) + right(g.count_alone == 0 ? "-" : fixed(g.alone, 2), 10) + right(fixed(g.p50[0], 2), 11) +
           right(fixed(g.p99[0], 2), 9) + right(fixed(g.p50[1], 2), 11) + right(fixed(g.p99[1], 2), 9) +
           right(fixed(g.p50[2], 2), 13) + right(fixed(g.gain.value, 3), 8) +
           right(std::to_string(g.count[0]) + "/" + std::to_string(g.count[1]) + "/" + std::to_string(g.count[2]), 20) + "\n";
  }
  if (report.left_out != 0) {
    out += std::to_string(report.left_out) + " streams or graphs did too little beside listed kernels to be compared\n";
  }
  return out;
}

std::string json(const gain_report& report) {
  const auto number = [](const estimate& e) {
    return "{\"value\": " + fixed(e.value, 4) + ", \"low\": " + fixed(e.low, 4) + ", \"high\": " + fixed(e.high, 4) + "}";
  };
  std::string out = "{\"gain\": " + (report.lanes.empty() ? "null" : number(report.gain)) +
                    ", \"control\": " + (report.lanes.empty() ? "null" : number(report.control)) + ", \"lanes\": [";
  for (std::size_t i = 0; i < report.lanes.size(); ++i) {
    const lane_gain& g = report.lanes[i];
    std::string name;
    for (const char c : g.lane) {
      name += c == '"' || c == '\\' ? std::string("\\") + c : std::string(1, c);
    }
    out += std::string(i == 0 ? "" : ", ") + "{\"lane\": \"" + name +
           "\", \"alone_us\": " + (g.count_alone == 0 ? "null" : fixed(g.alone, 3));
    constexpr std::array<const char*, 3> modes{"as_is", "moved", "control"};
    for (std::size_t m = 0; m < 3; ++m) {
      out += std::string(", \"") + modes[m] + "\": {\"p50_us\": " + fixed(g.p50[m], 3) + ", \"p99_us\": " + fixed(g.p99[m], 3) +
             ", \"count\": " + std::to_string(g.count[m]) + "}";
    }
    out += ", \"gain\": " + number(g.gain) + "}";
  }
  return out + "]}\n";
}

}  // namespace membar_domains
