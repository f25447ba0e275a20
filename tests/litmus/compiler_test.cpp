// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Compilation at run time and the cache: each request is compiled only once, and a file that does not belong to the request is
// never used.
#include "compiled_test.hpp"
#include "litmus_files.hpp"

#include <litmus/compiler.hpp>

#include <tests/common/refusal.hpp>

#include <cstddef>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <optional>
#include <set>
#include <string>
#include <thread>
#include <vector>

namespace {

using namespace membar::litmus_files;
using membar_test::compiled_test, membar_test::nvrtc_here, membar_test::read_text, membar_test::says;
namespace fs = std::filesystem;

/// A temporary folder, removed after the test.
class temporary_folder {
 public:
  temporary_folder() {
    std::string pattern = (fs::temp_directory_path() / "membar-cache-XXXXXX").string();
    if (mkdtemp(pattern.data()) == nullptr) {
      throw std::runtime_error("cannot make a folder for the test");
    }
    path_ = pattern;
  }
  temporary_folder(const temporary_folder&) = delete;
  temporary_folder& operator=(const temporary_folder&) = delete;
  ~temporary_folder() {
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

/// Sets an environment variable for the duration of a scope.
class with_variable {
 public:
  with_variable(const char* name, const std::string& value) : name_(name) {
    if (const char* const before = std::getenv(name)) {
      before_ = before;
    }
    setenv(name, value.c_str(), 1);
  }
  with_variable(const with_variable&) = delete;
  with_variable& operator=(const with_variable&) = delete;
  ~with_variable() {
    if (before_) {
      setenv(name_, before_->c_str(), 1);
    } else {
      unsetenv(name_);
    }
  }

 private:
  const char* name_;
  std::optional<std::string> before_;
};

TEST(litmus_code_cache, gives_back_what_it_kept_and_nothing_else) {
  const temporary_folder folder;
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

TEST(litmus_code_cache, takes_no_damaged_file_for_a_result) {
  const temporary_folder folder;
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

TEST(litmus_code_cache, tells_requests_apart_whose_files_have_one_name) {
  const temporary_folder folder;
  const code_cache cache(folder.path());
  ASSERT_EQ(cache.keep("one", "code of one"), "");
  const fs::path one = folder.files().front();
  ASSERT_EQ(cache.keep("two", "code of two"), "");
  for (const fs::path& file : folder.files()) {
    if (file != one) {
      fs::copy_file(one, file, fs::copy_options::overwrite_existing);  // as if both files had the same name
    }
  }
  EXPECT_FALSE(cache.find("two").has_value());
  EXPECT_EQ(cache.find("one"), "code of one");
}

TEST(litmus_code_cache, concurrent_writers_leave_one_whole_file) {
  const temporary_folder folder;
  const code_cache cache(folder.path());
  const std::string code(1 << 16, 'x');
  {
    std::vector<std::jthread> writers;
    for (int t = 0; t < 4; ++t) {
      writers.emplace_back([&] {
        for (int i = 0; i < 50; ++i) {
          EXPECT_EQ(cache.keep("key", code), "");
          EXPECT_EQ(cache.find("key"), code);
        }
      });
    }
  }
  EXPECT_EQ(folder.files().size(), 1U);
}

TEST(litmus_code_cache, says_why_it_keeps_nothing) {
  const temporary_folder folder;
  std::ofstream(folder.path() / "file") << "no folder";
  const code_cache cache(folder.path() / "file");
  const std::string warning = cache.keep("key", "code");
  EXPECT_TRUE(says(warning, "cannot write to '" + (folder.path() / "file").string() + "'"));
  EXPECT_FALSE(cache.find("key").has_value());
  EXPECT_EQ(code_cache().keep("key", "code"), "");
  EXPECT_FALSE(code_cache().find("key").has_value());
}

TEST(litmus_code_cache, is_where_the_xdg_convention_says) {
  {
    const with_variable cache("XDG_CACHE_HOME", "/some/cache");
    EXPECT_EQ(code_cache::default_folder(), "/some/cache/membar");
  }
  const with_variable home("HOME", "/home/of");
  for (const char* ignored : {"", "relative"}) {
    const with_variable cache("XDG_CACHE_HOME", ignored);
    EXPECT_EQ(code_cache::default_folder(), "/home/of/.cache/membar") << ignored;
  }
}

TEST(litmus_compiler, the_key_holds_everything_that_a_result_depends_on) {
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

/// Returns the message of the `std::runtime_error` that `call` throws, or an empty string.
[[nodiscard]] std::string complaint(auto call) {
  try {
    call();
  } catch (const std::runtime_error& e) {
    return e.what();
  }
  return "";
}

TEST(litmus_nvrtc, a_hint_that_is_no_library_is_named) {
  const with_variable hint("MEMBAR_NVRTC", "/no/such/library.so");
  const std::string reason = complaint([] { const nvrtc library; });
  EXPECT_EQ(reason.rfind("MEMBAR_NVRTC is '/no/such/library.so', which cannot be loaded", 0), 0U) << reason;
}

TEST(litmus_nvrtc, a_library_of_another_kind_is_named) {
  const with_variable hint("MEMBAR_NVRTC", "libdl.so.2");
  EXPECT_TRUE(says(complaint([] { const nvrtc library; }), "has no nvrtcVersion"));
}

class litmus_compiler_with_nvrtc : public compiled_test {
 protected:
  static std::vector<std::string> folders() { return {toolkit_libraries()}; }
};

const char* const small = "extern \"C\" __global__ void k(int* p) { *p = 1; }\n";

TEST_F(litmus_compiler_with_nvrtc, compiles_once_and_finds_it_from_then_on) {
  const temporary_folder folder;
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

TEST_F(litmus_compiler_with_nvrtc, compiles_again_where_the_file_is_damaged) {
  const temporary_folder folder;
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

TEST_F(litmus_compiler_with_nvrtc, what_cannot_be_kept_is_compiled_nevertheless) {
  const temporary_folder folder;
  std::ofstream(folder.path() / "file") << "no folder";
  compiler first(code_cache(folder.path() / "file"), folders());
  EXPECT_FALSE(first({small, {}, options_for(90)}).empty());
  EXPECT_TRUE(says(first.warning(), "are not cached"));
  compiler keeps_nothing(code_cache{}, folders());
  EXPECT_FALSE(keeps_nothing({small, {}, options_for(90)}).empty());
  EXPECT_EQ(keeps_nothing.warning(), "");
}

TEST_F(litmus_compiler_with_nvrtc, a_mistake_in_a_source_is_its_first_complaint) {
  for (const std::string& wrong :
       {std::string("__device__ int f() { return missing; }\n"),
        std::string("extern \"C\" __global__ void k() { asm volatile(\"fence.sc.nowhere;\"); }\n")}) {
    const std::string reason =
        complaint([&] { static_cast<void>(nvrtc_here().library->compile({wrong, {}, options_for(90)})); });
    EXPECT_TRUE(says(reason, "could not compile the test: "));
    EXPECT_EQ(reason.find('\n'), std::string::npos) << reason;
    EXPECT_TRUE(says(reason, "missing") || says(reason, "nowhere")) << reason;
  }
}

TEST_F(litmus_compiler_with_nvrtc, has_a_version_and_architectures) {
  EXPECT_GE(nvrtc_here().library->version(), 12000);
  EXPECT_TRUE(nvrtc_here().library->supports(90));
  EXPECT_FALSE(nvrtc_here().library->supports(13));
  EXPECT_EQ(cuda_version_text(12080), "12.8");
  EXPECT_EQ(cuda_version_text(13000), "13.0");
}

}  // namespace
