// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
/// @file
/// The question: what does an uncontended atomic operation cost, depending on its type, order and scope, with membar and with
/// the alternatives? latency/: a chain of operations by one thread, in which each operation's address and operand depend on the
/// previous result. Stores and reductions return nothing, so they are simply executed one after another. throughput/: all
/// threads operate concurrently, each on its own object.

#include "steps.cuh"

#include <bench/common/comparison.hpp>
#include <bench/common/cuda_handles.hpp>

namespace {

using membar::thread_scope;
using namespace steps;

constexpr int blocks = 256;
constexpr int threads = 256;

// No loop is unrolled, so that equal instructions give equal code. Operands are not constants, because how well a compiler
// optimizes constants depends on how an operation is written.

/// `nothing` is 0, hidden from the compiler.
template <class Step, class T>
__global__ void follow_chain(T* object, T* sink, T value, unsigned nothing, int turns) {
#pragma unroll 1
  for (int turn = 0; turn != turns; ++turn) {
    value = next_operand(Step::run(object + (low_bits(value) & nothing), value));
  }
  *sink = value;
}

template <class Step, class T>
__global__ void own_objects(T* objects, T value, int turns) {
  T* const object = objects + blockIdx.x * blockDim.x + threadIdx.x;
#pragma unroll 1
  for (int turn = 0; turn != turns; ++turn) {
    static_cast<void>(Step::run(object, value));
  }
}

/// The memory that every case uses.
template <class T>
T* objects() {
  static const support::device_memory<T> memory(blocks * threads + 1);
  return memory.get();
}

template <class Step, class T>
bench::arm latency() {
  return {Step::name, [](cudaStream_t on, bench::workload work) {
            follow_chain<Step, T><<<1, 1, 0, on>>>(objects<T>(), objects<T>() + blocks * threads, one<T>(), 0, work.turns);
          }};
}
template <class Step, class T>
bench::arm throughput() {
  return {Step::name, [](cudaStream_t on, bench::workload work) {
            own_objects<Step, T><<<work.blocks, threads, 0, on>>>(objects<T>(), one<T>(), work.turns);
          }};
}

using comparisons = std::vector<bench::comparison>;

/// Compares steps in terms of latency and throughput.
template <class T, class... Step>
void compare(comparisons& all, const std::string& name) {
  all.push_back({"latency/" + name, [](bench::workload work) { return double{1} * work.turns; }, {latency<Step, T>()...}});
  all.push_back({"throughput/" + name,
                 [](bench::workload work) { return double{threads} * work.blocks * work.turns; },
                 {throughput<Step, T>()...},
                 blocks});
}

/// The same kernel twice, to show how far a ratio deviates from 1 by chance.
template <class T, class Step>
void control(comparisons& all, const std::string& name) {
  compare<T, Step, Step>(all, "control/" + name);
  for (std::size_t i = all.size() - 2; i != all.size(); ++i) {
    all[i].arms[1].name = "membar_again";
  }
}

/// Compared with `cuda::atomic_ref`.
template <class Operation, class T, class Order, thread_scope Scope = thread_scope::device>
void beside_cuda(comparisons& all, const std::string& name) {
  compare<T, in_membar<Operation, T, Order, Scope>, in_cuda<Operation, T, Order, Scope>>(all, name);
}

template <class T, class Order>
void every_operation(comparisons& all, const std::string& suffix) {
  beside_cuda<fetch_add, T, Order>(all, "fetch_add/" + suffix);
  beside_cuda<fetch_max, T, Order>(all, "fetch_max/" + suffix);
  beside_cuda<exchange, T, Order>(all, "exchange/" + suffix);
  beside_cuda<compare_exchange, T, Order>(all, "compare_exchange/" + suffix);
}

template <class T>
void every_order(comparisons& all, const std::string& type) {
  every_operation<T, membar::relaxed_t>(all, type + "/relaxed/device");
  every_operation<T, membar::acq_rel_t>(all, type + "/acq_rel/device");
  beside_cuda<load, T, membar::acquire_t>(all, "load/" + type + "/acquire");
  beside_cuda<store, T, membar::release_t>(all, "store/" + type + "/release");
}

template <thread_scope Scope>
void scope(comparisons& all) {
  const std::string suffix = std::string("/") + name(Scope);
  beside_cuda<fetch_add, unsigned, membar::acq_rel_t, Scope>(all, "fetch_add/u32/acq_rel_by_scope" + suffix);
  beside_cuda<fetch_add, unsigned, membar::seq_cst_t, Scope>(all, "fetch_add/u32/seq_cst_by_scope" + suffix);
}

comparisons all_comparisons() {
  using u32 = unsigned;
  using u64 = unsigned long long;
  using r = membar::relaxed_t;
  using ar = membar::acq_rel_t;
  comparisons all;
  every_order<u32>(all, "u32");
  every_order<u64>(all, "u64");
  every_order<float>(all, "f32");
  every_order<double>(all, "f64");
  every_order<unsigned char>(all, "u8");
  every_order<unsigned short>(all, "u16");
  scope<thread_scope::block>(all);
  scope<thread_scope::device>(all);
  scope<thread_scope::system>(all);
  // Compared with hand-written PTX and with intrinsics.
  compare<u32, in_membar<fetch_add, u32, r>, ptx_add_relaxed, intrinsic_add<u32>>(all, "fetch_add_by_hand/u32/relaxed/device");
  compare<u32, in_membar<fetch_add, u32, ar>, ptx_add_acq_rel>(all, "fetch_add_by_hand/u32/acq_rel/device");
  compare<__half, in_membar<fetch_add, __half, ar>, ptx_add_half<__half>, ptx_add_half_between_fences<__half>>(
      all, "fetch_add_by_hand/f16/acq_rel/device");
  compare<__nv_bfloat16, in_membar<fetch_add, __nv_bfloat16, ar>, ptx_add_half<__nv_bfloat16>,
          ptx_add_half_between_fences<__nv_bfloat16>>(all, "fetch_add_by_hand/bf16/acq_rel/device");
  compare<u32, in_membar<fetch_add, u32, r>, builtin_add<u32, r>>(all, "fetch_add_builtin/u32/relaxed/device");
  compare<u64, in_membar<fetch_add, u64, ar>, builtin_add<u64, ar>>(all, "fetch_add_builtin/u64/acq_rel/device");
  compare<float, in_membar<fetch_add, float, r>, builtin_add<float, r>>(all, "fetch_add_builtin/f32/relaxed/device");
  compare<double, in_membar<fetch_add, double, ar>, builtin_add<double, ar>>(all, "fetch_add_builtin/f64/acq_rel/device");
  compare<u32, membar_reduce<u32, r>, ptx_reduce, intrinsic_reduce<u32>>(all, "add/u32/relaxed/device");
  compare<float, membar_reduce<float, r>, intrinsic_reduce<float>>(all, "add/f32/relaxed/device");
  // The cost of testing which memory an object is in.
  compare<u64, somewhere<in_membar<fetch_max, u64, r>>, somewhere<one_instruction<in_cuda<fetch_max, u64, r>>>>(
      all, "fetch_max_somewhere/u64/relaxed/device");
  compare<u32, somewhere<membar_reduce<u32, r>>, somewhere<one_instruction<ptx_reduce>>>(all,
                                                                                         "add_somewhere/u32/relaxed/device");
  // cuda::atomic_ref has no correct 16-byte read-modify-write that compiles.
  compare<wide, in_membar<compare_exchange, wide, r>>(all, "compare_exchange/128/relaxed/device");
  compare<wide, in_membar<exchange, wide, ar>>(all, "exchange/128/acq_rel/device");
  compare<wide, in_membar<load, wide, membar::acquire_t>>(all, "load/128/acquire");
  control<u32, in_membar<fetch_add, u32, r>>(all, "fetch_add/u32/relaxed/device");
  control<u32, in_membar<load, u32, membar::acquire_t>>(all, "load/u32/acquire");
  return all;
}

}  // namespace

namespace bench {

bench::description describe() {
  return {
      .question = "What does an atomic operation cost without contention, by type, order and scope?",
      .add_cases = [](suite& cases) { bench::add(cases, all_comparisons(), {.launch_ns = 5e5, .pairs = 16, .most_ns = 3e9}); },
      .repetitions = 0};
}

}  // namespace bench
