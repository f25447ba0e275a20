// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
/// @file
/// What performs asynchronous copies in a checked program: threads of their own, whose code is PTX as well.
///
/// An instruction that starts a copy gives one of them its addresses. It reads the source as a whole, writes the destination, and
/// completes the bytes on the mbarrier. Its accesses are ordered as the model has it (graph.hpp): they come after what precedes the
/// instruction, through the async proxy where they are a bulk copy's, and only a completion passes them on.
#pragma once

#include <check/machine.hpp>
#include <check/program.hpp>
#include <ptx/instruction.hpp>

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace membar::check {

using namespace ptx;

/// Threads, and what performs copies for them.
inline constexpr std::size_t most_threads_and_copies = 1024;

/// The most bytes of one copy.
inline constexpr std::uint64_t most_copied = 4096;

/// How a copy accesses memory.
struct copy_shape {
  enum class kind_t : std::uint8_t { memory, values, zeros, arrival };
  kind_t kind = kind_t::memory;
  int piece = 16;    ///< bytes of one access
  int elements = 1;  ///< values: how many
  bool reduces = false;
  model::operation what = model::operation::move;
  ptx_type type = ptx_type::b128;
  [[nodiscard]] friend bool operator==(const copy_shape&, const copy_shape&) noexcept = default;
};

/// Every shape of the copies that a program starts, in the order of its kernels.
[[nodiscard]] std::vector<copy_shape> shapes_of(const program& p);

/// Whether some instruction of a kernel starts a copy.
[[nodiscard]] bool starts_copies(const kernel_code& kernel);

/// Whether some kernel of a program starts a copy.
[[nodiscard]] bool starts_copies(const program& p);

/// Adds what performs up to `each` copies of every thread that starts some.
[[nodiscard]] program with_copies(const program& p, int each);

/// What an instruction that starts a copy asks for: the first registers of the code that performs it, or what is wrong with it.
struct copy_request {
  std::array<std::uint64_t, 9> words{};
  std::string wrong{};
  check_status status = check_status::undefined;  ///< of what is wrong: `gave_up` for a limit of the checker
  bool last = true;                               ///< no further block of a multicast follows
};

/// The copy that a thread starts next: of a multicast, that to one block after the other. `shapes` are those of the program.
[[nodiscard]] copy_request copy_started(const std::vector<copy_shape>& shapes, const machine& m, const thread_state& s);

/// Why the places of a copy are not those that PTX allows; empty if they are. Source: PTX ISA, "cp.async.bulk": the source in shared memory
/// is the block's own, and the mbarrier is in the block of the destination.
[[nodiscard]] std::string misplaced(const instruction& i, const thread_context& c, const copy_request& r);

}  // namespace membar::check
