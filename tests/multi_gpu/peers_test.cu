// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Tests the basic properties on which the other tests with two GPUs rely.
#include <tests/common/gpu_test.hpp>

namespace membar_test {
namespace {

using peers = multi_gpu_test;

__global__ void store(int* out) { *out = 42; }

TEST_F(peers, a_kernel_writes_its_peers_memory) {
  const support::device_guard there(second);
  const support::device_memory<int> out(1);
  const support::device_guard here(first);
  store<<<1, 1>>>(out.get());
  EXPECT_EQ(copied(out)[0], 42);
}

}  // namespace
}  // namespace membar_test
