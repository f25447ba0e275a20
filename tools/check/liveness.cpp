// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <check/liveness.hpp>
#include <check/machine.hpp>
#include <membar/model/array.hpp>
#include <ptx/compute.hpp>
#include <ptx/instruction.hpp>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <vector>

namespace membar::check {

namespace {

/// The possible values of a register: none so far, up to four values, or any value.
struct value_set {
  static constexpr int most = 4;
  std::array<std::uint64_t, most> values{};
  int count = 0;  ///< most + 1 means any value

  [[nodiscard]] bool any() const noexcept { return count > most; }
  /// Adds a value, and returns whether the set has grown.
  bool add(std::uint64_t v) noexcept {
    if (any() || std::find(values.begin(), values.begin() + count, v) != values.begin() + count) {
      return false;
    }
    if (count < most) {
      values[static_cast<std::size_t>(count)] = v;
    }
    ++count;
    return true;
  }
  void add_any() noexcept { count = most + 1; }
  bool add(const value_set& other) noexcept {
    bool grown = false;
    if (other.any()) {
      grown = !any();
      add_any();
    }
    for (int k = 0; k < other.count && !other.any(); ++k) {
      grown = add(other.values[static_cast<std::size_t>(k)]) || grown;
    }
    return grown;
  }
};

/// Finds the live registers of one thread.
class liveness {
 public:
  explicit liveness(const thread_context& context)
      : context_(context), code_(context.kernel->code), size_(model::count_of(code_)), words_(context.kernel->words) {}

  [[nodiscard]] register_use find(bool compiled) {
    register_use result;
    result.asks_pending = std::any_of(code_.begin(), code_.end(),
                                      [](const instruction& i) { return i.text.rfind("mbarrier.pending_count", 0) == 0; });
    if (size_ > most_instructions || std::int64_t{size_} * words_ > most_live || !find_places()) {
      live_.assign(code_.size(), set(static_cast<std::size_t>(words_) / 64 + 1, ~std::uint64_t{0}));
      result.live = at_heads();
      result.unused = unused_results({});
      return result;
    }
    find_values();
    find_control();
    find_live(false);
    result.live = at_heads();
    if (compiled) {
      result.discarded = discarded_loads();
    }
    result.unused = unused_results({});
    if (has_loop_without_event()) {
      find_live(true);
      result.deciding = at_heads();
      result.unused = unused_results(result.unused);
    }
    return result;
  }

 private:
  /// Returns the live registers at loop heads and at events.
  [[nodiscard]] std::vector<register_use::set> at_heads() const {
    std::vector<register_use::set> result(code_.size());
    for (int i = 0; i < size_; ++i) {
      if (model::at(code_, i).head || is_event(model::at(code_, i).code)) {
        model::at(result, i) = model::at(live_, i);
      }
    }
    return result;
  }

  /// Returns the read-modify-writes whose result is never needed. Only those in `among` are considered, or all of them if
  /// `among` is empty.
  [[nodiscard]] std::vector<bool> unused_results(const std::vector<bool>& among) const {
    std::vector<bool> result(code_.size(), false);
    for (int n = 0; n < size_; ++n) {
      const instruction& i = model::at(code_, n);
      const auto at = static_cast<std::size_t>(n);
      const bool asked = (i.code == op::atomic || i.code == op::reduction) && (among.empty() || among[at]);
      bool used = false;
      const auto look = [&](int next) {
        for_each_destination(i, [&](int word) { used = used || (next < size_ && has(model::at(live_, next), word)); });
      };
      if (asked && !reached_.empty() && reached_[at]) {
        for_each_successor(n, look);
      } else if (asked) {
        look(std::min(n + 1, size_ - 1));  // the kernel is too large, so every register counts as live
      }
      result[at] = asked && !used;
    }
    return result;
  }

  [[nodiscard]] std::vector<bool> discarded_loads() const {
    std::vector<bool> result(code_.size(), false);
    for (int n = 0; n < size_; ++n) {
      const instruction& i = model::at(code_, n);
      if (i.code != op::load || i.strong || i.mbarrier != mbarrier_op::none || !reached_[static_cast<std::size_t>(n)]) {
        continue;
      }
      bool used = false;
      for_each_successor(n, [&](int next) {
        for_each_destination(i, [&](int word) { used = used || (next < size_ && has(model::at(live_, next), word)); });
      });
      result[static_cast<std::size_t>(n)] = !used && is_read_by_name(i);
    }
    return result;
  }

  /// Returns whether any instruction names a destination of `load` as a source. If there is no such instruction, someone wrote
  /// the load by hand so that it would be checked.
  [[nodiscard]] bool is_read_by_name(const instruction& load) const {
    return std::any_of(code_.begin(), code_.end(), [&](const instruction& other) {
      bool reads = false;
      for_each_source(other,
                      [&](int source) { for_each_destination(load, [&](int word) { reads = reads || word == source; }); });
      return reads;
    });
  }

  /// Limits for the analysis. In larger kernels, the sets would take too much memory, so every register counts as live.
  static constexpr int most_instructions = 16'384;
  static constexpr std::int64_t most_live = 400'000'000;
  static constexpr std::int64_t most_sets = 4'000'000;

  using set = register_use::set;
  [[nodiscard]] static bool has(const set& s, int n) noexcept {
    return ((s[static_cast<std::size_t>(n / 64)] >> static_cast<unsigned>(n % 64)) & 1U) != 0;
  }
  static void put(set& s, int n) noexcept {
    s[static_cast<std::size_t>(n / 64)] |= std::uint64_t{1} << static_cast<unsigned>(n % 64);
  }
  static void take(set& s, int n) noexcept {
    s[static_cast<std::size_t>(n / 64)] &= ~(std::uint64_t{1} << static_cast<unsigned>(n % 64));
  }

  // ---- the registers that an instruction reads and writes

  template <class Use>
  void for_each_source(const instruction& i, const Use& use) const {
    std::for_each(i.held.begin(), i.held.end(), use);
    for (const source_operand& o : i.by) {
      if (o.kind == source_operand::kind_t::reg) {
        use(o.word);
        if (i.type == ptx_type::b128 && o.word + 1 < words_) {
          use(o.word + 1);
        }
      }
    }
  }

  template <class Use>
  static void for_each_destination(const instruction& i, const Use& use) {
    for (unsigned k = 0; k < i.destinations; ++k) {
      const destination_operand& d = i.to[k];
      if (d.word >= 0) {
        use(d.word);
        if (d.bits > 64) {
          use(d.word + 1);
        }
      }
    }
  }

  // ---- values

  /// Returns the values that a register may have before instruction `n`.
  [[nodiscard]] const value_set& before(int n, int word) const {
    const int place = model::at(places_, word);
    return place < 0 ? model::at(everywhere_, word) : model::at(model::at(values_, n), place);
  }

  [[nodiscard]] value_set of(int n, const source_operand& o) const {
    value_set result;
    switch (o.kind) {
      case source_operand::kind_t::none:
        result.add(0);
        break;
      case source_operand::kind_t::reg:
        result = before(n, o.word);
        break;
      case source_operand::kind_t::constant:
        result.add(o.low);
        break;
      case source_operand::kind_t::special:
        result.add(special_value(o.machine, context_));
        if (o.machine == special::unknown) {
          result.add_any();
        }
        break;
    }
    if (o.low != 0 && o.kind == source_operand::kind_t::reg) {
      result.add_any();  // the operand is an address
    }
    if (o.negated && !result.any()) {
      for (int k = 0; k < result.count; ++k) {
        model::at(result.values, k) = (model::at(result.values, k) ^ 1U) & 1U;
      }
    }
    return result;
  }

  /// Returns whether a predicate may have the given value before instruction `n`.
  [[nodiscard]] bool may_be(int n, int word, bool value) const {
    const value_set& v = before(n, word);
    bool result = v.any();
    for (int k = 0; k < v.count && !v.any(); ++k) {
      result = result || ((model::at(v.values, k) & 1U) != 0) == value;
    }
    return result;
  }

  /// Calls `go` for every instruction that may follow instruction `n`, given the values found so far.
  template <class Go>
  void for_each_successor(int n, const Go& go) const {
    const instruction& i = model::at(code_, n);
    const bool runs = i.guard < 0 || may_be(n, i.guard, !i.guard_negated);
    const bool skipped = i.guard >= 0 && may_be(n, i.guard, i.guard_negated);
    for_each_next(i, n, go, runs && i.code != op::unsupported, skipped);
  }

  /// Finds the registers whose possible values depend on the position in the code. Each of the other registers is written by
  /// only one instruction, before it is read. Returns false if the sets of values would take too much memory.
  [[nodiscard]] bool find_places() {
    const set first = read_before_written();
    std::vector<int> writers(static_cast<std::size_t>(words_), 0);
    for (const instruction& i : code_) {
      for_each_destination(i, [&](int word) { ++model::at(writers, word); });
    }
    places_.assign(static_cast<std::size_t>(words_), -1);
    for (int word = 0; word < words_; ++word) {
      if (model::at(writers, word) > 1 || has(first, word)) {
        model::at(places_, word) = several_++;
      }
    }
    return std::int64_t{size_} * several_ <= most_sets;
  }

  void find_values() {
    values_.assign(code_.size(), {});
    everywhere_.assign(static_cast<std::size_t>(words_), {});
    reached_.assign(code_.size(), false);
    reached_[0] = true;
    values_[0].assign(static_cast<std::size_t>(several_), {});
    for (value_set& v : values_[0]) {
      if (context_.copies_of >= 0) {
        v.add_any();
      } else {
        v.add(0);  // the machine's registers are initially 0
      }
    }
    std::vector<int> waiting = {0};
    while (!waiting.empty()) {
      if (follow(waiting)) {  // other instructions may read the new values
        for (int n = size_ - 1; n >= 0; --n) {
          if (reached_[static_cast<std::size_t>(n)]) {
            waiting.push_back(n);
          }
        }
      }
    }
  }

  /// Propagates the values, starting at the instructions in `waiting`. Returns whether `everywhere_` has changed.
  bool follow(std::vector<int>& waiting) {
    bool everywhere = false;
    std::vector<bool> waits(code_.size(), false);
    std::for_each(waiting.begin(), waiting.end(), [&](int n) { waits[static_cast<std::size_t>(n)] = true; });
    std::vector<value_set> after;
    while (!waiting.empty()) {
      const int n = waiting.back();
      waiting.pop_back();
      waits[static_cast<std::size_t>(n)] = false;
      const instruction& i = model::at(code_, n);
      after = model::at(values_, n);
      if (i.guard < 0 || may_be(n, i.guard, !i.guard_negated)) {
        everywhere = transfer(n, i, after) || everywhere;
      }
      for_each_successor(n, [&](int next) {
        if (next >= size_) {
          return;
        }
        std::vector<value_set>& there = model::at(values_, next);
        bool grown = !reached_[static_cast<std::size_t>(next)];
        if (grown) {
          reached_[static_cast<std::size_t>(next)] = true;
          there = after;
        } else {
          for (std::size_t w = 0; w < there.size(); ++w) {
            grown = there[w].add(after[w]) || grown;
          }
        }
        if (grown && !waits[static_cast<std::size_t>(next)]) {
          waits[static_cast<std::size_t>(next)] = true;
          waiting.push_back(next);
        }
      });
    }
    return everywhere;
  }

  /// Returns the registers that are read before they are written on some path.
  [[nodiscard]] set read_before_written() const {
    const set none(static_cast<std::size_t>(words_) / 64 + 1, 0);
    std::vector<set> read(code_.size(), none);
    set now;
    for (bool changed = true; changed;) {
      changed = false;
      for (int n = size_ - 1; n >= 0; --n) {
        const instruction& i = model::at(code_, n);
        now = none;
        const auto join = [&](int next) {
          for (std::size_t k = 0; k < now.size() && next < size_; ++k) {
            now[k] |= model::at(read, next)[k];
          }
        };
        for_each_next(i, n, join, i.code != op::unsupported, i.guard >= 0);
        if (i.guard < 0) {
          for_each_destination(i, [&](int word) { take(now, word); });
        } else {
          put(now, i.guard);
        }
        for_each_source(i, [&](int word) { put(now, word); });
        if (now != model::at(read, n)) {
          model::at(read, n) = now;
          changed = true;
        }
      }
    }
    return read[0];
  }

  /// Adds the possible results of an instruction to `after`, which contains the register values before the instruction, or to
  /// `everywhere_`. Returns whether `everywhere_` has changed.
  bool transfer(int n, const instruction& i, std::vector<value_set>& after) {
    if (i.destinations == 0) {
      return false;
    }
    const auto width = [&](std::uint64_t v) { return truncated(v, std::min<int>(i.to[0].bits, 64)); };
    const bool one = i.destinations == 1 && i.to[0].word >= 0 && i.to[0].bits <= 64 && i.type != ptx_type::b128;
    value_set result;
    if (!one || !computed(n, i, width, result)) {
      result.add_any();
    }
    bool everywhere = false;
    for_each_destination(i, [&](int word) {
      if (const int place = model::at(places_, word); place < 0) {
        everywhere = model::at(everywhere_, word).add(result) || everywhere;
      } else if (i.guard < 0) {
        model::at(after, place) = result;
      } else {
        model::at(after, place).add(result);
      }
    });
    return everywhere;
  }

  /// Computes the possible results of an instruction. Returns false if they are unknown.
  template <class Width>
  [[nodiscard]] bool computed(int n, const instruction& i, const Width& width, value_set& result) const {
    if (i.code == op::load_param && i.by[0].kind == source_operand::kind_t::constant) {
      const std::uint64_t from = i.by[0].low + static_cast<std::uint64_t>(i.offset);
      std::uint64_t v = 0;
      if (from + i.bytes > context_.parameters.size() || i.bytes > 8) {
        return false;
      }
      std::memcpy(&v, context_.parameters.data() + from, i.bytes);
      result.add(width(extended(v, i.type)));
      return true;
    }
    if (i.code > op::select || i.code == op::pack || i.code == op::unpack || i.code == op::to_generic ||
        i.code == op::from_generic || i.code == op::is_space || i.code == op::three_inputs || has_carry(i.code) ||
        i.sources > 3) {
      return false;
    }
    const value_set a = of(n, i.by[0]);
    const value_set b = of(n, i.by[1]);
    const value_set c = of(n, i.by[2]);
    if (i.code == op::select && !c.any()) {
      for (int k = 0; k < c.count; ++k) {
        result.add((model::at(c.values, k) & 1U) != 0 ? a : b);
      }
      return true;
    }
    if (a.any() || b.any() || c.any()) {
      return false;
    }
    for (int x = 0; x < a.count; ++x) {
      for (int y = 0; y < b.count; ++y) {
        for (int z = 0; z < c.count; ++z) {
          result.add(width(compute(i, model::at(a.values, x), model::at(b.values, y), model::at(c.values, z))));
        }
      }
    }
    return true;
  }

  // ---- control dependence

  /// Returns whether more than one instruction may follow instruction `n`.
  [[nodiscard]] bool divides(int n) const {
    int count = 0;
    int first = -1;
    for_each_successor(n, [&](int next) {
      count += next != first ? 1 : 0;
      first = next;
    });
    return count > 1;
  }

  /// Computes the control dependences. `after` is the set of post-dominators of each reachable instruction, including the
  /// instruction itself. If no path from an instruction reaches the end, its set contains all instructions.
  void find_control() {
    const set none(static_cast<std::size_t>(size_) / 64 + 1, 0);
    const set all(none.size(), ~std::uint64_t{0});
    std::vector<set> after(code_.size(), all);
    for (bool changed = true; changed;) {
      changed = false;
      for (int n = size_ - 1; n >= 0; --n) {
        if (!reached_[static_cast<std::size_t>(n)]) {
          continue;
        }
        set common = all;
        bool ends = true;
        for_each_successor(n, [&](int next) {
          ends = false;
          for (std::size_t k = 0; k < common.size(); ++k) {
            common[k] &= model::at(after, next)[k];
          }
        });
        if (ends) {
          common = none;
        }
        put(common, n);
        if (common != model::at(after, n)) {
          model::at(after, n) = std::move(common);
          changed = true;
        }
      }
    }
    controls_.assign(code_.size(), {});
    endless_.assign(code_.size(), false);
    for (int n = 0; n < size_; ++n) {
      if (!reached_[static_cast<std::size_t>(n)] || !divides(n)) {
        continue;
      }
      // an instruction depends on the branch if it is on every path from one side of the branch, but not on every path from the
      // branch
      set one(none);
      bool endless = false;
      for_each_successor(n, [&](int next) {
        endless = endless || model::at(after, next) == all;
        for (std::size_t k = 0; k < one.size(); ++k) {
          one[k] |= model::at(after, next)[k];
        }
      });
      endless_[static_cast<std::size_t>(n)] = endless || model::at(after, n) == all;
      set mine = model::at(after, n);
      mine[static_cast<std::size_t>(n / 64)] &=
          ~(std::uint64_t{1} << static_cast<unsigned>(n % 64));  // an instruction may depend on itself
      for (std::size_t k = 0; k < one.size(); ++k) {
        one[k] &= ~mine[k];
      }
      model::at(controls_, n) = std::move(one);
    }
  }

  // ---- liveness

  /// Returns whether any path leads from the head of a loop back to the head without an event.
  [[nodiscard]] bool has_loop_without_event() const {
    for (int head = 0; head < size_; ++head) {
      std::vector<bool> seen(code_.size(), false);
      std::vector<int> open;
      if (model::at(code_, head).head && reached_[static_cast<std::size_t>(head)]) {
        open.push_back(head);
      }
      while (!open.empty()) {
        const int n = open.back();
        open.pop_back();
        bool back = false;
        for_each_successor(n, [&](int next) {
          back = back || next == head;
          if (next < size_ && !seen[static_cast<std::size_t>(next)] && !is_event(model::at(code_, next).code)) {
            seen[static_cast<std::size_t>(next)] = true;
            open.push_back(next);
          }
        });
        if (back && !is_event(model::at(code_, head).code)) {
          return true;
        }
      }
    }
    return false;
  }

  /// Adds to `needed` the branches that needed instructions depend on. Returns whether it added any.
  bool adds_branches(std::vector<bool>& needed) const {
    set all(static_cast<std::size_t>(size_) / 64 + 1, 0);
    for (int n = 0; n < size_; ++n) {
      if (needed[static_cast<std::size_t>(n)]) {
        put(all, n);
      }
    }
    bool grown = false;
    for (int n = 0; n < size_; ++n) {
      const set& controlled = model::at(controls_, n);
      bool depends = false;
      for (std::size_t k = 0; k < controlled.size() && !needed[static_cast<std::size_t>(n)]; ++k) {
        depends = depends || (controlled[k] & all[k]) != 0;
      }
      if (depends) {
        needed[static_cast<std::size_t>(n)] = true;
        put(all, n);
        grown = true;
      }
    }
    return grown;
  }

  /// Computes the live registers. With `every_branch`, every branch is needed; otherwise, only the branches that needed
  /// instructions depend on.
  void find_live(bool every_branch) {
    const set none(static_cast<std::size_t>(words_) / 64 + 1, 0);
    std::vector<bool> needed(code_.size(), false);
    for (int n = 0; n < size_; ++n) {
      const instruction& i = model::at(code_, n);
      if (reached_[static_cast<std::size_t>(n)]) {
        const bool runs = i.guard < 0 || may_be(n, i.guard, !i.guard_negated);
        needed[static_cast<std::size_t>(n)] = (runs && (is_event(i.code) || i.code == op::trap || i.code == op::unsupported)) ||
                                              (divides(n) && (endless_[static_cast<std::size_t>(n)] || every_branch));
      }
    }
    for (bool grown = true; grown;) {
      grown = adds_branches(needed);
      live_.assign(code_.size(), none);
      for (bool changed = true; changed;) {
        changed = false;
        for (int n = size_ - 1; n >= 0; --n) {
          if (!reached_[static_cast<std::size_t>(n)]) {
            continue;
          }
          const instruction& i = model::at(code_, n);
          set now = none;
          for_each_successor(n, [&](int next) {
            for (std::size_t k = 0; k < now.size(); ++k) {
              now[k] |= model::at(live_, next)[k];
            }
          });
          bool used = needed[static_cast<std::size_t>(n)];
          for_each_destination(i, [&](int word) { used = used || has(now, word); });
          if (used) {
            if (!needed[static_cast<std::size_t>(n)]) {
              needed[static_cast<std::size_t>(n)] = true;
              grown = true;
            }
            if (i.guard < 0) {
              for_each_destination(i, [&](int word) { take(now, word); });
            }
            if (i.guard >= 0 && divides_or_guards(n)) {
              put(now, i.guard);
            }
            for_each_used_source(n, i, [&](int word) { put(now, word); });
          }
          if (now != model::at(live_, n)) {
            model::at(live_, n) = std::move(now);
            changed = true;
          }
        }
      }
    }
  }

  /// Calls `use` with the register words of the sources that can matter. For a `selp` with a known predicate, only the selected
  /// source matters.
  template <class Use>
  void for_each_used_source(int n, const instruction& i, const Use& use) const {
    const value_set by = i.code == op::select ? of(n, i.by[2]) : value_set{};
    if (i.code != op::select || by.count != 1) {
      for_each_source(i, use);
    } else if (const source_operand& taken = (by.values[0] & 1U) != 0 ? i.by[0] : i.by[1];
               taken.kind == source_operand::kind_t::reg) {
      use(taken.word);
    }
  }

  /// Returns whether the value of an instruction's guard matters, because it may be either true or false.
  [[nodiscard]] bool divides_or_guards(int n) const {
    const instruction& i = model::at(code_, n);
    return may_be(n, i.guard, true) && may_be(n, i.guard, false);
  }

  const thread_context& context_;
  const std::vector<instruction>& code_;
  int size_;
  int words_;
  std::vector<int> places_{};                     ///< the position of each register in `values_`, or -1
  int several_ = 0;                               ///< the number of registers in `values_`
  std::vector<std::vector<value_set>> values_{};  ///< before each instruction: the possible values of these registers
  std::vector<value_set> everywhere_{};           ///< the possible values of all other registers
  std::vector<bool> reached_{};
  std::vector<bool> endless_{};
  std::vector<set> controls_{};
  std::vector<set> live_{};
};

}  // namespace

std::shared_ptr<const register_use> register_use_of(const thread_context& context, bool compiled) {
  return std::make_shared<const register_use>(liveness(context).find(compiled));
}

}  // namespace membar::check
