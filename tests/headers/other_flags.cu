// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Flags from other builds can break headers that rely on operators or conversions: PyTorch, for example, compiles extensions
// without the operators for half and bfloat16. The device headers are included before this file, with -include.
#include <membar/aggregated.cuh>
#include <membar/async_copy.cuh>
#include <membar/atomic.cuh>
#include <membar/bulk_copy.cuh>
#include <membar/load_store.cuh>
#include <membar/read_only.cuh>
#include <membar/sync/bulk_pipeline.cuh>
#include <membar/sync/cluster_broadcast.cuh>
#include <membar/sync/cross_barrier.cuh>
#include <membar/sync/dependent_chain.cuh>
#include <membar/sync/grid_barrier.cuh>
#include <membar/sync/last_block.cuh>
#include <membar/sync/mpmc_channel.cuh>
#include <membar/sync/mpsc_channel.cuh>
#include <membar/sync/packed_channel.cuh>
#include <membar/sync/publisher.cuh>
#include <membar/sync/queue_lock.cuh>
#include <membar/sync/sequence_lock.cuh>
#include <membar/sync/spsc_channel.cuh>
#include <membar/sync/ticket_lock.cuh>

#include <cuda_bf16.h>
#include <cuda_fp16.h>

#include <cstdint>
#include <type_traits>
#include <vector>

// Uses a standard container; its name is unambiguous because membar's type has a different name.
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

// Types with the same representation as the types that the instructions use.
__global__ void same_bytes(std::uint64_t* to, const std::uint64_t* from, __half2* pairs, const __half2* of,
                           membar::mbarrier<thread_scope::cluster>* barrier) {
  membar::bulk_commit(membar::bulk_reduce<async_operation::add>(to, from, 16) +
                      membar::bulk_reduce<async_operation::min>(pairs, of, 16));
  static_cast<void>(membar::async_reduce<async_operation::add>(to, 1, std::uint64_t{3}, *barrier));
  membar::async_commit(membar::async_copy(pairs, of));
}

// On the host: arithmetic on the same types, and the patterns' arrays.
void on_the_host(__half& object, __half value, membar::spsc_channel<__half2, 8, thread_scope::system>& channel) {
  const membar::atomic_ref<__half, thread_scope::system> n(object);
  n.add(value, relaxed);
  n.sub(value, relaxed);
  typename membar::spsc_channel<__half2, 8, thread_scope::system>::producer(channel).close();
}

/// Every operation of an atomic. Each operation is a separate template, which is not instantiated together with the class.
template <class T>
void every_operation(T& object, T value) {
  const membar::atomic_ref<T, thread_scope::system> n(object);
  T seen = n.load(acquire);
  n.store(value, release);
  seen = n.exchange(value, acq_rel);
  n.compare_exchange(seen, value, acq_rel, acquire);
  n.compare_exchange_weak(seen, value, relaxed, relaxed);
  n.compare_exchange_strong(seen, value, membar::seq_cst, acquire);
  n.fetch_add(value, relaxed);
  n.fetch_sub(value, relaxed);
  n.fetch_min(value, relaxed);
  n.fetch_max(value, relaxed);
  n.add(value, relaxed);
  n.sub(value, release);
  n.min(value, relaxed);
  n.max(value, relaxed);
  n.fetch_update([](T x) { return x; }, acquire);
  n.wait(seen, acquire);
  membar::atomic<T, thread_scope::system> own(value);
  own.fetch_add(value, relaxed);
  own.store(value, release);
  if constexpr (std::is_integral_v<T>) {
    n.fetch_and(value, relaxed);
    n.fetch_or(value, relaxed);
    n.fetch_xor(value, relaxed);
    n.bit_and(value, relaxed);
    n.bit_or(value, relaxed);
    n.bit_xor(value, relaxed);
  } else {
    n.fetch_fminimum_num(value, relaxed);
    n.fetch_fmaximum_num(value, relaxed);
  }
  if constexpr (std::is_unsigned_v<T>) {
    n.fetch_inc(value, relaxed);
    n.fetch_dec(value, relaxed);
    n.inc(value, relaxed);
    n.dec(value, relaxed);
  }
}
template void every_operation(signed char&, signed char);
template void every_operation(unsigned char&, unsigned char);
template void every_operation(short&, short);
template void every_operation(unsigned short&, unsigned short);
template void every_operation(int&, int);
template void every_operation(unsigned&, unsigned);
template void every_operation(long&, long);
template void every_operation(unsigned long&, unsigned long);
template void every_operation(long long&, long long);
template void every_operation(unsigned long long&, unsigned long long);
template void every_operation(float&, float);
template void every_operation(double&, double);

}  // namespace other_flags

// Every member of the classes is used, because members that are not instantiated cause no warnings.
template class membar::spsc_channel<short, 4, membar::thread_scope::system>;
template class membar::mpsc_channel<short, 4, membar::thread_scope::system>;
template class membar::mpmc_channel<short, 4, membar::thread_scope::system>;
template class membar::packed_spsc_channel<short, 4, membar::thread_scope::device>;
template class membar::packed_mpsc_channel<short, 4, membar::thread_scope::device>;
template class membar::ticket_lock<membar::thread_scope::system>;
template class membar::queue_lock<membar::thread_scope::system>;
template class membar::sequence_lock<long, membar::thread_scope::system>;
template class membar::grid_barrier<membar::thread_scope::device>;
template class membar::cross_barrier<2>;
template class membar::last_block<membar::thread_scope::device>;
template class membar::block_partial<short, membar::thread_scope::device>;
template class membar::chained<int>;
template class membar::bulk_pipeline<2, 64>;
template class membar::cluster_broadcast<2, 64>;
template class membar::publisher<2, 4>;
template class membar::mbarrier<membar::thread_scope::block>;
template class membar::aggregated_ref<int, membar::thread_scope::device>;
template class membar::privatized_histogram<unsigned, 4>;
template class membar::read_only_span<short>;
template class membar::read_only_watch<short>;
