// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
/// @file
/// Code as it is given to the driver: PTX text, a cubin, a fatbin, or the compiler's wrapper of a fatbin.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace membar::intercept {

/// The bytes of an image; 0 if it is of no known kind. Of a wrapper, `image` becomes the fatbin in it.
[[nodiscard]] std::size_t bytes_of_image(const void*& image);

/// PTX or machine code in an image, as it is stored there.
struct packed_ptx {
  enum class form : unsigned char { text, lz4, zstd };
  form packed = form::text;
  int architecture = 0;  ///< 90 for sm_90 and sm_90a; 0: unknown
  std::size_t text_bytes = 0;
  std::string bytes;
};

/// The PTX of an image, of all architectures, copied from it.
[[nodiscard]] std::vector<packed_ptx> ptx_of_image(const void* image);

/// The cubins of an image: its own bytes, or those in a fatbin, copied from it.
[[nodiscard]] std::vector<packed_ptx> machine_code_of_image(const void* image);

/// The fatbins and cubins in a file of any kind: a library, an object, an archive, or an image itself. Fatbins have 64 bytes at least.
[[nodiscard]] std::vector<std::string_view> images_in(std::string_view file);

/// The text. Empty where it cannot be unpacked: `why` then says what is missing.
[[nodiscard]] std::string unpacked(const packed_ptx& ptx, std::string& why);

/// The bytes of a cubin. Empty where it cannot be unpacked: `why` then says what is missing.
[[nodiscard]] std::string unpacked_machine_code(const packed_ptx& cubin, std::string& why);

}  // namespace membar::intercept
