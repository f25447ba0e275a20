// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "membar-domains/check.hpp"

#include <gtest/gtest.h>

#include "membar-domains/report_json.hpp"

namespace {

using namespace membar_domains;

TEST(device_scope_in_ptx, is_what_names_the_scope_of_the_device) {
  const auto of = [](const std::string& statement) {
    return in_ptx(".visible .entry k(\n.param .u64 p\n)\n.maxntid 128\n{\n\t@%p1 " + statement + "\n}", "k").value();
  };
  EXPECT_TRUE(of("st.release.gpu.global.u32 [%rd1], %r1;").releases);
  EXPECT_FALSE(of("st.release.gpu.global.u32 [%rd1], %r1;").acquires);
  EXPECT_TRUE(of("ld.acquire.gpu.u32 %r1, [%rd1];").acquires);
  EXPECT_TRUE(of("atom.acq_rel.gpu.global.add.u32 %r1, [%rd1], 1;").releases);
  EXPECT_TRUE(of("fence.sc.gpu;").acquires);
  EXPECT_TRUE(of("membar.gl;").releases);
  for (const char* other : {"st.release.sys.global.u32 [%rd1], %r1;", "ld.relaxed.gpu.u32 %r1, [%rd1];", "fence.acq_rel.cta;",
                            "red.relaxed.gpu.global.add.u32 [%rd1], 1;", "// ld.acquire.gpu", "membar.sys;"}) {
    EXPECT_FALSE(of(other).releases || of(other).acquires) << other;
  }
}

TEST(device_scope_in_ptx, is_of_the_kernel_of_that_name_and_of_what_it_calls) {
  const std::string two = ".entry k2(.param .u64 p) { fence.sc.gpu; }\n.entry k() { { mov.u32 %r1, 1; } ret; }";
  EXPECT_FALSE(in_ptx(two, "k")->releases);
  EXPECT_TRUE(in_ptx(two, "k2")->releases);
  EXPECT_FALSE(in_ptx(two, "k3").has_value());
  EXPECT_TRUE(in_ptx(".func f() { fence.sc.gpu; }\n.entry k() { call.uni f; }", "k")->releases);
  EXPECT_FALSE(in_ptx(".func f() { fence.sc.gpu; }\n.entry k() { ret; }", "k")->releases);
}

TEST(device_scope_in_sass, needs_a_strong_access_at_device_scope) {
  EXPECT_TRUE(in_sass("MEMBAR.SC.GPU ;\nST.E.STRONG.GPU [R2], R5 ;").releases);
  EXPECT_FALSE(in_sass("MEMBAR.SC.GPU ;\nST.E.STRONG.GPU [R2], R5 ;").acquires);
  EXPECT_TRUE(in_sass("LD.E.STRONG.GPU R2, [R2] ;\nCCTL.IVALL ;").acquires);
  EXPECT_FALSE(in_sass("MEMBAR.SC.SYS ;\nST.E.STRONG.GPU [R2], R5 ;").releases);
  EXPECT_FALSE(in_sass("MEMBAR.SC.GPU ;\nST.E [R2], R5 ;").releases);
}

/// "put" in stream 2 beside "small" in stream 1, both on device 0.
records pair(std::uint64_t pointer_of_small, std::uint64_t start_of_small = 1500) {
  records r;
  r.names = {{0, "small"}, {1, "put"}};
  r.kernels = {{0, 2, 0, 1000, 2000, 1}, {0, 1, 0, start_of_small, start_of_small + 300, 0}};
  r.pointers = {{0, {pointer_of_small}}, {1, {4096, 8192}}};
  return r;
}

check_report checked(const records& r, std::optional<device_scope> put, std::optional<device_scope> small) {
  check_report out;
  check(
      r, [](auto, const std::string& name) { return std::string(name == "put" ? "known" : ""); },
      [&](std::uint32_t id) { return id == 1 ? put : small; }, out);
  return out;
}

TEST(check_of_pairs, warns_where_one_releases_and_the_other_acquires) {
  EXPECT_EQ(checked(pair(4096), device_scope{true, false}, device_scope{false, true}).warnings.size(), 1U);
  EXPECT_EQ(checked(pair(4096), device_scope{false, true}, device_scope{true, false}).warnings.size(), 1U);
  EXPECT_EQ(checked(pair(4096), device_scope{true, false}, device_scope{true, false}).warnings.size(), 0U);
}

TEST(check_of_pairs, a_reduction_with_a_fence_and_a_buffer_of_its_own_is_no_warning) {
  const check_report r = checked(pair(1 << 20), device_scope{true, true}, device_scope{true, true});
  EXPECT_EQ(r.pairs, 1U);
  EXPECT_EQ(r.sharing, 0U);
  EXPECT_TRUE(r.warnings.empty());
}

TEST(check_of_pairs, kernels_one_after_the_other_are_no_pair) {
  EXPECT_EQ(checked(pair(4096, 2000), device_scope{true, true}, device_scope{true, true}).pairs, 0U);
  records other_device = pair(4096);
  other_device.kernels[0].device = 1;
  EXPECT_EQ(checked(other_device, device_scope{true, true}, device_scope{true, true}).pairs, 0U);
}

TEST(check_of_pairs, what_it_could_not_see_is_said) {
  const std::string unread = text(checked(pair(4096), std::nullopt, device_scope{true, true}));
  EXPECT_NE(unread.find("The code of these could not be read (no PTX, and no cuobjdump that reads them): put."),
            std::string::npos)
      << unread;
  records r = pair(4096);
  r.pointers.erase(0);
  EXPECT_NE(text(checked(r, {}, {})).find("Of 1 kernels no pointer was seen"), std::string::npos);
  json report;
  add(report, checked(pair(4096), std::nullopt, device_scope{true, true}));
  EXPECT_EQ(report["kernels_without_code"], json::parse("[\"put\"]"));
}

}  // namespace
