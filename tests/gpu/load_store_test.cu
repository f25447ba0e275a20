// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <membar/cache_control.cuh>
#include <membar/interop/annotated_ptr.cuh>
#include <membar/load_store.cuh>
#include <membar/read_only.cuh>

#include <tests/common/deadline.cuh>
#include <tests/common/gpu_test.hpp>

#include <cstdint>
#include <vector>

namespace membar_test {
namespace {

using membar::thread_scope;

class loads_and_stores : public gpu_test {
 protected:
  void SetUp() override {
    gpu_test::SetUp();
    if (!IsSkipped() && !HasFatalFailure() && !has_compute_capability(8)) {
      GTEST_SKIP() << "cache policies need compute capability 8.0";
    }
  }
};

template <class T>
class managed {
 public:
  explicit managed(std::size_t size) : size_(size) { check(cudaMallocManaged(&data_, size * sizeof(T))); }
  managed(const managed&) = delete;
  managed& operator=(const managed&) = delete;
  ~managed() { static_cast<void>(cudaFree(data_)); }
  [[nodiscard]] T* get() const { return data_; }
  [[nodiscard]] T& operator[](std::size_t i) const { return data_[i]; }
  [[nodiscard]] std::size_t bytes() const { return size_ * sizeof(T); }

 private:
  T* data_ = nullptr;
  std::size_t size_;
};

/// Copies `in` to `out` through loads and stores of every kind, each on an element of its own; returns how many there are.
template <class T>
__device__ int copy_by_every_kind(const T* in, T* out) {
  using namespace membar;
  const cache_policy<l2::evict_last, l2::evict_first> policy(0.5);
  const cache_policy<l2::evict_first> at_run_time(hit_fraction::at_run_time(0.25F));
  const cache_policy_range<l2::evict_last> range(in, 1024, 4096);
  int i = 0;
  const auto next = [&] { return i++; };
  const auto copy_weak = [&](auto... hints) {
    const int at = next();
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
    const int at = next();
    store_weak(out + at, load_read_only(in + at, hints...), cache_operator_hint<cache_operator::cs>());
  };
  copy_read_only();
  copy_read_only(l1_hint<l1_priority::evict_last>(), policy, prefetch_size<128>());
  copy_read_only(cache_operator_hint<cache_operator::cg>());
  const auto copy_ordered = [&](auto load_order, auto store_order, auto... hints) {
    const int at = next();
    store<thread_scope::device>(out + at, load<thread_scope::device>(in + at, load_order, hints..., prefetch_size<64>()),
                                store_order, hints...);
    const int wide = next();
    store<thread_scope::system>(out + wide, load<thread_scope::system>(in + wide, hints..., load_order), hints..., store_order);
    const int narrow = next();
    store<thread_scope::block>(out + narrow, load<thread_scope::block>(in + narrow, load_order), store_order);
  };
  copy_ordered(relaxed_t(), relaxed_t());
  copy_ordered(acquire_t(), release_t(), l1_hint<l1_priority::no_allocate>(), policy);
  copy_ordered(seq_cst_t(), seq_cst_t(), range);
  const int registers = next();
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
  const managed<T> in(size);
  const managed<T> out(size);
  const managed<int> count(1);
  auto* const bytes = reinterpret_cast<unsigned char*>(in.get());
  for (std::size_t i = 0; i != in.bytes(); ++i) {
    bytes[i] = static_cast<unsigned char>(i * 7 + i / 256 + 1);
  }
  check(cudaMemset(out.get(), 0, out.bytes()));
  copy_all<<<1, 1>>>(in.get(), out.get(), count.get());
  finish();
  ASSERT_GT(count[0], 20);
  ASSERT_LT(count[0], static_cast<int>(size));
  const auto* const copied = reinterpret_cast<const unsigned char*>(out.get());
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
  const managed<three> in(32);
  const managed<three> out(32);
  const managed<eight> wide_in(32);
  const managed<eight> wide_out(32);
  for (int i = 0; i != 32; ++i) {
    const auto value = static_cast<float>(i);
    in[static_cast<std::size_t>(i)] = {value, value + 0.25F, value + 0.5F};
    wide_in[static_cast<std::size_t>(i)] = {{value, 1, 2, 3, 4, 5, 6, -value}};
  }
  copy_read_only<three><<<1, 32>>>({in.get(), 32}, out.get());
  copy_read_only<eight><<<1, 32>>>({wide_in.get(), 32}, wide_out.get());
  finish();
  for (std::size_t i = 0; i != 32; ++i) {
    EXPECT_EQ(out[i].x, in[i].x);
    EXPECT_EQ(out[i].y, in[i].y);
    EXPECT_EQ(out[i].z, in[i].z);
    EXPECT_EQ(wide_out[i].values[0], wide_in[i].values[0]);
    EXPECT_EQ(wide_out[i].values[7], wide_in[i].values[7]);
  }
}

/// Half of the blocks write pairs of equal halves, the others look for a pair whose halves differ.
__global__ void write_and_read_pairs(ulonglong2* pair, int rounds, unsigned* torn) {
  for (int round = 1; round <= rounds; ++round) {
    if (blockIdx.x % 2 == 0) {
      const auto value = static_cast<unsigned long long>(round) * gridDim.x + blockIdx.x;
      membar::store<thread_scope::device>(pair, make_ulonglong2(value, value), membar::relaxed);
    } else {
      const ulonglong2 seen = membar::load<thread_scope::device>(pair, membar::relaxed);
      if (seen.x != seen.y) {
        atomicAdd(torn, 1U);
      }
    }
  }
}

TEST_F(loads_and_stores, of_16_bytes_with_an_order_are_one_access) {
  const managed<ulonglong2> pair(1);
  const managed<unsigned> torn(1);
  pair[0] = make_ulonglong2(0, 0);
  torn[0] = 0;
  write_and_read_pairs<<<64, 1>>>(pair.get(), 100'000, torn.get());
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
  const managed<int> in(3);
  const managed<int> out(3);
  for (std::size_t i = 0; i != 3; ++i) {
    in[i] = static_cast<int>(i) + 10;
    out[i] = 0;
  }
  read_with_a_property<<<1, 1>>>(in.get(), cuda::access_property(cuda::access_property::streaming{}, 0.5F), out.get());
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
  int* lines = nullptr;
  int* scratch = nullptr;
  check(cudaMalloc(&lines, 64 * 128));
  check(cudaMalloc(&scratch, 128));
  std::vector<int> values(64 * 32);
  for (std::size_t i = 0; i != values.size(); ++i) {
    values[i] = static_cast<int>(i);
  }
  check(cudaMemcpy(lines, values.data(), values.size() * sizeof(int), cudaMemcpyDefault));
  control_lines<<<1, 1>>>(lines, 64, scratch);
  finish();
  std::vector<int> after(values.size());
  check(cudaMemcpy(after.data(), lines, after.size() * sizeof(int), cudaMemcpyDefault));
  EXPECT_EQ(after, values);
  int written = 0;
  check(cudaMemcpy(&written, scratch, sizeof written, cudaMemcpyDefault));
  EXPECT_EQ(written, 42);
  check(cudaFree(lines));
  check(cudaFree(scratch));
}

/// Block 0 writes into the span while block 1 watches it; flags keep the write between the watcher's two readings.
__global__ void write_under_watch(int* data, std::size_t size, int written, int* stage, int* changed) {
  using membar::acquire;
  using membar::release;
  if (blockIdx.x == 1) {
    const membar::read_only_watch<int> watch({data, size});
    __syncthreads();
    if (threadIdx.x == 0) {
      membar::store<thread_scope::device>(stage, 1, release);
      const device_deadline deadline;
      while (membar::load<thread_scope::device>(stage, acquire) != 2 && !deadline.passed()) {
      }
    }
    __syncthreads();
    if (!watch.unchanged()) {
      atomicAdd(changed, 1);
    }
  } else if (threadIdx.x == 0) {
    const device_deadline deadline;
    while (membar::load<thread_scope::device>(stage, acquire) != 1 && !deadline.passed()) {
    }
    if (written >= 0) {
      data[written] += 1;
    }
    membar::store<thread_scope::device>(stage, 2, release);
  }
}

TEST_F(loads_and_stores, a_write_to_a_read_only_span_is_found) {
  constexpr std::size_t size = 1000;
  const managed<int> data(size);
  const managed<int> flags(2);
  for (const int written : {-1, 0, 1, 500, 999}) {
    for (std::size_t i = 0; i != size; ++i) {
      data[i] = static_cast<int>(i);
    }
    flags[0] = flags[1] = 0;
    write_under_watch<<<2, 128>>>(data.get(), size, written, flags.get(), flags.get() + 1);
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
  const managed<int> data(1024);
  const managed<int> out(1);
  data[1023] = 77;
  bulk_prefetch_then_read<<<1, 1>>>(data.get(), 4096, out.get());
  finish();
  EXPECT_EQ(out[0], 77);
}

}  // namespace
}  // namespace membar_test
