// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <check/launch.hpp>
#include <check/trace.hpp>
#include <membar/model/array.hpp>
#include <membar/model/error.hpp>
#include <ptx/decode.hpp>
#include <ptx/reader.hpp>
#include <witness/plan.hpp>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <tuple>
#include <utility>
#include <vector>

namespace membar::witness {

namespace {

using membar_witness::actor_slots;

constexpr const char* shift_name = "membar witness shift";

/// Throws an error if the scenario cannot be launched.
void require_launchable(const check::scenario& s) {
  const auto refuse = [](int line, const std::string& what) {
    throw model::error(line, 1, "witness launches kernels on one GPU, and does not support " + what);
  };
  if (!s.tensors.empty()) {
    refuse(s.tensors.front().line, "a scenario with tensor maps: use copies without a tensor map");
  }
  for (const check::scenario::launch_line& l : s.launches) {
    if (l.request.host) {
      refuse(l.line, "host threads: replace '" + l.kernel + "' with a kernel");
    }
    if (l.request.device != 0 || l.request.domain != 0) {
      refuse(l.line, "kernels on several devices or in memory synchronization domains: put all of them on device 0, domain 0");
    }
  }
}

/// A scenario and its launches, prepared with the memory at two different addresses. Words that differ contain addresses.
struct twice_prepared {
  std::array<check::prepared_scenario, 2> prepared{};
  std::array<std::vector<check::planned_launch>, 2> launches{};

  twice_prepared(const check::scenario& s, std::string_view ptx) {
    prepared[0] = check::prepare(s, ptx, launches[0]);
    check::scenario shifted = s;
    check::scenario::memory_line m;
    m.memory = {shift_name, check::ptx_type::u8, 256};
    shifted.memory.insert(shifted.memory.begin(), m);
    try {
      prepared[1] = check::prepare(shifted, ptx, launches[1]);
    } catch (const model::error&) {  // shifted memory would overlap an object with a fixed address, so nothing is shifted
      launches[1].clear();
      prepared[1] = check::prepare(s, ptx, launches[1]);
    }
    for (const check::scenario::memory_line& line : s.memory) {
      if (line.address != 0) {
        fixed_.insert(line.memory.name);
      }
      for (const auto& [element, text] : line.addresses) {
        named_.insert(text.substr(0, text.find('+')));
      }
    }
    for (const check::scenario::launch_line& l : s.launches) {
      for (const std::string& words : l.arguments) {
        for (std::size_t at = 0; at < words.size();) {
          const std::size_t end = std::min(words.find_first_of(" +={}", at), words.size());
          named_.insert(words.substr(at, end - at));
          at = end + 1;
        }
      }
    }
  }

  /// Returns the offsets of the words that contain an address. These are the words in which the two versions differ, and the
  /// words with an address that is the same in both.
  [[nodiscard]] std::vector<std::uint64_t> pointers(const std::vector<std::uint8_t>& a,
                                                    const std::vector<std::uint8_t>& b) const {
    std::vector<std::uint64_t> result;
    for (std::size_t at = 0; at + 8 <= a.size() && at + 8 <= b.size(); at += 8) {
      std::uint64_t value = 0;
      for (unsigned k = 0; k < 8; ++k) {
        value |= std::uint64_t{a[at + k]} << (8 * k);
      }
      const bool differs =
          !std::equal(a.begin() + static_cast<std::ptrdiff_t>(at), a.begin() + static_cast<std::ptrdiff_t>(at) + 8,
                      b.begin() + static_cast<std::ptrdiff_t>(at));
      if (differs || is_fixed(value)) {
        result.push_back(at);
      }
    }
    return result;
  }

 private:
  /// Returns whether an address is in memory that cannot move: memory whose address the scenario specifies, or a variable that
  /// the scenario names as a value.
  [[nodiscard]] bool is_fixed(std::uint64_t address) const {
    return std::any_of(
        prepared[0].checked.memory.begin(), prepared[0].checked.memory.end(), [&](const check::memory_object& o) {
          const bool stays =
              std::any_of(prepared[1].checked.memory.begin(), prepared[1].checked.memory.end(),
                          [&](const check::memory_object& p) { return p.address == o.address && p.name == o.name; });
          return address >= o.address && address - o.address < o.bytes && stays &&
                 (fixed_.count(o.name) != 0 || named_.count(o.name) != 0);
        });
  }

  std::set<std::string> fixed_{};  ///< memory whose address the scenario specifies
  std::set<std::string> named_{};  ///< names that are used as values of arguments or of memory
};

[[nodiscard]] std::size_t occurrences(std::string_view text, const std::string& word) {
  std::size_t count = 0;
  for (std::size_t at = text.find(word); at != std::string_view::npos; at = text.find(word, at + word.size())) {
    ++count;
  }
  return count;
}

/// Returns the memory that the scenario describes and the variables of the module that are used.
[[nodiscard]] std::vector<membar_witness::object> memory_of(const check::scenario& s, const twice_prepared& two,
                                                            std::string_view ptx) {
  const ptx::ptx_module module = ptx::read_ptx(ptx);
  const ptx::module_layout layout = ptx::layout_of(module);
  std::set<std::string> lines;
  for (const check::scenario::memory_line& m : s.memory) {
    lines.insert(m.memory.name);
  }
  std::map<std::uint64_t, const ptx::ptx_variable*> variables;
  for (const ptx::ptx_variable& v : module.variables) {
    const auto it = layout.globals.find(v.name);
    const bool used = lines.count(v.name) != 0 || (v.space == ptx::state_space::global && occurrences(ptx, v.name) > 1);
    if (it != layout.globals.end() && used && v.addresses.empty()) {
      variables[it->second] = &v;
    }
  }
  std::vector<membar_witness::object> result;
  for (const check::memory_object& o : two.prepared[0].checked.memory) {
    const auto variable = variables.find(o.address);
    if (variable == variables.end() && lines.count(o.name) == 0) {
      continue;
    }
    membar_witness::object one;
    one.variable = variable != variables.end();
    one.name = one.variable ? variable->second->name : o.name;
    one.address = o.address;
    one.bytes = o.bytes;
    one.initial = o.initial;
    for (const check::memory_object& other : two.prepared[1].checked.memory) {
      if (other.name == o.name) {
        one.pointers = two.pointers(o.initial, other.initial);
      }
    }
    result.push_back(std::move(one));
  }
  return result;
}

/// Returns the kernels to launch. The keys are the names that `prepare` uses, which are the names in the module.
[[nodiscard]] std::map<std::string, const ptx::ptx_function*> kernels_of(const ptx::ptx_module& module) {
  std::map<std::string, const ptx::ptx_function*> result;
  for (const ptx::ptx_function& f : module.functions) {
    if (f.kernel && f.defined) {
      result[check::source_name(f.name)] = &f;
    }
  }
  return result;
}

/// Assigns the given actors to a launch, or its first thread if there are none.
void give_actors(membar_witness::launch& l, int number, const std::vector<actor>& actors) {
  for (const actor& a : actors) {
    if (a.launch == number && l.actors.size() < actor_slots) {
      l.actors.push_back(a.block << 32U | a.thread);
      l.early.push_back(a.early);
    }
  }
  if (l.actors.empty()) {
    l.actors.push_back(0);
    l.early.push_back(0);
  }
}

/// Returns whether the first actor of a launch shares a warp with another actor.
[[nodiscard]] bool shares_warp(const membar_witness::launch& l) {
  return std::any_of(l.actors.begin() + 1, l.actors.end(), [&](std::uint64_t a) {
    return a >> 32U == l.actors[0] >> 32U && (a & 0xffffffffU) / 32 == (l.actors[0] & 0xffffffffU) / 32;
  });
}

/// Adds the kernel's parameters that contain addresses, and the offsets of these addresses, to a request.
void add_pointers(rewrite_request& request, const check::kernel_code& code, const ptx::ptx_function& kernel,
                  const std::vector<std::uint64_t>& pointers) {
  for (std::size_t k = 0; k < code.parameter_offsets.size() && k < kernel.parameters.size(); ++k) {
    const std::uint64_t begin = code.parameter_offsets[k];
    const std::uint64_t end = k + 1 < code.parameter_offsets.size() ? code.parameter_offsets[k + 1] : code.parameter_bytes;
    for (const std::uint64_t at : pointers) {
      if (at >= begin && at < end &&
          std::find(request.pointers.begin(), request.pointers.end(), at) == request.pointers.end()) {
        request.pointers.push_back(at);
        if (request.parameters.empty() || request.parameters.back().name != kernel.parameters[k].name) {
          request.parameters.push_back({kernel.parameters[k].name, begin, end - begin});
        }
      }
    }
  }
}

/// Records why the launches of a program cannot run several copies.
void forbid_copies(membar_witness::program& p) {
  for (const membar_witness::object& o : p.memory) {
    if (o.variable) {
      p.one_copy = "all copies would use the variable " + o.name;
    }
  }
  for (const membar_witness::launch& l : p.launches) {
    if (l.cooperative) {
      p.one_copy = "all copies would take part in the grid barrier of " + check::source_name(l.kernel);
    }
  }
}

}  // namespace

const check::graph& memory_of_run::execution() const noexcept {
  std::abort();  // scenario conditions refer only to memory
}

std::vector<actor> actors_of(const check::program& p, const check::finding& f) {
  const check::program& whole = check::whole_program(p, f);
  std::vector<actor> result;
  std::map<int, std::size_t> of_launch;
  const auto add = [&](int number, const check::trace_event* blamed) {
    const check::thread_context* const t = &model::at(whole.threads, check::issuer_of(whole, number));
    const auto block = t->block[0] + std::uint64_t{t->blocks[0]} * (t->block[1] + std::uint64_t{t->blocks[1]} * t->block[2]);
    actor a{t->launch, block, t->number_in_block(), 0};
    if (blamed != nullptr && blamed->event.kind == model::event_kind::read && !blamed->event.strong &&
        blamed->event.address < check::shared_window) {
      a.early = blamed->event.address / 4 * 4;
    }
    const auto same = [&](const actor& b) {
      return std::tie(a.launch, a.block, a.thread) == std::tie(b.launch, b.block, b.thread);
    };
    if (const auto it = std::find_if(result.begin(), result.end(), same); it != result.end()) {
      it->early = it->early == 0 ? a.early : it->early;
    } else if (of_launch[a.launch]++ < actor_slots) {
      result.push_back(a);
    }
  };
  for (const check::trace_event& e : f.events) {
    if (e.blamed) {
      add(e.thread, &e);
    }
  }
  for (std::size_t t = 0; t < f.waiting.size(); ++t) {
    if (f.waiting[t] != nullptr) {
      add(static_cast<int>(t), nullptr);
    }
  }
  for (const check::trace_event& e : f.events) {
    add(e.thread, nullptr);
  }
  return result;
}

watched_read watched_of(const check::program& p, const check::finding& f, const std::vector<actor>& actors) {
  watched_read result;
  if (f.status != check::check_status::race) {
    return result;
  }
  const check::trace_event* read = nullptr;
  const check::trace_event* write = nullptr;
  for (const check::trace_event& e : f.events) {
    if (e.blamed) {
      (e.event.kind == model::event_kind::read ? read : write) = &e;
    }
  }
  if (read == nullptr || write == nullptr || read->event.address != write->event.address ||
      read->event.bytes != write->event.bytes || (read->event.bytes != 4 && read->event.bytes != 8) || read->at == nullptr) {
    return result;
  }
  int slot = -1;
  int in_launch = 0;
  const std::vector<actor> self = actors_of(p, {f.status, {}, {*read}, {}, -1, false, f.whole});
  for (const actor& a : actors) {
    if (!self.empty() && a.launch == self[0].launch) {
      slot = a.block == self[0].block && a.thread == self[0].thread ? in_launch : slot;
      ++in_launch;
    }
  }
  if (slot < 0) {
    return result;
  }
  const bool stale = write < read && (read->source_thread != write->thread || read->source_number != write->number);
  if (!stale && read->event.value.unknown) {
    return result;
  }
  result = {self[0].launch, read->at->line, slot, 1, read->event.bytes, stale ? write->event.value.low : read->event.value.low};
  for (const check::trace_event* e = f.events.data(); e < read; ++e) {
    result.time += e->thread == read->thread && e->at == read->at && e->event.kind == model::event_kind::read ? 1 : 0;
  }
  return result;
}

/// Rejects dependences that stream order cannot express. Dependent launches are enqueued directly after the launch that they
/// depend on, and they share an event, which only the last of them records.
void require_order(const std::vector<membar_witness::launch>& all) {
  std::vector<std::set<int>> behind(all.size());  // for each launch: the launches that have ended or have allowed it to start
  std::vector<int> recorded_by(all.size());
  for (int k = model::count_of(all) - 1; k >= 0; --k) {
    int& last = recorded_by[static_cast<std::size_t>(k)];
    last = std::max(last, k);
    if (const int before = model::at(all, k).dependent_on; before >= 0) {
      int& of_before = recorded_by[static_cast<std::size_t>(before)];
      of_before = std::max(of_before, last);
    }
  }
  for (int k = 0; k < model::count_of(all); ++k) {
    const membar_witness::launch& l = model::at(all, k);
    std::set<int>& mine = behind[static_cast<std::size_t>(k)];
    for (const int before : l.dependent_on >= 0 ? std::vector<int>{l.dependent_on} : l.after) {
      const std::set<int>& further = model::at(behind, before);
      mine.insert(before);
      mine.insert(further.begin(), further.end());
    }
    for (const int before : l.after) {
      const std::string names = "the launch of '" + check::source_name(l.kernel) + "' comes after the launch of '" +
                                check::source_name(model::at(all, before).kernel) + "'";
      if (mine.count(before) == 0) {
        throw model::error("witness: " + names + " and depends on a third launch: put the third launch after '" +
                           check::source_name(model::at(all, before).kernel) + "' as well");
      }
      if (l.dependent_on < 0 && model::at(recorded_by, before) > k) {
        throw model::error("witness: " + names + ", whose dependent launch of '" +
                           check::source_name(model::at(all, model::at(recorded_by, before)).kernel) +
                           "' is below both: move the dependent launch directly below the launch that it depends on");
      }
    }
  }
}

witness_program program_of(const check::scenario& s, std::string_view ptx, const std::vector<actor>& actors,
                           const watched_read& watched, const std::vector<int>& preferred) {
  require_launchable(s);
  const twice_prepared two(s, ptx);
  const ptx::ptx_module module = ptx::read_ptx(ptx);
  const std::map<std::string, const ptx::ptx_function*> kernels = kernels_of(module);
  witness_program result;
  result.launched.memory = memory_of(s, two, ptx);
  std::map<const ptx::ptx_function*, rewrite_request> requests;
  for (std::size_t k = 0; k < two.launches[0].size(); ++k) {
    const check::launch_request& r = two.launches[0][k].request;
    membar_witness::launch l;
    const ptx::ptx_function* const kernel = kernels.at(r.kernel->name);
    l.kernel = kernel->name;
    l.grid = {r.grid[0], r.grid[1], r.grid[2]};
    l.block = {r.block[0], r.block[1], r.block[2]};
    l.shared = static_cast<unsigned>(r.dynamic_shared);
    l.cooperative = two.launches[0][k].workspace != 0;
    l.cluster = static_cast<unsigned>(r.cluster);
    if (r.dependent) {
      if (r.after.empty()) {
        throw model::error("witness: a dependent launch of '" + r.kernel->name +
                           "' has no launch to depend on: add 'stream' or 'after' to its line");
      }
      l.dependent_on = r.after.back();
    }
    l.after = two.prepared[0].checked.launches_before[k];
    l.arguments = r.arguments;
    l.offsets = r.kernel->parameter_offsets;
    l.pointers = two.pointers(r.arguments, two.launches[1][k].request.arguments);
    give_actors(l, static_cast<int>(k), actors);
    rewrite_request& request = requests[kernel];
    request.kernel = kernel->name;
    add_pointers(request, *r.kernel, *kernel, l.pointers);
    request.preferred = preferred;
    if (watched.launch == static_cast<int>(k)) {
      request.watched_line = watched.line;
      request.watched_actor = watched.actor;
      l.watch = static_cast<std::uint64_t>(watched.time);
    }
    request.split_warp = request.split_warp || (shares_warp(l) && !has_warp_operations(ptx, kernel->name));
    result.early = result.early || std::any_of(l.early.begin(), l.early.end(), [](std::uint64_t a) { return a != 0; });
    result.split = result.split || request.split_warp;
    result.launched.launches.push_back(std::move(l));
  }
  require_order(result.launched.launches);
  // in reverse order, so that the line numbers of the remaining kernels do not change
  std::vector<const ptx::ptx_function*> order;
  for (const auto& [kernel, request] : requests) {
    order.push_back(kernel);
  }
  std::sort(order.begin(), order.end(), [](const auto* a, const auto* b) { return a->line > b->line; });
  result.launched.ptx = std::string(ptx);
  std::map<std::string, std::vector<site>> sites;
  for (const ptx::ptx_function* const kernel : order) {
    rewritten_kernel rewritten = rewrite(result.launched.ptx, requests.at(kernel));
    result.launched.ptx = std::move(rewritten.text);
    sites[kernel->name] = std::move(rewritten.sites);
    if (!rewritten.one_copy.empty()) {
      result.launched.one_copy = "in kernel " + check::source_name(kernel->name) + ", " + rewritten.one_copy;
    }
  }
  forbid_copies(result.launched);
  for (membar_witness::launch& l : result.launched.launches) {
    result.sites.push_back(sites.at(l.kernel));
    l.sites = static_cast<int>(result.sites.back().size());
  }
  return result;
}

bool has_places(const check::scenario& s) {
  return std::any_of(s.launches.begin(), s.launches.end(),
                     [](const auto& l) { return l.request.device != 0 || l.request.domain != 0; });
}

check::scenario on_one_device(const check::scenario& s) {
  check::scenario result = s;
  for (check::scenario::launch_line& l : result.launches) {
    l.request.device = l.request.domain = 0;
  }
  for (check::scenario::memory_line& m : result.memory) {
    m.device = -1;
  }
  return result;
}

check::scenario with_empty_plans(const check::scenario& s) {
  check::scenario result = s;
  std::string zeros = "{";
  for (std::size_t k = 0; k < sizeof(membar_witness::plan) / 8; ++k) {
    zeros += k == 0 ? "0" : " 0";
  }
  for (check::scenario::launch_line& l : result.launches) {
    l.arguments.push_back(zeros + "}");
  }
  return result;
}

}  // namespace membar::witness
