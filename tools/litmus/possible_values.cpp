// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
/// @file
/// Uses the model to determine the values that each observation of a litmus test can have.
#include <common/quote.hpp>
#include <litmus/run_plan.hpp>

#include <membar/model/decide.hpp>
#include <membar/model/enumerate.hpp>
#include <membar/model/error.hpp>
#include <membar/model/outcomes.hpp>
#include <membar/model/partial_execution.hpp>

#include <algorithm>
#include <utility>

namespace membar::litmus_files {

using membar_tools::quote;

namespace {

constexpr std::uint64_t value_steps = 2'000'000;

void add_value(outcome_digit& o, std::int64_t value) {
  if (std::find(o.values.begin(), o.values.end(), value) == o.values.end()) {
    o.values.push_back(value);
  }
}

}  // namespace

class run_plan::value_collector final : public model::execution_visitor {
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
        plan_->add_written(events[e], execution.value(static_cast<int>(e)));
      }
    }
    return !complete;
  }

  [[nodiscard]] bool accept(const model::partial_execution&) override { return true; }

 private:
  run_plan* plan_;
  std::uint64_t steps_left_;
};

void run_plan::ask_model(std::uint64_t limit) {
  model::outcome_collector visitor(test_);
  const model::test_view view = test_.view();
  model::require_defined(view.program, model::every_rule{}, limit);
  model::enumerator search(view.program, visitor, model::every_rule{}, limit);
  if (const model::cut_loop cut = search.run().cut; cut.thread >= 0) {
    refuse_line(cut.line,
                "the loop that jumps back here does more than wait, but the model follows only one jump back: unroll the loop");
  }
  for (const std::vector<std::int64_t>& outcome : visitor.found()) {
    for (std::size_t o = 0; o < outcome.size(); ++o) {
      add_value(digits_[o], outcome[o]);
    }
  }
}

void run_plan::add_constants(const std::vector<model::condition_node>& nodes) {
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
}

void run_plan::add_written(const model::event& write, std::int64_t value) {
  const std::int64_t machine = machine_value(value);
  if (write.thread >= 0 && !fits(machine, write.bytes)) {
    const model::instruction& i =
        test_.threads[static_cast<std::size_t>(write.thread)].code[static_cast<std::size_t>(write.instruction)];
    refuse_line(i.line, "the value " + model::value_text(test_, value) + " does not fit in the " + std::to_string(i.bytes) +
                            (i.bytes == 1 ? " byte" : " bytes") +
                            " of the access as a signed number: give the accesses a wider type, such as .b64");
  }
  for (outcome_digit& o : digits_) {
    if (o.thread() < 0 && static_cast<int>(physical(o.what.index)) == write.physical) {
      add_value(o, value);
    }
  }
}

void run_plan::find_values(std::uint64_t limit) {
  add_constants(test_.condition);
  add_constants(test_.filter);
  for (outcome_digit& o : digits_) {
    if (o.thread() < 0) {
      add_value(o, test_.locations[physical(o.what.index)].initial);
    } else if (o.end_of < 0) {
      add_value(o, test_.threads[static_cast<std::size_t>(o.what.thread)].registers[static_cast<std::size_t>(o.what.index)]);
    }
  }
  const std::vector<outcome_digit> necessary = digits_;
  // this search keeps only No-Thin-Air and the rules that define the effects and the dependencies of instructions, because only
  // these rules determine which values can follow from other values
  model::every_rule_but rules;
  for (int r = 0; r < static_cast<int>(model::rule::count); ++r) {
    const auto one = static_cast<model::rule>(r);
    if (one != model::rule::failed_compare_writes_nothing && one != model::rule::axiom_no_thin_air) {
      rules.drop(one);
    }
  }
  for (const model::rule kept : {model::rule::address_dependency, model::rule::data_dependency, model::rule::control_dependency,
                                 model::rule::update_depends_on_its_read}) {
    rules.keep(kept);
  }
  // this search may be stopped early: all values that the model allows are already known, so a value that it does not find
  // counts as "other", which is never allowed
  value_collector visitor(*this, limit == 0 || limit > value_steps ? value_steps : limit);
  const model::test_view view = test_.view();
  model::enumerator<model::every_rule_but>(view.program, visitor, rules).run();
  if (outcomes() > litmus::max_outcomes) {
    digits_ = necessary;
  }
  for (outcome_digit& o : digits_) {
    std::sort(o.values.begin(), o.values.end());
  }
}

std::uint64_t run_plan::outcomes() const noexcept {
  std::uint64_t product = 1;
  for (const outcome_digit& o : digits_) {
    product *= product > litmus::max_outcomes ? 1 : static_cast<std::uint64_t>(o.radix());
  }
  return product;
}

void run_plan::check_outcomes() const {
  if (digits_.size() > static_cast<std::size_t>(litmus::max_observations)) {
    throw model::error("the test observes " + std::to_string(digits_.size()) +
                       " values (including one for each thread with a loop), but a run can observe at most " +
                       std::to_string(litmus::max_observations) + ": observe fewer values in each test");
  }
  for (const outcome_digit& o : digits_) {
    if (o.radix() > 255) {
      throw model::error(quote(o.name) + " may have " + std::to_string(o.values.size()) +
                         " values, but a run can distinguish only 254: observe fewer in one test");
    }
  }
  if (outcomes() > litmus::max_outcomes) {
    throw model::error("the test may have more than " + std::to_string(litmus::max_outcomes) +
                       " outcomes, the most that a run can count: observe fewer values in each test");
  }
}

}  // namespace membar::litmus_files
