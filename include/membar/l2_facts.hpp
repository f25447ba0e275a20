// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
/// @file
/// Properties of a device's L2: its size, its limits, and whether a program can set aside part of it.
#pragma once

#include <membar/device_guard.hpp>
#include <membar/error.hpp>

#include <cstddef>

namespace membar {
inline namespace v0_3 {

/// The properties of a device's L2, in bytes. This is a plain value, so that checks that depend on it can be tested without the
/// hardware.
struct l2_facts {
  int device = 0;
  std::size_t l2_bytes = 0;
  /// The largest possible set-aside for persisting lines, or 0 if the device supports none.
  std::size_t max_set_aside = 0;
  /// The largest possible access-policy window, or 0 if the device supports none.
  std::size_t max_window = 0;
  /// The current set-aside: the device's limit for persisting lines.
  std::size_t set_aside = 0;
  /// Whether the device is a MIG instance, where CUDA disables the set-aside.
  bool mig = false;
  /// Whether the device is shared through MPS, whose server fixes the set-aside when it starts. False if the toolkit or driver
  /// is older than CUDA 12.3 and cannot report it.
  bool mps = false;
};

namespace detail {

[[nodiscard]] inline std::size_t size_attribute(cudaDeviceAttr which, int device) {
  int value = 0;
  check(cudaDeviceGetAttribute(&value, which, device), "pass the index of a device that exists");
  return static_cast<std::size_t>(value);
}

/// A MIG instance can be recognized only by its name: "NVIDIA A100-SXM4-40GB MIG 1g.5gb".
[[nodiscard]] constexpr bool names_a_mig_instance(const char* name) noexcept {
  for (; *name != '\0'; ++name) {
    if (name[0] == ' ' && name[1] == 'M' && name[2] == 'I' && name[3] == 'G' && name[4] == ' ') {
      return true;
    }
  }
  return false;
}

/// Returns the reason why the device cannot set L2 aside, as the end of a sentence.
[[nodiscard]] constexpr const char* why_no_set_aside(const l2_facts& facts) noexcept {
  if (facts.mig) {
    return "the device is a MIG instance, on which CUDA disables the set-aside: use the whole device, or leave the window out";
  }
  return "setting L2 aside for persisting lines requires compute capability 8.0: leave the window out";
}

}  // namespace detail

/// Returns the L2 properties of `device`. Each launch with a window calls this function, so it makes no slow calls if the
/// device supports a set-aside.
[[nodiscard]] inline l2_facts l2_facts_of(int device) {
  l2_facts facts;
  facts.device = device;
  facts.l2_bytes = detail::size_attribute(cudaDevAttrL2CacheSize, device);
  facts.max_set_aside = detail::size_attribute(cudaDevAttrMaxPersistingL2CacheSize, device);
  facts.max_window = detail::size_attribute(cudaDevAttrMaxAccessPolicyWindowSize, device);
  // Query the attribute only if the driver supports it: a failed call would replace CUDA's last error.
  int driver = 0;
  check(cudaDriverGetVersion(&driver), "check with nvidia-smi that the CUDA driver and the device work");
  facts.mps = driver >= 12030 && detail::size_attribute(cudaDevAttrMpsEnabled, device) != 0;
  if (facts.max_set_aside == 0) {
    cudaDeviceProp properties;
    check(cudaGetDeviceProperties(&properties, device), "pass the index of a device that exists");
    facts.mig = detail::names_a_mig_instance(properties.name);
    return facts;
  }
  const device_guard current(device);
  check(cudaDeviceGetLimit(&facts.set_aside, cudaLimitPersistingL2CacheSize),
        "check with nvidia-smi that the CUDA driver and the device work");
  return facts;
}

/// Returns the L2 properties of the calling thread's current device.
[[nodiscard]] inline l2_facts l2_facts_of_current_device() {
  int device = 0;
  check(cudaGetDevice(&device), "check with nvidia-smi that the CUDA driver and the device work");
  return l2_facts_of(device);
}

}  // namespace v0_3
}  // namespace membar
