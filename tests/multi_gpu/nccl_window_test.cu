// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// NCCL windows as symmetric memory, with one process per GPU. No multicast object is created.
#include <membar/symmetric/host_group.hpp>
#include <membar/symmetric/nccl_window.cuh>

#include <tests/common/symmetric_processes.cuh>

#include <cstring>
#include <vector>

namespace membar_test {

namespace {

using backend = symmetric::adopted_backend;
using symmetric::host_group, symmetric::detail::check_nccl;

constexpr std::size_t window_bytes = std::size_t{16} << 20;

class nccl_windows : public gpu_processes {
 protected:
  template <class Body>
  static void expect_success(Body body) {
    setenv("NCCL_NVLS_ENABLE", "0", 1);
    const symmetric::rendezvous where = symmetric::make_rendezvous();
    std::vector<pid_t> children;
    for (int rank = 0; rank != pes; ++rank) {
      children.push_back(support::detail::forked([&] { return in_window(where, rank, body); }));
    }
    EXPECT_EQ(support::detail::ended(children, processes_deadline()), std::vector<int>(pes, 0));
  }

 private:
  template <class Body>
  static int in_window(const symmetric::rendezvous& where, int rank, Body body) {
    membar::check(cudaSetDevice(rank));
    host_group group = host_group::join(where, rank, pes, processes_deadline());
    ncclUniqueId id{};
    if (rank == 0) {
      check_nccl(ncclGetUniqueId(&id), "ncclGetUniqueId");
    }
    static_assert(sizeof id == 2 * sizeof(host_group::handle));
    for (std::size_t half = 0; half != 2; ++half) {
      host_group::handle part{};
      std::memcpy(part.bytes, id.internal + half * sizeof part, sizeof part);
      part = group.all_gather_handles(part)[0];
      std::memcpy(id.internal + half * sizeof part, part.bytes, sizeof part);
    }
    ncclComm_t communicator = nullptr;
    void* memory = nullptr;
    ncclWindow_t window = nullptr;
    check_nccl(ncclCommInitRank(&communicator, pes, id, rank), "ncclCommInitRank");
    check_nccl(ncclMemAlloc(&memory, window_bytes), "ncclMemAlloc");
    check_nccl(ncclCommWindowRegister(communicator, memory, window_bytes, &window, NCCL_WIN_COLL_SYMMETRIC),
               "ncclCommWindowRegister");
    int result = 0;
    {
      backend of(symmetric::memory_of_nccl(communicator, window, window_bytes), group.callback());
      result = body(of);
    }
    check_nccl(ncclCommWindowDeregister(communicator, window), "ncclCommWindowDeregister");
    check_nccl(ncclMemFree(memory), "ncclMemFree");
    check_nccl(ncclCommDestroy(communicator), "ncclCommDestroy");
    return result;
  }
};

TEST_F(nccl_windows, put_with_signal_shows_its_data) { expect_success(pass_protocol<by_put_signal, backend>); }
TEST_F(nccl_windows, packed_messages_are_whole) { expect_success(pass_all_packed<backend>); }
TEST_F(nccl_windows, barriers_hold) { expect_success(pass_barriers_of<backend>); }

}  // namespace
}  // namespace membar_test
