// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "membar-domains/report_json.hpp"

#include <cmath>
#include <utility>

#include "membar-domains/format_version.hpp"

namespace membar_domains {

namespace {

json of(const estimate& e) {
  return {{"value", rounded(e.value, 4)}, {"low", rounded(e.low, 4)}, {"high", rounded(e.high, 4)}};
}

json known_or_null(bool known, double value, int digits = 3) { return known ? json(rounded(value, digits)) : json(nullptr); }

json of(const remote_kernel& r) {
  return {{"name", r.name},
          {"why", r.why},
          {"count", r.count},
          {"total_ms", rounded(r.total_ms)},
          {"beside_others_ms", rounded(r.shared_ms)},
          {"launches_without_far_pointers", r.near},
          {"launches_that_fill_the_device", r.fills},
          {"distinguished", r.distinguished},
          {"already_isolated", r.already_isolated}};
}

json of(const boundary& b) {
  return {{"device", b.device},
          {"before", b.before},
          {"after", b.after},
          {"in_graph", b.in_graph},
          {"alone", b.alone},
          {"beside", b.beside},
          {"step_alone_us", known_or_null(b.alone != 0, b.step_alone)},
          {"step_beside_us", rounded(b.step_beside)},
          {"held_up_us", known_or_null(b.known, b.held_up)},
          {"total_ms", known_or_null(b.known, b.total_ms())},
          {"waits_for_room", b.no_room}};
}

json of(const lane_gain& g) {
  json out{{"lane", g.lane}, {"alone_us", known_or_null(g.count_alone != 0, g.alone)}};
  constexpr std::array<const char*, 3> modes{"as_is", "moved", "control"};
  for (std::size_t m = 0; m < modes.size(); ++m) {
    out[modes[m]] = {
        {"p50_us", rounded(g.p50[m])}, {"p99_us", rounded(g.p99[m])}, {"count", g.count[m]}, {"turns", g.turns[m]}};
  }
  out["overlap"] = rounded(g.overlap);
  out["gain"] = of(g.gain);
  return out;
}

template <class Item>
json all_of(const std::vector<Item>& items) {
  json out = json::array();
  for (const Item& item : items) {
    out.push_back(of(item));
  }
  return out;
}

}  // namespace

double rounded(double value, int digits) {
  const double scale = std::pow(10, digits);
  return std::round(value * scale) / scale;
}

json document(const std::string& action) { return {{"format", "membar-domains." + action}, {"version", report_version}}; }

void add(json& into, const overlap_report& report) {
  into["sentence"] = sentence(report);
  into["held_up_count"] = report.held_up_count;
  into["held_up_ms"] = rounded(report.held_up_ms);
  into["beside_ms"] = rounded(report.beside_ms);
  into["unknown_boundaries"] = report.unknown;
  into["boundaries_that_wait_for_room"] = report.no_room;
  into["remote_kernels"] = all_of(report.remote);
  into["boundaries"] = all_of(report.boundaries);
}

void add(json& into, const check_report& report) {
  into["warnings"] = report.warnings;
  into["pairs"] = report.pairs;
  into["pairs_with_a_pointer_in_common"] = report.sharing;
  into["kernels_without_pointers"] = report.without_arguments;
  into["kernels_without_code"] = report.without_code;
}

void add(json& into, const gain_report& report, bool whole_runs) {
  into["sentence"] = sentence(report, whole_runs);
  into["gain"] = report.lanes.empty() ? json(nullptr) : of(report.gain);
  into["control"] = report.lanes.empty() ? json(nullptr) : of(report.control);
  into["lanes"] = all_of(report.lanes);
  into["lanes_with_too_few_units"] = report.left_out;
  into["lanes_not_distinguished"] = report.not_distinguished;
}

std::string file_text(const json& document) { return document.dump(2, ' ', false, json::error_handler_t::replace) + "\n"; }

std::string line_text(const json& document) { return document.dump(-1, ' ', false, json::error_handler_t::replace) + "\n"; }

}  // namespace membar_domains
