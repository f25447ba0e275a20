// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <check/async_copies.hpp>
#include <check/liveness.hpp>
#include <check/machine.hpp>
#include <check/program.hpp>
#include <membar/model/array.hpp>
#include <ptx/decode.hpp>
#include <ptx/instruction.hpp>
#include <ptx/reader.hpp>

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace membar::check {

namespace {

[[nodiscard]] copy_shape shape_of(const instruction& i) {
  copy_shape s;
  s.kind = i.from_space != state_space::generic ? copy_shape::kind_t::memory
           : i.mbarrier != mbarrier_op::none    ? copy_shape::kind_t::arrival
                                                : copy_shape::kind_t::values;
  s.piece = i.bytes;
  s.elements = s.kind == copy_shape::kind_t::values ? i.elements : 1;
  s.reduces = i.combines;
  s.what = i.what;
  s.type = i.combines ? i.type : ptx_type::none;
  return s;
}

/// Whether a copy of memory says how many of its bytes it reads, the rest being zeros.
[[nodiscard]] bool may_fill(const instruction& i) noexcept { return i.completes == model::completion::group && i.sources > 3; }

/// A copy that reads nothing and writes zeros.
[[nodiscard]] copy_shape filling(copy_shape s) noexcept {
  s.kind = copy_shape::kind_t::zeros;
  return s;
}

/// The code that performs copies of these shapes. %rd0 is the number of the shape, %rd1 the source, %rd2 the destination, %rd3 the
/// bytes, %rd4 the mbarrier or 0, %rd5 to %rd8 values.
[[nodiscard]] std::string copying_ptx(const std::vector<copy_shape>& shapes) {
  const auto access = [](const copy_shape& s) {
    return s.piece == 16 ? std::string("b128") : "b" + std::to_string(8 * s.piece);
  };
  const auto reduction = [](const copy_shape& s) {
    constexpr const char* names[] = {"add", "and", "or", "xor", "min", "max", "inc", "dec"};
    constexpr model::operation operations[] = {
        model::operation::add,     model::operation::bit_and, model::operation::bit_or,    model::operation::bit_xor,
        model::operation::minimum, model::operation::maximum, model::operation::increment, model::operation::decrement};
    const auto at = std::find(std::begin(operations), std::end(operations), s.what) - std::begin(operations);
    const char* const kind = is_float(s.type)                                     ? ".f"
                             : is_signed(s.type)                                  ? ".s"
                             : s.type == ptx_type::b32 || s.type == ptx_type::b64 ? ".b"
                                                                                  : ".u";
    return std::string("red.relaxed.") + (s.kind == copy_shape::kind_t::values ? "cluster." : "gpu.") + names[at] + kind +
           std::to_string(8 * s.piece);
  };
  std::string text =
      ".version 9.0\n.target sm_90\n.address_size 64\n.visible .entry copy()\n{\n.reg .b64 %rd<16>;\n.reg .pred %p<2>;\n"
      ".reg .b128 %q<2>;\n.local .align 16 .b8 buffer[4096];\nT: .branchtargets ";
  for (std::size_t n = 0; n < shapes.size(); ++n) {
    text += (n == 0 ? "S" : ", S") + std::to_string(n);
  }
  text += ";\nbrx.idx %rd0, T;\n";
  for (std::size_t n = 0; n < shapes.size(); ++n) {
    const copy_shape& s = shapes[n];
    const std::string label = "S" + std::to_string(n);
    const std::string piece = std::to_string(s.piece);
    const std::string word = s.piece == 16 ? "%q0" : "%rd13";
    const auto loop = [&](const std::string& name, const std::string& body, const std::string& address) {
      return "mov.u64 %rd11, %rd3;\nmov.u64 %rd12, buffer;\n" + name + ":\n" + body + "add.u64 " + address + ", " + address +
             ", " + piece + ";\nadd.u64 %rd12, %rd12, " + piece + ";\nsub.u64 %rd11, %rd11, " + piece +
             ";\nsetp.ne.u64 %p0, %rd11, 0;\n@%p0 bra " + name + ";\n";
    };
    const std::string put = s.reduces ? reduction(s) : "st." + access(s);
    text += label + ":\n";
    if (s.kind == copy_shape::kind_t::memory) {
      text += loop(label + "R",
                   "ld." + access(s) + " " + word + ", [%rd1];\nst.local." + access(s) + " [%rd12], " + word + ";\n", "%rd1");
      text +=
          loop(label + "W", "ld.local." + access(s) + " " + word + ", [%rd12];\n" + put + " [%rd2], " + word + ";\n", "%rd2");
    } else if (s.kind == copy_shape::kind_t::zeros) {
      text +=
          "mov.u64 %rd13, 0;\nmov.b128 %q0, {%rd13, %rd13};\n" + loop(label + "W", put + " [%rd2], " + word + ";\n", "%rd2");
    } else if (s.kind == copy_shape::kind_t::values) {
      for (int k = 0; k < s.elements; ++k) {
        const std::string value = s.piece == 16 ? "%q0" : "%rd" + std::to_string(5 + k);
        text += (s.piece == 16 ? "mov.b128 %q0, {%rd5, %rd6};\n" : "") + put + " [%rd2+" + std::to_string(k * s.piece) + "], " +
                value + ";\n";
      }
    } else {
      text += "cp.async.wait_all;\nmbarrier.arrive.release.cta.b64 %rd13, [%rd4];\nexit;\n";
    }
    text += "setp.eq.u64 %p0, %rd4, 0;\n@%p0 exit;\nmbarrier.complete_tx.relaxed.cluster.b64 [%rd4], %rd3;\nexit;\n";
  }
  return text + "}\n";
}

}  // namespace

std::vector<copy_shape> shapes_of(const program& p) {
  std::vector<copy_shape> result;
  const auto add = [&](const copy_shape& s) {
    if (std::find(result.begin(), result.end(), s) == result.end()) {
      result.push_back(s);
    }
  };
  for (const auto& kernel : p.kernels) {
    for (const instruction& i : kernel->code) {
      if (i.code != op::async_copy) {
        continue;
      }
      add(shape_of(i));
      if (may_fill(i)) {
        add(filling(shape_of(i)));
      }
    }
  }
  return result;
}

bool starts_copies(const kernel_code& kernel) {
  return std::any_of(kernel.code.begin(), kernel.code.end(), [](const instruction& i) { return i.code == op::async_copy; });
}

bool starts_copies(const program& p) {
  return std::any_of(p.kernels.begin(), p.kernels.end(), [](const auto& kernel) { return starts_copies(*kernel); });
}

program with_copies(const program& p, int each) {
  program result = p;
  result.copies_of_each = each;
  const std::vector<copy_shape> shapes = shapes_of(p);
  const ptx_module module = read_ptx(copying_ptx(shapes));
  kernel_code code = decode_kernel(module, layout_of(module), module.functions.front());
  code.name = "an asynchronous copy";
  result.kernels.push_back(std::make_shared<kernel_code>(std::move(code)));
  std::shared_ptr<const register_use> registers;
  for (int t = 0; t < model::count_of(p.threads); ++t) {
    if (!starts_copies(*model::at(p.threads, t).kernel)) {
      continue;
    }
    thread_context c = model::at(p.threads, t);
    c.kernel = result.kernels.back().get();
    c.parameters.clear();
    c.copies_of = t;
    registers = registers == nullptr ? register_use_of(c, false) : registers;
    c.registers = registers;
    result.threads.insert(result.threads.end(), static_cast<std::size_t>(each), c);
  }
  return result;
}

std::string misplaced(const instruction& i, const thread_context& c, const copy_request& r) {
  const auto& [number, from, to, bytes, barrier, v0, v1, v2, v3] = r.words;
  const auto is_own = [&](std::uint64_t address) { return thread_context::block_of(address) == c.block_number; };
  if (i.mbarrier != mbarrier_op::none) {
    return is_own(barrier) ? "" : "lets its copies arrive at an mbarrier of another block";
  }
  if (i.from_space == state_space::shared && !is_own(from)) {
    return "starts a copy from another block's shared memory";
  }
  if (i.space == state_space::shared && i.own_block && !is_own(to)) {
    return "starts a copy by '.shared::cta' to another block's shared memory";
  }
  if (i.space == state_space::shared && barrier != 0 && thread_context::block_of(barrier) != thread_context::block_of(to)) {
    return "starts a copy that completes at an mbarrier of another block than that of its destination";
  }
  return {};
}

copy_request copy_started(const std::vector<copy_shape>& shapes, const machine& m, const thread_state& s) {
  const instruction& i = m.at(s);
  const copy_shape shape = shape_of(i);
  copy_request result;
  auto& [number, from, to, bytes, barrier, v0, v1, v2, v3] = result.words;
  number = static_cast<std::uint64_t>(std::find(shapes.begin(), shapes.end(), shape) - shapes.begin());
  const auto operand = [&](int n) { return m.operand(s, n); };
  const auto completes_at = [&](int n) { return m.generic(state_space::shared, operand(n)); };
  if (shape.kind == copy_shape::kind_t::arrival) {
    barrier = m.base_address(s, i);
    return result;
  }
  to = m.base_address(s, i);
  if (shape.kind == copy_shape::kind_t::values) {
    std::uint64_t* const values[] = {&v0, &v1, &v2, &v3};
    for (int k = 0; k < shape.elements; ++k) {
      *values[k] = operand(1 + k);
    }
    bytes = static_cast<std::uint64_t>(shape.piece) * static_cast<std::uint64_t>(shape.elements);
    barrier = completes_at(1 + shape.elements);
    return result;
  }
  from = m.generic(i.from_space, operand(1));
  bytes = truncated(operand(2), 32);
  const std::uint64_t read = may_fill(i) ? truncated(operand(3), 32) : bytes;
  if (read == 0) {
    number = static_cast<std::uint64_t>(std::find(shapes.begin(), shapes.end(), filling(shape)) - shapes.begin());
  }
  const std::uint64_t unit = i.completes == model::completion::group ? static_cast<std::uint64_t>(shape.piece) : 16;
  if (bytes == 0 || bytes % unit != 0) {
    result.wrong = "starts a copy of " + std::to_string(bytes) + " bytes, which must be a multiple of " + std::to_string(unit);
  } else if (bytes > most_copied) {
    result.wrong = "starts a copy of " + std::to_string(bytes) + " bytes, and copies of up to " + std::to_string(most_copied) +
                   " are checked: make the tile smaller";
    result.status = check_status::gave_up;
  } else if (read != bytes && read != 0) {
    result.wrong = "starts a copy that reads " + std::to_string(read) + " of " + std::to_string(bytes) +
                   " bytes and fills the rest with zeros: all or none of the bytes are supported";
    result.status = check_status::gave_up;
  }
  barrier = i.completes == model::completion::mbarrier ? completes_at(3) : 0;
  if (i.multicast) {
    std::uint64_t blocks = truncated(operand(4), 16);
    if (blocks == 0) {
      result.wrong = "starts a copy to no block";
    }
    for (unsigned k = 0; k < s.part; ++k) {
      blocks &= blocks - 1;
    }
    const auto rank = static_cast<std::uint32_t>(std::countr_zero(blocks | (std::uint64_t{1} << 16U)));
    to = m.generic(state_space::shared, thread_context::in_block(rank, to));
    barrier = m.generic(state_space::shared, thread_context::in_block(rank, barrier));
    result.last = (blocks & (blocks - 1)) == 0;
  }
  return result;
}

}  // namespace membar::check
