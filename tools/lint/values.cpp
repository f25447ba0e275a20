// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <lint/values.hpp>
#include <ptx/compute.hpp>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <numeric>
#include <string>
#include <utility>

namespace membar::lint {

using ptx::instruction;
using ptx::op;
using ptx::source_operand;
using ptx::special;
using ptx::state_space;

namespace {

constexpr std::size_t most_origins = 16;
constexpr int deepest = 8;  ///< the maximum number of instructions that are followed from a result to its sources

/// Returns the bits of `value` that describe how a special register varies between threads.
unsigned variation_of(special s) {
  switch (s) {
    case special::thread_x:
    case special::thread_y:
    case special::thread_z:
    case special::lane:
    case special::warp:
    case special::lanes_equal:
    case special::lanes_less:
    case special::lanes_less_equal:
    case special::lanes_greater:
    case special::lanes_greater_equal:
      return value::thread;
    case special::block_x:
    case special::block_y:
    case special::block_z:
    case special::cluster_rank:
    case special::cluster:
    case special::unknown:
      return value::block;
    case special::clock:
    case special::nanoseconds:
      return value::loaded;
    default:
      return 0;
  }
}

bool join(value& into, const value& from) {
  const std::size_t origins = into.origins.size();
  const std::size_t loads = into.loads.size();
  const unsigned varies = into.varies;
  for (const origin& o : from.origins) {
    if (into.origins.size() < most_origins) {
      into.origins.insert(o);
    }
  }
  into.loads.insert(from.loads.begin(), from.loads.end());
  into.varies |= from.varies;
  return into.origins.size() != origins || into.loads.size() != loads || into.varies != varies;
}

/// Returns whether the instruction is a tensor copy. The decoder does not decode the operands of these copies, so only their
/// text is used.
bool is_tensor_copy(const instruction& i) {
  return i.text.starts_with("cp.async.bulk.tensor") || i.text.starts_with("cp.reduce.async.bulk.tensor");
}

/// Returns the predicate of an instruction as an operand.
source_operand guard_of(const instruction& i) {
  source_operand result;
  result.kind = source_operand::kind_t::reg;
  result.word = i.guard;
  result.negated = i.guard_negated;
  return result;
}

}  // namespace

bool overlap(const std::set<origin>& a, const std::set<origin>& b) {
  return std::ranges::any_of(a, [&](const origin& o) { return b.contains(o); });
}

values::values(const ptx::kernel_code& kernel, const ptx::module_layout& layout, const flow& paths)
    : kernel_(&kernel), layout_(&layout), paths_(&paths), words_(static_cast<std::size_t>(kernel.words) + 2) {
  constexpr int most_rounds = 20;  // enough for loops that pass a value from register to register
  bool changed = true;
  for (int round = 0; changed && round < most_rounds; ++round) {
    changed = false;
    for (pc_t pc = 0; pc < paths.size(); ++pc) {
      follow(paths.at(pc), pc, changed);
    }
  }
  find_accesses();
}

value values::of(const source_operand& o) const {
  value result;
  if (o.kind == source_operand::kind_t::reg) {
    // The instruction does not have this operand.
    if (o.word < 0) {
      return result;
    }
    result = words_[static_cast<std::size_t>(o.word)];
    if (o.low != 0) {
      result.constant.reset();
    }
  } else if (o.kind == source_operand::kind_t::special) {
    result.varies = variation_of(o.machine);
  } else if (o.kind == source_operand::kind_t::constant) {
    result.constant = o.low;
    if (o.low >= ptx::global_window && o.low < ptx::shared_window) {
      for (const auto& [name, at] : layout_->globals) {
        if (at <= o.low) {  // selects the nearest variable at or below the address
          const auto number = static_cast<std::int64_t>(at);
          if (result.origins.empty() || result.origins.begin()->number < number) {
            result.origins = {{origin::kind_t::global, number}};
          }
        }
      }
    }
    for (const auto& [variable, at] : kernel_->shared) {
      if (at == o.low || (o.low > at && o.low < at + variable.bytes)) {
        result.origins.insert({origin::kind_t::shared, static_cast<std::int64_t>(at)});
      }
    }
    if (o.low == ptx::dynamic_offset) {
      result.origins.insert({origin::kind_t::shared, static_cast<std::int64_t>(o.low)});
    }
  }
  return result;
}

void values::follow_store(const instruction& i, bool& changed) {
  if (i.space == state_space::local) {
    // A kernel copies a parameter to local memory if it indexes the parameter.
    for (unsigned k = 1; k < i.sources && i.bytes == 8; ++k) {
      for (const origin& o : of(i.by[k]).origins) {
        if (o.kind == origin::kind_t::parameter && through_local_.size() < most_origins) {
          changed = through_local_.insert(o).second || changed;
        }
      }
    }
    return;
  }
  for (const origin& o : origins_of_address(i, 0)) {
    if (o.kind == origin::kind_t::shared) {
      const auto at = std::ranges::find(through_shared_, o, &std::pair<origin, value>::first);
      value& stored = at == through_shared_.end() ? through_shared_.emplace_back(o, value{}).second : at->second;
      for (unsigned k = 1; k < i.sources; ++k) {
        changed = join(stored, of(i.by[k])) || changed;
      }
    }
  }
}

void values::follow(const instruction& i, pc_t pc, bool& changed) {
  value from;
  if (i.code == op::load_param) {
    const value at = of(i.by[0]);
    const auto number = static_cast<std::int64_t>(at.constant.value_or(0)) + i.offset;
    for (unsigned k = 0; k < i.destinations; ++k) {
      value one;
      if (i.bytes == 8) {
        one.origins = {{origin::kind_t::parameter, number + static_cast<std::int64_t>(k) * i.bytes}};
      }
      if (i.to[k].word >= 0) {
        changed = join(words_[static_cast<std::size_t>(i.to[k].word)], one) || changed;
      }
    }
    return;
  }
  const bool reads_memory = i.code == op::load || i.code == op::atomic;
  for (unsigned k = 0; k < i.sources; ++k) {
    const value one = of(i.by[k]);
    from.varies |= one.varies;
    if (!reads_memory) {
      static_cast<void>(join(from, one));
    }
  }
  if (i.code == op::elect) {
    from.varies |= value::thread | value::elected;
  } else if (i.code == op::map_to_block) {
    from.varies |= value::remote;
  } else if (i.code == op::active_mask) {
    from.varies |= value::thread;
  } else if (i.code == op::set_predicate || i.code == op::multiply_low || i.code == op::multiply_high) {
    from.origins.clear();
  } else if (reads_memory) {
    from.varies |= value::loaded;
    if (i.strong || i.code == op::atomic) {
      from.loads = {pc};
    }
    if (i.space == state_space::local && i.bytes == 8) {
      from.origins = through_local_;
    }
    for (const origin& o : origins_of_address(i, 0)) {
      if (o.kind == origin::kind_t::shared) {
        for (const auto& [variable, stored] : through_shared_) {
          if (variable == o) {
            static_cast<void>(join(from, stored));
          }
        }
      } else if (i.bytes == 8) {
        from.origins.insert({origin::kind_t::table, o.number});
      }
    }
  } else if (i.code == op::store) {
    follow_store(i, changed);
  }
  for (unsigned k = 0; k < i.destinations; ++k) {
    if (i.to[k].word < 0) {
      continue;
    }
    const auto word = static_cast<std::size_t>(i.to[k].word);
    changed = join(words_[word], from) || changed;
    if (paths_->writers_of(i.to[k].word).size() == 1 && i.guard < 0 && i.destinations == 1 && !words_[word].constant) {
      const value first = of(i.by[0]);
      const value second = i.sources > 1 ? of(i.by[1]) : value{};
      if (i.code == op::move && first.constant) {
        words_[word].constant = first.constant;
      } else if (i.code == op::add && first.constant && second.constant) {
        words_[word].constant = ptx::truncated(*first.constant + *second.constant, 8 * ptx::bytes_of(i.type));
      }
      changed = changed || words_[word].constant.has_value();
    }
  }
}

std::set<origin> values::origins_of_address(const instruction& i, std::size_t operand) const {
  std::set<origin> result = of(i.by[operand]).origins;
  const state_space space = operand == 0 || i.code != op::async_copy ? i.space : i.from_space;
  const bool any_global = std::ranges::any_of(result, [](const origin& o) { return o.kind != origin::kind_t::shared; });
  if (space == state_space::shared || space == state_space::global || any_global) {
    const bool shared = space == state_space::shared;
    std::erase_if(result, [&](const origin& o) { return (o.kind == origin::kind_t::shared) != shared; });
  }
  return result;
}

std::optional<std::int64_t> values::displacement_of(const source_operand& o, int depth) const {
  const auto low = static_cast<std::int64_t>(o.low);
  const std::set<origin> origins = of(o).origins;
  if (origins.size() != 1 || depth > deepest) {
    return std::nullopt;
  }
  if (o.kind == source_operand::kind_t::constant) {
    return low - origins.begin()->number;
  }
  if (paths_->writers_of(o.word).size() != 1) {
    return std::nullopt;
  }
  const instruction& i = paths_->at(paths_->writers_of(o.word).front());
  // A pointer that was stored in shared or local memory may have been moved before.
  if (i.code == op::load_param || i.code == op::load) {
    return i.code == op::load_param || origins.begin()->kind == origin::kind_t::table ? std::optional(low) : std::nullopt;
  }
  const bool keeps = i.code == op::move || i.code == op::to_generic || i.code == op::from_generic;
  if ((!keeps && i.code != op::add && i.code != op::multiply_add_wide) || i.guard >= 0) {
    return std::nullopt;
  }
  std::optional<std::int64_t> result;
  std::int64_t added = low;
  for (unsigned k = 0; k < i.sources; ++k) {
    if (of(i.by[k]).origins.empty()) {
      added += i.code == op::add ? static_cast<std::int64_t>(of(i.by[k]).constant.value_or(0)) : 0;
    } else if (result) {
      return std::nullopt;
    } else if (result = displacement_of(i.by[k], depth + 1); !result) {
      return std::nullopt;
    }
  }
  return result ? std::optional(*result + added) : std::nullopt;
}

std::uint64_t values::stride_of(const source_operand& o, int depth) const {
  const auto lowest_bit = [](std::uint64_t number) { return number & (~number + 1); };
  // For a number that may be negative, returns a power of two, which is a divisor for every width.
  const auto magnitude = [&](std::uint64_t number) { return number >> 31U == 0 ? number : lowest_bit(number); };
  const value all = of(o);
  if (all.constant || o.kind == source_operand::kind_t::constant) {
    return all.origins.empty() ? magnitude(all.constant.value_or(1)) : 0;
  }
  if (o.kind != source_operand::kind_t::reg || o.word < 0 || depth > deepest || paths_->writers_of(o.word).size() != 1) {
    return 1;
  }
  const instruction& i = paths_->at(paths_->writers_of(o.word).front());
  if (i.guard >= 0) {
    return 1;
  }
  const auto factor = [&]() -> std::uint64_t {
    return magnitude(of(i.by[0]).constant.value_or(of(i.by[1]).constant.value_or(1)));
  };
  switch (i.code) {
    case op::load_param:
    case op::load:
      return all.origins.empty() ? 1 : 0;
    case op::move:
    case op::convert:
    case op::to_generic:
    case op::from_generic:
      return stride_of(i.by[0], depth + 1);
    case op::multiply_low:
    case op::multiply_wide:
      return factor();
    case op::multiply_add_wide:
      return std::gcd(factor(), stride_of(i.by[2], depth + 1));
    case op::bit_and:
      return lowest_bit(of(i.by[0]).constant.value_or(of(i.by[1]).constant.value_or(1)));
    case op::shift_left:
      return std::uint64_t{1} << std::min<std::uint64_t>(of(i.by[1]).constant.value_or(0), 32);
    case op::add: {
      // constants that are added to a pointer belong to the displacement
      const auto part = [&](const source_operand& one) {
        return !all.origins.empty() && of(one).constant && of(one).origins.empty() ? 0 : stride_of(one, depth + 1);
      };
      return std::gcd(part(i.by[0]), part(i.by[1]));
    }
    default:
      return 1;
  }
}

void values::find_accesses() {
  const auto space_of = [](state_space named, const std::set<origin>& origins) {
    if (named != state_space::generic || origins.empty()) {
      return named;
    }
    return origins.begin()->kind == origin::kind_t::shared ? state_space::shared : state_space::global;
  };
  for (pc_t pc = 0; pc < paths_->size(); ++pc) {
    const instruction& i = paths_->at(pc);
    if (is_tensor_copy(i)) {
      const bool loads = i.text.find(".global.") > i.text.find(".shared::");
      accesses_.push_back({pc, loads, !loads, true, state_space::global, {}, {}, 0});
      accesses_.push_back({pc, !loads, loads, true, state_space::shared, {}, {}, 0});
    } else if (i.code == op::async_copy && i.text.find("mbarrier") != std::string::npos && i.sources == 1) {
      continue;  // this instruction arrives on an mbarrier and copies nothing
    } else if (i.code == op::async_copy) {
      const std::set<origin> to = origins_of_address(i, 0);
      accesses_.push_back({pc, false, true, true, space_of(i.space, to), to, {}, 0});
      if (!i.text.starts_with("st.") && !i.text.starts_with("red.")) {
        const std::set<origin> from = origins_of_address(i, 1);
        accesses_.push_back({pc, true, false, true, space_of(i.from_space, from), from, {}, 0});
      }
    } else if (i.code == op::load || i.code == op::store || i.code == op::atomic || i.code == op::reduction) {
      if (i.mbarrier != ptx::mbarrier_op::none || i.space == state_space::local || i.space == state_space::param ||
          i.space == state_space::constant) {
        continue;
      }
      const std::set<origin> at = origins_of_address(i, 0);
      std::optional<std::int64_t> displacement = displacement_of(i.by[0], 0);
      if (displacement) {
        *displacement += i.offset;
      }
      accesses_.push_back({pc, i.code == op::load || i.code == op::atomic, i.code != op::load, false, space_of(i.space, at), at,
                           displacement, stride_of(i.by[0], 0)});
    }
  }
}

std::span<const access> values::accesses_at(pc_t pc) const {
  const auto found = std::ranges::equal_range(accesses_, pc, {}, &access::at);
  return {found.begin(), found.end()};
}

bool values::selects(std::int32_t word, bool holds, bool only_one, int depth) const {
  if (word < 0 || depth > deepest || paths_->writers_of(word).size() != 1) {
    return false;
  }
  const instruction& i = paths_->at(paths_->writers_of(word).front());
  const auto part = [&](const source_operand& o, bool wanted) {
    return o.kind == source_operand::kind_t::reg && selects(o.word, o.negated ? !wanted : wanted, only_one, depth + 1);
  };
  if (i.destinations > 1 && i.to[1].word == word && i.code == op::set_predicate) {
    holds = !holds;
  }
  switch (i.code) {
    case op::elect:
      return holds;
    case op::bit_not:
      return part(i.by[0], !holds);
    case op::move:
      return part(i.by[0], holds);
    case op::bit_and:
    case op::bit_or:
      return holds == (i.code == op::bit_and) && (part(i.by[0], holds) || part(i.by[1], holds));
    case op::set_predicate: {
      if (i.combines && part(i.by[2], holds)) {
        return true;
      }
      const unsigned first = of(i.by[0]).varies;
      const unsigned second = of(i.by[1]).varies;
      const unsigned by_number = first == 0 ? second : first;
      const unsigned numbers = by_number & ~(value::elected | value::remote);
      using enum ptx::ptx_comparison;
      const bool equal = i.test == ne ? !holds : i.test == eq && holds;
      // For a thread's number in the grid, only an equality selects a thread: other comparisons may hold for whole blocks.
      if ((first != 0 && second != 0) || (numbers & value::thread) == 0 || (numbers & ~(value::thread | value::block)) != 0 ||
          ((numbers & value::block) != 0 && !equal)) {
        return false;
      }
      return i.test == ne || i.test == eq ? equal : !only_one;
    }
    default:
      return false;
  }
}

bool values::may_be_odd(const source_operand& o, int depth) const {
  if (o.kind == source_operand::kind_t::constant) {
    return (o.low & 1) != 0;
  }
  if (o.kind != source_operand::kind_t::reg || o.word < 0 || depth > deepest) {
    return false;
  }
  return std::ranges::any_of(paths_->writers_of(o.word), [&](pc_t pc) {
    const instruction& i = paths_->at(pc);
    return i.code == op::move && may_be_odd(i.by[0], depth + 1);
  });
}

bool values::selects_some(const condition& c) const {
  const instruction& i = paths_->at(c.at);
  return selects(i.guard, i.guard_negated != c.taken, false, 0);
}

bool values::selects_one(const condition& c) const {
  const instruction& i = paths_->at(c.at);
  return selects(i.guard, i.guard_negated != c.taken, true, 0);
}

bool values::is_uniform(const condition& c) const {
  const std::int32_t guard = paths_->at(c.at).guard;
  return guard >= 0 && words_[static_cast<std::size_t>(guard)].varies == 0;
}

bool values::is_compared_with_limit(pc_t load) const {
  for (pc_t pc = 0; pc < paths_->size(); ++pc) {
    const instruction& i = paths_->at(pc);
    using enum ptx::ptx_comparison;
    if (i.code != op::set_predicate || i.test == eq || i.test == ne) {
      continue;
    }
    for (unsigned k = 0; k < std::min<unsigned>(i.sources, 2); ++k) {
      if (of(i.by[k]).loads.contains(load)) {
        return true;
      }
    }
  }
  return false;
}

unsigned values::numbers_compared(const condition& c) const {
  const std::int32_t guard = paths_->at(c.at).guard;
  const unsigned varies = guard < 0 ? 0 : words_[static_cast<std::size_t>(guard)].varies;
  return (varies & ~(value::thread | value::block)) == 0 ? varies : 0;
}

std::set<pc_t> values::deciding_loads(const condition& c) const {
  const std::int32_t guard = paths_->at(c.at).guard;
  return guard < 0 ? std::set<pc_t>{} : words_[static_cast<std::size_t>(guard)].loads;
}

std::optional<std::uint64_t> values::computed(const source_operand& o, pc_t load, std::uint64_t loaded, int depth) const {
  if (o.kind == source_operand::kind_t::constant) {
    return o.low;
  }
  if (o.kind != source_operand::kind_t::reg || o.word < 0 || o.low != 0 || depth > deepest ||
      paths_->writers_of(o.word).size() != 1) {
    return std::nullopt;
  }
  const pc_t pc = paths_->writers_of(o.word).front();
  const instruction& i = paths_->at(pc);
  std::optional<std::uint64_t> result;
  if (pc == load) {
    result = i.destinations == 1 ? std::optional(loaded) : std::nullopt;
  } else {
    constexpr op followed[] = {op::move,    op::convert, op::add,           op::subtract, op::bit_and,    op::bit_or,
                               op::bit_xor, op::bit_not, op::set_predicate, op::select,   op::shift_left, op::shift_right};
    if (std::ranges::find(followed, i.code) == std::end(followed) || i.guard >= 0 || i.destinations != 1) {
      return std::nullopt;
    }
    std::array<std::uint64_t, 3> by{};
    for (unsigned k = 0; k < i.sources && k < by.size(); ++k) {
      const std::optional<std::uint64_t> one = computed(i.by[k], load, loaded, depth + 1);
      if (!one) {
        return std::nullopt;
      }
      by[k] = *one;
    }
    result = ptx::truncated(ptx::compute(i, by[0], by[1], by[2]), i.to[0].bits);
  }
  return result && o.negated ? std::optional(*result ^ 1U) : result;
}

std::optional<bool> values::holds_for(const condition& c, pc_t load, std::uint64_t loaded) const {
  const std::optional<std::uint64_t> result = computed(guard_of(paths_->at(c.at)), load, loaded, 0);
  return result ? std::optional(((*result & 1U) != 0) == c.taken) : std::nullopt;
}

std::optional<values::offset_value> values::number_of(const source_operand& o, int depth) const {
  if (o.kind == source_operand::kind_t::constant) {
    return offset_value{special::zero, static_cast<std::int64_t>(o.low)};
  }
  if (o.kind == source_operand::kind_t::special) {
    return offset_value{o.machine, 0};
  }
  if (o.kind != source_operand::kind_t::reg || o.word < 0 || o.low != 0 || depth > deepest ||
      paths_->writers_of(o.word).size() != 1) {
    return std::nullopt;
  }
  const instruction& i = paths_->at(paths_->writers_of(o.word).front());
  const bool sums = i.code == op::add || i.code == op::subtract;
  if ((!sums && i.code != op::move) || i.guard >= 0 || i.destinations != 1 || ptx::is_float(i.type)) {
    return std::nullopt;
  }
  std::optional<offset_value> result = number_of(i.by[0], depth + 1);
  if (result && sums) {
    const std::optional<offset_value> second = number_of(i.by[1], depth + 1);
    if (!second || second->base != special::zero) {
      return std::nullopt;
    }
    result->offset += i.code == op::add ? second->offset : -second->offset;
  }
  if (result) {  // a negative constant of 32 bits may be written as an unsigned number
    result->offset = static_cast<std::int32_t>(result->offset);
  }
  return result;
}

std::optional<values::selected_thread> values::selected_by(const source_operand& o, bool holds, int depth) const {
  if (o.word < 0 || depth > deepest || paths_->writers_of(o.word).size() != 1) {
    return std::nullopt;
  }
  const instruction& i = paths_->at(paths_->writers_of(o.word).front());
  holds = o.negated ? !holds : holds;
  if (i.code == op::bit_not || i.code == op::move) {
    return selected_by(i.by[0], i.code == op::move ? holds : !holds, depth + 1);
  }
  using enum ptx::ptx_comparison;
  if (i.code != op::set_predicate || i.combines || i.destinations != 1 || (i.test != eq && i.test != ne) ||
      (i.test == eq) != holds) {
    return std::nullopt;
  }
  std::optional<offset_value> first = number_of(i.by[0], 0);
  std::optional<offset_value> second = number_of(i.by[1], 0);
  const auto is_thread = [](const std::optional<offset_value>& n) {
    return n && n->offset == 0 &&
           (n->base == special::thread_x || n->base == special::thread_y || n->base == special::thread_z);
  };
  if (is_thread(second)) {
    std::swap(first, second);
  }
  return is_thread(first) && second ? std::optional(selected_thread{first->base, *second}) : std::nullopt;
}

bool values::select_different(const condition& a, const condition& b) const {
  const auto selected = [&](const condition& c) { return selected_by(guard_of(paths_->at(c.at)), c.taken, 0); };
  const std::optional<selected_thread> first = selected(a);
  const std::optional<selected_thread> second = selected(b);
  if (!first || !second || first->axis != second->axis) {
    return false;
  }
  if (first->is.base == second->is.base) {
    return first->is.offset != second->is.offset;
  }
  const auto is_first = [](const offset_value& n) { return n.base == special::zero && n.offset == 0; };
  const auto is_last = [](special axis, const offset_value& n) {
    const special threads = axis == special::thread_x   ? special::threads_x
                            : axis == special::thread_y ? special::threads_y
                                                        : special::threads_z;
    return n.base == threads && n.offset == -1;
  };
  return (is_first(first->is) && is_last(first->axis, second->is)) || (is_first(second->is) && is_last(first->axis, first->is));
}

std::string values::name_of(const origin& o) const {
  if (o.kind == origin::kind_t::parameter || o.kind == origin::kind_t::table) {
    const std::string through = o.kind == origin::kind_t::table ? "memory that is reached through a pointer in " : "";
    for (std::size_t k = kernel_->parameters.size(); k-- > 0;) {
      const auto begin = static_cast<std::int64_t>(kernel_->parameter_offsets[k]);
      if (begin <= o.number) {
        const bool only = kernel_->parameters[k].bytes <= 8;
        return through + "parameter " + std::to_string(k) + (only ? "" : " at byte " + std::to_string(o.number - begin));
      }
    }
    return through + "a parameter";
  }
  if (o.kind == origin::kind_t::global) {
    for (const auto& [name, at] : layout_->globals) {
      if (static_cast<std::int64_t>(at) == o.number) {
        return "the variable " + name;
      }
    }
  }
  for (const auto& [variable, at] : kernel_->shared) {
    if (static_cast<std::int64_t>(at) == o.number) {
      return "the shared variable " + variable.name;
    }
  }
  return "dynamic shared memory";
}

}  // namespace membar::lint
