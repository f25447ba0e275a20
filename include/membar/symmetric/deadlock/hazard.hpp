// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
/// @file
/// Deprecated: include <membar/deadlock/hazard.hpp> and write `membar::deadlock`. The old names will be removed in version 0.4.
#pragma once

#include <membar/deadlock/hazard.hpp>
#include <membar/deadlock/program.hpp>
