// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
/// @file
/// A piece of a message and its sequence number in one 16-byte word. `.b128` accesses are single-copy atomic, a vector of four
/// words is not: whoever reads the number it waits for has the piece.
#pragma once

#include <membar/detail/config.hpp>

#include <cstddef>
#include <cstring>

namespace membar::detail {

struct alignas(16) packed_word {
  static constexpr std::size_t capacity = 12;

  unsigned char message[capacity];
  unsigned sequence;
};

/// How many words a message of `bytes` takes.
[[nodiscard]] MEMBAR_HOST_DEVICE constexpr std::size_t packed_words(std::size_t bytes) noexcept {
  return (bytes + packed_word::capacity - 1) / packed_word::capacity;
}

/// Word `index` of the message at `from`.
template <class Message>
[[nodiscard]] MEMBAR_HOST_DEVICE packed_word packed_piece(const Message* from, std::size_t index, unsigned sequence) noexcept {
  constexpr std::size_t last = packed_words(sizeof(Message)) - 1;
  constexpr std::size_t alignment = alignof(Message) < 4 ? alignof(Message) : 4;  // 12 bytes on, it is 4 at most
  const void* const piece =
      __builtin_assume_aligned(reinterpret_cast<const unsigned char*>(from) + index * packed_word::capacity, alignment);
  packed_word word{};
  word.sequence = sequence;
  if constexpr (last != 0) {
    if (index != last) {
      memcpy(word.message, piece, packed_word::capacity);
      return word;
    }
  }
  memcpy(word.message, piece, sizeof(Message) - last * packed_word::capacity);
  return word;
}

/// Puts word `index` of a message where it belongs in the message at `to`.
template <class Message>
MEMBAR_HOST_DEVICE void unpack_piece(Message* to, std::size_t index, const packed_word& word) noexcept {
  constexpr std::size_t last = packed_words(sizeof(Message)) - 1;
  constexpr std::size_t alignment = alignof(Message) < 4 ? alignof(Message) : 4;
  void* const piece = __builtin_assume_aligned(reinterpret_cast<unsigned char*>(to) + index * packed_word::capacity, alignment);
  if constexpr (last != 0) {
    if (index != last) {
      memcpy(piece, word.message, packed_word::capacity);
      return;
    }
  }
  memcpy(piece, word.message, sizeof(Message) - last * packed_word::capacity);
}

}  // namespace membar::detail
