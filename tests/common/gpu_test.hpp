// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
/// @file
/// Fixtures for tests that need a GPU. Without a GPU, the tests are skipped and report what is missing. With
/// MEMBAR_REQUIRE_GPU=1 (or MEMBAR_REQUIRE_MULTI_GPU=1) in the environment, they fail instead, so that skipped tests cannot
/// look like a pass on a machine with GPUs.
#pragma once

#include <cuda_runtime_api.h>
#include <gtest/gtest.h>

#include <membar/launch.hpp>
#include <membar/thread_scope.hpp>

#include <bench/common/cuda_handles.hpp>

#include <cstdlib>
#include <optional>
#include <source_location>
#include <stdexcept>
#include <string>
#include <string_view>
#include <tuple>
#include <type_traits>
#include <utility>
#include <vector>

namespace membar_test {

using membar::launch_config, membar::thread_scope;

/// Throws, with the location of the call, unless `status` is success. A test that throws fails.
inline void check(cudaError_t status, std::source_location where = std::source_location::current()) {
  if (status != cudaSuccess)
    throw std::runtime_error(std::string(where.file_name()) + ":" + std::to_string(where.line()) + ": " +
                             cudaGetErrorName(status) + ": " + cudaGetErrorString(status));
}

/// Waits for the device, and throws any error that its kernels have reported.
inline void finish(std::source_location where = std::source_location::current()) {
  check(cudaGetLastError(), where);
  check(cudaDeviceSynchronize(), where);
}

/// Waits for a device that need not be the current device.
inline void finish_on(int device, std::source_location where = std::source_location::current()) {
  const support::device_guard guard(device);
  finish(where);
}

/// Waits until the device has finished, and returns `count` objects at `from`.
template <class T>
[[nodiscard]] std::vector<std::remove_const_t<T>> copied(T* from, std::size_t count,
                                                         std::source_location where = std::source_location::current()) {
  finish(where);
  std::vector<std::remove_const_t<T>> to(count);
  check(cudaMemcpy(static_cast<void*>(to.data()), from, count * sizeof(T), cudaMemcpyDefault), where);
  return to;
}

/// Waits until the device has finished, and returns the contents of the memory that `from` owns.
template <class Memory>
[[nodiscard]] auto copied(const Memory& from, std::source_location where = std::source_location::current()) {
  return copied(from.get(), from.size(), where);
}

/// A copy of `values` in the current device's memory.
template <class T>
struct device_copy : support::device_memory<T> {
  explicit device_copy(const std::vector<T>& values) : support::device_memory<T>(values.size()) {
    check(cudaMemcpy(static_cast<void*>(this->get()), values.data(), values.size() * sizeof(T), cudaMemcpyDefault));
  }
};

/// Loads a kernel onto the current device now. If the first launch loaded it, the launch might wait for running kernels, which
/// in turn may wait for this kernel.
template <class... Parameters>
void load(void (*kernel)(Parameters...), std::source_location where = std::source_location::current()) {
  cudaFuncAttributes attributes{};
  check(cudaFuncGetAttributes(&attributes, reinterpret_cast<const void*>(kernel)), where);
}

/// Launches with `attribute` only if `condition` is true.
template <class Attribute, class... Parameters>
void launch_with_if(bool condition, const launch_config<>& config, const Attribute& attribute, void (*kernel)(Parameters...),
                    auto... arguments) {
  if (condition)
    membar::launch(config.with(attribute), kernel, arguments...);
  else
    membar::launch(config, kernel, arguments...);
}

[[nodiscard]] inline bool demanded(const char* variable) {
  const char* value = std::getenv(variable);
  return value != nullptr && std::string_view(value) == "1";
}

/// Returns the reason why a test cannot use a GPU, or `std::nullopt` if it can.
[[nodiscard]] inline std::optional<std::string> missing_gpu() {
  int count = 0;
  const cudaError_t status = cudaGetDeviceCount(&count);
  if (status != cudaSuccess) {
    static_cast<void>(cudaGetLastError());  // Otherwise the next call would report this error.
    return std::string("this test needs a GPU, but the CUDA runtime finds none: ") + cudaGetErrorString(status);
  }
  if (count == 0)
    return "this test needs a GPU, but the CUDA runtime finds none";
  return std::nullopt;
}

[[nodiscard]] inline int device_count() {
  int count = 0;
  check(cudaGetDeviceCount(&count));
  return count;
}

[[nodiscard]] inline int attribute_of(cudaDeviceAttr attribute, int device = 0) {
  int value = 0;
  check(cudaDeviceGetAttribute(&value, attribute, device));
  return value;
}

/// Returns whether two devices can read and write each other's memory.
[[nodiscard]] inline bool reach_each_other(int one, int other) {
  int forth = 0;
  int back = 0;
  check(cudaDeviceCanAccessPeer(&forth, one, other));
  check(cudaDeviceCanAccessPeer(&back, other, one));
  return forth != 0 && back != 0;
}

/// Returns the first two devices that can access each other's memory.
[[nodiscard]] inline std::optional<std::pair<int, int>> peers() {
  const int count = device_count();
  for (int a = 0; a < count; ++a)
    for (int b = a + 1; b < count; ++b)
      if (reach_each_other(a, b))
        return std::pair(a, b);
  return std::nullopt;
}

/// Returns whether there are at least `devices` devices, and whether each of the first `devices` can access the memory of every
/// other.
[[nodiscard]] inline bool all_reach_each_other(int devices) {
  if (device_count() < devices)
    return false;
  for (int a = 0; a != devices; ++a)
    for (int b = a + 1; b != devices; ++b)
      if (!reach_each_other(a, b))
        return false;
  return true;
}

/// Base class of every test that needs a GPU. The test runs on device 0. A test's other requirements are in its `prepare`.
class gpu_test : public ::testing::Test {
 protected:
  void SetUp() override {
    if (const auto missing = missing_gpu()) {
      if (demanded("MEMBAR_REQUIRE_GPU") || demanded("MEMBAR_REQUIRE_MULTI_GPU"))
        FAIL() << *missing;
      GTEST_SKIP() << *missing;
    }
    check(cudaSetDevice(0));
    prepare();
  }
  virtual void prepare() {}

  /// Returns whether device 0 has at least this compute capability.
  [[nodiscard]] static bool has_compute_capability(int major, int minor = 0) {
    return std::pair(attribute_of(cudaDevAttrComputeCapabilityMajor), attribute_of(cudaDevAttrComputeCapabilityMinor)) >=
           std::pair(major, minor);
  }

  /// For `prepare`: skips the test if the GPU lacks the compute capability that `what` requires.
  static void need_compute_capability(int major, const std::string& what) {
    if (!has_compute_capability(major))
      GTEST_SKIP() << "this test needs " << what << ", but the GPU has a compute capability below " << major << ".0";
  }
};

/// Base class of tests that need four synchronization domains in addition to the requirements of `Base`.
template <class Base>
class four_domains : public Base {
 protected:
  void prepare() override {
    Base::prepare();
    if (membar::sync_domain_count() < 4)
      GTEST_SKIP() << "this test needs 4 synchronization domains, but the GPU has " << membar::sync_domain_count();
  }
};

/// Base class of every test that needs two GPUs with peer access. The class enables the access between the GPUs `first` and
/// `second`. The test runs on `first`.
class multi_gpu_test : public gpu_test {
 protected:
  void prepare() override {
    const auto pair = peers();
    if (!pair) {
      constexpr auto missing = "this test needs two GPUs with peer access, but there is no such pair";
      if (demanded("MEMBAR_REQUIRE_MULTI_GPU"))
        FAIL() << missing;
      GTEST_SKIP() << missing;
    }
    std::tie(first, second) = *pair;
    enable_peer(second, first);
    enable_peer(first, second);
  }

  int first = 0;
  int second = 0;

 private:
  static void enable_peer(int device, int peer) {
    check(cudaSetDevice(device));
    const cudaError_t status = cudaDeviceEnablePeerAccess(peer, 0);
    if (status == cudaErrorPeerAccessAlreadyEnabled)
      static_cast<void>(cudaGetLastError());  // An earlier test in this process has already enabled it.
    else
      check(status);
  }
};

}  // namespace membar_test
