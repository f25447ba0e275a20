// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// A libcuda.so.1 without a device, for the tests of membar-check witness. Device memory is host memory. A launch executes no
// code. Each copy of the launch's grid fails if the copy's delays add up to at least `smallest` cycles; the kernel's name
// determines how it fails.
#include <witness/launcher.hpp>

#include <unistd.h>

#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <iterator>
#include <map>
#include <numeric>
#include <string>

namespace {

constexpr std::uint64_t smallest = 5000;
constexpr int invalid_value = 1;
constexpr int invalid_ptx = 218;
constexpr int illegal_address = 700;
constexpr int most_dynamic_shared = 8;             // CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES
constexpr std::size_t usual_shared = 48U * 1024U;  // The limit per block if this attribute is not set.
std::string module_text;
std::map<std::string, std::size_t> allowed_shared;  // The value to which each kernel's attribute was set.
int failure = 0;

/// Returns the number of words in a row of delays, which is the number of registers that the PTX declares for such a row.
std::size_t words_of(const std::string& kernel) {
  const std::string registers = ".reg .b32 %mw_s<";
  const std::size_t at = module_text.find(registers, module_text.find(".entry " + kernel + "("));
  return std::strtoul(module_text.c_str() + at + registers.size(), nullptr, 10);
}

/// Returns the number of parameters that the PTX declares for a kernel.
std::size_t parameters_of(const std::string& kernel) {
  const std::size_t begin = module_text.find(".entry " + kernel + "(");
  const std::size_t end = module_text.find(')', begin);
  std::size_t count = 0;
  for (std::size_t at = module_text.find(".param", begin); at < end; at = module_text.find(".param", at + 1)) {
    ++count;
  }
  return count;
}

/// Returns the size of a kernel's static shared memory. The fake kernels have at most one shared variable.
std::size_t static_shared_of(const std::string& kernel) {
  const std::size_t begin = module_text.find(".entry " + kernel + "(");
  const std::size_t end = module_text.find(".entry ", begin + 1);
  const std::size_t variable = module_text.find(".shared ", begin);
  return variable < end ? std::strtoul(module_text.c_str() + module_text.find('[', variable) + 1, nullptr, 10) : 0;
}

/// Returns whether a block can have as much shared memory as a launch requests. A size above the usual limit requires an
/// attribute, which counts only the dynamic part.
bool fits_in_shared(const std::string& kernel, std::size_t dynamic) {
  return dynamic + static_shared_of(kernel) <= usual_shared || (dynamic != 0 && allowed_shared[kernel] >= dynamic);
}

}  // namespace

extern "C" {

using handle = void*;
using address = unsigned long long;

int cuInit(unsigned) { return 0; }
int cuDeviceGetCount(int* count) {
  const char* const given = std::getenv("FAKE_DEVICES");
  *count = given == nullptr ? 1 : std::atoi(given);
  return 0;
}
int cuDeviceGetName(char* name, int, int) {
  std::strcpy(name, "Fake GPU");
  return 0;
}
int cuDeviceGetAttribute(int* value, int attribute, int) {
  *value = attribute == 16 ? 4 : 1000000;  // multiprocessors, or the clock rate in kHz, with which a cycle takes a nanosecond
  return 0;
}
int cuOccupancyMaxActiveBlocksPerMultiprocessor(int* blocks, handle, int, std::size_t) {
  *blocks = 4;
  return 0;
}
int cuDriverGetVersion(int* version) {
  *version = 13000;
  return 0;
}
int cuDevicePrimaryCtxRetain(handle*, int) { return 0; }
int cuCtxSetCurrent(handle) { return 0; }
int cuModuleLoadDataEx(handle*, const void* text, unsigned, int*, void**) {
  if (std::getenv("FAKE_NO_DELAYS") != nullptr && std::strstr(static_cast<const char*>(text), "membar_rows_") != nullptr) {
    return invalid_ptx;  // Simulates a driver that rejects the inserted code.
  }
  module_text = static_cast<const char*>(text);
  if (const char* const path = std::getenv("FAKE_MODULE"); path != nullptr) {
    std::ofstream(path) << module_text;
  }
  return 0;
}
int cuModuleLoadData(handle* module, const void* text) { return cuModuleLoadDataEx(module, text, 0, nullptr, nullptr); }
int cuModuleLoad(handle* module, const char* path) {
  std::ifstream file(path);
  return cuModuleLoadData(module, std::string(std::istreambuf_iterator<char>(file), {}).c_str());
}
int cuModuleGetFunction(handle* function, handle, const char* name) {
  *function = strdup(name);
  return 0;
}
int cuModuleGetGlobal_v2(address*, std::size_t*, handle, const char*) { return 500; }
int cuFuncSetAttribute(handle function, int attribute, int value) {
  if (attribute == most_dynamic_shared) {
    allowed_shared[static_cast<const char*>(function)] = static_cast<std::size_t>(value);
  }
  return 0;
}
int cuMemAlloc_v2(address* at, std::size_t bytes) {
  *at = reinterpret_cast<address>(std::calloc(bytes, 1));
  return 0;
}
int cuMemAllocHost_v2(void** at, std::size_t bytes) {
  *at = std::calloc(bytes, 1);
  return 0;
}
int cuMemcpyHtoD_v2(address to, const void* from, std::size_t bytes) {
  std::memcpy(reinterpret_cast<void*>(to), from, bytes);
  return 0;
}
int cuMemcpyDtoH_v2(void* to, address from, std::size_t bytes) {
  std::memcpy(to, reinterpret_cast<void*>(from), bytes);
  return 0;
}
int cuMemcpyHtoDAsync_v2(address to, const void* from, std::size_t bytes, handle) { return cuMemcpyHtoD_v2(to, from, bytes); }
int cuMemcpyDtoDAsync_v2(address to, address from, std::size_t bytes, handle) {
  std::memcpy(reinterpret_cast<void*>(to), reinterpret_cast<void*>(from), bytes);
  return 0;
}
int cuMemcpyDtoHAsync_v2(void* to, address from, std::size_t bytes, handle) {
  std::memcpy(to, reinterpret_cast<void*>(from), bytes);
  return 0;
}
int cuStreamCreate(handle*, unsigned) { return 0; }
int cuEventSynchronize(handle) { return failure; }
int cuStreamWaitEvent(handle, handle, unsigned) { return 0; }
int cuEventCreate(handle*, unsigned) { return 0; }
int cuEventRecord(handle, handle) { return 0; }
int cuGetErrorName(int status, const char** name) {
  *name = status == invalid_value ? "CUDA_ERROR_INVALID_VALUE" : "CUDA_ERROR_ILLEGAL_ADDRESS";
  return 0;
}

/// A launch made by a program. The launch does not pass any delays, because the delays are constants in the module.
int cuLaunchKernel(handle function, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, handle,
                   void** parameters, void**) {
  const std::string rows = "membar_rows_" + std::string(static_cast<const char*>(function)) + "[";
  std::size_t at = module_text.find(rows);
  at = at == std::string::npos ? at : module_text.find('{', at);
  std::uint64_t delayed = 0;
  while (at != std::string::npos && module_text[at] != '}') {
    char* end = nullptr;
    delayed += std::strtoull(module_text.c_str() + at + 1, &end, 10);
    at = static_cast<std::size_t>(end - module_text.c_str());
  }
  *reinterpret_cast<std::uint32_t*>(*static_cast<const std::uint64_t*>(parameters[0])) = delayed >= smallest ? 1 : 2;
  return 0;
}

int cuLaunchKernelEx(const membar_witness::driver::launch_shape* shape, handle function, void** parameters, void**) {
  const std::string kernel = static_cast<const char*>(function);
  if (!fits_in_shared(kernel, shape->shared) || std::getenv("FAKE_NO_LAUNCH") != nullptr) {
    return invalid_value;
  }
  const auto& plan = *static_cast<const membar_witness::plan*>(parameters[parameters_of(kernel) - 1]);
  const std::size_t words = words_of(kernel) * membar_witness::actor_slots;
  for (std::uint64_t copy = 0; copy < shape->grid[2] / plan.blocks_z; ++copy) {
    const std::uint64_t shift = copy * plan.stride;
    auto* const memory = reinterpret_cast<std::uint32_t*>(*static_cast<const std::uint64_t*>(parameters[0]) +
                                                          (plan.pointers % 2 != 0 ? shift : 0));
    auto* const report = reinterpret_cast<std::uint64_t*>(plan.report + shift);
    const auto* const row = reinterpret_cast<const std::uint32_t*>(plan.rows) + copy * words;
    const bool goes_wrong = std::accumulate(row, row + words, std::uint64_t{0}) >= smallest;
    if (kernel == "follows") {  // This kernel writes to the address that a pointer in memory contains.
      std::uint64_t to = 0;
      std::memcpy(&to, memory, 8);
      *reinterpret_cast<std::uint32_t*>(to) = goes_wrong ? 1 : 2;
      continue;
    }
    *memory = goes_wrong && kernel == "wrong" ? 1 : 2;
    report[0] = goes_wrong && kernel == "hangs" ? 1 : 0;
    failure = goes_wrong && kernel == "faults" ? illegal_address : failure;
    if (kernel == "racy") {  // The value that, according to the report, the kernel's load has read.
      report[2] = plan.watch;
      report[3] = goes_wrong ? 0 : 7;
    }
    if (goes_wrong && kernel == "stuck") {
      pause();
    }
  }
  return 0;
}
}
