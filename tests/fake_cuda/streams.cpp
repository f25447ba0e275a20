// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "streams.hpp"

#include <cuda.h>

#include <cstdint>
#include <cstring>
#include <memory>

namespace made_up_streams {

namespace {

std::unique_ptr<machine> the_machine;
thread_local int current_device = 0;

stream& of(cudaStream_t handle) { return *reinterpret_cast<stream*>(handle); }

const void* memory(CUdeviceptr pointer) { return reinterpret_cast<const void*>(static_cast<std::uintptr_t>(pointer)); }

CUresult pointer_get(void* value, CUpointer_attribute attribute, CUdeviceptr pointer) {
  if (attribute != CU_POINTER_ATTRIBUTE_SYNC_MEMOPS || now().mapped.count(memory(pointer)) != 0) {
    return CUDA_ERROR_NOT_SUPPORTED;
  }
  *static_cast<unsigned*>(value) = now().flagged.count(memory(pointer)) != 0 ? 1 : 0;
  return CUDA_SUCCESS;
}
CUresult pointer_set(const void* value, CUpointer_attribute attribute, CUdeviceptr pointer) {
  if (attribute != CU_POINTER_ATTRIBUTE_SYNC_MEMOPS || now().mapped.count(memory(pointer)) != 0) {
    return CUDA_ERROR_NOT_SUPPORTED;
  }
  if (*static_cast<const unsigned*>(value) != 0) {
    now().flagged.insert(memory(pointer));
  } else {
    now().flagged.erase(memory(pointer));
  }
  return CUDA_SUCCESS;
}
CUresult context_get(unsigned* flags) {
  *flags = now().context_flag ? 0x80U : 0U;
  return CUDA_SUCCESS;
}

cudaError_t copy(void* to, const void* from, std::size_t bytes, const char* call) {
  now().calls.emplace_back(call);
  std::memcpy(to, from, bytes);
  return cudaSuccess;
}

}  // namespace

machine& now() { return *the_machine; }

machine_test::machine_test() {
  the_machine = std::make_unique<machine>();
  current_device = 0;
  membar::set_restore_failure_handler([](const char* sentence) noexcept { now().failures.emplace_back(sentence); });
}
machine_test::~machine_test() { membar::set_restore_failure_handler(nullptr); }

}  // namespace made_up_streams

using namespace made_up_streams;

extern "C" {

cudaError_t __wrap_cudaGetLastError() { return cudaSuccess; }
cudaError_t __wrap_cudaFree(void*) { return cudaSuccess; }

cudaError_t __wrap_cudaGetDevice(int* device) {
  *device = current_device;
  return cudaSuccess;
}
cudaError_t __wrap_cudaSetDevice(int device) {
  if (device < 0 || device >= now().devices) {
    return cudaErrorInvalidDevice;
  }
  current_device = device;
  return cudaSuccess;
}
cudaError_t __wrap_cudaDeviceGetAttribute(int* value, cudaDeviceAttr attribute, int device) {
  const std::lock_guard lock(now().mutex);
  if (attribute == cudaDevAttrCooperativeLaunch) {
    *value = now().no_cooperative_launch.count(device) == 0 ? 1 : 0;
  } else if (attribute == cudaDevAttrMultiProcessorCount) {
    const auto named = now().multiprocessors.find(device);
    *value = named == now().multiprocessors.end() ? 10 : named->second;
  } else {
    *value = 4;  // synchronization domains
  }
  return cudaSuccess;
}
cudaError_t __wrap_cudaFuncGetAttributes(cudaFuncAttributes* attributes, const void* kernel) {
  const std::lock_guard lock(now().mutex);
  *attributes = {};
  now().loaded[current_device].insert(kernel);
  return cudaSuccess;
}
cudaError_t __wrap_cudaOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(int* blocks, const void*, int, std::size_t,
                                                                          unsigned) {
  const std::lock_guard lock(now().mutex);
  *blocks = now().blocks_per_multiprocessor;
  return now().refuses_questions.count(current_device) == 0 ? cudaSuccess : cudaErrorNoKernelImageForDevice;
}
cudaError_t __wrap_cudaLaunchKernelExC(const cudaLaunchConfig_t* config, const void*, void**) {
  const std::lock_guard lock(now().mutex);
  if (now().refuses_launches.count(current_device) != 0) {
    return cudaErrorLaunchOutOfResources;
  }
  now().launches.push_back({current_device, config->stream, config->gridDim,
                            std::vector<cudaLaunchAttribute>(config->attrs, config->attrs + config->numAttrs)});
  return cudaSuccess;
}

cudaError_t __wrap_cudaEventCreateWithFlags(cudaEvent_t* event, unsigned) {
  *event = reinterpret_cast<cudaEvent_t>(static_cast<std::uintptr_t>(++now().events));
  return cudaSuccess;
}
cudaError_t __wrap_cudaEventDestroy(cudaEvent_t) { return cudaSuccess; }
cudaError_t __wrap_cudaEventRecord(cudaEvent_t event, cudaStream_t stream) {
  now().records[event] = stream;
  return cudaSuccess;
}
cudaError_t __wrap_cudaEventQuery(cudaEvent_t event) {
  return of(now().records.at(event)).busy ? cudaErrorNotReady : cudaSuccess;
}
cudaError_t __wrap_cudaEventSynchronize(cudaEvent_t event) {
  of(now().records.at(event)).busy = false;
  now().calls.emplace_back("cudaEventSynchronize");
  return cudaSuccess;
}
cudaError_t __wrap_cudaStreamWaitEvent(cudaStream_t stream, cudaEvent_t event, unsigned) {
  of(stream).waits_for.push_back(event);
  return cudaSuccess;
}
cudaError_t __wrap_cudaStreamIsCapturing(cudaStream_t stream, cudaStreamCaptureStatus* status) {
  *status = of(stream).capturing ? cudaStreamCaptureStatusActive : cudaStreamCaptureStatusNone;
  return cudaSuccess;
}
cudaError_t __wrap_cudaStreamSynchronize(cudaStream_t stream) {
  now().calls.emplace_back("cudaStreamSynchronize");
  ++of(stream).synchronized;
  return cudaSuccess;
}

cudaError_t __wrap_cudaMemcpy(void* to, const void* from, std::size_t bytes, cudaMemcpyKind) {
  return copy(to, from, bytes, "cudaMemcpy");
}
cudaError_t __wrap_cudaMemcpyAsync(void* to, const void* from, std::size_t bytes, cudaMemcpyKind, cudaStream_t) {
  return copy(to, from, bytes, "cudaMemcpyAsync");
}
cudaError_t __wrap_cudaMemsetAsync(void* to, int value, std::size_t bytes, cudaStream_t) {
  now().calls.emplace_back("cudaMemsetAsync");
  std::memset(to, value, bytes);
  return cudaSuccess;
}

cudaError_t __wrap_cudaGetDriverEntryPointByVersion(const char* name, void** entry, unsigned, unsigned long long,
                                                    cudaDriverEntryPointQueryResult* result) {
  const std::map<std::string, void*> driver = {{"cuPointerGetAttribute", reinterpret_cast<void*>(&pointer_get)},
                                               {"cuPointerSetAttribute", reinterpret_cast<void*>(&pointer_set)},
                                               {"cuCtxGetFlags", reinterpret_cast<void*>(&context_get)}};
  const auto found = driver.find(name);
  *entry = found == driver.end() ? nullptr : found->second;
  *result = *entry == nullptr ? cudaDriverEntryPointSymbolNotFound : cudaDriverEntryPointSuccess;
  return cudaSuccess;
}

}  // extern "C"
