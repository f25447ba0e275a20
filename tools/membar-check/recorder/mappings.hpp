// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
/// @file
/// Memory of cuMemCreate, which is mapped to reserved addresses, perhaps to several, and which processes share by files and fabric handles. A memory has a
/// name: its process's number, and its number there. What another process has shared has a name of its own, which the handle connects with the other's.
#pragma once

#include <cuda.h>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "membar-check/recorder/hooks.hpp"
#include "membar-check/recorder/session.hpp"

namespace membar_record {

/// A memory, or a stretch of it, and where it is mapped.
struct memory_mapping {
  CUdeviceptr begin = 0;
  std::uint64_t bytes = 0;
  CUdeviceptr range = 0;  ///< the beginning of the reserved addresses that it is mapped to

  [[nodiscard]] bool has(CUdeviceptr at) const noexcept { return at >= begin && at - begin < bytes; }
};

/// The mapping that contains an address.
[[nodiscard]] std::optional<memory_mapping> mapping_at(CUdeviceptr at);
/// Everything that is mapped to the reserved addresses that begin here, by address.
[[nodiscard]] std::vector<memory_mapping> mapped_to(CUdeviceptr range);

// What the program does. Each writes what other processes or later recordings need to know of it.
void keep_reservation(CUdeviceptr begin, std::uint64_t bytes);
void drop_reservation(CUdeviceptr begin);
void keep_memory(CUmemGenericAllocationHandle handle, int device);
void keep_mapping(CUdeviceptr begin, std::uint64_t bytes, std::uint64_t offset, CUmemGenericAllocationHandle handle);
void drop_mappings(CUdeviceptr begin, std::uint64_t bytes);
/// `handle` is another name of what is mapped there.
void keep_handle_of(CUdeviceptr at, CUmemGenericAllocationHandle handle);
/// `shared`: what cuMemExportToShareableHandle has written.
void keep_export(const void* shared, CUmemGenericAllocationHandle handle, CUmemAllocationHandleType type);
/// `mark`: of the handle that was imported.
void keep_import(CUmemGenericAllocationHandle handle, const std::string& mark);
/// What is the same of a handle in all processes: a fabric handle's bytes, or what the process that has exported it has written into an open file. Empty
/// where it is of another kind or was exported without the recorder.
[[nodiscard]] std::string mark_of_import(const void* from, CUmemAllocationHandleType type);

template <hook_id Id>
CUresult on_reserved(CUdeviceptr* at, std::size_t bytes, std::size_t alignment, CUdeviceptr wanted, unsigned long long flags) {
  const CUresult result = next<Id>(at, bytes, alignment, wanted, flags);
  if (result == CUDA_SUCCESS && session::get().watches()) {
    quietly([&] { keep_reservation(*at, bytes); });
  }
  return result;
}

template <hook_id Id>
CUresult on_freed(CUdeviceptr at, std::size_t bytes) {
  if (session::get().watches()) {
    quietly([&] { drop_reservation(at); });
  }
  return next<Id>(at, bytes);
}

template <hook_id Id>
CUresult on_created(CUmemGenericAllocationHandle* handle, std::size_t bytes, const CUmemAllocationProp* of,
                    unsigned long long flags) {
  const CUresult result = next<Id>(handle, bytes, of, flags);
  if (result == CUDA_SUCCESS && session::get().watches()) {
    quietly([&] { keep_memory(*handle, of->location.type == CU_MEM_LOCATION_TYPE_DEVICE ? of->location.id : 0); });
  }
  return result;
}

template <hook_id Id>
CUresult on_placed(CUdeviceptr at, std::size_t bytes, std::size_t offset, CUmemGenericAllocationHandle handle,
                   unsigned long long flags) {
  const CUresult result = next<Id>(at, bytes, offset, handle, flags);
  if (result == CUDA_SUCCESS && session::get().watches()) {
    quietly([&] { keep_mapping(at, bytes, offset, handle); });
  }
  return result;
}

template <hook_id Id>
CUresult on_displaced(CUdeviceptr at, std::size_t bytes) {
  if (session::get().watches()) {
    quietly([&] { drop_mappings(at, bytes); });
  }
  return next<Id>(at, bytes);
}

template <hook_id Id>
CUresult on_retained(CUmemGenericAllocationHandle* handle, void* at) {
  const CUresult result = next<Id>(handle, at);
  if (result == CUDA_SUCCESS && session::get().watches()) {
    quietly([&] { keep_handle_of(reinterpret_cast<CUdeviceptr>(at), *handle); });
  }
  return result;
}

template <hook_id Id>
CUresult on_exported(void* to, CUmemGenericAllocationHandle handle, CUmemAllocationHandleType type, unsigned long long flags) {
  const CUresult result = next<Id>(to, handle, type, flags);
  if (result == CUDA_SUCCESS && session::get().watches()) {
    quietly([&] { keep_export(to, handle, type); });
  }
  return result;
}

template <hook_id Id>
CUresult on_imported(CUmemGenericAllocationHandle* handle, void* from, CUmemAllocationHandleType type) {
  const CUresult result = next<Id>(handle, from, type);
  if (result == CUDA_SUCCESS && session::get().watches()) {
    quietly([&] { keep_import(*handle, mark_of_import(from, type)); });
  }
  return result;
}

}  // namespace membar_record
