// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <check/handover.hpp>
#include <check/program.hpp>
#include <check/shown_execution.hpp>

#include <algorithm>
#include <cstddef>
#include <deque>
#include <utility>
#include <vector>

namespace membar::check {

namespace detail {

namespace {

/// Returns whether `x` comes before `y`, an event of another thread of the block, or would come before it if the code had an
/// additional barrier.
[[nodiscard]] bool may_precede(const shown_execution& shown, const trace_event& x, const trace_event& y) {
  const auto passed_by_x = shown.arrivals(x, true).size();
  const auto passed_by_y = shown.arrivals(y, true).size();
  const auto is_between = [&](const trace_event* a) { return x.event.pc < a->event.pc && a->event.pc < y.event.pc; };
  const bool has_barrier =
      std::ranges::any_of(shown.arrivals(x, false), is_between) || std::ranges::any_of(shown.arrivals(y, true), is_between);
  return passed_by_x < passed_by_y || (passed_by_x == passed_by_y && !has_barrier);
}

/// Finds the flag: the last read of a value that was written by the first access's thread or, failing that, by its block. The
/// read must be performed by the second access's thread or, failing that, by its block. A flag with strong accesses on both
/// sides is preferred to other locations.
[[nodiscard]] std::vector<passed_value> find_flag(const shown_execution& shown, const trace_event& first,
                                                  const trace_event& second) {
  const bool one_block = shown.block_of(first.thread) == shown.block_of(second.thread);
  std::vector<passed_value> result;
  int best = 0;
  for (const trace_event& r : shown.events()) {
    const trace_event* const source = shown.source_of(r);
    if (source == nullptr || shown.is_copy(r)) {
      continue;
    }
    const trace_event& w = *source;
    const bool by_writer = w.thread == first.thread && w.number > first.number;
    const bool by_reader = r.thread == second.thread && r.number < second.number;
    const bool for_writer = !one_block && w.thread != first.thread && shown.block_of(w.thread) == shown.block_of(first.thread);
    const bool for_reader =
        !one_block && r.thread != second.thread && shown.block_of(r.thread) == shown.block_of(second.thread);
    // If the two accesses are in different iterations of a loop, the barrier may be on the wrong side of the flag.
    if ((for_writer && !may_precede(shown, first, w)) || (for_reader && !may_precede(shown, r, second))) {
      continue;
    }
    const int strong = w.event.strong && r.event.strong ? 4 : 0;
    if (one_block && strong == 0) {
      continue;  // within a block, weak accesses are more likely to be data than a flag
    }
    const int rank = strong + (by_writer ? 2 : for_writer ? 1 : -9) + (by_reader ? 2 : for_reader ? 1 : -9);
    if (rank >= best && rank > 0 && w.event.address != first.event.address) {
      best = rank;
      result = {{&w, &r}};
    }
  }
  return result;
}

/// Returns the values that strong accesses pass from one thread to another.
[[nodiscard]] std::vector<passed_value> strong_flags(const shown_execution& shown) {
  std::vector<passed_value> result;
  for (const trace_event& r : shown.events()) {
    const trace_event* const w = shown.source_of(r);
    if (w != nullptr && w->thread != r.thread && w->event.strong && r.event.strong && !shown.is_copy(*w) && !shown.is_copy(r)) {
      result.push_back({w, &r});
    }
  }
  return result;
}

/// Finds the shortest chain of flags through which other blocks pass the first access's data on to the second access's block.
/// All accesses to the flags are strong, because a weak access to one of them would be a race that is found first. A
/// read-modify-write continues a flag's release sequence and therefore does not make the chain longer.
[[nodiscard]] std::vector<passed_value> find_chain(const shown_execution& shown, const trace_event& first,
                                                   const trace_event& second) {
  if (shown.block_of(first.thread) == shown.block_of(second.thread)) {
    return {};
  }
  const std::vector<passed_value> all = strong_flags(shown);
  constexpr std::size_t none = static_cast<std::size_t>(-1);
  std::vector<std::size_t> previous(all.size(), none);   // the flag before it in the chain; its own index for the first one
  std::deque<std::pair<std::size_t, std::size_t>> next;  // a flag and the flag before it, nearest first
  for (std::size_t n = 0; n < all.size(); ++n) {
    const trace_event& w = *all[n].write;
    if (w.event.address != first.event.address &&
        (w.thread == first.thread ? w.number > first.number : shown.in_one_block(first, w) && may_precede(shown, first, w))) {
      next.emplace_back(n, n);
    }
  }
  while (!next.empty()) {
    auto [at, before] = next.front();
    next.pop_front();
    if (previous[at] != none) {
      continue;
    }
    previous[at] = before;
    const trace_event& r = *all[at].read;
    if (r.thread == second.thread ? r.number < second.number : shown.in_one_block(r, second) && may_precede(shown, r, second)) {
      std::vector<passed_value> result = {all[at]};
      for (; previous[at] != at; result.insert(result.begin(), all[at])) {
        at = previous[at];
      }
      return result;
    }
    for (std::size_t n = 0; n < all.size(); ++n) {
      const trace_event& w = *all[n].write;
      if (previous[n] == none && updates(r, w)) {
        next.emplace_front(n, at);
      } else if (previous[n] == none &&
                 (w.thread == r.thread ? w.number > r.number : shown.in_one_block(r, w) && !shown.barriers(r, w).empty())) {
        next.emplace_back(n, at);
      }
    }
  }
  return {};
}

/// Returns the strong writes to the flag that `write`'s thread performs after `data`, up to `write`. A read of `write`
/// synchronizes with each of them that releases, so the first one is the one that should release `data`. Source: PTX ISA,
/// "Release pattern".
[[nodiscard]] std::vector<const trace_event*> publications_of(const shown_execution& shown, const trace_event& data,
                                                              const trace_event& write) {
  std::vector<const trace_event*> result;
  const trace_event* const from = shown.start_after(data, write);
  for (const trace_event& e : shown.events()) {
    const bool is_between = from != nullptr && e.thread == write.thread && e.number > from->number && e.number < write.number;
    if (is_between && e.event.kind == event_kind::write && e.event.strong && e.event.address == write.event.address &&
        e.event.bytes == write.event.bytes) {
      result.push_back(&e);
    }
  }
  result.push_back(&write);
  return result;
}

}  // namespace

handover handover_in(const shown_execution& shown) {
  auto [first, second] = shown.blamed();
  if (first == nullptr || shown.is_copy(*first) || shown.is_copy(*second)) {
    return {};
  }
  std::vector<passed_value> values;
  // A race has no direction: the flag may be meant to order the second access before the first.
  for (const auto find : {&find_flag, &find_chain}) {
    for (int direction = 0; direction < 2 && values.empty(); ++direction) {
      values = find(shown, *first, *second);
      if (values.empty()) {
        std::swap(first, second);
      }
    }
  }
  handover result{first, second, std::move(values)};
  for (std::size_t n = 0; n < result.values.size(); ++n) {
    result.values[n].publications = publications_of(shown, result.before(n), *result.values[n].write);
  }
  return result;
}

}  // namespace detail

handover handover_of(const program& whole, const finding& f) {
  return f.status == check_status::race ? detail::handover_in(detail::shown_execution(whole, f)) : handover{};
}

}  // namespace membar::check
