// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
/// @file
/// Scenario files, which describe which kernels and host threads run, on which memory, and what must hold at the end.
///
/// ```
/// scenario 1                              # the version of the format; this line may be left out
/// source lock.cu -I../include             # or .ptx; a .cu is compiled with the options that follow
/// memory state u32[2]                     # zero unless "= 1, 2"
/// memory count u32
/// tensor_map tiles of data type f16 dims 64 32 strides 128 box 64 8 swizzle 128
/// launch worker grid 3 block 1 args state count 2
/// host reader { wait count == 6 acquire }
/// final count == 6
/// ```
/// docs/membar_check.md has the grammar.
#pragma once

#include <check/final_condition.hpp>
#include <check/host_thread.hpp>
#include <check/launch.hpp>
#include <check/named_memory.hpp>
#include <check/program.hpp>
#include <ptx/tensor_map.hpp>

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace membar::check {

/// The version of the format of scenario files.
inline constexpr int scenario_format_version = 1;

/// A scenario as written in its file.
struct scenario {
  struct memory_line {
    named_memory memory;
    std::vector<std::uint64_t> values{};
    std::string file{};                              ///< the file with the initial values as bytes; empty: `values` has them
    std::uint64_t address = 0;                       ///< its address; 0: after the preceding memory
    std::map<std::size_t, std::string> addresses{};  ///< for values that are addresses: the memory and the offset in bytes
    /// Elements with unknown values, starting at one index.
    struct range {
      std::uint64_t first = 0;
      std::uint64_t count = 0;
    };
    std::vector<range> unknown{};
    bool initialised = true;
    bool constant = false;
    bool host = false;
    int device = -1;  ///< -1: none is named
    int line = 0;
  };
  /// A launch or, if `request.host` is set, a host thread, whose name is then in `kernel`.
  struct launch_line {
    std::string kernel;
    launch_request request{};              ///< without the kernel and its arguments
    std::vector<std::string> arguments{};  ///< a number, memory, or several of these in braces: the words of a struct
    std::string stream{};
    std::vector<std::string> after{};
    std::vector<host_statement> host{};
    int line = 0;
  };
  /// A tensor map of memory, which can be an argument of launches.
  struct tensor_line {
    std::string name;
    std::string of;  ///< the memory and the offset in bytes
    tensor_map map{};
    int line = 0;
  };
  struct final_line {
    std::string text;
    int line = 0;
    int column = 1;  ///< the column where it begins
  };

  std::string path = "scenario";     ///< the path of its file, for the positions of host-thread statements
  std::string source;                ///< relative to the scenario's folder
  std::vector<std::string> options;  ///< for the compiler
  std::vector<memory_line> memory;
  std::vector<tensor_line> tensors{};
  std::vector<launch_line> launches;
  std::vector<final_line> finals;
  /// A line `assume` or `accept`: its text and its meaning.
  std::vector<std::string> stated{};
  assumptions assumed{};
  int atomic_vector = 0;                                ///< the size in bytes of a vector that is accessed at once; 0: none is
  std::vector<std::pair<std::string, int>> accepted{};  ///< the locations whose races are accepted, and the lines
};

/// Returns the text of a file that a scenario names, relative to its folder. Throws if there is none.
using file_reader = std::function<std::string(const std::string&)>;

/// Parses a scenario, including the files that it names with `use` and `from`. Throws `model::error` with the line.
[[nodiscard]] scenario read_scenario(std::string_view text, const file_reader& read_file = {});

/// A scenario that is ready to be explored.
struct prepared_scenario {
  program checked;
  std::vector<std::pair<std::string, final_condition>> finals;  ///< each as written
  std::vector<std::string> stated{};                            ///< its assumptions, which a verdict repeats

  /// Returns the property that must hold at the end of every execution.
  [[nodiscard]] check_property property() const;
};

/// Combines a scenario and the PTX of its source. Throws `model::error`.
[[nodiscard]] prepared_scenario prepare(const scenario& s, std::string_view ptx);

/// Does the same without threads, and sets `launches` to the launches in order.
[[nodiscard]] prepared_scenario prepare(const scenario& s, std::string_view ptx, std::vector<planned_launch>& launches);

}  // namespace membar::check
