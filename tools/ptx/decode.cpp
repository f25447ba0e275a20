// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <common/quote.hpp>
#include <membar/model/error.hpp>
#include <membar/model/program.hpp>
#include <membar/thread_scope.hpp>
#include <ptx/decode.hpp>
#include <ptx/instruction.hpp>
#include <ptx/lexer.hpp>
#include <ptx/module.hpp>
#include <ptx/opcode.hpp>
#include <ptx/tensor_map.hpp>
#include <ptx/words.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <iterator>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace membar::ptx {

using membar_tools::quote;

module_layout layout_of(const ptx_module& module, const module_layout* last) {
  module_layout result;
  result.end = last == nullptr ? result.end : last->end;
  std::uint64_t shared_end = first_offset;
  for (const ptx_variable& v : module.variables) {
    if (v.space == state_space::shared && v.bytes == 0) {
      result.shared[v.name] = dynamic_offset;
    } else if (v.space == state_space::shared) {
      result.shared[v.name] = shared_end = aligned(shared_end, std::max<std::uint64_t>(v.alignment, 16));
      shared_end += v.bytes + 64;
    } else if (v.managed && last != nullptr) {
      result.globals[v.name] = last->globals.at(v.name);
    } else {
      result.globals[v.name] = result.end = aligned(result.end, std::max<std::uint64_t>(v.alignment, 256));
      result.end += v.bytes + 256;
    }
  }
  return result;
}

void mark_heads(std::vector<instruction>& code) {
  for (std::size_t i = 0; i < code.size(); ++i) {
    const auto mark = [&](std::int32_t target) {
      if (target >= 0 && static_cast<std::size_t>(target) <= i) {
        code[static_cast<std::size_t>(target)].head = true;
      }
    };
    mark(code[i].target);
    std::for_each(code[i].targets.begin(), code[i].targets.end(), mark);
  }
}

namespace {

/// Decodes one kernel.
class kernel_decoder {
 public:
  kernel_decoder(const ptx_module& module, const module_layout& layout, int atomic_vector)
      : module_(module), layout_(layout), atomic_vector_(atomic_vector) {}

  [[nodiscard]] kernel_code decode(const ptx_function& kernel) {
    result_.name = kernel.name;
    result_.files = module_.files;
    result_.most_threads = kernel.most_threads;
    for (const ptx_variable& v : module_.variables) {
      if (v.space == state_space::shared) {
        result_.shared.emplace_back(v, layout_.shared.at(v.name));
        if (v.bytes != 0) {
          shared_end_ = std::max(shared_end_, layout_.shared.at(v.name) + v.bytes + 64);
        }
      }
    }
    frame f{kernel, {}, {}, {}, {}};
    calls_ = {&kernel};
    for (const ptx_variable& v : kernel.parameters) {
      result_.parameters.push_back(v);
      result_.parameter_bytes = aligned(result_.parameter_bytes, v.alignment);
      result_.parameter_offsets.push_back(result_.parameter_bytes);
      f.symbols[v.name] = {state_space::param, result_.parameter_bytes};
      result_.parameter_bytes += v.bytes;
    }
    append(f, 0);
    instruction end;
    end.code = op::exit;
    end.text = "end of the kernel";
    result_.code.push_back(end);
    mark_heads(result_.code);
    result_.pairs = std::any_of(result_.code.begin(), result_.code.end(), [](const instruction& i) { return i.of_pair; });
    return std::move(result_);
  }

 private:
  struct symbol {
    state_space space = state_space::global;
    std::uint64_t address = 0;
  };

  /// The registers and names of a function whose body is being inlined.
  struct frame {
    const ptx_function& function;
    std::vector<std::int32_t> words;        ///< the first word of each register
    std::map<std::string, symbol> symbols;  ///< parameters and variables
    std::map<std::string, std::int32_t> labels;
    std::map<std::string, const ptx_statement*> tables;  ///< the lists of jump targets (`.branchtargets`)
  };

  [[noreturn]] static void refuse(const ptx_statement& s, const std::string& what) { throw model::error(s.line, 1, what); }

  static constexpr std::size_t most_instructions = 200'000;

  /// A jump whose label has not been reached yet.
  struct jump {
    std::size_t instruction;
    const ptx_statement* statement;
  };

  void append(frame& f, int depth) {
    for (const ptx_register& r : f.function.registers) {
      f.words.push_back(result_.words);
      result_.words += r.bits > 64 ? 2 : 1;
    }
    for (const ptx_variable& v : f.function.variables) {
      place_variable(f, v);
    }
    std::vector<jump> jumps;
    std::vector<std::size_t> returns;
    for (const ptx_statement& s : f.function.body) {
      if (!s.label.empty()) {
        if (!f.labels.emplace(s.label, static_cast<std::int32_t>(result_.code.size())).second) {
          refuse(s, "the label " + quote(s.label) + " is defined twice");
        }
        if (s.opcode == ".branchtargets") {
          f.tables[s.label] = &s;
        }
        continue;
      }
      if (result_.code.size() > most_instructions) {
        refuse(s, "the kernel and the functions that it calls together have more than 200000 instructions");
      }
      if (name_of(s.opcode) == "call") {
        call(f, s, depth);
        continue;
      }
      operand_form form;
      instruction i = decode(f, s, form);
      if (append_several(f, s, i, form.shape)) {
        continue;
      }
      if (i.code == op::unknown_result || i.rows != 0) {
        i.rows != 0 ? append_rows(f, s, i) : append_unknown(f, s, std::move(i));
        continue;
      }
      if (is_atomic_vector(i)) {
        append_as_one(s, std::move(i));
        continue;
      }
      if (i.code == op::branch || i.code == op::branch_index) {
        jumps.push_back({result_.code.size(), &s});
      } else if (i.code == op::exit && name_of(s.opcode) == "ret" && depth > 0) {
        i.code = op::branch;
        returns.push_back(result_.code.size());
      }
      if (i.is_expected) {
        result_.code.push_back(expectation_of(i));
      }
      result_.code.push_back(std::move(i));
    }
    for (const std::size_t r : returns) {  // returns jump to the instruction after the call
      result_.code[r].target = static_cast<std::int32_t>(result_.code.size());
    }
    for (const jump& j : jumps) {
      resolve(f, j);
    }
  }

  void place_variable(frame& f, const ptx_variable& v) {
    if (v.space == state_space::shared) {
      shared_end_ = aligned(shared_end_, std::max<std::uint64_t>(v.alignment, 16));
      // a shared variable in a function is a single object, regardless of how often the function is called
      const auto [it, is_new] = shared_names_.emplace(f.function.name + "/" + v.name, shared_end_);
      f.symbols[v.name] = {state_space::shared, it->second};
      if (is_new) {
        result_.shared.emplace_back(v, it->second);
        shared_end_ += v.bytes + 64;
      }
    } else if (v.space == state_space::local || v.space == state_space::param) {
      // variables with the same name are in different scopes and are not used at the same time, so they share memory that is as
      // large as the largest of them
      const auto same = [&](const ptx_variable& o) { return o.name == v.name && o.bytes > v.bytes; };
      if (std::none_of(f.function.variables.begin(), f.function.variables.end(), same)) {
        f.symbols[v.name] = {state_space::local, allocate_local(v)};
      }
    } else {
      throw model::error(v.line, 1, "the variable " + quote(v.name) + " in a function is in an unsupported state space");
    }
  }

  void resolve(const frame& f, const jump& j) {
    instruction& i = result_.code[j.instruction];
    const auto label = [&](const std::string& name) {
      const auto it = f.labels.find(name);
      if (it == f.labels.end()) {
        refuse(*j.statement, "the label " + quote(name) + " is not defined in " + quote(f.function.name));
      }
      return it->second;
    };
    if (i.code == op::branch) {
      i.target = label(j.statement->operands.at(0).name);
      return;
    }
    const auto table = f.tables.find(j.statement->operands.at(1).name);
    if (table == f.tables.end()) {
      refuse(*j.statement, "the target list " + quote(j.statement->operands.at(1).name) + " is not defined");
    }
    for (const std::string& name : table->second->targets) {
      i.targets.push_back(label(name));
    }
  }

  std::uint64_t allocate_local(const ptx_variable& v) {
    result_.local_bytes = aligned(std::max(result_.local_bytes, std::uint64_t{16}), std::max<std::uint64_t>(v.alignment, 1));
    const std::uint64_t at = result_.local_bytes;
    result_.local_bytes += v.bytes;
    if (result_.local_bytes > 65'536) {
      throw model::error(v.line, 1, "a thread needs more than 65536 bytes of local memory");
    }
    return at;
  }

  /// If an instruction has a predicate, appends a jump that skips the instruction when the predicate is false. Returns the
  /// index of the jump, or `npos` if there is no predicate.
  std::size_t append_jump_around(const ptx_statement& s, std::int32_t guard, bool guard_negated) {
    if (guard < 0) {
      return std::string::npos;
    }
    instruction i = placed(s);
    i.code = op::branch;
    i.guard = guard;
    i.guard_negated = !guard_negated;
    result_.code.push_back(std::move(i));
    return result_.code.size() - 1;
  }

  /// Makes a jump that was already appended lead to the instruction that is appended next.
  void land(std::size_t jump_from) {
    if (jump_from < result_.code.size()) {
      result_.code[jump_from].target = static_cast<std::int32_t>(result_.code.size());
    }
  }

  void call(frame& f, const ptx_statement& s, int depth) {
    const std::int32_t guard = s.guard < 0 ? -1 : f.words[static_cast<std::size_t>(s.guard)];
    const std::size_t around = append_jump_around(s, guard, s.guard_negated);
    unguarded_call(f, s, depth);
    land(around);
  }

  /// Appends a call that is accepted but ends the check if a thread reaches it.
  void unsupported_call(const ptx_statement& s, const std::string& what) {
    instruction i = placed(s);
    i.code = op::unsupported;
    i.text += " of " + what;
    i.reason =
        "the reader inlines every call, so it needs the function's body: call a function that this module defines, without "
        "recursion";
    result_.code.push_back(std::move(i));
  }

  /// The name prefixes of device-runtime functions, which no module defines.
  static constexpr std::string_view of_run_time[] = {
      "malloc",  "free",     "__cuda_",   "cudaDevice",    "cudaGet",  "cudaStream",  "cudaEvent",  "cudaMem",   "cudaLaunch",
      "cudaCDP", "cudaFunc", "cudaGraph", "cudaOccupancy", "cudaPeek", "cudaRuntime", "cudaDriver", "__cudaCDP", "nvshmem"};

  void unguarded_call(frame& f, const ptx_statement& s, int depth) {
    std::size_t at = 0;
    const auto list_at = [&](std::size_t n) {
      return n < s.operands.size() && s.operands[n].kind == ptx_operand::kind_t::list;
    };
    const ptx_operand none;
    const ptx_operand& results = list_at(0) ? s.operands[at++] : none;
    if (at < s.operands.size() && s.operands[at].kind == ptx_operand::kind_t::reg) {
      unsupported_call(s, "a function whose address is in a register");
      return;
    }
    if (at >= s.operands.size() || s.operands[at].kind != ptx_operand::kind_t::name) {
      refuse(s, "a call does not name a function");
    }
    const std::string& name = s.operands[at++].name;
    const ptx_operand& arguments = list_at(at) ? s.operands[at] : none;
    if (name == "__assertfail") {
      instruction i = placed(s);
      i.code = op::trap;
      i.text = assertion_text;
      result_.code.push_back(i);
      return;
    }
    if (name == "vprintf") {  // prints nothing, and returns as if it had printed
      for (const ptx_operand& result : results.parts) {
        instruction i = placed(s);
        i.code = op::store;
        i.space = state_space::local;
        i.type = ptx_type::b32;
        i.bytes = 4;
        i.sources = 2;
        i.by[0].kind = i.by[1].kind = source_operand::kind_t::constant;
        i.by[0].low = lookup(f, s, result.name).address;
        result_.code.push_back(i);
      }
      return;
    }
    const ptx_function* callee = nullptr;
    for (const ptx_function& other : module_.functions) {
      callee = other.name == name && other.defined ? &other : callee;
    }
    const bool of_device = std::any_of(std::begin(of_run_time), std::end(of_run_time),
                                       [&](std::string_view begin) { return name.starts_with(begin); });
    if (callee == nullptr && of_device) {
      unsupported_call(s, quote(name));
      return;
    }
    if (callee == nullptr) {
      refuse(s, "the function " + quote(name) + " is called but not defined in this module");
    }
    if (std::find(calls_.begin(), calls_.end(), callee) != calls_.end()) {
      unsupported_call(s, quote(name) + ", which is recursive");
      return;
    }
    frame inner{*callee, {}, {}, {}, {}};
    const auto bind = [&](const std::vector<ptx_variable>& formal, const ptx_operand& actual) {
      if (formal.size() != actual.parts.size()) {
        refuse(s, "the call to " + quote(name) + " has " + std::to_string(actual.parts.size()) +
                      " operands, but the function has " + std::to_string(formal.size()));
      }
      for (std::size_t k = 0; k < formal.size(); ++k) {
        const auto it = f.symbols.find(actual.parts[k].name);
        if (it == f.symbols.end() || it->second.space != state_space::local) {
          refuse(s, "the operand " + quote(actual.parts[k].name) + " in a call is not a .param variable");
        }
        inner.symbols[formal[k].name] = it->second;
      }
    };
    bind(callee->parameters, arguments);
    bind(callee->results, results);
    calls_.push_back(callee);
    call_places_.push_back(s.place);
    append(inner, depth + 1);
    call_places_.pop_back();
    calls_.pop_back();
  }

  /// Lines outside libraries in a chain of inlined calls.
  struct user_lines {
    const ptx_place* innermost = nullptr;
    const ptx_place* second = nullptr;  ///< the line that calls the function of the innermost line
    const ptx_place* outermost = nullptr;
  };

  /// Considers the statement's own source line and the lines of the calls that led to it. If all of them are in libraries, returns
  /// the outermost line as both the innermost and the outermost one.
  [[nodiscard]] user_lines user_lines_of(const ptx_statement& s) const {
    user_lines result;
    bool own = false;
    const auto look = [&](int place) {
      for (int p = place; p >= 0; p = module_.places[static_cast<std::size_t>(p)].inlined_at) {
        const ptx_place& one = module_.places[static_cast<std::size_t>(p)];
        const auto file = static_cast<std::size_t>(one.file);
        const bool library = one.line == 0 || (file < module_.files.size() && is_library(module_.files[file]));
        result.second = own && !library && result.second == nullptr ? &one : result.second;
        result.innermost = own ? result.innermost : &one;
        result.outermost = !library || !own ? &one : result.outermost;
        own = own || !library;
      }
    };
    look(s.place);
    std::for_each(call_places_.rbegin(), call_places_.rend(), look);
    return result;
  }

  [[nodiscard]] instruction placed(const ptx_statement& s) const {
    instruction i;
    i.line = s.line;
    i.file = i.user_file = s.file;
    i.source_line = i.user_line = s.source_line;
    if (const auto [user, via, caller] = user_lines_of(s); user != nullptr) {
      i.user_file = user->line > 0 ? user->file : i.file;
      i.user_line = user->line > 0 ? user->line : i.source_line;
      if (via != nullptr && via != caller) {
        i.via_file = via->file;
        i.via_line = via->line;
      }
      i.caller_file = caller->file;
      i.caller_line = caller->line;
    }
    i.text = s.opcode;
    return i;
  }

  // ---- one instruction

  [[nodiscard]] instruction decode(const frame& f, const ptx_statement& s, operand_form& form) {
    instruction i = placed(s);
    if (s.guard >= 0) {
      i.guard = f.words[static_cast<std::size_t>(s.guard)];
      i.guard_negated = s.guard_negated;
    }
    form = read_opcode(i);
    if (i.code == op::unknown_result || i.rows != 0) {
      return i;  // the caller reads its operands
    }
    operands(f, s, i, form);
    if (becomes_several(form.shape)) {
      return i;
    }
    if (has_carry(i.code)) {
      add_carry(i);
    }
    require_elements(s, i);
    return i;
  }

  /// Adds the carry flag, which has its own register, as a source if the instruction reads it, and as a destination if the
  /// instruction sets it. If the instruction does not read the carry flag, adds 0 as the source.
  void add_carry(instruction& i) {
    carry_ = carry_ < 0 ? result_.words++ : carry_;
    source_operand& in = i.by[i.sources++];
    in.kind = (i.mode & takes_carry) != 0 ? source_operand::kind_t::reg : source_operand::kind_t::constant;
    in.word = in.kind == source_operand::kind_t::reg ? carry_ : -1;
    if ((i.mode & gives_carry) != 0) {
      destination_operand& out = i.to[i.destinations++];
      out.word = carry_;
      out.bits = 1;
    }
  }

  [[nodiscard]] static source_operand register_source(std::int32_t word) {
    source_operand result;
    result.kind = source_operand::kind_t::reg;
    result.word = word;
    return result;
  }

  /// Returns the first of the additional registers that hold the data moved by an instruction.
  [[nodiscard]] std::int32_t own_registers() {
    if (own_ < 0) {
      own_ = result_.words;
      result_.words += 5;
    }
    return own_;
  }

  /// Returns whether a vector access is performed as a single access.
  [[nodiscard]] bool is_atomic_vector(const instruction& i) const noexcept {
    const int bytes = i.bytes * i.elements;
    return (i.code == op::load || i.code == op::store) && i.elements > 1 && i.mbarrier == mbarrier_op::none &&
           bytes <= atomic_vector_ && (bytes == 8 || bytes == 16) && (i.bytes >= 4 || !is_signed(i.type)) &&
           (i.space == state_space::generic || i.space == state_space::global || i.space == state_space::shared);
  }

  /// Appends a vector access as a single access to all its bytes, together with an instruction that packs or unpacks the
  /// elements.
  void append_as_one(const ptx_statement& s, instruction i) {
    const std::size_t around = append_jump_around(s, i.guard, i.guard_negated);
    const bool wide = i.bytes * i.elements == 16;
    const std::int32_t whole = own_registers();
    instruction parts = i;
    parts.code = i.code == op::load ? op::unpack : op::pack;
    parts.guard = i.guard = -1;
    parts.type = i.type = wide ? ptx_type::b128 : ptx_type::b64;
    parts.elements = 1;
    const destination_operand both{whole, static_cast<std::uint8_t>(wide ? 128 : 64)};
    i.bytes = static_cast<std::uint8_t>(i.bytes * i.elements);
    i.elements = 1;
    if (i.code == op::load) {
      i.to = {both};
      i.destinations = 1;
      parts.by = {register_source(whole)};
      parts.sources = 1;
      result_.code.push_back(std::move(i));
      result_.code.push_back(std::move(parts));
    } else {
      std::move(parts.by.begin() + 1, parts.by.begin() + parts.sources, parts.by.begin());
      --parts.sources;
      parts.by[parts.sources] = {};
      parts.to = {both};
      parts.destinations = 1;
      i.by = {i.by[0], register_source(whole)};
      i.sources = 2;
      result_.code.push_back(std::move(parts));
      result_.code.push_back(std::move(i));
    }
    land(around);
  }

  /// Appends a jump that is taken by the lanes numbered `rows` and above. Returns the index of the jump.
  std::size_t append_jump_of_others(const instruction& of, std::uint64_t rows) {
    const std::int32_t predicate = own_registers() + 3;
    instruction test = of;
    test.code = op::set_predicate;
    test.type = ptx_type::u32;
    test.test = ptx_comparison::ge;
    test.rows = 0;
    test.guard = -1;
    test.sources = test.destinations = 0;
    test.by[0].kind = source_operand::kind_t::special;
    test.by[0].machine = special::lane;
    test.sources = 1;
    constant(test, rows);
    test.to[test.destinations++] = {predicate, 1};
    result_.code.push_back(test);
    instruction around = of;
    around.code = op::branch;
    around.rows = 0;
    around.guard = predicate;
    around.guard_negated = false;
    result_.code.push_back(around);
    return result_.code.size() - 1;
  }

  /// Appends the accesses to a lane's row, in pieces of 8 bytes.
  void append_row(const frame& f, const ptx_statement& s, instruction access) {
    const std::int32_t moved = own_registers();
    const std::int32_t at = moved + 2;
    const auto computed = [&](op code, std::initializer_list<source_operand> by) {
      instruction i = placed(s);
      i.code = code;
      i.type = ptx_type::u64;
      for (const source_operand& o : by) {
        i.by[i.sources++] = o;
      }
      i.to[i.destinations++] = {at, 64};
      result_.code.push_back(std::move(i));
    };
    source_operand distance = number_source(access.row_bytes / access.row_element);
    if (s.operands.size() == 3) {
      instruction of;
      of.type = ptx_type::u32;
      source(f, s, of, s.operands[2]);
      distance = of.by[0];
    }
    source_operand lane;
    lane.kind = source_operand::kind_t::special;
    lane.machine = special::lane;
    computed(op::multiply_low, {lane, number_source(access.row_element)});
    computed(op::multiply_add_low, {register_source(at), distance, access.by[0]});
    access.by[0] = register_source(at);
    for (unsigned piece = 0; piece < access.row_bytes / 8U; ++piece) {
      result_.code.push_back(access);
      access.offset += 8;
      if (access.code == op::load) {  // the result depends on all pieces
        instruction all = placed(s);
        all.code = op::unknown_result;
        all.by = {register_source(moved), register_source(moved + 4)};
        all.sources = piece == 0 ? 1 : 2;
        all.to = {destination_operand{moved + 4, 64}};
        all.destinations = 1;
        result_.code.push_back(std::move(all));
      }
    }
  }

  /// Appends `ldmatrix`, `stmatrix`, `wmma.load` or `wmma.store`. Each lane that has a row performs weak accesses to the row's
  /// bytes. The transferred values are unknown.
  void append_rows(const frame& f, const ptx_statement& s, const instruction& i) {
    const bool loads = i.code == op::load;
    const std::size_t most = i.row_bytes != 0 ? 3 : 2;
    if (s.operands.size() < 2 || s.operands.size() > most) {
      refuse(s, quote(s.opcode) + " has " + std::to_string(s.operands.size()) + " operands, expected 2" +
                    (most == 3 ? " or 3" : ""));
    }
    const std::size_t around = append_jump_around(s, i.guard, i.guard_negated);
    const std::int32_t moved = own_registers();
    std::vector<destination_operand> to;
    std::vector<source_operand> by;
    collect(f, s.operands[loads ? 0 : 1], loads, to, by);
    instruction data = i;
    data.code = op::unknown_result;
    data.rows = 0;
    data.guard = -1;
    if (!loads) {
      append_unknown_of(data, {{moved, 128}}, by);
    }
    const std::size_t others = append_jump_of_others(i, i.rows);
    instruction access = i;
    access.rows = 0;
    access.guard = -1;
    if (loads) {
      access.to[access.destinations++] = {moved, 128};
    }
    address(f, s, access, s.operands[loads ? 1 : 0]);
    if (!loads) {
      access.by[access.sources++] = register_source(moved);
    }
    if (i.row_bytes == 0) {
      result_.code.push_back(access);
    } else {
      append_row(f, s, access);
    }
    land(others);
    if (loads) {
      append_unknown_of(data, to, {register_source(i.row_bytes == 0 ? moved : moved + 4)});
    }
    land(around);
  }

  // ---- instructions that are decoded into several instructions

  [[nodiscard]] static bool becomes_several(operand_shape shape) noexcept {
    return shape == operand_shape::bulk_store || shape == operand_shape::map_field || shape == operand_shape::map_copy ||
           shape == operand_shape::allocation;
  }

  [[nodiscard]] static source_operand number_source(std::uint64_t value) {
    source_operand result;
    result.kind = source_operand::kind_t::constant;
    result.low = value;
    return result;
  }

  /// Appends an instruction that uses only registers.
  void append_computed(const ptx_statement& s, op code, ptx_type type, destination_operand to,
                       std::initializer_list<source_operand> by) {
    instruction i = placed(s);
    i.code = code;
    i.type = type;
    for (const source_operand& o : by) {
      i.by[i.sources++] = o;
    }
    i.to[i.destinations++] = to;
    result_.code.push_back(std::move(i));
  }

  /// Appends the code for an instruction that is decoded into several instructions. Returns false if `i` is not such an
  /// instruction.
  bool append_several(const frame& f, const ptx_statement& s, const instruction& i, operand_shape shape) {
    if (!becomes_several(shape) || i.code == op::unsupported) {
      return false;
    }
    const std::size_t around = append_jump_around(s, i.guard, i.guard_negated);
    shape == operand_shape::bulk_store   ? append_zeros(f, s, i)
    : shape == operand_shape::allocation ? append_allocation(f, s, i)
    : shape == operand_shape::map_field  ? append_map_field(f, s, i)
                                         : append_map_copy(f, s, i);
    land(around);
    return true;
  }

  /// `tcgen05.alloc`: the first lane stores the address of the allocated columns.
  void append_allocation(const frame& f, const ptx_statement& s, instruction store) {
    store.guard = -1;
    const std::size_t others = append_jump_of_others(store, 1);
    address(f, s, store, s.operands[0]);
    source(f, s, store, s.operands[1]);
    result_.code.push_back(std::move(store));
    land(others);
    result_.tensor_memory = true;
  }

  /// `st.bulk`: a loop of stores.
  void append_zeros(const frame& f, const ptx_statement& s, instruction store) {
    const std::int32_t own = own_registers();
    const std::int32_t at = own;
    const std::int32_t left = own + 1;
    const std::int32_t done = own + 3;
    store.guard = -1;
    address(f, s, store, s.operands[0]);
    instruction size;
    source(f, s, size, s.operands[1]);
    append_computed(s, op::move, ptx_type::u64, {at, 64}, {store.by[0]});
    append_computed(s, op::move, ptx_type::u64, {left, 64}, {size.by[0]});
    const auto begin = static_cast<std::int32_t>(result_.code.size());
    append_computed(s, op::set_predicate, ptx_type::u64, {done, 1}, {register_source(left), number_source(8)});
    result_.code.back().test = ptx_comparison::lt;
    const std::size_t end = append_jump_around(s, done, true);
    store.by[0] = register_source(at);
    constant(store, 0);
    result_.code.push_back(store);
    append_computed(s, op::add, ptx_type::u64, {at, 64}, {register_source(at), number_source(8)});
    append_computed(s, op::subtract, ptx_type::u64, {left, 64}, {register_source(left), number_source(8)});
    instruction back = placed(s);
    back.code = op::branch;
    back.target = begin;
    result_.code.push_back(back);
    land(end);
  }

  /// `tensormap.replace`: loads the map, changes a field, and stores the map back.
  void append_map_field(const frame& f, const ptx_statement& s, instruction store) {
    const tensor_map_field& field = tensor_map_fields[store.map_field];
    std::uint64_t dimension = 0;
    if (field.of_dimension) {
      dimension = s.operands.size() == 3 ? s.operands[1].value : most_dimensions;
      if (s.operands.size() != 3 || s.operands[1].kind != ptx_operand::kind_t::number || dimension >= most_dimensions) {
        refuse(s, quote(s.opcode) + " needs a dimension number from 0 to 4 and a value");
      }
    }
    const std::int32_t own = own_registers();
    store.guard = -1;
    address(f, s, store, s.operands[0]);
    instruction value;
    value.type = ptx_type::u64;
    source(f, s, value, s.operands.back());
    instruction load = store;
    load.code = op::load;
    load.to[load.destinations++] = {own, 128};
    store.by[store.sources++] = register_source(own);
    const std::uint64_t word = field.at + dimension;
    for (std::uint64_t piece = 0; piece < tensor_map_bytes / 16; ++piece) {
      result_.code.push_back(load);
      if (word / 2 == piece) {
        const std::int32_t part = own + static_cast<std::int32_t>(word % 2);
        if (field.bits == 64) {
          append_computed(s, op::move, ptx_type::b64, {part, 64}, {value.by[0]});
        } else {
          append_computed(s, op::field_insert, ptx_type::b64, {part, 64},
                          {value.by[0], register_source(part), number_source(field.bit), number_source(field.bits)});
        }
      }
      result_.code.push_back(store);
      load.offset += 16;
      store.offset += 16;
    }
  }

  /// `tensormap.cp_fenceproxy`: the first lane copies the map, and all lanes release it.
  void append_map_copy(const frame& f, const ptx_statement& s, instruction fence) {
    const std::int32_t own = own_registers();
    fence.guard = -1;
    const std::size_t others = append_jump_of_others(fence, 1);
    instruction load = placed(s);
    load.type = ptx_type::b128;
    load.bytes = 16;
    instruction store = load;
    store.code = op::store;
    store.space = state_space::global;
    address(f, s, store, s.operands[0]);
    store.by[store.sources++] = register_source(own);
    load.code = op::load;
    load.space = state_space::shared;
    address(f, s, load, s.operands[1]);
    load.to[load.destinations++] = {own, 128};
    for (std::uint64_t piece = 0; piece < tensor_map_bytes / 16; ++piece) {
      result_.code.push_back(load);
      result_.code.push_back(store);
      load.offset += 16;
      store.offset += 16;
    }
    land(others);
    result_.code.push_back(std::move(fence));
  }

  /// Appends an instruction whose results are unknown. If it has more sources than a single instruction can have, first appends
  /// instructions that combine them.
  void append_unknown(const frame& f, const ptx_statement& s, instruction i) {
    std::vector<destination_operand> to;
    std::vector<source_operand> by;
    for (std::size_t k = 0; k < s.operands.size(); ++k) {
      collect(f, s.operands[k], k == 0, to, by);
    }
    append_unknown_of(std::move(i), to, by);
  }

  void append_unknown_of(instruction i, const std::vector<destination_operand>& to, const std::vector<source_operand>& by) {
    if (by.size() > i.by.size()) {
      joined_ = joined_ < 0 ? result_.words++ : joined_;
    }
    const auto join = [&](std::size_t first, std::size_t end, bool more) {
      i.sources = i.destinations = 0;
      for (std::size_t k = first; k < end; ++k) {
        i.by[i.sources++] = by[k];
      }
      if (first != 0) {
        i.by[i.sources++] = register_source(joined_);
      }
      for (std::size_t k = i.sources; k < i.by.size(); ++k) {
        i.by[k] = {};
      }
      if (more) {
        i.to[i.destinations++] = {joined_, 64};
      }
    };
    const std::size_t most = i.by.size() - 1;
    std::size_t at = 0;
    while (by.size() - at > most) {
      join(at, at + most, true);
      result_.code.push_back(i);
      at += most;
    }
    join(at, by.size(), false);
    for (std::size_t k = 0; k < to.size(); k += i.to.size()) {
      i.destinations = 0;
      for (std::size_t d = k; d < to.size() && d < k + i.to.size(); ++d) {
        i.to[i.destinations++] = to[d];
      }
      result_.code.push_back(i);
    }
  }

  /// Adds the registers of an operand to the sources or to the destinations.
  static void collect(const frame& f, const ptx_operand& o, bool results, std::vector<destination_operand>& to,
                      std::vector<source_operand>& by) {
    if (o.reg >= 0) {
      const ptx_register& r = f.function.registers[static_cast<std::size_t>(o.reg)];
      const std::int32_t word = f.words[static_cast<std::size_t>(o.reg)];
      if (results) {
        to.push_back({word, static_cast<std::uint8_t>(r.type == ptx_type::pred ? 1 : r.bits)});
      } else {
        by.push_back(register_source(word));
      }
    }
    for (const ptx_operand& part : o.parts) {
      collect(f, part, results, to, by);
    }
  }

  void operands(const frame& f, const ptx_statement& s, instruction& i, const operand_form& form) {
    const auto need = [&](std::size_t least, std::size_t most) {
      const auto count = s.operands.size();
      if (count < least || count > most) {
        refuse(s, quote(s.opcode) + " has " + std::to_string(count) + " operands, expected " +
                      (least == most ? std::to_string(least) : std::to_string(least) + " to " + std::to_string(most)));
      }
    };
    const auto sources = [&](std::size_t first, std::size_t end) {
      for (std::size_t k = first; k < end; ++k) {
        source(f, s, i, s.operands[k]);
      }
    };
    switch (form.shape) {
      case operand_shape::registers:
        need(1, 6);
        destination(f, s, i, s.operands[0]);
        sources(1, s.operands.size());
        require_form(s, i, form, " sources");
        finish_move(s, i);
        return;
      case operand_shape::sources:
        need(0, 4);
        sources(0, s.operands.size());
        require_form(s, i, form, " sources");
        return;
      case operand_shape::addresses:
        addresses(f, s, i, form);
        return;
      case operand_shape::tensor:
        need(form.least, form.most);
        tensor_operands(f, s, i);
        return;
      case operand_shape::product:
        need(form.least, form.most);
        product_operands(f, s, i);
        return;
      case operand_shape::bulk_store:
      case operand_shape::map_field:
      case operand_shape::map_copy:
      case operand_shape::allocation:
        need(form.least, form.most);
        return;
      case operand_shape::tensor_load:
      case operand_shape::tensor_store:
      case operand_shape::tensor_product:
        need(form.least, form.most);
        tensor_memory_operands(f, s, i, form.shape);
        return;
      case operand_shape::any:
      case operand_shape::results:
        return;
      default:
        need(form.least, form.most);
    }
    switch (form.shape) {
      case operand_shape::index:
        source(f, s, i, s.operands[0]);
        break;
      case operand_shape::load:
      case operand_shape::atomic:
        destination(f, s, i, s.operands[0]);
        address(f, s, i, s.operands[1]);
        sources(2, form.shape == operand_shape::load ? 2 : i.what == model::operation::compare_exchange ? 4 : 3);
        break;
      case operand_shape::store:
      case operand_shape::reduction:
        address(f, s, i, s.operands[0]);
        source(f, s, i, s.operands[1]);
        break;
      case operand_shape::pending_count:
        destination(f, s, i, s.operands[0]);
        source(f, s, i, s.operands[1]);
        constant(i, mbarrier_count_bits);
        constant(i, mbarrier_count_bits);
        break;
      default:
        break;
    }
  }

  static void require_elements(const ptx_statement& s, const instruction& i) {
    const bool atomic = i.code == op::atomic && i.elements > 1;
    const bool reduction = i.code == op::reduction && i.elements > 1;
    const int registers = i.elements / i.packed;
    if (((i.code == op::load || atomic) && i.destinations != registers) ||
        ((i.code == op::store || atomic || reduction) && i.sources - 1 != registers)) {
      refuse(s, quote(s.opcode) + " needs " + std::to_string(registers) + " registers");
    }
  }

  static void require_form(const ptx_statement& s, const instruction& i, const operand_form& form, const char* kind) {
    if (i.sources < form.least || i.sources > form.most || i.destinations > form.results) {
      refuse(s, quote(s.opcode) + " has no form with " + std::to_string(i.destinations) + " destinations and " +
                    std::to_string(i.sources) + kind);
    }
  }

  /// Turns a move with a list of two or four registers into an instruction that packs or unpacks them.
  static void finish_move(const ptx_statement& s, instruction& i) {
    if (i.code != op::move || (i.sources == 1 && i.destinations <= 1)) {
      return;
    }
    const bool three = i.sources == 3 || i.destinations == 3;
    require_form(s, i, {operand_shape::registers, 1, three ? 0U : i.destinations > 1 ? 1U : 4U, 4}, " sources");
    i.code = i.sources > 1 ? op::pack : op::unpack;
  }

  void destination(const frame& f, const ptx_statement& s, instruction& i, const ptx_operand& o) {
    if (o.kind == ptx_operand::kind_t::list) {
      for (const ptx_operand& part : o.parts) {
        destination(f, s, i, part);
      }
      return;
    }
    if (i.destinations == i.to.size()) {
      refuse(s, quote(s.opcode) + " has more than " + std::to_string(i.to.size()) + " destinations");
    }
    destination_operand& d = i.to[i.destinations++];
    if (o.kind == ptx_operand::kind_t::reg) {
      const ptx_register& r = f.function.registers[static_cast<std::size_t>(o.reg)];
      d.word = f.words[static_cast<std::size_t>(o.reg)];
      d.bits = static_cast<std::uint8_t>(r.type == ptx_type::pred ? 1 : r.bits);
    } else if (o.kind != ptx_operand::kind_t::sink) {
      refuse(s, "the destination of " + quote(s.opcode) + " is not a register" + (o.name.empty() ? "" : ": " + quote(o.name)));
    }
    for (const ptx_operand& part : o.parts) {
      destination(f, s, i, part);
    }
  }

  /// Returns the first part of a `cp.async.mbarrier.arrive` without `.noinc`: an instruction that increases the number of
  /// arrivals that the current phase expects.
  [[nodiscard]] static instruction expectation_of(const instruction& arrival) {
    instruction i = arrival;
    i.code = op::atomic;
    i.mbarrier = mbarrier_op::expect_arrival;
    i.strong = true;
    i.scope = thread_scope::block;
    i.type = ptx_type::b64;
    i.bytes = 8;
    constant(i, 1);
    return i;
  }

  static void constant(instruction& i, std::uint64_t value) {
    source_operand& v = i.by[i.sources++];
    v.kind = source_operand::kind_t::constant;
    v.low = value;
  }

  [[nodiscard]] static bool is_predicate_of(const frame& f, const ptx_operand& o) {
    return o.reg >= 0 && f.function.registers[static_cast<std::size_t>(o.reg)].type == ptx_type::pred;
  }

  /// Reads the operands of an mbarrier instruction or a copy: a destination, addresses and values.
  void addresses(const frame& f, const ptx_statement& s, instruction& i, const operand_form& form) {
    for (const ptx_operand& o : s.operands) {
      if (o.kind == ptx_operand::kind_t::address && i.sources == 0) {
        address(f, s, i, o);
      } else if (o.kind == ptx_operand::kind_t::address) {
        further_address(f, s, i, o);
      } else if (i.sources == 0) {
        destination(f, s, i, o);
      } else {
        source(f, s, i, o);
      }
    }
    require_form(s, i, form, " addresses and values");
    if (i.hinted && i.masked) {  // the mask comes after the cache policy
      i.by[i.sources - 2U] = i.by[i.sources - 1U];
    }
    if (i.hinted) {
      i.by[--i.sources] = {};
    }
    if (i.code == op::async_copy && i.group == async_group::copies) {
      if (i.by[2].kind != source_operand::kind_t::constant || (i.by[2].low != 4 && i.by[2].low != 8 && i.by[2].low != 16)) {
        refuse(s, quote(s.opcode) + " can copy only 4, 8 or 16 bytes");
      }
      i.bytes = static_cast<std::uint8_t>(i.by[2].low);
      i.ignores_source = i.sources > 3 && is_predicate_of(f, s.operands[3]);
    }
    if (i.sources == 1 && i.mbarrier != mbarrier_op::none && i.code != op::async_copy) {
      constant(i, 1);  // the default is one arrival
    }
  }

  /// Appends the words of the registers in a list to `words`.
  static void words_of(const frame& f, const ptx_operand& list, std::vector<std::int32_t>& words) {
    for (const ptx_operand& part : list.parts) {
      if (part.reg >= 0) {
        words.push_back(f.words[static_cast<std::size_t>(part.reg)]);
      }
    }
  }

  /// Reads the operands of `tcgen05.ld`, `tcgen05.st` and `tcgen05.mma`. The operands of `ld` and `st` are an address and
  /// registers in braces. The operands of `mma` are the address of the result, two matrices, an instruction descriptor, and a
  /// final predicate that determines whether to accumulate. The first matrix may be in tensor memory.
  void tensor_memory_operands(const frame& f, const ptx_statement& s, instruction& i, operand_shape shape) {
    const bool loads = shape == operand_shape::tensor_load;
    const auto next_address = [&](const ptx_operand& o) { further_address(f, s, i, o); };
    if (shape != operand_shape::tensor_product) {
      const ptx_operand& registers = s.operands[loads ? 0 : s.operands.size() - 1];
      next_address(s.operands[loads ? 1 : 0]);
      if (loads) {
        registers.parts.empty() ? i.held.push_back(f.words[static_cast<std::size_t>(registers.reg)])
                                : words_of(f, registers, i.held);
        i.held_results = i.held.size();
        result_.holds_registers = true;
      }
      s.operands.size() == 3 ? source(f, s, i, s.operands[loads ? 2 : 1]) : constant(i, 16);
      return;
    }
    const bool in_memory = s.operands[1].kind == ptx_operand::kind_t::address;
    const std::size_t description = (i.mode & first_is_sparse) != 0 ? 4 : 3;
    next_address(s.operands[0]);
    in_memory ? next_address(s.operands[1]) : source(f, s, i, s.operands[1]);
    source(f, s, i, s.operands[2]);
    source(f, s, i, s.operands[description]);
    const auto is_predicate = [&](const ptx_operand& o) { return is_predicate_of(f, o); };
    const auto adds = std::find_if(s.operands.begin(), s.operands.end(), is_predicate);
    adds != s.operands.end() ? source(f, s, i, *adds) : constant(i, 1);
    i.mode = static_cast<std::uint8_t>(i.mode | (in_memory ? first_is_in_registers : 0));
  }

  /// Reads the operands of `wgmma.mma_async`: the descriptors of two matrices, the first of which may be in registers. Two
  /// immediates at the end specify which matrices are transposed.
  void product_operands(const frame& f, const ptx_statement& s, instruction& i) {
    const auto is_list = [](const ptx_operand& o) { return o.kind == ptx_operand::kind_t::list; };
    const bool in_registers = is_list(s.operands[1]);
    if (!is_list(s.operands[0])) {
      refuse(s, quote(s.opcode) + " needs its results in braces");
    }
    words_of(f, s.operands[0], i.held);
    i.held_results = i.held.size();
    if (in_registers) {
      words_of(f, s.operands[1], i.held);
      i.mode = static_cast<std::uint8_t>(i.mode | first_is_in_registers);
      constant(i, 0);
    } else {
      source(f, s, i, s.operands[1]);
    }
    source(f, s, i, s.operands[2]);
    // these operands are the scale of the result, the scales of both matrices, and whether the matrices are transposed
    const std::size_t after = (i.mode & first_is_sparse) != 0 ? 5 : 3;
    const auto is_set = [&](std::size_t n) {
      return n < s.operands.size() && s.operands[n].kind == ptx_operand::kind_t::number && s.operands[n].value != 0;
    };
    if (is_set(after + 3)) {
      i.mode = static_cast<std::uint8_t>(i.mode | (in_registers ? second_is_transposed : first_is_transposed));
    }
    if (!in_registers && is_set(after + 4)) {
      i.mode = static_cast<std::uint8_t>(i.mode | second_is_transposed);
    }
    result_.holds_registers = true;
  }

  /// Reads the operands of a tensor copy, in the order described at `tensor_mask_operand`.
  void tensor_operands(const frame& f, const ptx_statement& s, instruction& i) {
    const bool loads = i.completes == model::completion::mbarrier;
    const std::size_t others = loads ? 3 : 2;
    const std::size_t expected = others + (i.multicast ? 1 : 0) + (i.hinted ? 1 : 0);
    const ptx_operand& map = s.operands[loads ? 1 : 0];
    const auto is_list = [](const ptx_operand& o) { return o.kind == ptx_operand::kind_t::list; };
    const std::size_t coordinates = i.of_rows ? 5 : i.dimensions;
    if (s.operands.size() != expected || map.kind != ptx_operand::kind_t::address || map.parts.size() != 1 ||
        !is_list(map.parts[0]) || map.parts[0].parts.size() != coordinates) {
      refuse(s, quote(s.opcode) + " needs " + std::to_string(expected) + " operands, and a tensor map with " +
                    std::to_string(coordinates) + " coordinates in braces");
    }
    address(f, s, i, s.operands[loads ? 0 : 1]);
    further_address(f, s, i, map);
    loads ? further_address(f, s, i, s.operands[2]) : constant(i, 0);
    source(f, s, i, map.parts[0]);
    while (i.sources < tensor_mask_operand) {
      constant(i, 0);
    }
    if (i.multicast) {
      source(f, s, i, s.operands[3]);
    }
  }

  void further_address(const frame& f, const ptx_statement& s, instruction& i, const ptx_operand& o) {
    ptx_operand base = o;
    base.kind = o.reg >= 0       ? ptx_operand::kind_t::reg
                : o.name.empty() ? ptx_operand::kind_t::number
                                 : ptx_operand::kind_t::name;
    source(f, s, i, base);
    if (o.reg >= 0) {
      i.by[i.sources - 1U].low = o.value;
    }
  }

  [[nodiscard]] symbol lookup(const frame& f, const ptx_statement& s, const std::string& name) const {
    if (const auto it = f.symbols.find(name); it != f.symbols.end()) {
      return it->second;
    }
    if (const auto it = layout_.globals.find(name); it != layout_.globals.end()) {
      return {state_space::global, it->second};
    }
    if (const auto it = layout_.shared.find(name); it != layout_.shared.end()) {
      return {state_space::shared, it->second};
    }
    if (const auto it = std::ranges::find(module_.functions, name, &ptx_function::name); it != module_.functions.end()) {
      return {state_space::generic, function_window + 16 * static_cast<std::uint64_t>(it - module_.functions.begin())};
    }
    refuse(s, quote(name) + " is not a known register, variable or special register");
  }

  void source(const frame& f, const ptx_statement& s, instruction& i, const ptx_operand& o) {
    if (o.kind == ptx_operand::kind_t::list) {
      for (const ptx_operand& part : o.parts) {
        source(f, s, i, part);
      }
      return;
    }
    if (i.sources == i.by.size()) {
      refuse(s, quote(s.opcode) + " has more than " + std::to_string(i.by.size()) + " sources");
    }
    source_operand& v = i.by[i.sources++];
    v.negated = o.negated;
    switch (o.kind) {
      case ptx_operand::kind_t::reg:
        v.kind = source_operand::kind_t::reg;
        v.word = f.words[static_cast<std::size_t>(o.reg)];
        break;
      case ptx_operand::kind_t::number:
        v.kind = source_operand::kind_t::constant;
        v.low = o.value;
        if (o.decimal) {
          if (i.type != ptx_type::f32 && i.type != ptx_type::f64) {
            refuse(s, quote(s.opcode) + " has a decimal fraction as an operand, but is not of type f32 or f64");
          }
          v.low = float_bits(o.value, bytes_of(i.type));
        }
        break;
      case ptx_operand::kind_t::name:
        if (const std::optional<special> machine = find(special_registers, o.name)) {
          v.kind = source_operand::kind_t::special;
          v.machine = *machine;
        } else if (o.name == "WARP_SZ") {
          v.kind = source_operand::kind_t::constant;
          v.low = 32;
        } else {
          v.kind = source_operand::kind_t::constant;
          v.low = lookup(f, s, o.name).address + o.value;
        }
        break;
      default:
        refuse(s, "an operand of " + quote(s.opcode) + " is not a value");
    }
  }

  void address(const frame& f, const ptx_statement& s, instruction& i, const ptx_operand& o) {
    if (o.kind != ptx_operand::kind_t::address || !o.parts.empty()) {
      refuse(s, quote(s.opcode) + " needs an address in brackets, without coordinates");
    }
    i.offset = static_cast<std::int64_t>(o.value);
    source_operand& v = i.by[i.sources++];
    if (o.reg >= 0) {
      v.kind = source_operand::kind_t::reg;
      v.word = f.words[static_cast<std::size_t>(o.reg)];
      if (i.space == state_space::param) {
        i.code = op::load_param;  // an array of the kernel's parameters
      }
      return;
    }
    v.kind = source_operand::kind_t::constant;
    if (o.name.empty()) {
      return;
    }
    const symbol found = lookup(f, s, o.name);
    v.low = found.address;
    if (i.space == state_space::param) {
      if (found.space == state_space::param) {
        i.code = op::load_param;
      } else {
        i.space = state_space::local;  // a variable that is passed to a call
      }
    } else if (found.space != i.space && !(i.space == state_space::constant && found.space == state_space::global) &&
               i.space != state_space::generic) {
      refuse(s, quote(s.opcode) + " does not name the state space of " + quote(o.name));
    } else if (i.space == state_space::generic && found.space != state_space::global) {
      refuse(s, quote(s.opcode) + " has a generic address, but " + quote(o.name) +
                    " is in a specific state space: cvta is missing");
    }
  }

  const ptx_module& module_;
  const module_layout& layout_;
  int atomic_vector_;
  kernel_code result_{};
  std::uint64_t shared_end_ = first_offset;
  std::map<std::string, std::uint64_t> shared_names_{};
  std::vector<const ptx_function*> calls_{};  ///< the chain of calls to the current statement, starting with the kernel
  std::vector<int> call_places_{};            ///< the source locations of these calls
  std::int32_t carry_ = -1;                   ///< the register of the carry flag, or -1 if there is none
  std::int32_t own_ = -1;                     ///< the first additional register for data that instructions move
  std::int32_t joined_ = -1;                  ///< a register that combines the sources of an instruction with many operands
};

}  // namespace

kernel_code decode_kernel(const ptx_module& module, const module_layout& layout, const ptx_function& kernel,
                          int atomic_vector) {
  return kernel_decoder(module, layout, atomic_vector).decode(kernel);
}

}  // namespace membar::ptx
