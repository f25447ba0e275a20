// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "membar-domains/options.hpp"

#include <CLI/CLI.hpp>
#include <algorithm>
#include <charconv>
#include <sstream>

#include "membar-domains/move_list.hpp"
#include "membar-domains/text.hpp"

namespace membar_domains {

namespace {

/// Returns a validator that requires a number within these limits.
template <class Number>
CLI::Validator between(Number least, int most) {
  return {[=](const std::string& value) {
            Number out = 0;
            const auto [end, status] = std::from_chars(value.data(), value.data() + value.size(), out);
            std::ostringstream limits;
            limits << least << " to " << most;
            return status == std::errc{} && end == value.data() + value.size() && out >= least && out <= most
                       ? std::string()
                       : "'" + value + "' is not valid: write a number from " + limits.str();
          },
          "", ""};
}

CLI::Validator text_or_json() {
  return {[](const std::string& value) {
            return value == "text" || value == "json" ? std::string() : "'" + value + "' is not a format: write text or json";
          },
          "", ""};
}

/// Describes the words before "--". This is the only place where options are described.
class command_line {
 public:
  explicit command_line(options& out) {
    app_.option_defaults()->multi_option_policy(CLI::MultiOptionPolicy::TakeLast);
    app_.set_help_flag("-h,--help", "print this text");
    app_.set_version_flag("--version", "version", "print the version of membar-domains");
    app_.add_option("action", action_);
    app_.add_option("--list", out.list,
                    "the list of kernels to move; without one, try watches the program first and uses the resulting list")
        ->type_name("FILE");
    app_.add_option("--remote", out.remote,
                    "assume that kernels with matching names store to other devices, and list them; may be repeated")
        ->type_name("REGEX")
        ->multi_option_policy(CLI::MultiOptionPolicy::TakeAll)
        ->allow_extra_args(false);
    app_.add_flag("--check", out.check, "watch: warn if a kernel to move may synchronize with another kernel (the default)");
    app_.add_flag_callback(
        "--no-check", [&out] { out.check = false; }, "watch: skip this check; applying the list then needs --force");
    app_.add_flag("--force", out.force,
                  "try, apply: accept a list that was not checked, or for which the check issued warnings");
    app_.add_option("--output", out.output, "the folder for the reports of watch, try and run (default: membar-domains)")
        ->type_name("FOLDER");
    app_.add_option("--format", format_,
                    "print the report as text, or as json on one line of the standard output (default: text)")
        ->type_name("FORMAT")
        ->check(text_or_json());
    app_.add_option("--turn", out.turn, "try: launches of listed kernels per turn (default: 16)")
        ->type_name("N")
        ->check(between(1, 1'000'000));
    app_.add_flag("--whole-runs", out.whole_runs,
                  "try: use one mode for each whole run instead of turns; for listed kernels that synchronize with each other");
    app_.add_option("--runs", out.runs, "try: at most N whole runs in each mode (default: 3)")
        ->type_name("N")
        ->check(between(1, 100));
    app_.add_option("--seconds", out.seconds, "run: seconds to watch before anything is moved (default: 10)")
        ->type_name("N")
        ->check(between(0.1, 3600));
    app_.add_option("--cupti", out.cupti, "the path of libcupti.so, if the loader does not find it")->type_name("FILE");
  }

  void read(std::vector<std::string> words, options& out) {
    app_.allow_extras();
    std::reverse(words.begin(), words.end());  // CLI11 expects the words in reverse order
    try {
      app_.parse(std::move(words));
    } catch (const CLI::CallForHelp&) {
      out.what = options::action::help;
    } catch (const CLI::CallForVersion&) {
      out.what = options::action::version;
    } catch (const CLI::ArgumentMismatch& e) {
      const std::string text = e.what();
      const std::string name = text.substr(0, text.find(':'));
      throw error(name + " needs a value: write " + name + "=...");
    } catch (const CLI::ParseError& e) {
      throw error(std::string(e.what()) +
                  (dynamic_cast<const CLI::ValidationError*>(&e) != nullptr ? "" : ": see membar-domains --help"));
    }
    if (out.what == options::action::help || out.what == options::action::version) {
      return;
    }
    if (action_ != "watch" && action_ != "try" && action_ != "apply" && action_ != "run") {
      throw error("'" + action_ + "' is not an action: write watch, try, apply or run, and -- before the program");
    }
    if (const std::vector<std::string> others = app_.remaining(); !others.empty()) {
      throw error("'" + others.front() + "' is not an option: see membar-domains --help, and write -- before the program");
    }
    out.what = action_ == "watch" ? options::action::watch
               : action_ == "try" ? options::action::try_
               : action_ == "run" ? options::action::run
                                  : options::action::apply;
    out.json = format_ == "json";
  }

  [[nodiscard]] std::string described() const {
    std::string out;
    for (const CLI::Option* option : app_.get_options([](const CLI::Option* o) { return !o->get_positional(); })) {
      const std::string value = option->get_items_expected_max() == 0 ? "" : "=" + option->get_type_name();
      out += "  " + left(option->get_name() + value, 19) + option->get_description() + "\n";
    }
    return out;
  }

 private:
  CLI::App app_;
  std::string action_ = "watch", format_ = "text";
};

}  // namespace

options parse_options(const std::vector<std::string>& words) {
  options out;
  const auto separator = std::find(words.begin(), words.end(), "--");
  command_line(out).read({words.begin(), separator}, out);
  if (out.what == options::action::help || out.what == options::action::version) {
    return out;
  }
  out.program.assign(separator == words.end() ? separator : separator + 1, words.end());
  if (out.program.empty()) {
    throw error(separator != words.end() ? "no program follows --: write membar-domains watch -- ./app args"
                                         : "-- is missing before the program: write membar-domains watch -- ./app args");
  }
  if (out.force && (out.what == options::action::watch || out.what == options::action::run)) {
    throw error("--force applies only to try and apply, which take a list; leave it out: watch and run write their own");
  }
  if (!out.check && out.what == options::action::run) {
    throw error("--no-check applies only to watch: run moves only kernels that pass its check");
  }
  if (out.whole_runs && out.what != options::action::try_) {
    throw error(
        "--whole-runs applies only to try, which runs the program in each mode: write membar-domains try --whole-runs -- ./app "
        "args");
  }
  if (out.what == options::action::apply && out.list.empty() && out.remote.empty()) {
    throw error("apply needs a list of kernels to move: write --list=FILE with a file that watch wrote, or --remote=REGEX");
  }
  return out;
}

std::string usage() {
  options defaults;
  return "membar-domains [watch|try|apply|run] [options] -- program arguments\n"
         "\n"
         "Finds kernels whose stores to other devices delay other kernels, and runs them in another memory "
         "synchronization\ndomain. The program itself is not changed.\n"
         "\n"
         "  watch   reports which kernels overlapped and by how much this delayed the others; writes a timeline and a list to "
         "apply\n"
         "  try     measures the gain: runs the listed kernels unmoved, moved, and with a domain map that changes nothing, "
         "in turns\n"
         "  apply   runs the program with the listed kernels moved\n"
         "  run     does all of this in one run: watches for some seconds, tries to move the kernels that pass the check, and "
         "keeps\n          the move if it makes the program faster\n"
         "\n" +
         command_line(defaults).described() +
         "\n"
         "Requirement: no listed kernel synchronizes at device scope with a kernel in another domain while both run, nor, if "
         "try\ntakes turns, with another listed kernel.\n"
         "Exit status: the program's own; 125 if membar-domains itself failed; 126 or 127 if the program could not be "
         "started.\n";
}

}  // namespace membar_domains
