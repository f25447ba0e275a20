// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
/// @file
/// A block's numbered barriers, each of which synchronizes some of the block's warps: producers arrive and continue, and
/// consumers wait. `elect_one` elects one thread of a warp.
#pragma once

#include <membar/cluster_barrier.cuh>
#include <membar/detail/lane.cuh>

namespace membar {
inline namespace v0_3 {

namespace detail {

/// In the device compilation pass, rejects architectures without `elect.sync`.
template <bool Needed>
__device__ constexpr void require_election() noexcept {
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ < 900
  static_assert(!Needed, "membar: elect_one requires compute capability 9.0: compile this code only for sm_90 or newer");
#endif
}

}  // namespace detail

/// One of a block's 16 barriers, used by `threads` of the block's threads. `__syncthreads` uses barrier 0.
///
/// Arrivals are counted per warp: a call by any thread counts as 32 threads. All calls for one barrier must pass the same
/// `threads`. The barrier can be reused once all its threads have arrived. A thread that only arrives needs a second barrier to
/// detect this, so ring buffers use two barriers, one for "full" and one for "empty".
///
/// Requires: `number` is 0 to 15; `threads` is a multiple of 32, from 32 to the size of the block. Errors: a debug build (nvcc
/// -G) stops the kernel if either value is invalid. There is no time limit: if a warp never arrives, the others wait forever.
/// Source: PTX ISA, "barrier".
class named_barrier {
 public:
  static constexpr unsigned most = 16;  ///< the number of barriers in a block

  __device__ constexpr named_barrier(unsigned number, unsigned threads) noexcept : number_(number), threads_(threads) {}

  /// Arrives and waits until `threads` threads have arrived. Afterwards the thread sees everything that these threads did
  /// before their `sync` or `arrive`.
  ///
  /// PTX: `barrier.cta.sync{.aligned} number, threads`, one instruction; `.aligned` for `warp_execution::together`. PTX ISA
  /// 7.8.
  template <warp_execution Execution = warp_execution::diverged>
  __device__ void sync() const noexcept {
    check();
    // barrier.cta.sync{.aligned} a, b;  PTX ISA 7.8, sm_70
    asm volatile("barrier.cta.sync%2 %0, %1;" ::"r"(number_), "r"(threads_), "C"(detail::ptx_aligned<Execution>::text)
                 : "memory");
  }

  /// Arrives without waiting. The threads that call `sync` at this barrier then see what this thread did before its arrival,
  /// but this thread does not see what they did.
  ///
  /// PTX: `barrier.cta.arrive{.aligned} number, threads`, one instruction; `.aligned` for `warp_execution::together`. PTX ISA
  /// 7.8.
  template <warp_execution Execution = warp_execution::diverged>
  __device__ void arrive() const noexcept {
    check();
    // barrier.cta.arrive{.aligned} a, b;  PTX ISA 7.8, sm_70
    asm volatile("barrier.cta.arrive%2 %0, %1;" ::"r"(number_), "r"(threads_), "C"(detail::ptx_aligned<Execution>::text)
                 : "memory");
  }

 private:
  /// In a debug build (nvcc -G), stops the kernel if the number or the thread count is not valid in PTX.
  __device__ void check() const noexcept {
#if defined(__CUDACC_DEBUG__) && !defined(__CUDACC_RTC__)
    assert(number_ < most && "membar: a block has barriers 0 to 15: give named_barrier a number from 0 to 15");
    assert(threads_ != 0 && threads_ % 32 == 0 && threads_ <= detail::block_threads() &&
           "membar: a named_barrier synchronizes whole warps: use a multiple of 32 threads, up to the block size");
#endif
  }

  unsigned number_;
  unsigned threads_;
};

/// Returns whether the hardware elects the calling thread from the threads in `mask`, all of which must call this function. The
/// hardware elects the same thread in every call with this mask.
///
/// The election does not synchronize: use `__syncwarp` to make a thread's writes visible to the elected thread.
///
/// PTX: `elect.sync _|p, mask`, one instruction. Requires: compute capability 9.0; the calling thread is in `mask`. Source: PTX ISA,
/// "elect.sync".
template <bool Needed = true>
[[nodiscard]] __device__ inline bool elect_one(unsigned mask = 0xFFFFFFFFU) noexcept {
  detail::require_election<Needed>();
  unsigned elected = 0;
  // elect.sync _|p, membermask;  PTX ISA 8.0, sm_90
  asm volatile("{ .reg .pred elected; elect.sync _|elected, %1; selp.b32 %0, 1, 0, elected; }"
               : "=r"(elected)
               : "r"(mask)
               : "memory");
  return elected != 0;
}

}  // namespace v0_3
}  // namespace membar
