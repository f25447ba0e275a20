// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
/// @file
/// Marks the checks in a kernel, so that the kernel's PTX shows whether the compiler has evaluated them at compile time.
#pragma once

#include <membar/base/config.hpp>

namespace membar_test {

/// Returns `condition`. Each check in a kernel goes through this function. If a compiler can infer the value of a plain
/// variable, it removes the check, and the kernel can never find an error. With this function, an instruction that copies the
/// constant 0 remains in that case, and tests/codegen/kernel_checks.py reports the line. The instruction is not volatile and
/// does not clobber memory, because either would prevent optimizations that the compiler performs elsewhere.
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
