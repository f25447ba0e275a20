// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
/// @file
/// The last accesses to a word of memory.
#pragma once

#include <membar/thread_scope.hpp>
#include <sanitize/clock.hpp>

#include <cstdint>

namespace membar::sanitize {

/// An access to a word: its author, its time, and a description.
struct stamp {
  // the bits of `what`; the number of the access's instruction is above them
  static constexpr std::uint32_t bytes_mask = 15;  ///< which bytes of the word
  static constexpr std::uint32_t strong = 1U << 4U;
  static constexpr unsigned scope_shift = 5;  ///< two bits: the width of the scope
  static constexpr std::uint32_t scope_mask = 3U << scope_shift;
  static constexpr std::uint32_t write = 1U << 7U;
  static constexpr std::uint32_t observes = 1U << 8U;  ///< the access has observed the strong writes before it
  static constexpr std::uint32_t synchronizes =
      /// only in the first stamp of a word: the word's last strong write has a `sync_cell`
      1U << 9U;
  static constexpr unsigned via_shift = 10;  ///< two bits; 0 is the generic proxy
  static constexpr std::uint32_t via_mask = 3U << via_shift;
  static constexpr unsigned number_shift = 12;

  thread_key key = 0;  ///< 0 if the stamp is empty
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

/// The last accesses to a word that a new access may race with: first the last weak write, then the others from oldest to
/// newest.
struct cell {
  stamp last[4];
};
static_assert(sizeof(cell) == 48);

}  // namespace membar::sanitize
