// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
/// @file
/// A finding as a litmus test or as a graph.
#pragma once

#include <check/program.hpp>

#include <string>

namespace membar::check {

using namespace ptx;

/// Returns a litmus test that reproduces a finding. It contains each thread's instructions in execution order, with the values
/// that they read and wrote as constants. Its condition, which the model allows, is that the reads return these values. For a
/// race, it contains the two accesses and the events that lead to them. Memory that only one thread accesses is omitted. Throws
/// `model::error` for a finding that a litmus file cannot express.
[[nodiscard]] std::string litmus_of(const program& p, const finding& f, const std::string& name);

/// Returns a finding as a graph in Graphviz's DOT language: each thread is a column, program order and reads-from are edges,
/// and the blamed events are red.
[[nodiscard]] std::string dot_of(const program& launched, const finding& f, const std::string& name);

}  // namespace membar::check
