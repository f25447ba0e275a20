// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
/// @file
/// Determines which bytes of shared memory a matrix descriptor refers to.
#pragma once

#include <ptx/tensor_map.hpp>

#include <cstdint>

namespace membar::check {

using namespace ptx;

/// The descriptor of a matrix in shared memory. Source: PTX ISA, "Matrix Descriptor Format" of `wgmma`, "Shared memory
/// descriptor" of `tcgen05`.
struct matrix_descriptor {
  std::uint64_t start = 0;    ///< the low 18 bits of an address
  std::uint64_t leading = 0;  ///< the leading dimension's byte offset
  std::uint64_t stride = 0;   ///< the byte offset of the other dimension
  swizzle_mode swizzle = swizzle_mode::none;
  bool supported = true;

  static constexpr int address_bits = 18;

  [[nodiscard]] static constexpr matrix_descriptor of_warpgroup(std::uint64_t bits) noexcept {
    constexpr swizzle_mode modes[] = {swizzle_mode::none, swizzle_mode::bytes_128, swizzle_mode::bytes_64,
                                      swizzle_mode::bytes_32};
    matrix_descriptor d = offsets_of(bits);
    d.swizzle = modes[bits >> 62U];
    return d;
  }

  [[nodiscard]] static constexpr matrix_descriptor of_tensor_core(std::uint64_t bits) noexcept {
    matrix_descriptor d = offsets_of(bits);
    const std::uint64_t mode = bits >> 61U;
    d.swizzle = mode == 2   ? swizzle_mode::bytes_128
                : mode == 4 ? swizzle_mode::bytes_64
                : mode == 6 ? swizzle_mode::bytes_32
                            : swizzle_mode::none;
    d.supported = d.supported && mode % 2 == 0 && ((bits >> 52U) & 1U) == 0;
    return d;
  }

  /// Calls `use` with the address of each 16-byte piece of a matrix. `rows` is the number of rows of the result, and `pieces`
  /// is the number of pieces along the summed dimension. If `transposed`, each piece extends along the rows and contains eight
  /// 16-bit numbers. Source: CUTLASS, the canonical layouts in `mma_sm90_desc.hpp`.
  template <class Use>
  constexpr void for_each_piece(unsigned rows, unsigned pieces, bool transposed, const Use& use) const {
    const std::uint64_t width = swizzle == swizzle_mode::none ? 1 : row_of(swizzle) / 16;
    if (!transposed) {
      const std::uint64_t pitch = swizzle == swizzle_mode::none ? 16 : row_of(swizzle);
      const std::uint64_t step = swizzle == swizzle_mode::none ? leading : 16;
      for (std::uint64_t r = 0; r < rows; ++r) {
        for (std::uint64_t c = 0; c < pieces; ++c) {
          use(swizzled(swizzle, start + r / 8 * stride + r % 8 * pitch + c * step));
        }
      }
      return;
    }
    const bool plain = swizzle == swizzle_mode::none;
    for (std::uint64_t k = 0; k < 8 * std::uint64_t{pieces}; ++k) {
      for (std::uint64_t m = 0; m < rows / 8; ++m) {
        use(swizzled(swizzle, start + m % width * 16 + m / width * (plain ? stride : leading) + k % 8 * width * 16 +
                                  k / 8 * (plain ? leading : stride)));
      }
    }
  }

 private:
  [[nodiscard]] static constexpr matrix_descriptor offsets_of(std::uint64_t bits) noexcept {
    const auto field = [&](unsigned at) { return ((bits >> at) & 0x3fffU) << 4U; };
    return {field(0), field(16), field(32), swizzle_mode::none, ((bits >> 49U) & 7U) == 0};
  }
};

}  // namespace membar::check
