// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "membar-domains/examine.hpp"

#include <optional>
#include <utility>

#include "membar-domains/move_list.hpp"

namespace membar_domains {

namespace {

move_list named_by(const options& asked) {
  move_list named;
  for (const std::string& pattern : asked.remote) {
    named.add({target::kind::logical_remote, 0}, pattern, "--remote");
  }
  return named;
}

}  // namespace

std::function<std::string(std::uint32_t, const std::string&)> why_remote_in(const options& asked, const process& of) {
  return [named = named_by(asked), &of](std::uint32_t id, const std::string& name) -> std::string {
    if (named.rule_of(name) >= 0) {
      return "--remote";
    }
    if (known_remote(name)) {
      return "known by its name";
    }
    const auto reason = of.recorded.reasons.find(id);
    return reason == of.recorded.reasons.end() ? "" : reason->second;
  };
}

void examine(const options& asked, const std::filesystem::path& folder, process& of, check_report& into) {
  const move_list named = named_by(asked);
  distinguish_launches(of.recorded,
                       [&](std::uint32_t, const std::string& name) { return named.rule_of(name) < 0 && !known_remote(name); });
  if (!asked.check) {
    return;
  }
  const auto code = [&](std::uint32_t id) -> std::optional<synchronization> {
    const std::string& name = of.recorded.names.at(id);
    const auto image = of.recorded.images.find(name);
    return image == of.recorded.images.end()
               ? std::nullopt
               : code_in_image((folder / (std::to_string(of.pid) + "." + std::to_string(image->second) + ".image")).string(),
                               name);
  };
  check(of.recorded, why_remote_in(asked, of), code, into);
}

}  // namespace membar_domains
