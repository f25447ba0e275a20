// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
/// @file
/// The checker's encoding of tensor maps: 128 bytes in which each field has its own bits, so that `tensormap.replace` only
/// needs to change a field's bits. The hardware's encoding is not documented.
#pragma once

#include <ptx/words.hpp>

#include <array>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <string_view>

namespace membar::ptx {

inline constexpr std::uint64_t tensor_map_bytes = 128;
inline constexpr std::size_t tensor_map_words = tensor_map_bytes / 8;
inline constexpr int most_dimensions = 5;

/// An element type of a tensor. The types are in the order of their numbers in the PTX ISA, "tensormap.replace".
struct tensor_type {
  std::string_view word;
  ptx_type reduced_as;  ///< the type in which a reduction is computed
  std::uint8_t bytes;
};
inline constexpr tensor_type tensor_types[] = {
    {"u8", ptx_type::u8, 1},       {"u16", ptx_type::u16, 2}, {"u32", ptx_type::u32, 4},   {"s32", ptx_type::s32, 4},
    {"u64", ptx_type::u64, 8},     {"s64", ptx_type::s64, 8}, {"f16", ptx_type::f16, 2},   {"f32", ptx_type::f32, 4},
    {"f32.ftz", ptx_type::f32, 4}, {"f64", ptx_type::f64, 8}, {"bf16", ptx_type::bf16, 2}, {"tf32", ptx_type::f32, 4},
    {"tf32.ftz", ptx_type::f32, 4}};

/// The swizzling modes. Each one permutes 16-byte pieces within rows of the given size in shared memory. The values are the
/// same as in `tensormap.replace`.
enum class swizzle_mode : std::uint8_t { none, bytes_32, bytes_64, bytes_128 };

/// Returns the size in bytes of the rows within which pieces are permuted, or 0 if they are not permuted.
[[nodiscard]] constexpr std::uint64_t row_of(swizzle_mode mode) noexcept {
  return mode == swizzle_mode::none ? 0 : std::uint64_t{16} << static_cast<unsigned>(mode);
}

/// Returns the swizzled position of the byte at `address`: the position of its piece within the row is XORed with the row
/// number, which begins at bit 7 of the address. Source: PTX ISA, "Swizzling modes"; CUTLASS, `cute::Swizzle<1..3, 4, 3>`.
[[nodiscard]] constexpr std::uint64_t swizzled(swizzle_mode mode, std::uint64_t address) noexcept {
  const std::uint64_t pieces = (std::uint64_t{1} << static_cast<unsigned>(mode)) - 1;
  return address ^ (((address >> 7U) & pieces) << 4U);
}

/// A field of a tensor map: the 64-bit word that contains the field, and the field's bits in that word.
struct tensor_map_field {
  std::string_view word;  ///< the name of the field in `tensormap.replace`
  std::uint8_t at;        ///< the index of the word, or of the first dimension's word
  std::uint8_t bit;
  std::uint8_t bits;
  bool of_dimension;
};
inline constexpr tensor_map_field tensor_map_fields[] = {
    {"global_address", 0, 0, 64, false},    {"rank", 1, 32, 4, false},          {"elemtype", 1, 36, 4, false},
    {"interleave_layout", 1, 40, 4, false}, {"swizzle_mode", 1, 44, 4, false},  {"fill_mode", 1, 48, 4, false},
    {"swizzle_atomicity", 1, 52, 4, false}, {"global_stride", 2, 0, 64, true},  {"global_dim", 6, 0, 32, true},
    {"box_dim", 6, 32, 16, true},           {"element_stride", 6, 48, 16, true}};

/// The low half of word 1, which marks a tensor map.
inline constexpr std::uint64_t tensor_map_mark = 0x70614d54;

/// A tensor and the box that a copy transfers. The elements of dimension 0 are contiguous, and `strides[0]` is the size of an
/// element.
struct tensor_map {
  std::uint64_t address = 0;
  int rank = 1;
  std::uint8_t type = 0;  ///< an index into `tensor_types`
  std::uint8_t interleave = 0;
  std::uint8_t swizzle = 0;
  std::uint8_t fill = 0;  ///< the value of elements outside the tensor: 0 for zero, 1 for NaN
  std::uint8_t atomicity = 0;
  std::array<std::uint64_t, most_dimensions> strides{};
  std::array<std::uint32_t, most_dimensions> extents{};
  std::array<std::uint32_t, most_dimensions> box{};
  std::array<std::uint32_t, most_dimensions> steps{};

  using words = std::array<std::uint64_t, tensor_map_words>;

  [[nodiscard]] constexpr words encoded() const noexcept {
    words w{};
    w[0] = address;
    w[1] = tensor_map_mark | static_cast<std::uint64_t>(rank - 1) << 32U | std::uint64_t{type} << 36U |
           std::uint64_t{interleave} << 40U | std::uint64_t{swizzle} << 44U | std::uint64_t{fill} << 48U |
           std::uint64_t{atomicity} << 52U;
    for (std::size_t d = 0; d < most_dimensions; ++d) {
      if (d > 0) {
        w[1 + d] = strides[d];
      }
      w[6 + d] = extents[d] | std::uint64_t{box[d]} << 32U | std::uint64_t{steps[d]} << 48U;
    }
    return w;
  }

  /// Decodes a tensor map of 128 bytes. Returns false if the bytes are not a tensor map.
  [[nodiscard]] static constexpr bool decoded(const words& w, tensor_map& map) noexcept {
    const auto field = [&](unsigned bit) { return static_cast<std::uint8_t>((w[1] >> bit) & 15U); };
    map.address = w[0];
    map.rank = field(32) + 1;
    map.type = field(36);
    map.interleave = field(40);
    map.swizzle = field(44);
    map.fill = field(48);
    map.atomicity = field(52);
    if ((w[1] & 0xffffffffU) != tensor_map_mark || map.rank > most_dimensions || map.type >= std::size(tensor_types)) {
      return false;
    }
    map.strides[0] = tensor_types[map.type].bytes;
    for (std::size_t d = 0; d < most_dimensions; ++d) {
      map.strides[d] = d > 0 ? w[1 + d] : map.strides[0];
      map.extents[d] = static_cast<std::uint32_t>(w[6 + d]);
      map.box[d] = static_cast<std::uint32_t>((w[6 + d] >> 32U) & 0xffffU);
      map.steps[d] = static_cast<std::uint32_t>(w[6 + d] >> 48U);
    }
    return true;
  }
};

}  // namespace membar::ptx
