// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
/// @file
/// The question: from how many uses on does a copy to the device pay, against reading the host's memory in place? Mapped memory
/// against device memory and against copy and kernel, by number of passes over the data.
#include "cache_bench.hpp"

#include <membar/launch.hpp>
#include <membar/managed_memory.hpp>
#include <membar/mapped_memory.hpp>

#include <memory>
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

/// A raw mapped allocation, as a program without membar has it.
class raw_mapped {
 public:
  raw_mapped() {
    void* host = nullptr;
    membar::check(cudaHostAlloc(&host, count * sizeof(float4), cudaHostAllocMapped));
    host_ = host;
    membar::check(cudaHostGetDevicePointer(&device_, host, 0));
  }
  raw_mapped(const raw_mapped&) = delete;
  raw_mapped& operator=(const raw_mapped&) = delete;
  ~raw_mapped() { static_cast<void>(cudaFreeHost(host_)); }
  [[nodiscard]] const float4* device() const { return static_cast<const float4*>(device_); }

 private:
  void* host_ = nullptr;
  void* device_ = nullptr;
};

struct workshop {
  support::device_memory<float4> device{count};
  membar::mapped_memory<float4> mapped{count};
  membar::mapped_memory<float4> write_combined{count, {.portable = true, .write_combined = true}};
  raw_mapped raw;
  std::vector<float4> pageable = std::vector<float4>(count);
  support::device_memory<float> out{std::size_t{1024} * 256};
  support::stream stream;
  bool concurrent_managed_access;
  std::optional<membar::managed_memory<float4>> managed;

  explicit workshop(int index) : concurrent_managed_access(membar::managed_facts_of(index).concurrent_access) {
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

using shared_workshop = std::shared_ptr<std::unique_ptr<workshop>>;

/// One arm: `prepare` before the time counts, `work` in it.
template <class Prepare, class Work>
void add_arm(const cache_bench::suite& cases, const shared_workshop& bench, const char* arm, Prepare prepare, Work work) {
  for (const int passes : {1, 2, 4, 8, 16, 32}) {
    cases.add("zero_copy/" + std::to_string(passes) + "_passes/" + arm, [=, device = cases.device()] {
      if (*bench == nullptr) {
        *bench = std::make_unique<workshop>(device);
      }
      workshop& here = **bench;
      prepare(here);
      here.pass(here.device.get());  // the device is awake
      here.stream.synchronize();
      const double seconds = cache_bench::seconds_of(here.stream, [&] { work(here, passes); });
      const double bytes = static_cast<double>(passes) * count * sizeof(float4);
      return cache_bench::figure{seconds, {{"GB_per_s", bytes / seconds * 1e-9}}};
    });
  }
}

void add_cases(cache_bench::suite& cases) {
  const auto bench = std::make_shared<std::unique_ptr<workshop>>();
  const auto nothing = [](workshop&) {};
  const auto repeat = [](workshop& here, const float4* in, int passes) {
    for (int i = 0; i != passes; ++i) {
      here.pass(in);
    }
  };
  add_arm(cases, bench, "device", nothing, [=](workshop& here, int passes) { repeat(here, here.device.get(), passes); });
  add_arm(cases, bench, "mapped", nothing, [=](workshop& here, int passes) { repeat(here, here.mapped.data(), passes); });
  add_arm(cases, bench, "raw_mapped", nothing, [=](workshop& here, int passes) { repeat(here, here.raw.device(), passes); });
  add_arm(cases, bench, "write_combined", nothing,
          [=](workshop& here, int passes) { repeat(here, here.write_combined.data(), passes); });
  add_arm(cases, bench, "copy_from_pinned", nothing, [=](workshop& here, int passes) {
    here.copy_from(here.mapped.data());
    repeat(here, here.device.get(), passes);
  });
  add_arm(cases, bench, "copy_from_pageable", nothing, [=](workshop& here, int passes) {
    here.copy_from(here.pageable.data());
    repeat(here, here.device.get(), passes);
  });
  const auto to_host = [](workshop& here) {
    if (!here.managed) {
      throw membar::error(cudaErrorNotSupported, "membar: the device has no concurrent managed access: nothing to measure");
    }
    membar::prefetch_pages(here.managed->data(), count * sizeof(float4), membar::memory_location::host(), here.stream.get());
  };
  add_arm(cases, bench, "managed_faults", to_host,
          [=](workshop& here, int passes) { repeat(here, here.managed->data(), passes); });
  add_arm(cases, bench, "managed_prefetched", to_host, [=, device = cases.device()](workshop& here, int passes) {
    membar::prefetch_pages(here.managed->data(), count * sizeof(float4), membar::memory_location::device(device),
                           here.stream.get());
    repeat(here, here.managed->data(), passes);
  });
}

}  // namespace

int main(int argc, char** argv) {
  return cache_bench::run(argc, argv, "From how many uses on does a copy pay, against reading the host's memory in place?",
                          add_cases);
}
