// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
/// @file
/// Generates the CUDA C++ source for a litmus file. Every instruction becomes one inline-assembly statement with the file's
/// PTX.
///
/// Registers have 64 bits, and loads sign-extend their values. Dependencies are preserved: the constants and repeated operands
/// of arithmetic are combined with a zero that is known only on the device, so the compiler cannot fold them. After a branch,
/// the address of every store depends on the branch's operands in the same way.
#pragma once

#include <litmus/run_plan.hpp>

#include <string>
#include <string_view>

namespace membar::litmus_files {

/// The lowest compute capability and the oldest compiler version that a source requires, and the first lines that require them.
struct requirements {
  int compute_capability = 70;    ///< major * 10 + minor
  std::string capability_reason;  ///< the quoted line that needs this capability; empty if no line needs more than the engine
                                  ///< itself
  int nvrtc = 12000;              ///< the oldest version of NVRTC that is sufficient, in CUDA's encoding
  std::string nvrtc_reason;
};

/// The source of a test and its requirements.
struct test_source {
  std::string text;
  requirements needs;
};

/// The start of a translation unit: the code that precedes the tests.
inline constexpr std::string_view source_prologue =
    "// Written by membar-litmus. Each asm statement is one instruction of the file.\n"
    "#include <membar/litmus/kernel.cuh>\n"
    "\n"
    "// Zero. The compiler must assume that the host may have written another value.\n"
    "extern \"C\" __constant__ unsigned long long membar_litmus_zero = 0;\n"
    "\n";

/// Returns the source of a type with the given name. The kernel runs this type as a test. The translation unit must begin with
/// `source_prologue`. Throws `model::error` with the line of an instruction that does not exist in PTX.
[[nodiscard]] test_source write_test_type(const run_plan& plan, const std::string& name = "file_test");

/// Returns the translation unit of a test for NVRTC. Its kernel is `membar_litmus_kernel`. Throws for the same reasons as
/// `write_test_type`.
[[nodiscard]] test_source write_source(const run_plan& plan);

/// Throws `model::error`, quoting the line responsible, if a source needs a higher compute capability than
/// `compute_capability` (major * 10 + minor) or a newer NVRTC than version `nvrtc`.
void require_compilable(const requirements& needs, int compute_capability, int nvrtc);

}  // namespace membar::litmus_files
