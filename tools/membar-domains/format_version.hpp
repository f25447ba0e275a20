// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
/// @file
/// The versions of the files that the command and its library write. A file with another version is rejected with an error
/// message.
#pragma once

namespace membar_domains {

/// The first line of a list contains `list_header` and the version. A list without this line, for example a handwritten one,
/// has version 1.
inline constexpr int list_version = 1;
inline constexpr const char* list_header = "# membar-domains list, format ";

/// The first line of each process's records is F, followed by the version.
inline constexpr int records_version = 2;

/// The version of the reports that `watch`, `try` and `apply` write. In JSON it is the member "version"; in text it is part of
/// the first line.
inline constexpr int report_version = 1;

inline constexpr const char* one_version =
    "the membar-domains command and the library it preloads have different versions: install both from the same build";

}  // namespace membar_domains
