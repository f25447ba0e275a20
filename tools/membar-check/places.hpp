// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
/// @file
/// Describes the source positions of instructions, and changes to instructions, in words.
#pragma once

#include <check/code_edit.hpp>
#include <check/program.hpp>
#include <ptx/cuda_words.hpp>

#include <string>
#include <vector>

namespace membar_check {

/// A line of a source file.
struct source_place {
  std::string path{};  ///< empty if it is unknown
  int line = 0;
  [[nodiscard]] friend auto operator<=>(const source_place&, const source_place&) = default;
};

/// The source position of an instruction.
struct instruction_places {
  source_place own{};
  source_place user{};    ///< the line to show first: `own` or, for library code, the line of the call
  source_place via{};     ///< for an inlined function that another inlined function calls: the innermost call
  source_place caller{};  ///< for an inlined function: the outermost call
};
[[nodiscard]] instruction_places places_of(const membar::check::program& p, int thread, const membar::check::instruction& i);

/// Returns whether an instruction with these positions is a statement of a scenario's host thread rather than PTX.
[[nodiscard]] bool is_statement(const membar::check::program& p, int thread, const instruction_places& places);

/// Returns at most two source lines for a finding: the lines of the accesses at fault, or the threads' positions.
[[nodiscard]] std::vector<std::string> places_of_finding(const membar::check::program& p, const membar::check::finding& f);

/// Returns the instruction whose position names a site: its first instruction or, for the start of a loop, the loop's first
/// instruction. The position of the call is omitted if the site has several callers.
[[nodiscard]] membar::check::instruction instruction_at(const membar::check::program& p, const membar::check::code_site& site);

/// Describes a change, for example "ld.relaxed.gpu becomes ld.acquire.gpu" or "insert before its st.relaxed.gpu: fence.sc.sys".
[[nodiscard]] std::string change_text(const membar::check::program& p, const membar::check::code_site& site,
                                      const membar::check::code_edit& e);

/// Returns how the new or changed instruction is spelled in C++. The spelling is empty for changes without a C++ form, for
/// example changes to vector accesses, and for barriers, whose text is already C++.
[[nodiscard]] membar::ptx::cuda_spelling change_in_cuda(const membar::check::code_site& site,
                                                        const membar::check::code_edit& e);

}  // namespace membar_check
