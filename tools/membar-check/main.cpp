// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
/// @file
/// The command `membar-check`: explores the executions of kernels as nvcc compiled them.
#include <common/text_file.hpp>
#include <membar-check/nvcc.hpp>

#include <check/finding_text.hpp>
#include <check/litmus_program.hpp>
#include <check/repair.hpp>
#include <check/scenario.hpp>
#include <litmus/reader.hpp>

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <map>
#include <set>
#include <sstream>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace {

namespace check = membar::check;
namespace model = membar::model;
using membar_tools::read_file;

constexpr std::string_view usage =
    "usage: membar-check [OPTION...] FILE...\n"
    "A FILE is a scenario, which names a source (.cu or .ptx), memory, launches and final conditions; or a .litmus test, of\n"
    "which only data races and hangs are looked for. One line per file: FILE, TAB, and one of\n"
    "  verified       every execution was explored, and none breaks a rule\n"
    "  race, violated, hang, uninitialised, out of bounds\n"
    "                 some execution does; it is shown below the line\n"
    "  gave up        something was cut or is not supported\n"
    "  error          the file, its source or its kernels cannot be read\n"
    "Options:\n"
    "  --limit=N      give up after N events, over all executions (default 200000000, about three minutes)\n"
    "  --without-load-buffering\n"
    "                 do not explore it where it is not ruled out; the line then says so\n"
    "  --no-symmetry  explore those executions too that differ from others by an exchange of equal threads alone\n"
    "  --random=N     N random executions, not all: for what is too large. What they show has a seed\n"
    "  --seed=S       the seed of the first of them (default 1); --random=1 with the seed of a finding shows it again\n"
    "  --repair[=N]   of a file that is not verified: the smallest changes of orders, scopes and fences, at most N (default 3, "
    "at\n"
    "                 most 6), under which it is. Of one that is: the orders that are stronger than it needs\n"
    "  --costs=FILE   what orders cost, for --repair: a table of bench/check/order_costs.py (default: that of NVIDIA H200)\n"
    "  --litmus=FILE  write what is found as a litmus test, for membar-litmus\n"
    "  --dot=FILE     write what is found as a graph, for Graphviz\n"
    "  --ptx          show the PTX of every event, not its source line\n"
    "  --events=N     show at most the last N events of what is found, and those to blame (default 60)\n"
    "  --quiet        print the lines alone, without the execution that breaks a rule\n"
    "Exit status: 0 if every file is verified; else 2 if one had an error, else 1 if something was found, else 3.\n";

enum exit_status : int { verified = 0, found = 1, error = 2, gave_up = 3 };

struct request {
  check::check_options options{};
  std::string litmus{};  ///< files that what is found is written to; empty: none
  std::string dot{};
  std::string costs{};       ///< a file; empty: the built-in table
  std::uint64_t repair = 0;  ///< the most changes; 0: none are looked for
  std::uint64_t events = 60;
  bool ptx = false;
  bool quiet = false;
};

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

std::string shown(const check::program& p, int thread, const check::instruction& i, const request& how, source_lines& lines) {
  const auto& files = p.threads[static_cast<std::size_t>(thread)].kernel->files;
  const auto place = [&](int file, int line) {
    const bool known = file > 0 && static_cast<std::size_t>(file) < files.size() && line > 0;
    return known ? files[static_cast<std::size_t>(file)] : std::string();
  };
  const std::string path = place(i.file, i.source_line);
  if (how.ptx || path.empty()) {
    return "PTX line " + std::to_string(i.line) + ": " + i.text;
  }
  const auto name = [](const std::string& file, int line) {
    return std::filesystem::path(file).filename().string() + ":" + std::to_string(line);
  };
  const std::string own = name(path, i.source_line);
  const std::string caller = place(i.caller_file, i.caller_line);
  return caller.empty() || (caller == path && i.caller_line == i.source_line)
             ? own + ": " + lines.line(path, i.source_line)
             : name(caller, i.caller_line) + ": " + lines.line(caller, i.caller_line) + "   [in " + own + "]";
}

/// What is said of barriers in the source at which threads met although they are different ones.
std::string shown(const check::program& p, const check::mixed_barriers& m) {
  const auto& files = p.threads[static_cast<std::size_t>(m.thread)].kernel->files;
  const auto line = [&](const check::instruction& i) {
    const bool called = i.caller_line > 0;
    const auto file = static_cast<std::size_t>(std::max(called ? i.caller_file : i.file, 0));
    const int number = called ? i.caller_line : i.source_line;
    return number > 0 && file < files.size()
               ? std::filesystem::path(files[file]).filename().string() + ":" + std::to_string(number)
               : std::string();
  };
  const auto place = [](const check::instruction& i) {
    return std::array<int, 5>{i.caller_line > 0 ? i.caller_file : i.file, i.caller_line > 0 ? i.caller_line : i.source_line,
                              i.file, i.source_line, i.line};
  };
  const bool in_order = place(*m.at) < place(*m.other_at);
  const std::string first = line(in_order ? *m.at : *m.other_at);
  const std::string second = line(in_order ? *m.other_at : *m.at);
  const std::string places = first.empty() || second.empty() || first == second
                                 ? "PTX lines " + std::to_string(std::min(m.at->line, m.other_at->line)) + " and " +
                                       std::to_string(std::max(m.at->line, m.other_at->line))
                                 : "lines " + first + " and " + second;
  return "; threads met at different barriers, " + places + ", which CUDA " + (m.one_warp ? "and PTX leave" : "leaves") +
         " undefined";
}

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

void show(const check::program& p, const check::finding& f, const request& how) {
  source_lines lines;
  std::cout << "  " << f.message << "\n";
  const std::vector<bool> chosen = shown_events(f, how.events);
  if (const auto count = std::count(chosen.begin(), chosen.end(), true); static_cast<std::size_t>(count) < chosen.size()) {
    std::cout << "  " << count << " of " << chosen.size() << " events, of which --events=" << chosen.size() << " shows all:\n";
  }
  int thread = -1;
  for (std::size_t k = 0; k < f.events.size(); ++k) {
    const check::trace_event& e = f.events[k];
    if (!chosen[k]) {
      continue;
    }
    if (e.thread != thread) {
      thread = e.thread;
      std::cout << "  " << check::thread_text(p, thread) << "\n";
    }
    const int issuer = p.threads[static_cast<std::size_t>(e.thread)].copies_of;
    std::cout << (e.blamed ? "  > " : "    ") << e.number << ": " << shown(p, issuer < 0 ? e.thread : issuer, *e.at, how, lines)
              << "\n";
    if (!e.what.empty()) {
      std::cout << "         " << e.what << "\n";
    }
  }
  if (f.thread >= 0 && f.waiting[static_cast<std::size_t>(f.thread)] != nullptr) {
    std::cout << "  " << check::thread_text(p, f.thread) << " is at "
              << shown(p, f.thread, *f.waiting[static_cast<std::size_t>(f.thread)], how, lines) << "\n";
  } else if (f.status == check::check_status::hang) {
    for (std::size_t t = 0; t < f.waiting.size(); ++t) {
      if (f.waiting[t] != nullptr) {
        std::cout << "  " << check::thread_text(p, static_cast<int>(t)) << " waits at "
                  << shown(p, static_cast<int>(t), *f.waiting[t], how, lines) << "\n";
      }
    }
  }
}

/// A number of nanoseconds, with its sign.
std::string nanoseconds(double ns) {
  char text[32];
  static_cast<void>(std::snprintf(text, sizeof text, "%+.1f ns", ns == 0 ? 0.0 : ns));
  return text;
}

/// A change: the source line, and below it what becomes of the instruction.
void show_edit(const check::program& p, const check::code_site& site, const check::code_edit& e, double ns, const request& how,
               source_lines& lines) {
  using kind = check::code_edit::kind_t;
  check::instruction fence;
  fence.code = check::op::fence;
  check::instruction at = *site.first;
  at.caller_line = site.one_caller ? at.caller_line : 0;
  std::cout << "    " << shown(p, site.thread, at, how, lines) << "\n         "
            << (e.kind == kind::proxy_fence_before
                    ? "put before its " + check::opcode_of(*site.first) + ": " + check::proxy_fence_text(e.proxy_spaces)
                : e.kind == kind::fence_before
                    ? "put before its " + check::opcode_of(*site.first) + ": " + check::strength_text(fence, e.to)
                : e.kind == kind::fence_after
                    ? "put after its " + check::opcode_of(*site.first) + ": " + check::strength_text(fence, e.to)
                    : check::opcode_of(*site.first) + " becomes " + check::strength_text(*site.first, e.to))
            << "   " << nanoseconds(ns) << "\n";
}

void show_repairs(const check::prepared_scenario& s, const check::repair_options& options, const check::order_costs& costs,
                  const request& how) {
  constexpr std::size_t most = 3;  // others of the same size differ in where a fence stands
  const check::check_property property = s.property();
  const check::repair_result r = check::repairs_of(s.checked, property, costs, options);
  const std::vector<check::code_site> sites = check::sites_of(s.checked);
  source_lines lines;
  if (r.repairs.empty()) {
    std::cout << "  no repair: no " << r.tried << " orders, scopes and fences verify it (" << r.explorations << " explorations"
              << (r.left_out ? ", of which some were cut" : "") << ")\n";
  }
  for (std::size_t k = 0; k < r.repairs.size() && k < most; ++k) {
    const check::repair& one = r.repairs[k];
    std::cout << "  repair " << k + 1 << " of " << r.repairs.size() << ": " << nanoseconds(one.cost) << " on " << costs.device()
              << "; verified, " << one.counts.executions << " executions"
              << (one.only_strong ? "; a race is gone, and only final conditions say what may be read" : "") << "\n";
    for (std::size_t n = 0; n < one.edits.size(); ++n) {
      show_edit(s.checked, sites[static_cast<std::size_t>(one.edits[n].site)], one.edits[n], one.costs[n], how, lines);
    }
  }
}

void show_slacks(const check::prepared_scenario& s, const check::repair_options& options, const check::order_costs& costs,
                 const request& how) {
  const check::check_property property = s.property();
  const check::slack_result r = check::slacks_of(s.checked, property, costs, options);
  const std::vector<check::code_site> sites = check::sites_of(s.checked);
  source_lines lines;
  std::cout << "  " << r.alone.size() << " of " << r.orders << " orders are stronger than this scenario needs"
            << (r.left_out ? "; some explorations were cut" : "") << "\n";
  for (const check::slack& one : r.alone) {
    show_edit(s.checked, sites[static_cast<std::size_t>(one.edit.site)], one.edit, -one.saved, how, lines);
  }
  if (!r.alone.empty()) {
    const bool all = std::equal(r.alone.begin(), r.alone.end(), r.together.begin(), r.together.end(),
                                [](const check::slack& x, const check::slack& y) { return x.edit == y.edit; });
    std::cout << "  each verifies with the others as they are" << (all ? ", and all together do" : "; together:") << "\n";
    for (std::size_t k = 0; k < r.together.size() && !all; ++k) {
      const check::slack& one = r.together[k];
      show_edit(s.checked, sites[static_cast<std::size_t>(one.edit.site)], one.edit, -one.saved, how, lines);
    }
    std::cout << "  another launch may need what this one does without\n";
  }
}

void write_file(const std::string& path, const std::string& text) {
  std::ofstream file(path);
  file << text;
  file.close();
  if (!file) {
    throw model::error("cannot write " + path);
  }
}

/// The PTX of a scenario's source. Scenarios of one source and the same options share it.
const std::string& ptx_of(const check::scenario& s, const std::filesystem::path& folder) {
  static std::map<std::vector<std::string>, std::string> known;
  std::vector<std::string> key = {folder.string(), s.source};
  key.insert(key.end(), s.options.begin(), s.options.end());
  auto it = known.find(key);
  if (it == known.end()) {
    std::string ptx;
    if (std::filesystem::path(s.source).extension() == ".ptx") {
      if (!s.options.empty()) {
        throw model::error("options of the compiler are given for a source that is PTX: '" + s.options.front() + "'");
      }
      try {
        ptx = read_file((folder / s.source).string());
      } catch (const std::exception& e) {
        throw model::error(s.source + ": " + e.what());
      }
    } else {
      ptx = membar::check::compiled(folder.string(), s.source, s.options);
    }
    it = known.emplace(std::move(key), std::move(ptx)).first;
  }
  return it->second;
}

int run(const std::string& path, const request& how) {
  try {
    check::prepared_scenario prepared;
    const std::string text = read_file(path);
    const std::filesystem::path kind = std::filesystem::path(path).extension();
    if (kind == ".cu" || kind == ".ptx") {
      throw model::error("a source is named by a scenario: a file with the lines 'source " +
                         std::filesystem::path(path).filename().string() + "' and 'launch KERNEL args ...'");
    }
    if (kind == ".litmus") {
      prepared.checked = check::program_of(membar::litmus_files::read_litmus(text));
    } else {
      const check::scenario s = check::read_scenario(text);
      prepared = check::prepare(s, ptx_of(s, std::filesystem::path(path).parent_path()));
    }
    const auto begin = std::chrono::steady_clock::now();
    const check::check_result r = check::explore(prepared.checked, prepared.property(), how.options);
    const double seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
    char time[32];
    static_cast<void>(std::snprintf(time, sizeof time, "%.2f", seconds));
    std::cout << path << '\t' << check::name(r.status) << '\t' << r.counts.executions << " executions, " << r.counts.blocked
              << " blocked, " << time << " s";
    if (r.status == check::check_status::verified) {
      std::cout << "; clocks stand still" << (r.load_buffering_is_open ? ", without load buffering" : "")
                << (r.symmetric ? ", equal threads exchanged" : "");
    }
    if (r.mixed.at != nullptr) {
      std::cout << shown(prepared.checked, r.mixed);
    }
    if (how.options.random_executions != 0 && r.status != check::check_status::gave_up) {
      std::cout << "; seed " << r.seed;
    }
    std::cout << "\n";
    check::repair_options repair;
    repair.most_edits = static_cast<int>(how.repair);
    repair.each = how.options;
    repair.most_events = how.options.most_events;
    const auto costs = [&how] {
      return check::order_costs::read(how.costs.empty() ? std::string(check::h200_order_costs) : read_file(how.costs));
    };
    if (r.status == check::check_status::verified) {
      if (how.repair != 0) {
        show_slacks(prepared, repair, costs(), how);
      }
      return verified;
    }
    if (!how.quiet) {
      show(check::whole_program(prepared.checked, r.found), r.found, how);
    }
    const bool may_be_repaired = r.status == check::check_status::race || r.status == check::check_status::violated;
    if (how.repair == 0 && !how.quiet && may_be_repaired && how.options.random_executions == 0) {
      std::cout << "  --repair looks for the orders, scopes and fences under which it is verified\n";
    }
    if (how.repair != 0 && r.status != check::check_status::gave_up) {
      show_repairs(prepared, repair, costs(), how);
    }
    const std::string name = std::filesystem::path(path).stem().string();
    if (!how.dot.empty()) {
      write_file(how.dot, check::dot_of(prepared.checked, r.found, name));
    }
    if (!how.litmus.empty()) {  // which has no words for some findings
      write_file(how.litmus, check::litmus_of(prepared.checked, r.found, name));
    }
    return r.status == check::check_status::gave_up ? gave_up : found;
  } catch (const std::exception& e) {
    std::cout << path << "\terror\t" << e.what() << "\n";
    return error;
  }
}

int refuse(const std::string& message) {
  std::cerr << "membar-check: " << message << '\n' << usage;
  return error;
}

}  // namespace

int main(int count, char** arguments) {
  request how;
  how.options.symmetry = true;  // final conditions ask for memory alone, which does not say which of equal threads wrote it
  std::vector<std::string> files;
  for (int i = 1; i < count; ++i) {
    const std::string word = arguments[i];
    if (word == "--help") {
      std::cout << usage;
      return verified;
    }
    const auto number = [&word](std::uint64_t& to) {
      const std::string digits = word.substr(word.find('=') + 1);
      return check::detail::scenario_reader::number_of(digits, to) && to != 0 && digits[0] != '-';
    };
    if (word.rfind("--limit=", 0) == 0) {
      if (!number(how.options.most_events)) {
        return refuse("--limit needs a number of events, at least 1");
      }
    } else if (word.rfind("--random=", 0) == 0) {
      if (!number(how.options.random_executions)) {
        return refuse("--random needs a number of executions, at least 1");
      }
    } else if (word.rfind("--seed=", 0) == 0) {
      if (!number(how.options.seed)) {
        return refuse("--seed needs a number, at least 1");
      }
    } else if (word.rfind("--events=", 0) == 0) {
      if (!number(how.events)) {
        return refuse("--events needs a number of events, at least 1");
      }
    } else if (word == "--repair") {
      how.repair = 3;
    } else if (word.rfind("--repair=", 0) == 0) {
      if (!number(how.repair) || how.repair > 6) {
        return refuse("--repair needs a number of changes, 1 to 6");
      }
    } else if (word.rfind("--costs=", 0) == 0 && word.size() > 8) {
      how.costs = word.substr(8);
    } else if (word.rfind("--litmus=", 0) == 0 && word.size() > 9) {
      how.litmus = word.substr(9);
    } else if (word.rfind("--dot=", 0) == 0 && word.size() > 6) {
      how.dot = word.substr(6);
    } else if (word == "--without-load-buffering") {
      how.options.load_buffering = false;
    } else if (word == "--no-symmetry") {
      how.options.symmetry = false;
    } else if (word == "--ptx") {
      how.ptx = true;
    } else if (word == "--quiet") {
      how.quiet = true;
    } else if (word.rfind("--", 0) == 0) {
      return refuse("unknown option '" + word + "'");
    } else {
      files.push_back(word);
    }
  }
  if (files.empty()) {
    return refuse("no file given");
  }
  if (files.size() > 1 && (!how.litmus.empty() || !how.dot.empty())) {
    return refuse("--litmus and --dot write what is found in one file, and " + std::to_string(files.size()) + " are given");
  }
  if (how.repair != 0 && how.options.random_executions != 0) {
    return refuse("--repair explores all executions, and --random does not: give one of them");
  }
  if (!how.costs.empty() && how.repair == 0) {
    return refuse("--costs says what the changes of --repair cost, and --repair is not given");
  }
  // the worst status counts: an error, then a finding, then what was given up
  int worst = verified;
  const auto weight = [](int s) { return s == error ? 3 : s == found ? 2 : s == gave_up ? 1 : 0; };
  for (const std::string& file : files) {
    const int status = run(file, how);
    worst = weight(status) > weight(worst) ? status : worst;
  }
  return worst;
}
