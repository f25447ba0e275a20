// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <litmus/source.hpp>
#include <litmus/thread_writer.hpp>

#include <membar/model/error.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace membar::litmus_files {

namespace {

// The end of a translation unit: the code that follows the test.
constexpr std::string_view source_epilogue =
    "\n"
    "extern \"C\" __global__ void __launch_bounds__(1024, 1)\n"
    "membar_litmus_kernel(const __grid_constant__ membar::litmus::launch_view view) {\n"
    "  membar::litmus::run_launch<file_test>(view);\n"
    "}\n";

// Returns the members that the kernel reads: counts, observations, digits and initial values.
[[nodiscard]] std::string facts(const run_plan& plan) {
  const std::vector<outcome_digit>& digits = plan.digits();
  std::string out = "  static constexpr int threads = " + std::to_string(plan.test().threads.size()) + ";\n";
  out += "  static constexpr int locations = " + std::to_string(plan.cells()) + ";\n";
  out += "  static constexpr int observations = " + std::to_string(digits.size()) + ";\n\n";
  out += "  __host__ __device__ static constexpr membar::litmus::observation observed(int o) {\n";
  for (std::size_t o = 0; o < digits.size(); ++o) {
    const bool memory = digits[o].thread() < 0;
    const cell_part part = memory ? plan.part(digits[o].what.index) : cell_part{};
    out += "    if (o == " + std::to_string(o) + ") return {" + (memory ? std::to_string(part.cell) : "-1") + ", " +
           std::to_string(std::min(part.bytes, 8)) + ", " + std::to_string(digits[o].radix()) + ", " +
           std::to_string(part.offset) + "};  // " + printable(digits[o].name) + "\n";
  }
  out += "    return {};\n  }\n\n";
  out += "  __host__ __device__ static constexpr unsigned digit(int o, long long value) {\n";
  for (std::size_t o = 0; o < digits.size(); ++o) {
    out += "    if (o == " + std::to_string(o) + ") return ";
    for (std::size_t v = 0; v < digits[o].values.size(); ++v) {
      out += "value == " + literal(plan.machine_value(digits[o].values[v])) + " ? " + std::to_string(v) + " : ";
    }
    out += std::to_string(digits[o].values.size()) + ";\n";
  }
  out += "    return 0;\n  }\n\n";
  out += "  __host__ __device__ static constexpr membar::litmus::cell_value initial(int location) {\n";
  for (int c = 0; c < plan.cells(); ++c) {
    const auto half = [&](std::size_t from) {
      std::uint64_t value = 0;
      for (std::size_t b = 8; b-- > 0;) {
        value = value << 8 | plan.initial(c)[from + b];
      }
      return std::to_string(value) + "ull";
    };
    if (half(0) != "0ull" || half(8) != "0ull") {
      out += "    if (location == " + std::to_string(c) + ") return {" + half(0) + ", " + half(8) + "};\n";
    }
  }
  out += "    return {0 * static_cast<unsigned long long>(location), 0};\n  }\n\n";
  return out;
}

[[nodiscard]] std::string dispatch(const run_plan& plan, const std::string& name) {
  std::string out =
      "  template <int Thread>\n"
      "  static __device__ void run(const membar::litmus::instance_cells& at, const membar::litmus::results<" +
      name + ">& out) {\n";
  for (std::size_t t = 0; t < plan.test().threads.size(); ++t) {
    if (!plan.test().threads[t].where.host) {
      out += "    if constexpr (Thread == " + std::to_string(t) + ") thread_" + std::to_string(t) + "(at, out);\n";
    }
  }
  return out + "  }\n";
}

// Returns a thread's code as a member function of the test's type.
[[nodiscard]] std::string thread_function(const run_plan& plan, std::size_t number, const std::string& name,
                                          requirements& needs) {
  const model::litmus_test::thread& thread = plan.test().threads[number];
  thread_writer writer(plan, thread, needs);
  std::string body;
  for (std::size_t n = 0; n <= thread.code.size(); ++n) {
    if (writer.is_target(n)) {
      body += "  L" + std::to_string(n) + ":\n";
    }
    if (n < thread.code.size() && thread.code[n].element == 0) {
      body += "    // " + std::to_string(thread.code[n].line) + ": " + printable(thread.text[n]) + "\n";
      body += writer.statement(n);
    }
  }
  std::string out = "  // P" + std::to_string(thread.number) + "\n  static __device__ __forceinline__ void thread_" +
                    std::to_string(number) + "(const membar::litmus::instance_cells& at, const membar::litmus::results<" +
                    name + ">& out) {\n";
  for (const int l : writer.addresses()) {
    const cell_part& part = plan.part(l);
    out += "    const unsigned long long a" + std::to_string(l) + " = __cvta_generic_to_global(at.as<char>(" +
           std::to_string(part.cell) + "))" + (part.offset != 0 ? " + " + std::to_string(part.offset) : "") + ";  // " +
           printable(plan.test().location_names[static_cast<std::size_t>(l)]) + "\n";
  }
  if (writer.uses_zero()) {
    out += "    const unsigned long long zero = membar_litmus_zero;\n";
  }
  for (std::size_t r = 0; r < thread.registers.size(); ++r) {
    out += "    long long " + register_name(static_cast<int>(r)) + " = " + literal(plan.machine_value(thread.registers[r])) +
           ";  // " + printable(thread.register_names[r]) + "\n";
  }
  if (writer.carries_control()) {
    out += "    unsigned long long control = 0;\n";
  }
  if (writer.uses_turns()) {
    out += "    int turns = 0;\n";
  }
  const outcome_digit* end = plan.end_of(static_cast<int>(number));
  if (end != nullptr) {
    out += "    unsigned end = 0;\n";
  }
  out += body;
  if (end != nullptr) {
    out += "  done:\n";
  }
  out += "    (void)at;\n    (void)out;\n";
  for (std::size_t o = 0; o < plan.digits().size(); ++o) {
    const outcome_digit& d = plan.digits()[o];
    if (d.thread() != static_cast<int>(number)) {
      continue;
    }
    out += "    out." +
           (d.end_of >= 0 ? "put(" + std::to_string(o) + ", end"
                          : "write(" + std::to_string(o) + ", " + register_name(d.what.index)) +
           ");\n";
  }
  return out + "  }\n\n";
}

}  // namespace

test_source write_test_type(const run_plan& plan, const std::string& name) {
  test_source made;
  std::string threads;
  for (std::size_t t = 0; t < plan.test().threads.size(); ++t) {
    if (!plan.test().threads[t].where.host) {
      threads += thread_function(plan, t, name, made.needs);
    }
  }
  made.text =
      "// " + printable(plan.test().name) + "\nstruct " + name + " {\n" + facts(plan) + threads + dispatch(plan, name) + "};\n";
  return made;
}

test_source write_source(const run_plan& plan) {
  test_source made = write_test_type(plan);
  made.text = std::string(source_prologue) + made.text + std::string(source_epilogue);
  return made;
}

void require_compilable(const requirements& needs, int compute_capability, int nvrtc) {
  const auto dotted = [](int number, int parts) {
    return std::to_string(number / parts) + "." + std::to_string(number % parts);
  };
  if (needs.compute_capability > compute_capability) {
    throw model::error(needs.capability_reason + (needs.capability_reason.empty() ? "the litmus engine" : "") +
                       " needs compute capability " + dotted(needs.compute_capability, 10) + ", but the device has " +
                       dotted(compute_capability, 10));
  }
  if (needs.nvrtc > nvrtc) {
    throw model::error(needs.nvrtc_reason + (needs.nvrtc_reason.empty() ? "the litmus engine" : "") + " needs NVRTC " +
                       dotted(needs.nvrtc / 10, 100) + " or newer, but NVRTC " + dotted(nvrtc / 10, 100) + " was found");
  }
}

}  // namespace membar::litmus_files
