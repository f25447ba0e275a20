// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "membar-check/recorder/mappings.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <cstring>
#include <iterator>
#include <map>
#include <mutex>
#include <nlohmann/json.hpp>
#include <string_view>
#include <unordered_map>

#include "membar-check/recorder/sharing.hpp"

namespace membar_record {

namespace {

struct mapped_memory {
  std::uint64_t bytes = 0;
  CUdeviceptr range = 0;
};

struct all_mappings {
  std::mutex mutex;
  std::map<CUdeviceptr, std::uint64_t> ranges;
  std::map<CUdeviceptr, mapped_memory> mapped;
  std::map<CUdeviceptr, std::string> names;  ///< the names of the memory that is mapped there
  std::unordered_map<CUmemGenericAllocationHandle, std::string> by_handle;
  unsigned count = 0;

  [[nodiscard]] std::string new_name() { return std::to_string(getpid()) + "." + std::to_string(++count); }
};

all_mappings& the_mappings() {
  static auto* const one = new all_mappings;
  return *one;
}

/// Returns the entry that contains the address, or the end iterator if there is none.
template <class Map, class BytesOf>
auto entry_at(Map& of, CUdeviceptr at, const BytesOf& bytes_of) {
  const auto behind = of.upper_bound(at);
  return behind != of.begin() && at - std::prev(behind)->first < bytes_of(std::prev(behind)->second) ? std::prev(behind)
                                                                                                     : of.end();
}
auto mapped_at(all_mappings& m, CUdeviceptr at) {
  return entry_at(m.mapped, at, [](const mapped_memory& p) { return p.bytes; });
}

/// Marks an open file with a unique mark and returns the mark, or an empty string if this fails. The driver's files do not
/// differ in anything that fstat reports, and a process may close its own descriptor once another process has received one.
/// However, all descriptors of an open file description share the owner and the signal number. The owner and the signal number
/// have no effect unless signals were requested, so the mark is stored there.
std::string mark_file(int file) {
  constexpr unsigned signals = 64;
  constexpr std::array<decltype(f_owner_ex::type), 2> kinds{F_OWNER_PID, F_OWNER_TID};
  static std::atomic<unsigned> marks{0};
  const unsigned mark = marks.fetch_add(1);
  f_owner_ex owner{};
  if (mark >= signals * kinds.size() || fcntl(file, F_GETOWN_EX, &owner) != 0 || owner.pid != 0) {
    return "";
  }
  owner.type = kinds[mark / signals];
  owner.pid = getpid();
  if (fcntl(file, F_SETSIG, static_cast<int>(mark % signals) + 1) != 0 || fcntl(file, F_SETOWN_EX, &owner) != 0) {
    return "";
  }
  return "file " + std::to_string(owner.type) + " " + std::to_string(owner.pid) + " " + std::to_string(mark % signals + 1);
}

std::string mark_in_file(int file) {
  f_owner_ex owner{};
  const int signal = fcntl(file, F_GETSIG);
  if (signal <= 0 || fcntl(file, F_GETOWN_EX, &owner) != 0 || owner.pid <= 0) {
    return "";
  }
  return "file " + std::to_string(owner.type) + " " + std::to_string(owner.pid) + " " + std::to_string(signal);
}

std::string mark_of_fabric(const void* handle) {
  return "fabric " + hex_of({static_cast<const char*>(handle), sizeof(CUmemFabricHandle)});
}

}  // namespace

std::optional<memory_mapping> mapping_at(CUdeviceptr at) {
  all_mappings& m = the_mappings();
  const std::lock_guard lock(m.mutex);
  const auto found = mapped_at(m, at);
  return found == m.mapped.end() ? std::nullopt
                                 : std::optional(memory_mapping{found->first, found->second.bytes, found->second.range});
}

std::vector<memory_mapping> mapped_to(CUdeviceptr range) {
  all_mappings& m = the_mappings();
  const std::lock_guard lock(m.mutex);
  std::vector<memory_mapping> out;
  const auto of = m.ranges.find(range);
  for (auto p = m.mapped.lower_bound(range); of != m.ranges.end() && p != m.mapped.end() && p->first - range < of->second;
       ++p) {
    out.push_back({p->first, p->second.bytes, p->second.range});
  }
  return out;
}

void keep_reservation(CUdeviceptr begin, std::uint64_t bytes) {
  all_mappings& m = the_mappings();
  const std::lock_guard lock(m.mutex);
  m.ranges[begin] = bytes;
}

void drop_reservation(CUdeviceptr begin) {
  all_mappings& m = the_mappings();
  const std::lock_guard lock(m.mutex);
  m.ranges.erase(begin);
}

void keep_memory(CUmemGenericAllocationHandle handle, int device) {
  all_mappings& m = the_mappings();
  std::string name;
  {
    const std::lock_guard lock(m.mutex);
    name = m.by_handle[handle] = m.new_name();
  }
  keep_line({{"creates", name}, {"device", device}});
}

void keep_mapping(CUdeviceptr begin, std::uint64_t bytes, std::uint64_t offset, CUmemGenericAllocationHandle handle) {
  all_mappings& m = the_mappings();
  std::string name;
  {
    const std::lock_guard lock(m.mutex);
    const auto range = entry_at(m.ranges, begin, [](std::uint64_t of_range) { return of_range; });
    const auto of = m.by_handle.find(handle);
    if (range == m.ranges.end() || of == m.by_handle.end()) {  // for example, the handle may belong to a multicast object
      return;
    }
    m.mapped[begin] = {bytes, range->first};
    name = m.names[begin] = of->second;
  }
  keep_line({{"places", name}, {"address", begin}, {"bytes", bytes}, {"offset", offset}});
}

void drop_mappings(CUdeviceptr begin, std::uint64_t bytes) {
  all_mappings& m = the_mappings();
  {
    const std::lock_guard lock(m.mutex);
    const auto first = m.mapped.lower_bound(begin);
    const auto last = m.mapped.lower_bound(begin + bytes);
    if (first == last) {
      return;
    }
    m.mapped.erase(first, last);
    m.names.erase(m.names.lower_bound(begin), m.names.lower_bound(begin + bytes));
  }
  keep_line({{"unmaps", begin}, {"bytes", bytes}});
}

void keep_handle_of(CUdeviceptr at, CUmemGenericAllocationHandle handle) {
  all_mappings& m = the_mappings();
  const std::lock_guard lock(m.mutex);
  if (const auto found = mapped_at(m, at); found != m.mapped.end()) {
    m.by_handle[handle] = m.names[found->first];
  }
}

void keep_export(const void* shared, CUmemGenericAllocationHandle handle, CUmemAllocationHandleType type) {
  std::string mark;
  if (type == CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR) {
    int file = -1;
    std::memcpy(&file, shared, sizeof file);
    mark = mark_file(file);
  } else if (type == CU_MEM_HANDLE_TYPE_FABRIC) {
    mark = mark_of_fabric(shared);
  }
  all_mappings& m = the_mappings();
  std::string name;
  {
    const std::lock_guard lock(m.mutex);
    const auto of = m.by_handle.find(handle);
    name = of == m.by_handle.end() ? "" : of->second;
  }
  if (!mark.empty() && !name.empty()) {
    keep_line({{"exports", name}, {"mark", mark}});
  }
}

void keep_import(CUmemGenericAllocationHandle handle, const std::string& mark) {
  all_mappings& m = the_mappings();
  std::string name;
  {
    const std::lock_guard lock(m.mutex);
    name = m.by_handle[handle] = m.new_name();
  }
  keep_line({{"imports", name}, {"mark", mark}});
}

std::string mark_of_import(const void* from, CUmemAllocationHandleType type) {
  return type == CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR
             ? mark_in_file(static_cast<int>(reinterpret_cast<std::intptr_t>(from)))
         : type == CU_MEM_HANDLE_TYPE_FABRIC ? mark_of_fabric(from)
                                             : "";
}

}  // namespace membar_record
