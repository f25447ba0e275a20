// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Operations of 32 and 64 bits in membar's words and in those of cuda::atomic_ref, for same_code.py: what is one instruction in
// both is the same machine code, and a ratio of their times other than 1 is chance.
#include <bench/atomics/steps.cuh>

template <class Step, class T>
__global__ void operation(T* object, T value, T* result) {
  *result = Step::run(object, value);
}

#define MEMBAR_TEST_PAIR(step, T, ...)                                                    \
  template __global__ void operation<steps::membar_##step<T, __VA_ARGS__>, T>(T*, T, T*); \
  template __global__ void operation<steps::cuda_##step<T, __VA_ARGS__>, T>(T*, T, T*)

#define MEMBAR_TEST_ADD(T, order)                                           \
  MEMBAR_TEST_PAIR(add, T, steps::thread_scope::block, membar::order##_t);  \
  MEMBAR_TEST_PAIR(add, T, steps::thread_scope::device, membar::order##_t); \
  MEMBAR_TEST_PAIR(add, T, steps::thread_scope::system, membar::order##_t)

#define MEMBAR_TEST_ALL_BUT_MAX(T)                          \
  MEMBAR_TEST_ADD(T, relaxed);                              \
  MEMBAR_TEST_ADD(T, acq_rel);                              \
  MEMBAR_TEST_PAIR(exchange, T, membar::relaxed_t);         \
  MEMBAR_TEST_PAIR(exchange, T, membar::acq_rel_t);         \
  MEMBAR_TEST_PAIR(compare_exchange, T, membar::relaxed_t); \
  MEMBAR_TEST_PAIR(compare_exchange, T, membar::acq_rel_t); \
  MEMBAR_TEST_PAIR(load, T, membar::acquire_t);             \
  MEMBAR_TEST_PAIR(store, T, membar::release_t)

#define MEMBAR_TEST_MAX(T)                     \
  MEMBAR_TEST_PAIR(max, T, membar::relaxed_t); \
  MEMBAR_TEST_PAIR(max, T, membar::acq_rel_t)

MEMBAR_TEST_ALL_BUT_MAX(unsigned);
MEMBAR_TEST_ALL_BUT_MAX(unsigned long long);
MEMBAR_TEST_ALL_BUT_MAX(float);
MEMBAR_TEST_ALL_BUT_MAX(double);
MEMBAR_TEST_ADD(unsigned, seq_cst);
MEMBAR_TEST_MAX(unsigned);
MEMBAR_TEST_MAX(unsigned long long);
