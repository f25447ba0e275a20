// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
/// @file
/// Vector clocks, which determine in constant time whether one of two operations that have run is ordered before the other.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace membar {
inline namespace v0_3 {
namespace deadlock::detail {

/// The clocks of operations in chains. In a chain, each operation is ordered after its predecessor. Equal clocks are stored
/// only once.
class clocks {
 public:
  /// The clock of an operation. `position` is the operation's position in its chain, starting at 1, or 0 if the operation has
  /// not run.
  struct stamp {
    std::uint32_t chain = 0;
    std::uint32_t position = 0;
    std::uint32_t snapshot = 0;
  };

  clocks() { snapshots_.push_back({0, 0}); }

  /// Creates a chain and returns its number. With `unordered`, the chain's members are not ordered among themselves. An
  /// operation that is ordered after a member is also ordered after all earlier members of the chain.
  [[nodiscard]] std::uint32_t new_chain(bool unordered = false) {
    chains_.push_back({0, 0, unordered});
    return static_cast<std::uint32_t>(chains_.size() - 1);
  }
  [[nodiscard]] std::size_t chains() const noexcept { return chains_.size(); }

  /// Returns whether `first` is ordered before `second`, which must have run.
  [[nodiscard]] bool before(const stamp& first, const stamp& second) const noexcept {
    if (first.position == 0) {
      return false;
    }
    return first.chain == second.chain ? !chains_[first.chain].unordered && first.position < second.position
                                       : seen(second.snapshot, first.chain) >= first.position;
  }

  /// Begins the clock of the next operation in a chain. Then call `join` for each operation that precedes this one, and finally
  /// `end`.
  void begin(std::uint32_t chain) noexcept {
    chain_ = chain;
    joined_ = false;
  }
  /// Returns whether the operation whose clock was begun is ordered after `other`.
  [[nodiscard]] bool covers(const stamp& other) const noexcept {
    if (other.position == 0) {
      return false;
    }
    if (other.chain == chain_) {
      return true;
    }
    return joined_ ? scratch_[other.chain] >= other.position : seen(chains_[chain_].snapshot, other.chain) >= other.position;
  }
  void join(const stamp& other) {
    if (other.position == 0 || covers(other)) {
      return;
    }
    if (!joined_) {
      joined_ = true;
      scratch_.assign(chains_.size(), 0);
      copy(chains_[chain_].snapshot);
    }
    copy(other.snapshot);
    scratch_[other.chain] = std::max(scratch_[other.chain], other.position);
  }
  [[nodiscard]] stamp end() {
    chain_state& own = chains_[chain_];
    if (joined_) {
      snapshots_.push_back({values_.size(), static_cast<std::uint32_t>(scratch_.size())});
      values_.insert(values_.end(), scratch_.begin(), scratch_.end());
      own.snapshot = static_cast<std::uint32_t>(snapshots_.size() - 1);
    }
    return {chain_, ++own.length, own.snapshot};
  }

  /// Returns whether every operation that has run is `last` or is ordered before it.
  [[nodiscard]] bool all_before(const stamp& last) const noexcept {
    for (std::size_t chain = 0; chain != chains_.size(); ++chain) {
      const std::uint32_t reached =
          chain == last.chain ? last.position : seen(last.snapshot, static_cast<std::uint32_t>(chain));
      if (reached < chains_[chain].length) {
        return false;
      }
    }
    return true;
  }

 private:
  struct chain_state {
    std::uint32_t length = 0;
    std::uint32_t snapshot = 0;
    bool unordered = false;
  };
  struct extent {
    std::size_t offset;
    std::uint32_t size;
  };

  [[nodiscard]] std::uint32_t seen(std::uint32_t snapshot, std::uint32_t chain) const noexcept {
    const extent where = snapshots_[snapshot];
    return chain < where.size ? values_[where.offset + chain] : 0;
  }
  void copy(std::uint32_t snapshot) noexcept {
    const extent where = snapshots_[snapshot];
    for (std::uint32_t i = 0; i != where.size; ++i) {
      scratch_[i] = std::max(scratch_[i], values_[where.offset + i]);
    }
  }

  std::vector<chain_state> chains_;
  std::vector<extent> snapshots_;
  std::vector<std::uint32_t> values_;
  std::vector<std::uint32_t> scratch_;
  std::uint32_t chain_ = 0;
  bool joined_ = false;
};

}  // namespace deadlock::detail
}  // namespace v0_3
}  // namespace membar
