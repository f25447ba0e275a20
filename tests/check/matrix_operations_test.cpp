// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Tests asynchronous matrix operations: which shared memory they read, and which waits a program needs.
#include <check/matrix_operand.hpp>
#include <tests/check/ptx_programs.hpp>

#include <gtest/gtest.h>

#include <cstdint>
#include <set>
#include <string>

namespace matrix_operation_tests {
namespace {

using namespace membar_test;
using check::check_status;

// A has 64 rows of 32 bytes, and B has 8 such rows. There is no swizzling: a group consists of 8 half-rows of 16 bytes, and the
// two halves of a row are 128 bytes apart.
constexpr const char* variables =
    ".shared .align 1024 .b8 a[2048];\n.shared .align 1024 .b8 b[256];\n.shared .align 8 .b64 bar;\n.shared .align 8 .b64 "
    "empty;\n"
    ".global .align 16 .b8 from[2304];\n.global .align 16 .b8 out[2048];\n";

check::check_result run(const std::string& body, std::uint32_t threads = 128) {
  check::launch_request request;
  request.block[0] = threads;
  return check::explore(program_of_launch(variables, ".reg .f32 %f<8>; mov.u32 %r15, %tid.x;" + body, request));
}

void expect(const std::string& body, check_status status, const std::string& words = "", std::uint32_t threads = 128) {
  const check::check_result r = run(body, threads);
  EXPECT_EQ(r.status, status) << r.found.message;
  EXPECT_NE(r.found.message.find(words), std::string::npos) << r.found.message;
}

/// Makes a descriptor of the matrix `name` in register %rd`n`: the halves of a row are 128 bytes apart, and groups of 8 rows
/// are 256 bytes apart.
std::string descriptor(int n, const std::string& name) {
  const std::string rd = "%rd" + std::to_string(n);
  return "mov.u64 " + rd + ", " + name + "; and.b64 " + rd + ", " + rd + ", 262143; shr.u64 " + rd + ", " + rd +
         ", 4; or.b64 " + rd + ", " + rd + ", 0x1000080000;";  // 256 >> 4 at bit 32, 128 >> 4 at bit 16
}
const std::string descriptors = descriptor(1, "a") + descriptor(2, "b");
const std::string zeros = "mov.f32 %f0, 0f00000000; mov.f32 %f1, 0f00000000; mov.f32 %f2, 0f00000000; mov.f32 %f3, 0f00000000;";
const std::string begin = "wgmma.fence.sync.aligned;";
const std::string product =
    "wgmma.mma_async.sync.aligned.m64n8k16.f32.bf16.bf16 {%f0, %f1, %f2, %f3}, %rd1, %rd2, 1, 1, 1, 0, 0;";
const std::string commit = "wgmma.commit_group.sync.aligned;";
const std::string wait = "wgmma.wait_group.sync.aligned 0;";
const std::string put =
    "mov.u64 %rd4, out; mul.wide.u32 %rd5, %r15, 16; add.u64 %rd4, %rd4, %rd5; st.global.v4.f32 [%rd4], {%f0, %f1, %f2, %f3};";
/// Fills A and, with the first threads, B; each thread writes a 16-byte part of a row.
const std::string fill =
    "mov.u64 %rd6, a; mul.wide.u32 %rd7, %r15, 16; add.u64 %rd6, %rd6, %rd7; st.shared.v4.u32 [%rd6], {1, 1, 1, 1};"
    "setp.lt.u32 %p1, %r15, 16; mov.u64 %rd6, b; add.u64 %rd6, %rd6, %rd7; @%p1 st.shared.v4.u32 [%rd6], {1, 1, 1, 1};";
const std::string fence = "fence.proxy.async.shared::cta;";
const std::string meet = "bar.sync 0;";

TEST(wgmma, reads_what_all_threads_wrote_before_a_proxy_fence_and_a_barrier) {
  expect(fill + fence + meet + descriptors + zeros + begin + product + commit + wait + put, check_status::verified);
  expect(fill + meet + descriptors + zeros + begin + product + commit + wait + put, check_status::race,
         "a proxy fence is missing");
  expect(fill + fence + descriptors + zeros + begin + product + commit + wait + put, check_status::race);
}

TEST(wgmma, needs_the_order_in_every_warp) {
  // The last warp does not wait for the other warps' writes.
  const std::string some = "setp.ge.u32 %p2, %r15, 96; @%p2 bar.arrive 1, 128; @!%p2 bar.sync 1, 128;";
  expect(fill + fence + some + descriptors + zeros + begin + product + commit + wait + put, check_status::race);
}

TEST(wgmma, reads_the_bytes_of_its_descriptors) {
  std::string all = fill + fence + meet + descriptors;
  expect(all + "add.u64 %rd2, %rd2, 8;" + zeros + begin + product + commit + wait, check_status::out_of_bounds,
         "is outside of every object");
  all = "setp.ne.u32 %p3, %r15, 127; @%p3 bra F; bra G; F: " + fill + "G: " + fence + meet + descriptors;
  expect(all + zeros + begin + product + commit + wait, check_status::uninitialised);
}

TEST(wgmma, releases_its_registers_after_a_wait) {
  const std::string all = fill + fence + meet + descriptors + zeros + begin + product;
  expect(all + commit + put + wait, check_status::undefined, "still uses: wait for the operation first");
  expect(all + wait + put, check_status::undefined, "still uses: wait for the operation first");  // the group is not committed
  expect(all + commit + "mov.f32 %f4, %f0; mov.f32 %f5, 0f00000000;" + wait + "add.f32 %f5, %f4, %f5;", check_status::verified);
  expect(all + commit + "mov.f32 %f4, %f0; add.f32 %f5, %f4, %f4;" + wait, check_status::undefined, "add.f32");
}

TEST(wgmma, needs_its_fence_after_registers_were_changed) {
  const std::string all = fill + fence + meet + descriptors;
  expect(all + zeros + product + commit + wait, check_status::undefined, "without a wgmma.fence in between");
  expect(all + begin + product + commit + wait + "add.f32 %f0, %f0, %f0;" + product + commit + wait, check_status::undefined,
         "without a wgmma.fence in between");
  expect(all + begin + product + commit + wait + "add.f32 %f0, %f0, %f0;" + begin + product + commit + wait,
         check_status::verified);
  expect(all + begin + product + product + commit + wait + put, check_status::verified);
}

TEST(wgmma, lets_the_newest_groups_be_pending) {
  const std::string second =
      "wgmma.mma_async.sync.aligned.m64n8k16.f32.bf16.bf16 {%f4, %f5, %f6, %f7}, %rd1, %rd2, 1, 1, 1, 0, 0;";
  const std::string all = fill + fence + meet + descriptors + zeros + begin + product + commit + second + commit;
  expect(all + "wgmma.wait_group.sync.aligned 1;" + put + wait, check_status::verified);
  expect(all + "wgmma.wait_group.sync.aligned 1; add.f32 %f4, %f4, %f4;" + wait, check_status::undefined,
         "still uses: wait for the operation first");
}

TEST(wgmma, releases_its_operands_after_a_wait) {
  const std::string all = fill + fence + meet + descriptors + zeros + begin + product + commit;
  const std::string again = "setp.eq.u32 %p1, %r15, 0; @%p1 st.shared.u32 [b], 2;";
  expect(all + wait + meet + again, check_status::verified);
  // Once one thread has waited for a group, the group's reads are complete for all threads.
  expect(all + wait + again, check_status::verified);
  expect(all + again + wait, check_status::race);
}

TEST(wgmma, is_executed_by_a_whole_warpgroup) {
  expect(descriptors + zeros + begin + product + commit + wait, check_status::undefined,
         "which 128 threads must execute together", 64);
  expect(fill + fence + meet + descriptors + "setp.eq.u32 %p4, %r15, 70; @%p4 mov.u64 %rd2, %rd1;" + zeros + begin + product +
             commit + wait,
         check_status::undefined, "with different operands");
}

TEST(wgmma, takes_its_first_matrix_from_registers) {
  const std::string from_registers =
      "wgmma.mma_async.sync.aligned.m64n8k16.f32.bf16.bf16 {%f0, %f1, %f2, %f3}, {%r1, %r2, %r3, %r4}, %rd2, 1, 1, 1, 0;";
  const std::string all = fill + fence + meet + descriptors + zeros;
  expect(all + begin + from_registers + commit + wait + put, check_status::verified);
  expect(all + begin + from_registers + commit + "mov.u32 %r1, 5; add.u32 %r1, %r1, 1;" + wait, check_status::undefined,
         "still uses: wait for the operation first");
  expect(all + begin + "add.u32 %r1, %r15, 1;" + from_registers + commit + wait, check_status::undefined,
         "without a wgmma.fence in between");
}

// A producer and a consumer, pipelined as in CUTLASS and ThunderKittens. A copy fills a stage and completes the phase of the
// stage's mbarrier, the products read the stage, and another mbarrier signals that the stage may be refilled.
const std::string producer =
    "setp.lt.u32 %p5, %r15, 128; @%p5 bra CONSUMER; setp.ne.u32 %p5, %r15, 128; @%p5 bra END;"
    "mov.u32 %r9, 0; P: setp.eq.u32 %p6, %r9, 0; @%p6 bra FILL; PW: mbarrier.try_wait.parity.shared::cta.b64 %p0, [empty], 0; "
    "@!%p0 bra PW;"
    "FILL: mbarrier.arrive.expect_tx.shared.b64 _, [bar], 2304;"
    "cp.async.bulk.shared::cta.global.mbarrier::complete_tx::bytes [a], [from], 2048, [bar];"
    "cp.async.bulk.shared::cta.global.mbarrier::complete_tx::bytes [b], [from+2048], 256, [bar];"
    "add.u32 %r9, %r9, 1; setp.lt.u32 %p6, %r9, 2; @%p6 bra P; bra END;";
const std::string inits =
    "setp.ne.u32 %p0, %r15, 0; @%p0 bra I; mbarrier.init.shared.b64 [bar], 1; mbarrier.init.shared.b64 [empty], 1;"
    "fence.mbarrier_init.release.cluster; I: bar.sync 0;";
std::string consumer(const std::string& wait_full, const std::string& wait_products) {
  return "CONSUMER: " + descriptors + zeros + "mov.u32 %r9, 0; C: " + wait_full + begin + product + commit + wait_products +
         "setp.eq.u32 %p7, %r15, 0; @%p7 mbarrier.arrive.shared.b64 _, [empty]; add.u32 %r9, %r9, 1; setp.lt.u32 %p6, %r9, 2; "
         "@%p6 bra C;" +
         wait + put + "END: ";
}
const std::string full = "CW: mbarrier.try_wait.parity.shared::cta.b64 %p0, [bar], %r9; @!%p0 bra CW;";

TEST(wgmma, is_fed_by_a_pipeline_of_copies) {
  expect(inits + producer + consumer(full, wait), check_status::verified, "", 160);
  // The stage is filled while it is being read.
  expect(inits + producer + consumer(full, ""), check_status::race, "", 160);
  expect(inits + producer + consumer("", wait), check_status::uninitialised, "", 160);  // the stage's data may not have arrived
}

// ---- tensor memory

constexpr const char* tensor_variables =
    ".shared .align 1024 .b8 a[4096];\n.shared .align 1024 .b8 b[256];\n.shared .align 8 .b64 bar;\n.shared .align 8 .b64 "
    "next;\n"
    ".shared .align 4 .b32 slot;\n.global .align 16 .b8 out[4096];\n";

void expect_tensor(const std::string& body, check_status status, const std::string& words = "", std::uint32_t blocks = 1) {
  check::launch_request request;
  request.block[0] = 128;
  request.grid[0] = blocks;
  request.cluster = blocks > 1 ? static_cast<int>(blocks) : 0;
  const check::check_result r = check::explore(program_of_launch(
      tensor_variables,
      ".reg .b32 %v<16>; mov.u32 %r15, %tid.x; shr.u32 %r14, %r15, 5; setp.eq.u32 %p1, %r15, 0; setp.eq.u32 %p2, %r14, 0;"
      "mov.u32 %r13, %cluster_ctarank; setp.eq.u32 %p6, %r13, 0;" +
          body,
      request));
  EXPECT_EQ(r.status, status) << r.found.message;
  EXPECT_NE(r.found.message.find(words), std::string::npos) << r.found.message;
}

const std::string before = "tcgen05.fence::before_thread_sync;";
const std::string after = "tcgen05.fence::after_thread_sync;";
const std::string allocate =
    "@%p1 mbarrier.init.shared.b64 [bar], 1; @%p1 mbarrier.init.shared.b64 [next], 1; @%p1 fence.mbarrier_init.release.cluster;"
    "@%p2 tcgen05.alloc.cta_group::1.sync.aligned.shared::cta.b32 [slot], 32;"
    "@%p2 tcgen05.relinquish_alloc_permit.cta_group::1.sync.aligned;" +
    before + "bar.sync 0;" + after + "ld.shared.u32 %r10, [slot];";
/// A has 128 rows of 32 bytes.
const std::string fill_both =
    "mov.u64 %rd6, a; mul.wide.u32 %rd7, %r15, 32; add.u64 %rd6, %rd6, %rd7; st.shared.v4.u32 [%rd6], {1, 1, 1, 1};"
    "st.shared.v4.u32 [%rd6+16], {1, 1, 1, 1}; setp.lt.u32 %p3, %r15, 8; mov.u64 %rd6, b; add.u64 %rd6, %rd6, %rd7;"
    "@%p3 st.shared.v4.u32 [%rd6], {1, 1, 1, 1}; @%p3 st.shared.v4.u32 [%rd6+16], {1, 1, 1, 1};" +
    fence + meet;
const std::string tensor_descriptors =
    descriptor(1, "a") + descriptor(2, "b") +
    "or.b64 %rd1, %rd1, 0x400000000000; or.b64 %rd2, %rd2, 0x400000000000; mov.u32 %r11, 0x8020000;";
/// The product with 128 rows and 8 columns. If `adds` is 0, the product is not added to the previous result.
std::string multiply(int adds = 0) {
  return "setp.ne.u32 %p4, " + std::to_string(adds) +
         ", 0; @%p1 tcgen05.mma.cta_group::1.kind::f16 [%r10], %rd1, %rd2, %r11, %p4;";
}
const std::string committed = "@%p1 tcgen05.commit.cta_group::1.mbarrier::arrive::one.shared::cluster.b64 [bar];";
const std::string wait_bar = "TW: mbarrier.try_wait.parity.shared::cta.b64 %p0, [bar], 0; @!%p0 bra TW;";
const std::string lanes = "shl.b32 %r9, %r14, 21; add.u32 %r9, %r9, %r10;";
const std::string take_result =
    lanes + "tcgen05.ld.sync.aligned.32x32b.x8.b32 {%v0, %v1, %v2, %v3, %v4, %v5, %v6, %v7}, [%r9];";
const std::string wait_load = "tcgen05.wait::ld.sync.aligned;";
const std::string use_result =
    "mov.u64 %rd4, out; mul.wide.u32 %rd5, %r15, 32; add.u64 %rd4, %rd4, %rd5; st.global.v4.u32 [%rd4], {%v0, %v1, %v2, %v3};";
const std::string release = before + meet + "@%p2 tcgen05.dealloc.cta_group::1.sync.aligned.b32 %r10, 32;";

TEST(tensor_memory, holds_a_product_until_it_is_loaded) {
  const std::string begin_of_all = allocate + fill_both + tensor_descriptors + multiply() + committed;
  expect_tensor(begin_of_all + wait_bar + after + take_result + wait_load + use_result + release, check_status::verified);
  expect_tensor(begin_of_all + wait_bar + take_result + wait_load + use_result + release, check_status::race, "tcgen05.fence");
  expect_tensor(begin_of_all + after + take_result + wait_load + wait_bar + release, check_status::race,
                "tensor memory of block 0");
  expect_tensor(begin_of_all + wait_bar + after + take_result + use_result + wait_load + release, check_status::undefined,
                "still uses: wait for the operation first");
  expect_tensor(begin_of_all + wait_bar + after + take_result + wait_load + use_result, check_status::undefined,
                "tcgen05.dealloc is missing");
}

TEST(tensor_memory, is_written_by_products_in_their_order) {
  const std::string begin_of_all = allocate + fill_both + tensor_descriptors;
  const std::string end = committed + wait_bar + after + take_result + wait_load + use_result + release;
  expect_tensor(begin_of_all + multiply() + multiply(1) + end, check_status::verified);
  expect_tensor(begin_of_all + multiply(1) + end, check_status::uninitialised, "tensor memory");
  // Operations from different threads are not pipelined.
  const std::string other = "setp.eq.u32 %p5, %r15, 64; @%p5 tcgen05.mma.cta_group::1.kind::f16 [%r10], %rd1, %rd2, %r11, %p4;";
  expect_tensor(begin_of_all + multiply() + other + end, check_status::race, "tensor memory");
  expect_tensor(begin_of_all + multiply() + other + end, check_status::race,
                "(an asynchronous matrix product from a of block 0 to tensor memory of block 0)");
}

TEST(tensor_memory, is_loaded_before_it_is_written_again) {
  const std::string first = allocate + fill_both + tensor_descriptors + multiply() + committed + wait_bar + after + take_result;
  const auto again = [](const std::string& synchronize) {
    return synchronize + multiply() +
           "@%p1 tcgen05.commit.cta_group::1.mbarrier::arrive::one.shared::cluster.b64 [next];"
           "TV: mbarrier.try_wait.parity.shared::cta.b64 %p0, [next], 0; @!%p0 bra TV;" +
           use_result + release;
  };
  expect_tensor(first + wait_load + again(before + meet + after), check_status::verified);
  expect_tensor(first + wait_load + again(meet + after), check_status::race, "tcgen05.fence");
  expect_tensor(first + wait_load + again(before + meet), check_status::race, "tcgen05.fence");
  expect_tensor(first + wait_load + again(""), check_status::race, "tensor memory");
  expect_tensor(first + before + meet + after + again("").substr(0, again("").find("TV:")) + wait_load + release,
                check_status::race, "tensor memory");
}

TEST(tensor_memory, operands_are_read_through_the_async_proxy) {
  std::string unfenced = fill_both;
  unfenced.erase(unfenced.find(fence), fence.size());
  const std::string end = committed + wait_bar + after + release;
  expect_tensor(allocate + unfenced + tensor_descriptors + multiply() + end, check_status::race, "a proxy fence is missing");
  const std::string change = "@%p1 st.shared.u32 [a], 2;";
  expect_tensor(allocate + fill_both + tensor_descriptors + multiply() + committed + change + wait_bar + after + release,
                check_status::race, "a of block 0");
  expect_tensor(allocate + fill_both + tensor_descriptors + multiply() + committed + wait_bar + change + after + release,
                check_status::verified);
}

TEST(tensor_memory, has_512_columns_for_a_block) {
  const auto allocation = [](const std::string& columns) {
    return "@%p2 tcgen05.alloc.cta_group::1.sync.aligned.shared::cta.b32 [slot], " + columns + ";";
  };
  const std::string freed = "@%p2 tcgen05.dealloc.cta_group::1.sync.aligned.b32 %r10, ";
  expect_tensor(allocation("256") + allocation("256") + freed + "256;" + freed + "256;", check_status::verified);
  expect_tensor(allocation("256") + allocation("512"), check_status::hang, "waits for 512 columns");
  expect_tensor(allocation("256") + freed + "256;" + allocation("512") + freed + "512;", check_status::verified);
  expect_tensor(allocation("48"), check_status::undefined, "a power of 2");
  expect_tensor(
      allocation("32") + "setp.eq.u32 %p3, %r14, 1; @%p3 tcgen05.alloc.cta_group::1.sync.aligned.shared::cta.b32 [b], 32;",
      check_status::gave_up, "two warps of a block");
}

TEST(tensor_memory, stores_are_waited_for) {
  const std::string store = lanes + "tcgen05.st.sync.aligned.32x32b.x2.b32 [%r9], {%r15, %r15};";
  const std::string wait_store = "tcgen05.wait::st.sync.aligned;";
  const std::string load = "tcgen05.ld.sync.aligned.32x32b.x2.b32 {%v0, %v1}, [%r9];" + wait_load;
  expect_tensor(allocate + store + wait_store + load + release, check_status::verified);
  expect_tensor(allocate + store + load + wait_store + release, check_status::race, "tensor memory");
  expect_tensor(allocate + "add.u32 %r9, %r10, 0x200000; tcgen05.st.sync.aligned.32x32b.x2.b32 [%r9], {%r15, %r15};" + release,
                check_status::undefined, "from a warp that can access only lanes 0 to 31");
  expect_tensor(allocate + "add.u32 %r10, %r10, 511;" + store + release, check_status::out_of_bounds, "512 columns");
}

TEST(tensor_memory, is_filled_from_shared_memory_before_products_of_the_thread) {
  const std::string copy = "@%p1 tcgen05.cp.cta_group::1.128x256b [%r10], %rd1;";
  const std::string begin_of_all = allocate + fill_both + tensor_descriptors;
  const std::string end = committed + wait_bar + after + take_result + wait_load + use_result + release;
  expect_tensor(begin_of_all + copy + multiply(1) + end, check_status::verified);
  const std::string other = "setp.eq.u32 %p5, %r15, 64; @%p5 tcgen05.cp.cta_group::1.128x256b [%r10], %rd1;";
  expect_tensor(begin_of_all + other + multiply(0) + end, check_status::race, "tensor memory");
}

TEST(tensor_memory, holds_products_in_both_blocks_of_a_pair) {
  const std::string all_meet = before + "barrier.cluster.arrive; barrier.cluster.wait;" + after;
  const auto kernel = [&](const std::string& group, const std::string& filled) {
    return allocate + filled + tensor_descriptors + fence + all_meet +
           "mov.u32 %r11, 0x10040000; setp.ne.u32 %p4, 0, 0; and.pred %p7, %p1, %p6;"
           "@%p7 tcgen05.mma.cta_group::2.kind::f16 [%r10], %rd1, %rd2, %r11, %p4;"
           "@%p7 tcgen05.commit.cta_group::2.mbarrier::arrive::one.shared::cluster" +
           group + wait_bar + after + take_result + wait_load + release + "barrier.cluster.arrive; barrier.cluster.wait;";
  };
  expect_tensor(kernel(".multicast::cluster.b64 [bar], 3;", fill_both), check_status::verified, "", 2);
  expect_tensor(kernel(".b64 [bar];", fill_both), check_status::hang, "", 2);
}

TEST(matrix_descriptors, name_the_pieces_of_a_matrix) {
  const auto pieces = [](std::uint64_t bits, unsigned rows, unsigned count, bool transposed) {
    std::set<std::uint64_t> result;
    check::matrix_descriptor::of_warpgroup(bits).for_each_piece(rows, count, transposed,
                                                                [&](std::uint64_t at) { result.insert(at); });
    return result;
  };
  // Swizzled rows of 128 bytes; 8 rows have 1024 bytes. The operands are in the first 32 bytes of each row.
  const std::uint64_t swizzled = std::uint64_t{1} << 62U | std::uint64_t{1024 / 16} << 32U | 4096 / 16;
  const auto first = pieces(swizzled, 64, 2, false);
  EXPECT_EQ(first.size(), 128U);
  EXPECT_EQ(*first.begin(), 4096U);
  EXPECT_TRUE(first.count(4096 + 128 + 16) != 0 && first.count(4096 + 128) != 0);  // Row 1: pieces 0 and 1 are swapped.
  // Row 2: pieces 0 and 1 become pieces 2 and 3.
  EXPECT_TRUE(first.count(4096 + 256 + 32) != 0 && first.count(4096 + 256 + 48) != 0);
  EXPECT_EQ(first.count(4096 + 256), 0U);
  EXPECT_EQ(pieces(swizzled + 2, 64, 2, false).count(4096 + 32), 1U);
  // 16 rows of 64 16-bit numbers, 2048 bytes in total. The sum runs over the rows.
  const auto turned = pieces(swizzled, 64, 2, true);
  EXPECT_EQ(turned.size(), 128U);
  EXPECT_EQ(*turned.rbegin(), 4096U + 2032U);
}

}  // namespace
}  // namespace matrix_operation_tests
