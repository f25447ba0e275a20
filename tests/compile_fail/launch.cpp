// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <membar/launch.hpp>
#include <membar/stream_partition.hpp>

using membar::domain_bound;
using membar::launch_config;
using membar::physical_domain;
using membar::sync_domain;
using membar::sync_domain_map;

void kernel(int, float*) {}
int function(int value) { return value; }
void bound_kernel(domain_bound<int*, 1>) {}

void places(const launch_config<>& config, cudaStream_t stream, cudaGraphNode_t node) {
  static_cast<void>(node);
#ifdef RULE_a_stream_attribute_is_not_for_launches  // expect: CUDA does not accept this attribute on a launch
  static_cast<void>(config.with(membar::synchronization_policy::spin));
#else
  membar::set_attribute(stream, membar::synchronization_policy::spin);
#endif
#ifdef RULE_a_stream_attribute_is_not_for_nodes  // expect: CUDA does not accept this attribute on a graph node
  membar::set_attribute(node, membar::synchronization_policy::spin);
#else
  membar::set_attribute(node, sync_domain::remote);
#endif
#ifdef RULE_a_node_attribute_is_not_for_streams  // expect: CUDA does not accept this attribute on a stream
  membar::set_attribute(stream, membar::cooperative{});
#else
  membar::set_attribute(node, membar::cooperative{});
#endif
#ifdef RULE_a_launch_attribute_is_not_for_streams  // expect: CUDA does not accept this attribute on a stream
  membar::set_attribute(stream, membar::programmatic_stream_serialization{});
#else
  static_cast<void>(config.with(membar::programmatic_stream_serialization{}));
#endif
#ifdef RULE_a_launch_attribute_is_not_for_nodes  // expect: CUDA does not accept this attribute on a graph node
  membar::set_attribute(node, membar::programmatic_stream_serialization{});
#else
  static_cast<void>(config.with(membar::programmatic_stream_serialization{}));
#endif
#ifdef RULE_a_physical_domain_is_not_for_streams  // expect: CUDA does not accept this attribute on a stream
  membar::set_attribute(stream, physical_domain<1>{});
#else
  membar::set_attribute(stream, sync_domain_map{.default_ = 1, .remote = 1});
#endif
#ifdef RULE_a_launch_attribute_is_not_read_from_a_stream  // expect: CUDA does not accept this attribute on a stream
  static_cast<void>(membar::get_attribute<membar::cooperative>(stream));
#else
  static_cast<void>(membar::get_attribute<sync_domain>(stream));
#endif
#ifdef RULE_a_tag_is_not_read_back  // expect: read this attribute back as the type that holds any of its values
  static_cast<void>(membar::get_attribute<sync_domain::remote_t>(stream));
#else
  static_cast<void>(membar::get_attribute<sync_domain>(stream));
#endif
#ifdef RULE_a_launch_attribute_has_no_scope_on_a_stream  // expect: CUDA does not accept this attribute on a stream
  const membar::scoped_stream_attribute scope(stream, membar::cooperative{});
#else
  const membar::scoped_stream_attribute scope(stream, sync_domain::remote);
#endif
#ifdef RULE_what_is_no_attribute_is_not_for_launches  // expect: CUDA does not accept this attribute on a launch
  static_cast<void>(config.with(42));
#else
  static_cast<void>(config.with(membar::priority{42}));
#endif
}

void once(const launch_config<>& config) {
#ifdef RULE_an_attribute_is_given_once  // expect: this launch was given the attribute before
  static_cast<void>(config.with(membar::priority{1}).with(membar::cooperative{}).with(membar::priority{2}));
#else
  static_cast<void>(config.with(membar::priority{1}).with(membar::cooperative{}));
#endif
#ifdef RULE_both_tags_are_one_attribute  // expect: this launch was given the attribute before
  static_cast<void>(config.with(sync_domain::remote).with(sync_domain::default_));
#else
  static_cast<void>(config.with(sync_domain::remote));
#endif
#ifdef RULE_a_physical_domain_is_a_domain  // expect: this launch was given the attribute before
  static_cast<void>(config.with(physical_domain<1>{}).with(sync_domain::remote));
#else
  static_cast<void>(config.with(physical_domain<1>{}).with(membar::priority{1}));
#endif
#ifdef RULE_a_physical_domain_is_a_map  // expect: this launch was given the attribute before
  static_cast<void>(config.with(sync_domain_map{}).with(physical_domain<1>{}));
#else
  static_cast<void>(config.with(sync_domain_map{}).with(sync_domain::remote));
#endif
#ifdef RULE_a_physical_domain_counts_from_0  // expect: a physical domain id counts from 0
  static_cast<void>(config.with(physical_domain<-1>{}));
#else
  static_cast<void>(config.with(physical_domain<0>{}));
#endif
#ifdef RULE_with_returns_a_new_configuration  // expect: nodiscard
  config.with(sync_domain::remote);
#else
  const auto remote = config.with(sync_domain::remote);
  static_cast<void>(remote);
#endif
}

void together(const launch_config<>& config, float* data) {
#if CUDART_VERSION >= 12080
#ifdef RULE_preferred_cluster_dimensions_stand_beside_cluster_dimensions  // expect: is given cluster_dimensions too
  membar::launch(config.with(membar::preferred_cluster_dimensions{2, 1, 1}), kernel, 1, data);
#else
  membar::launch(config.with(membar::preferred_cluster_dimensions{2, 1, 1}).with(membar::cluster_dimensions{1, 1, 1}), kernel,
                 1, data);
#endif
#else
  membar::launch(config, kernel, 1, data);
#endif
}

void arguments(const launch_config<>& config, float* data) {
#ifdef RULE_every_parameter_has_an_argument  // expect: a launch passes one argument per kernel parameter
  membar::launch(config, kernel, 1);
#else
  membar::launch(config, kernel, 1, data);
#endif
#ifdef RULE_every_argument_has_a_parameter  // expect: a launch passes one argument per kernel parameter
  membar::launch(config, kernel, 1, data, 2);
#else
  membar::launch(config, kernel, 1, data);
#endif
#ifdef RULE_constness_is_kept  // expect: each argument of a launch must convert to the type of its kernel parameter
  membar::launch(config, kernel, 1, static_cast<const float*>(data));
#else
  membar::launch(config, kernel, 1, data);
#endif
#ifdef RULE_a_kernel_returns_nothing  // expect: no matching function for call to
  membar::launch(config, function, 1);
#else
  function(1);
#endif
#ifdef RULE_an_argument_is_convertible_to_its_parameter  // expect: each argument of a launch must convert to the type of its
  membar::launch(config, kernel, data, 1);
#else
  membar::launch(config, kernel, short{1}, data);
#endif
}

void sharing(const launch_config<>& config, int* data) {
  const domain_bound<int*, 1> handle(data);
#ifdef RULE_a_bound_handle_stays_in_its_domain  // expect: share the data at thread_scope::system, which orders across domains
  membar::launch(config.with(physical_domain<2>{}), bound_kernel, handle);
#else
  membar::launch(config.with(physical_domain<1>{}), bound_kernel, handle);
#endif
#ifdef RULE_a_binding_is_not_changed_by_conversion  // expect: each argument of a launch must convert to the type of its kernel
  membar::launch(config, bound_kernel, domain_bound<int*, 2>(data));
#else
  membar::launch(config, bound_kernel, handle);
#endif
#ifdef RULE_a_raw_pointer_is_bound_to_no_domain  // expect: each argument of a launch must convert to the type of its kernel
  membar::launch(config.with(physical_domain<1>{}), bound_kernel, data);
#else
  membar::launch(config, bound_kernel, handle);
#endif
#ifdef RULE_binding_a_pointer_is_explicit  // expect: to non-scalar type
  const domain_bound<int*, 1> implicit = data;
#else
  const domain_bound<int*, 1> implicit(data);
#endif
  static_cast<void>(implicit);

#ifdef RULE_a_domain_known_at_run_time_is_named  // expect: no matching function for call to
  const domain_bound<int*> unnamed(data);
#else
  const domain_bound<int*> unnamed(data, 1);
#endif
  static_cast<void>(unnamed);

#ifdef RULE_a_binding_to_a_negative_domain_is_none  // expect: a physical domain id counts from 0
  const domain_bound<int*, -2> negative(data);
#else
  const domain_bound<int*, 0> negative(data);
#endif
  static_cast<void>(negative);
}

void scopes(cudaStream_t stream) {
#ifdef RULE_a_scope_on_a_stream_has_a_name  // expect: the attribute is put back when this object dies
  membar::scoped_stream_attribute(stream, sync_domain::remote);
#else
  const membar::scoped_stream_attribute scope(stream, sync_domain::remote);
#endif
#ifdef RULE_a_partition_has_a_name  // expect: the maps are put back when this object dies
  membar::stream_partition{{}};
#else
  const membar::stream_partition partition({});
#endif
}

void values() {
#ifdef RULE_a_number_is_no_logical_domain  // expect: to non-scalar type
  const sync_domain domain = 1;
#else
  const sync_domain domain = sync_domain::remote;
#endif
  static_cast<void>(domain);
}

int main() {}
