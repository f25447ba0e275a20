// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <membar-check/merged_findings.hpp>
#include <membar-check/places.hpp>

#include <check/program.hpp>

#include <algorithm>
#include <compare>
#include <cstddef>
#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

namespace membar_check {

namespace {

namespace check = membar::check;
using membar::sanitize::sanitizer_finding;

/// A source line with the line of its call, or a PTX line of a kernel.
using line_of_code = std::tuple<std::string, int, std::string, int>;

[[nodiscard]] line_of_code line_of(const check::program& p, int thread, const check::instruction& i) {
  const instruction_places places = places_of(p, thread, i);
  const std::string& kernel = p.threads[static_cast<std::size_t>(thread)].kernel->name;
  return places.own.path.empty() ? line_of_code{"", i.line, kernel, 0}
                                 : line_of_code{places.own.path, places.own.line, places.caller.path, places.caller.line};
}

/// Describes what merged findings have in common.
struct kind_of_finding {
  check::check_status status{};
  std::set<line_of_code> lines{};
  std::string object{};
  std::string message{};  ///< empty if there are lines
  [[nodiscard]] friend auto operator<=>(const kind_of_finding&, const kind_of_finding&) = default;
};

[[nodiscard]] kind_of_finding kind_of(const sanitizer_finding& f) {
  kind_of_finding result{f.found.status, {}, f.object, {}};
  for (const check::trace_event& e : f.found.events) {
    result.lines.insert(line_of(*f.found.whole, e.thread, *e.at));
  }
  for (std::size_t t = 0; t < f.found.waiting.size(); ++t) {
    if (f.found.waiting[t] != nullptr) {
      result.lines.insert(line_of(*f.found.whole, static_cast<int>(t), *f.found.waiting[t]));
    }
  }
  result.message = result.lines.empty() ? f.found.message : "";
  return result;
}

}  // namespace

std::vector<sanitizer_finding> merged(std::vector<sanitizer_finding> findings) {
  const auto rank = [](const sanitizer_finding& f) { return std::pair(!f.reading.empty(), f.seed); };
  std::vector<sanitizer_finding> result;
  std::map<kind_of_finding, std::size_t> known;
  for (sanitizer_finding& f : findings) {
    const auto [at, is_new] = known.try_emplace(kind_of(f), result.size());
    if (is_new) {
      result.push_back(std::move(f));
      continue;
    }
    sanitizer_finding& one = result[at->second];
    const std::uint64_t count = one.count + f.count;
    const bool after_another = one.after_another && f.after_another;
    if (rank(f) < rank(one)) {
      one = std::move(f);
    }
    one.count = count;
    one.after_another = after_another;
  }
  std::ranges::stable_sort(result, {}, &sanitizer_finding::seed);
  return result;
}

}  // namespace membar_check
