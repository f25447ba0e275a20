// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Tests how witness rewrites PTX, and that the rewriting does not change any verdict if all delays are zero.
#include <check/explore.hpp>
#include <check/scenario.hpp>
#include <membar/model/error.hpp>
#include <witness/plan.hpp>
#include <witness/reproducer.hpp>
#include <witness/rewrite.hpp>

#include <gtest/gtest.h>

#include <string>
#include <string_view>
#include <vector>

namespace {

using namespace membar::witness;
namespace check = membar::check;

/// A kernel in which block 0 writes data and sets a flag, and a thread of block 1 waits for the flag; both threads of a block
/// pass a barrier.
constexpr std::string_view announce = R"(.version 8.0
.target sm_90
.address_size 64
.visible .entry other()
{
ret;
}
.visible .entry announce(
.param .u64 data,
.param .u64 flag
)
{
.reg .pred %p<3>;
.reg .b64 %rd<3>;
.reg .b32 %r<4>;
.shared .align 4 .b8 cell[4];
ld.param.u64 %rd1, [data];
ld.param.u64 %rd2, [flag];
mov.u32 %r1, %ctaid.x;
setp.eq.u32 %p1, %r1, 0;
@!%p1 bra $WAIT;
@%p1 st.global.u32 [%rd1], 7;
bar.sync 0;
st.RELEASE.gpu.global.u32 [%rd2], 1;
ret;
$WAIT:
{ .reg .pred %q; $AGAIN: ld.acquire.gpu.global.u32 %r2, [%rd2]; setp.eq.u32 %q, %r2, 0; @%q bra $AGAIN; }
ld.global.u32 %r3, [%rd1];
st.shared.u32 [cell], %r3;
ret;
}
)";

std::string with_order(std::string_view order) {
  std::string text(announce);
  const std::size_t at = text.find("RELEASE");
  return text.replace(at, 7, order);
}

std::size_t count(const std::string& text, std::string_view what) {
  std::size_t n = 0;
  for (std::size_t at = text.find(what); at != std::string::npos; at = text.find(what, at + 1)) {
    ++n;
  }
  return n;
}

bool has(const std::string& text, std::string_view what) { return text.find(what) != std::string::npos; }

TEST(witness, a_kernel_gets_one_more_parameter_and_a_site_for_each_event) {
  const rewritten_kernel r = rewrite(with_order("release"), {"announce"});
  EXPECT_TRUE(has(r.text, ".param .u64 flag\n,\n\t.param .align 8 .b8 membar_witness[" +
                              std::to_string(sizeof(membar_witness::plan)) + "]\n)"));
  EXPECT_TRUE(has(r.text, ".visible .entry other()\n{\nret;\n}"));
  std::vector<std::string> opcodes;
  for (const site& s : r.sites) {
    opcodes.push_back(s.opcode);
  }
  EXPECT_EQ(opcodes, (std::vector<std::string>{"begin", "st.global.u32", "bar.sync", "st.release.gpu.global.u32",
                                               "ld.acquire.gpu.global.u32", "ld.global.u32", "st.shared.u32"}));
  EXPECT_EQ(r.sites[1].line, 22);
}

TEST(witness, a_delay_is_before_its_statement_and_outside_of_its_guard) {
  const rewritten_kernel r = rewrite(with_order("release"), {"announce"});
  EXPECT_TRUE(has(r.text,
                  "setp.lt.u64 %mw_p, %mw_t, %mw_d;\n\t@%mw_p bra membar_site1_delay;\nmembar_site1_end:\n\t@%p1 st.global.u32 "
                  "[%rd1], 7;"));
  EXPECT_TRUE(has(r.text, "\t@%mw_p bra membar_site2_end;\n\tsetp.lt.s64 %mw_p, %mw_left, 0;\n\t@%mw_p bra membar_site2_end;"));
}

TEST(witness, each_loop_of_the_kernel_ends_at_the_limit) {
  const rewritten_kernel r = rewrite(with_order("release"), {"announce"});
  EXPECT_TRUE(
      has(r.text,
          "$AGAIN:\n\tmov.u64 %mw_t, %clock64;\n\tsub.u64 %mw_t, %mw_t, %mw_begin;\n\tsetp.gt.u64 %mw_p, %mw_t, %mw_limit;\n"
          "\t@%mw_p st.volatile.global.u64 [%mw_report], 1;\n\t@%mw_p exit;\n"));
  EXPECT_EQ(count(r.text, "@%mw_p exit;"), 1U);  // Only in the loop: the branch to $WAIT goes forward.
}

TEST(witness, a_kernel_without_parameters_gets_a_list) {
  const rewritten_kernel r = rewrite(announce, {"other"});
  EXPECT_TRUE(has(r.text, ".visible .entry other(\n\t.param .align 8 .b8 membar_witness["));
}

TEST(witness, the_watched_load_is_reported_where_its_guard_holds) {
  rewrite_request request{"announce"};
  request.watched_line = 28;
  request.watched_actor = 1;
  EXPECT_TRUE(
      has(rewrite(with_order("release"), request).text, "ld.global.u32 %r3, [%rd1];\n\tadd.u64 %mw_seen, %mw_seen, 1;\n"));
  EXPECT_TRUE(has(rewrite(with_order("release"), request).text, "\t@%mw_p st.volatile.global.b32 [%mw_report+24], %r3;"));
}

TEST(witness, the_copy_for_a_thread_of_the_warp_has_its_own_labels_and_barriers_of_single_threads) {
  rewrite_request request{"announce"};
  request.split_warp = true;
  const std::string text = rewrite(with_order("release"), request).text;
  EXPECT_TRUE(has(text, "@%mw_a0 bra membar_split;"));
  EXPECT_EQ(count(text, "$AGAIN_membar_split"), 2U);
  EXPECT_EQ(count(text, "bra $WAIT_membar_split;"), 1U);
  EXPECT_EQ(count(text, "barrier.sync 0;"), 2U);
  EXPECT_EQ(count(text, "bar.sync 0;"), 0U);
  EXPECT_EQ(count(text, ".shared .align 4 .b8 cell[4];"), 1U);
  EXPECT_EQ(count(text, ".reg .pred %q;"), 2U);  // both copies declare the registers of a scope
}

/// A kernel that reads its block's position in the grid and receives pointers in a struct.
constexpr std::string_view placed = R"(.version 8.0
.target sm_90
.address_size 64
.visible .entry placed(
.param .u64 data,
.param .align 8 .b8 two[24]
)
{
.reg .pred %p<2>;
.reg .b64 %rd<5>;
.reg .b32 %r<4>;
ld.param.u64 %rd1, [data];
@%p1 ld.param.v2.u64 {%rd2, %rd3}, [two+8];
ld.param.u64 %rd4, [two];
mov.u32 %r1, %ctaid.z;
mov.u32 %r2, %nctaid.z;
mov.u32 %r3, %ctaid.x;
ret;
}
)";

rewrite_request of_placed() {
  rewrite_request request{"placed"};
  request.parameters = {{"data", 0, 8}, {"two", 8, 24}};
  request.pointers = {0, 24};
  return request;
}

TEST(witness, a_copy_of_the_grid_has_its_own_place_and_its_own_addresses) {
  const rewritten_kernel r = rewrite(placed, of_placed());
  EXPECT_EQ(r.one_copy, "");
  EXPECT_TRUE(has(r.text, "mov.u32 %r1, %mw_cz;\nmov.u32 %r2, %mw_nz;\nmov.u32 %r3, %ctaid.x;"));
  EXPECT_TRUE(has(r.text,
                  "ld.param.u64 %rd1, [data];\n\tld.param.u64 %mw_e, [membar_witness+16];\n\tand.b64 %mw_e, %mw_e, 1U;\n"
                  "\tsetp.ne.u64 %mw_p, %mw_e, 0;\n\tselp.u64 %mw_e, %mw_shift, 0, %mw_p;\n\tadd.u64 %rd1, %rd1, %mw_e;\n"));
  EXPECT_TRUE(has(r.text, "and.b64 %mw_e, %mw_e, 8U;"));
  EXPECT_TRUE(has(r.text, "@%p1 add.u64 %rd3, %rd3, %mw_e;"));
  EXPECT_FALSE(has(r.text, "add.u64 %rd2, %rd2"));
  EXPECT_FALSE(has(r.text, "add.u64 %rd4, %rd4"));
}

TEST(witness, what_the_copies_of_a_grid_would_share_allows_one_copy_alone) {
  const auto with = [](std::string_view statement) {
    std::string text(placed);
    const std::size_t at = text.find("ret;");
    return rewrite(text.insert(at, std::string(statement) + "\n"), of_placed()).one_copy;
  };
  EXPECT_EQ(with("mov.u32 %r1, %envreg2;"), "PTX line 18 reads %envreg2");
  EXPECT_EQ(with("mov.v4.u32 {%r1, %r2, %r3, %r3}, %ctaid;"), "PTX line 18 reads %ctaid");
  EXPECT_EQ(with("mov.b64 %rd1, two;"), "PTX line 18 takes the address of a parameter that contains pointers");
  EXPECT_EQ(with("ld.param.u32 %r1, [two+16];"),
            "PTX line 18 loads a part of a pointer, or a pointer beyond the first 512 bytes of the parameters");
}

TEST(witness, preferred_lines_have_sites_where_there_are_too_many) {
  std::string many =
      ".version 8.0\n.target sm_90\n.address_size 64\n.visible .entry many(.param .u64 x)\n{\n.reg .b64 %rd<2>;\nld.param.u64 "
      "%rd1, [x];\n";
  for (int k = 0; k < 100; ++k) {
    many += "st.global.u32 [%rd1], " + std::to_string(k) + ";\n";
  }
  rewrite_request request{"many"};
  request.preferred = {100};
  const rewritten_kernel r = rewrite(many + "ret;\n}\n", request);
  EXPECT_EQ(r.sites.size(), membar_witness::most_sites);
  EXPECT_EQ(r.sites.back().line, 100);
}

TEST(witness, functions_that_are_called_are_rejected) {
  const std::string calls =
      ".version 8.0\n.target sm_90\n.address_size 64\n.func f()\n{\nret;\n}\n.visible .entry k()\n{\ncall.uni f;\nret;\n}\n";
  try {
    static_cast<void>(rewrite(calls, {"k"}));
    FAIL();
  } catch (const membar::model::error& e) {
    EXPECT_EQ(std::string(e.what()),
              "line 10: the kernel calls a function, and witness delays only kernels whose functions are inlined: declare it "
              "__forceinline__, or compile with optimization");
  }
}

check::scenario announced(const std::string& extra = "") {
  return check::read_scenario("source k.ptx\nmemory data u32\nmemory flag u32\nlaunch announce grid 2 args data flag\n" +
                              extra);
}

TEST(witness, without_delays_nothing_else_is_decided) {
  for (const auto& [order, status] :
       {std::pair("release", check::check_status::verified), std::pair("relaxed", check::check_status::race)}) {
    for (const char* const block : {"1", "2"}) {
      const std::string ptx = with_order(order);
      check::scenario s = announced();
      s.launches[0].request.block[0] = static_cast<unsigned>(block[0] - '0');
      const check::prepared_scenario p = check::prepare(s, ptx);
      const check::check_result before = check::explore(p.checked);
      const std::vector<actor> actors = actors_of(p.checked, before.found);
      const witness_program rewritten = program_of(s, ptx, actors, watched_of(p.checked, before.found, actors), {});
      const check::prepared_scenario again = check::prepare(with_empty_plans(s), rewritten.launched.ptx);
      const check::check_result after = check::explore(again.checked);
      // Two threads of a block write the same value; this is also a race.
      EXPECT_EQ(before.status, block[0] == '2' ? check::check_status::race : status) << order << block;
      EXPECT_EQ(after.status, before.status) << order << block << after.found.message;
    }
  }
}

/// Two copies of a grid whose memories are 256 bytes apart. In each copy, block 1 waits for block 0 and records what it has
/// read.
check::check_result two_copies(const std::string& stride, const std::string& final) {
  std::string ptx = with_order("release");
  ptx.replace(ptx.find("st.shared.u32 [cell], %r3;"), 26, "st.global.u32 [%rd1+8], %r3;");
  rewrite_request request{"announce"};
  request.parameters = {{"data", 0, 8}, {"flag", 8, 8}};
  request.pointers = {0, 8};
  const rewritten_kernel r = rewrite(ptx, request);
  // All delays are zero. The actors are the first threads of the two blocks, and block 1 loads the data early.
  const std::string plan =
      "{memory+128 " + stride + " 3 rows 1000000 0 4294967296 0xffffffffffffffff 0xffffffffffffffff 0 0 0 0 0 1}";
  const check::scenario s = check::read_scenario(
      "source k.ptx\nmemory memory u32[128]\nmemory rows u32[64]\nlaunch announce grid 2 1 2 args memory memory+4 " + plan +
      "\nfinal " + final + "\n");
  return check::explore(check::prepare(s, r.text).checked, check::prepare(s, r.text).property());
}

TEST(witness, each_copy_of_a_grid_uses_its_own_memory) {
  const std::string each =
      "memory[0] == 7 /\\ memory[1] == 1 /\\ memory[2] == 7 /\\ memory[64] == 7 /\\ memory[65] == 1 /\\ memory[66] == 7";
  const check::check_result apart = two_copies("256", each);
  EXPECT_EQ(apart.status, check::check_status::verified) << apart.found.message;
  EXPECT_EQ(two_copies("0", each).status, check::check_status::race);  // both copies write the same memory
}

TEST(witness, the_threads_to_blame_are_actors_and_the_early_load_is_of_the_reader) {
  const std::string ptx = with_order("relaxed");
  const check::prepared_scenario p = check::prepare(announced(), ptx);
  const check::check_result found = check::explore(p.checked);
  const std::vector<actor> actors = actors_of(p.checked, found.found);
  ASSERT_EQ(actors.size(), 2U);
  EXPECT_NE(actors[0].block, actors[1].block);
  for (const actor& a : actors) {
    EXPECT_EQ(a.early, a.block == 1 ? p.checked.memory[0].address : 0U);
  }
  const watched_read read = watched_of(p.checked, found.found, actors);
  EXPECT_EQ(read.launch, 0);
  EXPECT_EQ(read.line, 28);
  EXPECT_EQ(read.time, 1);
  EXPECT_EQ(read.expected, 7U);
  EXPECT_EQ(actors[static_cast<std::size_t>(read.actor)].block, 1U);
}

TEST(witness, words_that_are_addresses_are_found_and_numbers_that_look_like_one_are_not) {
  const std::string ptx =
      ".version 8.0\n.target sm_90\n.address_size 64\n.global .u32 v;\n.visible .entry k(.param .u64 a, .param .u32 b, .param "
      ".u32 c, .param .align 8 .b8 "
      "d[16])\n{\n.reg .b32 %r<2>;\nld.global.u32 %r1, [v];\nret;\n}\n";
  const check::scenario s = check::read_scenario(
      "source k.ptx\nmemory x u64[2] = x+8, 3\nmemory y u32 at 0x100010000\nlaunch k args x 1024 1 {y x+4}\n");
  const witness_program w = program_of(s, ptx, {}, {}, {});
  EXPECT_EQ(w.launched.launches[0].pointers, (std::vector<std::uint64_t>{0, 16, 24}));
  for (const membar_witness::object& o : w.launched.memory) {
    EXPECT_EQ(o.variable, o.name == "v");
    EXPECT_EQ(o.pointers, o.name == "x" ? std::vector<std::uint64_t>{0} : std::vector<std::uint64_t>{}) << o.name;
  }
  // The same test, but with memory whose addresses cannot be shifted.
  const check::scenario tight = check::read_scenario(
      "source k.ptx\nmemory x u64[2] = x+8, 3\nmemory y u32 at 0x100000700\nlaunch k args x 1024 1 {y x+4}\n");
  EXPECT_EQ(program_of(tight, ptx, {}, {}, {}).launched.launches[0].pointers, (std::vector<std::uint64_t>{0, 16, 24}));
}

TEST(witness, a_condition_becomes_an_expression) {
  const check::scenario s =
      check::read_scenario("source k.ptx\nmemory x u32[4]\nmemory f f32\nmemory i s64\nlaunch k args x f i\n");
  membar_witness::program p;
  p.memory = {{"x", false, 1024, 16, {}, {}}, {"f", false, 2048, 4, {}, {}}, {"i", false, 3072, 8, {}, {}}};
  EXPECT_EQ(
      expression_of("x[2] == 0x10 /\\ ~(f < 1.5) \\/ i=-3 /\\ x+2:u16 != 1", s, p),
      "get<std::uint32_t>(end, 1032u) == 0x10u && !(get<float>(end, 2048u) < 1.5) || get<std::int64_t>(end, 3072u)==-3 && "
      "get<std::uint16_t>(end, 1026u) != 1u");
}

}  // namespace
