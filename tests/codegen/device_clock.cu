// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Reading the clock takes one instruction, and each call reads the clock again.
#include <membar/device_clock.cuh>

// CHECK-LABEL: .entry elapsed(
// CHECK: mov.u64 %[[BEGIN:rd[0-9]+]], %globaltimer;
// CHECK: mov.u64 %[[END:rd[0-9]+]], %globaltimer;
// CHECK: sub.s64 %[[TIME:rd[0-9]+]], %[[END]], %[[BEGIN]];
// CHECK: st.global.{{[bu]}}64 [%{{.*}}], %[[TIME]];
// CHECK: ret;
extern "C" __global__ void elapsed(unsigned long long* out) {
  const unsigned long long begin = membar::global_nanoseconds();
  *out = membar::global_nanoseconds() - begin;
}
