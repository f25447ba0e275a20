// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// NCCL: the barrier between devices that can access each other's memory. The devices' windows are 4 GiB apart.
#include <nccl_device.h>

__global__ void exchange(char* windows, int rank, int* to, const int* from, int* out) {
  ncclDevComm comm{};
  comm.rank = comm.lsaRank = rank;
  comm.nRanks = comm.lsaSize = 2;
  comm.resourceWindow_inlined.lsaFlatBase = windows;
  comm.resourceWindow_inlined.stride4G = 1;
  comm.lsaBarrier.nBarriers = 1;
  const ncclCoopCta block;
  ncclLsaBarrierSession<ncclCoopCta> barrier(block, comm, ncclTeamTagLsa(), 0);
  to[threadIdx.x] = static_cast<int>(threadIdx.x) + 1;
  barrier.sync(block, cuda::memory_order_acq_rel);
  out[threadIdx.x] = from[threadIdx.x];
}
