// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
/// @file
/// Changes to orders, scopes and fences in a program's kernels.
///
/// A change applies to a site: the instructions with the same opcode that come from the same source line. Copies of the line
/// that the compiler made by inlining or unrolling are changed together, as they would be if the source were changed. If a line
/// of a library is inlined at several lines of the program, each of these lines has its own site. If the PTX has no line
/// information, each instruction is a site.
#pragma once

#include <check/liveness.hpp>
#include <check/program.hpp>
#include <membar/memory_order.hpp>
#include <membar/model/array.hpp>
#include <membar/thread_scope.hpp>
#include <ptx/decode.hpp>
#include <ptx/instruction.hpp>
#include <ptx/opcode.hpp>
#include <ptx/words.hpp>

#include <algorithm>
#include <array>
#include <compare>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <limits>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <string_view>
#include <tuple>
#include <utility>
#include <vector>

namespace membar::check {

using namespace ptx;

/// The current or desired strength of an access or a fence: an order and a scope, or neither.
struct strength {
  bool strong = false;  ///< false for a weak access or a missing fence
  memory_order order = memory_order::relaxed;
  thread_scope scope = thread_scope::block;
  [[nodiscard]] friend constexpr auto operator<=>(const strength&, const strength&) noexcept = default;
};

/// Returns whether `weak` is at most as strong as `than`.
[[nodiscard]] constexpr bool no_stronger(const strength& weak, const strength& than) noexcept {
  if (!weak.strong || !than.strong) {
    return !weak.strong;
  }
  const bool order = weak.order == than.order || weak.order == memory_order::relaxed || than.order == memory_order::seq_cst ||
                     (than.order == memory_order::acq_rel && weak.order != memory_order::seq_cst);
  return order && weak.scope <= than.scope;
}

/// Returns whether an instruction's line is in the kernel itself, not in a function that the kernel calls.
[[nodiscard]] inline bool is_in_kernel(const instruction& i) noexcept {
  return i.caller_line == 0 || (i.user_file == i.caller_file && i.user_line == i.caller_line);
}

/// Instructions that change together when the source is changed.
struct code_site {
  std::vector<std::pair<int, int>> places{};  ///< for each instruction: its kernel in the program, and its index in that
                                              ///< kernel's code
  int thread = 0;                             ///< a thread that executes the first instruction
  const instruction* first = nullptr;
  bool one_caller = true;  ///< whether all instructions come from a single line of a caller
  bool host = false;       ///< whether the site belongs to a host thread
  bool gap = false;        ///< whether the site is a gap: barriers may be inserted before `places`, and the line of `first` is
                           ///< the line before the barrier in the source
  bool joins = false;      ///< whether jumps lead to the gap
  bool turns = false;      ///< whether each iteration of a loop begins at the gap
  bool leaves = false;     ///< whether the gap follows a statement of the kernel itself, including the functions that the
                           ///< statement calls and all copies of an unrolled loop
  bool one_warp = false;   ///< for a gap: whether the kernel is launched only in blocks of at most one warp
  [[nodiscard]] strength now() const noexcept {
    return {first->strong || first->code == op::fence, first->order, first->scope};
  }
};

/// One change: a new strength for a site's own instructions, a fence of that strength before or after them, or a proxy fence
/// before them. In a gap, the change inserts a block barrier or a warp barrier; `either_barrier` inserts a warp barrier, and a
/// block barrier at the same place has the same effect.
struct code_edit {
  enum class kind_t : std::uint8_t {
    own,
    fence_before,
    fence_after,
    proxy_fence_before,
    block_barrier,
    warp_barrier,
    either_barrier
  };
  int site = 0;
  kind_t kind = kind_t::own;
  strength to{};
  std::uint8_t proxy_spaces = 0;  ///< for a proxy fence: as in `instruction::proxy_spaces`
  [[nodiscard]] friend constexpr auto operator<=>(const code_edit&, const code_edit&) noexcept = default;
};

/// Returns the opcode in an instruction's text, without its predicate, for example "st.volatile.u32".
[[nodiscard]] inline std::string opcode_of(const instruction& i) {
  std::string_view text = i.text;
  if (!text.empty() && text[0] == '@') {
    text.remove_prefix(std::min(text.find(' '), text.size() - 1) + 1);
  }
  return std::string(text.substr(0, text.find_first_of(" ;\t")));
}

/// Returns the name of an instruction, followed by an order and a scope, in PTX syntax: "st.release.gpu", "fence.sc.sys",
/// "ld.weak".
[[nodiscard]] inline std::string strength_text(const instruction& i, const strength& s) {
  const bool access = i.code >= op::load && i.code <= op::reduction;
  const std::string_view name = access                ? spelling_of(i.code, i.mbarrier)
                                : arrives(i.mbarrier) ? spelling_of(op::atomic, i.mbarrier)
                                                      : spelling_of(op::fence);
  if (!s.strong) {
    return i.code == op::fence ? "no fence" : opcode_text(name, "weak");
  }
  return opcode_text(name, s.order, s.scope);
}

/// Returns a proxy fence in PTX syntax.
[[nodiscard]] inline std::string proxy_fence_text(std::uint8_t spaces) {
  return opcode_text(spelling_of(op::proxy_fence), word_for(proxy_space_words, spaces));
}

/// Returns the first kernel that has the same source as kernel `k` and was decoded for another device, or `k` if no earlier
/// kernel has the same source.
[[nodiscard]] inline int first_copy(const program& p, int k) {
  const kernel_code& mine = *model::at(p.kernels, k);
  const auto it = std::find_if(p.kernels.begin(), p.kernels.begin() + k, [&](const auto& other) {
    return other->name == mine.name && other->code.size() == mine.code.size() && other->code[0].line == mine.code[0].line;
  });
  return static_cast<int>(it - p.kernels.begin());
}

/// Returns the index of the event, jump or jump target that ends the straight-line code beginning at `pc`.
[[nodiscard]] inline int end_of_line(const kernel_code& kernel, const std::set<int>& targets, int pc) {
  while (pc < model::count_of(kernel.code) && targets.count(pc) == 0 && model::at(kernel.code, pc).code < op::branch) {
    ++pc;
  }
  return pc;
}

/// Returns the targets of a kernel's jumps.
[[nodiscard]] inline std::set<int> jump_targets(const kernel_code& kernel) {
  std::set<int> targets;
  for (const instruction& i : kernel.code) {
    targets.insert(i.target);
    targets.insert(i.targets.begin(), i.targets.end());
  }
  return targets;
}

/// Returns the event or jump that follows position `pc` in straight-line code and belongs to a later statement of the kernel
/// itself than the instruction before `pc`. Returns null if there is none.
[[nodiscard]] inline const instruction* later_statement(const kernel_code& kernel, const std::set<int>& targets, int pc) {
  const instruction& before = model::at(kernel.code, pc - 1);
  const bool follows = pc < model::count_of(kernel.code) && model::at(kernel.code, pc).code >= op::branch;
  const int end = follows ? pc : end_of_line(kernel, targets, pc + 1);
  if (end >= model::count_of(kernel.code) || (!follows && targets.count(end) != 0)) {
    return nullptr;
  }
  const instruction& after = model::at(kernel.code, end);
  const bool is_later =
      before.caller_line > 0 && after.caller_file == before.caller_file && after.caller_line > before.caller_line;
  return is_later ? &after : nullptr;
}

/// Returns whether two instructions have the same known calls.
[[nodiscard]] inline bool has_same_call(const instruction& x, const instruction& y) noexcept {
  return x.caller_file == y.caller_file && x.caller_line == y.caller_line && x.via_file == y.via_file &&
         x.via_line == y.via_line;
}

/// Returns whether a barrier after the instruction could make a difference, because the instruction is an access or a wait for
/// copies.
[[nodiscard]] inline bool precedes_gap(const instruction& i) noexcept {
  return (i.code >= op::load && i.code <= op::reduction) || i.code == op::async_wait;
}

/// Returns whether the compiler moves no access across an instruction.
[[nodiscard]] inline bool keeps_accesses_apart(const instruction& i) noexcept {
  return leaves(i.code) || i.code == op::block_barrier || i.code == op::warp_barrier;
}

/// The file of a line and the known calls that led to it, and the line's number.
using line_in_call = std::pair<std::array<int, 5>, int>;
[[nodiscard]] inline line_in_call line_in_call_of(const instruction& i) noexcept {
  if (is_in_kernel(i)) {
    return {{i.user_file}, i.user_line};
  }
  return {{i.user_file, i.via_file, i.via_line, i.caller_file, i.caller_line}, i.user_line};
}

/// Returns the event or jump with whose source line the code continues at position `pc` after the statement of `own`. This is
/// the next one, or an access that follows it in straight-line code and has an earlier line in the same function call, because
/// the compiler may have moved accesses of later lines to the front. Returns null if there is none.
[[nodiscard]] inline const instruction* line_after(const kernel_code& kernel, const std::set<int>& targets,
                                                   const instruction& own, int pc) {
  while (pc < model::count_of(kernel.code) && model::at(kernel.code, pc).code < op::branch) {
    ++pc;
  }
  if (pc == model::count_of(kernel.code)) {
    return nullptr;
  }
  const instruction* result = &model::at(kernel.code, pc);
  const line_in_call mine = line_in_call_of(own);
  while (pc < model::count_of(kernel.code) && !keeps_accesses_apart(model::at(kernel.code, pc))) {
    const instruction& i = model::at(kernel.code, pc);
    const line_in_call line = line_in_call_of(i);
    const line_in_call first = line_in_call_of(*result);
    const bool is_earlier = line.first == first.first && line.second < first.second && line.second > 0;
    if (is_earlier && precedes_gap(i) && (line.first != mine.first || line.second > mine.second)) {
      result = &i;
    }
    if (targets.count(++pc) != 0) {
      break;
    }
  }
  return result;
}

/// Returns, for each instruction, the instruction whose source line precedes a barrier that is inserted after the former. For
/// an access, this is the last line of the accesses before the barrier, because the compiler may have moved accesses of later
/// lines to the front. Returns null for an access that an access of an earlier line follows, because no place in the source
/// corresponds to a barrier between them.
///
/// Only straight-line code without barriers is examined, and only lines of the same function call. In an unrolled loop, the
/// first iteration shows the order of the lines. A line with a branch may be the condition of a loop, which the compiler may
/// have moved to the loop's end, so such a line does not count as an earlier line.
[[nodiscard]] inline std::vector<const instruction*> lines_before_barriers(const kernel_code& kernel,
                                                                           const std::set<int>& targets) {
  std::set<line_in_call> conditions;
  for (const instruction& i : kernel.code) {
    if (i.code == op::branch || i.code == op::branch_index) {
      conditions.insert(line_in_call_of(i));
    }
  }
  std::vector<const instruction*> result;
  std::map<line_in_call, const instruction*> known;  // the lines of the accesses in the current straight-line code
  int begin = 0;
  for (int pc = 0; pc < model::count_of(kernel.code); ++pc) {
    const instruction& i = model::at(kernel.code, pc);
    result.push_back(&i);
    if (targets.count(pc) != 0 || keeps_accesses_apart(i)) {
      known.clear();
      begin = pc;
    }
    if (!precedes_gap(i) || i.user_line == 0) {
      continue;
    }
    const line_in_call line = line_in_call_of(i);
    const auto [it, fresh] = known.try_emplace(line, &i);
    const auto last = std::prev(known.lower_bound({line.first, std::numeric_limits<int>::max()}));
    if (fresh && last != it && conditions.count(line) == 0) {
      it->second = last->second;
      for (int earlier = begin; earlier < pc; ++earlier) {
        const line_in_call other = line_in_call_of(model::at(kernel.code, earlier));
        const bool is_later = other.first == line.first && other.second > line.second;
        model::at(result, earlier) =
            is_later && precedes_gap(model::at(kernel.code, earlier)) ? nullptr : model::at(result, earlier);
      }
    }
    result.back() = it->second;
  }
  return result;
}

/// Adds the gaps of a kernel to `result`. A gap is a position where a barrier could make a difference: after the last access or
/// wait for copies on a source line, at a jump target, or after a statement of the kernel itself that contains a call or a loop.
/// Positions inside a call of a library function are left out.
inline void add_gaps(const program& p, int k, std::vector<code_site>& result) {
  const kernel_code& kernel = *model::at(p.kernels, k);
  const auto runs = std::find_if(p.threads.begin(), p.threads.end(), [&](const auto& t) { return t.kernel == &kernel; });
  if (runs == p.threads.end() || runs->where.host || runs->block_size() < 2) {
    return;
  }
  const bool one_warp = std::none_of(p.threads.begin(), p.threads.end(),
                                     [&](const thread_context& t) { return t.kernel == &kernel && t.block_size() > 32; });
  const std::set<int> targets = jump_targets(kernel);
  const auto line = [](const instruction& i) { return std::tuple(i.user_file, i.user_line, i.source_line == 0 ? i.line : 0); };
  using line_number = decltype(line(kernel.code.front()));
  enum class gap_kind : std::uint8_t { after_line, at_target, after_statement };
  std::map<std::tuple<gap_kind, line_number, line_number>, code_site> known;
  std::vector<code_site*> in_order;
  const auto add = [&](int pc, gap_kind of, const instruction& first, const line_number& last, const line_number& next) {
    const auto [it, fresh] = known.try_emplace(std::tuple(of, last, next));
    code_site& site = it->second;
    if (fresh) {
      site.thread = static_cast<int>(runs - p.threads.begin());
      site.first = &first;
      site.gap = true;
      site.joins = of == gap_kind::at_target;
      site.turns = site.joins && model::at(kernel.code, pc).head;
      site.leaves = of == gap_kind::after_statement;
      site.one_warp = one_warp;
      in_order.push_back(&site);
    }
    site.places.emplace_back(k, pc);
    site.one_caller = site.one_caller && has_same_call(first, *site.first);
  };
  const std::vector<const instruction*> lines = lines_before_barriers(kernel, targets);
  for (int pc = 1; pc < model::count_of(kernel.code); ++pc) {
    const instruction& before = model::at(kernel.code, pc - 1);
    const instruction* last = model::at(lines, pc - 1);
    const bool joins = targets.count(pc) != 0;
    const int end = joins ? pc : end_of_line(kernel, targets, pc);
    const instruction* next = end < model::count_of(kernel.code) ? model::at(lines, end) : nullptr;
    const bool amid =
        last != nullptr && next != nullptr && is_event(next->code) && line(*next) == line(*last) && before.source_line != 0;
    const bool accesses = precedes_gap(before);
    const instruction& after = model::at(kernel.code, pc);
    const bool in_library = before.file != before.user_file && after.file != after.user_file && line(before) == line(after);
    if (!in_library && joins) {
      const instruction* later = after.head ? &after : line_after(kernel, targets, before, pc);
      add(pc, gap_kind::at_target, before, line(before), line(later != nullptr ? *later : after));
    } else if (!in_library && accesses && !amid && last != nullptr) {
      add(pc, gap_kind::after_line, *last, line(*last), line_number());
    }
    const bool jumps = before.code == op::branch || before.code == op::branch_index;
    const bool ends_loop = before.code == op::branch && before.target < pc && (joins || before.guard >= 0);
    if (ends_loop || (!jumps && (joins || accesses || before.code == op::warp_barrier))) {
      if (const instruction* later = later_statement(kernel, targets, pc); later != nullptr) {
        add(pc, gap_kind::after_statement, before, {before.caller_file, before.caller_line, 0},
            {later->caller_file, later->caller_line, 0});
      }
    }
  }
  // If two gaps are the same position, the one after the kernel's own line is kept, because other kernels may share a function.
  const auto is_replaced = [&](const code_site& site) {
    return std::any_of(in_order.begin(), in_order.end(), [&](const code_site* other) {
      const bool is_better = site.leaves ? is_in_kernel(*other->first) : !is_in_kernel(*site.first);
      return other->leaves != site.leaves && is_better && other->places == site.places;
    });
  };
  for (const code_site* site : in_order) {
    if (!is_replaced(*site)) {
      result.push_back(*site);
    }
  }
}

/// Returns the sites of a program: the accesses, fences and barriers of its kernels, followed by the gaps.
[[nodiscard]] inline std::vector<code_site> sites_of(const program& p) {
  std::vector<code_site> result;
  std::map<std::tuple<int, int, int, int, int, int, std::string>, std::size_t> known;
  for (int k = 0; k < model::count_of(p.kernels); ++k) {
    const kernel_code& kernel = *model::at(p.kernels, k);
    const auto runs = std::find_if(p.threads.begin(), p.threads.end(), [&](const auto& t) { return t.kernel == &kernel; });
    if (runs == p.threads.end()) {
      continue;
    }
    for (int pc = 0; pc < model::count_of(kernel.code); ++pc) {
      const instruction& i = model::at(kernel.code, pc);
      if ((i.code < op::load || i.code > op::warp_barrier) && i.code != op::async_copy) {
        continue;
      }
      const bool lines = i.source_line > 0 && !runs->where.host;
      const bool called = lines && (i.file != i.user_file || i.source_line != i.user_line);
      const auto [it, fresh] =
          known.try_emplace(std::tuple(lines ? -1 : first_copy(p, k), lines ? -1 : pc, i.file, i.source_line,
                                       called ? i.user_file : 0, called ? i.user_line : 0, opcode_of(i)),
                            result.size());
      if (fresh) {
        result.push_back({{}, static_cast<int>(runs - p.threads.begin()), &i});
        result.back().host = runs->where.host;
      }
      code_site& site = result[it->second];
      site.places.emplace_back(k, pc);
      site.one_caller = site.one_caller && has_same_call(i, *site.first);
    }
  }
  for (int k = 0; k < model::count_of(p.kernels); ++k) {
    add_gaps(p, k, result);
  }
  return result;
}

/// A program with changes, and the original position of each of its instructions.
class edited_program {
 public:
  explicit edited_program(const program& before) : before_(before), now_(before), origins_(before.kernels.size()) {}

  /// Applies these changes to the original program.
  void apply(const std::vector<code_site>& sites, const std::vector<code_edit>& edits) {
    for (int k = 0; k < model::count_of(before_.kernels); ++k) {
      apply_to(k, sites, edits);
    }
    for (std::size_t t = 0; t < now_.threads.size(); ++t) {
      thread_context& c = now_.threads[t];
      const int k = kernel_of(before_.threads[t].kernel);
      c.kernel = model::at(now_.kernels, k).get();
      c.registers = c.kernel == before_.threads[t].kernel ? before_.threads[t].registers
                                                          : register_use_of(c, !now_.fragment && !c.where.host);
    }
  }

  [[nodiscard]] const program& get() const noexcept { return now_; }

  /// Returns the original position of a thread's instruction: its kernel and its index. An inserted fence has the position of
  /// the instruction next to it.
  [[nodiscard]] std::pair<int, int> origin(int thread, int pc) const {
    const int k = kernel_of(model::at(before_.threads, thread).kernel);
    const std::vector<int>& origins = model::at(origins_, k);
    return {k, origins.empty() ? pc : model::at(origins, pc)};
  }

 private:
  struct change {
    const strength* own = nullptr;
    const strength* before = nullptr;
    const strength* after = nullptr;
    std::uint8_t proxy_spaces = 0;  ///< if not 0, a proxy fence is inserted before the instruction
    op barrier = op::nothing;       ///< if not `nothing`: this barrier is inserted before the instruction and its fences
  };

  [[nodiscard]] int kernel_of(const kernel_code* code) const {
    int k = 0;
    while (model::at(before_.kernels, k).get() != code) {
      ++k;
    }
    return k;
  }

  [[nodiscard]] static instruction fence_beside(const instruction& i, const strength& s) {
    instruction f;
    f.code = op::fence;
    f.order = s.order;
    f.scope = s.scope;
    f.guard = i.guard;  // the fence is executed only by the threads that execute the instruction
    f.guard_negated = i.guard_negated;
    f.line = i.line;
    f.file = i.file;
    f.source_line = i.source_line;
    f.user_file = i.user_file;
    f.user_line = i.user_line;
    f.via_file = i.via_file;
    f.via_line = i.via_line;
    f.caller_file = i.caller_file;
    f.caller_line = i.caller_line;
    f.text = strength_text(f, s) + ";";
    return f;
  }

  [[nodiscard]] static instruction proxy_fence_beside(const instruction& i, std::uint8_t spaces) {
    instruction f = fence_beside(i, {});
    f.code = op::proxy_fence;
    f.proxy_spaces = spaces;
    f.text = proxy_fence_text(spaces) + ";";
    return f;
  }

  /// Returns `bar.sync 0` or `bar.warp.sync -1`. All threads that reach it execute it, regardless of the predicate of the
  /// following instruction.
  [[nodiscard]] static instruction barrier_before(const instruction& i, op code) {
    instruction b = fence_beside(i, {});
    b.code = code;
    b.guard = -1;
    b.guard_negated = false;
    b.aligned = true;
    b.sources = 1;
    b.by[0].kind = source_operand::kind_t::constant;
    b.by[0].low = code == op::block_barrier ? 0 : 0xffffffffU;
    b.text = code == op::block_barrier ? "bar.sync 0;" : "bar.warp.sync -1;";
    return b;
  }

  void apply_to(int k, const std::vector<code_site>& sites, const std::vector<code_edit>& edits) {
    std::map<int, change> changes;
    for (const code_edit& e : edits) {
      for (const auto& [kernel, pc] : model::at(sites, e.site).places) {
        if (kernel == k) {
          change& c = changes[pc];
          if (e.kind >= code_edit::kind_t::block_barrier) {
            c.barrier = e.kind == code_edit::kind_t::block_barrier ? op::block_barrier : op::warp_barrier;
            continue;
          }
          if (e.kind == code_edit::kind_t::proxy_fence_before) {
            c.proxy_spaces = e.proxy_spaces;
            continue;
          }
          (e.kind == code_edit::kind_t::own ? c.own : e.kind == code_edit::kind_t::fence_before ? c.before : c.after) = &e.to;
        }
      }
    }
    model::at(origins_, k).clear();
    if (changes.empty()) {
      model::at(now_.kernels, k) = model::at(before_.kernels, k);
      return;
    }
    auto kernel = std::make_shared<kernel_code>(*model::at(before_.kernels, k));
    const std::vector<instruction> old = std::move(kernel->code);
    kernel->code.clear();
    std::vector<int>& origins = model::at(origins_, k);
    std::vector<std::int32_t> place;  // the new position of each original instruction, including the fence before it
    for (int pc = 0; pc < model::count_of(old); ++pc) {
      const instruction& i = model::at(old, pc);
      place.push_back(model::count_of(kernel->code));
      const auto it = changes.find(pc);
      const change c = it != changes.end() ? it->second : change{};
      if (c.barrier != op::nothing) {
        kernel->code.push_back(barrier_before(i, c.barrier));
      }
      if (c.before != nullptr) {
        kernel->code.push_back(fence_beside(i, *c.before));
      }
      if (c.proxy_spaces != 0) {
        kernel->code.push_back(proxy_fence_beside(i, c.proxy_spaces));
      }
      kernel->code.push_back(i);
      if (c.own != nullptr) {
        instruction& changed = kernel->code.back();
        changed.order = c.own->order;
        changed.scope = c.own->scope;
        changed.strong = c.own->strong;
        changed.code = changed.code == op::fence && !c.own->strong ? op::nothing : changed.code;
        changed.text = strength_text(i, *c.own) + ": " + i.text;
      }
      if (c.after != nullptr) {
        kernel->code.push_back(fence_beside(i, *c.after));
      }
      origins.resize(kernel->code.size(), pc);
    }
    for (int pc = 0; pc < model::count_of(kernel->code); ++pc) {
      instruction& i = model::at(kernel->code, pc);
      i.head = false;
      if (i.target >= 0) {
        i.target = model::at(place, i.target);
      }
      for (std::int32_t& target : i.targets) {
        target = model::at(place, target);
      }
    }
    mark_heads(kernel->code);
    model::at(now_.kernels, k) = std::move(kernel);
  }

  const program& before_;
  program now_;
  std::vector<std::vector<int>> origins_;  ///< per kernel; empty if nothing was changed
};

}  // namespace membar::check
