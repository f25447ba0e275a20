// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The runtime functions, with the names that the linker gives to their replacements. CMakeLists.txt reads the names from this
// file.
#include "call.hpp"

#include <membar/error.hpp>

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <optional>

namespace fake_cuda {

namespace {

std::optional<machine> the_machine;
thread_local int this_threads_device = 0;
// 0: no context; device + 1: the primary context; larger values: the program's own contexts
thread_local int this_threads_context = 0;

stream& of(cudaStream_t handle) { return handle == nullptr ? now().null_stream : *reinterpret_cast<stream*>(handle); }
node& of(cudaGraphNode_t handle) { return *reinterpret_cast<node*>(handle); }

/// Calls `use` with an attribute if it is valid and the stream or node accepts it.
cudaError_t with_attribute(attributed& where, cudaLaunchAttributeID id, bool valid, auto use) {
  if (!valid || where.not_taken.contains(id)) {
    return valid ? cudaErrorInvalidValue : cudaErrorInvalidResourceHandle;
  }
  use(where.attributes[id]);
  return cudaSuccess;
}
cudaError_t get(attributed& from, cudaLaunchAttributeID id, cudaLaunchAttributeValue* value) {
  return with_attribute(from, id, from.valid, [&](const auto& held) { *value = held; });
}
cudaError_t set(attributed& to, cudaLaunchAttributeID id, const cudaLaunchAttributeValue* value) {
  return with_attribute(to, id, to.valid && !to.read_only, [&](auto& held) { held = *value; });
}

/// Counts calls that are not allowed while a running kernel waits for another launch.
void note_late_call() { now().late_calls += now().running != 0 ? 1 : 0; }

void* memory_of_file(int file, std::size_t bytes) { return mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0); }

cudaError_t allocate(void** memory, std::size_t bytes, const char* name = __builtin_FUNCTION()) {
  const auto body = [&] {
    note_late_call();
    if (bytes > now().largest_allocation) {
      return cudaErrorMemoryAllocation;
    }
    if (now().interprocess) {
      const int file = memfd_create("fake memory of a device", MFD_CLOEXEC);
      *memory = ftruncate(file, static_cast<off_t>(bytes)) == 0 ? memory_of_file(file, bytes) : MAP_FAILED;
      now().files[*memory] = file;
    } else {
      *memory = std::aligned_alloc(256, (bytes + 255) / 256 * 256);
    }
    if (*memory == nullptr || *memory == MAP_FAILED) {
      return cudaErrorMemoryAllocation;
    }
    now().sizes[*memory] = bytes;
    std::memset(*memory, 0xa5, bytes);  // Memory is not zero-initialized unless a call zeroes it.
    now().allocations[*memory] = current_device();
    now().allocated_on.push_back(current_device());
    return cudaSuccess;
  };
  return answer(body, name);
}

cudaError_t deallocate(void* memory, const char* name = __builtin_FUNCTION()) {
  const auto body = [&] {
    if (memory != nullptr && now().allocations.erase(memory) != 1) {
      return cudaErrorInvalidValue;
    }
    if (const auto file = now().files.find(memory); file != now().files.end()) {
      munmap(memory, now().sizes.at(memory));
      close(file->second);
      now().files.erase(file);
    } else {
      std::free(memory);
    }
    now().sizes.erase(memory);
    return cudaSuccess;
  };
  return answer(body, name);
}

cudaError_t copy(void* to, const void* from, std::size_t bytes, const char* name = __builtin_FUNCTION()) {
  const auto body = [&] {
    now().calls.emplace_back(call_name(name));
    const auto at = reinterpret_cast<std::uintptr_t>(to), late = reinterpret_cast<std::uintptr_t>(now().written_late.first);
    if (at >= late && at < late + now().written_late.second) {
      const auto* const begin = static_cast<const unsigned char*>(from);
      now().late_copies.push_back(
          [to, staged = std::vector<unsigned char>(begin, begin + bytes)] { std::memcpy(to, staged.data(), staged.size()); });
      return;
    }
    std::memcpy(to, from, bytes);
  };
  return answer(body, name);
}

void run_late_copies() {
  for (const auto& copy : std::exchange(now().late_copies, {})) {
    copy();
  }
}

cudaError_t new_event(cudaEvent_t* event, const char* name = __builtin_FUNCTION()) {
  const auto body = [&] {
    note_late_call();
    *event = reinterpret_cast<cudaEvent_t>(static_cast<std::uintptr_t>(++now().events));
  };
  return answer(body, name);
}

cudaError_t fitting_blocks(int* blocks, int threads, const char* name = __builtin_FUNCTION()) {
  const auto body = [&] {
    note_late_call();
    *blocks = here().blocks_per_multiprocessor;
    return threads > 1024 ? cudaErrorInvalidValue : cudaSuccess;
  };
  return answer(body, name);
}

void run(stream& in, std::function<void()> work) {
  in.work = {};  // waits for the previous launch
  in.busy = true;
  ++now().running;
  in.work = std::jthread([&in, work = std::move(work)] {
    work();
    --now().running;
    in.busy = false;
  });
}

}  // namespace

stream::stream() {
  static std::atomic<unsigned long long> made = 0;
  id = ++made;
  // The initial attributes of a new stream.
  attributes[cudaLaunchAttributeMemSyncDomain].memSyncDomain = cudaLaunchMemSyncDomainDefault;
  attributes[cudaLaunchAttributeMemSyncDomainMap].memSyncDomainMap = {0, 1};
  attributes[cudaLaunchAttributePriority].priority = 0;
}

device::device() {
  attributes = {
      {cudaDevAttrMemSyncDomainCount, 4},
      {cudaDevAttrMultiProcessorCount, 10},
      {cudaDevAttrComputeCapabilityMajor, 10},
      {cudaDevAttrCooperativeLaunch, 1},
      {cudaDevAttrMaxSharedMemoryPerBlockOptin, 227 * 1024},
      {cudaDevAttrL2CacheSize, static_cast<int>(60 * MiB)},
      {cudaDevAttrMaxPersistingL2CacheSize, static_cast<int>(40 * MiB)},
      {cudaDevAttrMaxAccessPolicyWindowSize, static_cast<int>(128 * MiB)},
      {cudaDevAttrCanMapHostMemory, 1},
      {cudaDevAttrUnifiedAddressing, 1},
      {cudaDevAttrCanUseHostPointerForRegisteredMem, 1},
      {cudaDevAttrManagedMemory, 1},
      {cudaDevAttrConcurrentManagedAccess, 1},
      {cudaDevAttrPageableMemoryAccess, 0},
      {cudaDevAttrHostNativeAtomicSupported, 0},
      {cudaDevAttrIpcEventSupport, 1},
      {static_cast<cudaDeviceAttr>(133), 0},  // cudaDevAttrMpsEnabled
#if CUDART_VERSION >= 13000
      {cudaDevAttrOnlyPartialHostNativeAtomicSupported, 0},
#endif
  };
}

machine& now() { return *the_machine; }
int current_device() { return this_threads_device; }
int current_context() { return this_threads_context; }
void make_context_current(int context) {
  this_threads_context = context;
  this_threads_device = context == 0 ? 0 : (context - 1) % contexts_apart;
}
int device_count() { return static_cast<int>(now().devices.size()); }

cudaError_t planned(std::string_view call) {
  const auto found = now().fails.find(std::string(call));
  if (found == now().fails.end()) {
    return cudaSuccess;
  }
  failure& plan = found->second;
  if ((plan.device != -1 && plan.device != current_device()) || plan.after-- > 0 || plan.times-- <= 0) {
    return cudaSuccess;
  }
  return plan.code;
}

test::test() {
  the_machine.emplace();
  make_context_current(0);
  membar::set_restore_failure_handler([](const char* sentence) noexcept { now().failures.emplace_back(sentence); });
}
test::~test() { membar::set_restore_failure_handler(nullptr); }

}  // namespace fake_cuda

using namespace fake_cuda;

// NOLINTBEGIN: the linker's names
extern "C" {

// Devices.

cudaError_t __wrap_cudaGetLastError() { return std::exchange(now().last_error, cudaSuccess); }
cudaError_t __wrap_cudaGetDevice(int* device) {
  return answer([&] {
    *device = current_device();
    return now().devices.empty() ? cudaErrorNoDevice : cudaSuccess;
  });
}
cudaError_t __wrap_cudaSetDevice(int device) {
  return answer([&] {
    if (!exists(device)) {
      return cudaErrorInvalidDevice;
    }
    make_context_current(device + 1);
    return cudaSuccess;
  });
}
cudaError_t __wrap_cudaGetDeviceCount(int* count) {
  return answer([&] {
    *count = device_count();
    return *count != 0 ? cudaSuccess : cudaErrorNoDevice;
  });
}
cudaError_t __wrap_cudaDeviceGetAttribute(int* value, cudaDeviceAttr attribute, int device) {
  return answer([&] {
    if (!exists(device)) {
      return cudaErrorInvalidDevice;
    }
    const auto found = at(device).attributes.find(attribute);
    if (found == at(device).attributes.end()) {
      return cudaErrorInvalidValue;
    }
    *value = found->second;
    return cudaSuccess;
  });
}
cudaError_t __wrap_cudaDeviceGetPCIBusId(char* text, int bytes, int device) {
  return answer([&] {
    std::snprintf(text, static_cast<std::size_t>(bytes), "0000:%02x:00.0", static_cast<unsigned>(device + 0x1b));
    return exists(device) ? cudaSuccess : cudaErrorInvalidDevice;
  });
}
cudaError_t __wrap_cudaDeviceGetByPCIBusId(int* device, const char* text) {
  return answer([&] {
    unsigned bus = 0;
    std::sscanf(text, "0000:%x:00.0", &bus);
    *device = static_cast<int>(bus) - 0x1b;
    return exists(*device) && !now().hidden.contains(*device) ? cudaSuccess : cudaErrorInvalidValue;
  });
}
cudaError_t __wrap_cudaDriverGetVersion(int* version) {
  return answer([&] { *version = now().driver_version; });
}
cudaError_t __wrap_cudaGetDeviceProperties(cudaDeviceProp* properties, int device) {
  return answer([&] {
    *properties = {};
    std::snprintf(properties->name, sizeof properties->name, "%s", at(device).name.c_str());
  });
}
cudaError_t __wrap_cudaDeviceGetLimit(std::size_t* value, cudaLimit limit) {
  return answer([&] {
    *value = here().persisting_l2_limit;
    return limit == cudaLimitPersistingL2CacheSize ? cudaSuccess : cudaErrorUnsupportedLimit;
  });
}
cudaError_t __wrap_cudaDeviceSetLimit(cudaLimit limit, std::size_t value) {
  return answer([&] {
    if (limit != cudaLimitPersistingL2CacheSize) {
      return cudaErrorUnsupportedLimit;
    }
    here().persisting_l2_limit = value;
    here().limits_set.push_back(value);
    return cudaSuccess;
  });
}
cudaError_t __wrap_cudaCtxResetPersistingL2Cache() {
  return answer([&] { ++now().resets; });
}
cudaError_t __wrap_cudaDeviceSynchronize() {
  return answer([&] {
    now().waited_for.push_back(current_device());
    run_late_copies();
  });
}

// Links.

cudaError_t __wrap_cudaDeviceCanAccessPeer(int* access, int from, int to) {
  return answer([&] {
    *access = now().no_access.contains({from, to}) ? 0 : 1;
    return exists(from) && exists(to) ? cudaSuccess : cudaErrorInvalidDevice;
  });
}
cudaError_t __wrap_cudaDeviceEnablePeerAccess(int peer, unsigned) {
  return answer(
      [&] { return now().no_access.contains({current_device(), peer}) ? cudaErrorPeerAccessUnsupported : cudaSuccess; });
}

#if CUDART_VERSION >= 13000
cudaError_t __wrap_cudaDeviceGetP2PAttribute(int* value, cudaDeviceP2PAttr which, int from, int to) {
  return answer([&] {
    const bool partial = now().partial_atomics.contains({from, to});
    const bool native = !partial && !now().no_native_atomics.contains({from, to});
    *value = static_cast<int>((which == cudaDevP2PAttrNativeAtomicSupported && native) ||
                              (which == cudaDevP2PAttrOnlyPartialNativeAtomicSupported && partial));
  });
}
cudaError_t __wrap_cudaDeviceGetP2PAtomicCapabilities(unsigned* capabilities, const cudaAtomicOperation*, unsigned count,
                                                      int from, int to) {
  return answer([&] { std::fill_n(capabilities, count, now().partial_atomics.at({from, to})); });
}
cudaError_t __wrap_cudaDeviceGetHostAtomicCapabilities(unsigned* capabilities, const cudaAtomicOperation*, unsigned count,
                                                       int device) {
  return answer([&] { std::fill_n(capabilities, count, at(device).host_capabilities); });
}
#endif

// Streams, graph nodes and events.

cudaError_t __wrap_cudaStreamCreateWithFlags(cudaStream_t* made, unsigned) {
  return answer([&] {
    note_late_call();
    ++now().streams;
    *made = (new stream)->handle();
  });
}
cudaError_t __wrap_cudaStreamDestroy(cudaStream_t old) {
  return answer([&] {
    --now().streams;
    delete &of(old);
  });
}
cudaError_t __wrap_cudaStreamSynchronize(cudaStream_t handle) {
  return answer([&] {
    now().calls.emplace_back("cudaStreamSynchronize");
    ++of(handle).synchronized;
    run_late_copies();
  });
}
cudaError_t __wrap_cudaStreamQuery(cudaStream_t handle) {
  return of(handle).busy ? cudaErrorNotReady : answer([] {});
}
cudaError_t __wrap_cudaStreamIsCapturing(cudaStream_t handle, cudaStreamCaptureStatus* status) {
  return answer([&] { *status = of(handle).capturing ? cudaStreamCaptureStatusActive : cudaStreamCaptureStatusNone; });
}
#if CUDART_VERSION >= 13000
cudaError_t __wrap_cudaStreamGetCaptureInfo(cudaStream_t handle, cudaStreamCaptureStatus* status, unsigned long long* id,
                                            cudaGraph_t* graph, const cudaGraphNode_t**, const cudaGraphEdgeData**,
                                            std::size_t*) {
#else
cudaError_t __wrap_cudaStreamGetCaptureInfo(cudaStream_t handle, cudaStreamCaptureStatus* status, unsigned long long* id) {
  cudaGraph_t* const graph = nullptr;
#endif
  return answer([&] {
    *status = of(handle).capturing ? cudaStreamCaptureStatusActive : cudaStreamCaptureStatusNone;
    if (id != nullptr) {
      *id = of(handle).capture;
    }
    if (graph != nullptr) {
      *graph = reinterpret_cast<cudaGraph_t>(handle);
    }
  });
}
cudaError_t __wrap_cudaUserObjectCreate(cudaUserObject_t* object, void* owned, cudaHostFn_t, unsigned, unsigned) {
  return answer([&] { *object = static_cast<cudaUserObject_t>(owned); });
}
cudaError_t __wrap_cudaUserObjectRelease(cudaUserObject_t object, unsigned) {
  return answer([&] { ::operator delete(object); });
}
cudaError_t __wrap_cudaGraphRetainUserObject(cudaGraph_t, cudaUserObject_t object, unsigned, unsigned) {
  return answer([&] { now().owned_by_graph.push_back(object); });
}
cudaError_t __wrap_cudaStreamGetId(cudaStream_t handle, unsigned long long* id) {
  return of(handle).capturing ? cudaErrorStreamCaptureUnsupported : answer([&] { *id = of(handle).id; });
}
cudaError_t __wrap_cudaStreamWaitEvent(cudaStream_t handle, cudaEvent_t event, unsigned) {
  return answer([&] { of(handle).waits_for.push_back(event); });
}
cudaError_t __wrap_cudaStreamGetAttribute(cudaStream_t from, cudaLaunchAttributeID id, cudaLaunchAttributeValue* value) {
  return answer([&] { return get(of(from), id, value); });
}
cudaError_t __wrap_cudaStreamSetAttribute(cudaStream_t to, cudaLaunchAttributeID id, const cudaLaunchAttributeValue* value) {
  return answer([&] { return set(of(to), id, value); });
}
cudaError_t __wrap_cudaGraphKernelNodeGetAttribute(cudaGraphNode_t from, cudaLaunchAttributeID id,
                                                   cudaLaunchAttributeValue* value) {
  return answer([&] { return get(of(from), id, value); });
}
cudaError_t __wrap_cudaGraphKernelNodeSetAttribute(cudaGraphNode_t to, cudaLaunchAttributeID id,
                                                   const cudaLaunchAttributeValue* value) {
  return answer([&] { return set(of(to), id, value); });
}
cudaError_t __wrap_cudaEventCreate(cudaEvent_t* event) { return new_event(event); }
cudaError_t __wrap_cudaEventCreateWithFlags(cudaEvent_t* event, unsigned) { return new_event(event); }
cudaError_t __wrap_cudaEventDestroy(cudaEvent_t) {
  return answer([] {});
}
cudaError_t __wrap_cudaEventRecord(cudaEvent_t event, cudaStream_t in) {
  return answer([&] { now().records[event] = in; });
}
cudaError_t __wrap_cudaEventQuery(cudaEvent_t event) {
  return of(now().records.at(event)).busy ? cudaErrorNotReady : answer([] {});
}
cudaError_t __wrap_cudaEventSynchronize(cudaEvent_t event) {
  return answer([&] {
    of(now().records.at(event)).busy = false;
    now().calls.emplace_back("cudaEventSynchronize");
  });
}
cudaError_t __wrap_cudaEventElapsedTime(float* milliseconds, cudaEvent_t, cudaEvent_t) {
  return answer([&] { *milliseconds = 1; });
}

// Memory functions; device memory is host memory.

cudaError_t __wrap_cudaMalloc(void** memory, std::size_t bytes) { return allocate(memory, bytes); }
cudaError_t __wrap_cudaHostAlloc(void** memory, std::size_t bytes, unsigned flags) {
  now().host_flags = flags;
  return allocate(memory, bytes);
}
cudaError_t __wrap_cudaMallocManaged(void** memory, std::size_t bytes, unsigned) { return allocate(memory, bytes); }
#if CUDART_VERSION >= 13000  // Earlier versions of the toolkit have other parameters.
cudaError_t __wrap_cudaMemAdvise(const void* start, std::size_t bytes, cudaMemoryAdvise what, cudaMemLocation where) {
  return answer([&] { now().advised.push_back({start, bytes, what, where, nullptr}); });
}
cudaError_t __wrap_cudaMemPrefetchAsync(const void* start, std::size_t bytes, cudaMemLocation where, unsigned,
                                        cudaStream_t in) {
  return answer([&] { now().prefetched.push_back({start, bytes, {}, where, in}); });
}
#endif
cudaError_t __wrap_cudaFree(void* memory) { return deallocate(memory); }
cudaError_t __wrap_cudaFreeHost(void* memory) { return deallocate(memory); }
cudaError_t __wrap_cudaMemcpy(void* to, const void* from, std::size_t bytes, cudaMemcpyKind) { return copy(to, from, bytes); }
cudaError_t __wrap_cudaMemcpyAsync(void* to, const void* from, std::size_t bytes, cudaMemcpyKind, cudaStream_t) {
  return copy(to, from, bytes);
}
cudaError_t __wrap_cudaMemcpyToSymbolAsync(const void* symbol, const void* from, std::size_t bytes, std::size_t offset,
                                           cudaMemcpyKind, cudaStream_t) {
  return answer([&] { now().symbol_copies.push_back({symbol, from, bytes, offset}); });
}
cudaError_t __wrap_cudaMemset(void* memory, int value, std::size_t bytes) {
  return answer([&] { std::memset(memory, value, bytes); });
}
cudaError_t __wrap_cudaMemsetAsync(void* memory, int value, std::size_t bytes, cudaStream_t) {
  return answer([&] {
    now().calls.emplace_back("cudaMemsetAsync");
    now().zeroed.emplace_back(current_device(), bytes);
    std::memset(memory, value, bytes);
  });
}
cudaError_t __wrap_cudaPointerGetAttributes(cudaPointerAttributes* attributes, const void*) {
  return answer([&] { *attributes = now().pointer; });
}

// Memory of other processes. A handle names the file that contains the memory.

cudaError_t __wrap_cudaIpcGetMemHandle(cudaIpcMemHandle_t* handle, void* base) {
  return answer([&] {
    const auto file = now().files.find(base);
    if (file == now().files.end()) {  // Addresses inside an allocation are also accepted.
      return cudaErrorInvalidValue;
    }
    *handle = {};
    std::snprintf(handle->reserved, sizeof handle->reserved, "/proc/%d/fd/%d %zu", getpid(), file->second,
                  now().sizes.at(base));
    return cudaSuccess;
  });
}
cudaError_t __wrap_cudaIpcOpenMemHandle(void** base, cudaIpcMemHandle_t handle, unsigned flags) {
  return answer([&] {
    int process = 0, number = 0;
    std::size_t bytes = 0;
    std::sscanf(handle.reserved, "/proc/%d/fd/%d %zu", &process, &number, &bytes);
    if (process == getpid()) {
      return cudaErrorDeviceUninitialized;
    }
    for (const auto& [address, each] : now().opened) {
      if (each.handle == handle.reserved && each.device == current_device()) {  // Current drivers increment a count instead.
        return cudaErrorAlreadyMapped;
      }
    }
    const int file = open(std::string(handle.reserved, std::strchr(handle.reserved, ' ')).c_str(), O_RDWR | O_CLOEXEC);
    if (file < 0 || flags != cudaIpcMemLazyEnablePeerAccess) {
      return cudaErrorInvalidValue;
    }
    *base = memory_of_file(file, bytes);
    close(file);
    now().opened[*base] = {handle.reserved, bytes, current_device()};
    return cudaSuccess;
  });
}
cudaError_t __wrap_cudaIpcCloseMemHandle(void* base) {
  return answer([&] {
    const auto found = now().opened.find(base);
    if (found == now().opened.end() || found->second.device != current_device()) {
      return cudaErrorInvalidValue;
    }
    munmap(base, found->second.bytes);
    now().opened.erase(found);
    return cudaSuccess;
  });
}

// Kernels.

cudaError_t __wrap_cudaFuncGetAttributes(cudaFuncAttributes* attributes, const void* kernel) {
  return answer([&] {
    *attributes = {};
    attributes->sharedSizeBytes = now().kernels[kernel].static_shared_bytes;
    attributes->requiredClusterWidth = now().kernels[kernel].compiled_cluster;
    attributes->requiredClusterHeight = attributes->requiredClusterDepth = attributes->requiredClusterWidth != 0 ? 1 : 0;
    attributes->maxDynamicSharedSizeBytes = now().kernels[kernel].max_dynamic_shared_bytes;
    here().loaded.insert(kernel);
  });
}
cudaError_t __wrap_cudaFuncGetName(const char** name, const void* kernel) {
  return answer([&] { *name = now().kernels[kernel].name.c_str(); });
}
cudaError_t __wrap_cudaFuncSetAttribute(const void* kernel, cudaFuncAttribute attribute, int value) {
  return answer([&] {
    if (attribute == cudaFuncAttributeMaxDynamicSharedMemorySize) {
      now().kernels[kernel].max_dynamic_shared_bytes = value;
    } else if (attribute == cudaFuncAttributeNonPortableClusterSizeAllowed) {
      now().kernels[kernel].non_portable_clusters = value != 0;
    }
  });
}
cudaError_t __wrap_cudaOccupancyMaxActiveBlocksPerMultiprocessor(int* blocks, const void*, int threads, std::size_t bytes) {
  now().occupancy_of = {dim3(0, 0, 0), dim3(static_cast<unsigned>(threads)), bytes};
  return fitting_blocks(blocks, threads);
}
cudaError_t __wrap_cudaOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(int* blocks, const void*, int threads,
                                                                          std::size_t bytes, unsigned) {
  now().occupancy_of = {dim3(0, 0, 0), dim3(static_cast<unsigned>(threads)), bytes};
  return fitting_blocks(blocks, threads);
}
cudaError_t __wrap_cudaOccupancyMaxActiveClusters(int* clusters, const void*, const cudaLaunchConfig_t* config) {
  return answer([&] {
    note_late_call();
    now().occupancy_of = {config->gridDim, config->blockDim, config->dynamicSmemBytes};
    const dim3 size(config->attrs[0].val.clusterDim.x, config->attrs[0].val.clusterDim.y, config->attrs[0].val.clusterDim.z);
    *clusters = here().blocks_per_multiprocessor * here().attributes[cudaDevAttrMultiProcessorCount] /
                static_cast<int>(size.x * size.y * size.z);
  });
}
cudaError_t __wrap_cudaLaunchKernelExC(const cudaLaunchConfig_t* config, const void* kernel, void** arguments) {
  return answer([&] {
    const fake_cuda::kernel& limits = now().kernels[kernel];
    if (config->dynamicSmemBytes > static_cast<std::size_t>(limits.max_dynamic_shared_bytes)) {
      return cudaErrorInvalidValue;
    }
    for (const cudaLaunchAttribute* each = config->attrs; each != config->attrs + config->numAttrs; ++each) {
      if (each->id == cudaLaunchAttributeClusterDimension && !limits.non_portable_clusters &&
          each->val.clusterDim.x * each->val.clusterDim.y * each->val.clusterDim.z > 8) {
        return cudaErrorInvalidClusterSize;
      }
    }
    now().launches.push_back({current_device(), config->gridDim, config->blockDim, config->stream, config->dynamicSmemBytes,
                              std::vector<cudaLaunchAttribute>(config->attrs, config->attrs + config->numAttrs), kernel});
    if (now().on_launch) {
      now().on_launch(arguments);
    }
    if (auto work = now().work_of ? now().work_of(now().launches.back(), arguments) : nullptr) {
      run(of(config->stream), std::move(work));
    }
    return cudaSuccess;
  });
}

// The driver.

cudaError_t __wrap_cudaGetDriverEntryPointByVersion(const char* name, void** entry, unsigned, unsigned long long,
                                                    cudaDriverEntryPointQueryResult* result) {
  return answer([&] {
    *entry = driver_function(name);
    *result = *entry == nullptr ? cudaDriverEntryPointSymbolNotFound : cudaDriverEntryPointSuccess;
  });
}

}  // extern "C"
// NOLINTEND
