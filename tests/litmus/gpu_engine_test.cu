// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The litmus engine on one launch: it observes only what the model allows, finds a planted bug, and ends every run.
#include <membar/atomic.cuh>
#include <membar/litmus/engine.hpp>
#include <membar/litmus/report.hpp>
#include <membar/litmus/test.cuh>
#include <membar/litmus/tuner.hpp>
#include <membar/load_store.cuh>
#include <membar/model/test.hpp>

#include <bench/common/classic_litmus_tests.cuh>

#include <tests/common/gpu_test.hpp>
#include <tests/common/refusal.hpp>

#include <algorithm>
#include <cstdint>
#include <numeric>
#include <ostream>
#include <string>
#include <utility>
#include <vector>

namespace {

namespace classic = support::classic;
namespace model = membar::model;
using namespace membar::litmus;
using membar::thread_scope;
using membar_test::says;

constexpr auto device = thread_scope::device;

/// Long enough for millions of instances, but short enough for a test.
constexpr run_options shortly{.seconds = 0.2};
constexpr run_options very_shortly{.seconds = 0.05};

/// Every instance has exactly one outcome.
void expect_all_counted(const run_result& run) {
  ASSERT_EQ(run.slices_with.size(), run.counts.size());
  for (std::size_t key = 0; key < run.counts.size(); ++key) {
    EXPECT_LE(run.slices_with[key], std::min(run.slices, run.counts[key]));
    EXPECT_EQ(run.slices_with[key] == 0, run.counts[key] == 0);
  }
  EXPECT_GE(run.slices, 1U);
  EXPECT_EQ(std::accumulate(run.counts.begin(), run.counts.end(), std::uint64_t{0}), run.instances);
  EXPECT_EQ(run.instances, run.steps * run.layout.instances());
}

/// One of the classic tests.
struct classic_case {
  const char* name;
  runnable_test (*make)(std::string);
  bool allowed;  ///< whether the model allows the outcome
};

std::ostream& operator<<(std::ostream& out, const classic_case& c) { return out << c.name; }

template <class Test>
runnable_test made(std::string name) {
  return make_test<Test>(std::move(name));
}

/// Runs a test for a short time.
report report_of(const runnable_test& test) {
  engine e;
  return make_report(test, e.run(test, {}, shortly));
}

class litmus_engine : public membar_test::gpu_test {};
class litmus_classic : public litmus_engine, public ::testing::WithParamInterface<classic_case> {};
INSTANTIATE_TEST_SUITE_P(
    , litmus_classic,
    ::testing::Values(classic_case{"MP", made<classic::mp<device>>, true}, classic_case{"SB", made<classic::sb<device>>, true},
                      classic_case{"LB", made<classic::lb<device>>, true},
                      classic_case{"IRIW", made<classic::iriw<device>>, true},
                      classic_case{"ISA2", made<classic::isa2<device>>, true},
                      classic_case{"WRC", made<classic::wrc<device>>, true},
                      classic_case{"RWC", made<classic::rwc<device>>, true},
                      classic_case{"TwoPlusTwoW", made<classic::two_plus_two_w<device>>, true},
                      classic_case{"CoRR", made<classic::corr<device>>, false},
                      classic_case{"MPReleaseAcquire", made<classic::mp<device, membar::release_t, membar::acquire_t>>, false},
                      classic_case{"SBFences", made<classic::sb_fenced<device>>, false}),
    [](const auto& each) { return each.param.name; });

TEST_P(litmus_classic, shows_only_what_the_model_allows) {
  const report seen = report_of(GetParam().make(GetParam().name));
  expect_all_counted(seen.run);
  EXPECT_EQ(seen.condition_allowed, GetParam().allowed);
  EXPECT_TRUE(seen.sound()) << text_of(seen);
  // The threads of an instance must overlap in time. If the threads did not overlap, a run would also show only allowed
  // outcomes.
  EXPECT_GE(std::count_if(seen.outcomes.begin(), seen.outcomes.end(), [](const outcome& o) { return o.count != 0; }), 2)
      << text_of(seen);
  RecordProperty("observation", seen.frequency());
  RecordProperty("instances_per_second", std::to_string(seen.run.rate()));
}

/// Two threads try to take a lock with an exchange or, in the buggy version, with a load and a store.
template <bool Bug>
struct lock_for_one {
  static constexpr auto model_test =
      model::litmus(
          model::thread(model::block(0), model::exchange<device>(model::reg{0}, model::variable{0}, 1, membar::acquire)),
          model::thread(model::block(1), model::exchange<device>(model::reg{0}, model::variable{0}, 1, membar::acquire)))
          .when(model::in(0, model::reg{0}) == 0 && model::in(1, model::reg{0}) == 0);

  template <int Thread>
  static __device__ void run(const instance_cells& at, const auto& out) {
    int* const lock = at.as<int>(0);
    if constexpr (Bug) {
      const int before = membar::load<device>(lock, membar::acquire);
      membar::store<device>(lock, 1, membar::relaxed);
      out.write(Thread, before);
    } else {
      out.write(Thread, membar::atomic_ref<int, device>(*lock).exchange(1, membar::acquire));
    }
  }
};

TEST_F(litmus_engine, finds_a_lock_that_admits_two_threads) {
  const report seen = report_of(make_test<lock_for_one<true>>("broken lock"));
  EXPECT_FALSE(seen.sound()) << text_of(seen);
  EXPECT_GT(seen.positive, 0U) << text_of(seen);
  EXPECT_TRUE(says(text_of(seen), "Forbidden: P0:r0=0; P1:r0=0; was observed "));
}

TEST_F(litmus_engine, finds_nothing_wrong_with_a_lock_that_admits_one_thread) {
  const report seen = report_of(make_test<lock_for_one<false>>("lock"));
  EXPECT_TRUE(seen.sound()) << text_of(seen);
}

/// Every thread reads the initial values with weak accesses, which may hit in a cache, so the test would notice a value from an
/// earlier step.
struct finds_zeros {
  static constexpr model::variable a{0}, b{1}, c{2};
  static constexpr auto model_test =
      model::litmus(model::thread(model::block(0), model::load(model::reg{0}, a), model::store(a, 1),
                                  model::load(model::reg{1}, c), model::store(c, 2)),
                    model::thread(model::block(1), model::load(model::reg{0}, b), model::store(b, 3)))
          .when(model::in(0, model::reg{0}) == 0 && model::in(0, model::reg{1}) == 0 && model::in(1, model::reg{0}) == 0 &&
                model::in_memory(a) == 1 && model::in_memory(b) == 3 && model::in_memory(c) == 2);
  static constexpr unsigned values = 4 - 1;  // The value 3 is the digit "other".

  template <int Thread>
  static __device__ void run(const instance_cells& at, const auto& out) {
    if constexpr (Thread == 0) {
      const int first = membar::load_weak(at.as<int>(0));
      membar::store_weak(at.as<int>(0), 1);
      const int second = membar::load_weak(at.as<int>(2));
      membar::store_weak(at.as<int>(2), 2);
      out.write(0, first);
      out.write(1, second);
    } else {
      const int first = membar::load_weak(at.as<int>(1));
      membar::store_weak(at.as<int>(1), 3);
      out.write(2, first);
    }
  }
};

TEST_F(litmus_engine, begins_every_instance_with_what_it_should_under_all_parameters) {
  engine e;
  const runnable_test test = make_test<finds_zeros>("zeros");
  // The threads' digits are 0, 0 and 0; the digits in memory are 1, other (3) and 2.
  constexpr std::uint64_t radix = 4;
  constexpr std::uint64_t cube = radix * radix * radix;
  const std::uint64_t only = cube * (1 + 3 * radix + 2 * radix * radix);
  ASSERT_EQ(test.outcomes(), cube * cube);
  std::vector<parameters> tried = {parameters{}};
  for (std::uint64_t index = 0; index < 20; ++index) {
    tried.push_back(draw_parameters(99, index));
  }
  for (const parameters& how : tried) {
    SCOPED_TRACE(text_of(how));
    const run_result run = e.run(test, how, very_shortly);
    expect_all_counted(run);
    EXPECT_EQ(run.counts[only], run.instances);
  }
}

/// Reports the places where its threads run.
struct tells_where {
  static constexpr auto model_test =
      model::litmus(model::thread(model::block(0), model::load(model::reg{0}, model::variable{0})),
                    model::thread(model::block(1), model::load(model::reg{0}, model::variable{0})))
          .when(model::in(0, model::reg{0}) == 0 && model::in(1, model::reg{0}) == 0);
  static constexpr unsigned values = 31;

  template <int Thread>
  static __device__ void run(const instance_cells&, const auto& out) {
    out.write(Thread, (blockIdx.x * 7 + threadIdx.x) % 31);
  }
};

TEST_F(litmus_engine, runs_the_same_layouts_with_the_same_seed) {
  engine e;
  const runnable_test test = make_test<tells_where>("where");
  const parameters how{.share = 10};
  run_options options{.seconds = 60, .instances = 1};  // the run ends once it has this many instances
  const std::uint64_t per_step = e.run(test, how, options).layout.instances();
  options.instances = 20 * per_step;
  const auto counts = [&](std::uint64_t seed) {
    options.seed = seed;
    const run_result run = e.run(test, how, options);
    EXPECT_EQ(run.steps, 20U);
    return run.counts;
  };
  const std::vector<std::uint64_t> first = counts(1);
  EXPECT_EQ(counts(1), first);
  EXPECT_NE(counts(2), first);
}

/// A thread waits for a value that no thread stores, in every instance or in only one.
template <bool Everywhere>
struct waits_forever {
  static constexpr auto model_test = classic::mp<device>::model_test;

  template <int Thread>
  static __device__ void run(const instance_cells& at, const auto& out) {
    if constexpr (Thread == 1) {
      if (Everywhere || at.instance() == 0) {
        while (membar::load<device>(at.as<int>(1), membar::relaxed) != 2 && !abandoned(at)) {
        }
      }
      out.write(0, 0);
      out.write(1, 0);
    }
  }
};

template <class Test>
void expect_timeout(const char* by_whom) {
  engine e;
  try {
    static_cast<void>(e.run(make_test<Test>("endless"), {}, {.seconds = 0.2, .patience_seconds = 0.3}));
    FAIL() << "the run ended";
  } catch (const membar::error& timeout) {
    EXPECT_EQ(timeout.code(), cudaErrorLaunchTimeout);
    EXPECT_TRUE(says(timeout.what(), "membar: endless timed out: "));
    EXPECT_TRUE(says(timeout.what(), by_whom));
  }
  const runnable_test next = make_test<classic::mp<device>>("MP");
  const report seen = make_report(next, e.run(next, {}, very_shortly));
  expect_all_counted(seen.run);
  EXPECT_TRUE(seen.sound()) << text_of(seen);
}

TEST_F(litmus_engine, gives_a_test_up_that_waits_forever_and_runs_the_next) {
  expect_timeout<waits_forever<true>>("a thread of the test waited in a loop");
}

TEST_F(litmus_engine, gives_a_test_up_whose_one_instance_never_ends_and_runs_the_next) {
  expect_timeout<waits_forever<false>>(" timed out: ");
}

TEST_F(litmus_engine, ends_when_the_instances_have_run) {
  engine e;
  const run_options options{.seconds = 60, .instances = 10'000'000};
  const run_result run = e.run(make_test<classic::mp<device>>("MP"), {}, options);
  EXPECT_GE(run.instances, options.instances);
  EXPECT_LT(run.instances, options.instances + run.layout.instances());
}

TEST_F(litmus_engine, searches_parameters_and_reports_under_the_best) {
  engine e;
  const runnable_test test = make_test<classic::mp<device>>("MP");
  const tune_result found = tune(e, test, {.seconds = 1.0, .trial_seconds = 0.05});
  ASSERT_GE(found.log.size(), 5U);
  for (const trial& one : found.log) {
    EXPECT_EQ(one.failure, "") << text_of(one.tried);
  }
  const report seen = make_report(test, e.run(test, found.best, shortly));
  EXPECT_TRUE(seen.sound()) << text_of(seen);
}

}  // namespace
