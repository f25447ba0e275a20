// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
/// @file
/// L2 access-policy windows: the range of addresses whose lines persist in L2 while a kernel runs, as a launch attribute.
///
/// Of the accesses in the window, the hit ratio's share has the hit property and the others the miss property; outside it
/// nothing changes. Persisting lines live in the part of L2 that an `l2_set_aside` holds, so window bytes times hit ratio,
/// summed over the kernels that run at once, should not exceed it. A window never changes what an access means. Source: CUDA
/// C++ Programming Guide, "L2 Cache Control". Requires compute capability 8.0.
#pragma once

#include <membar/error.hpp>
#include <membar/l2_facts.hpp>
#include <membar/l2_set_aside.hpp>
#include <membar/launch_attribute.hpp>

#include <cstddef>

namespace membar {

/// How L2 treats the line of an access.
enum class access_property {
  normal = cudaAccessPropertyNormal,         ///< as without a window; takes a persisting line back to normal
  streaming = cudaAccessPropertyStreaming,   ///< goes first
  persisting = cudaAccessPropertyPersisting  ///< stays in the set-aside
};

/// A window, as a value: for a launch (`launch_config::with`), a stream (`scoped_stream_attribute`) or a graph kernel node
/// (`set_attribute`). A default one is off, which is also how a window is taken away again.
struct access_policy_window {
  const void* start = nullptr;
  std::size_t bytes = 0;  ///< 0: off
  float hit_ratio = 1.0F;
  access_property hit = access_property::persisting;
  access_property miss = access_property::streaming;

  [[nodiscard]] constexpr bool off() const noexcept { return bytes == 0; }

  /// The share of the set-aside that the window asks for, in bytes.
  [[nodiscard]] constexpr std::size_t persisting_bytes() const noexcept {
    return hit == access_property::persisting
               ? static_cast<std::size_t>(static_cast<double>(bytes) * static_cast<double>(hit_ratio))
               : 0;
  }

  /// Windows that are off are all the same.
  friend constexpr bool operator==(const access_policy_window& a, const access_policy_window& b) noexcept {
    return (a.off() && b.off()) ||
           (a.start == b.start && a.bytes == b.bytes && a.hit_ratio == b.hit_ratio && a.hit == b.hit && a.miss == b.miss);
  }
};

/// Throws `error` unless `window` is one that a device with these facts can honour.
inline void validate(const access_policy_window& window, const l2_facts& facts) {
  if (window.off()) {
    return;
  }
  if (window.start == nullptr) {
    throw error(
        cudaErrorInvalidValue,
        "membar: the access-policy window of %zu bytes starts at a null pointer: pass the address of the hot region, or "
        "0 bytes to turn the window off",
        window.bytes);
  }
  if (!(window.hit_ratio >= 0.0F && window.hit_ratio <= 1.0F)) {
    throw error(cudaErrorInvalidValue, "membar: the hit ratio of the access-policy window is %g: use a value from 0 to 1",
                static_cast<double>(window.hit_ratio));
  }
  if (window.miss == access_property::persisting) {
    throw error(cudaErrorInvalidValue,
                "membar: the miss property of the access-policy window is persisting: use streaming or normal, and a hit ratio "
                "of 1 where all lines shall persist");
  }
  if (window.hit == access_property::persisting && facts.max_set_aside == 0) {
    throw error(cudaErrorNotSupported, "membar: lines of the access-policy window cannot persist on device %d: %s",
                facts.device, detail::why_no_set_aside(facts));
  }
  if (window.bytes > facts.max_window) {
    throw error(
        cudaErrorInvalidValue,
        "membar: the access-policy window has %zu bytes, but the largest on device %d has %zu: choose the hottest part, "
        "or slide a window over the region (window_planning.hpp)",
        window.bytes, facts.device, facts.max_window);
  }
}

template <>
struct attribute_traits<access_policy_window> {
  static constexpr cudaLaunchAttributeID ids[1] = {cudaLaunchAttributeAccessPolicyWindow};
  static constexpr attribute_places places{.launch = true, .stream = true, .node = true};
  static void encode(const access_policy_window& window, cudaLaunchAttribute* out) {
    cudaAccessPolicyWindow& native = out->val.accessPolicyWindow;
    native = {};
    if (window.off()) {
      return;
    }
    validate(window, l2_facts_of_current_device());
    native.base_ptr = const_cast<void*>(window.start);
    native.num_bytes = window.bytes;
    native.hitRatio = window.hit_ratio;
    native.hitProp = static_cast<cudaAccessProperty>(window.hit);
    native.missProp = static_cast<cudaAccessProperty>(window.miss);
  }
  static access_policy_window decode(const cudaLaunchAttributeValue& value) {
    const cudaAccessPolicyWindow& native = value.accessPolicyWindow;
    return {.start = native.base_ptr,
            .bytes = native.num_bytes,
            .hit_ratio = native.hitRatio,
            .hit = static_cast<access_property>(native.hitProp),
            .miss = static_cast<access_property>(native.missProp)};
  }
};

/// The rule for a range of memory: it has `data()` and `size()`, as spans, arrays and vectors have.
template <class Range>
concept memory_range = requires(const Range& range) {
  sizeof(*range.data());
  static_cast<std::size_t>(range.size());
};

/// A window over a range of memory.
template <memory_range Range>
[[nodiscard]] constexpr access_policy_window window_over(const Range& range, float hit_ratio = 1.0F) noexcept {
  return {
      .start = range.data(), .bytes = static_cast<std::size_t>(range.size()) * sizeof(*range.data()), .hit_ratio = hit_ratio};
}

/// The same range with the normal property: a kernel that touches its lines under this window takes them back from persisting.
/// One of three ways back; it leaves the persisting lines of others alone.
[[nodiscard]] constexpr access_policy_window back_to_normal(access_policy_window window) noexcept {
  window.hit = access_property::normal;
  window.miss = access_property::normal;
  window.hit_ratio = 1.0F;
  return window;
}

/// Takes all persisting lines of the current device back to normal, those of other parts of the program too.
///
/// The second way back; the third is that L2 does so by itself some time later, which is not to be relied on. Turning a window
/// off takes nothing back: lines that persist stay until one of the three.
inline void reset_persisting_lines() { check(cudaCtxResetPersistingL2Cache(), "a working CUDA driver and device are needed"); }

/// The hit ratio for a region by the set-aside there is: as much of the region persists as fits.
///
/// The set-aside is taken as it stands when the plan is made, so hold an `l2_set_aside` first; `share` is the part of it that
/// other kernels leave to this one. window_planning.hpp plans for several kernels at once, and measures what is best for one.
class l2_plan {
 public:
  explicit l2_plan(int device) : l2_plan(l2_facts_of(device)) {}
  constexpr explicit l2_plan(const l2_facts& facts) noexcept : facts_(facts), share_(facts.set_aside) {}

  [[nodiscard]] constexpr const l2_facts& facts() const noexcept { return facts_; }
  [[nodiscard]] constexpr std::size_t share() const noexcept { return share_; }

  /// This plan with `bytes` of the set-aside, or all of it if that is less.
  [[nodiscard]] constexpr l2_plan with_share(std::size_t bytes) const noexcept {
    l2_plan plan = *this;
    plan.share_ = bytes < facts_.set_aside ? bytes : facts_.set_aside;
    return plan;
  }

  /// A window over `bytes` bytes from `start` whose persisting bytes do not exceed the share.
  ///
  /// Errors: no set-aside, and what `validate` refuses.
  [[nodiscard]] access_policy_window window(const void* start, std::size_t bytes) const {
    access_policy_window planned{.start = start, .bytes = bytes};
    validate(planned, facts_);
    if (planned.off()) {
      return planned;
    }
    if (share_ == 0) {
      throw error(cudaErrorInvalidValue,
                  "membar: no L2 is set aside on device %d for a window of %zu bytes: hold an l2_set_aside before planning",
                  facts_.device, bytes);
    }
    if (bytes > share_) {
      planned.hit_ratio = static_cast<float>(static_cast<double>(share_) / static_cast<double>(bytes));
      // Rounding to float must not exceed the share.
      if (planned.persisting_bytes() > share_) {
        planned.hit_ratio = static_cast<float>(static_cast<double>(planned.hit_ratio) * (1.0 - 1.0 / (1 << 22)));
      }
    }
    return planned;
  }

  template <memory_range Range>
  [[nodiscard]] access_policy_window window(const Range& range) const {
    return window(range.data(), static_cast<std::size_t>(range.size()) * sizeof(*range.data()));
  }

 private:
  l2_facts facts_;
  std::size_t share_;
};

}  // namespace membar
