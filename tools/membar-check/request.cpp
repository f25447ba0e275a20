// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <common/alternatives.hpp>
#include <common/quote.hpp>
#include <common/version.hpp>
#include <membar-check/nvcc.hpp>
#include <membar-check/request.hpp>

#include <litmus/readings.hpp>

#include <CLI/App.hpp>
#include <CLI/Config.hpp>
#include <CLI/Formatter.hpp>

#include <algorithm>
#include <cerrno>
#include <cstdint>
#include <cstdlib>
#include <iostream>
#include <iterator>
#include <limits>
#include <memory>
#include <optional>
#include <ranges>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace membar_check {

namespace {

constexpr const char* about =
    "A FILE is a scenario, which names a source (.cu or .ptx), memory, launches, host threads and final conditions; or a\n"
    ".litmus test, which is checked only for data races and hangs. Prints one line per file: FILE, TAB, and one of\n"
    "  verified       every execution was explored, and none breaks a rule\n"
    "  race, violated, hang, uninitialised, out of bounds, undefined\n"
    "                 an execution breaks a rule; the report shows it below this line\n"
    "  gave up        the exploration was cut short, or something is not supported\n"
    "  error          the file, its source or its kernels cannot be read";
constexpr const char* usage =
    "usage: membar-check [OPTION...] FILE...           explore every execution of a small launch\n"
    "       membar-check sanitize [OPTION...] FILE...  execute a full-size launch under a few schedules\n"
    "       membar-check lint [OPTION...] PATH...      look for error patterns in .cu, .ptx and binaries; no scenario is "
    "needed\n"
    "       membar-check record [OPTION...] -- PROGRAM run a program and write scenarios of its launches\n"
    "       membar-check attach NAME.scenario... --source FILE\n"
    "                                                  add the PTX of a source to recorded scenarios that have none\n"
    "       membar-check witness [OPTION...] FILE      reproduce a finding on a GPU\n"
    "Each of the last five commands has its own --help.\n\n";
constexpr const char* statuses =
    "Exit status: 0 if every file is verified; otherwise 2 if a file had an error, else 1 if a fault was found, else 3.";
constexpr const char* options_are_in_help = "membar-check --help lists the options\n";
constexpr std::uint64_t most_changes = 6;
constexpr std::uint64_t most_seconds = 1'000'000;
constexpr const char* repair_name = "--repair{3}";  ///< includes the default value

class help_text final : public CLI::Formatter {
 public:
  std::string make_usage(const CLI::App*, std::string) const override { return usage; }
  std::string make_description(const CLI::App*) const override { return std::string(about) + "\n"; }
  std::string make_positionals(const CLI::App*) const override { return ""; }
  std::string make_option_name(const CLI::Option* option, bool is_positional) const override {
    const std::string name = Formatter::make_option_name(option, is_positional);
    return name == repair_name ? "--repair[=N]" : name;
  }
  std::string make_option_opts(const CLI::Option* option) const override {
    return option->get_type_name().empty() ? "" : "=" + option->get_type_name();
  }
  std::string make_help(const CLI::App* app, std::string, CLI::AppFormatMode mode) const override {
    return make_usage(app, "") + make_description(app) + make_groups(app, mode) + "\n" + statuses + "\n";
  }
};

/// Parses a number of at least 1. `needs` names what is counted.
[[nodiscard]] std::uint64_t number_of(const std::string& option, const std::string& text, const std::string& needs,
                                      std::uint64_t most = std::numeric_limits<std::uint64_t>::max()) {
  char* end = nullptr;
  errno = 0;
  const std::uint64_t value = std::strtoull(text.c_str(), &end, text.rfind("0x", 0) == 0 ? 16 : 10);
  if (text.empty() || text[0] < '0' || text[0] > '9' || *end != '\0' || errno != 0 || value == 0 || value > most) {
    throw wrong_usage(option + " needs " + needs + ": " + membar_tools::quote(text) + " was given");
  }
  return value;
}

/// Adds the options of the command. Parsing sets `repair` to the requested number of changes, as text; empty means that no
/// repair is requested.
void add_options(CLI::App& app, request& how, std::string& repair) {
  const auto number = [&app](const std::string& option, std::uint64_t& to, const std::string& needs, const std::string& what,
                             std::uint64_t most = std::numeric_limits<std::uint64_t>::max()) {
    return app
        .add_option_function<std::string>(
            option, [option, &to, needs, most](const std::string& text) { to = number_of(option, text, needs, most); }, what)
        ->type_name("N");
  };
  const auto file = [&app](const std::string& option, std::string& to, const std::string& what) {
    app.add_option_function<std::string>(
           option,
           [option, &to](const std::string& text) {
             if (text.empty()) {
               throw wrong_usage(option + " needs a file name, but an empty string was given");
             }
             to = text;
           },
           what)
        ->type_name("FILE");
  };
  number("--limit", how.options.most_events, "a number of events, at least 1",
         "give up after N events in all executions together (default 200000000)");
  number("--time", how.seconds, "a number of seconds, 1 to 1000000",
         "give up on a file after this many seconds of processor time (default 600); --repair\nsearches for at most this "
         "time and at most 9 seconds",
         most_seconds)
      ->type_name("SECONDS");
  app.add_flag_callback(
      "--without-load-buffering", [&how] { how.options.load_buffering = false; },
      "do not explore load buffering where it is not ruled out; the result line then says so");
  app.add_flag_callback(
      "--no-symmetry", [&how] { how.options.symmetry = false; },
      "also explore executions that differ only by a permutation of equal threads");
  number("--random", how.options.random_executions, "a number of executions, at least 1",
         "explore N random executions instead of all of them, for programs that are too large;\nprints the seed of a finding");
  number("--seed", how.options.seed, "a number, at least 1",
         "the seed of the first random execution (default 1); --random=1 with the seed of a\nfinding reproduces it");
  app.add_flag(repair_name, repair,
               "for a file that is not verified, find the smallest sets of at most N changes to orders,\nscopes, fences and "
               "barriers that let the scenario pass (N is 1 to 6, default 3);\nfor a verified file, list the orders that "
               "are stronger than needed");
  add_reading_options(app, how.options.readings);
  file("--costs", how.costs,
       "the cost of each order, for --repair: a table from bench/check/order_costs.py (default:\nthe table for the NVIDIA "
       "H200)");
  file("--litmus", how.litmus, "write the finding as a litmus test, for membar-litmus");
  file("--dot", how.dot, "write the finding as a graph, for Graphviz");
  app.add_option_function<std::string>(
         "--format",
         [&how](const std::string& text) {
           constexpr std::pair<std::string_view, report_format> formats[] = {
               {"text", report_format::text}, {"json", report_format::json}, {"sarif", report_format::sarif}};
           const auto one =
               std::find_if(std::begin(formats), std::end(formats), [&](const auto& f) { return f.first == text; });
           if (one == std::end(formats)) {
             throw wrong_usage("--format needs text, json or sarif: " + membar_tools::quote(text) + " was given");
           }
           how.format = one->second;
         },
         "text (default), json or sarif (2.1.0); json and sarif print one document for all files")
      ->type_name("FORMAT");
  app.add_flag("--ptx", how.ptx, "show the PTX of every event instead of its source line");
  app.add_option_function<std::string>(
         "--events",
         [&how](const std::string& text) {
           how.all_events = text == "all";
           how.fill_events = !how.all_events;
           how.events = how.all_events ? how.events : number_of("--events", text, "a number of events, at least 1, or all");
         },
         "show N events of a finding, or all, including sync points and shuffles (default: at most\n10, namely the events to "
         "blame and the last reads of their threads)")
      ->type_name("N|all");
  app.add_flag("--read", how.read,
               "for a FILE that is a source (.ptx or .cu), print one line per kernel: FILE, TAB,\nKERNEL, TAB, and 'read', or "
               "'refused', TAB and the reason; explores nothing");
  add_nvcc_options(app, how.nvcc_options);
  app.add_flag("--quiet", how.quiet,
               "print only the result lines, without executions that break a rule and without\nprogress reports");
}

/// Rejects combinations of options that contradict each other.
void check_together(const request& how) {
  if (how.files.empty()) {
    throw wrong_usage("no file given");
  }
  if (how.files.size() > 1 && (!how.litmus.empty() || !how.dot.empty())) {
    throw wrong_usage("--litmus and --dot write the finding of one file, but " + std::to_string(how.files.size()) +
                      " files are given");
  }
  if (how.read && (how.format != report_format::text || how.repair != 0 || how.options.random_executions != 0 ||
                   !how.litmus.empty() || !how.dot.empty())) {
    throw wrong_usage("--read explores nothing: --format, --repair, --random, --litmus and --dot cannot be used with it");
  }
  if (!how.nvcc_options.empty() && !how.read) {
    throw wrong_usage(
        membar_tools::quote(how.nvcc_options.front()) +
        " is an option for compiling CUDA C++, which only --read does: write the option on the scenario's source line");
  }
  require_source(how.nvcc_options, std::any_of(how.files.begin(), how.files.end(), is_source_name));
  if (how.repair != 0 && how.options.random_executions != 0) {
    throw wrong_usage("--repair explores all executions, and --random does not: use only one of them");
  }
  if (!how.costs.empty() && how.repair == 0) {
    throw wrong_usage(
        "--costs gives the cost of the changes that --repair tries, but --repair was not given: add --repair, or leave --costs "
        "out");
  }
}

}  // namespace

void add_reading_options(CLI::App& app, membar::model::other_readings& readings) {
  using membar::litmus_files::checked_readings;
  const auto known = checked_readings();
  const std::string names_of_all =
      membar_tools::alternatives(known | std::views::transform(&membar::litmus_files::checked_reading::name));
  app.add_option_function<std::string>(
         "--readings",
         [&readings](const std::string& text) {
           if (text != "lenient" && text != "default") {
             throw wrong_usage("--readings must be lenient or default, but " + membar_tools::quote(text) + " was given" +
                               (text == "strict" ? "; only membar-litmus has strict" : ""));
           }
           readings = {};
           for (const auto& [name, one] : checked_readings()) {
             if (text == "lenient") {
               readings.take(one);
             }
           }
         },
         "lenient: where the PTX ISA is ambiguous, choose the reading that gives a program\nmore guarantees; default: "
         "choose membar's readings (docs/readings.md)")
      ->type_name("lenient|default");
  app.add_option_function<std::vector<std::string>>(
         "--reading",
         [&readings, names_of_all](const std::vector<std::string>& names) {
           const auto rows = checked_readings();
           for (const std::string& name : names) {
             const auto found = std::find_if(rows.begin(), rows.end(), [&](const auto& r) { return r.name == name; });
             if (found == rows.end()) {
               throw wrong_usage("--reading needs " + names_of_all + ": " + membar_tools::quote(name) + " was given");
             }
             readings.take(found->one);
           }
         },
         "choose the other interpretation of one reading:\n" + names_of_all)
      ->type_name("NAME")
      ->allow_extra_args(false)
      ->multi_option_policy(CLI::MultiOptionPolicy::TakeAll);
}

std::optional<request> read_request(int count, char** arguments, int& status) {
  request how;
  how.options.merge_updates = true;
  // final conditions refer only to memory, which does not show which of several interchangeable threads wrote it
  how.options.symmetry = true;
  CLI::App app("", "membar-check");
  app.formatter(std::make_shared<help_text>());
  app.option_defaults()->multi_option_policy(CLI::MultiOptionPolicy::TakeLast);
  app.set_help_flag("--help", "print this");
  app.set_version_flag("--version", "membar-check " + membar_tools::version_text(), "print the version");
  app.allow_extras();
  std::string repair;
  add_options(app, how, repair);
  app.add_option("FILE", how.files)->multi_option_policy(CLI::MultiOptionPolicy::TakeAll);
  try {
    app.parse(count, arguments);
    if (const auto rest = app.remaining(); !rest.empty()) {
      throw wrong_usage("unknown option " + membar_tools::quote(rest.front()));
    }
    if (!repair.empty()) {
      how.repair = number_of("--repair", repair, "a number of changes, 1 to 6", most_changes);
    }
    check_together(how);
    return how;
  } catch (const CLI::Success& e) {
    status = app.exit(e, std::cout, std::cerr);
  } catch (const CLI::ArgumentMismatch& e) {
    const std::string text = e.what();
    const std::string option = text.substr(0, text.find(':'));
    std::cerr << "membar-check: " << option << " needs a value: give it as " << option << "=VALUE\n" << options_are_in_help;
    status = 2;
  } catch (const std::exception& e) {
    std::cerr << "membar-check: " << e.what() << '\n' << (count < 2 ? app.help() : options_are_in_help);
    status = 2;
  }
  return std::nullopt;
}

}  // namespace membar_check
