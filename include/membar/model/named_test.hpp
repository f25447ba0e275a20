// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
/// @file
/// Gives a C++ test (test.hpp) names and text, so that it can be printed and explained like a test from a file, and its
/// outcomes can be listed.
#pragma once

#include <membar/memory_order.hpp>
#include <membar/model/litmus_test.hpp>
#include <membar/model/program.hpp>
#include <membar/model/test.hpp>
#include <membar/thread_scope.hpp>

#include <algorithm>
#include <cstddef>
#include <span>
#include <string>
#include <utility>

namespace membar {
inline namespace v0_3 {
namespace model {

namespace detail {

/// Returns the name of location `index` of a C++ test: x, y, z, w, then v4, v5, ...
[[nodiscard]] inline std::string location_name(int index) {
  return index < location_letters ? std::string(1, first_location_names[index]) : "v" + std::to_string(index);
}

[[nodiscard]] inline std::string ptx_name(thread_scope scope) {
  switch (scope) {
    case thread_scope::block:
      return "cta";
    case thread_scope::cluster:
      return "cluster";
    case thread_scope::device:
      return "gpu";
    case thread_scope::system:
      return "sys";
  }
  return "";
}

[[nodiscard]] inline std::string ptx_name(memory_order order) { return order == memory_order::seq_cst ? "sc" : name(order); }

[[nodiscard]] inline std::string ptx_name(operation what) {
  static constexpr const char* names[] = {
      "exch", "add", "sub", "mul",         "div",         "and",         "or",          "xor",         "min",        "max",
      "inc",  "dec", "cas", "setp.eq.s32", "setp.ne.s32", "setp.lt.s32", "setp.le.s32", "setp.gt.s32", "setp.ge.s32"};
  return names[static_cast<std::size_t>(what)];
}

[[nodiscard]] inline std::string operand_text(const operand& o) {
  return o.is_register ? "r" + std::to_string(o.index) : std::to_string(o.value);
}

/// Returns a shuffle in the syntax of a litmus file.
[[nodiscard]] inline std::string shuffle_text(const instruction& i) {
  static constexpr const char* modes[] = {"idx", "up", "down", "bfly"};
  return std::string("shfl.sync.") + modes[static_cast<std::size_t>(i.mode)] + ".b32 r" + std::to_string(i.destination) +
         (i.predicate < 0 ? "" : "|r" + std::to_string(i.predicate)) + ", " + operand_text(i.a) + ", " +
         std::to_string(i.b.value) + ", " + std::to_string(i.c.value) + ", " + std::to_string(i.lanes);
}

/// Returns an asynchronous copy, store or reduction in the syntax of a litmus file.
[[nodiscard]] inline std::string copy_text(const instruction& i) {
  const auto space = [](state_space s) {
    return std::string(s == state_space::shared           ? ".shared::cta"
                       : s == state_space::shared_cluster ? ".shared::cluster"
                                                          : ".global");
  };
  const auto address = [](int named, bool indirect) {
    return " [" + (indirect ? "r" + std::to_string(named) : location_name(named)) + "]";
  };
  const bool bulk = i.via == proxy::async;
  const bool of_value = i.source < 0 && i.tensor_map < 0;
  const std::string barrier = i.barrier_at < 0 ? "" : ", [" + location_name(i.barrier_at) + "]";
  const std::string to = address(i.target, i.indirect);
  const std::string ends = i.completes == completion::mbarrier     ? ".mbarrier::complete_tx::bytes"
                           : i.completes == completion::bulk_group ? ".bulk_group"
                                                                   : "";
  if (of_value) {
    return (i.reduces ? "red.async." + ptx_name(i.order) + "." + ptx_name(i.scope) : "st.async.weak") + space(i.space) + ends +
           (i.reduces ? "." + ptx_name(i.what) + ".u32" : ".b32") + to + ", " + operand_text(i.a) + barrier;
  }
  if (i.tensor_map >= 0) {
    return "cp.async.bulk.tensor.1d" + space(i.space) + ".global.tile" + ends + to + ", [" + location_name(i.tensor_map) +
           ", {0}]" + barrier;
  }
  return (i.reduces ? "cp.reduce.async.bulk"
          : bulk    ? "cp.async.bulk"
                    : "cp.async.ca") +
         space(i.space) + space(i.source_space) + ends + (i.reduces ? "." + ptx_name(i.what) + ".u32" : "") + to + "," +
         address(i.source, i.source_indirect) + ", " + (bulk ? "16" : "4") + barrier;
}

/// Returns an instruction for asynchronous operations in the syntax of a litmus file.
[[nodiscard]] inline std::string asynchronous_text(const instruction& i) {
  const bool bulk = i.completes == completion::bulk_group || i.via == proxy::async;
  const std::string kind = bulk ? "cp.async.bulk" : "cp.async";
  const std::string how = ptx_name(i.order) + "." + ptx_name(i.scope) + " ";
  switch (i.code) {
    case opcode::async_copy:
      return copy_text(i);
    case opcode::async_arrive:
      return std::string("cp.async.mbarrier.arrive") + (i.arrivals == 0 ? " " : ".noinc ") + location_name(i.barrier_at);
    case opcode::async_commit:
      return kind + ".commit_group";
    case opcode::async_wait:
      return kind + ".wait_group" + (i.reads_only ? ".read " : " ") + std::to_string(i.pending_groups);
    case opcode::mbarrier_init:
      return "mbarrier.init " + location_name(i.target) + ", " + std::to_string(i.arrivals);
    case opcode::mbarrier_wait:
      return std::string("mbarrier.try_wait") + (i.parity ? ".parity." : ".") + how +
             (i.destination < 0 ? "" : "r" + std::to_string(i.destination) + ", ") + location_name(i.target) + ", " +
             operand_text(i.a);
    case opcode::mbarrier_arrive:
      return std::string("mbarrier.") +
             (i.completed_bytes != 0 ? "complete_tx."
              : i.arrivals == 0      ? "expect_tx."
                                     : "arrive.") +
             (i.arrivals != 0 && i.expected_bytes != 0 ? "expect_tx." : "") + how + location_name(i.target) +
             (i.expected_bytes + i.completed_bytes != 0 ? ", " + std::to_string(i.expected_bytes + i.completed_bytes)
              : i.arrivals > 1                          ? ", " + std::to_string(i.arrivals)
                                                        : "");
    default:
      return i.code == opcode::grid_wait ? "griddepcontrol.wait" : "griddepcontrol.launch_dependents";
  }
}

/// Returns the suffix of `fence.proxy.async` for accesses to one state space.
[[nodiscard]] inline std::string async_space_text(state_space space) {
  return space == state_space::global           ? ".global"
         : space == state_space::shared         ? ".shared::cta"
         : space == state_space::shared_cluster ? ".shared::cluster"
                                                : "";
}

/// Returns a one-directional proxy fence in the syntax of a litmus file.
[[nodiscard]] inline std::string one_way_text(const instruction& i, const std::string& map) {
  const bool acquires = i.order == memory_order::acquire;
  if (i.via == proxy::async) {
    return std::string("fence.proxy.async::generic.") +
           (acquires ? "acquire.sync_restrict::shared::cluster.cluster" : "release.sync_restrict::shared::cta.cluster");
  }
  return "fence.proxy.tensormap::generic." + ptx_name(i.order) + "." + ptx_name(i.scope) +
         (acquires ? " [" + map + "], 128" : "");
}

/// Returns an instruction without its predicate in the syntax of a litmus file.
[[nodiscard]] inline std::string unguarded_text(const instruction& i) {
  const std::string size = i.bytes == 4 ? "" : ".b" + std::to_string(8 * i.bytes);
  const std::string space = i.space == state_space::shared           ? ".shared"
                            : i.space == state_space::shared_cluster ? ".shared::cluster"
                                                                     : "";
  const std::string how = (i.strong ? ptx_name(i.order) + "." + ptx_name(i.scope) : "weak") + space + size;
  const std::string to = "r" + std::to_string(i.destination) + ", ";
  const std::string at = i.target < 0 ? std::string()
                         : i.indirect ? "[r" + std::to_string(i.target) + "]"
                                      : location_name(i.target);
  const std::string object = i.multimem ? "multimem." : "";
  const std::string update = ptx_name(i.order) + "." + ptx_name(i.scope) + space + "." + ptx_name(i.what) + size + " ";
  switch (i.code) {
    case opcode::load:
      if (i.multimem) {
        return "multimem.ld_reduce." + how + "." + ptx_name(i.what) + " " + to + at;
      }
      return (i.via == proxy::read_only ? "ld.global.nc" + size : "ld." + how) + " " + to + at;
    case opcode::shuffle:
      return shuffle_text(i);
    case opcode::store:
      return object + "st." + how + " " + at + ", " + operand_text(i.a);
    case opcode::atomic:
      return "atom." + update + to + at + ", " + operand_text(i.a) +
             (i.what == operation::compare_exchange ? ", " + operand_text(i.b) : "");
    case opcode::reduction:
      return object + "red." + update + at + ", " + operand_text(i.a);
    case opcode::fence:
      return i.restricted ? "fence.mbarrier_init.release.cluster" : "fence." + ptx_name(i.order) + "." + ptx_name(i.scope);
    case opcode::barrier:
      if (i.barrier == barrier_kind::cluster) {
        return i.arrives ? "barrier.cluster.arrive." + ptx_name(i.order) : "barrier.cluster.wait.acquire";
      }
      return "bar.cta.sync " + operand_text(i.a);
    case opcode::proxy_fence: {
      if (i.restricted) {
        return one_way_text(i, at);
      }
      static constexpr const char* proxies[] = {"generic", "surface",   "texture", "constant",
                                                "alias",   "read_only", "async",   "tensormap"};
      return std::string("fence.proxy.") + proxies[static_cast<std::size_t>(i.via)] + async_space_text(i.space);
    }
    case opcode::compute:
      return i.what == operation::move ? "mov " + to + operand_text(i.b)
                                       : ptx_name(i.what) + " " + to + operand_text(i.a) + ", " + operand_text(i.b);
    case opcode::mbarrier_init:
    case opcode::mbarrier_arrive:
    case opcode::mbarrier_wait:
    case opcode::async_copy:
    case opcode::async_arrive:
    case opcode::async_commit:
    case opcode::async_wait:
    case opcode::grid_wait:
    case opcode::grid_launch:
      return asynchronous_text(i);
    default:
      throw error("the C++ test has an instruction that a litmus file cannot express");
  }
}

/// Returns an instruction in the syntax of a litmus file.
[[nodiscard]] inline std::string instruction_text(const instruction& i) {
  return (i.guard < 0 ? "" : (i.guard_negated ? "@!r" : "@r") + std::to_string(i.guard) + " ") + unguarded_text(i);
}

[[nodiscard]] inline std::string term_text(const litmus_test& test, const term& t) {
  return t.kind == term::kind_t::constant         ? std::to_string(t.value)
         : t.kind == term::kind_t::register_value ? "P" + std::to_string(t.thread) + ":r" + std::to_string(t.index)
                                                  : at(test.location_names, t.index);
}

[[nodiscard]] inline std::string condition_text(const litmus_test& test, std::span<const condition_node> nodes, int root) {
  static constexpr const char* signs[] = {"==", "!=", "<", "<=", ">", ">="};
  const condition_node& n = at(nodes, root);
  const auto child = [&](int index) {
    const condition_node& inner = at(nodes, index);
    const bool alone = inner.kind == condition_node::kind_t::compare || inner.kind == n.kind;
    const std::string text = condition_text(test, nodes, index);
    return alone ? text : "(" + text + ")";
  };
  switch (n.kind) {
    case condition_node::kind_t::always:
      return "true";
    case condition_node::kind_t::compare:
      return term_text(test, n.left) + " " + signs[static_cast<std::size_t>(n.test)] + " " + term_text(test, n.right);
    case condition_node::kind_t::negation:
      return "~(" + condition_text(test, nodes, n.first) + ")";
    case condition_node::kind_t::conjunction:
      return child(n.first) + " /\\ " + child(n.second);
    case condition_node::kind_t::disjunction:
      return child(n.first) + " \\/ " + child(n.second);
  }
  return "";
}

/// Returns one thread of a test, with its number as its name.
[[nodiscard]] inline litmus_test::thread named_thread(const test_view& test, std::span<const shared_instance> shared,
                                                      int number) {
  const thread_view& of = test.program.threads[number];
  litmus_test::thread thread;
  thread.number = number;
  thread.where = of.where;
  int registers = 0;
  for (const instruction& i : of.code) {
    thread.code.push_back(i);
    instruction written = i;
    for_each_location(written, [&](int& named, state_space space, int) {
      for (const shared_instance& one : shared) {
        if (space == state_space::shared && named == one.location) {
          named = one.variable;
          return;
        }
      }
    });
    thread.text.push_back(instruction_text(written));
    for (const int used : {i.destination, i.predicate, i.guard, i.a.is_register ? i.a.index : -1,
                           i.b.is_register ? i.b.index : -1, i.indirect ? i.target : -1, i.source_indirect ? i.source : -1}) {
      registers = std::max(registers, used + 1);
    }
  }
  for (const condition_node& n : test.condition) {
    if (n.kind == condition_node::kind_t::compare && n.left.kind == term::kind_t::register_value && n.left.thread == number) {
      registers = std::max(registers, n.left.index + 1);
    }
  }
  for (int r = 0; r < registers; ++r) {
    thread.register_names.push_back(std::to_string(r).insert(0, 1, 'r'));
    thread.registers.push_back(at(of.registers, r));
  }
  return thread;
}

/// Sets the locations of a test and their names.
inline void name_locations(litmus_test& result, const test_view& test, std::span<const shared_instance> shared) {
  for (const location& one : test.program.locations) {
    result.locations.push_back(one);
    result.location_names.push_back(one.multimem < 0 ? location_name(one.address)
                                                     : location_name(one.multimem) + "." + location_name(one.physical));
  }
  for (const shared_instance& i : shared) {
    const auto instances = std::count_if(shared.begin(), shared.end(), [&](const auto& o) { return o.variable == i.variable; });
    at(result.location_names, i.location) =
        (instances == 1 ? "" : "P" + std::to_string(i.thread) + ":") + location_name(i.variable);
  }
}

/// The part of `named_test` that does not depend on the test's type, and is therefore compiled only once.
[[nodiscard]] inline litmus_test named_view(const test_view& test, std::span<const shared_instance> shared, std::string name) {
  litmus_test result;
  result.name = std::move(name);
  name_locations(result, test, shared);
  for (int t = 0; t < test.program.threads.size(); ++t) {
    result.threads.push_back(named_thread(test, shared, t));
  }
  result.api.assign(test.program.api.begin(), test.program.api.end());
  result.launches.assign(test.program.launches.begin(), test.program.launches.end());
  result.condition.assign(test.condition.begin(), test.condition.end());
  result.has_condition = true;
  result.condition_text = "(";
  result.condition_text += condition_text(result, test.condition, count_of(test.condition) - 1) + ")";
  for (const condition_node& n : test.condition) {
    const std::string text = term_text(result, n.left);
    const bool known =
        std::any_of(result.observed.begin(), result.observed.end(), [&](const observable& o) { return o.name == text; });
    if (n.kind == condition_node::kind_t::compare && !known) {
      result.observed.push_back({text, n.left});
    }
  }
  return result;
}

}  // namespace detail

/// Returns `test` under the name `name`. Its locations are named x, y, z, w, v4, ..., and its registers r0, r1, ... It observes
/// the registers and locations that the condition names, in the order of the condition. Throws `error` for a test without a
/// condition, or with more than 16 locations.
template <std::size_t... Counts>
[[nodiscard]] litmus_test named_test(const litmus_program<Counts...>& test, std::string name) {
  if (test.asked().empty()) {
    throw error("the test '" + name + "' has no condition: add one with when()");
  }
  return test.with_view([&](const test_view& view) { return detail::named_view(view, test.shared_memory(), std::move(name)); });
}

}  // namespace model
}  // namespace v0_3
}  // namespace membar
