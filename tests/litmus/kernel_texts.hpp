// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
/// @file
/// What the tests of compiled litmus files share: the kernel's headers, NVRTC, and the catalogue.
#pragma once

#include "litmus_files.hpp"

#include <membar-litmus/compile.hpp>
#include <membar-litmus/run_plan.hpp>
#include <membar/model/litmus_file.hpp>

#include <gtest/gtest.h>

#include <array>
#include <cstddef>
#include <exception>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>

namespace membar::tests {

inline const std::filesystem::path catalogue = MEMBAR_LITMUS_CATALOGUE;

/// The headers that the engine's kernel is made of, from the source tree.
[[nodiscard]] inline std::span<const litmus::header_text> kernel_headers() {
  static constexpr std::array names = {"membar/detail/config.hpp", "membar/device_clock.cuh",
                                       "membar/litmus/instance_layout.hpp", "membar/litmus/launch_view.hpp",
                                       "membar/litmus/kernel.cuh"};
  static const auto texts = [] {
    std::array<std::string, names.size()> all;
    for (std::size_t i = 0; i < names.size(); ++i) {
      all[i] = read_text(std::filesystem::path(MEMBAR_INCLUDE) / names[i]);
    }
    return all;
  }();
  static const auto headers = [] {
    std::array<litmus::header_text, names.size()> all;
    for (std::size_t i = 0; i < names.size(); ++i) {
      all[i] = {names[i], texts[i].c_str()};
    }
    return all;
  }();
  return headers;
}

/// NVRTC, or why there is none.
struct nvrtc_here {
  std::unique_ptr<litmus::nvrtc> library;
  std::string missing;
};
[[nodiscard]] inline const nvrtc_here& nvrtc() {
  static const nvrtc_here here = [] {
    nvrtc_here found;
    try {
      found.library = std::make_unique<litmus::nvrtc>(std::vector<std::string>{MEMBAR_TOOLKIT_LIBRARIES});
    } catch (const std::exception& e) {
      found.missing = e.what();
    }
    return found;
  }();
  return here;
}

/// Base of tests that compile at run time. Where there is no NVRTC they skip and say so.
class compiled_test : public ::testing::Test {
 protected:
  void SetUp() override {
    if (nvrtc().library == nullptr) {
      GTEST_SKIP() << nvrtc().missing;
    }
  }

  [[nodiscard]] static std::string compiled(const std::string& source, int compute_capability, bool to_ptx) {
    return nvrtc().library->compile({source, kernel_headers(), litmus::options_for(compute_capability, to_ptx), to_ptx});
  }
};

/// The plan of a test, or why it does not run.
struct plan_or_reason {
  std::unique_ptr<litmus::run_plan> plan;
  std::string reason;
};
[[nodiscard]] inline plan_or_reason plan_of(const std::string& text) {
  plan_or_reason made;
  try {
    made.plan = std::make_unique<litmus::run_plan>(model::read_litmus(text));
  } catch (const std::exception& e) {
    made.reason = e.what();
  }
  return made;
}

}  // namespace membar::tests
