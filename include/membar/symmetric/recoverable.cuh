// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
/// @file
/// Waits and barriers on a stream that let a program recover from a timeout: they always end and report their results in
/// memory. An operation that times out uses a flag to end the operations of all PEs. (`wait_on_stream` ends its kernel with a
/// trap, which makes the context unusable.)
///
/// After an operation whose result is not `done`, later work in the stream still runs and may find old data. Therefore, let
/// kernels check the status, or let the host wait for the stream before it enqueues more work. To continue, wait for the
/// streams of all PEs; free the flag, the signals, the epochs and the barrier words, whose numbers may differ between PEs; and
/// then allocate new ones.
#pragma once

#include <membar/detail/stream_handle.hpp>
#include <membar/error.hpp>
#include <membar/load_store.cuh>
#include <membar/symmetric/on_stream.cuh>

#include <type_traits>

namespace membar {
inline namespace v0_3 {
namespace symmetric {

/// The result of a recoverable operation on a stream.
enum class stream_result : unsigned {
  pending,    ///< the operation has not run yet
  done,       ///< the awaited condition holds, and the operation is an acquire for later work in the stream
  timed_out,  ///< the operation's budget was used up, and it has set the flag of every PE
  aborted     ///< the flag was set while the operation waited, or earlier
};

/// Returns the name of a result: "pending", "done", "timed_out" or "aborted".
[[nodiscard]] constexpr const char* name(stream_result result) noexcept {
  switch (result) {
    case stream_result::pending:
      return "pending";
    case stream_result::done:
      return "done";
    case stream_result::timed_out:
      return "timed_out";
    case stream_result::aborted:
      return "aborted";
  }
  return "unknown result";
}

/// The report of a recoverable operation, in memory that its device can write: device memory, or mapped host memory. Later work
/// in the stream may read the report, and the host may read it after waiting for the stream. Write `stream_status{}` there
/// before the first operation.
struct stream_status {
  stream_result result = stream_result::pending;
  int pe = -1;                      ///< the PE that waited
  unsigned long long expected = 0;  ///< the awaited value, which is a minimum or an exact value
  unsigned long long seen = 0;      ///< the last value that was read
  int missing = -1;                 ///< for a barrier that is not done: a PE that had not arrived
};

/// Returns the status after one more operation has reported: the newest result, except that `aborted` does not replace a
/// failure. A replayed graph therefore keeps its first failure.
[[nodiscard]] MEMBAR_HOST_DEVICE constexpr stream_status status_after(const stream_status& before,
                                                                      const stream_status& newest) noexcept {
  const bool failed = before.result == stream_result::timed_out || before.result == stream_result::aborted;
  return failed && newest.result == stream_result::aborted ? before : newest;
}

namespace detail {

template <class Flag>
[[nodiscard]] __device__ inline bool is_aborted(const Flag& flag) noexcept {
  return membar::load<thread_scope::system>(static_cast<const unsigned long long*>(word(flag)), relaxed) != 0;
}

/// Sets the flag of every PE, including this one.
template <class Flag>
__device__ inline void abort_everywhere(const Flag& flag) noexcept {
  for (int i = 0; i != flag.count(); ++i) {
    transport_of<Flag>::template notify<set>(flag.reach(), word(flag), 1, pe(i), relaxed);
  }
}

template <class Flag>
__device__ inline void report(stream_status* status, const Flag& flag, bool done, const missing_pe& last) noexcept {
  const bool aborted = !done && is_aborted(flag);
  if (!done && !aborted) {
    abort_everywhere(flag);
  }
  *status = status_after(*status, {done ? stream_result::done : (aborted ? stream_result::aborted : stream_result::timed_out),
                                   flag.self().index(), last.expected, last.seen, last.pe});
}

/// Repeats `try_once(budget)`, for a few microseconds each time, until it succeeds, the flag is set or the budget is used up.
template <class Flag, class Once>
[[nodiscard]] __device__ inline bool try_unless_aborted(const Flag& flag, wait_budget budget, Once try_once) noexcept {
  constexpr wait_budget between_looks = wait_budget::microseconds(10);
  polling poll(budget);
  static_cast<void>(poll.time_is_up());  // this call starts the time measurement
  while (!is_aborted(flag)) {
    if (try_once(between_looks) == wait_result::done) {
      return true;
    }
    if (poll.time_is_up()) {
      return false;
    }
  }
  return false;
}

template <class Signal, class Condition, class Flag>
__global__ void try_wait_kernel(Signal signal, Condition condition, wait_budget budget, Flag flag, stream_status* status) {
  const bool done =
      try_unless_aborted(flag, budget, [&](wait_budget part) { return try_wait(by_thread, signal, condition, part); });
  report(status, flag, done, {nullptr, condition.value(), signal_value(signal, relaxed), -1});
}

template <class Signal, class Epoch, class Flag>
__global__ void try_wait_next_kernel(Signal signal, Epoch seen, unsigned long long step, wait_budget budget, Flag flag,
                                     stream_status* status) {
  const unsigned long long expected = next_epoch<by_thread_t>(seen, step).number();
  const bool done =
      try_unless_aborted(flag, budget, [&](wait_budget part) { return try_wait(by_thread, signal, seen, part, step); });
  report(status, flag, done, {nullptr, expected, signal_value(signal, relaxed), -1});
}

/// Executes a barrier. If the flag is already set, this PE does not arrive. `last` receives the word that the thread waited
/// for, or would have waited for.
template <class Words, class Flag>
[[nodiscard]] __device__ inline bool barrier_unless_aborted(const Words& words, wait_budget budget, const Flag& flag,
                                                            missing_pe& last) noexcept {
  if (is_aborted(flag)) {
    last = missing_at(words);
    return false;
  }
  return barrier_unless(by_thread, words, budget, [&] { return is_aborted(flag); }, last);
}

template <class Words, class Flag>
__global__ void try_barrier_kernel(Words words, wait_budget budget, Flag flag, stream_status* status) {
  missing_pe last;
  const bool done = barrier_unless_aborted(words, budget, flag, last);
  report(status, flag, done, last);
}

template <class Flag>
__global__ void abort_kernel(Flag flag) {
  abort_everywhere(flag);
}

inline void require_status(const stream_status* status) {
  if (status == nullptr) {
    throw error(cudaErrorInvalidValue,
                "membar: the status pointer of a recoverable operation is null: pass device memory or mapped host memory that "
                "the device can write to");
  }
}

}  // namespace detail

/// Loads the kernels of the operations below on every PE of this process, as `load_stream_operations` does for the operations
/// in on_stream.cuh.
template <backend Backend>
void load_recoverable_operations(const heap<Backend>& heap) {
  using one_setter = object<signal<set>, Backend>;
  using many_adders = object<signal<add>, Backend>;
  using numbers = object<epoch, Backend>;
  using flag = object<abort_flag, Backend>;
  const auto load = [](auto* kernel) { static_cast<void>(kernel_resources_of(kernel)); };
  for (const pe which : heap.backend().local_pes()) {
    const device_guard guard(heap.backend().device_of(which));
    load(detail::try_wait_kernel<one_setter, equals, flag>);
    load(detail::try_wait_kernel<one_setter, at_least, flag>);
    load(detail::try_wait_kernel<many_adders, at_least, flag>);
    load(detail::try_wait_next_kernel<one_setter, numbers, flag>);
    load(detail::try_wait_next_kernel<many_adders, numbers, flag>);
    load(detail::try_barrier_kernel<span<barrier_word, Backend>, flag>);
    load(detail::try_barrier_kernel<team_words<Backend>, flag>);
    load(detail::abort_kernel<flag>);
  }
}

/// Enqueues a wait for a signal of the stream's PE. The wait ends when the condition holds, its budget is used up or `flag` is
/// set, and then writes `status`. If it times out, it sets the flag of every PE.
///
/// If the result is `done`, the wait synchronizes like `wait_on_stream`. Errors: throws the errors of `launch`, and an `error`
/// if `status` is null or if the stream is being captured. In a captured stream, pass an epoch instead.
template <class Kind, backend Backend, class Condition>
  requires std::is_same_v<Condition, equals> || std::is_same_v<Condition, at_least>
void try_wait_on_stream(const object<signal<Kind>, Backend>& signal, Condition condition, wait_budget budget,
                        const object<abort_flag, Backend>& flag, stream_status* status, stream_handle stream) {
  using address = object<symmetric::signal<Kind>, Backend>;
  detail::require_status(status);
  detail::refuse_capture(stream, "a wait that compares a signal with", condition.value(),
                         "pass an epoch instead of the condition");
  launch(detail::communication_launch(stream), detail::try_wait_kernel<address, Condition, object<abort_flag, Backend>>, signal,
         condition, budget, flag, status);
}

/// Enqueues a recoverable wait for the next number of an epoch. The number is used up only if the result is `done`.
template <class Kind, backend Backend>
void try_wait_on_stream(const object<signal<Kind>, Backend>& signal, const object<epoch, Backend>& seen, wait_budget budget,
                        const object<abort_flag, Backend>& flag, stream_status* status, stream_handle stream,
                        unsigned long long step = 1) {
  using address = object<symmetric::signal<Kind>, Backend>;
  detail::require_status(status);
  launch(detail::communication_launch(stream),
         detail::try_wait_next_kernel<address, object<epoch, Backend>, object<abort_flag, Backend>>, signal, seen, step, budget,
         flag, status);
}

/// Enqueues this PE's part of a barrier across all PEs or across a team. The barrier ends in the same cases as
/// `try_wait_on_stream`. `flag` ends the waits of all PEs. Errors: throws the errors of `launch`, and an `error` if `status` is
/// null; for a team, also the errors of `barrier_on_stream`.
template <class Words, backend Backend>
  requires detail::is_barrier<Words>
void try_barrier_on_stream(const Words& words, wait_budget budget, const object<abort_flag, Backend>& flag,
                           stream_status* status, stream_handle stream) {
  detail::require_status(status);
  launch(detail::communication_launch(stream), detail::try_barrier_kernel<Words, object<abort_flag, Backend>>, words, budget,
         flag, status);
}
template <backend Backend>
void try_barrier_on_stream(team_barrier<Backend>& team, wait_budget budget, const object<abort_flag, Backend>& flag,
                           stream_status* status, stream_handle stream) {
  const auto held = team.take(flag.self(), stream);
  try_barrier_on_stream(team.on(flag.self()), budget, flag, status, stream);
}

/// Enqueues an operation that sets the flag of every PE. This ends all recoverable stream operations of these PEs, including
/// later ones.
template <backend Backend>
void abort_on_stream(const object<abort_flag, Backend>& flag, stream_handle stream) {
  launch(detail::communication_launch(stream), detail::abort_kernel<object<abort_flag, Backend>>, flag);
}

}  // namespace symmetric
}  // namespace v0_3
}  // namespace membar
