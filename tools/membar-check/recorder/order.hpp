// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
/// @file
/// Records calls that order launches: events, waits, and synchronization by the host. Nothing is written before the first
/// launch has been recorded.
#pragma once

#include <cuda.h>

#include <cstdint>

#include "membar-check/recorder/hooks.hpp"
#include "membar-check/recorder/launches.hpp"
#include "membar-check/recorder/session.hpp"

namespace membar_record {

/// Writes a record of the call `what`, with its stream and event.
void record_order(const char* what, CUstream stream, CUevent event) noexcept;

template <hook_id Id>
CUresult on_event_record(CUevent event, CUstream stream, std::uintptr_t flags) {
  const CUresult result = next<Id>(event, stream, flags);
  if (session::get().has_launches() && result == CUDA_SUCCESS) {
    record_order("record", stream_of(stream, Id), event);
  }
  return result;
}

template <hook_id Id>
CUresult on_stream_wait(CUstream stream, CUevent event, unsigned flags) {
  const CUresult result = next<Id>(stream, event, flags);
  if (session::get().has_launches() && result == CUDA_SUCCESS) {
    record_order("wait", stream_of(stream, Id), event);
  }
  return result;
}

/// Handles functions that the host uses to wait for a stream or to find out whether the stream is idle.
template <hook_id Id>
CUresult on_stream_synchronized(CUstream stream) {
  const CUresult result = next<Id>(stream);
  if (session::get().has_launches() && result == CUDA_SUCCESS) {
    record_order("stream", stream_of(stream, Id), nullptr);
    forget_predecessor(stream_of(stream, Id));
  }
  return result;
}

template <hook_id Id>
CUresult on_event_synchronized(CUevent event) {
  const CUresult result = next<Id>(event);
  if (session::get().has_launches() && result == CUDA_SUCCESS) {
    record_order("event", nullptr, event);
  }
  return result;
}

/// Handles cuCtxSynchronize and cuCtxSynchronize_v2, which takes the context.
template <hook_id Id>
CUresult on_context_synchronized(std::uintptr_t context) {
  const CUresult result = next<Id>(context);
  if (session::get().has_launches() && result == CUDA_SUCCESS) {
    record_order("all", nullptr, nullptr);
    forget_predecessors();
  }
  return result;
}

/// Handles copies to the host, which wait for the null stream.
template <hook_id Id>
CUresult on_copied_to_host(void* to, CUdeviceptr from, std::size_t bytes) {
  const CUresult result = next<Id>(to, from, bytes);
  if (session::get().has_launches() && result == CUDA_SUCCESS) {
    record_order("stream", nullptr, nullptr);
    forget_predecessors();
  }
  return result;
}

}  // namespace membar_record
