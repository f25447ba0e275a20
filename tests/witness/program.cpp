// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// A program for the tests of membar-check witness: it loads the module in its first argument, launches the module's kernel
// `wrong` once, and fails if the result is not 2. A second argument changes its behaviour: `file` (it loads the module from a
// file), `other` (it loads a module without the kernel), `fails`, `sleeps`.
#include <dlfcn.h>
#include <unistd.h>

#include <cstdint>
#include <cstdio>
#include <cstring>
#include <fstream>
#include <iterator>
#include <string>
#include <vector>

namespace {

void* driver = nullptr;

template <class... Arguments>
int call(const char* name, Arguments... arguments) {
  void* const found = dlsym(driver, name);
  int (*function)(Arguments...) = nullptr;
  std::memcpy(&function, &found, sizeof function);
  return function(arguments...);
}

}  // namespace

int main(int count, char** words) {
  const std::string how = count > 2 ? words[2] : "";
  driver = dlopen("libcuda.so.1", RTLD_NOW);
  std::ifstream file(words[1]);
  std::string text{std::istreambuf_iterator<char>(file), {}};
  if (how == "other") {
    text.replace(text.find("wrong"), 5, "right");
  }
  void* module = nullptr;
  void* function = nullptr;
  unsigned long long memory = 0;
  call("cuInit", 0U);
  if (how == "file") {
    call("cuModuleLoad", &module, static_cast<const char*>(words[1]));
  } else {
    call("cuModuleLoadData", &module, static_cast<const void*>(text.c_str()));
  }
  call("cuModuleGetFunction", &function, module, "wrong");
  call("cuMemAlloc_v2", &memory, std::size_t{4});
  void* parameters[] = {&memory};
  call("cuLaunchKernel", function, 2U, 1U, 1U, 1U, 1U, 1U, 0U, static_cast<void*>(nullptr), static_cast<void**>(parameters),
       static_cast<void**>(nullptr));
  std::uint32_t result = 0;
  call("cuMemcpyDtoH_v2", static_cast<void*>(&result), memory, sizeof result);
  if (how == "sleeps" && result != 2) {
    pause();
  }
  if (result != 2 || how == "fails") {
    std::fprintf(stderr, "the sum is %u, and not 2\n", result);
    return 7;
  }
  return 0;
}
