// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <membar/version.hpp>

#include <gtest/gtest.h>

namespace {

TEST(version, is_the_same_as_a_macro_as_values_and_in_cmake) {
  constexpr auto version = membar::version;
  EXPECT_EQ(version.major * 10000 + version.minor * 100 + version.patch, MEMBAR_VERSION);
  EXPECT_EQ(version.major, MEMBAR_PROJECT_MAJOR);
  EXPECT_EQ(version.minor, MEMBAR_PROJECT_MINOR);
  EXPECT_EQ(version.patch, MEMBAR_PROJECT_PATCH);
}

}  // namespace
