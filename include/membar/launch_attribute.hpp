// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
/// @file
/// Launch attributes as types. For each attribute, this header defines a type, the places (launch, stream, graph kernel node)
/// where CUDA accepts it, and the calls that set it there and read it back.
///
/// When a launch is captured, the graph node receives the attributes of the launch and, for attributes that the launch does not
/// name, the attributes of the stream. From then on, only the node's attributes apply: the attributes of the stream that
/// launches the graph do not affect its nodes. Source: `cudaLaunchAttributeID` in CUDA 13.0's driver_types.h, whose comments
/// state where each attribute is valid.
#pragma once

#include <membar/detail/stream_handle.hpp>
#include <membar/error.hpp>
#include <membar/sync_domain.hpp>

#include <concepts>
#include <cstddef>

namespace membar {
inline namespace v0_3 {

/// A launch, stream or node priority. Smaller values run earlier. `cudaDeviceGetStreamPriorityRange` returns the device's
/// range.
struct priority {
  int value = 0;
  friend constexpr bool operator==(priority, priority) noexcept = default;
};

/// All blocks of the grid are resident at the same time, or the launch fails. A grid barrier requires this.
struct cooperative {
  bool enabled = true;
  friend constexpr bool operator==(cooperative, cooperative) noexcept = default;
};

/// The number of blocks per thread block cluster, in each dimension. Each member must divide the corresponding dimension of the
/// grid. Requires compute capability 9.0.
struct cluster_dimensions {
  unsigned x = 1;
  unsigned y = 1;
  unsigned z = 1;
  friend constexpr bool operator==(const cluster_dimensions&, const cluster_dimensions&) noexcept = default;
};

/// How the blocks of a cluster are placed on multiprocessors.
enum class cluster_scheduling {
  default_ = cudaClusterSchedulingPolicyDefault,
  spread = cudaClusterSchedulingPolicySpread,
  load_balancing = cudaClusterSchedulingPolicyLoadBalancing
};

/// Programmatic dependent launch: the kernel may start before its predecessor in the stream ends, and waits for it with
/// `cudaGridDependencySynchronize`. Requires compute capability 9.0.
struct programmatic_stream_serialization {
  bool allowed = true;
  friend constexpr bool operator==(programmatic_stream_serialization, programmatic_stream_serialization) noexcept = default;
};

/// An event (created with `cudaEventDisableTiming`) recorded once every block has triggered it.
struct programmatic_event {
  cudaEvent_t event = nullptr;
  int flags = 0;
  bool trigger_at_block_start = false;
};

/// An event (created with `cudaEventDisableTiming`) recorded once every block has started.
struct launch_completion_event {
  cudaEvent_t event = nullptr;
  int flags = 0;
};

/// Cluster dimensions that the device uses if it can. They must be multiples of `cluster_dimensions` in x and y, have the same
/// z, and divide the grid's dimensions. The launch also needs `cluster_dimensions`.
///
/// Requires compute capability 10.0. On older devices, membar reports an error, because CUDA may silently ignore the attribute:
/// on an H200, CUDA accepts the attribute on a launch without an error, but the captured launch's node does not have it.
struct preferred_cluster_dimensions {
  unsigned x = 1;
  unsigned y = 1;
  unsigned z = 1;
  friend constexpr bool operator==(const preferred_cluster_dimensions&, const preferred_cluster_dimensions&) noexcept = default;
};

/// The preferred percentage of the combined L1 and shared memory to use as shared memory.
struct shared_memory_carveout {
  int percent = 0;
  friend constexpr bool operator==(shared_memory_carveout, shared_memory_carveout) noexcept = default;
};

#if CUDART_VERSION >= 13000
/// A hint to distribute the blocks so that they keep NVLink busy. Requires CUDA 13.0.
///
/// CUDA documents this attribute for launches, streams and nodes. Driver 580.159 on an H200 accepts it on launches and nodes,
/// rejects it on streams, and cannot read it back from either launches or nodes.
struct nvlink_centric_scheduling {
  bool enabled = true;
  friend constexpr bool operator==(nvlink_centric_scheduling, nvlink_centric_scheduling) noexcept = default;
};
#endif

/// Permits more than 48 KiB of dynamic shared memory: up to the device's opt-in limit per block, minus the kernel's static
/// shared memory. Without it, such a launch is rejected.
///
/// CUDA stores the permission with the kernel and not with the launch, so it also applies to later launches of the kernel on
/// the device.
struct shared_memory_opt_in {
  friend constexpr bool operator==(shared_memory_opt_in, shared_memory_opt_in) noexcept = default;
};

/// Permits clusters of more than 8 blocks, which not every device of compute capability 9.0 or later can place. The launch also
/// needs `cluster_dimensions`.
///
/// CUDA stores the permission with the kernel and not with the launch, so it also applies to later launches of the kernel on
/// the device.
struct non_portable_cluster_size {
  friend constexpr bool operator==(non_portable_cluster_size, non_portable_cluster_size) noexcept = default;
};

/// How a host thread waits for work in a stream.
enum class synchronization_policy {
  automatic = cudaSyncPolicyAuto,
  spin = cudaSyncPolicySpin,
  yield = cudaSyncPolicyYield,
  blocking_sync = cudaSyncPolicyBlockingSync
};

/// The places where CUDA accepts an attribute.
struct attribute_places {
  bool launch = false;
  bool stream = false;
  bool node = false;
};

/// An attribute type's CUDA ids, its places, and its conversion to CUDA's value and back.
///
/// `encode` writes one `cudaLaunchAttribute` per id. It throws `error` for a value that the current device cannot honour.
/// `if_refused`, if given, is the remedy that the error names if the driver rejects the attribute in a place that CUDA
/// documents. An attribute that CUDA stores with the kernel has no id, and has `allow(kernel, launch)` instead of `encode`. A
/// header that adds an attribute also adds a specialization.
template <class Attribute>
struct attribute_traits {};

template <>
struct attribute_traits<sync_domain> {
  static constexpr cudaLaunchAttributeID ids[1] = {cudaLaunchAttributeMemSyncDomain};
  static constexpr attribute_places places{.launch = true, .stream = true, .node = true};
  static void encode(sync_domain domain, cudaLaunchAttribute* out) {
    if (domain.value() != cudaLaunchMemSyncDomainDefault && domain.value() != cudaLaunchMemSyncDomainRemote) {
      throw error(cudaErrorInvalidValue, "membar: the logical domain is %d: use sync_domain::default_ or sync_domain::remote",
                  static_cast<int>(domain.value()));
    }
    out->val.memSyncDomain = domain.value();
  }
  static sync_domain decode(const cudaLaunchAttributeValue& value) { return sync_domain(value.memSyncDomain); }
};
template <>
struct attribute_traits<sync_domain::default_t> : attribute_traits<sync_domain> {};
template <>
struct attribute_traits<sync_domain::remote_t> : attribute_traits<sync_domain> {};

template <>
struct attribute_traits<sync_domain_map> {
  static constexpr cudaLaunchAttributeID ids[1] = {cudaLaunchAttributeMemSyncDomainMap};
  static constexpr attribute_places places{.launch = true, .stream = true, .node = true};
  static void encode(const sync_domain_map& map, cudaLaunchAttribute* out) {
    validate(map, sync_domain_count());
    out->val.memSyncDomainMap.default_ = static_cast<unsigned char>(map.default_);
    out->val.memSyncDomainMap.remote = static_cast<unsigned char>(map.remote);
  }
  static sync_domain_map decode(const cudaLaunchAttributeValue& value) {
    return {.default_ = value.memSyncDomainMap.default_, .remote = value.memSyncDomainMap.remote};
  }
};

/// A physical domain combines a logical domain and a map that assigns both logical domains to it: one attribute with two ids.
template <int Id>
struct attribute_traits<physical_domain<Id>> {
  static constexpr cudaLaunchAttributeID ids[2] = {cudaLaunchAttributeMemSyncDomain, cudaLaunchAttributeMemSyncDomainMap};
  static constexpr attribute_places places{.launch = true};
  static void encode(physical_domain<Id>, cudaLaunchAttribute* out) {
    attribute_traits<sync_domain>::encode(sync_domain::default_, &out[0]);
    attribute_traits<sync_domain_map>::encode({.default_ = Id, .remote = Id}, &out[1]);
  }
};

template <>
struct attribute_traits<priority> {
  static constexpr cudaLaunchAttributeID ids[1] = {cudaLaunchAttributePriority};
  static constexpr attribute_places places{.launch = true, .stream = true, .node = true};
  static void encode(priority p, cudaLaunchAttribute* out) { out->val.priority = p.value; }
  static priority decode(const cudaLaunchAttributeValue& value) { return {value.priority}; }
};

template <>
struct attribute_traits<cooperative> {
  static constexpr cudaLaunchAttributeID ids[1] = {cudaLaunchAttributeCooperative};
  static constexpr attribute_places places{.launch = true, .node = true};
  static void encode(cooperative c, cudaLaunchAttribute* out) { out->val.cooperative = c.enabled ? 1 : 0; }
  static cooperative decode(const cudaLaunchAttributeValue& value) { return {value.cooperative != 0}; }
};

template <>
struct attribute_traits<cluster_dimensions> {
  static constexpr cudaLaunchAttributeID ids[1] = {cudaLaunchAttributeClusterDimension};
  static constexpr attribute_places places{.launch = true, .node = true};
  static void encode(const cluster_dimensions& c, cudaLaunchAttribute* out) { out->val.clusterDim = {c.x, c.y, c.z}; }
  static cluster_dimensions decode(const cudaLaunchAttributeValue& value) {
    return {value.clusterDim.x, value.clusterDim.y, value.clusterDim.z};
  }
};

template <>
struct attribute_traits<cluster_scheduling> {
  static constexpr cudaLaunchAttributeID ids[1] = {cudaLaunchAttributeClusterSchedulingPolicyPreference};
  static constexpr attribute_places places{.launch = true, .node = true};
  static void encode(cluster_scheduling policy, cudaLaunchAttribute* out) {
    out->val.clusterSchedulingPolicyPreference = static_cast<cudaClusterSchedulingPolicy>(policy);
  }
  static cluster_scheduling decode(const cudaLaunchAttributeValue& value) {
    return static_cast<cluster_scheduling>(value.clusterSchedulingPolicyPreference);
  }
};

template <>
struct attribute_traits<programmatic_stream_serialization> {
  static constexpr cudaLaunchAttributeID ids[1] = {cudaLaunchAttributeProgrammaticStreamSerialization};
  static constexpr attribute_places places{.launch = true};
  static void encode(programmatic_stream_serialization p, cudaLaunchAttribute* out) {
    out->val.programmaticStreamSerializationAllowed = p.allowed ? 1 : 0;
  }
};

template <>
struct attribute_traits<programmatic_event> {
  static constexpr cudaLaunchAttributeID ids[1] = {cudaLaunchAttributeProgrammaticEvent};
  static constexpr attribute_places places{.launch = true};
  static void encode(const programmatic_event& p, cudaLaunchAttribute* out) {
    out->val.programmaticEvent = {p.event, p.flags, p.trigger_at_block_start ? 1 : 0};
  }
};

template <>
struct attribute_traits<launch_completion_event> {
  static constexpr cudaLaunchAttributeID ids[1] = {cudaLaunchAttributeLaunchCompletionEvent};
  static constexpr attribute_places places{.launch = true};
  static void encode(const launch_completion_event& e, cudaLaunchAttribute* out) {
    out->val.launchCompletionEvent = {e.event, e.flags};
  }
};

template <>
struct attribute_traits<preferred_cluster_dimensions> {
  static constexpr cudaLaunchAttributeID ids[1] = {cudaLaunchAttributePreferredClusterDimension};
  static constexpr attribute_places places{.launch = true, .node = true};
  static constexpr const char* if_refused =
      "pass a kernel node of a graph that still exists, and use a device of compute capability 10.0, which "
      "preferred_cluster_dimensions requires";
  static void encode(const preferred_cluster_dimensions& c, cudaLaunchAttribute* out) {
    int device = 0;
    int major = 0;
    check(cudaGetDevice(&device), "check with nvidia-smi that the CUDA driver and the device work");
    check(cudaDeviceGetAttribute(&major, cudaDevAttrComputeCapabilityMajor, device),
          "check with nvidia-smi that the CUDA driver and the device work");
    if (major < 10) {
      throw error(cudaErrorNotSupported,
                  "membar: device %d has compute capability %d.x, but preferred cluster dimensions require 10.0: leave "
                  "them out, and give the launch only cluster_dimensions",
                  device, major);
    }
    out->val.preferredClusterDim = {c.x, c.y, c.z};
  }
  static preferred_cluster_dimensions decode(const cudaLaunchAttributeValue& value) {
    return {value.preferredClusterDim.x, value.preferredClusterDim.y, value.preferredClusterDim.z};
  }
};

template <>
struct attribute_traits<shared_memory_carveout> {
  static constexpr cudaLaunchAttributeID ids[1] = {cudaLaunchAttributePreferredSharedMemoryCarveout};
  static constexpr attribute_places places{.launch = true};
  static void encode(shared_memory_carveout c, cudaLaunchAttribute* out) {
    if (c.percent < 0 || c.percent > 100) {
      throw error(cudaErrorInvalidValue, "membar: the shared-memory carve-out is %d percent: use a value from 0 to 100",
                  c.percent);
    }
    out->val.sharedMemCarveout = static_cast<unsigned>(c.percent);
  }
};

#if CUDART_VERSION >= 13000
template <>
struct attribute_traits<nvlink_centric_scheduling> {
  static constexpr cudaLaunchAttributeID ids[1] = {cudaLaunchAttributeNvlinkUtilCentricScheduling};
  static constexpr attribute_places places{.launch = true, .stream = true, .node = true};
  static constexpr const char* if_refused =
      "pass a stream of the current device, or a kernel node of a graph that still exists; if you did, this driver does not "
      "support nvlink_centric_scheduling there: set it for each launch with launch_config::with";
  static void encode(nvlink_centric_scheduling n, cudaLaunchAttribute* out) {
    out->val.nvlinkUtilCentricScheduling = n.enabled ? 1U : 0U;
  }
  static nvlink_centric_scheduling decode(const cudaLaunchAttributeValue& value) {
    return {value.nvlinkUtilCentricScheduling != 0};
  }
};
#endif

template <>
struct attribute_traits<shared_memory_opt_in> {
  static constexpr attribute_places places{.launch = true};
  static void allow(const void* kernel, const cudaLaunchConfig_t& launch) {
    cudaFuncAttributes of_kernel{};
    int device = 0;
    int most = 0;
    check(cudaFuncGetAttributes(&of_kernel, kernel), "pass a kernel that is compiled for the current device");
    check(cudaGetDevice(&device), "check with nvidia-smi that the CUDA driver and the device work");
    check(cudaDeviceGetAttribute(&most, cudaDevAttrMaxSharedMemoryPerBlockOptin, device),
          "check with nvidia-smi that the CUDA driver and the device work");
    const std::size_t block = static_cast<std::size_t>(most);
    const std::size_t room = block < of_kernel.sharedSizeBytes ? 0 : block - of_kernel.sharedSizeBytes;
    if (launch.dynamicSmemBytes > room) {
      throw error(cudaErrorInvalidValue,
                  "membar: a launch with %zu bytes of dynamic shared memory, in addition to the kernel's %zu static bytes, was "
                  "requested, but a block on device %d can have at most %zu bytes in total: request at most %zu bytes",
                  launch.dynamicSmemBytes, of_kernel.sharedSizeBytes, device, block, room);
    }
    // Always set the limit to its maximum, so that threads that launch the kernel with different sizes do not undo each other's
    // permission.
    if (launch.dynamicSmemBytes > static_cast<std::size_t>(of_kernel.maxDynamicSharedSizeBytes)) {
      check(cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, static_cast<int>(room)),
            "request less dynamic shared memory");
    }
  }
};

template <>
struct attribute_traits<non_portable_cluster_size> {
  static constexpr attribute_places places{.launch = true};
  static void allow(const void* kernel, const cudaLaunchConfig_t&) {
    check(cudaFuncSetAttribute(kernel, cudaFuncAttributeNonPortableClusterSizeAllowed, 1),
          "use clusters of at most 8 blocks; larger clusters require compute capability 9.0");
  }
};

template <>
struct attribute_traits<synchronization_policy> {
  static constexpr cudaLaunchAttributeID ids[1] = {cudaLaunchAttributeSynchronizationPolicy};
  static constexpr attribute_places places{.stream = true};
  static void encode(synchronization_policy policy, cudaLaunchAttribute* out) {
    out->val.syncPolicy = static_cast<cudaSynchronizationPolicy>(policy);
  }
  static synchronization_policy decode(const cudaLaunchAttributeValue& value) {
    return static_cast<synchronization_policy>(value.syncPolicy);
  }
};

/// Satisfied if CUDA accepts the attribute on a launch.
template <class Attribute>
concept legal_on_a_launch = attribute_traits<Attribute>::places.launch;

/// Satisfied if CUDA accepts the attribute on a stream.
template <class Attribute>
concept legal_on_a_stream = attribute_traits<Attribute>::places.stream;

/// Satisfied if CUDA accepts the attribute on a graph kernel node.
template <class Attribute>
concept legal_on_a_graph_node = attribute_traits<Attribute>::places.node;

/// Satisfied if CUDA stores the attribute with the kernel, as a permission that a launch requests.
template <class Attribute>
concept kept_with_the_kernel =
    requires(const void* kernel, const cudaLaunchConfig_t& launch) { attribute_traits<Attribute>::allow(kernel, launch); };

/// Satisfied if a type can hold every value of its attribute. `sync_domain` satisfies this; the types of its tags do not.
template <class Attribute>
concept readable_back = requires(const cudaLaunchAttributeValue& value) {
  { attribute_traits<Attribute>::decode(value) } -> std::same_as<Attribute>;
};

namespace detail {

template <class Attribute>
inline constexpr std::size_t attribute_id_count = sizeof(attribute_traits<Attribute>::ids) / sizeof(cudaLaunchAttributeID);
template <kept_with_the_kernel Attribute>
inline constexpr std::size_t attribute_id_count<Attribute> = 0;

template <class Attribute>
inline constexpr bool is_physical_domain = false;
template <int Id>
inline constexpr bool is_physical_domain<physical_domain<Id>> = true;

/// Checks that the attribute is valid on streams. Returns whether it is, so that callers can avoid further error messages.
template <class Attribute>
[[nodiscard]] consteval bool require_on_a_stream() {
  static_assert(!is_physical_domain<Attribute>,
                "membar: CUDA does not accept this attribute on a stream: physical_domain<N> combines two attributes; set "
                "sync_domain_map{.default_ = N, .remote = N}, which maps both logical domains to N");
  static_assert(is_physical_domain<Attribute> || legal_on_a_stream<Attribute>,
                "membar: CUDA does not accept this attribute on a stream");
  return legal_on_a_stream<Attribute>;
}

/// Checks that the attribute is valid on graph kernel nodes. Returns whether it is.
template <class Attribute>
[[nodiscard]] consteval bool require_on_a_graph_node() {
  static_assert(!is_physical_domain<Attribute>,
                "membar: CUDA does not accept this attribute on a graph node: physical_domain<N> combines two attributes; set "
                "sync_domain_map{.default_ = N, .remote = N}, which maps both logical domains to N");
  static_assert(is_physical_domain<Attribute> || legal_on_a_graph_node<Attribute>,
                "membar: CUDA does not accept this attribute on a graph node");
  return legal_on_a_graph_node<Attribute>;
}

/// Checks that an attribute can be read back as an `Attribute`. Returns whether it can.
template <class Attribute>
[[nodiscard]] consteval bool require_readable_back() {
  static_assert(readable_back<Attribute>, "membar: read this attribute back as a type that can hold any of its values");
  return readable_back<Attribute>;
}

/// The remedy if the driver rejects an attribute on a stream or node.
template <class Attribute>
[[nodiscard]] constexpr const char* remedy_for(const char* otherwise) noexcept {
  if constexpr (requires { attribute_traits<Attribute>::if_refused; }) {
    return attribute_traits<Attribute>::if_refused;
  } else {
    return otherwise;
  }
}
inline constexpr char pass_a_stream[] = "pass a stream of the current device";
inline constexpr char pass_a_node[] = "pass a kernel node of a graph that still exists";

/// Converts `value` to CUDA's attribute. `Attribute` must have a single id, as all attributes of streams and nodes do.
template <class Attribute>
[[nodiscard]] cudaLaunchAttribute encoded(const Attribute& value) {
  static_assert(attribute_id_count<Attribute> == 1);
  cudaLaunchAttribute out{};
  attribute_traits<Attribute>::encode(value, &out);
  return out;
}

}  // namespace detail

/// Sets an attribute of a stream, or of the default stream if `stream` is null. Later launches into the stream use it unless
/// they set the attribute themselves.
///
/// Errors: the current device cannot honour the value, the stream is invalid, or the driver does not accept the attribute
/// there. The stream is then unchanged.
template <class Attribute>
void set_attribute(stream_handle stream, const Attribute& value) {
  if constexpr (detail::require_on_a_stream<Attribute>()) {
    const cudaLaunchAttribute attribute = detail::encoded(value);
    check(cudaStreamSetAttribute(stream, attribute_traits<Attribute>::ids[0], &attribute.val),
          detail::remedy_for<Attribute>(detail::pass_a_stream));
  }
}

/// Sets an attribute of a graph kernel node; executable graphs that are instantiated afterwards use it.
///
/// Errors: the current device cannot honour the value, the node is not a kernel node, or the driver does not accept the
/// attribute there. The node is then unchanged.
template <std::same_as<cudaGraphNode_t> Node, class Attribute>
void set_attribute(Node node, const Attribute& value) {
  if constexpr (detail::require_on_a_graph_node<Attribute>()) {
    const cudaLaunchAttribute attribute = detail::encoded(value);
    check(cudaGraphKernelNodeSetAttribute(node, attribute_traits<Attribute>::ids[0], &attribute.val),
          detail::remedy_for<Attribute>(detail::pass_a_node));
  }
}

/// Reads back an attribute of a stream, as in `get_attribute<sync_domain_map>(stream)`.
template <class Attribute>
[[nodiscard]] Attribute get_attribute(stream_handle stream) {
  if constexpr (detail::require_on_a_stream<Attribute>()) {
    if constexpr (detail::require_readable_back<Attribute>()) {
      cudaLaunchAttributeValue value{};
      check(cudaStreamGetAttribute(stream, attribute_traits<Attribute>::ids[0], &value),
            detail::remedy_for<Attribute>(detail::pass_a_stream));
      return attribute_traits<Attribute>::decode(value);
    }
  }
  __builtin_unreachable();  // not reached: this case does not compile
}

/// Reads back an attribute of a graph kernel node, as in `get_attribute<sync_domain>(node)`.
template <class Attribute, std::same_as<cudaGraphNode_t> Node>
[[nodiscard]] Attribute get_attribute(Node node) {
  if constexpr (detail::require_on_a_graph_node<Attribute>()) {
    if constexpr (detail::require_readable_back<Attribute>()) {
      cudaLaunchAttributeValue value{};
      check(cudaGraphKernelNodeGetAttribute(node, attribute_traits<Attribute>::ids[0], &value),
            detail::remedy_for<Attribute>(detail::pass_a_node));
      return attribute_traits<Attribute>::decode(value);
    }
  }
  __builtin_unreachable();  // not reached: this case does not compile
}

/// Sets an attribute of a stream and restores the previous value at the end of the scope, even if an exception ends the scope.
///
/// The stream must outlive the object. A restore that fails is reported to the handler of error.hpp.
template <class Attribute>
class scoped_stream_attribute {
 public:
  [[nodiscard("destroying this object restores the attribute: give the object a name")]] scoped_stream_attribute(
      stream_handle stream, const Attribute& value)
      : stream_(stream) {
    if constexpr (detail::require_on_a_stream<Attribute>()) {
      constexpr cudaLaunchAttributeID id = attribute_traits<Attribute>::ids[0];
      check(cudaStreamGetAttribute(stream, id, &previous_), detail::remedy_for<Attribute>(detail::pass_a_stream));
      set_attribute(stream, value);
    }
  }

  scoped_stream_attribute(const scoped_stream_attribute&) = delete;
  scoped_stream_attribute& operator=(const scoped_stream_attribute&) = delete;

  ~scoped_stream_attribute() {
    if constexpr (legal_on_a_stream<Attribute>) {
      detail::report_failed_restore(cudaStreamSetAttribute(stream_, attribute_traits<Attribute>::ids[0], &previous_));
    }
  }

 private:
  cudaStream_t stream_;
  cudaLaunchAttributeValue previous_{};
};

}  // namespace v0_3
}  // namespace membar
