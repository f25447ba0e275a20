// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <check/barrier_alignment.hpp>
#include <check/flag_notes.hpp>
#include <check/trace.hpp>
#include <ptx/cuda_words.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <vector>

namespace membar::check::detail {

namespace {

/// Returns whether the event's instruction is at least as strong as `order`.
[[nodiscard]] bool orders(const trace_event& e, memory_order order) {
  const memory_order own = e.at->order;
  return e.at->strong && (own == order || own == memory_order::acq_rel || own == memory_order::seq_cst);
}

/// Describes which barrier is missing, and where the flag's thread may execute a block barrier that is on the wrong side of
/// its access to the flag: after the write, or before the read.
[[nodiscard]] std::string missing_barrier(const shown_execution& shown, const trace_event& flag, bool releases) {
  const kernel_code& kernel = *model::at(shown.whole().threads, flag.thread).kernel;
  const std::vector<bool> reached = reached_from(kernel, static_cast<std::int32_t>(flag.event.pc));
  const instruction* barrier = nullptr;
  for (int pc = 0; pc < model::count_of(kernel.code); ++pc) {
    const instruction& i = model::at(kernel.code, pc);
    const bool is_barrier = i.code == op::block_barrier || i.code == op::block_arrive;
    if (is_barrier &&
        (releases ? pc > flag.event.pc && reached[static_cast<std::size_t>(pc)] && barrier == nullptr : pc < flag.event.pc)) {
      barrier = &i;
    }
  }
  return ": add __syncthreads() between them, where all threads of the block reach it" +
         (barrier == nullptr ? std::string()
                             : "; the barrier at " + place_of(shown.whole(), flag.thread, *barrier) + " comes " +
                                   (releases ? "after " : "before ") + shown.place(flag));
}

/// Describes where the thread has executed, or may still execute, a fence that is not between the two events.
[[nodiscard]] std::string misplaced_fence(const shown_execution& shown, const trace_event& from, const trace_event& to,
                                          bool releases) {
  const kernel_code& kernel = *model::at(shown.whole().threads, from.thread).kernel;
  const std::vector<bool> reached = reached_from(kernel, static_cast<std::int32_t>(to.event.pc));
  const instruction* before = nullptr;
  const instruction* after = nullptr;
  const auto was_executed = [&](int pc) {
    return std::any_of(shown.events().begin(), shown.events().end(), [&](const trace_event& e) {
      return e.thread == from.thread && e.event.kind == event_kind::fence && e.event.pc == pc;
    });
  };
  for (int pc = 0; pc < model::count_of(kernel.code); ++pc) {
    const instruction& i = model::at(kernel.code, pc);
    if (i.code == op::fence && !i.restricted) {
      before = pc < from.event.pc && was_executed(pc) ? &i : before;
      after = pc > to.event.pc && reached[static_cast<std::size_t>(pc)] && after == nullptr ? &i : after;
    }
  }
  const auto text = [&](const instruction& fence, const char* side, const trace_event& of) {
    const std::string at = place_of(shown.whole(), from.thread, fence);
    return at == shown.place(of) ? std::string()
                                 : "; the fence at " + at + " comes " + side + " " +
                                       (of.event.kind == event_kind::barrier ? "this barrier" : shown.place(of));
  };
  if (releases) {
    return after != nullptr ? text(*after, "after", to) : before != nullptr ? text(*before, "before", from) : "";
  }
  return before != nullptr ? text(*before, "before", from) : after != nullptr ? text(*after, "after", to) : "";
}

/// Names the event before or after which a fence must be: `data`, or the barrier that is between the flag and `data` in the other
/// threads of the block.
[[nodiscard]] std::string end_of(const shown_execution& shown, const trace_event& e, const trace_event& data) {
  return e.event.kind != event_kind::barrier
             ? shown.place(data)
             : "the barrier at " + shown.place(e) + ", which separates it from " + shown.place(data) + " in other threads";
}

/// Returns whether a thread other than the thread of `data` performs the same access to the same object, possibly to another
/// element, in `e`.
[[nodiscard]] bool is_same_access(const shown_execution& shown, const trace_event& e, const trace_event& data) {
  return e.thread != data.thread && !shown.is_copy(e) && e.at == data.at && e.event.kind == data.event.kind &&
         object_text(shown.whole(), e.event.address) == object_text(shown.whole(), data.event.address);
}

/// If the thread of `write` performs the access `data` itself, returns its arrival at the barrier after which `write` must also
/// release the accesses of other threads with the same instruction. Such an access may be in another block, whose corresponding
/// write then follows the same barrier. Returns null if there is no such access.
[[nodiscard]] const trace_event* barrier_after_others(const shown_execution& shown, const trace_event& data,
                                                      const trace_event& write) {
  for (const trace_event& e : shown.events()) {
    if (data.thread != write.thread || !is_same_access(shown, e, data)) {
      continue;
    }
    for (const trace_event& w : shown.events()) {
      const bool corresponds = w.at == write.at && w.event.kind == write.event.kind;
      const trace_event* const met =
          corresponds && w.thread != e.thread && shown.in_one_block(e, w) ? shown.start_after(e, w) : nullptr;
      for (const trace_event* own : shown.arrivals(write, true)) {
        if (met != nullptr && own->at == met->at && own->number > data.number) {
          return own;
        }
      }
    }
  }
  return nullptr;
}

/// If the thread of `flag` performs the access `data` itself, returns an access of another thread of its block, as in
/// `is_same_access`, that `flag` precedes. The flag must usually order this access, too. Returns null if there is none.
[[nodiscard]] const trace_event* same_access_after(const shown_execution& shown, const trace_event& data,
                                                   const trace_event& flag) {
  const auto same = std::ranges::find_if(shown.events(), [&](const trace_event& e) {
    return data.thread == flag.thread && shown.in_one_block(e, data) && is_same_access(shown, e, data) &&
           !shown.barriers(flag, e).empty();
  });
  return same == shown.events().end() ? nullptr : &*same;
}

/// Examines a handover.
class handover_check {
 public:
  explicit handover_check(const shown_execution& shown) : shown_(shown) {}

  /// Says what is missing in the handover.
  [[nodiscard]] std::vector<std::string> notes(const handover& passed) {
    for (std::size_t n = 0; n < passed.values.size(); ++n) {
      const auto& [write, read, publications] = passed.values[n];
      const trace_event& publication = *publications.front();
      // A read-modify-write continues the release sequence of the value that it reads, even if it is relaxed.
      const bool continues = n > 0 && updates(*passed.values[n - 1].read, *write);
      const bool is_continued = n + 1 < passed.values.size() && updates(*read, *passed.values[n + 1].write);
      const bool releases = look_at_writer(passed.before(n), publications, *read, continues);
      const bool acquires = look_at_reader(
          *write, *read, n + 1 == passed.values.size() ? *passed.second : *passed.values[n + 1].write, is_continued);
      const bool neither = !releases && !acquires && publication.at == read->at;
      if (!releases) {
        add_remedy(publication, *read,
                   neither || orders(publication, memory_order::acquire) ? memory_order::acq_rel : memory_order::release);
      }
      if (!acquires) {
        add_remedy(*read, *write,
                   neither || orders(*read, memory_order::release) ? memory_order::acq_rel : memory_order::acquire);
      }
    }
    return std::move(notes_);
  }

 private:
  /// Returns whether a flag's writes, the last of which is read, release what precedes them from `data` on, assuming that no
  /// barrier of the block is missing. Otherwise, adds a note. `read` reads the flag. If `continues` is set, the writes do not
  /// need to release.
  [[nodiscard]] bool look_at_writer(const trace_event& data, const std::vector<const trace_event*>& writes,
                                    const trace_event& read, bool continues) {
    const trace_event& write = *writes.back();
    const trace_event* const from = shown_.start_after(data, write);
    if (from == nullptr) {
      notes_.push_back(shown_.place(write) + " writes " + place_text(shown_.whole(), write.event.address) +
                       " on behalf of its block, and no barrier orders " + shown_.place(data) +
                       " in the other threads before it" + missing_barrier(shown_, write, true));
      return true;
    }
    const bool releases = std::ranges::any_of(writes, [&](const trace_event* w) {
      return w->event.releases && scope_gap(shown_.whole(), w->thread, w->event.scope, read.thread).empty();
    });
    if (!has_scope("written", write, read) ||
        !look_for_fence(*from, write, releases || continues, true, *writes.front(), data, read.thread)) {
      return false;
    }
    const trace_event* const barrier = barrier_after_others(shown_, data, write);
    return barrier == nullptr ||
           look_for_fence(*barrier, write, releases || continues, true, *writes.front(), data, read.thread);
  }

  /// Like `look_at_writer`, for the flag's read, which must acquire for what follows it up to `data`.
  [[nodiscard]] bool look_at_reader(const trace_event& write, const trace_event& read, const trace_event& data,
                                    bool continued) {
    const trace_event* to = &data;
    if (read.thread != data.thread) {
      const auto met = shown_.barriers(read, data);
      if (!met.empty()) {
        to = met.back().first;
      } else {
        notes_.push_back(shown_.place(read) + " reads " + place_text(shown_.whole(), read.event.address) +
                         " on behalf of its block, and no barrier orders it before " + shown_.place(data) +
                         " in the other threads" + missing_barrier(shown_, read, false));
        return true;
      }
    }
    const bool acquires = read.event.acquires || continued;
    if (!has_scope("read", read, write) || !look_for_fence(read, *to, acquires, false, read, data, write.thread)) {
      return false;
    }
    const trace_event* const same = same_access_after(shown_, data, read);
    return same == nullptr ||
           look_for_fence(read, *shown_.barriers(read, *same).back().first, acquires, false, read, *same, write.thread);
  }

  /// Returns whether access `e` to the flag is strong and its scope includes the thread of `other`. Otherwise, adds a note.
  [[nodiscard]] bool has_scope(const std::string& what, const trace_event& e, const trace_event& other) {
    const std::string flag = place_text(shown_.whole(), e.event.address) + " is " + what + " at " + shown_.place(e);
    const std::string gap = e.event.strong ? scope_gap(shown_.whole(), e.thread, e.event.scope, other.thread) : "";
    if (!e.event.strong) {
      notes_.push_back(flag + " by a weak access, which does not synchronize with anything");
    } else if (!gap.empty()) {
      notes_.push_back(flag + " with " + gap);
    }
    return e.event.strong && gap.empty();
  }

  /// Returns whether a suitable fence is between two events of a thread, or the flag's access itself orders them (`ordered`).
  /// Otherwise, adds a note that says where the nearest fence is. `other` is the thread that accesses the flag on the other side.
  [[nodiscard]] bool look_for_fence(const trace_event& from, const trace_event& to, bool ordered, bool releases,
                                    const trace_event& flag, const trace_event& data, int other) {
    std::string narrow;
    for (const trace_event& e : shown_.events()) {
      if (e.thread == flag.thread && e.number > from.number && e.number < to.number && e.event.kind == event_kind::fence &&
          (releases ? e.event.releases : e.event.acquires)) {
        const std::string gap = scope_gap(shown_.whole(), e.thread, e.event.scope, other);
        ordered = ordered || gap.empty();
        narrow = gap.empty() ? narrow : "; the fence at " + shown_.place(e) + " has " + gap;
      }
    }
    if (ordered) {
      return true;
    }
    notes_.push_back(place_text(shown_.whole(), flag.event.address) + " is " + (releases ? "written" : "read") + " at " +
                     shown_.place(flag) + (releases ? " without a release" : " without an acquire") +
                     (narrow.empty() ? ", and there is no fence between it and " + end_of(shown_, releases ? from : to, data) +
                                           misplaced_fence(shown_, from, releases ? flag : to, releases)
                                     : narrow));
    return false;
  }

  /// Adds a note that says how a thread's access to the flag can release or acquire in C++. A fence is sufficient only if the
  /// access is strong and its scope includes the other thread.
  void add_remedy(const trace_event& flag, const trace_event& other, memory_order order) {
    const instruction& i = *flag.at;
    if (!shown_.has_spelling(flag)) {
      return;
    }
    const bool reads = flag.event.kind == event_kind::read;
    const thread_scope scope = scope_with(shown_.whole(), flag.thread, other.thread, flag.event.address);
    const std::string access = in_cuda(i.code, i.what, order, scope).cuda;
    const std::string fence = in_cuda(op::fence, {}, order, scope).cuda;
    const bool fence_is_enough =
        flag.event.strong && scope_gap(shown_.whole(), flag.thread, flag.event.scope, other.thread).empty();
    const std::string fenced = fence + (i.code == op::load ? " after the load (after the loop if the load polls)"
                                        : reads            ? " after the access"
                                                           : " before the access");
    if (!access.empty() || fence_is_enough) {
      notes_.push_back(std::string(reads ? "acquire" : "release") + " in C++: " + access +
                       (!access.empty() && fence_is_enough ? ", or " : "") + (fence_is_enough ? fenced : ""));
    }
  }

  const shown_execution& shown_;
  std::vector<std::string> notes_{};
};

/// Returns the write of a flag that the thread of access `x` performs too early, before `x`, and the read of this value that
/// precedes access `y`. Returns null pointers if there is no such write.
[[nodiscard]] std::pair<const trace_event*, const trace_event*> early_flag_for(const shown_execution& shown,
                                                                               const trace_event& x, const trace_event& y) {
  std::map<std::uint64_t, std::pair<const trace_event*, const trace_event*>> last;  // per flag: the last read before `y`
  for (const trace_event& r : shown.events()) {
    const trace_event* const w = shown.source_of(r);
    if (w != nullptr && r.thread == y.thread && r.number < y.number && w->thread == x.thread && r.event.strong &&
        w->event.strong && r.at->mbarrier == mbarrier_op::none) {
      auto& found = last[r.event.address];
      found = found.second == nullptr || found.second->number < r.number ? std::pair(w, &r) : found;
    }
  }
  std::pair<const trace_event*, const trace_event*> result;
  for (const auto& [address, found] : last) {
    const auto& [w, r] = found;
    // a counter from which each thread takes a number is not a flag
    const bool counts = r->at == w->at && shown.is_update(*r);
    const bool later = result.first == nullptr || result.first->number < w->number;
    if (w->number < x.number && later && !counts && shown.is_too_early(*w, x)) {
      result = found;
    }
  }
  return result;
}

/// Returns the note if `x` is the access that follows the write of the flag and `y` is the access that follows the wait.
[[nodiscard]] std::string note_on_early_flag(const shown_execution& shown, const trace_event& x, const trace_event& y) {
  const auto [flag, wait] = early_flag_for(shown, x, y);
  if (flag == nullptr) {
    return "";
  }
  const bool reads = x.event.kind == event_kind::read;
  const std::string name = place_text(shown.whole(), flag->event.address);
  const std::string early = shown.place(*flag) + " writes " + name + " before " + shown.place(x) +
                            (reads ? " reads " : " writes ") + place_text(shown.whole(), x.event.address) +
                            ", so the read of " + name + " at " + shown.place(*wait) + " does not order " + shown.place(x) +
                            " before " + shown.place(y) + ": ";
  return early + (flag->event.rmw ? "if the access at " + shown.place(x) + " cannot precede the update at " +
                                        shown.place(*flag) + ", write another flag with release after " + shown.place(x) +
                                        ", and wait for that flag with acquire before " + shown.place(y)
                                  : "move the write of " + name + " after " + shown.place(x));
}

}  // namespace

std::vector<std::string> handover_notes(const shown_execution& shown, const handover& passed) {
  return handover_check(shown).notes(passed);
}

std::string early_flag_note(const shown_execution& shown, const trace_event& x, const trace_event& y) {
  // Strong accesses are flags themselves, and threads that execute the same statement have no fixed roles.
  if (shown.is_copy(x) || shown.is_copy(y) || x.event.strong || y.event.strong || is_same_place(*x.at, *y.at)) {
    return "";
  }
  const std::string note = note_on_early_flag(shown, x, y);
  return note.empty() ? note_on_early_flag(shown, y, x) : note;
}

}  // namespace membar::check::detail
