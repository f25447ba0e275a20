// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "membar-domains/preload/session.hpp"

#include <fcntl.h>
#include <pthread.h>
#include <stdio_ext.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <memory>
#include <new>
#include <utility>

#include "intercept/driver.hpp"
#include "membar-domains/format_version.hpp"
#include "membar-domains/preload/this_thread.hpp"

namespace membar_domains {

namespace {

/// Evaluates the list for a kernel name. Matching a regular expression needs stack space for each character of the name, and a
/// thread of the program may have only a small stack. Long names are therefore matched on a separate thread.
decision decided(const move_list& list, const std::string& name) {
  constexpr std::size_t harmless = 128, stack = std::size_t{64} << 20;
  pthread_t thread{};
  pthread_attr_t how;
  if (name.size() <= harmless || pthread_attr_init(&how) != 0) {
    return list.decide(name);
  }
  struct question {
    const move_list& list;
    const std::string& name;
    decision answer;
  } q{list, name, {}};
  const auto answer = [](void* of) -> void* {
    auto& one = *static_cast<question*>(of);
    one.answer = one.list.decide(one.name);
    return nullptr;
  };
  sigset_t all, before;
  sigfillset(&all);
  pthread_sigmask(SIG_BLOCK, &all, &before);  // signals must be delivered to the program's own threads
  const bool asked = pthread_attr_setstacksize(&how, stack) == 0 && pthread_create(&thread, &how, answer, &q) == 0;
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
  if (asked) {
    pthread_join(thread, nullptr);
  } else {
    answer(&q);
  }
  pthread_attr_destroy(&how);
  return q.answer;
}

}  // namespace

session& session::make() {
  static session* const one = [] {
    auto* const made = new session;
    made_.store(made, std::memory_order_release);
    return made;
  }();
  return *one;
}

session::session() : list_(new move_list), state_(&unmapped_) {
  const auto variable = [](const char* name) {
    const char* const value = std::getenv(name);
    return std::string(value == nullptr ? "" : value);
  };
  const std::string asked = variable(environment::off).empty() ? variable(environment::job) : "";
  runs_ = asked == "run";
  job_ = asked == "watch" || runs_ ? job::watch : asked == "try" ? job::try_ : asked == "apply" ? job::apply : job::none;
  if (job_ == job::none) {
    return;
  }
  open_files();
  if (runs_ && !is_counted()) {  // the command makes no decisions for a process on another host
    job_ = job::none;
    return;
  }
  // Another thread may hold a mutex when the process forks, and the child does not have that thread.
  pthread_atfork([] { get().lock_for_fork(); }, [] { get().unlock_after_fork(); }, [] { get().begin_in_child(); });
  checks_ = what() == job::watch && !variable(environment::check).empty();
  if (const std::string path = variable(environment::list); !path.empty()) {
    try {
      const std::string rules = variable(environment::rules);
      list_ = new move_list(rules.empty() ? move_list::read(path) : move_list::parse(rules, path));
    } catch (const std::exception& e) {
      complain(e.what());
    }
  }
  if (job_ == job::try_) {
    const std::string turns = variable(environment::turns);
    if (turns == "off" || turns == "on" || turns == "control") {
      fixed_ = turns == "off" ? mode::off : turns == "on" ? mode::on : mode::control;
    } else {
      alternate_ = true;
      turn_length_ = static_cast<unsigned>(std::clamp(std::atoi(turns.c_str()), 1, 1 << 20));
    }
  }
}

void session::lock_for_fork() {
  names_mutex_.lock();
  counts_mutex_.lock();
  complaint_mutex_.lock();
  file_mutex_.lock();
}

void session::unlock_after_fork() {
  file_mutex_.unlock();
  complaint_mutex_.unlock();
  counts_mutex_.unlock();
  names_mutex_.unlock();
}

void session::begin_in_child() {
  // The mutexes are locked and count waiting threads that do not exist in the child, so they are constructed again.
  std::construct_at(&names_mutex_);
  std::construct_at(&counts_mutex_);
  std::construct_at(&complaint_mutex_);
  std::construct_at(&file_mutex_);
  // If the parent has initialized CUDA, CUDA does not work in the child, and the child's output would be attributed to the
  // parent.
  const bool used = cuda_begun_ || state_->cu_init >= 0;
  if (file_ != nullptr) {
    __fpurge(file_);  // discards the buffer, because the parent writes it as well
    std::fclose(std::exchange(file_, nullptr));
  }
  state_ = &unmapped_;
  counts_taken_ = {};
  this_thread::forget();
  if (used) {
    job_ = job::none;
  } else {
    open_files();
  }
}

std::pair<thread_counts*, bool> session::take_counts() {
  const std::lock_guard lock(counts_mutex_);
  const auto free = std::find(counts_taken_.begin(), counts_taken_.end() - 1, false);
  *free = true;
  return {&state_->threads[static_cast<std::size_t>(free - counts_taken_.begin())], free != counts_taken_.end() - 1};
}

void session::give_back(thread_counts* counts) {
  const std::lock_guard lock(counts_mutex_);
  const auto at = static_cast<std::size_t>(counts - state_->threads.data());
  if (at < counts_taken_.size()) {  // only if the counts belong to this process and not to its parent
    counts_taken_[at] = false;
  }
}

void session::open_files() {
  const char* const folder = std::getenv(environment::folder);
  if (folder == nullptr) {
    return;
  }
  const std::string base = std::string(folder) + "/" + std::to_string(getpid());
  const int fd = open((base + ".state").c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600);
  // The file's blocks are allocated now, because a write to a hole in a mapped file raises SIGBUS if the disk is full.
  if (fd >= 0 && pwrite(fd, &unmapped_, sizeof unmapped_, 0) == sizeof unmapped_) {
    void* const at = mmap(nullptr, sizeof(process_state), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    if (at != MAP_FAILED) {
      state_ = new (at) process_state;
    }
  }
  if (fd >= 0) {
    close(fd);
  }
  state_->pid = static_cast<std::uint32_t>(getpid());
  std::ifstream name("/proc/self/comm");
  name.getline(state_->program, sizeof state_->program);
  if (job_ != job::apply) {
    file_ = std::fopen((base + ".records").c_str(), "we");
    write("F %d\n", records_version);
  }
}

void session::complain(const std::string& sentence) {
  const std::lock_guard lock(complaint_mutex_);
  if (state_->complaint[0] == '\0') {
    if (!is_counted()) {  // nobody reads the file on that host
      std::fprintf(stderr, "membar-domains: %s\n", sentence.c_str());
    }
    std::snprintf(state_->complaint, sizeof state_->complaint, "%s", sentence.c_str());
  }
}

std::string session::name_of(CUfunction kernel) {
  const char* name = nullptr;
  if (is_kernel_handle(kernel)) {
    if (driver::cuKernelGetName_(&name, reinterpret_cast<CUkernel>(kernel)) != CUDA_SUCCESS) {
      name = nullptr;
    }
  } else if (driver::cuFuncGetName_(&name, kernel) != CUDA_SUCCESS) {
    name = nullptr;
    static_cast<void>(driver::cuKernelGetName_(&name, reinterpret_cast<CUkernel>(kernel)));
  }
  return name == nullptr ? "" : name;
}

choice session::where(CUfunction kernel) {
  {
    const std::shared_lock lock(names_mutex_);
    if (const auto known = targets_.find(kernel); known != targets_.end()) {
      return known->second;
    }
  }
  const unsigned began = generation();
  const std::string name = name_of(kernel);
  if (name.empty()) {
    complain("the driver does not report kernel names, so nothing was moved: install a driver for CUDA 12.3 or newer");
  }
  const auto target_of = [&](int rule) -> target {
    const target to = rule < 0 ? target{} : list_.load()->rules()[static_cast<std::size_t>(rule)].to;
    CUdevice device = 0;
    int domains = 0;
    if (to.what == target::kind::leave || driver::cuCtxGetDevice_(&device) != CUDA_SUCCESS ||
        driver::cuDeviceGetAttribute_(&domains, CU_DEVICE_ATTRIBUTE_MEM_SYNC_DOMAIN_COUNT, device) != CUDA_SUCCESS) {
      return to;
    }
    state_->domains = domains;
    if (domains <= 1) {
      complain("device " + std::to_string(device) +
               " has only one memory synchronization domain (compute capability 9.0 and newer have more): nothing was moved");
      return {};
    }
    if (to.what == target::kind::physical && to.id >= domains) {
      complain("the list moves '" + short_name(name) + "' to domain " + std::to_string(to.id) + ", but device " +
               std::to_string(device) + " has " + std::to_string(domains) + " domains: write a number from 0 to " +
               std::to_string(domains - 1));
      return {};
    }
    return to;
  };
  const decision by = decided(*list_, name);
  const choice to{target_of(by.far), target_of(by.near), by.far, by.near};
  if (!to.by_pointer()) {  // rules that depend on pointers are counted when a launch matches them
    meets(to.near_rule);
  }
  const std::unique_lock lock(names_mutex_);
  if (began == generation()) {  // otherwise the result may be for another list or another kernel
    targets_[kernel] = to;
  }
  return to;
}

void session::begin(phase next) {
  const char* const folder = std::getenv(environment::folder);
  auto list = std::make_unique<const move_list>();
  if (folder != nullptr && (next == phase::trying || next == phase::settled)) {
    try {
      list = std::make_unique<const move_list>(move_list::read(std::string(folder) + "/" + std::to_string(getpid()) + ".list"));
    } catch (const std::exception& e) {
      complain(e.what());
    }
  }
  list_ = list.release();
  alternate_ = next == phase::trying;
  job_ = next == phase::trying ? job::try_ : job::apply;
  forget();
  flush();
  state_->reached = next;
}

bool session::is_listed(CUfunction kernel) {
  const std::string name = name_of(kernel);
  return known_remote(name) || decided(*list_, name).far >= 0;
}

void session::is_a_kernel(CUkernel kernel) {
  const std::unique_lock lock(names_mutex_);
  kernels_.insert(kernel);
}

bool session::is_kernel_handle(CUfunction function) {
  const std::shared_lock lock(names_mutex_);
  return kernels_.contains(reinterpret_cast<CUkernel>(function));
}

void session::forget() {
  const std::unique_lock lock(names_mutex_);
  // The set of kernel handles is kept, because a driver function that gets the wrong kind of handle might not detect this.
  targets_.clear();
  generation_.fetch_add(1, std::memory_order_release);
}

mode session::next_turn() {
  if (!alternate_) {
    return fixed_;
  }
  // Each mode occurs once in three turns. The order varies, so that no mode always follows the same other mode.
  static constexpr mode orders[6][3] = {{mode::off, mode::on, mode::control}, {mode::on, mode::control, mode::off},
                                        {mode::control, mode::off, mode::on}, {mode::off, mode::control, mode::on},
                                        {mode::control, mode::on, mode::off}, {mode::on, mode::off, mode::control}};
  const std::uint64_t turn = turns_taken_.fetch_add(1, std::memory_order_relaxed) / turn_length_;
  return orders[turn / 3 % 6][turn % 3];
}

void session::holds_listed(CUgraphExec exec, bool listed) {
  const std::unique_lock lock(names_mutex_);
  if (listed) {
    listed_graphs_.insert(exec);
  } else {
    listed_graphs_.erase(exec);
  }
}

bool session::listed_in(CUgraphExec exec) {
  const std::shared_lock lock(names_mutex_);
  return listed_graphs_.contains(exec);
}

void session::flush() {
  const std::lock_guard lock(file_mutex_);
  if (file_ != nullptr && (std::fflush(file_) != 0 || std::ferror(file_) != 0)) {
    complain("there was no space for some records, so the report omits them: set TMPDIR to a folder with free space");
  }
}

}  // namespace membar_domains
