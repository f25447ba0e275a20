// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Host and kernel use one object in pinned host memory at once, at system scope.
// Every test here carries the label `concurrent`: the host acts while the kernel runs.
#include <tests/common/deadline.cuh>
#include <tests/common/gpu_test.hpp>
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

/// As many objects as fill whole words: an operation on 8 or 16 bits reads the word around its object.
template <class T>
inline constexpr std::size_t whole_words = sizeof(T) < 4 ? 4 / sizeof(T) : 1;

class system_scope : public gpu_test {
 protected:
  static bool host_has_native_atomics() {
    int native = 0;
    check(cudaDeviceGetAttribute(&native, cudaDevAttrHostNativeAtomicSupported, 0));
    return native != 0;
  }
};

/// Adds `count` ones once the host has started.
template <class T>
__global__ void add(T* counter, int* host_is_there, int* timed_out, int count) {
  const device_deadline deadline;
  while (system_ref<int>(*host_is_there).load(membar::relaxed) == 0) {
    if (deadline.passed()) {
      *timed_out = 1;
      return;
    }
  }
  for (int i = 0; i != count; ++i) {
    system_ref<T>(*counter).fetch_add(T{1}, membar::acq_rel);
  }
}

/// The threads of a kernel, and the host if it takes part, add as often, to pinned memory.
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
  EXPECT_EQ(timed_out[0], 0) << "the kernel waited in vain for the host";
  EXPECT_EQ(counter[0], static_cast<T>(host_adds ? 2 * each : each));
}

TEST_F(system_scope, host_and_kernel_lose_no_increment) {
  if (!host_has_native_atomics()) {
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

/// The kernel's threads lose no increment of pinned memory among themselves, whatever the link.
TEST_F(system_scope, a_kernel_loses_no_increment_of_host_memory) {
  expect_no_increment_lost<unsigned long long>(4, 64, 50, false);
}

constexpr unsigned stores = 200'000;

template <class T>
__global__ void store_growing(T* cell, unsigned last) {
  for (unsigned id = 1; id <= last; ++id) {
    system_ref<T>(*cell).store(encoded<T>(id), membar::relaxed);
  }
}

/// What a reader of a growing number saw.
struct reading {
  unsigned long long strange;  ///< values that no thread stored
  unsigned long long backwards;
  int timed_out;
};

/// Calls `read` until it returns `last`, or returns nothing new until the deadline.
MEMBAR_CALLS_EITHER
template <class Deadline, class Read>
MEMBAR_HOST_DEVICE reading watch(unsigned last, Read read) {
  reading seen{};
  unsigned before = 0;
  Deadline deadline;
  while (before != last) {
    const unsigned now = read();
    const bool strange = now > last;
    seen.strange += strange ? 1 : 0;
    seen.backwards += now < before ? 1 : 0;
    if (now != before && !strange) {
      before = now;
      deadline.renew();
    } else if (deadline.passed()) {
      seen.timed_out = 1;
      break;
    }
  }
  return seen;
}

void expect_in_order(const reading& seen) {
  EXPECT_EQ(seen.timed_out, 0) << "the reader waited in vain for the writer";
  EXPECT_EQ(seen.strange, 0U) << "values that no thread stored";
  EXPECT_EQ(seen.backwards, 0U) << "an older value after a newer one of the same object";
}

template <class T>
__global__ void load_growing(T* cell, reading* result, unsigned last) {
  *result = watch<device_deadline>(last, [&] { return decoded(system_ref<T>(*cell).load(membar::relaxed)); });
}

TEST_F(system_scope, the_host_reads_64_bits_that_a_kernel_stores_untorn) {
  using T = unsigned long long;
  const support::pinned_memory<T> cell(1);
  const support::stream stream;
  membar::launch(launch_config{1, 1, stream.get()}, store_growing<T>, cell.get(), stores);
  const reading seen = watch<host_deadline>(stores, [&] { return decoded(system_ref<T>(cell[0]).load(membar::relaxed)); });
  stream.synchronize();
  expect_in_order(seen);
}

TEST_F(system_scope, a_kernel_reads_64_bits_that_the_host_stores_untorn) {
  using T = unsigned long long;
  const support::pinned_memory<T> cell(1);
  const support::pinned_memory<reading> result(1);
  const support::stream stream;
  membar::launch(launch_config{1, 1, stream.get()}, load_growing<T>, cell.get(), result.get(), stores);
  for (unsigned id = 1; id <= stores; ++id) {
    system_ref<T>(cell[0]).store(encoded<T>(id), membar::relaxed);
  }
  stream.synchronize();
  expect_in_order(result[0]);
}

/// One side counts up, by read-modify-writes of every order, and the other reads: only one side modifies, so this needs no
/// atomics of the link.
template <class T>
class counting : public system_scope {
 public:
  /// Every count up to here is exact: half has integers to 2048, bfloat16 to 256, a byte to 255.
  [[nodiscard]] static int limit() { return std::is_same_v<T, __nv_bfloat16> || sizeof(T) == 1 ? 250 : 2000; }

  __host__ __device__ static T one() { return static_cast<T>(1.0F); }

  MEMBAR_CALLS_EITHER
  template <class Tag = void>
  __host__ __device__ static unsigned read(T* cell) {
    const T value = system_ref<T>(*cell).load(membar::acquire);
    return static_cast<unsigned>(static_cast<int>(static_cast<float>(value)) & (sizeof(T) == 1 ? 255 : -1));
  }

  /// One step of the count, in the order that its number chooses.
  MEMBAR_CALLS_EITHER
  template <class Tag = void>
  __host__ __device__ static void step(T* cell, int number) {
    const system_ref<T> count(*cell);
    switch (number % 5) {
      case 0:
        static_cast<void>(count.fetch_add(one(), membar::relaxed));
        break;
      case 1:
        static_cast<void>(count.fetch_add(one(), membar::acquire));
        break;
      case 2:
        static_cast<void>(count.fetch_add(one(), membar::release));
        break;
      case 3:
        static_cast<void>(count.fetch_add(one(), membar::acq_rel));
        break;
      default:
        static_cast<void>(count.fetch_add(one(), membar::seq_cst));
    }
  }
};

using counted_types = ::testing::Types<signed char, unsigned char, short, unsigned short, int, unsigned, long long,
                                       unsigned long long, float, double, __half, __nv_bfloat16>;
TYPED_TEST_SUITE(counting, counted_types);

template <class T>
__global__ void count_up(T* cell, int limit) {
  for (int i = 0; i != limit; ++i) {
    counting<T>::step(cell, i);
  }
}

template <class T>
__global__ void watch_counting(T* cell, reading* result, int limit) {
  *result = watch<device_deadline>(static_cast<unsigned>(limit), [&] { return counting<T>::read(cell); });
}

TYPED_TEST(counting, the_host_sees_a_kernel_count_in_order) {
  using T = TypeParam;
  const int limit = this->limit();
  const support::pinned_memory<T> cell(whole_words<T>);
  const support::stream stream;
  membar::launch(launch_config{1, 1, stream.get()}, count_up<T>, cell.get(), limit);
  const reading seen = watch<host_deadline>(static_cast<unsigned>(limit), [&] { return this->read(cell.get()); });
  stream.synchronize();
  expect_in_order(seen);
}

TYPED_TEST(counting, a_kernel_sees_the_host_count_in_order) {
  using T = TypeParam;
  const int limit = this->limit();
  const support::pinned_memory<T> cell(whole_words<T>);
  const support::pinned_memory<reading> result(1);
  const support::stream stream;
  membar::launch(launch_config{1, 1, stream.get()}, watch_counting<T>, cell.get(), result.get(), limit);
  for (int i = 0; i != limit; ++i) {
    this->step(cell.get(), i);
  }
  stream.synchronize();
  expect_in_order(result[0]);
}

}  // namespace
}  // namespace membar_test
