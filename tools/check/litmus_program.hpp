// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
/// @file
/// Converts a litmus test into a program that can be explored, so that the explorer can be compared with the model.
#pragma once

#include <check/graph.hpp>
#include <check/liveness.hpp>
#include <check/mbarrier_state.hpp>
#include <check/program.hpp>
#include <membar/model/array.hpp>
#include <membar/model/error.hpp>
#include <membar/model/litmus_test.hpp>
#include <membar/model/program.hpp>
#include <ptx/decode.hpp>
#include <ptx/module.hpp>
#include <ptx/opcode.hpp>
#include <ptx/words.hpp>
#include <ptx/writer.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <set>
#include <string>
#include <string_view>
#include <tuple>
#include <utility>
#include <vector>

namespace membar::check {

using namespace ptx;

namespace detail {

/// Converts one thread of a litmus test into a PTX kernel. Register k of the test is register k of the kernel.
class litmus_thread {
 public:
  /// `here` is the place where the thread runs. `place` returns the address of a location. `line` is the line number of the
  /// kernel's first line.
  litmus_thread(const model::litmus_test& test, const model::litmus_test::thread& thread, const thread_context& here,
                const std::function<std::uint64_t(int)>& place, int line)
      : test_(test), thread_(thread), here_(here), place_(place), kernel_("P" + std::to_string(thread.number), line) {
    const auto registers = thread_.registers.size();
    kernel_.declare_local("final", 8, 8 * registers + 8);
    for (std::size_t k = 0; k < registers; ++k) {
      kernel_.add("mov.b64", {registers_[k], number(initial_of(thread_.registers[k]))});
    }
    std::set<int> targets;
    for (const model::instruction& i : thread_.code) {
      if (i.code == model::opcode::branch || i.code == model::opcode::jump) {
        targets.insert(i.target);
      }
    }
    for (int k = 0; k <= model::count_of(thread_.code); ++k) {
      if (targets.count(k) != 0) {
        kernel_.label(label_of(k));
      }
      if (k < model::count_of(thread_.code)) {
        add(model::at(thread_.code, k));
      }
    }
    for (std::size_t k = 0; k < registers; ++k) {  // keeps the registers live, because their final values are needed
      kernel_.add("st.local.b64", {memory_at("final", 8 * k), registers_[k]});
    }
    kernel_.add("ret", {});
  }

  [[nodiscard]] const kernel_writer& kernel() const noexcept { return kernel_; }

 private:
  /// Returns the initial value of a register. If the value refers to a location, returns the location's address in memory.
  [[nodiscard]] std::int64_t initial_of(std::int64_t value) const {
    for (int l = 0; l < model::count_of(test_.locations); ++l) {
      if (value == model::address_value(l)) {
        return static_cast<std::int64_t>(place_of(l));
      }
    }
    return value;
  }

  [[noreturn]] static void refuse(const model::instruction& i, const std::string& what) {
    throw model::error(
        i.line, 1,
        what + " is not supported: only accesses, fences and barriers of the generic and async proxies can be checked");
  }

  // ---- operands

  [[nodiscard]] static std::string label_of(int instruction) { return "L" + std::to_string(instruction); }
  [[nodiscard]] const ptx_operand& reg(int n) const { return model::at(registers_, n); }
  [[nodiscard]] ptx_operand value(const model::operand& o) const { return o.is_register ? reg(o.index) : number(o.value); }
  [[nodiscard]] ptx_operand to(const model::instruction& i) const { return i.destination < 0 ? sink() : reg(i.destination); }
  [[nodiscard]] std::uint64_t place_of(int location) const { return place_(model::at(test_.locations, location).physical); }
  [[nodiscard]] ptx_operand address(const model::instruction& i) const {
    return i.indirect ? memory_at(reg(i.target)) : memory_at(place_of(i.target));
  }
  /// Returns the address of a location in its state space. For shared memory, the address is in the window of this thread's
  /// block. An address in a register is first converted into `temporaries_[n]`.
  [[nodiscard]] ptx_operand address_in_space(int location, bool indirect, bool shared, int n) {
    if (indirect) {
      const ptx_operand& in_space = model::at(temporaries_, n);
      kernel_.add(shared ? "cvta.to.shared.u64" : "mov.b64", {in_space, reg(location)});
      return memory_at(in_space);
    }
    const std::uint64_t place = place_of(location);
    return memory_at(place < shared_window ? place : here_.to_shared(place));
  }
  [[nodiscard]] bool in_shared_memory(int location, bool indirect, model::state_space space) const {
    return indirect ? space == model::state_space::shared || space == model::state_space::shared_cluster
                    : place_of(location) >= shared_window;
  }
  [[nodiscard]] static ptx_type type(const model::instruction& i) {
    return i.bytes == 8 ? ptx_type::s64 : i.bytes == 4 ? ptx_type::s32 : i.bytes == 2 ? ptx_type::s16 : ptx_type::s8;
  }

  // ---- instructions

  void add(const model::instruction& i) {
    if (i.guard >= 0) {
      kernel_.add("setp.ne.s64", {predicates_[1], reg(i.guard), number(0)});
      kernel_.guard(predicates_[1], i.guard_negated);
    }
    if (i.code >= model::opcode::async_copy && i.code <= model::opcode::grid_launch) {
      add_asynchronous(i);
      return;
    }
    if (i.code == model::opcode::proxy_fence) {
      add_proxy_fence(i);
      return;
    }
    if (i.via != model::proxy::generic || i.bytes > 8 || i.element != 0) {
      refuse(i, "an access through another proxy, to 16 bytes, or to a vector");
    }
    switch (i.code) {
      case model::opcode::load:
        kernel_.add(access("ld", i), {to(i), address(i)});
        break;
      case model::opcode::store:
        kernel_.add(access("st", i), {address(i), value(i.a)});
        break;
      case model::opcode::atomic:
      case model::opcode::reduction:
        add_read_modify_write(i);
        break;
      case model::opcode::fence:
        kernel_.add(opcode_text(i.restricted ? "fence.mbarrier_init" : "fence", i.order, i.scope), {});
        break;
      case model::opcode::mbarrier_init:
        kernel_.add("mbarrier.init.b64", {address(i), number(i.arrivals)});
        break;
      case model::opcode::mbarrier_arrive:
        add_arrival(i);
        break;
      case model::opcode::mbarrier_wait:
        add_wait(i);
        break;
      case model::opcode::barrier:
        add_barrier(i);
        break;
      case model::opcode::compute:
        add_computation(i);
        break;
      case model::opcode::branch:
        add_branch(i);
        break;
      case model::opcode::jump:
        kernel_.add("bra", {named(label_of(i.target))});
        break;
      default:
        refuse(i, "this instruction");
    }
  }

  [[nodiscard]] static std::string access(std::string_view name, const model::instruction& i) {
    return i.strong ? opcode_text(name, i.order, i.scope, type(i)) : opcode_text(name, "weak", type(i));
  }

  void add_read_modify_write(const model::instruction& i) {
    model::operation what = i.what;
    ptx_operand by = value(i.a);
    if (what == model::operation::subtract && !i.a.is_register) {
      what = model::operation::add;
      by = number(-i.a.value);
    }
    if (!is_atomic_operation(what)) {
      refuse(i, "this read-modify-write");
    }
    const bool atomic = i.code == model::opcode::atomic;
    const std::string opcode = opcode_text(atomic ? "atom" : "red", i.order, i.scope, what, type(i));
    if (!atomic) {
      kernel_.add(opcode, {address(i), by});
    } else if (what == model::operation::compare_exchange) {
      kernel_.add(opcode, {to(i), address(i), by, value(i.b)});
    } else {
      kernel_.add(opcode, {to(i), address(i), by});
    }
  }

  void add_barrier(const model::instruction& i) {
    if (i.barrier == model::barrier_kind::cluster && i.arrives != i.waits) {
      kernel_.add(i.arrives ? opcode_text("barrier.cluster.arrive", i.order) : "barrier.cluster.wait.acquire", {});
      return;
    }
    if (i.barrier != model::barrier_kind::block || !i.arrives || i.has_quorum || i.b.is_register || i.b.value >= 0) {
      refuse(i, "a barrier other than a bar.cta.sync or bar.cta.arrive for the whole block");
    }
    // bar.arrive specifies the number of threads at its barrier, so every instruction at that barrier must specify this number
    if (some_only_arrive_) {
      kernel_.add(i.waits ? "bar.sync" : "bar.arrive", {value(i.a), named("%ntid.x")});
    } else {
      kernel_.add("bar.sync", {value(i.a)});
    }
  }

  void add_computation(const model::instruction& i) {
    using model::operation;
    if (i.what == operation::move) {
      kernel_.add("mov.b64", {to(i), value(i.b)});
      return;
    }
    const bool bits = i.what == operation::bit_and || i.what == operation::bit_or || i.what == operation::bit_xor;
    const bool numbers = i.what == operation::add || i.what == operation::subtract || i.what == operation::multiply ||
                         i.what == operation::minimum || i.what == operation::maximum;
    if (!bits && !numbers) {
      refuse(i, "this arithmetic");
    }
    kernel_.add(opcode_text(word_of(i.what), i.what == operation::multiply ? "lo" : "", bits ? ptx_type::b64 : ptx_type::s64),
                {to(i), value(i.a), value(i.b)});
  }

  void add_branch(const model::instruction& i) {
    if (i.guard >= 0) {
      refuse(i, "a conditional branch under a predicate");
    }
    static constexpr ptx_comparison tests[] = {ptx_comparison::eq, ptx_comparison::ne, ptx_comparison::lt,
                                               ptx_comparison::le, ptx_comparison::gt, ptx_comparison::ge};
    kernel_.add(opcode_text("setp", tests[static_cast<std::size_t>(i.test)], ptx_type::s64),
                {predicates_[0], value(i.a), value(i.b)});
    kernel_.guard(predicates_[0], false);
    kernel_.add("bra", {named(label_of(i.target))});
  }

  // ---- asynchronous operations

  void add_arrival(const model::instruction& i) {
    const auto opcode = [&](std::string_view name) { return opcode_text(name, i.order, i.scope, ptx_type::b64); };
    if (i.arrivals == 0 && i.completed_bytes != 0) {
      kernel_.add(opcode("mbarrier.complete_tx"), {address(i), number(i.completed_bytes)});
      return;
    }
    if (i.arrivals == 0 && i.expected_bytes != 0) {
      kernel_.add(opcode("mbarrier.expect_tx"), {address(i), number(i.expected_bytes)});
      return;
    }
    if (i.arrivals < 1 || i.destination >= 0 || (i.expected_bytes != 0 && i.arrivals != 1)) {
      refuse(i, "this arrival");
    }
    const bool bytes = i.expected_bytes != 0;
    kernel_.add(opcode(bytes ? "mbarrier.arrive.expect_tx" : "mbarrier.arrive"),
                {sink(), address(i), number(bytes ? i.expected_bytes : i.arrivals)});
  }

  /// Adds a loop that waits at an mbarrier. If the wait names a phase by its number, the loop tests the state of that phase. A
  /// thread may wait for a phase only after it has waited for all earlier phases.
  void add_wait(const model::instruction& i) {
    if (i.destination >= 0 || i.a.is_register || i.guard >= 0) {
      refuse(i, "a non-blocking test of an mbarrier");
    }
    std::int64_t waited = 0;
    for (const model::instruction& o : thread_.code) {
      if (&o == &i) {
        break;
      }
      waited += o.code == model::opcode::mbarrier_wait && !o.parity && o.target == i.target ? 1 : 0;
    }
    if (!i.parity && i.a.value != waited) {
      refuse(i, "a wait for a phase by a thread that has not waited for the earlier phases");
    }
    const std::string label = "W" + std::to_string(&i - thread_.code.data());
    const std::uint64_t phase = mbarrier_state{1, 1, 0, static_cast<std::uint64_t>(i.a.value) % 8}.word();
    kernel_.label(label);
    kernel_.add(opcode_text("mbarrier.test_wait", i.parity ? "parity" : "", i.order, i.scope, ptx_type::b64),
                {predicates_[0], address(i), number(i.parity ? i.a.value : static_cast<std::int64_t>(phase))});
    kernel_.guard(predicates_[0], true);
    kernel_.add("bra", {named(label)});
  }

  void add_proxy_fence(const model::instruction& i) {
    if (i.via != model::proxy::async) {
      refuse(i, "a fence of this proxy");
    }
    if (i.restricted) {
      const bool releases = i.order == memory_order::release;
      kernel_.add(
          opcode_text("fence.proxy.async::generic", i.order,
                      releases ? "sync_restrict::shared::cta" : "sync_restrict::shared::cluster", thread_scope::cluster),
          {});
      return;
    }
    const std::uint8_t own = bit_of(proxy_space::own_shared);
    const std::uint8_t spaces = i.space == model::state_space::global   ? bit_of(proxy_space::global)
                                : i.space == model::state_space::shared ? own
                                : i.space == model::state_space::shared_cluster
                                    ? static_cast<std::uint8_t>(own | bit_of(proxy_space::other_shared))
                                    : every_proxy_space;
    kernel_.add(opcode_text("fence.proxy.async", word_for(proxy_space_words, spaces)), {});
  }

  void add_asynchronous(const model::instruction& i) {
    const std::string_view kind = i.completes == model::completion::bulk_group ? "cp.async.bulk" : "cp.async";
    switch (i.code) {
      case model::opcode::async_copy:
        add_copy(i);
        break;
      case model::opcode::async_arrive:
        kernel_.add(opcode_text("cp.async.mbarrier.arrive", i.arrivals == 0 ? "" : "noinc", ptx_type::b64),
                    {memory_at(place_of(i.barrier_at))});
        break;
      case model::opcode::async_commit:
        kernel_.add(opcode_text(kind, "commit_group"), {});
        break;
      case model::opcode::async_wait:
        kernel_.add(opcode_text(kind, "wait_group", i.reads_only ? "read" : ""), {number(i.pending_groups)});
        break;
      case model::opcode::grid_wait:
        kernel_.add("griddepcontrol.wait", {});
        break;
      default:
        kernel_.add("griddepcontrol.launch_dependents", {});
    }
  }

  void add_copy(const model::instruction& i) {
    const bool completes = i.completes == model::completion::mbarrier;
    if (i.tensor_map >= 0 || i.guard >= 0 || i.element != 0 || (completes && i.barrier_at < 0)) {
      refuse(i, "a tensor copy, a copy of more than 16 bytes, or a copy with a predicate");
    }
    if (i.reduces && i.what != model::operation::add) {
      refuse(i, "this reduction");
    }
    const auto space = [](bool shared) { return shared ? "shared::cluster" : "global"; };
    constexpr std::string_view completion = "mbarrier::complete_tx::bytes";
    const bool to_shared = in_shared_memory(i.target, i.indirect, i.space);
    const ptx_operand to = address_in_space(i.target, i.indirect, to_shared, 0);
    const ptx_operand barrier = completes ? address_in_space(i.barrier_at, false, true, 1) : ptx_operand{};
    if (i.source < 0) {
      if (!completes || !to_shared) {
        refuse(i, "st.async to global memory");
      }
      kernel_.add(i.reduces ? opcode_text("red.async.relaxed.cluster", space(true), completion, i.what, ptx_type::s32)
                            : opcode_text("st.async.weak", space(true), completion, ptx_type::b32),
                  {to, value(i.a), barrier});
      return;
    }
    const bool from_shared = in_shared_memory(i.source, i.source_indirect, i.source_space);
    const ptx_operand from = address_in_space(i.source, i.source_indirect, from_shared, 2);
    if (i.completes == model::completion::group) {
      kernel_.add(opcode_text("cp.async.ca", space(to_shared), space(from_shared)), {to, from, number(4)});
      return;
    }
    const std::string opcode = opcode_text(i.reduces ? "cp.reduce.async.bulk" : "cp.async.bulk", space(to_shared),
                                           space(from_shared), completes ? completion : "bulk_group",
                                           i.reduces ? word_of(i.what) : "", i.reduces ? ptx_type::s32 : ptx_type::none);
    if (completes) {
      kernel_.add(opcode, {to, from, number(16), barrier});
    } else {
      kernel_.add(opcode, {to, from, number(16)});
    }
  }

  const model::litmus_test& test_;
  const model::litmus_test::thread& thread_;
  const thread_context& here_;
  const std::function<std::uint64_t(int)>& place_;
  /// Whether any thread of the test arrives at a barrier of its block without waiting.
  bool some_only_arrive_ = std::any_of(test_.threads.begin(), test_.threads.end(), [](const model::litmus_test::thread& t) {
    return std::any_of(t.code.begin(), t.code.end(), [](const model::instruction& i) {
      return i.code == model::opcode::barrier && i.barrier == model::barrier_kind::block && !i.waits;
    });
  });
  kernel_writer kernel_;
  std::vector<ptx_operand> registers_ = kernel_.declare_registers("%r", ptx_type::b64, model::count_of(thread_.registers) + 1);
  std::vector<ptx_operand> temporaries_ = kernel_.declare_registers("%t", ptx_type::b64, 4);
  std::vector<ptx_operand> predicates_ = kernel_.declare_registers("%p", ptx_type::pred, 2);
};

/// The addresses of a test's locations, and the blocks of its threads.
class litmus_places {
 public:
  explicit litmus_places(const model::litmus_test& test) : test_(test) {
    std::vector<block> blocks;
    for (const model::litmus_test::thread& t : test.threads) {
      blocks.push_back(block_of(t.where));
    }
    std::sort(blocks.begin(), blocks.end());  // the blocks of a cluster are consecutive
    blocks.erase(std::unique(blocks.begin(), blocks.end()), blocks.end());
    blocks_ = std::move(blocks);
  }

  [[nodiscard]] int number_of(const model::place& where) const {
    return static_cast<int>(std::lower_bound(blocks_.begin(), blocks_.end(), block_of(where)) - blocks_.begin());
  }

  /// Fills in a thread's block and the block's position in its cluster.
  void place(thread_context& c) const {
    c.block_number = number_of(c.where);
    int first = c.block_number;
    int last = c.block_number;
    while (first > 0 && same_cluster(first - 1, c.block_number)) {
      --first;
    }
    while (last + 1 < model::count_of(blocks_) && same_cluster(last + 1, c.block_number)) {
      ++last;
    }
    c.cluster_rank = static_cast<std::uint32_t>(c.block_number - first);
    c.cluster_blocks = static_cast<std::uint32_t>(last - first + 1);
  }

  [[nodiscard]] std::uint64_t address(int location) const {
    const int owner = model::at(test_.locations, location).owner;
    const int arrivals = model::at(test_.locations, location).arrivals;
    if (owner < 0 && arrivals == 0) {
      return static_cast<std::uint64_t>(model::address_value(location));
    }
    // an mbarrier is in shared memory: in the block of the thread that owns it, or in the first block if it has no owner
    const int number = owner < 0 ? home_of_mbarriers_ : number_of(model::at(test_.threads, owner).where);
    return shared_window + (static_cast<std::uint64_t>(number) << 32U) + first_offset +
           16 * static_cast<std::uint64_t>(location);
  }

 private:
  /// A block: whether it represents a host thread, its device, its cluster (negative if it has none), and its number.
  using block = std::tuple<bool, int, int, int>;
  [[nodiscard]] static block block_of(const model::place& p) {
    return {p.host, p.host ? 0 : p.gpu, p.host ? 0 : p.cluster < 0 ? -1 - p.block : p.cluster, p.host ? -1 : p.block};
  }
  [[nodiscard]] bool same_cluster(int x, int y) const {
    const auto& [host, gpu, cluster, number] = model::at(blocks_, x);
    const auto& [other_host, other_gpu, other_cluster, other] = model::at(blocks_, y);
    return !host && !other_host && gpu == other_gpu && cluster == other_cluster;
  }

  const model::litmus_test& test_;
  std::vector<block> blocks_;
  int home_of_mbarriers_ = 0;
};

}  // namespace detail

/// Returns the program of a litmus test. Throws `model::error` if the test uses proxies other than the generic and async
/// proxies.
[[nodiscard]] inline program program_of(const model::litmus_test& test) {
  program result;
  result.fragment = true;
  const detail::litmus_places places(test);
  const auto is_initialized_by_a_thread = [&](int location) {
    return std::any_of(test.threads.begin(), test.threads.end(), [&](const model::litmus_test::thread& t) {
      return std::any_of(t.code.begin(), t.code.end(),
                         [&](const auto& i) { return i.code == model::opcode::mbarrier_init && i.target == location; });
    });
  };
  for (int l = 0; l < model::count_of(test.locations); ++l) {
    const model::location& location = model::at(test.locations, l);
    const int first = location.physical;
    if (model::at(test.locations, first).address != location.address || location.multimem >= 0) {
      throw model::error("the location '" + model::at(test.location_names, l) + "' is an alias, which is not supported");
    }
    if (l == first) {
      const std::uint64_t value = location.arrivals != 0 ? initial_mbarrier(static_cast<std::uint64_t>(location.arrivals))
                                                         : static_cast<std::uint64_t>(location.initial);
      std::vector<std::uint8_t> initial(8);
      for (unsigned b = 0; b < 8; ++b) {
        initial[b] = static_cast<std::uint8_t>(value >> (8 * b));
      }
      const bool initialised = location.arrivals == 0 || !is_initialized_by_a_thread(l);
      result.memory.push_back({model::at(test.location_names, l), places.address(first), 16, initialised, false,
                               initialised ? initial : std::vector<std::uint8_t>{}});
    }
  }
  const std::function<std::uint64_t(int)> place = [&](int location) { return places.address(location); };
  std::vector<ptx_function> kernels;
  int line = 1;
  std::vector<std::uint32_t> sizes(test.threads.size());
  for (const model::litmus_test::thread& t : test.threads) {
    thread_context& c = result.threads.emplace_back();
    c.where = t.where;
    c.launch = model::count_of(result.threads) - 1;
    places.place(c);
    c.thread[0] = model::at(sizes, c.block_number)++;
    const detail::litmus_thread thread(test, t, c, place, line);
    kernels.push_back(thread.kernel().function());
    line = thread.kernel().end_line();
  }
  result.dependent.assign(test.threads.size(), false);
  for (int t = 0; t < model::count_of(test.threads); ++t) {
    result.kernels.push_back(std::make_shared<kernel_code>(decode_kernel({}, {}, model::at(kernels, t))));
    thread_context& c = model::at(result.threads, t);
    c.kernel = result.kernels.back().get();
    c.threads[0] = model::at(sizes, c.block_number);
    result.launches_before.emplace_back();
    for (const model::api_edge& edge : test.api) {
      if (edge.after == t) {
        result.launches_before.back().push_back(edge.before);
      }
    }
    for (const model::api_edge& edge : test.launches) {
      if (edge.after == t) {
        if (!result.launches_before.back().empty() && !result.dependent[static_cast<std::size_t>(t)]) {
          throw model::error("a thread that depends on one launch and runs after another launch is not supported");
        }
        result.launches_before.back().push_back(edge.before);
        result.dependent[static_cast<std::size_t>(t)] = true;
      }
    }
    c.registers = register_use_of(c, false);
  }
  return result;
}

/// Returns the final value of one of the test's registers in a complete execution.
[[nodiscard]] inline std::int64_t register_value(const final_memory& end, int thread, int reg) {
  return static_cast<std::int64_t>(model::at(end.execution().threads, thread).states.back()->words()[reg]);
}

/// Returns the final value of one of the test's locations in a complete execution.
[[nodiscard]] inline std::int64_t memory_value(const model::litmus_test& test, const final_memory& end, int location) {
  const int home = model::at(test.locations, location).physical;
  return static_cast<std::int64_t>(extended(end.value(detail::litmus_places(test).address(home), 4), ptx_type::s32));
}

}  // namespace membar::check
