// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <check/barrier_alignment.hpp>
#include <check/code_edit.hpp>
#include <check/host_thread.hpp>
#include <check/program.hpp>
#include <check/trace.hpp>
#include <membar-check/places.hpp>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <iterator>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

namespace membar_check {

namespace check = membar::check;

instruction_places places_of(const check::program& p, int thread, const check::instruction& i) {
  const auto& files = p.threads[static_cast<std::size_t>(thread)].kernel->files;
  const auto place = [&](int file, int line) {
    const bool known = file > 0 && static_cast<std::size_t>(file) < files.size() && line > 0;
    return known ? source_place{files[static_cast<std::size_t>(file)], line} : source_place{};
  };
  instruction_places result{place(i.file, i.source_line), place(i.user_file, i.user_line), place(i.via_file, i.via_line),
                            place(i.caller_file, i.caller_line)};
  if (result.own.path.empty()) {
    return {};
  }
  result.caller = result.caller == result.own ? source_place{} : result.caller;
  return result;
}

bool is_statement(const check::program& p, int thread, const instruction_places& places) {
  return p.threads[static_cast<std::size_t>(thread)].where.host && !places.own.path.empty();
}

std::vector<std::string> places_of_finding(const check::program& p, const check::finding& f) {
  constexpr std::size_t most = 2;
  std::vector<std::string> result;
  const auto add = [&](int thread, const check::instruction* i) {
    if (i != nullptr && result.size() < most) {
      std::string place = check::place_of(p, thread, *i);
      if (std::find(result.begin(), result.end(), place) == result.end()) {
        result.push_back(std::move(place));
      }
    }
  };
  for (const check::trace_event& e : f.events) {
    if (e.blamed) {
      add(issuer_of(p, e.thread), e.at);
    }
  }
  if (result.empty() && f.thread >= 0) {
    add(issuer_of(p, f.thread), f.waiting[static_cast<std::size_t>(f.thread)]);
  }
  for (std::size_t t = 0; t < f.waiting.size() && result.empty() && f.status == check::check_status::hang; ++t) {
    add(issuer_of(p, static_cast<int>(t)), f.waiting[t]);
  }
  return result;
}

check::instruction instruction_at(const check::program& p, const check::code_site& site) {
  check::instruction at = *site.first;
  if (site.turns) {
    const auto [kernel, pc] = site.places.front();
    const std::vector<check::instruction>& code = p.kernels[static_cast<std::size_t>(kernel)]->code;
    const auto in_loop =
        std::find_if(code.begin() + pc, code.end(), [](const check::instruction& i) { return i.user_line > 0; });
    at = in_loop != code.end() ? *in_loop : at;
  }
  if (site.leaves) {
    at.file = at.user_file = at.caller_file;
    at.source_line = at.user_line = at.caller_line;
    at.via_line = 0;
  }
  if (!site.one_caller) {
    at.via_line = at.caller_line = 0;
  }
  return at;
}

namespace {

/// The file and the line of a function's statement.
using statement = std::pair<int, int>;

/// Returns the lines to which an instruction belongs: the kernel's own line, followed by the lines in the functions that it calls.
std::vector<statement> calls_of(const check::instruction& i) {
  std::vector<statement> result;
  if (!check::is_in_kernel(i)) {
    result.emplace_back(i.caller_file, i.caller_line);
    if (i.via_line > 0) {
      result.emplace_back(i.via_file, i.via_line);
    }
  }
  result.emplace_back(i.user_file, i.user_line);
  return result;
}

/// Describes where to insert after a site's statement: before the next source line or call in the innermost function that
/// contains both, or where the statement's threads reconverge if the PTX does not show that line. If an earlier line follows from
/// which the code leads to the statement again, the statement ends a loop's body.
std::string end_of_statement(const check::program& p, const check::code_site& site) {
  const auto [number, gap] = site.places.front();
  const check::kernel_code& kernel = *p.kernels[static_cast<std::size_t>(number)];
  const check::instruction& own = *site.first;
  const check::instruction* at = check::line_after(kernel, check::jump_targets(kernel), own, gap);
  if (at == nullptr || at->user_line == 0) {
    return "where its threads reconverge";
  }
  const std::vector<statement> mine = calls_of(own);
  const std::vector<statement> next_calls = calls_of(*at);
  const auto [here, there] = std::ranges::mismatch(mine, next_calls);
  const bool one_file = here != mine.end() && there != next_calls.end() && here->first == there->first;
  const bool is_call = one_file && std::next(there) != next_calls.end();
  const bool one_function = one_file && !is_call && std::next(here) == mine.end();
  const bool jumps_over = own.code == check::op::branch && own.target > gap;  // then the code at the gap does not follow `own`
  if (one_file && there->second > here->second && (one_function || !jumps_over)) {
    check::instruction named = *at;
    std::tie(named.user_file, named.user_line) = *there;
    return (is_call ? "before the call at " : "before ") + check::place_of(p, site.thread, named);
  }
  const auto next = static_cast<std::int32_t>(at - kernel.code.data());
  const bool goes_back = jumps_over || (one_file && there->second < here->second);
  return goes_back && check::reached_from(kernel, next)[static_cast<std::size_t>(gap - 1)] ? "at the end of the loop's body"
                                                                                           : "where its threads reconverge";
}

}  // namespace

std::string change_text(const check::program& p, const check::code_site& site, const check::code_edit& e) {
  using kind = check::code_edit::kind_t;
  check::instruction fence;
  fence.code = check::op::fence;
  const std::string opcode = check::opcode_of(*site.first);
  if (site.host) {
    const std::string order(check::host_order_word(e.to.order));
    return e.kind == kind::own ? opcode + " becomes " + order
                               : "insert " + std::string(e.kind == kind::fence_before ? "before" : "after") + " its " + opcode +
                                     ": fence " + order;
  }
  switch (e.kind) {
    case kind::block_barrier:
    case kind::warp_barrier:
    case kind::either_barrier:
      return std::string("insert ") +
             (site.turns    ? "at the start of each iteration of the loop to which this line belongs"
              : site.joins  ? "after the statement that contains this line, " + end_of_statement(p, site)
              : site.leaves ? "after the statement or loop that contains this line, " + end_of_statement(p, site)
                            : "after this line") +
             (e.kind == kind::warp_barrier ? ": __syncwarp()" : ": __syncthreads()") +
             (e.kind == kind::either_barrier ? ", or __syncwarp() if the blocks never have more than one warp"
              : e.kind != kind::warp_barrier ? ""
              : site.one_warp                ? ", which is enough only if the blocks never have more than one warp"
                              : ", which is enough only if the threads that share this memory are always in one warp; "
                                "otherwise __syncthreads()");
    case kind::proxy_fence_before:
      return "insert before its " + opcode + ": " + check::proxy_fence_text(e.proxy_spaces);
    case kind::fence_before:
      return "insert before its " + opcode + ": " + check::strength_text(fence, e.to);
    case kind::fence_after:
      return "insert after its " + opcode + ": " + check::strength_text(fence, e.to);
    case kind::own:
      break;
  }
  return opcode + " becomes " + check::strength_text(*site.first, e.to);
}

check::cuda_spelling change_in_cuda(const check::code_site& site, const check::code_edit& e) {
  using kind = check::code_edit::kind_t;
  const check::instruction& i = *site.first;
  const bool one_value = i.mbarrier == check::mbarrier_op::none && i.elements == 1;
  if (site.host || (e.kind == kind::own && !one_value)) {
    return {};
  }
  if (e.kind == kind::own && !e.to.strong) {
    return {i.code == check::op::load ? "*p" : i.code == check::op::store ? "*p = v" : "", ""};
  }
  switch (e.kind) {
    case kind::block_barrier:
    case kind::warp_barrier:
    case kind::either_barrier:
      return {};
    case kind::proxy_fence_before:
      return check::proxy_fence_in_cuda(e.proxy_spaces);
    case kind::fence_before:
    case kind::fence_after:
      return check::in_cuda(check::op::fence, i.what, e.to.order, e.to.scope);
    case kind::own:
      break;
  }
  return check::in_cuda(i.code, i.what, e.to.order, e.to.scope);
}

}  // namespace membar_check
