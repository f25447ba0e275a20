// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <lint/rules.hpp>
#include <ptx/compute.hpp>
#include <ptx/cuda_words.hpp>
#include <ptx/endless_loop.hpp>

#include <algorithm>
#include <cstdint>
#include <iterator>
#include <numeric>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <tuple>
#include <utility>

namespace membar::lint {

using ptx::instruction;
using ptx::mbarrier_op;
using ptx::op;
using ptx::state_space;

namespace {

using enum memory_order;

bool is_wide(const instruction& i) { return i.scope == thread_scope::device || i.scope == thread_scope::system; }
bool acquires(memory_order order) { return order == acquire || order == acq_rel || order == seq_cst; }
bool releases(memory_order order) { return order == release || order == acq_rel || order == seq_cst; }
bool is_memory(const instruction& i) {
  return i.code == op::load || i.code == op::store || i.code == op::atomic || i.code == op::reduction;
}

/// Returns whether the instruction lets later accesses observe what another block has released, that is, whether it is an
/// acquiring fence or access at device scope or wider.
bool is_acquire(const instruction& i) {
  return (i.code == op::fence && is_wide(i) && acquires(i.order)) ||
         ((i.code == op::load || i.code == op::atomic) && i.strong && is_wide(i) && acquires(i.order));
}
/// Returns whether the instruction is a fence that, together with a later strong write, releases the earlier accesses.
bool is_release_fence(const instruction& i) { return i.code == op::fence && is_wide(i) && releases(i.order); }

bool is_block_barrier(const instruction& i) {
  return i.code == op::block_barrier || i.code == op::cluster_wait || i.code == op::block_arrive ||
         (i.code == op::load && i.mbarrier == mbarrier_op::test);
}

bool synchronizes(const instruction& i) {
  return is_block_barrier(i) || i.code == op::warp_barrier || i.code == op::fence || is_acquire(i);
}

bool is_global(const access& a) { return a.space == state_space::global; }
bool is_weak(const kernel_view& k, const access& a) { return !k.paths.at(a.at).strong && !a.asynchronous; }

/// Returns whether the instruction is a read-modify-write that reads a value without changing it, such as `atomicAdd(p, 0)`.
bool only_reads(const kernel_view& k, const instruction& i) {
  if (i.code != op::atomic) {
    return false;
  }
  const std::optional<std::uint64_t> first = k.data.of(i.by[1]).constant;
  const bool compares = i.what == model::operation::compare_exchange;
  const std::optional<std::uint64_t> second = compares ? k.data.of(i.by[2]).constant : first;
  return first && second && ptx::is_neutral(i, *first, *second);
}

/// Returns whether a write to global memory may set a flag that other threads poll. A write that does not set a flag is a data
/// write.
bool may_be_flag(const kernel_view& k, const access& a) {
  const instruction& i = k.paths.at(a.at);
  return a.writes && is_global(a) && !a.asynchronous && i.strong && is_wide(i) && !only_reads(k, i);
}
bool is_data_write(const kernel_view& k, const access& a) { return a.writes && is_global(a) && is_weak(k, a); }

bool selects_some(const kernel_view& k, pc_t pc) {
  const std::vector<condition> all = k.paths.conditions_of(pc);
  return std::ranges::any_of(all, [&](const condition& c) { return k.data.selects_some(c); });
}

/// Returns whether the kernel also reads through the same pointer, which then points to data from other threads.
bool is_read(const kernel_view& k, const access& data) {
  return std::ranges::any_of(k.data.accesses(),
                             [&](const access& a) { return a.reads && is_global(a) && overlap(a.origins, data.origins); });
}

/// Returns whether an access consists of several words. If one of them is a flag, some of the others are data.
bool is_packet(const instruction& i) {
  return (i.code == op::load && i.destinations > 1) || (i.code == op::store && i.sources > 2);
}

/// Returns whether strong operations also access the same memory as this access. The memory is then part of a flag or a counter
/// and probably not data.
bool is_beside_flag(const kernel_view& k, const access& data) {
  return std::ranges::any_of(k.data.accesses(), [&](const access& a) {
    const instruction& i = k.paths.at(a.at);
    // an address with several origins, such as a pointer from an indexed array of pointers, need not point to the same memory
    return is_global(a) && !a.asynchronous && i.strong && is_wide(i) && a.origins.size() == 1 && a.origins == data.origins;
  });
}

/// Returns whether comparisons of thread and block indices let only a single thread of the grid execute this instruction.
bool is_of_one_thread(const kernel_view& k, pc_t pc) {
  bool one_of_block = false;
  unsigned numbers = 0;
  for (const condition& c : k.paths.conditions_of(pc)) {
    if (k.paths.guards(c, pc)) {
      one_of_block = one_of_block || k.data.selects_one(c);
      numbers |= k.data.numbers_compared(c);
    }
  }
  return one_of_block && (numbers & value::block) != 0;
}

/// Returns the instructions from which a path leads to `to` without passing an instruction for which `stops` returns true.
template <class Stops>
std::vector<bool> leading_to(const kernel_view& k, pc_t to, Stops stops) {
  std::vector<bool> result(static_cast<std::size_t>(k.paths.size()), false);
  k.paths.backward(to, [&](pc_t pc) {
    result[static_cast<std::size_t>(pc)] = true;
    return !stops(k.paths.at(pc));
  });
  return result;
}
/// Like `leading_to`, but only on paths that a single thread can take between two barriers.
template <class Stops>
std::vector<bool> leading_in_thread(const kernel_view& k, pc_t to, Stops stops) {
  std::vector<bool> result(static_cast<std::size_t>(k.paths.size()), false);
  k.of_one_thread().backward(to, [&](pc_t pc) {
    result[static_cast<std::size_t>(pc)] = true;
    return !stops(k.paths.at(pc));
  });
  return result;
}
bool is_in(const std::vector<bool>& set, pc_t pc) { return set[static_cast<std::size_t>(pc)]; }

/// Returns whether two accesses may concern a common word. They do not if they access different fields of one structure, or of elements of one
/// array. Pointers from a table may point to the same word wherever they are stored.
bool may_be_same_word(const kernel_view& k, const access& a, const access& b) {
  const bool one_object = a.origins.size() == 1 && a.origins == b.origins && a.origins.begin()->kind != origin::kind_t::table;
  if (!one_object || !a.displacement || !b.displacement) {
    return overlap(a.origins, b.origins);
  }
  const auto size_of = [&](const access& one) -> std::int64_t {
    return std::int64_t{k.paths.at(one.at).bytes} * k.paths.at(one.at).elements;
  };
  const std::int64_t between = *b.displacement - *a.displacement;
  const auto stride = static_cast<std::int64_t>(std::gcd(a.stride, b.stride));
  if (stride == 0) {
    return between < size_of(a) && -between < size_of(b);
  }
  const std::int64_t after = ((between % stride) + stride) % stride;
  return after < size_of(a) || stride - after < size_of(b);
}

/// A load that a loop repeats until the load returns a different value.
struct spin {
  pc_t load = 0;
  pc_t exit = 0;  ///< the branch that exits the loop
  access at;
  const loop* waits = nullptr;
};

/// Returns the loops that wait for another thread. The result of a strong load, of a read-modify-write that only reads, or of a
/// compare-and-swap with two constants decides when such a loop ends, and the address of this access does not depend on its own
/// result.
std::vector<spin> spins_of(const kernel_view& k) {
  std::vector<spin> result;
  std::set<std::pair<pc_t, pc_t>> known;
  for (const loop& l : k.paths.loops()) {
    // Excludes loops over work items, in which a value in memory decides whether there is another item.
    const bool works = std::ranges::any_of(k.data.accesses(),
                                           [&](const access& a) { return k.paths.is_inside(l, a.at) && is_data_write(k, a); });
    for (pc_t pc = 0; pc < k.paths.size(); ++pc) {
      const instruction& branch = k.paths.at(pc);
      if ((branch.code != op::branch && branch.code != op::exit) || branch.guard < 0 || !k.paths.is_inside(l, pc)) {
        continue;
      }
      const std::vector<pc_t> next = k.paths.after(pc);
      const bool leaves = branch.code == op::exit ||
                          std::ranges::any_of(next, [&](pc_t to) { return to < k.paths.size() && !k.paths.is_inside(l, to); });
      for (const pc_t load : leaves ? k.data.deciding_loads({pc, true}) : std::set<pc_t>{}) {
        const instruction& i = k.paths.at(load);
        const bool locks = i.code == op::atomic && i.what == model::operation::compare_exchange && !only_reads(k, i) &&
                           k.data.of(i.by[1]).constant && k.data.of(i.by[2]).constant;
        const std::span<const access> at = k.data.accesses_at(load);
        if (at.empty() || !at[0].reads || !is_global(at[0]) || !k.paths.is_inside(l, load) || !i.strong ||
            (i.code != op::load && !only_reads(k, i) && !locks) || (works && !locks) ||
            k.data.of(i.by[0]).loads.contains(load)) {
          continue;
        }
        if (known.insert({load, pc}).second) {
          result.push_back({load, pc, at[0], &l});
        }
      }
    }
  }
  return result;
}

/// Returns the constant that a write stores. For a compare-and-swap, it is the constant that is stored on success.
std::optional<std::uint64_t> constant_written(const kernel_view& k, const instruction& i) {
  const bool swaps = i.code == op::atomic && i.what == model::operation::compare_exchange;
  const bool sets = i.code == op::store || (i.code == op::atomic && i.what == model::operation::move);
  if ((!sets && !swaps) || i.elements != 1) {
    return std::nullopt;
  }
  const std::optional<std::uint64_t> result = k.data.of(i.by[swaps ? 2 : 1]).constant;
  return result ? std::optional(ptx::truncated(*result, 8 * i.bytes)) : std::nullopt;
}

/// Returns the value in memory after a read-modify-write that reads `old`, if that value is known.
std::optional<std::uint64_t> value_after(const kernel_view& k, const instruction& i, std::uint64_t old) {
  const std::optional<std::uint64_t> first = k.data.of(i.by[1]).constant;
  if (!first || i.elements != 1 || ptx::is_float(i.type)) {
    return std::nullopt;
  }
  const int bits = 8 * i.bytes;
  if (i.what == model::operation::compare_exchange) {
    return ptx::truncated(*first, bits) == old ? constant_written(k, i) : std::optional(old);
  }
  const auto number = [&](std::uint64_t value) { return static_cast<std::int64_t>(ptx::extended(value, i.type)); };
  return ptx::truncated(static_cast<std::uint64_t>(model::apply(i.what, number(old), number(*first))), bits);
}

/// Returns whether the loop ends when its load returns `loaded`, or may end because the condition is not known.
bool may_end_with(const kernel_view& k, const spin& s, std::uint64_t loaded) {
  const instruction& branch = k.paths.at(s.exit);
  const std::optional<bool> holds = k.data.holds_for({s.exit, true}, s.load, loaded);
  const bool if_taken =
      branch.code == op::exit || branch.target >= k.paths.size() || !k.paths.is_inside(*s.waits, branch.target);
  return !holds || *holds == if_taken;
}

/// Returns whether a compare-and-swap between two constants takes a lock that `other` unlocks: `other` restores the value that
/// the compare-and-swap replaced, and every path to it contains a compare-and-swap with these constants.
bool is_unlock(const kernel_view& k, const access& taking, const access& other) {
  const instruction& i = k.paths.at(taking.at);
  const std::optional<std::uint64_t> taken = constant_written(k, i);
  if (i.what != model::operation::compare_exchange || !taken || !k.data.of(i.by[1]).constant ||
      value_after(k, k.paths.at(other.at), *taken) != ptx::truncated(*k.data.of(i.by[1]).constant, 8 * i.bytes)) {
    return false;
  }
  const auto takes = [&](pc_t pc) {
    const instruction& one = k.paths.at(pc);
    const std::span<const access> at = k.data.accesses_at(pc);
    return one.code == op::atomic && one.what == i.what && !at.empty() && may_be_same_word(k, at[0], taking) &&
           constant_written(k, one) == taken && k.data.of(one.by[1]).constant == k.data.of(i.by[1]).constant;
  };
  bool untaken = false;
  k.paths.from_entry([&](pc_t pc) {
    untaken = untaken || pc == other.at;
    return !takes(pc);
  });
  return !untaken;
}

/// Returns whether a write may end the wait: the loop ends when its load returns the written value, or a value that other
/// threads' read-modify-writes compute from it. For example, the write that takes a lock does not end a wait for the lock.
bool may_end(const kernel_view& k, const spin& s, const access& flag) {
  const std::optional<std::uint64_t> written = constant_written(k, k.paths.at(flag.at));
  if (!written || may_end_with(k, s, *written)) {
    return true;
  }
  return std::ranges::any_of(k.data.accesses(), [&](const access& other) {
    const instruction& i = k.paths.at(other.at);
    return (i.code == op::atomic || i.code == op::reduction) && i.what != model::operation::move &&
           may_be_same_word(k, other, flag) && value_after(k, i, *written) != written && !is_unlock(k, flag, other);
  });
}

/// Returns whether the write only takes a lock: it is a compare-and-swap like that of a loop that waits for the lock, and does
/// not end a wait.
bool takes_lock(const kernel_view& k, const std::vector<spin>& spins, const access& flag) {
  const instruction& i = k.paths.at(flag.at);
  const auto is_like_it = [&](const spin& s) {
    const instruction& wait = k.paths.at(s.load);
    return may_be_same_word(k, s.at, flag) && wait.code == op::atomic && wait.what == i.what &&
           constant_written(k, wait) == constant_written(k, i);
  };
  return i.code == op::atomic && i.what == model::operation::compare_exchange && std::ranges::any_of(spins, is_like_it) &&
         std::ranges::none_of(spins, [&](const spin& s) { return may_be_same_word(k, s.at, flag) && may_end(k, s, flag); });
}

/// Returns whether an atomic counts the threads that arrive, and the last of them ends the wait with a write to another field of the same
/// structure. The counter's previous value then decides whether this write is executed, and the first thread does not execute it.
bool is_arrival(const kernel_view& k, const spin& s, const access& counter) {
  const instruction& i = k.paths.at(counter.at);
  if (i.code != op::atomic || i.what == model::operation::compare_exchange || !overlap(s.at.origins, counter.origins)) {
    return false;
  }
  return std::ranges::any_of(k.data.accesses(), [&](const access& flag) {
    if (flag.at == counter.at || !may_be_flag(k, flag) || !may_be_same_word(k, s.at, flag) || !may_end(k, s, flag)) {
      return false;
    }
    return std::ranges::any_of(k.paths.conditions_of(flag.at), [&](const condition& c) {
      return k.paths.guards(c, flag.at) && k.data.deciding_loads(c) == std::set{counter.at} &&
             !k.data.holds_for(c, counter.at, 0).value_or(false);
    });
  });
}

/// Returns the verb for what a write does to a flag.
std::string verb_of(const kernel_view& k, const access& flag) {
  return k.paths.at(flag.at).code == op::store ? "stored" : "updated";
}

std::string fence_that_is_late(const kernel_view& k, pc_t after, bool acquire_side) {
  for (pc_t pc = after + 1; pc < std::min<pc_t>(after + 6, k.paths.size()); ++pc) {
    if (!acquire_side && is_release_fence(k.paths.at(pc))) {
      return "; the fence after the access to the flag is too late";
    }
  }
  for (pc_t pc = after - 1; pc > std::max<pc_t>(after - 6, -1); --pc) {
    if (acquire_side && k.paths.at(pc).code == op::fence) {
      return "; the fence before the load does not order the accesses after the load";
    }
  }
  return "";
}

// ---- what to do about a flag

/// Returns the spelling of an operation in CUDA C++, or in membar if CUDA C++ has no such operation.
std::string spelled(op code, model::operation what, memory_order order, thread_scope scope) {
  const ptx::cuda_spelling in = ptx::in_cuda(code, what, order, scope);
  return in.cuda.empty() ? in.membar : in.cuda;
}

/// Returns advice on how an access to a flag can acquire or release with a scope of at least `least`. `fence_at` describes
/// where a fence would have the same effect, unless the access itself has too narrow a scope.
std::string order_fix(const kernel_view& k, const access& flag, memory_order order, const std::string& fence_at,
                      thread_scope least = thread_scope::block) {
  const instruction& i = k.paths.at(flag.at);
  const bool names_scope = i.text.find("volatile") == std::string::npos;
  const thread_scope scope = std::max(names_scope ? i.scope : thread_scope::device, least);
  const bool both = i.code == op::atomic && (order == acquire ? releases(i.order) : acquires(i.order));
  const std::string access = is_packet(i) ? "" : spelled(i.code, i.what, both ? acq_rel : order, scope);
  const std::string fence = "execute " + spelled(op::fence, {}, order, scope) + " " + fence_at;
  const bool is_narrow = names_scope && i.scope < least;
  return (access.empty() ? fence : "use " + access + (is_narrow ? "" : ", or " + fence)) +
         (names_scope ? "" : "; use system scope if another device or the host takes part");
}

std::string scope_word(thread_scope scope) { return std::string(ptx::word_for(ptx::cuda_scope_words, scope)) + " scope"; }

/// Returns whether the instruction acquires only for the threads of its block or cluster.
bool is_narrow_acquire(const instruction& i) {
  return !is_wide(i) && acquires(i.order) &&
         (i.code == op::fence || ((i.code == op::load || i.code == op::atomic) && i.strong)) &&
         i.mbarrier == mbarrier_op::none && !i.restricted;
}
bool is_narrow_release_fence(const instruction& i) {
  return i.code == op::fence && !is_wide(i) && releases(i.order) && !i.restricted;
}

/// Returns whether a comparison of block numbers decides which blocks execute the instruction.
bool is_of_some_blocks(const kernel_view& k, pc_t pc) {
  return std::ranges::any_of(k.paths.conditions_of(pc),
                             [&](const condition& c) { return (k.data.numbers_compared(c) & value::block) != 0; });
}

/// Of the instructions for which `is` returns true, returns the last one that precedes `to` in the code and has a path to `to`.
/// Returns -1 if there is none.
template <class Is>
pc_t last_before(const kernel_view& k, pc_t to, Is is) {
  const std::vector<bool> leads = leading_to(k, to, [](const instruction&) { return false; });
  for (pc_t pc = to - 1; pc >= 0; --pc) {
    if (is_in(leads, pc) && is(k.paths.at(pc))) {
      return pc;
    }
  }
  return -1;
}

// ---- flags

/// Returns whether the kernel reads the index of a thread in its block.
bool reads_thread_number(const kernel_view& k) {
  for (pc_t pc = 0; pc < k.paths.size(); ++pc) {
    const instruction& i = k.paths.at(pc);
    const bool reads = std::any_of(i.by.begin(), i.by.begin() + i.sources, [&](const ptx::source_operand& o) {
      return o.kind == ptx::source_operand::kind_t::special && (k.data.of(o).varies & value::thread) != 0;
    });
    if (reads || i.code == op::elect || i.code == op::active_mask) {
      return true;
    }
  }
  return false;
}

/// Returns whether every thread of the block stores the same value to the same flag, so that the first thread sets it for all.
bool is_stored_by_all(const kernel_view& k, const access& flag) {
  const instruction& i = k.paths.at(flag.at);
  return i.code == op::store && i.sources == 2 && (k.data.of(i.by[0]).varies & value::thread) == 0 &&
         (k.data.of(i.by[1]).varies & (value::thread | value::loaded)) == 0;
}

/// Returns whether every thread that executes the write has already performed an exchange or a compare-and-swap on the same
/// memory, as with a lock that each thread takes and unlocks.
bool unlocks_own(const kernel_view& k, const access& flag) {
  bool untaken = false;
  k.paths.from_entry([&](pc_t pc) {
    const instruction& i = k.paths.at(pc);
    const std::span<const access> at = k.data.accesses_at(pc);
    const bool takes = i.code == op::atomic &&
                       (i.what == model::operation::compare_exchange || i.what == model::operation::move) && pc != flag.at &&
                       !at.empty() && at[0].origins == flag.origins && !selects_some(k, pc);
    untaken = untaken || pc == flag.at;
    return !takes;
  });
  return !untaken;
}

/// The threads that write data before a flag: only those that set the flag, several threads that another condition selects, or
/// the whole block.
enum class writers : unsigned char { the_same, some, all };

/// A write of data, with the properties that do not depend on the flag.
struct data_write {
  access at;
  std::vector<condition> selecting;  ///< the conditions that select the threads that execute the write
  bool by_one = false;
  /// whether the kernel also reads through this pointer, or the pointer was loaded from memory, as pointers to other devices
  /// often are
  bool handed_over = false;
};

std::vector<data_write> data_writes_of(const kernel_view& k) {
  std::vector<data_write> result;
  for (const access& a : k.data.accesses()) {
    if (!is_data_write(k, a)) {
      continue;
    }
    data_write one{a, k.paths.conditions_of(a.at), false, is_read(k, a)};
    std::erase_if(one.selecting, [&](const condition& c) { return !k.data.selects_some(c) || !k.paths.guards(c, a.at); });
    one.by_one = std::ranges::any_of(one.selecting, [&](const condition& c) { return k.data.selects_one(c); });
    one.handed_over =
        one.handed_over || std::ranges::any_of(a.origins, [](const origin& o) { return o.kind == origin::kind_t::table; });
    result.push_back(std::move(one));
  }
  return result;
}

writers writers_of(const kernel_view& k, const data_write& data, const std::vector<condition>& of_flag) {
  const auto is_different = [&](const condition& c) {
    return std::ranges::any_of(of_flag, [&](const condition& f) { return k.data.select_different(c, f); });
  };
  if (std::ranges::any_of(data.selecting, is_different)) {
    return writers::some;
  }
  const auto is_common = [&](const condition& c) {
    return std::ranges::any_of(of_flag, [&](const condition& f) { return f.at == c.at && f.taken == c.taken; });
  };
  return data.by_one || std::ranges::any_of(data.selecting, is_common) ? writers::the_same
         : data.selecting.empty()                                      ? writers::all
                                                                       : writers::some;
}

/// Returns true if only some blocks set the flag and a barrier in between is also executed by only some blocks. In that case,
/// the paths around the barrier may belong to the other blocks.
bool meets_in_some_blocks(const kernel_view& k, const access& data, const access& flag, const std::vector<condition>& of_flag) {
  const auto of_blocks = [&](const condition& c) { return (k.data.numbers_compared(c) & value::block) != 0; };
  if (std::ranges::none_of(of_flag, of_blocks)) {
    return false;
  }
  std::vector<bool> after(static_cast<std::size_t>(k.paths.size()), false);
  k.paths.forward(data.at, [&](pc_t pc) { return after[static_cast<std::size_t>(pc)] = true; });
  const std::vector<bool> before = leading_to(k, flag.at, [](const instruction&) { return false; });
  for (pc_t pc = 0; pc < k.paths.size(); ++pc) {
    if (is_block_barrier(k.paths.at(pc)) && is_in(after, pc) && is_in(before, pc) &&
        std::ranges::any_of(k.paths.conditions_of(pc), of_blocks)) {
      return true;
    }
  }
  return false;
}

/// A flag that is stored too early.
struct early_flag {
  warning found;
  pc_t first_data = 0;  ///< the first of the data writes that give the warning its confidence
};

/// If several flags are set for the same data without a barrier in between, keeps only the warning about the last of these
/// flags, because only one barrier is missing.
void drop_earlier_flags(const kernel_view& k, std::vector<early_flag>& found) {
  const std::vector<early_flag> all = found;
  std::erase_if(found, [&](const early_flag& one) {
    return std::ranges::any_of(all, [&](const early_flag& later) {
      return later.found.at > one.found.at && later.found.sure >= one.found.sure && later.first_data == one.first_data &&
             is_in(leading_to(k, later.found.at, is_block_barrier), one.found.at);
    });
  });
}

/// A data write for which a flag is stored too early.
struct early_data {
  const data_write* data = nullptr;
  writers by = writers::all;
  bool sure = false;
};

/// Returns the data writes of other threads that may follow a flag although the flag signals that they are complete.
std::vector<early_data> early_data_of(const kernel_view& k, const access& flag, const std::vector<data_write>& all_data,
                                      bool only_tells) {
  std::vector<condition> conditions = k.paths.conditions_of(flag.at);
  std::erase_if(conditions, [&](const condition& c) { return !k.paths.guards(c, flag.at); });
  const std::vector<bool> not_met = leading_to(k, flag.at, is_block_barrier);
  const std::vector<bool> not_met_in_warp =
      leading_to(k, flag.at, [](const instruction& i) { return is_block_barrier(i) || i.code == op::warp_barrier; });
  const std::vector<bool> not_fenced = leading_in_thread(k, flag.at, is_release_fence);
  const bool fences = releases(k.paths.at(flag.at).order);
  std::vector<early_data> result;
  for (const data_write& data : all_data) {
    const pc_t at = data.at.at;
    if (!is_in(not_met, at) || (!fences && is_in(not_fenced, at))) {
      continue;  // the flag does not publish this data, or another rule reports what is missing
    }
    const writers by = writers_of(k, data, conditions);
    const bool warps_alone = !is_in(not_met_in_warp, at);  // each warp may have its own data and flag
    if (by == writers::the_same || (by == writers::some && warps_alone)) {
      continue;
    }
    const bool sure = by == writers::all && !warps_alone && !overlap(data.at.origins, flag.origins) &&
                      (only_tells || data.handed_over) && !is_packet(k.paths.at(flag.at)) &&
                      !meets_in_some_blocks(k, data.at, flag, conditions);
    result.push_back({&data, by, sure});
  }
  return result;
}

/// Returns a warning about a flag if any data write causes one. If several writes cause one, the warning names a write with the
/// highest confidence. Among these, it prefers writes of data that a kernel of the module reads, and then the write nearest
/// before the flag.
std::optional<early_flag> find_early_flag(const kernel_view& k, const access& flag, const std::vector<data_write>& all_data,
                                          bool only_tells) {
  std::vector<early_data> all = early_data_of(k, flag, all_data, only_tells);
  if (all.empty()) {
    return std::nullopt;
  }
  const bool sure = std::ranges::any_of(all, &early_data::sure);
  std::erase_if(all, [&](const early_data& d) { return d.sure != sure; });
  const auto rank = [&](const early_data& d) {
    const access& at = d.data->at;
    return std::tuple(is_read(k, at) || (k.read_in_module && k.read_in_module(at.origins)), at.at < flag.at, at.at);
  };
  const early_data& named = *std::ranges::max_element(all, {}, rank);
  const std::string who = named.by == writers::all ? "all" : "other";
  return early_flag{
      {"flag-before-barrier",
       sure ? confidence::high : confidence::medium,
       "a flag is " + verb_of(k, flag) + " after " + who +
           " threads of the block write data, but without a barrier in between: the flag may be seen before the data",
       flag.at,
       {{named.data->at.at, "the data that " + who + " threads write"}}},
      all.front().data->at.at};
}

void flag_before_barrier(const kernel_view& k, std::vector<warning>& out) {
  if (k.paths.code().most_threads == 1) {
    return;
  }
  std::optional<std::vector<data_write>> data;
  const std::vector<spin> spins = spins_of(k);
  const bool only_tells = spins.empty();
  std::vector<early_flag> all;
  for (const access& flag : k.data.accesses()) {
    if (!may_be_flag(k, flag) || (!selects_some(k, flag.at) && (!is_stored_by_all(k, flag) || unlocks_own(k, flag))) ||
        takes_lock(k, spins, flag)) {
      continue;
    }
    if (!data) {
      data = data_writes_of(k);
    }
    if (std::optional<early_flag> found = find_early_flag(k, flag, *data, only_tells)) {
      all.push_back(std::move(*found));
    }
  }
  drop_earlier_flags(k, all);
  if (!all.empty() && !reads_thread_number(k)) {  // probably launched with one thread per block
    for (auto& [w, data_of_flag] : all) {
      w.sure = confidence::note;
      w.text =
          "if a block has several threads, each of them writes data and sets a flag without a barrier in between: the flag "
          "may be seen before the data of the other threads";
      w.fix = "launch the kernel with one thread per block, or put __syncthreads() between the data and the flag";
    }
  }
  for (early_flag& one : all) {
    out.push_back(std::move(one.found));
  }
}

/// The instructions that a thread executes between the load of a loop that waits and the next acquiring fence or access.
struct before_acquire {
  bool leaves = false;  ///< whether a thread can leave the loop before it acquires
  /// the instructions inside the loop that a thread executes only after the load has ended the wait, such as those under a lock
  std::vector<bool> inside;
};

before_acquire before_acquire_of(const kernel_view& k, const spin& s) {
  const auto is_outside = [&](pc_t pc) { return pc >= k.paths.size() || !k.paths.is_inside(*s.waits, pc); };
  const auto is_load = [&](pc_t pc) { return pc == s.load; };
  before_acquire result;
  std::vector<bool> follows(static_cast<std::size_t>(k.paths.size()), false);
  k.of_one_thread().forward(s.load, [&](pc_t pc, const std::vector<pc_t>& next) {
    follows[static_cast<std::size_t>(pc)] = true;
    result.leaves =
        result.leaves || (pc == s.exit && (k.paths.at(pc).code == op::exit || std::ranges::any_of(next, is_outside)));
    return !is_load(pc) && !is_acquire(k.paths.at(pc));
  });
  result.inside.resize(follows.size());
  for (const pc_t next : k.paths.after(s.exit)) {
    if (next < k.paths.size() && is_outside(next)) {
      k.of_one_thread().backward(next, [&](pc_t pc) {
        const auto waits_for_load = [&](const condition& c) {
          return c.at != pc && k.data.deciding_loads(c).contains(s.load) && k.paths.guards(c, pc);
        };
        result.inside[static_cast<std::size_t>(pc)] = is_in(follows, pc) && !is_outside(pc) && !is_load(pc) &&
                                                      std::ranges::any_of(k.paths.conditions_of(pc), waits_for_load);
        return !is_load(pc) && !is_outside(pc);
      });
    }
  }
  return result;
}

/// Returns the instructions that can run after another acquire, which follows the loop in the same iteration of an outer loop.
/// A different thread may execute that acquire, or it may be on a different path. The data that these instructions read may
/// have been handed over through it.
std::vector<bool> after_other_acquires(const kernel_view& k, const spin& s) {
  std::vector<bool> result(static_cast<std::size_t>(k.paths.size()), false);
  const auto is_next_round = [&](pc_t pc) { return k.paths.is_inside(*s.waits, pc) || k.paths.dominates(pc, s.load); };
  k.paths.forward(s.exit, [&](pc_t pc) {
    if (is_next_round(pc)) {
      return false;
    }
    if (is_acquire(k.paths.at(pc)) && !is_in(result, pc)) {
      k.paths.forward(pc, [&](pc_t next) {
        const bool again = is_next_round(next);
        result[static_cast<std::size_t>(next)] = result[static_cast<std::size_t>(next)] || !again;
        return !again;
      });
    }
    return true;
  });
  return result;
}

/// Returns an acquire with block or cluster scope that is on every path from the loop's load to `read`; it may be the load
/// itself.
std::optional<pc_t> narrow_acquire(const kernel_view& k, const spin& s, pc_t read) {
  if (is_narrow_acquire(k.paths.at(s.load))) {
    return s.load;
  }
  const pc_t last = last_before(k, read, is_narrow_acquire);
  return last >= 0 && !is_in(leading_to(k, read, is_narrow_acquire), s.load) ? std::optional(last) : std::nullopt;
}

void spin_without_acquire(const kernel_view& k, std::vector<warning>& out) {
  const std::vector<spin> spins = spins_of(k);
  if (spins.empty()) {
    return;
  }
  // The origins of written data. The origins of data that a single thread of the grid writes are separate, because that thread
  // needs no acquire to read its own data.
  std::set<origin> written;
  std::set<origin> written_by_one;
  for (const access& a : k.data.accesses()) {
    if (is_data_write(k, a) && !is_beside_flag(k, a)) {
      std::set<origin>& by = is_of_one_thread(k, a.at) ? written_by_one : written;
      by.insert(a.origins.begin(), a.origins.end());
    }
  }
  std::set<pc_t> told;
  for (const spin& s : spins) {
    if (is_acquire(k.paths.at(s.load)) || told.contains(s.load)) {
      continue;
    }
    const before_acquire unordered = before_acquire_of(k, s);
    const std::vector<bool> later = after_other_acquires(k, s);
    std::optional<access> read;
    bool sure = false;
    const auto look_at = [&](pc_t pc) {
      for (const access& a : k.data.accesses_at(pc)) {
        if (a.reads && is_global(a) && is_weak(k, a) && !k.paths.at(pc).non_coherent && !sure) {
          sure = !is_in(later, pc) && !is_packet(k.paths.at(s.load)) &&
                 (overlap(a.origins, written) || (overlap(a.origins, written_by_one) && !is_of_one_thread(k, a.at)));
          read = !read || sure ? std::optional(a) : read;
        }
      }
    };
    for (pc_t pc = 0; pc < k.paths.size(); ++pc) {
      if (is_in(unordered.inside, pc)) {
        look_at(pc);
      }
    }
    if (unordered.leaves) {
      k.of_one_thread().forward(s.exit, [&](pc_t pc, const std::vector<pc_t>&) {
        if (is_acquire(k.paths.at(pc))) {
          return false;
        }
        look_at(pc);
        return true;
      });
    }
    if (!read) {
      continue;
    }
    const std::string place = is_in(unordered.inside, read->at) ? "after the wait" : "after the loop";
    told.insert(s.load);
    const auto narrow = narrow_acquire(k, s, read->at);
    if (narrow) {
      const bool other_blocks = is_of_some_blocks(k, s.load);
      out.push_back({"spin-without-acquire",
                     sure && other_blocks ? confidence::high : confidence::medium,
                     "the loop waits for a flag, but the acquire has " + scope_word(k.paths.at(*narrow).scope) +
                         ": if another block sets the flag, the loads " + place + " may read old data",
                     s.load,
                     {{*narrow, "the acquire"}, {read->at, "the load " + place}},
                     order_fix(k, s.at, acquire, place, thread_scope::device)});
      continue;
    }
    out.push_back({"spin-without-acquire",
                   sure ? confidence::high : confidence::medium,
                   "the loop waits for a flag without an acquire: the loads " + place + " may read old data" +
                       fence_that_is_late(k, s.load, true),
                   s.load,
                   {{read->at, "the load " + place}},
                   order_fix(k, s.at, acquire, place)});
  }
}

void spin_without_load(const kernel_view& k, std::vector<warning>& out) {
  for (const ptx::endless_loop& l : ptx::endless_loops(k.paths.code())) {
    const std::span<const access> at = l.load < 0 ? std::span<const access>{} : k.data.accesses_at(l.load);
    if (at.empty()) {
      continue;
    }
    const bool shared = at[0].space == state_space::shared;
    const ptx::cuda_spelling load =
        ptx::in_cuda(op::load, model::operation::move, acquire, shared ? thread_scope::block : thread_scope::device);
    const std::string through = at[0].origins.empty() ? "" : " through " + k.data.name_of(*at[0].origins.begin());
    out.push_back({"spin-without-load",
                   l.has_condition ? confidence::high : confidence::medium,
                   "the loop waits for a value that is loaded" + through +
                       " only once, before the loop, because the compiler moves plain loads out of loops",
                   l.jump,
                   {{l.load, "the load before the loop"}},
                   "poll with " + load.cuda + " or " + load.membar});
  }
}

/// Returns whether two accesses certainly use the same pointer. Pointers from a table may differ.
bool is_surely_same(const access& a, const access& b) {
  return std::ranges::any_of(a.origins,
                             [&](const origin& o) { return o.kind != origin::kind_t::table && b.origins.contains(o); });
}

/// Returns the warning about a flag that is stored after data without a release at device scope, or about a counter that decides which thread
/// sets the flag.
warning unreleased_flag(const kernel_view& k, const access& flag, const access& data, bool sure, bool counts) {
  const std::string word = counts ? "counter" : "flag";
  const std::string waits = counts ? "the last thread to update this counter sets a flag that other threads wait for"
                                   : "another thread waits for this flag";
  const pc_t narrow = last_before(k, flag.at, is_narrow_release_fence);
  if (narrow >= 0 && !is_in(leading_to(k, flag.at, is_narrow_release_fence), data.at)) {
    return {"flag-without-release",
            sure && is_of_some_blocks(k, flag.at) ? confidence::high : confidence::medium,
            waits + ", but the fence before the " + word + " has " + scope_word(k.paths.at(narrow).scope) +
                ": a thread of another block may see the flag before the data written earlier",
            flag.at,
            {{narrow, "the fence"}, {data.at, "the data written earlier"}},
            order_fix(k, flag, release, "before the " + word, thread_scope::device)};
  }
  return {"flag-without-release",
          sure ? confidence::high : confidence::medium,
          waits + ", but the " + word + " is " + verb_of(k, flag) + " without a release: " + (counts ? "they" : "that thread") +
              " may see the flag before the data written earlier" + fence_that_is_late(k, flag.at, false),
          flag.at,
          {{data.at, "the data written earlier"}},
          order_fix(k, flag, release, "before the " + word)};
}

/// Returns whether a data write and a flag are different fields of a structure, and other threads read the data after waiting.
/// They do if a weak load of this field follows a wait for the flag, no strong operation accesses the field, and the writing thread has not
/// read the field before.
bool is_handed_over_beside(const kernel_view& k, const access& data, const access& flag, const std::vector<spin>& waits) {
  const auto is_same_field = [&](const access& a) {
    return is_global(a) && a.origins == data.origins && a.displacement == data.displacement;
  };
  const bool is_field = data.displacement && flag.displacement && data.displacement != flag.displacement;
  bool handed_over = false;
  for (const access& a : k.data.accesses()) {
    if (!is_field || !overlap(a.origins, data.origins) || !is_global(a)) {
      continue;
    }
    if (k.paths.at(a.at).strong && (!a.displacement || is_same_field(a))) {
      return false;
    }
    if (a.reads && is_weak(k, a) && is_same_field(a)) {
      if (k.paths.dominates(a.at, data.at)) {
        return false;
      }
      handed_over = handed_over || std::ranges::any_of(waits, [&](const spin& s) {
                      return s.at.displacement == flag.displacement && k.paths.reaches(s.exit, a.at);
                    });
    }
  }
  return handed_over;
}

void flag_without_release(const kernel_view& k, std::vector<warning>& out) {
  const std::vector<spin> spins = spins_of(k);
  for (const access& flag : k.data.accesses()) {
    const instruction& i = k.paths.at(flag.at);
    if (!may_be_flag(k, flag) || releases(i.order)) {
      continue;
    }
    std::vector<spin> ended = spins;
    std::erase_if(ended,
                  [&](const spin& s) { return s.load == flag.at || !may_be_same_word(k, s.at, flag) || !may_end(k, s, flag); });
    const bool counts = ended.empty();
    if (counts) {
      std::ranges::copy_if(spins, std::back_inserter(ended), [&](const spin& s) { return is_arrival(k, s, flag); });
    }
    if (ended.empty()) {
      continue;
    }
    const bool known = std::ranges::any_of(ended, [&](const spin& s) { return is_surely_same(s.at, flag); });
    const std::vector<bool> not_fenced = leading_in_thread(k, flag.at, is_release_fence);
    const bool hands_over = !is_packet(i) && !(i.code == op::atomic && acquires(i.order));
    // Prefers data that makes the warning certain and, among several data writes, the one nearest before the flag.
    std::tuple<bool, bool, pc_t> best{false, false, -1};
    const access* named = nullptr;
    for (const access& data : k.data.accesses()) {
      if (!is_data_write(k, data) || !is_in(not_fenced, data.at) ||
          (overlap(data.origins, flag.origins) && !is_handed_over_beside(k, data, flag, ended))) {
        continue;
      }
      const bool sure = known && hands_over && is_read(k, data) && !is_beside_flag(k, data) && !is_of_one_thread(k, data.at);
      if (const std::tuple rank(sure, data.at < flag.at, data.at); rank > best) {
        best = rank;
        named = &data;
      }
    }
    if (named != nullptr) {
      out.push_back(unreleased_flag(k, flag, *named, std::get<0>(best), counts));
    }
  }
}

void last_block_without_acquire(const kernel_view& k, std::vector<warning>& out) {
  std::set<pc_t> told;
  for (const spin& s : spins_of(k)) {  // a loop that waits does not count, and has a rule of its own
    told.insert(s.load);
  }
  for (const access& read : k.data.accesses()) {
    if (!read.reads || !is_global(read) || !is_weak(k, read) || k.paths.at(read.at).non_coherent) {
      continue;
    }
    for (const condition& c : k.paths.conditions_of(read.at)) {
      for (const pc_t counted : k.data.deciding_loads(c)) {
        const instruction& i = k.paths.at(counted);
        if (i.code != op::atomic || is_acquire(i) || i.space == state_space::shared || told.contains(counted) ||
            i.what == model::operation::compare_exchange) {
          continue;
        }
        const std::span<const access> counter = k.data.accesses_at(counted);
        const bool handed_over = std::ranges::any_of(k.data.accesses(), [&](const access& w) {
          return is_data_write(k, w) && overlap(w.origins, read.origins) && k.paths.reaches(w.at, counted);
        });
        if (counter.empty() || !is_global(counter[0]) || overlap(counter[0].origins, read.origins) || !handed_over ||
            !is_in(leading_in_thread(k, read.at, is_acquire), counted)) {
          continue;
        }
        told.insert(counted);
        const pc_t narrow = last_before(k, read.at, is_narrow_acquire);
        const bool is_narrow = narrow >= 0 && !is_in(leading_to(k, read.at, is_narrow_acquire), counted);
        warning found{"last-block-without-acquire",
                      k.data.is_compared_with_limit(counted) ? confidence::medium : confidence::high,
                      "the last block to finish, as determined by a counter, reads what the other blocks wrote, but " +
                          (is_narrow ? "its acquire has " + scope_word(k.paths.at(narrow).scope) : "without an acquire") +
                          ": it may read old data",
                      counted,
                      {{read.at, "the load"}},
                      order_fix(k, counter[0], acquire, "after the counter", thread_scope::device)};
        if (is_narrow) {
          found.related.insert(found.related.begin(), {narrow, "the acquire"});
        }
        out.push_back(std::move(found));
      }
    }
  }
}

void narrow_scope(const kernel_view& k, std::vector<warning>& out) {
  for (const access& narrow : k.data.accesses()) {
    const instruction& i = k.paths.at(narrow.at);
    if (!is_global(narrow) || !i.strong || i.scope == thread_scope::system || narrow.asynchronous) {
      continue;
    }
    const auto wide = std::ranges::find_if(k.data.accesses(), [&](const access& a) {
      const instruction& other = k.paths.at(a.at);
      const bool meant = other.order != relaxed || other.code == op::atomic || other.code == op::reduction;
      return !a.asynchronous && other.strong && meant && other.scope == thread_scope::system &&
             overlap(a.origins, narrow.origins);
    });
    if (wide != k.data.accesses().end()) {
      out.push_back({"narrow-scope",
                     confidence::medium,
                     "the kernel accesses the same memory at system scope elsewhere; this access has a narrower scope, which "
                     "does not include other devices or the host",
                     narrow.at,
                     {{wide->at, "the access at system scope"}}});
      return;
    }
  }
}

// ---- proxies

void missing_proxy_fence(const kernel_view& k, std::vector<warning>& out) {
  const auto is_fence = [](const instruction& i) { return i.code == op::proxy_fence; };
  for (const access& copy : k.data.accesses()) {
    if (!copy.asynchronous || !copy.reads || k.paths.at(copy.at).text.find("bulk") == std::string::npos ||
        copy.origins.empty()) {
      continue;
    }
    const std::vector<bool> not_fenced = leading_to(k, copy.at, is_fence);
    for (const access& write : k.data.accesses()) {
      if (!write.writes || write.asynchronous || write.space != copy.space || !overlap(write.origins, copy.origins) ||
          !is_in(not_fenced, write.at)) {
        continue;
      }
      const bool one_variable = copy.space == state_space::shared && copy.origins.size() == 1 &&
                                copy.origins.begin()->number != static_cast<std::int64_t>(ptx::dynamic_offset);
      out.push_back({"missing-proxy-fence",
                     one_variable ? confidence::high : confidence::medium,
                     "an asynchronous copy reads data written by ordinary stores, without a fence.proxy.async in between: it "
                     "may copy old data",
                     copy.at,
                     {{write.at, "the store"}}});
      break;
    }
  }
}

// ---- clusters

void cluster_exit(const kernel_view& k, std::vector<warning>& out) {
  for (const access& a : k.data.accesses()) {
    const instruction& i = k.paths.at(a.at);
    if (!is_memory(i) || (k.data.of(i.by[0]).varies & value::remote) == 0) {
      continue;
    }
    bool leaves = false;
    k.paths.forward(a.at, [&](pc_t pc) {
      const instruction& other = k.paths.at(pc);
      leaves = leaves || other.code == op::exit || pc + 1 == k.paths.size();
      return other.code != op::cluster_wait;
    });
    if (leaves) {
      out.push_back({"cluster-exit",
                     confidence::high,
                     "the kernel accesses another block's shared memory, and no cluster barrier follows before the kernel "
                     "ends: that block may have exited already",
                     a.at,
                     {}});
      return;
    }
  }
}

void relaxed_cluster_arrival(const kernel_view& k, std::vector<warning>& out) {
  const auto orders = [](const instruction& i) {
    return i.code == op::fence || (i.code == op::cluster_arrive && i.order != relaxed);
  };
  const bool reads_remote = std::ranges::any_of(k.data.accesses(), [&](const access& a) {
    const instruction& i = k.paths.at(a.at);
    return a.reads && is_memory(i) && (k.data.of(i.by[0]).varies & value::remote) != 0;
  });
  for (pc_t pc = 0; reads_remote && pc < k.paths.size(); ++pc) {
    if (k.paths.at(pc).code != op::cluster_arrive || k.paths.at(pc).order != relaxed) {
      continue;
    }
    const std::vector<bool> not_ordered = leading_to(k, pc, orders);
    for (const access& write : k.data.accesses()) {
      if (write.writes && write.space == state_space::shared && is_weak(k, write) && is_in(not_ordered, write.at)) {
        out.push_back(
            {"relaxed-cluster-arrival",
             confidence::medium,
             "the arrival at the cluster barrier is relaxed, so it does not make earlier writes visible to the other blocks",
             pc,
             {{write.at, "an earlier write"}}});
        return;
      }
    }
  }
}

// ---- read-only data, masks

void read_only_load(const kernel_view& k, std::vector<warning>& out) {
  for (const access& read : k.data.accesses()) {
    if (!k.paths.at(read.at).non_coherent) {
      continue;
    }
    for (const access& write : k.data.accesses()) {
      if (write.writes && is_global(write) && overlap(read.origins, write.origins)) {
        // Without a barrier in between, or only across iterations of a loop, the read and the write usually access different
        // elements.
        const bool handed_over = write.at < read.at &&
                                 is_in(leading_to(k, read.at, [](const instruction&) { return false; }), write.at) &&
                                 !is_in(leading_to(k, read.at, synchronizes), write.at);
        out.push_back({"read-only-load",
                       handed_over ? confidence::high : confidence::medium,
                       "ld.global.nc reads through " + k.data.name_of(*read.origins.begin()) +
                           ", and the kernel writes through the same pointer: ld.global.nc requires data that does not change "
                           "while the kernel runs",
                       read.at,
                       {{write.at, "the write"}}});
        return;
      }
    }
  }
}

void mask_without_caller(const kernel_view& k, std::vector<warning>& out) {
  constexpr std::uint64_t full = 0xffffffff;
  for (pc_t pc = 0; pc < k.paths.size(); ++pc) {
    const instruction& i = k.paths.at(pc);
    const bool has_mask = i.code == op::warp_barrier || i.code == op::shuffle || i.code == op::vote || i.code == op::match ||
                          i.code == op::warp_reduce;
    if (!has_mask || i.sources == 0) {
      continue;
    }
    const std::optional<std::uint64_t> mask = k.data.of(i.by[i.sources - 1U]).constant;
    const std::vector<condition> all = k.paths.conditions_of(pc);
    const bool chosen = std::ranges::any_of(all, [&](const condition& c) { return !k.data.is_uniform(c); });
    if (mask && (*mask & full) != full && !chosen) {
      out.push_back({"mask-without-caller",
                     confidence::medium,
                     "the mask leaves out lanes that may reach this instruction: if a lane executes it with a mask that does "
                     "not contain the lane, the behaviour is undefined",
                     pc,
                     {}});
    }
  }
}

// ---- programmatic dependent launch

}  // namespace

std::vector<access> early_accesses(const kernel_view& k) {
  std::set<pc_t> after_wait;
  std::set<pc_t> skipped;  ///< successors of uniform branches around a wait: the launch decides whether the wait is executed
  bool waits = false;
  for (pc_t pc = 0; pc < k.paths.size(); ++pc) {
    if (k.paths.at(pc).code != op::grid_wait) {
      continue;
    }
    waits = true;
    k.paths.forward(pc, [&](pc_t next) { return after_wait.insert(next).second; });
    for (const condition& c : k.paths.conditions_of(pc)) {
      if (k.data.is_uniform(c) && c.at != pc) {
        const std::vector<pc_t> sides = k.paths.after(c.at);
        if (sides.size() == 2 && k.paths.at(c.at).code == op::branch) {
          skipped.insert(sides[c.taken ? 1 : 0]);
        }
      }
    }
  }
  std::vector<access> result;
  if (!waits) {
    return result;
  }
  std::set<pc_t> early;
  k.paths.from_entry([&](pc_t pc) {
    const instruction& i = k.paths.at(pc);
    const bool meets = (is_block_barrier(i) || i.code == op::warp_barrier) && after_wait.contains(pc);
    // If a thread arrives at an mbarrier after its wait, a test of that mbarrier orders the testing thread after the wait.
    // However, a producer whose stages are all empty begins by testing for parity 1. This test finds that the phase before the
    // first one is complete, and orders nothing.
    const bool phase = i.mbarrier == mbarrier_op::test && !(i.parity && k.data.may_be_odd(i.by[1]));
    if (i.code == op::grid_wait || meets || phase || skipped.contains(pc)) {
      return false;
    }
    early.insert(pc);
    return true;
  });
  std::ranges::copy_if(k.data.accesses(), std::back_inserter(result),
                       [&](const access& a) { return is_global(a) && early.contains(a.at); });
  return result;
}

namespace {

bool has(const kernel_view& k, op code) {
  for (pc_t pc = 0; pc < k.paths.size(); ++pc) {
    if (k.paths.at(pc).code == code) {
      return true;
    }
  }
  return false;
}

void dependent_write_before_wait(const kernel_view& k, std::vector<warning>& out) {
  for (const access& a : early_accesses(k)) {
    if (a.writes) {
      out.push_back(
          {"pdl-write-before-wait",
           confidence::high,
           "global memory is written before griddepcontrol.wait: the preceding kernel may still be reading or writing it",
           a.at,
           {}});
      return;
    }
  }
}

void dependent_read_before_wait(const kernel_view& k, std::vector<warning>& out) {
  std::set<origin> told;
  for (const access& a : early_accesses(k)) {
    if (!a.writes && a.reads && (a.origins.empty() || !std::ranges::includes(told, a.origins))) {
      told.insert(a.origins.begin(), a.origins.end());
      out.push_back({"pdl-read-before-wait",
                     confidence::note,
                     "global memory is read before griddepcontrol.wait" +
                         (a.origins.empty() ? std::string() : " through " + k.data.name_of(*a.origins.begin())) +
                         ": this is correct for weights, but not for data that the preceding kernel writes",
                     a.at,
                     {}});
    }
  }
}

/// Warns about loads that the assembler may move before the wait, because it assumes that data read by `ld.global.nc` does not
/// change while the kernel runs.
void dependent_read_only_load(const kernel_view& k, std::vector<warning>& out) {
  if (!has(k, op::grid_wait)) {
    return;
  }
  std::set<pc_t> early;
  for (const access& a : early_accesses(k)) {
    early.insert(a.at);
  }
  std::set<origin> told;
  for (const access& a : k.data.accesses()) {
    if (k.paths.at(a.at).non_coherent && !early.contains(a.at) && !std::ranges::includes(told, a.origins)) {
      told.insert(a.origins.begin(), a.origins.end());
      out.push_back({"pdl-read-only-load",
                     confidence::note,
                     "ld.global.nc reads through " + k.data.name_of(*a.origins.begin()) +
                         " after griddepcontrol.wait, but the load may be executed before the wait: this is correct for "
                         "weights, but not for data that the preceding kernel writes",
                     a.at,
                     {}});
    }
  }
}

void dependent_launch_without_wait(const kernel_view& k, std::vector<warning>& out) {
  if (has(k, op::grid_wait)) {
    return;
  }
  for (pc_t pc = 0; pc < k.paths.size(); ++pc) {
    const auto global = std::ranges::find_if(k.data.accesses(), is_global);
    if (k.paths.at(pc).code == op::grid_launch && global != k.data.accesses().end()) {
      out.push_back({"pdl-launch-without-wait",
                     confidence::note,
                     "the kernel executes griddepcontrol.launch_dependents but never griddepcontrol.wait: this is correct for "
                     "the first kernel in a chain; if the kernel is itself a programmatic dependent launch, it accesses memory "
                     "too early, and the wait in the next kernel does not cover the kernel before this one",
                     pc,
                     {{global->at, "an access to global memory"}}});
      return;
    }
  }
}

void dependent_never_waits(const kernel_view& k, std::vector<warning>& out) {
  const auto global = std::ranges::find_if(k.data.accesses(), is_global);
  if ((k.most_wait || k.dependent) && !has(k, op::grid_wait) && !has(k, op::grid_launch) && global != k.data.accesses().end()) {
    const std::string why =
        k.dependent ? "the source launches this kernel as a programmatic dependent launch, but the kernel never executes "
                      "griddepcontrol.wait: it accesses memory too early"
                    : "most kernels in this PTX execute griddepcontrol.wait, but this one never does: if it is launched as a "
                      "programmatic dependent launch, it accesses memory too early";
    out.push_back({"pdl-never-waits", confidence::note, why, global->at, {}});
  }
}

}  // namespace

const std::vector<rule>& rules() {
  static const std::vector<rule> all = {
      {"flag-before-barrier", "a flag is set before all threads have written their data",
       "put __syncthreads() between the data and the flag", flag_before_barrier},
      {"spin-without-acquire", "a loop waits for a flag without an acquire", "acquire after the loop with __threadfence()",
       spin_without_acquire},
      {"spin-without-load", "a loop waits for a value that it never loads again", "poll with an atomic load",
       spin_without_load},
      {"flag-without-release", "a flag is set without a release", "release before the flag with __threadfence()",
       flag_without_release},
      {"last-block-without-acquire", "the block that finishes last reads without an acquire",
       "acquire after the counter with __threadfence()", last_block_without_acquire},
      {"narrow-scope", "an access has a narrower scope than another access to the same memory",
       "if other devices or the host take part, access with system scope: cuda::thread_scope_system or "
       "membar::thread_scope::system",
       narrow_scope},
      {"missing-proxy-fence", "an asynchronous copy reads data from ordinary stores without a proxy fence",
       "after the stores and before the barrier, execute cuda::ptx::fence_proxy_async() or "
       "membar::proxy_fence<membar::proxy::async>()",
       missing_proxy_fence},
      {"cluster-exit", "a block may have exited when its shared memory is accessed",
       "synchronize the cluster before its blocks end: cooperative_groups::this_cluster().sync()", cluster_exit},
      {"relaxed-cluster-arrival", "a relaxed arrival publishes data",
       "use an arrival that releases, such as cooperative_groups::this_cluster().barrier_arrive()", relaxed_cluster_arrival},
      {"read-only-load", "ld.global.nc reads memory that the kernel writes",
       "read with an ordinary load: without __ldg(), and without const __restrict__ on the pointer", read_only_load},
      {"mask-without-caller", "a lane may execute an instruction with a mask that does not contain it",
       "use a mask that contains every lane that reaches the instruction, or exclude the other lanes with a condition",
       mask_without_caller},
      {"pdl-write-before-wait", "a kernel writes global memory before griddepcontrol.wait",
       "call cudaGridDependencySynchronize() before the write", dependent_write_before_wait},
      {"pdl-read-before-wait", "a kernel reads global memory before griddepcontrol.wait",
       "if the preceding kernel writes this memory, call cudaGridDependencySynchronize() before the read",
       dependent_read_before_wait},
      {"pdl-read-only-load", "an ld.global.nc may be executed before griddepcontrol.wait",
       "if the preceding kernel writes this memory, read with an ordinary load: without __ldg(), and without const "
       "__restrict__ on the pointer",
       dependent_read_only_load},
      {"pdl-launch-without-wait", "a kernel executes griddepcontrol.launch_dependents without griddepcontrol.wait",
       "if the kernel is launched as a dependent, call cudaGridDependencySynchronize() before its first access to global "
       "memory",
       dependent_launch_without_wait},
      {"pdl-never-waits", "a kernel never executes griddepcontrol.wait, unlike most kernels in the PTX",
       "if the kernel is launched as a dependent, call cudaGridDependencySynchronize() before its first access to global "
       "memory",
       dependent_never_waits},
  };
  return all;
}

}  // namespace membar::lint
