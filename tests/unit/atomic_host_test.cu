// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Atomics as the host uses them: every scope acts as an operation of the host's memory model. Needs nvcc, and no GPU.
#include <membar/atomic.cuh>

#include <gtest/gtest.h>

#include <string>
#include <thread>
#include <type_traits>
#include <vector>

namespace {

using membar::thread_scope;

/// Every test runs once per scope.
class atomic_on_the_host : public ::testing::TestWithParam<thread_scope> {
 protected:
  /// Calls `function` with the scope as its template argument. It captures something, for nvcc warns of a captureless template.
  template <class Function>
  static void at_scope(Function function) {
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

TEST_P(atomic_on_the_host, has_every_operation) {
  at_scope([&]<thread_scope Scope>() {
    int object = 12;
    const membar::atomic_ref<int, Scope> n(object);
    EXPECT_EQ(n.load(membar::acquire), 12);
    n.store(6, membar::release);
    EXPECT_EQ(n.exchange(7, membar::acq_rel), 6);
    EXPECT_EQ(n.fetch_add(5, membar::relaxed), 7);
    EXPECT_EQ(n.fetch_sub(2, membar::acquire), 12);
    EXPECT_EQ(n.fetch_and(6, membar::release), 10);
    EXPECT_EQ(n.fetch_or(6, membar::seq_cst), 2);
    EXPECT_EQ(n.fetch_xor(3, membar::relaxed), 6);
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
    EXPECT_EQ(n.load(membar::acquire), 12U);
    n.store(6, membar::release);
    EXPECT_EQ(n.exchange(7, membar::acq_rel), 6U);
    EXPECT_EQ(n.fetch_add(5, membar::relaxed), 7U);
    EXPECT_EQ(n.fetch_sub(2, membar::acquire), 12U);
    EXPECT_EQ(n.fetch_and(6, membar::release), 10U);
    EXPECT_EQ(n.fetch_or(6, membar::seq_cst), 2U);
    EXPECT_EQ(n.fetch_xor(3, membar::relaxed), 6U);
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
    std::vector<std::thread> threads;
    for (int i = 0; i != 4; ++i) {
      threads.emplace_back(work);
    }
    for (std::thread& thread : threads) {
      thread.join();
    }
    EXPECT_EQ(sum, 4 * count);
    EXPECT_EQ(tries, 4U * count);
  });
}

// What converts to cuda::atomic_ref, and to which.
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

static_assert(!std::is_copy_constructible_v<membar::atomic<int, thread_scope::device>>);
static_assert(!std::is_copy_assignable_v<membar::atomic<int, thread_scope::device>>);
static_assert(!std::is_convertible_v<int&, membar::atomic_ref<int, thread_scope::device>>);
static_assert(sizeof(membar::atomic<int, thread_scope::device>) == 4 &&
              alignof(membar::atomic<long long, thread_scope::device>) == 8);
static_assert(membar::atomic_integer<long> && membar::atomic_integer<unsigned long>);
static_assert(!membar::atomic_integer<bool> && !membar::atomic_integer<short> && !membar::atomic_integer<const int> &&
              !membar::atomic_integer<float> && !membar::atomic_integer<int*>);

}  // namespace
