// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
/// @file
/// A 16-byte word that contains a part of a message and the message's sequence number. A `.b128` access is a single access,
/// whereas a vector of four words need not be. Therefore a reader that finds the expected sequence number has also read the
/// part. Source: PTX ISA 9.1, section 8.2.4, splits vector accesses into scalar accesses of at most 64 bits, and does not
/// mention the scalar type `.b128`, which `ld` and `st` have supported since 8.3. libcu++ uses it to implement atomic 16-byte
/// loads and stores. A GPU test looks for torn words, including across a link.
#pragma once

#include <membar/base/config.hpp>
#include <membar/detail/compilation.cuh>
#include <membar/detail/standard.hpp>

#if !defined(__CUDACC_RTC__)  // NVRTC provides memcpy without a header
#include <cstring>
#endif

namespace membar {
inline namespace v0_3 {
namespace detail {

struct alignas(16) packed_word {
  static constexpr std::size_t capacity = 12;

  unsigned message[capacity / 4];
  unsigned sequence;
};

/// Returns the number of words that a message of `bytes` bytes occupies.
[[nodiscard]] MEMBAR_HOST_DEVICE constexpr std::size_t packed_words(std::size_t bytes) noexcept {
  return (bytes + packed_word::capacity - 1) / packed_word::capacity;
}

/// Returns how many of the message's bytes are in its last word.
template <class Message>
inline constexpr std::size_t last_piece = sizeof(Message) - (packed_words(sizeof(Message)) - 1) * packed_word::capacity;
/// The alignment of each part, which is at most 4, because parts are 12 bytes apart.
template <class Message>
inline constexpr std::size_t piece_alignment = alignof(Message) < 4 ? alignof(Message) : 4;

/// Copies `Bytes` bytes of a message into a word, four at a time, because compilers split a `memcpy` of twelve bytes into
/// single bytes.
template <std::size_t Bytes, std::size_t Alignment>
MEMBAR_HOST_DEVICE void pack_bytes(packed_word& word, const unsigned char* from) noexcept {
  for (std::size_t i = 0; i < Bytes; i += 4) {
    unsigned value = 0;
    memcpy(&value, __builtin_assume_aligned(from + i, Alignment), Bytes - i < 4 ? Bytes - i : 4);
    word.message[i / 4] = value;
  }
}
/// Copies `Bytes` bytes of a word into a message, four at a time.
template <std::size_t Bytes, std::size_t Alignment>
MEMBAR_HOST_DEVICE void unpack_bytes(unsigned char* to, const packed_word& word) noexcept {
  for (std::size_t i = 0; i < Bytes; i += 4) {
    const unsigned value = word.message[i / 4];
    memcpy(__builtin_assume_aligned(to + i, Alignment), &value, Bytes - i < 4 ? Bytes - i : 4);
  }
}

/// Returns word `index` of the message at `from`.
template <class Message>
[[nodiscard]] MEMBAR_HOST_DEVICE packed_word packed_piece(const Message* from, std::size_t index, unsigned sequence) noexcept {
  const unsigned char* const piece = reinterpret_cast<const unsigned char*>(from) + index * packed_word::capacity;
  packed_word word{};
  word.sequence = sequence;
  if (last_piece<Message> != packed_word::capacity && index == packed_words(sizeof(Message)) - 1) {
    pack_bytes<last_piece<Message>, piece_alignment<Message>>(word, piece);
  } else {
    pack_bytes<packed_word::capacity, piece_alignment<Message>>(word, piece);
  }
  return word;
}

/// Stores the part in word `index` at its place in the message at `to`.
template <class Message>
MEMBAR_HOST_DEVICE void unpack_piece(Message* to, std::size_t index, const packed_word& word) noexcept {
  unsigned char* const piece = reinterpret_cast<unsigned char*>(to) + index * packed_word::capacity;
  if (last_piece<Message> != packed_word::capacity && index == packed_words(sizeof(Message)) - 1) {
    unpack_bytes<last_piece<Message>, piece_alignment<Message>>(piece, word);
  } else {
    unpack_bytes<packed_word::capacity, piece_alignment<Message>>(piece, word);
  }
}

}  // namespace detail
}  // namespace v0_3
}  // namespace membar
