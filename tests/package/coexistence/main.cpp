// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// A program with two parts that may contain different versions of membar; VERSIONS determines whether the versions must differ.
#include <cstdio>
#include <cstring>

int version_a();
int version_b();
const char* sentence_a();
const char* sentence_b();
#if !defined(WITHOUT_EXCEPTIONS)
using handler = void (*)(const char*) noexcept;
handler exchange_handler_a(handler next);
handler exchange_handler_b(handler next);

static void mine(const char*) noexcept {}
#endif

int main() {
  std::printf("%d: %s\n%d: %s\n", version_a(), sentence_a(), version_b(), sentence_b());
  if ((version_a() != version_b()) != (VERSIONS == 2) || std::strncmp(sentence_a(), "membar: ", 8) != 0 ||
      std::strncmp(sentence_b(), "membar: ", 8) != 0) {
    return 1;
  }
#if !defined(WITHOUT_EXCEPTIONS)
  // Both parts share the state that exists once per process.
  exchange_handler_a(&mine);
  if (exchange_handler_b(nullptr) != &mine) {
    std::puts("each part has its own handler");
    return 1;
  }
#endif
  return 0;
}
