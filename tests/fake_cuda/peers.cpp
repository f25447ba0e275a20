// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "peers.hpp"

#include <cuda.h>

#include <cstdlib>
#include <cstring>
#include <optional>

namespace made_up_peers {

namespace {

std::optional<machine> the_machine;

/// What the call `name` answers this time.
cudaError_t answer(const char* name) {
  const auto found = now().fails.find(name);
  if (found == now().fails.end() || found->second.first-- > 0) {
    return cudaSuccess;
  }
  return found->second.second;
}

constexpr std::size_t granularity = std::size_t{1} << 16;

CUresult get_attribute(int* value, CUdevice_attribute, CUdevice device) {
  *value = now().no_virtual_memory.count(device) == 0 ? 1 : 0;
  return CUDA_SUCCESS;
}
CUresult get_granularity(std::size_t* bytes, const CUmemAllocationProp*, CUmemAllocationGranularity_flags) {
  *bytes = granularity;
  return CUDA_SUCCESS;
}
CUresult reserve(CUdeviceptr* range, std::size_t bytes, std::size_t alignment, CUdeviceptr, unsigned long long) {
  if (const cudaError_t status = answer("cuMemAddressReserve"); status != cudaSuccess) {
    return static_cast<CUresult>(status);
  }
  *range = reinterpret_cast<CUdeviceptr>(std::aligned_alloc(alignment, bytes));
  // Nothing is zero unless somebody zeroes it.
  std::memset(reinterpret_cast<void*>(*range), 0xa5, bytes);
  now().reserved[*range] = bytes;
  return CUDA_SUCCESS;
}
CUresult unreserve(CUdeviceptr range, std::size_t bytes) {
  const auto found = now().reserved.find(range);
  if (found == now().reserved.end() || found->second != bytes) {
    return CUDA_ERROR_INVALID_VALUE;
  }
  std::free(reinterpret_cast<void*>(range));
  now().reserved.erase(found);
  return CUDA_SUCCESS;
}
CUresult create(CUmemGenericAllocationHandle* memory, std::size_t, const CUmemAllocationProp* wanted, unsigned long long) {
  if (const cudaError_t status = answer("cuMemCreate"); status != cudaSuccess) {
    return static_cast<CUresult>(status);
  }
  static CUmemGenericAllocationHandle last = 0;
  *memory = ++last;
  now().created[*memory] = wanted->location.id;
  return CUDA_SUCCESS;
}
CUresult release(CUmemGenericAllocationHandle memory) {
  return now().created.erase(memory) == 1 ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}
CUresult map(CUdeviceptr start, std::size_t bytes, std::size_t, CUmemGenericAllocationHandle, unsigned long long) {
  if (const cudaError_t status = answer("cuMemMap"); status != cudaSuccess) {
    return static_cast<CUresult>(status);
  }
  now().mapped[start] = bytes;
  return CUDA_SUCCESS;
}
CUresult unmap(CUdeviceptr start, std::size_t) {
  return now().mapped.erase(start) == 1 ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}
CUresult set_access(CUdeviceptr, std::size_t, const CUmemAccessDesc* access, std::size_t count) {
  if (const cudaError_t status = answer("cuMemSetAccess"); status != cudaSuccess) {
    return static_cast<CUresult>(status);
  }
  for (std::size_t i = 0; i != count; ++i) {
    now().accessible_to.push_back(access[i].location.id);
  }
  return CUDA_SUCCESS;
}

const std::map<std::string, void*> driver = {
    {"cuDeviceGetAttribute", reinterpret_cast<void*>(&get_attribute)},
    {"cuMemGetAllocationGranularity", reinterpret_cast<void*>(&get_granularity)},
    {"cuMemAddressReserve", reinterpret_cast<void*>(&reserve)},
    {"cuMemAddressFree", reinterpret_cast<void*>(&unreserve)},
    {"cuMemCreate", reinterpret_cast<void*>(&create)},
    {"cuMemRelease", reinterpret_cast<void*>(&release)},
    {"cuMemMap", reinterpret_cast<void*>(&map)},
    {"cuMemUnmap", reinterpret_cast<void*>(&unmap)},
    {"cuMemSetAccess", reinterpret_cast<void*>(&set_access)},
};

bool exists(int device) { return device >= 0 && device < now().devices; }

}  // namespace

machine& now() { return *the_machine; }

machine_test::machine_test() {
  the_machine.emplace();
  membar::set_restore_failure_handler([](const char* sentence) noexcept { now().failures.emplace_back(sentence); });
}
machine_test::~machine_test() { membar::set_restore_failure_handler(nullptr); }

}  // namespace made_up_peers

using namespace made_up_peers;

extern "C" {

cudaError_t __wrap_cudaGetLastError() { return cudaSuccess; }

cudaError_t __wrap_cudaGetDevice(int* device) {
  *device = now().current;
  return cudaSuccess;
}

cudaError_t __wrap_cudaSetDevice(int device) {
  if (!exists(device)) {
    return cudaErrorInvalidDevice;
  }
  now().current = device;
  return cudaSuccess;
}

cudaError_t __wrap_cudaGetDeviceCount(int* count) {
  *count = now().devices;
  return cudaSuccess;
}

cudaError_t __wrap_cudaDeviceCanAccessPeer(int* access, int from, int to) {
  if (!exists(from) || !exists(to)) {
    return cudaErrorInvalidDevice;
  }
  *access = now().no_access.count({from, to}) == 0 ? 1 : 0;
  return cudaSuccess;
}

cudaError_t __wrap_cudaDeviceEnablePeerAccess(int peer, unsigned) {
  return now().no_access.count({now().current, peer}) == 0 ? answer("cudaDeviceEnablePeerAccess")
                                                           : cudaErrorPeerAccessUnsupported;
}

cudaError_t __wrap_cudaDeviceGetP2PAttribute(int* value, cudaDeviceP2PAttr which, int from, int to) {
  const bool partial = now().partial.count({from, to}) != 0;
  *value = 0;
  if (which == cudaDevP2PAttrNativeAtomicSupported) {
    *value = !partial && now().no_native_atomics.count({from, to}) == 0 ? 1 : 0;
  } else if (which == cudaDevP2PAttrOnlyPartialNativeAtomicSupported) {
    *value = partial ? 1 : 0;
  }
  return cudaSuccess;
}

cudaError_t __wrap_cudaDeviceGetP2PAtomicCapabilities(unsigned* capabilities, const cudaAtomicOperation*, unsigned count,
                                                      int from, int to) {
  for (unsigned i = 0; i != count; ++i) {
    capabilities[i] = now().partial.at({from, to});
  }
  return cudaSuccess;
}

cudaError_t __wrap_cudaMalloc(void** memory, std::size_t bytes) {
  if (const cudaError_t status = answer("cudaMalloc"); status != cudaSuccess) {
    return status;
  }
  *memory = std::malloc(bytes);
  std::memset(*memory, 0xa5, bytes);
  now().allocations[*memory] = now().current;
  return cudaSuccess;
}

cudaError_t __wrap_cudaFree(void* memory) {
  if (memory == nullptr) {
    return cudaSuccess;
  }
  if (now().allocations.erase(memory) != 1) {
    return cudaErrorInvalidValue;
  }
  std::free(memory);
  return cudaSuccess;
}

cudaError_t __wrap_cudaMemcpy(void* to, const void* from, std::size_t bytes, cudaMemcpyKind) {
  std::memcpy(to, from, bytes);
  return cudaSuccess;
}

cudaError_t __wrap_cudaMemsetAsync(void* memory, int value, std::size_t bytes, cudaStream_t) {
  if (const cudaError_t status = answer("cudaMemsetAsync"); status != cudaSuccess) {
    return status;
  }
  std::memset(memory, value, bytes);
  now().zeroed.emplace_back(now().current, bytes);
  return cudaSuccess;
}

cudaError_t __wrap_cudaStreamCreateWithFlags(cudaStream_t* stream, unsigned) {
  ++now().streams;
  *stream = reinterpret_cast<cudaStream_t>(&now());
  return cudaSuccess;
}
cudaError_t __wrap_cudaDeviceSynchronize() {
  now().waited_for.push_back(now().current);
  return answer("cudaDeviceSynchronize");
}
cudaError_t __wrap_cudaStreamSynchronize(cudaStream_t) { return cudaSuccess; }
cudaError_t __wrap_cudaStreamDestroy(cudaStream_t) {
  --now().streams;
  return cudaSuccess;
}

cudaError_t __wrap_cudaGetDriverEntryPointByVersion(const char* name, void** entry, unsigned, unsigned long long,
                                                    cudaDriverEntryPointQueryResult* result) {
  const auto found = driver.find(name);
  *entry = found == driver.end() ? nullptr : found->second;
  *result = *entry == nullptr ? cudaDriverEntryPointSymbolNotFound : cudaDriverEntryPointSuccess;
  return cudaSuccess;
}

}  // extern "C"
