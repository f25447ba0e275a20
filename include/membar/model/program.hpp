// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
/// @file
/// The parts of a litmus test: places, locations, instructions, threads and a condition on the final state.
#pragma once

#include <membar/memory_order.hpp>
#include <membar/model/array.hpp>
#include <membar/thread_scope.hpp>

#include <cstdint>
#include <span>

namespace membar {
inline namespace v0_3 {
namespace model {

/// The maximum number of threads in a test.
inline constexpr int max_threads = 16;
/// The maximum number of registers per thread.
inline constexpr int max_registers = 32;

/// The place where a thread runs. Blocks are numbered per GPU; a block belongs to one cluster and one domain.
struct place {
  int gpu = 0;
  int domain = 0;    ///< the physical memory synchronization domain
  int cluster = -1;  ///< -1 if the block has a cluster of its own
  int block = 0;
  int warp = 0;       ///< used only by `bar.warp.sync`
  bool host = false;  ///< a CPU thread; the other members are then ignored
};

/// The path of an access to memory, or the paths between which a proxy fence orders accesses.
/// Source: PTX ISA, "Proxies"; "Mixed-proxy extensions for the NVIDIA PTX memory consistency model", ISCA 2022.
enum class proxy : std::uint8_t {
  generic,
  surface,
  texture,
  constant,
  alias,
  read_only,
  async,
  tensor_map  ///< the path through which a tensor copy reads its tensor map
};

/// The meaning of a location's name: a virtual address, and the physical memory that it maps to.
struct location {
  int address = 0;   ///< locations with the same number have the same virtual address and are accessed through different
                     ///< proxies
  int physical = 0;  ///< locations with the same number refer to the same memory
  std::int64_t initial = 0;
  int arrivals = 0;   ///< an mbarrier's expected count; 0 for ordinary memory
  int owner = -1;     ///< for shared memory: a thread of the block that the memory belongs to; -1 for global memory
  int multimem = -1;  ///< for a multimem address of object `physical`: the location of its first object; -1 for any other
                      ///< address
};

/// The state space that an access names. Source: PTX ISA, "State Spaces".
enum class state_space : std::uint8_t {
  generic,
  global,
  shared,         ///< shared memory of the accessing thread's block
  shared_cluster  ///< shared memory of any block of the accessing thread's cluster
};

/// The kinds of instructions.
enum class opcode : std::uint8_t {
  load,
  store,
  atomic,       ///< read-modify-write that returns the old value
  reduction,    ///< read-modify-write that returns nothing
  fence,        ///< `fence.sem.scope`
  proxy_fence,  ///< `fence.proxy.kind`
  mbarrier_init,
  barrier,  ///< `bar.cta.{sync,red,arrive}`, `bar.warp.sync`, `barrier.cluster.{arrive,wait}`
  mbarrier_arrive,
  mbarrier_wait,  ///< `test_wait`, `try_wait`: its result is 1 if the phase is complete
  shuffle,        ///< `shfl.sync`: a register's value in another lane of the warp
  async_copy,     ///< `cp.async`, `cp.async.bulk`, `cp.reduce.async.bulk`, `st.async`, `red.async`
  async_arrive,   ///< `cp.async.mbarrier.arrive{.noinc}`: an arrival once all earlier `cp.async` of the thread are complete
  async_commit,   ///< `cp.async.commit_group`, `cp.async.bulk.commit_group`
  async_wait,     ///< `cp.async.wait_group`, `cp.async.bulk.wait_group{.read}`
  grid_wait,      ///< `griddepcontrol.wait`
  grid_launch,    ///< `griddepcontrol.launch_dependents`: orders nothing
  compute,        ///< register arithmetic and moves
  branch,         ///< jumps if the comparison holds
  jump
};

/// The arithmetic of a `compute` instruction, or the modification that an atomic performs.
enum class operation : std::uint8_t {
  move,  ///< the operand's value: a register move, `exch`
  add,
  subtract,
  multiply,
  divide,
  bit_and,
  bit_or,
  bit_xor,
  minimum,
  maximum,
  increment,         ///< PTX `inc`: wraps to 0 at the operand
  decrement,         ///< PTX `dec`: wraps to the operand at 0
  compare_exchange,  ///< `cas`: writes only if the comparison holds
  is_equal,          ///< `setp.eq`: 1 or 0, like the comparisons below
  is_not_equal,
  is_less,
  is_less_equal,
  is_greater,
  is_greater_equal
};

/// How `shfl.sync` identifies the lane that a value comes from.
enum class shuffle_mode : std::uint8_t { index, up, down, butterfly };

/// The comparison of a branch or of a condition.
enum class comparison : std::uint8_t { equal, not_equal, less, less_equal, greater, greater_equal };

/// How the completion of an asynchronous operation is detected. Source: PTX ISA, "Async-group mechanism", "mbarrier-based
/// completion".
enum class completion : std::uint8_t {
  group,       ///< groups of `cp.async`: `cp.async.commit_group`, `cp.async.wait_group`
  bulk_group,  ///< `cp.async.bulk.commit_group`, `cp.async.bulk.wait_group`
  mbarrier     ///< a `complete_tx` of the bytes on an mbarrier
};

/// The kind of an instruction's barrier, which determines its participants.
enum class barrier_kind : std::uint8_t { block, warp, cluster };

/// A constant or a register of the thread.
struct operand {
  bool is_register = false;
  int index = 0;           ///< the register
  std::int64_t value = 0;  ///< the constant

  friend constexpr bool operator==(const operand&, const operand&) = default;
};

/// One instruction. Members that its opcode does not use keep their default values.
struct instruction {
  opcode code = opcode::compute;
  operation what = operation::move;
  comparison test = comparison::equal;
  bool strong = false;  ///< for memory operations: whether the operation is not weak
  memory_order order = memory_order::relaxed;
  thread_scope scope = thread_scope::block;
  proxy via = proxy::generic;
  state_space space = state_space::generic;
  barrier_kind barrier = barrier_kind::block;
  /// For fences: whether it is `fence.mbarrier_init`, which releases only the initializations of mbarriers. For proxy fences:
  /// whether it is the one-directional `fence.proxy.to::generic`.
  bool restricted = false;
  bool arrives = false;     ///< for barriers: whether this instruction arrives
  bool waits = false;       ///< for barriers: whether this instruction waits for the other threads
  bool parity = false;      ///< for mbarrier waits: whether operand `a` is the phase's parity rather than its number
  bool has_quorum = false;  ///< for barriers: whether operand `c` is the number of arrivals that complete the barrier
  bool multimem =
      false;  ///< whether this is part of an operation on a multimem address: the access to one object, or the combination of
              ///< the loaded values
  std::uint8_t bytes = 4;    ///< the size of the access
  std::uint8_t element = 0;  ///< the element of a vector access; elements after the first continue the previous instruction's
                             ///< access
  int destination = -1;      ///< the destination register, or -1 for none
  bool indirect = false;     ///< whether the address is in register `target`
  int target = -1;           ///< the location, the register that holds an address, or the instruction to which a branch jumps
  operand a{};
  operand b{};
  operand c{};
  int guard = -1;              ///< the register that holds the predicate, or -1; without a predicate, the instruction always
                               ///< takes effect
  bool guard_negated = false;  ///< whether the instruction takes effect if the predicate is 0
  shuffle_mode mode = shuffle_mode::index;
  std::uint32_t lanes = 0;  ///< for shuffles: the mask of the lanes that take part
  int predicate = -1;       ///< for shuffles: the register that becomes 1 if the lane is in range and 0 if not, or -1 for none

  // asynchronous operations, and the transactions of an mbarrier
  int source = -1;               ///< the location that is read, or the register with its address; -1 if operand `a` is written
  bool source_indirect = false;  ///< whether the source's address is in register `source`
  state_space source_space = state_space::generic;
  bool reduces = false;  ///< whether the operation updates the destination with `what` instead of overwriting it
  completion completes = completion::bulk_group;
  int tensor_map = -1;      ///< for tensor copies: the location that holds the address to read from; such copies have no
                            ///< `source`
  int barrier_at = -1;      ///< for asynchronous copies: the mbarrier that they complete on
  bool reads_only = false;  ///< whether this is `wait_group.read`, which only waits until the sources have been read
  int pending_groups = 0;   ///< for `wait_group N`: the number of newest groups that may be incomplete
  /// for mbarrier initializations: the expected count; for arrivals: their number; 0 for `expect_tx`, `complete_tx` and an
  /// arrival without `.noinc`
  int arrivals = 1;
  int expected_bytes = 0;   ///< the bytes of `expect_tx`
  int completed_bytes = 0;  ///< the bytes of `complete_tx`, or of an asynchronous copy that completes on an mbarrier
  /// for C++ tests: a thread of the block whose shared memory contains `target`; -1 for the block of this thread
  int target_of = -1;
  int source_of = -1;  ///< the same as `target_of`, but for `source`
  int line = 0;        ///< the line in the text from which the test was read

  friend constexpr bool operator==(const instruction&, const instruction&) = default;
};

/// One thread of a test.
struct thread_view {
  place where{};
  std::span<const instruction> code{};
  std::span<const std::int64_t> registers{};  ///< the initial value of each register
};

/// An order that the CUDA API imposes: everything in thread `before` precedes everything in thread `after`.
struct api_edge {
  int before = 0;
  int after = 0;
};

/// A test's program, without the condition. The view owns the list of threads. Their code, the locations and the edges belong
/// to the test and must outlive the view.
struct program_view {
  std::span<const location> locations{};
  bounded<thread_view, max_threads> threads{};
  std::span<const api_edge> api{};
  /// Programmatic dependent launches: thread `before` belongs to a grid that the grid of `after` depends on. The dependent grid
  /// may begin early, and only `griddepcontrol.wait` orders later events after everything in `before`.
  std::span<const api_edge> launches{};
  int version = 0;  ///< the PTX version that the program declares, for example 92 for 9.2; 0 for the newest version

  /// Appends a thread. Throws `error` for the seventeenth thread.
  constexpr void add(const thread_view& thread) { threads.push(thread, "a program has more than 16 threads"); }
};

/// Returns the value of a register that holds the address of location `index`. The value is far outside the range of values
/// that tests use.
[[nodiscard]] constexpr std::int64_t address_value(int index) noexcept {
  return (std::int64_t{1} << 40) + 16 * std::int64_t{index};
}

/// One side of a comparison in a condition.
struct term {
  enum class kind_t : std::uint8_t { constant, register_value, memory_value };
  kind_t kind = kind_t::constant;
  int thread = 0;
  int index = 0;  ///< the register or the location
  std::int64_t value = 0;
};

/// One node of a condition. Children precede their parent; the last node is the root.
struct condition_node {
  enum class kind_t : std::uint8_t { always, compare, negation, conjunction, disjunction };
  kind_t kind = kind_t::always;
  comparison test = comparison::equal;
  term left{};
  term right{};
  int first = 0;   ///< the index of the first child
  int second = 0;  ///< the index of the second child
};

/// The quantifier of a condition.
enum class quantifier : std::uint8_t { exists, not_exists, forall };

/// A program and a condition on its final state.
struct test_view {
  program_view program{};
  std::span<const condition_node> condition{};
  quantifier quantified = quantifier::exists;
  std::span<const condition_node> filter{};  ///< executions that do not satisfy the filter are discarded; an empty filter
                                             ///< discards none
};

/// Returns whether the instruction accesses memory at a location, unlike fences, barriers and register arithmetic.
[[nodiscard]] constexpr bool accesses_memory(opcode code) noexcept {
  return code == opcode::load || code == opcode::store || code == opcode::atomic || code == opcode::reduction;
}

/// Returns whether an instruction with this order acquires, provided that its kind can acquire.
[[nodiscard]] constexpr bool acquires(memory_order order) noexcept {
  return order == memory_order::acquire || order == memory_order::acq_rel || order == memory_order::seq_cst;
}

/// Returns whether an instruction with this order releases, provided that its kind can release.
[[nodiscard]] constexpr bool releases(memory_order order) noexcept {
  return order == memory_order::release || order == memory_order::acq_rel || order == memory_order::seq_cst;
}

/// Returns whether two places are in the same block. Blocks are numbered per GPU.
[[nodiscard]] constexpr bool same_block(const place& x, const place& y) noexcept {
  return !x.host && !y.host && x.gpu == y.gpu && x.block == y.block;
}

/// Returns whether two places are in the same cluster. A block without a cluster counts as a cluster of its own.
[[nodiscard]] constexpr bool same_cluster(const place& x, const place& y) noexcept {
  return !x.host && !y.host && x.gpu == y.gpu && (x.cluster < 0 || y.cluster < 0 ? x.block == y.block : x.cluster == y.cluster);
}

/// Returns whether a comparison between two values holds.
[[nodiscard]] constexpr bool compare(comparison test, std::int64_t left, std::int64_t right) noexcept {
  switch (test) {
    case comparison::equal:
      return left == right;
    case comparison::not_equal:
      return left != right;
    case comparison::less:
      return left < right;
    case comparison::less_equal:
      return left <= right;
    case comparison::greater:
      return left > right;
    case comparison::greater_equal:
      return left >= right;
  }
  return false;
}

/// Returns the result of applying `what` to two values. Sums and products wrap around. A division by zero gives 0, because
/// tests have no traps.
[[nodiscard]] constexpr std::int64_t apply(operation what, std::int64_t left, std::int64_t right) noexcept {
  const auto l = static_cast<std::uint64_t>(left);
  const auto r = static_cast<std::uint64_t>(right);
  switch (what) {
    case operation::move:
    case operation::compare_exchange:
      return right;
    case operation::add:
      return static_cast<std::int64_t>(l + r);
    case operation::subtract:
      return static_cast<std::int64_t>(l - r);
    case operation::multiply:
      return static_cast<std::int64_t>(l * r);
    case operation::divide:
      return right == 0 ? 0 : right == -1 ? static_cast<std::int64_t>(std::uint64_t{0} - l) : left / right;
    case operation::bit_and:
      return static_cast<std::int64_t>(l & r);
    case operation::bit_or:
      return static_cast<std::int64_t>(l | r);
    case operation::bit_xor:
      return static_cast<std::int64_t>(l ^ r);
    case operation::minimum:
      return left < right ? left : right;
    case operation::maximum:
      return left < right ? right : left;
    case operation::increment:
      return l >= r ? 0 : static_cast<std::int64_t>(l + 1);
    case operation::decrement:
      return l == 0 || l > r ? right : static_cast<std::int64_t>(l - 1);
    case operation::is_equal:
      return left == right ? 1 : 0;
    case operation::is_not_equal:
      return left != right ? 1 : 0;
    case operation::is_less:
      return left < right ? 1 : 0;
    case operation::is_less_equal:
      return left <= right ? 1 : 0;
    case operation::is_greater:
      return left > right ? 1 : 0;
    case operation::is_greater_equal:
      return left >= right ? 1 : 0;
  }
  return 0;
}

}  // namespace model
}  // namespace v0_3
}  // namespace membar
