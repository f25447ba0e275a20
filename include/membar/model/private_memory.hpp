// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
/// @file
/// Private memory: memory on which the rest of an execution does not depend, such as a counter with relaxed additions. The
/// search interleaves its accesses in every way at the end, and visits a state only once even if several interleavings reach
/// it.
///
/// Memory is private if its accesses are morally strong with each other and take part in no release pattern, and if no branch,
/// address, barrier or other memory depends on the values that they read. Causality between its accesses then follows only from
/// the rest of the execution. With edges of the CUDA API, no memory is private, because base causality may have a cycle if
/// threads wait for a thread that begins after them. Coherence orders the memory's writes totally. The axioms hold for exactly
/// those executions in which some interleaving of the memory's accesses agrees with base causality and gives each read the last
/// write before it. docs/model.md has the proof.
#pragma once

#include <membar/model/array.hpp>
#include <membar/model/event_structure.hpp>
#include <membar/model/execution.hpp>
#include <membar/model/program.hpp>
#include <membar/model/relation.hpp>
#include <membar/model/thread_paths.hpp>

#include <cstdint>
#include <set>
#include <utility>
#include <vector>

namespace membar {
inline namespace v0_3 {
namespace model {

/// Finds the private memory of a path, and interleaves its accesses.
class private_memory : public thread_paths {
 protected:
  constexpr private_memory(const program_view& program, execution_visitor& visitor, bool failed_compare_writes,
                           bool one_address, waits waiting)
      : thread_paths(program, failed_compare_writes, one_address, waiting), visitor_(&visitor) {}
  ~private_memory() = default;

  // Declared again here, because otherwise nvcc would find a class member of the same name.
  constexpr bool path_chosen() override = 0;

  /// Returns whether the memory whose accesses are `all` is private.
  [[nodiscard]] constexpr bool is_private(event_set all) const noexcept {
    const event_set memory = all & ~facts_.initial;
    if (!program_.api.empty()) {
      return false;
    }
    for (event_set s = memory; s != 0; s = rest(s)) {
      const int e = first(s);
      if ((memory & ~only(e) & ~facts_.morally_strong[e]) != 0 || events_[e].issue >= 0 ||
          (facts_.dependency[e] & ~memory) != 0) {
        return false;
      }
    }
    for (event_set s = facts_.release_starts | facts_.initialization_fences | facts_.one_way_releases; s != 0; s = rest(s)) {
      if ((facts_.release_pattern[first(s)] & memory) != 0) {
        return false;
      }
    }
    // if a thread exits before a barrier of its block, reads-from also orders events (`barrier_groups::ends_too_late`)
    std::array<int, max_threads> turns{};
    for (event_set s = facts_.barriers; s != 0; s = rest(s)) {
      const event& e = events_[first(s)];
      at(turns, e.thread) += e.barrier == barrier_kind::block && !e.mbarrier && e.quorum < 0 ? 1 : 0;
    }
    for (int t = 0; t < program_.threads.size(); ++t) {
      for (int u = 0; u < t; ++u) {
        if (at(turns, t) != at(turns, u) && same_block(program_.threads[t].where, program_.threads[u].where)) {
          return false;
        }
      }
    }
    return (deciding() & memory) == 0;
  }

  /// Returns the reads on which the path or a barrier depends.
  [[nodiscard]] constexpr event_set deciding() const noexcept {
    event_set result = 0;
    for (const assumption& a : assumptions_) {
      result |= depends(a.left) | depends(a.right);
    }
    for (event_set s = facts_.barriers; s != 0; s = rest(s)) {
      const event& e = events_[first(s)];
      result |= depends(e.id) | depends(e.resource) | depends(e.quorum);
    }
    return result;
  }

  /// Returns the reads on which a register with a requested final value depends.
  [[nodiscard]] constexpr event_set asked() const {
    event_set result = 0;
    for (int t = 0; t < program_.threads.size(); ++t) {
      for (int r = 0; r < count_of(program_.threads[t].registers); ++r) {
        result |= visitor_->observes(t, r) ? depends(at(at(registers_, t), r)) : 0;
      }
    }
    return result;
  }

  /// Interleaves the accesses to memory in `left` in every way that base causality allows. Returns false if a visitor has ended
  /// the enumeration.
  [[nodiscard]] bool interleave(event_set left) {
    if (left == 0) {
      return interleaved();
    }
    const event_set all = facts_.overlap[first(left)];
    const event_set watch = watched(all);
    event_set memory = all & ~facts_.initial;
    for (event_set s = all & facts_.reads & ~watch; s != 0; s = rest(s)) {
      // such a load can be inserted anywhere
      memory &= events_[first(s)].partner < 0 && leaves_out_ ? ~only(first(s)) : ~event_set{0};
    }
    std::set<std::vector<std::int64_t>> seen;
    const std::uint64_t before = remembered_;
    const bool more = step({watch, left & ~all, seen}, memory, first(all & facts_.initial));
    remembered_ = before;
    return more;
  }

  /// Called for each interleaving of all private memory. If it returns false, the enumeration ends.
  [[nodiscard]] virtual bool interleaved() = 0;
  /// Called for each step of the interleaving.
  virtual void count_interleaving() = 0;

  execution_visitor* visitor_;
  bool leaves_out_ = false;       ///< whether loads whose value is not needed are omitted
  std::uint64_t remembered_ = 0;  ///< the size of the stored states in bytes

 private:
  struct interleaving {
    event_set watched = 0;
    event_set left = 0;  ///< the accesses to memory that is interleaved later
    std::set<std::vector<std::int64_t>>& seen;
  };

  // Returns the reads on which the value of a later access, or a register with a requested final value, depends.
  [[nodiscard]] event_set watched(event_set all) const {
    event_set result = 0;
    for (event_set s = all & facts_.reads; s != 0; s = rest(s)) {
      const int partner = events_[first(s)].partner;
      const event_set others = facts_.dependency[first(s)] & ~(partner < 0 ? 0 : only(partner));
      result |= others != 0 ? only(first(s)) : 0;
    }
    return result | (asked() & all);
  }

  // Performs the next access. `todo` contains the accesses that have not been performed yet, and `last` is the last write.
  [[nodiscard]] bool step(const interleaving& of, event_set todo, int last) {
    std::vector<std::int64_t> state = {static_cast<std::int64_t>(todo), last, value(last)};
    for (event_set s = of.watched & ~todo; s != 0; s = rest(s)) {
      state.push_back(at(values_, first(s)));
    }
    count_interleaving();
    const auto [at_state, is_new] = of.seen.insert(std::move(state));
    if (!is_new) {
      return true;
    }
    // the size of a node of the set and of the memory that it points to
    remembered_ += 4 * sizeof(state) + sizeof(state[0]) * at_state->size();
    if (todo == 0) {
      return interleave(of.left);  // the memory's coherence order now has a last write
    }
    for (event_set s = todo; s != 0; s = rest(s)) {
      const int next = first(s);
      const int partner = events_[next].partner;
      const bool reads = contains(facts_.reads, next);
      if (!comes_next(todo, next)) {
        continue;  // an update's write is performed together with its read
      }
      if (!reads) {
        candidate_.coherence[next] = todo & facts_.writes & ~only(next);
        if (!step(of, todo & ~only(next), next)) {
          return false;
        }
        continue;
      }
      at(candidate_.source, next) = last;
      at(values_, next) = narrowed(next, value(last));
      known_ |= only(next);
      const event_set made = only(next) | (partner < 0 ? 0 : only(partner));
      if (partner >= 0) {
        candidate_.coherence[partner] = todo & facts_.writes & ~made;
      }
      if (visitor_->viable(*this) && !step(of, todo & ~made, partner < 0 ? last : partner)) {
        return false;
      }
      known_ &= ~only(next);
    }
    return true;
  }

  [[nodiscard]] bool comes_next(event_set todo, int next) const noexcept {
    for (event_set s = todo & ~only(next); s != 0; s = rest(s)) {
      if (candidate_.base.holds(first(s), next)) {
        return false;
      }
    }
    return true;
  }
};

}  // namespace model
}  // namespace v0_3
}  // namespace membar
