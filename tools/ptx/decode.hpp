// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
/// @file
/// Translates a kernel's statements into executable instructions. Each call is replaced by the body of the called function.
#pragma once

#include <ptx/instruction.hpp>
#include <ptx/module.hpp>

#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <vector>

namespace membar::ptx {

/// The start of global memory in the checked program's address space. The checker chooses all addresses, and no result may
/// depend on their values.
inline constexpr std::uint64_t global_window = std::uint64_t{1} << 32U;
/// The start of the generic addresses of shared memory. Each block has a range of 4 GiB.
inline constexpr std::uint64_t shared_window = std::uint64_t{1} << 46U;
/// The start of the generic addresses of a thread's local memory.
inline constexpr std::uint64_t local_window = std::uint64_t{1} << 47U;
/// The start of the tensor-memory addresses. Each block has a range of 4 GiB. One location represents 16 lanes, because no
/// instruction accesses fewer lanes. There are 512 columns of 4 bytes.
inline constexpr std::uint64_t tensor_window = std::uint64_t{1} << 48U;
/// The start of the function addresses. No object is at these addresses.
inline constexpr std::uint64_t function_window = std::uint64_t{1} << 49U;
inline constexpr std::uint64_t tensor_columns = 512;
inline constexpr std::uint64_t tensor_lanes = 128;
inline constexpr std::uint64_t tensor_bytes = tensor_lanes / 16 * tensor_columns * 4;
/// The offset of the first object in each kind of memory. It is not 0, so that address 0 remains the null pointer.
inline constexpr std::uint64_t first_offset = 1024;

/// An executable kernel.
struct kernel_code {
  std::string name;
  std::vector<instruction> code;
  int words = 0;  ///< the number of 64-bit words that the registers occupy
  std::uint64_t local_bytes = 0;
  std::vector<ptx_variable> parameters;          ///< in declaration order
  std::vector<std::uint64_t> parameter_offsets;  ///< the offsets of the parameters in the argument buffer
  std::uint64_t parameter_bytes = 0;
  std::vector<std::pair<ptx_variable, std::uint64_t>> shared;  ///< variables in shared memory, with their offsets
  std::vector<std::string> files;
  bool tensor_memory = false;  ///< whether the kernel allocates tensor memory
  int most_threads = 0;        ///< the kernel's limit on threads per block; 0 if there is no limit
  bool pairs = false;          ///< whether the kernel has instructions with `.cta_group::2`
  /// whether an instruction starts an operation that holds registers until a thread waits for the operation
  bool holds_registers = false;
};

/// The offset of `extern __shared__` memory. It is separate from the other variables, whose layout is fixed before a launch
/// specifies the dynamic size. All `extern __shared__` variables are one object, as in CUDA. A matrix descriptor contains only
/// the low 18 bits of an address. In these bits, `extern __shared__` memory begins at 16 KiB, so its addresses differ from the
/// addresses of all variables below that offset.
inline constexpr std::uint64_t dynamic_offset = (std::uint64_t{1} << 24U) + (std::uint64_t{1} << 14U);

/// The position, in a shared-memory address, of the bits that identify a block of the cluster. These bits contain the block's
/// rank plus 1, or 0 for the thread's own block.
inline constexpr int block_shift = 26;

/// The addresses of a module's variables.
struct module_layout {
  std::map<std::string, std::uint64_t> globals;
  std::map<std::string, std::uint64_t> shared;
  std::uint64_t end = global_window + first_offset;
};

[[nodiscard]] constexpr std::uint64_t aligned(std::uint64_t value, std::uint64_t alignment) noexcept {
  return alignment <= 1 ? value : (value + alignment - 1) / alignment * alignment;
}

/// Assigns an address to every variable of a module. Each variable is followed by a gap that no access may reach into. If
/// `last`, the layout of another device, is given, managed variables keep their addresses in `last`, and all other variables
/// are placed after that layout.
[[nodiscard]] module_layout layout_of(const ptx_module& module, const module_layout* last = nullptr);

/// Marks the instructions that are targets of backward jumps.
void mark_heads(std::vector<instruction>& code);

/// Returns the executable code of a kernel. A load or store of a vector of up to `atomic_vector` bytes (8 or 16) becomes a
/// single access, although the PTX ISA does not guarantee this. Throws `model::error` with the line in the PTX text if the
/// kernel contains anything unknown.
[[nodiscard]] kernel_code decode_kernel(const ptx_module& module, const module_layout& layout, const ptx_function& kernel,
                                        int atomic_vector = 0);

}  // namespace membar::ptx
