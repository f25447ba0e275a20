// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
/// @file
/// Every final state that the model allows for a litmus test.
#pragma once

#include <membar/model/decide.hpp>
#include <membar/model/litmus_test.hpp>

#include <algorithm>
#include <array>
#include <cstdint>
#include <set>
#include <string>
#include <vector>

namespace membar::model {

/// Visitor that collects the final values of some registers and locations over all executions.
class outcome_collector {
 public:
  explicit outcome_collector(const litmus_test& test) : test_(&test), view_(test.view()) {
    named_ = named_memory(view_.filter, view_.program.locations);
    for (const observable& o : test.observed) {
      if (o.what.kind == term::kind_t::memory_value) {
        named_ |= only(test.locations[static_cast<std::size_t>(o.what.index)].physical);
      }
    }
  }

  template <class Enumerator>
  [[nodiscard]] bool viable(const Enumerator& execution) const {
    return evaluate(view_.filter, final_state<Enumerator>{&execution, nullptr}) != truth::no;
  }

  template <class Enumerator>
  [[nodiscard]] bool accept(const Enumerator& execution) {
    std::array<int, max_events> last{};
    last.fill(-1);
    return for_each_memory(execution, named_, last, [&](const auto& state) {
      if (evaluate(view_.filter, state) == truth::yes) {
        std::vector<std::int64_t> values;
        for (const observable& o : test_->observed) {
          values.push_back(state.value(o.what));
        }
        found_.insert(std::move(values));
      }
      return true;
    });
  }

  [[nodiscard]] const std::set<std::vector<std::int64_t>>& found() const noexcept { return found_; }

 private:
  const litmus_test* test_;
  test_view view_;
  std::uint64_t named_ = 0;
  std::set<std::vector<std::int64_t>> found_;
};

/// A value as it is printed: the address of a location by its name, anything else as a number.
[[nodiscard]] inline std::string value_text(const litmus_test& test, std::int64_t value) {
  for (std::size_t i = 0; i < test.locations.size(); ++i) {
    if (value == address_value(static_cast<int>(i))) {
      return "&" + test.location_names[i];
    }
  }
  return std::to_string(value);
}

/// Text as a JSON string.
[[nodiscard]] inline std::string quoted(const std::string& text) {
  std::string out = "\"";
  for (const char c : text) {
    const auto code = static_cast<unsigned char>(c);
    if (c == '"' || c == '\\') {
      out += '\\';
      out += c;
    } else if (code < 0x20) {
      static constexpr char digits[] = "0123456789abcdef";
      out += "\\u00";
      out += digits[code >> 4];
      out += digits[code & 15];
    } else {
      out += c;
    }
  }
  return out + "\"";
}

/// The final states of `test`, as "P0:r0=1 P1:r1=0 x=1": what its condition and its `locations` name, in that order; sorted
/// as byte strings. Throws `error` if the test exceeds a limit or has no defined behaviour, or if the search takes more than
/// `limit` steps (0: any number).
[[nodiscard]] inline std::vector<std::string> outcomes(const litmus_test& test, std::uint64_t limit = 0) {
  outcome_collector visitor(test);
  const test_view view = test.view();
  require_defined(view.program, every_rule{}, limit);
  enumerator<outcome_collector>(view.program, visitor, every_rule{}, limit).run();
  std::vector<std::string> lines;
  for (const std::vector<std::int64_t>& values : visitor.found()) {
    std::string line;
    for (std::size_t i = 0; i < values.size(); ++i) {
      line += (i == 0 ? "" : " ") + test.observed[i].name + "=" + value_text(test, values[i]);
    }
    lines.push_back(std::move(line));
  }
  std::sort(lines.begin(), lines.end());
  return lines;
}

}  // namespace membar::model
