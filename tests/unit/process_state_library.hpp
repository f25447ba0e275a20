// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
/// @file
/// The functions in a library that the test of process-wide state loads.
#pragma once

#include <cstddef>

extern "C" {
using make_set_aside = void*(std::size_t bytes);
using end_set_aside = void(void* held);
using granted_together = std::size_t(void* held);
using handle_failed_restores = void(void (*handler)(const char* sentence) noexcept);
}
