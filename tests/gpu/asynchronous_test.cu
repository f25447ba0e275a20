// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Bulk and small copies, remote stores, cluster barriers and dependent launches: all data arrives untorn. Further tests contain
// six faults that users of other libraries reported (tests/litmus/catalogue, Report). The repaired kernels must not read any
// stale value. The tests record how often the faulty kernels read one, but do not require it, because hardware need not show
// everything that the model allows.
#include <membar/async_copy.cuh>
#include <membar/bulk_copy.cuh>
#include <membar/cluster_barrier.cuh>
#include <membar/dependent_launch.cuh>
#include <membar/fence.cuh>
#include <membar/load_store.cuh>
#include <membar/mbarrier.cuh>

#include <tests/common/checked.cuh>
#include <tests/common/gpu_test.hpp>
#include <tests/common/sync.cuh>

#include <cuda.h>
#include <cuda/ptx>

#include <iostream>

namespace membar_test {
namespace {

using membar::acquire, membar::proxy, membar::release;
using block_mbarrier = membar::mbarrier<thread_scope::block>;
using cluster_mbarrier = membar::mbarrier<thread_scope::cluster>;

struct outcome {
  unsigned long long runs;
  unsigned long long stale;
  unsigned late;
};

__device__ void count(outcome* seen, unsigned long long runs, unsigned long long stale, bool late) {
  atomicAdd(&seen->runs, runs);
  atomicAdd(&seen->stale, stale);
  if (late) {
    atomicExch(&seen->late, 1U);
  }
}

// ---- copies arrive

/// Two blocks of a cluster: the first block sends its shared memory to the second, which checks it and adds it to a sum in
/// global memory.
__global__ void send_and_reduce(outcome* seen, unsigned* sum, unsigned rounds) {
  __shared__ alignas(16) unsigned here[64];
  __shared__ alignas(16) unsigned there[64];
  __shared__ cluster_mbarrier full;
  const unsigned rank = membar::cluster_block_rank();
  if (threadIdx.x == 0) {
    full.init(1);
    membar::mbarrier_init_fence();
  }
  there[threadIdx.x] = 0;
  membar::proxy_fence<proxy::async_shared_block>();
  bool late = membar::cluster_block_count() != 2;
  unsigned long long stale = 0;
  membar::cluster_sync<membar::warp_execution::together>();
  for (unsigned round = 0; round < rounds; ++round) {
    if (rank == 0) {
      here[threadIdx.x] = round + threadIdx.x;
      membar::proxy_fence<proxy::async_shared_block>();
      __syncthreads();
      if (threadIdx.x == 0) {
        static_cast<void>(membar::bulk_send(there, 1, here, sizeof(here), full));  // The other block expects the bytes.
      }
    } else {
      if (threadIdx.x == 0) {
        full.arrive_expect(sizeof(there), release);
      }
      late = late || full.wait_parity(round % 2, acquire, generous) != wait_result::done;
      stale += checked(there[threadIdx.x] != round + threadIdx.x);
      // Orders the loads above before copies that read or overwrite the memory.
      membar::proxy_fence<proxy::async_shared_block>();
      __syncthreads();
      if (threadIdx.x == 0) {
        membar::bulk_commit(membar::bulk_reduce<membar::async_operation::add>(sum, there, sizeof(there)));
        membar::bulk_wait_read();
      }
    }
    const membar::cluster_arrival arrival = membar::cluster_arrive(release);
    membar::cluster_wait(arrival);
  }
  if (rank == 1 && threadIdx.x == 0) {
    membar::bulk_wait();
  }
  count(seen, 1, stale, late);
}

/// Each block of a cluster reads the next block's shared memory.
__global__ void read_neighbour(outcome* seen, unsigned rounds) {
  __shared__ unsigned value;
  const unsigned rank = membar::cluster_block_rank();
  const unsigned blocks = membar::cluster_block_count();
  unsigned long long stale = 0;
  for (unsigned round = 0; round < rounds; ++round) {
    if (threadIdx.x == 0) {
      value = round * 16 + rank;
    }
    if (round % 2 == 0) {
      membar::cluster_sync();
    } else {
      membar::thread_fence<thread_scope::cluster>(release);
      membar::cluster_wait(membar::cluster_arrive(membar::relaxed));
    }
    const unsigned other = (rank + 1) % blocks;
    stale += checked(*membar::shared_of_block(&value, other) != round * 16 + other);
    membar::cluster_sync();
  }
  count(seen, rounds, stale, false);
}

/// Uses `cp.async` to copy tiles of 16-byte words through two stages. The copies complete either in groups or on the stage's
/// mbarrier. The last tile is not full. Each thread reads the data that its neighbour copied.
template <bool OnMbarrier, membar::async_caching Caching>
__global__ void copy_by_word(outcome* seen, const uint4* from, uint4* to, unsigned words) {
  __shared__ uint4 stage[2][64];
  __shared__ block_mbarrier full[2];
  if (threadIdx.x == 0) {
    full[0].init(blockDim.x);
    full[1].init(blockDim.x);
  }
  __syncthreads();
  const unsigned tiles = (words + blockDim.x - 1) / blockDim.x;
  const auto fetch = [&](unsigned tile) {
    const unsigned at = tile * blockDim.x + threadIdx.x;
    const auto copy = membar::async_copy_first<Caching>(&stage[tile % 2][threadIdx.x], from + (at < words ? at : 0),
                                                        at < words ? static_cast<unsigned>(sizeof(uint4)) : 0U);
    if constexpr (OnMbarrier) {
      membar::async_arrive(copy, full[tile % 2]);
    } else {
      membar::async_commit(copy);
    }
  };
  bool late = false;
  unsigned long long stale = 0;
  fetch(0);
  for (unsigned tile = 0; tile < tiles && !late; ++tile) {
    fetch(tile + 1);
    if constexpr (OnMbarrier) {
      late = full[tile % 2].wait_parity(tile / 2 % 2, acquire, generous) != wait_result::done;
    } else {
      membar::async_wait<1>();
      __syncthreads();
    }
    const unsigned taken = (threadIdx.x + 1) % blockDim.x;
    const unsigned at = tile * blockDim.x + taken;
    const uint4 value = stage[tile % 2][taken];
    if (at < words) {
      to[at] = value;
    } else {
      stale += checked(value.x != 0 || value.w != 0);  // past the end: zeros
    }
    late = __syncthreads_or(late);  // all threads have read their words
  }
  if constexpr (OnMbarrier) {  // Wait for the copy that was started ahead of the last tile.
    late = late || full[tiles % 2].wait_parity(tiles / 2 % 2, acquire, generous) != wait_result::done;
  } else {
    membar::async_wait();
  }
  count(seen, tiles, stale, late);
}

/// Copies whose arrivals are in addition to the arrivals that the phase expects.
__global__ void arrive_beside(outcome* seen, const unsigned* from, unsigned rounds) {
  __shared__ unsigned stage[64];
  __shared__ block_mbarrier full;
  if (threadIdx.x == 0) {
    full.init(blockDim.x);
  }
  __syncthreads();
  bool late = false;
  unsigned long long stale = 0;
  for (unsigned round = 0; round < rounds && !late; ++round) {
    membar::async_arrive_beside(membar::async_copy(&stage[threadIdx.x], from + round + threadIdx.x), full);
    const auto phase = full.arrive(release);
    late = full.wait(phase, acquire, generous) != wait_result::done;
    const unsigned taken = (threadIdx.x + 1) % blockDim.x;
    stale += checked(stage[taken] != from[round + taken]);
    late = __syncthreads_or(late);
  }
  count(seen, rounds, stale, late);
}

/// Each block of a cluster stores 16 bytes to the next block and adds to a sum there; both operations complete on the next
/// block's mbarrier.
__global__ void store_in_next(outcome* seen, unsigned rounds) {
  __shared__ uint4 from_left;
  __shared__ unsigned long long sum;
  __shared__ cluster_mbarrier arrived;
  const unsigned rank = membar::cluster_block_rank();
  const unsigned blocks = membar::cluster_block_count();
  const unsigned right = (rank + 1) % blocks;
  const unsigned left = (rank + blocks - 1) % blocks;
  arrived.init(1);
  sum = 0;
  membar::mbarrier_init_fence();
  unsigned long long stale = 0;
  unsigned long long expected = 0;
  bool late = false;
  for (unsigned round = 0; round < rounds && !late; ++round) {
    arrived.arrive_expect(sizeof(from_left) + sizeof(sum), release);
    membar::cluster_sync();  // The previous round's sums and stores have been read.
    const auto bytes = membar::async_store(&from_left, right, {round, rank, ~round, ~rank}, arrived) +
                       membar::async_reduce<membar::async_operation::add>(&sum, right, 3ULL * round + rank, arrived);
    late = bytes != sizeof(from_left) + sizeof(sum) || arrived.wait_parity(round % 2, acquire, generous) != wait_result::done;
    expected += 3ULL * round + left;
    stale += checked(from_left.x != round || from_left.y != left || from_left.z != ~round || from_left.w != ~left);
    stale += checked(sum != expected);
  }
  membar::cluster_sync();
  count(seen, rounds, stale, late);
}

constexpr int box_width = 32;
constexpr int box_height = 8;

// The tensor copies are started with libcu++ functions and complete on membar's mbarriers; membar's fences, groups and waits
// order them.
namespace ptx = cuda::ptx;

template <class Barrier>
__device__ std::uint64_t* native(Barrier& barrier) {
  return reinterpret_cast<std::uint64_t*>(barrier.native_handle());
}

/// Copies boxes of one tensor to the same places in another tensor, and then adds each box there one more time. The last boxes
/// are partly outside the tensor.
__global__ void copy_boxes(outcome* seen, const __grid_constant__ CUtensorMap from, const __grid_constant__ CUtensorMap to) {
  __shared__ alignas(128) unsigned box[box_height][box_width];
  __shared__ block_mbarrier full;
  const int place[] = {static_cast<int>(blockIdx.x) * box_width, static_cast<int>(blockIdx.y) * box_height};
  full.init(1);
  membar::mbarrier_init_fence();
  full.arrive_expect(sizeof(box), release);
  ptx::cp_async_bulk_tensor(ptx::space_shared, ptx::space_global, box, &from, place, native(full));
  const bool late = full.wait_parity(0, acquire, generous) != wait_result::done;
  ptx::cp_async_bulk_tensor(ptx::space_global, ptx::space_shared, &to, place, box);
  ptx::cp_async_bulk_commit_group();
  membar::bulk_wait();  // The sum comes after the copy.
  ptx::cp_reduce_async_bulk_tensor(ptx::space_global, ptx::space_shared, ptx::op_add, &to, place, box);
  ptx::cp_async_bulk_commit_group();
  membar::bulk_wait();
  count(seen, 1, 0, late);
}

/// The first block of a cluster copies a box to all blocks. Each block then writes the box to its own place.
__global__ void share_boxes(outcome* seen, const __grid_constant__ CUtensorMap from, unsigned* to) {
  __shared__ alignas(128) unsigned box[box_height * box_width];
  __shared__ cluster_mbarrier full;
  const int place[] = {box_width, box_height};
  full.init(1);
  membar::mbarrier_init_fence();
  full.arrive_expect(sizeof(box), release);
  membar::cluster_sync();
  const unsigned blocks = membar::cluster_block_count();
  if (membar::cluster_block_rank() == 0) {
    ptx::cp_async_bulk_tensor(ptx::space_cluster, ptx::space_global, box, &from, place, native(full),
                              static_cast<std::uint16_t>((1U << blocks) - 1));
  }
  const bool late = full.wait_parity(0, acquire, generous) != wait_result::done;
  for (unsigned i = 0; i < box_height * box_width; ++i) {
    to[membar::cluster_block_rank() * box_height * box_width + i] = box[i];
  }
  membar::cluster_sync();
  count(seen, 1, 0, late);
}

constexpr int column_channels = 32;
constexpr int column_pixels = 16;

/// Copies the column of pixels that begins before the first pixel of image 1, for each offset within a 3-by-3 filter.
__global__ void take_columns(outcome* seen, const __grid_constant__ CUtensorMap from, unsigned* to) {
  __shared__ alignas(128) unsigned column[column_pixels * column_channels];
  __shared__ block_mbarrier full;
  full.init(1);
  membar::mbarrier_init_fence();
  bool late = false;
  for (unsigned offset = 0; offset < 9; ++offset) {
    full.arrive_expect(sizeof(column), release);
    // libcu++ 3.0 has no copy in im2col mode.
    asm volatile(
        "cp.async.bulk.tensor.4d.shared::cta.global.im2col.mbarrier::complete_tx::bytes [%0], [%1, {%2, %3, %3, %4}], [%5], "
        "{%6, %7};" ::"r"(static_cast<unsigned>(__cvta_generic_to_shared(column))),
        "l"(&from), "r"(0), "r"(-1), "r"(1), "r"(static_cast<unsigned>(__cvta_generic_to_shared(full.native_handle()))),
        "h"(static_cast<std::uint16_t>(offset % 3)), "h"(static_cast<std::uint16_t>(offset / 3))
        : "memory");
    late = late || full.wait_parity(offset % 2, acquire, generous) != wait_result::done;
    for (unsigned i = 0; i < column_pixels * column_channels; ++i) {
      to[offset * column_pixels * column_channels + i] = column[i];
    }
    membar::proxy_fence<proxy::async_shared_block>();  // Orders the loads above before a copy that overwrites what they read.
  }
  count(seen, 1, 0, late);
}

// ---- DeepEP #621: a flag through the generic proxy, then a bulk copy of the data that the flag announces

struct mailbox {
  alignas(128) unsigned data[256];
  alignas(128) unsigned flag;
  alignas(128) unsigned answer;
};

template <bool Repaired>
__global__ void load_after_flag(outcome* seen, mailbox* boxes, unsigned rounds) {
  __shared__ alignas(128) unsigned stage[256];
  __shared__ block_mbarrier full;
  mailbox& box = boxes[blockIdx.x / 2];
  if (threadIdx.x == 0) {
    full.init(1);
    membar::mbarrier_init_fence();
  }
  __syncthreads();
  unsigned long long stale = 0;
  unsigned round = 1;
  bool late = false;
  for (; round <= rounds && !late; ++round) {
    if (blockIdx.x % 2 == 0) {
      late = !wait_for(generous, [&] { return membar::load<thread_scope::device>(&box.answer, acquire) == round - 1; });
      __syncthreads();
      box.data[threadIdx.x] = round;
      __syncthreads();
      if (threadIdx.x == 0) {
        membar::store<thread_scope::device>(&box.flag, round, release);
      }
    } else {
      if (threadIdx.x == 0) {
        late = !wait_for(generous, [&] { return membar::load<thread_scope::device>(&box.flag, acquire) == round; });
        if constexpr (Repaired) {
          membar::proxy_fence<proxy::async_global>();
        }
        full.arrive_expect(membar::bulk_load(stage, box.data, sizeof(stage), full), release);
      }
      late = late || full.wait_parity((round - 1) % 2, acquire, generous) != wait_result::done;
      stale += checked(stage[threadIdx.x] != round);
      membar::proxy_fence<proxy::async_shared_block>();
      __syncthreads();
      if (threadIdx.x == 0) {
        membar::store<thread_scope::device>(&box.answer, round, release);
      }
    }
    late = __syncthreads_or(late);
  }
  count(seen, round - 1, stale, late);
}

// ---- DeepEP #657: a stage that is refilled while a copy still reads it

template <bool Repaired>
__global__ void reuse_stage(outcome* seen, const uint4* from, uint4* to, unsigned tiles, unsigned tile) {
  extern __shared__ uint4 memory[];
  __shared__ block_mbarrier full;
  full.init(1);
  membar::mbarrier_init_fence();
  const unsigned bytes = tile * sizeof(uint4);
  const uint4* const source = from + static_cast<std::size_t>(blockIdx.x) * tiles * tile;
  uint4* const target = to + static_cast<std::size_t>(blockIdx.x) * tiles * tile;
  bool late = false;
  for (unsigned i = 0; i < tiles && !late; ++i) {
    membar::bulk_wait_read<Repaired ? 0 : 1>();
    full.arrive_expect(membar::bulk_load(memory, source + i * tile, bytes, full), release);
    late = full.wait_parity(i % 2, acquire, generous) != wait_result::done;
    membar::bulk_commit(membar::bulk_store(target + i * tile, memory, bytes));
  }
  membar::bulk_wait();
  unsigned long long stale = 0;
  for (unsigned i = 0; i < tiles * tile; ++i) {
    stale += checked(target[i].x != source[i].x);
  }
  count(seen, tiles, stale, late);
}

// ---- NVIDIA/nccl-extensions #8: ordinary stores, a barrier, a bulk copy that reads them

template <bool Repaired>
__global__ void store_after_barrier(outcome* seen, unsigned* to, unsigned rounds) {
  extern __shared__ uint4 memory[];
  unsigned* const stage = reinterpret_cast<unsigned*>(memory);
  unsigned* const target = to + blockIdx.x * blockDim.x;
  unsigned long long stale = 0;
  for (unsigned round = 1; round <= rounds; ++round) {
    stage[threadIdx.x] = round;
    if constexpr (Repaired) {
      membar::proxy_fence<proxy::async_shared_block>();
    }
    __syncthreads();
    if (threadIdx.x == 0) {
      membar::bulk_commit(membar::bulk_store(target, stage, blockDim.x * sizeof(unsigned)));
      membar::bulk_wait();
    }
    __syncthreads();
    stale += checked(membar::load_weak(target + threadIdx.x) != round);
    membar::proxy_fence<proxy::async>();  // Orders the loads above before the next copy.
    __syncthreads();
  }
  count(seen, rounds, stale, false);
}

// ---- CCCL #3131, CUTLASS #2962, llama.cpp #23690: dependent launches

constexpr wait_budget long_enough = wait_budget::microseconds(20);  ///< Long enough for the next kernel to start.

__global__ void write_late(unsigned* value, unsigned round) {
  membar::launch_dependents();
  wait_for(long_enough);
  *value = round;
}

template <bool Repaired>
__global__ void pass_on(unsigned* other, unsigned round) {
  if constexpr (Repaired) {
    membar::wait_for_prerequisites();
  }
  membar::launch_dependents();
  *other = round;
}

template <bool Repaired>
__global__ void read_value(const unsigned* value, unsigned round, outcome* seen) {
  if constexpr (Repaired) {
    membar::wait_for_prerequisites();
  }
  const unsigned found = membar::load<thread_scope::device>(value, membar::relaxed);
  count(seen, 1, checked(found != round), false);
}

__global__ void write_table_late(const unsigned** table, const unsigned* entry) {
  membar::launch_dependents();
  wait_for(long_enough);
  *table = entry;
}

template <bool Repaired>
__global__ void follow_table(const unsigned* const* table, const unsigned* entry, outcome* seen) {
  const unsigned* found = nullptr;
  if constexpr (Repaired) {
    membar::wait_for_prerequisites();
    found = membar::load<thread_scope::device>(table, membar::relaxed);
  } else {
    found = membar::load<thread_scope::device>(table, membar::relaxed);
    membar::wait_for_prerequisites();
  }
  count(seen, 1, checked(found != entry), false);
}

class asynchronous : public gpu_test {
 protected:
  void prepare() override { need_compute_capability(9, "bulk copies, clusters and dependent launches"); }

  static outcome of(const support::device_memory<outcome>& seen) {
    const outcome got = copied(seen)[0];
    EXPECT_EQ(got.late, 0U);
    EXPECT_GT(got.runs, 0U);
    return got;
  }

  /// Runs the repaired kernels, which must not read stale values, and then the faulty kernels, whose results are recorded.
  template <class Run>
  void expect_repair(Run run) {
    const outcome repaired = run(std::true_type{});
    EXPECT_EQ(repaired.stale, 0U) << "of " << repaired.runs;
    const outcome reported = run(std::false_type{});
    RecordProperty("stale", std::to_string(reported.stale));
    RecordProperty("runs", std::to_string(reported.runs));
    std::cout << "[ REPORTED ] the kernel as reported: " << reported.stale << " stale values in " << reported.runs
              << " runs; repaired: " << repaired.stale << " in " << repaired.runs << '\n';
  }
};

const auto overlapping = membar::programmatic_stream_serialization{true};

TEST_F(asynchronous, copies_between_blocks_arrive_whole_and_reductions_add_up) {
  constexpr unsigned rounds = 5'000;
  const support::device_memory<outcome> seen(1);
  const support::device_memory<unsigned> sum(64);
  membar::launch(launch_config{2, 64}.with(membar::cluster_dimensions{2, 1, 1}), send_and_reduce, seen.get(), sum.get(),
                 rounds);
  EXPECT_EQ(of(seen).stale, 0U);
  const auto sums = copied(sum);
  for (unsigned i = 0; i < 64; ++i) {
    EXPECT_EQ(sums[i], rounds * (rounds - 1) / 2 + rounds * i);
  }
}

template <bool OnMbarrier, membar::async_caching Caching>
void expect_copied_by_word() {
  constexpr unsigned words = 64 * 5'000 - 17;
  std::vector<uint4> values(words);
  for (unsigned i = 0; i < words; ++i) {
    values[i] = {i, ~i, i * 3, i ^ 0x5555U};
  }
  const device_copy<uint4> from(values);
  const support::device_memory<uint4> to(words);
  const support::device_memory<outcome> seen(1);
  membar::launch({1, 64}, copy_by_word<OnMbarrier, Caching>, seen.get(), static_cast<const uint4*>(from.get()), to.get(),
                 words);
  const outcome got = copied(seen)[0];
  EXPECT_EQ(got.late, 0U);
  EXPECT_EQ(got.stale, 0U);
  const auto result = copied(to);
  for (unsigned i = 0; i < words; ++i) {
    ASSERT_TRUE(result[i].x == i && result[i].y == ~i && result[i].z == i * 3 && result[i].w == (i ^ 0x5555U)) << i;
  }
}

TEST_F(asynchronous, small_copies_in_groups_arrive_whole) {
  expect_copied_by_word<false, membar::async_caching::all_levels>();
  expect_copied_by_word<false, membar::async_caching::l2_only>();
}

TEST_F(asynchronous, small_copies_on_an_mbarrier_arrive_whole) {
  expect_copied_by_word<true, membar::async_caching::all_levels>();
  expect_copied_by_word<true, membar::async_caching::l2_only>();
}

TEST_F(asynchronous, small_copies_arrive_in_addition_to_their_threads) {
  constexpr unsigned rounds = 5'000;
  std::vector<unsigned> values(rounds + 64);
  for (unsigned i = 0; i < values.size(); ++i) {
    values[i] = i * 7 + 1;
  }
  const device_copy<unsigned> from(values);
  const support::device_memory<outcome> seen(1);
  membar::launch({8, 64}, arrive_beside, seen.get(), static_cast<const unsigned*>(from.get()), rounds);
  EXPECT_EQ(of(seen).stale, 0U);
}

TEST_F(asynchronous, stores_and_reductions_in_another_block_arrive_whole) {
  const support::device_memory<outcome> seen(1);
  membar::launch(launch_config{64, 1}.with(membar::cluster_dimensions{4, 1, 1}), store_in_next, seen.get(), 5'000U);
  EXPECT_EQ(of(seen).stale, 0U);
}

/// The type of a driver function that encodes tensor maps.
template <class Function>
Function encoder(const char* name) {
  void* function = nullptr;
  cudaDriverEntryPointQueryResult found{};
  check(cudaGetDriverEntryPointByVersion(name, &function, 12000, cudaEnableDefault, &found));
  EXPECT_EQ(found, cudaDriverEntryPointSuccess);
  return reinterpret_cast<Function>(function);
}

std::vector<unsigned> different_values(unsigned count) {
  std::vector<unsigned> values(count);
  for (unsigned i = 0; i < count; ++i) {
    values[i] = i * 7 + 1;
  }
  return values;
}

TEST_F(asynchronous, a_box_arrives_whole_in_each_block_of_a_cluster) {
  constexpr unsigned width = 100;
  constexpr unsigned height = 50;
  constexpr unsigned blocks = 4;
  constexpr unsigned elements = box_width * box_height;
  const std::vector<unsigned> values = different_values(width * height);
  const device_copy<unsigned> from(values);
  const support::device_memory<unsigned> to(blocks * elements);
  CUtensorMap map{};
  const cuuint64_t sizes[] = {width, height};
  const cuuint64_t strides[] = {width * sizeof(unsigned)};
  const cuuint32_t box[] = {box_width, box_height};
  const cuuint32_t steps[] = {1, 1};
  ASSERT_EQ(encoder<decltype(&cuTensorMapEncodeTiled)>("cuTensorMapEncodeTiled")(
                &map, CU_TENSOR_MAP_DATA_TYPE_UINT32, 2, const_cast<unsigned*>(from.get()), sizes, strides, box, steps,
                CU_TENSOR_MAP_INTERLEAVE_NONE, CU_TENSOR_MAP_SWIZZLE_NONE, CU_TENSOR_MAP_L2_PROMOTION_NONE,
                CU_TENSOR_MAP_FLOAT_OOB_FILL_NONE),
            CUDA_SUCCESS);
  const support::device_memory<outcome> seen(1);
  membar::launch(launch_config{blocks, 1}.with(membar::cluster_dimensions{blocks, 1, 1}), share_boxes, seen.get(), map,
                 to.get());
  EXPECT_EQ(of(seen).runs, blocks);
  const auto result = copied(to);
  for (unsigned i = 0; i < result.size(); ++i) {
    const unsigned row = box_height + i % elements / box_width;
    const unsigned column = box_width + i % box_width;
    ASSERT_EQ(result[i], values[row * width + column]) << i;
  }
}

TEST_F(asynchronous, columns_of_a_tensor_arrive_whole_with_zeros_outside_of_it) {
  constexpr int width = 6;
  constexpr int height = 5;
  constexpr int images = 3;
  const std::vector<unsigned> values = different_values(column_channels * width * height * images);
  const device_copy<unsigned> from(values);
  const support::device_memory<unsigned> to(9 * column_pixels * column_channels);
  CUtensorMap map{};
  const cuuint64_t sizes[] = {column_channels, width, height, images};
  constexpr cuuint64_t pixel = column_channels * sizeof(unsigned);
  const cuuint64_t strides[] = {pixel, pixel * width, pixel * width * height};
  const int corner[] = {-1, -1};  // A 3-by-3 filter with a border of one pixel: there are as many base positions as pixels.
  const cuuint32_t steps[] = {1, 1, 1, 1};
  ASSERT_EQ(encoder<decltype(&cuTensorMapEncodeIm2col)>("cuTensorMapEncodeIm2col")(
                &map, CU_TENSOR_MAP_DATA_TYPE_UINT32, 4, const_cast<unsigned*>(from.get()), sizes, strides, corner, corner,
                column_channels, column_pixels, steps, CU_TENSOR_MAP_INTERLEAVE_NONE, CU_TENSOR_MAP_SWIZZLE_NONE,
                CU_TENSOR_MAP_L2_PROMOTION_NONE, CU_TENSOR_MAP_FLOAT_OOB_FILL_NONE),
            CUDA_SUCCESS);
  const support::device_memory<outcome> seen(1);
  membar::launch(launch_config{1, 1}, take_columns, seen.get(), map, to.get());
  EXPECT_EQ(of(seen).runs, 1U);
  const auto result = copied(to);
  for (int i = 0; i < static_cast<int>(result.size()); ++i) {
    const int offset = i / (column_pixels * column_channels);
    const int base = i / column_channels % column_pixels;
    const int x = base % width - 1 + offset % 3;
    const int y = base / width - 1 + offset / 3;
    const bool inside = x >= 0 && x < width && y >= 0 && y < height;
    const int at = ((height + y) * width + x) * column_channels + i % column_channels;  // the position in image 1
    ASSERT_EQ(result[static_cast<std::size_t>(i)], inside ? values[static_cast<std::size_t>(at)] : 0U) << i;
  }
}

TEST_F(asynchronous, boxes_of_a_tensor_arrive_whole_and_add_up) {
  constexpr unsigned width = 100;  // The last box has 4 columns.
  constexpr unsigned height = 50;  // The last box has 2 rows.
  const std::vector<unsigned> values = different_values(width * height);
  const device_copy<unsigned> from(values);
  const support::device_memory<unsigned> to(values.size());
  const auto encode = encoder<decltype(&cuTensorMapEncodeTiled)>("cuTensorMapEncodeTiled");
  const auto map_of = [&](unsigned* memory) {
    CUtensorMap map{};
    const cuuint64_t sizes[] = {width, height};
    const cuuint64_t strides[] = {width * sizeof(unsigned)};
    const cuuint32_t box[] = {box_width, box_height};
    const cuuint32_t steps[] = {1, 1};
    EXPECT_EQ(encode(&map, CU_TENSOR_MAP_DATA_TYPE_UINT32, 2, memory, sizes, strides, box, steps, CU_TENSOR_MAP_INTERLEAVE_NONE,
                     CU_TENSOR_MAP_SWIZZLE_NONE, CU_TENSOR_MAP_L2_PROMOTION_NONE, CU_TENSOR_MAP_FLOAT_OOB_FILL_NONE),
              CUDA_SUCCESS);
    return map;
  };
  const support::device_memory<outcome> seen(1);
  membar::launch(launch_config{dim3((width + box_width - 1) / box_width, (height + box_height - 1) / box_height), 1},
                 copy_boxes, seen.get(), map_of(const_cast<unsigned*>(from.get())), map_of(to.get()));
  EXPECT_EQ(of(seen).stale, 0U);
  const auto result = copied(to);
  for (unsigned i = 0; i < values.size(); ++i) {
    ASSERT_EQ(result[i], 2 * values[i]) << i;
  }
}

TEST_F(asynchronous, a_cluster_barrier_shows_what_other_blocks_stored) {
  const support::device_memory<outcome> seen(1);
  membar::launch(launch_config{64, 64}.with(membar::cluster_dimensions{4, 1, 1}), read_neighbour, seen.get(), 10'000U);
  EXPECT_EQ(of(seen).stale, 0U);
}

TEST_F(asynchronous, report_deepep_621_bulk_load_after_a_flag) {
  expect_repair([](auto repaired) {
    const support::device_memory<outcome> seen(1);
    const support::device_memory<mailbox> boxes(32);
    membar::launch_co_resident({64, 256}, load_after_flag<decltype(repaired)::value>, seen.get(), boxes.get(), 20'000U);
    return of(seen);
  });
}

TEST_F(asynchronous, report_deepep_657_stage_filled_while_it_is_read) {
  expect_repair([](auto repaired) {
    constexpr unsigned blocks = 64;
    constexpr unsigned tiles = 64;
    constexpr unsigned tile = 2048;  // 32 KiB
    std::vector<uint4> values(static_cast<std::size_t>(blocks) * tiles * tile);
    for (std::size_t i = 0; i < values.size(); ++i) {
      values[i].x = static_cast<unsigned>(i);
    }
    const device_copy<uint4> from(values);
    const support::device_memory<uint4> to(values.size());
    const support::device_memory<outcome> seen(1);
    membar::launch({blocks, 1, nullptr, tile * sizeof(uint4)}, reuse_stage<decltype(repaired)::value>, seen.get(),
                   static_cast<const uint4*>(from.get()), to.get(), tiles, tile);
    return of(seen);
  });
}

TEST_F(asynchronous, report_nccl_extensions_8_bulk_store_after_a_barrier) {
  expect_repair([](auto repaired) {
    const support::device_memory<outcome> seen(1);
    const support::device_memory<unsigned> to(128 * 1024);
    membar::launch({128, 1024, nullptr, 1024 * sizeof(unsigned)}, store_after_barrier<decltype(repaired)::value>, seen.get(),
                   to.get(), 20'000U);
    return of(seen);
  });
}

TEST_F(asynchronous, report_cccl_3131_a_chain_in_which_one_does_not_wait) {
  expect_repair([](auto repaired) {
    const support::device_memory<outcome> seen(1);
    const support::device_memory<unsigned> value(2);
    for (unsigned round = 1; round <= 2'000; ++round) {
      membar::launch({1, 1}, write_late, value.get(), round);
      membar::launch(launch_config{1, 1}.with(overlapping), pass_on<decltype(repaired)::value>, value.get() + 1, round);
      membar::launch(launch_config{1, 1}.with(overlapping), read_value<true>, static_cast<const unsigned*>(value.get()), round,
                     seen.get());
    }
    return of(seen);
  });
}

TEST_F(asynchronous, report_cutlass_2962_a_table_read_before_the_wait) {
  expect_repair([](auto repaired) {
    const support::device_memory<outcome> seen(1);
    const support::device_memory<unsigned> entries(2'001);
    const support::device_memory<const unsigned*> table(1);
    for (unsigned round = 1; round <= 2'000; ++round) {
      const unsigned* const entry = entries.get() + round;
      membar::launch({1, 1}, write_table_late, table.get(), entry);
      membar::launch(launch_config{1, 1}.with(overlapping), follow_table<decltype(repaired)::value>,
                     static_cast<const unsigned* const*>(table.get()), entry, seen.get());
    }
    return of(seen);
  });
}

TEST_F(asynchronous, report_llama_cpp_23690_a_kernel_without_a_wait) {
  expect_repair([](auto repaired) {
    const support::device_memory<outcome> seen(1);
    const support::device_memory<unsigned> value(1);
    for (unsigned round = 1; round <= 2'000; ++round) {
      membar::launch({1, 1}, write_late, value.get(), round);
      membar::launch(launch_config{1, 1}.with(overlapping), read_value<decltype(repaired)::value>,
                     static_cast<const unsigned*>(value.get()), round, seen.get());
    }
    return of(seen);
  });
}

}  // namespace
}  // namespace membar_test
