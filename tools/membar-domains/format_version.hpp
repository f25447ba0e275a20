// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
/// @file
/// The versions of the files that the command and its library write. A file of another version is rejected with an error
/// message.
#pragma once

namespace membar_domains {

/// The first line of a list is `list_header` and the version. A list without that line, for example one written by hand, has
/// version 1.
inline constexpr int list_version = 1;
inline constexpr const char* list_header = "# membar-domains list, format ";

/// The first line of the records of a process is F, followed by the version.
inline constexpr int records_version = 2;

/// The version of the reports of watch, try and apply. JSON contains it as "version", and text in the first line.
inline constexpr int report_version = 1;

inline constexpr const char* one_version =
    "the membar-domains command and the library it preloads have different versions: install both from one build";

}  // namespace membar_domains
