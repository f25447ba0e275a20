// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The host part of docs/from_cuda_to_membar.md: membar's calls pass the same values to CUDA as the calls that they replace.
#include <membar/access_policy_window.hpp>
#include <membar/l2_set_aside.hpp>
#include <membar/launch.hpp>

#include <tests/fake_cuda/fake_cuda.hpp>

#include <array>
#include <cstddef>
#include <cstring>

namespace {

using fake_cuda::now;
using membar::set_attribute, membar::sync_domain, membar::sync_domain_map;

std::array<float, 1024> table;

/// Compares only the bytes that CUDA reads: the attribute's member of the value union, up to that member's last field.
bool same_bytes(cudaLaunchAttributeID id, const cudaLaunchAttributeValue& left, const cudaLaunchAttributeValue& right) {
  constexpr std::size_t window_bytes =
      offsetof(cudaAccessPolicyWindow, missProp) + sizeof(cudaAccessProperty);  // padding follows
  const std::size_t bytes = id == cudaLaunchAttributeMemSyncDomain      ? sizeof left.memSyncDomain
                            : id == cudaLaunchAttributeMemSyncDomainMap ? sizeof left.memSyncDomainMap
                                                                        : window_bytes;
  return std::memcmp(&left, &right, bytes) == 0;
}

cudaAccessPolicyWindow window_of_cuda() {
  cudaAccessPolicyWindow window{};
  window.base_ptr = table.data();
  window.num_bytes = sizeof table;
  window.hitRatio = 0.5F;
  window.hitProp = cudaAccessPropertyPersisting;
  window.missProp = cudaAccessPropertyStreaming;
  return window;
}

class from_cuda : public fake_cuda::test {
 protected:
  from_cuda() { now().devices[0].persisting_l2_limit = fake_cuda::MiB; }  // windows need it

  /// Sets the attribute on one stream with CUDA's call and on another with membar's call.
  void expect_same(cudaLaunchAttributeID id, cudaLaunchAttributeValue value, const auto& attribute) {
    fake_cuda::stream by_cuda, by_membar;
    ASSERT_EQ(cudaStreamSetAttribute(by_cuda.handle(), id, &value), cudaSuccess);
    set_attribute(by_membar.handle(), attribute);
    ASSERT_EQ(by_membar.attributes.size(), by_cuda.attributes.size());
    ASSERT_TRUE(by_membar.attributes.contains(id));
    EXPECT_TRUE(same_bytes(id, by_membar.attributes.at(id), by_cuda.attributes.at(id)));
  }
};

TEST_F(from_cuda, a_domain_of_a_stream_is_the_same_bytes) {
  cudaLaunchAttributeValue value{};
  value.memSyncDomain = cudaLaunchMemSyncDomainRemote;
  expect_same(cudaLaunchAttributeMemSyncDomain, value, sync_domain::remote);
}

TEST_F(from_cuda, a_domain_map_of_a_stream_is_the_same_bytes) {
  cudaLaunchAttributeValue value{};
  value.memSyncDomainMap = {.default_ = 0, .remote = 2};
  expect_same(cudaLaunchAttributeMemSyncDomainMap, value, sync_domain_map{.default_ = 0, .remote = 2});
}

TEST_F(from_cuda, a_window_of_a_stream_is_the_same_bytes) {
  cudaLaunchAttributeValue value{};
  value.accessPolicyWindow = window_of_cuda();
  expect_same(cudaLaunchAttributeAccessPolicyWindow, value, membar::window_over(table, 0.5F));
}

TEST_F(from_cuda, a_scoped_attribute_puts_back_what_was_there) {
  fake_cuda::stream stream;
  cudaLaunchAttributeValue before{};
  before.memSyncDomainMap = {.default_ = 1, .remote = 1};
  ASSERT_EQ(cudaStreamSetAttribute(stream.handle(), cudaLaunchAttributeMemSyncDomainMap, &before), cudaSuccess);
  {
    const membar::scoped_stream_attribute restore(stream.handle(), sync_domain_map{.default_ = 0, .remote = 2});
    EXPECT_FALSE(
        same_bytes(cudaLaunchAttributeMemSyncDomainMap, stream.attributes.at(cudaLaunchAttributeMemSyncDomainMap), before));
  }
  EXPECT_TRUE(
      same_bytes(cudaLaunchAttributeMemSyncDomainMap, stream.attributes.at(cudaLaunchAttributeMemSyncDomainMap), before));
}

void kernel(float) {}  // nothing calls it

TEST_F(from_cuda, a_launch_has_the_same_configuration_and_the_same_bytes) {
  fake_cuda::stream stream;
  std::array<cudaLaunchAttribute, 2> attributes{};
  attributes[0].id = cudaLaunchAttributeMemSyncDomain;
  attributes[0].val.memSyncDomain = cudaLaunchMemSyncDomainRemote;
  attributes[1].id = cudaLaunchAttributeAccessPolicyWindow;
  attributes[1].val.accessPolicyWindow = window_of_cuda();
  cudaLaunchConfig_t config{};
  config.gridDim = dim3(128);
  config.blockDim = dim3(256);
  config.dynamicSmemBytes = 1024;
  config.stream = stream.handle();
  config.attrs = attributes.data();
  config.numAttrs = 2;
  float argument = 1;
  void* arguments[] = {&argument};
  ASSERT_EQ(cudaLaunchKernelExC(&config, reinterpret_cast<const void*>(&kernel), arguments), cudaSuccess);

  membar::launch(
      membar::launch_config{128, 256, stream.handle(), 1024}.with(sync_domain::remote).with(membar::window_over(table, 0.5F)),
      kernel, 1.0F);

  ASSERT_EQ(now().launches.size(), 2U);
  const fake_cuda::launch &by_cuda = now().launches[0], &by_membar = now().launches[1];
  EXPECT_EQ(by_membar.kernel, by_cuda.kernel);
  EXPECT_EQ(by_membar.stream, by_cuda.stream);
  EXPECT_EQ(by_membar.dynamic_shared_bytes, by_cuda.dynamic_shared_bytes);
  EXPECT_EQ(std::memcmp(&by_membar.grid, &by_cuda.grid, sizeof(dim3)), 0);
  EXPECT_EQ(std::memcmp(&by_membar.block, &by_cuda.block, sizeof(dim3)), 0);
  ASSERT_EQ(by_membar.attributes.size(), by_cuda.attributes.size());
  for (const cudaLaunchAttribute& each : by_cuda.attributes) {
    EXPECT_TRUE(same_bytes(each.id, by_membar.value(each.id), each.val)) << each.id;
  }
}

TEST_F(from_cuda, a_set_aside_is_the_same_limit_for_a_scope) {
  {
    const membar::l2_set_aside hold(0, 4 * fake_cuda::MiB);
    EXPECT_EQ(now().devices[0].persisting_l2_limit, 4 * fake_cuda::MiB);
  }
  EXPECT_EQ(now().devices[0].persisting_l2_limit, fake_cuda::MiB);
}

}  // namespace
