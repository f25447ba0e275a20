// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
/// @file
/// The part of L2 that is set aside for persisting lines, as an object that holds it for a scope.
///
/// CUDA has one limit per device and process, which any code may overwrite. Here each part of a program holds what it needs,
/// and the limit is the sum of what is held. Persisting accesses have priority in the set-aside; normal and streaming accesses
/// can use it only while persisting accesses do not. Source: CUDA C++ Programming Guide, "L2 Cache Set-Aside for Persisting
/// Accesses".
#pragma once

#include <membar/device_guard.hpp>
#include <membar/error.hpp>
#include <membar/l2_facts.hpp>

#include <cstddef>
#include <new>

namespace membar {

namespace detail {

/// Throws unless the device can set lines aside, and, where MPS has fixed the limit, enough of them.
inline void validate_set_aside(std::size_t limit, const l2_facts& facts) {
  if (limit == 0) {
    return;
  }
  if (facts.max_set_aside == 0) {
    throw error(cudaErrorNotSupported, "membar: %zu bytes of L2 cannot be set aside on device %d: %s", limit, facts.device,
                why_no_set_aside(facts));
  }
  if (facts.mps && limit > facts.set_aside) {
    throw error(cudaErrorNotSupported,
                "membar: %zu bytes of L2 cannot be set aside on device %d: MPS fixed the limit at %zu when its server started: "
                "restart it with a larger CUDA_DEVICE_DEFAULT_PERSISTING_L2_CACHE_PERCENTAGE_LIMIT",
                limit, facts.device, facts.set_aside);
  }
}

/// What is held of one device.
struct set_aside_account {
  int device = 0;
  std::size_t holders = 0;
  std::size_t sum = 0;
  std::size_t found = 0;  ///< the limit before the first holder
  std::size_t largest = 0;
  bool fixed = false;  ///< by MPS: the limit cannot be set
  set_aside_account* next = nullptr;

  [[nodiscard]] constexpr std::size_t limit() const noexcept { return sum < largest ? sum : largest; }
};

/// One lock and one list of accounts for the program. A thread that finds the lock taken spins: setting a limit takes a while,
/// but is rare. The compilers' built-ins, because <atomic> and <mutex> cost more to include than this header.
inline bool set_aside_lock = false;
inline set_aside_account* set_aside_accounts = nullptr;

class set_aside_guard {
 public:
  set_aside_guard() noexcept {
    while (__atomic_test_and_set(&set_aside_lock, __ATOMIC_ACQUIRE)) {
    }
  }
  set_aside_guard(const set_aside_guard&) = delete;
  set_aside_guard& operator=(const set_aside_guard&) = delete;
  ~set_aside_guard() { __atomic_clear(&set_aside_lock, __ATOMIC_RELEASE); }
};

/// The account of `device`, made at its first use and kept until the program ends.
[[nodiscard]] inline set_aside_account& account_of(int device) {
  for (set_aside_account* account = set_aside_accounts; account != nullptr; account = account->next) {
    if (account->device == device) {
      return *account;
    }
  }
  auto* const account = new set_aside_account;
  account->device = device;
  account->next = set_aside_accounts;
  set_aside_accounts = account;
  return *account;
}

[[nodiscard]] inline cudaError_t set_set_aside(std::size_t bytes) noexcept {
  return cudaDeviceSetLimit(cudaLimitPersistingL2CacheSize, bytes);
}

}  // namespace detail

/// Sets `bytes` of the L2 of `device` aside for persisting lines, until it is destroyed.
///
/// While any holder lives, the device's limit is the sum of what is held, or the largest set-aside if that is less. When the
/// last holder is destroyed, also by an exception, the limit is what the first one found. Holders may nest, overlap and be made
/// by several threads. A limit that other code sets meanwhile is overwritten.
/// Errors: a device that sets nothing aside (a MIG instance, before compute capability 8.0), or a limit that MPS fixed below
/// the sum. The limit is then as it was. A restore that fails is reported to the handler of error.hpp.
class l2_set_aside {
 public:
  [[nodiscard("the set-aside ends when this object is destroyed: give it a name")]] l2_set_aside(int device, std::size_t bytes)
      : bytes_(bytes) {
    const detail::set_aside_guard guard;
    const l2_facts facts = l2_facts_of(device);
    detail::set_aside_account& account = detail::account_of(device);
    const bool first = account.holders == 0;
    detail::set_aside_account changed = account;
    changed.sum += bytes;
    changed.largest = facts.max_set_aside;
    changed.fixed = facts.mps;
    if (first) {
      changed.found = facts.set_aside;
    }
    detail::validate_set_aside(facts.max_set_aside == 0 ? bytes : changed.limit(), facts);
    if (!changed.fixed && changed.limit() != facts.set_aside) {
      const device_guard current(device);
      check(detail::set_set_aside(changed.limit()), "the set-aside of L2 is fixed, as it is under MPS");
    }
    ++changed.holders;
    account = changed;
    account_ = &account;
  }

  l2_set_aside(const l2_set_aside&) = delete;
  l2_set_aside& operator=(const l2_set_aside&) = delete;

  ~l2_set_aside() {
    const detail::set_aside_guard guard;
    account_->sum -= bytes_;
    const bool last = --account_->holders == 0;
    if (account_->fixed || account_->largest == 0) {
      return;
    }
    int previous = 0;
    cudaError_t status = cudaGetDevice(&previous);
    if (status == cudaSuccess && previous != account_->device) {
      status = cudaSetDevice(account_->device);
    }
    if (status == cudaSuccess) {
      status = detail::set_set_aside(last ? account_->found : account_->limit());
    }
    detail::report_failed_restore(status, "the set-aside of L2 was not put back and is still changed");
    if (previous != account_->device) {
      detail::report_failed_restore(cudaSetDevice(previous));
    }
  }

  [[nodiscard]] int device() const noexcept { return account_->device; }

  /// The bytes that this holder asked for.
  [[nodiscard]] std::size_t bytes() const noexcept { return bytes_; }

  /// The limit that all holders of the device have together.
  [[nodiscard]] std::size_t granted_together() const noexcept {
    const detail::set_aside_guard guard;
    return account_->limit();
  }

 private:
  std::size_t bytes_;
  detail::set_aside_account* account_ = nullptr;
};

}  // namespace membar
