// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <lint/thread_paths.hpp>
#include <ptx/compute.hpp>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <utility>
#include <vector>

namespace membar::lint {

using ptx::instruction;
using ptx::op;
using ptx::source_operand;

namespace {

/// The maximum number of different sets of claims that are followed through one instruction. Beyond it, no claims are used.
constexpr std::size_t most_sets = 16;

bool is_barrier(const instruction& i) {
  return i.code == op::block_barrier || i.code == op::block_arrive || i.code == op::warp_barrier ||
         i.code == op::cluster_wait || i.mbarrier == ptx::mbarrier_op::test;
}

bool is_same(const source_operand& a, const source_operand& b) {
  return a.kind == b.kind && a.negated == b.negated && a.machine == b.machine && a.word == b.word && a.low == b.low;
}

template <class T>
bool contains(const std::vector<T>& all, T one) {
  return std::ranges::find(all, one) != all.end();
}

/// Returns whether the instruction sets a predicate to a constant.
bool sets_predicate(const instruction& i) {
  return i.code == op::move && i.type == ptx::ptx_type::pred && i.guard < 0 && i.to[0].word >= 0 &&
         i.by[0].kind == source_operand::kind_t::constant;
}

bool is_register(const source_operand& o) { return o.kind == source_operand::kind_t::reg && o.word >= 0; }
/// Returns whether the operand's value may be different each time it is read, although no instruction writes it.
bool may_change(const source_operand& o) {
  return ptx::is_clock(o) || (o.kind == source_operand::kind_t::special && o.machine == ptx::special::unknown);
}

/// Returns values of a type that lead to every possible result of comparisons between two values, or between a value and the
/// constants.
std::vector<std::uint64_t> samples(int bits, const std::vector<std::uint64_t>& constants) {
  const std::uint64_t ones = ptx::truncated(~std::uint64_t{0}, bits);
  const std::uint64_t sign = ones ^ (ones >> 1U);
  const std::uint64_t normal = ptx::truncated(0x3c3c'3c3c'3c3c'3c3c, bits);  // a normal number of every floating-point type
  std::vector<std::uint64_t> result{0, 1, ones, sign, ones ^ sign, normal, normal | sign};
  for (const std::uint64_t c : constants) {
    for (const std::uint64_t near : {c - 1, c, c + 1}) {
      result.push_back(ptx::truncated(near, bits));
    }
  }
  return result;
}

}  // namespace

thread_paths::thread_paths(const flow& paths) : paths_(&paths), of_(static_cast<std::size_t>(paths.size())) { find_claims(); }

pc_t thread_paths::current_source(std::int32_t predicate, pc_t at) const {
  const std::vector<pc_t>& writers = paths_->writers_of(predicate);
  if (writers.size() != 1) {
    return -1;
  }
  const pc_t source = writers.front();
  const instruction& i = paths_->at(source);
  if (i.guard >= 0 || i.destinations != 1 || !paths_->dominates(source, at)) {
    return -1;
  }
  bool current = true;
  paths_->backward(at, [&](pc_t pc) {
    for (unsigned k = 0; k < i.sources && pc != source; ++k) {
      if (is_register(i.by[k])) {
        current = current && !contains(paths_->writers_of(i.by[k].word), pc);
      }
    }
    return current && pc != source;
  });
  return current ? source : -1;
}

void thread_paths::find_claims(pc_t branch, std::int32_t predicate, bool holds, std::vector<std::size_t>& out) {
  const pc_t source = current_source(predicate, branch);
  claim found{nullptr, predicate, holds, branch, {predicate}};
  if (source >= 0) {
    const instruction& i = paths_->at(source);
    const auto follow = [&](const source_operand& o, bool wanted) {
      if (is_register(o)) {
        find_claims(branch, o.word, wanted != o.negated, out);
      }
    };
    if (i.code == op::bit_not || i.code == op::move) {
      return follow(i.by[0], i.code == op::move ? holds : !holds);
    }
    if ((i.code == op::bit_and && holds) || (i.code == op::bit_or && !holds)) {
      follow(i.by[0], holds);
      return follow(i.by[1], holds);
    }
    if (i.code == op::set_predicate && i.sources == 2 && !i.combines && !may_change(i.by[0]) && !may_change(i.by[1])) {
      found = {&i, -1, holds, branch, {}};
      for (const source_operand& o : {i.by[0], i.by[1]}) {
        if (is_register(o)) {
          found.registers.push_back(o.word);
        }
      }
    }
  }
  out.push_back(claims_.size());
  claims_.push_back(std::move(found));
}

bool thread_paths::contradict(const claim& a, const claim& b) const {
  if (a.compares == nullptr || b.compares == nullptr) {
    return a.compares == b.compares && a.predicate == b.predicate && a.holds != b.holds;
  }
  const int bits = 8 * ptx::bytes_of(a.compares->type);
  if (bits == 0 || bits > 64 || bits != 8 * ptx::bytes_of(b.compares->type) ||
      ptx::is_float(a.compares->type) != ptx::is_float(b.compares->type)) {
    return false;
  }
  // Tries values of the operands that differ. There can be two; if there are more, each claim has one that is its own.
  std::vector<source_operand> operands;
  std::vector<std::uint64_t> constants;
  for (const source_operand& o : {a.compares->by[0], a.compares->by[1], b.compares->by[0], b.compares->by[1]}) {
    if (o.kind == source_operand::kind_t::constant) {
      constants.push_back(ptx::truncated(o.low, bits));
    } else if (std::ranges::none_of(operands, [&](const source_operand& other) { return is_same(o, other); })) {
      operands.push_back(o);
    }
  }
  if (operands.empty() || operands.size() > 2) {
    return false;
  }
  const std::vector<std::uint64_t> tried = samples(bits, constants);
  for (const std::uint64_t first : tried) {
    for (const std::uint64_t second : operands.size() == 2 ? tried : std::vector{first}) {
      const auto value = [&](const source_operand& o) {
        return o.kind == source_operand::kind_t::constant ? ptx::truncated(o.low, bits)
               : is_same(o, operands.front())             ? first
                                                          : second;
      };
      const auto is_true = [&](const claim& c) {
        return (ptx::compute(*c.compares, value(c.compares->by[0]), value(c.compares->by[1]), 0) != 0) == c.holds;
      };
      if (is_true(a) && is_true(b)) {
        return false;
      }
    }
  }
  return true;
}

void thread_paths::find_claims() {
  for (pc_t pc = 0; pc < paths_->size(); ++pc) {
    const instruction& i = paths_->at(pc);
    if (i.guard >= 0 && (i.code == op::branch || i.code == op::exit || i.code == op::trap)) {
      for (const bool taken : {false, true}) {
        find_claims(pc, i.guard, taken != i.guard_negated, of_[static_cast<std::size_t>(pc)][taken ? 1 : 0]);
      }
    } else if (sets_predicate(i)) {
      of_[static_cast<std::size_t>(pc)][1].push_back(claims_.size());
      claims_.push_back({nullptr, i.to[0].word, (i.by[0].low & 1U) != 0, pc, {i.to[0].word}});
    }
  }
  // Only claims about a common register can contradict each other.
  const auto of_none = static_cast<std::size_t>(paths_->code().words) + 2;  // the group of claims about no register
  std::vector<std::vector<std::size_t>> about(of_none + 1);
  for (std::size_t c = 0; c < claims_.size(); ++c) {
    const std::vector<std::int32_t>& registers = claims_[c].registers;
    about[registers.empty() ? of_none : static_cast<std::size_t>(registers.front())].push_back(c);
  }
  for (const std::vector<std::size_t>& group : about) {
    for (const std::size_t a : group) {
      for (const std::size_t b : group) {
        if (claims_[a].of != claims_[b].of && contradict(claims_[a], claims_[b])) {
          claims_[a].excludes.push_back(b);
        }
      }
    }
  }
  for (auto& sides : of_) {
    for (std::vector<std::size_t>& side : sides) {
      std::erase_if(side, [&](std::size_t c) { return claims_[c].excludes.empty(); });
    }
  }
}

bool thread_paths::are_excluded(const claims& some, const claims& others) const {
  return std::ranges::any_of(some, [&](std::size_t c) {
    return std::ranges::any_of(claims_[c].excludes, [&](std::size_t o) { return std::ranges::binary_search(others, o); });
  });
}

bool thread_paths::take(pc_t pc, pc_t to, claims& known) const {
  const instruction& i = paths_->at(pc);
  if (i.code == op::branch && i.target == pc + 1) {
    return true;
  }
  const bool holds = sets_predicate(i) || (i.code == op::branch && to == i.target);
  const claims& more = of_[static_cast<std::size_t>(pc)][holds ? 1 : 0];
  if (are_excluded(more, known)) {
    return false;
  }
  claims both;
  std::ranges::set_union(known, more, std::back_inserter(both));
  known = std::move(both);
  return true;
}

void thread_paths::drop_changed(pc_t pc, claims& known) const {
  const instruction& i = paths_->at(pc);
  if (is_barrier(i)) {
    known.clear();
  }
  for (unsigned k = 0; k < i.destinations; ++k) {
    std::erase_if(known, [&](std::size_t c) { return contains(claims_[c].registers, i.to[k].word); });
  }
}

std::vector<thread_paths::step> thread_paths::after(pc_t pc, const claims& known) const {
  std::vector<step> result;
  for (const pc_t next : paths_->after(pc)) {
    claims then = known;
    drop_changed(pc, then);
    if (take(pc, next, then)) {
      result.emplace_back(next, std::move(then));
    }
  }
  return result;
}

std::vector<thread_paths::step> thread_paths::before(pc_t pc, const claims& known) const {
  std::vector<step> result;
  for (const pc_t previous : paths_->before(pc)) {
    claims then = known;
    if (!take(previous, pc, then)) {
      continue;
    }
    drop_changed(previous, then);
    const std::vector<claims>& arriving = arriving_at(previous);
    if (std::ranges::any_of(arriving, [&](const claims& other) { return !are_excluded(then, other); })) {
      result.emplace_back(previous, std::move(then));
    }
  }
  return result;
}

void thread_paths::walk::add(pc_t pc, claims known) {
  if (pc >= static_cast<pc_t>(seen.size())) {
    return;
  }
  std::vector<claims>& sets = seen[static_cast<std::size_t>(pc)];
  if (sets.size() >= most_sets) {
    known.clear();
  }
  if (std::ranges::none_of(sets, [&](const claims& s) { return std::ranges::includes(known, s); })) {
    sets.push_back(known);
    open.emplace_back(pc, std::move(known));
  }
}

thread_paths::step thread_paths::walk::take() {
  step result = std::move(open.back());
  open.pop_back();
  return result;
}

const std::vector<thread_paths::claims>& thread_paths::arriving_at(pc_t pc) const {
  if (arriving_.empty()) {
    walk seen(paths_->size());
    seen.add(0, {});
    follow(seen, [](pc_t, const std::vector<pc_t>&) { return true; });
    arriving_ = std::move(seen.seen);
    for (std::vector<claims>& sets : arriving_) {
      if (sets.empty()) {
        sets.emplace_back();  // no path leads there
      }
    }
  }
  return arriving_[static_cast<std::size_t>(pc)];
}

}  // namespace membar::lint
