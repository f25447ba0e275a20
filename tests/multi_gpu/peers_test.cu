// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The ground other tests of two GPUs stand on.
#include <tests/common/gpu_test.hpp>

namespace {

using peers = membar_test::multi_gpu_test;

__global__ void store(int* out) { *out = 42; }

TEST_F(peers, a_kernel_writes_its_peers_memory) {
  int* out = nullptr;
  membar_test::check(cudaSetDevice(second));
  membar_test::check(cudaMalloc(&out, sizeof *out));
  membar_test::check(cudaSetDevice(first));
  store<<<1, 1>>>(out);
  membar_test::finish();
  int seen = 0;
  membar_test::check(cudaMemcpy(&seen, out, sizeof seen, cudaMemcpyDeviceToHost));
  EXPECT_EQ(seen, 42);
  membar_test::check(cudaFree(out));
}

}  // namespace
