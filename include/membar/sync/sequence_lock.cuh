// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
/// @file
/// A value that one thread writes, and any number of threads read without a write.
#pragma once

#include <membar/atomic.cuh>
#include <membar/detail/standard.hpp>
#include <membar/fence.cuh>
#include <membar/wait_budget.cuh>

#if !defined(__CUDACC_RTC__)  // which has memcpy without a header
#include <cstring>
#endif

namespace membar {
inline namespace v0_2 {

/// A value of any size that readers read as a whole. They store nothing, never delay the writer, and try again after a conflict.
///
/// Synchronizes: a read that is done synchronizes with the write whose value it took, and never mixes the bytes of two writes.
/// All-zero bytes are a value of zeros. It does not guarantee: that a read is done while the writer writes without a pause;
/// that a read returns the latest value; order between writers: there is one writer, or the writers hold a lock that synchronizes
/// them. Ends: a read that finds no pause between writes, or a writer that stopped within a write, ends with `timed_out`.
///
/// PTX: write: st.relaxed, fence.release, st.relaxed of each 8 bytes, st.release; read: ld.acquire, ld.relaxed of each 8 bytes,
/// fence.acquire, ld.relaxed. Requires: device code; `T` trivially copyable; for device scope, all kernels in one
/// physical domain.
template <class T, thread_scope Scope>
class sequence_lock {
  static_assert(detail::is_bytes<T>, "membar: the value of a sequence lock must be trivially copyable");

 public:
  using value_type = T;
  static constexpr thread_scope scope = Scope;

  /// Stores `value`. One thread at a time calls it.
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

  /// Copies the value into `value`; `would_wait`, and no copy, if a write was under way.
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

  /// Copies the value into `value`, and tries again while writes are under way.
  __device__ wait_result read(T& value, wait_budget budget) const noexcept {
    return detail::wait_until(budget, [&] { return try_read(value); });
  }

 private:
  static constexpr int size = static_cast<int>((sizeof(T) + 7) / 8);

  atomic<unsigned long long, Scope> sequence_;
  atomic<unsigned long long, Scope> words_[static_cast<std::size_t>(size)];
};

}  // namespace v0_2
}  // namespace membar
