// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// What the flags of other builds break where headers rely on operators or on conversions: PyTorch compiles extensions without the operators
// of half and bfloat16. The device headers come before this file, by -include.
#include <membar/aggregated.cuh>
#include <membar/async_copy.cuh>
#include <membar/atomic.cuh>
#include <membar/bulk_copy.cuh>
#include <membar/load_store.cuh>
#include <membar/read_only.cuh>
#include <membar/sync/last_block.cuh>
#include <membar/sync/publisher.cuh>
#include <membar/sync/spsc_channel.cuh>

#include <cuda_bf16.h>
#include <cuda_fp16.h>

#include <cstdint>
#include <vector>

// The container, because membar's type has another name.
namespace both {
using namespace std;
using namespace membar;
vector<int> of_the_standard_library;
static_assert(is_same_v<decltype(of_the_standard_library), std::vector<int>>);
}  // namespace both

namespace other_flags {

using membar::acq_rel, membar::acquire, membar::relaxed, membar::release;
using membar::async_operation, membar::thread_scope;

template <class T>
__global__ void everything(T* object, T value, T* out) {
  const membar::atomic_ref<T, thread_scope::device> n(*object);
  out[0] = n.fetch_add(value, acq_rel);
  out[1] = n.fetch_sub(value, relaxed);
  out[2] = n.fetch_min(value, acquire);
  out[3] = n.exchange(value, relaxed);
  out[4] = n.load(acquire);
  n.add(value, relaxed);
  n.sub(value, release);
  n.max(value, relaxed);
  n.store(value, release);
  out[5] = membar::aggregated_ref<T, thread_scope::device>(*object).fetch_sub(value, relaxed);
  out[6] = membar::load_weak(object);
  out[7] = membar::load_read_only(object);
  membar::store<thread_scope::device>(object, value, release);
  __shared__ membar::privatized_histogram<T, 4, membar::minimum> bins;
  bins.clear();
  bins.add(0, value);
  bins.template flush<thread_scope::device>(object, relaxed);
}
template __global__ void everything(__half*, __half, __half*);
template __global__ void everything(__half2*, __half2, __half2*);
template __global__ void everything(__nv_bfloat16*, __nv_bfloat16, __nv_bfloat16*);
template __global__ void everything(__nv_bfloat162*, __nv_bfloat162, __nv_bfloat162*);

__global__ void vectors(membar::vec<__half, 4>* object, membar::vec<__half, 4> value,
                        membar::block_partial<__half2, thread_scope::device>* partial, __half2* result) {
  membar::atomic_ref<membar::vec<__half, 4>, thread_scope::device>(*object).sub(value, relaxed);
  static_cast<void>(membar::last_block_reduce(*result, partial, membar::plus{}, *result));
}

// Types of the same bytes as those that the instructions name.
__global__ void same_bytes(std::uint64_t* to, const std::uint64_t* from, __half2* pairs, const __half2* of,
                           membar::mbarrier<thread_scope::cluster>* barrier) {
  membar::bulk_commit(membar::bulk_reduce<async_operation::add>(to, from, 16) +
                      membar::bulk_reduce<async_operation::min>(pairs, of, 16));
  static_cast<void>(membar::async_reduce<async_operation::add>(to, 1, std::uint64_t{3}, *barrier));
  membar::async_commit(membar::async_copy(pairs, of));
}

// On the host, the arithmetic of the same types, and the arrays of patterns.
void on_the_host(__half& object, __half value, membar::spsc_channel<__half2, 8, thread_scope::system>& channel) {
  const membar::atomic_ref<__half, thread_scope::system> n(object);
  n.add(value, relaxed);
  n.sub(value, relaxed);
  typename membar::spsc_channel<__half2, 8, thread_scope::system>::producer(channel).close();
}

}  // namespace other_flags

template class membar::publisher<2, 4>;
