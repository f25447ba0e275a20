// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
/// @file
/// Host memory that devices read and write in place (zero-copy): pinned, mapped into the devices' address space, at one
/// address.
///
/// Every access of a device goes over the link to the host. So use it for data that is touched once, for a small part of large
/// data, or for words that host and device exchange while both run. Copies reach the bandwidth of the link from pinned memory.
/// Only operations of system scope and synchronization order the writes of host and device. Whether a read-modify-write is
/// atomic against the host depends on the link: see atomicity.hpp.
#pragma once

#include <membar/detail/owned_array.hpp>
#include <membar/error.hpp>

#include <cstddef>
#include <cstring>
#include <new>
#include <type_traits>

namespace membar {
inline namespace v0_2 {

/// How mapped memory is allocated.
struct mapping {
  /// Pinned for every device of the process, not only for the one that is current.
  bool portable = true;
  /// Not cached by the host: quicker for the host to write and for the device to read, very slow for the host to read.
  bool write_combined = false;

  friend constexpr bool operator==(mapping, mapping) noexcept = default;
};

/// What a device can do with host memory.
struct mapping_facts {
  int device = 0;
  bool can_map_host_memory = false;
  bool unified_addressing = false;
  /// Registered memory has the host's address on the device too.
  bool registered_at_host_address = false;
};

/// The facts about `device`.
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
    throw error(cudaErrorNotSupported,
                "membar: device %d has no unified addressing, so mapped memory has another address there: copy the data",
                facts.device);
  }
}

[[nodiscard]] inline mapping_facts mapping_facts_of_current_device() {
  int device = 0;
  check(cudaGetDevice(&device), "a working CUDA driver and device are needed");
  return mapping_facts_of(device);
}

[[nodiscard]] constexpr unsigned allocation_flags(mapping how) noexcept {
  return cudaHostAllocMapped | (how.portable ? cudaHostAllocPortable : 0U) |
         (how.write_combined ? cudaHostAllocWriteCombined : 0U);
}

}  // namespace detail

/// `size` zeroed objects in mapped host memory, at one address for the host and the devices.
///
/// Requires: a trivially copyable and destructible type; unified addressing. Errors: a device that cannot map host memory or has
/// no unified addressing, or no memory to pin. The destructor frees the memory; no kernel may use it any more.
template <class T>
class mapped_memory : public detail::owned_array<T, &cudaFreeHost> {
  static_assert(std::is_trivially_copyable_v<T> && std::is_trivially_destructible_v<T>,
                "membar: mapped memory holds a trivially copyable and destructible type: no constructor runs for a device");

 public:
  explicit mapped_memory(std::size_t size, mapping how = {})
      : detail::owned_array<T, &cudaFreeHost>(allocated(size, how), size) {}

 private:
  [[nodiscard]] static void* allocated(std::size_t size, mapping how) {
    detail::validate_mapping(detail::mapping_facts_of_current_device());
    const std::size_t bytes = detail::bytes_of_array<T>(size);
    void* memory = nullptr;
    check(cudaHostAlloc(&memory, bytes, detail::allocation_flags(how)),
          "the host has too little memory to pin, or the process may not pin that much");
    std::memset(memory, 0, bytes);
    return memory;
  }
};

/// Pins host memory that the program allocated, and maps it for every device, until it is destroyed.
///
/// Errors: memory that is registered already, or that cannot be pinned; a device that would see it at another address.
class mapped_registration {
 public:
  [[nodiscard("the memory is unpinned when this object is destroyed: give it a name")]] mapped_registration(void* start,
                                                                                                            std::size_t bytes)
      : start_(start) {
    const mapping_facts facts = detail::mapping_facts_of_current_device();
    detail::validate_mapping(facts);
    if (!facts.registered_at_host_address) {
      throw error(cudaErrorNotSupported,
                  "membar: device %d sees registered memory at another address than the host does: allocate mapped_memory",
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

}  // namespace v0_2
}  // namespace membar
