// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Symmetric memory on one GPU that acts as all PEs: the features that do not require a link.
#include <tests/common/symmetric_teams.cuh>

namespace membar_test {

INSTANTIATE_TEST_SUITE_P(on, symmetric_pes, ::testing::Values(machine::one_gpu), name_of);
INSTANTIATE_TEST_SUITE_P(on, symmetric_barrier, ::testing::Values(machine::one_gpu), name_of);
INSTANTIATE_TEST_SUITE_P(on, symmetric_teams, ::testing::Values(machine::one_gpu), name_of);
INSTANTIATE_TEST_SUITE_P(on, symmetric_graphs, ::testing::Values(machine::one_gpu), name_of);

}  // namespace membar_test
