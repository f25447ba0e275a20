// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
/// @file
/// The question: after how many uses does a copy to the device pay off, compared with reading the host's memory in place? The
/// bench compares mapped memory with device memory and with a copy followed by a kernel, for several numbers of passes.
#include <bench/common/cuda_handles.hpp>
#include <bench/common/harness.hpp>

#include <membar/launch.hpp>
#include <membar/managed_memory.hpp>
#include <membar/mapped_memory.hpp>

#include <optional>

namespace {

constexpr std::size_t count = (std::size_t{64} << 20) / sizeof(float4);

__global__ void sum_all(const float4* in, std::size_t size, float* out) {
  float sum = 0.0F;
  for (std::size_t i = blockIdx.x * std::size_t{blockDim.x} + threadIdx.x; i < size; i += std::size_t{gridDim.x} * blockDim.x) {
    const float4 value = in[i];
    sum += value.x + value.y + value.z + value.w;
  }
  out[blockIdx.x * std::size_t{blockDim.x} + threadIdx.x] = sum;
}

struct fixture {
  support::device_memory<float4> device{count};
  membar::mapped_memory<float4> mapped{count};
  membar::write_combined_memory<float4> write_combined{count};
  support::pinned_memory<float4> raw{count};  // Mapped memory, as a program without membar would allocate it.
  std::vector<float4> pageable = std::vector<float4>(count);
  support::device_memory<float> out{std::size_t{1024} * 256};
  support::stream stream;
  bool concurrent_managed_access;
  std::optional<membar::managed_memory<float4>> managed;

  explicit fixture(int index) : concurrent_managed_access(membar::managed_facts_of(index).concurrent_access) {
    if (concurrent_managed_access) {
      managed.emplace(count);
      for (float4& value : *managed) {
        value = {};
      }
    }
  }

  void pass(const float4* in) { membar::launch(membar::launch_config{1024, 256, stream.get()}, sum_all, in, count, out.get()); }
  void copy_from(const float4* host) {
    membar::check(cudaMemcpyAsync(device.get(), host, count * sizeof(float4), cudaMemcpyHostToDevice, stream.get()));
  }
};

/// One variant: `prepare` runs untimed before `work`, which is timed.
template <class Prepare, class Work>
void add_arm(bench::suite& cases, const bench::made_once<fixture>& shared, const std::string& arm, Prepare prepare, Work work) {
  cases.add(
      "zero_copy/{}_passes/" + arm,
      [=](int passes) {
        fixture& here = *shared;
        prepare(here);
        here.pass(here.device.get());  // This wakes the device.
        here.stream.synchronize();
        const double ns = support::nanoseconds_of(here.stream.get(), [&] { work(here, passes); });
        return bench::figures(ns, {{"GB_per_s", static_cast<double>(passes) * count * sizeof(float4) / ns}});
      },
      bench::axis<int>{1, 2, 4, 8, 16, 32});
}

void add_cases(bench::suite& cases) {
  const bench::made_once<fixture> shared(cases.device());
  const auto nothing = [](fixture&) {};
  const auto repeat = [](fixture& here, const float4* in, int passes) {
    for (int i = 0; i != passes; ++i) {
      here.pass(in);
    }
  };
  add_arm(cases, shared, "device", nothing, [=](fixture& here, int passes) { repeat(here, here.device.get(), passes); });
  add_arm(cases, shared, "mapped", nothing, [=](fixture& here, int passes) { repeat(here, here.mapped.data(), passes); });
  add_arm(cases, shared, "raw_mapped", nothing, [=](fixture& here, int passes) { repeat(here, here.raw.get(), passes); });
  add_arm(cases, shared, "write_combined", nothing,
          [=](fixture& here, int passes) { repeat(here, here.write_combined.device_data(), passes); });
  add_arm(cases, shared, "copy_from_pinned", nothing, [=](fixture& here, int passes) {
    here.copy_from(here.mapped.data());
    repeat(here, here.device.get(), passes);
  });
  add_arm(cases, shared, "copy_from_pageable", nothing, [=](fixture& here, int passes) {
    here.copy_from(here.pageable.data());
    repeat(here, here.device.get(), passes);
  });
  const auto to_host = [](fixture& here) {
    if (!here.managed) {
      throw membar::error(cudaErrorNotSupported,
                          "membar: the device does not support concurrent managed access, which this bench measures");
    }
    membar::prefetch_pages(here.managed->data(), count * sizeof(float4), membar::memory_location::host(), here.stream.get());
  };
  add_arm(cases, shared, "managed_faults", to_host,
          [=](fixture& here, int passes) { repeat(here, here.managed->data(), passes); });
  add_arm(cases, shared, "managed_prefetched", to_host, [=, device = cases.device()](fixture& here, int passes) {
    membar::prefetch_pages(here.managed->data(), count * sizeof(float4), membar::memory_location::device(device),
                           here.stream.get());
    repeat(here, here.managed->data(), passes);
  });
}

}  // namespace

namespace bench {

bench::description describe() {
  return {.question = "After how many uses does a copy pay off, compared with reading the host's memory in place?",
          .add_cases = add_cases,
          .unit = benchmark::kMicrosecond,
          .interleaved = true};
}

}  // namespace bench
