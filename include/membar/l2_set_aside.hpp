// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
/// @file
/// The part of L2 that is set aside for persisting lines, as an object that reserves it within a scope.
///
/// CUDA has one limit per device and process, which any code may overwrite. With this class, each part of a program reserves
/// what it needs, and the limit is the sum of all reservations. All libraries of a process share one account, even libraries
/// that hide their symbols. Persisting accesses have priority in the set-aside; normal and streaming accesses can use it only
/// if persisting accesses do not. Source: CUDA C++ Programming Guide, "L2 Cache Set-Aside for Persisting Accesses".
#pragma once

#include <membar/base/process_state.hpp>
#include <membar/device_guard.hpp>
#include <membar/error.hpp>
#include <membar/l2_facts.hpp>

#include <pthread.h>

#include <cstddef>
#include <new>

namespace membar {
inline namespace v0_3 {

namespace detail {

/// Throws if the device cannot set aside part of L2, or if MPS has fixed a limit that is too small.
inline void validate_set_aside(std::size_t limit, const l2_facts& facts) {
  if (limit == 0) {
    return;
  }
  if (facts.max_set_aside == 0) {
    throw error(cudaErrorNotSupported, "membar: %zu bytes of L2 cannot be set aside on device %d, because %s", limit,
                facts.device, why_no_set_aside(facts));
  }
  if (facts.mps && limit > facts.set_aside) {
    throw error(
        cudaErrorNotSupported,
        "membar: %zu bytes of L2 cannot be set aside on device %d, because MPS fixed the limit at %zu bytes when its server "
        "started: restart the server with a larger CUDA_DEVICE_DEFAULT_PERSISTING_L2_CACHE_PERCENTAGE_LIMIT",
        limit, facts.device, facts.set_aside);
  }
}

/// Returns the limit that an account's requests require.
[[nodiscard]] constexpr std::size_t limit_of(const membar_l2_account_v1& account) noexcept {
  return account.sum < account.largest ? account.sum : account.largest;
}

/// The lock that protects all accounts and the limits that they represent. A thread that finds it locked sleeps. Code that
/// holds the lock must not call the handler for failed restores, because the handler may use set-asides itself. This is not a
/// std::mutex, because including <mutex> would cost more compile time than this header.
class l2_accounts_guard {
 public:
  l2_accounts_guard() noexcept { pthread_mutex_lock(&membar_process_l2_accounts_v1.lock); }
  l2_accounts_guard(const l2_accounts_guard&) = delete;
  l2_accounts_guard& operator=(const l2_accounts_guard&) = delete;
  ~l2_accounts_guard() { pthread_mutex_unlock(&membar_process_l2_accounts_v1.lock); }
};

/// Returns the account of `device`. The caller must hold the lock.
[[nodiscard]] inline membar_l2_account_v1& account_of(int device) {
  for (membar_l2_account_v1* account = membar_process_l2_accounts_v1.first; account != nullptr; account = account->next) {
    if (account->device == device) {
      return *account;
    }
  }
  auto* const account = new membar_l2_account_v1{};
  account->device = device;
  account->next = membar_process_l2_accounts_v1.first;
  membar_process_l2_accounts_v1.first = account;
  return *account;
}

[[nodiscard]] inline cudaError_t set_set_aside(std::size_t bytes) noexcept {
  return cudaDeviceSetLimit(cudaLimitPersistingL2CacheSize, bytes);
}

}  // namespace detail

/// Sets aside `bytes` of the L2 of `device` for persisting lines, for the lifetime of the object.
///
/// While any such object exists, the device's limit is the sum of all requests, or the largest possible set-aside if that is
/// smaller. When the last object is destroyed, even by an exception, the limit returns to its value before the first object was
/// created. The objects may nest and overlap, and may be created by several threads and libraries. A limit that other code sets
/// in the meantime is overwritten. Errors: the device cannot set L2 aside (it is a MIG instance, or its compute capability is
/// below 8.0), or MPS has fixed the limit at a value below the sum. The limit is then unchanged. A failed restore is reported
/// to the handler of error.hpp.
class l2_set_aside {
 public:
  [[nodiscard("destroying this object ends the set-aside: give the object a name")]] l2_set_aside(int device, std::size_t bytes)
      : bytes_(bytes) {
    const device_guard current(device);  // outlives the lock, because it may report a failed restore
    const detail::l2_accounts_guard lock;
    const l2_facts facts = l2_facts_of(device);
    membar_l2_account_v1& account = detail::account_of(device);
    // A request above the maximum counts as the maximum: the limit is the same, and the sum does not overflow.
    counted_ = bytes < facts.max_set_aside ? bytes : facts.max_set_aside;
    membar_l2_account_v1 changed = account;
    changed.sum += counted_;
    changed.largest = facts.max_set_aside;
    if (changed.holders++ == 0) {
      changed.found = facts.set_aside;
    }
    const std::size_t limit = detail::limit_of(changed);
    detail::validate_set_aside(facts.max_set_aside == 0 ? bytes : limit, facts);
    puts_back_ = !facts.mps && facts.max_set_aside != 0;
    if (puts_back_ && limit != facts.set_aside) {
      check(detail::set_set_aside(limit),
            "the L2 set-aside cannot be changed; under MPS, set CUDA_DEVICE_DEFAULT_PERSISTING_L2_CACHE_PERCENTAGE_LIMIT "
            "before the server starts");
    }
    account = changed;
    account_ = &account;
  }

  l2_set_aside(const l2_set_aside&) = delete;
  l2_set_aside& operator=(const l2_set_aside&) = delete;

  ~l2_set_aside() {
    if (!puts_back_) {
      static_cast<void>(end(false));
      return;
    }
    const detail::device_switch current(account_->device);  // outlives the lock, because it may report a failed restore
    const cudaError_t status = end(current.status() == cudaSuccess);
    detail::report_failed_restore(current.status() == cudaSuccess ? status : current.status(),
                                  "the L2 set-aside could not be restored to its previous size");
  }

  [[nodiscard]] int device() const noexcept { return account_->device; }

  /// Returns the bytes that this object requested.
  [[nodiscard]] std::size_t bytes() const noexcept { return bytes_; }

  /// Returns the limit for all requests on the device together.
  [[nodiscard]] std::size_t granted_together() const noexcept {
    const detail::l2_accounts_guard lock;
    return detail::limit_of(*account_);
  }

 private:
  /// Removes this request from the account and sets the limit that the remaining requests require.
  [[nodiscard]] cudaError_t end(bool set) noexcept {
    const detail::l2_accounts_guard lock;
    account_->sum -= counted_;
    const bool last = --account_->holders == 0;
    return set ? detail::set_set_aside(last ? account_->found : detail::limit_of(*account_)) : cudaSuccess;
  }

  std::size_t bytes_;
  std::size_t counted_ = 0;
  bool puts_back_ = false;  ///< whether the limit can be set, and must be restored
  membar_l2_account_v1* account_ = nullptr;
};

}  // namespace v0_3
}  // namespace membar
