// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <litmus/missing_instruction.hpp>

#include <membar/memory_order.hpp>
#include <membar/model/asynchronous.hpp>
#include <membar/model/decide.hpp>
#include <membar/model/error.hpp>
#include <membar/model/multimem.hpp>
#include <membar/model/named_test.hpp>
#include <membar/model/program.hpp>
#include <membar/model/test.hpp>
#include <membar/thread_scope.hpp>

#include <algorithm>
#include <cstddef>
#include <vector>

namespace membar::litmus_files {

using namespace model;
using model::error;

namespace {

/// Returns the instructions to try, in order of increasing cost.
[[nodiscard]] std::vector<instruction> candidates_of(const litmus_test& test) {
  bool bulk = false;
  bool small = false;
  bool relaxed_arrival = false;
  bool initializes = false;
  std::vector<instruction> waits;
  std::vector<variable> maps;
  for (const litmus_test::thread& t : test.threads) {
    for (const instruction& i : t.code) {
      bulk = bulk || (i.code == opcode::async_copy && i.via == proxy::async);
      initializes = initializes || i.code == opcode::mbarrier_init;
      const bool known = std::any_of(maps.begin(), maps.end(), [&](const variable& m) { return m.index == i.tensor_map; });
      if (i.tensor_map >= 0 && !known) {
        maps.push_back({i.tensor_map});
      }
      small = small || (i.code == opcode::async_copy && i.via == proxy::generic && i.completes == completion::group);
      relaxed_arrival = relaxed_arrival || (i.code == opcode::barrier && i.barrier == barrier_kind::cluster && i.arrives &&
                                            i.order == memory_order::relaxed);
    }
  }
  for (int l = 0; l < count_of(test.locations); ++l) {
    if (at(test.locations, l).arrivals != 0) {
      waits.push_back(wait_phase<thread_scope::cluster>(variable{l}, 0));
    }
  }
  std::vector<instruction> all;
  if (std::any_of(test.locations.begin(), test.locations.end(), [](const location& l) { return l.multimem >= 0; })) {
    all.push_back(alias_proxy_fence());
  }
  if (initializes) {
    all.push_back(mbarrier_init_fence());
  }
  if (!maps.empty()) {
    all.push_back(tensor_map_fence<thread_scope::device>(release));
    for (const variable& map : maps) {
      all.push_back(tensor_map_fence<thread_scope::device>(acquire, map));
    }
  }
  if (bulk) {
    all.insert(all.end(), {async_proxy_fence(), bulk_wait_read(), bulk_wait()});
  }
  if (small) {
    all.push_back(async_wait());
  }
  if (relaxed_arrival) {
    all.push_back(thread_fence<thread_scope::cluster>(acq_rel));
  }
  if (!test.launches.empty()) {
    all.push_back(grid_wait());
  }
  if (bulk || small || !waits.empty()) {
    all.insert(all.end(), waits.begin(), waits.end());
  }
  return all;
}

/// Returns an instruction in the syntax of the test.
[[nodiscard]] std::string written(const litmus_test& test, const instruction& i) {
  if (i.via == proxy::tensor_map) {
    return model::detail::one_way_text(i, i.target < 0 ? "" : at(test.location_names, i.target));
  }
  return i.code == opcode::mbarrier_wait
             ? "mbarrier.try_wait.acquire.cluster " + at(test.location_names, i.target) + ", " + std::to_string(i.a.value)
             : model::detail::instruction_text(i);
}

}  // namespace

std::string missing_instruction(const litmus_test& test, const search_options& options, const other_readings& rules) {
  const auto jumps = [](const instruction& i) { return i.code == opcode::jump || i.code == opcode::branch; };
  if (test.quantified != quantifier::exists || std::any_of(test.threads.begin(), test.threads.end(), [&](const auto& t) {
        return std::any_of(t.code.begin(), t.code.end(), jumps);
      })) {
    return "";
  }
  const auto reachable = [&](const litmus_test& changed) {
    try {
      return decide(changed, options, rules).reachable;
    } catch (const error&) {  // the changed test exceeds what the model supports
      return true;
    }
  };
  const std::vector<instruction> candidates = candidates_of(test);
  if (candidates.empty() || !reachable(test)) {
    return "";
  }
  for (const instruction& more : candidates) {
    for (std::size_t t = 0; t < test.threads.size(); ++t) {
      for (std::size_t n = 0; n <= test.threads[t].code.size(); ++n) {
        if (n != test.threads[t].code.size() && test.threads[t].code[n].element != 0) {
          continue;  // no instruction can be added inside a copy of several elements
        }
        litmus_test changed = test;
        changed.threads[t].code.insert(changed.threads[t].code.begin() + static_cast<std::ptrdiff_t>(n), more);
        if (reachable(changed)) {
          continue;
        }
        changed.condition.assign(1, condition_node{});  // an empty condition accepts any final state
        changed.filter.clear();
        if (reachable(changed)) {
          const std::string where =
              n == 0 ? "at the start of P" + std::to_string(test.threads[t].number)
                     : "in P" + std::to_string(test.threads[t].number) + " after '" + test.threads[t].text[n - 1] + "'";
          return "Adding one instruction forbids it: '" + written(test, more) + "' " + where + ".\n";
        }
      }
    }
  }
  return "";
}

}  // namespace membar::litmus_files
