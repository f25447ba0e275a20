// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
/// @file
/// Random litmus tests as text, for checking properties that must hold for every program.
#pragma once

#include <algorithm>
#include <cstdint>
#include <initializer_list>
#include <numeric>
#include <random>
#include <string>
#include <vector>

namespace membar_test {

/// The size and the variety of random tests.
struct random_shape {
  int threads = 2;
  int instructions = 3;  ///< the maximum per thread
  int locations = 2;
  bool atomics = true;
  bool fences = true;
  bool barriers = false;
  bool proxies = false;
  bool control = true;
  bool places = true;
  /// Adds vectors, mbarriers, API edges, waiting loops, second branches, and registers as the expected value of a cas.
  bool wide = false;
  bool dense = false;          ///< Half of the instructions are barriers, proxy fences or wide accesses, if the shape has any.
  bool strong = false;         ///< Every access is strong, at device scope or wider.
  bool only_accesses = false;  ///< There are exactly `instructions` instructions, and each accesses memory.
  bool sizes = false;          ///< Accesses are 4 or 8 bytes wide, and most of them are atomic.
  bool kernels = false;        ///< Adds API edges, and loads through the read-only path.
};

/// A test as rows of instructions, so that threads can be permuted and locations renamed before it is written.
struct random_program {
  std::vector<std::string> places;
  std::vector<std::vector<std::string>> code;
  int locations = 0;
  bool aliases = false;
  bool wide = false;
  std::string edges;       ///< The edges of the CUDA API.
  std::vector<int> loads;  ///< For each thread, the number of registers that it loads.

  /// The threads in the order in which they were drawn.
  [[nodiscard]] std::vector<int> own_order() const {
    std::vector<int> order(code.size());
    std::iota(order.begin(), order.end(), 0);
    return order;
  }

  /// Returns the text, with thread `order[i]` in column `i` (named by its original number) and location `k` called `names[k]`.
  [[nodiscard]] std::string text(const std::vector<int>& order, const std::vector<std::string>& names,
                                 const std::string& condition) const {
    std::string out = "PTX random\n{ ";
    for (int k = 0; k < locations; ++k) {
      out += "<" + std::to_string(k) + ">=0; ";
    }
    out += aliases ? "<0>s @ surface aliases <0>; <0>a @ generic aliases <0>; " : "";
    out += (wide ? "<0>[1]=0; b @ mbarrier 2; c @ mbarrier 1; " : "") + edges + "}\n";
    std::size_t rows = 0;
    for (std::size_t i = 0; i < order.size(); ++i) {
      const auto t = static_cast<std::size_t>(order[i]);
      out += (i == 0 ? "P" : "| P") + std::to_string(t) + "@" + places[t] + " ";
      rows = std::max(rows, code[t].size());
    }
    out += ";\n";
    for (std::size_t row = 0; row < rows; ++row) {
      for (std::size_t i = 0; i < order.size(); ++i) {
        const auto& column = code[static_cast<std::size_t>(order[i])];
        out += (i == 0 ? " " : "| ") + (row < column.size() ? column[row] : "") + " ";
      }
      out += ";\n";
    }
    out += condition + "\n";
    for (std::size_t k = 0; k < names.size(); ++k) {
      const std::string location = "<" + std::to_string(k) + ">";
      for (std::size_t at = out.find(location); at != std::string::npos; at = out.find(location, at)) {
        out.replace(at, location.size(), names[k]);
      }
    }
    return out;
  }

  /// Returns a condition that names every register and location, so that outcomes distinguish all final states.
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
    return out + (wide ? " /\\ <0>[1] == 0)" : ")");
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
    p.wide = shape_.wide;
    if (shape_.wide && shape_.threads > 1 && below(6) == 0) {
      p.edges = "P0 precedes P1; ";
    }
    if (shape_.kernels) {
      p.edges = one_of(
          {"P0 precedes P1; ", "P0 precedes P1; P1 precedes P2; ", "P0 precedes P2; ", "P0 precedes P2; P1 precedes P2; "});
    }
    for (int t = 0; t < shape_.threads; ++t) {
      p.places.push_back(place());
      p.code.emplace_back();
      p.loads.push_back(0);
      const int count = shape_.only_accesses ? shape_.instructions : 1 + below(shape_.instructions);
      int labels = 0;
      bool loop = false;
      const int wide_of = shape_.dense ? 2 : 6;
      for (int i = 0; i < count; ++i) {
        if (shape_.control && !shape_.only_accesses && p.loads.back() > 0 && labels < (shape_.wide ? 2 : 1) && below(8) == 0) {
          p.code.back().push_back("beq r" + std::to_string(below(p.loads.back())) + ", 0, DONE");
          ++labels;
        } else if (shape_.wide && below(wide_of) == 0 && p.loads.back() < 5) {
          append_wide(p.code.back(), p.loads.back(), loop);
        } else {
          p.code.back().push_back(instruction(p.loads.back()));
        }
      }
      if (labels != 0) {
        p.code.back().push_back("DONE:");
      }
    }
    return p;
  }

  [[nodiscard]] int below(int limit) { return static_cast<int>(engine_() % static_cast<std::uint64_t>(limit)); }

 private:
  /// Returns one of the arguments, each with equal probability.
  [[nodiscard]] std::string one_of(std::initializer_list<const char*> choices) {
    return choices.begin()[below(static_cast<int>(choices.size()))];
  }

  [[nodiscard]] std::string place() {
    if (!shape_.places) {
      return "cta " + std::to_string(next_block_++) + ",gpu 0";
    }
    const int kind = below(8);
    const char* const rare[] = {shape_.barriers || shape_.wide ? "cta 1,gpu 0" : "host", "cta 2,gpu 0,domain 1", "cta 0,gpu 1",
                                "cta 3,gpu 0,cluster 7", "cta 4,gpu 0,cluster 7"};
    return kind < 5 ? rare[kind] : "cta " + std::to_string(below(2)) + ",gpu 0";
  }

  [[nodiscard]] std::string proxy_fence() { return one_of({"fence.proxy.alias", "fence.proxy.surface"}); }

  [[nodiscard]] std::string mbarrier() { return one_of({" b", " b", " b", " c"}); }

  [[nodiscard]] std::string barrier() {
    return one_of({"bar.cta.sync 0", "bar.cta.sync 0", "bar.cta.arrive 0", "bar.cta.sync 1, 1, 2", "bar.cta.arrive 1, 1, 2",
                   "barrier.cluster.arrive", "barrier.cluster.wait", "bar.warp.sync 3"});
  }

  [[nodiscard]] std::string scope() {
    return shape_.strong ? one_of({".gpu", ".gpu", ".sys"}) : one_of({".cta", ".cluster", ".gpu", ".gpu", ".sys", ".sys"});
  }

  [[nodiscard]] std::string where() {
    const int k = below(shape_.locations);
    return shape_.proxies && k == 0 && below(4) == 0 ? "<0>a" : "<" + std::to_string(k) + ">";
  }

  void append_wide(std::vector<std::string>& code, int& loads, bool& loop) {
    const std::string reg = "r" + std::to_string(loads);
    const std::string how = one_of({".weak", ".relaxed.gpu", ".relaxed.sys"});
    switch (below(loop ? 5 : 6)) {
      case 0:
        code.push_back("ld" + (below(3) == 0 ? ".acquire.gpu" : how) + ".v2 {" + reg + ", r" + std::to_string(loads + 1) +
                       "}, <0>");
        loads += 2;
        return;
      case 1:
        code.push_back("st" + (below(3) == 0 ? ".release.gpu" : how) + ".v2 <0>, {" + value(loads) + ", " + value(loads) + "}");
        return;
      case 2:
        code.push_back("mbarrier.arrive" + one_of({".release", ".release", ".relaxed"}) + one_of({".cta", ".gpu"}) +
                       mbarrier());
        return;
      case 3:
        code.push_back("mbarrier.try_wait" + one_of({".acquire", ".acquire", ".relaxed"}) + one_of({".cta", ".gpu"}) +
                       mbarrier() + ", " + one_of({"0", "0", "1"}));
        return;
      case 4:
        code.push_back("mbarrier.test_wait.acquire" + one_of({".cta", ".gpu"}) + " " + reg + "," + mbarrier() + ", 0");
        ++loads;
        return;
      default:
        code.push_back("AGAIN:");
        code.push_back("ld" + one_of({".relaxed", ".acquire"}) + scope() + " " + reg + ", " + where());
        code.push_back("beq " + reg + ", 0, AGAIN");
        ++loads;
        loop = true;
    }
  }

  [[nodiscard]] std::string value(int loads) {
    return shape_.control && loads > 0 && below(4) == 0 ? "r" + std::to_string(below(loads)) : std::to_string(1 + below(2));
  }

  [[nodiscard]] std::string instruction(int& loads) {
    if (shape_.dense && (shape_.barriers || shape_.proxies) && below(2) == 0) {
      return shape_.barriers ? barrier() : proxy_fence();
    }
    const int kind = below(shape_.only_accesses ? 8 : 12);
    if (kind >= 8 && kind < 10 && shape_.fences) {
      const std::string s = scope();
      return "fence." + one_of({"sc", "sc", "acq_rel", "acquire", "release"}) + s;
    }
    if (kind == 10 && shape_.barriers) {
      return barrier();
    }
    if (kind == 11 && shape_.proxies) {
      return proxy_fence();
    }
    if (kind >= (shape_.sizes ? 2 : 6) && shape_.atomics && loads < 6) {
      return update(loads);
    }
    const bool surface = shape_.proxies && below(4) == 0;
    const bool load = kind % 2 == 0 && loads < 6;
    const std::string order = one_of({shape_.strong ? ".relaxed" : ".weak", ".relaxed", load ? ".acquire" : ".release"});
    const std::string what = load ? "r" + std::to_string(loads++) : value(loads);
    const std::string at = surface ? "<0>s" : where();
    if (load && shape_.kernels && below(2) == 0) {
      return "ld.nc " + what + ", " + at;
    }
    const std::string how = (surface ? ".weak" : order == ".weak" ? order : order + scope()) + size();
    return load ? (surface ? "suld" : "ld") + how + " " + what + ", " + at
                : (surface ? "sust" : "st") + how + " " + at + ", " + what;
  }

  [[nodiscard]] std::string size() { return shape_.sizes ? one_of({".b32", ".b64"}) : ""; }

  [[nodiscard]] std::string update(int& loads) {
    const std::string order = one_of({".relaxed", ".acquire", ".release", ".acq_rel"});
    const std::string how = order + scope();
    const int kind = below(4);
    if (kind == 3) {
      return "red" + how + ".add" + (shape_.sizes ? one_of({".u32", ".u64"}) : "") + " " + where() + ", 1";
    }
    const std::string desired = kind == 2 ? value(loads) : "";
    const std::string compared =
        shape_.wide && kind == 2 && loads > 0 && below(2) == 0 ? "r" + std::to_string(below(loads)) : "0";
    const std::string reg = "r" + std::to_string(loads++);
    const std::string at = " " + reg + ", " + where();
    return "atom" + how +
           (kind == 0   ? ".add" + (shape_.sizes ? one_of({".u32", ".u64"}) : "") + at + ", 1"
            : kind == 1 ? ".exch" + size() + at + ", 2"
                        : ".cas" + size() + at + ", " + compared + ", " + desired);
  }

  std::mt19937_64 engine_;
  random_shape shape_;
  int next_block_ = 0;
};

}  // namespace membar_test
