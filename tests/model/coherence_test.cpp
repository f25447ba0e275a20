// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Compares the search for coherence orders with trying all possible orders, on random relations. These relations are less
// regular than the relations in real programs, so the search encounters pairs for which the first choice fails only later.
#include <membar/model/axioms.hpp>
#include <membar/model/coherence.hpp>

#include <gtest/gtest.h>

#include <cstdint>
#include <random>
#include <utility>
#include <vector>

namespace coherence_test {

using namespace membar::model;

/// The accesses to one location, two writes to another location, and the relations that the axioms use.
struct random_accesses {
  std::vector<event> events;
  event_structure facts;
  candidate choice;
  std::vector<event_pair> pairs;
  event_set memory = 0;
  event_set reads = 0;
  every_rule rules;

  explicit random_accesses(std::uint64_t seed, bool large = false) : engine_(seed) {
    const int writes = large ? 5 + below(4) : 4 + below(3);
    const int loads = large ? 5 + below(12) : 4 + below(5);
    add(event_kind::write);
    for (int n = 0; n < writes + loads; ++n) {
      if (n >= writes) {
        add(event_kind::read);
      } else if (below(4) == 0) {
        const int read = add(event_kind::read);
        events[static_cast<std::size_t>(read)].partner = read + 1;
        events[static_cast<std::size_t>(add(event_kind::write))].partner = read;
      } else {
        add(event_kind::write);
      }
    }
    memory = only(facts.count) - 1;
    reads = facts.reads;
    facts.initial = only(0);
    relate(large);
    const int other = add(event_kind::write);
    add(event_kind::write);
    facts.morally_strong.add(other, other + 1);
    facts.morally_strong.add(other + 1, other);
    pairs.insert(pairs.begin(), {other, other + 1});
    facts.memory = facts.reads | facts.writes;
  }

  /// Returns whether the coherence order satisfies the axioms that involve coherence.
  [[nodiscard]] bool allowed(const candidate& c) const {
    return reads_not_from_the_past(c, rules, reads) && updates_are_atomic(c, rules, facts, events, reads) &&
           atomics_are_serial(c, facts, events, reads) && sequential_per_location(c, rules, facts, memory, reads);
  }

  [[nodiscard]] event_set writes() const { return facts.writes & memory; }

  /// Returns the writes that are last in some allowed order of the location's writes.
  [[nodiscard]] event_set last_of_every_order() const {
    event_set result = 0;
    collect(choice, 0, result);
    return result;
  }

 private:
  int below(int limit) { return static_cast<int>(engine_() % static_cast<std::uint64_t>(limit)); }

  int add(event_kind kind) {
    event e;
    e.kind = kind;
    events.push_back(e);
    (kind == event_kind::read ? facts.reads : facts.writes) |= only(facts.count);
    return facts.count++;
  }

  void relate(bool large) {
    const int strong = large ? 3 + below(6) : 4 + below(5);
    const int ordered = large ? 1 : 2 + 2 * below(3);
    for (int j = 1; j < facts.count; ++j) {
      choice.coherence.add(0, j);
      for (int i = 1; i < j; ++i) {
        const bool update = events[static_cast<std::size_t>(i)].partner == j;
        if (update || below(24) < ordered) {
          facts.po_loc.add(i, j);
        }
        if (update || below(10) < strong) {
          facts.morally_strong.add(i, j);
          facts.morally_strong.add(j, i);
        }
      }
    }
    choice.coherence[0] &= facts.writes;
    for (event_set r = facts.reads; r != 0; r = rest(r)) {
      std::vector<int> sources;
      for (event_set w = facts.writes; w != 0; w = rest(w)) {
        if (first(w) != events[static_cast<std::size_t>(first(r))].partner) {
          sources.push_back(first(w));
        }
      }
      choice.source[static_cast<std::size_t>(first(r))] =
          sources[static_cast<std::size_t>(below(static_cast<int>(sources.size())))];
    }
    for (event_set w = facts.writes & ~only(0); w != 0; w = rest(w)) {
      for (event_set v = rest(w); v != 0; v = rest(v)) {
        if (facts.morally_strong.holds(first(w), first(v))) {
          pairs.push_back({first(w), first(v)});
        }
      }
    }
    for (std::size_t n = pairs.size(); n > 1; --n) {  // Unlike std::shuffle, this produces the same order on every machine.
      std::swap(pairs[n - 1], pairs[static_cast<std::size_t>(below(static_cast<int>(n)))]);
    }
  }

  void collect(const candidate& c, std::size_t next, event_set& result) const {
    while (next < pairs.size() &&
           (!contains(memory, pairs[next].first) || c.coherence.holds(pairs[next].first, pairs[next].second) ||
            c.coherence.holds(pairs[next].second, pairs[next].first))) {
      ++next;
    }
    if (!allowed(c)) {  // ordering more pairs can never make the order allowed
      return;
    }
    if (next == pairs.size()) {
      for (event_set w = writes(); w != 0; w = rest(w)) {
        result |= c.coherence[first(w)] == 0 ? only(first(w)) : 0;
      }
      return;
    }
    for (const bool forth : {true, false}) {
      candidate ordered = c;
      const event_pair& p = pairs[next];
      ordered.coherence.add_closed(facts.count, forth ? p.first : p.second, forth ? p.second : p.first);
      collect(ordered, next + 1, result);
    }
  }

  std::mt19937_64 engine_;
};

/// Calls `use` with tests from consecutive seeds, leaving out those whose least order is not allowed.
template <class Use>
void for_each_allowed(int count, const Use& use) {
  int used = 0;
  for (std::uint64_t seed = 1; used < count; ++seed) {
    const random_accesses one(seed);
    if (one.allowed(one.choice)) {
      ++used;
      SCOPED_TRACE(seed);
      use(one);
    }
  }
}

constexpr int tried = 400;

coherence_orders<every_rule> orders_of(const random_accesses& one, candidate& c, std::uint64_t& checked) {
  return {c, one.rules, one.facts, one.events, one.pairs, one.memory, one.reads, checked};
}

/// Expects that `c` orders every pair of writes to the location and no other pair, contains the least order, and is allowed.
void expect_an_order(const random_accesses& one, const candidate& c) {
  EXPECT_TRUE(one.allowed(c));
  for (int i = 0; i < one.facts.count; ++i) {
    EXPECT_EQ(one.choice.coherence[i] & ~c.coherence[i], 0U);
  }
  for (const event_pair& p : one.pairs) {
    EXPECT_EQ(c.coherence.holds(p.first, p.second) + c.coherence.holds(p.second, p.first),
              contains(one.memory, p.first) ? 1 : 0);
  }
}

TEST(coherence_orders, finds_an_order_where_there_is_one) {
  int impossible = 0;
  for_each_allowed(tried, [&](const random_accesses& one) {
    candidate c = one.choice;
    std::uint64_t checked = 0;
    const bool found = orders_of(one, c, checked).any();
    EXPECT_EQ(found, one.last_of_every_order() != 0);
    if (found) {
      expect_an_order(one, c);
    }
    impossible += found ? 0 : 1;
  });
  EXPECT_GT(impossible, 0);
  EXPECT_LT(impossible, tried);
}

// Seeds of relations for which an order fails only after several pairs have been ordered. These seeds were found by counting
// the search's backtracking steps.
TEST(coherence_orders, goes_back_where_a_way_fails_late) {
  for (const std::uint64_t seed : {187557U, 241138U, 254531U, 260821U, 280625U, 425028U}) {
    const random_accesses one(seed, true);
    ASSERT_TRUE(one.allowed(one.choice)) << seed;
    candidate c = one.choice;
    std::uint64_t checked = 0;
    EXPECT_TRUE(orders_of(one, c, checked).any()) << seed;
    expect_an_order(one, c);
  }
}

TEST(coherence_orders, finds_every_last_write) {
  for_each_allowed(tried, [](const random_accesses& one) {
    candidate c = one.choice;
    std::uint64_t checked = 0;
    EXPECT_EQ(orders_of(one, c, checked).last_writes(), one.last_of_every_order());
    for (int i = 0; i < one.facts.count; ++i) {
      EXPECT_EQ(c.coherence[i], one.choice.coherence[i]);
    }
  });
}

TEST(coherence_orders, ends_in_each_last_write_and_in_no_other) {
  for_each_allowed(tried, [](const random_accesses& one) {
    const event_set last = one.last_of_every_order();
    for (event_set w = one.writes(); w != 0; w = rest(w)) {
      candidate c = one.choice;
      std::uint64_t checked = 0;
      const bool found = orders_of(one, c, checked).ends_in(first(w));
      EXPECT_EQ(found, contains(last, first(w)));
      if (found) {
        expect_an_order(one, c);
        EXPECT_EQ(c.coherence[first(w)], 0U);
      }
    }
  });
}

}  // namespace coherence_test
