// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "refused.hpp"

#include <membar/co_residency.hpp>
#include <membar/launch.hpp>
#include <membar/stream_partition.hpp>

using namespace membar;

void kernel(int, float*) {}
int function(int value) { return value; }
void bound_kernel(domain_bound<int*, 1>) {}
void byte_kernel(unsigned char) {}
void float_kernel(float) {}
void size_kernel(std::size_t) {}
void bool_kernel(bool) {}
template <class T>
void template_kernel(T) {}

void places(const launch_config<>& config, cudaStream_t stream, cudaGraphNode_t node) {
  // expect: CUDA does not accept this attribute on a launch
  REFUSED(a_stream_attribute_is_not_for_launches, static_cast<void>(config.with(synchronization_policy::spin)));
  set_attribute(stream, synchronization_policy::spin);
  // expect: CUDA does not accept this attribute on a graph node
  REFUSED(a_stream_attribute_is_not_for_nodes, set_attribute(node, synchronization_policy::spin));
  set_attribute(node, sync_domain::remote);
  // expect: CUDA does not accept this attribute on a stream
  REFUSED(a_node_attribute_is_not_for_streams, set_attribute(stream, cooperative{}));
  set_attribute(node, cooperative{});
  // expect: CUDA does not accept this attribute on a stream
  REFUSED(a_launch_attribute_is_not_for_streams, set_attribute(stream, programmatic_stream_serialization{}));
  static_cast<void>(config.with(programmatic_stream_serialization{}));
  // expect: CUDA does not accept this attribute on a graph node
  REFUSED(a_launch_attribute_is_not_for_nodes, set_attribute(node, programmatic_stream_serialization{}));
  static_cast<void>(config.with(programmatic_stream_serialization{}));
  // expect: CUDA does not accept this attribute on a stream: physical_domain<N> combines two attributes;
  REFUSED(a_physical_domain_is_not_for_streams, set_attribute(stream, physical_domain<1>{}));
  set_attribute(stream, sync_domain_map{.default_ = 1, .remote = 1});
  // expect: CUDA does not accept this attribute on a stream: physical_domain<N> combines two attributes;
  REFUSED(a_physical_domain_has_no_scope_on_a_stream,
          [[maybe_unused]] const scoped_stream_attribute refused_domain(stream, physical_domain<2>{}));
  const scoped_stream_attribute map_for_a_scope(stream, sync_domain_map{.default_ = 1, .remote = 1});
  // expect: CUDA does not accept this attribute on a graph node: physical_domain<N> combines two attributes
  REFUSED(a_physical_domain_is_not_for_nodes, set_attribute(node, physical_domain<1>{}));
  set_attribute(node, sync_domain_map{.default_ = 1, .remote = 1});
  // expect: CUDA does not accept this attribute on a stream
  REFUSED(what_is_no_attribute_is_not_for_streams, set_attribute(stream, 42));
  set_attribute(stream, priority{42});
  // expect: CUDA does not accept this attribute on a graph node
  REFUSED(a_permission_of_a_kernel_is_not_for_nodes, set_attribute(node, shared_memory_opt_in{}));
  static_cast<void>(config.with(shared_memory_opt_in{}));
  // expect: CUDA does not accept this attribute on a stream
  REFUSED(a_launch_attribute_is_not_read_from_a_stream, static_cast<void>(get_attribute<cooperative>(stream)));
  static_cast<void>(get_attribute<sync_domain>(stream));
  // expect: read this attribute back as a type that can hold any of its values
  REFUSED(a_tag_is_not_read_back, static_cast<void>(get_attribute<sync_domain::remote_t>(stream)));
  static_cast<void>(get_attribute<sync_domain>(stream));
  // expect: CUDA does not accept this attribute on a stream
  REFUSED(a_launch_attribute_has_no_scope_on_a_stream,
          [[maybe_unused]] const scoped_stream_attribute refused_scope(stream, cooperative{}));
  const scoped_stream_attribute scope(stream, sync_domain::remote);
  // expect: CUDA does not accept this attribute on a launch
  REFUSED(what_is_no_attribute_is_not_for_launches, static_cast<void>(config.with(42)));
  static_cast<void>(config.with(priority{42}));
}

void once(const launch_config<>& config) {
  // expect: this launch already sets this attribute, or sets a domain or a map
  REFUSED(an_attribute_is_given_once, static_cast<void>(config.with(priority{1}).with(cooperative{}).with(priority{2})));
  static_cast<void>(config.with(priority{1}).with(cooperative{}));
  // expect: this launch already sets this attribute, or sets a domain or a map
  REFUSED(both_tags_are_one_attribute, static_cast<void>(config.with(sync_domain::remote).with(sync_domain::default_)));
  static_cast<void>(config.with(sync_domain::remote));
  // expect: this launch already sets this attribute, or sets a domain or a map
  REFUSED(a_physical_domain_is_a_domain, static_cast<void>(config.with(physical_domain<1>{}).with(sync_domain::remote)));
  static_cast<void>(config.with(physical_domain<1>{}).with(priority{1}));
  // expect: this launch already sets this attribute, or sets a domain or a map
  REFUSED(a_physical_domain_is_a_map, static_cast<void>(config.with(sync_domain_map{}).with(physical_domain<1>{})));
  static_cast<void>(config.with(sync_domain_map{}).with(sync_domain::remote));
  // expect: this launch already sets this attribute, or sets a domain or a map
  REFUSED(a_permission_is_asked_for_once,
          static_cast<void>(config.with(membar::shared_memory_opt_in{}).with(membar::shared_memory_opt_in{})));
  static_cast<void>(config.with(membar::shared_memory_opt_in{}).with(membar::non_portable_cluster_size{}));
  // expect: physical domain ids start at 0: use 0 or greater
  REFUSED(a_physical_domain_counts_from_0, static_cast<void>(config.with(physical_domain<-1>{})));
  static_cast<void>(config.with(physical_domain<0>{}));
  // expect: nodiscard
  REFUSED(with_returns_a_new_configuration, config.with(sync_domain::remote));
  [[maybe_unused]] const auto remote = config.with(sync_domain::remote);
}

void together(const launch_config<>& config, float* data) {
  // expect: a launch with non_portable_cluster_size also needs cluster_dimensions
  REFUSED(a_non_portable_cluster_size_needs_cluster_dimensions,
          membar::launch(config.with(membar::non_portable_cluster_size{}), kernel, 1, data));
  launch(config.with(membar::non_portable_cluster_size{}).with(membar::cluster_dimensions{16, 1, 1}), kernel, 1, data);
  // expect: also needs cluster_dimensions
  REFUSED(preferred_cluster_dimensions_need_cluster_dimensions,
          launch(config.with(preferred_cluster_dimensions{2, 1, 1}), kernel, 1, data));
  launch(config.with(preferred_cluster_dimensions{2, 1, 1}).with(cluster_dimensions{1, 1, 1}), kernel, 1, data);
}

void arguments(const launch_config<>& config, float* data) {
  // expect: a launch needs exactly one argument per kernel parameter
  REFUSED(every_parameter_has_an_argument, launch(config, kernel, 1));
  launch(config, kernel, 1, data);
  // expect: a launch needs exactly one argument per kernel parameter
  REFUSED(every_argument_has_a_parameter, launch(config, kernel, 1, data, 2));
  launch(config, kernel, 1, data);
  // expect: each argument of a launch must convert to the type of its kernel parameter
  REFUSED(constness_is_kept, launch(config, kernel, 1, static_cast<const float*>(data)));
  launch(config, kernel, 1, data);
  // expect: each argument of a launch must convert to the type of its kernel parameter: check their order
  REFUSED(arguments_are_in_the_order_of_the_parameters, launch(config, kernel, data, 1));
  launch(config, kernel, 1, data);
  // expect: a launch needs a kernel, which is a __global__ function that returns
  REFUSED(a_kernel_returns_nothing, launch(config, function, 1));
  function(1);
  // expect: overloaded function
  REFUSED(a_kernel_template_is_given_its_arguments, launch(config, template_kernel, 1));
  launch(config, template_kernel<int>, 1);
  function(1);
  // expect: each argument of a launch must convert to the type of its
  REFUSED(an_argument_is_convertible_to_its_parameter, launch(config, kernel, "one", data));
  launch(config, kernel, short{1}, data);
  // expect: a launch needs exactly one argument per kernel parameter
  REFUSED(every_parameter_of_a_co_resident_kernel_has_an_argument, launch_co_resident(config, kernel, 1));
  launch_co_resident(config, kernel, 1, data);
}

// Numbers convert as in brace-initialization.
void numbers(const launch_config<>& config, int count, float* data) {
  // expect: the_kernel_parameter_does_not_hold_this_constant
  REFUSED(a_byte_is_not_300, launch(config, byte_kernel, 300));
  launch(config, byte_kernel, 255);
  // expect: the_kernel_parameter_does_not_hold_this_constant
  REFUSED(a_byte_is_not_negative, launch(config, byte_kernel, -1));
  launch(config, byte_kernel, 0);
  // expect: the_kernel_parameter_does_not_hold_this_constant
  REFUSED(an_int_has_no_40_bits, launch(config, kernel, 1LL << 40, data));
  launch(config, kernel, 1LL << 30, data);
  // expect: the_kernel_parameter_does_not_hold_this_constant
  REFUSED(a_float_is_not_1e300, launch(config, float_kernel, 1e300));
  launch(config, float_kernel, 1e30);
  // expect: the_kernel_parameter_does_not_hold_this_constant
  REFUSED(a_float_has_no_25_bits, launch(config, float_kernel, (1 << 24) + 1));
  launch(config, float_kernel, 1 << 24);
  // expect: the kernel parameter's type cannot hold every value of this argument's type, and the argument is not
  REFUSED(a_variable_is_not_narrowed, launch(config, byte_kernel, count));
  launch(config, byte_kernel, static_cast<unsigned char>(count));
  // expect: the kernel parameter's type cannot hold every value of this argument's type, and the argument is not
  REFUSED(a_variable_does_not_change_its_sign, launch(config, size_kernel, count));
  launch(config, size_kernel, static_cast<std::size_t>(count));
  // expect: constant expression
  REFUSED(a_result_is_not_narrowed, launch(config, byte_kernel, count + 1));
  launch(config, byte_kernel, static_cast<unsigned char>(count + 1));
  // expect: a launch cannot pass a floating-point argument to an integer parameter:
  REFUSED(a_fraction_is_not_cut_off, launch(config, kernel, 1.0F, data));
  launch(config, kernel, 1, data);
  // expect: a launch cannot pass a pointer argument to a bool parameter:
  REFUSED(a_pointer_is_no_bool, launch(config, bool_kernel, data));
  launch(config, bool_kernel, data != nullptr);
}

void sharing(const launch_config<>& config, int* data) {
  const domain_bound<int*, 1> handle(data);
  // expect: share the data at thread_scope::system, which orders across domains
  REFUSED(a_bound_handle_stays_in_its_domain, launch(config.with(physical_domain<2>{}), bound_kernel, handle));
  launch(config.with(physical_domain<1>{}), bound_kernel, handle);
  // expect: each argument of a launch must convert to the type of its kernel
  REFUSED(a_binding_is_not_changed_by_conversion, launch(config, bound_kernel, domain_bound<int*, 2>(data)));
  launch(config, bound_kernel, handle);
  // expect: each argument of a launch must convert to the type of its kernel
  REFUSED(a_raw_pointer_is_bound_to_no_domain, launch(config.with(physical_domain<1>{}), bound_kernel, data));
  launch(config, bound_kernel, handle);
  // expect: to non-scalar type
  REFUSED(binding_a_pointer_is_explicit, [[maybe_unused]] const domain_bound<int*, 1> refused_implicit = data);
  [[maybe_unused]] const domain_bound<int*, 1> implicit(data);
  // expect: no matching function for call to
  REFUSED(a_domain_known_at_run_time_is_named, [[maybe_unused]] const domain_bound<int*> refused_unnamed(data));
  [[maybe_unused]] const domain_bound<int*> unnamed(data, 1);
  // expect: physical domain ids start at 0: use 0 or greater
  REFUSED(a_binding_to_a_negative_domain_is_none, [[maybe_unused]] const domain_bound<int*, -2> refused_negative(data));
  const domain_bound<int*, 0> negative(data);
  static_cast<void>(negative);
}

void scopes(cudaStream_t stream) {
  // expect: destroying this object restores the attribute: give the object
  REFUSED(a_scope_on_a_stream_has_a_name, scoped_stream_attribute(stream, sync_domain::remote));
  const scoped_stream_attribute scope(stream, sync_domain::remote);
  // expect: destroying this object restores the maps: give the object a
  REFUSED(a_partition_has_a_name, stream_partition(&stream, 1));
  const stream_partition partition(&stream, 1);
}

void values() {
  // expect: to non-scalar type
  REFUSED(a_number_is_no_logical_domain, [[maybe_unused]] const sync_domain refused_domain = 1);
  [[maybe_unused]] const sync_domain domain = sync_domain::remote;
}

int main() {}
