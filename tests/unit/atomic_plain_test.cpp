// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Atomics, fences and wait budgets with a plain C++ compiler: the host part of a protocol.
#include <membar/atomic.hpp>
#include <membar/fence.hpp>
#include <membar/wait_budget.hpp>

#include <gtest/gtest.h>

#include <tests/unit/atomic_values.hpp>

#if defined(__CUDACC__) || defined(__CUDA_RUNTIME_H__) || defined(CUDART_VERSION)
#error "this file must be compiled without the CUDA toolkit, to show that the headers do not need it"
#endif

#include <cmath>
#include <limits>
#include <thread>
#include <type_traits>

namespace {

using membar::thread_scope;
using membar_test::equal, membar_test::pair, membar_test::value_of;

/// An object that the host would share with a kernel. Both have the object's address, and the host writes to the object first.
struct mailbox {
  int payload[4];
  unsigned flag;
};

// The host part of such a protocol. A kernel would acquire the flag with `wait`, as the thread here does.
TEST(plain_host, writes_a_payload_and_releases_a_flag_of_system_scope) {
  for (int turn = 0; turn != 200; ++turn) {
    mailbox box{};
    int sum = 0;
    {
      const std::jthread reader([&] {
        const membar::atomic_ref<const unsigned, thread_scope::system> flag(box.flag);
        flag.wait(0, membar::acquire);
        for (const int value : box.payload) {
          sum += value;
        }
      });
      for (int& value : box.payload) {
        value = turn;
      }
      membar::atomic_ref<unsigned, thread_scope::system>(box.flag).store(1, membar::release);
    }
    ASSERT_EQ(sum, 4 * turn);
  }
}

TEST(plain_host, orders_a_payload_by_fences) {
  for (int turn = 0; turn != 200; ++turn) {
    mailbox box{};
    int seen = -1;
    {
      const std::jthread reader([&] {
        const membar::atomic_ref<const unsigned, thread_scope::system> flag(box.flag);
        while (flag.load(membar::relaxed) == 0) {
        }
        membar::thread_fence<thread_scope::system>(membar::acquire);
        seen = box.payload[3];
      });
      box.payload[3] = turn;
      membar::thread_fence<thread_scope::system>(membar::release);
      membar::atomic_ref<unsigned, thread_scope::system>(box.flag).store(1, membar::relaxed);
    }
    ASSERT_EQ(seen, turn);
  }
  membar::thread_fence<thread_scope::block>(membar::acq_rel);
  membar::thread_fence<thread_scope::cluster>(membar::seq_cst);
}

__extension__ typedef unsigned __int128 uint128;

template <class T>
class plain_atomic : public ::testing::Test {};
using types = ::testing::Types<signed char, unsigned char, short, unsigned short, int, unsigned long long, uint128, float,
                               double, pair, int*>;
TYPED_TEST_SUITE(plain_atomic, types);

TYPED_TEST(plain_atomic, is_loaded_stored_exchanged_compared_and_updated) {
  using T = TypeParam;
  membar::atomic<T, thread_scope::system> n(value_of<T>(1));
  EXPECT_TRUE(equal(n.load(membar::acquire), value_of<T>(1)));
  n.store(value_of<T>(2), membar::release);
  EXPECT_TRUE(equal(n.exchange(value_of<T>(3), membar::acq_rel), value_of<T>(2)));
  T expected = value_of<T>(4);
  EXPECT_FALSE(n.compare_exchange(expected, value_of<T>(5), membar::relaxed, membar::seq_cst));
  EXPECT_TRUE(equal(expected, value_of<T>(3)));
  EXPECT_TRUE(n.compare_exchange(expected, value_of<T>(5), membar::release, membar::acquire));
  EXPECT_TRUE(equal(expected, value_of<T>(3))) << "a success leaves `expected` unchanged";
  EXPECT_TRUE(equal(n.fetch_update([](T) { return value_of<T>(6); }, membar::seq_cst), value_of<T>(5)));
  n.wait(value_of<T>(5), membar::acquire);
  n.notify_all();
  EXPECT_TRUE(equal(n.load(membar::seq_cst), value_of<T>(6)));
}

TYPED_TEST(plain_atomic, has_the_integer_operations) {
  using T = TypeParam;
  if constexpr (membar::atomic_integer<T>) {
    T object = 12;
    const membar::atomic_ref<T, thread_scope::device> n(object);
    EXPECT_TRUE(n.fetch_add(5, membar::relaxed) == 12);
    EXPECT_TRUE(n.fetch_sub(7, membar::acquire) == 17);
    EXPECT_TRUE(n.fetch_and(6, membar::release) == 10);
    EXPECT_TRUE(n.fetch_or(5, membar::acq_rel) == 2);
    EXPECT_TRUE(n.fetch_xor(3, membar::seq_cst) == 7);
    EXPECT_TRUE(n.fetch_min(3, membar::relaxed) == 4);
    EXPECT_TRUE(n.fetch_max(9, membar::relaxed) == 3);
    n.add(1, membar::release);
    EXPECT_TRUE(object == 10);
    if constexpr (membar::atomic_unsigned<T>) {
      EXPECT_TRUE(n.fetch_inc(10, membar::relaxed) == 10);
      EXPECT_TRUE(n.fetch_dec(10, membar::relaxed) == 0);
      EXPECT_TRUE(object == 10);
    }
  }
}

// The form with a single order accepts every order. On failure, only the order's acquire half applies, because a load cannot
// release.
template <class Order>
void expect_single_order_forms(Order order) {
  int object = 1;
  const membar::atomic_ref<int, thread_scope::device> n(object);
  int expected = 2;
  EXPECT_FALSE(n.compare_exchange(expected, 3, order));
  EXPECT_EQ(expected, 1);
  EXPECT_TRUE(n.compare_exchange(expected, 3, order));
  expected = 3;
  EXPECT_TRUE(n.compare_exchange_weak(expected, 4, order)) << "the weak form never fails spuriously";
  expected = 4;
  EXPECT_TRUE(n.compare_exchange_strong(expected, 5, order));
  EXPECT_FALSE(n.compare_exchange_weak(expected, 6, order, membar::relaxed));
  EXPECT_EQ(expected, 5);
  EXPECT_EQ(object, 5);
}
TEST(plain_host, compares_and_exchanges_with_one_order) {
  expect_single_order_forms(membar::relaxed);
  expect_single_order_forms(membar::acquire);
  expect_single_order_forms(membar::release);
  expect_single_order_forms(membar::acq_rel);
  expect_single_order_forms(membar::seq_cst);
}
template <class Order>
using failure = typename membar::detail::failure_tag<Order>::type;
static_assert(std::is_same_v<failure<membar::relaxed_t>, membar::relaxed_t> &&
              std::is_same_v<failure<membar::acquire_t>, membar::acquire_t> &&
              std::is_same_v<failure<membar::release_t>, membar::relaxed_t> &&
              std::is_same_v<failure<membar::acq_rel_t>, membar::acquire_t> &&
              std::is_same_v<failure<membar::seq_cst_t>, membar::seq_cst_t>);

static_assert(membar::atomic_ref<char, thread_scope::block>::is_always_lock_free &&
              membar::atomic_ref<const pair, thread_scope::block>::is_always_lock_free &&
              membar::atomic<double, thread_scope::system>::is_always_lock_free &&
              !membar::atomic_ref<uint128, thread_scope::system>::is_always_lock_free);
TEST(plain_host, is_lock_free_up_to_8_bytes) {
  double object = 0;
  EXPECT_TRUE((membar::atomic_ref<double, thread_scope::system>(object).is_lock_free()));
  const membar::atomic<short, thread_scope::system> owned(short{0});
  EXPECT_TRUE(owned.is_lock_free());
}

TEST(plain_host, loads_and_waits_through_a_reference_to_const) {
  const int constant = 3;
  EXPECT_EQ((membar::atomic_ref<const int, thread_scope::system>(constant).load(membar::acquire)), 3);
  const membar::atomic<int, thread_scope::device> owned(4);
  const membar::atomic_ref<const int, thread_scope::device> reader = owned.ref();
  reader.wait(3, membar::relaxed);
  EXPECT_EQ(reader.load(membar::seq_cst), 4);
  int object = 5;
  const membar::atomic_ref<int, thread_scope::device> writer(object);
  const membar::atomic_ref<const int, thread_scope::device> same = writer;
  writer.store(6, membar::relaxed);
  EXPECT_EQ(same.load(membar::relaxed), 6);
}
using reference = membar::atomic_ref<int, thread_scope::device>;
using const_reference = membar::atomic_ref<const int, thread_scope::device>;
static_assert(std::is_same_v<const_reference::value_type, int>);
static_assert(std::is_convertible_v<reference, const_reference> && !std::is_convertible_v<const_reference, reference>);
static_assert(!std::is_convertible_v<membar::atomic_ref<int, thread_scope::block>, const_reference>);
static_assert(std::is_trivially_copyable_v<reference> && std::is_trivially_copyable_v<const_reference>);

template <class T>
class plain_number : public ::testing::Test {};
using numbers = ::testing::Types<float, double>;
TYPED_TEST_SUITE(plain_number, numbers);

TYPED_TEST(plain_number, minimum_and_maximum_ignore_a_nan_beside_a_number) {
  using T = TypeParam;
  const T nan = std::numeric_limits<T>::quiet_NaN();
  const T infinity = std::numeric_limits<T>::infinity();
  T object = 1;
  const membar::atomic_ref<T, thread_scope::device> n(object);
  EXPECT_EQ(n.fetch_fmaximum_num(nan, membar::relaxed), 1);
  EXPECT_EQ(n.fetch_fminimum_num(-nan, membar::acq_rel), 1);
  EXPECT_EQ(object, 1);
  EXPECT_EQ(n.fetch_fmaximum_num(2, membar::seq_cst), 1);
  EXPECT_EQ(n.fetch_fmaximum_num(-infinity, membar::release), 2);
  EXPECT_EQ(n.fetch_fminimum_num(-3, membar::acquire), 2);
  EXPECT_EQ(object, -3);
  for (const T old : {nan, -nan, std::numeric_limits<T>::signaling_NaN()}) {
    n.store(old, membar::relaxed);
    EXPECT_TRUE(std::isnan(n.fetch_fminimum_num(infinity, membar::relaxed)));
    EXPECT_EQ(object, infinity);
    n.store(old, membar::relaxed);
    n.fetch_fmaximum_num(-infinity, membar::relaxed);
    EXPECT_EQ(object, -infinity);
    n.store(old, membar::relaxed);
    n.fetch_fmaximum_num(nan, membar::relaxed);
    EXPECT_TRUE(std::isnan(object));
    EXPECT_FALSE(std::signbit(object));
  }
}

TYPED_TEST(plain_number, minus_zero_is_smaller_than_zero) {
  using T = TypeParam;
  membar::atomic<T, thread_scope::device> n(T{0});
  n.fetch_fminimum_num(-T{0}, membar::relaxed);
  EXPECT_TRUE(std::signbit(n.load(membar::relaxed)));
  n.fetch_fmaximum_num(T{0}, membar::relaxed);
  EXPECT_FALSE(std::signbit(n.load(membar::relaxed)));
  n.fetch_fmaximum_num(-T{0}, membar::relaxed);
  EXPECT_FALSE(std::signbit(n.load(membar::relaxed)));
}

TEST(plain_host, adds_to_floats_and_pointers) {
  float object = 1.5F;
  membar::atomic_ref<float, thread_scope::device>(object).fetch_add(2, membar::relaxed);
  EXPECT_EQ(object, 3.5F);
  double some[8] = {};
  double* pointer = some;
  const membar::atomic_ref<double*, thread_scope::system> p(pointer);
  EXPECT_EQ(p.fetch_add(5, membar::acq_rel), some);
  p.sub(1, membar::release);
  EXPECT_EQ(pointer, some + 4);
}

TEST(plain_host, exchanges_vectors_whole_and_adds_to_them_by_element) {
  using floats = membar::vec<float, 4>;
  floats object{{1, 2, 3, 4}};
  const membar::atomic_ref<floats, thread_scope::device> v(object);
  const floats ten{{10, 10, 10, 10}};
  EXPECT_EQ(v.fetch_add(ten, membar::relaxed)[3], 4);
  EXPECT_EQ(v.exchange(ten, membar::acq_rel)[3], 14);
  EXPECT_EQ(object[0], 10);
}

TEST(plain_host, loses_no_increment) {
  constexpr int count = 20'000;
  float sum = 0;
  unsigned char byte = 0;
  unsigned tries = 0;
  const auto work = [&] {
    for (int i = 0; i != count; ++i) {
      membar::atomic_ref<float, thread_scope::system>(sum).fetch_add(1, membar::relaxed);
      membar::atomic_ref<unsigned char, thread_scope::system>(byte).fetch_add(1, membar::relaxed);
      const membar::atomic_ref<unsigned, thread_scope::system> n(tries);
      unsigned expected = n.load(membar::relaxed);
      while (!n.compare_exchange_weak(expected, expected + 1, membar::acq_rel)) {
      }
    }
  };
  { const std::jthread threads[] = {std::jthread(work), std::jthread(work), std::jthread(work), std::jthread(work)}; }
  EXPECT_EQ(sum, 4.0F * count);
  EXPECT_EQ(byte, static_cast<unsigned char>(4 * count));
  EXPECT_EQ(tries, 4U * count);
}

/// The names in <cuda/atomic>, which a plain C++ compiler can also read, but which atomic.hpp does not include.
enum cuda_scope { thread_scope_system, thread_scope_device, thread_scope_block };
template <class T, cuda_scope Scope>
struct cuda_ref {
  explicit cuda_ref(T& to) : object(&to) {}
  T* object;
};
template <class T, cuda_scope Scope>
struct cuda_value {
  cuda_value(T) {}
};
enum class other_scope { device };
template <class T, other_scope Scope>
struct other_ref {
  explicit other_ref(T& to) : object(&to) {}
  T* object;
};

template <thread_scope Scope, class To>
constexpr bool converts =
    std::is_convertible_v<membar::atomic_ref<int, Scope>, To> || std::is_convertible_v<membar::atomic<int, Scope>&, To>;
static_assert(converts<thread_scope::device, cuda_ref<int, thread_scope_device>>);
static_assert(!converts<thread_scope::device, cuda_ref<int, thread_scope_system>>);
static_assert(!converts<thread_scope::device, cuda_ref<long, thread_scope_device>>);
static_assert(!converts<thread_scope::device, cuda_value<int, thread_scope_device>>);
static_assert(!converts<thread_scope::device, other_ref<int, other_scope::device>>);
static_assert(!converts<thread_scope::device, membar::atomic_ref<int, thread_scope::system>>);
static_assert(!converts<thread_scope::device, bool>);

TEST(plain_host, converts_to_a_cuda_atomic_ref_of_the_same_object) {
  int object = 0;
  membar::atomic<int, thread_scope::block> owned(0);
  const cuda_ref<int, thread_scope_system> same = membar::atomic_ref<int, thread_scope::system>(object);
  const cuda_ref<int, thread_scope_block> of_owned = owned;
  *same.object = 1;
  *of_owned.object = 2;
  EXPECT_EQ(object, 1);
  EXPECT_EQ(owned.load(membar::relaxed), 2);
}

TEST(plain_host, has_budgets_and_results_of_waits) {
  EXPECT_EQ(membar::wait_budget::microseconds(3).in_nanoseconds(), 3000U);
  EXPECT_STREQ(name(membar::wait_result::timed_out), "timed_out");
}

}  // namespace
