// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <common/version.hpp>
#include <membar-check/places.hpp>
#include <membar-check/report.hpp>

#include <check/race_notes.hpp>
#include <check/trace.hpp>

#include <nlohmann/json.hpp>

#include <algorithm>
#include <cstddef>
#include <filesystem>
#include <memory>
#include <ostream>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace membar_check {

namespace {

using json = nlohmann::ordered_json;

/// The rules, by the status of what breaks them.
struct rule {
  std::string_view id;
  std::string_view text;
};
constexpr rule rules[] = {
    {"race", "Two accesses of the same bytes, one of them a write, are neither morally strong nor ordered by causality."},
    {"violated", "A final condition does not hold, a thread traps, or an assertion fails."},
    {"hang", "Threads wait, and no other thread can end that."},
    {"uninitialised", "Memory is read that nothing was written to."},
    {"out-of-bounds", "An access is outside of every object, is not aligned, or writes to constant memory."},
    {"undefined", "PTX or CUDA leaves the behaviour undefined."},
    {"gave-up", "The check was cut, or a thread came to what is not supported."},
    {"excess-order", "An order is stronger than the scenario needs."}};

std::string rule_id(check::check_status status) {
  std::string id = check::name(status);
  std::replace(id.begin(), id.end(), ' ', '-');
  return id;
}

json message(const std::string& text) { return {{"text", text}}; }

/// A path as a reference of RFC 3986.
std::string encoded(const std::string& path) {
  constexpr std::string_view plain = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-._~/";
  constexpr std::string_view digits = "0123456789ABCDEF";
  std::string result;
  for (const char c : path) {
    const auto byte = static_cast<unsigned char>(c);
    result += plain.find(c) != std::string_view::npos ? std::string(1, c)
                                                      : std::string("%") + digits[byte / 16U] + digits[byte % 16U];
  }
  return result;
}

/// A file, relative to the working folder if it is in there.
json artifact(const std::string& path) {
  const std::filesystem::path whole = std::filesystem::absolute(path).lexically_normal();
  const std::filesystem::path relative = whole.lexically_relative(std::filesystem::current_path());
  if (relative.empty() || *relative.begin() == "..") {
    return {{"uri", "file://" + encoded(whole.string())}};
  }
  return {{"uri", encoded(relative.string())}, {"uriBaseId", "%SRCROOT%"}};
}

json location(const std::string& path, int line) {
  json physical = {{"artifactLocation", artifact(path)}};
  if (line > 0) {
    physical["region"] = {{"startLine", line}};
  }
  return {{"physicalLocation", std::move(physical)}};
}

class sarif_writer final : public report {
 public:
  explicit sarif_writer(std::ostream& out) : out_(out) {}

  void result(const checked_file& file) override {
    const check::check_result& r = file.result;
    for (const std::string& warning : file.warnings) {
      notify(file.path, "warning", warning);
    }
    if (r.status == check::check_status::verified) {
      return;
    }
    const check::program& p = check::whole_program(file.prepared.checked, r.found);
    std::string text = r.found.message;
    for (const std::string& note : check::race_notes(p, r.found)) {
      text += ". " + note;
    }
    json one = new_result(rule_id(r.status), r.status == check::check_status::gave_up ? "warning" : "error", text);
    json places = json::array();
    json steps = json::array();
    for (const check::trace_event& e : r.found.events) {
      json here = place_in(p, file.path, issuer_of(p, e.thread), *e.at);
      if (e.blamed) {
        places.push_back(here);
      }
      here["message"] = message(check::thread_text(p, e.thread) + ": " + (e.what.empty() ? e.at->text : e.what));
      steps.push_back({{"location", std::move(here)}, {"importance", e.blamed ? "essential" : "important"}});
    }
    for (std::size_t t = 0; t < r.found.waiting.size() && places.empty(); ++t) {
      const bool tells = r.found.thread >= 0 ? r.found.thread == static_cast<int>(t) : r.status == check::check_status::hang;
      if (tells && r.found.waiting[t] != nullptr) {
        places.push_back(place_in(p, file.path, static_cast<int>(t), *r.found.waiting[t]));
      }
    }
    if (places.empty()) {
      places.push_back(location(file.path, 0));
    }
    one["locations"] = json::array({places[0]});
    for (std::size_t k = 1; k < places.size(); ++k) {
      json other = places[k];
      other["id"] = k;
      other["message"] = message("the other access");
      one["relatedLocations"].push_back(std::move(other));
    }
    if (!steps.empty()) {
      one["codeFlows"] = json::array({{{"threadFlows", json::array({{{"locations", std::move(steps)}}})}}});
    }
    one["properties"] = {{"scenario", file.path}, {"executions", r.counts.executions}, {"seconds", file.seconds}};
    if (!file.prepared.stated.empty()) {
      one["properties"]["assumptions"] = file.prepared.stated;
    }
    results_.push_back(std::move(one));
  }

  void repairs(const checked_file& file, const check::repair_result& found, const check::order_costs& costs) override {
    const std::vector<check::code_site> sites = check::sites_of(file.prepared.checked);
    json all = json::array();
    for (const check::repair& r : found.repairs) {
      json changes = json::array();
      for (const check::code_edit& e : r.edits) {
        const check::code_site& site = sites[static_cast<std::size_t>(e.site)];
        changes.push_back(check::place_of(file.prepared.checked, site.thread, instruction_at(site)) + ": " +
                          change_text(site, e));
      }
      all.push_back({{"cost_ns", r.cost}, {"changes", std::move(changes)}});
    }
    results_.back()["properties"]["repairs"] = {{"device", costs.device()}, {"found", std::move(all)}};
  }

  void excess_orders(const checked_file& file, const check::excess_result& found, const check::order_costs&) override {
    const std::vector<check::code_site> sites = check::sites_of(file.prepared.checked);
    for (const check::excess_order& one : found.alone) {
      const check::code_site& site = sites[static_cast<std::size_t>(one.edit.site)];
      json note = new_result("excess-order", "note", change_text(site, one.edit) + ", and the scenario still verifies");
      note["locations"] = json::array({place_in(file.prepared.checked, file.path, site.thread, instruction_at(site))});
      results_.push_back(std::move(note));
    }
  }

  void error(const std::string& path, const std::string& text, bool) override {
    notify(path, "error", text);
    successful_ = false;
  }

  void end() override {
    json described = json::array();
    for (const rule& r : rules) {
      described.push_back({{"id", r.id}, {"shortDescription", {{"text", r.text}}}});
    }
    const json invocation = {{"executionSuccessful", successful_}, {"toolExecutionNotifications", notifications_}};
    const json run = {
        {"tool",
         {{"driver", {{"name", "membar-check"}, {"version", membar_tools::version_text()}, {"rules", std::move(described)}}}}},
        {"invocations", json::array({invocation})},
        {"originalUriBaseIds", {{"%SRCROOT%", {{"uri", "file://" + encoded(std::filesystem::current_path().string()) + "/"}}}}},
        {"columnKind", "unicodeCodePoints"},
        {"results", results_}};
    const json document = {
        {"$schema", "https://docs.oasis-open.org/sarif/sarif/v2.1.0/errata01/os/schemas/sarif-schema-2.1.0.json"},
        {"version", "2.1.0"},
        {"runs", json::array({run})}};
    out_ << document.dump(2, ' ', false, json::error_handler_t::replace) << "\n";
  }

 private:
  [[nodiscard]] static json new_result(const std::string& id, const char* level, const std::string& text) {
    const auto at =
        std::find_if(std::begin(rules), std::end(rules), [&](const rule& r) { return r.id == id; }) - std::begin(rules);
    return {{"ruleId", id}, {"ruleIndex", at}, {"level", level}, {"message", message(text)}};
  }

  /// Where an instruction is in the source: the caller's line first. PTX without a source: the file that is checked.
  [[nodiscard]] static json place_in(const check::program& p, const std::string& file, int thread,
                                     const check::instruction& i) {
    const instruction_places places = places_of(p, thread, i);
    const source_place& place = places.caller.path.empty() ? places.own : places.caller;
    return place.path.empty() ? location(file, 0) : location(place.path, place.line);
  }

  void notify(const std::string& path, const char* level, const std::string& text) {
    notifications_.push_back({{"level", level}, {"message", message(text)}, {"locations", json::array({location(path, 0)})}});
  }

  std::ostream& out_;
  json results_ = json::array();
  json notifications_ = json::array();
  bool successful_ = true;
};

}  // namespace

std::unique_ptr<report> sarif_report(std::ostream& out) { return std::make_unique<sarif_writer>(out); }

}  // namespace membar_check
