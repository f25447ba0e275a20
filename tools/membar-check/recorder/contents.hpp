// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
/// @file
/// Copies memory as it is before a launch. The copies run on the launch's stream, into pinned memory, without waiting for
/// anything. A thread of the library writes them to files when they are complete.
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
  /// Reserves pinned memory for this many bytes in this many pieces. Returns false if there is not enough left; nothing is
  /// copied then.
  [[nodiscard]] bool reserve(std::size_t bytes, std::size_t pieces);
  /// Copies memory on the stream, to be written to a file of this name. Returns false if the driver rejects the copy.
  [[nodiscard]] bool add(const std::string& file, CUdeviceptr from, std::size_t bytes, CUstream stream);
  /// Ends the launch's copies. The files are written when the stream has reached this point.
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

/// Waits until all copies are in files, or until no copy has completed for two seconds.
void drain_contents();

/// Discards the pinned memory, whose context was destroyed.
void forget_pinned();

}  // namespace membar_record
