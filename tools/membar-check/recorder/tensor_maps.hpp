// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
/// @file
/// Records how each tensor map was created. The driver's encoding is not documented, so maps in arguments and memory are
/// recognized by their bytes.
#pragma once

#include <cuda.h>

#include <cstddef>
#include <cstdint>
#include <nlohmann/json.hpp>
#include <optional>
#include <string_view>
#include <utility>

#include "membar-check/recorder/hooks.hpp"
#include "membar-check/recorder/session.hpp"

namespace membar_record {

/// Records how a map was created. `line` contains its address and its parameters.
void keep_tensor_map(const CUtensorMap& map, nlohmann::json line);
/// Records a map that was equal to `before` until its address was replaced.
void keep_moved_map(const CUtensorMap& before, const CUtensorMap& map, CUdeviceptr address);
/// Returns the address of the tensor if the 128 bytes are a tensor map.
[[nodiscard]] std::optional<CUdeviceptr> tensor_of_map(std::string_view bytes);
/// Calls `each(map, address)` for each tensor map in a sequence of 8-byte words.
template <class Do>
void for_each_tensor_map(std::string_view bytes, const Do& each) {
  for (std::size_t at = 0; at + sizeof(CUtensorMap) <= bytes.size(); at += 8) {
    const std::string_view map = bytes.substr(at, sizeof(CUtensorMap));
    if (const auto address = tensor_of_map(map)) {
      each(map, *address);
    }
  }
}

template <hook_id Id>
CUresult on_tensor_map(CUtensorMap* map, CUtensorMapDataType type, cuuint32_t rank, void* address, const cuuint64_t* extents,
                       const cuuint64_t* strides, const cuuint32_t* box, const cuuint32_t* steps,
                       CUtensorMapInterleave interleave, CUtensorMapSwizzle swizzle, CUtensorMapL2promotion promotion,
                       CUtensorMapFloatOOBfill fill) {
  const CUresult result =
      next<Id>(map, type, rank, address, extents, strides, box, steps, interleave, swizzle, promotion, fill);
  if (result == CUDA_SUCCESS && session::get().watches()) {
    quietly([&] {
      nlohmann::json line{{"address", reinterpret_cast<CUdeviceptr>(address)},
                          {"type", static_cast<int>(type)},
                          {"interleave", static_cast<int>(interleave)},
                          {"swizzle", static_cast<int>(swizzle)},
                          {"fill", static_cast<int>(fill)}};
      for (cuuint32_t d = 0; d < rank; ++d) {
        line["dims"].push_back(extents[d]);
        line["box"].push_back(box[d]);
        line["element_strides"].push_back(steps[d]);
        if (d > 0) {
          line["strides"].push_back(strides[d - 1]);
        }
      }
      keep_tensor_map(*map, std::move(line));
    });
  }
  return result;
}

/// Handles the functions for the two im2col modes, which differ in the parameters after the address. These parameters are
/// word-sized and are passed on.
template <hook_id Id, class... Words>
CUresult im2col_map(CUtensorMap* map, CUtensorMapDataType type, cuuint32_t rank, void* address, Words... words) {
  const CUresult result = next<Id>(map, type, rank, address, words...);
  if (result == CUDA_SUCCESS && session::get().watches()) {
    quietly([&] { keep_tensor_map(*map, {{"address", reinterpret_cast<CUdeviceptr>(address)}, {"mode", "im2col"}}); });
  }
  return result;
}

using word = std::uintptr_t;
template <hook_id Id>
CUresult on_im2col_map(CUtensorMap* map, CUtensorMapDataType type, cuuint32_t rank, void* address, word a, word b, word c,
                       word d, word e, word f, word g, word h, word i, word j, word k) {
  return im2col_map<Id>(map, type, rank, address, a, b, c, d, e, f, g, h, i, j, k);
}
template <hook_id Id>
CUresult on_im2col_wide_map(CUtensorMap* map, CUtensorMapDataType type, cuuint32_t rank, void* address, word a, word b, word c,
                            word d, word e, word f, word g, word h, word i, word j, word k, word l) {
  return im2col_map<Id>(map, type, rank, address, a, b, c, d, e, f, g, h, i, j, k, l);
}

template <hook_id Id>
CUresult on_map_address(CUtensorMap* map, void* address) {
  CUtensorMap before{};
  if (map != nullptr) {
    before = *map;
  }
  const CUresult result = next<Id>(map, address);
  if (result == CUDA_SUCCESS && session::get().watches()) {
    quietly([&] { keep_moved_map(before, *map, reinterpret_cast<CUdeviceptr>(address)); });
  }
  return result;
}

}  // namespace membar_record
