// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <common/quote.hpp>
#include <common/temporary_folder.hpp>
#include <common/text_file.hpp>
#include <membar-check/nvcc.hpp>
#include <membar-check/toolkit_program.hpp>

#include <membar/model/error.hpp>

#include <CLI/App.hpp>

#include <algorithm>
#include <cctype>
#include <cstddef>
#include <filesystem>
#include <iterator>
#include <string>
#include <string_view>
#include <vector>

namespace membar_check {

namespace {

/// The nvcc options that a scenario may use. None of them starts another program, reads more options from a file, or writes a
/// file other than the PTX. An option's value may be the next word.
constexpr std::string_view options_with_name[] = {"-D", "-I", "-U", "-isystem", "-include"};
constexpr std::string_view options_with_value[] = {"-O",   "-std",  "-arch",     "-maxrregcount",
                                                   "-ftz", "-fmad", "-prec-div", "-prec-sqrt"};
constexpr std::string_view options_without_value[] = {"-G",
                                                      "-g",
                                                      "-w",
                                                      "-lineinfo",
                                                      "-restrict",
                                                      "-use_fast_math",
                                                      "-extended-lambda",
                                                      "-expt-extended-lambda",
                                                      "-expt-relaxed-constexpr",
                                                      "-extra-device-vectorization"};

/// Returns whether a word contains none of the characters that a shell expands within double quotes, because nvcc passes names
/// and definitions to a shell.
[[nodiscard]] bool is_name(std::string_view word) {
  return !word.empty() && std::none_of(word.begin(), word.end(), [](char c) {
    return c == '$' || c == '`' || c == '\\' || c == '"' || static_cast<unsigned char>(c) < ' ' || c == 0x7f;
  });
}

/// Returns whether a word is a number or a similar simple value.
[[nodiscard]] bool is_value(std::string_view word) {
  return !word.empty() && std::all_of(word.begin(), word.end(), [](char c) {
    return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_' || c == '+' || c == '.';
  });
}

/// Returns the number of words that form an nvcc option, or 0 if the option is not allowed.
[[nodiscard]] std::size_t words_of_option(std::string_view word, std::string_view next) {
  word = word.starts_with("--") ? word.substr(1) : word;
  const auto taken = [&](std::string_view option, bool joined, bool (*fits)(std::string_view)) -> std::size_t {
    if (!word.starts_with(option)) {
      return 0;
    }
    const std::string_view rest = word.substr(option.size());
    if (rest.empty()) {
      return fits(next) && !next.starts_with('-') ? 2 : 0;
    }
    return (joined || rest.front() == '=') && fits(rest.front() == '=' ? rest.substr(1) : rest) ? 1 : 0;
  };
  std::size_t result =
      std::find(std::begin(options_without_value), std::end(options_without_value), word) != std::end(options_without_value)
          ? 1
          : 0;
  for (const std::string_view option : options_with_name) {
    result = std::max(result, taken(option, option.size() == 2, is_name));
  }
  for (const std::string_view option : options_with_value) {
    result = std::max(result, taken(option, option.size() == 2, is_value));
  }
  return result;
}

/// Throws if nvcc, called with the words of a scenario, might do more than compile.
void require_compilation(const std::string& source, const std::vector<std::string>& options) {
  if (source.starts_with('-') || !is_name(source)) {
    throw membar::model::error(
        "the source " + membar_tools::quote(source) +
        " cannot be passed to nvcc: rename it so that it contains no $, `, \\ or \" and does not begin with -");
  }
  for (std::size_t k = 0; k < options.size();) {
    const std::size_t taken = words_of_option(options[k], k + 1 < options.size() ? options[k + 1] : std::string());
    if (taken == 0) {
      throw membar::model::error(
          membar_tools::quote(options[k]) +
          " is not an nvcc option that a scenario may use. It may use -I, -isystem, -include, -D and -U, "
          "with values that contain no $, `, \\ or \", and the options that select the device code's "
          "target. For other options, compile the source yourself and name the .ptx");
    }
    k += taken;
  }
}

}  // namespace

std::string compiled(const std::string& folder, const std::string& source, const std::vector<std::string>& options) {
  require_compilation(source, options);
  const membar_tools::temporary_folder output("membar-check");
  const std::string ptx = (output.path() / "kernel.ptx").string();
  const std::string log = (output.path() / "log").string();
  const std::string nvcc = toolkit_program("nvcc", "CUDACXX");
  std::vector<std::string> words = {
      nvcc.empty() ? "nvcc" : nvcc, "-std=c++20", "-ptx", "-arch=sm_90", "-lineinfo", "-o", ptx, source};
  words.insert(words.end(), options.begin(), options.end());
  const int status = nvcc.empty() ? 127 : run_program(words, folder, log, log);
  if (status == 127) {
    throw membar::model::error("cannot start " + words[0] + " to compile " + membar_tools::shortened(source, 160) +
                               ": put nvcc on the PATH, name it in CUDACXX, or give the PTX as the source");
  }
  if (status != 0) {
    std::string lines;
    for (const char c : membar_tools::read_file(log)) {
      lines += c == '\n' || c == '\t' ? std::string(1, c) : membar_tools::escaped(c);
    }
    throw membar::model::error("nvcc failed to compile " + membar_tools::shortened(source, 160) + ":\n" + lines);
  }
  return membar_tools::read_file(ptx);
}

bool is_source_name(const std::filesystem::path& name) { return name.extension() == ".cu"; }

void add_nvcc_options(CLI::App& app, std::vector<std::string>& to) {
  const auto add = [&](const std::string& option, const char* type, const char* what) {
    app.add_option_function<std::vector<std::string>>(
           option,
           [option, &to](const std::vector<std::string>& values) {
             for (const std::string& value : values) {
               to.push_back(option + value);
             }
           },
           what)
        ->type_name(type)
        ->allow_extra_args(false)
        ->multi_option_policy(CLI::MultiOptionPolicy::TakeAll);
  };
  add("-I", "FOLDER", "a folder in which nvcc looks for headers when it compiles a .cu file");
  add("-D", "NAME[=VALUE]", "a macro that nvcc defines when it compiles a .cu file");
}

void require_source(const std::vector<std::string>& nvcc_options, bool has_source) {
  if (!nvcc_options.empty() && !has_source) {
    throw membar::model::error(membar_tools::quote(nvcc_options.front()) +
                               " is an option for compiling CUDA C++, but no .cu file was given: leave the option out");
  }
}

}  // namespace membar_check
