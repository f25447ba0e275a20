// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "membar-domains/check.hpp"

#include <gtest/gtest.h>

#include "membar-domains/report_json.hpp"

namespace {

using namespace membar_domains;

constexpr scopes none{}, device{true, false}, all_of_it{false, true};

bool same(const scopes& a, const scopes& b) { return a.device == b.device && a.system == b.system; }

TEST(scopes_in_ptx, are_those_that_statements_name) {
  const auto of = [](const std::string& statement) {
    return in_ptx(".visible .entry k(\n.param .u64 p\n)\n.maxntid 128\n{\n\t@%p1 " + statement + "\n}", "k").value();
  };
  struct expected {
    const char* statement;
    scopes releases, acquires, atomics;
  };
  for (const auto& [statement, releases, acquires, atomics] :
       {expected{"st.release.gpu.global.u32 [%rd1], %r1;", device, none, none},
        expected{"st.release.sys.global.u32 [%rd1], %r1;", all_of_it, none, none},
        expected{"ld.acquire.gpu.u32 %r1, [%rd1];", none, device, none},
        expected{"ld.acquire.sys.u32 %r1, [%rd1];", none, all_of_it, none},
        expected{"atom.acq_rel.gpu.global.add.u32 %r1, [%rd1], 1;", device, device, device},
        expected{"atom.acquire.global.add.u32 %r1, [%rd1], 1;", none, device, device},
        expected{"red.relaxed.gpu.global.add.u32 [%rd1], 1;", none, none, device},
        expected{"atom.global.add.u32 %r1, [%rd1], 1;", none, none, device},
        expected{"red.release.sys.global.add.u32 [%rd1], 1;", all_of_it, none, all_of_it},
        expected{"multimem.red.release.sys.global.add.u32 [%rd1], 1;", all_of_it, none, all_of_it},
        expected{"fence.sc.gpu;", device, device, none},
        expected{"fence.acq_rel.sys;", all_of_it, all_of_it, none},
        expected{"membar.gl;", device, device, none},
        expected{"membar.sys;", all_of_it, all_of_it, none},
        expected{"fence.acq_rel.sys; red.relaxed.gpu.global.add.u32 [%rd1], 1;", {true, true}, {true, true}, device},
        expected{"ld.relaxed.gpu.u32 %r1, [%rd1];", none, none, none},
        expected{"fence.acq_rel.cta;", none, none, none},
        expected{"fence.proxy.async;", none, none, none},
        expected{"atom.shared.add.u32 %r1, [%r2], 1;", none, none, none},
        expected{"atom.acq_rel.cluster.shared::cluster.add.u32 %r1, [%r2], 1;", none, none, none},
        expected{"// ld.acquire.gpu", none, none, none}}) {
    const synchronization found = of(statement);
    EXPECT_TRUE(same(found.releases, releases)) << statement;
    EXPECT_TRUE(same(found.acquires, acquires)) << statement;
    EXPECT_TRUE(same(found.atomics, atomics)) << statement;
  }
}

TEST(scopes_in_ptx, are_of_the_kernel_of_that_name_and_of_what_it_calls) {
  const std::string two = ".entry k2(.param .u64 p) { fence.sc.gpu; }\n.entry k() { { mov.u32 %r1, 1; } ret; }";
  EXPECT_FALSE(in_ptx(two, "k")->releases.any());
  EXPECT_TRUE(in_ptx(two, "k2")->releases.device);
  EXPECT_FALSE(in_ptx(two, "k3").has_value());
  EXPECT_TRUE(in_ptx(".func f() { fence.sc.gpu; }\n.entry k() { call.uni f; }", "k")->releases.device);
  EXPECT_FALSE(in_ptx(".func f() { fence.sc.gpu; }\n.entry k() { ret; }", "k")->releases.any());
}

TEST(scopes_in_sass, are_those_of_a_barrier_and_a_strong_access) {
  struct expected {
    const char* code;
    scopes releases, acquires;
  };
  for (const auto& [code, releases, acquires] :
       {expected{"MEMBAR.SC.GPU ;\nST.E.STRONG.GPU [R2], R5 ;", device, none},
        expected{"LD.E.STRONG.GPU R2, [R2] ;\nCCTL.IVALL ;", none, device},
        expected{"LDG.E.STRONG.SYS R0, desc[UR4][R2.64] ;\nCCTL.IVALL ;", none, all_of_it},
        expected{"MEMBAR.ALL.SYS ;\nSTG.E.STRONG.SYS desc[UR4][R4.64], R7 ;", all_of_it, none},
        expected{"MEMBAR.SC.SYS ;\nST.E.STRONG.GPU [R2], R5 ;", device, none},
        // volatile and __threadfence
        expected{"/*0080*/ MEMBAR.SC.GPU ;\nERRBAR;\nCCTL.IVALL ;\nSTG.E.STRONG.SYS desc[UR4][R4.64], R7 ;", device, none},
        expected{"LDG.E.STRONG.SYS R0, desc[UR4][R2.64] ;\nMEMBAR.SC.GPU ;\nCCTL.IVALL ;", none, {true, true}},
        // atomicExch and __threadfence
        expected{"@P0 MEMBAR.SC.GPU ;\n@P0 ATOMG.E.EXCH.STRONG.GPU PT, RZ, desc[UR4][R4.64], R7 ;", device, device},
        expected{"MEMBAR.SC.GPU ;\nST.E [R2], R5 ;", none, none}}) {
    const synchronization found = in_sass(code);
    EXPECT_TRUE(same(found.releases, releases)) << code;
    EXPECT_TRUE(same(found.acquires, acquires)) << code;
  }
}

TEST(one_domain, is_needed_where_one_side_is_narrower_than_the_system) {
  const synchronization releases_device{device, none, none}, releases_system{all_of_it, none, none},
      acquires_device{none, device, none}, acquires_system{none, all_of_it, none}, adds_device{none, none, device},
      adds_system{none, none, all_of_it};
  EXPECT_TRUE(needs_one_domain(releases_device, acquires_device));
  EXPECT_TRUE(needs_one_domain(releases_device, acquires_system));
  EXPECT_TRUE(needs_one_domain(acquires_device, releases_system));
  EXPECT_FALSE(needs_one_domain(releases_system, acquires_system));
  EXPECT_FALSE(needs_one_domain(releases_device, releases_device));
  EXPECT_TRUE(needs_one_domain(adds_device, adds_system));
  EXPECT_FALSE(needs_one_domain(adds_system, adds_system));
}

constexpr pointer_uses first_launch{false, 0, 0};

/// "put" in stream 2 concurrently with "small" in stream 1, both on device 0.
records pair(std::uint64_t pointer_of_small, std::uint64_t start_of_small = 1500) {
  records r;
  r.names = {{0, "small"}, {1, "put"}};
  r.kernels = {{0, 2, 0, 1000, 2000, 1}, {0, 1, 0, start_of_small, start_of_small + 300, 0}};
  r.pointers = {{0, {{pointer_of_small, first_launch}}}, {1, {{4096, first_launch}, {8192, first_launch}}}};
  r.looked_at = {0, 1};
  return r;
}

check_report checked(const records& r, std::optional<synchronization> put, std::optional<synchronization> small) {
  check_report out;
  check(
      r, [](auto, const std::string& name) { return std::string(name == "put" ? "known" : ""); },
      [&](std::uint32_t id) { return id == 1 ? put : small; }, out);
  return out;
}

constexpr synchronization both_at_device{device, device, device};

TEST(check_of_pairs, warns_of_kernels_that_share_a_pointer_and_says_if_they_synchronize) {
  const check_report broken = checked(pair(4096), synchronization{device, none, none}, synchronization{none, all_of_it, none});
  ASSERT_EQ(broken.warned.at("put").size(), 1U);
  EXPECT_NE(broken.warnings.at(0).find("Either one releases and the other acquires"), std::string::npos);
  const check_report only_shared = checked(pair(4096), synchronization{}, synchronization{});
  ASSERT_EQ(only_shared.warned.at("put").size(), 1U);
  EXPECT_EQ(only_shared.warnings.at(0),
            "put and small ran at the same time and received the same pointer: move both or neither.");
}

/// Like `pair`, but "small" ran twice: once before "put", and once concurrently with it (in a graph if `graph` is not 0). In
/// some of these launches, "small" received the pointer.
records two_launches(pointer_uses with_pointer, std::uint64_t launched = 2, unsigned graph = 0) {
  records r = pair(4096);
  r.kernels = {{0, 2, 0, 1000, 2000, 1, 7}, {0, 1, graph, 1500, 1800, 0, 9}, {0, 1, 0, 100, 200, 0, 3}};
  r.pointers[0] = {{4096, with_pointer}};
  r.launched = {{0, launched}, {1, 1}};
  return r;
}

TEST(check_of_pairs, counts_the_launches_that_had_the_pointer) {
  const auto warned = [](const records& r) { return !checked(r, synchronization{}, synchronization{}).warnings.empty(); };
  EXPECT_FALSE(warned(two_launches({false, 0, 0}))) << "only the earlier launch had the pointer";
  EXPECT_TRUE(warned(two_launches({false, 1, 1})));
  EXPECT_TRUE(warned(two_launches({false, 0, 1})));
  EXPECT_TRUE(warned(two_launches({false, 2, 2}, 3))) << "one of three launches has no record, perhaps the second one";
  EXPECT_FALSE(warned(two_launches({false, 0, 0}, 2, 5))) << "the other launch is in a graph";
  EXPECT_TRUE(warned(two_launches({true, 1, 0}, 1, 5)));
  records mixed_up = two_launches({false, 0, 0});
  mixed_up.launched.erase(0);
  EXPECT_TRUE(warned(mixed_up)) << "two threads launched at the same time";
  records not_numbered = two_launches({false, 0, 0});
  not_numbered.kernels[1].launch = not_numbered.kernels[2].launch;
  EXPECT_TRUE(warned(not_numbered));
  records fewer = two_launches({false, 0, 0}, 1);
  EXPECT_TRUE(warned(fewer)) << "there are more records than launches";
}

TEST(check_of_pairs, a_reduction_with_a_fence_and_its_own_buffer_gives_no_warning) {
  const check_report r = checked(pair(1 << 20), both_at_device, both_at_device);
  EXPECT_EQ(r.pairs, 1U);
  EXPECT_EQ(r.sharing, 0U);
  EXPECT_TRUE(r.warnings.empty());
}

TEST(check_of_pairs, kernels_one_after_the_other_are_not_a_pair) {
  EXPECT_EQ(checked(pair(4096, 2000), both_at_device, both_at_device).pairs, 0U);
  records other_device = pair(4096);
  other_device.kernels[0].device = 1;
  EXPECT_EQ(checked(other_device, both_at_device, both_at_device).pairs, 0U);
  records isolated = pair(4096);
  isolated.already_isolated = {1};
  EXPECT_EQ(checked(isolated, both_at_device, both_at_device).pairs, 0U) << "nothing is moved";
}

TEST(check_of_pairs, what_it_could_not_see_is_a_warning) {
  const std::string unread = text(checked(pair(4096), std::nullopt, both_at_device));
  EXPECT_NE(
      unread.find(
          "The code of these kernels could not be read (they have no PTX, and no cuobjdump could disassemble them): put."),
      std::string::npos)
      << unread;
  EXPECT_NE(unread.find("WARNING"), std::string::npos);
  records r = pair(1 << 20);
  r.looked_at = {1};
  const check_report unseen = checked(r, {}, {});
  EXPECT_EQ(unseen.warned.count("put"), 1U);
  EXPECT_NE(text(unseen).find("For 1 kernels, not all pointers could be read"), std::string::npos);
  json report;
  add(report, checked(pair(4096), std::nullopt, both_at_device));
  EXPECT_EQ(report["kernels_without_code"], json::parse("[\"put\"]"));
}

}  // namespace
