// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The driver's functions, which membar asks the runtime for by name.
#include "call.hpp"

#include <cuda.h>

#include <cstdlib>
#include <cstring>

namespace fake_cuda {

namespace driver {

/// `answer` for the driver, whose codes are the runtime's.
CUresult answer(auto body, const char* name = __builtin_FUNCTION()) {
  return static_cast<CUresult>(fake_cuda::answer(body, name));
}

CUresult cuDeviceGetAttribute(int* value, CUdevice_attribute, CUdevice device) {
  *value = at(device).virtual_memory ? 1 : 0;
  return CUDA_SUCCESS;
}
CUresult cuMemGetAllocationGranularity(std::size_t* bytes, const CUmemAllocationProp*, CUmemAllocationGranularity_flags) {
  *bytes = std::size_t{1} << 16;
  return CUDA_SUCCESS;
}
CUresult cuMemAddressReserve(CUdeviceptr* range, std::size_t bytes, std::size_t alignment, CUdeviceptr, unsigned long long) {
  return answer([&] {
    void* const memory = std::aligned_alloc(alignment, bytes);
    std::memset(memory, 0xa5, bytes);  // nothing is zero unless a call zeroes it
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
CUresult cuMemCreate(CUmemGenericAllocationHandle* memory, std::size_t, const CUmemAllocationProp* property,
                     unsigned long long) {
  return answer([&] {
    static CUmemGenericAllocationHandle last = 0;
    *memory = ++last;
    now().created[*memory] = property->location.id;
  });
}
CUresult cuMemRelease(CUmemGenericAllocationHandle memory) {
  return answer([&] { return now().created.erase(memory) == 1 ? cudaSuccess : cudaErrorInvalidValue; });
}
CUresult cuMemMap(CUdeviceptr start, std::size_t bytes, std::size_t, CUmemGenericAllocationHandle, unsigned long long) {
  return answer([&] { now().mapped[start] = bytes; });
}
CUresult cuMemUnmap(CUdeviceptr start, std::size_t) {
  return answer([&] { return now().mapped.erase(start) == 1 ? cudaSuccess : cudaErrorInvalidValue; });
}
CUresult cuMemSetAccess(CUdeviceptr, std::size_t, const CUmemAccessDesc* access, std::size_t count) {
  return answer([&] {
    for (std::size_t i = 0; i != count; ++i) {
      now().accessible_to.push_back(access[i].location.id);
    }
  });
}

/// Only allocations that the driver did not map have the flag.
bool has_flag(CUpointer_attribute attribute, CUdeviceptr pointer) {
  return attribute == CU_POINTER_ATTRIBUTE_SYNC_MEMOPS && !now().mapped.contains(pointer);
}
CUresult cuPointerGetAttribute(void* value, CUpointer_attribute attribute, CUdeviceptr pointer) {
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
CUresult cuCtxGetFlags(unsigned* flags) {
  *flags = now().context_flag ? 0x80U : 0U;
  return CUDA_SUCCESS;
}

}  // namespace driver

void* driver_function(std::string_view name) {
  static const std::map<std::string_view, void*> functions = {
      {"cuCtxGetFlags", reinterpret_cast<void*>(&driver::cuCtxGetFlags)},
      {"cuDeviceGetAttribute", reinterpret_cast<void*>(&driver::cuDeviceGetAttribute)},
      {"cuMemAddressFree", reinterpret_cast<void*>(&driver::cuMemAddressFree)},
      {"cuMemAddressReserve", reinterpret_cast<void*>(&driver::cuMemAddressReserve)},
      {"cuMemCreate", reinterpret_cast<void*>(&driver::cuMemCreate)},
      {"cuMemGetAllocationGranularity", reinterpret_cast<void*>(&driver::cuMemGetAllocationGranularity)},
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
