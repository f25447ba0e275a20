// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
/// @file
/// Compilation at run time and its cache: nothing is compiled twice, and nothing but what was compiled is ever taken for it.
#include "kernel_texts.hpp"

#include <gtest/gtest.h>

#include <cstddef>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <set>
#include <string>
#include <thread>
#include <vector>

namespace {

using namespace membar::litmus;
using membar::tests::compiled_test;
using membar::tests::nvrtc;
using membar::tests::read_text;
namespace fs = std::filesystem;

/// A folder of a test's own, gone when the test is over.
class own_folder {
 public:
  own_folder() {
    std::string pattern = (fs::temp_directory_path() / "membar-cache-XXXXXX").string();
    if (mkdtemp(pattern.data()) == nullptr) {
      throw std::runtime_error("cannot make a folder for the test");
    }
    path_ = pattern;
  }
  own_folder(const own_folder&) = delete;
  own_folder& operator=(const own_folder&) = delete;
  ~own_folder() {
    std::error_code ignored;
    fs::permissions(path_, fs::perms::owner_all, ignored);
    fs::remove_all(path_, ignored);
  }
  [[nodiscard]] const fs::path& path() const { return path_; }
  [[nodiscard]] std::vector<fs::path> files() const {
    std::vector<fs::path> all;
    for (const auto& entry : fs::recursive_directory_iterator(path_)) {
      if (entry.is_regular_file()) {
        all.push_back(entry.path());
      }
    }
    return all;
  }

 private:
  fs::path path_;
};

/// Sets a variable of the environment for a scope.
class with_variable {
 public:
  with_variable(const char* name, const std::string& value) : name_(name) {
    const char* const before = std::getenv(name);
    had_ = before != nullptr;
    before_ = had_ ? before : "";
    setenv(name, value.c_str(), 1);
  }
  with_variable(const with_variable&) = delete;
  with_variable& operator=(const with_variable&) = delete;
  ~with_variable() {
    if (had_) {
      setenv(name_, before_.c_str(), 1);
    } else {
      unsetenv(name_);
    }
  }

 private:
  const char* name_;
  bool had_ = false;
  std::string before_;
};

TEST(CodeCache, GivesBackWhatItKeptAndNothingElse) {
  const own_folder folder;
  const code_cache cache(folder.path() / "deep" / "er");
  const std::string code("code with \0 and \n", 17);
  EXPECT_FALSE(cache.find("key").has_value());
  EXPECT_EQ(cache.keep("key", code), "");
  EXPECT_EQ(cache.find("key"), code);
  EXPECT_FALSE(cache.find("other key").has_value());
  EXPECT_EQ(cache.keep("key", "newer"), "");
  EXPECT_EQ(cache.find("key"), "newer");
  EXPECT_EQ(folder.files().size(), 1U);
}

TEST(CodeCache, TakesNoDamagedFileForAResult) {
  const own_folder folder;
  const code_cache cache(folder.path());
  const std::string key = "the whole request";
  const std::string code(200, 'c');
  ASSERT_EQ(cache.keep(key, code), "");
  ASSERT_EQ(folder.files().size(), 1U);
  const fs::path file = folder.files().front();
  const std::string good = read_text(file);
  for (std::size_t at = 0; at < good.size(); ++at) {
    std::string damaged = good;
    damaged[at] = static_cast<char>(damaged[at] ^ 1);
    std::ofstream(file, std::ios::binary) << damaged;
    EXPECT_FALSE(cache.find(key).has_value()) << "byte " << at;
  }
  for (const std::size_t size : {std::size_t{0}, good.size() / 2, good.size() - 1}) {
    std::ofstream(file, std::ios::binary) << good.substr(0, size);
    EXPECT_FALSE(cache.find(key).has_value()) << "cut to " << size;
  }
  std::ofstream(file, std::ios::binary) << good;
  EXPECT_EQ(cache.find(key), code);
}

TEST(CodeCache, TellsRequestsApartWhoseFilesHaveOneName) {
  const own_folder folder;
  const code_cache cache(folder.path());
  ASSERT_EQ(cache.keep("one", "code of one"), "");
  const fs::path one = folder.files().front();
  ASSERT_EQ(cache.keep("two", "code of two"), "");
  for (const fs::path& file : folder.files()) {
    if (file != one) {
      fs::copy_file(one, file, fs::copy_options::overwrite_existing);  // as if both had this name
    }
  }
  EXPECT_FALSE(cache.find("two").has_value());
  EXPECT_EQ(cache.find("one"), "code of one");
}

TEST(CodeCache, ManyWhoWriteTheSameLeaveOneWholeFile) {
  const own_folder folder;
  const code_cache cache(folder.path());
  const std::string code(1 << 16, 'x');
  std::vector<std::thread> writers;
  for (int t = 0; t < 4; ++t) {
    writers.emplace_back([&] {
      for (int i = 0; i < 50; ++i) {
        EXPECT_EQ(cache.keep("key", code), "");
        const auto found = cache.find("key");
        EXPECT_TRUE(found.has_value() && *found == code);
      }
    });
  }
  for (std::thread& writer : writers) {
    writer.join();
  }
  EXPECT_EQ(folder.files().size(), 1U);
}

TEST(CodeCache, SaysWhyItKeepsNothing) {
  const own_folder folder;
  std::ofstream(folder.path() / "file") << "no folder";
  const code_cache cache(folder.path() / "file");
  const std::string trouble = cache.keep("key", "code");
  EXPECT_NE(trouble.find("cannot write into '" + (folder.path() / "file").string() + "'"), std::string::npos) << trouble;
  EXPECT_FALSE(cache.find("key").has_value());
  EXPECT_EQ(code_cache().keep("key", "code"), "");
  EXPECT_FALSE(code_cache().find("key").has_value());
}

TEST(CodeCache, IsWhereTheXdgConventionSays) {
  {
    const with_variable cache("XDG_CACHE_HOME", "/some/cache");
    EXPECT_EQ(code_cache::usual_folder(), "/some/cache/membar");
  }
  const with_variable home("HOME", "/home/of");
  for (const char* ignored : {"", "relative"}) {
    const with_variable cache("XDG_CACHE_HOME", ignored);
    EXPECT_EQ(code_cache::usual_folder(), "/home/of/.cache/membar") << ignored;
  }
}

TEST(Compiler, TheKeyHoldsEverythingThatAResultDependsOn) {
  const header_text a[] = {{"a.hpp", "1"}};
  const header_text b[] = {{"a.hpp", "2"}};
  const header_text c[] = {{"b.hpp", "1"}};
  const std::vector<std::string> keys = {
      compiler::key_of({"source", a, {"-x"}}, 12080),       compiler::key_of({"source ", a, {"-x"}}, 12080),
      compiler::key_of({"source", b, {"-x"}}, 12080),       compiler::key_of({"source", c, {"-x"}}, 12080),
      compiler::key_of({"source", a, {"-y"}}, 12080),       compiler::key_of({"source", a, {"-x", "-y"}}, 12080),
      compiler::key_of({"source", a, {"-x-y"}}, 12080),     compiler::key_of({"source", a, {"-x"}}, 13000),
      compiler::key_of({"source", a, {"-x"}, true}, 12080), compiler::key_of({"source", {}, {"-x"}}, 12080)};
  EXPECT_EQ(std::set<std::string>(keys.begin(), keys.end()).size(), keys.size());
}

TEST(Nvrtc, AHintThatIsNoLibraryIsNamed) {
  const with_variable hint("MEMBAR_NVRTC", "/no/such/library.so");
  try {
    const membar::litmus::nvrtc library;
    FAIL() << "it opened something";
  } catch (const std::runtime_error& e) {
    const std::string reason = e.what();
    EXPECT_EQ(reason.rfind("MEMBAR_NVRTC is '/no/such/library.so', which cannot be opened", 0), 0U) << reason;
  }
}

TEST(Nvrtc, ALibraryOfAnotherKindIsNamed) {
  const with_variable hint("MEMBAR_NVRTC", "libdl.so.2");
  try {
    const membar::litmus::nvrtc library;
    FAIL() << "it opened something";
  } catch (const std::runtime_error& e) {
    EXPECT_NE(std::string(e.what()).find("has no nvrtcVersion"), std::string::npos) << e.what();
  }
}

class CompilerWithNvrtc : public compiled_test {
 protected:
  static std::vector<std::string> folders() { return {MEMBAR_TOOLKIT_LIBRARIES}; }
};

const char* const small = "extern \"C\" __global__ void k(int* p) { *p = 1; }\n";

TEST_F(CompilerWithNvrtc, CompilesOnceAndFindsItFromThenOn) {
  const own_folder folder;
  std::string code;
  {
    compiler first(code_cache(folder.path()), folders());
    code = first({small, {}, options_for(90)});
    EXPECT_EQ(code.substr(0, 4),
              "\x7f"
              "ELF");
    EXPECT_EQ(first({small, {}, options_for(90)}), code);
    EXPECT_EQ(std::pair(first.compiled(), first.found()), std::pair(1, 1));
  }
  compiler second(code_cache(folder.path()), folders());
  EXPECT_EQ(second({small, {}, options_for(90)}), code);
  EXPECT_EQ(std::pair(second.compiled(), second.found()), std::pair(0, 1));
  EXPECT_NE(second({small, {}, options_for(80)}), code);
  EXPECT_EQ(std::pair(second.compiled(), second.found()), std::pair(1, 1));
}

TEST_F(CompilerWithNvrtc, CompilesAgainWhereTheFileIsDamaged) {
  const own_folder folder;
  compiler first(code_cache(folder.path()), folders());
  const std::string code = first({small, {}, options_for(90)});
  ASSERT_EQ(folder.files().size(), 1U);
  const std::string good = read_text(folder.files().front());
  std::ofstream(folder.files().front(), std::ios::binary) << good.substr(0, good.size() - 10) << "0123456789";
  compiler second(code_cache(folder.path()), folders());
  EXPECT_EQ(second({small, {}, options_for(90)}), code);
  EXPECT_EQ(second.compiled(), 1);
  EXPECT_EQ(read_text(folder.files().front()), good) << "the file is whole again";
}

TEST_F(CompilerWithNvrtc, WhatCannotBeKeptIsCompiledNevertheless) {
  const own_folder folder;
  std::ofstream(folder.path() / "file") << "no folder";
  compiler first(code_cache(folder.path() / "file"), folders());
  EXPECT_FALSE(first({small, {}, options_for(90)}).empty());
  EXPECT_NE(first.trouble().find("are not kept"), std::string::npos) << first.trouble();
  compiler keeps_nothing(code_cache{}, folders());
  EXPECT_FALSE(keeps_nothing({small, {}, options_for(90)}).empty());
  EXPECT_EQ(keeps_nothing.trouble(), "");
}

TEST_F(CompilerWithNvrtc, AMistakeInASourceIsItsFirstComplaint) {
  for (const std::string& wrong :
       {std::string("__device__ int f() { return missing; }\n"),
        std::string("extern \"C\" __global__ void k() { asm volatile(\"fence.sc.nowhere;\"); }\n")}) {
    try {
      static_cast<void>(nvrtc().library->compile({wrong, {}, options_for(90)}));
      ADD_FAILURE() << wrong;
    } catch (const std::runtime_error& e) {
      const std::string reason = e.what();
      EXPECT_NE(reason.find("does not compile the test: "), std::string::npos) << reason;
      EXPECT_EQ(reason.find('\n'), std::string::npos) << reason;
      EXPECT_TRUE(reason.find("missing") != std::string::npos || reason.find("nowhere") != std::string::npos) << reason;
    }
  }
}

TEST_F(CompilerWithNvrtc, KnowsItsVersionAndItsArchitectures) {
  EXPECT_GE(nvrtc().library->version(), 12000);
  EXPECT_TRUE(nvrtc().library->knows(90));
  EXPECT_FALSE(nvrtc().library->knows(13));
  EXPECT_EQ(cuda_version_text(12080), "12.8");
  EXPECT_EQ(cuda_version_text(13000), "13.0");
}

}  // namespace
