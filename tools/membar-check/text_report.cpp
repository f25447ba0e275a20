// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <membar-check/places.hpp>
#include <membar-check/report.hpp>
#include <membar-check/source_lines.hpp>

#include <check/buffering_cycle.hpp>
#include <check/finding_notes.hpp>
#include <check/handover.hpp>
#include <check/trace.hpp>
#include <membar/model/execution.hpp>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <limits>
#include <map>
#include <memory>
#include <ostream>
#include <set>
#include <string>
#include <utility>
#include <vector>

namespace membar_check {

namespace {

namespace model = membar::model;

/// Selects the events of a finding to show. These are the events at fault and, for each of their threads, the last read of a
/// value that another thread has written, and that write. Also shows the reads whose values determine the addresses of the
/// events at fault, the threads' earlier reads of the same locations, the writes and the reads of the values that other threads
/// hand over between the accesses of a race, the writes on which a wrong final value depends, and the reads and writes of load
/// buffering. Sync points and shuffles are omitted, as
/// are blocks without any of these events. In a hang, one thread of a block represents all threads that wait at the same
/// instruction.
class shown_events {
 public:
  shown_events(const check::program& p, const check::finding& f, const request& how)
      : program_(p), finding_(f), most_(how.events), asked_(how.fill_events), shown_(f.events.size(), how.all_events) {
    for (std::size_t k = 0; k < f.events.size(); ++k) {
      index_[{f.events[k].thread, f.events[k].number}] = k;
    }
    if (!how.all_events) {
      choose();
    }
  }

  [[nodiscard]] bool operator[](std::size_t k) const { return shown_[k]; }
  [[nodiscard]] bool all() const { return std::find(shown_.begin(), shown_.end(), false) == shown_.end(); }
  [[nodiscard]] bool has(int thread, int number) const {
    const auto it = index_.find({thread, number});
    return it != index_.end() && shown_[it->second];
  }
  /// Returns the index of an event in the finding, or the number of events if the finding does not contain it.
  [[nodiscard]] std::size_t place(int thread, int number) const {
    const auto it = index_.find({thread, number});
    return it == index_.end() ? finding_.events.size() : it->second;
  }
  /// Returns the write that belongs to the read-modify-write whose read is event `k`. Returns 0 if there is none, or if the
  /// operation did not write.
  [[nodiscard]] std::size_t write_of(std::size_t k) const {
    const check::trace_event& e = finding_.events[k];
    const std::size_t next = place(e.thread, e.number + 1);
    const bool is_half = e.event.kind == model::event_kind::read && e.event.rmw && next < finding_.events.size();
    return is_half && finding_.events[next].event.kind == model::event_kind::write && finding_.events[next].event.rmw ? next
                                                                                                                      : 0;
  }

 private:
  void add(std::size_t k) {
    const check::trace_event& e = finding_.events[k];
    const bool second = e.event.rmw && e.event.kind == model::event_kind::write && e.number > 0;
    const std::size_t first = second ? place(e.thread, e.number - 1) : k;
    if (shown_[k] || count_ >= most_) {
      return;
    }
    ++count_;
    shown_[k] = shown_[first] = true;
    shown_[write_of(first)] = shown_[write_of(first)] || write_of(first) != 0;
    blocks_.insert(model::at(program_.threads, e.thread).block_number);
  }

  /// Adds the last read of thread `t` before its event `limit`. A read of a value from another thread is preferred.
  void add_last_read(int t, int limit) {
    const check::trace_event* last = nullptr;
    for (const check::trace_event& e : finding_.events) {
      if (e.thread == t && e.number < limit && e.event.kind == model::event_kind::read) {
        const bool of_other = e.source_thread >= 0 && e.source_thread != t;
        const bool better = last == nullptr || of_other || last->source_thread < 0 || last->source_thread == t;
        last = better && (last == nullptr || e.number > last->number) ? &e : last;
      }
    }
    if (last != nullptr) {
      add(place(t, last->number));
      if (last->source_thread >= 0) {
        add(place(last->source_thread, last->source_number));
      }
    }
  }

  /// Follows the values of the threads in `limits`, up to their limits, back through the threads that wrote them. Adds the last
  /// reads of up to two locations that another thread wrote, for example of a flag and of a value, and these writes; then does
  /// the same for the writing threads, whose limits become the writes.
  void add_sources(std::map<int, int>& limits) {
    std::vector<std::pair<int, int>> open(limits.begin(), limits.end());
    for (std::size_t at = 0; at < open.size() && count_ < most_; ++at) {
      std::set<std::uint64_t> addresses;
      const auto [thread, limit] = open[at];
      const int end = std::min(limit, static_cast<int>(finding_.events.size()));
      for (int number = end; number-- > 0 && addresses.size() < 2;) {
        const std::size_t k = place(thread, number);
        if (k == finding_.events.size()) {
          continue;
        }
        const check::trace_event& e = finding_.events[k];
        const bool of_other = e.event.kind == model::event_kind::read && e.source_thread >= 0 && e.source_thread != thread;
        if (of_other && addresses.insert(e.event.address).second) {
          add(k);
          add(place(e.source_thread, e.source_number));
          if (limits.emplace(e.source_thread, e.source_number).second) {
            open.emplace_back(e.source_thread, e.source_number);
          }
        }
      }
    }
  }

  /// For each event at fault, adds its thread's last earlier read of the same location, for example of a lock or a counter, if
  /// another thread wrote the value.
  void add_reads_of_locations() {
    for (std::size_t k = finding_.events.size(); k-- > 0;) {
      const check::trace_event& e = finding_.events[k];
      for (std::size_t n = k; e.blamed && n-- > 0;) {
        const check::trace_event& r = finding_.events[n];
        if (r.thread == e.thread && r.event.kind == model::event_kind::read && r.event.address == e.event.address) {
          if (r.source_thread >= 0 && r.source_thread != e.thread) {
            add(n);
          }
          break;
        }
      }
    }
  }

  /// Adds the reads whose values determine the addresses of the events at fault.
  void add_reads_of_addresses() {
    for (const check::trace_event& e : finding_.events) {
      for (const int n : e.address_events) {
        const std::size_t k = place(e.thread, n);
        if (finding_.events[k].event.kind == model::event_kind::read) {
          add(k);
        }
      }
    }
  }

  /// Returns whether an earlier thread of the block waits at the same instruction as thread `t` in a hang.
  [[nodiscard]] bool is_represented(std::size_t t) const {
    const auto block = [&](std::size_t u) { return program_.threads[u].block_number; };
    bool found = false;
    for (std::size_t u = 0; u < t && finding_.status == check::check_status::hang; ++u) {
      found = found || (finding_.waiting[u] == finding_.waiting[t] && block(u) == block(t));
    }
    return found;
  }

  void choose() {
    std::map<int, int> limits;  // the threads with relevant events; each is shown up to its limit
    std::set<int> represented;  // the threads whose events are shown only if the user asks for more events
    const auto blamed = std::count_if(finding_.events.begin(), finding_.events.end(), [](const auto& e) { return e.blamed; });
    const bool two_accesses =
        finding_.status == check::check_status::race || (finding_.status == check::check_status::uninitialised && blamed != 0);
    const bool fill = asked_ || !two_accesses;
    most_ = std::max(most_, static_cast<std::uint64_t>(blamed));
    for (std::size_t k = 0; k < finding_.events.size(); ++k) {
      const check::trace_event& e = finding_.events[k];
      if (e.blamed) {
        add(k);
        const auto limit = limits.emplace(e.thread, e.number).first;
        limit->second = std::min(limit->second, e.number);
      }
    }
    add_reads_of_addresses();
    add_reads_of_locations();
    for (const check::trace_event& e : finding_.events) {  // the start of a copy that is at fault is relevant
      if (e.event.kind == model::event_kind::issue && limits.count(e.event.starts) != 0) {
        add(place(e.thread, e.number));
        limits.emplace(e.thread, e.number);
      }
    }
    if (limits.empty() && finding_.thread >= 0) {
      limits.emplace(finding_.thread, std::numeric_limits<int>::max());
    }
    const bool all = limits.empty();
    for (std::size_t t = 0; t < finding_.waiting.size() && all; ++t) {
      if (finding_.status != check::check_status::hang || finding_.waiting[t] != nullptr) {
        if (is_represented(t)) {
          represented.insert(static_cast<int>(t));
        } else {
          limits.emplace(static_cast<int>(t), std::numeric_limits<int>::max());
        }
      }
    }
    for (const auto& [thread, limit] : limits) {
      add_last_read(thread, limit);
    }
    if (finding_.status == check::check_status::violated && !all) {
      add_sources(limits);
    }
    const check::handover h = check::handover_of(program_, finding_);
    for (const check::passed_value& value : h.values) {
      if (const check::trace_event& first = *value.publications.front(); &first != value.write) {
        add(place(first.thread, first.number));
      }
      if (h.values.size() > 1 || value.write->thread != h.first->thread || value.read->thread != h.second->thread) {
        add(place(value.write->thread, value.write->number));
        add(place(value.read->thread, value.read->number));
      }
    }
    for (const check::cycle_part& part : check::buffering_cycle(finding_)) {
      add(place(part.read->thread, part.read->number));
      add(place(part.write->thread, part.write->number));
    }
    for (const bool told : {true, false}) {
      for (std::size_t k = finding_.events.size(); k-- > 0 && fill;) {
        const check::trace_event& e = finding_.events[k];
        const bool meets = e.event.kind == model::event_kind::barrier && !e.event.chosen;
        const bool part = all || blocks_.count(model::at(program_.threads, e.thread).block_number) != 0;
        const auto limit = limits.find(e.thread);
        const bool is_early = limit == limits.end() || two_accesses || e.number <= limit->second;
        if (!meets && part && (asked_ || (represented.count(e.thread) == 0 && is_early)) && (limit != limits.end()) == told) {
          add(k);
        }
      }
    }
  }

  const check::program& program_;
  const check::finding& finding_;
  std::uint64_t most_;
  bool asked_;
  std::uint64_t count_ = 0;
  std::vector<bool> shown_;
  std::map<std::pair<int, int>, std::size_t> index_{};
  std::set<int> blocks_{};
};

/// Formats a number of things, for example "1 execution" or "2 executions".
std::string counted(std::uint64_t n, const std::string& noun) { return std::to_string(n) + " " + noun + (n == 1 ? "" : "s"); }

/// Returns whether a cost rounds to 0.0 ns.
bool is_nothing(double ns) { return std::abs(ns) < 0.05; }

/// Formats a number of nanoseconds with a sign, or returns "no extra cost" if it rounds to 0.0.
std::string nanoseconds(double ns) {
  char text[32];
  static_cast<void>(std::snprintf(text, sizeof text, "%+.1f ns", ns));
  return is_nothing(ns) ? "no extra cost" : text;
}

/// Returns the cost of a repair, for example "+14.8 ns on NVIDIA H200" or "2 barriers".
std::string price(const check::repair& one, const std::vector<check::code_site>& sites, const std::string& device) {
  const std::string barriers = one.barriers == 1 ? "a barrier" : std::to_string(one.barriers) + " barriers";
  const auto is_measured = [&](const check::code_edit& e) {
    const check::code_site& site = sites[static_cast<std::size_t>(e.site)];
    return !site.gap && !site.host;
  };
  const bool others = one.edits.size() > static_cast<std::size_t>(one.barriers);
  const bool measured = std::any_of(one.edits.begin(), one.edits.end(), is_measured);
  return !others ? barriers
                 : (measured ? nanoseconds(one.cost) + " on " + device : "cost not measured") +
                       (one.barriers == 0 ? "" : " and " + barriers);
}

class text_writer final : public report {
 public:
  text_writer(std::ostream& out, const request& how) : out_(out), how_(how) {}

  void result(const checked_file& file) override {
    const check::check_result& r = file.result;
    spelled_.clear();
    char time[32];
    static_cast<void>(std::snprintf(time, sizeof time, "%.2f", file.seconds));
    out_ << file.path << '\t' << check::name(r.status) << '\t' << counted(r.counts.executions, "execution") << ", "
         << r.counts.blocked << " blocked, " << time << " s";
    if (r.status == check::check_status::verified) {
      out_ << (r.load_buffering_is_open ? "; without load buffering" : "") << (r.symmetric ? "; equal threads exchanged" : "");
      for (const std::string& warning : file.warnings) {
        out_ << "; " << warning;
      }
    }
    for (const std::string& stated : file.prepared.stated) {
      out_ << "; " << stated;
    }
    const std::vector<std::string> places = places_of_finding(check::whole_program(file.prepared.checked, r.found), r.found);
    for (const std::string& place : places) {
      out_ << (&place == &places.front() ? "; " : " and ") << place;
    }
    if (how_.options.random_executions != 0 && r.status != check::check_status::gave_up) {
      out_ << "; seed " << r.seed;
    }
    out_ << "\n";
    if (r.status == check::check_status::verified || how_.quiet) {
      return;
    }
    show(check::whole_program(file.prepared.checked, r.found), r.found);
    const bool may_be_repaired = r.status == check::check_status::race || r.status == check::check_status::violated ||
                                 !check::buffering_cycle(r.found).empty();
    if (how_.repair == 0 && may_be_repaired && how_.options.random_executions == 0) {
      out_ << "  --repair searches for orders, scopes, fences and barriers that let the scenario pass\n";
    }
  }

  /// Returns whether a finding is a race between different blocks of one launch.
  [[nodiscard]] static bool is_between_blocks(const checked_file& file) {
    const check::finding& f = file.result.found;
    const check::program& p = check::whole_program(file.prepared.checked, f);
    std::set<int> launches;
    std::set<int> blocks;
    for (const check::trace_event& e : f.events) {
      if (e.blamed && f.status == check::check_status::race) {
        const check::thread_context& c = model::at(p.threads, check::issuer_of(p, e.thread));
        launches.insert(c.launch);
        blocks.insert(c.block_number);
      }
    }
    return launches.size() == 1 && blocks.size() == 2;
  }

  void repairs(const checked_file& file, const check::repair_result& found, const check::order_costs& costs) override {
    constexpr std::uint64_t most_searched = 3;  // the maximum for --repair without a number
    constexpr std::size_t most = 3;             // other repairs of this size differ only in the position of a fence
    const std::vector<check::code_site> sites = check::sites_of(file.prepared.checked);
    if (found.repairs.empty()) {
      const std::string loop = check::loop_that_loads_nothing(file.prepared.checked, file.result.found);
      if (found.left_out) {
        out_ << "  no repair was found, but not all sets of changes were examined completely (" << found.explorations
             << " explorations): try a smaller launch; some faults can be fixed only by moving a line, which the "
                "search does not try";
      } else {
        out_ << "  no repair: no "
             << (found.tried == 1 ? "single change" : "set of up to " + std::to_string(found.tried) + " changes")
             << " to orders, scopes, fences or barriers lets the scenario pass (" << found.explorations << " explorations)";
      }
      out_ << (how_.repair < most_searched ? "; --repair searches for sets of up to " + std::to_string(most_searched)
               : !loop.empty()             ? "; the loop at " + loop + " loads nothing, and no order changes that"
               : found.left_out            ? ""
               : is_between_blocks(file)
                   ? "; the kernel needs a different change, such as a grid barrier, or has more than one fault"
                   : "; the kernel needs a different change, or has more than one fault")
           << "\n";
    }
    for (std::size_t k = 0; k < found.repairs.size() && k < most; ++k) {
      const check::repair& one = found.repairs[k];
      out_ << "  repair " << k + 1 << " of " << found.repairs.size() << ": " << price(one, sites, costs.device())
           << "; verified, " << counted(one.counts.executions, "execution")
           << (one.load_buffering_is_open ? ", but not all executions with load buffering could be explored" : "")
           << (!one.only_strong ? ""
               : file.prepared.finals.empty()
                   ? "; the race is gone, but stale values may still be read: use a final condition to state which values may "
                     "be read"
                   : "; the race is gone, but stale values may still be read, as far as the final condition allows")
           << "\n";
      for (std::size_t n = 0; n < one.edits.size(); ++n) {
        show_edit(file.prepared.checked, sites[static_cast<std::size_t>(one.edits[n].site)], one.edits[n], one.costs[n]);
      }
    }
    if (found.repairs.size() > most) {
      out_ << "  --format=json shows all " << found.repairs.size() << " repairs\n";
    }
    if (!found.repairs.empty() && found.left_out) {
      out_ << "  not all sets of changes were examined completely, so there may be other repairs\n";
    }
  }

  void excess_orders(const checked_file& file, const check::excess_result& found, const check::order_costs& costs) override {
    const std::vector<check::code_site> sites = check::sites_of(file.prepared.checked);
    out_ << "  " << found.alone.size() << " of " << found.orders << " orders are stronger than this scenario needs"
         << (found.left_out ? "; some explorations were cut short" : "") << "\n";
    show_excess(file.prepared.checked, sites, found.alone, costs.device());
    if (!found.alone.empty()) {
      const bool all = std::equal(found.alone.begin(), found.alone.end(), found.together.begin(), found.together.end(),
                                  [](const check::excess_order& x, const check::excess_order& y) { return x.edit == y.edit; });
      if (found.alone.size() > 1) {
        out_ << "  each can be weakened separately" << (all ? ", and all of them can be weakened together" : "; together:")
             << "\n";
        if (!all) {
          show_excess(file.prepared.checked, sites, found.together, costs.device());
        }
      }
      out_ << "  another launch may need an order that this one does not\n";
    }
  }

  void error(const std::string& path, const std::string& message, bool) override {
    out_ << path << "\terror\t" << message << "\n";
  }
  void end() override {}

 private:
  /// Returns the source line of an instruction, or the PTX if there is no source line.
  std::string shown(const check::program& p, int thread, const check::instruction& i) {
    return lines_.shown(p, thread, i, how_.ptx);
  }

  void show(const check::program& p, const check::finding& f) {
    out_ << "  " << f.message << "\n";
    for (const std::string& note : check::finding_notes(p, f)) {
      out_ << "  " << note << "\n";
    }
    const shown_events chosen(p, f, how_);
    int thread = -1;
    std::set<std::size_t> joined;
    for (std::size_t k = 0; k < f.events.size(); ++k) {
      if (!chosen[k] || joined.count(k) != 0) {
        continue;
      }
      const check::trace_event& e = f.events[k];
      if (e.thread != thread) {
        thread = e.thread;
        out_ << "  " << check::thread_text(p, thread) << "\n";
      }
      const std::size_t write = chosen.write_of(k);
      joined.insert(write != 0 && chosen[write] ? write : k);
      show_event(p, f, chosen, e, write != 0 && chosen[write] ? &f.events[write] : nullptr);
    }
    if (!chosen.all()) {
      out_ << "  --events=all shows all " << f.events.size() << " events\n";
    }
    show_waiting(p, f);
  }

  /// Shows an event, or both halves of a read-modify-write.
  void show_event(const check::program& p, const check::finding& f, const shown_events& chosen, const check::trace_event& e,
                  const check::trace_event* write) {
    std::string what = e.what;
    if (e.source_thread >= 0 && !chosen.has(e.source_thread, e.source_number)) {
      const check::trace_event& source = f.events[chosen.place(e.source_thread, e.source_number)];
      what += " at " + check::place_of(p, issuer_of(p, source.thread), *source.at);
    }
    what += write != nullptr ? "; " + write->what : "";
    const std::string number = std::to_string(e.number) + (write != nullptr ? "-" + std::to_string(write->number) : "");
    const std::string line = (e.blamed || (write != nullptr && write->blamed) ? "  > " : "    ") + number + ": " +
                             shown(p, issuer_of(p, e.thread), *e.at);
    out_ << with_comment(line, what) << "\n";
  }

  /// Shows where the unfinished threads are. Threads at the same instruction share a line.
  void show_waiting(const check::program& p, const check::finding& f) {
    if (f.thread >= 0 && f.waiting[static_cast<std::size_t>(f.thread)] != nullptr) {
      out_ << "  " << check::thread_text(p, f.thread) << " is at "
           << shown(p, issuer_of(p, f.thread), *f.waiting[static_cast<std::size_t>(f.thread)]) << "\n";
      return;
    }
    for (std::size_t t = 0; t < f.waiting.size() && f.status == check::check_status::hang; ++t) {
      const auto here = [&](const check::instruction* i) { return i == f.waiting[t]; };
      if (f.waiting[t] == nullptr || std::any_of(f.waiting.begin(), f.waiting.begin() + static_cast<std::ptrdiff_t>(t), here)) {
        continue;
      }
      const auto others = std::count_if(f.waiting.begin(), f.waiting.end(), here) - 1;
      out_ << "  " << check::thread_text(p, static_cast<int>(t))
           << (others == 0 ? " waits at "
                           : " and " + std::to_string(others) + (others == 1 ? " other wait at " : " others wait at "))
           << shown(p, issuer_of(p, static_cast<int>(t)), *f.waiting[t]) << "\n";
    }
  }

  /// Shows orders that can be weakened. Orders whose weakening saves nothing share the last line.
  void show_excess(const check::program& p, const std::vector<check::code_site>& sites,
                   const std::vector<check::excess_order>& orders, const std::string& device) {
    std::string free;
    for (const check::excess_order& one : orders) {
      const check::code_site& site = sites[static_cast<std::size_t>(one.edit.site)];
      if (!is_nothing(one.saved)) {
        show_edit(p, site, one.edit, -one.saved);
      } else {
        free += (free.empty() ? "" : ", ") + change_text(p, site, one.edit) + " (" +
                check::place_of(p, site.thread, instruction_at(p, site)) + ")";
      }
    }
    if (!free.empty()) {
      out_ << "    no measurable saving on " << device << ": " << free << "\n";
    }
  }

  /// Shows a change: the source line and, below it, the new instruction.
  void show_edit(const check::program& p, const check::code_site& site, const check::code_edit& e, double ns) {
    out_ << "    " << shown(p, site.thread, instruction_at(p, site)) << "\n         " << change_text(p, site, e)
         << (site.gap    ? ""
             : site.host ? "   cost not measured"
                         : "   " + nanoseconds(ns))
         << "\n";
    show_in_cuda(change_in_cuda(site, e));
  }

  /// Shows how an operation is spelled in C++, unless the report of this file has shown it before.
  void show_in_cuda(const check::cuda_spelling& spelling) {
    const bool both = !spelling.cuda.empty() && !spelling.membar.empty();
    if ((spelling.cuda.empty() && spelling.membar.empty()) || !spelled_.insert(spelling.cuda + spelling.membar).second) {
      return;
    }
    constexpr std::size_t widest = 110;
    const bool fits = spelling.cuda.size() + spelling.membar.size() < widest;
    out_ << "         in C++: " << spelling.cuda
         << (!both  ? ""
             : fits ? " or "
                    : "\n             or: ")
         << spelling.membar << "\n";
  }

  std::ostream& out_;
  const request& how_;
  source_lines lines_{};
  std::set<std::string> spelled_{};  ///< the C++ spellings that the report of the current file contains
};

}  // namespace

std::unique_ptr<report> text_report(std::ostream& out, const request& how) { return std::make_unique<text_writer>(out, how); }

}  // namespace membar_check
