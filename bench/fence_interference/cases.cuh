// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
/// @file
/// The victims, the kinds of noise, and the combinations that are measured by default.
#pragma once

#include "victims.cuh"

#include <membar/memory_order.hpp>
#include <membar/thread_scope.hpp>

#include <string>
#include <string_view>
#include <vector>

namespace fence_interference {

using membar::thread_scope;

/// Whether a chain's stream shares a hardware queue with NCCL's stream. Streams are assigned to the device's hardware queues
/// in turn. If the work at the head of a queue cannot start yet, the other streams in that queue wait, equally in every variant.
enum class queue { own, shared };

/// A victim and its name; `kernel` is null for a chain of kernels.
struct victim_description {
  std::string name;
  operation_victim::kernel_pointer kernel = nullptr;
  sm_placement placement = sm_placement::own_sm;
  thread_scope scope = thread_scope::device;
  kernel_boundary::chain_form form = kernel_boundary::chain_form::stream;
  queue chain_queue = queue::own;
};

template <class Operation>
void add_operation(std::vector<victim_description>& victims, const std::string& name, thread_scope scope) {
  victims.push_back({name + ".own_sm", timed_operation<Operation>, sm_placement::own_sm, scope});
  victims.push_back({name + ".shared_sm", timed_operation<Operation>, sm_placement::shared_sm, scope});
}

template <thread_scope Scope>
void add_fences(std::vector<victim_description>& victims) {
  const std::string name = std::string("fence.") + membar::name(Scope);
  add_operation<fence_operation<Scope, membar::acq_rel_t>>(victims, name + ".acq_rel", Scope);
  add_operation<fence_operation<Scope, membar::seq_cst_t>>(victims, name + ".seq_cst", Scope);
}

template <thread_scope Scope>
void add_accesses(std::vector<victim_description>& victims) {
  add_operation<release_store_operation<Scope>>(victims, std::string("release_store.") + membar::name(Scope), Scope);
  add_operation<acquire_load_operation<Scope>>(victims, std::string("acquire_load.") + membar::name(Scope), Scope);
}

inline std::vector<victim_description> all_victims() {
  std::vector<victim_description> victims;
  victims.push_back({.name = "kernel_boundary.stream", .form = kernel_boundary::chain_form::stream});
  victims.push_back({.name = "kernel_boundary.graph", .form = kernel_boundary::chain_form::graph});
  victims.push_back({.name = "kernel_boundary.shared_queue", .chain_queue = queue::shared});
  add_fences<thread_scope::block>(victims);
  add_fences<thread_scope::cluster>(victims);
  add_fences<thread_scope::device>(victims);
  add_fences<thread_scope::system>(victims);
  add_accesses<thread_scope::device>(victims);
  add_accesses<thread_scope::system>(victims);
  return victims;
}

inline constexpr std::string_view all_noises[] = {
    "spin",         "local.saturating",       "local.paced",       "host.saturating", "host.paced", "nvlink.saturating",
    "nvlink.paced", "nvlink_both.saturating", "nvlink_both.paced", "nccl.saturating", "nccl.paced"};

inline bool starts_with(std::string_view text, std::string_view start) { return text.substr(0, start.size()) == start; }

/// Returns whether a case runs without `--all`: every arm for the kernel boundary and for the device fence that shares a
/// multiprocessor; for the other victims, the two decisive arms with the relevant noises. On a machine without a peer, the host
/// is the only remote memory.
inline bool in_default_set(const victim_description& victim, std::string_view noise, std::string_view arm_name, bool has_peer) {
  if (victim.kernel == nullptr) {
    return victim.chain_queue == queue::own || arm_name == "same" || arm_name == "separate";
  }
  const bool saturating = noise.ends_with("saturating");
  if (victim.name == "fence.device.acq_rel.shared_sm") {
    return saturating || !starts_with(noise, "nccl");
  }
  if (arm_name != "same" && arm_name != "separate") {
    return false;
  }
  if (starts_with(noise, "nccl")) {  // Fences of each scope during the traffic of a real library.
    return saturating && victim.name.find("acq_rel") != std::string::npos;
  }
  const std::string_view far = has_peer ? "nvlink" : "host";
  // A block-scope fence has nothing to wait for. Paced traffic shows this best, because the link then has spare capacity.
  return (starts_with(noise, far) && (saturating || (victim.scope != thread_scope::cluster && noise != "nvlink_both.paced"))) ||
         ((victim.scope == thread_scope::system || victim.scope == thread_scope::block) && noise == "host.saturating");
}

}  // namespace fence_interference
