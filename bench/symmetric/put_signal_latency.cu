// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
/// @file
/// The question: how long does a message take from one GPU to another and back, by put with signal, by its parts, and packed
/// with its sequence number; beside NVSHMEM's own calls, and NCCL's send and receive? A time is that of one round trip.
#include "peer_world.cuh"

#ifdef MEMBAR_BENCH_HAS_NCCL
#include "nccl_pair.hpp"
#endif

namespace {

using namespace symmetric_bench;

/// The memory of the cases: allocated once, as large as the largest.
struct memory {
  explicit memory(world& two)
      : data(two.heap.allocate<unsigned char>(largest)),
        source(two.heap.allocate<unsigned char>(largest)),
        signals(two.heap.allocate<membar::signal<membar::set>>(1)) {}

  void free_in(world& two) const {
    two.heap.free(data);
    two.heap.free(source);
    two.heap.free(signals);
  }

  static constexpr std::size_t largest = std::size_t{1} << 20;
  membar::symmetric_array<unsigned char, peer_backend> data;
  membar::symmetric_array<unsigned char, peer_backend> source;
  membar::symmetric_array<membar::signal<membar::set>, peer_backend> signals;
};

template <class... Parameters>
double signal_trips(world& two, std::size_t bytes, unsigned threads, void (*kernel)(Parameters...)) {
  const memory of(two);
  const unsigned rounds = bytes > 65536 ? 300 : 2'000;
  const double ns = two.round_nanoseconds(threads, rounds, kernel, [&](pe which, auto launch) {
    launch(of.data.on(which).subspan(0, bytes), static_cast<const unsigned char*>(of.source.on(which).local()),
           of.signals.on(which), 0ULL);
  });
  of.free_in(two);
  return ns;
}

template <class Group, int Bytes>
double packed_trips(world& two, unsigned threads) {
  using box = payload<Bytes>;
  const auto boxes = two.heap.allocate<membar::packed<box>>(1);
  const auto messages = two.heap.allocate<box>(2);
  const double ns =
      two.round_nanoseconds(threads, 2'000, packed_round_trips<Group, Bytes, peer_backend>,
                            [&](pe which, auto launch) { launch(boxes.on(which), messages.on(which).local(), 0U); });
  two.heap.free(boxes);
  two.heap.free(messages);
  return ns;
}

#ifdef MEMBAR_BENCH_HAS_NCCL
double nccl_trips(world& two, nccl_pair& nccl, std::size_t bytes) {
  constexpr int rounds = 100;
  constexpr int before = 10;
  const memory of(two);
  const support::event begin;
  const support::event end;
  for (int round = -before; round != rounds; ++round) {
    if (round == 0) {
      begin.record(two.streams.of(pe(0)));
    }
    for (const int from : {0, 1}) {
      nccl.send(from, of.source.on(pe(from)).local(), of.data.on(pe(1 - from)).local(), bytes, two.streams.of(pe(from)),
                two.streams.of(pe(1 - from)));
    }
  }
  end.record(two.streams.of(pe(0)));
  two.streams.synchronize();
  of.free_in(two);
  return end.nanoseconds_since(begin) / rounds;
}
#endif

void add_cases(world* two, const std::string& waived) {
  const std::string question = "put_signal_latency/";
  for (const std::size_t bytes :
       {std::size_t{16}, std::size_t{1024}, std::size_t{16384}, std::size_t{262144}, memory::largest}) {
    const std::string size = "/bytes:" + std::to_string(bytes);
    const auto add = [&](const char* arm, const char* group, unsigned threads, auto kernel) {
      add_case(question + arm + "/" + group + ":" + std::to_string(threads) + size, waived,
               [two, bytes, threads, kernel](benchmark::State&) { return signal_trips(*two, bytes, threads, kernel); });
    };
    if (bytes <= 1024) {
      add("membar_peer", "thread", 1, &put_signal_round_trips<membar::by_thread_t, peer_backend>);
    }
    if (bytes <= 16384) {
      add("membar_peer", "warp", 32, &put_signal_round_trips<membar::by_warp_t, peer_backend>);
    }
    for (const unsigned threads : {64U, 256U, 1024U}) {
      add("membar_peer", "block", threads, &put_signal_round_trips<membar::by_block_t, peer_backend>);
    }
    add("membar_peer_fenced", "block", 256, &fenced_round_trips<membar::by_block_t, peer_backend>);
#ifdef MEMBAR_BENCH_HAS_NCCL
    static std::shared_ptr<nccl_pair> nccl;
    if (two != nullptr && nccl == nullptr) {
      nccl = std::make_shared<nccl_pair>(two->backend.facts().devices);
    }
    add_case(question + "nccl_send_recv/host" + size, waived,
             [two, bytes](benchmark::State&) { return nccl_trips(*two, *nccl, bytes); });
#else
    add_case(question + "nccl_send_recv/host" + size, "membar was built without NCCL", nullptr);
#endif
  }
  const auto packed = [&]<class Group, int Bytes>(Group, const char* group, unsigned threads, payload<Bytes>) {
    add_case(question + "membar_peer_packed/" + group + ":" + std::to_string(threads) + "/bytes:" + std::to_string(Bytes),
             waived, [two, threads](benchmark::State&) { return packed_trips<Group, Bytes>(*two, threads); });
  };
  packed(membar::by_thread, "thread", 1, payload<12>{});
  packed(membar::by_thread, "thread", 1, payload<16>{});
  packed(membar::by_warp, "warp", 32, payload<16>{});
  packed(membar::by_warp, "warp", 32, payload<1024>{});
  packed(membar::by_block, "block", 96, payload<1024>{});
  packed(membar::by_block, "block", 1024, payload<16384>{});
}

}  // namespace

int main(int argc, char** argv) { return run_bench(argc, argv, "put_signal_latency", add_cases); }
