// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <check/order_costs.hpp>
#include <common/quote.hpp>
#include <membar/memory_order.hpp>
#include <membar/model/error.hpp>
#include <membar/thread_scope.hpp>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdlib>
#include <sstream>
#include <string>
#include <string_view>

namespace membar::check {

using membar_tools::quote;

namespace {

/// Returns the index of the first element for which `is` returns true, or the number of elements if there is none.
template <class Values, class Is>
[[nodiscard]] std::size_t index_in(const Values& values, Is is) {
  return static_cast<std::size_t>(std::ranges::find_if(values, is) - values.begin());
}

}  // namespace

order_costs order_costs::read(std::string_view text) {
  order_costs result;
  std::istringstream lines{std::string(text)};
  int number = 0;
  for (std::string line; std::getline(lines, line);) {
    ++number;
    std::istringstream words(line.substr(0, line.find('#')));
    std::string kind;
    if (words >> kind) {
      result.read_line(kind, words, number);
    }
  }
  result.complete();
  return result;
}

order_costs::order_costs() {
  for (auto* t : {&fences_, &atomics_}) {
    for (auto& row : *t) {
      row.fill(-1);
    }
  }
}

double order_costs::at(const table& t, memory_order order, thread_scope scope) noexcept {
  return t[index_in(order_of_row, [&](memory_order o) { return o == order; })]
          [index_in(scope_of_column, [&](thread_scope c) { return c == scope; })];
}

void order_costs::read_line(const std::string& kind, std::istringstream& words, int number) {
  if (kind == "device") {
    std::getline(words >> std::ws, device_);
    return;
  }
  if (kind != "fence" && kind != "atomic" && kind != "proxy") {
    throw model::error(number, 1,
                       quote(kind) + " is not a valid line in a cost table: expected device, fence, atomic or proxy");
  }
  std::string order;
  std::string scope;
  std::string figure;
  std::string more;
  if (kind == "proxy") {
    words >> scope >> figure >> more;
    const std::size_t n = index_in(proxy_names, [&](std::string_view one) { return one == scope; });
    if (n == proxy_names.size()) {
      throw model::error(number, 1, quote(scope) + " is not a state space for a proxy fence: expected any, global or shared");
    }
    set(proxy_[n], "proxy " + scope, figure, more, number);
    return;
  }
  words >> order >> scope >> figure >> more;
  const std::size_t o = index_in(order_of_row, [&](memory_order one) { return name(one) == order; });
  const std::size_t s = index_in(scope_of_column, [&](thread_scope one) { return name(one) == scope; });
  if (o == orders) {
    throw model::error(number, 1, quote(order) + " is not an order: expected acquire, release, acq_rel or seq_cst");
  }
  if (s == scopes) {
    throw model::error(number, 1, quote(scope) + " is not a scope: expected block, cluster, device or system");
  }
  set((kind == "fence" ? fences_ : atomics_)[o][s], kind + " " + order + " " + scope, figure, more, number);
}

void order_costs::set(double& cell, const std::string& what, const std::string& figure, const std::string& more, int number) {
  char* end = nullptr;
  const double ns = std::strtod(figure.c_str(), &end);
  if (figure.empty() || *end != '\0' || !std::isfinite(ns) || ns < 0 || ns > 1e9 || !more.empty()) {
    throw model::error(number, 1,
                       quote(figure + (more.empty() ? "" : " " + more)) + " is not a cost: expected 0 to 1e9 nanoseconds");
  }
  if (cell >= 0) {
    throw model::error(number, 1, "the cost of " + quote(what) + " is given twice");
  }
  cell = ns;
}

void order_costs::complete() {
  for (std::size_t o = 0; o < orders; ++o) {
    for (const std::size_t s : {std::size_t{0}, std::size_t{2}, std::size_t{3}}) {
      if (fences_[o][s] < 0) {
        throw model::error(std::string("the cost table contains no fence with order ") + name(order_of_row[o]) + " and scope " +
                           name(scope_of_column[s]) + ": bench/check/order_costs.py writes a complete table");
      }
    }
  }
  for (std::size_t o = 0; o < orders; ++o) {
    for (std::size_t s = 0; s < scopes; ++s) {
      if (atomics_[o][s] < 0) {  // estimate: an order costs no more than acq_rel or than its fence
        const double both = atomics_[2][s];
        atomics_[o][s] = both < 0 ? fences_[o][s] : o == 2 ? both : fences_[o][s] < 0 ? both : std::min(both, fences_[o][s]);
      }
    }
  }
  for (double& one : proxy_) {
    one = one < 0 ? fences_[2][2] : one;
  }
  for (auto* t : {&fences_, &atomics_}) {
    for (auto& r : *t) {
      r[1] = r[1] < 0 ? r[2] : r[1];
      for (std::size_t s = 1; s < scopes; ++s) {
        r[s] = std::max(r[s], r[s - 1]);
      }
    }
    for (std::size_t s = 0; s < scopes; ++s) {
      (*t)[2][s] = std::max({(*t)[0][s], (*t)[1][s], (*t)[2][s]});
      (*t)[3][s] = std::max((*t)[2][s], (*t)[3][s]);
    }
  }
}

}  // namespace membar::check
