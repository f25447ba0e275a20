// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
/// @file
/// The halo exchange of halo_exchange.cuh in one process for each of two GPUs, over NVSHMEM, started without MPI.
#include <bench/common/pe_processes.hpp>
#include <membar/symmetric/nvshmem_backend.cuh>

#include "halo_exchange.cuh"

int main() {
  constexpr int pes = 2;
  if (support::gpus_of_this_machine() < pes) {
    std::puts("SKIPPED: a halo exchange needs two GPUs");
    return 77;
  }
  int failed = 0;
  for (const int code :
       support::run_as_pes(pes, std::chrono::seconds(120), [](const membar::symmetric::nvshmem_session& session) {
         membar::symmetric::nvshmem_backend gpus(session);
         return exchange_halos(gpus) == 0 ? 0 : 1;
       })) {
    failed |= code;  // -1: crashed or late
  }
  return failed == 0 ? 0 : 1;
}
