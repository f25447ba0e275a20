// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The driver functions that membar looks up by name through the runtime.
#include "call.hpp"

#include <cuda.h>

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <iterator>

namespace fake_cuda {

namespace driver {

/// The same as `answer`, but for the driver, whose error codes are the same as the runtime's.
CUresult answer(auto body, const char* name = __builtin_FUNCTION()) {
  return static_cast<CUresult>(fake_cuda::answer(body, name));
}

CUresult cuDeviceGetAttribute(int* value, CUdevice_attribute which, CUdevice device) {
  return answer([&] {
    *value = which == CU_DEVICE_ATTRIBUTE_HANDLE_TYPE_FABRIC_SUPPORTED                  ? at(device).shares_fabric
             : which == CU_DEVICE_ATTRIBUTE_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR_SUPPORTED ? at(device).shares_files
                                                                                        : at(device).virtual_memory;
  });
}
CUresult cuMemGetAllocationGranularity(std::size_t* bytes, const CUmemAllocationProp*, CUmemAllocationGranularity_flags) {
  *bytes = std::size_t{1} << 16;
  return CUDA_SUCCESS;
}
CUresult cuMemAddressReserve(CUdeviceptr* range, std::size_t bytes, std::size_t alignment, CUdeviceptr, unsigned long long) {
  return answer([&] {
    void* const memory = std::aligned_alloc(alignment, bytes);
    std::memset(memory, 0xa5, bytes);  // Memory is not zero-initialized unless a call zeroes it.
    *range = reinterpret_cast<CUdeviceptr>(memory);
    now().reserved[*range] = bytes;
  });
}
CUresult cuMemAddressFree(CUdeviceptr range, std::size_t bytes) {
  return answer([&] {
    const auto found = now().reserved.find(range);
    if (found == now().reserved.end() || found->second != bytes) {
      return cudaErrorInvalidValue;
    }
    std::free(reinterpret_cast<void*>(range));
    now().reserved.erase(found);
    return cudaSuccess;
  });
}
CUmemGenericAllocationHandle new_memory(int device, int file) {
  static CUmemGenericAllocationHandle last = 0;
  now().created[++last] = device;
  if (file >= 0) {
    now().shared[last] = file;
  }
  return last;
}
CUresult cuMemCreate(CUmemGenericAllocationHandle* memory, std::size_t bytes, const CUmemAllocationProp* property,
                     unsigned long long) {
  return answer([&] {
    int file = -1;
    if (property->requestedHandleTypes != CU_MEM_HANDLE_TYPE_NONE) {
      file = memfd_create("fake memory of a device", MFD_CLOEXEC);
      if (ftruncate(file, static_cast<off_t>(bytes)) != 0) {
        return cudaErrorMemoryAllocation;
      }
    }
    *memory = new_memory(property->location.id, file);
    return cudaSuccess;
  });
}
CUresult cuMemRelease(CUmemGenericAllocationHandle memory) {
  return answer([&] {
    if (const auto found = now().shared.find(memory); found != now().shared.end()) {
      close(found->second);
      now().shared.erase(found);
    }
    return now().created.erase(memory) == 1 ? cudaSuccess : cudaErrorInvalidValue;
  });
}
CUresult cuMemMap(CUdeviceptr start, std::size_t bytes, std::size_t, CUmemGenericAllocationHandle memory, unsigned long long) {
  return answer([&] {
    if (const auto found = now().shared.find(memory); found != now().shared.end()) {
      mmap(reinterpret_cast<void*>(start), bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_FIXED, found->second, 0);
    }
    now().mapped[start] = bytes;
  });
}
CUresult cuMemUnmap(CUdeviceptr start, std::size_t bytes) {
  return answer([&] {
    // Turns this range back into ordinary memory of the process, so that it can be freed as such.
    mmap(reinterpret_cast<void*>(start), bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0);
    return now().mapped.erase(start) == 1 ? cudaSuccess : cudaErrorInvalidValue;
  });
}
CUresult cuMemExportToShareableHandle(void* handle, CUmemGenericAllocationHandle memory, CUmemAllocationHandleType kind,
                                      unsigned long long) {
  return answer([&] {
    const auto found = now().shared.find(memory);
    if (found == now().shared.end()) {
      return cudaErrorInvalidValue;
    }
    if (kind == CU_MEM_HANDLE_TYPE_FABRIC) {  // a name by which any process can find the file
      std::snprintf(static_cast<char*>(handle), sizeof(CUmemFabricHandle), "/proc/%d/fd/%d", getpid(), found->second);
    } else {
      *static_cast<int*>(handle) = dup(found->second);
    }
    return cudaSuccess;
  });
}
CUresult cuMemImportFromShareableHandle(CUmemGenericAllocationHandle* memory, void* handle, CUmemAllocationHandleType kind) {
  return answer([&] {
    const int file = kind == CU_MEM_HANDLE_TYPE_FABRIC ? open(static_cast<const char*>(handle), O_RDWR)
                                                       : dup(static_cast<int>(reinterpret_cast<std::uintptr_t>(handle)));
    if (file < 0) {
      return cudaErrorInvalidValue;
    }
    *memory = new_memory(-1, file);
    return cudaSuccess;
  });
}
CUresult cuMemSetAccess(CUdeviceptr, std::size_t, const CUmemAccessDesc* access, std::size_t count) {
  return answer([&] {
    for (std::size_t i = 0; i != count; ++i) {
      now().accessible_to.push_back(access[i].location.id);
    }
  });
}

/// The flag is set only for allocations that the driver did not map.
bool has_flag(CUpointer_attribute attribute, CUdeviceptr pointer) {
  return attribute == CU_POINTER_ATTRIBUTE_SYNC_MEMOPS && !now().mapped.contains(pointer);
}
/// Returns the driver's data about an address in an allocation.
CUresult attribute_of_allocation(void* value, CUpointer_attribute attribute, CUdeviceptr pointer) {
  const std::lock_guard lock(now().mutex);
  const auto after = now().sizes.upper_bound(reinterpret_cast<const void*>(pointer));
  if (after == now().sizes.begin()) {
    return CUDA_ERROR_INVALID_VALUE;
  }
  const auto& [base, bytes] = *std::prev(after);
  if (pointer - reinterpret_cast<CUdeviceptr>(base) >= bytes) {
    return CUDA_ERROR_INVALID_VALUE;
  }
  const origin from = now().allocated_by;
  switch (attribute) {
    case CU_POINTER_ATTRIBUTE_MEMORY_TYPE:
      *static_cast<unsigned*>(value) = from == origin::host ? CU_MEMORYTYPE_HOST : CU_MEMORYTYPE_DEVICE;
      return CUDA_SUCCESS;
    case CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL:
      *static_cast<int*>(value) = now().allocations.at(const_cast<void*>(base));
      return CUDA_SUCCESS;
    case CU_POINTER_ATTRIBUTE_IS_MANAGED:
      *static_cast<unsigned*>(value) = from == origin::managed;
      return CUDA_SUCCESS;
    case CU_POINTER_ATTRIBUTE_MEMPOOL_HANDLE:
      *static_cast<CUmemoryPool*>(value) = from == origin::pool ? reinterpret_cast<CUmemoryPool>(1) : nullptr;
      return CUDA_SUCCESS;
    case CU_POINTER_ATTRIBUTE_IS_LEGACY_CUDA_IPC_CAPABLE:
      *static_cast<unsigned*>(value) = from == origin::device;
      return CUDA_SUCCESS;
    case CU_POINTER_ATTRIBUTE_RANGE_START_ADDR:
      *static_cast<CUdeviceptr*>(value) = reinterpret_cast<CUdeviceptr>(base);
      return CUDA_SUCCESS;
    case CU_POINTER_ATTRIBUTE_RANGE_SIZE:
      *static_cast<std::size_t*>(value) = bytes;
      return CUDA_SUCCESS;
    default:
      return CUDA_ERROR_INVALID_VALUE;
  }
}
CUresult cuPointerGetAttribute(void* value, CUpointer_attribute attribute, CUdeviceptr pointer) {
  if (attribute != CU_POINTER_ATTRIBUTE_SYNC_MEMOPS) {
    return attribute_of_allocation(value, attribute, pointer);
  }
  if (!has_flag(attribute, pointer)) {
    return CUDA_ERROR_NOT_SUPPORTED;
  }
  *static_cast<unsigned*>(value) = now().flagged.contains(reinterpret_cast<const void*>(pointer)) ? 1 : 0;
  return CUDA_SUCCESS;
}
CUresult cuPointerSetAttribute(const void* value, CUpointer_attribute attribute, CUdeviceptr pointer) {
  if (!has_flag(attribute, pointer)) {
    return CUDA_ERROR_NOT_SUPPORTED;
  }
  now().flagged.erase(reinterpret_cast<const void*>(pointer));
  if (*static_cast<const unsigned*>(value) != 0) {
    now().flagged.insert(reinterpret_cast<const void*>(pointer));
  }
  return CUDA_SUCCESS;
}
CUresult cuCtxGetCurrent(CUcontext* context) {
  return answer([&] { *context = reinterpret_cast<CUcontext>(static_cast<std::uintptr_t>(current_context())); });
}
CUresult cuCtxSetCurrent(CUcontext context) {
  return answer([&] { make_context_current(static_cast<int>(reinterpret_cast<std::uintptr_t>(context))); });
}
CUresult cuCtxGetFlags(unsigned* flags) {
  *flags = now().context_flag ? 0x80U : 0U;
  return CUDA_SUCCESS;
}

}  // namespace driver

void* driver_function(std::string_view name) {
  static const std::map<std::string_view, void*> functions = {
      {"cuCtxGetCurrent", reinterpret_cast<void*>(&driver::cuCtxGetCurrent)},
      {"cuCtxSetCurrent", reinterpret_cast<void*>(&driver::cuCtxSetCurrent)},
      {"cuCtxGetFlags", reinterpret_cast<void*>(&driver::cuCtxGetFlags)},
      {"cuDeviceGetAttribute", reinterpret_cast<void*>(&driver::cuDeviceGetAttribute)},
      {"cuMemAddressFree", reinterpret_cast<void*>(&driver::cuMemAddressFree)},
      {"cuMemAddressReserve", reinterpret_cast<void*>(&driver::cuMemAddressReserve)},
      {"cuMemCreate", reinterpret_cast<void*>(&driver::cuMemCreate)},
      {"cuMemExportToShareableHandle", reinterpret_cast<void*>(&driver::cuMemExportToShareableHandle)},
      {"cuMemGetAllocationGranularity", reinterpret_cast<void*>(&driver::cuMemGetAllocationGranularity)},
      {"cuMemImportFromShareableHandle", reinterpret_cast<void*>(&driver::cuMemImportFromShareableHandle)},
      {"cuMemMap", reinterpret_cast<void*>(&driver::cuMemMap)},
      {"cuMemRelease", reinterpret_cast<void*>(&driver::cuMemRelease)},
      {"cuMemSetAccess", reinterpret_cast<void*>(&driver::cuMemSetAccess)},
      {"cuMemUnmap", reinterpret_cast<void*>(&driver::cuMemUnmap)},
      {"cuPointerGetAttribute", reinterpret_cast<void*>(&driver::cuPointerGetAttribute)},
      {"cuPointerSetAttribute", reinterpret_cast<void*>(&driver::cuPointerSetAttribute)},
  };
  const auto found = functions.find(name);
  return found == functions.end() ? nullptr : found->second;
}

}  // namespace fake_cuda
