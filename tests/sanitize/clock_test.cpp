// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Clocks behave like maps from keys to times, regardless of the storage that they share internally.
#include <sanitize/clock.hpp>

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <random>
#include <vector>

namespace clock_test {
namespace {

using membar::sanitize::clock;
constexpr std::uint32_t keys = 600;

struct pair {
  clock tree{};
  std::vector<std::uint32_t> map = std::vector<std::uint32_t>(keys, 0);
};

void expect_equal(const pair& p) {
  for (std::uint32_t k = 0; k < keys; ++k) {
    ASSERT_EQ(p.tree.at(k), p.map[k]) << "key " << k;
  }
}

void raise(pair& p, std::uint32_t first, std::uint32_t last, std::uint32_t time) {
  p.tree.raise(first, last, time);
  for (std::uint32_t k = first; k <= last; ++k) {
    p.map[k] = std::max(p.map[k], time);
  }
}

TEST(clocks, are_maps_under_random_changes) {
  clock::use_levels(clock::levels_for(keys));
  std::mt19937 random(7);
  const auto below = [&](std::uint32_t n) { return static_cast<std::uint32_t>(random() % n); };
  std::vector<pair> all(6);
  for (int n = 0; n < 20'000; ++n) {
    pair& p = all[below(6)];
    const pair& o = all[below(6)];
    switch (below(6)) {
      case 0:
        p = o;
        break;
      case 1: {
        const std::uint32_t first = below(keys);
        raise(p, first, std::min(keys - 1, first + below(64)), below(50));
        break;
      }
      case 2: {
        const std::uint32_t first = below(keys / 16) * 16;
        raise(p, first, first + 15, below(50));
        break;
      }
      case 3:
        if (&p != &o) {
          p.tree.join(o.tree);
          std::ranges::transform(p.map, o.map, p.map.begin(), [](auto a, auto b) { return std::max(a, b); });
        }
        break;
      case 4:
        if (below(4) == 0) {
          p.tree.meet(o.tree);
          std::ranges::transform(p.map, o.map, p.map.begin(), [](auto a, auto b) { return std::min(a, b); });
        }
        break;
      default:
        if (below(20) == 0) {
          p = pair();
        }
        break;
    }
    if (n % 50 == 0) {
      expect_equal(p);
    }
  }
  for (const pair& p : all) {
    expect_equal(p);
  }
}

TEST(clocks, join_what_has_grown_since_a_former_time) {
  clock::use_levels(clock::levels_for(keys));
  std::mt19937 random(8);
  const auto below = [&](std::uint32_t n) { return static_cast<std::uint32_t>(random() % n); };
  pair order;
  std::vector<pair> threads(20);
  std::vector<clock> last(20);
  for (int n = 0; n < 3'000; ++n) {  // Changes the clocks as threads that synchronize in a fixed order would.
    const std::uint32_t t = below(20);
    raise(threads[t], 30 * t, 30 * t + below(30), static_cast<std::uint32_t>(n));
    threads[t].tree.join(order.tree, last[t]);
    std::ranges::transform(threads[t].map, order.map, threads[t].map.begin(), [](auto a, auto b) { return std::max(a, b); });
    order = threads[t];
    last[t] = order.tree;
    expect_equal(threads[t]);
  }
}

TEST(clocks, give_back_their_nodes) {
  clock::use_levels(clock::levels_for(keys));
  const std::uint64_t before = clock::nodes();
  {
    pair p;
    raise(p, 3, 400, 5);
    pair q = p;
    raise(q, 17, 17, 9);
    EXPECT_GT(clock::nodes(), before);
  }
  EXPECT_EQ(clock::nodes(), before);
}

TEST(clocks, keep_one_entry_for_a_range_of_one_time) {
  clock::use_levels(clock::levels_for(keys));
  const std::uint64_t before = clock::nodes();
  clock c;
  for (std::uint32_t k = 256; k < 512; ++k) {
    c.raise(k, k % 7);
  }
  EXPECT_GT(clock::nodes(), before + 16);
  c.raise(256, 511, 9);
  EXPECT_EQ(clock::nodes(), before + 1);
}

}  // namespace
}  // namespace clock_test
