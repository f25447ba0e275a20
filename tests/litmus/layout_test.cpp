// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The layout of instances: which thread runs each test thread, and where its memory is, for every instance, seat and step.
#include <membar/litmus/instance_layout.hpp>
#include <membar/litmus/launch_view.hpp>

#include <gtest/gtest.h>

#include <algorithm>
#include <cstddef>
#include <ostream>
#include <set>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

namespace {

using namespace membar::litmus;

/// A layout, and the seats of a test's threads in one launch.
struct arrangement {
  std::string name;
  instance_layout layout;
  std::vector<seat> seats;
};

std::ostream& operator<<(std::ostream& out, const arrangement& a) { return out << a.name; }

instance_layout made(unsigned blocks, unsigned width, unsigned cluster, unsigned batch, spread within) {
  return {.blocks = blocks,
          .width = width,
          .cluster = cluster,
          .batch = batch,
          .locations = 3,
          .observations = 2,
          .within = within,
          .seed = 7};
}

/// `threads` test threads, each in its own block and its own cluster.
std::vector<seat> apart(unsigned char threads) {
  std::vector<seat> all;
  for (unsigned char t = 0; t < threads; ++t) {
    all.push_back({.cluster_group = t, .cluster_groups = threads, .group = t});
  }
  return all;
}

/// `threads` test threads in one block.
std::vector<seat> in_one_block(unsigned char threads) {
  std::vector<seat> all;
  for (unsigned char t = 0; t < threads; ++t) {
    all.push_back({.slot = t, .slots = threads});
  }
  return all;
}

/// Two threads in different blocks of a cluster, a third thread in another cluster, and a fourth thread in the first thread's
/// block.
std::vector<seat> mixed() {
  return {{.cluster_groups = 2, .slots = 2},
          {.cluster_groups = 2, .rank = 1, .group = 1},
          {.cluster_group = 1, .cluster_groups = 2, .group = 2},
          {.cluster_groups = 2, .slot = 1, .slots = 2}};
}

/// Visits every GPU thread and round of a step.
std::vector<position> positions(const instance_layout& l) {
  std::vector<position> all;
  for (unsigned turn = 0; turn < l.instances(); ++turn) {
    all.push_back({turn / l.width % l.blocks, turn % l.width, turn / l.per_round()});
  }
  return all;
}

std::vector<arrangement> arrangements() {
  std::vector<arrangement> all;
  for (const spread within : {spread::lanes, spread::warps, spread::block}) {
    const std::string in = within == spread::lanes ? "lanes" : within == spread::warps ? "warps" : "block";
    all.push_back({"one_block_" + in, made(1, 64, 1, 1, within), in_one_block(2)});
    all.push_back({"sixteen_in_a_block_" + in, made(3, 512, 1, 2, within), in_one_block(16)});
    all.push_back({"two_blocks_" + in, made(2, 32, 1, 3, within), apart(2)});
    all.push_back({"four_of_five_blocks_" + in, made(5, 128, 1, 1, within), apart(4)});
    all.push_back({"exactly_seven_blocks_" + in, made(7, 64, 1, 1, within), apart(7)});
    all.push_back({"clusters_" + in, made(12, 64, 4, 1, within), mixed()});
    all.push_back({"two_clusters_" + in, made(4, 64, 2, 2, within), mixed()});
    // One H200, with 132 multiprocessors of 1024 threads each.
    all.push_back({"h200_" + in, made(528, 256, 1, 1, within), apart(4)});
    all.push_back({"h200_clusters_" + in, made(528, 256, 2, 1, within), mixed()});
  }
  return all;
}

class litmus_layout : public ::testing::TestWithParam<arrangement> {
 protected:
  /// If there are few instances, there are more steps.
  [[nodiscard]] static unsigned steps() { return GetParam().layout.instances() > 100'000 ? 3 : 50; }
};
INSTANTIATE_TEST_SUITE_P(, litmus_layout, ::testing::ValuesIn(arrangements()),
                         [](const auto& each) { return each.param.name; });

TEST_P(litmus_layout, runs_each_test_thread_of_each_instance_once_in_a_step) {
  const instance_layout& l = GetParam().layout;
  const std::vector<position> all = positions(l);
  for (const seat& s : GetParam().seats) {
    for (unsigned step = 0; step < steps(); ++step) {
      std::vector<bool> run(l.instances());
      for (const position& at : all) {
        const unsigned instance = instance_at(l, s, step, at);
        ASSERT_FALSE(run.at(instance));
        run[instance] = true;
        ASSERT_EQ(position_of(l, s, step, instance), at);
      }
    }
  }
}

TEST_P(litmus_layout, puts_the_threads_of_an_instance_where_their_seats_say) {
  const instance_layout& l = GetParam().layout;
  const std::vector<seat>& seats = GetParam().seats;
  for (unsigned step = 0; step < steps(); ++step) {
    for (unsigned instance = 0; instance < l.instances(); ++instance) {
      for (std::size_t a = 0; a < seats.size(); ++a) {
        for (std::size_t b = 0; b < a; ++b) {
          const position one = position_of(l, seats[a], step, instance);
          const position other = position_of(l, seats[b], step, instance);
          ASSERT_EQ(one.round, other.round);
          ASSERT_EQ(one.block == other.block, seats[a].group == seats[b].group);
          ASSERT_EQ(one.block / l.cluster == other.block / l.cluster, seats[a].cluster_group == seats[b].cluster_group);
          if (one.block == other.block) {
            ASSERT_NE(one.thread, other.thread);
            if (l.within != spread::block) {
              ASSERT_EQ(one.thread / warp_lanes == other.thread / warp_lanes, l.within == spread::lanes);
            }
          }
        }
      }
    }
  }
}

TEST_P(litmus_layout, gives_every_instance_cells_and_digits_of_its_own) {
  for (const bool together : {false, true}) {
    for (const unsigned stride : {16U, 48U}) {
      instance_layout l = GetParam().layout;
      l.together = together;
      l.stride = stride;
      for (unsigned step = 0; step < std::min(steps(), 5U); ++step) {
        std::vector<bool> taken(l.region_bytes() / cell_bytes);
        for (unsigned instance = 0; instance < l.instances(); ++instance) {
          for (unsigned location = 0; location < l.locations; ++location) {
            const unsigned long long offset = cell_offset(l, rotation_of(l, step, location), location, instance);
            ASSERT_EQ(offset % cell_bytes, 0U);
            ASSERT_LE(offset + cell_bytes, l.region_bytes());
            ASSERT_FALSE(taken[offset / cell_bytes]);
            taken[offset / cell_bytes] = true;
          }
        }
      }
      std::vector<bool> digit(l.digit_bytes());
      for (unsigned instance = 0; instance < l.instances(); ++instance) {
        for (unsigned o = 0; o < l.observations; ++o) {
          ASSERT_FALSE(digit.at(digit_offset(l, o, instance)));
          digit[digit_offset(l, o, instance)] = true;
        }
      }
    }
  }
}

TEST_P(litmus_layout, keeps_a_location_in_the_same_cells_in_every_step) {
  // The memory that is reset in one step is also correct for the next step, which uses a different rotation.
  instance_layout l = GetParam().layout;
  for (const bool together : {false, true}) {
    l.together = together;
    for (unsigned location = 0; location < l.locations; ++location) {
      const auto cells = [&](unsigned step) {
        std::set<unsigned long long> all;
        for (unsigned instance = 0; instance < l.instances(); ++instance) {
          all.insert(cell_offset(l, rotation_of(l, step, location), location, instance));
        }
        return all;
      };
      if (l.instances() < 10'000) {
        ASSERT_EQ(cells(0), cells(1));
      }
    }
  }
}

TEST_P(litmus_layout, gives_the_host_every_instance_once_round_by_round) {
  const instance_layout& l = GetParam().layout;
  const seat host{.launch = 1};
  for (unsigned step = 0; step < 3; ++step) {
    std::vector<bool> run(l.instances());
    for (unsigned turn = 0; turn < l.instances(); ++turn) {
      const unsigned instance = host_instance(l, host, step, turn);
      ASSERT_EQ(instance / l.per_round(), turn / l.per_round());
      ASSERT_FALSE(run.at(instance));
      run[instance] = true;
    }
  }
}

TEST_P(litmus_layout, has_one_owner_for_every_instance) {
  const instance_layout& l = GetParam().layout;
  std::vector<bool> owned(l.instances());
  for (const position& at : positions(l)) {
    ASSERT_FALSE(owned.at(owned_instance(l, at)));
    owned[owned_instance(l, at)] = true;
  }
}

TEST(litmus_layout_of_a_seed, is_the_same_for_the_same_seed_and_another_for_another) {
  instance_layout l = made(64, 128, 1, 1, spread::block);
  const std::vector<seat> seats = apart(2);
  const auto picture = [&](unsigned long long seed, unsigned step) {
    l.seed = seed;
    std::vector<unsigned> all;
    for (unsigned block = 0; block < l.blocks; ++block) {
      all.push_back(instance_at(l, seats[1], step, {block, 5, 0}));
    }
    return all;
  };
  EXPECT_EQ(picture(1, 9), picture(1, 9));
  EXPECT_NE(picture(1, 9), picture(2, 9));
  EXPECT_NE(picture(1, 9), picture(1, 10));
  EXPECT_NE(picture(1, 9), picture((1ULL << 40) + 1, 9));
}

TEST(litmus_layout_of_a_seed, brings_every_pair_of_blocks_together) {
  const instance_layout l = made(8, 32, 1, 1, spread::lanes);
  const std::vector<seat> seats = apart(2);
  std::set<std::pair<unsigned, unsigned>> met;
  for (unsigned step = 0; step < 2000; ++step) {
    met.insert({position_of(l, seats[0], step, 0).block, position_of(l, seats[1], step, 0).block});
  }
  EXPECT_EQ(met.size(), 8U * 7U);
}

TEST(litmus_layout_of_a_seed, inverts_every_odd_factor) {
  for (unsigned a = 1; a < 100'001; a += 2) {
    ASSERT_EQ(detail::inverse(a) * a, 1U);
  }
  EXPECT_EQ(detail::inverse(0xffffffffU) * 0xffffffffU, 1U);
}

TEST(litmus_layout_of_a_seed, draws_each_number_below_a_bound) {
  std::vector<unsigned> seen(7);
  for (unsigned step = 0; step < 7000; ++step) {
    ++seen.at(detail::scaled(detail::draw(3, step, 5), 7));
  }
  for (const unsigned count : seen) {
    EXPECT_GT(count, 850U);  // out of 1000; five standard deviations are 146
    EXPECT_LT(count, 1150U);
  }
}

// Host and device share these types.
static_assert(std::is_trivially_copyable_v<launch_view> && sizeof(launch_view) <= 4096);
static_assert(sizeof(cell_value) == cell_bytes && alignof(cell_value) == cell_bytes);
static_assert(sizeof(run_barrier_words) % 128 == 0 && sizeof(block_barrier_words) % 128 == 0);

}  // namespace
