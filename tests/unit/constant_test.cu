// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <membar/constant.cuh>

#include <tests/common/refusal.hpp>

namespace {

__constant__ membar::constant_table<float, 9> weights;
__constant__ membar::constant_table<double, 8192 - 9> rest;
static_assert(membar::fit_into_constant_memory<decltype(weights), decltype(rest)>);
static_assert(!membar::fit_into_constant_memory<decltype(weights), decltype(rest), membar::constant_table<float, 10>>);
static_assert(sizeof(membar::constant_table<char, 65536>) == membar::constant_memory_bytes);

using membar_test::refusal, membar_test::says;

TEST(constant_table, refuses_an_upload_of_the_wrong_size) {
  const float values[9] = {};
  EXPECT_EQ(refusal([&] { membar::upload(weights, values, 8, nullptr); }),
            "membar: an upload of 8 elements is not the whole of a constant table of 9: pass 9, or use upload_part");
  EXPECT_EQ(refusal([&] { membar::upload_part(weights, 4, values, 6, nullptr); }),
            "membar: an upload of 6 elements from element 4 does not fit into a constant table of 9: pass at most 5");
  for (const auto& [first, count] : {std::pair<std::size_t, std::size_t>{10, 1}, {1, static_cast<std::size_t>(-1)}}) {
    EXPECT_TRUE(says(refusal([&] { membar::upload_part(weights, first, values, count, nullptr); }), "does not fit"));
  }
}

TEST(constant_access_counts, warn_of_a_divergent_index_only) {
  testing::internal::CaptureStderr();
  EXPECT_FALSE(membar::warn_if_divergent({}, "weights"));
  EXPECT_FALSE(membar::warn_if_divergent({.warps = 4, .addresses = 4, .worst = 1}, "weights"));
  EXPECT_EQ(testing::internal::GetCapturedStderr(), "");
  testing::internal::CaptureStderr();
  EXPECT_TRUE(membar::warn_if_divergent({.warps = 4, .addresses = 50, .worst = 32}, "weights"));
  EXPECT_TRUE(says(testing::internal::GetCapturedStderr(),
                   "the constant table weights is read at 12.5 different addresses per warp (32 at worst)"));
}

}  // namespace
