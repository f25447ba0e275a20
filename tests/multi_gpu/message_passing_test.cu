// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Message passing between two GPUs at system scope, through the reader's memory and through the writer's.
// Every test here carries the label `concurrent`: two kernels run at once.
#include <membar/launch.hpp>

#include <bench/common/cuda_handles.hpp>
#include <tests/common/gpu_test.hpp>
#include <tests/common/message_passing.cuh>

#include <string>

namespace {

using membar::thread_scope;
using membar_test::mailbox;
using membar_test::passing;
using membar_test::passing_outcome;

constexpr int rounds = 100'000;

template <passing How>
__global__ void write(mailbox* box, int* timed_out, int count) {
  *timed_out = membar_test::write_messages<thread_scope::system, How>(*box, count) ? 0 : 1;
}

template <passing How>
__global__ void read(mailbox* box, passing_outcome* outcome, int count) {
  *outcome = membar_test::read_messages<thread_scope::system, How>(*box, count);
}

/// Every test runs once per way of ordering data and flag.
class peer_message_passing : public membar_test::multi_gpu_test, public ::testing::WithParamInterface<passing> {
 protected:
  /// The writer runs on `first` and the reader on `second`; the mailbox is in the memory of `home`.
  void expect_order(int home) {
    membar_test::with(GetParam(), [&]<passing How>() { expect_order_of<How>(home); });
  }

 private:
  template <passing How>
  void expect_order_of(int home) {
    const support::device_guard at_home(home);
    const support::device_memory<mailbox> box(1);
    const support::pinned_memory<passing_outcome> outcome(1);
    const support::pinned_memory<int> timed_out(1);

    const support::device_guard reader(second);
    membar_test::load(read<How>);
    const support::stream reading;
    membar::launch(membar::launch_config{1, 1, reading.get()}, read<How>, box.get(), outcome.get(), rounds);
    {
      const support::device_guard writer(first);
      const support::stream writing;
      membar::launch(membar::launch_config{1, 1, writing.get()}, write<How>, box.get(), timed_out.get(), rounds);
      writing.synchronize();
    }
    reading.synchronize();

    EXPECT_EQ(timed_out[0], 0) << "the writer waited in vain for the reader: they did not run at once";
    EXPECT_EQ(outcome[0].timed_out, 0) << "the reader waited in vain for the last message";
    EXPECT_EQ(outcome[0].stale, 0U) << "data older than its flag";
    RecordProperty("messages", std::to_string(outcome[0].messages));
  }
};
INSTANTIATE_TEST_SUITE_P(, peer_message_passing, ::testing::ValuesIn(membar_test::every_passing),
                         [](const auto& each) { return std::string(name(each.param)); });

TEST_P(peer_message_passing, holds_through_the_readers_memory) { expect_order(second); }
TEST_P(peer_message_passing, holds_through_the_writers_memory) { expect_order(first); }

// Both GPUs add to one counter: peer memory over NVLink has atomics of its own.
__global__ void add(int* counter, int count) {
  for (int i = 0; i != count; ++i) {
    membar::atomic_ref<int, thread_scope::system>(*counter).fetch_add(1, membar::relaxed);
  }
}

class peer_atomics : public membar_test::multi_gpu_test {};

TEST_F(peer_atomics, two_gpus_lose_no_increment) {
  int native = 0;
  membar_test::check(cudaDeviceGetP2PAttribute(&native, cudaDevP2PAttrNativeAtomicSupported, second, first));
  if (native == 0) {
    GTEST_SKIP() << "this test needs atomics over the link between the GPUs, and the link has none";
  }
  constexpr int blocks = 16;
  constexpr int threads = 64;
  constexpr int count = 100;
  const support::device_memory<int> counter(1);
  const support::stream here;
  membar::launch(membar::launch_config{blocks, threads, here.get()}, add, counter.get(), count);
  {
    const support::device_guard guard(second);
    const support::stream there;
    membar::launch(membar::launch_config{blocks, threads, there.get()}, add, counter.get(), count);
    there.synchronize();
  }
  here.synchronize();
  int sum = 0;
  membar_test::check(cudaMemcpy(&sum, counter.get(), sizeof sum, cudaMemcpyDeviceToHost));
  EXPECT_EQ(sum, 2 * blocks * threads * count);
}

}  // namespace
