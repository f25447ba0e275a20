// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <ptx/endless_loop.hpp>
#include <ptx/instruction.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <set>
#include <vector>

namespace membar::ptx {

namespace {

using pc_t = std::int32_t;

class search {
 public:
  explicit search(const kernel_code& kernel) : code_(kernel.code), words_(static_cast<std::size_t>(kernel.words) + 2) {}

  [[nodiscard]] std::vector<endless_loop> all() {
    std::vector<endless_loop> result;
    for (pc_t pc = 0; pc < size(); ++pc) {
      if (at(pc).code == op::branch && at(pc).target <= pc) {
        if (std::optional<endless_loop> found = loop_of(pc)) {
          result.push_back(std::move(*found));
        }
      }
    }
    return result;
  }

 private:
  [[nodiscard]] pc_t size() const noexcept { return static_cast<pc_t>(code_.size()); }
  [[nodiscard]] const instruction& at(pc_t pc) const { return code_[static_cast<std::size_t>(pc)]; }

  /// Returns whether the instruction only computes or branches. If a loop contains any other instruction, for example
  /// nanosleep, it was meant to be endless, because the compiler does not move loads across such instructions.
  [[nodiscard]] bool is_silent(pc_t pc) const {
    const op code = at(pc).code;
    return !is_event(code) && code != op::unsupported && code != op::nothing;
  }

  template <class Go>
  void for_each_successor(pc_t pc, const Go& go) const {
    for_each_next(at(pc), pc, [&](pc_t next) {
      if (next < size()) {
        go(next);
      }
    });
  }

  [[nodiscard]] bool is_on_line_of(pc_t pc, pc_t other) const {
    return at(pc).file == at(other).file && at(pc).source_line == at(other).source_line;
  }

  /// Returns the loop closed by a backward jump if that loop is endless. Its body consists of the silent paths from the jump's
  /// target to the jump.
  [[nodiscard]] std::optional<endless_loop> loop_of(pc_t jump) {
    const std::set<pc_t> body = silent_paths(at(jump).target, jump);
    if (body.empty()) {
      return std::nullopt;
    }
    std::vector<pc_t> exits;
    for (const pc_t pc : body) {
      const instruction& i = at(pc);
      bool exits_here = i.guard >= 0 && (i.code == op::exit || i.code == op::trap);
      for_each_next(i, pc, [&](pc_t next) { exits_here = exits_here || !body.contains(next); });
      if (exits_here) {
        exits.push_back(pc);
      }
    }
    find_writers();
    if (!std::ranges::all_of(exits, [&](pc_t pc) { return decides_the_same(pc, body); })) {
      return std::nullopt;
    }
    endless_loop result{{body.begin(), body.end()}, jump};
    result.branch = exits.empty() ? branch_before(body) : exits.front();
    if (result.branch >= 0) {
      result.load = deciding_load(result.branch, jump);
      result.has_condition = !exits.empty() || (is_on_line_of(result.branch, jump) && at(jump).source_line > 0);
    }
    return result;
  }

  [[nodiscard]] std::set<pc_t> silent_paths(pc_t from, pc_t to) const {
    std::set<pc_t> reached;
    std::vector<pc_t> open = {from};
    while (!open.empty()) {
      const pc_t pc = open.back();
      open.pop_back();
      if (is_silent(pc) && reached.insert(pc).second && pc != to) {
        for_each_successor(pc, [&](pc_t next) { open.push_back(next); });
      }
    }
    if (!reached.contains(to)) {
      return {};
    }
    std::set<pc_t> result = {to};
    for (bool grown = true; grown;) {
      grown = false;
      for (auto pc = reached.rbegin(); pc != reached.rend(); ++pc) {
        for_each_successor(*pc, [&](pc_t next) { grown = (result.contains(next) && result.insert(*pc).second) || grown; });
      }
    }
    return result;
  }

  void find_writers() {
    if (!writers_.empty()) {
      return;
    }
    writers_.resize(words_);
    for (pc_t pc = 0; pc < size(); ++pc) {
      for (unsigned k = 0; k < at(pc).destinations; ++k) {
        if (const std::int32_t word = at(pc).to[k].word; word >= 0) {
          writers_[static_cast<std::size_t>(word)].push_back(pc);
        }
      }
    }
  }
  [[nodiscard]] const std::vector<pc_t>& writers_of(std::int32_t word) const {
    return writers_[static_cast<std::size_t>(word)];
  }

  /// Returns whether the condition of a loop exit has the same result in each iteration.
  [[nodiscard]] bool decides_the_same(pc_t exit, const std::set<pc_t>& body) const {
    const instruction& i = at(exit);
    return i.guard >= 0 && i.code != op::branch_index && keeps_its_value(i.guard, body, 0);
  }

  [[nodiscard]] bool keeps_its_value(std::int32_t word, const std::set<pc_t>& body, int depth) const {
    constexpr int deepest = 16;
    const std::vector<pc_t>& writers = writers_of(word);
    if (std::ranges::none_of(writers, [&](pc_t pc) { return body.contains(pc); })) {
      return true;
    }
    if (writers.size() != 1 || depth > deepest || at(writers.front()).guard >= 0) {
      return false;
    }
    const instruction& i = at(writers.front());
    return std::all_of(i.by.begin(), i.by.begin() + i.sources, [&](const source_operand& o) {
      const bool varies = is_clock(o) || (o.kind == source_operand::kind_t::special && o.machine == special::unknown);
      return !varies && (o.kind != source_operand::kind_t::reg || o.word < 0 || keeps_its_value(o.word, body, depth + 1));
    });
  }

  /// Returns the branch that has a side leading only to the loop, or -1 if there is none.
  [[nodiscard]] pc_t branch_before(const std::set<pc_t>& body) const {
    std::set<pc_t> side = body;
    for (;;) {
      std::vector<pc_t> entries;
      for (pc_t pc = 0; pc < size(); ++pc) {
        bool enters = false;
        for_each_successor(pc, [&](pc_t next) { enters = enters || side.contains(next); });
        if (enters && !side.contains(pc)) {
          entries.push_back(pc);
        }
      }
      if (entries.size() != 1 || !is_silent(entries.front())) {
        return -1;
      }
      if (at(entries.front()).code == op::branch && at(entries.front()).guard >= 0) {
        return entries.front();
      }
      side.insert(entries.front());
    }
  }

  /// Returns the weak load whose value a branch depends on. If there are several, returns the load on the loop's source line
  /// or, if there is none, the last load before the branch.
  [[nodiscard]] pc_t deciding_load(pc_t branch, pc_t jump) const {
    std::set<std::int32_t> seen;
    std::vector<std::int32_t> open = {at(branch).guard};
    pc_t result = -1;
    const auto is_better = [&](pc_t pc) {
      const bool on_line = is_on_line_of(pc, jump);
      return result < 0 || on_line > is_on_line_of(result, jump) || (on_line == is_on_line_of(result, jump) && pc > result);
    };
    while (!open.empty()) {
      const std::int32_t word = open.back();
      open.pop_back();
      if (word < 0 || !seen.insert(word).second) {
        continue;
      }
      for (const pc_t pc : writers_of(word)) {
        const instruction& i = at(pc);
        const bool shared_by_threads =
            i.space == state_space::global || i.space == state_space::shared || i.space == state_space::generic;
        const bool polls = i.code == op::load && !i.strong && i.mbarrier == mbarrier_op::none && shared_by_threads;
        result = polls && is_better(pc) ? pc : result;
        for (unsigned k = 0; k < i.sources && is_silent(pc); ++k) {
          if (i.by[k].kind == source_operand::kind_t::reg) {
            open.push_back(i.by[k].word);
          }
        }
      }
    }
    return result;
  }

  const std::vector<instruction>& code_;
  std::size_t words_;
  std::vector<std::vector<pc_t>> writers_{};  ///< by register word: the instructions that write it
};

}  // namespace

std::vector<endless_loop> endless_loops(const kernel_code& kernel) { return search(kernel).all(); }

}  // namespace membar::ptx
