// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <check/finding_text.hpp>
#include <check/program.hpp>
#include <check/sync_points.hpp>
#include <check/trace.hpp>
#include <litmus/writer.hpp>
#include <membar/memory_order.hpp>
#include <membar/model/array.hpp>
#include <membar/model/error.hpp>
#include <membar/thread_scope.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

namespace membar::check {

namespace {

/// Writes the litmus test for a finding.
class finding_litmus {
 public:
  finding_litmus(const program& p, const finding& f)
      : program_(whole_program(p, f)), events_(f.events), race_(f.status == check_status::race), kept_(f.events.size(), false) {
    for (std::size_t k = 0; k < events_.size(); ++k) {
      index_[{events_[k].thread, events_[k].number}] = k;
    }
  }

  [[nodiscard]] std::string text(const std::string& name) {
    if (std::find(program_.dependent.begin(), program_.dependent.end(), true) != program_.dependent.end()) {
      throw model::error("the program has a dependent launch, which a litmus test cannot express");
    }
    choose();
    std::string condition = "true";
    std::map<int, std::vector<std::string>> columns;
    std::map<int, int> registers;
    for (std::size_t k = 0; k < events_.size(); ++k) {
      const trace_event& e = events_[k];
      if (kept_[k] && (e.event.mbarrier != mbarrier_op::none || e.at->code >= op::cluster_arrive)) {
        throw model::error("the finding contains the instruction '" + e.at->text + "', which a litmus test cannot express");
      }
      if (kept_[k]) {
        columns[e.thread];
        sorted_.emplace_back(e.thread, e.number);
      }
    }
    std::sort(sorted_.begin(), sorted_.end());
    for (const auto& [thread, number] : sorted_) {
      const trace_event& e = events_[index_.at({thread, number})];
      std::vector<std::string>& column = columns[thread];
      const std::string line = instruction_of_test(e, registers[thread], condition);
      if (!line.empty()) {
        column.push_back(line);
      }
    }
    if (columns.size() > 16) {
      throw model::error("the finding involves " + std::to_string(columns.size()) +
                         " threads; a litmus test can have at most 16");
    }
    std::string out = "PTX " + name + "\n{\n";
    for (const auto& [address, bytes] : sizes_) {
      out += "  " + name_of(address) + " = " + std::to_string(initial(address, bytes)) + ";\n";
    }
    for (const auto& [t, first] : columns) {
      for (const auto& [u, second] : columns) {
        const int launch = model::at(program_.threads, u).launch;
        if (launch < model::count_of(program_.launches_before)) {
          const auto& before = model::at(program_.launches_before, launch);
          if (std::find(before.begin(), before.end(), model::at(program_.threads, t).launch) != before.end()) {
            out += "  P" + std::to_string(t) + " precedes P" + std::to_string(u) + ";\n";
          }
        }
      }
    }
    out += "}\n" + rows(columns);
    return out + "exists (" + condition + ")\n";
  }

 private:
  // ---- the events to include

  void keep(std::size_t k) {
    std::vector<std::size_t> open = {k};
    while (!open.empty()) {
      const std::size_t n = open.back();
      open.pop_back();
      if (kept_[n]) {
        continue;
      }
      kept_[n] = true;
      const trace_event& e = events_[n];
      if (e.number > 0) {
        open.push_back(index_.at({e.thread, e.number - 1}));
      }
      if (e.source_thread >= 0) {
        open.push_back(index_.at({e.source_thread, e.source_number}));
      }
      if (const auto next = index_.find({e.thread, e.number + 1});
          next != index_.end() && events_[next->second].event.kind == model::event_kind::write &&
          events_[next->second].event.rmw && e.event.kind == model::event_kind::read) {
        open.push_back(next->second);
      }
      for (std::size_t m = 0; m < events_.size() && e.event.kind == model::event_kind::barrier; ++m) {
        if (events_[m].event.kind == model::event_kind::barrier && block_of(events_[m]) == block_of(e)) {
          open.push_back(m);
        }
      }
    }
  }

  [[nodiscard]] int block_of(const trace_event& e) const { return model::at(program_.threads, e.thread).block_number; }

  [[nodiscard]] static bool accesses(const trace_event& e) noexcept {
    return e.event.kind == model::event_kind::read || e.event.kind == model::event_kind::write;
  }

  /// Keeps the events that lead to the blamed events, or all events if none is blamed. Then drops memory that only one thread
  /// accesses, and loop iterations that the next iteration repeats.
  void choose() {
    bool blamed = false;
    for (std::size_t k = 0; k < events_.size(); ++k) {
      if (events_[k].blamed) {
        blamed = true;
        keep(k);
      }
    }
    if (race_ && std::count_if(events_.begin(), events_.end(), [](const trace_event& e) { return e.blamed; }) < 2) {
      throw model::error("the accesses that race have different sizes, which a litmus test cannot express");
    }
    if (!blamed) {
      kept_.assign(kept_.size(), true);
    }
    std::map<std::uint64_t, std::set<int>> users;
    for (std::size_t k = 0; k < events_.size(); ++k) {
      if (kept_[k] && accesses(events_[k])) {
        for (int b = 0; b < events_[k].event.bytes; ++b) {
          users[events_[k].event.address + static_cast<std::uint64_t>(b)].insert(events_[k].thread);
        }
      }
    }
    for (std::size_t k = 0; k < events_.size(); ++k) {
      const trace_event& e = events_[k];
      if (!kept_[k] || !accesses(e) || e.blamed) {
        continue;
      }
      bool alone = true;
      for (int b = 0; b < e.event.bytes; ++b) {
        alone = alone && users[e.event.address + static_cast<std::uint64_t>(b)].size() == 1;
      }
      kept_[k] = !alone && !repeated(e);
    }
    for (std::size_t k = 0; k < events_.size(); ++k) {
      const trace_event& e = events_[k];
      if (kept_[k] && accesses(e)) {
        const auto [it, added] = sizes_.emplace(e.event.address, e.event.bytes);
        if (it->second != e.event.bytes || e.event.bytes > 8 || e.event.mixed) {
          throw model::error("the finding contains accesses of different sizes, or of 16 bytes, to " +
                             place_text(program_, e.event.address) + ", which a litmus test cannot express");
        }
      }
    }
  }

  /// Returns whether the same instruction later loads from the same write again.
  [[nodiscard]] bool repeated(const trace_event& e) const {
    return e.event.kind == model::event_kind::read && !e.event.rmw &&
           std::any_of(events_.begin(), events_.end(), [&](const trace_event& o) {
             return o.thread == e.thread && o.number > e.number && o.at == e.at && o.event.kind == e.event.kind &&
                    o.event.address == e.event.address && o.source_thread == e.source_thread &&
                    o.source_number == e.source_number && kept_[index_.at({o.thread, o.number})];
           });
  }

  // ---- text

  [[nodiscard]] static std::string order_and_scope(const instruction& i) {
    static constexpr const char* orders[] = {".relaxed", ".acquire", ".release", ".acq_rel", ".sc"};
    static constexpr std::pair<thread_scope, const char*> scopes[] = {{thread_scope::block, ".cta"},
                                                                      {thread_scope::cluster, ".cluster"},
                                                                      {thread_scope::device, ".gpu"},
                                                                      {thread_scope::system, ".sys"}};
    std::string text = i.order == memory_order::relaxed   ? orders[0]
                       : i.order == memory_order::acquire ? orders[1]
                       : i.order == memory_order::release ? orders[2]
                       : i.order == memory_order::acq_rel ? orders[3]
                                                          : orders[4];
    for (const auto& [scope, word] : scopes) {
      text += scope == i.scope ? word : "";
    }
    return text;
  }

  [[nodiscard]] std::string instruction_of_test(const trace_event& e, int& registers, std::string& condition) {
    const instruction& i = *e.at;
    const std::string where = accesses(e) ? name_of(e.event.address) : "";
    const std::string size = e.event.bytes == 4 ? "" : ".b" + std::to_string(8 * e.event.bytes);
    const auto number = [](std::uint64_t v) { return std::to_string(static_cast<std::int64_t>(v)); };
    const auto seen = [&] {
      if (registers == 32) {
        throw model::error(
            "a thread in the finding reads more than 32 values; a litmus test has only 32 registers for each thread");
      }
      const std::string reg = "r" + std::to_string(registers++);
      condition += " /\\ P" + std::to_string(e.thread) + ":" + reg + " == " + number(e.event.value.low);
      return reg;
    };
    const std::string how = i.strong ? order_and_scope(i) : ".weak";
    switch (e.event.kind) {
      case model::event_kind::read: {
        if (!e.event.rmw) {
          return "ld" + how + size + " " + seen() + ", " + where;
        }
        const auto next = index_.find({e.thread, e.number + 1});
        const trace_event* const write = next != index_.end() && events_[next->second].event.rmw &&
                                                 events_[next->second].event.kind == model::event_kind::write
                                             ? &events_[next->second]
                                             : nullptr;
        if (write == nullptr) {
          return "atom" + how + ".cas" + size + " " + seen() + ", " + where + ", " + number(e.event.value.low + 1) + ", 0";
        }
        if (e.event.reduction) {
          return "red" + how + ".add" + size + " " + where + ", " + number(write->event.value.low - e.event.value.low);
        }
        return "atom" + how + ".exch" + size + " " + seen() + ", " + where + ", " + number(write->event.value.low);
      }
      case model::event_kind::write:
        return e.event.rmw ? "" : "st" + how + size + " " + where + ", " + number(e.event.value.low);
      case model::event_kind::fence:
        return "fence" + order_and_scope(i);
      default:
        if (i.code == op::warp_barrier) {
          throw model::error("the finding contains a bar.warp.sync, which a litmus test cannot express");
        }
        return !e.event.releases             ? ""
               : i.code == op::block_barrier ? "bar.cta.sync " + std::to_string(sync_points::number_of(e.event.sync_point))
               : i.code == op::block_arrive  ? "bar.cta.arrive " + std::to_string(sync_points::number_of(e.event.sync_point))
                                             : "";
    }
  }

  [[nodiscard]] std::string name_of(std::uint64_t address) const {
    std::string name = place_text(program_, address);
    for (char& c : name) {
      const bool letter = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_';
      c = letter ? c : '_';
    }
    return name;
  }

  [[nodiscard]] std::int64_t initial(std::uint64_t address, int bytes) const {
    std::uint64_t value = 0;
    for (const memory_object& o : program_.memory) {
      for (int b = 0; b < bytes; ++b) {
        const std::uint64_t at = address + static_cast<std::uint64_t>(b) - o.address;
        if (address >= o.address && at < o.initial.size()) {
          value |= std::uint64_t{o.initial[static_cast<std::size_t>(at)]} << (8 * static_cast<unsigned>(b));
        }
      }
    }
    return static_cast<std::int64_t>(value);
  }

  [[nodiscard]] std::string rows(const std::map<int, std::vector<std::string>>& columns) const {
    std::size_t longest = 0;
    std::string out;
    for (const auto& [t, column] : columns) {
      longest = std::max(longest, column.size());
      out += (out.empty() ? " P" : " | P") + std::to_string(t) + "@" +
             litmus_files::place_text(model::at(program_.threads, t).where);
    }
    out += " ;\n";
    for (std::size_t row = 0; row < longest; ++row) {
      std::string line;
      for (const auto& [t, column] : columns) {
        line += (t == columns.begin()->first ? " " : " | ") + (row < column.size() ? column[row] : std::string());
      }
      out += line + " ;\n";
    }
    return out;
  }

  const program& program_;
  const std::vector<trace_event>& events_;
  bool race_;
  std::vector<bool> kept_;
  std::map<std::pair<int, int>, std::size_t> index_{};
  std::vector<std::pair<int, int>> sorted_{};
  std::map<std::uint64_t, int> sizes_{};
};

}  // namespace

std::string litmus_of(const program& p, const finding& f, const std::string& name) { return finding_litmus(p, f).text(name); }

std::string dot_of(const program& launched, const finding& f, const std::string& name) {
  const program& p = whole_program(launched, f);
  const auto quoted = [](const std::string& text) {
    std::string out;
    for (const char c : text) {
      out += c == '"' || c == '\\' ? std::string("\\") + c : std::string(1, c);
    }
    return "\"" + out + "\"";
  };
  const auto node = [](int thread, int number) { return "e" + std::to_string(thread) + "_" + std::to_string(number); };
  std::string out = "digraph " + quoted(name) + " {\n  label=" + quoted(f.message) + ";\n  node [shape=box];\n";
  for (int t = 0; t < model::count_of(p.threads); ++t) {
    std::vector<const trace_event*> mine;
    for (const trace_event& e : f.events) {
      if (e.thread == t) {
        mine.push_back(&e);
      }
    }
    if (mine.empty() && model::at(p.threads, t).copies_of >= 0) {
      continue;
    }
    std::sort(mine.begin(), mine.end(), [](auto* x, auto* y) { return x->number < y->number; });
    out += "  subgraph cluster_" + std::to_string(t) + " {\n    label=" + quoted(thread_text(p, t)) + ";\n";
    for (const trace_event* e : mine) {
      out += "    " + node(t, e->number) + " [label=" + quoted(e->at->text + (e->what.empty() ? "" : ": " + e->what)) +
             (e->blamed ? ", color=red" : "") + "];\n";
    }
    for (std::size_t k = 1; k < mine.size(); ++k) {
      out += "    " + node(t, mine[k - 1]->number) + " -> " + node(t, mine[k]->number) + ";\n";
    }
    out += "  }\n";
  }
  for (const trace_event& e : f.events) {
    if (e.source_thread >= 0) {
      out += "  " + node(e.source_thread, e.source_number) + " -> " + node(e.thread, e.number) +
             " [label=rf, color=darkgreen, constraint=false];\n";
    }
  }
  return out + "}\n";
}

}  // namespace membar::check
