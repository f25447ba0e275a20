// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
/// @file
/// Rules for error patterns that are visible in a kernel's code without running it. docs/lint.md has a section for each rule.
#pragma once

#include <lint/flow.hpp>
#include <lint/thread_paths.hpp>
#include <lint/values.hpp>
#include <ptx/decode.hpp>

#include <functional>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace membar::lint {

/// The confidence of a warning. A `note` states a fact, but the behaviour may be intended.
enum class confidence : unsigned char { note, medium, high };

struct warning {
  std::string_view rule;
  confidence sure = confidence::high;
  std::string text;  ///< one sentence
  pc_t at = 0;
  std::vector<std::pair<pc_t, std::string>> related;  ///< other instructions involved, each with a description
  std::string fix{};                                  ///< what to do about it, if that is more specific than the rule's `fix`
};

/// Returns whether any kernel of the module reads a variable of the module that is among the origins.
using reads_variable = std::function<bool(const std::set<origin>&)>;

/// A kernel and the results of its analysis.
struct kernel_view {
  kernel_view(const ptx::kernel_code& kernel, const ptx::module_layout& layout, bool others_wait = false,
              bool is_dependent = false, reads_variable read = {})
      : paths(kernel),
        data(kernel, layout, paths),
        read_in_module(std::move(read)),
        most_wait(others_wait),
        dependent(is_dependent) {}
  /// Returns the paths that a single thread can take.
  [[nodiscard]] const thread_paths& of_one_thread() const {
    if (!of_one_thread_) {
      of_one_thread_.emplace(paths);
    }
    return *of_one_thread_;
  }

  flow paths;
  values data;
  reads_variable read_in_module;  ///< empty if only this kernel is known
  bool most_wait;  ///< whether more than half of the module's kernels wait for the preceding kernel with griddepcontrol.wait
  bool dependent;  ///< whether the source launches the kernel as a programmatic dependent

 private:
  mutable std::optional<thread_paths> of_one_thread_{};  ///< empty before the first use
};

/// A rule of the linter.
struct rule {
  std::string_view name;
  std::string_view about;  ///< a short description of the error
  std::string_view fix;    ///< what to do about a warning
  void (*look)(const kernel_view&, std::vector<warning>&);
};

[[nodiscard]] const std::vector<rule>& rules();

/// Returns the accesses to global memory that may precede the thread's wait for the preceding kernel, or its synchronization
/// with a thread that has waited. The result is empty if the kernel never waits.
[[nodiscard]] std::vector<access> early_accesses(const kernel_view& k);

}  // namespace membar::lint
