// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// GPUPrefixSums: the scan with decoupled look-back.
#include <cstdint>

#include <ChainedScanDecoupledLookback.cuh>

template __global__ void ChainedScanDecoupledLookback::CSDLInclusive<1, 1>(uint32_t*, volatile uint32_t*, volatile uint32_t*,
                                                                           const uint32_t);
template __global__ void ChainedScanDecoupledLookback::CSDLInclusive<4, 1>(uint32_t*, volatile uint32_t*, volatile uint32_t*,
                                                                           const uint32_t);
