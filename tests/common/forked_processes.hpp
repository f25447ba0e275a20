// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
/// @file
/// Processes that a test forks, and what they find wrong.
#pragma once

#include <bench/common/processes.hpp>

#include <tests/common/refusal.hpp>

#include <chrono>
#include <cstdio>
#include <string>
#include <vector>

namespace membar_test {

/// Runs `body(rank)` in `count` processes; their exit codes, of which 0 is a success.
template <class Body>
std::vector<int> processes(int count, Body body) {
  std::vector<pid_t> children;
  for (int rank = 0; rank != count; ++rank) {
    children.push_back(support::detail::forked([&body, rank] { return body(rank); }));
  }
  std::vector<int> codes;
  for (const pid_t each : children) {
    codes.push_back(support::detail::ended({each}, std::chrono::seconds(60))[0]);
  }
  return codes;
}

/// 0 if the call is refused with these words; else it prints what it said.
template <class Call>
int unless_refused(const char* words, Call call) {
  const std::string sentence = refusal(call);
  if (sentence.find(words) != sentence.npos) {
    return 0;
  }
  std::fprintf(stderr, "not '%s' but: %s\n", words, sentence.c_str());
  return 1;
}

}  // namespace membar_test
