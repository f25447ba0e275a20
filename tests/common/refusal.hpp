// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
/// @file
/// What a call was refused with.
#pragma once

#include <membar/error.hpp>

#include <string>

namespace membar_test {

/// What `call` throws, in words, and nothing if it throws nothing.
template <class Call>
[[nodiscard]] std::string refusal(Call call) {
  try {
    call();
  } catch (const membar::error& refused) {
    return refused.what();
  }
  return "";
}

}  // namespace membar_test
