// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The litmus engine on two devices: release and acquire at system scope pass data on, regardless of which device holds the
// memory.
#include <tests/common/gpu_test.hpp>
#include <tests/common/litmus_placements.cuh>

namespace {

namespace model = membar::model;

class litmus_engine_of_two_devices : public membar_test::multi_gpu_test, public ::testing::WithParamInterface<int> {};
INSTANTIATE_TEST_SUITE_P(, litmus_engine_of_two_devices, ::testing::Values(0, 1),
                         [](const auto& each) { return each.param == 0 ? "memory_of_the_writer" : "memory_of_the_reader"; });

TEST_P(litmus_engine_of_two_devices, shows_only_what_the_model_allows_of_instances_that_overlap) {
  membar_test::expect_passed_on(model::block(0), model::block(0, 1), {.home = GetParam()});
}

}  // namespace
