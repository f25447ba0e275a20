// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Test values for each type that atomics support.
#pragma once

#include <cstring>
#include <type_traits>

namespace membar_test {

struct pair {
  int first;
  float second;
};

/// Returns different values of a type for different `i`. Between them, the values distinguish all bits of the type.
template <class T>
T value_of(int i) {
  if constexpr (std::is_same_v<T, pair>) {
    return pair{i, static_cast<float>(i)};
  } else if constexpr (std::is_same_v<T, int*>) {
    static int some[16];
    return some + i;
  } else {
    return static_cast<T>(i);
  }
}

template <class T>
bool equal(const T& a, const T& b) {
  return std::memcmp(&a, &b, sizeof(T)) == 0;
}

}  // namespace membar_test
