// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
/// @file
/// Tracks memory that cuMemCreate has allocated. Such memory is mapped into reserved address ranges, possibly several times,
/// and processes share it through file descriptors and fabric handles. An allocation's name consists of the process's number
/// and a number within the process. An imported allocation has its own name; the handle connects it with the exporter's
/// name.
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

/// An allocation, or a part of it, and where it is mapped.
struct memory_mapping {
  CUdeviceptr begin = 0;
  std::uint64_t bytes = 0;
  CUdeviceptr range = 0;  ///< the beginning of the reserved address range into which it is mapped

  [[nodiscard]] bool has(CUdeviceptr at) const noexcept { return at >= begin && at - begin < bytes; }
};

/// Returns the mapping that contains an address.
[[nodiscard]] std::optional<memory_mapping> mapping_at(CUdeviceptr at);
/// Returns all memory that is mapped into the reserved address range that begins at this address, sorted by address.
[[nodiscard]] std::vector<memory_mapping> mapped_to(CUdeviceptr range);

// Handlers of the program's calls. Each of them writes what other processes or later recordings need to know about the call.
void keep_reservation(CUdeviceptr begin, std::uint64_t bytes);
void drop_reservation(CUdeviceptr begin);
void keep_memory(CUmemGenericAllocationHandle handle, int device);
void keep_mapping(CUdeviceptr begin, std::uint64_t bytes, std::uint64_t offset, CUmemGenericAllocationHandle handle);
void drop_mappings(CUdeviceptr begin, std::uint64_t bytes);
/// Registers `handle` as another name for the memory that is mapped at an address.
void keep_handle_of(CUdeviceptr at, CUmemGenericAllocationHandle handle);
/// Handles an export. `shared` is the output of cuMemExportToShareableHandle.
void keep_export(const void* shared, CUmemGenericAllocationHandle handle, CUmemAllocationHandleType type);
/// Handles an import. `mark` is the mark of the imported handle.
void keep_import(CUmemGenericAllocationHandle handle, const std::string& mark);
/// Returns an identifier of a handle that is the same in all processes: the bytes of a fabric handle, or the mark that the
/// exporting process has set on an open file. Returns an empty string if the handle is of another kind or was exported by a
/// process without the recorder.
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
