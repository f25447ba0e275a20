// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <membar/atomic.cuh>
#include <membar/atomicity.hpp>
#include <membar/kernel_resources.hpp>
#include <membar/load_store.cuh>
#include <membar/managed_memory.hpp>
#include <membar/mapped_memory.hpp>

#include <tests/common/gpu_test.hpp>

#include <cstdlib>
#include <utility>
#include <vector>

namespace membar_test {
namespace {

using kinds_of_memory = gpu_test;

__global__ void increment(int* values, std::size_t size) {
  for (std::size_t i = threadIdx.x; i < size; i += blockDim.x) {
    values[i] += 1;
  }
}

TEST_F(kinds_of_memory, mapped_memory_has_one_address) {
  for (const bool portable : {false, true}) {
    membar::mapped_memory<int> memory(1000, {.portable = portable});
    for (const int value : memory) {
      ASSERT_EQ(value, 0);
    }
    memory[7] = 41;
    increment<<<1, 128>>>(memory.data(), memory.size());
    finish();
    EXPECT_EQ(memory[7], 42);
    EXPECT_EQ(memory[8], 1);
    void* on_device = nullptr;
    check(cudaHostGetDevicePointer(&on_device, memory.data(), 0));
    EXPECT_EQ(on_device, memory.data());
    const membar::mapped_memory<int> moved = std::move(memory);
    EXPECT_EQ(moved[7], 42);
  }
}

__global__ void add_what_is_announced(const int* values, std::size_t size, unsigned* announced, int* sum) {
  const membar::atomic_ref<unsigned, membar::thread_scope::system> flag(*announced);
  flag.wait(0, membar::acquire);
  for (std::size_t i = 0; i != size; ++i) {
    *sum += values[i];
  }
}

TEST_F(kinds_of_memory, write_combined_memory_is_published_to_a_running_kernel) {
  membar::write_combined_memory<int> memory(1000);
  const membar::mapped_memory<unsigned> announced(1);
  const membar::mapped_memory<int> sum(1);
  add_what_is_announced<<<1, 1>>>(memory.device_data(), memory.size(), announced.data(), sum.data());
  for (std::size_t i = 0; i != memory.size(); ++i) {
    memory.write(i, 3);
  }
  memory.publish();
  membar::atomic_ref<unsigned, membar::thread_scope::system>(announced[0]).store(1, membar::release);
  finish();
  EXPECT_EQ(sum[0], 3000);
}

TEST_F(kinds_of_memory, registered_memory_is_reached_and_let_go) {
  if (!membar::mapping_facts_of(0).registered_at_host_address) {
    GTEST_SKIP() << "device 0 sees registered memory at another address";
  }
  std::vector<int> values(4096, 1);
  {
    const membar::mapped_registration pinned(values.data(), values.size() * sizeof(int));
    increment<<<1, 128>>>(values.data(), values.size());
    finish();
  }
  EXPECT_EQ(values[0], 2);
  EXPECT_EQ(values[4095], 2);
  const membar::mapped_registration again(values.data(), values.size() * sizeof(int));
}

TEST_F(kinds_of_memory, managed_memory_is_advised_and_prefetched) {
  if (!membar::managed_facts_of(0).concurrent_access) {
    GTEST_SKIP() << "device 0 does not support concurrent managed access";
  }
  using membar::memory_location;
  const membar::managed_memory<int> memory(1 << 20);
  const std::size_t bytes = memory.size() * sizeof(int);
  for (int& value : memory) {
    value = 1;
  }
  membar::advise_preferred_location(memory.data(), bytes, memory_location::device(0));
  membar::advise_accessed_by(memory.data(), bytes, memory_location::host());
  membar::prefetch_pages(memory.data(), bytes, memory_location::device(0), nullptr);
  increment<<<1, 1024>>>(memory.data(), memory.size());
  membar::prefetch_pages(memory.data(), bytes, memory_location::host(), nullptr);
  finish();
  EXPECT_EQ(memory[12345], 2);
  membar::advise_accessed_by(memory.data(), bytes, memory_location::host(), false);
  membar::advise_no_preferred_location(memory.data(), bytes);
  membar::advise_read_mostly(memory.data(), bytes);
  int read_mostly = 0;
  check(cudaMemRangeGetAttribute(&read_mostly, sizeof read_mostly, cudaMemRangeAttributeReadMostly, memory.data(), bytes));
  EXPECT_EQ(read_mostly, 1);
  membar::advise_read_mostly(memory.data(), bytes, false);
}

TEST_F(kinds_of_memory, decide_what_is_atomic) {
  const membar::atomic_use add{.bytes = 4};
  const membar::atomic_use store{.operation = membar::atomic_operation::load_or_store};
  const membar::mapped_memory<int> mapped(1);
  EXPECT_TRUE(membar::atomicity_with_host(mapped.data(), 0, store));
  EXPECT_TRUE(membar::atomicity_alone(mapped.data(), 0, add));
  const membar::atomicity with_host = membar::atomicity_with_host(mapped.data(), 0, add);
  EXPECT_TRUE(with_host || attribute_of(cudaDevAttrHostNativeAtomicSupported) == 0) << with_host.reason;
  int* memory = nullptr;
  check(cudaMalloc(&memory, sizeof *memory));
  EXPECT_TRUE(membar::atomicity_alone(memory, 0, add));
  EXPECT_FALSE(membar::atomicity_with_host(memory, 0, add));
  check(cudaFree(memory));
  const membar::managed_memory<int> managed(1);
  EXPECT_EQ(membar::atomicity_with_host(managed.data(), 0, add).atomic, membar::managed_facts_of(0).concurrent_access);
  int on_stack = 0;
  EXPECT_EQ(membar::atomicity_with_host(&on_stack, 0, add).atomic, attribute_of(cudaDevAttrPageableMemoryAccess) != 0);
}

__global__ void with_an_array(const int* indices, int* out) {
  int array[64];
  for (int i = 0; i != 64; ++i) {
    array[i] = indices[i];
  }
  array[indices[0] & 63] += 1;
  *out = array[indices[1] & 63];
}

__global__ void __launch_bounds__(256) without_an_array(int* out) {
  __shared__ int values[256];
  values[threadIdx.x] = out[threadIdx.x];
  __syncthreads();
  out[threadIdx.x] = values[255 - threadIdx.x];
}

TEST_F(kinds_of_memory, resources_of_a_kernel_are_seen) {
  const membar::kernel_resources slow = membar::kernel_resources_of(with_an_array);
  EXPECT_GE(slow.local_bytes, 64 * sizeof(int));
  EXPECT_THROW(membar::require_no_local_memory(slow, "with_an_array"), membar::error);
  const membar::kernel_resources quick = membar::kernel_resources_of(without_an_array);
  membar::require_no_local_memory(quick, "without_an_array");
  EXPECT_EQ(quick.static_shared_bytes, 1024U);
  EXPECT_EQ(quick.max_threads_per_block, 256);
  EXPECT_GT(quick.registers, 0);
  const membar::kernel_occupancy occupancy = membar::occupancy_of(without_an_array, 256);
  EXPECT_GE(occupancy.blocks, 1);
  EXPECT_LE(occupancy.fraction(), 1.0);
  EXPECT_GT(occupancy.fraction(), 0.0);
}

}  // namespace
}  // namespace membar_test
