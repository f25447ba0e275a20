// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
/// @file
/// The question: what does it cost to copy a tile of a given size from global to shared memory with a bulk copy, `cp.async`,
/// loads and stores, or `cuda::memcpy_async`? `latency`: one block copies one tile at a time and waits until all threads of the
/// block may read the tile. `bandwidth`: all multiprocessors copy tiles, with several tiles per block in flight. `out`: the
/// same copies from shared to global memory.
#include "by_hand.cuh"

#include <bench/common/comparison.hpp>
#include <bench/common/cuda_handles.hpp>

#include <membar/async_copy.cuh>
#include <membar/bulk_copy.cuh>
#include <membar/fence.cuh>
#include <membar/launch.hpp>
#include <membar/mbarrier.cuh>

#include <cooperative_groups.h>

#include <cuda/barrier>
#include <cuda/pipeline>

#include <algorithm>
#include <cstddef>
#include <string>
#include <utility>
#include <vector>

namespace {

using membar::acquire;
using membar::release;
using membar::thread_scope;
using block_barrier = cuda::barrier<cuda::thread_scope_block>;

constexpr unsigned threads = 128;
constexpr std::size_t megabyte = std::size_t{1} << 20;

/// A ring of tiles in shared memory, each with the barrier that signals its arrival.
template <unsigned Bytes, int Stages>
struct ring {
  alignas(128) unsigned char tiles[Stages][Bytes];
  alignas(16) unsigned char barriers[Stages][16];

  __device__ membar::mbarrier<thread_scope::block>& full(int stage) {
    return membar::mbarrier<thread_scope::block>::of(barriers[stage]);
  }
  __device__ block_barrier& of_cuda(int stage) { return *reinterpret_cast<block_barrier*>(barriers[stage]); }
};
static_assert(sizeof(block_barrier) <= 16);

__device__ void make(block_barrier& barrier, unsigned expected) { init(&barrier, expected); }

// Methods of copying a tile to shared memory. All threads call `begin`, which starts the copy of a stage, and `wait`, which
// waits until all threads may read it. `parity` is the parity of the number of times that the stage was used. The copies of up
// to `Pending` later tiles may still be in flight.

struct one_arrives {
  template <class Ring>
  __device__ static void init(Ring& r, int stage) {
    r.full(stage).init(1);
  }
};
struct membar_bulk : one_arrives {
  template <unsigned Bytes, class Ring>
  __device__ static void begin(Ring& r, int stage, const unsigned char* from) {
    if (threadIdx.x == 0) {
      r.full(stage).arrive_expect(membar::bulk_load(r.tiles[stage], from, Bytes, r.full(stage)), release);
    }
  }
  template <int Pending, class Ring>
  __device__ static void wait(Ring& r, int stage, unsigned parity) {
    by_hand::require(r.full(stage).wait_parity(parity, acquire, by_hand::generous) == membar::wait_result::done);
  }
};
struct ptx_bulk : one_arrives {
  template <unsigned Bytes, class Ring>
  __device__ static void begin(Ring& r, int stage, const unsigned char* from) {
    if (threadIdx.x == 0) {
      const unsigned barrier = by_hand::shared_address(r.barriers[stage]);
      by_hand::bulk_load(by_hand::shared_address(r.tiles[stage]), from, Bytes, barrier);
      by_hand::arrive_expect(barrier, Bytes);
    }
  }
  template <int Pending, class Ring>
  __device__ static void wait(Ring& r, int stage, unsigned parity) {
    by_hand::wait_parity(by_hand::shared_address(r.barriers[stage]), parity);
  }
};
/// All threads arrive, as the group form of `memcpy_async` requires; the library turns the call into one bulk copy.
struct cuda_memcpy_async {
  template <class Ring>
  __device__ static void init(Ring& r, int stage) {
    make(r.of_cuda(stage), threads);
  }
  template <unsigned Bytes, class Ring>
  __device__ static void begin(Ring& r, int stage, const unsigned char* from) {
    cuda::memcpy_async(cooperative_groups::this_thread_block(), r.tiles[stage], from, cuda::aligned_size_t<16>(Bytes),
                       r.of_cuda(stage));
    static_cast<void>(r.of_cuda(stage).arrive());
  }
  template <int Pending, class Ring>
  __device__ static void wait(Ring& r, int stage, unsigned parity) {
    r.of_cuda(stage).wait_parity(parity != 0);
  }
};
struct membar_async {
  template <class Ring>
  __device__ static void init(Ring&, int) {}
  template <unsigned Bytes, class Ring>
  __device__ static void begin(Ring& r, int stage, const unsigned char* from) {
    for (unsigned at = 16 * threadIdx.x; at < Bytes; at += 16 * threads) {
      static_cast<void>(membar::async_copy<membar::async_caching::l2_only>(reinterpret_cast<uint4*>(r.tiles[stage] + at),
                                                                           reinterpret_cast<const uint4*>(from + at)));
    }
    commit();
  }
  __device__ static void commit() { asm volatile("cp.async.commit_group;" ::: "memory"); }
  template <int Pending, class Ring>
  __device__ static void wait(Ring&, int, unsigned) {
    membar::async_wait<Pending>();
    __syncthreads();
  }
};
struct ptx_async : membar_async {
  template <unsigned Bytes, class Ring>
  __device__ static void begin(Ring& r, int stage, const unsigned char* from) {
    for (unsigned at = 16 * threadIdx.x; at < Bytes; at += 16 * threads) {
      by_hand::async_copy(by_hand::shared_address(r.tiles[stage] + at), from + at);
    }
    commit();
  }
  template <int Pending, class Ring>
  __device__ static void wait(Ring&, int, unsigned) {
    asm volatile("cp.async.wait_group %0;" ::"n"(Pending) : "memory");
    __syncthreads();
  }
};
/// Ordinary loads and stores, which have finished when `begin` returns. Several tiles are in flight only because the threads of
/// a multiprocessor may be working on different tiles.
struct words {
  template <class Ring>
  __device__ static void init(Ring&, int) {}
  template <unsigned Bytes, class Ring>
  __device__ static void begin(Ring& r, int stage, const unsigned char* from) {
    constexpr unsigned each = Bytes / (16 * threads) == 0 ? 1 : Bytes / (16 * threads);
    if constexpr (Bytes >= 16 * threads && each <= 16) {
      uint4 kept[each];
#pragma unroll
      for (unsigned i = 0; i != each; ++i) {
        kept[i] = reinterpret_cast<const uint4*>(from)[i * threads + threadIdx.x];
      }
#pragma unroll
      for (unsigned i = 0; i != each; ++i) {
        reinterpret_cast<uint4*>(r.tiles[stage])[i * threads + threadIdx.x] = kept[i];
      }
    } else {
#pragma unroll 8
      for (unsigned at = 16 * threadIdx.x; at < Bytes; at += 16 * threads) {
        *reinterpret_cast<uint4*>(r.tiles[stage] + at) = *reinterpret_cast<const uint4*>(from + at);
      }
    }
  }
  template <int Pending, class Ring>
  __device__ static void wait(Ring&, int, unsigned) {
    __syncthreads();
  }
};

/// Copies `turns` tiles, with up to `Stages` in flight. The tiles are `stride` bytes apart, starting at `begin`; after `span`
/// bytes (a power of two), the address wraps around. The last bytes of each tile are read, so that no method can skip them.
template <class Way, unsigned Bytes, int Stages>
__global__ void __launch_bounds__(threads)
    bring(const unsigned char* from, std::size_t begin, std::size_t stride, std::size_t span, int turns, unsigned* sum) {
  extern __shared__ __align__(128) unsigned char memory[];
  auto& here = *reinterpret_cast<ring<Bytes, Stages>*>(memory);
  if (threadIdx.x == 0) {
    for (int stage = 0; stage != Stages; ++stage) {
      Way::init(here, stage);
    }
    membar::mbarrier_init_fence();
  }
  __syncthreads();
  const auto tile = [&](int turn) {
    return from + ((begin + (static_cast<std::size_t>(turn) * gridDim.x + blockIdx.x) * stride) & (span - 1));
  };
  for (int stage = 0; stage != Stages - 1; ++stage) {
    Way::template begin<Bytes>(here, stage, tile(stage));
  }
  unsigned seen = 0;
  int stage = 0;
  unsigned parity = 0;
#pragma unroll 1
  for (int turn = 0; turn != turns; ++turn) {
    if constexpr (Stages == 1) {
      Way::template begin<Bytes>(here, 0, tile(turn));
    }
    Way::template wait<Stages == 1 ? 0 : Stages - 2>(here, stage, parity);
    seen += here.tiles[stage][Bytes - 1 - threadIdx.x % 16];
    __syncthreads();  // All threads have read the stage in the previous turn, so the next copy may fill it.
    if constexpr (Stages > 1) {
      Way::template begin<Bytes>(here, (stage + Stages - 1) % Stages, tile(turn + Stages - 1));
    }
    if (++stage == Stages) {
      stage = 0;
      parity ^= 1U;
    }
  }
  // Wait for the remaining copies before the block exits.
  for (int rest = 0; rest != Stages - 1; ++rest) {
    Way::template wait<0>(here, stage, parity);
    if (++stage == Stages) {
      stage = 0;
      parity ^= 1U;
    }
  }
  if (seen != 0) {
    *sum = seen;  // This never happens, because the source is zero.
  }
}

// From shared to global memory: no thread writes a stage, so no fence is needed, and only the transfer is measured.

struct membar_store {
  template <unsigned Bytes, int Pending>
  __device__ static void put(unsigned char* to, unsigned char* tile) {
    if (threadIdx.x == 0) {
      membar::bulk_commit(membar::bulk_store(to, tile, Bytes));
      membar::bulk_wait_read<Pending>();
    }
  }
  __device__ static void end() { membar::bulk_wait(); }
};
struct ptx_store {
  template <unsigned Bytes, int Pending>
  __device__ static void put(unsigned char* to, unsigned char* tile) {
    if (threadIdx.x == 0) {
      by_hand::bulk_store(to, by_hand::shared_address(tile), Bytes);
      asm volatile("cp.async.bulk.wait_group.read %0;" ::"n"(Pending) : "memory");
    }
  }
  __device__ static void end() { asm volatile("cp.async.bulk.wait_group 0;" ::: "memory"); }
};
struct words_store {
  template <unsigned Bytes, int Pending>
  __device__ static void put(unsigned char* to, unsigned char* tile) {
#pragma unroll 8
    for (unsigned at = 16 * threadIdx.x; at < Bytes; at += 16 * threads) {
      *reinterpret_cast<uint4*>(to + at) = *reinterpret_cast<const uint4*>(tile + at);
    }
  }
  __device__ static void end() {}
};

template <class Way, unsigned Bytes, int Stages>
__global__ void __launch_bounds__(threads) take_out(unsigned char* to, std::size_t span, int turns) {
  extern __shared__ __align__(128) unsigned char memory[];
  auto& here = *reinterpret_cast<ring<Bytes, Stages>*>(memory);
  for (unsigned at = threadIdx.x; at < Stages * Bytes; at += threads) {
    here.tiles[0][at] = 0;
  }
  membar::proxy_fence<membar::proxy::async>();
  __syncthreads();
  int stage = 0;
#pragma unroll 1
  for (int turn = 0; turn != turns; ++turn) {
    Way::template put<Bytes, Stages - 1>(to + ((static_cast<std::size_t>(turn) * gridDim.x + blockIdx.x) * Bytes & (span - 1)),
                                         here.tiles[stage]);
    stage = stage + 1 == Stages ? 0 : stage + 1;
  }
  Way::end();
}

constexpr std::size_t whole = 1024 * megabyte;

struct memory {
  support::device_memory<unsigned char> bytes{whole};
  support::device_memory<unsigned> sum{1};
  std::size_t next = 0;  // The start of each block's tiles.
  int multiprocessors;
  explicit memory() {
    int device = 0;
    membar::check(cudaGetDevice(&device));
    multiprocessors = support::attribute(cudaDevAttrMultiProcessorCount, device);
  }
};
memory& shared() {
  static memory one;
  return one;
}

/// `blocks` is the number of blocks per multiprocessor; 0 means one block in total.
template <class Way, unsigned Bytes, int Stages>
bench::arm in(const char* name, int blocks, std::size_t span) {
  return {name, [blocks, span](cudaStream_t on, bench::workload work) {
            constexpr std::size_t bytes = sizeof(ring<Bytes, Stages>);
            static const bool once = [] {
              membar::check(cudaFuncSetAttribute(bring<Way, Bytes, Stages>, cudaFuncAttributeMaxDynamicSharedMemorySize,
                                                 static_cast<int>(bytes)));
              return true;
            }();
            static_cast<void>(once);
            // The tiles that a block copies. Each launch continues where the last one ended, so that tiles from memory are no
            // longer in L2. Tiles are at least a kilobyte apart, because fetching a line may also fetch its neighbour.
            const unsigned grid = blocks == 0 ? 1U : static_cast<unsigned>(blocks * shared().multiprocessors);
            const std::size_t stride = blocks == 0 ? std::max(std::size_t{Bytes}, std::size_t{1024}) : Bytes;
            const std::size_t begin = blocks == 0 ? shared().next : 0;
            shared().next = (begin + stride * static_cast<std::size_t>(work.turns)) % whole;
            bring<Way, Bytes, Stages>
                <<<grid, threads, bytes, on>>>(shared().bytes.get(), begin, stride, span, work.turns, shared().sum.get());
          }};
}
template <class Way, unsigned Bytes, int Stages>
bench::arm out(const char* name, int blocks) {
  return {name, [blocks](cudaStream_t on, bench::workload work) {
            constexpr std::size_t bytes = sizeof(ring<Bytes, Stages>);
            static const bool once = [] {
              membar::check(cudaFuncSetAttribute(take_out<Way, Bytes, Stages>, cudaFuncAttributeMaxDynamicSharedMemorySize,
                                                 static_cast<int>(bytes)));
              return true;
            }();
            static_cast<void>(once);
            take_out<Way, Bytes, Stages><<<static_cast<unsigned>(blocks * shared().multiprocessors), threads, bytes, on>>>(
                shared().bytes.get(), whole, work.turns);
          }};
}

template <unsigned Bytes, int Stages>
std::vector<bench::arm> all_ways(int blocks, std::size_t span) {
  return {in<membar_bulk, Bytes, Stages>("membar_bulk", blocks, span),
          in<ptx_bulk, Bytes, Stages>("ptx_bulk", blocks, span),
          in<cuda_memcpy_async, Bytes, Stages>("cuda_memcpy_async", blocks, span),
          in<membar_async, Bytes, Stages>("membar_async", blocks, span),
          in<ptx_async, Bytes, Stages>("ptx_async", blocks, span),
          in<words, Bytes, Stages>("words", blocks, span)};
}

double once_a_turn(bench::workload work) { return work.turns; }

template <unsigned Bytes>
void latencies(std::vector<bench::comparison>& all) {
  // A region of 4 MiB stays in L2; in a region of 1 GiB, no byte is read twice in a launch.
  all.push_back({"copy_by_size/latency/from_l2/" + std::to_string(Bytes), once_a_turn, all_ways<Bytes, 1>(0, 4 * megabyte)});
  all.back().bytes = Bytes;
  all.push_back({"copy_by_size/latency/from_memory/" + std::to_string(Bytes), once_a_turn, all_ways<Bytes, 1>(0, whole)});
  all.back().bytes = Bytes;
}

/// An operation is the copy of one tile by one block; `multiprocessors * blocks` operations are in flight at once.
double tiles_of(bench::workload work, int blocks) {
  return static_cast<double>(work.turns) * blocks * shared().multiprocessors;
}

template <unsigned Bytes, int Stages>
void bandwidths(std::vector<bench::comparison>& all, int blocks) {
  const auto name = [&](const char* what) {
    return std::string("copy_by_size/") + what + "/" + std::to_string(Bytes) + "x" + std::to_string(Stages) + "x" +
           std::to_string(blocks);
  };
  const auto tiles = [blocks](bench::workload work) { return tiles_of(work, blocks); };
  all.push_back({name("bandwidth"), tiles, all_ways<Bytes, Stages>(blocks, whole)});
  all.back().bytes = Bytes;
  all.push_back({name("out"),
                 tiles,
                 {out<membar_store, Bytes, Stages>("membar_bulk", blocks), out<ptx_store, Bytes, Stages>("ptx_bulk", blocks),
                  out<words_store, Bytes, Stages>("words", blocks)}});
  all.back().bytes = Bytes;
}

std::vector<bench::comparison> latency_comparisons() {
  std::vector<bench::comparison> all;
  latencies<64>(all);
  latencies<256>(all);
  latencies<1024>(all);
  latencies<4096>(all);
  latencies<16384>(all);
  latencies<32768>(all);
  return all;
}

std::vector<bench::comparison> bandwidth_comparisons() {
  std::vector<bench::comparison> all;
  bandwidths<256, 4>(all, 4);
  bandwidths<1024, 4>(all, 4);
  bandwidths<4096, 4>(all, 4);
  bandwidths<8192, 4>(all, 4);
  bandwidths<16384, 4>(all, 2);
  // The same tile size, with fewer bytes in flight.
  bandwidths<4096, 2>(all, 1);
  bandwidths<4096, 4>(all, 1);
  bandwidths<4096, 4>(all, 2);
  bandwidths<4096, 8>(all, 4);
  return all;
}

}  // namespace

namespace bench {

bench::description describe() {
  return {.question = "What does it cost to bring a tile of some size into shared memory?",
          .add_cases =
              [](suite& cases) {
                cases.need_compute_capability(9, "bulk copies");
                std::vector<bench::comparison> all = latency_comparisons();
                for (bench::comparison& each : bandwidth_comparisons()) {
                  all.push_back(std::move(each));
                }
                add(cases, all, {.launch_ns = 1e6, .pairs = 11, .most_ns = 8e7});
              },
          .repetitions = 0};
}

}  // namespace bench
