// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
/// @file
/// The threads of a C++ litmus test: their places and their instructions.
#pragma once

#include <membar/model/program.hpp>

#include <array>
#include <cstddef>
#include <type_traits>

namespace membar {
inline namespace v0_3 {
namespace model {

/// @name Places
/// @{
/// A thread in block `number` of a GPU.
[[nodiscard]] constexpr place block(int number, int gpu = 0) noexcept {
  place where;
  where.gpu = gpu;
  where.block = number;
  return where;
}
/// A place in a thread block cluster.
[[nodiscard]] constexpr place in_cluster(place where, int number) noexcept {
  where.cluster = number;
  return where;
}
/// A place in a physical memory synchronization domain.
[[nodiscard]] constexpr place in_domain(place where, int number) noexcept {
  where.domain = number;
  return where;
}
/// A CPU thread.
[[nodiscard]] constexpr place host() noexcept {
  place where;
  where.host = true;
  return where;
}
/// @}

namespace detail {
/// The number of instructions in an argument of `thread`. It is 1, or more for an operation that the model splits.
template <class Part>
inline constexpr std::size_t instructions_in = 1;
template <std::size_t Count>
inline constexpr std::size_t instructions_in<std::array<instruction, Count>> = Count;
}  // namespace detail

/// A thread's place and instructions.
template <std::size_t Count>
struct thread_code {
  place where{};
  std::array<instruction, Count> code{};
};

/// Returns a thread of a test: its place, followed by its instructions in program order.
template <class... Instructions>
[[nodiscard]] constexpr auto thread(const place& where, const Instructions&... instructions) noexcept {
  thread_code<(detail::instructions_in<Instructions> + ... + 0)> result;
  result.where = where;
  [[maybe_unused]] std::size_t next = 0;
  [[maybe_unused]] const auto append = [&](const auto& part) {
    if constexpr (std::is_same_v<decltype(part), const instruction&>) {
      result.code[next++] = part;
    } else {
      for (const instruction& one : part) {
        result.code[next++] = one;
      }
    }
  };
  (append(instructions), ...);
  return result;
}

}  // namespace model
}  // namespace v0_3
}  // namespace membar
