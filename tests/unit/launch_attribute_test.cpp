// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <membar/launch.hpp>
#include <membar/launch_attribute.hpp>

#include <tests/common/refusal.hpp>
#include <tests/fake_cuda/fake_cuda.hpp>

#include <concepts>
#include <stdexcept>
#include <string>
#include <type_traits>

namespace {

using fake_cuda::now;
using membar::attribute_traits, membar::get_attribute, membar::set_attribute, membar::sync_domain, membar::sync_domain_map;
using membar_test::refusal, membar_test::says;

class launch_attribute : public fake_cuda::test {
 protected:
  [[nodiscard]] sync_domain_map current_map() { return get_attribute<sync_domain_map>(stream.handle()); }

  fake_cuda::stream stream;
  fake_cuda::node node;
};

// Every call with a legal attribute compiles. tests/compile_fail checks that the calls reject illegal attributes.

/// Whether a value can be read back as this attribute. A domain's tag cannot be read back, because the domain is known only at
/// run time.
template <class Attribute>
concept readable = requires(cudaLaunchAttributeValue value) {
  { attribute_traits<Attribute>::decode(value) } -> std::same_as<Attribute>;
};

template <class Attribute>
[[maybe_unused]] void use_where_legal(const membar::launch_config<>& config, cudaStream_t stream, cudaGraphNode_t node,
                                      const Attribute& value) {
  if constexpr (membar::legal_on_a_launch<Attribute>) {
    static_cast<void>(config.with(value));
  }
  if constexpr (membar::legal_on_a_stream<Attribute>) {
    set_attribute(stream, value);
    if constexpr (readable<Attribute>) {
      static_cast<void>(get_attribute<Attribute>(stream));
    }
    const membar::scoped_stream_attribute<Attribute> scope(stream, value);
  }
  if constexpr (membar::legal_on_a_graph_node<Attribute>) {
    set_attribute(node, value);
    if constexpr (readable<Attribute>) {
      static_cast<void>(get_attribute<Attribute>(node));
    }
  }
}

template <class Attribute>
consteval bool legal_on(bool launch, bool stream, bool node) {
  static_cast<void>(&use_where_legal<Attribute>);
  return membar::legal_on_a_launch<Attribute> == launch && membar::legal_on_a_stream<Attribute> == stream &&
         membar::legal_on_a_graph_node<Attribute> == node;
}

/// Returns whether an attribute has this CUDA id and is legal exactly where these arguments say.
template <class Attribute>
consteval bool is(cudaLaunchAttributeID id, bool launch, bool stream, bool node) {
  return sizeof(attribute_traits<Attribute>::ids) == sizeof(id) && attribute_traits<Attribute>::ids[0] == id &&
         legal_on<Attribute>(launch, stream, node);
}

//                                                                                             launch stream node
static_assert(is<sync_domain>(cudaLaunchAttributeMemSyncDomain, /*                          */ true, true, true));
static_assert(is<sync_domain_map>(cudaLaunchAttributeMemSyncDomainMap, /*                   */ true, true, true));
static_assert(is<membar::priority>(cudaLaunchAttributePriority, /*                          */ true, true, true));
static_assert(is<membar::cooperative>(cudaLaunchAttributeCooperative, /*                    */ true, false, true));
static_assert(is<membar::cluster_dimensions>(cudaLaunchAttributeClusterDimension, /*        */ true, false, true));
static_assert(is<membar::cluster_scheduling>(cudaLaunchAttributeClusterSchedulingPolicyPreference, true, false, true));
static_assert(is<membar::programmatic_stream_serialization>(cudaLaunchAttributeProgrammaticStreamSerialization, true, false,
                                                            false));
static_assert(is<membar::programmatic_event>(cudaLaunchAttributeProgrammaticEvent, /*       */ true, false, false));
static_assert(is<membar::synchronization_policy>(cudaLaunchAttributeSynchronizationPolicy, /**/ false, true, false));
static_assert(is<membar::launch_completion_event>(cudaLaunchAttributeLaunchCompletionEvent, /**/ true, false, false));
static_assert(membar::cluster_dimensions{} == membar::cluster_dimensions{1, 1, 1});
static_assert(membar::cluster_dimensions{2} == membar::cluster_dimensions{2, 1, 1},
              "a dimension that is not given is one block");
static_assert(membar::preferred_cluster_dimensions{2} == membar::preferred_cluster_dimensions{2, 1, 1});
static_assert(is<membar::preferred_cluster_dimensions>(cudaLaunchAttributePreferredClusterDimension, true, false, true));
static_assert(is<membar::shared_memory_carveout>(cudaLaunchAttributePreferredSharedMemoryCarveout, true, false, false));
#if CUDART_VERSION >= 13000
static_assert(is<membar::nvlink_centric_scheduling>(cudaLaunchAttributeNvlinkUtilCentricScheduling, true, true, true));
#endif

// A domain's tags count as one attribute, and a physical domain counts as two. Attributes of other types are not legal
// anywhere.
struct no_attribute {};
static_assert(legal_on<sync_domain::default_t>(true, true, true) && legal_on<sync_domain::remote_t>(true, true, true));
static_assert(legal_on<membar::physical_domain<0>>(true, false, false) &&
              legal_on<membar::physical_domain<3>>(true, false, false));
static_assert(legal_on<no_attribute>(false, false, false) && legal_on<int>(false, false, false));
static_assert(legal_on<cudaLaunchAttribute>(false, false, false));

/// Returns CUDA's value for a launch attribute.
template <class Attribute>
cudaLaunchAttributeValue encoded(const Attribute& value) {
  cudaLaunchAttribute out{};
  attribute_traits<Attribute>::encode(value, &out);
  return out.val;
}

template <class... Attributes>
void expect_round_trips(const Attributes&... values) {
  const auto check = [](const auto& value) {
    EXPECT_EQ(attribute_traits<std::remove_cvref_t<decltype(value)>>::decode(encoded(value)), value);
  };
  (check(values), ...);
}

// A stream argument may also be a null pointer, which means the default stream, or an object that has a stream.
struct has_a_stream {  // like cuda::stream_ref
  cudaStream_t stream;
  [[nodiscard]] cudaStream_t get() const { return stream; }
};
struct converts_to_a_stream {  // like PyTorch's c10::cuda::CUDAStream
  cudaStream_t stream;
  operator cudaStream_t() const { return stream; }
};
struct has_a_stream_and_converts : has_a_stream {  // like cuda::stream_ref in some versions of libcu++
  operator cudaStream_t() const { return stream; }
};

class stream_argument : public fake_cuda::test {};

TEST_F(stream_argument, that_is_null_is_the_default_stream) {
  membar::set_attribute(nullptr, membar::priority{3});
  EXPECT_EQ(membar::get_attribute<membar::priority>(nullptr).value, 3);
  EXPECT_EQ(fake_cuda::now().null_stream.attributes[cudaLaunchAttributePriority].priority, 3);
}

template <class Stream>
void expect_that_its_stream_is_used() {
  fake_cuda::stream stream;
  const Stream ref{stream.handle()};
  membar::set_attribute(ref, membar::priority{2});
  EXPECT_EQ(membar::get_attribute<membar::priority>(ref).value, 2);
  { const membar::scoped_stream_attribute scope(ref, membar::priority{1}); }
  EXPECT_EQ(stream.attributes[cudaLaunchAttributePriority].priority, 2);
  const membar::launch_config config{1, 2, ref};
  EXPECT_EQ(config.stream(), stream.handle());
}

TEST_F(stream_argument, may_be_an_object_that_has_a_stream) {
  expect_that_its_stream_is_used<has_a_stream>();
  expect_that_its_stream_is_used<has_a_stream_and_converts>();
}

TEST_F(stream_argument, may_be_an_object_that_converts_to_a_stream) { expect_that_its_stream_is_used<converts_to_a_stream>(); }

TEST_F(launch_attribute, survives_the_way_to_cuda_and_back) {
  using membar::cluster_scheduling, membar::synchronization_policy;
  expect_round_trips(sync_domain(sync_domain::default_), sync_domain(sync_domain::remote));
  expect_round_trips(sync_domain_map{.default_ = 3, .remote = 2}, membar::priority{-5}, membar::cluster_dimensions{2, 3, 4});
  expect_round_trips(membar::cooperative{true}, membar::cooperative{false});
  expect_round_trips(cluster_scheduling::default_, cluster_scheduling::spread, cluster_scheduling::load_balancing);
  expect_round_trips(synchronization_policy::automatic, synchronization_policy::spin, synchronization_policy::yield,
                     synchronization_policy::blocking_sync);
  expect_round_trips(membar::preferred_cluster_dimensions{4, 3, 2});
#if CUDART_VERSION >= 13000
  expect_round_trips(membar::nvlink_centric_scheduling{true}, membar::nvlink_centric_scheduling{false});
#endif
}

TEST_F(launch_attribute, of_launches_alone_reaches_cuda_as_given) {
  EXPECT_EQ(encoded(membar::programmatic_stream_serialization{true}).programmaticStreamSerializationAllowed, 1);
  EXPECT_EQ(encoded(membar::programmatic_stream_serialization{false}).programmaticStreamSerializationAllowed, 0);

  const auto event = reinterpret_cast<cudaEvent_t>(&stream);
  const auto programmatic = encoded(membar::programmatic_event{event, 3, true}).programmaticEvent;
  EXPECT_EQ(programmatic.event, event);
  EXPECT_EQ(programmatic.flags, 3);
  EXPECT_EQ(programmatic.triggerAtBlockStart, 1);
  const auto completion = encoded(membar::launch_completion_event{event, 3}).launchCompletionEvent;
  EXPECT_EQ(completion.event, event);
  EXPECT_EQ(completion.flags, 3);
  EXPECT_EQ(encoded(membar::shared_memory_carveout{0}).sharedMemCarveout, 0U);
  EXPECT_EQ(encoded(membar::shared_memory_carveout{100}).sharedMemCarveout, 100U);
  EXPECT_THROW(static_cast<void>(encoded(membar::shared_memory_carveout{101})), membar::error);
  EXPECT_THROW(static_cast<void>(encoded(membar::shared_memory_carveout{-1})), membar::error);
}

TEST_F(launch_attribute, a_tag_is_the_domain_it_names) {
  EXPECT_EQ(encoded(sync_domain::default_).memSyncDomain, cudaLaunchMemSyncDomainDefault);
  EXPECT_EQ(encoded(sync_domain::remote).memSyncDomain, cudaLaunchMemSyncDomainRemote);
}

TEST_F(launch_attribute, is_set_on_a_stream_and_read_back) {
  set_attribute(stream.handle(), sync_domain::remote);
  set_attribute(stream.handle(), sync_domain_map{.default_ = 2, .remote = 3});
  EXPECT_EQ(get_attribute<sync_domain>(stream.handle()), sync_domain::remote);
  EXPECT_EQ(get_attribute<sync_domain_map>(stream.handle()), (sync_domain_map{.default_ = 2, .remote = 3}));
}

TEST_F(launch_attribute, is_set_on_a_node_and_read_back) {
  set_attribute(node.handle(), sync_domain::remote);
  set_attribute(node.handle(), membar::cooperative{});
  EXPECT_EQ(get_attribute<sync_domain>(node.handle()), sync_domain::remote);
  EXPECT_EQ(get_attribute<membar::cooperative>(node.handle()), membar::cooperative{true});
}

TEST_F(launch_attribute, a_value_that_is_rejected_leaves_stream_and_node_as_they_were) {
  for (const int count : {1, 2, 4}) {
    now().attribute(cudaDevAttrMemSyncDomainCount) = count;
    const sync_domain_map before{.default_ = 0, .remote = 0};
    set_attribute(stream.handle(), before);
    set_attribute(node.handle(), before);
    for (const int id : {-1, count, 260}) {
      const sync_domain_map map{.default_ = 0, .remote = id};
      EXPECT_TRUE(says(refusal([&] { set_attribute(stream.handle(), map); }), " has " + std::to_string(count) + " "));
      EXPECT_THROW(set_attribute(node.handle(), map), membar::error);
      EXPECT_THROW(static_cast<void>(membar::scoped_stream_attribute(stream.handle(), map)), membar::error);
      EXPECT_EQ(current_map(), before);
      EXPECT_EQ(get_attribute<sync_domain_map>(node.handle()), before);
    }
  }
}

TEST_F(launch_attribute, every_map_that_exists_is_accepted) {
  for (const int count : {1, 2, 4}) {
    now().attribute(cudaDevAttrMemSyncDomainCount) = count;
    for (int a = 0; a != count; ++a) {
      for (int b = 0; b != count; ++b) {
        const sync_domain_map map{.default_ = a, .remote = b};
        set_attribute(stream.handle(), map);
        EXPECT_EQ(current_map(), map);
      }
    }
  }
}

TEST_F(launch_attribute, what_cuda_refuses_is_an_error) {
  stream.valid = false;
  node.valid = false;
  EXPECT_THROW(set_attribute(stream.handle(), sync_domain::remote), membar::error);
  EXPECT_THROW(static_cast<void>(get_attribute<sync_domain>(stream.handle())), membar::error);
  EXPECT_THROW(set_attribute(node.handle(), sync_domain::remote), membar::error);
  EXPECT_THROW(static_cast<void>(get_attribute<sync_domain>(node.handle())), membar::error);
  EXPECT_EQ(now().last_error, cudaSuccess) << "the error is left for the next call";
}

TEST_F(launch_attribute, preferred_cluster_dimensions_are_rejected_before_compute_capability_10) {
  const membar::preferred_cluster_dimensions two{2, 1, 1};
  set_attribute(node.handle(), two);
  now().attribute(cudaDevAttrComputeCapabilityMajor) = 9;
  const std::string sentence = refusal([&] { set_attribute(node.handle(), membar::preferred_cluster_dimensions{4, 1, 1}); });
  EXPECT_TRUE(says(sentence, "compute capability 9.x"));
  EXPECT_TRUE(says(sentence, "require 10.0: leave them out"));
  EXPECT_EQ(get_attribute<membar::preferred_cluster_dimensions>(node.handle()), two);
}

#if CUDART_VERSION >= 13000
TEST_F(launch_attribute, what_the_driver_does_not_take_in_a_documented_place_is_rejected_with_what_to_do_instead) {
  stream.not_taken.insert(cudaLaunchAttributeNvlinkUtilCentricScheduling);
  node.not_taken.insert(cudaLaunchAttributeNvlinkUtilCentricScheduling);
  using scheduling = membar::nvlink_centric_scheduling;
  const auto expect_remedy = [](auto call) {
    EXPECT_TRUE(says(refusal(call), "set it for each launch with launch_config::with"));
  };
  expect_remedy([&] { set_attribute(stream.handle(), scheduling{}); });
  expect_remedy([&] { set_attribute(node.handle(), scheduling{}); });
  expect_remedy([&] { return get_attribute<scheduling>(stream.handle()); });
  expect_remedy([&] { return get_attribute<scheduling>(node.handle()); });
  expect_remedy([&] { const membar::scoped_stream_attribute scope(stream.handle(), scheduling{}); });
  EXPECT_EQ(now().last_error, cudaSuccess) << "the error is left for the next call";
}
#endif

TEST_F(launch_attribute, a_scope_puts_the_previous_value_back) {
  const sync_domain_map maps[] = {{.default_ = 3, .remote = 2}, {.default_ = 1, .remote = 1}, {.default_ = 2, .remote = 2}};
  set_attribute(stream.handle(), maps[0]);
  {
    const membar::scoped_stream_attribute outer(stream.handle(), maps[1]);
    {
      const membar::scoped_stream_attribute inner(stream.handle(), maps[2]);
      EXPECT_EQ(current_map(), maps[2]);
    }
    EXPECT_EQ(current_map(), maps[1]);
  }
  EXPECT_EQ(current_map(), maps[0]);
}

TEST_F(launch_attribute, a_scope_left_by_an_exception_puts_the_previous_value_back) {
  const auto work = [&] {
    const membar::scoped_stream_attribute scope(stream.handle(), sync_domain::remote);
    EXPECT_EQ(get_attribute<sync_domain>(stream.handle()), sync_domain::remote);
    throw std::runtime_error("somewhere in the scope");
  };
  EXPECT_THROW(work(), std::runtime_error);
  EXPECT_EQ(get_attribute<sync_domain>(stream.handle()), sync_domain::default_);
}

TEST_F(launch_attribute, a_restore_that_fails_goes_to_the_handler_and_throws_nothing) {
  {
    const membar::scoped_stream_attribute scope(stream.handle(), sync_domain::remote);
    stream.read_only = true;
  }
  ASSERT_EQ(now().failures.size(), 1U);
  const std::string& sentence = now().failures[0];
  EXPECT_TRUE(says(sentence, "membar: cudaErrorInvalidResourceHandle (invalid resource handle): "));
  EXPECT_TRUE(says(sentence, "launch_attribute.hpp:"));
  EXPECT_TRUE(says(sentence, "could not be restored"));
  EXPECT_FALSE(says(sentence, "\n")) << "one sentence";
  EXPECT_EQ(now().last_error, cudaSuccess) << "the error is left for the next call";
}

TEST_F(launch_attribute, a_restore_that_fails_is_printed_where_no_handler_was_set) {
  membar::set_restore_failure_handler(nullptr);
  ::testing::internal::CaptureStderr();
  {
    const membar::scoped_stream_attribute scope(stream.handle(), sync_domain::remote);
    stream.read_only = true;
  }
  EXPECT_TRUE(says(::testing::internal::GetCapturedStderr(), "could not be restored"));
}

static_assert(!std::is_copy_constructible_v<membar::scoped_stream_attribute<sync_domain>>);
static_assert(!std::is_move_constructible_v<membar::scoped_stream_attribute<sync_domain>>);
static_assert(std::is_nothrow_destructible_v<membar::scoped_stream_attribute<sync_domain>>);

}  // namespace
