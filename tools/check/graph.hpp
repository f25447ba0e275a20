// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
/// @file
/// An execution that grows: its events, reads-from, coherence, and causality in the form of clocks.
///
/// Base causality is the closure of program order and synchronizes-with. Both relations lead from existing events to the event
/// that is being added. Therefore a single clock can represent an event's causality: for each thread, the number of that
/// thread's events that precede the event. fence_order.hpp adds Fence-SC. The relations are the same as in model/causality.hpp,
/// without the proxies that the checker does not model. Tests compare the two.
#pragma once

#include <check/event.hpp>
#include <check/machine.hpp>
#include <check/program.hpp>
#include <membar/model/array.hpp>
#include <membar/model/execution.hpp>
#include <membar/model/morally_strong.hpp>
#include <membar/model/program.hpp>
#include <membar/model/rules.hpp>
#include <membar/thread_scope.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <span>
#include <unordered_map>
#include <utility>
#include <vector>

namespace membar::check {

using namespace ptx;

/// Memory that is accessed as a unit: its address and its size.
struct location_info {
  std::uint64_t address = 0;
  int bytes = 0;
  wide_value initial{};
  bool initialised = true;
  std::vector<int> overlapping{};  ///< other locations that share bytes with this location
};

/// A thread's events and the states between them.
struct thread_run {
  std::vector<const graph_event*> events;
  std::vector<const thread_state*> states;  ///< one more state than there are events
  const thread_state* idle = nullptr;       ///< for a thread that performs asynchronous operations: its state before it has an
                                            ///< operation
  const graph_event* issue = nullptr;       ///< the event that started its operation

  void start(const graph_event* by) {
    issue = by;
    states.front() = by != nullptr ? by->started : idle;
  }
};

/// An execution that grows.
struct graph {
  std::vector<thread_run> threads;
  std::vector<std::vector<const graph_event*>>
      order;  ///< per location: its writes in coherence order, starting with the initial one (null)
  std::vector<std::vector<const graph_event*>> reads;  ///< per location: its reads
  std::uint32_t next_stamp = 0;
  std::vector<const graph_event*> fences{};  ///< the `fence.sc` operations, in the order in which they were added
  bool fences_in_order = true;               ///< whether the order in `fences` is a Fence-SC order

  void reserve(std::size_t locations) {
    while (order.size() < locations) {
      order.push_back({nullptr});
      reads.emplace_back();
    }
  }
};

/// Copies the first `keep[t]` events of each thread t from `from` to `to`. `never` is always removed from its location's order.
inline void copy_kept(const graph& from, graph& to, const std::vector<int>& keep, const graph_event* never) {
  const auto kept = [&](const graph_event* e) { return e != never && e->number < keep[static_cast<std::size_t>(e->thread)]; };
  to.threads.resize(from.threads.size());
  to.next_stamp = from.next_stamp;
  to.fences.clear();
  std::copy_if(from.fences.begin(), from.fences.end(), std::back_inserter(to.fences), kept);
  to.fences_in_order = from.fences_in_order;
  for (std::size_t t = 0; t < from.threads.size(); ++t) {
    const thread_run& run = from.threads[t];
    to.threads[t].events.assign(run.events.begin(), run.events.begin() + keep[t]);
    to.threads[t].states.assign(run.states.begin(), run.states.begin() + keep[t] + 1);
    to.threads[t].idle = run.idle;
    if (run.idle != nullptr) {
      to.threads[t].start(run.issue != nullptr && kept(run.issue) ? run.issue : nullptr);
    }
  }
  to.order.resize(from.order.size());
  to.reads.resize(from.reads.size());
  for (std::size_t l = 0; l < from.order.size(); ++l) {
    to.order[l].clear();
    to.reads[l].clear();
    std::copy_if(from.order[l].begin(), from.order[l].end(), std::back_inserter(to.order[l]),
                 [&](const graph_event* e) { return e == nullptr || kept(e); });
    std::copy_if(from.reads[l].begin(), from.reads[l].end(), std::back_inserter(to.reads[l]), kept);
  }
}

/// Returns whether `x` precedes the event that `clock` belongs to.
[[nodiscard]] inline bool precedes(const graph_event& x, const std::uint16_t* clock) noexcept {
  return x.number < clock[x.thread];
}

/// The relations between the events of a graph.
class event_rules {
 public:
  explicit event_rules(std::span<const thread_context> threads, const model::other_readings& readings = {})
      : threads_(threads), readings_(readings) {}

  [[nodiscard]] const model::other_readings& readings() const noexcept { return readings_; }

  [[nodiscard]] bool morally_strong(const graph_event& x, const graph_event& y) const noexcept {
    return model::morally_strong(model::every_rule{}, place_of(x), place_of(y), x, y);
  }

  /// Returns whether access `w` causally precedes an event with base clock `base`, either by base causality or because `w` is a
  /// write that a preceding read observes. Under an alternative reading, the read of an update precedes everything that the
  /// update's write precedes. Source: PTX ISA, "Causality order".
  [[nodiscard]] bool causes(const graph& g, const graph_event& w, const std::uint16_t* base) const noexcept {
    if (precedes(w, base)) {
      return true;
    }
    if (w.kind == model::event_kind::write) {
      for (const graph_event* r : model::at(g.reads, w.location)) {
        if (precedes(*r, base) && observes(*r, w)) {
          return true;
        }
      }
    } else if (w.rmw && readings_.takes(model::reading::whole_updates_are_observed)) {
      const std::vector<const graph_event*>& writes = model::at(g.order, w.location);
      return std::any_of(writes.begin(), writes.end(),
                         [&](const graph_event* s) { return s != nullptr && s->partner == &w && causes(g, *s, base); });
    }
    return false;
  }

  /// Returns whether `reader` observes `w`, the model's obs(w, r). Source: PTX ISA, "Observation order".
  [[nodiscard]] bool observes(const graph_event& reader, const graph_event& w) const noexcept {
    for (const graph_event* r = &reader; r != nullptr;) {
      const graph_event* s = r->source;
      if (s == nullptr || !morally_strong(*s, *r)) {
        return false;
      }
      if (s == &w) {
        return true;
      }
      r = s->partner;
    }
    return false;
  }

  /// Returns the position, in the location's order, of the oldest write that an event with base clock `base` may read from.
  [[nodiscard]] int oldest_source(const graph& g, int location, const std::uint16_t* base) const noexcept {
    const auto& order = model::at(g.order, location);
    int oldest = 0;
    for (int i = model::count_of(order) - 1; i > 0; --i) {
      if (precedes(*model::at(order, i), base)) {
        oldest = i;
        break;
      }
    }
    for (const graph_event* r : model::at(g.reads, location)) {
      if (r->source != nullptr && precedes(*r, base)) {
        const int i = place_in(order, r->source);
        oldest = i > oldest ? i : oldest;
      }
    }
    return oldest;
  }

  [[nodiscard]] static int place_in(const std::vector<const graph_event*>& order, const graph_event* w) noexcept {
    int i = model::count_of(order) - 1;
    while (i > 0 && model::at(order, i) != w) {
      --i;
    }
    return i;
  }

  /// Returns the position, in its location's order, of a read's source. If the bytes came from writes whose sizes differ from
  /// the read's, returns the position of the last write that causally precedes the read, because those writes also causally
  /// precede the read.
  [[nodiscard]] int place_read(const graph& g, const graph_event& r) const noexcept {
    const auto& order = model::at(g.order, r.location);
    if (!r.mixed) {
      return place_in(order, r.source);
    }
    int i = model::count_of(order) - 1;
    while (i > 0 && !causes(g, *model::at(order, i), r.base)) {
      --i;
    }
    return i;
  }

  /// Makes `e`, an acquiring read or fence, synchronize with every release pattern that its thread has observed, by joining
  /// clocks into `base`. Source: PTX ISA, "Acquire pattern", "Synchronizes-with".
  void acquire(const graph& g, graph_event& e) const noexcept {
    const auto from = [&](const graph_event& r) {
      const graph_event* const s = r.mbarrier != mbarrier_op::none ? phase_seen(r) : r.source;
      if (s == nullptr || (r.mbarrier == mbarrier_op::none && !morally_strong(*s, r))) {
        return;
      }
      for (const graph_event* head : s->heads) {
        if (include_each_other(*head, e)) {
          synchronize(*head, e);
        }
      }
    };
    const bool fence = e.kind == model::event_kind::fence;
    if (!fence) {
      from(e);
      if (e.mbarrier != mbarrier_op::none) {
        return;
      }
    }
    for (const graph_event* r : model::at(g.threads, e.thread).events) {
      if (r->number < e.number && r->kind == model::event_kind::read && r->strong && !r->reduction &&
          (fence || r->location == e.location)) {
        from(*r);
      }
    }
  }

  /// Returns the write that completed the last mbarrier phase that `wait` observed as complete, or null if `wait` did not pass
  /// or observed no completed phase. Source: PTX ISA, "mbarrier.test_wait/mbarrier.try_wait": everything before the
  /// arrivals of that phase is visible.
  [[nodiscard]] static const graph_event* phase_seen(const graph_event& wait) noexcept {
    const graph_event* w = wait.passes ? wait.source : nullptr;
    while (w != nullptr && !w->completes) {
      w = w->partner != nullptr ? w->partner->source : nullptr;
    }
    return w;
  }

  /// Makes `e` synchronize with `head`, the start of a release pattern or the completion of an asynchronous operation.
  void synchronize(const graph_event& head, graph_event& e) const noexcept {
    if (head.kind == model::event_kind::proxy_fence) {  // one-directional: affects only what fences of the same kind acquire
      if (e.released != nullptr) {
        join(released(e, head.fenced), released(head, head.fenced));
      }
    } else if (head.restricted) {
      join(const_cast<std::uint16_t*>(e.begun), head.begun);
    } else {
      come_after(head, e);
    }
  }

  /// Orders `e` after `before` and everything that precedes `before`. If `before` belongs to an asynchronous operation, orders
  /// `e` only after that operation.
  void come_after(const graph_event& before, graph_event& e) const noexcept {
    // an asynchronous store that releases also passes on the earlier events of its thread
    const bool copy = before.given != nullptr && !(before.releases && before.mbarrier == mbarrier_op::none);
    const auto passed = [&](const std::uint16_t* clock) { return copy ? before.given : clock; };
    join(const_cast<std::uint16_t*>(e.base), passed(before.base));
    if (e.begun != e.base) {
      join(const_cast<std::uint16_t*>(e.begun), passed(before.begun));
    }
    if (e.given != nullptr && copy) {
      join(const_cast<std::uint16_t*>(e.given), before.given);
    }
    for (std::size_t k = 0; k < one_ways && e.released != nullptr && !copy; ++k) {
      join(released(e, static_cast<one_way>(k)), released(before, static_cast<one_way>(k)));
    }
    // a completion acts as a tcgen05.fence::before_thread_sync
    if (copy && e.released != nullptr && before.mbarrier != mbarrier_op::none) {
      join(released(e, one_way::tensor_memory), before.given);
    }
    // a proxy fence applies to the accesses that its own block starts
    if (e.crossed != nullptr && (same_proxies(before, e) || readings_.takes(model::reading::fence_of_another_block))) {
      for (std::size_t s = 0; s < proxy_spaces; ++s) {
        const bool of_thread = s == static_cast<std::size_t>(proxy_space::tensor_memory);  // this fence applies only to its own
                                                                                           // thread
        if (!of_thread || is_copy(e)) {
          join(crossed(e, s), passed(before.crossed + s * threads_.size()));
        }
      }
    }
  }

  /// Orders `e`, the first event of an asynchronous operation, after the predecessors of every event in `starts`.
  void come_after_all(const std::vector<const graph_event*>& starts, graph_event& e) const noexcept {
    const std::size_t width = threads_.size();
    const auto meet = [&](const std::uint16_t* to, const auto& of) {
      auto* const clock = const_cast<std::uint16_t*>(to);
      for (std::size_t t = 0; t < width; ++t) {
        std::uint16_t least = of(*starts.front())[t];
        for (const graph_event* s : starts) {
          least = std::min(least, of(*s)[t]);
        }
        clock[t] = least;
      }
    };
    meet(e.base, [](const graph_event& s) { return s.base; });
    if (e.begun != e.base) {
      meet(e.begun, [](const graph_event& s) { return s.begun; });
    }
    for (std::size_t k = 0; k < proxy_spaces; ++k) {
      meet(e.crossed + k * width, [&](const graph_event& s) { return s.crossed + k * width; });
    }
    for (std::size_t k = 0; k < one_ways; ++k) {
      meet(e.released + k * width, [&](const graph_event& s) { return s.released + k * width; });
    }
    for (const graph_event* s : starts) {
      follow(e, *s);
    }
    for (const std::uint16_t* clock : {e.base, e.begun}) {
      const_cast<std::uint16_t*>(clock)[e.thread] = static_cast<std::uint16_t>(e.number + 1);
    }
  }

  /// Orders `e` after another event by reads-from, a sync point or the order of launches.
  void follow(graph_event& e, const graph_event& other) const noexcept {
    join(const_cast<std::uint16_t*>(e.prefix), other.prefix);
    if (e.past != e.prefix) {
      join(const_cast<std::uint16_t*>(e.past), other.past);
    }
  }

  /// Returns the clock of those events before `e` that also precede a proxy fence for the given space.
  [[nodiscard]] std::uint16_t* crossed(const graph_event& e, std::size_t space) const noexcept {
    return const_cast<std::uint16_t*>(e.crossed) + space * threads_.size();
  }

  /// Returns the clock of the events that one-directional proxy fences of the given kind have released.
  [[nodiscard]] std::uint16_t* released(const graph_event& e, one_way kind) const noexcept {
    return const_cast<std::uint16_t*>(e.released) + static_cast<std::size_t>(kind) * threads_.size();
  }

  /// Applies `e`, a one-directional proxy fence, which either releases earlier events or acquires events that other fences have
  /// released. A fence between the generic and the async proxy releases the accesses of its block's threads to the block's
  /// shared memory. Source: PTX ISA, "membar/fence", `.sync_restrict`.
  void cross_one_way(const graph_event& e, bool releases) const noexcept {
    for (std::size_t t = 0; t < threads_.size() && e.crossed != nullptr; ++t) {
      const bool own = model::same_block(threads_[t].where, place_of(e));
      const proxy_space space = e.fenced == one_way::tensor_maps     ? proxy_space::tensor_maps
                                : e.fenced == one_way::tensor_memory ? proxy_space::tensor_memory
                                : own                                ? proxy_space::own_shared
                                                                     : proxy_space::other_shared;
      std::uint16_t& to = (releases ? released(e, e.fenced) : crossed(e, static_cast<std::size_t>(space)))[t];
      const std::uint16_t from = releases ? e.base[t] : released(e, e.fenced)[t];
      to = (!releases || own || e.fenced != one_way::async) && from > to ? from : to;
    }
  }

  /// Applies `e`, a proxy fence for the given spaces. `spaces` has one bit for each space.
  void cross(const graph_event& e, unsigned spaces) const noexcept {
    for (std::size_t s = 0; s < proxy_spaces && e.crossed != nullptr; ++s) {
      if (((spaces >> s) & 1U) != 0) {
        join(crossed(e, s), e.base);
      }
    }
  }

  /// Returns the clock of `e` that determines whether causality orders access `o` before `e`. For an access through the async
  /// proxy, this clock contains only the events before a proxy fence, and events of the same block that also use the async
  /// proxy. Source: PTX ISA, "Proxy-preserved base causality order".
  [[nodiscard]] const std::uint16_t* clock_for(const graph_event& o, const graph_event& e) const noexcept {
    if (machine::is_tensor_memory(e.address)) {  // tensor memory has its own fences between threads
      const bool own = model::at(threads_, o.thread).copies_of == model::at(threads_, e.thread).copies_of;
      return own ? e.base : crossed(e, static_cast<std::size_t>(proxy_space::tensor_memory));
    }
    if (e.via == model::proxy::tensor_map && e.crossed != nullptr) {
      return crossed(e, static_cast<std::size_t>(proxy_space::tensor_maps));
    }
    if (e.via != model::proxy::async || e.crossed == nullptr ||
        (o.via == model::proxy::async && (same_proxies(o, e) || readings_.takes(model::reading::copies_of_two_blocks)))) {
      return e.base;
    }
    const bool own = model::at(threads_, e.thread).is_of_pair(thread_context::block_of(e.address));
    return crossed(e, static_cast<std::size_t>(e.address < shared_window ? proxy_space::global
                                               : own                     ? proxy_space::own_shared
                                                                         : proxy_space::other_shared));
  }

  /// Returns whether the threads of two events use the same proxies. Proxies belong to a block, or to a pair of blocks.
  [[nodiscard]] bool same_proxies(const graph_event& x, const graph_event& y) const noexcept {
    return model::at(threads_, x.thread).is_of_pair(model::at(threads_, y.thread).block_number);
  }

  /// Returns whether `e` belongs to an asynchronous operation.
  [[nodiscard]] bool is_copy(const graph_event& e) const noexcept { return model::at(threads_, e.thread).copies_of >= 0; }

  /// Returns whether the scopes at both ends of a synchronization include the thread at the other end.
  [[nodiscard]] bool include_each_other(const graph_event& x, const graph_event& y) const noexcept {
    if (is_copy(x) && x.mbarrier != mbarrier_op::none) {
      return true;  // the completion is performed at the mbarrier
    }
    const auto at_barrier = [](const graph_event& e) {
      return e.kind == model::event_kind::proxy_fence || e.mbarrier != mbarrier_op::none ||
             e.kind == model::event_kind::barrier;
    };
    if (!at_barrier(x) && !at_barrier(y)) {
      return morally_strong(x, y);
    }
    return model::includes(model::every_rule{}, x.scope, place_of(x), place_of(y)) &&
           model::includes(model::every_rule{}, y.scope, place_of(y), place_of(x));
  }

  /// Determines which of a thread's fences release more than the thread's later fences do. `is_new` is called for each fence,
  /// starting with the last.
  class known_fences {
   public:
    [[nodiscard]] bool is_new(const graph_event& f) {
      const bool proxy = f.kind == model::event_kind::proxy_fence;
      if (!f.releases || (f.kind != model::event_kind::fence && !proxy)) {
        return false;
      }
      bool& one = known_[proxy          ? 2 + static_cast<std::size_t>(f.fenced)
                         : f.restricted ? 1U
                                        : 0U][static_cast<std::size_t>(membar::detail::width_of(f.scope))];
      return !std::exchange(one, true);
    }

   private:
    bool known_[2 + one_ways][4] = {};
  };

  /// Adds to `heads` the starts of the release patterns that end in arrival `e` at a barrier: the arrival itself and the fences
  /// before it.
  void release_by_arrival(const graph& g, const graph_event& e, std::vector<const graph_event*>& heads) const {
    if (e.releases) {
      heads.push_back(&e);
    }
    known_fences known;
    for (int i = e.number - 1; i >= 0; --i) {
      const graph_event& f = *model::at(model::at(g.threads, e.thread).events, i);
      if (known.is_new(f)) {
        heads.push_back(&f);
      }
    }
  }

  /// Appends to `heads` the starts of the release patterns that end in write `w`. Source: PTX ISA, "Release pattern".
  void release(const graph& g, const graph_event& w, std::vector<const graph_event*>& heads) const {
    if (!w.strong) {
      return;
    }
    if (w.mbarrier != mbarrier_op::none) {
      if (is_copy(w)) {
        heads.push_back(&w);
      } else if (w.arrives) {
        release_by_arrival(g, w, heads);
      }
      const graph_event* const before = w.partner->source;
      // the chain continues through later phases; a head is redundant if it precedes a releasing arrival with at least its
      // scope
      for (std::size_t k = 0; before != nullptr && k < before->heads.size(); ++k) {
        const graph_event* const head = before->heads[k];
        const bool covered = w.arrives && w.releases && precedes(*head, w.base) && w.scope >= head->scope && !is_copy(*head) &&
                             head->kind != model::event_kind::proxy_fence;
        if (!covered) {
          heads.push_back(head);
        }
      }
      return;
    }
    const auto add = [&](const graph_event* head) {
      for (const graph_event* other : heads) {
        if (other == head) {
          return;
        }
      }
      heads.push_back(head);
    };
    if (w.releases) {
      add(&w);
    }
    // of several heads with the same kind and scope, only the last is needed, because its clock includes the clocks of the
    // others
    known_fences fences;
    bool writes[4] = {};
    const auto& events = model::at(g.threads, w.thread).events;
    for (int i = w.number - 1; i >= 0; --i) {
      const graph_event& e = *model::at(events, i);
      const auto scope = static_cast<std::size_t>(membar::detail::width_of(e.scope));
      if (!e.releases) {
        continue;
      }
      if (fences.is_new(e)) {
        add(&e);
      } else if (e.kind == model::event_kind::write && e.location == w.location && !writes[scope]) {
        writes[scope] = true;
        add(&e);
      }
    }
    if (w.partner != nullptr && w.partner->source != nullptr && morally_strong(*w.partner->source, *w.partner)) {
      for (const graph_event* head : w.partner->source->heads) {
        add(head);
      }
    }
  }

  void join(std::uint16_t* clock, const std::uint16_t* other) const noexcept {
    const std::size_t width = threads_.size();  // a local variable, so that compilers can vectorize the following loop
    for (std::size_t t = 0; t < width; ++t) {
      clock[t] = other[t] > clock[t] ? other[t] : clock[t];
    }
  }

  [[nodiscard]] const model::place& place_of(const graph_event& e) const noexcept {
    return model::at(threads_, e.thread).where;
  }

 private:
  std::span<const thread_context> threads_;
  model::other_readings readings_;
};

/// The locations that a program has accessed so far. A location's number never changes.
class location_table {
 public:
  explicit location_table(std::span<const memory_object> objects) : objects_(objects) {}

  /// Returns the object that contains the whole access of `bytes` bytes, or null if no object does.
  [[nodiscard]] const memory_object* object_of(std::uint64_t address, int bytes) const noexcept {
    for (const memory_object& o : objects_) {
      if (address >= o.address && address - o.address < o.bytes &&
          o.bytes - (address - o.address) >= static_cast<std::uint64_t>(bytes)) {
        return &o;
      }
    }
    return nullptr;
  }

  /// Returns the number of the location with this address and size, which must be within one object.
  [[nodiscard]] int number_of(std::uint64_t address, int bytes) {
    const std::uint64_t key = address * 32 + static_cast<std::uint64_t>(bytes);
    const auto it = numbers_.find(key);
    if (it != numbers_.end()) {
      return it->second;
    }
    const memory_object& o = *object_of(address, bytes);
    const std::uint64_t end = address - o.address + static_cast<std::uint64_t>(bytes);
    location_info l{address, bytes, {}, o.initialised || end <= o.initial.size(), {}};
    for (int b = 0; b < bytes; ++b) {
      const std::uint64_t at = address - o.address + static_cast<std::uint64_t>(b);
      const std::uint64_t byte = at < o.initial.size() ? o.initial[static_cast<std::size_t>(at)] : 0;
      (b < 8 ? l.initial.low : l.initial.high) |= byte << (8 * static_cast<unsigned>(b % 8));
      l.initial.unknown = l.initial.unknown || o.is_unknown(at);
    }
    l.initial = l.initial.unknown ? wide_value{0, 0, true} : l.initial;
    const int mine = model::count_of(locations_);
    for (int other = 0; other < mine; ++other) {
      location_info& x = model::at(locations_, other);
      if (x.address < address + static_cast<std::uint64_t>(bytes) &&
          address < x.address + static_cast<std::uint64_t>(x.bytes)) {
        x.overlapping.push_back(mine);
        l.overlapping.push_back(other);
      }
    }
    locations_.push_back(std::move(l));
    numbers_.emplace(key, mine);
    return mine;
  }

  [[nodiscard]] const location_info& operator[](int number) const noexcept { return model::at(locations_, number); }
  [[nodiscard]] int size() const noexcept { return model::count_of(locations_); }
  [[nodiscard]] std::span<const memory_object> objects() const noexcept { return objects_; }

 private:
  std::span<const memory_object> objects_;
  std::vector<location_info> locations_{};
  std::unordered_map<std::uint64_t, int> numbers_{};
};

}  // namespace membar::check
