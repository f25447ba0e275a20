// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <common/quote.hpp>
#include <litmus/run_plan.hpp>

#include <membar/model/error.hpp>
#include <membar/model/outcomes.hpp>

#include <algorithm>
#include <utility>

namespace membar::litmus_files {

namespace {

[[nodiscard]] bool same(const model::term& a, const model::term& b) noexcept {
  return a.kind == b.kind && a.index == b.index && (a.kind != model::term::kind_t::register_value || a.thread == b.thread);
}

[[nodiscard]] bool updates(const model::instruction& i) noexcept {
  return i.code == model::opcode::atomic || i.code == model::opcode::reduction;
}

[[nodiscard]] int element_of(const std::string& name) {
  const std::size_t bracket = name.find('[');
  return bracket == std::string::npos ? 0 : std::stoi(name.substr(bracket + 1));
}

[[nodiscard]] bool jumps_back(const model::litmus_test::thread& t) noexcept {
  for (std::size_t n = 0; n < t.code.size(); ++n) {
    if (jumps(t.code[n]) && t.code[n].target <= static_cast<int>(n)) {
      return true;
    }
  }
  return false;
}

}  // namespace

bool jumps(const model::instruction& i) noexcept { return i.code == model::opcode::branch || i.code == model::opcode::jump; }

bool is_access(model::opcode code) noexcept {
  return code == model::opcode::load || code == model::opcode::store || code == model::opcode::atomic ||
         code == model::opcode::reduction;
}

void refuse_line(int line, const std::string& why) { throw model::error("line " + std::to_string(line) + ": " + why); }

run_plan::run_plan(model::litmus_test test, std::uint64_t limit) : test_(std::move(test)) {
  check_statements();
  lay_out();
  name_observations();
  ask_model(limit);
  find_values(limit);
  check_outcomes();
}

const outcome_digit* run_plan::end_of(int thread) const noexcept {
  for (const outcome_digit& d : digits_) {
    if (d.end_of == thread) {
      return &d;
    }
  }
  return nullptr;
}

bool run_plan::may_point_to(int location, int bytes) const noexcept {
  const model::location& one = test_.locations[static_cast<std::size_t>(location)];
  return one.arrivals == 0 && part(location).cell >= 0 && part(location).bytes == bytes && one.address == location;
}

bool run_plan::waits(int thread) const noexcept { return jumps_back(test_.threads[static_cast<std::size_t>(thread)]); }

std::string run_plan::update_shared_with_host() const {
  for (const model::litmus_test::thread& gpu : test_.threads) {
    for (std::size_t n = 0; n < gpu.code.size() && !gpu.where.host; ++n) {
      const model::instruction& i = gpu.code[n];
      if (updates(i) && written_by_host(i)) {
        return "line " + std::to_string(i.line) + ": " + membar_tools::quote(gpu.text[n]);
      }
    }
  }
  return {};
}

std::int64_t run_plan::machine_value(std::int64_t value) const noexcept {
  const std::int64_t index = (value - model::address_value(0)) / 16;
  const bool address = value >= model::address_value(0) && index < static_cast<std::int64_t>(test_.locations.size()) &&
                       value == model::address_value(static_cast<int>(index));
  return address ? address_token(static_cast<int>(index)) : value;
}

unsigned run_plan::digit(int which, std::int64_t machine) const noexcept {
  const std::vector<std::int64_t>& values = digits_[static_cast<std::size_t>(which)].values;
  unsigned d = 0;
  while (d < values.size() && machine_value(values[d]) != machine) {
    ++d;
  }
  return d;
}

folded_counts run_plan::fold(const std::vector<std::uint64_t>& counts, const std::vector<std::uint64_t>& slices_with) const {
  std::size_t observed = 1;
  for (const outcome_digit& d : digits_) {
    observed *= d.end_of < 0 ? static_cast<std::size_t>(d.radix()) : 1;
  }
  folded_counts result;
  result.counts.assign(observed, 0);
  result.slices_with.assign(slices_with.empty() ? 0 : observed, 0);
  for (std::size_t outcome = 0; outcome < counts.size(); ++outcome) {
    auto worst = thread_end::reached;
    std::size_t ends = outcome / observed;
    for (const outcome_digit& d : digits_) {
      if (d.end_of >= 0) {
        const auto end = static_cast<thread_end>(ends % static_cast<std::size_t>(d.radix()));
        ends /= static_cast<std::size_t>(d.radix());
        // `unknown` takes precedence over `strayed`, and `strayed` over `unfinished`: if a thread has read an impossible value,
        // another thread may not finish because of that
        worst = end == thread_end::unknown || worst == thread_end::unknown   ? thread_end::unknown
                : end == thread_end::strayed || worst == thread_end::strayed ? thread_end::strayed
                : end == thread_end::reached                                 ? worst
                                                                             : end;
      }
    }
    (worst == thread_end::unknown      ? result.unknown
     : worst == thread_end::strayed    ? result.strayed
     : worst == thread_end::unfinished ? result.unfinished
                                       : result.counts[outcome % observed]) += counts[outcome];
    if (worst == thread_end::reached && !slices_with.empty()) {
      std::uint64_t& most = result.slices_with[outcome % observed];
      most = std::max(most, slices_with[outcome]);
    }
  }
  return result;
}

int run_plan::find(const model::term& t) const noexcept {
  for (std::size_t o = 0; o < digits_.size(); ++o) {
    if (digits_[o].end_of < 0 && same(digits_[o].what, t)) {
      return static_cast<int>(o);
    }
  }
  return -1;
}

bool run_plan::written_by_host(const model::instruction& i) const {
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

std::size_t run_plan::physical(int location) const noexcept {
  return static_cast<std::size_t>(test_.locations[static_cast<std::size_t>(location)].physical);
}

void run_plan::check_statements() const {
  if (!test_.api.empty()) {
    throw model::error(
        "'P" + std::to_string(test_.threads[static_cast<std::size_t>(test_.api.front().before)].number) + " precedes P" +
        std::to_string(test_.threads[static_cast<std::size_t>(test_.api.front().after)].number) +
        "': a run executes all threads of a test concurrently, so the CUDA API cannot order them; use verdict or explain");
  }
  if (!test_.launches.empty()) {
    throw model::error("'P" + std::to_string(test_.threads[static_cast<std::size_t>(test_.launches.front().before)].number) +
                       " launches P" +
                       std::to_string(test_.threads[static_cast<std::size_t>(test_.launches.front().after)].number) +
                       "': a run executes all threads of a test in one kernel, so it cannot launch dependent kernels");
  }
  if (test_.observed.empty()) {
    throw model::error("the test observes no register and no location: add a condition, or locations [...]");
  }
  for (std::size_t l = 0; l < test_.locations.size(); ++l) {
    if (test_.locations[l].owner >= 0) {
      throw model::error(membar_tools::quote(test_.location_names[l]) +
                         " is in shared memory, but the locations of a run are in global memory");
    }
  }
  for (const model::litmus_test::thread& t : test_.threads) {
    for (std::size_t n = 0; n < t.code.size(); ++n) {
      const model::instruction& i = t.code[n];
      const std::string quoted = membar_tools::quote(t.text[n]) + ": ";
      switch (i.code) {
        case model::opcode::barrier:
          refuse_line(i.line,
                      quoted + "a block runs many instances of a test concurrently, so a test with barriers cannot run");
        case model::opcode::fence:
          if (!i.restricted) {
            break;
          }
          [[fallthrough]];
        case model::opcode::mbarrier_init:
        case model::opcode::mbarrier_arrive:
        case model::opcode::mbarrier_wait:
          refuse_line(i.line,
                      quoted + "a block runs many instances of a test concurrently, so a test with mbarriers cannot run");
        case model::opcode::async_copy:
        case model::opcode::async_arrive:
        case model::opcode::async_commit:
        case model::opcode::async_wait:
          refuse_line(i.line, quoted +
                                  "the locations of a run are in global memory, so a test with asynchronous copies through "
                                  "shared memory cannot run");
        case model::opcode::grid_wait:
        case model::opcode::grid_launch:
          refuse_line(i.line,
                      quoted + "a run executes all threads of a test in one kernel, so it cannot launch dependent kernels");
        case model::opcode::shuffle:
          refuse_line(i.line, quoted + "a warp runs many instances of a test concurrently, so a test with shuffles cannot run");
        default:
          break;
      }
      if (i.guard >= 0 || (i.code == model::opcode::compute && i.what >= model::operation::is_equal)) {
        refuse_line(i.line, quoted + "a test with predicates cannot run: use branches instead");
      }
      if (is_access(i.code) && i.via == model::proxy::read_only) {
        refuse_line(i.line, quoted +
                                "a run writes its locations while the kernel executes, but the read-only path requires that "
                                "they do not change");
      }
      if (is_access(i.code) && i.via != model::proxy::generic) {
        refuse_line(i.line,
                    quoted + "surfaces, textures and constants exist only in the model; a run supports only generic accesses");
      }
    }
  }
}

void run_plan::lay_out() {
  for (std::size_t l = 0; l < test_.locations.size(); ++l) {
    if (test_.locations[l].multimem >= 0) {
      const std::string& name = test_.location_names[l];
      throw model::error(membar_tools::quote(name.substr(0, name.find('.'))) +
                         " is a multimem address, but a run does not create multicast objects");
    }
  }
  parts_.assign(test_.locations.size(), {});
  std::vector<int> widths(test_.locations.size(), 0);
  std::vector<int> arrays(test_.locations.size(), -1);  // for each element: the array whose vector accesses contain it
  for (const model::litmus_test::thread& t : test_.threads) {
    int first = -1;
    for (const model::instruction& i : t.code) {
      if (!is_access(i.code)) {
        continue;
      }
      if (i.indirect) {
        continue;
      }
      set_width(widths, i.target, i);
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
          set_width(widths, static_cast<int>(l), i);
        }
      }
    }
  }
  for (std::size_t l = 0; l < parts_.size(); ++l) {
    if (physical(static_cast<int>(l)) != l && test_.locations[l].address == static_cast<int>(l)) {
      throw model::error(membar_tools::quote(test_.location_names[l]) + " is another virtual address of " +
                         membar_tools::quote(test_.location_names[physical(static_cast<int>(l))]) +
                         ", but in a run, every location has only one address");
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
    throw model::error("the test accesses no location: add an access to memory");
  }
  if (cells() > litmus::max_locations) {
    throw model::error("the test has " + std::to_string(cells()) + " locations, but a run can have at most " +
                       std::to_string(litmus::max_locations) + ": split the test");
  }
}

void run_plan::set_width(std::vector<int>& widths, int location, const model::instruction& i) const {
  int& known = widths[physical(location)];
  if (known != 0 && known != i.bytes) {
    refuse_line(i.line, membar_tools::quote(test_.location_names[static_cast<std::size_t>(location)]) + " is accessed with " +
                            std::to_string(i.bytes) + " and with " + std::to_string(known) +
                            " bytes, but a run observes one value of one size per location: use accesses of one size");
  }
  known = i.bytes;
}

void run_plan::place_element(std::vector<int>& arrays, int first, const model::instruction& i) const {
  if ((i.element + 1) * i.bytes > static_cast<int>(litmus::cell_bytes)) {
    refuse_line(i.line,
                "a vector of more than " + std::to_string(litmus::cell_bytes) + " bytes does not fit into a location of a run");
  }
  arrays[static_cast<std::size_t>(i.target)] = first;
  arrays[static_cast<std::size_t>(first)] = first;
}

void run_plan::write_initial(int location) {
  const cell_part& p = part(location);
  const std::int64_t value = machine_value(test_.locations[physical(location)].initial);
  if (!fits(value, p.bytes)) {
    throw model::error(membar_tools::quote(test_.location_names[static_cast<std::size_t>(location)]) +
                       " has the initial value " + model::value_text(test_, test_.locations[physical(location)].initial) +
                       ", which does not fit in the " + std::to_string(p.bytes) + (p.bytes == 1 ? " byte" : " bytes") +
                       " of its accesses as a signed number: give them a wider type, such as .b64");
  }
  for (int b = 0; b < p.bytes; ++b) {
    initial_[static_cast<std::size_t>(p.cell)][static_cast<std::size_t>(p.offset + b)] =
        static_cast<unsigned char>(b < 8       ? value >> (8 * b)
                                   : value < 0 ? 0xff
                                               : 0);
  }
}

void run_plan::name_observations() {
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

std::string run_plan::name_of(const model::term& t) const {
  if (t.kind == model::term::kind_t::memory_value) {
    return test_.location_names[static_cast<std::size_t>(t.index)];
  }
  const model::litmus_test::thread& thread = test_.threads[static_cast<std::size_t>(t.thread)];
  return "P" + std::to_string(thread.number) + ":" + thread.register_names[static_cast<std::size_t>(t.index)];
}

}  // namespace membar::litmus_files
