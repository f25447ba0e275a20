// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
/// @file
/// The list of kernels to move, as `watch` writes it and users edit it. A line consists of a domain and a regular expression.
/// With `:far` after the domain, the line applies only to launches that have a pointer to a peer's or the host's memory among
/// their arguments:
///
///     # a comment
///     remote      ^two_shot_all_reduce_kernel
///     2           ^my_halo_put$
///     remote:far  ^vectorized_elementwise_kernel$
///
/// Comments that watch writes contain the result of its check for a rule: `# check: passed remote ^my_halo_put$`, or `warned`
/// instead of `passed`, in which case the rule is followed by a blank, '#' and a sentence.
#pragma once

#include <regex>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

namespace membar_domains {

/// An error in the user's input or request, described in one sentence.
class error : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

/// The target of a launch: it is left as it is, or sent to a logical domain, or to a physical one regardless of the stream's
/// map.
struct target {
  enum class kind { leave, logical_default, logical_remote, physical };
  kind what = kind::leave;
  int id = 0;  ///< the physical domain

  friend bool operator==(const target&, const target&) = default;
};

/// Parses `default`, `remote` or the number of a physical domain, 0 to 255. Throws an `error` that names `where`.
[[nodiscard]] target parse_target(std::string_view word, const std::string& where);

/// The result of watch's check for a rule.
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

/// The rules that apply to a kernel: one for launches with a pointer to a peer's or the host's memory, and one for other
/// launches. Each is an index, or -1.
struct decision {
  int far = -1, near = -1;
};

/// The rules of a list. The first rule that matches a kernel's name, either mangled or demangled, and, with `:far`, the launch,
/// decides.
class move_list {
 public:
  /// Throws an `error` that names `origin` and the line.
  [[nodiscard]] static move_list parse(std::string_view text, const std::string& origin);
  /// Returns the contents of the file. Throws `error` if it cannot be read.
  [[nodiscard]] static std::string text_of(const std::string& path);
  /// Throws what `text_of` and `parse` throw.
  [[nodiscard]] static move_list read(const std::string& path);

  /// Adds a rule after the others. Throws `error` if the regular expression is invalid.
  void add(target to, const std::string& pattern, const std::string& where, int line = 0, bool far = false);

  /// Returns where launches of the kernel with this (mangled or plain) name go if they have no far pointer.
  [[nodiscard]] target match(const std::string& name) const;
  /// Returns the rules that decide.
  [[nodiscard]] decision decide(const std::string& name) const;
  /// Returns the index of the rule that decides for launches with a far pointer, or -1.
  [[nodiscard]] int rule_of(const std::string& name) const { return decide(name).far; }

  [[nodiscard]] const std::vector<rule>& rules() const noexcept { return rules_; }

  /// Returns a sentence that says why the list should not be applied: it names the first rule for which the check has a
  /// warning, or that was not checked. Empty if there is none.
  [[nodiscard]] std::string objection() const;

 private:
  std::vector<rule> rules_;
};

/// Returns the line that stores the check's result for the rule with this domain and pattern. Without a warning, the rule
/// passed.
[[nodiscard]] std::string check_line(const std::string& rule, const std::string& warning);

/// Returns the demangled form of a C++ name, and any other name unchanged.
[[nodiscard]] std::string demangled(const std::string& name);

/// Returns a kernel's name without return type, namespaces, template arguments and parameters.
[[nodiscard]] std::string short_name(const std::string& name);

/// Returns a regular expression that matches `text` and nothing else.
[[nodiscard]] std::string escaped(std::string_view text);

/// Returns whether kernels of this name are known to store to other devices, such as kernels of NCCL, NVSHMEM and PyTorch's
/// symmetric memory.
[[nodiscard]] bool known_remote(const std::string& name);

}  // namespace membar_domains
