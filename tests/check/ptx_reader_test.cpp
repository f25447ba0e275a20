// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The reader accepts the PTX that compilers generate, and reports each unknown part as an error with its line number.
#include <membar/model/named_test.hpp>
#include <ptx/opcode.hpp>
#include <ptx/writer.hpp>
#include <tests/check/ptx_programs.hpp>

#include <gtest/gtest.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <random>
#include <string>
#include <tuple>
#include <vector>

namespace {

using namespace membar_test;
namespace model = membar::model;

/// Returns the error message from reading and decoding a text, or an empty string if there is no error.
std::string error_of(const std::string& text) {
  try {
    const check::ptx_module module = check::read_ptx(text);
    const check::module_layout layout = check::layout_of(module);
    for (const check::ptx_function& f : module.functions) {
      if (f.kernel && f.defined) {
        static_cast<void>(check::decode_kernel(module, layout, f));
      }
    }
  } catch (const membar::model::error& e) {
    return e.what();
  }
  return "";
}

std::string error_in(const std::string& body) { return error_of(kernel_text("k", body)); }

TEST(ptx_reader, reads_a_register_type_that_is_written_without_a_space) {
  EXPECT_EQ(error_in("  .reg.b64 pair;\n  .reg.b16 first, second;\n  mov.u64 pair, 1;\n"), "");
  EXPECT_NE(error_in("  .reg.word pair;\n"), "");
}

TEST(ptx_reader, reads_modules_variables_parameters_and_places) {
  const check::ptx_module m = check::read_ptx(R"(
// a comment /* that ends at the end of its line
.version 9.0
.target sm_90, debug
.address_size 64
.extern .func (.param .b32 func_retval0) vprintf (.param .b64 a, .param .b64 b);
.visible .global .align 8 .b8 table[16] = {1, 2, 0xFF, 4};
.const .u32 limit = 5;
.extern .shared .align 16 .b8 dynamic[];
.visible .entry worker(.param .u64 .ptr .align 1 worker_param_0, .param .align 8 .b8 worker_param_1[24])
.maxntid 128, 1, 1
{
  .reg .b32 %r<4>;
  .loc 1 7 3
  .loc 2 41 5, function_name $L__info_string0, inlined_at 1 7 3
  mov.u32 %r1, %tid.x;
  ret;
}
	.file	1 "/a/lock.cu"
	.file	2 "/a/b.cuh", 1, 2
	.section	.debug_str { .b8 1, 2 }
)");
  ASSERT_EQ(m.functions.size(), 2U);
  EXPECT_FALSE(m.functions[0].defined);
  const check::ptx_function& worker = m.functions[1];
  EXPECT_TRUE(worker.kernel);
  ASSERT_EQ(worker.parameters.size(), 2U);
  EXPECT_EQ(worker.parameters[0].bytes, 8U);
  EXPECT_EQ(worker.parameters[1].bytes, 24U);
  EXPECT_EQ(worker.registers.size(), 4U);
  ASSERT_EQ(worker.body.size(), 2U);
  EXPECT_EQ(worker.body[0].file, 2);
  EXPECT_EQ(worker.body[0].source_line, 41);
  const check::ptx_place& own = m.places.at(static_cast<std::size_t>(worker.body[0].place));
  const check::ptx_place& caller = m.places.at(static_cast<std::size_t>(own.inlined_at));
  EXPECT_EQ(caller.file, 1);
  EXPECT_EQ(caller.line, 7);
  ASSERT_EQ(m.variables.size(), 3U);
  EXPECT_EQ(m.variables[0].initial, (std::vector<std::uint8_t>{1, 2, 255, 4, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0}));
  EXPECT_EQ(m.variables[1].initial, (std::vector<std::uint8_t>{5, 0, 0, 0}));
  EXPECT_EQ(m.variables[2].bytes, 0U);
  ASSERT_EQ(m.files.size(), 3U);
  EXPECT_EQ(m.files[1], "/a/lock.cu");
}

TEST(ptx_reader, finds_the_innermost_and_the_outermost_line_that_is_in_no_library) {
  const check::ptx_module m = check::read_ptx(R"(.version 9.0
.target sm_90
.address_size 64
.global .u32 x;
.func called()
{
  .loc 2 12 3
  st.global.u32 [x], 4;
  ret;
}
.visible .entry worker()
{
  .loc 1 30 3
  .loc 1 20 3
  .loc 3 50 3, function_name $L0, inlined_at 1 20 3
  .loc 2 12 3, function_name $L1, inlined_at 3 50 3
  .loc 1 40 3
  .loc 2 12 3, function_name $L1, inlined_at 3 50 3
  st.global.u32 [x], 1;
  .loc 2 0 1
  st.global.u32 [x], 2;
  .loc 3 60 3
  .loc 1 8 3, function_name $L2, inlined_at 3 60 3
  st.global.u32 [x], 3;
  .loc 1 41 3
  call.uni called, ();
  .loc 1 50 3
  .loc 4 9 3, function_name $L3, inlined_at 1 50 3
  .loc 2 12 3, function_name $L1, inlined_at 4 9 3
  st.global.u32 [x], 5;
  ret;
}
	.file	1 "/home/me/cuda/kernel.cu"
	.file	2 "/usr/local/cuda/include/cccl/cuda/std/__atomic/load.h"
	.file	3 "/usr/local/cuda/include/cub/block.cuh"
	.file	4 "/home/me/cuda/helper.cuh"
)");
  const check::kernel_code k = check::decode_kernel(m, check::layout_of(m), m.functions[1]);
  std::vector<std::array<int, 6>> places;
  for (const check::instruction& i : k.code) {
    if (i.code == check::op::store) {
      places.push_back({i.file, i.source_line, i.user_file, i.user_line, i.caller_file, i.caller_line});
    }
  }
  EXPECT_EQ(places, (std::vector<std::array<int, 6>>{{2, 12, 1, 20, 1, 20},  // Not the preceding line in the text.
                                                     // Code without its own line number belongs to the previous line.
                                                     {2, 12, 1, 20, 1, 20},
                                                     {1, 8, 1, 8, 1, 8},       // A user-defined function that a library calls.
                                                     {2, 12, 1, 41, 1, 41},    // A function that is called and not inlined.
                                                     {2, 12, 4, 9, 1, 50}}));  // A user-defined function that calls a library.
}

/// Returns the innermost line outside of libraries of each store and fence of a kernel, and the line of the call in the kernel.
std::vector<std::array<int, 2>> user_lines_in(const std::string& body) {
  const check::ptx_module m = check::read_ptx(R"(.version 9.0
.target sm_90
.address_size 64
.global .u32 x;
.visible .entry worker()
{
  .reg .b64 %rd<9>;
  .reg .b32 %r<9>;
)" + body + R"(  ret;
}
	.file	1 "/home/me/kernel.cu"
	.file	2 "/usr/local/cuda/include/cccl/cuda/std/atomic"
	.file	3 "/usr/local/cuda/include/cccl/cuda/std/__atomic/store.h"
)");
  const check::kernel_code k = check::decode_kernel(m, check::layout_of(m), m.functions[0]);
  std::vector<std::array<int, 2>> result;
  for (const check::instruction& i : k.code) {
    if (i.code == check::op::store || i.code == check::op::fence) {
      result.push_back({i.user_line, i.caller_line});
    }
  }
  return result;
}

/// The first round of an unrolled loop: stores on lines 8 and 17, a fence on line 10, and a release on line 23.
const std::string first_round = R"(
  .loc 1 49 5
  .loc 1 8 3, function_name $publish, inlined_at 1 49 5
  .loc 2 184 7, function_name $relaxed, inlined_at 1 8 3
  .loc 3 213 7, function_name $st_relaxed, inlined_at 2 184 7
  st.relaxed.gpu.b32 [%rd1], %r1;
  .loc 1 10 3, function_name $publish, inlined_at 1 49 5
  .loc 3 33 3, function_name $fence, inlined_at 1 10 3
  fence.acq_rel.gpu;
  .loc 1 17 5, function_name $publish, inlined_at 1 49 5
  .loc 2 184 7, function_name $relaxed, inlined_at 1 17 5
  .loc 3 213 7, function_name $st_relaxed, inlined_at 2 184 7
  st.relaxed.gpu.b32 [%rd2], %r1;
  .loc 1 23 3, function_name $publish, inlined_at 1 49 5
  .loc 2 184 7, function_name $release, inlined_at 1 23 3
  .loc 3 213 7, function_name $st_release, inlined_at 2 184 7
  st.release.gpu.b32 [%rd1], %r1;
)";

TEST(ptx_reader, finds_the_calls_of_copied_code_by_its_functions_and_addresses) {
  EXPECT_EQ(user_lines_in(first_round + R"(
  .loc 3 213 7, function_name $st_relaxed, inlined_at 2 184 7
  st.relaxed.gpu.b32 [%rd2], %r1;
  .loc 3 213 7, function_name $st_relaxed, inlined_at 2 184 7
  st.relaxed.gpu.b32 [%rd1], %r1;
  .loc 3 213 7, function_name $st_release, inlined_at 2 184 7
  st.release.gpu.b32 [%rd1], %r1;
)"),
            (std::vector<std::array<int, 2>>{{8, 49}, {10, 49}, {17, 49}, {23, 49}, {17, 49}, {8, 49}, {23, 49}}));
}

TEST(ptx_reader, finds_the_calls_of_copied_code_by_its_order) {
  EXPECT_EQ(user_lines_in(first_round + R"(
  .loc 3 213 7, function_name $st_relaxed, inlined_at 2 184 7
  st.relaxed.gpu.b32 [%rd5], %r1;
  .loc 3 33 3, function_name $fence, inlined_at 1 10 3
  fence.acq_rel.gpu;
  .loc 3 213 7, function_name $st_relaxed, inlined_at 2 184 7
  st.relaxed.gpu.b32 [%rd6], %r1;
  .loc 3 213 7, function_name $st_release, inlined_at 2 184 7
  st.release.gpu.b32 [%rd5], %r1;
  .loc 3 213 7, function_name $st_relaxed, inlined_at 2 184 7
  st.relaxed.gpu.b32 [%rd7], %r1;
  .loc 3 213 7, function_name $st_relaxed, inlined_at 2 184 7
  st.relaxed.gpu.b32 [%rd8], %r1;
)"),
            (std::vector<std::array<int, 2>>{
                {8, 49}, {10, 49}, {17, 49}, {23, 49}, {8, 49}, {10, 49}, {17, 49}, {23, 49}, {8, 49}, {17, 49}}));
}

TEST(ptx_reader, finds_the_calls_of_copied_code_by_the_lines_of_the_code_before_it) {
  EXPECT_EQ(user_lines_in(first_round + R"(
  .loc 1 17 5, function_name $publish, inlined_at 1 49 5
  add.s64 %rd4, %rd2, 4;
  .loc 3 213 7, function_name $st_relaxed, inlined_at 2 184 7
  st.relaxed.gpu.b32 [%rd4], %r1;
  .loc 1 8 3, function_name $publish, inlined_at 1 49 5
  add.s64 %rd5, %rd2, 8;
  .loc 3 213 7, function_name $st_relaxed, inlined_at 2 184 7
  st.relaxed.gpu.b32 [%rd5], %r1;
)"),
            (std::vector<std::array<int, 2>>{{8, 49}, {10, 49}, {17, 49}, {23, 49}, {17, 49}, {8, 49}}));
}

TEST(ptx_reader, keeps_code_in_the_call_that_it_began_in) {
  EXPECT_EQ(user_lines_in(R"(
  .loc 1 8 3
  .loc 3 213 7, function_name $store, inlined_at 1 8 3
  st.relaxed.gpu.b32 [%rd1], %r1;
  .loc 3 214 7, function_name $store, inlined_at 1 8 3
  st.relaxed.gpu.b32 [%rd2], %r1;
  .loc 1 9 3
  .loc 2 184 7, function_name $set, inlined_at 1 9 3
  .loc 3 213 7, function_name $store, inlined_at 2 184 7
  st.relaxed.gpu.b32 [%rd1], %r1;
  .loc 1 10 3
  .loc 2 184 7, function_name $set, inlined_at 1 10 3
  add.s64 %rd3, %rd2, 4;
  .loc 2 184 7, function_name $set, inlined_at 1 10 3
  .loc 3 213 7, function_name $store, inlined_at 2 184 7
  st.relaxed.gpu.b32 [%rd3], %r1;
  .loc 3 214 7, function_name $store, inlined_at 2 184 7
  st.relaxed.gpu.b32 [%rd1], %r1;
)"),
            (std::vector<std::array<int, 2>>{{8, 8}, {8, 8}, {9, 9}, {10, 10}, {10, 10}}));
}

TEST(ptx_reader, gives_code_without_a_line_at_the_start_of_a_block_the_next_line) {
  EXPECT_EQ(user_lines_in(R"(
  .loc 1 8 3
  mov.u32 %r1, 1;
L:
  .loc 2 0 3
  st.relaxed.gpu.b32 [%rd1], %r1;
  .loc 1 9 3
  mov.u32 %r2, 1;
M:
  .loc 2 0 3
  st.relaxed.gpu.b32 [%rd1], %r1;
N:
  .loc 1 10 3
  mov.u32 %r2, 1;
)"),
            (std::vector<std::array<int, 2>>{{9, 9}, {9, 9}}));
}

TEST(ptx_reader, reads_registers_of_nested_blocks_as_their_own) {
  EXPECT_EQ(error_in("mov.u32 %r1, 1; { .reg .b32 %r1, t; mov.u32 t, 2; mov.u32 %r1, t; } mov.u32 %r2, %r1;"), "");
  EXPECT_NE(error_in("{ .reg .b32 t; } mov.u32 t, 2;"), "");
}

TEST(ptx_reader, says_the_line_of_what_it_does_not_know) {
  EXPECT_EQ(error_in("mov.u32 %r1, 1;\nwgmmma.fence.sync.aligned;"),
            "9:1: the instruction 'wgmmma.fence.sync.aligned' is not known");
  EXPECT_EQ(error_in("add.cd.u32 %r1, %r1, 1;"), "8:1: '.cd' of 'add.cd.u32' is not supported");
  EXPECT_EQ(error_in("bra nowhere;"), "8:1: the label 'nowhere' is not defined in 'k'");
  EXPECT_EQ(error_in("mov.u32 %r1, %nosuch;"), "8:1: '%nosuch' is not a known register, variable or special register");
  EXPECT_EQ(error_in("call.uni f, ();"), "8:1: the function 'f' is called but not defined in this module");
  EXPECT_EQ(error_in("st.acquire.gpu.global.u32 [x], 1;").substr(0, 4), "8:1:");
  EXPECT_EQ(error_in("mov.u32 %r1;\n@%q bra L;"), "9:2: the predicate '%q' is not declared");
  EXPECT_EQ(error_of("wrong"), "1:1: expected a module-level directive, found 'wrong'");
  EXPECT_EQ(error_of(".entry k() {"), "1:13: expected '}', found the end of the text");
  EXPECT_EQ(error_of(".global .u32 x[99999999999];"), "1:27: the variable 'x' is larger than 1 GiB");
}

TEST(ptx_reader, reads_parameters_that_the_tile_compiler_adds) {
  const check::ptx_module m = check::read_ptx(
      ".version 9.1\n.target sm_90\n.address_size 64\n"
      ".visible .entry k(\n.param .u32 first,\n.hidden\t.param .align 64 .b8 map[128]\n)\n{\nret;\n}\n");
  ASSERT_EQ(m.functions.size(), 1U);
  ASSERT_EQ(m.functions[0].parameters.size(), 2U);
  EXPECT_EQ(m.functions[0].parameters[1].bytes, 128U);
}

TEST(ptx_reader, leaves_out_what_only_hints_use) {
  EXPECT_EQ(error_in("createpolicy.fractional.L2::evict_last.b64 %rd1, 0f3F800000; createpolicy.cvt.L2.b64 %rd2, %rd1;"), "");
  EXPECT_EQ(error_in("prefetch.tensormap [%rd1]; applypriority.global.L2::evict_normal [%rd1], 128;"), "");
}

/// Returns an opcode as the reader prints it.
check::instruction opcode_of(const std::string& text) {
  check::instruction i;
  i.text = text;
  static_cast<void>(check::read_opcode(i));
  return i;
}

TEST(ptx_opcodes, the_matching_row_with_the_most_words_applies) {
  EXPECT_EQ(opcode_of("mul.lo.s32").code, check::op::multiply_low);
  EXPECT_EQ(opcode_of("mul.wide.u32").code, check::op::multiply_wide);
  EXPECT_EQ(opcode_of("red.add.u32").code, check::op::reduction);
  EXPECT_EQ(opcode_of("red.async.relaxed.cluster.shared::cluster.mbarrier::complete_tx::bytes.add.u32").code,
            check::op::async_copy);
  EXPECT_EQ(opcode_of("cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes").code, check::op::async_copy);
  EXPECT_EQ(opcode_of("cp.async.bulk.commit_group").completes, model::completion::bulk_group);
  EXPECT_EQ(opcode_of("cp.async.commit_group").completes, model::completion::group);
  EXPECT_TRUE(opcode_of("mbarrier.arrive.expect_tx.release.cta.b64").transaction);
  EXPECT_FALSE(opcode_of("mbarrier.arrive.release.cta.b64").transaction);
  EXPECT_EQ(opcode_of("barrier.cta.arrive.aligned").code, check::op::block_arrive);
  EXPECT_EQ(opcode_of("bar.warp.sync").code, check::op::warp_barrier);
  EXPECT_EQ(opcode_of("barrier.cluster.arrive.release.aligned").code, check::op::cluster_arrive);
  EXPECT_EQ(opcode_of("fence.proxy.async.shared::cta").proxy_spaces, check::bit_of(check::proxy_space::own_shared));
  EXPECT_TRUE(opcode_of("fence.proxy.async::generic.release.sync_restrict::shared::cta.cluster").restricted);
}

TEST(ptx_opcodes, an_error_names_the_opcodes_of_that_name_that_are_supported) {
  EXPECT_EQ(error_in("shfl.sync.b32 %r1, %r1, 0, 31, -1;"),
            "8:1: 'shfl.sync.b32' is not supported; the supported ones are shfl.up, shfl.down, shfl.bfly, shfl.idx");
}

TEST(ptx_opcodes, what_is_printed_is_read_again) {
  for (const auto& order : check::order_words) {
    for (const auto& scope : check::scope_words) {
      const check::instruction fence = opcode_of(check::opcode_text("fence", order.value, scope.value));
      EXPECT_EQ(fence.order, order.value);
      EXPECT_EQ(fence.scope, scope.value);
    }
  }
  for (const auto& what : check::operation_words) {
    const std::string text = check::opcode_text("atom", membar::memory_order::relaxed, what.value, check::ptx_type::u32);
    if (check::is_atomic_operation(what.value)) {
      EXPECT_EQ(opcode_of(text).what, what.value) << text;
    } else {
      EXPECT_NE(error_in(text + " %r1, [%rd1], 1;"), "") << text;
    }
  }
  for (const auto& test : check::comparison_words) {
    EXPECT_EQ(opcode_of(check::opcode_text("setp", test.value, check::ptx_type::f32)).test, test.value);
  }
  for (const check::type_row& type : check::type_words) {
    if (type.type != check::ptx_type::none) {
      EXPECT_EQ(opcode_of(check::opcode_text("mov", type.type)).type, type.type);
    }
  }
  for (const check::op code :
       {check::op::load, check::op::store, check::op::reduction, check::op::fence, check::op::proxy_fence}) {
    EXPECT_EQ(
        opcode_of(check::opcode_text(check::spelling_of(code), code == check::op::proxy_fence ? "" : "relaxed",
                                     code == check::op::proxy_fence ? "" : "gpu", code == check::op::reduction ? "add" : "",
                                     code == check::op::fence || code == check::op::proxy_fence ? "" : "u32"))
            .code,
        code);
  }
  EXPECT_EQ(check::spelling_of(check::op::load, check::mbarrier_op::test), "mbarrier.try_wait");
  EXPECT_EQ(check::spelling_of(check::op::atomic, check::mbarrier_op::arrive), "mbarrier.arrive");
}

TEST(ptx_opcodes, the_model_names_orders_scopes_and_operations_by_the_same_words) {
  for (const auto& order : check::order_words) {
    EXPECT_EQ(order.word, model::detail::ptx_name(order.value));
  }
  for (const auto& scope : check::scope_words) {
    EXPECT_EQ(scope.word, model::detail::ptx_name(scope.value));
  }
  for (const auto& what : check::operation_words) {
    EXPECT_EQ(what.word, model::detail::ptx_name(what.value));
  }
}

TEST(ptx_writer, builds_what_is_read_of_the_text) {
  check::kernel_writer writer("k", 1);
  const auto r = writer.declare_registers("%r", check::ptx_type::b64, 2);
  const auto p = writer.declare_registers("%p", check::ptx_type::pred, 1);
  writer.declare_local("final", 8, 16);
  writer.add("mov.b64", {r[0], check::number(-5)});
  writer.label("L");
  writer.add("atom.relaxed.gpu.cas.b32", {check::sink(), check::memory_at(4096), r[0], check::named("%tid.x")});
  writer.add("setp.eq.u64", {p[0], r[0], r[1]});
  writer.guard(p[0], true);
  writer.add("bra", {check::named("L")});
  writer.add("st.local.u64", {check::memory_at("final", 8), r[1]});
  writer.add("ld.u64", {r[0], check::memory_at(r[1])});
  writer.add("ret", {});
  const check::ptx_module module = check::read_ptx(
      ".entry k()\n{\n.reg .b64 %r<2>;\n.reg .pred %p<1>;\n.local .align 8 .b8 final[16];\nmov.b64 %r0, -5;\nL:\n"
      "atom.relaxed.gpu.cas.b32 _, [4096], %r0, %tid.x;\nsetp.eq.u64 %p0, %r0, %r1;\n@!%p0 bra L;\n"
      "st.local.u64 [final+8], %r1;\nld.u64 %r0, [%r1];\nret;\n}\n");
  const check::kernel_code built = check::decode_kernel({}, {}, writer.function());
  const check::kernel_code read = check::decode_kernel(module, check::layout_of(module), module.functions.front());
  EXPECT_EQ(built.name, read.name);
  EXPECT_EQ(built.words, read.words);
  EXPECT_EQ(built.local_bytes, read.local_bytes);
  ASSERT_EQ(built.code.size(), read.code.size());
  for (std::size_t k = 0; k < built.code.size(); ++k) {
    const check::instruction& x = built.code[k];
    const check::instruction& y = read.code[k];
    EXPECT_EQ(x.text, y.text);
    EXPECT_EQ(x.line, y.line) << x.text;
    EXPECT_EQ(
        std::tuple(x.code, x.type, x.order, x.scope, x.what, x.bytes, x.offset, x.target, x.head, x.guard, x.guard_negated),
        std::tuple(y.code, y.type, y.order, y.scope, y.what, y.bytes, y.offset, y.target, y.head, y.guard, y.guard_negated))
        << x.text;
    ASSERT_EQ(x.sources, y.sources) << x.text;
    ASSERT_EQ(x.destinations, y.destinations) << x.text;
    for (std::size_t n = 0; n < x.sources; ++n) {
      EXPECT_EQ(std::tuple(x.by[n].kind, x.by[n].word, x.by[n].low, x.by[n].machine),
                std::tuple(y.by[n].kind, y.by[n].word, y.by[n].low, y.by[n].machine))
          << x.text;
    }
    for (std::size_t n = 0; n < x.destinations; ++n) {
      EXPECT_EQ(std::tuple(x.to[n].word, x.to[n].bits), std::tuple(y.to[n].word, y.to[n].bits)) << x.text;
    }
  }
  EXPECT_EQ(writer.end_line(), 15);
}

TEST(ptx_reader, rejects_an_instruction_that_lacks_an_operand_or_has_one_too_many) {
  EXPECT_EQ(error_in("add.u32 %r1, %r1;"), "8:1: 'add.u32' has no form with 1 destinations and 1 sources");
  for (const char* wrong : {"add.u32 %r1, %r1, 1, 2;",
                            "neg.s32 %r1;",
                            "fma.rn.f32 %r1, %r1, %r1;",
                            "bfi.b32 %r1, %r1, %r1, 0;",
                            "cvt.u64.u32 %rd1;",
                            "setp.eq.u32 %p1, %r1;",
                            "setp.eq.u32 %p1, %r1, 0, %p2;",
                            "setp.eq.and.u32 %p1, %r1, 0;",
                            "mov.u32 %r1;",
                            "mov.b64 %rd1, {%r1, %r2, %r3};",
                            "mov.b64 {%r1, %r2, %r3}, %rd1;",
                            "add.u32 {%r1, %r2}, %r1, 1;",
                            "bar.sync;",
                            "bar.sync 0, 32, 1;",
                            "barrier.cta.red.or.pred %p1;",
                            "bar.red.or.pred %p1, 0;",
                            "bar.red.pred %p1, 0, %p2;",
                            "bar.warp.sync;",
                            "shfl.sync.b32 %r1, %r1, 0, 31, -1;",
                            "shfl.sync.idx.b32 %r1, %r1, 0, 31;",
                            "vote.sync.pred %p1, %p1, -1;",
                            "vote.sync.all.pred %p1, %p1;",
                            "match.sync.b32 %r1, %r1, -1;",
                            "match.any.sync.b32 %r1|%p1, %r1, -1;",
                            "match.all.sync.u32 %r1|%p1, %r1, -1;",
                            "match.any.sync.b32 %r1, %r1;",
                            "redux.sync.u32 %r1, %r1, -1;",
                            "redux.sync.add.f32 %r1, %r1, -1;",
                            "redux.sync.add.u32 %r1, %r1;",
                            "activemask.b32 %r1, 1;"}) {
    EXPECT_EQ(error_in(wrong).substr(0, 4), "8:1:") << wrong;
  }
}

TEST(ptx_reader, rejects_what_it_does_not_support_only_if_that_is_executed) {
  const std::string text = ".global .u64 t;\n" +
                           kernel_text("texture", "tox.1d.v4.f32.s32 {%r1, %r1, %r1, %r1}, [%rd1, {%r1}];") +
                           kernel_text("elsewhere", "call.uni f, ();") + kernel_text("plain", "mov.u32 %r1, 1;");
  const check::ptx_module m = check::read_ptx(text);
  const check::module_layout layout = check::layout_of(m);
  const auto error_of_kernel = [&](std::size_t k) -> std::string {
    try {
      static_cast<void>(check::decode_kernel(m, layout, m.functions.at(k)));
    } catch (const membar::model::error& e) {
      return e.what();
    }
    return "";
  };
  EXPECT_NE(error_of_kernel(0).find("the instruction 'tox.1d.v4.f32.s32' is not known"), std::string::npos);
  EXPECT_NE(error_of_kernel(1).find("the function 'f' is called but not defined in this module"), std::string::npos);
  EXPECT_EQ(error_of_kernel(2), "");
}

/// Returns the opcodes of a decoded kernel's instructions.
std::vector<check::op> codes_of(const std::string& text) {
  const check::ptx_module m = check::read_ptx(text);
  std::vector<check::op> result;
  for (const check::instruction& i : check::decode_kernel(m, check::layout_of(m), m.functions.back()).code) {
    result.push_back(i.code);
  }
  return result;
}

TEST(ptx_reader, reads_what_it_does_not_execute) {
  for (const char* body :
       {"tex.1d.v4.f32.s32 {%r1, %r1, %r1, %r1}, [%rd1, {%r1}];", "multimem.red.relaxed.sys.global.add.f32 [%rd1], %r1;",
        "p: .callprototype _ (.param .b32 _); call %rd1, (1), p;", "fence.proxy.alias;",
        "tcgen05.shift.cta_group::1.down [%r1];",
        "cp.async.bulk.tensor.3d.shared::cta.global.im2col.mbarrier::complete_tx::bytes [%rd1], "
        "[%rd2, {%r1, %r1, %r1}], [%rd1], {%rs1};",
        "discard.global.L2 [%rd1], 128;"}) {
    const check::ptx_module m = check::read_ptx(kernel_text("k", body));
    const check::instruction i = check::decode_kernel(m, check::layout_of(m), m.functions.back()).code.front();
    EXPECT_EQ(i.code, check::op::unsupported) << body;
    EXPECT_NE(i.reason.find(": "), std::string::npos) << body << ": the reason must say what to do";
  }
  EXPECT_EQ(codes_of(".extern .func (.param .b64 r) malloc (.param .b64 n);\n" +
                     kernel_text("k", "{ .param .b64 n; .param .b64 r; call.uni (r), malloc, (n); }"))
                .front(),
            check::op::unsupported);
}

TEST(ptx_reader, reads_a_recursive_function_up_to_its_recursive_call) {
  const std::vector<check::op> codes =
      codes_of(".func f() { fence.acq_rel.gpu; call.uni f, (); ret; }\n" + kernel_text("k", "call.uni f, ();"));
  ASSERT_GE(codes.size(), 2U);
  EXPECT_EQ(codes[0], check::op::fence);
  EXPECT_EQ(codes[1], check::op::unsupported);
}

TEST(ptx_reader, finds_a_label_of_an_inner_block_only_in_that_block) {
  EXPECT_EQ(error_in("{ A: bra A; } { A: bra A; } { @%p1 bra A; { A: bra A; } A: }"), "");
  EXPECT_EQ(error_in("{ A: } bra A;"), "8:1: the label 'A' is not defined in 'k'");
  EXPECT_EQ(error_in("{ A: A: }"), "8:1: the label 'A' is defined twice");
}

TEST(ptx_reader, reads_words_that_continue_with_a_digit) {
  EXPECT_EQ(error_in("ld.global.nc.L1::no_allocate.L2::256B.u32 %r1, [%rd1];"), "");
  EXPECT_EQ(error_in("cp.async.cg.shared.global.L2::128B [%r1], [%rd1], 16, %r2;"), "");
  EXPECT_EQ(error_in("cp.async.cg.shared.global.L2::cache_hint [%r1], [%rd1], 16, %rd2;"), "");
}

TEST(ptx_reader, divides_an_instruction_with_more_registers_than_one_holds) {
  std::string to;
  std::string by;
  for (int k = 0; k < 20; ++k) {
    to += (k == 0 ? "%r" : ", %r") + std::to_string(k % 16);
    by += (k == 0 ? "%r" : ", %r") + std::to_string(k % 16);
  }
  const std::string text = kernel_text("k", "mma.sync.aligned.any {" + to + "}, {" + by + "}, {%r1};");
  const check::ptx_module m = check::read_ptx(text);
  std::size_t destinations = 0;
  std::size_t sources = 0;
  for (const check::instruction& i : check::decode_kernel(m, check::layout_of(m), m.functions.back()).code) {
    destinations += i.code == check::op::unknown_result ? i.destinations : 0U;
    sources += i.code == check::op::unknown_result ? i.sources : 0U;
  }
  EXPECT_GE(destinations, 20U);
  EXPECT_GE(sources, 21U);
}

TEST(ptx_reader, survives_any_text) {
  const std::string whole = ".global .u32 x;\n" + kernel_text("k", R"(
    ld.acquire.gpu.global.u32 %r1, [x+0]; {.reg .b64 t; mov.b64 t, {%r1, %r2}; }
    @!%p1 bra L; atom.acq_rel.sys.global.cas.b32 %r2, [x], 0, 0x1F; shfl.sync.idx.b32 %r3|%p2, %r1, 0, 31, -1;
    L: T: .branchtargets L, T; st.global.v2.u32 [x], {%r1, %r2}; mov.f64 %rd1, 0d3FF0000000000000;)");
  std::mt19937_64 random(1);
  const std::string extra = ".;:,{}[]()<>@!%\"-+0x9aL\n $_|";
  int errors = 0;
  for (int n = 0; n < 20'000; ++n) {
    std::string text = whole;
    for (std::uint64_t k = random() % 4; k < 4; ++k) {
      const std::size_t at = random() % text.size();
      switch (random() % 4) {
        case 0:
          text.erase(at, 1 + random() % 8);
          break;
        case 1:
          text.insert(at, 1, extra[random() % extra.size()]);
          break;
        case 2:
          text[at] = extra[random() % extra.size()];
          break;
        default:
          text.insert(at, text.substr(random() % text.size(), random() % 20));
          break;
      }
      text += ' ';
    }
    errors += error_of(text).empty() ? 0 : 1;
  }
  EXPECT_GT(errors, 10'000);
}

TEST(ptx_reader, gives_a_call_of_printf_a_value) {
  const std::string text =
      ".version 9.0\n.target sm_90\n.address_size 64\n.extern .func (.param .b32 r) vprintf (.param .b64 a, .param .b64 b);\n" +
      kernel_text("k",
                  "{ .param .b64 a; st.param.b64 [a], 0; .param .b64 b; st.param.b64 [b], 0; .param .b32 result;"
                  "call.uni (result), vprintf, (a, b); ld.param.b32 %r1, [result]; }");
  const check::ptx_module module = check::read_ptx(text);
  const check::module_layout layout = check::layout_of(module);
  check::program p;
  check::launch_request request;
  request.kernel = std::make_shared<check::kernel_code>(check::decode_kernel(module, layout, module.functions.back()));
  check::add_launch(p, request);
  const check::check_result r = check::explore(p, {}, {});
  EXPECT_EQ(r.status, check::check_status::verified) << r.found.message;
}

TEST(ptx_reader, takes_decimal_fractions) {
  const auto holds = [](const std::string& literal, const std::string& bits) {
    return ptx_program({"mov.f32 %r0, " + literal + "; setp.ne.u32 %p0, %r0, " + bits + "; @%p0 trap;"}).explore().status;
  };
  EXPECT_EQ(holds("1.0", "0x3f800000"), check::check_status::verified);
  EXPECT_EQ(holds("-2.5", "0xc0200000"), check::check_status::verified);
  EXPECT_EQ(holds("1e-1", "0x3dcccccd"), check::check_status::verified);
  EXPECT_EQ(holds("1.0", "0x3f800001"), check::check_status::violated);
}

}  // namespace
