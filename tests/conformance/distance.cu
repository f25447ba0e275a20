// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
/// @file
/// Scopes and how far they reach: across synchronization domains, to other devices, and to the host through mapped memory.
/// Source: thread_scope.hpp; sync_domain.hpp; mapped_memory.hpp; examples/mailbox.cu.
#include "message_passing.cuh"

namespace conformance {
namespace distance_rows {

constexpr auto device = thread_scope::device;
constexpr auto everywhere = thread_scope::system;
using enum memory_order;

/// A release at system scope also publishes the writes that device scope has ordered within a domain or device, wherever the
/// last thread is.
template <where Where>
void add_carried_on(const adding& to) {
  using say = atomic_store<device, release>;
  using hear = atomic_load<device, acquire>;
  using pass_on = atomic_store<everywhere, release>;
  using receive = atomic_load<everywhere, acquire>;
  using set = atomic_store<everywhere, relaxed>;
  using look = atomic_load<everywhere, relaxed>;
  holds<two_hops<say, hear, pass_on, receive>, Where, two_hops<say, hear, set, look>,
        two_hops<atomic_store<device, relaxed>, atomic_load<device, relaxed>, set, look>>(to);
  if constexpr (Where != where::host_last) {
    holds<two_hops<say, hear, pass_on, receive>, Where, two_hops<say, hear, say, hear>>(to);
  }
}

/// Message passing between the device and the host through mapped memory. `Where` selects whether the host thread is the first or
/// the last one.
template <where Where, class... Tests>
void add_mailboxes(const adding& to) {
  (holds<Tests, Where, message_passing<atomic_store<everywhere, relaxed>, atomic_load<everywhere, relaxed>>>(to), ...);
}
template <class... Releases>
constexpr auto to_host = &add_mailboxes<where::host_last, message_passing<Releases, atomic_load<everywhere, acquire>>...>;
template <class... Acquires>
constexpr auto from_host = &add_mailboxes<where::host_first, message_passing<atomic_store<everywhere, release>, Acquires>...>;

void add(suite& all) {
  const adding domains{&all, "domains"};
  add_carried_on<where::two_domains>(domains);
  add_carried_on<where::two_devices>({&all, "devices"});

  const adding host{&all, "host"};
  add_carried_on<where::host_last>(host);
  to_host<atomic_store<everywhere, release>, atomic_store<everywhere, seq_cst>, ordered_store<everywhere, release>,
          ordered_store<everywhere, seq_cst>, fence_before_store<everywhere, release>, fence_before_store<everywhere, acq_rel>,
          fence_before_store<everywhere, seq_cst>>(host);
  from_host<atomic_load<everywhere, acquire>, atomic_load<everywhere, seq_cst>, ordered_load<everywhere, acquire>,
            ordered_load<everywhere, seq_cst>, atomic_wait<everywhere, acquire>, fence_after_load<everywhere, acquire>,
            fence_after_load<everywhere, acq_rel>, fence_after_load<everywhere, seq_cst>>(host);
  holds<store_buffering<atomic_store<everywhere, seq_cst>, atomic_load<everywhere, seq_cst>>, where::host_last,
        store_buffering<atomic_store<everywhere, release>, atomic_load<everywhere, acquire>>>(host);
  holds<coherent_reads<atomic_store<everywhere, relaxed>, atomic_load<everywhere, relaxed>>, where::host_first,
        coherent_reads<store_weak<>, load_weak<>>>(host);
}

const registered_family here("distance", &add);

}  // namespace distance_rows
}  // namespace conformance
