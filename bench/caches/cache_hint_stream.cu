// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
/// @file
/// The question: how much do hints speed up a streaming copy, and how much time do they save other kernels? The bench measures
/// the copy's bandwidth, and the time that a kernel needs to read a hot table in L2 after the copy.
#include <bench/common/cuda_handles.hpp>
#include <bench/common/harness.hpp>

#include <membar/launch.hpp>
#include <membar/load_store.cuh>

namespace {

/// A copy that uses one kind of load and one kind of store. Each thread creates its policy once.
struct plain {
  __device__ uint4 load(const uint4* p) const { return *p; }
  __device__ void store(uint4* p, uint4 value) const { *p = value; }
};
template <auto... Hints>
struct hinted {
  __device__ uint4 load(const uint4* p) const { return membar::load_weak(p, Hints...); }
  __device__ void store(uint4* p, uint4 value) const { membar::store_weak(p, value, Hints...); }
};
struct raw_intrinsics {
  __device__ uint4 load(const uint4* p) const { return __ldcs(p); }
  __device__ void store(uint4* p, uint4 value) const { __stcs(p, value); }
};
template <auto Prefetch>
struct prefetching : hinted<membar::l1::no_allocate> {
  __device__ uint4 load(const uint4* p) const { return membar::load_weak(p, membar::l1::no_allocate, Prefetch); }
};
struct evict_first {
  membar::cache_policy<membar::l2::evict_first> once{1.0F};
  __device__ evict_first() {}
  __device__ uint4 load(const uint4* p) const { return membar::load_weak(p, once); }
  __device__ void store(uint4* p, uint4 value) const { membar::store_weak(p, value, once); }
};
struct everything : evict_first {
  __device__ uint4 load(const uint4* p) const {
    return membar::load_weak(p, membar::l1::no_allocate, once, membar::prefetch_size<256>());
  }
  __device__ void store(uint4* p, uint4 value) const { membar::store_weak(p, value, membar::l1::no_allocate, once); }
};
struct raw_everything {
  unsigned long long once;
  __device__ raw_everything() { asm volatile("createpolicy.fractional.L2::evict_first.b64 %0, 1.0;" : "=l"(once)::"memory"); }
  __device__ uint4 load(const uint4* p) const {
    uint4 v;
    // ld.weak.global.L1::no_allocate.L2::cache_hint.L2::256B.v4.b32 d, [a], cache-policy;  (PTX ISA 7.4, sm_80)
    asm volatile("ld.weak.global.L1::no_allocate.L2::cache_hint.L2::256B.v4.b32 {%0, %1, %2, %3}, [%4], %5;"
                 : "=r"(v.x), "=r"(v.y), "=r"(v.z), "=r"(v.w)
                 : "l"(__cvta_generic_to_global(p)), "l"(once)
                 : "memory");
    return v;
  }
  __device__ void store(uint4* p, uint4 v) const {
    // st.weak.global.L1::no_allocate.L2::cache_hint.v4.b32 [a], b, cache-policy;  (PTX ISA 7.4, sm_80)
    asm volatile(
        "st.weak.global.L1::no_allocate.L2::cache_hint.v4.b32 [%0], {%1, %2, %3, %4}, %5;" ::"l"(__cvta_generic_to_global(p)),
        "r"(v.x), "r"(v.y), "r"(v.z), "r"(v.w), "l"(once)
        : "memory");
  }
};

template <class Way>
__global__ void copy(const uint4* in, uint4* out, std::size_t count) {
  const Way way;
  for (std::size_t i = blockIdx.x * std::size_t{blockDim.x} + threadIdx.x; i < count;
       i += std::size_t{gridDim.x} * blockDim.x) {
    way.store(out + i, way.load(in + i));
  }
}

__global__ void read_table(const uint4* table, std::size_t count, unsigned* out) {
  unsigned sum = 0;
  for (std::size_t i = blockIdx.x * std::size_t{blockDim.x} + threadIdx.x; i < count;
       i += std::size_t{gridDim.x} * blockDim.x) {
    sum += membar::load_weak(table + i, membar::cache_op::cg).x;
  }
  if (sum == 1) {
    *out = sum;
  }
}

struct fixture {
  std::size_t table_count;
  support::device_memory<uint4> table;
  support::device_memory<uint4> in{(std::size_t{256} << 20) / sizeof(uint4)};
  support::device_memory<uint4> out{(std::size_t{256} << 20) / sizeof(uint4)};
  support::device_memory<unsigned> sum{1};
  support::stream stream;

  explicit fixture(int device)
      : table_count(static_cast<std::size_t>(support::attribute(cudaDevAttrL2CacheSize, device)) / 4 / sizeof(uint4)),
        table(table_count) {}
};

template <class Way>
void add_arm(bench::suite& cases, const bench::made_once<fixture>& shared, const std::string& arm) {
  cases.add("cache_hint_stream/copy/" + arm, [shared] {
    fixture& here = *shared;
    const cudaStream_t stream = here.stream.get();
    const auto read = [&] {
      membar::launch(membar::launch_config{1024, 256, stream}, read_table, here.table.get(), here.table_count, here.sum.get());
    };
    const auto copy_all = [&] {
      membar::launch(membar::launch_config{1024, 256, stream}, copy<Way>, here.in.get(), here.out.get(), here.in.size());
    };
    read();
    read();
    const double ns = support::nanoseconds_of(stream, copy_all);
    const double after = support::nanoseconds_of(stream, read);
    const double warm = support::nanoseconds_of(stream, read);
    const double bytes = 2.0 * static_cast<double>(here.in.size() * sizeof(uint4));
    return bench::figures(ns, {{"GB_per_s", bytes / ns}, {"table_after_us", after * 1e-3}, {"table_warm_us", warm * 1e-3}});
  });
}

void add_cases(bench::suite& cases) {
  cases.need_compute_capability(8, "cache policies");
  const bench::made_once<fixture> shared(cases.device());
  add_arm<plain>(cases, shared, "plain");
  add_arm<hinted<membar::l1::no_allocate>>(cases, shared, "no_allocate");
  add_arm<hinted<membar::cache_op::cs>>(cases, shared, "cs");
  add_arm<raw_intrinsics>(cases, shared, "raw_ldcs_stcs");
  add_arm<prefetching<membar::prefetch_64B>>(cases, shared, "prefetch_64B");
  add_arm<prefetching<membar::prefetch_128B>>(cases, shared, "prefetch_128B");
  add_arm<prefetching<membar::prefetch_256B>>(cases, shared, "prefetch_256B");
  add_arm<evict_first>(cases, shared, "evict_first");
  add_arm<everything>(cases, shared, "everything");
  add_arm<raw_everything>(cases, shared, "raw_everything");
}

}  // namespace

namespace bench {

bench::description describe() {
  return {.question = "How much do hints speed up a streaming copy, and how much time do they save other kernels?",
          .add_cases = add_cases,
          .unit = benchmark::kMicrosecond,
          .interleaved = true};
}

}  // namespace bench
