// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <litmus/readings.hpp>
#include <ptx/words.hpp>

#include <membar/model/array.hpp>
#include <membar/model/program.hpp>
#include <membar/thread_scope.hpp>

#include <algorithm>
#include <cctype>
#include <iterator>

namespace membar::litmus_files {

using model::reading;
using model::rule;

namespace {

struct named_reading {
  std::string_view name;
  bool lenient;                  ///< whether the alternative gives programs more guarantees than the model's reading
  reading one = reading::count;  ///< if `count`, the alternative is the model without the rule `without`
  rule without = rule::count;
  bool checked = false;  ///< whether membar-check also supports the alternative
};

constexpr named_reading readings[] = {
    {"fence-after-init", false, reading::count, rule::completion_needs_no_proxy_fence_after_initialization},
    {"map-until-mbarrier", false, reading::count, rule::completion_ends_the_reading_of_a_tensor_map},
    {"group-wait-for-one-thread", false, reading::group_wait_for_one_thread},
    {"sc-fence-orders-fences", false, reading::count, rule::sc_fence_is_a_release_and_an_acquire},
    {"one-way-fence-alone", true, reading::count, rule::one_way_proxy_fences_come_in_pairs},
    {"fence-of-another-block", true, reading::fence_of_another_block, rule::count, true},
    {"copies-of-two-blocks", true, reading::copies_of_two_blocks, rule::count, true},
    {"maps-at-kernel-start", true, reading::maps_at_kernel_start},
    {"fence-before-complete-tx", true, reading::fence_before_complete_tx},
    {"multimem-flags", true, reading::multimem_flags},
    {"whole-updates-are-observed", true, reading::whole_updates_are_observed, rule::count, true},
    {"device-wide-scope", true, reading::count, rule::device_scope_is_the_domain},
    {"cluster-scope-of-mbarriers", true, reading::cluster_scope_of_mbarriers, rule::count, true},
};

}  // namespace

std::vector<std::string> reading_names() {
  std::vector<std::string> names;
  for (const named_reading& r : readings) {
    names.emplace_back(r.name);
  }
  return names;
}

std::vector<checked_reading> checked_readings() {
  std::vector<checked_reading> result;
  for (const named_reading& r : readings) {
    if (r.checked) {
      result.push_back({r.name, r.one});
    }
  }
  return result;
}

std::string alternatives_taken(const model::other_readings& readings) {
  std::string names;
  int count = 0;
  for (const checked_reading& r : checked_readings()) {
    if (readings.takes(r.one)) {
      names += (++count == 1 ? " " : ", ") + std::string(r.name);
    }
  }
  return count == 0 ? "" : std::string("with the other interpretation of the reading") + (count == 1 ? "" : "s") + names;
}

std::string depends_on(std::string_view reading, const std::string& what) {
  return what + " depends on a reading of the PTX ISA: --reading=" + std::string(reading) + " selects the other reading";
}

bool chosen_readings::take(std::string_view name) {
  const auto found = std::find_if(std::begin(readings), std::end(readings), [&](const auto& r) { return r.name == name; });
  if (found == std::end(readings)) {
    return false;
  }
  if (found->one != reading::count) {
    rules_.take(found->one);
  } else {
    rules_.drop(found->without);
  }
  any_ = true;
  return true;
}

bool chosen_readings::take_all(std::string_view sides) {
  if (sides != "lenient" && sides != "strict" && sides != "default") {
    return false;
  }
  for (const named_reading& r : readings) {
    if (sides != "default" && r.lenient == (sides == "lenient")) {
      static_cast<void>(take(r.name));
    }
  }
  return true;
}

void chosen_readings::apply(model::litmus_test& test) const {
  for (model::litmus_test::thread& t : test.threads) {
    for (int k = 0; rules_.takes(reading::cluster_scope_of_mbarriers) && k < model::count_of(t.code); ++k) {
      model::instruction& i = model::at(t.code, k);
      std::string text = model::at(t.text, k);
      std::transform(text.begin(), text.end(), text.begin(),
                     [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
      const bool of_mbarrier = i.code == model::opcode::mbarrier_arrive || i.code == model::opcode::mbarrier_wait;
      if (of_mbarrier && !ptx::names_block_or_cluster(text)) {
        i.scope = thread_scope::cluster;
      }
    }
  }
}

}  // namespace membar::litmus_files
