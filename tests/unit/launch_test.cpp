// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <membar/launch.hpp>

#include <tests/common/refusal.hpp>
#include <tests/fake_cuda/fake_cuda.hpp>

#include <concepts>
#include <string>

namespace {

using fake_cuda::now;
using membar::domain_bound, membar::launch_config, membar::physical_domain, membar::set_attribute, membar::sync_domain,
    membar::sync_domain_map;
using membar_test::refusal, membar_test::says;

/// A struct that contains a bound handle and declares the handle's domain with `domain_of`.
struct channel {
  int length;
  domain_bound<int*> flag;
};

/// A struct that contains a handle bound to a domain known at compile time.
struct fixed_channel {
  domain_bound<int*, 2> flag;
};

}  // namespace

template <>
struct membar::domain_of<channel> {
  static constexpr int static_id = membar::dynamic_domain;
  [[nodiscard]] static constexpr int id(const channel& c) noexcept { return c.flag.domain(); }
};
template <>
struct membar::domain_of<fixed_channel> {
  static constexpr int static_id = 2;
  [[nodiscard]] static constexpr int id(const fixed_channel& c) noexcept { return c.flag.domain(); }
};

namespace {

static_assert(membar::bound_to_domain<channel> && membar::bound_to_domain<fixed_channel>);

// Stand-ins for kernels, which are never called.
void no_parameters() {}
void two_parameters(int, const float*) {}
void wide_parameter(long long) {}
void takes_dynamic(domain_bound<int*>) {}
void takes_fixed(domain_bound<int*, 2>) {}
void takes_channel(int, channel) {}
void takes_fixed_channel(fixed_channel) {}
void never_throws(int) noexcept {}
void takes_numbers(unsigned char, std::size_t, float, bool) {}

// Each attribute may be specified only once. A physical domain counts both as a domain and as a map.
template <class Attribute>
consteval bool is_domain() {
  return std::same_as<Attribute, sync_domain> || std::same_as<Attribute, sync_domain::default_t> ||
         std::same_as<Attribute, sync_domain::remote_t>;
}
template <class Attribute>
inline constexpr bool is_physical = false;
template <int Id>
inline constexpr bool is_physical<physical_domain<Id>> = true;

template <class First, class Second>
consteval bool clash() {
  return std::same_as<First, Second> || (is_domain<First>() && is_domain<Second>()) ||
         (is_physical<First> && (is_physical<Second> || is_domain<Second>() || std::same_as<Second, sync_domain_map>)) ||
         (is_physical<Second> && (is_domain<First>() || std::same_as<First, sync_domain_map>));
}

template <class... Attributes>
struct list {};

template <class First, class... All>
consteval bool first_given_with(list<All...>) {
  return ((membar::not_given_before<First, All> == !clash<First, All>()) && ...);
}
template <class... All>
consteval bool every_pair(list<All...> all) {
  return (first_given_with<All>(all) && ...);
}

static_assert(every_pair(list<sync_domain, sync_domain::default_t, sync_domain::remote_t, sync_domain_map, physical_domain<0>,
                              physical_domain<3>, membar::priority, membar::cooperative, membar::cluster_dimensions,
                              membar::cluster_scheduling, membar::programmatic_stream_serialization, membar::programmatic_event,
                              membar::shared_memory_opt_in, membar::non_portable_cluster_size, membar::launch_completion_event,
                              membar::preferred_cluster_dimensions, membar::shared_memory_carveout
#if CUDART_VERSION >= 13000
                              ,
                              membar::nvlink_centric_scheduling
#endif
                              >{}));
static_assert(!membar::not_given_before<sync_domain, membar::priority, sync_domain_map, sync_domain::remote_t>,
              "also if other attributes are in between");

class launch : public fake_cuda::test {
 protected:
  [[nodiscard]] static cudaLaunchAttributeValue launched_with(cudaLaunchAttributeID id) {
    return now().launches.back().value(id);
  }

  /// Expects an error that names both domains and the remedy, and expects that nothing is launched.
  static void expect_refused(auto launch_it, int bound, int domain) {
    const std::size_t before = now().launches.size();
    const std::string said = refusal(launch_it);
    EXPECT_TRUE(says(said, "bound to physical synchronization domain " + std::to_string(bound)));
    EXPECT_TRUE(says(said, "runs in domain " + std::to_string(domain)));
    EXPECT_TRUE(says(said, "thread_scope::system"));
    EXPECT_EQ(now().launches.size(), before);
  }

  fake_cuda::stream stream;
  launch_config<> config{dim3(2, 3, 4), dim3(5, 6, 7), stream.handle(), 1234};
  int* data = nullptr;
};

TEST_F(launch, config_tells_what_it_was_given) {
  EXPECT_EQ(config.grid().x * 100 + config.grid().y * 10 + config.grid().z, 234U);
  EXPECT_EQ(config.block().x * 100 + config.block().y * 10 + config.block().z, 567U);
  EXPECT_EQ(config.stream(), stream.handle());
  EXPECT_EQ(config.dynamic_shared_bytes(), 1234U);

  const auto more =
      config.with(sync_domain::remote).with(membar::priority{-3}).with(sync_domain_map{.default_ = 2, .remote = 3});
  EXPECT_EQ(more.grid().z, 4U);
  EXPECT_EQ(more.block().y, 6U);
  EXPECT_EQ(more.stream(), stream.handle());
  EXPECT_EQ(more.dynamic_shared_bytes(), 1234U);
  EXPECT_EQ(more.get<membar::priority>(), membar::priority{-3});
  EXPECT_EQ(more.get<sync_domain_map>(), (sync_domain_map{.default_ = 2, .remote = 3}));
}

TEST_F(launch, config_defaults_to_the_null_stream_and_no_dynamic_shared_memory) {
  const launch_config plain{1, 32};
  EXPECT_EQ(plain.grid().x, 1U);
  EXPECT_EQ(plain.block().x, 32U);
  EXPECT_EQ(plain.stream(), nullptr);
  EXPECT_EQ(plain.dynamic_shared_bytes(), 0U);
}

template <class Config, class Attribute>
concept knows = requires(const Config& config) { config.template get<Attribute>(); };
static_assert(!knows<launch_config<>, sync_domain>);
static_assert(knows<launch_config<sync_domain>, sync_domain> && !knows<launch_config<sync_domain>, sync_domain_map>);
static_assert(launch_config{1, 32}.with(membar::cooperative{}).get<membar::cooperative>().enabled, "at compile time too");

TEST_F(launch, passes_grid_block_stream_shared_memory_and_kernel) {
  membar::launch(config, no_parameters);
  ASSERT_EQ(now().launches.size(), 1U);
  const fake_cuda::launch& made = now().launches[0];
  EXPECT_EQ(made.grid.x * 100 + made.grid.y * 10 + made.grid.z, 234U);
  EXPECT_EQ(made.block.x * 100 + made.block.y * 10 + made.block.z, 567U);
  EXPECT_EQ(made.stream, stream.handle());
  EXPECT_EQ(made.dynamic_shared_bytes, 1234U);
  EXPECT_EQ(made.kernel, reinterpret_cast<const void*>(no_parameters));
  EXPECT_TRUE(made.attributes.empty());
}

TEST_F(launch, passes_every_attribute_with_its_id) {
  membar::launch(config.with(sync_domain::remote)
                     .with(sync_domain_map{.default_ = 2, .remote = 3})
                     .with(membar::priority{-1})
                     .with(membar::cooperative{})
                     .with(membar::cluster_dimensions{2, 1, 1})
                     .with(membar::programmatic_stream_serialization{}),
                 no_parameters);
  EXPECT_EQ(now().launches.back().attributes.size(), 6U);
  EXPECT_EQ(launched_with(cudaLaunchAttributeMemSyncDomain).memSyncDomain, cudaLaunchMemSyncDomainRemote);
  EXPECT_EQ(launched_with(cudaLaunchAttributeMemSyncDomainMap).memSyncDomainMap.default_, 2);
  EXPECT_EQ(launched_with(cudaLaunchAttributeMemSyncDomainMap).memSyncDomainMap.remote, 3);
  EXPECT_EQ(launched_with(cudaLaunchAttributePriority).priority, -1);
  EXPECT_EQ(launched_with(cudaLaunchAttributeCooperative).cooperative, 1);
  EXPECT_EQ(launched_with(cudaLaunchAttributeClusterDimension).clusterDim.x, 2U);
  EXPECT_EQ(launched_with(cudaLaunchAttributeProgrammaticStreamSerialization).programmaticStreamSerializationAllowed, 1);
}

TEST_F(launch, a_physical_domain_holds_for_both_logical_domains) {
  membar::launch(config.with(membar::priority{-1}).with(physical_domain<3>{}).with(membar::cooperative{}), no_parameters);
  EXPECT_EQ(now().launches.back().attributes.size(), 4U);
  EXPECT_EQ(launched_with(cudaLaunchAttributeMemSyncDomainMap).memSyncDomainMap.default_, 3);
  EXPECT_EQ(launched_with(cudaLaunchAttributeMemSyncDomainMap).memSyncDomainMap.remote, 3);
  // Without this attribute, the stream's domain would be copied.
  static_cast<void>(launched_with(cudaLaunchAttributeMemSyncDomain));
  EXPECT_EQ(launched_with(cudaLaunchAttributeCooperative).cooperative, 1);
}

TEST_F(launch, arguments_become_the_parameters_types) {
  long long seen = 0;
  now().on_launch = [&](void** arguments) { seen = *static_cast<long long*>(arguments[0]); };
  membar::launch(config, wide_parameter, -7);
  EXPECT_EQ(seen, -7);

  const float value = 0;
  now().on_launch = [&](void** arguments) {
    EXPECT_EQ(*static_cast<int*>(arguments[0]), 42);
    EXPECT_EQ(*static_cast<const float**>(arguments[1]), &value);
  };
  membar::launch(config, two_parameters, short{42}, &value);
  EXPECT_EQ(now().launches.size(), 2U);
}

enum unscoped { seven = 7 };

TEST_F(launch, constants_become_the_parameters_types_where_these_hold_them) {
  int calls = 0;
  now().on_launch = [&](void** arguments) {
    EXPECT_EQ(*static_cast<unsigned char*>(arguments[0]), 7);
    EXPECT_EQ(*static_cast<std::size_t*>(arguments[1]), 255U);
    EXPECT_EQ(*static_cast<float*>(arguments[2]), 2.0F);
    EXPECT_TRUE(*static_cast<bool*>(arguments[3]));
    ++calls;
  };
  membar::launch(config, takes_numbers, 7, 255, 2.0, 1);
  membar::launch(config, takes_numbers, seven, 255LL, 2, true);
  constexpr long long wide = 7;
  const int narrow = 255;
  membar::launch(config, takes_numbers, wide, narrow, 2U, 1U);
  const unsigned char byte = 7;
  unsigned count = 255;
  membar::launch(config, takes_numbers, byte, count, 2.0F, count == 255);
  EXPECT_EQ(calls, 4);
}

TEST_F(launch, a_kernel_may_be_noexcept) {
  membar::launch(config, never_throws, 1);
  EXPECT_EQ(now().launches.size(), 1U);
}

TEST_F(launch, a_value_out_of_range_is_rejected_and_nothing_launched) {
  EXPECT_THROW(membar::launch(config.with(sync_domain_map{.default_ = 0, .remote = 4}), no_parameters), membar::error);
  now().attribute(cudaDevAttrMemSyncDomainCount) = 2;
  EXPECT_THROW(membar::launch(config.with(physical_domain<2>{}), no_parameters), membar::error);
  EXPECT_TRUE(now().launches.empty());
}

TEST_F(launch, preferred_cluster_dimensions_are_multiples_of_the_cluster_dimensions) {
  using membar::cluster_dimensions, membar::preferred_cluster_dimensions;
  const auto made = [&](const cluster_dimensions& regular, const preferred_cluster_dimensions& preferred) {
    return refusal([&] { membar::launch(config.with(preferred).with(regular), no_parameters); });
  };
  EXPECT_EQ(made({2, 1, 2}, {4, 3, 2}), "");
  EXPECT_EQ(launched_with(cudaLaunchAttributePreferredClusterDimension).preferredClusterDim.x, 4U);
  EXPECT_EQ(made({2, 1, 1}, {2, 1, 1}), "");
  EXPECT_EQ(now().launches.size(), 2U);
  for (const preferred_cluster_dimensions& none :
       {preferred_cluster_dimensions{3, 2, 2}, {1, 2, 2}, {4, 3, 2}, {4, 4, 4}, {0, 2, 2}}) {
    EXPECT_TRUE(says(made({2, 2, 2}, none), "use multiples of the cluster dimensions in x and y, and the same z"));
  }
  EXPECT_NE(made({0, 1, 1}, {2, 1, 1}), "");
  now().attribute(cudaDevAttrComputeCapabilityMajor) = 9;
  EXPECT_TRUE(says(made({1, 1, 1}, {2, 1, 1}), "require 10.0: leave them out"));
  EXPECT_EQ(now().launches.size(), 2U);
}

TEST_F(launch, has_as_much_dynamic_shared_memory_as_it_opts_in_for) {
  const void* const kernel = reinterpret_cast<const void*>(no_parameters);
  now().kernels[kernel].static_shared_bytes = 1024;
  const auto made = [&](std::size_t bytes) {
    return refusal([&] {
      membar::launch(launch_config{1, 1, stream.handle(), bytes}.with(membar::shared_memory_opt_in{}), no_parameters);
    });
  };
  EXPECT_EQ(made(1000), "");
  EXPECT_EQ(now().kernels[kernel].max_dynamic_shared_bytes, 48 * 1024) << "no opt-in is needed";
  EXPECT_EQ(made(100 * 1024), "");
  EXPECT_EQ(now().kernels[kernel].max_dynamic_shared_bytes, 226 * 1024) << "as much as the device allows";
  EXPECT_EQ(made(226 * 1024), "");
  ASSERT_EQ(now().launches.size(), 3U);
  EXPECT_EQ(now().launches.back().dynamic_shared_bytes, 226U * 1024);
  EXPECT_TRUE(now().launches.back().attributes.empty()) << "the opt-in is not an attribute of CUDA's launch";
  EXPECT_EQ(made(226 * 1024 + 1),
            "membar: a launch with 231425 bytes of dynamic shared memory, in addition to the kernel's 1024 static bytes, was "
            "requested, but a block on device 0 can have at most 232448 bytes in total: request at most 231424 bytes");
  EXPECT_EQ(now().launches.size(), 3U);
}

TEST_F(launch, with_much_dynamic_shared_memory_and_no_opt_in_says_what_to_do) {
  EXPECT_TRUE(says(refusal([&] { membar::launch(launch_config{1, 1, stream.handle(), 49 * 1024}, no_parameters); }),
                   "shared memory (above 48 KiB, use shared_memory_opt_in)"));
}

TEST_F(launch, has_clusters_of_more_than_eight_blocks_if_it_allows_them) {
  const auto large = launch_config{16, 1}.with(membar::cluster_dimensions{16, 1, 1});
  EXPECT_TRUE(says(refusal([&] { membar::launch(large, no_parameters); }), "cudaErrorInvalidClusterSize"));
  membar::launch(large.with(membar::non_portable_cluster_size{}), no_parameters);
  ASSERT_EQ(now().launches.size(), 1U);
  EXPECT_EQ(now().launches[0].attributes.size(), 1U);
}

TEST_F(launch, without_a_driver_or_a_device_says_so) {
  now().fails["cudaLaunchKernelExC"] = {0, cudaErrorNoDevice};
  EXPECT_TRUE(says(refusal([&] { membar::launch(config, no_parameters); }),
                   "): no CUDA device is visible to this process: check CUDA_VISIBLE_DEVICES"));
  now().driver = false;
  const std::string said = refusal([&] { membar::launch(config, no_parameters); });
  EXPECT_TRUE(says(said, "): no CUDA driver was found, or the driver is older than the CUDA runtime"));
  EXPECT_FALSE(says(said, "check grid"));
}

TEST_F(launch, what_cuda_refuses_is_an_error) {
  now().fails["cudaLaunchKernelExC"] = {0, cudaErrorInvalidConfiguration};
  try {
    membar::launch(config, no_parameters);
    FAIL() << "launched";
  } catch (const membar::error& failure) {
    EXPECT_EQ(failure.code(), cudaErrorInvalidConfiguration);
    EXPECT_TRUE(says(failure.what(),
                     "check the grid, the block, shared memory (above 48 KiB, use shared_memory_opt_in) and the attributes"));
    EXPECT_TRUE(says(failure.what(), "launch.hpp:"));
  }
  EXPECT_EQ(now().last_error, cudaSuccess) << "the error is left for the next call";
}

// Shared data that is bound to a domain.

TEST_F(launch, a_handle_of_the_static_domain_is_accepted) {
  membar::launch(config.with(physical_domain<2>{}), takes_fixed, domain_bound<int*, 2>(data));
  membar::launch(config.with(physical_domain<2>{}), takes_dynamic, domain_bound<int*>(data, 2));
  membar::launch(config.with(physical_domain<2>{}), takes_fixed_channel, fixed_channel{domain_bound<int*, 2>(data)});
  EXPECT_EQ(now().launches.size(), 3U);
}

TEST_F(launch, a_handle_of_another_domain_than_the_static_one_is_rejected) {
  expect_refused([&] { membar::launch(config.with(physical_domain<2>{}), takes_dynamic, domain_bound<int*>(data, 1)); }, 1, 2);
}

TEST_F(launch, the_launchs_own_domain_and_map_decide) {
  set_attribute(stream.handle(), sync_domain_map{.default_ = 3, .remote = 3});
  const auto own = config.with(sync_domain::remote).with(sync_domain_map{.default_ = 0, .remote = 2});
  membar::launch(own, takes_dynamic, domain_bound<int*>(data, 2));
  membar::launch(own, takes_fixed, domain_bound<int*, 2>(data));
  EXPECT_EQ(now().launches.size(), 2U);
  expect_refused([&] { membar::launch(own, takes_dynamic, domain_bound<int*>(data, 3)); }, 3, 2);
  expect_refused([&] { membar::launch(own, takes_dynamic, domain_bound<int*>(data, 0)); }, 0, 2);
}

TEST_F(launch, the_stream_decides_what_the_launch_does_not_name) {
  set_attribute(stream.handle(), sync_domain_map{.default_ = 1, .remote = 2});
  membar::launch(config, takes_dynamic, domain_bound<int*>(data, 1));
  membar::launch(config.with(sync_domain::remote), takes_fixed, domain_bound<int*, 2>(data));
  membar::launch(config.with(sync_domain(sync_domain::remote)), takes_fixed, domain_bound<int*, 2>(data));
  set_attribute(stream.handle(), sync_domain::remote);
  membar::launch(config, takes_fixed, domain_bound<int*, 2>(data));
  membar::launch(config.with(sync_domain_map{.default_ = 1, .remote = 0}), takes_dynamic, domain_bound<int*>(data, 0));
  membar::launch(config.with(sync_domain::default_), takes_dynamic, domain_bound<int*>(data, 1));
  EXPECT_EQ(now().launches.size(), 6U);
  expect_refused([&] { membar::launch(config, takes_dynamic, domain_bound<int*>(data, 1)); }, 1, 2);
  expect_refused([&] { membar::launch(config.with(sync_domain::default_), takes_fixed, domain_bound<int*, 2>(data)); }, 2, 1);
}

TEST_F(launch, the_null_streams_attributes_decide_there) {
  set_attribute(cudaStream_t{nullptr}, sync_domain_map{.default_ = 2, .remote = 3});
  membar::launch(launch_config{1, 1}, takes_fixed, domain_bound<int*, 2>(data));
  EXPECT_EQ(now().launches.size(), 1U);
}

TEST_F(launch, a_struct_is_checked_by_its_domain_of) {
  membar::launch(config, takes_channel, 1, channel{1, domain_bound<int*>(data, 0)});
  EXPECT_EQ(now().launches.size(), 1U);
  expect_refused([&] { membar::launch(config, takes_channel, 1, channel{1, domain_bound<int*>(data, 3)}); }, 3, 0);
  expect_refused([&] { membar::launch(config, takes_fixed_channel, fixed_channel{domain_bound<int*, 2>(data)}); }, 2, 0);
}

TEST_F(launch, with_a_single_domain_every_launch_runs_in_it) {
  now().attribute(cudaDevAttrMemSyncDomainCount) = 1;
  membar::launch(config.with(sync_domain::remote), takes_dynamic, domain_bound<int*>(data, 0));
  membar::launch(config.with(physical_domain<0>{}), takes_dynamic, domain_bound<int*>(data, 0));
  EXPECT_EQ(now().launches.size(), 2U);
  expect_refused([&] { membar::launch(config, takes_dynamic, domain_bound<int*>(data, 1)); }, 1, 0);
}

TEST_F(launch, a_stream_that_cannot_be_asked_for_its_domain_is_an_error) {
  stream.valid = false;
  EXPECT_THROW(membar::launch(config, takes_dynamic, domain_bound<int*>(data, 0)), membar::error);
  EXPECT_TRUE(now().launches.empty());
}

}  // namespace
