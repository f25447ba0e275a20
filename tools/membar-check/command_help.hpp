// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
/// @file
/// Formats the help for the subcommands.
#pragma once

#include <CLI/CLI.hpp>

#include <algorithm>
#include <string>
#include <utility>

namespace membar_check {

/// Prints the usage on one line, followed by the options in the form `--jobs=N`, `--format=text|json` and `--allow=FILE`.
class command_help final : public CLI::Formatter {
 public:
  explicit command_help(std::string usage) : usage_(std::move(usage)) {}

  std::string make_usage(const CLI::App*, std::string) const override { return "usage: " + usage_ + "\n"; }
  std::string make_positionals(const CLI::App*) const override { return ""; }
  std::string make_option_opts(const CLI::Option* option) const override {
    const std::string type = option->get_type_name();  // for example "TEXT:{text,json}", "UINT:UINT in [1 - 9]" or "FILE"
    const std::size_t values = type.find(":{");
    if (values != std::string::npos) {
      std::string names = type.substr(values + 2, type.size() - values - 3);
      std::replace(names.begin(), names.end(), ',', '|');
      return "=" + names;
    }
    const std::string name = type.substr(0, type.find(':'));
    return name.empty() ? "" : "=" + (name == "UINT" || name == "INT" || name == "FLOAT" ? "N" : name);
  }
  std::string make_help(const CLI::App* app, std::string name, CLI::AppFormatMode mode) const override {
    return make_usage(app, std::move(name)) + make_description(app) + make_groups(app, mode) + make_footer(app);
  }

 private:
  std::string usage_;
};

}  // namespace membar_check
