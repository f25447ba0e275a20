// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
/// @file
/// A fixture for tests that compile with NVRTC.
#pragma once

#include <litmus/kernel_headers.hpp>
#include <litmus/nvrtc.hpp>

#include <gtest/gtest.h>

#include <exception>
#include <memory>
#include <string>
#include <vector>

namespace membar_test {

/// The NVRTC library, or the reason why there is none.
struct nvrtc_or_reason {
  nvrtc_or_reason() {
    try {
      library =
          std::make_unique<membar::litmus_files::nvrtc>(std::vector<std::string>{membar::litmus_files::toolkit_libraries()});
    } catch (const std::exception& e) {
      missing = e.what();
    }
  }
  std::unique_ptr<membar::litmus_files::nvrtc> library;
  std::string missing;
};
[[nodiscard]] inline const nvrtc_or_reason& nvrtc_here() {
  static const nvrtc_or_reason here;
  return here;
}

/// Skips its tests if there is no NVRTC, and reports why.
class compiled_test : public ::testing::Test {
 protected:
  void SetUp() override {
    if (nvrtc_here().library == nullptr) {
      GTEST_SKIP() << nvrtc_here().missing;
    }
  }

  [[nodiscard]] static std::string compiled(const std::string& source, int compute_capability, bool to_ptx) {
    return nvrtc_here().library->compile({source, membar::litmus_files::kernel_headers(),
                                          membar::litmus_files::options_for(compute_capability, to_ptx), to_ptx});
  }
};

}  // namespace membar_test
