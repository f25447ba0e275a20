// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
/// @file
/// What a cubin says of its kernels beside their code: where the parameters are.
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
  int begin = 0;                        ///< the bank's byte at which the parameters begin
  int bytes = 0;                        ///< of all of them
  std::map<int, parameter> parameters;  ///< by where each begins, from `begin`
};

/// The compute capability: 90 of sm_90a; 0 if the bytes are no cubin.
[[nodiscard]] int architecture_of(std::string_view cubin);

/// Whether the code may wait for the kernel before or let the next one begin: whether it has the bits of ACQBULK or PREEXIT. Always true of
/// architectures for which these bits are not known.
[[nodiscard]] bool may_be_dependent(std::string_view cubin);

/// The parameters of each kernel of the cubin. A kernel of which the cubin says nothing is absent.
[[nodiscard]] std::map<std::string, parameter_bank, std::less<>> parameters_of(std::string_view cubin);

}  // namespace membar::lint
