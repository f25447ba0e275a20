// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <check/program.hpp>
#include <check/symmetry.hpp>
#include <membar/model/array.hpp>
#include <ptx/decode.hpp>
#include <ptx/instruction.hpp>

#include <algorithm>
#include <vector>

namespace membar::check {

namespace {

/// Returns whether an instruction can distinguish its thread from another thread of the same launch.
[[nodiscard]] bool tells_threads_apart(const instruction& i) {
  return i.code >= op::warp_barrier || std::any_of(i.by.begin(), i.by.end(), [](const source_operand& o) {
           const special s = o.machine;
           return o.kind == source_operand::kind_t::special && !(s >= special::threads_x && s <= special::threads_z) &&
                  !(s >= special::blocks_x && s <= special::blocks_z) &&
                  !(s >= special::warps && s <= special::workspace_low) && s < special::clock;
         });
}

}  // namespace

std::vector<int> equals_before(const program& p) {
  std::vector<int> result;
  for (int t = 0; t < model::count_of(p.threads); ++t) {
    const thread_context& mine = model::at(p.threads, t);
    const auto& code = mine.kernel->code;
    int equal = -1;
    if (std::none_of(code.begin(), code.end(), tells_threads_apart)) {
      const bool shares =
          std::any_of(code.begin(), code.end(), [](const instruction& i) { return i.space == state_space::shared; });
      for (int u = t - 1; u >= 0 && equal < 0; --u) {
        const thread_context& other = model::at(p.threads, u);
        const bool beside = other.block_number == mine.block_number && other.where.warp == mine.where.warp;
        const bool alone = mine.block_size() == 1 && other.where.cluster == mine.where.cluster && !shares;
        equal = other.launch == mine.launch && (beside || alone) ? u : -1;
      }
    }
    result.push_back(equal);
  }
  return result;
}

}  // namespace membar::check
