// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The litmus kernel adds only its barrier's orders to a test, and nothing between two accesses of a test thread.
#include <membar/litmus/kernel.cuh>

namespace {

namespace litmus = membar::litmus;

/// The test's accesses have type .s32; no other access in the kernel has this type.
struct message_passing {
  static constexpr int threads = 2;
  static constexpr int locations = 2;
  static constexpr int observations = 2;
  __host__ __device__ static constexpr litmus::observation observed(int) { return {-1, 4, 3, 0}; }
  __host__ __device__ static constexpr unsigned digit(int, long long value) {
    return value >= 0 && value < 2 ? static_cast<unsigned>(value) : 2;
  }
  __host__ __device__ static constexpr litmus::cell_value initial(int) { return {}; }

  template <int Thread>
  static __device__ void run(const litmus::instance_cells& at, const litmus::results<message_passing>& out) {
    if constexpr (Thread == 0) {
      asm volatile("st.relaxed.gpu.s32 [%0], 1;" ::"l"(at.as<int>(0)) : "memory");
      asm volatile("st.relaxed.gpu.s32 [%0], 1;" ::"l"(at.as<int>(1)) : "memory");
    } else {
      int flag = 0;
      int data = 0;
      asm volatile("ld.relaxed.gpu.s32 %0, [%1];" : "=r"(flag) : "l"(at.as<int>(1)) : "memory");
      asm volatile("ld.relaxed.gpu.s32 %0, [%1];" : "=r"(data) : "l"(at.as<int>(0)) : "memory");
      out.write(0, flag);
      out.write(1, data);
    }
  }
};

}  // namespace

// With a single launch, the barrier has device scope; with several launches, it has system scope. There is no other fence.
// CHECK-LABEL: .entry run_message_passing(
// CHECK-NOT: fence.
// CHECK: atom.acq_rel.gpu.add.u32
// CHECK: atom.acq_rel.sys.add.u32
// CHECK-NOT: fence.
// CHECK: st.release.sys.u32
// CHECK: nanosleep.u32
// CHECK: ld.acquire.sys.u32
// CHECK: st.release.sys.u32
// CHECK-NOT: fence.
// CHECK: ld.relaxed.gpu.s32
// CHECK-NOT: {{[[:space:]](ld|st|bar|atom|red|fence)\.}}
// CHECK: ld.relaxed.gpu.s32
// CHECK-NOT: fence.
// CHECK: st.relaxed.gpu.s32
// CHECK-NOT: {{[[:space:]](ld|st|bar|atom|red|fence)\.}}
// CHECK: st.relaxed.gpu.s32
// CHECK-NOT: fence.
// CHECK: st.release.gpu.u32
// CHECK: ld.acquire.gpu.u32
// CHECK-NOT: fence.
extern "C" __global__ void __launch_bounds__(1024, 1) run_message_passing(const __grid_constant__ litmus::launch_view view) {
  litmus::run_launch<message_passing>(view);
}
