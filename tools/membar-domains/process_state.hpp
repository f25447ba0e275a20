// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
/// @file
/// What the preloaded library and the command tell each other: variables of the environment, and a small file for each process that
/// both map, so that its counts survive a crash.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>

namespace membar_domains {

namespace environment {
inline constexpr const char* job = "MEMBAR_DOMAINS_JOB";        ///< watch, try, apply or run
inline constexpr const char* off = "MEMBAR_DOMAINS_OFF";        ///< not empty: the library does nothing
inline constexpr const char* list = "MEMBAR_DOMAINS_LIST";      ///< path of the list
inline constexpr const char* rules = "MEMBAR_DOMAINS_RULES";    ///< its text: other hosts do not have the file
inline constexpr const char* folder = "MEMBAR_DOMAINS_FOLDER";  ///< where processes write
inline constexpr const char* turns = "MEMBAR_DOMAINS_TURNS";    ///< of try: a mode, or how many launches a turn has
inline constexpr const char* check = "MEMBAR_DOMAINS_CHECK";    ///< of watch: keep code and pointers
inline constexpr const char* cupti = "MEMBAR_DOMAINS_CUPTI";    ///< path of libcupti, if the loader does not find it
}  // namespace environment

/// What a thread counts. Each has a line of the cache of its own.
struct alignas(64) thread_counts {
  std::atomic<std::uint64_t> launches{0};  ///< kernels that the library saw launched, by themselves
  std::atomic<std::uint64_t> listed{0};    ///< of these, the listed ones
  std::atomic<std::uint64_t> moved{0};     ///< of these, those that ran as the list says
};

/// What a process of `run` does: it is watched, waits for the list of the command, tries it in turns, and keeps what gained.
enum class phase : std::uint32_t { watched, waiting, trying, settled };

struct process_state {
  /// "MBMRDD02": the last two characters are the version of this format.
  static constexpr std::uint64_t magic_value = 0x3230444d42524d4dULL;
  std::uint64_t magic = magic_value;
  std::uint32_t pid = 0;
  std::atomic<std::int32_t> cu_init{-1};  ///< what cuInit returned; -1: it was not called
  std::atomic<std::int32_t> domains{0};   ///< of the first device that was launched on; 0: not asked
  std::atomic<std::uint64_t> refused{
      0};  ///< of the listed launches, those that the driver did not accept moved, and that ran as they were
  std::atomic<std::uint64_t> nodes{0};  ///< listed kernels in instantiated graphs
  std::atomic<std::uint64_t> nodes_moved{0};
  std::atomic<std::uint64_t> graphs_alone{0};  ///< of try: graphs with listed kernels that could not be instantiated twice
  std::atomic<phase> asked{phase::watched};    ///< of run: by the command
  std::atomic<phase> reached{phase::watched};  ///< of run: by the library
  std::atomic<std::uint64_t> untimed{0};       ///< units of work that could not be timed
  std::atomic<std::uint64_t> recorded{0};      ///< kernels that watch recorded
  std::atomic<std::uint64_t> lost{0};          ///< kernels that it could not record
  std::atomic<std::uint64_t> rules_met{0};     ///< a bit for each of the first 64 rules of the list that a kernel matched
  char program[128] = {};
  char complaint[512] = {};  ///< the first thing that went wrong, in a sentence
  /// A thread has one while it lives, and the next continues with it. The last is of all threads that found no other.
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
