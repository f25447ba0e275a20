// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
/// @file
/// The question: how much of the link's bandwidth does a grid-level put achieve? It is compared with a copy by the device's
/// copy engines, with NVSHMEM, and with NCCL. Times are per transfer, until its completion; GB/s is the size of one transfer
/// divided by this time.
///
/// In addition to a put in which each block has one part, three other methods are measured: the blocks' tiles interleaved,
/// copies that leave nothing in L1, and bulk copies through shared memory.
#include "bulk_copy.cuh"
#include "peer_world.cuh"

#include <bench/common/nccl.hpp>
#include <membar/symmetric/on_stream.cuh>

namespace {

using namespace symmetric_bench;

constexpr int rounds = 10;

/// The blocks copy interleaved tiles, so that the data in flight is close together.
__global__ void __launch_bounds__(1024, 1)
    put_tiles(span<unsigned char> data, const unsigned char* source, std::size_t tile, unsigned times) {
  const pe other = ring_neighbour(data.self(), 1, data.count());
#pragma unroll 1
  for (unsigned round = 0; round != times; ++round) {
#pragma unroll 1
    for (std::size_t first = blockIdx.x * tile; first < data.size(); first += gridDim.x * tile) {
      symmetric::put_nonblocking(by_block, data.subspan(first, tile), source + first, other);
    }
  }
  symmetric::quiet(by_block, data.reach());
}

/// Neighbouring threads copy neighbouring units of 16 bytes, with eight units in flight in each thread, and leave nothing in
/// L1. `count` is a multiple of eight times the number of threads in the grid.
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

/// `enqueue(times)` puts transfers from `source` at PE 0 to `data` at PE 1 into PE 0's stream. Returns the nanoseconds per
/// transfer, and checks the data that has arrived at PE 1.
template <class Enqueue>
bench::figures timed_transfer(world& two, const unsigned char* data, unsigned char* source, std::size_t bytes,
                              Enqueue enqueue) {
  const membar::device_guard guard(two.backend.device_of(pe(0)));
  const cudaStream_t stream = two.streams.of(pe(0));
  membar::launch(membar::launch_config{256, 256, stream}, fill, reinterpret_cast<unsigned*>(source), bytes / sizeof(unsigned));
  enqueue(1);
  const double ns = support::nanoseconds_of(stream, [&] { enqueue(rounds); }) / rounds;
  two.streams.synchronize();

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
  return {ns, {{"GB/s", static_cast<double>(bytes) / ns}}};
}

/// A transfer of `mebibytes` between symmetric arrays: `enqueue(data, source, times)`.
template <class Enqueue>
bench::figures transfer(world& two, std::size_t mebibytes, Enqueue enqueue) {
  const std::size_t bytes = mebibytes << 20;
  const scoped_array data(two.heap.allocate<unsigned char>(bytes));
  const scoped_array source(two.heap.allocate<unsigned char>(bytes));
  return timed_transfer(two, data.on(pe(1)).local(), source.on(pe(0)).local(), bytes,
                        [&](int times) { enqueue(data, source, times); });
}

void copy_by_engines(const world& two, void* to, const void* from, std::size_t bytes, int times) {
  for (int i = 0; i != times; ++i) {
    membar::check(cudaMemcpyPeerAsync(to, two.backend.device_of(pe(1)), from, two.backend.device_of(pe(0)), bytes,
                                      two.streams.of(pe(0))));
  }
}

void add_cases(bench::suite& cases) {
  const peers of(cases);
  const bench::made_once<world> two = of.two;
  using axis = bench::axis<unsigned>;
  const axis sizes{1, 16, 64, 256};
  const axis large{16, 64, 256};
  // `launch(config, data, source, times)` puts all of `source` at PE 0 to `data` at PE 1 `times` times.
  const auto on_grid = [two](auto launch) {
    return [two, launch](unsigned blocks, unsigned threads, std::size_t mebibytes) {
      return transfer(*two, mebibytes, [&](const auto& data, const auto& source, int times) {
        launch(membar::launch_config{blocks, threads, two->streams.of(pe(0))}, data,
               static_cast<const unsigned char*>(source.on(pe(0)).local()), static_cast<unsigned>(times));
      });
    };
  };
  const auto parts = on_grid([](const auto& config, const auto& data, const unsigned char* source, unsigned times) {
    membar::launch(config, put_parts<peer_backend>, data.on(pe(0)), source, times);
  });
  cases.add("put_bandwidth/membar_peer/blocks:{}/threads:{}/MiB:{}", parts, axis{1, 8, 16, 24, 32, 48, 64, 132},
            axis{256, 512, 1024}, sizes);
  for (const unsigned kibibytes : {16U, 128U}) {
    const auto tiles = on_grid([kibibytes](const auto& config, const auto& data, const unsigned char* source, unsigned times) {
      membar::launch(config, put_tiles, data.on(pe(0)), source, std::size_t{kibibytes} << 10, times);
    });
    cases.add("put_bandwidth/membar_peer_tiles/KiB:" + std::to_string(kibibytes) + "/blocks:{}/threads:{}/MiB:{}", tiles,
              axis{16, 32, 64, 132}, axis{1024}, sizes);
  }
  const auto past_l1 = on_grid([](const auto& config, const auto& data, const unsigned char* source, unsigned times) {
    const auto to = data.on(pe(1));
    membar::launch(config, copy_past_l1, reinterpret_cast<uint4*>(to.local()), reinterpret_cast<const uint4*>(source),
                   to.size() / sizeof(uint4), times);
  });
  // 16 blocks of 512 threads with eight units each copy 1 MiB, and all sizes are powers of two.
  const std::string copies = "put_bandwidth/copy_past_l1/blocks:{}/threads:{}/MiB:{}";
  for (const auto& [blocks, threads] : {std::pair(16U, 512U), std::pair(32U, 256U), std::pair(64U, 128U)}) {
    cases.add(copies, past_l1, axis{blocks}, axis{threads}, axis{1});
  }
  cases.add(copies, past_l1, axis{16, 32, 64}, axis{1024}, large);
  cases.add(
      "put_bandwidth/membar_peer_on_stream/MiB:{}",
      [two](std::size_t mebibytes) {
        symmetric::load_stream_operations(two->heap);
        return transfer(*two, mebibytes, [&](const auto& data, const auto& source, int times) {
          const cudaStream_t stream = two->streams.of(pe(0));
          for (int i = 0; i != times; ++i) {
            symmetric::put_on_stream(two->heap, data.on(pe(0)), source.on(pe(0)).local(), pe(1), stream);
          }
          symmetric::quiet_on_stream(data.on(pe(0)).reach(), stream);
        });
      },
      sizes);
  cases.add(
      "put_bandwidth/cudaMemcpyPeerAsync/MiB:{}",
      [two](std::size_t mebibytes) {
        return transfer(*two, mebibytes, [&](const auto& data, const auto& source, int times) {
          copy_by_engines(*two, data.on(pe(1)).local(), source.on(pe(0)).local(), mebibytes << 20, times);
        });
      },
      sizes);
  // A copy between memory from cudaMalloc, so that the result does not depend on membar's memory mapping.
  cases.add(
      "put_bandwidth/cudaMemcpyPeerAsync_plain/MiB:{}",
      [two](std::size_t mebibytes) {
        const std::size_t bytes = mebibytes << 20;
        const support::device_memory<unsigned char> source(bytes);
        std::unique_ptr<support::device_memory<unsigned char>> data;
        {
          const membar::device_guard guard(two->backend.device_of(pe(1)));
          data = std::make_unique<support::device_memory<unsigned char>>(bytes);
        }
        return timed_transfer(*two, data->get(), source.get(), bytes,
                              [&](int times) { copy_by_engines(*two, data->get(), source.get(), bytes, times); });
      },
      sizes);
  cases.add(
      {"put_bandwidth/nccl_send_recv/MiB:{}", support::nccl_devices::waiver},
      [two, nccl = bench::made_once<support::nccl_devices>(of.devices)](std::size_t mebibytes) {
        return transfer(*two, mebibytes, [&](const auto& data, const auto& source, int times) {
          const pe_streams& streams = two->streams;
          for (int i = 0; i != times; ++i) {
            nccl->send(0, source.on(pe(0)).local(), data.on(pe(1)).local(), mebibytes << 20, streams.of(pe(0)),
                       streams.of(pe(1)));
          }
          // A send may end before its data has arrived, so the timed stream waits for the receiver's stream.
          const membar::device_guard guard(two->backend.device_of(pe(1)));
          const support::event received(cudaEventDisableTiming);
          received.record(streams.of(pe(1)));
          membar::check(cudaStreamWaitEvent(streams.of(pe(0)), received.get(), 0));
        });
      },
      sizes);
  // This case runs last, because its failure would end the whole process.
  const bool has_bulk = of.devices.empty() || bulk::available(of.devices[0]);
  cases.add(
      {"put_bandwidth/bulk_copy/blocks:{}/threads:1/MiB:{}", has_bulk ? "" : "bulk copies need compute capability 9.0"},
      [two](unsigned blocks, std::size_t mebibytes) {
        return transfer(*two, mebibytes, [&](const auto& data, const auto& source, int times) {
          bulk::prepare();
          membar::launch(membar::launch_config{blocks, 1, two->streams.of(pe(0)), bulk::shared_bytes}, bulk::copy,
                         data.on(pe(1)).local(), static_cast<const unsigned char*>(source.on(pe(0)).local()), mebibytes << 20,
                         static_cast<unsigned>(times));
        });
      },
      axis{8, 16, 32, 64, 132}, sizes);
}

}  // namespace

namespace bench {

bench::description describe() {
  return {.question = "How much of the link's bandwidth does a put by a whole grid reach?",
          .add_cases = add_cases,
          .takes_device = false,
          .before_cuda = [](suite& cases) { symmetric_bench::add_nvshmem_cases(cases, "put_bandwidth"); }};
}

}  // namespace bench
