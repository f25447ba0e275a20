// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "membar-domains/overlap.hpp"

#include <gtest/gtest.h>

#include <sstream>

#include "membar-domains/move_list.hpp"
#include "membar-domains/picture.hpp"
#include "membar-domains/report_json.hpp"

namespace {

using namespace membar_domains;

std::string put_is_remote(std::uint32_t, const std::string& name) { return name == "put" ? "known" : ""; }

/// Ten chains of 2 µs kernels. The kernels are 1 µs apart when they run alone, and 4 µs apart during a put in stream 2. A put
/// runs during each of the last `beside` chains.
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

TEST(overlap, the_delay_of_a_boundary_is_its_time_during_a_remote_kernel_minus_its_time_alone) {
  const overlap_report report = find_overlaps(chain(0), put_is_remote);
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
}

TEST(overlap, reports_of_processes_become_one) {
  const overlap_report one = find_overlaps(chain(0), put_is_remote);
  const overlap_report other = find_overlaps(chain(0, 2), put_is_remote);
  const overlap_report all = merge_reports({one, other, {}});
  ASSERT_EQ(all.boundaries.size(), 1U);
  EXPECT_EQ(all.boundaries[0].beside, 70U);
  EXPECT_DOUBLE_EQ(all.boundaries[0].held_up, 3);
  EXPECT_DOUBLE_EQ(all.held_up_ms, one.held_up_ms + other.held_up_ms);
  ASSERT_EQ(all.remote.size(), 1U);
  EXPECT_EQ(all.remote[0].count, 7U);
}

TEST(overlap, a_short_name_that_another_process_has_locally_does_not_list_a_kernel) {
  overlap_report one, other;
  one.remote.resize(1);
  one.remote[0].name = "void copy<Put>(float*)";
  one.remote[0].alone_of_its_short_name = one.remote[0].distinguished = true;
  other.local.insert("void copy<Read>(float*)");
  EXPECT_TRUE(merge_reports({one, one}).remote[0].alone_of_its_short_name);
  EXPECT_FALSE(merge_reports({one, other}).remote[0].alone_of_its_short_name);
}

TEST(overlap, a_remote_kernel_without_concurrent_kernels_makes_no_plural) {
  records r = chain(0);
  r.names[2] = "put_at_start(int)";
  r.kernels.push_back({0, 2, 0, 10, 20, 2});
  const std::string text =
      sentence(find_overlaps(r, [](auto, const std::string& name) { return std::string(name == "small" ? "" : "known"); }));
  EXPECT_TRUE(text.starts_with("put delays ")) << text;
  EXPECT_NE(text.find("how much of this delay a move to another domain recovers"), std::string::npos) << text;
}

TEST(overlap, a_boundary_that_never_ran_alone_has_no_cost_but_is_counted) {
  const overlap_report report = find_overlaps(chain(0, 10), put_is_remote);
  EXPECT_EQ(report.held_up_count, 0U);
  EXPECT_EQ(report.unknown, 100U);
  EXPECT_NE(sentence(report).find("too few of each kind were recorded both alone and concurrently"), std::string::npos);
}

TEST(overlap, a_put_on_another_device_holds_nothing_up) {
  records r = chain(0);
  for (kernel_record& k : r.kernels) {
    k.device = k.name == 1 ? 1 : 0;
  }
  EXPECT_EQ(sentence(find_overlaps(r, put_is_remote)),
            "No kernel ran concurrently with a kernel that stores to a peer or to the host: there is nothing to move.");
}

TEST(overlap, of_long_kernels_only_the_gap_counts) {
  records r;
  r.names = {{0, "gemm"}, {1, "put"}};
  std::uint64_t now = 1'000'000;
  for (int c = 0; c < 20; ++c) {
    const bool held = c >= 10;
    const std::uint64_t start = now;
    for (int k = 0; k < 3; ++k) {
      const std::uint64_t takes = held ? 60'000 : 40'000;  // the kernels share the bandwidth
      r.kernels.push_back({0, 1, 0, now, now + takes, 0});
      now += takes + (held ? 3000 : 1000);
    }
    if (held) {
      r.kernels.push_back({0, 2, 0, start - 100, now, 1});
    }
    now += 1'000'000;
  }
  EXPECT_DOUBLE_EQ(find_overlaps(r, put_is_remote).boundaries.at(0).held_up, 2);
}

TEST(overlap, the_sentence_has_the_names_and_the_numbers) {
  EXPECT_EQ(sentence(find_overlaps(chain(0), put_is_remote)),
            "put delays 50 boundaries of other kernels by 3.00 µs each, 0.15 ms in 0.30 ms of concurrent work. membar-domains "
            "try measures how much of this delay a move to another domain recovers.");
  EXPECT_EQ(sentence(find_overlaps(chain(0), [](auto, const auto&) { return std::string(); })),
            "No kernel in the program is known to store to a peer or to the host: name such kernels with --remote=REGEX.");
}

TEST(overlap, the_list_names_kernels_that_ran_concurrently_and_comments_the_rest_out) {
  records r = chain(0);
  r.names[2] = "put_at_start(int)";
  r.kernels.push_back({0, 2, 0, 10, 20, 2});
  const std::string list =
      list_of(find_overlaps(r, [](auto, const std::string& name) { return std::string(name == "small" ? "" : "known"); }));
  EXPECT_NE(list.find("\nremote ^put$  # known"), std::string::npos) << list;
  EXPECT_NE(list.find("\n# ran while no other kernel did: remote ^put_at_start$"), std::string::npos) << list;
}

TEST(overlap, the_list_distinguishes_kernels_of_one_short_name) {
  records r = chain(0);
  r.names = {{0, "void apply<add>(int)"}, {1, "void apply<neg>(int)"}};
  const std::string list = list_of(
      find_overlaps(r, [](auto, const std::string& name) { return std::string(name.find("neg") == 11 ? "peer" : ""); }));
  EXPECT_NE(list.find("\nremote ^void apply<neg>\\(int\\)$  # peer"), std::string::npos) << list;
}

/// The chains, but every kernel has the same name as the puts. The puts are launches 1001 to 1005, and all other launches come
/// before them.
records one_name() {
  records r = chain(0);
  r.names = {{0, "copy"}};
  std::uint32_t launch = 0;
  std::uint32_t put = 1000;
  for (kernel_record& k : r.kernels) {
    k.launch = k.name == 1 ? ++put : ++launch;
    k.name = 0;
  }
  r.reasons = {{0, "peer"}};
  r.far[0].runs = {{false, 110}, {true, 5}};
  return r;
}

std::string all_are_remote(std::uint32_t, const std::string&) { return "peer"; }
bool by_pointer(std::uint32_t, const std::string&) { return true; }

TEST(overlap, launches_of_one_name_are_distinguished_by_their_order) {
  records r = one_name();
  EXPECT_EQ(find_overlaps(r, all_are_remote).held_up_count, 0U)
      << "all kernels have the remote kernel's name, so by name none can be delayed";
  distinguish_launches(r, by_pointer);
  const overlap_report seen = find_overlaps(r, all_are_remote);
  EXPECT_TRUE(seen.distinguished());
  EXPECT_EQ(seen.held_up_count, 50U);
  EXPECT_DOUBLE_EQ(seen.held_up_ms, 0.15);
  ASSERT_EQ(seen.remote.size(), 1U);
  EXPECT_EQ(seen.remote[0].count, 5U);
  EXPECT_EQ(seen.remote[0].near, 110U);
  EXPECT_NE(list_of(seen).find("\nremote:far ^copy$"), std::string::npos) << list_of(seen);
}

TEST(overlap, launches_whose_order_or_number_is_not_known_are_not_distinguished) {
  for (const bool ordered : {false, true}) {
    records r = one_name();
    r.far[0].ordered = ordered;
    r.far[0].runs.back().second += ordered ? 1 : 0;
    distinguish_launches(r, by_pointer);
    const overlap_report seen = find_overlaps(r, all_are_remote);
    EXPECT_FALSE(seen.distinguished());
    EXPECT_FALSE(merge_reports({find_overlaps(chain(0), put_is_remote), seen}).distinguished());
  }
}

TEST(overlap, a_process_that_crashed_before_it_wrote_its_launches_is_not_distinguished) {
  records r = one_name();
  r.far.clear();
  distinguish_launches(r, by_pointer);
  EXPECT_FALSE(find_overlaps(r, all_are_remote).distinguished());
}

TEST(overlap, nodes_of_a_name_are_distinguished_where_all_of_them_are_alike) {
  records r = one_name();
  for (kernel_record& k : r.kernels) {
    k.graph = k.launch > 1000 ? 0 : 7;
  }
  r.far[0].runs = {{true, 5}};
  r.far[0].near_nodes = 11;
  records mixed = r;
  distinguish_launches(r, by_pointer);
  EXPECT_EQ(find_overlaps(r, all_are_remote).held_up_count, 50U);
  mixed.far[0].far_nodes = 1;
  distinguish_launches(mixed, by_pointer);
  EXPECT_FALSE(find_overlaps(mixed, all_are_remote).distinguished());
}

TEST(overlap, a_name_that_is_remote_whatever_its_pointers_is_not_distinguished) {
  records r = one_name();
  distinguish_launches(r, [](auto, const auto&) { return false; });
  EXPECT_EQ(find_overlaps(r, all_are_remote).remote.at(0).count, 115U);
}

TEST(overlap, the_copy_engine_is_named_during_stores_to_the_host) {
  const overlap_report report = find_overlaps(chain(0), [](std::uint32_t, const std::string& name) {
    return std::string(name == "put" ? "pointer to host memory" : "");
  });
  EXPECT_TRUE(report.to_host());
  EXPECT_NE(sentence(report).find("The copy engine (cudaMemcpyAsync) does not delay kernels"), std::string::npos)
      << sentence(report);
  EXPECT_EQ(sentence(find_overlaps(chain(0), put_is_remote)).find("copy engine"), std::string::npos);
}

TEST(overlap, a_wait_that_recording_hides_does_not_pass_for_none) {
  records r = chain(0, 0);
  std::uint64_t now = 1'000'000;
  for (kernel_record& k : r.kernels) {
    k.start = now;
    k.end = now + 2000;
    now += 3000;
  }
  r.kernels.push_back({0, 2, 0, 1'200'000, now, 1});
  const overlap_report report = find_overlaps(r, put_is_remote);
  ASSERT_EQ(report.held_up_count, 0U) << sentence(report);
  EXPECT_EQ(sentence(report),
            "Kernels ran concurrently with put, but none of their recorded boundaries took longer. If the program is limited "
            "by the host's launch rate, recording can hide a delay: membar-domains try measures without recording.");
  EXPECT_EQ(move_list::parse(list_of(report), "list").rules().size(), 1U)
      << "the list must still name put, so that it can be tried";
}

TEST(overlap, what_the_program_runs_in_another_domain_is_not_to_be_moved) {
  records r = chain(0);
  r.already_isolated = {1};
  overlap_report report = find_overlaps(r, put_is_remote);
  EXPECT_EQ(sentence(merge_reports({report, report})),
            "put is already isolated in another domain: there is nothing to move. Meanwhile 100 boundaries of other kernels "
            "still took longer, by 0.30 ms in 0.60 ms, which moving kernels to another domain does not recover.");
  EXPECT_TRUE(move_list::parse(list_of(report), "list").rules().empty()) << list_of(report);
  // Only kernels that are concurrent with a kernel that is to be moved count as delayed by it. Kernels that are concurrent with
  // the isolated kernel do not count as running alone.
  r.names[2] = "store";
  const auto remote = [](std::uint32_t, const std::string& name) { return std::string(name == "small" ? "" : "known"); };
  r.kernels[r.kernels.size() - 1].name = 2;
  report = find_overlaps(r, remote);
  EXPECT_EQ(report.boundaries.at(0).beside, 10U);
  EXPECT_EQ(report.boundaries.at(0).alone, 50U);
  EXPECT_TRUE(sentence(report).starts_with("store delays 10 boundaries")) << sentence(report);
  r.kernels.back() = {0, 2, 0, 10, 20, 2};  // The other kernel did not run concurrently with any kernel.
  EXPECT_TRUE(sentence(find_overlaps(r, remote)).starts_with("put is already isolated in another domain"))
      << sentence(find_overlaps(r, remote));
  EXPECT_EQ(move_list::parse(list_of(report), "list").rules().size(), 1U);
}

TEST(overlap, a_kernel_that_waits_for_multiprocessors_is_not_delayed) {
  records r = chain(0);
  for (kernel_record& k : r.kernels) {
    k.fills = k.name == 1;
  }
  const overlap_report seen = find_overlaps(r, put_is_remote);
  EXPECT_EQ(seen.held_up_count, 0U);
  EXPECT_EQ(seen.no_room, 50U);
  EXPECT_DOUBLE_EQ(seen.no_room_ms, 0.15);
  EXPECT_EQ(sentence(seen),
            "50 boundaries ran while blocks of put occupied all multiprocessors, and took 0.15 ms longer than when no other "
            "kernel ran: moving a "
            "kernel to another domain does not free multiprocessors.");
  EXPECT_NE(table(seen).find("multiprocessors full"), std::string::npos);
}

TEST(overlap, the_picture_marks_every_held_up_boundary_in_its_window) {
  const records r = chain(0);
  const std::string svg = timeline(r, find_overlaps(r, put_is_remote), 120);
  std::size_t held = 0;
  for (auto at = svg.find("class=\"held\""); at != std::string::npos; at = svg.find("class=\"held\"", at + 1)) {
    ++held;
  }
  EXPECT_EQ(held, 10U + 1U);  // the chart and the legend
  EXPECT_NE(svg.find("GPU 0, stream 2"), std::string::npos);
  EXPECT_NE(svg.find("delayed by 3.00 µs"), std::string::npos) << "the label must give the whole wait";
  EXPECT_EQ(timeline(r, find_overlaps(r, [](auto, const auto&) { return std::string(); })), "");
}

TEST(overlap, the_picture_marks_no_boundary_that_waited_for_the_host) {
  records r = chain(0);
  // Ten launches, far from any put, that waited because the host was late. Together, they waited longer than all launches that
  // waited because of a put.
  std::uint64_t now = 100'000'000;
  for (int k = 0; k < 11; ++k) {
    r.kernels.push_back({0, 1, 0, now, now + 2000, 0});
    now += 40'000;
  }
  const std::string svg = timeline(r, find_overlaps(r, put_is_remote), 120);
  EXPECT_NE(svg.find("GPU 0, stream 2"), std::string::npos) << "the put is in the window";
}

TEST(intervals, merged_ones_are_in_order_and_apart) {
  const auto all = merge({{50, 60}, {0, 10}, {5, 20}, {22, 30}}, 2);
  ASSERT_EQ(all.size(), 2U);
  EXPECT_EQ(all[0].start, 0);
  EXPECT_EQ(all[0].end, 30);
  EXPECT_TRUE(contains(all, 3, 30));
  EXPECT_FALSE(contains(all, 25, 31));
  EXPECT_TRUE(overlaps(all, 30, 40));
  EXPECT_FALSE(overlaps(all, 31, 49));
}

TEST(records_of_a_process, are_read_and_a_line_that_a_crash_cut_off_is_counted) {
  std::istringstream in(
      "F 2\nN 0 void a<b, c>(d)\nR 0 pointer to a peer\nE 0 n3 f2\nG 0 1 4\nK 0 7 0 100 200 0 9 1\nL 3 graph 1\nT 3 10 20\nM 1 "
      "5 "
      "25\nD 4\nP 0 4096 1 2 5\nS 0 1 6\nS 5 1 ?\nK 0 7 0 0 0 0\nT 3 30 40");  // The number may have been 4000.
  const records r = read_records(in);
  EXPECT_EQ(r.names.at(0), "void a<b, c>(d)");
  EXPECT_EQ(r.reasons.at(0), "pointer to a peer");
  EXPECT_EQ(r.lanes.at(3), "graph 1");
  ASSERT_EQ(r.kernels.size(), 1U);
  EXPECT_EQ(r.kernels[0].launch, 9U);
  EXPECT_TRUE(r.kernels[0].fills);
  EXPECT_EQ(r.far.at(0).runs, (std::vector<std::pair<bool, std::uint64_t>>{{false, 3}, {true, 2}}));
  EXPECT_EQ(r.far.at(0).near_nodes, 4U);
  EXPECT_EQ(r.ticks.size(), 1U);
  EXPECT_EQ(r.moves.at(0).how, mode::on);
  EXPECT_TRUE(r.already_isolated.contains(4));
  EXPECT_EQ(r.pointers.at(0).at(4096), (pointer_uses{true, 2, 5}));
  EXPECT_EQ(r.looked_at, (std::set<std::uint32_t>{0, 5}));
  EXPECT_EQ(r.launched, (std::map<std::uint32_t, std::uint64_t>{{0, 6}})) << "the order of 5 is not known";
  EXPECT_EQ(r.unreadable, 1);
}

std::string message_of_records(const std::string& text) {
  std::istringstream in(text);
  try {
    static_cast<void>(read_records(in));
  } catch (const error& e) {
    return e.what();
  }
  return "";
}

TEST(records_of_a_process, of_another_version_or_of_none_are_rejected) {
  for (const char* first : {"F 1", "N 0 put"}) {
    EXPECT_EQ(message_of_records(std::string(first) + "\nN 1 small\n"),
              "its records begin with '" + std::string(first) +
                  "', but this version of membar-domains reads only format 2, which begins with 'F 2': the membar-domains "
                  "command and the "
                  "library it preloads have different versions: install both from the same build");
  }
  EXPECT_EQ(message_of_records(""), "") << "a process that crashed before it wrote";
  EXPECT_EQ(message_of_records("F"), "") << "a process that crashed while it wrote";
}

TEST(reports_in_json, of_watch_have_what_the_table_has) {
  json report = document("watch");
  add(report, find_overlaps(chain(0), put_is_remote));
  EXPECT_EQ(report["format"], "membar-domains.watch");
  EXPECT_EQ(report["version"], 1);
  EXPECT_EQ(report["held_up_count"], 50);
  EXPECT_EQ(report["boundaries"].at(0)["held_up_us"], 3.0);
  EXPECT_EQ(report["remote_kernels"].at(0)["name"], "put");
  EXPECT_EQ(report["remote_kernels"].at(0)["already_isolated"], false);
}

}  // namespace
