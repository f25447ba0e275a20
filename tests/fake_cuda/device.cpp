// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "device.hpp"

#include <optional>

namespace made_up {

stream::stream() {
  // What CUDA gives a new stream.
  attributes[cudaLaunchAttributeMemSyncDomain].memSyncDomain = cudaLaunchMemSyncDomainDefault;
  attributes[cudaLaunchAttributeMemSyncDomainMap].memSyncDomainMap = {0, 1};
  attributes[cudaLaunchAttributePriority].priority = 0;
}

namespace {

std::optional<machine> current;

cudaError_t answer(cudaError_t status) {
  if (status != cudaSuccess) {
    now().last_error = status;
  }
  return status;
}

cudaError_t with_driver(cudaError_t status) { return answer(now().driver ? status : cudaErrorInsufficientDriver); }

cudaError_t get(attributed& from, cudaLaunchAttributeID id, cudaLaunchAttributeValue* value) {
  if (!now().driver || !from.valid) {
    return with_driver(cudaErrorInvalidResourceHandle);
  }
  if (from.not_taken.contains(id)) {
    return answer(cudaErrorInvalidValue);
  }
  *value = from.attributes[id];
  return cudaSuccess;
}

cudaError_t set(attributed& to, cudaLaunchAttributeID id, const cudaLaunchAttributeValue* value) {
  if (!now().driver || !to.valid || to.read_only) {
    return with_driver(cudaErrorInvalidResourceHandle);
  }
  if (to.not_taken.contains(id)) {
    return answer(cudaErrorInvalidValue);
  }
  to.attributes[id] = *value;
  return cudaSuccess;
}

stream& of(cudaStream_t handle) { return handle == nullptr ? now().null_stream : *reinterpret_cast<stream*>(handle); }
node& of(cudaGraphNode_t handle) { return *reinterpret_cast<node*>(handle); }

}  // namespace

machine& now() { return *current; }

machine_test::machine_test() { current.emplace(); }

}  // namespace made_up

using made_up::now;

extern "C" {

cudaError_t __wrap_cudaGetLastError() {
  const cudaError_t status = now().last_error;
  now().last_error = cudaSuccess;
  return status;
}

cudaError_t __wrap_cudaGetDevice(int* device) {
  *device = 0;
  return made_up::with_driver(now().devices > 0 ? cudaSuccess : cudaErrorNoDevice);
}

cudaError_t __wrap_cudaGetDeviceCount(int* count) {
  *count = now().driver ? now().devices : 0;
  return made_up::with_driver(now().devices > 0 ? cudaSuccess : cudaErrorNoDevice);
}

cudaError_t __wrap_cudaDeviceGetAttribute(int* value, cudaDeviceAttr attribute, int device) {
  const std::map<cudaDeviceAttr, int> known = {{cudaDevAttrMemSyncDomainCount, now().domain_count},
                                               {cudaDevAttrMultiProcessorCount, now().multiprocessors},
                                               {cudaDevAttrComputeCapabilityMajor, now().compute_capability_major}};
  if (!known.contains(attribute)) {
    return made_up::answer(cudaErrorInvalidValue);
  }
  if (!now().driver || device < 0 || device >= now().devices) {
    return made_up::with_driver(cudaErrorInvalidDevice);
  }
  *value = known.at(attribute);
  return cudaSuccess;
}

cudaError_t __wrap_cudaStreamGetAttribute(cudaStream_t stream, cudaLaunchAttributeID id, cudaLaunchAttributeValue* value) {
  return made_up::get(made_up::of(stream), id, value);
}

cudaError_t __wrap_cudaStreamSetAttribute(cudaStream_t stream, cudaLaunchAttributeID id,
                                          const cudaLaunchAttributeValue* value) {
  return made_up::set(made_up::of(stream), id, value);
}

cudaError_t __wrap_cudaGraphKernelNodeGetAttribute(cudaGraphNode_t node, cudaLaunchAttributeID id,
                                                   cudaLaunchAttributeValue* value) {
  return made_up::get(made_up::of(node), id, value);
}

cudaError_t __wrap_cudaGraphKernelNodeSetAttribute(cudaGraphNode_t node, cudaLaunchAttributeID id,
                                                   const cudaLaunchAttributeValue* value) {
  return made_up::set(made_up::of(node), id, value);
}

cudaError_t __wrap_cudaLaunchKernelExC(const cudaLaunchConfig_t* config, const void* kernel, void** arguments) {
  if (!now().driver || now().refuses_launches) {
    return made_up::with_driver(cudaErrorInvalidConfiguration);
  }
  now().launches.push_back({config->gridDim, config->blockDim, config->stream, config->dynamicSmemBytes,
                            std::vector<cudaLaunchAttribute>(config->attrs, config->attrs + config->numAttrs), kernel});
  if (now().on_launch) {
    now().on_launch(arguments);
  }
  return cudaSuccess;
}

cudaError_t __wrap_cudaOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(int* blocks, const void*, int threads, std::size_t,
                                                                          unsigned) {
  if (threads > 1024) {
    return made_up::answer(cudaErrorInvalidValue);
  }
  *blocks = now().blocks_per_multiprocessor;
  return made_up::with_driver(cudaSuccess);
}

}  // extern "C"
