// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "intercept/table_reader.hpp"

#include <algorithm>
#include <chrono>
#include <cstring>
#include <mutex>
#include <unordered_map>

#include "intercept/driver.hpp"
#include "intercept/relaxed_capture.hpp"

namespace membar::intercept {

namespace {

/// Copies device memory in one context, without waiting for the program's streams.
class table_reader {
 public:
  static constexpr std::size_t most = 4096;

  /// Returns the words at the address, or an empty vector if they cannot be read.
  std::vector<CUdeviceptr> read(CUdeviceptr from) {
    const std::lock_guard lock(mutex_);
    CUdeviceptr base = 0;
    std::size_t size = 0;
    if (gone_wrong_ || driver::cuMemGetAddressRange_(&base, &size, from) != CUDA_SUCCESS) {
      return {};
    }
    const std::size_t bytes =
        std::min(most, static_cast<std::size_t>(base + size - from)) / sizeof(CUdeviceptr) * sizeof(CUdeviceptr);
    const relaxed_capture relaxed;
    std::vector<CUdeviceptr> out;
    if (copy(from, bytes)) {
      out.resize(bytes / sizeof(CUdeviceptr));
      std::memcpy(out.data(), words_, bytes);
    }
    return out;
  }

 private:
  bool copy(CUdeviceptr from, std::size_t bytes) {
    gone_wrong_ = (stream_ == nullptr &&
                   driver::cuStreamCreate_(&stream_, static_cast<unsigned>(CU_STREAM_NON_BLOCKING)) != CUDA_SUCCESS) ||
                  (words_ == nullptr && driver::cuMemAllocHost_(&words_, most) != CUDA_SUCCESS) ||
                  driver::cuMemcpyDtoHAsync_(words_, from, bytes, stream_) != CUDA_SUCCESS;
    const auto end = std::chrono::steady_clock::now() + std::chrono::milliseconds(200);
    while (!gone_wrong_ && driver::cuStreamQuery_(stream_) != CUDA_SUCCESS) {
      gone_wrong_ = std::chrono::steady_clock::now() > end;  // the buffer is not freed, because the copy may still write to it
    }
    return !gone_wrong_;
  }

  std::mutex mutex_;
  CUstream stream_ = nullptr;
  void* words_ = nullptr;
  bool gone_wrong_ = false;
};

}  // namespace

std::vector<CUdeviceptr> words_at(CUdeviceptr table) {
  static auto* const mutex = new std::mutex;
  static auto* const readers = new std::unordered_map<CUcontext, table_reader>;
  CUcontext context = nullptr;
  if (driver::cuCtxGetCurrent_(&context) != CUDA_SUCCESS) {
    return {};
  }
  table_reader* reader = nullptr;
  {
    const std::lock_guard lock(*mutex);
    reader = &(*readers)[context];
  }
  return reader->read(table);
}

}  // namespace membar::intercept
