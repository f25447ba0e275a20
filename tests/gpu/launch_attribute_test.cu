// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Attributes of launches (read back by capturing the launches), streams and graph kernel nodes, as the CUDA driver sees them.
// Decisions in the headers themselves are tested on fake devices in tests/unit. No test here has the label `concurrent`. Some
// tests make CUDA reject a call on purpose, so run compute-sanitizer with `--report-api-errors no`.
#include <membar/launch.hpp>
#include <membar/stream_partition.hpp>

#include <tests/common/captured_graph.hpp>
#include <tests/common/gpu_test.hpp>
#include <tests/common/refusal.hpp>

#include <array>
#include <stdexcept>
#include <string>

namespace membar_test {
namespace {

using membar::get_attribute;
using membar::physical_domain;
using membar::set_attribute;
using membar::sync_domain;
using membar::sync_domain_map;

__global__ void set_to_one(int* out) {
  if (blockIdx.x == 0 && threadIdx.x == 0) {
    *out = 1;
  }
}

class launch_attribute : public gpu_test {
 protected:
  void prepare() override {
    stream.emplace();
    out.emplace(1);
  }

  /// Returns the graph from capturing a launch with `attributes` into `stream`.
  template <class... Attributes>
  [[nodiscard]] captured_graph captured(const Attributes&... attributes) {
    return captured_graph(stream->get(), [&] {
      membar::launch(with(launch_config{2, 32, stream->get()}, attributes...), set_to_one, out->get());
    });
  }
  static const auto& with(const auto& config) { return config; }
  static auto with(const auto& config, const auto& first, const auto&... rest) { return with(config.with(first), rest...); }

  /// Expects a stream or a node to have each of these attributes.
  template <class... Attributes>
  static void expect_on(auto carrier, const Attributes&... values) {
    const auto expect_one = [&]<class Attribute>(const Attribute& value) {
      EXPECT_EQ(get_attribute<Attribute>(carrier), value);
    };
    (expect_one(values), ...);
  }

  static void set_on(auto carrier, const auto&... values) { (set_attribute(carrier, values), ...); }

  /// Expects a captured launch with all of `values` to have all of these attributes.
  void expect_read_back(const auto&... values) { expect_on(captured(values...).kernel_node(), values...); }

  /// Expects that the stream has each of `values` after it is set.
  void expect_set_on_stream(const auto&... values) { (expect_set(stream->get(), values), ...); }

  /// Expects the node of a launch with `attributes` to have `value` after it is set.
  void expect_set_on_node(const auto& value, const auto&... attributes) {
    const captured_graph graph = captured(attributes...);
    expect_set(graph.kernel_node(), value);
  }
  static void expect_set(auto carrier, const auto& value) {
    set_attribute(carrier, value);
    expect_on(carrier, value);
  }

  /// Expects `call` to have the same outcome as CUDA itself: to return normally on success, and otherwise to report an error
  /// with CUDA's code and a remedy, without leaving a pending error.
  template <class Call>
  static void expect_answer_of_cuda(cudaError_t raw, const char* remedy, Call call) {
    static_cast<void>(cudaGetLastError());  // the error of the raw call
    if (raw == cudaSuccess) {
      call();
      return;
    }
    try {
      call();
      ADD_FAILURE() << "CUDA answers " << cudaGetErrorName(raw) << ", membar nothing";
    } catch (const membar::error& failure) {
      EXPECT_EQ(failure.code(), raw) << failure.what();
      EXPECT_TRUE(says(failure.what(), remedy));
    }
    EXPECT_EQ(cudaPeekAtLastError(), cudaSuccess) << "the error is left for the next call";
  }

  [[nodiscard]] static int highest_priority() {
    int lowest = 0;
    int highest = 0;
    check(cudaDeviceGetStreamPriorityRange(&lowest, &highest));
    return highest;
  }

  /// Returns the id of the last domain, which differs from the first if there are several.
  [[nodiscard]] static int last_domain() { return membar::sync_domain_count() - 1; }

  std::optional<support::stream> stream;
  std::optional<support::device_memory<int>> out;
};

class several_domains : public four_domains<launch_attribute> {};

/// Tests of features other than domains that need compute capability `Major`.0.
template <int Major>
class from_capability : public launch_attribute {
 protected:
  void prepare() override {
    launch_attribute::prepare();
    need_compute_capability(Major, "compute capability " + std::to_string(Major) + ".0");
  }
};
class hopper : public from_capability<9> {};
class blackwell : public from_capability<10> {};

// The domain count.

TEST_F(launch_attribute, the_domain_count_is_what_the_driver_says) {
  const int count = attribute_of(cudaDevAttrMemSyncDomainCount);
  EXPECT_EQ(membar::sync_domain_count(0), count);
  EXPECT_EQ(membar::sync_domain_count(), count);
  EXPECT_GE(count, 1);
}

TEST_F(launch_attribute, there_are_4_domains_on_hopper_and_1_before) {
  if (!has_compute_capability(9)) {
    EXPECT_EQ(membar::sync_domain_count(), 1);
  } else if (!has_compute_capability(9, 1)) {
    EXPECT_EQ(membar::sync_domain_count(), 4);
  } else {
    GTEST_SKIP() << "the number of domains is known only for compute capabilities up to 9.0, but the GPU has a later one";
  }
}

TEST_F(launch_attribute, a_device_that_does_not_exist_is_an_error_that_names_it) {
  for (const int device : {1000, -1}) {
    const std::string sentence = refusal([&] { static_cast<void>(membar::sync_domain_count(device)); });
    EXPECT_TRUE(says(sentence, "no device " + std::to_string(device)));
    EXPECT_EQ(cudaPeekAtLastError(), cudaSuccess) << "the error is left for the next call";
  }
}

// Attributes of a launch.

TEST_F(launch_attribute, the_domain_of_a_launch_is_read_back) {
  expect_read_back(sync_domain(sync_domain::default_));
  expect_read_back(sync_domain(sync_domain::remote));
  EXPECT_EQ(get_attribute<sync_domain>(captured(sync_domain::remote).kernel_node()), sync_domain::remote);
}

TEST_F(several_domains, the_map_of_a_launch_is_read_back) {
  for (int a = 0; a != 4; ++a) {
    for (int b = 0; b != 4; ++b) {
      expect_read_back(sync_domain_map{.default_ = a, .remote = b});
    }
  }
}

TEST_F(several_domains, the_physical_domain_of_a_launch_is_read_back_as_its_map) {
  set_on(stream->get(), sync_domain_map{.default_ = 1, .remote = 2}, sync_domain::remote);
  const captured_graph graph = captured(physical_domain<3>{});
  const cudaGraphNode_t node = graph.kernel_node();
  EXPECT_EQ(get_attribute<sync_domain_map>(node).physical(get_attribute<sync_domain>(node)), 3);
  expect_on(node, sync_domain_map{.default_ = 3, .remote = 3});
}

TEST_F(launch_attribute, the_priority_of_a_launch_is_read_back) {
  expect_read_back(membar::priority{highest_priority()});
  expect_read_back(membar::priority{0});
}

TEST_F(launch_attribute, a_cooperative_launch_is_read_back) {
  expect_read_back(membar::cooperative{true});
  expect_read_back(membar::cooperative{false});
}

TEST_F(hopper, the_cluster_dimensions_of_a_launch_are_read_back) { expect_read_back(membar::cluster_dimensions{2, 1, 1}); }

TEST_F(hopper, the_cluster_scheduling_of_a_launch_is_read_back) {
  expect_read_back(membar::cluster_dimensions{2, 1, 1}, membar::cluster_scheduling::spread);
}

TEST_F(blackwell, the_preferred_cluster_dimensions_of_a_launch_are_read_back) {
  const captured_graph graph = captured(membar::cluster_dimensions{1, 1, 1}, membar::preferred_cluster_dimensions{2, 1, 1});
  expect_on(graph.kernel_node(), membar::preferred_cluster_dimensions{2, 1, 1});
}

TEST_F(launch_attribute, preferred_cluster_dimensions_are_rejected_before_compute_capability_10_and_nothing_is_launched) {
  if (has_compute_capability(10)) {
    GTEST_SKIP() << "this test is about devices before compute capability 10.0, but the GPU has a later one";
  }
  const auto expect_refused = [](auto call) { EXPECT_TRUE(says(refusal(call), "require 10.0: leave them out")); };
  expect_refused([&] {
    membar::launch(launch_config{2, 32, stream->get()}
                       .with(membar::cluster_dimensions{1, 1, 1})
                       .with(membar::preferred_cluster_dimensions{2, 1, 1}),
                   set_to_one, out->get());
  });
  EXPECT_EQ(copied(*out)[0], 0);
  const captured_graph graph = captured();
  expect_refused([&] { set_attribute(graph.kernel_node(), membar::preferred_cluster_dimensions{2, 1, 1}); });
}

#if CUDART_VERSION >= 13000
constexpr cudaLaunchAttributeID nvlink_id = cudaLaunchAttributeNvlinkUtilCentricScheduling;
constexpr const char* nvlink_remedy = "set it for each launch with launch_config::with";

TEST_F(launch_attribute, the_nvlink_centric_scheduling_of_a_launch_is_read_back_where_the_driver_tells_it) {
  for (const bool enabled : {true, false}) {
    const membar::nvlink_centric_scheduling value{enabled};
    const captured_graph graph = captured(value);
    cudaLaunchAttributeValue native{};
    expect_answer_of_cuda(cudaGraphKernelNodeGetAttribute(graph.kernel_node(), nvlink_id, &native), nvlink_remedy,
                          [&] { EXPECT_EQ(get_attribute<membar::nvlink_centric_scheduling>(graph.kernel_node()), value); });
  }
}
#endif

TEST_F(several_domains, several_attributes_of_a_launch_are_read_back) {
  expect_read_back(sync_domain(sync_domain::remote), sync_domain_map{.default_ = 0, .remote = 2},
                   membar::priority{highest_priority()}, membar::cooperative{});
}

// Attributes of a stream.

TEST_F(several_domains, a_new_stream_has_cudas_domain_and_map) {
  expect_on(stream->get(), sync_domain(sync_domain::default_), sync_domain_map{});
}

TEST_F(launch_attribute, the_domain_of_a_stream_is_read_back) {
  expect_set_on_stream(sync_domain(sync_domain::remote), sync_domain(sync_domain::default_));
}

TEST_F(several_domains, the_map_of_a_stream_is_read_back) {
  expect_set_on_stream(sync_domain_map{.default_ = 3, .remote = 2}, sync_domain_map{.default_ = 0, .remote = 0});
}

TEST_F(launch_attribute, the_synchronization_policy_of_a_stream_is_read_back) {
  expect_set_on_stream(membar::synchronization_policy::blocking_sync, membar::synchronization_policy::spin);
}

TEST_F(launch_attribute, the_priority_of_a_stream_is_read_back) { expect_set_on_stream(membar::priority{highest_priority()}); }

#if CUDART_VERSION >= 13000
TEST_F(launch_attribute, the_nvlink_centric_scheduling_of_a_stream_is_set_where_the_driver_takes_it) {
  for (const bool enabled : {true, false}) {
    cudaLaunchAttributeValue native{};
    native.nvlinkUtilCentricScheduling = enabled ? 1U : 0U;
    expect_answer_of_cuda(cudaStreamSetAttribute(stream->get(), nvlink_id, &native), nvlink_remedy,
                          [&] { expect_set_on_stream(membar::nvlink_centric_scheduling{enabled}); });
    cudaLaunchAttributeValue read{};
    expect_answer_of_cuda(cudaStreamGetAttribute(stream->get(), nvlink_id, &read), nvlink_remedy,
                          [&] { static_cast<void>(get_attribute<membar::nvlink_centric_scheduling>(stream->get())); });
  }
}
#endif

TEST_F(several_domains, a_map_with_an_id_beyond_the_count_is_an_error_that_says_the_count_and_changes_nothing) {
  const sync_domain_map before{.default_ = 2, .remote = 3};
  set_attribute(stream->get(), before);
  const int count = membar::sync_domain_count();
  for (const int id : {-1, count, 255, 256, 260}) {
    const std::string sentence = refusal([&] { set_attribute(stream->get(), sync_domain_map{.default_ = 0, .remote = id}); });
    EXPECT_TRUE(says(sentence, " is " + std::to_string(id) + ","));
    EXPECT_TRUE(says(sentence, " has " + std::to_string(count) + " "));
    expect_on(stream->get(), before);
  }
}

TEST_F(several_domains, a_scope_on_a_stream_is_restored_nested_and_after_an_exception) {
  const sync_domain_map before{.default_ = 2, .remote = 3};
  set_attribute(stream->get(), before);
  try {
    const membar::scoped_stream_attribute map(stream->get(), sync_domain_map{.default_ = 1, .remote = 1});
    const membar::scoped_stream_attribute domain(stream->get(), sync_domain::remote);
    {
      const membar::scoped_stream_attribute inner(stream->get(), sync_domain_map{.default_ = 3, .remote = 3});
      expect_on(stream->get(), sync_domain_map{.default_ = 3, .remote = 3});
    }
    expect_on(stream->get(), sync_domain_map{.default_ = 1, .remote = 1}, sync_domain(sync_domain::remote));
    throw std::runtime_error("somewhere in the scope");
  } catch (const std::runtime_error&) {
  }
  expect_on(stream->get(), before, sync_domain(sync_domain::default_));
}

TEST_F(launch_attribute, a_partition_gives_the_domains_in_turn_and_puts_the_maps_back) {
  const std::array<support::stream, 6> streams;
  std::array<cudaStream_t, 6> handles{};
  std::array<sync_domain_map, 6> before{};
  const int count = membar::sync_domain_count();
  for (std::size_t i = 0; i != handles.size(); ++i) {
    handles[i] = streams[i].get();
    before[i] = {.default_ = static_cast<int>(i) % count, .remote = last_domain()};
    set_attribute(handles[i], before[i]);
  }
  {
    const membar::stream_partition partition(handles);
    for (std::size_t i = 0; i != handles.size(); ++i) {
      const int domain = static_cast<int>(i) % count;
      EXPECT_EQ(partition.domain(i), domain);
      expect_on(handles[i], sync_domain_map{.default_ = domain, .remote = domain});
    }
  }
  for (std::size_t i = 0; i != handles.size(); ++i) {
    EXPECT_EQ(get_attribute<sync_domain_map>(handles[i]), before[i]) << "stream " << i;
  }
  {
    membar::stream_partition partition(handles);
    partition.keep();
  }
  expect_on(handles[5], sync_domain_map{.default_ = 5 % count, .remote = 5 % count});
}

// Attributes of a graph kernel node.

TEST_F(launch_attribute, the_domain_of_a_node_is_read_back) { expect_set_on_node(sync_domain(sync_domain::remote)); }
TEST_F(several_domains, the_map_of_a_node_is_read_back) { expect_set_on_node(sync_domain_map{.default_ = 3, .remote = 1}); }
TEST_F(launch_attribute, the_priority_of_a_node_is_read_back) { expect_set_on_node(membar::priority{highest_priority()}); }
TEST_F(launch_attribute, a_node_becomes_cooperative) { expect_set_on_node(membar::cooperative{}); }
TEST_F(hopper, the_cluster_dimensions_of_a_node_are_read_back) { expect_set_on_node(membar::cluster_dimensions{2, 1, 1}); }

TEST_F(hopper, the_cluster_scheduling_of_a_node_is_read_back) {
  expect_set_on_node(membar::cluster_scheduling::load_balancing, membar::cluster_dimensions{2, 1, 1});
}

TEST_F(blackwell, the_preferred_cluster_dimensions_of_a_node_are_read_back) {
  expect_set_on_node(membar::preferred_cluster_dimensions{2, 1, 1}, membar::cluster_dimensions{1, 1, 1});
}

#if CUDART_VERSION >= 13000
TEST_F(launch_attribute, the_nvlink_centric_scheduling_of_a_node_is_set_where_the_driver_takes_it) {
  const captured_graph graph = captured();
  cudaLaunchAttributeValue native{};
  native.nvlinkUtilCentricScheduling = 1;
  expect_answer_of_cuda(cudaGraphKernelNodeSetAttribute(graph.kernel_node(), nvlink_id, &native), nvlink_remedy,
                        [&] { set_attribute(graph.kernel_node(), membar::nvlink_centric_scheduling{true}); });
  // Some drivers accept the attribute but do not report it.
  cudaLaunchAttributeValue read{};
  expect_answer_of_cuda(cudaGraphKernelNodeGetAttribute(graph.kernel_node(), nvlink_id, &read), nvlink_remedy,
                        [&] { static_cast<void>(get_attribute<membar::nvlink_centric_scheduling>(graph.kernel_node())); });
}
#endif

TEST_F(launch_attribute, a_node_that_is_no_kernel_node_is_an_error) {
  cudaGraphNode_t empty = nullptr;
  const captured_graph graph = captured();
  check(cudaGraphAddEmptyNode(&empty, graph.get(), nullptr, 0));
  EXPECT_THROW(set_attribute(empty, sync_domain::remote), membar::error);
  EXPECT_THROW(static_cast<void>(get_attribute<sync_domain>(empty)), membar::error);
  EXPECT_EQ(cudaPeekAtLastError(), cudaSuccess) << "the error is left for the next call";
}

TEST_F(several_domains, capture_copies_the_streams_domain_and_map_to_the_node) {
  set_on(stream->get(), sync_domain::remote, sync_domain_map{.default_ = 1, .remote = 3});
  const captured_graph graph = captured();
  expect_on(graph.kernel_node(), sync_domain(sync_domain::remote), sync_domain_map{.default_ = 1, .remote = 3});
}

TEST_F(several_domains, the_launchs_own_attributes_override_the_streams) {
  set_on(stream->get(), sync_domain::remote, sync_domain_map{.default_ = 1, .remote = 3});
  const captured_graph domain = captured(sync_domain::default_);
  expect_on(domain.kernel_node(), sync_domain(sync_domain::default_), sync_domain_map{.default_ = 1, .remote = 3});
  const captured_graph map = captured(sync_domain_map{.default_ = 0, .remote = 2});
  expect_on(map.kernel_node(), sync_domain(sync_domain::remote), sync_domain_map{.default_ = 0, .remote = 2});
}

TEST_F(several_domains, the_stream_that_launches_a_graph_does_not_change_its_nodes) {
  const captured_graph graph = captured(sync_domain::remote, sync_domain_map{.default_ = 1, .remote = 2});
  const support::stream other;
  set_on(other.get(), sync_domain::default_, sync_domain_map{.default_ = 3, .remote = 3});
  graph.run(other.get());
  expect_on(graph.kernel_node(), sync_domain(sync_domain::remote), sync_domain_map{.default_ = 1, .remote = 2});
  expect_on(other.get(), sync_domain_map{.default_ = 3, .remote = 3});
}

TEST_F(several_domains, changing_a_stream_does_not_change_what_was_captured_from_it) {
  set_attribute(stream->get(), sync_domain_map{.default_ = 1, .remote = 2});
  const captured_graph graph = captured();
  set_attribute(stream->get(), sync_domain_map{.default_ = 3, .remote = 3});
  expect_on(graph.kernel_node(), sync_domain_map{.default_ = 1, .remote = 2});
}

// The same code runs on a device with a single domain: domains have no effect, and an id that does not exist is still an error.
TEST_F(launch_attribute, with_a_single_domain_remote_launches_run_and_a_second_id_is_an_error) {
  if (membar::sync_domain_count() != 1) {
    GTEST_SKIP() << "this test is about devices with a single synchronization domain, but the GPU has "
                 << membar::sync_domain_count();
  }
  membar::launch(launch_config{1, 1, stream->get()}.with(sync_domain::remote), set_to_one, out->get());
  stream->synchronize();
  EXPECT_THROW(set_attribute(stream->get(), sync_domain_map{}), membar::error);
  set_attribute(stream->get(), sync_domain_map{.default_ = 0, .remote = 0});
}

}  // namespace
}  // namespace membar_test
