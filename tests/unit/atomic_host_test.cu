// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Atomics on the host, where operations with any scope behave as the host's own memory model specifies. The test needs nvcc,
// but no GPU.
#include <membar/aggregated.cuh>
#include <membar/cache_hint.cuh>
#include <membar/fence.cuh>

#include <gtest/gtest.h>

#include <tests/common/atomic_interop.cuh>
#include <tests/unit/atomic_values.hpp>

#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include <cuda/atomic>

#include <cmath>
#include <initializer_list>
#include <limits>
#include <string>
#include <thread>
#include <type_traits>
#include <utility>
#include <vector>

/// Two different half-precision numbers.
template <>
__half2 membar_test::value_of<__half2>(int i) {
  return __half2{__float2half(static_cast<float>(i)), __float2half(static_cast<float>(-i))};
}

namespace {

using membar::thread_scope;
using membar_test::equal, membar_test::pair, membar_test::value_of;

/// Every test runs once for each scope.
class atomic_on_the_host : public ::testing::TestWithParam<thread_scope> {
 protected:
  /// Calls `function` with the scope as its template argument. Pass a lambda with a capture, because nvcc warns about
  /// captureless generic lambdas.
  static void at_scope(auto function) {
    switch (GetParam()) {
      case thread_scope::block:
        return function.template operator()<thread_scope::block>();
      case thread_scope::cluster:
        return function.template operator()<thread_scope::cluster>();
      case thread_scope::device:
        return function.template operator()<thread_scope::device>();
      case thread_scope::system:
        return function.template operator()<thread_scope::system>();
    }
  }
};
INSTANTIATE_TEST_SUITE_P(, atomic_on_the_host,
                         ::testing::Values(thread_scope::block, thread_scope::cluster, thread_scope::device,
                                           thread_scope::system),
                         [](const auto& each) { return std::string(name(each.param)); });

/// The operations that have the same results for every integer type, on an object with the value 12.
template <class Atomic>
void expect_every_operation(Atomic& n) {
  using T = decltype(n.load(membar::acquire));
  EXPECT_EQ(n.load(membar::acquire), T{12});
  n.store(6, membar::release);
  EXPECT_EQ(n.exchange(7, membar::acq_rel), T{6});
  EXPECT_EQ(n.fetch_add(5, membar::relaxed), T{7});
  EXPECT_EQ(n.fetch_sub(2, membar::acquire), T{12});
  EXPECT_EQ(n.fetch_and(6, membar::release), T{10});
  EXPECT_EQ(n.fetch_or(6, membar::seq_cst), T{2});
  EXPECT_EQ(n.fetch_xor(3, membar::relaxed), T{6});
}

TEST_P(atomic_on_the_host, has_every_operation) {
  at_scope([&]<thread_scope Scope>() {
    int object = 12;
    const membar::atomic_ref<int, Scope> n(object);
    expect_every_operation(n);
    EXPECT_EQ(n.fetch_min(-1, membar::relaxed), 5);
    EXPECT_EQ(n.fetch_max(9, membar::relaxed), -1);
    int expected = 8;
    EXPECT_FALSE(n.compare_exchange(expected, 1, membar::acq_rel, membar::acquire));
    EXPECT_EQ(expected, 9);
    EXPECT_TRUE(n.compare_exchange(expected, 1, membar::release, membar::relaxed));
    EXPECT_EQ(object, 1);
  });
}

TEST_P(atomic_on_the_host, the_owning_form_has_every_operation) {
  at_scope([&]<thread_scope Scope>() {
    membar::atomic<unsigned long long, Scope> n(12);
    expect_every_operation(n);
    EXPECT_EQ(n.fetch_min(1, membar::relaxed), 5U);
    EXPECT_EQ(n.fetch_max(9, membar::relaxed), 1U);
    unsigned long long expected = 9;
    EXPECT_TRUE(n.compare_exchange(expected, 1, membar::release, membar::relaxed));
    EXPECT_EQ(n.ref().load(membar::seq_cst), 1U);
  });
}

TEST_P(atomic_on_the_host, threads_lose_no_increment) {
  at_scope([&]<thread_scope Scope>() {
    constexpr int count = 20'000;
    long long sum = 0;
    unsigned tries = 0;
    const auto work = [&] {
      for (int i = 0; i != count; ++i) {
        membar::atomic_ref<long long, Scope>(sum).fetch_add(1, membar::relaxed);
        const membar::atomic_ref<unsigned, Scope> n(tries);
        unsigned expected = n.load(membar::relaxed);
        while (!n.compare_exchange(expected, expected + 1, membar::acq_rel, membar::acquire)) {
        }
      }
    };
    { const std::jthread threads[] = {std::jthread(work), std::jthread(work), std::jthread(work), std::jthread(work)}; }
    EXPECT_EQ(sum, 4 * count);
    EXPECT_EQ(tries, 4U * count);
  });
}

// Whether a reference converts to a cuda::atomic_ref, and whether the result has exactly this type.
template <thread_scope Scope, cuda::thread_scope Cuda>
constexpr bool converts = std::is_convertible_v<membar::atomic_ref<int, Scope>, cuda::atomic_ref<int, Cuda>> &&
                          std::is_convertible_v<membar::atomic<int, Scope>&, cuda::atomic_ref<int, Cuda>>;
static_assert(converts<thread_scope::block, cuda::thread_scope_block>);
static_assert(converts<thread_scope::device, cuda::thread_scope_device>);
static_assert(converts<thread_scope::system, cuda::thread_scope_system>);
static_assert(!std::is_convertible_v<membar::atomic_ref<int, thread_scope::cluster>, cuda::atomic_ref<int>>);
static_assert(!std::is_convertible_v<membar::atomic_ref<int, thread_scope::block>, cuda::atomic_ref<int>>);

TEST(atomic_ref_on_the_host, converts_to_a_cuda_atomic_ref_of_the_same_object) {
  int object = 1;
  const membar::atomic_ref<int, thread_scope::system> n(object);
  const cuda::atomic_ref<int, cuda::thread_scope_system> same = n;
  same.fetch_add(1);
  EXPECT_EQ(object, 2);
}

static_assert(!std::is_convertible_v<membar::atomic_ref<const int, thread_scope::system>, cuda::atomic_ref<const int>>);

// The conversions in the other direction, including conversions of scopes and orders.
static_assert(
    std::is_convertible_v<cuda::atomic_ref<int, cuda::thread_scope_device>, membar::atomic_ref<int, thread_scope::device>>);
static_assert(std::is_convertible_v<cuda::atomic<int>&, membar::atomic_ref<int, thread_scope::system>>);
static_assert(!std::is_convertible_v<cuda::atomic_ref<int>, membar::atomic_ref<long, thread_scope::system>>);
static_assert(membar::thread_scope(cuda::thread_scope_system) == thread_scope::system &&
              membar::thread_scope(cuda::thread_scope_device) == thread_scope::device &&
              membar::thread_scope(cuda::thread_scope_block) == thread_scope::block);
static_assert(membar::memory_order(cuda::memory_order_relaxed) == membar::memory_order::relaxed &&
              membar::memory_order(cuda::memory_order_acquire) == membar::memory_order::acquire &&
              membar::memory_order(cuda::memory_order_release) == membar::memory_order::release &&
              membar::memory_order(cuda::memory_order_acq_rel) == membar::memory_order::acq_rel &&
              membar::memory_order(cuda::memory_order_seq_cst) == membar::memory_order::seq_cst);
static_assert(membar::scope_of(cuda::thread_scope_thread) == thread_scope::block &&
              membar::cuda_scope_of(thread_scope::cluster) == cuda::thread_scope_device &&
              membar::order_of(cuda::memory_order_consume) == membar::memory_order::acquire);
static_assert(std::is_same_v<decltype(membar::tag_of<cuda::memory_order_release>()), membar::release_t>);

template <class T>
class atomic_of_two_libraries : public ::testing::Test {};
using types_of_both = ::testing::Types<int, unsigned, long, unsigned long long, float, double>;
TYPED_TEST_SUITE(atomic_of_two_libraries, types_of_both);

TYPED_TEST(atomic_of_two_libraries, is_one_object) {
  TypeParam object{};
  cuda::atomic<TypeParam, cuda::thread_scope_system> wide{};
  EXPECT_EQ(membar_test::every_way(object, wide), 0);
  cuda::atomic<TypeParam, cuda::thread_scope_block> narrow{};
  EXPECT_EQ(membar_test::every_way(object, narrow), 0);
}

TEST(atomic_ref_on_the_host, names_the_type_and_scope_of_a_cuda_object_by_itself) {
  cuda::atomic<int, cuda::thread_scope_block> owned(3);
  const auto& constant = owned;
  membar::atomic_ref n(owned);
  membar::atomic_ref c(constant);
  static_assert(std::is_same_v<decltype(n), membar::atomic_ref<int, thread_scope::block>>);
  static_assert(std::is_same_v<decltype(c), membar::atomic_ref<const int, thread_scope::block>>);
  n.store(4, membar::relaxed);
  EXPECT_EQ(c.load(membar::relaxed), 4);
}

// The same calls as in a kernel, because a __host__ __device__ function may make them.
TEST(atomic_ref_on_the_host, takes_a_policy_that_says_nothing_and_a_fence_of_any_scope) {
  int object = 1;
  const membar::atomic_ref<int, thread_scope::system> n(object);
  EXPECT_EQ(n.fetch_add(1, membar::acq_rel, membar::l2_policy(0)), 1);
  n.max(5, membar::release, membar::l2_policy(0));
  membar::thread_fence<thread_scope::system>(membar::seq_cst);
  EXPECT_EQ(n.exchange(7, membar::relaxed, membar::l2_policy(0)), 5);
  int expected = 7;
  EXPECT_TRUE(n.compare_exchange_weak(expected, 8, membar::acq_rel));
  EXPECT_EQ((membar::atomic_ref<const int, thread_scope::system>(n).load(membar::acquire)), 8);
}

// Expects each operation to leave a value unchanged if the operand is the operation's identity.
template <class Operation, class T>
void expect_identity(const std::vector<T>& values) {
  for (const T& value : values) {
    EXPECT_EQ(Operation{}(Operation::template identity<T>(), value), value);
    EXPECT_EQ(Operation{}(value, Operation::template identity<T>()), value);
  }
}
template <class T>
void expect_identities() {
  const std::vector<T> values{
      T{0}, T{1}, T{100}, static_cast<T>(-100), std::numeric_limits<T>::max(), std::numeric_limits<T>::lowest()};
  expect_identity<membar::plus, T>(values);
  expect_identity<membar::minimum, T>(values);
  expect_identity<membar::maximum, T>(values);
  if constexpr (std::is_integral_v<T>) {
    expect_identity<membar::bit_and, T>(values);
    expect_identity<membar::bit_or, T>(values);
    expect_identity<membar::bit_xor, T>(values);
  } else {
    const std::vector<T> infinite{std::numeric_limits<T>::infinity(), -std::numeric_limits<T>::infinity()};
    expect_identity<membar::minimum, T>(infinite);
    expect_identity<membar::maximum, T>(infinite);
  }
}

TEST(combining_operations, have_an_identity_that_changes_no_value) {
  expect_identities<int>();
  expect_identities<unsigned>();
  expect_identities<long long>();
  expect_identities<unsigned long long>();
  expect_identities<signed char>();
  expect_identities<unsigned short>();
  expect_identities<float>();
  expect_identities<double>();
  const __half2 pair = value_of<__half2>(3);
  EXPECT_TRUE(equal(membar::minimum{}(membar::minimum::identity<__half2>(), pair), pair));
  EXPECT_TRUE(equal(membar::maximum{}(pair, membar::maximum::identity<__half2>()), pair));
}

// A reference can be copied but not assigned. The object's type may define its own operator &.
struct with_address_of_its_own {
  int value;
  with_address_of_its_own* operator&() = delete;  // NOLINT: the test needs it
};
static_assert(std::is_copy_constructible_v<membar::atomic_ref<int, thread_scope::device>>);
static_assert(!std::is_copy_assignable_v<membar::atomic_ref<int, thread_scope::device>>);
static_assert(!std::is_move_assignable_v<membar::atomic_ref<int, thread_scope::device>>);
TEST(atomic_ref_on_the_host, refers_to_an_object_that_hides_its_address) {
  with_address_of_its_own object{1};
  membar::atomic_ref<with_address_of_its_own, thread_scope::system>(object).store({2}, membar::release);
  EXPECT_EQ(object.value, 2);
}

TEST(atomic_ref_on_the_host, that_is_not_aligned_ends_a_debug_build) {
  alignas(8) unsigned char bytes[16] = {};
  EXPECT_DEBUG_DEATH(static_cast<void>(membar::atomic_ref<int, thread_scope::device>(*reinterpret_cast<int*>(bytes + 2))),
                     "membar: an atomic object must be aligned to its size");
}

static_assert(!std::is_copy_constructible_v<membar::atomic<int, thread_scope::device>>);
static_assert(!std::is_copy_assignable_v<membar::atomic<int, thread_scope::device>>);
static_assert(!std::is_convertible_v<int&, membar::atomic_ref<int, thread_scope::device>>);
static_assert(sizeof(membar::atomic<int, thread_scope::device>) == 4 &&
              alignof(membar::atomic<long long, thread_scope::device>) == 8);
struct three_bytes {
  char bytes[3];
};
static_assert(membar::atomic_value<bool> && membar::atomic_value<pair> && membar::atomic_value<int*> &&
              membar::atomic_value<__half> && membar::atomic_value<__half2> && membar::atomic_value<membar::vec<__half, 8>>);
static_assert(!membar::atomic_value<three_bytes> && !membar::atomic_value<const int> && !membar::atomic_value<volatile int> &&
              !membar::atomic_value<std::string>);
static_assert(membar::atomic_integer<long> && membar::atomic_integer<char> && membar::atomic_integer<unsigned __int128>);
static_assert(!membar::atomic_integer<bool> && !membar::atomic_integer<const int> && !membar::atomic_integer<float> &&
              !membar::atomic_integer<int*>);
static_assert(membar::atomic_unsigned<unsigned char> && !membar::atomic_unsigned<__int128>);
static_assert(membar::atomic_addable<int*> && membar::atomic_addable<double> && membar::atomic_addable<__half2> &&
              membar::atomic_addable<membar::vec<float, 4>>);
static_assert(!membar::atomic_addable<void*> && !membar::atomic_addable<pair> && !membar::atomic_addable<bool> &&
              !membar::atomic_addable<membar::vec<double, 2>> && !membar::atomic_addable<membar::vec<float, 1>>);
static_assert(membar::atomic_ordered<float> && membar::atomic_ordered<membar::vec<__half, 2>>);
static_assert(!membar::atomic_ordered<int*> && !membar::atomic_ordered<membar::vec<float, 2>>);

template <class T>
class atomic_of_a_type : public ::testing::Test {};
using types = ::testing::Types<signed char, unsigned char, short, unsigned short, int, unsigned long long, float, double,
                               __half, __half2, pair, int*>;
TYPED_TEST_SUITE(atomic_of_a_type, types);

TYPED_TEST(atomic_of_a_type, is_loaded_stored_exchanged_compared_and_updated) {
  using T = TypeParam;
  T object = value_of<T>(1);
  const membar::atomic_ref<T, thread_scope::device> n(object);
  EXPECT_TRUE(equal(n.load(membar::acquire), value_of<T>(1)));
  n.store(value_of<T>(2), membar::release);
  EXPECT_TRUE(equal(n.exchange(value_of<T>(3), membar::acq_rel), value_of<T>(2)));
  T expected = value_of<T>(4);
  EXPECT_FALSE(n.compare_exchange(expected, value_of<T>(5), membar::seq_cst, membar::acquire));
  EXPECT_TRUE(equal(expected, value_of<T>(3)));
  EXPECT_TRUE(n.compare_exchange(expected, value_of<T>(5), membar::relaxed, membar::relaxed));
  EXPECT_TRUE(equal(n.fetch_update([](T) { return value_of<T>(6); }, membar::acq_rel), value_of<T>(5)));
  n.wait(value_of<T>(5), membar::acquire);
  n.notify_all();
  EXPECT_TRUE(equal(object, value_of<T>(6)));
}

TEST(atomic_ref_on_the_host, adds_to_small_integers_wrapping_and_leaves_their_neighbours) {
  signed char bytes[4] = {1, 120, 3, 4};
  const membar::atomic_ref<signed char, thread_scope::device> n(bytes[1]);
  EXPECT_EQ(n.fetch_add(10, membar::relaxed), 120);
  EXPECT_EQ(n.fetch_sub(10, membar::relaxed), -126);
  n.max(121, membar::relaxed);
  n.bit_xor(1, membar::release);
  EXPECT_EQ(bytes[0], 1);
  EXPECT_EQ(bytes[1], 120);
  EXPECT_EQ(bytes[2], 3);
}

TEST(atomic_ref_on_the_host, wraps_increments_and_decrements_at_the_limit) {
  unsigned object = 2;
  const membar::atomic_ref<unsigned, thread_scope::block> n(object);
  EXPECT_EQ(n.fetch_inc(3, membar::relaxed), 2U);
  EXPECT_EQ(n.fetch_inc(3, membar::relaxed), 3U);
  EXPECT_EQ(n.fetch_dec(3, membar::relaxed), 0U);
  EXPECT_EQ(object, 3U);
  n.store(9, membar::relaxed);
  n.dec(3, membar::relaxed);
  EXPECT_EQ(object, 3U);
  n.inc(3, membar::release);
  EXPECT_EQ(object, 0U);
}

TEST(atomic_ref_on_the_host, adds_objects_to_pointers) {
  double some[8] = {};
  double* object = some;
  const membar::atomic_ref<double*, thread_scope::system> p(object);
  EXPECT_EQ(p.fetch_add(5, membar::acq_rel), some);
  EXPECT_EQ(p.fetch_sub(2, membar::relaxed), some + 5);
  p.add(3, membar::relaxed);
  p.sub(1, membar::relaxed);
  EXPECT_EQ(object, some + 5);
}

TEST(atomic_ref_on_the_host, orders_floating_point_values_totally) {
  const float nan = std::numeric_limits<float>::quiet_NaN();
  float object = -0.0F;
  const membar::atomic_ref<float, thread_scope::device> n(object);
  n.max(0.0F, membar::relaxed);
  EXPECT_FALSE(std::signbit(object));
  n.min(-0.0F, membar::relaxed);
  EXPECT_TRUE(std::signbit(object));
  n.max(-1, membar::relaxed);
  EXPECT_EQ(object, 0);
  n.min(-2, membar::relaxed);
  n.min(-1, membar::relaxed);
  EXPECT_EQ(object, -2);
  n.min(nan, membar::relaxed);
  EXPECT_EQ(object, -2);
  n.max(-nan, membar::relaxed);
  EXPECT_EQ(object, -2);
  n.max(nan, membar::relaxed);
  EXPECT_TRUE(std::isnan(object));
  n.max(std::numeric_limits<float>::infinity(), membar::relaxed);
  EXPECT_TRUE(std::isnan(object));
}

TEST(atomic_ref_on_the_host, compares_the_bits_of_floating_point_values) {
  float object = std::numeric_limits<float>::quiet_NaN();
  const membar::atomic_ref<float, thread_scope::device> n(object);
  float expected = object;
  EXPECT_TRUE(n.compare_exchange(expected, 0.0F, membar::relaxed, membar::relaxed));
  expected = -0.0F;
  EXPECT_FALSE(n.compare_exchange(expected, 1.0F, membar::relaxed, membar::relaxed));
}

TEST(atomic_ref_on_the_host, adds_vectors_by_element) {
  membar::vec<float, 4> object{{1, 2, 3, 4}};
  const membar::atomic_ref<membar::vec<float, 4>, thread_scope::device> v(object);
  const auto old = v.fetch_add({{10, 20, 30, 40}}, membar::acq_rel);
  v.sub({{1, 1, 1, 1}}, membar::relaxed);
  for (int i = 0; i != 4; ++i) {
    EXPECT_EQ(old[i], static_cast<float>(i + 1));
    EXPECT_EQ(object[i], static_cast<float>(11 * (i + 1) - 1));
  }
}

/// The bits that remain after `fetch_max`, and then after `fetch_min` of a fresh object.
template <class T>
std::pair<unsigned short, unsigned short> vector_extremes(unsigned short object, unsigned short operand) {
  using membar::detail::from_bits;
  using membar::detail::to_bits;
  const auto vector_of = [](unsigned short b) { return membar::vec<T, 2>{{from_bits<T>(b), from_bits<T>(b)}}; };
  auto most = vector_of(object);
  auto least = most;
  membar::atomic_ref<membar::vec<T, 2>, thread_scope::device>(most).max(vector_of(operand), membar::relaxed);
  membar::atomic_ref<membar::vec<T, 2>, thread_scope::device>(least).fetch_min(vector_of(operand), membar::relaxed);
  EXPECT_EQ(to_bits(most[0]), to_bits(most[1]));
  return {to_bits(most[1]), to_bits(least[1])};
}

TEST(atomic_ref_on_the_host, extremes_of_vectors_ignore_a_nan_beside_a_number) {
  using both = std::pair<unsigned short, unsigned short>;
  for (const unsigned short nan : std::initializer_list<unsigned short>{0x7e00, 0x7fff, 0xfe00, 0xffff}) {
    EXPECT_EQ(vector_extremes<__half>(0x3c00, nan), both(0x3c00, 0x3c00)) << nan;
    EXPECT_EQ(vector_extremes<__half>(nan, 0xbc00), both(0xbc00, 0xbc00)) << nan;
    EXPECT_EQ(vector_extremes<__half>(nan, nan), both(0x7fff, 0x7fff)) << nan;
    EXPECT_EQ(vector_extremes<__nv_bfloat16>(0x3f80, static_cast<unsigned short>(nan | 0x7fc0)), both(0x3f80, 0x3f80)) << nan;
  }
  EXPECT_EQ(vector_extremes<__half>(0x8000, 0), both(0, 0x8000));
  EXPECT_EQ(vector_extremes<__half>(0x7c00, 0xfc00), both(0x7c00, 0xfc00));
}

// A read-modify-write of a byte accesses the whole aligned 32-bit word around it, and this word must contain nothing but bins.
static_assert(alignof(membar::privatized_histogram<unsigned char, 3>) == 4 &&
              sizeof(membar::privatized_histogram<unsigned char, 3>) == 8);
static_assert(sizeof(membar::privatized_histogram<unsigned short, 3>) == 12);
static_assert(sizeof(membar::privatized_histogram<double, 3>) == 32);
static_assert(sizeof(membar::atomic<unsigned char, thread_scope::block>) == 1);

TEST(aggregation, counts_several_wrapping_steps_as_one_by_one) {
  for (unsigned limit : {0U, 1U, 3U, 254U, 255U}) {
    for (unsigned start = 0; start != 256; ++start) {
      unsigned char up = static_cast<unsigned char>(start);
      unsigned char down = up;
      const auto most = static_cast<unsigned char>(limit);
      for (unsigned count = 0; count != 33; ++count) {
        const auto old = static_cast<unsigned char>(start);
        ASSERT_EQ(membar::detail::incremented(old, count, most), up) << start << " + " << count << " below " << limit;
        ASSERT_EQ(membar::detail::decremented(old, count, most), down) << start << " - " << count << " below " << limit;
        up = up >= most ? 0 : static_cast<unsigned char>(up + 1);
        down = down == 0 || down > most ? most : static_cast<unsigned char>(down - 1);
      }
    }
  }
}

}  // namespace
