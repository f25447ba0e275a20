// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
/// @file
/// Host memory that devices read and write in place (zero-copy): pinned, mapped into the devices' address space, at one
/// address.
///
/// Every access of a device travels the link to the host, so it pays where data is touched once, or little of it, or where
/// host and device exchange words while both run. Pinned memory is also what copies reach the link's bandwidth with. Both
/// sides see each other's writes in the order that system-scope operations give, or at synchronization; nothing else orders
/// them. Whether a read-modify-write is atomic against the host depends on the link: see atomicity.hpp.
#pragma once

#include <membar/error.hpp>

#include <cstddef>
#include <cstring>
#include <new>
#include <type_traits>

namespace membar {

/// How host memory is mapped. Mapped it always is.
struct mapping {
  /// Pinned for every device of the process, not only for the one that is current.
  bool portable = true;
  /// Written past the host's caches: quicker to write and for the device to read, very slow for the host to read.
  bool write_combined = false;

  friend constexpr bool operator==(mapping, mapping) noexcept = default;
};

/// What a device says about host memory, as a value.
struct mapping_facts {
  int device = 0;
  bool can_map_host_memory = false;
  bool unified_addressing = false;
  /// Memory that is registered, not allocated, has one address for both sides.
  bool registered_at_host_address = false;
};

/// The facts about `device`.
[[nodiscard]] inline mapping_facts mapping_facts_of(int device) {
  const auto attribute = [&](cudaDeviceAttr which) {
    int value = 0;
    check(cudaDeviceGetAttribute(&value, which, device), "cudaDeviceGetAttribute", "pass the index of a device that exists");
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
                "membar: device %d has no unified addressing, so mapped memory has an address of its own there: copy the data",
                facts.device);
  }
}

[[nodiscard]] inline mapping_facts mapping_facts_of_current_device() {
  int device = 0;
  check(cudaGetDevice(&device), "cudaGetDevice", "a working CUDA driver and device are needed");
  return mapping_facts_of(device);
}

[[nodiscard]] constexpr unsigned allocation_flags(mapping how) noexcept {
  return cudaHostAllocMapped | (how.portable ? cudaHostAllocPortable : 0U) |
         (how.write_combined ? cudaHostAllocWriteCombined : 0U);
}

}  // namespace detail

/// `size` zeroed objects in mapped host memory, at one address for the host and the devices.
///
/// Requires: a trivially copyable and destructible type; unified addressing. Errors: a device without either, or no memory to
/// pin. It is freed, and no kernel may still use it, when this object dies.
template <class T>
class mapped_memory {
  static_assert(std::is_trivially_copyable_v<T> && std::is_trivially_destructible_v<T>,
                "membar: mapped memory holds a trivially copyable and destructible type: no constructor runs for a device");

 public:
  explicit mapped_memory(std::size_t size, mapping how = {}) : size_(size) {
    detail::validate_mapping(detail::mapping_facts_of_current_device());
    if (size > static_cast<std::size_t>(-1) / sizeof(T)) {
      throw error(cudaErrorInvalidValue, "membar: %zu objects of %zu bytes are more than an address can count: ask for fewer",
                  size, sizeof(T));
    }
    void* memory = nullptr;
    check(cudaHostAlloc(&memory, size * sizeof(T), detail::allocation_flags(how)), "cudaHostAlloc",
          "the host has too little memory to pin, or the process may not pin that much");
    std::memset(memory, 0, size * sizeof(T));
    data_ = static_cast<T*>(memory);
  }
  mapped_memory(mapped_memory&& other) noexcept : data_(other.data_), size_(other.size_) {
    other.data_ = nullptr;
    other.size_ = 0;
  }
  mapped_memory& operator=(mapped_memory&& other) noexcept {
    if (this != &other) {
      free();
      data_ = other.data_;
      size_ = other.size_;
      other.data_ = nullptr;
      other.size_ = 0;
    }
    return *this;
  }
  ~mapped_memory() { free(); }

  /// The address, for the host and the devices alike.
  [[nodiscard]] T* data() const noexcept { return data_; }
  [[nodiscard]] std::size_t size() const noexcept { return size_; }
  [[nodiscard]] T& operator[](std::size_t index) const noexcept { return data_[index]; }
  [[nodiscard]] T* begin() const noexcept { return data_; }
  [[nodiscard]] T* end() const noexcept { return data_ + size_; }

 private:
  void free() noexcept {
    if (data_ != nullptr) {
      static_cast<void>(cudaFreeHost(data_));
    }
  }

  T* data_ = nullptr;
  std::size_t size_ = 0;
};

/// Host memory of the program's own, pinned and mapped for every device until this object dies.
///
/// Errors: memory that is registered already, or that cannot be pinned; a device that would see it at another address.
class mapped_registration {
 public:
  [[nodiscard("the memory is unpinned when this object dies: give it a name")]] mapped_registration(void* start,
                                                                                                    std::size_t bytes)
      : start_(start) {
    const mapping_facts facts = detail::mapping_facts_of_current_device();
    detail::validate_mapping(facts);
    if (!facts.registered_at_host_address) {
      throw error(cudaErrorNotSupported,
                  "membar: device %d sees registered memory at another address than the host does: allocate mapped_memory",
                  facts.device);
    }
    check(cudaHostRegister(start, bytes, cudaHostRegisterMapped | cudaHostRegisterPortable), "cudaHostRegister",
          "pass a range of host memory that is not registered yet and that the process may pin");
  }
  mapped_registration(const mapped_registration&) = delete;
  mapped_registration& operator=(const mapped_registration&) = delete;
  ~mapped_registration() { detail::report_failed_restore(cudaHostUnregister(start_), "cudaHostUnregister"); }

  [[nodiscard]] void* start() const noexcept { return start_; }

 private:
  void* start_;
};

}  // namespace membar
