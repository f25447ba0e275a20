// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
/// @file
/// Instances of Thrust's algorithms; readable_kernels.py counts their kernels.
#include <thrust/adjacent_difference.h>
#include <thrust/copy.h>
#include <thrust/count.h>
#include <thrust/device_vector.h>
#include <thrust/extrema.h>
#include <thrust/inner_product.h>
#include <thrust/merge.h>
#include <thrust/reduce.h>
#include <thrust/remove.h>
#include <thrust/scan.h>
#include <thrust/set_operations.h>
#include <thrust/sort.h>
#include <thrust/transform.h>
#include <thrust/unique.h>

struct above {
  __host__ __device__ bool operator()(float value) const { return value > 0.5F; }
};

template <class Value>
void all_of(thrust::device_vector<Value>& a, thrust::device_vector<Value>& b, thrust::device_vector<int>& keys) {
  thrust::sort(a.begin(), a.end());
  thrust::stable_sort_by_key(keys.begin(), keys.end(), a.begin());
  thrust::inclusive_scan(a.begin(), a.end(), b.begin());
  thrust::exclusive_scan(a.begin(), a.end(), b.begin());
  thrust::transform(a.begin(), a.end(), b.begin(), b.begin(), thrust::multiplies<Value>());
  thrust::reduce_by_key(keys.begin(), keys.end(), a.begin(), keys.begin(), b.begin());
  thrust::unique(a.begin(), a.end());
  thrust::remove_if(a.begin(), a.end(), above{});
  thrust::merge(a.begin(), a.end(), b.begin(), b.end(), a.begin());
  thrust::set_intersection(a.begin(), a.end(), b.begin(), b.end(), a.begin());
  thrust::adjacent_difference(a.begin(), a.end(), b.begin());
  static_cast<void>(thrust::max_element(a.begin(), a.end()));
  static_cast<void>(thrust::inner_product(a.begin(), a.end(), b.begin(), Value{}));
  static_cast<void>(thrust::count_if(a.begin(), a.end(), above{}));
}

void all(thrust::device_vector<float>& f, thrust::device_vector<double>& d, thrust::device_vector<int>& keys) {
  all_of(f, f, keys);
  all_of(d, d, keys);
}
