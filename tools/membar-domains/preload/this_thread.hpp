// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
/// @file
/// The data of each thread that launches kernels: its counts, and the targets of the kernels that it launched recently.
#pragma once

#include <cuda.h>

#include <array>
#include <atomic>
#include <cstdint>

#include "membar-domains/preload/session.hpp"

namespace membar_domains {

class this_thread {
 public:
  /// Returns the thread's own data. If a destructor of the program runs after the data has been destroyed, it gets a new
  /// object, which is not freed.
  [[nodiscard, gnu::always_inline]] static this_thread& get() { return current_ != nullptr ? *current_ : make(); }
  [[nodiscard, gnu::always_inline]] static this_thread* if_made() noexcept { return current_; }
  /// Called in a forked child. Discards the counts, which belong to the parent.
  static void forget() noexcept { current_ = nullptr; }

  [[gnu::always_inline]] void count(std::atomic<std::uint64_t> thread_counts::*of) noexcept {
    std::atomic<std::uint64_t>& counter = counts_->*of;
    if (is_only_mine_) [[likely]] {
      counter.store(counter.load(std::memory_order_relaxed) + 1, std::memory_order_relaxed);
    } else {
      counter.fetch_add(1, std::memory_order_relaxed);
    }
  }

  struct known {
    CUfunction kernel = nullptr;
    unsigned generation = 0;
    bool is_left = false;  ///< whether no rule of the list applies to the kernel's launches
    choice to;
  };
  /// Returns the cache entry of the kernel.
  [[nodiscard, gnu::always_inline]] known& place_of(CUfunction kernel) noexcept {
    return targets_[(reinterpret_cast<std::uintptr_t>(kernel) >> 4) % targets_.size()];
  }

  this_thread();
  ~this_thread();
  this_thread(const this_thread&) = delete;
  this_thread& operator=(const this_thread&) = delete;

 private:
  [[nodiscard]] static this_thread& make();

  // The variable uses the initial-exec TLS model, which is possible because the library is preloaded. Computing its address
  // then takes an addition instead of a call.
  [[gnu::tls_model("initial-exec")]] static inline thread_local this_thread* current_ = nullptr;

  thread_counts* counts_;
  bool is_only_mine_;
  std::array<known, 64> targets_;
};

}  // namespace membar_domains
