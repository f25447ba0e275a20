// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
/// @file
/// Symmetric memory within one process, based on peer access. The backend requires no other library. Every PE is a GPU in this
/// machine.
#pragma once

#include <membar/atomicity.hpp>
#include <membar/base/config.hpp>
#include <membar/detail/virtual_memory.hpp>
#include <membar/device_guard.hpp>
#include <membar/error.hpp>
#include <membar/symmetric/backend.hpp>
#include <membar/symmetric/pe.hpp>
#include <membar/symmetric/reach.hpp>

#include <cstddef>
#include <utility>
#include <vector>

namespace membar {
inline namespace v0_3 {
namespace symmetric {

/// How the peer backend allocates memory so that the devices can access each other's memory.
enum class peer_memory {
  automatic,  ///< `mapped` if every device supports it, otherwise `plain`
  mapped,     ///< one address range from the driver's virtual memory management, with the PEs' parts at equal distances
  plain,      ///< an allocation on each device, with peer access enabled between all devices
};

/// The properties of the PEs' devices, as a plain value. Pairs are stored in rows: `[from * devices.size() + to]`.
struct peer_facts {
  std::vector<int> devices;          ///< the device of each PE; a device may appear more than once
  std::vector<char> access;          ///< for each pair of PEs: whether `from` can load and store memory of `to`
  std::vector<char> virtual_memory;  ///< for each PE: whether its device supports virtual memory management

  [[nodiscard]] bool reaches(std::size_t from, std::size_t to) const { return access[from * devices.size() + to] != 0; }
};

/// Throws `error` if some PE cannot access another PE. The error names the two devices and the remedy.
inline void validate_peers(const peer_facts& facts) {
  if (facts.devices.empty()) {
    throw error(cudaErrorNoDevice, "membar: a peer backend was requested without devices: name one or more devices that exist");
  }
  for (std::size_t from = 0; from != facts.devices.size(); ++from) {
    for (std::size_t to = 0; to != facts.devices.size(); ++to) {
      if (!facts.reaches(from, to)) {
        throw error(cudaErrorPeerAccessUnsupported,
                    "membar: device %d has no peer access to device %d: name devices that have peer access to each other "
                    "('nvidia-smi topo -p2p r' shows them), or use the NVSHMEM backend",
                    facts.devices[from], facts.devices[to]);
      }
    }
  }
}

/// Returns the kind of memory that `asked` selects on the machine. Throws `error` if `asked` is `mapped` and a device does not
/// support that.
[[nodiscard]] inline peer_memory chosen_memory(const peer_facts& facts, peer_memory asked) {
  if (asked == peer_memory::plain) {
    return asked;
  }
  for (std::size_t i = 0; i != facts.virtual_memory.size(); ++i) {
    if (facts.virtual_memory[i] == 0 && asked == peer_memory::mapped) {
      throw error(
          cudaErrorNotSupported,
          "membar: device %d does not support virtual memory management: request peer_memory::plain, which does not need it",
          facts.devices[i]);
    }
    if (facts.virtual_memory[i] == 0) {
      return peer_memory::plain;
    }
  }
  return peer_memory::mapped;
}

/// Returns whether `use` is atomic between any two PEs. `links` contains the link between each pair of PEs, in rows as in
/// `peer_facts`.
[[nodiscard]] inline atomicity atomicity_between(const peer_facts& facts, const std::vector<atomic_link>& links,
                                                 const atomic_use& use) {
  const std::size_t count = facts.devices.size();
  for (std::size_t from = 0; from != count; ++from) {
    for (std::size_t to = 0; to != count; ++to) {
      const atomic_link& link = links[from * count + to];
      if (const atomicity answer = detail::atomicity_over(link, facts.devices[from], facts.devices[to], use); !answer) {
        return answer;
      }
    }
  }
  return {true, "every link between the devices supports this atomic operation"};
}

/// Returns the devices that this process sees.
[[nodiscard]] inline std::vector<int> visible_devices() {
  int count = 0;
  check(cudaGetDeviceCount(&count), "check with nvidia-smi that the CUDA driver and the device work");
  std::vector<int> devices(static_cast<std::size_t>(count));
  for (int i = 0; i != count; ++i) {
    devices[static_cast<std::size_t>(i)] = i;
  }
  return devices;
}

/// Returns the properties of `devices`.
[[nodiscard]] inline peer_facts peer_facts_of(const std::vector<int>& devices) {
  peer_facts facts;
  facts.devices = devices;
  facts.access.resize(devices.size() * devices.size());
  facts.virtual_memory.resize(devices.size());
  const int visible = static_cast<int>(visible_devices().size());
  for (const int from : devices) {
    if (from < 0 || from >= visible) {
      throw error(cudaErrorInvalidDevice,
                  "membar: device %d was named as a PE, but the process sees only devices 0 to %d: name one of them", from,
                  visible - 1);
    }
  }
  for (std::size_t from = 0; from != devices.size(); ++from) {
    for (std::size_t to = 0; to != devices.size(); ++to) {
      int access = 1;
      if (devices[from] != devices[to]) {
        check(cudaDeviceCanAccessPeer(&access, devices[from], devices[to]), "pass the indices of devices that exist");
      }
      facts.access[from * devices.size() + to] = static_cast<char>(access != 0);
    }
    facts.virtual_memory[from] = static_cast<char>(membar::detail::has_virtual_memory(devices[from]));
  }
  return facts;
}

namespace detail {

using membar::detail::as_runtime;
using membar::detail::memory_of;
using membar::detail::report_failed_restore;
using membar::detail::virtual_memory;
using membar::detail::virtual_memory_calls;

/// One allocation for each PE, which all PEs can access.
class peer_region {
 public:
  [[nodiscard]] static peer_region mapped(const std::vector<int>& devices, std::size_t bytes) {
    const virtual_memory_calls& driver = virtual_memory();
    std::size_t unit = 1;
    for (const int device : devices) {
      initialize(device);
      const CUmemAllocationProp kind = memory_of(device);
      std::size_t granularity = 0;
      check(as_runtime(driver.granularity(&granularity, &kind, CU_MEM_ALLOC_GRANULARITY_RECOMMENDED)));
      unit = unit < granularity ? granularity : unit;
    }
    const std::size_t count = devices.size();
    if (bytes > (static_cast<std::size_t>(-1) / 2 - unit) / count) {
      throw error(cudaErrorInvalidValue,
                  "membar: a symmetric heap of %zu bytes was requested: request less memory than the devices have", bytes);
    }
    peer_region made(devices, (bytes + unit - 1) / unit * unit);
    check(as_runtime(driver.reserve(&made.range_, count * made.bytes_, unit, 0, 0)),
          "make the symmetric heap smaller, because the process has too little address space");
    std::vector<CUmemAccessDesc> access(count);
    std::size_t different = 0;  // the number of different devices
    for (std::size_t i = 0; i != count; ++i) {
      const CUmemAllocationProp kind = memory_of(devices[i]);
      CUmemGenericAllocationHandle memory = 0;
      check(as_runtime(driver.create(&memory, made.bytes_, &kind, 0)),
            "make the symmetric heap smaller, because a device has too little free memory");
      const CUresult placed = driver.map(made.range_ + i * made.bytes_, made.bytes_, 0, memory, 0);
      // From now on, the mapping owns the memory.
      const CUresult released = driver.release(memory);
      check(as_runtime(placed));
      made.bases_[i] = reinterpret_cast<void*>(made.range_ + i * made.bytes_);
      check(as_runtime(released));
      bool first = true;
      for (std::size_t earlier = 0; earlier != i; ++earlier) {
        first = first && devices[earlier] != devices[i];
      }
      if (first) {
        access[different].location = kind.location;
        access[different].flags = CU_MEM_ACCESS_FLAGS_PROT_READWRITE;
        ++different;
      }
    }
    check(as_runtime(driver.set_access(made.range_, count * made.bytes_, access.data(), different)),
          "use devices that have peer access to each other");
    return made;
  }

  [[nodiscard]] static peer_region plain(const std::vector<int>& devices, std::size_t bytes) {
    peer_region made(devices, bytes);
    for (std::size_t i = 0; i != devices.size(); ++i) {
      enable_access(devices[i], devices);
      const device_guard guard(devices[i]);
      check(cudaMalloc(&made.bases_[i], bytes), "make the symmetric heap smaller, because a device has too little free memory");
    }
    std::vector<std::ptrdiff_t> distances(devices.size());
    for (std::size_t from = 0; from != devices.size(); ++from) {
      for (std::size_t to = 0; to != devices.size(); ++to) {
        // The addresses are subtracted as integers, because the allocations are different objects.
        distances[to] = static_cast<std::ptrdiff_t>(reinterpret_cast<std::size_t>(made.bases_[to])) -
                        static_cast<std::ptrdiff_t>(reinterpret_cast<std::size_t>(made.bases_[from]));
      }
      const device_guard guard(devices[from]);
      void* table = nullptr;
      check(cudaMalloc(&table, distances.size() * sizeof(std::ptrdiff_t)),
            "make the symmetric heap smaller, because a device has too little free memory");
      made.distances_[from] = static_cast<std::ptrdiff_t*>(table);
      check(cudaMemcpy(table, distances.data(), distances.size() * sizeof(std::ptrdiff_t), cudaMemcpyHostToDevice));
    }
    return made;
  }

  peer_region(peer_region&& other) noexcept
      : devices_(std::move(other.devices_)),
        bytes_(other.bytes_),
        range_(std::exchange(other.range_, 0)),
        bases_(std::move(other.bases_)),
        distances_(std::move(other.distances_)) {
    other.bases_.clear();
    other.distances_.clear();
  }
  peer_region& operator=(peer_region&& other) noexcept {
    std::swap(devices_, other.devices_);
    std::swap(bytes_, other.bytes_);
    std::swap(range_, other.range_);
    std::swap(bases_, other.bases_);
    std::swap(distances_, other.distances_);
    return *this;
  }
  ~peer_region() {
    if (range_ != 0) {
      const virtual_memory_calls& driver = virtual_memory();
      for (std::size_t i = 0; i != bases_.size() && bases_[i] != nullptr; ++i) {
        report_failed_restore(as_runtime(driver.unmap(range_ + i * bytes_, bytes_)));
      }
      report_failed_restore(as_runtime(driver.unreserve(range_, devices_.size() * bytes_)));
    } else {
      for (void* const base : bases_) {
        free_if_allocated(base);
      }
    }
    for (void* const table : distances_) {
      free_if_allocated(table);
    }
  }

  /// Returns the size on each PE.
  [[nodiscard]] std::size_t bytes() const noexcept { return bytes_; }
  [[nodiscard]] void* base(pe which) const { return bases_.at(static_cast<std::size_t>(which.index())); }
  [[nodiscard]] peer_reach reach_of(pe which) const {
    const int count = static_cast<int>(devices_.size());
    return range_ != 0 ? peer_reach(which, count, static_cast<std::ptrdiff_t>(bytes_))
                       : peer_reach(which, count, distances_.at(static_cast<std::size_t>(which.index())));
  }

 private:
  peer_region(const std::vector<int>& devices, std::size_t bytes)
      : devices_(devices), bytes_(bytes), bases_(devices.size()), distances_(devices.size()) {}

  static void free_if_allocated(void* memory) noexcept {
    if (memory != nullptr) {
      report_failed_restore(cudaFree(memory));
    }
  }

  /// Creates the device's context. The runtime creates a context at the first call that needs one, but the driver does not.
  static void initialize(int device) {
    const device_guard guard(device);
    check(cudaFree(nullptr), "check with nvidia-smi that the CUDA driver and the device work");
  }

  static void enable_access(int device, const std::vector<int>& devices) {
    const device_guard guard(device);
    for (const int peer : devices) {
      if (peer == device) {
        continue;
      }
      const cudaError_t status = cudaDeviceEnablePeerAccess(peer, 0);
      if (status == cudaErrorPeerAccessAlreadyEnabled) {
        // peer access was already enabled, which is not an error and must not become the error of the next call
        static_cast<void>(cudaGetLastError());
      } else {
        check(status, "use devices that have peer access to each other");
      }
    }
  }

  std::vector<int> devices_;
  std::size_t bytes_;
  CUdeviceptr range_ = 0;
  std::vector<void*> bases_;                ///< the address of each PE's memory; null until it is allocated
  std::vector<std::ptrdiff_t*> distances_;  ///< each PE's table of distances; null if there is one address range
};

}  // namespace detail

/// The peer backend: PE i is `devices[i]`, and all PEs belong to this process. With `peer_backend`, data is visible everywhere,
/// because loads and stores reach every PE.
///
/// With `visibility::destination_only`, the backend guarantees less, so that a program for a cluster can be developed on one
/// machine: operations that the cluster does not support do not compile. A device that is listed twice acts as two PEs, which
/// is useful for tests; kernels that wait for each other must then fit on the device at the same time.
///
/// Requires: peer access between any two devices; multicast is not used. Errors: throws `error`, which names the two devices
/// without peer access, or the device that does not support the requested kind of memory. The backend is a value; its heaps own
/// the memory.
template <visibility Visible>
class basic_peer_backend {
 public:
  static constexpr visibility visible = Visible;
  using reach = peer_reach;
  using region = detail::peer_region;

  /// Uses all devices that the process sees.
  basic_peer_backend() : basic_peer_backend(visible_devices()) {}
  explicit basic_peer_backend(const std::vector<int>& devices, peer_memory how = peer_memory::automatic)
      : basic_peer_backend(peer_facts_of(devices), how) {}
  /// Constructs a backend from properties that the caller specifies, so that tests can run on any machine.
  explicit basic_peer_backend(peer_facts facts, peer_memory how = peer_memory::automatic) : facts_(std::move(facts)) {
    validate_peers(facts_);
    memory_ = chosen_memory(facts_, how);
  }

  [[nodiscard]] int count() const noexcept { return static_cast<int>(facts_.devices.size()); }
  /// Returns all PEs.
  [[nodiscard]] pe_range local_pes() const noexcept { return {pe(0), count()}; }
  [[nodiscard]] int device_of(pe which) const { return facts_.devices.at(static_cast<std::size_t>(which.index())); }
  [[nodiscard]] const peer_facts& facts() const noexcept { return facts_; }
  [[nodiscard]] peer_memory memory() const noexcept { return memory_; }

  /// Returns whether `use` is atomic between any two PEs.
  [[nodiscard]] atomicity supports(const atomic_use& use) const {
    const std::size_t count = facts_.devices.size();
    std::vector<atomic_link> links(count * count);
    for (std::size_t i = 0; i != links.size(); ++i) {
      links[i] = membar::detail::link_between(facts_.devices[i / count], facts_.devices[i % count], use);
    }
    return atomicity_between(facts_, links, use);
  }

  /// Copies `mine` to `all`, because all PEs belong to this process.
  void all_gather(const unsigned long long* mine, unsigned long long* all) const {
    for (int i = 0; i != count(); ++i) {
      all[i] = mine[i];
    }
  }

  [[nodiscard]] region map(std::size_t bytes) const {
    return memory_ == peer_memory::mapped ? region::mapped(facts_.devices, bytes) : region::plain(facts_.devices, bytes);
  }

 private:
  peer_facts facts_;
  peer_memory memory_ = peer_memory::plain;
};

static_assert(backend<peer_backend>);

}  // namespace symmetric
}  // namespace v0_3
}  // namespace membar
