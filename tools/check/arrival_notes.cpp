// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <check/arrival_notes.hpp>
#include <check/mbarrier_state.hpp>
#include <check/sync_points.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>

namespace membar::check::detail {

namespace {

constexpr std::uint64_t phases = 8;  ///< the number of phases that an mbarrier's state distinguishes

/// Returns the number of phases, modulo 8, from the phase to which `arrival` contributes to the phase that `wait` finds.
/// Returns 0 if they do not concern the same mbarrier.
[[nodiscard]] std::uint64_t phases_between(const shown_execution& shown, const trace_event& arrival, const trace_event& wait) {
  if (!shown.is_arrival(arrival) || !is_wait(wait) || wait.event.address != arrival.event.address) {
    return 0;
  }
  const std::uint64_t phase = mbarrier_state::of(arrival.event.value.low).phase + phases - (arrival.event.completes ? 1 : 0);
  return (mbarrier_state::of(wait.event.value.low).phase + phases - phase % phases) % phases;
}

/// Returns whether `wait` is a successful wait for the phase to which `arrival` contributes, or for a later phase.
[[nodiscard]] bool observes(const shown_execution& shown, const trace_event& wait, const trace_event& arrival) {
  const std::uint64_t passed = phases_between(shown, arrival, wait);
  return passed != 0 && passed <= phases / 2;
}

/// Returns whether a barrier of a block or a warp orders event `x` before event `y` of another thread.
[[nodiscard]] bool is_before_barrier(const shown_execution& shown, const trace_event& x, const trace_event& y) {
  const auto is_barrier = [](const trace_event& e) { return e.event.kind == event_kind::barrier && e.event.arrives; };
  return std::any_of(shown.events().begin(), shown.events().end(), [&](const trace_event& e) {
    return e.thread == x.thread && e.number > x.number && is_barrier(e) &&
           std::any_of(shown.events().begin(), shown.events().end(), [&](const trace_event& o) {
             return o.thread == y.thread && o.number < y.number && is_barrier(o) && meet(e, o);
           });
  });
}

/// Returns whether barriers show that `arrival` releases accesses of an earlier round than access `x` of another thread: a
/// barrier orders the arrival before `x`, or orders an earlier execution of the code of `x` before the arrival.
[[nodiscard]] bool is_of_earlier_round(const shown_execution& shown, const trace_event& arrival, const trace_event& x) {
  return is_before_barrier(shown, arrival, x) ||
         std::any_of(shown.events().begin(), shown.events().end(), [&](const trace_event& e) {
           return e.thread == x.thread && e.number < x.number && shown.place(e) == shown.place(x) &&
                  is_before_barrier(shown, e, arrival);
         });
}

/// Returns whether `wait` is the last successful wait for its mbarrier that its thread performs before `e`.
[[nodiscard]] bool is_last_wait(const shown_execution& shown, const trace_event& wait, const trace_event& e) {
  return std::none_of(shown.events().begin(), shown.events().end(), [&](const trace_event& o) {
    return o.thread == wait.thread && o.number > wait.number && o.number < e.number && is_wait(o) &&
           o.event.address == wait.event.address;
  });
}

/// Returns whether a thread arrives at the mbarrier at which `arrival` arrives.
[[nodiscard]] bool arrives_at(const shown_execution& shown, int thread, const trace_event& arrival) {
  return std::any_of(shown.events().begin(), shown.events().end(), [&](const trace_event& e) {
    return e.thread == thread && shown.is_arrival(e) && e.event.address == arrival.event.address;
  });
}

/// Returns whether access `x` is a wait, and its thread also performs `wait`, at `x` or later. Both threads then wait for each
/// other's arrivals, and an arrival is not meant to release a wait that follows it.
[[nodiscard]] bool is_wait_of_both(const shown_execution& shown, const trace_event& x, const trace_event& wait) {
  return x.at->mbarrier == mbarrier_op::test && (x.at == wait.at || shown.leads_to(x, wait));
}

/// Returns whether the thread of `x` synchronizes, between `arrival` and `x`, with what follows `wait`, which has the index
/// `place` in the finding. The arrival and the wait then belong to an earlier use of the memory.
[[nodiscard]] bool is_answered(const shown_execution& shown, const trace_event& wait, std::size_t place,
                               const trace_event& arrival, const trace_event& x) {
  if (!shown.barriers(wait, x).empty()) {
    return true;
  }
  const int since = arrival.thread == x.thread ? arrival.number : -1;
  for (std::size_t k = place + 1; k < shown.events().size(); ++k) {
    const trace_event& back = shown.events()[k];
    const bool follows = shown.is_arrival(back) && shown.in_one_warp(back, wait) && back.thread != x.thread;
    if (follows && std::any_of(shown.events().begin(), shown.events().end(), [&](const trace_event& e) {
          return e.thread == x.thread && e.number > since && e.number < x.number && observes(shown, e, back);
        })) {
      return true;
    }
  }
  return false;
}

/// Returns the last arrival at a named barrier that the thread of access `x` performs too early, before `x`, and the wait at
/// this barrier that precedes access `y`. Returns null pointers if there is no such arrival.
[[nodiscard]] std::pair<const trace_event*, const trace_event*> named_arrival_for(const shown_execution& shown,
                                                                                  const trace_event& x, const trace_event& y) {
  std::pair<const trace_event*, const trace_event*> result;
  for (const trace_event* a : shown.arrivals(x, true)) {
    for (const trace_event* w : shown.arrivals(shown.start_of(y), true)) {
      if (!shown.is_copy(x) && a->at->code == op::block_arrive && shown.is_too_early(*a, x) &&
          w->at->code == op::block_barrier && meet(*a, *w)) {
        result = {a, w};
      }
    }
  }
  return result;
}

/// Returns the last arrival at an mbarrier that is meant to release access `x`, and the wait for it that precedes access `y`.
/// The arrival is performed by the thread of `x` before `x` (`own`), or by another thread of its warp if the thread of `x`
/// does not arrive at the mbarrier itself and its code leads from `x` to the arrival. Returns null pointers if there is no such
/// arrival. An arrival does not release a copy's accesses, wherever it is.
[[nodiscard]] std::pair<const trace_event*, const trace_event*> arrival_for(const shown_execution& shown, const trace_event& x,
                                                                            const trace_event& y, bool own) {
  std::pair<const trace_event*, const trace_event*> result;
  const trace_event& before = shown.start_of(y);
  for (const trace_event& a : shown.events()) {
    if (shown.is_copy(x) || !shown.is_arrival(a)) {
      continue;
    }
    const bool of_thread = own ? a.thread == x.thread && a.number < x.number && shown.is_too_early(a, x)
                               : a.thread != x.thread && a.thread != before.thread && shown.in_one_warp(a, x) &&
                                     shown.leads_to(x, a) && !arrives_at(shown, x.thread, a) &&
                                     !is_of_earlier_round(shown, a, x);
    for (std::size_t k = 0; of_thread && k < shown.events().size(); ++k) {
      const trace_event& w = shown.events()[k];
      if (w.thread == before.thread && w.number < before.number && phases_between(shown, a, w) == 1 &&
          is_last_wait(shown, w, before) && !is_answered(shown, w, k, a, x) && !(own && is_wait_of_both(shown, x, w))) {
        result = {&a, &w};
        break;
      }
    }
  }
  return result;
}

/// Describes an arrival that does not follow access `x`, and the wait for it that precedes access `y`. Returns an empty string if
/// the arrival is null.
[[nodiscard]] std::string early_arrival_note(const shown_execution& shown, const trace_event& x, const trace_event& y,
                                             const std::pair<const trace_event*, const trace_event*>& found) {
  const auto [arrival, wait] = found;
  if (arrival == nullptr) {
    return "";
  }
  const bool named = arrival->event.kind == event_kind::barrier;
  const std::string barrier = named ? "named barrier " + std::to_string(sync_points::number_of(arrival->event.sync_point))
                                    : place_text(shown.whole(), wait->event.address);
  const std::string at = "the arrival at " + (named ? barrier + " at " : "") + shown.place(*arrival);
  return shown.pc_of(*arrival) < shown.pc_of(x)
             ? at + " comes before " + shown.place(x) + ", so the wait for " + barrier + " at " + shown.place(*wait) +
                   " does not order " + shown.place(x) + " before " + shown.place(y) + ": move the arrival after " +
                   shown.place(x)
             : at + " is performed on behalf of its warp, and no barrier orders " + shown.place(x) +
                   " in the other threads before it: add __syncwarp() between them";
}

/// Returns whether `x` invalidates the mbarrier that `y` uses, so that no arrival after `x` can order `x` before `y`.
[[nodiscard]] bool is_end_of(const trace_event& x, const trace_event& y) {
  return x.at->mbarrier == mbarrier_op::invalidate && y.at->mbarrier != mbarrier_op::none &&
         y.at->mbarrier != mbarrier_op::init;
}

}  // namespace

std::string misplaced_arrival_note(const shown_execution& shown, const trace_event& first, const trace_event& second) {
  const auto own = [&](const trace_event& x, const trace_event& y) { return arrival_for(shown, x, y, true); };
  const auto named = [&](const trace_event& x, const trace_event& y) { return named_arrival_for(shown, x, y); };
  const auto of_warp = [&](const trace_event& x, const trace_event& y) { return arrival_for(shown, x, y, false); };
  std::string note;
  const auto look = [&](const auto& arrival) {
    note = is_end_of(first, second) ? "" : early_arrival_note(shown, first, second, arrival(first, second));
    if (note.empty() && shown.found().status == check_status::race && !is_end_of(second, first)) {
      note = early_arrival_note(shown, second, first, arrival(second, first));
    }
    return !note.empty();
  };
  static_cast<void>(look(own) || look(named) || look(of_warp));
  return note;
}

}  // namespace membar::check::detail
