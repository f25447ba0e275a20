// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// libFuzzer target that reads any input as a litmus test. If the test is valid, it is written and read again; if it is also
// small, the model decides it.
#include <litmus/explain.hpp>
#include <litmus/reader.hpp>
#include <litmus/writer.hpp>
#include <membar/model/outcomes.hpp>

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string>
#include <string_view>

namespace {

/// Stops after 200 executions, so that libFuzzer does not take a large test for a hang.
struct bounded_visitor final : membar::model::execution_visitor {
  bool accept(const membar::model::partial_execution&) override { return ++seen < 200; }
  int seen = 0;
};

bool small(const membar::model::litmus_test& test) {
  std::size_t instructions = 0;
  for (const auto& t : test.threads) {
    instructions += t.code.size();
  }
  return test.threads.size() <= 4 && instructions <= 8 && test.locations.size() <= 4;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace membar::litmus_files;
  using namespace membar::model;
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  try {
    const litmus_test test = read_litmus(text);
    const std::string once = write_litmus(test);
    if (write_litmus(read_litmus(once)) != once) {
      std::abort();  // The text that was written is not the text that is read back.
    }
    if (small(test)) {
      bounded_visitor visitor;
      const test_view view = test.view();
      (void)enumerator(view.program, visitor).run();
      if (test.has_condition) {
        (void)explain(test, explanation_format::json);
      }
    }
  } catch (const membar::model::error& e) {
    if (e.message().empty()) {
      std::abort();
    }
  }
  return 0;
}
