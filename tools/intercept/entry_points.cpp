// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
/// @file
/// The three ways in which a program obtains the driver's functions: through linking, with dlsym, and with cuGetProcAddress.
/// The CUDA runtime obtains cuGetProcAddress with dlsym and uses it to find all other functions. For linked programs, our
/// symbols come first, because the library is preloaded. All three ways lead to the hooks, so no call from the runtime, from
/// NCCL or from a program that uses the driver API bypasses the hooks.
#include <dlfcn.h>

#include "intercept/hook.hpp"

namespace membar::intercept {

namespace {

using dlsym_function = void*(void*, const char*);

/// Returns the C library's dlsym. Its symbol version is the oldest one for the machine's ABI, or the version of the release
/// that merged libdl into libc.
dlsym_function* real_dlsym() noexcept {
  static std::atomic<dlsym_function*> found = nullptr;
  dlsym_function* function = found.load(std::memory_order_acquire);
  for (const char* version : {"GLIBC_2.2.5", "GLIBC_2.17", "GLIBC_2.34"}) {
    if (function == nullptr) {
      function = reinterpret_cast<dlsym_function*>(dlvsym(RTLD_NEXT, "dlsym", version));
    }
  }
  found.store(function, std::memory_order_release);
  return function;
}

/// Returns the symbol's address in the first library after this one that exports the symbol. That library is another interposer
/// or, if the program links the driver, the driver itself. Returns null if there is none.
void* exported_behind(const char* symbol) noexcept { return real_dlsym()(RTLD_NEXT, symbol); }

/// Returns whether both addresses are in the same library.
bool in_one_library(const void* one, const void* other) noexcept {
  Dl_info a{};
  Dl_info b{};
  return other != nullptr && dladdr(one, &a) != 0 && dladdr(other, &b) != 0 && a.dli_fbase == b.dli_fbase;
}

/// Stores the function that a lookup found for a hook. If a library after this one exports the symbol, that library's function
/// is stored instead, because it is the next function regardless of how the program obtains it. A lookup in the whole program
/// finds our own symbol, which leads back here, so its result is not stored.
void keep_next(hook& of, void* function) noexcept {
  if (exported_behind(of.symbol) != nullptr) {
    static_cast<void>(find_next(of));
  } else if (function != of.handler() && function != real_dlsym()(RTLD_DEFAULT, of.symbol)) {
    of.next.store(function, std::memory_order_release);
  }
}

/// Returns the hook for a cuGetProcAddress request, or null if there is none.
hook* asked_for(std::string_view symbol, int version, bool per_thread) noexcept {
  // Since CUDA 12, the name cuGraphInstantiate refers to the function with flags.
  const bool with_flags = symbol == "cuGraphInstantiate" && version >= 12000;
  hook* found = nullptr;
  for (hook& h : hooks()) {
    if (with_flags ? std::string_view(h.symbol) == "cuGraphInstantiateWithFlags" : symbol == h.symbol && symbol != h.name()) {
      return &h;
    }
    // Only some functions have a variant for the per-thread default stream. Functions without such a variant are used in both
    // cases.
    if (symbol == h.name() && version >= h.since && version < h.before && (per_thread || !h.per_thread()) &&
        (found == nullptr || h.per_thread() == per_thread)) {
      found = &h;
    }
  }
  return found;
}

}  // namespace

void* find_next(hook& of) noexcept {
  void* const exported = exported_behind(of.symbol);
  void* const function = exported != nullptr ? exported : driver_symbol(of.symbol);
  of.next.store(function, std::memory_order_release);
  return function;
}

void* driver_symbol(const char* name) noexcept {
  static std::atomic<void*> library = nullptr;
  void* handle = library.load(std::memory_order_acquire);
  if (handle == nullptr) {
    handle = dlopen("libcuda.so.1", RTLD_LAZY | RTLD_LOCAL);
    library.store(handle, std::memory_order_release);
  }
  return handle == nullptr ? nullptr : real_dlsym()(handle, name);
}

void replace_found(const char* symbol, void** function, int version, cuuint64_t flags) noexcept {
  if (symbol == nullptr || function == nullptr || *function == nullptr || std::strncmp(symbol, "cu", 2) != 0) {
    return;
  }
  if (hook* const found = asked_for(symbol, version, (flags & CU_GET_PROC_ADDRESS_PER_THREAD_DEFAULT_STREAM) != 0)) {
    keep_next(*found, *function);
    *function = found->handler();
  }
}

}  // namespace membar::intercept

/// Called by dlsym below: returns the handler that replaces the driver's function, or null if the C library's dlsym should
/// handle the request. If the caller is the library whose function a hook replaces, the caller gets its own function, because
/// the handler would call that library again.
extern "C" __attribute__((visibility("hidden"))) void* membar_find_handler(void* handle, const char* name, const void* caller) {
  using namespace membar::intercept;
  if (name == nullptr || handle == RTLD_NEXT || handle == RTLD_DEFAULT) {
    return nullptr;
  }
  for (hook& h : hooks()) {
    if (std::strcmp(h.symbol, name) == 0) {
      void* const own = real_dlsym()(handle, name);
      if (own != nullptr) {
        keep_next(h, own);
      }
      return own == nullptr || in_one_library(caller, h.next.load(std::memory_order_acquire)) ? nullptr : h.handler();
    }
  }
  return nullptr;
}

extern "C" {
__attribute__((visibility("hidden"))) void* (*membar_next_dlsym)(void*, const char*) = nullptr;
__attribute__((visibility("hidden"))) void membar_find_next_dlsym() {
  if (__atomic_load_n(&membar_next_dlsym, __ATOMIC_ACQUIRE) == nullptr) {
    __atomic_store_n(&membar_next_dlsym, membar::intercept::real_dlsym(), __ATOMIC_RELEASE);
  }
}
}

// dlsym uses its return address to determine who requests RTLD_NEXT. Therefore, requests for other functions are forwarded with
// a jump that leaves the registers unchanged, not with a call.
#if defined(__x86_64__)
asm(R"(
.text
.globl dlsym
.type dlsym, @function
dlsym:
  .cfi_startproc
  endbr64
  pushq %rdi
  .cfi_adjust_cfa_offset 8
  pushq %rsi
  .cfi_adjust_cfa_offset 8
  subq $8, %rsp
  .cfi_adjust_cfa_offset 8
  call membar_find_next_dlsym
  movq 16(%rsp), %rdi
  movq 8(%rsp), %rsi
  movq 24(%rsp), %rdx
  call membar_find_handler
  addq $8, %rsp
  .cfi_adjust_cfa_offset -8
  popq %rsi
  .cfi_adjust_cfa_offset -8
  popq %rdi
  .cfi_adjust_cfa_offset -8
  testq %rax, %rax
  jne 1f
  jmp *membar_next_dlsym(%rip)
1:
  ret
  .cfi_endproc
.size dlsym, .-dlsym
)");
#elif defined(__aarch64__)
asm(R"(
.text
.globl dlsym
.type dlsym, %function
dlsym:
  .cfi_startproc
  stp x29, x30, [sp, #-32]!
  .cfi_def_cfa_offset 32
  .cfi_offset 29, -32
  .cfi_offset 30, -24
  stp x0, x1, [sp, #16]
  bl membar_find_next_dlsym
  ldp x0, x1, [sp, #16]
  ldr x2, [sp, #8]
  bl membar_find_handler
  mov x9, x0
  ldp x0, x1, [sp, #16]
  ldp x29, x30, [sp], #32
  .cfi_def_cfa_offset 0
  cbnz x9, 1f
  adrp x10, membar_next_dlsym
  ldr x10, [x10, #:lo12:membar_next_dlsym]
  br x10
1:
  mov x0, x9
  ret
  .cfi_endproc
.size dlsym, .-dlsym
)");
#endif
