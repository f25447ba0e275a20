// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
/// @file
/// A finding as a litmus test, and as a picture.
#pragma once

#include <check/program.hpp>

#include <string>

namespace membar::check {

using namespace ptx;

/// A litmus test that shows a finding: the instructions of each thread in a row, with the values that they read and wrote as
/// numbers, and the values read as its condition, which the model allows. For a race it has what the two accesses follow from. Memory
/// that only one thread has is left out. Throws `model::error` for a finding that litmus files have no words for.
[[nodiscard]] std::string litmus_of(const program& p, const finding& f, const std::string& name);

/// A finding as a graph in the language of Graphviz: a column for each thread, program order and reads-from as edges, and in red
/// what is to blame.
[[nodiscard]] std::string dot_of(const program& launched, const finding& f, const std::string& name);

}  // namespace membar::check
