// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// In place of RMM's logger, whose macros its build generates.
#pragma once
#define RMM_LOG_CRITICAL(...)
#define RMM_LOG_DEBUG(...)
#define RMM_LOG_ERROR(...)
#define RMM_LOG_INFO(...)
#define RMM_LOG_TRACE(...)
#define RMM_LOG_WARN(...)
