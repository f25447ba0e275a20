// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
/// @file
/// A table of CUDA driver functions and the handlers with which a preloaded library intercepts them. Each library defines its
/// table in the file hooks.def, one row per function:
///
///     MEMBAR_HOOK(symbol, since, before, handler)
///
/// `symbol` is the function's name as the driver's library exports it. Programs request it from cuGetProcAddress without the
/// suffixes `_v2` and `_ptsz`, and get this hook if they request a CUDA version in [since, before). `handler` is a function
/// template that takes the hook's index as its template argument and has the function's parameters. It calls the driver with
/// `next<Index>(arguments...)`. The library includes hooks.def for its enum of indices and for the definition of `hooks`.
/// CMake's `_membar_intercept` generates the list of exported symbols from the same file.
#pragma once

#include <cuda.h>

#include <array>
#include <atomic>
#include <cstddef>
#include <cstring>
#include <span>
#include <string_view>

namespace membar::intercept {

/// The value of `before` for functions whose signature has not changed since version `since`.
inline constexpr int latest = 1 << 30;

struct hook {
  const char* symbol;
  int since, before;
  const void* handler_at;            ///< the place where the address of the handler is stored
  std::atomic<void*> next{nullptr};  ///< the intercepted function, after its first lookup

  [[nodiscard]] void* handler() const noexcept {
    void* out = nullptr;
    std::memcpy(&out, handler_at, sizeof out);
    return out;
  }
  /// Returns whether the function is the variant for the per-thread default stream.
  [[nodiscard]] bool per_thread() const noexcept { return std::string_view(symbol).ends_with("_ptsz"); }
  /// Returns the name that programs use to request the function from cuGetProcAddress.
  [[nodiscard]] std::string_view name() const noexcept {
    std::string_view out = symbol;
    out.remove_suffix(per_thread() ? 5 : 0);
    const std::size_t version = out.rfind("_v");
    return version == std::string_view::npos ? out : out.substr(0, version);
  }
};

/// The library's table of hooks, which each library defines itself.
extern "C" __attribute__((visibility("hidden"))) hook membar_hooks[];
extern "C" __attribute__((visibility("hidden"))) const std::size_t membar_hook_count;

[[nodiscard]] inline std::span<hook> hooks() noexcept { return {membar_hooks, membar_hook_count}; }

/// Returns the function with this name in the driver's library, or null.
[[nodiscard]] void* driver_symbol(const char* name) noexcept;

/// Finds the function behind a hook and stores it. This is the function in the next library that exports the symbol, for
/// example in another interposer, or otherwise the driver's function. Returns null if there is none.
[[nodiscard]] void* find_next(hook& of) noexcept;

/// Returns the function behind a hook, or null.
template <class Function>
[[nodiscard, gnu::always_inline]] inline Function* function_behind(hook& of) noexcept {
  void* function = of.next.load(std::memory_order_acquire);
  if (function == nullptr) [[unlikely]] {
    function = find_next(of);
  }
  return reinterpret_cast<Function*>(function);
}

/// Calls the function behind a hook with the handler's arguments. On a machine without a driver, a program still finds our
/// symbols; the result is then CUDA_ERROR_NO_DEVICE. This function is inlined, because a call would copy all arguments once
/// more.
template <auto Index, class... Arguments>
[[gnu::always_inline]] inline CUresult next(Arguments... arguments) {
  auto* const function = function_behind<CUresult(Arguments...)>(membar_hooks[static_cast<std::size_t>(Index)]);
  return function == nullptr ? CUDA_ERROR_NO_DEVICE : function(arguments...);
}

/// If there is a hook for the function that cuGetProcAddress found for these arguments, replaces the function with the hook.
void replace_found(const char* symbol, void** function, int version, cuuint64_t flags) noexcept;

/// Handlers for cuGetProcAddress, which the CUDA runtime uses to obtain every other function. Each table needs both of them.
template <auto Index>
CUresult on_get_proc_address(const char* symbol, void** function, int version, cuuint64_t flags) {
  const CUresult result = next<Index>(symbol, function, version, flags);
  if (result == CUDA_SUCCESS) {
    replace_found(symbol, function, version, flags);
  }
  return result;
}
template <auto Index>
CUresult on_get_proc_address_v2(const char* symbol, void** function, int version, cuuint64_t flags,
                                CUdriverProcAddressQueryResult* status) {
  const CUresult result = next<Index>(symbol, function, version, flags, status);
  if (result == CUDA_SUCCESS) {
    replace_found(symbol, function, version, flags);
  }
  return result;
}

}  // namespace membar::intercept

// MEMBAR_EXPORT_HOOK("cuInit", slot, handler) exports a function that only jumps to the handler, so its parameters need not be
// declared. The macro also defines `slot`, which stores the address of the handler.
#if defined(__x86_64__)
#define MEMBAR_JUMP_TO(slot) "  endbr64\n  jmp *" slot "(%rip)\n"
#define MEMBAR_FUNCTION "@function"
#elif defined(__aarch64__)
#define MEMBAR_JUMP_TO(slot) "  hint #34\n  adrp x16, " slot "\n  ldr x16, [x16, #:lo12:" slot "]\n  br x16\n"
#define MEMBAR_FUNCTION "%function"
#else
#error "membar: driver functions can be intercepted only on x86-64 and AArch64; set MEMBAR_BUILD_TOOLS to OFF"
#endif
#define MEMBAR_EXPORT_HOOK(symbol, slot, ...)                                                          \
  [[gnu::used]] constinit static auto* const slot __asm__("membar_handler_of_" symbol) = &__VA_ARGS__; \
  __asm__(".text\n.globl " symbol "\n.type " symbol ", " MEMBAR_FUNCTION "\n" symbol ":\n"               \
          "  .cfi_startproc\n" MEMBAR_JUMP_TO("membar_handler_of_" symbol) "  .cfi_endproc\n"            \
          ".size " symbol ", .-" symbol "\n");
