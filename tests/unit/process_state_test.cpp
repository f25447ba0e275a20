// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Libraries that contain membar share its process-wide state, even if they hide their symbols and are loaded separately into
// the process. This program contains no membar code itself. It provides the CUDA runtime that the libraries call.
#include "process_state_library.hpp"

#include <cuda_runtime_api.h>
#include <dlfcn.h>
#include <gtest/gtest.h>

#include <cstring>
#include <string>

namespace {

std::size_t limit = 0;
bool limit_is_fixed = false;
std::string reported;

}  // namespace

extern "C" {

cudaError_t cudaGetLastError() { return cudaSuccess; }
const char* cudaGetErrorName(cudaError_t) { return "cudaErrorUnknown"; }
const char* cudaGetErrorString(cudaError_t) { return "unknown error"; }
cudaError_t cudaDriverGetVersion(int* version) { return *version = CUDART_VERSION, cudaSuccess; }
cudaError_t cudaGetDevice(int* device) { return *device = 0, cudaSuccess; }
cudaError_t cudaSetDevice(int) { return cudaSuccess; }
cudaError_t cudaGetDriverEntryPointByVersion(const char*, void** entry, unsigned, unsigned long long,
                                             cudaDriverEntryPointQueryResult* found) {
  return *entry = nullptr, *found = cudaDriverEntryPointSymbolNotFound, cudaSuccess;
}
cudaError_t cudaGetDeviceProperties(cudaDeviceProp* properties, int) { return *properties = {}, cudaSuccess; }
cudaError_t cudaDeviceGetAttribute(int* value, cudaDeviceAttr which, int) {
  return *value = which == cudaDevAttrMpsEnabled ? 0 : 1 << 20, cudaSuccess;
}
cudaError_t cudaDeviceGetLimit(std::size_t* value, cudaLimit) { return *value = limit, cudaSuccess; }
cudaError_t cudaDeviceSetLimit(cudaLimit, std::size_t value) {
  if (limit_is_fixed) {
    return cudaErrorUnknown;
  }
  limit = value;
  return cudaSuccess;
}

}  // extern "C"

namespace {

/// A loaded library. Its symbols are not visible to other libraries.
class library {
 public:
  explicit library(const char* file) : handle_(dlopen(file, RTLD_NOW | RTLD_LOCAL)) {
    if (handle_ == nullptr) {
      ADD_FAILURE() << dlerror();
    }
  }
  library(const library&) = delete;
  library& operator=(const library&) = delete;
  ~library() { dlclose(handle_); }

  template <class Function>
  [[nodiscard]] Function* find(const char* name) const {
    return reinterpret_cast<Function*>(dlsym(handle_, name));
  }

 private:
  void* handle_;
};

class process_state : public ::testing::Test {
 protected:
  [[nodiscard]] static void* made_by(const library& which, std::size_t bytes) {
    return which.find<make_set_aside>("make_a_set_aside")(bytes);
  }
  static void end(const library& which, void* held) { which.find<end_set_aside>("end_a_set_aside")(held); }
  [[nodiscard]] static std::size_t granted(const library& which, void* held) {
    return which.find<granted_together>("granted_to_all")(held);
  }

  library first{FIRST_LIBRARY};
  library second{SECOND_LIBRARY};
};

TEST_F(process_state, has_one_account_of_l2_for_libraries_that_hide_their_symbols) {
  ASSERT_NE(first.find<make_set_aside>("make_a_set_aside"), second.find<make_set_aside>("make_a_set_aside"));
  void* const mine = made_by(first, 1000);
  EXPECT_EQ(limit, 1000U);
  void* const theirs = made_by(second, 200);
  EXPECT_EQ(limit, 1200U);
  EXPECT_EQ(granted(first, mine), 1200U);
  EXPECT_EQ(granted(second, theirs), 1200U);
  end(first, mine);
  EXPECT_EQ(limit, 200U);
  end(second, theirs);
  EXPECT_EQ(limit, 0U);
}

TEST_F(process_state, has_one_handler_of_failed_restores_for_libraries_that_hide_their_symbols) {
  first.find<handle_failed_restores>("handle_restores")([](const char* sentence) noexcept { reported = sentence; });
  void* const theirs = made_by(second, 200);
  limit_is_fixed = true;
  end(second, theirs);
  limit_is_fixed = false;
  EXPECT_NE(reported.find("the L2 set-aside could not be restored"), std::string::npos) << reported;
  second.find<handle_failed_restores>("handle_restores")(nullptr);
}

}  // namespace
