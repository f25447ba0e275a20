// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
/// @file
/// Enumerates every path through the threads of a program, as events. A path forks at each branch, compare-and-swap, unknown
/// address and mbarrier test.
#pragma once

#include <membar/model/array.hpp>
#include <membar/model/error.hpp>
#include <membar/model/execution.hpp>
#include <membar/model/path_values.hpp>
#include <membar/model/program.hpp>
#include <membar/model/relation.hpp>
#include <membar/model/shuffles.hpp>
#include <membar/model/waiting_loops.hpp>

#include <array>
#include <cstdint>
#include <span>

namespace membar {
inline namespace v0_3 {
namespace model {

/// Whether paths include an iteration of a loop that only waits (waiting_loops.hpp). Such an iteration changes no final state,
/// but it may race.
enum class waits : std::uint8_t { left_at_once, repeated_once };

/// A loop that was cut: a thread reached a second backward jump, and the loop does more than wait. Longer runs were omitted.
struct cut_loop {
  int thread = -1;  ///< -1 if no loop was cut
  int line = 0;     ///< the jump's line in the text from which the test was read
};

/// Walks all paths. A path assumes an outcome for each fork. The assumptions are checked once the values are known.
class thread_paths : public path_values {
 protected:
  /// With `failed_compare_writes`, a failed compare-and-swap writes. With `one_address`, a multimem address is the same as the
  /// addresses of its objects. Both are set only if a rule is switched off.
  constexpr thread_paths(const program_view& program, bool failed_compare_writes, bool one_address, waits waiting)
      : path_values(program), failed_compare_writes_(failed_compare_writes), one_address_(one_address), waiting_(waiting) {}
  ~thread_paths() = default;

  /// Called for every combination of paths, one through each thread. If it returns false, the walk ends.
  virtual constexpr bool path_chosen() = 0;

  /// Walks all paths, or stops when `path_chosen` returns false. Throws `error` for a program that exceeds a limit.
  constexpr void walk_paths() {
    for (const thread_view& t : program_.threads) {
      if (count_of(t.registers) > max_registers) {
        throw error("a thread uses more than 32 registers");
      }
    }
    for (int i = 0; i < count_of(program_.locations); ++i) {
      const location& l = at(program_.locations, i);
      if (l.physical == i && l.arrivals == 0) {
        event e;
        e.location = i;
        e.address = l.address;
        e.physical = l.physical;
        e.value = constant(l.initial);
        push(e);
      }
    }
    start(0);
  }

  /// The first loop that was cut.
  [[nodiscard]] constexpr const cut_loop& cut() const noexcept { return cut_; }

 private:
  struct thread_state {
    event_set control = 0;
    int guard = -1;            ///< the expression of the current instruction's predicate, or -1 for none
    bool jumped_back = false;  ///< whether the path is in a loop that does more than wait
    bool waited = false;       ///< whether the path is in a loop that only waits
    int head = 0;              ///< the instruction where the thread started, or the target of its last jump back
    int events = 0;            ///< the number of events at that point
  };

  struct mark {
    int events = 0;
    int expressions = 0;
    int assumptions = 0;
    std::array<int, max_registers> registers{};
  };

  // ---- registers

  // Sets the result of an instruction. Its dependencies include the dependencies of the instruction's predicate.
  constexpr void set(int thread, int reg, int expression_index, const thread_state& state) {
    if (reg >= 0) {
      at(at(registers_, thread), reg) = guarded(expression_index, state);
    }
  }

  // Returns a value that also depends on the predicate of the current instruction.
  constexpr int guarded(int expression_index, const thread_state& state) {
    if (depends(state.guard) == 0) {
      return expression_index;
    }
    expression e = expressions_[expression_index];
    e.depends |= depends(state.guard);
    return add(e);
  }

  // ---- paths

  [[nodiscard]] constexpr mark save(int thread) const noexcept {
    return {events_.size(), expressions_.size(), assumptions_.size(), at(registers_, thread)};
  }

  constexpr void restore(int thread, const mark& m) noexcept {
    events_.shrink(m.events);
    expressions_.shrink(m.expressions);
    assumptions_.shrink(m.assumptions);
    at(registers_, thread) = m.registers;
  }

  [[nodiscard]] constexpr std::span<const instruction> code(int thread) const noexcept { return program_.threads[thread].code; }

  constexpr bool start(int thread) {
    if (thread == program_.threads.size()) {
      return path_chosen();
    }
    const std::span<const std::int64_t> initial = program_.threads[thread].registers;
    for (int r = 0; r < count_of(initial); ++r) {
      at(at(registers_, thread), r) = constant(at(initial, r));
    }
    thread_state state;
    state.events = events_.size();
    return walk(thread, 0, state);
  }

  // Continues the walk at instruction `next`.
  constexpr bool walk(int thread, int next, thread_state state) {
    while (next < count_of(code(thread))) {
      const instruction& i = at(code(thread), next);
      state.guard = -1;
      if (i.guard >= 0) {
        state.guard = at(at(registers_, thread), i.guard);
        bool holds = !i.guard_negated;
        if (depends(state.guard) == 0) {
          holds = evaluate(state.guard) != 0;
        } else {
          if (!walk_without(thread, next, state)) {
            return false;
          }
          if (!assume(comparison::not_equal, state.guard, constant(0), !i.guard_negated)) {
            return true;
          }
        }
        if (holds == i.guard_negated) {
          ++next;
          continue;
        }
      }
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
            const bool more = !assume(i.test, left, right, false) || walk(thread, next + 1, state);
            restore(thread, before);
            if (!more) {
              return false;
            }
            if (!assume(i.test, left, right, true)) {
              return true;
            }
          }
        }
        if (taken && i.target <= next && !jump_back(thread, next, state)) {
          return true;
        }
        next = taken ? i.target : next + 1;
        continue;
      }
      if (i.code == opcode::mbarrier_wait && i.destination >= 0) {
        const mark before = save(thread);
        set(thread, i.destination, constant(0), state);
        const bool more = walk(thread, next + 1, state);
        restore(thread, before);
        if (!more) {
          return false;
        }
        set(thread, i.destination, constant(1), state);
      }
      if (i.tensor_map >= 0) {
        return walk_tensor_map(thread, next, state);
      }
      if (accesses_memory(i.code)) {
        if (i.indirect) {
          return walk_addresses(thread, next, state);
        }
        if (!access(thread, next, i.target, 0, state)) {
          return false;
        }
      } else {
        execute(thread, next, state);
      }
      ++next;
    }
    return start(thread + 1);
  }

  // Continues on the path where the predicate of instruction `next` does not hold.
  constexpr bool walk_without(int thread, int next, const thread_state& state) {
    const instruction& i = at(code(thread), next);
    const mark before = save(thread);
    bool more = true;
    if (assume(comparison::not_equal, state.guard, constant(0), i.guard_negated)) {
      set(thread, i.destination, i.destination < 0 ? -1 : at(at(registers_, thread), i.destination), state);
      set(thread, i.predicate, i.predicate < 0 ? -1 : at(at(registers_, thread), i.predicate), state);
      more = walk(thread, next + 1, state);
    }
    restore(thread, before);
    return more;
  }

  // Returns whether the path continues with the backward jump at instruction `back`.
  [[nodiscard]] constexpr bool jump_back(int thread, int back, thread_state& state) {
    const instruction& i = at(code(thread), back);
    if (only_waits(thread, back, state)) {
      if (waiting_ == waits::left_at_once || state.waited) {
        return false;  // another path leads to the same final states
      }
      state.waited = true;
    } else if (state.jumped_back) {
      if (cut_.thread < 0) {
        cut_ = {thread, i.line};
      }
      return false;
    } else {
      state.jumped_back = true;
    }
    state.head = i.target;
    state.events = events_.size();
    return true;
  }

  // Returns whether the iteration that ends with the jump at instruction `back` only waited, as waiting_loops.hpp defines it.
  [[nodiscard]] constexpr bool only_waits(int thread, int back, const thread_state& state) {
    const int head = at(code(thread), back).target;
    if (head < state.head) {
      return false;  // this run of the thread's instructions began after the loop's head
    }
    const waiting_loops loops(program_);
    for (int n = state.events; n < events_.size(); ++n) {
      const event& e = events_[n];
      // an instruction that starts asynchronous operations also has their events
      const bool starts = e.kind == event_kind::commit || e.kind == event_kind::group_wait;
      if (e.instruction >= head && (starts || e.kind == event_kind::barrier || e.kind == event_kind::shuffle_write ||
                                    (e.kind == event_kind::write && (e.partner < 0 || !keeps_value(loops, n))))) {
        return false;
      }
    }
    return loops.repeats_itself(thread, back, head);
  }

  // Returns whether a read-modify-write leaves the value unchanged, given every value that its memory may hold and that the
  // path allows.
  [[nodiscard]] constexpr bool keeps_value(const waiting_loops& loops, int write_index) {
    const event& write = events_[write_index];
    const auto values = loops.values_of(write.physical);
    if (values.size() == 0 || !loops.is_coherent(write.physical)) {
      return false;
    }
    for (const std::int64_t old : values) {
      at(values_, write.partner) = old;
      bool possible = true;
      for (const assumption& a : assumptions_) {
        if ((depends(a.left) | depends(a.right)) == only(write.partner)) {
          possible = possible && compare(a.test, evaluate(a.left), evaluate(a.right)) == a.expected;
        }
      }
      if (possible && evaluate(write.value) != old) {
        return false;
      }
    }
    return true;
  }

  // Handles an address in a register, with one path per possible location.
  constexpr bool walk_addresses(int thread, int index, thread_state state) {
    const int address = at(at(registers_, thread), at(code(thread), index).target);
    for (int l = 0; l < count_of(program_.locations); ++l) {
      if (at(program_.locations, l).arrivals != 0) {
        continue;
      }
      const mark before = save(thread);
      const bool more = !assume(comparison::equal, address, constant(address_value(l)), true) ||
                        (access(thread, index, l, depends(address), state) && walk(thread, index + 1, state));
      restore(thread, before);
      if (!more) {
        return false;
      }
    }
    return true;
  }

  // Handles a tensor copy, which reads its map and then the location to which the map points, with one path per possible
  // location.
  constexpr bool walk_tensor_map(int thread, int index, const thread_state& state) {
    const int map = at(code(thread), index).tensor_map;
    bool leads_to_memory = false;
    for (int l = 0; l < count_of(program_.locations); ++l) {
      leads_to_memory = leads_to_memory || at(program_.locations, map).initial == address_value(l);
    }
    if (!leads_to_memory) {
      throw error("a tensor map must initially hold the address of a location, as with 'm = &x' in a litmus file");
    }
    event e = event_of(thread, index, state);
    e.kind = event_kind::issue;
    issued_ = push(e);
    e.issue = issued_;
    e.kind = event_kind::read;
    e.via = proxy::tensor_map;
    e.bytes = 8;
    name_location(e, map);
    const int read = push(e);
    for (int l = 0; l < count_of(program_.locations); ++l) {
      if (at(program_.locations, l).arrivals != 0 || at(program_.locations, l).owner >= 0) {
        continue;
      }
      const mark before = save(thread);
      bool more = true;
      if (assume(comparison::equal, read_result(read), constant(address_value(l)), true)) {
        perform_copy(thread, index, event_of(thread, index, state), l, only(read));
        more = walk(thread, index + 1, state);
      }
      restore(thread, before);
      if (!more) {
        return false;
      }
    }
    return true;
  }

  // Creates an event with the members that all events of one instruction have in common.
  [[nodiscard]] constexpr event event_of(int thread, int index, const thread_state& state) const noexcept {
    const instruction& i = at(code(thread), index);
    event e;
    e.thread = thread;
    e.instruction = index;
    e.scope = i.scope;
    e.control = state.control;
    e.guard = depends(state.guard);
    e.acquires = acquires(i.order);
    e.releases = releases(i.order);
    return e;
  }

  // Returns the number that identifies a vector access in its elements' events, or -1 for a scalar access.
  [[nodiscard]] constexpr int vector_of(int thread, int index) noexcept {
    const bool continues = at(code(thread), index).element != 0;
    const bool is_continued = index + 1 < count_of(code(thread)) && at(code(thread), index + 1).element != 0;
    if (!continues) {
      vector_number_ = events_.size();
    }
    return continues || is_continued ? vector_number_ : -1;
  }

  // Creates the events of one access. For a compare-and-swap, first walks the path where it fails.
  constexpr bool access(int thread, int index, int location_index, event_set addressed, const thread_state& state) {
    const instruction& i = at(code(thread), index);
    const location& l = at(program_.locations, location_index);
    event read = event_of(thread, index, state);
    read.kind = event_kind::read;
    read.vector = vector_of(thread, index);
    read.strong = i.strong;
    read.via = i.via;
    read.location = location_index;
    read.address = one_address_ && i.multimem ? l.physical : l.address;
    read.physical = l.physical;
    read.bytes = i.bytes;
    read.addressed = addressed;
    read.space = i.space;
    read.atomic = i.code == opcode::atomic || i.code == opcode::reduction;
    event write = read;
    write.kind = event_kind::write;
    if (i.code == opcode::store) {
      write.value = operand_value(thread, i.a);
      write.data = depends(write.value);
      push(write);
      return true;
    }
    read.reduction = i.code == opcode::reduction;
    const int read_index = push(read);
    const int old = read_result(read_index);
    if (i.code == opcode::load) {
      set(thread, i.destination, old, state);
      return true;
    }
    write.partner = read_index;
    if (i.what == operation::compare_exchange) {
      const int expected = operand_value(thread, i.a);
      const int desired = operand_value(thread, i.b);
      const mark before = save(thread);
      if (!failed_compare_writes_) {
        // both outcomes are possible, because nothing is known yet about a value that was just read
        (void)assume(comparison::equal, old, expected, false);
        set(thread, i.destination, old, state);
        const bool more = walk(thread, index + 1, state);
        restore(thread, before);
        if (!more) {
          return false;
        }
        (void)assume(comparison::equal, old, expected, true);
      }
      write.value = desired;
      write.data = depends(expected) | depends(desired);
    } else {
      const int by = operand_value(thread, i.a);
      write.value = combine(i.what, old, by);
      write.data = depends(by);
    }
    set(thread, i.destination, old, state);
    events_[read_index].partner = push(write);
    return true;
  }

  // Handles the instructions that do not access memory.
  constexpr void execute(int thread, int index, thread_state& state) {
    const instruction& i = at(code(thread), index);
    if (i.code == opcode::compute) {
      set(thread, i.destination, combine(i.what, operand_value(thread, i.a), operand_value(thread, i.b)), state);
      return;
    }
    if (i.code == opcode::shuffle) {
      exchange(thread, index, state);
      return;
    }
    event e = event_of(thread, index, state);
    switch (i.code) {
      case opcode::grid_launch:
        return;
      case opcode::async_copy:
      case opcode::async_arrive:
        start_asynchronous(thread, index, e);
        return;
      case opcode::async_commit:
      case opcode::async_wait:
      case opcode::grid_wait:
        e.kind = i.code == opcode::async_commit ? event_kind::commit
                 : i.code == opcode::async_wait ? event_kind::group_wait
                                                : event_kind::grid_wait;
        break;
      case opcode::fence:
        e.kind = event_kind::fence;
        e.strong = true;
        e.sequential = i.order == memory_order::seq_cst;
        e.restricted = i.restricted;
        break;
      case opcode::proxy_fence:
        e.kind = event_kind::proxy_fence;
        e.via = i.via;
        e.space = i.space;
        e.restricted = i.restricted;
        if (i.target >= 0) {
          name_location(e, named_location(thread, i.target, i.indirect));
        }
        break;
      case opcode::mbarrier_init:
        e.kind = event_kind::initialization;
        e.location = i.target;
        break;
      default:
        e.kind = event_kind::barrier;
        e.barrier = i.barrier;
        e.mbarrier = i.code != opcode::barrier;
        e.location = e.mbarrier ? i.target : -1;
        e.arrives = i.arrives;
        e.waits = i.waits;
        e.parity = i.parity;
        e.arrivals = i.arrivals;
        e.expected_bytes = i.expected_bytes;
        e.completed_bytes = i.completed_bytes;
        e.id = operand_value(thread, i.a);
        e.resource = operand_value(thread, i.b);
        e.quorum = i.has_quorum ? operand_value(thread, i.c) : -1;
    }
    push(e);
  }

  // Returns the location that an asynchronous operation names. If its address is in a register, the register's value is known
  // from the beginning.
  [[nodiscard]] constexpr int named_location(int thread, int named, bool indirect) {
    const int address = indirect ? at(at(registers_, thread), named) : -1;
    for (int l = 0; l < count_of(program_.locations); ++l) {
      if (!indirect ? l == named : depends(address) == 0 && evaluate(address) == address_value(l)) {
        return l;
      }
    }
    throw error(
        "the address of an asynchronous operation must be the address of a location, and its register must hold that address "
        "initially");
  }

  // Handles an instruction that starts an asynchronous operation. Creates the instruction's own event, followed by the events
  // that are performed later, all in the same thread.
  constexpr void start_asynchronous(int thread, int index, event e) {
    const instruction& i = at(code(thread), index);
    if (i.code == opcode::async_arrive && i.arrivals == 0) {  // the phase expects one more arrival, which happens later
      event expected = event_of(thread, index, {});
      expected.kind = event_kind::barrier;
      expected.mbarrier = true;
      expected.arrives = true;
      expected.location = i.barrier_at;
      expected.arrivals = -1;
      push(expected);
    }
    if (i.element == 0) {
      event start = e;
      start.kind = event_kind::issue;
      issued_ = push(start);
    }
    perform_copy(thread, index, e, i.source >= 0 ? named_location(thread, i.source, i.source_indirect) : -1, 0);
  }

  constexpr void name_location(event& e, int location_index) const noexcept {
    const location& l = at(program_.locations, location_index);
    e.location = location_index;
    e.address = l.address;
    e.physical = l.physical;
  }

  // Creates the events of the most recent asynchronous operation: it reads location `from`, unless that is -1, through an
  // address that the reads `addressed` provided.
  constexpr void perform_copy(int thread, int index, event e, int from, event_set addressed) {
    const instruction& i = at(code(thread), index);
    e.issue = issued_;
    e.bytes = i.bytes;
    const auto access = [&](int location_index) {
      name_location(e, location_index);
      e.via = i.via;
    };
    if (i.code == opcode::async_copy) {
      int value = operand_value(thread, i.a);
      e.data = depends(value);
      if (from >= 0) {
        access(from);
        e.addressed = addressed;
        e.kind = event_kind::read;
        e.space = i.source_space;
        const int read = push(e);
        value = read_result(read);
        e.data = only(read);
        e.addressed = 0;
      }
      access(named_location(thread, i.target, i.indirect));
      e.space = i.space;
      e.strong = i.reduces;  // PTX ISA, "cp.reduce.async.bulk", "red.async": each update is relaxed
      e.scope = i.reduces ? i.scope : thread_scope::block;
      e.atomic = i.reduces;
      int old = -1;
      if (i.reduces) {
        event of_old = e;
        of_old.kind = event_kind::read;
        old = push(of_old);
        value = combine(i.what, read_result(old), value);
        e.partner = old;
      }
      e.kind = event_kind::write;
      e.value = value;
      const int write = push(e);
      if (old >= 0) {
        events_[old].partner = write;
      }
      if (i.barrier_at < 0) {
        return;
      }
    }
    event done = event_of(thread, index, {});
    done.issue = issued_;
    done.kind = event_kind::barrier;
    done.mbarrier = true;
    done.arrives = true;
    done.releases = true;
    done.location = i.barrier_at;
    done.arrivals = i.code == opcode::async_arrive ? 1 : 0;
    done.completed_bytes = i.completed_bytes;
    push(done);
  }

  // Handles a shuffle: a lane sends its value and receives another lane's value. shuffles.hpp determines which lane that is,
  // once every thread's path has been chosen.
  constexpr void exchange(int thread, int index, thread_state& state) {
    const instruction& i = at(code(thread), index);
    event e = event_of(thread, index, state);
    e.kind = event_kind::shuffle_write;
    e.value = operand_value(thread, i.a);
    e.data = depends(e.value);
    push(e);
    e.kind = event_kind::shuffle_read;
    const int read = push(e);
    set(thread, i.destination, read_result(read), state);
    set(thread, i.predicate, constant(source_lane(i, lane_of(program_, thread)).in_range ? 1 : 0), state);
    state.control |= only(read);  // later events have to wait for the other lanes
  }

  bool failed_compare_writes_, one_address_;
  waits waiting_;
  cut_loop cut_;
  int vector_number_ = -1;
  int issued_ = -1;  ///< the event of the instruction that starts the current asynchronous operation
};

}  // namespace model
}  // namespace v0_3
}  // namespace membar
