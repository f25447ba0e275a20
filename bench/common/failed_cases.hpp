// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
/// @file
/// Cases of a bench that failed: where only the aggregates of the repetitions are kept, a repetition that failed leaves no trace
/// in them.
#pragma once

#include <benchmark/benchmark.h>

#include <cstdio>
#include <string>

namespace support {

/// How many repetitions have failed; a bench ends with 1 if any did.
inline int failed_repetitions = 0;

/// Remembers that a case failed: says so once, and fails every later repetition of it, too.
class case_failure {
 public:
  /// Whether an earlier repetition failed; then this one is an error.
  [[nodiscard]] bool before(benchmark::State& state) const {
    if (!what_.empty()) {
      fail(state);
    }
    return !what_.empty();
  }
  void now(benchmark::State& state, const std::string& name, const char* what) {
    what_ = what;
    std::fprintf(stderr, "%s failed: %s\n", name.c_str(), what);
    fail(state);
  }

 private:
  void fail(benchmark::State& state) const {
    ++failed_repetitions;
    state.SkipWithError(what_.c_str());
  }

  std::string what_;
};

}  // namespace support
