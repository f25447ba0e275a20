// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
/// @file
/// Message passing: one thread writes data and then a flag, round after round; another thread reads the flag and then the data.
/// With release and acquire, the reader cannot read data that is older than the flag. Both values only increase, so neither
/// thread waits for the other's round. All accesses are atomic, so there is no data race that could explain an outcome.
#pragma once

#include <membar/atomic.cuh>
#include <membar/fence.cuh>

#include <tests/common/checked.cuh>
#include <tests/common/kernels.cuh>
#include <tests/common/sync.cuh>

#include <gtest/gtest.h>

#include <string>

namespace membar_test {

/// The operations or fences that order the data and the flag.
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
  with_constant<passing::operations, passing::fences_release_acquire, passing::fences_acq_rel, passing::fences_seq_cst>(
      how, function);
}

/// For each `passing`, the orders of the fence before the write of the flag and of the fence after the read of the flag.
/// `operations` has no fences.
inline constexpr membar::memory_order fence_of_writer[] = {membar::memory_order::relaxed, membar::memory_order::release,
                                                           membar::memory_order::acq_rel, membar::memory_order::seq_cst};
inline constexpr membar::memory_order fence_of_reader[] = {membar::memory_order::relaxed, membar::memory_order::acquire,
                                                           membar::memory_order::acq_rel, membar::memory_order::seq_cst};

/// The locations of one message, each in its own memory line.
struct mailbox {
  alignas(256) int data;
  alignas(256) int flag;
  alignas(256) int reader_is_there;
};

/// What a reader has observed, and which threads timed out.
struct passing_outcome {
  unsigned long long messages;  ///< The number of times that the reader read a new flag.
  unsigned long long stale;     ///< The number of times that data was older than the flag, which is forbidden.
  int reader_timed_out;
  int writer_timed_out;
};

/// Waits until the reader has started, and then writes `rounds` messages.
MEMBAR_CALLS_EITHER
template <membar::thread_scope Scope, passing How>
MEMBAR_HOST_DEVICE void write_messages(mailbox& box, int rounds, passing_outcome& outcome) {
  const membar::atomic_ref<int, Scope> data(box.data);
  const membar::atomic_ref<int, Scope> flag(box.flag);
  const membar::atomic_ref<int, Scope> reader_is_there(box.reader_is_there);
  if (!wait_for(generous, [&] { return reader_is_there.load(membar::relaxed) != 0; })) {
    outcome.writer_timed_out = 1;
    return;
  }
  for (int round = 1; round <= rounds; ++round) {
    data.store(round, membar::relaxed);
    if constexpr (How == passing::operations) {
      flag.store(round, membar::release);
    } else {
      membar::thread_fence<Scope>(membar::memory_order_constant<fence_of_writer[static_cast<int>(How)]>());
      flag.store(round, membar::relaxed);
    }
  }
}

/// Reads messages until the last one has arrived.
MEMBAR_CALLS_EITHER
template <membar::thread_scope Scope, passing How>
MEMBAR_HOST_DEVICE void read_messages(mailbox& box, int rounds, passing_outcome& outcome) {
  const membar::atomic_ref<int, Scope> data(box.data);
  const membar::atomic_ref<int, Scope> flag(box.flag);
  membar::atomic_ref<int, Scope>(box.reader_is_there).store(1, membar::relaxed);
  unsigned long long messages = 0;
  unsigned long long stale = 0;
  int before = 0;
  int seen = 0;
  const auto sees_another = [&] {
    if constexpr (How == passing::operations) {
      seen = flag.load(membar::acquire);
    } else {
      seen = flag.load(membar::relaxed);
      membar::thread_fence<Scope>(membar::memory_order_constant<fence_of_reader[static_cast<int>(How)]>());
    }
    stale += checked(data.load(membar::relaxed) < seen);
    return seen != before;
  };
  while (before != rounds && wait_for(generous, sees_another)) {
    before = seen;
    ++messages;
  }
  outcome.reader_timed_out = before == rounds ? 0 : 1;
  outcome.messages = messages;
  outcome.stale = stale;
}

template <passing How>
__global__ void write_at_system_scope(mailbox* box, passing_outcome* outcome, int count) {
  write_messages<membar::thread_scope::system, How>(*box, count, *outcome);
}
template <passing How>
__global__ void read_at_system_scope(mailbox* box, passing_outcome* outcome, int count) {
  read_messages<membar::thread_scope::system, How>(*box, count, *outcome);
}

/// The number of messages that a reader must have seen while messages were still arriving.
inline constexpr unsigned long long least_messages = 10;

inline void expect_in_order(const passing_outcome& seen) {
  EXPECT_EQ(seen.writer_timed_out, 0) << "the writer timed out waiting for the reader: they did not run concurrently";
  EXPECT_EQ(seen.reader_timed_out, 0) << "the reader timed out waiting for the last message";
  EXPECT_EQ(seen.stale, 0U) << "data older than its flag";
  // A reader that saw only the last few flags had no chance to see old data.
  EXPECT_GE(seen.messages, least_messages);
  ::testing::Test::RecordProperty("messages", std::to_string(seen.messages));
}

}  // namespace membar_test
