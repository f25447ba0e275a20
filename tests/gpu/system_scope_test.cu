// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The host and a kernel concurrently use an object in pinned host memory, at system scope. Every test here has the label
// `concurrent`: the host acts while the kernel runs.
#include <tests/common/checked.cuh>
#include <tests/common/gpu_test.hpp>
#include <tests/common/sync.cuh>
#include "atomic_contention.cuh"

#include <cuda_bf16.h>
#include <cuda_fp16.h>

#include <cstddef>
#include <cstdint>
#include <string>
#include <type_traits>

namespace membar_test {
namespace {

using contention::decoded;
using contention::encoded;

template <class T>
using system_ref = membar::atomic_ref<T, thread_scope::system>;

/// The number of objects that fill a whole word. Memory is allocated in whole words, because an operation on 8 or 16 bits reads
/// the word around its object.
template <class T>
inline constexpr std::size_t whole_words = sizeof(T) < 4 ? 4 / sizeof(T) : 1;

class system_scope : public gpu_test {};

/// Waits until the host has started, and then adds 1 `count` times.
template <class T>
__global__ void add(T* counter, int* host_is_there, int* timed_out, int count) {
  if (!wait_for(generous, [&] { return system_ref<int>(*host_is_there).load(membar::relaxed) != 0; })) {
    *timed_out = 1;
    return;
  }
  for (int i = 0; i != count; ++i) {
    system_ref<T>(*counter).fetch_add(T{1}, membar::acq_rel);
  }
}

/// The threads of a kernel, and the host if it takes part, all add to pinned memory the same number of times.
template <class T>
void expect_no_increment_lost(unsigned blocks, unsigned threads, int count, bool host_adds) {
  const support::pinned_memory<T> counter(whole_words<T>);
  const support::pinned_memory<int> host_is_there(1);
  const support::pinned_memory<int> timed_out(1);
  const support::stream stream;
  membar::launch(launch_config{blocks, threads, stream.get()}, add<T>, counter.get(), host_is_there.get(), timed_out.get(),
                 count);
  system_ref<int>(host_is_there[0]).store(1, membar::relaxed);
  const int each = static_cast<int>(blocks * threads) * count;
  for (int i = 0; host_adds && i != each; ++i) {
    system_ref<T>(counter[0]).fetch_add(T{1}, membar::acq_rel);
  }
  stream.synchronize();
  EXPECT_EQ(timed_out[0], 0) << "the kernel timed out waiting for the host";
  EXPECT_EQ(counter[0], static_cast<T>(host_adds ? 2 * each : each));
}

TEST_F(system_scope, host_and_kernel_lose_no_increment) {
  if (attribute_of(cudaDevAttrHostNativeAtomicSupported) == 0) {
    GTEST_SKIP() << "this test needs a link to the host with atomics (cudaDevAttrHostNativeAtomicSupported), and this GPU's "
                    "has none: read-modify-writes of pinned memory are atomic among the device's threads only";
  }
  expect_no_increment_lost<int>(1, 32, 1000, true);
  expect_no_increment_lost<unsigned>(1, 32, 1000, true);
  expect_no_increment_lost<long long>(1, 32, 1000, true);
  expect_no_increment_lost<unsigned long long>(1, 32, 1000, true);
  expect_no_increment_lost<unsigned short>(1, 32, 1000, true);
  expect_no_increment_lost<float>(1, 32, 1000, true);
  expect_no_increment_lost<double>(1, 32, 1000, true);
}

/// If only a kernel's threads increment pinned memory, no increment is lost, even if the link to the host has no atomics.
TEST_F(system_scope, a_kernel_loses_no_increment_of_host_memory) {
  expect_no_increment_lost<unsigned long long>(4, 64, 50, false);
}

/// What the reader of an increasing number has observed.
struct reading {
  unsigned long long strange;  ///< Values that no thread stored.
  unsigned long long backwards;
  int timed_out;
};

/// Reads a `Number` until it reaches its last value or has not changed for too long.
MEMBAR_CALLS_EITHER
template <class Number>
MEMBAR_HOST_DEVICE reading watch(typename Number::type* cell) {
  reading seen{};
  unsigned before = 0;
  unsigned now = 0;
  const auto finds_another = [&] {
    now = Number::read(cell);
    seen.strange += checked(now > Number::last);
    seen.backwards += checked(now < before);
    return now != before && now <= Number::last;
  };
  while (before != Number::last && wait_for(generous, finds_another)) {
    before = now;
  }
  seen.timed_out = before == Number::last ? 0 : 1;
  return seen;
}

void expect_in_order(const reading& seen) {
  EXPECT_EQ(seen.timed_out, 0) << "the reader timed out waiting for the writer";
  EXPECT_EQ(seen.strange, 0U) << "values that no thread stored";
  EXPECT_EQ(seen.backwards, 0U) << "the reader saw an older value after a newer one of the same object";
}

// An increasing number: its type, its last value, and how to read and advance it.

/// 64-bit values whose halves are equal, advanced by stores.
struct stored_growing {
  using type = unsigned long long;
  static constexpr unsigned last = 200'000;

  MEMBAR_CALLS_EITHER
  template <class Tag = void>
  MEMBAR_HOST_DEVICE static unsigned read(type* cell) {
    return decoded(system_ref<type>(*cell).load(membar::relaxed));
  }
  MEMBAR_CALLS_EITHER
  template <class Tag = void>
  MEMBAR_HOST_DEVICE static void step(type* cell, unsigned number) {
    system_ref<type>(*cell).store(encoded<type>(number), membar::relaxed);
  }
};

/// A count that is advanced by read-modify-writes, with a different order each time. Only the host or only the kernel modifies
/// the count, so the link need not support atomics.
template <class T>
struct counted_up {
  using type = T;
  /// Every count up to this value is exact: half represents integers exactly up to 2048, bfloat16 up to 256, and a byte up to
  /// 255.
  static constexpr unsigned last = std::is_same_v<T, __nv_bfloat16> || sizeof(T) == 1 ? 250 : 2000;

  MEMBAR_CALLS_EITHER
  template <class Tag = void>
  MEMBAR_HOST_DEVICE static unsigned read(T* cell) {
    const T value = system_ref<T>(*cell).load(membar::acquire);
    return static_cast<unsigned>(static_cast<int>(static_cast<float>(value)) & (sizeof(T) == 1 ? 255 : -1));
  }
  MEMBAR_CALLS_EITHER
  template <class Tag = void>
  MEMBAR_HOST_DEVICE static void step(T* cell, unsigned number) {
    unsigned order_number = 0;
    for_each_order([&](auto order) {
      if (order_number++ == number % 5) {
        static_cast<void>(system_ref<T>(*cell).fetch_add(static_cast<T>(1.0F), order));
      }
    });
  }
};

MEMBAR_CALLS_EITHER
template <class Number>
MEMBAR_HOST_DEVICE void grow(typename Number::type* cell) {
  for (unsigned number = 1; number <= Number::last; ++number) {
    Number::step(cell, number);
  }
}
template <class Number>
__global__ void grow_on_the_device(typename Number::type* cell) {
  grow<Number>(cell);
}
template <class Number>
__global__ void watch_on_the_device(typename Number::type* cell, reading* result) {
  *result = watch<Number>(cell);
}

template <class Number>
void expect_the_host_sees() {
  const support::pinned_memory<typename Number::type> cell(whole_words<typename Number::type>);
  const support::stream stream;
  membar::launch(launch_config{1, 1, stream.get()}, grow_on_the_device<Number>, cell.get());
  const reading seen = watch<Number>(cell.get());
  stream.synchronize();
  expect_in_order(seen);
}

template <class Number>
void expect_a_kernel_sees() {
  const support::pinned_memory<typename Number::type> cell(whole_words<typename Number::type>);
  const support::pinned_memory<reading> result(1);
  const support::stream stream;
  membar::launch(launch_config{1, 1, stream.get()}, watch_on_the_device<Number>, cell.get(), result.get());
  grow<Number>(cell.get());
  stream.synchronize();
  expect_in_order(result[0]);
}

TEST_F(system_scope, the_host_reads_64_bits_that_a_kernel_stores_untorn) { expect_the_host_sees<stored_growing>(); }
TEST_F(system_scope, a_kernel_reads_64_bits_that_the_host_stores_untorn) { expect_a_kernel_sees<stored_growing>(); }

template <class T>
class counting : public gpu_test {};
using counted_types = ::testing::Types<signed char, unsigned char, short, unsigned short, int, unsigned, long long,
                                       unsigned long long, float, double, __half, __nv_bfloat16>;
TYPED_TEST_SUITE(counting, counted_types);

TYPED_TEST(counting, the_host_sees_a_kernel_count_in_order) { expect_the_host_sees<counted_up<TypeParam>>(); }
TYPED_TEST(counting, a_kernel_sees_the_host_count_in_order) { expect_a_kernel_sees<counted_up<TypeParam>>(); }

}  // namespace
}  // namespace membar_test
