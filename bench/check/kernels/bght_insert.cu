// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// BGHT: insertion into its bucketed cuckoo hash table by the lanes of a tile, with few pairs per bucket.
#include <bght/bcht.hpp>

using map = bght::bcht<unsigned, unsigned, bght::universal_hash<unsigned>, bght::equal_to<unsigned>, cuda::thread_scope_device,
                       bght::cuda_allocator<char>, 2>;
template __global__ void bght::detail::kernels::tiled_insert_kernel<const bght::pair<unsigned, unsigned>*, map>(
    const bght::pair<unsigned, unsigned>*, const bght::pair<unsigned, unsigned>*, map);
