// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Message passing between two GPUs at system scope, through the reader's memory and through the writer's memory. Every test
// here has the label `concurrent`: two kernels run concurrently.
#include <tests/common/gpu_test.hpp>
#include <tests/common/message_passing.cuh>

namespace membar_test {
namespace {

constexpr int rounds = 100'000;

/// Every test runs once for each way of ordering data and flag.
class peer_message_passing : public multi_gpu_test, public ::testing::WithParamInterface<passing> {
 protected:
  /// The writer runs on `first` and the reader on `second`; the mailbox is in the memory of the device `home`.
  void expect_order(int home) {
    with(GetParam(), [&]<passing How>() { expect_order_of<How>(home); });
  }

 private:
  template <passing How>
  void expect_order_of(int home) {
    const support::device_guard at_home(home);
    const support::device_memory<mailbox> box(1);
    const support::pinned_memory<passing_outcome> outcome(1);

    const support::device_guard reader(second);
    load(read_at_system_scope<How>);
    const support::stream reading;
    membar::launch(launch_config{1, 1, reading.get()}, read_at_system_scope<How>, box.get(), outcome.get(), rounds);
    {
      const support::device_guard writer(first);
      const support::stream writing;
      membar::launch(launch_config{1, 1, writing.get()}, write_at_system_scope<How>, box.get(), outcome.get(), rounds);
      writing.synchronize();
    }
    reading.synchronize();

    expect_in_order(outcome[0]);
  }
};
INSTANTIATE_TEST_SUITE_P(, peer_message_passing, ::testing::ValuesIn(every_passing),
                         [](const auto& each) { return std::string(name(each.param)); });

TEST_P(peer_message_passing, holds_through_the_readers_memory) { expect_order(second); }
TEST_P(peer_message_passing, holds_through_the_writers_memory) { expect_order(first); }

// Both GPUs add to the same counter. Peer memory over NVLink supports atomics.
__global__ void add(int* counter, int count) {
  for (int i = 0; i != count; ++i) {
    membar::atomic_ref<int, thread_scope::system>(*counter).fetch_add(1, membar::relaxed);
  }
}

class peer_atomics : public multi_gpu_test {};

TEST_F(peer_atomics, two_gpus_lose_no_increment) {
  int native = 0;
  check(cudaDeviceGetP2PAttribute(&native, cudaDevP2PAttrNativeAtomicSupported, second, first));
  if (native == 0) {
    GTEST_SKIP() << "this test needs atomics over the link between the GPUs, but the link has none";
  }
  constexpr int blocks = 16;
  constexpr int threads = 64;
  constexpr int count = 100;
  const support::device_memory<int> counter(1);
  const support::stream here;
  membar::launch(launch_config{blocks, threads, here.get()}, add, counter.get(), count);
  {
    const support::device_guard guard(second);
    const support::stream there;
    membar::launch(launch_config{blocks, threads, there.get()}, add, counter.get(), count);
    there.synchronize();
  }
  here.synchronize();
  EXPECT_EQ(copied(counter)[0], 2 * blocks * threads * count);
}

}  // namespace
}  // namespace membar_test
