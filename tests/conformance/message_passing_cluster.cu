// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "message_passing.cuh"

static const conformance::registered_family message_passing_cluster(
    "message_passing_cluster", &conformance::add_message_passing<membar::thread_scope::cluster>);
