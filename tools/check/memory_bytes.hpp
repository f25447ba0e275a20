// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
/// @file
/// Determines, for an execution whose accesses have different sizes, which bytes a read returns and which bytes memory finally
/// contains.
#pragma once

#include <check/exploration_state.hpp>
#include <check/graph.hpp>
#include <check/program.hpp>
#include <check/trace.hpp>
#include <membar/model/array.hpp>

#include <cstddef>
#include <cstdint>
#include <string>

namespace membar::check::detail {

/// Finds the write that determines each byte.
class memory_bytes {
 public:
  explicit memory_bytes(exploration_state& state) : state_(state) {}

  [[nodiscard]] bool has_other_sizes(const graph& g, int location) const {
    for (const int other : state_.locations[location].overlapping) {
      if (other < model::count_of(g.order) && model::at(g.order, other).size() > 1) {
        return true;
      }
    }
    return false;
  }

  /// Returns the position, in the order of `e`'s location, of the last write that was partly overwritten by a write of a
  /// different size. Only overwriting writes that are ordered before `e` count.
  [[nodiscard]] int changed_by_other_sizes(const graph& g, const graph_event& e) const {
    const auto& order = model::at(g.order, e.location);
    int i = model::count_of(order) - 1;
    if (state_.replayed != nullptr) {
      return is_newer_in_other_sizes(g, e.location) ? i : -1;
    }
    while (i > 0 && !has_changed(g, *model::at(order, i))) {
      --i;
    }
    return i;
  }

  /// Determines the value of a read from writes of different sizes and from the writes of its own location up to position
  /// `newest`. Returns false if the value is not determined.
  [[nodiscard]] bool mixed_value(const graph& g, graph_event& e, int newest) {
    const location_info& here = state_.locations[e.location];
    e.mixed = true;
    e.value = {};
    for (int b = 0; b < e.bytes; ++b) {
      const std::uint64_t at = e.address + static_cast<std::uint64_t>(b);
      const graph_event* latest = latest_of_byte(g, at, e.location, [&](const graph_event& w) {
        if (w.location == e.location && event_rules::place_in(model::at(g.order, w.location), &w) > newest) {
          return false;
        }
        if (state_.replayed == nullptr && !state_.rules.causes(g, w, state_.rules.clock_for(w, e))) {
          state_.report(g, check_status::gave_up,
                        "a read by thread " + std::to_string(e.thread) +
                            " may take its bytes from writes of different sizes that are not all ordered before it: use one "
                            "size for all accesses to these bytes, or order them",
                        {&w});
        }
        return true;
      });
      if (state_.stopped()) {
        return false;
      }
      std::uint64_t byte = 0;
      if (latest != nullptr) {
        byte = byte_of(latest->value, static_cast<int>(at - latest->address));
        e.value.unknown = e.value.unknown || latest->value.unknown;
        state_.rules.follow(e, *latest);
      } else if (!here.initialised) {
        state_.report_unwritten(g, e, at);
        if (e.unwritten) {
          continue;
        }
        return false;
      } else {
        const memory_object& o = *state_.locations.object_of(at, 1);
        byte = byte_of(here.initial, b);
        e.value.unknown = e.value.unknown || o.is_unknown(at - o.address);
      }
      (b < 8 ? e.value.low : e.value.high) |= byte << (8 * static_cast<unsigned>(b % 8));
    }
    return true;
  }

  /// Returns the bytes of memory at the end of an execution.
  [[nodiscard]] wide_value final_value(const graph& g, std::uint64_t address, int bytes) const {
    wide_value result{};
    for (int b = 0; b < bytes; ++b) {
      const std::uint64_t at = address + static_cast<std::uint64_t>(b);
      const graph_event* latest = nullptr;
      for (int l = 0; l < state_.locations.size(); ++l) {
        const location_info& info = state_.locations[l];
        if (latest == nullptr && l < model::count_of(g.order) && at >= info.address &&
            at < info.address + static_cast<std::uint64_t>(info.bytes)) {
          latest = latest_of_byte(g, at, l, [](const graph_event&) { return true; });
        }
      }
      std::uint64_t byte = 0;
      if (latest != nullptr) {
        byte = byte_of(latest->value, static_cast<int>(at - latest->address));
        result.unknown = result.unknown || latest->value.unknown;
      } else if (const memory_object* o = state_.locations.object_of(at, 1); o != nullptr) {
        byte = at - o->address < o->initial.size() ? o->initial[static_cast<std::size_t>(at - o->address)] : 0;
        result.unknown = result.unknown || o->is_unknown(at - o->address);
      }
      result.low |= byte << (8 * static_cast<unsigned>(b));
    }
    return result;
  }

 private:
  /// Returns whether, in a replayed schedule, the newest write to a location's bytes has a different size.
  [[nodiscard]] bool is_newer_in_other_sizes(const graph& g, int location) const {
    const auto newest = [&](int l) {
      const graph_event* const w = l < model::count_of(g.order) ? model::at(g.order, l).back() : nullptr;
      return w == nullptr ? 0 : w->serial;
    };
    const auto& others = state_.locations[location].overlapping;
    return std::any_of(others.begin(), others.end(), [&](int l) { return newest(l) > newest(location); });
  }

  [[nodiscard]] static std::uint64_t byte_of(wide_value v, int n) noexcept {
    return ((n < 8 ? v.low : v.high) >> (8 * static_cast<unsigned>(n % 8))) & 0xffU;
  }

  /// Returns whether a write of a different size follows `w`.
  [[nodiscard]] bool has_changed(const graph& g, const graph_event& w) const {
    for (const int other : state_.locations[w.location].overlapping) {
      for (int k = 1; other < model::count_of(g.order) && k < model::count_of(model::at(g.order, other)); ++k) {
        if (state_.rules.causes(g, w, model::at(model::at(g.order, other), k)->base)) {
          return true;
        }
      }
    }
    return false;
  }

  /// Returns the last write, in the order of coherence and causality, that covers a byte of a location and for which `counts`
  /// returns true. Returns null if there is none.
  template <class Counts>
  [[nodiscard]] const graph_event* latest_of_byte(const graph& g, std::uint64_t address, int location,
                                                  const Counts& counts) const {
    const graph_event* latest = nullptr;
    const auto consider = [&](int l) {
      if (l >= model::count_of(g.order)) {
        return;
      }
      for (const graph_event* w : model::at(g.order, l)) {
        if (w == nullptr || address < w->address || address >= w->address + static_cast<std::uint64_t>(w->bytes) ||
            !counts(*w)) {
          continue;
        }
        // writes to the same location are in coherence order; writes to different locations are ordered by causality or by the
        // replayed schedule
        const bool later = state_.replayed != nullptr ? latest != nullptr && latest->serial < w->serial
                                                      : latest != nullptr && state_.rules.causes(g, *latest, w->base);
        if (latest == nullptr || latest->location == w->location || later) {
          latest = w;
        }
      }
    };
    consider(location);
    for (const int other : state_.locations[location].overlapping) {
      consider(other);
    }
    return latest;
  }

  exploration_state& state_;
};

}  // namespace membar::check::detail
