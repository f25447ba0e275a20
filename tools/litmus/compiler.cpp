// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <litmus/compiler.hpp>

#include <optional>
#include <string_view>

namespace membar::litmus_files {

std::string compiler::operator()(const compilation& what) {
  const std::string key = key_of(what, library().version());
  if (std::optional<std::string> code = cache_.find(key)) {
    ++found_;
    return *std::move(code);
  }
  std::string code = library().compile(what);
  ++compiled_;
  const std::string warning = cache_.keep(key, code);
  if (warning_.empty()) {
    warning_ = warning;
  }
  return code;
}

const nvrtc& compiler::library() {
  if (library_ == nullptr) {
    library_ = std::make_unique<nvrtc>(folders_);
  }
  return *library_;
}

std::string compiler::key_of(const compilation& what, int version) {
  std::string key = "nvrtc " + std::to_string(version) + (what.to_ptx ? " ptx\n" : " cubin\n");
  const auto add = [&key](std::string_view part) {
    key += std::to_string(part.size()) + "\n";
    key += part;
  };
  for (const std::string& option : what.options) {
    add(option);
  }
  for (const header_text& header : what.headers) {
    add(header.name);
    add(header.text);
  }
  add(what.source);
  return key;
}

}  // namespace membar::litmus_files
