// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// RAFT's radix selection of the k smallest values, for float.
#include <raft/matrix/detail/select_radix.cuh>

using namespace raft::matrix::detail::select;

void* const kernel = reinterpret_cast<void*>(radix::impl::radix_kernel<float, int, 11, 512, false, dense_layout<int>>);
