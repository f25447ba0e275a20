// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
/// @file
/// The question: what does an atomic operation cost by type, order and scope without contention, as membar writes it and as others
/// do? latency/: one thread's chain, in which the address and the operand of each operation depend on the one before. Stores and
/// reductions return nothing to depend on: they follow each other. throughput/: all threads, each on its own object.

#include "steps.cuh"

#include <bench/common/comparison.hpp>
#include <bench/common/cuda_handles.hpp>

namespace {

using membar::thread_scope;
using namespace steps;

constexpr int blocks = 256;
constexpr int threads = 256;

// No loop is unrolled, so that equal instructions are equal code. Operands are no constants: compilers optimize constants in one
// spelling more than in another.

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

/// Memory that every case works on.
template <class T>
T* objects() {
  static const support::device_memory<T> memory(blocks * threads + 1);
  return memory.get();
}

template <class Step, class T>
bench::arm latency(const char* name) {
  return {name, [](cudaStream_t on, bench::workload work) {
            follow_chain<Step, T><<<1, 1, 0, on>>>(objects<T>(), objects<T>() + blocks * threads, one<T>(), 0, work.turns);
          }};
}
template <class Step, class T>
bench::arm throughput(const char* name) {
  return {name, [](cudaStream_t on, bench::workload work) {
            own_objects<Step, T><<<work.blocks, threads, 0, on>>>(objects<T>(), one<T>(), work.turns);
          }};
}

/// A comparison of both kinds. An arm is a name and a step.
template <class... Step>
struct arms {
  template <class T>
  static void into(std::vector<bench::comparison>& all, const std::string& name, std::initializer_list<const char*> names) {
    const char* const* each = names.begin();
    all.push_back(
        {"latency/" + name, [](bench::workload work) { return double{1} * work.turns; }, {latency<Step, T>(*each++)...}});
    each = names.begin();
    all.push_back({"throughput/" + name,
                   [](bench::workload work) { return double{threads} * work.blocks * work.turns; },
                   {throughput<Step, T>(*each++)...},
                   blocks});
  }
};

template <class T, class Order>
void every_operation(std::vector<bench::comparison>& all, const std::string& suffix) {
  const auto names = {"membar", "cuda_atomic_ref"};
  arms<membar_add<T, thread_scope::device, Order>, cuda_add<T, thread_scope::device, Order>>::template into<T>(
      all, "fetch_add/" + suffix, names);
  arms<membar_max<T, Order>, cuda_max<T, Order>>::template into<T>(all, "fetch_max/" + suffix, names);
  arms<membar_exchange<T, Order>, cuda_exchange<T, Order>>::template into<T>(all, "exchange/" + suffix, names);
  arms<membar_compare_exchange<T, Order>, cuda_compare_exchange<T, Order>>::template into<T>(all, "compare_exchange/" + suffix,
                                                                                             names);
}

template <class T>
void every_order(std::vector<bench::comparison>& all, const std::string& type) {
  every_operation<T, membar::relaxed_t>(all, type + "/relaxed/device");
  every_operation<T, membar::acq_rel_t>(all, type + "/acq_rel/device");
  const auto names = {"membar", "cuda_atomic_ref"};
  arms<membar_load<T, membar::acquire_t>, cuda_load<T, membar::acquire_t>>::template into<T>(all, "load/" + type + "/acquire",
                                                                                             names);
  arms<membar_store<T, membar::release_t>, cuda_store<T, membar::release_t>>::template into<T>(
      all, "store/" + type + "/release", names);
}

template <thread_scope Scope>
void scope(std::vector<bench::comparison>& all) {
  const auto names = {"membar", "cuda_atomic_ref"};
  const std::string suffix = std::string("/") + name(Scope);
  arms<membar_add<unsigned, Scope, membar::acq_rel_t>, cuda_add<unsigned, Scope, membar::acq_rel_t>>::template into<unsigned>(
      all, "fetch_add/u32/acq_rel_by_scope" + suffix, names);
  arms<membar_add<unsigned, Scope, membar::seq_cst_t>, cuda_add<unsigned, Scope, membar::seq_cst_t>>::template into<unsigned>(
      all, "fetch_add/u32/seq_cst_by_scope" + suffix, names);
}

std::vector<bench::comparison> comparisons() {
  std::vector<bench::comparison> all;
  every_order<unsigned>(all, "u32");
  every_order<unsigned long long>(all, "u64");
  every_order<float>(all, "f32");
  every_order<double>(all, "f64");
  every_order<unsigned char>(all, "u8");
  every_order<unsigned short>(all, "u16");
  scope<thread_scope::block>(all);
  scope<thread_scope::device>(all);
  scope<thread_scope::system>(all);
  // By hand and by intrinsic.
  arms<membar_add<unsigned, thread_scope::device, membar::relaxed_t>, ptx_add_relaxed, intrinsic_add<unsigned>>::into<unsigned>(
      all, "fetch_add_by_hand/u32/relaxed/device", {"membar", "ptx", "intrinsic"});
  arms<membar_add<unsigned, thread_scope::device, membar::acq_rel_t>, ptx_add_acq_rel>::into<unsigned>(
      all, "fetch_add_by_hand/u32/acq_rel/device", {"membar", "ptx"});
  arms<membar_reduce<unsigned, membar::relaxed_t>, ptx_reduce, intrinsic_reduce<unsigned>>::into<unsigned>(
      all, "add/u32/relaxed/device", {"membar", "ptx", "intrinsic"});
  arms<membar_reduce<float, membar::relaxed_t>, intrinsic_reduce<float>>::into<float>(all, "add/f32/relaxed/device",
                                                                                      {"membar", "intrinsic"});
  // What it costs to ask where an object is.
  using max_u64 = membar_max<unsigned long long, membar::relaxed_t>;
  using cuda_max_u64 = cuda_max<unsigned long long, membar::relaxed_t>;
  arms<somewhere<max_u64>, somewhere<cuda_max_u64>>::into<unsigned long long>(all, "fetch_max_somewhere/u64/relaxed/device",
                                                                              {"membar", "one_instruction"});
  arms<somewhere<membar_reduce<unsigned, membar::relaxed_t>>, somewhere<ptx_reduce>>::into<unsigned>(
      all, "add_somewhere/u32/relaxed/device", {"membar", "one_instruction"});
  // cuda::atomic_ref has no 16-byte read-modify-write that compiles and is right.
  arms<membar_compare_exchange<wide, membar::relaxed_t>>::into<wide>(all, "compare_exchange/128/relaxed/device", {"membar"});
  arms<membar_exchange<wide, membar::acq_rel_t>>::into<wide>(all, "exchange/128/acq_rel/device", {"membar"});
  arms<membar_load<wide, membar::acquire_t>>::into<wide>(all, "load/128/acquire", {"membar"});
  // One kernel twice: how far a ratio is from 1 by chance.
  arms<membar_add<unsigned, thread_scope::device, membar::relaxed_t>,
       membar_add<unsigned, thread_scope::device, membar::relaxed_t>>::into<unsigned>(all,
                                                                                      "control/fetch_add/u32/relaxed/device",
                                                                                      {"membar", "membar_again"});
  arms<membar_load<unsigned, membar::acquire_t>, membar_load<unsigned, membar::acquire_t>>::into<unsigned>(
      all, "control/load/u32/acquire", {"membar", "membar_again"});
  return all;
}

}  // namespace

bench::description bench::describe() {
  return {.question = "What does an atomic operation cost without contention, by type, order and scope?",
          .add_cases = [](suite& cases) { add(cases, comparisons(), {.launch_ns = 5e5, .pairs = 16, .most_ns = 3e9}); },
          .repetitions = 0};
}
