// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
/// @file
/// A value that one thread writes and any number of threads read without writing to memory.
#pragma once

#include <membar/atomic.cuh>
#include <membar/detail/standard.hpp>
#include <membar/fence.cuh>
#include <membar/wait_budget.cuh>

#if !defined(__CUDACC_RTC__)  // NVRTC provides memcpy without a header
#include <cstring>
#endif

namespace membar {
inline namespace v0_3 {

/// A value of any size that readers read as a whole. Readers store nothing, never delay the writer, and retry after a conflict.
///
/// Synchronizes: a read that returns `done` synchronizes with the write whose value it returns, and never mixes the bytes of
/// two writes. A zero-initialized lock holds a value of zeros. The lock guarantees neither that a read succeeds while the
/// writer writes without a pause, nor that a read returns the latest value. The lock does not order writers: there must be only
/// one writer, or the writers must hold another lock that synchronizes them. Ends: a read returns `timed_out` if it finds no
/// pause between writes, or if the writer stopped in the middle of a write.
///
/// PTX: write: st.relaxed, fence.release, st.relaxed of each 8 bytes, st.release; read: ld.acquire, ld.relaxed of each 8 bytes,
/// fence.acquire, ld.relaxed. Requires: device code; `T` must be trivially copyable; for device scope, all kernels must run in
/// one physical domain.
template <class T, thread_scope Scope>
class sequence_lock {
  static_assert(detail::is_bytes<T>, "membar: the value of a sequence lock must be trivially copyable");

 public:
  using value_type = T;
  static constexpr thread_scope scope = Scope;

  /// Stores `value`. Only one thread at a time may call it.
  __device__ void write(const T& value) noexcept {
    unsigned long long words[size] = {};
    memcpy(words, &value, sizeof(T));
    const unsigned long long sequence = sequence_.load(relaxed);
    sequence_.store(sequence + 1, relaxed);
    thread_fence<Scope>(release);
#pragma unroll
    for (int i = 0; i != size; ++i) {
      words_[i].store(words[i], relaxed);
    }
    sequence_.store(sequence + 2, release);
  }

  /// Copies the value into `value`, or returns `would_wait` without copying if a write was in progress.
  __device__ wait_result try_read(T& value) const noexcept {
    const unsigned long long before = sequence_.load(acquire);
    if (before % 2 != 0) {
      return wait_result::would_wait;
    }
    unsigned long long words[size];
#pragma unroll
    for (int i = 0; i != size; ++i) {
      words[i] = words_[i].load(relaxed);
    }
    thread_fence<Scope>(acquire);
    if (sequence_.load(relaxed) != before) {
      return wait_result::would_wait;
    }
    memcpy(&value, words, sizeof(T));
    return wait_result::done;
  }

  /// Copies the value into `value`, and retries while writes are in progress.
  __device__ wait_result read(T& value, wait_budget budget) const noexcept {
    return detail::wait_until(budget, [&] { return try_read(value); });
  }

 private:
  static constexpr int size = static_cast<int>((sizeof(T) + 7) / 8);

  atomic<unsigned long long, Scope> sequence_;
  atomic<unsigned long long, Scope> words_[static_cast<std::size_t>(size)];
};

}  // namespace v0_3
}  // namespace membar
