// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <check/graph.hpp>
#include <check/machine.hpp>
#include <check/mbarrier_state.hpp>
#include <check/program.hpp>
#include <check/trace.hpp>
#include <membar/model/array.hpp>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

namespace membar::check {

namespace {

/// A value as a decimal number.
[[nodiscard]] std::string value_text(wide_value v) {
  return v.high == 0 ? std::to_string(v.low) : std::to_string(v.high) + " * 2^64 + " + std::to_string(v.low);
}

/// A piece of 16 bytes as numbers of four.
[[nodiscard]] std::string words_text(wide_value v) {
  const auto word = [](std::uint64_t of, int n) {
    return std::to_string(truncated(of >> (32 * static_cast<unsigned>(n)), 32));
  };
  return "{" + word(v.low, 0) + ", " + word(v.low, 1) + ", " + word(v.high, 0) + ", " + word(v.high, 1) + "}";
}

/// The state of an mbarrier.
[[nodiscard]] std::string mbarrier_text(std::uint64_t word) {
  const mbarrier_state s = mbarrier_state::of(word);
  if (s.expected == 0) {
    return "no mbarrier";
  }
  return "phase " + std::to_string(s.phase) + ", " + std::to_string(s.pending) + " of " + std::to_string(s.expected) +
         " arrivals pending" + (s.bytes == 0 ? "" : ", " + std::to_string(s.bytes) + " bytes pending");
}

/// What an event does, after the name of its instruction.
[[nodiscard]] std::string event_text(const program& p, const graph_event& e) {
  const std::string value = e.value.unknown                                                  ? "an unknown value"
                            : e.mbarrier != mbarrier_op::none                                ? mbarrier_text(e.value.low)
                            : model::at(p.threads, e.thread).copies_of >= 0 && e.bytes == 16 ? words_text(e.value)
                                                                                             : value_text(e.value);
  switch (e.kind) {
    case model::event_kind::read:
      return "reads " + value + " of " + place_text(p, e.address) +
             (e.mixed ? ", from several writes"
              : e.source == nullptr
                  ? ", its initial value"
                  : ", from thread " + std::to_string(e.source->thread) + " event " + std::to_string(e.source->number));
    case model::event_kind::write:
      return "writes " + value + " to " + place_text(p, e.address);
    case model::event_kind::issue:
      return "starts a copy";
    case model::event_kind::barrier:
      return e.chosen
                 ? (e.value.low != 0 ? "is executed, if an unknown value says so" : "is left out, if an unknown value says so")
             : e.arrives ? "arrives"
                         : "goes on";
    default:
      return "";
  }
}

}  // namespace

std::string place_text(const program& p, std::uint64_t address) {
  const memory_object* before = nullptr;
  for (const memory_object& o : p.memory) {
    if (address >= o.address && address < o.address + o.bytes) {
      std::string name = o.name;
      if (address != o.address) {
        name.insert(std::min(name.find(" of block "), name.size()), "+" + std::to_string(address - o.address));
      }
      return name;
    }
    before = o.address + o.bytes <= address && (before == nullptr || before->address < o.address) ? &o : before;
  }
  constexpr std::uint64_t near = 4096;
  if (before != nullptr && address - before->address - before->bytes < near) {
    const std::uint64_t past = address - before->address - before->bytes;
    return (past == 0 ? "the end of " : std::to_string(past) + " bytes past the end of ") + before->name;
  }
  static constexpr char digits[] = "0123456789abcdef";
  std::string hex;
  for (std::uint64_t rest = address; rest != 0 || hex.empty(); rest /= 16) {
    hex.insert(hex.begin(), digits[rest % 16]);
  }
  return "address 0x" + hex;
}

std::string thread_text(const program& p, int thread) {
  const thread_context& c = model::at(p.threads, thread);
  if (c.copies_of >= 0) {
    return "thread " + std::to_string(thread) + (c.starters > 1 ? ", a matrix operation of " : ", an asynchronous copy of ") +
           thread_text(p, c.copies_of);
  }
  if (c.where.host && !p.fragment) {
    return "thread " + std::to_string(thread) + " (host thread " + c.kernel->name + ")";
  }
  const auto coordinates = [](const auto& v) {
    return v[1] == 0 && v[2] == 0 ? std::to_string(v[0])
                                  : std::to_string(v[0]) + "," + std::to_string(v[1]) + "," + std::to_string(v[2]);
  };
  return "thread " + std::to_string(thread) + " (" + c.kernel->name + ", block " + coordinates(c.block) + ", thread " +
         coordinates(c.thread) + ")";
}

namespace {

/// "a.cu:3": where an instruction is in the source, or the call of its function; empty if that is not known.
[[nodiscard]] std::string source_place(const program& p, int thread, const instruction& i) {
  const auto& files = model::at(p.threads, thread).kernel->files;
  const bool called = i.caller_line > 0;
  const auto file = static_cast<std::size_t>(std::max(called ? i.caller_file : i.file, 0));
  const int number = called ? i.caller_line : i.source_line;
  return number > 0 && file < files.size() ? files[file].substr(files[file].rfind('/') + 1) + ":" + std::to_string(number)
                                           : std::string();
}

}  // namespace

std::string place_of(const program& p, int thread, const instruction& i) {
  const std::string source = source_place(p, thread, i);
  return source.empty() ? "PTX line " + std::to_string(i.line) : source;
}

std::string places_text(const program& p, int thread, const instruction& x, const instruction& y) {
  const auto place = [](const instruction& i) {
    return std::array<int, 5>{i.caller_line > 0 ? i.caller_file : i.file, i.caller_line > 0 ? i.caller_line : i.source_line,
                              i.file, i.source_line, i.line};
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
  return "thread " + std::to_string(write.thread) + " writes " + place_text(p, read.address) + ", and thread " +
         std::to_string(read.thread) + " reads it by '" + instruction_of(p, read).text +
         "', which needs memory that nothing writes while the kernel runs";
}

std::string race_text(const program& p, const graph_event& x, const graph_event& y) {
  const auto access = [&](const graph_event& e) {
    return std::string(e.kind == model::event_kind::write || e.same_value ? "a write" : "a read") + " of " +
           std::to_string(e.bytes) + " bytes by " + thread_text(p, e.thread);
  };
  std::string why;
  if (machine::is_tensor_memory(y.address) && precedes(x, y.base)) {
    return "data race on " + place_text(p, std::max(x.address, y.address)) + ": " + access(x) + " and " + access(y) +
           "; threads synchronize between them, but tcgen05.fence::before_thread_sync before that and "
           "tcgen05.fence::after_thread_sync "
           "after it are not both there";
  }
  if (x.via != y.via && precedes(x, y.base)) {
    return "data race on " + place_text(p, std::max(x.address, y.address)) + ": " + access(x) + " and " + access(y) +
           "; the second comes after the first, but not through the other proxy: a proxy fence is missing between them";
  }
  if (x.address != y.address || x.bytes != y.bytes) {
    why = "they overlap in part, so that they are never morally strong";
  } else if (!x.strong || !y.strong) {
    why = !x.strong && !y.strong ? "both are weak" : std::string("the ") + (x.strong ? "second" : "first") + " is weak";
  } else {
    why = "their scopes do not include each other's thread";
  }
  return "data race on " + place_text(p, std::max(x.address, y.address)) + ": " + access(x) + " and " + access(y) +
         "; nothing orders them, and " + why;
}

finding finding_of(const program& p, const graph& g, check_status status, std::string message,
                   const std::vector<const graph_event*>& blamed) {
  finding result;
  result.status = status;
  result.message = std::move(message);
  std::vector<const graph_event*> events;
  for (const thread_run& run : g.threads) {
    events.insert(events.end(), run.events.begin(), run.events.end());
  }
  // an order in which every event comes after what it follows from: by the number of events that precede it
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
    shown.what = event_text(p, *e);
    shown.blamed = is_blamed;
    shown.event = *e;
    shown.event.source = shown.event.partner = nullptr;
    shown.event.base = shown.event.prefix = shown.event.past = shown.event.begun = nullptr;
    shown.event.heads = {};
    shown.event.crossed = shown.event.released = shown.event.given = nullptr;
    shown.event.started = nullptr;
    if (e->source != nullptr && !e->mixed) {
      shown.source_thread = e->source->thread;
      shown.source_number = e->source->number;
    }
  }
  for (int t = 0; t < model::count_of(g.threads); ++t) {
    const thread_run& run = model::at(g.threads, t);
    const thread_state* s = run.states.empty() ? nullptr : run.states.back();
    const bool waits = s != nullptr && s->status != thread_status::ended;
    result.waiting.push_back(waits ? &model::at(model::at(p.threads, t).kernel->code, s->pc) : nullptr);
  }
  return result;
}

}  // namespace membar::check
