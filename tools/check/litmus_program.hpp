// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
/// @file
/// A litmus test of the generic proxy as a program that can be explored, so that the explorer and the model can be compared.
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
#include <ptx/reader.hpp>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <set>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

namespace membar::check {

using namespace ptx;

namespace detail {

/// One thread of a litmus test as a PTX kernel. Register k of the test is register k of the kernel.
class litmus_thread {
 public:
  /// `place` gives the address of a location; `here` is where the thread runs.
  litmus_thread(const model::litmus_test& test, const model::litmus_test::thread& thread, const thread_context& here,
                const std::function<std::uint64_t(int)>& place)
      : test_(test), thread_(thread), here_(here), place_(place) {}

  [[nodiscard]] std::string text() const {
    const auto registers = thread_.registers.size();
    std::string out = ".visible .entry P" + std::to_string(thread_.number) + "()\n{\n.reg .b64 %r<" +
                      std::to_string(registers + 1) + ">;\n.reg .b64 %t<4>;\n.reg .pred %p<2>;\n.local .align 8 .b8 final[" +
                      std::to_string(8 * registers + 8) + "];\n";
    for (std::size_t k = 0; k < registers; ++k) {
      out += "mov.b64 %r" + std::to_string(k) + ", " + std::to_string(initial_of(thread_.registers[k])) + ";\n";
    }
    std::set<int> targets;
    for (const model::instruction& i : thread_.code) {
      if (i.code == model::opcode::branch || i.code == model::opcode::jump) {
        targets.insert(i.target);
      }
    }
    for (int k = 0; k <= model::count_of(thread_.code); ++k) {
      if (targets.count(k) != 0) {
        out += "L" + std::to_string(k) + ":\n";
      }
      if (k < model::count_of(thread_.code)) {
        out += line(model::at(thread_.code, k)) + "\n";
      }
    }
    for (std::size_t k = 0; k < registers; ++k) {  // the final values matter
      out += "st.local.b64 [final+" + std::to_string(8 * k) + "], %r" + std::to_string(k) + ";\n";
    }
    return out + "ret;\n}\n";
  }

 private:
  /// A value that a register begins with: if it is the address of a location, where that lies.
  [[nodiscard]] std::int64_t initial_of(std::int64_t value) const {
    for (int l = 0; l < model::count_of(test_.locations); ++l) {
      if (value == model::address_value(l)) {
        return static_cast<std::int64_t>(place_(model::at(test_.locations, l).physical));
      }
    }
    return value;
  }

  [[noreturn]] static void refuse(const model::instruction& i, const std::string& what) {
    throw model::error(i.line, 1,
                       what + " is not supported: accesses, fences and barriers of the generic and the async proxy are");
  }

  [[nodiscard]] static std::string scope(const model::instruction& i) {
    switch (i.scope) {
      case thread_scope::block:
        return ".cta";
      case thread_scope::cluster:
        return ".cluster";
      case thread_scope::device:
        return ".gpu";
      default:
        return ".sys";
    }
  }

  [[nodiscard]] static std::string order(const model::instruction& i) {
    switch (i.order) {
      case memory_order::relaxed:
        return ".relaxed";
      case memory_order::acquire:
        return ".acquire";
      case memory_order::release:
        return ".release";
      case memory_order::acq_rel:
        return ".acq_rel";
      default:
        return ".sc";
    }
  }

  [[nodiscard]] static std::string value(const model::operand& o) {
    return o.is_register ? "%r" + std::to_string(o.index) : std::to_string(o.value);
  }

  [[nodiscard]] std::string address(const model::instruction& i) const {
    return i.indirect ? "[%r" + std::to_string(i.target) + "]" : address_of(i.target);
  }
  [[nodiscard]] std::string address_of(int location) const {
    return "[" + std::to_string(place_(model::at(test_.locations, location).physical)) + "]";
  }
  /// The address of a location in its state space: of shared memory as this thread's block has it. One in a register is put into %t`n`, by what is
  /// added to `before`.
  [[nodiscard]] std::string address_in_space(int location, bool indirect, bool shared, int n, std::string& before) const {
    if (indirect) {
      const std::string to = "%t" + std::to_string(n);
      const std::string from = ", %r" + std::to_string(location) + ";\n";
      before += (shared ? "cvta.to.shared.u64 " : "mov.b64 ") + to + from;
      return "[" + to + "]";
    }
    const std::uint64_t place = place_(model::at(test_.locations, location).physical);
    return "[" + std::to_string(place < shared_window ? place : here_.to_shared(place)) + "]";
  }
  [[nodiscard]] bool in_shared_memory(int location, bool indirect, model::state_space space) const {
    return indirect ? space == model::state_space::shared || space == model::state_space::shared_cluster
                    : place_(model::at(test_.locations, location).physical) >= shared_window;
  }

  [[nodiscard]] static std::string type(const model::instruction& i) {
    return i.bytes == 8 ? ".s64" : i.bytes == 4 ? ".s32" : i.bytes == 2 ? ".s16" : ".s8";
  }

  [[nodiscard]] static std::string to(const model::instruction& i) {
    return i.destination < 0 ? "_" : "%r" + std::to_string(i.destination);
  }

  /// The name in a table by operation; empty for one that the table does not have.
  template <std::size_t Size>
  [[nodiscard]] static std::string named(const std::array<const char*, Size>& names, model::operation what) {
    const auto n = static_cast<std::size_t>(what);
    return n < Size ? names[n] : "";
  }

  [[nodiscard]] std::string line(const model::instruction& i) const {
    if (i.guard < 0) {
      return plain_line(i);
    }
    return "setp.ne.s64 %p1, %r" + std::to_string(i.guard) + ", 0;\n@" + (i.guard_negated ? "!" : "") + "%p1 " + plain_line(i);
  }

  [[nodiscard]] std::string plain_line(const model::instruction& i) const {
    if (i.code >= model::opcode::async_copy && i.code <= model::opcode::grid_launch) {
      return asynchronous_line(i);
    }
    if (i.code == model::opcode::proxy_fence) {
      return proxy_fence_line(i);
    }
    if (i.via != model::proxy::generic || i.bytes > 8 || i.element != 0) {
      refuse(i, "an access through another proxy, of 16 bytes or of a vector");
    }
    const std::string strong = i.strong ? order(i) + scope(i) : ".weak";
    switch (i.code) {
      case model::opcode::load:
        return "ld" + strong + type(i) + " " + to(i) + ", " + address(i) + ";";
      case model::opcode::store:
        return "st" + strong + type(i) + " " + address(i) + ", " + value(i.a) + ";";
      case model::opcode::atomic:
      case model::opcode::reduction: {
        static constexpr std::array<const char*, 13> names = {".exch", ".add", "",     "",     "",     ".and", ".or",
                                                              ".xor",  ".min", ".max", ".inc", ".dec", ".cas"};
        std::string name = named(names, i.what);
        std::string by = value(i.a);
        if (i.what == model::operation::subtract && !i.a.is_register) {
          name = ".add";
          by = std::to_string(-i.a.value);
        }
        if (name.empty()) {
          refuse(i, "this read-modify-write");
        }
        const bool atomic = i.code == model::opcode::atomic;
        return (atomic ? "atom" : "red") + order(i) + scope(i) + name + type(i) + " " + (atomic ? to(i) + ", " : "") +
               address(i) + ", " + by + (i.what == model::operation::compare_exchange ? ", " + value(i.b) : "") + ";";
      }
      case model::opcode::fence:
        return (i.restricted ? "fence.mbarrier_init" : "fence") + order(i) + scope(i) + ";";
      case model::opcode::mbarrier_init:
        return "mbarrier.init.b64 " + address(i) + ", " + std::to_string(i.arrivals) + ";";
      case model::opcode::mbarrier_arrive:
        return arrival_line(i);
      case model::opcode::mbarrier_wait:
        return wait_line(i);
      case model::opcode::barrier:
        if (i.barrier == model::barrier_kind::cluster && i.arrives != i.waits) {
          return i.arrives ? "barrier.cluster.arrive" + order(i) + ";" : "barrier.cluster.wait.acquire;";
        }
        if (i.barrier != model::barrier_kind::block || !i.arrives || i.has_quorum || i.b.is_register || i.b.value >= 0) {
          refuse(i, "a barrier other than bar.cta.sync and bar.cta.arrive of a whole block");
        }
        // bar.arrive names how many threads its barrier is of, and then all others at that barrier do
        return (i.waits ? "bar.sync " : "bar.arrive ") + value(i.a) + (some_only_arrive_ ? ", %ntid.x;" : ";");
      case model::opcode::compute: {
        static constexpr std::array<const char*, 13> names = {"mov.b64", "add.s64", "sub.s64", "mul.lo.s64", "",
                                                              "and.b64", "or.b64",  "xor.b64", "min.s64",    "max.s64",
                                                              "",        "",        ""};
        const std::string name = named(names, i.what);
        if (name.empty()) {
          refuse(i, "this arithmetic");
        }
        return name + " " + to(i) + ", " + (i.what == model::operation::move ? value(i.b) : value(i.a) + ", " + value(i.b)) +
               ";";
      }
      case model::opcode::branch: {
        if (i.guard >= 0) {
          refuse(i, "a conditional branch under a predicate");
        }
        static constexpr const char* names[] = {"eq", "ne", "lt", "le", "gt", "ge"};
        return std::string("setp.") + names[static_cast<std::size_t>(i.test)] + ".s64 %p0, " + value(i.a) + ", " + value(i.b) +
               ";\n@%p0 bra L" + std::to_string(i.target) + ";";
      }
      case model::opcode::jump:
        return "bra L" + std::to_string(i.target) + ";";
      default:
        refuse(i, "this instruction");
    }
  }

  // ---- the asynchronous side

  [[nodiscard]] std::string arrival_line(const model::instruction& i) const {
    const std::string how = order(i) + scope(i);
    if (i.arrivals == 0 && i.completed_bytes != 0) {
      return "mbarrier.complete_tx" + how + ".b64 " + address(i) + ", " + std::to_string(i.completed_bytes) + ";";
    }
    if (i.arrivals == 0 && i.expected_bytes != 0) {
      return "mbarrier.expect_tx" + how + ".b64 " + address(i) + ", " + std::to_string(i.expected_bytes) + ";";
    }
    if (i.arrivals < 1 || i.destination >= 0 || (i.expected_bytes != 0 && i.arrivals != 1)) {
      refuse(i, "this arrival");
    }
    return i.expected_bytes != 0
               ? "mbarrier.arrive.expect_tx" + how + ".b64 _, " + address(i) + ", " + std::to_string(i.expected_bytes) + ";"
               : "mbarrier.arrive" + how + ".b64 _, " + address(i) + ", " + std::to_string(i.arrivals) + ";";
  }

  /// A wait in a loop. One for a phase by its number has the state of that phase; a thread that waits for a later phase has waited for those
  /// before.
  [[nodiscard]] std::string wait_line(const model::instruction& i) const {
    if (i.destination >= 0 || i.a.is_register || i.guard >= 0) {
      refuse(i, "a test of an mbarrier that does not wait");
    }
    std::int64_t waited = 0;
    for (const model::instruction& o : thread_.code) {
      if (&o == &i) {
        break;
      }
      waited += o.code == model::opcode::mbarrier_wait && !o.parity && o.target == i.target ? 1 : 0;
    }
    if (!i.parity && i.a.value != waited) {
      refuse(i, "a wait for a phase whose thread has not waited for those before");
    }
    const std::string label = "W" + std::to_string(&i - thread_.code.data());
    const std::uint64_t phase = mbarrier_state{1, 1, 0, static_cast<std::uint64_t>(i.a.value) % 8}.word();
    return label + ":\nmbarrier.test_wait" + (i.parity ? ".parity" : "") + order(i) + scope(i) + ".b64 %p0, " + address(i) +
           ", " + (i.parity ? std::to_string(i.a.value) : std::to_string(phase)) + ";\n@!%p0 bra " + label + ";";
  }

  [[nodiscard]] static std::string proxy_fence_line(const model::instruction& i) {
    if (i.via != model::proxy::async) {
      refuse(i, "a fence of this proxy");
    }
    if (i.restricted) {
      return std::string("fence.proxy.async::generic") + order(i) +
             (i.order == memory_order::release ? ".sync_restrict::shared::cta.cluster;"
                                               : ".sync_restrict::shared::cluster.cluster;");
    }
    return std::string("fence.proxy.async") +
           (i.space == model::state_space::global           ? ".global"
            : i.space == model::state_space::shared         ? ".shared::cta"
            : i.space == model::state_space::shared_cluster ? ".shared::cluster"
                                                            : "") +
           ";";
  }

  [[nodiscard]] std::string asynchronous_line(const model::instruction& i) const {
    const bool bulk = i.completes == model::completion::bulk_group;
    switch (i.code) {
      case model::opcode::async_copy:
        return copy_line(i);
      case model::opcode::async_arrive:
        return std::string("cp.async.mbarrier.arrive") + (i.arrivals == 0 ? ".b64 " : ".noinc.b64 ") +
               address_of(i.barrier_at) + ";";
      case model::opcode::async_commit:
        return std::string("cp.async.") + (bulk ? "bulk." : "") + "commit_group;";
      case model::opcode::async_wait:
        return std::string("cp.async.") + (bulk ? "bulk." : "") + "wait_group" + (i.reads_only ? ".read " : " ") +
               std::to_string(i.pending_groups) + ";";
      case model::opcode::grid_wait:
        return "griddepcontrol.wait;";
      default:
        return "griddepcontrol.launch_dependents;";
    }
  }

  [[nodiscard]] std::string copy_line(const model::instruction& i) const {
    if (i.tensor_map >= 0 || i.guard >= 0 || i.element != 0 ||
        (i.completes == model::completion::mbarrier && i.barrier_at < 0)) {
      refuse(i, "a tensor copy, one under a predicate, or one of more than 16 bytes");
    }
    if (i.reduces && i.what != model::operation::add) {
      refuse(i, "this reduction");
    }
    std::string before;
    const auto space = [](bool shared) { return shared ? ".shared::cluster" : ".global"; };
    const bool to_shared = in_shared_memory(i.target, i.indirect, i.space);
    const std::string to = address_in_space(i.target, i.indirect, to_shared, 0, before);
    const bool completes = i.completes == model::completion::mbarrier;
    const std::string barrier = completes ? address_in_space(i.barrier_at, false, true, 1, before) : "";
    if (i.source < 0) {
      if (!completes || !to_shared) {
        refuse(i, "st.async to global memory");
      }
      return before + (i.reduces ? "red.async.relaxed.cluster" : "st.async.weak") +
             ".shared::cluster.mbarrier::complete_tx::bytes" + (i.reduces ? ".add.s32 " : ".b32 ") + to + ", " + value(i.a) +
             ", " + barrier + ";";
    }
    const bool from_shared = in_shared_memory(i.source, i.source_indirect, i.source_space);
    const std::string from = address_in_space(i.source, i.source_indirect, from_shared, 2, before);
    if (i.completes == model::completion::group) {
      return before + "cp.async.ca" + space(to_shared) + space(from_shared) + " " + to + ", " + from + ", 4;";
    }
    return before + (i.reduces ? "cp.reduce.async.bulk" : "cp.async.bulk") + space(to_shared) + space(from_shared) +
           (completes ? ".mbarrier::complete_tx::bytes" : ".bulk_group") + (i.reduces ? ".add.s32 " : " ") + to + ", " + from +
           ", 16" + (completes ? ", " + barrier : "") + ";";
  }

  const model::litmus_test& test_;
  const model::litmus_test::thread& thread_;
  const thread_context& here_;
  const std::function<std::uint64_t(int)>& place_;
  /// Whether a thread of the test arrives at a barrier of its block and does not wait.
  bool some_only_arrive_ = std::any_of(test_.threads.begin(), test_.threads.end(), [](const model::litmus_test::thread& t) {
    return std::any_of(t.code.begin(), t.code.end(), [](const model::instruction& i) {
      return i.code == model::opcode::barrier && i.barrier == model::barrier_kind::block && !i.waits;
    });
  });
};

/// Where the locations of a test lie, and the blocks that its threads are in.
class litmus_places {
 public:
  explicit litmus_places(const model::litmus_test& test) : test_(test) {
    std::vector<block> blocks;
    for (const model::litmus_test::thread& t : test.threads) {
      blocks.push_back(block_of(t.where));
    }
    std::sort(blocks.begin(), blocks.end());  // those of a cluster come one after the other
    blocks.erase(std::unique(blocks.begin(), blocks.end()), blocks.end());
    blocks_ = std::move(blocks);
  }

  [[nodiscard]] int number_of(const model::place& where) const {
    return static_cast<int>(std::lower_bound(blocks_.begin(), blocks_.end(), block_of(where)) - blocks_.begin());
  }

  /// Fills in a thread's block, and the place of that in its cluster.
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
    // an mbarrier is in shared memory: of no thread that is named, in that of the first block
    const int number = owner < 0 ? home_of_mbarriers_ : number_of(model::at(test_.threads, owner).where);
    return shared_window + (static_cast<std::uint64_t>(number) << 32U) + first_offset +
           16 * static_cast<std::uint64_t>(location);
  }

 private:
  using block = std::tuple<bool, int, int, int>;  ///< of a host; device; cluster, or less than 0; number
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

/// The program of a litmus test. Throws `model::error` for one with other proxies than the generic and the async one.
[[nodiscard]] inline program program_of(const model::litmus_test& test) {
  program result;
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
  std::string text;
  std::vector<std::uint32_t> sizes(test.threads.size());
  for (const model::litmus_test::thread& t : test.threads) {
    thread_context& c = result.threads.emplace_back();
    c.where = t.where;
    c.launch = model::count_of(result.threads) - 1;
    places.place(c);
    c.thread[0] = model::at(sizes, c.block_number)++;
    text += detail::litmus_thread(test, t, c, place).text();
  }
  const ptx_module module = read_ptx(text);
  const module_layout layout = layout_of(module);
  result.dependent.assign(test.threads.size(), false);
  for (int t = 0; t < model::count_of(test.threads); ++t) {
    result.kernels.push_back(std::make_shared<kernel_code>(decode_kernel(module, layout, model::at(module.functions, t))));
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
          throw model::error("a thread that is dependent on one launch and comes after another is not supported");
        }
        result.launches_before.back().push_back(edge.before);
        result.dependent[static_cast<std::size_t>(t)] = true;
      }
    }
    c.live_at_heads = live_at_heads(c);
  }
  return result;
}

/// The final value of a register of the test in a complete execution.
[[nodiscard]] inline std::int64_t register_value(const final_memory& end, int thread, int reg) {
  return static_cast<std::int64_t>(model::at(end.execution().threads, thread).states.back()->words()[reg]);
}

/// The final value of a location of the test in a complete execution.
[[nodiscard]] inline std::int64_t memory_value(const model::litmus_test& test, const final_memory& end, int location) {
  const int home = model::at(test.locations, location).physical;
  return static_cast<std::int64_t>(extended(end.value(detail::litmus_places(test).address(home), 4), ptx_type::s32));
}

}  // namespace membar::check
