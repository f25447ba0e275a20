// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
/// @file
/// Finds PTX and machine code in text, sources, cubins, fatbins, object files, libraries, archives and wheels, and in folders
/// that contain such files.
#pragma once

#include <intercept/code_image.hpp>

#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace membar_check {

/// A PTX text that a file contains or can be compiled to, or a cubin for which there is no PTX.
struct ptx_source {
  /// the path of the file; for a file in a wheel, the path of the wheel and the path within the wheel:
  /// wheel.whl/package/library.so
  std::string file;
  /// the number of the PTX in the file, counted from 1 in cuobjdump's order; 0 if the file is itself PTX or a source
  int number = 0;
  membar::intercept::packed_ptx packed;
  bool machine_code = false;  ///< whether this is a cubin; `number` then counts the cubins of the file

  /// Returns the PTX after reading, compiling or decompressing it. A source is compiled with these options of nvcc. Throws
  /// `model::error`.
  [[nodiscard]] std::string text(const std::vector<std::string>& nvcc_options) const;
  /// Returns the decompressed cubin. Throws `model::error`.
  [[nodiscard]] std::string cubin() const;
  /// Returns whether this is a CUDA C++ source.
  [[nodiscard]] bool is_source() const;
  /// Returns whether this is a CUDA C++ source with `__global__` functions.
  [[nodiscard]] bool is_source_of_kernels() const;
  /// Returns a name for messages, for example "library.so (PTX 3)".
  [[nodiscard]] std::string name() const;
};

/// The advice for a file that contains only machine code.
inline constexpr std::string_view how_to_have_ptx =
    "compile with -gencode=arch=compute_90a,code=[sm_90a,compute_90a] (PyTorch: TORCH_CUDA_ARCH_LIST=9.0a+PTX), so that the "
    "file contains PTX";

struct device_code {
  std::vector<ptx_source> ptx;
  std::vector<ptx_source> machine_code;  ///< cubins of images without PTX, for architectures with programmatic dependent launch
  std::vector<std::pair<std::string, int>> machine_code_only;  ///< files, each with its number of images without PTX
  /// files that cannot be read, with the reasons; only files that the user named and PTX files are listed
  std::vector<std::pair<std::string, std::string>> errors;
};

/// Returns the PTX in a file, or in the files of a folder or wheel whose names indicate device code. If `with_machine_code` is
/// set, also returns the machine code of images without PTX. Throws `model::error` if there is no device code, or only machine
/// code that was not requested.
[[nodiscard]] device_code code_in(const std::string& input, bool with_machine_code);

}  // namespace membar_check
