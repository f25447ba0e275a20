// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
/// @file
/// The question: how much of the link does a put by a whole grid reach, beside a copy by the device's engines, NVSHMEM and
/// NCCL? A time is that of one transfer, to its completion; GB/s is the data of one transfer over it.
#include "peer_world.cuh"

#ifdef MEMBAR_BENCH_HAS_NCCL
#include "nccl_pair.hpp"
#endif

namespace {

using namespace symmetric_bench;

constexpr int rounds = 10;

/// Times what `enqueue` puts into PE 0's stream, in nanoseconds per transfer.
template <class Enqueue>
double transfer_nanoseconds(world& two, benchmark::State& state, std::size_t bytes, Enqueue enqueue) {
  const auto data = two.heap.allocate<unsigned char>(bytes);
  const auto source = two.heap.allocate<unsigned char>(bytes);
  const membar::device_guard guard(two.backend.device_of(pe(0)));
  const support::event begin;
  const support::event end;
  enqueue(data, source, 1);
  begin.record(two.streams.of(pe(0)));
  enqueue(data, source, rounds);
  end.record(two.streams.of(pe(0)));
  two.streams.synchronize();
  const double ns = end.nanoseconds_since(begin) / rounds;
  state.counters["GB/s"] = static_cast<double>(bytes) / ns;
  two.heap.free(data);
  two.heap.free(source);
  return ns;
}

void copy_by_engines(const world& two, void* to, const void* from, std::size_t bytes, int times) {
  for (int i = 0; i != times; ++i) {
    membar::check(
        cudaMemcpyPeerAsync(to, two.backend.device_of(pe(1)), from, two.backend.device_of(pe(0)), bytes, two.streams.of(pe(0))),
        "cudaMemcpyPeerAsync");
  }
}

void add_cases(world* two, const std::string& waived) {
  const std::string question = "put_bandwidth/";
  for (const std::size_t mebibytes : {1, 16, 64, 256}) {
    const std::size_t bytes = mebibytes << 20;
    const std::string size = "/MiB:" + std::to_string(mebibytes);
    for (const unsigned blocks : {1U, 8U, 32U, 64U, 132U}) {
      for (const unsigned threads : {256U, 1024U}) {
        add_case(question + "membar_peer/blocks:" + std::to_string(blocks) + "/threads:" + std::to_string(threads) + size,
                 waived, [=](benchmark::State& state) {
                   return transfer_nanoseconds(*two, state, bytes, [&](const auto& data, const auto& source, int times) {
                     membar::launch(membar::launch_config{blocks, threads, two->streams.of(pe(0))}, put_parts<peer_backend>,
                                    data.on(pe(0)), static_cast<const unsigned char*>(source.on(pe(0)).local()),
                                    static_cast<unsigned>(times));
                   });
                 });
      }
    }
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
      return transfer_nanoseconds(*two, state, bytes, [&](const auto&, const auto&, int times) {
        copy_by_engines(*two, data->get(), source.get(), bytes, times);
      });
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
        membar::check(cudaStreamWaitEvent(two->streams.of(pe(0)), received.get(), 0), "cudaStreamWaitEvent");
      });
    });
#else
    add_case(question + "nccl_send_recv" + size, "membar was built without NCCL", nullptr);
#endif
  }
}

}  // namespace

int main(int argc, char** argv) { return run_bench(argc, argv, "put_bandwidth", add_cases); }
