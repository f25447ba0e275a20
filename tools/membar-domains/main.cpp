// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
/// @file
/// The command membar-domains: starts the program with the library preloaded, and says what came of it.
#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <functional>
#include <iostream>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <utility>

#include "membar-domains/check.hpp"
#include "membar-domains/child.hpp"
#include "membar-domains/gain.hpp"
#include "membar-domains/move_list.hpp"
#include "membar-domains/options.hpp"
#include "membar-domains/overlap.hpp"
#include "membar-domains/picture.hpp"
#include "membar-domains/process_state.hpp"
#include "membar-domains/records.hpp"
#include "membar-domains/text.hpp"

namespace membar_domains {
namespace {

namespace fs = std::filesystem;

void say(const std::string& text) { std::cerr << "membar-domains: " << text << '\n'; }

/// A folder of its own for a run's files, removed at the end.
class scratch {
 public:
  scratch() {
    // A process of the program may be in another folder than the command.
    std::string pattern = (fs::absolute(fs::temp_directory_path()) / "membar-domains-XXXXXX").string();
    if (mkdtemp(pattern.data()) == nullptr) {
      throw error("no folder could be made in " + fs::temp_directory_path().string() +
                  ": set TMPDIR to one that can be written");
    }
    path_ = pattern;
  }
  ~scratch() {
    std::error_code ignored;
    fs::remove_all(path_, ignored);
  }
  scratch(const scratch&) = delete;
  scratch& operator=(const scratch&) = delete;
  [[nodiscard]] const fs::path& path() const noexcept { return path_; }

 private:
  fs::path path_;
};

/// What a process left.
struct process {
  std::uint32_t pid = 0;
  std::string program, complaint;
  int cu_init = -1;
  std::uint64_t launches = 0, listed = 0, moved = 0, refused = 0, nodes = 0, nodes_moved = 0, untimed = 0, lost = 0,
                rules_met = 0;
  records recorded;
};

std::vector<process> processes_of(const fs::path& folder) {
  std::vector<process> out;
  for (const auto& entry : fs::directory_iterator(folder)) {
    if (entry.path().extension() != ".state") {
      continue;
    }
    process_state s;
    const int fd = open(entry.path().c_str(), O_RDONLY | O_CLOEXEC);
    const ssize_t got = fd < 0 ? -1 : pread(fd, &s, sizeof s, 0);
    if (fd >= 0) {
      close(fd);
    }
    process p;
    if (got != sizeof s) {
      p.complaint = "a process found no room for its files in " + folder.string() +
                    ", so the report does not count it: set TMPDIR to a folder with room";
      out.push_back(std::move(p));
      continue;
    }
    if (s.magic != process_state::magic_value) {
      continue;
    }
    p.pid = s.pid;
    p.program = s.program;
    p.complaint = s.complaint;
    p.cu_init = s.cu_init;
    p.launches = s.launches;
    p.listed = s.listed;
    p.moved = s.moved;
    p.refused = s.refused;
    p.nodes = s.nodes;
    p.nodes_moved = s.nodes_moved;
    p.untimed = s.untimed;
    p.lost = s.lost;
    p.rules_met = s.rules_met;
    std::ifstream file(fs::path(entry.path()).replace_extension(".records"));
    p.recorded = read_records(file);
    out.push_back(std::move(p));
  }
  std::sort(out.begin(), out.end(), [](const process& a, const process& b) { return a.pid < b.pid; });
  return out;
}

struct job_result {
  outcome ended;
  std::vector<process> processes;  ///< those that called CUDA
};

void write(const fs::path& path, const std::string& text, const char* remedy = "name another folder with --output") {
  std::error_code failed;  // then the file fails, too
  fs::create_directories(path.parent_path(), failed);
  std::ofstream file(path);
  if (!(file << text << std::flush)) {
    throw error("'" + path.string() + "' cannot be written: " + remedy);
  }
}

/// Throws what `write` would throw after all runs.
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

std::string with_status(const outcome& ended) { return "the program ended with status " + std::to_string(ended.status); }

/// Runs the program once, with the text of a list, if any. Says in a sentence each what is wrong with it.
/// `look` sees the processes while the files that they left are there.
job_result run_job(const options& asked, const char* job, const std::string& list, const std::string& turns,
                   const std::function<void(const fs::path&, std::vector<process>&)>& look = {}) {
  const scratch folder;
  const std::string library = library_path();
  const char* const before = std::getenv("LD_PRELOAD");
  const std::string path = list.empty() ? "" : (folder.path() / "list").string();
  if (!list.empty()) {
    write(path, list, "set TMPDIR to a folder with room");
  }
  constexpr std::size_t most = 100'000;  // a variable has at most 128 KiB
  std::vector<std::pair<std::string, std::string>> environment{
      {"LD_PRELOAD", before == nullptr || *before == '\0' ? library : library + ":" + before},
      {environment::job, job},
      {environment::folder, folder.path().string()},
      {environment::list, path},
      {environment::rules, list.size() < most ? list : ""},
      {environment::turns, turns}};
  if (asked.check && std::string_view(job) == "watch") {
    environment.emplace_back(environment::check, "1");
  }
  if (!asked.cupti.empty()) {
    const bool is_path = asked.cupti.find('/') != std::string::npos;  // as for the loader
    environment.emplace_back(environment::cupti, is_path ? fs::absolute(asked.cupti).string() : asked.cupti);
  }
  job_result out;
  out.ended = run(asked.program, environment);
  if (!out.ended.started) {
    say("'" + asked.program[0] + "' could not be started (" +
        (out.ended.status == 127 ? "there is no such program" : "it is no program that may be run") +
        "): write its path after --");
    return out;
  }
  if (out.ended.signal != 0) {
    say("the program was ended by signal " + std::to_string(out.ended.signal) + " (" + strsignal(out.ended.signal) +
        "); what follows is what was seen until then");
  }
  std::set<std::string> complaints;
  for (process& p : processes_of(folder.path())) {
    if (!p.complaint.empty()) {
      complaints.insert(p.complaint);
    }
    if (p.cu_init > 0) {
      complaints.insert("cuInit returned " + std::to_string(p.cu_init) +
                        (p.cu_init == 100 ? ", which means that there is no GPU" : "") + ", so '" + p.program +
                        "' launched nothing");
    }
    if (p.cu_init == 0 || p.launches > 0) {
      out.processes.push_back(std::move(p));
    }
  }
  if (look) {
    look(folder.path(), out.processes);
  }
  for (const std::string& complaint : complaints) {
    say(complaint);
  }
  if (out.processes.empty() && complaints.empty()) {
    say(out.ended.status != 0 ? with_status(out.ended) + " before it called CUDA where the library could see it"
                              : "no process of the program called CUDA's driver where the library could see it: a program that "
                                "is static or set-user-ID ignores LD_PRELOAD");
  }
  return out;
}

/// Says which rules no kernel matched, so that a misspelt name does not pass for a move.
void say_unmet(const move_list& list, const std::vector<process>& processes) {
  std::uint64_t met = 0;
  for (const process& p : processes) {
    met |= p.rules_met;
  }
  for (std::size_t i = 0; i < list.rules().size() && i < 64 && !processes.empty(); ++i) {
    if ((met >> i & 1U) == 0) {
      say("no kernel that the program launched matches '" + list.rules()[i].pattern + "'" +
          (list.rules()[i].far ? " with a pointer to a peer's or the host's memory" : "") +
          ": membar-domains watch lists the names");
    }
  }
}

void say_counts(const std::vector<process>& processes) {
  for (const process& p : processes) {
    say(p.program + " (" + std::to_string(p.pid) + "): " + grouped(p.launches) + " launches, of which " + grouped(p.listed) +
        " are listed, " + grouped(p.moved) + " moved and " + grouped(p.refused) + " refused; " + grouped(p.nodes) +
        " listed nodes in graphs, of which " + grouped(p.nodes_moved) + " moved");
  }
}

/// Units of work that events could not time are no part of a gain, so they are said.
void say_untimed(const std::vector<job_result>& results) {
  std::uint64_t untimed = 0;
  for (const job_result& result : results) {
    for (const process& p : result.processes) {
      untimed += p.untimed;
    }
  }
  if (untimed != 0) {
    say(grouped(untimed) +
        " launches or units of work could not be timed, because the driver refused an event in their stream (as in one of a "
        "green "
        "context or of another context than the current one): they are in no figure");
  }
}

/// A list file for what the options name.
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

/// Runs the program once more, as it is and without recording, and lets the predictions for each process rest on the waits there.
void time_waits(const options& asked, std::vector<overlap_report>& reports, outcome& ended) {
  const overlap_report all = merged(reports);
  if (!all.told() || all.expected.graph.units + all.expected.stream.units == 0) {
    return;
  }
  say("the program runs once more without recording, as recording makes waits shorter (--once leaves that out)");
  const job_result timed = run_job(asked, "try", list_of(all), "off");
  ended = timed.ended;
  if (timed.processes.size() != reports.size()) {
    say("the second run had " + std::to_string(timed.processes.size()) + " processes with CUDA, and the first " +
        std::to_string(reports.size()) + ": predictions rest on waits under recording");
    return;
  }
  for (std::size_t i = 0; i < reports.size(); ++i) {
    const std::vector<lane_times> lanes = sort_ticks(timed.processes[i].recorded);
    use_measured(reports[i], wait_of(lanes, true), wait_of(lanes, false));
  }
}

/// Watches a run, and returns the list that it found.
std::string watch(const options& asked, outcome& ended) {
  move_list named;
  for (const std::string& pattern : asked.remote) {
    named.add({target::kind::logical_remote, 0}, pattern, "--remote");
  }
  const auto why_in = [&](const process& p) {
    return [&](std::uint32_t id, const std::string& name) -> std::string {
      if (named.rule_of(name) >= 0) {
        return "--remote";
      }
      if (known_remote(name)) {
        return "known by its name";
      }
      const auto reason = p.recorded.reasons.find(id);
      return reason == p.recorded.reasons.end() ? "" : reason->second;
    };
  };
  check_report checked;
  const job_result result = run_job(asked, "watch", "", "", [&](const fs::path& folder, std::vector<process>& processes) {
    for (process& p : processes) {
      tell_apart(p.recorded,
                 [&](std::uint32_t, const std::string& name) { return named.rule_of(name) < 0 && !known_remote(name); });
      if (asked.check) {
        const auto code = [&](std::uint32_t id) -> std::optional<device_scope> {
          const std::string& name = p.recorded.names.at(id);
          const auto image = p.recorded.images.find(name);
          return image == p.recorded.images.end()
                     ? std::nullopt
                     : code_in_image(
                           (folder / (std::to_string(p.pid) + "." + std::to_string(image->second) + ".image")).string(), name);
        };
        check(p.recorded, why_in(p), code, checked);
      }
    }
  });
  ended = result.ended;
  if (result.processes.empty()) {
    return {};
  }
  std::string picture, of_processes;
  std::vector<overlap_report> reports;
  std::size_t kernels = 0;
  double most = 0;
  for (const process& p : result.processes) {
    reports.push_back(overlaps(p.recorded, why_in(p)));
  }
  if (!asked.once && ended.status == 0) {
    time_waits(asked, reports, ended);
  }
  for (std::size_t i = 0; i < reports.size(); ++i) {
    const process& p = result.processes[i];
    const overlap_report& seen = reports[i];
    of_processes += "  " + left(p.program + " (" + std::to_string(p.pid) + ")", 30) +
                    right(grouped(p.recorded.kernels.size()), 12) + right(grouped(seen.held_up_count), 12) +
                    right(fixed(seen.held_up_ms, 2), 13) +
                    right(seen.told() && seen.expected_back_ms > 0 ? fixed(seen.expected_back_ms, 2) : "-", 16) +
                    (p.lost == 0 ? "" : "  " + grouped(p.lost) + " more kernels were not recorded") + "\n";
    kernels += p.recorded.kernels.size();
    if (seen.held_up_ms > most) {
      most = seen.held_up_ms;
      picture = timeline(p.recorded, seen);
    }
  }
  for (const process& p : result.processes) {
    // What is captured is launched later, so half of the launches may be missing.
    if (const std::uint64_t seen = p.recorded.kernels.size() + p.lost; p.complaint.empty() && seen < p.launches / 2) {
      say("CUPTI gave records of " + grouped(seen) + " kernels, and " + p.program + " launched " + grouped(p.launches) +
          ": a profiler in the program, as torch.profiler, takes CUPTI's records over: watch without it, or use try and apply, "
          "which "
          "need no CUPTI");
    }
  }
  const overlap_report all = merged(reports);
  const std::string list = list_of(all);
  std::string report = (kernels == 0 ? "No kernel was recorded." : sentence(all)) + "\n\n" + table(all) + "\n  " +
                       left("process", 30) + right("kernels", 12) + right("held up", 12) + right("held up ms", 13) +
                       right("back, about ms", 16) + "\n" + of_processes + "\n";
  const fs::path folder = asked.output;
  report +=
      "Recording kernels costs time at every boundary, alone and beside, so the table's differences count, not its times.\n"
      "What must hold before a move: no listed kernel synchronizes at device scope with a kernel of another domain while both "
      "run.\n";
  report += asked.check ? text(checked) : "";
  std::cerr << '\n' << report;
  write(folder / "watch.txt", report);
  write(folder / "list.txt", list);
  if (!picture.empty()) {
    write(folder / "timeline.svg", picture);
  }
  say("written: " + (folder / "watch.txt").string() + ", " + (folder / "list.txt").string() +
      (picture.empty() ? "" : ", " + (folder / "timeline.svg").string()));
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

outcome try_move(const options& asked) {
  outcome ended;
  std::string list = list_of_options(asked);
  if (list.empty()) {
    say("there is no list, so the program is watched first");
    list = watch(asked, ended);
    if (list.empty()) {
      return ended;
    }
    if (ended.status != 0) {
      say(with_status(ended) + ", so the list is not tried");
      return ended;
    }
  }
  const move_list rules = move_list::parse(list, asked.list.empty() ? "the list" : asked.list);
  if (rules.rules().empty()) {
    say("the list names no kernel: name yours with --remote=REGEX");
    return ended;
  }

  const predictions predicted = predictions_in(list);
  std::vector<job_result> results;
  std::string how = "Listed kernels took turns within one run, " + std::to_string(asked.turn) + " launches each.\n";
  gain_report report;
  bool in_graphs = false;
  bool told = false;
  if (!asked.whole_runs) {
    results.push_back(run_job(asked, "try", list, std::to_string(asked.turn)));
    ended = results.back().ended;
    if (results.back().processes.empty()) {
      return ended;
    }
    say_unmet(rules, results.back().processes);
    for (const process& p : results.back().processes) {
      in_graphs = in_graphs || p.nodes > 0;
    }
    report = gains(lanes_of(results), predicted);
    told = !report.lanes.empty() && !in_graphs;
  }
  const bool as_a_whole = asked.whole_runs || (!told && ended.status == 0);
  if (as_a_whole) {
    if (!asked.whole_runs) {
      say(in_graphs ? "listed kernels are in graphs, whose nodes keep their domain: the program is run as a whole, in turns"
                    : "turns within one run told nothing: the program is run as a whole, in turns");
    }
    results.clear();
    const char* const modes[] = {"off", "on", "control"};
    const std::string all = " of " + std::to_string(3 * asked.runs);
    for (int r = 0; r < 3 * asked.runs && ended.status == 0; ++r) {
      job_result one = run_job(asked, "try", list, modes[(r % 3 + r / 3) % 3]);
      ended = one.ended;
      if (one.processes.empty() && results.empty()) {
        return ended;
      }
      if (r == 0 && asked.whole_runs) {
        say_unmet(rules, one.processes);
      }
      if (ended.status == 0) {
        results.push_back(std::move(one));
      } else {
        say("run " + std::to_string(r + 1) + all + " ended with status " + std::to_string(ended.status) +
            ": the report is of those before it");
      }
    }
    report = gains(lanes_of(results), predicted);
    how = "The program ran as a whole, in one mode after the other: " + std::to_string(results.size()) + all + " runs.\n";
  } else if (!told) {
    say(with_status(ended) + ", so it is not run as a whole, which " +
        (in_graphs ? "listed kernels in graphs need" : "would tell more"));
  }
  say_untimed(results);
  const std::string text = sentence(report, as_a_whole) + "\n\n" + table(report) + "\n" + how;
  std::cerr << '\n' << text;
  say_counts(results.empty() ? std::vector<process>() : results.back().processes);
  write(fs::path(asked.output) / "try.txt", text);
  write(fs::path(asked.output) / "try.json", json(report));
  say("written: " + (fs::path(asked.output) / "try.txt").string() + " and try.json beside it");
  return ended;
}

outcome apply(const options& asked) {
  const std::string list = list_of_options(asked);
  const move_list rules = move_list::parse(list, asked.list.empty() ? "--remote" : asked.list);
  const job_result result = run_job(asked, "apply", list, "");
  say_unmet(rules, result.processes);
  say_counts(result.processes);
  return result.ended;
}

int main_of(const std::vector<std::string>& words) {
  try {
    const options asked = parse_options(words);
    outcome ended;
    if (asked.what == options::action::watch || asked.what == options::action::try_) {
      check_output(asked.output);
    }
    switch (asked.what) {
      case options::action::help:
        std::cout << usage();
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
