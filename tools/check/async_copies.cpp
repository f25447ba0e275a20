// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <check/async_copies.hpp>
#include <check/machine.hpp>
#include <check/matrix_operand.hpp>
#include <check/program.hpp>
#include <membar/model/array.hpp>
#include <ptx/decode.hpp>
#include <ptx/instruction.hpp>
#include <ptx/tensor_map.hpp>

#include <algorithm>
#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace membar::check {

namespace {

// ---- the code of the threads that perform operations: one instruction per kind of access

[[nodiscard]] source_operand register_source(std::int32_t word) {
  source_operand o;
  o.kind = source_operand::kind_t::reg;
  o.word = word;
  return o;
}

/// Returns an access of `bytes` bytes to the address in the first register. A store writes the value in the second register.
[[nodiscard]] instruction access_of(op code, int bytes, model::proxy via) {
  instruction i;
  i.code = code;
  i.type = bytes == 16  ? ptx_type::b128
           : bytes == 8 ? ptx_type::b64
           : bytes == 4 ? ptx_type::b32
           : bytes == 2 ? ptx_type::b16
                        : ptx_type::b8;
  i.bytes = static_cast<std::uint8_t>(bytes);
  i.via = via;
  i.by[0] = register_source(copy_registers::address);
  i.by[1] = register_source(copy_registers::value);
  i.sources = code == op::load ? 1 : 2;
  if (code == op::load) {
    i.to[i.destinations++] = {copy_registers::value, static_cast<std::uint8_t>(bytes == 16 ? 128 : 64)};
  }
  i.text = (code == op::load ? "ld.b" : "st.b") + std::to_string(8 * bytes);
  return i;
}

[[nodiscard]] instruction reduction_of(model::operation what, ptx_type type, thread_scope scope, model::proxy via) {
  instruction i = access_of(op::reduction, bytes_of(type), via);
  i.type = type;
  i.what = what;
  i.strong = true;
  i.scope = scope;
  i.text = "red";
  return i;
}

[[nodiscard]] instruction update_of(mbarrier_op what, memory_order order, thread_scope scope) {
  instruction i = access_of(op::atomic, 8, model::proxy::generic);
  i.mbarrier = what;
  i.strong = true;
  i.order = order;
  i.scope = scope;
  i.own_block = true;
  i.text = what == mbarrier_op::arrive ? "mbarrier.arrive.release.cta.b64" : "mbarrier.complete_tx.relaxed.cluster.b64";
  return i;
}

[[nodiscard]] instruction completion() {
  return update_of(mbarrier_op::complete, memory_order::relaxed, thread_scope::cluster);
}
[[nodiscard]] instruction arrival() { return update_of(mbarrier_op::arrive, memory_order::release, thread_scope::block); }

/// Returns the release store or release reduction that instruction `of` performs.
[[nodiscard]] instruction releasing(const instruction& of) {
  instruction i = of.combines ? reduction_of(of.what, of.type, of.scope, of.via) : access_of(op::store, of.bytes, of.via);
  i.strong = true;
  i.order = memory_order::release;
  i.scope = of.scope;
  return i;
}

[[nodiscard]] instruction waiting(std::uint8_t mode, async_group group, const char* text) {
  instruction i;
  i.code = op::async_wait;
  i.mode = mode;
  i.group = group;
  i.text = text;
  return i;
}
[[nodiscard]] instruction wait_for_all() { return waiting(waits_for_all, async_group::copies, "cp.async.wait_all"); }
[[nodiscard]] instruction wait_for_tensor_operations() {
  return waiting(waits_for_all, async_group::tensor_operations, "a wait for the earlier operations");
}
[[nodiscard]] instruction remote_arrival() {
  return update_of(mbarrier_op::arrive, memory_order::release, thread_scope::cluster);
}
[[nodiscard]] instruction wait_for_starters() {
  return waiting(waits_for_starts, async_group::none, "a wait until all threads start the operation");
}

[[nodiscard]] bool does_the_same(const instruction& x, const instruction& y) noexcept {
  return x.code == y.code && x.bytes == y.bytes && x.via == y.via && x.mbarrier == y.mbarrier && x.scope == y.scope &&
         x.order == y.order && x.mode == y.mode && x.group == y.group &&
         (x.code != op::reduction || (x.what == y.what && x.type == y.type));
}

[[nodiscard]] thread_scope scope_of_reduction(const instruction& i) noexcept {
  return i.copies == copy_kind::values ? i.scope : thread_scope::device;
}

/// Returns the code that performs the asynchronous operations started by a program's kernels.
[[nodiscard]] kernel_code agent_for(const program& p) {
  kernel_code result;
  result.name = "an asynchronous copy";
  result.words = copy_registers::count;
  const auto add = [&](instruction i) {
    const auto same = [&](const instruction& o) { return does_the_same(i, o); };
    if (std::none_of(result.code.begin(), result.code.end(), same)) {
      result.code.push_back(std::move(i));
    }
  };
  for (const model::proxy via : {model::proxy::generic, model::proxy::async, model::proxy::tensor_map}) {
    for (const int bytes : {16, 8, 4, 2, 1}) {
      add(access_of(op::load, bytes, via));
      add(access_of(op::store, bytes, via));
    }
  }
  add(completion());
  add(arrival());
  add(wait_for_all());
  add(wait_for_starters());
  add(wait_for_tensor_operations());
  add(remote_arrival());
  for (const auto& kernel : p.kernels) {
    for (const instruction& i : kernel->code) {
      if (i.code == op::async_copy && i.combines && i.copies == copy_kind::tensor) {
        for (const tensor_type& t : tensor_types) {
          add(reduction_of(i.what, t.reduced_as, scope_of_reduction(i), i.via));
        }
      } else if (i.code == op::async_copy && i.order == memory_order::release) {
        add(releasing(i));
      } else if (i.code == op::async_copy && i.combines) {
        add(reduction_of(i.what, i.type, scope_of_reduction(i), i.via));
      }
    }
  }
  return result;
}

// ---- the accesses of one operation

/// Builds the list of an operation's accesses. All reads must be added before the writes that store their data.
class copy_plan {
 public:
  explicit copy_plan(const kernel_code& agent) : agent_(agent) {}

  /// Consecutive reads of an operation.
  struct part {
    std::int32_t first = -1;
    std::int16_t reads = 0;
  };

  /// Adds reads of `bytes` bytes starting at `address`, with the largest possible aligned accesses.
  part read(std::uint64_t address, std::uint64_t bytes, model::proxy via) {
    part result{static_cast<std::int32_t>(steps_.size()), 0};
    while (bytes > 0) {
      const std::uint64_t size = piece_at(address, bytes);
      add(access_of(op::load, static_cast<int>(size), via)).address = address;
      address += size;
      bytes -= size;
      ++result.reads;
    }
    return result;
  }

  /// Adds a single read of `bytes` bytes at `address`.
  part read_at_once(std::uint64_t address, int bytes, model::proxy via) {
    add(access_of(op::load, bytes, via)).address = address;
    return {static_cast<std::int32_t>(steps_.size()) - 1, 1};
  }

  /// Adds a write or reduction of the data in `taken`, skipping its first `shift` bytes. Writes zeros if `taken` is empty.
  void write(const instruction& by, std::uint64_t address, part taken, int shift = 0, bool unknown = false) {
    copy_step& step = add(by);
    step.address = address;
    step.first = taken.reads == 0 ? -1 : taken.first;
    step.reads = taken.reads;
    step.shift = static_cast<std::int8_t>(shift);
    step.value.unknown = unknown;
  }

  void write_value(const instruction& by, std::uint64_t address, wide_value value) {
    copy_step& step = add(by);
    step.address = address;
    step.value = value;
  }

  /// Returns the size of the largest aligned access that starts at `address` and has at most `bytes` bytes.
  [[nodiscard]] static std::uint64_t piece_at(std::uint64_t address, std::uint64_t bytes) noexcept {
    const std::uint64_t aligned_by = address == 0 ? 16 : address & (~address + 1);
    return std::min({std::uint64_t{16}, aligned_by, std::bit_floor(bytes)});
  }

  [[nodiscard]] std::vector<copy_step> steps() && { return std::move(steps_); }

 private:
  copy_step& add(const instruction& what) {
    if (last_ >= agent_.code.size() || !does_the_same(agent_.code[last_], what)) {
      const auto at =
          std::find_if(agent_.code.begin(), agent_.code.end(), [&](const auto& i) { return does_the_same(i, what); });
      last_ = static_cast<std::size_t>(at - agent_.code.begin());
    }
    copy_step& step = steps_.emplace_back();
    step.instruction = static_cast<std::uint16_t>(last_);
    step.bytes = what.bytes;
    return step;
  }

  const kernel_code& agent_;
  std::vector<copy_step> steps_{};
  std::size_t last_ = ~std::size_t{0};
};

/// Builds the request for one instruction.
class copy_planner {
 public:
  copy_planner(const kernel_code& agent, const program& p, const machine& m, const thread_state& s, const memory_reader& memory)
      : program_(p), machine_(m), state_(s), memory_(memory), i_(m.at(s)), plan_(agent) {}

  [[nodiscard]] copy_request request() {
    switch (i_.copies) {
      case copy_kind::arrival:
        result_.barrier = machine_.base_address(state_, i_);
        plan_.write_value(wait_for_all(), 0, {});
        plan_.write_value(arrival(), result_.barrier, {1, 0});
        break;
      case copy_kind::values:
        copy_values();
        break;
      case copy_kind::memory:
        copy_memory();
        break;
      case copy_kind::tensor:
        copy_box();
        break;
      case copy_kind::product:
        multiply();
        break;
      case copy_kind::answer:
        answer();
        break;
      case copy_kind::tensor_load:
      case copy_kind::tensor_store:
        access_tensor_memory();
        break;
      case copy_kind::tensor_fill:
        fill_tensor_memory();
        break;
      case copy_kind::tensor_product:
        multiply_to_tensor_memory();
        break;
      case copy_kind::tensor_commit:
        commit();
        break;
    }
    result_.steps = std::move(plan_).steps();
    return std::move(result_);
  }

 private:
  [[nodiscard]] std::uint64_t operand(int n) const { return machine_.operand(state_, n); }
  [[nodiscard]] std::uint64_t shared(std::uint64_t address) const { return machine_.generic(state_space::shared, address); }

  void refuse(std::string why, check_status status = check_status::undefined) {
    if (result_.wrong.empty()) {
      result_.wrong = std::move(why);
      result_.status = status;
    }
  }
  void give_up(std::string why) { refuse(std::move(why), check_status::gave_up); }

  /// Returns the instruction that writes a piece of `bytes` bytes with elements of the given type.
  [[nodiscard]] instruction writing(int bytes, ptx_type type) const {
    return i_.combines ? reduction_of(i_.what, type, scope_of_reduction(i_), i_.via) : access_of(op::store, bytes, i_.via);
  }

  void complete(std::uint64_t bytes) {
    if (result_.barrier != 0) {
      plan_.write_value(completion(), result_.barrier, {bytes, 0});
    }
  }

  /// For a multicast: replaces the addresses with the corresponding addresses in the block that receives the next copy.
  void choose_block(std::uint64_t blocks) {
    if (blocks == 0) {
      refuse("starts a multicast copy with an empty block mask");
    }
    for (unsigned k = 0; k < state_.part; ++k) {
      blocks &= blocks - 1;
    }
    const auto rank = static_cast<std::uint32_t>(std::countr_zero(blocks | (std::uint64_t{1} << 16U)));
    result_.to = shared(thread_context::in_block(rank, result_.to));
    result_.barrier = shared(thread_context::in_block(rank, result_.barrier));
    result_.last = (blocks & (blocks - 1)) == 0;
  }

  // ---- values and bytes

  /// Writes the response to a cluster launch control request. The checker's response is always that no launch was cancelled.
  void answer() {
    result_.to = machine_.base_address(state_, i_);
    result_.barrier = shared(operand(1));
    if (result_.to % 16 != 0) {
      refuse("requests a 16-byte response at an address that is not aligned to 16 bytes");
    }
    plan_.write_value(access_of(op::store, 16, i_.via), result_.to, {});
    complete(16);
  }

  void copy_values() {
    result_.to = machine_.base_address(state_, i_);
    if (i_.order == memory_order::release) {
      const wide_value value{machine_.is_unknown(state_, 1) ? 0 : operand(1), 0, machine_.is_unknown(state_, 1)};
      plan_.write_value(releasing(i_), result_.to, value);
      return;
    }
    result_.barrier = shared(operand(1 + i_.elements));
    for (int k = 0; k < i_.elements; ++k) {
      const wide_value value{machine_.is_unknown(state_, 1 + k) ? 0 : operand(1 + k), 0, machine_.is_unknown(state_, 1 + k)};
      plan_.write_value(writing(i_.bytes, i_.type), result_.to + static_cast<std::uint64_t>(k) * i_.bytes, value);
    }
    complete(std::uint64_t{i_.bytes} * i_.elements);
  }

  void copy_memory() {
    const bool small = i_.completes == model::completion::group;  // cp.async
    result_.to = machine_.base_address(state_, i_);
    result_.from = machine_.generic(i_.from_space, operand(1));
    const std::uint64_t bytes = truncated(operand(2), 32);
    const std::uint64_t read = !small || i_.sources <= 3 ? bytes
                               : !i_.ignores_source      ? truncated(operand(3), 32)
                               : (operand(3) & 1U) != 0  ? 0
                                                         : bytes;
    const std::uint64_t unit = small ? i_.bytes : 16;
    result_.barrier = i_.completes == model::completion::mbarrier ? shared(operand(3)) : 0;
    if (i_.multicast) {
      choose_block(truncated(operand(4), 16));
    }
    if (bytes == 0 || bytes % unit != 0) {
      refuse("starts a copy of " + std::to_string(bytes) + " bytes; the size must be a multiple of " + std::to_string(unit));
    } else if (read > bytes) {
      refuse("starts a copy that writes " + std::to_string(bytes) + " bytes but reads " + std::to_string(read));
    } else if (is_too_large(bytes)) {
      return;
    }
    if (!result_.wrong.empty()) {
      return;
    }
    std::vector<copy_plan::part> parts;
    for (std::uint64_t at = 0; at < bytes; at += i_.bytes) {
      const std::uint64_t here = std::min<std::uint64_t>(i_.bytes, read - std::min(read, at));
      parts.push_back(here == i_.bytes ? whole(result_.from + at) : plan_.read(result_.from + at, here, i_.via));
    }
    for (std::size_t k = 0; k < parts.size(); ++k) {
      i_.masked ? write_masked(result_.to + k * i_.bytes, parts[k])
                : plan_.write(writing(i_.bytes, i_.type), result_.to + k * i_.bytes, parts[k]);
    }
    complete(bytes);
  }

  /// Writes the bytes of a piece that the operation's byte mask selects.
  void write_masked(std::uint64_t address, copy_plan::part taken) {
    const std::uint64_t mask = truncated(operand(3), 16);
    for (std::uint64_t at = 0; at < 16;) {
      const auto set = static_cast<std::uint64_t>(std::countr_one(mask >> at));
      if (set == 0) {
        ++at;
        continue;
      }
      const std::uint64_t size = copy_plan::piece_at(address + at, set);
      plan_.write(access_of(op::store, static_cast<int>(size), i_.via), address + at, taken, static_cast<int>(at));
      at += size;
    }
  }

  /// Reads a whole piece. The piece's alignment is checked when the piece is accessed.
  [[nodiscard]] copy_plan::part whole(std::uint64_t address) { return plan_.read_at_once(address, i_.bytes, i_.via); }

  [[nodiscard]] bool is_too_large(std::uint64_t bytes) {
    if (bytes > most_copied) {
      give_up("starts a copy of " + std::to_string(bytes) + " bytes; copies of at most " + std::to_string(most_copied) +
              " bytes are supported: make the tile smaller");
    }
    return bytes > most_copied;
  }

  // ---- products of matrices in shared memory

  /// Reads the matrix that a descriptor describes. `block` is the rank, relative to the thread's own block, of the block that
  /// contains the matrix.
  void read_matrix(const matrix_descriptor& d, unsigned rows, unsigned pieces, bool transposed, int block = 0) {
    const memory_object* const object = object_of_descriptor(d.start);
    const std::uint64_t elsewhere = static_cast<std::uint64_t>(static_cast<std::int64_t>(block)) << 32U;
    if (!d.supported) {
      give_up(
          "uses a matrix descriptor with a base offset, which is not supported: align the matrix to its swizzling "
          "pattern");
    }
    if (object == nullptr || !result_.wrong.empty()) {
      return;
    }
    constexpr std::uint64_t ones = (std::uint64_t{1} << matrix_descriptor::address_bits) - 1;
    d.for_each_piece(rows, pieces, transposed, [&](std::uint64_t at) {
      const std::uint64_t address = object->address + ((at - object->address) & ones) + elsewhere;
      static_cast<void>(plan_.read_at_once(address, 16, i_.via));
    });
  }

  /// Returns the object in the block's shared memory that contains the address `start` from a matrix descriptor. A descriptor
  /// holds only the low bits of the address.
  [[nodiscard]] const memory_object* object_of_descriptor(std::uint64_t start) {
    constexpr std::uint64_t ones = (std::uint64_t{1} << matrix_descriptor::address_bits) - 1;
    const memory_object* found = nullptr;
    for (const memory_object& o : program_.memory) {
      const bool own = machine::is_shared(o.address) && o.address >> 32U == shared(0) >> 32U;
      if (own && ((start - o.address) & ones) < o.bytes) {
        if (found != nullptr) {
          give_up("uses a matrix descriptor whose address may be in '" + found->name + "' or in '" + o.name +
                  "': use less static shared memory");
        }
        found = &o;
      }
    }
    if (found == nullptr) {
      refuse(
          "uses a descriptor for a matrix at offset " + std::to_string(start) + " in shared memory, where there is no object",
          check_status::out_of_bounds);
    }
    return found;
  }

  void multiply() {
    const auto is = [&](std::uint8_t bit) { return (i_.mode & bit) != 0; };
    plan_.write_value(wait_for_starters(), 0, {});
    if (!is(first_is_in_registers)) {
      read_matrix(matrix_descriptor::of_warpgroup(operand(0)), i_.matrix_rows, 2, is(first_is_transposed));
    }
    read_matrix(matrix_descriptor::of_warpgroup(operand(1)), i_.matrix_columns, is(first_is_sparse) ? 4 : 2,
                is(second_is_transposed));
  }

  // ---- tensor memory

  /// Returns the address of a column for the group of 16 lanes that contains `lane`; these lanes share one address. `block` is
  /// the rank of the accessed block relative to the thread's own block.
  [[nodiscard]] std::uint64_t tensor_place(std::uint64_t lane, std::uint64_t column, int block = 0) const {
    const int own = thread_context::block_of(shared(0));
    return thread_context::tensor_base(own + block) + (lane / 16 * tensor_columns + column) * 4;
  }

  void read_columns(std::uint64_t lane, std::uint64_t column, std::uint64_t count, int block = 0) {
    static_cast<void>(plan_.read(tensor_place(lane, column, block), 4 * count, i_.via));
  }

  /// Writes columns. Their values are not tracked.
  void write_columns(std::uint64_t lane, std::uint64_t column, std::uint64_t count, int block = 0) {
    std::uint64_t address = tensor_place(lane, column, block);
    for (std::uint64_t left = 4 * count; left > 0;) {
      const std::uint64_t size = copy_plan::piece_at(address, left);
      plan_.write_value(access_of(op::store, static_cast<int>(size), i_.via), address, {0, 0, true});
      address += size;
      left -= size;
    }
  }

  /// Returns whether the columns are within tensor memory. Reports an error if they are not.
  [[nodiscard]] bool are_columns(std::uint64_t lane, std::uint64_t column, std::uint64_t count) {
    const bool fine = lane < tensor_lanes && column + count <= tensor_columns;
    if (!fine) {
      refuse("accesses " + std::to_string(count) + " columns of tensor memory starting at column " + std::to_string(column) +
                 " of lane " + std::to_string(lane) + "; tensor memory has 512 columns and 128 lanes",
             check_status::out_of_bounds);
    }
    return fine;
  }

  /// `tcgen05.ld` and `tcgen05.st`. Each warp accesses the quarter of the lanes that its number within the warpgroup selects.
  void access_tensor_memory() {
    const std::uint64_t address = truncated(operand(0), 32);
    const std::uint64_t lane = address >> 16U;
    const std::uint64_t column = truncated(address, 16);
    const std::uint64_t quarter = special_value(special::warp, machine_.context()) % 4;
    const bool both = i_.matrix_rows == 32 || i_.text.find("x32bx2") != std::string::npos;
    const std::uint64_t apart = i_.matrix_rows == 32 ? 0 : truncated(operand(1), 16);
    if (!are_columns(lane, column + (both ? apart : 0), i_.matrix_columns)) {
      return;
    }
    if (lane / 32 != quarter || (both && lane % 32 != 0)) {
      refuse("accesses tensor memory starting at lane " + std::to_string(lane) + " from a warp that can access only lanes " +
             std::to_string(32 * quarter) + " to " + std::to_string(32 * quarter + 31));
      return;
    }
    plan_.write_value(wait_for_starters(), 0, {});
    for (std::uint64_t half = 0; half < (both ? 2U : 1U); ++half) {
      i_.copies == copy_kind::tensor_load ? read_columns(lane + 16 * half, column + half * apart, i_.matrix_columns)
                                          : write_columns(lane + 16 * half, column + half * apart, i_.matrix_columns);
    }
  }

  /// `tcgen05.cp`.
  void fill_tensor_memory() {
    const std::uint64_t column = truncated(operand(0) + static_cast<std::uint64_t>(i_.offset), 16);
    if (!are_columns(0, column, i_.matrix_columns)) {
      return;
    }
    for (int block = 0; block < (i_.of_pair ? 2 : 1); ++block) {
      read_matrix(matrix_descriptor::of_tensor_core(operand(1)), i_.matrix_rows, i_.matrix_columns / 4U, false, block);
    }
    for (int block = 0; block < (i_.of_pair ? 2 : 1); ++block) {
      for (std::uint64_t lane = 0; lane < tensor_lanes; lane += 16) {
        write_columns(lane, column, i_.matrix_columns, block);
      }
    }
  }

  /// `tcgen05.mma`, which is ordered after the earlier operations with which it is pipelined. A product with 64 rows uses the
  /// first 16 lanes of each quarter.
  void multiply_to_tensor_memory() {
    const auto is = [&](std::uint8_t bit) { return (i_.mode & bit) != 0; };
    const std::uint64_t description = operand(3);
    const auto rows =
        static_cast<unsigned>(is(is_block_scaled) ? ((description >> 27U) & 3U) * 128 : ((description >> 24U) & 31U) * 16);
    const auto columns = static_cast<unsigned>(((description >> 17U) & 63U) * 8);
    const int blocks = i_.of_pair ? 2 : 1;
    const unsigned rows_here = rows / static_cast<unsigned>(blocks);
    const std::uint64_t column = truncated(operand(0), 16);
    if ((rows_here != 128 && !(rows_here == 64 && blocks == 1)) || columns == 0) {
      give_up("multiplies matrices of " + std::to_string(rows) + " rows and " + std::to_string(columns) +
              " columns; only 64 or 128 rows per block are supported");
    }
    if (i_.of_pair && machine_.context().cluster_rank % 2 != 0) {
      give_up("starts a block pair's multiplication in the second block: start it in the block with the even rank");
    }
    if (!result_.wrong.empty() || !are_columns(0, column, columns)) {
      return;
    }
    plan_.write_value(wait_for_tensor_operations(), 0, {});
    const auto each_lane = [&](const auto& use) {
      for (int block = 0; block < blocks; ++block) {
        for (std::uint64_t lane = 0; lane < tensor_lanes; lane += rows_here == 64 ? 32 : 16) {
          use(lane, block);
        }
      }
    };
    const unsigned pieces = is(first_is_sparse) ? 4 : 2;
    for (int block = 0; block < blocks; ++block) {
      if (!is(first_is_in_registers)) {
        read_matrix(matrix_descriptor::of_tensor_core(operand(1)), rows_here, 2, ((description >> 15U) & 1U) != 0, block);
      }
      read_matrix(matrix_descriptor::of_tensor_core(operand(2)), columns / static_cast<unsigned>(blocks), pieces,
                  ((description >> 16U) & 1U) != 0, block);
    }
    each_lane([&](std::uint64_t lane, int block) {
      if (is(first_is_in_registers)) {
        read_columns(lane, truncated(operand(1), 16), 8, block);
      }
      if ((operand(4) & 1U) != 0) {
        read_columns(lane, column, columns, block);
      }
    });
    each_lane([&](std::uint64_t lane, int block) { write_columns(lane, column, columns, block); });
  }

  /// `tcgen05.commit`.
  void commit() {
    result_.barrier = shared(operand(0) + static_cast<std::uint64_t>(i_.offset));
    if (i_.multicast) {
      choose_block(truncated(operand(1), 16));
    }
    plan_.write_value(wait_for_tensor_operations(), 0, {});
    plan_.write_value(remote_arrival(), result_.barrier, {1, 0});
  }

  // ---- boxes of tensors

  /// Finds the instruction's tensor map. If the program can change the map, the operation first reads it. Returns false if
  /// there is no map.
  [[nodiscard]] bool read_map() {
    const std::uint64_t address = operand(map_operand);
    const auto holds = [&](const memory_object& o) {
      return address >= o.address && address - o.address < o.bytes && o.bytes - (address - o.address) >= tensor_map_bytes;
    };
    const auto object = std::find_if(program_.memory.begin(), program_.memory.end(), holds);
    if (object == program_.memory.end() || address % 64 != 0) {
      refuse("starts a copy with a tensor map that " +
             std::string(object == program_.memory.end()
                             ? "is not in any memory of the scenario: pass one that a 'tensor_map' line defines"
                             : "is not aligned to 64 bytes"));
      return false;
    }
    tensor_map::words words{};
    for (std::size_t k = 0; k < words.size(); ++k) {
      const wide_value word = memory_(address + 8 * k);
      words[k] = word.low;
      if (word.unknown) {
        give_up("starts a copy with a tensor map into which an unknown value was written");
      }
    }
    if (!object->constant) {
      static_cast<void>(plan_.read(address, tensor_map_bytes, model::proxy::tensor_map));
    }
    if (result_.wrong.empty() && !tensor_map::decoded(words, map_)) {
      refuse("starts a copy whose operand is not a tensor map: pass one that a 'tensor_map' line defines");
    }
    return result_.wrong.empty();
  }

  [[nodiscard]] std::uint64_t elements(std::size_t d) const noexcept {
    return d == 0 ? map_.box[0] : i_.of_rows ? 4 : (map_.box[d] + map_.steps[d] - 1) / map_.steps[d];
  }

  /// Reports an error if the instruction cannot use the map. Source: PTX ISA, "Tensors"; CUDA driver API,
  /// `cuTensorMapEncodeTiled`.
  void check_map() {
    const std::uint64_t row = map_.box[0] * map_.strides[0];
    const std::uint64_t swizzled_row = row_of(static_cast<swizzle_mode>(map_.swizzle));
    if (map_.rank != i_.dimensions) {
      refuse("starts a " + std::to_string(i_.dimensions) + "-dimensional copy with a " + std::to_string(map_.rank) +
             "-dimensional tensor map");
    } else if (map_.interleave != 0 || map_.atomicity != 0 || map_.swizzle > 3) {
      give_up(
          "starts a copy with a tensor map that has an interleaved layout or a swizzle atom larger than 16 bytes, which is "
          "not supported: check the kernel with another layout");
    } else if (row == 0 || row % 16 != 0 || (swizzled_row != 0 && row > swizzled_row)) {
      refuse("starts a copy with rows of " + std::to_string(row) + " bytes; a row's size must be a multiple of 16 bytes" +
             (swizzled_row != 0 ? " and at most " + std::to_string(swizzled_row) + " bytes in this swizzling mode" : ""));
    } else if (swizzled_row != 0 && row < swizzled_row) {
      give_up("starts a copy with rows of " + std::to_string(row) + " bytes and a swizzle size of " +
              std::to_string(swizzled_row) + " bytes, which is not supported: make the rows as long as the swizzle size");
    } else if (map_.address % 16 != 0) {
      refuse("starts a copy with a tensor map whose tensor is not aligned to 16 bytes");
    }
    for (std::size_t d = 1; d < static_cast<std::size_t>(map_.rank) && result_.wrong.empty(); ++d) {
      if (map_.strides[d] % 16 != 0 || map_.steps[d] == 0 || map_.box[d] == 0) {
        refuse("starts a copy with a tensor map that has an empty box, or a stride that is not a multiple of 16 bytes");
      }
    }
  }

  /// A 16-byte piece of the box, and which of its bytes are inside the tensor.
  struct box_piece {
    std::uint64_t shared = 0;
    std::uint64_t global = 0;  ///< the address of the first element in the tensor
    std::uint64_t before = 0;  ///< the number of the piece's bytes that precede the tensor
    std::uint64_t bytes = 0;   ///< the number of the piece's bytes that are inside the tensor
  };

  [[nodiscard]] box_piece piece_of_box(std::uint64_t at) const {
    const std::uint64_t element = map_.strides[0];
    const std::uint64_t row_bytes = map_.box[0] * element;
    const auto coordinate = [&](std::size_t n) {
      return static_cast<std::int64_t>(static_cast<std::int32_t>(operand(first_coordinate + static_cast<int>(n))));
    };
    box_piece result;
    result.shared = swizzled(static_cast<swizzle_mode>(map_.swizzle), box_ + at);
    std::uint64_t rest = at / row_bytes;
    bool inside = true;
    std::uint64_t global = map_.address;
    for (std::size_t d = 1; d < static_cast<std::size_t>(map_.rank); ++d) {
      const std::uint64_t n = rest % elements(d);
      rest /= elements(d);
      const std::int64_t c = i_.of_rows ? coordinate(1 + static_cast<std::size_t>(n))
                                        : coordinate(d) + static_cast<std::int64_t>(n * map_.steps[d]);
      inside = inside && c >= 0 && c < static_cast<std::int64_t>(map_.extents[d]);
      global += static_cast<std::uint64_t>(c) * map_.strides[d];
    }
    const auto width = static_cast<std::int64_t>(16 / element);
    const std::int64_t first = coordinate(0) + static_cast<std::int64_t>(at % row_bytes / element);
    const std::int64_t begin = std::max<std::int64_t>(first, 0);
    const std::int64_t end = std::min<std::int64_t>(first + width, map_.extents[0]);
    if (inside && begin < end) {
      result.before = static_cast<std::uint64_t>(begin - first) * element;
      result.bytes = static_cast<std::uint64_t>(end - begin) * element;
      result.global = global + static_cast<std::uint64_t>(begin) * element;
    }
    return result;
  }

  void copy_box() {
    const bool loads = i_.from_space == state_space::global;
    box_ = machine_.base_address(state_, i_);
    (loads ? result_.to : result_.from) = box_;
    result_.barrier = loads ? shared(operand(barrier_operand)) : 0;
    if (i_.multicast) {
      choose_block(truncated(operand(mask_operand), 16));
      box_ = result_.to;
    }
    if (!result_.wrong.empty() || !read_map()) {
      return;
    }
    check_map();
    std::uint64_t bytes = map_.strides[0];
    for (std::size_t d = 0; d < static_cast<std::size_t>(map_.rank) && bytes <= most_copied; ++d) {
      bytes *= elements(d);
    }
    if (box_ % 128 != 0) {
      refuse("starts a copy of a box whose address in shared memory is not aligned to 128 bytes");
    }
    if (!result_.wrong.empty() || is_too_large(bytes)) {
      return;
    }
    loads ? load_box(bytes) : store_box(bytes);
    complete(bytes);
  }

  /// Copies a box from the tensor to shared memory. Elements outside the tensor become 0, or NaN if the map requests it; the
  /// value of a piece that contains such a NaN is not tracked.
  void load_box(std::uint64_t bytes) {
    std::vector<std::pair<box_piece, copy_plan::part>> pieces;
    for (std::uint64_t at = 0; at < bytes; at += 16) {
      const box_piece piece = piece_of_box(at);
      pieces.emplace_back(piece, piece.bytes == 0 ? copy_plan::part{} : plan_.read(piece.global, piece.bytes, i_.via));
    }
    const instruction store = access_of(op::store, 16, i_.via);
    for (const auto& [piece, part] : pieces) {
      plan_.write(store, piece.shared, part, -static_cast<int>(piece.before), map_.fill != 0 && piece.bytes < 16);
    }
  }

  /// Copies a box from shared memory to the tensor. Elements outside the tensor are not written.
  void store_box(std::uint64_t bytes) {
    std::vector<std::pair<box_piece, copy_plan::part>> pieces;
    for (std::uint64_t at = 0; at < bytes; at += 16) {
      const box_piece piece = piece_of_box(at);
      pieces.emplace_back(piece, plan_.read_at_once(piece.shared, 16, i_.via));
    }
    const tensor_type& type = tensor_types[map_.type];
    for (const auto& [piece, part] : pieces) {
      for (std::uint64_t done = 0; done < piece.bytes;) {
        const std::uint64_t address = piece.global + done;
        const std::uint64_t size = i_.combines ? type.bytes : copy_plan::piece_at(address, piece.bytes - done);
        plan_.write(writing(static_cast<int>(size), type.reduced_as), address, part, static_cast<int>(piece.before + done));
        done += size;
      }
    }
  }

  // The positions of a tensor copy's operands that follow the address in shared memory.
  static constexpr int map_operand = 1;
  static constexpr int barrier_operand = 2;
  static constexpr int first_coordinate = 3;
  static constexpr int mask_operand = tensor_mask_operand;

  const program& program_;
  const machine& machine_;
  const thread_state& state_;
  const memory_reader& memory_;
  const instruction& i_;
  copy_plan plan_;
  copy_request result_{};
  tensor_map map_{};
  std::uint64_t box_ = 0;  ///< the address of the box in shared memory
};

}  // namespace

bool starts_copies(const kernel_code& kernel) {
  return std::any_of(kernel.code.begin(), kernel.code.end(), [](const instruction& i) { return i.code == op::async_copy; });
}

bool asks_launch_control(const program& p) {
  return std::any_of(p.kernels.begin(), p.kernels.end(), [](const auto& kernel) {
    return std::any_of(kernel->code.begin(), kernel->code.end(),
                       [](const instruction& i) { return i.code == op::async_copy && i.copies == copy_kind::answer; });
  });
}

bool starts_copies(const program& p) {
  return std::any_of(p.kernels.begin(), p.kernels.end(), [](const auto& kernel) { return starts_copies(*kernel); });
}

bool may_depend_on(const program& p, const finding& f, model::reading one) {
  if (f.status != check_status::race && f.status != check_status::undefined) {
    return false;
  }
  if (one == model::reading::whole_updates_are_observed) {
    return std::ranges::any_of(
        f.events, [](const trace_event& e) { return e.blamed && e.event.rmw && e.event.kind == model::event_kind::read; });
  }
  const auto uses_mbarriers = [](const kernel_code& kernel) {
    return std::ranges::any_of(kernel.code, [](const instruction& i) { return i.mbarrier != mbarrier_op::none; });
  };
  return std::ranges::any_of(p.kernels, [&](const auto& kernel) { return starts_copies(*kernel) || uses_mbarriers(*kernel); });
}

copied_data data_of(std::span<const copy_step> steps, const kernel_code& agent) {
  copied_data result;
  for (const copy_step& step : steps) {
    const instruction& i = model::at(agent.code, step.instruction);
    if (i.mbarrier != mbarrier_op::none) {
      continue;
    }
    if (i.code == op::load) {
      result.read = result.read == nullptr ? &step : result.read;
      result.bytes_read += step.bytes;
    } else if (i.code == op::store || i.code == op::reduction) {
      result.written = result.written == nullptr ? &step : result.written;
      result.bytes_written += step.bytes;
      result.reduces = i.code == op::reduction;
    }
  }
  return result;
}

kernel_code code_of_copies(const program& p) { return agent_for(p); }

program with_copies(const program& p, const std::vector<copy_counts_of_thread>& each) {
  program result = p;
  result.copies = true;
  auto agent = std::make_shared<kernel_code>(agent_for(p));
  auto registers = std::make_shared<register_use>();
  registers->unused.assign(agent->code.size(), false);
  result.kernels.push_back(agent);
  for (int t = 0; t < model::count_of(p.threads); ++t) {
    thread_context c = model::at(p.threads, t);
    c.kernel = agent.get();
    c.parameters.clear();
    c.copies_of = t;
    c.registers = registers;
    for (std::size_t k = 0; k < std::size(starter_counts); ++k) {
      c.starters = starter_counts[k];
      result.threads.insert(result.threads.end(), static_cast<std::size_t>(model::at(each, t)[k]), c);
    }
  }
  return result;
}

std::string misplaced(const instruction& i, const thread_context& c, const copy_request& r) {
  const auto is_own = [&](std::uint64_t address) { return thread_context::block_of(address) == c.block_number; };
  if (i.copies == copy_kind::arrival) {
    return is_own(r.barrier) ? "" : "signals the completion of its copies on another block's mbarrier";
  }
  if (i.copies == copy_kind::tensor_commit) {
    return {};
  }
  const bool from_shared = i.from_space == state_space::shared || (r.from != 0 && machine::is_shared(r.from));
  if (from_shared && !is_own(r.from)) {
    return "starts a copy from another block's shared memory";
  }
  if (i.space == state_space::shared && r.to != 0 && i.own_block && !is_own(r.to)) {
    return "uses '.shared::cta' for a copy to another block's shared memory";
  }
  if (i.space == state_space::shared && r.barrier != 0 && !i.of_pair &&
      thread_context::block_of(r.barrier) != thread_context::block_of(r.to)) {
    return "starts a copy whose mbarrier is in a different block than its destination";
  }
  return {};
}

copy_request copy_started(const kernel_code& agent, const program& p, const machine& m, const thread_state& s,
                          const memory_reader& memory) {
  return copy_planner(agent, p, m, s, memory).request();
}

}  // namespace membar::check
