// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The library's vocabulary: memory orders, scopes and its version.
#include <membar/memory_order.hpp>
#include <membar/thread_scope.hpp>
#include <membar/version.hpp>

#include <gtest/gtest.h>

#include <tuple>
#include <type_traits>

namespace {

using orders = std::tuple<membar::relaxed_t, membar::acquire_t, membar::release_t, membar::acq_rel_t, membar::seq_cst_t>;

/// The number of orders, out of the five, that a rule allows.
template <template <class> class Rule>
constexpr int allowed = []<class... Order>(std::type_identity<std::tuple<Order...>>) {
  return (int{Rule<Order>::value} + ...);
}(std::type_identity<orders>{});

template <class Order>
using any = std::bool_constant<membar::memory_order_tag<Order>>;
template <class Order>
using load = std::bool_constant<membar::load_order<Order>>;
template <class Order>
using store = std::bool_constant<membar::store_order<Order>>;
template <class Order>
using fence = std::bool_constant<membar::fence_order<Order>>;

TEST(memory_order, every_tag_is_an_order) { EXPECT_EQ(allowed<any>, 5); }

TEST(memory_order, a_load_releases_nothing) {
  EXPECT_EQ(allowed<load>, 3);
  EXPECT_FALSE(load<membar::release_t>::value || load<membar::acq_rel_t>::value);
}

TEST(memory_order, a_store_acquires_nothing) {
  EXPECT_EQ(allowed<store>, 3);
  EXPECT_FALSE(store<membar::acquire_t>::value || store<membar::acq_rel_t>::value);
}

TEST(memory_order, a_fence_is_never_relaxed) {
  EXPECT_EQ(allowed<fence>, 4);
  EXPECT_FALSE(fence<membar::relaxed_t>::value);
}

TEST(memory_order, what_is_no_tag_is_no_order) {
  EXPECT_FALSE(membar::memory_order_tag<int>);
  EXPECT_FALSE(membar::memory_order_tag<membar::memory_order>);
}

TEST(memory_order, is_named_as_in_cxx) {
  EXPECT_STREQ(name(membar::memory_order::relaxed), "relaxed");
  EXPECT_STREQ(name(membar::memory_order::acquire), "acquire");
  EXPECT_STREQ(name(membar::memory_order::release), "release");
  EXPECT_STREQ(name(membar::memory_order::acq_rel), "acq_rel");
  EXPECT_STREQ(name(membar::memory_order::seq_cst), "seq_cst");
  EXPECT_STREQ(name(static_cast<membar::memory_order>(17)), "unknown memory order");
}

using membar::acquire_half, membar::memory_order, membar::release_half;
/// Returns whether an order's release and acquire properties match these arguments.
consteval bool has_halves(memory_order order, memory_order release, memory_order acquire) {
  return release_half(order) == release && acquire_half(order) == acquire;
}
static_assert(has_halves(memory_order::relaxed, memory_order::relaxed, memory_order::relaxed));
static_assert(has_halves(memory_order::acquire, memory_order::relaxed, memory_order::acquire));
static_assert(has_halves(memory_order::release, memory_order::release, memory_order::relaxed));
static_assert(has_halves(memory_order::acq_rel, memory_order::release, memory_order::acquire));
static_assert(has_halves(memory_order::seq_cst, memory_order::seq_cst, memory_order::acquire));
static_assert(std::same_as<decltype(release_half(membar::acq_rel)), membar::release_t>);
static_assert(std::same_as<decltype(acquire_half(membar::acq_rel)), membar::acquire_t>);
static_assert(membar::reduction_order<membar::relaxed_t> && membar::reduction_order<membar::release_t>);
static_assert(!membar::reduction_order<membar::acquire_t> && !membar::reduction_order<membar::acq_rel_t> &&
              !membar::reduction_order<membar::seq_cst_t> && !membar::reduction_order<memory_order>);

TEST(thread_scope, is_named_in_membars_words) {
  EXPECT_STREQ(name(membar::thread_scope::block), "block");
  EXPECT_STREQ(name(membar::thread_scope::cluster), "cluster");
  EXPECT_STREQ(name(membar::thread_scope::device), "device");
  EXPECT_STREQ(name(membar::thread_scope::system), "system");
}

TEST(thread_scope, a_value_that_is_no_scope_has_a_name_that_says_so) {
  EXPECT_STREQ(name(static_cast<membar::thread_scope>(17)), "unknown thread scope");
}

TEST(thread_scope, wider_scopes_compare_greater) {
  EXPECT_LT(membar::thread_scope::block, membar::thread_scope::cluster);
  EXPECT_LT(membar::thread_scope::cluster, membar::thread_scope::device);
  EXPECT_LT(membar::thread_scope::device, membar::thread_scope::system);
}

TEST(version, is_the_same_as_a_macro_as_values_and_in_cmake) {
  constexpr auto version = membar::version;
  EXPECT_EQ(version.major * 10000 + version.minor * 100 + version.patch, MEMBAR_VERSION);
  EXPECT_EQ(version.major, MEMBAR_PROJECT_MAJOR);
  EXPECT_EQ(version.minor, MEMBAR_PROJECT_MINOR);
  EXPECT_EQ(version.patch, MEMBAR_PROJECT_PATCH);
}

#define MEMBAR_TEST_NAMESPACE_OF(major, minor) v##major##_##minor
#define MEMBAR_TEST_NAMESPACE(major, minor) MEMBAR_TEST_NAMESPACE_OF(major, minor)

// Because the version is part of the names, two versions in one program do not define the same entity twice.
TEST(version, is_in_the_names_that_the_linker_sees) {
  using membar::MEMBAR_TEST_NAMESPACE(MEMBAR_PROJECT_MAJOR, MEMBAR_PROJECT_MINOR)::thread_scope;
  EXPECT_TRUE((std::is_same_v<thread_scope, membar::thread_scope>));
}

}  // namespace
