// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
/// @file
/// Symmetric memory that PyTorch, NCCL or the program itself has allocated and mapped. There is one process per PE.
#pragma once

#include <membar/atomicity.hpp>
#include <membar/device_guard.hpp>
#include <membar/error.hpp>
#include <membar/symmetric/backend.hpp>
#include <membar/symmetric/pe.hpp>
#include <membar/symmetric/reach.hpp>

#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <functional>
#include <memory>
#include <utility>
#include <vector>

namespace membar {
inline namespace v0_3 {
namespace symmetric {

/// One process's view of the memory on every PE.
struct adopted_memory {
  int self = 0;  ///< the PE of this process
  /// for each PE: the address that this process's device uses to access that PE's memory
  std::vector<void*> addresses;
  std::size_t bytes = 0;  ///< the size on each PE
  int device = -1;        ///< this process's device, or -1 for the current device
};

/// A callback that receives one number from this process and returns all processes' numbers, in PE order, once every process
/// has called it. The callback is therefore also a barrier between the processes. It must not wait for a kernel that waits for
/// another PE: use MPI on host memory, a gloo group or a socket, but not NCCL.
using all_gather_callback = std::function<std::vector<unsigned long long>(unsigned long long mine)>;

/// Returns the memory of a PyTorch rendezvous, given its C++ object of type `c10d::symmetric_memory::SymmetricMemory`. `bytes`
/// is the size of a tensor that begins `offset` bytes after the start of the buffer (`get_offset()`, or the tensor's address
/// minus the address of this process's buffer); 0 means the whole buffer after `offset`. Errors: throws `error` if the tensor
/// is not within the buffer, or if loads and stores cannot reach the buffer on some PE.
template <class Handle>
  requires requires(Handle& handle) {
    handle.get_buffer_ptrs();
    handle.get_buffer_size();
    handle.get_rank();
  }
[[nodiscard]] adopted_memory memory_of_torch(Handle& handle, std::size_t offset = 0, std::size_t bytes = 0) {
  const auto whole = static_cast<std::size_t>(handle.get_buffer_size());
  if (offset > whole || bytes > whole - offset) {
    throw error(cudaErrorInvalidValue,
                "membar: %zu bytes starting at byte %zu of a PyTorch symmetric buffer cannot be adopted, because the buffer "
                "has only %zu bytes: pass the tensor with which rendezvous was called",
                bytes, offset, whole);
  }
  adopted_memory memory;
  memory.self = static_cast<int>(handle.get_rank());
  memory.bytes = bytes == 0 ? whole - offset : bytes;
  for (void* const base : handle.get_buffer_ptrs()) {
    if (base == nullptr) {
      throw error(cudaErrorNotSupported,
                  "membar: loads and stores cannot reach the symmetric "
                  "buffer of PE %zu in PyTorch's group: form the group "
                  "from GPUs that are connected by NVLink",
                  memory.addresses.size());
    }
    memory.addresses.push_back(static_cast<unsigned char*>(base) + offset);
  }
  return memory;
}

namespace detail {

/// Processes, each with one PE, that gather numbers with a callback. The callback's results are checked.
class gathering_processes {
 public:
  gathering_processes(int self, int count, all_gather_callback all_gather)
      : self_(self), count_(count), all_gather_(std::move(all_gather)) {
    if (!all_gather_) {
      throw error(cudaErrorInvalidValue,
                  "membar: memory cannot be adopted without a callback: pass one that gathers a number from every process");
    }
  }

  [[nodiscard]] int count() const noexcept { return count_; }
  [[nodiscard]] pe_range local_pes() const noexcept { return {pe(self_), 1}; }

  /// Gathers the numbers. Collective.
  void all_gather(const unsigned long long* mine, unsigned long long* all) {
    const std::vector<unsigned long long> gathered = all_gather_(*mine);
    if (gathered.size() != static_cast<std::size_t>(count_)) {
      throw error(cudaErrorInvalidValue,
                  "membar: the callback that gathers numbers returned a vector of size %zu for %d PEs: return one number per "
                  "process, in PE order",
                  gathered.size(), count_);
    }
    if (gathered[static_cast<std::size_t>(self_)] != *mine) {
      throw error(cudaErrorInvalidValue,
                  "membar: the callback that gathers numbers returned a number for PE %d that differs from the number "
                  "that this process passed: return the numbers in PE order, and take each PE's number from the "
                  "same group",
                  self_);
    }
    std::memcpy(all, gathered.data(), gathered.size() * sizeof *all);
  }

 private:
  int self_;
  int count_;
  all_gather_callback all_gather_;
};

/// Throws unless all PEs share the same number of bytes. `bytes` contains the number that each PE passed.
inline void refuse_other_sizes(const std::vector<unsigned long long>& bytes) {
  for (std::size_t i = 1; i != bytes.size(); ++i) {
    if (bytes[i] != bytes[0]) {
      throw error(cudaErrorInvalidValue,
                  "membar: PE %zu shares %llu bytes, but PE 0 shares %llu bytes: share the same number of bytes on every PE", i,
                  bytes[i], bytes[0]);
    }
  }
}

/// Throws if `call` failed on some PE. `statuses` contains the status that it returned on each PE.
inline void refuse_failed_call(const std::vector<unsigned long long>& statuses, const char* call) {
  for (std::size_t i = 0; i != statuses.size(); ++i) {
    if (const auto status = static_cast<cudaError_t>(statuses[i]); status != cudaSuccess) {
      throw error(status, "membar: the memory was not shared on any PE, because %s failed on PE %zu with %s (%s)", call, i,
                  cudaGetErrorName(status), cudaGetErrorString(status));
    }
  }
}

/// What is wrong with a process's memory, or `none`. The enumerator's value is sent to the other processes.
enum class adopted_fault : unsigned char { none, address, alignment, bytes, room, wrong_memory };

/// Returns the text that completes "PE 1 was given ...".
[[nodiscard]] constexpr const char* name(adopted_fault what) noexcept {
  switch (what) {
    case adopted_fault::none:
      return "nothing wrong";
    case adopted_fault::address:
      return "no address for at least one PE";
    case adopted_fault::alignment:
      return "an address that is not a multiple of 256";
    case adopted_fault::bytes:
      return "a size of 0 bytes";
    case adopted_fault::room:
      return "a device with too little free memory for a table of addresses";
    case adopted_fault::wrong_memory:
      return "an address that does not belong to the PE it was given for";
  }
  return "unknown memory";
}

/// The part of adopted memory that a heap manages. It does not own the memory.
class adopted_region {
 public:
  /// `taken` is the flag that is set while the backend has a heap. The backend may be destroyed before the heap.
  adopted_region(const adopted_memory& memory, std::size_t bytes, const peer_reach& reach, std::shared_ptr<bool> taken)
      : addresses_(memory.addresses), bytes_(bytes), reach_(reach), taken_(std::move(taken)) {
    *taken_ = true;
  }
  adopted_region(adopted_region&& other) noexcept = default;
  adopted_region& operator=(adopted_region&& other) noexcept {
    std::swap(addresses_, other.addresses_);
    std::swap(bytes_, other.bytes_);
    std::swap(reach_, other.reach_);
    std::swap(taken_, other.taken_);
    return *this;
  }
  ~adopted_region() {
    if (taken_ != nullptr) {
      *taken_ = false;
    }
  }

  [[nodiscard]] std::size_t bytes() const noexcept { return bytes_; }
  [[nodiscard]] void* base(pe which) const { return addresses_.at(static_cast<std::size_t>(which.index())); }
  /// Returns the address that this process's device uses to access a PE's memory. `which` may be any PE.
  [[nodiscard]] void* base_from_here(pe which) const { return base(which); }
  [[nodiscard]] peer_reach reach_of(pe) const noexcept { return reach_; }

 private:
  std::vector<void*> addresses_;
  std::size_t bytes_;
  peer_reach reach_;
  std::shared_ptr<bool> taken_;
};

/// Returns a device's PCI bus number, which is the same in all processes on a machine.
[[nodiscard]] inline unsigned long long bus_number_of(int device) {
  char text[32] = {};
  check(cudaDeviceGetPCIBusId(text, sizeof text, device), "pass the index of a device that exists");
  unsigned domain = 0, bus = 0, slot = 0, function = 0;
  static_cast<void>(std::sscanf(text, "%x:%x:%x.%x", &domain, &bus, &slot, &function));
  return (static_cast<unsigned long long>(domain) << 32) | (bus << 16) | (slot << 8) | function;
}
/// Returns this process's index of the device with that bus number, or -1 if the device is hidden from the process.
[[nodiscard]] inline int device_of_bus_number(unsigned long long number) {
  char text[32];
  std::snprintf(text, sizeof text, "%04x:%02x:%02x.%x", static_cast<unsigned>(number >> 32),
                static_cast<unsigned>(number >> 16 & 0xffff), static_cast<unsigned>(number >> 8 & 0xff),
                static_cast<unsigned>(number & 0xff));
  int device = -1;
  if (cudaDeviceGetByPCIBusId(&device, text) != cudaSuccess) {
    static_cast<void>(cudaGetLastError());  // the failure is an expected result and must not become the error of the next call
    return -1;
  }
  return device;
}

}  // namespace detail

/// A backend for memory that the program has already allocated. There is one process per PE, and loads and stores reach every
/// PE, for example over NVLink. Kernels are written as for any other backend.
///
/// The constructor is collective. It verifies the addresses: each process marks the first eight bytes of its memory, reads the
/// marks of all others, and restores the old contents. The memory still belongs to the program that allocated it, and it must
/// outlive its use by kernels. A backend can have only one heap at a time, and nothing else may use the memory while that heap
/// exists. The destructor is local. It destroys the callback; if the callback holds a `host_group`, the group then informs the
/// other processes that this process has left.
///
/// Requires: the memory must begin at a multiple of 256 bytes on every PE. Errors, on every PE: throws `error` if a PE was
/// given a null address, a misaligned address or another PE's address (the error names the PE), if sizes differ, or if the
/// callback does not return one number per PE. A rank that is out of range and an empty callback are errors only in the
/// affected process, because that process cannot inform the others. Exceptions thrown by the callback are propagated.
template <visibility Visible>
class basic_adopted_backend {
 public:
  static constexpr visibility visible = Visible;
  using reach = peer_reach;
  using region = detail::adopted_region;

  basic_adopted_backend(adopted_memory memory, all_gather_callback all_gather)
      : memory_(std::move(memory)),
        processes_(memory_.self, static_cast<int>(memory_.addresses.size()), std::move(all_gather)) {
    if (memory_.self < 0 || memory_.self >= count()) {
      throw error(cudaErrorInvalidValue,
                  "membar: PE %d of %d cannot adopt memory: number the processes from 0, and pass one address for each process",
                  memory_.self, count());
    }
    if (memory_.device < 0) {
      check(cudaGetDevice(&memory_.device), "check with nvidia-smi that the CUDA driver and the device work");
    }
    try {
      refuse(given());
      detail::agree(*this, detail::collective::heap_bytes, memory_.bytes);
      refuse(found_in_memory());
      for (const unsigned long long number : detail::gathered(*this, detail::bus_number_of(memory_.device))) {
        devices_.push_back(detail::device_of_bus_number(number));
      }
      refuse(tabulated());
    } catch (...) {
      free_table();
      throw;
    }
  }
  basic_adopted_backend(const basic_adopted_backend&) = delete;
  basic_adopted_backend& operator=(const basic_adopted_backend&) = delete;
  ~basic_adopted_backend() { free_table(); }

  [[nodiscard]] int count() const noexcept { return static_cast<int>(memory_.addresses.size()); }
  /// Returns the PE of this process.
  [[nodiscard]] pe_range local_pes() const noexcept { return {pe(memory_.self), 1}; }
  [[nodiscard]] int device_of(pe) const noexcept { return memory_.device; }
  [[nodiscard]] const adopted_memory& memory() const noexcept { return memory_; }

  /// Returns whether the links from this process's device support `use`. If some PE's device is hidden from the process, the
  /// link to it is unknown, and the function returns false.
  [[nodiscard]] atomicity supports(const atomic_use& use) const {
    for (const int other : devices_) {
      if (other < 0) {
        return {false,
                "a PE's device is hidden from this process (CUDA_VISIBLE_DEVICES), so the operations that the link to it "
                "supports are "
                "unknown"};
      }
      const atomic_link link = membar::detail::link_between(memory_.device, other, use);
      if (const atomicity answer = detail::atomicity_over(link, memory_.device, other, use); !answer) {
        return answer;
      }
    }
    return {true, "every link from this device supports this atomic operation"};
  }

  /// Uses the callback to gather one number from every process. Collective.
  void all_gather(const unsigned long long* mine, unsigned long long* all) { processes_.all_gather(mine, all); }

  /// Returns the first `bytes` bytes of the memory.
  [[nodiscard]] region map(std::size_t bytes) {
    if (*taken_) {
      throw error(
          cudaErrorInvalidValue,
          "membar: this adopted memory already contains a heap and cannot hold a second one: adopt other memory for it");
    }
    if (bytes > memory_.bytes) {
      throw error(cudaErrorMemoryAllocation,
                  "membar: a symmetric heap of %zu bytes does not fit into %zu bytes of adopted memory: adopt more memory, or "
                  "make the heap smaller",
                  bytes, memory_.bytes);
    }
    return region(memory_, bytes, reach_, taken_);
  }

 private:
  using fault = detail::adopted_fault;
  using mark = unsigned long long;

  /// Throws on every PE if any PE found a fault. Collective.
  void refuse(fault mine) {
    const auto all = detail::gathered(*this, static_cast<unsigned long long>(mine));
    for (int i = 0; i != count(); ++i) {
      if (const auto what = static_cast<fault>(all[static_cast<std::size_t>(i)]); what != fault::none) {
        throw error(
            cudaErrorInvalidValue,
            "membar: the memory was not adopted on any PE, because PE %d was given %s: give every process the addresses at "
            "which its device can access each PE's memory, in PE order",
            i, name(what));
      }
    }
  }

  [[nodiscard]] fault given() const noexcept {
    for (const void* const each : memory_.addresses) {
      if (each == nullptr) {
        return fault::address;
      }
      // Copies on the device assume that objects have the same alignment on every PE.
      if (reinterpret_cast<std::uintptr_t>(each) % 256 != 0) {
        return fault::alignment;
      }
    }
    return memory_.bytes < sizeof(mark) ? fault::bytes : fault::none;
  }

  /// Checks whether each address points to the memory of its PE. Collective.
  [[nodiscard]] fault found_in_memory() {
    const device_guard guard(memory_.device);
    const mark base = 0x6d656d6261720000ULL;  // the PE's number is added to it
    void* const own = memory_.addresses[static_cast<std::size_t>(memory_.self)];
    mark before = 0;
    const mark mine = base + static_cast<mark>(memory_.self);
    // waits for the copy, because a call that copies to a device may return before the copy has finished
    const auto copied = [](void* to, const void* from) {
      const cudaError_t begun = cudaMemcpyAsync(to, from, sizeof(mark), cudaMemcpyDefault, nullptr);
      return begun == cudaSuccess ? cudaStreamSynchronize(nullptr) : begun;
    };
    const cudaError_t saved = copied(&before, own);
    cudaError_t status = saved == cudaSuccess ? copied(own, &mine) : saved;
    fault found = fault::none;
    // the old contents are restored even if another PE does not answer
    const auto met = [&] {
      try {
        static_cast<void>(detail::gathered(*this, 0));
      } catch (...) {
        static_cast<void>(saved == cudaSuccess ? copied(own, &before) : saved);
        throw;
      }
    };
    met();  // all PEs have marked their memory
    for (int i = 0; status == cudaSuccess && i != count(); ++i) {
      mark there = 0;
      status = copied(&there, memory_.addresses[static_cast<std::size_t>(i)]);
      if (there != base + static_cast<mark>(i)) {
        found = fault::wrong_memory;
      }
    }
    met();  // all PEs have read the marks
    if (saved == cudaSuccess) {
      const cudaError_t restored = copied(own, &before);
      status = status == cudaSuccess ? restored : status;
    }
    detail::agree_on_success(*this, status, "copying eight bytes of adopted memory");
    return found;
  }

  /// Determines whether kernels compute the addresses of PEs from a constant distance or read them from a table.
  [[nodiscard]] fault tabulated() noexcept {
    const auto own = reinterpret_cast<std::uintptr_t>(memory_.addresses[static_cast<std::size_t>(memory_.self)]);
    std::vector<std::ptrdiff_t> distances;
    for (const void* const each : memory_.addresses) {
      distances.push_back(static_cast<std::ptrdiff_t>(reinterpret_cast<std::uintptr_t>(each) - own));
    }
    const std::ptrdiff_t stride = count() == 1 ? 0 : distances[1] - distances[0];
    bool equal = true;
    for (int i = 0; i != count(); ++i) {
      equal = equal && distances[static_cast<std::size_t>(i)] == (i - memory_.self) * stride;
    }
    if (equal) {
      reach_ = peer_reach(pe(memory_.self), count(), stride);
      return fault::none;
    }
    const std::size_t bytes = distances.size() * sizeof(std::ptrdiff_t);
    try {
      const device_guard guard(memory_.device);
      void* table = nullptr;
      check(cudaMalloc(&table, bytes));
      table_ = static_cast<std::ptrdiff_t*>(table);
      check(cudaMemcpy(table_, distances.data(), bytes, cudaMemcpyHostToDevice));
    } catch (const error&) {
      return fault::room;
    }
    reach_ = peer_reach(pe(memory_.self), count(), table_);
    return fault::none;
  }
  void free_table() noexcept {
    if (table_ != nullptr) {  // freeing a null pointer would create a context on the current device
      membar::detail::report_failed_restore(cudaFree(std::exchange(table_, nullptr)));
    }
  }

  adopted_memory memory_;
  detail::gathering_processes processes_;
  std::vector<int> devices_;  ///< for each PE: this process's index of its device; -1 if the device is hidden
  std::ptrdiff_t* table_ = nullptr;
  peer_reach reach_{pe(0), 1, std::ptrdiff_t{0}};
  std::shared_ptr<bool> taken_ = std::make_shared<bool>(false);
};

static_assert(backend<adopted_backend>);

}  // namespace symmetric
}  // namespace v0_3
}  // namespace membar
