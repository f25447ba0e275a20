// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "membar-domains/options.hpp"

#include <charconv>

#include "membar-domains/move_list.hpp"

namespace membar_domains {

namespace {

int number(const std::string& option, const std::string& value, int least, int most) {
  int out = 0;
  const auto [end, status] = std::from_chars(value.data(), value.data() + value.size(), out);
  if (status != std::errc{} || end != value.data() + value.size() || out < least || out > most) {
    throw error(option + " is '" + value + "': write a number from " + std::to_string(least) + " to " + std::to_string(most));
  }
  return out;
}

}  // namespace

options parse_options(const std::vector<std::string>& words) {
  options out;
  std::size_t i = 0;
  if (!words.empty() && !words[0].starts_with("-")) {
    const std::string& what = words[0];
    if (what != "watch" && what != "try" && what != "apply") {
      throw error("'" + what + "' is no action: write watch, try or apply, and -- before the program");
    }
    out.what = what == "watch" ? options::action::watch : what == "try" ? options::action::try_ : options::action::apply;
    ++i;
  }
  bool separated = false;
  for (; i < words.size() && !separated; ++i) {
    const std::string& word = words[i];
    const auto equals = word.find('=');
    const std::string name = word.substr(0, equals);
    const std::string value = equals == std::string::npos ? "" : word.substr(equals + 1);
    const bool takes_value = name == "--list" || name == "--remote" || name == "--output" || name == "--cupti" ||
                             name == "--turn" || name == "--runs";
    if (word == "--") {
      separated = true;
    } else if (word == "--help" || word == "-h") {
      out.what = options::action::help;
      return out;
    } else if (word == "--check") {
      out.check = true;
    } else if (word == "--once") {
      out.once = true;
    } else if (word == "--whole-runs") {
      out.whole_runs = true;
    } else if (!takes_value) {
      throw error("'" + word + "' is no option: see membar-domains --help, and write -- before the program");
    } else if (value.empty()) {
      throw error(name + " has no value: write " + name + "=...");
    } else if (name == "--list") {
      out.list = value;
    } else if (name == "--remote") {
      out.remote.push_back(value);
    } else if (name == "--output") {
      out.output = value;
    } else if (name == "--cupti") {
      out.cupti = value;
    } else {
      (name == "--turn" ? out.turn : out.runs) =
          name == "--turn" ? number(name, value, 1, 1'000'000) : number(name, value, 1, 100);
    }
  }
  out.program.assign(words.begin() + static_cast<std::ptrdiff_t>(i), words.end());
  if (out.program.empty()) {
    throw error(separated ? "there is no program after --: write membar-domains watch -- ./app args"
                          : "there is no -- before a program: write membar-domains watch -- ./app args");
  }
  if (out.check && (out.what == options::action::apply || (out.what == options::action::try_ && !out.list.empty()))) {
    throw error("--check is of watch, which sees what runs at the same time: write membar-domains watch --check -- ./app args");
  }
  if (out.once && (out.what == options::action::apply || (out.what == options::action::try_ && !out.list.empty()))) {
    throw error("--once is of watch, which runs the program twice: write membar-domains watch --once -- ./app args");
  }
  if (out.whole_runs && out.what != options::action::try_) {
    throw error(
        "--whole-runs is of try, which runs the program in each mode: write membar-domains try --whole-runs -- ./app args");
  }
  if (out.what == options::action::apply && out.list.empty() && out.remote.empty()) {
    throw error(
        "apply moves what a list says, and there is none: write --list=FILE, with a file that watch wrote, or --remote=REGEX");
  }
  return out;
}

std::string usage() {
  return "membar-domains [watch|try|apply] [options] -- program arguments\n"
         "\n"
         "Finds kernels whose stores to other devices hold up the boundaries of other kernels, and runs them in another "
         "memory\n"
         "synchronization domain. The program is not changed.\n"
         "\n"
         "  watch   which kernels ran at the same time, what the boundaries of the others cost, a timeline, and a list to "
         "apply\n"
         "  try     what the move gains: the listed kernels run as they are, moved, and with a map that changes nothing, in "
         "turns\n"
         "  apply   runs the program with the listed kernels moved\n"
         "\n"
         "  --list=FILE      the list; without one, try watches first and uses what it found\n"
         "  --remote=REGEX   kernels of this name count as remote, and are listed; may be repeated\n"
         "  --check          of watch: warns where a kernel to move seems to synchronize with another at device scope\n"
         "  --once           of watch: no second run, which times waits without recording\n"
         "  --output=FOLDER  where watch and try write (membar-domains)\n"
         "  --turn=N         of try: launches of listed kernels in a turn (16)\n"
         "  --whole-runs     of try: no turns within a run, for listed kernels that synchronize with each other\n"
         "  --runs=N         of try: whole runs of each kind (3)\n"
         "  --cupti=FILE     libcupti.so, where the loader does not find it\n"
         "\n"
         "What must hold: no listed kernel synchronizes at device scope with a kernel of another domain while both run,\n"
         "nor, where try takes turns, with another listed one.\n"
         "The exit status is the program's; 125: membar-domains itself failed; 126, 127: the program could not be started.\n";
}

}  // namespace membar_domains
