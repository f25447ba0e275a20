// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
/// @file
/// Shared parts of bulk_copy.cuh and async_copy.cuh: the types that indicate how to detect the end of a copy, and the reduction
/// operations.
#pragma once

#include <membar/detail/compilation.cuh>
#include <membar/detail/standard.hpp>

namespace membar {
inline namespace v0_3 {

namespace detail {

/// Converts a generic address in global memory to the form that instructions for that state space require.
[[nodiscard]] __device__ inline std::uint64_t global_address(const void* object) noexcept {
  return __cvta_generic_to_global(object);
}

struct copy_results;

}  // namespace detail

/// The number of bytes that asynchronous copies deliver and report to an mbarrier. The mbarrier's phase must expect them: call
/// `barrier.arrive_expect(bytes, release)` before or after the copies start. That call must be the phase's last arrival or come
/// before that arrival.
class [[nodiscard("a phase of the mbarrier must expect these bytes: call arrive_expect(bytes, release)")]] transaction_bytes {
 public:
  __device__ constexpr operator unsigned() const noexcept { return count_; }  // NOLINT: the value is a number of bytes
  /// Adds the bytes of several copies.
  [[nodiscard]] __device__ friend constexpr transaction_bytes operator+(transaction_bytes a, transaction_bytes b) noexcept {
    return transaction_bytes(a.count_ + b.count_);
  }

 private:
  friend struct detail::copy_results;
  __device__ constexpr explicit transaction_bytes(unsigned count) noexcept : count_(count) {}
  unsigned count_;
};

/// Bulk copies that have started and are not in a group yet. Pass them to `bulk_commit`.
class [[nodiscard(
    "a copy that is not committed to a group cannot be waited for: call bulk_commit(copies)")]] uncommitted_copies {
 public:
  /// Combines the copies of both objects.
  [[nodiscard]] __device__ friend constexpr uncommitted_copies operator+(uncommitted_copies all, uncommitted_copies) noexcept {
    return all;
  }

 private:
  friend struct detail::copy_results;
  constexpr uncommitted_copies() noexcept = default;
};

/// Copies that `async_copy` has started. `async_commit` puts them into a group, and `async_arrive` makes them arrive at an
/// mbarrier.
class [[nodiscard(
    "a copy may be incomplete until a thread waits for it: call async_commit(copies) or async_arrive(copies, "
    "barrier)")]] started_copies {
 public:
  /// Combines the copies of both objects.
  [[nodiscard]] __device__ friend constexpr started_copies operator+(started_copies all, started_copies) noexcept {
    return all;
  }

 private:
  friend struct detail::copy_results;
  constexpr started_copies() noexcept = default;
};

/// The operation that an asynchronous reduction applies to each element.
enum class async_operation : unsigned char { add, min, max, inc, dec, bitwise_and, bitwise_or, bitwise_xor };

namespace detail {

/// Allows only the copy functions to create the values that they return.
struct copy_results {
  [[nodiscard]] __device__ static constexpr transaction_bytes bytes(unsigned count) noexcept {
    return transaction_bytes(count);
  }
  [[nodiscard]] __device__ static constexpr uncommitted_copies copies() noexcept { return uncommitted_copies(); }
  [[nodiscard]] __device__ static constexpr started_copies started() noexcept { return started_copies(); }
};

/// The type whose operations `T` supports: for an integer, the type of the same size and signedness in the tables; for a pair,
/// the element type.
template <class T>
struct element_of {
  using type = T;
};
template <class T>
  requires(std::is_integral_v<T> && (sizeof(T) == 4 || sizeof(T) == 8))
struct element_of<T> {
  using type = std::conditional_t<sizeof(T) == 4, std::conditional_t<std::is_signed_v<T>, std::int32_t, std::uint32_t>,
                                  std::conditional_t<std::is_signed_v<T>, long long, unsigned long long>>;
};
template <>
struct element_of<__half2> {
  using type = __half;
};
template <>
struct element_of<__nv_bfloat162> {
  using type = __nv_bfloat16;
};

// clang-format off
template <async_operation Operation> struct ptx_async_operation;
template <> struct ptx_async_operation<async_operation::add> { static constexpr char text[] = "add"; };
template <> struct ptx_async_operation<async_operation::min> { static constexpr char text[] = "min"; };
template <> struct ptx_async_operation<async_operation::max> { static constexpr char text[] = "max"; };
template <> struct ptx_async_operation<async_operation::inc> { static constexpr char text[] = "inc"; };
template <> struct ptx_async_operation<async_operation::dec> { static constexpr char text[] = "dec"; };
template <> struct ptx_async_operation<async_operation::bitwise_and> { static constexpr char text[] = "and"; };
template <> struct ptx_async_operation<async_operation::bitwise_or> { static constexpr char text[] = "or"; };
template <> struct ptx_async_operation<async_operation::bitwise_xor> { static constexpr char text[] = "xor"; };
// clang-format on

}  // namespace detail

}  // namespace v0_3
}  // namespace membar
