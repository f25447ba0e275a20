// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
/// @file
/// The suite: guarantees and controls. A guarantee is a test whose outcome the model forbids. A control is a weakened form of
/// the test whose outcome the model allows.
#pragma once

#include <membar/litmus/runnable_test.hpp>

#include <algorithm>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace conformance {

/// A test at one place.
struct placed_test {
  std::string name;  ///< "MP+...@one_device"
  std::string type;  ///< The mangled type that is the template argument of its kernel.
  membar::litmus::runnable_test test;
};

/// The place, as it appears in a test's name.
[[nodiscard]] inline std::string place_of(const std::string& test) { return test.substr(test.rfind('@') + 1); }

/// A documented guarantee: the test that checks it, and its controls.
struct guarantee {
  std::string family;
  std::string test;
  std::vector<std::string> controls;
};

/// Tests and guarantees. Each name occurs once.
class suite {
 public:
  /// Returns the test with this name, or a null pointer if there is none.
  [[nodiscard]] const placed_test* find(const std::string& name) const noexcept {
    const auto found = std::ranges::find(tests_, name, &placed_test::name);
    return found == tests_.end() ? nullptr : &*found;
  }

  void add(placed_test test) { tests_.push_back(std::move(test)); }

  /// Adds a guarantee. If the test already exists, only the controls that it does not have yet are added.
  void add(guarantee row) {
    const auto known = std::ranges::find(guarantees_, row.test, &guarantee::test);
    if (known == guarantees_.end()) {
      guarantees_.push_back(std::move(row));
      return;
    }
    for (std::string& control : row.controls) {
      if (std::ranges::find(known->controls, control) == known->controls.end()) {
        known->controls.push_back(std::move(control));
      }
    }
  }

  [[nodiscard]] const std::vector<placed_test>& tests() const noexcept { return tests_; }
  [[nodiscard]] const std::vector<guarantee>& guarantees() const noexcept { return guarantees_; }

 private:
  std::vector<placed_test> tests_;
  std::vector<guarantee> guarantees_;
};

/// A part of the suite. Each translation unit registers one part, so a program has the parts that are linked into it.
struct family {
  const char* name;
  void (*add)(suite& all);
};
[[nodiscard]] inline std::vector<family>& families() {
  static std::vector<family> all;
  return all;
}
struct registered_family {
  registered_family(const char* name, void (*add)(suite&)) { families().push_back({name, add}); }
};

/// All families of the program, ordered by name.
[[nodiscard]] inline suite whole_suite() {
  suite all;
  std::ranges::sort(families(), {}, [](const family& f) { return std::string_view(f.name); });
  for (const family& f : families()) {
    f.add(all);
  }
  return all;
}

}  // namespace conformance
