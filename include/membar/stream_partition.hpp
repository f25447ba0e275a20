// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
/// @file
/// Distributes streams over the physical synchronization domains, for programs that do not distinguish between local and remote
/// kernels.
#pragma once

#include <membar/launch_attribute.hpp>

#include <cstddef>

namespace membar {
inline namespace v0_3 {

/// Returns the physical domain of the stream at `index`. Streams are assigned to the domains round-robin.
[[nodiscard]] constexpr int partition_domain(std::size_t index, int domain_count) noexcept {
  return static_cast<int>(index % static_cast<std::size_t>(domain_count));
}

/// Maps both logical domains of each stream to one physical domain. The destructor restores the streams' previous maps. Streams
/// are assigned to the domains round-robin.
///
/// Kernels in streams of different domains no longer wait for each other's writes. If they exchange data while they run, they
/// need system scope. The order that streams and events impose does not change. On a device with a single domain, nothing
/// changes. Errors: a stream is invalid, or there is no device; every stream is then unchanged. The streams must outlive the
/// object.
class stream_partition {
 public:
  /// Partitions `count` streams starting at `streams`, which must belong to the current device.
  [[nodiscard("destroying this object restores the maps: give the object a name")]] stream_partition(
      const cudaStream_t* streams, std::size_t count)
      : stream_partition(sync_domain_count(), count) {
    while (size_ != count) {
      const cudaStream_t stream = streams[size_];
      previous_[size_].stream = stream;
      check(cudaStreamGetAttribute(stream, cudaLaunchAttributeMemSyncDomainMap, &previous_[size_].map),
            "pass streams of the current device");
      const int domain = this->domain(size_);
      set_attribute(stream, sync_domain_map{.default_ = domain, .remote = domain});
      ++size_;
    }
  }

  /// Partitions the streams of an array, a `std::vector`, a `std::span` or another range with `data()` and `size()`.
  template <std::size_t Count>
  [[nodiscard("destroying this object restores the maps: give the object a name")]] explicit stream_partition(
      const cudaStream_t (&streams)[Count])
      : stream_partition(streams, Count) {}
  template <class Streams>
    requires requires(const Streams& streams) {
      static_cast<const cudaStream_t*>(streams.data());
      static_cast<std::size_t>(streams.size());
    }
  [[nodiscard("destroying this object restores the maps: give the object a name")]] explicit stream_partition(
      const Streams& streams)
      : stream_partition(streams.data(), static_cast<std::size_t>(streams.size())) {}

  stream_partition(const stream_partition&) = delete;
  stream_partition& operator=(const stream_partition&) = delete;

  ~stream_partition() {
    // The streams are restored in reverse order, so that a stream that was passed twice gets its original map back.
    for (std::size_t i = size_; i != 0; --i) {
      const previous& last = previous_[i - 1];
      detail::report_failed_restore(cudaStreamSetAttribute(last.stream, cudaLaunchAttributeMemSyncDomainMap, &last.map));
    }
    delete[] previous_;
  }

  /// Returns the physical domain of the stream at `index`.
  [[nodiscard]] int domain(std::size_t index) const noexcept { return partition_domain(index, domain_count_); }

  /// Ends the partition without restoring the previous maps.
  void keep() noexcept { size_ = 0; }

 private:
  struct previous {
    cudaStream_t stream;
    cudaLaunchAttributeValue map;
  };

  // Once this constructor has completed, the destructor runs even if the public constructor throws, and restores the maps that
  // have been changed so far.
  stream_partition(int domain_count, std::size_t streams) : domain_count_(domain_count), previous_(new previous[streams]) {}

  int domain_count_;
  previous* previous_;
  std::size_t size_ = 0;
};

}  // namespace v0_3
}  // namespace membar
