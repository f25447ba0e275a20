// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
/// @file
/// The events that happen before a thread's next event, and the release heads that pass them on to other threads.
#pragma once

#include <membar/model/morally_strong.hpp>
#include <membar/model/program.hpp>
#include <membar/model/rules.hpp>
#include <membar/thread_scope.hpp>
#include <ptx/instruction.hpp>
#include <sanitize/clock.hpp>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

namespace membar::sanitize {

/// The events that happen before an event: by base causality and, if the program has asynchronous operations, across proxies.
/// The rules are the same as in `check::event_rules`.
struct knowledge {
  /// Data that only programs with asynchronous operations need.
  struct proxies {
    /// by space: the events that precede a proxy fence for that space in this block
    std::array<clock, ptx::proxy_spaces> crossed{};
    std::array<clock, ptx::one_ways> released{};  ///< by kind: the events that one-directional proxy fences have released
  };

  clock base{};
  clock begun{};  ///< initializations of mbarriers, including those that a fence restricted to them has passed on
  std::unique_ptr<proxies> more{};

  knowledge() = default;
  knowledge(const knowledge& o)
      : base(o.base), begun(o.begun), more(o.more == nullptr ? nullptr : std::make_unique<proxies>(*o.more)) {}
  knowledge(knowledge&&) = default;
  knowledge& operator=(const knowledge& o) {
    base = o.base;
    begun = o.begun;
    more = o.more == nullptr ? nullptr : std::make_unique<proxies>(*o.more);
    return *this;
  }
  knowledge& operator=(knowledge&&) = default;
  ~knowledge() = default;

  void join(const knowledge& o, bool same_proxies) {
    base.join(o.base);
    begun.join(o.begun);
    join_proxies(o, same_proxies);
  }
  void join_proxies(const knowledge& o, bool same_proxies) {
    if (more == nullptr || o.more == nullptr) {
      return;
    }
    for (std::size_t k = 0; k < ptx::one_ways; ++k) {
      more->released[k].join(o.more->released[k]);
    }
    for (std::size_t k = 0; k < ptx::proxy_spaces && same_proxies; ++k) {
      if (k != static_cast<std::size_t>(ptx::proxy_space::tensor_memory)) {  // such a fence affects only its own thread
        more->crossed[k].join(o.more->crossed[k]);
      }
    }
  }
  /// Performs a proxy fence for the spaces in a bit mask.
  void cross(unsigned spaces) {
    for (std::size_t k = 0; k < ptx::proxy_spaces && more != nullptr; ++k) {
      if (((spaces >> k) & 1U) != 0) {
        more->crossed[k].join(base);
      }
    }
  }
};

/// The head of a release pattern: its scope, and the events that happen before the release.
struct release_head {
  thread_scope scope = thread_scope::system;
  model::place where{};
  bool several = false;  ///< whether the head combines releases of several blocks that the scope includes
  bool fence = false;    ///< whether it is a one-directional proxy fence, which passes on only what fences of its kind release
  bool restricted = false;  ///< whether it is a fence that applies only to the initialization of mbarriers
  bool copy = false;        ///< whether it is the completion of an asynchronous operation, which takes effect at its mbarrier
  ptx::one_way fenced = ptx::one_way::async;
  std::uint64_t serial = 0;  ///< the serial number of the head's first version; later versions only add to `known`
  std::shared_ptr<knowledge> known{};

  /// Returns whether the scope of this head includes a thread at `there`, and that thread's scope includes the place of the
  /// release.
  [[nodiscard]] bool reaches(thread_scope their_scope, const model::place& there) const noexcept {
    constexpr model::every_rule rules{};
    return copy || (model::includes(rules, scope, where, there) &&
                    (model::includes(rules, their_scope, there, where) || (several && their_scope < scope)));
  }
  [[nodiscard]] bool is_like(const release_head& o) const noexcept {
    return scope == o.scope && copy == o.copy && fence == o.fence && restricted == o.restricted && fenced == o.fenced;
  }
};

/// Heads of release patterns. If there are many, the heads with the same scope and in the same instance of that scope are
/// combined.
class release_heads {
 public:
  void clear() noexcept { heads_.clear(); }
  [[nodiscard]] bool empty() const noexcept { return heads_.empty(); }
  [[nodiscard]] auto begin() const noexcept { return heads_.begin(); }
  [[nodiscard]] auto end() const noexcept { return heads_.end(); }

  void add(const release_head& h) {
    const bool many = heads_.size() >= most_apart;
    for (release_head& mine : heads_) {
      const bool same_block = model::same_block(mine.where, h.where);
      if (mine.is_like(h) && (same_block || (many && is_in_place(mine, h)))) {
        if (mine.known == h.known) {
          return;
        }
        if (mine.known.use_count() > 1) {
          mine.known = std::make_shared<knowledge>(*mine.known);
        }
        mine.known->join(*h.known, same_block);
        mine.several = mine.several || h.several || !same_block;
        return;
      }
    }
    heads_.push_back(h);
  }

 private:
  static constexpr std::size_t most_apart = 8;
  /// Returns whether two heads with the same scope reach the same threads through that scope or a wider one.
  [[nodiscard]] static bool is_in_place(const release_head& x, const release_head& y) noexcept {
    constexpr model::every_rule rules{};
    return x.where.host == y.where.host && model::includes(rules, std::min(x.scope, thread_scope::device), x.where, y.where);
  }
  std::vector<release_head> heads_{};
};

/// The record that a strong write leaves at its location for later reads.
struct sync_cell {
  model::place writer{};
  thread_scope scope = thread_scope::system;
  std::uint8_t bytes = 0;
  release_heads heads{};
  release_heads phase{};  ///< for an mbarrier: the heads of the last completed phase
  /// The last releasing write of each thread to this location, per scope. The thread's later writes to the location end release
  /// patterns that begin with this write.
  std::vector<std::pair<thread_key, release_head>> own{};
};

}  // namespace membar::sanitize
