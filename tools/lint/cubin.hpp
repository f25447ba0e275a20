// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
/// @file
/// Reads the information that a cubin contains about its kernels in addition to their code, such as the locations of their
/// parameters.
#pragma once

#include <functional>
#include <map>
#include <string>
#include <string_view>

namespace membar::lint {

struct parameter {
  int number = 0;
  int bytes = 0;
};

/// The parameters of a kernel, in bank 0 of constant memory.
struct parameter_bank {
  int begin = 0;                        ///< the offset in the bank at which the parameters begin
  int bytes = 0;                        ///< the total size of the parameters
  std::map<int, parameter> parameters;  ///< the parameters, by their offsets from `begin`
};

/// Returns the compute capability, for example 90 for sm_90a, or 0 if the bytes are not a cubin.
[[nodiscard]] int architecture_of(std::string_view cubin);

/// Returns whether the code may wait for the preceding kernel or let the next kernel start early, that is, whether it contains
/// the bit pattern of ACQBULK or PREEXIT. Always returns true for architectures whose bit patterns are not known.
[[nodiscard]] bool may_be_dependent(std::string_view cubin);

/// Returns the parameters of each kernel in the cubin. The result omits kernels for which the cubin contains no information.
[[nodiscard]] std::map<std::string, parameter_bank, std::less<>> parameters_of(std::string_view cubin);

}  // namespace membar::lint
