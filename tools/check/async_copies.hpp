// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
/// @file
/// The threads that perform the asynchronous operations of a checked program, one access after another.
///
/// An instruction that starts an operation gives one of them a list of accesses: it reads the source as a whole, writes the destination, and
/// completes the bytes on the mbarrier. Its accesses are ordered as the model has it (graph.hpp): they come after what precedes the
/// instruction, through the async proxy where they are a bulk copy's, and only a completion passes them on.
#pragma once

#include <check/machine.hpp>
#include <check/program.hpp>
#include <membar/model/array.hpp>
#include <ptx/instruction.hpp>

#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <iterator>
#include <string>
#include <vector>

namespace membar::check {

using namespace ptx;

/// What performs asynchronous operations, at most.
inline constexpr int most_copies = 1024;

/// The most bytes of one copy.
inline constexpr std::uint64_t most_copied = 32'768;

/// Whether some kernel asks launch control to cancel a launch (`clusterlaunchcontrol.try_cancel`).
[[nodiscard]] bool asks_launch_control(const program& p);

/// Whether some instruction of a kernel starts an asynchronous operation.
[[nodiscard]] bool starts_copies(const kernel_code& kernel);

/// Whether some instruction of a program's kernels starts an asynchronous operation.
[[nodiscard]] bool starts_copies(const program& p);
/// Returns whether a race of the program may depend on a reading of the PTX ISA: it starts copies, or uses mbarriers.
[[nodiscard]] bool may_depend_on_readings(const program& p);

/// The numbers of threads of a block that can start one operation together.
inline constexpr int starter_counts[] = {1, 32, 128};

/// How many operations of a thread can be performed, of those that this many threads start together as `starter_counts` says.
using copy_counts_of_thread = std::array<int, std::size(starter_counts)>;

/// The code of what performs the operations that the kernels of a program start.
[[nodiscard]] kernel_code code_of_copies(const program& p);

/// Adds what performs up to `each[t]` operations of thread t.
[[nodiscard]] program with_copies(const program& p, const std::vector<copy_counts_of_thread>& each);

/// The first of the threads that start an operation with thread `t`.
[[nodiscard]] inline int first_starter(const program& p, int t, int starters) {
  return t - static_cast<int>(model::at(p.threads, t).number_in_block() % static_cast<unsigned>(starters));
}

/// What an instruction that starts an operation asks for, or what is wrong with it.
struct copy_request {
  std::vector<copy_step> steps{};
  std::uint64_t from = 0;  ///< the source in memory, if there is one
  std::uint64_t to = 0;
  std::uint64_t barrier = 0;  ///< 0: it completes at none
  std::string wrong{};
  check_status status = check_status::undefined;  ///< of what is wrong: `gave_up` for a limit of the checker
  bool last = true;                               ///< no further block of a multicast follows
};

/// The bytes of memory when an operation is started, 8 from an address on.
using memory_reader = std::function<wide_value(std::uint64_t)>;

/// The operation that a thread starts next: of a multicast, that to one block after the other. `agent` is the code of what performs it.
[[nodiscard]] copy_request copy_started(const kernel_code& agent, const program& p, const machine& m, const thread_state& s,
                                        const memory_reader& memory);

/// Why the places of a copy are not those that PTX allows; empty if they are. Source: PTX ISA, "cp.async.bulk": the source in shared memory
/// is the block's own, and the mbarrier is in the block of the destination.
[[nodiscard]] std::string misplaced(const instruction& i, const thread_context& c, const copy_request& r);

}  // namespace membar::check
