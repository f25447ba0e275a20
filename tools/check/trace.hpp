// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
/// @file
/// An execution that breaks a rule, in words.
#pragma once

#include <check/graph.hpp>
#include <check/program.hpp>
#include <membar/model/array.hpp>

#include <cstdint>
#include <string>
#include <vector>

namespace membar::check {

using namespace ptx;

/// An address as the object it is in: "state+8", "tile+4 of block 0"; else how far it is from the nearest one.
[[nodiscard]] std::string place_text(const program& p, std::uint64_t address);

/// A thread as "thread 2 (worker, block 1, thread 0)", with its device and its memory synchronization domain where the program has several.
[[nodiscard]] std::string thread_text(const program& p, int thread);

/// The instruction of an event.
[[nodiscard]] inline const instruction& instruction_of(const program& p, const graph_event& e) {
  return model::at(model::at(p.threads, e.thread).kernel->code, e.pc);
}

/// "a.cu:3", or "PTX line 3": where an instruction of the kernel that `thread` executes is. Of code that was inlined: where it is called.
[[nodiscard]] std::string place_of(const program& p, int thread, const instruction& i);

/// "lines a.cu:3 and a.cu:7", or "PTX lines 3 and 7": where two instructions of the kernel that `thread` executes are.
[[nodiscard]] std::string places_text(const program& p, int thread, const instruction& x, const instruction& y);

/// That memory which one of two events reads by a non-coherent load is written by the other one while the kernel of the load runs.
[[nodiscard]] std::string read_only_text(const program& p, const graph_event& x, const graph_event& y);

/// Why two accesses race.
[[nodiscard]] std::string race_text(const program& p, const graph& g, const graph_event& x, const graph_event& y);

/// Why a scope of a thread does not include another thread: "block scope, but the threads are in different blocks"; empty if it does.
[[nodiscard]] std::string scope_gap(const program& p, int thread, thread_scope scope, int other);

/// What was found in an execution.
[[nodiscard]] finding finding_of(const program& p, const graph& g, check_status status, std::string message,
                                 const std::vector<const graph_event*>& blamed);

}  // namespace membar::check
