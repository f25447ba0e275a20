// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Compiled as C++17, which no header supports.
#include "refused.hpp"

// expect: error: #error "membar: these headers need C++20: compile with -std=c++20 or newer"
REFUSED(the_vocabulary_needs_cxx20, static_assert(true));
#if defined(RULE_the_vocabulary_needs_cxx20)
#include <membar/memory_order.hpp>
#endif
// expect: error: #error "membar: these headers need C++20: compile with -std=c++20 or newer"
REFUSED(the_model_needs_cxx20, static_assert(true));
#if defined(RULE_the_model_needs_cxx20)
#include <membar/model/test.hpp>
#endif
// expect: error: #error "membar: these headers need C++20: compile with -std=c++20 or newer"
REFUSED(a_host_header_needs_cxx20, static_assert(true));
#if defined(RULE_a_host_header_needs_cxx20)
#include <membar/device_guard.hpp>
#endif
