// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
/// @file
/// What `membar-litmus run` does without a GPU: sources, and their compilation.
#include "files.hpp"
#include "kernel_headers.hpp"
#include "run.hpp"

#include "host_threads.hpp"
#include "run_plan.hpp"
#include "source.hpp"
#include <membar/model/litmus_file.hpp>

#include <exception>
#include <iostream>
#include <stdexcept>
#include <utility>

namespace litmus_command {

namespace litmus = membar::litmus;

namespace {

/// Calls `use(file, plan, source)` for every test, and reports those that cannot run.
template <class Use>
int for_each_source(const run_request& request, const Use& use) {
  int result = all_allowed;
  for (const std::string& file : request.files) {
    try {
      const litmus::run_plan plan(membar::model::read_litmus(text_of(file)), request.limit);
      const litmus::host_threads on_host(plan);
      use(file, litmus::write_source(plan));
    } catch (const std::exception& e) {
      complain_about(file, e.what());
      result = not_run;
    }
  }
  return result;
}

}  // namespace

void complain_about(const std::string& file, const char* reason) { std::cerr << file << "\terror: " << reason << '\n'; }

litmus::compiler make_compiler(const run_request& request) {
  litmus::code_cache cache;
  if (request.use_cache) {
    cache = litmus::code_cache(request.cache ? *request.cache : litmus::code_cache::usual_folder());
  }
  return litmus::compiler(std::move(cache), {toolkit_libraries});
}

litmus::compilation compilation_of(const std::string& source, int compute_capability) {
  return {source, kernel_headers, litmus::options_for(compute_capability)};
}

int print_sources(const run_request& request) {
  return for_each_source(request, [](const std::string&, const litmus::test_source& source) { std::cout << source.text; });
}

int compile_only(const run_request& request) {
  litmus::compiler compile = make_compiler(request);
  try {
    if (!compile.library().knows(request.compile_for)) {
      throw std::runtime_error("NVRTC " + litmus::cuda_version_text(compile.library().version()) +
                               " makes no code for compute capability " + std::to_string(request.compile_for / 10) + "." +
                               std::to_string(request.compile_for % 10));
    }
  } catch (const std::exception& e) {
    std::cerr << "membar-litmus: " << e.what() << '\n';
    return not_run;
  }
  const int result = for_each_source(request, [&](const std::string& file, const litmus::test_source& source) {
    litmus::require_compilable(source, request.compile_for, compile.library().version());
    const int before = compile.found();
    const std::string code = compile(compilation_of(source.text, request.compile_for));
    std::cout << file << '\t' << code.size() << " bytes, " << (compile.found() > before ? "kept from before" : "compiled")
              << '\n';
  });
  if (!compile.trouble().empty()) {
    std::cerr << "membar-litmus: " << compile.trouble() << '\n';
  }
  return result;
}

}  // namespace litmus_command
