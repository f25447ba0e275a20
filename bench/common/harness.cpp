// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <bench/common/harness.hpp>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <fstream>
#include <regex>
#include <stdexcept>
#include <string_view>

namespace bench {
namespace {

/// Replaces the first placeholder in a name with `value`, formatted with the placeholder's flags and printf's conversion.
case_name filled(case_name name, const char* conversion, auto value) {
  const auto begin = name.text.find('{');
  const auto end = name.text.find('}', begin);
  if (begin == std::string::npos || end == std::string::npos) {
    throw std::logic_error("membar: the case " + name.text +
                           " has more axes than placeholders: add a {} to its name for each axis");
  }
  const std::string format = "%" + name.text.substr(begin + 1, end - begin - 1) + conversion;
  char written[64];
  std::snprintf(written, sizeof written, format.c_str(), value);
  name.text.replace(begin, end - begin + 1, written);
  return name;
}

/// Returns the text after `name` in an argument, or null if it is another option.
const char* value_of(const char* argument, const std::string& name) {
  const bool matches = name.back() == '=' ? std::string_view(argument).substr(0, name.size()) == name : argument == name;
  return matches ? argument + name.size() : nullptr;
}

}  // namespace

case_name case_name::at(const std::string& value) const { return filled(*this, "s", value.c_str()); }
case_name case_name::at(long long value) const { return filled(*this, "lld", value); }
case_name case_name::at(double value) const { return filled(*this, "f", value); }

int to_number(const char* name, const char* text, int least, int most) {
  char* end = nullptr;
  const long value = std::strtol(text, &end, 10);
  if (end == text || *end != '\0' || value < least || value > most) {
    throw std::runtime_error(std::string("membar: ") + name + text + " is out of range or not a number; write a number from " +
                             std::to_string(least) + " to " + std::to_string(most));
  }
  return static_cast<int>(value);
}

suite::suite(int argc, char** argv, description what) : what_(std::move(what)), repetitions_(what_.repetitions) {
  std::vector<option> options = what_.options;
  if (what_.takes_device) {
    options.push_back({"--device=", "the index of the GPU to measure (default: 0)",
                       [this](const char* value) { device_ = to_number("--device=", value, 0); }});
  }
  if (what_.repetitions != 0) {
    options.push_back({"--repetitions=", "how often each case is repeated (default: " + std::to_string(what_.repetitions) + ")",
                       [this](const char* value) { repetitions_ = to_number("--repetitions=", value, 1); }});
  }
  // The bench's settings come before the user's arguments, so that the user's arguments take precedence.
  static char interleave[] = "--benchmark_enable_random_interleaving=true";
  static char aggregates[] = "--benchmark_report_aggregates_only=true";
  std::vector<char*> kept{argv[0]};
  if (what_.interleaved) {
    kept.push_back(interleave);
  }
  if (what_.repetitions != 0 && !what_.keeps_repetitions) {
    kept.push_back(aggregates);
  }
  const std::string program = argv[0];
  command_ = program.substr(program.rfind('/') + 1);
  for (int i = 1; i != argc; ++i) {
    const auto known = std::find_if(options.begin(), options.end(),
                                    [&](const option& each) { return value_of(argv[i], each.name) != nullptr; });
    if (known != options.end()) {
      known->set(value_of(argv[i], known->name));
    } else {
      kept.push_back(argv[i]);
    }
    if (const char* const path = value_of(argv[i], "--benchmark_out=")) {
      // Checks the output file before spending minutes on measurements.
      if (!std::ofstream(path, std::ios::app)) {
        throw std::runtime_error(std::string("membar: cannot write to ") + path +
                                 "; name a file in an existing, writable folder");
      }
      has_output_file_ = true;
    }
    const std::string_view argument = argv[i];
    const bool output = argument.substr(0, 6) == "--csv=" || argument.substr(0, 15) == "--benchmark_out";
    command_ += output ? std::string() : std::string(" ") + argv[i];
  }
  static std::string help;
  help = std::string(what_.question) + "\n\n";
  for (const option& each : options) {
    if (each.help.empty()) {
      continue;
    }
    char line[256];
    std::snprintf(line, sizeof line, "  %-24s %s\n", (each.name + (each.name.back() == '=' ? "<value>" : "")).c_str(),
                  each.help.c_str());
    help += line;
  }
  help +=
      "and Google Benchmark's options: --benchmark_filter=<regex>, --benchmark_out=<file.json>, --benchmark_list_tests=true, "
      "--benchmark_report_aggregates_only=false (to report every repetition)\n";
  int count = static_cast<int>(kept.size());
  kept.push_back(nullptr);
  benchmark::Initialize(&count, kept.data(), [] { std::fputs(help.c_str(), stdout); });
  if (benchmark::ReportUnrecognizedArguments(count, kept.data())) {
    throw std::runtime_error("membar: an option is unknown; --help lists the options");
  }
  static_cast<void>(selects(""));
  if (what_.before_cuda != nullptr) {
    what_.before_cuda(*this);
  }
  find_device();
  what_.add_cases(*this);
}

void suite::find_device() {
  int devices = 0;
  const cudaError_t status = cudaGetDeviceCount(&devices);
  if (status != cudaSuccess || devices == 0) {
    static_cast<void>(cudaGetLastError());
    waive(std::string("no CUDA device (") + cudaGetErrorString(status) + ")");
    return;
  }
  if (what_.takes_device) {
    membar::check(cudaSetDevice(device_), "pass the index of an existing device with --device");
    for (const auto& [key, value] : support::machine_context(device_)) {
      context(key, value);
    }
  }
}

bool suite::selects(const std::string& name) const {
  const std::string filter = benchmark::GetBenchmarkFilter();
  const bool inverted = !filter.empty() && filter[0] == '-';
  if (filter.empty() || filter == "all") {
    return true;
  }
  try {
    return std::regex_search(name, std::regex(filter.substr(inverted ? 1 : 0))) != inverted;
  } catch (const std::regex_error& failure) {
    throw std::runtime_error("membar: --benchmark_filter=" + filter + " is not a regular expression: " + failure.what());
  }
}

void suite::waive(const std::string& reason) {
  if (waived_.empty()) {
    waived_ = reason;
    std::printf("membar: %s: skipping cases\n", reason.c_str());
  }
}

void suite::need_compute_capability(int major, const char* what) {
  if (!waived() && support::attribute(cudaDevAttrComputeCapabilityMajor, device()) < major) {
    waive(std::string(what) + " need compute capability " + std::to_string(major) + ".0");
  }
}

void suite::add_one(const case_name& name, std::function<figures()> measure) {
  const std::string waived = name.waived.empty() ? waived_ : name.waived;
  // Aggregates do not show a failed repetition, so its message is printed once; all later repetitions then fail as well.
  const auto failure = std::make_shared<std::string>();
  auto* const added = benchmark::RegisterBenchmark(
      name.text.c_str(), [this, text = name.text, waived, failure, measure = std::move(measure)](benchmark::State& state) {
        figures seen;
        for ([[maybe_unused]] auto _ : state) {
          if (waived.empty() && failure->empty()) {
            try {
              seen = measure();
            } catch (const std::exception& thrown) {
              *failure = thrown.what();
              std::fprintf(stderr, "%s failed: %s\n", text.c_str(), thrown.what());
            }
          }
          if (!failure->empty()) {
            ++failures_;
            state.SkipWithError(failure->c_str());
            break;
          }
          state.SetIterationTime(seen.ns * 1e-9);
        }
        for (const auto& [key, value] : seen.counters) {
          state.counters[key] = value;
        }
        state.SetLabel(waived.empty() ? seen.label : "waived: " + waived);
      });
  added->Iterations(1)->UseManualTime()->Unit(what_.unit);
  if (repetitions_ != 0) {
    added->Repetitions(!waived.empty() ? 1 : name.repetitions != 0 ? name.repetitions : repetitions_);
  }
}

int suite::run() {
  const std::size_t matched = what_.run != nullptr ? what_.run(*this) : benchmark::RunSpecifiedBenchmarks();
  if (matched == 0) {
    std::fprintf(stderr,
                 "membar: no case matches --benchmark_filter=%s; --benchmark_list_tests=true prints the names of all cases\n",
                 benchmark::GetBenchmarkFilter().c_str());
    return 1;
  }
  benchmark::ClearRegisteredBenchmarks();  // This also frees the objects that the cases share, while CUDA can still free them.
  benchmark::Shutdown();
  return failures_ != 0 && what_.fails_with_cases ? 1 : 0;
}

}  // namespace bench

int main(int argc, char** argv) {
  try {
    return bench::suite(argc, argv, bench::describe()).run();
  } catch (const std::exception& failure) {
    std::fprintf(stderr, "%s\n", failure.what());
    return 1;
  }
}
