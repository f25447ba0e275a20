// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Message passing within each thread scope, with fences and with acquire and release operations: no reader sees data that is
// older than its flag. Every test here has the label `concurrent`: its threads, or a kernel and the host, run concurrently, so
// tools that serialize them would cause a timeout.
#include <tests/common/gpu_test.hpp>
#include <tests/common/kernels.cuh>
#include <tests/common/message_passing.cuh>

#include <string>

namespace membar_test {
namespace {

constexpr int rounds = 100'000;

/// Within a block, the writer and the reader are the first threads of two warps; otherwise, they are the first threads of two
/// blocks.
template <thread_scope Scope, passing How>
__global__ void pass_messages(mailbox* box, passing_outcome* outcome, int count) {
  if constexpr (Scope != thread_scope::cluster || has_hopper) {
    const bool within_block = Scope == thread_scope::block;
    const unsigned actor = within_block ? threadIdx.x / 32 : blockIdx.x;
    if (threadIdx.x % 32 != 0 || (!within_block && threadIdx.x != 0)) {
      return;
    }
    if (actor == 0) {
      write_messages<Scope, How>(*box, count, *outcome);
    } else if (actor == 1) {
      read_messages<Scope, How>(*box, count, *outcome);
    }
  }
}

/// Passes messages within a block, through shared memory.
template <passing How>
__global__ void pass_messages_in_shared_memory(passing_outcome* outcome, int count) {
  __shared__ mailbox box;
  if (threadIdx.x == 0) {
    box = {};
  }
  __syncthreads();
  if (threadIdx.x == 0) {
    write_messages<thread_scope::block, How>(box, count, *outcome);
  } else if (threadIdx.x == 32) {
    read_messages<thread_scope::block, How>(box, count, *outcome);
  }
}

/// Every test runs once for each way of ordering data and flag.
class message_passing : public gpu_test, public ::testing::WithParamInterface<passing> {
 protected:
  template <class Config, class Kernel, class... Arguments>
  void expect_order(const Config& config, Kernel kernel, Arguments... arguments) {
    const support::device_memory<passing_outcome> outcome(1);
    membar::launch(config, kernel, arguments..., outcome.get(), rounds);
    expect_in_order(copied(outcome)[0]);
  }

  /// Runs `kernel`, and acts as the other end of the message passing on this thread.
  static void expect_order_with_the_host(void (*kernel)(mailbox*, passing_outcome*, int),
                                         void (*other_end)(mailbox&, int, passing_outcome&)) {
    const support::pinned_memory<mailbox> box(1);
    const support::pinned_memory<passing_outcome> outcome(1);
    const support::stream stream;
    membar::launch(launch_config{1, 1, stream.get()}, kernel, box.get(), outcome.get(), rounds);
    other_end(box[0], rounds, outcome[0]);
    stream.synchronize();
    expect_in_order(outcome[0]);
  }
};
INSTANTIATE_TEST_SUITE_P(, message_passing, ::testing::ValuesIn(every_passing),
                         [](const auto& each) { return std::string(name(each.param)); });

TEST_P(message_passing, holds_within_a_block) {
  const support::device_memory<mailbox> box(1);
  with(GetParam(),
       [&]<passing How>() { expect_order(launch_config{1, 64}, pass_messages<thread_scope::block, How>, box.get()); });
}

TEST_P(message_passing, holds_within_a_block_in_shared_memory) {
  with(GetParam(), [&]<passing How>() { expect_order(launch_config{1, 64}, pass_messages_in_shared_memory<How>); });
}

TEST_P(message_passing, holds_within_a_cluster) {
  if (!has_compute_capability(9)) {
    GTEST_SKIP() << "this test needs thread block clusters, but the GPU has a compute capability below 9.0";
  }
  const support::device_memory<mailbox> box(1);
  with(GetParam(), [&]<passing How>() {
    expect_order(launch_config{2, 32}.with(membar::cluster_dimensions{2, 1, 1}), pass_messages<thread_scope::cluster, How>,
                 box.get());
  });
}

TEST_P(message_passing, holds_within_a_device) {
  const support::device_memory<mailbox> box(1);
  with(GetParam(),
       [&]<passing How>() { expect_order(launch_config{2, 32}, pass_messages<thread_scope::device, How>, box.get()); });
}

TEST_P(message_passing, holds_within_a_device_at_system_scope_in_host_memory) {
  const support::pinned_memory<mailbox> box(1);
  with(GetParam(),
       [&]<passing How>() { expect_order(launch_config{2, 32}, pass_messages<thread_scope::system, How>, box.get()); });
}

// Message passing between the host and a kernel, with fences or operations on the device and operations on the host.

TEST_P(message_passing, holds_from_a_kernel_to_the_host) {
  with(GetParam(), [&]<passing How>() {
    expect_order_with_the_host(write_at_system_scope<How>, read_messages<thread_scope::system, passing::operations>);
  });
}

TEST_P(message_passing, holds_from_the_host_to_a_kernel) {
  with(GetParam(), [&]<passing How>() {
    expect_order_with_the_host(read_at_system_scope<How>, write_messages<thread_scope::system, passing::operations>);
  });
}

}  // namespace
}  // namespace membar_test
