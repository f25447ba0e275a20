// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Checks the results of instructions against the rules in the PTX ISA.
#include <tests/check/ptx_programs.hpp>

#include <gtest/gtest.h>

#include <cstdint>
#include <string>

namespace {

using namespace membar_test;

/// Returns the value that a single thread stores in `wide` after it has executed a body whose result is in %rd15.
std::uint64_t result_of(const std::string& body) {
  ptx_program p({body + "st.global.u64 [wide], %rd15;"});
  std::uint64_t value = 0;
  const check::check_result r = p.explore([&](const check::final_memory& end) {
    value = end.value(p.address("wide"), 8);
    return std::string();
  });
  EXPECT_EQ(r.status, check::check_status::verified) << r.found.message << " in " << body;
  EXPECT_EQ(r.counts.executions, 1U);
  return value;
}

std::uint64_t r32(const std::string& body) { return result_of(body + "cvt.u64.u32 %rd15, %r15;"); }
std::uint64_t pred(const std::string& body) { return r32(body + "selp.u32 %r15, 1, 0, %p1;"); }

TEST(ptx_machine, integers) {
  EXPECT_EQ(r32("mov.u32 %r1, 0xFFFFFFFF; add.u32 %r15, %r1, 3;"), 2U);
  EXPECT_EQ(result_of("mov.u64 %rd1, 5; sub.s64 %rd15, %rd1, 7;"), ~std::uint64_t{1});
  EXPECT_EQ(r32("mov.u32 %r1, 70000; mul.lo.s32 %r15, %r1, 70000;"), 605032704U);
  EXPECT_EQ(r32("mov.u32 %r1, -2; mul.hi.s32 %r15, %r1, 3;"), 0xFFFFFFFFU);
  EXPECT_EQ(r32("mov.u32 %r1, -2; mul.hi.u32 %r15, %r1, 3;"), 2U);
  EXPECT_EQ(result_of("mov.u32 %r1, -2; mul.wide.s32 %rd15, %r1, 3;"), ~std::uint64_t{5});
  EXPECT_EQ(result_of("mov.u32 %r1, -2; mul.wide.u32 %rd15, %r1, 3;"), 0x2FFFFFFFAU);
  EXPECT_EQ(result_of("mov.u64 %rd1, -1; mul.hi.u64 %rd15, %rd1, %rd1;"), ~std::uint64_t{1});
  EXPECT_EQ(result_of("mov.u64 %rd1, -1; mul.hi.s64 %rd15, %rd1, %rd1;"), 0U);
  EXPECT_EQ(result_of("mov.u32 %r1, -2; mov.u64 %rd1, 10; mad.wide.s32 %rd15, %r1, 3, %rd1;"), 4U);
  EXPECT_EQ(r32("mov.u32 %r1, -7; div.s32 %r15, %r1, 2;"), 0xFFFFFFFDU);
  EXPECT_EQ(r32("mov.u32 %r1, -7; rem.s32 %r15, %r1, 2;"), 0xFFFFFFFFU);
  EXPECT_EQ(r32("mov.u32 %r1, 7; rem.u32 %r15, %r1, 4;"), 3U);
  EXPECT_EQ(r32("mov.u32 %r1, -7; max.s32 %r15, %r1, 2;"), 2U);
  EXPECT_EQ(r32("mov.u32 %r1, -7; max.u32 %r15, %r1, 2;"), 0xFFFFFFF9U);
  EXPECT_EQ(r32("mov.u32 %r1, -7; abs.s32 %r15, %r1;"), 7U);
}

TEST(ptx_machine, carries) {
  const std::string wide = "add.cc.u32 %r1, %r1, %r2; addc.u32 %r15, 0, 0;";
  EXPECT_EQ(r32("mov.u32 %r1, 0xFFFFFFFF; mov.u32 %r2, 1; " + wide), 1U);
  EXPECT_EQ(r32("mov.u32 %r1, 0xFFFFFFFF; mov.u32 %r2, 0; " + wide), 0U);
  EXPECT_EQ(result_of("mov.u64 %rd1, -1; add.cc.u64 %rd2, %rd1, 1; addc.cc.u64 %rd3, %rd1, 0; addc.u64 %rd15, 4, 0;"), 5U);
  EXPECT_EQ(r32("mov.u32 %r1, 1; sub.cc.u32 %r2, %r1, 2; subc.u32 %r15, 10, 3;"), 6U);
  EXPECT_EQ(r32("mov.u32 %r1, 2; sub.cc.u32 %r2, %r1, 2; subc.u32 %r15, 10, 3;"), 7U);
  EXPECT_EQ(r32("mov.u32 %r1, 0x80000000; mad.lo.cc.u32 %r2, %r1, 1, %r1; madc.hi.u32 %r15, %r1, 4, 0;"), 3U);
  EXPECT_EQ(result_of("mov.u64 %rd1, -1; mad.hi.cc.u64 %rd2, %rd1, %rd1, %rd1; addc.u64 %rd15, 0, 0;"), 1U);
}

TEST(ptx_machine, products_of_bytes_and_halves) {
  EXPECT_EQ(r32("mov.u32 %r1, 0x01020304; mov.u32 %r2, 0x01010101; dp4a.u32.u32 %r15, %r1, %r2, 5;"), 15U);
  EXPECT_EQ(r32("mov.u32 %r1, 0xFFFFFFFF; mov.u32 %r2, 0x01010101; dp4a.s32.u32 %r15, %r1, %r2, 0;"), 0xFFFFFFFCU);
  EXPECT_EQ(r32("mov.u32 %r1, 0x00020003; mov.u32 %r2, 0x04050607; dp2a.lo.u32.u32 %r15, %r1, %r2, 0;"), 33U);
  EXPECT_EQ(r32("mov.u32 %r1, 0x00020003; mov.u32 %r2, 0x04050607; dp2a.hi.u32.u32 %r15, %r1, %r2, 0;"), 23U);
  EXPECT_EQ(r32("mov.u32 %r1, -3; mov.u32 %r2, 4; sad.s32 %r15, %r1, %r2, 10;"), 17U);
  EXPECT_EQ(r32("mov.u32 %r1, 0x01000003; mul24.lo.u32 %r15, %r1, 5;"), 15U);
  EXPECT_EQ(r32("mov.u32 %r1, 0xFFFFFF; mad24.lo.s32 %r15, %r1, 5, 6;"), 1U);
}

TEST(ptx_machine, classes_and_choices) {
  EXPECT_EQ(pred("mov.f32 %r1, 0f7F800000; testp.infinite.f32 %p1, %r1;"), 1U);
  EXPECT_EQ(pred("mov.f32 %r1, 0f7F800000; testp.finite.f32 %p1, %r1;"), 0U);
  EXPECT_EQ(pred("mov.f32 %r1, 0f7FC00000; testp.notanumber.f32 %p1, %r1;"), 1U);
  EXPECT_EQ(r32("mov.u32 %r1, 3; set.lt.u32.u32 %r15, %r1, 4;"), 0xFFFFFFFFU);
  EXPECT_EQ(r32("mov.u32 %r1, 3; set.gt.f32.u32 %r15, %r1, 2;"), 0x3F800000U);
  EXPECT_EQ(r32("mov.u32 %r1, -1; slct.u32.s32 %r15, 5, 6, %r1;"), 6U);
  EXPECT_EQ(r32("mov.u32 %r1, 0x1F0; szext.wrap.s32 %r15, %r1, 9;"), 0xFFFFFFF0U);
}

TEST(ptx_machine, bits) {
  EXPECT_EQ(r32("mov.u32 %r1, 1; shl.b32 %r15, %r1, 32;"), 0U);
  EXPECT_EQ(r32("mov.u32 %r1, -8; shr.s32 %r15, %r1, 40;"), 0xFFFFFFFFU);
  EXPECT_EQ(r32("mov.u32 %r1, -8; shr.u32 %r15, %r1, 28;"), 15U);
  EXPECT_EQ(r32("mov.u32 %r1, 0xABCD; bfe.u32 %r15, %r1, 4, 8;"), 0xBCU);
  EXPECT_EQ(r32("mov.u32 %r1, 0xABCD; bfe.s32 %r15, %r1, 4, 8;"), 0xFFFFFFBCU);
  EXPECT_EQ(r32("mov.u32 %r1, 0xF; mov.u32 %r2, 0; bfi.b32 %r15, %r1, %r2, 8, 4;"), 0xF00U);
  EXPECT_EQ(r32("mov.u32 %r1, 0x33221100; mov.u32 %r2, 0x77665544; prmt.b32 %r15, %r1, %r2, 0x7610;"), 0x77661100U);
  EXPECT_EQ(r32("mov.u32 %r1, 0xF0; popc.b32 %r15, %r1;"), 4U);
  EXPECT_EQ(r32("mov.u32 %r1, 0xF0; clz.b32 %r15, %r1;"), 24U);
  const auto mask = [](const std::string& mode, const std::string& position, const std::string& bits) {
    return r32("mov.u32 %r1, " + position + "; bmsk." + mode + ".b32 %r15, %r1, " + bits + ";");
  };
  EXPECT_EQ(mask("clamp", "4", "8"), 0xFF0U);
  EXPECT_EQ(mask("clamp", "28", "8"), 0xF0000000U);
  EXPECT_EQ(mask("clamp", "0", "40"), 0xFFFFFFFFU);
  EXPECT_EQ(mask("clamp", "36", "8"), 0U);
  EXPECT_EQ(mask("wrap", "36", "40"), 0xFF0U);
  EXPECT_EQ(r32("mov.u32 %r1, 0xF0; bfind.u32 %r15, %r1;"), 7U);
  EXPECT_EQ(r32("mov.u32 %r1, 1; brev.b32 %r15, %r1;"), 0x80000000U);
  EXPECT_EQ(r32("mov.u32 %r1, 12; mov.u32 %r2, 10; lop3.b32 %r15, %r1, %r2, %r2, 0xC0;"), 8U);
  EXPECT_EQ(r32("mov.u32 %r1, 0x80000000; mov.u32 %r2, 1; shf.l.wrap.b32 %r15, %r1, %r2, 1;"), 3U);
  EXPECT_EQ(result_of("mov.u32 %r1, 1; mov.u32 %r2, 2; mov.b64 %rd15, {%r1, %r2};"), 0x200000001U);
  EXPECT_EQ(r32("mov.u64 %rd1, 0x200000001; mov.b64 {%r1, %r15}, %rd1;"), 2U);
  EXPECT_EQ(r32("not.b32 %r15, 0;"), 0xFFFFFFFFU);
}

TEST(ptx_machine, comparisons_and_predicates) {
  EXPECT_EQ(pred("mov.u32 %r1, -1; setp.lt.s32 %p1, %r1, 0;"), 1U);
  EXPECT_EQ(pred("mov.u32 %r1, -1; setp.lt.u32 %p1, %r1, 0;"), 0U);
  EXPECT_EQ(pred("mov.u32 %r1, -1; setp.lt.s32 %p2, %r1, 0; setp.eq.and.s32 %p1, %r1, -1, !%p2;"), 0U);
  EXPECT_EQ(pred("mov.u32 %r1, -1; setp.eq.s32 %p2|%p1, %r1, 0;"), 1U);
  EXPECT_EQ(pred("setp.eq.u32 %p2, 0, 0; not.pred %p1, %p2;"), 0U);
  EXPECT_EQ(pred("setp.eq.u32 %p2, 0, 0; setp.eq.u32 %p3, 0, 1; xor.pred %p1, %p2, %p3;"), 1U);
  EXPECT_EQ(r32("mov.u32 %r15, 1; setp.eq.u32 %p2, 0, 1; @%p2 mov.u32 %r15, 5; @!%p2 add.u32 %r15, %r15, 1;"), 2U);
}

TEST(ptx_machine, conversions) {
  EXPECT_EQ(result_of("mov.u32 %r1, -3; cvt.s64.s32 %rd15, %r1;"), ~std::uint64_t{2});
  EXPECT_EQ(result_of("mov.u32 %r1, -3; cvt.u64.u32 %rd15, %r1;"), 0xFFFFFFFDU);
  EXPECT_EQ(r32("mov.u32 %r1, 0x1FF; cvt.u16.u32 %rs1, %r1; cvt.s32.s8 %r15, %rs1;"), 0xFFFFFFFFU);
  EXPECT_EQ(r32("mov.u32 %r1, 3; cvt.rn.f32.u32 %r2, %r1; mul.f32 %r2, %r2, 0f3F000000; cvt.rzi.s32.f32 %r15, %r2;"), 1U);
  EXPECT_EQ(r32("mov.b32 %r2, 0fBFC00000; cvt.rzi.u32.f32 %r15, %r2;"), 0U) << "negative values become 0";
  EXPECT_EQ(r32("mov.b32 %r2, 0f7FC00000; cvt.rzi.s32.f32 %r15, %r2;"), 0U) << "NaN becomes 0";
}

TEST(ptx_machine, memory_of_every_size) {
  EXPECT_EQ(result_of("mov.u64 %rd1, 0x1122334455667788; st.global.u64 [wide+16], %rd1; ld.global.u64 %rd15, [wide+16];"),
            0x1122334455667788U);
  EXPECT_EQ(r32("mov.u32 %r1, 0x1FE; st.global.u8 [wide+16], %r1; ld.global.s8 %r15, [wide+16];"), 0xFFFFFFFEU);
  EXPECT_EQ(r32("mov.u32 %r1, 1; mov.u32 %r2, 2; st.global.v2.u32 [wide+16], {%r1, %r2}; ld.global.u32 %r15, [wide+20];"), 2U);
  EXPECT_EQ(r32("mov.u32 %r1, 1; mov.u32 %r2, 2; st.global.v2.u32 [wide+16], {%r1, %r2};"
                "ld.global.v2.u32 {%r3, %r15}, [wide+16];"),
            2U);
  EXPECT_EQ(result_of("mov.u64 %rd1, 7; mov.u64 %rd2, 9; mov.b128 %q1, {%rd1, %rd2}; st.relaxed.gpu.global.b128 [wide+16], %q1;"
                      "ld.acquire.gpu.global.b128 %q2, [wide+16]; mov.b128 {%rd3, %rd15}, %q2;"),
            9U);
  EXPECT_EQ(r32(".local .align 4 .b8 l[8]; mov.u32 %r1, 6; st.local.u32 [l+4], %r1; ld.local.u32 %r15, [l+4];"), 6U);
  EXPECT_EQ(r32(".local .align 4 .b8 l[8]; mov.u64 %rd1, l; cvta.local.u64 %rd2, %rd1; mov.u32 %r1, 6; st.u32 [%rd2], %r1;"
                "ld.local.u32 %r15, [%rd1];"),
            6U);
  EXPECT_EQ(r32(".shared .align 4 .b8 s[8]; mov.u32 %r1, s; st.shared.u32 [%r1], 6; cvt.u64.u32 %rd1, %r1;"
                "cvta.shared.u64 %rd2, %rd1; ld.u32 %r15, [%rd2];"),
            6U);
}

TEST(ptx_machine, floats_and_their_approximations) {
  const auto f32 = [](const std::string& instruction, const std::string& a, const std::string& b = "0f00000000") {
    return r32("mov.b32 %r1, " + a + "; mov.b32 %r2, " + b + "; " + instruction + ";");
  };
  EXPECT_EQ(f32("rcp.approx.ftz.f32 %r15, %r1", "0f40000000"), 0x3F000000U);
  EXPECT_EQ(f32("rsqrt.approx.f32 %r15, %r1", "0f40800000"), 0x3F000000U);
  EXPECT_EQ(f32("sqrt.approx.f32 %r15, %r1", "0f40800000"), 0x40000000U);
  EXPECT_EQ(f32("ex2.approx.ftz.f32 %r15, %r1", "0f40400000"), 0x41000000U);
  EXPECT_EQ(f32("lg2.approx.f32 %r15, %r1", "0f41000000"), 0x40400000U);
  EXPECT_EQ(f32("sin.approx.f32 %r15, %r1", "0f00000000"), 0U);
  EXPECT_EQ(f32("cos.approx.f32 %r15, %r1", "0f00000000"), 0x3F800000U);
  EXPECT_EQ(f32("tanh.approx.f32 %r15, %r1", "0f00000000"), 0U);
  EXPECT_EQ(f32("div.full.f32 %r15, %r1, %r2", "0f3F800000", "0f40000000"), 0x3F000000U);
  EXPECT_EQ(f32("copysign.f32 %r15, %r1, %r2", "0fBF800000", "0f40000000"), 0xC0000000U)
      << "the result has the sign of the first operand";
  EXPECT_EQ(f32("add.sat.f32 %r15, %r1, %r2", "0f3F800000", "0f40000000"), 0x3F800000U);
  EXPECT_EQ(f32("cvt.sat.f32.f32 %r15, %r1", "0fBF800000"), 0U);
  EXPECT_EQ(f32("add.rm.f32 %r15, %r1, %r2", "0f3F800000", "0fB0800000"), 0x3F7FFFFFU) << "1 - 2^-30";
  EXPECT_EQ(f32("add.rn.f32 %r15, %r1, %r2", "0f3F800000", "0fB0800000"), 0x3F800000U);
  EXPECT_EQ(f32("add.rp.f32 %r15, %r1, %r2", "0f3F800000", "0f30800000"), 0x3F800001U);
  EXPECT_EQ(f32("add.rz.f32 %r15, %r1, %r2", "0fBF800000", "0f30800000"), 0xBF7FFFFFU);
}

TEST(ptx_machine, floats_of_sixteen_bits) {
  const auto f16 = [](const std::string& value) {
    return r32("mov.b32 %r1, " + value + "; cvt.rn.f16.f32 %rs1, %r1; cvt.u32.u16 %r15, %rs1;");
  };
  EXPECT_EQ(f16("0f3FC00000"), 0x3E00U) << "1.5";
  EXPECT_EQ(f16("0fC5001000"), 0xE800U) << "-2049 is rounded to even";
  EXPECT_EQ(f16("0f33800000"), 1U) << "2^-24, the smallest";
  EXPECT_EQ(f16("0f477FE000"), 0x7BFFU) << "65504, the largest";
  EXPECT_EQ(f16("0f477FF000"), 0x7C00U) << "65520: infinity";
  EXPECT_EQ(f16("0f7FC00000"), 0x7FFFU) << "NaN";
  const auto back = [](const std::string& type, const std::string& bits) {
    return r32("mov.b16 %rs1, " + bits + "; cvt.f32." + type + " %r15, %rs1;");
  };
  EXPECT_EQ(back("f16", "0x3E00"), 0x3FC00000U);
  EXPECT_EQ(back("f16", "1"), 0x33800000U);
  EXPECT_EQ(back("f16", "0xFC00"), 0xFF800000U);
  EXPECT_EQ(back("bf16", "0x3FC0"), 0x3FC00000U);
  EXPECT_EQ(r32("mov.b32 %r1, 0f3FC00000; mov.b32 %r2, 0f40000000; cvt.rn.bf16x2.f32 %r15, %r1, %r2;"), 0x3FC04000U);
  EXPECT_EQ(r32("mov.b32 %r1, 0x3E003C00; add.f16x2 %r15, %r1, %r1;"), 0x42004000U);
  EXPECT_EQ(r32("mov.b16 %rs1, 0x3FC0; fma.rn.bf16 %rs2, %rs1, %rs1, %rs1; cvt.u32.u16 %r15, %rs2;"), 0x4070U) << "3.75";
  EXPECT_EQ(pred("mov.b16 %rs1, 0xBE00; mov.b16 %rs2, 0; setp.lt.f16 %p1, %rs1, %rs2;"), 1U);
  EXPECT_EQ(r32("st.global.u32 [x], 0x3C003C00; mov.b32 %r1, 0x3E003C00; red.global.add.noftz.f16x2 [x], %r1; ld.global.u32 "
                "%r15, [x];"),
            0x41004000U);
}

TEST(ptx_machine, integers_that_are_clamped) {
  EXPECT_EQ(r32("mov.u32 %r1, 300; cvt.sat.u8.s32 %r15, %r1;"), 255U);
  EXPECT_EQ(r32("mov.u32 %r1, -5; cvt.sat.u8.s32 %r15, %r1;"), 0U);
  EXPECT_EQ(r32("mov.u32 %r1, -200; cvt.sat.s8.s32 %r15, %r1;") & 0xFFU, 0x80U);
  EXPECT_EQ(r32("mov.u32 %r1, -100; cvt.sat.s8.s32 %r15, %r1;"), 0xFFFFFF9CU);
  EXPECT_EQ(r32("mov.u32 %r1, 0xFFFFFFFF; cvt.sat.s32.u32 %r15, %r1;"), 0x7FFFFFFFU);
}

TEST(ptx_machine, read_modify_writes) {
  const auto x = [](const std::string& instruction) {
    return r32("st.global.u32 [x], 5; mov.u32 %r1, 3; " + instruction + " ld.global.u32 %r15, [x];");
  };
  EXPECT_EQ(x("atom.global.add.u32 %r2, [x], %r1;"), 8U);
  EXPECT_EQ(x("atom.global.exch.b32 %r2, [x], %r1;"), 3U);
  EXPECT_EQ(x("atom.global.cas.b32 %r2, [x], 5, %r1;"), 3U);
  EXPECT_EQ(x("atom.global.cas.b32 %r2, [x], 4, %r1;"), 5U);
  EXPECT_EQ(x("atom.global.min.s32 %r2, [x], -1;"), 0xFFFFFFFFU);
  EXPECT_EQ(x("atom.global.min.u32 %r2, [x], -1;"), 5U);
  EXPECT_EQ(x("atom.global.inc.u32 %r2, [x], %r1;"), 0U);
  EXPECT_EQ(x("atom.global.dec.u32 %r2, [x], 9;"), 4U);
  EXPECT_EQ(x("red.global.or.b32 [x], 2;"), 7U);
  EXPECT_EQ(x("atom.global.add.u32 %r2, [x], -6;"), 0xFFFFFFFFU);
  EXPECT_EQ(r32("st.global.u32 [x], 5; atom.global.add.u32 %r15, [x], 1;"), 5U) << "the old value";
  EXPECT_EQ(r32("st.global.u32 [x], 0x40000000; red.global.add.f32 [x], 0f3F800000; ld.global.u32 %r15, [x];"), 0x40400000U);
}

TEST(ptx_machine, dynamic_shared_memory_is_separate_from_variables) {
  const std::string text = ".extern .shared .align 16 .b8 dynamic[];\n.global .u32 x;\n" +
                           kernel_text("k",
                                       ".shared .align 4 .b8 s[4]; st.shared.u32 [s], 5; mov.u32 %r1, dynamic;"
                                       "st.shared.u32 [%r1+96], 6; st.shared.u32 [%r1+64], 7; st.shared.u32 [%r1], 8;"
                                       "ld.shared.u32 %r2, [s]; st.global.u32 [x], %r2;");
  const check::ptx_module m = check::read_ptx(text);
  const check::module_layout layout = check::layout_of(m);
  check::program p;
  check::add_variables(p, m, layout);
  check::launch_request request;
  request.kernel = std::make_shared<check::kernel_code>(check::decode_kernel(m, layout, m.functions[0]));
  request.dynamic_shared = 100;
  check::add_launch(p, request);
  const auto five = [&](const check::final_memory& end) {
    return end.value(layout.globals.at("x"), 4) == 5 ? std::string() : "x is not 5";
  };
  const check::check_result r = check::explore(p, five);
  EXPECT_EQ(r.status, check::check_status::verified) << r.found.message;
  check::program less;
  check::add_variables(less, m, layout);
  request.dynamic_shared = 96;
  check::add_launch(less, request);
  EXPECT_EQ(check::explore(less, five).status, check::check_status::out_of_bounds);
}

TEST(ptx_machine, variables_that_begin_as_addresses) {
  const check::program p = program_of_launch(
      ".global .align 8 .u32 x[2] = {5, 6};\n.global .align 8 .u64 where[3] = {k, generic(x)+4, x};\n",
      "ld.global.u64 %rd1, [where+8]; ld.u32 %r1, [%rd1]; ld.global.u64 %rd1, [where+16]; ld.global.u32 %r2, [%rd1];"
      "setp.ne.u32 %p0, %r1, 6; @%p0 trap; setp.ne.u32 %p0, %r2, 5; @%p0 trap;",
      {});
  EXPECT_EQ(check::explore(p).status, check::check_status::verified);
}

TEST(ptx_machine, variables_of_one_name_in_blocks_of_their_own) {
  EXPECT_EQ(
      r32("{ .param .b64 a; .param .b32 b; mov.u32 %r1, 9; st.param.b32 [b], %r1; mov.u64 %rd1, -1; st.param.b64 [a], %rd1;"
          " ld.param.b32 %r15, [b]; } { .param .b32 a; mov.u32 %r2, 3; st.param.b32 [a], %r2; }"),
      9U);
}

/// Launches only kernel number `kernel` of the module, and expects the variable x to be `expected` at the end.
void expect_x(const std::string& text, std::size_t kernel, std::uint64_t expected) {
  const check::ptx_module m = check::read_ptx(text);
  const check::module_layout layout = check::layout_of(m);
  check::program p;
  check::add_variables(p, m, layout);
  check::launch_request request;
  request.kernel = std::make_shared<check::kernel_code>(check::decode_kernel(m, layout, m.functions[kernel]));
  check::add_launch(p, request);
  const check::check_result r = check::explore(p, [&](const check::final_memory& end) {
    const std::uint64_t x = end.value(layout.globals.at("x"), 4);
    return x == expected ? std::string() : "x is " + std::to_string(x);
  });
  EXPECT_EQ(r.status, check::check_status::verified) << r.found.message;
}

TEST(ptx_machine, calls_that_were_not_inlined) {
  const std::string text =
      ".global .u32 x;\n"
      ".func (.param .b32 r) twice(.param .b32 a) { .reg .b32 %r<3>; .reg .pred %p<2>; ld.param.u32 %r1, [a];\n"
      " setp.eq.u32 %p1, %r1, 0; @%p1 bra ZERO; add.u32 %r2, %r1, %r1; st.param.b32 [r], %r2; ret;\n"
      " ZERO: st.param.b32 [r], %r1; ret; }\n" +
      kernel_text("k",
                  "mov.u32 %r1, 21; { .param .b32 param0; .param .b32 retval0; st.param.b32 [param0], %r1;"
                  " call.uni (retval0), twice, (param0); ld.param.b32 %r2, [retval0]; } st.global.u32 [x], %r2;");
  expect_x(text, 1, 42);
}

TEST(ptx_machine, addresses_of_functions) {
  const std::string text = ".global .u32 x;\n.func one() { ret; }\n.func two() { ret; }\n" +
                           kernel_text("k",
                                       "mov.u64 %rd1, one; mov.u64 %rd2, two; mov.u64 %rd3, one; setp.ne.u64 %p1, %rd1, %rd2;"
                                       " setp.eq.u64 %p2, %rd1, %rd3; mov.u32 %r1, 0; @%p1 add.u32 %r1, %r1, 1;"
                                       " @%p2 add.u32 %r1, %r1, 2; st.global.u32 [x], %r1;");
  expect_x(text, 2, 3);
}

}  // namespace
