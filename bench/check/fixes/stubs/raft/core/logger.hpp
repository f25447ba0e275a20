// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// In place of RAFT's logger, whose macros its build generates.
#pragma once
#define RAFT_LOG_CRITICAL(...)
#define RAFT_LOG_DEBUG(...)
#define RAFT_LOG_ERROR(...)
#define RAFT_LOG_INFO(...)
#define RAFT_LOG_TRACE(...)
#define RAFT_LOG_WARN(...)
