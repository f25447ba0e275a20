// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <check/buffering_cycle.hpp>
#include <check/program.hpp>
#include <check/trace.hpp>
#include <membar/model/array.hpp>
#include <ptx/cuda_words.hpp>

#include <algorithm>
#include <cstddef>
#include <map>
#include <string>
#include <utility>
#include <vector>

namespace membar::check {

namespace {

using model::event_kind;

/// Searches backwards along program order and reads-from.
class cycle_search {
 public:
  explicit cycle_search(const finding& f) : finding_(f) {
    for (int k = 0; k < model::count_of(f.events); ++k) {
      index_[{model::at(f.events, k).thread, model::at(f.events, k).number}] = k;
    }
  }

  [[nodiscard]] std::vector<cycle_part> shortest() {
    std::vector<int> best;
    std::map<int, int> last;  // per thread: the largest number of an event that the loop has passed
    for (int k = 0; k < model::count_of(finding_.events); ++k) {
      const trace_event& e = model::at(finding_.events, k);
      int& newest = last.try_emplace(e.thread, e.number).first->second;
      // the trace lists a write before the reads of its value, so every cycle has a read that is listed after a later event
      if (newest > e.number && e.event.kind == event_kind::read && e.source_thread >= 0) {
        std::vector<int> path = path_from_later_event(k);
        best = !path.empty() && (best.empty() || path.size() < best.size()) ? std::move(path) : best;
      }
      newest = std::max(newest, e.number);
    }
    return parts(best);
  }

 private:
  [[nodiscard]] int place(int thread, int number) const {
    const auto found = index_.find({thread, number});
    return found == index_.end() ? -1 : found->second;
  }

  /// Returns the shortest path from read `r` to itself that begins with a step to a later event of the same thread, or nothing if
  /// there is no such path.
  [[nodiscard]] std::vector<int> path_from_later_event(int r) const {
    const trace_event& read = model::at(finding_.events, r);
    std::vector<int> next(finding_.events.size(), -1);  // per event that leads to the read: the next event on the path
    std::vector<int> reached;
    const auto reach = [&](int from, int to) {
      if (from >= 0 && model::at(next, from) < 0) {
        model::at(next, from) = to;
        reached.push_back(from);
      }
    };
    reach(place(read.source_thread, read.source_number), r);
    for (std::size_t n = 0; n < reached.size(); ++n) {
      const int k = reached[n];
      const trace_event& e = model::at(finding_.events, k);
      if (e.thread == read.thread && e.number > read.number) {
        std::vector<int> path(1, r);
        for (int at = k; at != r; at = model::at(next, at)) {
          path.push_back(at);
        }
        return path;
      }
      reach(place(e.thread, e.number - 1), k);
      if (e.event.kind == event_kind::read && e.source_thread >= 0) {
        reach(place(e.source_thread, e.source_number), k);
      }
    }
    return {};
  }

  [[nodiscard]] std::vector<cycle_part> parts(const std::vector<int>& path) const {
    std::vector<cycle_part> result;
    for (const int k : path) {
      const trace_event& e = model::at(finding_.events, k);
      if (result.empty() || result.back().read->thread != e.thread) {
        result.push_back({&e, &e});
      }
      result.back().write = &e;
    }
    return result;
  }

  const finding& finding_;
  std::map<std::pair<int, int>, int> index_{};
};

/// Returns whether the code has a fence or an order that may order the two events of a part.
bool has_order(const finding& f, const cycle_part& part) {
  return part.read->event.acquires || part.write->event.releases ||
         std::any_of(f.events.begin(), f.events.end(), [&](const trace_event& e) {
           return e.thread == part.read->thread && e.number > part.read->number && e.number < part.write->number &&
                  e.event.kind == event_kind::fence;
         });
}

/// Returns the places of a part's two events. If they are on one source line, returns their lines in the PTX.
std::pair<std::string, std::string> places_of(const program& p, const cycle_part& part) {
  const int thread = issuer_of(p, part.read->thread);
  std::pair<std::string, std::string> result{place_of(p, thread, *part.read->at), place_of(p, thread, *part.write->at)};
  if (result.first == result.second) {
    result = {"PTX line " + std::to_string(part.read->at->line), "PTX line " + std::to_string(part.write->at->line)};
  }
  return result;
}

/// Returns the fences that rule out the cycle, or an empty string if all its parts already have a fence or an order, or if a host
/// thread needs a fence.
std::string missing_fences(const program& p, const finding& f, const std::vector<cycle_part>& cycle) {
  std::string places;
  thread_scope scope = thread_scope::block;
  for (const cycle_part& part : cycle) {
    for (const cycle_part& other : cycle) {
      scope = std::max(scope, scope_with(p, part.read->thread, other.read->thread, part.read->event.address));
    }
    if (has_order(f, part)) {
      continue;
    }
    if (model::at(p.threads, part.read->thread).where.host) {
      return {};
    }
    const auto [first, second] = places_of(p, part);
    const std::string between = "between " + first + " and " + second;
    if (places.find(between) == std::string::npos) {
      places += (places.empty() ? "" : " and ") + between;
    }
  }
  return places.empty() ? "" : in_cuda(op::fence, {}, memory_order::acq_rel, scope).cuda + " " + places;
}

}  // namespace

std::vector<cycle_part> buffering_cycle(const finding& f) { return cycle_search(f).shortest(); }

std::vector<std::string> buffering_notes(const program& launched, const finding& f) {
  const program& p = whole_program(launched, f);
  const std::vector<cycle_part> cycle = buffering_cycle(f);
  if (cycle.empty()) {
    return {};
  }
  const cycle_part& early = cycle.front();
  const auto [first, second] = places_of(p, early);
  const std::string text = "load buffering: event " + std::to_string(early.read->number) + " of thread " +
                           std::to_string(early.read->thread) + " reads a value that is written after event " +
                           std::to_string(early.write->number) + " of the same thread";
  const std::string fences = missing_fences(p, f, cycle);
  std::vector<std::string> notes{
      text + (has_order(f, early) ? ": the order between " + first + " and " + second +
                                        " has no effect, because the threads involved do not all acquire what they read and "
                                        "release what they write at scopes that include each other"
                                  : ", because nothing orders " + first + " before " + second)};
  if (!fences.empty()) {
    notes.push_back("to rule out this execution, add " + fences);
  }
  return notes;
}

}  // namespace membar::check
