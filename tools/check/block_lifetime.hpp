// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
/// @file
/// Checks that each access to a block's shared memory happens during that block's lifetime: after the block has started and
/// before it ends.
///
/// A block has started if one of its events precedes the access in every execution with the same reads-from relation and the
/// same sync points. A block ends when its last thread ends. Therefore an access happens before the block ends if it is ordered
/// before the last event of one of the block's threads, or if one of these threads has observed the access. A bulk copy has a
/// separate access for each piece, and its completion orders all of them. Source: CUDA programming guide, "Distributed Shared
/// Memory"; PTX ISA, "cp.async.bulk".
#pragma once

#include <check/graph.hpp>
#include <check/machine.hpp>
#include <check/program.hpp>
#include <check/trace.hpp>
#include <membar/model/array.hpp>
#include <membar/model/execution.hpp>

#include <algorithm>
#include <cstddef>
#include <string>
#include <vector>

namespace membar::check {

/// An access to a block's shared memory outside that block's lifetime.
struct outside_of_life {
  const graph_event* access = nullptr;
  int block = 0;
  bool early = false;  ///< true: nothing orders the access after the start of the block; false: nothing orders it before the
                       ///< end of the block
};

/// Returns a sentence that describes an access outside a block's lifetime.
[[nodiscard]] inline std::string lifetime_text(const program& p, const outside_of_life& o) {
  const graph_event& e = *o.access;
  return thread_text(p, e.thread) + (e.kind == model::event_kind::write ? " writes to " : " reads ") +
         place_text(p, e.address) + ", and nothing orders this access " +
         (o.early
              ? "after the start of block " + std::to_string(o.block) + ": a cluster barrier is missing before the access"
              : "before the end of block " + std::to_string(o.block) +
                    (model::at(p.threads, e.thread).copies_of >= 0 ? ": the block must wait for the copy before it exits"
                                                                   : ": a cluster barrier is missing before the block ends"));
}

/// The blocks of a program whose lifetimes matter.
class block_lifetimes {
 public:
  explicit block_lifetimes(const program& p) : program_(p) {
    for (int t = 0; t < model::count_of(p.threads); ++t) {
      const thread_context& c = model::at(p.threads, t);
      matters_ = matters_ || (!p.fragment && (c.cluster_blocks > 1 || c.copies_of >= 0));
      if (c.copies_of < 0) {
        threads_.resize(std::max(threads_.size(), static_cast<std::size_t>(c.block_number) + 1));
        model::at(threads_, c.block_number).push_back(t);
      }
    }
  }

  /// Returns the first access of a complete execution that is outside a block's lifetime. `access` is null if there is no such
  /// access.
  [[nodiscard]] outside_of_life find(const graph& g, const event_rules& rules) const {
    for (int t = 0; t < model::count_of(g.threads) && matters_; ++t) {
      for (const graph_event* e : model::at(g.threads, t).events) {
        const bool access = e->kind == model::event_kind::read || e->kind == model::event_kind::write;
        if (access && machine::is_shared(e->address)) {
          const int block = thread_context::block_of(e->address);
          const bool own = block == model::at(program_.threads, t).block_number;
          if (!own && !has_begun(*e, block)) {
            return {e, block, true};
          }
          if ((!own || is_bulk(g, t)) && !is_in_time(g, rules, *e, block)) {
            return {e, block, false};
          }
        }
      }
    }
    return {};
  }

 private:
  [[nodiscard]] bool is_bulk(const graph& g, int t) const {
    const graph_event* const issue = model::at(g.threads, t).issue;
    return issue != nullptr &&
           model::at(model::at(program_.threads, issue->thread).kernel->code, issue->pc).completes != model::completion::group;
  }
  [[nodiscard]] bool has_begun(const graph_event& e, int block) const {
    const std::vector<int>& threads = model::at(threads_, block);
    return std::any_of(threads.begin(), threads.end(), [&](int u) { return e.prefix[u] > 0; });
  }
  [[nodiscard]] bool is_in_time(const graph& g, const event_rules& rules, const graph_event& e, int block) const {
    const std::vector<int>& threads = model::at(threads_, block);
    return std::any_of(threads.begin(), threads.end(), [&](int u) {
      const auto& events = model::at(g.threads, u).events;
      return !events.empty() && rules.causes(g, e, events.back()->base);
    });
  }

  const program& program_;
  std::vector<std::vector<int>> threads_{};  ///< per block: its threads
  bool matters_ = false;
};

}  // namespace membar::check
