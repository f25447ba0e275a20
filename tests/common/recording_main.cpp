// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
/// @file
/// The main function for test programs that run all their tests in a single process, because starting CUDA takes half a second.
///   --record=<folder>       runs the tests, and writes the result of each to <folder>/<test>.txt: PASSED, FAILED or
///                           "SKIPPED: <reason>" on the first line. The exit status is 0 if the program reached its end, even
///                           if tests failed.
///   --write-ctest=<file>    writes calls of membar_recorded_rule(<name> <file>), one for each test, and runs none
/// Without these options it is GoogleTest's own main function.
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <string>
#include <string_view>
#include <utility>

namespace {

std::string file_of(const testing::TestInfo& test) {
  std::string name = std::string(test.test_suite_name()) + "." + test.name() + ".txt";
  std::replace(name.begin(), name.end(), '/', '-');
  return name;
}

/// Returns the name that gtest_discover_tests gives a test. The name of a typed test includes the type.
std::string name_of(const testing::TestInfo& test) {
  std::string suite = test.test_suite_name();
  if (test.type_param() == nullptr)
    return suite + "." + test.name();
  return suite.substr(0, suite.find('/')) + "." + test.name() + "<" + test.type_param() + ">";
}

template <class Function>
void for_each_test(Function function) {
  const testing::UnitTest& all = *testing::UnitTest::GetInstance();
  for (int i = 0; i != all.total_test_suite_count(); ++i)
    for (int j = 0; j != all.GetTestSuite(i)->total_test_count(); ++j)
      function(*all.GetTestSuite(i)->GetTestInfo(j));
}

class recorder : public testing::EmptyTestEventListener {
 public:
  explicit recorder(std::filesystem::path folder) : folder_(std::move(folder)) {}

 private:
  void OnTestProgramStart(const testing::UnitTest&) override {
    std::filesystem::remove_all(folder_);
    std::filesystem::create_directories(folder_);
    for_each_test([this](const testing::TestInfo& test) {
      if (test.should_run())
        write(test, "FAILED: the program ended before this test ran\n");
    });
  }
  void OnTestStart(const testing::TestInfo& test) override { write(test, "FAILED: the program ended in this test\n"); }
  void OnTestEnd(const testing::TestInfo& test) override {
    const testing::TestResult& result = *test.result();
    std::string text;
    for (int i = 0; i != result.total_part_count(); ++i) {
      const testing::TestPartResult& part = result.GetTestPartResult(i);
      const char* file = part.file_name() == nullptr ? "unknown file" : part.file_name();
      text += result.Skipped() && !result.Failed()
                  ? std::string(part.message()) + "\n"
                  : std::string(file) + ":" + std::to_string(part.line_number()) + ": " + part.message() + "\n";
    }
    for (int i = 0; i != result.test_property_count(); ++i)
      text += std::string(result.GetTestProperty(i).key()) + ": " + result.GetTestProperty(i).value() + "\n";
    const char* first = result.Failed() ? "FAILED\n" : result.Skipped() ? "SKIPPED: " : "PASSED\n";
    write(test, first + text);
  }
  void OnTestProgramEnd(const testing::UnitTest&) override { std::ofstream(folder_ / "finished"); }

  void write(const testing::TestInfo& test, const std::string& text) { std::ofstream(folder_ / file_of(test)) << text; }

  std::filesystem::path folder_;
};

/// Returns the value of the option `name=` among the arguments, or nothing.
std::string value_of(std::string_view name, int count, char** arguments) {
  for (int i = 1; i < count; ++i)
    if (std::string_view(arguments[i]).starts_with(name))
      return arguments[i] + name.size();
  return {};
}

}  // namespace

int main(int count, char** arguments) {
  const std::string folder = value_of("--record=", count, arguments);
  const std::string ctest_file = value_of("--write-ctest=", count, arguments);
  // A death test starts this program again to run only that test.
  const bool records = !folder.empty() && value_of("--gtest_internal_run_death_test=", count, arguments).empty();
  testing::InitGoogleTest(&count, arguments);
  if (!ctest_file.empty()) {
    std::ofstream out(ctest_file);
    for_each_test([&](const testing::TestInfo& test) {
      out << "membar_recorded_rule([==[" << name_of(test) << "]==] [==[" << file_of(test) << "]==])\n";
    });
    return out.flush() ? 0 : 1;
  }
  if (records)
    testing::UnitTest::GetInstance()->listeners().Append(new recorder(folder));
  const int result = RUN_ALL_TESTS();
  return records ? 0 : result;
}
