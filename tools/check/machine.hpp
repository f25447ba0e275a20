// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
/// @file
/// Executes a thread of a kernel from one event to the next. The caller determines the values that events read.
#pragma once

#include <check/event.hpp>
#include <check/kept_apart.hpp>
#include <check/mbarrier_state.hpp>
#include <check/stack_arena.hpp>
#include <check/thread_context.hpp>
#include <membar/model/array.hpp>
#include <membar/model/program.hpp>
#include <ptx/compute.hpp>
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

/// The status of a thread: its next action, or the reason why it has stopped.
enum class thread_status : std::uint8_t {
  at_event,  ///< the thread's next instruction is an event
  waiting,   ///< the thread completed a loop iteration that performed only reads and left its state unchanged
  /// like `waiting`, but another execution, in which an earlier read returns the later value or the thread makes another
  /// choice, leads to the same state and shows how the thread continues
  repeats,
  ended,            ///< the thread has exited its kernel
  trapped,          ///< the thread executed a trap, or an indexed branch whose index is out of range
  endless,          ///< the thread is in an endless loop without events
  waits_for_time,   ///< the thread is in a loop without events that waits for a clock to advance; clocks never advance
  too_long,         ///< the thread executed too many instructions without an event
  uninitialised,    ///< the thread has read local memory that it never wrote
  out_of_bounds,    ///< the thread has accessed an address outside its local memory
  others_memory,    ///< the thread has accessed another thread's local memory
  unsupported,      ///< the thread's next instruction can be decoded but not executed
  unknown_operand,  ///< an unknown value determines which memory an event accesses, or what the event does
  held,      ///< the thread uses a register that an asynchronous operation still uses, without having waited for that operation
  unfenced,  ///< the thread starts a matrix operation on a register that it used after the last wgmma.fence
  undecided  ///< the observer stopped the thread
};

/// The decision of an observer (`watch` in the functions below) about the instruction that a thread has reached.
enum class watched : std::uint8_t { goes_on, skips, stops };

/// An observer that does nothing.
struct nobody {
  template <class State, class Instruction>
  [[nodiscard]] constexpr watched operator()(const State&, const Instruction&, bool) const noexcept {
    return watched::goes_on;
  }
};

/// The state of a thread between two events. The thread's registers and local memory are stored directly after this object.
struct thread_state {
  /// The state in which a thread reached the target of a backward jump.
  struct arrival {
    std::int32_t pc = -1;
    std::uint32_t effects = 0;
    std::uint32_t lasting = 0;
    std::int32_t events = 0;
    std::uint32_t choices = 0;
    const thread_state* then = nullptr;
    const thread_state* before = nullptr;  ///< the state before the thread's previous event, or null if there is none
  };

  std::int32_t pc = 0;
  std::int32_t events = 0;      ///< the number of the thread's events so far
  std::int32_t waits_from = 0;  ///< for `waiting`, `repeats` and `comes_back`: the first event of the loop's last iteration
  std::uint32_t effects = 0;    ///< the number of events that changed memory or synchronized
  std::uint32_t lasting = 0;    ///< the number of these events that are neither sync points nor writes to shared memory
  /// for an instruction with several events: the index of the next event. A read-modify-write has two events for each element
  std::uint8_t part = 0;
  thread_status status = thread_status::at_event;
  bool clock_read = false;   ///< whether a clock was read since the last event
  bool choosing = false;     ///< whether the next event is the choice of whether to execute an instruction whose predicate is
                             ///< unknown
  bool old_unknown = false;  ///< whether `old_low` and `old_high` are unknown
  bool fenced = false;       ///< whether the thread has executed wgmma.fence
  bool comes_back =
      false;  ///< whether, since the last event, the thread reached the head of a loop in the state of the previous iteration,
              ///< except for effects that do not last
  std::uint32_t choices = 0;  ///< the number of choices so far
  std::int32_t columns = 0;   ///< the number of columns of tensor memory that the thread has allocated and not freed
  std::uint64_t old_low = 0;  ///< the old value of the current element of an unfinished read-modify-write
  std::uint64_t old_high = 0;
  wide_value returned{};                   ///< the old values of the preceding elements of that read-modify-write
  const thread_state* previous = nullptr;  ///< the state before the last event
  wide_value seen{};                       ///< the value that the last event read
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

  static constexpr int most_steps = 100'000;  ///< the maximum number of instructions between two events

  [[nodiscard]] const kernel_code& kernel() const noexcept { return *context_->kernel; }
  [[nodiscard]] const thread_context& context() const noexcept { return *context_; }
  [[nodiscard]] const instruction& at(const thread_state& s) const noexcept { return model::at(kernel().code, s.pc); }

  /// Returns the state before the first event. `watch` is called for each instruction that is not an event, and for each event
  /// when the thread reaches it. Its arguments are the state before the instruction, the instruction, and whether the predicate
  /// allows it to run; it returns a `watched`. `words` are the initial values of the first registers. All other registers are
  /// initially 0.
  template <class Watch = nobody>
  [[nodiscard]] const thread_state* begin(Watch&& watch = Watch{}, std::span<const std::uint64_t> words = {}) const {
    auto* const s = new (arena_->take(bytes())) thread_state;
    std::memset(s->words(), 0, bytes() - sizeof(thread_state));
    std::copy(words.begin(), words.end(), s->words());
    advance(*s, watch);
    return s;
  }

  /// Returns the state of a thread that does nothing.
  [[nodiscard]] const thread_state* idle() const {
    auto* const s = new (arena_->take(bytes())) thread_state;
    std::memset(s->words(), 0, bytes() - sizeof(thread_state));
    s->status = thread_status::ended;
    return s;
  }

  /// Returns the address of the next event, which is a memory access.
  [[nodiscard]] std::uint64_t address(const thread_state& s) const noexcept {
    const instruction& i = at(s);
    const bool access = i.code == op::load || i.code == op::store;
    return base_address(s, i) + (access ? std::uint64_t{s.part} * i.bytes : element_of(s) * i.bytes);
  }

  /// Returns the value that the next event, a write, stores.
  [[nodiscard]] wide_value stored(const thread_state& s) const {
    const instruction& i = at(s);
    if (i.mbarrier == mbarrier_op::init || i.mbarrier == mbarrier_op::invalidate) {
      return {i.mbarrier == mbarrier_op::init ? initial_mbarrier(value(s, i.by[1])) : 0, 0};
    }
    if (i.allocates) {
      return {static_cast<std::uint64_t>(s.columns), 0};
    }
    if (i.code == op::store) {
      const wide_value v = wide_of(s, i.by[1U + s.part], i.type);
      return v.unknown ? v : wide_value{truncated(v.low, 8 * std::min<int>(i.bytes, 8)), i.bytes == 16 ? v.high : 0};
    }
    return rmw_result(s, i, old_of(s));
  }

  /// Returns whether the next event is the write of a read-modify-write whose read is done.
  [[nodiscard]] bool is_amid_rmw(const thread_state& s) const noexcept {
    const op code = at(s).code;
    return (code == op::atomic || code == op::reduction) && s.part % 2 == 1;
  }

  /// Returns whether the next event is a load whose value the thread never uses.
  [[nodiscard]] bool is_discarded(const thread_state& s) const noexcept {
    const std::vector<bool>& loads = context_->registers->discarded;
    return !loads.empty() && loads[static_cast<std::size_t>(s.pc)];
  }

  /// Returns the value of source `n` of the next event.
  [[nodiscard]] std::uint64_t operand(const thread_state& s, int n) const noexcept { return value(s, model::at(at(s).by, n)); }

  /// Returns the state after the next event. `seen` is the value that a read or a choice returned, or the result of a sync
  /// point. Writes and fences ignore it.
  template <class Watch = nobody>
  [[nodiscard]] const thread_state* step(const thread_state& before, wide_value seen, Watch&& watch = Watch{}) const {
    auto* const s = static_cast<thread_state*>(arena_->take(bytes()));
    std::memcpy(static_cast<void*>(s), &before, bytes());
    s->previous = &before;
    perform(*s, before, seen, watch);
    return s;
  }

  /// Executes the next event of a state in place, without keeping earlier states. `watch` decides whether a thread stops when
  /// it reaches the head of a loop (`comes_to_head`), and may execute instructions itself (`hurries`).
  template <class Watch>
  void step_in_place(thread_state& s, wide_value seen, Watch&& watch) const {
    perform(s, s, seen, watch);
  }
  /// Constructs the state before the first event at `memory`, which must have at least `bytes()` bytes.
  template <class Watch>
  thread_state& begin_in_place(void* memory, Watch&& watch, std::span<const std::uint64_t> words = {}) const {
    auto* const s = new (memory) thread_state;
    std::memset(s->words(), 0, bytes() - sizeof(thread_state));
    std::copy(words.begin(), words.end(), s->words());
    advance(*s, watch);
    return *s;
  }
  /// Continues after `watch` has stopped a thread.
  template <class Watch>
  void go_on(thread_state& s, Watch&& watch) const {
    advance(s, watch);
  }

  /// Returns the size of a state in bytes, including its registers and local memory.
  [[nodiscard]] std::size_t bytes() const noexcept { return sizeof(thread_state) + local_begin() + 2 * local_bytes(); }

  /// Returns whether two states agree in everything that can still affect events. If there was no event in between, the states
  /// must also agree in everything that can affect the thread's path.
  [[nodiscard]] bool are_equal(const thread_state& s, const thread_state& then) const noexcept {
    return same(const_cast<thread_state&>(s), then);
  }

  /// Returns the generic address at which a load or store begins.
  [[nodiscard]] std::uint64_t base_address(const thread_state& s, const instruction& i) const noexcept {
    return generic(i.space, value(s, i.by[0]) + static_cast<std::uint64_t>(i.offset));
  }

  /// Converts an address in a state space to a generic address.
  [[nodiscard]] std::uint64_t generic(state_space space, std::uint64_t address) const noexcept {
    return space == state_space::shared  ? context_->from_shared(address)
           : space == state_space::local ? context_->local_base() + truncated(address, 32)
                                         : address;
  }

  /// Returns whether a test of an mbarrier in state `seen` finds that its phase is complete.
  [[nodiscard]] bool passes(const thread_state& s, wide_value seen) const noexcept {
    return at(s).mbarrier == mbarrier_op::test && phase_is_complete(at(s), seen.low, value(s, at(s).by[1]));
  }

  /// Returns whether the first of two tests of an mbarrier could be omitted. The first test is the next event of `first` and
  /// observed `seen_first`. The second test is the next event of `second`, observed `seen_second` and led to `now`. The first
  /// test can be omitted if three conditions hold: both tests ask for the same phase; the first test would also have led to
  /// `now` if it had observed `seen_second`; and the second test would have left the thread where it was if it had observed
  /// `seen_first`.
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
    const bool passes_at_once =
        now.status == thread_status::at_event && is_same(*const_cast<thread_state*>(step(first, seen_second)), now);
    auto* const again = const_cast<thread_state*>(step(second, seen_first));
    const bool result = passes_at_once && (again->status == thread_status::waiting || is_same(*again, second));
    arena_->release(mark);
    return result;
  }

  /// Returns whether the thread reaches the same position, with a state that agrees in everything that matters, for either of
  /// two values that the next read may return.
  [[nodiscard]] bool leads_to_the_same(const thread_state& s, wide_value one, wide_value other) const {
    const stack_arena::mark mark = arena_->here();
    auto* const first = const_cast<thread_state*>(step(s, one));
    const thread_state* const second = step(s, other);
    const bool goes_on = first->status == thread_status::at_event || first->status == thread_status::waiting;
    const bool ended = first->status == thread_status::ended && second->status == thread_status::ended;
    const bool result = ended || (goes_on && is_same(*first, *second));
    arena_->release(mark);
    return result;
  }

  /// Returns the effect of the next event, which is the write of a read-modify-write on an mbarrier.
  [[nodiscard]] mbarrier_outcome updated_mbarrier_at(const thread_state& s) const noexcept {
    return updated_mbarrier(at(s), s.old_low, value(s, at(s).by[1]));
  }

  /// Returns whether an address is in local memory, where accesses are not events.
  [[nodiscard]] static bool is_local(std::uint64_t address) noexcept { return (address >> 47U) == (local_window >> 47U); }

  /// Returns whether an address is in the shared memory of a block.
  [[nodiscard]] static bool is_shared(std::uint64_t address) noexcept {
    return address >= shared_window && address < local_window;
  }

  /// Returns whether an address is in tensor memory.
  [[nodiscard]] static bool is_tensor_memory(std::uint64_t address) noexcept { return address >= tensor_window; }

  /// Returns the offset of an address in the thread's own local memory.
  [[nodiscard]] std::uint64_t local_offset(std::uint64_t address) const noexcept { return address - context_->local_base(); }

  /// Returns whether a read-modify-write that reads `seen` performs a write.
  [[nodiscard]] bool writes(const thread_state& s, wide_value seen) const noexcept {
    return !is_neutral(s) && (at(s).what != model::operation::compare_exchange || compares_equal(s, at(s), seen));
  }

  /// Returns a copy of the machine that allocates its states from `arena`.
  [[nodiscard]] machine in(stack_arena& arena) const noexcept {
    machine other = *this;
    other.arena_ = &arena;
    return other;
  }

  /// Starts to mark updates that have the same effect in every order, except for updates of the memory that `apart` contains.
  /// Updates that change nothing become reads (commuting_updates.hpp).
  void merge_updates(const kept_apart& apart) noexcept {
    merges_ = true;
    apart_ = &apart;
  }

  /// Returns whether the next read-modify-write counts as a read, because it leaves every value unchanged. If it commutes with
  /// other updates, it counts as an update, because the updates could not be explored in only one order if it were a read.
  [[nodiscard]] bool is_neutral(const thread_state& s) const { return keeps_every_value(s) && class_of_update(s) == 0; }

  /// Returns the class of updates that commute with the next event, the read or the write of a read-modify-write. Returns 0 if
  /// the event commutes with no other update.
  [[nodiscard]] std::uint8_t class_of_update(const thread_state& s) const {
    const instruction& i = at(s);
    if (!merges_ || i.packed > 1 || i.elements > 1 || i.bytes > 8 || apart_->has(address(s))) {
      return 0;
    }
    constexpr std::uint8_t arrival = 255;
    if (i.mbarrier != mbarrier_op::none) {
      return i.mbarrier == mbarrier_op::arrive && !i.transaction && !i.keeps_phase && has_plain_tokens() ? arrival
                                                                                                         : std::uint8_t{0};
    }
    const bool commutes =
        i.what == model::operation::add || (i.what >= model::operation::bit_and && i.what <= model::operation::maximum);
    return commutes && !model::acquires(i.order) && !(keeps_every_value(s) && uses_old_value(s)) &&
                   !((uses_old_value(s) || may_round(s)) && apart_->has_hidden_values())
               ? static_cast<std::uint8_t>(1 + 3 * static_cast<int>(i.what) +
                                           (is_float(i.type)    ? 2
                                            : is_signed(i.type) ? 1
                                                                : 0))
               : std::uint8_t{0};
  }

  /// Returns whether the thread uses the old value of the next read-modify-write. If only one order of the updates is explored,
  /// that value is unknown, because the order determines it.
  [[nodiscard]] bool uses_old_value(const thread_state& s) const noexcept {
    return at(s).mbarrier == mbarrier_op::none && !context_->registers->unused[static_cast<std::size_t>(s.pc)];
  }
  /// Returns whether the result of the next update may depend on the order of updates because of rounding.
  [[nodiscard]] bool may_round(const thread_state& s) const noexcept { return is_float(at(s).type); }

  /// Returns the value that the next event, which is the write of a read-modify-write, stores if the old value is `old`, and
  /// whether this write completes a phase of an mbarrier.
  [[nodiscard]] std::pair<wide_value, bool> updated(const thread_state& s, wide_value old) const {
    const instruction& i = at(s);
    return {rmw_result(s, i, old),
            i.mbarrier != mbarrier_op::none && updated_mbarrier(i, old.low, value(s, i.by[1])).completes};
  }

  /// Returns whether the read-modify-write whose write is next leaves the value unchanged.
  [[nodiscard]] bool keeps_value(const thread_state& s) const {
    const wide_value result = rmw_result(s, at(s), old_of(s));
    return !result.unknown && result == old_of(s);
  }

  /// Returns whether source `n` of the next event is unknown.
  [[nodiscard]] bool is_unknown(const thread_state& s, int n) const noexcept { return is_unknown(s, model::at(at(s).by, n)); }

  /// Returns whether any register of a thread holds an unknown value.
  [[nodiscard]] bool has_unknown_values(const thread_state& s) const noexcept {
    const std::uint64_t* const bits = s.words() + kernel().words;
    return std::any_of(bits, bits + unknown_words(), [](std::uint64_t b) { return b != 0; });
  }

  /// Returns the value that a thread received at a sync point. `after` is the state after the sync point.
  [[nodiscard]] wide_value given(const thread_state& after, const instruction& i) const noexcept {
    const auto word = [&](unsigned k) { return i.to[k].word < 0 ? 0 : after.words()[i.to[k].word]; };
    const bool unknown = i.destinations > 0 && i.to[0].word >= 0 && has_unknown(after, i.to[0].word);
    return {i.destinations > 0 ? word(0) : 0, i.destinations > 1 ? word(1) : 0, unknown};
  }

 private:
  /// Returns whether the next read-modify-write leaves the value unchanged, whatever the value is. Returns false if updates are
  /// not merged.
  [[nodiscard]] bool keeps_every_value(const thread_state& s) const noexcept {
    const instruction& i = at(s);
    return merges_ && !is_unknown(s, 1) && !is_unknown(s, 2) && ptx::is_neutral(i, value(s, i.by[1]), value(s, i.by[2]));
  }

  /// The number of words that follow the registers. They contain one bit for each register, which is set if the register is
  /// unknown.
  [[nodiscard]] std::size_t unknown_words() const noexcept { return (static_cast<std::size_t>(kernel().words) + 63) / 64; }
  /// The offset of the bytes, one for each register, that describe which asynchronous operation uses the register. The bytes
  /// exist only if asynchronous operations use registers.
  [[nodiscard]] std::size_t holds_begin() const noexcept {
    return (static_cast<std::size_t>(kernel().words) + unknown_words()) * 8;
  }
  [[nodiscard]] std::size_t local_begin() const noexcept {
    return holds_begin() +
           (kernel().holds_registers ? static_cast<std::size_t>(aligned(static_cast<std::uint64_t>(kernel().words), 8)) : 0);
  }
  [[nodiscard]] std::uint8_t& hold_of(thread_state& s, std::int32_t word) const noexcept {
    return reinterpret_cast<std::uint8_t*>(s.words())[holds_begin() + static_cast<std::size_t>(word)];
  }
  [[nodiscard]] std::size_t local_bytes() const noexcept { return static_cast<std::size_t>(aligned(kernel().local_bytes, 8)); }
  [[nodiscard]] std::uint8_t* local(thread_state& s) const noexcept {
    return reinterpret_cast<std::uint8_t*>(s.words()) + local_begin();
  }

  [[nodiscard]] const std::uint8_t* local(const thread_state& s) const noexcept {
    return reinterpret_cast<const std::uint8_t*>(s.words()) + local_begin();
  }

  [[nodiscard]] bool has_unknown(const thread_state& s, int word) const noexcept {
    const std::uint64_t bits = s.words()[kernel().words + word / 64];
    return ((bits >> static_cast<unsigned>(word % 64)) & 1U) != 0;
  }
  void set_unknown(thread_state& s, int word, bool unknown) const noexcept {
    std::uint64_t& bits = s.words()[kernel().words + word / 64];
    const std::uint64_t bit = std::uint64_t{1} << static_cast<unsigned>(word % 64);
    bits = unknown ? bits | bit : bits & ~bit;
  }
  [[nodiscard]] bool is_unknown(const thread_state& s, const source_operand& o) const noexcept {
    return o.kind == source_operand::kind_t::reg ? has_unknown(s, o.word)
                                                 : o.kind == source_operand::kind_t::special && o.machine == special::unknown;
  }

  /// Returns whether an unknown value determines what an event does: which memory it accesses, or which threads it synchronizes
  /// with. The transferred values themselves may be unknown.
  [[nodiscard]] bool is_undecided(const thread_state& s, const instruction& i) const noexcept {
    const bool moves = i.mbarrier == mbarrier_op::none && i.code >= op::load && i.code <= op::reduction;
    unsigned first = moves ? 1 : 0;
    switch (i.code) {
      case op::shuffle:
      case op::vote:
      case op::match:
      case op::warp_reduce:
        first = 1;
        break;
      default:
        break;
    }
    const unsigned last = i.code == op::block_barrier && i.destinations > 0 ? i.sources - 1U : i.sources;
    if (i.code == op::async_copy && i.copies == copy_kind::values) {
      return is_unknown(s, i.by[0]) || is_unknown(s, i.by[last - 1]);
    }
    for (unsigned k = moves ? 0 : first; k < (moves ? first : last); ++k) {
      if (is_unknown(s, i.by[k])) {
        return true;
      }
    }
    return false;
  }

  [[nodiscard]] static wide_value old_of(const thread_state& s) noexcept { return {s.old_low, s.old_high, s.old_unknown}; }

  /// Returns whether the value that a compare-and-swap compares with, or the value in memory, is unknown.
  [[nodiscard]] bool compares_unknown(const thread_state& s, const instruction& i, wide_value seen) const noexcept {
    return i.what == model::operation::compare_exchange && i.mbarrier == mbarrier_op::none &&
           (seen.unknown || is_unknown(s, i.by[1]));
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
    return is_unknown(s, o) ? wide_value{0, 0, true} : wide_value{value(s, o), two ? s.words()[o.word + 1] : 0};
  }

  // ---- registers that asynchronous operations use

  /// The byte that describes a register. It contains `changed_bit` if the register was written since the last wgmma.fence. The
  /// remaining bits are 0 if no operation uses the register, and `newest_hold` if an operation that is not yet in a group uses
  /// it. Each group that is committed later adds 1. `oldest_hold` means that a load from tensor memory uses the register.
  static constexpr std::uint8_t changed_bit = 128;
  static constexpr std::uint8_t newest_hold = 1;
  static constexpr std::uint8_t oldest_hold = 127;

  /// Records that an operation was started: it uses its registers, and the registers that it writes become unknown.
  void hold(thread_state& s, const instruction& i) const noexcept {
    for (std::size_t k = 0; k < i.held.size(); ++k) {
      hold_of(s, i.held[k]) = i.copies == copy_kind::product ? newest_hold : oldest_hold;
      if (k < i.held_results) {
        s.words()[i.held[k]] = 0;
        set_unknown(s, i.held[k], true);
      }
    }
  }

  /// Records that a group was committed, or that the thread waited for groups.
  void count_groups(thread_state& s, const instruction& i) const noexcept {
    const bool loads = i.group == async_group::tensor_loads;
    if (!kernel().holds_registers || (i.group != async_group::products && !loads)) {
      return;
    }
    const std::uint64_t pending =
        i.code == op::async_wait ? std::min<std::uint64_t>(truncated(value(s, i.by[0]), 32), oldest_hold) : 0;
    for (std::int32_t w = 0; w < kernel().words; ++w) {
      std::uint8_t& held = hold_of(s, w);
      const std::uint8_t groups = held & oldest_hold;
      if (i.code == op::async_commit) {
        held = static_cast<std::uint8_t>(held + (groups != 0 && groups < oldest_hold - 1 ? 1 : 0));
      } else if (loads ? groups == oldest_hold : groups != oldest_hold && groups > newest_hold + pending) {
        held = static_cast<std::uint8_t>(held & changed_bit);
      }
    }
  }

  /// Returns whether an instruction may use its registers. If not, the status contains the reason. A move is always allowed;
  /// its destination inherits the byte of its source.
  [[nodiscard]] bool may_use_registers(thread_state& s, const instruction& i) const noexcept {
    const auto is_held = [&](std::int32_t word) { return word >= 0 && (hold_of(s, word) & oldest_hold) != 0; };
    const bool moves = i.code == op::move && i.by[0].kind == source_operand::kind_t::reg;
    bool uses = false;
    for (unsigned k = 0; k < i.sources && !moves; ++k) {
      uses = uses || (i.by[k].kind == source_operand::kind_t::reg && is_held(i.by[k].word));
    }
    for (unsigned k = 0; k < i.destinations && !moves; ++k) {
      uses = uses || is_held(i.to[k].word);
    }
    for (std::size_t k = i.held_results; k < i.held.size(); ++k) {
      uses = uses || (i.copies != copy_kind::product && is_held(i.held[k]));
    }
    const bool changed =
        std::any_of(i.held.begin(), i.held.end(), [&](std::int32_t w) { return (hold_of(s, w) & changed_bit) != 0; });
    if (uses) {
      s.status = thread_status::held;
    } else if (i.copies == copy_kind::product && (changed || !s.fenced)) {
      s.status = thread_status::unfenced;
    }
    return !uses && s.status != thread_status::unfenced;
  }

  /// Records that an instruction uses its registers and writes its results. The results of an event are not used before the
  /// event. Returns false if the instruction may not use a register; the status then contains the reason.
  bool use_registers(thread_state& s, const instruction& i) const noexcept {
    s.status = thread_status::at_event;
    if (may_use_registers(s, i)) {
      mark_results(s, i);
      return true;
    }
    return false;
  }

  /// Marks the destination registers of an instruction as written.
  void mark_results(thread_state& s, const instruction& i) const noexcept {
    const bool moves = i.code == op::move && i.by[0].kind == source_operand::kind_t::reg;
    const bool constant = i.code == op::move && i.by[0].kind == source_operand::kind_t::constant;
    const std::uint8_t mark = moves ? hold_of(s, i.by[0].word) : constant ? std::uint8_t{0} : changed_bit;
    for (unsigned k = 0; k < i.destinations; ++k) {
      if (i.to[k].word >= 0) {
        hold_of(s, i.to[k].word) = mark;
      }
    }
  }

  void fence_registers(thread_state& s) const noexcept {
    s.fenced = true;
    for (std::int32_t w = 0; kernel().holds_registers && w < kernel().words; ++w) {
      hold_of(s, w) = static_cast<std::uint8_t>(hold_of(s, w) & oldest_hold);
    }
  }

  void put(thread_state& s, const destination_operand& d, ptx_type type, wide_value v) const noexcept {
    if (d.word >= 0) {
      s.words()[d.word] = v.unknown ? 0 : truncated(extended(v.low, type), std::min<int>(d.bits, 64));
      set_unknown(s, d.word, v.unknown);
      if (d.bits > 64) {
        s.words()[d.word + 1] = v.unknown ? 0 : v.high;
        set_unknown(s, d.word + 1, v.unknown);
      }
    }
  }

  [[nodiscard]] bool compares_equal(const thread_state& s, const instruction& i, wide_value old) const noexcept {
    const wide_value expected = wide_of(s, i.by[1], i.type);
    const int bits = std::min<int>(i.bytes, 8) * 8;
    return truncated(expected.low, bits) == truncated(old.low, bits) && (i.bytes < 16 || expected.high == old.high);
  }

  /// Executes the next event of `before`. `s` is a copy of `before` or is `before` itself, and becomes the state after the
  /// event.
  template <class Watch>
  void perform(thread_state& s, const thread_state& before, wide_value seen, Watch& watch) const {
    const instruction& i = at(s);
    ++s.events;
    s.clock_read = s.comes_back = false;
    s.seen = seen;
    if (s.choosing) {
      ++s.choices;
      advance(s, watch, seen.low != 0 ? decision::runs : decision::is_skipped);
      return;
    }
    switch (i.code) {
      case op::load:
        if (i.mbarrier != mbarrier_op::none) {
          put(s, i.to[0], ptx_type::pred, {passes(before, seen) ? 1U : 0U, 0});
        } else {
          put(s, i.to[s.part], i.type, seen);
        }
        finish_element(s, i);
        break;
      case op::store:
        count_write(s, before, true);
        s.columns += i.allocates ? static_cast<std::int32_t>(truncated(value(before, i.by[1]), 16)) : 0;
        finish_element(s, i);
        break;
      case op::atomic:
      case op::reduction:
        if (!ends_read_modify_write(s, before, i, seen)) {
          return;
        }
        break;
      case op::fence:
      case op::proxy_fence:
        ++s.pc;
        break;
      case op::async_copy:
        ++s.effects;
        ++s.lasting;
        s.part = part_of_multicast(s, i);
        if (s.part != 0) {
          return;
        }
        hold(s, i);
        ++s.pc;
        break;
      case op::block_arrive:
      case op::cluster_arrive:
      case op::cluster_wait:
      case op::async_commit:
      case op::async_wait:
      case op::grid_launch:
      case op::grid_wait:
        ++s.effects;
        s.lasting += i.code == op::cluster_arrive || i.code == op::cluster_wait ? 0 : 1;
        count_groups(s, i);
        ++s.pc;
        break;
      default:  // a sync point: first its arrival, then its result
        ++s.effects;
        s.lasting += i.code == op::active_mask ? 1 : 0;
        if (s.part == 0) {
          s.part = 1;
          return;
        }
        s.part = 0;
        if (i.destinations > 0) {
          put(s, i.to[0], ptx_type::b64, {seen.low, 0, seen.unknown});
        }
        if (i.destinations > 1) {
          put(s, i.to[1], ptx_type::pred, {seen.high, 0, seen.unknown && i.code == op::match});
        }
        ++s.pc;
        break;
    }
    advance(s, watch);
  }

  /// Executes the read or the write of a read-modify-write. Returns false if the write or another element still has to follow,
  /// or if the thread cannot continue.
  bool ends_read_modify_write(thread_state& s, const thread_state& before, const instruction& i, wide_value seen) const {
    if (s.part % 2 == 0) {
      s.old_low = seen.low;
      s.old_high = seen.high;
      s.old_unknown = seen.unknown;
      if (compares_unknown(s, i, seen)) {
        s.status = thread_status::unknown_operand;
        return false;
      }
      if (writes(s, seen)) {
        ++s.part;
        return false;
      }
    } else {
      count_write(s, before, !keeps_value(s));
      s.old_unknown = s.old_unknown || (uses_old_value(before) && class_of_update(before) != 0);
    }
    if (i.elements > 1 && goes_to_next_element(s, i)) {
      return false;
    }
    if (i.code == op::atomic) {
      return_old(s, i);
    }
    s.part = 0;
    ++s.pc;
    return true;
  }

  /// Returns the current element of a read-modify-write.
  [[nodiscard]] static unsigned element_of(const thread_state& s) noexcept { return s.part / 2U; }

  /// Stores the old value of the current element of a read-modify-write, and advances to the next element. Returns false if
  /// there are no more elements.
  static bool goes_to_next_element(thread_state& s, const instruction& i) noexcept {
    const unsigned bit = 8U * i.bytes * element_of(s);
    s.returned = bit == 0 ? wide_value{} : s.returned;
    s.returned.unknown = s.returned.unknown || s.old_unknown;
    (bit < 64 ? s.returned.low : s.returned.high) |= truncated(s.old_low, 8 * i.bytes) << (bit % 64);
    s.part = static_cast<std::uint8_t>(2 * (element_of(s) + 1));
    return s.part < 2 * i.elements;
  }

  /// Writes the old value of the memory to an atomic's destination registers.
  void return_old(thread_state& s, const instruction& i) const noexcept {
    if (i.elements == 1) {
      wide_value old = old_of(s);
      if (i.mbarrier != mbarrier_op::none && has_plain_tokens()) {
        old.low = phase_of(old.low);
      }
      put(s, i.to[0], i.type, old);
      return;
    }
    const int bits = 8 * i.bytes * i.packed;
    for (unsigned k = 0; k < i.destinations; ++k) {
      const unsigned bit = static_cast<unsigned>(bits) * k;
      put(s, i.to[k], ptx_type::b64,
          {truncated((bit < 64 ? s.returned.low : s.returned.high) >> (bit % 64), bits), 0, s.returned.unknown});
    }
  }

  [[nodiscard]] wide_value rmw_result(const thread_state& s, const instruction& i, wide_value old) const {
    if (i.mbarrier != mbarrier_op::none) {
      return {updated_mbarrier(i, old.low, value(s, i.by[1])).word, 0};
    }
    const int bits = std::min<int>(i.bytes, 8) * 8;
    wide_value by = wide_of(s, i.by[i.what == model::operation::compare_exchange ? 2U : 1U + element_of(s) / i.packed], i.type);
    if (i.packed > 1) {
      by.low = truncated(by.low >> (8U * i.bytes * (element_of(s) % i.packed)), 8 * i.bytes);
    }
    const bool replaces = i.what == model::operation::move || i.what == model::operation::compare_exchange;
    if (by.unknown || (old.unknown && !replaces)) {
      return {0, 0, true};
    }
    if (replaces) {
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

  /// Returns the index of the block that a multicast copies to next, or 0 if there are no more blocks.
  [[nodiscard]] std::uint8_t part_of_multicast(const thread_state& s, const instruction& i) const noexcept {
    const auto mask = static_cast<std::size_t>(i.copies == copy_kind::tensor          ? tensor_mask_operand
                                               : i.copies == copy_kind::tensor_commit ? 1
                                                                                      : 4);
    const int blocks = i.multicast ? std::popcount(truncated(value(s, i.by[mask]), 16)) : 1;
    return s.part + 1 < blocks ? static_cast<std::uint8_t>(s.part + 1) : std::uint8_t{0};
  }

  /// Counts the next event of `before`, a write. `changes` is true if it changes the value.
  void count_write(thread_state& s, const thread_state& before, bool changes) const {
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

  /// Returns whether the state agrees with the earlier state `then` in everything that can still affect events and, if there
  /// was no event in between, the thread's path.
  [[nodiscard]] bool same(thread_state& s, const thread_state& then) const noexcept {
    const register_use& use = *context_->registers;
    const register_use::set& live = model::at(s.events == then.events && !use.deciding.empty() ? use.deciding : use.live, s.pc);
    const std::uint64_t* const mine = s.words();
    const std::uint64_t* const other = then.words();
    const auto registers = static_cast<std::size_t>(kernel().words);  // the marks of unknown registers follow them
    for (std::size_t first = 0; first < registers; first += 64) {
      std::uint64_t left =
          live[first / 64] & truncated(~std::uint64_t{0}, static_cast<int>(std::min<std::size_t>(registers - first, 64)));
      const std::size_t marks = registers + first / 64;
      if (((mine[marks] ^ other[marks]) & left) != 0) {
        return false;
      }
      for (; left != 0; left &= left - 1) {
        const std::size_t word = first + static_cast<std::size_t>(std::countr_zero(left));
        if (mine[word] != other[word]) {
          return false;
        }
      }
    }
    return std::memcmp(local(s), local(then), 2 * local_bytes()) == 0;
  }

  /// Returns whether two states agree in everything that can still matter. Returns false before a choice: a choice may be at an
  /// instruction that is not an event, where it is not known what can still matter.
  [[nodiscard]] bool is_same(thread_state& s, const thread_state& as) const noexcept {
    return s.status == as.status && s.pc == as.pc && s.part == as.part && !s.choosing && !as.choosing && same(s, as);
  }

  /// An observer that stops the thread at the head of a loop.
  struct until {
    std::int32_t pc;
    [[nodiscard]] watched operator()(const thread_state& s, const instruction&, bool) const noexcept {
      return s.pc == pc ? watched::stops : watched::goes_on;
    }
  };

  /// Returns whether the thread could have reached this point without the iteration that ends in `s`. Three conditions must
  /// hold: the read before the iteration accesses the same memory as some later read in the iteration; with the later read's
  /// value, the earlier read would have led the thread here immediately; and the earlier read would not have ordered more than
  /// the later read did.
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

  /// Called when the thread is at the target of a backward jump. Returns true if the thread has only waited since it was last
  /// here. If it has also synchronized with other threads or written to shared memory, it continues with `comes_back` set: all
  /// threads that synchronized may be waiting together (waiting_together.hpp).
  template <bool MayRepeat>
  [[nodiscard]] bool only_waited(thread_state& s) const {
    thread_state::arrival* mine = nullptr;
    for (thread_state::arrival& a : s.arrivals) {
      mine = a.pc == s.pc ? &a : mine;
    }
    if (mine != nullptr && mine->effects == s.effects && same(s, *mine->then)) {
      s.waits_from = mine->events;
      s.status = mine->choices != s.choices ? thread_status::repeats  // another choice shows how the thread continues
                 : mine->events != s.events ? thread_status::waiting
                 : s.clock_read             ? thread_status::waits_for_time
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
    } else if (mine->effects != s.effects && mine->lasting == s.lasting && mine->choices == s.choices && same(s, *mine->then)) {
      s.comes_back = true;
      s.waits_from = mine->events;
    }
    auto* const copy = static_cast<thread_state*>(arena_->take(bytes()));
    std::memcpy(static_cast<void*>(copy), &s, bytes());
    *mine = {s.pc, s.effects, s.lasting, s.events, s.choices, copy, s.previous};
    return false;
  }

  /// The choice of whether to execute the first instruction if the instruction's predicate is unknown.
  enum class decision : std::uint8_t { none, runs, is_skipped };

  /// Returns whether an instruction with an unknown predicate needs a choice. An instruction that only writes registers does
  /// not need one: its results become unknown.
  bool needs_choice(thread_state& s, const instruction& i) const noexcept {
    const bool of_registers = !is_event(i.code) && !leaves(i.code) && i.code != op::unsupported;
    if (of_registers) {
      forget(s, i);
    }
    return !of_registers;
  }

  /// Jumps to the target that `brx.idx` selects. Returns false if the index is unknown or out of range.
  bool jump_by_index(thread_state& s, const instruction& i) const noexcept {
    const std::uint64_t n = value(s, i.by[0]);
    if (is_unknown(s, i.by[0]) || n >= i.targets.size()) {
      s.status = is_unknown(s, i.by[0]) ? thread_status::unknown_operand : thread_status::trapped;
      return false;
    }
    s.pc = i.targets[static_cast<std::size_t>(n)];
    return true;
  }

  /// Sets `runs` and returns true if a known value or a choice determines whether an instruction is executed. Otherwise,
  /// returns false, and the thread stops to make this choice.
  bool is_decided(thread_state& s, const instruction& i, decision chosen, bool& runs) const noexcept {
    runs = i.guard < 0 || ((s.words()[i.guard] & 1U) != 0) != i.guard_negated;
    if (i.guard < 0 || !has_unknown(s, i.guard)) {
      return true;
    }
    if (chosen == decision::none && needs_choice(s, i)) {
      s.choosing = true;
      s.status = thread_status::at_event;
      return false;
    }
    runs = chosen == decision::runs;
    if (chosen != decision::none) {  // after the choice, the predicate is known
      s.words()[i.guard] = runs != i.guard_negated ? 1 : 0;
      set_unknown(s, i.guard, false);
    }
    return true;
  }

  /// Advances to the next access of an asynchronous operation.
  void perform_next(thread_state& s) const {
    std::uint64_t* const words = s.words();
    const auto* const steps = reinterpret_cast<const copy_step*>(words[copy_registers::steps]);
    const std::uint64_t n = ++words[copy_registers::next];
    if (n >= words[copy_registers::end]) {
      s.status = thread_status::ended;
      return;
    }
    const copy_step& step = steps[n];
    s.pc = step.instruction;
    s.status = thread_status::at_event;
    words[copy_registers::address] = step.address;
    wide_value value = step.value;
    if (step.first >= 0) {
      if (words[copy_registers::read] == 0) {
        words[copy_registers::read] = reinterpret_cast<std::uint64_t>(values_read(s));
      }
      value = taken(steps, step, reinterpret_cast<const wide_value*>(words[copy_registers::read]));
    }
    words[copy_registers::value] = value.unknown ? 0 : value.low;
    words[copy_registers::value + 1] = value.unknown ? 0 : value.high;
    set_unknown(s, copy_registers::value, value.unknown);
    set_unknown(s, copy_registers::value + 1, value.unknown);
  }

  /// Returns the values that the operation's events have read. All events so far must be reads.
  [[nodiscard]] const wide_value* values_read(const thread_state& s) const {
    const auto count = static_cast<std::size_t>(s.events);
    auto* const values = static_cast<wide_value*>(arena_->take(count * sizeof(wide_value)));
    const thread_state* after = &s;
    for (std::size_t k = count; k > 0; --k) {
      new (values + k - 1) wide_value(after->seen);
      after = after->previous;
    }
    return values;
  }

  /// Returns the bytes that a step writes, which come from the data that was read.
  [[nodiscard]] static wide_value taken(const copy_step* steps, const copy_step& by, const wide_value* values) noexcept {
    std::uint8_t bytes[48] = {};
    int at = by.shift < 0 ? 16 - by.shift : 16;  // the omitted bytes are stored before index 16
    bool unknown = by.value.unknown;
    for (int k = by.first; k < by.first + by.reads; ++k) {
      const std::uint64_t both[] = {values[k].low, values[k].high};
      unknown = unknown || values[k].unknown;
      const int room = std::min<int>(steps[k].bytes, static_cast<int>(sizeof(bytes)) - at);
      std::memcpy(bytes + at, both, static_cast<std::size_t>(std::max(room, 0)));
      at += steps[k].bytes;
    }
    std::uint64_t both[2] = {};
    std::memcpy(both, bytes + 16 + std::max<int>(by.shift, 0), by.bytes);
    return unknown ? wide_value{0, 0, true} : wide_value{both[0], both[1]};
  }

  /// Lets `watch` execute the instructions that it supports. Returns false if the thread must stop at its position.
  template <class Watch>
  [[nodiscard]] static bool hurries(thread_state& s, Watch& watch) {
    if constexpr (requires { watch.hurries(s); }) {
      return watch.hurries(s);
    } else {
      return true;
    }
  }

  template <class Watch>
  [[nodiscard]] bool stands_at_head(thread_state& s, Watch& watch) const {
    if constexpr (requires { watch.comes_to_head(s); }) {
      return watch.comes_to_head(s);
    } else {
      return only_waited<std::is_same_v<Watch, nobody>>(s);
    }
  }

  template <class Watch>
  void advance(thread_state& s, Watch& watch, decision first = decision::none) const {
    if (context_->copies_of >= 0) {
      perform_next(s);
      return;
    }
    for (int steps = 0; steps < most_steps; ++steps) {
      if (first == decision::none && s.part == 0 && !hurries(s, watch)) {
        return;
      }
      const instruction& i = at(s);
      if (is_event(i.code) && s.part != 0) {  // the next element of a vector
        s.status = thread_status::at_event;
        return;
      }
      const decision chosen = std::exchange(first, decision::none);
      s.choosing = false;
      if (i.head && chosen == decision::none && stands_at_head(s, watch)) {
        return;
      }
      bool runs = false;
      if (!is_decided(s, i, chosen, runs)) {
        return;
      }
      const watched then = watch(static_cast<const thread_state&>(s), i, runs);
      if (then == watched::stops) {
        s.status = thread_status::undecided;
        return;
      }
      if (!runs || then == watched::skips) {
        ++s.pc;
        continue;
      }
      if (kernel().holds_registers && !use_registers(s, i)) {
        return;
      }
      switch (i.code) {
        case op::branch:
          s.pc = i.target;
          continue;
        case op::branch_index:
          if (!jump_by_index(s, i)) {
            return;
          }
          continue;
        case op::exit:
          s.status = thread_status::ended;
          return;
        case op::trap:
          s.status = thread_status::trapped;
          return;
        case op::unsupported:
          s.status = thread_status::unsupported;
          return;
        case op::nothing:
          break;
        case op::load:
        case op::store:
          if (!is_done_here(s, i)) {
            return;
          }
          break;
        default:
          if (is_event(i.code)) {
            s.status = is_undecided(s, i) ? thread_status::unknown_operand : thread_status::at_event;
            return;
          }
          execute_here(s, i);
          break;
      }
      ++s.pc;
    }
    s.status = thread_status::too_long;
  }

  /// Executes an instruction that uses only the thread's own registers.
  void execute_here(thread_state& s, const instruction& i) const noexcept {
    if (i.code == op::register_fence) {
      fence_registers(s);
    } else if (i.code == op::free_columns) {
      free_columns(s, i);
    } else if (results_are_unknown(s, i)) {
      forget(s, i);
    } else {
      registers(s, i);
    }
  }

  /// Subtracts the freed columns of tensor memory. The columns are counted only for the first lane.
  void free_columns(thread_state& s, const instruction& i) const noexcept {
    if (special_value(special::lane, *context_) == 0) {
      s.columns -= static_cast<std::int32_t>(truncated(value(s, i.by[1]), 16));
    }
  }

  /// Returns whether a load or store accessed local memory and was therefore executed here. If not, the thread stops at the
  /// instruction, which is an event or an error.
  bool is_done_here(thread_state& s, const instruction& i) const noexcept {
    s.status = is_unknown(s, i.by[0]) ? thread_status::unknown_operand : thread_status::at_event;
    return s.status == thread_status::at_event && is_local(base_address(s, i)) && access_local(s, i);
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
      std::uint8_t* const element = memory + std::size_t{e} * i.bytes;
      std::uint8_t* const state = written + std::size_t{e} * i.bytes;
      wide_value v{};
      if (i.code == op::load) {
        v = value_of_bytes(element, i.bytes);
        v.unknown = std::find(state, state + i.bytes, unknown_byte) != state + i.bytes;
        put(s, i.to[e], i.type, v);
      } else {
        v = wide_of(s, i.by[1U + e], i.type);
        const std::uint64_t both[] = {v.low, v.high};
        std::memcpy(element, both, i.bytes);
        std::memset(state, v.unknown ? unknown_byte : known_byte, i.bytes);
      }
    }
    return true;
  }

  /// The state of a byte of local memory after it was written. Before that, the state is 0.
  static constexpr std::uint8_t known_byte = 1;
  static constexpr std::uint8_t unknown_byte = 2;

  [[nodiscard]] static wide_value value_of_bytes(const std::uint8_t* from, std::size_t bytes) noexcept {
    std::uint64_t both[2] = {};
    std::memcpy(both, from, bytes);
    return {both[0], both[1]};
  }

  /// Returns whether the results of an instruction that accesses only registers are unknown.
  [[nodiscard]] bool results_are_unknown(const thread_state& s, const instruction& i) const noexcept {
    if (i.code == op::unknown_result) {
      return true;
    }
    if (i.code == op::select && !is_unknown(s, i.by[2])) {
      return is_unknown(s, i.by[(value(s, i.by[2]) & 1U) != 0 ? 0 : 1]);
    }
    return std::any_of(i.by.begin(), i.by.begin() + i.sources, [&](const source_operand& o) { return is_unknown(s, o); });
  }

  /// Makes the results of an instruction unknown.
  void forget(thread_state& s, const instruction& i) const noexcept {
    for (unsigned k = 0; k < i.destinations; ++k) {
      put(s, i.to[k], ptx_type::b64, {0, 0, true});
    }
  }

  void add_with_carry(thread_state& s, const instruction& i) const noexcept {
    const auto [sum, carry] =
        ptx::detail::compute_with_carry(i, value(s, i.by[0]), value(s, i.by[1]), value(s, i.by[2]), value(s, i.by[3]));
    put(s, i.to[0], ptx_type::b64, {sum, 0});
    if (i.destinations > 1) {
      put(s, i.to[1], ptx_type::pred, {carry, 0});
    }
  }

  void unpack(thread_state& s, const instruction& i) const noexcept {
    const unsigned bits = static_cast<unsigned>(bytes_of(i.type)) * 8 / i.destinations;
    const wide_value v = wide_of(s, i.by[0], i.type);
    for (unsigned k = 0; k < i.destinations; ++k) {
      const std::uint64_t part = (k * bits < 64 ? v.low : v.high) >> (k * bits % 64);
      put(s, i.to[k], ptx_type::b64, {truncated(part, static_cast<int>(bits)), 0});
    }
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
            v = value_of_bytes(context_->parameters.data() + at, i.bytes);
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
      case op::unpack:
        unpack(s, i);
        return;
      case op::to_generic:
      case op::from_generic: {
        const bool shared = i.space == state_space::shared;
        const std::uint64_t base = i.space == state_space::local   ? context_->local_base()
                                   : i.space == state_space::param ? context_->parameters_at
                                                                   : 0;
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
      case op::add_carrying:
      case op::subtract_carrying:
      case op::multiply_add_carrying:
        add_with_carry(s, i);
        return;
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

  /// Returns whether the token of an arrival at an mbarrier is used only for its phase: the kernel never queries the number of
  /// pending arrivals.
  [[nodiscard]] bool has_plain_tokens() const noexcept { return merges_ && !context_->registers->asks_pending; }

  const thread_context* context_;
  stack_arena* arena_;
  const kept_apart* apart_ = nullptr;  ///< null if updates are not merged
  bool merges_ = false;
};

}  // namespace membar::check
