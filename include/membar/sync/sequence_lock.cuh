// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
/// @file
/// A value that one thread writes and any number read without writing anything.
#pragma once

#include <membar/atomic.cuh>
#include <membar/fence.cuh>
#include <membar/wait_budget.cuh>

#include <cstring>
#include <type_traits>

namespace membar {

/// A value of any size that readers take whole, or try again: they store nothing, and never delay the writer.
///
/// Synchronizes: a read that is done synchronizes with the write whose value it took, and never mixes the bytes of two writes.
/// All-zero bytes are a value of zeros. It does not guarantee: that readers get on while the writer writes without a pause (a
/// read ends with `timed_out` then); that a read takes the latest value; order between writers: there is one, or they hold a
/// lock that synchronizes them. Ends: a writer that stops in the middle of a write: every read ends with `timed_out`.
///
/// PTX: write: st.relaxed, fence.release, st.relaxed of each 8 bytes, st.release; read: ld.acquire, ld.relaxed of each 8 bytes,
/// fence.acquire, ld.relaxed. Requires: device code; CUDA 12.8; `T` trivially copyable. Device scope needs all kernels in one
/// physical domain.
template <class T, thread_scope Scope>
class sequence_lock {
  static_assert(std::is_trivially_copyable_v<T>, "membar: the value of a sequence lock is trivially copyable");

 public:
  using value_type = T;
  static constexpr thread_scope scope = Scope;

  /// Makes `value` the value. By one thread at a time.
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

  /// Takes the value; `would_wait` if a write was under way, and `value` is unchanged then.
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

  /// The same, and tries again.
  __device__ wait_result read(T& value, wait_budget budget) const noexcept {
    return detail::wait_until(budget, [&] { return try_read(value); });
  }

 private:
  static constexpr int size = static_cast<int>((sizeof(T) + 7) / 8);

  atomic<unsigned long long, Scope> sequence_;
  atomic<unsigned long long, Scope> words_[size];
};

}  // namespace membar
