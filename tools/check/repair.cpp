// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <check/async_copies.hpp>
#include <check/barrier_alignment.hpp>
#include <check/code_edit.hpp>
#include <check/explore.hpp>
#include <check/graph.hpp>
#include <check/handover.hpp>
#include <check/object_users.hpp>
#include <check/order_costs.hpp>
#include <check/program.hpp>
#include <check/repair.hpp>
#include <membar/model/array.hpp>
#include <membar/model/execution.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <limits>
#include <map>
#include <set>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

namespace membar::check {

namespace {

/// Searches for repairs of one program.
class repairer {
 public:
  repairer(const program& p, const check_property& property, const order_costs& costs, const repair_options& options)
      : property_(property), costs_(costs), options_(options), sites_(sites_of(p)), edited_(p), users_(p) {
    for (const thread_context& t : p.threads) {
      clusters_ = clusters_ || t.where.cluster >= 0;
    }
    copies_ = starts_copies(p);
    for (int k = 0; k < model::count_of(p.kernels); ++k) {
      targets_.push_back(jump_targets(*model::at(p.kernels, k)));
    }
    for (int s = 0; s < model::count_of(sites_); ++s) {
      for (const auto& place : model::at(sites_, s).places) {
        if (!model::at(sites_, s).gap) {
          site_at_[place] = s;
        }
      }
    }
    program_ = &p;
  }

  [[nodiscard]] repair_result repairs() {
    repair_result result;
    // Exploring load buffering takes most of the time. Therefore the search first omits it, and then explores load buffering
    // only for sets of changes with which the program is otherwise verified.
    for (const bool buffering : {false, true}) {
      buffering_ = buffering;
      search(result);
      if (!result.repairs.empty() || solutions_.empty()) {
        break;
      }
      solutions_.clear();
      weakest_.clear();
    }
    result.explorations = explorations_;
    result.left_out = left_out_ || (result.repairs.empty() && hangs_left_out_);
    return result;
  }

  [[nodiscard]] excess_result excess_orders() {
    excess_result result;
    std::vector<code_edit> together;
    if (system_wide_) {
      static_cast<void>(explored({}));  // this exploration also determines which objects the sites access
    }
    for (int s = 0; s < model::count_of(sites_); ++s) {
      const code_site& site = model::at(sites_, s);
      const strength now = site.now();
      const code_edit as_it_is{s, code_edit::kind_t::own, now};
      const bool open = accesses_any(as_it_is, {}, [&](int o) { return users_.is_left_to_the_host(o); });
      if (site.gap || !now.strong || now.order == memory_order::relaxed || site.first->restricted || site.host || open) {
        continue;
      }
      ++result.orders;
      std::vector<code_edit> alone{as_it_is};
      if (weaken(alone, 0, false)) {
        result.alone.push_back({alone[0], -cost_of(model::at(sites_, s), alone[0], costs_)});
        together.push_back(as_it_is);
        if (!weaken(together, together.size() - 1, false)) {
          together.pop_back();
        }
      }
    }
    for (const code_edit& e : together) {
      result.together.push_back({e, -cost_of(model::at(sites_, e.site), e, costs_)});
    }
    result.explorations = explorations_;
    result.left_out = left_out_;
    return result;
  }

  [[nodiscard]] const std::vector<code_site>& sites() const noexcept { return sites_; }

 private:
  /// An execution that violates a rule under some changes. `sites` are the sites that it reaches.
  struct counterexample {
    std::vector<code_edit> under{};
    std::vector<int> sites{};
    std::vector<int> gaps{};   ///< the gaps in which a barrier may order the blamed events
    std::vector<int> flags{};  ///< the sites that write and read the flags which are meant to order the blamed accesses
  };

  /// Changes that are as cheap as possible, and with which the program is verified.
  struct finished_set {
    std::vector<code_edit> edits{};
    check_statistics counts{};
    bool load_buffering_is_open = false;
  };

  /// Looks for the smallest sets of changes with which the program is verified, and turns them into repairs, sorted by cost.
  void search(repair_result& result) {
    result.tried = look_for_solutions(result.tried);
    // Equally good repairs are sorted by their places, so that their order does not depend on the order of the search.
    const auto rank = [&](const repair& r) {
      const auto put_in =
          std::count_if(r.edits.begin(), r.edits.end(), [](const auto& e) { return e.kind != code_edit::kind_t::own; });
      return std::tuple(r.only_strong, r.barriers, r.cost, put_in, spread_of_barriers(r), r.edits);
    };
    std::map<decltype(rank({})), repair> found;
    for (const finished_set& one : finished_) {
      repair r = repair_of(one.edits);
      r.counts = one.counts;
      r.load_buffering_is_open = one.load_buffering_is_open;
      found.emplace(rank(r), std::move(r));
    }
    for (auto& [of, r] : found) {
      result.repairs.push_back(std::move(r));
    }
    std::ranges::stable_partition(result.repairs, [](const repair& r) { return !r.load_buffering_is_open; });
    left_out_ = left_out_ || spent();
  }

  /// Makes a set of changes with which the program is verified as cheap as possible, and verifies the program with the result,
  /// including its executions with load buffering. This happens as soon as a set is found: if the search runs out of time
  /// later, the sets found so far are complete repairs.
  void finish(std::vector<code_edit> edits) {
    const std::uint64_t cap = std::exchange(cap_, std::numeric_limits<std::uint64_t>::max());
    drop_needless(edits);
    for (std::size_t k = 0; k < edits.size(); ++k) {
      static_cast<void>(weaken(edits, k, true));
    }
    if (weakest_.insert(edits).second && !spent()) {
      const bool before = std::exchange(buffering_, true);
      const check_result verification = explored(edits);
      buffering_ = before;
      if (passes(verification)) {
        finished_.push_back({std::move(edits), last_, verification.status == check_status::gave_up});
      }
    }
    left_out_ = left_out_ || spent();
    cap_ = cap;
  }

  /// Returns the largest number of nested loops around a barrier that the repair inserts, the number of instructions before
  /// which it inserts one, and how many of these are in functions that the kernel calls. In inner loops, and in functions with
  /// several calls, threads are more likely to wait at different barriers if the launch changes.
  [[nodiscard]] std::tuple<int, std::size_t, std::size_t> spread_of_barriers(const repair& r) const {
    int loops = 0;
    std::size_t places = 0;
    std::size_t called = 0;
    for (const code_edit& e : r.edits) {
      if (const code_site& site = model::at(sites_, e.site); site.gap) {
        for (const auto& [kernel, pc] : site.places) {
          loops = std::max(loops, loops_around(*model::at(program_->kernels, kernel), pc));
        }
        places += site.places.size();
        called += site.leaves || is_in_kernel(*site.first) ? 0 : site.places.size();
      }
    }
    return {loops, places, called};
  }

  /// Returns the number of loops that contain an instruction. A loop begins at the target of a backward jump, and contains the
  /// instructions that lead to the jump without passing its target.
  [[nodiscard]] static int loops_around(const kernel_code& kernel, int pc) {
    std::set<int> loops;
    for (int jump = 0; jump < model::count_of(kernel.code); ++jump) {
      const int head = model::at(kernel.code, jump).target;
      const bool is_loop = head >= 0 && head <= jump && loops.count(head) == 0;
      if (is_loop && (pc == head || pc == jump || reached_from(kernel, pc, head)[static_cast<std::size_t>(jump)])) {
        loops.insert(head);
      }
    }
    return model::count_of(loops);
  }

  /// Removes the changes without which the program is also verified. A set with a barrier may contain such changes. The search
  /// tries a barrier only for findings that the barrier may prevent, and other changes may have been needed to get from the
  /// first finding to such a finding.
  void drop_needless(std::vector<code_edit>& edits) {
    for (std::size_t k = edits.size(); has_barrier(edits) && edits.size() > 1 && k > 0 && !spent(); --k) {
      std::vector<code_edit> fewer = edits;
      fewer.erase(fewer.begin() + static_cast<std::ptrdiff_t>(k) - 1);
      if (passes(explored(fewer))) {
        edits = std::move(fewer);
      }
    }
  }

  [[nodiscard]] bool has_barrier(const std::vector<code_edit>& edits) const {
    return std::any_of(edits.begin(), edits.end(), [&](const code_edit& e) { return model::at(sites_, e.site).gap; });
  }

  /// Returns a repair that consists of these changes, with their costs.
  [[nodiscard]] repair repair_of(const std::vector<code_edit>& edits) const {
    repair r;
    r.edits = edits;
    for (const code_edit& e : edits) {
      const code_site& site = model::at(sites_, e.site);
      r.barriers += site.gap ? 1 : 0;
      r.costs.push_back(cost_of(site, e, costs_));
      r.cost += r.costs.back();
      const bool may_read_stale = !property_ || (e.to.order == memory_order::relaxed && race_with_strong_.count(e.site) == 0);
      r.only_strong = r.only_strong || (!site.gap && !site.now().strong && e.kind == code_edit::kind_t::own && may_read_stale &&
                                        site.first->code != op::fence);
    }
    return r;
  }

  /// Tries all sets of one change, then all sets of two changes, and so on, until the program is verified with a set. Returns
  /// the largest size for which all sets were tried, or `tried` if that is larger.
  ///
  /// With most repairs, verifying the program takes only a few events. Therefore explorations are at first cut short after a few
  /// events, and they are repeated with a higher limit in each round. A violation is usually found early, so sets whose
  /// exploration was cut short are more likely to be repairs than untried larger sets: each round first repeats the former, and
  /// then tries sets with one more change than the previous round.
  [[nodiscard]] int look_for_solutions(int tried) {
    constexpr std::uint64_t first_cap = 30'000;
    constexpr std::uint64_t growth = 16;
    std::vector<std::uint64_t> caps;  // for each size minus 1
    for (bool more = true; more && solutions_.empty() && !spent();) {
      capped_ = false;
      for (std::uint64_t& cap : caps) {
        cap = std::min(cap * growth, options_.most_events);
      }
      if (model::count_of(caps) < options_.most_edits) {
        caps.push_back(first_cap);
      }
      for (int size = 1; size <= model::count_of(caps) && solutions_.empty() && !spent(); ++size) {
        cap_ = model::at(caps, size - 1);
        for (const bool weak_too : {false, true}) {
          seen_.clear();
          weak_too_ = weak_too;
          grow({}, size, {});
          if (!solutions_.empty()) {
            break;
          }
        }
        tried = spent() ? tried : std::max(tried, size);
      }
      more = capped_ || model::count_of(caps) < options_.most_edits;
    }
    return tried;
  }

  [[nodiscard]] bool spent() const noexcept {
    return explorations_ >= options_.most_explorations || events_ >= options_.most_events || time_.is_reached();
  }

  /// Returns whether a program may count as repaired: it is verified, or only its executions with load buffering are too many.
  [[nodiscard]] static bool passes(const check_result& r) noexcept {
    return r.status == check_status::verified || (r.status == check_status::gave_up && r.load_buffering_is_open);
  }

  check_result explored(const std::vector<code_edit>& edits) {
    ++explorations_;
    edited_.apply(sites_, edits);
    check_options each = options_.each;
    each.name_readings = false;
    each.random_before_giving_up = 0;
    each.load_buffering = each.load_buffering && buffering_;
    const std::uint64_t left = std::min(each.most_events, options_.most_events - std::min(events_, options_.most_events));
    each.most_events = std::min(left, cap_);
    each.time = time_;
    const auto watched = [&](const final_memory& end) {
      watch(end.execution());
      return property_ ? property_(end) : violation();
    };
    const check_property all = watched;
    const check_property& asked = system_wide_ ? all : property_;
    check_result r = explore(edited_.get(), asked, each);
    if (r.status == check_status::gave_up && r.counts.events <= each.most_events) {
      each.random_executions = options_.each.random_before_giving_up;
      check_result shown = each.random_executions != 0 ? explore(edited_.get(), asked, each) : check_result{};
      r = each.random_executions == 0 || shown.status == check_status::gave_up ? std::move(r) : std::move(shown);
    }
    events_ += r.counts.events;
    last_ = r.counts;
    const bool capped = r.status == check_status::gave_up && r.counts.events > each.most_events && each.most_events < left;
    capped_ = capped_ || capped;
    left_out_ = left_out_ || (r.status == check_status::gave_up && !capped && !r.load_buffering_is_open);
    return r;
  }

  /// A site and the object that it accesses. For a fence, the object is -1.
  using step = std::pair<int, int>;

  /// Records which objects the sites access in an execution, and which accesses a fence at each site would order: later writes
  /// and earlier reads. A fence at an access counts as both before and after that access.
  void watch(const graph& g) {
    users_.add(g);
    for (int t = 0; t < model::count_of(program_->threads); ++t) {
      std::vector<std::pair<step, bool>> steps;  // each step, and whether it writes
      for (const graph_event* e : model::at(g.threads, t).events) {
        const auto it = site_at_.find(edited_.origin(t, e->pc));
        const bool writes = e->kind == model::event_kind::write;
        if (it != site_at_.end()) {
          const bool accesses = writes || e->kind == model::event_kind::read;
          steps.push_back({{it->second, accesses ? users_.object_at(e->address) : -1}, writes});
        }
      }
      if (!watched_.insert(steps).second) {
        continue;
      }
      std::set<step> ordered;
      const auto note = [&](const auto& s, bool writes) {
        const auto& [one, is_write] = s;
        if (one.second >= 0) {
          accesses_[one.first].insert(one);
          if (is_write == writes) {
            ordered.insert(one);
          }
        }
        ordered_by_[one.first].insert(ordered.begin(), ordered.end());
      };
      std::for_each(steps.begin(), steps.end(), [&](const auto& s) { note(s, false); });
      ordered.clear();
      std::for_each(steps.rbegin(), steps.rend(), [&](const auto& s) { note(s, true); });
    }
  }

  /// Returns whether a change concerns an object for which `wanted` returns true. For an access, this is the object that it
  /// accesses. For a fence, it is any object whose accesses the fence orders, if they are strong under these changes.
  template <class Wanted>
  [[nodiscard]] bool accesses_any(const code_edit& e, const std::vector<code_edit>& edits, const Wanted& wanted) const {
    const bool fence = e.kind != code_edit::kind_t::own || model::at(sites_, e.site).first->code == op::fence;
    const auto& known = fence ? ordered_by_ : accesses_;
    const auto it = known.find(e.site);
    return it != known.end() && std::any_of(it->second.begin(), it->second.end(), [&](const step& s) {
             const bool strong = model::at(sites_, s.first).now().strong ||
                                 std::any_of(edits.begin(), edits.end(), [&](const code_edit& other) {
                                   return other.site == s.first && other.kind == code_edit::kind_t::own && other.to.strong;
                                 });
             return (strong || !fence) && wanted(s.second);
           });
  }

  /// Returns whether a change must keep system scope because it concerns a host thread, or memory that the host or another
  /// device uses.
  [[nodiscard]] bool keeps_system_scope(const code_edit& e, const std::vector<code_edit>& edits) const {
    return model::at(sites_, e.site).host || accesses_any(e, edits, [&](int o) { return users_.is_system_wide(o); });
  }

  /// Returns a known execution that still violates a rule under these changes, or null if none is known.
  [[nodiscard]] const counterexample* known(const std::vector<code_edit>& edits) const {
    for (auto c = examples_.rbegin(); c != examples_.rend(); ++c) {
      std::vector<code_edit> other;
      std::set_symmetric_difference(edits.begin(), edits.end(), c->under.begin(), c->under.end(), std::back_inserter(other));
      if (std::none_of(other.begin(), other.end(), [&](const code_edit& e) {
            return model::at(sites_, e.site).gap || std::binary_search(c->sites.begin(), c->sites.end(), e.site);
          })) {
        return &*c;
      }
    }
    return nullptr;
  }

  /// Tries a set of changes, and then sets with up to `more` further changes. `gaps` are those of the finding without the last
  /// change.
  void grow(const std::vector<code_edit>& edits, int more, const std::vector<int>& gaps) {
    if (spent() || model::count_of(solutions_) >= options_.most_kept) {
      left_out_ = left_out_ || spent();
      return;
    }
    if (!seen_.insert(edits).second) {
      return;
    }
    const counterexample* example = known(edits);
    if (example == nullptr) {
      std::uint64_t& cut_at = cut_short_[edits];
      if (cap_ <= cut_at) {
        capped_ = capped_ || cut_at != std::numeric_limits<std::uint64_t>::max();
        return;
      }
      const check_result r = explored(edits);
      if (passes(r)) {
        solutions_.push_back(edits);
        finish(edits);
        return;
      }
      if (r.status == check_status::gave_up) {
        cut_at = r.counts.events > cap_ ? cap_ : std::numeric_limits<std::uint64_t>::max();
        return;
      }
      if (breaks_barriers(edits, r)) {
        // the barrier may also be right, and the hang may come from another fault, which more changes would fix
        hangs_left_out_ = hangs_left_out_ || (r.status == check_status::hang && more > 0);
        return;
      }
      counterexample fresh{edits, {}, r.status == check_status::hang ? gaps : gaps_between(r.found), flags_of(r.found)};
      for (const trace_event& e : r.found.events) {  // the instruction that starts a copy represents the copy
        if (const int s = site_of(e); s >= 0) {
          fresh.sites.push_back(s);
        }
      }
      std::sort(fresh.sites.begin(), fresh.sites.end());
      fresh.sites.erase(std::unique(fresh.sites.begin(), fresh.sites.end()), fresh.sites.end());
      examples_.push_back(std::move(fresh));
      example = &examples_.back();
      note_weak_partner(r.found);
    }
    if (more == 0) {
      return;
    }
    const std::vector<int> tried = example->gaps;
    // The finding's notes blame the accesses to flags, and a kernel may have many gaps in which a barrier does not help.
    std::vector<int> sites = example->flags;
    for (const std::vector<int>& others : {tried, example->sites}) {
      std::ranges::copy_if(others, std::back_inserter(sites),
                           [&](int s) { return std::ranges::count(example->flags, s) == 0; });
    }
    for (const int site : sites) {
      for (const code_edit& e : strongest(site)) {
        if (useless_.count(e) == 0 && std::none_of(edits.begin(), edits.end(),
                                                   [&](const code_edit& o) { return o.site == e.site && o.kind == e.kind; })) {
          std::vector<code_edit> next = edits;
          next.insert(std::upper_bound(next.begin(), next.end(), e), e);
          const std::size_t before = solutions_.size();
          grow(next, more - 1, tried);
          // if a block is one warp, both barriers have the same effect, and `weaken` turns the block barrier into either
          const bool is_same = e.kind == code_edit::kind_t::block_barrier && model::at(sites_, site).one_warp;
          if (is_same && solutions_.size() > before) {
            break;
          }
        }
      }
    }
  }

  /// Returns whether a barrier causes undefined behaviour that the program did not have before, or a hang in which threads wait
  /// at the barrier. If the barrier is the only change, makes sure that it is not tried again.
  [[nodiscard]] bool breaks_barriers(const std::vector<code_edit>& edits, const check_result& now) {
    if (edits.empty()) {
      at_first_ = now.status;
    }
    const bool breaks = has_barrier(edits) && now.status != at_first_ &&
                        (now.status == check_status::undefined || waits_at_inserted_barrier(now.found));
    if (breaks && edits.size() == 1) {
      useless_.insert(edits.front());
    }
    return breaks;
  }

  /// Returns whether a thread waits at a barrier that a change has inserted.
  [[nodiscard]] bool waits_at_inserted_barrier(const finding& f) const {
    for (int t = 0; t < model::count_of(program_->threads); ++t) {
      const instruction* i = t < model::count_of(f.waiting) ? model::at(f.waiting, t) : nullptr;
      if (i == nullptr || (i->code != op::block_barrier && i->code != op::warp_barrier)) {
        continue;
      }
      const auto [k, pc] = edited_.origin(t, static_cast<int>(i - model::at(edited_.get().threads, t).kernel->code.data()));
      if (model::at(model::at(program_->kernels, k)->code, pc).code != i->code) {
        return true;
      }
    }
    return false;
  }

  /// Two positions in a kernel between which a barrier may order accesses of the same block. If `from` is missing (-1), the
  /// barrier may be anywhere before `to`; if `to` is missing, it may be anywhere after `from`.
  struct stretch {
    int kernel = 0;
    int from = -1;
    int to = -1;
  };

  /// Returns the gaps in which a barrier may order the blamed events. For a race in a block, these are the gaps on a path between
  /// the accesses. For a race between blocks, these are the gaps between the accesses and the accesses of the handover
  /// (handover.hpp). If this gives no gaps, because the handover is unknown or the accesses are in different branches, they
  /// are the gaps before and after each access. For some other findings, all gaps are returned, up to `most_gaps`.
  [[nodiscard]] std::vector<int> gaps_between(const finding& f) {
    const bool all = f.status == check_status::violated || f.status == check_status::uninitialised ||
                     f.status == check_status::out_of_bounds;
    const auto [x, y] = racing_events(f);
    if (x == nullptr || y == nullptr) {
      return gaps_in({}, all ? most_gaps : 0);
    }
    std::vector<stretch> stretches;
    const auto add = [&](const trace_event& before, const trace_event& after) {
      const auto [k, from] = edited_.origin(before.thread, before.event.pc);
      const auto [other, to] = edited_.origin(after.thread, after.event.pc);
      if (before.thread != after.thread && k == other) {
        stretches.push_back({k, from, to});
      }
    };
    if (block_of(*x) == block_of(*y)) {
      add(*x, *y);
      add(*y, *x);
    } else if (const handover h = handover_of(whole_program(edited_.get(), f), f); !h.values.empty()) {
      const trace_event* before = h.first;
      for (const passed_value& value : h.values) {
        add(*before, *value.write);
        before = value.read;
      }
      add(*before, *h.second);
    }
    std::vector<int> result = gaps_in(stretches, 0);
    if (result.empty()) {
      stretches.clear();
      for (const trace_event* e : {x, y}) {
        const auto [k, pc] = edited_.origin(e->thread, e->event.pc);
        stretches.push_back({k, pc, -1});
        stretches.push_back({k, -1, pc});
      }
      result = gaps_in(stretches, 0);
    }
    return result;
  }

  /// Returns the site of an event's instruction, or -1 if the instruction belongs to an asynchronous copy or is not at a site.
  [[nodiscard]] int site_of(const trace_event& e) const {
    if (e.thread >= model::count_of(program_->threads)) {
      return -1;
    }
    const auto it = site_at_.find(edited_.origin(e.thread, e.event.pc));
    return it == site_at_.end() ? -1 : it->second;
  }

  /// Returns the sites that write and read the values of the finding's handover, each once.
  [[nodiscard]] std::vector<int> flags_of(const finding& f) const {
    std::vector<int> result;
    const handover passed = handover_of(whole_program(edited_.get(), f), f);
    for (const passed_value& value : passed.values) {
      for (const trace_event* e : {value.write, value.read}) {
        if (const int s = site_of(*e); s >= 0 && std::ranges::count(result, s) == 0) {
          result.push_back(s);
        }
      }
    }
    return result;
  }

  /// Returns the gaps on these stretches, and other gaps until there are `at_least`.
  [[nodiscard]] std::vector<int> gaps_in(const std::vector<stretch>& stretches, std::size_t at_least) {
    std::vector<int> result;
    for (int s = 0; s < model::count_of(sites_); ++s) {
      const code_site& site = model::at(sites_, s);
      const bool between = site.gap && std::any_of(stretches.begin(), stretches.end(), [&](const stretch& way) {
                             return std::any_of(site.places.begin(), site.places.end(), [&](const auto& place) {
                               return place.first == way.kernel &&
                                      (way.from < 0 || reaches(way.kernel, way.from + 1, place.second)) &&
                                      (way.to < 0 || reaches(way.kernel, place.second, way.to));
                             });
                           });
      if (between || (site.gap && result.size() < at_least)) {
        result.push_back(s);
      }
    }
    return result;
  }

  [[nodiscard]] int block_of(const trace_event& e) const { return model::at(program_->threads, e.thread).block_number; }

  /// Returns the two accesses of a race, or null pointers for another finding. An access by an asynchronous copy is represented
  /// by the event that starts the copy.
  [[nodiscard]] std::pair<const trace_event*, const trace_event*> racing_events(const finding& f) const {
    std::vector<const trace_event*> found;
    for (const trace_event& e : f.events) {
      if (!e.blamed || f.status != check_status::race) {
        continue;
      }
      const bool is_copy = e.thread >= model::count_of(program_->threads);
      const auto start = std::find_if(f.events.begin(), f.events.end(), [&](const trace_event& s) {
        return is_copy ? s.event.kind == model::event_kind::issue && s.event.starts == e.thread : &s == &e;
      });
      if (start != f.events.end()) {
        found.push_back(&*start);
      }
    }
    return found.size() == 2 ? std::pair(found[0], found[1]) : std::pair<const trace_event*, const trace_event*>();
  }

  /// If the finding is a race between accesses one of which the program makes weak and the other strong, adds the weak access to
  /// `race_with_strong_`.
  void note_weak_partner(const finding& f) {
    const auto [x, y] = racing_events(f);
    if (x == nullptr || y == nullptr) {
      return;
    }
    const int first = site_of(*x);
    const int second = site_of(*y);
    if (first < 0 || second < 0) {
      return;
    }
    const bool first_is_strong = model::at(sites_, first).now().strong;
    if (first_is_strong != model::at(sites_, second).now().strong) {
      race_with_strong_.insert(first_is_strong ? second : first);
    }
  }

  /// Returns whether a path in a kernel's code leads from one position to another. A position reaches itself.
  [[nodiscard]] bool reaches(int k, int from, int to) {
    const auto& code = model::at(program_->kernels, k)->code;
    const auto [it, fresh] = reached_.try_emplace({k, from});
    std::set<int>& seen = it->second;
    std::vector<int> open = {from};
    while (fresh && !open.empty()) {
      const int pc = open.back();
      open.pop_back();
      if (pc < 0 || pc >= model::count_of(code) || !seen.insert(pc).second) {
        continue;
      }
      const instruction& i = model::at(code, pc);
      for_each_next(i, pc, [&](int next) { open.push_back(next); });
    }
    return seen.count(to) != 0;
  }

  /// Returns the strongest changes that can be made at a site: its greatest strength, and the strongest fences next to it. For
  /// a gap, returns the barriers.
  [[nodiscard]] std::vector<code_edit> strongest(int s) const {
    std::vector<code_edit> result;
    const code_site& site = model::at(sites_, s);
    if (site.gap) {
      return {{s, code_edit::kind_t::block_barrier}, {s, code_edit::kind_t::warp_barrier}};
    }
    const instruction& i = *site.first;
    const strength full = full_of(i);
    if (full.strong && site.now() != full && (weak_too_ || site.now().strong || race_with_strong_.count(s) != 0)) {
      result.push_back({s, code_edit::kind_t::own, full});
    }
    if (copies_) {
      result.push_back({s, code_edit::kind_t::proxy_fence_before, {}, every_proxy_space});
    }
    const strength fence{true, memory_order::seq_cst, thread_scope::system};
    if (i.code != op::fence) {
      result.push_back({s, code_edit::kind_t::fence_before, fence});
      if (i.code <= op::reduction && i.mbarrier == mbarrier_op::none && has_place_after(site)) {
        result.push_back({s, code_edit::kind_t::fence_after, fence});
      }
    }
    return result;
  }

  [[nodiscard]] strength full_of(const instruction& i) const noexcept {
    if (i.mbarrier != mbarrier_op::none) {
      const bool waits = i.mbarrier == mbarrier_op::test;
      return {arrives(i.mbarrier) || waits, waits ? memory_order::acquire : memory_order::release,
              clusters_ ? thread_scope::cluster : thread_scope::block};
    }
    if (i.elements > 1) {
      return i.strong ? strength{true, memory_order::relaxed, i.scope} : strength{};
    }
    if (i.code > op::fence) {
      return {};
    }
    return {true,
            i.code == op::load     ? memory_order::acquire
            : i.code == op::atomic ? memory_order::acq_rel
            : i.code == op::fence  ? memory_order::seq_cst
                                   : memory_order::release,
            thread_scope::system};
  }

  /// Returns whether a fence after a site differs from a fence before the next site, because a jump leads into or out of the
  /// code between the two sites.
  [[nodiscard]] bool has_place_after(const code_site& site) const {
    const auto& [k, first] = site.places.front();
    const auto& code = model::at(program_->kernels, k)->code;
    for (int pc = first + 1; pc < model::count_of(code); ++pc) {
      const instruction& i = model::at(code, pc);
      if (model::at(targets_, k).count(pc) != 0 || i.code == op::branch || i.code == op::branch_index || i.guard >= 0) {
        return true;
      }
      if (is_event(i.code) || i.code == op::exit) {
        return false;
      }
    }
    return false;
  }

  /// Replaces change `k` with the cheapest change with which the program is still verified. In a repair, no order becomes
  /// weaker than the program's own. Returns false if the program is not verified with any cheaper change.
  [[nodiscard]] bool weaken(std::vector<code_edit>& edits, std::size_t k, bool of_repair) {
    const code_edit strong = edits[k];
    const code_site& site = model::at(sites_, strong.site);
    if (site.gap) {
      edits[k].kind = site.one_warp ? code_edit::kind_t::either_barrier : code_edit::kind_t::warp_barrier;
      const bool enough = strong.kind == code_edit::kind_t::block_barrier && !spent() && passes(explored(edits));
      edits[k] = enough ? edits[k] : strong;
      return enough;
    }
    if (strong.kind == code_edit::kind_t::proxy_fence_before) {
      return narrow(edits, k);
    }
    const bool fence = strong.kind != code_edit::kind_t::own || site.first->code == op::fence;
    std::vector<code_edit> all;
    const bool own = strong.kind == code_edit::kind_t::own;
    const strength now = site.now();
    const bool system = keeps_system_scope(strong, edits);
    const auto add = [&](const strength& s) {
      const bool reaches = !system || (s.strong ? s.scope == thread_scope::system : fence);
      const bool keeps = reaches && (!of_repair || !own || no_stronger({now.strong, now.order, s.scope}, s));
      if (s != strong.to && no_stronger(s, strong.to) && keeps) {
        all.push_back({strong.site, strong.kind, s});
      }
    };
    const bool mbarrier = own && site.first->mbarrier != mbarrier_op::none;
    if (!of_repair && !mbarrier && site.first->code != op::atomic && site.first->code != op::reduction) {
      add({});
    }
    for (const thread_scope scope : {thread_scope::block, thread_scope::cluster, thread_scope::device, thread_scope::system}) {
      for (const memory_order order : {memory_order::relaxed, memory_order::acquire, memory_order::release,
                                       memory_order::acq_rel, memory_order::seq_cst}) {
        const bool exists = !mbarrier || (scope <= thread_scope::cluster &&
                                          (order == memory_order::relaxed || order == full_of(*site.first).order));
        if (exists && (scope != thread_scope::cluster || clusters_) && (!fence || order != memory_order::relaxed)) {
          add({true, order, scope});
        }
      }
    }
    std::stable_sort(all.begin(), all.end(), [&](const code_edit& x, const code_edit& y) {
      return cost_of(site, x, costs_) < cost_of(site, y, costs_);
    });
    for (const code_edit& weak : all) {
      if (spent()) {
        left_out_ = true;
        break;
      }
      edits[k] = weak;
      const check_result r = explored(edits);
      if (of_repair ? passes(r) : r.status == check_status::verified) {
        return true;
      }
    }
    edits[k] = strong;
    return false;
  }

  /// Narrows a proxy fence to a single state space if the program is still verified. Returns whether it was narrowed.
  [[nodiscard]] bool narrow(std::vector<code_edit>& edits, std::size_t k) {
    for (const proxy_space space : {proxy_space::own_shared, proxy_space::global}) {
      edits[k].proxy_spaces = bit_of(space);
      if (!spent() && passes(explored(edits))) {
        return true;
      }
    }
    left_out_ = left_out_ || spent();
    edits[k].proxy_spaces = every_proxy_space;
    return false;
  }

  const check_property& property_;
  const order_costs& costs_;
  repair_options options_;
  const program* program_ = nullptr;
  std::vector<code_site> sites_;
  std::map<std::pair<int, int>, int> site_at_{};
  std::vector<std::set<int>> targets_{};  ///< per kernel: the targets of its jumps
  edited_program edited_;
  bool clusters_ = false;
  bool copies_ = false;               ///< whether some kernel starts asynchronous copies
  bool weak_too_ = false;             ///< whether any weak access may become strong
  std::set<int> race_with_strong_{};  ///< the weak accesses that race with strong ones, and that may therefore become strong
  bool left_out_ = false;
  bool hangs_left_out_ = false;  ///< whether sets were not extended because the program hangs with their barriers
  object_users users_;
  bool system_wide_ = users_.may_be_system_wide();
  std::map<int, std::set<step>> accesses_{};    ///< per site: its accesses
  std::map<int, std::set<step>> ordered_by_{};  ///< per site: the accesses that a fence at the site orders
  std::set<std::vector<std::pair<step, bool>>> watched_{};
  std::uint64_t explorations_ = 0;
  std::uint64_t events_ = 0;
  check_statistics last_{};
  std::vector<counterexample> examples_{};
  static constexpr std::size_t most_gaps = 40;              ///< the maximum number of gaps to try for a finding that may
                                                            ///< concern any gap
  std::set<code_edit> useless_{};                           ///< barriers that not all threads reach
  std::map<std::pair<int, int>, std::set<int>> reached_{};  ///< by kernel and position: the positions that can be reached
  check_status at_first_ = check_status::verified;          ///< the result without changes
  std::set<std::vector<code_edit>> seen_{};
  std::vector<std::vector<code_edit>> solutions_{};  ///< the sets with which the program is verified, as strong as possible
  std::set<std::vector<code_edit>> weakest_{};       ///< the same sets, as cheap as possible
  std::vector<finished_set> finished_{};
  bool buffering_ = true;  ///< whether load buffering is explored if it is not ruled out
  time_limit time_{std::min(options_.most_seconds, options_.each.time.seconds())};
  std::uint64_t cap_ = std::numeric_limits<std::uint64_t>::max();  ///< the maximum number of events of one exploration
  bool capped_ = false;                                            ///< whether any exploration was cut short by `cap_`
  std::map<std::vector<code_edit>, std::uint64_t> cut_short_{};    ///< the highest `cap_` that cut the
                                                                   ///< exploration of a set short, or the maximum value if
                                                                   ///< the exploration gave up for another reason
};

}  // namespace

double cost_of(const code_site& site, const code_edit& e, const order_costs& costs) {
  if (site.host || site.gap) {
    return 0;
  }
  const auto priced = [&](const strength& s, bool fence) {
    return !s.strong ? 0.0
           : fence   ? costs.fence(s.order, s.scope)
           : site.first->mbarrier == mbarrier_op::none && (site.first->code == op::atomic || site.first->code == op::reduction)
               ? costs.atomic(s.order, s.scope)
               : costs.access(s.order, s.scope);
  };
  if (e.kind == code_edit::kind_t::proxy_fence_before) {
    return costs.proxy_fence(e.proxy_spaces);
  }
  if (e.kind != code_edit::kind_t::own) {
    return priced(e.to, true);
  }
  const bool fence = site.first->code == op::fence;
  return priced(e.to, fence) - priced(site.now(), fence);
}

repair_result repairs_of(const program& p, const check_property& property, const order_costs& costs,
                         const repair_options& options) {
  return repairer(p, property, costs, options).repairs();
}

excess_result excess_orders_of(const program& p, const check_property& property, const order_costs& costs,
                               const repair_options& options) {
  return repairer(p, property, costs, options).excess_orders();
}

}  // namespace membar::check
