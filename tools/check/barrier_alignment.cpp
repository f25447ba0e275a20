// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <check/barrier_alignment.hpp>
#include <check/program.hpp>
#include <check/sync_points.hpp>
#include <check/trace.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace membar::check {

using ptx::instruction;
using ptx::op;

std::vector<std::vector<std::int32_t>> next_instructions(const ptx::kernel_code& kernel) {
  const std::size_t count = kernel.code.size();
  std::vector<std::vector<std::int32_t>> next(count);
  for (std::size_t k = 0; k < count; ++k) {
    const instruction& i = kernel.code[k];
    ptx::for_each_next(i, static_cast<std::int32_t>(k), [&](std::int32_t to) { next[k].push_back(to); });
    if (i.code == op::exit || i.code == op::trap) {
      next[k].push_back(static_cast<std::int32_t>(count));
    }
  }
  return next;
}

namespace {

/// Returns what is reached from `open` along `edges`, without entering what is `avoided`.
[[nodiscard]] std::vector<bool> reached_along(const std::vector<std::vector<std::int32_t>>& edges,
                                              std::vector<std::int32_t> open, const std::vector<bool>& avoided) {
  std::vector<bool> reached(avoided.size(), false);
  while (!open.empty()) {
    const auto at = static_cast<std::size_t>(open.back());
    open.pop_back();
    for (std::size_t k = 0; at < edges.size() && k < edges[at].size(); ++k) {
      const auto to = static_cast<std::size_t>(edges[at][k]);
      if (!avoided[to] && !reached[to]) {
        reached[to] = true;
        open.push_back(edges[at][k]);
      }
    }
  }
  return reached;
}

/// Returns a set that contains at most one instruction of a kernel: the one at `pc`, unless `pc` is negative.
[[nodiscard]] std::vector<bool> only(const ptx::kernel_code& kernel, std::int32_t pc) {
  std::vector<bool> result(kernel.code.size() + 1, false);
  if (pc >= 0) {
    result[static_cast<std::size_t>(pc)] = true;
  }
  return result;
}

}  // namespace

std::vector<bool> reached_from(const ptx::kernel_code& kernel, std::int32_t from, const std::vector<bool>& avoided) {
  if (from >= 0) {
    return reached_along(next_instructions(kernel), {from}, avoided);
  }
  if (avoided[0]) {
    return std::vector<bool>(avoided.size(), false);
  }
  std::vector<bool> result = reached_along(next_instructions(kernel), {0}, avoided);
  result[0] = true;
  return result;
}

std::vector<bool> reached_from(const ptx::kernel_code& kernel, std::int32_t from, std::int32_t avoided) {
  return reached_from(kernel, from, only(kernel, avoided));
}

std::vector<bool> leading_to(const ptx::kernel_code& kernel, const std::vector<std::int32_t>& targets, std::int32_t avoided) {
  const std::vector<std::vector<std::int32_t>> next = next_instructions(kernel);
  std::vector<std::vector<std::int32_t>> previous(next.size() + 1);
  for (std::size_t k = 0; k < next.size(); ++k) {
    for (const std::int32_t to : next[k]) {
      previous[static_cast<std::size_t>(to)].push_back(static_cast<std::int32_t>(k));
    }
  }
  return reached_along(previous, targets, only(kernel, avoided));
}

control_flow::control_flow(const ptx::kernel_code& kernel) : next_(next_instructions(kernel)) {
  const std::size_t count = kernel.code.size();
  const bool has_lines =
      std::any_of(kernel.code.begin(), kernel.code.end(), [](const instruction& i) { return i.source_line != 0; });
  for (const instruction& i : kernel.code) {
    matters_.push_back(ptx::is_event(i.code) && (!has_lines || i.source_line != 0));
  }
  // Computes the instructions that are on every path to the end. The iteration starts with the largest sets. Each step removes
  // from a set the instructions that are missing from some successor's set.
  passed_.assign(count + 1, pc_set(count + 1, true));
  passed_[count].assign(count + 1, false);
  passed_[count][count] = true;
  for (bool changed = true; changed;) {
    changed = false;
    for (std::size_t k = count; k-- > 0;) {
      pc_set all(count + 1, true);
      for (const std::int32_t n : next_[k]) {
        const pc_set& of = passed_[static_cast<std::size_t>(n)];
        std::transform(all.begin(), all.end(), of.begin(), all.begin(), [](bool a, bool b) { return a && b; });
      }
      all[k] = true;
      changed = changed || all != passed_[k];
      passed_[k] = std::move(all);
    }
  }
}

bool control_flow::is_conditional_on(std::int32_t inside, std::int32_t branch) const {
  const auto b = static_cast<std::size_t>(branch);
  const auto at = static_cast<std::size_t>(inside);
  if (next_[b].size() < 2 || passed_[b][at]) {
    return false;
  }
  bool joins = false;
  for (std::size_t k = 0; k < matters_.size(); ++k) {
    joins = joins || (k != b && passed_[b][k] && matters_[k]);
  }
  std::vector<bool> seen(passed_.size(), false);
  std::vector<std::int32_t> open = next_[b];
  while (joins && !open.empty()) {  // search from the branch to the point where its sides rejoin
    const auto k = static_cast<std::size_t>(open.back());
    open.pop_back();
    if (k == at) {
      return true;
    }
    if (k < next_.size() && !seen[k] && !passed_[b][k]) {
      seen[k] = true;
      open.insert(open.end(), next_[k].begin(), next_[k].end());
    }
  }
  return false;
}

bool is_same_place(const instruction& x, const instruction& y) noexcept {
  return x.source_line != 0 && x.file == y.file && x.source_line == y.source_line && x.caller_file == y.caller_file &&
         x.caller_line == y.caller_line;
}

std::string misuse_of_barrier(const program& p, int thread, const instruction& mine, const instruction& other, bool one_warp) {
  if (mine.code != op::block_barrier) {
    return {};
  }
  const auto places = [&] { return places_text(p, thread, mine, other); };
  if (other.code == op::block_barrier && (mine.destinations == 0) != (other.destinations == 0)) {
    return "threads use both 'bar.red' and 'bar.sync' on the same barrier (" + places() + "); PTX leaves this undefined";
  }
  // PTX allows each warp to arrive with a different instruction
  const bool by_warps = !one_warp && names_threads(mine) && names_threads(other);
  const bool aligned = one_warp ? mine.aligned || other.aligned : mine.aligned && other.aligned;
  if (!aligned || by_warps || is_same_place(mine, other)) {
    return {};
  }
  return "threads wait at different barriers, " + places() + ", which CUDA " + (one_warp ? "and PTX leave" : "leaves") +
         " undefined";
}

}  // namespace membar::check
