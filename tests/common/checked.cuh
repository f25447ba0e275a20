// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
/// @file
/// What a kernel checks, marked so that its PTX shows whether the compiler knew the answer.
#pragma once

#include <membar/base/config.hpp>

namespace membar_test {

/// `condition`. Each check in a kernel goes through it. A compiler may know what a plain variable holds: it then removes the check, and
/// the kernel can find nothing. Here that leaves an instruction that copies the constant 0, and tests/codegen/kernel_checks.py reports
/// the line. The instruction is not volatile and has no clobber of memory: either would keep the compiler from what it may do elsewhere.
[[nodiscard]] MEMBAR_HOST_DEVICE inline bool checked(bool condition) {
#if defined(__CUDA_ARCH__)
  unsigned copy = 0;
  asm("mov.b32 %0, %1;  // checked" : "=r"(copy) : "r"(static_cast<unsigned>(condition)));  // mov.b32 d, a; PTX ISA 1.0
  return copy != 0;
#else
  return condition;
#endif
}

}  // namespace membar_test
