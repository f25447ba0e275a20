// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "membar-domains/preload/pace.hpp"

#include <atomic>
#include <deque>
#include <map>
#include <memory>
#include <mutex>
#include <numeric>
#include <set>
#include <tuple>
#include <utility>
#include <vector>

#include "intercept/driver.hpp"
#include "intercept/relaxed_capture.hpp"
#include "membar-domains/preload/session.hpp"

namespace membar_domains {

namespace {

using membar::intercept::relaxed_capture;

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
  // hashes of the kernels, collected until the stream has a lane, because threads may launch them in a different order in each
  // run
  std::set<std::uint32_t> prints;
  std::uint32_t lane = 0;
};

/// The times of one context. Times of different contexts cannot be compared: each context's times start eleven days after the
/// previous context's times. No call that may wait for the device is made while the mutex is held, because a launch that waits
/// for space in its queue may depend on a later launch of another thread.
struct context_pace {
  std::mutex mutex;
  std::int64_t base_ns = 0;
  CUevent anchor = nullptr;
  std::int64_t anchor_ns = 0;
  std::vector<CUevent> unused;
  std::deque<pending> waiting;
  CUdevice device = 0;
  std::map<std::tuple<const void*, CUgraphExec, std::uint32_t>, std::uint32_t> graphs;  // lanes
  std::map<const void*, unit_of_stream> units;
};

std::mutex& paces_mutex() {
  static std::mutex* const one = new std::mutex;
  return *one;
}

std::map<CUcontext, std::unique_ptr<context_pace>>& paces() {
  static auto* const all = new std::map<CUcontext, std::unique_ptr<context_pace>>;
  return *all;
}

/// Returns the hashes of executable graphs. The caller must hold `paces_mutex()`.
std::map<CUgraphExec, std::uint32_t>& prints_of_graphs() {
  static auto* const all = new std::map<CUgraphExec, std::uint32_t>;
  return *all;
}

std::atomic<std::uint32_t> lanes_made = 0;

/// Returns a key for a stream. The per-thread default stream is a different stream in each thread.
const void* key_of(CUstream stream) {
  static thread_local char own = 0;
  return stream == CU_STREAM_PER_THREAD ? static_cast<const void*>(&own) : stream;
}

/// Creates events in advance, because creating an event may have to wait for a spinning kernel.
void make_events(context_pace& pace, int count) {
  const relaxed_capture relaxed;
  for (int i = 0; i < count; ++i) {
    CUevent event = nullptr;
    if (driver::cuEventCreate_(&event, static_cast<unsigned>(CU_EVENT_DEFAULT)) != CUDA_SUCCESS) {
      return;
    }
    const std::lock_guard lock(pace.mutex);
    pace.unused.push_back(event);
  }
}

/// Returns the times of the current context, or null if there is none.
context_pace* current_pace() {
  CUcontext context = nullptr;
  if (driver::cuCtxGetCurrent_(&context) != CUDA_SUCCESS || context == nullptr) {
    return nullptr;
  }
  context_pace* out = nullptr;
  bool is_new = false;
  {
    const std::lock_guard lock(paces_mutex());
    std::unique_ptr<context_pace>& pace = paces()[context];
    is_new = pace == nullptr;
    if (is_new) {
      pace = std::make_unique<context_pace>();
      static_cast<void>(driver::cuCtxGetDevice_(&pace->device));
      pace->base_ns = static_cast<std::int64_t>(paces().size()) * 1'000'000'000'000'000;
    }
    out = pace.get();
  }
  if (is_new) {
    make_events(*out, 4096);
  }
  return out;
}

void give_back(context_pace& pace, CUevent event) {
  const std::lock_guard lock(pace.mutex);
  pace.unused.push_back(event);
}

CUevent take_event(context_pace& pace) {
  for (const bool again : {true, false}) {
    {
      const std::lock_guard lock(pace.mutex);
      if (!pace.unused.empty()) {
        const CUevent event = pace.unused.back();
        pace.unused.pop_back();
        return event;
      }
    }
    if (again) {
      make_events(pace, 1024);
    }
  }
  return nullptr;
}

/// Records an event from the pool in the stream. If this fails, counts the failure and returns null.
CUevent recorded(context_pace& pace, CUstream stream) {
  const relaxed_capture relaxed;
  const CUevent event = take_event(pace);
  if (event != nullptr && driver::cuEventRecord_(event, stream) == CUDA_SUCCESS) {
    return event;
  }
  if (event != nullptr) {
    give_back(pace, event);
  }
  session::get().state().untimed.fetch_add(1, std::memory_order_relaxed);
  return nullptr;
}

/// Returns the time of a completed event, or -1. The driver can compute the time between two events only if both have
/// completed.
std::int64_t time_of(context_pace& pace, CUevent event) {
  float ms = 0;
  if (driver::cuEventElapsedTime_(&ms, pace.anchor, event) != CUDA_SUCCESS) {
    return -1;
  }
  return pace.anchor_ns + static_cast<std::int64_t>(static_cast<double>(ms) * 1e6);
}

/// Writes the records of completed work. The caller must hold the mutex.
void resolve(context_pace& pace, std::size_t at_most) {
  for (; at_most > 0 && !pace.waiting.empty(); --at_most) {
    const pending p = pace.waiting.front();
    if (driver::cuEventQuery_(p.end) != CUDA_SUCCESS) {
      // A listed kernel that is still running must not delay the records of work that ran concurrently with it.
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
    // A float in milliseconds has a resolution of 30 ns up to half a second, so the reference event is replaced before that.
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

/// Returns the number of a lane, which is unique in the process. Each lane belongs to one context. The name of a lane
/// is the same in every run.
std::uint32_t new_lane(const context_pace& pace, const char* what, std::uint32_t print) {
  const std::uint32_t lane = ++lanes_made;
  session::get().write("L %u %s %08x\n", lane, what, print + static_cast<std::uint32_t>(pace.device));
  return lane;
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
  if (context_pace* const pace = current_pace(); pace != nullptr) {
    context_ = pace;
    start_ = recorded(*pace, stream);
  }
}

std::uint32_t print_of(const std::string& name, std::uint32_t with) {
  std::uint32_t out = 2166136261U ^ with;  // FNV-1a
  for (const char c : name) {
    out = (out ^ static_cast<unsigned char>(c)) * 16777619U;
  }
  return out;
}

void pace_graph(CUgraphExec exec, std::uint32_t print) {
  const std::lock_guard lock(paces_mutex());
  prints_of_graphs()[exec] = print;
}

void timed_span::end(bool listed, mode how, CUgraphExec unit) {
  if (start_ == nullptr) {
    return;
  }
  auto& pace = *static_cast<context_pace*>(context_);
  const CUevent last = recorded(pace, stream_);
  if (last == nullptr) {
    give_back(pace, start_);
    return;
  }
  std::uint32_t print = 0;
  if (unit != nullptr) {
    const std::lock_guard lock(paces_mutex());
    print = prints_of_graphs()[unit];
  }
  const relaxed_capture relaxed;
  const std::lock_guard lock(pace.mutex);
  std::uint32_t lane = 0;
  if (unit != nullptr) {
    std::uint32_t& known = pace.graphs[{key_of(stream_), unit, print}];
    lane = known = known != 0 ? known : new_lane(pace, "graph", print);
  }
  pace.waiting.push_back({start_, last, listed, how, unit != nullptr, lane});
  resolve(pace, 8);
}

void timed_span::end_listed(mode how) { end(true, how, nullptr); }

void timed_span::end_graph(CUgraphExec exec, bool listed, mode how) { end(listed, how, exec); }

void pace_before_launch(CUstream stream, CUfunction kernel) {
  context_pace* const pace = current_pace();
  if (pace == nullptr) {
    return;
  }
  bool begun = false;
  bool named = false;
  {
    const std::lock_guard lock(pace->mutex);
    const unit_of_stream& unit = pace->units[key_of(stream)];
    begun = unit.start != nullptr;
    named = unit.lane != 0;
    if (begun && named) {
      return;
    }
  }
  if (capturing(stream)) {
    return;
  }
  const std::uint32_t print = named ? 0 : print_of(session::get().name_of(kernel));
  const CUevent start = begun ? nullptr : recorded(*pace, stream);
  const std::lock_guard lock(pace->mutex);
  unit_of_stream& unit = pace->units[key_of(stream)];
  if (!named && unit.lane == 0) {
    unit.prints.insert(print);
  }
  if (start != nullptr && unit.start == nullptr) {
    unit.start = start;
    unit.launches = 0;
  } else if (start != nullptr) {  // another thread has already set `unit.start`
    pace->unused.push_back(start);
  }
}

void pace_after_launch(CUstream stream) {
  context_pace* const pace = current_pace();
  if (pace == nullptr) {
    return;
  }
  CUevent start = nullptr;
  {
    const std::lock_guard lock(pace->mutex);
    unit_of_stream& unit = pace->units[key_of(stream)];
    if (unit.start == nullptr || ++unit.launches < launches_in_a_unit) {
      return;
    }
    start = std::exchange(unit.start, nullptr);
  }
  // some of the launches may have been captured into a graph
  const CUevent last = capturing(stream) ? nullptr : recorded(*pace, stream);
  const relaxed_capture relaxed;
  const std::lock_guard lock(pace->mutex);
  if (last == nullptr) {
    pace->unused.push_back(start);
    return;
  }
  unit_of_stream& unit = pace->units[key_of(stream)];
  if (unit.lane == 0) {
    unit.lane = new_lane(*pace, "50 launches of stream", std::accumulate(unit.prints.begin(), unit.prints.end(), 0U));
  }
  pace->waiting.push_back({start, last, false, mode::off, true, unit.lane});
  resolve(*pace, 8);
}

void pace_finish() {
  const std::unique_lock lock(paces_mutex(), std::try_to_lock);
  if (lock) {
    const relaxed_capture relaxed;
    for (auto& [context, pace] : paces()) {
      if (const std::unique_lock own(pace->mutex, std::try_to_lock); own) {
        resolve(*pace, pace->waiting.size() * 2);
      }
    }
  }
  session::get().flush();
}

}  // namespace membar_domains
