// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
/// @file
/// Allows a preloaded library to call the driver while the program captures a stream.
#pragma once

#include "intercept/driver.hpp"

namespace membar::intercept {

/// While this object exists, calls by this thread that are not allowed during a stream capture, such as loading a kernel, do
/// not invalidate the program's capture.
class relaxed_capture {
 public:
  relaxed_capture() noexcept { exchange(); }
  ~relaxed_capture() { exchange(); }
  relaxed_capture(const relaxed_capture&) = delete;
  relaxed_capture& operator=(const relaxed_capture&) = delete;

 private:
  void exchange() noexcept { static_cast<void>(driver::cuThreadExchangeStreamCaptureMode_(&mode_)); }
  CUstreamCaptureMode mode_ = CU_STREAM_CAPTURE_MODE_RELAXED;
};

}  // namespace membar::intercept
