// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
/// @file
/// Litmus tests in C++ that use membar's vocabulary and can be decided at compile time or at run time.
///
/// ```cpp
/// namespace model = membar::model;
/// constexpr model::variable x{0}, y{1};
/// constexpr model::reg r0{0}, r1{1};
/// constexpr auto mp = model::litmus(
///     model::thread(model::block(0), model::store(x, 1),
///                   model::store<membar::thread_scope::device>(y, 1, membar::release)),
///     model::thread(model::block(1), model::load<membar::thread_scope::device>(r0, y, membar::acquire),
///                   model::load(r1, x)))
///     .when(model::in(1, r0) == 1 && model::in(1, r1) == 0);
/// static_assert(model::forbidden(mp));
/// ```
///
/// The same engine decides tests at compile time and at run time: a `static_assert` proves the verdict that `membar-litmus`
/// reports. Tests of two to four threads with a few accesses each stay within the default limits of compilers. The same call
/// decides larger tests at run time.
#pragma once

#include <membar/memory_order.hpp>
#include <membar/model/array.hpp>
#include <membar/model/decide.hpp>
#include <membar/model/error.hpp>
#include <membar/model/program.hpp>
#include <membar/model/races.hpp>
#include <membar/model/test_condition.hpp>
#include <membar/model/test_thread.hpp>
#include <membar/thread_scope.hpp>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <span>

namespace membar {
inline namespace v0_3 {
namespace model {

namespace detail {
/// The names of a test's first locations. Later locations are named v4, v5, ...
inline constexpr char first_location_names[] = {'x', 'y', 'z', 'w'};
inline constexpr int location_letters = 4;

/// Returns the state space that an access to a variable names, or `otherwise` for a variable in global memory.
[[nodiscard]] constexpr state_space space_of(variable v, state_space otherwise) noexcept {
  return !v.in_shared_memory ? otherwise : v.thread >= 0 ? state_space::shared_cluster : state_space::shared;
}
[[nodiscard]] constexpr instruction access(opcode code, variable at) noexcept {
  instruction i;
  i.code = code;
  i.target = at.index;
  i.target_of = at.thread;
  i.space = space_of(at, state_space::generic);
  return i;
}
[[nodiscard]] constexpr instruction ordered(instruction i, memory_order order, thread_scope scope) noexcept {
  i.strong = true;
  i.order = order;
  i.scope = scope;
  return i;
}

/// Calls `use(location, state space, thread of its block)` for each location that an instruction names.
template <class Use>
constexpr void for_each_location(instruction& i, const Use& use) {
  const bool on_mbarrier =
      i.code == opcode::mbarrier_arrive || i.code == opcode::mbarrier_wait || i.code == opcode::mbarrier_init;
  const bool of_map = i.code == opcode::proxy_fence && i.target >= 0;
  if ((accesses_memory(i.code) || i.code == opcode::async_copy || on_mbarrier || of_map) && !i.indirect) {
    use(i.target, i.space, i.target_of);
  }
  if (i.code == opcode::async_copy && i.source >= 0 && !i.source_indirect) {
    use(i.source, i.source_space, i.source_of);
  }
  if (i.tensor_map >= 0) {
    use(i.tensor_map, state_space::global, -1);
  }
  if (i.barrier_at >= 0) {
    use(i.barrier_at, state_space::generic, -1);
  }
}
}  // namespace detail

/// @name Instructions
/// @{
/// Weak load: `ld.weak`.
[[nodiscard]] constexpr instruction load(reg to, variable from) noexcept {
  instruction i = detail::access(opcode::load, from);
  i.destination = to.index;
  return i;
}
/// `ld.{relaxed,acquire}.scope`.
template <thread_scope Scope, class Order>
  requires order_among<Order, memory_order::relaxed, memory_order::acquire>
[[nodiscard]] constexpr instruction load(reg to, variable from, Order) noexcept {
  return detail::ordered(load(to, from), Order::value, Scope);
}
/// Weak store: `st.weak`.
[[nodiscard]] constexpr instruction store(variable to, source value) noexcept {
  instruction i = detail::access(opcode::store, to);
  i.a = value.value;
  return i;
}
/// `st.{relaxed,release}.scope`.
template <thread_scope Scope, class Order>
  requires order_among<Order, memory_order::relaxed, memory_order::release>
[[nodiscard]] constexpr instruction store(variable to, source value, Order) noexcept {
  return detail::ordered(store(to, value), Order::value, Scope);
}
/// Satisfied by the orders of read-modify-writes: any order except `seq_cst`, which is not a single instruction.
template <class Order>
concept update_order =
    order_among<Order, memory_order::relaxed, memory_order::acquire, memory_order::release, memory_order::acq_rel>;
/// `atom.order.scope.add`.
template <thread_scope Scope, update_order Order>
[[nodiscard]] constexpr instruction fetch_add(reg old, variable at, source value, Order) noexcept {
  instruction i = detail::ordered(detail::access(opcode::atomic, at), Order::value, Scope);
  i.what = operation::add;
  i.destination = old.index;
  i.a = value.value;
  return i;
}
/// `atom.order.scope.exch`.
template <thread_scope Scope, update_order Order>
[[nodiscard]] constexpr instruction exchange(reg old, variable at, source value, Order order) noexcept {
  instruction i = fetch_add<Scope>(old, at, value, order);
  i.what = operation::move;
  return i;
}
/// `atom.order.scope.cas`: writes nothing if the value differs from the expected value.
template <thread_scope Scope, update_order Order>
[[nodiscard]] constexpr instruction compare_exchange(reg old, variable at, source expected, source desired,
                                                     Order order) noexcept {
  instruction i = fetch_add<Scope>(old, at, expected, order);
  i.what = operation::compare_exchange;
  i.b = desired.value;
  return i;
}
/// `red.{relaxed,release}.scope.add`.
template <thread_scope Scope, class Order>
  requires order_among<Order, memory_order::relaxed, memory_order::release>
[[nodiscard]] constexpr instruction add(variable at, source value, Order) noexcept {
  instruction i = detail::ordered(detail::access(opcode::reduction, at), Order::value, Scope);
  i.what = operation::add;
  i.a = value.value;
  return i;
}
/// `fence.{acquire,release,acq_rel,sc}.scope`.
template <thread_scope Scope, fence_order Order>
[[nodiscard]] constexpr instruction thread_fence(Order) noexcept {
  instruction i;
  i.code = opcode::fence;
  i.order = Order::value;
  i.scope = Scope;
  return i;
}
/// `ld.global.nc`: a load through the read-only path, to which no fence applies.
[[nodiscard]] constexpr instruction load_read_only(reg to, variable from) noexcept {
  instruction i = load(to, from);
  i.via = proxy::read_only;
  return i;
}
/// `setp`: `to` becomes 1 if the comparison holds, and 0 if not.
[[nodiscard]] constexpr instruction set_if(reg to, source left, comparison how, source right) noexcept {
  instruction i;
  i.what = static_cast<operation>(static_cast<int>(operation::is_equal) + static_cast<int>(how));
  i.destination = to.index;
  i.a = left.value;
  i.b = right.value;
  return i;
}
/// `@p instruction`: the instruction takes effect only if register `predicate` is not 0, and depends on that register.
[[nodiscard]] constexpr instruction only_if(reg predicate, instruction i) noexcept {
  i.guard = predicate.index;
  return i;
}
/// `@!p instruction`: the instruction takes effect only if register `predicate` is 0, and depends on that register.
[[nodiscard]] constexpr instruction unless(reg predicate, instruction i) noexcept {
  i.guard = predicate.index;
  i.guard_negated = true;
  return i;
}
/// `shfl.sync`: `to` becomes the `value` of another lane of the warp. The lanes of a warp are its threads in the order of the
/// test. A shuffle does not synchronize, but values keep their dependencies. If the mask names a lane that never arrives, there
/// is no execution.
template <shuffle_mode Mode = shuffle_mode::index>
[[nodiscard]] constexpr instruction shuffle(reg to, source value, int lane, std::uint32_t mask = 0xffffffff) noexcept {
  instruction i;
  i.code = opcode::shuffle;
  i.mode = Mode;
  i.destination = to.index;
  i.a = value.value;
  i.b.value = lane;
  i.c.value = Mode == shuffle_mode::up ? 0 : 31;
  i.lanes = mask;
  return i;
}
/// Returns the access with a size of `bytes` bytes instead of four.
[[nodiscard]] constexpr instruction sized(instruction i, int bytes) noexcept {
  i.bytes = static_cast<std::uint8_t>(bytes);
  return i;
}
/// `bar.cta.sync number`.
[[nodiscard]] constexpr instruction sync_block(int number = 0) noexcept {
  instruction i;
  i.code = opcode::barrier;
  i.arrives = true;
  i.waits = true;
  i.a.value = number;
  i.b.value = -1;
  return i;
}
/// `barrier.cluster.arrive.release` or, with `membar::relaxed`, `.relaxed`.
template <class Order = release_t>
  requires order_among<Order, memory_order::relaxed, memory_order::release>
[[nodiscard]] constexpr instruction arrive_cluster(Order = Order{}) noexcept {
  instruction i;
  i.code = opcode::barrier;
  i.barrier = barrier_kind::cluster;
  i.arrives = true;
  i.order = Order::value;
  return i;
}
/// `barrier.cluster.wait.acquire`.
[[nodiscard]] constexpr instruction wait_cluster() noexcept {
  instruction i;
  i.code = opcode::barrier;
  i.barrier = barrier_kind::cluster;
  i.waits = true;
  i.order = memory_order::acquire;
  return i;
}
/// @}

/// The shared memory of one block in a test.
struct shared_instance {
  int location = 0;
  int variable = 0;
  int thread = 0;  ///< the first thread of the block
};

/// A litmus test: threads, and a condition on the final state.
template <std::size_t... Counts>
class litmus_program {
 public:
  static constexpr std::size_t threads = sizeof...(Counts);

  constexpr explicit litmus_program(const thread_code<Counts>&... code) {
    std::size_t t = 0;
    std::size_t at = 0;
    const auto append = [&](const auto& one) {
      places_[t] = one.where;
      for (const instruction& i : one.code) {
        code_[at] = i;
        detail::for_each_location(code_[at],
                                  [&](int named, state_space, int) { locations_ = std::max(locations_, named + 1); });
        for (const operand& o : {i.a, i.b}) {
          locations_ = std::max(locations_, o.is_register ? 0 : o.index);  // address_of
        }
        if (i.code == opcode::mbarrier_init) {
          expect_arrivals(i.target, i.arrivals);
        }
        ++at;
      }
      ends_[t++] = at;
    };
    (append(code), ...);
    variables_ = locations_;
    for (std::size_t thread = 0, n = 0; thread < threads; ++thread) {
      const std::size_t begin = n;
      for (; n < ends_[thread]; ++n) {
        detail::for_each_location(code_[n], [&](int& named, state_space space, int of) {
          const bool is_shared = space == state_space::shared || space == state_space::shared_cluster;
          named = is_shared ? instance(named, static_cast<int>(thread), of) : named;
        });
      }
      int next = 0;  // the next register that no instruction of the thread uses
      for (std::size_t k = begin; k < n; ++k) {
        const instruction& i = code_[k];
        for (const int used : {i.destination, i.predicate, i.guard, register_of(i.a), register_of(i.b), register_of(i.c)}) {
          next = std::max(next, used + 1);
        }
      }
      for (std::size_t k = begin; k < n; ++k) {
        go_through_addresses(code_[k], thread, next);
      }
    }
  }

  /// Returns this program with a condition that asks whether a final state that satisfies `asked` is reachable.
  [[nodiscard]] constexpr litmus_program when(const condition& asked) const {
    litmus_program result = *this;
    result.condition_ = asked;
    for (const condition_node& n : asked.nodes) {
      if (n.kind == condition_node::kind_t::compare && n.left.kind == term::kind_t::register_value &&
          (n.left.thread < 0 || n.left.thread >= static_cast<int>(threads))) {
        throw error("a condition names a thread that the test does not have");
      }
    }
    for (condition_node& n : result.condition_.nodes) {
      if (n.kind == condition_node::kind_t::compare && n.left.kind == term::kind_t::memory_value) {
        n.left.index = result.named(n.left);
        n.left.thread = 0;
        result.locations_ = std::max(result.locations_, n.left.index + 1);
      }
    }
    return result;
  }

  /// Returns this program with an edge of the CUDA API: thread `before` has ended when thread `after` begins, as if a stream,
  /// an event or a graph ordered their kernels. Threads are counted from 0.
  [[nodiscard]] constexpr litmus_program ordered(int before, int after) const {
    if (before < 0 || after < 0 || std::max(before, after) >= static_cast<int>(threads)) {
      throw error("an API edge names a thread that the test does not have");
    }
    litmus_program result = *this;
    api_edge edge;
    edge.before = before;
    edge.after = after;
    result.api_.push(edge, "a test has more than 8 API edges");
    return result;
  }

  /// Returns this program with an mbarrier (asynchronous.hpp) whose phases expect `arrivals` arrivals.
  [[nodiscard]] constexpr litmus_program with_mbarrier(variable barrier, int arrivals) const {
    if (barrier.in_shared_memory || barrier.index < 0 || barrier.index >= variables_ || arrivals < 1) {
      throw error(
          "an mbarrier must be a variable that an instruction names, without shared(), and must expect at least one arrival");
    }
    litmus_program result = *this;
    result.expect_arrivals(barrier.index, arrivals);
    return result;
  }

  /// Returns this program with a nonzero initial value of a variable, in every block that has it: a number or, for a tensor
  /// map, `address_of` a variable in global memory.
  [[nodiscard]] constexpr litmus_program with_initial(variable v, source value) const {
    if (v.index < 0 || v.index >= variables_ || value.value.is_register || value.value.index > variables_) {
      throw error(
          "an initial value must be a number or the address of a variable, and must belong to a variable that an instruction "
          "names");
    }
    litmus_program result = *this;
    const std::int64_t initial = value.value.index > 0 ? address_value(value.value.index - 1) : value.value.value;
    bool is_shared = false;
    for (const shared_instance& i : instances_) {
      if (i.variable == v.index && i.location < max_variables) {
        at(result.initial_, i.location) = initial;
        is_shared = true;
      }
    }
    if (!is_shared && v.index < max_variables) {
      at(result.initial_, v.index) = initial;
    }
    return result;
  }

  /// Returns this program with a multimem address, which `multimem.hpp` defines along with the instructions that access it.
  template <std::size_t Count>
  [[nodiscard]] constexpr litmus_program with_multimem(int first, const std::array<variable, Count>& objects) const {
    litmus_program result = *this;
    for (const variable& object : objects) {
      const int here = first + static_cast<int>(&object - objects.data());
      if (object.in_shared_memory || object.index < 0 || object.index >= first || first < 0 || here >= max_variables) {
        throw error(
            "the number of a multimem address must be below 16 and above the numbers of its objects, which must be in global "
            "memory");
      }
      at(result.multimem_, here) = first + 1;
      at(result.objects_, here) = object.index;
      result.locations_ = std::max(result.locations_, here + 1);
    }
    return result;
  }

  /// Returns this program with a programmatic dependent launch: the kernel of thread `after` depends on the kernel of thread
  /// `before` and may begin early. Only `grid_wait` (asynchronous.hpp) orders later events after all events of `before`.
  [[nodiscard]] constexpr litmus_program dependent(int before, int after) const {
    if (before < 0 || after < 0 || std::max(before, after) >= static_cast<int>(threads)) {
      throw error("a dependent launch names a thread that the test does not have");
    }
    litmus_program result = *this;
    result.launches_.push(api_edge{before, after}, "a test has more than 8 dependent launches");
    return result;
  }

  /// @name The parts of the test
  /// @{
  [[nodiscard]] constexpr const place& where(std::size_t thread) const noexcept { return places_[thread]; }
  [[nodiscard]] constexpr std::span<const instruction> code(std::size_t thread) const noexcept {
    const std::size_t begin = thread == 0 ? 0 : ends_[thread - 1];
    return {code_.data() + begin, ends_[thread] - begin};
  }
  [[nodiscard]] constexpr std::span<const condition_node> asked() const noexcept { return condition_.nodes.span(); }
  [[nodiscard]] constexpr std::span<const api_edge> api() const noexcept { return api_.span(); }
  [[nodiscard]] constexpr std::span<const api_edge> launches() const noexcept { return launches_.span(); }
  /// Returns the arrivals that an mbarrier expects, or 0 for a location that is not an mbarrier.
  [[nodiscard]] constexpr int arrivals(int location) const noexcept { return at(arrivals_, location); }
  [[nodiscard]] constexpr std::int64_t initial(int location) const noexcept { return at(initial_, location); }
  [[nodiscard]] constexpr int locations() const noexcept { return locations_; }
  /// For a location of a multimem address, `multimem` returns the first location of that address, and `object` returns the
  /// location's object. For other locations, `multimem` returns -1 and `object` returns the location itself.
  [[nodiscard]] constexpr int multimem(int location) const noexcept { return at(multimem_, location) - 1; }
  [[nodiscard]] constexpr int object(int location) const noexcept {
    return multimem(location) < 0 ? location : at(objects_, location);
  }
  /// Returns the initial values of a thread's registers.
  [[nodiscard]] constexpr std::span<const std::int64_t> registers(std::size_t thread) const noexcept {
    return registers_[thread];
  }
  [[nodiscard]] constexpr std::span<const shared_instance> shared_memory() const noexcept { return instances_.span(); }
  /// @}

  /// Returns whether some execution ends in a state that satisfies the condition.
  [[nodiscard]] constexpr bool reachable() const {
    return with_view([](const test_view& test) { return decide(test).reachable; });
  }

  /// Returns whether no execution has a data race. The condition does not affect the result.
  [[nodiscard]] constexpr bool race_free() const {
    return with_view([](const test_view& test) { return !find_race(test.program); });
  }

  /// Calls `use` with a view of this test, which is valid during the call, and returns the result. Throws `error` for more than
  /// 16 locations.
  template <class Use>
  [[nodiscard]] constexpr auto with_view(const Use& use) const {
    std::array<location, max_variables> memory{};
    for (int i = 0; i < max_variables; ++i) {
      at(memory, i).address = i;
      at(memory, i).physical = object(i);
      at(memory, i).multimem = multimem(i);
      at(memory, i).arrivals = at(arrivals_, i);
      at(memory, i).initial = at(initial_, i);
    }
    for (const shared_instance& i : instances_) {
      if (i.location < max_variables) {
        at(memory, i.location).owner = i.thread;
      }
    }
    if (locations_ > max_variables) {
      throw error("a test has more than 16 locations");
    }
    test_view test;
    test.program.locations = std::span(memory).first(static_cast<std::size_t>(locations_));
    for (std::size_t t = 0; t < threads; ++t) {
      test.program.add({places_[t], code(t), registers(t)});
    }
    test.program.api = api();
    test.program.launches = launches();
    test.condition = asked();
    return use(test);
  }

 private:
  [[nodiscard]] static constexpr int register_of(const operand& o) noexcept { return o.is_register ? o.index : -1; }

  constexpr void expect_arrivals(int barrier, int arrivals) {
    int& expected = at(arrivals_, barrier);
    if (expected != 0 && expected != arrivals) {
      throw error("an mbarrier has two different expected counts: init and with_mbarrier must name the same count");
    }
    expected = arrivals;
  }

  // Returns one of a thread's registers, which initially holds a location's address. `next` is a register that nothing uses
  // yet.
  constexpr int address_register(int location, std::size_t thread, int& next) {
    for (int r = 0; r < next && r < max_registers; ++r) {
      if (at(registers_[thread], r) == address_value(location)) {
        return r;
      }
    }
    if (next >= max_registers) {
      throw error("a thread uses more than 32 registers, including registers that hold addresses");
    }
    at(registers_[thread], next) = address_value(location);
    return next++;
  }

  // Accesses to another block's shared memory, and stores of an address, use an address in a register.
  constexpr void go_through_addresses(instruction& i, std::size_t thread, int& next) {
    if (i.target_of >= 0) {
      i.target = address_register(i.target, thread, next);
      i.indirect = true;
    }
    if (i.source_of >= 0) {
      i.source = address_register(i.source, thread, next);
      i.source_indirect = true;
    }
    for (operand* const o : {&i.a, &i.b}) {
      if (!o->is_register && o->index > 0) {
        *o = {true, address_register(o->index - 1, thread, next), 0};
      }
    }
  }

  // Returns the location of a shared variable in the block of thread `of`, or in the block of the accessing thread if `of` is
  // -1. The location is the variable's own number in the first block, and a new number in other blocks.
  constexpr int instance(int variable, int accessing, int of) {
    const int thread = of < 0 ? accessing : of;
    if (thread >= static_cast<int>(threads) || !same_cluster(at(places_, accessing), at(places_, thread))) {
      throw error("remote() names shared memory of a thread outside of the accessing thread's cluster");
    }
    bool others = false;
    for (const shared_instance& i : instances_) {
      if (i.variable == variable && same_block(at(places_, i.thread), at(places_, thread))) {
        return i.location;
      }
      others = others || i.variable == variable;
    }
    int owner = 0;
    while (!same_block(at(places_, owner), at(places_, thread)) && owner < thread) {
      ++owner;
    }
    const int location = others ? locations_++ : variable;
    instances_.push({location, variable, owner}, "a test has more than 16 shared variables, counted once per block: use fewer");
    return location;
  }

  // Returns the location that a term of a condition names.
  [[nodiscard]] constexpr int named(const term& t) const {
    bool is_shared = false;
    for (const shared_instance& i : instances_) {
      if (i.variable == t.index && t.thread >= 0 && t.thread < static_cast<int>(threads) &&
          same_block(at(places_, i.thread), at(places_, t.thread))) {
        return i.location;
      }
      is_shared = is_shared || i.variable == t.index;
    }
    if (is_shared || (t.index >= variables_ && t.index < locations_ && instances_.size() != 0)) {
      throw error("a condition names a shared variable without specifying its block: write in(thread, variable)");
    }
    return t.index;
  }

  static constexpr int max_variables = 16;

  std::array<place, threads> places_{};
  std::array<instruction, (Counts + ... + 0)> code_{};
  std::array<std::size_t, threads> ends_{};
  condition condition_{};
  bounded<api_edge, 8> api_{};
  bounded<api_edge, 8> launches_{};
  std::array<int, max_variables> arrivals_{};
  std::array<std::int64_t, max_variables> initial_{};
  std::array<std::array<std::int64_t, max_registers>, threads> registers_{};
  bounded<shared_instance, max_variables> instances_{};
  std::array<int, max_variables> multimem_{};  ///< the first location of the multimem address, plus 1; 0 for none
  std::array<int, max_variables> objects_{};
  int locations_ = 0;
  int variables_ = 0;  ///< the number of locations that the instructions name; locations in other blocks have higher numbers
};

/// Returns a test with these threads; `when` adds the condition.
template <std::size_t... Counts>
[[nodiscard]] constexpr litmus_program<Counts...> litmus(const thread_code<Counts>&... threads) {
  return litmus_program<Counts...>(threads...);
}

/// Returns whether the model allows the test's condition, that is, whether some execution ends in a state that satisfies it.
template <std::size_t... Counts>
[[nodiscard]] constexpr bool allowed(const litmus_program<Counts...>& test) {
  return test.reachable();
}

/// Returns whether the model forbids the test's condition, that is, whether no execution ends in a state that satisfies it. A
/// `static_assert` on this function reports only that it failed; `static_assert(model::require_forbidden<test>())` from
/// `model/witness.hpp` also shows an execution that ends in such a state.
template <std::size_t... Counts>
[[nodiscard]] constexpr bool forbidden(const litmus_program<Counts...>& test) {
  return !test.reachable();
}

/// Returns whether no execution of the test has a data race: conflicting accesses that are not morally strong and that
/// causality does not order. PTX defines the behaviour of a race, but nothing is ordered or observed through it.
template <std::size_t... Counts>
[[nodiscard]] constexpr bool race_free(const litmus_program<Counts...>& test) {
  return test.race_free();
}

}  // namespace model
}  // namespace v0_3
}  // namespace membar
