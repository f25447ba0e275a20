// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
/// @file
/// Memory that the processes on a host share, with one process per GPU. Sharing requires only the CUDA driver, and the memory
/// can be passed to `adopted_backend`.
#pragma once

#include <membar/detail/driver_function.hpp>
#include <membar/detail/virtual_memory.hpp>
#include <membar/device_guard.hpp>
#include <membar/error.hpp>
#include <membar/symmetric/adopted_backend.hpp>
#include <membar/symmetric/host_group.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <utility>
#include <vector>

namespace membar {
inline namespace v0_3 {
namespace symmetric {

/// How processes pass memory to each other.
enum class shared_by {
  automatic,        ///< `file_descriptor` if every device supports it, otherwise `fabric`
  file_descriptor,  ///< POSIX file descriptors, which the group's sockets transfer
  fabric,           ///< fabric handles, which require a service (IMEX) that assigns this user a channel
};

namespace detail {

/// The driver functions that are needed only for sharing memory.
struct sharing_calls {
  decltype(cuMemExportToShareableHandle)* give =
      membar::detail::driver_function<decltype(cuMemExportToShareableHandle)>("cuMemExportToShareableHandle");
  decltype(cuMemImportFromShareableHandle)* take =
      membar::detail::driver_function<decltype(cuMemImportFromShareableHandle)>("cuMemImportFromShareableHandle");
};

/// Returns whether a device supports this kind of sharing, or false if an older driver does not recognize the attribute.
[[nodiscard]] inline bool shares_by(int device, shared_by how) {
  int value = 0;
  const CUdevice_attribute which = how == shared_by::fabric ? CU_DEVICE_ATTRIBUTE_HANDLE_TYPE_FABRIC_SUPPORTED
                                                            : CU_DEVICE_ATTRIBUTE_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR_SUPPORTED;
  return membar::detail::virtual_memory().device_get_attribute(&value, which, device) == CUDA_SUCCESS && value != 0;
}

}  // namespace detail

/// Memory of the same size in every process of a group, which the devices of all processes can access. Each process allocates
/// its own part on its current device and maps the parts of the others.
///
/// The constructor is collective, but the destructor is not: a part exists until the last process that has it mapped has ended
/// or released it. The memory has no name in the system. The backends that adopt the memory must be destroyed before the memory
/// is.
///
/// CUDA: `cuMemCreate`, `cuMemExportToShareableHandle`, `cuMemImportFromShareableHandle`, `cuMemMap`. Multicast is not used.
/// Requires: peer access between the devices, which may be hidden from each other's processes. Errors, on every PE: throws
/// `error` if sizes differ, if some device does not support this kind of sharing, or if a call fails (the error names the call
/// and its PE); also throws the group's errors.
class process_memory {
 public:
  process_memory(host_group& group, std::size_t bytes, shared_by how = shared_by::automatic)
      : self_(group.rank()), count_(static_cast<std::size_t>(group.count())) {
    check(cudaGetDevice(&device_), "check with nvidia-smi that the CUDA driver and the device work");
    check(cudaFree(nullptr),
          "check with nvidia-smi that the CUDA driver and the device work");  // this call creates the device's context
    try {
      how_ = agreed_kind(group, how);
      agree_on_bytes(group, bytes);
      share(group);
    } catch (...) {
      release();
      throw;
    }
  }
  process_memory(const process_memory&) = delete;
  process_memory& operator=(const process_memory&) = delete;
  ~process_memory() { release(); }

  /// Returns how the memory is shared; for `automatic`, this is the kind that was selected.
  [[nodiscard]] shared_by kind() const noexcept { return how_; }

  /// Returns the whole memory, for `adopted_backend`.
  [[nodiscard]] adopted_memory memory() const {
    adopted_memory all{self_, {}, bytes_, device_};
    for (std::size_t i = 0; i != count_; ++i) {
      all.addresses.push_back(reinterpret_cast<void*>(range_ + i * bytes_));
    }
    return all;
  }

 private:
  using calls = membar::detail::virtual_memory_calls;

  [[nodiscard]] shared_by agreed_kind(host_group& group, shared_by asked) const {
    const unsigned long long file = detail::shares_by(device_, shared_by::file_descriptor) ? 1 : 0;
    const unsigned long long fabric = detail::shares_by(device_, shared_by::fabric) ? 2 : 0;
    const auto all = group.all_gather(file | fabric | static_cast<unsigned long long>(asked) << 2);
    for (const bool by_fabric : {false, true}) {
      const unsigned long long bit = by_fabric ? 2 : 1;
      const bool wanted = asked == shared_by::automatic || (asked == shared_by::fabric) == by_fabric;
      if (wanted && std::all_of(all.begin(), all.end(), [&](unsigned long long each) {
            return (each & bit) != 0 && each >> 2 == static_cast<unsigned long long>(asked);
          })) {
        return by_fabric ? shared_by::fabric : shared_by::file_descriptor;
      }
    }
    for (std::size_t i = 0; i != all.size(); ++i) {
      if (all[i] >> 2 != all[0] >> 2) {
        throw error(
            cudaErrorInvalidValue,
            "membar: PE %zu requests a different kind of memory sharing than PE 0: pass the same `shared_by` value on every PE",
            i);
      }
    }
    const unsigned long long needed = asked == shared_by::file_descriptor ? 1 : asked == shared_by::fabric ? 2 : 3;
    std::size_t lacking = 0;
    while (lacking + 1 != all.size() && (all[lacking] & needed) == needed) {
      ++lacking;
    }
    throw error(cudaErrorNotSupported,
                "membar: the device of PE %zu cannot share memory between processes through %s: use one process for all GPUs "
                "(peer_backend), or NVSHMEM",
                lacking,
                asked == shared_by::automatic ? "the files or fabric handles that the other PEs use"
                : asked == shared_by::fabric  ? "fabric handles"
                                              : "files");
  }

  [[nodiscard]] CUmemAllocationProp property() const noexcept {
    CUmemAllocationProp made = membar::detail::memory_of(device_);
    made.requestedHandleTypes =
        how_ == shared_by::fabric ? CU_MEM_HANDLE_TYPE_FABRIC : CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR;
    return made;
  }

  /// Rounds the size up to the mapping granularity of all devices.
  void agree_on_bytes(host_group& group, std::size_t bytes) {
    detail::refuse_other_sizes(group.all_gather(bytes));
    std::size_t unit = 0;
    const CUmemAllocationProp kind = property();
    const CUresult found = membar::detail::virtual_memory().granularity(&unit, &kind, CU_MEM_ALLOC_GRANULARITY_RECOMMENDED);
    const auto units = group.all_gather(found == CUDA_SUCCESS ? unit : 0);
    for (const unsigned long long each : units) {
      unit = each == 0 || unit == 0 ? 0 : std::max<std::size_t>(unit, each);
    }
    if (unit == 0 || bytes == 0 || bytes > (static_cast<std::size_t>(-1) / 2 - unit) / count_) {
      throw error(cudaErrorInvalidValue,
                  "membar: %zu bytes cannot be shared between processes: share at least one byte, and less memory than the "
                  "devices have",
                  bytes);
    }
    unit_ = unit;
    bytes_ = (bytes + unit - 1) / unit * unit;
  }

  /// Throws on every PE if the call failed on any PE. Collective.
  static void agree(host_group& group, CUresult mine, const char* call) {
    detail::refuse_failed_call(group.all_gather(static_cast<unsigned long long>(mine)), call);
  }

  void share(host_group& group) {
    const calls& driver = membar::detail::virtual_memory();
    const detail::sharing_calls sharing;
    const CUmemAllocationProp kind = property();
    parts_.resize(count_, 0);
    mapped_.resize(count_, 0);
    const auto self = static_cast<std::size_t>(self_);
    agree(group, driver.create(&parts_[self], bytes_, &kind, 0), "cuMemCreate");
    if (how_ == shared_by::fabric) {
      CUmemFabricHandle own{};
      static_assert(sizeof own <= sizeof(host_group::handle));
      agree(group, sharing.give(&own, parts_[self], CU_MEM_HANDLE_TYPE_FABRIC, 0), "cuMemExportToShareableHandle");
      host_group::handle letter{};
      std::memcpy(letter.bytes, &own, sizeof own);
      const std::vector<host_group::handle> all = group.all_gather_handles(letter);
      take_others(group, CU_MEM_HANDLE_TYPE_FABRIC, [&](std::size_t i, void*& handle, CUmemFabricHandle& room) {
        std::memcpy(&room, all[i].bytes, sizeof room);
        handle = &room;
      });
    } else {
      int file = -1;
      const CUresult given = sharing.give(&file, parts_[self], CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR, 0);
      const owned_file own(given == CUDA_SUCCESS ? file : -1);
      agree(group, given, "cuMemExportToShareableHandle");
      const std::vector<owned_file> all = group.all_gather_files(own.get());
      take_others(group, CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR, [&](std::size_t i, void*& handle, CUmemFabricHandle&) {
        handle = reinterpret_cast<void*>(static_cast<std::uintptr_t>(all[i].get()));
      });
    }
    agree(group, driver.reserve(&range_, count_ * bytes_, unit_, 0, 0), "cuMemAddressReserve");
    CUresult placed = CUDA_SUCCESS;
    for (std::size_t i = 0; placed == CUDA_SUCCESS && i != count_; ++i) {
      placed = driver.map(range_ + i * bytes_, bytes_, 0, parts_[i], 0);
      mapped_[i] = placed == CUDA_SUCCESS ? 1 : 0;
    }
    agree(group, placed, "cuMemMap");
    CUmemAccessDesc access{};
    access.location = kind.location;
    access.flags = CU_MEM_ACCESS_FLAGS_PROT_READWRITE;
    agree(group, driver.set_access(range_, count_ * bytes_, &access, 1), "cuMemSetAccess (which needs peer access)");
  }

  /// Imports the parts of the other processes. `handle_of(i, handle, room)` determines the handle that the driver needs for PE
  /// i's part.
  template <class HandleOf>
  void take_others(host_group& group, CUmemAllocationHandleType kind, HandleOf handle_of) {
    const detail::sharing_calls sharing;
    CUresult taken = CUDA_SUCCESS;
    for (std::size_t i = 0; taken == CUDA_SUCCESS && i != count_; ++i) {
      if (i != static_cast<std::size_t>(self_)) {
        void* handle = nullptr;
        CUmemFabricHandle room{};
        handle_of(i, handle, room);
        taken = sharing.take(&parts_[i], handle, kind);
      }
    }
    agree(group, taken, "cuMemImportFromShareableHandle");
  }

  void release() noexcept {
    const auto report = [](CUresult status) { membar::detail::report_failed_restore(membar::detail::as_runtime(status)); };
    const calls& driver = membar::detail::virtual_memory();
    for (std::size_t i = 0; i != mapped_.size(); ++i) {
      if (mapped_[i] != 0) {
        report(driver.unmap(range_ + i * bytes_, bytes_));
      }
    }
    if (range_ != 0) {
      report(driver.unreserve(range_, count_ * bytes_));
    }
    for (const CUmemGenericAllocationHandle part : parts_) {
      if (part != 0) {
        report(driver.release(part));
      }
    }
    parts_.clear();
    mapped_.clear();
    range_ = 0;
  }

  int self_;
  std::size_t count_;
  int device_ = 0;
  shared_by how_ = shared_by::automatic;
  std::size_t unit_ = 1;
  std::size_t bytes_ = 0;  ///< the size of each part
  CUdeviceptr range_ = 0;
  std::vector<CUmemGenericAllocationHandle> parts_;  ///< for each PE: the handle of its part
  std::vector<char> mapped_;                         ///< for each PE: whether its part is mapped
};

}  // namespace symmetric
}  // namespace v0_3
}  // namespace membar
