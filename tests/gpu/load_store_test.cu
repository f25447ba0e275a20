// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <membar/cache_control.cuh>
#include <membar/interop/annotated_ptr.cuh>
#include <membar/load_store.cuh>
#include <membar/managed_memory.hpp>
#include <membar/read_only.cuh>

#include <tests/common/checked.cuh>
#include <tests/common/gpu_test.hpp>
#include <tests/common/sync.cuh>

#include <algorithm>
#include <cstdint>
#include <numeric>
#include <vector>

namespace membar_test {
namespace {

using membar::managed_memory;

class loads_and_stores : public gpu_test {
 protected:
  void prepare() override { need_compute_capability(8, "cache policies"); }
};

/// Copies `in` to `out` with loads and stores of every kind, one element per kind. Returns the number of kinds.
template <class T>
__device__ int copy_by_every_kind(const T* in, T* out) {
  using namespace membar;
  const cache_policy<l2::evict_last, l2::evict_first> policy(0.5);
  const cache_policy<l2::evict_first> at_run_time(hit_fraction::at_run_time(0.25F));
  const cache_policy_range<l2::evict_last> range(in, 1024, 4096);
  int i = 0;
  const auto copy_weak = [&](auto... hints) {
    const int at = i++;
    store_weak(out + at, load_weak(in + at, hints...), l1::no_allocate, policy);
  };
  copy_weak();
  copy_weak(l1_hint<l1_priority::evict_normal>());
  copy_weak(l1_hint<l1_priority::evict_unchanged>());
  copy_weak(l1_hint<l1_priority::evict_first>());
  copy_weak(l1_hint<l1_priority::evict_last>());
  copy_weak(l1_hint<l1_priority::no_allocate>(), policy, prefetch_size<256>());
  copy_weak(cache_operator_hint<cache_operator::ca>());
  copy_weak(cache_operator_hint<cache_operator::cg>(), range);
  copy_weak(cache_operator_hint<cache_operator::cs>(), prefetch_size<64>());
  copy_weak(cache_operator_hint<cache_operator::cv>(), at_run_time);
  const auto copy_read_only = [&](auto... hints) {
    const int at = i++;
    store_weak(out + at, load_read_only(in + at, hints...), cache_operator_hint<cache_operator::cs>());
  };
  copy_read_only();
  copy_read_only(l1_hint<l1_priority::evict_last>(), policy, prefetch_size<128>());
  copy_read_only(cache_operator_hint<cache_operator::cg>());
  const auto copy_ordered = [&](auto load_order, auto store_order, auto... hints) {
    const int at = i++;
    store<thread_scope::device>(out + at, load<thread_scope::device>(in + at, load_order, hints..., prefetch_size<64>()),
                                store_order, hints...);
    const int wide = i++;
    store<thread_scope::system>(out + wide, load<thread_scope::system>(in + wide, hints..., load_order), hints..., store_order);
    const int narrow = i++;
    store<thread_scope::block>(out + narrow, load<thread_scope::block>(in + narrow, load_order), store_order);
  };
  copy_ordered(relaxed_t(), relaxed_t());
  copy_ordered(acquire_t(), release_t(), l1_hint<l1_priority::no_allocate>(), policy);
  copy_ordered(seq_cst_t(), seq_cst_t(), range);
  const int registers = i++;
  store<thread_scope::system>(out + registers, load<thread_scope::system>(in + registers, mmio_t()), mmio_t());
  return i;
}

template <class T>
__global__ void copy_all(const T* in, T* out, int* count) {
  *count = copy_by_every_kind(in, out);
}

template <class T>
void expect_a_copy() {
  constexpr std::size_t size = 64;
  const managed_memory<T> in(size);
  const managed_memory<T> out(size);
  const managed_memory<int> count(1);
  auto* const bytes = reinterpret_cast<unsigned char*>(in.data());
  for (std::size_t i = 0; i != size * sizeof(T); ++i) {
    bytes[i] = static_cast<unsigned char>(i * 7 + i / 256 + 1);
  }
  check(cudaMemset(out.data(), 0, size * sizeof(T)));
  copy_all<<<1, 1>>>(in.data(), out.data(), count.data());
  finish();
  ASSERT_GT(count[0], 20);
  ASSERT_LT(count[0], static_cast<int>(size));
  const auto* const copied = reinterpret_cast<const unsigned char*>(out.data());
  for (std::size_t i = 0; i != static_cast<std::size_t>(count[0]) * sizeof(T); ++i) {
    ASSERT_EQ(copied[i], bytes[i]) << "byte " << i % sizeof(T) << " of kind " << i / sizeof(T);
  }
}

TEST_F(loads_and_stores, of_1_byte_move_it) { expect_a_copy<std::uint8_t>(); }
TEST_F(loads_and_stores, of_2_bytes_move_them) { expect_a_copy<std::uint16_t>(); }
TEST_F(loads_and_stores, of_4_bytes_move_them) { expect_a_copy<float>(); }
TEST_F(loads_and_stores, of_8_bytes_move_them) { expect_a_copy<double>(); }
TEST_F(loads_and_stores, of_16_bytes_move_them) { expect_a_copy<float4>(); }

struct three {
  float x, y, z;
};
struct alignas(32) eight {
  float values[8];
};

template <class T>
__global__ void copy_read_only(membar::read_only_span<T> in, T* out) {
  out[threadIdx.x] = in[threadIdx.x];
}

TEST_F(loads_and_stores, of_other_sizes_are_split_by_a_read_only_load) {
  const managed_memory<three> in(32);
  const managed_memory<three> out(32);
  const managed_memory<eight> wide_in(32);
  const managed_memory<eight> wide_out(32);
  for (int i = 0; i != 32; ++i) {
    const auto value = static_cast<float>(i);
    in[static_cast<std::size_t>(i)] = {value, value + 0.25F, value + 0.5F};
    wide_in[static_cast<std::size_t>(i)] = {{value, 1, 2, 3, 4, 5, 6, -value}};
  }
  copy_read_only<three><<<1, 32>>>({in.data(), 32}, out.data());
  copy_read_only<eight><<<1, 32>>>({wide_in.data(), 32}, wide_out.data());
  finish();
  for (std::size_t i = 0; i != 32; ++i) {
    EXPECT_EQ(out[i].x, in[i].x);
    EXPECT_EQ(out[i].y, in[i].y);
    EXPECT_EQ(out[i].z, in[i].z);
    EXPECT_EQ(wide_out[i].values[0], wide_in[i].values[0]);
    EXPECT_EQ(wide_out[i].values[7], wide_in[i].values[7]);
  }
}

/// Half of the blocks write pairs of equal halves; the other blocks look for a pair whose halves differ.
__global__ void write_and_read_pairs(ulonglong2* pair, int rounds, unsigned* torn) {
  for (int round = 1; round <= rounds; ++round) {
    if (blockIdx.x % 2 == 0) {
      const auto value = static_cast<unsigned long long>(round) * gridDim.x + blockIdx.x;
      membar::store<thread_scope::device>(pair, make_ulonglong2(value, value), membar::relaxed);
    } else {
      const ulonglong2 seen = membar::load<thread_scope::device>(pair, membar::relaxed);
      if (checked(seen.x != seen.y)) {
        atomicAdd(torn, 1U);
      }
    }
  }
}

TEST_F(loads_and_stores, of_16_bytes_with_an_order_are_one_access) {
  const managed_memory<ulonglong2> pair(1);
  const managed_memory<unsigned> torn(1);
  pair[0] = make_ulonglong2(0, 0);
  torn[0] = 0;
  write_and_read_pairs<<<64, 1>>>(pair.data(), 100'000, torn.data());
  finish();
  EXPECT_EQ(torn[0], 0U);
}

__global__ void read_with_a_property(const int* in, cuda::access_property property, int* out) {
  const cuda::annotated_ptr<const int, cuda::access_property> hot(in, property);
  const cuda::annotated_ptr<const int, cuda::access_property::persisting> persisting(in + 1);
  out[0] = membar::load_weak(hot, membar::l1::no_allocate);
  out[1] = membar::load<thread_scope::device>(persisting, membar::acquire);
  out[2] = membar::load_weak(in + 2, membar::policy_of(property));
}

TEST_F(loads_and_stores, through_an_annotated_pointer_move_the_value) {
  const managed_memory<int> in(3);
  const managed_memory<int> out(3);
  std::iota(in.begin(), in.end(), 10);
  std::fill(out.begin(), out.end(), 0);
  read_with_a_property<<<1, 1>>>(in.data(), cuda::access_property(cuda::access_property::streaming{}, 0.5F), out.data());
  finish();
  for (std::size_t i = 0; i != 3; ++i) {
    EXPECT_EQ(out[i], in[i]);
  }
}

__global__ void control_lines(int* lines, int count, int* scratch) {
  for (int i = 0; i != count; ++i) {
    int* const line = lines + 32 * i;
    membar::prefetch_l1(line);
    membar::prefetch_l2(line);
    membar::prefetch_l2(line, membar::l2::evict_last);
    membar::prefetch_l2(line, membar::l2::evict_normal);
    membar::apply_priority(line, membar::l2::evict_normal);
  }
  membar::discard_l2(scratch);
  membar::store_weak(scratch, 42);
}

TEST_F(loads_and_stores, keep_their_values_when_lines_are_moved_or_marked) {
  std::vector<int> values(64 * 32);
  std::iota(values.begin(), values.end(), 0);
  const device_copy<int> lines(values);
  const support::device_memory<int> scratch(32);
  control_lines<<<1, 1>>>(lines.get(), 64, scratch.get());
  EXPECT_EQ(copied(lines), values);
  EXPECT_EQ(copied(scratch)[0], 42);
}

__device__ void await_stage(const int* stage, int awaited) {
  wait_for(generous, [&] { return membar::load<thread_scope::device>(stage, membar::acquire) == awaited; });
}

/// Block 0 writes to the span while block 1 watches it; flags ensure that the write comes between the watcher's two reads.
__global__ void write_under_watch(int* data, std::size_t size, int written, int* stage, int* changed) {
  if (blockIdx.x == 1) {
    const membar::read_only_watch<int> watch({data, size});
    __syncthreads();
    if (threadIdx.x == 0) {
      membar::store<thread_scope::device>(stage, 1, membar::release);
      await_stage(stage, 2);
    }
    __syncthreads();
    if (checked(!watch.unchanged())) {
      atomicAdd(changed, 1);
    }
  } else if (threadIdx.x == 0) {
    await_stage(stage, 1);
    if (written >= 0) {
      data[written] += 1;
    }
    membar::store<thread_scope::device>(stage, 2, membar::release);
  }
}

TEST_F(loads_and_stores, a_write_to_a_read_only_span_is_found) {
  constexpr std::size_t size = 1000;
  const managed_memory<int> data(size);
  const managed_memory<int> flags(2);
  for (const int written : {-1, 0, 1, 500, 999}) {
    std::iota(data.begin(), data.end(), 0);
    flags[0] = flags[1] = 0;
    write_under_watch<<<2, 128>>>(data.data(), size, written, flags.data(), flags.data() + 1);
    finish();
    EXPECT_EQ(flags[1], written < 0 ? 0 : 1) << "element " << written << ": the number of threads that found the write";
  }
}

__global__ void bulk_prefetch_then_read(const int* data, unsigned bytes, int* out) {
#if !defined(__CUDA_ARCH__) || __CUDA_ARCH__ >= 900
  const membar::cache_policy<membar::l2::evict_first> once(1.0F);
  membar::bulk_prefetch_l2(data, bytes);
  membar::bulk_prefetch_l2<64>(data, once);
#endif
  *out = membar::load_weak(data + bytes / sizeof(int) - 1);
}

TEST_F(loads_and_stores, follow_a_bulk_prefetch) {
  if (!has_compute_capability(9)) {
    GTEST_SKIP() << "a bulk prefetch needs compute capability 9.0";
  }
  const managed_memory<int> data(1024);
  const managed_memory<int> out(1);
  data[1023] = 77;
  bulk_prefetch_then_read<<<1, 1>>>(data.data(), 4096, out.data());
  finish();
  EXPECT_EQ(out[0], 77);
}

}  // namespace
}  // namespace membar_test
