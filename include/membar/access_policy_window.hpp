// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
/// @file
/// L2 access-policy windows, which are a launch attribute. A window is a range of addresses whose cache lines can persist in
/// L2.
///
/// The hit ratio is the fraction of the accesses in the window to which L2 applies the hit property. The miss property applies
/// to the remaining accesses. Accesses outside the window are not affected. L2 keeps persisting lines in the part that an
/// `l2_set_aside` reserves, so window size times hit ratio, summed over all concurrent kernels, should not exceed the
/// set-aside. A window changes neither the values nor the order of accesses. Source: CUDA C++ Programming Guide, "L2 Cache
/// Control". Requires compute capability 8.0.
#pragma once

#include <membar/error.hpp>
#include <membar/l2_facts.hpp>
#include <membar/l2_set_aside.hpp>
#include <membar/launch_attribute.hpp>

#include <cstddef>

namespace membar {
inline namespace v0_3 {

/// How L2 treats the cache line that an access touches.
enum class access_property {
  normal = cudaAccessPropertyNormal,         ///< the access behaves as it would without a window, and turns a persisting line
                                             ///< back to normal
  streaming = cudaAccessPropertyStreaming,   ///< L2 evicts the line first
  persisting = cudaAccessPropertyPersisting  ///< L2 keeps the line in the set-aside
};

/// An access-policy window as a value. It can be set on a launch (`launch_config::with`), a stream (`scoped_stream_attribute`)
/// or a graph kernel node (`set_attribute`). A default-constructed window is off. Setting such a window on a stream or node
/// removes any earlier window there.
struct access_policy_window {
  const void* start = nullptr;
  std::size_t bytes = 0;  ///< 0 turns the window off
  float hit_ratio = 1.0F;
  access_property hit = access_property::persisting;
  access_property miss = access_property::streaming;

  [[nodiscard]] constexpr bool off() const noexcept { return bytes == 0; }

  /// Returns how many bytes of the set-aside the window uses.
  [[nodiscard]] constexpr std::size_t persisting_bytes() const noexcept {
    return hit == access_property::persisting
               ? static_cast<std::size_t>(static_cast<double>(bytes) * static_cast<double>(hit_ratio))
               : 0;
  }

  /// Two windows that are both off are equal.
  friend constexpr bool operator==(const access_policy_window& a, const access_policy_window& b) noexcept {
    return (a.off() && b.off()) ||
           (a.start == b.start && a.bytes == b.bytes && a.hit_ratio == b.hit_ratio && a.hit == b.hit && a.miss == b.miss);
  }
};

/// Throws `error` if a device with these properties cannot honour `window`. Lines can persist only if part of L2 is set aside.
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
                "membar: the miss property of an access-policy window cannot be persisting: use streaming or normal, or a hit "
                "ratio of 1 if every line should persist");
  }
  if (window.hit == access_property::persisting && facts.max_set_aside == 0) {
    throw error(cudaErrorNotSupported, "membar: the access-policy window cannot hold persisting lines on device %d, because %s",
                facts.device, detail::why_no_set_aside(facts));
  }
  if (window.hit == access_property::persisting && facts.set_aside == 0) {
    throw error(cudaErrorInvalidValue,
                "membar: no part of the L2 cache is set aside on device %d for the %zu persisting bytes of an access-policy "
                "window: keep an l2_set_aside alive while the window is in use, or use streaming or normal",
                facts.device, window.bytes);
  }
  if (window.bytes > facts.max_window) {
    throw error(cudaErrorInvalidValue,
                "membar: the access-policy window is %zu bytes long, but windows on device %d can be at most %zu bytes long: "
                "use the window for the most frequently accessed part, or launch the kernel once per part, each time with a "
                "window for that part",
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

/// Satisfied by ranges of memory with `data()` and `size()`, such as spans, arrays and vectors.
template <class Range>
concept memory_range = requires(const Range& range) {
  sizeof(*range.data());
  static_cast<std::size_t>(range.size());
};

/// Returns a window over a range of memory.
template <memory_range Range>
[[nodiscard]] constexpr access_policy_window window_over(const Range& range, float hit_ratio = 1.0F) noexcept {
  return {
      .start = range.data(), .bytes = static_cast<std::size_t>(range.size()) * sizeof(*range.data()), .hit_ratio = hit_ratio};
}

/// Returns a window over the same range as `window`, with the normal property. A kernel that runs with this window turns the
/// persisting lines that it accesses back to normal. Persisting lines outside the range do not change.
[[nodiscard]] constexpr access_policy_window back_to_normal(access_policy_window window) noexcept {
  window.hit = access_property::normal;
  window.miss = access_property::normal;
  window.hit_ratio = 1.0F;
  return window;
}

/// Turns all persisting lines of the current device back to normal, including lines that other parts of the program made
/// persistent.
///
/// Turning a window off does not end the persistence of its lines. They persist until this call, until a kernel accesses them
/// under `back_to_normal`, or until L2 turns them back to normal on its own, at an undocumented time.
inline void reset_persisting_lines() {
  check(cudaCtxResetPersistingL2Cache(), "check with nvidia-smi that the CUDA driver and the device work");
}

/// Computes windows with the highest hit ratio for which the persisting part of a region still fits into the set-aside.
///
/// The constructor reads the set-aside, so construct an `l2_set_aside` first. `share` is the part of the set-aside that one
/// kernel may use. window_planning.hpp divides the set-aside among several kernels.
class l2_plan {
 public:
  explicit l2_plan(int device) : l2_plan(l2_facts_of(device)) {}
  constexpr explicit l2_plan(const l2_facts& facts) noexcept : facts_(facts), share_(facts.set_aside) {}

  [[nodiscard]] constexpr const l2_facts& facts() const noexcept { return facts_; }
  [[nodiscard]] constexpr std::size_t share() const noexcept { return share_; }

  /// Returns a plan for `bytes` bytes of the set-aside, or for the whole set-aside if it is smaller.
  [[nodiscard]] constexpr l2_plan with_share(std::size_t bytes) const noexcept {
    l2_plan plan = *this;
    plan.share_ = bytes < facts_.set_aside ? bytes : facts_.set_aside;
    return plan;
  }

  /// Returns a window over the `bytes` bytes at `start`. Its persisting bytes do not exceed the share.
  ///
  /// Errors: there is no set-aside, or `validate` rejects the window.
  [[nodiscard]] access_policy_window window(const void* start, std::size_t bytes) const {
    access_policy_window planned{.start = start, .bytes = bytes};
    validate(planned, facts_);
    if (planned.off()) {
      return planned;
    }
    if (share_ == 0) {
      throw error(cudaErrorInvalidValue,
                  "membar: this plan's share of the %zu bytes that are set aside on device %d is 0, which leaves nothing for a "
                  "window of %zu bytes: use a share above 0",
                  facts_.set_aside, facts_.device, bytes);
    }
    if (bytes > share_) {
      planned.hit_ratio = static_cast<float>(static_cast<double>(share_) / static_cast<double>(bytes));
      // Rounding to float must not raise the ratio above the share.
      if (static_cast<double>(bytes) * static_cast<double>(planned.hit_ratio) > static_cast<double>(share_)) {
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

}  // namespace v0_3
}  // namespace membar
