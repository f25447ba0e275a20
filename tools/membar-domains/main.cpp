// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
/// @file
/// The command membar-domains, which starts the program with the preloaded library and reports the results.
#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <optional>
#include <set>
#include <utility>

#include "membar-domains/check.hpp"
#include "membar-domains/examine.hpp"
#include "membar-domains/format_version.hpp"
#include "membar-domains/gain.hpp"
#include "membar-domains/job.hpp"
#include "membar-domains/move_list.hpp"
#include "membar-domains/options.hpp"
#include "membar-domains/overlap.hpp"
#include "membar-domains/picture.hpp"
#include "membar-domains/report_json.hpp"
#include "membar-domains/steer.hpp"
#include "membar-domains/text.hpp"

namespace membar_domains {
namespace {

namespace fs = std::filesystem;

/// Throws early if the output folder is not writable, which would otherwise be noticed only after all runs.
void check_output(const fs::path& folder) {
  std::error_code ignored;
  const bool made = fs::create_directories(folder, ignored);
  const fs::path probe = folder / ".membar-domains";
  write(probe, "membar-domains\n");
  fs::remove(probe, ignored);
  if (made) {
    fs::remove(folder, ignored);
  }
}

/// Reports the rules that matched no kernel, for example because a name is misspelt.
void say_unmet(const move_list& list, const std::vector<process>& processes) {
  std::uint64_t met = 0;
  for (const process& p : processes) {
    met |= p.rules_met;
  }
  for (std::size_t i = 0; i < list.rules().size() && i < 64 && !processes.empty(); ++i) {
    if ((met >> i & 1U) == 0) {
      say("no launched kernel matches '" + list.rules()[i].pattern + "'" +
          (list.rules()[i].far ? " and had a pointer to a peer's or the host's memory" : "") +
          ": take its name from the report of membar-domains watch");
    }
  }
}

void say_counts(const std::vector<process>& processes) {
  for (const process& p : processes) {
    say(p.program + " (" + std::to_string(p.pid) + "): " + grouped(p.launches) + " launches, " + grouped(p.listed) +
        " of them listed, " + grouped(p.moved) + " moved and " + grouped(p.refused) + " rejected by the driver; " +
        grouped(p.nodes) + " listed graph nodes, " + grouped(p.nodes_moved) + " of them moved");
  }
}

/// Reports the number of units of work that could not be timed with events. No gain includes them.
void say_untimed(const std::vector<job_result>& results) {
  std::uint64_t untimed = 0;
  for (const job_result& result : results) {
    for (const process& p : result.processes) {
      untimed += p.untimed;
    }
  }
  if (untimed != 0) {
    say(grouped(untimed) +
        " launches or units of work could not be timed, because the driver rejected an event in their stream (a stream of a "
        "green context, or of a context other than the current one): no figure includes them");
  }
}

/// Returns a list for the kernels that are named in the options.
std::string list_of_options(const options& asked) {
  std::string text;
  if (!asked.list.empty()) {
    text = move_list::text_of(asked.list);
    static_cast<void>(move_list::parse(text, asked.list));
    text += "\n";
  }
  for (const std::string& pattern : asked.remote) {
    move_list check;
    check.add({target::kind::logical_remote, 0}, pattern, "--remote");
    text += "remote " + pattern + "\n";
  }
  return text;
}

/// Throws if the list is not safe to apply and --force is not given.
void refuse_unsafe(const options& asked, const move_list& rules) {
  if (const std::string objection = rules.objection(); !asked.force && !objection.empty()) {
    throw error(objection);
  }
}

/// Prints the report. The text goes to standard error, because standard output belongs to the program. JSON is printed as one
/// line to standard output.
void print(const options& asked, const std::string& text, const json& document) {
  if (asked.json) {
    std::cout << line_text(document) << std::flush;
  } else {
    std::cerr << '\n' << text;
  }
}

/// Writes the report to <action>.txt and <action>.json.
void write_report(const fs::path& folder, const std::string& action, const std::string& text, const json& document) {
  write(folder / (action + ".txt"),
        "membar-domains " + action + ", report of format " + std::to_string(report_version) + "\n\n" + text);
  write(folder / (action + ".json"), file_text(document));
}

/// The result of `watch`.
struct watched {
  job_result result;
  std::vector<overlap_report> reports;  ///< one per process
  check_report checked;
};

watched watch_once(const options& asked) {
  watched out;
  std::string listed;  // a list with the kernels whose pointer tables the library follows
  for (const std::string& pattern : asked.remote) {
    listed += "remote " + pattern + "\n";
  }
  out.result = run_job(asked, "watch", listed, "", [&](const fs::path& folder, std::vector<process>& processes) {
    for (process& p : processes) {
      examine(asked, folder, p, out.checked);
    }
  });
  for (const process& p : out.result.processes) {
    out.reports.push_back(find_overlaps(p.recorded, why_remote_in(asked, p)));
  }
  return out;
}

/// Returns the table of processes as text, and adds its rows to `rows` for JSON.
std::string table_of_processes(const watched& seen, json& rows) {
  std::string out = left("  process", 32) + right("kernels", 12) + right("delayed", 12) + right("delay ms", 13) + "\n";
  for (std::size_t i = 0; i < seen.reports.size(); ++i) {
    const process& p = seen.result.processes[i];
    const overlap_report& of = seen.reports[i];
    out += "  " + left(p.program + " (" + std::to_string(p.pid) + ")", 30) + right(grouped(p.recorded.kernels.size()), 12) +
           right(grouped(of.held_up_count), 12) + right(fixed(of.held_up_ms, 2), 13) +
           (p.lost == 0 ? "" : "  " + grouped(p.lost) + " more kernels could not be recorded") + "\n";
    rows.push_back({{"program", p.program},
                    {"pid", p.pid},
                    {"kernels", p.recorded.kernels.size()},
                    {"kernels_not_recorded", p.lost},
                    {"held_up_count", of.held_up_count},
                    {"held_up_ms", rounded(of.held_up_ms)}});
  }
  return out;
}

/// Returns the timeline of the process that has the largest delay.
std::string picture_of(const watched& seen) {
  std::string out;
  double most = 0;
  for (std::size_t i = 0; i < seen.reports.size(); ++i) {
    if (seen.reports[i].held_up_ms > most) {
      most = seen.reports[i].held_up_ms;
      out = timeline(seen.result.processes[i].recorded, seen.reports[i]);
    }
  }
  return out;
}

/// Prints a message if CUPTI recorded too few kernels. Up to half of the kernels can be missing without a message, because
/// captured work is launched later.
void say_missing_records(const std::vector<process>& processes) {
  for (const process& p : processes) {
    if (const std::uint64_t seen = p.recorded.kernels.size() + p.lost; p.complaint.empty() && seen < p.launches / 2) {
      say("CUPTI recorded " + grouped(seen) + " kernels, but " + p.program + " launched " + grouped(p.launches) +
          ": a profiler in the program, such as torch.profiler, probably takes over CUPTI's records. Run watch without it, or "
          "use try and apply, which do not need CUPTI");
    }
  }
}

/// Watches a run and returns the resulting list.
std::string watch(const options& asked, outcome& ended) {
  watched seen = watch_once(asked);
  ended = seen.result.ended;
  if (seen.result.processes.empty()) {
    return {};
  }
  say_missing_records(seen.result.processes);
  const overlap_report all = merge_reports(seen.reports);
  const bool any = std::ranges::any_of(seen.result.processes, [](const process& p) { return !p.recorded.kernels.empty(); });
  json report = document("watch");
  add(report, all);
  report["processes"] = json::array();
  const std::string text = (any ? sentence(all) : "No kernel was recorded.") + "\n\n" + table(all) + "\n" +
                           table_of_processes(seen, report["processes"]) +
                           "\nRecording adds time to every boundary, so compare the times in this table with each other, not "
                           "with times of other runs.\n"
                           "Requirement for a move: no listed kernel synchronizes at device scope with a kernel in another "
                           "domain while both run.\n" +
                           (asked.check ? membar_domains::text(seen.checked) : "");
  if (!any) {
    report["sentence"] = "No kernel was recorded.";
  }
  report["check"] = nullptr;
  if (asked.check) {
    report["check"] = json::object();
    add(report["check"], seen.checked);
  }
  print(asked, text, report);
  const fs::path folder = asked.output;
  const std::string list = list_of(all, asked.check ? &seen.checked.warned : nullptr);
  const std::string picture = picture_of(seen);
  write_report(folder, "watch", text, report);
  write(folder / "list.txt", list);
  if (!picture.empty()) {
    write(folder / "timeline.svg", picture);
  }
  say("wrote " + (folder / "watch.txt").string() + ", watch.json, list.txt" + (picture.empty() ? "" : ", timeline.svg"));
  return list;
}

std::vector<lane_times> lanes_of(const std::vector<job_result>& results) {
  std::vector<std::vector<std::vector<lane_times>>> runs;
  for (const job_result& result : results) {
    auto& processes = runs.emplace_back();
    for (const process& p : result.processes) {
      processes.push_back(sort_ticks(p.recorded));
    }
  }
  return joined(runs);
}

constexpr int fewest_rounds = 2;

/// Returns the number of whole runs of the program, in words.
std::string whole_runs_of(const options& asked) {
  const int fewest = 3 * std::min(fewest_rounds, asked.runs);
  return (fewest == 3 * asked.runs ? "" : std::to_string(fewest) + " to ") + std::to_string(3 * asked.runs) + " times";
}

/// Runs the whole program in each mode in turn until a run fails or the interval is narrow. Returns whether a process of the
/// program has called CUDA.
bool run_in_each_mode(const options& asked, const std::string& list, const move_list& rules, std::vector<job_result>& results,
                      outcome& ended) {
  const char* const modes[] = {"off", "on", "control"};
  const int runs = 3 * asked.runs;
  for (int r = 0; r < runs && ended.status == 0; ++r) {
    if (r % 3 == 0 && r >= 3 * fewest_rounds && is_narrow(gains(lanes_of(results)))) {
      break;
    }
    job_result one = run_job(asked, "try", list, modes[(r % 3 + r / 3) % 3]);
    ended = one.ended;
    if (one.processes.empty() && results.empty()) {
      return false;
    }
    if (r == 0 && asked.whole_runs) {
      say_unmet(rules, one.processes);
    }
    if (ended.status == 0) {
      results.push_back(std::move(one));
    } else {
      say("run " + std::to_string(r + 1) + " of " + std::to_string(runs) + " ended with status " +
          std::to_string(ended.status) + ": the report covers only the runs before it");
    }
  }
  return true;
}

/// Measures the gain of the list. First uses turns within one run; if they yield no result, uses whole runs in each mode.
outcome measure(const options& asked, const std::string& list, const move_list& rules) {
  std::vector<job_result> results;
  outcome ended;
  gain_report report;
  bool in_graphs = false;
  bool known = false;
  say(asked.whole_runs
          ? "the program runs " + whole_runs_of(asked) + ": unmoved, moved, and with a domain map that changes nothing"
          : "the program runs once; if that run does not show a gain, it runs again " + whole_runs_of(asked) +
                ", in one mode per run");
  if (!asked.whole_runs) {
    results.push_back(run_job(asked, "try", list, std::to_string(asked.turn)));
    ended = results.back().ended;
    if (results.back().processes.empty()) {
      return ended;
    }
    say_unmet(rules, results.back().processes);
    in_graphs = std::ranges::any_of(results.back().processes, [](const process& p) { return p.graphs_alone > 0; });
    report = gains(lanes_of(results));
    known = !report.lanes.empty() && !in_graphs;
  }
  const bool as_a_whole = asked.whole_runs || (!known && ended.status == 0);
  std::string how = "The modes took turns within one run: " + std::to_string(asked.turn) +
                    " launches of listed kernels per turn, and one launch of each graph with listed kernels.\n";
  if (as_a_whole) {
    if (!asked.whole_runs) {
      say((in_graphs ? "a graph with listed kernels could not be instantiated twice, so its nodes cannot change their domain "
                       "during a run"
                     : "turns within one run did not yield enough measurements") +
          std::string(": the program now runs ") + whole_runs_of(asked) + ", in one mode per run");
    }
    results.clear();
    if (!run_in_each_mode(asked, list, rules, results, ended)) {
      return ended;
    }
    report = gains(lanes_of(results));
    how = "The program ran " + std::to_string(results.size()) + " times (at most " + std::to_string(3 * asked.runs) +
          "), each time in one mode.\n";
  } else if (!known) {
    say(with_status(ended) + ", so membar-domains does not repeat it in each mode, which " +
        (in_graphs ? "is needed for a graph that could not be instantiated twice" : "would be needed for a result"));
  }
  say_untimed(results);
  const std::string text = sentence(report, as_a_whole) + "\n\n" + table(report) + "\n" + how;
  json full = document("try");
  add(full, report, as_a_whole);
  full["whole_runs"] = as_a_whole ? json(results.size()) : json(nullptr);
  print(asked, text, full);
  say_counts(results.empty() ? std::vector<process>() : results.back().processes);
  write_report(asked.output, "try", text, full);
  say("wrote " + (fs::path(asked.output) / "try.txt").string() + " and try.json");
  return ended;
}

outcome try_move(const options& asked) {
  std::string list = list_of_options(asked);
  if (list.empty()) {
    say("no list was given, so try watches the program first");
    outcome ended;
    list = watch(asked, ended);
    if (list.empty()) {
      return ended;
    }
    if (ended.status != 0) {
      say(with_status(ended) + ", so membar-domains does not try the list");
      return ended;
    }
  }
  const move_list rules = move_list::parse(list, asked.list.empty() ? "the list" : asked.list);
  if (rules.rules().empty()) {
    say("the list does not name any kernel: name the kernels to move with --remote=REGEX");
    return {};
  }
  refuse_unsafe(asked, rules);
  return measure(asked, list, rules);
}

outcome apply(const options& asked) {
  const std::string list = list_of_options(asked);
  const move_list rules = move_list::parse(list, asked.list.empty() ? "--remote" : asked.list);
  refuse_unsafe(asked, rules);
  const job_result result = run_job(asked, "apply", list, "");
  say_unmet(rules, result.processes);
  if (asked.json) {
    json report = document("apply");
    report["processes"] = json::array();
    for (const process& p : result.processes) {
      report["processes"].push_back({{"program", p.program},
                                     {"pid", p.pid},
                                     {"launches", p.launches},
                                     {"listed", p.listed},
                                     {"moved", p.moved},
                                     {"refused", p.refused},
                                     {"listed_nodes", p.nodes},
                                     {"moved_nodes", p.nodes_moved}});
    }
    print(asked, "", report);
  } else {
    say_counts(result.processes);
  }
  return result.ended;
}

/// Watches the program, moves its kernels and decides whether they stay moved, all while the program runs.
outcome run_steered(const options& asked) {
  std::string named;
  for (const std::string& pattern : asked.remote) {
    named += "remote " + pattern + "\n";
  }
  steering steer(asked);
  const job_result result = run_job(asked, "run", named, "", {}, [&](const fs::path& folder) { steer.look(folder); });
  const std::string text = steer.report();
  if (!result.processes.empty()) {
    json report = document("run");
    report["processes"] = steer.processes();
    print(asked, text, report);
    write_report(asked.output, "run", text, report);
  }
  return result.ended;
}

int main_of(const std::vector<std::string>& words) {
  try {
    const options asked = parse_options(words);
    outcome ended;
    if (asked.what == options::action::watch || asked.what == options::action::try_ || asked.what == options::action::run) {
      check_output(asked.output);
    }
    switch (asked.what) {
      case options::action::help:
        std::cout << usage();
        break;
      case options::action::version:
        std::cout << "membar-domains " MEMBAR_DOMAINS_VERSION "\n";
        break;
      case options::action::watch:
        static_cast<void>(watch(asked, ended));
        break;
      case options::action::try_:
        ended = try_move(asked);
        break;
      case options::action::apply:
        ended = apply(asked);
        break;
      case options::action::run:
        ended = run_steered(asked);
        break;
    }
    return ended.status;
  } catch (const std::exception& e) {
    say(e.what());
    return 125;
  }
}

}  // namespace
}  // namespace membar_domains

int main(int count, char** words) { return membar_domains::main_of({words + 1, words + count}); }
