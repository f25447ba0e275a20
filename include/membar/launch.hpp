// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
/// @file
/// Kernel launches with typed attributes and checked arguments. A launch rejects data that is bound to another synchronization
/// domain.
#pragma once

#include <membar/detail/standard.hpp>
#include <membar/detail/stream_handle.hpp>
#include <membar/error.hpp>
#include <membar/launch_attribute.hpp>
#include <membar/sync_domain.hpp>

#include <concepts>
#include <cstddef>
#include <limits>
#include <type_traits>

namespace membar {
inline namespace v0_3 {

template <class... Attributes>
class launch_config;

namespace detail {

template <class First, class Second>
[[nodiscard]] consteval bool share_an_attribute_id() {
  if constexpr (std::same_as<First, Second>) {
    return true;
  } else if constexpr (legal_on_a_launch<First> && legal_on_a_launch<Second> && !kept_with_the_kernel<First> &&
                       !kept_with_the_kernel<Second>) {
    for (const cudaLaunchAttributeID a : attribute_traits<First>::ids) {
      for (const cudaLaunchAttributeID b : attribute_traits<Second>::ids) {
        if (a == b) {
          return true;
        }
      }
    }
  }
  return false;
}

/// Holds one attribute of a configuration. A configuration inherits from one holder per attribute, so that each attribute can
/// be found by its type.
template <class Attribute>
struct attribute_holder {
  Attribute value;
};

}  // namespace detail

/// Satisfied if each attribute is specified at most once. A physical domain counts both as a domain and as a map.
template <class Attribute, class... Given>
concept not_given_before = (!detail::share_an_attribute_id<Attribute, Given>() && ...);

/// The grid, block, stream and attributes of a launch, as a value: `launch_config{grid, block,
/// stream}.with(sync_domain::remote)`.
///
/// `with` returns a new configuration. An attribute that is not valid for a launch, or that was already specified, does not
/// compile. The null stream is the default stream. Extents are in blocks and threads, and dynamic shared memory is in bytes.
template <class... Attributes>
class launch_config : private detail::attribute_holder<Attributes>... {
 public:
  constexpr launch_config(dim3 grid, dim3 block, stream_handle stream = nullptr, std::size_t dynamic_shared_bytes = 0) noexcept
    requires(sizeof...(Attributes) == 0)
      : grid_(grid), block_(block), stream_(stream), dynamic_shared_bytes_(dynamic_shared_bytes) {}

  /// Returns this configuration with one more attribute: a `launch_config<Attributes..., Attribute>`.
  template <class Attribute>
  [[nodiscard]] constexpr auto with(const Attribute& attribute) const noexcept {
    constexpr bool legal = legal_on_a_launch<Attribute>;
    constexpr bool once = not_given_before<Attribute, Attributes...>;
    static_assert(legal, "membar: CUDA does not accept this attribute on a launch");
    static_assert(once,
                  "membar: this launch already sets this attribute, or sets a domain or a map that physical_domain also sets: "
                  "set each attribute once");
    if constexpr (legal && once) {
      return launch_config<Attributes..., Attribute>{grid_,    block_, stream_, dynamic_shared_bytes_, get<Attributes>()...,
                                                     attribute};
    } else {
      return *this;
    }
  }

  [[nodiscard]] constexpr dim3 grid() const noexcept { return grid_; }
  [[nodiscard]] constexpr dim3 block() const noexcept { return block_; }
  [[nodiscard]] constexpr cudaStream_t stream() const noexcept { return stream_; }
  [[nodiscard]] constexpr std::size_t dynamic_shared_bytes() const noexcept { return dynamic_shared_bytes_; }

  /// Returns the value specified for `Attribute`.
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

launch_config(dim3, dim3, stream_handle = nullptr, std::size_t = 0) -> launch_config<>;

namespace detail {

/// Satisfied if a conversion between numbers may change the value, so that brace-initialization accepts only constants.
template <class From, class To>
concept may_change_the_value =
    std::is_arithmetic_v<To> && (std::is_arithmetic_v<From> || std::is_enum_v<From>) && std::convertible_to<From, To> &&
    !requires(From from) { std::type_identity_t<To[1]>{static_cast<From>(from)}; };

/// Satisfied if brace-initialization rejects the conversion even for constants.
template <class From, class To>
concept always_refused =
    (std::floating_point<From> && std::integral<To>) || (std::is_pointer_v<From> && std::same_as<To, bool>);

/// This function cannot be used in a constant expression. The compiler's message therefore contains its name if a constant is
/// out of range.
void the_kernel_parameter_does_not_hold_this_constant() noexcept;

template <class T>
[[nodiscard]] consteval bool is_negative(T value) {
  if constexpr (std::is_signed_v<T>) {
    return value < T{};
  } else {
    return false;
  }
}

/// Returns whether `To` can hold the value of a constant: an integer must be represented exactly, and a floating-point number
/// must be within the range of `To`.
template <class To, class From>
[[nodiscard]] consteval bool holds(From value) {
  if constexpr (std::floating_point<From>) {
    const From most = static_cast<From>(std::numeric_limits<To>::max());
    const bool is_finite = value >= std::numeric_limits<From>::lowest() && value <= std::numeric_limits<From>::max();
    return !is_finite || (value >= -most && value <= most);
  } else {
    const To converted = static_cast<To>(value);
    return static_cast<From>(converted) == value && is_negative(converted) == is_negative(value);
  }
}

/// A launch argument, converted to the type of its kernel parameter as in brace-initialization. A conversion that may change a
/// number's value is rejected unless the value is a constant that the parameter can hold.
template <class Parameter>
struct lossless_argument {
  template <class Argument>
    requires(!std::same_as<std::remove_cvref_t<Argument>, lossless_argument> && std::convertible_to<Argument, Parameter> &&
             !may_change_the_value<std::decay_t<Argument>, Parameter> && !always_refused<std::decay_t<Argument>, Parameter>)
  constexpr lossless_argument(Argument&& argument) : value(static_cast<Parameter>(static_cast<Argument&&>(argument))) {}

  /// This constructor accepts constants. For any other value, such as a function's result, the compiler reports that it is not
  /// a constant expression; cast it in that case.
  template <class Argument>
    requires(may_change_the_value<std::remove_cvref_t<Argument>, Parameter> &&
             !always_refused<std::remove_cvref_t<Argument>, Parameter> && !is_variable<Argument>)
  consteval lossless_argument(Argument&& constant) : value(static_cast<Parameter>(constant)) {
    if (!holds<Parameter>(+constant)) {
      the_kernel_parameter_does_not_hold_this_constant();
    }
  }

  template <class Argument>
    requires(may_change_the_value<std::remove_cvref_t<Argument>, Parameter> &&
             !always_refused<std::remove_cvref_t<Argument>, Parameter> && is_variable<Argument>)
  constexpr lossless_argument(Argument&& argument) : value(static_cast<Parameter>(argument)) {
    static_assert(!is_variable<Argument>,
                  "membar: the kernel parameter's type cannot hold every value of this argument's type, and the argument is "
                  "not a constant expression: give the variable the parameter's type, or cast it");
  }

  template <class Argument>
    requires always_refused<Argument, Parameter>
  constexpr lossless_argument(Argument argument) : value(static_cast<Parameter>(argument)) {
    static_assert(!std::floating_point<Argument>,
                  "membar: a launch cannot pass a floating-point argument to an integer parameter: convert it first");
    static_assert(!std::is_pointer_v<Argument>,
                  "membar: a launch cannot pass a pointer argument to a bool parameter: compare it with nullptr first");
  }

  Parameter value;
};

/// Satisfied if a kernel of type `Kernel` has one parameter per argument, and each argument converts to its parameter's type.
template <class Kernel, class... Arguments>
inline constexpr bool arguments_fit = false;
template <class... Parameters, class... Arguments>
  requires(sizeof...(Parameters) == sizeof...(Arguments))
inline constexpr bool arguments_fit<void(Parameters...), Arguments...> = (std::convertible_to<Arguments, Parameters> && ...);

/// Explains why the arguments do not match the kernel's parameters.
template <std::size_t Parameters, std::size_t Arguments>
constexpr void refuse_arguments() noexcept {
  static_assert(Parameters == Arguments, "membar: a launch needs exactly one argument per kernel parameter");
  static_assert(Parameters != Arguments,
                "membar: each argument of a launch must convert to the type of its kernel parameter: check their order");
}

/// The physical domain that `Attributes` fix at compile time, or `dynamic_domain`.
template <class... Attributes>
inline constexpr int static_domain = dynamic_domain;
template <int Id, class... Rest>
inline constexpr int static_domain<physical_domain<Id>, Rest...> = Id;
template <class First, class... Rest>
inline constexpr int static_domain<First, Rest...> = static_domain<Rest...>;

/// Rejects preferred cluster dimensions that are not a multiple of the launch's cluster dimensions, because CUDA would not use
/// them.
inline void check_preferred(const preferred_cluster_dimensions& preferred, const cluster_dimensions& regular) {
  const auto multiple = [](unsigned a, unsigned b) { return a != 0 && b != 0 && a % b == 0; };
  if (!multiple(preferred.x, regular.x) || !multiple(preferred.y, regular.y) || preferred.z != regular.z) {
    throw error(
        cudaErrorInvalidValue,
        "membar: the preferred cluster dimensions are %u, %u, %u, but the cluster dimensions are %u, %u, %u: use multiples "
        "of the cluster dimensions in x and y, and the same z",
        preferred.x, preferred.y, preferred.z, regular.x, regular.y, regular.z);
  }
}

/// Returns the launch's value for `Wanted`, or the stream's value if the launch has none.
template <class Wanted>
[[nodiscard]] Wanted effective(const cudaLaunchConfig_t& launch) {
  for (const cudaLaunchAttribute* given = launch.attrs; given != launch.attrs + launch.numAttrs; ++given) {
    if (given->id == attribute_traits<Wanted>::ids[0]) {
      return attribute_traits<Wanted>::decode(given->val);
    }
  }
  return get_attribute<Wanted>(launch.stream);
}

/// Returns the launch's physical domain. The launch's own attributes take precedence over the stream's.
[[nodiscard]] inline int physical_domain_of(const cudaLaunchConfig_t& launch) {
  return sync_domain_count() == 1 ? 0 : effective<sync_domain_map>(launch).physical(effective<sync_domain>(launch));
}

/// Rejects an argument that is bound to a domain other than the launch's domain.
template <int LaunchDomain, class Parameter>
void check_domain(const Parameter& argument, int launch_domain) {
  if constexpr (bound_to_domain<Parameter>) {
    constexpr int bound = domain_of<Parameter>::static_id;
    static_assert(LaunchDomain == dynamic_domain || bound == dynamic_domain || LaunchDomain == bound,
                  "membar: an argument's device scope is bound to a physical synchronization domain other than this launch's; "
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

/// Converts a configuration to CUDA's form. The attributes are stored in `attributes`, which must be large enough.
template <class... Attributes>
[[nodiscard]] cudaLaunchConfig_t native_config(const launch_config<Attributes...>& config, cudaLaunchAttribute* attributes) {
  cudaLaunchAttribute* next = attributes;
  [[maybe_unused]] const auto append = [&]<class Attribute>(const Attribute& attribute) {
    if constexpr (!kept_with_the_kernel<Attribute>) {
      attribute_traits<Attribute>::encode(attribute, next);
      for (const cudaLaunchAttributeID id : attribute_traits<Attribute>::ids) {
        (next++)->id = id;
      }
    }
  };
  (append(config.template get<Attributes>()), ...);

  cudaLaunchConfig_t native{};
  native.gridDim = config.grid();
  native.blockDim = config.block();
  native.dynamicSmemBytes = config.dynamic_shared_bytes();
  native.stream = config.stream();
  native.attrs = attributes;
  native.numAttrs = static_cast<unsigned>(next - attributes);
  return native;
}

/// Grants `kernel` the permissions that the launch requests.
template <class... Attributes>
void allow(const void* kernel, const cudaLaunchConfig_t& native) {
  [[maybe_unused]] const auto allow_one = [&]<class Attribute>(std::type_identity<Attribute>) {
    if constexpr (kept_with_the_kernel<Attribute>) {
      attribute_traits<Attribute>::allow(kernel, native);
    }
  };
  (allow_one(std::type_identity<Attributes>{}), ...);
}

/// Checks that every attribute is accompanied by the attributes that it requires.
template <class... Attributes>
[[nodiscard]] consteval bool require_companions() {
  constexpr bool has_dimensions = (std::same_as<Attributes, cluster_dimensions> || ...);
  constexpr bool non_portable = (std::same_as<Attributes, non_portable_cluster_size> || ...);
  static_assert(has_dimensions || !non_portable,
                "membar: a launch with non_portable_cluster_size also needs cluster_dimensions");
  constexpr bool preferred = (std::same_as<Attributes, preferred_cluster_dimensions> || ...);
  static_assert(has_dimensions || !preferred,
                "membar: a launch with preferred cluster dimensions also needs cluster_dimensions");
  return has_dimensions || !(preferred || non_portable);
}

}  // namespace detail

/// Launches `kernel` with `arguments`, each converted to its parameter's type.
///
/// Numbers convert as in brace-initialization: a conversion that may change a value does not compile, except for a constant
/// that the parameter can hold. For example, 3 can be passed to an `unsigned char`, but 300 and an `int` variable cannot.
/// Attributes that the launch does not name (domain, map, priority, access-policy window) come from the stream. As with any
/// launch, the end of the kernel makes its writes visible to later work in the stream. Errors: throws `error` if an attribute's
/// value is out of range or not supported by this device, if an argument is bound to another synchronization domain, or if CUDA
/// rejects the launch. Nothing is launched in these cases. Errors of the running kernel are reported by later CUDA calls.
template <class... Attributes, class... Parameters>
void launch(const launch_config<Attributes...>& config, void (*kernel)(Parameters...),
            std::type_identity_t<detail::lossless_argument<Parameters>>... arguments) {
  if constexpr (detail::require_companions<Attributes...>()) {
    if constexpr ((std::same_as<Attributes, preferred_cluster_dimensions> || ...)) {
      detail::check_preferred(config.template get<preferred_cluster_dimensions>(), config.template get<cluster_dimensions>());
    }
    cudaLaunchAttribute attributes[(std::size_t{1} + ... + detail::attribute_id_count<Attributes>)] = {};
    const cudaLaunchConfig_t native = detail::native_config(config, attributes);
    if constexpr ((bound_to_domain<Parameters> || ...)) {
      constexpr int fixed = detail::static_domain<Attributes...>;
      const int domain = fixed != dynamic_domain ? fixed : detail::physical_domain_of(native);
      (detail::check_domain<fixed>(arguments.value, domain), ...);
    }
    const void* const function = reinterpret_cast<const void*>(kernel);
    detail::allow<Attributes...>(function, native);
    void* pointers[] = {const_cast<void*>(static_cast<const void*>(__builtin_addressof(arguments.value)))..., nullptr};
    check(cudaLaunchKernelExC(&native, function, pointers),
          "check the grid, the block, shared memory (above 48 KiB, use shared_memory_opt_in) and the attributes against the "
          "limits of the current device, and check that the program was compiled for it");
  }
}

/// This overload launches nothing. It exists so that the compiler's message explains what is wrong with the arguments.
template <class... Attributes, class... Parameters, class... Arguments>
  requires(!detail::arguments_fit<void(Parameters...), Arguments...>)
void launch(const launch_config<Attributes...>&, void (*)(Parameters...), Arguments&&...) {
  detail::refuse_arguments<sizeof...(Parameters), sizeof...(Arguments)>();
}
/// Rejects anything that is not a kernel. For a template without its arguments, the compiler reports an overloaded function.
template <class... Attributes>
void launch(const launch_config<Attributes...>&, ...) {
  static_assert(sizeof...(Attributes) == static_cast<std::size_t>(-1),
                "membar: a launch needs a kernel, which is a __global__ function that returns void: for a kernel template, "
                "specify the template arguments, as in kernel<int>");
}

}  // namespace v0_3
}  // namespace membar
