// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
/// @file
/// A publisher, which issues releases on behalf of other warps. A warp passes its value to the publisher with a release at a
/// narrow scope. The publisher then makes the values visible at a wide scope, with a single fence for many values. The
/// computing warps therefore issue no system-scope fences.
#pragma once

#include <membar/atomic.cuh>
#include <membar/detail/lane.cuh>
#include <membar/detail/ring.cuh>
#include <membar/fence.cuh>
#include <membar/wait_budget.cuh>

namespace membar {
inline namespace v0_3 {

/// The result of serving: how serving ended, and what the publisher did.
struct publisher_report {
  /// `closed`: every source was closed and everything was published; `timed_out`: nothing was published during the idle budget
  wait_result end;
  unsigned long long fences;              ///< the number of fences issued, one per batch
  unsigned long long batches_of_several;  ///< the number of batches where one fence served more than one publication
  unsigned long long largest_lag;         ///< the largest number of waiting publications of one source that was observed
};

/// Publishes for up to `Sources` threads or warps. They pass values at scope `From`, and the serving warp or thread makes the
/// values visible at scope `To`. `publish(signal, value)` costs its caller one release store at `From`.
///
/// To use a publisher within a block, declare `__shared__ membar::publisher<4, 16> p;`, let one thread call `p.init()`, and
/// execute a block barrier. Then each of four warps creates a `publisher<4, 16>::warp_source` (or each of four threads creates
/// a `source`) with its own index, publishes, and closes the source. Another warp runs `p.serve_warp(idle)`. With `From =
/// device`, the object must be in device memory, and one block serves the whole device. In a zero-initialized publisher, all
/// sources are open.
///
/// Synchronizes: a consumer that acquires the value of a publication, at scope `To` or wider, synchronizes with the publisher's
/// fence, and therefore with everything that happened before that `publish`. This includes everything that the publishing
/// thread did and observed (including the other threads' work, if a warp or block barrier precedes the `publish`), and every
/// earlier publication of the source. A consumer that acquires a signal's `value` therefore also finds, in every signal, the
/// value from that source's earlier publications or a later value. There is no order between sources, and a consumer may miss
/// values of a signal that later values have replaced. When `publish` returns, the value need not be visible yet; when `flush`
/// returns, the value is visible. Nothing is guaranteed to a consumer that loads the signal with relaxed order.
///
/// Lag: at most `Lag` publications of a source can be waiting; a further `publish` waits for the publisher. A batch contains
/// the waiting publications of one signal per source. A source that changes its signal with every publication needs one fence
/// per publication, but the other sources share these fences.
///
/// PTX: publish: st.release.FROM of the tail; serve: ld.acquire.FROM of the tails, one fence.release.TO, st.relaxed.TO of the
/// values, st.release.FROM of the heads. Requires: `To` must be wider than `From`; at `device`, both sides must run in one
/// physical domain; the serving warp must run at the same time as its sources; only this publisher may store to the signals.
template <int Sources, int Lag, thread_scope From = thread_scope::block, thread_scope To = thread_scope::system>
class publisher {
  struct entry {
    unsigned long long* signal;
    unsigned long long value;
  };

  static constexpr unsigned all_lanes = 0xffffffffU;

  static_assert(Sources > 0, "membar: a publisher needs at least one source");
  static_assert(detail::is_power_of_two(Lag), "membar: the lag of a publisher must be a power of two");
  static_assert(From < To, "membar: the scope at which a publisher publishes must be wider than the scope of its sources");

 public:
  static constexpr int sources = Sources;
  static constexpr int lag_limit = Lag;

  /// Opens the first `open` sources and closes the others. One thread must call it, and a barrier or a kernel launch must come
  /// between this call and the first use.
  __device__ void init(int open = Sources) noexcept {
    for (int i = 0; i != Sources; ++i) {
      tails_[i].store(i < open ? 0 : detail::closed_bit, relaxed);
      heads_[i].store(0, relaxed);
    }
    fences_.store(0, relaxed);
  }

  /// A thread's end of a source. Only one thread at a time may publish under an index.
  class source {
   public:
    /// Continues where the previous source with that index stopped.
    __device__ source(publisher& to, int index) noexcept
        : tail_(&to.tails_[index]), head_(&to.heads_[index]), entries_(to.entries_[index]), ring_(tail_->load(relaxed)) {}

    /// Asks the publisher to store `value` to `signal`. Returns `would_wait` if `Lag` publications are waiting.
    ///
    /// Returns `closed` after `close`, or if the publisher has stopped. The source detects that the publisher has stopped when
    /// `Lag` publications are waiting, or earlier.
    __device__ wait_result try_publish(unsigned long long& signal, unsigned long long value) noexcept {
      return ring_.claim(*head_, acquire, [&] {
        entries_[ring_.slot()] = {&signal, value};
        tail_->store(++ring_.pushed, release);
      });
    }

    /// Asks the publisher to store `value` to `signal`. If `Lag` publications are waiting, the call waits for space.
    ///
    /// If only one lane of a warp makes this call, the warp may stay split into two diverged parts, and its work then takes
    /// twice as long. Use a `warp_source` for a warp.
    __device__ wait_result publish(unsigned long long& signal, unsigned long long value, wait_budget budget) noexcept {
      return detail::wait_until(budget, [&] { return try_publish(signal, value); });
    }

    /// Waits until the publisher has stored the values of all publications of this source. Later accesses by this thread are
    /// ordered after those stores. Returns `closed` if the publisher stopped earlier.
    __device__ wait_result flush(wait_budget budget) noexcept {
      return detail::wait_until(budget, [&] {
        const unsigned long long head = head_->load(acquire);
        ring_.note(head);
        const bool stopped = (head & detail::closed_bit) != 0;
        return ring_.taken == ring_.pushed ? wait_result::done : stopped ? wait_result::closed : wait_result::would_wait;
      });
    }

    /// Ends this source. Values that were passed to the publisher are still published.
    __device__ void close() noexcept {
      ring_.closed = true;
      tail_->store(ring_.pushed | detail::closed_bit, release);
    }

   private:
    atomic<unsigned long long, From>* tail_;
    atomic<unsigned long long, From>* head_;
    entry* entries_;
    detail::ring_producer<Lag> ring_;
  };

  /// A warp's end of a source. Each of the 32 lanes has such an object, and all lanes must call every operation together, with
  /// equal arguments.
  ///
  /// Everything that any lane did before `publish` is published. All lanes take the same branches, and lane 0 performs the
  /// accesses.
  class warp_source {
   public:
    /// Continues where the previous source with that index stopped.
    __device__ warp_source(publisher& to, int index) noexcept
        : tail_(&to.tails_[index]),
          head_(&to.heads_[index]),
          entries_(to.entries_[index]),
          ring_(from_first_lane(tail_->load(relaxed))) {
      detail::require_whole_warp();
    }

    /// Asks the publisher to store `value` to `signal`. If `Lag` publications are waiting, the call waits for space. The call
    /// returns `closed` in the same cases as for a `source`.
    __device__ wait_result publish(unsigned long long& signal, unsigned long long value, wait_budget budget) noexcept {
      __syncwarp();  // so that the release covers the other lanes' work
      for (detail::polling poll(budget); !ring_.closed && ring_.full();) {
        look();
        if (!ring_.closed && ring_.full() && used_up(poll)) {
          return wait_result::timed_out;
        }
      }
      if (ring_.closed) {
        return wait_result::closed;
      }
      if (detail::lane_id() == 0) {
        entries_[ring_.slot()] = {&signal, value};
        tail_->store(ring_.pushed + 1, release);
      }
      ++ring_.pushed;
      __syncwarp();
      return wait_result::done;
    }

    /// Waits until the publisher has stored the values of all publications of this source. Later accesses by any lane are
    /// ordered after those stores. Returns `closed` if the publisher stopped earlier.
    __device__ wait_result flush(wait_budget budget) noexcept {
      for (detail::polling poll(budget);;) {
        const bool stopped = look();
        if (ring_.taken == ring_.pushed || stopped || used_up(poll)) {
          __syncwarp();  // so that lane 0 has also acquired for the other lanes
          return ring_.taken == ring_.pushed ? wait_result::done : stopped ? wait_result::closed : wait_result::timed_out;
        }
      }
    }

    /// Ends this source. Values that were passed to the publisher are still published.
    __device__ void close() noexcept {
      __syncwarp();
      ring_.closed = true;
      if (detail::lane_id() == 0) {
        tail_->store(ring_.pushed | detail::closed_bit, release);
      }
    }

   private:
    [[nodiscard]] __device__ static unsigned long long from_first_lane(unsigned long long value) noexcept {
      return __shfl_sync(all_lanes, value, 0);
    }
    /// Returns whether the budget is used up. The result is the same for all lanes, even if their clocks differ.
    [[nodiscard]] __device__ static bool used_up(detail::polling& poll) noexcept {
      return __any_sync(all_lanes, poll.over()) != 0;
    }
    /// Updates the number of publications that the publisher has taken, as acquired by lane 0. Returns whether the publisher
    /// has stopped.
    __device__ bool look() noexcept {
      const unsigned long long head = from_first_lane(head_->load(acquire));
      ring_.note(head);
      const bool stopped = (head & detail::closed_bit) != 0;
      ring_.closed = ring_.closed || stopped;
      return stopped;
    }

    atomic<unsigned long long, From>* tail_;
    atomic<unsigned long long, From>* head_;
    entry* entries_;
    detail::ring_producer<Lag> ring_;
  };

  /// Closes every source. One thread must call it, after a barrier that follows every publication. No source may be used
  /// afterwards.
  __device__ void shutdown() noexcept {
    for (int i = 0; i != Sources; ++i) {
      tails_[i].fetch_or(detail::closed_bit, relaxed);
    }
  }

  /// Publishes until every source is closed, or until no source has published for `idle`. All 32 lanes of one warp must call
  /// this function.
  __device__ publisher_report serve_warp(wait_budget idle) noexcept {
    detail::require_whole_warp();
    return serve<32>(static_cast<int>(detail::lane_id()), idle);
  }

  /// Publishes until every source is closed, or until no source has published for `idle`. One thread must call this function,
  /// which is slower than `serve_warp` if there are many sources.
  __device__ publisher_report serve_thread(wait_budget idle) noexcept { return serve<1>(0, idle); }

  /// Returns the number of fences issued since `init`, with a relaxed load. Any thread in `From` may call it.
  [[nodiscard]] __device__ unsigned long long fences() const noexcept { return fences_.load(relaxed); }

  /// Returns the number of a source's publications that are waiting, with relaxed loads. Any thread in `From` may call it.
  [[nodiscard]] __device__ unsigned long long lag(int index) const noexcept {
    const unsigned long long head = heads_[index].load(relaxed) & ~detail::closed_bit;
    const unsigned long long tail = tails_[index].load(relaxed) & ~detail::closed_bit;
    return tail < head ? 0 : tail - head;
  }

 private:
  /// Returns whether the value is true for any lane.
  template <int Lanes>
  [[nodiscard]] __device__ static bool any(bool mine) noexcept {
    if constexpr (Lanes == 1) {
      return mine;
    } else {
      return __any_sync(all_lanes, mine) != 0;
    }
  }

  /// Returns how many of a source's publications from `head` to `tail` are for the same signal as the first one, up to the
  /// first publication for another signal. A single fence for several signals would not order the stores to the later signals
  /// after the stores to the earlier ones.
  [[nodiscard]] __device__ unsigned run_length(int index, unsigned long long head, unsigned long long tail) const noexcept {
    const unsigned long long* const signal = entries_[index][head % Lag].signal;
    unsigned length = 1;
    while (head + length != tail && entries_[index][(head + length) % Lag].signal == signal) {
      ++length;
    }
    return length;
  }

  /// Serves the sources. Each lane serves the sources `lane`, `lane + Lanes` and so on: it repeatedly collects a batch, issues
  /// a fence, and stores the batch's values.
  template <int Lanes>
  __device__ publisher_report serve(int lane, wait_budget idle) noexcept {
    constexpr int per_lane = (Sources + Lanes - 1) / Lanes;
    unsigned long long heads[per_lane];
    unsigned runs[per_lane];
    publisher_report report{wait_result::closed, 0, 0, 0};
#pragma unroll
    for (int i = 0; i != per_lane; ++i) {
      const int index = lane + i * Lanes;
      heads[i] = index < Sources ? heads_[index].load(relaxed) & ~detail::closed_bit : 0;
    }
    for (detail::polling poll(idle);;) {
      // Collect: determine how many publications of each source are in this batch.
      bool open = false;
      unsigned batch = 0;
#pragma unroll
      for (int i = 0; i != per_lane; ++i) {
        const int index = lane + i * Lanes;
        runs[i] = 0;
        if (index < Sources) {
          const unsigned long long tail = tails_[index].load(acquire);
          const unsigned long long waiting = (tail & ~detail::closed_bit) - heads[i];
          open = open || (tail & detail::closed_bit) == 0 || waiting != 0;
          if (waiting != 0) {
            runs[i] = run_length(index, heads[i], heads[i] + waiting);
            report.largest_lag = waiting > report.largest_lag ? waiting : report.largest_lag;
          }
          batch += runs[i];
        }
      }
      if (!any<Lanes>(batch != 0)) {
        if (!any<Lanes>(open)) {
          break;
        }
        if (any<Lanes>(poll.over())) {
          report.end = wait_result::timed_out;
          break;
        }
        // This leaves the issue slots to the computing warps.
        __nanosleep(32);
        continue;
      }
      poll = detail::polling(idle);
      // A single fence for all lanes: they are converged here, so the warp executes one instruction.
      thread_fence<To>(release);
      ++report.fences;
      report.batches_of_several += several<Lanes>(batch) ? 1 : 0;
      // Store the values, and tell each source how many of its publications have been taken.
#pragma unroll
      for (int i = 0; i != per_lane; ++i) {
        const int index = lane + i * Lanes;
        if (runs[i] != 0) {
          for (unsigned k = 0; k != runs[i]; ++k) {
            const entry next = entries_[index][(heads[i] + k) % Lag];
            atomic_ref<unsigned long long, To>(*next.signal).store(next.value, relaxed);
          }
          heads[i] += runs[i];
          heads_[index].store(heads[i], release);
        }
      }
      if (lane == 0) {
        fences_.store(fences_.load(relaxed) + 1, relaxed);
      }
    }
#pragma unroll
    for (int i = 0; i != per_lane; ++i) {
      const int index = lane + i * Lanes;
      if (index < Sources) {
        heads_[index].store(heads[i] | detail::closed_bit, release);
      }
    }
    report.largest_lag = most<Lanes>(report.largest_lag);
    return report;
  }

  /// Returns whether the batches of all lanes together contain more than one publication.
  template <int Lanes>
  [[nodiscard]] __device__ static bool several(unsigned batch) noexcept {
    if constexpr (Lanes == 1) {
      return batch > 1;
    } else {
      const unsigned lanes = __ballot_sync(all_lanes, batch != 0);
      return (lanes & (lanes - 1)) != 0 || __any_sync(all_lanes, batch > 1) != 0;
    }
  }

  /// Returns the largest value of any lane.
  template <int Lanes>
  [[nodiscard]] __device__ static unsigned long long most(unsigned long long mine) noexcept {
    if constexpr (Lanes == 1) {
      return mine;
    } else {
      for (int step = 16; step != 0; step /= 2) {
        const unsigned long long other = __shfl_xor_sync(all_lanes, mine, step);
        mine = other > mine ? other : mine;
      }
      return mine;
    }
  }

  atomic<unsigned long long, From> tails_[static_cast<std::size_t>(Sources)];
  atomic<unsigned long long, From> heads_[static_cast<std::size_t>(Sources)];
  atomic<unsigned long long, From> fences_;
  entry entries_[static_cast<std::size_t>(Sources)][static_cast<std::size_t>(Lag)];
};

}  // namespace v0_3
}  // namespace membar
