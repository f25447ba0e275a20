// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
/// @file
/// The table of hooks, and the handlers that do not concern launches, graphs or code: the handlers for the initialization of
/// CUDA and for memory.
#include "membar-domains/preload/hooks.hpp"

#include <cuda.h>

#include <atomic>
#include <csignal>
#include <cstdint>
#include <cstdlib>
#include <ctime>
#include <thread>

#include "membar-domains/preload/code.hpp"
#include "membar-domains/preload/graphs.hpp"
#include "membar-domains/preload/launches.hpp"
#include "membar-domains/preload/pace.hpp"
#include "membar-domains/preload/pointers.hpp"
#include "membar-domains/preload/session.hpp"
#include "membar-domains/preload/watch.hpp"

namespace membar_domains {

namespace {

void finish() {
  session& of = session::get();
  if (of.what() == job::try_) {
    pace_finish();
  } else if (of.what() == job::watch) {
    watch_finish();
  }
}

/// For `run`: tries to detach CUPTI, which is possible only when the device is idle. If the device is never idle, CUPTI stays
/// attached.
void detach_cupti() {
  for (int tries = 0; tries < 100; ++tries) {
    if (watch_detach()) {
      return;
    }
    const timespec pause{0, 50'000'000};
    nanosleep(&pause, nullptr);
  }
  session::get().complain(
      "CUPTI could not be detached because kernels were always running: the program remains slower than without "
      "membar-domains");
}

/// For `run`: follows the command's requests until the process ends.
void follow_command() {
  session& of = session::get();
  for (unsigned round = 1;; ++round) {
    const timespec pause{0, 20'000'000};
    nanosleep(&pause, nullptr);
    const phase asked = of.state().asked;
    if (asked != of.state().reached) {
      finish();
      if (of.what() == job::watch) {
        detach_cupti();
      }
      of.begin(asked);
    } else if (round % 10 == 0 && of.what() == job::try_) {
      pace_finish();
    }
  }
}

template <hook_id Id>
CUresult on_init(unsigned flags) {
  session& of = session::get();
  static std::atomic<bool> first = true;
  const bool is_first = first.exchange(false);
  if (is_first && of.what() == job::watch) {
    watch_start();
  }
  of.begin_cuda();
  const CUresult result = next<Id>(flags);
  if (of.what() != job::none) {
    of.state().cu_init = static_cast<std::int32_t>(result);
  }
  if (is_first && of.what() != job::none && !of.is_counted()) {
    of.complain(
        "cannot write to the folder that MEMBAR_DOMAINS_FOLDER names on this host, so the report omits this process: start "
        "membar-domains on each host");
  }
  if (is_first && of.what() != job::none && of.what() != job::apply) {
    std::atexit(finish);
  }
  if (is_first && of.runs() && of.is_counted() && result == CUDA_SUCCESS) {
    sigset_t all;
    sigset_t before;
    sigfillset(&all);
    pthread_sigmask(SIG_BLOCK, &all, &before);  // signals must be delivered to the program's own threads
    std::thread(follow_command).detach();
    pthread_sigmask(SIG_SETMASK, &before, nullptr);
  }
  return result;
}

template <hook_id Id>
CUresult on_stream_destroy(CUstream stream) {
  watch_destroyed(stream);
  return next<Id>(stream);
}

/// Handles functions that map memory to addresses. All have at most five word-sized parameters, which are passed on.
template <hook_id Id>
CUresult on_memory(std::uintptr_t first, std::uintptr_t second, std::uintptr_t third, std::uintptr_t fourth,
                   std::uintptr_t fifth) {
  const CUresult result = next<Id>(first, second, third, fourth, fifth);
  memory_changed();
  return result;
}

template <hook_id Id>
CUresult on_ipc_open(CUdeviceptr* pointer, CUipcMemHandle handle, unsigned flags) {
  const CUresult result = next<Id>(pointer, handle, flags);
  memory_changed();
  return result;
}

#define MEMBAR_HOOK(symbol, since, before, handler) \
  MEMBAR_EXPORT_HOOK(#symbol, handler_of_##symbol, handler<hook_id::of_##symbol>)
#include "membar-domains/preload/hooks.def"
#undef MEMBAR_HOOK

}  // namespace
}  // namespace membar_domains

namespace membar::intercept {

constinit hook membar_hooks[] = {
#define MEMBAR_HOOK(symbol, since, before, handler) {#symbol, since, before, &membar_domains::handler_of_##symbol},
#include "membar-domains/preload/hooks.def"
#undef MEMBAR_HOOK
};
constinit const std::size_t membar_hook_count = std::size(membar_hooks);

}  // namespace membar::intercept

/// The driver calls this function if CUDA_INJECTION64_PATH names the library. At that time, the program has already looked up
/// its functions, so only `watch` works.
extern "C" __attribute__((visibility("default"))) int InitializeInjection() {
  using namespace membar_domains;
  session& of = session::get();
  if (of.what() == job::watch) {
    watch_start();
    of.state().cu_init = 0;
    static const bool once = std::atexit(finish) == 0;
    static_cast<void>(once);
  }
  return 1;
}
