// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
/// @file
/// Operations on an address that refers to one object on each of several devices: a multicast object, for example with NVLink
/// SHARP. The switch stores to all of these objects, or reduces their values.
#pragma once

#include <membar/detail/ld_st_instructions.cuh>
#include <membar/detail/standard.hpp>
#include <membar/memory_order.hpp>
#include <membar/thread_scope.hpp>

namespace membar {
inline namespace v0_3 {

/// Eight `__half` values in 16 bytes, in the form that the instructions of `multimem_ref` require; each word has the bits of an
/// `__half2`.
struct alignas(16) packed_half8 {
  unsigned words[4];
};
/// Eight bfloat16 values in 16 bytes; each word has the bits of an `__nv_bfloat162`.
struct alignas(16) packed_bfloat8 {
  unsigned words[4];
};

namespace detail {

/// The type as spelled in the instructions for sums, for minima and maxima, and for bitwise operations. A spelling is empty if
/// PTX has no such operation.
template <class T>
struct multimem_type {
  static constexpr bool exists = false;
};
template <class T>
  requires(std::is_integral_v<T> && (sizeof(T) == 4 || sizeof(T) == 8) && !std::is_const_v<T>)
struct multimem_type<T> {
  static constexpr bool exists = true, orders = true, has_bits = true, widens = false;
  // clang-format off
  struct sum { static constexpr char text[4] = {sizeof(T) == 4 && std::is_signed_v<T> ? 's' : 'u', sizeof(T) == 4 ? '3' : '6', sizeof(T) == 4 ? '2' : '4', 0}; };
  struct order { static constexpr char text[4] = {std::is_signed_v<T> ? 's' : 'u', sizeof(T) == 4 ? '3' : '6', sizeof(T) == 4 ? '2' : '4', 0}; };
  struct bits { static constexpr char text[4] = {'b', sizeof(T) == 4 ? '3' : '6', sizeof(T) == 4 ? '2' : '4', 0}; };
  // clang-format on
};
struct multimem_float {
  static constexpr bool exists = true, orders = false, has_bits = false, widens = false;
};
// clang-format off
template <> struct multimem_type<float> : multimem_float { struct sum { static constexpr char text[] = "f32"; }; };
template <> struct multimem_type<double> : multimem_float { struct sum { static constexpr char text[] = "f64"; }; };
template <> struct multimem_type<float2> : multimem_float { struct sum { static constexpr char text[] = "v2.f32"; }; };
template <> struct multimem_type<float4> : multimem_float { struct sum { static constexpr char text[] = "v4.f32"; }; };
template <> struct multimem_type<packed_half8> {
  static constexpr bool exists = true, orders = true, has_bits = false, widens = true;
  struct sum { static constexpr char text[] = "v4.f16x2"; };
  using order = sum;
};
template <> struct multimem_type<packed_bfloat8> {
  static constexpr bool exists = true, orders = true, has_bits = false, widens = true;
  struct sum { static constexpr char text[] = "v4.bf16x2"; };
  using order = sum;
};

struct multimem_add { static constexpr char text[] = "add"; };
struct multimem_add_wide { static constexpr char text[] = "add.acc::f32"; };
struct multimem_min { static constexpr char text[] = "min"; };
struct multimem_max { static constexpr char text[] = "max"; };
struct multimem_and { static constexpr char text[] = "and"; };
struct multimem_or { static constexpr char text[] = "or"; };
struct multimem_xor { static constexpr char text[] = "xor"; };
// clang-format on

/// Holds a value of `Bytes` bytes in an instruction's registers.
template <std::size_t Bytes>
struct multimem_registers {
  unsigned words[Bytes / 4];
};

// multimem.red{.sem}{.scope}{.ss}.op{.vec}.type [a], b;  sem: relaxed, release (PTX ISA 8.1, sm_90; .v4.f16x2, .v4.bf16x2: 8.1)
template <class Order, class Scope, class Operation, class Type, class T>
__device__ inline void multimem_reduce(std::size_t address, const T& value) noexcept {
  const auto in = bits_as<multimem_registers<sizeof(T)>>(value);
  if constexpr (sizeof(T) == 4) {
    asm volatile("multimem.red.%2.%3.global.%4.%5 [%0], %1;" ::"l"(address), "r"(in.words[0]), "C"(Order::text),
                 "C"(Scope::text), "C"(Operation::text), "C"(Type::text)
                 : "memory");
  } else if constexpr (sizeof(T) == 8 && !std::is_same_v<T, float2>) {
    asm volatile("multimem.red.%2.%3.global.%4.%5 [%0], %1;" ::"l"(address), "l"(bits_as<unsigned long long>(value)),
                 "C"(Order::text), "C"(Scope::text), "C"(Operation::text), "C"(Type::text)
                 : "memory");
  } else if constexpr (sizeof(T) == 8) {
    asm volatile("multimem.red.%3.%4.global.%5.%6 [%0], {%1, %2};" ::"l"(address), "r"(in.words[0]), "r"(in.words[1]),
                 "C"(Order::text), "C"(Scope::text), "C"(Operation::text), "C"(Type::text)
                 : "memory");
  } else {
    asm volatile("multimem.red.%5.%6.global.%7.%8 [%0], {%1, %2, %3, %4};" ::"l"(address), "r"(in.words[0]), "r"(in.words[1]),
                 "r"(in.words[2]), "r"(in.words[3]), "C"(Order::text), "C"(Scope::text), "C"(Operation::text), "C"(Type::text)
                 : "memory");
  }
}

// multimem.st{.sem}{.scope}{.ss}{.vec}.type [a], b;  sem: relaxed, release (PTX ISA 8.1, sm_90)
template <class Order, class Scope, class T>
__device__ inline void multimem_store(std::size_t address, const T& value) noexcept {
  const auto in = bits_as<multimem_registers<sizeof(T)>>(value);
  if constexpr (sizeof(T) == 4) {
    asm volatile("multimem.st.%2.%3.global.b32 [%0], %1;" ::"l"(address), "r"(in.words[0]), "C"(Order::text), "C"(Scope::text)
                 : "memory");
  } else if constexpr (sizeof(T) == 8 && !std::is_same_v<T, float2>) {
    asm volatile("multimem.st.%2.%3.global.b64 [%0], %1;" ::"l"(address), "l"(bits_as<unsigned long long>(value)),
                 "C"(Order::text), "C"(Scope::text)
                 : "memory");
  } else if constexpr (sizeof(T) == 8) {
    asm volatile("multimem.st.%3.%4.global.v2.f32 [%0], {%1, %2};" ::"l"(address), "r"(in.words[0]), "r"(in.words[1]),
                 "C"(Order::text), "C"(Scope::text)
                 : "memory");
  } else {
    asm volatile("multimem.st.%5.%6.global.v4.f32 [%0], {%1, %2, %3, %4};" ::"l"(address), "r"(in.words[0]), "r"(in.words[1]),
                 "r"(in.words[2]), "r"(in.words[3]), "C"(Order::text), "C"(Scope::text)
                 : "memory");
  }
}

// multimem.ld_reduce{.sem}{.scope}{.ss}.op{.acc_prec}{.vec}.type d, [a];  sem: relaxed, acquire (PTX ISA 8.1, sm_90; .acc::f32 8.2)
template <class Order, class Scope, class Operation, class Type, class T>
[[nodiscard]] __device__ inline T multimem_load(std::size_t address) noexcept {
  if constexpr (sizeof(T) == 8 && !std::is_same_v<T, float2>) {
    unsigned long long word = 0;
    asm volatile("multimem.ld_reduce.%2.%3.global.%4.%5 %0, [%1];"
                 : "=l"(word)
                 : "l"(address), "C"(Order::text), "C"(Scope::text), "C"(Operation::text), "C"(Type::text)
                 : "memory");
    return bits_as<T>(word);
  } else {
    multimem_registers<sizeof(T)> out;
    if constexpr (sizeof(T) == 4) {
      asm volatile("multimem.ld_reduce.%2.%3.global.%4.%5 %0, [%1];"
                   : "=r"(out.words[0])
                   : "l"(address), "C"(Order::text), "C"(Scope::text), "C"(Operation::text), "C"(Type::text)
                   : "memory");
    } else if constexpr (sizeof(T) == 8) {
      asm volatile("multimem.ld_reduce.%3.%4.global.%5.%6 {%0, %1}, [%2];"
                   : "=r"(out.words[0]), "=r"(out.words[1])
                   : "l"(address), "C"(Order::text), "C"(Scope::text), "C"(Operation::text), "C"(Type::text)
                   : "memory");
    } else {
      asm volatile("multimem.ld_reduce.%5.%6.global.%7.%8 {%0, %1, %2, %3}, [%4];"
                   : "=r"(out.words[0]), "=r"(out.words[1]), "=r"(out.words[2]), "=r"(out.words[3])
                   : "l"(address), "C"(Order::text), "C"(Scope::text), "C"(Operation::text), "C"(Type::text)
                   : "memory");
    }
    return bits_as<T>(out);
  }
}

}  // namespace detail

/// One object in the memory of each of several devices, accessed through the address of a multicast object (a multimem
/// address). A store writes all objects, a reduction updates all of them, and a load returns the sum, the minimum, or another
/// reduction of all their values.
///
/// `T` can be a 32-bit or 64-bit integer; `float`, `double`, `float2` or `float4`, which support only sums; or `packed_half8`
/// or `packed_bfloat8`, whose sums are accumulated as floats and which support no bitwise operations. Each device's object is
/// accessed by a separate operation, and these operations are unordered: another thread may see the new value on one device and
/// the old value on another. The operation on one device's object, and on each element of a vector, is a single access.
///
/// Synchronizes at `Scope`, like the same operation of an `atomic_ref` on each device's object: a release store or reduction
/// synchronizes with an acquire operation that reads its value, and every release operation whose value an acquire load reads
/// synchronizes with that load. A multimem address is another virtual address of the objects, so accesses through it and
/// through the devices' own addresses are ordered only if `proxy_fence<proxy::alias>` is on the path between them (the litmus
/// tests `Alias.multimem.*`).
///
/// PTX: `multimem.st`, `multimem.red` and `multimem.ld_reduce` with `.{relaxed,acquire,release}.{cta,cluster,gpu,sys}.global`,
/// one instruction. Requires: compute capability 9.0, and the address of a multicast object; with any other address, the
/// behaviour is undefined. This class has been compiled and assembled, but has not been run. Source: PTX ISA,
/// "multimem.ld_reduce, multimem.st, multimem.red".
template <class T, thread_scope Scope>
class multimem_ref {
  static_assert(detail::multimem_type<T>::exists,
                "membar: a multimem address supports 32-bit and 64-bit integers, float, double, float2, float4, packed_half8 "
                "and packed_bfloat8: PTX has multimem operations only for these types");

 public:
  /// `address` is the address of a multicast object, aligned to the size of `T`.
  __device__ explicit multimem_ref(T* address) noexcept : address_(__cvta_generic_to_global(address)) { require_hopper(); }

  /// Stores to every device's object. The order is relaxed or release.
  __device__ void store(const T& value, auto order) const noexcept {
    if constexpr (writes_with<decltype(order)>()) {
      detail::multimem_store<order_text<decltype(order)>, scope_text>(address_, value);
    }
  }

  /// @name Updates of every device's object. The order is relaxed or release.
  /// @{
  __device__ void add(const T& value, auto order) const noexcept {
    if constexpr (writes_with<decltype(order)>()) {
      detail::multimem_reduce<order_text<decltype(order)>, scope_text, detail::multimem_add, typename type::sum>(address_,
                                                                                                                 value);
    }
  }
  __device__ void min(const T& value, auto order) const noexcept {
    if constexpr (writes_with<decltype(order)>() && has_order<decltype(order)>()) {
      detail::multimem_reduce<order_text<decltype(order)>, scope_text, detail::multimem_min, typename type::order>(address_,
                                                                                                                   value);
    }
  }
  __device__ void max(const T& value, auto order) const noexcept {
    if constexpr (writes_with<decltype(order)>() && has_order<decltype(order)>()) {
      detail::multimem_reduce<order_text<decltype(order)>, scope_text, detail::multimem_max, typename type::order>(address_,
                                                                                                                   value);
    }
  }
  __device__ void bit_and(const T& value, auto order) const noexcept {
    if constexpr (writes_with<decltype(order)>() && has_bits<decltype(order)>()) {
      detail::multimem_reduce<order_text<decltype(order)>, scope_text, detail::multimem_and, typename type::bits>(address_,
                                                                                                                  value);
    }
  }
  __device__ void bit_or(const T& value, auto order) const noexcept {
    if constexpr (writes_with<decltype(order)>() && has_bits<decltype(order)>()) {
      detail::multimem_reduce<order_text<decltype(order)>, scope_text, detail::multimem_or, typename type::bits>(address_,
                                                                                                                 value);
    }
  }
  __device__ void bit_xor(const T& value, auto order) const noexcept {
    if constexpr (writes_with<decltype(order)>() && has_bits<decltype(order)>()) {
      detail::multimem_reduce<order_text<decltype(order)>, scope_text, detail::multimem_xor, typename type::bits>(address_,
                                                                                                                  value);
    }
  }
  /// @}

  /// @name Reductions of the values of every device's object. The order is relaxed or acquire.
  /// @{
  [[nodiscard]] __device__ T load_sum(auto order) const noexcept {
    if constexpr (loads_with<decltype(order)>()) {
      using operation = std::conditional_t<type::widens, detail::multimem_add_wide, detail::multimem_add>;
      return detail::multimem_load<order_text<decltype(order)>, scope_text, operation, typename type::sum, T>(address_);
    } else {
      return T{};
    }
  }
  [[nodiscard]] __device__ T load_min(auto order) const noexcept {
    if constexpr (loads_with<decltype(order)>() && has_order<decltype(order)>()) {
      return detail::multimem_load<order_text<decltype(order)>, scope_text, detail::multimem_min, typename type::order, T>(
          address_);
    } else {
      return T{};
    }
  }
  [[nodiscard]] __device__ T load_max(auto order) const noexcept {
    if constexpr (loads_with<decltype(order)>() && has_order<decltype(order)>()) {
      return detail::multimem_load<order_text<decltype(order)>, scope_text, detail::multimem_max, typename type::order, T>(
          address_);
    } else {
      return T{};
    }
  }
  [[nodiscard]] __device__ T load_and(auto order) const noexcept {
    if constexpr (loads_with<decltype(order)>() && has_bits<decltype(order)>()) {
      return detail::multimem_load<order_text<decltype(order)>, scope_text, detail::multimem_and, typename type::bits, T>(
          address_);
    } else {
      return T{};
    }
  }
  [[nodiscard]] __device__ T load_or(auto order) const noexcept {
    if constexpr (loads_with<decltype(order)>() && has_bits<decltype(order)>()) {
      return detail::multimem_load<order_text<decltype(order)>, scope_text, detail::multimem_or, typename type::bits, T>(
          address_);
    } else {
      return T{};
    }
  }
  [[nodiscard]] __device__ T load_xor(auto order) const noexcept {
    if constexpr (loads_with<decltype(order)>() && has_bits<decltype(order)>()) {
      return detail::multimem_load<order_text<decltype(order)>, scope_text, detail::multimem_xor, typename type::bits, T>(
          address_);
    } else {
      return T{};
    }
  }
  /// @}

 private:
  using type = detail::multimem_type<T>;
  using scope_text = detail::ptx_scope<Scope>;
  template <class Order>
  using order_text = detail::ptx_order<Order::value>;

  // Each of these functions checks a rule and returns whether it holds, so that callers can avoid further error messages.
  template <class Order>
  [[nodiscard]] __device__ static constexpr bool writes_with() noexcept {
    static_assert(
        reduction_order<Order>,
        "membar: a store or reduction through a multimem address must be relaxed or release: it returns nothing that could be "
        "acquired, and PTX has no other order");
    return reduction_order<Order>;
  }
  template <class Order>
  [[nodiscard]] __device__ static constexpr bool loads_with() noexcept {
    constexpr bool kept = order_among<Order, memory_order::relaxed, memory_order::acquire>;
    static_assert(kept, "membar: a load through a multimem address must be relaxed or acquire: PTX has no other order");
    return kept;
  }
  template <class>
  [[nodiscard]] __device__ static constexpr bool has_order() noexcept {
    static_assert(type::orders, "membar: PTX has no multimem minimum or maximum for this type: only sums are possible");
    return type::orders;
  }
  template <class>
  [[nodiscard]] __device__ static constexpr bool has_bits() noexcept {
    static_assert(type::has_bits, "membar: PTX has no multimem bitwise operations for this type: use an integer type");
    return type::has_bits;
  }

  __device__ static constexpr void require_hopper() noexcept {
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ < 900
    static_assert(sizeof(T) == 0,
                  "membar: multimem addresses require compute capability 9.0: compile this code only for sm_90 or newer");
#endif
  }

  std::size_t address_;
};

}  // namespace v0_3
}  // namespace membar
