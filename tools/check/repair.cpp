// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <check/async_copies.hpp>
#include <check/code_edit.hpp>
#include <check/explore.hpp>
#include <check/graph.hpp>
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
#include <map>
#include <set>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

namespace membar::check {

namespace {

/// Looks for changes of one program.
class repairer {
 public:
  repairer(const program& p, const check_property& property, const order_costs& costs, const repair_options& options)
      : property_(property), costs_(costs), options_(options), sites_(sites_of(p)), edited_(p), users_(p) {
    for (const thread_context& t : p.threads) {
      clusters_ = clusters_ || t.where.cluster >= 0;
    }
    copies_ = starts_copies(p);
    for (int k = 0; k < model::count_of(p.kernels); ++k) {
      std::set<int> targets;
      for (const instruction& i : model::at(p.kernels, k)->code) {
        targets.insert(i.target);
        targets.insert(i.targets.begin(), i.targets.end());
      }
      targets_.push_back(std::move(targets));
    }
    for (int s = 0; s < model::count_of(sites_); ++s) {
      for (const auto& place : model::at(sites_, s).places) {
        site_at_[place] = s;
      }
    }
    program_ = &p;
  }

  [[nodiscard]] repair_result repairs() {
    repair_result result;
    for (int size = 1; size <= options_.most_edits && solutions_.empty() && !spent(); ++size) {
      for (const bool weak_too : {false, true}) {
        seen_.clear();
        weak_too_ = weak_too;
        grow({}, size);
        if (!solutions_.empty()) {
          break;
        }
      }
      result.tried = spent() ? result.tried : size;
    }
    std::set<std::vector<code_edit>> weakest;
    for (const std::vector<code_edit>& strongest : solutions_) {
      std::vector<code_edit> edits = strongest;
      for (std::size_t k = 0; k < edits.size(); ++k) {
        static_cast<void>(weaken(edits, k, true));
      }
      if (!weakest.insert(edits).second || explored(edits).status != check_status::verified) {
        continue;
      }
      repair r;
      r.edits = edits;
      r.counts = last_;
      for (const code_edit& e : edits) {
        const code_site& site = model::at(sites_, e.site);
        r.costs.push_back(cost_of(site, e, costs_));
        r.cost += r.costs.back();
        r.only_strong = r.only_strong || (!site.now().strong && e.kind == code_edit::kind_t::own &&
                                          e.to.order == memory_order::relaxed && site.first->code != op::fence);
      }
      result.repairs.push_back(std::move(r));
    }
    const auto put_in = [](const repair& r) {
      return std::count_if(r.edits.begin(), r.edits.end(), [](const auto& e) { return e.kind != code_edit::kind_t::own; });
    };
    std::stable_sort(result.repairs.begin(), result.repairs.end(), [&](const repair& x, const repair& y) {
      return std::tuple(x.only_strong, x.cost, put_in(x)) < std::tuple(y.only_strong, y.cost, put_in(y));
    });
    result.explorations = explorations_;
    result.left_out = left_out_;
    return result;
  }

  [[nodiscard]] excess_result excess_orders() {
    excess_result result;
    std::vector<code_edit> together;
    if (system_wide_) {
      static_cast<void>(explored({}));  // shows what the sites access
    }
    for (int s = 0; s < model::count_of(sites_); ++s) {
      const code_site& site = model::at(sites_, s);
      const strength now = site.now();
      const code_edit as_it_is{s, code_edit::kind_t::own, now};
      const bool open = accesses_any(as_it_is, {}, [&](int o) { return users_.is_left_to_the_host(o); });
      if (!now.strong || now.order == memory_order::relaxed || site.first->restricted || site.host || open) {
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
  /// An execution that breaks a rule under some changes, by the sites it comes to.
  struct counterexample {
    std::vector<code_edit> under{};
    std::vector<int> sites{};
  };

  [[nodiscard]] bool spent() const noexcept {
    return explorations_ >= options_.most_explorations || events_ >= options_.most_events;
  }

  check_result explored(const std::vector<code_edit>& edits) {
    ++explorations_;
    edited_.apply(sites_, edits);
    check_options each = options_.each;
    each.name_readings = false;
    each.most_events = std::min(each.most_events, options_.most_events - std::min(events_, options_.most_events));
    const auto watched = [&](const final_memory& end) {
      watch(end.execution());
      return property_ ? property_(end) : std::string();
    };
    check_result r = explore(edited_.get(), system_wide_ ? check_property(watched) : property_, each);
    events_ += r.counts.events;
    last_ = r.counts;
    left_out_ = left_out_ || r.status == check_status::gave_up;
    return r;
  }

  /// An access of an object by a site, or a fence, of which the object is -1.
  using step = std::pair<int, int>;

  /// Notes which objects the sites access in an execution, and which accesses a fence at a site orders: writes that come after it, and reads
  /// before it. A fence at the place of an access counts as before and after it.
  void watch(const graph& g) {
    users_.add(g);
    for (int t = 0; t < model::count_of(program_->threads); ++t) {
      std::vector<std::pair<step, bool>> steps;  // and whether it writes
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

  /// Whether the access that is changed is of an object that is `wanted`, or the fence orders an access of one that is strong under these changes.
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

  /// Whether a change has to keep system scope: of a host thread, or of what the host or another device reaches.
  [[nodiscard]] bool keeps_system_scope(const code_edit& e, const std::vector<code_edit>& edits) const {
    return model::at(sites_, e.site).host || accesses_any(e, edits, [&](int o) { return users_.is_system_wide(o); });
  }

  /// The known execution that still breaks a rule under these changes; null if none is known to.
  [[nodiscard]] const counterexample* known(const std::vector<code_edit>& edits) const {
    for (auto c = examples_.rbegin(); c != examples_.rend(); ++c) {
      std::vector<code_edit> other;
      std::set_symmetric_difference(edits.begin(), edits.end(), c->under.begin(), c->under.end(), std::back_inserter(other));
      if (std::none_of(other.begin(), other.end(),
                       [&](const code_edit& e) { return std::binary_search(c->sites.begin(), c->sites.end(), e.site); })) {
        return &*c;
      }
    }
    return nullptr;
  }

  void grow(const std::vector<code_edit>& edits, int more) {
    if (spent() || model::count_of(solutions_) >= options_.most_kept) {
      left_out_ = left_out_ || spent();
      return;
    }
    if (!seen_.insert(edits).second) {
      return;
    }
    const counterexample* example = known(edits);
    if (example == nullptr) {
      const check_result r = explored(edits);
      if (r.status == check_status::verified) {
        solutions_.push_back(edits);
        return;
      }
      if (r.status == check_status::gave_up) {
        return;
      }
      counterexample fresh{edits, {}};
      for (const trace_event& e : r.found.events) {
        if (e.thread >= model::count_of(program_->threads)) {
          continue;  // of a copy, which the instruction that starts it stands for
        }
        const auto it = site_at_.find(edited_.origin(e.thread, e.event.pc));
        if (it != site_at_.end()) {
          fresh.sites.push_back(it->second);
        }
      }
      std::sort(fresh.sites.begin(), fresh.sites.end());
      fresh.sites.erase(std::unique(fresh.sites.begin(), fresh.sites.end()), fresh.sites.end());
      examples_.push_back(std::move(fresh));
      example = &examples_.back();
    }
    if (more == 0) {
      return;
    }
    for (const int site : std::vector<int>(example->sites)) {
      for (const code_edit& e : strongest(site)) {
        if (std::none_of(edits.begin(), edits.end(),
                         [&](const code_edit& o) { return o.site == e.site && o.kind == e.kind; })) {
          std::vector<code_edit> next = edits;
          next.insert(std::upper_bound(next.begin(), next.end(), e), e);
          grow(next, more - 1);
        }
      }
    }
  }

  /// The strongest that a site can be, and the strongest fences beside it.
  [[nodiscard]] std::vector<code_edit> strongest(int s) const {
    std::vector<code_edit> result;
    const code_site& site = model::at(sites_, s);
    const instruction& i = *site.first;
    const strength full = full_of(i);
    if (full.strong && site.now() != full && (weak_too_ || site.now().strong)) {
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

  /// Whether a fence after a site is another one than that before the next: a jump leads away or to between them.
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

  /// Makes change `k` the cheapest, and of those the weakest, under which the program verifies: of a repair, with no order weaker
  /// than the program's own. False if that is what it is.
  [[nodiscard]] bool weaken(std::vector<code_edit>& edits, std::size_t k, bool of_repair) {
    const code_edit strong = edits[k];
    const code_site& site = model::at(sites_, strong.site);
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
      if (explored(edits).status == check_status::verified) {
        return true;
      }
    }
    edits[k] = strong;
    return false;
  }

  /// Makes a proxy fence one of a single state space, if the program verifies with that.
  [[nodiscard]] bool narrow(std::vector<code_edit>& edits, std::size_t k) {
    for (const proxy_space space : {proxy_space::own_shared, proxy_space::global}) {
      edits[k].proxy_spaces = bit_of(space);
      if (!spent() && explored(edits).status == check_status::verified) {
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
  std::vector<std::set<int>> targets_{};  ///< per kernel: where jumps lead
  edited_program edited_;
  bool clusters_ = false;
  bool copies_ = false;  ///< some kernel starts asynchronous copies
  bool weak_too_ = false;
  bool left_out_ = false;
  object_users users_;
  bool system_wide_ = users_.may_be_system_wide();
  std::map<int, std::set<step>> accesses_{};    ///< by site
  std::map<int, std::set<step>> ordered_by_{};  ///< by site: accesses that a fence there orders
  std::set<std::vector<std::pair<step, bool>>> watched_{};
  std::uint64_t explorations_ = 0;
  std::uint64_t events_ = 0;
  check_statistics last_{};
  std::vector<counterexample> examples_{};
  std::set<std::vector<code_edit>> seen_{};
  std::vector<std::vector<code_edit>> solutions_{};
};

}  // namespace

double cost_of(const code_site& site, const code_edit& e, const order_costs& costs) {
  if (site.host) {
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
