// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Tests the compare-and-swap loops in which lanes merge their updates to the same word. However the lanes are spread over
// words, and whichever lanes take part, each operation must return the value that preceded it. One kernel runs at a time, so no
// test here has the label `concurrent`.
#include <membar/atomic.cuh>

#include <tests/common/gpu_test.hpp>

#include <cuda_bf16.h>
#include <cuda_fp16.h>

#include <cstdint>
#include <cstring>
#include <map>
#include <string>
#include <type_traits>
#include <vector>

namespace membar_test {
namespace {

constexpr unsigned blocks = 16;
constexpr unsigned threads = 128;
constexpr unsigned turns = 4;
constexpr unsigned objects = blocks * threads;

/// How the lanes of a warp are spread over objects.
enum class spread { one_object, one_a_warp, neighbours, neighbours_of_all_warps, skewed, unlike };
constexpr const char* spread_names[] = {
    "one object", "one a warp", "neighbours", "neighbours that all warps use", "skewed", "groups of different sizes"};

__host__ __device__ constexpr unsigned scattered(unsigned n) {
  n = (n + 1) * 2654435761U;
  return n ^ n >> 15;
}

__host__ __device__ constexpr unsigned index_of(spread how, unsigned thread, unsigned turn) {
  switch (how) {
    case spread::one_object:
      return 0;
    case spread::one_a_warp:
      return thread / 32 * 32;
    case spread::neighbours:
      return thread;
    case spread::neighbours_of_all_warps:
      return thread % 32;
    case spread::skewed:
      return scattered(thread * turns + turn) % 32 * (scattered(thread * turns + turn) >> 8) % 5;
    case spread::unlike:
      return thread % 32 < 20 ? 0 : thread % 32 < 31 ? 5 : 9;
  }
  return 0;
}

/// Returns whether a thread takes part. Depending on the choice, these are all lanes, every second lane, a scattered selection,
/// or only lane 7.
constexpr unsigned choices = 4;
__host__ __device__ constexpr bool takes_part(unsigned choice, unsigned thread, unsigned turn) {
  return choice == 0   ? true
         : choice == 1 ? thread % 2 != 0
         : choice == 2 ? scattered(thread + 977 * turn) % 3 != 0
                       : thread % 32 == 7;
}

template <class T>
__host__ __device__ T number(unsigned n) {
  if constexpr (std::is_same_v<T, __half>) {
    return __float2half(static_cast<float>(static_cast<int>(n % 64) - 32));
  } else if constexpr (std::is_same_v<T, __nv_bfloat16>) {
    return __float2bfloat16(static_cast<float>(static_cast<int>(n % 64) - 32));
  } else {
    return static_cast<T>(scattered(n));
  }
}

template <class T>
float as_float(T value) {
  if constexpr (std::is_same_v<T, __half>) {
    return __half2float(value);
  } else {
    return __bfloat162float(value);
  }
}

/// An operation: its effect on the device, and the value that must follow `old`, computed on the host.
struct addition {
  template <class T>
  __device__ static T run(const membar::atomic_ref<T, thread_scope::device>& object, T operand, auto order) {
    return object.fetch_add(operand, order);
  }
  template <class T>
  static T after(T old, T operand) {
    if constexpr (std::is_integral_v<T>) {
      return static_cast<T>(old + operand);
    } else if constexpr (std::is_same_v<T, __half>) {  // The sum of two half-precision numbers, computed as float, is rounded
                                                       // only once.
      return __float2half(as_float(old) + as_float(operand));
    } else {
      return __float2bfloat16(as_float(old) + as_float(operand));
    }
  }
};
struct maximum {
  template <class T>
  __device__ static T run(const membar::atomic_ref<T, thread_scope::device>& object, T operand, auto order) {
    return object.fetch_max(operand, order);
  }
  template <class T>
  static T after(T old, T operand) {
    if constexpr (std::is_integral_v<T>) {
      return old < operand ? operand : old;
    } else {
      return as_float(old) < as_float(operand) ? operand : old;
    }
  }
};
struct replacement {
  template <class T>
  __device__ static T run(const membar::atomic_ref<T, thread_scope::device>& object, T operand, auto order) {
    return object.exchange(operand, order);
  }
  template <class T>
  static T after(T, T operand) {
    return operand;
  }
};
/// A function whose result depends on the order of the lanes.
struct function {
  template <class T>
  __host__ __device__ static T of(T old, T operand) {
    return static_cast<T>(old * T{5} + operand);
  }
  template <class T>
  __device__ static T run(const membar::atomic_ref<T, thread_scope::device>& object, T operand, auto order) {
    return object.fetch_update([=](T old) { return of(old, operand); }, order);
  }
  template <class T>
  static T after(T old, T operand) {
    return of(old, operand);
  }
};

template <class Operation, class T, class Order>
__global__ void operate(T* memory, T* before, spread how, unsigned choice, Order order) {
  const unsigned thread = blockIdx.x * blockDim.x + threadIdx.x;
  for (unsigned turn = 0; turn != turns; ++turn) {
    const unsigned n = thread * turns + turn;
    if (takes_part(choice, thread, turn)) {
      const membar::atomic_ref<T, thread_scope::device> object(memory[index_of(how, thread, turn)]);
      before[n] = Operation::template run<T>(object, number<T>(n), order);
    }
  }
}

template <class T>
std::uint64_t bits_of(T value) {
  std::uint64_t bits = 0;
  std::memcpy(&bits, &value, sizeof value);
  return bits;
}

/// Expects that the operations on each object form a chain: exactly one operation found each value except the last one, and
/// exactly one operation stored each value except the first one.
template <class Operation, class T>
void expect_one_chain_an_object(spread how, unsigned choice, auto order) {
  SCOPED_TRACE(std::string(spread_names[static_cast<int>(how)]) + ", choice of lanes " + std::to_string(choice));
  const std::vector<T> initial(objects, number<T>(objects));
  const device_copy<T> memory(initial);
  const support::device_memory<T> before(std::size_t{objects} * turns);
  membar::launch(launch_config{blocks, threads}, operate<Operation, T, decltype(order)>, memory.get(), before.get(), how,
                 choice, order);
  const auto found = copied(before);
  const auto last = copied(memory);
  std::vector<std::map<std::uint64_t, int>> balance(objects);  // How many more times a value was stored than found.
  for (unsigned thread = 0; thread != objects; ++thread) {
    for (unsigned turn = 0; turn != turns; ++turn) {
      if (takes_part(choice, thread, turn)) {
        const unsigned n = thread * turns + turn;
        auto& object = balance[index_of(how, thread, turn)];
        --object[bits_of(found[n])];
        ++object[bits_of(Operation::template after<T>(found[n], number<T>(n)))];
      }
    }
  }
  for (unsigned i = 0; i != objects; ++i) {
    ++balance[i][bits_of(initial[i])];
    --balance[i][bits_of(last[i])];
    for (const auto& [value, more] : balance[i]) {
      ASSERT_EQ(more, 0) << "object " << i << ": value " << value << ": this is how many more times it was stored than found";
    }
  }
}

template <class T>
class atomic_merging : public gpu_test {
 protected:
  template <class Operation>
  static void expect_one_chain_everywhere() {
    for (const spread how : {spread::one_object, spread::one_a_warp, spread::neighbours, spread::neighbours_of_all_warps,
                             spread::skewed, spread::unlike}) {
      for (unsigned choice = 0; choice != choices; ++choice) {
        expect_one_chain_an_object<Operation, T>(how, choice, membar::relaxed);
        expect_one_chain_an_object<Operation, T>(how, choice, membar::acq_rel);
      }
    }
  }
};
using loop_types = ::testing::Types<unsigned char, short, __half, __nv_bfloat16>;
TYPED_TEST_SUITE(atomic_merging, loop_types);

TYPED_TEST(atomic_merging, every_addition_gets_the_value_before_it) { this->template expect_one_chain_everywhere<addition>(); }
TYPED_TEST(atomic_merging, every_maximum_gets_the_value_before_it) { this->template expect_one_chain_everywhere<maximum>(); }
TYPED_TEST(atomic_merging, every_exchange_gets_the_value_before_it) {
  this->template expect_one_chain_everywhere<replacement>();
}

template <class T>
class atomic_merging_of_functions : public atomic_merging<T> {};
using updated_types = ::testing::Types<unsigned char, unsigned short, unsigned, unsigned long long>;
TYPED_TEST_SUITE(atomic_merging_of_functions, updated_types);

TYPED_TEST(atomic_merging_of_functions, every_update_gets_the_value_before_it) {
  this->template expect_one_chain_everywhere<function>();
}

}  // namespace
}  // namespace membar_test
