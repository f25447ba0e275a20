// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
/// @file
/// Memory of each kind, filled with a chain of addresses, for benches that compare kinds of memory, and the links between
/// devices.
#pragma once

#include <bench/common/machine_context.hpp>

#include <membar/device_guard.hpp>
#include <membar/managed_memory.hpp>

#include <cuda_runtime_api.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <fstream>
#include <numeric>
#include <random>
#include <string>
#include <utility>
#include <vector>

namespace bench {

/// The location of memory relative to the device that reads it. Managed memory is on the device.
enum class place { device, managed, mapped, peer };

/// The contents of memory: random words, or lines whose first bytes contain another line's address or its index in words.
enum class content { words, chain, indices };

/// Returns the first other GPU whose memory the device can access, or -1.
[[nodiscard]] inline int peer_of(int device) {
  int count = 0;
  membar::check(cudaGetDeviceCount(&count));
  for (int other = 0; other != count; ++other) {
    int reached = 0;
    if (other != device && cudaDeviceCanAccessPeer(&reached, device, other) == cudaSuccess && reached != 0) {
      return other;
    }
  }
  return -1;
}

/// Enables the device's access to the peer's memory, unless it is already enabled.
inline void reach_peer(int device, int peer) {
  const membar::device_guard on(device);
  if (const cudaError_t status = cudaDeviceEnablePeerAccess(peer, 0); status == cudaErrorPeerAccessAlreadyEnabled) {
    static_cast<void>(cudaGetLastError());
  } else {
    membar::check(status, "the devices cannot access each other's memory");
  }
}

/// Returns the link from the device to the host, as Linux or `nvidia-smi` describes it: "32.0 GT/s PCIe x16"; for a coherent
/// link, its name.
[[nodiscard]] inline std::string host_link(int device) {
  const auto first_line = [](const std::string& text) { return text.substr(0, text.find('\n')); };
  if (support::attribute(cudaDevAttrPageableMemoryAccessUsesHostPageTables, device) != 0) {
    return "coherent, pages of the host (NVLink-C2C or similar)";
  }
  const std::string folder = "/sys/bus/pci/devices/" + support::pci_address(device) + "/";
  std::string speed;
  std::string width;
  std::getline(std::ifstream(folder + "max_link_speed"), speed);
  std::getline(std::ifstream(folder + "max_link_width"), width);
  if (!speed.empty() && !width.empty()) {
    return speed + " x" + width;
  }
  const std::string told =
      first_line(support::output_of("nvidia-smi --id=" + support::pci_address(device) +
                                    " --query-gpu=pcie.link.gen.max,pcie.link.width.max --format=csv,noheader"));
  const auto comma = told.find(", ");
  return comma == std::string::npos ? "unknown" : "PCIe generation " + told.substr(0, comma) + " x" + told.substr(comma + 2);
}

/// Holds memory of one kind and size at a time, and reuses it until a different kind or size is requested.
class chained_memory {
 public:
  chained_memory() = default;
  chained_memory(const chained_memory&) = delete;
  chained_memory& operator=(const chained_memory&) = delete;
  ~chained_memory() { end(); }

  template <class T>
  [[nodiscard]] T* as() const noexcept {
    return static_cast<T*>(data_);
  }

  /// Returns memory at `where`, accessible to `device`, whose lines form one cycle in random order.
  void become(place where, std::size_t bytes, int device, content what, std::size_t line) {
    if (data_ != nullptr && where_ == where && bytes_ == bytes && what_ == what) {
      return;
    }
    end();
    where_ = where;
    bytes_ = bytes;
    what_ = what;
    if (where == place::mapped) {
      membar::check(cudaHostAlloc(&data_, bytes, cudaHostAllocMapped | cudaHostAllocPortable),
                    "the host has too little memory to pin");
    } else if (where == place::managed) {
      membar::check(cudaMallocManaged(&data_, bytes), "the device has too little free memory");
    } else if (where == place::peer) {
      const int peer = peer_of(device);
      reach_peer(device, peer);
      const membar::device_guard there(peer);
      membar::check(cudaMalloc(&data_, bytes), "the peer has too little free memory");
    } else {
      membar::check(cudaMalloc(&data_, bytes), "the device has too little free memory");
    }
    fill(line);
    if (where == place::managed) {
      membar::prefetch_pages(data_, bytes, membar::memory_location::device(device), nullptr);
      membar::check(cudaDeviceSynchronize());
    }
  }

  /// The position at which a chain continues, in bytes (`chain`) or words (`indices`): a run starts where the previous one
  /// ended.
  [[nodiscard]] std::size_t next_begin() const noexcept { return begin_; }
  void keep(std::size_t end) noexcept { begin_ = end; }

 private:
  void fill(std::size_t line) {
    begin_ = 0;
    if (what_ == content::words) {
      std::vector<std::uint32_t> words(std::size_t{1} << 20);
      std::mt19937 random(1);
      for (std::uint32_t& each : words) {
        each = static_cast<std::uint32_t>(random());
      }
      for (std::size_t at = 0; at < bytes_; at += words.size() * 4) {
        membar::check(cudaMemcpy(static_cast<char*>(data_) + at, words.data(), std::min(bytes_ - at, words.size() * 4),
                                 cudaMemcpyDefault));
      }
      membar::check(cudaDeviceSynchronize());
      return;
    }
    const std::size_t lines = bytes_ / line;
    std::vector<std::uint32_t> order(lines);
    std::iota(order.begin(), order.end(), 0U);
    std::mt19937 random(1);  // This gives the same order on every machine.
    for (std::size_t i = lines - 1; i > 0; --i) {
      std::swap(order[i], order[std::uniform_int_distribution<std::size_t>(0, i)(random)]);
    }
    std::vector<char> image(bytes_);
    const auto base = reinterpret_cast<std::uintptr_t>(data_);
    for (std::size_t i = 0; i != lines; ++i) {
      const std::size_t to = order[(i + 1) % lines] * line;
      const std::uint64_t address = base + to;
      const auto index = static_cast<std::uint32_t>(to / 4);
      if (what_ == content::chain) {
        std::memcpy(image.data() + order[i] * line, &address, sizeof address);
      } else {
        std::memcpy(image.data() + order[i] * line, &index, sizeof index);
      }
    }
    membar::check(cudaMemcpy(data_, image.data(), bytes_, cudaMemcpyDefault));
    membar::check(cudaDeviceSynchronize());
    begin_ = order[0] * (what_ == content::chain ? line : line / 4);
  }

  void end() noexcept {
    if (data_ != nullptr) {
      static_cast<void>(where_ == place::mapped ? cudaFreeHost(data_) : cudaFree(data_));
    }
    data_ = nullptr;
  }

  void* data_ = nullptr;
  place where_ = place::device;
  std::size_t bytes_ = 0;
  content what_ = content::words;
  std::size_t begin_ = 0;
};

}  // namespace bench
