// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The litmus engine on two devices: release and acquire at system scope pass data on, whichever device has the memory.
#include <membar/litmus/histogram.hpp>
#include <membar/litmus/runner.hpp>
#include <membar/litmus/test.cuh>

#include <support/classic_litmus_tests.cuh>

#include "support/gpu_test.hpp"

#include <algorithm>
#include <cstdint>

namespace {

namespace classic = support::classic;
namespace model = membar::model;
using namespace membar::litmus;

class litmus_engine_of_two_devices : public membar_test::multi_gpu_test, public ::testing::WithParamInterface<int> {};
INSTANTIATE_TEST_SUITE_P(, litmus_engine_of_two_devices, ::testing::Values(0, 1),
                         [](const auto& each) { return each.param == 0 ? "memory_of_the_writer" : "memory_of_the_reader"; });

/// Release and acquire pass the data on, the unordered twin may not; and threads of an instance meet: the flag is seen in some
/// instances and not in others.
TEST_P(litmus_engine_of_two_devices, shows_only_what_the_model_allows_of_instances_that_meet) {
  using passed_on = classic::mp<membar::thread_scope::system, membar::release_t, membar::acquire_t>;
  using unordered = classic::mp<membar::thread_scope::system>;
  engine e;
  for (const bool ordered : {true, false}) {
    runnable_test test = ordered ? make_test<passed_on>("ordered") : make_test<unordered>("unordered");
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
    EXPECT_EQ(seen.condition_allowed, !ordered);
    EXPECT_TRUE(seen.sound()) << text_of(seen);
    EXPECT_GE(std::count_if(seen.outcomes.begin(), seen.outcomes.end(), [](const outcome& o) { return o.count != 0; }), 2)
        << text_of(seen);
  }
}

}  // namespace
