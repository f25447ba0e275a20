// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Operations of 32 and 64 bits, written with membar and with cuda::atomic_ref, for same_code.py. At every scope that both
// libraries support, the operations compile to the same machine code, except for relaxed operations other than exchange, which
// name the state space, and for operations that ptxas turns into loops in shared memory.
#include <bench/atomics/steps.cuh>

namespace {

using membar::thread_scope;
using steps::cuda_order;
using steps::cuda_scope;

// Each operation is written in two ways, whose names differ only at the beginning.
#define MEMBAR_TEST_SPELLINGS(operation, membar_call, cuda_call) \
  template <class T, thread_scope Scope, class Order>            \
  struct membar_##operation {                                    \
    __device__ static T run(T* object, T value) {                \
      const membar::atomic_ref<T, Scope> ref(*object);           \
      membar_call;                                               \
    }                                                            \
  };                                                             \
  template <class T, thread_scope Scope, class Order>            \
  struct cuda_##operation {                                      \
    __device__ static T run(T* object, T value) {                \
      const cuda::atomic_ref<T, cuda_scope<Scope>> ref(*object); \
      cuda_call;                                                 \
    }                                                            \
  }

MEMBAR_TEST_SPELLINGS(load, return ref.load(Order{}), return ref.load(cuda_order<Order>));
MEMBAR_TEST_SPELLINGS(store, ref.store(value, Order{}); return value, ref.store(value, cuda_order<Order>); return value);
MEMBAR_TEST_SPELLINGS(exchange, return ref.exchange(value, Order{}), return ref.exchange(value, cuda_order<Order>));
MEMBAR_TEST_SPELLINGS(add, return ref.fetch_add(value, Order{}), return ref.fetch_add(value, cuda_order<Order>));
MEMBAR_TEST_SPELLINGS(max, return ref.fetch_max(value, Order{}), return ref.fetch_max(value, cuda_order<Order>));
MEMBAR_TEST_SPELLINGS(compare_exchange, T expected = value; ref.compare_exchange(expected, value, Order{}, membar::relaxed);
                      return expected, T expected = value;
                      ref.compare_exchange_strong(expected, value, cuda_order<Order>, cuda::memory_order_relaxed);
                      return expected);

}  // namespace

template <class Step, class T>
__global__ void operation(T* object, T value, T* result) {
  *result = Step::run(object, value);
}

#define MEMBAR_TEST_PAIR(step, T, scope, order)                                                               \
  template __global__ void operation<membar_##step<T, thread_scope::scope, membar::order##_t>, T>(T*, T, T*); \
  template __global__ void operation<cuda_##step<T, thread_scope::scope, membar::order##_t>, T>(T*, T, T*)
#define MEMBAR_TEST_SCOPES(step, T, order)  \
  MEMBAR_TEST_PAIR(step, T, block, order);  \
  MEMBAR_TEST_PAIR(step, T, device, order); \
  MEMBAR_TEST_PAIR(step, T, system, order)
#define MEMBAR_TEST_ORDERED(step, T)    \
  MEMBAR_TEST_SCOPES(step, T, acquire); \
  MEMBAR_TEST_SCOPES(step, T, release); \
  MEMBAR_TEST_SCOPES(step, T, acq_rel); \
  MEMBAR_TEST_SCOPES(step, T, seq_cst)
#define MEMBAR_TEST_ORDERS(step, T)     \
  MEMBAR_TEST_SCOPES(step, T, relaxed); \
  MEMBAR_TEST_ORDERED(step, T)
#define MEMBAR_TEST_TYPE(T)              \
  MEMBAR_TEST_SCOPES(load, T, relaxed);  \
  MEMBAR_TEST_SCOPES(load, T, acquire);  \
  MEMBAR_TEST_SCOPES(load, T, seq_cst);  \
  MEMBAR_TEST_SCOPES(store, T, relaxed); \
  MEMBAR_TEST_SCOPES(store, T, release); \
  MEMBAR_TEST_SCOPES(store, T, seq_cst); \
  MEMBAR_TEST_ORDERS(exchange, T);       \
  MEMBAR_TEST_ORDERS(compare_exchange, T)

MEMBAR_TEST_TYPE(unsigned);
MEMBAR_TEST_TYPE(int);
MEMBAR_TEST_TYPE(unsigned long long);
MEMBAR_TEST_TYPE(long long);
MEMBAR_TEST_TYPE(float);
MEMBAR_TEST_TYPE(double);
MEMBAR_TEST_ORDERED(add, unsigned);
MEMBAR_TEST_ORDERED(add, int);
MEMBAR_TEST_ORDERED(max, unsigned);
MEMBAR_TEST_ORDERED(max, int);
