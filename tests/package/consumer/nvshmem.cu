// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The component nvshmem: its device code is compiled and linked, but not run.
#include <membar/symmetric/barrier.cuh>
#include <membar/symmetric/nvshmem_backend.cuh>
#include <membar/symmetric/wait.cuh>

#include <cstdio>

using backend = membar::symmetric::nvshmem_backend;

__global__ void exchange(membar::symmetric::span<float, backend> halo,
                         membar::symmetric::object<membar::symmetric::signal<membar::symmetric::set>, backend> ready,
                         membar::symmetric::span<membar::symmetric::barrier_word, backend> words) {
  constexpr auto budget = membar::wait_budget::milliseconds(100);
  const membar::symmetric::pe right = membar::symmetric::ring_neighbour(halo.self(), 1, halo.count());
  membar::symmetric::put_signal(membar::symmetric::by_block, halo, halo.local(), ready, 1, right);
  membar::symmetric::wait(membar::symmetric::by_block, ready, membar::symmetric::equals(1), budget);
  membar::symmetric::barrier(membar::symmetric::by_block, words, budget);
}

int main(int argc, char**) {
  if (argc == 1) {
    std::puts("linked");
    return 0;
  }
  const auto session = membar::symmetric::nvshmem_session::of_launcher();
  backend of(session);
  membar::symmetric::heap heap(of, 1 << 20);
  const auto halo = heap.allocate<float>(64);
  const auto ready = heap.allocate<membar::symmetric::signal<membar::symmetric::set>>(1);
  const auto words = heap.allocate_barrier();
  exchange<<<1, 64>>>(halo.on(session.self()), ready.on(session.self())[0], words.on(session.self()));
  return cudaDeviceSynchronize() == cudaSuccess ? 0 : 1;
}
