// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The litmus reader: the inputs that it accepts, and the positions of its errors.
#include <litmus/nearest_name.hpp>
#include <litmus/reader.hpp>
#include <litmus/writer.hpp>
#include <membar/model/outcomes.hpp>

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace reader_test {

using namespace membar::model;
using namespace membar::litmus_files;

const std::string header = "PTX t\n{ x=0; y=0; }\n P0@cta 0,gpu 0 | P1@cta 1,gpu 0 ;\n";

/// Returns the error of reading `text` as "line:column message".
std::string error_of(const std::string& text) {
  try {
    (void)read_litmus(text);
    return "no error";
  } catch (const error& e) {
    return std::to_string(e.line()) + ":" + std::to_string(e.column()) + " " + e.message();
  }
}

instruction only_instruction(const std::string& text) {
  const litmus_test test = read_litmus("PTX t\n{ x=0; b @ mbarrier 2; }\n P0@cta 0,gpu 0 ;\n " + text + " ;\nexists (x == 0)");
  EXPECT_EQ(test.threads[0].code.size(), 1U);
  return test.threads[0].code.front();
}

TEST(reader, errors_point_at_line_and_column) {
  const std::string end = "exists (x == 0)\n";
  EXPECT_EQ(error_of("LISA t\n{ }"), "1:1 a litmus test starts with 'PTX', found 'LISA'");
  EXPECT_EQ(error_of(""), "1:1 a litmus test starts with 'PTX', found the end of the file");
  EXPECT_EQ(error_of("PTX t\n x=0;\n"), "3:1 expected '{' before the initial state, found the end of the file");
  EXPECT_EQ(error_of(header + " st.weak x 1 | ;\n" + end), "4:12 expected ',' between operands, found '1'");
  EXPECT_EQ(error_of(header + " st.weak x, 1 | ld.acquire r0, y ;\n" + end),
            "4:17 'ld.acquire' needs a scope: cta, cluster, gpu or sys");
  EXPECT_EQ(error_of(header + " st.weak x, 1\n" + end), "5:1 expected '|' or ';' after an instruction, found 'exists'");
  EXPECT_EQ(error_of(header + " st.weak x, 1 | st.weak y, 1 | st.weak y, 1 ;\n" + end),
            "4:32 this row has more columns than the test has threads");
  EXPECT_EQ(error_of(header + " goto AWAY | ;\n" + end), "4:7 there is no label 'AWAY' in this thread");
  EXPECT_EQ(error_of(header + " nonsense r0 | ;\n" + end), "4:2 'nonsense' is not an instruction");
  EXPECT_EQ(error_of(header + " fence.proxy.async.local | ;\n" + end), "4:2 'fence.proxy.async.local': unknown proxy fence");
  EXPECT_EQ(error_of(header + "exists (z == 0)\n"), "4:9 'z' is not a location of this test; did you mean 'x'?");
  EXPECT_EQ(error_of(header + "exists (P1:r0 == 0)\n"), "4:12 no instruction or initial value in P1 names the register 'r0'");
  EXPECT_EQ(error_of(header + " ld.weak r12, x | ;\nexists (P0:r21 == 0)\n"),
            "5:12 no instruction or initial value in P0 names the register 'r21'; did you mean 'r12'?");
  EXPECT_EQ(error_of(header + "exists (P7:r0 == 0)\n"), "4:9 there is no thread P7");
  EXPECT_EQ(error_of(header + "exists (x == 0\n"), "5:1 expected ')' in the condition, found the end of the file");
  EXPECT_EQ(error_of(header + end + "more"), "5:1 expected the end of the file after the condition, found 'more'");
  const std::string one_way = header + " fence.proxy.tensormap::generic.acquire.gpu [x], 64 | ;\n" + end;
  EXPECT_EQ(error_of(one_way), "4:50 the size of a tensor map fence must be 128, found '64'");
  EXPECT_EQ(error_of(header + " fence.mbarrier_init.release.gpu | ;\n" + end),
            "4:2 expected fence.mbarrier_init.release.cluster, found 'fence.mbarrier_init.release.gpu'");
  for (const std::string fence :
       {"async::generic.release.sync_restrict::shared::cluster.cluster", "async::generic.acquire.cluster",
        "tensormap::generic.acq_rel.gpu", "tensormap::generic.release"}) {
    EXPECT_EQ(
        error_of(header + " fence.proxy." + fence + " | ;\n" + end).find("4:2 expected fence.proxy.async::generic.acquire"), 0U)
        << fence;
  }
  EXPECT_EQ(error_of("PTX t\n{ x=99999999999999999999; }\n"), "2:5 this number does not fit in 64 bits");
  const std::string no_address = " 'b' is an mbarrier, whose address cannot be taken: name it in the instructions that use it";
  const std::string accessing = " }\n P0@cta 0,gpu 0 ;\n st.weak x, 1 ;\n" + end;
  EXPECT_EQ(error_of("PTX t\n{ x=0; b @ mbarrier 1; P0:r0=&b;" + accessing), "2:24" + no_address);
  EXPECT_EQ(error_of("PTX t\n{ x=0; b @ mbarrier 1; y=&b;" + accessing), "2:27" + no_address);
  EXPECT_EQ(error_of("PTX t (* open\n{ }"), "2:4 expected a thread, as in 'P0@cta 0,gpu 0', found the end of the file");
  EXPECT_EQ(error_of("PTX t\n{ x=0; (* open }"), "2:8 unterminated comment");
}

TEST(reader, a_description_may_begin_on_the_title_line_and_go_on_below) {
  const std::string rest = "\n P0@cta 0,gpu 0 ;\n st.weak x, 1 ;\nexists (x == 1)\n";
  EXPECT_EQ(read_litmus("PTX a \"one {two\" { x=0; }" + rest).name, "a");
  EXPECT_EQ(read_litmus("PTX a \"line one\nline {two\"\n{ x=0; }" + rest).name, "a");
}

TEST(reader, an_access_of_an_undeclared_location_is_remarked) {
  const auto remarks = [](const std::string& state) {
    return read_litmus("PTX t\n{ " + state + " }\n P0@cta 0,gpu 0 ;\n ld.weak r1, count ;\nexists (P0:r1 == 0)\n").remarks;
  };
  EXPECT_TRUE(remarks("count=0;").empty());
  EXPECT_TRUE(remarks("P0:r0=&count;").empty());
  ASSERT_EQ(remarks("x=0; cuont=0;").size(), 1U);
  EXPECT_EQ(remarks("x=0; cuont=0;")[0].text, "'count' is accessed but not declared; did you mean 'cuont'?");
  EXPECT_EQ(remarks("x=0; cuont=0;")[0].line, 4);
  EXPECT_EQ(remarks("x=0; cuont=0;")[0].column, 14);
  EXPECT_EQ(remarks("")[0].text, "'count' is accessed but not declared");
}

TEST(reader, the_nearest_name_needs_the_fewest_edits) {
  EXPECT_EQ(edit_distance("", "abc"), 3U);
  EXPECT_EQ(edit_distance("verdict", "verdct"), 1U);
  EXPECT_EQ(edit_distance("explian", "explain"), 1U) << "two letters exchanged";
  EXPECT_EQ(edit_distance("flag", "flog"), 1U);
  EXPECT_EQ(nearest_name("dta", std::vector<std::string>{"flag", "data"}), "data");
  EXPECT_EQ(nearest_name("dta", std::vector<std::string>{}), "");
}

TEST(reader, an_address_declares_its_location) {
  const std::string rest = "\n P0@cta 0,gpu 0 ;\n ld.weak r1, [r0] ;\nexists (P0:r1 == 0 /\\ x == 0)\n";
  EXPECT_EQ(outcomes(read_litmus("PTX t\n{ P0:r0=&x; }" + rest)), std::vector<std::string>{"P0:r1=0 x=0"});
}

TEST(reader, shared_memory_is_of_a_block) {
  const std::string places = "P0@cta 0,gpu 0 | P1@cta 1,gpu 0 | P2@cta 0,gpu 0;\n";
  const auto read = [&](const std::string& state, const std::string& rows, const std::string& condition) {
    return error_of("PTX t\n{ " + state + " }\n" + places + rows + ";\nexists (" + condition + ")");
  };
  const litmus_test test = read_litmus("PTX t\n{ x @ shared = 4; P1:r1=&x; y=0; }\n" + places +
                                       "st.shared x, 1 | ld r0, x | ld.shared::cta r0, x;\nexists (P2:x == 1 /\\ P1:x == 4)");
  EXPECT_EQ(test.location_names, (std::vector<std::string>{"P0:x", "y", "P1:x"}));
  EXPECT_EQ(test.threads[1].code[0].target, 2);
  EXPECT_EQ(test.threads[2].code[0].target, 0);
  EXPECT_EQ(test.locations[2].initial, 4);
  EXPECT_EQ(test.threads[1].registers[0], address_value(2));
  EXPECT_EQ(outcomes(test), (std::vector<std::string>{"P2:x=1 P1:x=4"}));
  for (const litmus_test& one :
       {test, read_litmus("PTX t\n{ x @ shared = &y; y=0; }\n" + places + "ld.shared r0, x | | ;\nexists (P0:r0 == &y)")}) {
    const std::string once = write_litmus(one);
    EXPECT_EQ(write_litmus(read_litmus(once)), once);
  }

  const std::string rows = "st.shared x, 1 | ld.shared r0, x | ";
  EXPECT_EQ(read("x=0;", rows, "P0:x == 1"), "no error");
  EXPECT_EQ(read("x=0;", rows, "P1:r0 == &P1:x"), "no error");
  EXPECT_EQ(read("x=0;", rows, "x == 1"),
            "5:9 'x' is not a location of this test, but several blocks have shared memory with that name: add a thread, as in "
            "'P0:x'");
  EXPECT_EQ(read("x=0;", "st.shared x, 1 | | ld.shared r0, x", "x == 1"), "no error") << "one block only";
  EXPECT_EQ(read("x=0;", "st.shared x, 1 | ld.global r0, x | ", "P0:x == 1"),
            "4:1 'x' is shared memory, but this access is to global memory");
  EXPECT_EQ(read("x=0; a @ generic aliases x;", rows, "P0:x == 1"),
            "0:0 'x' is shared memory, which cannot be an alias, use another proxy or be an mbarrier");
  EXPECT_EQ(read("x=0; p=&x;", rows, "P0:x == 1"),
            "0:0 'p' holds the address of 'x', which is shared memory, so each block has its own copy: initialize a register "
            "with the address instead");
  EXPECT_EQ(error_of("PTX t\n{ x=0; }\nP0@host;\nst.weak.shared x, 1;\nexists (P0:x == 1)"),
            "4:1 'x' is shared memory, which a host thread cannot access");
  EXPECT_EQ(error_of("PTX t\n{ x @ shared; }\nP0@cta 0,gpu 0;\nst.v2 x, {1, 2};\nexists (x[1] == 2)"), "no error");
}

TEST(reader, an_array_declares_all_of_its_elements) {
  const std::string rest = "\n P0@cta 0,gpu 0 ;\n st.weak x[1], 5 ;\nexists (x[0] == 0 /\\ x[1] == 5 /\\ x[2] == 0)\n";
  EXPECT_EQ(error_of("PTX t\n{ x[3]; }" + rest), "no error");
  EXPECT_EQ(error_of("PTX t\n{ x[2]; }" + rest), "5:35 'x[2]' is not a location of this test; did you mean 'x[1]'?");
}

TEST(reader, places_must_be_whole_and_consistent) {
  const auto places = [](const std::string& row) {
    return error_of("PTX t\n{ x=0; }\n" + row + ";\nst.weak x, 1;\nexists (x == 0)\n");
  };
  EXPECT_EQ(places("P0@cta 0"), "3:1 a place needs both cta and gpu, as in 'P0@cta 0,gpu 0'");
  EXPECT_EQ(places("P0@gpu 0"), "3:1 a place needs both cta and gpu, as in 'P0@cta 0,gpu 0'");
  EXPECT_EQ(places("P0@cta 0,cta 1,gpu 0"), "3:10 'cta' is given twice");
  EXPECT_EQ(places("P0@host,gpu 0"), "3:1 the place of a host thread is only 'host': remove the rest");
  EXPECT_EQ(places("P0@cta 0,gpu 0 | P0@cta 1,gpu 0"), "3:18 'P0' is already declared");
  EXPECT_EQ(places("P0@cta 0,cluster 0,gpu 0 | P1@cta 0,cluster 1,gpu 0"), "3:28 cta 0 is in two clusters");
  EXPECT_EQ(places("P0@cta 0,cluster 0,gpu 0 | P1@cta 0,gpu 0"), "3:28 cta 0 is in two clusters");
  EXPECT_EQ(places("P0@cta 0,domain 0,gpu 0 | P1@cta 0,domain 1,gpu 0"), "3:27 cta 0 is in two domains");
  EXPECT_EQ(places("P0@cta 0,cluster 4,gpu 0 | P1@cta 1,cluster 4,domain 1,gpu 0"), "3:28 cluster 4 is in two domains");
  EXPECT_EQ(places("P0@cta 0,cluster 4,gpu 0 | P1@cta 0,cluster 5,domain 1,gpu 1"), "no error");
}

TEST(reader, places_come_in_any_order) {
  const litmus_test test =
      read_litmus("PTX t\n{ x=0; }\nP0@gpu 3 , domain 1,cta 2,cluster 5|P1 @ host;\nst.weak x, 1| ;\nexists (x == 0)");
  const place& where = test.threads[0].where;
  EXPECT_EQ(where.gpu, 3);
  EXPECT_EQ(where.domain, 1);
  EXPECT_EQ(where.block, 2);
  EXPECT_EQ(where.cluster, 5);
  EXPECT_TRUE(test.threads[1].where.host);
}

TEST(reader, comments_strings_and_blanks_are_skipped) {
  const litmus_test test = read_litmus(
      "\xEF\xBB\xBF(* first *)\r\nptx name of the test \n\"a description; with { braces } and | bars\non two lines\" // a "
      "remark\n"
      "{\r\n x = 0 ; (* inside *) y=-3; P0:r7 = 0x1F;\n};\n\n P0 @ cta 0 , gpu 0 ;\r\n\n st.weak  x ,\n 1 ;\n\n// remark\n~ "
      "exists\n( x == 2 )\n(* end *)\n");
  EXPECT_EQ(test.name, "name of the test");
  EXPECT_EQ(test.locations[1].initial, -3);
  EXPECT_EQ(test.threads[0].registers[0], 31);
  EXPECT_EQ(test.quantified, quantifier::not_exists);
  EXPECT_EQ(test.condition_text, "( x == 2 )");
}

TEST(reader, accesses_have_their_order_scope_and_proxy) {
  EXPECT_FALSE(only_instruction("ld.weak r0, x").strong);
  EXPECT_FALSE(only_instruction("ld r0, x").strong);
  const instruction acquire = only_instruction("ld.acquire.cluster r0, x");
  EXPECT_TRUE(acquire.strong);
  EXPECT_EQ(acquire.order, membar::memory_order::acquire);
  EXPECT_EQ(acquire.scope, membar::thread_scope::cluster);
  const instruction plain_volatile = only_instruction("st.volatile.global.u32 x, 1");
  EXPECT_TRUE(plain_volatile.strong);
  EXPECT_EQ(plain_volatile.order, membar::memory_order::relaxed);
  EXPECT_EQ(plain_volatile.scope, membar::thread_scope::system);
  EXPECT_EQ(only_instruction("ld.mmio.relaxed.sys.u32 r0, x").scope, membar::thread_scope::system);
  EXPECT_EQ(only_instruction("sust.weak x, 1").via, proxy::surface);
  EXPECT_EQ(only_instruction("tld.weak r0, x").via, proxy::texture);
  EXPECT_EQ(only_instruction("cold.weak r0, x").via, proxy::constant);
  EXPECT_EQ(only_instruction("LD.ACQUIRE.GPU r0, [x]").order, membar::memory_order::acquire);
  EXPECT_EQ(only_instruction("st.weak.b64 x, 1").bytes, 8);
}

TEST(reader, loads_of_numbers_are_moves) {
  for (const char* text : {"ld r0, 7", "ld.weak r0, 7", "ld.relaxed.gpu r0, 7", "mov r0, 7", "mov.u32 r0, 0x7"}) {
    const instruction move = only_instruction(text);
    EXPECT_EQ(move.code, opcode::compute) << text;
    EXPECT_EQ(move.b.value, 7) << text;
  }
  EXPECT_EQ(only_instruction("ld r0, r1").code, opcode::compute);
  EXPECT_TRUE(only_instruction("ld.weak r0, [r1]").indirect);
}

TEST(reader, updates_have_their_operation) {
  const instruction cas = only_instruction("atom.acq_rel.sys.cas r0, x, 1, 2");
  EXPECT_EQ(cas.what, operation::compare_exchange);
  EXPECT_EQ(cas.a.value, 1);
  EXPECT_EQ(cas.b.value, 2);
  EXPECT_EQ(only_instruction("atom.relaxed.gpu.plus r0, x, 1").what, operation::add);
  EXPECT_EQ(only_instruction("atom.relaxed.gpu.exch r0, x, r1").a.is_register, true);
  EXPECT_EQ(only_instruction("atom.add r0, x, 1").scope, membar::thread_scope::device);
  EXPECT_EQ(only_instruction("red.release.cta.max x, 1").code, opcode::reduction);
  // Instruction forms that exist only in litmus files.
  EXPECT_EQ(only_instruction("red.acq_rel.cta.exch x, 1").what, operation::move);
  EXPECT_EQ(only_instruction("red.acquire.cta.cas x, 1, 2").what, operation::compare_exchange);
  EXPECT_EQ(only_instruction("atom.relaxed.gpu.global.add.u32 r0, [x], 1").bytes, 4);
}

TEST(reader, predicates_shuffles_and_read_only_loads_have_their_forms) {
  const auto guarded = [](const std::string& text) {
    return read_litmus(header + " setp.eq.s32 p, r0, 1 | ;\n L: " + text + " | ;\nexists (x == 0)").threads[0];
  };
  const litmus_test::thread store = guarded("@p st.weak x, 1");
  EXPECT_EQ(store.code[0].what, operation::is_equal);
  EXPECT_EQ(store.code[1].guard, store.code[0].destination);
  EXPECT_FALSE(store.code[1].guard_negated);
  EXPECT_EQ(store.text[1], "@p st.weak x, 1");
  EXPECT_TRUE(guarded("@!p atom.relaxed.gpu.add r1, x, 1").code[1].guard_negated);
  const instruction branch = guarded("@!p bra L").code[1];
  EXPECT_EQ(branch.code, opcode::branch);
  EXPECT_EQ(branch.test, comparison::equal);
  EXPECT_EQ(branch.guard, -1);
  const instruction shuffle = only_instruction("shfl.sync.down.b32 r0|p, r1, 2, 0x1f03, 0xff");
  EXPECT_EQ(shuffle.mode, shuffle_mode::down);
  EXPECT_EQ(shuffle.lanes, 0xffU);
  EXPECT_NE(shuffle.predicate, shuffle.destination);
  EXPECT_EQ(only_instruction("shfl.sync.bfly r0, 1, 1, 31, 0x3").predicate, -1);
  EXPECT_EQ(only_instruction("ld.global.nc.b64 r0, x").via, proxy::read_only);
  EXPECT_EQ(only_instruction("ld.nc r0, [x]").via, proxy::read_only);
  EXPECT_EQ(error_of(header + " setp.eq.s32 p, r0, 1 | ;\n @q st.weak x, 1 | ;\nexists (x == 0)"),
            "5:3 no earlier instruction sets the predicate 'q'; did you mean 'p'?");
  EXPECT_EQ(error_of("PTX t\n{ x=0; }\nP0@host;\nshfl.sync.idx r0, 1, 0, 31, 1;\nexists (x == 0)"),
            "4:1 a host thread cannot take part in a shuffle");
}

/// Returns the instructions of P0 in a test with an mbarrier b and shared memory s.
std::vector<instruction> asynchronous(const std::string& text) {
  return read_litmus("PTX t\n{ x[2]; s[2] @ shared; b @ mbarrier 1; }\nP0@cta 0,gpu 0;\n" + text + ";\nexists (x == 0)")
      .threads[0]
      .code;
}

std::string asynchronous_error(const std::string& text, const std::string& where = "P0@cta 0,gpu 0") {
  return error_of("PTX t\n{ x[2]; s[2] @ shared; b @ mbarrier 1; }\n" + where + ";\n" + text + ";\nexists (x == 0)");
}

TEST(reader, asynchronous_copies_have_their_forms) {
  const std::string on_mbarrier = ".mbarrier::complete_tx::bytes";
  const std::vector<instruction> load = asynchronous("cp.async.bulk.shared::cta.global" + on_mbarrier + " [s], [x], 32, [b]");
  ASSERT_EQ(load.size(), 2U) << "each 16 bytes are an element";
  EXPECT_EQ(load[0].via, proxy::async);
  EXPECT_EQ(load[0].space, state_space::shared);
  EXPECT_EQ(load[0].source_space, state_space::global);
  EXPECT_EQ(load[0].barrier_at, -1);
  EXPECT_EQ(load[1].completed_bytes, 32) << "one completion, of all bytes";
  EXPECT_EQ(load[1].element, 1);
  const instruction store = asynchronous("cp.async.bulk.global.shared::cta.bulk_group [x], [s], 16")[0];
  EXPECT_EQ(store.completes, completion::bulk_group);
  EXPECT_EQ(store.source_space, state_space::shared);
  EXPECT_TRUE(asynchronous("cp.reduce.async.bulk.global.shared::cta.bulk_group.add.u32 [x], [s], 16")[0].reduces);
  EXPECT_EQ(asynchronous("cp.async.ca.shared.global [s], [x], 8")[0].via, proxy::generic);
  EXPECT_EQ(asynchronous("cp.async.ca.shared.global [s], [x], 8")[0].completes, completion::group);
  EXPECT_EQ(asynchronous("st.async.weak.shared::cluster" + on_mbarrier + ".b32 [s], 5, [b]")[0].completed_bytes, 4);
  EXPECT_EQ(asynchronous("red.async.relaxed.cluster" + on_mbarrier + ".add.u64 [s], 5, [b]")[0].completed_bytes, 8);
  EXPECT_TRUE(asynchronous("cp.async.bulk.wait_group.read 2")[0].reads_only);
  EXPECT_EQ(asynchronous("cp.async.bulk.wait_group.read 2")[0].pending_groups, 2);
  EXPECT_EQ(asynchronous("cp.async.wait_group 0")[0].completes, completion::group);
  EXPECT_EQ(asynchronous("cp.async.mbarrier.arrive.noinc.shared.b64 [b]")[0].code, opcode::async_arrive);
  EXPECT_EQ(asynchronous("cp.async.mbarrier.arrive.noinc.shared.b64 [b]")[0].arrivals, 1);
  EXPECT_EQ(asynchronous("cp.async.mbarrier.arrive.shared.b64 [b]")[0].arrivals, 0);
  EXPECT_TRUE(asynchronous("mbarrier.try_wait.parity.acquire.cta.shared::cta.b64 [b], 1")[0].parity);
  EXPECT_FALSE(asynchronous("mbarrier.try_wait.acquire.cta.shared::cta.b64 [b], 1")[0].parity);
  EXPECT_EQ(asynchronous("mbarrier.arrive.expect_tx.release.cta b, 16")[0].expected_bytes, 16);
  EXPECT_EQ(asynchronous("mbarrier.arrive.expect_tx.release.cta b, 16")[0].arrivals, 1);
  EXPECT_EQ(asynchronous("mbarrier.expect_tx b, 16")[0].arrivals, 0);
  EXPECT_EQ(asynchronous("mbarrier.complete_tx.relaxed.cluster b, 16")[0].completed_bytes, 16);
  EXPECT_EQ(asynchronous("mbarrier.arrive b, 3")[0].arrivals, 3);
  EXPECT_EQ(asynchronous("griddepcontrol.wait")[0].code, opcode::grid_wait);
  EXPECT_EQ(asynchronous("griddepcontrol.launch_dependents")[0].code, opcode::grid_launch);
}

TEST(reader, asynchronous_copies_that_ptx_lacks_are_errors) {
  const std::string load = "cp.async.bulk.shared::cta.global.mbarrier::complete_tx::bytes";
  EXPECT_EQ(asynchronous_error(load + " [s], [x], 8, [b]"), "4:73 the size of a bulk copy must be a multiple of 16 bytes");
  EXPECT_EQ(asynchronous_error("cp.async.ca.shared.global [s], [x], 12"), "4:37 the size of cp.async must be 4, 8 or 16 bytes");
  EXPECT_EQ(asynchronous_error("cp.async.bulk.shared::cta.global [s], [x], 16"),
            "4:1 'cp.async.bulk.shared::cta.global' needs a completion mechanism: mbarrier::complete_tx::bytes or bulk_group");
  EXPECT_EQ(asynchronous_error("cp.async.bulk.shared::cta.bulk_group [s], [x], 16"),
            "4:1 'cp.async.bulk.shared::cta.bulk_group': a copy must name the state spaces of its destination and its source");
  EXPECT_EQ(asynchronous_error("cp.reduce.async.bulk.global.shared::cta.bulk_group [x], [s], 16"),
            "4:1 'cp.reduce.async.bulk.global.shared::cta....': a reduction needs an operation, such as add, and other copies "
            "cannot have one");
  EXPECT_EQ(asynchronous_error(load + ".wide [s], [x], 16, [b]"),
            "4:1 'cp.async.bulk.shared::cta.global.mbarrie...': 'wide' is not supported");
  EXPECT_EQ(asynchronous_error("mbarrier.expect_tx b, 1048576"),
            "4:23 the byte count of a transaction must be a number from 0 to 1048575, found '1048576'");
  EXPECT_EQ(asynchronous_error("mbarrier.expect_tx.release b, 16"),
            "4:1 'mbarrier.expect_tx.release': expect_tx and complete_tx without an arrival must be relaxed");
  EXPECT_EQ(asynchronous_error("griddepcontrol.arrive"),
            "4:1 expected griddepcontrol.wait or griddepcontrol.launch_dependents, found 'griddepcontrol.arrive'");
  EXPECT_EQ(asynchronous_error("griddepcontrol.wait", "P0@host"),
            "4:1 a host thread cannot start an asynchronous copy or wait for a grid");
  EXPECT_EQ(asynchronous_error("mbarrier.try_wait.parity b, 2"),
            "4:29 the parity of a phase must be 0 or 1, found 2: to name a phase by its number, leave out .parity");
  EXPECT_EQ(asynchronous_error("mbarrier.arrive.parity b"),
            "4:1 expected mbarrier.init, .arrive, .arrive.expect_tx, .expect_tx, .complete_tx, .test_wait or .try_wait, also "
            "with .parity, "
            "found 'mbarrier.arrive.parity'");
}

TEST(reader, the_address_of_an_asynchronous_copy_is_known_from_the_start) {
  const litmus_test test = read_litmus(
      "PTX t\n{ x=0; p=&x; s @ shared; }\nP0@cta 0,gpu 0;\nld.weak r0, p;\n"
      "cp.async.bulk.global.shared::cta.bulk_group [r0], [s], 16;\nexists (x == 0)");
  EXPECT_THROW((void)decide(test), error);
}

TEST(reader, a_shuffle_gets_its_value_from_the_lane_that_ptx_says) {
  const auto from = [](shuffle_mode mode, int by, int clamp, int lane) {
    instruction i;
    i.mode = mode;
    i.b.value = by;
    i.c.value = clamp;
    const shuffle_source source = source_lane(i, lane);
    return source.in_range ? source.lane : -1 - source.lane;
  };
  EXPECT_EQ(from(shuffle_mode::index, 5, 31, 9), 5);
  EXPECT_EQ(from(shuffle_mode::index, 5, 3, 9), -10) << "beyond the clamp: its own value";
  EXPECT_EQ(from(shuffle_mode::index, 1, 0x181f, 9), 9) << "segments of eight lanes: lane 1 of the second";
  EXPECT_EQ(from(shuffle_mode::up, 1, 0, 0), -1);
  EXPECT_EQ(from(shuffle_mode::up, 1, 0, 31), 30);
  EXPECT_EQ(from(shuffle_mode::up, 1, 0x1800, 8), -9) << "the first lane of its segment";
  EXPECT_EQ(from(shuffle_mode::down, 1, 31, 31), -32);
  EXPECT_EQ(from(shuffle_mode::down, 1, 0x181f, 7), -8) << "the last lane of its segment";
  EXPECT_EQ(from(shuffle_mode::down, 3, 31, 4), 7);
  EXPECT_EQ(from(shuffle_mode::butterfly, 1, 31, 6), 7);
  EXPECT_EQ(from(shuffle_mode::butterfly, 16, 15, 6), -7);
}

TEST(reader, a_shuffle_without_a_defined_value_is_an_error) {
  const auto reason = [](const std::string& lanes) {
    try {
      const std::string shuffle = "shfl.sync.idx.b32 r0, 1, " + lanes;
      (void)outcomes(read_litmus("PTX t\n{ x=0; }\nP0@cta 0,gpu 0 | P1@cta 0,gpu 0;\n" + shuffle + " | " + shuffle +
                                 ";\nexists (P0:r0 == 0)"));
      return std::string("no error");
    } catch (const error& e) {
      return e.message();
    }
  };
  EXPECT_EQ(reason("0, 31, 0x3"), "no error");
  EXPECT_EQ(reason("0, 31, 0x1"), "line 4: a shuffle's mask does not contain the executing lane");
  EXPECT_EQ(reason("2, 31, 0x3"), "line 4: a shuffle reads from a lane that is not in its mask");
  EXPECT_EQ(reason("2, 31, 0x7"), "line 4: a shuffle reads from a lane that the test does not have");
}

TEST(reader, fences_and_barriers_have_their_forms) {
  EXPECT_EQ(only_instruction("fence.sc.gpu").order, membar::memory_order::seq_cst);
  EXPECT_EQ(only_instruction("fence.gpu").order, membar::memory_order::acq_rel);
  EXPECT_EQ(only_instruction("membar.gl").scope, membar::thread_scope::device);
  EXPECT_EQ(only_instruction("membar.gl").order, membar::memory_order::seq_cst);
  EXPECT_EQ(only_instruction("fence.proxy.alias").via, proxy::alias);
  EXPECT_EQ(only_instruction("fence.proxy.async").space, state_space::generic);
  EXPECT_EQ(only_instruction("fence.proxy.async.shared::cta").via, proxy::async);
  EXPECT_EQ(only_instruction("fence.proxy.async.shared::cta").space, state_space::shared);
  EXPECT_EQ(only_instruction("fence.proxy.async.global").space, state_space::global);
  EXPECT_EQ(only_instruction("fence.proxy.async::generic.release.sync_restrict::shared::cta.cluster").space,
            state_space::shared);
  EXPECT_EQ(only_instruction("fence.proxy.async::generic.acquire.sync_restrict::shared::cluster.cluster").order,
            membar::memory_order::acquire);
  EXPECT_TRUE(only_instruction("fence.proxy.tensormap::generic.release.sys").restricted);
  EXPECT_EQ(only_instruction("fence.proxy.tensormap::generic.acquire.gpu [x], 128").via, proxy::tensor_map);
  EXPECT_TRUE(only_instruction("fence.mbarrier_init.release.cluster").restricted);
  EXPECT_FALSE(only_instruction("bar.cta.arrive 3").waits);
  EXPECT_TRUE(only_instruction("bar.sync 3").waits);
  EXPECT_TRUE(only_instruction("barrier.cta.red 3, r1, 2").has_quorum);
  EXPECT_EQ(only_instruction("bar.warp.sync 0xffffffff").barrier, barrier_kind::warp);
  EXPECT_EQ(only_instruction("barrier.cluster.arrive.relaxed.aligned").order, membar::memory_order::relaxed);
  EXPECT_TRUE(only_instruction("barrier.cluster.wait").waits);
  EXPECT_EQ(only_instruction("mbarrier.try_wait.acquire.cluster b, 1").scope, membar::thread_scope::cluster);
}

TEST(reader, forms_that_do_not_exist_are_rejected) {
  const auto refused = [](const std::string& text) { return error_of(header + " " + text + " | ;\nexists (x == 0)"); };
  for (const char* text : {"ld.release.gpu r0, x",
                           "st.acquire.gpu x, 1",
                           "ld.sc.gpu r0, x",
                           "ld.relaxed r0, x",
                           "atom.weak.add r0, x, 1",
                           "atom.relaxed.gpu r0, x, 1",
                           "red.relaxed.gpu.cas x, 1",
                           "fence.relaxed.gpu",
                           "fence.sc",
                           "fence.proxy",
                           "fence.proxy.rubbish",
                           "bar.cta.wait 0",
                           "bar.cta.sync 0, 0, 0",
                           "barrier.cluster.sync",
                           "membar.gpu",
                           "mbarrier.arrive x",
                           "ld.weak.relaxed.gpu r0, x",
                           "ld.relaxed.gpu.sys r0, x",
                           "ld.volatile.gpu r0, x",
                           "ld.weak x, y",
                           "st.weak x, y",
                           "add r0, 1",
                           "beq r0, 1",
                           "ld.weak.rubbish r0, x",
                           "ld.weak.v2 {r0}, x",
                           "ld.relaxed.gpu.nc r0, x",
                           "st.nc x, 1",
                           "atom.relaxed.gpu.add.nc r0, x, 1",
                           "setp r0, r1, r2",
                           "setp.xx.s32 r0, r1, r2",
                           "setp.eq.s32 r0, r1",
                           "@r0",
                           "@p st.weak x, 1",
                           "shfl.idx r0, r1, 0, 31, 3",
                           "shfl.sync.left r0, r1, 0, 31, 3",
                           "shfl.sync.idx.b64 r0, r1, 0, 31, 3",
                           "shfl.sync.idx r0, r1, r2, 31, 3",
                           "shfl.sync.idx r0, r1, 32, 31, 3",
                           "shfl.sync.idx r0, r1, 0, 31"}) {
    const std::string found = refused(text);
    EXPECT_EQ(found.rfind("4:", 0), 0U) << text << ": " << found;
  }
  EXPECT_EQ(refused("st.weak r0, 1"), "no error") << "a register may hold an address";
  EXPECT_EQ(error_of("PTX t\n{ x=0; }\nP0@host;\nbar.cta.sync 0;\nexists (x == 0)"),
            "4:1 a host thread cannot take part in a barrier");
}

TEST(reader, conditions_have_the_usual_precedence) {
  const auto condition = [](const std::string& text) {
    return decide(read_litmus("PTX t\n{ x=1; y=2; }\nP0@cta 0,gpu 0;\nld r0, 3;\nexists " + text)).reachable;
  };
  EXPECT_TRUE(condition("x == 1 \\/ x == 2 /\\ y == 7"));
  EXPECT_FALSE(condition("(x == 1 \\/ x == 2) /\\ y == 7"));
  EXPECT_TRUE(condition("~x == 2 /\\ y == 2"));
  EXPECT_TRUE(condition("not (x = 2 \\/ y = 3)"));
  EXPECT_TRUE(condition("0:r0 = 3 && [x] != 2"));
  EXPECT_TRUE(condition("P0: r0 > x /\\ y >= x /\\ x < y"));
  EXPECT_TRUE(condition("0==0"));
  EXPECT_TRUE(condition("true"));
}

TEST(reader, what_the_condition_names_is_observed_in_its_order) {
  const litmus_test test =
      read_litmus(header + " ld.weak r1, x | ld.weak r0, y ;\nexists (y == 0 /\\ 1:r0 == 1 /\\ P0:r1 == 0 /\\ y == 1)");
  ASSERT_EQ(test.observed.size(), 3U);
  EXPECT_EQ(test.observed[0].name, "y");
  EXPECT_EQ(test.observed[1].name, "P1:r0");
  EXPECT_EQ(test.observed[2].name, "P0:r1");
  EXPECT_EQ(outcomes(test), std::vector<std::string>{"y=0 P1:r0=0 P0:r1=0"});
}

TEST(reader, locations_are_observed_only_without_a_condition) {
  const std::string rows = " ld.weak r1, x | ld.weak r0, y ;\n";
  for (const char* end : {"locations [x; P1:r0;] exists (P0:r1 == 0)", "filter (y == 0) exists (P0:r1 == 0) locations [x;]"}) {
    const litmus_test test = read_litmus(header + rows + end);
    ASSERT_EQ(test.observed.size(), 1U) << end;
    EXPECT_EQ(test.observed[0].name, "P0:r1") << end;
  }
}

TEST(reader, aliases_and_views_are_of_the_memory_they_name) {
  const litmus_test test = read_litmus(
      "PTX t\n{ x=4; s @ surface aliases x; a @ generic aliases x; t @ texture aliases a; rd1=7; }\nP0@cta 0,gpu 0;\nld.weak "
      "r0, rd1;\nexists (a == 4)");
  EXPECT_EQ(test.locations[1].address, 0);
  EXPECT_EQ(test.locations[2].address, 2);
  EXPECT_EQ(test.locations[3].address, 2);
  EXPECT_EQ(test.locations[3].physical, 0);
  EXPECT_TRUE(decide(test).holds);
  EXPECT_EQ(error_of("PTX t\n{ s @ surface aliases x; }"), "2:23 'x' is not declared before its alias");
}

TEST(reader, limits_are_errors_and_not_crashes) {
  std::string many = "PTX t\n{ x=0; }\nP0@cta 0,gpu 0;\n";
  for (int i = 0; i < 80; ++i) {
    many += "st.weak x, " + std::to_string(i) + ";\n";
  }
  const litmus_test test = read_litmus(many + "exists (x == 0)");
  EXPECT_THROW((void)decide(test), error);
  std::string deep = header + "exists ";
  for (int i = 0; i < 5000; ++i) {
    deep += "(";
  }
  EXPECT_NE(error_of(deep).find("nested more than 200 levels deep"), std::string::npos);
  std::string longest = header + "exists true";
  for (int i = 0; i < 6000; ++i) {
    longest += " /\\ true";
  }
  EXPECT_NE(error_of(longest).find("at most 10000 parts"), std::string::npos);
  std::string wide = "PTX t\n{ x=0; }\nP0@cta 0,gpu 0";
  for (int i = 1; i < 20; ++i) {
    wide += " | P" + std::to_string(i) + "@cta 0,gpu 0";
  }
  EXPECT_NE(error_of(wide + ";\nexists (x == 0)").find("a test can have at most 16 threads"), std::string::npos);
}

TEST(reader, a_test_without_a_condition_has_no_verdict) {
  EXPECT_THROW((void)decide(read_litmus(header + " st.weak x, 1 | ;\n")), error);
  EXPECT_EQ(outcomes(read_litmus(header + " st.weak x, r0 | ;\nlocations [x; P0:r0;]")),
            std::vector<std::string>{"x=0 P0:r0=0"});
}

}  // namespace reader_test
