// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <membar-check/places.hpp>
#include <membar-check/report.hpp>
#include <membar-check/sarif_document.hpp>

#include <check/finding_notes.hpp>
#include <check/trace.hpp>

#include <algorithm>
#include <cstddef>
#include <memory>
#include <ostream>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace membar_check {

std::string status_word(check::check_status status) {
  std::string word = check::name(status);
  std::replace(word.begin(), word.end(), ' ', '-');
  return word;
}

namespace {

using json = sarif_document::json;

/// The rules, indexed by the status of a finding.
constexpr sarif_document::rule rules[] = {
    {"race",
     "Two accesses to the same bytes, at least one of them a write, are neither morally strong nor ordered by causality."},
    {"violated", "A final condition does not hold, a thread traps, or an assertion fails."},
    {"hang", "Threads wait, and no other thread can end their wait."},
    {"uninitialised", "A thread reads memory that was never written."},
    {"out-of-bounds", "An access is outside of every object, is misaligned, or writes to constant memory."},
    {"undefined", "PTX or CUDA leaves the behaviour undefined."},
    {"gave-up", "The check was cut short, or a thread reached something that is not supported."},
    {"excess-order", "An order is stronger than the scenario needs."}};

/// Describes a change and its spelling in C++.
std::string change_with_spelling(const check::program& p, const check::code_site& site, const check::code_edit& e) {
  const check::cuda_spelling in = change_in_cuda(site, e);
  const std::string& spelling = in.cuda.empty() ? in.membar : in.cuda;
  return change_text(p, site, e) + (spelling.empty() ? "" : " (in C++: " + spelling + ")");
}

class sarif_writer final : public report {
 public:
  explicit sarif_writer(std::ostream& out) : out_(out) {}

  void result(const checked_file& file) override {
    const check::check_result& r = file.result;
    for (const std::string& warning : file.warnings) {
      to_.notify(file.path, "warning", warning);
    }
    if (r.status == check::check_status::verified) {
      return;
    }
    const check::program& p = check::whole_program(file.prepared.checked, r.found);
    std::string text = r.found.message;
    for (const std::string& note : check::finding_notes(p, r.found)) {
      text += ". " + note;
    }
    json one = to_.result(status_word(r.status), r.status == check::check_status::gave_up ? "warning" : "error", text);
    json places = json::array();
    json steps = json::array();
    for (const check::trace_event& e : r.found.events) {
      json here = place_in(p, file.path, issuer_of(p, e.thread), *e.at);
      if (e.blamed) {
        places.push_back(here);
      }
      here["message"] =
          sarif_document::message(check::thread_text(p, e.thread) + ": " + (e.what.empty() ? e.at->text : e.what));
      steps.push_back({{"location", std::move(here)}, {"importance", e.blamed ? "essential" : "important"}});
    }
    for (std::size_t t = 0; t < r.found.waiting.size() && places.empty(); ++t) {
      const bool tells = r.found.thread >= 0 ? r.found.thread == static_cast<int>(t) : r.status == check::check_status::hang;
      if (tells && r.found.waiting[t] != nullptr) {
        places.push_back(place_in(p, file.path, issuer_of(p, static_cast<int>(t)), *r.found.waiting[t]));
      }
    }
    if (places.empty()) {
      places.push_back(sarif_document::location(file.path, 0));
    }
    one["locations"] = json::array({places[0]});
    for (std::size_t k = 1; k < places.size(); ++k) {
      json other = places[k];
      other["id"] = k;
      other["message"] = sarif_document::message("the other access");
      one["relatedLocations"].push_back(std::move(other));
    }
    if (!steps.empty()) {
      one["codeFlows"] = json::array({{{"threadFlows", json::array({{{"locations", std::move(steps)}}})}}});
    }
    one["properties"] = {{"scenario", file.path}, {"executions", r.counts.executions}, {"seconds", file.seconds}};
    if (!file.prepared.stated.empty()) {
      one["properties"]["assumptions"] = file.prepared.stated;
    }
    to_.add(std::move(one));
  }

  void repairs(const checked_file& file, const check::repair_result& found, const check::order_costs& costs) override {
    const std::vector<check::code_site> sites = check::sites_of(file.prepared.checked);
    json all = json::array();
    for (const check::repair& r : found.repairs) {
      json changes = json::array();
      for (const check::code_edit& e : r.edits) {
        const check::code_site& site = sites[static_cast<std::size_t>(e.site)];
        changes.push_back(check::place_of(file.prepared.checked, site.thread, instruction_at(file.prepared.checked, site)) +
                          ": " + change_with_spelling(file.prepared.checked, site, e));
      }
      all.push_back({{"cost_ns", r.cost}, {"changes", std::move(changes)}});
    }
    to_.last()["properties"]["repairs"] = {{"device", costs.device()}, {"found", std::move(all)}};
  }

  void excess_orders(const checked_file& file, const check::excess_result& found, const check::order_costs&) override {
    const std::vector<check::code_site> sites = check::sites_of(file.prepared.checked);
    for (const check::excess_order& one : found.alone) {
      const check::code_site& site = sites[static_cast<std::size_t>(one.edit.site)];
      json note = to_.result("excess-order", "note",
                             change_with_spelling(file.prepared.checked, site, one.edit) + ", and the scenario still passes");
      note["locations"] =
          json::array({place_in(file.prepared.checked, file.path, site.thread, instruction_at(file.prepared.checked, site))});
      to_.add(std::move(note));
    }
  }

  void error(const std::string& path, const std::string& text, bool) override { to_.notify(path, "error", text); }

  void end() override { to_.write(out_); }

 private:
  /// Returns the source locations of an instruction. For library code, this is the line of the call. If the PTX has no line
  /// information, returns a location in the checked file.
  [[nodiscard]] static json place_in(const check::program& p, const std::string& file, int thread,
                                     const check::instruction& i) {
    const instruction_places places = places_of(p, thread, i);
    return places.user.path.empty() ? sarif_document::location(file, 0)
                                    : sarif_document::location(places.user.path, places.user.line);
  }

  std::ostream& out_;
  sarif_document to_{{std::begin(rules), std::end(rules)}};
};

}  // namespace

std::unique_ptr<report> sarif_report(std::ostream& out) { return std::make_unique<sarif_writer>(out); }

}  // namespace membar_check
