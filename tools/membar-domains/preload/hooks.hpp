// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
/// @file
/// The driver functions that the library intercepts, by index. The table is in hooks.def.
#pragma once

#include <string_view>

#include "intercept/driver.hpp"
#include "intercept/hook.hpp"

namespace membar_domains {

namespace intercept = membar::intercept;
namespace driver = membar::intercept::driver;
using intercept::next;

enum class hook_id : std::size_t {
#define MEMBAR_HOOK(symbol, since, before, handler) of_##symbol,
#include "membar-domains/preload/hooks.def"
#undef MEMBAR_HOOK
};

[[nodiscard]] inline intercept::hook& hook_of(hook_id id) noexcept {
  return intercept::membar_hooks[static_cast<std::size_t>(id)];
}

/// Returns whether a null stream means the thread's own default stream.
[[nodiscard]] constexpr bool is_per_thread(hook_id id) noexcept {
  constexpr std::string_view symbols[] = {
#define MEMBAR_HOOK(symbol, since, before, handler) #symbol,
#include "membar-domains/preload/hooks.def"
#undef MEMBAR_HOOK
  };
  return symbols[static_cast<std::size_t>(id)].ends_with("_ptsz");
}

}  // namespace membar_domains
