// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
/// @file
/// The interface of a symmetric-memory backend, which the heap, the operations and the launcher use.
#pragma once

#include <membar/atomicity.hpp>
#include <membar/error.hpp>
#include <membar/symmetric/pe.hpp>
#include <membar/symmetric/reach.hpp>

#include <concepts>
#include <cstddef>
#include <type_traits>
#include <vector>

namespace membar {
inline namespace v0_3 {
namespace symmetric {

/// Memory that a backend maps on every PE and a heap manages. The memory has the same size and alignment on each PE, and is not
/// zeroed.
template <class Region, class Reach>
concept region = std::movable<Region> && requires(const Region& region, pe which) {
  { region.bytes() } -> std::same_as<std::size_t>;
  { region.base(which) } -> std::same_as<void*>;      // `which` is a PE of this process
  { region.reach_of(which) } -> std::same_as<Reach>;  // the reach of that PE
};

/// A backend. All processes must call its collective members in the same order.
///
/// * `visible`: the visibility class.
/// * `count()`, `local_pes()`: the number of PEs, and the PEs that this process launches kernels for.
/// * `device_of(which)`: the device of a PE of this process.
/// * `supports(use)`: whether an atomic operation is atomic between any two PEs and, if not, the reason.
/// * `all_gather(mine, all)`, collective: each process passes one number for each of its PEs and receives the numbers of all
///   PEs. It returns when all processes have called it, so it is also a barrier between the processes.
/// * `map(bytes)`, collective: creates a region.
/// * `complete()`, collective, optional: waits until all puts of kernels that have ended, on any PE, are complete at their
///   destinations. A backend does not need this function if a kernel's puts are complete when the kernel has ended.
/// * `gathers_by_kernels`, optional: if it is true, `all_gather` runs kernels on the device and may have to wait for other
///   kernels there.
/// * `base_from_here(which)`, an optional member of the region: this process's address for the memory of another process's PE,
///   for copies by the host.
template <class Backend>
concept backend = reach<typename Backend::reach> && region<typename Backend::region, typename Backend::reach> &&
                  requires(Backend& backend, const Backend& facts, pe which, std::size_t bytes, const atomic_use& use,
                           const unsigned long long* mine, unsigned long long* all) {
                    { Backend::visible } -> std::convertible_to<visibility>;
                    { facts.count() } -> std::same_as<int>;
                    { facts.local_pes() } -> std::same_as<pe_range>;
                    { facts.device_of(which) } -> std::same_as<int>;
                    { facts.supports(use) } -> std::same_as<atomicity>;
                    backend.all_gather(mine, all);
                    { backend.map(bytes) } -> std::same_as<typename Backend::region>;
                  };

/// The device part of a backend, which is passed to kernels.
template <backend Backend>
using reach_of = typename Backend::reach;

namespace detail {

/// Returns whether `use`, performed by `device` over `link` on the memory of `owner`, is atomic with respect to the same
/// operation performed by `owner`.
[[nodiscard]] inline atomicity atomicity_over(const atomic_link& link, int device, int owner, const atomic_use& use) {
  atomicity_facts pair;
  pair.owner = owner;
  pair.device.device = device;
  pair.device.to_owner = link;
  pair.with_peer = true;
  pair.peer.device = owner;
  return atomicity_of(pair, use);
}

/// Returns the values of all PEs, in PE order. Each process passes one value for all of its PEs. Collective.
template <class Backend>
[[nodiscard]] std::vector<unsigned long long> gathered(Backend& backend, unsigned long long value) {
  const std::vector<unsigned long long> mine(static_cast<std::size_t>(backend.local_pes().size()), value);
  std::vector<unsigned long long> all(static_cast<std::size_t>(backend.count()));
  backend.all_gather(mine.data(), all.data());
  return all;
}

/// The values that processes must agree on in a collective call.
enum class collective : unsigned char { heap_bytes, objects, object_bytes, alignment, placed, team, freed, closed, launched };

/// Returns the text that completes "PE 1 has ... 3".
[[nodiscard]] constexpr const char* name(collective what) noexcept {
  switch (what) {
    case collective::heap_bytes:
      return "a heap with a byte size of";
    case collective::objects:
      return "an allocation with an object count of";
    case collective::object_bytes:
      return "an allocation with an object size in bytes of";
    case collective::alignment:
      return "an alignment of";
    case collective::placed:
      return "an allocation at byte";
    case collective::team:
      return "the barrier of a team with hash";
    case collective::freed:
      return "freed allocation number";
    case collective::closed:
      return "closed a heap with a byte size of";
    case collective::launched:
      return "a collective launch with a block count of";
  }
  return "another call with";
}

/// Encodes the word that a process sends: the kind of call in the upper bits and its value in the lower bits. Without the kind,
/// values could be equal by accident, for example if one process frees its third allocation while another process allocates
/// three objects.
[[nodiscard]] constexpr unsigned long long tagged(collective what, unsigned long long value) noexcept {
  return value ^ (static_cast<unsigned long long>(what) + 1) << 56;
}

/// These two functions return the kind and the value, respectively, of the call that a received word represents.
[[nodiscard]] constexpr collective call_of(unsigned long long word) noexcept {
  return static_cast<collective>((word >> 56) - 1);
}
[[nodiscard]] constexpr unsigned long long value_of(unsigned long long word) noexcept { return word & ((1ULL << 56) - 1); }

/// Throws an error that shows the two different values, from PE `which` and from PE 0.
[[noreturn]] inline void refuse_difference(int which, unsigned long long theirs, unsigned long long of_0) {
  const bool other_call = call_of(theirs) != call_of(of_0);
  throw error(cudaErrorInvalidValue,
              "membar: a collective call differs between PEs: PE %d has %s %llu, but PE 0 has %s%s%llu: call it on every PE, "
              "in the same order and with the same arguments",
              which, name(call_of(theirs)), value_of(theirs), other_call ? name(call_of(of_0)) : "", other_call ? " " : "",
              value_of(of_0));
}

/// Throws `error` on every PE unless all processes pass the same value.
template <class Backend>
void agree(Backend& backend, collective what, unsigned long long value) {
  const auto all = gathered(backend, tagged(what, value));
  for (int i = 1; i < backend.count(); ++i) {
    if (const unsigned long long theirs = all[static_cast<std::size_t>(i)]; theirs != all[0]) {
      refuse_difference(i, theirs, all[0]);
    }
  }
}

/// Throws `error` on every PE if `what` failed on any PE.
template <class Backend>
void agree_on_success(Backend& backend, cudaError_t status, const char* what) {
  const auto all = gathered(backend, static_cast<unsigned long long>(status));
  for (int i = 0; i < backend.count(); ++i) {
    if (const auto code = static_cast<cudaError_t>(all[static_cast<std::size_t>(i)]); code != cudaSuccess) {
      throw error(code, "membar: %s failed on PE %d with %s (%s), so the call was undone on all PEs", what, i,
                  cudaGetErrorName(code), cudaGetErrorString(code));
    }
  }
}

}  // namespace detail
}  // namespace symmetric
}  // namespace v0_3
}  // namespace membar
