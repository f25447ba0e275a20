// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
/// @file
/// The life cycle of a persisting window on a stream. Ten launches read a hot table under the window, and another kernel reads
/// the persisting lines. Then the window is turned off, the lines are reset to normal, and a third kernel can use all of L2.
/// Compare the times: the gain from a window depends on the device and on the other traffic through L2.
#include "l2_sequence.cuh"

#include <membar/access_policy_window.hpp>
#include <membar/l2_set_aside.hpp>

int main() try {
  int devices = 0;
  if (cudaGetDeviceCount(&devices) != cudaSuccess || devices == 0) {
    std::puts("SKIPPED: no GPU");
    return 77;
  }
  const membar::l2_facts before = membar::l2_facts_of(0);
  if (before.max_set_aside == 0 || before.mps) {
    std::puts("SKIPPED: no L2 to set aside (MIG, MPS, or a compute capability below 8.0)");
    return 77;
  }
  unsigned entries = 1 << 16;  // A power of two whose size is at most nine tenths of the set-aside limit.
  for (; entries * 2 * sizeof(float4) <= before.max_set_aside * 9 / 10; entries *= 2) {
  }
  const std::size_t table_bytes = entries * sizeof(float4), count = 16 * std::size_t{entries};
  float4 *const data = zeros<float4>(count), *const table = zeros<float4>(entries);
  float* const out = zeros<float>(blocks * threads);
  cudaStream_t stream = nullptr;
  check(cudaStreamCreate(&stream));
  const auto scale_ten_times = [&] {
    run("tenth of ten launches with the table", stream, 10, blocks, scale, data, count, table, entries - 1, out);
  };
  const auto another_kernel = [&] {  // Runs after all of the data has passed through L2.
    membar::launch(membar::launch_config{blocks, threads, stream}, read_through, data, count, 1, out);
    run("another kernel, 4096 reads of the table", stream, 1, 1, probe, table, entries - 1, out);
  };
  const auto third_kernel = [&] {
    run("third kernel, 3/4 of L2 again and again", stream, 1, blocks, read_through, data, 3 * before.l2_bytes / 64, 32, out);
  };
  std::printf("no window, table of %zu MiB, L2 of %zu MiB:\n", table_bytes >> 20, before.l2_bytes >> 20);
  third_kernel();  // loads the kernel
  third_kernel();
  scale_ten_times();
  another_kernel();  // loads the kernel
  scale_ten_times();
  another_kernel();
  {
    const membar::l2_set_aside hold(0, table_bytes);
    {
      const membar::scoped_stream_attribute window(stream, membar::l2_plan(0).window(table, table_bytes));
      std::puts("a persisting window over the table:");
      scale_ten_times();
      another_kernel();
    }
    std::puts("the window is off:");
    another_kernel();  // the table's lines still persist
    third_kernel();
    membar::reset_persisting_lines();
  }
  std::puts("the lines are normal again, and nothing is set aside:");
  third_kernel();
  scale_ten_times();
  another_kernel();
  const bool off = membar::get_attribute<membar::access_policy_window>(stream) == membar::access_policy_window{};
  return off && membar::l2_facts_of(0).set_aside == before.set_aside ? 0 : 1;
} catch (const membar::error& failure) {
  std::fprintf(stderr, "%s\n", failure.what());
  return 1;
}
