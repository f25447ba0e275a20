// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
/// @file
/// Helpers that capture the error message from a rejected call.
#pragma once

#include <membar/error.hpp>

#include <gtest/gtest.h>

#include <string>
#include <string_view>

namespace membar_test {

/// Returns the message of the `membar::error` that `call` throws, or an empty string if `call` does not throw one.
template <class Call>
[[nodiscard]] std::string refusal(Call call) {
  try {
    call();
  } catch (const membar::error& refused) {
    return refused.what();
  }
  return "";
}

/// Returns whether `sentence` contains these words: `EXPECT_TRUE(says(refusal(call), "use an id from 0 to 3"))`.
[[nodiscard]] inline ::testing::AssertionResult says(std::string_view sentence, std::string_view words) {
  if (sentence.find(words) != sentence.npos) {
    return ::testing::AssertionSuccess() << "it says: " << sentence;
  }
  return ::testing::AssertionFailure() << "'" << words << "' is not in the message: " << sentence;
}

}  // namespace membar_test
