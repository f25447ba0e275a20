// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <check/async_copies.hpp>
#include <check/dependencies.hpp>
#include <check/graph.hpp>
#include <check/machine.hpp>
#include <check/mbarrier_state.hpp>
#include <check/program.hpp>
#include <check/trace.hpp>
#include <common/quote.hpp>
#include <membar/model/array.hpp>
#include <membar/model/morally_strong.hpp>
#include <ptx/compute.hpp>

#include <algorithm>
#include <array>
#include <charconv>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <string>
#include <utility>
#include <vector>

namespace membar::check {

namespace {

/// Returns the type with which the memory at an address is declared, or `none` if the declaration has no type.
[[nodiscard]] ptx_type declared_type(const program& p, std::uint64_t address) {
  const auto o = std::ranges::find_if(
      p.memory, [&](const memory_object& one) { return address >= one.address && address - one.address < one.bytes; });
  return o == p.memory.end() ? ptx_type::none : o->type;
}

/// Returns whether event `e` of an asynchronous operation accesses whole numbers of a type that prints differently from an
/// unsigned integer.
[[nodiscard]] bool is_type_of_copy(const graph_event& e, ptx_type type) {
  const int bytes = bytes_of(type);
  return (is_float(type) || is_signed(type)) && (bytes == e.bytes || (e.bytes > bytes && (bytes == 4 || bytes == 8)));
}

/// Returns the type of the numbers that event `e` of an asynchronous operation accesses. A copy's instruction has no type, and
/// shared memory often has none either, so this is the type of the memory at either end of the copy, or the type with which a
/// thread reads the bytes.
[[nodiscard]] ptx_type type_in_copy(const program& p, const graph& g, const graph_event& e) {
  const thread_run& run = model::at(g.threads, e.thread);
  if (const ptx_type here = declared_type(p, e.address); is_type_of_copy(e, here)) {
    return here;
  }
  if (run.issue != nullptr && is_type_of_copy(e, instruction_of(p, *run.issue).type)) {
    return instruction_of(p, *run.issue).type;
  }
  for (const graph_event* r : run.events) {
    const bool is_source = r->kind == model::event_kind::read && r->mbarrier == mbarrier_op::none;
    if (const ptx_type there = declared_type(p, r->address); is_source && is_type_of_copy(e, there)) {
      return there;
    }
  }
  for (const thread_run& other : g.threads) {
    for (const graph_event* r : other.events) {
      const bool is_within = r->kind == model::event_kind::read && r->address >= e.address &&
                             r->address - e.address < static_cast<std::uint64_t>(e.bytes);
      if (is_within && is_type_of_copy(e, instruction_of(p, *r).type)) {
        return instruction_of(p, *r).type;
      }
    }
  }
  return ptx_type::none;
}

/// Returns the type in which to print the value of an access: the access's own type if it is a float or a signed integer,
/// otherwise the type with which the memory is declared.
[[nodiscard]] ptx_type type_at(const program& p, const graph& g, const graph_event& e) {
  const auto tells = [&](ptx_type t) { return bytes_of(t) == e.bytes && (is_float(t) || is_signed(t)); };
  const ptx_type own = instruction_of(p, e).type;
  if (tells(own)) {
    return own;
  }
  if (model::at(p.threads, e.thread).copies_of >= 0 && e.mbarrier == mbarrier_op::none) {
    return type_in_copy(p, g, e);
  }
  const ptx_type declared = declared_type(p, e.address);
  return tells(declared) ? declared : ptx_type::none;
}

/// Formats a value as a number of the given type.
[[nodiscard]] std::string value_text(wide_value v, ptx_type type) {
  return v.high == 0 ? number_text(v.low, type) : std::to_string(v.high) + " * 2^64 + " + std::to_string(v.low);
}

/// Formats 8 or 16 bytes as 4-byte numbers, or as 8-byte numbers if the type has 8 bytes.
[[nodiscard]] std::string words_text(wide_value v, unsigned size, ptx_type type) {
  std::string text = "{";
  const unsigned bytes = bytes_of(type) == 8 ? 8 : 4;
  for (unsigned at = 0; at < size; at += bytes) {
    const std::uint64_t half = at < 8 ? v.low : v.high;
    text += (at == 0 ? "" : ", ") + number_text(truncated(half >> (8 * (at % 8)), static_cast<int>(8 * bytes)),
                                                static_cast<unsigned>(bytes_of(type)) == bytes ? type : ptx_type::none);
  }
  return text + "}";
}

/// Formats the state of an mbarrier.
[[nodiscard]] std::string mbarrier_text(std::uint64_t word) {
  const mbarrier_state s = mbarrier_state::of(word);
  if (s.expected == 0) {
    return "no mbarrier";
  }
  return "phase " + std::to_string(s.phase) + ", " + std::to_string(s.pending) + " of " + std::to_string(s.expected) +
         " arrivals pending" + (s.bytes == 0 ? "" : ", " + std::to_string(s.bytes) + " bytes pending");
}

/// Describes the asynchronous operation that a thread of a graph performs, for example "an asynchronous copy of 16 bytes from
/// data+16 to tile of block 0".
[[nodiscard]] std::string operation_text(const program& p, const graph& g, int thread) {
  const graph_event* const issue = thread >= 0 ? model::at(g.threads, thread).issue : nullptr;
  const thread_state* const first = issue != nullptr ? model::at(g.threads, thread).states.front() : nullptr;
  const auto* const steps =
      first != nullptr ? reinterpret_cast<const copy_step*>(first->words()[copy_registers::steps]) : nullptr;
  const copied_data data = steps == nullptr
                               ? copied_data{}
                               : data_of({steps, first->words()[copy_registers::end]}, *model::at(p.threads, thread).kernel);
  const copy_kind kind = issue != nullptr ? instruction_of(p, *issue).copies : copy_kind::memory;
  if (data.read == nullptr && data.written == nullptr) {
    return kind == copy_kind::arrival || kind == copy_kind::tensor_commit ? "an asynchronous arrival"
                                                                          : "an asynchronous operation";
  }
  const std::string places = (data.read == nullptr ? "" : " from " + place_text(p, data.read->address)) +
                             (data.written == nullptr ? "" : " to " + place_text(p, data.written->address));
  if (kind == copy_kind::product || kind == copy_kind::tensor_product) {
    return "an asynchronous matrix product" + places;
  }
  return std::string(data.written == nullptr ? "an asynchronous read of "
                     : data.reduces          ? "an asynchronous reduction of "
                     : data.read == nullptr  ? "an asynchronous store of "
                                             : "an asynchronous copy of ") +
         std::to_string(data.written == nullptr ? data.bytes_read : data.bytes_written) + " bytes" + places;
}

/// Returns the write that a read takes all its bytes from, or null if there is not exactly one such write. A read whose size
/// differs from the write's may read only writes that are ordered before it.
[[nodiscard]] const graph_event* source_of(const graph& g, const graph_event& e) {
  if (!e.mixed) {
    return e.source;
  }
  const graph_event* result = nullptr;
  for (const thread_run& run : g.threads) {
    for (const graph_event* w : run.events) {
      const bool overlaps = w->kind == model::event_kind::write && overlap({w->address, w->bytes}, {e.address, e.bytes});
      if (overlaps && precedes(*w, e.base)) {
        const bool contains = w->address <= e.address && e.address + static_cast<std::uint64_t>(e.bytes) <=
                                                             w->address + static_cast<std::uint64_t>(w->bytes);
        if (result != nullptr || !contains) {
          return nullptr;
        }
        result = w;
      }
    }
  }
  return result;
}

/// Returns whether an event has been added to a graph. A read that has not been added has no value yet.
[[nodiscard]] bool is_in_graph(const graph& g, const graph_event& e) {
  return e.number < model::count_of(model::at(g.threads, e.thread).events);
}

/// Describes an event's effect as the text that follows the instruction's name.
[[nodiscard]] std::string event_text(const program& p, const graph& g, const graph_event& e) {
  const ptx_type type = type_at(p, g, e);
  const bool has_words =
      model::at(p.threads, e.thread).copies_of >= 0 && (e.bytes == 16 || (type != ptx_type::none && bytes_of(type) < e.bytes));
  const std::string value = e.value.unknown                   ? "an unknown value"
                            : e.mbarrier != mbarrier_op::none ? mbarrier_text(e.value.low)
                            : has_words                       ? words_text(e.value, static_cast<unsigned>(e.bytes), type)
                                                              : value_text(e.value, type);
  switch (e.kind) {
    case model::event_kind::read: {
      if (!is_in_graph(g, e)) {
        return "reads an undetermined value from " + place_text(p, e.address);
      }
      const graph_event* const source = source_of(g, e);
      return "reads " + value + " from " + place_text(p, e.address) +
             (source != nullptr
                  ? ", written by thread " + std::to_string(source->thread) + " event " + std::to_string(source->number)
              : e.mixed ? ", combined from several writes"
                        : ", its initial value");
    }
    case model::event_kind::write:
      if (e.mbarrier == mbarrier_op::invalidate) {
        return "invalidates the mbarrier at " + place_text(p, e.address);
      }
      return "writes " + value + " to " + place_text(p, e.address);
    case model::event_kind::issue:
      return "starts " + operation_text(p, g, e.starts);
    case model::event_kind::barrier:
      return e.chosen    ? (e.value.low != 0 ? "is executed only if an unknown value makes the thread execute it"
                                             : "is skipped only if an unknown value makes the thread skip it")
             : e.arrives ? "arrives"
                         : "continues";
    default:
      return "";
  }
}

/// Returns the object that contains an address or, if there is none, the nearest object that is less than 4096 bytes away.
/// Returns null if there is no such object.
[[nodiscard]] const memory_object* object_near(const program& p, std::uint64_t address) {
  const memory_object* nearest = nullptr;
  std::uint64_t distance = 4096;  // to the last byte of a preceding object, or to the first byte of a following object
  for (const memory_object& o : p.memory) {
    if (address >= o.address && address < o.address + o.bytes) {
      return &o;
    }
    const std::uint64_t off = address < o.address ? o.address - address : address - (o.address + o.bytes) + 1;
    if (off < distance) {
      distance = off;
      nearest = &o;
    }
  }
  return nearest;
}

/// Returns whether synchronization orders access `x` before access `y`, but they use different proxies or access tensor memory,
/// so that a fence is needed between them.
[[nodiscard]] bool only_fence_is_missing(const graph_event& x, const graph_event& y) noexcept {
  return (x.via != y.via || machine::is_tensor_memory(y.address)) && precedes(x, y.base);
}

}  // namespace

std::string number_text(std::uint64_t bits, ptx_type type) {
  if (is_float(type) && (bytes_of(type) == 8 || type == ptx_type::f32 || type == ptx_type::f16 || type == ptx_type::bf16)) {
    char text[40];
    const float narrow = bytes_of(type) == 4 ? ptx::detail::float_of<float>(bits)
                         : is_half(type)     ? ptx::detail::widened(ptx::detail::format_of(type), bits)
                                             : 0.0F;
    const auto end = bytes_of(type) == 8 ? std::to_chars(text, text + sizeof text, ptx::detail::float_of<double>(bits)).ptr
                                         : std::to_chars(text, text + sizeof text, narrow).ptr;
    const std::string result(text, end);
    return result + (result.find_first_not_of("-0123456789") == std::string::npos ? ".0" : "");
  }
  const std::uint64_t value = is_signed(type) ? extended(bits, type) : bits;
  return is_signed(type) && static_cast<std::int64_t>(value) < 0 ? std::to_string(static_cast<std::int64_t>(value))
                                                                 : std::to_string(value);
}

std::string place_text(const program& p, std::uint64_t address) {
  if (const memory_object* const o = object_near(p, address)) {
    std::string name = o->name;
    if (address < o->address) {
      return std::to_string(o->address - address) + " bytes before " + name;
    }
    const std::uint64_t offset = address - o->address;
    if (offset >= o->bytes) {
      return (offset == o->bytes ? "the first byte past the end of "
                                 : std::to_string(offset - o->bytes) + " bytes past the end of ") +
             name;
    }
    if (offset != 0) {
      name.insert(std::min(name.find(of_block), name.size()), "+" + std::to_string(offset));
    }
    return name;
  }
  static constexpr char digits[] = "0123456789abcdef";
  std::string hex;
  for (std::uint64_t rest = address; rest != 0 || hex.empty(); rest /= 16) {
    hex.insert(hex.begin(), digits[rest % 16]);
  }
  return "address 0x" + hex;
}

std::string origin_of_unknown_values(const program& p) {
  std::string memory;
  for (const memory_object& o : p.memory) {
    memory += o.unknown.empty() ? "" : (memory.empty() ? "" : ", ") + o.name;
  }
  const bool has_memory = !memory.empty();
  return "the value depends on " +
         (has_memory ? "memory that the scenario declares as unknown (" + membar_tools::shortened(memory, 160) + "), or on "
                     : "") +
         "an instruction whose result membar-check does not compute, such as a matrix instruction: " +
         (has_memory
              ? "give known values to the memory that determines addresses, counts or compared values, and compute these "
              : "compute addresses, counts and compared values ") +
         "with integer instructions";
}

std::string object_text(const program& p, std::uint64_t address) {
  const memory_object* const o = object_near(p, address);
  return o == nullptr ? "" : o->name.substr(0, o->name.find(of_block));
}

std::string thread_text(const program& p, int thread) {
  const thread_context& c = model::at(p.threads, thread);
  if (c.copies_of >= 0) {
    return (p.excerpt ? "" : "thread " + std::to_string(thread) + ", ") + "an asynchronous operation of " +
           (c.starters > 1 ? std::to_string(c.starters) + " threads from " : "") + thread_text(p, c.copies_of);
  }
  if (c.where.host && !p.fragment) {
    return "thread " + std::to_string(thread) + " (host thread " + c.kernel->name + ")";
  }
  const auto coordinates = [](const auto& v) {
    return v[1] == 0 && v[2] == 0 ? std::to_string(v[0])
                                  : std::to_string(v[0]) + "," + std::to_string(v[1]) + "," + std::to_string(v[2]);
  };
  const auto several = [&](int model::place::*of) {
    return std::any_of(p.threads.begin(), p.threads.end(),
                       [&](const thread_context& o) { return !o.where.host && o.where.*of != c.where.*of; });
  };
  return "thread " + std::to_string(p.excerpt ? c.number_in_program : thread) + " (" + c.kernel->name +
         (several(&model::place::gpu) ? ", device " + std::to_string(c.where.gpu) : "") +
         (several(&model::place::domain) ? ", domain " + std::to_string(c.where.domain) : "") + ", block " +
         coordinates(c.block) + ", thread " + coordinates(c.thread) + ")";
}

namespace {

/// Returns the position of an instruction in the source, for example "a.cu:3". For library code, returns the position of the
/// call. Returns an empty string if the position is unknown.
[[nodiscard]] std::string source_place(const program& p, int thread, const instruction& i) {
  const auto& files = model::at(p.threads, thread).kernel->files;
  const auto file = static_cast<std::size_t>(std::max(i.user_file, 0));
  return i.user_line > 0 && file < files.size()
             ? files[file].substr(files[file].rfind('/') + 1) + ":" + std::to_string(i.user_line)
             : std::string();
}

}  // namespace

std::string place_of(const program& p, int thread, const instruction& i) {
  const std::string source = source_place(p, thread, i);
  return source.empty() ? "PTX line " + std::to_string(i.line) : source;
}

std::string places_text(const program& p, int thread, const instruction& x, const instruction& y) {
  const auto place = [](const instruction& i) {
    return std::array<int, 5>{i.user_file, i.user_line, i.file, i.source_line, i.line};
  };
  const bool in_order = place(x) < place(y);
  const std::string first = source_place(p, thread, in_order ? x : y);
  const std::string second = source_place(p, thread, in_order ? y : x);
  return first.empty() || second.empty() || first == second
             ? "PTX lines " + std::to_string(std::min(x.line, y.line)) + " and " + std::to_string(std::max(x.line, y.line))
             : "lines " + first + " and " + second;
}

std::string read_only_text(const program& p, const graph_event& x, const graph_event& y) {
  const graph_event& read = x.non_coherent ? x : y;
  const graph_event& write = x.non_coherent ? y : x;
  return place_of(p, write.thread, instruction_of(p, write)) + " writes " + place_text(p, read.address) + ", and " +
         place_of(p, read.thread, instruction_of(p, read)) + " reads it with '" + instruction_of(p, read).text +
         "', which requires that nothing writes the memory while the kernel runs";
}

std::string scope_gap(const program& p, int thread, thread_scope scope, int other) {
  const model::place& here = model::at(p.threads, thread).where;
  const model::place& there = model::at(p.threads, other).where;
  if (model::includes(model::every_rule{}, scope, here, there)) {
    return {};
  }
  constexpr std::pair<thread_scope, const char*> names[] = {{thread_scope::block, "block"},
                                                            {thread_scope::cluster, "cluster"},
                                                            {thread_scope::device, "device"},
                                                            {thread_scope::system, "system"}};
  const std::string name =
      std::find_if(std::begin(names), std::end(names), [&](const auto& n) { return n.first == scope; })->second;
  const auto pair = [](int x, int y) { return std::to_string(std::min(x, y)) + " and " + std::to_string(std::max(x, y)); };
  std::string why;
  if (here.host != there.host) {
    why = "only system scope includes a host thread";
  } else if (here.gpu != there.gpu) {
    why = "the threads are on devices " + pair(here.gpu, there.gpu) + "; only system scope includes both";
  } else if (scope == thread_scope::device) {
    why = "the threads are in memory synchronization domains " + pair(here.domain, there.domain) +
          ": device scope does not reach beyond its domain, and only system scope includes both";
  } else {
    why = scope == thread_scope::block ? "the threads are in different blocks" : "the threads are in different clusters";
  }
  return name + " scope, but " + why;
}

thread_scope scope_with(const program& p, int thread, int other, std::uint64_t address) {
  const bool host = std::any_of(p.memory.begin(), p.memory.end(), [&](const memory_object& o) {
    return o.host && address >= o.address && address - o.address < o.bytes;
  });
  for (const thread_scope scope : {thread_scope::block, thread_scope::device}) {
    if (!host && scope_gap(p, thread, scope, other).empty()) {
      return scope;
    }
  }
  return thread_scope::system;
}

std::string race_text(const program& p, const graph& g, const graph_event& x, const graph_event& y) {
  const auto access = [&](const graph_event& e) {
    const graph_event* const issue = model::at(g.threads, e.thread).issue;
    const bool writes = e.kind == model::event_kind::write || e.same_value;
    const std::string line =
        place_of(p, issue != nullptr ? issue->thread : e.thread, instruction_of(p, issue != nullptr ? *issue : e));
    if (issue == nullptr) {
      return line + (writes ? " writes " : " reads ") + std::to_string(e.bytes) + (e.bytes == 1 ? " byte" : " bytes");
    }
    return line + " (" + operation_text(p, g, e.thread) + (writes ? ") writes" : ") reads") + " this memory";
  };
  const std::string both =
      "data race on " + place_text(p, std::max(x.address, y.address)) + ": " + access(x) + " and " + access(y);
  const bool lacks_only_fence = only_fence_is_missing(x, y);
  if (lacks_only_fence && machine::is_tensor_memory(y.address)) {
    return both +
           "; threads synchronize between the two accesses, but a tcgen05.fence::before_thread_sync before the synchronization "
           "or a tcgen05.fence::after_thread_sync after it is missing";
  }
  if (lacks_only_fence) {
    return both + "; the second comes after the first, but uses a different proxy: a proxy fence is missing between them";
  }
  std::string why;
  if (!x.strong || !y.strong) {
    why = !x.strong && !y.strong ? "both are weak" : std::string("the ") + (x.strong ? "second" : "first") + " is weak";
  } else if (x.address != y.address || x.bytes != y.bytes) {
    why = "they overlap only partially, so they are never morally strong";
  } else {
    const std::string gap = scope_gap(p, x.thread, x.scope, y.thread);
    why = "their scopes do not include each other's thread: the " +
          (gap.empty() ? "second has " + scope_gap(p, y.thread, y.scope, x.thread) : "first has " + gap);
  }
  return both + "; nothing orders them, and " + why;
}

finding finding_of(const program& p, const graph& g, check_status status, std::string message,
                   const std::vector<const graph_event*>& blamed) {
  finding result;
  result.status = status;
  result.message = std::move(message);
  result.lacks_only_fence =
      status == check_status::race && blamed.size() == 2 && only_fence_is_missing(*blamed.front(), *blamed.back());
  std::vector<const graph_event*> events;
  for (const thread_run& run : g.threads) {
    events.insert(events.end(), run.events.begin(), run.events.end());
  }
  std::copy_if(blamed.begin(), blamed.end(), std::back_inserter(events), [&](auto* b) { return !is_in_graph(g, *b); });
  // when events are sorted by how many events precede them, every event follows its predecessors
  const auto rank = [&](const graph_event* e) {
    std::uint64_t sum = 0;
    for (std::size_t t = 0; t < g.threads.size(); ++t) {
      sum += e->prefix[t];
    }
    return sum;
  };
  std::stable_sort(events.begin(), events.end(), [&](auto* x, auto* y) { return rank(x) < rank(y); });
  for (const graph_event* e : events) {
    const bool is_blamed = std::find_if(blamed.begin(), blamed.end(), [&](auto* b) {
                             return b->thread == e->thread && b->number == e->number;
                           }) != blamed.end();
    trace_event& shown = result.events.emplace_back();
    shown.thread = e->thread;
    shown.number = e->number;
    const graph_event* const issue = model::at(g.threads, e->thread).issue;
    shown.at = &instruction_of(p, issue != nullptr ? *issue : *e);
    shown.what = event_text(p, g, *e);
    shown.blamed = is_blamed;
    const bool accesses = e->kind == model::event_kind::read || e->kind == model::event_kind::write;
    if (is_blamed && accesses && issue == nullptr) {
      shown.address_events = events_of_address(model::at(p.threads, e->thread), model::at(g.threads, e->thread), e->number);
    }
    if (status == check_status::race && is_blamed && issue != nullptr) {
      for (const graph_event* other : blamed) {
        shown.unawaited_until =
            other->thread != e->thread && precedes(*issue, other->base) ? other->base[issue->thread] : shown.unawaited_until;
      }
    }
    shown.event = *e;
    shown.event.value.unknown = e->value.unknown || (e->kind == model::event_kind::read && !is_in_graph(g, *e));
    shown.event.source = shown.event.partner = nullptr;
    shown.event.base = shown.event.prefix = shown.event.past = shown.event.begun = nullptr;
    shown.event.heads = {};
    shown.event.crossed = shown.event.released = shown.event.given = nullptr;
    shown.event.started = nullptr;
    if (const graph_event* const source = source_of(g, *e); source != nullptr && e->kind == model::event_kind::read) {
      shown.source_thread = source->thread;
      shown.source_number = source->number;
    }
  }
  for (int t = 0; t < model::count_of(g.threads); ++t) {
    const thread_run& run = model::at(g.threads, t);
    const thread_state* s = run.states.empty() ? nullptr : run.states.back();
    const bool waits = s != nullptr && s->status != thread_status::ended;
    result.waiting.push_back(!waits                 ? nullptr
                             : run.issue != nullptr ? &instruction_of(p, *run.issue)
                                                    : &model::at(model::at(p.threads, t).kernel->code, s->pc));
  }
  return result;
}

}  // namespace membar::check
