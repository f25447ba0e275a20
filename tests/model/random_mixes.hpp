// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
/// @file
/// The random tests whose outcomes are compared with those of a second decision procedure.
#pragma once

#include <bench/model/random_test.hpp>

#include <cstdint>
#include <ostream>
#include <string>
#include <vector>

namespace membar_test {

struct mix {
  const char* name;
  random_shape shape;
  std::uint64_t seed;
  int programs;
};

inline std::ostream& operator<<(std::ostream& out, const mix& m) { return out << m.name; }

inline const std::vector<std::string> plain_names = {"x", "y", "z"};

constexpr random_shape shaped(int threads, int instructions, int locations, bool barriers, bool proxies) {
  return {.threads = threads, .instructions = instructions, .locations = locations, .barriers = barriers, .proxies = proxies};
}

/// Also vectors, mbarriers, edges of the API, loops that wait, second branches and registers as the expected value of a cas.
constexpr random_shape wide(int threads, int instructions, int locations) {
  return {.threads = threads, .instructions = instructions, .locations = locations, .wide = true};
}

inline const mix compared_mixes[] = {{"two", shaped(2, 3, 2, false, false), 21, 2500},
                                     {"one_location", shaped(2, 3, 1, false, false), 22, 600},
                                     {"three", shaped(3, 2, 2, false, false), 23, 600},
                                     {"barriers", shaped(3, 2, 2, true, false), 24, 1500},
                                     {"long", shaped(2, 5, 2, false, false), 27, 60},
                                     {"wide", wide(2, 4, 2), 28, 1500},
                                     {"wide_three", wide(3, 2, 1), 29, 1000},
                                     {"proxies", shaped(2, 3, 2, false, true), 25, 2000},
                                     {"everything", shaped(2, 3, 2, true, true), 26, 1500}};

}  // namespace membar_test
