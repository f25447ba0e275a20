// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
/// @file
/// The kernel that runs a litmus test: blocks that stay, run instances of the test step by step, reset the memory and count
/// the outcomes.
///
/// A test is a type:
///
/// ```cpp
/// struct message_passing {
///   static constexpr int threads = 2;
///   static constexpr int locations = 2;
///   static constexpr int observations = 2;
///   __host__ __device__ static constexpr membar::litmus::observation observed(int o);
///   __host__ __device__ static constexpr unsigned digit(int o, long long value);  // radix - 1: a value that is not expected
///   __host__ __device__ static constexpr membar::litmus::cell_value initial(int location);
///   template <int Thread>
///   static __device__ void run(const membar::litmus::cells& at, const membar::litmus::results<message_passing>& out);
/// };
/// ```
///
/// An outcome is a number: the sum of each observation's digit times the product of the radices of those before it. `test.cuh`
/// makes such a type of a test written with membar's operations, `source.hpp` writes one for a litmus file. A loop in `run`
/// looks at `abandoned(at)`, and leaves if that is true.
///
/// Freestanding: NVRTC compiles it with instance_layout.hpp, launch_view.hpp and detail/config.hpp, and nothing else.
#pragma once

#include <membar/detail/config.hpp>
#include <membar/litmus/instance_layout.hpp>
#include <membar/litmus/launch_view.hpp>

namespace membar::litmus {

/// The number of outcomes of `Test`, those with unexpected values included; at most `max_outcomes`.
template <class Test>
[[nodiscard]] MEMBAR_HOST_DEVICE constexpr unsigned outcome_count() noexcept {
  unsigned count = 1;
  for (int o = 0; o < Test::observations; ++o) {
    count *= Test::observed(o).radix;
  }
  return count;
}

/// Whether the run has been given up, or its time is over: a loop inside a test leaves then, and the run is reported as timed
/// out. Reads a clock and a word that others share; look at it every few dozen turns.
[[nodiscard]] __device__ inline bool abandoned(const cells& at) noexcept;

/// A launch's part of a run: the body of `run_instances`, for kernels of another name.
///
/// Launch: `where.blocks` testing blocks of `where.width` threads, then any number of blocks that make stress; all resident at
/// once. Dynamic shared memory: 4 bytes per outcome.
template <class Test>
__device__ void run_launch(const launch_view& view);

/// The kernel. At most 64 registers a thread, so that 1024 threads fit into a multiprocessor.
template <class Test>
__global__ void __launch_bounds__(1024, 1) run_instances(const __grid_constant__ launch_view view) {
  run_launch<Test>(view);
}

}  // namespace membar::litmus
