// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
/// @file
/// The interface between the preloaded library and the command. The interface consists of environment variables and, for each
/// process, a small file that both the library and the command map into memory, so that the counts survive a crash.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>

namespace membar_domains {

namespace environment {
inline constexpr const char* job = "MEMBAR_DOMAINS_JOB";    ///< watch, try, apply or run
inline constexpr const char* off = "MEMBAR_DOMAINS_OFF";    ///< if it is not empty, the library does nothing
inline constexpr const char* list = "MEMBAR_DOMAINS_LIST";  ///< the path of the list
/// the text of the list, because other hosts do not have the file
inline constexpr const char* rules = "MEMBAR_DOMAINS_RULES";
inline constexpr const char* folder = "MEMBAR_DOMAINS_FOLDER";  ///< the folder for the files of the processes
inline constexpr const char* turns = "MEMBAR_DOMAINS_TURNS";    ///< for `try`: a mode, or the number of launches in a turn
inline constexpr const char* check = "MEMBAR_DOMAINS_CHECK";    ///< for `watch`: also store code and pointers
inline constexpr const char* cupti = "MEMBAR_DOMAINS_CUPTI";    ///< the path of libcupti, if the loader does not find it
}  // namespace environment

/// The counts of a thread, in a separate cache line.
struct alignas(64) thread_counts {
  std::atomic<std::uint64_t> launches{0};  ///< the number of kernels that were launched individually
  std::atomic<std::uint64_t> listed{0};    ///< how many of these launches were of a listed kernel
  std::atomic<std::uint64_t> moved{0};     ///< how many of these launches were moved
};

/// The phases of a process under `run`: it is watched, waits for the command's list, tries the list in turns, and then keeps
/// the moves that improved the pace.
enum class phase : std::uint32_t { watched, waiting, trying, settled };

struct process_state {
  /// "MBMRDD02": the last two characters are the version of this format.
  static constexpr std::uint64_t magic_value = 0x3230444d42524d4dULL;
  std::uint64_t magic = magic_value;
  std::uint32_t pid = 0;
  std::atomic<std::int32_t> cu_init{-1};  ///< the result of cuInit; -1 if cuInit was not called
  /// the domain count of the first device on which a kernel was launched, or 0 if it has not been queried
  std::atomic<std::int32_t> domains{0};
  std::atomic<std::uint64_t> refused{0};  ///< the number of listed kernels that could not be moved and ran unmoved
  std::atomic<std::uint64_t> nodes{0};    ///< the number of listed kernels in instantiated graphs
  std::atomic<std::uint64_t> nodes_moved{0};
  /// for `try`: the number of graphs with listed kernels that could not be instantiated twice
  std::atomic<std::uint64_t> graphs_alone{0};
  std::atomic<phase> asked{phase::watched};    ///< for `run`: the phase that the command requests
  std::atomic<phase> reached{phase::watched};  ///< for `run`: the phase that the library has reached
  std::atomic<std::uint64_t> untimed{0};       ///< the number of units of work that could not be timed
  std::atomic<std::uint64_t> recorded{0};      ///< the number of kernels that `watch` recorded
  std::atomic<std::uint64_t> lost{0};          ///< the number of kernels that `watch` could not record
  /// one bit for each of the first 64 rules of the list, set if a kernel matched the rule
  std::atomic<std::uint64_t> rules_met{0};
  char program[128] = {};
  char complaint[512] = {};  ///< the first problem, as a sentence
  /// Each slot belongs to one thread while the thread exists; afterwards, a new thread can reuse it. Threads for which no slot
  /// is free share the last slot.
  std::array<thread_counts, 48> threads;

  [[nodiscard]] std::uint64_t sum(std::atomic<std::uint64_t> thread_counts::*of) const noexcept {
    std::uint64_t out = 0;
    for (const thread_counts& each : threads) {
      out += (each.*of).load(std::memory_order_relaxed);
    }
    return out;
  }
};
static_assert(sizeof(process_state) <= 4096, "the state of a process takes one page of TMPDIR");
static_assert(std::atomic<std::uint64_t>::is_always_lock_free);

}  // namespace membar_domains
