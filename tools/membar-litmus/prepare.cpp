// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
/// @file
/// The parts of the subcommand `run` that do not need a GPU: generating and compiling sources.
#include <litmus/files.hpp>
#include <litmus/host_interpreter.hpp>
#include <litmus/kernel_headers.hpp>
#include <litmus/run_plan.hpp>
#include <litmus/source.hpp>
#include <membar-litmus/run.hpp>

#include <exception>
#include <iostream>
#include <stdexcept>
#include <utility>

namespace membar::litmus_files {

namespace {

/// Calls `use(file, source)` for each test, and reports tests that cannot be run.
template <class Use>
int for_each_source(const run_request& request, const Use& use) {
  int result = all_allowed;
  for (const std::string& file : request.files) {
    try {
      const model::litmus_test test = read_test(file, request.strict);
      std::cerr << warnings_of(file, test);
      const run_plan plan(test, request.limit);
      const host_interpreter on_host(plan);
      use(file, write_source(plan));
    } catch (const std::exception& e) {
      print_error(file, e.what());
      result = not_run;
    }
  }
  return result;
}

}  // namespace

void print_error(const std::string& file, const char* reason) { std::cerr << file << "\terror: " << reason << '\n'; }

compiler make_compiler(const run_request& request) {
  code_cache cache;
  if (request.use_cache) {
    cache = code_cache(request.cache ? *request.cache : code_cache::default_folder());
  }
  return compiler(std::move(cache), {toolkit_libraries()});
}

compilation compilation_of(const std::string& source, int compute_capability) {
  return {source, kernel_headers(), options_for(compute_capability)};
}

int print_sources(const run_request& request) {
  return for_each_source(request, [](const std::string&, const test_source& source) { std::cout << source.text; });
}

int compile_only(const run_request& request) {
  compiler compile = make_compiler(request);
  try {
    if (!compile.library().supports(request.compile_for)) {
      throw std::runtime_error("NVRTC " + cuda_version_text(compile.library().version()) +
                               " does not support compute capability " + std::to_string(request.compile_for / 10) + "." +
                               std::to_string(request.compile_for % 10));
    }
  } catch (const std::exception& e) {
    std::cerr << "membar-litmus: " << e.what() << '\n';
    return not_run;
  }
  const int result = for_each_source(request, [&](const std::string& file, const test_source& source) {
    require_compilable(source.needs, request.compile_for, compile.library().version());
    const int before = compile.found();
    const std::string code = compile(compilation_of(source.text, request.compile_for));
    std::cout << file << '\t' << code.size() << " bytes, " << (compile.found() > before ? "from the cache" : "compiled")
              << '\n';
  });
  if (!compile.warning().empty()) {
    std::cerr << "membar-litmus: " << compile.warning() << '\n';
  }
  return result;
}

}  // namespace membar::litmus_files
