// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Symmetric memory between two GPUs, and between four.
#include <tests/common/symmetric_teams.cuh>

namespace membar_test {

INSTANTIATE_TEST_SUITE_P(on, symmetric_pes, ::testing::Values(machine::two_gpus, machine::four_gpus), name_of);
INSTANTIATE_TEST_SUITE_P(on, symmetric_barrier, ::testing::Values(machine::two_gpus, machine::four_gpus), name_of);
INSTANTIATE_TEST_SUITE_P(on, symmetric_teams, ::testing::Values(machine::two_gpus, machine::four_gpus), name_of);
INSTANTIATE_TEST_SUITE_P(on, symmetric_graphs, ::testing::Values(machine::two_gpus, machine::four_gpus), name_of);

}  // namespace membar_test
