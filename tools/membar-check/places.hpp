// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
/// @file
/// Where instructions are in the source, and changes of them in words.
#pragma once

#include <check/code_edit.hpp>
#include <check/program.hpp>

#include <string>
#include <vector>

namespace membar_check {

/// A line of a source file.
struct source_place {
  std::string path{};  ///< empty: not known
  int line = 0;
};

/// Where an instruction is in the source. Where its code was inlined, `caller` is the line that calls it.
struct instruction_places {
  source_place own{};
  source_place caller{};
};
[[nodiscard]] instruction_places places_of(const membar::check::program& p, int thread, const membar::check::instruction& i);

/// Whether an instruction with these places belongs to a statement of a scenario's host thread, and not to PTX.
[[nodiscard]] bool is_statement(const membar::check::program& p, int thread, const instruction_places& places);

/// The thread whose code an event executes: of an asynchronous copy, the thread that started it.
[[nodiscard]] int issuer_of(const membar::check::program& p, int thread);

/// The source lines that a finding is about, at most two: those of the accesses to blame, or where threads are.
[[nodiscard]] std::vector<std::string> places_of_finding(const membar::check::program& p, const membar::check::finding& f);

/// The first instruction of a site, without its caller if it has several.
[[nodiscard]] membar::check::instruction instruction_at(const membar::check::code_site& site);

/// "ld.relaxed.gpu becomes ld.acquire.gpu", "put before its st.relaxed.gpu: fence.sc.sys".
[[nodiscard]] std::string change_text(const membar::check::code_site& site, const membar::check::code_edit& e);

}  // namespace membar_check
