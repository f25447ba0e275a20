// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
/// @file
/// How a litmus test is stressed: the parameters, a reproducible draw of them, and their text.
#pragma once

#include <membar/litmus/instance_layout.hpp>
#include <membar/litmus/launch_view.hpp>

#include <cstdint>
#include <string>
#include <string_view>

namespace membar::litmus {

/// How instances are laid out and what runs beside them. Any value keeps a run sound; what they change is how often an outcome
/// is seen, and how fast the test runs.
struct parameters {
  int width = 256;  ///< threads per block: 32 to 1024, a power of two
  int batch = 1;    ///< instances that a GPU thread runs of a test thread between two barriers
  int share = 100;  ///< percent of the blocks that fit which test; the others make stress, if `stress` says so
  spread within = spread::block;
  run_order order = run_order::by_warp;
  int delay = 0;          ///< clocks at most that a warp waits before a test thread
  bool align = false;     ///< blocks meet once more right before they test
  int stride = 16;        ///< bytes from an instance's cell to the next one's
  bool together = false;  ///< an instance's cells are neighbours
  int pre_stress = 0;     ///< turns of stress by the testing threads before a step
  stress_pattern pre_pattern = stress_pattern::store_load;
  bool stress = false;  ///< blocks beyond `share` stress scratch memory
  stress_pattern pattern = stress_pattern::store_load;
  int stress_lines = 64;  ///< lines of scratch memory
  int stress_line_bytes = 128;
  int home = 0;  ///< which launch's device has the cells, where a run has several devices

  friend bool operator==(const parameters&, const parameters&) = default;
};

/// The parameters that number `index` of the sequence of `seed` stands for: every value of every parameter comes up.
[[nodiscard]] parameters draw_parameters(std::uint64_t seed, std::uint64_t index);

/// "width=256 batch=1 share=100 ...": one line, which `parse_parameters` reads.
[[nodiscard]] std::string text_of(const parameters& p);

/// Reads what `text_of` writes; what it does not name keeps its value in `base`. Throws `std::invalid_argument` with a sentence
/// that names the word, the limit and what is possible.
[[nodiscard]] parameters parse_parameters(std::string_view text, parameters base = {});

/// Throws `std::invalid_argument` with a sentence if a value is out of its range.
void validate(const parameters& p);

}  // namespace membar::litmus
