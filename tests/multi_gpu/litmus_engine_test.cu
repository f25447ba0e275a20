// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The litmus engine on two devices: release and acquire at system scope pass data on, whichever device has the memory.
#include <membar/litmus/histogram.hpp>
#include <membar/litmus/runner.hpp>
#include <membar/litmus/test.cuh>

#include <support/classic_litmus_tests.cuh>

#include "support/gpu_test.hpp"

#include <cstdint>

namespace {

namespace classic = support::classic;
namespace model = membar::model;
using namespace membar::litmus;

class litmus_engine_of_two_devices : public membar_test::multi_gpu_test, public ::testing::WithParamInterface<int> {};
INSTANTIATE_TEST_SUITE_P(, litmus_engine_of_two_devices, ::testing::Values(0, 1),
                         [](const auto& each) { return each.param == 0 ? "memory_of_the_writer" : "memory_of_the_reader"; });

TEST_P(litmus_engine_of_two_devices, shows_only_what_the_model_allows) {
  engine e;
  runnable_test test =
      make_test<classic::mp<membar::thread_scope::system, membar::release_t, membar::acquire_t>>("MP between devices");
  test.twin.threads[1].where = model::block(0, 1);
  parameters how;
  how.home = GetParam();
  run_options options;
  options.seconds = 0.5;
  const report seen = make_report(test, e.run(test, how, options));
  std::uint64_t all = 0;
  for (const std::uint64_t count : seen.run.counts) {
    all += count;
  }
  EXPECT_EQ(all, seen.run.instances);
  EXPECT_FALSE(seen.condition_allowed);
  EXPECT_TRUE(seen.sound()) << text_of(seen);
}

}  // namespace
