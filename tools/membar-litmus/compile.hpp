// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
/// @file
/// Compiles CUDA C++ at run time: NVRTC, opened when it is needed and not linked, and a cache of what it made on disk.
///
/// Needs no CUDA toolkit to build, and none but libnvrtc to run. Linux: the library is opened with dlopen.
#pragma once

#include <dlfcn.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <memory>
#include <optional>
#include <span>
#include <stdexcept>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>
#include <vector>

namespace membar::litmus {

/// A header that a source includes: the name in its include directive, and its text.
struct header_text {
  const char* name = nullptr;
  const char* text = nullptr;
};

/// What to compile, and how. Equal requests give equal results with one compiler.
struct compilation {
  std::string source;
  std::span<const header_text> headers{};
  std::vector<std::string> options;
  bool to_ptx = false;  ///< PTX instead of a cubin
};

/// A version as CUDA counts them, such as 12080, as "12.8".
[[nodiscard]] inline std::string cuda_version_text(int version) {
  return std::to_string(version / 1000) + "." + std::to_string(version % 1000 / 10);
}

/// The options for a device of this compute capability, major * 10 + minor.
[[nodiscard]] inline std::vector<std::string> options_for(int compute_capability, bool to_ptx = false) {
  return {"--std=c++20",
          std::string("--gpu-architecture=") + (to_ptx ? "compute_" : "sm_") + std::to_string(compute_capability)};
}

/// NVRTC, as a library that was opened.
class nvrtc {
 public:
  /// Opens what the environment's MEMBAR_NVRTC names, or else libnvrtc where the loader, `folders` and usual places have one.
  /// Throws `std::runtime_error`, with one sentence, if there is none.
  explicit nvrtc(const std::vector<std::string>& folders = {}) {
    const char* const hint = std::getenv("MEMBAR_NVRTC");
    const bool hinted = hint != nullptr && *hint != '\0';
    for (const std::string& name : hinted ? std::vector<std::string>{hint} : candidates(folders)) {
      library_.reset(dlopen(name.c_str(), RTLD_NOW | RTLD_LOCAL));
      if (library_ != nullptr) {
        break;
      }
    }
    if (library_ == nullptr) {
      throw std::runtime_error(
          hinted ? "MEMBAR_NVRTC is '" + std::string(hint) +
                       "', which cannot be opened as a library: name the file libnvrtc.so.* of a "
                       "CUDA toolkit, or unset it"
                 : std::string(
                       "NVRTC, which compiles tests for the GPU, was not found: install it (the package cuda-nvrtc of the CUDA "
                       "toolkit), or set MEMBAR_NVRTC to the file libnvrtc.so.*"));
    }
    find(version_of_, "nvrtcVersion");
    find(create_, "nvrtcCreateProgram");
    find(destroy_, "nvrtcDestroyProgram");
    find(compile_, "nvrtcCompileProgram");
    find(log_size_, "nvrtcGetProgramLogSize");
    find(log_, "nvrtcGetProgramLog");
    find(cubin_size_, "nvrtcGetCUBINSize");
    find(cubin_, "nvrtcGetCUBIN");
    find(ptx_size_, "nvrtcGetPTXSize");
    find(ptx_, "nvrtcGetPTX");
    find(error_text_, "nvrtcGetErrorString");
    find(architecture_count_, "nvrtcGetNumSupportedArchs");
    find(architectures_, "nvrtcGetSupportedArchs");
    int major = 0;
    int minor = 0;
    require(version_of_(&major, &minor), "nvrtcVersion");
    version_ = 1000 * major + 10 * minor;
  }

  /// As CUDA counts versions: 13000 is 13.0.
  [[nodiscard]] int version() const noexcept { return version_; }

  /// Whether it makes code for a compute capability, major * 10 + minor.
  [[nodiscard]] bool knows(int compute_capability) const {
    int count = 0;
    require(architecture_count_(&count), "nvrtcGetNumSupportedArchs");
    std::vector<int> known(static_cast<std::size_t>(count));
    require(architectures_(known.data()), "nvrtcGetSupportedArchs");
    return std::find(known.begin(), known.end(), compute_capability) != known.end();
  }

  /// The cubin or PTX. Throws `std::runtime_error` with the compiler's first complaint if the source does not compile.
  [[nodiscard]] std::string compile(const compilation& what) const {
    std::vector<const char*> names;
    std::vector<const char*> texts;
    for (const header_text& header : what.headers) {
      names.push_back(header.name);
      texts.push_back(header.text);
    }
    program made(*this);
    require(create_(&made.handle, what.source.c_str(), "test.cu", static_cast<int>(names.size()), texts.data(), names.data()),
            "nvrtcCreateProgram");
    std::vector<const char*> options;
    for (const std::string& option : what.options) {
      options.push_back(option.c_str());
    }
    const int status = compile_(made.handle, static_cast<int>(options.size()), options.data());
    if (status != 0) {
      std::size_t size = 0;
      std::string log;
      if (log_size_(made.handle, &size) == 0) {
        log.resize(size);
        static_cast<void>(log_(made.handle, log.data()));
      }
      throw std::runtime_error("NVRTC " + cuda_version_text(version_) +
                               " does not compile the test: " + complaint(log, status));
    }
    std::size_t size = 0;
    require((what.to_ptx ? ptx_size_ : cubin_size_)(made.handle, &size), "nvrtcGetCUBINSize");
    std::string code(size, '\0');
    require((what.to_ptx ? ptx_ : cubin_)(made.handle, code.data()), "nvrtcGetCUBIN");
    if (what.to_ptx && !code.empty() && code.back() == '\0') {
      code.pop_back();
    }
    return code;
  }

 private:
  using program_handle = void*;

  struct closer {
    void operator()(void* library) const noexcept { static_cast<void>(dlclose(library)); }
  };

  struct program {
    explicit program(const nvrtc& by) : by_(&by) {}
    program(const program&) = delete;
    program& operator=(const program&) = delete;
    ~program() {
      if (handle != nullptr) {
        static_cast<void>(by_->destroy_(&handle));
      }
    }
    program_handle handle = nullptr;

   private:
    const nvrtc* by_;
  };

  [[nodiscard]] static std::vector<std::string> candidates(const std::vector<std::string>& folders) {
    std::vector<std::string> names;
    std::vector<std::string> places = {""};
    for (const std::string& folder : folders) {
      places.push_back(folder + "/");
    }
    for (const char* variable : {"CUDA_HOME", "CUDA_PATH"}) {
      if (const char* const home = std::getenv(variable); home != nullptr && *home != '\0') {
        places.push_back(std::string(home) + "/lib64/");
      }
    }
    places.emplace_back("/usr/local/cuda/lib64/");
    for (const std::string& place : places) {
      for (const char* file : {"libnvrtc.so", "libnvrtc.so.13", "libnvrtc.so.12"}) {
        names.push_back(place + file);
      }
    }
    return names;
  }

  template <class Function>
  void find(Function*& function, const char* name) const {
    void* const symbol = dlsym(library_.get(), name);
    if (symbol == nullptr) {
      throw std::runtime_error(std::string("the NVRTC that was found has no ") + name + ": install NVRTC 12.0 or newer");
    }
    static_assert(sizeof function == sizeof symbol);
    std::memcpy(&function, &symbol, sizeof symbol);
  }

  void require(int status, const char* call) const {
    if (status != 0) {
      throw std::runtime_error(std::string(call) + " failed with " + error_text_(status));
    }
  }

  // The first line of the log that is an error; it may come from the assembler.
  [[nodiscard]] std::string complaint(const std::string& log, int status) const {
    for (const std::string_view word : {"error", "fatal"}) {
      const std::size_t at = log.find(word);
      if (at != std::string::npos) {
        const std::size_t begin = log.rfind('\n', at) + 1;
        return log.substr(begin, log.find('\n', at) - begin);
      }
    }
    return error_text_(status);
  }

  std::unique_ptr<void, closer> library_;
  int version_ = 0;
  int (*version_of_)(int*, int*) = nullptr;
  int (*create_)(program_handle*, const char*, const char*, int, const char* const*, const char* const*) = nullptr;
  int (*destroy_)(program_handle*) = nullptr;
  int (*compile_)(program_handle, int, const char* const*) = nullptr;
  int (*log_size_)(program_handle, std::size_t*) = nullptr;
  int (*log_)(program_handle, char*) = nullptr;
  int (*cubin_size_)(program_handle, std::size_t*) = nullptr;
  int (*cubin_)(program_handle, char*) = nullptr;
  int (*ptx_size_)(program_handle, std::size_t*) = nullptr;
  int (*ptx_)(program_handle, char*) = nullptr;
  const char* (*error_text_)(int) = nullptr;
  int (*architecture_count_)(int*) = nullptr;
  int (*architectures_)(int*) = nullptr;
};

/// Compiled code on disk, one file per request. A file holds the whole request and a checksum of what it gave, so that neither
/// a collision of names nor a damaged file is ever taken for a result. Written under another name and then renamed: who reads
/// at the same time sees a whole file or none.
class code_cache {
 public:
  /// Without a folder nothing is kept.
  code_cache() = default;
  /// Keeps files in `folder`, which is made with the first of them.
  explicit code_cache(std::filesystem::path folder) : folder_(std::move(folder)) {}

  /// Where caches are by the XDG convention: $XDG_CACHE_HOME/membar, else $HOME/.cache/membar; empty if neither is set.
  [[nodiscard]] static std::filesystem::path usual_folder() {
    const char* const cache = std::getenv("XDG_CACHE_HOME");
    if (cache != nullptr && *cache == '/') {  // the convention ignores relative ones
      return std::filesystem::path(cache) / "membar";
    }
    const char* const home = std::getenv("HOME");
    return home != nullptr && *home != '\0' ? std::filesystem::path(home) / ".cache" / "membar" : std::filesystem::path();
  }

  [[nodiscard]] bool keeps() const noexcept { return !folder_.empty(); }

  /// What was kept for `key`; nothing if there is no file, or one that is damaged or of another key.
  [[nodiscard]] std::optional<std::string> find(const std::string& key) const {
    if (!keeps()) {
      return std::nullopt;
    }
    std::ifstream file(path_of(key), std::ios::binary);
    if (!file) {
      return std::nullopt;
    }
    const std::string all{std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
    const std::string head = head_of(key);
    if (all.size() < head.size() + checksum_digits || all.compare(0, head.size(), head) != 0) {
      return std::nullopt;
    }
    std::string code = all.substr(head.size() + checksum_digits);
    if (all.compare(head.size(), checksum_digits, hash_text(code)) != 0) {
      return std::nullopt;
    }
    return code;
  }

  /// Keeps `code` for `key`. Returns what went wrong in one sentence, or nothing: who cannot keep a result still has it.
  [[nodiscard]] std::string keep(const std::string& key, const std::string& code) const {
    if (!keeps()) {
      return {};
    }
    std::error_code failure;
    std::filesystem::create_directories(folder_, failure);
    static std::atomic<unsigned> count{0};
    const std::filesystem::path target = path_of(key);
    std::filesystem::path other = target;
    other += "." + std::to_string(getpid()) + "." + std::to_string(count++) + ".tmp";
    {
      std::ofstream file(other, std::ios::binary | std::ios::trunc);
      file << head_of(key) << hash_text(code) << code;
      file.close();
      if (!file) {
        std::filesystem::remove(other, failure);
        return "compiled tests are not kept: cannot write into '" + folder_.string() +
               "'; name a folder with --cache=DIR, or say --no-cache";
      }
    }
    std::filesystem::rename(other, target, failure);
    if (failure) {
      std::error_code ignored;
      std::filesystem::remove(other, ignored);
      return "compiled tests are not kept: cannot write '" + target.string() + "': " + failure.message();
    }
    return {};
  }

 private:
  static constexpr std::size_t checksum_digits = 16;

  // FNV-1a. It names files and finds damage; it is no proof against an adversary, who could as well replace the compiler.
  [[nodiscard]] static std::string hash_text(std::string_view bytes) {
    std::uint64_t hash = 0xcbf29ce484222325U;
    for (const char c : bytes) {
      hash = (hash ^ static_cast<unsigned char>(c)) * 0x100000001b3U;
    }
    std::string text(checksum_digits, '0');
    for (std::size_t d = checksum_digits; d-- > 0; hash >>= 4U) {
      text[d] = "0123456789abcdef"[hash & 15U];
    }
    return text;
  }

  [[nodiscard]] std::filesystem::path path_of(const std::string& key) const { return folder_ / (hash_text(key) + ".code"); }

  [[nodiscard]] static std::string head_of(const std::string& key) {
    return "membar compiled code 1\n" + std::to_string(key.size()) + "\n" + key;
  }

  std::filesystem::path folder_;
};

/// Compiles, or finds what the same version of the compiler made of the same request before.
class compiler {
 public:
  explicit compiler(code_cache cache = {}, std::vector<std::string> folders = {})
      : cache_(std::move(cache)), folders_(std::move(folders)) {}

  /// The code for `what`. Throws `std::runtime_error`, with one sentence, if there is no NVRTC or it does not compile the
  /// source.
  [[nodiscard]] std::string operator()(const compilation& what) {
    const std::string key = key_of(what, library().version());
    if (std::optional<std::string> code = cache_.find(key)) {
      ++found_;
      return *std::move(code);
    }
    std::string code = library().compile(what);
    ++compiled_;
    const std::string trouble = cache_.keep(key, code);
    if (trouble_.empty()) {
      trouble_ = trouble;
    }
    return code;
  }

  /// NVRTC, opened if it was not.
  [[nodiscard]] const nvrtc& library() {
    if (library_ == nullptr) {
      library_ = std::make_unique<nvrtc>(folders_);
    }
    return *library_;
  }

  [[nodiscard]] int compiled() const noexcept { return compiled_; }
  [[nodiscard]] int found() const noexcept { return found_; }
  /// Why results are not kept, in one sentence; empty if they are, or were not to be.
  [[nodiscard]] const std::string& trouble() const noexcept { return trouble_; }

  /// Everything that a result depends on.
  [[nodiscard]] static std::string key_of(const compilation& what, int version) {
    std::string key = "nvrtc " + std::to_string(version) + (what.to_ptx ? " ptx\n" : " cubin\n");
    const auto add = [&key](std::string_view part) {
      key += std::to_string(part.size()) + "\n";
      key += part;
    };
    for (const std::string& option : what.options) {
      add(option);
    }
    for (const header_text& header : what.headers) {
      add(header.name);
      add(header.text);
    }
    add(what.source);
    return key;
  }

 private:
  code_cache cache_;
  std::vector<std::string> folders_;
  std::unique_ptr<nvrtc> library_;
  int compiled_ = 0;
  int found_ = 0;
  std::string trouble_;
};

}  // namespace membar::litmus
