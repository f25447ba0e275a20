// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
/// @file
/// `shfl.sync`: determines which lane a value comes from, and which of a warp's shuffles belong together.
///
/// A shuffle does not order memory. It passes on a value together with the reads that the value depends on. No lane continues
/// before every lane of the mask has arrived. Source: PTX ISA, "shfl.sync".
#pragma once

#include <membar/model/array.hpp>
#include <membar/model/error.hpp>
#include <membar/model/event_structure.hpp>
#include <membar/model/execution.hpp>
#include <membar/model/program.hpp>
#include <membar/model/relation.hpp>
#include <membar/model/rules.hpp>

#include <array>
#include <cstdint>
#include <span>
#include <string>

namespace membar {
inline namespace v0_3 {
namespace model {

/// Returns a thread's lane: the number of threads in its warp that precede it in the test.
[[nodiscard]] constexpr int lane_of(const program_view& program, int thread) noexcept {
  const place& here = program.threads[thread].where;
  int lane = 0;
  for (int t = 0; t < thread; ++t) {
    const place& there = program.threads[t].where;
    lane += same_block(here, there) && here.warp == there.warp ? 1 : 0;
  }
  return lane;
}

/// The lane from which a lane gets its value in a shuffle.
struct shuffle_source {
  int lane = 0;
  bool in_range = true;  ///< false if the lane keeps its own value
};

[[nodiscard]] constexpr shuffle_source source_lane(const instruction& i, int lane) noexcept {
  const int by = static_cast<int>(i.b.value & 31);
  const int clamp = static_cast<int>(i.c.value & 31);
  const int segment = static_cast<int>((i.c.value >> 8) & 31);
  const int least = lane & segment;
  const int most = least | (clamp & ~segment);
  int from = lane;
  bool in_range = true;
  switch (i.mode) {
    case shuffle_mode::index:
      from = least | (by & ~segment & 31);
      in_range = from <= most;
      break;
    case shuffle_mode::up:
      from = lane - by;
      in_range = from >= most;
      break;
    case shuffle_mode::down:
      from = lane + by;
      in_range = from <= most;
      break;
    case shuffle_mode::butterfly:
      from = lane ^ by;
      in_range = from <= most;
      break;
  }
  return {in_range ? from : lane, in_range};
}

/// Matches the shuffle events: the n-th shuffles with the same mask in a warp belong together. Sets the `source` of each
/// shuffle read, and adds the dependencies of these reads to `f`. Returns false if a lane of a mask never arrives, because such
/// a path is not an execution. Throws `error` for a shuffle without a defined value.
template <class Rules>
[[nodiscard]] constexpr bool join_shuffles(event_structure& f, const Rules& rules, const program_view& program,
                                           std::span<const event> events, std::array<int, max_events>& source) {
  const auto code = [&](const event& e) -> const instruction& { return at(program.threads[e.thread].code, e.instruction); };
  // the number of earlier shuffles with the same mask in the thread of event `index`
  const auto generation = [&](int index) {
    int before = 0;
    for (int j = 0; j < index; ++j) {
      const event& e = at(events, j);
      before += e.kind == event_kind::shuffle_write && e.thread == at(events, index).thread &&
                        code(e).lanes == code(at(events, index)).lanes
                    ? 1
                    : 0;
    }
    return before - (at(events, index).kind == event_kind::shuffle_read ? 1 : 0);
  };
  const auto has_lane = [](const instruction& i, int lane) { return ((i.lanes >> static_cast<unsigned>(lane)) & 1U) != 0; };
  for (event_set s = f.shuffle_reads; s != 0; s = rest(s)) {
    const int read = first(s);
    const event& here = at(events, read);
    const instruction& i = code(here);
    const auto fail = [&](const char* why) {
      throw error((i.line > 0 ? "line " + std::to_string(i.line) + ": " : std::string()) + why);
    };
    const int lane = lane_of(program, here.thread);
    const int from = source_lane(i, lane).lane;
    if (!has_lane(i, lane)) {
      fail("a shuffle's mask does not contain the executing lane");
    }
    if (!has_lane(i, from)) {
      fail("a shuffle reads from a lane that is not in its mask");
    }
    const int n = generation(read);
    bool found = false;
    for (int t = 0; t < program.threads.size(); ++t) {
      const place& there = program.threads[t].where;
      const place& mine = program.threads[here.thread].where;
      const int other = lane_of(program, t);
      if (!same_block(mine, there) || mine.warp != there.warp || !has_lane(i, other)) {
        continue;
      }
      bool came = false;
      for (int j = 0; j < f.count && !came; ++j) {
        const event& e = at(events, j);
        if (e.kind != event_kind::shuffle_write || e.thread != t || code(e).lanes != i.lanes || generation(j) != n) {
          continue;
        }
        if (code(e).mode != i.mode || code(e).c.value != i.c.value) {
          fail("the lanes of a shuffle execute different kinds of shuffles");
        }
        came = true;
        if (other == from) {
          at(source, read) = j;
          found = true;
        }
        // no lane continues before the others have arrived
        if (rules.holds(rule::shuffle_dependency)) {
          f.dependency.add(j, read);
        }
      }
      if (!came) {
        return false;
      }
    }
    if (!found) {
      fail("a shuffle reads from a lane that the test does not have");
    }
  }
  relation flow = f.dependency;
  flow.close(f.shuffle_reads == 0 ? 0 : f.count);
  for (event_set s = f.shuffle_reads; s != 0; s = rest(s)) {
    if (flow.holds(first(s), first(s))) {
      return false;  // the lanes wait for each other in a cycle
    }
  }
  return true;
}

}  // namespace model
}  // namespace v0_3
}  // namespace membar
