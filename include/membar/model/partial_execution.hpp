// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
/// @file
/// An execution while it is being constructed, and the visitor that receives it.
#pragma once

#include <membar/model/array.hpp>
#include <membar/model/causality.hpp>
#include <membar/model/error.hpp>
#include <membar/model/event_structure.hpp>
#include <membar/model/execution.hpp>
#include <membar/model/program.hpp>
#include <membar/model/relation.hpp>

#include <algorithm>
#include <array>
#include <cstdint>
#include <span>

namespace membar {
inline namespace v0_3 {
namespace model {

/// A value read from memory, if it is known.
struct memory_content {
  bool known = false;
  std::int64_t value = 0;
};

/// Returns a mask of the low `bytes` bytes of a value.
[[nodiscard]] constexpr std::uint64_t low_bytes(int bytes) noexcept {
  return bytes >= 8 ? ~std::uint64_t{0} : (std::uint64_t{1} << (8 * static_cast<unsigned>(bytes))) - 1;
}

/// Returns whether a value is a negative number of `bytes` bytes.
[[nodiscard]] constexpr bool is_negative(std::int64_t value, int bytes) noexcept {
  const std::uint64_t sign = ~(low_bytes(bytes) >> 1U);
  return (static_cast<std::uint64_t>(value) & sign) == sign;
}

/// The events of one path through every thread, the choices made so far, and the values that follow from them. Values need not
/// be guessed: `rf ∪ dep` is acyclic, so each value can be computed from others.
class partial_execution {
 public:
  [[nodiscard]] constexpr const program_view& program() const noexcept { return program_; }
  [[nodiscard]] constexpr std::span<const event> events() const noexcept { return events_.span(); }
  /// Returns the relations that the events determine, regardless of what the reads return.
  [[nodiscard]] constexpr const event_structure& facts() const noexcept { return facts_; }
  /// Returns the choices made so far. They are complete only when `execution_visitor::accept` is called.
  [[nodiscard]] constexpr const candidate& choice() const noexcept { return candidate_; }

  /// Returns the reads that have a source so far.
  [[nodiscard]] constexpr event_set assigned() const noexcept { return assigned_; }

  /// Returns whether a register's final value follows from the reads chosen so far.
  [[nodiscard]] constexpr bool known(int thread, int reg) const noexcept { return resolved(at(at(registers_, thread), reg)); }
  /// Returns a register's final value, if it is known.
  [[nodiscard]] constexpr std::int64_t register_value(int thread, int reg) const noexcept {
    return evaluate(at(at(registers_, thread), reg));
  }
  /// Returns whether the value that a read returns or a write stores follows from the reads chosen so far.
  [[nodiscard]] constexpr bool known(int event_index) const noexcept {
    return takes_value(event_index) ? contains(known_, event_index) : resolved(events_[event_index].value);
  }
  /// Returns the value that a read returns or a write stores, if it is known.
  [[nodiscard]] constexpr std::int64_t value(int event_index) const noexcept {
    return takes_value(event_index) ? at(values_, event_index) : evaluate(events_[event_index].value);
  }
  /// Returns the contents of memory after a write, at the size of its widest access: a narrower access leaves the other bytes
  /// unchanged. Every read must be known. Throws `error` if the other bytes may come from several writes.
  [[nodiscard]] constexpr std::int64_t memory_after(int write) const {
    int bytes = 0;
    for (event_set s = facts_.has_mixed_sizes ? facts_.overlap[write] & ~facts_.initial : 0; s != 0; s = rest(s)) {
      bytes = std::max(bytes, events_[first(s)].bytes);
    }
    return memory_after(write, bytes, max_events);
  }
  /// Returns the value of a barrier's operand, or -1 for an operand that the barrier does not have. Every read must be
  /// known.
  [[nodiscard]] constexpr std::int64_t number_of(int expression_index) const noexcept {
    return expression_index < 0 ? -1 : evaluate(expression_index);
  }
  /// Returns the writes that may give a location its final value: the writes that are last in some order that the rules allow.
  /// Each location has its own order, so the last writes of several locations can be combined freely.
  [[nodiscard]] constexpr event_set last_writes(int location_index) const noexcept {
    event_set result = 0;
    const int physical = at(program_.locations, location_index).physical;
    if (contains(decided_, physical)) {
      return at(last_, physical);
    }
    for (event_set w = facts_.writes; w != 0; w = rest(w)) {
      if (events_[first(w)].physical == physical && candidate_.coherence[first(w)] == 0) {
        result |= only(first(w));
      }
    }
    return result;
  }
  /// Returns a coherence order that ends with these writes. `last` holds, for each physical location, one of its `last_writes`
  /// or -1.
  [[nodiscard]] virtual relation coherence_that_ends_in(const std::array<int, max_events>& last) const = 0;

 protected:
  constexpr explicit partial_execution(const program_view& program) : program_(program) {}
  ~partial_execution() = default;

  // Returns whether an event gets its value from another event.
  [[nodiscard]] constexpr bool takes_value(int event_index) const noexcept {
    const event_kind kind = events_[event_index].kind;
    return kind == event_kind::read || kind == event_kind::shuffle_read;
  }

  [[nodiscard]] constexpr event_set depends(int e) const noexcept { return e < 0 ? 0 : expressions_[e].depends; }

  // Combines the low `bytes` bytes of `low` with the other bytes of `high`.
  [[nodiscard]] static constexpr std::int64_t joined(std::int64_t high, std::int64_t low, int bytes) noexcept {
    return static_cast<std::int64_t>((static_cast<std::uint64_t>(high) & ~low_bytes(bytes)) |
                                     (static_cast<std::uint64_t>(low) & low_bytes(bytes)));
  }

  // Returns the lowest `bytes` bytes of memory after a write. Without No-Thin-Air, updates may read from each other in a cycle;
  // in that case the function follows at most `most` updates.
  [[nodiscard]] constexpr std::int64_t memory_after(int write, int bytes, int most) const {
    const event& w = events_[write];
    if (w.bytes >= bytes || most == 0) {
      return value(write);
    }
    if (w.partner >= 0) {
      return joined(memory_after(at(candidate_.source, w.partner), bytes, most - 1), value(write), w.bytes);
    }
    int below = -1;
    for (event_set s = facts_.writes; s != 0; s = rest(s)) {
      const int wider = first(s);
      if (candidate_.coherence.holds(wider, write) && (events_[wider].thread < 0 || events_[wider].bytes > w.bytes)) {
        if (below >= 0 && !candidate_.coherence.holds(below, wider) && !candidate_.coherence.holds(wider, below)) {
          throw error("the final value of a location combines several unordered writes, which the model does not cover");
        }
        below = below < 0 || candidate_.coherence.holds(below, wider) ? wider : below;
      }
    }
    return below < 0 ? value(write) : joined(memory_after(below, bytes, most), value(write), w.bytes);
  }

  // Returns the value of a read of `bytes` bytes that reads from a write. Without No-Thin-Air, updates may read from each other
  // in a cycle; in that case the function follows at most `most` updates.
  [[nodiscard]] constexpr memory_content content_after(int write, int bytes, int most = max_events) const noexcept {
    const event& w = events_[write];
    if (!resolved(w.value)) {
      return {};
    }
    const std::int64_t written = evaluate(w.value);
    if (w.partner < 0 || w.bytes >= bytes || most == 0) {
      return {true, written};
    }
    if (!contains(known_, w.partner)) {
      return {};
    }
    const memory_content below = content_after(at(candidate_.source, w.partner), bytes, most - 1);
    return {below.known, joined(below.value, written, w.bytes)};
  }

  // A read that is narrower than the write reads its low bytes.
  [[nodiscard]] constexpr std::int64_t narrowed(int read, std::int64_t stored) const noexcept {
    const int bytes = events_[read].bytes;
    const bool whole =
        bytes >= events_[at(candidate_.source, read)].bytes && (!facts_.has_mixed_sizes || is_negative(stored, bytes));
    return whole ? stored : static_cast<std::int64_t>(static_cast<std::uint64_t>(stored) & low_bytes(bytes));
  }

  [[nodiscard]] constexpr bool resolved(int e) const noexcept { return (expressions_[e].depends & ~known_) == 0; }

  [[nodiscard]] constexpr std::int64_t evaluate(int index) const noexcept {
    const expression& e = expressions_[index];
    switch (e.kind) {
      case expression::kind_t::constant:
        return e.value;
      case expression::kind_t::read:
        return at(values_, e.left);
      case expression::kind_t::apply:
        return apply(e.what, evaluate(e.left), evaluate(e.right));
    }
    return 0;
  }

  program_view program_;
  bounded<event, max_events> events_{};
  bounded<expression, 1024> expressions_{};
  bounded<assumption, 128> assumptions_{};
  std::array<std::array<int, max_registers>, max_threads> registers_{};  ///< per thread: the expressions of its registers
  event_structure facts_{};
  candidate candidate_{};
  event_set assigned_ = 0;  ///< reads that have a source
  event_set known_ = 0;     ///< reads whose value is known
  std::array<std::int64_t, max_events> values_{};
  std::uint64_t decided_ = 0;  ///< physical locations whose last writes are stored in `last_`
  std::array<event_set, max_events> last_{};
};

/// Receives the executions of an enumeration.
class execution_visitor {
 public:
  /// Returns whether the final value of a register is needed. If executions differ only in other registers, the visitor may see
  /// only one of them.
  [[nodiscard]] virtual constexpr bool observes(int /*thread*/, int /*reg*/) const { return true; }
  /// Returns the physical locations whose final value is needed, as a set.
  [[nodiscard]] virtual constexpr std::uint64_t observed_memory() const { return ~std::uint64_t{0}; }
  /// Called while reads-from is only partly chosen. If it returns false, every completion of the choice is discarded.
  [[nodiscard]] virtual constexpr bool viable(const partial_execution&) { return true; }
  /// Called for every execution that the rules allow. If it returns false, the enumeration ends.
  [[nodiscard]] virtual constexpr bool accept(const partial_execution& execution) = 0;

 protected:
  ~execution_visitor() = default;
};

/// The callbacks of a search.
class search_control {
 public:
  /// Called while reads-from is only partly chosen. If it returns true, every completion is discarded, because other executions
  /// show the visitor the same states.
  [[nodiscard]] virtual bool is_repeated(const partial_execution&, const execution_visitor&) = 0;
  /// Called periodically. If it returns true, the search stops.
  [[nodiscard]] virtual bool is_over() = 0;

 protected:
  ~search_control() = default;
};

}  // namespace model
}  // namespace v0_3
}  // namespace membar
