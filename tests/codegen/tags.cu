// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Device code can bind tags and hints to references at no cost, as forwarding wrappers do.
#include <membar/atomic.cuh>
#include <membar/load_store.cuh>
#include <membar/read_only.cuh>
#include <membar/symmetric/group.cuh>

#if !defined(__CUDACC_RTC__)  // NVRTC has std::forward without a header.
#include <utility>
#endif

using namespace membar;

template <class... Said>
__device__ int forwarded(const int* p, Said&&... said) {
  return load_weak(p, std::forward<Said>(said)...);
}
template <class... Said>
__device__ int by_reference(const int* p, const Said&... said) {
  return load_weak(p, said...);
}
template <class... Said>
__device__ void forwarded_store(int* p, Said&&... said) {
  store_weak(p, 1, std::forward<Said>(said)...);
}
template <class... Said>
__device__ void store_by_reference(int* p, const Said&... said) {
  store_weak(p, 1, said...);
}
template <class Order>
__device__ int forwarded_order(int* p, Order&& order) {
  return atomic_ref<int, thread_scope::device>(*p).fetch_add(1, std::forward<Order>(order));
}
template <class Order>
__device__ int order_by_reference(int* p, const Order& order) {
  return atomic_ref<int, thread_scope::device>(*p).fetch_add(1, order);
}
template <class Group>
__device__ unsigned forwarded_group(Group&& group) {
  return group.rank();
}

// CHECK-LABEL: .entry orders(
// CHECK: atom.relaxed.gpu.global.add
// CHECK: atom.relaxed.gpu.global.add
// CHECK: atom.acquire.gpu.add
// CHECK: atom.acquire.gpu.add
// CHECK: atom.release.gpu.add
// CHECK: atom.release.gpu.add
// CHECK: atom.acq_rel.gpu.add
// CHECK: atom.acq_rel.gpu.add
// CHECK: fence.sc.gpu
// CHECK: fence.sc.gpu
// CHECK: ret;
extern "C" __global__ void orders(int* p, int* out) {
  int sum = 0;
  sum += forwarded_order(p, relaxed) + order_by_reference(p, relaxed);
  sum += forwarded_order(p, acquire) + order_by_reference(p, acquire);
  sum += forwarded_order(p, release) + order_by_reference(p, release);
  sum += forwarded_order(p, acq_rel) + order_by_reference(p, acq_rel);
  sum += forwarded_order(p, seq_cst) + order_by_reference(p, seq_cst);
  *out = sum;
}

// CHECK-LABEL: .entry device_registers(
// CHECK: ld.mmio.relaxed.sys.b32
// CHECK: ld.mmio.relaxed.sys.b32
// CHECK: ret;
template <class Order>
__device__ int forwarded_load(const int* p, Order&& order) {
  return load<thread_scope::system>(p, std::forward<Order>(order));
}
template <class Order>
__device__ int load_by_reference(const int* p, const Order& order) {
  return load<thread_scope::system>(p, order);
}
extern "C" __global__ void device_registers(int* p, int* out) { *out = forwarded_load(p, mmio) + load_by_reference(p, mmio); }

// CHECK-LABEL: .entry hints_of_l1(
// CHECK: ld.weak.global.L1::evict_normal.b32
// CHECK: ld.weak.global.L1::evict_normal.b32
// CHECK: ld.weak.global.L1::evict_unchanged.b32
// CHECK: ld.weak.global.L1::evict_unchanged.b32
// CHECK: ld.weak.global.L1::evict_first.b32
// CHECK: ld.weak.global.L1::evict_first.b32
// CHECK: ld.weak.global.L1::evict_last.b32
// CHECK: ld.weak.global.L1::evict_last.b32
// CHECK: ld.weak.global.L1::no_allocate.b32
// CHECK: ld.weak.global.L1::no_allocate.b32
// CHECK: ret;
extern "C" __global__ void hints_of_l1(const int* p, int* out) {
  int sum = 0;
  sum += forwarded(p, l1::evict_normal) + by_reference(p, l1::evict_normal);
  sum += forwarded(p, l1::evict_unchanged) + by_reference(p, l1::evict_unchanged);
  sum += forwarded(p, l1::evict_first) + by_reference(p, l1::evict_first);
  sum += forwarded(p, l1::evict_last) + by_reference(p, l1::evict_last);
  sum += forwarded(p, l1::no_allocate) + by_reference(p, l1::no_allocate);
  *out = sum;
}

// CHECK-LABEL: .entry prefetches(
// CHECK: ld.weak.global.L2::64B.b32
// CHECK: ld.weak.global.L2::64B.b32
// CHECK: ld.weak.global.L2::128B.b32
// CHECK: ld.weak.global.L2::128B.b32
// CHECK: ld.weak.global.L2::256B.b32
// CHECK: ld.weak.global.L2::256B.b32
// CHECK: ret;
extern "C" __global__ void prefetches(const int* p, int* out) {
  int sum = 0;
  sum += forwarded(p, prefetch_64B) + by_reference(p, prefetch_64B);
  sum += forwarded(p, prefetch_128B) + by_reference(p, prefetch_128B);
  sum += forwarded(p, prefetch_256B) + by_reference(p, prefetch_256B);
  *out = sum;
}

// CHECK-LABEL: .entry operators(
// CHECK: ld.weak.global.ca.b32
// CHECK: ld.weak.global.ca.b32
// CHECK: ld.weak.global.cg.b32
// CHECK: ld.weak.global.cg.b32
// CHECK: ld.weak.global.cs.b32
// CHECK: ld.weak.global.cs.b32
// CHECK: ld.weak.global.lu.b32
// CHECK: ld.weak.global.lu.b32
// CHECK: ld.weak.global.cv.b32
// CHECK: ld.weak.global.cv.b32
// CHECK: st.weak.global.wb.b32
// CHECK: st.weak.global.wb.b32
// CHECK: st.weak.global.wt.b32
// CHECK: st.weak.global.wt.b32
// CHECK: ret;
extern "C" __global__ void operators(int* p, int* out) {
  int sum = 0;
  sum += forwarded(p, cache_op::ca) + by_reference(p, cache_op::ca);
  sum += forwarded(p, cache_op::cg) + by_reference(p, cache_op::cg);
  sum += forwarded(p, cache_op::cs) + by_reference(p, cache_op::cs);
  sum += forwarded(p, cache_op::lu) + by_reference(p, cache_op::lu);
  sum += forwarded(p, cache_op::cv) + by_reference(p, cache_op::cv);
  forwarded_store(p, cache_op::wb);
  store_by_reference(p, cache_op::wb);
  forwarded_store(p, cache_op::wt);
  store_by_reference(p, cache_op::wt);
  *out = sum;
}

/// Passes, through a reference, the priority to which an L2 hint converts.
template <class Hint>
__device__ int priority_by_reference(const Hint& hint) {
  return static_cast<int>(static_cast<l2_priority>(hint));
}
template <class Hint>
__device__ int forwarded_priority(Hint&& hint) {
  return priority_by_reference(std::forward<Hint>(hint));
}

// CHECK-LABEL: .entry hints_of_l2(
// CHECK: ret;
extern "C" __global__ void hints_of_l2(int* out) {
  *out = forwarded_priority(l2::evict_normal) + 4 * forwarded_priority(l2::evict_unchanged) +
         16 * forwarded_priority(l2::evict_first) + 64 * forwarded_priority(l2::evict_last);
}

// CHECK-LABEL: .entry groups(
// CHECK: ret;
extern "C" __global__ void groups(unsigned* out) {
  *out = forwarded_group(symmetric::by_thread) + forwarded_group(symmetric::by_warp) + forwarded_group(symmetric::by_block);
}
