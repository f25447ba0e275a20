// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
/// @file
/// The model's rules, identified by name, and sets of rules.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>

namespace membar {
inline namespace v0_3 {
namespace model {

/// The rules of the model. Each rule can be switched off, to determine which rule forbids an outcome and which rules a test
/// covers.
enum class rule : std::uint8_t {
  // scope inclusion
  block_scope_is_the_block,
  cluster_scope_is_the_cluster,
  device_scope_is_the_device,
  device_scope_is_the_domain,
  host_is_in_system_scope_only,
  inclusion_is_mutual,
  // morally strong
  weak_is_not_strong,
  program_order_is_morally_strong,
  same_proxy,
  complete_overlap,
  // observation
  observation_is_morally_strong,
  observation_through_updates,
  // patterns and synchronizes-with
  release_write,
  release_write_then_write,
  release_fence,
  acquire_read,
  read_then_acquire_read,
  acquire_fence,
  reduction_acquires_nothing,
  acquire_fence_is_no_release,
  release_fence_is_no_acquire,
  sc_fence_is_a_release_and_an_acquire,
  ends_are_morally_strong,
  release_acquire_synchronizes,
  fence_sc_synchronizes,
  fence_sc_relates_morally_strong_pairs_only,
  block_barrier_synchronizes,
  arrival_receives_nothing,
  barrier_is_of_one_block,
  warp_barrier_synchronizes,
  cluster_barrier_synchronizes,
  relaxed_arrival_releases_nothing,
  fence_synchronizes_through_barrier,
  mbarrier_synchronizes,
  use_before_initialization_is_undefined,
  initialization_fence_releases,
  initialization_fence_is_for_initializations_only,
  completion_needs_no_proxy_fence_after_initialization,
  api_order_synchronizes,
  kernel_boundary_joins_the_read_only_path,
  waiting_ends,
  // asynchronous operations
  asynchronous_operations_leave_program_order,
  completion_orders_its_own_operation_only,
  completion_on_an_mbarrier_synchronizes,
  transactions_hold_a_phase_open,
  parity_is_of_every_second_phase,
  group_wait_synchronizes,
  read_wait_is_for_sources_only,
  newest_groups_may_be_pending,
  completion_is_a_proxy_fence,
  proxy_fence_is_of_its_state_space,
  one_way_proxy_fences_order,
  one_way_proxy_fences_come_in_pairs,
  one_way_proxy_fences_synchronize,
  one_way_proxy_fences_have_one_direction,
  tensor_map_acquire_is_of_its_address,
  completion_ends_the_reading_of_a_tensor_map,
  dependency_wait_synchronizes,
  kernel_boundary_joins_the_async_proxy,
  // causality
  base_includes_program_order,
  generic_accesses,
  same_proxy_in_one_block,
  proxies_are_apart,
  addresses_are_apart,
  alias_fence,
  multimem_addresses_are_aliases,
  multimem_operations_are_in_no_order,
  proxy_fence_after_the_source,
  proxy_fence_before_the_destination,
  proxy_fence_in_the_block,
  observation_precedes,
  // coherence
  initial_write_is_first,
  cause_orders_writes,
  morally_strong_writes_are_ordered,
  coherence_is_transitive,
  coherence_is_partial,
  // axioms
  axiom_fence_sc,
  axiom_atomicity,
  atomics_of_any_size_are_serial,
  axiom_no_thin_air,
  axiom_sc_per_location,
  axiom_causality_reads_from,
  axiom_causality_from_reads,
  // dependencies
  address_dependency,
  data_dependency,
  control_dependency,
  update_depends_on_its_read,
  predicate_dependency,
  shuffle_dependency,
  // // effects of instructions
  failed_compare_writes_nothing,
  load_buffering_is_allowed,
  count
};

namespace detail {
/// Returns the enumerator's name, extracted from the compiler's name of this function: "... One =
/// membar::model::rule::alias_fence ...".
template <rule One>
[[nodiscard]] constexpr std::string_view enumerator_name() noexcept {
  constexpr std::string_view prefix = "rule::";
  std::string_view text = __PRETTY_FUNCTION__;
  text.remove_prefix(text.rfind(prefix) + prefix.size());
  return text.substr(0, text.find_first_of(";],"));
}

template <std::size_t... Number>
[[nodiscard]] constexpr auto enumerator_names(std::index_sequence<Number...>) noexcept {
  return std::array<std::string_view, sizeof...(Number)>{enumerator_name<static_cast<rule>(Number)>()...};
}
}  // namespace detail

/// Returns the rule's name in words: its enumerator with spaces.
[[nodiscard]] inline std::string name(rule one) {
  static constexpr auto names = detail::enumerator_names(std::make_index_sequence<static_cast<std::size_t>(rule::count)>{});
  std::string words(one < rule::count ? names[static_cast<std::size_t>(one)] : "no rule");
  std::replace(words.begin(), words.end(), '_', ' ');
  return words;
}

/// An ambiguity in the PTX ISA, named after the alternative reading unless that reading is simply the absence of a rule.
/// docs/readings.md quotes the text, describes both readings, and states which of them the model uses.
enum class reading : std::uint8_t {
  group_wait_for_one_thread,   ///< a wait for bulk groups orders the copies only before later events of its own thread
  fence_of_another_block,      ///< `fence.proxy.async` may be in a different block from the copy
  copies_of_two_blocks,        ///< copies by two blocks need no proxy fence between them
  maps_at_kernel_start,        ///< the start of a kernel acquires tensor maps
  fence_before_complete_tx,    ///< a release fence releases through `mbarrier.complete_tx`
  multimem_flags,              ///< accesses to a flag through its multimem address and its own address can be morally strong
  whole_updates_are_observed,  ///< an event that observes the write of an update also follows the read of that update
  cluster_scope_of_mbarriers,  ///< arrivals and waits that name no scope have cluster scope
  count
};

/// All rules, which together form the model. This set is known at compile time.
struct every_rule {
  static constexpr bool complete = true;
  [[nodiscard]] static constexpr bool holds(rule) noexcept { return true; }
  [[nodiscard]] static constexpr bool takes(reading) noexcept { return false; }
};

/// All rules except those excluded at run time.
class every_rule_but {
 public:
  static constexpr bool complete = false;
  constexpr every_rule_but() = default;
  constexpr every_rule_but(every_rule) noexcept {}  // NOLINT: every rule, without exceptions
  constexpr explicit every_rule_but(rule one) noexcept { drop(one); }
  [[nodiscard]] constexpr bool holds(rule one) const noexcept { return !dropped_[static_cast<std::size_t>(one)]; }
  constexpr void drop(rule one) noexcept { dropped_[static_cast<std::size_t>(one)] = true; }
  constexpr void keep(rule one) noexcept { dropped_[static_cast<std::size_t>(one)] = false; }
  /// Returns whether this set uses the alternative of a reading.
  [[nodiscard]] constexpr bool takes(reading one) const noexcept { return taken_[static_cast<std::size_t>(one)]; }
  constexpr void take(reading one) noexcept { taken_[static_cast<std::size_t>(one)] = true; }

 private:
  std::array<bool, static_cast<std::size_t>(reading::count)> taken_{};
  std::array<bool, static_cast<std::size_t>(rule::count)> dropped_{};
};

/// Returns the whole model, with the alternatives of the given readings.
struct other_readings : every_rule_but {
  static constexpr bool complete = true;
};

}  // namespace model
}  // namespace v0_3
}  // namespace membar
