// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "ordering.cuh"

static const conformance::registered_family ordering_block("ordering_block",
                                                           &conformance::add_ordering<membar::thread_scope::block>);
