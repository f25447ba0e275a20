// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
/// @file
/// Spreads streams over the physical synchronization domains, for programs without a local and a remote side.
#pragma once

#include <membar/launch_attribute.hpp>

#include <cstddef>

namespace membar {
inline namespace v0_2 {

/// The physical domain of the stream at `index`: streams take the domains in turn.
[[nodiscard]] constexpr int partition_domain(std::size_t index, int domain_count) noexcept {
  return static_cast<int>(index % static_cast<std::size_t>(domain_count));
}

/// Maps both logical domains of each stream to one physical domain, and puts the streams' previous maps back when it is
/// destroyed. Streams take the domains in turn.
///
/// Kernels in streams of different domains no longer wait for each other's writes. To exchange data while they run they need
/// system scope; what stream order or events order is ordered as before. On a device with a single domain nothing changes.
/// Errors: an invalid stream, or no device; every stream is then as it was. The streams must outlive the object.
class stream_partition {
 public:
  /// `count` streams starting at `streams`, which belong to the current device.
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

  /// The streams of an array, or of a `std::vector`, a `std::span` or what else has `data()` and `size()`.
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
    // Last stream first, so that a stream that was passed twice gets the map it had at first.
    for (std::size_t i = size_; i != 0; --i) {
      const previous& last = previous_[i - 1];
      detail::report_failed_restore(cudaStreamSetAttribute(last.stream, cudaLaunchAttributeMemSyncDomainMap, &last.map));
    }
    delete[] previous_;
  }

  /// The physical domain of the stream at `index`.
  [[nodiscard]] int domain(std::size_t index) const noexcept { return partition_domain(index, domain_count_); }

  /// Ends the partition without putting the previous maps back.
  void keep() noexcept { size_ = 0; }

 private:
  struct previous {
    cudaStream_t stream;
    cudaLaunchAttributeValue map;
  };

  // Once this constructor is done the destructor runs even if the public one throws, and puts back what was set so far.
  stream_partition(int domain_count, std::size_t streams) : domain_count_(domain_count), previous_(new previous[streams]) {}

  int domain_count_;
  previous* previous_;
  std::size_t size_ = 0;
};

}  // namespace v0_2
}  // namespace membar
