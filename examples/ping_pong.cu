// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
/// @file
/// Two GPUs pass one message back and forth: each puts it, with a signal, into the other's memory. The signal's
/// release and the wait's acquire are at system scope, because no narrower scope includes another GPU.
#include <membar/device_clock.cuh>
#include <membar/symmetric/collective_launch.hpp>
#include <membar/symmetric/heap.hpp>
#include <membar/symmetric/host_copy.hpp>
#include <membar/symmetric/wait.cuh>

#include <cstdio>

namespace symmetric = membar::symmetric;
using symmetric::by_block, symmetric::equals, symmetric::pe, symmetric::span;
using arrival = symmetric::signal<symmetric::set>;
constexpr int rounds = 1000;
constexpr std::size_t words = 1024;

/// The other GPU writes `box`, and then sets `arrived` to the round. PE 0 sends first and PE 1 answers, so a round's message
/// has been read before the next one is sent. `seen` holds the number of wrong words and the nanoseconds per round.
template <class Backend>
__global__ void play(span<int, Backend> box, span<int, Backend> message, span<arrival, Backend> arrived,
                     span<int, Backend> seen) {
  const int self = box.self().index();
  int wrong = 0;
  const unsigned long long begin = membar::global_nanoseconds();
  for (int round = 1; self < 2 && round <= rounds; ++round) {
    for (int turn = 0; turn != 2; ++turn) {
      if (turn == self) {
        for (std::size_t i = threadIdx.x; i < words; i += blockDim.x) {
          message.local()[i] = round + static_cast<int>(i);
        }
        __syncthreads();  // the whole message is written
        put_signal(by_block, box, message.local(), arrived[0], static_cast<unsigned>(round), pe(1 - self));
      } else {
        wait(by_block, arrived[0], equals(static_cast<unsigned>(round)), membar::wait_budget::milliseconds(2000));
        for (std::size_t i = threadIdx.x; i < words; i += blockDim.x) {
          wrong += box.local()[i] == round + static_cast<int>(i) ? 0 : 1;
        }
      }
    }
  }
  wrong = __syncthreads_count(wrong);  // The number of threads that read a wrong word.
  if (threadIdx.x == 0) {
    seen.local()[0] = wrong;
    seen.local()[1] = static_cast<int>((membar::global_nanoseconds() - begin) / rounds);
  }
}

int main() try {
  int devices = 0;
  if (cudaGetDeviceCount(&devices) != cudaSuccess || devices < 2) {
    std::puts("SKIPPED: two GPUs are needed");
    return 77;
  }
  symmetric::peer_backend gpus;
  symmetric::heap heap(gpus, std::size_t{1} << 20);
  const symmetric::scoped_array box(heap.allocate<int>(words)), message(heap.allocate<int>(words)), seen(heap.allocate<int>(2));
  const symmetric::scoped_array arrived(heap.allocate<arrival>(1));
  collective_launch(gpus, {1, 256}, {}, play<symmetric::peer_backend>,
                    [&](pe which) { return std::tuple(box.on(which), message.on(which), arrived.on(which), seen.on(which)); });
  int result[2] = {}, wrong = 0;
  for (const pe which : {pe(1), pe(0)}) {
    const membar::device_guard there(gpus.device_of(which));
    copy_from(result, seen.on(which), nullptr);  // Enqueued after the kernel, in its stream.
    wrong += result[0];
  }
  std::printf("%d rounds of %zu bytes: %d threads saw wrong words, %.2f us there and back\n", rounds, words * sizeof(int),
              wrong, result[1] / 1000.0);
  return wrong == 0 ? 0 : 1;
} catch (const membar::error& failure) {
  const bool no_peers = failure.code() == cudaErrorPeerAccessUnsupported;
  std::printf("%s%s\n", no_peers ? "SKIPPED: " : "", failure.what());
  return no_peers ? 77 : 1;
}
