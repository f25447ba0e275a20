// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
/// @file
/// Message passing: one thread writes data and then a flag, round after round; another reads the flag and then the data. Data
/// older than the flag is what release and acquire forbid. Both values only grow, so neither thread waits for the other's
/// round, and all accesses are atomic, so there is no race to excuse an outcome.
#pragma once

#include <membar/atomic.cuh>
#include <membar/fence.cuh>

#include <tests/common/deadline.cuh>

#include <gtest/gtest.h>

#include <string>

namespace membar_test {

/// What orders data and flag.
enum class passing { operations, fences_release_acquire, fences_acq_rel, fences_seq_cst };

inline constexpr passing every_passing[] = {passing::operations, passing::fences_release_acquire, passing::fences_acq_rel,
                                            passing::fences_seq_cst};

[[nodiscard]] inline const char* name(passing how) {
  const char* const names[] = {"operations", "release_and_acquire_fences", "acq_rel_fences", "seq_cst_fences"};
  return names[static_cast<int>(how)];
}

/// Calls `function` with `how` as its template argument.
template <class Function>
void with(passing how, Function function) {
  switch (how) {
    case passing::operations:
      return function.template operator()<passing::operations>();
    case passing::fences_release_acquire:
      return function.template operator()<passing::fences_release_acquire>();
    case passing::fences_acq_rel:
      return function.template operator()<passing::fences_acq_rel>();
    case passing::fences_seq_cst:
      return function.template operator()<passing::fences_seq_cst>();
  }
}

/// The places of one message, each in a memory line of its own.
struct mailbox {
  alignas(256) int data;
  alignas(256) int flag;
  alignas(256) int reader_is_there;
};

/// What a reader saw, or that a thread waited too long.
struct passing_outcome {
  unsigned long long messages;  ///< flags read that were not read before
  unsigned long long stale;     ///< data older than the flag: forbidden
  int timed_out;
};

template <membar::thread_scope Scope, passing How>
__device__ void fence_before_flag() {
  if constexpr (How == passing::fences_release_acquire) {
    membar::thread_fence<Scope>(membar::release);
  } else if constexpr (How == passing::fences_acq_rel) {
    membar::thread_fence<Scope>(membar::acq_rel);
  } else if constexpr (How == passing::fences_seq_cst) {
    membar::thread_fence<Scope>(membar::seq_cst);
  }
}

template <membar::thread_scope Scope, passing How>
__device__ void fence_after_flag() {
  if constexpr (How == passing::fences_release_acquire) {
    membar::thread_fence<Scope>(membar::acquire);
  } else {
    fence_before_flag<Scope, How>();
  }
}

/// Writes `rounds` messages once the reader is there; returns whether it came in time.
template <membar::thread_scope Scope, passing How>
__device__ bool write_messages(mailbox& box, int rounds) {
  const membar::atomic_ref<int, Scope> data(box.data);
  const membar::atomic_ref<int, Scope> flag(box.flag);
  const membar::atomic_ref<int, Scope> reader_is_there(box.reader_is_there);
  const device_deadline deadline;
  while (reader_is_there.load(membar::relaxed) == 0) {
    if (deadline.passed()) {
      return false;
    }
  }
  for (int round = 1; round <= rounds; ++round) {
    data.store(round, membar::relaxed);
    if constexpr (How == passing::operations) {
      flag.store(round, membar::release);
    } else {
      fence_before_flag<Scope, How>();
      flag.store(round, membar::relaxed);
    }
  }
  return true;
}

/// Reads messages until the last has come.
template <membar::thread_scope Scope, passing How>
__device__ passing_outcome read_messages(mailbox& box, int rounds) {
  const membar::atomic_ref<int, Scope> data(box.data);
  const membar::atomic_ref<int, Scope> flag(box.flag);
  membar::atomic_ref<int, Scope>(box.reader_is_there).store(1, membar::relaxed);
  passing_outcome outcome{};
  int before = 0;
  device_deadline deadline;
  while (before != rounds) {
    int seen;
    if constexpr (How == passing::operations) {
      seen = flag.load(membar::acquire);
    } else {
      seen = flag.load(membar::relaxed);
      fence_after_flag<Scope, How>();
    }
    if (data.load(membar::relaxed) < seen) {
      ++outcome.stale;
    }
    if (seen != before) {
      ++outcome.messages;
      before = seen;
      deadline.renew();
    } else if (deadline.passed()) {
      outcome.timed_out = 1;
      break;
    }
  }
  return outcome;
}

template <passing How>
__global__ void write_at_system_scope(mailbox* box, int* timed_out, int count) {
  *timed_out = write_messages<membar::thread_scope::system, How>(*box, count) ? 0 : 1;
}
template <passing How>
__global__ void read_at_system_scope(mailbox* box, passing_outcome* outcome, int count) {
  *outcome = read_messages<membar::thread_scope::system, How>(*box, count);
}

inline void expect_in_order(const passing_outcome& seen, bool writer_timed_out) {
  EXPECT_FALSE(writer_timed_out) << "the writer waited in vain for the reader: they did not run at once";
  EXPECT_EQ(seen.timed_out, 0) << "the reader waited in vain for the last message";
  EXPECT_EQ(seen.stale, 0U) << "data older than its flag";
  EXPECT_GE(seen.messages, 1U);
  ::testing::Test::RecordProperty("messages", std::to_string(seen.messages));
}

}  // namespace membar_test
