// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
/// @file
/// Managed (unified) memory has one address for host and devices, and its pages migrate to the processor that accesses them.
/// Advice and prefetch calls have the same spelling for CUDA 12 and 13.
///
/// Use managed memory if it is not known in advance which processor accesses which data, or if the data does not fit into the
/// device's memory. Otherwise, a prefetch or a copy is faster than page faults. Host and device may access it concurrently only
/// if the device supports concurrent managed access. On other devices, the host must wait for every kernel before it accesses
/// any managed memory. For managed variables, CUDA provides `__managed__`.
#pragma once

#include <membar/detail/owned_array.hpp>
#include <membar/detail/standard.hpp>
#include <membar/detail/stream_handle.hpp>
#include <membar/error.hpp>

#include <cstddef>
#include <type_traits>

namespace membar {
inline namespace v0_3 {

/// The location of pages, or their preferred location: a device, the host, or a NUMA node of the host.
class memory_location {
 public:
  enum class kind { device, host, host_numa, host_numa_current };

  [[nodiscard]] static constexpr memory_location device(int index) noexcept { return {kind::device, index}; }
  [[nodiscard]] static constexpr memory_location host() noexcept { return {kind::host, 0}; }
  /// The NUMA node `node` of the host.
  [[nodiscard]] static constexpr memory_location host_numa(int node) noexcept { return {kind::host_numa, node}; }
  /// The NUMA node of the calling thread.
  [[nodiscard]] static constexpr memory_location host_numa_current() noexcept { return {kind::host_numa_current, 0}; }

  [[nodiscard]] constexpr kind which() const noexcept { return which_; }
  [[nodiscard]] constexpr int id() const noexcept { return id_; }

  friend constexpr bool operator==(memory_location, memory_location) noexcept = default;

 private:
  constexpr memory_location(kind which, int id) noexcept : which_(which), id_(id) {}

  kind which_;
  int id_;
};

/// The capabilities of a device for managed memory.
struct managed_facts {
  int device = 0;
  bool managed_memory = false;
  /// Whether host and device may access managed memory concurrently, with pages that migrate on faults.
  bool concurrent_access = false;
};

/// Returns the managed-memory capabilities of `device`.
[[nodiscard]] inline managed_facts managed_facts_of(int device) {
  const auto attribute = [&](cudaDeviceAttr which) {
    int value = 0;
    check(cudaDeviceGetAttribute(&value, which, device), "pass the index of a device that exists");
    return value != 0;
  };
  return {device, attribute(cudaDevAttrManagedMemory), attribute(cudaDevAttrConcurrentManagedAccess)};
}

/// Throws if a device with these capabilities does not support prefetch and advice calls.
inline void validate_managed(const managed_facts& facts) {
  if (!facts.managed_memory) {
    throw error(cudaErrorNotSupported, "membar: device %d does not support managed memory: copy the data, or use mapped memory",
                facts.device);
  }
  if (!facts.concurrent_access) {
    throw error(cudaErrorNotSupported,
                "membar: device %d does not support concurrent managed access, so pages migrate at launches, and advice and "
                "prefetches have no effect: leave these calls out on this device",
                facts.device);
  }
}

namespace detail {

inline void validate_location(memory_location location) {
  if (location.which() == memory_location::kind::device) {
    validate_managed(managed_facts_of(location.id()));
  }
}

[[nodiscard]] inline cudaMemLocation native(memory_location location) noexcept {
  cudaMemLocation result{};
  result.id = location.id();
  switch (location.which()) {
    case memory_location::kind::device:
      result.type = cudaMemLocationTypeDevice;
      break;
    case memory_location::kind::host:
      result.type = cudaMemLocationTypeHost;
      break;
    case memory_location::kind::host_numa:
      result.type = cudaMemLocationTypeHostNuma;
      break;
    case memory_location::kind::host_numa_current:
      result.type = cudaMemLocationTypeHostNumaCurrent;
      break;
  }
  return result;
}

// Up to CUDA 12.9, CUDA's calls that take a location have a suffix. Since 13.0 they have no suffix.
[[nodiscard]] inline cudaError_t advise(const void* start, std::size_t bytes, cudaMemoryAdvise advice,
                                        memory_location location) {
#if CUDART_VERSION >= 13000
  return cudaMemAdvise(start, bytes, advice, native(location));
#else
  return cudaMemAdvise_v2(start, bytes, advice, native(location));
#endif
}

[[nodiscard]] inline cudaError_t prefetch(const void* start, std::size_t bytes, memory_location location, cudaStream_t stream) {
#if CUDART_VERSION >= 13000
  return cudaMemPrefetchAsync(start, bytes, native(location), 0, stream);
#else
  return cudaMemPrefetchAsync_v2(start, bytes, native(location), 0, stream);
#endif
}

inline void advise_checked(const void* start, std::size_t bytes, cudaMemoryAdvise advice, memory_location location) {
  validate_location(location);
  check(advise(start, bytes, advice, location), "pass a range of managed memory and a location that exists");
}

}  // namespace detail

/// Advises that the pages are mostly read: each reader keeps a copy, and a write discards the copies. `false` withdraws the
/// advice.
inline void advise_read_mostly(const void* start, std::size_t bytes, bool read_mostly = true) {
  detail::advise_checked(start, bytes, read_mostly ? cudaMemAdviseSetReadMostly : cudaMemAdviseUnsetReadMostly,
                         memory_location::host());
}

/// Advises that the pages should stay at `location`. Other processors map them if they can, instead of migrating them.
inline void advise_preferred_location(const void* start, std::size_t bytes, memory_location location) {
  detail::advise_checked(start, bytes, cudaMemAdviseSetPreferredLocation, location);
}
inline void advise_no_preferred_location(const void* start, std::size_t bytes) {
  detail::advise_checked(start, bytes, cudaMemAdviseUnsetPreferredLocation, memory_location::host());
}

/// Advises that `location` will access the pages. They then stay mapped there, so that the access does not fault. `false`
/// withdraws the advice.
inline void advise_accessed_by(const void* start, std::size_t bytes, memory_location location, bool accessed = true) {
  detail::advise_checked(start, bytes, accessed ? cudaMemAdviseSetAccessedBy : cudaMemAdviseUnsetAccessedBy, location);
}

/// Migrates pages to `location`, in stream order: kernels that are enqueued later find them there.
///
/// Errors: the device does not support concurrent managed access, or the memory is not managed.
inline void prefetch_pages(const void* start, std::size_t bytes, memory_location location, stream_handle stream) {
  detail::validate_location(location);
  check(detail::prefetch(start, bytes, location, stream), "pass a range of managed memory and a location that exists");
}

/// An array of `size` objects in managed memory, uninitialized and visible to every device and the host.
///
/// Requires: a trivially copyable and destructible type. The destructor frees the memory; no kernel may use it afterwards.
template <class T>
class managed_memory : public detail::owned_array<T, &cudaFree> {
  static_assert(detail::is_bytes<T> && std::is_trivially_destructible_v<T>,
                "membar: managed memory needs a trivially copyable and trivially destructible type, because constructors and "
                "destructors do not run on a device");

 public:
  explicit managed_memory(std::size_t size) : detail::owned_array<T, &cudaFree>(allocated(size), size) {}

 private:
  [[nodiscard]] static void* allocated(std::size_t size) {
    void* memory = nullptr;
    check(cudaMallocManaged(&memory, detail::bytes_of_array<T>(size), cudaMemAttachGlobal),
          "allocate less, or use a device that supports managed memory");
    return memory;
  }
};

}  // namespace v0_3
}  // namespace membar
