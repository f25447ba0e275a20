// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
/// @file
/// Owning handles to CUDA objects for the project's benches, tests and examples. They are not part of the library.
#pragma once

#include <membar/device_guard.hpp>
#include <membar/error.hpp>

#include <cstddef>
#include <memory>
#include <new>
#include <type_traits>

namespace support {

using membar::device_guard;

/// Returns the result of querying a stream or an event. Throws if a kernel failed.
[[nodiscard]] inline bool has_ended(cudaError_t status) {
  if (status == cudaErrorNotReady) {
    static_cast<void>(cudaGetLastError());
    return false;
  }
  membar::check(status, "a kernel failed");
  return true;
}

/// A stream that does not synchronize with the default stream.
class stream {
 public:
  stream() { membar::check(cudaStreamCreateWithFlags(&handle_, cudaStreamNonBlocking)); }
  stream(const stream&) = delete;
  stream& operator=(const stream&) = delete;
  ~stream() { static_cast<void>(cudaStreamDestroy(handle_)); }

  [[nodiscard]] cudaStream_t get() const noexcept { return handle_; }
  void synchronize() const { membar::check(cudaStreamSynchronize(handle_), "a kernel failed"); }

  /// Returns whether all work enqueued so far has ended.
  [[nodiscard]] bool idle() const { return has_ended(cudaStreamQuery(handle_)); }

 private:
  cudaStream_t handle_ = nullptr;
};

/// An event; it records times unless it is created with `cudaEventDisableTiming`.
class event {
 public:
  explicit event(unsigned flags = cudaEventDefault) { membar::check(cudaEventCreateWithFlags(&handle_, flags)); }
  event(const event&) = delete;
  event& operator=(const event&) = delete;
  ~event() { static_cast<void>(cudaEventDestroy(handle_)); }

  [[nodiscard]] cudaEvent_t get() const noexcept { return handle_; }
  void record(cudaStream_t stream) const { membar::check(cudaEventRecord(handle_, stream)); }
  void synchronize() const { membar::check(cudaEventSynchronize(handle_), "a kernel failed"); }

  [[nodiscard]] bool reached() const { return has_ended(cudaEventQuery(handle_)); }

  /// Returns the nanoseconds from `earlier` to this event. Both events must have completed.
  [[nodiscard]] double nanoseconds_since(const event& earlier) const {
    float milliseconds = 0;
    membar::check(cudaEventElapsedTime(&milliseconds, earlier.handle_, handle_));
    return static_cast<double>(milliseconds) * 1e6;
  }

 private:
  cudaEvent_t handle_ = nullptr;
};

/// The operations that `work` enqueues in a stream, captured and ready to be launched there.
class executable_graph {
 public:
  template <class Work>
  executable_graph(cudaStream_t stream, Work work) {
    cudaGraph_t graph = nullptr;
    membar::check(cudaStreamBeginCapture(stream, cudaStreamCaptureModeThreadLocal));
    try {
      work();
    } catch (...) {
      static_cast<void>(cudaStreamEndCapture(stream, &graph));  // `work` must not leave the stream in capture mode.
      static_cast<void>(cudaGraphDestroy(graph));
      throw;
    }
    membar::check(cudaStreamEndCapture(stream, &graph));
    cudaGraphExec_t made = nullptr;
    const cudaError_t status = cudaGraphInstantiate(&made, graph, 0);
    static_cast<void>(cudaGraphDestroy(graph));
    membar::check(status);
    handle_.reset(made);
    membar::check(cudaGraphUpload(made, stream));
    membar::check(cudaStreamSynchronize(stream), "a kernel failed");
  }

  void launch(cudaStream_t stream) const { membar::check(cudaGraphLaunch(handle_.get(), stream)); }

 private:
  struct destroy {
    void operator()(cudaGraphExec_t graph) const noexcept { static_cast<void>(cudaGraphExecDestroy(graph)); }
  };
  std::unique_ptr<std::remove_pointer_t<cudaGraphExec_t>, destroy> handle_;
};

/// Returns the time in nanoseconds of the operations that `work` enqueues in a stream, measured with events before and after
/// them.
template <class Work>
[[nodiscard]] double nanoseconds_of(cudaStream_t stream, Work work) {
  const event begin;
  const event end;
  begin.record(stream);
  work();
  membar::check(cudaGetLastError(), "the kernel does not fit the device");
  end.record(stream);
  end.synchronize();
  return end.nanoseconds_since(begin);
}

/// `count` zeroed objects in the memory of the device that is current at construction.
template <class T>
class device_memory {
 public:
  explicit device_memory(std::size_t count) : count_(count) {
    membar::check(cudaMalloc(&data_, count * sizeof(T)), "the device has too little free memory");
    try {
      membar::check(cudaMemset(data_, 0, count * sizeof(T)));
      membar::check(cudaDeviceSynchronize(), "a kernel failed");
    } catch (...) {
      static_cast<void>(cudaFree(data_));
      throw;
    }
  }
  device_memory(const device_memory&) = delete;
  device_memory& operator=(const device_memory&) = delete;
  ~device_memory() { static_cast<void>(cudaFree(data_)); }

  [[nodiscard]] T* get() const noexcept { return data_; }
  [[nodiscard]] std::size_t size() const noexcept { return count_; }

 private:
  T* data_ = nullptr;
  std::size_t count_;
};

/// `count` zeroed objects in pinned host memory, which every device accesses at the same address.
template <class T>
class pinned_memory {
 public:
  explicit pinned_memory(std::size_t count) : count_(count) {
    void* memory = nullptr;
    membar::check(cudaHostAlloc(&memory, count * sizeof(T), cudaHostAllocMapped | cudaHostAllocPortable),
                  "the host has too little memory to pin");
    data_ = static_cast<T*>(memory);
    for (std::size_t i = 0; i != count; ++i) {
      ::new (static_cast<void*>(data_ + i)) T{};
    }
  }
  pinned_memory(const pinned_memory&) = delete;
  pinned_memory& operator=(const pinned_memory&) = delete;
  ~pinned_memory() { static_cast<void>(cudaFreeHost(data_)); }

  [[nodiscard]] T* get() const noexcept { return data_; }
  [[nodiscard]] std::size_t size() const noexcept { return count_; }
  [[nodiscard]] T& operator[](std::size_t i) const noexcept { return data_[i]; }

 private:
  T* data_ = nullptr;
  std::size_t count_;
};

}  // namespace support
