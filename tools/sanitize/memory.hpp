// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
/// @file
/// The memory of one run: the bytes, and the last accesses to each 4-byte word.
#pragma once

#include <check/event.hpp>
#include <check/program.hpp>
#include <ptx/decode.hpp>
#include <sanitize/private_pages.hpp>
#include <sanitize/stamp.hpp>

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

/// An array of zeros that uses no physical memory until it is written.
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
    mark(address, std::min<std::uint64_t>(o.initial.size(), o.bytes), false);
    if (!o.unknown.empty() && marks_.get() == nullptr) {
      marks_ = lazy_array<std::uint8_t>(words());
    }
    for (const check::memory_object::range& r : o.unknown) {
      mark(address + r.offset, r.bytes, true);
    }
  }

  /// Creates a view of `whole` for one part of a run.
  object(object& whole, private_pages& pages)
      : address(whole.address),
        bytes(whole.bytes),
        constant(whole.constant),
        first_page(whole.first_page),
        initialised_(whole.initialised_),
        whole_(&whole),
        pages_(&pages) {}

  [[nodiscard]] bool holds(std::uint64_t at, std::uint64_t count) const noexcept {
    return at >= address && at - address < bytes && bytes - (at - address) >= count;
  }
  [[nodiscard]] cell& cell_at(std::uint64_t at) const {
    return pages_ == nullptr ? cells_.get()[(at - address) / 4] : cell_in(page_at(at), at);
  }
  /// Returns the cell of a word that is about to be accessed. A part of a run keeps its own copy of the cell.
  [[nodiscard]] cell& accessed_cell(std::uint64_t word, bool writes) const {
    if (pages_ == nullptr) {
      return cell_at(word);
    }
    private_page& p = page_at(word);
    (writes ? p.written : p.read) |= std::uint64_t{1} << p.word_of(word);
    return cell_in(p, word);
  }

  /// Returns the value of at most 16 bytes, all in one page.
  [[nodiscard]] check::wide_value value(std::uint64_t at, unsigned count) const {
    std::uint64_t both[2] = {};
    std::memcpy(both, data_at(at), count);
    return {both[0], both[1], has_mark(at, count, 4)};
  }
  void write(std::uint64_t at, unsigned count, check::wide_value v) {
    const std::uint64_t both[2] = {v.low, v.high};
    std::memcpy(data_at(at), both, count);
    if (v.unknown) {
      let_unknown(at);
    }
    mark(at, count, v.unknown);
  }
  /// Returns whether some of these bytes had no initial value and have never been written.
  [[nodiscard]] bool is_uninitialised(std::uint64_t at, unsigned count) const noexcept {
    if (initialised_) {
      return false;
    }
    const std::uint8_t* const marks = marks_at(at);
    const std::uint64_t first = (at - address) % 4;
    for (std::uint64_t b = first; b < first + count; ++b) {
      if (((marks[b / 4] >> (b % 4)) & 1U) == 0) {
        return true;
      }
    }
    return false;
  }

  // ---- for parts of a run

  /// Called when some words may become unknown.
  void let_unknown() {
    if (marks_.get() == nullptr) {
      marks_ = lazy_array<std::uint8_t>(words());
    }
  }
  /// Copies a word from a part's page. No other part may have written this word.
  void take(const private_page& p, std::uint64_t at, const cell& c) noexcept {
    const std::uint64_t k = p.word_of(at);
    cells_.get()[(at - address) / 4] = c;
    if (((p.written >> k) & 1U) != 0) {
      std::memcpy(data_.get() + (at - address), p.data.data() + 4 * k, 4);
      if (marks_.get() != nullptr) {
        marks_.get()[(at - address) / 4] = p.marks[k];
      }
    }
  }

  std::uint64_t address;
  std::uint64_t bytes;
  bool constant;
  std::uint64_t first_page = 0;  ///< the number of the object's first page

 private:
  [[nodiscard]] std::size_t words() const noexcept { return static_cast<std::size_t>((bytes + 3) / 4 + 4); }
  [[nodiscard]] static std::size_t padded(std::uint64_t n) noexcept { return static_cast<std::size_t>(n + 16); }

  /// Returns the part's own page for an address.
  [[nodiscard]] private_page& page_at(std::uint64_t at) const {
    const std::uint64_t number = first_page + (at >> private_page::shift) - (address >> private_page::shift);
    private_page* const p = pages_->find(number);
    return p != nullptr ? *p : new_page(number, at);
  }
  [[nodiscard]] private_page& new_page(std::uint64_t number, std::uint64_t at) const {
    private_page& p = pages_->add(number);
    p.address = at & ~(private_page::bytes - 1);
    p.of = whole_;
    const std::uint64_t from = std::max(p.address, address);
    const std::uint64_t to = std::min(p.address + private_page::bytes, address + (bytes + 3) / 4 * 4);
    const std::uint64_t word = (from - address) / 4;
    const auto count = static_cast<std::size_t>((to - from) / 4);
    std::memcpy(p.data.data() + (from - p.address), whole_->data_.get() + (from - address), 4 * count);
    std::copy_n(whole_->cells_.get() + word, count, p.cells.data() + p.word_of(from));
    if (whole_->marks_.get() != nullptr) {
      std::copy_n(whole_->marks_.get() + word, count, p.marks.data() + p.word_of(from));
    }
    return p;
  }
  [[nodiscard]] static cell& cell_in(private_page& p, std::uint64_t at) noexcept { return p.cells[p.word_of(at)]; }

  [[nodiscard]] void* data_at(std::uint64_t at) const {
    if (pages_ == nullptr) {
      return data_.get() + (at - address);
    }
    if (constant) {
      return whole_->data_.get() + (at - address);
    }
    private_page& p = page_at(at);
    return p.data.data() + (at - p.address);
  }

  /// Returns an array with one byte per word, starting with the word at `at`. The lower bits show which bytes of the word have
  /// been written, and the upper bits show which bytes are unknown. Returns null if the object has no such array.
  [[nodiscard]] std::uint8_t* marks_at(std::uint64_t at) const {
    if (pages_ == nullptr || constant) {
      const object& o = pages_ == nullptr ? *this : *whole_;
      return o.marks_.get() == nullptr ? nullptr : o.marks_.get() + (at - address) / 4;
    }
    private_page& p = page_at(at);
    return whole_->marks_.get() == nullptr && !p.has_unknown ? nullptr : p.marks.data() + p.word_of(at);
  }
  void let_unknown(std::uint64_t at) {
    if (pages_ == nullptr) {
      let_unknown();
    } else {
      pages_->let_unknown(page_at(at));
    }
  }
  [[nodiscard]] bool has_mark(std::uint64_t at, std::uint64_t count, unsigned shift) const {
    const std::uint8_t* const marks = marks_at(at);
    bool result = false;
    const std::uint64_t first = (at - address) % 4;
    for (std::uint64_t b = first; marks != nullptr && b < first + count; ++b) {
      result = result || ((marks[b / 4] >> (b % 4 + shift)) & 1U) != 0;
    }
    return result;
  }
  void mark(std::uint64_t at, std::uint64_t count, bool unknown) {
    std::uint8_t* const marks = marks_at(at);
    const std::uint64_t first = (at - address) % 4;
    for (std::uint64_t b = first; marks != nullptr && b < first + count; ++b) {
      std::uint8_t& m = marks[b / 4];
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
  object* whole_ = nullptr;         ///< in a part of a run: the object of the whole run
  private_pages* pages_ = nullptr;  ///< in a part of a run: the part's pages
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
    std::uint64_t pages = 0;
    for (const auto* o : sorted) {
      objects_.emplace_back(*o).first_page = pages;
      pages += ((o->address + o->bytes) >> private_page::shift) - (o->address >> private_page::shift) + 1;
    }
    const std::uint64_t end = objects_.empty() ? 0 : objects_.back().address + objects_.back().bytes;
    first_ = objects_.empty() ? 0 : objects_.front().address;
    constexpr std::uint64_t most_pages = std::uint64_t{1} << 24U;
    if (!objects_.empty() && (end - first_) >> page_shift < most_pages) {
      own_pages_.resize(static_cast<std::size_t>((end - first_) >> page_shift) + 1);
      std::size_t o = 0;
      for (std::size_t p = 0; p < own_pages_.size(); ++p) {
        while (o + 1 < objects_.size() && objects_[o].address + objects_[o].bytes <= first_ + (p << page_shift)) {
          ++o;
        }
        own_pages_[p] = static_cast<std::uint32_t>(o);
      }
      pages_ = own_pages_;
    }
  }

  /// Creates a view of `whole` for one part of a run.
  global_memory(global_memory& whole, private_pages& pages) : pages_(whole.pages_), first_(whole.first_) {
    objects_.reserve(whole.objects_.size());
    for (object& o : whole.objects_) {
      objects_.emplace_back(o, pages);
    }
  }

  /// Returns whether all objects are aligned to words.
  [[nodiscard]] bool is_aligned() const noexcept {
    return std::all_of(objects_.begin(), objects_.end(), [](const object& o) { return o.address % 4 == 0; });
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
  std::vector<std::uint32_t> own_pages_{};
  std::span<const std::uint32_t> pages_{};  ///< for each page, the first object that ends after the page's first byte
  std::uint64_t first_ = 0;
};

}  // namespace membar::sanitize
