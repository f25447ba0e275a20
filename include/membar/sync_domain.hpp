// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
/// @file
/// Memory synchronization domains as values: the logical domain of a launch, the map to physical domains, and handles that are
/// bound to a domain.
///
/// A kernel's writes and fences carry the id of a physical domain. A fence at device scope or below, and the flush at the end
/// of a kernel, wait only for writes of the kernel's domain. Kernels in different domains of one device need system scope to
/// order accesses between them; device scope is not enough. A domain does not change which accesses are legal. Source: CUDA C++
/// Programming Guide, "Memory Synchronization Domains". Requires CUDA 12.8 or later. Only devices of compute capability 9.0 or
/// later have more than one domain.
#pragma once

#include <membar/base/config.hpp>
#include <membar/error.hpp>

namespace membar {
inline namespace v0_3 {

/// The logical domain of a kernel: `sync_domain::default_`, or `sync_domain::remote` for kernels that write to other devices or
/// the host. Libraries mark their communication kernels remote; the application maps logical domains to physical domains.
///
/// The two tags have distinct types; a `sync_domain` can hold either of them at run time.
class sync_domain {
 public:
  struct default_t {
    explicit default_t() = default;
  };
  struct remote_t {
    explicit remote_t() = default;
  };
  static constexpr default_t default_{};
  static constexpr remote_t remote{};

  constexpr sync_domain(default_t) noexcept : value_(cudaLaunchMemSyncDomainDefault) {}
  constexpr sync_domain(remote_t) noexcept : value_(cudaLaunchMemSyncDomainRemote) {}
  constexpr explicit sync_domain(cudaLaunchMemSyncDomain value) noexcept : value_(value) {}

  [[nodiscard]] constexpr cudaLaunchMemSyncDomain value() const noexcept { return value_; }

  friend constexpr bool operator==(sync_domain, sync_domain) noexcept = default;

 private:
  cudaLaunchMemSyncDomain value_;
};

/// The physical domain of each logical domain. CUDA's default map is {0, 1} if the device has several domains.
///
/// The members are `int`, so that an id that is out of range is rejected instead of wrapping around. On a device with a single
/// domain, both ids must be 0, so the default map is rejected there as well.
struct sync_domain_map {
  int default_ = 0;
  int remote = 1;

  /// Returns the physical domain that this map assigns to `domain`.
  [[nodiscard]] constexpr int physical(sync_domain domain) const noexcept {
    return domain == sync_domain::remote ? remote : default_;
  }

  friend constexpr bool operator==(const sync_domain_map&, const sync_domain_map&) noexcept = default;
};

/// A physical domain that is known at compile time. As a launch attribute, it runs the kernel in domain `Id`, regardless of the
/// stream's domain.
template <int Id>
struct physical_domain {
  static_assert(Id >= 0, "membar: physical domain ids start at 0: use 0 or greater");
  static constexpr int id = Id;
};

/// Returns the number of physical domains of `device`: 4 on compute capability 9.0, and 1 on older devices, where domains have
/// no effect but the same code runs. Throws `error` if there is no such device.
[[nodiscard]] inline int sync_domain_count(int device) {
  int count = 0;
  const cudaError_t status = cudaDeviceGetAttribute(&count, cudaDevAttrMemSyncDomainCount, device);
  if (status == cudaErrorInvalidDevice || status == cudaErrorNoDevice || status == cudaErrorInsufficientDriver) {
    int devices = 0;
    static_cast<void>(cudaGetDeviceCount(&devices));
    static_cast<void>(cudaGetLastError());
    throw error(
        status,
        "membar: there is no device %d (%s): this process sees %d devices, numbered from 0; pass an index below that number",
        device, cudaGetErrorString(status), devices);
  }
  check(status);
  return count;
}

/// Returns the number of physical domains of the calling thread's current device.
[[nodiscard]] inline int sync_domain_count() {
  int device = 0;
  check(cudaGetDevice(&device), "check with nvidia-smi that the CUDA driver and the device work");
  return sync_domain_count(device);
}

/// Throws `error` unless 0 <= `id` < `domain_count`. `what` is the name of the id in the message.
inline void validate_physical_domain(int id, int domain_count, const char* what = "the physical domain") {
  if (id < 0 || id >= domain_count) {
    throw error(cudaErrorInvalidValue,
                "membar: %s is %d, but the device has %d synchronization domain%s: use an id from 0 to %d", what, id,
                domain_count, domain_count == 1 ? "" : "s", domain_count - 1);
  }
}

/// Throws `error` unless both ids of `map` exist on a device with `domain_count` domains.
inline void validate(const sync_domain_map& map, int domain_count) {
  validate_physical_domain(map.default_, domain_count, "the physical domain that the map assigns to the default domain");
  validate_physical_domain(map.remote, domain_count, "the physical domain that the map assigns to the remote domain");
}

/// Stands for the id of a handle whose physical domain is known only at run time.
inline constexpr int dynamic_domain = -1;

/// A handle (a pointer, a span, an `atomic_ref`) that is used at device scope, and therefore only by kernels of one physical
/// domain.
///
/// `launch` rejects such a handle in any other domain: at compile time if both `PhysicalId` and the launch's
/// `physical_domain<N>` are known, and otherwise with an `error` once the launch's domain is known. Data that is shared across
/// domains needs `thread_scope::system` and no binding. The check does not cover raw pointers, handles inside structs without a
/// `domain_of`, or node attributes that are changed after capture.
template <class Handle, int PhysicalId = dynamic_domain>
class domain_bound {
 public:
  static_assert(PhysicalId >= 0, "membar: physical domain ids start at 0: use 0 or greater");

  MEMBAR_HOST_DEVICE constexpr explicit domain_bound(Handle handle) noexcept : handle_(handle) {}

  [[nodiscard]] MEMBAR_HOST_DEVICE constexpr Handle get() const noexcept { return handle_; }
  [[nodiscard]] MEMBAR_HOST_DEVICE constexpr int domain() const noexcept { return PhysicalId; }

 private:
  Handle handle_;
};

template <class Handle>
class domain_bound<Handle, dynamic_domain> {
 public:
  /// `physical_id` is a physical domain, as returned by `sync_domain_map::physical`.
  MEMBAR_HOST_DEVICE constexpr domain_bound(Handle handle, int physical_id) noexcept : handle_(handle), domain_(physical_id) {}

  [[nodiscard]] MEMBAR_HOST_DEVICE constexpr Handle get() const noexcept { return handle_; }
  [[nodiscard]] MEMBAR_HOST_DEVICE constexpr int domain() const noexcept { return domain_; }

 private:
  Handle handle_;
  int domain_;
};

/// Tells `launch` which physical domain an argument is bound to. Specialize this template for a struct that contains a
/// `domain_bound`: `static_id` is the id or `dynamic_domain`, and `id(value)` returns the id at run time. A type without a
/// specialization is not bound.
template <class T>
struct domain_of {};

template <class Handle, int PhysicalId>
struct domain_of<domain_bound<Handle, PhysicalId>> {
  static constexpr int static_id = PhysicalId;
  [[nodiscard]] static constexpr int id(const domain_bound<Handle, PhysicalId>& handle) noexcept { return handle.domain(); }
};

/// Satisfied if an argument's device scope is bound to one physical domain.
template <class T>
concept bound_to_domain = requires(const T& value) {
  domain_of<T>::static_id;
  domain_of<T>::id(value);
};

}  // namespace v0_3
}  // namespace membar
