// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
/// @file
/// Runs the command membar-domains on programs that run with a fake driver and no device.
#pragma once

#include <gtest/gtest.h>
#include <sys/wait.h>

#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <string>

namespace membar_test {

namespace fs = std::filesystem;

struct result {
  int status = 0;
  std::string said;  ///< The output of the command and of the program.
  std::string log;   ///< The fake driver's log.
};

inline std::string text_of(const fs::path& path) {
  std::ifstream file(path);
  std::ostringstream text;
  text << file.rdbuf();
  return text.str();
}

/// Returns the first line of the output that is JSON.
inline std::string json_line(const std::string& said) {
  const auto begin = said.starts_with('{') ? 0 : said.find("\n{") + 1;
  return said.substr(begin, said.find('\n', begin) - begin);
}

class domains_command : public testing::Test {
 protected:
  void SetUp() override {
    folder_ = fs::path(testing::TempDir()) /
              ("membar_domains_" + std::string(testing::UnitTest::GetInstance()->current_test_info()->name()));
    fs::remove_all(folder_);
    fs::create_directories(folder_);
  }
  void TearDown() override { fs::remove_all(folder_); }

  fs::path file(const std::string& name, const std::string& text) {
    std::ofstream(folder_ / name) << text;
    return folder_ / name;
  }

  /// `variables` are shell assignments: NAME=value ...
  result command(const std::string& words, const std::string& variables = "") {
    const fs::path log = folder_ / "log";
    const fs::path said = folder_ / "said";
    fs::remove(log);
    const std::string line = "cd '" + folder_.string() + "' && " + variables +
                             " LD_LIBRARY_PATH='" FAKE_DRIVER_FOLDER "' FAKE_DRIVER_LOG='" + log.string() +
                             "' '" MEMBAR_DOMAINS "' " + words + " > '" + said.string() + "' 2>&1";
    const int status = std::system(line.c_str());
    return {WIFEXITED(status) ? WEXITSTATUS(status) : -1, text_of(said), text_of(log)};
  }

  fs::path folder_;
};

}  // namespace membar_test

#define PROGRAM " -- '" DOMAINS_PROGRAM "' "
