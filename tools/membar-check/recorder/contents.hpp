// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
/// @file
/// Copies memory contents before a launch. The copies go to pinned memory and run on the launch's stream, and the program does
/// not wait for them. A thread of the library writes the contents to files when the copies are complete.
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
  /// Reserves pinned memory for this many bytes in this many pieces. If there is not enough space, returns false, and nothing
  /// will be copied.
  [[nodiscard]] bool reserve(std::size_t bytes, std::size_t pieces);
  /// Copies memory on the stream; the contents will be written to a file with this name. Returns false if the driver rejects
  /// the copy.
  [[nodiscard]] bool add(const std::string& file, CUdeviceptr from, std::size_t bytes, CUstream stream);
  /// Ends the copies of the launch. The files are written once the stream has reached this point.
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

/// Waits until all copies have been written to files, or until no copy has completed for two seconds.
void drain_contents();

/// Discards the pinned memory, because its context was destroyed.
void forget_pinned();

}  // namespace membar_record
