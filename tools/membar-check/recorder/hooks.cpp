// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
/// @file
/// The table of hooks, the initialization of CUDA, and the functions with which a process starts and ends a recording.
#include "membar-check/recorder/hooks.hpp"

#include <cuda.h>

#include <cstdlib>
#include <iterator>
#include <string>

#include "membar-check/recorder/code.hpp"
#include "membar-check/recorder/contents.hpp"
#include "membar-check/recorder/graphs.hpp"
#include "membar-check/recorder/launches.hpp"
#include "membar-check/recorder/mappings.hpp"
#include "membar-check/recorder/order.hpp"
#include "membar-check/recorder/session.hpp"
#include "membar-check/recorder/sharing.hpp"
#include "membar-check/recorder/tensor_maps.hpp"

namespace membar_record {

namespace {

template <hook_id Id>
CUresult on_init(unsigned flags) {
  quietly([] { static_cast<void>(session::get()); });
  cuda_begins();
  const CUresult result = next<Id>(flags);
  if (result != CUDA_SUCCESS) {
    quietly([&] {
      session::get().complain("The driver could not be initialized (cuInit returned error " + std::to_string(result) +
                              "), so the program cannot launch kernels: record it on a machine with a GPU");
    });
  }
  return result;
}

#define MEMBAR_HOOK(symbol, since, before, handler) \
  MEMBAR_EXPORT_HOOK(#symbol, handler_of_##symbol, handler<hook_id::of_##symbol>)
#include "membar-check/recorder/hooks.def"
#undef MEMBAR_HOOK

}  // namespace
}  // namespace membar_record

namespace membar::intercept {

constinit hook membar_hooks[] = {
#define MEMBAR_HOOK(symbol, since, before, handler) {#symbol, since, before, &membar_record::handler_of_##symbol},
#include "membar-check/recorder/hooks.def"
#undef MEMBAR_HOOK
};
constinit const std::size_t membar_hook_count = std::size(membar_hooks);

}  // namespace membar::intercept

/// Starts a recording into an existing folder. `flags` is a combination of the flags in records.hpp. If `limit` is 0, the
/// default limit is used. Returns 0 on success. Returns -1 if a recording is already in progress, the folder is not writable,
/// `kernels` is not a valid regular expression, or the library was not preloaded for this purpose.
extern "C" __attribute__((visibility("default"))) int membar_record_begin(const char* folder, const char* kernels,
                                                                          unsigned flags, unsigned long long limit) {
  using namespace membar_record;
  int result = -1;
  quietly([&] {
    options asked = session::get().asked();
    asked.folder = folder;
    asked.kernels = kernels;
    asked.flags = flags;
    asked.limit = limit == 0 ? default_limit : limit;
    result = session::get().begin(asked) ? 0 : -1;
  });
  return result;
}

/// Ends the recording. Waits for copies that are still in flight.
extern "C" __attribute__((visibility("default"))) void membar_record_end() {
  membar_record::quietly([] { membar_record::session::get().end(); });
}
