// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
/// @file
/// Release and acquire patterns, fences, and the order of `fence.sc` operations, and how they determine which events happen
/// before a thread's next event. The rules are the same as in `check::event_rules`.
#pragma once

#include <membar/memory_order.hpp>
#include <sanitize/races.hpp>
#include <sanitize/run_state.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <unordered_map>
#include <utility>
#include <vector>

namespace membar::sanitize {

class thread_order {
 public:
  explicit thread_order(run_state& state) : state_(state) {}

  /// Returns a head with everything that the thread releases: its own events, and all events that happen before its next event.
  /// Advances the thread's time.
  [[nodiscard]] release_head released(lane& l, thread_scope scope) {
    release_head h;
    h.scope = scope;
    h.where = l.home->context_of(l).where;
    h.serial = ++state_.serials;
    h.known = std::make_shared<knowledge>(l.known);
    h.known->base.raise(l.key, l.time);
    if (state_.has_mbarriers) {
      h.known->begun.raise(l.key, l.time);
    }
    ++l.time;
    return h;
  }

  void fence(lane& l, const check::instruction& i) {
    const bool sequential = i.order == memory_order::seq_cst && !i.restricted;
    if (model::acquires(i.order)) {
      acquire_observed(l, i.scope, nullptr);
    }
    if (sequential) {
      follow_sequential(l, i.scope);
    }
    if (!model::releases(i.order)) {
      return;
    }
    thread_orders& mine = orders_of(l);
    if (i.restricted) {
      l.known.begun.join(l.known.base);
    }
    release_head h = released(l, i.scope);
    h.restricted = i.restricted;
    if (sequential) {
      lead_sequential(l, h);
    }
    mine.keep(std::move(h));
  }

  /// Performs a proxy fence, which may be one-directional.
  void proxy_fence(lane& l, const check::instruction& i) {
    if (!i.restricted) {
      l.known.cross(i.proxy_spaces);
      for (std::size_t k = 0; k < ptx::proxy_spaces && l.known.more != nullptr; ++k) {
        if (((i.proxy_spaces >> k) & 1U) != 0) {
          l.known.more->crossed[k].raise(l.key, l.time);
        }
      }
      ++l.time;
      return;
    }
    const bool releases = i.order == memory_order::release;
    if (!releases) {
      acquire_observed(l, i.scope, &i.fenced);
    }
    cross_one_way(l, i.fenced, releases);
    if (releases) {
      release_head h = released(l, i.scope);
      h.fence = true;
      h.fenced = i.fenced;
      orders_of(l).keep(std::move(h));
    }
  }

  /// Performs a strong read. The thread's later events happen after the writes that the read synchronizes with. If `red` is
  /// set, the read cannot form a pattern with a later fence.
  void read(lane& l, const access& a, memory_order order, bool red, bool passes) {
    const auto it = state_.cells.find(a.address);
    if (it == state_.cells.end()) {
      return;
    }
    const sync_cell& c = it->second;
    const bool mbarrier = a.by->mbarrier != check::mbarrier_op::none;
    if (mbarrier ? !passes : !race_detector::reads_strongly(c, l.home->context_of(l), a)) {
      return;
    }
    const bool acquires = model::acquires(order);
    for (const release_head& h : mbarrier ? c.phase : c.heads) {
      if (acquires && h.reaches(a.scope, l.home->context_of(l).where)) {
        synchronize(l, h);
      }
      if (!red && (!acquires || h.fence || h.scope > a.scope)) {
        observe(l, a.address, h);
      }
    }
    if (acquires && !mbarrier && l.orders != nullptr) {
      for (const thread_orders::observation& o : l.orders->observed) {
        if (o.address == a.address && o.head.reaches(a.scope, l.home->context_of(l).where)) {
          synchronize(l, o.head);
        }
      }
    }
  }

  /// Performs a strong write. `chained` is set if the write belongs to a read-modify-write whose strong read returned the
  /// previous value.
  void write(object& o, lane& l, const access& a, memory_order order, bool chained, bool completes) {
    const bool releases = model::releases(order);
    const bool mbarrier = a.by->mbarrier != check::mbarrier_op::none && a.rmw;
    const bool arrives = check::arrives(a.by->mbarrier);
    cell& word = o.cell_at(a.address);
    const bool known = (word.last[0].what & stamp::synchronizes) != 0;
    const bool has_heads = releases || has_fences(l);
    if (!known && !has_heads) {
      return;
    }
    word.last[0].what |= stamp::synchronizes;
    sync_cell& c = state_.cells[a.address];
    if (!mbarrier && !chained) {
      c.heads.clear();
    }
    c.writer = l.home->context_of(l).where;
    c.scope = a.scope;
    c.bytes = a.bytes;
    if (!mbarrier || arrives) {
      if (releases) {
        add_own(c, l, released(l, a.scope), !mbarrier);
      } else if (!mbarrier) {
        for (const auto& [key, head] : c.own) {
          if (key == l.key) {
            c.heads.add(head);
          }
        }
      }
      add_fences(c, l);
    }
    if (completes) {
      c.phase = c.heads;
    }
  }

  /// Performs a weak write, which ends the patterns of the previous strong write.
  void weak_write(object& o, std::uint64_t address) {
    cell& word = o.cell_at(address);
    if ((word.last[0].what & stamp::synchronizes) != 0) {
      word.last[0].what &= ~stamp::synchronizes;
      state_.cells.erase(address);
      if (state_.is_part) {
        state_.dropped_cells.push_back(address);
      }
    }
  }

  /// Treats the end of a kernel as an acquiring fence.
  void acquire_all(lane& l) { acquire_observed(l, thread_scope::system, nullptr); }

  /// Orders the thread's later events after the events of a release head.
  void synchronize(lane& l, const release_head& h) {
    const bool same_proxies =
        l.home->context_of(l).is_of_pair(h.where.block) || state_.how.readings.takes(model::reading::fence_of_another_block);
    if (h.fence) {
      if (l.known.more != nullptr) {
        const auto k = static_cast<std::size_t>(h.fenced);
        l.known.more->released[k].join(h.known->more->released[k]);
      }
    } else if (h.restricted) {
      l.known.begun.join(h.known->begun);
    } else {
      l.known.join(*h.known, same_proxies);
      if (h.copy && l.known.more != nullptr) {  // the completion acts as a tcgen05.fence::before_thread_sync
        l.known.more->released[static_cast<std::size_t>(ptx::one_way::tensor_memory)].join(h.known->base);
      }
    }
  }

  static thread_orders& orders_of(lane& l) {
    if (l.orders == nullptr) {
      l.orders = std::make_unique<thread_orders>();
    }
    return *l.orders;
  }

  /// Adds to `c` the heads of the release patterns that start at a fence of this thread and that the thread's next event
  /// completes.
  void add_fences(sync_cell& c, const lane& l) const {
    for_each_fence(l, [&](const release_head& h) { c.heads.add(h); });
  }

  template <class Use>
  static void for_each_fence(const lane& l, const Use& use) {
    if (l.orders == nullptr) {
      return;
    }
    for (const release_head& h : l.orders->fences) {
      use(h);
    }
  }

 private:
  [[nodiscard]] static std::size_t width(thread_scope s) noexcept {
    return static_cast<std::size_t>(membar::detail::width_of(s));
  }

  [[nodiscard]] static bool has_fences(const lane& l) { return l.orders != nullptr && !l.orders->fences.empty(); }

  static void add_own(sync_cell& c, const lane& l, release_head head, bool keep) {
    constexpr std::size_t most = 1024;
    if (keep) {
      const auto mine = std::find_if(c.own.begin(), c.own.end(),
                                     [&](const auto& o) { return o.first == l.key && o.second.scope == head.scope; });
      if (mine != c.own.end()) {
        mine->second = head;
      } else {
        if (c.own.size() >= most) {
          c.own.erase(c.own.begin());
        }
        c.own.emplace_back(l.key, head);
      }
    }
    c.heads.add(head);
  }

  /// Stores a release head for a later fence or acquiring read.
  void observe(lane& l, std::uint64_t address, const release_head& h) {
    constexpr std::size_t most = 4096;
    auto& all = orders_of(l).observed;
    for (thread_orders::observation& o : all) {
      if (o.address == address && o.head.is_like(h) && model::same_block(o.head.where, h.where)) {
        if (o.head.known != h.known) {
          auto both = std::make_shared<knowledge>(*o.head.known);
          both->join(*h.known, true);
          o.head.known = std::move(both);
          o.head.several = o.head.several || h.several;
        }
        return;
      }
    }
    if (all.size() >= most) {
      all.erase(all.begin());
    }
    all.push_back({address, h});
  }

  /// Performs an acquiring fence with a scope, or a one-directional proxy fence, which synchronizes only with fences of its
  /// kind.
  void acquire_observed(lane& l, thread_scope scope, const ptx::one_way* kind) {
    if (l.orders == nullptr) {
      return;
    }
    auto& all = l.orders->observed;
    std::erase_if(all, [&](const thread_orders::observation& o) {
      const bool of_kind = kind == nullptr ? !o.head.fence : o.head.fence && o.head.fenced == *kind;
      if (!of_kind || !o.head.reaches(scope, l.home->context_of(l).where)) {
        return false;
      }
      synchronize(l, o.head);
      return true;
    });
  }

  // ---- the order of the `fence.sc` operations, which is their order in the schedule

  /// Returns the number of the group to which a `fence.sc` with the given scope at the given place belongs. The scopes of
  /// fences in the same group include each other.
  [[nodiscard]] static std::uint64_t place_number(thread_scope scope, const model::place& p) noexcept {
    const int gpu = p.host ? -1 : p.gpu;
    const std::int64_t id = scope == thread_scope::block     ? p.block
                            : scope == thread_scope::cluster ? (p.cluster >= 0 ? p.cluster : p.block)
                            : scope == thread_scope::device  ? gpu * 256 + p.domain
                                                             : gpu;
    return static_cast<std::uint64_t>(width(scope)) << 60U | static_cast<std::uint64_t>(id + 256);
  }

  void follow_sequential(lane& l, thread_scope scope) {
    const model::place& here = l.home->context_of(l).where;
    for (const thread_scope other : {thread_scope::block, thread_scope::cluster, thread_scope::device}) {
      follow_sequential(l, scope, place_number(other, here));
    }
    for (const std::uint64_t number : of_system_) {
      follow_sequential(l, scope, number);
    }
  }
  void follow_sequential(lane& l, thread_scope scope, std::uint64_t number) {
    const auto at = sequential_.find(number);
    if (at == sequential_.end() || !at->second.reaches(scope, l.home->context_of(l).where)) {
      return;
    }
    const release_head& h = at->second;
    thread_orders& mine = orders_of(l);
    if (mine.last_sequential_head == h.serial && l.known.more == nullptr) {
      l.known.base.join(h.known->base, mine.last_sequential);
      l.known.begun.join(h.known->begun);
    } else {
      synchronize(l, h);
    }
  }
  void lead_sequential(lane& l, const release_head& h) {
    const std::uint64_t number = place_number(h.scope, h.where);
    const auto [at, is_new] = sequential_.try_emplace(number, h);
    release_head& all = at->second;
    if (is_new) {
      all.known = std::make_shared<knowledge>(*h.known);
      if (h.scope == thread_scope::system) {
        of_system_.push_back(number);
      }
    } else {  // everything that precedes the fence in this order already happens before it
      all.known->base = h.known->base;
      all.known->begun = h.known->begun;
      all.known->join_proxies(*h.known, false);
      all.several = all.several || !model::same_block(all.where, h.where);
    }
    thread_orders& mine = orders_of(l);
    mine.last_sequential = all.known->base;
    mine.last_sequential_head = all.serial;
  }

  /// Source: PTX ISA, "membar/fence", `.sync_restrict`; "tensormap" and "tcgen05" proxy fences.
  void cross_one_way(lane& l, ptx::one_way kind, bool releases) {
    if (l.known.more == nullptr) {
      return;
    }
    clock& passed = l.known.more->released[static_cast<std::size_t>(kind)];
    if (releases) {
      passed.join(l.known.base);
      passed.raise(l.key, l.time);
      ++l.time;
      return;
    }
    const ptx::proxy_space space = kind == ptx::one_way::tensor_maps     ? ptx::proxy_space::tensor_maps
                                   : kind == ptx::one_way::tensor_memory ? ptx::proxy_space::tensor_memory
                                                                         : ptx::proxy_space::other_shared;
    l.known.more->crossed[static_cast<std::size_t>(space)].join(passed);
    if (kind == ptx::one_way::async) {
      l.known.more->crossed[static_cast<std::size_t>(ptx::proxy_space::own_shared)].join(passed);
    }
  }

  run_state& state_;
  std::unordered_map<std::uint64_t, release_head> sequential_{};  ///< by `place_number`
  std::vector<std::uint64_t> of_system_{};                        ///< the numbers of the groups with system scope
};

}  // namespace membar::sanitize
