// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <membar/constant.cuh>

#include <tests/common/refusal.hpp>
#include <tests/fake_cuda/fake_cuda.hpp>

#include <array>
#include <span>
#include <vector>

namespace {

__constant__ membar::constant_table<float, 9> weights;
__constant__ membar::constant_table<double, 8192 - 9> rest;
static_assert(membar::fit_into_constant_memory<decltype(weights), decltype(rest)>);
static_assert(!membar::fit_into_constant_memory<decltype(weights), decltype(rest), membar::constant_table<float, 10>>);
static_assert(sizeof(membar::constant_table<char, 65536>) == membar::constant_memory_bytes);

using fake_cuda::now;
using membar_test::refusal, membar_test::says;

TEST(constant_table, rejects_an_upload_of_the_wrong_size) {
  const float values[9] = {};
  EXPECT_EQ(
      refusal([&] { membar::upload(weights, values, 8, nullptr); }),
      "membar: an upload of 8 elements does not fill a constant table of 9 elements: pass 9 elements, or use upload_part");
  EXPECT_EQ(refusal([&] { membar::upload_part(weights, 4, values, 6, nullptr); }),
            "membar: an upload of 6 elements starting at element 4 does not fit into a constant table of 9 elements: pass at "
            "most 5 elements");
  for (const auto& [first, count] : {std::pair<std::size_t, std::size_t>{10, 1}, {1, static_cast<std::size_t>(-1)}}) {
    EXPECT_TRUE(says(refusal([&] { membar::upload_part(weights, first, values, count, nullptr); }), "does not fit"));
  }
}

class constant_upload : public fake_cuda::test {
 protected:
  void expect_whole(const void* values) {
    ASSERT_EQ(now().symbol_copies.size(), 1U);
    EXPECT_EQ(now().symbol_copies[0].symbol, &weights);
    EXPECT_EQ(now().symbol_copies[0].from, values);
    EXPECT_EQ(now().symbol_copies[0].bytes, sizeof weights);
    EXPECT_EQ(now().symbol_copies[0].offset, 0U);
    now().symbol_copies.clear();
  }
};

TEST_F(constant_upload, takes_arrays_vectors_and_spans) {
  const float plain[9] = {};
  membar::upload(weights, plain, nullptr);
  expect_whole(plain);
  std::array<float, 9> array{};
  membar::upload(weights, array, nullptr);
  expect_whole(array.data());
  const std::vector<float> vector(9);
  membar::upload(weights, vector, nullptr);
  expect_whole(vector.data());
  membar::upload(weights, std::span<const float>(vector), nullptr);
  expect_whole(vector.data());
  membar::upload(weights, std::span<float, 9>(array), nullptr);
  expect_whole(array.data());
}

TEST_F(constant_upload, of_a_range_of_another_size_is_rejected) {
  EXPECT_EQ(
      refusal([] { membar::upload(weights, std::vector<float>(8), nullptr); }),
      "membar: an upload of 8 elements does not fill a constant table of 9 elements: pass 9 elements, or use upload_part");
  EXPECT_TRUE(now().symbol_copies.empty());
}

TEST_F(constant_upload, in_a_captured_stream_keeps_the_values_for_the_graph) {
  fake_cuda::stream stream;
  stream.capturing = true;
  const void* theirs = nullptr;
  {
    std::vector<float> values(9, 2.5F);
    theirs = values.data();
    membar::upload(weights, values, stream.handle());
  }
  ASSERT_EQ(now().symbol_copies.size(), 1U);
  const void* const kept = now().symbol_copies[0].from;
  EXPECT_NE(kept, theirs);
  ASSERT_EQ(now().owned_by_graph, std::vector<const void*>{kept});
  EXPECT_EQ(static_cast<const float*>(kept)[8], 2.5F);
  ::operator delete(const_cast<void*>(kept));
}

TEST_F(constant_upload, that_the_graph_cannot_keep_is_rejected) {
  fake_cuda::stream stream;
  stream.capturing = true;
  for (const char* call : {"cudaUserObjectCreate", "cudaGraphRetainUserObject"}) {
    now().fails = {{call, {0, cudaErrorMemoryAllocation}}};
    EXPECT_TRUE(says(refusal([&] { membar::upload(weights, std::vector<float>(9), stream.handle()); }),
                     "cudaErrorMemoryAllocation (out of memory): upload the table outside the capture"));
  }
  EXPECT_TRUE(now().symbol_copies.empty());
}

}  // namespace
