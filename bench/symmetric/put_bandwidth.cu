// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
/// @file
/// The question: how much of the link does a put by a whole grid reach, beside a copy by the device's engines, NVSHMEM and
/// NCCL? A time is that of one transfer, to its completion; GB/s is the data of one transfer over it.
///
/// Beside a put of one part by each block there are the ways in which it might be done better: the blocks' tiles interleaved,
/// no lines of what is copied once in L1, and bulk copies by way of shared memory.
#include "bulk_copy.cuh"
#include "peer_world.cuh"

#include <membar/symmetric/on_stream.cuh>

#ifdef MEMBAR_BENCH_HAS_NCCL
#include "nccl_pair.hpp"
#endif

namespace {

using namespace symmetric_bench;

constexpr int rounds = 10;

/// Block by block a tile of the data, so that what is under way lies close together.
__global__ void __launch_bounds__(1024, 1)
    put_tiles(span<unsigned char> data, const unsigned char* source, std::size_t tile, unsigned times) {
  const pe other = membar::symmetric::ring_neighbour(data.self(), 1, data.count());
#pragma unroll 1
  for (unsigned round = 0; round != times; ++round) {
#pragma unroll 1
    for (std::size_t first = blockIdx.x * tile; first < data.size(); first += gridDim.x * tile) {
      membar::symmetric::put_nonblocking(membar::symmetric::by_block, data.subspan(first, tile), source + first, other);
    }
  }
  membar::symmetric::quiet(membar::symmetric::by_block, data.reach());
}

/// Neighbouring threads' units of 16 bytes, eight under way in each, which leave nothing in L1. `count` is a multiple of eight
/// times the grid's threads.
__global__ void __launch_bounds__(1024, 1) copy_past_l1(uint4* to, const uint4* from, std::size_t count, unsigned times) {
  const std::size_t step = std::size_t{gridDim.x} * blockDim.x;
#pragma unroll 1
  for (unsigned round = 0; round != times; ++round) {
#pragma unroll 1
    for (std::size_t i = std::size_t{blockIdx.x} * blockDim.x + threadIdx.x; i < count; i += 8 * step) {
      uint4 units[8];
#pragma unroll
      for (unsigned u = 0; u != 8; ++u) {
        units[u] = membar::load_weak(from + i + u * step, membar::l1::no_allocate);
      }
#pragma unroll
      for (unsigned u = 0; u != 8; ++u) {
        membar::store_weak(to + i + u * step, units[u], membar::l1::no_allocate);
      }
    }
  }
  __syncthreads();
  if (threadIdx.x == 0) {
    membar::thread_fence<membar::thread_scope::system>(membar::acq_rel);
  }
}

[[nodiscard]] __device__ unsigned pattern(std::size_t index) { return static_cast<unsigned>(index) * 2654435761U + 1; }

__global__ void fill(unsigned* words, std::size_t count) {
  for (std::size_t i = std::size_t{blockIdx.x} * blockDim.x + threadIdx.x; i < count;
       i += std::size_t{gridDim.x} * blockDim.x) {
    words[i] = pattern(i);
  }
}

__global__ void count_wrong(const unsigned* words, std::size_t count, unsigned* wrong) {
  for (std::size_t i = std::size_t{blockIdx.x} * blockDim.x + threadIdx.x; i < count;
       i += std::size_t{gridDim.x} * blockDim.x) {
    if (words[i] != pattern(i)) {
      atomicAdd(wrong, 1U);
    }
  }
}

/// Times what `enqueue(times)` puts into PE 0's stream, in nanoseconds per transfer from `source` at PE 0 to `data` at PE 1,
/// and looks what has arrived there.
template <class Enqueue>
double timed_transfer(world& two, benchmark::State& state, const unsigned char* data, unsigned char* source, std::size_t bytes,
                      Enqueue enqueue) {
  const membar::device_guard guard(two.backend.device_of(pe(0)));
  const cudaStream_t stream = two.streams.of(pe(0));
  const support::event begin;
  const support::event end;
  membar::launch(membar::launch_config{256, 256, stream}, fill, reinterpret_cast<unsigned*>(source), bytes / sizeof(unsigned));
  enqueue(1);
  begin.record(stream);
  enqueue(rounds);
  end.record(stream);
  two.streams.synchronize();
  const double ns = end.nanoseconds_since(begin) / rounds;

  const membar::device_guard there(two.backend.device_of(pe(1)));
  const support::device_memory<unsigned> wrong(1);
  unsigned words = 0;
  membar::check(cudaMemcpy(wrong.get(), &words, sizeof words, cudaMemcpyHostToDevice));
  membar::launch(membar::launch_config{256, 256, two.streams.of(pe(1))}, count_wrong, reinterpret_cast<const unsigned*>(data),
                 bytes / sizeof(unsigned), wrong.get());
  two.streams.synchronize();
  membar::check(cudaMemcpy(&words, wrong.get(), sizeof words, cudaMemcpyDeviceToHost));
  if (words != 0) {
    throw std::runtime_error(std::to_string(words) + " words of the data did not arrive");
  }
  state.counters["GB/s"] = static_cast<double>(bytes) / ns;
  return ns;
}

/// The same between symmetric arrays, which `enqueue` is given.
template <class Enqueue>
double transfer_nanoseconds(world& two, benchmark::State& state, std::size_t bytes, Enqueue enqueue) {
  const membar::symmetric::scoped_array data(two.heap.allocate<unsigned char>(bytes));
  const membar::symmetric::scoped_array source(two.heap.allocate<unsigned char>(bytes));
  return timed_transfer(two, state, data.on(pe(1)).local(), source.on(pe(0)).local(), bytes,
                        [&](int times) { enqueue(data, source, times); });
}

void copy_by_engines(const world& two, void* to, const void* from, std::size_t bytes, int times) {
  for (int i = 0; i != times; ++i) {
    membar::check(cudaMemcpyPeerAsync(to, two.backend.device_of(pe(1)), from, two.backend.device_of(pe(0)), bytes,
                                      two.streams.of(pe(0))));
  }
}

void add_cases(world* two, const std::string& waived) {
  const std::string question = "put_bandwidth/";
  for (const std::size_t mebibytes : {1, 16, 64, 256}) {
    const std::size_t bytes = mebibytes << 20;
    const std::string size = "/MiB:" + std::to_string(mebibytes);
    // `launches(data, source, times, blocks, threads, stream)` puts all of `source` at PE 0 to `data` at PE 1, so many times.
    const auto add_grid = [&](const char* arm, unsigned blocks, unsigned threads, const std::string& reason, auto launches) {
      add_case(question + arm + "/blocks:" + std::to_string(blocks) + "/threads:" + std::to_string(threads) + size, reason,
               [=](benchmark::State& state) {
                 return transfer_nanoseconds(*two, state, bytes, [&](const auto& data, const auto& source, int times) {
                   launches(data, static_cast<const unsigned char*>(source.on(pe(0)).local()), static_cast<unsigned>(times),
                            blocks, threads, two->streams.of(pe(0)));
                 });
               });
    };
    for (const unsigned blocks : {1U, 8U, 16U, 24U, 32U, 48U, 64U, 132U}) {
      for (const unsigned threads : {256U, 512U, 1024U}) {
        add_grid("membar_peer", blocks, threads, waived,
                 [](const auto& data, const unsigned char* source, unsigned times, unsigned grid, unsigned block,
                    cudaStream_t stream) {
                   membar::launch(membar::launch_config{grid, block, stream}, put_parts<peer_backend>, data.on(pe(0)), source,
                                  times);
                 });
      }
    }
    for (const unsigned blocks : {16U, 32U, 64U, 132U}) {
      for (const std::size_t tile : {std::size_t{1} << 14, std::size_t{1} << 17}) {
        add_grid(("membar_peer_tiles/KiB:" + std::to_string(tile >> 10)).c_str(), blocks, 1024, waived,
                 [tile](const auto& data, const unsigned char* source, unsigned times, unsigned grid, unsigned block,
                        cudaStream_t stream) {
                   membar::launch(membar::launch_config{grid, block, stream}, put_tiles, data.on(pe(0)), source, tile, times);
                 });
      }
    }
    for (const unsigned blocks : {16U, 32U, 64U}) {
      // 16 blocks of 512 threads of eight units each are 1 MiB, and all sizes are powers of two.
      const unsigned threads = mebibytes == 1 ? 8192 / blocks : 1024;
      add_grid("copy_past_l1", blocks, threads, waived,
               [bytes](const auto& data, const unsigned char* source, unsigned times, unsigned grid, unsigned block,
                       cudaStream_t stream) {
                 membar::launch(membar::launch_config{grid, block, stream}, copy_past_l1,
                                reinterpret_cast<uint4*>(data.on(pe(1)).local()), reinterpret_cast<const uint4*>(source),
                                bytes / sizeof(uint4), times);
               });
    }
    add_case(question + "membar_peer_on_stream" + size, waived, [=](benchmark::State& state) {
      membar::symmetric::load_stream_operations(two->heap);
      return transfer_nanoseconds(*two, state, bytes, [&](const auto& data, const auto& source, int times) {
        const cudaStream_t stream = two->streams.of(pe(0));
        for (int i = 0; i != times; ++i) {
          membar::symmetric::put_on_stream(two->heap, data.on(pe(0)), source.on(pe(0)).local(), pe(1), stream);
        }
        membar::symmetric::quiet_on_stream(data.on(pe(0)).reach(), stream);
      });
    });
    add_case(question + "cudaMemcpyPeerAsync" + size, waived, [=](benchmark::State& state) {
      return transfer_nanoseconds(*two, state, bytes, [&](const auto& data, const auto& source, int times) {
        copy_by_engines(*two, data.on(pe(1)).local(), source.on(pe(0)).local(), bytes, times);
      });
    });
    // The same between memory of cudaMalloc, so that it does not depend on how membar maps its own.
    add_case(question + "cudaMemcpyPeerAsync_plain" + size, waived, [=](benchmark::State& state) {
      const support::device_memory<unsigned char> source(bytes);
      std::unique_ptr<support::device_memory<unsigned char>> data;
      {
        const membar::device_guard guard(two->backend.device_of(pe(1)));
        data = std::make_unique<support::device_memory<unsigned char>>(bytes);
      }
      return timed_transfer(*two, state, data->get(), source.get(), bytes,
                            [&](int times) { copy_by_engines(*two, data->get(), source.get(), bytes, times); });
    });
#ifdef MEMBAR_BENCH_HAS_NCCL
    static std::shared_ptr<nccl_pair> nccl;
    if (two != nullptr && nccl == nullptr) {
      nccl = std::make_shared<nccl_pair>(two->backend.facts().devices);
    }
    add_case(question + "nccl_send_recv" + size, waived, [=](benchmark::State& state) {
      return transfer_nanoseconds(*two, state, bytes, [&](const auto& data, const auto& source, int times) {
        for (int i = 0; i != times; ++i) {
          nccl->send(0, source.on(pe(0)).local(), data.on(pe(1)).local(), bytes, two->streams.of(pe(0)),
                     two->streams.of(pe(1)));
        }
        // A send may end before its data is there: the stream that is timed waits for the receiver's.
        const membar::device_guard guard(two->backend.device_of(pe(1)));
        const support::event received(cudaEventDisableTiming);
        received.record(two->streams.of(pe(1)));
        membar::check(cudaStreamWaitEvent(two->streams.of(pe(0)), received.get(), 0));
      });
    });
#else
    add_case(question + "nccl_send_recv" + size, "membar was built without NCCL", nullptr);
#endif
  }
  // Last, for it is of the kind that takes the whole process along if it fails.
  const bool has_bulk = two == nullptr || bulk::available(two->backend.device_of(pe(0)));
  for (const std::size_t mebibytes : {1, 16, 64, 256}) {
    const std::size_t bytes = mebibytes << 20;
    for (const unsigned blocks : {8U, 16U, 32U, 64U, 132U}) {
      add_case(question + "bulk_copy/blocks:" + std::to_string(blocks) + "/threads:1/MiB:" + std::to_string(mebibytes),
               has_bulk ? waived : "bulk copies need compute capability 9.0", [=](benchmark::State& state) {
                 return transfer_nanoseconds(*two, state, bytes, [&](const auto& data, const auto& source, int times) {
                   bulk::prepare();
                   membar::launch(membar::launch_config{blocks, 1, two->streams.of(pe(0)), bulk::shared_bytes}, bulk::copy,
                                  data.on(pe(1)).local(), static_cast<const unsigned char*>(source.on(pe(0)).local()), bytes,
                                  static_cast<unsigned>(times));
                 });
               });
    }
  }
}

}  // namespace

int main(int argc, char** argv) { return run_bench(argc, argv, "put_bandwidth", add_cases); }
