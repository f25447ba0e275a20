// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
/// @file
/// Cache hints for L1 and L2, passed as values after the pointer of a load or a store.
///
/// A hint affects where lines are cached and for how long. It never changes the semantics of an access. Hints are for global
/// memory: an access with a hint must not have an address in shared, local or constant memory.
#pragma once

#include <membar/base/config.hpp>
#include <membar/detail/compilation.cuh>
#include <membar/detail/standard.hpp>

namespace membar {
inline namespace v0_3 {

/// The priority with which L1 evicts the line that an access touches.
enum class l1_priority {
  evict_normal,     ///< the default priority, as without a hint
  evict_unchanged,  ///< does not change the priority of a line that is already cached
  evict_first,      ///< evicts the line first: for data used once
  evict_last,       ///< evicts the line last: for data that will be used again soon
  no_allocate       ///< does not allocate the line in L1
};

/// The priority with which L2 evicts the line that an access touches; the names have the same meaning as in `l1_priority`.
enum class l2_priority { evict_normal, evict_unchanged, evict_first, evict_last };

/// The cache operators of PTX ISA 2.0, which name caches instead of priorities.
///
/// An access with a cache operator has neither an order nor an L1 eviction priority.
enum class cache_operator {
  ca,  ///< for loads: caches the line at all levels
  cg,  ///< caches the line in L2 but not in L1
  cs,  ///< for data used once: evicts the line first
  lu,  ///< for loads: marks the last use of the line
  cv,  ///< for loads: fetches the data again and ignores cached copies
  wb,  ///< for stores: writes back
  wt   ///< for stores: writes through L2 to host memory
};

/// The type of an L1 eviction priority as an argument of an access; its values are in the namespace `l1`.
template <l1_priority Priority>
struct l1_hint {
  static constexpr l1_priority value = Priority;
  explicit l1_hint() = default;
};
/// The type of an L2 eviction priority as an argument; its values are in the namespace `l2`.
template <l2_priority Priority>
struct l2_hint {
  static constexpr l2_priority value = Priority;
  explicit l2_hint() = default;
  MEMBAR_HOST_DEVICE constexpr operator l2_priority() const noexcept { return Priority; }
};
/// The type of a cache operator as an argument of an access; its values are in the namespace `cache_op`.
template <cache_operator Operator>
struct cache_operator_hint {
  static constexpr cache_operator value = Operator;
  explicit cache_operator_hint() = default;
};
/// The type of an L2 prefetch size as an argument of a load; its values are `prefetch_64B`, `prefetch_128B`, `prefetch_256B`.
template <int Bytes>
struct prefetch_size {
  static_assert(Bytes == 64 || Bytes == 128 || Bytes == 256, "membar: an L2 prefetch size must be 64, 128 or 256 bytes");
  static constexpr int value = Bytes;
  explicit prefetch_size() = default;
};

/// L1 eviction priorities of an access: `load_weak(p, l1::no_allocate)`.
namespace l1 {
MEMBAR_CONSTANT l1_hint<l1_priority::evict_normal> evict_normal{};
MEMBAR_CONSTANT l1_hint<l1_priority::evict_unchanged> evict_unchanged{};
MEMBAR_CONSTANT l1_hint<l1_priority::evict_first> evict_first{};
MEMBAR_CONSTANT l1_hint<l1_priority::evict_last> evict_last{};
MEMBAR_CONSTANT l1_hint<l1_priority::no_allocate> no_allocate{};
}  // namespace l1

/// L2 eviction priorities, used as the arguments of a `cache_policy`, which any access accepts.
///
/// An access that names an L2 priority directly, as in `load_weak(p, l2::evict_first)`, requires a 32-byte type and compute
/// capability 10.0 or later.
namespace l2 {
MEMBAR_CONSTANT l2_hint<l2_priority::evict_normal> evict_normal{};
MEMBAR_CONSTANT l2_hint<l2_priority::evict_unchanged> evict_unchanged{};
MEMBAR_CONSTANT l2_hint<l2_priority::evict_first> evict_first{};
MEMBAR_CONSTANT l2_hint<l2_priority::evict_last> evict_last{};
}  // namespace l2

/// Cache operators of a weak access: `load_weak(p, cache_op::cs)`.
namespace cache_op {
MEMBAR_CONSTANT cache_operator_hint<cache_operator::ca> ca{};
MEMBAR_CONSTANT cache_operator_hint<cache_operator::cg> cg{};
MEMBAR_CONSTANT cache_operator_hint<cache_operator::cs> cs{};
MEMBAR_CONSTANT cache_operator_hint<cache_operator::lu> lu{};
MEMBAR_CONSTANT cache_operator_hint<cache_operator::cv> cv{};
MEMBAR_CONSTANT cache_operator_hint<cache_operator::wb> wb{};
MEMBAR_CONSTANT cache_operator_hint<cache_operator::wt> wt{};
}  // namespace cache_op

/// Makes a load that misses L2 fetch the aligned 64-byte block that contains the address.
MEMBAR_CONSTANT prefetch_size<64> prefetch_64B{};
/// Makes a load that misses L2 fetch the aligned 128-byte block that contains the address.
MEMBAR_CONSTANT prefetch_size<128> prefetch_128B{};
/// Makes a load that misses L2 fetch the aligned 256-byte block that contains the address.
MEMBAR_CONSTANT prefetch_size<256> prefetch_256B{};

namespace detail {
/// When nvcc rejects a fraction, its message shows only the names of the constructor's template arguments, so these names
/// explain the error.
struct needs_a_constant_above_0_and_at_most_1_or_hit_fraction_at_run_time;
/// A call to this function is not a constant expression, so the compiler rejects an invalid constant even if exceptions are
/// disabled.
MEMBAR_HOST void the_fraction_of_a_cache_policy_lies_above_0_and_is_at_most_1();
}  // namespace detail

/// The fraction of addresses that receive a policy's primary priority: greater than 0 and at most 1.
///
/// A fraction can be constructed from a constant. A value that is not a constant, or is out of range, does not compile; the
/// compiler's message then names the rule and `at_run_time`.
class hit_fraction {
 public:
  template <class T, class Rule = detail::needs_a_constant_above_0_and_at_most_1_or_hit_fraction_at_run_time>
    requires std::is_arithmetic_v<T>
  MEMBAR_HOST consteval hit_fraction(T value) : value_(static_cast<float>(value)) {
    if (!(value > 0 && value <= 1)) {
      detail::the_fraction_of_a_cache_policy_lies_above_0_and_is_at_most_1();
    }
  }

  /// Constructs a fraction from `value`, which need not be a constant. A value out of range stops the kernel.
  [[nodiscard]] __device__ static hit_fraction at_run_time(float value) noexcept {
    if (!(value > 0.0F && value <= 1.0F)) {
      __trap();
    }
    return {value, unchecked{}};
  }

  /// Returns the fraction as a number.
  [[nodiscard]] __device__ constexpr float value() const noexcept { return value_; }

 private:
  struct unchecked {};
  __device__ constexpr hit_fraction(float value, unchecked) noexcept : value_(value) {}

  float value_;
};

/// An L2 policy in the form that accesses accept: 64 opaque bits, created by a `cache_policy` or a `cache_policy_range`.
///
/// Creating a policy takes an instruction, so create the policy once, before the loop. A policy can be passed to functions, and
/// to kernels on the same device. Requires: compute capability 8.0.
class l2_policy {
 public:
  /// Constructs a policy from these bits. interop/annotated_ptr.cuh uses this to convert a `cuda::access_property`.
  MEMBAR_HOST_DEVICE explicit constexpr l2_policy(std::uint64_t bits) noexcept : bits_(bits) {}
  /// Returns the policy's bits in the form that instructions use.
  [[nodiscard]] MEMBAR_HOST_DEVICE constexpr std::uint64_t bits() const noexcept { return bits_; }

 protected:
  l2_policy() = default;
  std::uint64_t bits_;
};

namespace detail {

/// The priorities as PTX spells them, used as operands with the "C" constraint of an inline-assembly statement.
// clang-format off
template <l2_priority Priority> struct l2_text;
template <> struct l2_text<l2_priority::evict_normal> { static constexpr char text[] = ".L2::evict_normal"; };
template <> struct l2_text<l2_priority::evict_unchanged> { static constexpr char text[] = ".L2::evict_unchanged"; };
template <> struct l2_text<l2_priority::evict_first> { static constexpr char text[] = ".L2::evict_first"; };
template <> struct l2_text<l2_priority::evict_last> { static constexpr char text[] = ".L2::evict_last"; };

/// The secondary priority of a policy. PTX uses evict_unchanged if a policy does not name one.
template <l2_priority Priority> struct secondary_l2_text : l2_text<Priority> {};
template <> struct secondary_l2_text<l2_priority::evict_unchanged> { static constexpr char text[] = ""; };
// clang-format on

template <l2_priority Primary, l2_priority Secondary>
__device__ constexpr void check_policy() noexcept {
  static_assert(Secondary == l2_priority::evict_unchanged || Secondary == l2_priority::evict_first,
                "membar: the secondary priority of a cache policy must be evict_unchanged or evict_first");
#if defined(__CUDA_ARCH__)
  static_assert(__CUDA_ARCH__ >= 800,
                "membar: a cache policy requires compute capability 8.0: compile this code only for sm_80 or newer");
#endif
}

}  // namespace detail

/// A fractional policy: `Primary` for a fraction of the addresses, which the hardware selects, and `Secondary` for the others.
///
/// PTX: `createpolicy.fractional.L2::Primary{.L2::Secondary}.b64`, one instruction. The secondary priority is omitted if it is
/// evict_unchanged, PTX's default. Requires: compute capability 8.0. Source: PTX ISA, "createpolicy".
template <l2_priority Primary, l2_priority Secondary = l2_priority::evict_unchanged>
class cache_policy : public l2_policy {
 public:
  __device__ explicit cache_policy(hit_fraction fraction) noexcept {
    detail::check_policy<Primary, Secondary>();
    // createpolicy.fractional.L2::primary_priority{.L2::secondary_priority}.b64 cache-policy, fraction;  (PTX ISA 7.4, sm_80)
    asm volatile("createpolicy.fractional%1%2.b64 %0, %3;"
                 : "=l"(bits_)
                 : "C"(detail::l2_text<Primary>::text), "C"(detail::secondary_l2_text<Secondary>::text), "f"(fraction.value())
                 : "memory");
  }
};

/// A policy for a range of addresses: `Primary` for the `primary_bytes` bytes at `start`, and `Secondary` for the bytes around
/// them.
///
/// `Secondary` applies to `total_bytes - primary_bytes` bytes before the primary range and to the same number of bytes after
/// it. The priority of all other addresses is unspecified.
///
/// PTX: `createpolicy.range.global.L2::Primary{.L2::Secondary}.b64`, one instruction. Requires: compute capability 8.0; `start`
/// is in global memory. Errors: the kernel stops unless 0 < `primary_bytes` <= `total_bytes`. Source: PTX ISA, "createpolicy".
template <l2_priority Primary, l2_priority Secondary = l2_priority::evict_unchanged>
class cache_policy_range : public l2_policy {
 public:
  __device__ cache_policy_range(const void* start, std::uint32_t primary_bytes, std::uint32_t total_bytes) noexcept {
    detail::check_policy<Primary, Secondary>();
    if (primary_bytes == 0 || primary_bytes > total_bytes) {
      __trap();
    }
    // createpolicy.range{.global}.L2::primary_priority{.L2::secondary_priority}.b64 cache-policy, [a], primary-size,
    // total-size; (PTX ISA 7.4, sm_80)
    asm volatile("createpolicy.range.global%1%2.b64 %0, [%3], %4, %5;"
                 : "=l"(bits_)
                 : "C"(detail::l2_text<Primary>::text), "C"(detail::secondary_l2_text<Secondary>::text),
                   "l"(__cvta_generic_to_global(start)), "r"(primary_bytes), "r"(total_bytes)
                 : "memory");
  }
};

/// Returns the policy that the device creates from an access property, given as the 64 bits of a `cuda::access_property`.
/// `policy_of` (interop/annotated_ptr.cuh) uses the bits unchanged, without an instruction.
///
/// PTX: `createpolicy.cvt.L2.b64 policy, property`, one instruction. Requires: compute capability 8.0. Source: PTX ISA,
/// "createpolicy".
template <bool Needed = true>
[[nodiscard]] __device__ inline l2_policy converted_policy(std::uint64_t access_property) noexcept {
  static_assert(Needed);
  detail::check_policy<l2_priority::evict_normal, l2_priority::evict_unchanged>();
  std::uint64_t bits = 0;
  // createpolicy.cvt.L2.b64 cache-policy, access-property;  (PTX ISA 7.4, sm_80)
  asm volatile("createpolicy.cvt.L2.b64 %0, %1;" : "=l"(bits) : "l"(access_property) : "memory");
  return l2_policy(bits);
}

}  // namespace v0_3
}  // namespace membar
