// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Compares the search for a Fence-SC order with trying all orders of a few fences, and runs the search on many fences.
#include <check/fence_order.hpp>

#include <gtest/gtest.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <random>
#include <utility>
#include <vector>

namespace {

namespace check = membar::check;
namespace model = membar::model;
using membar::thread_scope;

/// A hand-written execution. Its base causality consists only of program order until a fence order is added.
class execution {
 public:
  /// Threads of two blocks: even threads are in one block, odd threads in the other.
  execution(std::size_t threads, std::size_t locations) : contexts_(threads) {
    graph_.threads.resize(threads);
    graph_.reserve(locations);
    for (std::size_t t = 0; t < threads; ++t) {
      contexts_[t].where.block = static_cast<int>(t % 2);
    }
  }

  void fence(std::size_t thread, thread_scope scope = thread_scope::device) {
    check::graph_event& e = add(thread, model::event_kind::fence, -1, scope);
    e.sequential = true;
    graph_.fences.push_back(&e);
  }
  /// A write at position `place` in its location's coherence order; place 0 is the initial write.
  const check::graph_event* write(std::size_t thread, int location, std::size_t place) {
    check::graph_event& e = add(thread, model::event_kind::write, location, thread_scope::device);
    auto& order = model::at(graph_.order, location);
    order.insert(order.begin() + static_cast<std::ptrdiff_t>(place), &e);
    return &e;
  }
  const check::graph_event* read(std::size_t thread, int location, const check::graph_event* source) {
    check::graph_event& e = add(thread, model::event_kind::read, location, thread_scope::device);
    e.source = source;
    model::at(graph_.reads, location).push_back(&e);
    return &e;
  }

  [[nodiscard]] const check::graph& graph() const { return graph_; }
  [[nodiscard]] check::event_rules rules() const { return check::event_rules(contexts_); }
  [[nodiscard]] const std::deque<check::graph_event>& events() const { return events_; }

 private:
  check::graph_event& add(std::size_t thread, model::event_kind kind, int location, thread_scope scope) {
    auto& line = graph_.threads[thread].events;
    check::graph_event& e = events_.emplace_back();
    e.kind = kind;
    e.strong = true;
    e.scope = scope;
    e.thread = static_cast<std::int32_t>(thread);
    e.number = static_cast<std::int32_t>(line.size());
    e.location = location;
    e.address = e.physical = location < 0 ? 0 : static_cast<std::uint64_t>(8 * location + 8);
    e.bytes = location < 0 ? 0 : 4;
    e.stamp = graph_.next_stamp++;
    auto& clock = clocks_.emplace_back(contexts_.size(), std::uint16_t{0});
    clock[thread] = static_cast<std::uint16_t>(e.number + 1);
    e.base = clock.data();
    line.push_back(&e);
    return e;
  }

  std::vector<check::thread_context> contexts_;
  std::deque<check::graph_event> events_;
  std::deque<std::vector<std::uint16_t>> clocks_;
  check::graph graph_;
};

using suspects = std::vector<std::pair<const check::graph_event*, const check::graph_event*>>;

/// Tries all orders of the fences one by one, and applies the axioms literally.
class every_order {
 public:
  explicit every_order(const execution& e) : execution_(e), rules_(e.rules()), size_(e.events().size()), before_(size_) {
    for (std::size_t i = 0; i < size_; ++i) {
      for (std::size_t j = 0; j < size_; ++j) {
        const auto& x = e.events()[i];
        const auto& y = e.events()[j];
        before_[i] |= x.thread == y.thread && x.number < y.number ? bit(j) : 0;
        if (i < j && x.sequential && y.sequential && x.thread != y.thread && rules_.morally_strong(x, y)) {
          pairs_.emplace_back(i, j);
        }
      }
    }
  }

  /// Returns whether a consistent order exists. If `apart` is given, the fence order must leave these two events unordered.
  [[nodiscard]] bool exists(const suspects::value_type* apart = nullptr) const { return orient(0, before_, apart); }
  /// Returns whether the execution would be consistent without its fences.
  [[nodiscard]] bool consistent_without() const { return consistent(before_, nullptr); }

 private:
  /// For each event, the set of the events that are after it, with one bit per event.
  using relation = std::vector<std::uint64_t>;

  [[nodiscard]] static std::uint64_t bit(std::size_t i) { return std::uint64_t{1} << i; }

  [[nodiscard]] bool orient(std::size_t next, const relation& chosen, const suspects::value_type* apart) const {
    if (next == pairs_.size()) {
      return consistent(closed(chosen), apart);
    }
    const auto [x, y] = pairs_[next];
    for (const auto& [from, to] : {std::pair(x, y), std::pair(y, x)}) {
      relation more = chosen;
      more[from] |= bit(to);
      if (orient(next + 1, more, apart)) {
        return true;
      }
    }
    return false;
  }

  [[nodiscard]] relation closed(relation r) const {
    for (std::size_t k = 0; k < size_; ++k) {
      for (std::size_t i = 0; i < size_; ++i) {
        r[i] |= (r[i] & bit(k)) != 0 ? r[k] : 0;
      }
    }
    return r;
  }

  [[nodiscard]] bool consistent(const relation& base, const suspects::value_type* apart) const {
    for (std::size_t i = 0; i < size_; ++i) {
      if ((base[i] & bit(i)) != 0) {
        return false;
      }
    }
    const auto& events = execution_.events();
    const auto index = [&](const check::graph_event& e) {
      return static_cast<std::size_t>(std::find_if(events.begin(), events.end(), [&](const auto& x) { return &x == &e; }) -
                                      events.begin());
    };
    const auto base_orders = [&](const check::graph_event& x, const check::graph_event& y) {
      return (base[index(x)] & bit(index(y))) != 0;
    };
    const auto causes = [&](const check::graph_event& x, const check::graph_event& y) {
      return base_orders(x, y) || std::any_of(events.begin(), events.end(), [&](const auto& r) {
               return x.kind == model::event_kind::write && r.kind == model::event_kind::read && rules_.observes(r, x) &&
                      base_orders(r, y);
             });
    };
    for (const auto& order : execution_.graph().order) {
      for (std::size_t i = 1; i < order.size(); ++i) {
        for (std::size_t j = i + 1; j < order.size(); ++j) {
          if (causes(*order[j], *order[i])) {
            return false;
          }
        }
      }
    }
    for (const check::graph_event& r : events) {
      if (r.kind != model::event_kind::read) {
        continue;
      }
      const auto& order = model::at(execution_.graph().order, r.location);
      if (r.source != nullptr && base_orders(r, *r.source)) {
        return false;
      }
      for (auto w = std::find(order.begin(), order.end(), r.source) + 1; w != order.end(); ++w) {
        if (causes(**w, r)) {
          return false;
        }
      }
    }
    return apart == nullptr || (!causes(*apart->first, *apart->second) && !causes(*apart->second, *apart->first));
  }

  const execution& execution_;
  check::event_rules rules_;
  std::size_t size_;
  relation before_;
  std::vector<std::pair<std::size_t, std::size_t>> pairs_;
};

/// Compares `fence_order` with a trial of all orders on random executions whose fences have one scope or several scopes.
void compare_with_every_order(bool scopes) {
  std::mt19937 stream(scopes ? 2 : 1);
  const auto below = [&](std::size_t n) { return static_cast<std::size_t>(stream() % n); };
  int by_fences = 0;
  int races = 0;
  int ordered = 0;
  int in_order = 0;      // The insertion order, which the search tries first.
  int broken = 0;        // Conflicts that two fences cause in every order.
  int ordered_soon = 0;  // Accesses that only two fences order.
  for (int n = 0; n < 6000; ++n) {
    const std::size_t threads = 3 + below(2);
    execution e(threads, 3);
    std::vector<std::vector<const check::graph_event*>> writes(3, {nullptr});
    std::vector<int> left(threads,
                          // Every thread accesses memory, executes a fence and accesses memory again; the first thread then
                          // executes another fence and accesses memory once more.
                          3);
    left[0] = 5;
    bool keeps = true;
    bool breaks = false;
    while (std::any_of(left.begin(), left.end(), [](int more) { return more > 0; })) {
      const std::size_t thread = below(threads);
      const std::size_t l = below(3);
      const int location = static_cast<int>(l);
      if (left[thread] == 0) {
        continue;
      }
      if (left[thread]-- % 2 == 0) {
        e.fence(thread, scopes && below(3) == 0 ? thread_scope::block : thread_scope::device);
      } else if (below(2) == 0) {
        writes[l].push_back(e.write(thread, location, writes[l].size()));
      } else {
        e.read(thread, location, writes[l][below(writes[l].size())]);
      }
      keeps = keeps && check::keeps_fence_order(e.graph(), e.rules(), e.events().back());
      breaks = breaks || check::breaks_every_fence_order(e.graph(), e.rules(), e.events().back());
    }
    suspects found;
    for (int i = 0; i < 2; ++i) {
      const auto& x = e.events()[below(e.events().size())];
      const auto& y = e.events()[below(e.events().size())];
      if (x.thread != y.thread && x.location >= 0 && y.location >= 0) {
        found.emplace_back(&x, &y);
      }
    }
    const check::event_rules rules = e.rules();
    const every_order all(e);
    const auto* race = static_cast<const suspects::value_type*>(nullptr);
    for (const auto& s : found) {
      race = race == nullptr && all.exists(&s) ? &s : race;
    }
    check::fence_order order(e.graph(), rules);
    const bool some = all.exists();
    EXPECT_EQ(order.search(found), some) << n;
    EXPECT_EQ(order.race(), race) << n;
    EXPECT_TRUE(!keeps || some) << n;
    EXPECT_TRUE(!breaks || !some) << n;
    for (const auto& s : found) {
      const bool soon = check::are_ordered_by_fences(e.graph(), rules, *s.first, *s.second);
      EXPECT_TRUE(!soon || !all.exists(&s)) << n;
      ordered_soon += soon && some ? 1 : 0;
    }
    in_order += keeps ? 1 : 0;
    broken += breaks && all.consistent_without() ? 1 : 0;
    by_fences += !some && all.consistent_without() ? 1 : 0;
    races += race != nullptr ? 1 : 0;
    ordered += some && race == nullptr && !found.empty() ? 1 : 0;
  }
  EXPECT_GT(by_fences, 50);  // Executions that are forbidden only because of their fences.
  EXPECT_GT(races, 1000);
  EXPECT_GT(ordered, 50);
  EXPECT_GT(in_order, 1000);
  EXPECT_GT(broken, 50);
  EXPECT_GT(ordered_soon, 50);
}

TEST(check_orders_fences, of_one_scope_as_every_order_tried_says) { compare_with_every_order(false); }
TEST(check_orders_fences, of_several_scopes_as_every_order_tried_says) { compare_with_every_order(true); }

/// Returns whether the pairs can be oriented so that, once they are added to `before`, no fence reaches itself or a fence that
/// it must never precede.
bool some_order(std::vector<std::vector<bool>> before, const std::vector<std::vector<bool>>& never,
                const std::vector<std::pair<std::size_t, std::size_t>>& pairs, std::size_t next) {
  const std::size_t count = before.size();
  for (std::size_t k = 0; k < count; ++k) {
    for (std::size_t i = 0; i < count; ++i) {
      for (std::size_t j = 0; j < count; ++j) {
        before[i][j] = before[i][j] || (before[i][k] && before[k][j]);
      }
    }
  }
  for (std::size_t i = 0; i < count; ++i) {
    for (std::size_t j = 0; j < count; ++j) {
      if (before[i][j] && (i == j || never[i][j])) {
        return false;
      }
    }
  }
  if (next == pairs.size()) {
    return true;
  }
  const auto [x, y] = pairs[next];
  std::vector<std::vector<bool>> other = before;
  before[x][y] = true;
  other[y][x] = true;
  return some_order(before, never, pairs, next + 1) || some_order(other, never, pairs, next + 1);
}

TEST(check_orders_fences, of_which_some_are_related_only_through_others) {
  std::mt19937 stream(3);
  int with = 0;
  int without = 0;
  constexpr std::size_t fences = 6;
  for (int n = 0; n < 20000; ++n) {
    check::detail::fence_pairs order(fences);
    std::vector<std::vector<bool>> before(fences, std::vector<bool>(fences));
    std::vector<std::vector<bool>> never = before;
    std::vector<std::pair<std::size_t, std::size_t>> pairs;
    for (std::size_t i = 0; i < fences; ++i) {
      for (std::size_t j = 0; j < fences; ++j) {
        if (i / 2 == j / 2 && i < j) {  // Fences 2t and 2t + 1 belong to thread t.
          before[i][j] = true;
          order.set_before(i, j);
        } else if (i != j && stream() % 6 == 0) {
          never[i][j] = true;
          order.set_never_before(i, j);
        }
        if (i < j && stream() % 2 == 0) {
          pairs.emplace_back(i, j);
          order.relate(i, j);
        }
      }
    }
    const bool some = some_order(before, never, pairs, 0);
    EXPECT_EQ(order.exists(), some) << n;
    ++(some ? with : without);
  }
  EXPECT_GT(with, 1000);
  EXPECT_GT(without, 1000);
}

TEST(check_orders_fences, of_a_ring_in_which_each_choice_alone_breaks_nothing) {
  std::mt19937 stream(4);
  int with = 0;
  int without = 0;
  for (int n = 0; n < 5000; ++n) {
    const std::size_t fences = 5 + stream() % 4;
    check::detail::fence_pairs order(fences);
    const std::vector<std::vector<bool>> before(fences, std::vector<bool>(fences));
    std::vector<std::vector<bool>> never = before;
    std::vector<std::pair<std::size_t, std::size_t>> pairs;
    for (std::size_t i = 0; i < fences; ++i) {
      const std::size_t j = (i + 2) % fences;
      for (const auto& [from, to] : {std::pair(i, j), std::pair(j, i)}) {
        if (stream() % 8 != 0) {
          never[from][to] = true;
          order.set_never_before(from, to);
        }
      }
      pairs.emplace_back(i, (i + 1) % fences);
      order.relate(i, (i + 1) % fences);
    }
    const bool some = some_order(before, never, pairs, 0);
    EXPECT_EQ(order.exists(), some) << n;
    ++(some ? with : without);
  }
  EXPECT_GT(with, 1000);
  EXPECT_GT(without, 100);
}

/// Builds store buffering between the last two of four threads: each of these two first executes seven fences, and each of the
/// first two threads executes eight. Returns whether an order exists.
bool many_fences_have_an_order(bool first_reads_old, bool second_reads_old) {
  execution e(4, 2);
  const auto fences = [&](std::size_t thread, int count) {
    for (int i = 0; i < count; ++i) {
      e.fence(thread);
    }
  };
  fences(0, 8);
  fences(1, 8);
  fences(2, 7);
  const auto* x = e.write(2, 0, 1);
  fences(2, 1);
  fences(3, 7);
  const auto* y = e.write(3, 1, 1);
  fences(3, 1);
  e.read(2, 1, first_reads_old ? nullptr : y);
  e.read(3, 0, second_reads_old ? nullptr : x);
  const check::event_rules rules = e.rules();
  return check::fence_order(e.graph(), rules).search({});
}

TEST(check_orders_fences, quickly_if_there_are_many) {
  EXPECT_TRUE(many_fences_have_an_order(false, false));
  EXPECT_TRUE(many_fences_have_an_order(true, false));
  EXPECT_TRUE(many_fences_have_an_order(false, true));
  EXPECT_FALSE(many_fences_have_an_order(true, true));
}

}  // namespace
