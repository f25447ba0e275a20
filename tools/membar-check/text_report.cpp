// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <common/text_file.hpp>
#include <membar-check/places.hpp>
#include <membar-check/report.hpp>

#include <check/trace.hpp>
#include <membar/model/execution.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <exception>
#include <filesystem>
#include <map>
#include <memory>
#include <ostream>
#include <set>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

namespace membar_check {

namespace {

namespace model = membar::model;

/// The lines of source files, read once.
class source_lines {
 public:
  /// A line, without the blanks around it; empty if there is none.
  [[nodiscard]] std::string line(const std::string& path, int number) {
    auto it = files_.find(path);
    if (it == files_.end()) {
      std::vector<std::string> lines;
      try {
        std::istringstream in(membar_tools::read_file(path));
        for (std::string one; std::getline(in, one);) {
          lines.push_back(one);
        }
      } catch (const std::exception&) {
        // a source that is not here is shown by its place alone
      }
      it = files_.emplace(path, std::move(lines)).first;
    }
    if (number < 1 || static_cast<std::size_t>(number) > it->second.size()) {
      return "";
    }
    const std::string& whole = it->second[static_cast<std::size_t>(number) - 1];
    const std::size_t begin = whole.find_first_not_of(" \t");
    return begin == std::string::npos ? "" : whole.substr(begin, whole.find_last_not_of(" \t\r") - begin + 1);
  }

 private:
  std::map<std::string, std::vector<std::string>> files_;
};

/// Which events of a finding are shown: all, or those to blame, and then the last ones of the threads to blame and of the others. Where others
/// meet says little.
std::vector<bool> shown_events(const check::finding& f, std::uint64_t most) {
  std::vector<bool> result(f.events.size(), f.events.size() <= most);
  std::set<int> to_blame;
  for (std::size_t k = 0; k < f.events.size(); ++k) {
    if (f.events[k].blamed) {
      to_blame.insert(f.events[k].thread);
      result[k] = true;
      most -= most > 0 ? 1 : 0;
    }
  }
  for (const bool blamed : {true, false}) {
    for (std::size_t k = f.events.size(); k-- > 0 && most > 0;) {
      const check::trace_event& e = f.events[k];
      const bool meets = e.event.kind == model::event_kind::barrier && !blamed && !to_blame.empty();
      if (!result[k] && !meets && (to_blame.count(e.thread) != 0) == blamed) {
        result[k] = true;
        --most;
      }
    }
  }
  return result;
}

/// A number of nanoseconds, with its sign.
std::string nanoseconds(double ns) {
  char text[32];
  static_cast<void>(std::snprintf(text, sizeof text, "%+.1f ns", ns == 0 ? 0.0 : ns));
  return text;
}

class text_writer final : public report {
 public:
  text_writer(std::ostream& out, const request& how) : out_(out), how_(how) {}

  void result(const checked_file& file) override {
    const check::check_result& r = file.result;
    char time[32];
    static_cast<void>(std::snprintf(time, sizeof time, "%.2f", file.seconds));
    out_ << file.path << '\t' << check::name(r.status) << '\t' << r.counts.executions << " executions, " << r.counts.blocked
         << " blocked, " << time << " s";
    if (r.status == check::check_status::verified) {
      out_ << "; clocks stand still" << (r.load_buffering_is_open ? ", without load buffering" : "")
           << (r.symmetric ? ", equal threads exchanged" : "");
      for (const std::string& warning : file.warnings) {
        out_ << "; " << warning;
      }
    }
    for (const std::string& stated : file.prepared.stated) {
      out_ << "; " << stated;
    }
    if (how_.options.random_executions != 0 && r.status != check::check_status::gave_up) {
      out_ << "; seed " << r.seed;
    }
    out_ << "\n";
    if (r.status == check::check_status::verified || how_.quiet) {
      return;
    }
    show(check::whole_program(file.prepared.checked, r.found), r.found);
    const bool may_be_repaired = r.status == check::check_status::race || r.status == check::check_status::violated;
    if (how_.repair == 0 && may_be_repaired && how_.options.random_executions == 0) {
      out_ << "  --repair looks for the orders, scopes and fences under which it is verified\n";
    }
  }

  void repairs(const checked_file& file, const check::repair_result& found, const check::order_costs& costs) override {
    constexpr std::size_t most = 3;  // others of the same size differ in where a fence stands
    const std::vector<check::code_site> sites = check::sites_of(file.prepared.checked);
    if (found.repairs.empty()) {
      out_ << "  no repair: no " << found.tried << " orders, scopes and fences verify it (" << found.explorations
           << " explorations" << (found.left_out ? ", of which some were cut" : "") << ")\n";
    }
    for (std::size_t k = 0; k < found.repairs.size() && k < most; ++k) {
      const check::repair& one = found.repairs[k];
      out_ << "  repair " << k + 1 << " of " << found.repairs.size() << ": " << nanoseconds(one.cost) << " on "
           << costs.device() << "; verified, " << one.counts.executions << " executions"
           << (one.only_strong ? "; a race is gone, and only final conditions say what may be read" : "") << "\n";
      for (std::size_t n = 0; n < one.edits.size(); ++n) {
        show_edit(file.prepared.checked, sites[static_cast<std::size_t>(one.edits[n].site)], one.edits[n], one.costs[n]);
      }
    }
  }

  void excess_orders(const checked_file& file, const check::excess_result& found, const check::order_costs&) override {
    const std::vector<check::code_site> sites = check::sites_of(file.prepared.checked);
    out_ << "  " << found.alone.size() << " of " << found.orders << " orders are stronger than this scenario needs"
         << (found.left_out ? "; some explorations were cut" : "") << "\n";
    for (const check::excess_order& one : found.alone) {
      show_edit(file.prepared.checked, sites[static_cast<std::size_t>(one.edit.site)], one.edit, -one.saved);
    }
    if (!found.alone.empty()) {
      const bool all = std::equal(found.alone.begin(), found.alone.end(), found.together.begin(), found.together.end(),
                                  [](const check::excess_order& x, const check::excess_order& y) { return x.edit == y.edit; });
      out_ << "  each verifies with the others as they are" << (all ? ", and all together do" : "; together:") << "\n";
      for (std::size_t k = 0; k < found.together.size() && !all; ++k) {
        const check::excess_order& one = found.together[k];
        show_edit(file.prepared.checked, sites[static_cast<std::size_t>(one.edit.site)], one.edit, -one.saved);
      }
      out_ << "  another launch may need what this one does without\n";
    }
  }

  void error(const std::string& path, const std::string& message, bool) override {
    out_ << path << "\terror\t" << message << "\n";
  }
  void end() override {}

 private:
  /// An instruction as its line of the source, or as PTX.
  std::string shown(const check::program& p, int thread, const check::instruction& i) {
    const instruction_places places = places_of(p, thread, i);
    const bool statement = is_statement(p, thread, places);
    if (!statement && (how_.ptx || places.own.path.empty())) {
      return "PTX line " + std::to_string(i.line) + ": " + i.text;
    }
    const auto name = [](const source_place& place) {
      return std::filesystem::path(place.path).filename().string() + ":" + std::to_string(place.line);
    };
    if (statement) {
      return name(places.own) + ": " + i.text;
    }
    const auto text = [&](const source_place& place) { return name(place) + ": " + lines_.line(place.path, place.line); };
    return places.caller.path.empty() ? text(places.own) : text(places.caller) + "   [in " + name(places.own) + "]";
  }

  void show(const check::program& p, const check::finding& f) {
    out_ << "  " << f.message << "\n";
    const std::vector<bool> chosen = shown_events(f, how_.events);
    if (const auto count = std::count(chosen.begin(), chosen.end(), true); static_cast<std::size_t>(count) < chosen.size()) {
      out_ << "  " << count << " of " << chosen.size() << " events, of which --events=" << chosen.size() << " shows all:\n";
    }
    int thread = -1;
    for (std::size_t k = 0; k < f.events.size(); ++k) {
      const check::trace_event& e = f.events[k];
      if (!chosen[k]) {
        continue;
      }
      if (e.thread != thread) {
        thread = e.thread;
        out_ << "  " << check::thread_text(p, thread) << "\n";
      }
      out_ << (e.blamed ? "  > " : "    ") << e.number << ": " << shown(p, issuer_of(p, e.thread), *e.at) << "\n";
      if (!e.what.empty()) {
        out_ << "         " << e.what << "\n";
      }
    }
    if (f.thread >= 0 && f.waiting[static_cast<std::size_t>(f.thread)] != nullptr) {
      out_ << "  " << check::thread_text(p, f.thread) << " is at "
           << shown(p, f.thread, *f.waiting[static_cast<std::size_t>(f.thread)]) << "\n";
    } else if (f.status == check::check_status::hang) {
      for (std::size_t t = 0; t < f.waiting.size(); ++t) {
        if (f.waiting[t] != nullptr) {
          out_ << "  " << check::thread_text(p, static_cast<int>(t)) << " waits at "
               << shown(p, static_cast<int>(t), *f.waiting[t]) << "\n";
        }
      }
    }
  }

  /// A change: the source line, and below it what becomes of the instruction.
  void show_edit(const check::program& p, const check::code_site& site, const check::code_edit& e, double ns) {
    out_ << "    " << shown(p, site.thread, instruction_at(site)) << "\n         " << change_text(site, e) << "   "
         << nanoseconds(ns) << "\n";
  }

  std::ostream& out_;
  const request& how_;
  source_lines lines_{};
};

}  // namespace

std::unique_ptr<report> text_report(std::ostream& out, const request& how) { return std::make_unique<text_writer>(out, how); }

}  // namespace membar_check
