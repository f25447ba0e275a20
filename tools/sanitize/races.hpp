// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
/// @file
/// Compares an access with the last accesses to its words and reports data races.
#pragma once

#include <membar/model/morally_strong.hpp>
#include <sanitize/reporter.hpp>
#include <sanitize/run_state.hpp>

#include <cstdint>
#include <utility>

namespace membar::sanitize {

/// An access to memory, in the form that race detection needs.
struct access {
  const check::instruction* by = nullptr;
  std::uint32_t number = 0;  ///< the number of the access's instruction
  std::uint64_t address = 0;
  std::uint8_t bytes = 0;
  bool writes = false;
  bool strong = false;
  bool rmw = false;     ///< whether the access is half of a read-modify-write
  bool changes = true;  ///< whether the access writes a value other than the current one
  /// whether the access is a strong read of a strong write's value, and each of the two is in the other's scope
  bool observes = false;
  thread_scope scope = thread_scope::system;
  model::proxy via = model::proxy::generic;
};

/// The author of an access (a thread or a copy), and the events that happen before the author's next access.
struct accessor {
  thread_key key = 0;
  thread_time time = 1;
  /// the first key of the author's block; the accesses of all threads of the block up to time `of_block` happen before the
  /// author's next access
  thread_key first_of_block = 1;
  thread_key last_of_block = 0;
  thread_time of_block = 0;
  const knowledge* known = nullptr;
  const check::thread_context* context = nullptr;
};

class race_detector {
 public:
  race_detector(run_state& state, reporter& out) : state_(state), out_(out) {}

  /// Checks an access for races with earlier accesses, and records it.
  void touch(object& o, const accessor& who, const access& a) {
    ++state_.accesses_made;
    if (o.constant) {
      return;
    }
    if (state_.how.observe && a.address < check::shared_window) {
      using kind = observed_event::kind_t;
      state_.how.observe({a.writes ? kind::write : kind::read, who.context->launch, a.by, a.address, a.bytes, a.strong,
                          state_.is_early(who.context->launch, *who.known)});
    }
    const std::uint64_t end = a.address + a.bytes;
    for (std::uint64_t word = a.address & ~std::uint64_t{3}; word < end; word += 4) {
      const std::uint64_t from = a.address > word ? a.address - word : 0;
      const std::uint64_t to = end - word < 4 ? end - word : 4;
      const auto bytes = static_cast<std::uint32_t>(((1U << to) - 1) & ~((1U << from) - 1));
      touch(o.accessed_cell(word, a.writes), who, a, bytes);
    }
  }

  /// Checks the shared memory of a block when the block ends. Each access by another block or by an asynchronous operation must
  /// happen before the end of some thread of the block. Source: CUDA programming guide, "Distributed Shared Memory"; PTX ISA,
  /// "cp.async.bulk".
  void end_of(const block& b, const knowledge& known) {
    const thread_key last = b.first_key + b.launch->keys_of_block - 1;
    for (const object& o : b.shared) {
      for (std::uint64_t at = o.address; at < o.address + o.bytes; at += 4) {
        const cell& c = o.cell_at(at);
        for (unsigned k = 0; k < 4; ++k) {
          const stamp& s = c.last[k];
          const bool own = s.key >= b.first_key && s.key <= last;
          if (s.key == 0 || own || known.base.covers(s.key, s.time) || is_small_copy(s) || is_observed(b, known, c, k)) {
            continue;
          }
          out_.outside_of_life(b, shown(s, at, at), s.key >= state_.first_copy);
        }
      }
    }
  }

  /// Returns whether the strong read `a` is morally strong with the location's last strong write.
  [[nodiscard]] static bool reads_strongly(const sync_cell& c, const check::thread_context& reader, const access& a) noexcept {
    constexpr model::every_rule rules{};
    return c.bytes == a.bytes && model::includes(rules, c.scope, c.writer, reader.where) &&
           model::includes(rules, a.scope, reader.where, c.writer);
  }

 private:
  [[nodiscard]] static std::uint32_t code_of(model::proxy via) noexcept {
    return via == model::proxy::async ? 1U : via == model::proxy::tensor_map ? 2U : 0U;
  }

  void touch(cell& c, const accessor& who, const access& a, std::uint32_t bytes) {
    stamp mine{who.key, who.time,
               bytes | (a.strong ? stamp::strong : 0U) |
                   static_cast<std::uint32_t>(membar::detail::width_of(a.scope)) << stamp::scope_shift |
                   (a.writes ? stamp::write : 0U) | (a.observes ? stamp::observes : 0U) | code_of(a.via) << stamp::via_shift |
                   a.number << stamp::number_shift};
    bool covered[4];
    for (unsigned k = 0; k < 4; ++k) {
      const stamp& o = c.last[k];
      covered[k] = o.key == 0;
      const std::uint32_t differs = (o.what ^ mine.what) & ~(stamp::synchronizes | stamp::observes);
      if (o.key == who.key && o.time == who.time && differs == 0 && !a.observes) {
        return;
      }
      if (o.key == 0) {
        continue;
      }
      const bool conflict = ((o.what | mine.what) & stamp::write) != 0 && (o.what & bytes) != 0;
      const bool ordered = o.key == who.key || is_ordered(o, who, a);
      if (!ordered && conflict) {
        meets(c, k, o, mine, who, a);
      }
      covered[k] = ordered && covers(mine, o);
      // the new access observes the same writes as the access that it replaces
      mine.what |= covered[k] ? o.what & stamp::observes : 0U;
    }
    keep(c, mine, covered);
  }

  /// Returns whether every later access that races with `o` also races with `mine`.
  [[nodiscard]] static bool covers(const stamp& mine, const stamp& o) noexcept {
    const std::uint32_t same = (mine.what ^ o.what) & stamp::via_mask;
    const bool bytes = (o.what & ~mine.what & stamp::bytes_mask) == 0;
    const bool kind = mine.is_write() || !o.is_write();
    const bool strength =
        !mine.is_strong() || (o.is_strong() && (mine.what & stamp::scope_mask) <= (o.what & stamp::scope_mask) &&
                              (mine.what & stamp::bytes_mask) == (o.what & stamp::bytes_mask));
    return same == 0 && bytes && kind && strength;
  }

  static void keep(cell& c, const stamp& mine, const bool (&covered)[4]) noexcept {
    const std::uint32_t flag = c.last[0].what & stamp::synchronizes;
    if (mine.is_write() && !mine.is_strong()) {
      for (unsigned k = 1; k < 4; ++k) {
        if (covered[k]) {
          c.last[k] = {};
        }
      }
      c.last[0] = mine;
      c.last[0].what |= flag;
      return;
    }
    if (covered[0] && c.last[0].key != 0) {
      c.last[0] = {0, 0, flag};
    }
    unsigned to = 1;  // the accesses that are not covered keep their order
    for (unsigned k = 1; k < 4; ++k) {
      if (!covered[k]) {
        const stamp o = c.last[k];
        c.last[k] = {};
        c.last[to++] = o;
      } else {
        c.last[k] = {};
      }
    }
    if (to == 4) {
      c.last[1] = c.last[2];
      c.last[2] = c.last[3];
      to = 3;
    }
    c.last[to] = mine;
  }

  /// Returns whether access `o` happens before the access of `who`, through the proxy of `a`. Source: PTX ISA, "Proxy-preserved
  /// base causality order".
  [[nodiscard]] bool is_ordered(const stamp& o, const accessor& who, const access& a) const {
    if (who.known->more == nullptr || a.via == model::proxy::generic) {
      return (o.key >= who.first_of_block && o.key <= who.last_of_block && o.time <= who.of_block) ||
             who.known->base.covers(o.key, o.time);
    }
    if (check::machine::is_tensor_memory(a.address)) {
      return who.known->base.covers(o.key, o.time);
    }
    const auto crossed = [&](ptx::proxy_space s) -> const clock& {
      return who.known->more->crossed[static_cast<std::size_t>(s)];
    };
    if (a.via == model::proxy::tensor_map) {
      return crossed(ptx::proxy_space::tensor_maps).covers(o.key, o.time);
    }
    if (((o.what & stamp::via_mask) >> stamp::via_shift) == code_of(model::proxy::async) &&
        (who.context->is_of_pair(state_.place_of(o.key).block) ||
         state_.how.readings.takes(model::reading::copies_of_two_blocks))) {
      return who.known->base.covers(o.key, o.time);
    }
    const bool own = who.context->is_of_pair(check::thread_context::block_of(a.address));
    return crossed(a.address < check::shared_window ? ptx::proxy_space::global
                   : own                            ? ptx::proxy_space::own_shared
                                                    : ptx::proxy_space::other_shared)
        .covers(o.key, o.time);
  }

  /// Returns whether an access belongs to a copy, such as `cp.async`, that threads wait for in groups.
  [[nodiscard]] bool is_small_copy(const stamp& s) const noexcept {
    return s.key >= state_.first_copy && state_.numbered->all[s.number()]->completes == model::completion::group &&
           state_.numbered->all[s.number()]->via == model::proxy::generic;
  }
  /// Returns whether a strong read has returned the value of write `k` to a word or of a later write. The read must be by a
  /// thread of the block, or be one of the events in `known`.
  [[nodiscard]] static bool is_observed(const block& b, const knowledge& known, const cell& c, unsigned k) noexcept {
    for (unsigned n = k + 1; n < 4; ++n) {
      const stamp& r = c.last[n];
      const bool own = r.key >= b.first_key && r.key < b.first_key + b.launch->keys_of_block;
      if (r.key != 0 && (r.what & stamp::observes) != 0 && (own || known.base.covers(r.key, r.time))) {
        return true;
      }
    }
    return false;
  }

  /// If the thread of the weak write `o` has read the value of `o` with a read-modify-write, returns the index of the stamp
  /// that follows this read-modify-write; otherwise, returns 4. A read that observes this read-modify-write also observes `o`.
  /// Source: PTX ISA, "Observation order"; accesses related in program order are morally strong.
  [[nodiscard]] unsigned after_own_update(const cell& c, const stamp& o) const noexcept {
    for (unsigned n = 1; n < 4; ++n) {
      const check::op code = c.last[n].key == o.key ? state_.numbered->all[c.last[n].number()]->code : check::op::load;
      if ((code == check::op::atomic || code == check::op::reduction) && c.last[n].time >= o.time) {
        return n + 1;
      }
    }
    return 4;
  }

  /// Returns whether a read that happens before the next event of `who` has observed `o`, which is write `k` to a word.
  [[nodiscard]] bool is_observed(const cell& c, unsigned k, const stamp& o, const accessor& who) const noexcept {
    for (unsigned n = o.is_strong() ? k + 1 : after_own_update(c, o); n < 4; ++n) {
      const stamp& r = c.last[n];
      if (r.key != 0 && (r.what & stamp::observes) != 0 && (r.key == who.key || who.known->base.covers(r.key, r.time))) {
        return true;
      }
    }
    return false;
  }

  /// Reports that `o` and the new access conflict and are unordered, unless the model exempts the pair.
  void meets(const cell& c, unsigned k, const stamp& o, const stamp& mine, const accessor& who, const access& a) {
    const check::instruction& other = *state_.numbered->all[o.number()];
    if (o.is_strong() && mine.is_strong() && other.bytes == a.bytes &&
        (o.what & (stamp::bytes_mask | stamp::via_mask)) == (mine.what & (stamp::bytes_mask | stamp::via_mask))) {
      constexpr model::every_rule rules{};
      const model::place there = state_.place_of(o.key);
      if (model::includes(rules, a.scope, who.context->where, there) &&
          model::includes(rules, o.scope(), there, who.context->where)) {
        return;
      }
    }
    if (other.mbarrier != check::mbarrier_op::none && a.by->mbarrier != check::mbarrier_op::none &&
        ((o.is_strong() && mine.is_strong()) ||
         (other.mbarrier == check::mbarrier_op::init && who.known->begun.covers(o.key, o.time)))) {
      return;
    }
    const bool observed = o.is_write() && is_observed(c, k, o, who);
    const bool is_update = other.code == check::op::atomic || other.code == check::op::reduction;
    const bool whole = state_.how.readings.takes(model::reading::whole_updates_are_observed);
    // the write happens before the access, but not necessarily before the read half of a read-modify-write
    if (observed && (whole || !(is_update && a.writes))) {
      return;
    }
    if (state_.checked.assumed.same_value_writes && (!a.writes || !a.changes)) {
      return;
    }
    shown_access second = shown(who, a);
    second.follows = who.known->base.covers(o.key, o.time);
    shown_access first = shown(o, a.address, a.address & ~std::uint64_t{3});
    if (observed) {
      first.event.kind = model::event_kind::read;
    }
    out_.race(first, second);
  }

  /// Returns the number of bytes that a report gives for an access of `bytes` bytes. An asynchronous operation accesses its data
  /// in pieces, and the report gives the size of all of them.
  [[nodiscard]] int bytes_shown(thread_key key, bool writes, int bytes) const {
    if (key < state_.first_copy) {
      return bytes;
    }
    const started_copy& copy = state_.copies[key - state_.first_copy];
    return writes ? copy.bytes_written : copy.bytes_read;
  }
  [[nodiscard]] shown_access shown(const accessor& who, const access& a) const {
    shown_access result{who.key, a.number, {}};
    result.event.kind = a.writes ? model::event_kind::write : model::event_kind::read;
    result.event.strong = a.strong;
    result.event.scope = a.scope;
    result.event.rmw = a.rmw;
    result.event.via = a.via;
    result.event.bytes = bytes_shown(who.key, a.writes, a.bytes);
    result.event.address = a.address;
    return result;
  }
  [[nodiscard]] shown_access shown(const stamp& o, std::uint64_t address, std::uint64_t word) const {
    const check::instruction& i = *state_.numbered->all[o.number()];
    shown_access result{o.key, o.number(), {}};
    result.event.kind = o.is_write() ? model::event_kind::write : model::event_kind::read;
    result.event.strong = o.is_strong();
    result.event.scope = o.scope();
    result.event.rmw = i.code == check::op::atomic || i.code == check::op::reduction;
    const std::uint32_t via = (o.what & stamp::via_mask) >> stamp::via_shift;
    result.event.via = via == 0 ? model::proxy::generic : via == 1 ? model::proxy::async : model::proxy::tensor_map;
    result.event.bytes = bytes_shown(o.key, o.is_write(), i.bytes);
    result.event.address = i.bytes >= 4 ? address & ~std::uint64_t{i.bytes - 1U}
                                        : word + static_cast<unsigned>(std::countr_zero(o.what & stamp::bytes_mask));
    return result;
  }

  run_state& state_;
  reporter& out_;
};

}  // namespace membar::sanitize
