// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
/// @file
/// A preloaded library with its own getpid. The library ends the program with status 9 if the loader's next getpid is the
/// library's own.
#include <dlfcn.h>
#include <unistd.h>

extern "C" __attribute__((visibility("default"))) pid_t getpid() noexcept {
  using function = pid_t();
  auto* const next = reinterpret_cast<function*>(dlsym(RTLD_NEXT, "getpid"));
  if (next == nullptr || next == &getpid) {
    _exit(9);
  }
  return next();
}

namespace {
const pid_t asked = getpid();
}
