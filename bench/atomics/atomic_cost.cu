// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
/// @file
/// The question: what does an atomic operation cost by type, order and scope without contention, in membar's words and in
/// others'? latency/: one thread's chain, each operation depending on the one before. throughput/: all threads, each on an
/// object of its own.

#include "steps.cuh"

#include <support/kernel_bench.hpp>

namespace {

using membar::thread_scope;
using namespace steps;

constexpr int chain = 512;
constexpr int turns = 64;
constexpr int blocks = 256;
constexpr int threads = 256;

template <class Step, class T>
__global__ void follow_chain(T* object, T* sink) {
  T value = one<T>();
  for (int i = 0; i != chain; ++i) {
    value = next_operand(Step::run(object, value));
  }
  *sink = value;
}

template <class Step, class T>
__global__ void own_objects(T* objects, T*) {
  T* const object = objects + blockIdx.x * blockDim.x + threadIdx.x;
  for (int i = 0; i != turns; ++i) {
    static_cast<void>(Step::run(object, one<T>()));
  }
}

/// Memory that every case works on.
template <class T>
T* objects() {
  static const support::device_memory<T> memory(blocks * threads + 1);
  return memory.get();
}

template <class Step, class T>
support::bench_arm latency(const char* name) {
  return {name, [](cudaStream_t on) { follow_chain<Step, T><<<1, 1, 0, on>>>(objects<T>(), objects<T>() + blocks * threads); }};
}
template <class Step, class T>
support::bench_arm throughput(const char* name) {
  return {name, [](cudaStream_t on) {
            own_objects<Step, T><<<blocks, threads, 0, on>>>(objects<T>(), objects<T>() + blocks * threads);
          }};
}

/// A comparison of both kinds. An arm is a name and a step.
template <class... Step>
struct arms {
  template <class T>
  static void into(std::vector<support::comparison>& all, const std::string& name, std::initializer_list<const char*> names) {
    const char* const* each = names.begin();
    all.push_back({"latency/" + name, chain, {latency<Step, T>(*each++)...}});
    each = names.begin();
    all.push_back({"throughput/" + name, double{turns} * blocks * threads, {throughput<Step, T>(*each++)...}});
  }
};

template <class T, class Order>
void every_operation(std::vector<support::comparison>& all, const std::string& suffix) {
  const auto names = {"membar", "cuda_atomic_ref"};
  arms<membar_add<T, thread_scope::device, Order>, cuda_add<T, thread_scope::device, Order>>::template into<T>(
      all, "fetch_add/" + suffix, names);
  arms<membar_max<T, Order>, cuda_max<T, Order>>::template into<T>(all, "fetch_max/" + suffix, names);
  arms<membar_exchange<T, Order>, cuda_exchange<T, Order>>::template into<T>(all, "exchange/" + suffix, names);
  arms<membar_compare_exchange<T, Order>, cuda_compare_exchange<T, Order>>::template into<T>(all, "compare_exchange/" + suffix,
                                                                                             names);
}

template <class T>
void every_order(std::vector<support::comparison>& all, const std::string& type) {
  every_operation<T, membar::relaxed_t>(all, type + "/relaxed/device");
  every_operation<T, membar::acq_rel_t>(all, type + "/acq_rel/device");
  const auto names = {"membar", "cuda_atomic_ref"};
  arms<membar_load<T, membar::acquire_t>, cuda_load<T, membar::acquire_t>>::template into<T>(all, "load/" + type + "/acquire",
                                                                                             names);
  arms<membar_store<T, membar::release_t>, cuda_store<T, membar::release_t>>::template into<T>(
      all, "store/" + type + "/release", names);
}

template <thread_scope Scope>
void scope(std::vector<support::comparison>& all) {
  const auto names = {"membar", "cuda_atomic_ref"};
  const std::string suffix = std::string("/") + name(Scope);
  arms<membar_add<unsigned, Scope, membar::acq_rel_t>, cuda_add<unsigned, Scope, membar::acq_rel_t>>::template into<unsigned>(
      all, "fetch_add/u32/acq_rel_by_scope" + suffix, names);
  arms<membar_add<unsigned, Scope, membar::seq_cst_t>, cuda_add<unsigned, Scope, membar::seq_cst_t>>::template into<unsigned>(
      all, "fetch_add/u32/seq_cst_by_scope" + suffix, names);
}

std::vector<support::comparison> comparisons() {
  std::vector<support::comparison> all;
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
  // cuda::atomic_ref has no 16-byte read-modify-write that compiles and is right.
  arms<membar_compare_exchange<wide, membar::relaxed_t>>::into<wide>(all, "compare_exchange/128/relaxed/device", {"membar"});
  arms<membar_exchange<wide, membar::acq_rel_t>>::into<wide>(all, "exchange/128/acq_rel/device", {"membar"});
  arms<membar_load<wide, membar::acquire_t>>::into<wide>(all, "load/128/acquire", {"membar"});
  return all;
}

}  // namespace

int main(int argc, char** argv) { return support::run_comparisons(argc, argv, comparisons); }
