// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <litmus/nvrtc.hpp>

#include <dlfcn.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <stdexcept>
#include <string_view>

namespace membar::litmus_files {

namespace {

[[nodiscard]] std::vector<std::string> candidates(const std::vector<std::string>& folders) {
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

}  // namespace

std::string cuda_version_text(int version) {
  return std::to_string(version / 1000) + "." + std::to_string(version % 1000 / 10);
}

std::vector<std::string> options_for(int compute_capability, bool to_ptx) {
  return {"--std=c++20",
          std::string("--gpu-architecture=") + (to_ptx ? "compute_" : "sm_") + std::to_string(compute_capability)};
}

void nvrtc::closer::operator()(void* library) const noexcept { static_cast<void>(dlclose(library)); }

struct nvrtc::program {
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

template <class Function>
void nvrtc::find(Function*& function, const char* name) const {
  void* const symbol = dlsym(library_.get(), name);
  if (symbol == nullptr) {
    throw std::runtime_error(std::string("the installed NVRTC has no ") + name + ": install NVRTC 12.0 or newer");
  }
  static_assert(sizeof function == sizeof symbol);
  std::memcpy(&function, &symbol, sizeof symbol);
}

nvrtc::nvrtc(const std::vector<std::string>& folders) {
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
                     "', which cannot be loaded: set it to the libnvrtc.so.* file of a CUDA toolkit, or unset it"
               : std::string("NVRTC, which compiles tests for the GPU, was not found: install it (the cuda-nvrtc package of "
                             "the CUDA toolkit), or set MEMBAR_NVRTC to the path of libnvrtc.so.*"));
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

bool nvrtc::supports(int compute_capability) const {
  int count = 0;
  require(architecture_count_(&count), "nvrtcGetNumSupportedArchs");
  std::vector<int> supported(static_cast<std::size_t>(count));
  require(architectures_(supported.data()), "nvrtcGetSupportedArchs");
  return std::find(supported.begin(), supported.end(), compute_capability) != supported.end();
}

std::string nvrtc::compile(const compilation& what) const {
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
                             " could not compile the test: " + first_error(log, status));
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

void nvrtc::require(int status, const char* call) const {
  if (status != 0) {
    throw std::runtime_error(std::string(call) + " failed with " + error_text_(status));
  }
}

// Returns the first line of the log that contains an error, which may also come from the assembler.
std::string nvrtc::first_error(const std::string& log, int status) const {
  for (const std::string_view word : {"error", "fatal"}) {
    const std::size_t at = log.find(word);
    if (at != std::string::npos) {
      const std::size_t begin = log.rfind('\n', at) + 1;
      return log.substr(begin, log.find('\n', at) - begin);
    }
  }
  return error_text_(status);
}

}  // namespace membar::litmus_files
