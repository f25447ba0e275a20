// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Tests copies of tensor boxes: which bytes they read and write, which operations order them, and what happens if a map is
// modified.
#include <check/scenario.hpp>
#include <tests/check/ptx_programs.hpp>

#include <membar/model/error.hpp>
#include <ptx/tensor_map.hpp>

#include <gtest/gtest.h>

#include <cstdint>
#include <string>

namespace tensor_copy_tests {
namespace {

using namespace membar_test;
using check::check_status;

/// A scenario with one kernel, whose parameters are a map and a pointer to `data`. The data is 8 rows of 16 numbers; number n
/// has the value n. `map` is the text after "type u32".
check::check_result run(const std::string& body, const std::string& map, std::uint32_t threads = 1,
                        const std::string& more = "", const std::string& launch = "") {
  std::string values;
  for (int n = 0; n < 128; ++n) {
    values += (n == 0 ? " = " : ", ") + std::to_string(n);
  }
  const std::string scenario = "source k.ptx\nmemory data u32[128]" + values + "\n" + more + "tensor_map m of data type u32 " +
                               map + "\nlaunch k " + launch + " block " + std::to_string(threads) + " args m data m\n";
  const std::string ptx =
      ".version 9.0\n.target sm_90\n.address_size 64\n"
      ".visible .entry k(.param .align 64 .b8 map[128], .param .u64 data, .param .u64 pointer)\n{\n"
      ".reg .pred %p<8>;\n.reg .b32 %r<16>;\n.reg .b64 %rd<16>;\n.reg .b128 %q<4>;\n"
      ".shared .align 1024 .b8 tile[2048];\n.shared .align 1024 .b8 copy[128];\n.shared .align 8 .b64 bar;\n"
      "mov.b64 %rd1, map; cvta.param.u64 %rd1, %rd1; ld.param.u64 %rd2, [data]; ld.param.u64 %rd3, [pointer]; mov.u32 %r15, "
      "%tid.x;\n"
      "mov.u32 %r14, %cluster_ctarank;\n" +
      body + "\nret;\n}\n";
  return check::explore(check::prepare(check::read_scenario(scenario), ptx).checked);
}

void expect(const check::check_result& r, check_status status, const std::string& words = "") {
  EXPECT_EQ(r.status, status) << r.found.message;
  EXPECT_NE(r.found.message.find(words), std::string::npos) << r.found.message;
}

const std::string plain = "dims 16 8 strides 64 box 8 4";  // 4 rows of 32 bytes
const std::string init = "mbarrier.init.shared.b64 [bar], 1;";
std::string load(int x, int y, int bytes = 128, const std::string& map = "%rd1") {
  return "mbarrier.arrive.expect_tx.shared.b64 _, [bar], " + std::to_string(bytes) +
         "; cp.async.bulk.tensor.2d.shared::cta.global.tile.mbarrier::complete_tx::bytes [tile], [" + map + ", {" +
         std::to_string(x) + ", " + std::to_string(y) + "}], [bar];";
}
const std::string wait = "W: mbarrier.try_wait.parity.shared::cta.b64 %p0, [bar], 0; @!%p0 bra W;";
std::string holds(int byte, int value) {
  return "ld.shared.u32 %r0, [tile+" + std::to_string(byte) + "]; setp.ne.u32 %p1, %r0, " + std::to_string(value) +
         "; @%p1 trap;";
}
std::string has(int number, int value) {
  return "ld.global.u32 %r0, [%rd2+" + std::to_string(4 * number) + "]; setp.ne.u32 %p1, %r0, " + std::to_string(value) +
         "; @%p1 trap;";
}

TEST(tensor_copies, bring_a_box) {
  expect(run(init + load(8, 2) + wait + holds(0, 40) + holds(28, 47) + holds(32, 56) + holds(124, 95), plain),
         check_status::verified);
  expect(run(init + load(8, 2) + wait + holds(32, 57), plain), check_status::violated);
}

TEST(tensor_copies, are_not_there_before_the_wait) {
  expect(run(init + load(8, 2) + "ld.shared.u32 %r0, [tile];" + wait, plain), check_status::race, "asynchronous copy");
}

TEST(tensor_copies, complete_the_bytes_of_the_whole_box) {
  expect(run(init + load(8, 6) + wait, plain), check_status::verified);  // Half of the box is outside the tensor.
  expect(run(init + load(8, 6, 64) + wait, plain), check_status::hang);
}

TEST(tensor_copies, fill_what_is_outside_of_the_tensor) {
  expect(run(init + load(12, 6) + wait + holds(0, 108) + holds(12, 111) + holds(16, 0) + holds(64, 0), plain),
         check_status::verified);
  expect(run(init + load(-2, 0) + wait + holds(0, 0) + holds(4, 0) + holds(8, 0) + holds(12, 1) + holds(16, 2), plain),
         check_status::verified);
  expect(run(init + load(12, 6) + wait + "ld.shared.u32 %r0, [tile+16]; cvt.u64.u32 %rd4, %r0; ld.global.u32 %r1, [%rd4];",
             plain + " fill nan"),
         check_status::gave_up, "unknown value");
}

TEST(tensor_copies, read_no_element_outside_of_the_box) {
  const std::string store = "setp.ne.u32 %p2, %r15, 1; @%p2 bra N; st.global.u32 [%rd2+160], 1; bra E; N: ";  // number 40
  expect(run(store + init + load(8, 2) + wait + "E:", plain, 2), check_status::race, "data");
  expect(run(store + init + load(0, 2) + wait + "E:", plain, 2), check_status::verified);
  expect(run(store + init + load(8, 3) + wait + "E:", plain, 2), check_status::verified);
}

TEST(tensor_copies, change_places_where_the_map_swizzles) {
  const std::string swizzled = "dims 16 8 strides 64 box 16 8 swizzle 64";
  // A row has 64 bytes. Piece n of row r is at position n xor (r / 2).
  expect(run(init + load(0, 0, 512) + wait + holds(0, 0) + holds(64, 16) + holds(128, 36) + holds(144, 32) + holds(448, 124),
             swizzled),
         check_status::verified);
  expect(run(init + load(0, 0, 512) + wait + holds(128, 32), swizzled), check_status::violated);
}

TEST(tensor_copies, take_every_other_row_by_a_stride_of_elements) {
  expect(run(init + load(0, 0, 64) + wait + holds(0, 0) + holds(32, 32), "dims 16 8 strides 64 box 8 4 element_strides 1 2"),
         check_status::verified);
}

const std::string fills =
    "mov.u32 %r1, 0; mov.u32 %r2, tile; F: add.u32 %r3, %r1, 1000; st.shared.u32 [%r2], %r3; add.u32 %r1, %r1, 1; add.u32 %r2, "
    "%r2, 4;"
    "setp.lt.u32 %p3, %r1, 32; @%p3 bra F;";
const std::string fence = "fence.proxy.async.shared::cta;";
std::string store_at(int x, int y) {
  return "cp.async.bulk.tensor.2d.global.shared::cta.tile.bulk_group [%rd1, {" + std::to_string(x) + ", " + std::to_string(y) +
         "}], [tile]; cp.async.bulk.commit_group;";
}
const std::string done = "cp.async.bulk.wait_group 0;";

TEST(tensor_copies, store_a_box) {
  expect(run(fills + fence + store_at(4, 1) + done + has(20, 1000) + has(27, 1007) + has(36, 1008) + has(19, 19) + has(28, 28),
             plain),
         check_status::verified);
  expect(run(fills + store_at(4, 1) + done, plain), check_status::race, "a proxy fence is missing");
  expect(run(fills + fence + store_at(4, 1) + "ld.global.u32 %r0, [%rd2+80];" + done, plain), check_status::race, "data");
  expect(run(fills + fence + store_at(4, 1) + "cp.async.bulk.wait_group.read 0; st.shared.u32 [tile], 1;" + done, plain),
         check_status::verified);
  expect(run(fills + fence + store_at(4, 1) + "st.shared.u32 [tile], 1;" + done, plain), check_status::race);
}

TEST(tensor_copies, store_nothing_outside_of_the_tensor) {
  expect(run(fills + fence + store_at(14, 7) + done + has(126, 1000) + has(127, 1001) + has(112, 112), plain),
         check_status::verified);
  expect(run(fills + fence + store_at(-6, 0) + done + has(0, 1006) + has(1, 1007) + has(2, 2), plain), check_status::verified);
}

TEST(tensor_copies, reduce_a_box) {
  const std::string add =
      "cp.reduce.async.bulk.tensor.2d.global.shared::cta.add.tile.bulk_group [%rd1, {4, 1}], [tile]; "
      "cp.async.bulk.commit_group;";
  expect(run(fills + fence + add + done + add + done + has(20, 2020) + has(27, 2041), plain), check_status::verified);
}

TEST(tensor_copies, gather_and_scatter_rows) {
  const std::string map = "dims 16 8 strides 64 box 8 1";
  const std::string gather =
      "mbarrier.arrive.expect_tx.shared.b64 _, [bar], 128; cp.async.bulk.tensor.2d.shared::cta.global.tile::gather4"
      ".mbarrier::complete_tx::bytes [tile], [%rd1, {8, 7, 0, 3, 3}], [bar];";
  expect(run(init + gather + wait + holds(0, 120) + holds(32, 8) + holds(64, 56) + holds(96, 56), map), check_status::verified);
  const std::string scatter =
      "cp.async.bulk.tensor.2d.global.shared::cta.tile::scatter4.bulk_group [%rd1, {8, 7, 0, 3, 4}], [tile]; "
      "cp.async.bulk.commit_group;";
  expect(run(fills + fence + scatter + done + has(120, 1000) + has(8, 1008) + has(56, 1016) + has(72, 1024), map),
         check_status::verified);
}

TEST(tensor_copies, reach_every_block_of_a_multicast) {
  const std::string meet = "barrier.cluster.arrive; barrier.cluster.wait;";
  const std::string cast =
      "setp.ne.u32 %p2, %r14, 0; @%p2 bra N; cp.async.bulk.tensor.2d.shared::cluster.global.tile.mbarrier::complete_tx::bytes"
      ".multicast::cluster [tile], [%rd1, {8, 2}], [bar], 3; N:";
  expect(run(init + "mbarrier.arrive.expect_tx.shared.b64 _, [bar], 128;" + meet + cast + wait + holds(32, 56) + meet, plain, 1,
             "", "grid 2 cluster 2"),
         check_status::verified);
  expect(run(init + "mbarrier.arrive.expect_tx.shared.b64 _, [bar], 128;" + meet + cast + "ld.shared.u32 %r0, [tile+32];" +
                 wait + meet,
             plain, 1, "", "grid 2 cluster 2"),
         check_status::race, "tile+32");
}

TEST(tensor_copies, that_no_device_performs_are_undefined) {
  const std::string unaligned =
      "cp.async.bulk.tensor.2d.shared::cta.global.mbarrier::complete_tx::bytes [tile+16], [%rd1, {0, 0}], [bar];";
  expect(run(init + unaligned + wait, plain), check_status::undefined, "not aligned to 128 bytes");
  const std::string one = "cp.async.bulk.tensor.1d.shared::cta.global.mbarrier::complete_tx::bytes [tile], [%rd1, {0}], [bar];";
  expect(run(init + one + wait, plain), check_status::undefined, "a 1-dimensional copy with a 2-dimensional tensor map");
  expect(run(init + load(0, 0, 128, "%rd2") + wait, plain), check_status::undefined, "not a tensor map");
  expect(run(init + load(0, 0) + wait, "dims 16 8 strides 64 box 8 4 swizzle 128"), check_status::gave_up, "rows of 32 bytes");
}

TEST(tensor_copies, take_a_map_that_a_pointer_leads_to) {
  expect(run(init + load(8, 2, 128, "%rd3") + wait + holds(0, 40), plain), check_status::verified);
}

// A tensor map that a kernel modifies in shared memory and publishes to global memory, as CUTLASS does for grouped matrix products.
const std::string to_shared =  // Each lane writes words of the map at %rd3.
    "mul.wide.u32 %rd4, %r15, 4; add.u64 %rd5, %rd3, %rd4; ld.global.u32 %r1, [%rd5]; cvt.u32.u64 %r2, %rd4; mov.u32 %r3, copy;"
    "add.u32 %r3, %r3, %r2; st.shared.u32 [%r3], %r1; bar.warp.sync -1;";
const std::string row_two = "add.u64 %rd6, %rd2, 128;";
const std::string first_lane = "setp.eq.u32 %p4, %r15, 0;";
const std::string replace =
    "@%p4 tensormap.replace.tile.global_address.shared::cta.b1024.b64 [copy], %rd6;"
    "@%p4 tensormap.replace.tile.global_dim.shared::cta.b1024.b32 [copy], 1, 6; bar.warp.sync -1;";
const std::string publish =
    "tensormap.cp_fenceproxy.global.shared::cta.tensormap::generic.release.gpu.sync.aligned [%rd3], [copy], 128;";
const std::string acquire = "fence.proxy.tensormap::generic.acquire.gpu [%rd3], 128;";
std::string by_first_lane(const std::string& body) { return "@!%p4 bra END;" + body + "END: "; }

TEST(tensor_maps, are_published_by_a_release_and_taken_by_an_acquire) {
  const std::string use =
      // The value is from the tensor that begins at row 2.
      by_first_lane(init + load(8, 0, 128, "%rd3") + wait + holds(0, 40));
  const auto result = [&](const std::string& body) { return run(row_two + first_lane + to_shared + body, plain, 32); };
  expect(result(replace + publish + acquire + use), check_status::verified);
  expect(result(replace + publish + use), check_status::race, "a proxy fence is missing");
  expect(result(replace + acquire + publish + use), check_status::race, "a proxy fence is missing");
  expect(result(replace.substr(0, replace.find("bar.warp")) + publish + acquire + use),
         check_status::verified);  // lane 0 copies
  expect(result("setp.eq.u32 %p4, %r15, 1;" + replace.substr(0, replace.find("bar.warp")) + publish + acquire + use),
         check_status::race);
}

TEST(tensor_maps, are_changed_in_global_memory) {
  const std::string change = "tensormap.replace.tile.box_dim.global.b1024.b32 [%rd3], 1, 2;";
  const std::string release = "fence.proxy.tensormap::generic.release.cta;";
  const std::string taken = "fence.proxy.tensormap::generic.acquire.cta [%rd3], 128;";
  const std::string use = init + load(8, 2, 64, "%rd3") + wait + holds(32, 56);
  expect(run(change + release + taken + use, plain), check_status::verified);
  expect(run(change + taken + use, plain), check_status::race, "a proxy fence is missing");
  expect(run(change + release + use, plain), check_status::race, "a proxy fence is missing");
  expect(run(use, plain), check_status::hang);  // The scenario's box has 128 bytes.
  expect(run(init + load(8, 2, 128, "%rd3") + change + wait, plain), check_status::race, "m");
  expect(run(init + load(8, 2, 128, "%rd3") + wait + change, plain), check_status::verified);
}

TEST(tensor_maps, are_taken_by_another_thread_that_acquires) {
  const std::string change =
      "tensormap.replace.tile.box_dim.global.b1024.b32 [%rd3], 1, 2; fence.proxy.tensormap::generic.release.gpu;";
  const std::string use = "fence.proxy.tensormap::generic.acquire.gpu [%rd3], 128;" + init + load(8, 2, 64, "%rd3") + wait;
  const auto both = [&](const std::string& meet) {
    return "setp.eq.u32 %p4, %r15, 0; @!%p4 bra MEET;" + change + "MEET: " + meet + "@%p4 bra END;" + use + "END: ";
  };
  expect(run(both("bar.sync 0;"), plain, 2), check_status::verified);
  expect(run(both(""), plain, 2), check_status::race);
}

TEST(tensor_maps, of_a_scenario_are_checked) {
  const auto message = [](const std::string& map) {
    try {
      static_cast<void>(run("", map));
    } catch (const membar::model::error& e) {
      return std::string(e.what());
    }
    return std::string("none");
  };
  EXPECT_EQ(message(plain), "none");
  EXPECT_NE(message("dims 16 8 strides 60 box 8 4").find("60 bytes is not a multiple of 16"), std::string::npos);
  EXPECT_NE(message("dims 16 8 box 8 4").find("2 dims, 0 strides and a box of 2"), std::string::npos);
  EXPECT_NE(message("dims 16 9 strides 64 box 8 4").find("is not within 'data'"), std::string::npos);
  EXPECT_NE(message("dims 16 8 strides 64 box 9 4").find("36 bytes, which is not a multiple of 16"), std::string::npos);
  EXPECT_NE(message("dims 16 8 strides 64 box 16 4 swizzle 32").find("at most 32"), std::string::npos);
  EXPECT_NE(message("dims 16 8 strides 64 box 8 4 swizzle 48").find("expected none, 32, 64 or 128"), std::string::npos);
  EXPECT_NE(message("dims 16 8 strides 64 box 8 4 fill ones").find("'ones' is not a fill: expected zeros or nan"),
            std::string::npos);
  EXPECT_NE(
      message("dims 16 8 strides 64 box 8 4 colour 3").find("'colour' is not a field of a tensor map: expected type, dims"),
      std::string::npos);
}

}  // namespace
}  // namespace tensor_copy_tests
