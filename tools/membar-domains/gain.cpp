// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "membar-domains/gain.hpp"

#include <algorithm>
#include <cmath>
#include <map>
#include <random>

#include "membar-domains/overlap.hpp"
#include "membar-domains/text.hpp"

namespace membar_domains {

namespace {

/// The listed kernels of one mode between two changes of mode.
struct turn {
  mode how = mode::off;
  std::vector<interval> listed;
};

std::vector<turn> turns_of(std::vector<moved_run> moves) {
  std::sort(moves.begin(), moves.end(), [](const moved_run& a, const moved_run& b) { return a.start < b.start; });
  std::vector<turn> out;
  for (const moved_run& m : moves) {
    if (out.empty() || out.back().how != m.how) {
      out.push_back({m.how, {}});
    }
    out.back().listed.push_back({m.start, m.end});
  }
  for (turn& t : out) {
    t.listed = merge(std::move(t.listed));
  }
  return out;
}

std::int64_t shared(const std::vector<interval>& intervals, std::int64_t start, std::int64_t end) {
  std::int64_t out = 0;
  const auto first =
      std::lower_bound(intervals.begin(), intervals.end(), start, [](const interval& i, std::int64_t t) { return i.end < t; });
  for (auto at = first; at != intervals.end() && at->start < end; ++at) {
    out += std::max<std::int64_t>(0, std::min(at->end, end) - std::max(at->start, start));
  }
  return out;
}

}  // namespace

std::vector<lane_times> sort_ticks(const records& of) {
  const std::vector<turn> all = turns_of(of.moves);
  struct beside {
    std::size_t turn;
    double us, overlap;
  };
  struct lane {
    std::vector<double> alone;
    std::vector<beside> units;
  };
  std::map<std::uint32_t, lane> lanes;
  // for each turn, the latest end of this and all earlier turns, because a kernel may run longer than the turns after it
  std::vector<std::int64_t> latest;
  for (const turn& t : all) {
    latest.push_back(std::max(latest.empty() ? t.listed.back().end : latest.back(), t.listed.back().end));
  }
  for (const tick& t : of.ticks) {
    lane& into = lanes[t.lane];
    const double us = static_cast<double>(t.end - t.start) / 1000;
    bool many = false;
    std::size_t found = all.size();
    std::size_t at = static_cast<std::size_t>(std::lower_bound(latest.begin(), latest.end(), t.start) - latest.begin());
    for (; at < all.size() && all[at].listed.front().start <= t.end; ++at) {
      if (shared(all[at].listed, t.start, t.end) > 0) {
        many = many || (found != all.size() && all[found].how != all[at].how);
        found = at;
      }
    }
    if (found == all.size()) {
      into.alone.push_back(us);
    } else if (!many) {
      const auto length = std::max<std::int64_t>(t.end - t.start, 1);
      into.units.push_back(
          {found, us, static_cast<double>(shared(all[found].listed, t.start, t.end)) / static_cast<double>(length)});
    }
  }
  std::vector<lane_times> out;
  for (auto& [id, l] : lanes) {
    lane_times times;
    const auto name = of.lanes.find(id);
    times.lane = name == of.lanes.end() ? "lane " + std::to_string(id) : name->second;
    times.alone = std::move(l.alone);
    std::vector<double> shares;
    for (const beside& b : l.units) {
      shares.push_back(b.overlap);
    }
    const double usual = median(shares);
    std::array<std::map<std::size_t, std::vector<double>>, 3> by_turn;
    for (const beside& b : l.units) {
      if (b.overlap >= usual / 2) {
        by_turn[static_cast<std::size_t>(all[b.turn].how)][b.turn].push_back(b.us);
        times.overlap.push_back(b.overlap);
      }
    }
    for (std::size_t m = 0; m < 3; ++m) {
      for (auto& [turn, values] : by_turn[m]) {
        times.beside[m].push_back(std::move(values));
      }
    }
    out.push_back(std::move(times));
  }
  return out;
}

namespace {

std::vector<double> pooled(const turns& all) {
  std::vector<double> out;
  for (const auto& turn : all) {
    out.insert(out.end(), turn.begin(), turn.end());
  }
  return out;
}

/// Returns whether the times of lanes differ so much that the lanes must not be confused.
bool differ(const std::vector<const lane_times*>& lanes) {
  constexpr double by = 1.1;
  for (std::size_t m = 0; m < 3; ++m) {
    std::vector<double> times;
    for (const lane_times* lane : lanes) {
      if (const std::vector<double> all = pooled(lane->beside[m]); !all.empty()) {
        times.push_back(median(all));
      }
    }
    if (!times.empty() && std::ranges::max(times) > by * std::ranges::min(times)) {
      return true;
    }
  }
  return false;
}

}  // namespace

std::vector<lane_times> joined(const std::vector<std::vector<std::vector<lane_times>>>& runs) {
  const auto append = [](auto& to, const auto& from) { to.insert(to.end(), from.begin(), from.end()); };
  std::map<std::string, lane_times> all;
  for (const auto& processes : runs) {
    for (std::size_t i = 0; i < processes.size(); ++i) {
      std::map<std::string, std::vector<const lane_times*>> by_name;
      for (const lane_times& lane : processes[i]) {
        by_name[(processes.size() > 1 ? "process " + std::to_string(i + 1) + ", " : std::string()) + lane.lane].push_back(
            &lane);
      }
      for (const auto& [name, lanes] : by_name) {
        const bool told = runs.size() == 1 || !differ(lanes);
        for (std::size_t k = 0; k < lanes.size(); ++k) {
          const std::string own = name + (k == 0 ? "" : " (" + std::to_string(k + 1) + ")");
          lane_times& into = all[own];
          into.lane = own;
          into.distinguished = into.distinguished && told;
          append(into.alone, lanes[k]->alone);
          append(into.overlap, lanes[k]->overlap);
          for (std::size_t m = 0; m < 3; ++m) {
            append(into.beside[m], lanes[k]->beside[m]);
          }
        }
      }
    }
  }
  std::vector<lane_times> out;
  for (auto& [name, lane] : all) {
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

/// Draws turns at random with replacement, as many as there are, and returns the times of their units.
std::vector<double> resample(const turns& all, std::mt19937& random) {
  std::uniform_int_distribution<std::size_t> any(0, all.size() - 1);
  std::vector<double> out;
  for (std::size_t i = 0; i < all.size(); ++i) {
    const auto& turn = all[any(random)];
    out.insert(out.end(), turn.begin(), turn.end());
  }
  return out;
}

estimate with_interval(double value, std::vector<double> resamples) {
  std::sort(resamples.begin(), resamples.end());
  const auto at = [&](double f) { return resamples[static_cast<std::size_t>(f * static_cast<double>(resamples.size() - 1))]; };
  return {value, at(0.025), at(0.975)};
}

}  // namespace

namespace {

constexpr std::size_t resamples = 400;

/// The index of the unmodified program's times, with which the control is compared. A lane without a control, such as a graph
/// that is instantiated twice, uses half of its unmodified turns as its control.
constexpr std::size_t reference = 3;
using sides = std::array<turns, 4>;

sides sides_of(const lane_times& lane) {
  const turns& as_is = lane.beside[static_cast<std::size_t>(mode::off)];
  sides out{as_is, lane.beside[1], lane.beside[2], as_is};
  if (out[2].empty()) {
    out[reference].clear();
    for (std::size_t i = 0; i < as_is.size(); ++i) {
      out[i % 2 == 0 ? reference : std::size_t{2}].push_back(as_is[i]);
    }
  }
  return out;
}

/// The median times of each mode over all lanes, weighted by units, for the measured turns and for each resample.
struct weighed_times {
  std::array<double, 4> median{};
  std::array<std::vector<double>, 4> resampled{std::vector<double>(resamples), std::vector<double>(resamples),
                                               std::vector<double>(resamples), std::vector<double>(resamples)};

  [[nodiscard]] estimate ratio(mode how) const {
    const auto as_is = how == mode::control ? reference : static_cast<std::size_t>(mode::off);
    const auto other = static_cast<std::size_t>(how);
    std::vector<double> ratios;
    for (std::size_t r = 0; r < resamples; ++r) {
      ratios.push_back(resampled[as_is][r] / resampled[other][r]);
    }
    return with_interval(median[as_is] / median[other], ratios);
  }
};

/// Computes the gain of one lane, and adds its times to the sums over all lanes.
lane_gain gain_of(const lane_times& lane, std::mt19937& random, weighed_times& all) {
  lane_gain g;
  g.lane = lane.lane;
  g.count_alone = lane.alone.size();
  g.alone = median(lane.alone);
  g.overlap = median(lane.overlap);
  const sides beside = sides_of(lane);
  for (std::size_t m = 0; m < 3; ++m) {
    const std::vector<double> times = pooled(beside[m]);
    g.count[m] = times.size();
    g.turns[m] = beside[m].size();
    g.p50[m] = median(times);
    g.p99[m] = percentile(times, 0.99);
  }
  const double units = static_cast<double>(g.count[0]);
  std::vector<double> ratios;
  for (std::size_t r = 0; r < resamples; ++r) {
    std::array<double, 4> drawn{};
    for (std::size_t m = 0; m < drawn.size(); ++m) {
      drawn[m] = median(resample(beside[m], random));
      all.resampled[m][r] += units * drawn[m];
    }
    ratios.push_back(drawn[0] / drawn[1]);
  }
  for (std::size_t m = 0; m < beside.size(); ++m) {
    all.median[m] += units * median(pooled(beside[m]));
  }
  g.gain = with_interval(g.p50[0] / g.p50[1], ratios);
  return g;
}

}  // namespace

gain_report gains(const std::vector<lane_times>& lanes) {
  gain_report out;
  std::mt19937 random(20);
  weighed_times all;
  for (const lane_times& lane : lanes) {
    const auto has = [&](mode how) {
      const turns& all_turns = lane.beside[static_cast<std::size_t>(how)];
      return pooled(all_turns).size() >= enough_ticks;
    };
    const bool no_control = lane.beside[static_cast<std::size_t>(mode::control)].empty() &&
                            lane.beside[static_cast<std::size_t>(mode::off)].size() > 1;
    if (!lane.distinguished) {
      ++out.not_distinguished;
    } else if (has(mode::off) && has(mode::on) && (no_control || has(mode::control))) {
      out.lanes.push_back(gain_of(lane, random, all));
      const std::size_t fewest = std::ranges::min(out.lanes.back().turns);
      out.fewest_turns = out.fewest_turns == 0 ? fewest : std::min(out.fewest_turns, fewest);
    } else if (std::ranges::any_of(lane.beside, [](const turns& v) { return !v.empty(); })) {
      ++out.left_out;
    }
  }
  if (out.lanes.empty()) {
    return out;
  }
  out.gain = all.ratio(mode::on);
  out.control = all.ratio(mode::control);
  std::sort(out.lanes.begin(), out.lanes.end(), [](const lane_gain& a, const lane_gain& b) {
    return a.p50[0] * static_cast<double>(a.count[0]) > b.p50[0] * static_cast<double>(b.count[0]);
  });
  return out;
}

bool is_narrow(const gain_report& report) {
  return !report.lanes.empty() && report.gain.high - report.gain.low <= 0.04 * report.gain.value;
}

namespace {

std::string words(const estimate& e) {
  return fixed(e.value, 3) + "× (95 %: " + fixed(e.low, 3) + " to " + fixed(e.high, 3) + ")";
}

}  // namespace

std::string sentence(const gain_report& report, bool whole_runs) {
  if (report.lanes.empty()) {
    return std::string("The gain could not be measured: no stream or graph") +
           (report.not_distinguished == 0 ? "" : " that can be identified in every run") + " ran " +
           std::to_string(enough_ticks) +
           " units of work concurrently with listed kernels in each mode (not moved, moved, control).";
  }
  std::string out = "While listed kernels ran, moving them made the other kernels " + words(report.gain) +
                    " as fast; the control, which changes nothing, gave " + words(report.control) + ".";
  if (report.control.low > 1.01 || report.control.high < 0.99) {
    out += " The control differs from 1, so the gain is uncertain by at least that much.";
  }
  if (report.gain.high < 0.99) {
    out += " The move makes this program slower: do not apply it.";
  } else if (report.gain.low <= 1.01) {
    out += " This gain cannot be distinguished from no gain.";
  }
  if (report.fewest_turns < enough_turns) {
    out += " The intervals are based on as few as " + std::to_string(report.fewest_turns) +
           (report.fewest_turns == 1 ? " turn" : " turns") + " per mode: " +
           (whole_runs ? "use --runs=" + std::to_string(enough_turns) + " or more."
                       : "run the program longer, or use a smaller --turn.");
  }
  return out;
}

std::string table(const gain_report& report) {
  std::string out = left("stream or graph", 46) + right("alone µs", 10) + right("as is p50", 11) + right("p99", 9) +
                    right("moved p50", 11) + right("p99", 9) + right("control p50", 13) + right("gain", 8) +
                    right("units", 20) + right("turns", 12) + right("overlap", 9) + "\n";
  for (const lane_gain& g : report.lanes) {
    out += left(g.lane, 46) + right(g.count_alone == 0 ? "-" : fixed(g.alone, 2), 10) + right(fixed(g.p50[0], 2), 11) +
           right(fixed(g.p99[0], 2), 9) + right(fixed(g.p50[1], 2), 11) + right(fixed(g.p99[1], 2), 9) +
           right(fixed(g.p50[2], 2), 13) + right(fixed(g.gain.value, 3), 8) +
           right(std::to_string(g.count[0]) + "/" + std::to_string(g.count[1]) + "/" + std::to_string(g.count[2]), 20) +
           right(std::to_string(g.turns[0]) + "/" + std::to_string(g.turns[1]) + "/" + std::to_string(g.turns[2]), 12) +
           right(fixed(g.overlap * 100, 0) + " %", 9) + "\n";
  }
  if (report.left_out != 0) {
    out += std::to_string(report.left_out) +
           " streams or graphs are left out: they did too little work while listed kernels ran\n";
  }
  if (report.not_distinguished != 0) {
    out += std::to_string(report.not_distinguished) +
           " streams or graphs are left out: they run the same kernels at different speeds, so they cannot be matched between "
           "runs\n";
  }
  return out;
}

}  // namespace membar_domains
