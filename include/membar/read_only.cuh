// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
/// @file
/// Data that does not change while a kernel runs: loads through the read-only (non-coherent) path, and a span that reads its
/// elements only through this path.
///
/// The path may keep a line cached for as long as the kernel runs, even if the data is written in the meantime. Therefore the
/// result of a read-only load is undefined if any thread, including the thread that reads, writes the loaded bytes between the
/// start and the end of the kernel. It is safe to read data that an earlier kernel of the stream wrote, or that was copied
/// before the launch. With programmatic dependent launch, data that the previous kernel wrote is safe to read only after
/// `cudaGridDependencySynchronize`.
#pragma once

#include <membar/base/config.hpp>
#include <membar/detail/checked_load_store.cuh>
#include <membar/detail/standard.hpp>
#include <membar/memory_order.hpp>
#include <membar/thread_scope.hpp>

namespace membar {
inline namespace v0_3 {

namespace detail {

/// The widest load that the alignment and the size of a type allow.
template <class T>
[[nodiscard]] MEMBAR_HOST_DEVICE consteval std::size_t chunk_bytes() noexcept {
  std::size_t bytes = 16;
  while (bytes > alignof(T) || sizeof(T) % bytes != 0) {
    bytes /= 2;
  }
  return bytes;
}

template <std::size_t Bytes>
struct alignas(Bytes) chunk {
  unsigned char bytes[Bytes];
};

template <class T>
struct chunks {
  chunk<chunk_bytes<T>()> parts[sizeof(T) / chunk_bytes<T>()];
};

/// Returns whether a single instruction can load a `T` on the target architecture.
template <class T>
__device__ consteval bool one_read_only_load() noexcept {
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 1000
  constexpr std::size_t widest = 32;
#else
  constexpr std::size_t widest = 16;
#endif
  return alignof(T) >= sizeof(T) && (sizeof(T) & (sizeof(T) - 1)) == 0 && sizeof(T) <= widest;
}

}  // namespace detail

/// Reads `*address` through the read-only path. No thread may write it while the kernel runs.
///
/// At most one of each of the following may come after the pointer: an L1 eviction priority or the cache operator ca, cg or cs,
/// an L2 policy, and a prefetch size.
///
/// The load does not synchronize, and may miss every write by the running kernel. PTX: `ld.global.nc{HINTS}.T`, with `.v4.b32`
/// for 16 bytes. A type that no single instruction can load uses the fewest loads that its alignment allows, each with the same
/// hints. Requires: a trivially copyable type; global memory. Source: PTX ISA, "ld.global.nc".
template <class T, class... Said>
[[nodiscard]] __device__ inline T load_read_only(const T* address, Said... said) noexcept {
  static_assert(detail::times_said<detail::says::order, Said...> == 0,
                "membar: a read-only load cannot have an order, because its data must not change: use load with a scope for "
                "data that changes");
  static_assert(detail::is_bytes<T>, "membar: the type of a read-only load must be trivially copyable");
  using detail::access_kind;
  if constexpr (detail::times_said<detail::says::order, Said...> == 0 && detail::is_bytes<T>) {
    if constexpr (detail::one_read_only_load<T>() || detail::times_said<detail::says::l2, Said...> != 0) {
      return detail::load_with<access_kind::read_only_load, thread_scope::system, detail::no_order>(address, said...);
    } else {
      detail::chunks<T> whole;
      const auto* const parts = reinterpret_cast<const detail::chunk<detail::chunk_bytes<T>()>*>(address);
#pragma unroll
      for (std::size_t i = 0; i != sizeof(T) / detail::chunk_bytes<T>(); ++i) {
        whole.parts[i] =
            detail::load_with<access_kind::read_only_load, thread_scope::system, detail::no_order>(parts + i, said...);
      }
      return detail::bits_as<T>(whole);
    }
  } else {
    __builtin_unreachable();
  }
}

/// A span that reads its elements only through the read-only path. It can be created on the host or the device and is passed to
/// a kernel by value.
///
/// The span returns no references to elements, so nothing can be written through it, and the compiler cannot insert an ordinary
/// load. `const T* __restrict__` asks the compiler for such loads, but the compiler may decline. This span always uses them.
/// Requires: `T` is trivially copyable; the elements are in global memory, and nothing writes them while the kernel runs.
template <class T>
class read_only_span {
 public:
  static_assert(!std::is_volatile_v<T>,
                "membar: volatile data can change, so it cannot be read-only: pass a pointer to non-volatile data");
  static_assert(detail::is_bytes<T>, "membar: the type of a read-only load must be trivially copyable");
  using value_type = std::remove_cv_t<T>;

  /// Creates an empty span.
  constexpr read_only_span() noexcept = default;
  /// Creates a span of `size` elements starting at `data`.
  MEMBAR_HOST_DEVICE constexpr read_only_span(const value_type* data, std::size_t size) noexcept : data_(data), size_(size) {}

  /// Returns the element at `index`, which must be below `size()`.
  [[nodiscard]] __device__ value_type operator[](std::size_t index) const noexcept { return load_read_only(data_ + index); }
  /// Returns the element at `index`, which must be below `size()`, and reads it with the hints of `load_read_only`.
  template <class... Said>
  [[nodiscard]] __device__ value_type load(std::size_t index, Said... said) const noexcept {
    return load_read_only(data_ + index, said...);
  }

  /// Returns the number of elements.
  [[nodiscard]] MEMBAR_HOST_DEVICE constexpr std::size_t size() const noexcept { return size_; }
  /// Returns whether the span is empty.
  [[nodiscard]] MEMBAR_HOST_DEVICE constexpr bool empty() const noexcept { return size_ == 0; }
  /// Returns the address of the first element.
  [[nodiscard]] MEMBAR_HOST_DEVICE constexpr const value_type* data() const noexcept { return data_; }

  /// Returns a span of `count` elements starting at `first`, all of which must be within this span.
  [[nodiscard]] MEMBAR_HOST_DEVICE constexpr read_only_span subspan(std::size_t first, std::size_t count) const noexcept {
    return {data_ + first, count};
  }

 private:
  const value_type* data_ = nullptr;
  std::size_t size_ = 0;
};

template <class T>
read_only_span(const T*, std::size_t) -> read_only_span<T>;
template <class T>
read_only_span(T*, std::size_t) -> read_only_span<T>;

/// Detects writes to a span between two points in a kernel. This class is intended for debugging.
///
/// Every thread of a block must create such an object at the beginning of the interval, and call `unchanged()` at the end. Each
/// thread checks its share of the bytes: it compares a fingerprint taken at the beginning with one taken at the end. The check
/// bypasses L1 and the read-only path. It does not detect a write of an equal value, a write that is undone, or a write outside
/// the interval. Each block reads the whole span twice.
template <class T>
class read_only_watch {
 public:
  /// Computes the fingerprint of this thread's share of `span`.
  __device__ explicit read_only_watch(read_only_span<T> span) noexcept : span_(span), fingerprint_(fingerprint()) {}

  /// Returns whether this thread's share of the span is unchanged.
  [[nodiscard]] __device__ bool unchanged() const noexcept { return fingerprint() == fingerprint_; }

  /// Stops the kernel with an error if this thread's share of the span has changed.
  __device__ void stop_if_changed() const noexcept {
    if (!unchanged()) {
      __trap();
    }
  }

 private:
  using value_type = typename read_only_span<T>::value_type;
  static constexpr std::size_t word_bytes = detail::chunk_bytes<value_type>() < 4 ? detail::chunk_bytes<value_type>() : 4;
  using word =
      std::conditional_t<word_bytes == 4, std::uint32_t, std::conditional_t<word_bytes == 2, std::uint16_t, std::uint8_t>>;

  [[nodiscard]] __device__ std::uint64_t fingerprint() const noexcept {
    const std::size_t threads = std::size_t{blockDim.x} * blockDim.y * blockDim.z;
    const std::size_t thread = threadIdx.x + blockDim.x * (threadIdx.y + std::size_t{blockDim.y} * threadIdx.z);
    const auto* const words = reinterpret_cast<const word*>(span_.data());
    constexpr std::uint64_t prime = 1099511628211U;  // the prime of the FNV-1a hash, which depends on every bit of a word
    std::uint64_t hash = 14695981039346656037U;
    for (std::size_t i = thread; i < span_.size() * sizeof(value_type) / word_bytes; i += threads) {
      const word read = detail::load_with<detail::access_kind::load, thread_scope::device, relaxed_t>(words + i, relaxed_t{});
      hash = (hash ^ read) * prime;
    }
    return hash;
  }

  read_only_span<T> span_;
  std::uint64_t fingerprint_;
};

}  // namespace v0_3
}  // namespace membar
