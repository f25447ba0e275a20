// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <membar/thread_scope.hpp>

#include <gtest/gtest.h>

namespace {

TEST(thread_scope, is_named_in_membars_words) {
  EXPECT_STREQ(name(membar::thread_scope::block), "block");
  EXPECT_STREQ(name(membar::thread_scope::cluster), "cluster");
  EXPECT_STREQ(name(membar::thread_scope::device), "device");
  EXPECT_STREQ(name(membar::thread_scope::system), "system");
}

TEST(thread_scope, a_value_that_is_no_scope_has_a_name_that_says_so) {
  EXPECT_STREQ(name(static_cast<membar::thread_scope>(17)), "unknown thread scope");
}

TEST(thread_scope, wider_scopes_compare_greater) {
  EXPECT_LT(membar::thread_scope::block, membar::thread_scope::cluster);
  EXPECT_LT(membar::thread_scope::cluster, membar::thread_scope::device);
  EXPECT_LT(membar::thread_scope::device, membar::thread_scope::system);
}

}  // namespace
