// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// RAFT's build generates this file; the kernels do not need it.
#pragma once
#define RAFT_LOG_TRACE(...)
#define RAFT_LOG_DEBUG(...)
#define RAFT_LOG_INFO(...)
#define RAFT_LOG_WARN(...)
#define RAFT_LOG_ERROR(...)
#define RAFT_LOG_CRITICAL(...)
