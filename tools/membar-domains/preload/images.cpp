// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "membar-domains/preload/images.hpp"

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <map>
#include <mutex>
#include <sstream>
#include <string>

#include "intercept/code_image.hpp"
#include "membar-domains/preload/session.hpp"

namespace membar_domains {

namespace {

constexpr std::size_t most_bytes = std::size_t{1} << 30;

struct kept {
  std::mutex mutex;
  std::map<const void*, unsigned> by_handle;
  unsigned files = 0;
  std::size_t bytes = 0;
};

kept& all() {
  static auto* const one = new kept;
  return *one;
}

}  // namespace

void keep_image(const void* handle, const void* image) {
  if (image == nullptr) {
    return;
  }
  const std::size_t bytes = membar::intercept::bytes_of_image(image);
  kept& k = all();
  const std::lock_guard lock(k.mutex);
  if (bytes == 0 || k.bytes + bytes > most_bytes) {
    return;
  }
  const unsigned number = ++k.files;
  if (const char* const folder = std::getenv(environment::folder)) {
    const std::string path =
        std::string(folder) + "/" + std::to_string(session::get().state().pid) + "." + std::to_string(number) + ".image";
    if (std::FILE* const file = std::fopen(path.c_str(), "wbe")) {
      std::fwrite(image, 1, bytes, file);
      std::fclose(file);
      k.by_handle[handle] = number;
      k.bytes += bytes;
    }
  }
}

void keep_image_file(const void* handle, const char* path) {
  std::ifstream file(path, std::ios::binary);
  std::ostringstream all;
  all << file.rdbuf();  // the string's terminating zero also ends PTX
  keep_image(handle, all.str().c_str());
}

void same_image(const void* handle, const void* of) {
  kept& k = all();
  const std::lock_guard lock(k.mutex);
  if (const auto at = k.by_handle.find(of); at != k.by_handle.end()) {
    k.by_handle[handle] = at->second;
  }
}

void kernel_of_image(const void* handle, const char* name) {
  kept& k = all();
  const std::lock_guard lock(k.mutex);
  if (const auto at = k.by_handle.find(handle); at != k.by_handle.end() && name != nullptr) {
    session::get().write("I %u %s\n", at->second, name);
  }
}

}  // namespace membar_domains
