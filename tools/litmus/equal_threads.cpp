// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <litmus/equal_threads.hpp>

#include <membar/model/array.hpp>
#include <membar/model/execution.hpp>
#include <membar/model/relation.hpp>

#include <algorithm>
#include <limits>

namespace membar::litmus_files {

using namespace model;

namespace {

/// Returns whether two instructions are equal and have an effect that cannot depend on the thread. Barriers, shuffles and
/// asynchronous operations are excluded.
[[nodiscard]] bool equal_and_simple(const instruction& x, instruction y) noexcept {
  y.line = x.line;
  return (x.code <= opcode::proxy_fence || x.code >= opcode::compute) && x == y;
}

/// Returns whether the places of threads `x` and `y` have the same relation to the place of every other thread.
[[nodiscard]] bool alike(const program_view& program, int x, int y) noexcept {
  const place& one = program.threads[x].where;
  const place& other = program.threads[y].where;
  for (int t = 0; t < program.threads.size(); ++t) {
    const place& third = program.threads[t].where;
    if (t != x && t != y &&
        (same_block(one, third) != same_block(other, third) || same_cluster(one, third) != same_cluster(other, third))) {
      return false;
    }
  }
  return one.host == other.host && one.gpu == other.gpu && one.domain == other.domain;
}

}  // namespace

equal_threads::equal_threads(const program_view& program) {
  const bool apart =
      program.api.empty() && program.launches.empty() &&
      std::none_of(program.locations.begin(), program.locations.end(), [](const location& l) { return l.owner >= 0; });
  for (int y = 1; apart && y < program.threads.size(); ++y) {
    for (int x = 0; x < y; ++x) {
      const thread_view& one = program.threads[x];
      const thread_view& other = program.threads[y];
      if (std::ranges::equal(one.registers, other.registers) && std::ranges::equal(one.code, other.code, equal_and_simple) &&
          alike(program, x, y)) {
        equal_.emplace_back(x, y);
      }
    }
  }
}

int equal_threads::exchange::of(int event) const noexcept {
  return event >= first && event < first + count     ? event - first + second
         : event >= second && event < second + count ? event - second + first
                                                     : event;
}

void equal_threads::find_exchanges(const partial_execution& execution, const execution_visitor& visitor) {
  exchanges_.clear();
  const auto asked = [&](int thread) {
    for (int r = 0; r < count_of(execution.program().threads[thread].registers); ++r) {
      if (visitor.observes(thread, r)) {
        return true;
      }
    }
    return false;
  };
  const auto events = execution.events();
  const auto same = [](const event& x, const event& y) {
    return x.kind == y.kind && x.instruction == y.instruction && x.address == y.address;
  };
  for (const auto& [x, y] : equal_) {
    const auto begin_of = [&](int thread) {
      return std::find_if(events.begin(), events.end(), [&](const event& e) { return e.thread == thread; });
    };
    const auto end_of = [&](int thread) {
      return std::find_if(begin_of(thread), events.end(), [&](const event& e) { return e.thread != thread; });
    };
    if (!asked(x) && !asked(y) && std::equal(begin_of(x), end_of(x), begin_of(y), end_of(y), same)) {
      exchanges_.push_back({static_cast<int>(begin_of(x) - events.begin()), static_cast<int>(begin_of(y) - events.begin()),
                            static_cast<int>(end_of(x) - begin_of(x))});
    }
  }
}

bool equal_threads::is_repeated(const partial_execution& execution, const execution_visitor& visitor) {
  if (equal_.empty()) {
    return false;
  }
  const event_set assigned = execution.assigned();
  if (assigned == 0) {  // a new path begins
    find_exchanges(execution, visitor);
    return false;
  }
  const auto& source = execution.choice().source;
  for (const exchange& e : exchanges_) {
    for (event_set s = execution.facts().reads; s != 0; s = rest(s)) {
      const int image = e.of(first(s));
      if (!contains(assigned, first(s)) || !contains(assigned, image)) {
        break;
      }
      const int mine = at(source, first(s));
      const int theirs = e.of(at(source, image));
      if (theirs != mine) {
        if (theirs < mine) {
          return true;
        }
        break;
      }
    }
  }
  return false;
}

}  // namespace membar::litmus_files
