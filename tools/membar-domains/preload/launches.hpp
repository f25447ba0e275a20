// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
/// @file
/// What a launch becomes: the program's own call, or the same with one attribute more.
#pragma once

#include <cuda.h>

#include "membar-domains/preload/hooks.hpp"
#include "membar-domains/preload/pace.hpp"
#include "membar-domains/preload/session.hpp"
#include "membar-domains/preload/watch.hpp"

namespace membar_domains {

/// The target of a launch or node, from a small cache of the thread: the cost that every launch pays. Arguments are looked at only where
/// the list asks for it.
[[nodiscard]] target where(CUfunction kernel, void** parameters, void** extra);

/// The attribute that a target is, of launches and of graph nodes. The map that changes nothing is CUDA's own.
[[nodiscard]] CUlaunchAttribute attribute_of(target to, mode how);

/// A null stream means the thread's own in functions that end in _ptsz.
inline CUstream stream_of(CUstream stream, bool ptsz) { return ptsz && stream == nullptr ? CU_STREAM_PER_THREAD : stream; }

/// Launches with one attribute more, or with ours in place of the program's own of this kind. Whether it did; if not, nothing was launched.
[[nodiscard]] bool launch_moved(const CUlaunchConfig& config, CUfunction kernel, void** parameters, void** extra, target to,
                                mode how, bool ptsz, CUresult& result);

/// Every launch of a kernel comes through here. `as_it_was` makes the program's own call. A call of this function would cost as much as
/// what it does for a kernel that is not listed, so it is inlined.
template <class AsItWas>
[[gnu::always_inline]] inline CUresult launch_any(const CUlaunchConfig& config, CUfunction kernel, void** parameters,
                                                  void** extra, bool ptsz, AsItWas as_it_was) {
  session& of = session::get();
  if (of.what() == job::none) {
    return as_it_was();
  }
  of.state().launches.fetch_add(1, std::memory_order_relaxed);
  if (of.what() == job::watch) {
    const CUstream stream = stream_of(config.hStream, ptsz);
    const watched_launch seen(config, stream, kernel, parameters, extra, capturing(stream));
    return as_it_was();
  }
  const target to = where(kernel, parameters, extra);
  const bool trying = of.what() == job::try_;
  const CUstream stream = stream_of(config.hStream, ptsz);
  if (to.what == target::kind::leave) [[likely]] {
    if (trying) {
      pace_before_launch(stream, kernel);
    }
    const CUresult result = as_it_was();
    if (trying) {
      pace_after_launch(stream);
    }
    return result;
  }
  // A captured launch becomes a node, which is moved when its graph is instantiated.
  if (capturing(stream)) {
    return as_it_was();
  }
  CUresult result = CUDA_SUCCESS;
  if (!trying) {
    of.state().listed.fetch_add(1, std::memory_order_relaxed);
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

template <hook_id Id>
CUresult on_launch(CUfunction f, unsigned gx, unsigned gy, unsigned gz, unsigned bx, unsigned by, unsigned bz, unsigned shared,
                   CUstream stream, void** parameters, void** extra) {
  const CUlaunchConfig config{gx, gy, gz, bx, by, bz, shared, stream, nullptr, 0};
  return launch_any(config, f, parameters, extra, is_per_thread(Id),
                    [&] { return next<Id>(f, gx, gy, gz, bx, by, bz, shared, stream, parameters, extra); });
}

template <hook_id Id>
CUresult on_launch_ex(const CUlaunchConfig* config, CUfunction f, void** parameters, void** extra) {
  const auto as_it_was = [&] { return next<Id>(config, f, parameters, extra); };
  return config == nullptr ? as_it_was() : launch_any(*config, f, parameters, extra, is_per_thread(Id), as_it_was);
}

template <hook_id Id>
CUresult on_launch_cooperative(CUfunction f, unsigned gx, unsigned gy, unsigned gz, unsigned bx, unsigned by, unsigned bz,
                               unsigned shared, CUstream stream, void** parameters) {
  CUlaunchAttribute cooperative{};
  cooperative.id = CU_LAUNCH_ATTRIBUTE_COOPERATIVE;
  cooperative.value.cooperative = 1;
  const CUlaunchConfig config{gx, gy, gz, bx, by, bz, shared, stream, &cooperative, 1};
  return launch_any(config, f, parameters, nullptr, is_per_thread(Id),
                    [&] { return next<Id>(f, gx, gy, gz, bx, by, bz, shared, stream, parameters); });
}

/// A listed kernel is launched by a function that takes no attribute, so it runs as it was.
void cannot_move(CUfunction kernel, CUstream stream, void** parameters);

/// cuLaunch, cuLaunchGrid and cuLaunchGridAsync: their arguments were set by calls of their own.
template <hook_id Id>
CUresult on_launch_without_attributes(CUfunction f, std::uintptr_t second, std::uintptr_t third, CUstream fourth) {
  if (session::get().what() != job::none) {
    cannot_move(f, Id == hook_id::of_cuLaunchGridAsync ? fourth : nullptr, nullptr);
  }
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
