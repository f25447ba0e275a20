// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
/// @file
/// The threads that perform the asynchronous operations of a checked program, one access at a time.
///
/// An instruction that starts an operation passes a list of accesses to one of these threads. The thread reads the whole
/// source, writes the destination, and reports the completed bytes to the mbarrier. Its accesses are ordered as in the model
/// (graph.hpp). They follow everything that precedes the instruction, and accesses that belong to a bulk copy use the async
/// proxy. Only a completion orders later accesses after them.
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
#include <span>
#include <string>
#include <vector>

namespace membar::check {

using namespace ptx;

/// The maximum number of threads that perform asynchronous operations.
inline constexpr int most_copies = 1024;

/// The maximum size of a copy in bytes.
inline constexpr std::uint64_t most_copied = 32'768;

/// Returns whether any kernel requests the cancellation of a launch (`clusterlaunchcontrol.try_cancel`).
[[nodiscard]] bool asks_launch_control(const program& p);

/// Returns whether any instruction of a kernel starts an asynchronous operation.
[[nodiscard]] bool starts_copies(const kernel_code& kernel);

/// Returns whether any instruction of a program's kernels starts an asynchronous operation.
[[nodiscard]] bool starts_copies(const program& p);
/// Returns whether a finding in the program may depend on `one`, a reading of the PTX ISA. All but one of the readings concern
/// only programs that start copies or use mbarriers.
[[nodiscard]] bool may_depend_on(const program& p, const finding& f, model::reading one);

/// The possible numbers of threads in a block that start an operation together.
inline constexpr int starter_counts[] = {1, 32, 128};

/// For one thread and each entry of `starter_counts`: the maximum number of operations that the thread starts in a group of
/// this many threads.
using copy_counts_of_thread = std::array<int, std::size(starter_counts)>;

/// Returns the code that performs the asynchronous operations started by a program's kernels.
[[nodiscard]] kernel_code code_of_copies(const program& p);

/// Returns the program with additional threads, which perform up to `each[t]` operations of thread t.
[[nodiscard]] program with_copies(const program& p, const std::vector<copy_counts_of_thread>& each);

/// Returns the first of the `starters` threads that start an operation together with thread `t`.
[[nodiscard]] inline int first_starter(const program& p, int t, int starters) {
  return t - static_cast<int>(model::at(p.threads, t).number_in_block() % static_cast<unsigned>(starters));
}

/// An operation that an instruction starts, or the reason why the instruction is invalid.
struct copy_request {
  std::vector<copy_step> steps{};
  std::uint64_t from = 0;  ///< the address of the source, if it is in memory
  std::uint64_t to = 0;
  std::uint64_t barrier = 0;  ///< 0 if the operation does not complete on an mbarrier
  std::string wrong{};
  check_status status = check_status::undefined;  ///< the status of an invalid request: `gave_up` if it exceeds a limit of the
                                                  ///< checker
  bool last = true;                               ///< whether this is the last block of a multicast
};

/// The accesses of an operation to its data.
struct copied_data {
  const copy_step* read = nullptr;  ///< the first read; null if the operation reads nothing
  const copy_step* written = nullptr;
  std::uint64_t bytes_read = 0;
  std::uint64_t bytes_written = 0;
  bool reduces = false;
};
/// Returns the accesses of an operation to its data. `agent` is the code that performs the operation.
[[nodiscard]] copied_data data_of(std::span<const copy_step> steps, const kernel_code& agent);

/// Returns the 8 bytes that memory contains at an address when an operation starts.
using memory_reader = std::function<wide_value(std::uint64_t)>;

/// Returns the operation that a thread starts next. For a multicast, each call returns the copy to one block. `agent` is the
/// code that performs the operation.
[[nodiscard]] copy_request copy_started(const kernel_code& agent, const program& p, const machine& m, const thread_state& s,
                                        const memory_reader& memory);

/// Returns why PTX does not allow a copy's addresses, or an empty string if it does. A source in shared memory must be in the
/// block's own shared memory, and the mbarrier must be in the same block as the destination. Source: PTX ISA, "cp.async.bulk".
[[nodiscard]] std::string misplaced(const instruction& i, const thread_context& c, const copy_request& r);

}  // namespace membar::check
