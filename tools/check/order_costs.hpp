// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
/// @file
/// What orders cost on a device: a table in text, which bench/check/order_costs.py writes of measurements.
#pragma once

#include <membar/memory_order.hpp>
#include <membar/model/error.hpp>
#include <membar/thread_scope.hpp>
#include <ptx/instruction.hpp>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <cstdlib>
#include <sstream>
#include <string>
#include <string_view>

namespace membar::check {

using namespace ptx;

/// The table for NVIDIA H200. Source: docs/measurements/h200/fence_cost.json, atomic_cost.json and proxy_fence_cost.json, by bench/check/order_costs.py;
/// a test compares the two.
inline constexpr std::string_view h200_order_costs =
    "device NVIDIA H200\n"
    "fence acquire block 14.7\n"
    "fence release block 16.4\n"
    "fence acq_rel block 15.9\n"
    "fence seq_cst block 14.7\n"
    "fence acquire device 14.8\n"
    "fence release device 326.6\n"
    "fence acq_rel device 314.1\n"
    "fence seq_cst device 314.0\n"
    "fence acquire system 14.8\n"
    "fence release system 617.4\n"
    "fence acq_rel system 607.9\n"
    "fence seq_cst system 604.2\n"
    "atomic acq_rel block 6.7\n"
    "atomic acq_rel device 201.4\n"
    "atomic acq_rel system 593.2\n"
    "proxy any 248.9\n"
    "proxy global 23.9\n"
    "proxy shared 15.3\n";

/// Nanoseconds that an order adds to its instruction.
class order_costs {
 public:
  /// Reads a table: lines of "fence ORDER SCOPE NS", "atomic ORDER SCOPE NS", "proxy any NS", "proxy global NS", "proxy shared NS" and
  /// "device NAME", with comments after '#'. A proxy fence that is not in it costs as much as a fence of device scope. Throws
  /// `model::error` with the line. A stronger order or a wider scope never costs less than a weaker one: measured differences
  /// below that are noise.
  [[nodiscard]] static order_costs read(std::string_view text) {
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

  /// Of a fence.
  [[nodiscard]] double fence(memory_order order, thread_scope scope) const { return at(fences_, order, scope); }
  /// Of the order of a load or a store, which is at most that of a fence.
  [[nodiscard]] double access(memory_order order, thread_scope scope) const {
    return order == memory_order::relaxed ? 0 : at(fences_, order, scope);
  }
  /// Of the order of a read-modify-write.
  [[nodiscard]] double atomic(memory_order order, thread_scope scope) const {
    return order == memory_order::relaxed ? 0 : at(atomics_, order, scope);
  }
  /// Of a proxy fence for these spaces, as `instruction::proxy_spaces` has them.
  [[nodiscard]] double proxy_fence(unsigned spaces) const noexcept {
    return proxy_[spaces == bit_of(proxy_space::global) ? 1 : spaces == bit_of(proxy_space::own_shared) ? 2 : 0];
  }
  [[nodiscard]] const std::string& device() const noexcept { return device_; }

 private:
  static constexpr std::array order_of_row{memory_order::acquire, memory_order::release, memory_order::acq_rel,
                                           memory_order::seq_cst};
  static constexpr std::array scope_of_column{thread_scope::block, thread_scope::cluster, thread_scope::device,
                                              thread_scope::system};
  static constexpr std::array<std::string_view, 3> proxy_names{"any", "global", "shared"};
  static constexpr std::size_t orders = order_of_row.size();
  static constexpr std::size_t scopes = scope_of_column.size();
  using table = std::array<std::array<double, scopes>, orders>;

  order_costs() {
    for (auto* t : {&fences_, &atomics_}) {
      for (auto& row : *t) {
        row.fill(-1);
      }
    }
  }

  /// The index of what `is` accepts; the size if there is none.
  template <class Values, class Is>
  [[nodiscard]] static std::size_t index_in(const Values& values, Is is) {
    return static_cast<std::size_t>(std::ranges::find_if(values, is) - values.begin());
  }
  [[nodiscard]] static double at(const table& t, memory_order order, thread_scope scope) noexcept {
    return t[index_in(order_of_row, [&](memory_order o) { return o == order; })]
            [index_in(scope_of_column, [&](thread_scope c) { return c == scope; })];
  }

  void read_line(const std::string& kind, std::istringstream& words, int number) {
    if (kind == "device") {
      std::getline(words >> std::ws, device_);
      return;
    }
    if (kind != "fence" && kind != "atomic" && kind != "proxy") {
      throw model::error(number, 1, "'" + kind + "' is no line of a table of costs: expected device, fence, atomic or proxy");
    }
    std::string order;
    std::string scope;
    std::string figure;
    std::string more;
    if (kind == "proxy") {
      words >> scope >> figure >> more;
      const std::size_t n = index_in(proxy_names, [&](std::string_view one) { return one == scope; });
      if (n == proxy_names.size()) {
        throw model::error(number, 1, "'" + scope + "' is no state space of a proxy fence: expected any, global or shared");
      }
      set(proxy_[n], "proxy " + scope, figure, more, number);
      return;
    }
    words >> order >> scope >> figure >> more;
    const std::size_t o = index_in(order_of_row, [&](memory_order one) { return name(one) == order; });
    const std::size_t s = index_in(scope_of_column, [&](thread_scope one) { return name(one) == scope; });
    if (o == orders) {
      throw model::error(number, 1, "'" + order + "' is no order: expected acquire, release, acq_rel or seq_cst");
    }
    if (s == scopes) {
      throw model::error(number, 1, "'" + scope + "' is no scope: expected block, cluster, device or system");
    }
    set((kind == "fence" ? fences_ : atomics_)[o][s], kind + " " + order + " " + scope, figure, more, number);
  }

  static void set(double& cell, const std::string& what, const std::string& figure, const std::string& more, int number) {
    char* end = nullptr;
    const double ns = std::strtod(figure.c_str(), &end);
    if (figure.empty() || *end != '\0' || !std::isfinite(ns) || ns < 0 || ns > 1e9 || !more.empty()) {
      throw model::error(number, 1,
                         "'" + figure + (more.empty() ? "" : " " + more) + "' is no cost: expected 0 to 1e9 nanoseconds");
    }
    if (cell >= 0) {
      throw model::error(number, 1, "the cost of '" + what + "' is there already");
    }
    cell = ns;
  }

  void complete() {
    for (std::size_t o = 0; o < orders; ++o) {
      for (const std::size_t s : {std::size_t{0}, std::size_t{2}, std::size_t{3}}) {
        if (fences_[o][s] < 0) {
          throw model::error(std::string("the table of costs lacks a fence of order ") + name(order_of_row[o]) + " and scope " +
                             name(scope_of_column[s]) + ": bench/check/order_costs.py writes a whole one");
        }
      }
    }
    for (std::size_t o = 0; o < orders; ++o) {
      for (std::size_t s = 0; s < scopes; ++s) {
        if (atomics_[o][s] < 0) {  // one order costs no more than both, and no more than its fence
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

  table fences_{};
  table atomics_{};
  std::array<double, 3> proxy_{-1, -1, -1};  ///< as proxy_names
  std::string device_ = "an unnamed device";
};

}  // namespace membar::check
