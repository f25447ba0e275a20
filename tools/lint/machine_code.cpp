// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <lint/cubin.hpp>
#include <lint/listing.hpp>
#include <lint/machine_code.hpp>

#include <algorithm>
#include <charconv>
#include <cstddef>
#include <initializer_list>
#include <iterator>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

namespace membar::lint {

namespace {

/// The origin of one word of an address.
struct source {
  enum class kind_t : unsigned char {
    parameter,          ///< the bytes at offset `at` in the parameters
    pointed_to,         ///< the memory to which the pointer at offset `at` points
    parameter_address,  ///< the address of the parameters plus `at`; -1 if the offset is unknown
    not_global,         ///< the window of shared or local memory
  };
  kind_t kind = kind_t::parameter;
  int at = 0;
  auto operator<=>(const source&) const = default;
};

/// The known properties of a register's contents.
struct word {
  std::set<source> from;
  bool varies = false;  ///< whether the value may differ between threads, or is unknown
  auto operator<=>(const word&) const = default;
};

void join(word& into, const word& other) {
  into.from.insert(other.from.begin(), other.from.end());
  into.varies = into.varies || other.varies;
}

/// The numbers at which a warp's uniform registers and the predicates begin. The thread's registers begin at 0.
constexpr int uniform_registers = 256, predicates = 512, uniform_predicates = 520;
using registers = std::map<int, word>;  ///< an absent register has no known origin and is the same in all threads

/// Returns the number of the register in an operand, which may have modifiers: -R2.64.reuse, !UP0, |R3|. Returns -1 if the
/// operand does not start with a register.
int register_in(std::string_view operand) {
  const std::size_t begin = operand.find_first_not_of("-!~|+");
  operand = begin == std::string_view::npos ? std::string_view() : operand.substr(begin);
  const bool uniform = operand.starts_with('U');
  operand.remove_prefix(uniform ? 1 : 0);
  const bool predicate = operand.starts_with('P');
  if (operand.size() < 2 || (!predicate && operand[0] != 'R')) {
    return -1;
  }
  int number = 0;
  const char* const end = operand.data() + operand.size();
  const auto [rest, bad] = std::from_chars(operand.data() + 1, end, number);
  if (bad != std::errc() || (rest != end && *rest != '.' && *rest != '|' && *rest != '+' && *rest != '-')) {
    return -1;
  }
  return number + (predicate ? (uniform ? uniform_predicates : predicates) : (uniform ? uniform_registers : 0));
}

bool is_predicate(std::string_view operand) {
  return operand == "PT" || operand == "UPT" || register_in(operand) >= predicates;
}

std::optional<int> immediate_in(std::string_view operand) {
  const bool negative = operand.starts_with('-');
  operand.remove_prefix(negative ? 1 : 0);
  const bool hexadecimal = operand.starts_with("0x");
  operand.remove_prefix(hexadecimal ? 2 : 0);
  unsigned value = 0;
  const char* const end = operand.data() + operand.size();
  const auto [rest, bad] = std::from_chars(operand.data(), end, value, hexadecimal ? 16 : 10);
  if (operand.empty() || bad != std::errc() || rest != end) {
    return std::nullopt;
  }
  return negative ? -static_cast<int>(value) : static_cast<int>(value);
}

/// Returns the offset in bank 0 of an operand such as c[0x0][0x210]. Returns nothing for other operands, or if the offset is in
/// a register.
std::optional<int> bank_byte_in(std::string_view operand) {
  constexpr std::string_view bank = "c[0x0][";
  const std::size_t at = operand.find(bank);
  if (at == std::string_view::npos) {
    return std::nullopt;
  }
  operand = operand.substr(at + bank.size());
  return immediate_in(operand.substr(0, operand.find(']')));
}

/// Returns the numbers of the registers in the last brackets of an operand, for example of R2 in desc[UR4][R2.64+0x10].
std::vector<int> address_registers(std::string_view operand) {
  const std::size_t begin = operand.rfind('[');
  std::vector<int> out;
  if (begin == std::string_view::npos) {
    return out;
  }
  operand = operand.substr(begin + 1, operand.rfind(']') - begin - 1);
  for (std::size_t at = 0; at < operand.size();) {
    const std::size_t end = std::min(operand.find('+', at), operand.size());
    if (const int one = register_in(operand.substr(at, end - at)); one >= 0) {
      out.push_back(one);
    }
    at = end + 1;
  }
  return out;
}

bool is_one_of(const machine_instruction& i, std::initializer_list<std::string_view> opcodes) {
  return std::ranges::any_of(opcodes, [&](std::string_view name) { return i.is(name); });
}

/// How an instruction accesses global memory, and which operand contains the address.
struct machine_access {
  bool reads = false, writes = false, by_map = false;
  std::size_t operand = 0;
};

std::optional<machine_access> access_of(const machine_instruction& i) {
  const auto brackets = [&](std::size_t which) {
    for (std::size_t k = 0; k < i.operands.size(); ++k) {
      if (i.operands[k].find('[') != std::string::npos && i.operands[k].find("c[0x") == std::string::npos && which-- == 0) {
        return k;
      }
    }
    return i.operands.size();
  };
  if (is_one_of(i, {"LDG", "LD", "LDGMC"})) {
    return machine_access{true, false, false, brackets(0)};
  }
  if (is_one_of(i, {"ST", "STG", "RED", "REDG"})) {
    return machine_access{false, true, false, brackets(0)};
  }
  if (is_one_of(i, {"ATOM", "ATOMG"})) {
    return machine_access{true, true, false, brackets(0)};
  }
  if (is_one_of(i, {"LDGSTS"})) {
    return machine_access{true, false, false, brackets(1)};
  }
  if (is_one_of(i, {"UBLKCP", "UBLKRED"})) {  // UBLKCP.S.G copies from global to shared memory
    const bool writes = i.opcode.find(".G.S") != std::string::npos;
    return machine_access{!writes, writes, false, brackets(writes ? 0 : 1)};
  }
  if (is_one_of(i, {"UTMALDG"})) {
    return machine_access{true, false, true, brackets(1)};
  }
  if (is_one_of(i, {"UTMASTG", "UTMAREDG"})) {
    return machine_access{false, true, true, brackets(1)};
  }
  if (is_one_of(i, {"TEX", "TLD", "TLD4", "TXD", "SULD"})) {
    return machine_access{true, false, false, i.operands.size()};
  }
  if (is_one_of(i, {"SUST", "SURED", "SUATOM"})) {
    return machine_access{false, true, false, i.operands.size()};
  }
  return std::nullopt;
}

/// Returns whether the instruction is a barrier at which threads synchronize with other threads of their block, some of which
/// may have waited.
bool is_meeting(const machine_instruction& i) { return i.is("BAR") || i.is("UCGABAR_WAIT") || i.is("WARPSYNC"); }
bool is_phase_test(const machine_instruction& i) { return i.is("SYNCS") && i.has("PHASECHK"); }

/// Returns the number of leading operands that are results: a value or a predicate, and any additional predicates.
std::size_t results_of(const machine_instruction& i) {
  const std::optional<machine_access> access = access_of(i);
  if (i.operands.empty() || (access && !access->reads) ||
      is_one_of(i,
                {"STS", "STL", "LDGSTS", "UTMALDG", "BRA", "BRX", "BSSY", "BSYNC", "BAR", "EXIT", "CALL", "RET", "WARPSYNC"})) {
    return 0;
  }
  if (register_in(i.operands[0]) >= predicates || i.operands[0] == "PT" || i.operands[0] == "UPT") {
    return std::min<std::size_t>(2, i.operands.size());
  }
  std::size_t out = 1;
  while (out < std::min<std::size_t>(3, i.operands.size()) && !i.operands[out].starts_with('!') &&
         is_predicate(i.operands[out])) {
    ++out;
  }
  return out;
}

int words_of(const machine_instruction& i) { return i.has("128") ? 4 : i.has("64") || i.has("WIDE") ? 2 : 1; }

/// Computes the effect of instructions on the values in registers.
class machine_values {
 public:
  explicit machine_values(const parameter_bank& bank) : bank_(bank) {}

  void execute(const machine_instruction& i, registers& values) const {
    const std::size_t results = results_of(i);
    std::map<int, word> written;
    for (std::size_t k = 0; k < results; ++k) {
      const int number = register_in(i.operands[k]);
      const bool wide = number >= 0 && number < predicates;
      for (int lane = 0; number >= 0 && lane < (wide ? words_of(i) : 1); ++lane) {
        written[number + lane] = wide ? result(i, results, lane, values) : word{{}, varies(i, results, values)};
      }
    }
    for (auto& [number, value] : written) {
      if (!i.guard.empty()) {
        join(value, values[number]);
      }
      values[number] = std::move(value);
    }
  }

  /// Returns the possible origins of the address in an operand.
  [[nodiscard]] std::set<source> address(std::string_view operand, const registers& values) const {
    std::set<source> out;
    for (const int number : address_registers(operand)) {
      const word low = value_of(number, values);
      const word high = value_of(number + 1, values);
      std::set<source> both;
      for (const source& one : low.from) {
        const source upper{one.kind, one.at + (one.kind == source::kind_t::parameter ? 4 : 0)};
        if (one.kind != source::kind_t::not_global && high.from.contains(upper)) {
          both.insert(one);
        }
      }
      const std::set<source>& known = both.empty() ? low.from : both;
      out.insert(known.begin(), known.end());
      if (high.from.contains({source::kind_t::not_global, 0})) {
        out.insert({source::kind_t::not_global, 0});
      }
    }
    return out;
  }

  [[nodiscard]] bool is_uniform(std::string_view guard, const registers& values) const {
    const int number = register_in(guard);
    return number >= 0 && !value_of(number, values).varies;
  }

 private:
  static word value_of(int number, const registers& values) {
    const auto at = values.find(number);
    return at == values.end() ? word() : at->second;
  }

  [[nodiscard]] word of_bank(int byte) const {
    // The start of the parameters in bank 0, and the slot of bank 0 in which the driver stores their address, for sm_90 and for
    // sm_100 and later.
    constexpr std::pair<int, int> begins_and_slots[] = {{0x210, 0x198}, {0x380, 0x348}};
    for (const auto& [begin, slot] : begins_and_slots) {
      if (bank_.begin == begin && (byte == slot || byte == slot + 4)) {
        return {{{source::kind_t::parameter_address, 0}}, false};
      }
    }
    const int at = byte - bank_.begin;
    return at >= 0 && at < bank_.bytes ? word{{{source::kind_t::parameter, at}}, false} : word();
  }

  [[nodiscard]] word operand(std::string_view text, int lane, const registers& values) const {
    if (const std::optional<int> byte = bank_byte_in(text)) {
      return of_bank(*byte + 4 * lane);
    }
    const int number = register_in(text);
    return number < 0 ? word() : value_of(number + (number < predicates ? lane : 0), values);
  }

  [[nodiscard]] bool varies(const machine_instruction& i, std::size_t results, const registers& values) const {
    if (access_of(i) ||
        is_one_of(i, {"S2R", "S2UR", "CS2R", "LDS", "LDL", "SHFL", "VOTE", "ELECT", "MATCH", "SYNCS", "ATOMS"})) {
      return true;
    }
    return std::any_of(i.operands.begin() + static_cast<std::ptrdiff_t>(results), i.operands.end(),
                       [&](const std::string& one) { return operand(one, 0, values).varies; });
  }

  /// Returns the word that an instruction writes. The origins of products and shifted values are not tracked, because such
  /// values are indices.
  [[nodiscard]] word result(const machine_instruction& i, std::size_t results, int lane, const registers& values) const {
    const auto given = [&](std::size_t k) {
      return results + k < i.operands.size() ? operand(i.operands[results + k], lane, values) : word();
    };
    word out;
    if (const std::optional<machine_access> access = access_of(i)) {
      for (const source& from :
           access->operand < i.operands.size() ? address(i.operands[access->operand], values) : std::set<source>()) {
        if (from.kind == source::kind_t::parameter || from.kind == source::kind_t::pointed_to) {
          out.from.insert({source::kind_t::pointed_to, from.at});
        }
      }
    } else if (is_one_of(i, {"S2R", "S2UR"})) {
      const bool window = i.operands.back() == "SR_SWINHI" || i.operands.back() == "SR_CgaCtaId";
      out.from = window ? std::set<source>{{source::kind_t::not_global, 0}} : std::set<source>();
    } else if (is_one_of(i, {"LDC", "LDCU", "ULDC"})) {
      constexpr int stack_pointer = 1;
      out = register_in(i.operands[0]) == stack_pointer ? word{{{source::kind_t::not_global, 0}}, false} : given(0);
    } else if (is_one_of(i, {"LEA", "ULEA"})) {
      out = given(1);
    } else if (is_one_of(i, {"IMAD", "UIMAD"})) {
      out = given(2);
      if (results + 1 < i.operands.size() && i.operands[results + 1] == "0x1") {
        join(out, given(0));
      }
    } else if (is_one_of(i, {"MOV", "UMOV", "IADD3", "UIADD3", "IADD", "UIADD", "VIADD", "UVIADD", "SEL", "USEL", "R2UR",
                             "LOP3", "ULOP3"})) {
      out = sum(i, results, lane, values);
    }
    out.varies = varies(i, results, values);
    return out;
  }

  /// Returns the result of an addition or a selection. Constants are added to the offset in the parameters.
  [[nodiscard]] word sum(const machine_instruction& i, std::size_t results, int lane, const registers& values) const {
    word out;
    int added = 0;
    for (std::size_t k = results; k < i.operands.size(); ++k) {
      join(out, operand(i.operands[k], lane, values));
      added += immediate_in(i.operands[k]).value_or(0);
    }
    std::set<source> moved;
    for (source one : out.from) {
      one.at += one.kind == source::kind_t::parameter_address && !i.has("X") ? added : 0;
      moved.insert(one);
    }
    out.from = std::move(moved);
    return out;
  }

  const parameter_bank& bank_;
};

/// The instructions that can be executed before the wait, and the values in the registers before each basic block.
class early_code {
 public:
  early_code(const machine_function& f, const parameter_bank& bank) : f_(f), values_(bank), after_wait_(f.code.size()) {
    find_begins();
    find_after_wait();
    follow();
  }

  [[nodiscard]] bool waits() const { return waits_; }

  /// Calls `take` for each access among these instructions, with the possible origins of its address.
  template <class Take>
  void each_access(const Take& take) const {
    for (const auto& [begin, values] : at_begin_) {
      if (!skipped_.contains(begin)) {
        walk(begin, values, [&](int at, const registers& now) {
          const machine_instruction& i = f_.code[static_cast<std::size_t>(at)];
          if (const std::optional<machine_access> access = access_of(i)) {
            take(at, *access,
                 access->operand < i.operands.size() ? values_.address(i.operands[access->operand], now) : std::set<source>());
          }
        });
      }
    }
  }

 private:
  [[nodiscard]] const machine_instruction& code(int at) const { return f_.code[static_cast<std::size_t>(at)]; }

  void find_begins() {
    begins_.insert(0);
    for (int at = 0; at < static_cast<int>(f_.code.size()); ++at) {
      if (code(at).next != std::vector<int>{at + 1}) {
        begins_.insert(code(at).next.begin(), code(at).next.end());
      }
      waits_ = waits_ || code(at).is("ACQBULK");
    }
  }

  void find_after_wait() {
    std::vector<int> open;
    const auto open_next = [&](int at) {
      for (const int next : code(at).next) {
        if (!after_wait_[static_cast<std::size_t>(next)]) {
          after_wait_[static_cast<std::size_t>(next)] = true;
          open.push_back(next);
        }
      }
    };
    for (int at = 0; at < static_cast<int>(f_.code.size()); ++at) {
      if (code(at).is("ACQBULK")) {
        open_next(at);
      }
    }
    while (!open.empty()) {
      const int at = open.back();
      open.pop_back();
      open_next(at);
    }
  }

  [[nodiscard]] bool stops(int at) const {
    return code(at).is("ACQBULK") || is_phase_test(code(at)) ||
           (is_meeting(code(at)) && after_wait_[static_cast<std::size_t>(at)]);
  }

  /// Executes the basic block that starts at `begin`. Returns its last instruction, or -1 if the early code ends within the
  /// block.
  template <class Take>
  int walk(int begin, registers values, const Take& take) const {
    for (int at = begin;; ++at) {
      if (stops(at)) {
        return -1;
      }
      take(at, values);
      values_.execute(code(at), values);
      if (code(at).next != std::vector<int>{at + 1} || begins_.contains(at + 1)) {
        last_ = std::move(values);
        return at;
      }
    }
  }

  void follow() {
    if (!waits_ || f_.code.empty()) {
      return;
    }
    std::set<int> open = {0};
    at_begin_[0];
    while (!open.empty()) {
      const int begin = *open.begin();
      open.erase(open.begin());
      const int end = walk(begin, at_begin_[begin], [](int, const registers&) {});
      if (end < 0) {
        continue;
      }
      skip_optional_wait(end);
      for (const int next : code(end).next) {
        const auto [known, is_new] = at_begin_.try_emplace(next);
        if (!skipped_.contains(next) && (merge(known->second, last_) || is_new)) {
          open.insert(next);
        }
      }
    }
  }

  /// Called for a branch at the end of a basic block. If the branch is uniform for the whole launch, and only one side waits
  /// before the two sides can rejoin, the launch decides whether there is a kernel to wait for. In this case, the side that
  /// does not wait is not followed.
  void skip_optional_wait(int branch) {
    const machine_instruction& i = code(branch);
    const bool asks = i.is("BRA") && i.next.size() == 2;
    const std::string guard = !i.guard.empty() ? i.guard : i.operands.size() > 1 ? i.operands[0] : "";
    if (!asks || guard.empty() || !values_.is_uniform(guard, last_)) {
      return;
    }
    const bool first = always_waits(i.next[0]);
    const bool second = always_waits(i.next[1]);
    if (first != second) {
      skipped_.insert(i.next[first ? 1 : 0]);
    }
  }

  /// Returns whether the straight-line code that starts at this instruction waits.
  [[nodiscard]] bool always_waits(int at) const {
    for (; static_cast<std::size_t>(at) < f_.code.size(); ++at) {
      if (code(at).is("ACQBULK")) {
        return true;
      }
      if (code(at).next != std::vector<int>{at + 1}) {
        return false;
      }
    }
    return false;
  }

  static bool merge(registers& into, const registers& other) {
    bool changed = false;
    for (const auto& [number, value] : other) {
      word& mine = into[number];
      const word old = mine;
      join(mine, value);
      changed = changed || mine != old;
    }
    return changed;
  }

  const machine_function& f_;
  machine_values values_;
  std::set<int> begins_;  ///< the first instructions of basic blocks
  std::vector<bool> after_wait_;
  std::map<int, registers> at_begin_;  ///< the values at the start of each basic block that can run before the wait
  std::set<int> skipped_;
  mutable registers last_;  ///< the values at the end of the basic block that was executed last
  bool waits_ = false;
};

std::string name_of(const source& from, bool by_map, const parameter_bank& bank) {
  const auto next = bank.parameters.upper_bound(from.at);
  std::string parameter = "a parameter";
  if (next != bank.parameters.begin()) {
    const auto& [begin, one] = *std::prev(next);
    const bool only = one.bytes <= 8 || from.kind == source::kind_t::parameter_address;
    parameter = "parameter " + std::to_string(one.number) + (only ? "" : " at byte " + std::to_string(from.at - begin));
  }
  const std::string through = from.kind == source::kind_t::pointed_to ? "memory that " + parameter + " points to" : parameter;
  if (!by_map) {
    return through;
  }
  return "the tensor map " +
         (from.kind == source::kind_t::parameter_address ? "in " + parameter : "that " + parameter + " points to");
}

place place_of(const machine_instruction& i) {
  std::string text = i.opcode;
  for (std::size_t k = 0; k < i.operands.size(); ++k) {
    text += (k == 0 ? " " : ", ") + i.operands[k];
  }
  place out;
  out.opcode = std::move(text);
  out.code_offset = i.offset;
  return out;
}

/// An access that a kernel may perform before it waits.
struct early_access {
  int at = 0;
  bool writes = false;
  std::set<std::string> names;
};

std::vector<early_access> early_accesses_of(const machine_function& f, const early_code& early, const parameter_bank& bank) {
  std::vector<early_access> out;
  early.each_access([&](int at, const machine_access& access, const std::set<source>& address) {
    early_access one{at, access.writes, {}};
    for (const source& from : address) {
      if (from.kind != source::kind_t::not_global) {
        one.names.insert(name_of(from, access.by_map, bank));
      }
    }
    const machine_instruction& i = f.code[static_cast<std::size_t>(at)];
    const bool elsewhere = (i.is("LD") || i.is("ST") || i.is("ATOM") || i.is("RED")) && one.names.empty() && !address.empty();
    if (!elsewhere) {
      if (one.names.empty()) {
        one.names.insert("a pointer of unknown origin");
      }
      out.push_back(std::move(one));
    }
  });
  std::ranges::sort(out, {}, &early_access::at);
  return out;
}

constexpr std::string_view from_machine_code = " (found in machine code, which is less precise than PTX)";

/// Adds a kernel's finding for the rule about early reads or, if `writes` is set, for the rule about early writes.
void add_early(const machine_function& f, const std::vector<early_access>& all, bool writes, std::vector<finding>& out) {
  std::set<std::string> told;
  finding one{
      f.name, writes ? "pdl-write-before-wait" : "pdl-read-before-wait", writes ? confidence::medium : confidence::note, "", {},
      {}};
  for (const early_access& access : all) {
    if (access.writes != writes || std::ranges::includes(told, access.names)) {
      continue;
    }
    std::string text;
    for (const std::string& name : access.names) {
      text += (text.empty() ? "" : " or ") + name;
    }
    const place at = place_of(f.code[static_cast<std::size_t>(access.at)]);
    if (told.empty()) {
      one.at = at;
    }
    one.related.emplace_back(at, "through " + text);
    one.text += (told.empty() ? "through " : ", through ") + text;
    told.insert(access.names.begin(), access.names.end());
  }
  if (!told.empty()) {
    one.text = "global memory is " + std::string(writes ? "written" : "read") + " before griddepcontrol.wait, " + one.text +
               (writes ? ": the preceding kernel may still be reading or writing it"
                       : ": this is correct for weights, but not for data that the preceding kernel writes") +
               std::string(from_machine_code);
    out.push_back(std::move(one));
  }
}

void add_without_wait(const machine_function& f, bool most_wait, std::vector<finding>& out) {
  const auto is_global = [](const machine_instruction& i) { return access_of(i).has_value(); };
  const auto global = std::ranges::find_if(f.code, is_global);
  const auto launch = std::ranges::find_if(f.code, [](const machine_instruction& i) { return i.is("PREEXIT"); });
  const bool calls = std::ranges::any_of(f.code, [](const machine_instruction& i) { return i.is("CALL"); });
  if (global == f.code.end() || calls) {  // a called function may wait
    return;
  }
  if (launch != f.code.end()) {
    out.push_back({f.name,
                   "pdl-launch-without-wait",
                   confidence::note,
                   "the kernel executes griddepcontrol.launch_dependents but never griddepcontrol.wait: this is correct for "
                   "the first kernel in a chain" +
                       std::string(from_machine_code),
                   place_of(*launch),
                   {{place_of(*global), "an access"}}});
  } else if (most_wait) {
    out.push_back(
        {f.name,
         "pdl-never-waits",
         confidence::note,
         "most kernels in this image execute griddepcontrol.wait, but this one never does" + std::string(from_machine_code),
         place_of(*global),
         {}});
  }
}

bool waits(const machine_function& f) {
  return std::ranges::any_of(f.code, [](const machine_instruction& i) { return i.is("ACQBULK"); });
}

}  // namespace

module_findings lint_machine_code(std::string_view cubin, std::string_view listing) {
  module_findings out;
  std::vector<machine_function> functions = read_listing(listing);
  std::erase_if(functions, [](const machine_function& f) { return !f.kernel || f.code.empty(); });
  out.kernels = static_cast<int>(functions.size());
  const auto banks = parameters_of(cubin);
  const bool most_wait = 2 * std::ranges::count_if(functions, waits) > out.kernels;
  for (const machine_function& f : functions) {
    if (!waits(f)) {
      add_without_wait(f, most_wait, out.findings);
      continue;
    }
    const auto bank = banks.find(f.name);
    const parameter_bank none;
    const parameter_bank& known = bank == banks.end() ? none : bank->second;
    const std::vector<early_access> early = early_accesses_of(f, early_code(f, known), known);
    add_early(f, early, true, out.findings);
    add_early(f, early, false, out.findings);
  }
  return out;
}

}  // namespace membar::lint
