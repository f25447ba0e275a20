// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "l2.hpp"

#include <algorithm>
#include <cstdio>
#include <optional>

namespace made_up_l2 {

namespace {

std::optional<machine> the_machine;

bool exists(int index) { return index >= 0 && static_cast<std::size_t>(index) < now().devices.size(); }
device& of(int index) { return now().devices[static_cast<std::size_t>(index)]; }

}  // namespace

machine& now() { return *the_machine; }

machine_test::machine_test() {
  the_machine.emplace();
  membar::set_restore_failure_handler([](const char* sentence) noexcept { now().failures.emplace_back(sentence); });
}
machine_test::~machine_test() { membar::set_restore_failure_handler(nullptr); }

}  // namespace made_up_l2

using made_up_l2::exists;
using made_up_l2::now;
using made_up_l2::of;

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

cudaError_t __wrap_cudaDeviceGetAttribute(int* value, cudaDeviceAttr attribute, int device) {
  if (!exists(device)) {
    return cudaErrorInvalidDevice;
  }
  const auto found = of(device).attributes.find(attribute);
  if (found == of(device).attributes.end()) {
    return cudaErrorInvalidValue;
  }
  *value = found->second;
  return cudaSuccess;
}

cudaError_t __wrap_cudaGetDeviceProperties(cudaDeviceProp* properties, int device) {
  *properties = {};
  std::snprintf(properties->name, sizeof properties->name, "%s", of(device).name.c_str());
  return cudaSuccess;
}

cudaError_t __wrap_cudaDeviceGetLimit(std::size_t* value, cudaLimit limit) {
  if (limit != cudaLimitPersistingL2CacheSize) {
    return cudaErrorUnsupportedLimit;
  }
  *value = of(now().current).limit;
  return cudaSuccess;
}

cudaError_t __wrap_cudaDeviceSetLimit(cudaLimit limit, std::size_t value) {
  made_up_l2::device& device = of(now().current);
  if (limit != cudaLimitPersistingL2CacheSize || device.refuses_limits != cudaSuccess) {
    return device.refuses_limits;
  }
  device.limit = value;
  device.limits_set.push_back(value);
  return cudaSuccess;
}

cudaError_t __wrap_cudaCtxResetPersistingL2Cache() {
  ++now().resets;
  return cudaSuccess;
}

cudaError_t __wrap_cudaStreamGetAttribute(cudaStream_t, cudaLaunchAttributeID, cudaLaunchAttributeValue* value) {
  *value = now().stream_attribute;
  return cudaSuccess;
}

cudaError_t __wrap_cudaStreamSetAttribute(cudaStream_t, cudaLaunchAttributeID, const cudaLaunchAttributeValue* value) {
  now().stream_attribute = *value;
  return cudaSuccess;
}

cudaError_t __wrap_cudaGraphKernelNodeGetAttribute(cudaGraphNode_t, cudaLaunchAttributeID, cudaLaunchAttributeValue* value) {
  *value = now().node_attribute;
  return cudaSuccess;
}

cudaError_t __wrap_cudaGraphKernelNodeSetAttribute(cudaGraphNode_t, cudaLaunchAttributeID,
                                                   const cudaLaunchAttributeValue* value) {
  now().node_attribute = *value;
  return cudaSuccess;
}

cudaError_t __wrap_cudaLaunchKernelExC(const cudaLaunchConfig_t* config, const void*, void**) {
  now().launch_attributes = config->numAttrs;
  if (config->numAttrs != 0) {
    now().launch_attribute = config->attrs[0].val;
  }
  return cudaSuccess;
}

cudaError_t __wrap_cudaPointerGetAttributes(cudaPointerAttributes* attributes, const void*) {
  *attributes = now().pointer;
  return cudaSuccess;
}

cudaError_t __wrap_cudaDeviceGetP2PAttribute(int* value, cudaDeviceP2PAttr attribute, int from, int to) {
  *value = attribute == cudaDevP2PAttrNativeAtomicSupported ? now().peer_native_atomics[{from, to}] : 0;
  return cudaSuccess;
}

cudaError_t __wrap_cudaDeviceGetHostAtomicCapabilities(unsigned* capabilities, const cudaAtomicOperation*, unsigned count,
                                                       int device) {
  std::fill_n(capabilities, count, of(device).host_capabilities);
  return cudaSuccess;
}

}  // extern "C"
