// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
/// @file
/// Processing elements (PEs): the numbered GPUs that share symmetric memory, and the identity of a symmetric object.
#pragma once

#include <membar/base/config.hpp>
#include <membar/detail/standard.hpp>

namespace membar {
inline namespace v0_3 {

/// A PE number: 0 to the backend's count - 1. A PE (processing element) is one GPU, or one process's share of a GPU. A PE
/// number is not a device index, and integers do not convert to it.
class pe {
 public:
  MEMBAR_HOST_DEVICE constexpr explicit pe(int index) noexcept : index_(index) {}

  /// Integers do not convert to a PE. This constructor exists only so that the compiler's message states what to write instead
  /// of an `int`.
  template <class Integer>
    requires std::is_same_v<Integer, int>
  MEMBAR_HOST_DEVICE constexpr pe(Integer index) noexcept : index_(index) {
    static_assert(!std::is_same_v<Integer, int>,
                  "membar: an integer is not a PE, because it could also be a value or a device: write pe(1) for PE 1");
  }

  [[nodiscard]] MEMBAR_HOST_DEVICE constexpr int index() const noexcept { return index_; }

  [[nodiscard]] friend MEMBAR_HOST_DEVICE constexpr bool operator==(pe a, pe b) noexcept { return a.index_ == b.index_; }
  [[nodiscard]] friend MEMBAR_HOST_DEVICE constexpr bool operator<(pe a, pe b) noexcept { return a.index_ < b.index_; }

 private:
  int index_;
};

/// Returns the PE that is `steps` (possibly negative) after `from` on a ring of `count` PEs.
[[nodiscard]] MEMBAR_HOST_DEVICE constexpr pe ring_neighbour(pe from, int steps, int count) noexcept {
  return pe(((from.index() + steps) % count + count) % count);
}

/// PEs with consecutive numbers, for a range-based `for`.
class pe_range {
 public:
  class iterator {
   public:
    MEMBAR_HOST_DEVICE constexpr explicit iterator(int index) noexcept : index_(index) {}
    [[nodiscard]] MEMBAR_HOST_DEVICE constexpr pe operator*() const noexcept { return pe(index_); }
    MEMBAR_HOST_DEVICE constexpr iterator& operator++() noexcept {
      ++index_;
      return *this;
    }
    friend MEMBAR_HOST_DEVICE constexpr bool operator==(iterator, iterator) noexcept = default;

   private:
    int index_;
  };

  /// Returns `size` PEs starting at `first`.
  MEMBAR_HOST_DEVICE constexpr pe_range(pe first, int size) noexcept : first_(first), size_(size) {}

  [[nodiscard]] MEMBAR_HOST_DEVICE constexpr int size() const noexcept { return size_; }
  [[nodiscard]] MEMBAR_HOST_DEVICE constexpr pe front() const noexcept { return first_; }
  [[nodiscard]] MEMBAR_HOST_DEVICE constexpr bool contains(pe which) const noexcept {
    return which.index() >= first_.index() && which.index() - first_.index() < size_;
  }
  [[nodiscard]] MEMBAR_HOST_DEVICE constexpr iterator begin() const noexcept { return iterator(first_.index()); }
  [[nodiscard]] MEMBAR_HOST_DEVICE constexpr iterator end() const noexcept { return iterator(first_.index() + size_); }

 private:
  pe first_;
  int size_;
};

/// Identifies an object of a symmetric heap. The identity is the same on every PE, and different for every allocation and heap.
/// Heaps and allocations are numbered from 1; processes that compare identities must create their heaps in the same order.
struct object_identity {
  unsigned long long heap = 0;
  unsigned long long allocation = 0;
  unsigned long long index = 0;
};

}  // namespace v0_3
}  // namespace membar
