// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
/// @file
/// Tracks memory that processes share through CUDA IPC. One process exports a handle, and others open it. The addresses in the
/// exporting and the opening process are recorded, even if no recording is in progress.
#pragma once

#include <cuda.h>

#include <cstddef>
#include <cstdint>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>

#include "membar-check/recorder/hooks.hpp"
#include "membar-check/recorder/session.hpp"

namespace membar_record {

/// Formats bytes, for example the bytes of a handle, as hexadecimal digits.
[[nodiscard]] inline std::string hex_of(std::string_view bytes) {
  constexpr char digits[] = "0123456789abcdef";
  std::string out;
  for (const char c : bytes) {
    const auto byte = static_cast<unsigned char>(c);
    out += digits[byte / 16U];
    out += digits[byte % 16U];
  }
  return out;
}

inline void keep_line(nlohmann::json line) {
  line["time"] = session::time();
  session::get().keep(line.dump());
}

/// Reports something that the recorder cannot track, even if it happened before the recording.
inline void keep_complaint(const char* sentence) { session::get().keep(nlohmann::json{{"complaint", sentence}}.dump()); }

template <hook_id Id>
CUresult on_shared(CUipcMemHandle* handle, CUdeviceptr at) {
  const CUresult result = next<Id>(handle, at);
  if (result == CUDA_SUCCESS && session::get().watches()) {
    quietly([&] {
      CUdeviceptr begin = at;
      std::size_t bytes = 1;
      static_cast<void>(driver::cuMemGetAddressRange_(&begin, &bytes, at));
      keep_line({{"shares", hex_of({handle->reserved, sizeof handle->reserved})},
                 {"address", at},
                 {"begin", begin},
                 {"bytes", bytes}});
    });
  }
  return result;
}

template <hook_id Id>
CUresult on_mapped(CUdeviceptr* at, CUipcMemHandle handle, unsigned flags) {
  const CUresult result = next<Id>(at, handle, flags);
  if (result == CUDA_SUCCESS && session::get().watches()) {
    quietly([&] { keep_line({{"maps", hex_of({handle.reserved, sizeof handle.reserved})}, {"address", *at}}); });
  }
  return result;
}

template <hook_id Id>
CUresult on_unmapped(CUdeviceptr at) {
  if (session::get().watches()) {
    quietly([&] { keep_line({{"unmaps", at}}); });
  }
  return next<Id>(at);
}

template <hook_id Id>
CUresult on_event_opened(CUevent* event, CUipcEventHandle handle) {
  if (session::get().watches()) {
    quietly([] {
      keep_complaint(
          "an event from another process was opened, and the recorder does not follow such events: launches that they order "
          "are recorded as concurrent");
    });
  }
  return next<Id>(event, handle);
}

template <hook_id Id>
CUresult on_pool_imported(CUmemoryPool* pool, void* from, CUmemAllocationHandleType type, unsigned long long flags) {
  if (session::get().watches()) {
    quietly([] {
      keep_complaint(
          "a memory pool was imported, and the driver does not report which process exported it: if it was another process, "
          "the launches of the two processes are recorded as separate scenarios. Memory that is shared through "
          "cudaIpcOpenMemHandle or cuMemImportFromShareableHandle does not have this limitation");
    });
  }
  return next<Id>(pool, from, type, flags);
}

}  // namespace membar_record
