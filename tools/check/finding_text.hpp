// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
/// @file
/// A finding as a litmus test and as a graph.
#pragma once

#include <check/program.hpp>

#include <string>

namespace membar::check {

using namespace ptx;

/// Returns a litmus test that shows a finding: the instructions of each thread in a row, with the values that they read and
/// wrote as numbers, and with the values read as its condition, which the model allows. For a race, it contains the events from
/// which the two accesses follow. Memory that only one thread accesses is omitted. Throws `model::error` for a finding that a
/// litmus file cannot express.
[[nodiscard]] std::string litmus_of(const program& p, const finding& f, const std::string& name);

/// Returns a finding as a graph in the Graphviz language: one column per thread, program order and reads-from as edges, and the
/// events to blame in red.
[[nodiscard]] std::string dot_of(const program& launched, const finding& f, const std::string& name);

}  // namespace membar::check
