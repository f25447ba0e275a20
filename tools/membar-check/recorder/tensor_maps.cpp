// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "membar-check/recorder/tensor_maps.hpp"

#include <atomic>
#include <map>
#include <mutex>
#include <string>
#include <utility>

#include "membar-check/recorder/sharing.hpp"

namespace membar_record {

namespace {

/// The maximum number of tensor maps that are kept. A program that creates more maps than this presumably creates them for
/// short-lived memory.
constexpr std::size_t most_maps = 8192;

struct kept_maps {
  std::mutex mutex;
  std::map<std::string, nlohmann::json, std::less<>> by_bytes;
  std::atomic<bool> any{false};
};

kept_maps& the_maps() {
  static auto* const one = new kept_maps;
  return *one;
}

std::string_view bytes_of(const CUtensorMap& map) { return {reinterpret_cast<const char*>(&map), sizeof map}; }

}  // namespace

void keep_tensor_map(const CUtensorMap& map, nlohmann::json line) {
  const std::string bytes(bytes_of(map));
  kept_maps& all = the_maps();
  const std::lock_guard lock(all.mutex);
  if (all.by_bytes.size() == most_maps && !all.by_bytes.contains(bytes)) {
    session::get().complain("the program creates more than " + std::to_string(most_maps) +
                            " tensor maps: kernels that use later tensor maps cannot be checked");
    return;
  }
  if (all.by_bytes.insert_or_assign(bytes, line).second) {
    line["tensor_map"] = hex_of(bytes);
    session::get().keep(line.dump());
    all.any = true;
  }
}

void keep_moved_map(const CUtensorMap& before, const CUtensorMap& map, CUdeviceptr address) {
  nlohmann::json line;
  {
    kept_maps& all = the_maps();
    const std::lock_guard lock(all.mutex);
    const auto at = all.by_bytes.find(bytes_of(before));
    if (at == all.by_bytes.end()) {
      return;
    }
    line = at->second;
  }
  line["address"] = address;
  keep_tensor_map(map, std::move(line));
}

std::optional<CUdeviceptr> tensor_of_map(std::string_view bytes) {
  kept_maps& all = the_maps();
  if (!all.any.load(std::memory_order_acquire)) {
    return std::nullopt;
  }
  const std::lock_guard lock(all.mutex);
  const auto at = all.by_bytes.find(bytes);
  return at == all.by_bytes.end() ? std::nullopt : std::optional(at->second["address"].get<CUdeviceptr>());
}

}  // namespace membar_record
