// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "membar-domains/preload/watch.hpp"

#include <cupti.h>
#include <dlfcn.h>

#include <array>
#include <atomic>
#include <cstdlib>
#include <cstring>
#include <map>
#include <mutex>
#include <string>
#include <unordered_map>

#include "membar-domains/preload/driver.hpp"
#include "membar-domains/preload/session.hpp"

namespace membar_domains {

namespace {

/// The functions of CUPTI that recording needs. The library is loaded only for watch: its presence alone costs time.
struct cupti {
  decltype(&cuptiActivityRegisterCallbacks) register_callbacks = nullptr;
  decltype(&cuptiActivityEnable) enable = nullptr;
  decltype(&cuptiActivityDisable) disable = nullptr;
  decltype(&cuptiActivityGetNextRecord) next_record = nullptr;
  decltype(&cuptiActivityFlushAll) flush_all = nullptr;
  decltype(&cuptiActivityFlushPeriod) flush_period = nullptr;
  decltype(&cuptiActivityGetNumDroppedRecords) dropped = nullptr;
  decltype(&cuptiGetResultString) words = nullptr;
};
cupti api;

constexpr std::uint64_t most_kernels = 600'000;
constexpr std::size_t buffer_bytes = std::size_t{4} << 20;

bool load() {
  const char* const named = std::getenv(environment::cupti);
  void* library = nullptr;
  for (const char* name :
       {"libcupti.so.13", "libcupti.so.12"}) {  // the program's own, which is the one that a profiler in it uses
    library = library == nullptr ? dlopen(name, RTLD_NOW | RTLD_NOLOAD) : library;
  }
  for (const char* name : {named, "libcupti.so.13", "libcupti.so.12", MEMBAR_DOMAINS_CUPTI_OF_THE_BUILD,
                           "/usr/local/cuda/extras/CUPTI/lib64/libcupti.so", "/usr/local/cuda/lib64/libcupti.so"}) {
    library = library == nullptr && name != nullptr && *name != '\0' ? dlopen(name, RTLD_NOW | RTLD_LOCAL) : library;
  }
  if (library == nullptr) {
    return false;
  }
  const auto find = [&](auto& function, const char* name) {
    function = reinterpret_cast<std::remove_reference_t<decltype(function)>>(dlsym(library, name));
    return function != nullptr;
  };
  return find(api.register_callbacks, "cuptiActivityRegisterCallbacks") && find(api.enable, "cuptiActivityEnable") &&
         find(api.disable, "cuptiActivityDisable") && find(api.next_record, "cuptiActivityGetNextRecord") &&
         find(api.flush_all, "cuptiActivityFlushAll") && find(api.flush_period, "cuptiActivityFlushPeriod") &&
         find(api.dropped, "cuptiActivityGetNumDroppedRecords") && find(api.words, "cuptiGetResultString");
}

std::mutex names_mutex;
std::unordered_map<std::string, std::uint32_t>& names() {
  static auto* const all = new std::unordered_map<std::string, std::uint32_t>;
  return *all;
}

/// The number of a name; writes it where it is new.
std::uint32_t id_of(const char* name) {
  const std::lock_guard lock(names_mutex);
  const auto [at, is_new] = names().try_emplace(name, static_cast<std::uint32_t>(names().size()));
  if (is_new) {
    session::get().write("N %u %s\n", at->second, name);
  }
  return at->second;
}

void CUPTIAPI give_buffer(std::uint8_t** buffer, std::size_t* size, std::size_t* records) {
  *buffer = static_cast<std::uint8_t*>(std::aligned_alloc(64, buffer_bytes));
  *size = *buffer == nullptr ? 0 : buffer_bytes;
  *records = 0;
}

void CUPTIAPI take_buffer(CUcontext context, std::uint32_t stream, std::uint8_t* buffer, std::size_t, std::size_t valid) {
  process_state& state = session::get().state();
  CUpti_Activity* record = nullptr;
  while (api.next_record(buffer, valid, &record) == CUPTI_SUCCESS) {
    if (record->kind != CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL) {
      continue;
    }
    if (state.recorded.load(std::memory_order_relaxed) >= most_kernels) {
      state.lost.fetch_add(1, std::memory_order_relaxed);
      continue;
    }
    // Kernel10 is of CUDA 13; older records begin alike up to graphId.
    const auto* const k = reinterpret_cast<const CUpti_ActivityKernel10*>(record);
    const std::uint32_t name = id_of(k->name == nullptr ? "?" : k->name);
    session::get().write("K %u %u %u %llu %llu %u %u\n", k->deviceId, k->streamId, k->graphId,
                         static_cast<unsigned long long>(k->start), static_cast<unsigned long long>(k->end), name,
                         k->correlationId);
    state.recorded.fetch_add(1, std::memory_order_relaxed);
  }
  std::size_t dropped = 0;
  if (api.dropped(context, stream, &dropped) == CUPTI_SUCCESS) {
    state.lost.fetch_add(dropped, std::memory_order_relaxed);
  }
  std::free(buffer);
}

std::atomic<bool> started = false;

}  // namespace

void watch_start() {
  static std::atomic<bool> asked = false;
  if (asked.exchange(true)) {
    return;
  }
  if (!load()) {
    session::get().complain(
        std::string("CUPTI was not found, which watch needs: put the folder of libcupti.so into LD_LIBRARY_PATH, or name "
                    "the file in ") +
        environment::cupti);
    return;
  }
  CUptiResult result = api.register_callbacks(give_buffer, take_buffer);
  if (result == CUPTI_SUCCESS) {
    result = api.enable(CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL);
  }
  if (result != CUPTI_SUCCESS) {
    const char* words = "unknown";
    static_cast<void>(api.words(result, &words));
    session::get().complain(std::string("CUPTI refuses to record kernels (") + words +
                            "): another profiler has it, or the driver is of another version: run watch without the profiler");
    return;
  }
  static_cast<void>(api.flush_period(500));
  started = true;
}

void watch_finish() {
  if (started.exchange(false)) {
    static_cast<void>(api.flush_all(CUPTI_ACTIVITY_FLAG_FLUSH_FORCED));
    static_cast<void>(api.disable(CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL));
  }
  session::get().flush();
}

void watch_arguments(CUfunction kernel, void** parameters) {
  static std::mutex mutex;
  static auto* const looks = new std::map<CUfunction, int>;
  if (parameters == nullptr) {
    return;
  }
  {
    const std::lock_guard lock(mutex);
    if (++(*looks)[kernel] > 3) {
      return;
    }
  }
  CUdevice device = 0;
  if (driver::cuCtxGetDevice_(&device) != CUDA_SUCCESS) {
    return;
  }
  session& of = session::get();
  const bool is_kernel = of.is_kernel_handle(kernel);
  bool host = false;
  bool peer = false;
  for (std::size_t i = 0;; ++i) {
    std::size_t offset = 0;
    std::size_t size = 0;
    const CUresult known = is_kernel ? driver::cuKernelGetParamInfo_(reinterpret_cast<CUkernel>(kernel), i, &offset, &size)
                                     : driver::cuFuncGetParamInfo_(kernel, i, &offset, &size);
    if (known != CUDA_SUCCESS || parameters[i] == nullptr) {
      break;
    }
    for (std::size_t at = 0; at + sizeof(CUdeviceptr) <= size; at += sizeof(CUdeviceptr)) {
      CUdeviceptr value = 0;
      std::memcpy(&value, static_cast<const char*>(parameters[i]) + at, sizeof value);
      unsigned kind = 0;
      int owner = 0;
      if (value < 65536 ||
          driver::cuPointerGetAttribute_(static_cast<void*>(&kind), CU_POINTER_ATTRIBUTE_MEMORY_TYPE, value) != CUDA_SUCCESS) {
        continue;
      }
      if (of.checks()) {
        of.write("P %u %llu\n", id_of(of.name_of(kernel).c_str()), static_cast<unsigned long long>(value));
      }
      if (kind == CU_MEMORYTYPE_HOST) {
        host = true;
      } else if (driver::cuPointerGetAttribute_(static_cast<void*>(&owner), CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL, value) ==
                     CUDA_SUCCESS &&
                 owner != device) {
        peer = true;
      }
    }
  }
  if (peer) {
    of.write("R %u pointer to a peer\n", id_of(of.name_of(kernel).c_str()));
  } else if (host) {
    of.write("R %u pointer to host memory\n", id_of(of.name_of(kernel).c_str()));
  }
}

}  // namespace membar_domains
