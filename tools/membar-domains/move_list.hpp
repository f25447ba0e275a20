// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
/// @file
/// The list of kernels to move, which `watch` writes and users edit. A line consists of a domain and a regular expression. If
/// the domain is followed by `:far`, the line applies only to far launches, which have a far pointer (a pointer to peer or host
/// memory) among their arguments:
///
///     # a comment
///     remote      ^two_shot_all_reduce_kernel
///     2           ^my_halo_put$
///     remote:far  ^vectorized_elementwise_kernel$
///
/// `watch` writes the result of its check as comments: `# check: passed remote ^my_halo_put$`, or `warned` instead of `passed`.
/// After `warned`, the rule is followed by a blank, '#' and a sentence.
#pragma once

#include <regex>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

namespace membar_domains {

/// An error in the user's input or request. The message is one sentence.
class error : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

/// The target of a launch. The launch is left unchanged, sent to a logical domain, or sent to a physical domain regardless of
/// the stream's map.
struct target {
  enum class kind { leave, logical_default, logical_remote, physical };
  kind what = kind::leave;
  int id = 0;  ///< the number of the physical domain

  friend bool operator==(const target&, const target&) = default;
};

/// Parses `default`, `remote` or the number of a physical domain from 0 to 255. Throws an `error` whose message contains
/// `where`.
[[nodiscard]] target parse_target(std::string_view word, const std::string& where);

/// The result of the check that `watch` performs for each rule.
enum class verdict { unchecked, passed, warned };

struct rule {
  target to;
  std::string pattern;
  std::regex compiled;
  int line = 0;
  bool far = false;  ///< whether the rule applies only to launches with a pointer to peer or host memory
  verdict checked = verdict::unchecked;
  std::string warning;
};

/// The rules that apply to a kernel: one for launches with a pointer to peer or host memory, and one for other launches. Each
/// is the index of a rule, or -1.
struct decision {
  int far = -1, near = -1;
};

/// The rules of a list. The first matching rule decides. A rule matches the kernel's mangled or demangled name and, with
/// `:far`, only far launches.
class move_list {
 public:
  /// Parses a list. Throws an `error` that contains `origin` and the line number.
  [[nodiscard]] static move_list parse(std::string_view text, const std::string& origin);
  /// Returns the contents of a file. Throws an `error` if the file cannot be read.
  [[nodiscard]] static std::string text_of(const std::string& path);
  /// Reads a list from a file. Throws the same errors as `text_of` and `parse`.
  [[nodiscard]] static move_list read(const std::string& path);

  /// Appends a rule. Throws an `error` if the regular expression is invalid.
  void add(target to, const std::string& pattern, const std::string& where, int line = 0, bool far = false);

  /// Returns the target of a kernel's launches without far pointers. The name may be mangled or plain.
  [[nodiscard]] target match(const std::string& name) const;
  /// Returns the rules that apply to this kernel.
  [[nodiscard]] decision decide(const std::string& name) const;
  /// Returns the index of the rule that applies to launches with a far pointer, or -1.
  [[nodiscard]] int rule_of(const std::string& name) const { return decide(name).far; }

  [[nodiscard]] const std::vector<rule>& rules() const noexcept { return rules_; }

  /// Returns a sentence that explains why the list should not be applied. It names the first rule that was not checked or has a
  /// warning. Returns an empty string if there is no such rule.
  [[nodiscard]] std::string objection() const;

 private:
  std::vector<rule> rules_;
};

/// Returns the line that stores a check's result for the rule with this domain and pattern. If there is no warning, the rule
/// has passed.
[[nodiscard]] std::string check_line(const std::string& rule, const std::string& warning);

/// Returns the demangled form of a C++ name. Other names are returned unchanged.
[[nodiscard]] std::string demangled(const std::string& name);

/// Returns a kernel's name without its return type, namespaces, template arguments and parameters.
[[nodiscard]] std::string short_name(const std::string& name);

/// Returns a regular expression that matches only `text`.
[[nodiscard]] std::string escaped(std::string_view text);

/// Returns whether kernels with this name are known to store to other devices. Examples are the kernels of NCCL, NVSHMEM and
/// PyTorch's symmetric memory.
[[nodiscard]] bool known_remote(const std::string& name);

}  // namespace membar_domains
