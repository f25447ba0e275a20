// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
/// @file
/// Checks whether all blocks of a grid can be resident on the device at the same time. Blocks that wait for each other require
/// this.
#pragma once

#include <membar/error.hpp>
#include <membar/launch.hpp>
#include <membar/launch_attribute.hpp>

#include <cstddef>
#include <type_traits>

namespace membar {
inline namespace v0_3 {

/// Returns how many blocks of `kernel` the current device can hold at the same time, if nothing else is running on it. For
/// clusters of more than one block, only whole clusters count. The cluster size is the size that the kernel was compiled for,
/// or `cluster` if it was compiled for none.
template <class... Parameters>
[[nodiscard]] unsigned co_resident_blocks(void (*kernel)(Parameters...), dim3 block, std::size_t dynamic_shared_bytes = 0,
                                          cluster_dimensions cluster = {1, 1, 1}) {
  constexpr const char* remedy = "check the block's dimensions, and check that the program was compiled for this device";
  const auto* const address = reinterpret_cast<const void*>(kernel);
  cudaFuncAttributes compiled{};
  check(cudaFuncGetAttributes(&compiled, address), remedy);
  if (compiled.requiredClusterWidth > 0) {
    cluster = {static_cast<unsigned>(compiled.requiredClusterWidth), static_cast<unsigned>(compiled.requiredClusterHeight),
               static_cast<unsigned>(compiled.requiredClusterDepth)};
  }
  const unsigned in_a_cluster = cluster.x * cluster.y * cluster.z;
  if (in_a_cluster > 1) {
    cudaLaunchAttribute dimensions{};
    dimensions.id = cudaLaunchAttributeClusterDimension;
    dimensions.val.clusterDim = {cluster.x, cluster.y, cluster.z};
    cudaLaunchConfig_t shape{};
    shape.gridDim = dim3(cluster.x, cluster.y, cluster.z);
    shape.blockDim = block;
    shape.dynamicSmemBytes = dynamic_shared_bytes;
    shape.attrs = &dimensions;
    shape.numAttrs = 1;
    int clusters = 0;
    check(cudaOccupancyMaxActiveClusters(&clusters, address, &shape), remedy);
    return static_cast<unsigned>(clusters) * in_a_cluster;
  }
  int device = 0;
  int multiprocessors = 0;
  int blocks = 0;
  check(cudaGetDevice(&device), "check with nvidia-smi that the CUDA driver and the device work");
  check(cudaDeviceGetAttribute(&multiprocessors, cudaDevAttrMultiProcessorCount, device));
  check(cudaOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(&blocks, address, static_cast<int>(block.x * block.y * block.z),
                                                               dynamic_shared_bytes, cudaOccupancyDefault),
        remedy);
  return static_cast<unsigned>(multiprocessors) * static_cast<unsigned>(blocks);
}

/// Throws `error` if a grid of `blocks` is larger than the `co_resident` blocks that a device can hold at the same time.
inline void validate_co_residency(unsigned long long blocks, unsigned co_resident) {
  if (blocks > co_resident) {
    throw error(cudaErrorCooperativeLaunchTooLarge,
                "membar: the %llu blocks of this grid wait for each other, but the device can hold only %u of them at once: "
                "launch at most that many blocks, and give each block more work",
                blocks, co_resident);
  }
}

/// Launches a kernel whose blocks wait for each other. The launch is cooperative, so CUDA guarantees that all blocks are
/// resident at the same time.
///
/// Errors: throws `error` without launching if the device cannot hold the grid, and throws the errors of `launch`. The function
/// cannot detect a running kernel that never ends; such a kernel delays the launch forever. If grids on several devices wait
/// for each other, the host must launch all of them before it waits for any.
template <class... Attributes, class... Parameters>
void launch_co_resident(const launch_config<Attributes...>& config, void (*kernel)(Parameters...),
                        std::type_identity_t<detail::lossless_argument<Parameters>>... arguments) {
  const dim3 grid = config.grid();
  cudaLaunchConfig_t shape{};
  shape.dynamicSmemBytes = config.dynamic_shared_bytes();
  // without this attribute, no block with this much shared memory would fit
  detail::allow<Attributes...>(reinterpret_cast<const void*>(kernel), shape);
  cluster_dimensions cluster{1, 1, 1};
  if constexpr ((std::is_same_v<Attributes, cluster_dimensions> || ...)) {
    cluster = config.template get<cluster_dimensions>();
  }
  validate_co_residency(static_cast<unsigned long long>(grid.x) * grid.y * grid.z,
                        co_resident_blocks(kernel, config.block(), config.dynamic_shared_bytes(), cluster));
  launch(config.with(cooperative{}), kernel, arguments.value...);
}

/// This overload launches nothing. It exists only so that the compiler's message explains what is wrong with the arguments.
template <class... Attributes, class... Parameters, class... Arguments>
  requires(!detail::arguments_fit<void(Parameters...), Arguments...>)
void launch_co_resident(const launch_config<Attributes...>&, void (*)(Parameters...), Arguments&&...) {
  detail::refuse_arguments<sizeof...(Parameters), sizeof...(Arguments)>();
}

}  // namespace v0_3
}  // namespace membar
