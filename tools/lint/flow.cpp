// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <lint/flow.hpp>

#include <algorithm>
#include <cstddef>
#include <vector>

namespace membar::lint {

using ptx::instruction;
using ptx::op;

namespace {

constexpr std::size_t none = static_cast<std::size_t>(-1);

bool ends_thread(const instruction& i) { return i.code == op::exit || i.code == op::trap; }

/// Returns the immediate dominator of each node that can be reached from `root`. Unreachable nodes have none. Source: Cooper,
/// Harvey, Kennedy, "A Simple, Fast Dominance Algorithm".
std::vector<std::size_t> dominators_of(std::size_t root, const std::vector<std::vector<std::size_t>>& next,
                                       const std::vector<std::vector<std::size_t>>& before) {
  std::vector<std::size_t> order;
  std::vector<std::size_t> left(next.size(), none);
  std::vector<std::pair<std::size_t, std::size_t>> open{{root, 0}};
  std::vector<bool> seen(next.size(), false);
  seen[root] = true;
  while (!open.empty()) {
    auto& [node, child] = open.back();
    if (child == next[node].size()) {
      left[node] = order.size();
      order.push_back(node);
      open.pop_back();
    } else if (const std::size_t to = next[node][child++]; !seen[to]) {
      seen[to] = true;
      open.emplace_back(to, 0);
    }
  }
  std::vector<std::size_t> result(next.size(), none);
  result[root] = root;
  for (bool changed = true; changed;) {
    changed = false;
    for (std::size_t k = order.size() - 1; k-- > 0;) {
      const std::size_t node = order[k];
      std::size_t found = none;
      for (const std::size_t b : before[node]) {
        if (result[b] == none) {
          continue;
        }
        std::size_t other = b;
        while (found != none && found != other) {
          std::size_t& lower = left[found] < left[other] ? found : other;
          lower = result[lower];
        }
        found = found == none ? b : found;
      }
      changed = changed || result[node] != found;
      result[node] = found;
    }
  }
  return result;
}

}  // namespace

flow::flow(const ptx::kernel_code& kernel) : kernel_(&kernel), written_by_(static_cast<std::size_t>(kernel.words) + 2) {
  find_writers();
  find_blocks();
  find_dominators();
  find_controls();
  find_loops();
}

std::vector<pc_t> flow::after(pc_t pc) const {
  std::vector<pc_t> result;
  ptx::for_each_next(at(pc), pc, [&](pc_t to) { result.push_back(to); });
  return result;
}

void flow::find_writers() {
  for (pc_t pc = 0; pc < size(); ++pc) {
    const ptx::instruction& i = at(pc);
    for (unsigned k = 0; k < i.destinations; ++k) {
      if (i.to[k].word >= 0) {
        written_by_[static_cast<std::size_t>(i.to[k].word)].push_back(pc);
      }
    }
  }
}

void flow::find_blocks() {
  before_.resize(kernel_->code.size() + 1);
  for (pc_t pc = 0; pc < size(); ++pc) {
    for (const pc_t to : after(pc)) {
      before_[static_cast<std::size_t>(std::min(to, size()))].push_back(pc);
    }
  }
  std::vector<bool> begins(kernel_->code.size() + 1, false);
  begins[0] = true;
  for (pc_t pc = 0; pc < size(); ++pc) {
    if (ptx::leaves(at(pc).code)) {
      begins[static_cast<std::size_t>(pc) + 1] = true;
      for (const pc_t to : after(pc)) {
        begins[static_cast<std::size_t>(std::min(to, size()))] = true;
      }
    }
  }
  block_of_.resize(kernel_->code.size() + 1);
  for (pc_t pc = 0; pc <= size(); ++pc) {
    if (begins[static_cast<std::size_t>(pc)] || pc == size()) {
      blocks_.push_back({pc, pc, {}, {}});
    }
    block_of_[static_cast<std::size_t>(pc)] = blocks_.size() - 1;
    blocks_.back().end = pc + 1;
  }
  const std::size_t end = blocks_.size() - 1;
  for (std::size_t b = 0; b < end; ++b) {
    const pc_t last = blocks_[b].end - 1;
    for (const pc_t to : after(last)) {
      blocks_[b].next.push_back(block_of_[static_cast<std::size_t>(std::min(to, size()))]);
    }
    if (ends_thread(at(last))) {
      blocks_[b].next.push_back(end);
    }
    for (const std::size_t to : blocks_[b].next) {
      blocks_[to].before.push_back(b);
    }
  }
}

void flow::find_dominators() {
  std::vector<std::vector<std::size_t>> next, before;
  for (const basic_block& b : blocks_) {
    next.push_back(b.next);
    before.push_back(b.before);
  }
  dominator_ = dominators_of(0, next, before);
  post_dominator_ = dominators_of(blocks_.size() - 1, before, next);
}

void flow::find_controls() {
  controls_.resize(blocks_.size());
  for (std::size_t b = 0; b + 1 < blocks_.size(); ++b) {
    const pc_t last = blocks_[b].end - 1;
    if (blocks_[b].next.size() < 2 || post_dominator_[b] == none) {
      continue;
    }
    for (std::size_t side = 0; side < blocks_[b].next.size(); ++side) {
      for (std::size_t k = blocks_[b].next[side]; k != none && k != post_dominator_[b] && k + 1 < blocks_.size();
           k = post_dominator_[k]) {
        // a true predicate leads to the first side of a branch, but to the last side of a guarded exit
        controls_[k].push_back({last, (side == 0) == (at(last).code == op::branch)});
      }
    }
  }
}

void flow::find_loops() {
  for (std::size_t b = 0; b < blocks_.size(); ++b) {
    for (const std::size_t head : blocks_[b].next) {
      if (!dominates(blocks_[head].begin, blocks_[b].begin)) {
        continue;
      }
      loop found{std::vector<bool>(blocks_.size(), false)};
      found.inside[head] = true;
      std::vector<std::size_t> open{b};
      while (!open.empty()) {
        const std::size_t k = open.back();
        open.pop_back();
        if (!found.inside[k]) {
          found.inside[k] = true;
          open.insert(open.end(), blocks_[k].before.begin(), blocks_[k].before.end());
        }
      }
      loops_.push_back(std::move(found));
    }
  }
}

bool flow::reaches(pc_t from, pc_t to) const {
  bool found = false;
  forward(from, [&](pc_t pc) {
    found = found || pc == to;
    return !found;
  });
  return found;
}

bool flow::dominates(pc_t by, pc_t to) const {
  const std::size_t block = block_of_[static_cast<std::size_t>(by)];
  std::size_t k = block_of_[static_cast<std::size_t>(to)];
  if (k == block) {
    return by <= to;
  }
  while (k != none && k != block && dominator_[k] != k) {
    k = dominator_[k];
  }
  return k == block;
}

bool flow::guards(const condition& c, pc_t pc) const {
  if (c.at == pc) {
    return true;
  }
  return dominates(c.at, pc) && !by_other_side(c)[block_of_[static_cast<std::size_t>(pc)]];
}

const std::vector<bool>& flow::by_other_side(const condition& c) const {
  const auto [known, is_new] = by_other_side_.try_emplace({c.at, c.taken});
  std::vector<bool>& seen = known->second;
  if (!is_new) {
    return seen;
  }
  seen.resize(blocks_.size());
  const std::vector<pc_t> sides = after(c.at);
  std::vector<std::size_t> open;
  if (at(c.at).code == op::branch && sides.size() == 2 && sides[c.taken ? 1 : 0] < size()) {
    open.push_back(block_of_[static_cast<std::size_t>(sides[c.taken ? 1 : 0])]);
  }
  const std::size_t of_branch = block_of_[static_cast<std::size_t>(c.at)];
  while (!open.empty()) {
    const std::size_t k = open.back();
    open.pop_back();
    if (!seen[k]) {
      seen[k] = true;
      if (k != of_branch) {
        open.insert(open.end(), blocks_[k].next.begin(), blocks_[k].next.end());
      }
    }
  }
  return seen;
}

std::vector<condition> flow::conditions_of(pc_t pc) const {
  std::vector<condition> result;
  if (const instruction& i = at(pc); i.guard >= 0) {
    result.push_back({pc, true});
  }
  std::vector<bool> seen(blocks_.size(), false);
  std::vector<std::size_t> open{block_of_[static_cast<std::size_t>(pc)]};
  while (!open.empty()) {
    const std::size_t k = open.back();
    open.pop_back();
    if (!seen[k]) {
      seen[k] = true;
      for (const condition& c : controls_[k]) {
        result.push_back(c);
        open.push_back(block_of_[static_cast<std::size_t>(c.at)]);
      }
    }
  }
  return result;
}

}  // namespace membar::lint
