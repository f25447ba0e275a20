// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
/// @file
/// PTX instructions in a form that can be executed.
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

/// What an instruction does.
enum class op : std::uint8_t {
  // registers only
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
  load_param,      ///< a parameter of the kernel
  free_columns,    ///< tcgen05.dealloc
  register_fence,  ///< wgmma.fence: orders accesses of registers before those of matrix operations
  unknown_result,  ///< computes data that is not followed: the results are unknown
  nothing,         ///< nanosleep, prefetch, discard of hints
  // the thread's path
  branch,
  branch_index,
  exit,
  trap,
  unsupported,  ///< it is read, and a thread that reaches it is given up
  // other threads see these
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
  async_commit,    ///< the end of a group of them
  async_wait,      ///< for groups
  grid_launch,     ///< griddepcontrol.launch_dependents
  grid_wait        ///< griddepcontrol.wait
};

/// What an instruction does to an mbarrier, which is a location of 64 bits: a store, a read-modify-write or a load.
enum class mbarrier_op : std::uint8_t { none, init, invalidate, arrive, arrive_drop, expect, expect_arrival, complete, test };

/// Whether the operation is an arrival.
[[nodiscard]] constexpr bool arrives(mbarrier_op operation) noexcept {
  return operation == mbarrier_op::arrive || operation == mbarrier_op::arrive_drop;
}

/// What a proxy fence is for. Shared memory is that of the thread's own block, or of another one of its cluster.
/// The other two are of memory that is read through proxies of their own: tensor maps, and tensor memory.
enum class proxy_space : std::uint8_t { global, own_shared, other_shared, tensor_maps, tensor_memory };
inline constexpr int proxy_spaces = 5;

/// What proxy fences of one direction are for: those that release and those that acquire are of one kind.
enum class one_way : std::uint8_t { async, tensor_maps, tensor_memory };
inline constexpr int one_ways = 3;

/// The bit of a space in `instruction::proxy_spaces`.
[[nodiscard]] constexpr std::uint8_t bit_of(proxy_space space) noexcept {
  return static_cast<std::uint8_t>(1U << static_cast<unsigned>(space));
}
inline constexpr std::uint8_t every_proxy_space =
    bit_of(proxy_space::global) | bit_of(proxy_space::own_shared) | bit_of(proxy_space::other_shared);

/// What an asynchronous operation does.
enum class copy_kind : std::uint8_t {
  memory,   ///< copies or reduces bytes
  values,   ///< stores or reduces values of registers
  arrival,  ///< arrives at an mbarrier when earlier copies are done
  tensor,   ///< copies or reduces a box of a tensor
  product,  ///< wgmma.mma_async: reads matrices in shared memory
  answer,   ///< clusterlaunchcontrol.try_cancel: writes 16 bytes
  // of tensor memory
  tensor_load,     ///< tcgen05.ld: to registers
  tensor_store,    ///< tcgen05.st: from registers
  tensor_fill,     ///< tcgen05.cp: from shared memory
  tensor_product,  ///< tcgen05.mma
  tensor_commit    ///< tcgen05.commit: arrives at an mbarrier when the two above are done
};

/// The groups in which asynchronous operations are committed and waited for.
enum class async_group : std::uint8_t { none, copies, bulk, products, tensor_loads, tensor_stores, tensor_operations };

/// The memory that a `fence.proxy.async` is for, by its word: as `instruction::proxy_spaces`. Without a word it is for all.
inline constexpr meaning<std::uint8_t> proxy_space_words[] = {
    {"global", bit_of(proxy_space::global)},
    {"shared::cta", bit_of(proxy_space::own_shared)},
    {"shared::cluster", bit_of(proxy_space::own_shared) | bit_of(proxy_space::other_shared)}};

/// Whether the instruction is an event of the memory model, or a meeting with other threads.
[[nodiscard]] constexpr bool is_event(op code) noexcept { return code >= op::load; }

/// Whether a thread that executes it goes elsewhere than to the instruction after it.
[[nodiscard]] constexpr bool leaves(op code) noexcept { return code >= op::branch && code <= op::trap; }

/// What `instruction::mode` of an `async_wait` says: a wait for groups; for all operations of its kind; of what performs an operation of several
/// threads: for all of them to start it.
inline constexpr std::uint8_t waits_for_groups = 0;
inline constexpr std::uint8_t waits_for_all = 1;
inline constexpr std::uint8_t waits_for_starts = 2;

/// Of a product of matrices, bits of `instruction::mode`: which operand has its rows along the sum, that the first one is in registers, and
/// that it is sparse.
inline constexpr std::uint8_t first_is_transposed = 1;
inline constexpr std::uint8_t second_is_transposed = 2;
inline constexpr std::uint8_t first_is_in_registers = 4;
inline constexpr std::uint8_t first_is_sparse = 8;
inline constexpr std::uint8_t is_block_scaled = 16;

/// Of a tensor copy: the source that says which blocks get it. The sources before it are the place in shared memory, the tensor map, the
/// mbarrier, and the coordinates.
inline constexpr int tensor_mask_operand = 8;

/// A source: nothing, a register, a constant or a special register.
struct source_operand {
  enum class kind_t : std::uint8_t { none, reg, constant, special };
  kind_t kind = kind_t::none;
  bool negated = false;  ///< `!%p`
  special machine = special::lane;
  std::int32_t word = -1;  ///< the register's first word
  std::uint64_t low = 0;   ///< of a constant; added to a register
};

/// A destination register.
struct destination_operand {
  std::int32_t word = -1;  ///< -1: thrown away
  std::uint8_t bits = 32;
};

/// What a conversion rounds to, and that a result is clamped to its range, which is 0 to 1 for floats: bits of `instruction::mode`.
inline constexpr std::uint8_t rounds_down = 1;
inline constexpr std::uint8_t rounds_up = 2;
inline constexpr std::uint8_t rounds_to_zero = 3;
inline constexpr std::uint8_t saturates = 4;

/// Of additions with carry, bits of `instruction::mode`: of the upper half of a product, takes the carry, gives it.
inline constexpr std::uint8_t of_upper_half = 1;
inline constexpr std::uint8_t takes_carry = 2;
inline constexpr std::uint8_t gives_carry = 4;

/// Whether an instruction has the carry flag as its last source.
[[nodiscard]] constexpr bool has_carry(op code) noexcept {
  return code == op::add_carrying || code == op::subtract_carrying || code == op::multiply_add_carrying;
}

/// Of `dp4a` and `dp2a`, bits of `instruction::mode`: which sources are signed, and which half of the second is taken.
inline constexpr std::uint8_t first_is_signed = 1;
inline constexpr std::uint8_t second_is_signed = 2;
inline constexpr std::uint8_t two_products = 4;
inline constexpr std::uint8_t of_upper_products = 8;

/// The bits of an mbarrier's arrival count. Source: PTX ISA, "Contents of the mbarrier object".
inline constexpr int mbarrier_count_bits = 20;

/// The text of a `trap` that stands for an `assert` which does not hold.
inline constexpr const char* assertion_text = "assertion that fails";

/// One executable instruction. Members that its operation does not use keep their defaults.
struct instruction {
  op code = op::nothing;
  ptx_type type = ptx_type::b32;
  ptx_type from = ptx_type::none;  ///< convert: the source's type
  ptx_comparison test = ptx_comparison::eq;
  model::operation what = model::operation::move;  ///< atomics; set_predicate and bar.red: how the results are combined
  bool combines = false;                           ///< set_predicate: there is a third operand
  std::uint8_t mode = 0;                           ///< shuffle and vote kinds, shf.clamp, conversions that saturate or round
  bool guard_negated = false;
  bool strong = false;
  bool non_coherent = false;  ///< a load through the proxy of read-only data
  bool own_block = false;     ///< its address has to be in the shared memory of the block that executes it
  bool aligned = false;       ///< a barrier: all threads of a warp execute the same one
  bool head = false;          ///< a jump backward leads here
  mbarrier_op mbarrier = mbarrier_op::none;
  bool transaction = false;          ///< an arrival on an mbarrier: expects bytes
  bool parity = false;               ///< a test of an mbarrier: names the phase by its parity
  bool keeps_phase = false;          ///< an arrival that may not complete the phase
  bool is_expected = false;          ///< the arrival of copies: the phase expects it in addition
  bool restricted = false;           ///< a fence for the initialization of mbarriers only
  bool reads_only = false;           ///< a wait for groups: for the reading of their sources
  bool multicast = false;            ///< a copy to several blocks
  bool of_pair = false;              ///< by `.cta_group::2`
  bool masked = false;               ///< a bulk copy: of some bytes of each 16, as the last operand says
  std::uint8_t map_field = 0;        ///< tensormap.replace: which of `tensor_map_fields`
  bool of_rows = false;              ///< a tensor copy: of four rows that are named
  std::uint8_t dimensions = 0;       ///< of a tensor copy
  std::uint8_t performers = 1;       ///< an operation that this many threads of a block start together
  std::uint16_t matrix_rows = 0;     ///< of a product of matrices; of tensor memory: lanes of a warp that are accessed
  std::uint16_t matrix_columns = 0;  ///< of tensor memory: columns that are accessed
  bool allocates = false;            ///< a store of the first of this many new columns of tensor memory
  bool hinted = false;               ///< a copy whose last operand is a cache policy, which decoding leaves out
  std::uint8_t rows = 0;             ///< a load or store of matrices: how many lanes access a row
  std::uint16_t row_bytes = 0;       ///< of each row, if the rows are a distance apart that is an operand
  std::uint8_t row_element = 0;      ///< the bytes that the distance counts
  std::uint8_t proxy_spaces = 0;     ///< a proxy fence: a bit for each `proxy_space`
  one_way fenced = one_way::async;   ///< a proxy fence of one direction
  state_space from_space = state_space::generic;  ///< a copy's source
  model::completion completes = model::completion::group;
  copy_kind copies = copy_kind::memory;      ///< of an asynchronous operation
  async_group group = async_group::none;     ///< that it is committed in, or that is committed or waited for
  model::proxy via = model::proxy::generic;  ///< accesses of asynchronous operations
  memory_order order = memory_order::relaxed;
  thread_scope scope = thread_scope::system;
  state_space space = state_space::generic;
  std::uint8_t bytes = 0;     ///< memory: the size of one element
  std::uint8_t elements = 1;  ///< memory: of a vector, and of packed numbers
  std::uint8_t packed = 1;    ///< read-modify-writes: elements in one register
  std::uint8_t sources = 0;
  std::uint8_t destinations = 0;
  std::int32_t guard = -1;  ///< word of the predicate
  std::int32_t target = -1;
  std::int64_t offset = 0;  ///< memory: added to source 0
  std::array<destination_operand, 8> to{};
  std::array<source_operand, 12> by{};
  std::vector<std::int32_t> targets{};  ///< branch_index
  /// The words that an operation holds until it is waited for: those that it writes, then those that it reads.
  std::vector<std::int32_t> held{};
  std::size_t held_results = 0;
  int line = 0;  ///< in the PTX text
  int file = 0;
  int source_line = 0;
  int caller_file = 0;
  int caller_line = 0;
  std::string text{};
  std::string reason{};  ///< of one that is read and not executed: why, and what to do
};

/// Calls `go` with each place in the code that a thread may come to from instruction `i`, which is at `pc`: none where it ends. `runs`: the
/// instruction may be executed; `skipped`: its guard may be false.
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

/// Whether an access of a vector acquires or releases. Elements are in no order, and so one that orders would order the others too much; for
/// relaxed ones program order says nothing that no fence or barrier says. Source: PTX ISA, "Vector Data-types" of the memory consistency model.
[[nodiscard]] constexpr bool acquires_or_releases_a_vector(const instruction& i) noexcept {
  return i.elements > 1 && i.order != memory_order::relaxed;
}

/// The bytes of which an access of memory at `address` has to start at a multiple: those of the whole vector where it is the first
/// element's. Source: PTX ISA, "Addresses as Operands".
[[nodiscard]] constexpr std::uint64_t alignment_of(const instruction& i, int part) noexcept {
  return std::uint64_t{i.bytes} * (part == 0 ? i.elements : 1U);
}

/// A number of `bits` bits, the rest 0.
[[nodiscard]] constexpr std::uint64_t truncated(std::uint64_t value, int bits) noexcept {
  return bits >= 64 ? value : value & ((std::uint64_t{1} << static_cast<unsigned>(bits)) - 1);
}

/// The value as 64 bits: by its sign if the type is signed.
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
