// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
/// @file
/// The settings of this process: what it was asked to do, which kernels are affected, and where it writes.
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

#include "membar-domains/move_list.hpp"
#include "membar-domains/process_state.hpp"
#include "membar-domains/records.hpp"

namespace membar_domains {

enum class job { none, watch, try_, apply };

/// The targets of a kernel's launches: of those with a pointer to a peer's or the host's memory, and of the others.
struct choice {
  target far, near;
  int far_rule = -1, near_rule = -1;
  [[nodiscard]] bool by_pointer() const noexcept { return far_rule != near_rule; }
};

class session {
 public:
  /// The session of the process. It is never destroyed, because kernels are launched while destructors run.
  [[nodiscard, gnu::always_inline]] static session& get() {
    session* const made = made_.load(std::memory_order_acquire);
    return made != nullptr ? *made : make();
  }

  [[nodiscard, gnu::always_inline]] static const session* if_made() noexcept { return made_.load(std::memory_order_acquire); }

  [[nodiscard]] job what() const noexcept { return job_.load(std::memory_order_relaxed); }

  /// Returns whether the job is `run`, whose settings change while the program runs.
  [[nodiscard]] bool runs() const noexcept { return runs_; }
  /// For run: starts doing what the command asks, with the list that it wrote for this process.
  void begin(phase next);
  /// Returns whether executable graphs have twins.
  [[nodiscard]] bool keeps_twins() const noexcept { return runs_ || what() == job::try_; }
  [[nodiscard]] process_state& state() noexcept { return *state_; }

  /// Returns whether watch keeps code and pointers as well.
  [[nodiscard]] bool checks() const noexcept { return checks_; }

  /// Returns whether the command can see this process. It cannot if the process is on another host.
  [[nodiscard]] bool is_counted() const noexcept { return state_ != &unmapped_; }

  /// Called before CUDA is initialized. CUDA will not work in a child that is forked afterwards.
  void begin_cuda() noexcept { cuda_begun_.store(true, std::memory_order_relaxed); }

  /// Returns the counts for a thread, and whether they belong to it alone, until they are returned.
  [[nodiscard]] std::pair<thread_counts*, bool> take_counts();
  void give_back(thread_counts* counts);

  /// Stores the first complaint for the command to print, or prints it.
  void complain(const std::string& sentence);

  /// For watch: returns whether the kernel is known by its name to store to other devices, or is named by --remote.
  [[nodiscard]] bool is_listed(CUfunction kernel);

  /// Returns the targets of the kernel's launches. A target is `leave` if the device has no such domain.
  [[nodiscard]] choice where(CUfunction kernel);
  /// Counts a launch or node that matched the rule.
  void meets(int rule) noexcept {
    const std::uint64_t bit = rule < 0 || rule >= 64 ? 0 : std::uint64_t{1} << rule;
    if ((state_->rules_met.load(std::memory_order_relaxed) & bit) != bit) {
      state_->rules_met.fetch_or(bit, std::memory_order_relaxed);
    }
  }
  [[nodiscard]] std::string name_of(CUfunction kernel);

  void is_a_kernel(CUkernel kernel);
  [[nodiscard]] bool is_kernel_handle(CUfunction function);
  /// Handles may refer to other functions from now on.
  void forget();
  /// Returns a number that changes whenever cached decisions become invalid.
  [[nodiscard]] unsigned generation() const noexcept { return generation_.load(std::memory_order_acquire); }

  /// Returns the mode of the next launch of a listed kernel.
  [[nodiscard]] mode next_turn();
  /// Returns the mode of captured and explicit graph nodes: it is fixed for a process, and `off` if turns change the mode.
  [[nodiscard]] mode of_nodes() const noexcept { return alternate_ ? mode::off : fixed_; }
  [[nodiscard]] bool alternates() const noexcept { return alternate_; }

  /// Records whether an executable graph contains listed kernels. Its handle may have been used before.
  void holds_listed(CUgraphExec exec, bool listed);
  [[nodiscard]] bool listed_in(CUgraphExec exec);

  /// Writes a line of the records. Thread-safe.
  template <class... Values>
  void write(const char* format, Values... values) {
    const std::lock_guard lock(file_mutex_);
    if (file_ != nullptr) {
      std::fprintf(file_, format, values...);
      if (++lines_ % 1000 == 0) {  // flushed, so that it survives a crash
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
  std::atomic<const move_list*> list_;  ///< never freed, because another thread may be reading it
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
