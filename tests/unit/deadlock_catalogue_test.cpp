// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The recorder reports each deadlock in docs/deadlocks.md by name before anything is enqueued, and does not report the
// corrected program.
#include <tests/common/deadlock_catalogue.hpp>

#include <gtest/gtest.h>

namespace membar_test {
namespace {

template <class Entry>
class deadlock_catalogue : public ::testing::Test {};
TYPED_TEST_SUITE(deadlock_catalogue, deadlocks::every<::testing::Types>);

TYPED_TEST(deadlock_catalogue, is_reported_by_its_name) {
  const auto reports = deadlocks::reports_of([](auto& to) { TypeParam::wrong(to); });
  ASSERT_FALSE(reports.empty());
  EXPECT_EQ(reports.front().kind, TypeParam::kind) << reports.front().sentence;
  EXPECT_EQ(reports.front().sentence.rfind(std::string("membar: ") + name(TypeParam::kind) + ": ", 0), 0U)
      << reports.front().sentence;
  std::printf("%s\n", reports.front().sentence.c_str());
}

TYPED_TEST(deadlock_catalogue, corrected_is_not_reported) {
  const auto reports = deadlocks::reports_of([](auto& to) { TypeParam::right(to); });
  EXPECT_TRUE(reports.empty()) << reports.front().sentence;
}

}  // namespace
}  // namespace membar_test
