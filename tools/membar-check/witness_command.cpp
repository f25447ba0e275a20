// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <common/text_file.hpp>
#include <membar-check/command_help.hpp>
#include <membar-check/scenario_file.hpp>
#include <membar-check/witness_command.hpp>
#include <membar-check/witness_program.hpp>

#include <check/explore.hpp>
#include <check/finding_text.hpp>
#include <check/trace.hpp>
#include <membar/model/error.hpp>
#include <ptx/text.hpp>
#include <witness/launcher.hpp>
#include <witness/plan.hpp>
#include <witness/reproducer.hpp>

#include <CLI/App.hpp>
#include <CLI/Config.hpp>
#include <CLI/Formatter.hpp>
#include <nlohmann/json.hpp>

#include <poll.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <exception>
#include <filesystem>
#include <iostream>
#include <memory>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

namespace membar_check {

namespace {

using check::check_status;
using json = nlohmann::ordered_json;
namespace witness = membar::witness;

constexpr int witness_format_version = 1;
constexpr std::uint64_t fixed_runs = 10;  ///< the fixed form runs this many times as often as the faulty form

enum exit_status : int { nothing_found = 0, observed = 1, error = 2, not_observed = 3, without_gpu = 4 };

struct witness_request {
  std::string file{};
  std::string fixed{};
  std::string reproducer{};
  std::string format = "text";
  std::uint64_t runs = 100'000;
  double seconds = 20;
  std::uint64_t seed = 1;
  double patience = 60;
  std::uint64_t limit = 10'000;  ///< the time in microseconds after which a launch's loops are ended
  bool no_early = false;
  std::vector<std::string> program{};  ///< the program whose kernels are delayed; its exit status decides whether a run failed
};

/// The faulty or the fixed form of the scenario.
struct form {
  std::string path{};
  check::scenario scenario{};
  check::prepared_scenario prepared{};
  check::check_result result{};
  witness::witness_program program{};
  /// whether the launches were on several devices and have been moved to one device
  bool moved = false;
  check_status without_delays = check_status::verified;  ///< the result of exploring the rewritten kernels without delays
};

/// The runs of one kind, with or without delays, as reported by the child process.
struct arm {
  std::string name;
  membar_witness::tally counts;
};

/// The report of the child process.
struct outcome {
  std::string device{};
  int driver = 0;
  double nanoseconds_of_cycle = 1;
  std::uint64_t copies = 1;  ///< the number of copies of the grid in one launch
  std::vector<arm> arms{};
  std::string no_gpu{};
  std::string failed{};  ///< the driver's error message, or how the process ended
  bool stuck = false;    ///< whether kernels were launched and did not finish

  [[nodiscard]] std::uint64_t bad(bool delayed) const {
    std::uint64_t sum = 0;
    for (const arm& a : arms) {
      sum += is_delayed(a) == delayed ? a.counts.bad() + (a.counts.fault.empty() ? 0 : 1) : 0;
    }
    return sum + (stuck && delayed == (arms.size() % 2 != 0) ? 1 : 0);
  }
  [[nodiscard]] std::uint64_t runs() const {
    std::uint64_t sum = 0;
    for (const arm& a : arms) {
      sum += a.counts.runs;
    }
    return sum;
  }
  [[nodiscard]] static bool is_delayed(const arm& a) { return a.name.starts_with("delays"); }
  /// Returns the failing runs with the smallest delays, or null if no run with delays has failed.
  [[nodiscard]] const arm* smallest() const {
    const arm* best = nullptr;
    for (const arm& a : arms) {
      if (is_delayed(a) && a.counts.bad() != 0 &&
          (best == nullptr || membar_witness::total(a.counts.smallest) < membar_witness::total(best->counts.smallest))) {
        best = &a;
      }
    }
    return best;
  }
};

// ---- the child process

json as_json(const membar_witness::delays& all) {
  json result = json::array();
  for (const membar_witness::delay& d : all) {
    result.push_back({d.launch, d.actor, d.site, d.cycles});
  }
  return result;
}

json as_json(const membar_witness::tally& t) {
  return {{"runs", t.runs},
          {"wrong", t.wrong},
          {"hangs", t.hangs},
          {"example", t.example},
          {"stopped", t.stopped},
          {"fault", t.fault},
          {"repeated", t.repeated},
          {"repeated_wrong", t.repeated_wrong},
          {"smallest", as_json(t.smallest)}};
}

membar_witness::tally tally_of(const json& j) {
  membar_witness::tally t;
  t.runs = j.at("runs");
  t.wrong = j.at("wrong");
  t.hangs = j.at("hangs");
  t.example = j.at("example");
  t.fault = j.at("fault");
  t.stopped = j.at("stopped");
  for (const json& d : j.at("smallest")) {
    t.smallest.push_back({d[0], d[1], d[2], d[3]});
  }
  t.repeated = j.at("repeated");
  t.repeated_wrong = j.at("repeated_wrong");
  return t;
}

/// How to decide whether a run failed: by writes outside all memory objects, and by the final conditions or, if there are none,
/// by the faulty load.
struct judge_request {
  witness::watched_read watched{};
  bool outside = false;
};

membar_witness::judge judge_of(const form& f, const judge_request& by) {
  return [&f, by, holds = f.prepared.property()](const membar_witness::image& end) {
    std::string wrong = f.scenario.finals.empty() ? std::string() : holds(witness::memory_of_run(end)).text();
    const std::uint64_t read = by.watched.bytes == 4 ? end.report(3) & 0xffffffffU : end.report(3);
    if (wrong.empty() && by.watched.launch >= 0 && end.report(2) != 0 && read != by.watched.expected) {
      wrong = "the load at PTX line " + std::to_string(by.watched.line) + " read " + std::to_string(read) + " instead of " +
              std::to_string(by.watched.expected);
    }
    return wrong.empty() && by.outside && end.is_written_outside() ? "bytes outside of every object were written" : wrong;
  };
}

/// Launches a form and writes the results to the pipe, one line for each kind of run.
void run_in_child(const form& f, const judge_request& by, const witness_request& how, int pipe) {
  const auto tell = [&](const json& line) {
    const std::string text = line.dump(-1, ' ', false, json::error_handler_t::replace) + "\n";
    std::size_t done = 0;
    while (done < text.size()) {
      const ssize_t n = write(pipe, text.data() + done, text.size() - done);
      if (n <= 0) {
        _exit(error);
      }
      done += static_cast<std::size_t>(n);
    }
  };
  try {
    membar_witness::session session(f.program.launched, how.limit);
    tell({{"device", session.device()},
          {"driver", session.driver_version()},
          {"copies", session.copies()},
          {"nanoseconds", session.nanoseconds(1'000'000) / 1e6}});
    const bool early = f.program.early && !how.no_early;
    for (const bool with_early : {false, true}) {
      if (with_early && !early) {
        continue;
      }
      membar_witness::search_options options;
      options.runs = how.runs;
      options.seconds = how.seconds / (early ? 5 : 2.5);
      options.seed = how.seed + (with_early ? 1 : 0);
      options.early = with_early;
      membar_witness::search search(session, f.program.launched, judge_of(f, by), options);
      const std::string with = with_early ? " and early loads" : "";
      for (const bool delayed : {false, true}) {
        const membar_witness::tally t = delayed ? search.delayed() : search.control();
        tell({{"name", (delayed ? "delays" : "no delays") + with}, {"counts", as_json(t)}});
        if (!t.fault.empty()) {
          return;  // the context can no longer be used
        }
      }
    }
  } catch (const membar_witness::no_gpu& e) {
    tell({{"no_gpu", e.what()}});
  } catch (const std::exception& e) {
    tell({{"failed", e.what()}});
  }
}

void take_line(const std::string& line, outcome& result) {
  const json j = json::parse(line);
  if (j.contains("device")) {
    result.device = j.at("device");
    result.driver = j.at("driver");
    result.copies = j.at("copies");
    result.nanoseconds_of_cycle = j.at("nanoseconds");
  } else if (j.contains("name")) {
    result.arms.push_back({j.at("name"), tally_of(j.at("counts"))});
  } else if (j.contains("no_gpu")) {
    result.no_gpu = j.at("no_gpu");
  } else {
    result.failed = j.at("failed");
  }
}

/// Launches a form in its own process, which is killed if it takes too long.
outcome run_apart(const form& f, const judge_request& by, const witness_request& how) {
  int ends[2];
  if (pipe(ends) != 0) {
    throw membar::model::error("cannot make a pipe for the process that launches kernels");
  }
  std::cout.flush();
  const pid_t child = fork();
  if (child < 0) {
    throw membar::model::error("cannot start a process that launches kernels");
  }
  if (child == 0) {
    close(ends[0]);
    run_in_child(f, by, how, ends[1]);
    _exit(0);
  }
  close(ends[1]);
  outcome result;
  std::string text;
  const auto limit = std::chrono::steady_clock::now() + std::chrono::duration<double>(how.seconds + how.patience);
  bool late = false;
  for (;;) {
    const auto left = std::chrono::duration_cast<std::chrono::milliseconds>(limit - std::chrono::steady_clock::now()).count();
    pollfd p{ends[0], POLLIN, 0};
    if (left <= 0 || poll(&p, 1, static_cast<int>(left)) <= 0) {
      late = true;
      kill(child, SIGKILL);
      break;
    }
    char buffer[4096];
    const ssize_t n = read(ends[0], buffer, sizeof buffer);
    if (n <= 0) {
      break;
    }
    text.append(buffer, static_cast<std::size_t>(n));
  }
  close(ends[0]);
  int status = 0;
  waitpid(child, &status, 0);
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) {
    if (!lines.eof()) {
      take_line(line, result);
    }
  }
  if (late) {
    result.stuck = !result.device.empty();
    result.failed = "the kernels did not end within " + std::to_string(static_cast<int>(how.seconds + how.patience)) +
                    " s, so their process was terminated";
  } else if (WIFSIGNALED(status)) {
    result.failed = "the process that launches kernels ended with signal " + std::to_string(WTERMSIG(status));
  }
  return result;
}

// ---- preparation of the launches

check::check_result explored(const check::prepared_scenario& prepared) {
  check::check_options how;
  how.merge_updates = how.symmetry = true;
  how.most_events = 5'000'000;
  how.random_before_giving_up = 200;
  return check::explore(prepared.checked, prepared.property(), how);
}

/// Reads and explores a form.
void read_form(form& f, const std::string& path) {
  f.path = path;
  f.scenario = scenario_of(path, membar_tools::read_file(path));
  f.moved = witness::has_places(f.scenario);
  if (f.moved) {
    f.scenario = witness::on_one_device(f.scenario);
  }
  f.prepared = check::prepare(f.scenario, ptx_of(f.scenario));
  f.result = explored(f.prepared);
}

/// Rewrites the kernels of a form and explores it again.
void rewrite_form(form& f, const std::vector<witness::actor>& actors, const witness::watched_read& watched) {
  std::vector<int> preferred;
  for (const check::trace_event& e : f.result.found.events) {
    if (e.at != nullptr) {
      preferred.push_back(e.at->line);
    }
  }
  f.program = witness::program_of(f.scenario, ptx_of(f.scenario), actors, watched, preferred);
  const check::scenario empty = witness::with_empty_plans(f.scenario);
  f.without_delays = explored(check::prepare(empty, f.program.launched.ptx)).status;
}

// ---- the report

/// Returns the source line of a site's statement.
std::string place_of_site(const form& f, int launch, int number) {
  const witness::site& s = f.program.sites.at(static_cast<std::size_t>(launch)).at(static_cast<std::size_t>(number));
  if (number == 0) {
    return "at the beginning of the kernel";
  }
  const check::program& p = f.prepared.checked;
  for (std::size_t t = 0; t < p.threads.size(); ++t) {
    if (p.threads[t].launch == launch && p.threads[t].copies_of < 0) {
      for (const check::instruction& i : p.threads[t].kernel->code) {
        if (i.line == s.line) {
          return "before " + s.opcode + " at " + check::place_of(p, static_cast<int>(t), i);
        }
      }
      break;
    }
  }
  return "before " + s.opcode + " at PTX line " + std::to_string(s.line);
}

std::string text_of(const form& f, const membar_witness::delay& d, double nanoseconds) {
  const membar_witness::launch& l = f.program.launched.launches.at(static_cast<std::size_t>(d.launch));
  const std::uint64_t who = l.actors.at(static_cast<std::size_t>(d.actor));
  char time[32];
  static_cast<void>(std::snprintf(time, sizeof time, "%.0f", static_cast<double>(d.cycles) * nanoseconds));
  return std::string(time) + " ns in launch " + std::to_string(d.launch) + ", block " + std::to_string(who >> 32U) +
         ", thread " + std::to_string(who & 0xffffffffU) + ", " + place_of_site(f, d.launch, d.site);
}

std::string count_text(const membar_witness::tally& t) {
  std::string text = std::to_string(t.wrong) + " wrong";
  if (t.hangs != 0) {
    text += " and " + std::to_string(t.hangs) + " hangs";
  }
  text += " in " + std::to_string(t.runs) + " runs";
  if (!t.fault.empty()) {
    text += ", terminated by " + t.fault;
  }
  if (!t.stopped.empty()) {
    text += ", stopped early: " + t.stopped;
  }
  return text;
}

void say_arms(const form& f, const outcome& o) {
  if (!f.program.launched.one_copy.empty()) {
    std::cout << "    each launch performs only one run, which is slow, because " << f.program.launched.one_copy << "\n";
  }
  for (const arm& a : o.arms) {
    std::cout << "    " << a.name << ": " << count_text(a.counts) << (a.counts.example.empty() ? "" : "; " + a.counts.example)
              << "\n";
  }
  if (!o.failed.empty()) {
    std::cout << "    " << o.failed << "\n";
  }
  if (const arm* const best = o.smallest(); best != nullptr) {
    std::cout << "    the smallest delays that reproduced the finding: " << best->counts.repeated_wrong << " of "
              << best->counts.repeated << " runs with\n";
    for (const membar_witness::delay& d : best->counts.smallest) {
      std::cout << "      " << text_of(f, d, o.nanoseconds_of_cycle) << "\n";
    }
    if (best->counts.smallest.empty()) {
      std::cout << "      none\n";
    }
  }
}

struct witness_report {
  form wrong{};
  form fixed{};
  outcome of_wrong{};
  outcome of_fixed{};
  judge_request by{};
  bool has_fixed = false;

  [[nodiscard]] bool is_observed() const { return of_wrong.bad(true) + of_wrong.bad(false) != 0; }
  [[nodiscard]] const char* status() const {
    return wrong.result.status == check_status::verified || wrong.result.status == check_status::gave_up
               ? check::name(wrong.result.status)
           : !of_wrong.no_gpu.empty() ? "no GPU"
           : is_observed()            ? "observed"
           : !of_wrong.failed.empty() ? "error"
                                      : "not observed";
  }
  [[nodiscard]] int exit() const {
    return wrong.result.status == check_status::verified  ? nothing_found
           : wrong.result.status == check_status::gave_up ? not_observed
           : !of_wrong.no_gpu.empty()                     ? without_gpu
           : is_observed()                                ? observed
           : !of_wrong.failed.empty()                     ? error
                                                          : not_observed;
  }
};

void say(const witness_report& r) {
  std::cout << r.wrong.path << '\t' << r.status();
  if (r.wrong.result.status == check_status::verified) {
    std::cout << "\tthere is nothing to witness: every execution " << (r.wrong.moved ? "with all launches on one device " : "")
              << "was explored, and none breaks a rule\n";
    return;
  }
  if (r.wrong.result.status == check_status::gave_up) {
    std::cout << "\tthere is no finding: " << r.wrong.result.found.message << "\n";
    return;
  }
  std::cout << '\t' << check::name(r.wrong.result.status) << ": " << r.wrong.result.found.message << "\n";
  if (!r.of_wrong.no_gpu.empty()) {
    std::cout << "  " << r.of_wrong.no_gpu << "\n";
    return;
  }
  std::cout << "  " << r.of_wrong.device << ", driver " << r.of_wrong.driver / 1000 << "." << r.of_wrong.driver % 1000 / 10
            << "\n";
  if (r.wrong.moved) {
    std::cout << "  the scenario uses several devices, but all launches ran on one device; exploring it on one device gives: "
              << check::name(r.wrong.result.status) << "\n";
  }
  if (r.wrong.without_delays != r.wrong.result.status) {
    std::cout << "  note: without delays, the result for the rewritten kernels is " << check::name(r.wrong.without_delays)
              << ", not " << check::name(r.wrong.result.status) << "\n";
  }
  if (!r.is_observed() && r.of_wrong.failed.empty()) {
    std::cout << "  not observed in " << r.of_wrong.runs() << " runs, but the model allows it\n";
  }
  say_arms(r.wrong, r.of_wrong);
  if (r.wrong.program.early) {
    std::cout << "    before each site, an early load reads the address of the load to blame. Its value is not used; the early "
                 "load\n    "
                 "only fills the cache, like any other load of the same line on the same multiprocessor\n";
  }
  if (r.wrong.program.split) {
    std::cout
        << "    one thread of the warp runs a copy of the code, so that the other threads do not wait for it at reconvergence "
           "points\n";
  }
  if (r.has_fixed) {
    std::cout << "  fixed form " << r.fixed.path << ": " << check::name(r.fixed.result.status) << ", "
              << r.of_fixed.bad(true) + r.of_fixed.bad(false) << " wrong in " << r.of_fixed.runs() << " runs\n";
    say_arms(r.fixed, r.of_fixed);
  }
}

json as_json(const form& f, const outcome& o) {
  json result = {{"file", f.path},
                 {"status", check::name(f.result.status)},
                 {"message", f.result.found.message},
                 {"rewritten_without_delays", check::name(f.without_delays)},
                 {"early_loads", f.program.early},
                 {"split_warp", f.program.split},
                 {"on_one_device", f.moved},
                 {"copies", o.copies},
                 {"one_copy", f.program.launched.one_copy},
                 {"runs", json::array()}};
  for (const arm& a : o.arms) {
    json one = as_json(a.counts);
    one["kind"] = a.name;
    one["smallest_ns"] = static_cast<double>(membar_witness::total(a.counts.smallest)) * o.nanoseconds_of_cycle;
    one["smallest_at"] = json::array();
    for (const membar_witness::delay& d : a.counts.smallest) {
      one["smallest_at"].push_back(text_of(f, d, o.nanoseconds_of_cycle));
    }
    result["runs"].push_back(std::move(one));
  }
  if (!o.failed.empty()) {
    result["failed"] = o.failed;
  }
  return result;
}

void say_as_json(const witness_report& r) {
  json all = {{"format", "membar-check witness"},
              {"format_version", witness_format_version},
              {"status", r.status()},
              {"device", r.of_wrong.device},
              {"driver", r.of_wrong.driver},
              {"wrong", as_json(r.wrong, r.of_wrong)}};
  if (!r.of_wrong.no_gpu.empty()) {
    all["message"] = r.of_wrong.no_gpu;
  }
  if (r.has_fixed) {
    all["fixed"] = as_json(r.fixed, r.of_fixed);
  }
  std::cout << all.dump(2, ' ', false, json::error_handler_t::replace) << "\n";
}

void write_reproducer(const witness_report& r, const std::string& folder) {
  witness::reproducer_request request;
  const arm* const best = r.of_wrong.smallest();
  request.title =
      std::filesystem::path(r.wrong.path).filename().string() + ", " + check::name(r.wrong.result.status) + ":\n" +
      r.wrong.result.found.message + "\n" +
      (best != nullptr ? "Observed on " + r.of_wrong.device + ": " + count_text(best->counts)
                       : "Not observed in " + std::to_string(r.of_wrong.runs()) + " runs, but the PTX memory model allows it");
  request.scenario = r.wrong.scenario;
  request.watched = r.by.watched;
  request.outside = r.by.outside;
  request.wrong = &r.wrong.program.launched;
  request.fixed = r.has_fixed ? &r.fixed.program.launched : nullptr;
  if (best != nullptr) {
    request.chosen = best->counts.smallest;
    request.early = best->name.ends_with("early loads");
  }
  std::filesystem::create_directories(folder);
  membar_tools::write_file((std::filesystem::path(folder) / "witness.cu").string(), witness::reproducer_of(request));
}

/// Returns the kernels of a form, each with the threads to delay when a program launches it.
std::vector<delayed_kernel> kernels_of(const form& f, const std::vector<witness::actor>& actors) {
  std::vector<int> lines;
  for (const check::trace_event& e : f.result.found.events) {
    if (e.blamed && e.at != nullptr) {
      lines.push_back(e.at->line);
    }
  }
  const std::string ptx = ptx_of(f.scenario);
  const std::vector<membar::ptx::ptx_part> parts = membar::ptx::parts_of(ptx);
  const witness::witness_program launched = witness::program_of(f.scenario, ptx, actors, {}, {});
  std::vector<delayed_kernel> result;
  for (std::size_t l = 0; l < launched.launched.launches.size(); ++l) {
    const membar_witness::launch& of = launched.launched.launches[l];
    if (std::none_of(actors.begin(), actors.end(), [&](const witness::actor& a) { return a.launch == static_cast<int>(l); })) {
      continue;
    }
    auto k = std::find_if(result.begin(), result.end(), [&](const delayed_kernel& one) { return one.name == of.kernel; });
    if (k == result.end()) {
      k = result.insert(k, {of.kernel, {}, {}, launched.split});
      for (const membar::ptx::ptx_part& part : parts) {
        const int first = static_cast<int>(std::count(ptx.data(), part.text.data(), '\n'));
        for (const int line : lines) {
          if (part.name == of.kernel && line > first) {
            k->preferred.push_back(line - first);
          }
        }
      }
    }
    for (const std::uint64_t a : of.actors) {
      if (std::find(k->actors.begin(), k->actors.end(), a) == k->actors.end() &&
          k->actors.size() < membar_witness::actor_slots) {
        k->actors.push_back(a);
      }
    }
  }
  return result;
}

/// Runs a program many times with delays in its kernels. If the scenario has no finding, there is nothing to delay.
int witness_in_program(const witness_request& how, const form& wrong) {
  delayed_program p;
  p.words = how.program;
  p.kernels = kernels_of(wrong, witness::actors_of(wrong.prepared.checked, wrong.result.found));
  p.file = how.file;
  p.finding = std::string(check::name(wrong.result.status)) + ": " + wrong.result.found.message;
  p.runs = how.runs;
  p.seconds = how.seconds;
  p.patience = how.patience;
  p.seed = how.seed;
  p.limit = how.limit;
  p.json = how.format == "json";
  return witness_program(p);
}

int witness_file(const witness_request& how) {
  witness_report r;
  read_form(r.wrong, how.file);
  const check::check_result& found = r.wrong.result;
  const bool is_found = found.status != check_status::verified && found.status != check_status::gave_up;
  if (is_found && !how.program.empty()) {
    return witness_in_program(how, r.wrong);
  }
  if (is_found) {
    const std::vector<witness::actor> actors = witness::actors_of(r.wrong.prepared.checked, found.found);
    if (r.wrong.scenario.finals.empty()) {
      r.by.watched = witness::watched_of(r.wrong.prepared.checked, found.found, actors);
    }
    r.by.outside = found.status == check_status::out_of_bounds;
    if (r.wrong.scenario.finals.empty() && r.by.watched.launch < 0 && found.status != check_status::hang && !r.by.outside) {
      throw membar::model::error(
          "no run on a GPU can show whether the fault occurred, because the scenario has no final condition and the finding "
          "has no "
          "load of 4 or 8 bytes to blame: add a line 'final CONDITION'");
    }
    rewrite_form(r.wrong, actors, r.by.watched);
    r.of_wrong = run_apart(r.wrong, r.by, how);
    r.has_fixed = !how.fixed.empty();
    if (r.has_fixed) {
      read_form(r.fixed, how.fixed);
      if (r.fixed.result.status != check_status::verified) {
        std::cerr << "membar-check: " << how.fixed << " is not verified; its result is: " << check::name(r.fixed.result.status)
                  << "\n";
      }
      rewrite_form(r.fixed, actors, {});
      if (r.of_wrong.no_gpu.empty()) {
        witness_request more = how;
        more.runs *= fixed_runs;
        r.of_fixed = run_apart(r.fixed, {{}, r.by.outside}, more);
      }
    }
    if (!how.reproducer.empty()) {
      write_reproducer(r, how.reproducer);
    }
  }
  if (how.format == "json") {
    say_as_json(r);
  } else {
    say(r);
  }
  return r.exit();
}

}  // namespace

/// Moves the words after "--", which are a program's command line, to `how`, and sets the default options for a program.
/// Returns the other words.
std::vector<std::string> take_program(std::vector<std::string> words, witness_request& how) {
  const auto dashes = std::find(words.begin(), words.end(), "--");
  if (dashes == words.end()) {
    return words;
  }
  how.program.assign(dashes + 1, words.end());
  if (how.program.empty()) {
    throw membar::model::error("there is no program after --: membar-check witness FILE [OPTION...] -- PROGRAM [ARGUMENT...]");
  }
  how.runs = 20;
  how.seconds = 600;
  how.limit = 1'000'000;
  words.erase(dashes, words.end());
  return words;
}

int witness_command(const std::vector<std::string>& given) {
  CLI::App app(
      "Launches the kernels of a scenario with a finding many times on a GPU, with delays that make the finding likely.",
      "membar-check witness");
  app.footer(
      "With a program, witness delays the kernels of the running program, and the program's exit status shows whether a run "
      "failed.");
  app.formatter(std::make_shared<command_help>("membar-check witness [OPTION...] FILE [-- PROGRAM [ARGUMENT...]]"));
  witness_request how;
  app.add_option("file", how.file, "a scenario with a finding");
  app.add_option("--fixed", how.fixed, "a scenario with the fixed kernel, whose threads are delayed in the same way")
      ->type_name("FILE");
  app.add_option("--runs", how.runs, "the number of runs of each kind (100000); the fixed form runs ten times as often")
      ->check(CLI::Range(std::uint64_t{1}, std::uint64_t{1} << 40U));
  app.add_option("--seconds", how.seconds, "stop the runs of a form after N seconds (20)")->check(CLI::Range(0.1, 86400.0));
  app.add_option("--patience", how.patience, "end the process that launches the kernels N seconds after --seconds (60)")
      ->check(CLI::Range(0.1, 86400.0));
  app.add_option("--seed", how.seed, "the seed of the random delays (1)")
      ->check(CLI::Range(std::uint64_t{1}, std::uint64_t{1} << 62U));
  app.add_option("--limit", how.limit,
                 "a thread that stays in a loop for N microseconds counts as hung and is terminated (10000)")
      ->check(CLI::Range(std::uint64_t{100}, std::uint64_t{1'000'000}));
  app.add_option("--reproducer", how.reproducer, "write a program that shows the finding: witness.cu in this folder")
      ->type_name("DIR");
  app.add_option("--format", how.format, "the format of the report (text)")->check(CLI::IsMember({"text", "json"}));
  app.add_flag("--no-early-loads", how.no_early, "delay threads, but do not let any load take effect early");
  try {
    const std::vector<std::string> words = take_program(given, how);
    std::vector<std::string> reversed(words.rbegin(), words.rend());
    app.parse(std::move(reversed));
    if (how.file.empty()) {
      throw membar::model::error("witness needs a scenario: membar-check witness FILE");
    }
    if (!how.program.empty() && (!how.fixed.empty() || !how.reproducer.empty())) {
      throw membar::model::error(
          "--fixed and --reproducer cannot be used with a program, because witness then does not launch the scenario: leave "
          "them out");
    }
    return witness_file(how);
  } catch (const CLI::CallForHelp&) {
    std::cout << app.help();
    return 0;
  } catch (const std::exception& e) {
    if (how.format == "json") {
      std::cout << json{{"format", "membar-check witness"},
                        {"format_version", witness_format_version},
                        {"status", "error"},
                        {"message", e.what()}}
                       .dump(2)
                << "\n";
    } else {
      std::cerr << "membar-check: " << (how.file.empty() ? "" : how.file + ": ") << e.what() << "\n";
    }
  }
  return error;
}

}  // namespace membar_check
