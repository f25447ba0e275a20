// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <common/quote.hpp>
#include <common/text_file.hpp>
#include <membar-check/command_help.hpp>
#include <membar-check/merged_findings.hpp>
#include <membar-check/places.hpp>
#include <membar-check/report.hpp>
#include <membar-check/request.hpp>
#include <membar-check/sanitize_command.hpp>
#include <membar-check/scenario_file.hpp>
#include <membar-check/source_lines.hpp>
#include <membar-check/suppression_file.hpp>

#include <check/explore.hpp>
#include <check/finding_notes.hpp>
#include <check/launch.hpp>
#include <check/scenario.hpp>
#include <check/trace.hpp>
#include <litmus/readings.hpp>
#include <membar/model/error.hpp>
#include <sanitize/sanitize.hpp>

#include <CLI/CLI.hpp>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <exception>
#include <iostream>
#include <memory>
#include <set>
#include <string>
#include <utility>
#include <vector>

namespace membar_check {

namespace {

namespace sanitize = membar::sanitize;
using check::check_status;
using json = nlohmann::ordered_json;

constexpr int sanitize_format_version = 1;

[[nodiscard]] bool is_status(const std::string& word) {
  for (int k = static_cast<int>(check_status::race); k <= static_cast<int>(check_status::gave_up); ++k) {
    if (status_word(static_cast<check_status>(k)) == word) {
      return true;
    }
  }
  return false;
}

[[nodiscard]] suppression_file suppressions_in(const std::string& path) {
  suppression_file result(path);
  for (const suppression_file::line& one : result.lines()) {
    if (!is_status(one.kind)) {
      throw membar::model::error(result.place_of(one) + ": " + membar_tools::quote(one.kind) +
                                 " is not a status: begin the line with one, such as race");
    }
  }
  return result;
}

/// Returns the text in which a suppression looks for its parts.
[[nodiscard]] std::string text_to_match(const sanitize::sanitizer_finding& f) {
  const check::program& p = *f.found.whole;
  std::string text = f.found.message;
  const auto add = [&](int thread, const check::instruction& i) {
    text += "\n" + check::place_of(p, thread, i);
    const instruction_places places = places_of(p, thread, i);
    for (const source_place& one : {places.own, places.user, places.via, places.caller}) {
      text += "\n" + one.path + ":" + std::to_string(one.line);
    }
  };
  for (const check::trace_event& e : f.found.events) {
    add(e.thread, *e.at);
  }
  for (std::size_t t = 0; t < f.found.waiting.size(); ++t) {
    if (f.found.waiting[t] != nullptr) {
      add(static_cast<int>(t), *f.found.waiting[t]);
    }
  }
  for (const check::thread_context& c : p.threads) {
    text += "\n" + c.kernel->name;
  }
  return text;
}

struct sanitize_request {
  std::vector<std::string> files;
  std::string format = "text", suppressions;
  bool confirm = false, quiet = false;
  sanitize::sanitize_options run{};
};

/// The sanitizer's results for one file.
struct sanitized_file {
  std::string path;
  check::prepared_scenario prepared{};
  sanitize::sanitize_result result{};
  std::vector<std::string> confirmed{};  ///< the checker's verdict on each finding; empty if the checker was not run
  std::vector<std::string> stated{};     ///< the scenario's assumptions and the selected readings
  std::uint64_t suppressed = 0;          ///< the number of hidden findings
  double seconds = 0;

  [[nodiscard]] std::string status() const {
    const std::uint64_t n = result.counts.schedules;
    return result.findings.empty() ? "clean in " + std::to_string(n) + (n == 1 ? " schedule" : " schedules")
                                   : check::name(worst());
  }
  [[nodiscard]] check_status worst() const {
    const auto found =
        std::ranges::find_if(result.findings, [](const auto& f) { return f.found.status != check_status::gave_up; });
    return found == result.findings.end() ? check_status::gave_up : found->found.status;
  }
  [[nodiscard]] int exit_status() const { return result.findings.empty() ? 0 : worst() == check_status::gave_up ? 3 : 1; }
};

/// Replays the schedules of findings with the checker.
class replays {
 public:
  replays(const sanitized_file& file, const check::scenario& s, const std::vector<check::planned_launch>& launches,
          const sanitize::sanitize_options& run)
      : file_(file), launches_(launches), run_(run) {
    std::uint64_t threads = 0;
    for (const check::planned_launch& l : launches) {
      threads += l.blocks * l.block_size;
    }
    if (threads > check::most_threads) {
      cannot_ = "the launches have " + std::to_string(threads) + " threads, but the checker replays at most " +
                std::to_string(check::most_threads) + ": make the grid or the block smaller";
      return;
    }
    try {
      whole_ = check::prepare(s, ptx_of(s));
    } catch (const std::exception& e) {
      cannot_ = e.what();
    }
  }

  /// Returns a sentence that says whether the checker finds the same error.
  [[nodiscard]] std::string confirm(const sanitize::sanitizer_finding& f) const {
    if (!cannot_.empty() || f.found.status == check_status::gave_up) {
      return cannot_.empty() ? "not confirmed: the sanitizer gave up, so there is no error to confirm"
                             : "not confirmed: " + cannot_;
    }
    std::size_t steps = 0;
    const check::check_result r = followed(f, steps);
    return r.status == f.found.status ? "confirmed: membar-check finds the same error when it replays the schedule (" +
                                            std::to_string(steps) + " events)"
                                      : "not confirmed: " + r.found.message;
  }

  /// If a finding is about threads that only poll, and the checker finds that they poll forever, changes the finding's status
  /// to a hang.
  void decide(sanitize::sanitizer_finding& f) const {
    std::size_t steps = 0;
    if (!f.polls || !cannot_.empty()) {
      return;
    }
    check::check_result r = followed(f, steps);
    if (r.status == check_status::hang) {
      f.found = std::move(r.found);
      f.found.whole = std::make_shared<const check::program>(check::whole_program(whole_.checked, f.found));
      f.found.events.clear();
      show_few(f.found.waiting);
    }
  }

 private:
  /// Keeps only one thread per source location, up to a limit.
  static void show_few(std::vector<const check::instruction*>& waiting) {
    constexpr std::size_t most = 8;
    std::set<const check::instruction*> shown;
    for (const check::instruction*& at : waiting) {
      at = at != nullptr && shown.size() < most && shown.insert(at).second ? at : nullptr;
    }
  }

  [[nodiscard]] check::check_result followed(const sanitize::sanitizer_finding& f, std::size_t& steps) const {
    const check::replayed_schedule schedule =
        sanitize::schedule_of(file_.prepared.checked, launches_, file_.prepared.property(), f, run_);
    steps = schedule.steps.size();
    check::check_options how;
    how.replayed = &schedule;
    how.readings = run_.readings;
    return check::explore(whole_.checked, whole_.property(), how);
  }

  const sanitized_file& file_;
  const std::vector<check::planned_launch>& launches_;
  const sanitize::sanitize_options& run_;
  check::prepared_scenario whole_{};
  std::string cannot_{};
};

sanitized_file sanitized(const std::string& path, const sanitize_request& how, suppression_file& suppressions) {
  sanitized_file file;
  file.path = path;
  const check::scenario s = scenario_of(path, membar_tools::read_file(path));
  std::vector<check::planned_launch> launches;
  file.prepared = check::prepare(s, ptx_of(s), launches);
  file.stated = file.prepared.stated;
  if (std::string readings = membar::litmus_files::alternatives_taken(how.run.readings); !readings.empty()) {
    file.stated.push_back(std::move(readings));
  }
  const auto begin = std::chrono::steady_clock::now();
  file.result = sanitize::sanitize(file.prepared.checked, launches, file.prepared.property(), how.run);
  file.seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
  std::vector<sanitize::sanitizer_finding>& findings = file.result.findings;
  const auto hidden = std::ranges::stable_partition(
      findings, [&](const auto& f) { return !suppressions.suppresses(status_word(f.found.status), text_to_match(f)); });
  file.suppressed = merged({hidden.begin(), hidden.end()}).size();
  findings.erase(hidden.begin(), hidden.end());
  findings = merged(std::move(findings));
  if (how.confirm ? !findings.empty() : std::ranges::any_of(findings, &sanitize::sanitizer_finding::polls)) {
    const replays checker(file, s, launches, how.run);
    for (sanitize::sanitizer_finding& f : findings) {
      checker.decide(f);
      if (how.confirm) {
        file.confirmed.push_back(checker.confirm(f));
      }
    }
  }
  return file;
}

// ---- reports

/// Describes which kind of order is missing between the accesses of a race. Returns an empty string if something orders the
/// accesses, or if a barrier of the block is missing, which the notes on the finding already report.
[[nodiscard]] std::string missing_order(const sanitize::sanitizer_finding& f) {
  const check::program& p = *f.found.whole;
  if (f.found.status != check_status::race || f.found.lacks_only_fence) {
    return "";
  }
  const check::trace_event& first = f.found.events[0];
  const check::trace_event& second = f.found.events[1];
  const auto context = [&](int thread) -> const check::thread_context& { return p.threads[static_cast<std::size_t>(thread)]; };
  const check::thread_context& x = context(issuer_of(p, first.thread));
  const check::thread_context& y = context(issuer_of(p, second.thread));
  if (x.where.host || y.where.host) {
    return "no combination of release-acquire pairs at system scope and block barriers orders the host thread's access and the "
           "other access";
  }
  if (x.number_in_program == y.number_in_program) {
    return "one thread starts an asynchronous operation, and no wait for it orders the accesses";
  }
  if (x.launch != y.launch) {
    return "the threads are in different launches, and neither the order of the launches nor any combination of "
           "release-acquire pairs and block barriers orders the accesses";
  }
  if (x.block_number == y.block_number) {
    return "";
  }
  return x.explicit_cluster &&
                 x.block_number - static_cast<int>(x.cluster_rank) == y.block_number - static_cast<int>(y.cluster_rank)
             ? "the threads are in different blocks of a cluster, and no combination of cluster barriers, release-acquire "
               "pairs and block barriers orders the accesses"
             : "the threads are in different blocks, and no combination of release-acquire pairs and block barriers orders the "
               "accesses";
}

/// The sentences that explain a finding.
struct explanation {
  std::string cause{};    ///< empty if no other finding can be the cause
  std::string missing{};  ///< empty if there is none
  std::vector<std::string> notes{};
};
[[nodiscard]] explanation explanation_of(const sanitize::sanitizer_finding& f) {
  return {f.after_another ? "another finding precedes this one in every schedule that shows it, and may be its cause" : "",
          missing_order(f), check::finding_notes(*f.found.whole, f.found)};
}

/// Shows the accesses of a finding, or where its threads are.
void show_threads(const check::program& p, const check::finding& f, source_lines& lines) {
  for (const check::trace_event& e : f.events) {
    std::cout << "    " << check::thread_text(p, e.thread) << "\n"
              << with_comment("    > " + lines.shown(p, issuer_of(p, e.thread), *e.at), e.what) << "\n";
  }
  for (std::size_t t = 0; t < f.waiting.size(); ++t) {
    if (f.waiting[t] != nullptr) {
      const int thread = static_cast<int>(t);
      std::cout << "    " << check::thread_text(p, thread) << (f.status == check_status::hang ? " waits at " : " is at ")
                << lines.shown(p, issuer_of(p, thread), *f.waiting[t]) << "\n";
    }
  }
}

/// Shows the findings of a file. A note that applies to several of them is shown only once.
void show_findings(const sanitized_file& file) {
  source_lines lines;
  std::set<std::string> noted;
  for (std::size_t n = 0; n < file.result.findings.size(); ++n) {
    const sanitize::sanitizer_finding& f = file.result.findings[n];
    std::cout << "  " << check::name(f.found.status) << ", seed " << f.seed
              << (f.count == 1 ? "" : ", " + std::to_string(f.count) + " times") << ": " << f.found.message << "\n";
    const explanation why = explanation_of(f);
    std::cout << (why.cause.empty() ? "" : "    " + why.cause + "\n")
              << (why.missing.empty() ? "" : "    " + why.missing + "\n");
    for (const std::string& note : why.notes) {
      std::cout << (noted.insert(note).second ? "    " + note + "\n" : "");
    }
    show_threads(*f.found.whole, f.found, lines);
    if (!file.confirmed.empty()) {
      std::cout << "    " << file.confirmed[n] << "\n";
    }
  }
  if (std::ranges::any_of(file.result.findings, [](const auto& f) { return f.found.status == check_status::race; })) {
    std::cout << "  to find the missing order or barrier, run membar-check --repair on a small launch of the same kernel\n";
  }
}

void say_sanitized(const sanitized_file& file, bool quiet) {
  char time[32];
  static_cast<void>(std::snprintf(time, sizeof time, "%.2f", file.seconds));
  std::cout << file.path << '\t' << file.status() << '\t' << file.result.findings.size()
            << (file.result.findings.size() == 1 ? " finding, " : " findings, ") << file.result.counts.schedules
            << (file.result.counts.schedules == 1 ? " schedule, " : " schedules, ") << file.result.counts.instructions
            << " instructions, " << time << " s";
  if (file.suppressed != 0) {
    std::cout << "; " << file.suppressed << " suppressed";
  }
  for (const std::string& stated : file.stated) {
    std::cout << "; " << stated;
  }
  std::cout << "\n";
  if (!quiet) {
    show_findings(file);
  }
}

json place_as_json(const check::program& p, int thread, const check::instruction& i) {
  const instruction_places places = places_of(p, thread, i);
  json one = {{"thread", check::thread_text(p, thread)},
              {"place", check::place_of(p, thread, i)},
              {"ptx", i.text},
              {"ptx_line", i.line}};
  if (!places.own.path.empty()) {
    one["file"] = places.own.path;
    one["line"] = places.own.line;
  }
  if (!places.caller.path.empty()) {
    one["caller_file"] = places.caller.path;
    one["caller_line"] = places.caller.line;
  }
  return one;
}

json as_json(const sanitized_file& file) {
  json findings = json::array();
  for (std::size_t n = 0; n < file.result.findings.size(); ++n) {
    const sanitize::sanitizer_finding& f = file.result.findings[n];
    const check::program& p = *f.found.whole;
    json one = {
        {"status", check::name(f.found.status)}, {"message", f.found.message}, {"seed", f.seed},          {"count", f.count},
        {"after_another", f.after_another},      {"accesses", json::array()},  {"waiting", json::array()}};
    for (const check::trace_event& e : f.found.events) {
      json access = place_as_json(p, e.thread, *e.at);
      access["does"] = e.what;
      one["accesses"].push_back(std::move(access));
    }
    for (std::size_t t = 0; t < f.found.waiting.size(); ++t) {
      if (f.found.waiting[t] != nullptr) {
        one["waiting"].push_back(place_as_json(p, static_cast<int>(t), *f.found.waiting[t]));
      }
    }
    explanation why = explanation_of(f);
    if (!why.missing.empty()) {
      why.notes.insert(why.notes.begin(), std::move(why.missing));
    }
    if (!why.notes.empty()) {
      one["notes"] = std::move(why.notes);
    }
    if (!file.confirmed.empty()) {
      one["confirmed"] = file.confirmed[n];
    }
    findings.push_back(std::move(one));
  }
  const sanitize::sanitize_statistics& c = file.result.counts;
  return {{"file", file.path},
          {"status", file.status()},
          {"schedules", c.schedules},
          {"instructions", c.instructions},
          {"accesses", c.accesses},
          {"seconds", file.seconds},
          {"suppressed", file.suppressed},
          {"assumptions", file.stated},
          {"findings", std::move(findings)}};
}

/// Adds each finding to the report as a separate entry.
void add_to(report& sarif, sanitized_file& file) {
  for (const sanitize::sanitizer_finding& f : file.result.findings) {
    checked_file one;
    one.path = file.path;
    one.prepared.stated = file.stated;
    one.result.status = f.found.status;
    one.result.found = f.found;
    const explanation why = explanation_of(f);
    for (const std::string& sentence : {why.cause, why.missing}) {
      one.result.found.message += sentence.empty() ? "" : ". " + sentence;
    }
    one.result.seed = f.seed;
    one.result.counts.executions = file.result.counts.schedules;
    one.seconds = file.seconds;
    sarif.result(one);
  }
}

int sanitize_files(const sanitize_request& how) {
  suppression_file suppressions = suppressions_in(how.suppressions);
  const std::unique_ptr<report> sarif = how.format == "sarif" ? sarif_report(std::cout) : nullptr;
  json all = {{"format", "membar-check sanitize"}, {"format_version", sanitize_format_version}, {"files", json::array()}};
  int worst = 0;
  const auto weight = [](int s) { return s == 2 ? 3 : s == 1 ? 2 : s == 3 ? 1 : 0; };
  for (const std::string& path : how.files) {
    int status = 2;
    try {
      sanitized_file file = sanitized(path, how, suppressions);
      status = file.exit_status();
      if (sarif != nullptr) {
        add_to(*sarif, file);
      } else if (how.format == "json") {
        all["files"].push_back(as_json(file));
      } else {
        say_sanitized(file, how.quiet);
      }
    } catch (const std::exception& e) {
      if (sarif != nullptr) {
        sarif->error(path, e.what(), false);
      } else if (how.format == "json") {
        all["files"].push_back({{"file", path}, {"status", "error"}, {"message", e.what()}});
      } else {
        std::cout << path << "\terror\t" << e.what() << "\n";
      }
    }
    worst = weight(status) > weight(worst) ? status : worst;
  }
  if (sarif != nullptr) {
    sarif->end();
  } else if (how.format == "json") {
    std::cout << all.dump(2, ' ', false, json::error_handler_t::replace) << "\n";
  }
  suppressions.report_unused();
  return worst;
}

}  // namespace

int sanitize_command(const std::vector<std::string>& words) {
  CLI::App app("Executes scenarios at full size, once per schedule, and looks for data races and other faults.",
               "membar-check sanitize");
  app.formatter(std::make_shared<command_help>("membar-check sanitize [OPTION...] FILE..."));
  sanitize_request how;
  app.add_option("files", how.files, "scenarios");
  app.add_option("--schedules", how.run.schedules, "the number of schedules (10)")
      ->check(CLI::Range(std::uint64_t{1}, std::uint64_t{1} << 40U));
  app.add_option("--seed", how.run.seed,
                 "the seed of the first schedule (1); --schedules=1 with the seed of a finding reproduces it")
      ->check(CLI::Range(std::uint64_t{1}, std::uint64_t{1} << 62U));
  app.add_option("--jobs", how.run.jobs,
                 "the number of host threads, which run schedules or independent blocks of one schedule concurrently (1)")
      ->check(CLI::Range(1, 256));
  app.add_option("--limit", how.run.most_instructions,
                 "end a schedule after N instructions; the exit status is then 3 (20000000000)")
      ->check(CLI::Range(std::uint64_t{1}, std::uint64_t{1} << 62U));
  add_reading_options(app, how.run.readings);
  app.add_option("--format", how.format, "the format of the report (text)")->check(CLI::IsMember({"text", "json", "sarif"}));
  app.add_option("--suppressions", how.suppressions,
                 "a file of findings to hide; each line contains a status and parts of places, messages or kernel names")
      ->type_name("FILE");
  app.add_flag("--first", how.run.stop_at_first, "stop after the first schedule with a finding");
  app.add_flag("--confirm", how.confirm,
               "replay the schedule of each finding under the rules of membar-check, and report whether the replay confirms "
               "the finding");
  app.add_flag("--quiet", how.quiet, "print only one line per file");
  try {
    std::vector<std::string> reversed(words.rbegin(), words.rend());
    app.parse(std::move(reversed));
    if (how.files.empty()) {
      throw membar::model::error("sanitize needs scenarios: membar-check sanitize FILE...");
    }
    return sanitize_files(how);
  } catch (const CLI::CallForHelp&) {
    std::cout << app.help();
    return 0;
  } catch (const std::exception& e) {
    std::cerr << "membar-check: " << e.what() << "\n";
  }
  return 2;
}

}  // namespace membar_check
