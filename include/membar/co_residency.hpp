// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
/// @file
/// Whether all blocks of a grid can be on the device at once. Blocks that wait for each other need that.
#pragma once

#include <membar/error.hpp>
#include <membar/launch.hpp>

#include <cstddef>
#include <type_traits>

namespace membar::inline v0_2 {

/// How many blocks of `kernel` the current device holds at once, if nothing else runs on it.
template <class... Parameters>
[[nodiscard]] unsigned co_resident_blocks(void (*kernel)(Parameters...), dim3 block, std::size_t dynamic_shared_bytes = 0) {
  int device = 0;
  int multiprocessors = 0;
  int blocks = 0;
  check(cudaGetDevice(&device), "a working CUDA driver and device are needed");
  check(cudaDeviceGetAttribute(&multiprocessors, cudaDevAttrMultiProcessorCount, device));
  check(cudaOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(&blocks, reinterpret_cast<const void*>(kernel),
                                                               static_cast<int>(block.x * block.y * block.z),
                                                               dynamic_shared_bytes, cudaOccupancyDefault),
        "check the block's extent and that the program was compiled "
        "for this device");
  return static_cast<unsigned>(multiprocessors) * static_cast<unsigned>(blocks);
}

/// Throws `error` if a grid of `blocks` is larger than the `co_resident` blocks that a device holds at once.
inline void validate_co_residency(unsigned long long blocks, unsigned co_resident) {
  if (blocks > co_resident) {
    throw error(
        cudaErrorCooperativeLaunchTooLarge,
        "membar: a grid of %llu blocks that wait for each other was asked for, but the device holds %u of them at once: "
        "launch at most that many, each doing more",
        blocks, co_resident);
  }
}

/// Launches a kernel whose blocks wait for each other: a cooperative launch, for which CUDA guarantees that all blocks are on
/// the device at once.
///
/// Errors: `error`, and nothing is launched, if the device does not hold the grid; and those of `launch`. Two things it does not
/// see: a kernel that never ends delays the launch forever, and grids of several devices that wait for each other must all be
/// launched before the host waits for any.
template <class... Attributes, class... Parameters>
void launch_co_resident(const launch_config<Attributes...>& config, void (*kernel)(Parameters...),
                        std::type_identity_t<detail::lossless_argument<Parameters>>... arguments) {
  const dim3 grid = config.grid();
  cudaLaunchConfig_t shape{};
  shape.dynamicSmemBytes = config.dynamic_shared_bytes();
  detail::allow<Attributes...>(reinterpret_cast<const void*>(kernel), shape);  // else no block with so much shared memory fits
  validate_co_residency(static_cast<unsigned long long>(grid.x) * grid.y * grid.z,
                        co_resident_blocks(kernel, config.block(), config.dynamic_shared_bytes()));
  launch(config.with(cooperative{}), kernel, arguments...);
}

/// No launch: it is here so that the compiler says in a sentence what is missing.
template <class... Attributes, class... Parameters, class... Arguments>
  requires(sizeof...(Arguments) != sizeof...(Parameters))
void launch_co_resident(const launch_config<Attributes...>&, void (*)(Parameters...), Arguments&&...) {
  static_assert(sizeof...(Arguments) == sizeof...(Parameters), "membar: a launch passes one argument per kernel parameter");
}

}  // namespace membar::inline v0_2
