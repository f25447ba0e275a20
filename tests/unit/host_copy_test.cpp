// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <membar/symmetric/host_copy.hpp>
#include <membar/symmetric/peer_backend.hpp>

#include <tests/common/refusal.hpp>
#include <tests/fake_cuda/fake_cuda.hpp>

#include <array>
#include <string>
#include <vector>

namespace {

namespace symmetric = membar::symmetric;

using fake_cuda::now;
using membar_test::refusal, membar_test::says;
using symmetric::pe, symmetric::peer_backend;

class host_copy : public fake_cuda::test {
 protected:
  std::array<int, 4> heap{1, 2, 3, 4};
  symmetric::span<int> objects = symmetric::detail::access::make_span<int, peer_backend>(
      heap.data(), heap.size(), symmetric::peer_reach(pe(1), 2, std::ptrdiff_t{0}));
  fake_cuda::stream stream;
};

const std::vector<std::string> copied_and_waited{"cudaMemcpyAsync", "cudaStreamSynchronize"};

TEST_F(host_copy, has_run_when_it_returns) {
  const std::array<int, 4> values{5, 6, 7, 8};
  copy_to(objects, values, stream.handle());
  EXPECT_EQ(heap, values);
  EXPECT_EQ(now().calls, copied_and_waited);
  EXPECT_EQ(stream.synchronized, 1);
}

TEST_F(host_copy, goes_the_other_way_too) {
  std::vector<int> values(4);
  copy_from(values, objects, stream.handle());
  EXPECT_EQ(values, (std::vector<int>{1, 2, 3, 4}));
  EXPECT_EQ(now().calls, copied_and_waited);
}

TEST_F(host_copy, of_bytes_fills) {
  fill_bytes(objects, 0xff, stream.handle());
  EXPECT_EQ(heap[3], -1);
  EXPECT_EQ(now().calls, (std::vector<std::string>{"cudaMemsetAsync", "cudaStreamSynchronize"}));
}

TEST_F(host_copy, of_another_size_is_rejected_and_copies_nothing) {
  const std::vector<int> values(3);
  EXPECT_TRUE(says(refusal([&] { copy_to(objects, values, stream.handle()); }),
                   "3 host objects cannot be copied to 4 symmetric objects"));
  EXPECT_EQ(refusal([&] { copy_to(objects.subspan(1, 3), values, stream.handle()); }), "");
  EXPECT_EQ(heap, (std::array<int, 4>{1, 0, 0, 0}));
}

TEST_F(host_copy, without_a_stream_takes_the_flag) {
  const std::vector<int> values(4, 9);
  EXPECT_TRUE(says(refusal([&] { copy_to(objects, values); }),
                   "PE 1's symmetric memory without a stream may return before it has finished: pass a stream"));
  EXPECT_TRUE(now().calls.empty());
  {
    const symmetric::synchronous_copies flag(heap.data());
    EXPECT_TRUE(symmetric::copies_are_synchronous(heap.data()));
    EXPECT_EQ(refusal([&] { copy_to(objects, values); }), "");
    EXPECT_EQ(heap[0], 9);
  }
  EXPECT_FALSE(symmetric::copies_are_synchronous(heap.data()));
}

TEST_F(host_copy, takes_the_flag_of_the_context_for_memory_that_the_driver_maps) {
  now().mapped[reinterpret_cast<unsigned long long>(heap.data())] = sizeof heap;
  EXPECT_TRUE(says(refusal([&] { const symmetric::synchronous_copies flag(heap.data()); }),
                   "create the context with CU_CTX_SYNC_MEMOPS"));
  EXPECT_FALSE(symmetric::copies_are_synchronous(heap.data()));
  now().context_flag = true;
  EXPECT_TRUE(symmetric::copies_are_synchronous(heap.data()));
}

TEST_F(host_copy, leaves_a_flag_that_was_there) {
  now().flagged.insert(heap.data());
  { const symmetric::synchronous_copies flag(heap.data()); }
  EXPECT_TRUE(symmetric::copies_are_synchronous(heap.data()));
  EXPECT_TRUE(now().failures.empty());
}

}  // namespace
