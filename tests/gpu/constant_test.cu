// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <membar/managed_memory.hpp>

#include <tests/common/gpu_test.hpp>
#include "constant_table.cuh"

#include <cstdint>
#include <optional>
#include <vector>

__constant__ membar::constant_table<int, 100> shared_table;

namespace membar_test {
namespace {

__constant__ membar::constant_table<double, 4> numbers;

class constants : public gpu_test {
 protected:
  void prepare() override {
    memory.emplace(128);
    made.emplace();
    out = memory->data();
    stream = made->get();
  }

  std::optional<membar::managed_memory<int>> memory;
  std::optional<support::stream> made;
  int* out = nullptr;
  cudaStream_t stream = nullptr;
};

__global__ void read_all_ways(int index, int* out) {
  out[0] = static_cast<int>(numbers[static_cast<std::size_t>(index)]);
  out[1] = static_cast<int>(numbers.broadcast(static_cast<std::size_t>(index)));
  out[2] = static_cast<int>(numbers.broadcast<3>());
}

TEST_F(constants, are_what_was_uploaded_before_in_the_stream) {
  const double values[4] = {5, 6, 7, 8};
  membar::upload(numbers, values, stream);
  read_all_ways<<<1, 1, 0, stream>>>(1, out);
  finish();
  EXPECT_EQ(out[0], 6);
  EXPECT_EQ(out[1], 6);
  EXPECT_EQ(out[2], 8);
  const double part[2] = {-1, -2};
  membar::upload_part(numbers, 1, part, 2, stream);
  read_all_ways<<<1, 1, 0, stream>>>(2, out);
  finish();
  EXPECT_EQ(out[0], -2);
  EXPECT_EQ(out[2], 8);
}

TEST_F(constants, of_a_captured_upload_are_those_of_the_call) {
  check(cudaStreamBeginCapture(stream, cudaStreamCaptureModeThreadLocal));
  {
    std::vector<double> values = {5, 6, 7, 8};
    membar::upload(numbers, values, stream);
    read_all_ways<<<1, 1, 0, stream>>>(1, out);
    values.assign(4, -1);  // The captured work must no longer read this vector.
  }
  cudaGraph_t graph = nullptr;
  cudaGraphExec_t executable = nullptr;
  check(cudaStreamEndCapture(stream, &graph));
  check(cudaGraphInstantiate(&executable, graph, 0));
  check(cudaGraphDestroy(graph));
  for (int i = 0; i != 3; ++i) {
    out[0] = out[2] = 0;
    check(cudaGraphLaunch(executable, stream));
    finish();
    EXPECT_EQ(out[0], 6);
    EXPECT_EQ(out[2], 8);
  }
  check(cudaGraphExecDestroy(executable));
}

TEST_F(constants, are_seen_from_another_source_file) {
  std::vector<int> values(100);
  for (std::size_t i = 0; i != values.size(); ++i) {
    values[i] = static_cast<int>(i * i);
  }
  membar::upload(shared_table, values.data(), values.size(), stream);
  copy_shared_table(out, stream);
  EXPECT_EQ(copied(out, values.size()), values);
}

__global__ void write_table(int* table, int value) { table[threadIdx.x] = value; }

TEST_F(constants, written_by_a_kernel_are_seen_by_the_next) {
  for (const int value : {1, 2, 3}) {
    write_table<<<1, 100, 0, stream>>>(membar::global_address_of(shared_table), value);
    copy_shared_table(out, stream);
    ASSERT_EQ(copied(out, 100), std::vector(100, value));
  }
}

__global__ void count(unsigned different, unsigned* distinct) {
  distinct[threadIdx.x] = membar::distinct_in_warp(threadIdx.x % different);
}

TEST_F(constants, addresses_of_a_warp_are_counted) {
  auto* const distinct = reinterpret_cast<unsigned*>(out);
  for (unsigned different = 1; different <= 32; ++different) {
    count<<<1, 32>>>(different, distinct);
    finish();
    EXPECT_EQ(distinct[0], different);
    EXPECT_EQ(distinct[31], different);
  }
}

__global__ void count_in_a_branch(unsigned* distinct) {
  if (threadIdx.x >= 20) {
    *distinct = membar::distinct_in_warp(threadIdx.x / 4);
  }
}

TEST_F(constants, only_active_threads_are_counted) {
  auto* const distinct = reinterpret_cast<unsigned*>(out);
  count_in_a_branch<<<1, 32>>>(distinct);
  finish();
  EXPECT_EQ(*distinct, 3U);
}

TEST_F(constants, an_upload_of_the_wrong_size_changes_nothing) {
  const double values[4] = {1, 2, 3, 4};
  membar::upload(numbers, values, stream);
  const double other[4] = {9, 9, 9, 9};
  EXPECT_THROW(membar::upload(numbers, other, 3, stream), membar::error);
  EXPECT_THROW(membar::upload_part(numbers, 2, other, 3, stream), membar::error);
  read_all_ways<<<1, 1, 0, stream>>>(2, out);
  finish();
  EXPECT_EQ(out[0], 3);
}

}  // namespace
}  // namespace membar_test
