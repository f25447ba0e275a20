// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The catalogue: every test has the verdict that its folder is named after, and the writer reproduces the tests that the reader
// has read.
#include <tests/litmus/litmus_files.hpp>

#include <litmus/explain.hpp>
#include <litmus/explanation.hpp>
#include <litmus/reader.hpp>
#include <litmus/writer.hpp>
#include <membar/model/outcomes.hpp>

#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <string>
#include <utility>
#include <vector>

namespace catalogue_test {

using namespace membar::model;
using namespace membar::litmus_files;
using membar_test::litmus_files, membar_test::read_text;

const std::filesystem::path catalogue = MEMBAR_LITMUS_CATALOGUE;

TEST(catalogue, has_tests_of_both_kinds) {
  EXPECT_GE(litmus_files(catalogue / "allowed").size(), 100U);
  EXPECT_GE(litmus_files(catalogue / "forbidden").size(), 100U);
}

TEST(catalogue, every_test_has_the_verdict_of_its_folder) {
  for (const auto& path : litmus_files(catalogue)) {
    const litmus_test test = read_litmus(read_text(path));
    const bool in_allowed = path.parent_path().filename() == "allowed";
    EXPECT_EQ(test.quantified, in_allowed ? quantifier::exists : quantifier::not_exists) << path;
    const decision found = decide(test);
    EXPECT_EQ(found.reachable, in_allowed) << path;
    EXPECT_TRUE(found.holds) << path;
    EXPECT_EQ(test.name, path.stem().string()) << path;
  }
}

TEST(catalogue, every_test_says_why) {
  for (const auto& path : litmus_files(catalogue)) {
    const std::string text = read_text(path);
    const auto open = text.find("(* ");
    const auto close = text.find(" *)");
    ASSERT_NE(open, std::string::npos) << path;
    ASSERT_NE(close, std::string::npos) << path;
    EXPECT_GT(close - open, 20U) << path;
  }
}

TEST(catalogue, what_is_written_is_read_back_the_same) {
  for (const auto& path : litmus_files(catalogue)) {
    const litmus_test test = read_litmus(read_text(path));
    const std::string once = write_litmus(test);
    const litmus_test again = read_litmus(once);
    EXPECT_EQ(write_litmus(again), once) << path;
    EXPECT_EQ(decide(again).reachable, decide(test).reachable) << path;
    EXPECT_EQ(outcomes(again), outcomes(test)) << path;
  }
}

TEST(catalogue, outcomes_agree_with_verdicts) {
  // If a condition consists of equalities, the outcome that it describes is listed if and only if the test is in allowed/.
  std::size_t compared = 0;
  for (const auto& path : litmus_files(catalogue)) {
    const litmus_test test = read_litmus(read_text(path));
    std::string wanted;
    bool plain = true;
    for (const condition_node& n : test.condition) {
      plain = plain && (n.kind == condition_node::kind_t::conjunction ||
                        (n.kind == condition_node::kind_t::compare && n.test == comparison::equal &&
                         n.left.kind != term::kind_t::constant && n.right.kind == term::kind_t::constant));
      if (plain && n.kind == condition_node::kind_t::compare) {
        const auto at = std::find_if(test.observed.begin(), test.observed.end(), [&](const observable& o) {
          return o.what.kind == n.left.kind && o.what.thread == n.left.thread && o.what.index == n.left.index;
        });
        ASSERT_NE(at, test.observed.end()) << path;
        wanted += (wanted.empty() ? "" : " ") + at->name + "=" + std::to_string(n.right.value);
      }
    }
    if (plain && static_cast<std::size_t>(std::count(wanted.begin(), wanted.end(), '=')) == test.observed.size()) {
      const std::vector<std::string> lines = outcomes(test);
      EXPECT_TRUE(std::is_sorted(lines.begin(), lines.end())) << path;
      EXPECT_EQ(std::find(lines.begin(), lines.end(), wanted) != lines.end(), path.parent_path().filename() == "allowed")
          << path << " " << wanted;
      ++compared;
    }
  }
  EXPECT_GE(compared, 350U);
}

TEST(catalogue, every_verdict_is_explained) {
  for (const auto& path : litmus_files(catalogue)) {
    const litmus_test test = read_litmus(read_text(path));
    const explanation found = find_explanation(test);
    const bool in_allowed = path.parent_path().filename() == "allowed";
    EXPECT_EQ(found.reachable, in_allowed) << path;
    if (in_allowed) {
      EXPECT_TRUE(found.shown.has_value()) << path;
      EXPECT_TRUE(found.broken.empty()) << path;
    } else if (found.shown) {
      ASSERT_FALSE(found.broken.empty()) << path;
      const bool hangs = found.broken.front() == rule::waiting_ends;
      EXPECT_TRUE(hangs || !found.cycle.empty()) << path << " " << name(found.broken.front());
      if (!found.cycle.empty()) {
        EXPECT_EQ(found.cycle.front().from, found.cycle.back().to) << path;
        for (std::size_t i = 1; i < found.cycle.size(); ++i) {
          EXPECT_EQ(found.cycle[i - 1].to, found.cycle[i].from) << path;
        }
      }
    }
    const std::string text = explain(test);
    EXPECT_NE(text.find(in_allowed ? ": allowed" : ": forbidden"), std::string::npos) << path;
    const std::string picture = explain(test, explanation_format::dot);
    EXPECT_EQ(picture.rfind("digraph ", 0), 0U) << path;
    EXPECT_EQ(std::count(picture.begin(), picture.end(), '{'), std::count(picture.begin(), picture.end(), '}')) << path;
  }
}

TEST(explanation, names_the_rule_and_the_cycle_of_message_passing) {
  const litmus_test test = read_litmus(read_text(catalogue / "forbidden" / "MP.gpu.two_blocks.litmus"));
  const explanation found = find_explanation(test);
  ASSERT_EQ(found.broken, std::vector<rule>{rule::axiom_causality_from_reads});
  std::vector<std::string> relations;
  for (const step& s : found.cycle) {
    relations.push_back(s.relation);
  }
  EXPECT_EQ(relations, (std::vector<std::string>{"fr", "po", "sync", "po"}));
}

TEST(explanation, names_the_instruction_that_the_asynchronous_side_lacks) {
  const std::pair<const char*, const char*> lacking[] = {
      {"Report.bulk-load-after-flag", "'fence.proxy.async' in P1 after 'ld.acquire.gpu r0, f'"},
      {"Report.bulk-store-after-barrier", "'fence.proxy.async' in P0 after 'st.weak.shared s, 1'"},
      {"Report.stage-reused", "'cp.async.bulk.wait_group.read 0' in P0 after 'cp.async.bulk.commit_group'"},
      {"Report.chain-of-dependent-kernels", "'griddepcontrol.wait' at the start of P1"},
      {"Report.pointer-read-before-wait", "'griddepcontrol.wait' at the start of P1"},
      {"Report.no-dependency-wait", "'griddepcontrol.wait' at the start of P1"},
      {"Bulk.load.no-wait", "'mbarrier.try_wait.acquire.cluster b, 0' in P0"},
      {"Bulk.store+read-wait", "'cp.async.bulk.wait_group 0' in P0"},
      {"CpAsync.no-wait", "'cp.async.wait_group 0' in P0"},
      {"MP+cluster-barrier.relaxed", "'fence.acq_rel.cluster' in P0 after 'st.weak x, 1'"}};
  for (const auto& [name, words] : lacking) {
    const std::string text = explain(read_litmus(read_text(catalogue / "allowed" / (std::string(name) + ".litmus"))));
    EXPECT_NE(text.find(std::string("Adding one instruction forbids it: ") + words), std::string::npos) << text;
  }
}

TEST(explanation, names_no_instruction_where_none_helps_or_nothing_is_asynchronous) {
  for (const char* name : {"allowed/MP+relaxed", "allowed/Bulk.load.two-copies", "allowed/Transaction.no-expect",
                           "forbidden/Bulk.store+wait+flag"}) {
    const std::string text = explain(read_litmus(read_text(catalogue / (std::string(name) + ".litmus"))));
    EXPECT_EQ(text.find("Adding one instruction"), std::string::npos) << text;
  }
}

TEST(explanation, says_when_no_values_fit) {
  const litmus_test test = read_litmus("PTX t\n{ x=0; }\n P0@cta 0,gpu 0 ;\n ld.weak r0, x ;\n~exists (P0:r0 == 7)\n");
  const explanation found = find_explanation(test);
  EXPECT_FALSE(found.reachable);
  EXPECT_FALSE(found.shown.has_value());
  EXPECT_NE(explain(test).find("no combination of control flow and reads-from"), std::string::npos);
}

TEST(explanation, says_where_a_loop_was_cut) {
  const std::string cut = "jumps backwards at most once";
  EXPECT_EQ(explain(read_litmus(read_text(catalogue / "forbidden" / "Lock.spin.litmus"))).find(cut), std::string::npos);
  const litmus_test counted = read_litmus(
      "PTX t\n{ x=0; }\n P0@cta 0,gpu 0 ;\n L: add r0, r0, 1 ;\n atom.relaxed.gpu.add r1, x, 1 ;\n bne r0, 3, L ;\n~exists (x "
      "== 3)\n");
  EXPECT_THROW((void)explain(counted), error);
  EXPECT_NE(explain(counted, explanation_format::text, search_options(0, true)).find(cut), std::string::npos);
}

TEST(explanation, json_escapes_what_it_quotes) {
  const litmus_test test = read_litmus("PTX a\"b\\c\n{ x=0; }\n P0@cta 0,gpu 0 ;\n ld.weak r0, x ;\nexists (P0:r0 == 0)\n");
  const std::string json = explain(test, explanation_format::json);
  EXPECT_NE(json.find(R"("test":"a\"b\\c")"), std::string::npos) << json;
}

}  // namespace catalogue_test
