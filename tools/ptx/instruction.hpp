// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
/// @file
/// PTX instructions in an executable form.
#pragma once

#include <membar/memory_order.hpp>
#include <membar/model/program.hpp>
#include <membar/thread_scope.hpp>
#include <ptx/words.hpp>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace membar::ptx {

/// The operation of an instruction.
enum class op : std::uint8_t {
  // instructions that use only registers
  move,
  pack,    ///< mov.b64 %rd, {%r1, %r2}
  unpack,  ///< mov.b64 {%r1, %r2}, %rd
  convert,
  to_generic,    ///< cvta.space
  from_generic,  ///< cvta.to.space
  is_space,
  add,
  subtract,
  multiply_low,
  multiply_high,
  multiply_wide,
  multiply_add_low,
  multiply_add_high,
  multiply_add_wide,
  fused_multiply_add,
  divide,
  remainder,
  negate,
  absolute,
  minimum,
  maximum,
  copy_sign,
  reciprocal,
  inverse_root,
  power_of_two,  ///< ex2
  logarithm,     ///< lg2
  sine,
  cosine,
  hyperbolic,  ///< tanh
  square_root,
  bit_and,
  bit_or,
  bit_xor,
  bit_not,
  logical_not,  ///< cnot
  shift_left,
  shift_right,
  funnel_left,
  funnel_right,
  field_extract,
  field_insert,
  bit_mask,  ///< bmsk
  permute,
  count_ones,
  count_leading_zeros,
  reverse_bits,
  find_leading_one,
  three_inputs,           ///< lop3
  dot_product,            ///< dp4a, dp2a
  difference_sum,         ///< sad
  multiply_24,            ///< mul24, mad24
  add_carrying,           ///< add.cc, addc
  subtract_carrying,      ///< sub.cc, subc
  multiply_add_carrying,  ///< mad.cc, madc
  is_class,               ///< testp
  set_number,             ///< set
  select_by_sign,         ///< slct
  extend_bits,            ///< szext
  set_predicate,
  select,
  map_to_block,    ///< mapa: an address in another block's shared memory
  block_rank,      ///< getctarank
  load_param,      ///< loads a parameter of the kernel
  free_columns,    ///< tcgen05.dealloc
  register_fence,  ///< wgmma.fence: orders register accesses before matrix operations
  unknown_result,  ///< the results are unknown, because the data is not tracked
  nothing,         ///< has no effect on the check, for example nanosleep, prefetch and cache hints
  // control flow
  branch,
  branch_index,
  exit,
  trap,
  unsupported,  ///< accepted, but stops any thread that reaches it
  // instructions that other threads observe
  load,
  store,
  atomic,
  reduction,
  fence,
  block_barrier,  ///< bar.sync, bar.red: an arrival, then a wait
  block_arrive,   ///< bar.arrive: only an arrival
  warp_barrier,
  shuffle,
  vote,
  match,
  warp_reduce,
  elect,
  active_mask,
  cluster_arrive,  ///< barrier.cluster.arrive
  cluster_wait,    ///< barrier.cluster.wait
  proxy_fence,     ///< fence.proxy.async
  async_copy,      ///< starts copies, stores or reductions that are performed later
  async_commit,    ///< ends a group of asynchronous operations
  async_wait,      ///< waits for groups of asynchronous operations
  grid_launch,     ///< griddepcontrol.launch_dependents
  grid_wait        ///< griddepcontrol.wait
};

/// The operation that an instruction performs on an mbarrier. An mbarrier is a 64-bit location, so the instruction is a store,
/// a read-modify-write or a load.
enum class mbarrier_op : std::uint8_t { none, init, invalidate, arrive, arrive_drop, expect, expect_arrival, complete, test };

/// Returns whether the operation is an arrival.
[[nodiscard]] constexpr bool arrives(mbarrier_op operation) noexcept {
  return operation == mbarrier_op::arrive || operation == mbarrier_op::arrive_drop;
}

/// The kinds of memory to which proxy fences apply: global memory, the shared memory of the thread's own block, the shared
/// memory of another block in its cluster, tensor maps, and tensor memory. Tensor maps and tensor memory each have their own
/// proxy.
enum class proxy_space : std::uint8_t { global, own_shared, other_shared, tensor_maps, tensor_memory };
inline constexpr int proxy_spaces = 5;

/// The kinds of one-directional proxy fences. A releasing and an acquiring fence form a pair only if they are of the same kind.
enum class one_way : std::uint8_t { async, tensor_maps, tensor_memory };
inline constexpr int one_ways = 3;

/// Returns the bit that represents a space in `instruction::proxy_spaces`.
[[nodiscard]] constexpr std::uint8_t bit_of(proxy_space space) noexcept {
  return static_cast<std::uint8_t>(1U << static_cast<unsigned>(space));
}
inline constexpr std::uint8_t every_proxy_space =
    bit_of(proxy_space::global) | bit_of(proxy_space::own_shared) | bit_of(proxy_space::other_shared);

/// The kinds of asynchronous operations.
enum class copy_kind : std::uint8_t {
  memory,   ///< copies or reduces bytes
  values,   ///< stores or reduces values from registers
  arrival,  ///< arrives at an mbarrier when the earlier copies are complete
  tensor,   ///< copies or reduces a box of a tensor
  product,  ///< wgmma.mma_async: reads matrices in shared memory
  answer,   ///< clusterlaunchcontrol.try_cancel: writes 16 bytes
  // operations on tensor memory
  tensor_load,     ///< tcgen05.ld: to registers
  tensor_store,    ///< tcgen05.st: from registers
  tensor_fill,     ///< tcgen05.cp: copies from shared memory
  tensor_product,  ///< tcgen05.mma
  tensor_commit    ///< tcgen05.commit: arrives at an mbarrier when copies and products are complete
};

/// The kinds of groups in which asynchronous operations are committed and waited for.
enum class async_group : std::uint8_t { none, copies, bulk, products, tensor_loads, tensor_stores, tensor_operations };

/// The memory to which a `fence.proxy.async` with the given word applies, encoded as in `instruction::proxy_spaces`. Without a
/// word, the fence applies to all memory.
inline constexpr meaning<std::uint8_t> proxy_space_words[] = {
    {"global", bit_of(proxy_space::global)},
    {"shared::cta", bit_of(proxy_space::own_shared)},
    {"shared::cluster", bit_of(proxy_space::own_shared) | bit_of(proxy_space::other_shared)}};

/// Returns whether instructions with this opcode are events of the memory model or synchronize with other threads.
[[nodiscard]] constexpr bool is_event(op code) noexcept { return code >= op::load; }

/// Returns whether the instruction ends the thread or makes it continue at an instruction other than the next one.
[[nodiscard]] constexpr bool leaves(op code) noexcept { return code >= op::branch && code <= op::trap; }

/// The values of `instruction::mode` for an `async_wait`. Such an instruction waits for groups, for all operations of its kind,
/// or for all threads that are about to start an operation together.
inline constexpr std::uint8_t waits_for_groups = 0;
inline constexpr std::uint8_t waits_for_all = 1;
inline constexpr std::uint8_t waits_for_starts = 2;

/// The bits of `instruction::mode` for a matrix product: which operands are transposed (their rows run along the summation
/// index), whether the first operand is in registers, and whether it is sparse.
inline constexpr std::uint8_t first_is_transposed = 1;
inline constexpr std::uint8_t second_is_transposed = 2;
inline constexpr std::uint8_t first_is_in_registers = 4;
inline constexpr std::uint8_t first_is_sparse = 8;
inline constexpr std::uint8_t is_block_scaled = 16;

/// The index of the source operand that selects the blocks that receive a tensor copy's data. The sources before it are the
/// location in shared memory, the tensor map, the mbarrier, and the coordinates.
inline constexpr int tensor_mask_operand = 8;

/// A source operand: nothing, a register, a constant or a special register.
struct source_operand {
  enum class kind_t : std::uint8_t { none, reg, constant, special };
  kind_t kind = kind_t::none;
  bool negated = false;  ///< `!%p`
  special machine = special::lane;
  std::int32_t word = -1;  ///< the first word of the register
  std::uint64_t low = 0;   ///< the value of a constant, or an offset that is added to the register
};

/// Returns whether a source is the time.
[[nodiscard]] constexpr bool is_clock(const source_operand& o) noexcept {
  return o.kind == source_operand::kind_t::special && (o.machine == special::clock || o.machine == special::nanoseconds);
}

/// A destination register.
struct destination_operand {
  std::int32_t word = -1;  ///< -1 if the result is discarded
  std::uint8_t bits = 32;
};

/// The bits of `instruction::mode` for conversions: the rounding direction, and whether the result is clamped to the range of
/// its type (0 to 1 for floats).
inline constexpr std::uint8_t rounds_down = 1;
inline constexpr std::uint8_t rounds_up = 2;
inline constexpr std::uint8_t rounds_to_zero = 3;
inline constexpr std::uint8_t saturates = 4;

/// The bits of `instruction::mode` for additions with carry: whether they use the upper half of a product, whether they read
/// the carry, and whether they set it.
inline constexpr std::uint8_t of_upper_half = 1;
inline constexpr std::uint8_t takes_carry = 2;
inline constexpr std::uint8_t gives_carry = 4;

/// Returns whether the last source of an instruction is the carry flag.
[[nodiscard]] constexpr bool has_carry(op code) noexcept {
  return code == op::add_carrying || code == op::subtract_carrying || code == op::multiply_add_carrying;
}

/// The bits of `instruction::mode` for `dp4a` and `dp2a`: which sources are signed, and which half of the second source is
/// used.
inline constexpr std::uint8_t first_is_signed = 1;
inline constexpr std::uint8_t second_is_signed = 2;
inline constexpr std::uint8_t two_products = 4;
inline constexpr std::uint8_t of_upper_products = 8;

/// The width of an mbarrier's arrival count, in bits. Source: PTX ISA, "Contents of the mbarrier object".
inline constexpr int mbarrier_count_bits = 20;

/// The text of a `trap` that represents a failed `assert`.
inline constexpr const char* assertion_text = "assertion that fails";

/// An executable instruction. Members that an operation does not use have their default values.
struct instruction {
  op code = op::nothing;
  ptx_type type = ptx_type::b32;
  ptx_type from = ptx_type::none;  ///< for convert: the type of the source
  ptx_comparison test = ptx_comparison::eq;
  model::operation what = model::operation::move;  ///< for atomics: the operation; for set_predicate and bar.red: how the
                                                   ///< results are combined
  bool combines = false;                           ///< for set_predicate: whether there is a third operand; for copies: whether
                                                   ///< they are reductions
  /// depends on the opcode: the kind of shuffle or vote, shf.clamp, or the saturation and rounding of a conversion
  std::uint8_t mode = 0;
  bool guard_negated = false;
  bool strong = false;
  bool non_coherent = false;  ///< for loads: whether they use the proxy for read-only data
  bool own_block = false;     ///< whether its address must be in the executing block's own shared memory
  bool aligned = false;       ///< for barriers: whether all threads of a warp must execute the same barrier instruction
  bool head = false;          ///< whether it is the target of a backward jump
  mbarrier_op mbarrier = mbarrier_op::none;
  bool transaction = false;          ///< for arrivals at an mbarrier: whether they also add expected bytes
  bool parity = false;               ///< for tests of an mbarrier: whether they identify the phase by its parity
  bool keeps_phase = false;          ///< for arrivals: whether they must not complete the phase
  bool is_expected = false;          ///< for arrivals of copies: whether they also increase the expected count
  bool restricted = false;           ///< for fences: whether they apply only to the initialization of mbarriers
  bool reads_only = false;           ///< for waits for groups: whether they wait only until the sources have been read
  bool multicast = false;            ///< for copies: whether they copy to several blocks
  bool of_pair = false;              ///< whether it has `.cta_group::2`
  bool ignores_source = false;       ///< for cp.async: whether the last operand is a predicate; if it is true, the copy writes
                                     ///< zeros, and otherwise the operand is the number of bytes that are read
  bool masked = false;               ///< for bulk copies: whether the last operand selects which of every 16 bytes are copied
  std::uint8_t map_field = 0;        ///< for tensormap.replace: the index of the field in `tensor_map_fields`
  bool of_rows = false;              ///< for tensor copies: whether they copy four rows, given by their indices
  std::uint8_t dimensions = 0;       ///< for tensor copies: the number of dimensions
  std::uint8_t performers = 1;       ///< the number of threads of a block that start the operation together
  std::uint16_t matrix_rows = 0;     ///< for matrix products: the number of rows; for tensor memory: the number of lanes that a
                                     ///< warp accesses
  std::uint16_t matrix_columns = 0;  ///< for tensor memory: the number of columns that are accessed
  /// whether it allocates columns of tensor memory; it then stores the address of the first column
  bool allocates = false;
  bool hinted = false;              ///< for copies: whether the last operand is a cache policy, which the decoder
                                    ///< drops
  std::uint8_t rows = 0;            ///< for loads and stores of matrices: the number of lanes that access a row
  std::uint16_t row_bytes = 0;      ///< the number of bytes in each row, if the distance between rows is an operand
  std::uint8_t row_element = 0;     ///< the number of bytes in one unit of this distance
  std::uint8_t proxy_spaces = 0;    ///< for proxy fences: one bit for each `proxy_space`
  one_way fenced = one_way::async;  ///< for one-directional proxy fences: the kind
  state_space from_space = state_space::generic;  ///< for copies: the state space of the source
  model::completion completes = model::completion::group;
  copy_kind copies = copy_kind::memory;      ///< for asynchronous operations: the kind
  async_group group = async_group::none;     ///< the kind of group in which the operation is committed, or that the instruction
                                             ///< commits or waits for
  model::proxy via = model::proxy::generic;  ///< for asynchronous operations: the proxy of their accesses
  memory_order order = memory_order::relaxed;
  thread_scope scope = thread_scope::system;
  state_space space = state_space::generic;
  std::uint8_t bytes = 0;     ///< for memory accesses: the size of one element
  std::uint8_t elements = 1;  ///< for memory accesses: the number of elements of a vector, including packed ones
  std::uint8_t packed = 1;    ///< for read-modify-writes: the number of elements in one register
  std::uint8_t sources = 0;
  std::uint8_t destinations = 0;
  std::int32_t guard = -1;  ///< the word of the predicate register, or -1
  std::int32_t target = -1;
  std::int64_t offset = 0;  ///< for memory accesses: the offset that is added to source 0
  std::array<destination_operand, 8> to{};
  std::array<source_operand, 12> by{};
  std::vector<std::int32_t> targets{};  ///< for branch_index: the possible targets
  /// The register words that an asynchronous operation holds until a thread waits for it: first those that it writes, then
  /// those that it reads.
  std::vector<std::int32_t> held{};
  std::size_t held_results = 0;
  int line = 0;  ///< the line in the PTX text
  int file = 0;
  int source_line = 0;
  /// the line shown in reports: the innermost line in the chain of inlined calls that is not in a library, or the instruction's
  /// own line if that is unknown
  int user_file = 0;
  int user_line = 0;
  /// the line outside libraries that calls the function of the shown line, if it is not the outermost line
  int via_file = 0;
  int via_line = 0;
  int caller_file = 0;  ///< the outermost line in the chain of inlined calls that is not in a library
  int caller_line = 0;
  std::string text{};
  /// for instructions that are accepted but not executed: why they are not executed, and what to do about it
  std::string reason{};
};

/// Calls `go` with each position at which a thread may continue after instruction `i` at position `pc`. If the thread always
/// ends there, does not call `go`. `runs` is true if the instruction may be executed, and `skipped` is true if its guard may be
/// false.
template <class Go>
void for_each_next(const instruction& i, std::int32_t pc, const Go& go, bool runs = true, bool skipped = true) {
  if (runs && i.code == op::branch) {
    go(i.target);
  }
  if (runs && i.code == op::branch_index) {
    std::for_each(i.targets.begin(), i.targets.end(), go);
  }
  if ((runs && !leaves(i.code)) || (skipped && i.guard >= 0)) {
    go(pc + 1);
  }
}

/// Returns whether a vector access acquires or releases. The accesses to the elements are unordered, so executing them as a
/// sequence of ordering accesses would order the elements too strongly. If the accesses are relaxed, their program order adds
/// no ordering beyond what fences and barriers provide. Source: PTX ISA, "Vector Data-types" of the memory consistency model.
[[nodiscard]] constexpr bool acquires_or_releases_a_vector(const instruction& i) noexcept {
  return i.elements > 1 && i.order != memory_order::relaxed;
}

/// Returns the alignment that the access to element `part` must have. The access to the first element must have the alignment
/// of the whole vector. Source: PTX ISA, "Addresses as Operands".
[[nodiscard]] constexpr std::uint64_t alignment_of(const instruction& i, int part) noexcept {
  return std::uint64_t{i.bytes} * (part == 0 ? i.elements : 1U);
}

/// Returns the low `bits` bits of a number.
[[nodiscard]] constexpr std::uint64_t truncated(std::uint64_t value, int bits) noexcept {
  return bits >= 64 ? value : value & ((std::uint64_t{1} << static_cast<unsigned>(bits)) - 1);
}

/// Extends a value to 64 bits. The value is sign-extended if the type is signed.
[[nodiscard]] constexpr std::uint64_t extended(std::uint64_t value, ptx_type type) noexcept {
  const int bits = bytes_of(type) * 8;
  if (bits >= 64) {
    return value;
  }
  const std::uint64_t low = truncated(value, bits);
  const std::uint64_t sign = std::uint64_t{1} << static_cast<unsigned>(bits - 1);
  return is_signed(type) ? (low ^ sign) - sign : low;
}

}  // namespace membar::ptx
