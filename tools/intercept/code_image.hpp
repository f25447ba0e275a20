// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
/// @file
/// Reads code in the forms that the driver accepts: PTX text, a cubin, a fatbin, or the compiler's wrapper around a fatbin.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace membar::intercept {

/// Returns the size of an image in bytes, or 0 if its kind is unknown. For a wrapper, `image` is set to the wrapped fatbin.
[[nodiscard]] std::size_t bytes_of_image(const void*& image);

/// PTX or machine code as it is stored in an image, possibly compressed.
struct packed_ptx {
  enum class form : unsigned char { text, lz4, zstd };
  form packed = form::text;
  int architecture = 0;  ///< for example 90 for sm_90 and sm_90a; 0 if it is unknown
  std::size_t text_bytes = 0;
  std::string bytes;
};

/// Returns copies of the PTX in an image, for all architectures.
[[nodiscard]] std::vector<packed_ptx> ptx_of_image(const void* image);

/// Returns copies of the cubins in an image: the image itself, or the cubins in a fatbin.
[[nodiscard]] std::vector<packed_ptx> machine_code_of_image(const void* image);

/// Returns the fatbins and cubins in a file of any kind: a library, an object file, an archive, or an image. Fatbins smaller
/// than 64 bytes are ignored.
[[nodiscard]] std::vector<std::string_view> images_in(std::string_view file);

/// Returns the text. If it cannot be decompressed, returns an empty string and sets `why` to the reason.
[[nodiscard]] std::string unpacked(const packed_ptx& ptx, std::string& why);

/// Returns the bytes of a cubin. If they cannot be decompressed, returns an empty string and sets `why` to the reason.
[[nodiscard]] std::string unpacked_machine_code(const packed_ptx& cubin, std::string& why);

}  // namespace membar::intercept
