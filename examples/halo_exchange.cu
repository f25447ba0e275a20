// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
/// @file
/// The halo exchange of halo_exchange.cuh in one process that uses all GPUs of the machine through peer access.
#include "halo_exchange.cuh"

int main() try {
  int devices = 0;
  if (cudaGetDeviceCount(&devices) != cudaSuccess || devices < 2) {
    std::puts("SKIPPED: a halo exchange needs two GPUs");
    return 77;
  }
  symmetric::peer_backend gpus;
  return exchange_halos(gpus) == 0 ? 0 : 1;
} catch (const membar::error& failure) {
  const bool no_peers = failure.code() == cudaErrorPeerAccessUnsupported;
  std::printf("%s%s\n", no_peers ? "SKIPPED: " : "", failure.what());
  return no_peers ? 77 : 1;
}
