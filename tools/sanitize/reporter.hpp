// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
/// @file
/// Converts a run's findings to the checker's wording and format.
#pragma once

#include <check/trace.hpp>
#include <sanitize/run_state.hpp>

#include <algorithm>
#include <map>
#include <memory>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

namespace membar::sanitize {

/// An access as shown in a finding.
struct shown_access {
  thread_key key = 0;
  std::uint32_t number = 0;  ///< the number of the access's instruction
  check::graph_event event{};
  /// only for the second access: whether it happens after the first access, except that a proxy fence between them is missing
  bool follows = false;
};

/// The memory that a finding is about.
struct found_memory {
  const lane* thread = nullptr;  ///< a thread that can access it; null if the finding is not about memory
  std::uint64_t address = 0;
};

/// Collects the findings of one run.
class reporter {
 public:
  explicit reporter(run_state& state) : state_(state) {}

  /// Reports that two accesses race, unless one of them is a load whose value is never used: such a race is not a finding.
  void race(const shown_access& first, const shown_access& second) {
    const std::uint64_t key =
        key_of(check_status::race, std::min(first.number, second.number), std::max(first.number, second.number));
    if (is_known(key)) {
      return;
    }
    if (is_discarded(first) || is_discarded(second)) {
      return;
    }
    auto view = excerpt({first.key, second.key});
    check::graph g;
    g.threads.resize(2);
    check::graph_event x = first.event;
    check::graph_event y = second.event;
    x.thread = 0;
    y.thread = 1;
    x.pc = pc_of(first);
    y.pc = pc_of(second);
    const std::uint16_t before[2] = {static_cast<std::uint16_t>(second.follows ? 1 : 0), 0};
    y.base = before;
    add(key, view, check_status::race, check::race_text(*view, g, x, y), {x, y}).found.lacks_only_fence = second.follows;
  }

  /// Reports a finding about one thread.
  void add(check_status status, std::string message, const lane& l, found_memory memory = {}) {
    const std::uint32_t number = state_.number_of(*l.home->context_of(l).kernel, l.state->pc);
    const std::uint64_t key = key_of(status, number, number);
    if (is_known(key)) {
      return;
    }
    auto view = excerpt({l.key});
    sanitizer_finding& f = add(key, view, status, std::move(message), {});
    f.found.thread = 0;
    f.found.waiting = {&model::at(view->threads[0].kernel->code, l.state->pc)};
    f.object = memory.thread == nullptr ? "" : check::object_text(*excerpt({memory.thread->key}), memory.address);
  }

  /// Reports threads that wait forever. Only some of them are shown.
  void hang(const std::string& message, const std::vector<const lane*>& stuck) {
    constexpr std::size_t most = 8;
    std::vector<const lane*> shown;
    std::map<std::uint32_t, bool> seen;  // shows one thread per source location
    for (const lane* l : stuck) {
      if (shown.size() < most && seen.emplace(state_.number_of(*l->home->context_of(*l).kernel, l->state->pc), true).second) {
        shown.push_back(l);
      }
    }
    const std::uint64_t key =
        key_of(check_status::hang, seen.empty() ? 0 : seen.begin()->first, seen.empty() ? 0 : seen.rbegin()->first);
    if (is_known(key)) {
      return;
    }
    std::vector<thread_key> keys;
    for (const lane* l : shown) {
      keys.push_back(l->key);
    }
    auto view = excerpt(keys);
    sanitizer_finding& f = add(key, view, check_status::hang, message, {});
    for (std::size_t k = 0; k < shown.size(); ++k) {
      f.found.waiting.push_back(&model::at(view->threads[k].kernel->code, shown[k]->state->pc));
    }
  }

  /// Reports an access to the shared memory of a block that may already have ended.
  void outside_of_life(const block& b, const shown_access& access, bool copy) {
    const std::uint64_t key = key_of(check_status::undefined, access.number, 0xffffffU);
    if (is_known(key)) {
      return;
    }
    auto view = excerpt({access.key, b.first_key});
    check::graph_event e = access.event;
    e.thread = 0;
    e.pc = pc_of(access);
    add(key, view, check_status::undefined,
        check::thread_text(*view, 0) + (e.kind == model::event_kind::write ? " writes to " : " reads ") +
            check::place_text(*view, e.address) + (copy ? " by an asynchronous operation" : "") +
            ", and nothing orders this access before the end of block " + std::to_string(b.number) +
            (copy ? ": the block must wait for the copy before it exits"
                  : ": a cluster barrier is missing before the block ends"),
        {e});
  }

  /// Reports a finding about the whole run.
  void add(check_status status, const std::string& message) { add(status, message, message); }
  /// Like the overload above, but findings with the same status and the same `subject` count as the same finding.
  void add(check_status status, std::string message, const std::string& subject) {
    const std::uint64_t hash = std::hash<std::string>()(subject);
    const std::uint64_t key = key_of(status, hash & 0xffffffU, hash >> 24U & 0xffffffU);
    if (!is_known(key)) {
      add(key, excerpt({}), status, std::move(message), {});
    }
  }
  /// Reports that the threads have executed this many instructions without changing memory.
  void only_polls(std::uint64_t instructions) {
    const std::uint64_t key = key_of(check_status::gave_up, 0xffffffU, 0xffffffU);
    if (!is_known(key)) {
      sanitizer_finding& f = add(key, excerpt({}), check_status::gave_up,
                                 "the threads have executed " + std::to_string(instructions) +
                                     " instructions without any change to memory, so they may be waiting for each other "
                                     "forever: explore a smaller launch to find out",
                                 {});
      f.polls = true;
      f.last_change = state_.last_change;
    }
  }

  /// Adds the findings of a part of the run.
  void add(std::vector<sanitizer_finding> found) {
    for (sanitizer_finding& f : found) {
      const auto [at, is_new] = found_.try_emplace(f.key);
      if (is_new) {
        order_.push_back(f.key);
        at->second = std::move(f);
      } else {
        at->second.count += f.count;
        at->second.after_another = at->second.after_another && f.after_another;
      }
    }
  }

  /// Returns a thread's number in the program, for use in a message.
  [[nodiscard]] std::string number_of(const lane& l) const {
    return std::to_string(state_.context_of(state_.actor_of(l.key)).number_in_program);
  }
  /// Returns an address as an offset in its object, for use in a message.
  [[nodiscard]] std::string place(const lane& l, std::uint64_t address) const {
    return check::place_text(*excerpt({l.key}), address);
  }

  [[nodiscard]] std::vector<sanitizer_finding> take() {
    std::vector<sanitizer_finding> result;
    for (const std::uint64_t key : order_) {
      result.push_back(std::move(found_.at(key)));
    }
    return result;
  }
  [[nodiscard]] bool empty() const noexcept { return order_.empty(); }

  /// Returns whether the access is a weak load whose value its thread never uses.
  [[nodiscard]] bool is_discarded(const shown_access& a) const {
    if (a.event.kind != model::event_kind::read || a.event.strong || a.event.rmw || a.key >= state_.first_copy) {
      return false;
    }
    const std::vector<bool>& unused = discarded_by(a.key);
    const auto pc = static_cast<std::size_t>(pc_of(a));
    return pc < unused.size() && unused[pc];
  }

  /// Returns a program that contains only these threads and the memory that they can access. The threads that have started
  /// these threads' asynchronous operations are added after them.
  [[nodiscard]] std::shared_ptr<check::program> excerpt(const std::vector<thread_key>& keys) const {
    auto view = std::make_shared<check::program>();
    view->excerpt = true;
    view->kernels = state_.checked.kernels;
    view->assumed = state_.checked.assumed;
    for (const check::memory_object& o : state_.checked.memory) {
      check::memory_object named;
      named.name = o.name;
      named.address = o.address;
      named.bytes = o.bytes;
      named.type = o.type;
      view->memory.push_back(std::move(named));
    }
    std::vector<check::thread_context> starters;
    for (const thread_key key : keys) {
      const actor a = state_.actor_of(key);
      view->threads.push_back(state_.context_of(a));
      if (a.copy) {
        const auto starter = std::find(keys.begin(), keys.end(), state_.copies[key - state_.first_copy].starter);
        view->threads.back().copies_of = static_cast<int>(starter - keys.begin());
        if (starter == keys.end()) {
          view->threads.back().copies_of += static_cast<int>(starters.size());
          starters.push_back(state_.context_of(a));
        }
      }
      for (check::memory_object& o : check::shared_objects(a.launch->plan->request, view->threads.back().block_number)) {
        view->memory.push_back(std::move(o));
      }
    }
    view->threads.insert(view->threads.end(), starters.begin(), starters.end());
    for (const launch_run& l : state_.launches) {
      view->launches_before.push_back(l.plan->request.after);
    }
    view->dependent = state_.checked.dependent;
    return view;
  }

 private:
  [[nodiscard]] static std::uint64_t key_of(check_status status, std::uint32_t x, std::uint32_t y) noexcept {
    return static_cast<std::uint64_t>(status) << 48U | std::uint64_t{x} << 24U | y;
  }
  [[nodiscard]] bool is_known(std::uint64_t key) {
    const auto it = found_.find(key);
    if (it != found_.end()) {
      ++it->second.count;
    }
    return it != found_.end();
  }
  /// Returns the position of an access's instruction in its kernel. For an asynchronous operation, this is the instruction that
  /// started it.
  [[nodiscard]] std::int32_t pc_of(const shown_access& a) const {
    const actor who = state_.actor_of(a.key);
    return static_cast<std::int32_t>(a.number - state_.numbered->first.at(who.launch->plan->request.kernel.get()));
  }

  /// The loads whose value a thread never uses. They are determined for each thread, because they depend on the thread's index.
  struct discarded_loads {
    std::unordered_map<thread_key, std::shared_ptr<const check::register_use>> by_thread{};
    std::vector<bool> by_some{};  ///< loads whose value at least one of these threads never uses
  };

  /// Returns the loads whose value a thread never uses. After 2048 threads, returns `by_some` for further threads.
  [[nodiscard]] const std::vector<bool>& discarded_by(thread_key key) const {
    constexpr std::size_t most = 2048;
    const actor who = state_.actor_of(key);
    discarded_loads& known = discarded_[who.launch];
    const auto it = known.by_thread.find(key);
    if (it != known.by_thread.end()) {
      return it->second->discarded;
    }
    if (known.by_thread.size() >= most) {
      return known.by_some;
    }
    const std::vector<bool>& mine = (known.by_thread[key] = state_.code.of(key, state_.context_of(who)))->discarded;
    known.by_some.resize(std::max(known.by_some.size(), mine.size()), false);
    for (std::size_t n = 0; n < mine.size(); ++n) {
      known.by_some[n] = known.by_some[n] || mine[n];
    }
    return mine;
  }

  sanitizer_finding& add(std::uint64_t key, const std::shared_ptr<check::program>& view, check_status status,
                         std::string message, const std::vector<check::graph_event>& blamed) {
    sanitizer_finding& f = found_[key];
    f.after_another = !order_.empty();
    order_.push_back(key);
    f.key = key;
    f.count = 1;
    f.seed = state_.schedule;
    f.found.status = status;
    f.found.message = std::move(message);
    f.found.whole = view;
    for (const check::graph_event& e : blamed) {
      check::trace_event& shown = f.found.events.emplace_back();
      shown.thread = e.thread;
      shown.at = &check::instruction_of(*view, e);
      shown.what = std::string(e.kind == model::event_kind::write ? "writes " : "reads ") + check::place_text(*view, e.address);
      shown.blamed = true;
      shown.event = e;
      shown.event.base = nullptr;
      f.object = check::object_text(*view, e.address);
      f.found.waiting.push_back(nullptr);
    }
    if (state_.recorded != nullptr && state_.recorded->until == key) {
      state_.stop();
    }
    return f;
  }

  run_state& state_;
  std::unordered_map<std::uint64_t, sanitizer_finding> found_{};
  mutable std::unordered_map<const launch_run*, discarded_loads> discarded_{};
  std::vector<std::uint64_t> order_{};
};

}  // namespace membar::sanitize
