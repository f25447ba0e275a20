// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <check/barrier_alignment.hpp>
#include <check/barrier_notes.hpp>
#include <check/machine.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace membar::check::detail {

namespace {

/// Returns the memory that an access reads or writes.
[[nodiscard]] memory_range range_of(const trace_event& e) { return {e.event.address, e.event.bytes}; }

/// Returns whether every thread of the kernel that does not exit earlier executes the instruction of `e`.
[[nodiscard]] bool is_on_every_path(const shown_execution& shown, const trace_event& e) {
  const std::vector<bool> skipping = reached_from(*shown.context_of(e).kernel, -1, shown.pc_of(e));
  return !skipping.back();
}

/// Returns whether a path through the kernel's code leads from access `x` to access `y` without a barrier of the block or a wait for an
/// mbarrier.
[[nodiscard]] bool leads_without_barrier(const shown_execution& shown, const trace_event& x, const trace_event& y) {
  const kernel_code& kernel = *shown.context_of(x).kernel;
  std::vector<bool> barriers;
  for (const instruction& i : kernel.code) {
    barriers.push_back(i.code == op::block_barrier || i.mbarrier == mbarrier_op::test);
  }
  barriers.push_back(false);  // the end of the kernel
  return reached_from(kernel, shown.pc_of(x), barriers)[static_cast<std::size_t>(shown.pc_of(y))];
}

/// Names two accesses by their places, for example "a.cu:3 and a.cu:5".
[[nodiscard]] std::string both_places(const shown_execution& shown, const trace_event& first, const trace_event& second) {
  if (shown.place(first) != shown.place(second)) {
    return shown.place(first) + " and " + shown.place(second);
  }
  return (first.event.kind == second.event.kind ? "the two writes at " : "the read and the write at ") + shown.place(first);
}

/// Says what separates the accesses if threads of other blocks also perform them. Returns an empty string if only one block can
/// access the memory, or if the other blocks access different memory.
[[nodiscard]] std::string between_blocks(const shown_execution& shown, const trace_event& first, const trace_event& second) {
  const thread_context& own = shown.context_of(first);
  const std::uint64_t address = first.event.address;
  const auto is_of_other_block = [&](const thread_context& c) {
    return c.launch == own.launch && c.block_number != own.block_number && !c.where.host && c.copies_of < 0;
  };
  if (machine::is_shared(address) || machine::is_tensor_memory(address) ||
      std::ranges::none_of(shown.whole().threads, is_of_other_block)) {
    return "";
  }
  std::string there = "if other blocks also access " + place_text(shown.whole(), address);
  bool elsewhere = false;
  for (const trace_event& e : shown.events()) {
    const bool accesses = e.event.kind == event_kind::read || e.event.kind == event_kind::write;
    if (!accesses || !is_of_other_block(shown.context_of(e)) || (e.at != first.at && e.at != second.at)) {
      continue;
    }
    if (overlap(range_of(e), range_of(first)) || overlap(range_of(e), range_of(second))) {
      there = shown.place(e) + " also accesses " + place_text(shown.whole(), address) + " in another block";
      elsewhere = false;
      break;
    }
    elsewhere = true;
  }
  return elsewhere ? ""
                   : "; " + there +
                         ", a barrier of the block does not order these accesses: use a grid barrier, such as "
                         "cooperative_groups::grid_group::sync(), or a separate kernel";
}

/// If two accesses of one kernel belong to different iterations of a loop, says so. Otherwise, returns an empty string.
[[nodiscard]] std::string different_iterations(const shown_execution& shown, const trace_event& first,
                                               const trace_event& second) {
  const auto times = [&](const trace_event& e) {
    return std::ranges::count_if(shown.events(), [&](const trace_event& o) {
      return o.thread == e.thread && o.at == e.at && o.number <= e.number && o.event.kind == e.event.kind;
    });
  };
  const bool in_loop = shown.context_of(first).kernel == shown.context_of(second).kernel && first.at != second.at &&
                       shown.leads_to(first, second) && shown.leads_to(second, first);
  const std::ptrdiff_t of_first = times(first);
  const std::ptrdiff_t of_second = times(second);
  if (!in_loop || shown.is_copy(first) || shown.is_copy(second) || of_first == of_second) {
    return "";
  }
  const std::string later = shown.place(of_first > of_second ? first : second);
  const std::string earlier = shown.place(of_first > of_second ? second : first);
  return "; the access at " + later + " belongs to a later iteration than the access at " + earlier +
         ", so synchronization may be missing after " + earlier + " and before the next iteration's " + later;
}

/// If the code of access `e` follows an arrival at a barrier and no wait is between them, says so. Otherwise, returns an empty
/// string.
[[nodiscard]] std::string early_arrival_in_code(const shown_execution& shown, const trace_event& e) {
  const std::vector<instruction>& code = shown.context_of(e).kernel->code;
  for (std::int32_t pc = shown.pc_of(e) - 1; pc >= 0 && !shown.is_copy(e); --pc) {
    const instruction& i = model::at(code, pc);
    if (i.code == op::block_barrier || i.mbarrier == mbarrier_op::test || leaves(i.code)) {
      break;
    }
    if (i.code == op::block_arrive || arrives(i.mbarrier)) {
      const std::string at = place_of(shown.whole(), issuer_of(shown.whole(), e.thread), i);
      return at == shown.place(e) ? "" : "; the arrival at " + at + " comes before " + shown.place(e);
    }
  }
  return "";
}

/// Returns whether one statement of the source performs both accesses, which are writes by threads.
[[nodiscard]] bool write_at_one_place(const shown_execution& shown, const trace_event& first, const trace_event& second) {
  return (first.at == second.at || is_same_place(*first.at, *second.at)) && first.event.kind == event_kind::write &&
         second.event.kind == event_kind::write && !shown.is_copy(first) && !shown.is_copy(second);
}

/// Says what is probably wrong if threads write the same memory at one place.
constexpr auto wrong_index =
    "if each thread should write its own element, the index is wrong, possibly because of an earlier race; ";

/// Says how to correct accesses that threads perform at one place, concurrently.
[[nodiscard]] std::string remedy_at_one_place(const shown_execution& shown, const trace_event& first,
                                              const trace_event& second) {
  return (write_at_one_place(shown, first, second) ? std::string(wrong_index) + "otherwise, " : "") +
         "use an atomic operation, or let only one thread perform the access";
}

/// If other threads may skip the arrival at an mbarrier that follows access `e` in the code, and no barrier is between them, says
/// what is missing if one thread arrives there for its warp. Otherwise, returns an empty string.
[[nodiscard]] std::string arrival_for_warp(const shown_execution& shown, const trace_event& e) {
  const kernel_code& kernel = *shown.context_of(e).kernel;
  std::vector<bool> barriers(kernel.code.size() + 1, false);
  for (std::size_t k = 0; k < kernel.code.size(); ++k) {
    const op code = kernel.code[k].code;
    barriers[k] = code == op::block_barrier || code == op::block_arrive || code == op::warp_barrier;
  }
  const std::int32_t pc = shown.pc_of(e);
  const std::vector<bool> follows = reached_from(kernel, pc, barriers);
  for (std::int32_t k = pc + 1; !shown.is_copy(e) && k < model::count_of(kernel.code); ++k) {
    const instruction& i = model::at(kernel.code, k);
    if (!follows[static_cast<std::size_t>(k)] || !arrives(i.mbarrier)) {
      continue;
    }
    const std::vector<bool> skipping = reached_from(kernel, pc, k);
    if (i.guard < 0 && !skipping.back() && !skipping[static_cast<std::size_t>(pc)]) {
      return "";
    }
    return "if the arrival at " + place_of(shown.whole(), issuer_of(shown.whole(), e.thread), i) +
           " is performed on behalf of its warp, add __syncwarp() between " + shown.place(e) + " and this arrival; otherwise, ";
  }
  return "";
}

/// Says which barrier can separate two accesses in different branches: one on which threads arrive without waiting.
[[nodiscard]] std::string split_barrier(const shown_execution& shown, const trace_event& first, const trace_event& second) {
  const auto uses = [&](const auto& matches) {
    return std::ranges::any_of(shown.context_of(first).kernel->code, matches) ||
           std::ranges::any_of(shown.context_of(second).kernel->code, matches);
  };
  const bool named = uses([](const instruction& i) { return i.code == op::block_arrive; });
  const bool mbarrier = uses([](const instruction& i) { return arrives(i.mbarrier); });
  if (!named && !mbarrier) {
    return "use a cuda::barrier, on which one thread arrives after its access and the other thread waits before its access";
  }
  const std::string early = early_arrival_in_code(shown, first) + early_arrival_in_code(shown, second);
  std::string for_warp = early.empty() ? arrival_for_warp(shown, first) : "";
  for_warp = for_warp.empty() && early.empty() ? arrival_for_warp(shown, second) : for_warp;
  return for_warp + "one thread must arrive at " + (named ? "a named barrier" : "") + (named && mbarrier ? " or " : "") +
         (mbarrier ? "an mbarrier (cuda::barrier)" : "") +
         " after its access, and the other thread must wait for this arrival before its access" +
         (mbarrier && for_warp.empty() ? "; if one thread arrives for its warp, __syncwarp() must precede the arrival" : "") +
         early;
}

/// Says on which side of an asynchronous copy a barrier between the accesses must be. `forward` and `backward` are whether a
/// barrier is missing on the way from the first access to the second, and from the second to the first.
[[nodiscard]] std::string place_at_copy(const shown_execution& shown, const trace_event& first, const trace_event& second,
                                        bool forward, bool backward) {
  const bool starts_later = (shown.is_copy(second) && forward) || (shown.is_copy(first) && backward);
  const bool starts_earlier = (shown.is_copy(first) && forward) || (shown.is_copy(second) && backward);
  return std::string(starts_later ? ", before the copy starts" : "") + (starts_later && starts_earlier ? " or" : "") +
         (starts_earlier
              ? std::string(starts_later ? "" : ",") + " after the thread that started the copy has waited for its completion"
              : "");
}

/// If one of the accesses invalidates an mbarrier, says where the barrier must be if the source does not show the invalidation.
[[nodiscard]] std::string place_at_invalidation(const shown_execution& shown, const trace_event& first,
                                                const trace_event& second) {
  for (const trace_event* e : {&first, &second}) {
    if (e->at->mbarrier == mbarrier_op::invalidate) {
      return "; " + shown.place(*e) +
             " invalidates the mbarrier: if this line is the closing brace of a scope, the destructor of a cuda::pipeline or "
             "cuda::barrier does so, and __syncthreads() must precede the brace";
    }
  }
  return "";
}

}  // namespace

std::string missing_barrier_note(const shown_execution& shown, const trace_event& first, const trace_event& second) {
  const std::string both = std::string("both threads are in the same ") + (shown.in_one_warp(first, second) ? "warp" : "block");
  const bool forward = shown.leads_to(first, second);
  const bool backward = shown.leads_to(second, first);
  // In a loop, a barrier may already be on the way in one direction.
  const bool forward_lacks = forward && leads_without_barrier(shown, first, second);
  const bool backward_lacks = backward && leads_without_barrier(shown, second, first);
  const bool at_one_place = write_at_one_place(shown, first, second);
  if ((!forward && !backward && first.at == second.at) || (at_one_place && !forward_lacks && !backward_lacks)) {
    return both + " and execute " + shown.place(first) +
           " concurrently, so no barrier can separate the accesses: " + remedy_at_one_place(shown, first, second);
  }
  if (at_one_place) {
    return both + ", and both write " + place_text(shown.whole(), first.event.address) + " at " + shown.place(first) +
           " without a barrier in between: " + wrong_index +
           "if the writes belong to different iterations of a loop, add __syncthreads() between the iterations" +
           between_blocks(shown, first, second);
  }
  const bool everywhere = is_on_every_path(shown, first) && is_on_every_path(shown, second);
  // An excerpt does not show whether the threads pass a flag. Threads that share global memory often do.
  const bool may_pass_flag = shown.whole().excerpt && !everywhere && !machine::is_shared(first.event.address);
  const std::string missing = both + ", and no barrier" + (may_pass_flag ? " or release-acquire pair orders " : " separates ") +
                              both_places(shown, first, second);
  const std::string by_flag =
      ": if one thread passes the data to the other through a flag, write the flag with release and "
      "read it with acquire; otherwise, ";
  if (!forward && !backward) {
    return missing + ", which are in different branches, so __syncthreads() cannot be between them" +
           (may_pass_flag ? by_flag : ": ") + split_barrier(shown, first, second);
  }
  const bool unknown = !forward_lacks && !backward_lacks;
  return missing + (may_pass_flag ? by_flag : ": ") + "add __syncthreads() between them" +
         (everywhere ? "" : ", where all threads of the block reach it") +
         place_at_copy(shown, first, second, unknown ? forward : forward_lacks, unknown ? backward : backward_lacks) +
         (shown.in_one_warp(first, second)
              ? " (__syncwarp() is enough only if all threads that share this memory are always in one warp)"
              : "") +
         place_at_invalidation(shown, first, second) + different_iterations(shown, first, second) +
         between_blocks(shown, first, second);
}

std::string between_blocks_note(const shown_execution& shown, const trace_event& first, const trace_event& second) {
  const bool one_place = first.at == second.at || write_at_one_place(shown, first, second);
  return one_place ? "threads of different blocks execute " + shown.place(first) +
                         " concurrently: " + remedy_at_one_place(shown, first, second)
                   : "the threads are in different blocks, which __syncthreads() does not synchronize: between " +
                         both_places(shown, first, second) +
                         ", use a grid barrier, such as cooperative_groups::grid_group::sync(), or a flag that is written with "
                         "release and read with acquire; or perform the accesses in separate kernels" +
                         different_iterations(shown, first, second);
}

}  // namespace membar::check::detail
