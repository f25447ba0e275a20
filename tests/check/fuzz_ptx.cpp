// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// libFuzzer target that reads any input as a scenario, or as a scenario followed by "====" and its PTX. Valid input is explored
// briefly, both systematically and at random. A finding must be reproducible from its seed, and it must be possible to write it
// as text without an error.
#include <check/explore.hpp>
#include <check/finding_text.hpp>
#include <check/litmus_program.hpp>
#include <check/scenario.hpp>
#include <litmus/reader.hpp>

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string>
#include <string_view>

namespace {

namespace check = membar::check;

constexpr std::string_view divider = "\n====\n";
constexpr std::string_view whole_launch =
    "source s.ptx\nmemory m u64[8]\nlaunch k grid 2 block 2 args m m 1 2\nfinal m[0] == 0";

void require(bool condition) {
  if (!condition) {
    std::abort();
  }
}

/// Writes a finding as a graph and as a litmus test. The litmus test must be readable, or must be rejected with a message.
void show(const check::prepared_scenario& s, const check::check_result& r) {
  require(!r.found.message.empty());
  static_cast<void>(check::dot_of(s.checked, r.found, "fuzz"));
  try {
    static_cast<void>(membar::litmus_files::read_litmus(check::litmus_of(s.checked, r.found, "fuzz")));
  } catch (const membar::model::error& e) {
    require(!e.message().empty());
  }
}

void explore(const check::prepared_scenario& s) {
  std::uint64_t bytes = 0;
  for (const check::memory_object& o : s.checked.memory) {
    bytes += o.initial.size();
  }
  if (bytes > (1U << 20U)) {
    return;  // The fuzzer's memory is limited.
  }
  check::check_options options;
  options.most_events = 2'000;
  options.most_events_of_one = 100;
  options.most_buffered_steps = 200;
  options.most_memory = std::uint64_t{64} << 20U;
  const check::check_result r = check::explore(s.checked, s.property(), options);
  if (r.status != check::check_status::verified) {
    show(s, r);
    const check::check_result again = check::explore(s.checked, s.property(), options);
    require(again.status == r.status && again.found.message == r.found.message &&
            again.found.events.size() == r.found.events.size());
  }
  options.symmetry = true;
  static_cast<void>(check::explore(s.checked, s.property(), options));
  options.symmetry = false;
  options.random_executions = 10;
  const check::check_result first = check::explore(s.checked, s.property(), options);
  if (first.status != check::check_status::gave_up) {
    show(s, first);
    options.random_executions = 1;
    options.seed = first.seed;
    const check::check_result again = check::explore(s.checked, s.property(), options);
    require(again.status == first.status && again.found.message == first.found.message &&
            again.found.events.size() == first.found.events.size());
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  const std::size_t middle = text.find(divider);
  try {
    const bool both = middle != std::string_view::npos;
    const check::scenario s = check::read_scenario(both ? text.substr(0, middle) : whole_launch);
    explore(check::prepare(s, both ? text.substr(middle + divider.size()) : text));
  } catch (const membar::model::error& e) {
    require(!e.message().empty());
  }
  return 0;
}
