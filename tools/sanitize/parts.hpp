// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
/// @file
/// Parts of a schedule that run concurrently: groups of blocks of one launch that turn out not to communicate.
///
/// Every part of a batch starts with the memory as it was before the batch, and keeps everything that it accesses in its own
/// pages. If no part writes a word that another part accesses, the result is the same as if the parts had run one after the
/// other, and their pages are merged in that order. Otherwise the results of the whole batch are discarded, and the blocks run
/// together in one schedule. Neither outcome depends on the number of host threads.
#pragma once

#include <check/program.hpp>
#include <sanitize/clock.hpp>
#include <sanitize/crew.hpp>
#include <sanitize/findings.hpp>
#include <sanitize/knowledge.hpp>
#include <sanitize/memory.hpp>
#include <sanitize/private_pages.hpp>
#include <sanitize/run_state.hpp>

#include <algorithm>
#include <atomic>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <memory>
#include <unordered_map>
#include <vector>

namespace membar::sanitize {

/// The results of a part.
struct part_result {
  part_result() = default;
  part_result(const part_result&) = delete;
  part_result& operator=(const part_result&) = delete;
  ~part_result() {
    const clock::using_nodes own(nodes, clock::levels());  // the part has not counted its uses of the run's nodes
    end = knowledge();
  }

  clock_nodes nodes{};  ///< the nodes of `end`
  private_pages pages{};
  knowledge end{};  ///< the events that happen before the ends of the part's threads
  std::vector<std::uint64_t> dropped_cells{};
  std::vector<sanitizer_finding> found{};
  std::uint64_t instructions = 0;
  std::uint64_t accesses = 0;
  std::uint64_t writes = 0;
  bool whole = false;  ///< whether all threads of the part have exited the kernel
};

using part_results = std::vector<std::unique_ptr<part_result>>;

/// Returns whether, judging by the kernel's instructions, threads of different blocks can communicate only through data races.
[[nodiscard]] inline bool keeps_to_blocks(const check::kernel_code& kernel) {
  return std::none_of(kernel.code.begin(), kernel.code.end(), [](const check::instruction& i) {
    switch (i.code) {
      case check::op::load:
      case check::op::store:
      case check::op::atomic:
      case check::op::reduction:
        return i.strong && i.space != check::state_space::shared;
      case check::op::fence:
        return i.scope != thread_scope::block || i.order == memory_order::seq_cst;
      case check::op::cluster_arrive:
      case check::op::cluster_wait:
      case check::op::grid_launch:
      case check::op::grid_wait:
        return true;
      default:
        return false;
    }
  });
}

/// Returns whether the blocks of a launch may run in parts. This requires that no other launch runs at the same time.
[[nodiscard]] inline bool may_run_in_parts(const run_state& state, const launch_run& l) {
  const check::launch_request& r = l.plan->request;
  if (state.wide || state.is_part || state.how.observe || r.host || r.cluster > 1 || !state.memory.is_aligned() ||
      !keeps_to_blocks(*r.kernel)) {
    return false;
  }
  const auto comes_before = [&](const launch_run& x, const launch_run& y) {
    const std::vector<int>& before = model::at(state.checked.launches_before, y.plan->number);
    return std::find(before.begin(), before.end(), x.plan->number) != before.end() &&
           !state.checked.dependent[static_cast<std::size_t>(y.plan->number)];
  };
  return std::all_of(state.launches.begin(), state.launches.end(),
                     [&](const launch_run& o) { return &o == &l || comes_before(o, l) || comes_before(l, o); });
}

/// Merges the pages of a batch of parts.
class page_merge {
 public:
  page_merge(const part_results& parts, crew& all, thread_key first, thread_key last)
      : parts_(parts), all_(all), first_(first), last_(last) {
    for (const auto& p : parts) {
      pages_ += p->pages.count();
    }
  }

  [[nodiscard]] std::size_t pages() const noexcept { return pages_; }

  /// Returns whether a part writes a word that another part accesses.
  [[nodiscard]] bool communicate() {
    std::atomic<bool> result = false;
    for_each_share([&](std::size_t share) {
      std::unordered_map<std::uint64_t, accessed_words> all;
      for (const auto& part : parts_) {
        for (const auto& p : part->pages.share(share)) {
          accessed_words& a = all[p->number];
          if (((p->written & (a.read | a.written)) | (p->read & a.written)) != 0) {
            result = true;
            return;
          }
          a.read |= p->read;
          a.written |= p->written;
        }
      }
    });
    return result;
  }

  void perform() {
    for (const auto& part : parts_) {
      for (object* const o : part->pages.with_unknown()) {
        o->let_unknown();
      }
    }
    for_each_share([&](std::size_t share) {
      std::unordered_map<std::uint64_t, std::uint64_t> done;
      for (const auto& part : parts_) {
        for (const auto& p : part->pages.share(share)) {
          std::uint64_t& before = done[p->number];
          for (std::uint64_t left = p->read | p->written; left != 0; left &= left - 1) {
            take(*p, static_cast<unsigned>(std::countr_zero(left)), before);
          }
          before |= p->read | p->written;
        }
      }
    });
  }

 private:
  struct accessed_words {
    std::uint64_t read = 0;
    std::uint64_t written = 0;
  };

  template <class Use>
  void for_each_share(const Use& use) {
    constexpr std::size_t few = 1024;  // the largest number of pages that this thread merges without help
    if (pages_ > few) {
      all_.perform(private_pages::shares, use);
    } else {
      for (std::size_t share = 0; share < private_pages::shares; ++share) {
        use(share);
      }
    }
  }

  void take(const private_page& p, unsigned word, std::uint64_t before) const {
    const std::uint64_t at = p.address + 4 * word;
    const bool again = ((before >> word) & 1U) != 0;
    p.of->take(p, at, again ? read_by_both(p.of->cell_at(at), p.cells[word]) : p.cells[word]);
  }

  /// Returns the accesses to a word that several parts have read. `x` contains the accesses of the earlier parts.
  [[nodiscard]] cell read_by_both(const cell& x, const cell& y) const noexcept {
    const auto is_of_batch = [&](const stamp& s) { return s.key >= first_ && s.key <= last_; };
    const auto is_in = [&](const stamp& s, const cell& c) {
      return std::any_of(std::begin(c.last), std::end(c.last),
                         [&](const stamp& o) { return o.key == s.key && o.time == s.time && o.what == s.what; });
    };
    stamp all[8];
    int count = 0;
    for (int k = 1; k < 4; ++k) {
      if (x.last[k].key != 0 && (is_of_batch(x.last[k]) || is_in(x.last[k], y))) {
        all[count++] = x.last[k];
      }
    }
    for (int k = 1; k < 4; ++k) {
      if (is_of_batch(y.last[k])) {
        all[count++] = y.last[k];
      }
    }
    cell result{};
    result.last[0] = x.last[0];
    const int from = std::max(count - 3, 0);
    std::copy(all + from, all + count, result.last + 1);
    return result;
  }

  const part_results& parts_;
  crew& all_;
  thread_key first_;  ///< the range of the batch's keys
  thread_key last_;
  std::size_t pages_ = 0;
};

}  // namespace membar::sanitize
