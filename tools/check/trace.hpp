// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
/// @file
/// Describes an execution that violates a rule.
#pragma once

#include <check/graph.hpp>
#include <check/program.hpp>
#include <membar/model/array.hpp>

#include <cstdint>
#include <string>
#include <vector>

namespace membar::check {

using namespace ptx;

/// Formats a number according to its type: a float has a decimal point or an exponent, and a negative number has a sign.
[[nodiscard]] std::string number_text(std::uint64_t bits, ptx_type type);

/// Returns a name for an address: its object and offset, for example "state+8" or "tile+4 of block 0". If no object contains
/// the address, the text gives the distance to the nearest object.
[[nodiscard]] std::string place_text(const program& p, std::uint64_t address);

/// Returns the name of the memory object that contains an address, or of the nearest one, without the offset and the block. If
/// no object is near the address, returns an empty string.
[[nodiscard]] std::string object_text(const program& p, std::uint64_t address);

/// Returns a clause that says where a program's unknown values come from, and how to avoid them.
[[nodiscard]] std::string origin_of_unknown_values(const program& p);

/// Returns the thread whose code an event executes: for an asynchronous copy, the thread that started it.
[[nodiscard]] inline int issuer_of(const program& p, int thread) {
  const int issuer = model::at(p.threads, thread).copies_of;
  return issuer < 0 ? thread : issuer;
}

/// Describes a thread, for example "thread 2 (worker, block 1, thread 0)". The text includes its device and its memory
/// synchronization domain if the program has several.
[[nodiscard]] std::string thread_text(const program& p, int thread);

/// Returns the instruction that an event belongs to.
[[nodiscard]] inline const instruction& instruction_of(const program& p, const graph_event& e) {
  return model::at(model::at(p.threads, e.thread).kernel->code, e.pc);
}

/// Returns the position of an instruction in the kernel that `thread` executes, as "a.cu:3" or "PTX line 3". For inlined code,
/// returns the position of the call.
[[nodiscard]] std::string place_of(const program& p, int thread, const instruction& i);

/// Returns the positions of two instructions in the kernel that `thread` executes, as "lines a.cu:3 and a.cu:7" or "PTX lines 3
/// and 7".
[[nodiscard]] std::string places_text(const program& p, int thread, const instruction& x, const instruction& y);

/// Returns a sentence saying that one of two events writes memory that the other reads with a non-coherent load, while the
/// kernel that contains the load runs.
[[nodiscard]] std::string read_only_text(const program& p, const graph_event& x, const graph_event& y);

/// Explains why two accesses race.
[[nodiscard]] std::string race_text(const program& p, const graph& g, const graph_event& x, const graph_event& y);

/// Explains why a thread's scope does not include another thread, for example "block scope, but the threads are in different
/// blocks". Returns an empty string if the scope includes the thread.
[[nodiscard]] std::string scope_gap(const program& p, int thread, thread_scope scope, int other);

/// Returns the narrowest C++ scope of a thread that includes another thread. For host memory, this is system scope.
[[nodiscard]] thread_scope scope_with(const program& p, int thread, int other, std::uint64_t address);

/// Describes a finding in an execution. A blamed event that has not been added to the graph also becomes part of the finding.
[[nodiscard]] finding finding_of(const program& p, const graph& g, check_status status, std::string message,
                                 const std::vector<const graph_event*>& blamed);

}  // namespace membar::check
