// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Operations on multimem addresses: one instruction each, with its order, scope and type, and no fence.
#include <membar/fence.cuh>
#include <membar/multimem.cuh>

using membar::acquire, membar::multimem_ref, membar::relaxed, membar::release, membar::thread_scope;
template <class T>
using system_ref = multimem_ref<T, thread_scope::system>;

// CHECK-LABEL: .entry stores(
// CHECK-NOT: fence
// CHECK: multimem.st.relaxed.sys.global.b32
// CHECK: multimem.st.release.sys.global.b64
// CHECK: multimem.st.release.gpu.global.b32
// CHECK: multimem.st.relaxed.sys.global.v2.f32
// CHECK: multimem.st.release.sys.global.v4.f32
// CHECK: multimem.st.release.sys.global.v4.f32
// CHECK-NOT: fence
// CHECK: ret;
extern "C" __global__ void stores(unsigned* a, double* b, float* c, float2* d, float4* e, membar::packed_bfloat8* f,
                                  float4 quad, membar::packed_bfloat8 eight) {
  system_ref<unsigned>(a).store(1, relaxed);
  system_ref<double>(b).store(1.0, release);
  multimem_ref<float, thread_scope::device>(c).store(1.0F, release);
  system_ref<float2>(d).store(float2{1, 2}, relaxed);
  system_ref<float4>(e).store(quad, release);
  system_ref<membar::packed_bfloat8>(f).store(eight, release);
}

// CHECK-LABEL: .entry sums(
// CHECK-NOT: fence
// CHECK: multimem.red.relaxed.sys.global.add.u32
// CHECK: multimem.red.release.sys.global.add.s32
// CHECK: multimem.red.release.cluster.global.add.u64
// CHECK: multimem.red.relaxed.cta.global.add.f32
// CHECK: multimem.red.release.sys.global.add.f64
// CHECK: multimem.red.relaxed.sys.global.add.v2.f32
// CHECK: multimem.red.relaxed.sys.global.add.v4.f32
// CHECK: multimem.red.relaxed.sys.global.add.v4.f16x2
// CHECK: multimem.red.release.sys.global.add.v4.bf16x2
// CHECK-NOT: fence
// CHECK: ret;
extern "C" __global__ void sums(unsigned* a, int* b, long long* c, float* d, double* e, float2* f, float4* g,
                                membar::packed_half8* h, membar::packed_bfloat8* i, float4 quad, membar::packed_half8 halves,
                                membar::packed_bfloat8 eight) {
  system_ref<unsigned>(a).add(1, relaxed);
  system_ref<int>(b).add(1, release);
  multimem_ref<long long, thread_scope::cluster>(c).add(1, release);
  multimem_ref<float, thread_scope::block>(d).add(1, relaxed);
  system_ref<double>(e).add(1, release);
  system_ref<float2>(f).add(float2{1, 2}, relaxed);
  system_ref<float4>(g).add(quad, relaxed);
  system_ref<membar::packed_half8>(h).add(halves, relaxed);
  system_ref<membar::packed_bfloat8>(i).add(eight, release);
}

// CHECK-LABEL: .entry other_reductions(
// CHECK-NOT: fence
// CHECK: multimem.red.release.sys.global.min.s64
// CHECK: multimem.red.relaxed.sys.global.max.u32
// CHECK: multimem.red.relaxed.sys.global.max.v4.f16x2
// CHECK: multimem.red.relaxed.sys.global.and.b32
// CHECK: multimem.red.release.sys.global.or.b64
// CHECK: multimem.red.relaxed.sys.global.xor.b32
// CHECK-NOT: fence
// CHECK: ret;
extern "C" __global__ void other_reductions(long long* a, unsigned* b, membar::packed_half8* c, unsigned long long* d,
                                            membar::packed_half8 halves) {
  system_ref<long long>(a).min(1, release);
  system_ref<unsigned>(b).max(1, relaxed);
  system_ref<membar::packed_half8>(c).max(halves, relaxed);
  system_ref<unsigned>(b).bit_and(1, relaxed);
  system_ref<unsigned long long>(d).bit_or(1, release);
  system_ref<unsigned>(b).bit_xor(1, relaxed);
}

// CHECK-LABEL: .entry loads(
// CHECK-NOT: fence
// CHECK: multimem.ld_reduce.relaxed.sys.global.add.s32
// CHECK: multimem.ld_reduce.acquire.sys.global.add.u64
// CHECK: multimem.ld_reduce.acquire.gpu.global.min.s64
// CHECK: multimem.ld_reduce.acquire.sys.global.max.s32
// CHECK: multimem.ld_reduce.relaxed.sys.global.and.b32
// CHECK: multimem.ld_reduce.relaxed.sys.global.or.b64
// CHECK: multimem.ld_reduce.relaxed.sys.global.xor.b32
// CHECK: multimem.ld_reduce.relaxed.sys.global.add.f32
// CHECK: multimem.ld_reduce.relaxed.sys.global.add.f64
// CHECK: multimem.ld_reduce.relaxed.sys.global.add.v2.f32
// CHECK: multimem.ld_reduce.acquire.sys.global.add.v4.f32
// CHECK: multimem.ld_reduce.relaxed.sys.global.add.acc::f32.v4.f16x2
// CHECK: multimem.ld_reduce.acquire.sys.global.add.acc::f32.v4.bf16x2
// CHECK: multimem.ld_reduce.relaxed.sys.global.max.v4.bf16x2
// CHECK-NOT: fence
// CHECK: ret;
extern "C" __global__ void loads(int* a, long long* b, float* c, double* d, float2* e, float4* f, membar::packed_half8* g,
                                 membar::packed_bfloat8* h) {
  const auto sum = [](auto* here, auto value) { *here = value; };
  sum(a, system_ref<int>(a).load_sum(relaxed));
  sum(b, system_ref<long long>(b).load_sum(acquire));
  sum(b, multimem_ref<long long, thread_scope::device>(b).load_min(acquire));
  sum(a, system_ref<int>(a).load_max(acquire));
  sum(a, system_ref<int>(a).load_and(relaxed));
  sum(b, system_ref<long long>(b).load_or(relaxed));
  sum(a, system_ref<int>(a).load_xor(relaxed));
  sum(c, system_ref<float>(c).load_sum(relaxed));
  sum(d, system_ref<double>(d).load_sum(relaxed));
  sum(e, system_ref<float2>(e).load_sum(relaxed));
  sum(f, system_ref<float4>(f).load_sum(acquire));
  sum(g, system_ref<membar::packed_half8>(g).load_sum(relaxed));
  sum(h, system_ref<membar::packed_bfloat8>(h).load_sum(acquire));
  sum(h, system_ref<membar::packed_bfloat8>(h).load_max(relaxed));
}

// An access through a device's own address, followed by an access through the multimem address.
// CHECK-LABEL: .entry own_address_then_multimem(
// CHECK: st.relaxed.sys
// CHECK: fence.proxy.alias;
// CHECK: multimem.ld_reduce.acquire.sys.global.add.u32
// CHECK: ret;
extern "C" __global__ void own_address_then_multimem(unsigned* own, unsigned* all, unsigned* out) {
  asm volatile("st.relaxed.sys.global.b32 [%0], 1;" ::"l"(__cvta_generic_to_global(own)) : "memory");
  membar::proxy_fence<membar::proxy::alias>();
  *out = system_ref<unsigned>(all).load_sum(acquire);
}
