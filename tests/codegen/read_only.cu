// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Read-only and constant data: the instruction that reads the data, compared with the instruction that the compiler generates
// for plain C++.
#include <membar/constant.cuh>
#include <membar/interop/annotated_ptr.cuh>
#include <membar/read_only.cuh>

struct three {
  float x, y, z;
};
struct alignas(8) six {
  int values[6];
};
struct coefficients {
  float values[16];
};

__constant__ membar::constant_table<float, 9> weights;

// CHECK-LABEL: .entry a_span_reads_through_the_read_only_path(
// CHECK-NOT: {{[[:space:]]ld[.](global|weak|relaxed)[.]?[^n]}}
// CHECK: ld.global.nc.b32
// CHECK: st.global
extern "C" __global__ void a_span_reads_through_the_read_only_path(membar::read_only_span<int> span, int* out) {
  *out = span[1];
}

// The compiler uses the same path for __restrict__ if it can see that nothing else writes.
// CHECK-LABEL: .entry restrict_reads_the_same_way_in_a_simple_kernel(
// CHECK: ld.global.nc.{{[bus]}}32
extern "C" __global__ void restrict_reads_the_same_way_in_a_simple_kernel(const int* __restrict__ in, int* __restrict__ out) {
  *out = in[1];
}

// If it cannot see that, it uses an ordinary load.
// CHECK-LABEL: .entry without_restrict_it_is_an_ordinary_load(
// CHECK-NOT: ld.global.nc
// CHECK: ld.global.{{[bus]}}32
// CHECK: ret;
extern "C" __global__ void without_restrict_it_is_an_ordinary_load(const int* in, int* out) { *out = in[1]; }

// After a store, the compiler reads the data again through a plain pointer, because the store may have changed it. Through a
// restricted pointer, the value is kept.
// CHECK-LABEL: .entry a_plain_pointer_is_read_again_after_a_store(
// CHECK-COUNT-2: ld.global.{{[bus]}}32
// CHECK: ret;
extern "C" __global__ void a_plain_pointer_is_read_again_after_a_store(const int* in, int* out) {
  out[0] = in[1];
  out[1] = in[1];
}

// CHECK-LABEL: .entry a_restricted_pointer_is_read_once(
// CHECK-COUNT-1: ld.global.nc.{{[bus]}}32
// CHECK-NOT: ld.global
// CHECK: ret;
extern "C" __global__ void a_restricted_pointer_is_read_once(const int* __restrict__ in, int* __restrict__ out) {
  out[0] = in[1];
  out[1] = in[1];
}

// CHECK-LABEL: .entry twelve_bytes_are_three_loads(
// CHECK-COUNT-3: ld.global.nc.b32
// CHECK-NOT: ld.global
// CHECK: ret;
extern "C" __global__ void twelve_bytes_are_three_loads(const three* in, three* out) { *out = membar::load_read_only(in); }

// CHECK-LABEL: .entry twenty_four_bytes_aligned_to_8_are_three_loads(
// CHECK-COUNT-3: ld.global.nc.L1::evict_last.b64
// CHECK-NOT: ld.global
// CHECK: ret;
extern "C" __global__ void twenty_four_bytes_aligned_to_8_are_three_loads(const six* in, six* out) {
  *out = membar::load_read_only(in, membar::l1::evict_last);
}

// CHECK-LABEL: .entry a_constant_index_is_an_address(
// CHECK: ld.const.{{[bf]}}32 {{[[:space:]]*}}%{{[rf][0-9]+}}, [weights+12];
// CHECK-NOT: ld.const
// CHECK: ret;
extern "C" __global__ void a_constant_index_is_an_address(float* out) { *out = weights.broadcast<3>(); }

// CHECK-LABEL: .entry a_table_is_read_from_constant_memory(
// CHECK: ld.const.{{[bf]}}32
// CHECK-NOT: {{ld[.](global|local)}}
// CHECK: ret;
extern "C" __global__ void a_table_is_read_from_constant_memory(float* out, int i) { *out = weights[i]; }

// A parameter that is indexed at run time stays in constant memory if it is a __grid_constant__.
// CHECK-LABEL: .entry a_grid_constant_parameter_stays_where_it_is(
// CHECK-NOT: {{(ld|st)[.]local}}
// CHECK: ld.param.{{[bf]}}32
// CHECK-NOT: {{(ld|st)[.]local}}
// CHECK: ret;
extern "C" __global__ void a_grid_constant_parameter_stays_where_it_is(const __grid_constant__ coefficients c, float* out,
                                                                       int i) {
  *out = c.values[i];
}

// CHECK-LABEL: .entry an_annotated_pointer_keeps_its_property(
// CHECK: ld.param.u64 {{[[:space:]]*}}%[[PROPERTY:rd[0-9]+]], [an_annotated_pointer_keeps_its_property_param_1];
// CHECK-NOT: createpolicy
// CHECK: ld.weak.global.L1::no_allocate.L2::cache_hint.b32 %{{r[0-9]+}}, [%{{rd[0-9]+}}], %[[PROPERTY]];
// CHECK: ld.acquire.gpu.global.L2::cache_hint.b32 %{{r[0-9]+}}, [%{{rd[0-9]+}}], %[[PROPERTY]];
// CHECK: ret;
extern "C" __global__ void an_annotated_pointer_keeps_its_property(const int* in, cuda::access_property property, int* out) {
  const cuda::annotated_ptr<const int, cuda::access_property> hot(in, property);
  out[0] = membar::load_weak(hot, membar::l1::no_allocate);
  out[1] = membar::load<membar::thread_scope::device>(hot, membar::acquire);
}
