// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The rules for multimem addresses, one by one: each test is a program in two forms (two_forms.hpp). x and y are objects of the
// multimem address m.
#include "two_forms.hpp"

#include <litmus/explain.hpp>
#include <litmus/reader.hpp>
#include <litmus/writer.hpp>
#include <membar/model/multimem.hpp>
#include <membar/model/named_test.hpp>

#include <gtest/gtest.h>

#include <array>
#include <string>
#include <vector>

namespace multimem_test {

using namespace membar::model;
using namespace membar::litmus_files;
using namespace membar_test;

const std::string two_devices = "P0@cta 0,gpu 0 | P1@cta 0,gpu 1";
const std::string objects = "x=0; y=0; m @ multimem aliases x, y; ";
const std::string store_to_all = "multimem.st.relaxed.sys m, 1; ";
const std::string fence = "[[=>fence.proxy.alias; ]]";
const std::string tell = "st.release.sys z, 1";
const std::string hear = "ld.acquire.sys r0, z; ";
const std::string sum = "multimem.ld_reduce.acquire.sys.add ";

const std::vector<verdict>& verdicts() {
  static const std::vector<verdict> all = {
      // ---- the multimem address is an additional address of the objects
      {"a_store_to_all_is_seen_by_an_objects_own_address_after_an_alias_fence_of_the_writer",
       "multimem.st",
       rule::multimem_addresses_are_aliases,
       objects + "z=0;",
       two_devices,
       {store_to_all + fence + tell, hear + "ld.weak r1, y"},
       "P1:r0 == 1 /\\ P1:r1 == 0"},
      {"a_store_to_all_is_seen_by_an_objects_own_address_after_an_alias_fence_of_the_reader",
       "multimem.st",
       rule::multimem_addresses_are_aliases,
       objects + "z=0;",
       two_devices,
       {store_to_all + tell, hear + fence + "ld.weak r1, x"},
       "P1:r0 == 1 /\\ P1:r1 == 0"},
      {"a_weak_store_to_all_needs_the_fence_as_a_relaxed_one",
       "multimem.st",
       rule::multimem_addresses_are_aliases,
       objects + "z=0;",
       two_devices,
       {"multimem.st.weak m, 1; " + fence + tell, hear + "ld.weak r1, y"},
       "P1:r0 == 1 /\\ P1:r1 == 0"},
      {"a_sum_contains_what_was_stored_by_own_addresses_after_an_alias_fence",
       "multimem.ld_reduce",
       rule::multimem_addresses_are_aliases,
       objects + "z=0;",
       two_devices,
       {"st.weak x, 1; st.weak y, 1; " + fence + tell, hear + "multimem.ld_reduce.weak.add r1, m"},
       "P1:r0 == 1 /\\ P1:r1 != 2"},
      {"a_reduction_is_seen_by_an_objects_own_address_after_an_alias_fence",
       "multimem.red",
       rule::multimem_addresses_are_aliases,
       objects + "z=0;",
       two_devices,
       {"multimem.red.relaxed.sys.add m, 1; " + fence + tell, hear + "ld.weak r1, y"},
       "P1:r0 == 1 /\\ P1:r1 == 0"},
      {"a_store_by_an_own_address_comes_before_a_store_to_all_after_an_alias_fence",
       "multimem.st",
       rule::multimem_addresses_are_aliases,
       objects + "z=0;",
       two_devices,
       {"st.weak y, 2; " + fence + tell, hear + "beq r0, 0, END; multimem.st.relaxed.sys m, 1; END:"},
       "P1:r0 == 1 /\\ y == 2"},
      {"a_signal_to_all_is_acquired_by_the_same_address",
       "multimem.st",
       rule::multimem_addresses_are_aliases,
       objects + "z=0;",
       two_devices,
       {"st.weak z, 1; multimem.st.release.sys m, 1",
        "[[ld.acquire.sys r0, y=>multimem.ld_reduce.acquire.sys.max r0, m]]; ld.weak r1, z"},
       "P1:r0 == 1 /\\ P1:r1 == 0"},
      {"a_fence_of_another_proxy_is_none_of_aliases",
       "membar/fence",
       rule::alias_fence,
       objects + "z=0;",
       two_devices,
       {store_to_all + "fence.proxy.[[async=>alias]]; " + tell, hear + "ld.weak r1, y"},
       "P1:r0 == 1 /\\ P1:r1 == 0"},
      // ---- the accesses to the objects are unordered
      {"a_release_of_one_object_does_not_cover_the_other",
       "multimem.st",
       rule::multimem_operations_are_in_no_order,
       "x=0; y=10; m @ multimem aliases x, y;",
       two_devices,
       {"multimem.st.release.sys m, 1", sum + "r0, m; " + sum + "r1, m"},
       "[[P1:r0 == 1 /\\ P1:r1 == 1=>P1:r0 == 2 /\\ P1:r1 != 2]]"},
      {"a_reduction_of_one_object_does_not_cover_the_other",
       "multimem.red",
       rule::multimem_operations_are_in_no_order,
       "x=5; y=10; m @ multimem aliases x, y;",
       two_devices,
       {"multimem.red.release.sys.min m, 1", sum + "r0, m; " + sum + "r1, m"},
       "[[P1:r0 == 6 /\\ P1:r1 == 6=>P1:r0 == 2 /\\ P1:r1 != 2]]"},
      {"a_load_of_all_reads_its_objects_in_no_order",
       "multimem.ld_reduce",
       rule::multimem_operations_are_in_no_order,
       "x=0; y=10; m @ multimem aliases x, y;",
       two_devices,
       {"multimem.st.release.sys m, 1; multimem.st.release.sys m, 2", sum + "r0, m"},
       "P1:r0 == [[12=>20]]"},
      // ---- each object's operation behaves like an operation on the object's own address
      {"a_release_to_all_synchronizes_and_a_relaxed_store_does_not",
       "multimem.st",
       rule::release_write,
       objects + "z=0;",
       two_devices,
       {"st.weak z, 1; multimem.st.[[relaxed=>release]].sys m, 1", "multimem.ld_reduce.acquire.sys.max r0, m; ld.weak r1, z"},
       "P1:r0 == 1 /\\ P1:r1 == 0"},
      {"a_load_of_all_that_acquires_synchronizes_and_a_relaxed_one_does_not",
       "multimem.ld_reduce",
       rule::acquire_read,
       objects + "z=0;",
       two_devices,
       {"st.weak z, 1; multimem.st.release.sys m, 1", "multimem.ld_reduce.[[relaxed=>acquire]].sys.max r0, m; ld.weak r1, z"},
       "P1:r0 == 1 /\\ P1:r1 == 0"},
      {"a_reduction_that_releases_synchronizes_and_a_relaxed_one_does_not",
       "multimem.red",
       rule::release_write,
       objects + "z=0;",
       two_devices,
       {"st.weak z, 1; multimem.red.[[relaxed=>release]].sys.add m, 1",
        "multimem.ld_reduce.acquire.sys.max r0, m; ld.weak r1, z"},
       "P1:r0 == 1 /\\ P1:r1 == 0"},
      {"a_signal_to_all_has_a_scope",
       "multimem.st",
       rule::device_scope_is_the_device,
       objects + "z=0;",
       two_devices,
       {"st.weak z, 1; multimem.st.release.[[gpu=>sys]] m, 1", "multimem.ld_reduce.acquire.sys.max r0, m; ld.weak r1, z"},
       "P1:r0 == 1 /\\ P1:r1 == 0"},
      {"reductions_whose_scopes_include_each_other_lose_nothing",
       "multimem.red",
       rule::device_scope_is_the_device,
       "x=0; y=5; m @ multimem aliases x, y;",
       two_devices,
       {"multimem.red.relaxed.[[gpu=>sys]].add m, 1", "multimem.red.relaxed.[[gpu=>sys]].add m, 2"},
       "x != 3 \\/ y != 8"},
  };
  return all;
}

class multimem : public testing::TestWithParam<verdict> {};

TEST_P(multimem, verdict) { expect_two_verdicts(GetParam()); }

INSTANTIATE_TEST_SUITE_P(rules, multimem, testing::ValuesIn(verdicts()), name_of);

TEST(multimem_rules, are_of_multimem_operations_alone) {
  const auto reachable = [](rule without, const std::string& state, const std::vector<std::string>& of,
                            const std::string& end) {
    const litmus_test test = program({"without", "", without, state, two_devices, of, end}, false);
    return decide(test.view(), every_rule_but(without)).reachable;
  };
  EXPECT_TRUE(reachable(rule::multimem_addresses_are_aliases, "x=0; a @ generic aliases x; z=0;",
                        {"st.relaxed.sys a, 1; " + tell, hear + "ld.weak r1, x"}, "P1:r0 == 1 /\\ P1:r1 == 0"));
  EXPECT_TRUE(reachable(rule::multimem_operations_are_in_no_order, "x[2]; ",
                        {"st.relaxed.sys x[1], 1; st.release.sys x, 1", "ld.acquire.sys.v2 {r0, r1}, x"},
                        "P1:r0 == 1 /\\ P1:r1 == 0"));
}

/// The only value that a load of all objects can return; the objects hold 6, 3 and 5.
std::string result_of(const std::string& operation) {
  const litmus_test test = program({"result",
                                    "multimem.ld_reduce",
                                    rule::count,
                                    "x=6; y=3; z=5; m @ multimem aliases x, y, z;",
                                    "P0@cta 0,gpu 0",
                                    {"multimem.ld_reduce." + operation + " r0, m"},
                                    "true"},
                                   false);
  std::string found;
  for (int value = 0; value < 20; ++value) {
    litmus_test asked = test;
    asked.condition = read_litmus(write_litmus(test).substr(0, write_litmus(test).rfind("exists")) +
                                  "exists (P0:r0 == " + std::to_string(value) + ")")
                          .condition;
    found += decide(asked).reachable ? std::to_string(value) : "";
  }
  return found;
}

TEST(multimem_rules, a_load_returns_what_its_operation_makes_of_all_objects) {
  EXPECT_EQ(result_of("add"), "14");
  EXPECT_EQ(result_of("min"), "3");
  EXPECT_EQ(result_of("max"), "6");
  EXPECT_EQ(result_of("and"), "0");
  EXPECT_EQ(result_of("or"), "7");
  EXPECT_EQ(result_of("xor"), "0");
}

TEST(multimem_rules, a_predicate_is_of_the_whole_operation) {
  const auto reachable = [](const std::string& code, const std::string& end) {
    return decide(program({"predicate", "", rule::count, "x=1; y=2; m @ multimem aliases x, y;", "P0@cta 0,gpu 0", {code}, end},
                          false))
        .reachable;
  };
  const std::string is_set = "mov r1, 7; setp.eq r2, 1, 1; ";
  EXPECT_FALSE(reachable(is_set + "@!r2 multimem.ld_reduce.weak.add r1, m", "P0:r1 != 7"));
  EXPECT_FALSE(reachable(is_set + "@r2 multimem.ld_reduce.weak.add r1, m", "P0:r1 != 3"));
  EXPECT_FALSE(reachable(is_set + "@!r2 multimem.st.weak m, 5", "x == 5 \\/ y == 5"));
  EXPECT_FALSE(reachable(is_set + "@r2 multimem.red.relaxed.sys.add m, 5", "x != 6 \\/ y != 7"));
}

TEST(multimem_rules, a_test_is_written_as_it_was_read) {
  for (const verdict& v : verdicts()) {
    const std::string text = write_litmus(program(v, false));
    EXPECT_EQ(write_litmus(read_litmus(text)), text);
    EXPECT_NE(text.find("m @ multimem aliases x, y;"), std::string::npos) << text;
  }
}

constexpr auto system_wide = membar::thread_scope::system;
constexpr variable x{0}, y{1}, z{2};
constexpr multimem_variable m(3, x, y);
constexpr reg r0{0}, r1{1}, r2{2};

/// A store to all objects and then to a flag, and a load through the second object's own address, with or without an alias
/// fence.
template <class... Fence>
constexpr auto stored(Fence... with) {
  return litmus(thread(block(0), multimem_store<system_wide>(m, 1, membar::relaxed), with...,
                       membar::model::store<system_wide>(z, 1, membar::release)),
                thread(block(0, 1), load<system_wide>(r0, z, membar::acquire), load(r1, y)))
      .with_multimem(m.first, m.objects)
      .when(in(1, r0) == 1 && in(1, r1) == 0);
}
static_assert(membar::model::allowed(stored()));
static_assert(membar::model::forbidden(stored(alias_proxy_fence())));

/// A flag in each object, and a load of the maximum of the flags.
template <class Order>
constexpr auto signalled(Order order) {
  return litmus(thread(block(0), membar::model::store(z, 1), multimem_store<system_wide>(m, 1, order)),
                thread(block(0, 1), multimem_load_reduce<system_wide, operation::maximum>(r0, m, membar::acquire, r2),
                       load(r1, z)))
      .with_multimem(m.first, m.objects)
      .when(in(1, r0) == 1 && in(1, r1) == 0);
}
static_assert(membar::model::allowed(signalled(membar::relaxed)));
static_assert(membar::model::forbidden(signalled(membar::release)));

constexpr auto reduced = litmus(thread(block(0), multimem_reduce<system_wide, operation::add>(m, 1, membar::relaxed)),
                                thread(block(0, 1), multimem_reduce<system_wide, operation::add>(m, 2, membar::release)),
                                thread(block(1), multimem_store(m, 0)))
                             .with_multimem(m.first, m.objects)
                             .when(in_memory(x) == 3 && in_memory(y) == 3);
static_assert(membar::model::allowed(reduced));

TEST(multimem_rules, a_test_in_cpp_is_the_one_of_its_text) {
  const auto expect_same = [](const auto& test, bool reachable) {
    const std::string text = write_litmus(named_test(test, "in_cpp"));
    EXPECT_NE(text.find("w @ multimem aliases x, y;"), std::string::npos) << text;
    EXPECT_EQ(test.reachable(), reachable);
    EXPECT_EQ(decide(read_litmus(text)).reachable, reachable) << text;
  };
  expect_same(stored(), true);
  expect_same(stored(alias_proxy_fence()), false);
  expect_same(signalled(membar::relaxed), true);
  expect_same(signalled(membar::release), false);
  expect_same(reduced, true);
}

TEST(multimem_rules, a_multimem_address_in_cpp_comes_after_its_objects) {
  const auto test = litmus(thread(block(0), membar::model::store(x, 1)));
  EXPECT_THROW((void)test.with_multimem(0, std::array{x}), error);
  EXPECT_THROW((void)test.with_multimem(15, std::array{x, y}), error);
  EXPECT_THROW((void)test.with_multimem(4, std::array{shared(1)}), error);
}

TEST(multimem_rules, an_explanation_names_the_object_of_each_access) {
  const std::string text = explain(program(verdicts().front(), true));
  EXPECT_NE(text.find("W m.x=1"), std::string::npos) << text;
  EXPECT_NE(text.find("W m.y=1"), std::string::npos) << text;
}

TEST(multimem_rules, an_explanation_names_the_missing_alias_fence) {
  const std::string text = explain(program(verdicts().front(), false));
  EXPECT_NE(text.find("Adding one instruction forbids it: 'fence.proxy.alias' in P0 after 'multimem.st.relaxed.sys m, 1'"),
            std::string::npos)
      << text;
}

TEST(multimem_rules, a_multimem_address_is_accessed_by_multimem_operations_alone) {
  const auto error_with = [](const std::string& code) { return error_of(objects, "P0@cta 0,gpu 0", {code}); };
  const std::string alone = "'m' is a multimem address, which only multimem.ld_reduce, multimem.st and multimem.red can access";
  EXPECT_NE(error_with("ld.weak r0, m").find(alone), std::string::npos);
  EXPECT_NE(error_with("st.relaxed.sys m, 1").find(alone), std::string::npos);
  EXPECT_NE(error_with("atom.relaxed.sys.add r0, m, 1").find(alone), std::string::npos);
  EXPECT_NE(error_with("cp.async.bulk.global.shared::cta.bulk_group [m], [s], 16").find(alone), std::string::npos);
  EXPECT_NE(error_with("mov r0, m").find("'m' is a location"), std::string::npos);
  EXPECT_NE(error_with("multimem.st.weak x, 1").find("'x' is not a multimem address: declare it"), std::string::npos);
}

TEST(multimem_rules, a_multimem_operation_is_one_of_ptx) {
  const auto error_with = [](const std::string& code) { return error_of(objects, "P0@cta 0,gpu 0", {code}); };
  EXPECT_NE(error_with("multimem.ld r0, m").find("expected multimem.ld_reduce, multimem.st or multimem.red"),
            std::string::npos);
  EXPECT_NE(error_with("multimem.ld_reduce.weak r0, m").find("needs one of the operations add, min, max, and, or, xor"),
            std::string::npos);
  EXPECT_NE(error_with("multimem.red.exch m, 1").find("needs one of the operations add, min, max, and, or, xor"),
            std::string::npos);
  EXPECT_NE(error_with("multimem.st.add m, 1").find("a multimem store cannot have an operation"), std::string::npos);
  EXPECT_NE(error_with("multimem.st.acquire.sys m, 1").find("a store must be weak, relaxed or release"), std::string::npos);
  EXPECT_NE(error_with("multimem.ld_reduce.release.sys.add r0, m").find("a load must be weak, relaxed or acquire"),
            std::string::npos);
  EXPECT_NE(
      error_with("multimem.red.acq_rel.sys.add m, 1").find("the order of a multimem reduction must be relaxed or release"),
      std::string::npos);
  EXPECT_NE(error_with("multimem.st.volatile m, 1").find("cannot be volatile or mmio"), std::string::npos);
  EXPECT_NE(error_with("multimem.st.shared.weak m, 1").find("one value in global memory"), std::string::npos);
  EXPECT_NE(error_of(objects, "P0@host", {"multimem.st.weak m, 1"}).find("a host thread cannot access a multimem address"),
            std::string::npos);
}

TEST(multimem_rules, an_object_is_declared_once_in_global_memory_by_its_own_address) {
  const auto error_with = [](const std::string& state) { return error_of(state, "P0@cta 0,gpu 0", {"mov r0, 1"}); };
  EXPECT_NE(error_with("m @ multimem aliases x;").find("'x' is not declared before its multimem address"), std::string::npos);
  EXPECT_NE(error_with("x=0; m @ multimem aliases x, x;").find("'x' is already an object of this multimem address"),
            std::string::npos);
  EXPECT_NE(error_with("s @ shared; m @ multimem aliases s;").find("'s' cannot be an object of a multimem address"),
            std::string::npos);
  EXPECT_NE(error_with("x=0; a @ generic aliases x; m @ multimem aliases a;").find("'a' cannot be an object"),
            std::string::npos);
  EXPECT_NE(error_with("b @ mbarrier 1; m @ multimem aliases b;").find("'b' cannot be an object"), std::string::npos);
}

}  // namespace multimem_test
