// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "membar-check/recorder/session.hpp"

#include <fcntl.h>
#include <pthread.h>
#include <stdio_ext.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <ctime>
#include <memory>
#include <nlohmann/json.hpp>
#include <utility>

#include "membar-check/recorder/code.hpp"
#include "membar-check/recorder/contents.hpp"

namespace membar_record {

namespace {

/// The maximum number of lines that are written before a recording and repeated in it.
constexpr std::size_t most_kept = 10'000;

std::string variable(const char* name) {
  const char* const value = std::getenv(name);
  return value == nullptr ? "" : value;
}

/// Opens a file that only its owner may read.
std::FILE* open_private(const std::string& path) {
  const int fd = ::open(path.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
  return fd < 0 ? nullptr : ::fdopen(fd, "w");
}

}  // namespace

session& session::get() {
  static session* const one = [] {
    auto* const made = new session;
    made_.store(made, std::memory_order_release);
    return made;
  }();
  return *one;
}

session::session() {
  options from;
  from.folder = variable(environment::folder);
  from.kernels = variable(environment::kernels);
  from.xla = variable(environment::xla);
  from.flags = static_cast<unsigned>(std::atoi(variable(environment::flags).c_str()));
  if (const std::string limit = variable(environment::limit); !limit.empty()) {
    from.limit = std::strtoull(limit.c_str(), nullptr, 10);
  }
  strips_ = (from.flags & flag_strip) != 0;
  const bool waits = !variable(environment::waits).empty();
  watches_ = waits || !from.folder.empty();
  if (!watches_) {
    return;
  }
  // CUDA does not work in a child of a process that has used CUDA. Also, another thread may hold a mutex when the process
  // forks.
  pthread_atfork(nullptr, nullptr, [] { get().begin_in_child(); });
  options_ = from;
  if (!waits) {
    begin(from);
  }
}

bool session::begin(const options& asked) {
  if (!watches_ || on()) {
    return false;
  }
  const std::lock_guard lock(mutex_);
  options_ = asked;
  if (has_pattern_) {
    regfree(&pattern_);
  }
  has_pattern_ = !asked.kernels.empty() && regcomp(&pattern_, asked.kernels.c_str(), REG_EXTENDED | REG_NOSUB) == 0;
  file_ = open_private(options_.folder + "/" + std::to_string(getpid()) + ".records");
  if (file_ == nullptr || (!asked.kernels.empty() && !has_pattern_)) {
    return false;
  }
  written_ = 0;
  complaints_.clear();
  std::fprintf(file_, "{\"records\":%d}\n", records_version);
  for (const std::string& line : kept_) {
    std::fprintf(file_, "%s\n", line.c_str());
  }
  if (is_kept_in_part_) {
    std::fprintf(
        file_, "%s\n",
        nlohmann::json{{"complaint",
                        "before the recording began, the program mapped or exported memory or created tensor maps more than " +
                            std::to_string(most_kept) +
                            " times, and only the first of these calls are recorded: begin recording earlier"}}
            .dump()
            .c_str());
  }
  std::fflush(file_);
  launches_ = 0;
  forget();
  on_ = true;
  return true;
}

void session::end() {
  if (!on_.exchange(false)) {
    return;
  }
  forget();
  drain_contents();
  const std::lock_guard lock(mutex_);
  std::fclose(std::exchange(file_, nullptr));
}

void session::begin_in_child() {
  const bool used = launches_ != 0 || cuda_begun();
  std::construct_at(&mutex_);
  if (file_ != nullptr) {
    __fpurge(file_);
    std::fclose(std::exchange(file_, nullptr));
  }
  const bool was_on = on_.exchange(false);
  if (used) {
    watches_ = false;
  } else if (was_on) {
    begin(options(options_));
  }
}

bool session::is_named(const std::string& name) const {
  constexpr std::size_t most = 4000;
  return !has_pattern_ || regexec(&pattern_, name.substr(0, most).c_str(), 0, nullptr, 0) == 0;
}

void session::write(const std::string& line) {
  const std::lock_guard lock(mutex_);
  if (file_ != nullptr) {
    std::fprintf(file_, "%s\n", line.c_str());
    std::fflush(file_);
  }
}

void session::keep(const std::string& line) {
  {
    const std::lock_guard lock(mutex_);
    if (std::find(kept_.begin(), kept_.end(), line) != kept_.end()) {
      return;
    }
    is_kept_in_part_ = kept_.size() == most_kept;
    if (!is_kept_in_part_) {
      kept_.push_back(line);
    }
  }
  write(line);
}

std::uint64_t session::time() noexcept {
  timespec now{};
  clock_gettime(CLOCK_MONOTONIC, &now);
  return static_cast<std::uint64_t>(now.tv_sec) * 1'000'000'000 + static_cast<std::uint64_t>(now.tv_nsec);
}

void session::complain(const std::string& sentence) {
  {
    const std::lock_guard lock(mutex_);
    if (complaints_.size() > 20 || !complaints_.insert(sentence).second) {
      return;
    }
  }
  write(nlohmann::json{{"complaint", sentence}}.dump(-1, ' ', true, nlohmann::json::error_handler_t::replace));
}

std::string session::path_of(const std::string& name) const {
  return options_.folder + "/" + std::to_string(getpid()) + "." + name;
}

bool session::write_file(const std::string& name, const char* bytes, std::size_t count) {
  {
    const std::lock_guard lock(mutex_);
    if (file_ == nullptr || written_ + count > options_.limit) {
      return false;
    }
    written_ += count;
  }
  std::FILE* const file = open_private(path_of(name));
  if (file == nullptr) {
    return false;
  }
  const bool wrote = std::fwrite(bytes, 1, count, file) == count;
  return std::fclose(file) == 0 && wrote;
}

}  // namespace membar_record
