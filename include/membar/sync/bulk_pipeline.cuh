// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
/// @file
/// A ring of stages in shared memory that one thread fills with bulk copies and other threads consume.
#pragma once

#include <membar/bulk_copy.cuh>
#include <membar/detail/stages.cuh>
#include <membar/fence.cuh>
#include <membar/mbarrier.cuh>
#include <membar/memory_order.hpp>
#include <membar/thread_scope.hpp>
#include <membar/wait_budget.cuh>

namespace membar {
inline namespace v0_3 {

/// A ring of `Stages` stages of `StageBytes` bytes each in a block's shared memory. One thread uses bulk copies to fill the
/// stages with tiles from global memory, ahead of the threads that consume the tiles. Tiles are consumed in order, and every
/// consumer takes each tile.
///
/// The pipeline must be in shared memory. One thread must call `init`, and a block barrier must follow. Then one thread creates
/// a `producer`, and each consuming thread creates a `consumer`.
///
/// Synchronizes: the data of a tile is visible to a consumer whose `take` has returned `done`. A tile is copied into a stage
/// only after all consumers have released the previous tile in it: all their accesses to the stage, including ordinary loads
/// and stores, are ordered before the copy. The pipeline guarantees neither that a consumer sees stores by the producer's
/// thread, nor any order among consumers. Ends: if no stage becomes free, or no tile arrives, within the budget, a call returns
/// `timed_out` and changes nothing.
///
/// PTX: fill: `mbarrier.try_wait.parity.acquire.cta`, `cp.async.bulk.shared::cta.global`,
/// `mbarrier.arrive.expect_tx.relaxed.cta`. take: `mbarrier.try_wait.parity.acquire.cta`. give_back:
/// `fence.proxy.async.shared::cta`, `mbarrier.arrive.release.cta`. Requires: compute capability 9.0 or later; `StageBytes` must
/// be a multiple of 16.
template <int Stages, unsigned StageBytes>
class bulk_pipeline {
  static_assert(detail::require_stages<Stages, StageBytes>());
  using block_mbarrier = mbarrier<thread_scope::block>;
  using position = detail::stage_position<Stages>;

 public:
  static constexpr int stages = Stages;
  static constexpr unsigned stage_bytes = StageBytes;

  /// Initializes an empty pipeline for `consumers` consumers. One thread must call it, and a block barrier must follow.
  __device__ void init(unsigned consumers) noexcept {
    for (int i = 0; i < Stages; ++i) {
      full_[i].init(1);
      empty_[i].init(consumers);
    }
    mbarrier_init_fence();
  }

  /// The producer's end, which one thread uses.
  class producer {
   public:
    __device__ explicit producer(bulk_pipeline& pipeline) noexcept : pipeline_(&pipeline) {}

    /// Copies `bytes` bytes from global memory at `from` into the next stage, once it is free. `bytes` must be a multiple of 16
    /// and at most `StageBytes`, and `from` must be aligned to 16 bytes. If this kernel wrote `from` with ordinary stores, a
    /// proxy fence must precede the call.
    __device__ wait_result fill(const void* from, unsigned bytes, wait_budget budget) noexcept {
      detail::require_tile<StageBytes>(bytes);
      // the phase before the first phase counts as complete, so every stage is initially free
      if (pipeline_->empty_[at_.stage].wait_parity(at_.parity ^ 1U, acquire, budget) != wait_result::done) {
        return wait_result::timed_out;
      }
      block_mbarrier& full = pipeline_->full_[at_.stage];
      full.arrive_expect(bulk_load(pipeline_->memory_[at_.stage], from, bytes, full), relaxed);
      at_.advance();
      return wait_result::done;
    }

   private:
    bulk_pipeline* pipeline_;
    position at_;
  };

  /// The result of taking a tile. If a tile was taken, `memory` is its stage, which is valid until the tile is released.
  using tile = detail::taken_tile;

  /// A consumer's end, which one thread uses. It may hold several tiles, and releases them in order.
  class consumer {
   public:
    __device__ explicit consumer(bulk_pipeline& pipeline) noexcept : pipeline_(&pipeline) {}

    /// Waits for the next tile.
    __device__ tile take(wait_budget budget) noexcept {
      if (pipeline_->full_[at_.stage].wait_parity(at_.parity, acquire, budget) != wait_result::done) {
        return {wait_result::timed_out, nullptr};
      }
      void* const memory = pipeline_->memory_[at_.stage];
      at_.advance();
      return {wait_result::done, memory};
    }

    /// Releases the oldest tile that this consumer holds. If the consumer has started bulk copies out of the stage, these must
    /// have read their source: call `bulk_wait_read` first.
    __device__ void give_back() noexcept {
      // orders this thread's accesses to the stage before the copy that fills it again
      proxy_fence<proxy::async_shared_block>();
      pipeline_->empty_[back_.stage].arrive(release);
      back_.advance();
    }

   private:
    bulk_pipeline* pipeline_;
    position at_;
    position back_;
  };

 private:
  static constexpr int room = Stages > 0 ? Stages : 1;  // avoids further messages if `Stages` is invalid
  alignas(128) unsigned char memory_[static_cast<std::size_t>(room)][StageBytes];
  block_mbarrier full_[static_cast<std::size_t>(room)];
  block_mbarrier empty_[static_cast<std::size_t>(room)];
};

}  // namespace v0_3
}  // namespace membar
