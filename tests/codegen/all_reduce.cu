// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// All-reduces, and packed messages of the toolkit's types. Memory is ordered only where a guarantee requires it, and accesses
// are 16 bytes wide.
// FileCheck compares the PTX with the CHECK lines.
#include <membar/symmetric/all_reduce.cuh>
#include <membar/symmetric/packed.cuh>

namespace symmetric = membar::symmetric;
using symmetric::by_thread, symmetric::object, symmetric::packed, symmetric::pe, symmetric::peer_backend;
template <class T>
using memory = symmetric::all_reduce_memory<T, peer_backend>;

// One shot: the end of the last round is signalled after a fence, before any load, and received with an acquire. In between are
// vector accesses, which are relaxed, and the load of the flag that another PE sets when it gives up. Nothing is printed.
// CHECK-LABEL: .entry one_shot(
// CHECK-NOT: {{ld\.global|membar\.|call}}
// CHECK: fence.{{release|acq_rel}}.sys
// CHECK-NOT: {{fence\.|membar\.|call|\.acquire|\.release}}
// CHECK: st.relaxed.sys.b64
// CHECK-NOT: {{fence\.|membar\.|call|\.acquire|\.release}}
// CHECK: st.relaxed.sys.b128
// CHECK-NOT: {{fence\.|membar\.|call|\.acquire|\.release}}
// CHECK: ld.relaxed.sys.b128
// CHECK-NOT: {{fence\.|membar\.|call|\.acquire|\.release}}
// CHECK: ld.acquire.sys.b64
// CHECK-NOT: {{fence\.|membar\.|call|\.acquire|\.release}}
// CHECK: bar.sync
// CHECK-NOT: {{fence\.|membar\.|call|\.acquire|\.release}}
// CHECK: ret;
extern "C" __global__ void one_shot(const __nv_bfloat16* in, __nv_bfloat16* out, std::size_t size, memory<__nv_bfloat16> all) {
  static_cast<void>(symmetric::all_reduce_in_one_shot<membar::sum>(in, out, size, all));
}

// Two shots: stores to the other PEs are released twice, at a barrier among this block and its counterparts on all other PEs.
// CHECK-LABEL: .entry two_shots(
// CHECK-NOT: {{\.relaxed|\.acquire|\.release|call}}
// CHECK-COUNT-4: ld.global.v4.u32
// CHECK-NOT: {{\.relaxed|\.acquire|\.release|call}}
// CHECK-COUNT-4: st.global.v4.u32
// CHECK: bar.sync
// CHECK: st.release.sys.b64
// CHECK: ld.acquire.sys.b64
// CHECK: bar.red.or
// CHECK-NOT: {{\.relaxed|\.acquire|\.release|call}}
// CHECK: st.global.v4.u32
// CHECK: bar.sync
// CHECK: st.release.sys.b64
// CHECK: ld.acquire.sys.b64
// CHECK: bar.red.or
// CHECK-NOT: {{\.acquire|\.release|call}}
// CHECK: ret;
extern "C" __global__ void two_shots(const __half* in, __half* out, std::size_t size, memory<__half> all) {
  static_cast<void>(symmetric::detail::reduce_in_two_shots<membar::maximum>(in, out, size, all));
}

// The contents of packed messages: pairs, bytes and structs with padding, with three elements per 12-byte word or one element
// in several words.
struct odd {
  char bytes[13];
};
struct with_gaps {
  char small;
  float large;
  __nv_bfloat16 end;
};
// CHECK-LABEL: .entry put_packed_types(
// CHECK-NOT: {{fence\.|\.acquire|\.release|membar\.}}
// CHECK-COUNT-5: st.relaxed.sys.b128
// CHECK-NOT: {{st\.relaxed|fence\.|\.acquire|\.release|membar\.}}
// CHECK: ret;
extern "C" __global__ void put_packed_types(object<packed<__half2>> halves, object<packed<__nv_bfloat162>> pairs,
                                            object<packed<odd>> bytes, object<packed<with_gaps>> gaps, const __half2* half,
                                            const __nv_bfloat162* pair, const odd* text, const with_gaps* gap, pe other) {
  symmetric::put_packed(by_thread, halves, half, 1, other);
  symmetric::put_packed(by_thread, pairs, pair, 1, other);
  symmetric::put_packed(by_thread, bytes, text, 1, other);
  symmetric::put_packed(by_thread, gaps, gap, 1, other);
}
