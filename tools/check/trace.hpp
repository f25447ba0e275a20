// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
/// @file
/// Describes in words an execution that breaks a rule.
#pragma once

#include <check/graph.hpp>
#include <check/program.hpp>
#include <membar/model/array.hpp>

#include <cstdint>
#include <string>
#include <vector>

namespace membar::check {

using namespace ptx;

/// Returns the object that contains an address: "state+8", "tile+4 of block 0"; otherwise the distance to the nearest object.
[[nodiscard]] std::string place_text(const program& p, std::uint64_t address);

/// Describes a thread as "thread 2 (worker, block 1, thread 0)", with its device and its memory synchronization domain if the
/// program has several.
[[nodiscard]] std::string thread_text(const program& p, int thread);

/// Returns the instruction of an event.
[[nodiscard]] inline const instruction& instruction_of(const program& p, const graph_event& e) {
  return model::at(model::at(p.threads, e.thread).kernel->code, e.pc);
}

/// Returns "a.cu:3" or "PTX line 3": the position of an instruction of the kernel that `thread` executes. For inlined code, it
/// is the position of the call.
[[nodiscard]] std::string place_of(const program& p, int thread, const instruction& i);

/// Returns "lines a.cu:3 and a.cu:7", or "PTX lines 3 and 7": the positions of two instructions of the kernel that `thread`
/// executes.
[[nodiscard]] std::string places_text(const program& p, int thread, const instruction& x, const instruction& y);

/// States that one of two events writes the memory that the other one reads with a non-coherent load, while the kernel of the
/// load runs.
[[nodiscard]] std::string read_only_text(const program& p, const graph_event& x, const graph_event& y);

/// Explains why two accesses race.
[[nodiscard]] std::string race_text(const program& p, const graph& g, const graph_event& x, const graph_event& y);

/// Explains why a thread's scope does not include another thread: "block scope, but the threads are in different blocks"; empty
/// if it does include it.
[[nodiscard]] std::string scope_gap(const program& p, int thread, thread_scope scope, int other);

/// Describes a finding in an execution.
[[nodiscard]] finding finding_of(const program& p, const graph& g, check_status status, std::string message,
                                 const std::vector<const graph_event*>& blamed);

}  // namespace membar::check
