// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <check/barrier_alignment.hpp>
#include <check/machine.hpp>
#include <check/mbarrier_state.hpp>
#include <check/program.hpp>
#include <check/race_notes.hpp>
#include <check/sync_points.hpp>
#include <check/trace.hpp>
#include <membar/model/array.hpp>
#include <membar/model/program.hpp>
#include <ptx/cuda_words.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <limits>
#include <map>
#include <string>
#include <utility>
#include <vector>

namespace membar::check {

namespace {

using model::event_kind;

/// Examines one race.
class synchronization {
 public:
  synchronization(const program& p, const finding& f) : program_(p), finding_(f) {
    for (const trace_event& e : f.events) {
      index_[{e.thread, e.number}] = &e;
      if (e.blamed) {
        (first_ == nullptr ? first_ : second_) = &e;
        ++blamed_;
      }
    }
  }

  [[nodiscard]] handover ends() {
    if (blamed_ != 2 || is_copy(*first_) || is_copy(*second_)) {
      return {};
    }
    // A race has no direction: the flag may be meant to order the second access before the first.
    for (const auto find : {&synchronization::find_flag, &synchronization::find_chain}) {
      for (int direction = 0; direction < 2 && values_.empty(); ++direction) {
        (this->*find)();
        if (values_.empty()) {
          std::swap(first_, second_);
        }
      }
    }
    for (std::size_t n = 0; n < values_.size(); ++n) {
      values_[n].publications = publications_of(before(n), *values_[n].write);
    }
    return {first_, second_, values_};
  }

  [[nodiscard]] std::vector<std::string> notes() {
    if (finding_.lacks_only_fence) {
      add_proxy_fence();
      return std::move(notes_);
    }
    static_cast<void>(ends());
    if (add_missing_wait() || add_early_flag() || add_test_and_write()) {
      return std::move(notes_);
    }
    if (is_within_block() && !add_misplaced_arrival()) {
      add_barrier_of_block();
    }
    if (!values_.empty() && !(first_->event.strong && second_->event.strong)) {
      add_handover();
    }
    return std::move(notes_);
  }

  /// Explains a read of memory that was never written, if the finding shows a write that comes too late.
  [[nodiscard]] std::vector<std::string> notes_of_early_read() {
    if (blamed_ != 2) {
      return {};
    }
    if (first_->event.kind != event_kind::write) {
      std::swap(first_, second_);
    }
    if (const trace_event& start = start_of(*first_); &start != first_) {
      add_unfinished_copy(start, std::numeric_limits<int>::max());
      return std::move(notes_);
    }
    notes_.push_back(place(*first_) + in_thread(*first_) + " writes " + place_text(program_, first_->event.address) +
                     ", but nothing orders this write before " + place(*second_));
    if (is_within_block() && !is_copy(*second_) && !add_misplaced_arrival() &&
        (leads_to(*first_, *second_) || !leads_to(*second_, *first_))) {
      add_barrier_of_block();
    }
    return std::move(notes_);
  }

  [[nodiscard]] std::vector<std::string> access_notes() {
    static_cast<void>(ends());
    if (blamed_ == 2 && !finding_.lacks_only_fence && (first_->event.strong || second_->event.strong)) {
      add_access(*first_, *second_);
      add_access(*second_, *first_);
    }
    return std::move(notes_);
  }

 private:
  /// Returns whether two threads of one block perform the accesses, which are not both strong, and no flag is passed
  /// between them.
  [[nodiscard]] bool is_within_block() const {
    if (blamed_ != 2 || !values_.empty() || (first_->event.strong && second_->event.strong)) {
      return false;
    }
    const thread_context& x = context_of(*first_);
    const thread_context& y = context_of(*second_);
    return &x != &y && !x.where.host && !y.where.host && x.block_number == y.block_number;
  }

  /// Names the proxy fence that is missing between a thread's access and a later copy that its block starts.
  void add_proxy_fence() {
    const bool before_copy = blamed_ == 2 && !is_copy(*first_) && is_copy(*second_) &&
                             first_->event.via == model::proxy::generic && second_->event.via == model::proxy::async &&
                             block_of(first_->thread) == block_of(second_->thread);
    if (before_copy && !machine::is_tensor_memory(first_->event.address)) {
      const bool shared = machine::is_shared(first_->event.address);
      notes_.push_back("add " + proxy_fence_in_cuda(bit_of(shared ? proxy_space::own_shared : proxy_space::global)).cuda +
                       " after " + place(*first_) + ", before the synchronization that orders it before the copy");
    }
  }

  /// Returns how a thread waits for a copy that it has started, as the object of "wait for the copy". If `reads_only` is set, the
  /// copy only needs to have read its source.
  [[nodiscard]] static std::string wait_for(const instruction& copy, bool reads_only) {
    return copy.group == async_group::copies ? " with cp.async.wait_group or cp.async.wait_all (__pipeline_wait_prior() in C++)"
           : copy.group == async_group::bulk ? " with cp.async.bulk.wait_group" + std::string(reads_only ? ".read" : "")
           : copy.group == async_group::products ? " with wgmma.wait_group"
                                                 : "";
  }

  [[nodiscard]] static std::string in_thread(const trace_event& e) { return " in thread " + std::to_string(e.thread); }

  /// Adds a note if a copy that starts before the other access is incomplete when that access is performed. Returns whether it
  /// did.
  [[nodiscard]] bool add_missing_wait() {
    if (blamed_ != 2 || (first_->unawaited_until < 0 && second_->unawaited_until < 0)) {
      return false;
    }
    if (first_->unawaited_until < 0) {
      std::swap(first_, second_);
    }
    add_unfinished_copy(start_of(*first_), first_->unawaited_until);
    return true;
  }

  /// Adds a note about the copy that performs the first access, is started at `start`, and may be incomplete when the second
  /// access is performed. Only the first `until` events of the starting thread precede the second access.
  void add_unfinished_copy(const trace_event& start, int until) {
    const bool writes = first_->event.kind == event_kind::write;
    const bool reads_later = second_->event.kind == event_kind::read;
    const std::string access = reads_later ? "read" : "write";
    const trace_event& later = start_of(*second_);
    const bool same_thread = later.thread == start.thread;
    const bool same_block = in_one_block(start, later);
    const std::string copy = place(start) + in_thread(start) + " starts a copy " + (writes ? "to " : "from ") +
                             place_text(program_, first_->event.address) + ", but ";
    const bool is_unread = finding_.status == check_status::uninitialised;
    if (const instruction* const wait = is_unread ? wait_that_includes(start) : nullptr; wait != nullptr) {
      const std::string at = "the wait for it at " + place_of(program_, start.thread, *wait);
      notes_.push_back(
          copy + (same_block ? "no barrier separates " + at + " and " + place(*second_) + ": add __syncthreads() between them"
                             : "nothing orders " + at + " before " + place(*second_)));
      return;
    }
    const trace_event* passed = nullptr;  // the last wait for copies of this kind
    const trace_event* arrival = nullptr;
    for (const trace_event& e : finding_.events) {
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
      remedy = before + ", wait for the phase of the mbarrier in which the arrival at " + place(*arrival) + " counts";
    }
    notes_.push_back(copy + "the copy has not completed when " + place(*second_) + " " + access + "s this memory" +
                     (passed == nullptr
                          ? ""
                          : "; the wait at " + place(*passed) + " does not include this copy" + why_left_out(start, *passed)) +
                     ": " + remedy);
  }

  /// Says why a wait for groups does not include the earlier copy that is started at `start`. Returns an empty string if that is
  /// unknown.
  [[nodiscard]] std::string why_left_out(const trace_event& start, const trace_event& wait) const {
    const bool is_committed = std::ranges::any_of(finding_.events, [&](const trace_event& e) {
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
  [[nodiscard]] const instruction* wait_that_includes(const trace_event& start) const {
    const instruction* const at = model::at(finding_.waiting, start.thread);
    const bool is_oldest = std::ranges::none_of(finding_.events, [&](const trace_event& e) {
      return e.thread == start.thread && e.number < start.number && e.event.kind == event_kind::issue &&
             model::at(finding_.waiting, e.event.starts) != nullptr;
    });
    return at != nullptr && at->code == op::async_wait && at->group == start.at->group && !at->reads_only && is_oldest
               ? at
               : nullptr;
  }

  /// Adds a note about the barrier that is missing between two accesses of a block.
  void add_barrier_of_block() {
    const std::string both = std::string("both threads are in the same ") + (in_one_warp(*first_, *second_) ? "warp" : "block");
    const bool forward = leads_to(*first_, *second_);
    const bool backward = leads_to(*second_, *first_);
    if (!forward && !backward && first_->at == second_->at) {
      notes_.push_back(
          both + " and execute " + place(*first_) +
          " concurrently, so no barrier can separate the accesses: use an atomic operation, or let only one thread "
          "perform the access");
      return;
    }
    const bool everywhere = is_on_every_path(*first_) && is_on_every_path(*second_);
    // An excerpt does not show whether the threads pass a flag. Threads that share global memory often do.
    const bool may_pass_flag = program_.excerpt && !everywhere && !machine::is_shared(first_->event.address);
    const std::string missing = both + ", and no barrier" +
                                (may_pass_flag ? " or release-acquire pair orders " : " separates ") + place(*first_) +
                                " and " + place(*second_);
    const std::string by_flag =
        ": if one thread passes the data to the other through a flag, write the flag with release and "
        "read it with acquire; otherwise, ";
    if (!forward && !backward) {
      notes_.push_back(missing + ", which are in different branches, so __syncthreads() cannot be between them" +
                       (may_pass_flag ? by_flag : ": ") + split_barrier());
      return;
    }
    notes_.push_back(missing + (may_pass_flag ? by_flag : ": ") + "add __syncthreads() between them" +
                     (everywhere ? "" : ", where all threads of the block reach it") + place_at_copy(forward, backward) +
                     (in_one_warp(*first_, *second_)
                          ? " (__syncwarp() is enough only if all threads that share this memory are always in one warp)"
                          : "") +
                     between_blocks());
  }

  /// Says what separates the accesses if threads of other blocks also perform them. Returns an empty string if only one block can
  /// access the memory, or if the other blocks access different memory.
  [[nodiscard]] std::string between_blocks() const {
    const thread_context& own = context_of(*first_);
    const std::uint64_t address = first_->event.address;
    const auto is_of_other_block = [&](const thread_context& c) {
      return c.launch == own.launch && c.block_number != own.block_number && !c.where.host && c.copies_of < 0;
    };
    if (machine::is_shared(address) || machine::is_tensor_memory(address) ||
        std::ranges::none_of(program_.threads, is_of_other_block)) {
      return "";
    }
    std::string there = "if other blocks also access " + place_text(program_, address);
    bool elsewhere = false;
    for (const trace_event& e : finding_.events) {
      const bool accesses = e.event.kind == event_kind::read || e.event.kind == event_kind::write;
      if (!accesses || !is_of_other_block(context_of(e)) || (e.at != first_->at && e.at != second_->at)) {
        continue;
      }
      if (overlap(e, *first_) || overlap(e, *second_)) {
        there = place(e) + " also accesses " + place_text(program_, address) + " in another block";
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

  [[nodiscard]] static bool overlap(const trace_event& x, const trace_event& y) {
    return x.event.address < y.event.address + static_cast<std::uint64_t>(y.event.bytes) &&
           y.event.address < x.event.address + static_cast<std::uint64_t>(x.event.bytes);
  }

  /// Says which barrier can separate two accesses in different branches: one on which threads arrive without waiting.
  [[nodiscard]] std::string split_barrier() const {
    const auto uses = [&](const auto& matches) {
      return std::ranges::any_of(context_of(*first_).kernel->code, matches) ||
             std::ranges::any_of(context_of(*second_).kernel->code, matches);
    };
    const bool named = uses([](const instruction& i) { return i.code == op::block_arrive; });
    const bool mbarrier = uses([](const instruction& i) { return arrives(i.mbarrier); });
    if (!named && !mbarrier) {
      return "use a cuda::barrier, on which one thread arrives after its access and the other thread waits before its access";
    }
    const std::string early = early_arrival_in_code(*first_) + early_arrival_in_code(*second_);
    return std::string("one thread must arrive at ") + (named ? "a named barrier" : "") + (named && mbarrier ? " or " : "") +
           (mbarrier ? "an mbarrier (cuda::barrier)" : "") +
           " after its access, and the other thread must wait for this arrival before its access" +
           (mbarrier ? "; if one thread arrives for its warp, __syncwarp() must precede the arrival" : "") + early;
  }

  /// If the code of access `e` follows an arrival at a barrier and no wait is between them, says so. Otherwise, returns an empty
  /// string.
  [[nodiscard]] std::string early_arrival_in_code(const trace_event& e) const {
    const std::vector<instruction>& code = context_of(e).kernel->code;
    for (std::int32_t pc = pc_of(e) - 1; pc >= 0 && !is_copy(e); --pc) {
      const instruction& i = model::at(code, pc);
      if (i.code == op::block_barrier || i.mbarrier == mbarrier_op::test || leaves(i.code)) {
        break;
      }
      if (i.code == op::block_arrive || arrives(i.mbarrier)) {
        const std::string at = place_of(program_, issuer_of(program_, e.thread), i);
        return at == place(e) ? "" : "; the arrival at " + at + " comes before " + place(e);
      }
    }
    return "";
  }

  /// Says on which side of an asynchronous copy a barrier between the accesses must be. `forward` and `backward` are whether the
  /// code leads from the first access to the second, and from the second to the first.
  [[nodiscard]] std::string place_at_copy(bool forward, bool backward) const {
    const bool starts_later = (is_copy(*second_) && forward) || (is_copy(*first_) && backward);
    const bool starts_earlier = (is_copy(*first_) && forward) || (is_copy(*second_) && backward);
    return std::string(starts_later ? ", before the copy starts" : "") + (starts_later && starts_earlier ? " or" : "") +
           (starts_earlier
                ? std::string(starts_later ? "" : ",") + " after the thread that started the copy has waited for its completion"
                : "");
  }

  [[nodiscard]] const thread_context& context_of(const trace_event& e) const {
    return model::at(program_.threads, issuer_of(program_, e.thread));
  }
  [[nodiscard]] bool in_one_warp(const trace_event& x, const trace_event& y) const {
    return block_of(x.thread) == block_of(y.thread) &&
           context_of(x).number_in_block() / 32 == context_of(y).number_in_block() / 32;
  }

  /// Returns the index of an event's instruction in its kernel. For a copy, this is the instruction that starts it.
  [[nodiscard]] std::int32_t pc_of(const trace_event& e) const {
    return static_cast<std::int32_t>(e.at - context_of(e).kernel->code.data());
  }

  /// Returns whether a thread that has executed the instruction of `x` may later execute the instruction of `y`, in the same
  /// kernel.
  [[nodiscard]] bool leads_to(const trace_event& x, const trace_event& y) const {
    return reached_from(*context_of(x).kernel, pc_of(x))[static_cast<std::size_t>(pc_of(y))];
  }

  /// Returns whether every thread of the kernel that does not exit earlier executes the instruction of `e`.
  [[nodiscard]] bool is_on_every_path(const trace_event& e) const {
    const std::vector<bool> skipping = reached_from(*context_of(e).kernel, -1, pc_of(e));
    return !skipping.back();
  }

  // ---- updates that are not atomic

  /// Adds a note if both threads read the same memory and then write it, depending on the value that they have read. Returns
  /// whether it did.
  [[nodiscard]] bool add_test_and_write() {
    if (blamed_ != 2 || !values_.empty() || first_->thread == second_->thread) {
      return false;
    }
    return add_test_and_write(*first_, *second_) || add_test_and_write(*second_, *first_);
  }

  /// As above. `write` is the write of one of the threads, and `other` is the other thread's access.
  [[nodiscard]] bool add_test_and_write(const trace_event& write, const trace_event& other) {
    const trace_event* const read = tested_by(write);
    if (read == nullptr || context_of(write).launch != context_of(other).launch || !tests(other)) {
      return false;
    }
    const kernel_code& kernel = *context_of(write).kernel;
    const bool computes = is_among(words_computed_from(kernel, pc_of(*read)), write.at->by[1]);
    const std::string what = place_text(program_, write.event.address);
    const std::string at = place(write) == place(*read) ? "" : " at " + place(*read);
    notes_.push_back("both threads read " + what + at + " and then write it at " + place(write) +
                     (computes ? ", with a value computed from the value that they read, so one of the updates may be lost"
                               : ", depending on the value that they read, so both may write it") +
                     ": no barrier or fence repairs this; " +
                     (computes ? "use an atomic read-modify-write, such as atomicAdd()"
                               : "let one thread win with atomicCAS() or atomicExch()"));
    return true;
  }

  /// Returns the plain read of the same bytes that decides, in the same thread, whether `write` is performed or what it writes.
  /// Returns null if there is no such read, if the thread synchronizes between them, or if something else also decides whether a
  /// thread that performs the read also performs the write.
  [[nodiscard]] const trace_event* tested_by(const trace_event& write) const {
    const trace_event* read = nullptr;
    for (const trace_event& e : finding_.events) {
      if (is_copy(write) || e.thread != write.thread || e.number >= write.number) {
        continue;
      }
      const bool reads = e.event.kind == event_kind::read && e.event.address == write.event.address &&
                         e.event.bytes == write.event.bytes && e.at->code == op::load;
      read = reads ? &e : waits_for_others(e) ? nullptr : read;
    }
    return read != nullptr && write.at->code == op::store && decides(*context_of(write).kernel, pc_of(*read), pc_of(write))
               ? read
               : nullptr;
  }

  /// Returns whether `e` is a plain write that depends on a read of the same bytes, or such a read.
  [[nodiscard]] bool tests(const trace_event& e) const {
    if (is_copy(e) || e.at->code != op::load) {
      return tested_by(e) != nullptr;
    }
    const kernel_code& kernel = *context_of(e).kernel;
    for (std::int32_t pc = 0; pc < model::count_of(kernel.code); ++pc) {
      const instruction& i = model::at(kernel.code, pc);
      const bool is_same_address = i.code == op::store && i.by[0].kind == e.at->by[0].kind &&
                                   i.by[0].word == e.at->by[0].word && i.by[0].low == e.at->by[0].low &&
                                   i.offset == e.at->offset && i.bytes == e.at->bytes;
      if (is_same_address && decides(kernel, pc_of(e), pc)) {
        return true;
      }
    }
    return false;
  }

  [[nodiscard]] static bool is_among(const std::vector<std::int32_t>& words, const source_operand& o) {
    return o.kind == source_operand::kind_t::reg && std::ranges::find(words, o.word) != words.end();
  }

  /// Returns whether the value of the read at `from`, and nothing else between them, decides whether the store at `to` is executed,
  /// or whether the value stored is computed from it and the store is always executed after the read.
  [[nodiscard]] static bool decides(const kernel_code& kernel, std::int32_t from, std::int32_t to) {
    const instruction& store = model::at(kernel.code, to);
    const std::vector<std::int32_t> words = words_computed_from(kernel, from);
    const auto depends = [&](std::int32_t word) { return std::ranges::find(words, word) != words.end(); };
    const std::vector<bool> after_read = reached_from(kernel, from, to);
    bool found = store.guard >= 0 ? depends(store.guard) : is_among(words, store.by[1]);
    if ((store.guard >= 0 && !found) || !reached_from(kernel, from)[static_cast<std::size_t>(to)]) {
      return false;
    }
    const std::vector<std::vector<std::int32_t>> next = next_instructions(kernel);
    // how threads continue from an instruction: whether they may perform the write, and whether they may skip it
    const auto continues = [&](std::int32_t pc) {
      if (pc == to || pc == from || pc == model::count_of(kernel.code)) {
        return std::pair(pc == to, pc != to);
      }
      const std::vector<bool> before_read = reached_from(kernel, pc, from);
      const std::vector<bool> without_write = reached_from(kernel, pc, to);
      return std::pair<bool, bool>(before_read[static_cast<std::size_t>(to)],
                                   without_write[static_cast<std::size_t>(from)] || without_write.back());
    };
    for (std::int32_t pc = 0; pc < model::count_of(kernel.code); ++pc) {
      const std::vector<std::int32_t>& then = model::at(next, pc);
      if (!after_read[static_cast<std::size_t>(pc)] || then.size() < 2 || !continues(pc).first ||
          std::ranges::all_of(then, [&](std::int32_t n) { return continues(n) == continues(then.front()); })) {
        continue;
      }
      if (!depends(model::at(kernel.code, pc).guard)) {
        return false;
      }
      found = true;
    }
    return found;
  }

  /// Returns the register words that may be computed from the value of the read at `read`, without passing through memory.
  [[nodiscard]] static std::vector<std::int32_t> words_computed_from(const kernel_code& kernel, std::int32_t read) {
    const std::vector<bool> later = reached_from(kernel, read);
    std::vector<std::int32_t> words;
    const auto has = [&](std::int32_t word) { return std::ranges::find(words, word) != words.end(); };
    const auto add = [&](const instruction& i) {
      const std::size_t before = words.size();
      for (unsigned d = 0; d < i.destinations; ++d) {
        for (std::int32_t w = i.to[d].word; w >= 0 && w < i.to[d].word + (i.to[d].bits > 64 ? 2 : 1); ++w) {
          if (!has(w)) {
            words.push_back(w);
          }
        }
      }
      return words.size() > before;
    };
    for (bool grows = add(model::at(kernel.code, read)); grows;) {
      grows = false;
      for (std::int32_t pc = 0; pc < model::count_of(kernel.code); ++pc) {
        const instruction& i = model::at(kernel.code, pc);
        const bool uses = std::ranges::any_of(
            i.by, [&](const source_operand& o) { return o.kind == source_operand::kind_t::reg && has(o.word); });
        grows =
            (later[static_cast<std::size_t>(pc)] && !is_event(i.code) && (uses || (i.guard >= 0 && has(i.guard))) && add(i)) ||
            grows;
      }
    }
    return words;
  }

  // ---- mbarriers

  /// Returns whether `e` is an arrival at an mbarrier.
  [[nodiscard]] bool is_arrival(const trace_event& e) const {
    return !is_copy(e) && e.event.kind == event_kind::write && arrives(e.at->mbarrier);
  }

  static constexpr std::uint64_t phases = 8;  ///< the number of phases that an mbarrier's state distinguishes

  /// Returns whether `e` is a successful wait for a phase of an mbarrier.
  [[nodiscard]] static bool is_wait(const trace_event& e) {
    return e.event.kind == event_kind::read && e.at->mbarrier == mbarrier_op::test && e.event.passes;
  }

  /// Returns the number of phases, modulo 8, from the phase to which `arrival` contributes to the phase that `wait` finds.
  /// Returns 0 if they do not concern the same mbarrier.
  [[nodiscard]] std::uint64_t phases_between(const trace_event& arrival, const trace_event& wait) const {
    if (!is_arrival(arrival) || !is_wait(wait) || wait.event.address != arrival.event.address) {
      return 0;
    }
    const std::uint64_t phase = mbarrier_state::of(arrival.event.value.low).phase + phases - (arrival.event.completes ? 1 : 0);
    return (mbarrier_state::of(wait.event.value.low).phase + phases - phase % phases) % phases;
  }

  /// Returns whether `wait` is a successful wait for the phase to which `arrival` contributes, or for a later phase.
  [[nodiscard]] bool observes(const trace_event& wait, const trace_event& arrival) const {
    const std::uint64_t passed = phases_between(arrival, wait);
    return passed != 0 && passed <= phases / 2;
  }

  /// Adds a note if an mbarrier or a named barrier is meant to order the accesses, but the arrival does not follow the first
  /// access. Returns whether it did.
  [[nodiscard]] bool add_misplaced_arrival() {
    const auto add = [&](const auto& arrivals) {
      return arrivals(*first_, *second_) || (finding_.status == check_status::race && arrivals(*second_, *first_));
    };
    return add([&](const trace_event& x, const trace_event& y) { return add_early_arrival(x, y, arrival_for(x, y, true)); }) ||
           add([&](const trace_event& x, const trace_event& y) { return add_early_arrival(x, y, named_arrival_for(x, y)); }) ||
           add([&](const trace_event& x, const trace_event& y) { return add_early_arrival(x, y, arrival_for(x, y, false)); });
  }

  /// Adds a note about an arrival that does not follow access `x`, and the wait for it that precedes access `y`, unless the
  /// arrival is null. Returns whether it did.
  [[nodiscard]] bool add_early_arrival(const trace_event& x, const trace_event& y,
                                       const std::pair<const trace_event*, const trace_event*>& found) {
    const auto [arrival, wait] = found;
    if (arrival == nullptr) {
      return false;
    }
    const bool named = arrival->event.kind == event_kind::barrier;
    const std::string barrier = named ? "named barrier " + std::to_string(sync_points::number_of(arrival->event.sync_point))
                                      : place_text(program_, wait->event.address);
    const std::string at = "the arrival at " + (named ? barrier + " at " : "") + place(*arrival);
    notes_.push_back(pc_of(*arrival) < pc_of(x)
                         ? at + " comes before " + place(x) + ", so the wait for " + barrier + " at " + place(*wait) +
                               " does not order " + place(x) + " before " + place(y) + ": move the arrival after " + place(x)
                         : at + " is performed on behalf of its warp, and no barrier orders " + place(x) +
                               " in the other threads before it: add __syncwarp() between them");
    return true;
  }

  /// Returns the last arrival at a named barrier that the thread of access `x` performs too early, before `x`, and the wait at
  /// this barrier that precedes access `y`. Returns null pointers if there is no such arrival.
  [[nodiscard]] std::pair<const trace_event*, const trace_event*> named_arrival_for(const trace_event& x,
                                                                                    const trace_event& y) const {
    std::pair<const trace_event*, const trace_event*> result;
    for (const trace_event* a : arrivals(x, true)) {
      for (const trace_event* w : arrivals(start_of(y), true)) {
        const bool meets =
            w->at->code == op::block_barrier && w->event.sync_point == a->event.sync_point && w->event.turn == a->event.turn;
        if (!is_copy(x) && a->at->code == op::block_arrive && is_too_early(*a, x) && meets) {
          result = {a, w};
        }
      }
    }
    return result;
  }

  /// Returns the last arrival at an mbarrier that is meant to release access `x`, and the wait for it that precedes access `y`.
  /// The arrival is performed by the thread of `x` before `x` (`own`), or by another thread of its warp if the thread of `x`
  /// does not arrive at the mbarrier itself. Returns null pointers if there is no such arrival. An arrival does not release a
  /// copy's accesses, wherever it is.
  [[nodiscard]] std::pair<const trace_event*, const trace_event*> arrival_for(const trace_event& x, const trace_event& y,
                                                                              bool own) const {
    std::pair<const trace_event*, const trace_event*> result;
    const trace_event& before = start_of(y);
    for (const trace_event& a : finding_.events) {
      if (is_copy(x) || !is_arrival(a)) {
        continue;
      }
      const bool of_thread = own ? a.thread == x.thread && a.number < x.number && is_too_early(a, x)
                                 : a.thread != x.thread && a.thread != before.thread && in_one_warp(a, x) &&
                                       !arrives_at(x.thread, a) && !is_of_earlier_round(a, x);
      for (std::size_t k = 0; of_thread && k < finding_.events.size(); ++k) {
        const trace_event& w = finding_.events[k];
        if (w.thread == before.thread && w.number < before.number && phases_between(a, w) == 1 && is_last_wait(w, before) &&
            !is_answered(w, k, a, x)) {
          result = {&a, &w};
          break;
        }
      }
    }
    return result;
  }

  /// Returns whether `arrival` precedes access `x` of the same thread in the code, and both of them belong to the same round: the
  /// thread does not wait between them, and does not execute the code of `x` between its last wait and the arrival.
  [[nodiscard]] bool is_too_early(const trace_event& arrival, const trace_event& x) const {
    bool already_accessed = false;
    for (const trace_event& e : finding_.events) {
      if (e.thread != x.thread || e.number >= x.number) {
        continue;
      }
      const bool waits = waits_for_others(e);
      if (waits && e.number > arrival.number) {
        return false;
      }
      if (e.number < arrival.number) {
        already_accessed = !waits && (already_accessed || place(e) == place(x));
      }
    }
    return pc_of(arrival) < pc_of(x) && !already_accessed;
  }

  /// Returns whether barriers show that `arrival` releases accesses of an earlier round than access `x` of another thread: a
  /// barrier orders the arrival before `x`, or orders an earlier execution of the code of `x` before the arrival.
  [[nodiscard]] bool is_of_earlier_round(const trace_event& arrival, const trace_event& x) const {
    return is_before_barrier(arrival, x) ||
           std::any_of(finding_.events.begin(), finding_.events.end(), [&](const trace_event& e) {
             return e.thread == x.thread && e.number < x.number && place(e) == place(x) && is_before_barrier(e, arrival);
           });
  }

  /// Returns whether a barrier of a block or a warp orders event `x` before event `y` of another thread.
  [[nodiscard]] bool is_before_barrier(const trace_event& x, const trace_event& y) const {
    const auto is_barrier = [](const trace_event& e) { return e.event.kind == event_kind::barrier && e.event.arrives; };
    return std::any_of(finding_.events.begin(), finding_.events.end(), [&](const trace_event& e) {
      return e.thread == x.thread && e.number > x.number && is_barrier(e) &&
             std::any_of(finding_.events.begin(), finding_.events.end(), [&](const trace_event& o) {
               return o.thread == y.thread && o.number < y.number && is_barrier(o) &&
                      o.event.sync_point == e.event.sync_point && o.event.turn == e.event.turn;
             });
    });
  }

  /// Returns whether `wait` is the last successful wait for its mbarrier that its thread performs before `e`.
  [[nodiscard]] bool is_last_wait(const trace_event& wait, const trace_event& e) const {
    return std::none_of(finding_.events.begin(), finding_.events.end(), [&](const trace_event& o) {
      return o.thread == wait.thread && o.number > wait.number && o.number < e.number && is_wait(o) &&
             o.event.address == wait.event.address;
    });
  }

  /// Returns the event that starts the copy that performs `e`, or `e` itself if a thread performs it.
  [[nodiscard]] const trace_event& start_of(const trace_event& e) const {
    const auto start = std::find_if(finding_.events.begin(), finding_.events.end(), [&](const trace_event& s) {
      return s.event.kind == event_kind::issue && s.event.starts == e.thread;
    });
    return start == finding_.events.end() ? e : *start;
  }

  /// Returns whether a thread arrives at the mbarrier at which `arrival` arrives.
  [[nodiscard]] bool arrives_at(int thread, const trace_event& arrival) const {
    return std::any_of(finding_.events.begin(), finding_.events.end(), [&](const trace_event& e) {
      return e.thread == thread && is_arrival(e) && e.event.address == arrival.event.address;
    });
  }

  /// Returns whether the thread of `x` synchronizes, between `arrival` and `x`, with what follows `wait`, which has the index
  /// `place` in the finding. The arrival and the wait then belong to an earlier use of the memory.
  [[nodiscard]] bool is_answered(const trace_event& wait, std::size_t place, const trace_event& arrival,
                                 const trace_event& x) const {
    if (!barriers(wait, x).empty()) {
      return true;
    }
    const int since = arrival.thread == x.thread ? arrival.number : -1;
    for (std::size_t k = place + 1; k < finding_.events.size(); ++k) {
      const trace_event& back = finding_.events[k];
      const bool follows = is_arrival(back) && in_one_warp(back, wait) && back.thread != x.thread;
      if (follows && std::any_of(finding_.events.begin(), finding_.events.end(), [&](const trace_event& e) {
            return e.thread == x.thread && e.number > since && e.number < x.number && observes(e, back);
          })) {
        return true;
      }
    }
    return false;
  }

  // ---- flags that are written too early

  /// Returns whether a thread may learn at `e` what other threads have done.
  [[nodiscard]] static bool waits_for_others(const trace_event& e) {
    const bool reads_flag = e.event.kind == event_kind::read && e.event.strong && e.at->mbarrier == mbarrier_op::none &&
                            e.source_thread >= 0 && e.source_thread != e.thread;
    return is_wait(e) || reads_flag || e.event.kind == event_kind::barrier;
  }

  /// Adds a note if the thread of one access writes a flag before that access, although the other thread waits for the flag before
  /// its access. Returns whether it did.
  [[nodiscard]] bool add_early_flag() {
    return blamed_ == 2 && values_.empty() && !is_copy(*first_) && !is_copy(*second_) &&
           (add_early_flag(*first_, *second_) || add_early_flag(*second_, *first_));
  }

  /// As above. `x` is the access that follows the write of the flag, and `y` is the access that follows the wait.
  [[nodiscard]] bool add_early_flag(const trace_event& x, const trace_event& y) {
    const auto [flag, wait] = early_flag_for(x, y);
    if (flag == nullptr) {
      return false;
    }
    const bool reads = x.event.kind == event_kind::read;
    const std::string name = place_text(program_, flag->event.address);
    const std::string early = place(*flag) + " writes " + name + " before " + place(x) + (reads ? " reads " : " writes ") +
                              place_text(program_, x.event.address) + ", so the read of " + name + " at " + place(*wait) +
                              " does not order " + place(x) + " before " + place(y) + ": ";
    notes_.push_back(early + (flag->event.rmw ? "if the access at " + place(x) + " cannot precede the update at " +
                                                    place(*flag) + ", write another flag with release after " + place(x) +
                                                    ", and wait for that flag with acquire before " + place(y)
                                              : "move the write of " + name + " after " + place(x)));
    return true;
  }

  /// Returns the write of a flag that the thread of access `x` performs too early, before `x`, and the read of this value that
  /// precedes access `y`. Returns null pointers if there is no such write.
  [[nodiscard]] std::pair<const trace_event*, const trace_event*> early_flag_for(const trace_event& x,
                                                                                 const trace_event& y) const {
    std::map<std::uint64_t, std::pair<const trace_event*, const trace_event*>> last;  // per flag: the last read before `y`
    for (const trace_event& r : finding_.events) {
      const trace_event* const w = source_of(r);
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
      const bool counts = r->at == w->at && is_update(*r);
      const bool later = result.first == nullptr || result.first->number < w->number;
      if (w->number < x.number && later && !counts && is_too_early(*w, x)) {
        result = found;
      }
    }
    return result;
  }

  /// Returns whether a read is the first half of a read-modify-write that also writes.
  [[nodiscard]] bool is_update(const trace_event& read) const {
    const auto next = index_.find({read.thread, read.number + 1});
    return next != index_.end() && updates(read, *next->second);
  }

  // ---- flags

  void add_access(const trace_event& e, const trace_event& other) {
    const bool suffices = e.event.strong && scope_gap(program_, e.thread, e.event.scope, other.thread).empty();
    const thread_scope scope = scope_with(program_, e.thread, other.thread, e.event.address);
    const memory_order order = e.event.strong ? e.at->order : order_of(e);
    const std::string access = suffices || !has_spelling(e) ? "" : in_cuda(e.at->code, e.at->what, order, scope).cuda;
    if (access.empty()) {
      return;
    }
    const std::string kind = e.at->code == op::load ? "load" : e.at->code == op::store ? "store" : "update";
    const std::string to = scope == thread_scope::block ? "block" : scope == thread_scope::device ? "device" : "system";
    notes_.push_back((e.event.strong ? "widen the scope of the " + kind + " at " + place(e) + " to " + to
                                     : "if this race is intended, make the " + kind + " atomic at " + to + " scope") +
                     ": " + access);
  }

  /// Returns whether the event's instruction is at least as strong as `order`.
  [[nodiscard]] static bool orders(const trace_event& e, memory_order order) {
    const memory_order own = e.at->order;
    return e.at->strong && (own == order || own == memory_order::acq_rel || own == memory_order::seq_cst);
  }

  /// Returns the order that an access to a flag needs.
  [[nodiscard]] static memory_order order_of(const trace_event& e) {
    return e.at->code == op::atomic ? memory_order::acq_rel
           : e.at->code == op::load ? memory_order::acquire
                                    : memory_order::release;
  }

  /// Returns whether the access is performed by a kernel's thread and C++ has a function for it.
  [[nodiscard]] bool has_spelling(const trace_event& e) const {
    return !model::at(program_.threads, e.thread).where.host && !is_copy(e) && e.at->elements == 1 &&
           e.at->mbarrier == mbarrier_op::none;
  }

  [[nodiscard]] bool is_copy(const trace_event& e) const { return model::at(program_.threads, e.thread).copies_of >= 0; }
  [[nodiscard]] int block_of(int thread) const { return model::at(program_.threads, thread).block_number; }
  [[nodiscard]] std::string place(const trace_event& e) const {
    return place_of(program_, issuer_of(program_, e.thread), *e.at);
  }

  /// Finds the flag: the last read of a value that was written by the first access's thread or, failing that, by its block. The
  /// read must be performed by the second access's thread or, failing that, by its block. A flag with strong accesses on both
  /// sides is preferred to other locations.
  void find_flag() {
    const bool one_block = block_of(first_->thread) == block_of(second_->thread);
    int best = 0;
    for (const trace_event& r : finding_.events) {
      const trace_event* const source = source_of(r);
      if (source == nullptr || is_copy(r)) {
        continue;
      }
      const trace_event& w = *source;
      const bool by_writer = w.thread == first_->thread && w.number > first_->number;
      const bool by_reader = r.thread == second_->thread && r.number < second_->number;
      const bool for_writer = !one_block && w.thread != first_->thread && block_of(w.thread) == block_of(first_->thread);
      const bool for_reader = !one_block && r.thread != second_->thread && block_of(r.thread) == block_of(second_->thread);
      // In another iteration of a loop, a flag may be accessed on the wrong side of a barrier.
      if ((for_writer && !may_precede(*first_, w)) || (for_reader && !may_precede(r, *second_))) {
        continue;
      }
      const int strong = w.event.strong && r.event.strong ? 4 : 0;
      if (one_block && strong == 0) {
        continue;  // within a block, weak accesses are more likely to be data than a flag
      }
      const int rank = strong + (by_writer ? 2 : for_writer ? 1 : -9) + (by_reader ? 2 : for_reader ? 1 : -9);
      if (rank >= best && rank > 0 && w.event.address != first_->event.address) {
        best = rank;
        values_ = {{&w, &r}};
      }
    }
  }

  /// Finds the shortest chain of flags through which other blocks pass the first access's data on to the second access's block.
  /// All accesses to the flags are strong, because a weak access to one of them would be a race that is found first. A
  /// read-modify-write continues a flag's release sequence and therefore does not make the chain longer.
  void find_chain() {
    if (block_of(first_->thread) == block_of(second_->thread)) {
      return;
    }
    const std::vector<passed_value> all = strong_flags();
    constexpr std::size_t none = static_cast<std::size_t>(-1);
    std::vector<std::size_t> previous(all.size(), none);   // the flag before it in the chain; its own index for the first one
    std::deque<std::pair<std::size_t, std::size_t>> next;  // a flag and the flag before it, nearest first
    for (std::size_t n = 0; n < all.size(); ++n) {
      const trace_event& w = *all[n].write;
      if (w.event.address != first_->event.address &&
          (w.thread == first_->thread ? w.number > first_->number : in_one_block(*first_, w) && may_precede(*first_, w))) {
        next.emplace_back(n, n);
      }
    }
    while (!next.empty()) {
      auto [at, before] = next.front();
      next.pop_front();
      if (previous[at] != none) {
        continue;
      }
      previous[at] = before;
      const trace_event& r = *all[at].read;
      if (r.thread == second_->thread ? r.number < second_->number : in_one_block(r, *second_) && may_precede(r, *second_)) {
        for (values_ = {all[at]}; previous[at] != at; values_.insert(values_.begin(), all[at])) {
          at = previous[at];
        }
        return;
      }
      for (std::size_t n = 0; n < all.size(); ++n) {
        const trace_event& w = *all[n].write;
        if (previous[n] == none && updates(r, w)) {
          next.emplace_front(n, at);
        } else if (previous[n] == none &&
                   (w.thread == r.thread ? w.number > r.number : in_one_block(r, w) && !barriers(r, w).empty())) {
          next.emplace_back(n, at);
        }
      }
    }
  }

  /// Returns the values that strong accesses pass from one thread to another.
  [[nodiscard]] std::vector<passed_value> strong_flags() const {
    std::vector<passed_value> result;
    for (const trace_event& r : finding_.events) {
      const trace_event* const w = source_of(r);
      if (w != nullptr && w->thread != r.thread && w->event.strong && r.event.strong && !is_copy(*w) && !is_copy(r)) {
        result.push_back({w, &r});
      }
    }
    return result;
  }

  /// Returns the write whose value event `e` reads, or null if there is not exactly one.
  [[nodiscard]] const trace_event* source_of(const trace_event& e) const {
    const auto source = index_.find({e.source_thread, e.source_number});
    return e.event.kind != event_kind::read || source == index_.end() ? nullptr : source->second;
  }

  [[nodiscard]] bool in_one_block(const trace_event& x, const trace_event& y) const {
    return !model::at(program_.threads, x.thread).where.host && block_of(x.thread) == block_of(y.thread);
  }

  /// Returns whether `x` comes before `y`, an event of another thread of the block, or would come before it if the code had an
  /// additional barrier.
  [[nodiscard]] bool may_precede(const trace_event& x, const trace_event& y) const {
    const auto passed_by_x = arrivals(x, true).size();
    const auto passed_by_y = arrivals(y, true).size();
    const auto is_between = [&](const trace_event* a) { return x.event.pc < a->event.pc && a->event.pc < y.event.pc; };
    const bool has_barrier =
        std::ranges::any_of(arrivals(x, false), is_between) || std::ranges::any_of(arrivals(y, true), is_between);
    return passed_by_x < passed_by_y || (passed_by_x == passed_by_y && !has_barrier);
  }

  /// Returns the arrivals of `e`'s thread at block barriers, before or after `e`.
  [[nodiscard]] std::vector<const trace_event*> arrivals(const trace_event& e, bool before) const {
    std::vector<const trace_event*> result;
    for (const trace_event& a : finding_.events) {
      const bool is_arrival = a.event.arrives && a.event.kind == event_kind::barrier &&
                              (a.at->code == op::block_barrier || a.at->code == op::block_arrive);
      if (is_arrival && a.thread == e.thread && (before ? a.number < e.number : a.number > e.number)) {
        result.push_back(&a);
      }
    }
    return result;
  }

  /// Returns the block barriers that order event `x` before event `y` of another thread, as arrivals of `x`'s thread and of
  /// `y`'s thread, in execution order.
  [[nodiscard]] std::vector<std::pair<const trace_event*, const trace_event*>> barriers(const trace_event& x,
                                                                                        const trace_event& y) const {
    std::vector<std::pair<const trace_event*, const trace_event*>> result;
    const std::vector<const trace_event*> late = arrivals(y, true);
    for (const trace_event* a : arrivals(x, false)) {
      const auto same = std::find_if(late.begin(), late.end(), [&](const trace_event* b) {
        return b->at->code == op::block_barrier && b->event.sync_point == a->event.sync_point && b->event.turn == a->event.turn;
      });
      if (same != late.end()) {
        result.emplace_back(a, *same);
      }
    }
    return result;
  }

  /// Returns the event that precedes the write of a value in the handover: the first access, or the read of the previous value.
  [[nodiscard]] const trace_event& before(std::size_t n) const { return n == 0 ? *first_ : *values_[n - 1].read; }

  /// Says what is missing in the handover.
  void add_handover() {
    for (std::size_t n = 0; n < values_.size(); ++n) {
      const auto& [write, read, publications] = values_[n];
      const trace_event& publication = *publications.front();
      // A read-modify-write continues the release sequence of the value that it reads, even if it is relaxed.
      const bool continues = n > 0 && updates(*values_[n - 1].read, *write);
      const bool is_continued = n + 1 < values_.size() && updates(*read, *values_[n + 1].write);
      const bool releases = look_at_writer(before(n), publications, *read, continues);
      const bool acquires =
          look_at_reader(*write, *read, n + 1 == values_.size() ? *second_ : *values_[n + 1].write, is_continued);
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
  }

  /// Returns whether `read` and `write` are the two halves of a read-modify-write.
  [[nodiscard]] static bool updates(const trace_event& read, const trace_event& write) {
    return read.event.rmw && write.event.rmw && read.thread == write.thread && read.number + 1 == write.number;
  }

  /// Returns the event of `write`'s thread from which on `data` precedes the thread's events: `data` itself, or the thread's
  /// arrival at a barrier of the block. Returns null if no barrier orders `data` before `write`.
  [[nodiscard]] const trace_event* start_after(const trace_event& data, const trace_event& write) const {
    if (write.thread == data.thread) {
      return &data;
    }
    const auto met = barriers(data, write);
    return met.empty() ? nullptr : met.front().second;
  }

  /// Returns the strong writes to the flag that `write`'s thread performs after `data`, up to `write`. A read of `write`
  /// synchronizes with each of them that releases, so the first one is the one that should release `data`. Source: PTX ISA,
  /// "Release pattern".
  [[nodiscard]] std::vector<const trace_event*> publications_of(const trace_event& data, const trace_event& write) const {
    std::vector<const trace_event*> result;
    const trace_event* const from = start_after(data, write);
    for (const trace_event& e : finding_.events) {
      const bool is_between = from != nullptr && e.thread == write.thread && e.number > from->number && e.number < write.number;
      if (is_between && e.event.kind == event_kind::write && e.event.strong && e.event.address == write.event.address &&
          e.event.bytes == write.event.bytes) {
        result.push_back(&e);
      }
    }
    result.push_back(&write);
    return result;
  }

  /// Returns whether a flag's writes, the last of which is read, release what precedes them from `data` on, assuming that no
  /// barrier of the block is missing. Otherwise, adds a note. `read` reads the flag. If `continues` is set, the writes do not
  /// need to release.
  [[nodiscard]] bool look_at_writer(const trace_event& data, const std::vector<const trace_event*>& writes,
                                    const trace_event& read, bool continues) {
    const trace_event& write = *writes.back();
    const trace_event* const from = start_after(data, write);
    if (from == nullptr) {
      notes_.push_back(place(write) + " writes " + place_text(program_, write.event.address) +
                       " on behalf of its block, and no barrier orders " + place(data) + " in the other threads before it" +
                       missing_barrier(write, true));
      return true;
    }
    const bool releases = std::ranges::any_of(writes, [&](const trace_event* w) {
      return w->event.releases && scope_gap(program_, w->thread, w->event.scope, read.thread).empty();
    });
    if (!has_scope("written", write, read) ||
        !look_for_fence(*from, write, releases || continues, true, *writes.front(), data, read.thread)) {
      return false;
    }
    const trace_event* const same =
        find_same_access(data, write, [&](const trace_event& e) { return !barriers(e, write).empty(); });
    return same == nullptr ||
           look_for_fence(*start_after(*same, write), write, releases || continues, true, *writes.front(), *same, read.thread);
  }

  /// Like `look_at_writer`, for the flag's read, which must acquire for what follows it up to `data`.
  [[nodiscard]] bool look_at_reader(const trace_event& write, const trace_event& read, const trace_event& data,
                                    bool continued) {
    const trace_event* to = &data;
    if (read.thread != data.thread) {
      const auto met = barriers(read, data);
      if (!met.empty()) {
        to = met.back().first;
      } else {
        notes_.push_back(place(read) + " reads " + place_text(program_, read.event.address) +
                         " on behalf of its block, and no barrier orders it before " + place(data) + " in the other threads" +
                         missing_barrier(read, false));
        return true;
      }
    }
    const bool acquires = read.event.acquires || continued;
    if (!has_scope("read", read, write) || !look_for_fence(read, *to, acquires, false, read, data, write.thread)) {
      return false;
    }
    const trace_event* const same =
        find_same_access(data, read, [&](const trace_event& e) { return !barriers(read, e).empty(); });
    return same == nullptr ||
           look_for_fence(read, *barriers(read, *same).back().first, acquires, false, read, *same, write.thread);
  }

  /// If thread `flag.thread` performs the access `data` itself, returns an access to the same object with the same instruction in
  /// another thread of its block that `is_ordered` accepts. The flag must usually order this access, too. Returns null if there
  /// is none.
  template <class Accepts>
  [[nodiscard]] const trace_event* find_same_access(const trace_event& data, const trace_event& flag,
                                                    const Accepts& is_ordered) const {
    const auto same = std::ranges::find_if(finding_.events, [&](const trace_event& e) {
      return data.thread == flag.thread && e.thread != data.thread && block_of(e.thread) == block_of(data.thread) &&
             !is_copy(e) && e.at == data.at && e.event.kind == data.event.kind &&
             object_text(program_, e.event.address) == object_text(program_, data.event.address) && is_ordered(e);
    });
    return same == finding_.events.end() ? nullptr : &*same;
  }

  /// Returns whether access `e` to the flag is strong and its scope includes the thread of `other`. Otherwise, adds a note.
  [[nodiscard]] bool has_scope(const std::string& what, const trace_event& e, const trace_event& other) {
    const std::string flag = place_text(program_, e.event.address) + " is " + what + " at " + place(e);
    const std::string gap = e.event.strong ? scope_gap(program_, e.thread, e.event.scope, other.thread) : "";
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
    for (const trace_event& e : finding_.events) {
      if (e.thread == flag.thread && e.number > from.number && e.number < to.number && e.event.kind == event_kind::fence &&
          (releases ? e.event.releases : e.event.acquires)) {
        const std::string gap = scope_gap(program_, e.thread, e.event.scope, other);
        ordered = ordered || gap.empty();
        narrow = gap.empty() ? narrow : "; the fence at " + place(e) + " has " + gap;
      }
    }
    if (ordered) {
      return true;
    }
    notes_.push_back(place_text(program_, flag.event.address) + " is " + (releases ? "written" : "read") + " at " +
                     place(flag) + (releases ? " without a release" : " without an acquire") +
                     (narrow.empty() ? ", and there is no fence between it and " + end_of(releases ? from : to, data) +
                                           misplaced_fence(from, releases ? flag : to, releases)
                                     : narrow));
    return false;
  }

  /// Names the event before or after which a fence must be: `data`, or the barrier that is between the flag and `data` in the other
  /// threads of the block.
  [[nodiscard]] std::string end_of(const trace_event& e, const trace_event& data) const {
    return e.event.kind != event_kind::barrier
               ? place(data)
               : "the barrier at " + place(e) + ", which separates it from " + place(data) + " in other threads";
  }

  /// Adds a note that says how a thread's access to the flag can release or acquire in C++. A fence is sufficient only if the
  /// access is strong and its scope includes the other thread.
  void add_remedy(const trace_event& flag, const trace_event& other, memory_order order) {
    const instruction& i = *flag.at;
    if (!has_spelling(flag)) {
      return;
    }
    const bool reads = flag.event.kind == event_kind::read;
    const thread_scope scope = scope_with(program_, flag.thread, other.thread, flag.event.address);
    const std::string access = in_cuda(i.code, i.what, order, scope).cuda;
    const std::string fence = in_cuda(op::fence, {}, order, scope).cuda;
    const bool fence_is_enough = flag.event.strong && scope_gap(program_, flag.thread, flag.event.scope, other.thread).empty();
    const std::string fenced = fence + (i.code == op::load ? " after the load (after the loop if the load polls)"
                                        : reads            ? " after the access"
                                                           : " before the access");
    if (!access.empty() || fence_is_enough) {
      notes_.push_back(std::string(reads ? "acquire" : "release") + " in C++: " + access +
                       (!access.empty() && fence_is_enough ? ", or " : "") + (fence_is_enough ? fenced : ""));
    }
  }

  /// Describes which barrier is missing, and where the flag's thread may execute a block barrier that is on the wrong side of
  /// its access to the flag: after the write, or before the read.
  [[nodiscard]] std::string missing_barrier(const trace_event& flag, bool releases) const {
    const kernel_code& kernel = *model::at(program_.threads, flag.thread).kernel;
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
                               : "; the barrier at " + place_of(program_, flag.thread, *barrier) + " comes " +
                                     (releases ? "after " : "before ") + place(flag));
  }

  /// Describes where the thread has executed, or may still execute, a fence that is not between the two events.
  [[nodiscard]] std::string misplaced_fence(const trace_event& from, const trace_event& to, bool releases) const {
    const kernel_code& kernel = *model::at(program_.threads, from.thread).kernel;
    const std::vector<bool> reached = reached_from(kernel, static_cast<std::int32_t>(to.event.pc));
    const instruction* before = nullptr;
    const instruction* after = nullptr;
    const auto was_executed = [&](int pc) {
      return std::any_of(finding_.events.begin(), finding_.events.end(), [&](const trace_event& e) {
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
      const std::string at = place_of(program_, from.thread, fence);
      return at == place(of) ? std::string()
                             : "; the fence at " + at + " comes " + side + " " +
                                   (of.event.kind == event_kind::barrier ? "this barrier" : place(of));
    };
    if (releases) {
      return after != nullptr ? text(*after, "after", to) : before != nullptr ? text(*before, "before", from) : "";
    }
    return before != nullptr ? text(*before, "before", from) : after != nullptr ? text(*after, "after", to) : "";
  }

  const program& program_;
  const finding& finding_;
  std::map<std::pair<int, int>, const trace_event*> index_{};
  int blamed_ = 0;
  const trace_event* first_ = nullptr;
  const trace_event* second_ = nullptr;
  std::vector<passed_value> values_{};  ///< the values of the handover
  std::vector<std::string> notes_{};
};

}  // namespace

handover handover_of(const program& whole, const finding& f) {
  return f.status == check_status::race ? synchronization(whole, f).ends() : handover{};
}

std::vector<std::string> race_notes(const program& launched, const finding& f) {
  const bool early = f.status == check_status::uninitialised;
  if (f.status != check_status::race && !early) {
    return {};
  }
  synchronization found(whole_program(launched, f), f);
  return early ? found.notes_of_early_read() : found.notes();
}

std::vector<std::string> access_notes(const program& launched, const finding& f) {
  if (f.status != check_status::race) {
    return {};
  }
  return synchronization(whole_program(launched, f), f).access_notes();
}

}  // namespace membar::check
