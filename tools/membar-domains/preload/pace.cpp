// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "membar-domains/preload/pace.hpp"

#include <deque>
#include <map>
#include <memory>
#include <mutex>
#include <utility>
#include <vector>

#include "membar-domains/preload/driver.hpp"
#include "membar-domains/preload/session.hpp"

namespace membar_domains {

namespace {

/// Our calls are harmless to a capture that another thread or stream of the program makes, and CUDA is told so.
class relaxed_capture {
 public:
  relaxed_capture() { static_cast<void>(driver::cuThreadExchangeStreamCaptureMode_(&mode_)); }
  ~relaxed_capture() { static_cast<void>(driver::cuThreadExchangeStreamCaptureMode_(&mode_)); }
  relaxed_capture(const relaxed_capture&) = delete;
  relaxed_capture& operator=(const relaxed_capture&) = delete;

 private:
  CUstreamCaptureMode mode_ = CU_STREAM_CAPTURE_MODE_RELAXED;
};

struct pending {
  CUevent start = nullptr, end = nullptr;
  bool listed = false;
  mode how = mode::off;
  bool unit = false;
  std::uint32_t lane = 0;
};

struct unit_of_stream {
  CUevent start = nullptr;
  unsigned launches = 0;
};

/// Times of one context. Those of different contexts cannot be compared: each begins eleven days after the one before.
struct context_pace {
  std::int64_t base_ns = 0;
  CUevent anchor = nullptr;
  std::int64_t anchor_ns = 0;
  std::vector<CUevent> unused;
  std::deque<pending> waiting;
  std::map<std::pair<const void*, const void*>, std::uint32_t> lanes;  // by stream and graph
  std::map<CUstream, unit_of_stream> units;
};

std::mutex& paces_mutex() {
  static std::mutex* const one = new std::mutex;
  return *one;
}

std::map<CUcontext, std::unique_ptr<context_pace>>& paces() {
  static auto* const all = new std::map<CUcontext, std::unique_ptr<context_pace>>;
  return *all;
}

std::uint32_t lanes_made = 0;

/// Made before much of it is needed: allocating beside a kernel that spins may wait for it.
void make_events(context_pace& pace, int count) {
  for (int i = 0; i < count; ++i) {
    CUevent event = nullptr;
    if (driver::cuEventCreate_(&event, static_cast<unsigned>(CU_EVENT_DEFAULT)) != CUDA_SUCCESS) {
      return;
    }
    pace.unused.push_back(event);
  }
}

/// With `paces_mutex` held. Null without a context.
context_pace* current_pace() {
  CUcontext context = nullptr;
  if (driver::cuCtxGetCurrent_(&context) != CUDA_SUCCESS || context == nullptr) {
    return nullptr;
  }
  std::unique_ptr<context_pace>& pace = paces()[context];
  if (!pace) {
    const relaxed_capture relaxed;
    pace = std::make_unique<context_pace>();
    pace->base_ns = static_cast<std::int64_t>(paces().size()) * 1'000'000'000'000'000;
    make_events(*pace, 4096);
  }
  return pace.get();
}

CUevent take_event(context_pace& pace) {
  if (pace.unused.empty()) {
    make_events(pace, 1024);
  }
  if (pace.unused.empty()) {
    return nullptr;
  }
  const CUevent event = pace.unused.back();
  pace.unused.pop_back();
  return event;
}

/// The time of an event that has happened, or -1. Both events of `elapsed` must have.
std::int64_t time_of(context_pace& pace, CUevent event) {
  float ms = 0;
  if (driver::cuEventElapsedTime_(&ms, pace.anchor, event) != CUDA_SUCCESS) {
    return -1;
  }
  return pace.anchor_ns + static_cast<std::int64_t>(static_cast<double>(ms) * 1e6);
}

/// Writes what is over. With `paces_mutex` held.
void resolve(context_pace& pace, std::size_t at_most) {
  for (; at_most > 0 && !pace.waiting.empty(); --at_most) {
    const pending p = pace.waiting.front();
    if (driver::cuEventQuery_(p.end) != CUDA_SUCCESS) {
      // A kernel that runs for long must not hide the work beside it.
      if (p.listed && pace.waiting.size() > 1 && driver::cuEventQuery_(p.start) == CUDA_SUCCESS) {
        pace.waiting.pop_front();
        pace.waiting.push_back(p);
        continue;
      }
      return;
    }
    pace.waiting.pop_front();
    if (pace.anchor == nullptr) {
      pace.anchor = p.start;
      pace.anchor_ns = pace.base_ns;
    }
    const std::int64_t start = time_of(pace, p.start);
    const std::int64_t end = time_of(pace, p.end);
    if (start >= 0 && end >= start) {
      if (p.listed) {
        session::get().write("M %d %lld %lld\n", static_cast<int>(p.how), static_cast<long long>(start),
                             static_cast<long long>(end));
      }
      if (p.unit) {
        session::get().write("T %u %lld %lld\n", p.lane, static_cast<long long>(start), static_cast<long long>(end));
      }
    } else {
      session::get().state().untimed.fetch_add(1, std::memory_order_relaxed);
    }
    // A float of milliseconds is exact to 30 ns for half a second: then the anchor moves on.
    const bool move_anchor = end - pace.anchor_ns > 250'000'000;
    if (p.start != pace.anchor) {
      pace.unused.push_back(p.start);
    }
    if (move_anchor) {
      pace.unused.push_back(pace.anchor);
      pace.anchor = p.end;
      pace.anchor_ns = end;
    } else {
      pace.unused.push_back(p.end);
    }
  }
}

std::uint32_t lane_of(context_pace& pace, const void* stream, const void* graph, const char* what) {
  const auto [at, is_new] = pace.lanes.try_emplace({stream, graph}, lanes_made + 1);
  if (is_new) {
    ++lanes_made;
    session::get().write("L %u %s %zu\n", at->second, what, pace.lanes.size());
  }
  return at->second;
}

}  // namespace

bool capturing(CUstream stream) {
  CUstreamCaptureStatus status = CU_STREAM_CAPTURE_STATUS_NONE;
  return driver::cuStreamIsCapturing_(stream, &status) != CUDA_SUCCESS || status != CU_STREAM_CAPTURE_STATUS_NONE;
}

timed_span::timed_span(CUstream stream) : stream_(stream) {
  if (capturing(stream)) {
    return;
  }
  const relaxed_capture relaxed;
  const std::lock_guard lock(paces_mutex());
  context_pace* const pace = current_pace();
  if (pace == nullptr) {
    return;
  }
  context_ = pace;
  start_ = take_event(*pace);
  if (start_ != nullptr && driver::cuEventRecord_(start_, stream) != CUDA_SUCCESS) {
    pace->unused.push_back(std::exchange(start_, nullptr));
    session::get().state().untimed.fetch_add(1, std::memory_order_relaxed);
  }
}

void timed_span::end(bool listed, mode how, bool unit, const void* lane, const char* what) {
  if (start_ == nullptr) {
    return;
  }
  const relaxed_capture relaxed;
  const std::lock_guard lock(paces_mutex());
  auto& pace = *static_cast<context_pace*>(context_);
  const CUevent last = take_event(pace);
  if (last == nullptr || driver::cuEventRecord_(last, stream_) != CUDA_SUCCESS) {
    pace.unused.push_back(start_);
    if (last != nullptr) {
      pace.unused.push_back(last);
    }
    session::get().state().untimed.fetch_add(1, std::memory_order_relaxed);
    return;
  }
  pace.waiting.push_back({start_, last, listed, how, unit, unit ? lane_of(pace, stream_, lane, what) : 0});
  resolve(pace, 8);
}

void timed_span::end_listed(mode how) { end(true, how, false, nullptr, ""); }

void timed_span::end_graph(CUgraphExec exec, bool listed, mode how) { end(listed, how, true, exec, "graph"); }

void pace_before_launch(CUstream stream) {
  const std::lock_guard lock(paces_mutex());
  context_pace* const pace = current_pace();
  if (pace == nullptr) {
    return;
  }
  unit_of_stream& unit = pace->units[stream];
  if (unit.start != nullptr || capturing(stream)) {
    return;
  }
  const relaxed_capture relaxed;
  unit.start = take_event(*pace);
  unit.launches = 0;
  if (unit.start != nullptr && driver::cuEventRecord_(unit.start, stream) != CUDA_SUCCESS) {
    pace->unused.push_back(std::exchange(unit.start, nullptr));
    session::get().state().untimed.fetch_add(1, std::memory_order_relaxed);
  }
}

void pace_after_launch(CUstream stream) {
  const std::lock_guard lock(paces_mutex());
  context_pace* const pace = current_pace();
  if (pace == nullptr) {
    return;
  }
  unit_of_stream& unit = pace->units[stream];
  if (unit.start == nullptr || ++unit.launches < launches_in_a_unit) {
    return;
  }
  const CUevent start = std::exchange(unit.start, nullptr);
  if (capturing(stream)) {  // part of the launches went into a graph
    pace->unused.push_back(start);
    return;
  }
  const relaxed_capture relaxed;
  const CUevent last = take_event(*pace);
  if (last != nullptr && driver::cuEventRecord_(last, stream) == CUDA_SUCCESS) {
    pace->waiting.push_back({start, last, false, mode::off, true, lane_of(*pace, stream, nullptr, "50 launches of stream")});
  } else {
    pace->unused.push_back(start);
    session::get().state().untimed.fetch_add(1, std::memory_order_relaxed);
  }
  resolve(*pace, 8);
}

void pace_finish() {
  const std::unique_lock lock(paces_mutex(), std::try_to_lock);
  if (lock) {
    const relaxed_capture relaxed;
    for (auto& [context, pace] : paces()) {
      resolve(*pace, pace->waiting.size() * 2);
    }
  }
  session::get().flush();
}

}  // namespace membar_domains
