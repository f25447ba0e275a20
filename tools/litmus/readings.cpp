// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <litmus/readings.hpp>

#include <membar/model/array.hpp>
#include <membar/model/program.hpp>
#include <membar/thread_scope.hpp>

#include <algorithm>
#include <cctype>
#include <iterator>

namespace membar::litmus_files {

using model::reading;

namespace {

struct named_reading {
  std::string_view name;
  reading one;
  bool lenient;  ///< the other side gives a program more guarantees than the model's
};

constexpr named_reading readings[] = {
    {"fence-after-init", reading::fence_after_initialization, false},
    {"map-until-mbarrier", reading::tensor_map_until_mbarrier, false},
    {"group-wait-for-one-thread", reading::group_wait_for_one_thread, false},
    {"sc-fence-orders-fences", reading::sc_fence_orders_fences, false},
    {"one-way-fence-alone", reading::one_way_fence_alone, true},
    {"fence-of-another-block", reading::fence_of_another_block, true},
    {"copies-of-two-blocks", reading::copies_of_two_blocks, true},
    {"maps-at-kernel-start", reading::maps_at_kernel_start, true},
    {"fence-before-complete-tx", reading::fence_before_complete_tx, true},
    {"multimem-flags", reading::multimem_flags, true},
    {"whole-updates-are-observed", reading::whole_updates_are_observed, true},
    {"device-wide-scope", reading::device_wide_scope, true},
    {"cluster-scope-of-mbarriers", reading::count, true},  // which scope an instruction without one has
};
static_assert(std::size(readings) == static_cast<std::size_t>(reading::count) + 1);

/// Whether an instruction names a scope of a block or a cluster.
[[nodiscard]] bool names_a_scope(const std::string& text) {
  const std::string opcode = text.substr(0, text.find(' '));
  for (std::size_t begin = 0; begin <= opcode.size();) {
    const std::size_t end = std::min(opcode.find('.', begin), opcode.size());
    std::string word = opcode.substr(begin, end - begin);
    std::transform(word.begin(), word.end(), word.begin(), [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
    if (word == "cta" || word == "cluster") {
      return true;
    }
    begin = end + 1;
  }
  return false;
}

}  // namespace

std::vector<std::string> reading_names() {
  std::vector<std::string> names;
  for (const named_reading& r : readings) {
    names.emplace_back(r.name);
  }
  return names;
}

bool chosen_readings::take(std::string_view name) {
  const auto found = std::find_if(std::begin(readings), std::end(readings), [&](const auto& r) { return r.name == name; });
  if (found == std::end(readings)) {
    return false;
  }
  if (found->one == reading::count) {
    absent_scopes_ = true;
  } else {
    rules_.take(found->one);
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
    for (int k = 0; absent_scopes_ && k < model::count_of(t.code); ++k) {
      model::instruction& i = model::at(t.code, k);
      const bool of_mbarrier = i.code == model::opcode::mbarrier_arrive || i.code == model::opcode::mbarrier_wait;
      if (of_mbarrier && !names_a_scope(model::at(t.text, k))) {
        i.scope = thread_scope::cluster;
      }
    }
  }
}

}  // namespace membar::litmus_files
