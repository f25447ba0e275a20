// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Runs the kernels in the bug corpus (docs/bugs.md) on a GPU, under stress. A fixed kernel must never fail. The test records
// how often a wrong kernel fails, but does not require failures: the model allows them, but hardware need not show them. Two
// kernels act as two GPUs.
#include <examples/bugs/barrier_in_a_branch.cu>
#include <examples/bugs/channel_bounds.cu>
#include <examples/bugs/cleared_at_once.cu>
#include <examples/bugs/cleared_too_late.cu>
#include <examples/bugs/counted_chunks.cu>
#include <examples/bugs/key_before_value.cu>
#include <examples/bugs/last_block_reads.cu>
#include <examples/bugs/leader_scalar.cu>
#include <examples/bugs/lock_without_fences.cu>
#include <examples/bugs/look_back.cu>
#include <examples/bugs/no_acquire.cu>
#include <examples/bugs/one_fence.cu>
#include <examples/bugs/one_flag_set.cu>
#include <examples/bugs/polling_cache_hint.cu>
#include <examples/bugs/red_without_release.cu>
#include <examples/bugs/reduce_in_a_loop.cu>
#include <examples/bugs/scan_without_fence.cu>
#include <examples/bugs/serial_reduction.cu>
#include <examples/bugs/shared_semaphore.cu>
#include <examples/bugs/shared_signal_pad.cu>
#include <examples/bugs/skipped_tiles.cu>
#include <examples/bugs/two_streams.cu>
#include <examples/bugs/volatile_flags.cu>
#include <examples/bugs/warp_in_step.cu>

#include <tests/common/gpu_test.hpp>

#include <algorithm>
#include <chrono>
#include <iostream>
#include <numeric>

namespace membar_test {
namespace {

/// The results of a kernel.
struct seen {
  unsigned long long runs = 0;
  unsigned long long wrong = 0;  ///< The number of incorrect values.
  unsigned late = 0;             ///< the number of waits that timed out
};

/// Words that start as zero, and can be reset to zero.
class words : public support::device_memory<unsigned> {
 public:
  using support::device_memory<unsigned>::device_memory;
  void clear() const {
    check(cudaMemset(get(), 0, size() * sizeof(unsigned)));
    check(cudaStreamSynchronize(nullptr));  // The streams of the tests do not wait for the default stream.
  }
  [[nodiscard]] unsigned long long sum() const {
    const auto all = copied(*this);
    return std::accumulate(all.begin(), all.end(), 0ULL);
  }
};

class bugs : public gpu_test {
 protected:
  const support::stream a{}, b{}, c{}, d{};

  static unsigned multiprocessors() {
    int count = 0;
    check(cudaDeviceGetAttribute(&count, cudaDevAttrMultiProcessorCount, 0));
    return static_cast<unsigned>(count);
  }

  /// Runs `once` repeatedly for about a second, and stops early after three timed-out waits.
  template <class Once>
  static seen repeatedly(Once once) {
    seen all;
    const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(1);
    while (std::chrono::steady_clock::now() < end && all.late < 3) {
      const seen one = once();
      all.runs += one.runs;
      all.wrong += one.wrong;
      all.late += one.late;
    }
    return all;
  }

  /// Runs the fixed kernel, which must give the right result, and then the wrong kernel, whose failures are recorded.
  template <class Run>
  void witness(Run run) {
    const seen fixed = run(std::true_type{});
    EXPECT_EQ(fixed.wrong, 0U) << "of " << fixed.runs;
    EXPECT_EQ(fixed.late, 0U) << "of " << fixed.runs;
    EXPECT_GT(fixed.runs, 0U);
    const seen wrong = run(std::false_type{});
    RecordProperty("runs", std::to_string(wrong.runs));
    RecordProperty("wrong", std::to_string(wrong.wrong));
    RecordProperty("late", std::to_string(wrong.late));
    const char* const name = ::testing::UnitTest::GetInstance()->current_test_info()->name();
    std::cout << "[ REPORTED ] " << name << ": " << (wrong.wrong + wrong.late > 0 ? "seen" : "not seen") << ", " << wrong.wrong
              << " wrong values and " << wrong.late << " hangs in " << wrong.runs << " runs; fixed: none in " << fixed.runs
              << std::endl;
  }
};

TEST_F(bugs, volatile_flags) {
  witness([&](auto fixed) {
    constexpr unsigned rounds = 20'000;
    return repeatedly([&] {
      const words in(2), flags(2), wrong(2), late(1);
      membar::launch({1, 1, a.get()}, add_both<decltype(fixed)::value>, in.get(), flags.get(), 0, rounds, wrong.get(),
                     late.get());
      membar::launch({1, 1, b.get()}, add_both<decltype(fixed)::value>, in.get(), flags.get(), 1, rounds, wrong.get(),
                     late.get());
      return seen{rounds, wrong.sum(), copied(late)[0]};
    });
  });
}

TEST_F(bugs, one_flag_set) {
  witness([&](auto fixed) {
    constexpr unsigned rounds = 20'000;
    return repeatedly([&] {
      const words flags(4), late(1);
      for (int self = 0; self < 2; ++self) {
        membar::launch({1, 1, self == 0 ? a.get() : b.get()}, meet_repeatedly<decltype(fixed)::value>, flags.get(), self,
                       rounds, late.get());
      }
      return seen{rounds, 0, copied(late)[0]};
    });
  });
}

TEST_F(bugs, red_without_release) {
  const unsigned blocks = multiprocessors();
  witness([&](auto fixed) {
    constexpr unsigned rounds = 2'000;
    return repeatedly([&] {
      const words results(blocks), done(1), taken(1), wrong(1), late(1);
      membar::launch({blocks, 1}, gather_counted<decltype(fixed)::value>, results.get(), done.get(), taken.get(), rounds,
                     wrong.get(), late.get());
      return seen{rounds, wrong.sum(), copied(late)[0]};
    });
  });
}

TEST_F(bugs, no_acquire) {
  const unsigned blocks = multiprocessors();
  witness([&](auto fixed) {
    constexpr unsigned rounds = 2'000;
    return repeatedly([&] {
      const words cells(blocks), count(1), phase(1), wrong(blocks), late(1);
      membar::launch({blocks, 1}, exchange<decltype(fixed)::value>, cells.get(), count.get(), phase.get(), rounds, wrong.get(),
                     late.get());
      return seen{rounds, wrong.sum(), copied(late)[0]};
    });
  });
}

TEST_F(bugs, polling_cache_hint) {
  const unsigned blocks = multiprocessors();
  const words flags(blocks), cells(blocks), wrong(blocks), late(1);
  witness([&](auto fixed) {
    wrong.clear();
    late.clear();
    return repeatedly([&] {
      cells.clear();
      membar::launch({blocks, 1}, meet_by_polling<decltype(fixed)::value>, flags.get(), cells.get(), wrong.get(), late.get());
      return seen{1, wrong.sum(), copied(late)[0]};
    });
  });
}

TEST_F(bugs, one_fence) {
  const unsigned blocks = multiprocessors();
  const words cells(blocks * 256UL), count(1), wrong(blocks * 256UL), late(1);
  const seen all = repeatedly([&] {
    cells.clear();
    count.clear();
    membar::launch({blocks, 256}, meet_with_one_fence, cells.get(), count.get(), wrong.get(), late.get());
    return seen{1, wrong.sum(), copied(late)[0]};
  });
  EXPECT_EQ(all.wrong, 0U) << "of " << all.runs;
  EXPECT_EQ(all.late, 0U);
}

TEST_F(bugs, last_block_reads) {
  const unsigned blocks = 4 * multiprocessors();
  const words partial(blocks * 128UL), count(1), sum(128);
  witness([&](auto fixed) {
    return repeatedly([&] {
      partial.clear();
      count.clear();
      sum.clear();
      membar::launch({blocks, 128}, reduce_in_two_stages<decltype(fixed)::value>, partial.get(), count.get(), sum.get());
      return seen{1, 128ULL * blocks - sum.sum(), 0};
    });
  });
}

TEST_F(bugs, scan_without_fence) {
  const unsigned blocks = 2 * multiprocessors();
  const words totals(blocks), count(1);
  witness([&](auto fixed) {
    return repeatedly([&] {
      totals.clear();
      count.clear();
      membar::launch({blocks, 1}, scan_totals<decltype(fixed)::value>, totals.get(), count.get());
      return seen{1, copied(totals)[blocks - 1] == blocks * (blocks + 1) / 2 ? 0U : 1U, 0};
    });
  });
}

TEST_F(bugs, serial_reduction) {
  const unsigned blocks = multiprocessors();
  const words tile(256), semaphore(1), late(1);
  witness([&](auto fixed) {
    return repeatedly([&] {
      tile.clear();
      semaphore.clear();
      late.clear();
      membar::launch({blocks, 256}, add_in_turn<decltype(fixed)::value>, tile.get(), semaphore.get(), late.get());
      return seen{1, 256ULL * blocks - tile.sum(), copied(late)[0]};
    });
  });
}

TEST_F(bugs, shared_semaphore) {
  constexpr unsigned blocks = 64;
  const words parts(2 * blocks), semaphores(2), sums(2);
  witness([&](auto fixed) {
    return repeatedly([&] {
      parts.clear();
      semaphores.clear();
      sums.clear();
      membar::launch({blocks, 1, a.get()}, add_parts, parts.get(), semaphores.get(), sums.get());
      membar::launch({blocks, 1, b.get()}, add_parts, parts.get() + blocks, semaphores.get() + (fixed ? 1 : 0), sums.get() + 1);
      const auto got = copied(sums);
      return seen{1, (got[0] != blocks ? 1ULL : 0) + (got[1] != blocks ? 1ULL : 0), 0};
    });
  });
}

TEST_F(bugs, cleared_at_once) {
  const unsigned blocks = multiprocessors();
  witness([&](auto fixed) {
    return repeatedly([&] {
      const words semaphore(1), both(1), late(1);
      membar::launch({blocks, 1}, meet_and_clear<decltype(fixed)::value>, semaphore.get(), both.get(), late.get());
      return seen{1, 0, copied(late)[0]};
    });
  });
}

TEST_F(bugs, lock_without_fences) {
  const unsigned blocks = multiprocessors();
  witness([&](auto fixed) {
    constexpr unsigned rounds = 20;
    return repeatedly([&] {
      const words lock(1), late(1);
      const support::device_memory<double> number(2);
      membar::launch({blocks, 1}, add_under_lock<decltype(fixed)::value>, lock.get(), number.get(), rounds, late.get());
      const auto got = copied(number);
      return seen{1ULL * blocks * rounds, got[0] == blocks * rounds && got[1] == 2 * got[0] ? 0U : 1U, copied(late)[0]};
    });
  });
}

TEST_F(bugs, look_back) {
  const unsigned blocks = 8 * multiprocessors();
  witness([&](auto fixed) {
    const words sums(blocks), flags(blocks), wrong(blocks), late(1);
    unsigned round = 0;
    unsigned long long before = 0;
    return repeatedly([&] {
      membar::launch({blocks, 1}, look_back<decltype(fixed)::value>, sums.get(), flags.get(), ++round, wrong.get(), late.get());
      const unsigned long long now = wrong.sum();
      return seen{1, now - std::exchange(before, now), copied(late)[0]};
    });
  });
}

TEST_F(bugs, two_streams) {
  witness([&](auto fixed) {
    return repeatedly([&] {
      const support::device_memory<push_communicator> both(2);
      const words sums(4), late(1);
      const cudaStream_t streams[] = {a.get(), fixed ? a.get() : b.get(), c.get(), fixed ? c.get() : d.get()};
      for (unsigned k = 0; k < 4; ++k) {
        membar::launch({1, 1, streams[k]}, push_and_add, both.get(), static_cast<int>(k / 2), 1U, sums.get() + k, late.get());
      }
      return seen{1, 0, copied(late)[0]};
    });
  });
}

TEST_F(bugs, shared_signal_pad) {
  witness([&](auto fixed) {
    const words vectors(64), pads(4), sums(4), late(1);
    return repeatedly([&] {
      vectors.clear();
      pads.clear();
      sums.clear();
      late.clear();
      const cudaStream_t streams[] = {a.get(), b.get(), c.get(), d.get()};
      for (const unsigned k : {0U, 3U, 1U, 2U}) {  // Each GPU begins with a different collective.
        membar::launch({1, 1, streams[k]}, add_with_signals, vectors.get() + 32 * (k % 2), pads.get(), static_cast<int>(k / 2),
                       fixed ? static_cast<int>(k % 2) : 0, sums.get() + k, late.get());
      }
      const auto got = copied(sums);
      return seen{1,
                  static_cast<unsigned long long>(std::count_if(got.begin(), got.end(), [](unsigned sum) { return sum != 2; })),
                  copied(late)[0]};
    });
  });
}

TEST_F(bugs, cleared_too_late) {
  witness([&](auto fixed) {
    return repeatedly([&] {
      const words signal(1), cleared(1), late(1);
      for (const int self : {1, 0}) {  // the peer arrives early
        membar::launch({1, 1, self == 0 ? a.get() : b.get()}, clear_and_wait<decltype(fixed)::value>, signal.get(),
                       cleared.get(), self, late.get());
      }
      return seen{1, 0, copied(late)[0]};
    });
  });
}

TEST_F(bugs, counted_chunks) {
  witness([&](auto fixed) {
    const words chunks(2), signals(2), sum(1), late(1);
    return repeatedly([&] {
      chunks.clear();
      signals.clear();
      sum.clear();
      membar::launch({3, 1}, receive_in_order<decltype(fixed)::value>, chunks.get(), signals.get(), sum.get(), late.get());
      return seen{1, 2 - sum.sum(), copied(late)[0]};
    });
  });
}

TEST_F(bugs, channel_bounds) {
  witness([&](auto fixed) {
    const words memory(16);  // A signal pad of 8 words, followed by a tensor of 8 words.
    membar::launch({1, 1}, send_on_channel<decltype(fixed)::value>, memory.get(), 8U, 2U, 0U, 5U);
    return seen{1, memory.sum(), 0};
  });
}

TEST_F(bugs, key_before_value) {
  const unsigned blocks = 8 * multiprocessors();
  const words keys(2), values(2), found(blocks), late(1);
  witness([&](auto fixed) {
    return repeatedly([&] {
      keys.clear();
      values.clear();
      membar::launch({blocks, 1}, insert_or_find<decltype(fixed)::value>, keys.get(), values.get(), 5U, 1U, found.get(),
                     late.get());
      return seen{1, blocks - found.sum(), copied(late)[0]};
    });
  });
}

TEST_F(bugs, leader_scalar) {
  witness([&](auto fixed) {
    constexpr unsigned steps = 10'000;
    const words wrong(1024);
    membar::launch({1, 1024}, refine<decltype(fixed)::value>, steps, wrong.get());
    return seen{steps, wrong.sum(), 0};
  });
}

TEST_F(bugs, reduce_in_a_loop) {
  witness([&](auto fixed) {
    constexpr unsigned calls = 10'000;
    const words wrong(256);
    membar::launch({1, 256}, sum_repeatedly<decltype(fixed)::value>, calls, wrong.get());
    return seen{calls, wrong.sum(), 0};
  });
}

TEST_F(bugs, skipped_tiles) {
  constexpr unsigned tiles = 10'000;
  std::vector<unsigned> wanted(256UL * tiles);
  for (unsigned tile = 0; tile < tiles; tile += 2) {
    wanted[256UL * tile + (tile * 37) % 256] = 1;
  }
  const device_copy<unsigned> in(wanted);
  witness([&](auto fixed) {
    const words visited(256);
    membar::launch({1, 256}, visit_tiles<decltype(fixed)::value>, static_cast<const unsigned*>(in.get()), tiles, visited.get());
    unsigned long long wrong = 0;
    for (const unsigned count : copied(visited)) {
      if (count != tiles / 2)
        ++wrong;
    }
    return seen{tiles, wrong, 0};
  });
}

TEST_F(bugs, warp_in_step) {
  witness([&](auto fixed) {
    const words sum(1);
    return repeatedly([&] {
      membar::launch({1, 4}, sum_of_warp<decltype(fixed)::value>, sum.get());
      return seen{1, copied(sum)[0] == 4 ? 0U : 1U, 0};
    });
  });
}

TEST_F(bugs, barrier_in_a_branch) {
  witness([&](auto fixed) {
    return repeatedly([&] {
      const words result(1), late(1);
      membar::launch({1, 64}, publish_in_block<decltype(fixed)::value>, 7U, result.get(), late.get());
      const unsigned waited = copied(late)[0];
      return seen{1, waited == 0 && copied(result)[0] != 7 ? 1U : 0U, waited};
    });
  });
}

}  // namespace
}  // namespace membar_test
