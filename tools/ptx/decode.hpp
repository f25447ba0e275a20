// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
/// @file
/// From the statements of a kernel to instructions that can be executed. Calls are replaced by the body of what they call.
#pragma once

#include <ptx/instruction.hpp>
#include <ptx/module.hpp>

#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <vector>

namespace membar::ptx {

/// Where the memory of the checked program lies. Addresses are the checker's own; nothing may depend on their values.
inline constexpr std::uint64_t global_window = std::uint64_t{1} << 32U;
/// Generic addresses of shared memory; each block has 4 GiB of them.
inline constexpr std::uint64_t shared_window = std::uint64_t{1} << 46U;
/// Generic addresses of a thread's local memory.
inline constexpr std::uint64_t local_window = std::uint64_t{1} << 47U;
/// Tensor memory; each block has 4 GiB of addresses. 16 lanes are one place here, of 512 columns of 4 bytes: instructions access no fewer.
inline constexpr std::uint64_t tensor_window = std::uint64_t{1} << 48U;
inline constexpr std::uint64_t tensor_columns = 512;
inline constexpr std::uint64_t tensor_lanes = 128;
inline constexpr std::uint64_t tensor_bytes = tensor_lanes / 16 * tensor_columns * 4;
/// The first address of each kind of memory, so that 0 is none.
inline constexpr std::uint64_t first_offset = 1024;

/// A kernel that can be executed.
struct kernel_code {
  std::string name;
  std::vector<instruction> code;
  int words = 0;  ///< registers, in units of 64 bits
  std::uint64_t local_bytes = 0;
  std::vector<ptx_variable> parameters;          ///< in their order
  std::vector<std::uint64_t> parameter_offsets;  ///< in the buffer of arguments
  std::uint64_t parameter_bytes = 0;
  std::vector<std::pair<ptx_variable, std::uint64_t>> shared;  ///< variables in shared memory and their offsets
  std::vector<std::string> files;
  bool tensor_memory = false;    ///< it allocates some
  bool pairs = false;            ///< some instruction belongs to a pair of blocks
  bool holds_registers = false;  ///< some instruction starts an operation that holds registers until it is waited for
};

/// Where `extern __shared__` memory begins: apart from all variables, whose size is known before that of a launch. All such
/// variables are one, as in CUDA. Descriptors of matrices have the last 18 bits of an address, which the variables do not use.
inline constexpr std::uint64_t dynamic_offset = (std::uint64_t{1} << 24U) + (std::uint64_t{1} << 14U);

/// The bits of a shared memory address that name the block of the cluster begin here: its rank plus 1, or 0 for the thread's own block.
inline constexpr int block_shift = 26;

/// The addresses of a module's variables in global and constant memory.
struct module_layout {
  std::map<std::string, std::uint64_t> globals;
  std::map<std::string, std::uint64_t> shared;
  std::uint64_t end = global_window + first_offset;
};

[[nodiscard]] constexpr std::uint64_t aligned(std::uint64_t value, std::uint64_t alignment) noexcept {
  return alignment <= 1 ? value : (value + alignment - 1) / alignment * alignment;
}

/// Gives every variable of a module its address, with a gap after it that no access may reach into. For another device than those that
/// `last` is the last layout of: managed variables are where they are there, and the others are behind it.
[[nodiscard]] module_layout layout_of(const ptx_module& module, const module_layout* last = nullptr);

/// Marks the instructions that jumps backward lead to.
void mark_heads(std::vector<instruction>& code);

/// A kernel of a module. Throws `model::error`, with the line in the PTX text, for what is not known. A load or store of a vector of up to
/// `atomic_vector` bytes, 8 or 16, is one access: an assumption that the PTX ISA does not make.
[[nodiscard]] kernel_code decode_kernel(const ptx_module& module, const module_layout& layout, const ptx_function& kernel,
                                        int atomic_vector = 0);

}  // namespace membar::ptx
