// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
/// @file
/// Cluster launch control: a running block takes over the work of a block that has not started.
///
/// Launch a grid with one block for each piece of work. A block that has finished its own piece cancels the launch of another
/// block and continues with that block's number, until no blocks are left. In this way, blocks that finish early take over the
/// remaining work, and the kernel needs no work counter.
#pragma once

#include <membar/detail/asynchronous.cuh>
#include <membar/mbarrier.cuh>

namespace membar {
inline namespace v0_3 {

namespace detail {

/// In the device compilation pass, rejects architectures without cluster launch control.
template <bool Needed>
__device__ constexpr void require_launch_control() noexcept {
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ < 1000
  static_assert(!Needed,
                "membar: cluster launch control requires compute capability 10.0: compile this code only for sm_100 or newer");
#endif
}

}  // namespace detail

/// The response to `cancel_launch`, in shared memory: whether the launch of a cluster was cancelled, and which cluster it was.
///
/// The response is written through the async proxy, and may be read after a wait that acquires the mbarrier's phase. Before
/// another `cancel_launch` may overwrite the response, each thread that read it must execute
/// `proxy_fence<proxy::async_shared_block>` (fence.cuh) and then a barrier. Source: PTX ISA,
/// "clusterlaunchcontrol.query_cancel".
class alignas(16) cancelled_launch {
 public:
  /// Returns whether a cluster was cancelled. If not, `cancel_launch` must not be called again.
  ///
  /// PTX: `clusterlaunchcontrol.query_cancel.is_canceled.pred.b128 p, answer`, after a load of the answer.
  template <bool Needed = true>
  [[nodiscard]] __device__ bool succeeded() const noexcept {
    detail::require_launch_control<Needed>();
    unsigned cancelled = 0;
    // clusterlaunchcontrol.query_cancel.is_canceled.pred.b128 p, try_cancel_response;  PTX ISA 8.6, sm_100
    asm volatile(
        "{ .reg .b128 answer; .reg .pred cancelled; mov.b128 answer, {%1, %2}; "
        "clusterlaunchcontrol.query_cancel.is_canceled.pred.b128 cancelled, answer; selp.b32 %0, 1, 0, cancelled; }"
        : "=r"(cancelled)
        : "l"(words_[0]), "l"(words_[1])
        : "memory");
    return cancelled != 0;
  }

  /// Returns the `blockIdx` of the cancelled cluster's first block. Requires: `succeeded()` is true; otherwise the result is
  /// undefined.
  ///
  /// PTX: `clusterlaunchcontrol.query_cancel.get_first_ctaid.v4.b32.b128 {x, y, z, _}, answer`, after a load of the answer.
  template <bool Needed = true>
  [[nodiscard]] __device__ uint3 first_block() const noexcept {
    detail::require_launch_control<Needed>();
    uint3 block{};
    // clusterlaunchcontrol.query_cancel.get_first_ctaid.v4.b32.b128 {x, y, z, _}, try_cancel_response;  PTX ISA 8.6, sm_100
    asm volatile(
        "{ .reg .b128 answer; mov.b128 answer, {%3, %4}; "
        "clusterlaunchcontrol.query_cancel.get_first_ctaid.v4.b32.b128 {%0, %1, %2, _}, answer; }"
        : "=r"(block.x), "=r"(block.y), "=r"(block.z)
        : "l"(words_[0]), "l"(words_[1])
        : "memory");
    return block;
  }

  /// Returns the address of the response in shared memory, for handwritten PTX.
  [[nodiscard]] __device__ unsigned address() const noexcept { return detail::shared_address(this); }

 private:
  unsigned long long words_[2];
};

/// Requests that the launch of a cluster that has not started be cancelled. The response is written to `answer`, and this write
/// completes on `barrier`, an mbarrier of the block. A phase of `barrier` must expect the 16 bytes of the response. A wait that
/// acquires the phase sees the response.
///
/// One thread of the cluster must make the call, with an `answer` and a `barrier` of its own block. The call orders nothing
/// else, because a cancelled block has not executed anything and never will.
///
/// PTX: `clusterlaunchcontrol.try_cancel.async.shared::cta.mbarrier::complete_tx::bytes.b128 [answer], [barrier]`, one
/// instruction. Requires: compute capability 10.0 (PTX ISA 8.6). Source: PTX ISA, "clusterlaunchcontrol.try_cancel".
template <thread_scope Scope>
__device__ inline transaction_bytes cancel_launch(cancelled_launch& answer, mbarrier<Scope>& barrier) noexcept {
  detail::require_launch_control<Scope == Scope>();
  // clusterlaunchcontrol.try_cancel.async.shared::cta.mbarrier::complete_tx::bytes.b128 [addr], [mbar];  PTX ISA 8.6, sm_100
  asm volatile(
      "clusterlaunchcontrol.try_cancel.async.shared::cta.mbarrier::complete_tx::bytes.b128 [%0], [%1];" ::"r"(answer.address()),
      "r"(barrier.address())
      : "memory");
  return detail::copy_results::bytes(sizeof(cancelled_launch));
}

}  // namespace v0_3
}  // namespace membar
