// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <common/quote.hpp>
#include <common/text_file.hpp>
#include <membar-check/nvcc.hpp>
#include <membar-check/scenario_file.hpp>

#include <membar/model/error.hpp>

#include <exception>
#include <filesystem>
#include <map>
#include <string>
#include <utility>
#include <vector>

namespace membar_check {

check::scenario scenario_of(const std::string& path, const std::string& text) {
  const std::filesystem::path file = path;
  if (file.extension() == ".cu" || file.extension() == ".ptx") {
    const std::string name = file.filename().string();
    throw membar::model::error(
        "this is a source, not a scenario: write a scenario, for example a file with the three lines 'source " + name +
        "', 'memory data u32[64]' and 'launch KERNEL grid 2 block 32 args data', and check that file; "
        "'membar-check lint " +
        name + "' needs no scenario");
  }
  const std::filesystem::path folder = std::filesystem::path(path).parent_path();
  check::scenario s =
      check::read_scenario(text, [&](const std::string& used) { return membar_tools::read_file((folder / used).string()); });
  s.path = path;
  return s;
}

namespace {

const std::string& ptx_of_source(const check::scenario& s) {
  const std::filesystem::path folder = std::filesystem::path(s.path).parent_path();
  static std::map<std::vector<std::string>, std::string> known;
  std::vector<std::string> key = {folder.string(), s.source};
  key.insert(key.end(), s.options.begin(), s.options.end());
  auto it = known.find(key);
  if (it == known.end()) {
    std::string ptx;
    if (std::filesystem::path(s.source).extension() == ".ptx") {
      if (!s.options.empty()) {
        throw membar::model::error("the source is PTX, which takes no compiler options: leave out " +
                                   membar_tools::quote(s.options.front()));
      }
      try {
        ptx = membar_tools::read_file((folder / s.source).string());
      } catch (const std::exception& e) {
        throw membar::model::error(s.source + ": " + e.what() + "; the path in the 'source' line is relative to the scenario");
      }
    } else {
      ptx = compiled(folder.string(), s.source, s.options);
    }
    it = known.emplace(std::move(key), std::move(ptx)).first;
  }
  return it->second;
}

}  // namespace

const std::string& ptx_of(const check::scenario& s) {
  try {
    return ptx_of_source(s);
  } catch (const std::exception& e) {
    throw membar::model::error(s.source_line, 1, e.what());
  }
}

}  // namespace membar_check
