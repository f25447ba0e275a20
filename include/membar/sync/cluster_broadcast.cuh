// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
/// @file
/// A ring of stages in the shared memory of each block in a cluster: one thread copies tiles from global memory into the ring,
/// and all blocks consume the tiles.
#pragma once

#include <membar/bulk_copy.cuh>
#include <membar/cluster_barrier.cuh>
#include <membar/detail/stages.cuh>
#include <membar/detail/standard.hpp>
#include <membar/fence.cuh>
#include <membar/mbarrier.cuh>
#include <membar/memory_order.hpp>
#include <membar/thread_scope.hpp>
#include <membar/wait_budget.cuh>

namespace membar {
inline namespace v0_3 {

/// How a tile reaches all blocks of a cluster.
enum class cluster_copies : unsigned char {
  relayed,  ///< one copy from global memory into the first block, and then one copy from there to each other block, which a
            ///< thread of the first block starts; consumers in the first block may only read the tile
  /// one copy from global memory into all blocks; ptxas recommends compiling this copy for sm_90a, because it may be slow on
  /// other targets
  multicast
};

/// A ring of `Stages` stages of `StageBytes` bytes each in the shared memory of each block in a cluster. One thread uses bulk
/// copies to fill the stages with tiles from global memory, and each tile is read from global memory only once. In each block,
/// the same number of threads consumes the tiles. Tiles are consumed in order, and every consumer takes each tile from its own
/// block's stage.
///
/// The ring must be at the same location in each block's shared memory. One thread of each block must call `init`, and a
/// `cluster_sync` must follow; another `cluster_sync` must follow the last use. In the cluster's block of rank 0, one thread
/// creates a `producer` and, if the tiles are relayed, another thread creates a `relay`. Each consuming thread in any block
/// creates a `consumer`.
///
/// Synchronizes: the data of a tile is visible to a consumer whose `take` has returned `done`. A tile is copied into a stage
/// only after all consumers in the cluster have released the previous tile in it: all their accesses to the stage, including
/// ordinary loads and stores, are ordered before the copy. The ring guarantees neither that a consumer sees stores by the
/// producer's thread, nor any order among consumers. Relayed tiles are copied out of the stages in the block of rank 0 while
/// its consumers hold them. These consumers may therefore only read the tiles, because their stores could reach the other
/// blocks. Consumers in other blocks, and consumers of multicast tiles, may write to the stage. Ends: if no stage becomes free,
/// or no tile arrives, within the budget, a call returns `timed_out` and changes nothing.
///
/// PTX: fill: `mbarrier.try_wait.parity.acquire.cluster`,
/// `fence.proxy.async::generic.acquire.sync_restrict::shared::cluster.cluster`, then, if multicast,
/// `cp.async.bulk.shared::cluster.global.multicast::cluster` and for each block `mapa`,
/// `mbarrier.arrive.expect_tx.relaxed.cluster`, otherwise `cp.async.bulk.shared::cta.global`,
/// `mbarrier.arrive.expect_tx.release.cta`. pass_on: `mbarrier.try_wait.parity.acquire.cta`, for each other block
/// `cp.async.bulk.shared::cluster.shared::cta`, `mbarrier.arrive.expect_tx.relaxed.cluster`. take:
/// `mbarrier.try_wait.parity.acquire.cta`. give_back: `fence.proxy.async::generic.release.sync_restrict::shared::cta.cluster`,
/// `mapa`, `mbarrier.arrive.release.cluster`. Requires: compute capability 9.0 or later; `StageBytes` must be a multiple of 16;
/// the cluster must have at most 16 blocks.
template <int Stages, unsigned StageBytes, cluster_copies Copies = cluster_copies::relayed>
class cluster_broadcast {
  static_assert(detail::require_stages<Stages, StageBytes>());
  using block_mbarrier = mbarrier<thread_scope::block>;
  using cluster_mbarrier = mbarrier<thread_scope::cluster>;
  using position = detail::stage_position<Stages>;

 public:
  static constexpr int stages = Stages;
  static constexpr unsigned stage_bytes = StageBytes;
  static constexpr cluster_copies copies = Copies;

  /// Initializes an empty ring for `consumers` consumers in each block. One thread of each block must call it, and a
  /// `cluster_sync` must follow.
  __device__ void init(unsigned consumers) noexcept {
    for (int i = 0; i < Stages; ++i) {
      full_[i].init(1);
      empty_[i].init(consumers * cluster_block_count());
    }
    mbarrier_init_fence();
  }

  /// The producer's end, which one thread in the block of rank 0 uses.
  class producer {
   public:
    __device__ explicit producer(cluster_broadcast& ring) noexcept : ring_(&ring) {}

    /// Copies `bytes` bytes from global memory at `from` into the next stage, once it is free in all blocks. `bytes` must be a
    /// multiple of 16 and at most `StageBytes`, and `from` must be aligned to 16 bytes. If this kernel wrote `from` with
    /// ordinary stores, a proxy fence must precede the call.
    __device__ wait_result fill(const void* from, unsigned bytes, wait_budget budget) noexcept {
      detail::require_tile<StageBytes>(bytes);
      // the phase before the first phase counts as complete, so every stage is initially free
      if (ring_->empty_[at_.stage].wait_parity(at_.parity ^ 1U, acquire, budget) != wait_result::done) {
        return wait_result::timed_out;
      }
      shared_proxy_fence(acquire);  // orders the consumers' accesses to their stages before the copies
      cluster_mbarrier& full = ring_->full_[at_.stage];
      void* const to = ring_->memory_[at_.stage];
      if constexpr (Copies == cluster_copies::multicast) {
        const unsigned blocks = cluster_block_count();
        const transaction_bytes brought =
            bulk_load_multicast(to, from, bytes, full, static_cast<std::uint16_t>((1U << blocks) - 1U));
        for (unsigned rank = 0; rank < blocks; ++rank) {
          full.in_block(rank).arrive_expect(brought, relaxed);
        }
      } else {
        // released to the relay, so that the accesses of the other blocks' consumers are also ordered before the relay's copies
        in_block(full).arrive_expect(bulk_load(to, from, bytes, full), release);
      }
      at_.advance();
      return wait_result::done;
    }

   private:
    cluster_broadcast* ring_;
    position at_;
  };

  /// Passes relayed tiles on to the other blocks. One thread in the block of rank 0, other than the producer, uses it.
  class relay {
    static_assert(
        Copies == cluster_copies::relayed,
        "membar: multicast tiles reach all blocks at once and cannot be relayed: use relay only with cluster_copies::relayed");

   public:
    __device__ explicit relay(cluster_broadcast& ring) noexcept : ring_(&ring) {}

    /// Waits for the next tile and starts to copy its `bytes` bytes to each other block. `bytes` must be the number that was
    /// passed to `fill`.
    __device__ wait_result pass_on(unsigned bytes, wait_budget budget) noexcept {
      cluster_mbarrier& full = ring_->full_[at_.stage];
      if (in_block(full).wait_parity(at_.parity, acquire, budget) != wait_result::done) {
        return wait_result::timed_out;
      }
      void* const stage = ring_->memory_[at_.stage];
      for (unsigned rank = 1; rank < cluster_block_count(); ++rank) {
        full.in_block(rank).arrive_expect(bulk_send(stage, rank, stage, bytes, full), relaxed);
      }
      at_.advance();
      return wait_result::done;
    }

   private:
    cluster_broadcast* ring_;
    position at_;
  };

  /// The result of taking a tile. If a tile was taken, `memory` is the stage in the consumer's own block, which is valid until
  /// the tile is released.
  using tile = detail::taken_tile;

  /// A consumer's end, which one thread of any block uses. It may hold several tiles, and releases them in order.
  class consumer {
   public:
    __device__ explicit consumer(cluster_broadcast& ring) noexcept : ring_(&ring) {}

    /// Waits for the next tile.
    __device__ tile take(wait_budget budget) noexcept {
      // block scope is sufficient: the completion of a copy is visible to a wait of any scope
      block_mbarrier& full = in_block(ring_->full_[at_.stage]);
      if (full.wait_parity(at_.parity, acquire, budget) != wait_result::done) {
        return {wait_result::timed_out, nullptr};
      }
      void* const memory = ring_->memory_[at_.stage];
      at_.advance();
      return {wait_result::done, memory};
    }

    /// Releases the oldest tile that this consumer holds. If the consumer has started bulk copies out of the stage, it must
    /// have executed `proxy_fence<proxy::async_shared_block>` before starting them, because another block's copy wrote the
    /// tile. In addition, these copies must have read their source: call `bulk_wait_read` first.
    __device__ void give_back() noexcept {
      shared_proxy_fence(release);  // orders this thread's accesses to the stage before the copies that fill it again
      ring_->empty_[back_.stage].in_block(0).arrive(release);
      back_.advance();
    }

   private:
    cluster_broadcast* ring_;
    position at_;
    position back_;
  };

 private:
  /// Returns the barrier for synchronization within its own block only, because ordering at cluster scope costs a fence of that
  /// scope.
  [[nodiscard]] __device__ static block_mbarrier& in_block(cluster_mbarrier& barrier) noexcept {
    return block_mbarrier::of(barrier.native_handle());
  }

  static constexpr int room = Stages > 0 ? Stages : 1;  // avoids further messages if `Stages` is invalid
  alignas(128) unsigned char memory_[static_cast<std::size_t>(room)][StageBytes];
  cluster_mbarrier full_[static_cast<std::size_t>(room)];
  cluster_mbarrier empty_[static_cast<std::size_t>(room)];  ///< used only in the block of rank 0
};

}  // namespace v0_3
}  // namespace membar
