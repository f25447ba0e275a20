// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
/// @file
/// The kinds of random tests whose outcomes are compared with the outcomes from a second decision procedure.
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

/// Also includes vectors, mbarriers, API edges, waiting loops, second branches, and registers as the expected value of a cas.
constexpr random_shape wide(int threads, int instructions, int locations) {
  return {.threads = threads, .instructions = instructions, .locations = locations, .wide = true};
}

/// Half of the instructions are of rare kinds.
constexpr random_shape dense(random_shape shape) {
  shape.dense = true;
  return shape;
}

/// Strong accesses to one location, so that coherence orders all writes.
constexpr random_shape strong(int threads, int instructions) {
  return {.threads = threads,
          .instructions = instructions,
          .locations = 1,
          .fences = false,
          .places = false,
          .strong = true,
          .only_accesses = true};
}

inline const mix compared_mixes[] = {{"two", shaped(2, 3, 2, false, false), 21, 2500},
                                     {"one_location", shaped(2, 3, 1, false, false), 22, 600},
                                     {"three", shaped(3, 2, 2, false, false), 23, 600},
                                     {"barriers", shaped(3, 2, 2, true, false), 24, 1500},
                                     {"long", shaped(2, 5, 2, false, false), 27, 60},
                                     {"wide", wide(2, 4, 2), 28, 1500},
                                     {"wide_three", wide(3, 2, 1), 29, 1000},
                                     {"dense_barriers", dense(shaped(3, 3, 1, true, false)), 30, 3000},
                                     {"dense_proxies", dense(shaped(2, 4, 1, false, true)), 31, 500},
                                     {"dense_wide", dense(wide(2, 4, 1)), 32, 150},
                                     {"proxies", shaped(2, 3, 2, false, true), 25, 2000},
                                     {"everything", shaped(2, 3, 2, true, true), 26, 1500}};

/// The mixes whose outcomes are compared with the outcomes of interleavings.
inline const mix interleaved_mixes[] = {
    {"two_of_five", strong(2, 5), 33, 60}, {"three_of_three", strong(3, 3), 34, 60}, {"four_of_two", strong(4, 2), 35, 60}};

/// Atomics of 4 and 8 bytes at one location.
constexpr random_shape sized(int threads, int instructions) {
  return {.threads = threads, .instructions = instructions, .locations = 1, .sizes = true};
}

/// Threads that the CUDA API orders, and loads through the read-only path.
constexpr random_shape kernels(int instructions, bool barriers) {
  return {.threads = 3, .instructions = instructions, .locations = 2, .barriers = barriers, .kernels = true};
}

/// Mixes that the second decision procedure does not support. A mutant of the model is detected if it changes their outcomes.
inline const mix mutated_mixes[] = {{"sizes", sized(3, 2), 5, 60}, {"kernels", kernels(3, false), 5, 60}};

}  // namespace membar_test
