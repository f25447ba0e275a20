// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
/// @file
/// While a thread runs, tracks the values from which the thread's registers were computed. The values that an event depends on
/// in this way are the event's dependencies in the model. Dependencies pass through data, addresses, branches and predicates
/// (docs/model.md, "Readings").
#pragma once

#include <check/machine.hpp>
#include <ptx/instruction.hpp>

#include <array>
#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

namespace membar::check {

using namespace ptx;

/// Tracks one run of a thread. Each value has a set of origins, for example the reads that it was computed from. The caller
/// assigns numbers to the origins, and uses at most `bits` of them.
class data_flow {
 public:
  /// A set of origins, with one bit per origin. Small sets need no heap memory.
  class set {
   public:
    explicit set(std::size_t width) : width_(width) {
      if (width > few) {
        many_.resize(width);
      }
    }
    [[nodiscard]] std::uint64_t& operator[](std::size_t k) noexcept { return begin()[k]; }
    [[nodiscard]] const std::uint64_t& operator[](std::size_t k) const noexcept { return begin()[k]; }
    [[nodiscard]] std::uint64_t* begin() noexcept { return width_ > few ? many_.data() : few_.data(); }
    [[nodiscard]] const std::uint64_t* begin() const noexcept { return width_ > few ? many_.data() : few_.data(); }
    [[nodiscard]] const std::uint64_t* end() const noexcept { return begin() + width_; }

   private:
    static constexpr std::size_t few = 2;
    std::size_t width_;
    std::array<std::uint64_t, few> few_{};
    std::vector<std::uint64_t> many_{};
  };

  data_flow(const machine& m, int bits)
      : machine_(&m),
        width_(static_cast<std::size_t>(bits) / 64 + 1),
        registers_(static_cast<std::size_t>(m.kernel().words) * width_),
        local_((m.kernel().local_bytes / granule + 2) * width_),
        control_(width_) {}

  [[nodiscard]] set none() const { return set(width_); }
  [[nodiscard]] static bool has(const set& s, int origin) noexcept {
    return ((s[static_cast<std::size_t>(origin) / 64] >> (static_cast<unsigned>(origin) % 64)) & 1U) != 0;
  }
  static void put(set& s, int origin) noexcept {
    s[static_cast<std::size_t>(origin) / 64] |= std::uint64_t{1} << (static_cast<unsigned>(origin) % 64);
  }

  /// Adds the origins of a source to `s`.
  void join(set& s, const source_operand& o, bool two_words) const {
    if (o.kind == source_operand::kind_t::reg) {
      join_word(s, o.word);
      if (two_words) {
        join_word(s, o.word + 1);
      }
    }
  }

  /// Adds to `s` the origins that decide whether an instruction runs: the origins of the preceding branches and of its
  /// predicate.
  void join_path(set& s, const instruction& i) const {
    for (std::size_t k = 0; k < width_; ++k) {
      s[k] |= control_[k];
    }
    join_predicate(s, i);
  }
  void join_predicate(set& s, const instruction& i) const {
    if (i.guard >= 0) {
      join_word(s, i.guard);
    }
  }

  /// Makes all later events depend on the origins in `s`.
  void add_control(const set& s) noexcept {
    for (std::size_t k = 0; k < width_; ++k) {
      control_[k] |= s[k];
    }
  }

  /// Sets the origins of a destination to `s` plus the origins of the predicate.
  void put_result(const instruction& i, const destination_operand& d, set s) {
    join_predicate(s, i);
    write(d, s);
  }

  /// Tracks the execution of an instruction that is not an event, or whose predicate is false. Returns false if the instruction
  /// accesses local memory at an address that has an origin, because such accesses are not tracked.
  bool follow(const thread_state& s, const instruction& i, bool runs) {
    set from = none();
    if (leaves(i.code)) {
      join_predicate(from, i);
      if (i.code == op::branch_index) {
        join(from, i.by[0], false);
      }
      add_control(from);
      return true;
    }
    if (!runs) {
      if (i.guard >= 0) {
        for (unsigned k = 0; k < i.destinations; ++k) {
          set old = none();
          join_destination(old, i.to[k]);
          put_result(i, i.to[k], std::move(old));
        }
      }
      return true;
    }
    if (i.code == op::load || i.code == op::store) {
      return machine::is_local(machine_->base_address(s, i)) ? follow_local(s, i) : true;
    }
    if (is_event(i.code)) {
      return true;
    }
    for (const source_operand& o : i.by) {
      join(from, o, i.type == ptx_type::b128);
    }
    for (unsigned k = 0; k < i.destinations; ++k) {
      put_result(i, i.to[k], from);
    }
    return true;
  }

 private:
  static constexpr std::uint64_t granule = 4;  ///< the number of bytes of local memory that share their origins

  void join_word(set& s, int word) const {
    for (std::size_t k = 0; k < width_; ++k) {
      s[k] |= registers_[static_cast<std::size_t>(word) * width_ + k];
    }
  }
  void join_destination(set& s, const destination_operand& d) const {
    if (d.word >= 0) {
      join_word(s, d.word);
      if (d.bits > 64) {
        join_word(s, d.word + 1);
      }
    }
  }
  void write(const destination_operand& d, const set& s) {
    for (int w = d.word; d.word >= 0 && w < d.word + (d.bits > 64 ? 2 : 1); ++w) {
      for (std::size_t k = 0; k < width_; ++k) {
        registers_[static_cast<std::size_t>(w) * width_ + k] = s[k];
      }
    }
  }

  bool follow_local(const thread_state& s, const instruction& i) {
    set address = none();
    join(address, i.by[0], false);
    for (const std::uint64_t part : address) {
      if (part != 0) {
        return false;
      }
    }
    const std::uint64_t begin = machine_->local_offset(machine_->base_address(s, i));
    if (begin + std::uint64_t{i.bytes} * i.elements > machine_->kernel().local_bytes) {
      return true;  // the machine reports this error
    }
    for (unsigned e = 0; e < i.elements; ++e) {
      const std::uint64_t first = begin + std::uint64_t{e} * i.bytes;
      set from = none();
      if (i.code == op::store) {
        join(from, i.by[1U + e], i.type == ptx_type::b128);
        join_predicate(from, i);
      }
      for (std::uint64_t g = first / granule; g <= (first + i.bytes - 1) / granule; ++g) {
        for (std::size_t k = 0; k < width_; ++k) {
          std::uint64_t& there = local_[static_cast<std::size_t>(g) * width_ + k];
          if (i.code == op::load) {
            from[k] |= there;
          } else {
            there = i.bytes < granule ? there | from[k] : from[k];
          }
        }
      }
      if (i.code == op::load) {
        put_result(i, i.to[e], std::move(from));
      }
    }
    return true;
  }

  const machine* machine_;
  std::size_t width_;
  std::vector<std::uint64_t> registers_;
  std::vector<std::uint64_t> local_;
  set control_;
};

}  // namespace membar::check
