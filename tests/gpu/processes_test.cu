// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Two processes on one GPU, with memory that they share through CUDA IPC or files. Their kernels take turns, so a message takes
// as long as a time slice, and the tests pass only a few messages.
#include <membar/symmetric/ipc_memory.hpp>
#include <membar/symmetric/on_stream.cuh>
#include <membar/symmetric/process_memory.hpp>

#include <tests/common/forked_processes.hpp>
#include <tests/common/ipc_processes.hpp>
#include <tests/common/symmetric_processes.cuh>

#include <string>
#include <vector>

namespace membar_test {

namespace {

using backend = symmetric::adopted_backend;
using symmetric::host_group, symmetric::ipc_memory;

constexpr std::size_t shared_bytes = std::size_t{16} << 20;
constexpr unsigned few = 1'000;  // The number of messages in a test, set as if a protocol had this many passes.

/// Memory that is part of a cudaMalloc allocation on each PE.
struct by_cuda_ipc {
  template <class Body>
  static int run(host_group& group, Body body) {
    return in_ipc_memory(group, shared_bytes, body);
  }
};

/// Mapped memory whose files are passed over the group's sockets.
struct by_files {
  template <class Body>
  static int run(host_group& group, Body body) {
    const symmetric::process_memory memory(group, shared_bytes, symmetric::shared_by::file_descriptor);
    backend of(memory.memory(), group.callback());
    return body(of);
  }
};

template <class Sharing>
class one_gpu_pes : public processes_on_gpus<1> {
 protected:
  /// Runs `body(backend)` in each process and expects it to return 0.
  template <class Body>
  static void expect_success(Body body) {
    processes_on_gpus<1>::expect_success_in_a_group([&](host_group& group) { return Sharing::run(group, body); });
  }
};
using sharings = ::testing::Types<by_cuda_ipc, by_files>;
TYPED_TEST_SUITE(one_gpu_pes, sharings);

/// Returns 0 if sharing the `bytes` bytes at `mine` fails with an error message that contains `words`.
int refused(host_group& group, const std::string& words, void* mine, std::size_t bytes = 1 << 20) {
  return unless_refused(words.c_str(), [&] { const ipc_memory memory(mine, bytes, group.rank(), group.callback()); });
}

TYPED_TEST(one_gpu_pes, put_with_signal_shows_its_data) {
  this->expect_success([](backend& of) {
    return pass_by(of, by_warp, pass_messages<by_put_signal, by_warp_t, backend>, 64, few) |
           pass_by(of, by_block, pass_messages<by_put_signal, by_block_t, backend>, 511, few);
  });
}

TYPED_TEST(one_gpu_pes, packed_messages_are_whole) {
  this->expect_success(
      [](backend& of) { return pass_by(of, by_warp, pass_packed<by_warp_t, packed_payload, backend>, 0, few); });
}

TYPED_TEST(one_gpu_pes, barriers_hold) {
  this->expect_success([](backend& of) { return pass_barriers_in_rounds(of, 100); });
}

TYPED_TEST(one_gpu_pes, copies_of_streams_reach_the_other_process) { this->expect_success(pass_by_copies_of_streams<backend>); }

using process_pes = processes_on_gpus<1>;

TEST_F(process_pes, end_their_waits_for_a_killed_process_and_name_it) { expect_waits_to_end_and_to_name_the_killed(1); }

using ipc_pes = processes_on_gpus<1>;

/// Returns whether each process finds, in its own part, the data that the other process copied there.
int passes_on(host_group& group, const ipc_memory& memory) {
  const auto self = static_cast<std::size_t>(group.rank()), other = 1 - self;
  const auto all = memory.memory().addresses;
  const int mine = 100 + group.rank();
  int got = 0;
  membar::check(cudaMemcpy(all[other], &mine, sizeof mine, cudaMemcpyDefault));
  membar::check(cudaDeviceSynchronize());
  static_cast<void>(group.all_gather(0));
  membar::check(cudaMemcpy(&got, all[self], sizeof got, cudaMemcpyDefault));
  static_cast<void>(group.all_gather(0));
  return got == 100 + static_cast<int>(other) ? 0 : 2;
}

TEST_F(ipc_pes, have_two_parts_of_one_allocation_open_until_the_second_is_closed) {
  expect_success_in_a_group([](host_group& group) {
    const support::device_memory<unsigned char> whole(4 << 20);
    ipc_memory first(whole.get(), 1 << 20, group.rank(), group.callback());
    ipc_memory second(whole.get() + (2 << 20), 1 << 20, group.rank(), group.callback());
    int wrong = passes_on(group, first) + passes_on(group, second);
    first.close();
    wrong += passes_on(group, second);
    second.close();
    return wrong;
  });
}

/// Memory smaller than the driver's allocation granularity is part of a larger allocation.
TEST_F(ipc_pes, share_small_allocations) {
  expect_success_in_a_group([](host_group& group) {
    const support::device_memory<unsigned char> before(768), small(1024);
    ipc_memory memory(small.get(), 1024, group.rank(), group.callback());
    const int wrong = passes_on(group, memory);
    memory.close();
    return wrong;
  });
}

TEST_F(ipc_pes, refuse_what_has_no_handle) {
  expect_success_in_a_group([](host_group& group) {
    void *managed = nullptr, *pool = nullptr, *host = nullptr;
    membar::check(cudaMallocManaged(&managed, 1 << 20));
    membar::check(cudaMallocAsync(&pool, 1 << 20, nullptr));
    membar::check(cudaMallocHost(&host, 1 << 20));
    membar::check(cudaDeviceSynchronize());
    const symmetric::process_memory mapped(group, 1 << 20);
    const support::device_memory<unsigned char> whole(1 << 20);
    int local = 0;
    const int wrong = refused(group, "because PE 0 passed managed memory at", managed) +
                      refused(group, "because PE 0 passed pool memory", pool) +
                      refused(group, "because PE 0 passed memory that is not on a device at", host) +
                      refused(group, "because PE 0 passed memory that is not on a device at", &local) +
                      refused(group, "because PE 0 passed memory from cuMemMap",
                              mapped.memory().addresses[static_cast<std::size_t>(group.rank())]) +
                      refused(group, "but only 1048064 bytes of its allocation follow that address", whole.get() + 512) +
                      refused(group, "PE 1 shares 1024 bytes, but PE 0 shares 512", whole.get(),
                              512 * (1 + static_cast<std::size_t>(group.rank())));
    static_cast<void>(cudaFree(managed));
    static_cast<void>(cudaFreeAsync(pool, nullptr));
    static_cast<void>(cudaFreeHost(host));
    return wrong;
  });
}

}  // namespace
}  // namespace membar_test
