// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
/// @file
/// Relaxed updates and accesses at every scope: no write comes between the read and the write of an update, and a 16-byte
/// access is a single access. Source: atomic.cuh; load_store.cuh, "One access whatever the size"; aggregated.cuh.
#include "holds.cuh"

namespace conformance {
namespace atomicity_rows {

constexpr auto device = thread_scope::device;
constexpr auto relaxed = memory_order::relaxed;

template <thread_scope Scope>
void add_at(const adding& to) {
  using enum update_kind;
  using split = split_add<Scope>;
  using quads_apart = torn_read<store_halves<Scope>, load_halves<Scope>>;

  holds_within<Scope, lost_update<update<exchange, Scope, relaxed>>, lost_update<split>>(to);
  holds_within<Scope, lost_update<update<add, Scope, relaxed>>, lost_update<split>>(to);
  holds_within<Scope, lost_update<compare_exchange<Scope, relaxed, relaxed>>, lost_update<split>>(to);
  holds_within<Scope, lost_update<fetch_update<Scope, relaxed>>, lost_update<split>>(to);
  holds_within<Scope, lost_update<aggregated_fetch_add<Scope, relaxed>>, lost_update<split>>(to);
  holds_within<Scope, lost_reduction<reduction<add, Scope, relaxed>, reduction<add, Scope, relaxed>, 1>,
               lost_reduction<ignored<split>, ignored<split>, 1>>(to);
  holds_within<Scope, lost_reduction<add_to_byte<Scope, 0>, add_to_byte<Scope, 1>, 1>,
               lost_reduction<ignored<split>, ignored<split_add<Scope, 256>>, 1>>(to);

  holds_inside<Scope, torn_read<ordered_store<Scope, relaxed, 1, quad>, ordered_load<Scope, relaxed, quad>>, quads_apart>(to);
  holds_inside<Scope, torn_read<atomic_store<Scope, relaxed, 1, quad>, atomic_load<Scope, relaxed, quad>>, quads_apart>(to);
  holds_inside<Scope, torn_read<update<exchange, Scope, relaxed, 1, quad>, atomic_load<Scope, relaxed, quad>>, quads_apart>(to);
}

/// Updates of another type at device scope.
template <class T, update_kind... Kinds>
void add_type(const adding& to) {
  using split = split_add<device, 1, T>;
  (holds_within<device, lost_update<update<Kinds, device, relaxed, 1, T>, update<Kinds, device, relaxed, 2, T>>,
                lost_update<split>>(to),
   ...);
}

void add(suite& all) {
  const adding to{&all, "atomicity"};
  add_at<thread_scope::block>(to);
  add_at<thread_scope::cluster>(to);
  add_at<thread_scope::device>(to);
  add_at<thread_scope::system>(to);

  using enum update_kind;
  add_type<unsigned, bit_or, bit_xor, max>(to);
  add_type<unsigned char, exchange, update_kind::add>(to);
  add_type<unsigned short, exchange, update_kind::add>(to);
  add_type<unsigned long long, exchange, update_kind::add, max>(to);
  add_type<float, exchange, update_kind::add, max>(to);
  add_type<double, exchange, update_kind::add, max>(to);
  using quads_apart = torn_read<store_halves<device>, load_halves<device>>;
  holds_within<device, lost_update<update<exchange, device, relaxed, 1, quad>>, quads_apart>(to);
  holds_within<device, lost_update<compare_exchange<device, relaxed, relaxed, 0, 1, quad>>, quads_apart>(to);
  // A weak access of sixteen bytes is a vector access, and therefore not a single access.
  holds<torn_read<ordered_store<device, relaxed, 1, quad>, ordered_load<device, relaxed, quad>>, where::one_device,
        torn_read<store_vector, load_vector>>(to);
}

const registered_family here("atomicity", &add);

}  // namespace atomicity_rows
}  // namespace conformance
