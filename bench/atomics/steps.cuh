// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
/// @file
/// Each operation, written with membar, `cuda::atomic_ref`, CUDA's intrinsics and PTX.
#pragma once

#include <membar/aggregated.cuh>

#include <cuda/atomic>

#include <cuda_bf16.h>
#include <cuda_fp16.h>

namespace steps {

using membar::thread_scope;

template <thread_scope Scope>
inline constexpr cuda::thread_scope cuda_scope = Scope == thread_scope::block    ? cuda::thread_scope_block
                                                 : Scope == thread_scope::device ? cuda::thread_scope_device
                                                                                 : cuda::thread_scope_system;
template <class Order>
inline constexpr cuda::memory_order cuda_order = std::is_same_v<Order, membar::relaxed_t>   ? cuda::memory_order_relaxed
                                                 : std::is_same_v<Order, membar::acquire_t> ? cuda::memory_order_acquire
                                                 : std::is_same_v<Order, membar::release_t> ? cuda::memory_order_release
                                                 : std::is_same_v<Order, membar::acq_rel_t> ? cuda::memory_order_acq_rel
                                                                                            : cuda::memory_order_seq_cst;

/// A 16-byte value.
struct alignas(16) wide {
  unsigned long long low, high;
};

// Each step takes an object and a value that depends on the previous step, and returns a value on which the next step depends.
// Each step is named after its variant.

struct of_membar {
  static constexpr const char* name = "membar";
};
struct of_cuda {
  static constexpr const char* name = "cuda_atomic_ref";
};
struct of_intrinsic {
  static constexpr const char* name = "intrinsic";
};
struct of_ptx {
  static constexpr const char* name = "ptx";
};
struct of_aggregation {
  static constexpr const char* name = "aggregated";
};

// Operations that both membar's references and `cuda::atomic_ref` provide.
struct fetch_add {
  __device__ static auto run(const auto& object, auto value, auto order) { return object.fetch_add(value, order); }
};
struct fetch_max {
  __device__ static auto run(const auto& object, auto value, auto order) { return object.fetch_max(value, order); }
};
struct exchange {
  __device__ static auto run(const auto& object, auto value, auto order) { return object.exchange(value, order); }
};
struct load {
  __device__ static auto run(const auto& object, auto, auto order) { return object.load(order); }
};
struct store {
  __device__ static auto run(const auto& object, auto value, auto order) {
    object.store(value, order);
    return value;
  }
};
/// An operation that returns nothing, that is, a reduction.
struct add {
  __device__ static auto run(const auto& object, auto value, auto order) {
    object.add(value, order);
    return value;
  }
};
struct compare_exchange {
  template <class T, thread_scope Scope>
  __device__ static T run(const membar::atomic_ref<T, Scope>& object, T value, auto order) {
    T expected = value;
    object.compare_exchange(expected, value, order, membar::relaxed);
    return expected;
  }
  template <class T, cuda::thread_scope Scope>
  __device__ static T run(const cuda::atomic_ref<T, Scope>& object, T value, cuda::memory_order order) {
    T expected = value;
    object.compare_exchange_strong(expected, value, order, cuda::memory_order_relaxed);
    return expected;
  }
};

template <class Operation, class T, class Order, thread_scope Scope = thread_scope::device>
struct in_membar : of_membar {
  __device__ static T run(T* object, T value) { return Operation::run(membar::atomic_ref<T, Scope>(*object), value, Order{}); }
};
template <class Operation, class T, class Order, thread_scope Scope = thread_scope::device>
struct in_cuda : of_cuda {
  __device__ static T run(T* object, T value) {
    return Operation::run(cuda::atomic_ref<T, cuda_scope<Scope>>(*object), value, cuda_order<Order>);
  }
};

/// The compiler's own atomic functions.
template <class T, class Order>
struct builtin_add {
  static constexpr const char* name = "builtin";
  __device__ static T run(T* object, T value) {
    if constexpr (std::is_same_v<Order, membar::relaxed_t>) {  // the order must be a literal
      return __nv_atomic_fetch_add(object, value, __NV_ATOMIC_RELAXED, __NV_THREAD_SCOPE_DEVICE);
    } else {
      static_assert(std::is_same_v<Order, membar::acq_rel_t>);
      return __nv_atomic_fetch_add(object, value, __NV_ATOMIC_ACQ_REL, __NV_THREAD_SCOPE_DEVICE);
    }
  }
};
/// The PTX addition for 16-bit floating-point types, which ptxas expands into a loop.
template <class T, class Order>
__device__ T ptx_atom_add_half(T* object, T value) {
  constexpr bool relaxed = std::is_same_v<Order, membar::relaxed_t>;
  static_assert(relaxed || std::is_same_v<Order, membar::acq_rel_t>);
  constexpr bool bfloat16 = std::is_same_v<T, __nv_bfloat16>;
  unsigned short bits = __builtin_bit_cast(unsigned short, value);
  unsigned short old;
  if constexpr (relaxed && bfloat16) {
    asm volatile("atom.relaxed.gpu.add.noftz.bf16 %0, [%1], %2;" : "=h"(old) : "l"(object), "h"(bits) : "memory");
  } else if constexpr (relaxed) {
    asm volatile("atom.relaxed.gpu.add.noftz.f16 %0, [%1], %2;" : "=h"(old) : "l"(object), "h"(bits) : "memory");
  } else if constexpr (bfloat16) {
    asm volatile("atom.acq_rel.gpu.add.noftz.bf16 %0, [%1], %2;" : "=h"(old) : "l"(object), "h"(bits) : "memory");
  } else {
    asm volatile("atom.acq_rel.gpu.add.noftz.f16 %0, [%1], %2;" : "=h"(old) : "l"(object), "h"(bits) : "memory");
  }
  return __builtin_bit_cast(T, old);
}
template <class T>
struct ptx_add_half : of_ptx {
  __device__ static T run(T* object, T value) { return ptx_atom_add_half<T, membar::acq_rel_t>(object, value); }
};
/// The relaxed form of such an instruction between two fences, which are outside the loop that ptxas generates.
template <class T>
struct ptx_add_half_between_fences {
  static constexpr const char* name = "ptx_between_fences";
  __device__ static T run(T* object, T value) {
    membar::thread_fence<thread_scope::device>(membar::release);
    const T old = ptx_atom_add_half<T, membar::relaxed_t>(object, value);
    membar::thread_fence<thread_scope::device>(membar::acquire);
    return old;
  }
};

template <class T>
struct intrinsic_add : of_intrinsic {
  __device__ static T run(T* object, T value) { return atomicAdd(object, value); }
};
struct ptx_add_relaxed : of_ptx {
  __device__ static unsigned run(unsigned* object, unsigned value) {
    unsigned old;
    asm volatile("atom.relaxed.gpu.add.u32 %0, [%1], %2;" : "=r"(old) : "l"(object), "r"(value) : "memory");
    return old;
  }
};
struct ptx_add_acq_rel : of_ptx {
  __device__ static unsigned run(unsigned* object, unsigned value) {
    unsigned old;
    asm volatile("atom.acq_rel.gpu.add.u32 %0, [%1], %2;" : "=r"(old) : "l"(object), "r"(value) : "memory");
    return old;
  }
};

template <class T, class Order>
using membar_reduce = in_membar<add, T, Order>;
struct ptx_reduce : of_ptx {
  __device__ static unsigned run(unsigned* object, unsigned value) {
    asm volatile("red.relaxed.gpu.add.u32 [%0], %1;" ::"l"(object), "r"(value) : "memory");
    return value;
  }
};
template <class T>
struct intrinsic_reduce : of_intrinsic {
  __device__ static T run(T* object, T value) {
    atomicAdd(object, value);
    return value;
  }
};
/// The code that a user would write without the integer form.
struct loop_max {
  static constexpr const char* name = "loop";
  __device__ static float run(float* object, float value) {
    int seen = __float_as_int(*static_cast<volatile float*>(object));
    while (__int_as_float(seen) < value) {
      const int found = atomicCAS(reinterpret_cast<int*>(object), seen, __float_as_int(value));
      if (found == seen) {
        break;
      }
      seen = found;
    }
    return __int_as_float(seen);
  }
};
/// A step that is a single instruction in every variant.
template <class Step>
struct one_instruction : Step {
  static constexpr const char* name = "one_instruction";
};

// Functions that a user might pass.
struct larger_sum {
  __device__ wide operator()(wide a, wide b) const { return {a.low + b.low, a.high > b.high ? a.high : b.high}; }
};
struct larger {
  __device__ float operator()(float a, float b) const { return a > b ? a : b; }
};
/// Two sums in one word: the function is associative, but no instruction implements it.
struct mixed {
  __device__ unsigned long long operator()(unsigned long long a, unsigned long long b) const {
    constexpr unsigned long long low = 0xffff'ffff;
    return ((a & ~low) + (b & ~low)) | ((a + b) & low);
  }
};
/// A function in membar's loop, applied per thread and once per warp and address.
template <class T, class Function>
struct membar_loop : of_membar {
  __device__ static T run(T* object, T value) {
    return membar::atomic_ref<T, thread_scope::device>(*object).fetch_update([=](T old) { return Function{}(old, value); },
                                                                             membar::relaxed);
  }
};
template <class T, class Function>
struct aggregated_loop : of_aggregation {
  __device__ static T run(T* object, T value) {
    return membar::aggregated_ref<T, thread_scope::device>(*object).fetch_combine(value, Function{}, membar::relaxed);
  }
};
template <class Operation, class T, membar::aggregation Form = membar::aggregation::any_address,
          class Order = membar::relaxed_t>
struct in_aggregation : of_aggregation {
  __device__ static T run(T* object, T value) {
    return Operation::run(membar::aggregated_ref<T, thread_scope::device, Form>(*object), value, Order{});
  }
};
template <class T, membar::aggregation Form, class Order = membar::relaxed_t>
using aggregated_add = in_aggregation<fetch_add, T, Form, Order>;
template <class T>
using aggregated_reduce = in_aggregation<add, T>;
template <class T>
using aggregated_max = in_aggregation<fetch_max, T>;

/// A step that operates on an object whose memory space is hidden from the compiler.
template <class Step>
struct somewhere : Step {
  template <class T>
  __device__ static T run(T* object, T value) {
    T* hidden;
    asm volatile("mov.b64 %0, %1;" : "=l"(hidden) : "l"(object));
    return Step::run(hidden, value);
  }
};

/// The value that a thread adds: 1, or its equivalent in the type.
template <class T>
__host__ __device__ T one() {
  if constexpr (std::is_same_v<T, wide>) {
    return {1, 1};
  } else {
    return static_cast<T>(1);
  }
}

/// Converts a value to bits that depend on it.
template <class T>
__device__ unsigned low_bits(const T& value) {
  if constexpr (std::is_same_v<T, wide>) {
    return static_cast<unsigned>(value.low);
  } else if constexpr (std::is_same_v<T, float>) {
    return __float_as_uint(value);
  } else if constexpr (std::is_same_v<T, double>) {
    return static_cast<unsigned>(__double2loint(value));
  } else if constexpr (std::is_same_v<T, __half> || std::is_same_v<T, __nv_bfloat16>) {
    return __builtin_bit_cast(unsigned short, value);
  } else {
    return static_cast<unsigned>(value);
  }
}

/// Returns the operand of the chain's next step: it depends on the previous step's result, and costs one instruction.
template <class T>
__device__ T next_operand(const T& before) {
  if constexpr (std::is_same_v<T, wide>) {
    return {before.low & 1, before.high & 1};
  } else if constexpr (std::is_integral_v<T>) {
    return static_cast<T>(before & 1);
  } else {
    return before * static_cast<T>(0.5);
  }
}

}  // namespace steps
