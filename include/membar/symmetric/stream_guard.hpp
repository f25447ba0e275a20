// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
/// @file
/// A guard that lets only one stream, or the host, use a team at a time.
#pragma once

#include <membar/detail/stream_handle.hpp>
#include <membar/error.hpp>

#include <cstdio>
#include <mutex>
#include <thread>

namespace membar {
inline namespace v0_3 {
namespace symmetric {

/// Guards a team on one PE, so that only one stream, or the host, calls the team's collectives at a time.
///
/// Collectives of one team must be called in the same order on every PE, but the calls of two streams, or of a stream and the
/// host, have no defined order. Acquire a hold around the calls that enqueue collectives. During the hold's lifetime, the team
/// belongs to the hold's stream and thread. Afterwards, another stream may hold the team as soon as the enqueued work has
/// ended. If the work has not ended yet, `on` and `on_host` throw an error. `on_after_previous` makes the new stream wait for
/// the work, and `on_host_after_previous` makes the calling thread wait for it.
///
/// Create one guard for each team and PE of the process, while the PE's device is current. The guard must outlive its holds,
/// and is thread-safe. Each hold costs one recorded event and two stream queries, plus one event query if the stream changes.
/// Errors: throws `error`, which names the team, its user and the remedy, and changes nothing. In a captured stream, nothing
/// runs yet, so a hold there does not wait, leaves no work, and protects the team only from other streams in the same capture.
/// Hold the team again where the graph is launched.
class stream_guard {
 public:
  /// `team` is the team's name in error messages.
  explicit stream_guard(const char* team) {
    std::snprintf(team_, sizeof team_, "%s", team);
    check(cudaEventCreateWithFlags(&last_work_, cudaEventDisableTiming),
          "check with nvidia-smi that the CUDA driver and the device work");
  }
  stream_guard(const stream_guard&) = delete;
  stream_guard& operator=(const stream_guard&) = delete;
  ~stream_guard() { membar::detail::report_failed_restore(cudaEventDestroy(last_work_)); }

  /// Holds the team for the lifetime of the object. Holds of the same stream and thread may be nested.
  class hold {
   public:
    hold(const hold&) = delete;
    hold& operator=(const hold&) = delete;
    ~hold() { guard_->release(turn_); }

   private:
    friend class stream_guard;
    hold(stream_guard& guard, unsigned long long turn) noexcept : guard_(&guard), turn_(turn) {}

    stream_guard* guard_;
    unsigned long long turn_;
  };

  /// Acquires the team for `stream`.
  [[nodiscard("destroying the hold releases the team: give the hold a name")]] hold on(stream_handle stream) {
    return take(user_of(stream), false);
  }
  /// Acquires the team for `stream`, and makes `stream` wait for the team's work in another stream.
  [[nodiscard("destroying the hold releases the team: give the hold a name")]] hold on_after_previous(stream_handle stream) {
    return take(user_of(stream), true);
  }
  /// Acquires the team for collectives that the calling thread calls itself.
  [[nodiscard("destroying the hold releases the team: give the hold a name")]] hold on_host() {
    return take({.host = true}, false);
  }
  /// Acquires the team for collectives that the calling thread calls itself, after it has waited for the team's work in a
  /// stream.
  [[nodiscard("destroying the hold releases the team: give the hold a name")]] hold on_host_after_previous() {
    return take({.host = true}, true);
  }

  /// Returns the unique id of the capture that `stream` is in, or 0 if there is none.
  [[nodiscard]] static unsigned long long capture_of(cudaStream_t stream) {
    cudaStreamCaptureStatus capture = cudaStreamCaptureStatusNone;
    unsigned long long id = 0;
    check(cudaStreamGetCaptureInfo(stream, &capture, &id), "pass an existing stream of the current device");
    return capture == cudaStreamCaptureStatusActive ? id : 0;
  }

 private:
  /// The user of the team. A stream is identified by its id, because a new stream may reuse a destroyed stream's handle. CUDA
  /// provides no id for a captured stream, so it is identified by its handle and its capture's id: such a stream exists for as
  /// long as its capture.
  struct user {
    bool host = false;
    bool captured = false;
    cudaStream_t stream = nullptr;
    unsigned long long id = 0;
    friend bool operator==(const user& a, const user& b) noexcept {
      return a.host == b.host && a.captured == b.captured && a.id == b.id && (!a.captured || a.stream == b.stream);
    }
  };

  [[nodiscard]] static user user_of(cudaStream_t stream) {
    user found{.stream = stream, .id = capture_of(stream)};
    found.captured = found.id != 0;
    if (!found.captured) {
      check(cudaStreamGetId(stream, &found.id), "pass an existing stream of the current device");
    }
    return found;
  }

  /// The name of a user, for error messages.
  struct user_name {
    explicit user_name(const user& who) noexcept {
      if (who.host) {
        std::snprintf(text, sizeof text, "the host");
      } else if (who.stream == nullptr) {
        std::snprintf(text, sizeof text, "the default stream");
      } else if (who.captured) {
        std::snprintf(text, sizeof text, "captured stream %p", static_cast<void*>(who.stream));
      } else {
        std::snprintf(text, sizeof text, "stream %p (id %llu)", static_cast<void*>(who.stream), who.id);
      }
    }
    char text[64];
  };

  hold take(const user& next, bool wait) {
    const std::lock_guard lock(mutex_);
    // A hold in another capture has no running work, and that capture may have ended.
    const bool elsewhere = current_.captured && !(next.captured && next.id == current_.id);
    if (holds_ != 0 && !elsewhere) {
      if (!(next == current_)) {
        throw error(cudaErrorNotPermitted,
                    "membar: team %s is in use on %s and cannot be used on %s at the same time: end the first "
                    "hold, or give the second its own team",
                    team_, user_name(current_).text, user_name(next).text);
      }
      if (thread_ != std::this_thread::get_id()) {
        throw error(cudaErrorNotPermitted,
                    "membar: team %s is in use on %s by another thread, so the order of the two uses may differ between PEs: "
                    "call a team's collectives from only one thread",
                    team_, user_name(current_).text);
      }
    } else if (work_ && !next.captured && !(next == worker_)) {
      order(next, wait);
      work_ = false;
    }
    if (elsewhere) {
      holds_ = 0;
      ++turn_;
    }
    current_ = next;
    thread_ = std::this_thread::get_id();
    ++holds_;
    return {*this, turn_};
  }

  /// Orders the new hold after the team's work in another stream, or throws.
  void order(const user& next, bool wait) {
    if (wait) {
      if (next.host) {
        check(cudaEventSynchronize(last_work_), "an earlier operation failed");
      } else {
        check(cudaStreamWaitEvent(next.stream, last_work_, 0), "pass a stream of the current device");
      }
      return;
    }
    const cudaError_t status = cudaEventQuery(last_work_);
    if (status == cudaErrorNotReady) {
      static_cast<void>(cudaGetLastError());
      throw error(cudaErrorNotReady,
                  "membar: team %s cannot be used on %s yet, because its work on %s may still be running: wait for that stream "
                  "first, or use %s, "
                  "which waits",
                  team_, user_name(next).text, user_name(worker_).text,
                  next.host ? "on_host_after_previous" : "on_after_previous");
    }
    check(status, "an earlier operation failed");
  }

  void release(unsigned long long turn) noexcept {
    const std::lock_guard lock(mutex_);
    if (turn != turn_ || --holds_ != 0 || current_.host || current_.captured) {
      return;
    }
    cudaStreamCaptureStatus capture = cudaStreamCaptureStatusNone;
    cudaError_t status = cudaStreamIsCapturing(current_.stream, &capture);
    if (status == cudaSuccess && capture == cudaStreamCaptureStatusNone) {
      status = cudaEventRecord(last_work_, current_.stream);
      work_ = status == cudaSuccess;
      worker_ = current_;
    }
    membar::detail::report_failed_restore(status);
  }

  std::mutex mutex_;
  cudaEvent_t last_work_ = nullptr;
  bool work_ = false;  ///< whether the event follows work of `worker_`
  user worker_;
  int holds_ = 0;
  unsigned long long turn_ = 0;  ///< the number of the current hold
  user current_;
  std::thread::id thread_;
  char team_[64];
};

}  // namespace symmetric
}  // namespace v0_3
}  // namespace membar
