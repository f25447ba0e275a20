// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
/// @file
/// Halo exchange: heat flow in a ring that is divided among GPUs. In each step, a GPU puts its outermost cells, with a signal,
/// into its neighbours' memory, and waits for their cells. One kernel does all steps, without the host and without a barrier.
/// The functions are templates on the backend: halo_exchange.cu runs them in one process, and halo_exchange_nvshmem.cu in one
/// process per GPU.
#pragma once

#include <membar/symmetric/collective_launch.hpp>
#include <membar/symmetric/heap.hpp>
#include <membar/symmetric/host_copy.hpp>
#include <membar/symmetric/wait.cuh>

#include <cstdio>
#include <vector>

namespace symmetric = membar::symmetric;
using symmetric::by_block, symmetric::equals, symmetric::pe, symmetric::span;
using arrival = symmetric::signal<symmetric::set>;
constexpr std::size_t cells = 1024, row = cells + 2;  // The row includes one cell of each neighbour.
constexpr int steps = 2000;

/// `heat` has two rows, read and written alternately, so that a neighbour never writes a cell that is still being read. Each
/// row has signals from the left and from the right, because on a network, a put with signal may overtake an earlier put.
template <class Backend>
__global__ void spread(span<double, Backend> heat, span<arrival, Backend> arrived) {
  const pe left = ring_neighbour(heat.self(), -1, heat.count());
  const pe right = ring_neighbour(heat.self(), 1, heat.count());
  for (unsigned step = 1; step <= steps; ++step) {
    const auto next = heat.subspan(step % 2 * row, row);
    const double* const in = heat.local() + (step - 1) % 2 * row;
    double* const out = next.local();
    for (std::size_t i = threadIdx.x + 1; i <= cells; i += blockDim.x) {
      out[i] = (in[i - 1] + 2 * in[i] + in[i + 1]) / 4;
    }
    __syncthreads();
    const auto signals = arrived.subspan(step % 2 * 2, 2);
    put_signal(by_block, next.subspan(cells + 1, 1), out + 1, signals[1], step, left);
    put_signal(by_block, next.subspan(0, 1), out + cells, signals[0], step, right);
    for (unsigned side = 0; side != 2; ++side) {  // `equals`: a neighbour sets a signal again only after this block's next put.
      wait(by_block, signals[side], equals(step), membar::wait_budget::milliseconds(2000));
    }
  }
}

/// Runs the exchange on all PEs; collective. Returns how many cells on this process's PEs differ from the host's result.
template <class Backend>
std::size_t exchange_halos(Backend& gpus) {
  symmetric::heap heap(gpus, std::size_t{1} << 20);
  const symmetric::scoped_array heat(heap.template allocate<double>(2 * row));
  // The signals of each row: from the left, and from the right.
  const symmetric::scoped_array arrived(heap.template allocate<arrival>(4));
  if (gpus.local_pes().contains(pe(0))) {
    const double hot[] = {1};
    copy_to(heat.on(pe(0)).subspan(2, 1), hot, nullptr);
  }
  collective_launch(gpus, {1, 256}, {}, spread<Backend>,
                    [&](pe which) { return std::tuple(heat.on(which), arrived.on(which)); });

  // The whole ring, computed on the host.
  const std::size_t size = static_cast<std::size_t>(gpus.count()) * cells;
  std::vector<double> ring(size), before, seen(2 * row);
  ring[1] = 1;
  for (int step = 0; step != steps; ++step) {
    before = ring;
    for (std::size_t i = 0; i != size; ++i) {
      ring[i] = (before[(i + size - 1) % size] + 2 * before[i] + before[(i + 1) % size]) / 4;
    }
  }
  std::size_t wrong = 0;
  for (const pe which : gpus.local_pes()) {
    const membar::device_guard there(gpus.device_of(which));
    copy_from(seen, heat.on(which), nullptr);  // Enqueued after the kernel, in its stream.
    for (std::size_t i = 0; i != cells; ++i) {
      wrong += seen[steps % 2 * row + 1 + i] == ring[static_cast<std::size_t>(which.index()) * cells + i] ? 0 : 1;
    }
  }
  std::printf("%d GPUs, %d steps: %zu of %zu cells of this process differ from the host's\n", gpus.count(), steps, wrong,
              static_cast<std::size_t>(gpus.local_pes().size()) * cells);
  return wrong;
}
