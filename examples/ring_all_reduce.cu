// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
/// @file
/// All-reduce on a ring: in each step, a GPU puts one part of its vector, with a signal, into its right neighbour's memory.
/// After count - 1 steps, each part is complete on one GPU; after count - 1 further steps, every part is complete on all GPUs.
#include <membar/symmetric/collective_launch.hpp>
#include <membar/symmetric/heap.hpp>
#include <membar/symmetric/host_copy.hpp>
#include <membar/symmetric/wait.cuh>

#include <cstdio>
#include <vector>

namespace symmetric = membar::symmetric;
using symmetric::by_block, symmetric::equals, symmetric::pe, symmetric::span;
using arrival = symmetric::signal<symmetric::set>;

/// The inbox has a slot for each step, and each slot has a signal, so that nothing is overwritten: a faster left neighbour
/// fills the next slot, and on a network, a later put may arrive first.
template <class Backend>
__global__ void sum(span<float, Backend> vector, span<float, Backend> inbox, span<arrival, Backend> arrived) {
  const int count = vector.count(), self = vector.self().index();
  const std::size_t part = vector.size() / static_cast<std::size_t>(count);
  const pe right = ring_neighbour(vector.self(), 1, count);
  for (int step = 0; step != 2 * (count - 1); ++step) {
    const auto number = static_cast<std::size_t>(step);
    const auto slot = inbox.subspan(number * part, part);
    const float* const sent = vector.local() + static_cast<std::size_t>((self - step + 2 * count) % count) * part;
    float* const received = vector.local() + static_cast<std::size_t>((self - step - 1 + 2 * count) % count) * part;
    put_signal(by_block, slot, sent, arrived[number], 1, right);
    wait(by_block, arrived[number], equals(1), membar::wait_budget::milliseconds(2000));
    for (std::size_t i = threadIdx.x; i < part; i += blockDim.x) {
      received[i] = slot.local()[i] + (step < count - 1 ? received[i] : 0);
    }
    __syncthreads();
  }
}

int main() try {
  int devices = 0;
  if (cudaGetDeviceCount(&devices) != cudaSuccess || devices < 2) {
    std::puts("SKIPPED: an all-reduce needs two GPUs");
    return 77;
  }
  symmetric::peer_backend gpus;
  const auto count = static_cast<std::size_t>(gpus.count());
  const std::size_t part = 1 << 14, size = count * part;
  symmetric::heap heap(gpus, 16 * size * sizeof(float));
  const symmetric::scoped_array vector(heap.allocate<float>(size));
  const symmetric::scoped_array inbox(heap.allocate<float>(2 * (count - 1) * part));
  const symmetric::scoped_array arrived(heap.allocate<arrival>(2 * (count - 1)));
  std::vector<float> values(size);
  for (const pe which : gpus.local_pes()) {
    for (std::size_t i = 0; i != size; ++i) {
      values[i] =
          static_cast<float>((i + 1) % 64 * static_cast<std::size_t>(which.index() + 1));  // Integers, so that sums are exact.
    }
    const membar::device_guard there(gpus.device_of(which));
    copy_to(vector.on(which), values, nullptr);
  }
  collective_launch(gpus, {1, 512}, {}, sum<symmetric::peer_backend>,
                    [&](pe which) { return std::tuple(vector.on(which), inbox.on(which), arrived.on(which)); });

  std::size_t wrong = 0;
  for (const pe which : gpus.local_pes()) {
    const membar::device_guard there(gpus.device_of(which));
    copy_from(values, vector.on(which), nullptr);  // Enqueued after the kernel, in its stream.
    for (std::size_t i = 0; i != size; ++i) {
      wrong += values[i] == static_cast<float>((i + 1) % 64 * (count * (count + 1) / 2)) ? 0 : 1;
    }
  }
  std::printf("%zu GPUs: %zu of %zu sums are wrong\n", count, wrong, count * size);
  return wrong == 0 ? 0 : 1;
} catch (const membar::error& failure) {
  const bool no_peers = failure.code() == cudaErrorPeerAccessUnsupported;
  std::printf("%s%s\n", no_peers ? "SKIPPED: " : "", failure.what());
  return no_peers ? 77 : 1;
}
