// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
/// @file
/// The memory of one run: the bytes, and the last accesses to each word of 4 bytes.
#pragma once

#include <check/event.hpp>
#include <check/program.hpp>
#include <ptx/decode.hpp>
#include <sanitize/clock.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <new>
#include <span>
#include <string>
#include <vector>

namespace membar::sanitize {

/// An access to a word: by whom, when, and of what kind.
struct stamp {
  // Bits of `what`. The bits above them contain the number of the access's instruction.
  static constexpr std::uint32_t bytes_mask = 15;  ///< the bytes of the word
  static constexpr std::uint32_t strong = 1U << 4U;
  static constexpr unsigned scope_shift = 5;  ///< two bits: the width of the scope
  static constexpr std::uint32_t scope_mask = 3U << scope_shift;
  static constexpr std::uint32_t write = 1U << 7U;
  static constexpr std::uint32_t observes = 1U << 8U;  ///< it has observed the strong writes before it
  static constexpr std::uint32_t synchronizes =
      1U << 9U;                              ///< for the first stamp of a word: its last strong write has a `sync_cell`
  static constexpr unsigned via_shift = 10;  ///< two bits: the proxy; 0: the generic proxy
  static constexpr std::uint32_t via_mask = 3U << via_shift;
  static constexpr unsigned number_shift = 12;

  thread_key key = 0;  ///< 0: there is no access
  thread_time time = 0;
  std::uint32_t what = 0;

  [[nodiscard]] std::uint32_t number() const noexcept { return what >> number_shift; }
  [[nodiscard]] bool is_write() const noexcept { return (what & write) != 0; }
  [[nodiscard]] bool is_strong() const noexcept { return (what & strong) != 0; }
  [[nodiscard]] thread_scope scope() const noexcept {
    constexpr thread_scope scopes[] = {thread_scope::block, thread_scope::cluster, thread_scope::device, thread_scope::system};
    return scopes[(what & scope_mask) >> scope_shift];
  }
};

/// The last accesses to a word with which a new access may race: first the last weak write, then others, from the oldest on.
struct cell {
  stamp last[4];
};
static_assert(sizeof(cell) == 48);

/// Zeros that take no memory until they are written to.
template <class T>
class lazy_array {
 public:
  lazy_array() = default;
  explicit lazy_array(std::size_t count) : first_(static_cast<T*>(std::calloc(std::max<std::size_t>(count, 1), sizeof(T)))) {
    if (first_ == nullptr) {
      throw std::bad_alloc();
    }
  }
  [[nodiscard]] T* get() const noexcept { return first_.get(); }

 private:
  struct to_free {
    void operator()(T* p) const noexcept { std::free(p); }
  };
  std::unique_ptr<T, to_free> first_{};
};

/// An object in the memory of a run.
class object {
 public:
  explicit object(const check::memory_object& o)
      : address(o.address), bytes(o.bytes), constant(o.constant), data_(padded(o.bytes)), cells_(o.constant ? 0 : words()) {
    std::copy_n(o.initial.begin(), std::min<std::size_t>(o.initial.size(), static_cast<std::size_t>(o.bytes)), data_.get());
    if (!o.initialised) {
      marks_ = lazy_array<std::uint8_t>(words());
    }
    initialised_ = o.initialised;
    if (!o.unknown.empty() && marks_.get() == nullptr) {
      marks_ = lazy_array<std::uint8_t>(words());
    }
    for (const check::memory_object::range& r : o.unknown) {
      mark(address + r.offset, r.bytes, true);
    }
  }

  [[nodiscard]] bool holds(std::uint64_t at, std::uint64_t count) const noexcept {
    return at >= address && at - address < bytes && bytes - (at - address) >= count;
  }
  [[nodiscard]] cell& cell_at(std::uint64_t at) const noexcept { return cells_.get()[(at - address) / 4]; }

  /// Returns the value of at most 16 bytes.
  [[nodiscard]] check::wide_value value(std::uint64_t at, unsigned count) const noexcept {
    std::uint64_t both[2] = {};
    std::memcpy(both, data_.get() + (at - address), count);
    return {both[0], both[1], marks_.get() != nullptr && has_mark(at, count, 4)};
  }
  void write(std::uint64_t at, unsigned count, check::wide_value v) {
    const std::uint64_t both[2] = {v.low, v.high};
    std::memcpy(data_.get() + (at - address), both, count);
    if (marks_.get() == nullptr && v.unknown) {
      marks_ = lazy_array<std::uint8_t>(words());
    }
    if (marks_.get() != nullptr) {
      mark(at, count, v.unknown);
    }
  }
  /// Returns whether the object has no initial value and some of these bytes have never been written.
  [[nodiscard]] bool is_uninitialised(std::uint64_t at, unsigned count) const noexcept {
    if (initialised_) {
      return false;
    }
    for (std::uint64_t b = at - address; b < at - address + count; ++b) {
      if (((marks_.get()[b / 4] >> (b % 4)) & 1U) == 0) {
        return true;
      }
    }
    return false;
  }

  std::uint64_t address;
  std::uint64_t bytes;
  bool constant;

 private:
  [[nodiscard]] std::size_t words() const noexcept { return static_cast<std::size_t>((bytes + 3) / 4 + 4); }
  [[nodiscard]] static std::size_t padded(std::uint64_t n) noexcept { return static_cast<std::size_t>(n + 16); }

  /// A byte for each word: in the lower bits, which of its bytes have been written, and above them, which are unknown.
  [[nodiscard]] bool has_mark(std::uint64_t at, unsigned count, unsigned shift) const noexcept {
    bool result = false;
    for (std::uint64_t b = at - address; b < at - address + count; ++b) {
      result = result || ((marks_.get()[b / 4] >> (b % 4 + shift)) & 1U) != 0;
    }
    return result;
  }
  void mark(std::uint64_t at, std::uint64_t count, bool unknown) noexcept {
    for (std::uint64_t b = at - address; b < at - address + count; ++b) {
      std::uint8_t& m = marks_.get()[b / 4];
      const auto bit = static_cast<std::uint8_t>(1U << (b % 4));
      const auto high = static_cast<std::uint8_t>(bit << 4U);
      m = static_cast<std::uint8_t>((m | bit) & ~high);
      m = static_cast<std::uint8_t>(m | (unknown ? high : 0));
    }
  }

  lazy_array<std::uint8_t> data_;
  lazy_array<cell> cells_;
  lazy_array<std::uint8_t> marks_{};
  bool initialised_ = true;
};

/// Objects that exist during the whole run.
class global_memory {
 public:
  explicit global_memory(std::span<const check::memory_object> objects) {
    std::vector<const check::memory_object*> sorted;
    for (const check::memory_object& o : objects) {
      sorted.push_back(&o);
    }
    std::ranges::sort(sorted, {}, [](const auto* o) { return o->address; });
    for (const auto* o : sorted) {
      objects_.emplace_back(*o);
    }
    const std::uint64_t end = objects_.empty() ? 0 : objects_.back().address + objects_.back().bytes;
    first_ = objects_.empty() ? 0 : objects_.front().address;
    constexpr std::uint64_t most_pages = std::uint64_t{1} << 24U;
    if (!objects_.empty() && (end - first_) >> page_shift < most_pages) {
      pages_.resize(static_cast<std::size_t>((end - first_) >> page_shift) + 1);
      std::size_t o = 0;
      for (std::size_t p = 0; p < pages_.size(); ++p) {
        while (objects_[o].address + objects_[o].bytes <= first_ + (p << page_shift)) {
          ++o;
        }
        pages_[p] = static_cast<std::uint32_t>(o);
      }
    }
  }

  /// Returns the object that contains an address, or null if there is none.
  [[nodiscard]] object* find(std::uint64_t address, std::uint64_t bytes) noexcept {
    if (address < first_ || objects_.empty()) {
      return nullptr;
    }
    std::size_t at = 0;
    if (!pages_.empty()) {
      const std::uint64_t page = (address - first_) >> page_shift;
      if (page >= pages_.size()) {
        return nullptr;
      }
      at = pages_[static_cast<std::size_t>(page)];
    } else {
      at = static_cast<std::size_t>(
          std::ranges::upper_bound(objects_, address, {}, [](const object& o) { return o.address + o.bytes; }) -
          objects_.begin());
    }
    for (; at < objects_.size() && objects_[at].address <= address; ++at) {
      if (objects_[at].holds(address, bytes)) {
        return &objects_[at];
      }
    }
    return nullptr;
  }
  [[nodiscard]] std::span<const object> objects() const noexcept { return objects_; }

 private:
  static constexpr unsigned page_shift = 8;
  std::vector<object> objects_{};
  std::vector<std::uint32_t> pages_{};
  std::uint64_t first_ = 0;
};

}  // namespace membar::sanitize
