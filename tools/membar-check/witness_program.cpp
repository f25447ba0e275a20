// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <common/quote.hpp>
#include <common/temporary_folder.hpp>
#include <common/text_file.hpp>
#include <intercept/child.hpp>
#include <membar-check/recorder/records.hpp>
#include <membar-check/witness_program.hpp>

#include <membar/model/error.hpp>
#include <witness/launcher.hpp>

#include <nlohmann/json.hpp>

#include <algorithm>
#include <chrono>
#include <csignal>
#include <filesystem>
#include <iostream>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

namespace membar_check {

namespace {

namespace fs = std::filesystem;
using json = nlohmann::ordered_json;
using membar_witness::delay;  // its member `launch` is the number of the kernel
using membar_witness::delays;

constexpr std::uint64_t cycles_of_microsecond = 2000;  // at the highest clock rate of current GPUs
constexpr std::uint64_t repeated_runs = 5;
constexpr int untouched_runs = 3;  // at least one must pass; the error may also occur without delays
constexpr const char* preload_library = "libmembar_record.so";

/// The result of one run of the program.
struct run_outcome {
  std::string failure{};  ///< empty if the exit status was 0
  std::string last_line{};
};

/// Thrown for a signal that the command received while the program was running.
struct interruption {
  int signal = 0;
};

/// The runs of one kind and their results.
struct runs_of_kind {
  std::string name{};
  std::uint64_t runs = 0;
  std::uint64_t failed = 0;
  std::string example{};
  delays smallest{};
  std::uint64_t repeated = 0;
  std::uint64_t repeated_failed = 0;
};

/// A site in a kernel, as the preloaded library reports it.
struct site_in_program {
  int line = 0;
  std::string opcode{};
};

std::string last_line_of(const std::string& text) {
  std::istringstream lines(text);
  std::string last;
  for (std::string line; std::getline(lines, line);) {
    last = line.empty() ? last : line;
  }
  std::string escaped;
  for (const char c : last.substr(0, 200)) {
    escaped += membar_tools::escaped(c);
  }
  return escaped;
}

std::string seconds_text(double seconds) {
  std::ostringstream text;
  text << seconds;
  return text.str();
}

class runner {
 public:
  explicit runner(const delayed_program& p) : program_(p), folder_("membar-witness"), random_(p.seed) {
    preload_ = membar::intercept::preload_value(membar::intercept::library_path(preload_library, MEMBAR_RECORD_LIBRARY_FOLDER));
  }

  /// Alternates between runs without and with delays, and then repeats the smallest delays with which the program has failed.
  std::vector<runs_of_kind> run_all() {
    require_passing();
    runs_of_kind control{"no delays"};
    runs_of_kind delayed{"delays"};
    const auto begin = std::chrono::steady_clock::now();
    const auto is_time_up = [&] {
      return std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count() > program_.seconds;
    };
    while (delayed.runs < program_.runs && !is_time_up()) {
      count(control, {});
      require_kernels();
      count(delayed, any());
    }
    if (delayed.failed != 0) {
      runs_of_kind again{};
      while (again.runs < repeated_runs && !is_time_up()) {
        count(again, delayed.smallest);
      }
      delayed.repeated = again.runs;
      delayed.repeated_failed = again.failed;
    }
    return {control, delayed};
  }

  /// Returns the problem that occurred when a kernel was rewritten or loaded. Returns an empty string if there was none.
  [[nodiscard]] const std::string& problem() const noexcept { return problem_; }

  /// Returns the sites of each kernel. The list is empty for a kernel that the program has not loaded with delays.
  [[nodiscard]] const std::vector<std::vector<site_in_program>>& sites() const noexcept { return sites_; }

 private:
  void count(runs_of_kind& into, const delays& chosen) {
    const run_outcome ended = run_delayed(chosen);
    ++into.runs;
    if (ended.failure.empty()) {
      return;
    }
    if (into.failed == 0) {
      into.example = text_of(ended);
    }
    if (into.failed == 0 || membar_witness::total(chosen) < membar_witness::total(into.smallest)) {
      into.smallest = chosen;
    }
    ++into.failed;
  }

  /// Returns one to four random delays of 64 to 1,000,000 cycles.
  delays any() {
    delays result;
    std::vector<std::size_t> loaded;
    for (std::size_t k = 0; k < sites_.size(); ++k) {
      if (!sites_[k].empty()) {
        loaded.push_back(k);
      }
    }
    const std::uint64_t number = 1 + random_.below(4);
    for (std::uint64_t n = 0; n < number; ++n) {
      const std::size_t kernel = loaded[random_.below(loaded.size())];
      const std::uint64_t scale = std::uint64_t{64} << random_.below(14);
      result.push_back({static_cast<int>(kernel), static_cast<int>(random_.below(program_.kernels[kernel].actors.size())),
                        static_cast<int>(random_.below(sites_[kernel].size())),
                        std::min(scale + random_.below(scale), membar_witness::most_delay)});
    }
    return result;
  }

  void write_request(const delays& chosen) {
    json kernels = json::array();
    for (std::size_t k = 0; k < program_.kernels.size(); ++k) {
      const delayed_kernel& of = program_.kernels[k];
      std::vector<std::vector<std::uint32_t>> cycles(of.actors.size(), std::vector<std::uint32_t>(membar_witness::most_sites));
      for (const delay& d : chosen) {
        if (d.launch == static_cast<int>(k)) {
          cycles[static_cast<std::size_t>(d.actor)][static_cast<std::size_t>(d.site)] = static_cast<std::uint32_t>(d.cycles);
        }
      }
      kernels.push_back({{"name", of.name},
                         {"actors", of.actors},
                         {"cycles", cycles},
                         {"preferred", of.preferred},
                         {"split_warp", of.split_warp}});
    }
    const json asked = {
        {"limit", program_.limit * cycles_of_microsecond}, {"report", report().string()}, {"kernels", std::move(kernels)}};
    membar_tools::write_file(request().string(), asked.dump());
  }

  [[nodiscard]] fs::path request() const { return folder_.path() / "request.json"; }
  [[nodiscard]] fs::path report() const { return folder_.path() / "report"; }
  [[nodiscard]] fs::path output() const { return folder_.path() / "output"; }

  static std::string text_of(const run_outcome& failed) {
    return failed.failure + (failed.last_line.empty() ? "" : ": " + failed.last_line);
  }

  /// Requires that the unchanged program passes, because its exit status decides whether a run failed.
  void require_passing() {
    run_outcome ended = run_once({});
    for (int run = 1; run < untouched_runs && !ended.failure.empty(); ++run) {
      ended = run_once({});
    }
    if (!ended.failure.empty()) {
      throw membar::model::error("the program fails in all " + std::to_string(untouched_runs) +
                                 " runs without delays and without the preloaded library: " + text_of(ended) +
                                 "; witness needs a program whose exit status is 0 if its results are right");
    }
  }

  run_outcome run_delayed(const delays& chosen) {
    write_request(chosen);
    const run_outcome result = run_once({{"LD_PRELOAD", preload_}, {membar_record::environment::delays, request().string()}});
    read_report();
    return result;
  }

  /// Runs the program in its own process group, which is killed if it takes too long.
  run_outcome run_once(const std::vector<std::pair<std::string, std::string>>& environment) {
    membar::intercept::run_options how;
    how.output = output().string();
    how.own_group = true;
    how.seconds = program_.patience;
    const membar::intercept::outcome ended = membar::intercept::run(program_.words, environment, how);
    if (ended.interrupted != 0) {
      throw interruption{ended.interrupted};
    }
    if (!ended.started) {
      throw membar::model::error(membar_tools::quote(program_.words[0]) + " could not be started: give its path after --");
    }
    run_outcome result;
    if (ended.timed_out) {
      result.failure = "it did not end within " + seconds_text(program_.patience) + " s";
    } else if (ended.signal != 0) {
      result.failure = "signal " + std::to_string(ended.signal);
    } else if (ended.status != 0) {
      result.failure = "exit status " + std::to_string(ended.status);
    }
    result.last_line = result.failure.empty() ? "" : last_line_of(membar_tools::read_file(output().string()));
    return result;
  }

  void read_report() {
    if (!fs::exists(report())) {
      return;
    }
    std::istringstream lines(membar_tools::read_file(report().string()));
    for (std::string line; std::getline(lines, line);) {
      const json told = json::parse(line, nullptr, false);
      if (told.is_discarded()) {
        continue;  // a process was killed while it wrote this line
      }
      if (told.contains("problem")) {
        problem_ = told.at("problem");
        continue;
      }
      sites_.resize(program_.kernels.size());
      for (std::size_t k = 0; k < program_.kernels.size(); ++k) {
        if (told.at("kernel").get<std::string>() == program_.kernels[k].name) {
          sites_[k].clear();
          for (const json& site : told.at("sites")) {
            sites_[k].push_back({site[0], site[1]});
          }
        }
      }
    }
    fs::remove(report());
  }

  void require_kernels() const {
    if (std::any_of(sites_.begin(), sites_.end(), [](const auto& of_kernel) { return !of_kernel.empty(); })) {
      return;
    }
    std::string names;
    for (const delayed_kernel& k : program_.kernels) {
      names += (names.empty() ? "" : ", ") + k.name;
    }
    throw membar::model::error(
        problem_.empty() ? "the program loaded no PTX that defines " + names +
                               ": build it so that it keeps PTX (membar-check record --build -- BUILD), and let it run "
                               "the scenario's kernel"
                         : "no kernel can be delayed: " + problem_);
  }

  const delayed_program& program_;
  membar_tools::temporary_folder folder_;
  membar_witness::random_numbers random_;
  std::string preload_;
  std::vector<std::vector<site_in_program>> sites_{};
  std::string problem_{};
};

std::string delay_text(const delayed_program& p, const runner& r, const delay& d) {
  const auto kernel = static_cast<std::size_t>(d.launch);
  const std::uint64_t who = p.kernels[kernel].actors[static_cast<std::size_t>(d.actor)];
  const site_in_program& at = r.sites()[kernel][static_cast<std::size_t>(d.site)];
  return std::to_string(d.cycles) + " cycles in " + p.kernels[kernel].name + ", block " + std::to_string(who >> 32U) +
         ", thread " + std::to_string(who & 0xffffffffU) +
         (d.site == 0 ? ", at the beginning of the kernel"
                      : ", before " + at.opcode + " in line " + std::to_string(at.line + 1) + " of the kernel's PTX");
}

bool fails_more_often(const runs_of_kind& a, const runs_of_kind& b) { return a.failed * b.runs > b.failed * a.runs; }

void print_text(const delayed_program& p, const runner& r, const std::vector<runs_of_kind>& arms, const char* status) {
  std::cout << p.file << '\t' << status << '\t' << p.finding << "\n";
  if (arms[1].failed == 0) {
    std::cout << "  the program did not fail in " << arms[1].runs << " runs with delays, but the model allows the finding\n";
  }
  if (!r.problem().empty()) {
    std::cout << "  note: a kernel is not delayed: " << r.problem() << "\n";
  }
  for (const runs_of_kind& a : arms) {
    std::cout << "    " << a.name << ": " << a.failed << " of " << a.runs << " runs failed"
              << (a.example.empty() ? "" : "; " + a.example) << "\n";
  }
  if (arms[1].failed != 0) {
    std::cout << "    the smallest delays with which the program failed: " << arms[1].repeated_failed << " of "
              << arms[1].repeated << " runs with\n";
    for (const delay& d : arms[1].smallest) {
      std::cout << "      " << delay_text(p, r, d) << "\n";
    }
  }
  if (arms[0].failed == arms[0].runs) {
    std::cout << "  note: the program passed without the preloaded library, but each run with delays of zero failed: rewriting "
                 "the kernels may itself break the program\n";
  }
  if (arms[0].failed != 0) {
    std::cout << "  note: the program also fails without delays"
              << (fails_more_often(arms[1], arms[0]) ? "" : ", at least as often, so the delays do not cause its failures")
              << "\n";
  }
}

void print_json(const delayed_program& p, const runner& r, const std::vector<runs_of_kind>& arms, const char* status) {
  json all = {{"format", "membar-check witness"},
              {"format_version", 1},
              {"status", status},
              {"file", p.file},
              {"finding", p.finding},
              {"program", p.words},
              {"not_delayed", r.problem()},
              {"runs", json::array()}};
  for (const runs_of_kind& a : arms) {
    json one = {{"kind", a.name},           {"runs", a.runs},         {"failed", a.failed},
                {"example", a.example},     {"repeated", a.repeated}, {"repeated_failed", a.repeated_failed},
                {"smallest", json::array()}};
    for (const delay& d : a.smallest) {
      one["smallest"].push_back(delay_text(p, r, d));
    }
    all["runs"].push_back(std::move(one));
  }
  std::cout << all.dump(2, ' ', false, json::error_handler_t::replace) << "\n";
}

}  // namespace

int witness_program(const delayed_program& p) {
  try {
    runner r(p);
    const std::vector<runs_of_kind> arms = r.run_all();
    const bool observed = fails_more_often(arms[1], arms[0]);
    (p.json ? print_json : print_text)(p, r, arms, observed ? "observed" : "not observed");
    return observed ? 1 : 3;
  } catch (const interruption& by) {  // the temporary files must still be removed
    static_cast<void>(std::raise(by.signal));
    return 128 + by.signal;
  }
}

}  // namespace membar_check
