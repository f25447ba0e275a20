// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
/// @file
/// The parameters of a litmus run, which determine how a test is laid out and stressed. Parameters can be drawn reproducibly,
/// written as text and parsed.
#pragma once

#include <membar/error.hpp>
#include <membar/litmus/instance_layout.hpp>
#include <membar/litmus/launch_view.hpp>

#include <algorithm>
#include <charconv>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <system_error>
#include <type_traits>
#include <utility>

namespace membar {
inline namespace v0_3 {
namespace litmus {

/// The layout of the instances, and the load that runs concurrently with them. A run is sound with any values: the parameters
/// affect only how often an outcome is observed and how fast the test runs.
struct parameters {
  int width = 256;  ///< threads per block
  int batch = 2;    ///< instances that a GPU thread runs per test thread between two barriers
  int share = 100;  ///< percentage of the resident blocks that run tests
  spread within = spread::block;
  run_order order = run_order::by_warp;
  tally_time tally = tally_time::mixed;
  int delay = 0;          ///< the maximum number of clock cycles that a warp waits before it runs a test thread
  bool align = false;     ///< whether the blocks execute another barrier right before they run tests
  int stride = 16;        ///< bytes from one instance's cell to the next instance's cell
  bool together = false;  ///< whether an instance's cells are adjacent
  int pre_stress = 0;     ///< iterations of stress that testing threads execute before each step
  stress_pattern pre_pattern = stress_pattern::store_load;
  int stress = 0;  ///< percentage of the resident blocks that only generate stress
  stress_pattern pattern = stress_pattern::store_load;
  int stress_lines = 64;        ///< the number of lines of scratch memory that stress accesses
  int stress_line_bytes = 128;  ///< the distance from one line to the next
  int home = 0;                 ///< the launch whose device holds the cells

  friend bool operator==(const parameters&, const parameters&) = default;
};

namespace detail {

/// One parameter: its name in text form, its range, and the values that a search tries.
struct parameter_row {
  const char* name;
  int least;
  int most;
  int multiple;                        ///< values must be multiples of this number
  std::span<const int> tried;          ///< the values that a search tries, in ascending order
  std::span<const char* const> words;  ///< the names of the values 0, 1, ..., if they have names
  int (*get)(const parameters&);
  void (*set)(parameters&, int);
};

inline constexpr int tried_widths[] = {32, 64, 128, 256, 512, 1024};
inline constexpr int tried_batches[] = {1, 2, 4};
inline constexpr int tried_shares[] = {10, 25, 50, 75, 100};
inline constexpr int tried_switch[] = {0, 1};
inline constexpr int tried_three[] = {0, 1, 2};
inline constexpr int tried_patterns[] = {0, 1, 2, 3};
inline constexpr int tried_delays[] = {0, 32, 128, 512, 2048, 16384};
inline constexpr int tried_strides[] = {16, 32, 64, 128, 256};
inline constexpr int tried_pre_stress[] = {0, 1, 4, 16, 64};
inline constexpr int tried_stress[] = {0, 10, 25, 50};
inline constexpr int tried_lines[] = {1, 2, 4, 16, 64, 256, 1024};
inline constexpr int tried_line_bytes[] = {32, 64, 128, 256, 1024};
inline constexpr int tried_home[] = {0};

inline constexpr const char* words_within[] = {"lanes", "warps", "block"};
inline constexpr const char* words_order[] = {"fixed", "warp", "lane"};
inline constexpr const char* words_tally[] = {"after", "before", "mixed"};
inline constexpr const char* words_pattern[] = {"st/st", "st/ld", "ld/st", "ld/ld"};

template <auto Member>
[[nodiscard]] constexpr parameter_row row_of(const char* name, int least, int most, int multiple, std::span<const int> tried,
                                             std::span<const char* const> words = {}) noexcept {
  using value = std::remove_cvref_t<decltype(std::declval<parameters>().*Member)>;
  return {name,
          least,
          most,
          multiple,
          tried,
          words,
          [](const parameters& p) { return static_cast<int>(p.*Member); },
          [](parameters& p, int v) { p.*Member = static_cast<value>(v); }};
}

inline constexpr parameter_row parameter_table[] = {
    row_of<&parameters::width>("width", 32, 1024, 32, tried_widths),
    row_of<&parameters::batch>("batch", 1, 1024, 1, tried_batches),
    row_of<&parameters::share>("share", 1, 100, 1, tried_shares),
    row_of<&parameters::within>("within", 0, 2, 1, tried_three, words_within),
    row_of<&parameters::order>("order", 0, 2, 1, tried_three, words_order),
    row_of<&parameters::tally>("tally", 0, 2, 1, tried_three, words_tally),
    row_of<&parameters::delay>("delay", 0, 1'000'000, 1, tried_delays),
    row_of<&parameters::align>("align", 0, 1, 1, tried_switch),
    row_of<&parameters::stride>("stride", 16, 4096, 16, tried_strides),
    row_of<&parameters::together>("together", 0, 1, 1, tried_switch),
    row_of<&parameters::pre_stress>("prestress", 0, 10'000, 1, tried_pre_stress),
    row_of<&parameters::pre_pattern>("prepattern", 0, 3, 1, tried_patterns, words_pattern),
    row_of<&parameters::stress>("stress", 0, 99, 1, tried_stress),
    row_of<&parameters::pattern>("pattern", 0, 3, 1, tried_patterns, words_pattern),
    row_of<&parameters::stress_lines>("lines", 1, 65'536, 1, tried_lines),
    row_of<&parameters::stress_line_bytes>("line", 4, 4096, 4, tried_line_bytes),
    row_of<&parameters::home>("home", 0, max_participants - 1, 1, tried_home),
};

/// Returns the valid values of a parameter, in words.
[[nodiscard]] inline std::string range_of(const parameter_row& row) {
  if (row.words.empty()) {
    return (row.multiple == 1 ? "a number" : "a multiple of " + std::to_string(row.multiple)) + " from " +
           std::to_string(row.least) + " to " + std::to_string(row.most);
  }
  std::string all;
  for (const char* word : row.words) {
    all.append(all.empty() ? "one of " : ", ").append(word);
  }
  return all;
}

/// Limits the stress so that testing and stressing blocks add up to at most 100 percent.
inline void make_room(parameters& p) noexcept { p.stress = std::min(p.stress, 100 - p.share); }

}  // namespace detail

/// Throws `error`, with the parameter and its range, if a value is out of range.
inline void validate(const parameters& p) {
  for (const detail::parameter_row& row : detail::parameter_table) {
    const int value = row.get(p);
    if (value < row.least || value > row.most || value % row.multiple != 0) {
      throw error(cudaErrorInvalidValue, "membar: the parameter %s is %d, but must be %s", row.name, value,
                  detail::range_of(row).c_str());
    }
  }
  if ((p.width & (p.width - 1)) != 0) {
    throw error(cudaErrorInvalidValue, "membar: the parameter width is %d, but must be a power of two from 32 to 1024",
                p.width);
  }
  if (p.share + p.stress > 100) {
    throw error(
        cudaErrorInvalidValue,
        "membar: the parameters share and stress are %d and %d percent of the blocks, but their sum can be at most 100 percent",
        p.share, p.stress);
  }
}

/// Returns element `index` of the sequence of parameters that `seed` defines. `homes` is the number of launches whose device
/// can hold the cells.
[[nodiscard]] inline parameters draw_parameters(std::uint64_t seed, std::uint64_t index, int homes = 1) {
  parameters p;
  unsigned purpose = 0;
  for (const detail::parameter_row& row : detail::parameter_table) {
    const unsigned random = detail::draw(seed, static_cast<unsigned>(index), purpose++);
    row.set(p, row.tried[detail::scaled(random, static_cast<unsigned>(row.tried.size()))]);
  }
  p.home = static_cast<int>(
      detail::scaled(detail::draw(seed, static_cast<unsigned>(index), purpose), static_cast<unsigned>(std::max(homes, 1))));
  detail::make_room(p);
  return p;
}

/// Returns the parameters as one line, such as "width=256 batch=2 share=100 ...". `parse_parameters` parses it.
[[nodiscard]] inline std::string text_of(const parameters& p) {
  std::string text;
  for (const detail::parameter_row& row : detail::parameter_table) {
    const int value = row.get(p);
    text.append(text.empty() ? "" : " ").append(row.name).append("=");
    text += row.words.empty() ? std::to_string(value) : std::string(row.words[static_cast<std::size_t>(value)]);
  }
  return text;
}

/// Parses the output of `text_of`, separated by spaces or commas. A parameter that the text does not name keeps its value from
/// `base`. Throws `error` with the invalid word and its valid values.
[[nodiscard]] inline parameters parse_parameters(std::string_view text, parameters base = {}) {
  constexpr std::string_view separators = " ,\t\n";
  for (std::size_t at = text.find_first_not_of(separators); at != std::string_view::npos;
       at = text.find_first_not_of(separators, at)) {
    const std::size_t end = std::min(text.find_first_of(separators, at), text.size());
    const std::string word(text.substr(at, end - at));
    at = end;
    const std::string name = word.substr(0, word.find('='));
    const auto* const row = std::find_if(std::begin(detail::parameter_table), std::end(detail::parameter_table),
                                         [&](const detail::parameter_row& each) { return name == each.name; });
    if (row == std::end(detail::parameter_table)) {
      throw error(cudaErrorInvalidValue, "membar: there is no parameter '%s': the parameters are %s", name.c_str(),
                  text_of(parameters{}).c_str());
    }
    const std::string value = name.size() == word.size() ? "" : word.substr(name.size() + 1);
    int number = 0;
    const auto named = std::find(row->words.begin(), row->words.end(), std::string_view(value));
    const auto [rest, status] = std::from_chars(value.data(), value.data() + value.size(), number);
    if (!row->words.empty() && named != row->words.end()) {
      number = static_cast<int>(named - row->words.begin());
    } else if (!row->words.empty() || status != std::errc{} || rest != value.data() + value.size()) {
      throw error(cudaErrorInvalidValue, "membar: the parameter %s is '%s', but must be %s", row->name, value.c_str(),
                  detail::range_of(*row).c_str());
    }
    row->set(base, number);
  }
  validate(base);
  return base;
}

}  // namespace litmus
}  // namespace v0_3
}  // namespace membar
