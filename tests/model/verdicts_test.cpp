// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Verdicts that are easy to get wrong, and verdicts that depend on the readings adopted in docs/model.md.
#include <tests/litmus/litmus_files.hpp>

#include <litmus/reader.hpp>
#include <litmus/writer.hpp>
#include <membar/model/outcomes.hpp>

#include <gtest/gtest.h>

#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <random>
#include <set>
#include <string>
#include <vector>

namespace verdicts_test {

using namespace membar::model;
using namespace membar::litmus_files;

bool holds(const std::string& text) { return decide(read_litmus(text)).holds; }

/// Two threads in two blocks of one GPU, unless `places` says otherwise.
bool reachable(const std::vector<std::string>& first_thread, const std::vector<std::string>& second,
               const std::string& condition, const std::string& places = "P0@cta 0,gpu 0 | P1@cta 1,gpu 0") {
  std::string text = "PTX t\n{ x=0; y=0; z=0; }\n" + places + ";\n";
  for (std::size_t i = 0; i < first_thread.size() || i < second.size(); ++i) {
    text += (i < first_thread.size() ? first_thread[i] : "") + " | " + (i < second.size() ? second[i] : "") + ";\n";
  }
  return decide(read_litmus(text + "exists " + condition)).reachable;
}

const std::string stale = "(P1:r0 == 1 /\\ P1:r1 == 0)";

// Each of these verdicts changes if a rule is interpreted more loosely or more strictly (mutate_model.py).
TEST(verdicts, every_small_test_holds) {
  const auto files = membar_test::litmus_files(MEMBAR_SMALL_TESTS);
  EXPECT_GE(files.size(), 8U);
  for (const auto& file : files) {
    EXPECT_TRUE(holds(membar_test::read_text(file))) << file;
  }
}

TEST(verdicts, weak_flag_needs_fence_sc_on_both_sides) {
  const auto flagged = [](const std::string& writer, const std::string& reader) {
    return reachable({"st.weak x, 1", writer, "st.weak y, 1"}, {"ld.weak r0, y", reader, "ld.weak r1, x"}, stale);
  };
  EXPECT_FALSE(flagged("fence.sc.gpu", "fence.sc.gpu"));
  EXPECT_TRUE(flagged("fence.sc.gpu", "fence.acq_rel.gpu"));
  EXPECT_TRUE(flagged("fence.acq_rel.gpu", "fence.sc.gpu"));
  EXPECT_TRUE(flagged("fence.acq_rel.gpu", "fence.acq_rel.gpu"));
}

TEST(verdicts, reduction_before_a_fence_does_not_acquire) {
  const std::vector<std::string> writer = {"st.weak x, 1", "st.release.gpu y, 1"};
  EXPECT_TRUE(reachable(writer, {"red.relaxed.gpu.add y, 1", "fence.acquire.gpu", "ld.weak r1, x"}, "(y == 2 /\\ P1:r1 == 0)"));
  EXPECT_FALSE(
      reachable(writer, {"atom.relaxed.gpu.add r0, y, 1", "fence.acquire.gpu", "ld.weak r1, x"}, "(y == 2 /\\ P1:r1 == 0)"));
}

TEST(verdicts, inclusion_must_be_mutual) {
  const auto mixed = [](const std::string& places) {
    return reachable({"st.weak x, 1", "st.release.cta y, 1"}, {"ld.acquire.gpu r0, y", "ld.weak r1, x"}, stale, places);
  };
  EXPECT_FALSE(mixed("P0@cta 0,gpu 0 | P1@cta 0,gpu 0"));
  EXPECT_TRUE(mixed("P0@cta 0,gpu 0 | P1@cta 1,gpu 0"));
  EXPECT_TRUE(mixed("P0@cta 0,gpu 0 | P1@cta 0,gpu 1"));
}

TEST(verdicts, four_acq_rel_updates_forbid_store_buffering) {
  const std::string both = "(P0:r1 == 0 /\\ P1:r1 == 0)";
  const std::string x1 = "atom.acq_rel.gpu.exch r0, x, 1";
  const std::string y1 = "atom.acq_rel.gpu.exch r0, y, 1";
  EXPECT_FALSE(reachable({x1, "atom.acq_rel.gpu.add r1, y, 0"}, {y1, "atom.acq_rel.gpu.add r1, x, 0"}, both));
  EXPECT_TRUE(reachable({x1, "ld.acquire.gpu r1, y"}, {y1, "ld.acquire.gpu r1, x"}, both));
  EXPECT_TRUE(reachable({"st.release.gpu x, 1", "atom.acq_rel.gpu.add r1, y, 0"},
                        {"st.release.gpu y, 1", "atom.acq_rel.gpu.add r1, x, 0"}, both));
}

TEST(verdicts, a_weak_writer_is_not_ordered_with_a_strong_one) {
  EXPECT_TRUE(reachable({"st.relaxed.gpu x, 1", "ld.relaxed.gpu r0, x"}, {"st.weak x, 2"}, "(P0:r0 == 2 /\\ x == 1)"));
  EXPECT_TRUE(reachable({"ld.relaxed.gpu r0, x", "st.relaxed.gpu x, 1"}, {"st.weak x, 2"}, "(P0:r0 == 2 /\\ x == 2)"));
}

TEST(verdicts, the_final_values_of_two_locations_are_independent) {
  const std::string text =
      "PTX t\n{ x=0; y=0; }\nP0@cta 0,gpu 0 | P1@cta 1,gpu 0;\nst.weak x, 1 | st.weak x, 2;\nst.weak y, 1 | st.weak y, "
      "2;\nexists (x == 0 /\\ y == 0)";
  EXPECT_EQ(outcomes(read_litmus(text)), (std::vector<std::string>{"x=1 y=1", "x=1 y=2", "x=2 y=1", "x=2 y=2"}));
}

TEST(verdicts, a_backward_jump_is_taken_at_most_once) {
  const std::string text = "PTX t\n{ x=0; }\nP0@cta 0,gpu 0;\nadd r0, r0, 1;\nbne r0, 5, AGAIN;\nAGAIN:;\nexists (P0:r0 == 1)";
  EXPECT_TRUE(holds(text));
  const std::string loop = "PTX t\n{ x=0; }\nP0@cta 0,gpu 0;\nL: add r0, r0, 1;\nblt r0, N, L;\nexists (P0:r0 == N)";
  const auto with = [&](const std::string& n) {
    std::string out = loop;
    for (std::size_t at = out.find('N'); at != std::string::npos; at = out.find('N', at + 1)) {
      out.replace(at, 1, n);
    }
    return out;
  };
  EXPECT_TRUE(holds(with("2")));
  const decision cut = decide(read_litmus(with("3")), search_options(0, true));
  EXPECT_FALSE(cut.reachable);
  EXPECT_EQ(cut.counts.cut.line, 5);
}

TEST(verdicts, quantifiers_over_no_execution) {
  const std::string hang = "PTX t\n{ x=0; }\nP0@cta 0,gpu 0;\nbar.cta.sync 0, 0, 2;\nld.weak r0, x;\n";
  EXPECT_FALSE(holds(hang + "exists (P0:r0 == 0)"));
  EXPECT_TRUE(holds(hang + "~exists (P0:r0 == 0)"));
  EXPECT_TRUE(holds(hang + "forall (P0:r0 == 1)"));
}

TEST(verdicts, a_filter_leaves_executions_out) {
  const std::string text = "PTX t\n{ x=0; }\nP0@cta 0,gpu 0 | P1@cta 1,gpu 0;\nst.weak x, 1 | ld.weak r0, x;\n";
  EXPECT_TRUE(holds(text + "exists (P1:r0 == 0)"));
  EXPECT_FALSE(holds(text + "filter (P1:r0 == 1)\nexists (P1:r0 == 0)"));
  EXPECT_TRUE(holds(text + "filter (P1:r0 == 1)\nforall (P1:r0 == 1)"));
}

TEST(verdicts, registers_name_barriers) {
  const std::string text =
      "PTX t\n{ x=0; y=0; z=0; }\nP0@cta 0,gpu 0 | P1@cta 0,gpu 0 | P2@cta 1,gpu 0;\nld.weak r2, z | st.weak x, 1 | st.weak z, "
      "1;\n"
      "bar.cta.sync 1, r2 | bar.cta.sync 1, 1 |;\nld.weak r0, x | | ;\n";
  EXPECT_FALSE(holds(text + "exists (P0:r2 == 0)")) << "each waits for the other, which is at another barrier";
  EXPECT_TRUE(holds(text + "exists (P0:r2 == 1)"));
  EXPECT_FALSE(holds(text + "exists (P0:r2 == 1 /\\ P0:r0 == 0)"));
}

TEST(verdicts, a_barrier_without_a_count_waits_for_every_thread_of_its_block_that_has_not_ended) {
  const auto ends = [](const std::string& rows, const std::string& places = "P0@cta 0,gpu 0 | P1@cta 0,gpu 0") {
    return holds("PTX t\n{ x=0; y=0; }\n" + places + ";\n" + rows + ";\nexists (true)");
  };
  const std::string two_blocks = "P0@cta 0,gpu 0 | P1@cta 1,gpu 0";
  const std::string told_after = "bar.cta.sync 0 | L:;\nst.relaxed.gpu x, 1 | ld.relaxed.gpu r0, x;\n | bne r0, 1, L";
  EXPECT_FALSE(ends(told_after)) << "P1 ends once it sees x, which P0 stores only after the barrier";
  EXPECT_TRUE(ends(told_after, two_blocks)) << "P1 is in another block";
  EXPECT_TRUE(ends("bar.cta.sync 0, 0, 1 | L:;\nst.relaxed.gpu x, 1 | ld.relaxed.gpu r0, x;\n | bne r0, 1, L"))
      << "the barrier has a count of 1";
  EXPECT_TRUE(ends("st.relaxed.gpu x, 1 | L:;\nbar.cta.sync 0 | ld.relaxed.gpu r0, x;\n | bne r0, 1, L"))
      << "P0 stores x before the barrier";
  EXPECT_TRUE(ends("bar.cta.sync 0 | bar.cta.sync 0;\nbar.cta.sync 0 |")) << "P1 has ended at the second turn";
  EXPECT_TRUE(ends("bar.cta.sync 0 | bar.cta.sync 0;\nbar.cta.sync 1 |")) << "P1 has ended";
  EXPECT_FALSE(ends("bar.cta.sync 0 | bar.cta.sync 1;\nbar.cta.sync 1 | bar.cta.sync 0"));
  EXPECT_FALSE(ends("bar.cta.sync 0 | bar.cta.sync 0 | bar.cta.sync 1;\nbar.cta.sync 1 | |",
                    "P0@cta 0,gpu 0 | P1@cta 0,gpu 0 | P2@cta 0,gpu 0"))
      << "P2 waits for P0 at barrier 1, and P0 waits for P2 at barrier 0";
}

TEST(verdicts, the_read_of_a_reduction_begins_no_acquire_pattern) {
  const auto misses = [](const std::string& update, const std::string& acquire, const std::string& end) {
    return holds("PTX t\n{ x=0; y=0; }\nP0@cta 0,gpu 0 | P1@cta 1,gpu 0 | P2@cta 2,gpu 0;\nst.weak x, 1 | " + update +
                 " | ld.relaxed.gpu r2, y;\nst.release.gpu y, 1 | " + acquire +
                 " | st.relaxed.gpu y, 8;\n | ld.weak r1, x |;\nexists (P1:r1 == 0 /\\ " + end + ")");
  };
  const std::string later = "P2:r2 == 3 /\\ P1:r0 == 8";  // The update read the release, and the acquire reads P2's store.
  const std::string own = "P1:r0 == 3";
  const std::string atomic = "atom.relaxed.gpu.add r3, y, 2";
  const std::string reduction = "red.relaxed.gpu.add y, 2";
  EXPECT_FALSE(misses(atomic, "ld.acquire.gpu r0, y", later));
  EXPECT_TRUE(misses(reduction, "ld.acquire.gpu r0, y", later));
  EXPECT_TRUE(misses(reduction, "atom.acquire.gpu.add r0, y, 0", later));
  EXPECT_FALSE(misses(reduction, "ld.acquire.gpu r0, y", own)) << "by observation order";
  EXPECT_FALSE(misses(reduction, "atom.acquire.gpu.add r0, y, 0", own));
}

TEST(verdicts, mixed_size_races_have_no_verdict) {
  const auto beside = [](const std::string& rows, const std::string& value, const std::string& block = "1") {
    return holds("PTX t\n{ x=0; }\nP0@cta 0,gpu 0 | P1@cta " + block + ",gpu 0;\n" + rows + ";\nexists (P1:r0 == " + value +
                 ")");
  };
  try {
    (void)beside("st.weak.b64 x, 1 | ld.weak.b32 r0, x", "1");
    FAIL() << "no error";
  } catch (const error& e) {
    EXPECT_NE(e.message().find("mixed-size data race"), std::string::npos);
  }
  EXPECT_THROW((void)beside("st.relaxed.gpu.b64 x, 1 | ld.relaxed.gpu.b32 r0, x", "1"), error);
  EXPECT_TRUE(beside("st.weak.b64 x, 0x100000007 | bar.cta.sync 0;\nbar.cta.sync 0 | ld.weak.b32 r0, x", "7", "0"));
  EXPECT_TRUE(beside("st.weak.b64 x, 1 | ld.weak.u64 r0, x", "1"));
}

/// Returns the result of a test with locations x and y and two threads in two blocks: "1", "0" or the error message.
std::string answer(const std::string& rows, const std::string& question, const std::string& state = "x=0; y=0;",
                   const std::string& places = "P0@cta 0,gpu 0 | P1@cta 1,gpu 0") {
  try {
    return holds("PTX t\n{ " + state + " }\n" + places + ";\n" + rows + ";\n" + question) ? "1" : "0";
  } catch (const error& e) {
    return e.message();
  }
}

const std::string undefined_race = "mixed-size data race: the program's behaviour is undefined";

TEST(verdicts, atomics_of_different_size_are_atomic_where_their_scopes_include_each_other) {
  const std::string lost = "~exists (x == 1)";
  EXPECT_EQ(answer("atom.relaxed.gpu.add.u32 r0, x, 1 | red.relaxed.sys.add.u64 x, 1", lost), "1");
  EXPECT_EQ(answer("atom.relaxed.cta.add.u32 r0, x, 1 | red.relaxed.gpu.add.u64 x, 1", lost), undefined_race);
  EXPECT_EQ(answer("atom.relaxed.cta.add.u32 r0, x, 1 | red.relaxed.gpu.add.u64 x, 1", lost, "x=0;",
                   "P0@cta 0,gpu 0 | P1@cta 0,gpu 0"),
            "1");
  EXPECT_EQ(answer("st.relaxed.gpu.u32 x, 1 | red.relaxed.gpu.add.u64 x, 1", lost), undefined_race);
  EXPECT_EQ(answer("ld.relaxed.gpu.u32 r0, x | red.relaxed.gpu.add.u64 x, 1", lost), undefined_race);
  EXPECT_EQ(answer("suatom.relaxed.gpu.add.u32 r0, x, 1 | red.relaxed.gpu.add.u64 x, 1", lost), undefined_race);
}

TEST(verdicts, asynchronous_updates_of_different_size_are_atomic) {
  const std::string update = "red.async.relaxed.cluster.shared::cluster.mbarrier::complete_tx::bytes.add";
  const std::string rows = update + ".u32 [r9], 1, [b] | " + update +
                           ".u64 [r9], 1, [b] | mbarrier.arrive.expect_tx b, 12;\n | | mbarrier.try_wait b, 0;\n"
                           " | | ld.weak.shared.b64 r0, t";
  EXPECT_EQ(answer(rows, "exists (P2:r0 == 2)", "t @ shared; b @ mbarrier 1; P0:r9=&P2:t; P1:r9=&P2:t;",
                   "P0@cta 0,cluster 0,gpu 0 | P1@cta 1,cluster 0,gpu 0 | P2@cta 2,cluster 0,gpu 0"),
            "1");
}

TEST(verdicts, what_a_race_of_atomics_leaves_open_has_no_verdict) {
  const std::string open =
      "mixed-size data race between atomics: PTX states that they are performed one after the other, but does not define the "
      "result";
  const std::string rows =
      "red.relaxed.gpu.add.u32 x, 1 | atom.relaxed.gpu.or.b64 r0, x, 0;\n"
      "red.relaxed.gpu.add.u32 x, 1 | atom.relaxed.gpu.or.b64 r1, x, 0";
  EXPECT_EQ(answer(rows, "exists (P1:r0 == 2 /\\ P1:r1 == 1)"), open) << "the axioms alone forbid it";
  EXPECT_EQ(answer(rows, "exists (P1:r0 == 1 /\\ P1:r1 == 2)"), "1");
  EXPECT_EQ(answer(rows, "exists (P1:r0 == 3)"), "0");
  EXPECT_EQ(answer(rows, "forall (x == 2)"), "1");
  EXPECT_THROW((void)outcomes(read_litmus("PTX t\n{ x=0; }\nP0@cta 0,gpu 0 | P1@cta 1,gpu 0;\n" + rows +
                                          ";\nexists (P1:r0 == 2 /\\ P1:r1 == 1)")),
               error);
}

TEST(verdicts, a_narrow_write_leaves_the_other_bytes_of_its_memory) {
  const std::string one = "P0@cta 0,gpu 0";
  EXPECT_EQ(answer("st.weak.b64 x, 0x100000002;\nst.weak.b8 x, 7", "exists (x == 0x100000007)", "x=0;", one), "1");
  EXPECT_EQ(
      answer("st.weak.b64 x, 0x100000002;\nred.relaxed.gpu.add.u32 x, 0xffffffff", "exists (x == 0x100000001)", "x=0;", one),
      "1");
  EXPECT_EQ(answer("red.relaxed.gpu.add.u32 x, 1;\nld.weak.b64 r0, x;\nld.weak.b32 r1, x",
                   "exists (P0:r0 == 0x100000000 /\\ P0:r1 == 0)", "x=0x1ffffffff;", one),
            "1");
  EXPECT_NE(answer("st.weak.b32 x, 1;\nld.weak.b64 r0, x", "exists (P0:r0 == 1)", "x=0;", one)
                .find("reads that combine several writes"),
            std::string::npos);
}

TEST(verdicts, shared_memory_is_reached_from_its_cluster_alone) {
  const std::string rows = "st.weak.shared x, 1 | ld.weak r0, [r2]";
  const std::string two_clusters = "P0@cta 0,cluster 0,gpu 0 | P1@cta 1,cluster 1,gpu 0";
  const std::string one_cluster = "P0@cta 0,cluster 0,gpu 0 | P1@cta 1,cluster 0,gpu 0";
  EXPECT_EQ(answer(rows, "exists (P1:r0 == 1)", "x @ shared; P1:r2=&P0:x;", one_cluster), "1");
  EXPECT_EQ(answer(rows, "exists (P1:r0 == 1)", "x @ shared; P1:r2=&P0:x;", two_clusters),
            "P1 is not in the cluster of P0, whose shared memory it accesses: only threads of the same cluster can access it");
  // Tests an address that was passed through memory.
  const std::string handed = "st.relaxed.gpu p, r2 | ld.relaxed.gpu r2, p;\n | ld.weak r0, [r2]";
  const std::string state = "x @ shared; y=0; p=&y; P0:r2=&x;";
  EXPECT_EQ(answer(handed, "exists (P1:r0 == 1)", state, one_cluster), "0");
  EXPECT_NE(answer(handed, "exists (P1:r0 == 1)", state, two_clusters).find("the shared memory of another cluster"),
            std::string::npos);
  EXPECT_NE(answer("mov r0, 0 | ld.weak.shared r0, [r2]", "exists (P1:r0 == 1)", "x @ shared; P1:r2=&P0:x;", one_cluster)
                .find("a state space other than the one it names"),
            std::string::npos)
      << "plain .shared means the memory of the thread's own block";
}

TEST(verdicts, a_host_thread_reaches_no_shared_memory) {
  const std::string handed = "st.relaxed.sys p, r2 | ld.relaxed.sys r2, p;\n | ld.weak r0, [r2]";
  EXPECT_NE(answer(handed, "exists (P1:r0 == 1)", "x @ shared; y=0; p=&y; P0:r2=&x;", "P0@cta 0,gpu 0 | P1@host")
                .find("the shared memory of another cluster"),
            std::string::npos);
  const place device{};
  place host{};
  host.host = true;
  EXPECT_FALSE(same_cluster(host, device));
  EXPECT_FALSE(same_cluster(device, host));
  EXPECT_FALSE(same_cluster(host, host));
  EXPECT_TRUE(same_cluster(device, device));
}

TEST(verdicts, an_asynchronous_copy_reads_the_state_space_that_it_names) {
  const auto copied = [](const std::string& from) {
    return answer("cp.async.bulk.shared::cta.global.bulk_group [s], [r9], 16", "exists (P0:r0 == 0)",
                  "s @ shared; z @ shared; x=0; P0:r0=0; P0:r9=&" + from + ";", "P0@cta 0,gpu 0");
  };
  EXPECT_NE(copied("P0:z").find("a state space other than the one it names"), std::string::npos) << copied("P0:z");
  EXPECT_EQ(copied("x"), "1");
}

TEST(verdicts, the_address_of_an_asynchronous_copy_is_not_loaded) {
  const std::string rows =
      "ld.relaxed.gpu r0, p;\nld.relaxed.gpu r1, y;\nbeq r1, 1, COPY;\ngoto END;\nCOPY:;\n"
      "cp.async.bulk.shared::cta.global.bulk_group [s], [r0], 16;\nEND:";
  EXPECT_NE(answer(rows, "exists (P0:r1 == 0)", "x=0; y=0; p=&x; s @ shared;", "P0@cta 0,gpu 0")
                .find("its register must hold that address initially"),
            std::string::npos);
}

TEST(verdicts, the_default_fields_of_an_instruction_have_no_effect) {
  const instruction plain;
  EXPECT_FALSE(plain.guard_negated);
  EXPECT_FALSE(plain.source_indirect);
  EXPECT_FALSE(plain.reduces);
  EXPECT_FALSE(plain.reads_only);
}

/// Runs every query on each execution, and counts the distinct final register values.
struct everything_known final : execution_visitor {
  explicit everything_known(const litmus_test& of) : test(of) {}
  bool accept(const partial_execution& execution) override {
    std::vector<std::int64_t> end;
    for (int t = 0; t < count_of(test.threads); ++t) {
      for (int r = 0; r < count_of(at(test.threads, t).registers); ++r) {
        EXPECT_TRUE(execution.known(t, r));
        end.push_back(execution.register_value(t, r));
      }
    }
    const event_structure& facts = execution.facts();
    for (event_set s = facts.reads | facts.shuffle_reads; s != 0; s = rest(s)) {
      EXPECT_TRUE(execution.known(first(s)));
      EXPECT_EQ(execution.value(first(s)), execution.value(at(execution.choice().source, first(s))));
    }
    ends.insert(end);
    return true;
  }
  const litmus_test& test;
  std::set<std::vector<std::int64_t>> ends;
};

TEST(verdicts, a_visitor_sees_what_each_read_returns) {
  const auto ends = [](const std::string& text, std::uint64_t few) {
    const litmus_test test = read_litmus(text);
    everything_known visitor(test);
    search_options options;
    options.few_choices = few;
    (void)enumerator(test.view().program, visitor, every_rule{}, options).run();
    return visitor.ends.size();
  };
  const std::string places = "P0@cta 0,gpu 0 | P1@cta 1,gpu 0;\n";
  const std::string adding = "PTX t\n{ y=3; x=0; }\n" + places +
                             "atom.relaxed.gpu.add r0, x, 1 | atom.relaxed.gpu.add r0, x, 1;\n"
                             "ld.relaxed.gpu r1, x | ;\nexists (x == 2)";
  const std::string passing = "PTX t\n{ x=0; y=0; }\n" + places +
                              "st.relaxed.gpu x, 1 | ld.relaxed.gpu r0, y;\nst.relaxed.gpu y, 2 | ld.relaxed.gpu r1, x;\n"
                              "exists (x == 1)";
  const std::string shuffling =
      "PTX t\n{ x=5; }\nP0@cta 0,gpu 0 | P1@cta 0,gpu 0;\nld.weak r1, x | mov r1, 7;\n"
      "shfl.sync.bfly.b32 r0, r1, 1, 31, 0x3 | shfl.sync.bfly.b32 r0, r1, 1, 31, 0x3;\nexists (P0:r0 == 7)";
  for (const std::uint64_t few : {std::uint64_t{256}, std::uint64_t{0}}) {
    EXPECT_EQ(ends(adding, few), 3U) << few;
    EXPECT_EQ(ends(passing, few), 4U) << few;
    EXPECT_EQ(ends(shuffling, few), 1U) << few;
  }
}

TEST(verdicts, addresses_in_registers_reach_their_locations) {
  const std::string text =
      "PTX t\n{ a=0; b=0; p=&a; P0:r9=&b; }\nP0@cta 0,gpu 0 | P1@cta 1,gpu 0;\n"
      "st.relaxed.gpu p, r9 | ld.relaxed.gpu r0, p;\n | st.weak [r0], 5;\n";
  EXPECT_TRUE(holds(text + "exists (b == 5)"));
  EXPECT_TRUE(holds(text + "exists (a == 5)"));
  EXPECT_FALSE(holds(text + "exists (a == 5 /\\ b == 5)"));
}

/// A random test of one thread that accesses x in several sizes, and its final state.
struct sized_test {
  litmus_test test;
  std::vector<std::int64_t> ends;  ///< The final values of the registers, and then of x at the largest size.
  std::vector<int> bytes;          ///< the size of each
};

std::uint64_t low(std::uint64_t value, int bytes) {
  return bytes == 8 ? value : value & ((std::uint64_t{1} << (8 * bytes)) - 1);
}

sized_test random_sizes(std::mt19937_64& engine) {
  const auto one_of = [&](std::initializer_list<std::uint64_t> all) { return all.begin()[engine() % all.size()]; };
  std::uint64_t memory = one_of({0, 300, 0x1234567890});
  std::string text = "PTX t\n{ x=" + std::to_string(memory) + "; }\n P0@cta 0,gpu 0;\n";
  std::string condition = "exists (true";
  sized_test made;
  int widest = 0;
  for (int i = 0; i < 5; ++i) {
    const auto kind = engine() % 4;
    const int bytes = static_cast<int>(kind < 2 ? one_of({1, 2, 4, 8}) : one_of({4, 8}));
    const std::uint64_t old = low(memory, bytes);
    const std::uint64_t value = one_of({1, 255, 0x1ff, 0xffffffff, 0x123456789});
    const std::string size = std::to_string(8 * bytes);
    const std::string reg = "r" + std::to_string(made.ends.size());
    std::uint64_t now = old;
    if (kind == 0) {
      text += "ld.weak.b" + size + " " + reg + ", x;\n";
    } else if (kind == 1) {
      text += "st.weak.b" + size + " x, " + std::to_string(value) + ";\n";
      now = low(value, bytes);
    } else {
      text += std::string("atom.relaxed.gpu.") + (kind == 2 ? "add.u" : "exch.b") + size + " " + reg + ", x, " +
              std::to_string(value) + ";\n";
      now = low(kind == 2 ? old + value : value, bytes);
    }
    if (kind != 1) {
      condition += " /\\ P0:" + reg + " == 0";
      made.ends.push_back(static_cast<std::int64_t>(old));
      made.bytes.push_back(bytes);
    }
    memory = memory - old + now;
    widest = bytes > widest ? bytes : widest;
  }
  made.ends.push_back(static_cast<std::int64_t>(low(memory, widest)));
  made.bytes.push_back(widest);
  made.test = read_litmus(text + condition + " /\\ x == 0)\n");
  return made;
}

TEST(verdicts, accesses_of_any_size_of_one_thread_see_the_bytes_that_are_there) {
  std::mt19937_64 engine(41);
  int decided = 0;
  for (int i = 0; i < 2000; ++i) {
    const sized_test one = random_sizes(engine);
    outcome_collector found(one.test);
    try {
      (void)require_defined(one.test.view().program);
      (void)enumerator(one.test.view().program, found).run();
    } catch (const error&) {
      continue;  // a value consists of bytes from several writes
    }
    ++decided;
    ASSERT_EQ(found.found().size(), 1U) << write_litmus(one.test);
    const std::vector<std::int64_t>& values = *found.found().begin();
    ASSERT_EQ(values.size(), one.ends.size());
    for (std::size_t k = 0; k < values.size(); ++k) {
      const auto value = static_cast<std::uint64_t>(values[k]);
      ASSERT_EQ(low(value, one.bytes[k]), static_cast<std::uint64_t>(one.ends[k])) << k << "\n" << write_litmus(one.test);
    }
  }
  EXPECT_GE(decided, 500);
}

}  // namespace verdicts_test
