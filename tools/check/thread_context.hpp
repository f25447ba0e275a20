// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
/// @file
/// A thread's position in its launch, and the values of its special registers.
#pragma once

#include <membar/model/program.hpp>
#include <ptx/decode.hpp>
#include <ptx/instruction.hpp>

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

namespace membar::check {

using namespace ptx;

/// The results of liveness.hpp for a thread's registers, per instruction. A set of registers is a bit set of their words.
struct register_use {
  using set = std::vector<std::uint64_t>;

  /// at loop heads and at events: the registers that can still affect an event; empty elsewhere
  std::vector<set> live{};
  /// at the same instructions: the registers in `live` and those that decide a branch; no sets if every loop has an event
  std::vector<set> deciding{};
  std::vector<bool> discarded{};  ///< whether it is a weak load whose value this thread never uses
  std::vector<bool> unused{};     ///< whether it is a read-modify-write without a result, or with a result that is never needed
  bool asks_pending = false;      ///< whether any instruction queries the number of pending arrivals at an mbarrier
};

/// A thread's launch data, and the place where the thread runs.
struct thread_context {
  const kernel_code* kernel = nullptr;
  std::array<std::uint32_t, 3> thread{};
  std::array<std::uint32_t, 3> threads{1, 1, 1};
  std::array<std::uint32_t, 3> block{};
  std::array<std::uint32_t, 3> blocks{1, 1, 1};
  int number_in_program = 0;
  int launch = 0;
  int block_number = 0;            ///< the block's number among all blocks of the program
  std::uint32_t cluster_rank = 0;  ///< the block's rank in its cluster
  std::uint32_t cluster_blocks = 1;
  bool explicit_cluster = false;
  bool pairs = false;  ///< whether the kernel has instructions for pairs of blocks, which then share their proxies
  int copies_of = -1;  ///< if not -1: the thread whose asynchronous operation this thread performs
  /// for an asynchronous operation: the number of threads that start the operation together; `copies_of` is the first of these
  /// threads
  int starters = 1;
  model::place where{};
  std::uint32_t dynamic_shared = 0;
  std::uint64_t workspace = 0;  ///< the address at which cooperative groups store the grid's barrier
  std::vector<std::uint8_t> parameters{};
  std::uint64_t parameters_at = 0;  ///< the generic address of the parameters; 0 if the kernel does not take it
  std::shared_ptr<const register_use> registers{};

  [[nodiscard]] std::uint64_t shared_base() const noexcept {
    return shared_window + (static_cast<std::uint64_t>(block_number) << 32U);
  }
  [[nodiscard]] std::uint64_t local_base() const noexcept {
    return local_window + (static_cast<std::uint64_t>(number_in_program) << 32U);
  }
  /// Returns the address at which a block's tensor memory begins. Instructions specify a lane in the upper 16 bits of an
  /// address and a column in the lower bits.
  [[nodiscard]] static std::uint64_t tensor_base(int block) noexcept {
    return tensor_window + (static_cast<std::uint64_t>(block) << 32U);
  }
  /// Returns whether a block is this thread's own block or, if the kernel has instructions for pairs, the other block of its
  /// pair.
  [[nodiscard]] bool is_of_pair(int other) const noexcept {
    return other == block_number || (pairs && other == block_number + (cluster_rank % 2 == 0 ? 1 : -1));
  }
  /// Returns the block whose shared memory contains the given generic address.
  [[nodiscard]] static int block_of(std::uint64_t address) noexcept {
    return static_cast<int>((address - shared_window) >> 32U);
  }
  [[nodiscard]] bool is_in_cluster(std::uint64_t address) const noexcept {
    const int rank = block_of(address) - (block_number - static_cast<int>(cluster_rank));
    return rank >= 0 && rank < static_cast<int>(cluster_blocks);
  }
  /// Converts an address in shared memory to a generic address. The address is in the thread's own block, or in another block
  /// of its cluster if `mapa` returned it.
  [[nodiscard]] std::uint64_t from_shared(std::uint64_t address) const noexcept {
    const std::uint64_t rank = truncated(address, 32) >> block_shift;
    const std::uint64_t number = static_cast<std::uint64_t>(block_number) - cluster_rank + rank - 1;
    return rank == 0                ? shared_base() + truncated(address, 32)
           : rank <= cluster_blocks ? shared_window + (number << 32U) + truncated(address, block_shift)
                                    : shared_window - 1;  // an address in no object
  }
  /// Converts a generic address to an address in shared memory.
  [[nodiscard]] std::uint64_t to_shared(std::uint64_t address) const noexcept {
    const std::uint64_t number = (address - shared_window) >> 32U;
    const std::uint64_t rank = number - (static_cast<std::uint64_t>(block_number) - cluster_rank);
    return number == static_cast<std::uint64_t>(block_number) || rank >= cluster_blocks
               ? address - shared_base()
               : in_block(static_cast<std::uint32_t>(rank), address);
  }
  /// `mapa`: returns the address of the same location in another block's shared memory.
  [[nodiscard]] static std::uint64_t in_block(std::uint32_t rank, std::uint64_t address) noexcept {
    return (std::uint64_t{rank} + 1) << block_shift | truncated(address, block_shift);
  }
  /// `getctarank` of an address in shared memory.
  [[nodiscard]] std::uint32_t rank_of(std::uint64_t address) const noexcept {
    const auto rank = static_cast<std::uint32_t>(truncated(address, 32) >> block_shift);
    return rank == 0 ? cluster_rank : rank - 1;
  }
  [[nodiscard]] std::uint32_t number_in_block() const noexcept {
    return thread[0] + threads[0] * (thread[1] + threads[1] * thread[2]);
  }
  [[nodiscard]] std::uint32_t block_size() const noexcept { return threads[0] * threads[1] * threads[2]; }
};

/// The value of every clock. Time does not advance, so no wait reaches its time limit.
inline constexpr std::uint64_t frozen_time = 1;

/// Returns the value of a special register.
[[nodiscard]] inline std::uint64_t special_value(special which, const thread_context& c) noexcept {
  const std::uint32_t lane = c.number_in_block() % 32;
  const std::uint64_t bit = std::uint64_t{1} << lane;
  switch (which) {
    case special::thread_x:
    case special::thread_y:
    case special::thread_z:
      return c.thread[static_cast<std::size_t>(which) - static_cast<std::size_t>(special::thread_x)];
    case special::threads_x:
    case special::threads_y:
    case special::threads_z:
      return c.threads[static_cast<std::size_t>(which) - static_cast<std::size_t>(special::threads_x)];
    case special::block_x:
    case special::block_y:
    case special::block_z:
      return c.block[static_cast<std::size_t>(which) - static_cast<std::size_t>(special::block_x)];
    case special::blocks_x:
    case special::blocks_y:
    case special::blocks_z:
      return c.blocks[static_cast<std::size_t>(which) - static_cast<std::size_t>(special::blocks_x)];
    case special::lane:
      return lane;
    case special::warp:
      return c.number_in_block() / 32;
    case special::warps:
      return (c.block_size() + 31) / 32;
    case special::workspace_high:
      return c.workspace >> 32U;
    case special::workspace_low:
      return truncated(c.workspace, 32);
    case special::lanes_equal:
      return bit;
    case special::lanes_less:
      return bit - 1;
    case special::lanes_less_equal:
      return 2 * bit - 1;
    case special::lanes_greater:
      return 0xffffffffU & ~(2 * bit - 1);
    case special::lanes_greater_equal:
      return 0xffffffffU & ~(bit - 1);
    case special::cluster_rank:
      return c.cluster_rank;
    case special::cluster_blocks:
      return c.cluster_blocks;
    case special::cluster:
      return c.block[0] / c.cluster_blocks;
    case special::clusters:
      return c.blocks[0] / c.cluster_blocks;
    case special::explicit_cluster:
      return c.explicit_cluster ? 1 : 0;
    case special::dynamic_shared:
      return c.dynamic_shared;
    case special::unknown:
    case special::zero:
      return 0;
    case special::one:
      return 1;
    case special::clock:
    case special::nanoseconds:
      return frozen_time;
  }
  return 0;
}

}  // namespace membar::check
