// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The litmus engine in every placement on one device: one block, a cluster, two domains, and together with a host thread.
#include <membar/sync_domain.hpp>

#include <tests/common/gpu_test.hpp>
#include <tests/common/litmus_placements.cuh>

namespace {

namespace classic = support::classic;
namespace model = membar::model;
using namespace membar::litmus;

using membar_test::expect_passed_on;

class litmus_placements : public membar_test::gpu_test {};

TEST_F(litmus_placements, run_in_one_block) {
  for (const spread within : {spread::lanes, spread::warps, spread::block}) {
    expect_passed_on(model::block(0), model::block(0), {.within = within});
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
  expect_passed_on(model::block(0), model::in_domain(model::block(1), 1), {.share = 50, .stress = 25, .home = 1});
}

TEST_F(litmus_placements, run_beside_a_reader_on_the_host) {
  expect_passed_on(model::block(0), model::host(), {}, classic::mp_on_host);
}

TEST_F(litmus_placements, run_beside_a_writer_on_the_host) {
  expect_passed_on(model::host(), model::block(0), {}, classic::mp_on_host);
}

TEST_F(litmus_placements, give_up_a_run_whose_host_thread_never_ends) {
  engine e;
  const host_thread endless = [](int, const instance_cells& at, const instance_digits& out) {
    while (!abandoned_on_host(at)) {
    }
    out.put(0, 0);
    out.put(1, 0);
  };
  runnable_test test = make_test<classic::mp<membar::thread_scope::system>>("endless", endless);
  test.model_test.threads[1].where = model::host();
  EXPECT_THROW(static_cast<void>(e.run(test, {}, {.patience_seconds = 0.3})), membar::error);
}

}  // namespace
