// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
/// @file
/// Scenario files. A scenario describes which kernels and host threads run, on which memory, and what must hold at the end.
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

/// The version of the scenario file format.
inline constexpr int scenario_format_version = 1;

/// A scenario, as written in its file.
struct scenario {
  struct memory_line {
    named_memory memory;
    std::vector<std::uint64_t> values{};
    std::string file{};                              ///< the file that contains the initial values as bytes; empty if they are
                                                     ///< in `values`
    std::uint64_t address = 0;                       ///< its address; 0 if it follows the preceding memory
    std::map<std::size_t, std::string> addresses{};  ///< for each value that is an address: the memory and the offset in bytes
    /// A range of elements with unknown values.
    struct range {
      std::uint64_t first = 0;
      std::uint64_t count = 0;
    };
    std::vector<range> unknown{};
    bool initialised = true;
    bool constant = false;
    bool host = false;
    int device = -1;  ///< -1 if no device is named
    int line = 0;
  };
  /// A launch, or a host thread if `request.host` is set. `kernel` then contains the host thread's name.
  struct launch_line {
    std::string kernel;
    launch_request request{};              ///< does not contain the kernel and its arguments
    std::vector<std::string> arguments{};  ///< each is a number, a memory name, or several of these in braces: the words of a
                                           ///< struct
    std::string stream{};
    std::vector<std::string> after{};
    std::vector<host_statement> host{};
    int line = 0;
  };
  /// A tensor map, which describes memory and can be an argument of launches.
  struct tensor_line {
    std::string name;
    std::string of;  ///< the memory, with an offset in bytes
    tensor_map map{};
    int line = 0;
  };
  struct final_line {
    std::string text;
    int line = 0;
    int column = 1;  ///< the column in which it begins
  };

  std::string path = "scenario";     ///< the path of its file, for the positions of host-thread statements
  std::string source;                ///< relative to the scenario file's folder
  std::vector<std::string> options;  ///< the compiler options
  int source_line = 0;
  std::vector<memory_line> memory;
  std::vector<tensor_line> tensors{};
  std::vector<launch_line> launches;
  std::vector<final_line> finals;
  /// The texts of the `assume` and `accept` lines, and their meaning.
  std::vector<std::string> stated{};
  assumptions assumed{};
  int atomic_vector = 0;                                ///< the size in bytes of vectors that are accessed atomically; 0 if
                                                        ///< none are
  std::vector<std::pair<std::string, int>> accepted{};  ///< the locations whose races are accepted, and the lines that accept
                                                        ///< them
};

/// Returns the text of a file that a scenario names. The name is relative to the scenario's folder. Throws if the file does not
/// exist.
using file_reader = std::function<std::string(const std::string&)>;

/// Parses a scenario, including the files that it names with `use` and `from`. Throws `model::error` with the line number.
[[nodiscard]] scenario read_scenario(std::string_view text, const file_reader& read_file = {});

/// A scenario that is ready to be explored.
struct prepared_scenario {
  program checked;
  std::vector<std::pair<std::string, final_condition>> finals;  ///< the text and the meaning of each final condition
  std::vector<std::string> stated{};                            ///< its assumptions, which the verdict repeats

  /// Returns the property that must hold at the end of every execution.
  [[nodiscard]] check_property property() const;
};

/// Combines a scenario with the PTX of its source. Throws `model::error` if the PTX or the scenario cannot be checked.
[[nodiscard]] prepared_scenario prepare(const scenario& s, std::string_view ptx);

/// Combines a scenario with PTX, but creates no threads. Sets `launches` to the launches in order.
[[nodiscard]] prepared_scenario prepare(const scenario& s, std::string_view ptx, std::vector<planned_launch>& launches);

}  // namespace membar::check
