// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
/// @file
/// A kernel launch with typed attributes and checked arguments. Data that is bound to a synchronization domain is refused in
/// another one.
#pragma once

#include <membar/error.hpp>
#include <membar/launch_attribute.hpp>
#include <membar/sync_domain.hpp>

#include <concepts>
#include <cstddef>
#include <type_traits>

namespace membar {

template <class... Attributes>
class launch_config;

namespace detail {

template <class First, class Second>
[[nodiscard]] consteval bool share_an_attribute_id() {
  for (const cudaLaunchAttributeID a : attribute_traits<First>::ids) {
    for (const cudaLaunchAttributeID b : attribute_traits<Second>::ids) {
      if (a == b) {
        return true;
      }
    }
  }
  return false;
}

/// One attribute of a configuration; a configuration inherits one of these per attribute, so that each is found by its type.
template <class Attribute>
struct attribute_holder {
  Attribute value;
};

}  // namespace detail

/// The rule that a launch is given each attribute once. A physical domain counts as both a domain and a map.
template <class Attribute, class... Given>
concept not_given_before = (!detail::share_an_attribute_id<Attribute, Given>() && ...);

/// Grid, block, stream and attributes of a launch, as a value: `launch_config{grid, block, stream}.with(sync_domain::remote)`.
///
/// `with` returns a new configuration. An attribute that is not legal on a launch, or was given before, does not compile. The
/// null stream is the default stream. Extents are in blocks and threads, dynamic shared memory in bytes.
template <class... Attributes>
class launch_config : private detail::attribute_holder<Attributes>... {
 public:
  constexpr launch_config(dim3 grid, dim3 block, cudaStream_t stream = nullptr, std::size_t dynamic_shared_bytes = 0) noexcept
    requires(sizeof...(Attributes) == 0)
      : grid_(grid), block_(block), stream_(stream), dynamic_shared_bytes_(dynamic_shared_bytes) {}

  /// This configuration and one attribute more.
  template <class Attribute>
  [[nodiscard]] constexpr launch_config<Attributes..., Attribute> with(const Attribute& attribute) const noexcept {
    static_assert(legal_on_a_launch<Attribute>, "membar: CUDA does not accept this attribute on a launch");
    static_assert(not_given_before<Attribute, Attributes...>,
                  "membar: this launch was given the attribute before; a physical domain is a domain and a map in one");
    return {grid_, block_, stream_, dynamic_shared_bytes_, get<Attributes>()..., attribute};
  }

  [[nodiscard]] constexpr dim3 grid() const noexcept { return grid_; }
  [[nodiscard]] constexpr dim3 block() const noexcept { return block_; }
  [[nodiscard]] constexpr cudaStream_t stream() const noexcept { return stream_; }
  [[nodiscard]] constexpr std::size_t dynamic_shared_bytes() const noexcept { return dynamic_shared_bytes_; }

  /// The value given for `Attribute`.
  template <class Attribute>
    requires(std::same_as<Attribute, Attributes> || ...)
  [[nodiscard]] constexpr const Attribute& get() const noexcept {
    return static_cast<const detail::attribute_holder<Attribute>&>(*this).value;
  }

 private:
  template <class...>
  friend class launch_config;

  constexpr launch_config(dim3 grid, dim3 block, cudaStream_t stream, std::size_t dynamic_shared_bytes,
                          const Attributes&... attributes) noexcept
    requires(sizeof...(Attributes) != 0)
      : detail::attribute_holder<Attributes>{attributes}...,
        grid_(grid),
        block_(block),
        stream_(stream),
        dynamic_shared_bytes_(dynamic_shared_bytes) {}

  dim3 grid_;
  dim3 block_;
  cudaStream_t stream_;
  std::size_t dynamic_shared_bytes_;
};

launch_config(dim3, dim3, cudaStream_t = nullptr, std::size_t = 0) -> launch_config<>;

namespace detail {

template <class From, class To>
inline constexpr bool loses_a_fraction = std::floating_point<std::remove_reference_t<From>> && std::integral<To>;

/// The physical domain that `Attributes` fix at compile time, else `dynamic_domain`.
template <class... Attributes>
inline constexpr int static_domain = dynamic_domain;
template <int Id, class... Rest>
inline constexpr int static_domain<physical_domain<Id>, Rest...> = Id;
template <class First, class... Rest>
inline constexpr int static_domain<First, Rest...> = static_domain<Rest...>;

#if CUDART_VERSION >= 12080
/// Refuses preferred cluster dimensions that are no multiple of the launch's cluster dimensions: CUDA would not use them.
inline void check_preferred(const preferred_cluster_dimensions& preferred, const cluster_dimensions& regular) {
  const auto multiple = [](unsigned a, unsigned b) { return a != 0 && b != 0 && a % b == 0; };
  if (!multiple(preferred.x, regular.x) || !multiple(preferred.y, regular.y) || preferred.z != regular.z) {
    throw error(cudaErrorInvalidValue,
                "membar: the preferred cluster dimensions are %u, %u, %u, and the cluster dimensions %u, %u, %u: use multiples "
                "of theirs in x and y, and the same z",
                preferred.x, preferred.y, preferred.z, regular.x, regular.y, regular.z);
  }
}
#endif

/// The value that the launch names for `Wanted`, else the stream's.
template <class Wanted>
[[nodiscard]] Wanted effective(const cudaLaunchConfig_t& launch) {
  for (const cudaLaunchAttribute* given = launch.attrs; given != launch.attrs + launch.numAttrs; ++given) {
    if (given->id == attribute_traits<Wanted>::ids[0]) {
      return attribute_traits<Wanted>::decode(given->val);
    }
  }
  return get_attribute<Wanted>(launch.stream);
}

/// The physical domain that the launch runs in: its own attributes first, then the stream's.
[[nodiscard]] inline int physical_domain_of(const cudaLaunchConfig_t& launch) {
  return sync_domain_count() == 1 ? 0 : effective<sync_domain_map>(launch).physical(effective<sync_domain>(launch));
}

/// Refuses an argument whose device scope is bound to a domain other than the launch's.
template <int LaunchDomain, class Parameter>
void check_domain(const Parameter& argument, int launch_domain) {
  if constexpr (bound_to_domain<Parameter>) {
    constexpr int bound = domain_of<Parameter>::static_id;
    static_assert(LaunchDomain == dynamic_domain || bound == dynamic_domain || LaunchDomain == bound,
                  "membar: an argument's device scope is bound to another physical synchronization domain than this launch's; "
                  "launch in that domain, or share the data at thread_scope::system, which orders across domains");
    const int actual = domain_of<Parameter>::id(argument);
    if (actual != launch_domain) {
      throw error(cudaErrorInvalidValue,
                  "membar: an argument's device scope is bound to physical synchronization domain %d, but this launch runs in "
                  "domain %d: launch in domain %d, or share the data at thread_scope::system, which orders across domains",
                  actual, launch_domain, actual);
    }
  }
}

}  // namespace detail

/// Launches `kernel` with `arguments`, each converted to its parameter's type.
///
/// Attributes that the launch does not name (domain, map, priority, access-policy window) come from the stream. The end of the
/// kernel makes its writes visible to what the stream orders after it, as with any launch.
/// Errors: `error` if an attribute's value is out of range or not for this device, if an argument is bound to another
/// synchronization domain, or if CUDA refuses the launch. Nothing is launched then. Errors of the running kernel are reported
/// by later CUDA calls.
template <class... Attributes, class... Parameters, class... Arguments>
void launch(const launch_config<Attributes...>& config, void (*kernel)(Parameters...), Arguments&&... arguments) {
  static_assert(sizeof...(Parameters) == sizeof...(Arguments), "membar: a launch passes one argument per kernel parameter");
  static_assert((std::convertible_to<Arguments, Parameters> && ...),
                "membar: each argument of a launch must convert to the type of its kernel parameter");
  static_assert(!(detail::loses_a_fraction<Arguments, Parameters> || ...),
                "membar: a floating-point argument of a launch is not passed to an integer parameter: convert it first");
#if CUDART_VERSION >= 12080
  if constexpr ((std::same_as<Attributes, preferred_cluster_dimensions> || ...)) {
    constexpr bool has_dimensions = (std::same_as<Attributes, cluster_dimensions> || ...);
    static_assert(has_dimensions, "membar: a launch with preferred cluster dimensions is given cluster_dimensions too");
    if constexpr (has_dimensions) {
      detail::check_preferred(config.template get<preferred_cluster_dimensions>(), config.template get<cluster_dimensions>());
    }
  }
#endif
  constexpr std::size_t attribute_count = (std::size_t{0} + ... + detail::attribute_id_count<Attributes>);
  cudaLaunchAttribute attributes[attribute_count + 1] = {};
  cudaLaunchAttribute* next = attributes;
  [[maybe_unused]] const auto append = [&]<class Attribute>(const Attribute& attribute) {
    attribute_traits<Attribute>::encode(attribute, next);
    for (const cudaLaunchAttributeID id : attribute_traits<Attribute>::ids) {
      (next++)->id = id;
    }
  };
  (append(config.template get<Attributes>()), ...);

  cudaLaunchConfig_t native{};
  native.gridDim = config.grid();
  native.blockDim = config.block();
  native.dynamicSmemBytes = config.dynamic_shared_bytes();
  native.stream = config.stream();
  native.attrs = attributes;
  native.numAttrs = static_cast<unsigned>(attribute_count);

  const auto launch_with = [&](Parameters... parameters) {
    if constexpr ((bound_to_domain<Parameters> || ...)) {
      constexpr int fixed = detail::static_domain<Attributes...>;
      const int domain = fixed != dynamic_domain ? fixed : detail::physical_domain_of(native);
      (detail::check_domain<fixed>(parameters, domain), ...);
    }
    void* pointers[] = {const_cast<void*>(static_cast<const void*>(&parameters))..., nullptr};
    check(cudaLaunchKernelExC(&native, reinterpret_cast<const void*>(kernel), pointers),
          "check grid, block, shared memory and attributes against the limits of the current device, and that the program was "
          "compiled for it");
  };
  launch_with(static_cast<Parameters>(static_cast<Arguments&&>(arguments))...);
}

}  // namespace membar
