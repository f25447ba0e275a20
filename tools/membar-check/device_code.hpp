// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
/// @file
/// PTX and machine code in files of any kind: text, sources, cubins, fatbins, objects, libraries, archives, wheels, and folders of these.
#pragma once

#include <intercept/code_image.hpp>

#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace membar_check {

/// A PTX text that a file contains or is compiled to, or a cubin if there is no PTX.
struct ptx_source {
  std::string file;  ///< its path; for a file in a wheel, both paths: wheel.whl/package/library.so
  /// the number of the PTX in the file, from 1, in the order of cuobjdump; 0: the file is the text, or a source
  int number = 0;
  membar::intercept::packed_ptx packed;
  bool machine_code = false;  ///< it is a cubin; `number` counts those of the file

  /// Returns the PTX: read, compiled by nvcc, or unpacked. Throws `model::error`.
  [[nodiscard]] std::string text() const;
  /// Returns the cubin, unpacked. Throws `model::error`.
  [[nodiscard]] std::string cubin() const;
  /// Returns its name in messages: library.so (PTX 3)
  [[nodiscard]] std::string name() const;
};

/// The remedy if there is only machine code.
inline constexpr std::string_view how_to_have_ptx =
    "compile with -gencode=arch=compute_90a,code=[sm_90a,compute_90a] (PyTorch: TORCH_CUDA_ARCH_LIST=9.0a+PTX), so that the "
    "file has PTX";

struct device_code {
  std::vector<ptx_source> ptx;
  std::vector<ptx_source>
      machine_code;  ///< cubins of images without PTX, of architectures that have programmatic dependent launch
  std::vector<std::pair<std::string, int>> machine_code_only;  ///< files, and the number of images without PTX in each
  /// files that were named or are PTX, and the reasons why they cannot be read
  std::vector<std::pair<std::string, std::string>> errors;
};

/// Returns the PTX in a file, or in all files of a folder or a wheel whose names indicate that they may contain some, and, if wanted, the machine
/// code of images without PTX. Throws `model::error` if there is no device code at all, or only machine code that is not wanted.
[[nodiscard]] device_code code_in(const std::string& input, bool with_machine_code);

}  // namespace membar_check
