// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Repairs are the smallest and weakest changes that make a program verified. The checker reports an order as stronger than
// needed only if the program is also verified without that order.
#include <tests/check/ptx_programs.hpp>

#include <check/repair.hpp>
#include <membar/model/error.hpp>

#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

namespace repair_test {
namespace {

using namespace membar_test;
using check::check_status;
using kind = check::code_edit::kind_t;
using membar::memory_order;
using membar::thread_scope;

const check::order_costs& costs() {
  static const check::order_costs table = check::order_costs::read(check::h200_order_costs);
  return table;
}

double fence_cost(memory_order order, thread_scope scope) { return costs().fence(order, scope); }

/// Returns the changes of a repair, each as "before st.global.u32: fence.sc.gpu", sorted.
std::vector<std::string> words(const check::program& p, const std::vector<check::code_edit>& edits) {
  const std::vector<check::code_site> sites = check::sites_of(p);
  std::vector<std::string> result;
  check::instruction fence;
  fence.code = check::op::fence;
  for (const check::code_edit& e : edits) {
    const check::instruction& i = *sites[static_cast<std::size_t>(e.site)].first;
    const std::string place = e.kind == kind::fence_before ? "before " : e.kind == kind::fence_after ? "after " : "";
    result.push_back(place + check::opcode_of(i) + ": " + check::strength_text(e.kind == kind::own ? i : fence, e.to));
  }
  std::sort(result.begin(), result.end());
  return result;
}

check::repair_result repairs(const ptx_program& p, const check::check_property& property = {}) {
  return check::repairs_of(p.get(), property, costs());
}

bool has(const check::program& p, const check::repair_result& r, const std::vector<std::string>& edits) {
  return std::any_of(r.repairs.begin(), r.repairs.end(), [&](const auto& one) { return words(p, one.edits) == edits; });
}

std::string wait_for(const std::string& how, const std::string& variable) {
  return "W: ld." + how + ".global.u32 %r0, [" + variable + "]; setp.eq.u32 %p0, %r0, 0; @%p0 bra W;";
}

ptx_program volatile_flag() {
  return ptx_program({"st.global.u32 [x], 7; st.volatile.global.u32 [y], 1;",
                      wait_for("volatile", "y") + "ld.global.u32 %r1, [x]; st.global.u32 [z], %r1;"});
}

TEST(check_repairs, message_passing_by_volatile_with_a_release_and_an_acquire_of_the_device) {
  const ptx_program p = volatile_flag();
  const check::repair_result r = repairs(p);
  ASSERT_FALSE(r.repairs.empty());
  EXPECT_EQ(r.tried, 2);
  EXPECT_EQ(words(p.get(), r.repairs.front().edits),
            (std::vector<std::string>{"ld.volatile.global.u32: ld.acquire.gpu", "st.volatile.global.u32: st.release.gpu"}));
  EXPECT_TRUE(
      has(p.get(), r, {"after ld.volatile.global.u32: fence.acquire.gpu", "before st.volatile.global.u32: fence.release.gpu"}));
  EXPECT_DOUBLE_EQ(r.repairs.front().cost, fence_cost(memory_order::acquire, thread_scope::device) +
                                               fence_cost(memory_order::release, thread_scope::device));
  EXPECT_EQ(r.repairs.front().counts.executions, 1U);
  EXPECT_FALSE(r.repairs.front().only_strong);
  EXPECT_FALSE(r.left_out);
}

TEST(check_repairs, verify_and_nothing_weaker_does) {
  const ptx_program p = volatile_flag();
  const check::repair_result r = repairs(p);
  const std::vector<check::code_site> sites = check::sites_of(p.get());
  check::edited_program edited(p.get());
  ASSERT_GE(r.repairs.size(), 4U);
  for (const check::repair& one : r.repairs) {
    edited.apply(sites, one.edits);
    EXPECT_EQ(check::explore(edited.get()).status, check_status::verified);
    for (std::size_t k = 0; k < one.edits.size(); ++k) {
      std::vector<check::code_edit> weaker = one.edits;
      weaker[k].to.scope = membar::thread_scope::block;
      edited.apply(sites, weaker);
      EXPECT_EQ(check::explore(edited.get()).status, check_status::race);
      weaker.erase(weaker.begin() + static_cast<std::ptrdiff_t>(k));
      edited.apply(sites, weaker);
      EXPECT_EQ(check::explore(edited.get()).status, check_status::race);
    }
  }
  edited.apply(sites, {});
  EXPECT_EQ(check::explore(edited.get()).status, check_status::race)
      << "without its changes, the program must be the original one";
}

TEST(check_repairs, change_one_order_where_one_is_wrong) {
  const ptx_program p(
      {"st.global.u32 [x], 7; st.release.gpu.global.u32 [y], 1;", wait_for("acquire.cta", "y") + "ld.global.u32 %r1, [x];"});
  const check::repair_result r = repairs(p);
  ASSERT_FALSE(r.repairs.empty());
  EXPECT_EQ(r.tried, 1);
  EXPECT_EQ(words(p.get(), r.repairs.front().edits), (std::vector<std::string>{"ld.acquire.cta.global.u32: ld.acquire.gpu"}));
}

TEST(check_repairs, store_buffering_only_with_two_sequential_fences) {
  const auto side = [](const std::string& mine, const std::string& other, const std::string& to) {
    return "st.relaxed.gpu.global.u32 [" + mine + "], 1; ld.relaxed.gpu.global.u32 %r0, [" + other +
           "]; mov.u64 %rd0, wide; add.u64 %rd0, %rd0, " + to + "; add.u32 %r0, %r0, 1; st.global.u32 [%rd0], %r0;";
  };
  ptx_program p({side("x", "y", "0"), side("y", "x", "4")});
  const check::repair_result r = repairs(p, [&](const check::final_memory& end) {
    const bool both_read_zero = end.value(p.address("wide"), 4) == 1 && end.value(p.address("wide") + 4, 4) == 1;
    return both_read_zero ? std::string("both read 0") : std::string();
  });
  ASSERT_FALSE(r.repairs.empty());
  EXPECT_EQ(r.tried, 2);
  for (const check::repair& one : r.repairs) {
    EXPECT_EQ(words(p.get(), one.edits), (std::vector<std::string>{"before ld.relaxed.gpu.global.u32: fence.sc.gpu",
                                                                   "before ld.relaxed.gpu.global.u32: fence.sc.gpu"}));
  }
}

TEST(check_repairs, that_only_make_an_access_strong_say_so) {
  const ptx_program p({"st.global.u32 [x], 7;", "ld.relaxed.gpu.global.u32 %r0, [x];"});
  const check::repair_result r = repairs(p);
  ASSERT_EQ(r.repairs.size(), 1U);
  EXPECT_EQ(words(p.get(), r.repairs[0].edits), (std::vector<std::string>{"st.global.u32: st.relaxed.gpu"}));
  EXPECT_TRUE(r.repairs[0].only_strong);
  EXPECT_DOUBLE_EQ(r.repairs[0].cost, 0);
}

TEST(check_repairs, are_not_proposed_where_no_order_is_missing) {
  const check::repair_result r = repairs(ptx_program({wait_for("acquire.gpu", "y")}));
  EXPECT_TRUE(r.repairs.empty());
  EXPECT_EQ(r.tried, 3);
  EXPECT_FALSE(r.left_out);
}

TEST(check_repairs, that_were_not_all_tried_are_left_out) {
  check::repair_options options;
  options.most_explorations = 2;
  const check::repair_result r = check::repairs_of(volatile_flag().get(), {}, costs(), options);
  EXPECT_TRUE(r.left_out);
  EXPECT_EQ(r.tried, 0);
}

TEST(check_repairs, of_one_change_are_found_before_larger_sets_are_tried_even_if_they_have_many_executions) {
  std::vector<std::string> bodies = {"st.global.u32 [x], 7; st.relaxed.gpu.global.u32 [y], 1;",
                                     wait_for("acquire.gpu", "y") + "ld.global.u32 %r1, [x];"};
  for (const std::string number : {"1", "3", "5", "7"}) {
    const std::string exchange = "atom.relaxed.gpu.global.exch.b32 %r0, [z], ";
    bodies.push_back(exchange + number + "; " + exchange + "1" + number + ";");
  }
  bodies.back() += "atom.relaxed.gpu.global.exch.b32 %r0, [z], 27;";  // 9! / (2!^3 * 3!) = 7560 orders of the exchanges
  const ptx_program p(bodies);
  check::repair_options options;
  options.each.load_buffering = false;
  options.most_explorations = 60;
  const check::repair_result r = check::repairs_of(p.get(), {}, costs(), options);
  EXPECT_TRUE(has(p.get(), r, {"st.relaxed.gpu.global.u32: st.release.gpu"}));
  EXPECT_TRUE(std::ranges::all_of(r.repairs, [](const auto& one) { return one.edits.size() == 1; }));
}

TEST(check_repairs, are_found_if_only_their_executions_with_load_buffering_are_too_many) {
  const ptx_program p({"st.global.u32 [x], 7; st.volatile.global.u32 [y], 1;",
                       wait_for("acquire.gpu", "y") + "ld.global.u32 %r1, [x];",
                       "ld.relaxed.gpu.global.u32 %r0, [z]; st.relaxed.gpu.global.u32 [wide], 1;",
                       "ld.relaxed.gpu.global.u32 %r0, [wide]; st.relaxed.gpu.global.u32 [z], 1;"});
  check::repair_options options;
  for (const bool finishes : {true, false}) {
    options.each.most_buffered_steps = finishes ? 10'000 : 1;
    const check::repair_result r = check::repairs_of(p.get(), {}, costs(), options);
    EXPECT_TRUE(has(p.get(), r, {"st.volatile.global.u32: st.release.gpu"}));
    EXPECT_TRUE(std::ranges::all_of(r.repairs, [&](const auto& one) { return one.load_buffering_is_open != finishes; }));
  }
}

TEST(check_repairs, make_a_weak_access_that_races_with_an_atomic_relaxed) {
  const std::string add = "atom.relaxed.gpu.global.add.u32 %r0, [x], 1;";
  const ptx_program p({add, add + "setp.ne.u32 %p0, %r0, 1; @%p0 bra S; st.global.u32 [x], 0; S:"});
  const check::repair_result r = repairs(
      p, [&](const check::final_memory& end) { return end.value(p.address("x"), 4) == 1 ? std::string("x is 1") : ""; });
  ASSERT_FALSE(r.repairs.empty());
  EXPECT_EQ(words(p.get(), r.repairs.front().edits), (std::vector<std::string>{"st.global.u32: st.relaxed.gpu"}));
  EXPECT_DOUBLE_EQ(r.repairs.front().cost, 0);
  EXPECT_FALSE(r.repairs.front().only_strong);
}

TEST(check_repairs, leave_program_order_as_it_is) {
  // A fence before a loop's first instruction is inside the loop. A fence with the same predicate as the access is executed
  // whenever the access is executed.
  ptx_program p(
      {"mov.u32 %r1, 2; L: @%p1 ld.relaxed.gpu.global.u32 %r0, [x]; add.u32 %r1, %r1, -1; setp.ne.u32 %p0, %r1, 0; @%p0 bra "
       "L;"});
  const std::vector<check::code_site> sites = check::sites_of(p.get());
  ASSERT_EQ(sites.size(), 1U);
  check::edited_program edited(p.get());
  const check::strength fence{true, membar::memory_order::seq_cst, membar::thread_scope::device};
  edited.apply(sites, {{0, kind::fence_before, fence}, {0, kind::fence_after, fence}});
  const auto& code = edited.get().kernels[0]->code;
  const auto at = static_cast<std::size_t>(sites[0].places[0].second);
  ASSERT_EQ(code[at].code, check::op::fence);
  EXPECT_TRUE(code[at].head);
  EXPECT_FALSE(code[at + 1].head);
  EXPECT_EQ(code[at + 1].code, check::op::load);
  EXPECT_EQ(code[at + 2].code, check::op::fence);
  EXPECT_EQ(code[at].guard, code[at + 1].guard);
  EXPECT_TRUE(std::any_of(code.begin(), code.end(), [&](const auto& i) { return i.target == static_cast<int>(at); }));
  for (int pc = 0; pc < 3; ++pc) {
    EXPECT_EQ(edited.origin(0, static_cast<int>(at) + pc).second, static_cast<int>(at));
  }
}

// ---- orders that are stronger than needed

TEST(check_excess_orders, are_reported_for_orders_and_scopes_but_not_if_they_are_needed) {
  const ptx_program p({"st.global.u32 [x], 7; fence.sc.sys; st.relaxed.gpu.global.u32 [y], 1;",
                       wait_for("acquire.gpu", "y") + "ld.global.u32 %r1, [x]; fence.acq_rel.gpu; st.global.u32 [z], %r1;"});
  const check::excess_result r = check::excess_orders_of(p.get(), {}, costs());
  EXPECT_EQ(r.orders, 3);
  ASSERT_EQ(r.alone.size(), 2U);
  EXPECT_EQ(words(p.get(), {r.alone[0].edit}), (std::vector<std::string>{"fence.sc.sys: fence.release.gpu"}));
  EXPECT_DOUBLE_EQ(r.alone[0].saved, fence_cost(memory_order::seq_cst, thread_scope::system) -
                                         fence_cost(memory_order::release, thread_scope::device));
  EXPECT_EQ(words(p.get(), {r.alone[1].edit}), (std::vector<std::string>{"fence.acq_rel.gpu: no fence"}));
  EXPECT_EQ(r.together.size(), 2U);
}

TEST(check_excess_orders, of_one_of_two_is_not_that_of_both) {
  const ptx_program p({"st.global.u32 [x], 7; fence.release.gpu; st.release.gpu.global.u32 [y], 1;",
                       wait_for("acquire.gpu", "y") + "ld.global.u32 %r1, [x];"});
  const check::excess_result r = check::excess_orders_of(p.get(), {}, costs());
  EXPECT_EQ(r.alone.size(), 2U);
  EXPECT_EQ(words(p.get(), {r.alone[0].edit, r.alone[1].edit}),
            (std::vector<std::string>{"fence.release.gpu: no fence", "st.release.gpu.global.u32: st.relaxed.gpu"}));
  ASSERT_EQ(r.together.size(), 1U);
  EXPECT_EQ(words(p.get(), {r.together[0].edit}), (std::vector<std::string>{"fence.release.gpu: no fence"}));
}

// ---- the table of costs

std::string error_of(const std::string& table) {
  try {
    static_cast<void>(check::order_costs::read(table));
  } catch (const membar::model::error& e) {
    return e.what();
  }
  return "";
}

// ---- the asynchronous side

check::repair_result repairs_of_block(const std::string& body, std::uint32_t threads = 1) {
  check::launch_request request;
  request.block[0] = threads;
  const check::program p =
      program_of_launch(".shared .align 8 .b64 bar;\n.shared .align 16 .b8 stage[16];\n.global .align 16 .b8 from[16];\n",
                        "mov.u32 %r15, %tid.x;" + body, request);
  return check::repairs_of(p, {}, costs());
}
const std::string begin_mbarrier =
    "setp.ne.u32 %p7, %r15, 0; @%p7 bra BEGUN; mbarrier.init.shared.b64 [bar], 1; BEGUN: bar.sync 0;";
const std::string wait_for_phase = "W: mbarrier.try_wait.parity.shared::cta.b64 %p0, [bar], 0; @!%p0 bra W;";

TEST(check_repairs, puts_in_the_cheapest_proxy_fence) {
  const check::repair_result r =
      repairs_of_block(begin_mbarrier +
                       "st.global.u32 [from], 1; mbarrier.arrive.expect_tx.shared.b64 _, [bar], 16;"
                       "cp.async.bulk.shared::cta.global.mbarrier::complete_tx::bytes [stage], [from], 16, [bar];" +
                       wait_for_phase);
  ASSERT_FALSE(r.repairs.empty());
  ASSERT_EQ(r.repairs[0].edits.size(), 1U);
  EXPECT_EQ(r.repairs[0].edits[0].kind, check::code_edit::kind_t::proxy_fence_before);
  EXPECT_EQ(check::proxy_fence_text(r.repairs[0].edits[0].proxy_spaces), "fence.proxy.async.global");
  EXPECT_DOUBLE_EQ(r.repairs[0].cost, costs().proxy_fence(r.repairs[0].edits[0].proxy_spaces));
}

TEST(check_repairs, lets_an_arrival_at_an_mbarrier_release) {
  const check::repair_result r = repairs_of_block(begin_mbarrier +
                                                      "setp.ne.u32 %p7, %r15, 0; @%p7 bra OTHER; st.shared.u32 [stage], 1;"
                                                      "mbarrier.arrive.relaxed.cta.shared::cta.b64 _, [bar]; bra END; OTHER: " +
                                                      wait_for_phase + "ld.shared.u32 %r0, [stage]; END: ",
                                                  2);
  ASSERT_FALSE(r.repairs.empty());
  ASSERT_EQ(r.repairs[0].edits.size(), 1U);
  const check::strength release{true, membar::memory_order::release, membar::thread_scope::block};
  EXPECT_TRUE(std::any_of(r.repairs.begin(), r.repairs.end(), [&](const auto& one) {
    return one.edits[0].kind == check::code_edit::kind_t::own && one.edits[0].to == release;
  }));
}

TEST(check_costs, are_read_with_their_errors) {
  const std::string whole(check::h200_order_costs);
  EXPECT_EQ(costs().device(), "NVIDIA H200");
  EXPECT_NE(error_of("fence sc device 1\n").find("1:1: 'sc' is not an order"), std::string::npos);
  EXPECT_NE(error_of("# none\nfence seq_cst gpu 1\n").find("2:1: 'gpu' is not a scope"), std::string::npos);
  EXPECT_NE(error_of("fence seq_cst device -1\n").find("'-1' is not a cost: expected 0 to 1e9"), std::string::npos);
  EXPECT_NE(error_of("fence seq_cst device 1 2\n").find("'1 2' is not a cost"), std::string::npos);
  EXPECT_NE(error_of("fence seq_cst device nan\n").find("'nan' is not a cost"), std::string::npos);
  EXPECT_NE(error_of("load acquire device 1\n").find("'load' is not a valid line"), std::string::npos);
  EXPECT_NE(error_of("proxy texture 1\n").find("'texture' is not a state space for a proxy fence"), std::string::npos);
  EXPECT_NE(error_of(whole + "proxy any 2\n").find("'proxy any' is given twice"), std::string::npos);
  EXPECT_NE(error_of(whole + "fence acquire block 2\n").find("is given twice"), std::string::npos);
  EXPECT_NE(error_of("device X\n").find("the cost table contains no fence with order acquire and scope block"),
            std::string::npos);
}

TEST(check_costs, never_grow_when_an_order_becomes_weaker) {
  const auto orders = {memory_order::acquire, memory_order::release, memory_order::acq_rel, memory_order::seq_cst};
  const auto scopes = {thread_scope::block, thread_scope::cluster, thread_scope::device, thread_scope::system};
  for (const auto weak : orders) {
    for (const auto strong : orders) {
      for (const auto narrow : scopes) {
        for (const auto wide : scopes) {
          if (check::no_stronger({true, weak, narrow}, {true, strong, wide})) {
            EXPECT_LE(costs().fence(weak, narrow), costs().fence(strong, wide));
            EXPECT_LE(costs().atomic(weak, narrow), costs().atomic(strong, wide));
          }
        }
      }
    }
  }
  EXPECT_DOUBLE_EQ(costs().atomic(memory_order::acquire, thread_scope::device),
                   costs().fence(memory_order::acquire, thread_scope::device))
      << "an order costs no more than its fence";
  EXPECT_DOUBLE_EQ(costs().atomic(memory_order::release, thread_scope::device),
                   costs().atomic(memory_order::acq_rel, thread_scope::device))
      << "release costs no more than acq_rel";
  EXPECT_DOUBLE_EQ(costs().access(memory_order::relaxed, thread_scope::system), 0);
}

/// Returns whether a change inserts a barrier of this kind after an instruction with this opcode.
bool is_barrier_after(const check::program& p, const check::code_edit& e, kind of, const std::string& opcode) {
  const check::code_site site = check::sites_of(p)[static_cast<std::size_t>(e.site)];
  return site.gap && e.kind == of && check::opcode_of(*site.first) == opcode;
}

TEST(check_repairs, put_a_barrier_before_one_thread_raises_a_flag_for_its_block) {
  const ptx_program p(
      {"mov.u32 %r0, %tid.x; setp.eq.u32 %p0, %r0, 0; @%p0 st.global.u32 [x], 7; @!%p0 st.global.u32 [z], 7; @!%p0 bra E; "
       "st.release.gpu.global.u32 [y], 1; E:",
       wait_for("acquire.gpu", "y") + "ld.global.u32 %r1, [z]; red.relaxed.gpu.global.add.u32 [wide], %r1;"},
      2);
  const check::repair_result r = repairs(p);
  ASSERT_FALSE(r.repairs.empty());
  EXPECT_EQ(r.tried, 1);
  ASSERT_EQ(r.repairs.front().edits.size(), 1U);
  EXPECT_TRUE(is_barrier_after(p.get(), r.repairs.front().edits[0], kind::either_barrier, "st.global.u32"));
  EXPECT_EQ(r.repairs.front().barriers, 1);
  EXPECT_TRUE(std::none_of(r.repairs.begin(), r.repairs.end(), [&](const check::repair& one) {
    return one.edits[0].kind == kind::block_barrier || one.edits[0].kind == kind::warp_barrier;  // a twin of the first repair
  }));
  EXPECT_TRUE(std::none_of(r.repairs.begin(), r.repairs.end(), [&](const check::repair& one) {
    return is_barrier_after(p.get(), one.edits[0], kind::either_barrier, "st.release.gpu.global.u32");
  }));
}

TEST(check_repairs, put_a_barrier_before_the_flag_where_thread_0_passes_on_data_as_well) {
  const std::string mine = "mov.u32 %r0, %tid.x; mul.wide.u32 %rd0, %r0, 4; mov.u64 %rd1, wide; add.u64 %rd1, %rd1, %rd0; ";
  const ptx_program p(
      {mine + "st.global.u32 [%rd1], 7; setp.ne.u32 %p0, %r0, 0; @%p0 bra E; st.release.gpu.global.u32 [y], 1; E:",
       mine + "setp.ne.u32 %p1, %r0, 0; @%p1 bra B; " + wait_for("acquire.gpu", "y") +
           "B: bar.sync 0; ld.global.u32 %r1, [%rd1]; red.relaxed.gpu.global.add.u32 [z], %r1;"},
      2);
  const check::repair_result r = repairs(p);
  ASSERT_FALSE(r.repairs.empty());
  EXPECT_EQ(r.tried, 1);
  ASSERT_EQ(r.repairs.front().edits.size(), 1U);
  EXPECT_TRUE(is_barrier_after(p.get(), r.repairs.front().edits[0], kind::either_barrier, "st.global.u32"));
}

TEST(check_repairs, put_a_barrier_alone_where_a_third_block_passes_the_flag_on) {
  const ptx_program p({"mov.u32 %r0, %tid.x; setp.eq.u32 %p0, %r0, 0; @!%p0 st.global.u32 [z], 7; @!%p0 bra E; "
                       "st.release.gpu.global.u32 [y], 1; E:",
                       "mov.u32 %r0, %tid.x; setp.ne.u32 %p1, %r0, 0; @%p1 bra E; " + wait_for("acquire.gpu", "y") +
                           "st.release.gpu.global.u32 [x], 1; E:",
                       wait_for("acquire.gpu", "x") + "ld.global.u32 %r1, [z]; red.relaxed.gpu.global.add.u32 [wide], %r1;"},
                      2);
  const auto adds_sevens = [&](const check::final_memory& m) {
    return m.value(p.address("wide"), 4) == 14 ? std::string() : std::string("wide is not 14");
  };
  const check::repair_result r = repairs(p, adds_sevens);
  ASSERT_FALSE(r.repairs.empty());
  EXPECT_EQ(r.tried, 1);
  for (const check::repair& one : r.repairs) {
    ASSERT_EQ(one.edits.size(), 1U);
    EXPECT_EQ(one.barriers, 1);
  }
}

TEST(check_repairs, end_when_the_time_is_over_and_say_so) {
  const ptx_program p = volatile_flag();
  check::repair_options options;
  options.most_seconds = 0;
  const check::repair_result r = check::repairs_of(p.get(), {}, costs(), options);
  EXPECT_TRUE(r.repairs.empty());
  EXPECT_TRUE(r.left_out);
  EXPECT_EQ(r.tried, 0);
}

TEST(check_repairs, put_a_barrier_between_two_phases_in_shared_memory) {
  const ptx_program p(
      {".shared .align 4 .b8 s[8]; mov.u32 %r0, %tid.x; mov.u32 %r1, s; shl.b32 %r2, %r0, 2; add.u32 %r3, %r1, %r2; "
       "st.shared.u32 [%r3], 1; xor.b32 %r2, %r2, 4; add.u32 %r3, %r1, %r2; ld.shared.u32 %r4, [%r3]; "
       "red.relaxed.gpu.global.add.u32 [x], %r4;"},
      2);
  const check::repair_result r = repairs(p);
  ASSERT_FALSE(r.repairs.empty());
  ASSERT_EQ(r.repairs.front().edits.size(), 1U);
  EXPECT_TRUE(is_barrier_after(p.get(), r.repairs.front().edits[0], kind::either_barrier, "st.shared.u32"));
}

TEST(check_repairs, put_a_barrier_before_an_arrival_for_a_warp_whose_data_another_branch_reads) {
  const check::repair_result r = repairs_of_block(begin_mbarrier +
                                                      "setp.lt.u32 %p1, %r15, 32; @%p1 bra READ;"
                                                      "setp.ne.u32 %p4, %r15, 33; @!%p4 st.shared.u32 [stage], 1;"
                                                      "setp.ne.u32 %p2, %r15, 32; @%p2 bra END;"
                                                      "mbarrier.arrive.shared::cta.b64 _, [bar]; bra END;"
                                                      "READ: setp.ne.u32 %p3, %r15, 0; @%p3 bra END;" +
                                                      wait_for_phase + "ld.shared.u32 %r0, [stage]; END: ",
                                                  34);
  ASSERT_FALSE(r.repairs.empty());
  EXPECT_EQ(r.tried, 1);
  ASSERT_EQ(r.repairs[0].edits.size(), 1U);
  EXPECT_EQ(r.repairs[0].edits[0].kind, kind::warp_barrier);
}

// Threads 32 and 33 fill a stage and threads 0 and 1 read it, three times. Thread 32 or 0 arrives for its warp without waiting
// for the other thread. With a barrier in one of the warps, the other warp still falls behind, and waits for a phase that has
// passed.
TEST(check_repairs, put_a_barrier_in_each_warp_if_the_program_hangs_with_only_one_of_them) {
  const std::string turn = "add.u32 %r10, %r10, 1; setp.lt.u32 %p6, %r10, 3; ";
  const check::repair_result r = repairs_of_block(
      ".shared .align 8 .b64 empty; mov.u32 %r10, 0; and.b32 %r11, %r15, 31; shl.b32 %r11, %r11, 2; mov.u32 %r12, stage;"
      "add.u32 %r13, %r12, %r11; setp.eq.u32 %p5, %r11, 0; setp.lt.u32 %p1, %r15, 32;"
      "setp.ne.u32 %p7, %r15, 0; @%p7 bra BEGUN; mbarrier.init.shared.b64 [bar], 1; mbarrier.init.shared.b64 [empty], 1;"
      "BEGUN: bar.sync 0; @%p1 bra READERS;\n"
      "WRITE: and.b32 %r9, %r10, 1; xor.b32 %r9, %r9, 1; E: mbarrier.try_wait.parity.shared::cta.b64 %p0, [empty], %r9;"
      "@!%p0 bra E;\n st.shared.u32 [%r13], 1;\n @!%p5 bra WROTE; mbarrier.arrive.shared::cta.b64 _, [bar]; WROTE: " +
          turn +
          "@%p6 bra WRITE; bra END;\n"
          "READERS: setp.gt.u32 %p2, %r15, 1; @%p2 bra END; READ: and.b32 %r9, %r10, 1;"
          "F: mbarrier.try_wait.parity.shared::cta.b64 %p0, [bar], %r9; @!%p0 bra F;\n ld.shared.u32 %r0, [%r13];\n"
          "@!%p5 bra TAKEN; mbarrier.arrive.shared::cta.b64 _, [empty]; TAKEN: " +
          turn + "@%p6 bra READ; END: ",
      34);
  ASSERT_FALSE(r.repairs.empty());
  EXPECT_EQ(r.tried, 2);
  ASSERT_EQ(r.repairs[0].edits.size(), 2U);
  EXPECT_EQ(r.repairs[0].edits[0].kind, kind::warp_barrier);
  EXPECT_EQ(r.repairs[0].edits[1].kind, kind::warp_barrier);
}

// Each instruction is on its own line, because a barrier's place is identified by its PTX line.
const std::string fill = "\n@%p0 cp.async.ca.shared.global [%r1+4], [z], 4;\ncp.async.wait_all;\n";
const std::string begin_tile =
    ".shared .align 4 .b8 s[8]; mov.u32 %r0, %tid.x; mov.u32 %r1, s; shl.b32 %r2, %r0, 2; add.u32 %r3, %r1, %r2; "
    "setp.eq.u32 %p0, %r0, 0; st.shared.u32 [%r3], 1; bar.sync 0; ";

TEST(check_repairs, put_a_barrier_between_reads_and_a_copy_that_overwrites_their_data) {
  const ptx_program p({begin_tile + "ld.shared.u32 %r4, [%r3]; red.relaxed.gpu.global.add.u32 [x], %r4; " + fill}, 2);
  const check::repair_result r = repairs(p);
  ASSERT_FALSE(r.repairs.empty());
  ASSERT_EQ(r.repairs.front().edits.size(), 1U);
  EXPECT_EQ(r.repairs.front().barriers, 1);
}

TEST(check_repairs, put_a_barrier_after_the_wait_for_a_copy) {
  const ptx_program p({begin_tile + fill + "ld.shared.u32 %r4, [%r3]; red.relaxed.gpu.global.add.u32 [x], %r4;"}, 2);
  const check::repair_result r = repairs(p);
  ASSERT_FALSE(r.repairs.empty());
  EXPECT_TRUE(std::any_of(r.repairs.begin(), r.repairs.end(), [&](const check::repair& one) {
    return one.edits.size() == 1 && is_barrier_after(p.get(), one.edits[0], kind::either_barrier, "cp.async.wait_all");
  }));
}

}  // namespace
}  // namespace repair_test
