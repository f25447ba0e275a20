// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <check/buffering_cycle.hpp>
#include <check/finding_notes.hpp>
#include <check/machine.hpp>
#include <check/program.hpp>
#include <check/race_notes.hpp>
#include <check/trace.hpp>
#include <membar/model/array.hpp>
#include <ptx/cuda_words.hpp>
#include <ptx/endless_loop.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

namespace membar::check {

namespace {

/// A loop that loads nothing, and a thread in the finding that is in the loop or has executed the load before the loop.
struct empty_poll {
  int thread = -1;
  endless_loop loop{};
};

/// Returns the instruction that a thread is at, or -1 if the thread has ended or was left out.
std::int32_t place_in_code(const program& p, const finding& f, int thread) {
  const instruction* at =
      static_cast<std::size_t>(thread) < f.waiting.size() ? f.waiting[static_cast<std::size_t>(thread)] : nullptr;
  const std::vector<instruction>& code = model::at(p.threads, thread).kernel->code;
  const bool in_kernel = at != nullptr && at >= code.data() && at < code.data() + code.size();
  return in_kernel ? static_cast<std::int32_t>(at - code.data()) : -1;
}

/// Returns the loop in `loops` that concerns thread `t` in this finding, or null. A hang concerns the loop that the thread is
/// in; other findings concern a loop if the thread has executed its load or is about to do so. If the loop may be intentionally
/// endless (`has_condition` is false), the load must be one of the blamed events.
const endless_loop* concerned(const program& p, const finding& f, int t, const std::vector<endless_loop>& loops) {
  const std::int32_t here = place_in_code(p, f, t);
  const auto is_here = [&](const endless_loop& l) { return std::find(l.body.begin(), l.body.end(), here) != l.body.end(); };
  const auto was_loaded = [&](const endless_loop& l) {
    return std::any_of(f.events.begin(), f.events.end(), [&](const trace_event& e) {
      return e.thread == t && e.event.pc == l.load && e.event.kind == model::event_kind::read && (e.blamed || l.has_condition);
    });
  };
  const bool hangs = f.status == check_status::hang;
  const auto found = std::find_if(loops.begin(), loops.end(), [&](const endless_loop& l) {
    return hangs ? is_here(l) : l.load >= 0 && (l.load == here || was_loaded(l));
  });
  return found == loops.end() ? nullptr : &*found;
}

empty_poll empty_poll_of(const program& p, const finding& f) {
  std::set<int> threads;
  for (const trace_event& e : f.events) {
    if (e.blamed) {
      threads.insert(e.thread);
    }
  }
  for (std::size_t t = 0; t < f.waiting.size(); ++t) {
    if (f.waiting[t] != nullptr && (f.status == check_status::hang || f.status == check_status::undefined)) {
      threads.insert(static_cast<int>(t));
    }
  }
  std::map<const kernel_code*, std::vector<endless_loop>> loops;
  for (const int t : threads) {
    const thread_context& c = model::at(p.threads, t);
    if (c.kernel == nullptr || c.copies_of >= 0 || c.where.host) {
      continue;
    }
    const auto [known, is_new] = loops.try_emplace(c.kernel);
    if (is_new) {
      known->second = endless_loops(*c.kernel);
    }
    if (const endless_loop* l = concerned(p, f, t, known->second)) {
      return {t, *l};
    }
  }
  return {};
}

/// Returns the scope with which threads should access a memory object: system scope if the scenario declares the object in host
/// memory.
thread_scope scope_for(const program& p, std::uint64_t address) {
  const bool host = std::any_of(p.memory.begin(), p.memory.end(), [&](const memory_object& o) {
    return o.host && address >= o.address && address - o.address < o.bytes;
  });
  return host ? thread_scope::system : thread_scope::device;
}

/// Returns the scope for a loop's load.
thread_scope scope_for(const program& p, const finding& f, const empty_poll& poll) {
  for (const trace_event& e : f.events) {
    if (e.thread == poll.thread && e.event.pc == poll.loop.load) {
      return machine::is_shared(e.event.address) ? thread_scope::block : scope_for(p, e.event.address);
    }
  }
  const bool shared = poll.loop.load >= 0 &&
                      model::at(model::at(p.threads, poll.thread).kernel->code, poll.loop.load).space == state_space::shared;
  return shared ? thread_scope::block : thread_scope::device;
}

void add_remedy(thread_scope scope, std::vector<std::string>& notes) {
  const cuda_spelling load = in_cuda(op::load, model::operation::move, memory_order::acquire, scope);
  notes.push_back("poll with " + load.cuda + " or " + load.membar);
  notes.push_back("volatile also keeps the load in the loop, but it does not order what is read afterwards");
}

/// Returns whether a kernel reads its parameter at a byte offset.
bool reads_parameter(const kernel_code& kernel, std::uint64_t offset) {
  return std::any_of(kernel.code.begin(), kernel.code.end(), [&](const instruction& i) {
    const std::uint64_t from = i.by[0].low + static_cast<std::uint64_t>(i.offset);
    const bool is_known = i.by[0].kind == source_operand::kind_t::constant;
    return i.code == op::load_param &&
           (!is_known || (from <= offset && offset < from + std::uint64_t{i.bytes} * i.destinations));
  });
}

/// Looks for a parameter that a thread's kernel never reads, although it points to memory that other threads in the finding
/// write. Returns the address of this memory, or 0 if there is no such parameter.
std::uint64_t ignored_memory(const finding& f, int thread, const thread_context& c) {
  for (int k = 0; k < model::count_of(c.kernel->parameters); ++k) {
    const std::uint64_t offset = model::at(c.kernel->parameter_offsets, k);
    std::uint64_t address = 0;
    if (model::at(c.kernel->parameters, k).bytes != 8 || offset + 8 > c.parameters.size() ||
        reads_parameter(*c.kernel, offset)) {
      continue;
    }
    std::memcpy(&address, c.parameters.data() + offset, 8);
    if (std::any_of(f.events.begin(), f.events.end(), [&](const trace_event& e) {
          return e.event.kind == model::event_kind::write && e.thread != thread && e.event.address == address;
        })) {
      return address;
    }
  }
  return 0;
}

/// Adds a note if a racing thread ignores memory that another thread writes. Such a note explains a poll with a plain load in a
/// device function: the compiler may assume that the polling loop ends, and may therefore remove it.
void add_ignored_memory(const program& p, const finding& f, std::vector<std::string>& notes) {
  for (const trace_event& e : f.events) {
    const thread_context& c = model::at(p.threads, e.thread);
    if (!e.blamed || f.status != check_status::race || c.copies_of >= 0 || c.where.host) {
      continue;
    }
    if (const std::uint64_t address = ignored_memory(f, e.thread, c); address != 0) {
      const std::string name = place_text(p, address);
      notes.push_back(c.kernel->name + " never accesses " + name +
                      ", one of its arguments: if the source polls it with a plain load, the compiler has removed the loop");
      add_remedy(scope_for(p, address), notes);
      return;
    }
  }
}

void add_poll_notes(const program& p, const finding& f, std::vector<std::string>& notes) {
  const empty_poll poll = empty_poll_of(p, f);
  if (poll.thread < 0) {
    return add_ignored_memory(p, f, notes);
  }
  const std::vector<instruction>& code = model::at(p.threads, poll.thread).kernel->code;
  const auto place = [&](std::int32_t pc) { return place_of(p, poll.thread, model::at(code, pc)); };
  const std::string loop = place(poll.loop.jump);
  const bool known = poll.loop.load >= 0;
  const std::string load = !known                          ? "a plain load"
                           : place(poll.loop.load) == loop ? "its plain load"
                                                           : "the plain load at " + place(poll.loop.load);
  notes.push_back("the loop at " + loop +
                  " loads nothing: " + (poll.loop.has_condition ? "" : "if it polls memory in the source, ") +
                  "the compiler has moved " + load + " out of it" + (known ? "" : " or removed the load"));
  add_remedy(scope_for(p, f, poll), notes);
}

/// Returns whether the instruction of a read also reads a different address, which a thread wrote before this read. It then
/// probably reads elements of an array that threads fill.
bool reads_filled_elements(const finding& f, const trace_event& read) {
  return std::any_of(f.events.begin(), f.events.end(), [&](const trace_event& e) {
    const auto wrote = [&](const trace_event& w) {
      return w.event.kind == model::event_kind::write && w.event.address == e.event.address && &w < &read;
    };
    return e.at == read.at && e.event.kind == model::event_kind::read && e.event.address != read.event.address &&
           std::any_of(f.events.begin(), f.events.end(), wrote);
  });
}

/// Returns whether any event of the finding writes bytes that `read` reads.
bool is_written(const finding& f, const trace_event& read) {
  return std::any_of(f.events.begin(), f.events.end(), [&](const trace_event& w) {
    return w.event.kind == model::event_kind::write &&
           w.event.address < read.event.address + static_cast<std::uint64_t>(read.event.bytes) &&
           read.event.address < w.event.address + static_cast<std::uint64_t>(w.event.bytes);
  });
}

/// Adds a note if the address of an access at fault comes from an element of an array that its thread reads although no thread
/// has written it, while threads fill other elements. For example, a thread takes an entry from a queue that is not yet filled.
void add_unfilled_element(const program& p, const finding& f, std::vector<std::string>& notes) {
  for (const trace_event& access : f.events) {
    for (const int number : access.address_events) {
      const auto read = std::find_if(f.events.begin(), f.events.end(), [&](const trace_event& e) {
        return e.thread == access.thread && e.number == number && e.event.kind == model::event_kind::read && !e.event.mixed;
      });
      if (read != f.events.end() && reads_filled_elements(f, *read) && !is_written(f, *read)) {
        notes.push_back(place_of(p, access.thread, *access.at) + " in thread " + std::to_string(access.thread) +
                        " takes its address from " + place_text(p, read->event.address) + ", which " +
                        place_of(p, read->thread, *read->at) +
                        " reads although no thread has written it: make sure that it is filled before it is read");
        return;
      }
    }
  }
}

/// Returns whether the scenario orders a launch before a later launch, directly or through other launches.
bool is_ordered_before(const program& p, int launch, int later) {
  std::vector<bool> precedes(p.launches_before.size());
  for (int k = later; k > launch && later < model::count_of(p.launches_before); --k) {
    if (k == later || precedes[static_cast<std::size_t>(k)]) {
      for (const int before : model::at(p.launches_before, k)) {
        precedes[static_cast<std::size_t>(before)] = true;
      }
    }
  }
  return static_cast<std::size_t>(launch) < precedes.size() && precedes[static_cast<std::size_t>(launch)];
}

/// Adds a note if the accesses of a race, or an uninitialised read and the write that comes too late, are in kernels that
/// nothing in the scenario orders. There is no note if the kernels are meant to run concurrently: one of them has read with a
/// strong access what another launch wrote, or one of the accesses is a strong load, with which a thread probably waits.
void add_concurrent_launches(const program& p, const finding& f, std::vector<std::string>& notes) {
  std::vector<const thread_context*> blamed;
  bool waits = false;
  for (const trace_event& e : f.events) {
    if (e.blamed) {
      blamed.push_back(&model::at(p.threads, issuer_of(p, e.thread)));
      waits = waits || (e.event.kind == model::event_kind::read && e.event.strong && !e.event.rmw);
    }
  }
  const bool has_accesses = f.status == check_status::race || f.status == check_status::uninitialised;
  if (!has_accesses || blamed.size() != 2 || waits || f.lacks_only_fence || p.fragment) {
    return;
  }
  const thread_context& x = *blamed.front();
  const thread_context& y = *blamed.back();
  if (x.where.host || y.where.host || x.where.gpu != y.where.gpu || x.launch == y.launch ||
      is_ordered_before(p, x.launch, y.launch) || is_ordered_before(p, y.launch, x.launch)) {
    return;
  }
  const auto launch_of = [&](int thread) { return model::at(p.threads, issuer_of(p, thread)).launch; };
  const bool communicate = std::ranges::any_of(f.events, [&](const trace_event& e) {
    const int reader = launch_of(e.thread);
    return (reader == x.launch || reader == y.launch) && e.event.strong && e.source_thread >= 0 &&
           launch_of(e.source_thread) != reader;
  });
  if (communicate) {
    return;
  }
  const bool same_kernel = x.kernel->name == y.kernel->name;
  notes.push_back(
      (same_kernel ? "two launches of " + x.kernel->name + " run" : x.kernel->name + " and " + y.kernel->name + " run") +
      " concurrently, because their launch lines have neither a common stream nor 'after'; if the program launches "
      "them into one stream, add 'stream 0' to both lines");
}

}  // namespace

std::vector<std::string> finding_notes(const program& launched, const finding& f) {
  std::vector<std::string> notes = buffering_notes(launched, f);
  add_unfilled_element(whole_program(launched, f), f, notes);
  const std::vector<std::string> of_race = race_notes(launched, f);
  notes.insert(notes.end(), of_race.begin(), of_race.end());
  const std::size_t so_far = notes.size();
  add_poll_notes(whole_program(launched, f), f, notes);
  if (notes.size() == so_far) {
    add_concurrent_launches(whole_program(launched, f), f, notes);
    const std::vector<std::string> accesses = access_notes(launched, f);
    notes.insert(notes.end(), accesses.begin(), accesses.end());
  }
  return notes;
}

std::vector<std::string> accepted_races(const program& p, const check_result& r) {
  constexpr std::size_t most = 4;
  std::vector<std::pair<std::string, std::set<std::uint64_t>>> lines;  // the positions for each pair of lines
  std::map<std::uint64_t, int> sizes;
  for (const accepted_race& one : r.accepted) {
    const std::string pair = "accepted race between " + place_of(p, one.threads[0], *one.at[0]) + " and " +
                             place_of(p, one.threads[1], *one.at[1]) + " on ";
    auto it = std::find_if(lines.begin(), lines.end(), [&](const auto& l) { return l.first == pair; });
    it = it == lines.end() ? lines.emplace(it, pair, std::set<std::uint64_t>{}) : it;
    it->second.insert(one.address);
    sizes[one.address] = one.bytes;
  }
  std::vector<std::string> result;
  for (const auto& [pair, addresses] : lines) {
    std::vector<std::string> names;  // of variables in shared memory, which every block has, only once
    for (const std::uint64_t a : addresses) {
      std::string name = place_text(p, a);
      name = name.substr(0, name.find(of_block));
      name += (name.find('+') == std::string::npos ? "+0" : "") + (":u" + std::to_string(8 * sizes[a]));
      if (std::ranges::find(names, name) == names.end()) {
        names.push_back(std::move(name));
      }
    }
    std::string text = pair;
    for (std::size_t k = 0; k < std::min(names.size(), most); ++k) {
      text += (k == 0 ? "" : ", ") + names[k];
    }
    result.push_back(text + (names.size() > most ? " and " + std::to_string(names.size() - most) + " more" : ""));
  }
  return result;
}

std::string loop_that_loads_nothing(const program& launched, const finding& f) {
  const program& p = whole_program(launched, f);
  const empty_poll poll = empty_poll_of(p, f);
  return poll.thread < 0 ? ""
                         : place_of(p, poll.thread, model::at(model::at(p.threads, poll.thread).kernel->code, poll.loop.jump));
}

}  // namespace membar::check
