// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
/// @file
/// Gives each block its own instance of the shared memory in a litmus file. Source: PTX ISA, "Shared State Space".
#pragma once

#include <litmus/declarations.hpp>
#include <litmus/lexer.hpp>

#include <vector>

namespace membar::litmus_files::detail {

/// A register whose initial value is the address of shared memory, identified by a thread of its block.
struct remote_address {
  token word;
  int thread = 0;
  int reg = 0;
  int owner = 0;
};

/// A location is shared memory if it is declared as such, or if an access to it names the shared state space. One name then
/// stands for one location per block that uses it. These are named after the first thread of their block, "P0:x", unless there
/// is only one. Throws `error` for memory that cannot be shared memory.
void divide_shared_memory(declarations& names, const std::vector<remote_address>& remote);

}  // namespace membar::litmus_files::detail
