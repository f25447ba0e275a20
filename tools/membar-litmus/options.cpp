// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <common/quote.hpp>
#include <membar-litmus/options.hpp>

#include <litmus/nearest_name.hpp>
#include <membar/version.hpp>

#include <CLI/App.hpp>
#include <CLI/Config.hpp>
#include <CLI/Formatter.hpp>

#include <cctype>
#include <cerrno>
#include <cstdint>
#include <cstdlib>
#include <functional>
#include <iostream>
#include <map>
#include <string_view>
#include <utility>

namespace membar::litmus_files {

using membar_tools::quote;

namespace {

constexpr std::string_view usage =
    "usage: membar-litmus verdict [--jobs=N] PATH...     print PATH<TAB>1|0 per test: does the quantified condition hold?\n"
    "       membar-litmus outcomes PATH                  print every final state that the model allows, one per line\n"
    "       membar-litmus explain [--dot] PATH           print one execution that shows the outcome, or the rule that forbids "
    "it\n"
    "       membar-litmus run [OPTION...] PATH...        run the tests on the GPU under stress and compare every outcome with "
    "the model\n"
    "       membar-litmus --version                      print the version\n"
    "If a PATH is a folder, every *.litmus file in it and its subfolders is a test. A command gives up on a test after S "
    "seconds of\nprocessor time (--time=S, default 30), after --limit=N steps of the model's search (default 300000000), or "
    "when "
    "the states\nof the search need more than --memory=MIB (default 256); 0 removes a limit. A loop that does more than wait "
    "is "
    "an error if\nit may jump back more than once; with --bounded, only runs in which it jumps back at most once are checked, "
    "and the verdict\nis marked as bounded. Where the PTX ISA is ambiguous, --reading=NAME selects the other reading of one "
    "rule, and\n--readings=lenient or --readings=strict selects one side for all rules. An access to an undeclared location is "
    "reported as a\nwarning; with --strict it is an error. Every command prints its report as --format=text (the default) or "
    "--format=json (or\n--json): one JSON document per test, each on one line. explain --dot prints a graph for Graphviz.\n"
    "Options of run:\n"
    "  --seconds=S       how long each test runs (default 1)\n"
    "  --tune=S          first spend S seconds searching for the parameters that show the condition's outcomes most often,\n"
    "                    starting from those in --params\n"
    "  --params=TEXT     run with these parameters, written as in a report; others keep their defaults\n"
    "  --seed=N          seed of all random choices (default 1)\n"
    "  --source          print the CUDA source of each test instead of running it\n"
    "  --compile-for=CC  compile each test for this compute capability, such as 90, instead of running it\n"
    "  --cache=DIR       cache compiled tests in DIR instead of $XDG_CACHE_HOME/membar; --no-cache disables the cache\n"
    "Exit status of run: 0 if the model allows every observed outcome, 1 if a forbidden outcome was observed, otherwise 2 if "
    "a\ntest did not run. Exit status of the other commands: 0, or 2 for an error.\n";

constexpr std::string_view options_are_in_help = "membar-litmus --help lists the commands and options\n";

[[nodiscard]] bool read_number(const std::string& text, std::uint64_t& value) {
  char* end = nullptr;
  errno = 0;
  value = std::strtoull(text.c_str(), &end, 10);
  return !text.empty() && std::isdigit(static_cast<unsigned char>(text.front())) != 0 && *end == '\0' && errno == 0;
}

/// Parses a time in seconds for a run.
[[nodiscard]] bool read_seconds(const std::string& text, double& value) {
  char* end = nullptr;
  value = std::strtod(text.c_str(), &end);
  return !text.empty() && *end == '\0' && value > 0 && value <= 1e6;
}

/// Returns a suggestion such as "; did you mean 'verdict'?" for a mistyped word.
[[nodiscard]] std::string nearest(const std::string& word, const std::vector<std::string>& names) {
  return word.empty() ? "" : "; did you mean " + quote(nearest_name(word, names)) + "?";
}

/// The subcommands and their options, which fill in a request.
class command_line {
 public:
  command_line() {
    app_.set_help_flag();
    app_.allow_extras();
    app_.require_subcommand(0, 1);
    add_flag(app_, "--version", [this] { version_ = true; });
    add_flag(app_, "--help", [this] { help_ = true; });
    app_.add_subcommand("help")->group("");
    for (const auto& [name, what] : commands) {
      CLI::App& sub = *app_.add_subcommand(std::string(name));
      sub.set_help_flag();
      sub.allow_extras();
      sub.add_option("PATH", request_.paths);
      sub.callback([this, what = what] { request_.command = what; });
      add_flag(sub, "--help", [this] { help_ = true; });
      add_shared_options(sub);
      if (what == command::run) {
        add_options_of_run(sub);
      } else {
        add_options_of_the_model(sub);
      }
    }
  }

  /// Parses the words. Returns an error message, or an empty string on success.
  [[nodiscard]] std::string read(const std::vector<std::string>& words) {
    try {
      app_.parse(std::vector<std::string>(words.rbegin(), words.rend()));
    } catch (
        const CLI::ArgumentMismatch& e) {  // "--limit: 1 required TEXT missing", "--json was given a disallowed flag override"
      const std::string text = e.what();
      const std::size_t begin = text.find_first_not_of('-');
      const std::string name = "--" + text.substr(begin, text.find_first_of(": ") - begin);
      const auto needs = needs_.find(name);
      return name + (needs == needs_.end() ? " takes no value" : " needs " + needs->second);
    } catch (const CLI::ParseError& e) {
      return e.what();
    }
    return help_ || version_ ? std::string() : what_is_left();
  }

  [[nodiscard]] bool help() const { return help_ || app_.got_subcommand("help"); }
  [[nodiscard]] bool version() const noexcept { return version_; }
  [[nodiscard]] litmus_files::request& request() noexcept { return request_; }

 private:
  static constexpr std::pair<std::string_view, command> commands[] = {
      {"verdict", command::verdict}, {"outcomes", command::outcomes}, {"explain", command::explain}, {"run", command::run}};

  static void add_flag(CLI::App& to, const char* name, const std::function<void()>& use) {
    to.add_flag_callback(name, use)->multi_option_policy(CLI::MultiOptionPolicy::TakeLast)->disable_flag_override();
  }

  /// Adds an option. `read` parses the option's value and returns whether it is valid. If it is not, the error message says
  /// that the option needs `needs`.
  void add_option(CLI::App& to, const char* name, const char* needs, const std::function<bool(const std::string&)>& read) {
    needs_[name] = needs;
    to.add_option_function<std::string>(name, [name, needs, read](const std::string& text) {
        if (!read(text)) {
          throw CLI::ValidationError(std::string(name) + " needs " + needs);
        }
      })->multi_option_policy(CLI::MultiOptionPolicy::TakeLast);
  }

  void add_shared_options(CLI::App& to) {
    add_option(to, "--limit", "a number", [this](const std::string& text) { return read_number(text, request_.search.limit); });
    add_flag(to, "--strict", [this] { request_.strict = true; });
    add_flag(to, "--json", [] {});  // read_command_line replaces it with --format=json
    add_option(to, "--format", "text or json", [this](const std::string& text) {
      request_.format = text == "json" ? explanation_format::json : explanation_format::text;
      return text == "json" || text == "text";
    });
  }

  void add_options_of_the_model(CLI::App& to) {
    add_option(to, "--jobs", "a number, at least 1", [this](const std::string& text) {
      std::uint64_t number = 0;
      const bool good = read_number(text, number) && number >= 1;
      request_.jobs = static_cast<unsigned>(std::min<std::uint64_t>(number, 1U << 16));
      return good;
    });
    add_flag(to, "--bounded", [this] { request_.search.bounded = true; });
    add_option(to, "--time", "a time in seconds, at most 1000000", [this](const std::string& text) {
      const bool any = text == "0";
      request_.seconds = any ? 0 : request_.seconds;
      return any || read_seconds(text, request_.seconds);
    });
    add_option(to, "--memory", "a number of MiB", [this](const std::string& text) {
      std::uint64_t number = 0;
      const bool good = read_number(text, number) && number < (std::uint64_t{1} << 40U);
      request_.search.memory = number << 20U;
      return good;
    });
    add_option(to, "--readings", "lenient, strict or default",
               [this](const std::string& text) { return request_.readings.take_all(text); });
    to.add_option_function<std::vector<std::string>>(
          "--reading",
          [this](const std::vector<std::string>& names) {
            for (const std::string& name : names) {
              if (!request_.readings.take(name)) {
                throw CLI::ValidationError("--reading: no reading is named " + quote(name) + nearest(name, reading_names()));
              }
            }
          })
        ->expected(1)
        ->allow_extra_args(false)
        ->multi_option_policy(CLI::MultiOptionPolicy::TakeAll);
    needs_["--reading"] = "the name of a reading";
    add_flag(to, "--dot", [this] { request_.format = explanation_format::dot; });
  }

  void add_options_of_run(CLI::App& to) {
    run_request& run = request_.run;
    constexpr const char* a_time = "a time in seconds, more than 0 and at most 1000000";
    add_option(to, "--seconds", a_time, [&run](const std::string& text) { return read_seconds(text, run.seconds); });
    add_option(to, "--tune", a_time, [&run](const std::string& text) { return read_seconds(text, run.tune_seconds); });
    add_option(to, "--seed", "a number", [&run](const std::string& text) { return read_number(text, run.seed); });
    add_option(to, "--params", "parameters, written as in a report", [&run](const std::string& text) {
      run.parameters = text;
      return true;
    });
    add_flag(to, "--source", [&run] { run.source = true; });
    add_option(to, "--compile-for", "a compute capability without the decimal point, such as 90 for 9.0",
               [&run](const std::string& text) {
                 std::uint64_t number = 0;
                 const bool good = read_number(text, number) && number >= 50 && number <= 999;
                 run.compile_for = good ? static_cast<int>(number) : 0;
                 return good;
               });
    add_option(to, "--cache", "a folder", [&run](const std::string& text) {
      run.cache = text;
      return !text.empty();
    });
    add_flag(to, "--no-cache", [&run] { run.use_cache = false; });
  }

  /// Returns an error message about words that were not consumed by any subcommand or option, or an empty string if there are
  /// none.
  [[nodiscard]] std::string what_is_left() const {
    const std::vector<CLI::App*> subs = app_.get_subcommands();
    const std::vector<std::string> before = app_.remaining();
    if (subs.empty() || !before.empty()) {
      std::vector<std::string> names;
      for (const auto& [name, what] : commands) {
        names.emplace_back(name);
      }
      if (!before.empty() && before.front().ends_with(".litmus")) {
        return "no command given for " + quote(before.front()) + ": write, for example, membar-litmus explain " +
               before.front();
      }
      return before.empty() ? "no command given" : "unknown command " + quote(before.front()) + nearest(before.front(), names);
    }
    for (const std::string& word : subs.front()->remaining()) {
      if (word.size() > 1 && word.front() == '-' && word != "--") {
        std::vector<std::string> names;
        for (const CLI::Option* option : subs.front()->get_options()) {
          if (!option->get_lnames().empty()) {
            names.push_back(option->get_name() + (option->get_items_expected_max() > 0 ? "=" : ""));
          }
        }
        return "unknown option " + quote(word) + nearest(word.substr(0, word.find('=')), names);
      }
    }
    return request_.paths.empty() && !help() ? "no file given" : "";
  }

  CLI::App app_;
  std::map<std::string, std::string> needs_;  ///< for each option: a description of its value
  litmus_files::request request_;
  bool help_ = false;
  bool version_ = false;
};

}  // namespace

std::variant<request, int> read_command_line(std::vector<std::string> words) {
  for (std::size_t w = 0; w < words.size() && words[w] != "--"; ++w) {
    if (words[w] == "--json") {  // of --json and --format, the last one takes effect
      words[w] = "--format=json";
    }
    // CLI11 would take the next word as the value of an empty "--cache="
    if (words[w].size() > 3 && words[w].rfind("--", 0) == 0 && words[w].back() == '=') {
      words[w].pop_back();
      words.insert(words.begin() + static_cast<std::ptrdiff_t>(w) + 1, "");
    }
  }
  command_line line;
  const std::string wrong = line.read(words);
  if (!wrong.empty()) {
    std::cerr << "membar-litmus: " << wrong << '\n' << (words.empty() ? usage : options_are_in_help);
    return 2;
  }
  if (line.version()) {
    std::cout << "membar-litmus " << version.major << '.' << version.minor << '.' << version.patch << '\n';
    return 0;
  }
  if (line.help()) {
    std::cout << usage;
    return 0;
  }
  request& asked = line.request();
  asked.run.limit = asked.search.limit;
  asked.run.strict = asked.strict;
  asked.run.json = asked.format == explanation_format::json;
  return std::move(asked);
}

}  // namespace membar::litmus_files
