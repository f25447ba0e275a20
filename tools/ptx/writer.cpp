// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <ptx/module.hpp>
#include <ptx/words.hpp>
#include <ptx/writer.hpp>

#include <cstdint>
#include <initializer_list>
#include <string>
#include <utility>
#include <vector>

namespace membar::ptx {

ptx_operand number(std::int64_t value) {
  ptx_operand o;
  o.kind = ptx_operand::kind_t::number;
  o.value = static_cast<std::uint64_t>(value);
  return o;
}

ptx_operand named(std::string name) {
  ptx_operand o;
  o.kind = ptx_operand::kind_t::name;
  o.name = std::move(name);
  return o;
}

ptx_operand sink() {
  ptx_operand o;
  o.name = "_";
  return o;
}

ptx_operand memory_at(std::uint64_t address) { return memory_at(std::string(), address); }

ptx_operand memory_at(const ptx_operand& base) {
  ptx_operand o = memory_at(0);
  o.reg = base.reg;
  return o;
}

ptx_operand memory_at(std::string variable, std::uint64_t offset) {
  ptx_operand o;
  o.kind = ptx_operand::kind_t::address;
  o.name = std::move(variable);
  o.value = offset;
  return o;
}

kernel_writer::kernel_writer(std::string name, int line) : line_(line + 1) {
  function_.name = std::move(name);
  function_.kernel = true;
  function_.defined = true;
  function_.line = line;
}

std::vector<ptx_operand> kernel_writer::declare_registers(const std::string& name, ptx_type type, int count) {
  ++line_;
  std::vector<ptx_operand> result;
  for (int k = 0; k < count; ++k) {
    ptx_operand o;
    o.kind = ptx_operand::kind_t::reg;
    o.name = name + std::to_string(k);
    o.reg = static_cast<int>(function_.registers.size());
    function_.registers.push_back({o.name, type, bytes_of(type) * 8});
    result.push_back(std::move(o));
  }
  return result;
}

void kernel_writer::declare_local(std::string name, std::uint64_t alignment, std::uint64_t bytes) {
  ptx_variable v;
  v.name = std::move(name);
  v.space = state_space::local;
  v.type = ptx_type::b8;
  v.alignment = alignment;
  v.bytes = bytes;
  v.line = ++line_;
  function_.variables.push_back(std::move(v));
}

void kernel_writer::label(std::string name) {
  ptx_statement s;
  s.label = std::move(name);
  s.line = ++line_;
  function_.body.push_back(std::move(s));
}

void kernel_writer::guard(const ptx_operand& predicate, bool negated) {
  next_.guard = predicate.reg;
  next_.guard_negated = negated;
}

void kernel_writer::add(std::string opcode, std::initializer_list<ptx_operand> operands) {
  next_.opcode = std::move(opcode);
  next_.operands = operands;
  next_.line = ++line_;
  function_.body.push_back(std::exchange(next_, {}));
}

}  // namespace membar::ptx
