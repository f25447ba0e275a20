// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
/// @file
/// Every execution of a program that the rules allow, one after the other.
///
/// Paths through the threads come first (a fork at each branch, compare-and-swap, unknown address and mbarrier test), then
/// reads-from, one read at a time, then barrier groups, Fence-SC orientations and, last, the least coherence orders: causality
/// does not depend on coherence, and every axiom that holds for a coherence order holds for a smaller one, so extensions of
/// the least orders are never enumerated. Values need no guessing: rf ∪ dep is acyclic, so each follows from the others.
#pragma once

#include <membar/model/axioms.hpp>
#include <membar/model/execution.hpp>
#include <membar/model/program.hpp>
#include <membar/model/relation.hpp>

#include <array>
#include <cstdint>
#include <span>

namespace membar::model {

inline constexpr int max_threads = 16;
inline constexpr int max_registers = 32;

/// What an enumeration went through.
struct statistics {
  std::uint64_t paths = 0;  ///< choices of one path through every thread
  std::uint64_t candidates =
      0;  ///< choices of reads-from, barrier groups, Fence-SC and coherence orientation that were checked
  std::uint64_t executions = 0;  ///< those of them that the rules allow
  bool cut = false;              ///< a thread wanted to jump backwards a second time; that run was left out
};

/// Enumerates the executions of a program and shows each to a visitor.
///
/// The visitor has `bool viable(const enumerator&)`, asked while reads-from is still partly chosen: false leaves out every
/// completion of the choice; and `bool accept(const enumerator&)`, called for every execution: false ends the enumeration.
/// With a `limit` other than 0 the enumeration ends with an `error` after that many steps (partial choices of reads-from and
/// candidates), so that a test that would run for hours is undecided and not a hang.
template <class Visitor, class Rules = every_rule>
class enumerator {
 public:
  constexpr enumerator(const program_view& program, Visitor& visitor, Rules rules = {}, std::uint64_t limit = 0)
      : program_(program), visitor_(&visitor), rules_(rules), limit_(limit) {}

  /// Runs to the end, or to the first `accept` that returns false. Throws `error` for a program that exceeds a limit.
  constexpr statistics run() {
    if (static_cast<int>(program_.threads.size()) > max_threads) {
      throw error("more than 16 threads");
    }
    for (const thread_view& t : program_.threads) {
      if (static_cast<int>(t.registers.size()) > max_registers) {
        throw error("a thread uses more than 32 registers");
      }
    }
    for (std::size_t i = 0; i < program_.locations.size(); ++i) {
      const location& l = program_.locations[i];
      if (l.physical == static_cast<int>(i) && l.arrivals == 0) {
        event e;
        e.location = static_cast<int>(i);
        e.address = l.address;
        e.physical = l.physical;
        e.value = constant(l.initial);
        push(e);
      }
    }
    start(0);
    return statistics_;
  }

  /// @name What a visitor sees
  /// @{
  [[nodiscard]] constexpr const program_view& program() const noexcept { return program_; }
  [[nodiscard]] constexpr std::span<const event> events() const noexcept {
    return {events_.begin(), static_cast<std::size_t>(events_.size())};
  }
  [[nodiscard]] constexpr const frame& facts() const noexcept { return frame_; }
  [[nodiscard]] constexpr const candidate& choice() const noexcept { return candidate_; }
  [[nodiscard]] constexpr const statistics& counts() const noexcept { return statistics_; }

  /// Whether a register's final value follows from the reads chosen so far.
  [[nodiscard]] constexpr bool known(int thread, int reg) const noexcept {
    return resolved(registers_[static_cast<std::size_t>(thread)][static_cast<std::size_t>(reg)]);
  }
  /// A register's final value, if it is known.
  [[nodiscard]] constexpr std::int64_t register_value(int thread, int reg) const noexcept {
    return evaluate(registers_[static_cast<std::size_t>(thread)][static_cast<std::size_t>(reg)]);
  }
  /// Whether the value that a read returns or a write stores follows from the reads chosen so far.
  [[nodiscard]] constexpr bool known(int event_index) const noexcept {
    return events_[event_index].kind == event_kind::read ? contains(known_, event_index) : resolved(events_[event_index].value);
  }
  /// The value that a read returns or a write stores, if it is known.
  [[nodiscard]] constexpr std::int64_t value(int event_index) const noexcept {
    return events_[event_index].kind == event_kind::read ? values_[static_cast<std::size_t>(event_index)]
                                                         : evaluate(events_[event_index].value);
  }
  /// The co-maximal writes of a location: any of them may give its final value.
  [[nodiscard]] constexpr event_set last_writes(int location_index) const noexcept {
    event_set result = 0;
    const int physical = program_.locations[static_cast<std::size_t>(location_index)].physical;
    for (event_set w = frame_.writes; w != 0; w = rest(w)) {
      if (events_[first(w)].physical == physical && candidate_.coherence[first(w)] == 0) {
        result |= only(first(w));
      }
    }
    return result;
  }
  /// @}

 private:
  struct thread_state {
    event_set control = 0;
    bool jumped_back = false;
  };

  struct mark {
    int events = 0;
    int expressions = 0;
    int assumptions = 0;
    std::array<int, max_registers> registers{};
  };

  // ---- expressions

  constexpr int push(const event& e) { return events_.push(e, "an execution has more than 64 events"); }

  constexpr int add(const expression& e) { return expressions_.push(e, "a test computes more than 1024 values"); }

  constexpr int constant(std::int64_t value) {
    expression e;
    e.value = value;
    return add(e);
  }

  constexpr int read_result(int event_index) {
    expression e;
    e.kind = expression::kind_t::read;
    e.left = event_index;
    e.depends = only(event_index);
    return add(e);
  }

  constexpr int combine(operation what, int left, int right) {
    if (what == operation::move) {
      return right;
    }
    expression e;
    e.kind = expression::kind_t::apply;
    e.what = what;
    e.left = left;
    e.right = right;
    e.depends = expressions_[left].depends | expressions_[right].depends;
    return add(e);
  }

  constexpr int operand_value(int thread, const operand& o) {
    return o.is_register ? registers_[static_cast<std::size_t>(thread)][static_cast<std::size_t>(o.index)] : constant(o.value);
  }

  [[nodiscard]] constexpr event_set depends(int e) const noexcept { return e < 0 ? 0 : expressions_[e].depends; }

  [[nodiscard]] constexpr bool resolved(int e) const noexcept { return (expressions_[e].depends & ~known_) == 0; }

  [[nodiscard]] constexpr std::int64_t evaluate(int index) const noexcept {
    const expression& e = expressions_[index];
    switch (e.kind) {
      case expression::kind_t::constant:
        return e.value;
      case expression::kind_t::read:
        return values_[static_cast<std::size_t>(e.left)];
      case expression::kind_t::apply:
        return apply(e.what, evaluate(e.left), evaluate(e.right));
    }
    return 0;
  }

  // ---- paths

  [[nodiscard]] constexpr mark save(int thread) const noexcept {
    return {events_.size(), expressions_.size(), assumptions_.size(), registers_[static_cast<std::size_t>(thread)]};
  }

  constexpr void restore(int thread, const mark& m) noexcept {
    events_.shrink(m.events);
    expressions_.shrink(m.expressions);
    assumptions_.shrink(m.assumptions);
    registers_[static_cast<std::size_t>(thread)] = m.registers;
  }

  constexpr void assume(comparison test, int left, int right, bool expected) {
    assumptions_.push({test, left, right, expected}, "a path has more than 128 decisions");
  }

  constexpr bool start(int thread) {
    if (thread == static_cast<int>(program_.threads.size())) {
      return choose_values();
    }
    const mark before = save(thread);
    const std::span<const std::int64_t> initial = program_.threads[static_cast<std::size_t>(thread)].registers;
    for (std::size_t r = 0; r < initial.size(); ++r) {
      registers_[static_cast<std::size_t>(thread)][r] = constant(initial[r]);
    }
    const bool more = walk(thread, 0, {});
    restore(thread, before);
    return more;
  }

  constexpr bool walk(int thread, int at, thread_state state) {
    const std::span<const instruction> code = program_.threads[static_cast<std::size_t>(thread)].code;
    while (at < static_cast<int>(code.size())) {
      const instruction& i = code[static_cast<std::size_t>(at)];
      if (i.code == opcode::jump || i.code == opcode::branch) {
        bool taken = true;
        if (i.code == opcode::branch) {
          const int left = operand_value(thread, i.a);
          const int right = operand_value(thread, i.b);
          const event_set on = depends(left) | depends(right);
          if (on == 0) {
            taken = compare(i.test, evaluate(left), evaluate(right));
          } else {
            state.control |= on;
            const mark before = save(thread);
            assume(i.test, left, right, false);
            const bool more = walk(thread, at + 1, state);
            restore(thread, before);
            if (!more) {
              return false;
            }
            assume(i.test, left, right, true);
          }
        }
        if (taken && i.target <= at) {
          if (state.jumped_back) {
            statistics_.cut = true;
            return true;
          }
          state.jumped_back = true;
        }
        at = taken ? i.target : at + 1;
        continue;
      }
      if (i.code == opcode::mbarrier_wait && i.destination >= 0) {
        const mark before = save(thread);
        set(thread, i.destination, constant(0));
        const bool more = walk(thread, at + 1, state);
        restore(thread, before);
        if (!more) {
          return false;
        }
        set(thread, i.destination, constant(1));
      }
      if (accesses_memory(i.code)) {
        if (i.indirect) {
          return walk_addresses(thread, at, state);
        }
        if (!access(thread, at, i.target, 0, state)) {
          return false;
        }
      } else {
        execute(thread, at, state);
      }
      ++at;
    }
    return start(thread + 1);
  }

  [[nodiscard]] static constexpr bool accesses_memory(opcode code) noexcept {
    return code == opcode::load || code == opcode::store || code == opcode::atomic || code == opcode::reduction;
  }

  constexpr void set(int thread, int reg, int expression_index) noexcept {
    if (reg >= 0) {
      registers_[static_cast<std::size_t>(thread)][static_cast<std::size_t>(reg)] = expression_index;
    }
  }

  // An address in a register: one path per location that it may be.
  constexpr bool walk_addresses(int thread, int at, thread_state state) {
    const instruction& i = program_.threads[static_cast<std::size_t>(thread)].code[static_cast<std::size_t>(at)];
    const int address = registers_[static_cast<std::size_t>(thread)][static_cast<std::size_t>(i.target)];
    for (std::size_t l = 0; l < program_.locations.size(); ++l) {
      if (program_.locations[l].arrivals != 0) {
        continue;
      }
      const mark before = save(thread);
      assume(comparison::equal, address, constant(address_value(static_cast<int>(l))), true);
      const bool more = access(thread, at, static_cast<int>(l), depends(address), state) && walk(thread, at + 1, state);
      restore(thread, before);
      if (!more) {
        return false;
      }
    }
    return true;
  }

  // The events of one access. A compare-and-swap first walks the path on which it fails.
  constexpr bool access(int thread, int at, int location_index, event_set addressed, const thread_state& state) {
    const instruction& i = program_.threads[static_cast<std::size_t>(thread)].code[static_cast<std::size_t>(at)];
    const location& l = program_.locations[static_cast<std::size_t>(location_index)];
    event e;
    e.thread = thread;
    e.instruction = at;
    const bool starts_vector =
        at + 1 < static_cast<int>(program_.threads[static_cast<std::size_t>(thread)].code.size()) &&
        program_.threads[static_cast<std::size_t>(thread)].code[static_cast<std::size_t>(at) + 1].element != 0;
    if (i.element == 0 && starts_vector) {
      vector_number_ = events_.size();
    }
    e.vector = i.element != 0 || starts_vector ? vector_number_ : -1;
    e.strong = i.strong;
    e.scope = i.scope;
    e.via = i.via;
    e.location = location_index;
    e.address = l.address;
    e.physical = l.physical;
    e.bytes = i.bytes;
    e.addressed = addressed;
    e.control = state.control;
    const bool acquires =
        i.order == memory_order::acquire || i.order == memory_order::acq_rel || i.order == memory_order::seq_cst;
    const bool releases =
        i.order == memory_order::release || i.order == memory_order::acq_rel || i.order == memory_order::seq_cst;
    if (i.code == opcode::store) {
      e.kind = event_kind::write;
      e.releases = i.strong && releases;
      e.value = operand_value(thread, i.a);
      e.data = depends(e.value);
      push(e);
      return true;
    }
    e.kind = event_kind::read;
    e.acquires = i.strong && acquires;
    e.reduction = i.code == opcode::reduction;
    const int read = push(e);
    const int old = read_result(read);
    if (i.code == opcode::load) {
      set(thread, i.destination, old);
      return true;
    }
    event w = e;
    w.kind = event_kind::write;
    w.acquires = false;
    w.releases = i.strong && releases;
    w.partner = read;
    if (i.what == operation::compare_exchange) {
      const int expected = operand_value(thread, i.a);
      const int desired = operand_value(thread, i.b);
      const mark before = save(thread);
      if (rules_.holds(rule::failed_compare_writes_nothing)) {
        assume(comparison::equal, old, expected, false);
        set(thread, i.destination, old);
        const bool more = walk(thread, at + 1, state);
        restore(thread, before);
        if (!more) {
          return false;
        }
        assume(comparison::equal, old, expected, true);
      }
      w.value = desired;
      w.data = depends(expected) | depends(desired);
    } else {
      const int by = operand_value(thread, i.a);
      w.value = combine(i.what, old, by);
      w.data = depends(by);
    }
    set(thread, i.destination, old);
    events_[read].partner = push(w);
    return true;
  }

  // Instructions that access no memory.
  constexpr void execute(int thread, int at, const thread_state& state) {
    const instruction& i = program_.threads[static_cast<std::size_t>(thread)].code[static_cast<std::size_t>(at)];
    if (i.code == opcode::compute) {
      set(thread, i.destination, combine(i.what, operand_value(thread, i.a), operand_value(thread, i.b)));
      return;
    }
    event e;
    e.thread = thread;
    e.instruction = at;
    e.scope = i.scope;
    e.control = state.control;
    const bool acquires =
        i.order == memory_order::acquire || i.order == memory_order::acq_rel || i.order == memory_order::seq_cst;
    const bool releases =
        i.order == memory_order::release || i.order == memory_order::acq_rel || i.order == memory_order::seq_cst;
    switch (i.code) {
      case opcode::fence:
        e.kind = event_kind::fence;
        e.strong = true;
        e.acquires = acquires;
        e.releases = releases;
        e.sequential = i.order == memory_order::seq_cst;
        break;
      case opcode::proxy_fence:
        e.kind = event_kind::proxy_fence;
        e.via = i.via;
        break;
      default:
        e.kind = event_kind::barrier;
        e.barrier = i.barrier;
        e.mbarrier = i.code != opcode::barrier;
        e.location = e.mbarrier ? i.target : -1;
        e.arrives = i.arrives;
        e.waits = i.waits;
        e.acquires = acquires;
        e.releases = releases;
        e.id = operand_value(thread, i.a);
        e.resource = operand_value(thread, i.b);
        e.quorum = i.has_quorum ? operand_value(thread, i.c) : -1;
        break;
    }
    push(e);
  }

  // ---- reads-from

  constexpr bool choose_values() {
    ++statistics_.paths;
    build_frame(frame_, rules_, program_, events());
    known_ = 0;
    if (frame_.has_dependencies) {
      flow_ = frame_.dependency;
      flow_.close(frame_.count);
    }
    reads_.shrink(0);
    for (event_set s = frame_.reads; s != 0; s = rest(s)) {
      const int read = first(s);
      event_set sources = frame_.writes & frame_.overlap[read];
      if constexpr (Rules::complete) {
        sources &= ~hopeless_sources(read);
      }
      sources_[static_cast<std::size_t>(read)] = sources;
      reads_.push(read, "an execution has more than 64 events");
    }
    find_rivals();
    for (int i = 0; i < frame_.count; ++i) {
      candidate_.observation[i] = 0;
      candidate_.cause[i] = 0;
      candidate_.coherence[i] = 0;
      candidate_.barrier_sync[i] = 0;
      candidate_.fence_sc[i] = 0;
    }
    sc_pairs_.shrink(0);
    write_pairs_.shrink(0);
    for (int i = 0; i < frame_.count; ++i) {
      for (int j = i + 1; j < frame_.count; ++j) {
        const event& x = events_[i];
        const event& y = events_[j];
        if (x.sequential && y.sequential && x.kind == event_kind::fence && y.kind == event_kind::fence &&
            (frame_.morally_strong.holds(i, j) || !rules_.holds(rule::fence_sc_relates_morally_strong_pairs_only)) &&
            rules_.holds(rule::fence_sc_synchronizes)) {
          sc_pairs_.push({i, j}, "an execution has more than 256 pairs of morally strong fence.sc");
        }
        const bool ordered = frame_.morally_strong.holds(i, j) && rules_.holds(rule::morally_strong_writes_are_ordered);
        const bool racing = frame_.overlap.holds(i, j) && !rules_.holds(rule::coherence_is_partial);
        if (contains(frame_.writes, i) && contains(frame_.writes, j) && x.thread >= 0 && (ordered || racing)) {
          write_pairs_.push({i, j}, "an execution has more than 1024 pairs of morally strong writes");
        }
      }
    }
    return viable_so_far() ? assign(0) : true;
  }

  // Writes that axiom Causality keeps a read from, whatever else is chosen: later ones of its own thread, and those that an
  // access of its own thread to the same address overwrites in between.
  [[nodiscard]] constexpr event_set hopeless_sources(int read) const noexcept {
    event_set result = 0;
    event_set before = 0;
    const event_set mine = frame_.same_address[read] & frame_.writes & ~frame_.initial;
    for (event_set w = mine; w != 0; w = rest(w)) {
      const bool related = events_[first(w)].via == events_[read].via;
      if (related && frame_.po.holds(read, first(w))) {
        result |= only(first(w));
      }
      if (related && frame_.po.holds(first(w), read)) {
        before |= only(first(w));
      }
    }
    if (before != 0) {
      result |= frame_.initial;
      for (event_set w = before; w != 0; w = rest(w)) {
        if ((frame_.po[first(w)] & before) != 0) {
          result |= only(first(w));
        }
      }
    }
    return result;
  }

  // Two morally strong updates of one value: axiom Atomicity forbids them whichever of the writes comes first. Says for each
  // update which others that goes for, if both read the same write and are morally strong with it.
  constexpr void find_rivals() noexcept {
    for (event_set s = frame_.reads; s != 0; s = rest(s)) {
      const int read = first(s);
      const int write = events_[read].partner;
      event_set rivals = 0;
      for (event_set t = write < 0 ? 0 : frame_.reads & frame_.overlap[read] & ~only(read); t != 0; t = rest(t)) {
        const int other = first(t);
        const int other_write = events_[other].partner;
        if (other_write >= 0 && frame_.morally_strong.holds(write, other_write) &&
            frame_.morally_strong.holds(read, other_write) && frame_.morally_strong.holds(other, write) &&
            frame_.same_address.holds(read, write) && frame_.same_address.holds(other, other_write)) {
          rivals |= only(other);
        }
      }
      rivals_[static_cast<std::size_t>(read)] = rivals;
    }
    for (event_set s = frame_.writes; s != 0; s = rest(s)) {
      readers_[first(s)] = 0;
    }
  }

  [[nodiscard]] constexpr bool rival_reads(int read, int source) const noexcept {
    event_set others = readers_[source] & rivals_[static_cast<std::size_t>(read)];
    if (others != 0 && !contains(frame_.initial, source)) {
      others = frame_.morally_strong.holds(source, read) ? others & frame_.morally_strong[source] : 0;
    }
    return others != 0;
  }

  constexpr void count_step() {
    ++steps_;
    if (limit_ != 0 && steps_ > limit_) {
      throw error("undecided: the search was given up after its limit of steps");
    }
  }

  constexpr bool assign(int depth) {
    count_step();
    if (depth == reads_.size()) {
      return known_ == frame_.reads || resolve_cycles() ? complete() : true;
    }
    const int read = reads_[depth];
    for (event_set s = sources_[static_cast<std::size_t>(read)]; s != 0; s = rest(s)) {
      const int source = first(s);
      if constexpr (Rules::complete) {
        if (rival_reads(read, source)) {
          continue;
        }
      }
      if (!frame_.has_dependencies) {
        if (!assign_source(depth, read, source)) {
          return false;
        }
        continue;
      }
      // axiom No-Thin-Air: acyclic(rf ∪ dep)
      if (rules_.holds(rule::axiom_no_thin_air) && flow_.holds(read, source)) {
        continue;
      }
      if (flow_[read] == 0 || flow_.holds(source, read)) {  // no path goes on from the read, or the edge adds none
        if (!assign_source(depth, read, source)) {
          return false;
        }
        continue;
      }
      relation& before = flows_[static_cast<std::size_t>(depth)];
      before.copy(flow_, frame_.count);
      flow_.add_closed(frame_.count, source, read);
      const bool more = assign_source(depth, read, source);
      flow_.copy(before, frame_.count);
      if (!more) {
        return false;
      }
    }
    return true;
  }

  constexpr bool assign_source(int depth, int read, int source) {
    const event_set known = known_;
    candidate_.source[static_cast<std::size_t>(read)] = source;
    assigned_ |= only(read);
    readers_.add(source, read);
    propagate();
    const bool more = viable_so_far() ? assign(depth + 1) : true;
    assigned_ &= ~only(read);
    readers_[source] &= ~only(read);
    known_ = known;
    return more;
  }

  // Finds the values that follow from the reads chosen so far.
  constexpr void propagate() noexcept {
    for (bool changed = true; changed;) {
      changed = false;
      for (event_set s = assigned_ & ~known_; s != 0; s = rest(s)) {
        const int read = first(s);
        const int stored = events_[candidate_.source[static_cast<std::size_t>(read)]].value;
        if (resolved(stored)) {
          values_[static_cast<std::size_t>(read)] = narrowed(read, evaluate(stored));
          known_ |= only(read);
          changed = true;
        }
      }
    }
  }

  // A read that is narrower than the write sees its low bytes.
  [[nodiscard]] constexpr std::int64_t narrowed(int read, std::int64_t stored) const noexcept {
    const int bytes = events_[read].bytes;
    if (bytes >= 8 || bytes >= events_[candidate_.source[static_cast<std::size_t>(read)]].bytes) {
      return stored;
    }
    return static_cast<std::int64_t>(static_cast<std::uint64_t>(stored) &
                                     ((std::uint64_t{1} << (8 * static_cast<unsigned>(bytes))) - 1));
  }

  // Only for rule sets without No-Thin-Air or a dependency: values that depend on themselves, if iteration from 0 finds them.
  constexpr bool resolve_cycles() noexcept {
    if constexpr (Rules::complete) {
      return false;
    } else {
      const event_set open = frame_.reads & ~known_;
      for (event_set s = open; s != 0; s = rest(s)) {
        values_[static_cast<std::size_t>(first(s))] = 0;
      }
      for (int round = 0; round < max_events; ++round) {
        bool changed = false;
        for (event_set s = open; s != 0; s = rest(s)) {
          const int read = first(s);
          const std::int64_t next = narrowed(read, evaluate(events_[candidate_.source[static_cast<std::size_t>(read)]].value));
          changed = changed || next != values_[static_cast<std::size_t>(read)];
          values_[static_cast<std::size_t>(read)] = next;
        }
        if (!changed) {
          known_ = frame_.reads;
          return viable_so_far();
        }
      }
      return false;
    }
  }

  [[nodiscard]] constexpr bool viable_so_far() const {
    for (const assumption& a : assumptions_) {
      if (resolved(a.left) && resolved(a.right) && compare(a.test, evaluate(a.left), evaluate(a.right)) != a.expected) {
        return false;
      }
    }
    return visitor_->viable(*this);
  }

  // ---- one choice of reads-from

  constexpr bool complete() {
    observe(candidate_, rules_, frame_, events());
    synchronize(candidate_, rules_, frame_);
    if (frame_.barriers == 0) {
      return orient_fences(0);
    }
    for (int i = 0; i < frame_.count; ++i) {
      candidate_.barrier_sync[i] = 0;
    }
    waiting_ = relation{};
    return meet(frame_.barriers);
  }

  // ---- barriers

  [[nodiscard]] constexpr std::int64_t number(int expression_index) const noexcept {
    return expression_index < 0 ? -1 : evaluate(expression_index);
  }

  // Whether two barrier events are on one barrier.
  [[nodiscard]] constexpr bool one_barrier(int x_index, int y_index) const noexcept {
    const event& x = events_[x_index];
    const event& y = events_[y_index];
    if (x.mbarrier || y.mbarrier) {
      return x.mbarrier && y.mbarrier &&
             program_.locations[static_cast<std::size_t>(x.location)].physical ==
                 program_.locations[static_cast<std::size_t>(y.location)].physical;
    }
    const place& here = program_.threads[static_cast<std::size_t>(x.thread)].where;
    const place& there = program_.threads[static_cast<std::size_t>(y.thread)].where;
    if (x.barrier != y.barrier) {
      return false;
    }
    if (x.barrier == barrier_kind::cluster) {
      return same_cluster(here, there);
    }
    const bool block = same_block(here, there) || !rules_.holds(rule::barrier_is_of_one_block);
    return block && number(x.id) == number(y.id) && number(x.resource) == number(y.resource) &&
           (x.barrier == barrier_kind::block || here.warp == there.warp);
  }

  // How many events of `thread` in `set` come before `index`.
  [[nodiscard]] constexpr int generation(event_set set, int index) const noexcept {
    int result = 0;
    for (event_set s = set; s != 0; s = rest(s)) {
      result += first(s) < index && events_[first(s)].thread == events_[index].thread ? 1 : 0;
    }
    return result;
  }

  // Lets `arrivals` meet: they synchronize with `waits`, which do not go on before all have arrived.
  constexpr void join(event_set arrivals, event_set waits) noexcept {
    for (event_set a = arrivals; a != 0; a = rest(a)) {
      const int arrival = first(a);
      const event& e = events_[arrival];
      bool synchronizes = rules_.holds(e.mbarrier                         ? rule::mbarrier_synchronizes
                                       : e.barrier == barrier_kind::block ? rule::block_barrier_synchronizes
                                       : e.barrier == barrier_kind::warp  ? rule::warp_barrier_synchronizes
                                                                          : rule::cluster_barrier_synchronizes);
      if (e.mbarrier || e.barrier == barrier_kind::cluster) {
        synchronizes = synchronizes && (e.releases || !rules_.holds(rule::relaxed_arrival_releases_nothing));
      }
      event_set receivers = waits & ~only(arrival);
      if (!rules_.holds(rule::arrival_receives_nothing) && e.barrier == barrier_kind::block && !e.mbarrier) {
        receivers |= arrivals & ~only(arrival);
      }
      for (event_set w = receivers; w != 0; w = rest(w)) {
        const event& r = events_[first(w)];
        const bool scoped =
            !e.mbarrier || e.thread == r.thread ||
            (r.acquires && includes(rules_, e.scope, where(e), where(r)) && includes(rules_, r.scope, where(r), where(e)));
        if (synchronizes && scoped) {
          candidate_.barrier_sync.add(arrival, first(w));
        }
      }
      for (event_set earlier = frame_.barriers; earlier != 0; earlier = rest(earlier)) {
        if (events_[first(earlier)].waits && frame_.po.holds(first(earlier), arrival)) {
          waiting_[first(earlier)] |= waits;
        }
      }
    }
  }

  [[nodiscard]] constexpr const place& where(const event& e) const noexcept {
    return program_.threads[static_cast<std::size_t>(e.thread)].where;
  }

  // Groups the barrier events in `open`, in every way, barrier by barrier.
  constexpr bool meet(event_set open) {
    if (open == 0) {
      return all_met();
    }
    event_set same = only(first(open));
    for (event_set s = open; s != 0; s = rest(s)) {
      same |= one_barrier(first(open), first(s)) ? only(first(s)) : 0;
    }
    const event& e = events_[first(open)];
    if (e.mbarrier) {
      return meet_phase(open & ~same, same, 0);
    }
    event_set counted = 0;
    int quorum = 0;
    for (event_set s = same; s != 0; s = rest(s)) {
      if (events_[first(s)].quorum >= 0) {
        counted |= only(first(s));
        quorum = static_cast<int>(number(events_[first(s)].quorum));
      }
    }
    if (e.barrier == barrier_kind::block && counted != 0) {
      return meet_counted(open & ~same, same, 0, quorum, false);
    }
    // whoever comes: the n-th arrivals of all threads meet
    const relation sync = candidate_.barrier_sync;
    const relation waiting = waiting_;
    bool everybody = true;
    event_set arrivals = 0;
    event_set waits = 0;
    for (event_set s = same; s != 0; s = rest(s)) {
      arrivals |= events_[first(s)].arrives ? only(first(s)) : 0;
      waits |= events_[first(s)].waits ? only(first(s)) : 0;
    }
    for (int n = 0; n < max_events; ++n) {
      event_set now_arrive = 0;
      event_set now_wait = 0;
      for (event_set s = arrivals; s != 0; s = rest(s)) {
        now_arrive |= generation(arrivals, first(s)) == n ? only(first(s)) : 0;
      }
      for (event_set s = waits; s != 0; s = rest(s)) {
        // bar.sync arrives and waits in one: it belongs to the generation of its arrival
        const int own = events_[first(s)].arrives ? generation(arrivals, first(s)) : generation(waits, first(s));
        now_wait |= own == n ? only(first(s)) : 0;
      }
      if ((now_arrive | now_wait) == 0) {
        break;
      }
      if (e.barrier == barrier_kind::warp) {
        everybody = everybody && all_lanes(now_arrive);
      }
      join(now_arrive, now_wait);
    }
    const bool more = everybody || !rules_.holds(rule::waiting_ends) ? meet(open & ~same) : true;
    candidate_.barrier_sync = sync;
    waiting_ = waiting;
    return more;
  }

  // Whether every thread of the warp whose lane the mask names has arrived. Lanes count a warp's threads in the test's order.
  [[nodiscard]] constexpr bool all_lanes(event_set arrivals) const noexcept {
    const event& e = events_[first(arrivals)];
    const auto mask = static_cast<std::uint64_t>(number(e.id));
    int lane = 0;
    for (std::size_t t = 0; t < program_.threads.size(); ++t) {
      const place& there = program_.threads[t].where;
      if (same_block(where(e), there) && where(e).warp == there.warp) {
        bool arrived = false;
        for (event_set s = arrivals; s != 0; s = rest(s)) {
          arrived = arrived || events_[first(s)].thread == static_cast<int>(t);
        }
        if (((mask >> static_cast<unsigned>(lane)) & 1U) != 0 && !arrived) {
          return false;
        }
        ++lane;
      }
    }
    return true;
  }

  // A barrier with a count: every choice of that many arrivals, from different threads, meets. A thread beyond the last full
  // group stays at the barrier: it waits forever if it has anything left to do there, or if no group is full at all.
  constexpr bool meet_counted(event_set open, event_set left, event_set spare, int quorum, bool any) {
    if (left == 0) {
      bool stuck = false;
      for (event_set s = spare; s != 0; s = rest(s)) {
        stuck = stuck || (events_[first(s)].waits && (!any || !is_last(events_[first(s)])));
      }
      if (threads_of(spare) >= quorum || stuck) {
        return rules_.holds(rule::waiting_ends) ? true : meet(open);
      }
      return meet(open);
    }
    const int one = first(left);
    if (!choose_group(open, rest(left), spare, quorum, only(one), left & ~only(one))) {
      return false;
    }
    return meet_counted(open, rest(left), spare | only(one), quorum, any);
  }

  // Whether nothing comes after the event in its thread.
  [[nodiscard]] constexpr bool is_last(const event& e) const noexcept {
    return static_cast<std::size_t>(e.instruction) + 1 == program_.threads[static_cast<std::size_t>(e.thread)].code.size();
  }

  constexpr bool choose_group(event_set open, event_set from, event_set spare, int quorum, event_set group, event_set left) {
    if (std::popcount(group) == quorum) {
      const relation sync = candidate_.barrier_sync;
      const relation waiting = waiting_;
      event_set waits = 0;
      for (event_set s = group; s != 0; s = rest(s)) {
        waits |= events_[first(s)].waits ? only(first(s)) : 0;
      }
      // a thread left over has not gone on to a later group
      bool orderly = true;
      for (event_set s = spare; s != 0; s = rest(s)) {
        orderly = orderly && (frame_.po[first(s)] & group) == 0;
      }
      join(group, waits);
      const bool more = orderly ? meet_counted(open, left, spare, quorum, true) : true;
      candidate_.barrier_sync = sync;
      waiting_ = waiting;
      return more;
    }
    for (event_set s = from; s != 0; s = rest(s)) {
      const int next = first(s);
      bool fresh = true;
      for (event_set g = group; g != 0; g = rest(g)) {
        fresh = fresh && events_[first(g)].thread != events_[next].thread;
      }
      if (fresh && !choose_group(open, rest(s), spare, quorum, group | only(next), left & ~only(next))) {
        return false;
      }
    }
    return true;
  }

  [[nodiscard]] constexpr int threads_of(event_set set) const noexcept {
    std::uint64_t threads = 0;
    for (event_set s = set; s != 0; s = rest(s)) {
      threads |= std::uint64_t{1} << static_cast<unsigned>(events_[first(s)].thread);
    }
    return std::popcount(threads);
  }

  // An mbarrier: phases of the expected number of arrivals, in every order that program order allows.
  constexpr bool meet_phase(event_set open, event_set left, int phase) {
    event_set arrivals = 0;
    event_set waits = 0;
    for (event_set s = left; s != 0; s = rest(s)) {
      const event& e = events_[first(s)];
      arrivals |= e.arrives ? only(first(s)) : 0;
      waits |= e.waits && number(e.id) == phase ? only(first(s)) : 0;
    }
    const int expected = program_.locations[static_cast<std::size_t>(events_[first(left)].location)].arrivals;
    if (std::popcount(arrivals) < expected) {
      const bool stuck = (left & ~arrivals) != 0 && rules_.holds(rule::waiting_ends);
      return stuck ? true : meet(open);
    }
    return choose_phase(open, left, phase, arrivals, 0, waits, expected);
  }

  constexpr bool choose_phase(event_set open, event_set left, int phase, event_set from, event_set group, event_set waits,
                              int expected) {
    if (std::popcount(group) == expected) {
      for (event_set s = left; s != 0; s = rest(s)) {
        if (events_[first(s)].arrives && !contains(group, first(s)) && (frame_.po[first(s)] & group) != 0) {
          return true;  // an earlier arrival of the same thread is in no later phase
        }
      }
      const relation sync = candidate_.barrier_sync;
      const relation waiting = waiting_;
      join(group, waits);
      const event_set remaining = left & ~group & ~waits;
      const bool more = remaining == 0 ? meet(open) : meet_phase(open, remaining, phase + 1);
      candidate_.barrier_sync = sync;
      waiting_ = waiting;
      return more;
    }
    for (event_set s = from; s != 0; s = rest(s)) {
      if (!choose_phase(open, left, phase, rest(s), group | only(first(s)), waits, expected)) {
        return false;
      }
    }
    return true;
  }

  // Every barrier has its groups. An execution in which threads wait for each other in a circle is none.
  constexpr bool all_met() {
    if (rules_.holds(rule::waiting_ends) && !waiting_.acyclic(frame_.barriers)) {
      return true;
    }
    const relation base = candidate_.base;
    for (event_set s = frame_.barriers; s != 0; s = rest(s)) {
      for (event_set t = candidate_.barrier_sync[first(s)]; t != 0; t = rest(t)) {
        if (!candidate_.base.holds(first(s), first(t))) {
          candidate_.base.add_closed(frame_.count, first(s), first(t));
        }
      }
    }
    const bool more = orient_fences(0);
    candidate_.base = base;
    return more;
  }

  // ---- Fence-SC

  // Fence-SC order: an acyclic order that relates every morally strong pair of fence.sc. A pair that base causality orders
  // has one orientation, by axiom Fence-SC: irreflexive(fence_sc ; base).
  constexpr bool orient_fences(int next) {
    if (next == sc_pairs_.size()) {
      return causes();
    }
    const auto [x, y] = sc_pairs_[next];
    const bool checked = rules_.holds(rule::axiom_fence_sc);
    for (int way = 0; way < 2; ++way) {
      const int from = way == 0 ? x : y;
      const int to = way == 0 ? y : x;
      if (checked && candidate_.base.holds(to, from)) {
        continue;
      }
      bool more = true;
      candidate_.fence_sc.add(from, to);
      if (candidate_.base.holds(from, to)) {
        more = orient_fences(next + 1);
      } else {
        relation base;
        base.copy(candidate_.base, frame_.count);
        candidate_.base.add_closed(frame_.count, from, to);
        more = orient_fences(next + 1);
        candidate_.base.copy(base, frame_.count);
      }
      candidate_.fence_sc[from] &= ~only(to);
      if (!more) {
        return false;
      }
    }
    return true;
  }

  // ---- causality and coherence

  constexpr bool causes() {
    relate_causes(candidate_, rules_, frame_, events());
    if (!reads_not_from_effects(candidate_, rules_, frame_) || !cohere(candidate_, rules_, frame_)) {
      ++statistics_.candidates;
      return true;
    }
    return orient_writes(0);
  }

  constexpr bool orient_writes(int next) {
    while (next < write_pairs_.size()) {
      const auto [a, b] = write_pairs_[next];
      if (!candidate_.coherence.holds(a, b) && !candidate_.coherence.holds(b, a)) {
        break;
      }
      ++next;
    }
    if (next == write_pairs_.size()) {
      return check();
    }
    const auto [x, y] = write_pairs_[next];
    relation coherence;
    coherence.copy(candidate_.coherence, frame_.count);
    for (int way = 0; way < 2; ++way) {
      if (rules_.holds(rule::coherence_is_transitive)) {
        candidate_.coherence.add_closed(frame_.count, way == 0 ? x : y, way == 0 ? y : x);
      } else {
        candidate_.coherence.add(way == 0 ? x : y, way == 0 ? y : x);
      }
      const bool more = orient_writes(next + 1);
      candidate_.coherence.copy(coherence, frame_.count);
      if (!more) {
        return false;
      }
    }
    return true;
  }

  constexpr bool check() {
    ++statistics_.candidates;
    count_step();
    if (!reads_not_from_the_past(candidate_, rules_, frame_) || !updates_are_atomic(candidate_, rules_, frame_, events()) ||
        !sequential_per_location(candidate_, rules_, frame_)) {
      return true;
    }
    ++statistics_.executions;
    return visitor_->accept(*this);
  }

  struct pair {
    int first = 0;
    int second = 0;
  };

  program_view program_;
  Visitor* visitor_;
  [[no_unique_address]] Rules rules_;
  std::uint64_t limit_ = 0;
  std::uint64_t steps_ = 0;

  bounded<event, max_events> events_{};
  bounded<expression, 1024> expressions_{};
  bounded<assumption, 128> assumptions_{};
  std::array<std::array<int, max_registers>, max_threads> registers_{};
  int vector_number_ = -1;

  frame frame_{};
  bounded<int, max_events> reads_{};
  std::array<event_set, max_events> sources_{};
  bounded<pair, 256> sc_pairs_{};
  bounded<pair, 1024> write_pairs_{};
  relation flow_{};  ///< closure of dependencies and the reads-from chosen so far
  std::array<relation, max_events> flows_{};
  std::array<event_set, max_events> rivals_{};
  relation readers_{};  ///< write -> reads that take their value from it so far
  event_set known_ = 0;
  event_set assigned_ = 0;
  std::array<std::int64_t, max_events> values_{};

  candidate candidate_{};
  relation waiting_{};
  statistics statistics_{};
};

}  // namespace membar::model
