// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
/// @file
/// Executes a thread of a kernel from one event to the next. What an event reads is decided elsewhere.
#pragma once

#include <check/compute.hpp>
#include <check/event.hpp>
#include <check/mbarrier_state.hpp>
#include <check/stack_arena.hpp>
#include <check/thread_context.hpp>
#include <membar/model/array.hpp>
#include <membar/model/program.hpp>
#include <ptx/decode.hpp>

#include <algorithm>
#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <type_traits>
#include <utility>
#include <vector>

namespace membar::check {

using namespace ptx;

/// Where a thread stands.
enum class thread_status : std::uint8_t {
  at_event,        ///< its next instruction is an event
  waiting,         ///< it went once around a loop that only reads, and nothing has changed for it
  repeats,         ///< it did, and is where one read before the loop's last round would have brought it with a later value
  ended,           ///< it has left its kernel
  trapped,         ///< it has executed `trap`, or an assertion failed
  endless,         ///< it is in a loop without an event that never ends
  waits_for_time,  ///< it is in such a loop and reads a clock, which stands still
  too_long,        ///< it takes more steps between two events than the limit
  uninitialised,   ///< it has read local memory that it never wrote
  out_of_bounds,   ///< it has accessed local memory that it does not have
  others_memory,   ///< it has accessed another thread's local memory
  undecided        ///< it was stopped by who watches it
};

/// What a thread does with an instruction that it comes to, by who watches it.
enum class watched : std::uint8_t { goes_on, skips, stops };

/// Watches nothing.
struct nobody {
  template <class State, class Instruction>
  [[nodiscard]] constexpr watched operator()(const State&, const Instruction&, bool) const noexcept {
    return watched::goes_on;
  }
};

/// A thread between two events. It is followed in memory by its registers and its local memory.
struct thread_state {
  /// When a thread came to a place that jumps lead back to.
  struct arrival {
    std::int32_t pc = -1;
    std::uint32_t effects = 0;
    std::uint32_t lasting = 0;
    std::int32_t events = 0;
    const thread_state* then = nullptr;
    const thread_state* before = nullptr;  ///< its last event before; null if there is none
  };

  std::int32_t pc = 0;
  std::int32_t events = 0;      ///< how many it has had
  std::int32_t waits_from = 0;  ///< `waiting`, `repeats`, `comes_back`: the first event of the loop's last round
  std::uint32_t effects = 0;    ///< how many events changed something
  std::uint32_t lasting = 0;    ///< of those: how many are neither a sync point nor a write to shared memory
  std::uint8_t part = 0;  ///< of an instruction of several events: which is next. A read-modify-write: two for each element
  thread_status status = thread_status::at_event;
  bool clock_read = false;  ///< since the last event
  bool comes_back =
      false;  ///< since the last event: to where a loop begins, as it was there before but for events that do not last
  std::uint64_t old_low = 0;  ///< what the element of a read-modify-write that is amid it held
  std::uint64_t old_high = 0;
  wide_value returned{};                   ///< what the elements before held
  const thread_state* previous = nullptr;  ///< the state before the last event
  wide_value seen{};                       ///< what that event read
  std::array<arrival, 4> arrivals{};
  std::uint32_t next_arrival = 0;

  [[nodiscard]] std::uint64_t* words() noexcept { return reinterpret_cast<std::uint64_t*>(this + 1); }
  [[nodiscard]] const std::uint64_t* words() const noexcept { return reinterpret_cast<const std::uint64_t*>(this + 1); }
};
static_assert(std::is_trivially_copyable_v<thread_state> && sizeof(thread_state) % alignof(std::uint64_t) == 0);

/// Executes one thread.
class machine {
 public:
  machine(const thread_context& context, stack_arena& arena) noexcept : context_(&context), arena_(&arena) {}

  static constexpr int most_steps = 100'000;  ///< between two events

  [[nodiscard]] const kernel_code& kernel() const noexcept { return *context_->kernel; }
  [[nodiscard]] const instruction& at(const thread_state& s) const noexcept { return model::at(kernel().code, s.pc); }

  /// The state before the first event. `watch` is called for each instruction that is no event, and for each that is one when
  /// the thread comes to it, with the state before it and whether its predicate lets it run; it returns a `watched`. `words` are the
  /// first registers, which otherwise begin as 0.
  template <class Watch = nobody>
  [[nodiscard]] const thread_state* begin(Watch&& watch = Watch{}, std::span<const std::uint64_t> words = {}) const {
    auto* const s = new (arena_->take(bytes())) thread_state;
    std::memset(s->words(), 0, bytes() - sizeof(thread_state));
    std::copy(words.begin(), words.end(), s->words());
    advance(*s, watch);
    return s;
  }

  /// The state of a thread that does nothing.
  [[nodiscard]] const thread_state* idle() const {
    auto* const s = new (arena_->take(bytes())) thread_state;
    std::memset(s->words(), 0, bytes() - sizeof(thread_state));
    s->status = thread_status::ended;
    return s;
  }

  /// The address that the next event, an access of memory, is to.
  [[nodiscard]] std::uint64_t address(const thread_state& s) const noexcept {
    const instruction& i = at(s);
    const bool access = i.code == op::load || i.code == op::store;
    return base_address(s, i) + (access ? std::uint64_t{s.part} * i.bytes : element_of(s) * i.bytes);
  }

  /// What the next event, a write, stores.
  [[nodiscard]] wide_value stored(const thread_state& s) const noexcept {
    const instruction& i = at(s);
    if (i.mbarrier == mbarrier_op::init || i.mbarrier == mbarrier_op::invalidate) {
      return {i.mbarrier == mbarrier_op::init ? initial_mbarrier(value(s, i.by[1])) : 0, 0};
    }
    if (i.code == op::store) {
      const wide_value v = wide_of(s, i.by[1U + s.part], i.type);
      return {truncated(v.low, 8 * std::min<int>(i.bytes, 8)), i.bytes == 16 ? v.high : 0};
    }
    return rmw_result(s, i, {s.old_low, s.old_high});
  }

  /// Whether the next event is the write of a read-modify-write that it has read for.
  [[nodiscard]] bool is_amid_rmw(const thread_state& s) const noexcept {
    const op code = at(s).code;
    return (code == op::atomic || code == op::reduction) && s.part % 2 == 1;
  }

  /// Whether the next event is a load whose value the thread never uses.
  [[nodiscard]] bool is_discarded(const thread_state& s) const noexcept {
    const std::vector<bool>& loads = context_->registers->discarded;
    return !loads.empty() && loads[static_cast<std::size_t>(s.pc)];
  }

  /// The value of source `n` of the next event.
  [[nodiscard]] std::uint64_t operand(const thread_state& s, int n) const noexcept { return value(s, model::at(at(s).by, n)); }

  /// The state after the next event, which is a read that returned `seen`, a write (which ignores it), a fence, or a sync point of
  /// threads whose result is `seen`.
  template <class Watch = nobody>
  [[nodiscard]] const thread_state* step(const thread_state& before, wide_value seen, Watch&& watch = Watch{}) const {
    auto* const s = static_cast<thread_state*>(arena_->take(bytes()));
    std::memcpy(static_cast<void*>(s), &before, bytes());
    const instruction& i = at(*s);
    ++s->events;
    s->clock_read = s->comes_back = false;
    s->previous = &before;
    s->seen = seen;
    switch (i.code) {
      case op::load:
        if (i.mbarrier != mbarrier_op::none) {
          put(*s, i.to[0], ptx_type::pred, {passes(before, seen) ? 1U : 0U, 0});
        } else {
          put(*s, i.to[s->part], i.type, seen);
        }
        finish_element(*s, i);
        break;
      case op::store:
        count_write(*s, before, true);
        finish_element(*s, i);
        break;
      case op::atomic:
      case op::reduction:
        if (s->part % 2 == 0) {
          s->old_low = seen.low;
          s->old_high = seen.high;
          if (writes(*s, seen)) {
            ++s->part;
            return s;
          }
        } else {
          count_write(*s, before, !keeps_value(*s));
        }
        if (i.elements > 1 && goes_to_next_element(*s, i)) {
          return s;
        }
        if (i.code == op::atomic) {
          return_old(*s, i);
        }
        s->part = 0;
        ++s->pc;
        break;
      case op::fence:
      case op::proxy_fence:
        ++s->pc;
        break;
      case op::async_copy:
        ++s->effects;
        ++s->lasting;
        s->part = part_of_multicast(*s, i);
        if (s->part != 0) {
          return s;
        }
        ++s->pc;
        break;
      case op::block_arrive:
      case op::cluster_arrive:
      case op::cluster_wait:
      case op::async_commit:
      case op::async_wait:
      case op::grid_launch:
      case op::grid_wait:
        ++s->effects;
        s->lasting += i.code == op::cluster_arrive || i.code == op::cluster_wait ? 0 : 1;
        ++s->pc;
        break;
      default:  // a sync point: an arrival, then what came of it
        ++s->effects;
        s->lasting += i.code == op::active_mask ? 1 : 0;
        if (s->part == 0) {
          s->part = 1;
          return s;
        }
        s->part = 0;
        if (i.destinations > 0) {
          put(*s, i.to[0], ptx_type::b64, {seen.low, 0});
        }
        if (i.destinations > 1) {
          put(*s, i.to[1], ptx_type::pred, {seen.high, 0});
        }
        ++s->pc;
        break;
    }
    advance(*s, watch);
    return s;
  }

  /// Where a load or store begins.
  [[nodiscard]] std::uint64_t base_address(const thread_state& s, const instruction& i) const noexcept {
    return generic(i.space, value(s, i.by[0]) + static_cast<std::uint64_t>(i.offset));
  }

  /// The generic address of one in a state space.
  [[nodiscard]] std::uint64_t generic(state_space space, std::uint64_t address) const noexcept {
    return space == state_space::shared  ? context_->from_shared(address)
           : space == state_space::local ? context_->local_base() + truncated(address, 32)
                                         : address;
  }

  /// Whether a test of an mbarrier in state `seen` finds that the phase it asks for is complete.
  [[nodiscard]] bool passes(const thread_state& s, wide_value seen) const noexcept {
    return at(s).mbarrier == mbarrier_op::test && phase_is_complete(at(s), seen.low, value(s, at(s).by[1]));
  }

  /// Whether a thread could do without the test of an mbarrier that is the next event of `first` and saw `seen_first`: that of `second`, which saw
  /// `seen_second` and led to `now`, asks for the same, what it saw would have brought the thread there at once, and had it failed as well, the
  /// thread would be where it was before it.
  [[nodiscard]] bool needs_one_test(const thread_state& first, const thread_state& second, wide_value seen_first,
                                    wide_value seen_second, const thread_state& now) const {
    const instruction& early = at(first);
    const instruction& late = at(second);
    if (late.mbarrier != mbarrier_op::test || address(first) != address(second) || early.parity != late.parity ||
        value(first, early.by[1]) != value(second, late.by[1]) || early.scope > late.scope ||
        (model::acquires(early.order) && !model::acquires(late.order))) {
      return false;
    }
    const stack_arena::mark mark = arena_->here();
    const auto is_same = [&](const thread_state* s, const thread_state& as) {
      return s->status == as.status && s->pc == as.pc && s->part == as.part && same(*const_cast<thread_state*>(s), as);
    };
    const bool passes_at_once = now.status == thread_status::at_event && is_same(step(first, seen_second), now);
    const thread_state* const again = step(second, seen_first);
    const bool result = passes_at_once && (again->status == thread_status::waiting || is_same(again, second));
    arena_->release(mark);
    return result;
  }

  /// What the next event, a read-modify-write of an mbarrier whose read is done, does to it.
  [[nodiscard]] mbarrier_outcome updated_mbarrier_at(const thread_state& s) const noexcept {
    return updated_mbarrier(at(s), s.old_low, value(s, at(s).by[1]));
  }

  /// Whether an address is in local memory, where accesses are no events.
  [[nodiscard]] static bool is_local(std::uint64_t address) noexcept { return (address >> 47U) == (local_window >> 47U); }

  /// Whether an address is in the shared memory of a block.
  [[nodiscard]] static bool is_shared(std::uint64_t address) noexcept {
    return address >= shared_window && address < local_window;
  }

  /// The place of an address in the thread's own local memory.
  [[nodiscard]] std::uint64_t local_offset(std::uint64_t address) const noexcept { return address - context_->local_base(); }

  /// Whether a read-modify-write that reads `seen` writes.
  [[nodiscard]] bool writes(const thread_state& s, wide_value seen) const noexcept {
    return !is_neutral(s) && (at(s).what != model::operation::compare_exchange || compares_equal(s, at(s), seen));
  }

  /// The same machine, whose states are elsewhere.
  [[nodiscard]] machine in(stack_arena& arena) const noexcept {
    machine other = *this;
    other.arena_ = &arena;
    return other;
  }

  /// From now on updates that no order of them changes are marked, and those that change nothing only read (commuting_updates.hpp).
  void merge_updates() noexcept { merges_ = true; }

  /// Whether the read-modify-write that is next cannot change the value, whatever that is.
  [[nodiscard]] bool is_neutral(const thread_state& s) const noexcept {
    const instruction& i = at(s);
    if (!merges_ || i.mbarrier != mbarrier_op::none || i.packed > 1 || i.elements > 1 || i.bytes > 8 || is_float(i.type)) {
      return false;
    }
    const int bits = 8 * i.bytes;
    const std::uint64_t by = truncated(value(s, i.by[1]), bits);
    const std::uint64_t ones = truncated(~std::uint64_t{0}, bits);
    const std::uint64_t sign = is_signed(i.type) ? std::uint64_t{1} << static_cast<unsigned>(bits - 1) : 0;
    switch (i.what) {
      case model::operation::add:
      case model::operation::bit_or:
      case model::operation::bit_xor:
        return by == 0;
      case model::operation::bit_and:
        return by == ones;
      case model::operation::maximum:
        return by == sign;
      case model::operation::minimum:
        return by == (sign ^ ones);
      case model::operation::compare_exchange:
        return by == truncated(value(s, i.by[2]), bits);
      default:
        return false;
    }
  }

  /// The number of the class of updates in which the next event, half of a read-modify-write, commutes with others; 0: in none.
  [[nodiscard]] std::uint8_t class_of_update(const thread_state& s) const noexcept {
    const instruction& i = at(s);
    const std::vector<bool>& unused = context_->registers->unused;
    if (!merges_ || i.packed > 1 || i.elements > 1 || i.bytes > 8 || is_float(i.type)) {
      return 0;
    }
    constexpr std::uint8_t arrival = 255;
    if (i.mbarrier != mbarrier_op::none) {
      return i.mbarrier == mbarrier_op::arrive && !i.transaction && !i.keeps_phase && has_plain_tokens() ? arrival
                                                                                                         : std::uint8_t{0};
    }
    const bool commutes =
        i.what == model::operation::add || (i.what >= model::operation::bit_and && i.what <= model::operation::maximum);
    return commutes && !model::acquires(i.order) && unused[static_cast<std::size_t>(s.pc)] && !is_neutral(s)
               ? static_cast<std::uint8_t>(1 + 2 * static_cast<int>(i.what) + (is_signed(i.type) ? 1 : 0))
               : std::uint8_t{0};
  }

  /// What the next event, the write of a read-modify-write, stores where `old` was before; and whether it completes a phase.
  [[nodiscard]] std::pair<wide_value, bool> updated(const thread_state& s, wide_value old) const noexcept {
    const instruction& i = at(s);
    return {rmw_result(s, i, old),
            i.mbarrier != mbarrier_op::none && updated_mbarrier(i, old.low, value(s, i.by[1])).completes};
  }

  /// Whether a read-modify-write whose read is done leaves the value as it was.
  [[nodiscard]] bool keeps_value(const thread_state& s) const noexcept {
    return rmw_result(s, at(s), {s.old_low, s.old_high}) == wide_value{s.old_low, s.old_high};
  }

 private:
  [[nodiscard]] std::size_t local_begin() const noexcept { return static_cast<std::size_t>(kernel().words) * 8; }
  [[nodiscard]] std::size_t local_bytes() const noexcept { return static_cast<std::size_t>(aligned(kernel().local_bytes, 8)); }
  [[nodiscard]] std::size_t bytes() const noexcept { return sizeof(thread_state) + local_begin() + 2 * local_bytes(); }
  [[nodiscard]] std::uint8_t* local(thread_state& s) const noexcept {
    return reinterpret_cast<std::uint8_t*>(s.words()) + local_begin();
  }

  [[nodiscard]] std::uint64_t value(const thread_state& s, const source_operand& o) const noexcept {
    std::uint64_t v = 0;
    switch (o.kind) {
      case source_operand::kind_t::none:
        break;
      case source_operand::kind_t::reg:
        v = s.words()[o.word] + o.low;
        break;
      case source_operand::kind_t::constant:
        v = o.low;
        break;
      case source_operand::kind_t::special:
        v = special_value(o.machine, *context_);
        break;
    }
    return o.negated ? (v ^ 1U) & 1U : v;
  }

  [[nodiscard]] wide_value wide_of(const thread_state& s, const source_operand& o, ptx_type type) const noexcept {
    const bool two = type == ptx_type::b128 && o.kind == source_operand::kind_t::reg;
    return {value(s, o), two ? s.words()[o.word + 1] : 0};
  }

  static void put(thread_state& s, const destination_operand& d, ptx_type type, wide_value v) noexcept {
    if (d.word >= 0) {
      s.words()[d.word] = truncated(extended(v.low, type), std::min<int>(d.bits, 64));
      if (d.bits > 64) {
        s.words()[d.word + 1] = v.high;
      }
    }
  }

  [[nodiscard]] bool compares_equal(const thread_state& s, const instruction& i, wide_value old) const noexcept {
    const wide_value expected = wide_of(s, i.by[1], i.type);
    const int bits = std::min<int>(i.bytes, 8) * 8;
    return truncated(expected.low, bits) == truncated(old.low, bits) && (i.bytes < 16 || expected.high == old.high);
  }

  /// The element that a read-modify-write is at.
  [[nodiscard]] static unsigned element_of(const thread_state& s) noexcept { return s.part / 2U; }

  /// Keeps what the element of a read-modify-write held, and goes on to the next one. False if there is none.
  static bool goes_to_next_element(thread_state& s, const instruction& i) noexcept {
    const unsigned bit = 8U * i.bytes * element_of(s);
    s.returned = bit == 0 ? wide_value{} : s.returned;
    (bit < 64 ? s.returned.low : s.returned.high) |= truncated(s.old_low, 8 * i.bytes) << (bit % 64);
    s.part = static_cast<std::uint8_t>(2 * (element_of(s) + 1));
    return s.part < 2 * i.elements;
  }

  /// Gives the registers of an atomic what the memory held.
  void return_old(thread_state& s, const instruction& i) const noexcept {
    if (i.elements == 1) {
      const bool token = i.mbarrier != mbarrier_op::none && has_plain_tokens();
      put(s, i.to[0], i.type, {token ? phase_of(s.old_low) : s.old_low, s.old_high});
      return;
    }
    const int bits = 8 * i.bytes * i.packed;
    for (unsigned k = 0; k < i.destinations; ++k) {
      const unsigned bit = static_cast<unsigned>(bits) * k;
      put(s, i.to[k], ptx_type::b64, {truncated((bit < 64 ? s.returned.low : s.returned.high) >> (bit % 64), bits), 0});
    }
  }

  [[nodiscard]] wide_value rmw_result(const thread_state& s, const instruction& i, wide_value old) const noexcept {
    if (i.mbarrier != mbarrier_op::none) {
      return {updated_mbarrier(i, old.low, value(s, i.by[1])).word, 0};
    }
    const int bits = std::min<int>(i.bytes, 8) * 8;
    wide_value by = wide_of(s, i.by[i.what == model::operation::compare_exchange ? 2U : 1U + element_of(s) / i.packed], i.type);
    if (i.packed > 1) {
      by.low = truncated(by.low >> (8U * i.bytes * (element_of(s) % i.packed)), 8 * i.bytes);
    }
    if (i.what == model::operation::move || i.what == model::operation::compare_exchange) {
      return {truncated(by.low, bits), i.bytes == 16 ? by.high : 0};
    }
    if (is_float(i.type)) {
      instruction f;
      f.type = i.type;
      f.code = i.what == model::operation::minimum ? op::minimum : i.what == model::operation::maximum ? op::maximum : op::add;
      return {truncated(compute(f, old.low, by.low, 0), bits), 0};
    }
    if (i.type == ptx_type::u64 && (i.what == model::operation::minimum || i.what == model::operation::maximum)) {
      return {(old.low < by.low) == (i.what == model::operation::minimum) ? old.low : by.low, 0};
    }
    const auto wide = [&](std::uint64_t v) { return static_cast<std::int64_t>(extended(v, i.type)); };
    return {truncated(static_cast<std::uint64_t>(model::apply(i.what, wide(old.low), wide(by.low))), bits), 0};
  }

  /// Of a copy to several blocks: the number of the next one; 0 after the last.
  [[nodiscard]] std::uint8_t part_of_multicast(const thread_state& s, const instruction& i) const noexcept {
    const int blocks = i.multicast ? std::popcount(truncated(value(s, i.by[4]), 16)) : 1;
    return s.part + 1 < blocks ? static_cast<std::uint8_t>(s.part + 1) : std::uint8_t{0};
  }

  /// Counts the write that is the next event of `before`.
  void count_write(thread_state& s, const thread_state& before, bool changes) const noexcept {
    changes = changes || class_of_update(before) != 0;
    s.effects += changes ? 1 : 0;
    s.lasting += changes && (!is_shared(address(before)) || at(before).mbarrier != mbarrier_op::none) ? 1 : 0;
  }

  void finish_element(thread_state& s, const instruction& i) const noexcept {
    if (++s.part == i.elements) {
      s.part = 0;
      ++s.pc;
    }
  }

  /// Whether the state came back to what it was at `then`, in all that can still matter: to events, and to where the thread goes if it had
  /// none in between.
  [[nodiscard]] bool same(thread_state& s, const thread_state& then) const noexcept {
    const register_use& use = *context_->registers;
    const register_use::set& live = model::at(s.events == then.events && !use.deciding.empty() ? use.deciding : use.live, s.pc);
    for (int w = 0; w < kernel().words; ++w) {
      if (((live[static_cast<std::size_t>(w / 64)] >> static_cast<unsigned>(w % 64)) & 1U) != 0 &&
          s.words()[w] != then.words()[w]) {
        return false;
      }
    }
    return std::memcmp(s.words() + kernel().words, then.words() + kernel().words, 2 * local_bytes()) == 0;
  }

  /// Stops where a loop begins.
  struct until {
    std::int32_t pc;
    [[nodiscard]] watched operator()(const thread_state& s, const instruction&, bool) const noexcept {
      return s.pc == pc ? watched::stops : watched::goes_on;
    }
  };

  /// Whether the read before the round that ends in `s` would have brought the thread here at once, had it seen what a read of
  /// the round has seen of the same memory; and would have ordered no more than that one did.
  [[nodiscard]] bool could_have_come_at_once(thread_state& s, const thread_state::arrival& mine) const {
    const auto reads = [&](const thread_state& o) {
      const instruction& i = at(o);
      return i.elements == 1 && o.part == 0 && (i.code == op::load || i.code == op::atomic);
    };
    if (mine.before == nullptr || mine.before->status != thread_status::at_event || !reads(*mine.before)) {
      return false;
    }
    const std::uint64_t where = address(*mine.before);
    const instruction& early = at(*mine.before);
    const auto as_strong = [&](const instruction& late) {
      return late.bytes == early.bytes && (!early.strong || (late.strong && late.scope >= early.scope)) &&
             (!model::acquires(early.order) || model::acquires(late.order));
    };
    const thread_state* after = &s;
    for (int n = s.events; n > mine.events; --n) {
      const thread_state& o = *after->previous;
      if (reads(o) && address(o) == where && as_strong(at(o))) {
        const stack_arena::mark mark = arena_->here();
        const thread_state* const other = step(*mine.before, after->seen, until{s.pc});
        const bool found = other->pc == s.pc && other->part == 0 && same(s, *other);
        arena_->release(mark);
        if (found) {
          return true;
        }
      }
      after = &o;
    }
    return false;
  }

  /// The thread is where a jump leads back to. True if it has only waited since it was here. If it has also met others or written to shared
  /// memory, it goes on and is marked: all who met may wait together (waiting_together.hpp).
  template <bool MayRepeat>
  [[nodiscard]] bool only_waited(thread_state& s) const {
    thread_state::arrival* mine = nullptr;
    for (thread_state::arrival& a : s.arrivals) {
      mine = a.pc == s.pc ? &a : mine;
    }
    if (mine != nullptr && mine->effects == s.effects && same(s, *mine->then)) {
      s.waits_from = mine->events;
      s.status = mine->events != s.events ? thread_status::waiting
                 : s.clock_read           ? thread_status::waits_for_time
                                          : thread_status::endless;
      return true;
    }
    if constexpr (MayRepeat) {
      if (mine != nullptr && mine->effects == s.effects && mine->events != s.events && could_have_come_at_once(s, *mine)) {
        s.waits_from = mine->events;
        s.status = thread_status::repeats;
        return true;
      }
    }
    if (mine == nullptr) {
      mine = &s.arrivals[s.next_arrival++ % s.arrivals.size()];
    } else if (mine->effects != s.effects && mine->lasting == s.lasting && same(s, *mine->then)) {
      s.comes_back = true;
      s.waits_from = mine->events;
    }
    auto* const copy = static_cast<thread_state*>(arena_->take(bytes()));
    std::memcpy(static_cast<void*>(copy), &s, bytes());
    *mine = {s.pc, s.effects, s.lasting, s.events, copy, s.previous};
    return false;
  }

  template <class Watch>
  void advance(thread_state& s, Watch& watch) const {
    for (int steps = 0; steps < most_steps; ++steps) {
      const instruction& i = at(s);
      if (is_event(i.code) && s.part != 0) {  // the next element of a vector
        s.status = thread_status::at_event;
        return;
      }
      if (i.head && only_waited<std::is_same_v<Watch, nobody>>(s)) {
        return;
      }
      const bool runs = i.guard < 0 || ((s.words()[i.guard] & 1U) != 0) != i.guard_negated;
      const watched then = watch(static_cast<const thread_state&>(s), i, runs);
      if (then == watched::stops) {
        s.status = thread_status::undecided;
        return;
      }
      if (!runs || then == watched::skips) {
        ++s.pc;
        continue;
      }
      switch (i.code) {
        case op::branch:
          s.pc = i.target;
          continue;
        case op::branch_index: {
          const std::uint64_t n = value(s, i.by[0]);
          if (n >= i.targets.size()) {
            s.status = thread_status::trapped;
            return;
          }
          s.pc = i.targets[static_cast<std::size_t>(n)];
          continue;
        }
        case op::exit:
          s.status = thread_status::ended;
          return;
        case op::trap:
          s.status = thread_status::trapped;
          return;
        case op::nothing:
          break;
        case op::load:
        case op::store:
          if (is_local(base_address(s, i))) {
            if (!access_local(s, i)) {
              return;
            }
            break;
          }
          s.status = thread_status::at_event;
          return;
        default:
          if (is_event(i.code)) {
            s.status = thread_status::at_event;
            return;
          }
          registers(s, i);
          break;
      }
      ++s.pc;
    }
    s.status = thread_status::too_long;
  }

  bool access_local(thread_state& s, const instruction& i) const noexcept {
    const std::uint64_t begin = local_offset(base_address(s, i));
    const std::uint64_t count = std::uint64_t{i.bytes} * i.elements;
    if (begin >> 32U != 0) {
      s.status = thread_status::others_memory;
      return false;
    }
    if (begin < 16 || begin + count > kernel().local_bytes) {
      s.status = thread_status::out_of_bounds;
      return false;
    }
    std::uint8_t* const memory = local(s) + begin;
    std::uint8_t* const written = memory + local_bytes();
    if (i.code == op::load && std::find(written, written + count, std::uint8_t{0}) != written + count) {
      s.status = thread_status::uninitialised;
      return false;
    }
    for (unsigned e = 0; e < i.elements; ++e) {
      wide_value v{};
      if (i.code == op::load) {
        std::memcpy(&v, memory + std::size_t{e} * i.bytes, i.bytes);
        put(s, i.to[e], i.type, v);
      } else {
        v = wide_of(s, i.by[1U + e], i.type);
        std::memcpy(memory + std::size_t{e} * i.bytes, &v, i.bytes);
      }
    }
    if (i.code == op::store) {
      std::memset(written, 1, static_cast<std::size_t>(count));
    }
    return true;
  }

  void registers(thread_state& s, const instruction& i) const noexcept {
    const std::uint64_t a = value(s, i.by[0]);
    std::uint64_t result = 0;
    switch (i.code) {
      case op::load_param: {
        const std::uint64_t from = a + static_cast<std::uint64_t>(i.offset);
        for (unsigned e = 0; e < i.elements; ++e) {
          wide_value v{};
          const std::uint64_t at = from + std::uint64_t{e} * i.bytes;
          if (at + i.bytes <= context_->parameters.size()) {
            std::memcpy(&v, context_->parameters.data() + at, i.bytes);
          }
          put(s, i.to[e], i.type, v);
        }
        return;
      }
      case op::move:
        s.clock_read = s.clock_read || (i.by[0].kind == source_operand::kind_t::special && i.by[0].machine >= special::clock);
        put(s, i.to[0], ptx_type::b64, wide_of(s, i.by[0], i.type));
        return;
      case op::pack: {
        const unsigned bits = static_cast<unsigned>(bytes_of(i.type)) * 8 / i.sources;
        wide_value v{};
        for (unsigned k = 0; k < i.sources; ++k) {
          const std::uint64_t part = truncated(value(s, i.by[k]), static_cast<int>(bits));
          (k * bits < 64 ? v.low : v.high) |= part << (k * bits % 64);
        }
        put(s, i.to[0], ptx_type::b64, v);
        return;
      }
      case op::unpack: {
        const unsigned bits = static_cast<unsigned>(bytes_of(i.type)) * 8 / i.destinations;
        const wide_value v = wide_of(s, i.by[0], i.type);
        for (unsigned k = 0; k < i.destinations; ++k) {
          const std::uint64_t part = (k * bits < 64 ? v.low : v.high) >> (k * bits % 64);
          put(s, i.to[k], ptx_type::b64, {truncated(part, static_cast<int>(bits)), 0});
        }
        return;
      }
      case op::to_generic:
      case op::from_generic: {
        const bool shared = i.space == state_space::shared;
        const std::uint64_t base = i.space == state_space::local ? context_->local_base() : 0;
        result = i.code == op::to_generic ? (shared ? context_->from_shared(a) : a + base)
                                          : (shared ? context_->to_shared(a) : a - base);
        break;
      }
      case op::map_to_block: {
        const bool generic_address = i.space != state_space::shared;
        const std::uint64_t there = thread_context::in_block(static_cast<std::uint32_t>(value(s, i.by[1])),
                                                             generic_address ? context_->to_shared(a) : a);
        result = generic_address ? context_->from_shared(there) : there;
        break;
      }
      case op::block_rank:
        result = context_->rank_of(i.space == state_space::shared ? a : context_->to_shared(a));
        break;
      case op::is_space:
        result = i.space == state_space::shared  ? ((a >> 46U) == (shared_window >> 46U) ? 1 : 0)
                 : i.space == state_space::local ? (is_local(a) ? 1 : 0)
                                                 : (a < shared_window ? 1 : 0);
        break;
      default:
        result = compute(i, a, value(s, i.by[1]), value(s, i.by[2]), value(s, i.by[3]));
        if (i.code == op::three_inputs) {
          instruction with_table = i;
          with_table.mode = static_cast<std::uint8_t>(value(s, i.by[3]));
          result = compute(with_table, a, value(s, i.by[1]), value(s, i.by[2]));
        }
        break;
    }
    put(s, i.to[0], ptx_type::b64, {result, 0});
    if (i.code == op::set_predicate && i.destinations > 1) {
      put(s, i.to[1], ptx_type::pred, {result ^ 1U, 0});
    }
  }

  /// Whether what an arrival at an mbarrier returns is asked for its phase alone: the kernel asks no token how many arrivals are pending.
  [[nodiscard]] bool has_plain_tokens() const noexcept { return merges_ && !context_->registers->asks_pending; }

  const thread_context* context_;
  stack_arena* arena_;
  bool merges_ = false;
};

}  // namespace membar::check
