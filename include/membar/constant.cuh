// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
/// @file
/// Constant memory: typed tables that fit into its 64 KiB, uploads to them, and a count of the distinct addresses that a warp
/// reads.
///
/// Constant memory is off-chip and has its own cache, which serves one address per warp at a time. If all threads use the same
/// index, the access is a broadcast; k different indices take k accesses. Constant memory is meant for values that a whole warp
/// needs at the same time, such as the coefficients of a formula. Kernel parameters are also in constant memory, and `const
/// __grid_constant__` keeps a parameter there.
#pragma once

#include <membar/base/config.hpp>
#include <membar/detail/lane.cuh>
#include <membar/detail/standard.hpp>

#if defined(__CUDACC_RTC__)
#include <cuda/std/cassert>
#else
#include <membar/detail/stream_handle.hpp>
#include <membar/error.hpp>

#include <cassert>
#include <cstring>
#include <new>
#include <utility>
#endif

namespace membar {
inline namespace v0_3 {

/// The size of constant memory in bytes, which limits the tables of all source files together.
inline constexpr std::size_t constant_memory_bytes = std::size_t{64} * 1024;

/// A table in constant memory. Declare it at namespace scope: `__constant__ membar::constant_table<float, 9> weights;`.
///
/// Other source files declare it as `extern __constant__ membar::constant_table<float, 9> weights;`. All of these files must be
/// compiled as relocatable device code (`-rdc=true`). The values are undefined until the first `upload`.
/// Requires: at most 64 KiB; a trivially copyable element without an initializer; an index below `Size`.
template <class T, std::size_t Size>
struct constant_table {
  static_assert(std::is_trivially_copyable_v<T> && std::is_trivially_default_constructible_v<T>,
                "membar: the elements of a constant table must be trivially copyable and have no constructor, because CUDA "
                "does not run constructors in constant memory");
  static_assert(Size > 0, "membar: a constant table needs at least one element");
  static_assert(Size <= constant_memory_bytes / sizeof(T), "membar: a constant table can be at most 65536 bytes long");

  using value_type = T;

  /// The number of elements.
  [[nodiscard]] MEMBAR_HOST_DEVICE static constexpr std::size_t size() noexcept { return Size; }

  /// Returns the element at `index`. The access costs one transaction per distinct index among the warp's threads.
  [[nodiscard]] __device__ const T& operator[](std::size_t index) const noexcept { return values[index]; }

  /// Returns, in a single access, the element at an index that all active threads of the warp share. Builds with assertions
  /// check the index.
  [[nodiscard]] __device__ const T& broadcast(std::size_t index) const noexcept;

  /// Returns, in a single access, the element at a constant index, which all threads share.
  template <std::size_t Index>
  [[nodiscard]] __device__ const T& broadcast() const noexcept {
    static_assert(Index < Size, "membar: the index is past the end of the constant table");
    return values[Index];
  }

  T values[Size == 0 ? 1 : Size];
};

/// Whether several tables fit into constant memory together. Each table is also checked separately.
///
/// Use: `static_assert(membar::fit_into_constant_memory<decltype(weights), decltype(limits)>);`. List the tables of all source
/// files.
template <class... Tables>
inline constexpr bool fit_into_constant_memory = (std::size_t{0} + ... + sizeof(Tables)) <= constant_memory_bytes;

/// Returns the number of distinct values among the warp's active threads. For an index into constant memory, this is the number
/// of accesses.
[[nodiscard]] __device__ inline unsigned distinct_in_warp(unsigned long long value) noexcept {
  const unsigned active = __activemask();
  const unsigned same = __match_any_sync(active, value);
  const bool first_of_its_kind = (same & ((1U << detail::lane_id()) - 1)) == 0;
  return static_cast<unsigned>(__popc(__ballot_sync(active, first_of_its_kind)));
}

template <class T, std::size_t Size>
__device__ const T& constant_table<T, Size>::broadcast(std::size_t index) const noexcept {
  assert(distinct_in_warp(index) == 1);
  return values[index];
}

#if !defined(__CUDACC_RTC__)  // NVRTC compiles no host code

namespace detail {

/// Throws unless the `count` elements that start at `first` are all in a table of `size` elements.
inline void validate_upload(std::size_t first, std::size_t count, std::size_t size) {
  if (first > size || count > size - first) {
    throw error(cudaErrorInvalidValue,
                "membar: an upload of %zu elements starting at element %zu does not fit into a constant table of %zu elements: "
                "pass at most %zu elements",
                count, first, size, first > size ? std::size_t{0} : size - first);
  }
}

/// Returns the address from which a copy in `stream` reads `values`. This is the address of `values` itself unless the stream
/// is being captured. In that case, it is the address of a copy that lives as long as the graph, because the graph reads the
/// values at each launch.
[[nodiscard]] inline const void* values_for(cudaStream_t stream, const void* values, std::size_t bytes) {
  cudaStreamCaptureStatus capture = cudaStreamCaptureStatusNone;
  cudaGraph_t graph = nullptr;
#if CUDART_VERSION >= 13000
  check(cudaStreamGetCaptureInfo(stream, &capture, nullptr, &graph), "pass a stream of the current device");
#else
  check(cudaStreamGetCaptureInfo_v2(stream, &capture, nullptr, &graph), "pass a stream of the current device");
#endif
  if (capture != cudaStreamCaptureStatusActive || bytes == 0) {
    return values;
  }
  void* const copy = ::operator new(bytes);
  std::memcpy(copy, values, bytes);
  cudaUserObject_t owner = nullptr;
  const cudaError_t made =
      cudaUserObjectCreate(&owner, copy, [](void* old) { ::operator delete(old); }, 1, cudaUserObjectNoDestructorSync);
  if (made != cudaSuccess) {
    ::operator delete(copy);
    check(made, "upload the table outside the capture");
  }
  const cudaError_t retained = cudaGraphRetainUserObject(graph, owner, 1, cudaGraphUserObjectMove);
  if (retained != cudaSuccess) {
    static_cast<void>(cudaUserObjectRelease(owner, 1));
    check(retained, "upload the table outside the capture");
  }
  return copy;
}

/// The number of elements of a range if its type fixes that number, as an array type does; otherwise `not_fixed`.
inline constexpr std::size_t not_fixed = static_cast<std::size_t>(-1);
template <class Range>
[[nodiscard]] consteval std::size_t fixed_size() {
  if constexpr (requires { std::tuple_size<Range>::value; }) {
    return std::tuple_size<Range>::value;
  } else if constexpr (requires { std::integral_constant<std::size_t, Range::extent>{}; }) {
    return Range::extent;  // for a span, whose dynamic_extent is `not_fixed`
  } else {
    return not_fixed;
  }
}

}  // namespace detail

/// Copies `count` values into `table` starting at element `first`, in stream order: kernels that are enqueued later read them.
///
/// The call writes only to the current device's copy of the table. If `values` is in pinned memory, the call returns
/// immediately, and the memory must not change until the copy is complete. In a captured stream, the graph keeps a copy of the
/// values passed to this call. No kernel that reads the table may run at the same time, because constant memory must not change
/// while a kernel reads it. Errors: the table holds fewer values starting at `first`, or a CUDA error occurs. In both cases
/// nothing is copied.
template <class T, std::size_t Size>
void upload_part(const constant_table<T, Size>& table, std::size_t first, const std::type_identity_t<T>* values,
                 std::size_t count, stream_handle stream) {
  detail::validate_upload(first, count, Size);
  const void* const source = detail::values_for(stream, values, count * sizeof(T));
  check(cudaMemcpyToSymbolAsync(static_cast<const void*>(&table), source, count * sizeof(T), first * sizeof(T),
                                cudaMemcpyHostToDevice, stream),
        "pass a table declared __constant__ and values in host memory");
}

/// Copies `count` values into `table` in stream order. `count` must be the table's size.
///
/// Errors: `count` differs from the table's size, or a CUDA error occurs. In both cases nothing is copied.
template <class T, std::size_t Size>
void upload(const constant_table<T, Size>& table, const std::type_identity_t<T>* values, std::size_t count,
            stream_handle stream) {
  if (count != Size) {
    throw error(cudaErrorInvalidValue,
                "membar: an upload of %zu elements does not fill a constant table of %zu elements: pass %zu elements, or use "
                "upload_part",
                count, Size, Size);
  }
  upload_part(table, 0, values, count, stream);
}

/// Copies an array into `table` in stream order. The type and the size are checked at compile time.
template <class T, std::size_t Size, class U, std::size_t Count>
void upload(const constant_table<T, Size>& table, const U (&values)[Count], stream_handle stream) {
  static_assert(std::is_same_v<T, U>,
                "membar: the uploaded values must have the constant table's element type: convert them first");
  static_assert(Count == Size, "membar: an upload must have as many elements as the constant table: use upload_part for fewer");
  if constexpr (std::is_same_v<T, U> && Count == Size) {
    upload_part(table, 0, values, Count, stream);
  }
}

/// Copies a `std::array`, a `std::vector`, a `std::span`, or another range with `data()` and `size()` into `table` in stream
/// order.
///
/// The type is checked at compile time. The size is also checked then if the type fixes it. Errors: the sizes differ, or a CUDA
/// error occurs. In both cases nothing is copied.
template <class T, std::size_t Size, class Range>
  requires requires(const Range& values) {
    sizeof(*values.data());
    static_cast<std::size_t>(values.size());
  }
void upload(const constant_table<T, Size>& table, const Range& values, stream_handle stream) {
  using element = std::remove_cvref_t<decltype(*values.data())>;
  constexpr std::size_t count = detail::fixed_size<Range>();
  static_assert(std::is_same_v<T, element>,
                "membar: the uploaded values must have the constant table's element type: convert them first");
  static_assert(count == Size || count == detail::not_fixed,
                "membar: an upload must have as many elements as the constant table: use upload_part for fewer");
  if constexpr (std::is_same_v<T, element> && (count == Size || count == detail::not_fixed)) {
    upload(table, values.data(), static_cast<std::size_t>(values.size()), stream);
  }
}

/// Returns the address of `table` in the current device's global memory, through which a kernel can write to it.
///
/// Such a write and a read through the table use different proxies, and no fence orders them. The kernel that reads must follow
/// the kernel that writes in the stream. Errors: `table` was not declared `__constant__`.
template <class T, std::size_t Size>
[[nodiscard]] T* global_address_of(const constant_table<T, Size>& table) {
  void* address = nullptr;
  check(cudaGetSymbolAddress(&address, static_cast<const void*>(&table)), "pass a table declared __constant__");
  return static_cast<T*>(address);
}

#endif  // !defined(__CUDACC_RTC__)

}  // namespace v0_3
}  // namespace membar
