// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "membar-domains/overlap.hpp"

#include <gtest/gtest.h>

#include <sstream>

#include "membar-domains/picture.hpp"

namespace {

using namespace membar_domains;

std::string put_is_remote(std::uint32_t, const std::string& name) { return name == "put" ? "known" : ""; }

/// Ten chains of 2 µs kernels, 1 µs apart alone; beside a put in stream 2, which runs in the last `beside` of them, 4 µs apart.
records chain(std::uint32_t graph, int beside = 5) {
  records r;
  r.names = {{0, "small"}, {1, "put"}};
  std::uint64_t now = 1'000'000;
  for (int c = 0; c < 10; ++c) {
    const bool held = c >= 10 - beside;
    const std::uint64_t start = now;
    for (int k = 0; k < 11; ++k) {
      r.kernels.push_back({0, 1, graph, now, now + 2000, 0});
      now += held ? 6000 : 3000;
    }
    if (held) {
      r.kernels.push_back({0, 2, 0, start - 100, now, 1});
    }
    now += 1'000'000;
  }
  return r;
}

TEST(overlap, boundaries_beside_a_remote_kernel_cost_what_they_take_longer_than_alone) {
  const overlap_report report = overlaps(chain(0), put_is_remote);
  ASSERT_EQ(report.boundaries.size(), 1U);
  const boundary& b = report.boundaries[0];
  EXPECT_EQ(b.alone, 50U);
  EXPECT_EQ(b.beside, 50U);
  EXPECT_DOUBLE_EQ(b.step_alone, 3);
  EXPECT_DOUBLE_EQ(b.step_beside, 6);
  EXPECT_DOUBLE_EQ(b.held_up, 3);
  EXPECT_EQ(report.held_up_count, 50U);
  EXPECT_DOUBLE_EQ(report.held_up_ms, 0.15);
  EXPECT_DOUBLE_EQ(report.beside_ms, 0.3);
  EXPECT_DOUBLE_EQ(report.expected_back_ms, 0.15 * relief_in_a_stream);
}

TEST(overlap, what_comes_back_is_less_in_a_graph) {
  EXPECT_DOUBLE_EQ(overlaps(chain(7), put_is_remote).expected_back_ms, 0.15 * relief_in_a_graph);
}

TEST(overlap, a_boundary_that_never_ran_alone_has_no_cost_but_is_counted) {
  const overlap_report report = overlaps(chain(0, 10), put_is_remote);
  EXPECT_EQ(report.held_up_count, 0U);
  EXPECT_EQ(report.unknown, 100U);
  EXPECT_NE(sentence(report).find("none like them ran alone"), std::string::npos);
}

TEST(overlap, a_put_on_another_device_holds_nothing_up) {
  records r = chain(0);
  for (ran& k : r.kernels) {
    k.device = k.name == 1 ? 1 : 0;
  }
  EXPECT_EQ(sentence(overlaps(r, put_is_remote)),
            "No kernel ran beside one that stores to a peer or to the host: there is nothing to move.");
}

TEST(overlap, of_long_kernels_only_the_gap_counts) {
  records r;
  r.names = {{0, "gemm"}, {1, "put"}};
  std::uint64_t now = 1'000'000;
  for (int c = 0; c < 20; ++c) {
    const bool held = c >= 10;
    const std::uint64_t start = now;
    for (int k = 0; k < 3; ++k) {
      const std::uint64_t takes = held ? 60'000 : 40'000;  // bandwidth is shared
      r.kernels.push_back({0, 1, 0, now, now + takes, 0});
      now += takes + (held ? 3000 : 1000);
    }
    if (held) {
      r.kernels.push_back({0, 2, 0, start - 100, now, 1});
    }
    now += 1'000'000;
  }
  EXPECT_DOUBLE_EQ(overlaps(r, put_is_remote).boundaries.at(0).held_up, 2);
}

TEST(overlap, the_sentence_has_the_names_and_the_numbers) {
  EXPECT_EQ(sentence(overlaps(chain(0), put_is_remote)),
            "put holds up 50 boundaries of other kernels by 3.00 µs each, 0.15 ms of 0.30 ms beside; moving it to a domain of "
            "its own should "
            "give about 0.12 ms back.");
  EXPECT_EQ(sentence(overlaps(chain(0), [](auto, const auto&) { return std::string(); })),
            "No kernel of the program is known to store to a peer or to the host: name yours with --remote=REGEX.");
}

TEST(overlap, the_list_names_what_ran_beside_others_and_comments_the_rest_out) {
  records r = chain(0);
  r.names[2] = "put_at_start(int)";
  r.kernels.push_back({0, 2, 0, 10, 20, 2});
  const std::string list =
      list_of(overlaps(r, [](auto, const std::string& name) { return std::string(name == "small" ? "" : "known"); }));
  EXPECT_NE(list.find("\nremote ^put$  # known"), std::string::npos) << list;
  EXPECT_NE(list.find("\n# ran beside nothing: remote ^put_at_start$"), std::string::npos) << list;
}

TEST(overlap, the_list_tells_kernels_of_one_short_name_apart) {
  records r = chain(0);
  r.names = {{0, "void apply<add>(int)"}, {1, "void apply<neg>(int)"}};
  const std::string list =
      list_of(overlaps(r, [](auto, const std::string& name) { return std::string(name.find("neg") == 11 ? "peer" : ""); }));
  EXPECT_NE(list.find("\nremote ^void apply<neg>\\(int\\)$  # peer"), std::string::npos) << list;
}

TEST(overlap, the_picture_marks_every_held_up_boundary_in_its_window) {
  const records r = chain(0);
  const std::string svg = timeline(r, overlaps(r, put_is_remote), 120);
  std::size_t held = 0;
  for (auto at = svg.find("class=\"held\""); at != std::string::npos; at = svg.find("class=\"held\"", at + 1)) {
    ++held;
  }
  EXPECT_EQ(held, 10U + 1U);  // and the legend
  EXPECT_NE(svg.find("GPU 0, stream 2"), std::string::npos);
  EXPECT_EQ(timeline(r, overlaps(r, [](auto, const auto&) { return std::string(); })), "");
}

TEST(intervals, united_ones_are_in_order_and_apart) {
  const auto all = united({{50, 60}, {0, 10}, {5, 20}, {22, 30}}, 2);
  ASSERT_EQ(all.size(), 2U);
  EXPECT_EQ(all[0].start, 0);
  EXPECT_EQ(all[0].end, 30);
  EXPECT_TRUE(covered(all, 3, 30));
  EXPECT_FALSE(covered(all, 25, 31));
  EXPECT_TRUE(touched(all, 30, 40));
  EXPECT_FALSE(touched(all, 31, 49));
}

TEST(records_of_a_process, are_read_and_a_line_that_a_crash_cut_off_is_counted) {
  std::istringstream in(
      "N 0 void a<b, c>(d)\nR 0 pointer to a peer\nK 0 7 0 100 200 0\nL 3 graph 1\nT 3 10 20\nM 1 5 25\nK 0 7 0 0 0 0\nK 0 7");
  const records r = read_records(in);
  EXPECT_EQ(r.names.at(0), "void a<b, c>(d)");
  EXPECT_EQ(r.reasons.at(0), "pointer to a peer");
  EXPECT_EQ(r.lanes.at(3), "graph 1");
  EXPECT_EQ(r.kernels.size(), 1U);
  EXPECT_EQ(r.ticks.size(), 1U);
  EXPECT_EQ(r.moves.at(0).how, mode::on);
  EXPECT_EQ(r.unreadable, 1);
}

}  // namespace
