// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The litmus engine in every placement of one device: one block, clusters, two domains, and beside the host.
#include <membar/litmus/histogram.hpp>
#include <membar/litmus/runner.hpp>
#include <membar/litmus/test.cuh>
#include <membar/sync_domain.hpp>

#include <support/classic_litmus_tests.cuh>

#include "support/gpu_test.hpp"

#include <algorithm>
#include <cstdint>
#include <utility>

namespace {

namespace classic = support::classic;
namespace model = membar::model;
using namespace membar::litmus;

using passed_on = classic::mp<membar::thread_scope::system, membar::release_t, membar::acquire_t>;
using unordered = classic::mp<membar::thread_scope::system>;

/// The same test with its threads elsewhere.
runnable_test moved(runnable_test test, const model::place& first, const model::place& second) {
  test.twin.threads[0].where = first;
  test.twin.threads[1].where = second;
  return test;
}

class litmus_placements : public membar_test::gpu_test {
 protected:
  /// Release and acquire pass the data on wherever the threads are, and threads of an instance meet: the flag is seen in some
  /// instances and not in others.
  static void expect_passed_on(const model::place& first, const model::place& second, const parameters& how = {},
                               const host_thread& on_host = {}) {
    engine e;
    for (const bool ordered : {true, false}) {
      runnable_test test = ordered ? make_test<passed_on>("ordered", on_host) : make_test<unordered>("unordered", on_host);
      test = moved(std::move(test), first, second);
      run_options options;
      options.seconds = 0.3;
      const report seen = make_report(test, e.run(test, how, options));
      std::uint64_t all = 0;
      for (const std::uint64_t count : seen.run.counts) {
        all += count;
      }
      EXPECT_EQ(all, seen.run.instances);
      EXPECT_EQ(seen.condition_allowed, !ordered);
      EXPECT_TRUE(seen.sound()) << text_of(seen);
      EXPECT_GE(std::count_if(seen.outcomes.begin(), seen.outcomes.end(), [](const outcome& o) { return o.count != 0; }), 2)
          << text_of(seen);
    }
  }
};

TEST_F(litmus_placements, run_in_one_block) {
  for (const spread within : {spread::lanes, spread::warps, spread::block}) {
    parameters how;
    how.within = within;
    expect_passed_on(model::block(0), model::block(0), how);
  }
  model::place other_warp = model::block(0);
  other_warp.warp = 1;
  expect_passed_on(model::block(0), other_warp);
}

TEST_F(litmus_placements, run_in_one_cluster) {
  if (!has_compute_capability(9)) {
    GTEST_SKIP() << "clusters need compute capability 9.0";
  }
  expect_passed_on(model::in_cluster(model::block(0), 0), model::in_cluster(model::block(1), 0));
}

TEST_F(litmus_placements, run_in_two_domains) {
  if (membar::sync_domain_count() < 2) {
    GTEST_SKIP() << "this test needs two memory synchronization domains";
  }
  expect_passed_on(model::block(0), model::in_domain(model::block(1), 1));
  parameters how;
  how.home = 1;
  how.stress = 25;
  how.share = 50;
  expect_passed_on(model::block(0), model::in_domain(model::block(1), 1), how);
}

TEST_F(litmus_placements, run_beside_a_reader_on_the_host) {
  expect_passed_on(model::block(0), model::host(), {}, classic::mp_on_host);
}

TEST_F(litmus_placements, run_beside_a_writer_on_the_host) {
  expect_passed_on(model::host(), model::block(0), {}, classic::mp_on_host);
}

TEST_F(litmus_placements, give_up_a_run_whose_host_thread_never_ends) {
  engine e;
  const host_thread endless = [](int, const cells& at, const digits& out) {
    while (!abandoned_on_host(at)) {
    }
    out.put(0, 0);
    out.put(1, 0);
  };
  run_options options;
  options.patience_seconds = 0.3;
  EXPECT_THROW(
      static_cast<void>(e.run(moved(make_test<passed_on>("endless", endless), model::block(0), model::host()), {}, options)),
      membar::error);
}

}  // namespace
