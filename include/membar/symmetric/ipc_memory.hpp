// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
/// @file
/// Memory that each process has allocated with cudaMalloc, shared through CUDA IPC, for use with `adopted_backend`.
#pragma once

#include <membar/detail/driver_function.hpp>
#include <membar/device_guard.hpp>
#include <membar/error.hpp>
#include <membar/symmetric/adopted_backend.hpp>
#include <membar/symmetric/backend.hpp>

#include <cuda.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <mutex>
#include <utility>
#include <vector>

namespace membar {
inline namespace v0_3 {
namespace symmetric {

namespace detail {

/// The allocations of other processes that this process has open. Each allocation is opened only once, regardless of how many
/// parts of it are in use: a framework may place many tensors in one allocation, and drivers without a reference count reject a
/// second open.
class opened_allocations {
 public:
  [[nodiscard]] static opened_allocations& of_process() {
    static opened_allocations all;
    return all;
  }

  /// Opens an allocation for the current device, which must be `device`. `base` is null if this fails.
  [[nodiscard]] cudaError_t open(const cudaIpcMemHandle_t& handle, int device, void*& base) {
    const std::lock_guard lock(mutex_);
    for (entry& each : entries_) {
      if (each.device == device && std::memcmp(&each.handle, &handle, sizeof handle) == 0) {
        ++each.users;
        base = each.base;
        return cudaSuccess;
      }
    }
    entries_.push_back({handle, device, nullptr, 1});
    const cudaError_t status = cudaIpcOpenMemHandle(&entries_.back().base, handle, cudaIpcMemLazyEnablePeerAccess);
    base = entries_.back().base;
    if (status != cudaSuccess) {
      static_cast<void>(cudaGetLastError());  // the error is reported to every PE and must not become the error of the next
                                              // call
      entries_.pop_back();
    }
    return status;
  }

  /// Closes an allocation, on the device that it was opened for, if nothing else uses the allocation.
  [[nodiscard]] cudaError_t close(const void* base, int device) {
    const std::lock_guard lock(mutex_);
    const auto found = std::find_if(entries_.begin(), entries_.end(),
                                    [&](const entry& each) { return each.base == base && each.device == device; });
    if (found == entries_.end() || --found->users != 0) {
      return cudaSuccess;
    }
    void* const closed = found->base;
    entries_.erase(found);
    return cudaIpcCloseMemHandle(closed);
  }

 private:
  struct entry {
    cudaIpcMemHandle_t handle;
    int device;
    void* base;
    std::size_t users;
  };
  std::mutex mutex_;
  std::vector<entry> entries_;
};

/// The reason why a process cannot share its memory through CUDA IPC, or `none`. The enumerator's value is sent to the other
/// processes.
enum class ipc_fault : unsigned char { none, no_memory, managed, pool, mapped, device, room };

/// Returns the text that completes "PE 1 gave ... at 0x7f00".
[[nodiscard]] constexpr const char* name(ipc_fault what) noexcept {
  switch (what) {
    case ipc_fault::managed:
      return "managed memory";
    case ipc_fault::pool:
      return "pool memory, for example from cudaMallocAsync,";
    case ipc_fault::mapped:
      return "memory from cuMemMap, for example from PyTorch's expandable_segments,";
    case ipc_fault::device:
      return "memory of a device that does not support CUDA IPC";
    default:
      return "memory that is not on a device";
  }
}

/// A part of an allocation, at the addresses of the process that owns it.
struct ipc_part {
  ipc_fault fault = ipc_fault::none;
  int device = 0;
  std::uintptr_t base = 0;  ///< the start of the allocation
  std::size_t size = 0;     ///< the size of the allocation
};

/// Returns what the driver reports about the `bytes` bytes that start at `start`.
[[nodiscard]] inline ipc_part part_of_allocation(const void* start, std::size_t bytes) {
  auto* const ask = membar::detail::driver_function<decltype(cuPointerGetAttribute)>("cuPointerGetAttribute");
  const auto address = static_cast<CUdeviceptr>(reinterpret_cast<std::uintptr_t>(start));
  const auto known = [&](CUpointer_attribute which, auto value) {
    return ask(&value, which, address) == CUDA_SUCCESS ? value : decltype(value){};
  };
  ipc_part part;
  unsigned kind = 0;
  if (start == nullptr || ask(&kind, CU_POINTER_ATTRIBUTE_MEMORY_TYPE, address) != CUDA_SUCCESS ||
      ask(&part.device, CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL, address) != CUDA_SUCCESS) {
    part.fault = ipc_fault::no_memory;
    return part;
  }
  part.base = static_cast<std::uintptr_t>(known(CU_POINTER_ATTRIBUTE_RANGE_START_ADDR, CUdeviceptr{}));
  part.size = known(CU_POINTER_ATTRIBUTE_RANGE_SIZE, std::size_t{});
  int has_ipc = 0;
  if (known(CU_POINTER_ATTRIBUTE_IS_MANAGED, 0U) != 0) {
    part.fault = ipc_fault::managed;
  } else if (kind != CU_MEMORYTYPE_DEVICE) {
    part.fault = ipc_fault::no_memory;
  } else if (known(CU_POINTER_ATTRIBUTE_MEMPOOL_HANDLE, CUmemoryPool{}) != nullptr) {
    part.fault = ipc_fault::pool;
  } else if (cudaDeviceGetAttribute(&has_ipc, cudaDevAttrIpcEventSupport, part.device) != cudaSuccess || has_ipc == 0) {
    static_cast<void>(cudaGetLastError());
    part.fault = ipc_fault::device;
  } else if (known(CU_POINTER_ATTRIBUTE_IS_LEGACY_CUDA_IPC_CAPABLE, 0U) == 0) {
    part.fault = ipc_fault::mapped;
  } else if (bytes > part.size - (address - part.base)) {
    part.fault = ipc_fault::room;
  }
  return part;
}

/// Returns a number that is the same in all processes on a host until the host restarts, or 0 if the system does not provide
/// such a number.
[[nodiscard]] inline unsigned long long number_of_host() noexcept {
  unsigned long long hash = 0;
  if (std::FILE* const file = std::fopen("/proc/sys/kernel/random/boot_id", "r"); file != nullptr) {
    for (int letter = std::fgetc(file); letter != EOF; letter = std::fgetc(file)) {
      hash = (hash ^ static_cast<unsigned char>(letter)) * 0x100000001b3ULL;
    }
    std::fclose(file);
  }
  return hash;
}

/// Throws if some PE is on a different host from PE 0.
inline void refuse_other_hosts(const std::vector<unsigned long long>& hosts) {
  for (std::size_t i = 1; i != hosts.size(); ++i) {
    if (hosts[i] != hosts[0]) {
      throw error(cudaErrorNotSupported,
                  "membar: PE %zu and PE 0 are on different hosts, but "
                  "CUDA IPC works only within one host: form a group from "
                  "the processes of each host, or use NVSHMEM",
                  i);
    }
  }
}

}  // namespace detail

/// Shares `bytes` bytes of every process, starting at `mine`, in memory that the process allocated with `cudaMalloc`. The
/// memory may be part of a larger allocation, for example from PyTorch's caching allocator. The whole allocation is opened, so
/// the other processes could read and write all of it.
///
/// The constructor is collective, but the destructor is not: it closes the allocations that this process has open. Each
/// allocation still belongs to its process, which must not free it before all others have closed it; otherwise CUDA's behaviour
/// is undefined. `close` waits until all processes have closed the allocations. The backends that adopt the memory must be
/// destroyed before it is closed. Several processes may share one GPU.
///
/// CUDA: `cudaIpcGetMemHandle`, `cudaIpcOpenMemHandle` with `cudaIpcMemLazyEnablePeerAccess`, `cudaIpcCloseMemHandle`.
/// Requires: Linux; one process for each PE, all on one host, of one user and in one PID namespace; peer access between their
/// devices, which may be hidden from each other's processes. Errors, on every PE: throws `error` if sizes differ; if the memory
/// has no IPC handle (managed memory, memory from `cudaMallocAsync` or `cuMemMap`, host memory); if a range extends past the
/// end of its allocation; if devices have no peer access; if a PE is on another host; or if a handle cannot be opened (the
/// error names its PE). A rank that is out of range and an empty callback are errors only in the affected process, because that
/// process cannot inform the others. Exceptions thrown by the callback are propagated. After an error, no allocation is open.
class ipc_memory {
 public:
  ipc_memory(void* mine, std::size_t bytes, int self, all_gather_callback all_gather)
      : self_(self), bytes_(bytes), processes_(gathered_by(self, std::move(all_gather))) {
    check(cudaFree(nullptr),
          "check with nvidia-smi that the CUDA driver and the device work");  // this call creates the device's context
    try {
      share(mine);
    } catch (...) {
      release();
      throw;
    }
  }
  ipc_memory(const ipc_memory&) = delete;
  ipc_memory& operator=(const ipc_memory&) = delete;
  ~ipc_memory() { release(); }

  /// Returns the memory for `adopted_backend`.
  [[nodiscard]] adopted_memory memory() const { return {self_, addresses_, bytes_, device_}; }

  /// Closes all open allocations, and returns when every process has done so. Each process may then free its memory.
  /// Collective.
  void close() {
    release();
    static_cast<void>(detail::gathered(processes_, 0));
  }

 private:
  using fault = detail::ipc_fault;
  /// The result of opening the other processes' memory.
  enum class outcome : unsigned char { opened, no_access, refused };

  /// Uses the callback to determine the number of processes.
  [[nodiscard]] static detail::gathering_processes gathered_by(int self, all_gather_callback all_gather) {
    const std::size_t count = all_gather ? all_gather(0).size() : 0;
    if (all_gather && (self < 0 || static_cast<std::size_t>(self) >= count)) {
      throw error(
          cudaErrorInvalidValue,
          "membar: PE %d of %zu cannot share memory: number the processes from 0, in the order of the callback's result", self,
          count);
    }
    return {self, static_cast<int>(count), std::move(all_gather)};
  }

  void share(void* mine) {
    const detail::ipc_part part = checked(mine);
    device_ = part.device;
    const device_guard guard(device_);
    detail::refuse_other_hosts(detail::gathered(processes_, detail::number_of_host()));
    const auto buses = detail::gathered(processes_, detail::bus_number_of(device_));
    cudaIpcMemHandle_t handle{};
    const cudaError_t given = cudaIpcGetMemHandle(&handle, reinterpret_cast<void*>(part.base));
    detail::refuse_failed_call(detail::gathered(processes_, static_cast<unsigned long long>(given)), "cudaIpcGetMemHandle");
    const auto offsets = detail::gathered(processes_, reinterpret_cast<std::uintptr_t>(mine) - part.base);
    const std::vector<cudaIpcMemHandle_t> handles = gathered_handles(handle);
    outcome found = outcome::opened;
    cudaError_t status = cudaSuccess;
    std::size_t other = 0;
    opened_.assign(handles.size(), nullptr);
    while (found == outcome::opened && other != handles.size()) {
      if (other == static_cast<std::size_t>(self_)) {
        addresses_.push_back(mine);  // a process cannot open its own allocation
      } else if (!reaches(buses[other])) {
        found = outcome::no_access;
      } else if (status = detail::opened_allocations::of_process().open(handles[other], device_, opened_[other]);
                 status != cudaSuccess) {
        found = outcome::refused;
      } else {
        addresses_.push_back(static_cast<unsigned char*>(opened_[other]) + offsets[other]);
      }
      other += found == outcome::opened ? 1 : 0;
    }
    refuse_unopened(static_cast<unsigned long long>(found) << 56 | static_cast<unsigned long long>(other) << 32 |
                    static_cast<unsigned>(status));
  }

  /// Determines the allocation, and throws on every PE if the allocation of any PE cannot be shared. Collective.
  [[nodiscard]] detail::ipc_part checked(const void* mine) {
    const detail::ipc_part part = detail::part_of_allocation(mine, bytes_);
    detail::refuse_other_sizes(detail::gathered(processes_, bytes_));
    if (bytes_ == 0) {
      throw error(cudaErrorInvalidValue, "membar: 0 bytes cannot be shared through CUDA IPC: share at least one byte");
    }
    const auto start = reinterpret_cast<std::uintptr_t>(mine);
    const std::uintptr_t told = part.fault == fault::room ? part.size - (start - part.base) : start;
    const auto all = detail::gathered(processes_, static_cast<unsigned long long>(part.fault) << 56 | (told & low_bits));
    for (std::size_t i = 0; i != all.size(); ++i) {
      const auto what = static_cast<fault>(all[i] >> 56);
      if (what == fault::room) {
        throw error(cudaErrorInvalidValue,
                    "membar: the memory was not shared through CUDA IPC on any PE, because PE %zu passed %zu bytes, but only "
                    "%llu bytes of its allocation follow that address: share fewer bytes, or allocate more",
                    i, bytes_, all[i] & low_bits);
      }
      if (what != fault::none) {
        throw error(cudaErrorInvalidValue,
                    "membar: the memory was not shared through CUDA IPC on any PE, because PE %zu passed %s at 0x%llx: "
                    "allocate it with cudaMalloc, or let process_memory allocate it",
                    i, name(what), all[i] & low_bits);
      }
    }
    return part;
  }

  [[nodiscard]] std::vector<cudaIpcMemHandle_t> gathered_handles(const cudaIpcMemHandle_t& mine) {
    using word = unsigned long long;
    static_assert(sizeof mine % sizeof(word) == 0);
    std::vector<cudaIpcMemHandle_t> handles(static_cast<std::size_t>(processes_.count()));
    for (std::size_t at = 0; at != sizeof mine; at += sizeof(word)) {
      word part = 0;
      std::memcpy(&part, mine.reserved + at, sizeof part);
      const std::vector<word> all = detail::gathered(processes_, part);
      for (std::size_t i = 0; i != handles.size(); ++i) {
        std::memcpy(handles[i].reserved + at, &all[i], sizeof(word));
      }
    }
    return handles;
  }

  /// Returns whether this device may access the device with that bus number. For a device that is hidden from this process, the
  /// function returns true, because only opening the memory shows whether the device is reachable.
  [[nodiscard]] bool reaches(unsigned long long bus) const {
    const int theirs = detail::device_of_bus_number(bus);
    int access = 1;
    if (theirs >= 0 && theirs != device_ && cudaDeviceCanAccessPeer(&access, device_, theirs) != cudaSuccess) {
      static_cast<void>(cudaGetLastError());
      access = 0;
    }
    return access != 0;
  }

  /// Throws on every PE if some PE could not open the memory of all others. Collective.
  void refuse_unopened(unsigned long long mine) {
    const auto all = detail::gathered(processes_, mine);
    for (std::size_t i = 0; i != all.size(); ++i) {
      const auto what = static_cast<outcome>(all[i] >> 56);
      const auto other = static_cast<unsigned>(all[i] >> 32 & 0xffffff);
      const auto status = static_cast<cudaError_t>(all[i] & 0xffffffff);
      if (what == outcome::no_access) {
        throw error(cudaErrorPeerAccessUnsupported,
                    "membar: the memory was not shared through CUDA IPC on any PE, because PE %zu's device has no peer access "
                    "to PE %u's device: use devices connected by NVLink or by one PCIe root, or use NVSHMEM",
                    i, other);
      }
      if (what == outcome::refused) {
        throw error(status,
                    "membar: the memory was not shared through CUDA IPC on any PE, because PE %zu could not open the memory of "
                    "PE %u with %s (%s): run each PE in its own process, with all processes under one user and in one PID "
                    "namespace (docker: --pid), or use process_memory",
                    i, other, cudaGetErrorName(status), cudaGetErrorString(status));
      }
    }
  }

  void release() noexcept {
    for (void*& each : opened_) {
      if (each != nullptr) {
        try {
          const device_guard guard(device_);
          membar::detail::report_failed_restore(detail::opened_allocations::of_process().close(each, device_),
                                                "memory of another process is still open");
        } catch (const error& failure) {
          membar::detail::handle_failed_restore(failure.what());
        }
        each = nullptr;
      }
    }
  }

  static constexpr unsigned long long low_bits = (1ULL << 56) - 1;

  int self_;
  std::size_t bytes_;
  detail::gathering_processes processes_;
  int device_ = 0;
  std::vector<void*> addresses_;  ///< for each PE: the address of its memory
  std::vector<void*> opened_;     ///< for each PE: its allocation, if it is open
};

}  // namespace symmetric
}  // namespace v0_3
}  // namespace membar
