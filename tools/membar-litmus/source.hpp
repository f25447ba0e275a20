// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
/// @file
/// The CUDA C++ source of a litmus file: every instruction is one inline-assembly statement with the PTX that the file says.
///
/// Registers hold 64 bits; a load extends what it reads by its sign. What an instruction takes from another one it takes as a
/// value that no compiler can foresee: the constants and repeated operands of arithmetic pass through a zero that only the
/// device knows, so that a false dependency stays one. A branch reaches the address of every later store in the same way.
#pragma once

#include "run_plan.hpp"
#include <membar/memory_order.hpp>
#include <membar/model/program.hpp>
#include <membar/thread_scope.hpp>

#include <algorithm>
#include <cctype>
#include <cstddef>
#include <cstdint>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace membar::litmus {

/// The source of a test, and what it takes to compile and to run it.
struct test_source {
  std::string text;               ///< of the type `file_test`, for a translation unit that includes kernel.cuh
  int compute_capability = 70;    ///< the least, as major * 10 + minor
  std::string capability_reason;  ///< the line that asks for it, quoted; empty if none does
  int nvrtc = 12000;              ///< the oldest compiler, as CUDA counts versions
  std::string nvrtc_reason;
};

/// What stands before the tests of a translation unit.
inline constexpr std::string_view source_prologue =
    "// Written by membar-litmus. Each asm statement is one instruction of the file.\n"
    "#include <membar/litmus/kernel.cuh>\n"
    "\n"
    "// Zero, which the compiler cannot know: the host could have written it.\n"
    "extern \"C\" __constant__ unsigned long long membar_litmus_zero = 0;\n"
    "\n";

/// What stands behind a test: its kernel, `membar_litmus_kernel`.
inline constexpr std::string_view source_epilogue =
    "\n"
    "extern \"C\" __global__ void __launch_bounds__(1024, 1)\n"
    "membar_litmus_kernel(const __grid_constant__ membar::litmus::launch_view view) {\n"
    "  membar::litmus::run_launch<file_test>(view);\n"
    "}\n";

/// Writes the source of one test. Constructed for a plan, used once.
class source_writer {
 public:
  explicit source_writer(const run_plan& plan, std::string name = "file_test") : plan_(&plan), name_(std::move(name)) {}

  /// The source. Throws `model::error`, with the line, for an instruction that PTX does not have.
  [[nodiscard]] test_source write() {
    const model::litmus_test& test = plan_->test();
    std::string threads;
    for (std::size_t t = 0; t < test.threads.size(); ++t) {
      if (!test.threads[t].where.host) {
        threads += thread_function(t);
      }
    }
    out_.text = "// " + printable(test.name) + "\nstruct " + name_ + " {\n" + facts() + threads + dispatch() + "};\n";
    return std::move(out_);
  }

 private:
  using instruction = model::instruction;
  using opcode = model::opcode;
  using operation = model::operation;

  [[nodiscard]] static std::string printable(std::string text) {
    for (char& c : text) {
      // a backslash at a comment's end would continue it
      c = std::isprint(static_cast<unsigned char>(c)) == 0 || c == '\\' ? ' ' : c;
    }
    return text;
  }

  [[nodiscard]] static std::string literal(std::int64_t value) {
    const auto bits = static_cast<std::uint64_t>(value);
    return value < 0 ? "(long long)" + std::to_string(bits) + "ull" : std::to_string(value) + "ll";
  }

  // ---- what the kernel asks of a test

  [[nodiscard]] std::string facts() const {
    const std::vector<outcome_digit>& digits = plan_->digits();
    std::string out = "  static constexpr int threads = " + std::to_string(plan_->test().threads.size()) + ";\n";
    out += "  static constexpr int locations = " + std::to_string(plan_->cells()) + ";\n";
    out += "  static constexpr int observations = " + std::to_string(digits.size()) + ";\n\n";
    out += "  __host__ __device__ static constexpr membar::litmus::observation observed(int o) {\n";
    for (std::size_t o = 0; o < digits.size(); ++o) {
      const bool memory = digits[o].thread() < 0;
      const cell_part part = memory ? plan_->part(digits[o].what.index) : cell_part{};
      out += "    if (o == " + std::to_string(o) + ") return {" + (memory ? std::to_string(part.cell) : "-1") + ", " +
             std::to_string(std::min(part.bytes, 8)) + ", " + std::to_string(digits[o].radix()) + ", " +
             std::to_string(part.offset) + "};  // " + printable(digits[o].name) + "\n";
    }
    out += "    return {};\n  }\n\n";
    out += "  __host__ __device__ static constexpr unsigned digit(int o, long long value) {\n";
    for (std::size_t o = 0; o < digits.size(); ++o) {
      out += "    if (o == " + std::to_string(o) + ") return ";
      for (std::size_t v = 0; v < digits[o].values.size(); ++v) {
        out += "value == " + literal(plan_->machine_value(digits[o].values[v])) + " ? " + std::to_string(v) + " : ";
      }
      out += std::to_string(digits[o].values.size()) + ";\n";
    }
    out += "    return 0;\n  }\n\n";
    out += "  __host__ __device__ static constexpr membar::litmus::cell_value initial(int location) {\n";
    for (int c = 0; c < plan_->cells(); ++c) {
      const auto half = [&](std::size_t from) {
        std::uint64_t value = 0;
        for (std::size_t b = 8; b-- > 0;) {
          value = value << 8 | plan_->initial(c)[from + b];
        }
        return std::to_string(value) + "ull";
      };
      if (half(0) != "0ull" || half(8) != "0ull") {
        out += "    if (location == " + std::to_string(c) + ") return {" + half(0) + ", " + half(8) + "};\n";
      }
    }
    out += "    return {0 * static_cast<unsigned long long>(location), 0};\n  }\n\n";
    return out;
  }

  [[nodiscard]] std::string dispatch() const {
    std::string out =
        "  template <int Thread>\n"
        "  static __device__ void run(const membar::litmus::cells& at, const membar::litmus::results<" +
        name_ + ">& out) {\n";
    for (std::size_t t = 0; t < plan_->test().threads.size(); ++t) {
      if (!plan_->test().threads[t].where.host) {
        out += "    if constexpr (Thread == " + std::to_string(t) + ") thread_" + std::to_string(t) + "(at, out);\n";
      }
    }
    return out + "  }\n";
  }

  // ---- a thread

  [[nodiscard]] std::string thread_function(std::size_t number) {
    thread_ = &plan_->test().threads[number];
    addresses_.clear();
    uses_zero_ = uses_turns_ = false;
    carries_control_ = false;
    std::set<std::size_t> targets;
    for (std::size_t n = 0; n < thread_->code.size(); ++n) {
      const instruction& i = thread_->code[n];
      if (i.code == opcode::branch || i.code == opcode::jump) {
        targets.insert(static_cast<std::size_t>(i.target));
        carries_control_ = carries_control_ || (i.code == opcode::branch && (i.a.is_register || i.b.is_register));
      }
    }
    std::string body;
    for (std::size_t n = 0; n <= thread_->code.size(); ++n) {
      if (targets.count(n) != 0) {
        body += "  L" + std::to_string(n) + ":\n";
      }
      if (n < thread_->code.size() && thread_->code[n].element == 0) {
        at_ = n;
        body += "    // " + std::to_string(thread_->code[n].line) + ": " + printable(thread_->text[n]) + "\n";
        body += one(thread_->code[n]);
      }
    }
    std::string out = "  // P" + std::to_string(thread_->number) + "\n  static __device__ __forceinline__ void thread_" +
                      std::to_string(number) + "(const membar::litmus::cells& at, const membar::litmus::results<" + name_ +
                      ">& out) {\n";
    for (const int l : addresses_) {
      const cell_part& part = plan_->part(l);
      out += "    const unsigned long long a" + std::to_string(l) + " = __cvta_generic_to_global(at.as<char>(" +
             std::to_string(part.cell) + "))" + (part.offset != 0 ? " + " + std::to_string(part.offset) : "") + ";  // " +
             printable(plan_->test().location_names[static_cast<std::size_t>(l)]) + "\n";
    }
    if (uses_zero_) {
      out += "    const unsigned long long zero = membar_litmus_zero;\n";
    }
    for (std::size_t r = 0; r < thread_->registers.size(); ++r) {
      out += "    long long " + reg(static_cast<int>(r)) + " = " + literal(plan_->machine_value(thread_->registers[r])) +
             ";  // " + printable(thread_->register_names[r]) + "\n";
    }
    if (carries_control_) {
      out += "    unsigned long long control = 0;\n";
    }
    if (uses_turns_) {
      out += "    int turns = 0;\n";
    }
    const outcome_digit* end = plan_->end_of(static_cast<int>(number));
    if (end != nullptr) {
      out += "    unsigned end = 0;\n";
    }
    out += body;
    if (end != nullptr) {
      out += "  done:\n";
    }
    out += "    (void)at;\n    (void)out;\n";
    for (std::size_t o = 0; o < plan_->digits().size(); ++o) {
      const outcome_digit& d = plan_->digits()[o];
      if (d.thread() != static_cast<int>(number)) {
        continue;
      }
      out += "    out." +
             (d.end_of >= 0 ? "put(" + std::to_string(o) + ", end" : "write(" + std::to_string(o) + ", " + reg(d.what.index)) +
             ");\n";
    }
    return out + "  }\n\n";
  }

  [[nodiscard]] static std::string reg(int index) { return "r" + std::to_string(index); }

  [[nodiscard]] std::string quoted() const { return "'" + thread_->text[at_] + "'"; }

  [[noreturn]] void refuse(const std::string& why) const { refuse_line(thread_->code[at_].line, quoted() + ": " + why); }

  void needs_capability(int capability) {
    if (capability > out_.compute_capability) {
      out_.compute_capability = capability;
      out_.capability_reason = "line " + std::to_string(thread_->code[at_].line) + ": " + quoted();
    }
  }

  void needs_nvrtc(int version) {
    if (version > out_.nvrtc) {
      out_.nvrtc = version;
      out_.nvrtc_reason = "line " + std::to_string(thread_->code[at_].line) + ": " + quoted();
    }
  }

  // The words of the mnemonic, in lower case.
  [[nodiscard]] std::vector<std::string> words() const {
    std::vector<std::string> parts(1);
    for (const char c : thread_->text[at_]) {
      if (std::isspace(static_cast<unsigned char>(c)) != 0) {
        break;
      }
      if (c == '.') {
        parts.emplace_back();
      } else {
        parts.back() += static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
      }
    }
    return parts;
  }

  [[nodiscard]] bool says(std::string_view word) const {
    const std::vector<std::string> parts = words();
    return std::find(parts.begin(), parts.end(), word) != parts.end();
  }

  [[nodiscard]] std::string scope(thread_scope s) {
    if (s == thread_scope::cluster) {
      needs_capability(90);
    }
    return s == thread_scope::block     ? "cta"
           : s == thread_scope::cluster ? "cluster"
           : s == thread_scope::device  ? "gpu"
                                        : "sys";
  }

  [[nodiscard]] static std::string order(memory_order o) {
    return o == memory_order::relaxed   ? "relaxed"
           : o == memory_order::acquire ? "acquire"
           : o == memory_order::release ? "release"
           : o == memory_order::acq_rel ? "acq_rel"
                                        : "sc";
  }

  // ---- operands

  [[nodiscard]] std::string plain(const model::operand& o) const {
    return o.is_register ? reg(o.index) : literal(plan_->machine_value(o.value));
  }

  // A value that no compiler can foresee, for an operand of arithmetic on a register: x + 0 or x ^ 0, whichever the arithmetic
  // does not cancel out.
  [[nodiscard]] std::string opaque(const model::operand& o, operation what) {
    uses_zero_ = true;
    const bool sums = what == operation::add || what == operation::subtract;
    return "(long long)((unsigned long long)" + plain(o) + (sums ? " ^ zero)" : " + zero)");
  }

  // Both operands of arithmetic or of a comparison.
  [[nodiscard]] std::pair<std::string, std::string> operands(const model::operand& a, const model::operand& b, operation what) {
    const bool computed = a.is_register || b.is_register;
    const bool twice = a.is_register && b.is_register && a.index == b.index;
    return {computed && !a.is_register ? opaque(a, what) : plain(a),
            computed && (!b.is_register || twice) ? opaque(b, what) : plain(b)};
  }

  [[nodiscard]] static std::string ended(end_digit how) { return std::to_string(static_cast<int>(how)); }

  // The C++ expression of an access's address, and the statement that computes it.
  [[nodiscard]] std::pair<std::string, std::string> address(const instruction& i, bool writes) {
    std::string control;
    if (writes && carries_control_) {
      uses_zero_ = true;
      control = " + (control & zero)";
    }
    if (!i.indirect) {
      const int l = plan_->test().locations[static_cast<std::size_t>(i.target)].address;
      addresses_.insert(l);
      return {"", "a" + std::to_string(l) + control};
    }
    const std::string token = reg(i.target);
    std::string chain = "unsigned long long p = ";
    for (std::size_t l = 0; l < plan_->test().locations.size(); ++l) {
      if (plan_->may_point_to(static_cast<int>(l), i.bytes)) {
        addresses_.insert(static_cast<int>(l));
        chain += token + " == " + literal(address_token(static_cast<int>(l))) + " ? a" + std::to_string(l) + " : ";
      }
    }
    return {chain + "0; if (p == 0) { end = " + ended(end_digit::strayed) + "; goto done; } ", "p" + control};
  }

  // ---- instructions

  [[nodiscard]] std::string one(const instruction& i) {
    switch (i.code) {
      case opcode::load:
        return load(i);
      case opcode::store:
        return store(i);
      case opcode::atomic:
      case opcode::reduction:
        return update(i);
      case opcode::fence:
        return fence(i);
      case opcode::proxy_fence:
        return proxy_fence(i);
      case opcode::compute:
        return compute(i);
      case opcode::branch:
      case opcode::jump:
        return jump(i);
      default:
        refuse("this instruction does not run");
    }
  }

  // How many elements a vector access has; 1 for a scalar.
  [[nodiscard]] int elements() const {
    std::size_t n = at_ + 1;
    while (n < thread_->code.size() && thread_->code[n].element != 0) {
      ++n;
    }
    return static_cast<int>(n - at_);
  }

  // ".weak", ".acquire.gpu", ".volatile" or ".mmio.relaxed.sys", with the state space.
  [[nodiscard]] std::string manner(const instruction& i) {
    for (const char* space : {"shared", "shared::cta", "shared::cluster"}) {
      if (says(space)) {
        refuse("the locations of a run lie in global memory");
      }
    }
    const std::string space = says("generic") ? "" : ".global";
    if (says("volatile")) {
      return ".volatile" + space;
    }
    if (says("mmio")) {
      return ".mmio.relaxed.sys" + space;
    }
    return i.strong ? "." + order(i.order) + "." + scope(i.scope) + space : ".weak" + space;
  }

  // The type as the file writes it, or bits of the access's size.
  [[nodiscard]] std::string type(const instruction& i, std::string_view allowed) const {
    const std::string bits = std::to_string(8 * i.bytes);
    for (const std::string& part : words()) {
      if (part.size() > 1 && part.substr(1) == bits && std::string_view("busf").find(part.front()) != std::string_view::npos) {
        if (part.front() == 'f') {
          refuse("the values of a litmus file are integers, so a run has no floating-point accesses");
        }
        if (allowed.find(part.front()) != std::string_view::npos) {
          return "." + part;
        }
      }
    }
    return "." + std::string(1, allowed.front()) + bits;
  }

  [[nodiscard]] static std::string holder(int bytes) {
    return bytes == 2 ? "unsigned short" : bytes == 8 ? "unsigned long long" : "unsigned";
  }

  [[nodiscard]] static std::string constraint(int bytes) { return bytes == 2 ? "h" : bytes == 8 ? "l" : "r"; }

  // The value of a register as an operand of `bytes` bytes.
  [[nodiscard]] static std::string narrowed(const std::string& value, int bytes) {
    return "\"" + constraint(bytes) + "\"((" + holder(bytes) + ")" + (bytes == 1 ? "(unsigned char)" : "") + value + ")";
  }

  // What a register becomes of `bytes` bytes that were read.
  [[nodiscard]] static std::string widened(const std::string& value, int bytes) {
    return std::string(bytes == 1 ? "(signed char)" : bytes == 2 ? "(short)" : bytes == 4 ? "(int)" : "(long long)") + value;
  }

  // 16 bytes are one value if their high half is the sign of the low one; torn ones become a value that no test has.
  [[nodiscard]] static std::string whole(const std::string& destination) {
    return destination + " = (long long)hi == (long long)lo >> 63 ? (long long)lo : (long long)0x8000dead8000deadull;";
  }

  void no_large_vector(int count, int bytes) const {
    if (count > 4 || (count > 1 && count * bytes > 16) || (count == 4 && bytes == 8)) {
      refuse("a vector of this size does not run");
    }
  }

  [[nodiscard]] std::string load(const instruction& i) {
    const int count = elements();
    no_large_vector(count, i.bytes);
    const auto [prepare, where] = address(i, false);
    const std::string name = "ld" + manner(i);
    if (i.bytes == 16) {
      needs_nvrtc(12030);
      const std::string destination = i.destination < 0 ? "" : whole(reg(i.destination));
      return "    { " + prepare + "unsigned long long lo, hi; asm volatile(\"{ .reg .b128 q; " + name +
             ".b128 q, [%2]; mov.b128 {%0, %1}, q; }\" : \"=l\"(lo), \"=l\"(hi) : \"l\"(" + where + ") : \"memory\"); " +
             destination + " }\n";
    }
    std::string declared;
    std::string outputs;
    std::string list;
    std::string assign;
    for (int k = 0; k < count; ++k) {
      const std::string v = "v" + std::to_string(k);
      const int destination = thread_->code[at_ + static_cast<std::size_t>(k)].destination;
      declared += (k == 0 ? "" : ", ") + v;
      outputs += std::string(k == 0 ? "" : ", ") + "\"=" + constraint(i.bytes) + "\"(" + v + ")";
      list += std::string(k == 0 ? "" : ", ") + "%" + std::to_string(k);
      if (destination >= 0) {
        assign += reg(destination) + " = " + widened(v, i.bytes) + "; ";
      }
    }
    const std::string vector = count > 1 ? ".v" + std::to_string(count) : "";
    return "    { " + prepare + holder(i.bytes) + " " + declared + "; asm volatile(\"" + name + vector + type(i, "bsu") + " " +
           (count > 1 ? "{" + list + "}" : list) + ", [%" + std::to_string(count) + "];\" : " + outputs + " : \"l\"(" + where +
           ") : \"memory\"); " + assign + "}\n";
  }

  [[nodiscard]] std::string store(const instruction& i) {
    const int count = elements();
    no_large_vector(count, i.bytes);
    const auto [prepare, where] = address(i, true);
    const std::string name = "st" + manner(i);
    if (i.bytes == 16) {
      needs_nvrtc(12030);
      return "    { " + prepare + "const long long v = " + plain(i.a) +
             "; asm volatile(\"{ .reg .b128 q; mov.b128 q, {%1, %2}; " + name + ".b128 [%0], q; }\" :: \"l\"(" + where +
             "), \"l\"((unsigned long long)v), \"l\"((unsigned long long)(v >> 63)) : \"memory\"); }\n";
    }
    std::string inputs;
    std::string list;
    for (int k = 0; k < count; ++k) {
      inputs += ", " + narrowed(plain(thread_->code[at_ + static_cast<std::size_t>(k)].a), i.bytes);
      list += std::string(k == 0 ? "" : ", ") + "%" + std::to_string(k + 1);
    }
    const std::string vector = count > 1 ? ".v" + std::to_string(count) : "";
    return "    { " + prepare + "asm volatile(\"" + name + vector + type(i, "bsu") + " [%0], " +
           (count > 1 ? "{" + list + "}" : list) + ";\" :: \"l\"(" + where + ")" + inputs + " : \"memory\"); }\n";
  }

  // The operation and the type of a read-modify-write, as PTX has them.
  [[nodiscard]] std::string modification(const instruction& i) {
    const bool word = i.bytes == 4 || i.bytes == 8;
    const auto need = [&](bool exists, const char* sizes) {
      if (!exists) {
        refuse("PTX has this read-modify-write for " + std::string(sizes) + " only, not for " + std::to_string(i.bytes) +
               (i.bytes == 1 ? " byte" : " bytes"));
      }
    };
    switch (i.what) {
      case operation::add:
      case operation::subtract:
        need(word, "4 and 8 bytes");
        return ".add" + type(i, i.bytes == 4 ? "us" : "u");
      case operation::bit_and:
      case operation::bit_or:
      case operation::bit_xor:
        need(word, "4 and 8 bytes");
        return std::string(i.what == operation::bit_and ? ".and" : i.what == operation::bit_or ? ".or" : ".xor") + type(i, "b");
      case operation::minimum:
      case operation::maximum:
        need(word, "4 and 8 bytes");
        return std::string(i.what == operation::minimum ? ".min" : ".max") + type(i, "su");
      case operation::increment:
      case operation::decrement:
        need(i.bytes == 4, "4 bytes");
        return std::string(i.what == operation::increment ? ".inc" : ".dec") + type(i, "u");
      case operation::move:
        need(i.bytes >= 4, "4, 8 and 16 bytes");
        return ".exch" + type(i, "b");
      case operation::compare_exchange:
        need(i.bytes >= 2, "2, 4, 8 and 16 bytes");
        return ".cas" + type(i, "b");
      default:
        refuse("PTX has no such read-modify-write; the model decides it, and a run cannot show it");
    }
  }

  [[nodiscard]] std::string update(const instruction& i) {
    const bool reduces = i.code == opcode::reduction;
    const std::string what = modification(i);
    if (reduces && i.order != memory_order::relaxed && i.order != memory_order::release) {
      refuse("PTX has reductions that are relaxed or release; an acquiring one exists in the model only");
    }
    if (reduces && (i.what == operation::move || i.what == operation::compare_exchange)) {
      refuse("PTX has no reduction that exchanges; use atom");
    }
    (void)manner(i);  // refuses shared memory
    const auto [prepare, where] = address(i, true);
    const std::string name = std::string(reduces ? "red" : "atom") + "." + order(i.order) + "." + scope(i.scope) +
                             (says("generic") ? "" : ".global") + what;
    std::string a = plain(i.a);
    if (i.what == operation::subtract) {
      a = "(long long)(0 - (unsigned long long)" + a + ")";  // PTX has no subtraction in memory: the negative is added
    }
    const bool compares = i.what == operation::compare_exchange;
    if (i.bytes == 16) {
      needs_capability(90);
      needs_nvrtc(12030);
      std::string text = "    { " + prepare + "unsigned long long lo, hi; const long long a = " + a + ";";
      text += compares ? " const long long b = " + plain(i.b) + ";" : "";
      text += " asm volatile(\"{ .reg .b128 o, a, b; mov.b128 a, {%3, %4}; ";
      text += compares ? "mov.b128 b, {%5, %6}; " : "";
      text += name + " o, [%2], a" + (compares ? ", b" : "") + "; mov.b128 {%0, %1}, o; }\" : \"=l\"(lo), \"=l\"(hi) : \"l\"(" +
              where + "), \"l\"((unsigned long long)a), \"l\"((unsigned long long)(a >> 63))";
      text += compares ? ", \"l\"((unsigned long long)b), \"l\"((unsigned long long)(b >> 63))" : "";
      return text + " : \"memory\"); " + (i.destination < 0 ? "" : whole(reg(i.destination))) + " }\n";
    }
    const bool sinks = !reduces && i.destination < 0;
    const bool returns = !reduces && !sinks;
    const int first = returns ? 1 : 0;
    std::string text = "    { " + prepare + (returns ? holder(i.bytes) + " v; " : "") + "asm volatile(\"" + name + " " +
                       (returns ? "%0, "
                        : sinks ? "_, "
                                : "") +
                       "[%" + std::to_string(first) + "], %" + std::to_string(first + 1) +
                       (compares ? ", %" + std::to_string(first + 2) : "") +
                       ";\" : " + (returns ? "\"=" + constraint(i.bytes) + "\"(v)" : "") + " : \"l\"(" + where + "), " +
                       narrowed(a, i.bytes) + (compares ? ", " + narrowed(plain(i.b), i.bytes) : "") + " : \"memory\"); ";
    return text + (returns ? reg(i.destination) + " = " + widened("v", i.bytes) + "; " : "") + "}\n";
  }

  [[nodiscard]] std::string fence(const instruction& i) {
    const std::vector<std::string> parts = words();
    if (parts.front() == "membar") {
      return "    asm volatile(\"membar." + parts.at(1) + ";\" ::: \"memory\");\n";
    }
    if (i.order == memory_order::acquire || i.order == memory_order::release) {
      needs_nvrtc(12080);
    }
    return "    asm volatile(\"fence." + order(i.order) + "." + scope(i.scope) + ";\" ::: \"memory\");\n";
  }

  [[nodiscard]] std::string proxy_fence(const instruction& i) {
    std::string name;
    for (const std::string& part : words()) {
      name += (name.empty() ? "" : ".") + part;
    }
    if (i.via == model::proxy::alias) {
      return "    asm volatile(\"fence.proxy.alias;\" ::: \"memory\");\n";
    }
    if (i.via != model::proxy::other) {
      refuse("this proxy fence exists in the model only: PTX has alias, async and tensormap ones");
    }
    static const std::set<std::string> known = {"fence.proxy.async",
                                                "fence.proxy.async.global",
                                                "fence.proxy.async.shared::cta",
                                                "fence.proxy.async.shared::cluster",
                                                "fence.proxy.async::generic.acquire.sync_restrict::shared::cluster.cluster",
                                                "fence.proxy.async::generic.release.sync_restrict::shared::cta.cluster"};
    static const std::string tensormap = "fence.proxy.tensormap::generic.release.";
    const bool releases = name.rfind(tensormap, 0) == 0 &&
                          std::set<std::string>{"cta", "cluster", "gpu", "sys"}.count(name.substr(tensormap.size())) != 0;
    if (name.rfind("fence.proxy.tensormap::generic.acquire", 0) == 0) {
      refuse("it acquires a tensor map of 128 bytes, and the locations of a run have " + std::to_string(cell_bytes));
    }
    if (known.count(name) == 0 && !releases) {
      refuse("PTX has no such proxy fence");
    }
    needs_capability(90);
    if (name.rfind("fence.proxy.async::generic", 0) == 0) {
      needs_nvrtc(12080);
    }
    return "    asm volatile(\"" + name + ";\" ::: \"memory\");\n";
  }

  [[nodiscard]] std::string compute(const instruction& i) {
    if (i.destination < 0) {
      refuse("its result goes nowhere");
    }
    const std::string destination = reg(i.destination);
    if (i.what == operation::move) {
      return "    asm volatile(\"mov.b64 %0, %1;\" : \"=l\"(" + destination + ") : \"l\"(" + plain(i.b) + ") : \"memory\");\n";
    }
    const auto [a, b] = operands(i.a, i.b, i.what);
    const char* name = i.what == operation::add        ? "add.s64"
                       : i.what == operation::subtract ? "sub.s64"
                       : i.what == operation::multiply ? "mul.lo.s64"
                       : i.what == operation::divide   ? "div.s64"
                       : i.what == operation::bit_and  ? "and.b64"
                       : i.what == operation::bit_or   ? "or.b64"
                       : i.what == operation::bit_xor  ? "xor.b64"
                       : i.what == operation::minimum  ? "min.s64"
                       : i.what == operation::maximum  ? "max.s64"
                                                       : nullptr;
    if (name == nullptr) {
      refuse("this arithmetic does not run");
    }
    const std::string statement = std::string("asm volatile(\"") + name + " %0, %1, %2;\" : \"=l\"(";
    if (i.what == operation::divide) {  // by zero, the model says, is zero
      return "    { const long long d = " + b + "; long long q; " + statement + "q) : \"l\"(" + a +
             "), \"l\"(d == 0 ? 1ll : d) : \"memory\"); " + destination + " = d == 0 ? 0 : q; }\n";
    }
    return "    " + statement + destination + ") : \"l\"(" + a + "), \"l\"(" + b + ") : \"memory\");\n";
  }

  [[nodiscard]] std::string jump(const instruction& i) {
    std::string go = "goto L" + std::to_string(i.target) + ";";
    if (i.target <= static_cast<int>(at_)) {
      uses_turns_ = true;
      go = "if (++turns == " + std::to_string(jump_limit) +
           " || (turns % 32 == 0 && membar::litmus::abandoned(at))) { end = " + ended(end_digit::unfinished) +
           "; goto done; } " + go;
    }
    if (i.code == opcode::jump) {
      return "    { " + go + " }\n";
    }
    const char* test = i.test == model::comparison::equal        ? "eq"
                       : i.test == model::comparison::not_equal  ? "ne"
                       : i.test == model::comparison::less       ? "lt"
                       : i.test == model::comparison::less_equal ? "le"
                       : i.test == model::comparison::greater    ? "gt"
                                                                 : "ge";
    const auto [a, b] = operands(i.a, i.b, operation::bit_xor);
    const std::string carried = carries_control_ ? "control |= (unsigned long long)(" + a + " ^ " + b + "); " : "";
    return std::string("    { unsigned taken; asm volatile(\"{ .reg .pred p; setp.") + test +
           ".s64 p, %1, %2; selp.u32 %0, 1, 0, p; }\" : \"=r\"(taken) : \"l\"(" + a + "), \"l\"(" + b + ") : \"memory\"); " +
           carried + "if (taken != 0) { " + go + " } }\n";
  }

  const run_plan* plan_;
  std::string name_;
  test_source out_;
  const model::litmus_test::thread* thread_ = nullptr;
  std::size_t at_ = 0;
  std::set<int> addresses_;
  bool uses_zero_ = false;
  bool uses_turns_ = false;
  bool carries_control_ = false;
};

/// Throws `model::error`, with the line, if the source asks for more than a device of `compute_capability` (major * 10 + minor)
/// or the compiler of version `nvrtc` has.
inline void require_compilable(const test_source& source, int compute_capability, int nvrtc) {
  const auto dotted = [](int number, int parts) {
    return std::to_string(number / parts) + "." + std::to_string(number % parts);
  };
  if (source.compute_capability > compute_capability) {
    throw model::error(source.capability_reason + (source.capability_reason.empty() ? "the litmus engine" : "") +
                       " needs compute capability " + dotted(source.compute_capability, 10) + ", and the device has " +
                       dotted(compute_capability, 10));
  }
  if (source.nvrtc > nvrtc) {
    throw model::error(source.nvrtc_reason + (source.nvrtc_reason.empty() ? "the litmus engine" : "") + " needs NVRTC " +
                       dotted(source.nvrtc / 10, 100) + " or newer, and NVRTC " + dotted(nvrtc / 10, 100) + " was found");
  }
}

/// The translation unit of a test: what NVRTC compiles.
[[nodiscard]] inline test_source write_source(const run_plan& plan) {
  test_source source = source_writer(plan).write();
  source.text = std::string(source_prologue) + source.text + std::string(source_epilogue);
  return source;
}

}  // namespace membar::litmus
