// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <check/copy_notes.hpp>
#include <check/machine.hpp>
#include <ptx/cuda_words.hpp>

#include <algorithm>
#include <cstdint>
#include <string>
#include <vector>

namespace membar::check::detail {

namespace {

/// Returns how a thread waits for a copy that it has started, as the object of "wait for the copy". If `reads_only` is set, the
/// copy only needs to have read its source.
[[nodiscard]] std::string wait_for(const instruction& copy, bool reads_only) {
  return copy.group == async_group::copies ? " with cp.async.wait_group or cp.async.wait_all (__pipeline_wait_prior() in C++)"
         : copy.group == async_group::bulk ? " with cp.async.bulk.wait_group" + std::string(reads_only ? ".read" : "")
         : copy.group == async_group::products ? " with wgmma.wait_group"
                                               : "";
}

/// Says why a wait for groups does not include the earlier copy that is started at `start`. Returns an empty string if that is
/// unknown.
[[nodiscard]] std::string why_left_out(const shown_execution& shown, const trace_event& start, const trace_event& wait) {
  const bool is_committed = std::ranges::any_of(shown.events(), [&](const trace_event& e) {
    return e.thread == start.thread && e.number > start.number && e.number < wait.number &&
           e.event.kind == event_kind::commit && e.at->group == start.at->group;
  });
  if (!is_committed) {
    return ", because the copy is not committed to a group before it";
  }
  const bool is_known = wait.at->sources == 1 && wait.at->by[0].kind == source_operand::kind_t::constant;
  const std::uint64_t left = is_known ? wait.at->by[0].low : 0;
  return left == 0   ? ""
         : left == 1 ? ", because it leaves the last group in flight"
                     : ", because it leaves the last " + std::to_string(left) + " groups in flight";
}

/// Returns the wait for a group of copies in which the thread that started a copy waits for this copy, or null if the thread
/// does not wait for it. A thread that waits for a group waits for its oldest copies first.
[[nodiscard]] const instruction* wait_that_includes(const shown_execution& shown, const trace_event& start) {
  const instruction* const at = model::at(shown.found().waiting, start.thread);
  const bool is_oldest = std::ranges::none_of(shown.events(), [&](const trace_event& e) {
    return e.thread == start.thread && e.number < start.number && e.event.kind == event_kind::issue &&
           model::at(shown.found().waiting, e.event.starts) != nullptr;
  });
  return at != nullptr && at->code == op::async_wait && at->group == start.at->group && !at->reads_only && is_oldest ? at
                                                                                                                     : nullptr;
}

}  // namespace

std::string unfinished_copy_note(const shown_execution& shown, const trace_event& first, const trace_event& second, int until) {
  const trace_event& start = shown.start_of(first);
  const bool writes = first.event.kind == event_kind::write;
  const bool reads_later = second.event.kind == event_kind::read;
  const std::string access = reads_later ? "read" : "write";
  const trace_event& later = shown.start_of(second);
  const bool same_thread = later.thread == start.thread;
  const bool same_block = shown.in_one_block(start, later);
  const std::string copy = shown.place(start) + in_thread(start) + " starts a copy " + (writes ? "to " : "from ") +
                           place_text(shown.whole(), first.event.address) + ", but ";
  const bool is_unread = shown.found().status == check_status::uninitialised;
  if (const instruction* const wait = is_unread ? wait_that_includes(shown, start) : nullptr; wait != nullptr) {
    const std::string at = "the wait for it at " + place_of(shown.whole(), start.thread, *wait);
    return copy + (same_block
                       ? "no barrier separates " + at + " and " + shown.place(second) + ": add __syncthreads() between them"
                       : "nothing orders " + at + " before " + shown.place(second));
  }
  const trace_event* passed = nullptr;  // the last wait for copies of this kind
  const trace_event* arrival = nullptr;
  for (const trace_event& e : shown.events()) {
    const bool follows = e.thread == start.thread && e.number > start.number && e.number < until;
    const bool waits = e.event.kind == event_kind::group_wait && e.at->group == start.at->group &&
                       (!e.at->reads_only || !writes) && start.at->completes == model::completion::group;
    passed = follows && waits ? &e : passed;
    arrival = follows && e.event.kind == event_kind::issue && e.at->copies == copy_kind::arrival ? &e : arrival;
  }
  const std::string before = "before the " + access;
  std::string remedy = (same_thread ? before + ", wait for it" : "wait for it" + in_thread(start)) +
                       wait_for(*start.at, !writes) +
                       (same_thread  ? ""
                        : same_block ? ", and add a barrier, such as __syncthreads(), between this wait and the " + access
                                     : std::string(", and synchronize with the ") + (reads_later ? "reading" : "writing") +
                                           " thread between this wait and the " + access);
  if (start.at->completes == model::completion::mbarrier) {
    remedy = before + ", wait for the phase of the copy's mbarrier that expects the copy's bytes";
  } else if (arrival != nullptr) {
    remedy = before + ", wait for the phase of the mbarrier in which the arrival at " + shown.place(*arrival) + " counts";
  }
  return copy + "the copy has not completed when " + shown.place(second) + " " + access + "s this memory" +
         (passed == nullptr
              ? ""
              : "; the wait at " + shown.place(*passed) + " does not include this copy" + why_left_out(shown, start, *passed)) +
         ": " + remedy;
}

std::vector<std::string> proxy_fence_notes(const shown_execution& shown, const trace_event& first, const trace_event& second) {
  const bool before_copy = !shown.is_copy(first) && shown.is_copy(second) && first.event.via == model::proxy::generic &&
                           second.event.via == model::proxy::async &&
                           shown.block_of(first.thread) == shown.block_of(second.thread);
  if (!before_copy || machine::is_tensor_memory(first.event.address)) {
    return {};
  }
  const bool shared = machine::is_shared(first.event.address);
  return {
      "add " + proxy_fence_in_cuda(bit_of(shared ? proxy_space::own_shared : proxy_space::global)).cuda + " after " +
          shown.place(first) + ", before the synchronization that orders it before the copy",
      "even if an mbarrier or a barrier orders the threads, the PTX ISA orders accesses through different proxies only by a "
      "proxy fence: docs/asynchronous_copies.md explains this and says what was measured"};
}

std::string missing_wait_note(const shown_execution& shown, const trace_event& x, const trace_event& y) {
  const trace_event& copied = x.unawaited_until >= 0 ? x : y;
  return copied.unawaited_until < 0 ? "" : unfinished_copy_note(shown, copied, &copied == &x ? y : x, copied.unawaited_until);
}

}  // namespace membar::check::detail
