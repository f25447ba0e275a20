// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
/// @file
/// A ring of stages in the shared memory of each block of a cluster: one thread brings tiles of global memory, and all blocks consume
/// them.
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
inline namespace v0_2 {

/// How a tile reaches all blocks of a cluster.
enum class cluster_copies : unsigned char {
  relayed,  ///< a copy from global memory into the first block, then one from there to each other block, which a thread starts;
            ///< consumers of the first block only read
  multicast  ///< one copy from global memory into all; ptxas advises to compile it for sm_90a: elsewhere it may be slow
};

/// A ring of `Stages` stages of `StageBytes` bytes each in the shared memory of each block of a cluster. One thread fills them with
/// tiles of global memory by bulk copies, each read from global memory once. In each block the same number of threads consumes the
/// tiles, in order, each tile taken by every consumer from its own block's stage.
///
/// It lives at the same place of each block's shared memory. One thread of each block calls `init`, and a `cluster_sync` follows; another
/// one comes after the last use. The block of rank 0 in the cluster has one thread with a `producer` and, if the tiles are relayed, one
/// with a `relay`; each consuming thread of any block has a `consumer`.
///
/// Synchronizes: what a tile brought is visible to a consumer whose `take` is done. A tile is brought into a stage after all consumers
/// of the cluster have given the tile before it back: what they did with the stage comes before, ordinary loads and stores included.
/// It does not guarantee: that a consumer sees what the producer's thread itself stored; anything among consumers. Relayed tiles are
/// copied out of the stages of the block of rank 0 while its consumers have them: they only read, and what they stored there could reach
/// the other blocks. Consumers of other blocks, and of multicast tiles, may write into the stage.
/// Ends: no stage is free, or no tile is there, for the whole budget: `timed_out`, and nothing has changed.
///
/// PTX: fill: `mbarrier.try_wait.parity.acquire.cluster`, `fence.proxy.async::generic.acquire.sync_restrict::shared::cluster.cluster`, then
/// if multicast `cp.async.bulk.shared::cluster.global.multicast::cluster` and for each block `mapa`,
/// `mbarrier.arrive.expect_tx.relaxed.cluster`, else `cp.async.bulk.shared::cta.global`, `mbarrier.arrive.expect_tx.release.cta`. pass_on:
/// `mbarrier.try_wait.parity.acquire.cta`, for each other block `cp.async.bulk.shared::cluster.shared::cta`,
/// `mbarrier.arrive.expect_tx.relaxed.cluster`. take: `mbarrier.try_wait.parity.acquire.cta`. give_back:
/// `fence.proxy.async::generic.release.sync_restrict::shared::cta.cluster`, `mapa`, `mbarrier.arrive.release.cluster`. Requires: compute
/// capability 9.0; `StageBytes` a multiple of 16; a cluster of at most 16 blocks.
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

  /// Initializes an empty ring for this number of consumers in each block. One thread of each block calls it, and a `cluster_sync` follows.
  __device__ void init(unsigned consumers) noexcept {
    for (int i = 0; i < Stages; ++i) {
      full_[i].init(1);
      empty_[i].init(consumers * cluster_block_count());
    }
    mbarrier_init_fence();
  }

  /// The producer's end, of one thread of the block of rank 0.
  class producer {
   public:
    __device__ explicit producer(cluster_broadcast& ring) noexcept : ring_(&ring) {}

    /// Brings `bytes` bytes from global memory at `from` into the next stage, once it is free in all blocks. `bytes` is a multiple of 16
    /// and at most `StageBytes`, `from` a multiple of 16. Ordinary stores to `from` in this kernel need a proxy fence before.
    __device__ wait_result fill(const void* from, unsigned bytes, wait_budget budget) noexcept {
      detail::require_tile<StageBytes>(bytes);
      // the phase before the first is complete: so every stage is free at first
      if (ring_->empty_[at_.stage].wait_parity(at_.parity ^ 1U, acquire, budget) != wait_result::done) {
        return wait_result::timed_out;
      }
      shared_proxy_fence(acquire);  // what the consumers did with their stages, then the copies
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
        // released to the relay: what the consumers of the other blocks did comes before its copies too
        in_block(full).arrive_expect(bulk_load(to, from, bytes, full), release);
      }
      at_.advance();
      return wait_result::done;
    }

   private:
    cluster_broadcast* ring_;
    position at_;
  };

  /// Passes relayed tiles on to the other blocks: of one thread of the block of rank 0, not that of the producer.
  class relay {
    static_assert(
        Copies == cluster_copies::relayed,
        "membar: multicast tiles reach all blocks at once and cannot be relayed: use relay only with cluster_copies::relayed");

   public:
    __device__ explicit relay(cluster_broadcast& ring) noexcept : ring_(&ring) {}

    /// Waits for the next tile and begins to copy its `bytes` bytes, as many as `fill` was told, to each other block.
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

  /// A tile that was taken, if it was: its `result`, and its own block's stage in `memory`, until it is released.
  using tile = detail::taken_tile;

  /// A consumer's end, of one thread of any block. It may hold several tiles, and releases them in order.
  class consumer {
   public:
    __device__ explicit consumer(cluster_broadcast& ring) noexcept : ring_(&ring) {}

    /// Waits for the next tile.
    __device__ tile take(wait_budget budget) noexcept {
      // block scope is enough: the completion of a copy is visible to a wait of any scope
      block_mbarrier& full = in_block(ring_->full_[at_.stage]);
      if (full.wait_parity(at_.parity, acquire, budget) != wait_result::done) {
        return {wait_result::timed_out, nullptr};
      }
      void* const memory = ring_->memory_[at_.stage];
      at_.advance();
      return {wait_result::done, memory};
    }

    /// Releases the oldest tile that this consumer holds. Its own bulk copies out of the stage began after
    /// `proxy_fence<proxy::async_shared_block>`, because another block's copy brought the tile, and have been read: `bulk_wait_read`.
    __device__ void give_back() noexcept {
      shared_proxy_fence(release);  // what this thread did with the stage, then the copies that fill it again
      ring_->empty_[back_.stage].in_block(0).arrive(release);
      back_.advance();
    }

   private:
    cluster_broadcast* ring_;
    position at_;
    position back_;
  };

 private:
  /// A barrier as threads of its own block use it among themselves: at cluster scope an order costs a fence of that scope.
  [[nodiscard]] __device__ static block_mbarrier& in_block(cluster_mbarrier& barrier) noexcept {
    return block_mbarrier::of(barrier.native_handle());
  }

  static constexpr int room = Stages > 0 ? Stages : 1;  // so that the compiler prints a single message
  alignas(128) unsigned char memory_[static_cast<std::size_t>(room)][StageBytes];
  cluster_mbarrier full_[static_cast<std::size_t>(room)];
  cluster_mbarrier empty_[static_cast<std::size_t>(room)];  ///< used in the block of rank 0
};

}  // namespace v0_2
}  // namespace membar
