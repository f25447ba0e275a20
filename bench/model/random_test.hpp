// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
/// @file
/// Random litmus tests as text, for the properties that must hold for every program.
#pragma once

#include <cstdint>
#include <random>
#include <string>
#include <vector>

namespace membar_test {

/// How large and how varied random tests are.
struct random_shape {
  int threads = 2;
  int instructions = 3;  ///< the most per thread
  int locations = 2;
  bool atomics = true;
  bool fences = true;
  bool barriers = false;
  bool proxies = false;
  bool control = true;
  bool places = true;
  bool only_accesses = false;  ///< every instruction accesses memory, and exactly `instructions` of them
};

/// A test as rows of instructions, so that threads can be permuted and locations renamed before it is written.
struct random_program {
  std::vector<std::string> places;
  std::vector<std::vector<std::string>> code;
  int locations = 0;
  bool aliases = false;
  std::vector<int> loads;  ///< per thread: how many registers it loads

  /// The text, with thread `order[i]` in column `i` (named by its original number) and location `k` called `names[k]`.
  [[nodiscard]] std::string text(const std::vector<int>& order, const std::vector<std::string>& names,
                                 const std::string& condition) const {
    std::string out = "PTX random\n{ ";
    for (int k = 0; k < locations; ++k) {
      out += names[static_cast<std::size_t>(k)] + "=0; ";
    }
    if (aliases) {
      out += names[0] + "s @ surface aliases " + names[0] + "; " + names[0] + "a @ generic aliases " + names[0] + "; ";
    }
    out += "}\n";
    std::size_t rows = 0;
    for (std::size_t i = 0; i < order.size(); ++i) {
      const auto t = static_cast<std::size_t>(order[i]);
      out += (i == 0 ? "P" : "| P") + std::to_string(t) + "@" + places[t] + " ";
      rows = code[t].size() > rows ? code[t].size() : rows;
    }
    out += ";\n";
    for (std::size_t row = 0; row < rows; ++row) {
      for (std::size_t i = 0; i < order.size(); ++i) {
        const auto& column = code[static_cast<std::size_t>(order[i])];
        out += (i == 0 ? " " : "| ") + (row < column.size() ? renamed(column[row], names) : std::string()) + " ";
      }
      out += ";\n";
    }
    return out + renamed(condition, names) + "\n";
  }

  /// A condition that names every register and location, so that outcomes distinguish all final states.
  [[nodiscard]] std::string everything() const {
    std::string out = "exists (true";
    for (std::size_t t = 0; t < loads.size(); ++t) {
      for (int r = 0; r < loads[t]; ++r) {
        out += " /\\ P" + std::to_string(t) + ":r" + std::to_string(r) + " == 0";
      }
    }
    for (int k = 0; k < locations; ++k) {
      out += " /\\ <" + std::to_string(k) + "> == 0";
    }
    return out + ")";
  }

  [[nodiscard]] static std::string renamed(const std::string& text, const std::vector<std::string>& names) {
    std::string out;
    for (std::size_t i = 0; i < text.size(); ++i) {
      if (text[i] == '<' && i + 2 < text.size() && text[i + 2] == '>') {
        out += names[static_cast<std::size_t>(text[i + 1] - '0')];
        i += 2;
      } else {
        out += text[i];
      }
    }
    return out;
  }
};

/// Draws tests of one shape from a seeded stream: the same seed gives the same tests on every machine.
class random_tests {
 public:
  random_tests(std::uint64_t seed, const random_shape& shape) : engine_(seed), shape_(shape) {}

  [[nodiscard]] random_program next() {
    random_program p;
    p.locations = shape_.locations;
    p.aliases = shape_.proxies;
    for (int t = 0; t < shape_.threads; ++t) {
      p.places.push_back(place());
      p.code.emplace_back();
      p.loads.push_back(0);
      const int count = shape_.only_accesses ? shape_.instructions : 1 + below(shape_.instructions);
      bool label = false;
      for (int i = 0; i < count; ++i) {
        if (shape_.control && !shape_.only_accesses && p.loads.back() > 0 && !label && below(8) == 0) {
          p.code.back().push_back("beq r" + std::to_string(below(p.loads.back())) + ", 0, DONE");
          label = true;
        } else {
          p.code.back().push_back(instruction(p.loads.back()));
        }
      }
      if (label) {
        p.code.back().push_back("DONE:");
      }
    }
    return p;
  }

  [[nodiscard]] int below(int limit) { return static_cast<int>(engine_() % static_cast<std::uint64_t>(limit)); }

 private:
  [[nodiscard]] std::string place() {
    if (!shape_.places) {
      return "cta " + std::to_string(next_block_++) + ",gpu 0";
    }
    switch (below(8)) {
      case 0:
        return shape_.barriers ? "cta 1,gpu 0" : "host";
      case 1:
        return "cta 2,gpu 0,domain 1";
      case 2:
        return "cta 0,gpu 1";
      case 3:
        return "cta 3,gpu 0,cluster 7";
      case 4:
        return "cta 4,gpu 0,cluster 7";
      default:
        return "cta " + std::to_string(below(2)) + ",gpu 0";
    }
  }

  [[nodiscard]] std::string scope() {
    static const char* const names[] = {".cta", ".cluster", ".gpu", ".gpu", ".sys", ".sys"};
    return names[below(6)];
  }

  [[nodiscard]] std::string where() {
    const int k = below(shape_.locations);
    if (shape_.proxies && k == 0 && below(4) == 0) {
      return "<0>a";
    }
    return "<" + std::to_string(k) + ">";
  }

  [[nodiscard]] std::string value(int loads) {
    return shape_.control && loads > 0 && below(4) == 0 ? "r" + std::to_string(below(loads)) : std::to_string(1 + below(2));
  }

  [[nodiscard]] std::string instruction(int& loads) {
    const int kind = below(shape_.only_accesses ? 8 : 12);
    if (kind >= 8 && kind < 10 && shape_.fences) {
      static const char* const names[] = {"sc", "sc", "acq_rel", "acquire", "release"};
      return std::string("fence.") + names[below(5)] + scope();
    }
    if (kind == 10 && shape_.barriers) {
      static const char* const names[] = {"bar.cta.sync 0",       "bar.cta.sync 0",         "bar.cta.arrive 0",
                                          "bar.cta.sync 1, 1, 2", "bar.cta.arrive 1, 1, 2", "barrier.cluster.arrive",
                                          "barrier.cluster.wait", "bar.warp.sync 3"};
      return names[below(8)];
    }
    if (kind == 11 && shape_.proxies) {
      return below(2) == 0 ? "fence.proxy.alias" : "fence.proxy.surface";
    }
    if (kind >= 6 && shape_.atomics && loads < 6) {
      static const char* const orders[] = {".relaxed", ".acquire", ".release", ".acq_rel"};
      const std::string order = orders[below(4)];
      const std::string s = scope();
      switch (below(4)) {
        case 0:
          return "atom" + order + s + ".add r" + std::to_string(loads++) + ", " + where() + ", 1";
        case 1:
          return "atom" + order + s + ".exch r" + std::to_string(loads++) + ", " + where() + ", 2";
        case 2: {
          const std::string desired = value(loads);
          return "atom" + order + s + ".cas r" + std::to_string(loads++) + ", " + where() + ", 0, " + desired;
        }
        default:
          return "red" + order + s + ".add " + where() + ", 1";
      }
    }
    const bool surface = shape_.proxies && below(4) == 0;
    if (kind % 2 == 0 && loads < 6) {
      static const char* const orders[] = {".weak", ".relaxed", ".acquire"};
      const int order = below(3);
      const std::string reg = "r" + std::to_string(loads++);
      return surface ? "suld.weak " + reg + ", <0>s"
                     : std::string("ld") + orders[order] + (order == 0 ? "" : scope()) + " " + reg + ", " + where();
    }
    static const char* const orders[] = {".weak", ".relaxed", ".release"};
    const int order = below(3);
    const std::string v = value(loads);
    return surface ? "sust.weak <0>s, " + v
                   : std::string("st") + orders[order] + (order == 0 ? "" : scope()) + " " + where() + ", " + v;
  }

  std::mt19937_64 engine_;
  random_shape shape_;
  int next_block_ = 0;
};

}  // namespace membar_test
