// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <membar-check/shrink.hpp>

#include <check/launch.hpp>
#include <check/named_memory.hpp>
#include <check/program.hpp>
#include <sanitize/sanitize.hpp>

#include <algorithm>
#include <cstddef>
#include <exception>
#include <string>
#include <vector>

namespace membar_check {

namespace {

using grid = std::array<std::uint32_t, 3>;

[[nodiscard]] std::uint64_t count(const grid& of) noexcept { return std::uint64_t{of[0]} * of[1] * of[2]; }

/// Returns a word of an argument that equals the number of blocks, or that number minus 1, in total or along one dimension.
/// Returns 0 if there is none.
[[nodiscard]] std::uint64_t number_of_blocks_in(const std::string& argument, const grid& of) {
  for (std::size_t begin = 0; begin < argument.size();) {
    const std::size_t end = std::min(argument.find_first_of(" {}", begin), argument.size());
    std::uint64_t number = 0;
    const bool is_number = end != begin && check::number_of(argument.substr(begin, end - begin), number);
    for (const std::uint64_t blocks : {std::uint64_t{of[0]}, std::uint64_t{of[1]}, std::uint64_t{of[2]}, count(of)}) {
      if (is_number && blocks > 2 && (number == blocks || number == blocks - 1)) {
        return number;
      }
    }
    begin = end + 1;
  }
  return 0;
}

/// Returns the scenario with grids of at most `most` blocks along each dimension. Clusters are not split along x.
[[nodiscard]] check::scenario with_blocks(check::scenario s, std::uint32_t most) {
  for (check::scenario::launch_line& l : s.launches) {
    const auto cluster = static_cast<std::uint32_t>(std::max(l.request.cluster, 1));
    l.request.grid[0] = std::min(l.request.grid[0], (most + cluster - 1) / cluster * cluster);
    l.request.grid[1] = std::min(l.request.grid[1], most);
    l.request.grid[2] = std::min(l.request.grid[2], most);
  }
  return s;
}

[[nodiscard]] std::uint64_t threads_of(const check::scenario& s) {
  std::uint64_t threads = 0;
  for (const check::scenario::launch_line& l : s.launches) {
    threads += count(l.request.grid) * count(l.request.block);
  }
  return threads;
}

/// Returns the reason why the scenario does not work with its reduced grids, or an empty string if it works. Other grids may
/// work even if these do not.
[[nodiscard]] std::string goes_wrong(const check::scenario& s, std::string_view ptx) {
  namespace sanitize = membar::sanitize;
  std::vector<check::planned_launch> launches;
  const check::prepared_scenario prepared = check::prepare(s, ptx, launches);
  sanitize::sanitize_options how;
  how.schedules = 2;
  how.most_instructions = 20'000'000;
  for (const sanitize::sanitizer_finding& f :
       sanitize::sanitize(prepared.checked, launches, prepared.property(), how).findings) {
    switch (f.found.status) {
      case check::check_status::hang:
      case check::check_status::out_of_bounds:
      case check::check_status::gave_up:
        return f.found.message;
      default:
        break;  // this is an error in the program itself
    }
  }
  return {};
}

}  // namespace

smaller_grids smaller_grids_of(const check::scenario& s, std::string_view ptx) {
  smaller_grids result;
  for (const check::scenario::launch_line& l : s.launches) {
    for (std::size_t k = 0; k < l.arguments.size(); ++k) {
      if (const std::uint64_t number = number_of_blocks_in(l.arguments[k], l.request.grid); number != 0) {
        result.why_not = "its argument " + std::to_string(k) + " has the value " + std::to_string(number) +
                         ", which may depend on its number of blocks (" + std::to_string(count(l.request.grid)) + ")";
        return result;
      }
    }
  }
  result.why_not = "even with only 2 blocks along each dimension, it has too many threads";
  for (std::uint32_t most = 2;; most *= 2) {
    const check::scenario smaller = with_blocks(s, most);
    if (threads_of(smaller) > static_cast<std::uint64_t>(check::most_threads)) {
      return result;
    }
    std::string wrong;
    try {
      wrong = goes_wrong(smaller, ptx);
    } catch (const std::exception& e) {
      wrong = e.what();
    }
    if (wrong.empty()) {
      for (const check::scenario::launch_line& l : smaller.launches) {
        result.grids.push_back(l.request.grid);
      }
      return result;
    }
    result.why_not = "with at most " + std::to_string(most) + " blocks along each dimension, this error occurs: " + wrong;
  }
}

}  // namespace membar_check
