// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// cuCollections: insertion into its static map.
#include <cuco/static_map.cuh>
#include <cuco/static_map_ref.cuh>

using map = cuco::static_map<int, int, cuco::extent<std::size_t>, cuda::thread_scope_device, cuda::std::equal_to<int>,
                             cuco::linear_probing<1, cuco::default_hash_function<int>>>;
using ref = map::ref_type<cuco::op::insert_tag>;

__global__ void insert(ref table, const cuco::pair<int, int>* pairs) {
  table.insert(pairs[blockIdx.x * blockDim.x + threadIdx.x]);
}
