// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
/// @file
/// A publisher: warps hand it their releases at a narrow scope, without waiting, and it makes them visible at a wide one, many
/// with one fence. It keeps system-scope fences off the path of the warps that compute.
#pragma once

#include <membar/atomic.cuh>
#include <membar/fence.cuh>
#include <membar/wait_budget.cuh>

#include <cstdio>
#include <type_traits>

namespace membar {

namespace detail {

/// How many entries of a ring one thread has filled, or emptied, told to another: a count with a release and an acquire.
template <thread_scope Scope>
class told_by_a_word {
 public:
  __device__ void init(bool closed) noexcept { count_.store(closed ? closed_bit : 0, relaxed); }
  /// From `known` to `count` entries.
  __device__ void tell(unsigned long long, unsigned long long count) noexcept { count_.store(count, release); }
  __device__ void close(unsigned long long count) noexcept { count_.store(count | closed_bit, release); }
  /// The count and whether it is the last one, acquired. `known` is what was heard before.
  [[nodiscard]] __device__ unsigned long long hear(unsigned long long) const noexcept { return count_.load(acquire); }
  /// The same, of which nothing may be concluded.
  [[nodiscard]] __device__ unsigned long long peek() const noexcept { return count_.load(relaxed); }
  __device__ void close_as_it_is() noexcept { count_.fetch_or(closed_bit, relaxed); }

 private:
  atomic<unsigned long long, Scope> count_;
};

/// The same within a block, in shared memory, by mbarriers, one for each place of the ring. A release store at block scope is
/// MEMBAR.CTA and a store, and on sm_90 MEMBAR.CTA waits for the stores to other devices and to the host of every warp on the
/// multiprocessor, those of the publisher first of all; the arrival at an mbarrier releases as much and waits for nothing.
template <int Places>
class told_by_mbarriers {
 public:
  __device__ void init(bool closed) noexcept {
#pragma unroll 1
    for (int i = 0; i != Places; ++i) {
      // mbarrier.init.shared.b64 [addr], count;  PTX ISA 7.0, sm_80
      asm volatile("mbarrier.init.shared.b64 [%0], 1;" ::"r"(address(i)) : "memory");
    }
    count_.store(closed ? closed_bit : 0, relaxed);
  }
  __device__ void tell(unsigned long long known, unsigned long long count) noexcept {
    for (; known != count; ++known) {
      // mbarrier.arrive{.release.cta}.shared.b64 state, [addr];  PTX ISA 7.0, sm_80
      asm volatile("{ .reg .b64 state; mbarrier.arrive.shared.b64 state, [%0]; }" ::"r"(address(known)) : "memory");
    }
    count_.store(count, relaxed);
  }
  __device__ void close(unsigned long long count) noexcept { count_.store(count | closed_bit, relaxed); }
  [[nodiscard]] __device__ unsigned long long hear(unsigned long long known) const noexcept {
    const unsigned long long told = count_.load(relaxed);
    const unsigned long long count = told & ~closed_bit;
    // The count says where to look, and may be there before the arrival that it counts.
    return count == known || arrived(count - 1) ? told : known;
  }
  [[nodiscard]] __device__ unsigned long long peek() const noexcept { return count_.load(relaxed); }
  __device__ void close_as_it_is() noexcept { count_.fetch_or(closed_bit, relaxed); }

 private:
  [[nodiscard]] __device__ unsigned address(unsigned long long entry) const noexcept {
    return static_cast<unsigned>(__cvta_generic_to_shared(&turns_[entry % Places]));
  }
  /// Nobody arrives for the place's next entry before this one was heard of: the phase is this entry's or the one after.
  [[nodiscard]] __device__ bool arrived(unsigned long long entry) const noexcept {
    unsigned done = 0;
    // mbarrier.test_wait.parity{.acquire.cta}.shared.b64 p, [addr], parity;  PTX ISA 7.1, sm_80
    asm volatile("{ .reg .pred p; mbarrier.test_wait.parity.shared.b64 p, [%1], %2; selp.u32 %0, 1, 0, p; }"
                 : "=r"(done)
                 : "r"(address(entry)), "r"(static_cast<unsigned>(entry / Places) & 1U)
                 : "memory");
    return done != 0;
  }

  unsigned long long turns_[Places];
  atomic<unsigned long long, thread_scope::block> count_;
};

}  // namespace detail

/// What a publisher did while it served.
struct publisher_report {
  wait_result end;  ///< `closed`: every source closed, everything published; `timed_out`: none did anything for that long
  unsigned long long fences;              ///< fences issued, one per batch
  unsigned long long batches_of_several;  ///< batches in which one fence did for more than one publication
  unsigned long long largest_lag;         ///< most publications of one source that were seen to wait at once
};

/// Publications of up to `Sources` threads, handed over at scope `From` and made visible at scope `To` by the warp (or thread)
/// that serves: `publish(signal, value)` costs its caller one release at `From`, which waits for no store.
///
/// Use, by a block: `__shared__ membar::publisher<4, 16> p;`, one thread `p.init()`, a barrier; then four threads each make a
/// `publisher<4, 16>::source` with an index of its own, publish, and close it, while one other warp runs `p.serve_warp(idle)`.
/// Fed at block scope it is in shared memory, and `init` is called once. With `From = device` the object lives in device memory,
/// and a block of its own serves the whole device; all-zero bytes are then a publisher whose sources are all open.
///
/// Synchronizes: a consumer that acquires, at scope `To` or wider, the value of a publication synchronizes with the publisher's
/// fence, hence with everything that happened before that `publish`: what its thread did and observed (put a barrier of the
/// warp or block before it to cover others), and every publication that the same source made before. So if it acquires `value`
/// of a signal, it also finds the values of that source's earlier publications, in any signal, or later ones. It does not
/// guarantee: order between sources; that a consumer sees every value of a signal (a later one may have replaced it); that
/// `publish` has made anything visible when it returns (`flush` does that); anything to a consumer that loads the signal
/// relaxed.
///
/// Lag: at most `Lag` publications of a source wait; the next `publish` waits for the publisher. A batch takes from each source
/// what waits for one signal; a source that changes signals with every publication gets one fence for each, shared with the
/// other sources. PTX: publish: mbarrier.arrive, which releases at block scope (a wider FROM: st.release.FROM of the tail);
/// serve: mbarrier.test_wait, which acquires (ld.acquire.FROM of the tails), one fence.release.TO, st.relaxed.TO of the values,
/// mbarrier.arrive (st.release.FROM of the heads). Requires: CUDA 12.8; `To` wider than `From`; at `device` both sides in one
/// physical domain; a serving warp that runs at once with its sources. Each signal is stored to by this publisher only.
/// Errors: `init` of one that is fed at block scope and is not in shared memory says so and traps.
template <int Sources, int Lag, thread_scope From = thread_scope::block, thread_scope To = thread_scope::system>
class publisher {
  struct entry {
    unsigned long long* signal;
    unsigned long long value;
  };

  static_assert(Sources > 0, "membar: a publisher has at least one source");
  static_assert(detail::is_power_of_two(Lag), "membar: the lag of a publisher is a power of two");
  static_assert(static_cast<int>(From) < static_cast<int>(To),
                "membar: a publisher widens: the scope it publishes at is wider than the one it is fed at");
  static constexpr bool in_a_block = From == thread_scope::block;
  using progress = std::conditional_t<in_a_block, detail::told_by_mbarriers<Lag>, detail::told_by_a_word<From>>;

 public:
  static constexpr int sources = Sources;
  static constexpr int lag_limit = Lag;

  /// Opens the first `open` sources and closes the others. By one thread; a barrier, or the launch, comes between this and the
  /// first use.
  __device__ void init(int open = Sources) noexcept {
    if (in_a_block && __isShared(this) == 0) {
      printf("membar: a publisher that is fed at block scope must be in shared memory and is at %p: declare it __shared__\n",
             static_cast<void*>(this));
      __trap();
    }
    for (int i = 0; i != Sources; ++i) {
      tails_[i].init(i >= open);
      heads_[i].init(false);
    }
    fences_.store(0, relaxed);
  }

  /// One source's end: the only thread that publishes under this index, at a time.
  class source {
   public:
    __device__ source(publisher& to, int index) noexcept
        : tail_(&to.tails_[index]), head_(&to.heads_[index]), entries_(to.entries_[index]) {
      const unsigned long long tail = tail_->peek();
      closed_ = (tail & detail::closed_bit) != 0;
      pushed_ = tail & ~detail::closed_bit;
      taken_ = pushed_ < Lag ? 0 : pushed_ - Lag;
    }

    /// Hands over "make `value` the value of `signal`". `would_wait` if `Lag` publications wait; `closed` after `close`, or if
    /// the publisher has stopped serving, which is noticed at the latest when the lag is used up.
    __device__ wait_result try_publish(unsigned long long& signal, unsigned long long value) noexcept {
      if (closed_) {
        return wait_result::closed;
      }
      if (pushed_ - taken_ == Lag) {
        const unsigned long long head = head_->hear(taken_);
        taken_ = head & ~detail::closed_bit;
        if ((head & detail::closed_bit) != 0) {
          closed_ = true;
          return wait_result::closed;
        }
        if (pushed_ - taken_ == Lag) {
          return wait_result::would_wait;
        }
      }
      entries_[pushed_ % Lag] = {&signal, value};
      tail_->tell(pushed_, pushed_ + 1);
      ++pushed_;
      return wait_result::done;
    }

    /// The same, and waits for room.
    __device__ wait_result publish(unsigned long long& signal, unsigned long long value, wait_budget budget) noexcept {
      return detail::wait_until(budget, [&] { return try_publish(signal, value); });
    }

    /// Waits until the publisher has stored the value of every publication of this source. What follows in this thread comes
    /// after those stores. `closed` if the publisher stopped before that.
    __device__ wait_result flush(wait_budget budget) noexcept {
      return detail::wait_until(budget, [&] {
        const unsigned long long head = head_->hear(taken_);
        taken_ = head & ~detail::closed_bit;
        const bool stopped = (head & detail::closed_bit) != 0;
        return taken_ == pushed_ ? wait_result::done : stopped ? wait_result::closed : wait_result::would_wait;
      });
    }

    /// Says that nothing more comes. What was handed over is still published.
    __device__ void close() noexcept {
      closed_ = true;
      tail_->close(pushed_);
    }

   private:
    progress* tail_;
    progress* head_;
    entry* entries_;
    unsigned long long pushed_;
    unsigned long long taken_;
    bool closed_;
  };

  /// Closes every source. By one thread, after every publication (a barrier of the block does), and with no source used later.
  __device__ void shutdown() noexcept {
    for (int i = 0; i != Sources; ++i) {
      tails_[i].close_as_it_is();
    }
  }

  /// Publishes until every source has closed, or none has published for as long as `idle`. By all 32 lanes of one warp.
  __device__ publisher_report serve_warp(wait_budget idle) noexcept {
    unsigned lane = 0;
    // mov.u32 d, %laneid;  PTX ISA 1.3
    asm volatile("mov.u32 %0, %%laneid;" : "=r"(lane)::"memory");
    return serve<32>(static_cast<int>(lane), idle);
  }

  /// The same by one thread, which needs no warp of its own and is slower with many sources.
  __device__ publisher_report serve_thread(wait_budget idle) noexcept { return serve<1>(0, idle); }

  /// Fences issued since `init`: a relaxed look, from any thread in `From`.
  [[nodiscard]] __device__ unsigned long long fences() const noexcept { return fences_.load(relaxed); }

  /// How many publications of a source wait: a relaxed look.
  [[nodiscard]] __device__ unsigned long long lag(int index) const noexcept {
    const unsigned long long head = heads_[index].peek() & ~detail::closed_bit;
    const unsigned long long tail = tails_[index].peek() & ~detail::closed_bit;
    return tail < head ? 0 : tail - head;
  }

 private:
  template <int Lanes>
  [[nodiscard]] __device__ static bool any(bool mine) noexcept {
    if constexpr (Lanes == 1) {
      return mine;
    } else {
      return __any_sync(0xffffffffU, mine) != 0;
    }
  }

  /// How many of a source's publications from `head` to `tail` are for one signal: a fence for more would leave the later
  /// signals unordered with the earlier ones.
  [[nodiscard]] __device__ unsigned run_length(int index, unsigned long long head, unsigned long long tail) const noexcept {
    const unsigned long long* const signal = entries_[index][head % Lag].signal;
    unsigned length = 1;
    while (head + length != tail && entries_[index][(head + length) % Lag].signal == signal) {
      ++length;
    }
    return length;
  }

  template <int Lanes>
  __device__ publisher_report serve(int lane, wait_budget idle) noexcept {
    constexpr int per_lane = (Sources + Lanes - 1) / Lanes;
    unsigned long long heads[per_lane];
    unsigned runs[per_lane];
    publisher_report report{wait_result::closed, 0, 0, 0};
#pragma unroll
    for (int i = 0; i != per_lane; ++i) {
      const int index = lane + i * Lanes;
      heads[i] = index < Sources ? heads_[index].peek() & ~detail::closed_bit : 0;
    }
    for (detail::polling poll(idle);;) {
      bool open = false;
      unsigned batch = 0;
#pragma unroll
      for (int i = 0; i != per_lane; ++i) {
        const int index = lane + i * Lanes;
        runs[i] = 0;
        if (index < Sources) {
          const unsigned long long tail = tails_[index].hear(heads[i]);
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
        // Warps that compute need the issue slots more.
        __nanosleep(32);
        continue;
      }
      poll = detail::polling(idle);
      // One fence for all: the lanes are together here, so it is one instruction of the warp.
      thread_fence<To>(release);
      ++report.fences;
      report.batches_of_several += several<Lanes>(batch) ? 1 : 0;
#pragma unroll
      for (int i = 0; i != per_lane; ++i) {
        const int index = lane + i * Lanes;
        if (runs[i] != 0) {
          for (unsigned k = 0; k != runs[i]; ++k) {
            const entry next = entries_[index][(heads[i] + k) % Lag];
            atomic_ref<unsigned long long, To>(*next.signal).store(next.value, relaxed);
          }
          heads_[index].tell(heads[i], heads[i] + runs[i]);
          heads[i] += runs[i];
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
        heads_[index].close(heads[i]);
      }
    }
    report.largest_lag = most<Lanes>(report.largest_lag);
    return report;
  }

  template <int Lanes>
  [[nodiscard]] __device__ static bool several(unsigned batch) noexcept {
    if constexpr (Lanes == 1) {
      return batch > 1;
    } else {
      const unsigned lanes = __ballot_sync(0xffffffffU, batch != 0);
      return (lanes & (lanes - 1)) != 0 || __any_sync(0xffffffffU, batch > 1) != 0;
    }
  }

  template <int Lanes>
  [[nodiscard]] __device__ static unsigned long long most(unsigned long long mine) noexcept {
    if constexpr (Lanes == 1) {
      return mine;
    } else {
      for (int step = 16; step != 0; step /= 2) {
        const unsigned long long other = __shfl_xor_sync(0xffffffffU, mine, step);
        mine = other > mine ? other : mine;
      }
      return mine;
    }
  }

  progress tails_[Sources];
  progress heads_[Sources];
  atomic<unsigned long long, From> fences_;
  entry entries_[Sources][Lag];
};

}  // namespace membar
