// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
/// @file
/// The checker's representation of an mbarrier's state in its 64 bits, and the effects of operations on this state. PTX leaves
/// the meaning of the bits undefined.
#pragma once

#include <ptx/instruction.hpp>

#include <cstdint>

namespace membar::check {

using namespace ptx;

/// The state of an mbarrier. Source: PTX ISA, "Parallel Synchronization and Communication Instructions: mbarrier", "Contents of
/// the mbarrier object".
struct mbarrier_state {
  static constexpr int count_bits = ptx::mbarrier_count_bits;
  static constexpr int transaction_bits = 21;
  static constexpr std::int64_t most_arrivals = (1 << count_bits) - 1;
  static constexpr std::int64_t most_bytes = (1 << (transaction_bits - 1)) - 1;

  std::int64_t expected = 0;  ///< the number of arrivals that complete a phase; 0 if the mbarrier is not initialized
  std::int64_t pending = 0;   ///< the number of arrivals that the current phase still needs
  std::int64_t bytes = 0;     ///< the number of bytes of pending transactions
  std::uint64_t phase = 0;    ///< the number of the current phase, modulo 8

  [[nodiscard]] static constexpr mbarrier_state of(std::uint64_t word) noexcept {
    const auto field = [&](int at, int bits) { return truncated(word >> static_cast<unsigned>(at), bits); };
    const std::uint64_t sign = std::uint64_t{1} << (transaction_bits - 1);
    return {static_cast<std::int64_t>(field(0, count_bits)), static_cast<std::int64_t>(field(count_bits, count_bits)),
            static_cast<std::int64_t>((field(2 * count_bits, transaction_bits) ^ sign) - sign),
            field(2 * count_bits + transaction_bits, 3)};
  }
  [[nodiscard]] constexpr std::uint64_t word() const noexcept {
    return static_cast<std::uint64_t>(expected) | static_cast<std::uint64_t>(pending) << count_bits |
           truncated(static_cast<std::uint64_t>(bytes), transaction_bits) << (2 * count_bits) |
           phase << (2 * count_bits + transaction_bits);
  }
};

/// The state of an mbarrier after an operation, or the reason why the operation is undefined.
struct mbarrier_outcome {
  std::uint64_t word = 0;
  const char* wrong = nullptr;
  bool completes = false;  ///< whether the operation completes the phase
};

/// Returns the effect of `i`, an update of an mbarrier. `operand` is the update's number of arrivals or bytes.
[[nodiscard]] constexpr mbarrier_outcome updated_mbarrier(const instruction& i, std::uint64_t before,
                                                          std::uint64_t operand) noexcept {
  mbarrier_state s = mbarrier_state::of(before);
  const auto amount = static_cast<std::int64_t>(truncated(operand, 32));
  const std::int64_t arrivals = !arrives(i.mbarrier) ? 0 : i.transaction ? 1 : amount;
  if (s.expected == 0) {
    return {before, "uses an mbarrier that is not initialized"};
  }
  if (arrivals > s.pending || (arrives(i.mbarrier) && arrivals == 0)) {
    return {before, "arrives at an mbarrier more often than the phase expects, or with a count of 0"};
  }
  if (i.mbarrier == mbarrier_op::expect_arrival) {
    s.pending += amount;
    return s.pending > mbarrier_state::most_arrivals
               ? mbarrier_outcome{before, "raises the number of arrivals that an mbarrier expects above the limit of 1048575"}
               : mbarrier_outcome{s.word()};
  }
  if (i.mbarrier == mbarrier_op::expect || i.transaction) {
    s.bytes += amount;
  } else if (i.mbarrier == mbarrier_op::complete) {
    s.bytes -= amount;
  }
  if (s.bytes > mbarrier_state::most_bytes || s.bytes < -mbarrier_state::most_bytes) {
    return {before, "changes the number of bytes that an mbarrier expects to a value outside the range -1048575 to 1048575"};
  }
  s.pending -= arrivals;
  s.expected -= i.mbarrier == mbarrier_op::arrive_drop ? arrivals : 0;
  const bool completes = s.pending == 0 && s.bytes == 0;
  if (completes && i.keeps_phase) {
    return {before, "completes the phase of an mbarrier with an arrival marked .noComplete"};
  }
  if (completes) {
    s.phase = (s.phase + 1) % 8;
    s.pending = s.expected;
  }
  return {s.word(), nullptr, completes};
}

/// Returns a state that contains only the phase of `word`.
[[nodiscard]] constexpr std::uint64_t phase_of(std::uint64_t word) noexcept {
  return mbarrier_state{0, 0, 0, mbarrier_state::of(word).phase}.word();
}

/// Returns the state of an mbarrier directly after its initialization.
[[nodiscard]] constexpr std::uint64_t initial_mbarrier(std::uint64_t expected) noexcept {
  const auto count = static_cast<std::int64_t>(truncated(expected, mbarrier_state::count_bits));
  return mbarrier_state{count, count}.word();
}

/// Returns whether the phase that test `i` asks for is complete in state `word`. `operand` is a parity or the token of an
/// arrival. Source: PTX ISA, "mbarrier.test_wait/mbarrier.try_wait".
[[nodiscard]] constexpr bool phase_is_complete(const instruction& i, std::uint64_t word, std::uint64_t operand) noexcept {
  const std::uint64_t phase = mbarrier_state::of(word).phase;
  return i.parity ? (phase & 1U) != (operand & 1U) : phase != mbarrier_state::of(operand).phase;
}

}  // namespace membar::check
