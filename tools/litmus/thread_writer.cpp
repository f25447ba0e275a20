// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <common/quote.hpp>
#include <litmus/thread_writer.hpp>

#include <algorithm>
#include <cctype>

namespace membar::litmus_files {

using membar::memory_order;
using membar::thread_scope;
using model::instruction;
using model::opcode;
using model::operation;

namespace {

[[nodiscard]] std::string order(memory_order o) {
  return o == memory_order::relaxed   ? "relaxed"
         : o == memory_order::acquire ? "acquire"
         : o == memory_order::release ? "release"
         : o == memory_order::acq_rel ? "acq_rel"
                                      : "sc";
}

[[nodiscard]] std::string ended(thread_end how) { return std::to_string(static_cast<int>(how)); }

[[nodiscard]] std::string holder(int bytes) {
  return bytes == 2 ? "unsigned short" : bytes == 8 ? "unsigned long long" : "unsigned";
}

[[nodiscard]] std::string constraint(int bytes) { return bytes == 2 ? "h" : bytes == 8 ? "l" : "r"; }

// Returns a register's value as an operand of `bytes` bytes.
[[nodiscard]] std::string narrowed(const std::string& value, int bytes) {
  return "\"" + constraint(bytes) + "\"((" + holder(bytes) + ")" + (bytes == 1 ? "(unsigned char)" : "") + value + ")";
}

// Returns the expression that sign-extends a value of `bytes` bytes to a register.
[[nodiscard]] std::string widened(const std::string& value, int bytes) {
  return std::string(bytes == 1 ? "(signed char)" : bytes == 2 ? "(short)" : bytes == 4 ? "(int)" : "(long long)") + value;
}

// Returns the statement that converts sixteen bytes to a register. The bytes are a single value if the high half is the sign
// extension of the low half. A torn value becomes a number that no test uses.
[[nodiscard]] std::string whole(const std::string& destination) {
  return destination + " = (long long)hi == (long long)lo >> 63 ? (long long)lo : (long long)0x8000dead8000deadull;";
}

}  // namespace

std::string printable(std::string text) {
  for (char& c : text) {
    // a backslash at the end of a comment would continue the comment on the next line
    c = std::isprint(static_cast<unsigned char>(c)) == 0 || c == '\\' ? ' ' : c;
  }
  return text;
}

std::string literal(std::int64_t value) {
  const auto bits = static_cast<std::uint64_t>(value);
  return value < 0 ? "(long long)" + std::to_string(bits) + "ull" : std::to_string(value) + "ll";
}

std::string register_name(int index) { return "r" + std::to_string(index); }

thread_writer::thread_writer(const run_plan& plan, const model::litmus_test::thread& thread, requirements& needs)
    : plan_(&plan), thread_(&thread), needs_(&needs) {
  for (const instruction& i : thread.code) {
    if (jumps(i)) {
      targets_.insert(static_cast<std::size_t>(i.target));
      carries_control_ = carries_control_ || (i.code == opcode::branch && (i.a.is_register || i.b.is_register));
    }
  }
}

std::string thread_writer::statement(std::size_t n) {
  at_ = n;
  const instruction& i = thread_->code[n];
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
      refuse("a run does not support this instruction");
  }
}

std::string thread_writer::quoted() const { return membar_tools::quote(thread_->text[at_]); }

void thread_writer::refuse(const std::string& why) const { refuse_line(thread_->code[at_].line, quoted() + ": " + why); }

void thread_writer::needs_capability(int capability) {
  if (capability > needs_->compute_capability) {
    needs_->compute_capability = capability;
    needs_->capability_reason = "line " + std::to_string(thread_->code[at_].line) + ": " + quoted();
  }
}

void thread_writer::needs_nvrtc(int version) {
  if (version > needs_->nvrtc) {
    needs_->nvrtc = version;
    needs_->nvrtc_reason = "line " + std::to_string(thread_->code[at_].line) + ": " + quoted();
  }
}

// Returns the words of the mnemonic in lower case.
std::vector<std::string> thread_writer::words() const {
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

bool thread_writer::says(std::string_view word) const {
  const std::vector<std::string> parts = words();
  return std::find(parts.begin(), parts.end(), word) != parts.end();
}

// Returns the number of elements of a vector access, or 1 for a scalar.
int thread_writer::elements() const {
  std::size_t n = at_ + 1;
  while (n < thread_->code.size() && thread_->code[n].element != 0) {
    ++n;
  }
  return static_cast<int>(n - at_);
}

std::string thread_writer::scope(thread_scope s) {
  if (s == thread_scope::cluster) {
    needs_capability(90);
  }
  return s == thread_scope::block ? "cta" : s == thread_scope::cluster ? "cluster" : s == thread_scope::device ? "gpu" : "sys";
}

std::string thread_writer::plain(const model::operand& o) const {
  return o.is_register ? register_name(o.index) : literal(plan_->machine_value(o.value));
}

// Returns an expression for an operand of arithmetic whose value the compiler cannot predict: x + 0 or x ^ 0, whichever does
// not cancel out in that arithmetic.
std::string thread_writer::opaque(const model::operand& o, operation what) {
  uses_zero_ = true;
  const bool sums = what == operation::add || what == operation::subtract;
  return "(long long)((unsigned long long)" + plain(o) + (sums ? " ^ zero)" : " + zero)");
}

// Returns both operands of an arithmetic operation or a comparison.
std::pair<std::string, std::string> thread_writer::operands(const model::operand& a, const model::operand& b, operation what) {
  const bool computed = a.is_register || b.is_register;
  const bool twice = a.is_register && b.is_register && a.index == b.index;
  return {computed && !a.is_register ? opaque(a, what) : plain(a),
          computed && (!b.is_register || twice) ? opaque(b, what) : plain(b)};
}

// Returns the statement that computes an access's address, and the expression for the address.
std::pair<std::string, std::string> thread_writer::address(const instruction& i, bool writes) {
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
  const std::string token = register_name(i.target);
  std::string chain = "unsigned long long p = ";
  for (std::size_t l = 0; l < plan_->test().locations.size(); ++l) {
    if (plan_->may_point_to(static_cast<int>(l), i.bytes)) {
      addresses_.insert(static_cast<int>(l));
      chain += token + " == " + literal(address_token(static_cast<int>(l))) + " ? a" + std::to_string(l) + " : ";
    }
  }
  return {chain + "0; if (p == 0) { end = " + ended(thread_end::strayed) + "; goto done; } ", "p" + control};
}

// Returns the part of an opcode that contains the strength, order, scope and state space, for example ".weak.global" or
// ".acquire.gpu".
std::string thread_writer::manner(const instruction& i) {
  for (const char* space : {"shared", "shared::cta", "shared::cluster"}) {
    if (says(space)) {
      refuse("the locations of a run are in global memory");
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

// Returns the type that the file specifies if it is in `allowed`; otherwise returns the untyped type of the same size.
std::string thread_writer::type(const instruction& i, std::string_view allowed) const {
  const std::string bits = std::to_string(8 * i.bytes);
  for (const std::string& part : words()) {
    if (part.size() > 1 && part.substr(1) == bits && std::string_view("busf").find(part.front()) != std::string_view::npos) {
      if (part.front() == 'f') {
        refuse("values in a litmus file are integers, so a run does not support floating-point accesses");
      }
      if (allowed.find(part.front()) != std::string_view::npos) {
        return "." + part;
      }
    }
  }
  return "." + std::string(1, allowed.front()) + bits;
}

void thread_writer::refuse_large_vector(int count, int bytes) const {
  if (count > 4 || (count > 1 && count * bytes > 16) || (count == 4 && bytes == 8)) {
    refuse("a run does not support a vector of this size");
  }
}

std::string thread_writer::load(const instruction& i) {
  const int count = elements();
  refuse_large_vector(count, i.bytes);
  const auto [prepare, where] = address(i, false);
  const std::string name = "ld" + manner(i);
  if (i.bytes == 16) {
    needs_nvrtc(12030);
    const std::string destination = i.destination < 0 ? "" : whole(register_name(i.destination));
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
      assign += register_name(destination) + " = " + widened(v, i.bytes) + "; ";
    }
  }
  const std::string vector = count > 1 ? ".v" + std::to_string(count) : "";
  return "    { " + prepare + holder(i.bytes) + " " + declared + "; asm volatile(\"" + name + vector + type(i, "bsu") + " " +
         (count > 1 ? "{" + list + "}" : list) + ", [%" + std::to_string(count) + "];\" : " + outputs + " : \"l\"(" + where +
         ") : \"memory\"); " + assign + "}\n";
}

std::string thread_writer::store(const instruction& i) {
  const int count = elements();
  refuse_large_vector(count, i.bytes);
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

// Returns the operation and the type of a read-modify-write, in PTX.
std::string thread_writer::modification(const instruction& i) {
  const bool word = i.bytes == 4 || i.bytes == 8;
  const auto need = [&](bool exists, const char* sizes) {
    if (!exists) {
      refuse("PTX has this read-modify-write only for " + std::string(sizes) + ", not for " + std::to_string(i.bytes) +
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
      refuse("PTX does not provide this read-modify-write; only the model can check this test");
  }
}

std::string thread_writer::update(const instruction& i) {
  const bool reduces = i.code == opcode::reduction;
  const std::string what = modification(i);
  if (reduces && i.order != memory_order::relaxed && i.order != memory_order::release) {
    refuse("a PTX reduction is relaxed or release; only the model supports reductions that acquire");
  }
  if (reduces && (i.what == operation::move || i.what == operation::compare_exchange)) {
    refuse("PTX has no red instruction for exchange or compare-and-swap: use atom");
  }
  (void)manner(i);  // rejects shared memory
  const auto [prepare, where] = address(i, true);
  const std::string name = std::string(reduces ? "red" : "atom") + "." + order(i.order) + "." + scope(i.scope) +
                           (says("generic") ? "" : ".global") + what;
  std::string a = plain(i.a);
  if (i.what == operation::subtract) {
    a = "(long long)(0 - (unsigned long long)" + a + ")";  // PTX has no atomic subtraction, so the negated value is added
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
    return text + " : \"memory\"); " + (i.destination < 0 ? "" : whole(register_name(i.destination))) + " }\n";
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
  return text + (returns ? register_name(i.destination) + " = " + widened("v", i.bytes) + "; " : "") + "}\n";
}

std::string thread_writer::fence(const instruction& i) {
  const std::vector<std::string> parts = words();
  if (parts.front() == "membar") {
    return "    asm volatile(\"membar." + parts.at(1) + ";\" ::: \"memory\");\n";
  }
  if (i.order == memory_order::acquire || i.order == memory_order::release) {
    needs_nvrtc(12080);
    needs_capability(90);
  }
  return "    asm volatile(\"fence." + order(i.order) + "." + scope(i.scope) + ";\" ::: \"memory\");\n";
}

std::string thread_writer::proxy_fence(const instruction& i) {
  std::string name;
  for (const std::string& part : words()) {
    name += (name.empty() ? "" : ".") + part;
  }
  if (i.via == model::proxy::alias) {
    return "    asm volatile(\"fence.proxy.alias;\" ::: \"memory\");\n";
  }
  if (i.via != model::proxy::tensor_map && i.via != model::proxy::async) {
    refuse("this proxy fence exists only in the model; PTX provides proxy fences for alias, async and tensormap");
  }
  if (i.via == model::proxy::tensor_map && i.order == memory_order::acquire) {
    refuse("it acquires a tensor map of 128 bytes, but each location of a run has only " + std::to_string(litmus::cell_bytes) +
           " bytes");
  }
  needs_capability(90);
  if (i.via == model::proxy::async && i.restricted) {
    needs_nvrtc(12080);
  }
  return "    asm volatile(\"" + name + ";\" ::: \"memory\");\n";
}

std::string thread_writer::compute(const instruction& i) {
  if (i.destination < 0) {
    refuse("it has no destination register");
  }
  const std::string destination = register_name(i.destination);
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
    refuse("a run does not support this operation");
  }
  const std::string statement = std::string("asm volatile(\"") + name + " %0, %1, %2;\" : \"=l\"(";
  if (i.what == operation::divide) {  // the model defines the result of a division by zero as zero
    return "    { const long long d = " + b + "; long long q; " + statement + "q) : \"l\"(" + a +
           "), \"l\"(d == 0 ? 1ll : d) : \"memory\"); " + destination + " = d == 0 ? 0 : q; }\n";
  }
  return "    " + statement + destination + ") : \"l\"(" + a + "), \"l\"(" + b + ") : \"memory\");\n";
}

std::string thread_writer::jump(const instruction& i) {
  std::string go = "goto L" + std::to_string(i.target) + ";";
  if (i.target <= static_cast<int>(at_)) {
    uses_turns_ = true;
    go = "if (++turns == " + std::to_string(jump_limit) +
         " || (turns % 32 == 0 && membar::litmus::abandoned(at))) { end = " + ended(thread_end::unfinished) +
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

}  // namespace membar::litmus_files
