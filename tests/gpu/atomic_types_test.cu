// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Tests the values of atomics under contention, for every type except the 32- and 64-bit integers, which
// atomic_contention_test.cu tests. The tests check properties that hold regardless of the order of the threads. One kernel runs
// at a time, so no test here has the label `concurrent`.
#include <membar/cache_hint.cuh>

#include <tests/common/checked.cuh>
#include <tests/common/gpu_test.hpp>
#include "atomic_types.cuh"

#include <cmath>
#include <cstring>
#include <limits>
#include <numeric>
#include <vector>

namespace membar_test {
namespace {

using types::contest;
using types::contestants;
using types::number;
using types::orders;
using types::way;

template <class T>
bool same_bits(const T& a, const T& b) {
  return std::memcmp(&a, &b, sizeof(T)) == 0;
}

template <class T>
class atomic_type : public gpu_test {
 protected:
  /// Runs a contest, in one place, on objects with the initial value `initial`, and calls `expect` with the result.
  template <class Kernel, class Expect, class... Arguments>
  static void contend(Kernel kernel, thread_scope scope, placement where, T initial, Expect expect, Arguments... arguments) {
    SCOPED_TRACE(std::string(name(scope)) + " scope, " + name(where) + " memory");
    std::vector<contest<T>> before(1);
    std::memset(static_cast<void*>(before.data()), 0, sizeof before[0]);
    for (auto& cell : before[0].cells) {
      cell = {number<T>(42), initial, number<T>(43)};
    }
    const device_copy<contest<T>> device(before);
    const bool one_block = where == placement::shared || scope == thread_scope::block;
    const bool cluster = !one_block && (where == placement::distributed_shared || scope == thread_scope::cluster);
    const unsigned blocks = one_block ? 1 : cluster ? 2 : 8;
    launch_with_if(cluster, {blocks, contestants / blocks}, membar::cluster_dimensions{2, 1, 1}, kernel, device.get(), where,
                   arguments...);
    const auto after = copied(device);
    const contest<T>& all = after[0];
    EXPECT_EQ(all.strange, 0U) << "values that no thread stored";
    for (int order = 0; order != orders; ++order) {
      SCOPED_TRACE("order " + std::to_string(order));
      EXPECT_TRUE(same_bits(all.cells[order].before, number<T>(42))) << "the neighbour before the object was changed";
      EXPECT_TRUE(same_bits(all.cells[order].after, number<T>(43))) << "the neighbour after the object was changed";
      expect(all, order);
    }
  }

  /// Calls `run` for each scope and each place where the scope's threads can be.
  template <class Run>
  static void everywhere(Run run) {
    const bool hopper = has_compute_capability(9);
    if (types::needs_hopper<T> && !hopper) {
      return;
    }
    run.template operator()<thread_scope::block>(placement::global);
    run.template operator()<thread_scope::block>(placement::shared);
    run.template operator()<thread_scope::system>(placement::global);
    run.template operator()<thread_scope::device>(placement::global);
    run.template operator()<thread_scope::device>(placement::shared);
    if (hopper) {
      run.template operator()<thread_scope::cluster>(placement::global);
      run.template operator()<thread_scope::cluster>(placement::distributed_shared);
      run.template operator()<thread_scope::device>(placement::distributed_shared);
    }
  }

  template <way How>
  static void expect_counts() {
    const T initial = types::start<T>();  // The capture is there because nvcc warns about captureless generic lambdas.
    everywhere([&]<thread_scope Scope>(placement where) {
      contend(types::count<How, T, Scope>, Scope, where, initial, [](const contest<T>& all, int order) {
        EXPECT_EQ(types::count_of(all.cells[order].object), contestants % (sizeof(T) == 1 ? 256 : contestants + 1));
        if (types::returns<How>) {
          for (unsigned i = 0; i != types::distinct<T>; ++i) {
            ASSERT_EQ(all.seen[order][i], contestants / types::distinct<T>) << "old values of count " << i;
          }
        }
      });
    });
  }

  template <bool Maximum, bool Returns>
  static void expect_extreme() {
    // An independently computed total order: the bits, read as sign and magnitude, as a signed number.
    const auto less = [](T a, T b) {
      if constexpr (types::is_float<T>) {
        const auto key = [](T x) {
          std::uint64_t bits = 0;
          std::memcpy(&bits, &x, sizeof x);
          const std::uint64_t sign = std::uint64_t{1} << (8 * sizeof x - 1);
          const auto magnitude = static_cast<std::int64_t>(bits & (sign - 1));
          return (bits & sign) != 0 ? -magnitude - 1 : magnitude;
        };
        return key(a) < key(b);
      } else {
        return a < b;
      }
    };
    T expected = types::operand<T>(0);
    for (unsigned rank = 0; rank != contestants; ++rank) {
      const T other = types::operand<T>(rank);
      expected = less(other, expected) != Maximum && !same_bits(other, expected) ? other : expected;
    }
    everywhere([&]<thread_scope Scope>(placement where) {
      contend(types::find_extreme<Maximum, Returns, T, Scope>, Scope, where, types::operand<T>(0),
              [&](const contest<T>& all, int order) { EXPECT_TRUE(same_bits(all.cells[order].object, expected)); });
    });
  }
};

using value_types = ::testing::Types<signed char, unsigned char, short, unsigned short, __int128, unsigned __int128, float,
                                     double, __half, __nv_bfloat16>;
TYPED_TEST_SUITE(atomic_type, value_types);

// The blocks of a cluster are not numbered like a grid's blocks, but in both cases every rank occurs exactly once.

TYPED_TEST(atomic_type, fetch_add_conserves_the_sum_and_returns_every_old_value_once) {
  this->template expect_counts<way::fetch_add>();
}
TYPED_TEST(atomic_type, compare_exchange_loses_no_increment) { this->template expect_counts<way::compare_exchange>(); }
TYPED_TEST(atomic_type, reductions_conserve_the_sum) { this->template expect_counts<way::add>(); }
TYPED_TEST(atomic_type, minimum_is_found) {
  this->template expect_extreme<false, true>();
  this->template expect_extreme<false, false>();
}
TYPED_TEST(atomic_type, maximum_is_found) {
  this->template expect_extreme<true, true>();
  this->template expect_extreme<true, false>();
}

TYPED_TEST(atomic_type, exchange_gives_back_every_value_once) {
  using T = TypeParam;
  const T initial = types::start<T>();
  this->everywhere([&]<thread_scope Scope>(placement where) {
    atomic_type<T>::contend(types::pass_around<T, Scope>, Scope, where, initial, [](const contest<T>& all, int order) {
      // The values that threads take out, together with the remaining value, are the initial value and one value per rank.
      std::vector<unsigned> seen(all.seen[order], all.seen[order] + contestants);
      seen.push_back(0);
      const unsigned total = std::accumulate(seen.begin(), seen.end(), 1U);
      seen[contestants] = contestants + 1 - total;  // this value is not counted on the device
      ++seen[types::count_of(all.cells[order].object)];
      for (unsigned i = 0; i != types::distinct<T>; ++i) {
        // In a byte, two ranks have the same value, and the first also equals the initial value.
        ASSERT_EQ(seen[i], sizeof(T) != 1 ? 1U : i == 0 ? 3U : 2U) << "value " << i;
      }
    });
  });
}

/// One type for each kind of lowering.
template <class T>
class atomic_lowering : public atomic_type<T> {};
using lowered_types = ::testing::Types<unsigned char, __int128, float, __half>;
TYPED_TEST_SUITE(atomic_lowering, lowered_types);

TYPED_TEST(atomic_lowering, fetch_sub_conserves_the_sum_and_returns_every_old_value_once) {
  this->template expect_counts<way::fetch_sub>();
}
TYPED_TEST(atomic_lowering, fetch_update_loses_no_increment) { this->template expect_counts<way::fetch_update>(); }
TYPED_TEST(atomic_lowering, aggregation_at_one_address_returns_every_old_value_once) {
  this->template expect_counts<way::aggregation_at_one_address>();
}
TYPED_TEST(atomic_lowering, aggregation_at_any_address_returns_every_old_value_once) {
  this->template expect_counts<way::aggregation_at_any_address>();
}
TYPED_TEST(atomic_lowering, aggregation_of_a_function_returns_every_old_value_once) {
  this->template expect_counts<way::aggregation_of_a_function>();
}
TYPED_TEST(atomic_lowering, aggregated_reductions_conserve_the_sum) { this->template expect_counts<way::aggregated_add>(); }

template <class T>
class atomic_unsigned_type : public atomic_type<T> {};
using unsigned_types = ::testing::Types<unsigned char, unsigned short, unsigned, unsigned long long, unsigned __int128>;
TYPED_TEST_SUITE(atomic_unsigned_type, unsigned_types);

TYPED_TEST(atomic_unsigned_type, wraps_at_the_limit_and_returns_every_value_in_turn) {
  using T = TypeParam;
  for (const bool up : {true, false}) {
    const auto check = [up](const contest<T>& all, int order) {
      for (unsigned value = 0; value != 10; ++value) {
        // Upwards from 0, the old values are 0, 1, ... 9, 0, ...; downwards, they are 0, 9, 8, ... 1, 0, ...
        const unsigned turn = up ? value : (10 - value) % 10;
        EXPECT_EQ(all.seen[order][value], contestants / 10 + (turn < contestants % 10 ? 1 : 0)) << "value " << value;
      }
      EXPECT_TRUE(all.cells[order].object == static_cast<T>(up ? contestants % 10 : (10 - contestants % 10) % 10));
    };
    this->everywhere([&]<thread_scope Scope>(placement where) {
      atomic_type<T>::contend(types::wrap<false, T, Scope>, Scope, where, T{0}, check, up, T{9});
      atomic_type<T>::contend(types::wrap<true, T, Scope>, Scope, where, T{0}, check, up, T{9});
    });
  }
}

class atomic_objects : public gpu_test {};

struct two_halves {
  long long first;
  long long second;
};

/// Counts torn values, whose halves come from two stores.
template <thread_scope Scope>
__global__ void store_and_load_halves(two_halves* object, unsigned* torn, unsigned* exchanged) {
  const membar::atomic_ref<two_halves, Scope> n(*object);
  const long long rank = blockIdx.x * blockDim.x + threadIdx.x;
  for (int turn = 0; turn != 64; ++turn) {
    n.store({rank, ~rank}, membar::relaxed);
    const two_halves relaxed = n.load(membar::relaxed);
    const two_halves acquired = n.load(membar::acquire);
    bool whole = relaxed.first == ~relaxed.second && acquired.first == ~acquired.second;
    if constexpr (has_hopper) {
      const two_halves old = n.exchange({-rank, ~-rank}, membar::acq_rel);
      two_halves expected = old;
      if (n.compare_exchange(expected, {rank, ~rank}, membar::release, membar::relaxed)) {
        atomicAdd(exchanged, 1U);
      }
      whole = whole && old.first == ~old.second && expected.first == ~expected.second;
    }
    if (checked(!whole)) {
      atomicAdd(torn, 1U);
    }
  }
}

TEST_F(atomic_objects, no_read_of_16_bytes_is_torn) {
  const device_copy<two_halves> object({{0, ~0LL}});
  const support::device_memory<unsigned> counts(2);
  for (const auto kernel : {store_and_load_halves<thread_scope::device>, store_and_load_halves<thread_scope::system>}) {
    membar::launch(launch_config{16, 128}, kernel, object.get(), counts.get(), counts.get() + 1);
  }
  EXPECT_EQ(copied(counts)[0], 0U);
}

/// Every thread adds its rank to each element, once with and once without reading the old value.
template <class T, int Size>
__global__ void add_vectors(membar::vec<T, Size>* objects) {
  if constexpr (has_hopper) {
    const membar::atomic_ref<membar::vec<T, Size>, thread_scope::device> sum(objects[0]);
    membar::vec<T, Size> ones;
    for (int i = 0; i != Size; ++i) {
      ones[i] = number<T>(1);
    }
    sum.fetch_add(ones, membar::relaxed);
    sum.add(ones, membar::release);
    sum.fetch_sub(ones, membar::acq_rel);
    if constexpr (!std::is_same_v<T, float>) {
      const membar::atomic_ref<membar::vec<T, Size>, thread_scope::device> most(objects[1]);
      const membar::atomic_ref<membar::vec<T, Size>, thread_scope::device> least(objects[2]);
      for (int i = 0; i != Size; ++i) {
        ones[i] = number<T>(static_cast<int>(threadIdx.x) + i);
      }
      most.fetch_max(ones, membar::acquire);
      most.max(ones, membar::relaxed);
      least.fetch_min(ones, membar::seq_cst);
      least.min(ones, membar::release);
    }
  }
}

template <class T, int Size>
void expect_vector_sums() {
  SCOPED_TRACE(std::to_string(Size) + " elements of " + std::to_string(sizeof(T)) + " bytes");
  using vector = membar::vec<T, Size>;
  std::vector<vector> before(3);
  for (int i = 0; i != Size; ++i) {
    before[0][i] = number<T>(0);
    before[1][i] = number<T>(-1);
    before[2][i] = number<T>(200);
  }
  const device_copy<vector> device(before);
  membar::launch(launch_config{4, 32}, add_vectors<T, Size>, device.get());
  const auto objects = copied(device);
  for (int i = 0; i != Size; ++i) {
    EXPECT_TRUE(same_bits(objects[0][i], number<T>(128))) << "element " << i;
    if (!std::is_same_v<T, float>) {
      EXPECT_TRUE(same_bits(objects[1][i], number<T>(31 + i))) << "element " << i;
      EXPECT_TRUE(same_bits(objects[2][i], number<T>(i))) << "element " << i;
    }
  }
}

TEST_F(atomic_objects, vectors_are_added_by_element) {
  if (!has_compute_capability(9)) {
    GTEST_SKIP() << "this test needs vector atomics, but the GPU has a compute capability below 9.0";
  }
  expect_vector_sums<float, 2>();
  expect_vector_sums<float, 4>();
  expect_vector_sums<__half, 2>();
  expect_vector_sums<__half, 4>();
  expect_vector_sums<__half, 8>();
  expect_vector_sums<__nv_bfloat16, 2>();
  expect_vector_sums<__nv_bfloat16, 4>();
  expect_vector_sums<__nv_bfloat16, 8>();
}

template <thread_scope Scope, class Pair, class T>
__global__ void add_pairs(Pair* objects, placement where) {
  if constexpr (Scope != thread_scope::cluster || has_hopper) {
    on_objects<2>(objects, where, where == placement::distributed_shared, [](Pair* at) {
      const membar::atomic_ref<Pair, Scope> sum(at[0]);
      const membar::atomic_ref<Pair, Scope> most(at[1]);
      const Pair one(number<T>(1), number<T>(-1));
      sum.fetch_add(one, membar::acq_rel);
      sum.add(one, membar::relaxed);
      sum.sub(one, membar::release);
      const int rank = static_cast<int>(threadIdx.x);
      most.fetch_max(Pair(number<T>(rank), number<T>(-rank)), membar::relaxed);
    });
  }
}

template <thread_scope Scope, class Pair, class T>
void expect_pair_sums(const auto& config, int last_rank, placement where) {
  const device_copy<Pair> device({Pair(number<T>(0), number<T>(0)), Pair(number<T>(-9), number<T>(-9))});
  membar::launch(config, add_pairs<Scope, Pair, T>, device.get(), where);
  const auto objects = copied(device);
  EXPECT_TRUE(same_bits(objects[0], Pair(number<T>(128), number<T>(-128))));
  EXPECT_TRUE(same_bits(objects[1], Pair(number<T>(last_rank), number<T>(0))) ||
              same_bits(objects[1], Pair(number<T>(last_rank), -number<T>(0))));
}

TEST_F(atomic_objects, pairs_are_added_by_element) {
  const launch_config config{4, 32};
  expect_pair_sums<thread_scope::device, __half2, __half>(config, 31, placement::global);
  expect_pair_sums<thread_scope::device, __nv_bfloat162, __nv_bfloat16>(config, 31, placement::global);
}

TEST_F(atomic_objects, additions_of_pairs_in_another_blocks_shared_memory_are_not_lost) {
  if (!has_compute_capability(9)) {
    GTEST_SKIP() << "this test needs thread block clusters, but the GPU has a compute capability below 9.0";
  }
  const auto config = launch_config{2, 64}.with(membar::cluster_dimensions{2, 1, 1});
  expect_pair_sums<thread_scope::cluster, __half2, __half>(config, 63, placement::distributed_shared);
  expect_pair_sums<thread_scope::cluster, __nv_bfloat162, __nv_bfloat16>(config, 63, placement::distributed_shared);
}

/// The rules for values that are not ordered as numbers: the total order of the bit patterns.
template <class T>
__global__ void order_totally(T* objects, T nan, T negative_nan) {
  const auto at = [&](int i) { return membar::atomic_ref<T, thread_scope::device>(objects[i]); };
  at(0).fetch_max(number<T>(0), membar::relaxed);   // -0 -> +0
  at(1).fetch_min(-number<T>(0), membar::relaxed);  // +0 -> -0
  at(2).fetch_max(nan, membar::relaxed);            // 1 -> NaN
  at(3).fetch_min(nan, membar::relaxed);            // 1 stays
  at(4).max(negative_nan, membar::relaxed);         // 1 stays
  at(5).min(negative_nan, membar::relaxed);         // 1 -> -NaN
  at(6).fetch_max(number<T>(3), membar::acquire);   // NaN stays
  at(7).fetch_min(number<T>(-3), membar::release);  // -2 -> -3
  at(8).fetch_max(number<T>(-3), membar::acq_rel);  // -4 -> -3
}

template <class T>
void expect_total_order() {
  // The NaNs have explicit signs, because compilers and processors disagree about the sign of a NaN that arithmetic produces.
  const T positive = std::copysign(std::numeric_limits<T>::quiet_NaN(), T{1});
  const T negative = std::copysign(std::numeric_limits<T>::quiet_NaN(), T{-1});
  const device_copy<T> device({-number<T>(0), number<T>(0), number<T>(1), number<T>(1), number<T>(1), number<T>(1), positive,
                               number<T>(-2), number<T>(-4)});
  const T expected[9] = {number<T>(0), -number<T>(0), positive,      number<T>(1), number<T>(1),
                         negative,     positive,      number<T>(-3), number<T>(-3)};
  membar::launch(launch_config{1, 1}, order_totally<T>, device.get(), positive, negative);
  const auto objects = copied(device);
  for (std::size_t i = 0; i != 9; ++i) {
    EXPECT_TRUE(same_bits(objects[i], expected[i])) << "case " << i;
  }
}

TEST_F(atomic_objects, floating_point_extremes_follow_the_total_order) {
  expect_total_order<float>();
  expect_total_order<double>();
}

template <class T>
using extreme_pairs = membar::vec<T, 2>;

/// The maximum and minimum of every object and its operand, with the vector instructions.
template <class T>
__global__ void take_extremes(extreme_pairs<T>* most, extreme_pairs<T>* least, const extreme_pairs<T>* operands) {
  const unsigned i = threadIdx.x;
  membar::atomic_ref<extreme_pairs<T>, thread_scope::device>(most[i]).fetch_max(operands[i], membar::relaxed);
  membar::atomic_ref<extreme_pairs<T>, thread_scope::device>(least[i]).min(operands[i], membar::relaxed);
}

/// All pairs of zeros, numbers, infinities and NaNs.
template <class T>
void expect_the_hosts_extremes(std::initializer_list<unsigned short> bits) {
  std::vector<extreme_pairs<T>> objects;
  std::vector<extreme_pairs<T>> operands;
  for (const unsigned short a : bits) {
    for (const unsigned short b : bits) {
      objects.push_back({{std::bit_cast<T>(a), std::bit_cast<T>(b)}});
      operands.push_back({{std::bit_cast<T>(b), std::bit_cast<T>(b)}});
    }
  }
  const device_copy<extreme_pairs<T>> most(objects);
  const device_copy<extreme_pairs<T>> least(objects);
  const device_copy<extreme_pairs<T>> others(operands);
  const auto count = static_cast<unsigned>(objects.size());
  membar::launch(launch_config{1, count}, take_extremes<T>, most.get(), least.get(), others.get());
  const auto largest = copied(most);
  const auto smallest = copied(least);
  for (std::size_t i = 0; i != objects.size(); ++i) {
    auto max = objects[i];
    auto min = objects[i];
    membar::atomic_ref<extreme_pairs<T>, thread_scope::device>(max).fetch_max(operands[i], membar::relaxed);
    membar::atomic_ref<extreme_pairs<T>, thread_scope::device>(min).min(operands[i], membar::relaxed);
    EXPECT_TRUE(same_bits(largest[i], max)) << "maximum of pair " << i;
    EXPECT_TRUE(same_bits(smallest[i], min)) << "minimum of pair " << i;
  }
}

TEST_F(atomic_objects, extremes_of_vectors_equal_the_hosts_even_with_a_nan) {
  if (!has_compute_capability(9)) {
    GTEST_SKIP() << "this test needs atomic operations on vectors, but the GPU has a compute capability below 9.0";
  }
  expect_the_hosts_extremes<__half>({0, 0x8000, 0x3c00, 0xbc00, 0x0001, 0x7c00, 0xfc00, 0x7e00, 0xfe00, 0x7fff, 0x7d00});
  expect_the_hosts_extremes<__nv_bfloat16>({0, 0x8000, 0x3f80, 0xbf80, 0x0001, 0x7f80, 0xff80, 0x7fc0, 0xffc0, 0x7fff, 0x7fa0});
}

/// The maximum and minimum of every object and its operand, which ignore a NaN if the other value is a number.
template <class T>
__global__ void take_extreme_numbers(T* most, T* least, const T* operands) {
  const unsigned i = threadIdx.x;
  membar::atomic_ref<T, thread_scope::device>(most[i]).fetch_fmaximum_num(operands[i], membar::relaxed);
  membar::atomic_ref<T, thread_scope::system>(least[i]).fetch_fminimum_num(operands[i], membar::acq_rel);
}

/// All pairs of zeros, numbers, infinities and NaNs.
template <class T>
void expect_the_hosts_extreme_numbers(std::initializer_list<membar::detail::bits_of<T>> bits) {
  std::vector<T> objects;
  std::vector<T> operands;
  for (const auto a : bits) {
    for (const auto b : bits) {
      objects.push_back(std::bit_cast<T>(a));
      operands.push_back(std::bit_cast<T>(b));
    }
  }
  const device_copy<T> most(objects);
  const device_copy<T> least(objects);
  const device_copy<T> others(operands);
  membar::launch(launch_config{1, static_cast<unsigned>(objects.size())}, take_extreme_numbers<T>, most.get(), least.get(),
                 others.get());
  const auto largest = copied(most);
  const auto smallest = copied(least);
  for (std::size_t i = 0; i != objects.size(); ++i) {
    T max = objects[i];
    T min = objects[i];
    membar::atomic_ref<T, thread_scope::device>(max).fetch_fmaximum_num(operands[i], membar::relaxed);
    membar::atomic_ref<T, thread_scope::device>(min).fetch_fminimum_num(operands[i], membar::relaxed);
    EXPECT_TRUE(same_bits(largest[i], max)) << "maximum of pair " << i;
    EXPECT_TRUE(same_bits(smallest[i], min)) << "minimum of pair " << i;
  }
}

TEST_F(atomic_objects, extremes_of_numbers_equal_the_hosts_even_with_a_nan) {
  expect_the_hosts_extreme_numbers<float>(
      {0, 0x80000000, 0x3f800000, 0xbf800000, 1, 0x7f800000, 0xff800000, 0x7fc00000, 0xffc00000, 0x7fffffff, 0x7f800001});
  expect_the_hosts_extreme_numbers<double>({0, 1ULL << 63, 0x3ff0000000000000, 0xbff0000000000000, 1, 0x7ff0000000000000,
                                            0xfff0000000000000, 0x7ff8000000000000, 0xfff8000000000000, 0x7fffffffffffffff,
                                            0x7ff0000000000001});
}

/// All threads access two objects. Every third thread uses a NaN as the operand, and the others use their rank.
template <class T>
__global__ void bring_numbers(T* objects, T nan) {
  const int rank = static_cast<int>(blockIdx.x * blockDim.x + threadIdx.x);
  const T mine = rank % 3 == 0 ? nan : number<T>(rank);
  membar::atomic_ref<T, thread_scope::device>(objects[0]).fetch_fmaximum_num(mine, membar::relaxed);
  membar::atomic_ref<T, thread_scope::device>(objects[1]).fetch_fminimum_num(mine, membar::relaxed);
}

TEST_F(atomic_objects, extremes_of_numbers_are_found_among_nans) {
  const float nan = std::numeric_limits<float>::quiet_NaN();
  const device_copy<float> objects({nan, nan});
  membar::launch(launch_config{8, 128}, bring_numbers<float>, objects.get(), -nan);
  EXPECT_EQ(copied(objects), (std::vector<float>{1022, 1}));
}

/// Every operation that takes an L2 policy, on objects of several kinds.
__global__ void operate_with_a_policy(unsigned* words, unsigned long long* wide, float* floats) {
  const membar::cache_policy<membar::l2_priority::evict_last> hot(1.0F);
  const unsigned rank = blockIdx.x * blockDim.x + threadIdx.x;
  const membar::atomic_ref<unsigned, thread_scope::device> sum(words[0]);
  sum.fetch_add(3, membar::acq_rel, hot);
  sum.add(2, membar::release, hot);
  sum.fetch_sub(1, membar::seq_cst, hot);
  sum.sub(1, membar::relaxed, hot);
  membar::atomic_ref<unsigned, thread_scope::system>(words[1]).fetch_max(rank, membar::acquire, hot);
  membar::atomic_ref<unsigned, thread_scope::system>(words[2]).min(rank, membar::relaxed, hot);
  membar::atomic_ref<unsigned, thread_scope::device>(words[3]).fetch_xor(1U << rank % 32, membar::relaxed, hot);
  membar::atomic_ref<unsigned, thread_scope::device>(words[4]).fetch_inc(9, membar::release, hot);
  membar::atomic<unsigned, thread_scope::device>& owned =
      *reinterpret_cast<membar::atomic<unsigned, thread_scope::device>*>(&words[5]);
  owned.bit_or(1U << rank % 32, membar::relaxed, hot);
  // The values that the threads take, together with the remaining value, are 0 and the square of each rank.
  const unsigned long long taken =
      membar::atomic_ref<unsigned long long, thread_scope::device>(wide[0]).exchange(1ULL * rank * rank, membar::acq_rel, hot);
  membar::atomic_ref<unsigned long long, thread_scope::device>(wide[1]).fetch_add(taken, membar::relaxed, hot);
  membar::atomic_ref<unsigned long long, thread_scope::device>(wide[2]).fetch_max(1ULL << 40 | rank, membar::acq_rel, hot);
  membar::atomic_ref<float, thread_scope::device>(floats[0]).fetch_add(1, membar::relaxed, hot);
  membar::atomic_ref<float, thread_scope::device>(floats[1]).fetch_min(-static_cast<float>(rank), membar::relaxed, hot);
  membar::atomic_ref<float, thread_scope::device>(floats[2]).max(static_cast<float>(rank), membar::release, hot);
  if constexpr (has_hopper) {
    using four = membar::vec<float, 4>;
    const membar::atomic_ref<four, thread_scope::device> all(*reinterpret_cast<four*>(&floats[4]));
    const four one{{1, 2, 3, 4}};
    all.fetch_add(one, membar::acquire, hot);
    all.add(one, membar::release, hot);
  }
}

TEST_F(atomic_objects, operations_with_an_l2_policy_do_what_they_do_without) {
  const device_copy<unsigned> words({0U, 0U, 9999U, 0U, 0U, 0U});
  const support::device_memory<unsigned long long> wide(3);
  const support::device_memory<float> floats(8);
  membar::launch(launch_config{8, 128}, operate_with_a_policy, words.get(), wide.get(), floats.get());
  EXPECT_EQ(copied(words), (std::vector<unsigned>{3 * 1024, 1023, 0, 0, 1024 % 10, ~0U}));
  const auto numbers = copied(wide);
  EXPECT_EQ(numbers[0] + numbers[1], 1023ULL * 1024 * 2047 / 6);
  EXPECT_EQ(numbers[2], 1ULL << 40 | 1023);
  const auto values = copied(floats);
  EXPECT_EQ(values[0], 1024);
  EXPECT_EQ(values[1], -1023);
  EXPECT_EQ(values[2], 1023);
  if (has_compute_capability(9)) {
    for (int i = 0; i != 4; ++i) {
      EXPECT_EQ(values[static_cast<std::size_t>(4 + i)], static_cast<float>(2 * 1024 * (i + 1))) << "element " << i;
    }
  }
}

/// The forms of the operations in the C++ standard. Each thread uses its own objects, so it is an error if an exchange does not
/// store its value.
__global__ void compare_and_exchange_by_standard_names(unsigned* objects, unsigned* wrong) {
  const unsigned rank = blockIdx.x * blockDim.x + threadIdx.x;
  const membar::atomic_ref<unsigned, thread_scope::device> n(objects[rank]);
  unsigned expected = 0;
  bool right = n.compare_exchange_weak(expected, 1, membar::acq_rel);
  right = !n.compare_exchange_strong(expected, 2, membar::release) && expected == 1 && right;
  right = n.compare_exchange(expected, 2, membar::seq_cst) && right;
  expected = 2;
  right = n.compare_exchange_weak(expected, 3, membar::acquire, membar::relaxed) && right && n.is_lock_free();
  const membar::atomic_ref<const unsigned, thread_scope::device> reader = n;
  reader.wait(2, membar::acquire);
  if (checked(!right || reader.load(membar::seq_cst) != 3)) {
    atomicAdd(wrong, 1U);
  }
}

TEST_F(atomic_objects, no_compare_exchange_fails_spuriously) {
  const support::device_memory<unsigned> objects(1025);
  membar::launch(launch_config{8, 128}, compare_and_exchange_by_standard_names, objects.get(), objects.get() + 1024);
  EXPECT_EQ(copied(objects)[1024], 0U);
}

/// One warp waits, through references to const, for a store by another warp of the block.
__global__ void wait_through_const(const membar::atomic<int, thread_scope::block>* flag, int* data, int* result) {
  if (threadIdx.x == 0) {
    const membar::atomic_ref<const int, thread_scope::block> reader = flag->ref();
    reader.wait(0, membar::acquire);
    *result = *data * reader.load(membar::relaxed);
  } else if (threadIdx.x == 32) {
    *data = 42;
    const_cast<membar::atomic<int, thread_scope::block>*>(flag)->store(1, membar::release);
  }
}

TEST_F(atomic_objects, a_wait_through_a_reference_to_const_acquires) {
  const support::device_memory<int> memory(3);
  membar::launch(launch_config{1, 64}, wait_through_const,
                 reinterpret_cast<const membar::atomic<int, thread_scope::block>*>(memory.get()), memory.get() + 1,
                 memory.get() + 2);
  EXPECT_EQ(copied(memory)[2], 42);
}

template <class T>
__global__ void exchange_vectors(membar::vec<T, 4>* object, unsigned* torn) {
  const membar::atomic_ref<membar::vec<T, 4>, thread_scope::device> n(*object);
  const T rank = number<T>(static_cast<int>(threadIdx.x));
  if constexpr (has_hopper || sizeof(T) == 2) {
    const auto old = n.exchange({{rank, rank, rank, rank}}, membar::acq_rel);
    if (checked(!(old[0] == old[1] && old[1] == old[2] && old[2] == old[3]))) {
      atomicAdd(torn, 1U);
    }
  }
}

TEST_F(atomic_objects, vectors_are_exchanged_whole) {
  const support::device_memory<membar::vec<float, 4>> floats(1);
  const support::device_memory<membar::vec<__half, 4>> halves(1);
  const support::device_memory<unsigned> torn(1);
  membar::launch(launch_config{16, 128}, exchange_vectors<float>, floats.get(), torn.get());
  membar::launch(launch_config{16, 128}, exchange_vectors<__half>, halves.get(), torn.get());
  EXPECT_EQ(copied(torn)[0], 0U);
}

__global__ void move_pointers(int** object, int* base, unsigned* seen) {
  int* const old = membar::atomic_ref<int*, thread_scope::device>(*object).fetch_add(2, membar::relaxed);
  atomicAdd(&seen[(old - base) / 2], 1U);
  membar::atomic_ref<int*, thread_scope::device>(object[1]).sub(1, membar::release);
}

TEST_F(atomic_objects, pointers_move_by_objects) {
  const support::device_memory<int> some(1);
  const support::device_memory<unsigned> seen(128);
  const device_copy<int*> objects({some.get(), some.get()});
  membar::launch(launch_config{4, 32}, move_pointers, objects.get(), some.get(), seen.get());
  const auto values = copied(objects);
  EXPECT_EQ(values[0], some.get() + 256);
  EXPECT_EQ(values[1], some.get() - 128);
  EXPECT_EQ(copied(seen), std::vector(128, 1U));
}

/// One warp waits for a store by another warp of the block.
__global__ void wait_for_a_store(int* object, int* data, int* result) {
  const membar::atomic_ref<int, thread_scope::block> flag(*object);
  if (threadIdx.x == 0) {
    flag.wait(0, membar::acquire);
    *result = *data;
  } else if (threadIdx.x == 32) {
    *data = 42;
    flag.store(1, membar::release);
    flag.notify_one();
  }
}

TEST_F(atomic_objects, a_wait_ends_with_the_store_and_acquires) {
  const support::device_memory<int> memory(3);
  membar::launch(launch_config{1, 64}, wait_for_a_store, memory.get(), memory.get() + 1, memory.get() + 2);
  EXPECT_EQ(copied(memory)[2], 42);
}

/// The lanes of each warp refer to several counters, and to different counters in each turn.
__global__ void count_at_several_addresses(unsigned* counters, unsigned* seen, unsigned each) {
  for (unsigned turn = 0; turn != 8; ++turn) {
    const unsigned slot = ((threadIdx.x * 2654435761U) >> (8 + turn)) % 16;
    if ((threadIdx.x + turn) % 3 != 0) {  // not all lanes take part
      const unsigned old = membar::aggregated_ref<unsigned, thread_scope::device>(counters[slot]).fetch_add(1, membar::acq_rel);
      if (old < each) {
        atomicAdd(&seen[slot * each + old], 1U);
      }
    }
  }
}

TEST_F(atomic_objects, aggregation_groups_lanes_by_address) {
  constexpr unsigned each = 8 * 512;
  const support::device_memory<unsigned> memory(16 + 16 * each);
  membar::launch(launch_config{2, 256}, count_at_several_addresses, memory.get(), memory.get() + 16, each);
  const std::vector<unsigned> values = copied(memory);
  for (unsigned slot = 0; slot != 16; ++slot) {
    for (unsigned i = 0; i != each; ++i) {
      ASSERT_EQ(values[16 + slot * each + i], i < values[slot] ? 1U : 0U) << "slot " << slot << ", old value " << i;
    }
  }
}

template <class Order>
__global__ void count_letters(const unsigned char* text, unsigned n, unsigned* bins, float* largest, Order order) {
  __shared__ membar::privatized_histogram<unsigned, 16> mine;
  __shared__ membar::privatized_counter<float, membar::maximum> top;
  for (int twice = 0; twice != 2; ++twice) {
    mine.clear();
    top.clear(-1000.0F);
    for (unsigned i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) {
      mine.add(text[i] % 16, 1U);
      top.add(0, -static_cast<float>(text[i]));
    }
    mine.template flush<thread_scope::device>(bins, order);
    top.template flush<thread_scope::device>(largest, order);
  }
}

/// Each operation starts from its own identity, for every shape of the block.
template <class T, class Operation>
__global__ void combine_in_a_block(const T* values, int n, T* result) {
  __shared__ membar::privatized_counter<T, Operation> mine;
  for (int twice = 0; twice != 2; ++twice) {
    mine.clear();
    for (int i = static_cast<int>(threadIdx.x + blockDim.x * threadIdx.y); i < n;
         i += static_cast<int>(blockDim.x * blockDim.y)) {
      mine.add(0, values[i]);
    }
    mine.template flush<thread_scope::device>(result, membar::relaxed);
  }
}

template <class T, class Operation>
T combined_in_a_block(const std::vector<T>& values, T before) {
  const device_copy<T> device_values(values);
  const device_copy<T> result({before});
  membar::launch(launch_config{1, dim3(8, 8)}, combine_in_a_block<T, Operation>, device_values.get(),
                 static_cast<int>(values.size()), result.get());
  return copied(result)[0];
}

TEST_F(atomic_objects, a_privatized_counter_starts_from_the_identity_of_its_operation) {
  EXPECT_EQ((combined_in_a_block<unsigned, membar::minimum>({70, 9, 800}, 1000U)), 9U);
  EXPECT_EQ((combined_in_a_block<int, membar::minimum>({70, 9, 800}, 1000)), 9);
  EXPECT_EQ((combined_in_a_block<int, membar::maximum>({-70, -9, -800}, -1000)), -9);
  EXPECT_EQ((combined_in_a_block<unsigned, membar::maximum>({70, 9, 800}, 5U)), 800U);
  EXPECT_EQ((combined_in_a_block<unsigned, membar::bit_and>({0xff0U, 0xff3U}, 0xfffU)), 0xff0U);
  EXPECT_EQ((combined_in_a_block<unsigned, membar::bit_or>({0x10U, 0x3U}, 0x100U)), 0x113U);
  EXPECT_EQ((combined_in_a_block<unsigned, membar::plus>({1, 2, 3}, 10U)), 22U);
  EXPECT_EQ((combined_in_a_block<unsigned long long, membar::minimum>({1ULL << 40, 1ULL << 41}, ~0ULL)), 1ULL << 40);
  EXPECT_EQ((combined_in_a_block<float, membar::minimum>({7.0F, 9.0F}, 1000.0F)), 7.0F);
  EXPECT_EQ((combined_in_a_block<double, membar::maximum>({-7.0, -9.0}, -1000.0)), -7.0);
}

TEST_F(atomic_objects, a_privatized_histogram_counts_all) {
  constexpr unsigned n = 10'000;
  std::vector<unsigned char> text(n);
  std::vector<unsigned> expected(16);
  for (unsigned i = 0; i != n; ++i) {
    text[i] = static_cast<unsigned char>(((i * 2654435761U) >> 20) % 200 + 7);
    expected[text[i] % 16] += 2;
  }
  const device_copy<unsigned char> device_text(text);
  const support::device_memory<unsigned> bins(16);
  const device_copy<float> largest({-1e30F});
  membar::launch(launch_config{5, 96}, count_letters<membar::release_t>, device_text.get(), n, bins.get(), largest.get(),
                 membar::release);
  EXPECT_EQ(copied(bins), expected);
  EXPECT_EQ(copied(largest)[0], -7.0F);
}

}  // namespace
}  // namespace membar_test
