// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Launches: streams, attributes, shared memory, rejected calls, and handles bound to a synchronization domain. No test here has
// the label `concurrent`.
#include <membar/atomic.cuh>
#include <membar/launch.hpp>

#include <tests/common/checked.cuh>
#include <tests/common/gpu_test.hpp>
#include <tests/common/refusal.hpp>

#include <optional>
#include <string>

namespace membar_test {
namespace {

using membar::domain_bound;
using membar::physical_domain;
using membar::set_attribute;
using membar::sync_domain;
using membar::sync_domain_map;

__global__ void add(int* out, int value) { *out += value; }

struct pair {
  int first;
  double second;
};
__global__ void take(int* out, pair values, const float* null, long long wide) {
  *out = values.first == 3 && values.second == 0.5 && null == nullptr && wide == -1 ? 1 : 2;
}

/// Writes 7 to the last byte of the block's dynamic shared memory, and then writes 1 to `out` if the byte is 7.
__device__ void use_last_shared_byte(int* out, unsigned bytes) {
  extern __shared__ unsigned char memory[];
  const membar::atomic_ref<unsigned char, membar::thread_scope::block> last(memory[bytes - 1]);
  last.store(7, membar::relaxed);
  *out = checked(last.load(membar::relaxed) == 7) ? 1 : 2;
}
__global__ void last_shared_byte(int* out, unsigned bytes) { use_last_shared_byte(out, bytes); }
__global__ void last_shared_byte_of_much(int* out, unsigned bytes) { use_last_shared_byte(out, bytes); }

__global__ void count_block(int* out) { atomicAdd(out, 1); }

__global__ void add_after_dependency(int* out, int value) {
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 900
  cudaGridDependencySynchronize();
#endif
  *out += value;
}

__global__ void set_bound(domain_bound<int*> out) { *out.get() = 1; }
template <int Id>
__global__ void set_statically_bound(domain_bound<int*, Id> out) {
  *out.get() = 1;
}

class launch : public gpu_test {
 protected:
  void prepare() override {
    stream.emplace();
    out.emplace(1);
  }

  /// Waits for all work to end, and returns the value at `out`.
  [[nodiscard]] int value() const { return copied(*out)[0]; }

  void clear() const {
    check(cudaMemset(out->get(), 0, sizeof(int)));
    finish();
  }

  [[nodiscard]] launch_config<> config() const { return {1, 1, stream->get()}; }

  /// Expects an error that names both domains and the remedy, and that nothing was launched.
  template <class Launch>
  void expect_refused(Launch launch_it, int bound, int domain) {
    clear();
    const std::string sentence = refusal(launch_it);
    EXPECT_TRUE(says(sentence, "bound to physical synchronization domain " + std::to_string(bound)));
    EXPECT_TRUE(says(sentence, "runs in domain " + std::to_string(domain)));
    EXPECT_TRUE(says(sentence, "thread_scope::system"));
    EXPECT_EQ(value(), 0) << "the kernel ran";
  }

  template <class Launch>
  void expect_launched(Launch launch_it) {
    clear();
    launch_it();
    EXPECT_EQ(value(), 1) << "the kernel did not run";
  }

  [[nodiscard]] domain_bound<int*> bound_to(int id) const { return {out->get(), id}; }
  template <int Id>
  [[nodiscard]] domain_bound<int*, Id> statically_bound() const {
    return domain_bound<int*, Id>(out->get());
  }

  std::optional<support::stream> stream;
  std::optional<support::device_memory<int>> out;
};

class bound_launch : public four_domains<launch> {};

TEST_F(launch, runs_in_a_stream_without_attributes) {
  membar::launch(config(), add, out->get(), 3);
  EXPECT_EQ(value(), 3);
}

TEST_F(launch, runs_in_the_null_stream) {
  membar::launch(launch_config{1, 1}, add, out->get(), 3);
  EXPECT_EQ(value(), 3);
  membar::launch(launch_config{1, 1}.with(sync_domain::remote), add, out->get(), 4);
  EXPECT_EQ(value(), 7);
}

TEST_F(launch, converts_arguments_to_parameters) {
  membar::launch(config(), take, out->get(), pair{3, 0.5}, nullptr, -1);
  EXPECT_EQ(value(), 1);
}

TEST_F(launch, runs_with_dynamic_shared_memory) {
  constexpr unsigned bytes = 48 * 1024;
  membar::launch(launch_config{1, 1, stream->get(), bytes}, last_shared_byte, out->get(), bytes);
  EXPECT_EQ(value(), 1);
}

TEST_F(launch, runs_with_all_the_dynamic_shared_memory_that_it_opts_in_for) {
  int most = 0;
  check(cudaDeviceGetAttribute(&most, cudaDevAttrMaxSharedMemoryPerBlockOptin, 0));
  const auto bytes = static_cast<unsigned>(most);
  membar::launch(launch_config{1, 1, stream->get(), bytes}.with(membar::shared_memory_opt_in{}), last_shared_byte_of_much,
                 out->get(), bytes);
  EXPECT_EQ(value(), 1);
  EXPECT_THROW(membar::launch(launch_config{1, 1, stream->get(), bytes + 1}.with(membar::shared_memory_opt_in{}),
                              last_shared_byte_of_much, out->get(), bytes),
               membar::error);
  EXPECT_EQ(cudaPeekAtLastError(), cudaSuccess) << "the error is left for the next call";
}

TEST_F(launch, runs_with_a_cluster_of_sixteen_blocks_if_it_allows_them) {
  const auto large = launch_config{16, 1, stream->get()}.with(membar::cluster_dimensions{16, 1, 1});
  if (!has_compute_capability(9)) {
    GTEST_SKIP() << "this test needs clusters, but the GPU has a compute capability below 9.0";
  }
  EXPECT_THROW(membar::launch(large, count_block, out->get()), membar::error);
  membar::launch(large.with(membar::non_portable_cluster_size{}), count_block, out->get());
  EXPECT_EQ(value(), 16);
}

TEST_F(launch, dynamic_shared_memory_above_48_KiB_needs_the_opt_in_and_the_error_says_what_to_check) {
  constexpr unsigned bytes = 64 * 1024;
  const launch_config large{1, 1, stream->get(), bytes};
  try {
    membar::launch(large, last_shared_byte, out->get(), bytes);
    FAIL() << "launched";
  } catch (const membar::error& failure) {
    EXPECT_EQ(failure.code(), cudaErrorInvalidValue) << failure.what();
    EXPECT_TRUE(says(failure.what(), "shared memory"));
  }
  EXPECT_EQ(cudaPeekAtLastError(), cudaSuccess) << "the error is left for the next call";
  EXPECT_EQ(value(), 0);

  check(cudaFuncSetAttribute(last_shared_byte, cudaFuncAttributeMaxDynamicSharedMemorySize, bytes));
  membar::launch(large, last_shared_byte, out->get(), bytes);
  EXPECT_EQ(value(), 1);
  check(cudaFuncSetAttribute(last_shared_byte, cudaFuncAttributeMaxDynamicSharedMemorySize, 48 * 1024));
}

TEST_F(launch, a_block_that_is_too_large_is_an_error_and_the_next_launch_runs) {
  EXPECT_THROW(membar::launch(launch_config{1, 2048, stream->get()}, add, out->get(), 3), membar::error);
  EXPECT_EQ(cudaPeekAtLastError(), cudaSuccess) << "the error is left for the next call";
  membar::launch(config(), add, out->get(), 4);
  EXPECT_EQ(value(), 4);
}

TEST_F(launch, runs_with_a_cooperative_grid) {
  membar::launch(config().with(membar::cooperative{}), add, out->get(), 3);
  EXPECT_EQ(value(), 3);
}

TEST_F(launch, runs_with_programmatic_stream_serialization) {
  if (!has_compute_capability(9)) {
    GTEST_SKIP() << "this test needs programmatic dependent launch, but the GPU has a compute capability below 9.0";
  }
  membar::launch(config(), add, out->get(), 3);
  for (int i = 0; i != 10; ++i) {
    membar::launch(config().with(membar::programmatic_stream_serialization{}), add_after_dependency, out->get(), 1);
  }
  EXPECT_EQ(value(), 13) << "each kernel waits for its predecessor's writes";
}

TEST_F(launch, runs_with_programmatic_and_completion_events) {
  if (!has_compute_capability(9)) {
    GTEST_SKIP() << "this test needs programmatic dependent launch, but the GPU has a compute capability below 9.0";
  }
  const support::event programmatic(cudaEventDisableTiming);
  membar::launch(config().with(membar::programmatic_event{programmatic.get()}), add, out->get(), 3);
  programmatic.synchronize();
  const support::event started(cudaEventDisableTiming);
  membar::launch(config().with(membar::launch_completion_event{started.get()}), add, out->get(), 3);
  started.synchronize();
  EXPECT_EQ(value(), 6);
}

TEST_F(launch, runs_with_a_shared_memory_carveout) {
  membar::launch(config().with(membar::shared_memory_carveout{100}), add, out->get(), 3);
  membar::launch(config().with(membar::shared_memory_carveout{0}), add, out->get(), 4);
  EXPECT_EQ(value(), 7);
}

#if CUDART_VERSION >= 13000
TEST_F(launch, runs_with_nvlink_centric_scheduling) {
  membar::launch(config().with(membar::nvlink_centric_scheduling{}), add, out->get(), 3);
  EXPECT_EQ(value(), 3);
}
#endif

TEST_F(bound_launch, a_value_out_of_range_launches_nothing) {
  EXPECT_THROW(
      membar::launch(config().with(sync_domain_map{.default_ = 0, .remote = membar::sync_domain_count()}), add, out->get(), 3),
      membar::error);
  EXPECT_EQ(value(), 0);
}

TEST_F(bound_launch, a_handle_of_the_launchs_static_domain_runs) {
  expect_launched([&] { membar::launch(config().with(physical_domain<2>{}), set_statically_bound<2>, statically_bound<2>()); });
  expect_launched([&] { membar::launch(config().with(physical_domain<2>{}), set_bound, bound_to(2)); });
  expect_refused([&] { membar::launch(config().with(physical_domain<2>{}), set_bound, bound_to(1)); }, 1, 2);
}

TEST_F(bound_launch, the_launchs_domain_and_map_decide) {
  const auto own = config().with(sync_domain::remote).with(sync_domain_map{.default_ = 1, .remote = 3});
  expect_launched([&] { membar::launch(own, set_bound, bound_to(3)); });
  expect_launched([&] { membar::launch(own, set_statically_bound<3>, statically_bound<3>()); });
  expect_refused([&] { membar::launch(own, set_bound, bound_to(1)); }, 1, 3);
  expect_refused([&] { membar::launch(own, set_statically_bound<1>, statically_bound<1>()); }, 1, 3);
}

TEST_F(bound_launch, the_stream_decides_what_the_launch_does_not_name) {
  set_attribute(stream->get(), sync_domain_map{.default_ = 1, .remote = 2});
  expect_launched([&] { membar::launch(config(), set_bound, bound_to(1)); });
  expect_launched([&] { membar::launch(config().with(sync_domain::remote), set_bound, bound_to(2)); });
  expect_refused([&] { membar::launch(config(), set_bound, bound_to(0)); }, 0, 1);
  set_attribute(stream->get(), sync_domain::remote);
  expect_launched([&] { membar::launch(config(), set_bound, bound_to(2)); });
  expect_refused([&] { membar::launch(config(), set_bound, bound_to(1)); }, 1, 2);
}

TEST_F(bound_launch, the_null_streams_domain_is_known) {
  expect_launched([&] { membar::launch(launch_config{1, 1}, set_bound, bound_to(0)); });
  expect_refused([&] { membar::launch(launch_config{1, 1}, set_bound, bound_to(1)); }, 1, 0);
  expect_launched([&] { membar::launch(launch_config{1, 1}.with(sync_domain::remote), set_bound, bound_to(1)); });
}

TEST_F(launch, with_a_single_domain_every_launch_runs_in_it) {
  if (membar::sync_domain_count() != 1) {
    GTEST_SKIP() << "this test is about devices with a single synchronization domain, but the GPU has "
                 << membar::sync_domain_count();
  }
  expect_launched([&] { membar::launch(config().with(sync_domain::remote), set_bound, bound_to(0)); });
  expect_launched([&] { membar::launch(config().with(physical_domain<0>{}), set_bound, bound_to(0)); });
  expect_refused([&] { membar::launch(config(), set_bound, bound_to(1)); }, 1, 0);
}

}  // namespace
}  // namespace membar_test
