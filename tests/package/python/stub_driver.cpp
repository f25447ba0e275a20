// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// A CUDA driver with two fake devices for the tests of the Python package: stream attributes, limits and contexts. This file is
// compiled with cuda.h, so the structures that Python passes must match the driver's.
#include <cuda.h>

#include <cstdint>
#include <cstdio>
#include <cstring>
#include <map>
#include <vector>

namespace {

struct device {
  int domains = 4;
  int max_set_aside = 30 << 20;
  int max_window = 128 << 20;
  std::size_t set_aside = 5;  // The previous value, to be restored.
  int retained = 0;
  int resets = 0;
};
device devices[2];
std::map<CUstream, std::map<int, CUlaunchAttributeValue>> attributes;
std::vector<std::uintptr_t> current = {1};  // a context is 1 + its device
int failing_attribute = -1;

device& current_device() { return devices[current.back() - 1]; }

}  // namespace

extern "C" {

CUresult cuInit(unsigned) { return CUDA_SUCCESS; }
CUresult cuGetErrorString(CUresult, const char** text) {
  *text = "made-up error";
  return CUDA_SUCCESS;
}
CUresult cuDeviceGetAttribute(int* value, CUdevice_attribute attribute, CUdevice which) {
  if (which < 0 || which > 1) {
    return CUDA_ERROR_INVALID_DEVICE;
  }
  switch (attribute) {
    case CU_DEVICE_ATTRIBUTE_MEM_SYNC_DOMAIN_COUNT:
      *value = devices[which].domains;
      return CUDA_SUCCESS;
    case CU_DEVICE_ATTRIBUTE_MAX_PERSISTING_L2_CACHE_SIZE:
      *value = devices[which].max_set_aside;
      return CUDA_SUCCESS;
    case CU_DEVICE_ATTRIBUTE_MAX_ACCESS_POLICY_WINDOW_SIZE:
      *value = devices[which].max_window;
      return CUDA_SUCCESS;
    default:
      return CUDA_ERROR_INVALID_VALUE;
  }
}
CUresult cuDevicePrimaryCtxRetain(CUcontext* context, CUdevice which) {
  ++devices[which].retained;
  *context = reinterpret_cast<CUcontext>(static_cast<std::uintptr_t>(which) + 1);
  return CUDA_SUCCESS;
}
CUresult cuDevicePrimaryCtxRelease_v2(CUdevice which) {
  --devices[which].retained;
  return CUDA_SUCCESS;
}
CUresult cuCtxPushCurrent_v2(CUcontext context) {
  current.push_back(reinterpret_cast<std::uintptr_t>(context));
  return CUDA_SUCCESS;
}
CUresult cuCtxPopCurrent_v2(CUcontext*) {
  current.pop_back();
  return CUDA_SUCCESS;
}
CUresult cuCtxGetDevice(CUdevice* which) {
  *which = static_cast<int>(current.back()) - 1;
  return CUDA_SUCCESS;
}
CUresult cuStreamGetCtx(CUstream stream, CUcontext* context) {
  // Streams numbered 2000 and above belong to the second device.
  *context = reinterpret_cast<CUcontext>(reinterpret_cast<std::uintptr_t>(stream) < 2000 ? 1 : 2);
  return CUDA_SUCCESS;
}
CUresult cuCtxGetLimit(std::size_t* value, CUlimit limit) {
  *value = current_device().set_aside;
  return limit == CU_LIMIT_PERSISTING_L2_CACHE_SIZE ? CUDA_SUCCESS : CUDA_ERROR_UNSUPPORTED_LIMIT;
}
CUresult cuCtxSetLimit(CUlimit limit, std::size_t value) {
  current_device().set_aside = value;
  return limit == CU_LIMIT_PERSISTING_L2_CACHE_SIZE ? CUDA_SUCCESS : CUDA_ERROR_UNSUPPORTED_LIMIT;
}
CUresult cuCtxResetPersistingL2Cache() {
  ++current_device().resets;
  return CUDA_SUCCESS;
}
CUresult cuPointerGetAttribute(void* value, CUpointer_attribute attribute, CUdeviceptr address) {
  if (attribute != CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL || address < 0x1000) {
    return CUDA_ERROR_INVALID_VALUE;
  }
  *static_cast<int*>(value) = address < 0x100000000 ? 0 : 1;
  return CUDA_SUCCESS;
}
CUresult cuStreamGetAttribute(CUstream stream, CUstreamAttrID attribute, CUstreamAttrValue* value) {
  *value = attributes[stream][attribute];
  return CUDA_SUCCESS;
}
CUresult cuStreamSetAttribute(CUstream stream, CUstreamAttrID attribute, const CUstreamAttrValue* value) {
  if (attribute == failing_attribute) {
    return CUDA_ERROR_INVALID_VALUE;
  }
  attributes[stream][attribute] = *value;
  return CUDA_SUCCESS;
}

// Functions for the tests.
void stub_device(int which, int domains, int max_set_aside) {
  devices[which].domains = domains;
  devices[which].max_set_aside = max_set_aside;
}
void stub_fail(int attribute) { failing_attribute = attribute; }
/// Returns a text that describes the current settings.
const char* stub_state(std::uintptr_t handle) {
  static char text[512];
  auto& of_stream = attributes[reinterpret_cast<CUstream>(handle)];
  const CUaccessPolicyWindow& window = of_stream[CU_LAUNCH_ATTRIBUTE_ACCESS_POLICY_WINDOW].accessPolicyWindow;
  const CUlaunchMemSyncDomainMap& map = of_stream[CU_LAUNCH_ATTRIBUTE_MEM_SYNC_DOMAIN_MAP].memSyncDomainMap;
  std::snprintf(text, sizeof text,
                "domain %d, map %d %d, window %#zx + %zu at %.3f hit %d miss %d, set aside %zu %zu, retained %d, contexts %zu",
                of_stream[CU_LAUNCH_ATTRIBUTE_MEM_SYNC_DOMAIN].memSyncDomain, map.default_, map.remote,
                reinterpret_cast<std::size_t>(window.base_ptr), window.num_bytes, static_cast<double>(window.hitRatio),
                window.hitProp, window.missProp, devices[0].set_aside, devices[1].set_aside,
                devices[0].retained + devices[1].retained, current.size());
  return text;
}
int stub_resets(int which) { return devices[which].resets; }

}  // extern "C"
