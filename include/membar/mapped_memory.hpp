// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
/// @file
/// Host memory that devices read and write in place (zero-copy). The memory is pinned, and is mapped at one address for the
/// host and the devices.
///
/// Every access by a device crosses the link to the host. Use mapped memory for data that is accessed once, for a small part of
/// large data, or for words that host and device exchange while both are running. Copies from pinned memory reach the full
/// bandwidth of the link. The writes of host and device are ordered only by operations at system scope and by synchronization,
/// and only in ordinary host memory. `mapped_memory` is always ordinary memory. Memory that the host does not cache has its own
/// type, `write_combined_memory`, whose `publish` orders the writes. Whether a read-modify-write is atomic with respect to the
/// host depends on the link: see atomicity.hpp.
#pragma once

#include <membar/detail/owned_array.hpp>
#include <membar/detail/standard.hpp>
#include <membar/error.hpp>

#include <cstddef>
#include <cstring>
#include <new>
#include <type_traits>

namespace membar {
inline namespace v0_3 {

/// How mapped memory is allocated.
struct mapping {
  /// Whether the memory is pinned for every device of the process, not only for the current device.
  bool portable = true;

  friend constexpr bool operator==(mapping, mapping) noexcept = default;
};

/// The capabilities of a device for host memory.
struct mapping_facts {
  int device = 0;
  bool can_map_host_memory = false;
  bool unified_addressing = false;
  /// Whether registered memory has the same address on the device as on the host.
  bool registered_at_host_address = false;
};

/// Returns the host-memory capabilities of `device`.
[[nodiscard]] inline mapping_facts mapping_facts_of(int device) {
  const auto attribute = [&](cudaDeviceAttr which) {
    int value = 0;
    check(cudaDeviceGetAttribute(&value, which, device), "pass the index of a device that exists");
    return value != 0;
  };
  return {device, attribute(cudaDevAttrCanMapHostMemory), attribute(cudaDevAttrUnifiedAddressing),
          attribute(cudaDevAttrCanUseHostPointerForRegisteredMem)};
}

namespace detail {

inline void validate_mapping(const mapping_facts& facts) {
  if (!facts.can_map_host_memory) {
    throw error(cudaErrorNotSupported, "membar: device %d cannot map host memory: copy the data, or use managed memory",
                facts.device);
  }
  if (!facts.unified_addressing) {
    throw error(
        cudaErrorNotSupported,
        "membar: device %d does not support unified addressing, so mapped memory has a different address there: copy the data",
        facts.device);
  }
}

[[nodiscard]] inline mapping_facts mapping_facts_of_current_device() {
  int device = 0;
  check(cudaGetDevice(&device), "check with nvidia-smi that the CUDA driver and the device work");
  return mapping_facts_of(device);
}

[[nodiscard]] constexpr unsigned allocation_flags(mapping how) noexcept {
  return cudaHostAllocMapped | (how.portable ? cudaHostAllocPortable : 0U);
}

[[nodiscard]] inline void* mapped_allocation(std::size_t bytes, unsigned flags) {
  validate_mapping(mapping_facts_of_current_device());
  void* memory = nullptr;
  check(cudaHostAlloc(&memory, bytes, flags), "allocate less, or allow the process to pin more memory");
  std::memset(memory, 0, bytes);
  return memory;
}

/// Orders the thread's earlier stores that bypass the caches before its later stores. Release stores and fences order only
/// stores to ordinary memory.
inline void order_write_combined_stores() noexcept {
#if defined(__x86_64__)
  __asm__ volatile("sfence" ::: "memory");
#elif defined(__aarch64__)
  __asm__ volatile("dmb oshst" ::: "memory");
#else
  __atomic_thread_fence(__ATOMIC_SEQ_CST);
#endif
}

}  // namespace detail

/// An array of `size` zeroed objects in mapped host memory, at the same address for the host and the devices. Requires: a
/// trivially copyable and destructible type; unified addressing. Errors: the device cannot map host memory or does not support
/// unified addressing, or no memory can be pinned. The destructor frees the memory; no kernel may use it afterwards.
template <class T>
class mapped_memory : public detail::owned_array<T, &cudaFreeHost> {
  static_assert(detail::is_bytes<T> && std::is_trivially_destructible_v<T>,
                "membar: mapped memory needs a trivially copyable and trivially destructible type, because constructors and "
                "destructors do not run on a device");

 public:
  explicit mapped_memory(std::size_t size, mapping how = {})
      : detail::owned_array<T, &cudaFreeHost>(
            detail::mapped_allocation(detail::bytes_of_array<T>(size), detail::allocation_flags(how)), size) {}
};

/// An array of `size` zeroed objects in mapped host memory that the host writes around its caches (write-combined) and never
/// reads: for data that the host writes once and kernels read.
///
/// The host has no pointer to this memory, so the host cannot use atomics or channels in it: on x86, a release store or fence
/// does not order these writes. `publish` orders them. Call it between the writes and the release store to ordinary memory that
/// tells a running kernel about them. A launch or another CUDA call that follows the writes in the same thread does not require
/// `publish`. Requirements and errors: the same as for `mapped_memory`. The memory is pinned for every device. Source: CUDA
/// Runtime API, `cudaHostAlloc`.
template <class T>
class write_combined_memory : private detail::owned_array<T, &cudaFreeHost> {
  using objects = detail::owned_array<T, &cudaFreeHost>;
  static_assert(detail::is_bytes<T> && std::is_trivially_destructible_v<T>,
                "membar: mapped memory needs a trivially copyable and trivially destructible type, because constructors and "
                "destructors do not run on a device");

 public:
  explicit write_combined_memory(std::size_t count)
      : objects(detail::mapped_allocation(detail::bytes_of_array<T>(count),
                                          detail::allocation_flags({}) | cudaHostAllocWriteCombined),
                count) {}

  using objects::size;
  /// Returns the address through which kernels read. Reads by the host are slow and unordered.
  [[nodiscard]] const T* device_data() const noexcept { return objects::data(); }

  /// Writes `value` at `index`, which must be below `size()`.
  void write(std::size_t index, const T& value) noexcept { (*this)[index] = value; }
  /// Writes `count` values starting at `index`. Errors: the values do not fit into the array.
  void write(std::size_t index, const T* values, std::size_t count) {
    if (index > this->size() || count > this->size() - index) {
      throw error(cudaErrorInvalidValue,
                  "membar: %zu values starting at index %zu do not fit into write-combined memory of %zu values: write at most "
                  "%zu values",
                  count, index, this->size(), index > this->size() ? std::size_t{0} : this->size() - index);
    }
    if (count != 0) {
      std::memcpy(static_cast<void*>(objects::data() + index), values, count * sizeof(T));
    }
  }

  /// Orders the calling thread's writes to any write-combined memory before its later stores, so that a release store at system
  /// scope to ordinary memory publishes them. Machine code: `sfence` on x86, `dmb oshst` on Arm.
  static void publish() noexcept { detail::order_write_combined_stores(); }
};

/// Pins host memory that the program allocated and maps it for every device, for the lifetime of the object.
///
/// Errors: the memory is already registered or cannot be pinned, or a device would see it at a different address.
class mapped_registration {
 public:
  [[nodiscard("destroying this object unpins the memory: give the object a name")]] mapped_registration(void* start,
                                                                                                        std::size_t bytes)
      : start_(start) {
    const mapping_facts facts = detail::mapping_facts_of_current_device();
    detail::validate_mapping(facts);
    if (!facts.registered_at_host_address) {
      throw error(
          cudaErrorNotSupported,
          "membar: device %d sees registered memory at a different address than the host: allocate mapped_memory instead",
          facts.device);
    }
    check(cudaHostRegister(start, bytes, cudaHostRegisterMapped | cudaHostRegisterPortable),
          "pass a range of host memory that is not registered yet and that the process may pin");
  }
  mapped_registration(const mapped_registration&) = delete;
  mapped_registration& operator=(const mapped_registration&) = delete;
  ~mapped_registration() { detail::report_failed_restore(cudaHostUnregister(start_)); }

  [[nodiscard]] void* start() const noexcept { return start_; }

 private:
  void* start_;
};

}  // namespace v0_3
}  // namespace membar
