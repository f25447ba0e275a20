// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
/// @file
/// A driver without a device: libcuda.so.1 for the tests of membar-domains and membar-check record. With FAKE_DRIVER_BARE, a
/// launch has no effect at all. The driver writes each launch with its domains to the file FAKE_DRIVER_LOG and, with
/// FAKE_DRIVER_LOGS_POINTERS, also each query about a pointer. Each stream has its own clock: "put" takes 1 ms; any other
/// kernel takes 10 µs while a put of domain 0 runs in another stream, and 4 µs otherwise; "large" takes 16 µs more. Addresses
/// from 0x20000000 belong to device 1, from 0x30000000 to the host, and from 0x50000000 to device 1 after a cuMemMap.
/// Allocations from cuMemAlloc start at 0x60000000 and have their own sizes; reserved addresses start at 0x70000000. If several
/// processes share memory from cuMemCreate, each process has its own contents. The stream 0x3000 is being captured. The kernel
/// "put" has an int and three pointers in an array.
#include <cuda.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <barrier>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <deque>
#include <fstream>
#include <iterator>
#include <map>
#include <mutex>
#include <set>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

#undef cuGetProcAddress
#undef cuGraphKernelNodeGetParams
#undef cuEventElapsedTime
#undef cuGraphExecUpdate
#undef cuGraphExecKernelNodeSetParams
#undef cuGraphInstantiate

struct CUfunc_st {
  std::string name;
};
struct CUevent_st {
  double us = 0;
};
struct CUgraphNode_st {
  CUgraphNodeType type = CU_GRAPH_NODE_TYPE_KERNEL;
  CUfunction kernel = nullptr;
  int domain = -1;
  int map_default = -1;
  CUgraph child = nullptr;
  void** parameters = nullptr;
};
struct CUgraph_st {
  std::vector<CUgraphNode> nodes;
  std::vector<std::pair<CUgraphNode, CUgraphNode>> edges;
};

namespace {

struct put {
  double start, end;
  int domain;
};
std::map<CUstream, double> clocks;
std::vector<put> puts;
CUgraph_st captured;

/// The handles of destroyed functions and nodes are reused.
std::deque<CUfunction> functions, free_functions;
std::vector<CUgraphNode> free_nodes;
CUgraphNode new_node(const CUgraphNode_st& of) {
  if (free_nodes.empty()) {
    return new CUgraphNode_st(of);
  }
  const CUgraphNode node = free_nodes.back();
  free_nodes.pop_back();
  *node = of;
  return node;
}

/// Returns a copy with its own nodes.
CUgraph copy_of(CUgraph graph) {
  auto* const out = new CUgraph_st;
  std::map<CUgraphNode, CUgraphNode> copies;
  for (const CUgraphNode n : graph->nodes) {
    out->nodes.push_back(new CUgraphNode_st(*n));
    copies[n] = out->nodes.back();
    if (n->child != nullptr) {
      out->nodes.back()->child = copy_of(n->child);
    }
  }
  for (const auto& [from, to] : graph->edges) {
    out->edges.emplace_back(copies[from], copies[to]);
  }
  return out;
}

void log(const std::string& line) {
  const char* const path = std::getenv("FAKE_DRIVER_LOG");
  if (std::FILE* const file = path == nullptr ? nullptr : std::fopen(path, "a")) {
    std::fprintf(file, "%s\n", line.c_str());
    std::fclose(file);
  }
}

int number(const char* variable, int otherwise) {
  const char* const value = std::getenv(variable);
  return value == nullptr ? otherwise : std::atoi(value);
}

/// With FAKE_DRIVER_MEETS, a launch returns only after another launch has been made concurrently.
void meet() {
  static std::barrier<> both(2);
  if (number("FAKE_DRIVER_MEETS", 0) != 0) {
    both.arrive_and_wait();
  }
}

/// Appends the kernel to the stream.
void ran(CUfunction f, CUstream stream, int domain) {
  double& now = clocks[stream];
  if (f->name == "put") {
    puts.push_back({now, now + 1000, domain});
    now += 1000;
  } else {
    double takes = 4;
    for (const put& p : puts) {
      takes = p.start <= now && now < p.end && (p.domain == 0 || number("FAKE_DRIVER_NO_GAIN", 0) != 0) ? 10 : takes;
    }
    now += f->name == "large" ? takes + 16 : takes;
  }
}

int puts_in_a_row = 0;
bool last_put_moved = false;
bool any_put_moved = false;

thread_local CUstreamCaptureMode capture_mode = CU_STREAM_CAPTURE_MODE_GLOBAL;
thread_local bool capture_is_invalid = false;  ///< Whether the capture of stream 0x3000 is invalid.

CUresult launched(const char* how, CUfunction f, CUstream stream, const CUlaunchAttribute* attributes, unsigned count,
                  void** parameters = nullptr) {
  if (capture_is_invalid && stream == reinterpret_cast<CUstream>(0x3000)) {
    return CUDA_ERROR_STREAM_CAPTURE_INVALIDATED;
  }
  int domain = -1;
  int map_default = -1;
  int map_remote = -1;
  bool cooperative = false;
  for (unsigned i = 0; i < count; ++i) {
    if (attributes[i].id == CU_LAUNCH_ATTRIBUTE_MEM_SYNC_DOMAIN) {
      domain = static_cast<int>(attributes[i].value.memSyncDomain);
    } else if (attributes[i].id == CU_LAUNCH_ATTRIBUTE_MEM_SYNC_DOMAIN_MAP) {
      map_default = attributes[i].value.memSyncDomainMap.default_;
      map_remote = attributes[i].value.memSyncDomainMap.remote;
    } else if (attributes[i].id == CU_LAUNCH_ATTRIBUTE_COOPERATIVE) {
      cooperative = attributes[i].value.cooperative != 0;
    }
  }
  if (count != 0 && (domain >= 0 || map_default >= 0) && number("FAKE_DRIVER_REFUSES", 0) != 0) {
    return CUDA_ERROR_NOT_SUPPORTED;
  }
  if (number("FAKE_DRIVER_QUIET", 0) == 0) {
    log(std::string(how) + " " + f->name + " domain=" + std::to_string(domain) + " map=" + std::to_string(map_default) + "," +
        std::to_string(map_remote) + " attributes=" + std::to_string(count) + (cooperative ? " cooperative" : "") +
        (stream == nullptr ? " null" : ""));
  }
  if (stream == reinterpret_cast<CUstream>(0x3000)) {
    captured.nodes.push_back(new_node({.kernel = f, .domain = domain, .map_default = map_default, .parameters = parameters}));
  }
  if (f->name == "put") {
    const bool moved = domain == 1;
    puts_in_a_row = moved == last_put_moved ? puts_in_a_row + 1 : 1;
    any_put_moved = any_put_moved || moved;
    last_put_moved = moved;
  }
  ran(f, stream, map_default >= 0 ? (domain == 1 ? map_remote : map_default) : domain < 0 ? 0 : domain);
  return CUDA_SUCCESS;
}

}  // namespace

#define FAKE extern "C" __attribute__((visibility("default")))

FAKE CUresult cuInit(unsigned) { return static_cast<CUresult>(number("FAKE_DRIVER_INIT", 0)); }
namespace {
std::atomic<int>& launched_kernels() {
  static std::atomic<int> count = 0;
  return count;
}
}  // namespace
FAKE CUresult cuLaunchKernel(CUfunction f, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, CUstream s,
                             void** parameters, void**) {
  static const bool bare = number("FAKE_DRIVER_BARE", 0) != 0;
  if (bare) {  // only the cost of a launch is measured
    return CUDA_SUCCESS;
  }
  meet();
  ++launched_kernels();
  static std::mutex one_at_a_time;
  const std::lock_guard lock(one_at_a_time);
  return launched("plain", f, s, nullptr, 0, parameters);
}
FAKE CUresult cuLaunchKernel_ptsz(CUfunction f, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned,
                                  CUstream s, void**, void**) {
  return launched("plain_ptsz", f, s, nullptr, 0);
}
FAKE CUresult cuLaunchKernelEx(const CUlaunchConfig* c, CUfunction f, void** parameters, void**) {
  return launched("ex", f, c->hStream, c->attrs, c->numAttrs, parameters);
}
FAKE CUresult cuLaunch(CUfunction f) { return launched("launch", f, nullptr, nullptr, 0); }
FAKE CUresult cuLaunchGrid(CUfunction f, int, int) { return launched("grid", f, nullptr, nullptr, 0); }
FAKE CUresult cuLaunchGridAsync(CUfunction f, int, int, CUstream s) { return launched("grid_async", f, s, nullptr, 0); }
FAKE CUresult cuLaunchCooperativeKernelMultiDevice(CUDA_LAUNCH_PARAMS* all, unsigned count, unsigned) {
  for (unsigned i = 0; i < count; ++i) {
    launched("devices", all[i].function, all[i].hStream, nullptr, 0);
  }
  return CUDA_SUCCESS;
}
FAKE CUresult cuLaunchKernelEx_ptsz(const CUlaunchConfig* c, CUfunction f, void**, void**) {
  return launched("ex_ptsz", f, c->hStream, c->attrs, c->numAttrs);
}
FAKE CUresult cuLaunchCooperativeKernel(CUfunction f, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned,
                                        CUstream s, void**) {
  return launched("cooperative", f, s, nullptr, 0);
}
FAKE CUresult cuModuleGetFunction(CUfunction* f, CUmodule, const char* name) {
  if (free_functions.empty()) {
    *f = functions.emplace_back(new CUfunc_st{name});
  } else {
    *f = free_functions.front();
    free_functions.pop_front();
    (*f)->name = name;
  }
  return CUDA_SUCCESS;
}
/// A module's or library's handle is the image from which it was loaded. Every module has the functions "put" and "small".
FAKE CUresult cuModuleEnumerateFunctions(CUfunction* all, unsigned count, CUmodule module) {
  const char* const names[] = {"put", "small"};
  for (unsigned i = 0; i < count; ++i) {
    cuModuleGetFunction(&all[i], module, names[i]);
  }
  return CUDA_SUCCESS;
}
FAKE CUresult cuLibraryEnumerateKernels(CUkernel* all, unsigned count, CUlibrary library) {
  return cuModuleEnumerateFunctions(reinterpret_cast<CUfunction*>(all), count, reinterpret_cast<CUmodule>(library));
}
FAKE CUresult cuKernelGetName(const char** name, CUkernel kernel) {
  *name = reinterpret_cast<CUfunction>(kernel)->name.c_str();
  return CUDA_SUCCESS;
}
namespace {
CUresult functions_go() {
  free_functions = functions;
  return CUDA_SUCCESS;
}
}  // namespace
FAKE CUresult cuCtxDestroy(CUcontext) { return functions_go(); }
FAKE CUresult cuDevicePrimaryCtxReset(CUdevice) { return functions_go(); }
FAKE CUresult cuDevicePrimaryCtxRelease(CUdevice) { return functions_go(); }
FAKE CUresult cuDevicePrimaryCtxGetState(CUdevice, unsigned*, int* active) {
  *active = 0;
  return CUDA_SUCCESS;
}
FAKE CUresult cuModuleLoadData(CUmodule* module, const void* image) {
  *module = reinterpret_cast<CUmodule>(const_cast<void*>(image));
  return CUDA_SUCCESS;
}
FAKE CUresult cuModuleLoad(CUmodule* module, const char* path) { return cuModuleLoadData(module, path); }
FAKE CUresult cuLibraryLoadFromFile(CUlibrary* library, const char* path, CUjit_option*, void**, unsigned, CUlibraryOption*,
                                    void**, unsigned) {
  return cuModuleLoadData(reinterpret_cast<CUmodule*>(library), path);
}
/// Returns the size of each parameter in bytes, from the file FAKE_DRIVER_PARAMETERS. Each line in this file contains a kernel
/// and its sizes.
namespace {
std::vector<std::size_t> parameters_in_file(const std::string& kernel) {
  const char* const path = std::getenv("FAKE_DRIVER_PARAMETERS");
  std::ifstream file(path == nullptr ? "" : path);
  for (std::string line; std::getline(file, line);) {
    std::istringstream words(line);
    std::string name;
    if (words >> name && name == kernel) {
      return {std::istream_iterator<std::size_t>(words), {}};
    }
  }
  return {};
}
}  // namespace
FAKE CUresult cuFuncGetParamInfo(CUfunction f, std::size_t index, std::size_t* offset, std::size_t* size) {
  if (std::getenv("FAKE_DRIVER_PARAMETERS") != nullptr) {
    const std::vector<std::size_t> all = parameters_in_file(f->name);
    *offset = 0;
    *size = index < all.size() ? all[index] : 0;
    return index < all.size() ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
  }
  *offset = 0;
  if (f->name == "put") {
    *size = index == 0 ? sizeof(int) : 3 * sizeof(CUdeviceptr);
    return index < 2 ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
  }
  *size = sizeof(CUdeviceptr);
  return index == 0 ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}
namespace {
bool mapped = false;
std::map<CUdeviceptr, std::size_t> allocations;
/// Returns the allocation that contains an address, or null.
std::pair<CUdeviceptr, std::size_t> allocation_at(CUdeviceptr pointer) {
  const auto behind = allocations.upper_bound(pointer);
  if (behind == allocations.begin()) {
    return {};
  }
  const auto at = std::prev(behind);
  return pointer - at->first < at->second ? std::pair(at->first, at->second) : std::pair<CUdeviceptr, std::size_t>();
}
}  // namespace
FAKE CUresult cuMemAlloc(CUdeviceptr* pointer, std::size_t bytes) {
  static CUdeviceptr next = 0x60000000 + static_cast<CUdeviceptr>(number("FAKE_DRIVER_MOVES", 0));
  *pointer = next;
  allocations[next] = bytes;
  next += (bytes + 511) / 512 * 512;
  return CUDA_SUCCESS;
}
/// A handle names the process and the position and size of its memory; the importing process maps its own memory.
FAKE CUresult cuIpcGetMemHandle(CUipcMemHandle* handle, CUdeviceptr at) {
  const auto [begin, bytes] = allocation_at(at);
  std::memset(handle, 0, sizeof *handle);
  std::snprintf(handle->reserved, sizeof handle->reserved, "%d %llu %zu", getpid(), at - begin, bytes);
  return bytes == 0 ? CUDA_ERROR_INVALID_VALUE : CUDA_SUCCESS;
}
FAKE CUresult cuIpcOpenMemHandle(CUdeviceptr* at, CUipcMemHandle handle, unsigned) {
  int process = 0;
  CUdeviceptr offset = 0;
  std::size_t bytes = 0;
  std::sscanf(handle.reserved, "%d %llu %zu", &process, &offset, &bytes);
  const CUresult result = cuMemAlloc(at, bytes);
  *at += offset;
  return result;
}
FAKE CUresult cuIpcCloseMemHandle(CUdeviceptr) { return CUDA_SUCCESS; }
FAKE CUresult cuIpcOpenEventHandle(CUevent*, CUipcEventHandle) { return CUDA_SUCCESS; }
/// Memory from cuMemCreate, by handle, and its mappings. A file that shares it contains its device and its size.
namespace {
struct physical {
  int device = 0;
  std::size_t bytes = 0;
};
struct placement {
  std::size_t bytes = 0, offset = 0;
  CUmemGenericAllocationHandle of = 0;
};
std::vector<physical> physicals(1);
std::map<CUdeviceptr, placement> placements;
/// Returns the mapping that contains the address, or the end.
std::map<CUdeviceptr, placement>::iterator placement_at(CUdeviceptr at) {
  const auto behind = placements.upper_bound(at);
  return behind != placements.begin() && at - std::prev(behind)->first < std::prev(behind)->second.bytes ? std::prev(behind)
                                                                                                         : placements.end();
}
/// Returns the place where an address's contents are stored, which is the same for all mappings of the same memory.
CUdeviceptr contents_at(CUdeviceptr at) {
  const auto where = placement_at(at);
  return where == placements.end() ? at : (where->second.of << 40U) + where->second.offset + (at - where->first);
}
}  // namespace
FAKE CUresult cuMemAddressReserve(CUdeviceptr* at, std::size_t bytes, std::size_t, CUdeviceptr, unsigned long long) {
  static CUdeviceptr next = 0x70000000 + static_cast<CUdeviceptr>(number("FAKE_DRIVER_MOVES", 0));
  *at = next;
  next += bytes + 4096;
  return CUDA_SUCCESS;
}
FAKE CUresult cuMemAddressFree(CUdeviceptr, std::size_t) { return CUDA_SUCCESS; }
FAKE CUresult cuMemCreate(CUmemGenericAllocationHandle* handle, std::size_t bytes, const CUmemAllocationProp* of,
                          unsigned long long) {
  *handle = physicals.size();
  physicals.push_back({of->location.id, bytes});
  return CUDA_SUCCESS;
}
FAKE CUresult cuMemRelease(CUmemGenericAllocationHandle) { return CUDA_SUCCESS; }
FAKE CUresult cuMemExportToShareableHandle(void* to, CUmemGenericAllocationHandle handle, CUmemAllocationHandleType type,
                                           unsigned long long) {
  if (type == CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR) {
    const int file = memfd_create("memory", 0);
    std::memcpy(to, &file, sizeof file);
    return pwrite(file, &physicals[handle], sizeof(physical), 0) == sizeof(physical) ? CUDA_SUCCESS : CUDA_ERROR_UNKNOWN;
  }
  CUmemFabricHandle bytes{};
  std::snprintf(reinterpret_cast<char*>(bytes.data), sizeof bytes.data, "%d %zu %d %llu", physicals[handle].device,
                physicals[handle].bytes, getpid(), handle);
  std::memcpy(to, &bytes, sizeof bytes);
  return CUDA_SUCCESS;
}
FAKE CUresult cuMemImportFromShareableHandle(CUmemGenericAllocationHandle* handle, void* from, CUmemAllocationHandleType type) {
  physical of;
  if (type == CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR) {
    const int file = static_cast<int>(reinterpret_cast<std::intptr_t>(from));
    if (pread(file, &of, sizeof of, 0) != sizeof of) {
      of = {};
    }
  } else {
    std::sscanf(static_cast<const char*>(from), "%d %zu", &of.device, &of.bytes);
  }
  *handle = physicals.size();
  physicals.push_back(of);
  return CUDA_SUCCESS;
}
FAKE CUresult cuMemMap(CUdeviceptr at, std::size_t bytes, std::size_t offset, CUmemGenericAllocationHandle handle,
                       unsigned long long) {
  mapped = true;
  if (handle != 0 && handle < physicals.size()) {
    placements[at] = {bytes, offset, handle};
    allocations[at] = bytes;
  }
  return CUDA_SUCCESS;
}
FAKE CUresult cuMemUnmap(CUdeviceptr at, std::size_t bytes) {
  for (auto p = placements.lower_bound(at); p != placements.end() && p->first < at + bytes; p = placements.erase(p)) {
    allocations.erase(p->first);
  }
  return CUDA_SUCCESS;
}
/// No device can access device 7's memory.
FAKE CUresult cuMemGetAccess(unsigned long long* flags, const CUmemLocation*, CUdeviceptr at) {
  const auto where = placement_at(at);
  const bool has = where != placements.end() && physicals[where->second.of].device != 7;
  *flags = has ? 3 : 0;
  return where == placements.end() ? CUDA_ERROR_INVALID_VALUE : CUDA_SUCCESS;
}
FAKE CUresult cuMemRetainAllocationHandle(CUmemGenericAllocationHandle* handle, void* at) {
  const auto where = placement_at(reinterpret_cast<CUdeviceptr>(at));
  *handle = where == placements.end() ? 0 : where->second.of;
  return where == placements.end() ? CUDA_ERROR_INVALID_VALUE : CUDA_SUCCESS;
}
FAKE CUresult cuPointerGetAttribute(void* value, CUpointer_attribute what, CUdeviceptr pointer) {
  const bool type = what == CU_POINTER_ATTRIBUTE_MEMORY_TYPE;
  if (type && number("FAKE_DRIVER_LOGS_POINTERS", 0) != 0) {
    char text[32];
    std::snprintf(text, sizeof text, "asked %llx", static_cast<unsigned long long>(pointer));
    log(text);
  }
  const auto region = pointer >> 28;
  if (region == 6 || region == 7) {
    const auto [base, bytes] = allocation_at(pointer);
    if (bytes == 0) {
      return CUDA_ERROR_INVALID_VALUE;
    }
    if (what == CU_POINTER_ATTRIBUTE_RANGE_START_ADDR) {
      *static_cast<CUdeviceptr*>(value) = base;
    } else if (what == CU_POINTER_ATTRIBUTE_RANGE_SIZE) {
      *static_cast<std::size_t*>(value) = bytes;
    } else {
      const auto where = placement_at(pointer);
      const int device = where == placements.end() ? 0 : physicals[where->second.of].device;
      *static_cast<unsigned*>(value) = type ? unsigned{CU_MEMORYTYPE_DEVICE} : static_cast<unsigned>(device);
    }
    return CUDA_SUCCESS;
  }
  if (what == CU_POINTER_ATTRIBUTE_RANGE_START_ADDR || what == CU_POINTER_ATTRIBUTE_RANGE_SIZE) {
    return CUDA_ERROR_NOT_SUPPORTED;
  }
  if (region == 4 || region > 5 || (region == 5 && !mapped)) {
    return CUDA_ERROR_INVALID_VALUE;
  }
  const unsigned kind = region == 3 ? CU_MEMORYTYPE_HOST : CU_MEMORYTYPE_DEVICE;
  const unsigned owner = region == 2 || region == 5 ? 1 : 0;
  *static_cast<unsigned*>(value) = type ? kind : owner;
  return CUDA_SUCCESS;
}
/// The part of the device's memory to which the program has stored. Each allocation extends to the next multiple of 4096 bytes.
namespace {
std::map<CUdeviceptr, CUdeviceptr> memory;
}
FAKE void fakeStore(CUdeviceptr at, CUdeviceptr word) { memory[at] = word; }
FAKE CUresult cuMemGetAddressRange(CUdeviceptr* base, std::size_t* size, CUdeviceptr pointer) {
  if (const auto [at, bytes] = allocation_at(pointer); bytes != 0) {
    *base = at;
    *size = bytes;
    return CUDA_SUCCESS;
  }
  *base = pointer & ~CUdeviceptr{4095};
  *size = 4096;
  return CUDA_SUCCESS;
}
FAKE CUresult cuMemAllocHost(void** to, std::size_t bytes) {
  *to = std::malloc(bytes);
  return CUDA_SUCCESS;
}
FAKE CUresult cuStreamCreate(CUstream* stream, unsigned) {
  *stream = reinterpret_cast<CUstream>(std::size_t{0x9000});
  return CUDA_SUCCESS;
}
FAKE CUresult cuStreamQuery(CUstream stream) {
  static std::atomic<int> asked{0};
  if (stream != reinterpret_cast<CUstream>(std::size_t{0x9000}) && ++asked <= number("FAKE_DRIVER_BUSY", 0)) {
    std::fprintf(stderr, "driver: busy\n");
    return CUDA_ERROR_NOT_READY;
  }
  return number("FAKE_DRIVER_STALLS", 0) != 0 ? CUDA_ERROR_NOT_READY : CUDA_SUCCESS;
}
FAKE CUresult cuStreamDestroy(CUstream) { return CUDA_SUCCESS; }
FAKE CUresult cuDriverGetVersion(int* version) {
  *version = 13000;
  return CUDA_SUCCESS;
}
FAKE CUresult cuMemcpyDtoHAsync(void* to, CUdeviceptr from, std::size_t bytes, CUstream) {
  std::memset(to, 0, bytes);
  from = contents_at(from);
  for (const auto& [at, word] : memory) {
    if (at >= from && at + sizeof word <= from + bytes) {
      std::memcpy(static_cast<char*>(to) + (at - from), &word, sizeof word);
    }
  }
  return CUDA_SUCCESS;
}
/// Host memory is ordinary memory, so a copy to it may be of any kind.
FAKE CUresult cuMemcpyAsync(CUdeviceptr to, CUdeviceptr from, std::size_t bytes, CUstream stream) {
  log("copy " + std::to_string(bytes) + (stream == nullptr ? " null" : ""));
  return cuMemcpyDtoHAsync(reinterpret_cast<void*>(to), from, bytes, stream);
}
FAKE CUresult cuMemcpyHtoD(CUdeviceptr to, const void* from, std::size_t bytes) {
  to = contents_at(to);
  for (std::size_t at = 0; at + 8 <= bytes; at += 8) {
    std::memcpy(&memory[to + at], static_cast<const char*>(from) + at, 8);
  }
  return CUDA_SUCCESS;
}
FAKE CUresult cuMemsetD32Async(CUdeviceptr to, unsigned value, std::size_t, CUstream) {
  if (number("FAKE_DRIVER_STALLS", 0) == 0) {  // With a stall, the stream never gets here.
    __atomic_store_n(reinterpret_cast<unsigned*>(to), value, __ATOMIC_RELEASE);
  }
  return CUDA_SUCCESS;
}
FAKE CUresult cuMemHostRegister(void*, std::size_t, unsigned) { return CUDA_SUCCESS; }
FAKE CUresult cuMemHostGetDevicePointer(CUdeviceptr* on_device, void* on_host, unsigned) {
  *on_device = reinterpret_cast<CUdeviceptr>(on_host);
  return CUDA_SUCCESS;
}
FAKE CUresult cuStreamGetFlags(CUstream stream, unsigned* flags) {
  *flags = stream == nullptr ? 0 : CU_STREAM_NON_BLOCKING;
  return CUDA_SUCCESS;
}
FAKE CUresult cuFuncGetModule(CUmodule* module, CUfunction) {
  *module = nullptr;
  return CUDA_SUCCESS;
}
/// Every module has one eight-byte variable, "total".
FAKE CUresult cuModuleGetGlobal(CUdeviceptr* at, std::size_t* bytes, CUmodule, const char* name) {
  *at = 0x6ff00000;
  *bytes = 8;
  return std::strcmp(name, "total") == 0 ? CUDA_SUCCESS : CUDA_ERROR_NOT_FOUND;
}
FAKE CUresult cuThreadExchangeStreamCaptureMode(CUstreamCaptureMode* mode) {
  std::swap(*mode, capture_mode);
  return CUDA_SUCCESS;
}
/// This may load the kernel, which invalidates a capture.
FAKE CUresult cuFuncGetAttribute(int* value, CUfunction_attribute what, CUfunction) {
  capture_is_invalid = capture_is_invalid || capture_mode != CU_STREAM_CAPTURE_MODE_RELAXED;
  *value = what == CU_FUNC_ATTRIBUTE_NUM_REGS ? 32 : 0;
  return CUDA_SUCCESS;
}
FAKE CUresult cuStreamSynchronize(CUstream) { return CUDA_SUCCESS; }
FAKE CUresult cuCtxSynchronize() { return CUDA_SUCCESS; }
FAKE CUresult cuFuncGetName(const char** name, CUfunction f) {
  *name = f->name.c_str();
  return CUDA_SUCCESS;
}
FAKE CUresult cuModuleUnload(CUmodule) { return CUDA_SUCCESS; }
namespace {
thread_local std::size_t current_context = 16;
}
FAKE void fakeUseContext(int n) { current_context = 16 + 16 * static_cast<std::size_t>(n); }
FAKE CUresult cuCtxGetCurrent(CUcontext* context) {
  *context = reinterpret_cast<CUcontext>(current_context);
  return CUDA_SUCCESS;
}
FAKE CUresult cuCtxSetCurrent(CUcontext context) {
  current_context = reinterpret_cast<std::size_t>(context);
  return CUDA_SUCCESS;
}
namespace {
thread_local int current_device = 0;
}
FAKE void fakeUseDevice(int device) { current_device = device; }
FAKE CUresult cuCtxGetDevice(CUdevice* device) {
  *device = current_device;
  return CUDA_SUCCESS;
}
FAKE CUresult cuDeviceGetAttribute(int* value, CUdevice_attribute what, CUdevice) {
  *value = what == CU_DEVICE_ATTRIBUTE_MEM_SYNC_DOMAIN_COUNT                  ? number("FAKE_DRIVER_DOMAINS", 4)
           : what == CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT                 ? 4
           : what == CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR             ? 9
           : what == CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_MULTIPROCESSOR       ? 2048
           : what == CU_DEVICE_ATTRIBUTE_MAX_BLOCKS_PER_MULTIPROCESSOR        ? 32
           : what == CU_DEVICE_ATTRIBUTE_MAX_REGISTERS_PER_MULTIPROCESSOR     ? 65536
           : what == CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_MULTIPROCESSOR ? 228 * 1024
                                                                              : 0;
  return CUDA_SUCCESS;
}
FAKE CUresult cuGetErrorName(CUresult, const char** name) {
  *name = "CUDA_ERROR_NOT_SUPPORTED";
  return CUDA_SUCCESS;
}
FAKE CUresult cuEventCreate(CUevent* event, unsigned) {
  *event = new CUevent_st;
  return CUDA_SUCCESS;
}
/// Whether an event is waiting for space in the queue of stream 0x7000. A launch into another stream frees the space.
namespace {
std::atomic<int> waits_for_room{0};
}
/// Returns whether any put was moved and, of the last 400 puts, either all or none were moved.
FAKE bool fakeHasSettled() { return any_put_moved && puts_in_a_row >= 400; }
FAKE int fakeWaitsForRoom() { return waits_for_room; }
FAKE CUresult cuEventRecord(CUevent event, CUstream stream) {
  if (reinterpret_cast<std::size_t>(stream) == 0x7000) {
    const int before = launched_kernels();
    const auto begin = std::chrono::steady_clock::now();
    waits_for_room = 1;
    while (launched_kernels() == before) {
      if (std::chrono::steady_clock::now() - begin > std::chrono::seconds(2)) {
        log("nothing was launched meanwhile");
        break;
      }
    }
  }
  if (number("FAKE_DRIVER_REFUSES_EVENTS", 0) != 0) {
    return CUDA_ERROR_INVALID_HANDLE;
  }
  event->us = clocks[stream];
  return CUDA_SUCCESS;
}
FAKE CUresult cuEventDestroy(CUevent) { return CUDA_SUCCESS; }
FAKE CUresult cuStreamWaitEvent(CUstream stream, CUevent event, unsigned) {
  log("wait");
  clocks[stream] = std::max(clocks[stream], event->us);
  return CUDA_SUCCESS;
}
FAKE CUresult cuEventQuery(CUevent) { return CUDA_SUCCESS; }
FAKE CUresult cuEventElapsedTime(float* ms, CUevent a, CUevent b) {
  *ms = static_cast<float>((b->us - a->us) / 1000);
  return CUDA_SUCCESS;
}
FAKE CUresult cuStreamIsCapturing(CUstream stream, CUstreamCaptureStatus* status) {
  *status = stream == reinterpret_cast<CUstream>(0x3000) ? CU_STREAM_CAPTURE_STATUS_ACTIVE : CU_STREAM_CAPTURE_STATUS_NONE;
  return CUDA_SUCCESS;
}
/// Streams 0x3000 and 0x5000 have their own map.
FAKE CUresult cuStreamGetAttribute(CUstream stream, CUlaunchAttributeID id, CUlaunchAttributeValue* value) {
  if (id == CU_LAUNCH_ATTRIBUTE_MEM_SYNC_DOMAIN) {
    value->memSyncDomain = CU_LAUNCH_MEM_SYNC_DOMAIN_DEFAULT;
    return CUDA_SUCCESS;
  }
  const bool own = stream == reinterpret_cast<CUstream>(0x3000) || stream == reinterpret_cast<CUstream>(0x5000);
  value->memSyncDomainMap = own ? CUlaunchMemSyncDomainMap{2, 3} : CUlaunchMemSyncDomainMap{0, 1};
  return CUDA_SUCCESS;
}
FAKE CUresult cuGraphCreate(CUgraph* graph, unsigned) {
  *graph = new CUgraph_st;
  return CUDA_SUCCESS;
}
FAKE CUresult cuGraphAddKernelNode_v2(CUgraphNode* node, CUgraph graph, const CUgraphNode* before, std::size_t count,
                                      const CUDA_KERNEL_NODE_PARAMS* p) {
  *node = new_node({.kernel = p->func, .parameters = p->kernelParams});
  graph->nodes.push_back(*node);
  for (std::size_t i = 0; i < count; ++i) {
    graph->edges.emplace_back(before[i], *node);
  }
  return CUDA_SUCCESS;
}
FAKE CUresult cuGraphAddChildGraphNode(CUgraphNode* node, CUgraph graph, const CUgraphNode* before, std::size_t count,
                                       CUgraph child) {
  *node = new CUgraphNode_st{.type = CU_GRAPH_NODE_TYPE_GRAPH, .child = copy_of(child)};
  graph->nodes.push_back(*node);
  for (std::size_t i = 0; i < count; ++i) {
    graph->edges.emplace_back(before[i], *node);
  }
  return CUDA_SUCCESS;
}
FAKE CUresult cuGraphDestroyNode(CUgraphNode node) {
  free_nodes.push_back(node);
  for (const CUgraphNode n : node->child == nullptr ? std::vector<CUgraphNode>{} : node->child->nodes) {
    free_nodes.push_back(n);
  }
  return CUDA_SUCCESS;
}
FAKE CUresult cuGraphDestroy(CUgraph graph) {
  free_nodes.insert(free_nodes.end(), graph->nodes.begin(), graph->nodes.end());
  return CUDA_SUCCESS;
}
FAKE CUresult cuGraphChildGraphNodeGetGraph(CUgraphNode node, CUgraph* child) {
  *child = node->child;
  return CUDA_SUCCESS;
}
FAKE CUresult cuGraphAddConditional(CUgraph graph) {
  graph->nodes.push_back(new CUgraphNode_st{.type = CU_GRAPH_NODE_TYPE_CONDITIONAL});
  return CUDA_SUCCESS;
}
/// Adds a conditional node. Its body is a graph that the caller fills.
FAKE CUresult cuGraphAddNode_v2(CUgraphNode* node, CUgraph graph, const CUgraphNode*, const CUgraphEdgeData*, std::size_t,
                                CUgraphNodeParams* parameters) {
  *node = new CUgraphNode_st{.type = parameters->type, .child = new CUgraph_st};
  parameters->conditional.phGraph_out = &(*node)->child;
  graph->nodes.push_back(*node);
  return CUDA_SUCCESS;
}
FAKE CUresult cuGraphClone(CUgraph* out, CUgraph graph) {
  *out = copy_of(graph);
  return CUDA_SUCCESS;
}
FAKE CUresult cuStreamEndCapture(CUstream, CUgraph* graph) {
  *graph = &captured;
  return CUDA_SUCCESS;
}
FAKE CUresult cuGraphGetNodes(CUgraph graph, CUgraphNode* nodes, std::size_t* count) {
  for (std::size_t i = 0; nodes != nullptr && i < graph->nodes.size(); ++i) {
    nodes[i] = graph->nodes[i];
  }
  *count = graph->nodes.size();
  return CUDA_SUCCESS;
}
FAKE CUresult cuGraphGetEdges_v2(CUgraph graph, CUgraphNode* from, CUgraphNode* to, CUgraphEdgeData*, std::size_t* count) {
  for (std::size_t i = 0; from != nullptr && i < graph->edges.size(); ++i) {
    from[i] = graph->edges[i].first;
    to[i] = graph->edges[i].second;
  }
  *count = graph->edges.size();
  return CUDA_SUCCESS;
}
FAKE CUresult cuGraphNodeGetType(CUgraphNode node, CUgraphNodeType* type) {
  *type = node->type;
  return CUDA_SUCCESS;
}
FAKE CUresult cuGraphKernelNodeGetParams_v2(CUgraphNode node, CUDA_KERNEL_NODE_PARAMS* p) {
  p->func = node->kernel;
  p->kernelParams = node->parameters;
  p->gridDimX = p->gridDimY = p->gridDimZ = p->blockDimX = p->blockDimY = p->blockDimZ = 1;
  return CUDA_SUCCESS;
}
FAKE CUresult cuGraphKernelNodeGetAttribute(CUgraphNode node, CUlaunchAttributeID id, CUlaunchAttributeValue* value) {
  if (id == CU_LAUNCH_ATTRIBUTE_MEM_SYNC_DOMAIN) {
    value->memSyncDomain = static_cast<CUlaunchMemSyncDomain>(node->domain < 0 ? 0 : node->domain);
  } else if (id != CU_LAUNCH_ATTRIBUTE_MEM_SYNC_DOMAIN_MAP) {
    *value = {};
  } else {
    const auto map = static_cast<unsigned char>(node->map_default < 0 ? 0 : node->map_default);
    value->memSyncDomainMap = {map, static_cast<unsigned char>(node->map_default < 0 ? 1 : node->map_default)};
  }
  return CUDA_SUCCESS;
}
FAKE CUresult cuGraphKernelNodeSetParams(CUgraphNode node, const CUDA_KERNEL_NODE_PARAMS* parameters) {
  node->kernel = parameters->func;
  node->parameters = parameters->kernelParams;
  return CUDA_SUCCESS;
}
FAKE CUresult cuGraphNodeSetParams(CUgraphNode node, CUgraphNodeParams* parameters) {
  node->kernel = parameters->kernel.func;
  return CUDA_SUCCESS;
}
FAKE CUresult cuGraphKernelNodeCopyAttributes(CUgraphNode to, CUgraphNode from) {
  to->domain = from->domain;
  to->map_default = from->map_default;
  return CUDA_SUCCESS;
}
FAKE CUresult cuGraphKernelNodeSetAttribute(CUgraphNode node, CUlaunchAttributeID id, const CUlaunchAttributeValue* value) {
  if (id == CU_LAUNCH_ATTRIBUTE_MEM_SYNC_DOMAIN) {
    node->domain = static_cast<int>(value->memSyncDomain);
  } else {
    node->map_default = value->memSyncDomainMap.default_;
  }
  return CUDA_SUCCESS;
}
namespace {
CUresult log_nodes(const std::string& what, CUgraph graph, const std::string& more) {
  for (const CUgraphNode node : graph->nodes) {
    if (node->child != nullptr) {
      log_nodes((node->type == CU_GRAPH_NODE_TYPE_GRAPH ? "child " : "body ") + what, node->child, more);
    } else if (node->kernel != nullptr) {
      log(what + " " + node->kernel->name + " domain=" + std::to_string(node->domain) +
          " map=" + std::to_string(node->map_default) + more);
    }
  }
  return CUDA_SUCCESS;
}
}  // namespace
FAKE CUresult cuGraphExecUpdate_v2(CUgraphExec, CUgraph graph, CUgraphExecUpdateResultInfo*) {
  return log_nodes("update", graph, "");
}
FAKE CUresult cuGraphExecKernelNodeSetParams_v2(CUgraphExec, CUgraphNode, const CUDA_KERNEL_NODE_PARAMS* p) {
  log("set " + p->func->name);
  return CUDA_SUCCESS;
}
FAKE CUresult cuGraphExecKernelNodeSetParams(CUgraphExec, CUgraphNode, const CUDA_KERNEL_NODE_PARAMS_v1* p) {
  log("set v1 " + p->func->name);
  return CUDA_SUCCESS;
}
FAKE CUresult cuGraphExecNodeSetParams(CUgraphExec, CUgraphNode, CUgraphNodeParams* p) {
  if (p->type == CU_GRAPH_NODE_TYPE_GRAPH) {
    return log_nodes("update", p->graph.graph, "");
  }
  log("set any " + p->kernel.func->name);
  return CUDA_SUCCESS;
}
FAKE CUresult cuGraphExecDestroy(CUgraphExec) { return CUDA_SUCCESS; }
FAKE CUresult cuGraphExecUpdate(CUgraphExec, CUgraph graph, CUgraphNode*, CUgraphExecUpdateResult*) {
  return log_nodes("update", graph, "");
}
FAKE CUresult cuGraphExecChildGraphNodeSetParams(CUgraphExec, CUgraphNode, CUgraph graph) {
  return log_nodes("update", graph, "");
}
FAKE CUresult cuGraphInstantiateWithFlags(CUgraphExec* exec, CUgraph graph, unsigned long long flags) {
  static std::set<CUgraph> instantiated;
  if (number("FAKE_DRIVER_QUIET", 0) == 0) {
    log_nodes("node", graph, " flags=" + std::to_string(flags));
  }
  // A graph with nodes that allocate memory can be instantiated only once.
  if (!instantiated.insert(graph).second && number("FAKE_DRIVER_ALLOCATES", 0) != 0) {
    return CUDA_ERROR_NOT_SUPPORTED;
  }
  *exec = reinterpret_cast<CUgraphExec>(copy_of(graph));
  return CUDA_SUCCESS;
}
FAKE CUresult cuGraphInstantiate(CUgraphExec*, CUgraph graph, CUgraphNode*, char*, std::size_t) {
  return log_nodes("node", graph, " v1");
}
FAKE CUresult cuGraphInstantiate_v2(CUgraphExec*, CUgraph graph, CUgraphNode*, char*, std::size_t) {
  return log_nodes("node", graph, "");
}
FAKE CUresult cuGraphInstantiateWithParams_ptsz(CUgraphExec*, CUgraph graph, CUDA_GRAPH_INSTANTIATE_PARAMS*) {
  return log_nodes("node", graph, "");
}
namespace {
void run_nodes(CUgraph graph, CUstream stream) {
  for (const CUgraphNode node : graph->nodes) {
    if (node->child != nullptr) {
      run_nodes(node->child, stream);
    } else if (node->kernel != nullptr) {
      ran(node->kernel, stream, node->domain < 0 ? 0 : node->domain);
    }
  }
}
}  // namespace
FAKE CUresult cuGraphLaunch(CUgraphExec exec, CUstream stream) {
  const CUgraph graph = reinterpret_cast<CUgraph>(exec);
  if (number("FAKE_DRIVER_QUIET", 0) == 0) {
    log(graph->nodes.empty() || graph->nodes[0]->domain != 1 ? "graph" : "graph moved");
  }
  run_nodes(graph, stream);
  return CUDA_SUCCESS;
}
/// The driver chooses the encoding of a tensor map. Here, the encoding is the input, reordered and scrambled.
namespace {
CUresult encode(CUtensorMap* map, unsigned kind, void* address, std::uint64_t first_extent) {
  auto* const words = reinterpret_cast<std::uint64_t*>(map);
  for (std::size_t i = 0; i < 12; ++i) {
    words[i] = 0x9e3779b97f4a7c15U * (i + 1);
  }
  words[0] = first_extent + kind;
  words[3] ^= reinterpret_cast<std::uint64_t>(address);
  std::fill(words + 12, words + 16, 0);
  return CUDA_SUCCESS;
}
}  // namespace
FAKE CUresult cuTensorMapEncodeTiled(CUtensorMap* map, CUtensorMapDataType type, cuuint32_t, void* address,
                                     const cuuint64_t* extents, const cuuint64_t*, const cuuint32_t*, const cuuint32_t*,
                                     CUtensorMapInterleave, CUtensorMapSwizzle, CUtensorMapL2promotion,
                                     CUtensorMapFloatOOBfill) {
  return encode(map, type, address, extents[0]);
}
FAKE CUresult cuTensorMapEncodeIm2col(CUtensorMap* map, CUtensorMapDataType type, cuuint32_t, void* address,
                                      const cuuint64_t* extents, const cuuint64_t*, const int*, const int*, cuuint32_t,
                                      cuuint32_t, const cuuint32_t*, CUtensorMapInterleave, CUtensorMapSwizzle,
                                      CUtensorMapL2promotion, CUtensorMapFloatOOBfill) {
  return encode(map, 100U + type, address, extents[0]);
}
FAKE CUresult cuTensorMapReplaceAddress(CUtensorMap* map, void* address) {
  auto* const words = reinterpret_cast<std::uint64_t*>(map);
  words[3] = (0x9e3779b97f4a7c15U * 4) ^ reinterpret_cast<std::uint64_t>(address);
  return CUDA_SUCCESS;
}

namespace {
CUresult found(const char* symbol, void** function, cuuint64_t flags);
}
FAKE CUresult cuGetProcAddress(const char* symbol, void** function, int, cuuint64_t flags) {
  return found(symbol, function, flags);
}
FAKE CUresult cuGetProcAddress_v2(const char* symbol, void** function, int, cuuint64_t flags,
                                  CUdriverProcAddressQueryResult* status) {
  if (status != nullptr) {
    *status = CU_GET_PROC_ADDRESS_SUCCESS;
  }
  return found(symbol, function, flags);
}
namespace {
CUresult found(const char* symbol, void** function, cuuint64_t flags) {
  const bool own_stream = (flags & CU_GET_PROC_ADDRESS_PER_THREAD_DEFAULT_STREAM) != 0;
  const std::map<std::string, void*> all{
      {"cuInit", reinterpret_cast<void*>(&cuInit)},
      {"cuGetProcAddress", reinterpret_cast<void*>(&cuGetProcAddress_v2)},
      {"cuLaunchKernel", own_stream ? reinterpret_cast<void*>(&cuLaunchKernel_ptsz) : reinterpret_cast<void*>(&cuLaunchKernel)},
      {"cuLaunchKernelEx",
       own_stream ? reinterpret_cast<void*>(&cuLaunchKernelEx_ptsz) : reinterpret_cast<void*>(&cuLaunchKernelEx)},
      {"cuLaunchCooperativeKernel", reinterpret_cast<void*>(&cuLaunchCooperativeKernel)},
      {"cuModuleLoadData", reinterpret_cast<void*>(&cuModuleLoadData)},
      {"cuMemMap", reinterpret_cast<void*>(&cuMemMap)},
      {"cuModuleGetFunction", reinterpret_cast<void*>(&cuModuleGetFunction)},
      {"cuGraphExecUpdate", reinterpret_cast<void*>(&cuGraphExecUpdate_v2)},
      {"cuGraphExecKernelNodeSetParams", reinterpret_cast<void*>(&cuGraphExecKernelNodeSetParams_v2)},
      {"cuGraphInstantiate", reinterpret_cast<void*>(&cuGraphInstantiateWithFlags)},
  };
  const auto at = all.find(symbol);
  *function = at == all.end() ? nullptr : at->second;
  return at == all.end() ? CUDA_ERROR_NOT_FOUND : CUDA_SUCCESS;
}
}  // namespace
