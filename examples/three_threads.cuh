// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
/// @file
/// The three threads of three_threads.cu. `Scope` is the scope of the flag a, between the two kernels. Every wait has a time
/// limit.
#pragma once

#include <membar/atomic.cuh>
#include <membar/device_clock.cuh>
#include <membar/launch.hpp>

#include <chrono>
#include <cstdio>

struct words {
  alignas(128) int x, a, b;
  alignas(128) int taken;  // The last round that thread 3 has seen.
};
constexpr int rounds = 10'000;
using membar::check, membar::sync_domain;
using system_flag = membar::atomic_ref<int, membar::thread_scope::system>;

/// Returns whether `flag` reached `round` within two seconds. The flags only increase.
template <class Flag>
__device__ bool reached(Flag flag, int round) {
  for (const auto begin = membar::global_nanoseconds(); membar::global_nanoseconds() - begin < 2'000'000'000;) {
    if (flag.load(membar::acquire) >= round) {
      return true;
    }
  }
  return false;
}

template <membar::thread_scope Scope>
__global__ void thread_1(words* shared) {
  for (int round = 1; round <= rounds && reached(system_flag(shared->taken), round - 1); ++round) {
    shared->x = 7 * round;
    membar::atomic_ref<int, Scope>(shared->a).store(round, membar::release);
  }
}

template <membar::thread_scope Scope>
__global__ void thread_2(words* shared) {
  for (int round = 1; round <= rounds && reached(membar::atomic_ref<int, Scope>(shared->a), round); ++round) {
    system_flag(shared->b).store(round, membar::release);
  }
}

/// Launches threads 1 and 2, with thread 2 in domain `second`, and runs thread 3. Returns how often x still had its old value,
/// or 1 if a wait timed out.
template <membar::thread_scope Scope>
int play(const char* name, words* shared, sync_domain second, cudaStream_t (&streams)[2]) {
  *shared = {};
  cudaFuncAttributes loaded{};  // CUDA loads a kernel on first use, and may then wait for running kernels.
  check(cudaFuncGetAttributes(&loaded, thread_1<Scope>));
  check(cudaFuncGetAttributes(&loaded, thread_2<Scope>));
  membar::launch(membar::launch_config{1, 1, streams[0]}.with(sync_domain::default_), thread_1<Scope>, shared);
  membar::launch(membar::launch_config{1, 1, streams[1]}.with(second), thread_2<Scope>, shared);
  int old = 0;
  const auto begin = std::chrono::steady_clock::now();
  for (int round = 1; round <= rounds; ++round) {
    while (system_flag(shared->b).load(membar::acquire) < round) {
      if (std::chrono::steady_clock::now() - begin > std::chrono::seconds(20)) {
        std::printf("%s: late in round %d\n", name, round);
        check(cudaDeviceSynchronize());  // The kernels end within two seconds.
        return 1;
      }
    }
    old += shared->x == 7 * round ? 0 : 1;
    system_flag(shared->taken).store(round, membar::release);
  }
  const std::chrono::duration<double, std::micro> time = std::chrono::steady_clock::now() - begin;
  check(cudaDeviceSynchronize());
  std::printf("%s: x was old in %d of %d rounds, %.1f us a round\n", name, old, rounds, time.count() / rounds);
  return old;
}
