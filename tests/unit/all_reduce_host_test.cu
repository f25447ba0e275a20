// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The host part of an all-reduce: selection of the kernel by size, use of only one stream at a time, and late PEs. Nothing runs
// on a device.
#include <membar/symmetric/all_reduce.cuh>

#include <tests/common/refusal.hpp>
#include <tests/fake_cuda/fake_cuda.hpp>

#include <optional>
#include <string>
#include <vector>

namespace {
namespace all_reduces {

namespace symmetric = membar::symmetric;
using fake_cuda::now, fake_cuda::stream;
using membar_test::refusal, membar_test::says;
using symmetric::pe, symmetric::peer_backend;
using reduced = membar::all_reduce<float>;

class all_reduce_on_the_host : public fake_cuda::test {
 protected:
  std::string enqueued(std::size_t size, stream& in) {
    return refusal([&] { sums->enqueue(pe(0), values, values, size, in.handle()); });
  }

  peer_backend gpus{std::vector<int>{0, 1}};
  symmetric::heap<peer_backend> heap{gpus, 1 << 22};
  std::optional<reduced> sums{std::in_place, heap, 4096, membar::all_reduce_options{.most_in_one_shot = 1024 * sizeof(float)}};
  stream first, second;
  float values[1] = {};
};

TEST_F(all_reduce_on_the_host, is_done_in_one_shot_or_in_two_or_in_several_steps_by_size) {
  for (const auto& [size, launches] : std::vector<std::pair<std::size_t, std::size_t>>{
           {0, 0}, {1, 1}, {1024, 1}, {1025, 1}, {4096, 1}, {4097, 2}, {3 * 4096, 3}}) {
    now().launches.clear();
    EXPECT_EQ(enqueued(size, first), "");
    EXPECT_EQ(now().launches.size(), launches) << size;
    for (const fake_cuda::launch& each : now().launches) {
      EXPECT_EQ(
          each.kernel == reinterpret_cast<const void*>(symmetric::detail::one_shot_kernel<membar::sum, float, peer_backend>),
          size <= 1024);
      EXPECT_EQ(each.value(cudaLaunchAttributeMemSyncDomain).memSyncDomain, cudaLaunchMemSyncDomainRemote);
    }
  }
}

TEST_F(all_reduce_on_the_host, uses_its_memory_in_one_stream_at_a_time) {
  first.busy = true;
  EXPECT_EQ(enqueued(8, first), "");
  EXPECT_EQ(enqueued(8, first), "") << "calls on one stream run one after the other";
  const std::string refused = enqueued(8, second);
  EXPECT_TRUE(says(refused, "membar: team of an all-reduce cannot be used on stream 0x"));
  EXPECT_TRUE(says(refused, "may still be running: wait for that stream first, or use on_after_previous, which waits"));
  {
    const auto held = sums->guard(pe(0)).on_after_previous(second.handle());
    EXPECT_EQ(enqueued(8, second), "");
  }
  EXPECT_EQ(second.waits_for.size(), 1U);
  first.busy = false;
  EXPECT_EQ(refusal([&] { sums->enqueue(pe(1), values, values, 8, first.handle()); }), "")
      << "the streams of another PE are independent";
}

TEST_F(all_reduce_on_the_host, is_in_one_stream_of_a_capture) {
  first.capturing = second.capturing = true;
  EXPECT_EQ(enqueued(8, first), "");
  EXPECT_EQ(enqueued(8, first), "");
  EXPECT_TRUE(says(enqueued(8, second), "is in use on captured stream 0x"));
  second.capture = 2;
  EXPECT_EQ(enqueued(8, second), "") << "another capture";
  second.capturing = false;
  EXPECT_EQ(enqueued(8, second), "");
}

TEST_F(all_reduce_on_the_host, says_who_was_late_in_every_further_call) {
  EXPECT_EQ(refusal([&] { sums->check(); }), "");
  *sums->on(pe(0)).failure = 3;  // This is how a kernel reports that PE 1 did not arrive.
  for (int i = 0; i != 2; ++i) {
    EXPECT_EQ(enqueued(8, first),
              "membar: PE 1 did not reach an all-reduce within 5000 ms of PE 0: check what it waits for, or use a larger "
              "budget, and construct the all-reduce again on every PE");
  }
  *sums->on(pe(0)).failure = 1;
  EXPECT_TRUE(
      says(refusal([&] { sums->check(); }), "an all-reduce on PE 0 was aborted, because a PE was late for another all-reduce"));
  EXPECT_TRUE(now().launches.empty());
}

TEST_F(all_reduce_on_the_host, with_norm_is_one_kernel_where_it_is_small) {
  const symmetric::residual_rms_norm<float> norm{values, values, 1e-6F, 4, 255};
  sums->enqueue(pe(0), values, values, norm, first.handle());
  EXPECT_EQ(now().launches.size(), 1U);
  now().launches.clear();
  sums->enqueue(pe(0), values, values, {values, values, 1e-6F, 4, 512}, first.handle());
  EXPECT_EQ(now().launches.size(), 2U);
}

TEST_F(all_reduce_on_the_host, gives_everything_back) {
  sums->close();
  EXPECT_EQ(heap.bytes_taken(), 0U);
  EXPECT_TRUE(says(refusal([&] { static_cast<void>(sums->on(pe(0))); }), "after its close()"));
  sums.reset();
  EXPECT_TRUE(now().failures.empty());
  EXPECT_TRUE(says(refusal([&] { const reduced none(heap, 0); }), "an all-reduce of 0 elements"));
}

}  // namespace all_reduces
}  // namespace
