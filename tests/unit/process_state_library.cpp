// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// A library that contains membar and hides all symbols except the exported ones. The program that loads it provides the CUDA
// runtime.
#include <membar/l2_set_aside.hpp>

#include "process_state_library.hpp"

#define EXPORTED extern "C" __attribute__((visibility("default")))

EXPORTED void* make_a_set_aside(std::size_t bytes) { return new membar::l2_set_aside(0, bytes); }
EXPORTED void end_a_set_aside(void* held) { delete static_cast<membar::l2_set_aside*>(held); }
EXPORTED std::size_t granted_to_all(void* held) { return static_cast<membar::l2_set_aside*>(held)->granted_together(); }
EXPORTED void handle_restores(void (*handler)(const char*) noexcept) { membar::set_restore_failure_handler(handler); }
