// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
/// @file
/// A litmus test of the generic proxy as a program that can be explored, so that the explorer and the model can be compared.
#pragma once

#include <membar/check/decode.hpp>
#include <membar/check/liveness.hpp>
#include <membar/check/program.hpp>
#include <membar/check/ptx_reader.hpp>
#include <membar/model/array.hpp>
#include <membar/model/error.hpp>
#include <membar/model/litmus_test.hpp>
#include <membar/model/program.hpp>

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <set>
#include <string>
#include <utility>
#include <vector>

namespace membar::inline v0_2::checker {

namespace detail {

/// One thread of a litmus test as a PTX kernel. Register k of the test is register k of the kernel.
class litmus_thread {
 public:
  litmus_thread(const model::litmus_test& test, const model::litmus_test::thread& thread) : test_(test), thread_(thread) {}

  [[nodiscard]] std::string text() const {
    const auto registers = thread_.registers.size();
    std::string out = ".visible .entry P" + std::to_string(thread_.number) + "()\n{\n.reg .b64 %r<" +
                      std::to_string(registers + 1) + ">;\n.reg .pred %p<2>;\n.local .align 8 .b8 final[" +
                      std::to_string(8 * registers + 8) + "];\n";
    for (std::size_t k = 0; k < registers; ++k) {
      out += "mov.b64 %r" + std::to_string(k) + ", " + std::to_string(thread_.registers[k]) + ";\n";
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
  [[noreturn]] static void refuse(const model::instruction& i, const std::string& what) {
    throw model::error(i.line, 1,
                       what + " is not supported: only accesses, fences and block barriers of the generic proxy are");
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
    if (i.indirect) {
      return "[%r" + std::to_string(i.target) + "]";
    }
    return "[" + std::to_string(model::address_value(model::at(test_.locations, i.target).physical)) + "]";
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
        if (i.restricted) {
          refuse(i, "fence.mbarrier_init");
        }
        return "fence" + order(i) + scope(i) + ";";
      case model::opcode::barrier:
        if (i.barrier != model::barrier_kind::block || !i.arrives || !i.waits || i.has_quorum || i.b.is_register ||
            i.b.value != 0) {
          refuse(i, "a barrier other than bar.cta.sync of a whole block");
        }
        return "bar.sync " + value(i.a) + ";";
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

  const model::litmus_test& test_;
  const model::litmus_test::thread& thread_;
};

}  // namespace detail

/// The program of a litmus test. Throws `model::error` for a test that is not of the generic proxy alone.
[[nodiscard]] inline program program_of(const model::litmus_test& test) {
  program result;
  for (int l = 0; l < model::count_of(test.locations); ++l) {
    const model::location& location = model::at(test.locations, l);
    if (location.arrivals != 0) {
      throw model::error("the location '" + model::at(test.location_names, l) + "' is an mbarrier, which is not supported");
    }
    if (location.owner >= 0) {
      throw model::error("the location '" + model::at(test.location_names, l) + "' is shared memory, which is not supported");
    }
    const int first = location.physical;
    const model::location& home = model::at(test.locations, first);
    if (home.address != location.address) {
      throw model::error("the location '" + model::at(test.location_names, l) + "' is an alias, which is not supported");
    }
    const std::uint64_t address = static_cast<std::uint64_t>(model::address_value(first));
    if (l == first) {
      std::vector<std::uint8_t> initial(8);
      for (unsigned b = 0; b < 8; ++b) {
        initial[b] = static_cast<std::uint8_t>(static_cast<std::uint64_t>(location.initial) >> (8 * b));
      }
      result.memory.push_back({model::at(test.location_names, l), address, 8, true, false, std::move(initial)});
    }
  }
  std::string text;
  for (const model::litmus_test::thread& t : test.threads) {
    text += detail::litmus_thread(test, t).text();
  }
  const ptx_module module = read_ptx(text);
  const module_layout layout = layout_of(module);
  std::vector<std::pair<int, int>> blocks;
  std::vector<std::uint32_t> sizes;
  for (int t = 0; t < model::count_of(test.threads); ++t) {
    result.kernels.push_back(std::make_shared<kernel_code>(decode_kernel(module, layout, model::at(module.functions, t))));
    thread_context c;
    c.kernel = result.kernels.back().get();
    c.where = model::at(test.threads, t).where;
    c.launch = t;
    result.launches_before.emplace_back();
    for (const model::api_edge& edge : test.api) {
      if (edge.after == t) {
        result.launches_before.back().push_back(edge.before);
      }
    }
    c.block_number = model::count_of(blocks);
    for (int b = 0; b < model::count_of(blocks) && !c.where.host; ++b) {
      if (model::at(blocks, b) == std::pair(c.where.gpu, c.where.block)) {
        c.block_number = b;
      }
    }
    if (c.block_number == model::count_of(blocks)) {
      blocks.emplace_back(c.where.host ? -1 : c.where.gpu, c.where.block);
      sizes.push_back(0);
    }
    c.thread[0] = model::at(sizes, c.block_number)++;
    result.threads.push_back(std::move(c));
  }
  for (thread_context& c : result.threads) {
    c.threads[0] = model::at(sizes, c.block_number);
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
  return static_cast<std::int64_t>(
      extended(end.value(static_cast<std::uint64_t>(model::address_value(home)), 4), ptx_type::s32));
}

}  // namespace membar::inline v0_2::checker
