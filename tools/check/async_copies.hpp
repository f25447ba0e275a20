// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
/// @file
/// The threads that perform the asynchronous operations of a checked program, one access after the other.
///
/// An instruction that starts an operation gives one of these threads a list of accesses: it reads the whole source, writes the
/// destination, and completes the bytes on the mbarrier. Its accesses are ordered as in the model (graph.hpp): they follow
/// everything that precedes the instruction, use the async proxy if they belong to a bulk copy, and only a completion orders
/// later accesses after them.
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

/// The maximum number of threads that perform asynchronous operations.
inline constexpr int most_copies = 1024;

/// The maximum number of bytes of one copy.
inline constexpr std::uint64_t most_copied = 32'768;

/// Returns whether some kernel requests the cancellation of a launch (`clusterlaunchcontrol.try_cancel`).
[[nodiscard]] bool asks_launch_control(const program& p);

/// Returns whether some instruction of a kernel starts an asynchronous operation.
[[nodiscard]] bool starts_copies(const kernel_code& kernel);

/// Returns whether some instruction of a program's kernels starts an asynchronous operation.
[[nodiscard]] bool starts_copies(const program& p);
/// Returns whether a finding of the program may depend on a reading of the PTX ISA. All but one concern programs that start
/// copies or use mbarriers.
[[nodiscard]] bool may_depend_on(const program& p, const finding& f, model::reading one);

/// Returns the numbers of threads of a block that can start one operation together.
inline constexpr int starter_counts[] = {1, 32, 128};

/// Returns how many operations of a thread can be performed, among those that this many threads start together according to
/// `starter_counts`.
using copy_counts_of_thread = std::array<int, std::size(starter_counts)>;

/// Returns the code that performs the operations that the kernels of a program start.
[[nodiscard]] kernel_code code_of_copies(const program& p);

/// Adds threads that perform up to `each[t]` operations of thread t.
[[nodiscard]] program with_copies(const program& p, const std::vector<copy_counts_of_thread>& each);

/// Returns the first of the threads that start an operation together with thread `t`.
[[nodiscard]] inline int first_starter(const program& p, int t, int starters) {
  return t - static_cast<int>(model::at(p.threads, t).number_in_block() % static_cast<unsigned>(starters));
}

/// The request of an instruction that starts an operation, or the reason why it is invalid.
struct copy_request {
  std::vector<copy_step> steps{};
  std::uint64_t from = 0;  ///< the source in memory, if there is one
  std::uint64_t to = 0;
  std::uint64_t barrier = 0;  ///< 0: it completes on none
  std::string wrong{};
  check_status status = check_status::undefined;  ///< the status if it is invalid: `gave_up` for a limit of the checker
  bool last = true;                               ///< no further block of a multicast follows
};

/// Returns the bytes of memory when an operation is started, 8 bytes starting at an address.
using memory_reader = std::function<wide_value(std::uint64_t)>;

/// Returns the operation that a thread starts next; for a multicast, the operation for one block after the other. `agent` is
/// the code that performs it.
[[nodiscard]] copy_request copy_started(const kernel_code& agent, const program& p, const machine& m, const thread_state& s,
                                        const memory_reader& memory);

/// Returns the reason why PTX does not allow the addresses of a copy, or an empty text if it does. Source: PTX ISA,
/// "cp.async.bulk": the source in shared memory must be the block's own, and the mbarrier must be in the block of the
/// destination.
[[nodiscard]] std::string misplaced(const instruction& i, const thread_context& c, const copy_request& r);

}  // namespace membar::check
