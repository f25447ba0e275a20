// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Checks, for every atomic operation, the values that it returns and stores under contention, with all scopes, orders and
// types, in global, shared and distributed shared memory. One kernel runs at a time, so no test here has the label
// `concurrent`.
#include <tests/common/gpu_test.hpp>
#include "atomic_contention.cuh"

#include <string>

namespace membar_test {
namespace {

using contention::group;

constexpr unsigned blocks = 8;
constexpr unsigned threads = 64;
constexpr unsigned cluster_size = 2;
constexpr unsigned turns = 8;

template <class T>
constexpr const char* type_name = std::is_signed_v<T> ? sizeof(T) == 4 ? "int" : "long long"
                                  : sizeof(T) == 4    ? "unsigned"
                                                      : "unsigned long long";

template <class Operation, class T, thread_scope Scope>
void expect_values(placement where, group who) {
  SCOPED_TRACE(std::string(type_name<T>) + " in " + name(where) + " memory");
  const unsigned sets = who == group::grid ? 1 : who == group::block ? blocks : blocks / cluster_size;
  const unsigned n = blocks / sets * threads * turns;
  const unsigned counts_per_object = n + 2;

  const device_copy<T> device_objects(std::vector<T>(sets * contention::most_objects, Operation::template initial<T>));
  const support::device_memory<unsigned> device_counts(sets * contention::most_objects * counts_per_object);
  const support::stream stream;
  launch_with_if(who == group::cluster || where == placement::neighbour_shared, {blocks, threads, stream.get()},
                 membar::cluster_dimensions{cluster_size, 1, 1}, contention::contend<Operation, T, Scope>, device_objects.get(),
                 device_counts.get(), counts_per_object, where, who, turns);
  const std::vector<T> objects = copied(device_objects);
  std::vector<unsigned> counts = copied(device_counts);

  for (unsigned set = 0; set != sets; ++set) {
    for (unsigned object = 0; object != Operation::objects; ++object) {
      SCOPED_TRACE("set " + std::to_string(set) + ", object " + std::to_string(object));
      const unsigned at = set * contention::most_objects + object;
      unsigned* const seen = &counts[at * counts_per_object];
      if constexpr (requires { Operation::final_is_one_of_the_seen; }) {
        const unsigned last = contention::decoded(objects[at]);
        ASSERT_LE(last, n);
        ++seen[last];
      } else if constexpr (requires { Operation::template final<T>(n); }) {
        ASSERT_EQ(objects[at], Operation::template final<T>(n));
      } else {
        ASSERT_LE(contention::decoded(objects[at]), n);
        ASSERT_NE(contention::decoded(objects[at]), 0U) << "nothing was stored";
      }
      for (unsigned index = 0; index != Operation::template seen_once<T>(n); ++index) {
        ASSERT_EQ(seen[index], 1U) << "index " << index << " of " << n;
      }
      ASSERT_EQ(seen[counts_per_object - 1], 0U) << "values that no thread stored";
    }
  }
}

template <class Operation, class T, thread_scope Scope>
void expect_values_in_every_place(bool device_has_clusters) {
  constexpr bool one_block = Scope == thread_scope::block;
  expect_values<Operation, T, Scope>(placement::shared, group::block);
  expect_values<Operation, T, Scope>(placement::global, one_block                        ? group::block
                                                        : Scope == thread_scope::cluster ? group::cluster
                                                                                         : group::grid);
  if (device_has_clusters) {
    expect_values<Operation, T, Scope>(one_block ? placement::neighbour_shared : placement::distributed_shared,
                                       one_block ? group::block : group::cluster);
  }
}

/// Every test runs once for each scope.
class atomic_contention : public gpu_test, public ::testing::WithParamInterface<thread_scope> {
 protected:
  void prepare() override {
    if (GetParam() == thread_scope::cluster) {
      need_compute_capability(9, "thread block clusters");
    }
  }

  /// Calls `function` with the scope and each type as template arguments.
  template <class Function>
  static void for_each_type(Function function) {
    const auto at_scope = [&]<thread_scope Scope>() {
      function.template operator()<int, Scope>();
      function.template operator()<unsigned, Scope>();
      function.template operator()<long long, Scope>();
      function.template operator()<unsigned long long, Scope>();
    };
    with_constant<thread_scope::block, thread_scope::cluster, thread_scope::device, thread_scope::system>(GetParam(), at_scope);
  }

  template <class Operation>
  static void expect_values_of_every_type() {
    const bool clusters = has_compute_capability(9);
    for_each_type([&]<class T, thread_scope Scope>() { expect_values_in_every_place<Operation, T, Scope>(clusters); });
  }
};

INSTANTIATE_TEST_SUITE_P(, atomic_contention,
                         ::testing::Values(thread_scope::block, thread_scope::cluster, thread_scope::device,
                                           thread_scope::system),
                         [](const auto& each) { return std::string(name(each.param)); });

TEST_P(atomic_contention, fetch_add_conserves_the_sum_and_returns_every_old_value_once) {
  expect_values_of_every_type<contention::fetch_add>();
}
TEST_P(atomic_contention, fetch_sub_conserves_the_sum_and_returns_every_old_value_once) {
  expect_values_of_every_type<contention::fetch_sub>();
}
TEST_P(atomic_contention, exchange_gives_back_every_value_once) { expect_values_of_every_type<contention::exchange>(); }
TEST_P(atomic_contention, compare_exchange_loses_no_increment) { expect_values_of_every_type<contention::compare_exchange>(); }
TEST_P(atomic_contention, fetch_and_clears_every_bit_once) { expect_values_of_every_type<contention::fetch_and>(); }
TEST_P(atomic_contention, fetch_or_sets_every_bit_once) { expect_values_of_every_type<contention::fetch_or>(); }
TEST_P(atomic_contention, fetch_xor_combines_every_value) { expect_values_of_every_type<contention::fetch_xor>(); }
TEST_P(atomic_contention, fetch_min_finds_the_smallest) { expect_values_of_every_type<contention::fetch_min>(); }
TEST_P(atomic_contention, fetch_max_finds_the_largest) { expect_values_of_every_type<contention::fetch_max>(); }
TEST_P(atomic_contention, loads_find_what_was_stored_untorn) { expect_values_of_every_type<contention::load_store>(); }

/// The effect of a compare_exchange that found another value: its result, `expected` afterwards, and the object afterwards.
template <class T, thread_scope Scope>
__global__ void fail_to_exchange(T* result) {
  if constexpr (Scope != thread_scope::cluster || has_hopper) {
    const membar::atomic_ref<T, Scope> object(result[2]);
    object.store(contention::encoded<T>(7), membar::relaxed);
    T expected = contention::encoded<T>(8);
    result[0] = object.compare_exchange(expected, contention::encoded<T>(9), membar::acq_rel, membar::acquire) ? T{1} : T{0};
    result[1] = expected;
  }
}

TEST_P(atomic_contention, compare_exchange_that_fails_tells_the_value_and_changes_nothing) {
  for_each_type([&]<class T, thread_scope Scope>() {
    const support::device_memory<T> result(3);
    membar::launch(launch_config{1, 1}, fail_to_exchange<T, Scope>, result.get());
    const auto seen = copied(result);
    EXPECT_EQ(seen[0], T{0}) << type_name<T>;
    EXPECT_EQ(seen[1], contention::encoded<T>(7)) << type_name<T>;
    EXPECT_EQ(seen[2], contention::encoded<T>(7)) << type_name<T>;
  });
}

}  // namespace
}  // namespace membar_test
