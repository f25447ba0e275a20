// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
/// @file
/// Memory for objects that an exploration later discards, such as events and thread states.
#pragma once

#include <cstddef>
#include <memory>
#include <vector>

namespace membar::check {

using namespace ptx;

/// Memory that is released in the reverse order of its allocation.
class stack_arena {
 public:
  struct mark {
    std::size_t chunk = 0;
    std::size_t used = 0;
  };

  /// Allocates `bytes` bytes, aligned for any scalar type.
  [[nodiscard]] void* take(std::size_t bytes) {
    bytes = (bytes + 15) / 16 * 16;
    if (chunks_.empty() || at_.used + bytes > chunks_[at_.chunk].bytes) {
      if (!chunks_.empty()) {
        ++at_.chunk;
      }
      at_.used = 0;
      if (at_.chunk < chunks_.size() && chunks_[at_.chunk].bytes < bytes) {
        chunks_.resize(at_.chunk);
      }
      if (at_.chunk == chunks_.size()) {
        const std::size_t size = std::max<std::size_t>(bytes, std::size_t{1} << 20U);
        chunks_.push_back({std::make_unique_for_overwrite<std::byte[]>(size), size});
      }
    }
    void* const result = chunks_[at_.chunk].memory.get() + at_.used;
    at_.used += bytes;
    return result;
  }

  [[nodiscard]] mark here() const noexcept { return at_; }
  void release(mark to) noexcept { at_ = to; }
  /// Returns the number of allocated bytes.
  [[nodiscard]] std::size_t held() const noexcept {
    std::size_t sum = 0;
    for (const chunk& c : chunks_) {
      sum += c.bytes;
    }
    return sum;
  }

 private:
  struct chunk {
    std::unique_ptr<std::byte[]> memory;
    std::size_t bytes = 0;
  };
  std::vector<chunk> chunks_{};
  mark at_{};
};

}  // namespace membar::check
