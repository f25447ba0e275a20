// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
/// @file
/// A litmus test with its names, and its text.
#pragma once

#include <membar/model/decide.hpp>
#include <membar/model/error.hpp>
#include <membar/model/program.hpp>

#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

namespace membar::model {

/// A register or a location that a test names, as a column of its table of outcomes.
struct observable {
  std::string name;  ///< "P0:r0" or "x"
  term what{};
};

/// A litmus test with its names, as read from a file.
class litmus_test {
 public:
  struct thread {
    int number = 0;  ///< the n of Pn
    place where{};
    std::vector<instruction> code;
    std::vector<std::string> text;  ///< per instruction: as it was written
    std::vector<std::string> register_names;
    std::vector<std::int64_t> registers;
    std::vector<std::pair<std::string, int>> labels;  ///< name, and the instruction it stands before
  };

  std::string name;
  std::vector<std::string> location_names;
  std::vector<location> locations;
  std::vector<thread> threads;
  std::vector<api_edge> api;
  std::vector<condition_node> condition;
  std::vector<condition_node> filter;
  quantifier quantified = quantifier::exists;
  bool has_condition = false;
  std::string condition_text;        ///< as it was written, without the quantifier
  std::string filter_text;           ///< as it was written
  std::vector<observable> observed;  ///< what the condition names, in its order; without one, what `locations` names

  /// A view to decide, valid as long as the test lives and is not changed.
  [[nodiscard]] test_view view() const {
    views_.clear();
    for (const thread& t : threads) {
      views_.push_back({t.where, t.code, t.registers});
    }
    return {{locations, views_, api}, condition, quantified, filter};
  }

 private:
  mutable std::vector<thread_view> views_;
};

/// The text of a test: reading it again gives the same test.
[[nodiscard]] inline std::string write_litmus(const litmus_test& test) {
  const auto value = [&](std::int64_t number) {
    for (std::size_t i = 0; i < test.locations.size(); ++i) {
      if (number == address_value(static_cast<int>(i))) {
        return "&" + test.location_names[i];
      }
    }
    return std::to_string(number);
  };
  std::string out = "PTX " + test.name + "\n{\n";
  for (std::size_t i = 0; i < test.locations.size(); ++i) {
    const location& l = test.locations[i];
    const std::string& name = test.location_names[i];
    if (l.arrivals != 0) {
      out += "  " + name + " @ mbarrier " + std::to_string(l.arrivals) + ";\n";
    } else if (l.physical == static_cast<int>(i)) {
      out += "  " + name + " = " + value(l.initial) + ";\n";
    } else if (l.address == static_cast<int>(i)) {
      out += "  " + name + " @ generic aliases " + test.location_names[static_cast<std::size_t>(l.physical)] + ";\n";
    } else {
      // which proxy the view was declared for has no meaning: instructions say which proxy they go through
      out += "  " + name + " @ surface aliases " + test.location_names[static_cast<std::size_t>(l.address)] + ";\n";
    }
  }
  const auto thread_name = [&](std::size_t t) { return "P" + std::to_string(test.threads[t].number); };
  for (std::size_t t = 0; t < test.threads.size(); ++t) {
    for (std::size_t r = 0; r < test.threads[t].registers.size(); ++r) {
      out +=
          "  " + thread_name(t) + ":" + test.threads[t].register_names[r] + " = " + value(test.threads[t].registers[r]) + ";\n";
    }
  }
  for (const api_edge& edge : test.api) {
    out += "  " + thread_name(static_cast<std::size_t>(edge.before)) + " precedes " +
           thread_name(static_cast<std::size_t>(edge.after)) + ";\n";
  }
  out += "}\n";
  std::vector<std::vector<std::string>> columns;
  std::size_t rows = 0;
  for (std::size_t t = 0; t < test.threads.size(); ++t) {
    const litmus_test::thread& thread = test.threads[t];
    const place& where = thread.where;
    std::string head = thread_name(t) + "@";
    if (where.host) {
      head += "host";
    } else {
      head += "cta " + std::to_string(where.block) + (where.cluster >= 0 ? ",cluster " + std::to_string(where.cluster) : "") +
              (where.domain != 0 ? ",domain " + std::to_string(where.domain) : "") + ",gpu " + std::to_string(where.gpu) +
              (where.warp != 0 ? ",warp " + std::to_string(where.warp) : "");
    }
    std::vector<std::string> column = {head};
    for (std::size_t i = 0; i <= thread.code.size(); ++i) {
      for (const auto& [label, at] : thread.labels) {
        if (at == static_cast<int>(i)) {
          column.push_back(label + ":");
        }
      }
      if (i < thread.code.size() && thread.code[i].element == 0) {
        column.push_back(thread.text[i]);
      }
    }
    rows = column.size() > rows ? column.size() : rows;
    columns.push_back(std::move(column));
  }
  for (std::size_t row = 0; row < rows; ++row) {
    for (std::size_t t = 0; t < columns.size(); ++t) {
      std::size_t width = 0;
      for (const std::string& cell : columns[t]) {
        width = cell.size() > width ? cell.size() : width;
      }
      std::string cell = row < columns[t].size() ? columns[t][row] : "";
      cell.resize(width, ' ');
      out += (t == 0 ? " " : " | ") + cell;
    }
    out += " ;\n";
  }
  if (!test.filter.empty()) {
    out += "filter " + test.filter_text + "\n";
  }
  if (test.has_condition) {
    out += (test.quantified == quantifier::exists   ? "exists "
            : test.quantified == quantifier::forall ? "forall "
                                                    : "~exists ") +
           test.condition_text + "\n";
  } else if (!test.observed.empty()) {
    out += "locations [";
    for (const observable& o : test.observed) {
      out += o.name + "; ";
    }
    out += "]\n";
  }
  return out;
}

/// Decides a test read from a file. Throws `error` if it has no condition, exceeds a limit or has no defined behaviour, or if
/// the search takes more than `limit` steps (0: any number).
[[nodiscard]] inline decision decide(const litmus_test& test, std::uint64_t limit = 0) {
  if (!test.has_condition) {
    throw error("the test has no condition: expected exists, ~exists or forall");
  }
  return decide(test.view(), every_rule{}, limit);
}

}  // namespace membar::model
