// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Tests of teams as values, and of the arguments that the host rejects for a team's barrier.
#include <membar/symmetric/heap.hpp>
#include <membar/symmetric/peer_backend.hpp>
#include <membar/symmetric/team_barrier.hpp>

#include <tests/common/refusal.hpp>
#include <tests/fake_cuda/fake_cuda.hpp>

#include <random>
#include <set>
#include <string>
#include <vector>

namespace {

namespace symmetric = membar::symmetric;

using fake_cuda::now;
using membar_test::refusal, membar_test::says;
using symmetric::pe, symmetric::peer_backend, symmetric::team, symmetric::team_barrier;

TEST(team, has_ranks_in_the_order_of_its_pes) {
  const team all = team::all(4);
  EXPECT_EQ(all.size(), 4);
  EXPECT_EQ(all[3], pe(3));
  EXPECT_EQ(all.rank_of(pe(4)), -1);
  const team even = team::strided(pe(2), 3, 4);
  EXPECT_EQ(even[0], pe(2));
  EXPECT_EQ(even[3], pe(11));
  EXPECT_EQ(even.rank_of(pe(8)), 2);
  EXPECT_FALSE(even.contains(pe(9)));
  EXPECT_FALSE(even.contains(pe(14)));
  EXPECT_FALSE(even.contains(pe(-1)));
  const team some = team::listed({pe(127), pe(3), pe(64)});
  EXPECT_EQ(some.size(), 3);
  EXPECT_EQ(some[0], pe(3));
  EXPECT_EQ(some[1], pe(64));
  EXPECT_EQ(some[2], pe(127));
  EXPECT_EQ(some.rank_of(pe(127)), 2);
  EXPECT_FALSE(some.contains(pe(4)));
  EXPECT_FALSE(some.contains(pe(128)));
}

TEST(team, is_the_same_however_it_was_made) {
  EXPECT_EQ(team::listed({pe(5), pe(1), pe(3)}), team::strided(pe(1), 2, 3));
  EXPECT_EQ(team::listed({pe(0), pe(1)}), team::all(2));
  EXPECT_EQ(team::strided(pe(7), 3, 1), team::listed({pe(7)}));
  EXPECT_FALSE(team::listed({pe(0), pe(1)}) == team::listed({pe(0), pe(2)}));
  EXPECT_FALSE(team::listed({pe(0), pe(1), pe(3)}) == team::listed({pe(0), pe(1), pe(4)}));
}

TEST(team, has_each_of_its_pes_at_the_rank_that_it_has) {
  std::mt19937 random(11);
  for (int times = 0; times != 300; ++times) {
    std::set<int> chosen;
    const int range = times % 2 == 0 ? 8 : team::most_listed;
    for (int size = 1 + static_cast<int>(random() % 8); size != 0; --size) {
      chosen.insert(static_cast<int>(random() % static_cast<unsigned>(range)));
    }
    std::vector<pe> list;
    for (const int each : chosen) {
      list.insert(list.begin(), pe(each));
    }
    const team made = team::listed(list);
    ASSERT_EQ(made.size(), static_cast<int>(chosen.size()));
    int rank = 0;
    for (const int each : chosen) {
      ASSERT_EQ(made[rank], pe(each));
      ASSERT_EQ(made.rank_of(pe(each)), rank++);
    }
    for (int i = 0; i != range; ++i) {
      ASSERT_EQ(made.contains(pe(i)), chosen.contains(i));
    }
  }
}

TEST(team, that_cannot_be_is_rejected) {
  EXPECT_EQ(refusal([] { return team::strided(pe(0), 0, 2); }),
            "membar: a team of 2 PEs starting with PE 0, 0 apart, was requested: a team needs at least 1 PE, PE numbers of 0 "
            "or more, and a distance of at least 1");
  EXPECT_NE(refusal([] { return team::strided(pe(-1), 1, 2); }), "");
  EXPECT_NE(refusal([] { return team::strided(pe(0), 1, 0); }), "");
  EXPECT_NE(refusal([] { return team::strided(pe(1), 1 << 30, 3); }).find("would be beyond PE 2147483647"), std::string::npos);
  EXPECT_EQ(refusal([] { return team::strided(pe(1), (1 << 30) - 1, 3); }), "");
  EXPECT_EQ(
      refusal([] { return team::listed({pe(0), pe(128)}); }),
      "membar: PE 128 was listed as a member of a team: a list can contain only PEs 0 to 127; make a team of other PEs with "
      "team::strided");
  EXPECT_NE(refusal([] { return team::listed({pe(-1)}); }), "");
  EXPECT_EQ(refusal([] { return team::listed({pe(2), pe(2)}); }),
            "membar: PE 2 was listed twice as a member of a team: list it once");
  EXPECT_TRUE(says(refusal([] { return team::listed(std::vector<pe>()); }), "a team without PEs"));
}

TEST(team, is_told_in_words) {
  const auto text = [](const team& each) { return std::string(symmetric::detail::team_text(each).text); };
  EXPECT_EQ(text(team::all(1)), "PE 0");
  EXPECT_EQ(text(team::all(4)), "PEs 0 to 3");
  EXPECT_EQ(text(team::strided(pe(1), 2, 3)), "PEs 1 to 5, 2 apart");
  EXPECT_EQ(text(team::listed({pe(0), pe(3)})), "PEs 0, 3");
  EXPECT_EQ(text(team::listed({pe(0), pe(1), pe(4)})), "PEs 0, 1, 4");
  EXPECT_EQ(text(team::listed({pe(0), pe(2), pe(3), pe(6)})), "PEs 0, 2, 3, 6");
  std::vector<pe> many;
  for (int i = 0; i != 17; ++i) {
    many.push_back(pe(i + i / 16));
  }
  EXPECT_EQ(text(team::listed(many)), "PEs 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, …");
}

class barrier_of_a_team : public fake_cuda::test {
 protected:
  peer_backend backend{std::vector<int>{0, 1, 2, 3}};
  symmetric::heap<peer_backend> heap{backend, 1 << 16};
};

TEST_F(barrier_of_a_team, is_for_its_pes) {
  const team_barrier<peer_backend> even(heap, team::strided(pe(0), 2, 2));
  EXPECT_EQ(even.on(pe(2)).self(), pe(2));
  EXPECT_EQ(even.on(pe(2)).members(), team::listed({pe(0), pe(2)}));
  EXPECT_EQ(even.on(pe(2)).words().size(), 5U) << "one word for each PE, and the count";
  EXPECT_EQ(refusal([&] { return even.on(pe(1)); }),
            "membar: PE 1 cannot use the barrier of team PEs 0, 2, because it is not in the team: name one of its members");
}

TEST_F(barrier_of_a_team, has_pes_that_there_are) {
  EXPECT_EQ(refusal([&] { const team_barrier<peer_backend> far(heap, team::listed({pe(0), pe(4)})); }),
            "membar: PE 4 was named as a member of a team, but only PEs 0 to 3 exist: name one of them");
  EXPECT_EQ(heap.bytes_taken(), 0U);
}

TEST_F(barrier_of_a_team, frees_its_words) {
  {
    const team_barrier<peer_backend> pair(heap, team::all(2));
    EXPECT_GT(heap.bytes_taken(), 0U);
  }
  EXPECT_EQ(heap.bytes_taken(), 0U);
  EXPECT_TRUE(now().failures.empty());
}

/// There are two processes with two PEs each, and this is the second process.
class half_of_four : public peer_backend {
 public:
  half_of_four() : peer_backend(std::vector<int>{0, 1, 2, 3}) {}
  [[nodiscard]] symmetric::pe_range local_pes() const { return {pe(2), 2}; }
  void all_gather(const unsigned long long* mine, unsigned long long* all) {
    for (int i = 0; i != 4; ++i) {
      all[i] = mine[i % 2] ^ (i < 2 ? difference : 0);
    }
  }

  unsigned long long difference = 0;
};

TEST_F(barrier_of_a_team, is_made_in_every_process_of_the_same_team) {
  half_of_four half;
  symmetric::heap<half_of_four> of_half(half, 1 << 16);
  team_barrier<half_of_four> three(of_half, team::all(3));
  EXPECT_EQ(three.on(pe(2)).self(), pe(2));
  EXPECT_NE(refusal([&] { return three.on(pe(3)); }), "");
  EXPECT_NE(refusal([&] { return three.on(pe(1)); }), "") << "PE 1 belongs to another process";
  half.difference = 1;
  EXPECT_EQ(refusal([&] { const team_barrier<half_of_four> other(of_half, team::all(2)); }),
            "membar: the team of a barrier differs between PEs: the process of PE 2 names a different team than the process of "
            "PE 0, and this process names PEs 0, 1: make each team in every process, in the same order, even in processes "
            "without a PE "
            "of the team");
  half.difference = 0;
  const team_barrier<half_of_four> elsewhere(of_half, team::all(2));  // this process has no PE of the team
}

}  // namespace
