// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "membar-domains/preload/pointers.hpp"

#include <algorithm>
#include <array>
#include <atomic>
#include <cstring>
#include <memory>
#include <mutex>
#include <shared_mutex>
#include <unordered_map>
#include <vector>

#include "intercept/driver.hpp"
#include "intercept/table_reader.hpp"
#include "membar-domains/preload/session.hpp"
#include "membar-domains/preload/thread_memory.hpp"

namespace membar_domains {

namespace {

/// Values that are used in place of a device number: for a word that is not a pointer, and for host memory.
constexpr int no_pointer = -1;
constexpr int of_the_host = -2;

/// The limits of a program's addresses. They exclude most words that are not pointers.
constexpr std::uint64_t lowest_address = 65536, end_of_addresses = std::uint64_t{1} << 57;

std::atomic<unsigned> changes{1};

/// The sizes in bytes of a kernel's parameters, which the driver reports in CUDA 12.4 or later.
using sizes = std::vector<std::uint32_t>;

/// Whether the driver reports the sizes of arguments.
std::atomic<bool> tells_sizes{true};

const sizes* sizes_of(CUfunction kernel) {
  struct known {
    CUfunction kernel = nullptr;
    unsigned generation = 0;
    const sizes* of = nullptr;
  };
  thread_local std::array<known, 64> cache;
  session& of = session::get();
  const unsigned generation = of.generation();
  known& mine = cache[(reinterpret_cast<std::uintptr_t>(kernel) >> 4) % cache.size()];
  if (mine.kernel == kernel && mine.generation == generation) {
    return mine.of;
  }
  // Entries are never freed, because another thread may be reading them. If a handle is reused for another function, that
  // function gets a new entry.
  struct all_sizes {
    std::shared_mutex mutex;
    std::unordered_map<CUfunction, std::pair<unsigned, const sizes*>> by_kernel;
  };
  static auto* const all = new all_sizes;
  {
    const std::shared_lock lock(all->mutex);
    if (const auto at = all->by_kernel.find(kernel); at != all->by_kernel.end() && at->second.first == generation) {
      mine = {kernel, generation, at->second.second};
      return mine.of;
    }
  }
  auto found = std::make_unique<sizes>();
  const bool is_kernel = of.is_kernel_handle(kernel);
  for (std::size_t i = 0;; ++i) {
    std::size_t offset = 0;
    std::size_t size = 0;
    const CUresult known = is_kernel ? driver::cuKernelGetParamInfo_(reinterpret_cast<CUkernel>(kernel), i, &offset, &size)
                                     : driver::cuFuncGetParamInfo_(kernel, i, &offset, &size);
    if (known == CUDA_ERROR_NOT_FOUND) {
      tells_sizes = false;
      of.complain(
          "the driver does not report the sizes of kernel arguments, so no launch matches a :far rule: install a driver for "
          "CUDA "
          "12.4 or newer");
    }
    if (known != CUDA_SUCCESS) {
      break;
    }
    found->push_back(static_cast<std::uint32_t>(size));
  }
  const std::unique_lock lock(all->mutex);
  mine = {kernel, generation, found.get()};
  all->by_kernel[kernel] = {generation, found.release()};
  return mine.of;
}

int ask(CUdeviceptr value) {
  unsigned kind = 0;
  int owner = 0;
  if (driver::cuPointerGetAttribute_(static_cast<void*>(&kind), CU_POINTER_ATTRIBUTE_MEMORY_TYPE, value) != CUDA_SUCCESS) {
    return no_pointer;
  }
  if (kind == CU_MEMORYTYPE_HOST) {
    return of_the_host;
  }
  return driver::cuPointerGetAttribute_(static_cast<void*>(&owner), CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL, value) == CUDA_SUCCESS
             ? owner
             : no_pointer;
}

/// Caches the driver's answers about addresses. The entry for a pointer covers the pointer's 4096-byte page, because a page
/// belongs entirely to one device or to the host. The entry for a word that is not a pointer covers only this value.
class known_owners {
 public:
  int operator()(CUdeviceptr value) {
    constexpr std::uint64_t spread = 0x9e3779b97f4a7c15;
    const unsigned now = changes.load(std::memory_order_acquire);
    const CUdeviceptr page = value >> 12;
    kept& of_page = pages_[(page * spread) >> 55];
    if (of_page.key == page && of_page.changes == now) {
      return of_page.owner;
    }
    kept& of_value = values_[(value * spread) >> 55];
    if (of_value.key == value && of_value.changes == now) {
      return no_pointer;
    }
    const int owner = ask(value);
    (owner == no_pointer ? of_value : of_page) = {owner == no_pointer ? value : page, now, owner};
    return owner;
  }

 private:
  struct kept {
    CUdeviceptr key = 0;
    unsigned changes = 0;
    int owner = no_pointer;
  };
  std::array<kept, 512> pages_, values_;
};

template <class Owner>
reach look(CUfunction kernel, void** parameters, void** extra, Owner owner) {
  CUdevice device = 0;
  if (driver::cuCtxGetDevice_(&device) != CUDA_SUCCESS) {
    return reach::own;
  }
  reach out = reach::own;
  const auto words = [&](const char* from, std::size_t size) {
    for (std::size_t at = 0; at + sizeof(CUdeviceptr) <= size; at += sizeof(CUdeviceptr)) {
      CUdeviceptr value = 0;
      std::memcpy(&value, from + at, sizeof value);
      if (value < lowest_address || value >= end_of_addresses) {
        continue;
      }
      const int of = owner(value);
      out = std::max(out, of == of_the_host ? reach::host : of != no_pointer && of != device ? reach::peer : reach::own);
    }
  };
  if (parameters != nullptr) {
    const sizes& all = *sizes_of(kernel);
    for (std::size_t i = 0; i < all.size() && parameters[i] != nullptr; ++i) {
      words(static_cast<const char*>(parameters[i]), all[i]);
    }
  } else if (extra != nullptr) {
    const char* buffer = nullptr;
    std::size_t size = 0;
    for (std::size_t i = 0; extra[i] != CU_LAUNCH_PARAM_END; i += 2) {
      if (extra[i] == CU_LAUNCH_PARAM_BUFFER_POINTER) {
        buffer = static_cast<const char*>(extra[i + 1]);
      } else if (extra[i] == CU_LAUNCH_PARAM_BUFFER_SIZE) {
        std::memcpy(&size, extra[i + 1], sizeof size);
      }
    }
    words(buffer, buffer == nullptr ? 0 : size);
  }
  return out;
}

}  // namespace

reach reach_of(CUfunction kernel, void** parameters, void** extra) {
  // looked up only once, because access to a thread-local object of a shared library calls the loader
  known_owners& mine = of_thread<known_owners>();
  return look(kernel, parameters, extra, [&mine](CUdeviceptr value) { return mine(value); });
}

pointers_of_launch look_at_pointers(CUfunction kernel, void** parameters, void** extra, const see_pointer& see) {
  known_owners& mine = of_thread<known_owners>();
  CUdevice device = 0;
  static_cast<void>(driver::cuCtxGetDevice_(&device));
  pointers_of_launch out;
  out.to = look(kernel, parameters, extra, [&](CUdeviceptr value) {
    const int owner = mine(value);
    if (owner != no_pointer) {
      see(value, owner == device);
    }
    return owner;
  });
  // A kernel without parameters has no sizes to query.
  out.all = parameters == nullptr || tells_sizes;
  return out;
}

bool look_into_table(CUdeviceptr table, const see_pointer& see) {
  CUdevice device = 0;
  if (driver::cuCtxGetDevice_(&device) != CUDA_SUCCESS) {
    return false;
  }
  const std::vector<CUdeviceptr> words = membar::intercept::words_at(table);
  known_owners& mine = of_thread<known_owners>();
  for (const CUdeviceptr word : words) {
    if (word >= lowest_address && word < end_of_addresses) {
      if (const int owner = mine(word); owner != no_pointer) {
        see(word, owner == device);
      }
    }
  }
  return !words.empty();
}

void memory_changed() noexcept { changes.fetch_add(1, std::memory_order_acq_rel); }

}  // namespace membar_domains
