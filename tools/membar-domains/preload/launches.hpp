// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
/// @file
/// Passes on a launch unchanged or with one additional attribute.
#pragma once

#include <cuda.h>

#include <tuple>

#include "membar-domains/preload/hooks.hpp"
#include "membar-domains/preload/pace.hpp"
#include "membar-domains/preload/session.hpp"
#include "membar-domains/preload/this_thread.hpp"
#include "membar-domains/preload/watch.hpp"

namespace membar_domains {

/// Determines the target of a launch or node if the target is not in the thread's small cache or depends on pointers. Arguments
/// are examined only if the list requires it.
[[nodiscard]] target where_anew(this_thread::known& place, CUfunction kernel, void** parameters, void** extra);

/// Returns the target from the cache if possible. Every launch incurs the cost of this lookup.
[[nodiscard, gnu::always_inline]] inline target where(CUfunction kernel, void** parameters, void** extra) {
  this_thread::known& place = this_thread::get().place_of(kernel);
  return place.kernel == kernel && place.generation == session::get().generation() && !place.to.by_pointer()
             ? place.to.near
             : where_anew(place, kernel, parameters, extra);
}

/// Returns the attribute that implements a target, for launches and graph nodes. In the mode `control`, the attribute is CUDA's
/// default map, which changes nothing.
[[nodiscard]] CUlaunchAttribute attribute_of(target to, mode how);

/// Returns the stream of a call. In functions whose names end in _ptsz, a null stream is the thread's own default stream.
inline CUstream stream_of(CUstream stream, bool ptsz) { return ptsz && stream == nullptr ? CU_STREAM_PER_THREAD : stream; }

/// Launches with one additional attribute, which replaces an attribute of the same kind if the program has set one. Returns
/// whether the kernel was launched.
[[nodiscard]] bool launch_moved(const CUlaunchConfig& config, CUfunction kernel, void** parameters, void** extra, target to,
                                mode how, bool ptsz, CUresult& result);

/// Handles the launch of a kernel that is listed, watched or timed, or that the thread launches for the first time. `as_it_was`
/// makes the program's own call.
template <class AsItWas>
[[gnu::noinline]] CUresult launch_with_care(const CUlaunchConfig& config, CUfunction kernel, void** parameters, void** extra,
                                            bool ptsz, const AsItWas& as_it_was) {
  session& of = session::get();
  if (of.what() == job::none) {
    return as_it_was();
  }
  this_thread::get().count(&thread_counts::launches);
  const CUstream stream = stream_of(config.hStream, ptsz);
  if (of.what() == job::watch) {
    const watched_launch seen(config, stream, kernel, parameters, extra, capturing(stream));
    return as_it_was();
  }
  const target to = where(kernel, parameters, extra);
  const bool trying = of.what() == job::try_;
  if (to.what == target::kind::leave && !trying) {
    return as_it_was();
  }
  if (to.what == target::kind::leave) {
    pace_before_launch(stream, kernel);
    const CUresult result = as_it_was();
    pace_after_launch(stream);
    return result;
  }
  // A captured launch becomes a node, which is moved when its graph is instantiated.
  if (capturing(stream)) {
    return as_it_was();
  }
  this_thread::get().count(&thread_counts::listed);
  CUresult result = CUDA_SUCCESS;
  if (!trying) {
    return launch_moved(config, kernel, parameters, extra, to, mode::on, ptsz, result) ? result : as_it_was();
  }
  const mode how = of.next_turn();
  timed_span span(stream);
  if (how == mode::off || !launch_moved(config, kernel, parameters, extra, to, how, ptsz, result)) {
    result = as_it_was();
  }
  span.end_listed(how);
  return result;
}

/// Counts a launch. Returns whether the handler only has to pass on the program's call, because the thread's cache shows that
/// the kernel is not listed. This function calls no other function, so the compiler passes on the handler's arguments
/// unchanged. Unknown kernels and unknown driver functions take the slow path.
template <hook_id Id>
[[gnu::always_inline]] inline bool passes(CUfunction kernel) noexcept {
  const session* const of = session::if_made();
  this_thread* const mine = this_thread::if_made();
  if (of == nullptr || mine == nullptr || of->what() != job::apply ||
      hook_of(Id).next.load(std::memory_order_acquire) == nullptr) [[unlikely]] {
    return false;
  }
  const this_thread::known& place = mine->place_of(kernel);
  if (place.kernel != kernel || place.generation != of->generation() || !place.is_left) [[unlikely]] {
    return false;
  }
  mine->count(&thread_counts::launches);
  return true;
}

template <hook_id Id, class... Arguments>
[[gnu::noinline]] CUresult on_launch_with_care(Arguments... a) {
  const auto as_it_was = [=] { return next<Id>(a...); };
  const auto config_of = [](CUfunction, unsigned gx, unsigned gy, unsigned gz, unsigned bx, unsigned by, unsigned bz,
                            unsigned shared, CUstream stream,
                            auto...) { return CUlaunchConfig{gx, gy, gz, bx, by, bz, shared, stream, nullptr, 0}; };
  const auto kernel = std::get<0>(std::tuple(a...));
  const auto parameters = std::get<9>(std::tuple(a...));
  CUlaunchConfig config = config_of(a...);
  if constexpr (sizeof...(a) == 11) {
    return launch_with_care(config, kernel, parameters, std::get<10>(std::tuple(a...)), is_per_thread(Id), as_it_was);
  } else {
    CUlaunchAttribute cooperative{};
    cooperative.id = CU_LAUNCH_ATTRIBUTE_COOPERATIVE;
    cooperative.value.cooperative = 1;
    config.attrs = &cooperative;
    config.numAttrs = 1;
    return launch_with_care(config, kernel, parameters, nullptr, is_per_thread(Id), as_it_was);
  }
}

template <hook_id Id>
CUresult on_launch(CUfunction f, unsigned gx, unsigned gy, unsigned gz, unsigned bx, unsigned by, unsigned bz, unsigned shared,
                   CUstream stream, void** parameters, void** extra) {
  return passes<Id>(f) ? next<Id>(f, gx, gy, gz, bx, by, bz, shared, stream, parameters, extra)
                       : on_launch_with_care<Id>(f, gx, gy, gz, bx, by, bz, shared, stream, parameters, extra);
}

/// Like `on_launch`, but for cooperative launches, which have no `extra`.
template <hook_id Id>
CUresult on_launch_cooperative(CUfunction f, unsigned gx, unsigned gy, unsigned gz, unsigned bx, unsigned by, unsigned bz,
                               unsigned shared, CUstream stream, void** parameters) {
  return passes<Id>(f) ? next<Id>(f, gx, gy, gz, bx, by, bz, shared, stream, parameters)
                       : on_launch_with_care<Id>(f, gx, gy, gz, bx, by, bz, shared, stream, parameters);
}

template <hook_id Id>
CUresult on_launch_ex(const CUlaunchConfig* config, CUfunction f, void** parameters, void** extra) {
  return config == nullptr || passes<Id>(f) ? next<Id>(config, f, parameters, extra)
                                            : launch_with_care(*config, f, parameters, extra, is_per_thread(Id),
                                                               [=] { return next<Id>(config, f, parameters, extra); });
}

/// Called when a listed kernel is launched by a function that takes no attributes. The kernel runs unmoved.
void cannot_move(CUfunction kernel, CUstream stream, void** parameters);

/// Handles cuLaunch, cuLaunchGrid and cuLaunchGridAsync, whose arguments are set by separate calls.
template <hook_id Id>
CUresult on_launch_without_attributes(CUfunction f, std::uintptr_t second, std::uintptr_t third, CUstream fourth) {
  if (session::get().what() != job::none) {
    cannot_move(f, Id == hook_id::of_cuLaunchGridAsync ? fourth : nullptr, nullptr);
  }
  const recorded_work keep(Id == hook_id::of_cuLaunchGridAsync ? fourth : nullptr);
  return next<Id>(f, second, third, fourth);
}

template <hook_id Id>
CUresult on_launch_of_devices(CUDA_LAUNCH_PARAMS* launches, unsigned count, unsigned flags) {
  for (unsigned i = 0; i < count && session::get().what() != job::none; ++i) {
    cannot_move(launches[i].function, launches[i].hStream, launches[i].kernelParams);
  }
  return next<Id>(launches, count, flags);
}

}  // namespace membar_domains
