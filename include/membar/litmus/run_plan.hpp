// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
/// @file
/// What a litmus file becomes where it runs: cells of memory, observed values as digits, and the outcomes that the model allows.
#pragma once

#include <membar/litmus/instance_layout.hpp>
#include <membar/model/decide.hpp>
#include <membar/model/enumerate.hpp>
#include <membar/model/error.hpp>
#include <membar/model/litmus_test.hpp>
#include <membar/model/outcomes.hpp>
#include <membar/model/program.hpp>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <set>
#include <string>
#include <string_view>
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
  int finish_of = -1;                ///< not a value but whether this thread ended: digit 0 if it did
  bool hidden = false;               ///< named by the filter only
  std::vector<std::int64_t> values;  ///< digit -> value; one digit more stands for every other value

  [[nodiscard]] int radix() const noexcept { return static_cast<int>(values.size()) + 1; }
  /// The thread that writes the digit; -1: it is read from memory when the instance is over.
  [[nodiscard]] int thread() const noexcept {
    return finish_of >= 0 ? finish_of : what.kind == model::term::kind_t::register_value ? what.thread : -1;
  }
};

/// What the model says of an outcome that was observed.
enum class standing : std::uint8_t {
  allowed,
  forbidden,
  unfinished,  ///< a thread left a loop at its limit: no outcome
  filtered,    ///< the test's filter leaves it out
  undecided    ///< the model follows one repetition of a loop, and this outcome may need more
};

/// A litmus test made ready to run. Throws `model::error`, with the line, for a test that no GPU or host thread can run as it is
/// written.
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
  [[nodiscard]] const std::vector<outcome_digit>& observations() const noexcept { return observations_; }
  [[nodiscard]] int cells() const noexcept { return static_cast<int>(initial_.size()); }
  /// A cell's bytes when an instance begins.
  [[nodiscard]] const std::array<unsigned char, cell_bytes>& initial(int cell) const noexcept {
    return initial_[static_cast<std::size_t>(cell)];
  }
  [[nodiscard]] const cell_part& part(int location) const noexcept { return parts_[static_cast<std::size_t>(location)]; }
  /// Whether some instruction's address is in a register.
  [[nodiscard]] bool indirect() const noexcept { return indirect_; }
  [[nodiscard]] bool cut() const noexcept { return cut_; }

  /// A value of the model as registers and memory hold it: an address is its token.
  [[nodiscard]] std::int64_t machine_value(std::int64_t value) const noexcept {
    const std::int64_t index = (value - model::address_value(0)) / 16;
    const bool address = value >= model::address_value(0) && index < static_cast<std::int64_t>(test_.locations.size()) &&
                         value == model::address_value(static_cast<int>(index));
    return address ? address_token(static_cast<int>(index)) : value;
  }

  /// A value that a run observed as it is printed.
  [[nodiscard]] std::string value_text(std::int64_t machine) const {
    for (std::size_t i = 0; i < test_.locations.size(); ++i) {
      if (machine == address_token(static_cast<int>(i))) {
        return "&" + test_.location_names[i];
      }
    }
    return std::to_string(machine);
  }

  /// What the model says of the outcome with these digits, one per observation.
  [[nodiscard]] standing judge(const std::vector<int>& digits) const {
    for (std::size_t o = 0; o < observations_.size(); ++o) {
      if (observations_[o].finish_of >= 0 && digits[o] != 0) {
        return standing::unfinished;
      }
    }
    const standing unlisted = open_loops_ ? standing::undecided : standing::forbidden;
    if (is_other(digits)) {
      return unlisted;
    }
    std::vector<std::int64_t> values = values_of(digits);
    if (!satisfied(test_.filter, values)) {
      return standing::filtered;
    }
    values.resize(test_.observed.size());
    return allowed_.count(values) != 0 ? standing::allowed : unlisted;
  }

  /// Whether the outcome satisfies the test's condition. One with a value that no execution gives does not.
  [[nodiscard]] bool satisfies(const std::vector<int>& digits) const {
    return test_.has_condition && !is_other(digits) && satisfied(test_.condition, values_of(digits));
  }

  /// Whether some execution of the model satisfies the test's condition.
  [[nodiscard]] bool reachable() const noexcept { return reachable_; }

  /// The outcome in herd's words: "P1:r0=1; P1:r1=0;".
  [[nodiscard]] std::string outcome_text(const std::vector<int>& digits) const {
    std::string out;
    for (std::size_t o = 0; o < observations_.size(); ++o) {
      const outcome_digit& one = observations_[o];
      if (one.hidden || one.finish_of >= 0) {
        continue;
      }
      const bool other = digits[o] == one.radix() - 1;
      out += (out.empty() ? "" : " ") + one.name + "=" +
             (other ? "other" : value_text(one.values[static_cast<std::size_t>(digits[o])])) + ";";
    }
    return out;
  }

  /// What stands in an instruction's way of running on a device or on the host, as one sentence.
  [[noreturn]] void refuse(int line, const std::string& why) const {
    throw model::error("line " + std::to_string(line) + ": " + why);
  }

 private:
  // A final state for a condition or a filter, from the value of each digit.
  struct seen_state {
    const run_plan* plan;
    const std::vector<std::int64_t>* values;

    [[nodiscard]] bool known(const model::term&) const noexcept { return true; }
    [[nodiscard]] std::int64_t value(const model::term& t) const {
      return t.kind == model::term::kind_t::constant ? plan->machine_value(t.value)
                                                     : (*values)[static_cast<std::size_t>(plan->find(t))];
    }
  };

  [[nodiscard]] std::vector<std::int64_t> values_of(const std::vector<int>& digits) const {
    std::vector<std::int64_t> values;
    for (std::size_t o = 0; o < observations_.size(); ++o) {
      values.push_back(observations_[o].values[static_cast<std::size_t>(digits[o])]);
    }
    return values;
  }

  [[nodiscard]] bool satisfied(const std::vector<model::condition_node>& nodes, const std::vector<std::int64_t>& values) const {
    return model::evaluate(nodes, seen_state{this, &values}) == model::truth::yes;
  }

  [[nodiscard]] static bool same(const model::term& a, const model::term& b) noexcept {
    return a.kind == b.kind && a.index == b.index && (a.kind != model::term::kind_t::register_value || a.thread == b.thread);
  }

  [[nodiscard]] int find(const model::term& t) const noexcept {
    for (std::size_t o = 0; o < observations_.size(); ++o) {
      if (observations_[o].finish_of < 0 && same(observations_[o].what, t)) {
        return static_cast<int>(o);
      }
    }
    return -1;
  }

  [[nodiscard]] bool is_other(const std::vector<int>& digits) const {
    for (std::size_t o = 0; o < observations_.size(); ++o) {
      if (digits[o] == observations_[o].radix() - 1 && observations_[o].finish_of < 0) {
        return true;
      }
    }
    return false;
  }

  [[nodiscard]] static bool is_access(model::opcode code) noexcept {
    return code == model::opcode::load || code == model::opcode::store || code == model::opcode::atomic ||
           code == model::opcode::reduction;
  }

  // ---- what no run can do

  void check_statements() const {
    if (!test_.api.empty()) {
      throw model::error("'P" + std::to_string(test_.threads[static_cast<std::size_t>(test_.api.front().before)].number) +
                         " precedes P" + std::to_string(test_.threads[static_cast<std::size_t>(test_.api.front().after)].number) +
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
            refuse(i.line, quoted + "a block runs many instances of a test at once, so a test that runs has no barriers");
          case model::opcode::mbarrier_arrive:
          case model::opcode::mbarrier_wait:
            refuse(i.line, quoted + "a block runs many instances of a test at once, so a test that runs has no mbarriers");
          default:
            break;
        }
        if (is_access(i.code) && i.via != model::proxy::generic) {
          refuse(i.line, quoted + "surfaces, textures and constants exist in the model only; runs have generic accesses");
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
        indirect_ = indirect_ || i.indirect;
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
                         std::to_string(max_locations));
    }
  }

  [[nodiscard]] std::size_t physical(int location) const noexcept {
    return static_cast<std::size_t>(test_.locations[static_cast<std::size_t>(location)].physical);
  }

  void width(std::vector<int>& widths, int location, const model::instruction& i) const {
    int& known = widths[physical(location)];
    if (known != 0 && known != i.bytes) {
      refuse(i.line, "'" + test_.location_names[static_cast<std::size_t>(location)] + "' is accessed with " +
                         std::to_string(i.bytes) + " and with " + std::to_string(known) +
                         " bytes; what a run observes of a location is one value of one size");
    }
    known = i.bytes;
  }

  void place_element(std::vector<int>& arrays, int first, const model::instruction& i) const {
    if ((i.element + 1) * i.bytes > static_cast<int>(cell_bytes)) {
      refuse(i.line, "a vector of more than " + std::to_string(cell_bytes) + " bytes does not fit a run's cells");
    }
    if (physical(i.target) != static_cast<std::size_t>(i.target) || physical(first) != static_cast<std::size_t>(first)) {
      refuse(i.line, "a vector access through an alias does not run");
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
      throw model::error("'" + test_.location_names[static_cast<std::size_t>(location)] + "' starts as " + value_text(value) +
                         ", which does not fit the " + std::to_string(p.bytes) +
                         (p.bytes == 1 ? " byte" : " bytes") + " of its accesses as a signed number: give them a wider type, such as .b64");
    }
    for (int b = 0; b < p.bytes; ++b) {
      initial_[static_cast<std::size_t>(p.cell)][static_cast<std::size_t>(p.offset + b)] =
          static_cast<unsigned char>(b < 8 ? value >> (8 * b) : value < 0 ? 0xff : 0);
    }
  }

  // ---- observations

  void observe(const std::string& name, const model::term& what, bool hidden) {
    if (find(what) < 0) {
      observations_.push_back({name, what, -1, hidden, {}});
    }
  }

  void name_observations() {
    for (const model::observable& o : test_.observed) {
      observations_.push_back({o.name, o.what, -1, false, {}});
    }
    for (const model::condition_node& n : test_.filter) {
      for (const model::term* t : {&n.left, &n.right}) {
        if (n.kind == model::condition_node::kind_t::compare && t->kind != model::term::kind_t::constant) {
          observe("filter", *t, true);
        }
      }
    }
    for (std::size_t t = 0; t < test_.threads.size(); ++t) {
      if (jumps_back(test_.threads[t])) {
        observations_.push_back(
            {"P" + std::to_string(test_.threads[t].number) + ":end", {}, static_cast<int>(t), true, {0}});
        open_loops_ = open_loops_ || !only_waits(test_.threads[t]);
      }
    }
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

  // Whether every loop only waits: a repetition of it leaves no trace but the values that it has read last, so that one that
  // goes round often ends like one that goes round once.
  [[nodiscard]] static bool only_waits(const model::litmus_test::thread& t) noexcept {
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
          return false;
        }
      }
    }
    return true;
  }

  // ---- what the model says

  void ask_model(std::uint64_t limit) {
    model::outcome_collector visitor(test_);
    const model::test_view view = test_.view();
    model::require_defined(view.program, model::every_rule{}, limit);
    model::enumerator<model::outcome_collector> search(view.program, visitor, model::every_rule{}, limit);
    cut_ = search.run().cut;
    open_loops_ = open_loops_ && cut_;
    for (const std::vector<std::int64_t>& outcome : visitor.found()) {
      std::vector<std::int64_t> values;
      for (std::size_t o = 0; o < outcome.size(); ++o) {
        values.push_back(machine_value(outcome[o]));
        add_value(observations_[o], values.back());
      }
      reachable_ = reachable_ || (test_.has_condition && satisfied(test_.condition, values));
      allowed_.insert(std::move(values));
    }
  }

  static void add_value(outcome_digit& o, std::int64_t value) {
    if (std::find(o.values.begin(), o.values.end(), value) == o.values.end()) {
      o.values.push_back(value);
    }
  }

  // Visitor that collects the values of what is observed over every choice of reads-from, also those that rules forbid.
  struct value_collector {
    run_plan* plan;
    std::uint64_t steps_left;

    template <class Enumerator>
    [[nodiscard]] bool viable(const Enumerator& execution) {
      if (steps_left == 0) {
        return false;
      }
      --steps_left;
      for (outcome_digit& o : plan->observations_) {
        if (o.thread() >= 0 && o.finish_of < 0 && execution.known(o.what.thread, o.what.index)) {
          add_value(o, plan->machine_value(execution.register_value(o.what.thread, o.what.index)));
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
          plan->written(events[e], execution.value(static_cast<int>(e)));
        }
      }
      return !complete;
    }

    template <class Enumerator>
    [[nodiscard]] bool accept(const Enumerator&) const noexcept {
      return true;
    }
  };

  void written(const model::event& write, std::int64_t value) {
    const std::int64_t machine = machine_value(value);
    if (write.thread >= 0 && !fits(machine, write.bytes)) {
      const model::instruction& i =
          test_.threads[static_cast<std::size_t>(write.thread)].code[static_cast<std::size_t>(write.instruction)];
      refuse(i.line, "the value " + value_text(machine) + " does not fit the " + std::to_string(i.bytes) +
                         (i.bytes == 1 ? " byte" : " bytes") +
                         " that are written as a signed number: give the accesses a wider type, such as .b64");
    }
    for (outcome_digit& o : observations_) {
      if (o.thread() < 0 && static_cast<int>(physical(o.what.index)) == write.physical) {
        add_value(o, machine);
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
            add_value(observations_[static_cast<std::size_t>(o)], machine_value(value->value));
          }
        }
      }
    };
    constants(test_.condition);
    constants(test_.filter);
    for (outcome_digit& o : observations_) {
      if (o.thread() < 0) {
        add_value(o, machine_value(test_.locations[physical(o.what.index)].initial));
      } else if (o.finish_of < 0) {
        add_value(o, machine_value(test_.threads[static_cast<std::size_t>(o.what.thread)]
                                       .registers[static_cast<std::size_t>(o.what.index)]));
      }
    }
    const std::vector<outcome_digit> necessary = observations_;
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
    value_collector visitor{this, limit == 0 || limit > value_steps ? value_steps : limit};
    const model::test_view view = test_.view();
    model::enumerator<value_collector, model::every_rule_but>(view.program, visitor, rules).run();
    if (keys() > max_outcomes) {
      observations_ = necessary;
    }
    for (outcome_digit& o : observations_) {
      std::sort(o.values.begin(), o.values.end());
    }
  }

  [[nodiscard]] std::uint64_t keys() const noexcept {
    std::uint64_t product = 1;
    for (const outcome_digit& o : observations_) {
      product *= product > max_outcomes ? 1 : static_cast<std::uint64_t>(o.radix());
    }
    return product;
  }

  void check_keys() const {
    if (observations_.size() > static_cast<std::size_t>(max_observations)) {
      throw model::error("the test observes " + std::to_string(observations_.size()) +
                         " values (a thread that loops counts once more), and a run at most " +
                         std::to_string(max_observations));
    }
    for (const outcome_digit& o : observations_) {
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
  std::vector<outcome_digit> observations_;
  std::set<std::vector<std::int64_t>> allowed_;
  bool indirect_ = false;
  bool cut_ = false;
  bool open_loops_ = false;
  bool reachable_ = false;
};

}  // namespace membar::litmus
