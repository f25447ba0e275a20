// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "membar-domains/steer.hpp"

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cstdint>
#include <sstream>
#include <utility>

#include "membar-domains/check.hpp"
#include "membar-domains/examine.hpp"
#include "membar-domains/gain.hpp"
#include "membar-domains/job.hpp"
#include "membar-domains/move_list.hpp"
#include "membar-domains/overlap.hpp"
#include "membar-domains/text.hpp"

namespace membar_domains {

namespace fs = std::filesystem;

namespace {

constexpr std::chrono::duration<double> most_between_looks{0.2};
constexpr int most_windows = 6;

constexpr const char* kept = "kept";
constexpr const char* undone = "undone";
constexpr const char* nothing_moved = "nothing moved";
constexpr const char* not_decided = "the program ended before 'membar-domains run' reached a decision, so no move was kept";

/// Maps a state file. Returns null if it was not written by a process of this version.
process_state* mapped(const fs::path& path) {
  const int fd = open(path.c_str(), O_RDWR | O_CLOEXEC);
  if (fd < 0) {
    return nullptr;
  }
  std::error_code failed;
  const bool whole = fs::file_size(path, failed) == sizeof(process_state);
  void* const at = whole ? mmap(nullptr, sizeof(process_state), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0) : MAP_FAILED;
  close(fd);
  auto* const state = static_cast<process_state*>(at);
  if (at == MAP_FAILED || state->magic == process_state::magic_value) {
    return at == MAP_FAILED ? nullptr : state;
  }
  munmap(at, sizeof(process_state));
  return nullptr;
}

/// Returns the rules in a list that have passed the check.
std::string passed(const std::string& list) {
  std::string out;
  const move_list parsed = move_list::parse(list, "the list");
  for (const rule& r : parsed.rules()) {
    if (r.checked == verdict::passed) {
      out += std::string("remote") + (r.far ? ":far " : " ") + r.pattern + "\n";
    }
  }
  return out;
}

}  // namespace

steering::~steering() {
  for (const auto& [path, of] : processes_) {
    munmap(of.state, sizeof(process_state));
  }
}

std::chrono::duration<double> steering::between_looks() const {
  return std::min(most_between_looks, std::chrono::duration<double>(asked_.seconds));
}

void steering::look(const fs::path& folder) {
  for (const auto& entry : fs::directory_iterator(folder)) {
    if (entry.path().extension() == ".state" && !processes_.contains(entry.path())) {
      if (process_state* const state = mapped(entry.path()); state != nullptr) {
        steered& of = processes_[entry.path()];
        of.state = state;
        of.path = entry.path();
      }
    }
  }
  for (auto& [path, of] : processes_) {
    if (clock::now() >= of.next_look) {
      of.next_look = clock::now() + std::chrono::duration_cast<clock::duration>(between_looks());
      step(of, folder);
    }
  }
}

void steering::step(steered& of, const fs::path& folder) {
  const phase reached = of.state->reached;
  if (reached != of.state->asked) {
    return;  // the library has not yet reached the requested phase
  }
  if (reached == phase::watched) {
    if (has_watched(of)) {
      of.state->asked = phase::waiting;
    }
  } else if (reached == phase::waiting) {
    begin_turns(of, folder);
  } else if (reached == phase::trying) {
    decide(of, folder);
  } else if (of.outcome == kept) {
    of.next_look = clock::now() + std::chrono::minutes(1);
    say(std::string(of.state->program) + " (" + std::to_string(of.state->pid) + "): " + of.outcome + ": " + of.reason + "; " +
        grouped(of.state->sum(&thread_counts::launches)) + " launches, " + grouped(of.state->sum(&thread_counts::moved)) +
        " moved");
  }
}

/// Returns whether a process was watched long enough. A program may load data for minutes before it launches anything, and may
/// communicate only later.
bool steering::has_watched(steered& of) const {
  const std::uint64_t kernels = of.state->sum(&thread_counts::launches) + of.state->recorded + of.state->lost;
  if (kernels != std::exchange(of.kernels, kernels)) {
    of.busy_until = clock::now() + std::chrono::seconds(1);  // records are written every half second
  }
  if (clock::now() < of.busy_until) {
    ++of.watched;
  }
  if (of.watched * between_looks().count() < asked_.seconds * of.windows) {
    return false;
  }
  const process p = process_of(of.path);
  const auto why = why_remote_in(asked_, p);
  const bool any_remote = std::ranges::any_of(p.recorded.names, [&](const auto& n) { return !why(n.first, n.second).empty(); });
  return any_remote || of.windows++ == most_windows;
}

void steering::begin_turns(steered& of, const fs::path& folder) {
  process p = process_of(of.path);
  check_report checked;
  examine(asked_, folder, p, checked);
  const overlap_report overlaps = find_overlaps(p.recorded, why_remote_in(asked_, p));
  of.list = passed(list_of(overlaps, &checked.warned));
  if (of.list.empty()) {
    settle(of, folder, nothing_moved, checked.warnings.empty() ? sentence(overlaps) : checked.warnings.front());
    return;
  }
  write(folder / (std::to_string(of.state->pid) + ".list"), of.list, "set TMPDIR to a folder with free space");
  of.begun = clock::now();
  of.state->asked = phase::trying;
}

void steering::decide(steered& of, const fs::path& folder) {
  const process p = process_of(of.path);
  of.gain = gains(sort_ticks(p.recorded));
  const gain_report& report = of.gain;
  const bool late = clock::now() - of.begun >= std::chrono::duration<double>(6 * std::max(asked_.seconds, 1.0));
  if (!is_narrow(report) && !late) {
    return;
  }
  const bool gains_something = !report.lanes.empty() && report.gain.low > 1 && report.fewest_turns >= enough_turns;
  const std::string found = report.lanes.empty() ? "no gain could be measured"
                                                 : "the other kernels were " + fixed(report.gain.value, 3) +
                                                       "× as fast (95 %: " + fixed(report.gain.low, 3) + " to " +
                                                       fixed(report.gain.high, 3) + ")";
  if (gains_something || late || report.fewest_turns >= enough_turns) {
    settle(of, folder, gains_something ? kept : undone, found);
  }
}

void steering::settle(steered& of, const fs::path& folder, const std::string& outcome, const std::string& reason) {
  of.list = outcome == kept ? of.list : "";
  write(folder / (std::to_string(of.state->pid) + ".list"), of.list, "set TMPDIR to a folder with free space");
  of.outcome = outcome;
  of.reason = reason;
  of.state->asked = phase::settled;
}

std::string steering::report() const {
  std::string out;
  for (const auto& [path, of] : processes_) {
    out += std::string(of.state->program) + " (" + std::to_string(of.state->pid) +
           "): " + (of.outcome.empty() ? not_decided : of.outcome + ": " + of.reason) + "\n";
    std::istringstream rules(of.outcome == kept ? of.list : "");
    for (std::string rule; std::getline(rules, rule);) {
      out += "  " + rule + "\n";
    }
  }
  return out;
}

json steering::processes() const {
  json out = json::array();
  for (const auto& [path, of] : processes_) {
    json one{{"program", of.state->program},
             {"pid", of.state->pid},
             {"outcome", of.outcome.empty() ? "not decided" : of.outcome},
             {"reason", of.outcome.empty() ? not_decided : of.reason},
             {"rules", json::array()},
             {"launches", of.state->sum(&thread_counts::launches)},
             {"moved", of.state->sum(&thread_counts::moved)}};
    std::istringstream rules(of.outcome == kept ? of.list : "");
    for (std::string rule; std::getline(rules, rule);) {
      one["rules"].push_back(rule);
    }
    one["measured"] = nullptr;
    if (of.outcome == kept || of.outcome == undone) {
      add(one["measured"], of.gain);
    }
    out.push_back(std::move(one));
  }
  return out;
}

}  // namespace membar_domains
