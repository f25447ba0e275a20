// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "membar-domains/job.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <iostream>
#include <iterator>
#include <set>
#include <sstream>
#include <string_view>
#include <utility>

#include "common/temporary_folder.hpp"
#include "membar-domains/format_version.hpp"
#include "membar-domains/move_list.hpp"
#include "membar-domains/process_state.hpp"

namespace membar_domains {

namespace fs = std::filesystem;

/// Reads the files of a process. Adds a complaint for a truncated file or a file of another version.
process process_of(const fs::path& path) {
  process_state s;
  const int fd = open(path.c_str(), O_RDONLY | O_CLOEXEC);
  const ssize_t got = fd < 0 ? -1 : pread(fd, &s, sizeof s, 0);
  if (fd >= 0) {
    close(fd);
  }
  process p;
  if (got >= static_cast<ssize_t>(sizeof s.magic) && s.magic != process_state::magic_value) {
    p.complaint = std::string(
                      "a process wrote its counts in a format that this version of membar-domains cannot read, so the report "
                      "omits the process: ") +
                  one_version;
    return p;
  }
  if (got != sizeof s) {
    p.complaint = "a process had no space for its files in " + path.parent_path().string() +
                  ", so the report omits the process: set TMPDIR to a folder with free space";
    return p;
  }
  p.pid = s.pid;
  p.program = s.program;
  p.complaint = s.complaint;
  p.cu_init = s.cu_init;
  p.launches = s.sum(&thread_counts::launches);
  p.listed = s.sum(&thread_counts::listed);
  p.moved = s.sum(&thread_counts::moved);
  p.refused = s.refused;
  p.nodes = s.nodes;
  p.nodes_moved = s.nodes_moved;
  p.graphs_alone = s.graphs_alone;
  p.untimed = s.untimed;
  p.lost = s.lost;
  p.rules_met = s.rules_met;
  std::ifstream file(fs::path(path).replace_extension(".records"));
  try {
    p.recorded = read_records(file);
  } catch (const error& e) {
    p.complaint = p.program + " (" + std::to_string(p.pid) + "): " + e.what();
  }
  return p;
}

namespace {

std::vector<process> processes_of(const fs::path& folder) {
  std::vector<process> out;
  for (const auto& entry : fs::directory_iterator(folder)) {
    if (entry.path().extension() == ".state") {
      out.push_back(process_of(entry.path()));
    }
  }
  std::sort(out.begin(), out.end(), [](const process& a, const process& b) { return a.pid < b.pid; });
  return out;
}

/// Returns whether the program's executable references AddressSanitizer functions.
bool is_address_sanitized(const std::string& program) {
  std::vector<fs::path> places{program};
  if (program.find('/') == std::string::npos) {
    const char* const path = std::getenv("PATH");
    std::istringstream folders(path == nullptr ? "" : path);
    places.clear();
    for (std::string folder; std::getline(folders, folder, ':');) {
      places.push_back(fs::path(folder) / program);
    }
  }
  const auto found = std::ranges::find_if(places, [](const fs::path& place) { return access(place.c_str(), X_OK) == 0; });
  if (found == places.end()) {
    return false;
  }
  std::ifstream file(*found, std::ios::binary);
  const std::string all{std::istreambuf_iterator<char>(file), {}};
  return all.find("__asan_init") != std::string::npos;
}

/// Returns the environment variables for the program, and writes the list to the folder.
std::vector<std::pair<std::string, std::string>> environment_of(const options& asked, const char* job, const std::string& list,
                                                                const std::string& how, const fs::path& folder) {
  const std::string path = list.empty() ? "" : (folder / "list").string();
  if (!list.empty()) {
    write(path, list, "set TMPDIR to a folder with free space");
  }
  constexpr std::size_t most = 100'000;  // an environment variable can have at most 128 KiB
  std::vector<std::pair<std::string, std::string>> environment{
      {"LD_PRELOAD", membar::intercept::preload_value(
                         membar::intercept::library_path("libmembar_domains.so", MEMBAR_DOMAINS_LIBRARY_FOLDER))},
      {environment::job, job},
      {environment::folder, folder.string()},
      {environment::list, path},
      {environment::rules, list.size() < most ? list : ""},
      {environment::turns, how}};
  if (std::string_view(job) == "run" || (asked.check && std::string_view(job) == "watch")) {
    environment.emplace_back(environment::check, "1");
  }
  if (!asked.cupti.empty()) {
    const bool is_path = asked.cupti.find('/') != std::string::npos;  // the loader uses the same rule
    environment.emplace_back(environment::cupti, is_path ? fs::absolute(asked.cupti).string() : asked.cupti);
  }
  return environment;
}

}  // namespace

void say(const std::string& text) { std::cerr << "membar-domains: " << text << '\n'; }

void write(const fs::path& path, const std::string& text, const char* remedy) {
  std::error_code failed;  // if this fails, writing the file fails as well
  fs::create_directories(path.parent_path(), failed);
  std::ofstream file(path);
  if (!(file << text << std::flush)) {
    throw error("cannot write '" + path.string() + "': " + remedy);
  }
}

std::string with_status(const outcome& ended) { return "the program ended with status " + std::to_string(ended.status); }

job_result run_job(const options& asked, const char* job, const std::string& list, const std::string& how,
                   const std::function<void(const fs::path&, std::vector<process>&)>& look,
                   const std::function<void(const fs::path&)>& meanwhile) {
  const membar_tools::temporary_folder folder("membar-domains");
  const auto environment = environment_of(asked, job, list, how, folder.path());
  job_result out;
  membar::intercept::run_options while_it_runs;
  if (meanwhile) {
    while_it_runs.meanwhile = [&] { meanwhile(folder.path()); };
  }
  out.ended = membar::intercept::run(asked.program, environment, while_it_runs);
  if (!out.ended.started) {
    say("'" + asked.program[0] + "' could not be started (" +
        (out.ended.status == 127 ? "the file does not exist" : "it is not an executable file") + "): give its path after --");
    return out;
  }
  if (out.ended.signal != 0) {
    say("signal " + std::to_string(out.ended.signal) + " (" + strsignal(out.ended.signal) +
        ") ended the program; the report covers the run until then");
  }
  std::set<std::string> complaints;
  for (process& p : processes_of(folder.path())) {
    if (!p.complaint.empty()) {
      complaints.insert(p.complaint);
    }
    if (p.cu_init > 0) {
      complaints.insert("cuInit returned " + std::to_string(p.cu_init) + (p.cu_init == 100 ? " (no GPU)" : "") + ", so '" +
                        p.program + "' did not launch any kernels");
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
  if (out.processes.empty() && complaints.empty() && out.ended.status != 0 && is_address_sanitized(asked.program[0])) {
    say("'" + asked.program[0] +
        "' is built with AddressSanitizer, which requires that its library is loaded first, but membar-domains preloads its "
        "own: unless the program ended for another reason, set ASAN_OPTIONS=verify_asan_link_order=0");
  } else if (out.processes.empty() && complaints.empty()) {
    say(out.ended.status != 0
            ? with_status(out.ended) + " before it called the CUDA driver"
            : "no process of the program called the CUDA driver where membar-domains could see it; a statically linked or "
              "set-user-ID program ignores LD_PRELOAD, through which membar-domains is loaded");
  }
  return out;
}

}  // namespace membar_domains
