// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
/// @file
/// Every operation and every width at device scope. The order is the same whether the operation compiles to an instruction, to
/// the integer form of a floating-point operation, or to a loop. Source: atomic.cuh; docs/headers/atomic.md, "Types".
#include "message_passing.cuh"

#include <cuda_fp16.h>

namespace conformance {

/// 0, 1 and 2 as bit patterns, because not every host compiler can compare half-precision numbers.
template <>
struct number<__half> {
  static constexpr int parts = 1;
  [[nodiscard]] MEMBAR_HOST_DEVICE static __half of(int n) noexcept {
    return __ushort_as_half(static_cast<unsigned short>(n == 0 ? 0 : 0x3800 + 0x400 * n));
  }
  [[nodiscard]] MEMBAR_HOST_DEVICE static unsigned digits(__half value) noexcept {
    const unsigned short bits = __half_as_ushort(value);
    return bits == 0 ? 0 : bits == 0x3c00 ? 1 : bits == 0x4000 ? 2 : no_number;
  }
};
template <>
[[nodiscard]] inline std::string type_name<__half>() {
  return "half";
}

namespace types_rows {

using enum memory_order;
constexpr auto device = thread_scope::device;

/// Loads, stores, exchanges, compare-and-swaps and updates of a `T`.
template <class T>
void add_type(const adding& to) {
  holds_within<device, message_passing<atomic_store<device, release, 1, T>, atomic_load<device, acquire, T>>,
               message_passing<atomic_store<device, relaxed, 1, T>, atomic_load<device, relaxed, T>>>(to);
  holds_within<device, message_passing<ordered_store<device, release, 1, T>, ordered_load<device, acquire, T>>,
               message_passing<ordered_store<device, relaxed, 1, T>, ordered_load<device, relaxed, T>>>(to);
  holds_within<device,
               message_passing<update<update_kind::exchange, device, release, 1, T>,
                               update<update_kind::exchange, device, acquire, 0, T>>,
               message_passing<update<update_kind::exchange, device, relaxed, 1, T>,
                               update<update_kind::exchange, device, relaxed, 0, T>>>(to);
  holds_within<
      device,
      message_passing<compare_exchange<device, release, relaxed, 0, 1, T>, compare_exchange<device, acquire, relaxed, 1, 1, T>>,
      message_passing<compare_exchange<device, relaxed, relaxed, 0, 1, T>,
                      compare_exchange<device, relaxed, relaxed, 1, 1, T>>>(to);
  holds_within<device, message_passing<fetch_update<device, release, 1, T>, atomic_load<device, acquire, T>>,
               message_passing<fetch_update<device, relaxed, 1, T>, atomic_load<device, relaxed, T>>>(to);
}

/// After `Before`, the writer's operation changes the value to 1; the reader applies the same operation in a way that does not
/// change the value.
template <update_kind Kind, int One, int Nothing, class T = unsigned, class Before = void>
void add_update(const adding& to) {
  using set = after<ignored<update<Kind, device, release, One, T>>, Before>;
  using unordered_set = after<ignored<update<Kind, device, relaxed, One, T>>, Before>;
  holds_within<device, message_passing<set, update<Kind, device, acquire, Nothing, T>>,
               message_passing<unordered_set, update<Kind, device, relaxed, Nothing, T>>>(to);
}

template <update_kind Kind, int One, class T = unsigned, class Before = void>
void add_reduction(const adding& to) {
  using set = after<reduction<Kind, device, release, One, T>, Before>;
  using unordered_set = after<reduction<Kind, device, relaxed, One, T>, Before>;
  holds_within<device, message_passing<set, atomic_load<device, acquire, T>>,
               message_passing<unordered_set, atomic_load<device, relaxed, T>>>(to);
}

void add(suite& all) {
  const adding to{&all, "types"};
  add_type<unsigned char>(to);
  add_type<unsigned short>(to);
  add_type<unsigned long long>(to);
  add_type<float>(to);
  add_type<double>(to);
  add_type<quad>(to);
  add_type<__half>(to);

  using enum update_kind;
  using before = atomic_store<device, relaxed, 2>;
  add_update<sub, -1, 0>(to);
  add_update<bit_and, 1, 3, unsigned, atomic_store<device, relaxed, 3>>(to);
  add_update<bit_or, 1, 0>(to);
  add_update<bit_xor, 1, 0>(to);
  add_update<min, 1, 2, unsigned, before>(to);
  add_update<max, 1, 0>(to);
  add_update<inc, 5, 5>(to);
  add_update<dec, 1, 5>(to);
  add_update<add, 1, 0, unsigned char>(to);
  add_update<add, 1, 0, unsigned short>(to);
  add_update<add, 1, 0, unsigned long long>(to);
  add_update<inc, 5, 5, unsigned long long>(to);
  add_update<add, 1, 0, float>(to);
  add_update<max, 1, 0, float>(to);
  add_update<min, 1, 2, float, atomic_store<device, relaxed, 2, float>>(to);
  add_update<max, 1, 0, double>(to);
  add_update<add, 1, 0, __half>(to);

  add_reduction<sub, -1>(to);
  add_reduction<bit_and, 1, unsigned, atomic_store<device, relaxed, 3>>(to);
  add_reduction<bit_or, 1>(to);
  add_reduction<bit_xor, 1>(to);
  add_reduction<min, 1, unsigned, before>(to);
  add_reduction<max, 1>(to);
  add_reduction<inc, 5>(to);
  add_reduction<dec, 1>(to);
  add_reduction<add, 1, unsigned char>(to);
  add_reduction<add, 1, unsigned long long>(to);
  add_reduction<add, 1, float>(to);
  add_reduction<add, 1, __half>(to);
  add_reduction<max, 1, float>(to);
  add_reduction<max, 1, double>(to);

  // Cache hints do not change the memory order.
  using no_allocate = std::remove_const_t<decltype(membar::l1::no_allocate)>;
  holds_within<device,
               message_passing<ordered_store<device, release, 1, unsigned, no_allocate>,
                               ordered_load<device, acquire, unsigned, no_allocate>>,
               message_passing<ordered_store<device, relaxed, 1, unsigned, no_allocate>,
                               ordered_load<device, relaxed, unsigned, no_allocate>>>(to);
}

const registered_family here("types", &add);

}  // namespace types_rows
}  // namespace conformance
