// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
/// @file
/// The settings of this process: its task, the kernels that are affected, and the output files.
#pragma once

#include <cuda.h>

#include <array>
#include <cstdio>
#include <mutex>
#include <shared_mutex>
#include <string>
#include <unordered_map>
#include <unordered_set>
#include <utility>

#include "intercept/driver.hpp"
#include "membar-domains/move_list.hpp"
#include "membar-domains/process_state.hpp"
#include "membar-domains/records.hpp"

namespace membar_domains {

namespace driver = membar::intercept::driver;

enum class job { none, watch, try_, apply };

/// The targets of a kernel's launches: one for launches with a pointer to peer or host memory, and one for other
/// launches.
struct choice {
  target far, near;
  int far_rule = -1, near_rule = -1;
  [[nodiscard]] bool by_pointer() const noexcept { return far_rule != near_rule; }
};

class session {
 public:
  /// Returns the session of the process. It is never destroyed, because kernels may be launched while destructors run.
  [[nodiscard, gnu::always_inline]] static session& get() {
    session* const made = made_.load(std::memory_order_acquire);
    return made != nullptr ? *made : make();
  }

  [[nodiscard, gnu::always_inline]] static const session* if_made() noexcept { return made_.load(std::memory_order_acquire); }

  [[nodiscard]] job what() const noexcept { return job_.load(std::memory_order_relaxed); }

  /// Returns whether the job is `run`, whose settings change while the program runs.
  [[nodiscard]] bool runs() const noexcept { return runs_; }
  /// For `run`: starts a phase that the command has requested, with the list that the command has written for this process.
  void begin(phase next);
  /// Returns whether executable graphs have twins (twins.hpp).
  [[nodiscard]] bool keeps_twins() const noexcept { return runs_ || what() == job::try_; }
  [[nodiscard]] process_state& state() noexcept { return *state_; }

  /// Returns whether `watch` also stores code and pointers.
  [[nodiscard]] bool checks() const noexcept { return checks_; }

  /// Returns whether the command can see this process. It cannot if the process runs on another host.
  [[nodiscard]] bool is_counted() const noexcept { return state_ != &unmapped_; }

  /// Called before CUDA is initialized. CUDA does not work in a child process that is forked later.
  void begin_cuda() noexcept { cuda_begun_.store(true, std::memory_order_relaxed); }

  /// Returns counts for the calling thread, and whether only this thread uses them until `give_back` is called.
  [[nodiscard]] std::pair<thread_counts*, bool> take_counts();
  void give_back(thread_counts* counts);

  /// Stores the first complaint, which the command prints. If the command cannot see this process, prints the complaint.
  void complain(const std::string& sentence);

  /// For `watch`: returns whether kernels with this name are known to store to other devices, or whether --remote matches the
  /// name.
  [[nodiscard]] bool is_listed(CUfunction kernel);

  /// Returns the targets of the kernel's launches. A target is `leave` if the device has no such domain.
  [[nodiscard]] choice where(CUfunction kernel);
  /// Records that a launch or node has matched the rule.
  void meets(int rule) noexcept {
    const std::uint64_t bit = rule < 0 || rule >= 64 ? 0 : std::uint64_t{1} << rule;
    if ((state_->rules_met.load(std::memory_order_relaxed) & bit) != bit) {
      state_->rules_met.fetch_or(bit, std::memory_order_relaxed);
    }
  }
  [[nodiscard]] std::string name_of(CUfunction kernel);

  void is_a_kernel(CUkernel kernel);
  [[nodiscard]] bool is_kernel_handle(CUfunction function);
  /// Discards cached handles, because they may refer to other functions from now on.
  void forget();
  /// Returns a number that changes whenever cached decisions become invalid.
  [[nodiscard]] unsigned generation() const noexcept { return generation_.load(std::memory_order_acquire); }

  /// Returns the mode of the next launch of a listed kernel.
  [[nodiscard]] mode next_turn();
  /// Returns the mode of captured and explicit graph nodes. This mode is constant in a process. If launches change the mode
  /// from turn to turn, this mode is `off`.
  [[nodiscard]] mode of_nodes() const noexcept { return alternate_ ? mode::off : fixed_; }
  [[nodiscard]] bool alternates() const noexcept { return alternate_; }

  /// Records whether an executable graph contains listed kernels. The graph's handle may have belonged to another graph before.
  void holds_listed(CUgraphExec exec, bool listed);
  [[nodiscard]] bool listed_in(CUgraphExec exec);

  /// Writes a line to the records. Thread-safe.
  template <class... Values>
  void write(const char* format, Values... values) {
    const std::lock_guard lock(file_mutex_);
    if (file_ != nullptr) {
      std::fprintf(file_, format, values...);
      if (++lines_ % 1000 == 0) {  // flushed regularly, so that most records survive a crash
        std::fflush(file_);
      }
    }
  }
  void flush();

 private:
  session();
  [[nodiscard]] static session& make();
  void open_files();
  void lock_for_fork();
  void unlock_after_fork();
  void begin_in_child();

  static inline constinit std::atomic<session*> made_{nullptr};

  std::atomic<job> job_{job::none};
  bool runs_ = false;
  std::atomic<const move_list*> list_;  ///< lists are never freed, because another thread may be reading one
  process_state* state_;
  process_state unmapped_;
  std::FILE* file_ = nullptr;
  unsigned long lines_ = 0;
  std::mutex file_mutex_;
  std::mutex complaint_mutex_;
  std::shared_mutex names_mutex_;
  std::mutex counts_mutex_;
  std::array<bool, std::tuple_size_v<decltype(process_state::threads)>> counts_taken_{};
  std::atomic<bool> cuda_begun_{false};
  std::unordered_map<CUfunction, choice> targets_;
  std::unordered_set<CUkernel> kernels_;
  std::unordered_set<CUgraphExec> listed_graphs_;
  std::atomic<unsigned> generation_{1};
  std::atomic<bool> alternate_{false};
  bool checks_ = false;
  unsigned turn_length_ = 16;
  mode fixed_ = mode::on;
  std::atomic<std::uint64_t> turns_taken_{0};
};

}  // namespace membar_domains
