// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
/// @file
/// Teams: subsets of the PEs, as values, and the words of a team's barrier in the form that kernels use.
#pragma once

#include <membar/detail/standard.hpp>
#include <membar/symmetric/object.hpp>
#include <membar/symmetric/pe.hpp>

#if !defined(__CUDACC_RTC__)  // teams are created on the host
#include <membar/error.hpp>

#include <cstdio>
#include <initializer_list>
#include <limits>
#include <span>
#endif

namespace membar {
inline namespace v0_3 {
namespace symmetric {

/// A subset of the PEs, renumbered from 0 in the order of their PE numbers; the new numbers are the ranks. A team is a value
/// that can be passed to kernels.
///
/// A team whose PE numbers are equally spaced may contain any PEs; other teams may contain only PEs below `most_listed`. Two
/// teams with the same PEs are equal, regardless of how they were created. Errors: throws `error`, which names the invalid PE
/// or number.
class team {
 public:
  /// A list can contain only PEs below this number.
  static constexpr int most_listed = 128;

  /// Returns the team of PEs 0 to `count` - 1.
  [[nodiscard]] MEMBAR_HOST_DEVICE static constexpr team all(int count) noexcept { return {0, 1, count}; }

#if !defined(__CUDACC_RTC__)
  /// Returns the team of `size` PEs that starts with `first` and takes every `stride`-th PE.
  [[nodiscard]] static team strided(pe first, int stride, int size) {
    if (first.index() < 0 || stride < 1 || size < 1) {
      throw error(cudaErrorInvalidValue,
                  "membar: a team of %d PEs starting with PE %d, %d apart, was requested: a team needs at least 1 PE, PE "
                  "numbers of 0 or more, and a distance of at least 1",
                  size, first.index(), stride);
    }
    if (size - 1 > (std::numeric_limits<int>::max() - first.index()) / stride) {
      throw error(cudaErrorInvalidValue,
                  "membar: a team of %d PEs starting with PE %d, %d apart, was requested: its last PE would be beyond PE %d, "
                  "the largest possible number: request fewer PEs or a smaller distance",
                  size, first.index(), stride, std::numeric_limits<int>::max());
    }
    return {first.index(), size == 1 ? 1 : stride, size};
  }

  /// Returns the team of these PEs, which may be in any order but must be distinct.
  [[nodiscard]] static team listed(std::span<const pe> members) {
    team made(0, 0, static_cast<int>(members.size()));
    for (const pe each : members) {
      const int index = each.index();
      if (index < 0 || index >= most_listed) {
        throw error(cudaErrorInvalidValue,
                    "membar: PE %d was listed as a member of a team: a list can contain only PEs 0 to %d; make a team of other "
                    "PEs with team::strided",
                    index, most_listed - 1);
      }
      if (made.is_listed(index)) {
        throw error(cudaErrorInvalidValue, "membar: PE %d was listed twice as a member of a team: list it once", index);
      }
      made.listed_[index / 64] |= 1ULL << (index % 64);
    }
    if (members.empty()) {
      throw error(cudaErrorInvalidValue, "membar: a team without PEs was requested: list at least one");
    }
    return made.canonical();
  }
  [[nodiscard]] static team listed(std::initializer_list<pe> members) {
    return listed(std::span<const pe>(members.begin(), members.size()));
  }
#endif

  [[nodiscard]] MEMBAR_HOST_DEVICE constexpr int size() const noexcept { return size_; }

  /// Returns the PE with the given rank, which must be from 0 to `size()` - 1.
  [[nodiscard]] MEMBAR_HOST_DEVICE constexpr pe operator[](int rank) const noexcept {
    if (stride_ != 0) {
      return pe(first_ + rank * stride_);
    }
    int index = 0;
    for (; index < most_listed - 1; ++index) {
      if (is_listed(index) && rank-- == 0) {
        break;
      }
    }
    return pe(index);
  }

  /// Returns the rank of a PE, or -1 if it is not in the team.
  [[nodiscard]] MEMBAR_HOST_DEVICE constexpr int rank_of(pe which) const noexcept {
    const int index = which.index();
    if (stride_ != 0) {
      const int distance = index - first_;
      return distance >= 0 && distance % stride_ == 0 && distance / stride_ < size_ ? distance / stride_ : -1;
    }
    if (index < 0 || index >= most_listed || !is_listed(index)) {
      return -1;
    }
    int rank = 0;
    for (int i = 0; i != index; ++i) {
      rank += is_listed(i) ? 1 : 0;
    }
    return rank;
  }
  [[nodiscard]] MEMBAR_HOST_DEVICE constexpr bool contains(pe which) const noexcept { return rank_of(which) >= 0; }

#if !defined(__CUDACC_RTC__)
  friend constexpr bool operator==(const team&, const team&) noexcept = default;
#endif

 private:
  MEMBAR_HOST_DEVICE constexpr team(int first, int stride, int size) noexcept : first_(first), stride_(stride), size_(size) {}

  [[nodiscard]] MEMBAR_HOST_DEVICE constexpr bool is_listed(int index) const noexcept {
    return (listed_[index / 64] >> (index % 64) & 1U) != 0;
  }

#if !defined(__CUDACC_RTC__)
  /// Returns the team in strided form if its PE numbers are equally spaced, and unchanged otherwise.
  [[nodiscard]] team canonical() const {
    const int first = (*this)[0].index();
    const int stride = size_ == 1 ? 1 : (*this)[1].index() - first;
    for (int rank = 0; rank != size_; ++rank) {
      if ((*this)[rank].index() != first + rank * stride) {
        return *this;
      }
    }
    return {first, stride, size_};
  }
#endif

  int first_;
  int stride_;  ///< the distance between consecutive PE numbers; 0 if the PEs are listed
  int size_;
  unsigned long long listed_[2] = {0, 0};
};

/// A team's barrier, in the form that the kernels of one of its PEs use. This consists of a heap's barrier words and the team.
/// `team_barrier::on` returns it.
template <class Backend = peer_backend>
class team_words {
 public:
  using backend = Backend;
  using reach_type = typename Backend::reach;
  using words_type = symmetric::span<barrier_word, Backend>;

  MEMBAR_HOST_DEVICE constexpr team_words(const words_type& words, const team& members) noexcept
      : words_(words), members_(members) {}

  [[nodiscard]] MEMBAR_HOST_DEVICE constexpr const words_type& words() const noexcept { return words_; }
  [[nodiscard]] MEMBAR_HOST_DEVICE constexpr const team& members() const noexcept { return members_; }
  [[nodiscard]] MEMBAR_HOST_DEVICE pe self() const noexcept { return words_.self(); }

 private:
  words_type words_;
  team members_;
};

namespace detail {

template <class T>
inline constexpr bool is_team_words = false;
template <class Backend>
inline constexpr bool is_team_words<team_words<Backend>> = true;

#if !defined(__CUDACC_RTC__)
/// The text of a team, for error messages: "PEs 0 to 6, 2 apart", "PEs 0, 1, 4".
struct team_text {
  explicit team_text(const team& members) noexcept {
    const int last = members.size() - 1;
    const int stride = last == 0 ? 1 : members[1].index() - members[0].index();
    const bool regular = last > 1 && team::strided(members[0], stride, members.size()) == members;
    if (last == 0) {
      std::snprintf(text, sizeof text, "PE %d", members[0].index());
    } else if (regular && stride == 1) {
      std::snprintf(text, sizeof text, "PEs %d to %d", members[0].index(), members[last].index());
    } else if (regular) {
      std::snprintf(text, sizeof text, "PEs %d to %d, %d apart", members[0].index(), members[last].index(), stride);
    } else {
      std::size_t used = static_cast<std::size_t>(std::snprintf(text, sizeof text, "PEs %d", members[0].index()));
      int rank = 1;
      for (; rank <= last && used + 10 < sizeof text; ++rank) {  // leaves space for one more PE and the truncation mark
        used += static_cast<std::size_t>(std::snprintf(text + used, sizeof text - used, ", %d", members[rank].index()));
      }
      std::snprintf(text + used, sizeof text - used, "%s", rank <= last ? ", …" : "");
    }
  }
  char text[64];
};
#endif

}  // namespace detail
}  // namespace symmetric
}  // namespace v0_3
}  // namespace membar
