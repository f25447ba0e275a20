// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
/// @file
/// Records launches. Launches that are not recorded are only passed on.
#pragma once

#include <cuda.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "membar-check/recorder/hooks.hpp"
#include "membar-check/recorder/session.hpp"

namespace membar_record {

/// Kernels that a thread has launched and that are not recorded.
class passing_kernels {
 public:
  struct known {
    CUfunction kernel;
    unsigned generation;
  };
  /// Returns the thread's own set, or null before the thread's first launch.
  [[nodiscard, gnu::always_inline]] static passing_kernels* if_made() noexcept { return mine_; }
  [[nodiscard]] static passing_kernels& make();
  [[nodiscard, gnu::always_inline]] known& place_of(CUfunction kernel) noexcept {
    return places_[(reinterpret_cast<std::uintptr_t>(kernel) >> 4U) % places_.size()];
  }

 private:
  // The variable uses the initial-exec TLS model, because the library is preloaded: computing its address takes an addition
  // instead of a call.
  [[gnu::tls_model("initial-exec")]] static inline thread_local passing_kernels* mine_ = nullptr;
  std::array<known, 64> places_{};
};

/// Returns whether the recorder only has to pass on the program's call for a launch. This function calls no other function, so
/// the compiler passes on the handler's arguments unchanged.
template <hook_id Id>
[[gnu::always_inline]] inline bool passes(CUfunction kernel) noexcept {
  const session* const of = session::if_made();
  passing_kernels* const mine = passing_kernels::if_made();
  if (of == nullptr || mine == nullptr || hook_of(Id).next.load(std::memory_order_acquire) == nullptr) [[unlikely]] {
    return false;
  }
  const passing_kernels::known& place = mine->place_of(kernel);
  return place.kernel == kernel && place.generation == of->generation();
}

/// The files with memory contents, by address and size.
using copied_memory = std::map<std::pair<CUdeviceptr, std::uint64_t>, std::string>;

/// The graph launch that a recorded launch belongs to, if any.
struct launch_origin {
  unsigned graph_launch = 0;         ///< the number of the graph launch; 0 if the launch does not belong to a graph
  std::size_t node = 0;              ///< the number of the node in the graph launch
  std::vector<std::size_t> after{};  ///< the numbers of the nodes on which it depends
  copied_memory* copied = nullptr;   ///< memory contents that were copied before the graph launch, for all its nodes
};

/// Records the next launch unless its kernel is not selected, the stream is being captured, or an identical launch has been
/// recorded. Returns the number of the launch, or 0.
unsigned record_launch(const CUlaunchConfig& config, CUfunction kernel, void** parameters, void** extra, CUstream stream,
                       const launch_origin& from = {}) noexcept;

/// Returns whether the stream is being captured or its capture status cannot be queried.
[[nodiscard]] bool is_captured(CUstream stream) noexcept;

template <hook_id Id, class... More>
[[gnu::noinline]] CUresult launch_with_care(bool cooperative, CUfunction f, unsigned gx, unsigned gy, unsigned gz, unsigned bx,
                                            unsigned by, unsigned bz, unsigned shared, CUstream stream, void** parameters,
                                            More... extra) {
  CUlaunchAttribute attribute{};
  attribute.id = CU_LAUNCH_ATTRIBUTE_COOPERATIVE;
  attribute.value.cooperative = 1;
  const CUlaunchConfig config{
      gx, gy, gz, bx, by, bz, shared, stream, cooperative ? &attribute : nullptr, cooperative ? 1U : 0U};
  void** buffer = nullptr;
  ((buffer = extra), ...);
  record_launch(config, f, parameters, buffer, stream_of(stream, Id));
  return next<Id>(f, gx, gy, gz, bx, by, bz, shared, stream, parameters, extra...);
}

template <hook_id Id>
CUresult on_launch(CUfunction f, unsigned gx, unsigned gy, unsigned gz, unsigned bx, unsigned by, unsigned bz, unsigned shared,
                   CUstream stream, void** parameters, void** extra) {
  return passes<Id>(f) ? next<Id>(f, gx, gy, gz, bx, by, bz, shared, stream, parameters, extra)
                       : launch_with_care<Id>(false, f, gx, gy, gz, bx, by, bz, shared, stream, parameters, extra);
}

/// Like `on_launch`, but for cooperative launches, which have no `extra`.
template <hook_id Id>
CUresult on_launch_cooperative(CUfunction f, unsigned gx, unsigned gy, unsigned gz, unsigned bx, unsigned by, unsigned bz,
                               unsigned shared, CUstream stream, void** parameters) {
  return passes<Id>(f) ? next<Id>(f, gx, gy, gz, bx, by, bz, shared, stream, parameters)
                       : launch_with_care<Id>(true, f, gx, gy, gz, bx, by, bz, shared, stream, parameters);
}

/// A launch without the attribute for programmatic dependent launch, so that it cannot start before the preceding kernel has
/// ended.
struct stripped_launch {
  explicit stripped_launch(const CUlaunchConfig& of);
  std::vector<CUlaunchAttribute> attributes{};
  std::vector<CUevent> events{};  ///< the events that the launch records; another stream may wait for them
  CUlaunchConfig config;
};

template <hook_id Id>
CUresult on_launch_ex(const CUlaunchConfig* config, CUfunction f, void** parameters, void** extra) {
  if (config != nullptr && !passes<Id>(f)) {
    if (session::get().strips()) {
      const stripped_launch stripped(*config);
      const CUresult result = next<Id>(&stripped.config, f, parameters, extra);
      for (const CUevent event : stripped.events) {
        static_cast<void>(driver::cuEventRecord_(event, stream_of(config->hStream, Id)));
      }
      return result;
    }
    record_launch(*config, f, parameters, extra, stream_of(config->hStream, Id));
  }
  return next<Id>(config, f, parameters, extra);
}

/// Handles work other than a kernel launch in a stream. A programmatic dependent waits for such work, just as an ordinary
/// launch does.
void forget_predecessor(CUstream stream) noexcept;
/// Like `forget_predecessor`, but for all streams.
void forget_predecessors() noexcept;

/// Handles functions that copy or fill memory. These functions have four word-sized parameters; the last one is the stream.
template <hook_id Id>
CUresult on_other_work(std::uintptr_t first, std::uintptr_t second, std::uintptr_t third, CUstream stream) {
  if (session::get().has_launches()) {
    forget_predecessor(stream_of(stream, Id));
  }
  return next<Id>(first, second, third, stream);
}

}  // namespace membar_record
