// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
/// @file
/// Gives each block its own instance of the shared memory in a litmus file. Source: PTX ISA, "Shared State Space".
#pragma once

#include <litmus/declarations.hpp>
#include <litmus/lexer.hpp>

#include <vector>

namespace membar::litmus_files::detail {

/// A register that is initialized with the address of shared memory. `owner` is a thread of the block that owns that memory.
struct remote_address {
  token word;
  int thread = 0;
  int reg = 0;
  int owner = 0;
};

/// Replaces each location in shared memory by one location for each block that uses it. A location is in shared memory if it is
/// declared as such, or if an access to it specifies the shared state space. The new locations are named after the first thread
/// of their block, for example "P0:x", unless there is only one. Throws `error` for memory that cannot be shared memory.
void divide_shared_memory(declarations& names, const std::vector<remote_address>& remote);

}  // namespace membar::litmus_files::detail
