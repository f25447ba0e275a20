// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
/// @file
/// The functions that the recorder intercepts, by index. The table is in hooks.def.
#pragma once

#include <cuda.h>

#include <string_view>

#include "intercept/driver.hpp"
#include "intercept/hook.hpp"

namespace membar_record {

namespace intercept = membar::intercept;
namespace driver = membar::intercept::driver;
using intercept::next;

enum class hook_id : std::size_t {
#define MEMBAR_HOOK(symbol, since, before, handler) of_##symbol,
#include "membar-check/recorder/hooks.def"
#undef MEMBAR_HOOK
};

[[nodiscard]] inline intercept::hook& hook_of(hook_id id) noexcept {
  return intercept::membar_hooks[static_cast<std::size_t>(id)];
}

/// Returns the symbol of a hook.
[[nodiscard]] constexpr std::string_view symbol_of(hook_id id) noexcept {
  constexpr std::string_view symbols[] = {
#define MEMBAR_HOOK(symbol, since, before, handler) #symbol,
#include "membar-check/recorder/hooks.def"
#undef MEMBAR_HOOK
  };
  return symbols[static_cast<std::size_t>(id)];
}

/// Returns the stream that a function refers to. In functions whose names end in _ptsz, a null stream means the thread's own
/// default stream.
[[nodiscard]] constexpr CUstream stream_of(CUstream stream, hook_id id) noexcept {
  return stream == nullptr && symbol_of(id).ends_with("_ptsz") ? CU_STREAM_PER_THREAD : stream;
}

}  // namespace membar_record
