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

/// A text of PTX that a file has, or is compiled to, or a cubin where there is none.
struct ptx_source {
  std::string file;  ///< its path; of a file in a wheel, both: wheel.whl/package/library.so
  int number = 0;    ///< which PTX in the file, from 1, as cuobjdump counts them; 0: the file is the text, or a source
  membar::intercept::packed_ptx packed;
  bool machine_code = false;  ///< it is a cubin; `number` counts those of the file

  /// The PTX: read, compiled by nvcc, or unpacked. Throws `model::error`.
  [[nodiscard]] std::string text() const;
  /// The cubin, unpacked. Throws `model::error`.
  [[nodiscard]] std::string cubin() const;
  /// What a message calls it: library.so (PTX 3)
  [[nodiscard]] std::string name() const;
};

/// The remedy for machine code.
inline constexpr std::string_view how_to_have_ptx =
    "compile with -gencode=arch=compute_90a,code=[sm_90a,compute_90a] (PyTorch: TORCH_CUDA_ARCH_LIST=9.0a+PTX), so that the "
    "file has PTX";

struct device_code {
  std::vector<ptx_source> ptx;
  std::vector<ptx_source>
      machine_code;  ///< cubins of images without PTX, of architectures that have programmatic dependent launch
  std::vector<std::pair<std::string, int>> machine_code_only;  ///< files, and how many images without PTX each has
  std::vector<std::pair<std::string, std::string>> errors;  ///< files that were named or are PTX, and why they cannot be read
};

/// The PTX in a file, or in all files of a folder or a wheel whose names say that they may have some, and where there is none the machine
/// code if that is wanted. Throws `model::error` if there is no device code at all, or machine code only where it is not wanted.
[[nodiscard]] device_code code_in(const std::string& input, bool with_machine_code);

}  // namespace membar_check
