// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
/// @file
/// The end of an execution: whether threads wait forever, and whether the property holds for the final memory.
#pragma once

#include <check/block_lifetime.hpp>
#include <check/commuting_updates.hpp>
#include <check/exploration_state.hpp>
#include <check/graph.hpp>
#include <check/memory_bytes.hpp>
#include <check/program.hpp>
#include <check/waiting_together.hpp>
#include <membar/model/array.hpp>

#include <cstdint>
#include <string>
#include <utility>

namespace membar::check::detail {

/// Evaluates executions to which no further event can be added.
class execution_end {
 public:
  /// `updates` contains the updates that are explored in only one order; it is null if every order is explored.
  execution_end(exploration_state& state, const check_property& property, commuting_updates* updates = nullptr)
      : state_(state), property_(property), updates_(updates) {}

  /// Returns whether all reads in the last iteration of the loop that `t` waits in have read the latest values.
  [[nodiscard]] bool waits_for_ever(const graph& g, int t) {
    const auto& events = model::at(g.threads, t).events;
    for (int n = state_of(g, t).waits_from; n < model::count_of(events); ++n) {
      const graph_event& e = *model::at(events, n);
      if (e.kind != event_kind::read || e.discarded) {
        continue;
      }
      const auto& order = model::at(g.order, e.location);
      for (int i = state_.rules.place_read(g, e) + 1; i < model::count_of(order); ++i) {
        const graph_event& w = *model::at(order, i);
        if ((updates_ == nullptr || !updates_->is_passed_over(g, w, e)) && (!w.rmw || w.value != w.partner->value) &&
            !waiting_together::is_of_round(g, w)) {
          return false;
        }
      }
    }
    return true;
  }

  /// Counts an execution that cannot be continued. If all threads have ended, evaluates the property. `stuck` means that the
  /// remaining threads will never end.
  void finish(const graph& g, bool ended, bool stuck) {
    if (!ended) {
      if (stuck) {
        state_.report(g, check_status::hang, "threads wait, and no other thread can end their wait");
      } else {
        ++state_.result.counts.blocked;
      }
      return;
    }
    ++state_.result.counts.executions;
    if (const outside_of_life outside = lifetimes_.find(g, state_.rules); outside.access != nullptr) {
      state_.report(g, check_status::undefined, lifetime_text(state_.checked, outside), {outside.access});
      return;
    }
    if (property_) {
      bool asks_unknown = false;
      violation broken;
      try {
        broken = property_(memory_at_end(memory_bytes(state_), g, asks_unknown));
      } catch (...) {
        if (!asks_unknown || updates_ == nullptr || !updates_->asks_hidden_value(g, -1)) {
          throw;
        }
        return;
      }
      if (asks_unknown && updates_ != nullptr && updates_->asks_hidden_value(g, -1)) {
        return;
      }
      if (!broken.empty()) {
        state_.report(g, check_status::violated, broken.text(), last_writes(g, broken.wrong));
      }
    }
  }

 private:
  /// Returns the last writes to the first of these ranges that any thread has written.
  [[nodiscard]] static std::vector<const graph_event*> last_writes(const graph& g, const std::vector<memory_range>& ranges) {
    std::vector<const graph_event*> result;
    for (const memory_range& range : ranges) {
      for (const auto& order : g.order) {
        const graph_event* const last = order.empty() ? nullptr : order.back();
        if (last != nullptr && overlap(range, {last->address, last->bytes})) {
          result.push_back(last);
        }
      }
      if (!result.empty()) {
        break;
      }
    }
    return result;
  }

  class memory_at_end final : public final_memory {
   public:
    memory_at_end(memory_bytes bytes, const graph& g, bool& asks_unknown)
        : bytes_(bytes), graph_(g), asks_unknown_(asks_unknown) {}
    [[nodiscard]] std::uint64_t value(std::uint64_t address, int bytes) const override { return at(address, bytes).low; }
    [[nodiscard]] bool is_unknown(std::uint64_t address, int bytes) const override { return at(address, bytes).unknown; }
    [[nodiscard]] const graph& execution() const noexcept override { return graph_; }

   private:
    [[nodiscard]] wide_value at(std::uint64_t address, int bytes) const {
      const wide_value v = bytes_.final_value(graph_, address, bytes);
      asks_unknown_ = asks_unknown_ || v.unknown;
      return v;
    }

    memory_bytes bytes_;
    const graph& graph_;
    bool& asks_unknown_;
  };

  exploration_state& state_;
  const check_property& property_;
  commuting_updates* updates_;
  block_lifetimes lifetimes_{state_.checked};
};

}  // namespace membar::check::detail
