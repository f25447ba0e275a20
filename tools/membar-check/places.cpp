// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <check/code_edit.hpp>
#include <check/host_thread.hpp>
#include <check/program.hpp>
#include <membar-check/places.hpp>

#include <algorithm>
#include <array>
#include <cstddef>
#include <filesystem>
#include <string>

namespace membar_check {

namespace check = membar::check;

instruction_places places_of(const check::program& p, int thread, const check::instruction& i) {
  const auto& files = p.threads[static_cast<std::size_t>(thread)].kernel->files;
  const auto place = [&](int file, int line) {
    const bool known = file > 0 && static_cast<std::size_t>(file) < files.size() && line > 0;
    return known ? source_place{files[static_cast<std::size_t>(file)], line} : source_place{};
  };
  instruction_places result{place(i.file, i.source_line), place(i.caller_file, i.caller_line)};
  if (result.own.path.empty() || (result.caller.path == result.own.path && result.caller.line == result.own.line)) {
    result.caller = {};
  }
  return result;
}

bool is_statement(const check::program& p, int thread, const instruction_places& places) {
  return p.threads[static_cast<std::size_t>(thread)].where.host && !places.own.path.empty();
}

int issuer_of(const check::program& p, int thread) {
  const int issuer = p.threads[static_cast<std::size_t>(thread)].copies_of;
  return issuer < 0 ? thread : issuer;
}

check::instruction instruction_at(const check::code_site& site) {
  check::instruction at = *site.first;
  at.caller_line = site.one_caller ? at.caller_line : 0;
  return at;
}

std::string change_text(const check::code_site& site, const check::code_edit& e) {
  using kind = check::code_edit::kind_t;
  check::instruction fence;
  fence.code = check::op::fence;
  const std::string opcode = check::opcode_of(*site.first);
  if (site.host) {
    const std::string order(check::host_order_word(e.to.order));
    return e.kind == kind::own ? opcode + " becomes " + order
                               : "put " + std::string(e.kind == kind::fence_before ? "before" : "after") + " its " + opcode +
                                     ": fence " + order;
  }
  switch (e.kind) {
    case kind::proxy_fence_before:
      return "put before its " + opcode + ": " + check::proxy_fence_text(e.proxy_spaces);
    case kind::fence_before:
      return "put before its " + opcode + ": " + check::strength_text(fence, e.to);
    case kind::fence_after:
      return "put after its " + opcode + ": " + check::strength_text(fence, e.to);
    case kind::own:
      break;
  }
  return opcode + " becomes " + check::strength_text(*site.first, e.to);
}

}  // namespace membar_check
