// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <litmus/writer.hpp>

#include <membar/model/array.hpp>
#include <membar/model/program.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <set>
#include <vector>

namespace membar::litmus_files {

namespace {

using namespace model;

[[nodiscard]] std::string thread_name(const litmus_test& test, int thread) {
  return "P" + std::to_string(at(test.threads, thread).number);
}

/// Formats the initial value of a register. An address in shared memory is written with a thread of the memory's block.
[[nodiscard]] std::string register_value_text(const litmus_test& test, std::int64_t value) {
  for (int l = 0; l < count_of(test.locations); ++l) {
    const int owner = at(test.locations, l).owner;
    if (owner >= 0 && value == address_value(l)) {
      const std::string& full = at(test.location_names, l);
      return "&" + thread_name(test, owner) + ":" + full.substr(full.find(':') + 1);
    }
  }
  return value_text(test, value);
}

[[nodiscard]] std::string initial_state_text(const litmus_test& test) {
  std::string out = "{\n";
  std::set<std::string> shared;
  for (int i = 0; i < count_of(test.locations); ++i) {
    const location& l = at(test.locations, i);
    if (l.owner >= 0) {
      const std::string& full = at(test.location_names, i);
      const std::string name = full.substr(full.find(':') + 1);
      if (shared.insert(name).second) {
        out += "  " + name + " @ shared = " + value_text(test, l.initial) + ";\n";
      }
      continue;
    }
    if (l.multimem >= 0) {
      const std::string& full = at(test.location_names, i);  // the name is of the form "m.x"
      const std::string object = at(test.location_names, l.physical);
      out += l.multimem == i ? "  " + full.substr(0, full.find('.')) + " @ multimem aliases " + object : ", " + object;
      const bool last = i + 1 == count_of(test.locations) || at(test.locations, i + 1).multimem != l.multimem;
      out += last ? ";\n" : "";
      continue;
    }
    out += "  " + at(test.location_names, i);
    if (l.arrivals != 0) {
      out += " @ mbarrier " + std::to_string(l.arrivals);
    } else if (l.physical == i) {
      out += " = " + value_text(test, l.initial);
    } else if (l.address == i) {
      out += " @ generic aliases " + at(test.location_names, l.physical);
    } else {
      // the declared proxy has no effect, because each instruction specifies its own proxy
      out += " @ surface aliases " + at(test.location_names, l.address);
    }
    out += ";\n";
  }
  for (int t = 0; t < count_of(test.threads); ++t) {
    const litmus_test::thread& thread = at(test.threads, t);
    for (std::size_t r = 0; r < thread.registers.size(); ++r) {
      out += "  " + thread_name(test, t) + ":" + thread.register_names[r] + " = " +
             register_value_text(test, thread.registers[r]) + ";\n";
    }
  }
  if (test.version != 0) {
    out += "  .version " + std::to_string(test.version / 10) + "." + std::to_string(test.version % 10) + ";\n";
  }
  for (const api_edge& edge : test.api) {
    out += "  " + thread_name(test, edge.before) + " precedes " + thread_name(test, edge.after) + ";\n";
  }
  for (const api_edge& launch : test.launches) {
    out += "  " + thread_name(test, launch.before) + " launches " + thread_name(test, launch.after) + ";\n";
  }
  return out + "}\n";
}

/// Returns a thread's column: its place, then its labels and instructions.
[[nodiscard]] std::vector<std::string> column_of(const litmus_test& test, int index) {
  const litmus_test::thread& thread = at(test.threads, index);
  std::vector<std::string> column = {thread_name(test, index) + "@" + place_text(thread.where)};
  for (std::size_t i = 0; i <= thread.code.size(); ++i) {
    for (const auto& [label, target] : thread.labels) {
      if (target == static_cast<int>(i)) {
        column.push_back(label + ":");
      }
    }
    if (i < thread.code.size() && thread.code[i].element == 0) {
      column.push_back(thread.text[i]);
    }
  }
  return column;
}

[[nodiscard]] std::string rows_text(const litmus_test& test) {
  std::vector<std::vector<std::string>> columns;
  std::vector<std::size_t> widths;
  std::size_t rows = 0;
  for (int t = 0; t < count_of(test.threads); ++t) {
    columns.push_back(column_of(test, t));
    rows = std::max(rows, columns.back().size());
    widths.push_back(0);
    for (const std::string& cell : columns.back()) {
      widths.back() = std::max(widths.back(), cell.size());
    }
  }
  std::string out;
  for (std::size_t row = 0; row < rows; ++row) {
    for (std::size_t t = 0; t < columns.size(); ++t) {
      std::string cell = row < columns[t].size() ? columns[t][row] : "";
      cell.resize(widths[t], ' ');
      out += (t == 0 ? " " : " | ") + cell;
    }
    out += " ;\n";
  }
  return out;
}

}  // namespace

std::string place_text(const place& where) {
  if (where.host) {
    return "host";
  }
  return "cta " + std::to_string(where.block) + (where.cluster >= 0 ? ",cluster " + std::to_string(where.cluster) : "") +
         (where.domain != 0 ? ",domain " + std::to_string(where.domain) : "") + ",gpu " + std::to_string(where.gpu) +
         (where.warp != 0 ? ",warp " + std::to_string(where.warp) : "");
}

std::string write_litmus(const litmus_test& test) {
  std::string out = "PTX " + test.name + "\n" + initial_state_text(test) + rows_text(test);
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

}  // namespace membar::litmus_files
