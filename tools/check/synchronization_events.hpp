// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
/// @file
/// Creates a thread's next event if the event does not access memory: a fence, a barrier, the start of an asynchronous copy, or
/// a wait for copies.
#pragma once

#include <check/async_copies.hpp>
#include <check/barrier_alignment.hpp>
#include <check/event_builder.hpp>
#include <check/exploration_state.hpp>
#include <check/graph.hpp>
#include <check/machine.hpp>
#include <check/mbarrier_state.hpp>
#include <check/memory_bytes.hpp>
#include <check/sync_points.hpp>
#include <check/trace.hpp>
#include <membar/memory_order.hpp>
#include <membar/model/array.hpp>
#include <membar/model/program.hpp>

#include <algorithm>
#include <array>
#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace membar::check::detail {

/// Creates the events of one exploration that do not access memory, and determines what they order.
class synchronization_events {
 public:
  synchronization_events(exploration_state& state, event_builder& build) : state_(state), build_(build) {}

  /// Returns the thread that ended the exploration because it starts more operations than can be performed, and how many
  /// threads start one of these operations together. The thread is -1 if there is none.
  [[nodiscard]] std::pair<int, int> lacking() const noexcept { return lacking_; }

  [[nodiscard]] const graph_event& next_fence(const graph& g, int t) {
    const instruction& i = model::at(state_.machines, t).at(state_of(g, t));
    graph_event& e = build_.make_event(g, t, event_kind::fence);
    e.strong = true;
    e.scope = i.scope;
    e.acquires = model::acquires(i.order);
    e.releases = model::releases(i.order);
    e.sequential = i.order == memory_order::seq_cst;
    e.restricted = i.restricted;
    if (e.restricted) {
      state_.rules.join(const_cast<std::uint16_t*>(e.begun), e.base);
    }
    if (e.acquires) {
      state_.rules.acquire(g, e);
    }
    return e;
  }

  /// Creates an arrival at a sync point, or the continuation after it. At a continuation, `seen` receives the thread's result.
  /// Returns null if it reports an error. `chosen` is the sync point if the instruction does not determine it.
  [[nodiscard]] const graph_event* next_at_sync_point(const graph& g, int t, wide_value& seen, std::uint64_t chosen) {
    const thread_state& s = state_of(g, t);
    graph_event& e = build_.make_event(g, t, event_kind::barrier);
    const instruction& i = model::at(state_.machines, t).at(s);
    const bool cluster = i.code == op::cluster_arrive || i.code == op::cluster_wait;
    std::string wrong;
    if (const char* const misuse = cluster ? state_.points.misuse_of_cluster_barrier(g, t, i) : nullptr; misuse != nullptr) {
      state_.report_of(g, t, check_status::undefined, "thread " + std::to_string(t) + " " + misuse);
      return nullptr;
    }
    if (s.part == 0 && !state_.points.names_caller(t, s)) {
      state_.report_of(
          g, t, check_status::undefined,
          "thread " + std::to_string(t) + " executes '" + i.text + "' with a mask that does not contain the executing lane");
      return nullptr;
    }
    e.scope = i.scope;
    e.arrives = s.part == 0 && i.code != op::cluster_wait;
    if (e.arrives || cluster) {
      e.sync_point = chosen != 0 ? chosen : state_.points.at(t, s, wrong);
    }
    if (e.arrives) {
      e.releases = !cluster || model::releases(i.order);
      e.value = state_.points.brought(t, s);
      e.turn = state_.points.arrivals(g, t, e.sync_point) + 1;
      if (is_of_block(i)) {
        if (state_.points.arrives_again(g, e)) {
          state_.report_of(g, t, check_status::undefined,
                           "thread " + std::to_string(t) + " arrives at barrier " +
                               std::to_string(sync_points::number_of(e.sync_point)) +
                               " a second time, and nothing orders this arrival after the end of the first phase");
          return nullptr;
        }
        wrong = wrong.empty() ? state_.points.ambiguity(g, e) : wrong;
      }
      if (cluster) {
        std::vector<const graph_event*> heads;
        state_.rules.release_by_arrival(g, e, heads);
        e.heads = build_.kept(heads);
      }
    } else if (wrong.empty()) {
      std::vector<const graph_event*> left;
      const std::vector<const graph_event*> arrivals = state_.points.group(g, t, left);
      meet_all(e, arrivals, i.code, cluster);
      for (const graph_event* a : arrivals) {
        if (const std::string misuse = misuse_of_barrier(e, *a); !misuse.empty()) {
          state_.report(g, check_status::undefined, misuse, {a, model::at(g.threads, t).events.back()});
          return nullptr;
        }
      }
      for (const graph_event* a : left) {
        state_.rules.follow(e, *a);
        if (passed_by(g, a->thread, e)) {
          state_.report(g, check_status::undefined,
                        "thread " + std::to_string(a->thread) + " skips the barrier at which thread " + std::to_string(t) +
                            " waits: '" + i.text + "' is in a branch that not all threads of the block take",
                        {model::at(g.threads, t).events.back()});
          if (state_.stopped()) {
            return nullptr;
          }
        }
      }
      seen = state_.points.result(t, s, arrivals);
    }
    if (!wrong.empty()) {
      state_.report_of(g, t, check_status::gave_up, "thread " + std::to_string(t) + ": " + wrong);
      return nullptr;
    }
    return &e;
  }

  /// Creates a proxy fence, the start of an asynchronous copy, the end of a group of copies, or a wait for groups or for
  /// preceding kernels. Returns null if it reports an error.
  [[nodiscard]] const graph_event* next_asynchronous(const graph& g, int t) {
    const thread_state& s = state_of(g, t);
    const instruction& i = model::at(state_.machines, t).at(s);
    graph_event& e = build_.make_event(g, t,
                                       i.code == op::proxy_fence    ? event_kind::proxy_fence
                                       : i.code == op::async_copy   ? event_kind::issue
                                       : i.code == op::async_commit ? event_kind::commit
                                       : i.code == op::async_wait   ? event_kind::group_wait
                                                                    : event_kind::grid_wait);
    if (i.code == op::async_copy) {
      return starts_copy(g, e, s) ? &e : nullptr;
    }
    if (i.code == op::proxy_fence && i.restricted) {
      e.scope = i.scope;
      e.fenced = i.fenced;
      e.releases = i.order == memory_order::release;
      if (!e.releases) {
        acquire_one_way(g, e);
      }
      state_.rules.cross_one_way(e, i.order == memory_order::release);
    } else if (i.code == op::proxy_fence) {
      state_.rules.cross(e, i.proxy_spaces);
    } else if (i.code == op::grid_wait) {
      build_.follow_launches(g, e);
    } else if (i.code == op::async_wait && i.mode == waits_for_starts) {
      return starts_together(g, e) ? &e : nullptr;
    } else if (i.code == op::async_wait) {
      std::vector<const graph_event*> last;
      static_cast<void>(awaited(g, t, last));
      for (const graph_event* end : last) {
        state_.rules.synchronize(*end, e);
        state_.rules.follow(e, *end);
      }
    }
    return &e;
  }

  /// Applies `e`, the write of a read-modify-write on an mbarrier. Reports an error and returns false if the effect is
  /// undefined.
  [[nodiscard]] bool changes_mbarrier(const graph& g, graph_event& e, const thread_state& s) {
    const mbarrier_outcome outcome = model::at(state_.machines, e.thread).updated_mbarrier_at(s);
    e.completes = outcome.completes;
    if (outcome.wrong != nullptr) {
      state_.report(g, check_status::undefined,
                    "thread " + std::to_string(e.thread) + " " + outcome.wrong + ": " + place_text(state_.checked, e.address),
                    {e.partner});
      return false;
    }
    if (e.arrives && begins_phase_that_nobody_waited_for(g, e)) {
      state_.report(g, check_status::undefined,
                    "thread " + std::to_string(e.thread) +
                        " arrives at an mbarrier without a preceding successful wait for the previous phase: " +
                        place_text(state_.checked, e.address),
                    {e.partner});
      return !state_.stopped();
    }
    return true;
  }

  /// Returns true unless write `e`, which already has its position in coherence, is an invalid initialization of an mbarrier.
  /// Source: PTX ISA, "mbarrier.init": the count is at least 1, and there is no valid mbarrier yet.
  [[nodiscard]] bool may_begin_mbarrier(const graph& g, const graph_event& e) {
    if (e.mbarrier != mbarrier_op::init) {
      return true;
    }
    const auto& order = model::at(g.order, e.location);
    const graph_event* const before = model::at(order, event_rules::place_in(order, &e) - 1);
    const bool valid =
        before != nullptr && before->mbarrier != mbarrier_op::none && before->mbarrier != mbarrier_op::invalidate;
    if (!state_.checked.fragment && (valid || e.value.low == 0)) {
      state_.report(g, check_status::undefined,
                    "thread " + std::to_string(e.thread) + " initializes " +
                        (valid ? "a valid mbarrier, which must be invalidated first: " : "an mbarrier with a count of 0: ") +
                        place_text(state_.checked, e.address),
                    {&e});
      return false;
    }
    return true;
  }

  /// Returns whether, in a complete execution, a thread has arrived at an aligned barrier that specifies its number of threads,
  /// and another thread of its warp has skipped that barrier. Reports this as an error. Source: PTX ISA, "bar, barrier": all
  /// threads of the warp must execute it.
  [[nodiscard]] bool has_parted_warp(const graph& g) {
    for (int t = 0; t < state_.count() && state_.points.counts(); ++t) {
      for (const graph_event* a : model::at(g.threads, t).events) {
        const instruction& i = instruction_of(state_.checked, *a);
        for (int u = 0; u < state_.count() && a->arrives && is_of_block(i) && names_threads(i); ++u) {
          const graph_event* theirs = nullptr;
          static_cast<void>(sync_points::arrivals(g, u, a->sync_point, &theirs, a->turn));
          if (theirs == nullptr && state_.points.same_warp(t, u) && passed_by(g, u, *a)) {
            state_.report(g, check_status::undefined,
                          "thread " + std::to_string(u) + " skips '" + i.text + "', at which thread " + std::to_string(t) +
                              " of its warp arrives",
                          {a});
            return true;
          }
        }
      }
    }
    return false;
  }

  /// Returns whether, in a complete execution, a block has exited without freeing tensor memory that it allocated. Reports this
  /// as an error. Source: PTX ISA, "tcgen05.alloc".
  [[nodiscard]] bool keeps_tensor_memory(const graph& g) {
    std::map<int, int> columns;
    for (int t = 0; t < state_.count(); ++t) {
      columns[model::at(state_.checked.threads, t).block_number] += state_of(g, t).columns;
    }
    for (const auto& [block, count] : columns) {
      if (count != 0) {
        state_.report(g, check_status::undefined,
                      "block " + std::to_string(block) + " ends with " + std::to_string(count) +
                          " columns of tensor memory still allocated: tcgen05.dealloc is missing");
      }
    }
    return state_.stopped();
  }

  /// Collects in `last` the last events of the operations that thread `t` waits for. Returns false if one of these events does
  /// not exist yet.
  [[nodiscard]] bool awaited(const graph& g, int t, std::vector<const graph_event*>& last) const {
    last.clear();
    const machine& m = model::at(state_.machines, t);
    const thread_state& s = state_of(g, t);
    const instruction& wait = m.at(s);
    const int of = issuer_of(state_.checked, t);
    if (wait.mode == waits_for_starts) {
      return starts_of(g, t, last);
    }
    std::vector<int> committed;
    std::vector<int> ends;  // for each group: the end of its operations in `committed`
    std::vector<int> open;
    for (const graph_event* e : model::at(g.threads, of).events) {
      const instruction& i = instruction_of(state_.checked, *e);
      if (e == model::at(g.threads, t).issue) {
        break;
      }
      if (e->starts >= 0 && i.group == wait.group) {
        open.push_back(e->starts);
      } else if (e->kind == event_kind::commit && i.group == wait.group) {
        committed.insert(committed.end(), open.begin(), open.end());
        ends.push_back(model::count_of(committed));
        open.clear();
      }
    }
    if (wait.mode == waits_for_all) {
      committed.insert(committed.end(), open.begin(), open.end());
    } else {
      const auto groups = static_cast<std::uint64_t>(ends.size());
      const std::uint64_t pending = std::min(truncated(m.operand(s, 0), 32), groups);
      committed.resize(pending == groups ? 0 : static_cast<std::size_t>(ends[static_cast<std::size_t>(groups - pending - 1)]));
    }
    for (const int c : committed) {
      const graph_event* const end = ended_part(model::at(g.threads, c), c, wait.reads_only);
      if (end == nullptr) {
        return false;
      }
      last.push_back(end);
    }
    return true;
  }

 private:
  [[nodiscard]] static bool is_of_block(const instruction& i) noexcept {
    return i.code == op::block_barrier || i.code == op::block_arrive;
  }

  /// Returns whether an instruction with this opcode orders the threads that synchronize at it.
  [[nodiscard]] bool orders(op code) const noexcept {
    return sync_points::orders(code) || state_.checked.assumed.shuffle_orders;
  }

  /// Makes `e`, a proxy fence that acquires, synchronize with the fences of its kind that release what its thread has observed.
  /// Relaxed reads are sufficient for the observation.
  void acquire_one_way(const graph& g, graph_event& e) {
    for (const graph_event* r : model::at(g.threads, e.thread).events) {
      const bool reads = r->kind == event_kind::read && r->strong;
      const graph_event* const s = !reads                             ? nullptr
                                   : r->mbarrier != mbarrier_op::none ? event_rules::phase_seen(*r)
                                                                      : r->source;
      for (std::size_t k = 0; s != nullptr && k < s->heads.size(); ++k) {
        const graph_event& head = *s->heads[k];
        const bool of_kind = head.kind == event_kind::proxy_fence && head.fenced == e.fenced;
        if (of_kind && state_.rules.include_each_other(head, e)) {
          state_.rules.synchronize(head, e);
        }
      }
    }
  }

  /// Makes `e` continue after the arrivals. The combined predecessors of the arrivals are the same for all threads that
  /// continue from there, so they are computed only once.
  void meet_all(graph_event& e, const std::vector<const graph_event*>& arrivals, op code, bool cluster) {
    if (cluster || state_.copies || e.begun != e.base) {
      for (const graph_event* a : arrivals) {
        meet(e, *a, code, cluster);
      }
      return;
    }
    const bool known =
        last_met_.code == code && std::equal(arrivals.begin(), arrivals.end(), last_met_.arrivals.begin(),
                                             last_met_.arrivals.end(), [](auto* a, const auto& b) { return a->serial == b; });
    const std::size_t clocks = e.past != e.prefix ? 3 : 2;
    const std::size_t width = state_.checked.threads.size();
    if (!known) {
      last_met_.code = code;
      last_met_.arrivals.clear();
      last_met_.clocks.assign(clocks * width, 0);
      for (const graph_event* a : arrivals) {
        last_met_.arrivals.push_back(a->serial);
        if (orders(code)) {
          state_.rules.join(last_met_.clocks.data(), a->base);
        }
        state_.rules.join(last_met_.clocks.data() + width, a->prefix);
        if (clocks == 3) {
          state_.rules.join(last_met_.clocks.data() + 2 * width, a->past);
        }
      }
    }
    state_.rules.join(const_cast<std::uint16_t*>(e.base), last_met_.clocks.data());
    state_.rules.join(const_cast<std::uint16_t*>(e.prefix), last_met_.clocks.data() + width);
    if (clocks == 3) {
      state_.rules.join(const_cast<std::uint16_t*>(e.past), last_met_.clocks.data() + 2 * width);
    }
  }

  /// Makes `e` continue after `a`, an arrival at the same barrier.
  void meet(graph_event& e, const graph_event& a, op code, bool cluster) {
    state_.rules.follow(e, a);
    if (cluster) {
      for (const graph_event* head : a.heads) {
        if (state_.rules.include_each_other(*head, e)) {
          state_.rules.synchronize(*head, e);
        }
      }
    } else if (orders(code)) {
      state_.rules.synchronize(a, e);
    }
  }

  [[nodiscard]] bool starts_copy(const graph& g, graph_event& e, const thread_state& s) {
    const machine& m = model::at(state_.machines, e.thread);
    const int starters = m.at(s).performers;
    const int first = first_starter(state_.checked, e.thread, starters);
    const thread_context& context = model::at(state_.checked.threads, e.thread);
    const std::uint32_t first_in_block = context.number_in_block() - static_cast<std::uint32_t>(e.thread - first);
    if (first_in_block + static_cast<std::uint32_t>(starters) > context.block_size()) {
      state_.report_of(g, e.thread, check_status::undefined,
                       "thread " + std::to_string(e.thread) + " executes '" + m.at(s).text + "', which " +
                           std::to_string(starters) + " threads must execute together, but its block has only " +
                           std::to_string(context.block_size() - first_in_block));
      return false;
    }
    e.starts = free_copy(g, e.thread, starters);
    if (e.starts < 0) {
      state_.report(g, check_status::gave_up,
                    "thread " + std::to_string(e.thread) + " starts an asynchronous copy that exceeds the limit of " +
                        std::to_string(most_copies) + " for all threads together: use a smaller launch or fewer rounds");
      lacking_ = {first, starters};
      return false;
    }
    if (first != e.thread) {
      return true;
    }
    const kernel_code& agent = *model::at(state_.checked.threads, e.starts).kernel;
    copy_request asked =
        copy_started(agent, state_.checked, m, s, [&](std::uint64_t address) { return bytes_.final_value(g, address, 8); });
    if (asked.wrong.empty() && !state_.checked.fragment) {
      asked.wrong = misplaced(m.at(s), model::at(state_.checked.threads, e.thread), asked);
    }
    if (!asked.wrong.empty()) {
      state_.report_of(g, e.thread, asked.status, "thread " + std::to_string(e.thread) + " " + asked.wrong);
      return false;
    }
    auto* const steps = static_cast<copy_step*>(state_.arena.take(asked.steps.size() * sizeof(copy_step)));
    std::uninitialized_copy(asked.steps.begin(), asked.steps.end(), steps);
    std::array<std::uint64_t, copy_registers::count> words{};
    words[copy_registers::next] = ~std::uint64_t{0};
    words[copy_registers::steps] = reinterpret_cast<std::uint64_t>(steps);
    words[copy_registers::end] = asked.steps.size();
    e.started = model::at(state_.machines, e.starts).begin(nobody{}, words);
    return true;
  }

  /// Returns the thread that will perform the next asynchronous operation that `t` starts as one of `starters` threads, or -1 if
  /// no such thread is left.
  [[nodiscard]] int free_copy(const graph& g, int t, int starters) const {
    int started = 0;
    for (const graph_event* e : model::at(g.threads, t).events) {
      started += e->starts >= 0 && model::at(state_.checked.threads, e->starts).starters == starters ? 1 : 0;
    }
    const int first = first_starter(state_.checked, t, starters);
    for (int c = 0; c < state_.count(); ++c) {
      const thread_context& of = model::at(state_.checked.threads, c);
      if (of.copies_of == first && of.starters == starters && started-- == 0) {
        return c;
      }
    }
    return -1;
  }

  /// Collects the events at which the threads start the operation that `c` performs. Returns false if some thread has not
  /// started it.
  [[nodiscard]] bool starts_of(const graph& g, int c, std::vector<const graph_event*>& starts) const {
    const thread_context& of = model::at(state_.checked.threads, c);
    for (int t = of.copies_of; t < of.copies_of + of.starters; ++t) {
      const auto& events = model::at(g.threads, t).events;
      const auto at = std::find_if(events.rbegin(), events.rend(), [&](auto* e) { return e->starts == c; });
      if (at == events.rend()) {
        return false;
      }
      starts.push_back(*at);
    }
    return true;
  }

  /// Orders `e`, the first event of an operation that several threads start together, after the predecessors of all of these
  /// starts. Reports an error and returns false if the threads start it with different instructions or operands.
  [[nodiscard]] bool starts_together(const graph& g, graph_event& e) {
    std::vector<const graph_event*> starts;
    static_cast<void>(starts_of(g, e.thread, starts));
    state_.rules.come_after_all(starts, e);
    const auto operands_differ = [&](const graph_event& x, const graph_event& y) {
      const machine& m = model::at(state_.machines, x.thread);
      const machine& n = model::at(state_.machines, y.thread);
      const thread_state& s = *model::at(model::at(g.threads, x.thread).states, x.number);
      const thread_state& u = *model::at(model::at(g.threads, y.thread).states, y.number);
      bool differ = &m.at(s) != &n.at(u);
      for (int k = 0; !differ && k < m.at(s).sources; ++k) {
        differ = m.operand(s, k) != n.operand(u, k);
      }
      return differ;
    };
    for (const graph_event* other : starts) {
      if (operands_differ(*starts.front(), *other)) {
        state_.report(g, check_status::undefined,
                      "threads " + std::to_string(starts.front()->thread) + " and " + std::to_string(other->thread) +
                          " execute '" + instruction_of(state_.checked, *other).text +
                          "' together, but with different operands or from different instructions",
                      {starts.front(), other});
        return false;
      }
    }
    return true;
  }

  /// Returns the last event of an operation, or the last read of its source if `reads_only` is true. Returns null if that event
  /// does not exist yet.
  [[nodiscard]] const graph_event* ended_part(const thread_run& run, int c, bool reads_only) const {
    if (run.states.back()->status == thread_status::ended && !reads_only) {
      return run.events.empty() ? nullptr : run.events.back();
    }
    const machine& m = model::at(state_.machines, c);
    int n = 0;
    while (n < model::count_of(run.events) && m.at(*model::at(run.states, n)).code == op::load) {
      ++n;
    }
    const bool reads_on = n == model::count_of(run.events) && m.at(*run.states.back()).code == op::load;
    return !reads_only || n == 0 || reads_on ? nullptr : model::at(run.events, n - 1);
  }

  /// Returns the reason why the behaviour is undefined if arrival `a` belongs to the barrier that `e` continues from, or an
  /// empty string if it is defined.
  [[nodiscard]] std::string misuse_of_barrier(const graph_event& e, const graph_event& a) const {
    const auto& x = model::at(state_.checked.threads, e.thread).where;
    const auto& y = model::at(state_.checked.threads, a.thread).where;
    return e.pc == a.pc || state_.checked.fragment
               ? std::string()
               : check::misuse_of_barrier(state_.checked, e.thread, instruction_of(state_.checked, e),
                                          instruction_of(state_.checked, a), x.warp == y.warp);
  }

  /// Returns whether thread `t`, which has exited the kernel, skipped the barrier that `e` continues from. This means that the
  /// barrier is in a conditional, and `t` took the other side and continued after the conditional.
  [[nodiscard]] bool passed_by(const graph& g, int t, const graph_event& e) {
    const instruction& barrier = instruction_of(state_.checked, e);
    const kernel_code* const kernel = model::at(state_.checked.threads, t).kernel;
    if (state_.checked.fragment || !is_of_block(barrier) || !barrier.aligned ||
        kernel != model::at(state_.checked.threads, e.thread).kernel) {
      return false;
    }
    const control_flow& flow = flows_.try_emplace(kernel, *kernel).first->second;
    const thread_run& run = model::at(g.threads, t);
    int last = -1;  // the thread's last event at a block barrier
    for (const graph_event* other : run.events) {
      last = is_of_block(instruction_of(state_.checked, *other)) ? other->number : last;
    }
    bool passed = false;
    int number = 0;
    const auto watch = [&](const thread_state& s, const instruction& i, bool runs) {
      const bool divides = i.code == op::branch || i.code == op::branch_index;
      passed = passed || (number > last && divides && flow.is_conditional_on(e.pc, s.pc)) ||
               (number > last && s.pc == e.pc && !runs && number < model::count_of(run.events));
      return watched::goes_on;
    };
    const stack_arena::mark mark = state_.arena.here();
    const machine& m = model::at(state_.machines, t);
    static_cast<void>(m.begin(watch));
    for (const graph_event* other : run.events) {
      number = other->number + 1;
      static_cast<void>(m.step(*model::at(run.states, other->number), model::at(run.states, other->number + 1)->seen, watch));
    }
    state_.arena.release(mark);
    return passed;
  }

  /// Returns whether arrival `e`, the write of a read-modify-write, belongs to a phase although no thread has waited for the
  /// preceding phase. Source: PTX ISA, "Phase of the mbarrier object": a wait for a phase must return true before any thread
  /// arrives for the next phase.
  [[nodiscard]] bool begins_phase_that_nobody_waited_for(const graph& g, const graph_event& e) const {
    const graph_event* completed = e.partner->source;
    while (completed != nullptr && !completed->completes) {
      completed = completed->partner != nullptr ? completed->partner->source : nullptr;
    }
    if (completed == nullptr || state_.checked.fragment || state_.rules.is_copy(e)) {
      return false;
    }
    const auto& reads = model::at(g.reads, e.location);
    return std::none_of(reads.begin(), reads.end(), [&](const graph_event* r) {
      return r->passes && event_rules::phase_seen(*r) == completed && precedes(*r, e.prefix);
    });
  }

  exploration_state& state_;
  event_builder& build_;
  std::map<const kernel_code*, control_flow> flows_{};
  memory_bytes bytes_{state_};
  std::pair<int, int> lacking_{-1, 1};
  /// The combined predecessors of the arrivals at the most recent barrier: their joined base, prefix and past clocks.
  struct {
    op code = op::nothing;
    std::vector<std::uint64_t> arrivals{};  ///< the arrivals' serial numbers
    std::vector<std::uint16_t> clocks{};
  } last_met_{};
};

}  // namespace membar::check::detail
