// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
/// @file
/// Copies of memory as it is before a launch: on the launch's stream, into pinned memory, without waiting for anything. A thread of the library
/// writes them to files when the copies have been made.
#pragma once

#include <cuda.h>

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace membar_record {

/// The copies of one launch.
class launch_copies {
 public:
  /// Takes pinned memory for this many bytes in this many pieces. False where there is none left: then nothing is copied.
  [[nodiscard]] bool reserve(std::size_t bytes, std::size_t pieces);
  /// Copies memory on the stream into a file of this name. False if the driver rejects it.
  [[nodiscard]] bool add(const std::string& file, CUdeviceptr from, std::size_t bytes, CUstream stream);
  /// Ends the launch's copies: the files are written when the stream has come here.
  void finish(CUstream stream);

  struct piece {
    std::string file;
    std::size_t at, bytes;
  };

 private:
  std::vector<piece> pieces_;
  std::uint64_t begin_ = 0;
  std::uint64_t next_ = 0;
  std::uint64_t end_ = 0;
};

/// Waits until all copies are in files, or until none was made for two seconds.
void drain_contents();

/// The pinned memory no longer exists: its context was destroyed.
void forget_pinned();

}  // namespace membar_record
