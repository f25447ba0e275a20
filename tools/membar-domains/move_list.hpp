// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
/// @file
/// The list of kernels to move, as `watch` writes it and a person edits it. A line is a domain and a regular expression. With `:far`
/// after the domain it is about launches that have a pointer to a peer's or the host's memory among their arguments, and no others:
///
///     # a comment
///     remote      ^two_shot_all_reduce_kernel
///     2           ^my_halo_put$
///     remote:far  ^vectorized_elementwise_kernel$
///
/// Comments that watch writes hold what its check found of a rule: `# check: passed remote ^my_halo_put$`, or `warned` with a sentence after the
/// rule and a blank and '#'.
#pragma once

#include <regex>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

namespace membar_domains {

/// What is wrong with what the user wrote or asked for, in one sentence.
class error : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

/// Where a launch goes: left as it is, to a logical domain, or to a physical one whatever the stream's map is.
struct target {
  enum class kind { leave, logical_default, logical_remote, physical };
  kind what = kind::leave;
  int id = 0;  ///< the physical domain

  friend bool operator==(const target&, const target&) = default;
};

/// `default`, `remote` or the number of a physical domain, 0 to 255. Throws `error` that names `where`.
[[nodiscard]] target parse_target(std::string_view word, const std::string& where);

/// What the check of watch found of a rule.
enum class verdict { unchecked, passed, warned };

struct rule {
  target to;
  std::string pattern;
  std::regex compiled;
  int line = 0;
  bool far = false;  ///< only launches with a pointer to a peer's or the host's memory
  verdict checked = verdict::unchecked;
  std::string warning;
};

/// What a list says of a kernel: the rule for launches with a pointer to a peer's or the host's memory, and that for the others. Each
/// is an index, or -1.
struct decision {
  int far = -1, near = -1;
};

/// The rules of a list. The first rule decides that matches a kernel's name, as the compiler wrote it or demangled, and, with `:far`,
/// the launch.
class move_list {
 public:
  /// Throws `error` that names `origin` and the line.
  [[nodiscard]] static move_list parse(std::string_view text, const std::string& origin);
  /// The contents of the file. Throws `error` if it cannot be read.
  [[nodiscard]] static std::string text_of(const std::string& path);
  /// Throws as `text_of` and `parse`.
  [[nodiscard]] static move_list read(const std::string& path);

  /// Adds a rule after the others. Throws `error` if the regular expression is invalid.
  void add(target to, const std::string& pattern, const std::string& where, int line = 0, bool far = false);

  /// Where launches of the kernel of this (mangled or plain) name go that have no far pointer.
  [[nodiscard]] target match(const std::string& name) const;
  /// The rules that decide.
  [[nodiscard]] decision decide(const std::string& name) const;
  /// The index of the rule that decides for launches with a far pointer, or -1.
  [[nodiscard]] int rule_of(const std::string& name) const { return decide(name).far; }

  [[nodiscard]] const std::vector<rule>& rules() const noexcept { return rules_; }

  /// Why the list should not be applied, in a sentence: the first rule for which the check has a warning, or that was not checked. Else empty.
  [[nodiscard]] std::string objection() const;

 private:
  std::vector<rule> rules_;
};

/// The line that keeps what the check found of the rule that is written so: domain and pattern. Passed without a warning.
[[nodiscard]] std::string check_line(const std::string& rule, const std::string& warning);

/// The name that C++ gives to a mangled one; any other name as it is.
[[nodiscard]] std::string demangled(const std::string& name);

/// A kernel's name without return type, namespaces, template arguments and parameters.
[[nodiscard]] std::string short_name(const std::string& name);

/// A regular expression that matches `text` and nothing else.
[[nodiscard]] std::string escaped(std::string_view text);

/// Whether kernels of this name are known to store to other devices, such as kernels of NCCL, NVSHMEM and PyTorch's symmetric memory.
[[nodiscard]] bool known_remote(const std::string& name);

}  // namespace membar_domains
