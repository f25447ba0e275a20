// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <common/version.hpp>
#include <membar-check/places.hpp>
#include <membar-check/report.hpp>

#include <check/finding_notes.hpp>
#include <check/trace.hpp>

#include <nlohmann/json.hpp>

#include <cstddef>
#include <memory>
#include <ostream>
#include <string>
#include <utility>
#include <vector>

namespace membar_check {

namespace {

using json = nlohmann::ordered_json;

constexpr int format_version = 1;

json place_json(const source_place& place) { return {{"file", place.path}, {"line", place.line}}; }

/// Adds an instruction and, if known, its source location to `to`.
void add_instruction(json& to, const check::program& p, int thread, const check::instruction& i) {
  const instruction_places places = places_of(p, thread, i);
  to["instruction"] = i.text;
  if (!is_statement(p, thread, places)) {
    to["ptx_line"] = i.line;
  }
  if (!places.own.path.empty()) {
    to["source"] = place_json(places.own);
  }
  if (places.user != places.own) {
    to["shown"] = place_json(places.user);
  }
  if (!places.via.path.empty()) {
    to["called_at"] = place_json(places.via);
  }
  if (!places.caller.path.empty()) {
    to["caller"] = place_json(places.caller);
  }
}

json finding_json(const check::program& p, const check::finding& f) {
  json events = json::array();
  for (const check::trace_event& e : f.events) {
    json one = {{"thread", e.thread}, {"number", e.number}};
    add_instruction(one, p, issuer_of(p, e.thread), *e.at);
    one["what"] = e.what;
    one["blamed"] = e.blamed;
    if (e.source_thread >= 0) {
      one["reads_from"] = {{"thread", e.source_thread}, {"number", e.source_number}};
    }
    events.push_back(std::move(one));
  }
  json threads = json::array();
  for (std::size_t t = 0; t < f.waiting.size(); ++t) {
    const int thread = static_cast<int>(t);
    json one = {{"number", thread}, {"name", check::thread_text(p, thread)}};
    if (f.waiting[t] != nullptr) {
      json at;
      add_instruction(at, p, issuer_of(p, thread), *f.waiting[t]);
      one["is_at"] = std::move(at);
    }
    threads.push_back(std::move(one));
  }
  json result = {{"message", f.message}};
  if (const std::vector<std::string> notes = check::finding_notes(p, f); !notes.empty()) {
    result["notes"] = notes;
  }
  if (f.thread >= 0) {
    result["thread"] = f.thread;
  }
  result["threads"] = std::move(threads);
  result["events"] = std::move(events);
  return result;
}

json change_json(const check::program& p, const check::code_site& site, const check::code_edit& e, double ns) {
  json one;
  add_instruction(one, p, site.thread, instruction_at(p, site));
  one["change"] = change_text(p, site, e);
  const check::cuda_spelling spelling = change_in_cuda(site, e);
  if (!spelling.cuda.empty()) {
    one["in_cuda"] = spelling.cuda;
  }
  if (!spelling.membar.empty()) {
    one["in_membar"] = spelling.membar;
  }
  if (!site.gap) {
    one["cost_ns"] = ns;
  }
  return one;
}

class json_writer final : public report {
 public:
  explicit json_writer(std::ostream& out) : out_(out) {}

  void result(const checked_file& file) override {
    const check::check_result& r = file.result;
    json one = {{"file", file.path},
                {"status", check::name(r.status)},
                {"seconds", file.seconds},
                {"executions", r.counts.executions},
                {"blocked", r.counts.blocked},
                {"load_buffered_executions", r.counts.buffered},
                {"events", r.counts.events},
                {"events_of_the_longest_execution", r.counts.longest},
                {"load_buffering_is_open", r.load_buffering_is_open},
                {"equal_threads_exchanged", r.symmetric}};
    if (r.seed != 0) {
      one["seed"] = r.seed;
    }
    if (!file.prepared.stated.empty()) {
      one["assumptions"] = file.prepared.stated;
    }
    if (!file.warnings.empty()) {
      one["warnings"] = file.warnings;
    }
    if (r.status != check::check_status::verified) {
      one["finding"] = finding_json(check::whole_program(file.prepared.checked, r.found), r.found);
    }
    files_.push_back(std::move(one));
  }

  void repairs(const checked_file& file, const check::repair_result& found, const check::order_costs& costs) override {
    const std::vector<check::code_site> sites = check::sites_of(file.prepared.checked);
    json all = json::array();
    for (const check::repair& r : found.repairs) {
      json changes = json::array();
      for (std::size_t n = 0; n < r.edits.size(); ++n) {
        changes.push_back(
            change_json(file.prepared.checked, sites[static_cast<std::size_t>(r.edits[n].site)], r.edits[n], r.costs[n]));
      }
      all.push_back({{"cost_ns", r.cost},
                     {"executions", r.counts.executions},
                     {"removes_only_the_race", r.only_strong},
                     {"load_buffering_is_open", r.load_buffering_is_open},
                     {"changes", std::move(changes)}});
    }
    files_.back()["repairs"] = {{"device", costs.device()},
                                {"explorations", found.explorations},
                                {"most_changes_tried", found.tried},
                                {"complete", !found.left_out},
                                {"found", std::move(all)}};
  }

  void excess_orders(const checked_file& file, const check::excess_result& found, const check::order_costs& costs) override {
    const std::vector<check::code_site> sites = check::sites_of(file.prepared.checked);
    const auto all = [&](const std::vector<check::excess_order>& orders) {
      json result = json::array();
      for (const check::excess_order& one : orders) {
        result.push_back(
            change_json(file.prepared.checked, sites[static_cast<std::size_t>(one.edit.site)], one.edit, -one.saved));
      }
      return result;
    };
    files_.back()["excess_orders"] = {{"device", costs.device()}, {"explorations", found.explorations},
                                      {"orders", found.orders},   {"complete", !found.left_out},
                                      {"each", all(found.alone)}, {"together", all(found.together)}};
  }

  void error(const std::string& path, const std::string& message, bool has_result) override {
    if (!has_result) {
      files_.push_back({{"file", path}, {"status", "error"}});
    }
    files_.back()["error"] = message;
  }

  void end() override {
    const json document = {{"format", "membar-check-report"},
                           {"format_version", format_version},
                           {"version", membar_tools::version_text()},
                           {"files", files_}};
    out_ << document.dump(2, ' ', false, json::error_handler_t::replace) << "\n";
  }

 private:
  std::ostream& out_;
  json files_ = json::array();
};

}  // namespace

std::unique_ptr<report> json_report(std::ostream& out) { return std::make_unique<json_writer>(out); }

}  // namespace membar_check
