// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
/// @file
/// What a litmus file becomes where it runs: cells of memory, and what is observed as digits.
#pragma once

#include <membar/litmus/instance_layout.hpp>
#include <membar/model/decide.hpp>
#include <membar/model/enumerate.hpp>
#include <membar/model/error.hpp>
#include <membar/model/litmus_test.hpp>
#include <membar/model/outcomes.hpp>
#include <membar/model/partial_execution.hpp>
#include <membar/model/program.hpp>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

namespace membar::litmus {

/// How often a thread of an instance may jump backwards. An instance that would go on is unfinished and has no outcome.
inline constexpr int jump_limit = 1000;

/// The number that stands for the address of location `index` in registers and memory: it fits four bytes, and addresses are as
/// far apart as they are in the model, so that arithmetic on them gives what the model says.
[[nodiscard]] constexpr std::int64_t address_token(int index) noexcept {
  return (std::int64_t{1} << 30) + 16 * std::int64_t{index};
}

/// Whether `value` is what is read back after a write of its low `bytes` bytes: values are signed.
[[nodiscard]] constexpr bool fits(std::int64_t value, int bytes) noexcept {
  if (bytes >= 8) {
    return true;
  }
  const std::int64_t limit = std::int64_t{1} << (8 * bytes - 1);
  return value >= -limit && value < limit;
}

/// Where a location lies: all of a cell, or part of one for the elements of an array that a vector access names.
struct cell_part {
  int cell = -1;  ///< -1: no instruction that runs goes there, as for an mbarrier
  int offset = 0;
  int bytes = 4;  ///< of each access
};

/// One digit of an outcome: what a register, a location, or a thread's end was.
struct outcome_digit {
  std::string name;
  model::term what{};
  int end_of = -1;                   ///< not a value, but how this thread ended: see `end_digit`
  std::vector<std::int64_t> values;  ///< of digit 0, 1, ..., as the model has them; the digit after the last one is "other"

  [[nodiscard]] int radix() const noexcept { return static_cast<int>(values.size()) + 1; }
  /// The thread that reports the digit; -1: it is read from memory when the instance is over.
  [[nodiscard]] int thread() const noexcept {
    return end_of >= 0 ? end_of : what.kind == model::term::kind_t::register_value ? what.thread : -1;
  }
};

/// How a thread ended, for threads that have a loop or an address in a register.
enum class end_digit : unsigned char {
  reached,     ///< as every other thread
  strayed,     ///< at an access to an address that is no location's: it read a value that no execution gives
  unfinished,  ///< at a jump, `jump_limit` times back
  unknown      ///< it reported none of these
};

/// The counts of a run without those of the instances that have no outcome.
struct folded_counts {
  std::vector<std::uint64_t> counts;       ///< per outcome of the observed values
  std::vector<std::uint64_t> slices_with;  ///< the same: how many slices showed it at least
  std::uint64_t unfinished = 0;
  std::uint64_t strayed = 0;  ///< no execution of the model does
  std::uint64_t unknown = 0;  ///< a thread did not report how it ended: a failure of the machine or of the engine
};

/// A line of a litmus file that stands in the way of a run.
[[noreturn]] inline void refuse_line(int line, const std::string& why) {
  throw model::error("line " + std::to_string(line) + ": " + why);
}

/// A litmus test made ready to run. Throws `model::error`, with the line, for a test that no GPU or host thread can run as it
/// is written.
class run_plan {
 public:
  /// With `limit` other than 0 the model gives up after that many steps, and the test cannot run.
  explicit run_plan(model::litmus_test test, std::uint64_t limit = 0) : test_(std::move(test)) {
    check_statements();
    lay_out();
    name_observations();
    ask_model(limit);
    find_values(limit);
    check_keys();
  }

  [[nodiscard]] const model::litmus_test& test() const noexcept { return test_; }
  /// What the condition names, or `locations`; then what only the filter names; then how threads ended.
  [[nodiscard]] const std::vector<outcome_digit>& digits() const noexcept { return digits_; }
  /// How thread `thread` ends, if that is a digit; else a null pointer.
  [[nodiscard]] const outcome_digit* end_of(int thread) const noexcept {
    for (const outcome_digit& d : digits_) {
      if (d.end_of == thread) {
        return &d;
      }
    }
    return nullptr;
  }
  [[nodiscard]] int cells() const noexcept { return static_cast<int>(initial_.size()); }
  /// A cell's bytes when an instance begins.
  [[nodiscard]] const std::array<unsigned char, cell_bytes>& initial(int cell) const noexcept {
    return initial_[static_cast<std::size_t>(cell)];
  }
  [[nodiscard]] const cell_part& part(int location) const noexcept { return parts_[static_cast<std::size_t>(location)]; }

  /// Whether the address that `token` stands for may be that of location `location` for an access of `bytes` bytes.
  [[nodiscard]] bool may_point_to(int location, int bytes) const noexcept {
    const model::location& one = test_.locations[static_cast<std::size_t>(location)];
    return one.arrivals == 0 && part(location).cell >= 0 && part(location).bytes == bytes && one.address == location;
  }

  /// Whether a thread waits: it jumps back, which only a loop that waits for others does.
  [[nodiscard]] bool waits(int thread) const noexcept { return jumps_back(test_.threads[static_cast<std::size_t>(thread)]); }

  /// A read-modify-write by a GPU thread of memory that a host thread writes, as "line 5: '...'"; empty if there is none. It is
  /// one access only where the link between the two makes it one.
  [[nodiscard]] std::string update_shared_with_host() const {
    for (const model::litmus_test::thread& gpu : test_.threads) {
      for (std::size_t n = 0; n < gpu.code.size() && !gpu.where.host; ++n) {
        const model::instruction& i = gpu.code[n];
        if (updates(i) && written_by_host(i)) {
          return "line " + std::to_string(i.line) + ": '" + gpu.text[n] + "'";
        }
      }
    }
    return {};
  }

  /// A value of the model as registers and memory hold it: an address is its token.
  [[nodiscard]] std::int64_t machine_value(std::int64_t value) const noexcept {
    const std::int64_t index = (value - model::address_value(0)) / 16;
    const bool address = value >= model::address_value(0) && index < static_cast<std::int64_t>(test_.locations.size()) &&
                         value == model::address_value(static_cast<int>(index));
    return address ? address_token(static_cast<int>(index)) : value;
  }

  /// The digit of a value that a register or a location holds.
  [[nodiscard]] unsigned digit(int which, std::int64_t machine) const noexcept {
    const std::vector<std::int64_t>& values = digits_[static_cast<std::size_t>(which)].values;
    unsigned d = 0;
    while (d < values.size() && machine_value(values[d]) != machine) {
      ++d;
    }
    return d;
  }

  /// Sorts the counts of a run, one per outcome with all digits, into those of the observed values alone.
  [[nodiscard]] folded_counts fold(const std::vector<std::uint64_t>& counts,
                                   const std::vector<std::uint64_t>& slices_with = {}) const {
    std::size_t observed = 1;
    for (const outcome_digit& d : digits_) {
      observed *= d.end_of < 0 ? static_cast<std::size_t>(d.radix()) : 1;
    }
    folded_counts result;
    result.counts.assign(observed, 0);
    result.slices_with.assign(slices_with.empty() ? 0 : observed, 0);
    for (std::size_t outcome = 0; outcome < counts.size(); ++outcome) {
      auto worst = end_digit::reached;
      std::size_t ends = outcome / observed;
      for (const outcome_digit& d : digits_) {
        if (d.end_of >= 0) {
          const auto end = static_cast<end_digit>(ends % static_cast<std::size_t>(d.radix()));
          ends /= static_cast<std::size_t>(d.radix());
          // what a thread read that strayed is what counts, also if another one waited for it in vain
          worst = end == end_digit::unknown || worst == end_digit::unknown   ? end_digit::unknown
                  : end == end_digit::strayed || worst == end_digit::strayed ? end_digit::strayed
                  : end == end_digit::reached                                ? worst
                                                                             : end;
        }
      }
      (worst == end_digit::unknown      ? result.unknown
       : worst == end_digit::strayed    ? result.strayed
       : worst == end_digit::unfinished ? result.unfinished
                                        : result.counts[outcome % observed]) += counts[outcome];
      if (worst == end_digit::reached && !slices_with.empty()) {
        std::uint64_t& most = result.slices_with[outcome % observed];
        most = std::max(most, slices_with[outcome]);
      }
    }
    return result;
  }

 private:
  [[nodiscard]] static bool same(const model::term& a, const model::term& b) noexcept {
    return a.kind == b.kind && a.index == b.index && (a.kind != model::term::kind_t::register_value || a.thread == b.thread);
  }

  [[nodiscard]] int find(const model::term& t) const noexcept {
    for (std::size_t o = 0; o < digits_.size(); ++o) {
      if (digits_[o].end_of < 0 && same(digits_[o].what, t)) {
        return static_cast<int>(o);
      }
    }
    return -1;
  }

  [[nodiscard]] static bool is_access(model::opcode code) noexcept {
    return code == model::opcode::load || code == model::opcode::store || code == model::opcode::atomic ||
           code == model::opcode::reduction;
  }

  [[nodiscard]] static bool updates(const model::instruction& i) noexcept {
    return i.code == model::opcode::atomic || i.code == model::opcode::reduction;
  }

  [[nodiscard]] bool written_by_host(const model::instruction& i) const {
    for (const model::litmus_test::thread& t : test_.threads) {
      for (const model::instruction& j : t.code) {
        const bool writes = t.where.host && is_access(j.code) && j.code != model::opcode::load;
        if (writes && (i.indirect || j.indirect || physical(i.target) == physical(j.target))) {
          return true;
        }
      }
    }
    return false;
  }

  // ---- what no run can do

  void check_statements() const {
    if (!test_.api.empty()) {
      throw model::error("'P" + std::to_string(test_.threads[static_cast<std::size_t>(test_.api.front().before)].number) +
                         " precedes P" +
                         std::to_string(test_.threads[static_cast<std::size_t>(test_.api.front().after)].number) +
                         "': in a run all threads of a test run at once, so no order of the CUDA API lies between them");
    }
    if (test_.observed.empty()) {
      throw model::error("the test names no register and no location to observe: add a condition, or locations [...]");
    }
    for (const model::litmus_test::thread& t : test_.threads) {
      for (std::size_t n = 0; n < t.code.size(); ++n) {
        const model::instruction& i = t.code[n];
        const std::string quoted = "'" + t.text[n] + "': ";
        switch (i.code) {
          case model::opcode::barrier:
            refuse_line(i.line, quoted + "a block runs many instances of a test at once, so a test that runs has no barriers");
          case model::opcode::mbarrier_arrive:
          case model::opcode::mbarrier_wait:
            refuse_line(i.line, quoted + "a block runs many instances of a test at once, so a test that runs has no mbarriers");
          default:
            break;
        }
        if (is_access(i.code) && i.via != model::proxy::generic) {
          refuse_line(i.line,
                      quoted + "surfaces, textures and constants exist in the model only; a run has generic accesses only");
        }
      }
    }
  }

  // ---- cells

  void lay_out() {
    parts_.assign(test_.locations.size(), {});
    std::vector<int> widths(test_.locations.size(), 0);
    std::vector<int> arrays(test_.locations.size(), -1);  // element -> the array whose vector accesses name it
    for (const model::litmus_test::thread& t : test_.threads) {
      int first = -1;
      for (const model::instruction& i : t.code) {
        if (!is_access(i.code)) {
          continue;
        }
        if (i.indirect) {
          continue;
        }
        width(widths, i.target, i);
        first = i.element == 0 ? i.target : first;
        if (i.element != 0) {
          place_element(arrays, first, i);
        }
      }
    }
    for (const model::litmus_test::thread& t : test_.threads) {
      for (const model::instruction& i : t.code) {
        for (std::size_t l = 0; is_access(i.code) && i.indirect && l < widths.size(); ++l) {
          if (widths[physical(static_cast<int>(l))] == 0) {
            width(widths, static_cast<int>(l), i);
          }
        }
      }
    }
    for (std::size_t l = 0; l < parts_.size(); ++l) {
      if (physical(static_cast<int>(l)) != l && test_.locations[l].address == static_cast<int>(l)) {
        throw model::error("'" + test_.location_names[l] + "' is another virtual address of '" +
                           test_.location_names[physical(static_cast<int>(l))] + "', and the memory of a run has one address");
      }
      if (test_.locations[l].arrivals != 0 || physical(static_cast<int>(l)) != l) {
        continue;
      }
      parts_[l].bytes = widths[l] == 0 ? 4 : widths[l];
      if (arrays[l] < 0 || static_cast<std::size_t>(arrays[l]) == l) {
        parts_[l].cell = cells();
        initial_.emplace_back();
      }
    }
    for (std::size_t l = 0; l < parts_.size(); ++l) {
      if (arrays[l] >= 0 && static_cast<std::size_t>(arrays[l]) != l) {
        parts_[l].cell = parts_[static_cast<std::size_t>(arrays[l])].cell;
        parts_[l].offset = parts_[l].bytes * element_of(test_.location_names[l]);
      }
      if (physical(static_cast<int>(l)) != l) {
        parts_[l] = parts_[physical(static_cast<int>(l))];
      }
      if (parts_[l].cell >= 0) {
        write_initial(static_cast<int>(l));
      }
    }
    if (initial_.empty()) {
      throw model::error("the test has no location: nothing of it reaches memory");
    }
    if (cells() > max_locations) {
      throw model::error("the test has " + std::to_string(cells()) + " locations, and a run has at most " +
                         std::to_string(max_locations) + ": split the test");
    }
  }

  [[nodiscard]] std::size_t physical(int location) const noexcept {
    return static_cast<std::size_t>(test_.locations[static_cast<std::size_t>(location)].physical);
  }

  void width(std::vector<int>& widths, int location, const model::instruction& i) const {
    int& known = widths[physical(location)];
    if (known != 0 && known != i.bytes) {
      refuse_line(i.line, "'" + test_.location_names[static_cast<std::size_t>(location)] + "' is accessed with " +
                              std::to_string(i.bytes) + " and with " + std::to_string(known) +
                              " bytes; what a run observes of a location is one value of one size");
    }
    known = i.bytes;
  }

  void place_element(std::vector<int>& arrays, int first, const model::instruction& i) const {
    if ((i.element + 1) * i.bytes > static_cast<int>(cell_bytes)) {
      refuse_line(i.line, "a vector of more than " + std::to_string(cell_bytes) + " bytes does not fit a run's cells");
    }
    arrays[static_cast<std::size_t>(i.target)] = first;
    arrays[static_cast<std::size_t>(first)] = first;
  }

  [[nodiscard]] static int element_of(const std::string& name) {
    const std::size_t bracket = name.find('[');
    return bracket == std::string::npos ? 0 : std::stoi(name.substr(bracket + 1));
  }

  void write_initial(int location) {
    const cell_part& p = part(location);
    const std::int64_t value = machine_value(test_.locations[physical(location)].initial);
    if (!fits(value, p.bytes)) {
      throw model::error("'" + test_.location_names[static_cast<std::size_t>(location)] + "' starts as " +
                         model::value_text(test_, test_.locations[physical(location)].initial) + ", which does not fit the " +
                         std::to_string(p.bytes) + (p.bytes == 1 ? " byte" : " bytes") +
                         " of its accesses as a signed number: give them a wider type, such as .b64");
    }
    for (int b = 0; b < p.bytes; ++b) {
      initial_[static_cast<std::size_t>(p.cell)][static_cast<std::size_t>(p.offset + b)] =
          static_cast<unsigned char>(b < 8       ? value >> (8 * b)
                                     : value < 0 ? 0xff
                                                 : 0);
    }
  }

  // ---- observations

  void name_observations() {
    for (const model::observable& o : test_.observed) {
      digits_.push_back({o.name, o.what, -1, {}});
    }
    for (const model::condition_node& n : test_.filter) {
      for (const model::term* t : {&n.left, &n.right}) {
        const bool named = n.kind == model::condition_node::kind_t::compare && t->kind != model::term::kind_t::constant;
        if (named && find(*t) < 0) {
          digits_.push_back({name_of(*t), *t, -1, {}});
        }
      }
    }
    for (std::size_t t = 0; t < test_.threads.size(); ++t) {
      const model::litmus_test::thread& thread = test_.threads[t];
      const bool points = std::any_of(thread.code.begin(), thread.code.end(),
                                      [](const model::instruction& i) { return is_access(i.code) && i.indirect; });
      if (points || jumps_back(thread)) {
        digits_.push_back({"the end of P" + std::to_string(thread.number), {}, static_cast<int>(t), {0, 1, 2}});
      }
    }
  }

  [[nodiscard]] std::string name_of(const model::term& t) const {
    if (t.kind == model::term::kind_t::memory_value) {
      return test_.location_names[static_cast<std::size_t>(t.index)];
    }
    const model::litmus_test::thread& thread = test_.threads[static_cast<std::size_t>(t.thread)];
    return "P" + std::to_string(thread.number) + ":" + thread.register_names[static_cast<std::size_t>(t.index)];
  }

  [[nodiscard]] static bool jumps(const model::instruction& i) noexcept {
    return i.code == model::opcode::branch || i.code == model::opcode::jump;
  }

  [[nodiscard]] static bool jumps_back(const model::litmus_test::thread& t) noexcept {
    for (std::size_t n = 0; n < t.code.size(); ++n) {
      if (jumps(t.code[n]) && t.code[n].target <= static_cast<int>(n)) {
        return true;
      }
    }
    return false;
  }

  // The model follows one repetition. That decides a loop that only waits: a turn of it leaves no trace but the values that it
  // has read last, so that one that goes round often ends like one that goes round once. It does not decide any other.
  static void require_waiting(const model::litmus_test::thread& t) {
    for (std::size_t back = 0; back < t.code.size(); ++back) {
      if (!jumps(t.code[back]) || t.code[back].target > static_cast<int>(back)) {
        continue;
      }
      for (std::size_t n = static_cast<std::size_t>(t.code[back].target); n < back; ++n) {
        const model::instruction& i = t.code[n];
        const bool reads = i.code == model::opcode::load;
        // a compare-and-swap that is repeated as long as it fails
        const model::instruction& end = t.code[back];
        const bool tries = i.code == model::opcode::atomic && i.what == model::operation::compare_exchange &&
                           end.code == model::opcode::branch && end.test == model::comparison::not_equal && end.a.is_register &&
                           end.a.index == i.destination && !end.b.is_register && !i.a.is_register && end.b.value == i.a.value;
        if (!reads && !tries) {
          refuse_line(i.line, "'" + t.text[n] +
                                  "' is repeated by a jump back, and the model decides repetitions of loads and of a " +
                                  "compare-and-swap that failed only: write the repetitions out");
        }
      }
    }
  }

  // ---- what the model says

  void ask_model(std::uint64_t limit) {
    model::outcome_collector visitor(test_);
    const model::test_view view = test_.view();
    model::require_defined(view.program, model::every_rule{}, limit);
    model::enumerator search(view.program, visitor, model::every_rule{}, limit);
    if (search.run().cut) {
      for (const model::litmus_test::thread& t : test_.threads) {
        require_waiting(t);
      }
    }
    for (const std::vector<std::int64_t>& outcome : visitor.found()) {
      for (std::size_t o = 0; o < outcome.size(); ++o) {
        add_value(digits_[o], outcome[o]);
      }
    }
  }

  static void add_value(outcome_digit& o, std::int64_t value) {
    if (std::find(o.values.begin(), o.values.end(), value) == o.values.end()) {
      o.values.push_back(value);
    }
  }

  // Visitor that collects the values of what is observed over every choice of reads-from, also those that rules forbid.
  class value_collector final : public model::execution_visitor {
   public:
    value_collector(run_plan& plan, std::uint64_t steps) : plan_(&plan), steps_left_(steps) {}

    [[nodiscard]] bool viable(const model::partial_execution& execution) override {
      if (steps_left_ == 0) {
        return false;
      }
      --steps_left_;
      for (outcome_digit& o : plan_->digits_) {
        if (o.thread() >= 0 && o.end_of < 0 && execution.known(o.what.thread, o.what.index)) {
          add_value(o, execution.register_value(o.what.thread, o.what.index));
        }
      }
      bool complete = true;
      const auto events = execution.events();
      for (std::size_t e = 0; e < events.size(); ++e) {
        const bool write = events[e].kind == model::event_kind::write;
        const bool memory = write || events[e].kind == model::event_kind::read;
        if (memory && !execution.known(static_cast<int>(e))) {
          complete = false;
        } else if (write) {
          plan_->written(events[e], execution.value(static_cast<int>(e)));
        }
      }
      return !complete;
    }

    [[nodiscard]] bool accept(const model::partial_execution&) override { return true; }

   private:
    run_plan* plan_;
    std::uint64_t steps_left_;
  };

  void written(const model::event& write, std::int64_t value) {
    const std::int64_t machine = machine_value(value);
    if (write.thread >= 0 && !fits(machine, write.bytes)) {
      const model::instruction& i =
          test_.threads[static_cast<std::size_t>(write.thread)].code[static_cast<std::size_t>(write.instruction)];
      refuse_line(i.line, "the value " + model::value_text(test_, value) + " does not fit the " + std::to_string(i.bytes) +
                              (i.bytes == 1 ? " byte" : " bytes") +
                              " that are written as a signed number: give the accesses a wider type, such as .b64");
    }
    for (outcome_digit& o : digits_) {
      if (o.thread() < 0 && static_cast<int>(physical(o.what.index)) == write.physical) {
        add_value(o, value);
      }
    }
  }

  void find_values(std::uint64_t limit) {
    const auto constants = [&](const std::vector<model::condition_node>& nodes) {
      for (const model::condition_node& n : nodes) {
        if (n.kind != model::condition_node::kind_t::compare) {
          continue;
        }
        for (const auto& [named, value] : {std::pair(&n.left, &n.right), std::pair(&n.right, &n.left)}) {
          const int o = named->kind == model::term::kind_t::constant ? -1 : find(*named);
          if (o >= 0 && value->kind == model::term::kind_t::constant) {
            add_value(digits_[static_cast<std::size_t>(o)], value->value);
          }
        }
      }
    };
    constants(test_.condition);
    constants(test_.filter);
    for (outcome_digit& o : digits_) {
      if (o.thread() < 0) {
        add_value(o, test_.locations[physical(o.what.index)].initial);
      } else if (o.end_of < 0) {
        add_value(o, test_.threads[static_cast<std::size_t>(o.what.thread)].registers[static_cast<std::size_t>(o.what.index)]);
      }
    }
    const std::vector<outcome_digit> necessary = digits_;
    // every rule dropped but the ones that say what instructions do, and No-Thin-Air: values follow from other values
    model::every_rule_but rules;
    for (int r = 0; r < static_cast<int>(model::rule::count); ++r) {
      const auto one = static_cast<model::rule>(r);
      if (one != model::rule::failed_compare_writes_nothing && one != model::rule::axiom_no_thin_air) {
        rules.dropped |= std::uint64_t{1} << static_cast<unsigned>(r);
      }
    }
    for (const model::rule kept : {model::rule::address_dependency, model::rule::data_dependency,
                                   model::rule::control_dependency, model::rule::update_depends_on_its_read}) {
      rules.dropped &= ~(std::uint64_t{1} << static_cast<unsigned>(kept));
    }
    // the search may be given up: a value that it has not met counts as "other", which the model never allows
    value_collector visitor(*this, limit == 0 || limit > value_steps ? value_steps : limit);
    const model::test_view view = test_.view();
    model::enumerator<model::every_rule_but>(view.program, visitor, rules).run();
    if (keys() > max_outcomes) {
      digits_ = necessary;
    }
    for (outcome_digit& o : digits_) {
      std::sort(o.values.begin(), o.values.end());
    }
  }

  [[nodiscard]] std::uint64_t keys() const noexcept {
    std::uint64_t product = 1;
    for (const outcome_digit& o : digits_) {
      product *= product > max_outcomes ? 1 : static_cast<std::uint64_t>(o.radix());
    }
    return product;
  }

  void check_keys() const {
    if (digits_.size() > static_cast<std::size_t>(max_observations)) {
      throw model::error("the test observes " + std::to_string(digits_.size()) +
                         " values (a thread that loops counts once more), and a run at most " +
                         std::to_string(max_observations) + ": observe less in one test");
    }
    for (const outcome_digit& o : digits_) {
      if (o.radix() > 255) {
        throw model::error("'" + o.name + "' may have " + std::to_string(o.values.size()) +
                           " values, and a run tells 254 apart: observe less in one test");
      }
    }
    if (keys() > max_outcomes) {
      throw model::error("what the test observes may have more than " + std::to_string(max_outcomes) +
                         " outcomes, which is as many as a run counts: observe less in one test");
    }
  }

  static constexpr std::uint64_t value_steps = 2'000'000;

  model::litmus_test test_;
  std::vector<cell_part> parts_;
  std::vector<std::array<unsigned char, cell_bytes>> initial_;
  std::vector<outcome_digit> digits_;
};

}  // namespace membar::litmus
