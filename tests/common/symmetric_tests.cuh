// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
/// @file
/// Tests of symmetric memory between two or three PEs of the peer backend, under load: no message is lost, torn or older than
/// its signal, counters count correctly, barriers work, and every wait ends. The tests run on two or four GPUs, and on one GPU
/// that acts as several PEs.
#pragma once

#include <membar/atomic.cuh>
#include <membar/device_clock.cuh>
#include <membar/symmetric/on_stream.cuh>
#include <membar/symmetric/recoverable.cuh>

#include <tests/common/captured_graph.hpp>
#include <tests/common/checked.cuh>
#include <tests/common/gpu_test.hpp>
#include <tests/common/symmetric_protocols.cuh>

#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <stdexcept>
#include <string>
#include <vector>

namespace membar_test {

using symmetric::counter, symmetric::heap, symmetric::peer_backend, symmetric::peer_memory, symmetric::scoped_array;

/// The devices that are the PEs.
enum class machine { one_gpu, two_gpus, four_gpus };

[[nodiscard]] inline std::string name_of(const ::testing::TestParamInfo<machine>& info) {
  return info.param == machine::one_gpu ? "one_gpu" : info.param == machine::two_gpus ? "two_gpus" : "four_gpus";
}

inline void expect_clean(const auto& report) {
  EXPECT_EQ(report.late, 0U);
  EXPECT_EQ(report.stale, 0U);
}

/// PEs on one GPU, on two, or on four.
class symmetric_pes : public multi_gpu_test, public ::testing::WithParamInterface<machine> {
 protected:
  void prepare() override {
    order_ = {0};
    if (GetParam() != machine::one_gpu) {
      multi_gpu_test::prepare();
      order_ = {first, second};
    }
    if (IsSkipped() || HasFatalFailure()) {
      return;
    }
    if (GetParam() == machine::four_gpus) {
      order_ = {0, 3, 1, 2};  // Makes the first two devices a different pair than in the test with two GPUs.
      if (!all_reach_each_other(4)) {
        GTEST_SKIP() << "this test needs peer access between the first four GPUs, but they do not have it";
      }
    }
    // The kernels of all PEs fit on a device at the same time, even if there is only one device.
    blocks = std::min(64U, static_cast<unsigned>(attribute_of(cudaDevAttrMultiProcessorCount, first)) / 4 / 2 * 2);
  }

  [[nodiscard]] std::vector<int> devices(int count = 2) const {
    std::vector<int> result;
    for (std::size_t i = 0; i != static_cast<std::size_t>(count); ++i) {
      result.push_back(order_[i % order_.size()]);
    }
    return result;
  }

  /// Launches `kernel(arguments of the PE...)` for every PE, each in its own stream, and waits for all of them.
  template <class Backend, class... Parameters, class Arguments>
  void run(Backend& backend, unsigned grid, unsigned threads, void (*kernel)(Parameters...), Arguments arguments) {
    std::vector<std::unique_ptr<support::stream>> streams;
    for (const pe which : backend.local_pes()) {
      const membar::device_guard guard(backend.device_of(which));
      load(kernel);
      streams.push_back(std::make_unique<support::stream>());
    }
    for (const pe which : backend.local_pes()) {
      const membar::device_guard guard(backend.device_of(which));
      arguments(which, [&](auto... values) {
        membar::launch(launch_config{grid, threads, streams[static_cast<std::size_t>(which.index())]->get()}, kernel,
                       values...);
      });
    }
    for (const auto& each : streams) {
      check(cudaStreamSynchronize(each->get()));
    }
  }

  /// Passes messages with `kernel` in the channels of a group, `messages_in_a_round` in each, and expects all of them to arrive
  /// whole.
  template <class Group, class Kernel>
  void expect_all_passed(Group, Kernel kernel, unsigned size, const std::vector<peer_memory>& kinds,
                         unsigned messages_in_a_round = 1) {
    constexpr bool a_block = std::is_same_v<Group, by_block_t>;
    constexpr unsigned warps = 8;
    const unsigned channels = a_block ? blocks : blocks * warps;
    for (const peer_memory kind : kinds) {
      peer_backend backend(devices(), kind);
      heap<peer_backend> heap(backend, channel_arrays<peer_backend>::bytes(channels));
      const channel_arrays<peer_backend> all(heap, channels);
      std::vector<std::unique_ptr<support::device_memory<pe_report>>> reports;
      for (const pe which : backend.local_pes()) {
        const membar::device_guard guard(backend.device_of(which));
        reports.push_back(std::make_unique<support::device_memory<pe_report>>(1));
      }
      const unsigned rounds = symmetric_rounds(channels, static_cast<unsigned>(3 * kinds.size()));
      run(backend, blocks, warps * 32, kernel, [&](pe which, auto launch) {
        launch(all.on(which), rounds, size, ring_neighbour(which, 1, 2),
               reports[static_cast<std::size_t>(which.index())]->get());
      });
      unsigned long long messages = 0;
      for (const auto& each : reports) {
        const pe_report got = copied(*each)[0];
        expect_clean(got);
        messages += got.messages;
      }
      EXPECT_EQ(messages, std::size_t{channels} * rounds * messages_in_a_round);
      RecordProperty("messages", std::to_string(messages));
      all.free(heap);
    }
  }

  template <class Protocol>
  void expect_protocol() {
    // One size that is copied in wide units, and two sizes that cannot be.
    expect_all_passed(by_thread, pass_messages<Protocol, by_thread_t, peer_backend>, 5, mapped);
    expect_all_passed(by_warp, pass_messages<Protocol, by_warp_t, peer_backend>, 64, mapped);
    expect_all_passed(by_block, pass_messages<Protocol, by_block_t, peer_backend>, 511, mapped);
  }

  template <class Payload>
  void expect_packed() {
    expect_all_passed(by_thread, pass_packed<by_thread_t, Payload, peer_backend>, 0, mapped, 2);
    expect_all_passed(by_warp, pass_packed<by_warp_t, Payload, peer_backend>, 0, mapped, 2);
    expect_all_passed(by_block, pass_packed<by_block_t, Payload, peer_backend>, 0, mapped, 2);
  }

  const std::vector<peer_memory> mapped{peer_memory::automatic};
  unsigned blocks = 0;

 private:
  std::vector<int> order_;
};

TEST_P(symmetric_pes, put_with_signal_shows_its_data) { expect_protocol<by_put_signal>(); }
TEST_P(symmetric_pes, put_with_an_added_signal_shows_its_data) { expect_protocol<by_put_signal_added>(); }
TEST_P(symmetric_pes, two_puts_and_a_fence_show_both_arrays) { expect_protocol<by_two_puts_and_a_fence>(); }
TEST_P(symmetric_pes, notification_releases_the_put_before_it) { expect_protocol<by_put_and_notify>(); }
TEST_P(symmetric_pes, quiet_completes_what_does_not_block) { expect_protocol<by_nonblocking_put_and_quiet>(); }
TEST_P(symmetric_pes, get_reads_what_was_notified) { expect_protocol<by_get>(); }
TEST_P(symmetric_pes, packed_messages_are_whole) { expect_packed<packed_payload>(); }
TEST_P(symmetric_pes, packed_messages_of_several_words_a_lane_are_whole) { expect_packed<long_packed_payload>(); }
TEST_P(symmetric_pes, packed_pieces_of_neighbouring_threads_are_whole) {
  expect_all_passed(by_warp, pass_packed<by_thread_t, packed_piece, peer_backend>, 0, mapped, 2 * pieces_per_warp);
}

TEST_P(symmetric_pes, plain_allocations_serve_as_well) {
  const std::vector<peer_memory> plain{peer_memory::plain};
  expect_all_passed(by_warp, pass_messages<by_put_signal, by_warp_t, peer_backend>, 64, plain);
  expect_all_passed(by_warp, pass_packed<by_warp_t, packed_payload, peer_backend>, 0, plain, 2);
}

// The data is in one heap, and its signal is in a heap of a different size.

__global__ void pass_between_heaps(span<int> data, span<int> source, object<signal<set>> ready, object<signal<add>> sum,
                                   pe_report* report) {
  const unsigned size = static_cast<unsigned>(data.size());
  const unsigned half = size / 2;
  int* const own = source.local();
  if (data.self() == pe(0)) {
    fill(by_block, own, size, 0, 1);
    put_signal(by_block, data.subspan(0, half), own, ready, 1, pe(1));
    put_signal_nonblocking(by_block, data.subspan(half, size - half), own + half, sum, 1, pe(1));
    flush(by_block, data.reach());
  } else {
    const bool late = try_wait(by_block, ready, equals(1), generous) != wait_result::done ||
                      try_wait(by_block, sum, at_least(1), generous) != wait_result::done;
    add_to(*report, by_block, wrong_words(by_block, data.local(), size, 0, 1), late, 2);
  }
}

TEST_P(symmetric_pes, signals_of_another_heap_are_found) {
  constexpr std::size_t size = 4'096;
  for (const peer_memory kind : {peer_memory::automatic, peer_memory::plain}) {
    peer_backend backend(devices(), kind);
    // Larger by more than the granularity of a mapping, so that the two heaps have different distances between PEs.
    heap<peer_backend> large(backend, std::size_t{64} << 20);
    heap<peer_backend> small(backend, 1 << 20);
    for (const bool data_in_the_large : {true, false}) {
      heap<peer_backend>& of_data = data_in_the_large ? large : small;
      heap<peer_backend>& of_signals = data_in_the_large ? small : large;
      const scoped_array data(of_data.allocate<int>(size));
      const scoped_array source(of_data.allocate<int>(size));
      const scoped_array ready(of_signals.allocate<signal<set>>(1));
      const scoped_array sum(of_signals.allocate<signal<add>>(1));
      const support::pinned_memory<pe_report> report(1);
      run(backend, 1, 128, pass_between_heaps, [&](pe which, auto launch) {
        launch(data.on(which), source.on(which), ready.on(which)[0], sum.on(which)[0], report.get());
      });
      expect_clean(report[0]);
      EXPECT_EQ(report[0].messages, 2U);
    }
  }
}

// Copies between addresses of every alignment, and checks the neighbouring bytes.

template <class Group>
__global__ void put_bytes(span<unsigned char> to, const unsigned char* from, pe other) {
  put(Group(), to, from, other);
}
template <class Group>
__global__ void get_bytes(unsigned char* to, span<unsigned char> from, pe other) {
  get(Group(), to, from, other);
}

TEST_P(symmetric_pes, copies_move_their_bytes_and_no_others) {
  constexpr std::size_t room = 35'000;
  peer_backend backend(devices());
  heap<peer_backend> heap(backend, 1 << 20);
  const scoped_array data(heap.allocate<unsigned char>(room));
  const pe here(0);
  const pe there(1);
  unsigned char* const far = heap.address_at(data.on(there), there);
  const support::device_memory<unsigned char> near(room);
  std::vector<unsigned char> pattern(room);
  for (std::size_t i = 0; i != room; ++i) {
    pattern[i] = static_cast<unsigned char>(i * 7 % 251 + 1);  // never 0
  }
  const auto on_the_other = [&](auto work) {
    const membar::device_guard guard(backend.device_of(there));
    work();
    finish();
  };
  const auto expect_only = [&](const unsigned char* memory, std::size_t to, std::size_t from, std::size_t size) {
    std::vector<unsigned char> expected(room);
    std::copy_n(pattern.data() + from, size, expected.data() + to);
    EXPECT_EQ(copied(memory, room), expected) << size << " bytes from " << from << " to " << to;
  };
  const auto copy_by = [&]<class Group>(Group, unsigned threads) {
    SCOPED_TRACE(std::string(Group::name) + " of " + std::to_string(threads));
    for (const std::size_t to : {0, 1, 4, 8, 15, 16}) {
      for (const std::size_t from : {0, 2, 3, 4, 8, 16}) {
        for (const std::size_t size : {0, 1, 8, 15, 16, 33, 256, 1'024, 4'999, 33'008}) {
          check(cudaMemcpy(near.get(), pattern.data(), room, cudaMemcpyDefault));
          finish();
          on_the_other([&] { check(cudaMemset(far, 0, room)); });
          membar::launch(launch_config{1, threads}, put_bytes<Group>, data.on(here).subspan(to, size), near.get() + from,
                         there);
          finish();
          expect_only(far, to, from, size);

          on_the_other([&] { check(cudaMemcpy(far, pattern.data(), room, cudaMemcpyDefault)); });
          check(cudaMemset(near.get(), 0, room));
          finish();
          membar::launch(launch_config{1, threads}, get_bytes<Group>, near.get() + to, data.on(here).subspan(from, size),
                         there);
          finish();
          expect_only(near.get(), to, from, size);
        }
      }
    }
  };
  copy_by(by_thread, 1);
  copy_by(by_warp, 32);
  copy_by(by_block, 20);
  copy_by(by_block, 64);
  copy_by(by_block, 72);
}

// Packed messages of every shape: with more and fewer words than threads, with an incomplete last word, and with every
// alignment.

template <std::size_t Bytes, std::size_t Alignment>
struct alignas(Alignment) packed_bytes {
  unsigned char bytes[Bytes];
};

template <class Group, class Message>
__global__ void put_one_packed(object<packed<Message>> box, const Message* from, pe other) {
  put_packed(Group(), box, from, 7, other);
}
template <class Group, class Message>
__global__ void take_one_packed(object<packed<Message>> box, Message* to, unsigned* came) {
  const bool done = try_take_packed(Group(), box, to, 7, generous) == wait_result::done;
  if (Group::rank() == 0) {
    *came = done ? 1 : 0;
  }
}

TEST_P(symmetric_pes, packed_messages_of_every_shape_arrive) {
  peer_backend backend(devices());
  heap<peer_backend> heap(backend, 1 << 20);
  const pe here(0);
  const pe there(1);
  const support::pinned_memory<unsigned> came(1);
  const auto pass = [&]<class Group, class Message>(Group, unsigned threads, Message) {
    SCOPED_TRACE(std::to_string(sizeof(Message)) + " bytes by " + Group::name + " of " + std::to_string(threads));
    const scoped_array boxes(heap.allocate<packed<Message>>(1));
    const scoped_array memory(heap.allocate<Message>(3));
    std::vector<unsigned char> expected(3 * sizeof(Message));
    for (std::size_t i = 0; i != sizeof(Message); ++i) {
      expected[sizeof(Message) + i] = static_cast<unsigned char>(i * 7 % 251 + 1);  // never 0
    }
    check(cudaMemcpy(memory.on(here).local(), expected.data(), expected.size(), cudaMemcpyDefault));
    finish();
    membar::launch(launch_config{1, threads}, put_one_packed<Group, Message>, boxes.on(here)[0],
                   static_cast<const Message*>(memory.on(here).local() + 1), there);
    finish();
    *came.get() = 0;
    const membar::device_guard guard(backend.device_of(there));
    membar::launch(launch_config{1, threads}, take_one_packed<Group, Message>, boxes.on(there)[0], memory.on(there).local() + 1,
                   came.get());
    finish();
    EXPECT_EQ(*came.get(), 1U);
    EXPECT_EQ(copied(reinterpret_cast<const unsigned char*>(memory.on(there).local()), expected.size()), expected);
  };
  const auto pass_all = [&](auto group, unsigned threads) {
    const auto each = [&](auto... messages) { (pass(group, threads, messages), ...); };
    each(packed_bytes<1, 1>{}, packed_bytes<4, 4>{}, packed_bytes<12, 4>{}, packed_bytes<13, 1>{}, packed_bytes<16, 16>{},
         packed_bytes<30, 2>{}, packed_bytes<64, 8>{}, packed_bytes<1024, 4>{}, packed_bytes<5003, 1>{});
  };
  pass_all(by_thread, 1);
  pass_all(by_warp, 32);
  pass_all(by_block, 20);
  pass_all(by_block, 96);
}

// An exception ends the scope of an array while a kernel still writes to the array.

__global__ void write_late(unsigned* words, unsigned size) {
  const unsigned long long begin = membar::global_nanoseconds();
  while (membar::global_nanoseconds() - begin < 50'000'000) {
  }
  for (unsigned i = threadIdx.x; i < size; i += blockDim.x) {
    words[i] = 1;
  }
}

TEST_P(symmetric_pes, memory_is_not_freed_while_a_kernel_writes_to_it) {
  constexpr unsigned size = 1'000;
  peer_backend backend(devices());
  heap<peer_backend> heap(backend, 1 << 20);
  const pe there(1);
  std::size_t place = 0;
  EXPECT_THROW(
      {
        const scoped_array data(heap.allocate<unsigned>(size));
        place = data.offset();
        const membar::device_guard guard(backend.device_of(there));
        membar::launch(launch_config{1, 32}, write_late, data.on(there).local(), size);
        throw std::runtime_error("the scope ends");
      },
      std::runtime_error);
  const scoped_array next(heap.allocate<unsigned>(size));
  ASSERT_EQ(next.offset(), place);
  const membar::device_guard guard(backend.device_of(there));
  EXPECT_EQ(copied(next.on(there).local(), size), std::vector<unsigned>(size));
}

// Three PEs: PE 0 puts to PE 1 and notifies PE 2, which reads PE 1's data and answers PE 0.

__global__ void notify_a_third(span<int> data, span<signal<set>> notified, span<signal<set>> answered, unsigned rounds,
                               pe_report* report) {
  const unsigned channel = blockIdx.x;
  const object<int> word = data[channel];
  const int self = data.self().index();
  unsigned long long late = 0;
  unsigned long long stale = 0;
  unsigned long long messages = 0;
  for (unsigned round = 1; round <= rounds && late == 0; ++round) {
    if (self == 0) {
      // PE 1 is passive: only the third PE is notified.
      put_value(word, static_cast<int>(round), pe(1));
      notify_transitively(by_thread, notified[channel], round, pe(2));
      late += checked(try_wait(by_thread, answered[channel], equals(round), generous) != wait_result::done);
    } else if (self == 2) {
      late += checked(try_wait(by_thread, notified[channel], equals(round), generous) != wait_result::done);
      stale += checked(fetch(word, pe(1)) != static_cast<int>(round));
      messages += checked(late == 0);
      notify(by_thread, answered[channel], round, pe(0));
    }
  }
  add_to(report->late, late);
  add_to(report->stale, stale);
  add_to(report->messages, messages);
}

TEST_P(symmetric_pes, third_pe_sees_what_it_was_notified_of) {
  peer_backend backend(devices(3));
  heap<peer_backend> heap(backend, 1 << 20);
  const scoped_array data(heap.allocate<int>(blocks));
  const scoped_array notified(heap.allocate<signal<set>>(blocks));
  const scoped_array answered(heap.allocate<signal<set>>(blocks));
  const support::pinned_memory<pe_report> reports(3);
  const unsigned rounds = static_cast<unsigned>(std::max<unsigned long long>(1, symmetric_messages() / blocks));
  run(backend, blocks, 1, notify_a_third, [&](pe which, auto launch) {
    launch(data.on(which), notified.on(which), answered.on(which), rounds, reports.get() + which.index());
  });
  for (std::size_t i = 0; i != 3; ++i) {
    expect_clean(reports[i]);
  }
  EXPECT_EQ(reports[2].messages, std::size_t{blocks} * rounds);
  RecordProperty("messages", std::to_string(reports[2].messages));
}

// Counters.

__global__ void count_everywhere(span<counter<unsigned long long>> sums, object<counter<int>> tickets, int* taken,
                                 unsigned rounds) {
  const int count = sums.count();
  for (unsigned i = 0; i != rounds; ++i) {
    const pe to(static_cast<int>(i) % count);
    amo_add(sums[0], 1ULL, to);
    static_cast<void>(amo_fetch_add(sums[1], 2ULL, to));
    unsigned long long seen = amo_load(sums[2], to);
    for (;;) {
      const unsigned long long was = amo_compare_exchange(sums[2], seen, seen + 3, to);
      if (was == seen) {
        break;
      }
      seen = was;
    }
    amo_bitwise_xor(sums[3], 1ULL, to);
  }
  // A single thread adds one more time, because the number of other additions is even, and losing all of them would go
  // unnoticed.
  if (sums.self() == pe(0) && blockIdx.x == 0 && threadIdx.x == 0) {
    for (int i = 0; i != count; ++i) {
      amo_bitwise_xor(sums[3], 1ULL, pe(i));
    }
  }
  const int ticket = amo_fetch_add(tickets, 1, pe(0));
  taken[ticket] = 1;
}

TEST_P(symmetric_pes, counters_lose_nothing) {
  peer_backend backend(devices());
  heap<peer_backend> heap(backend, 1 << 20);
  const scoped_array sums(heap.allocate<counter<unsigned long long>>(4));
  const scoped_array tickets(heap.allocate<counter<int>>(1));
  constexpr unsigned threads = 64;
  constexpr unsigned grid = 4;
  constexpr unsigned rounds = 400;
  constexpr unsigned all = threads * grid * 2;
  const support::pinned_memory<int> taken(all);
  run(backend, grid, threads, count_everywhere,
      [&](pe which, auto launch) { launch(sums.on(which), tickets.on(which)[0], taken.get(), rounds); });
  for (const pe which : backend.local_pes()) {
    const auto* const at = reinterpret_cast<const unsigned long long*>(heap.address_at(sums.on(which), which));
    constexpr unsigned long long each = all * rounds / 2ULL;
    EXPECT_EQ(copied(at, 4), (std::vector{each, each * 2, each * 3, (each + 1) % 2}));
  }
  EXPECT_EQ(copied(taken), std::vector(all, 1)) << "tickets";
}

class symmetric_barrier : public symmetric_pes {
 protected:
  template <class Group>
  void expect_barriers_hold(Group, int pes, unsigned threads) {
    peer_backend backend(devices(pes));
    heap<peer_backend> heap(backend, 1 << 20);
    const scoped_array slots(heap.allocate<int>(static_cast<std::size_t>(pes) * 32));
    const scoped_array words(heap.allocate_barrier());
    const support::pinned_memory<pe_report> reports(static_cast<std::size_t>(pes));
    run(backend, 1, threads, pass_barriers<Group, peer_backend>,
        [&](pe which, auto launch) { launch(slots.on(which), words.on(which), 20'000U, reports.get() + which.index()); });
    for (std::size_t i = 0; i != static_cast<std::size_t>(pes); ++i) {
      EXPECT_EQ(reports[i].late, 0U);
      EXPECT_EQ(reports[i].stale, 0U);
    }
  }
};

TEST_P(symmetric_barrier, of_two_holds) {
  expect_barriers_hold(by_thread, 2, 1);
  expect_barriers_hold(by_warp, 2, 32);
  expect_barriers_hold(by_block, 2, 256);
}
TEST_P(symmetric_barrier, of_five_holds) {
  expect_barriers_hold(by_thread, 5, 1);
  expect_barriers_hold(by_block, 5, 64);
}

// Waits that time out.

struct lonely_report {
  unsigned otherwise;                 ///< Whether any wait returned a result other than `timed_out` to any thread.
  unsigned long long nanoseconds[4];  ///< the duration of each wait
};

__global__ void wait_alone(object<signal<set>> flag, object<packed<long_packed_payload>> box,
                           span<symmetric::barrier_word> words, long_packed_payload* to, lonely_report* report) {
  // A barrier follows each reading of the clock, and each wait by the block includes a barrier, so no thread waits outside the
  // measured interval.
  unsigned long long times[5] = {membar::global_nanoseconds()};
  __syncthreads();
  bool otherwise = false;
  const auto record = [&](int n, wait_result ended) {
    times[n] = membar::global_nanoseconds();
    __syncthreads();
    otherwise = otherwise || ended != wait_result::timed_out;
  };
  record(1, try_wait(by_block, flag, equals(1), short_one));
  record(2, try_take_packed(by_block, box, to, 1, short_one));
  record(3, try_take_packed(by_warp, box, to, 1, short_one));
  record(4, try_barrier(by_block, words, short_one));
  const bool anybody = __syncthreads_or(otherwise ? 1 : 0) != 0;
  if (threadIdx.x == blockDim.x - 1) {
    *report = {anybody ? 1U : 0U, {times[1] - times[0], times[2] - times[1], times[3] - times[2], times[4] - times[3]}};
  }
}

/// The number of budgets that a timed-out wait may take. The wait takes one budget, another poll and a barrier; the multiple
/// allows for other tests on the GPU. This many budgets are a tenth of the budget that other waits have.
constexpr unsigned long long budgets_at_most = 500;

TEST_P(symmetric_pes, waits_that_time_out_end_within_the_budget) {
  peer_backend backend(devices());
  heap<peer_backend> heap(backend, 1 << 20);
  const scoped_array flag(heap.allocate<signal<set>>(1));
  const scoped_array box(heap.allocate<packed<long_packed_payload>>(1));
  const scoped_array words(heap.allocate_barrier());
  const support::device_memory<long_packed_payload> to(1);
  const support::pinned_memory<lonely_report> report(1);
  membar::launch(launch_config{1, 96}, wait_alone, flag.on(pe(0))[0], box.on(pe(0))[0], words.on(pe(0)), to.get(),
                 report.get());
  finish();
  EXPECT_EQ(report[0].otherwise, 0U);
  for (const unsigned long long took : report[0].nanoseconds) {
    EXPECT_GE(took, short_one.in_nanoseconds());
    EXPECT_LE(took, budgets_at_most * short_one.in_nanoseconds());
  }
}

/// Writes a message in which the word `missing` still has the previous number, as can happen when a message arrives word by
/// word.
template <class Payload>
void put_all_words_but(const heap<peer_backend>& heap, const symmetric::array<packed<Payload>, peer_backend>& box,
                       std::size_t missing, unsigned sequence) {
  std::vector<membar::detail::packed_word> words(membar::detail::packed_words(sizeof(Payload)));
  for (std::size_t i = 0; i != words.size(); ++i) {
    words[i].sequence = i == missing ? sequence - 1 : sequence;
  }
  check(cudaMemcpy(heap.address_at(box.on(pe(0)), pe(0)), words.data(), words.size() * sizeof words[0], cudaMemcpyDefault));
  finish();
}

template <class Group>
__global__ void take_what_lacks_a_word(object<packed<long_packed_payload>> box, long_packed_payload* to, unsigned* timed_out) {
  const wait_result result = try_take_packed(Group(), box, to, 42, short_one);
  const unsigned late = static_cast<unsigned>(__syncthreads_count(result == wait_result::timed_out ? 1 : 0));
  if (threadIdx.x == 0) {
    *timed_out = late;
  }
}

TEST_P(symmetric_pes, packed_message_that_lacks_a_word_is_late_to_all_of_the_group) {
  peer_backend backend(devices());
  heap<peer_backend> heap(backend, 1 << 20);
  const scoped_array box(heap.allocate<packed<long_packed_payload>>(1));
  const support::device_memory<long_packed_payload> to(1);
  const support::pinned_memory<unsigned> timed_out(1);
  const auto late_of = [&](auto kernel, unsigned threads) {
    *timed_out.get() = 0;
    membar::launch(launch_config{1, threads}, kernel, box.on(pe(0))[0], to.get(), timed_out.get());
    finish();
    return *timed_out.get();
  };
  // The first word of a lane, and the second word of a lane that has two.
  for (const std::size_t missing : {std::size_t{31}, std::size_t{33}}) {
    put_all_words_but(heap, box, missing, 42);
    EXPECT_EQ(late_of(take_what_lacks_a_word<by_thread_t>, 1), 1U);
    EXPECT_EQ(late_of(take_what_lacks_a_word<by_warp_t>, 32), 32U);
    EXPECT_EQ(late_of(take_what_lacks_a_word<by_block_t>, 96), 96U);
  }
  put_all_words_but(heap, box, std::size_t{1000}, 42);
  EXPECT_EQ(late_of(take_what_lacks_a_word<by_warp_t>, 32), 0U);
}

__global__ void wait_and_trap(object<signal<set>> flag) { wait(by_warp, flag, equals(42), short_one); }
__global__ void meet_and_trap(span<symmetric::barrier_word> words) { barrier(by_warp, words, short_one); }
template <class Payload>
__global__ void take_packed_and_trap(object<packed<Payload>> box, Payload* to) {
  take_packed(by_warp, box, to, 42, short_one);
}

/// Ends the process after running a kernel that `start(heap)` launches, because the process's context cannot be used after a
/// trap.
template <class Start>
[[noreturn]] void wait_until_trapped(const std::vector<int>& devices, Start start) {
  std::fflush(stdout);
  dup2(STDERR_FILENO, STDOUT_FILENO);  // kernels print to it
  peer_backend backend(devices);
  heap<peer_backend> heap(backend, 1 << 20);
  start(heap);
  const cudaError_t ended = cudaDeviceSynchronize();
  std::fflush(stdout);
  std::fprintf(stderr, "the kernel ended with %s\n", cudaGetErrorName(ended));
  std::_Exit(ended == cudaSuccess ? 0 : 3);
}

template <class Payload>
[[noreturn]] void take_packed_until_trapped(const std::vector<int>& devices) {
  wait_until_trapped(devices, [](heap<peer_backend>& heap) {
    const auto box = heap.allocate<packed<Payload>>(1);
    const auto to = heap.allocate<Payload>(1);
    put_all_words_but(heap, box, 5, 42);
    membar::launch(launch_config{1, 32}, take_packed_and_trap<Payload>, box.on(pe(0))[0], to.on(pe(0)).local());
  });
}

TEST_P(symmetric_pes, wait_that_times_out_traps_and_names_pe_and_signal_or_who_is_missing) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");  // A new process, because CUDA does not work after a fork.
  const auto trapped = [&] {
    wait_until_trapped(devices(), [](heap<peer_backend>& heap) {
      const auto flag = heap.allocate<signal<set>>(1);
      membar::launch(launch_config{1, 32}, wait_and_trap, flag.on(pe(0))[0]);
    });
  };
  EXPECT_EXIT(trapped(), ::testing::ExitedWithCode(3),
              "membar: PE 0 waited 2000000 ns for the signal at 0x[0-9a-f]+ to be equal to 42, but it is 0");
  const auto alone = [&] {
    wait_until_trapped(devices(), [](heap<peer_backend>& heap) {
      membar::launch(launch_config{1, 32}, meet_and_trap, heap.allocate_barrier().on(pe(0)));
    });
  };
  EXPECT_EXIT(alone(), ::testing::ExitedWithCode(3),
              "membar: PE 0 waited 2000000 ns at a barrier for PE 1, whose word at 0x[0-9a-f]+ must be at least 1, but is 0");
}
TEST_P(symmetric_pes, packed_message_that_never_comes_traps_and_names_pe_and_box) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  // The output has one line, because lanes whose words have arrived print nothing.
  constexpr auto printed =
      "^membar: PE 0 waited 2000000 ns for the packed message at 0x[0-9a-f]+ to be equal to 42, but it is 41: [^\n]*\n"
      "the kernel ended with";
  EXPECT_EXIT(take_packed_until_trapped<packed_payload>(devices()), ::testing::ExitedWithCode(3), printed);
  EXPECT_EXIT(take_packed_until_trapped<long_packed_payload>(devices()), ::testing::ExitedWithCode(3), printed);
}

// Streams.

__global__ void write_all(int* to, unsigned size, int value) {
  for (unsigned i = threadIdx.x; i < size; i += blockDim.x) {
    to[i] = value;
  }
}
/// `counts`: the number of checked words, and the number of wrong ones.
__global__ void count_wrong(const int* from, unsigned size, int value, unsigned long long* counts) {
  unsigned long long looked_at = 0;
  unsigned long long wrong = 0;
  for (unsigned i = threadIdx.x; i < size; i += blockDim.x) {
    ++looked_at;
    wrong += checked(from[i] != value);
  }
  add_to(counts[0], looked_at);
  add_to(counts[1], wrong);
}

TEST_P(symmetric_pes, stream_operations_keep_the_streams_order) {
  constexpr unsigned size = 1 << 16;
  constexpr int rounds = 50;
  peer_backend backend(devices());
  heap<peer_backend> heap(backend, 4 << 20);
  const scoped_array data(heap.allocate<int>(size));
  const scoped_array source(heap.allocate<int>(size));
  const scoped_array ready(heap.allocate<signal<set>>(1));
  const scoped_array taken(heap.allocate<signal<set>>(1));
  const scoped_array words(heap.allocate_barrier());
  const support::stream sending;
  std::optional<support::stream> receiving;
  std::optional<support::device_memory<unsigned long long>> counts;
  const pe sender(0);
  const pe receiver(1);
  {
    const membar::device_guard guard(backend.device_of(receiver));
    receiving.emplace();
    counts.emplace(2);
    load(count_wrong);
  }
  load(write_all);
  load_stream_operations(heap);
  for (int round = 1; round <= rounds; ++round) {
    const auto number = static_cast<unsigned long long>(round);
    membar::launch(launch_config{1, 256, sending.get()}, write_all, source.on(sender).local(), size, round);
    put_on_stream(heap, data.on(sender), source.on(sender).local(), receiver, sending.get());
    notify_on_stream(ready.on(sender)[0], number, receiver, sending.get());
    {
      // The wait is enqueued after the work for which it waits.
      const membar::device_guard guard(backend.device_of(receiver));
      wait_on_stream(ready.on(receiver)[0], equals(number), generous, receiving->get());
      membar::launch(launch_config{1, 256, receiving->get()}, count_wrong, static_cast<const int*>(data.on(receiver).local()),
                     size, round, counts->get());
      notify_on_stream(taken.on(receiver)[0], number, sender, receiving->get());
    }
    wait_on_stream(taken.on(sender)[0], equals(number), generous, sending.get());
  }
  quiet_on_stream(heap.reach_of(sender), sending.get());
  barrier_on_stream(words.on(sender), generous, sending.get());
  {
    const membar::device_guard guard(backend.device_of(receiver));
    barrier_on_stream(words.on(receiver), generous, receiving->get());
  }
  sending.synchronize();
  receiving->synchronize();
  EXPECT_EQ(copied(*counts), (std::vector{1ULL * size * rounds, 0ULL}));
}

/// Writes a number that depends on the position to every 8 bytes, or counts the numbers that differ.
__global__ void number_all(unsigned long long* data, std::size_t size, unsigned long long salt) {
  for (std::size_t i = blockIdx.x * blockDim.x + threadIdx.x; i < size; i += gridDim.x * blockDim.x) {
    data[i] = i ^ salt;
  }
}
__global__ void count_other_numbers(const unsigned long long* data, std::size_t size, unsigned long long salt,
                                    unsigned long long* wrong) {
  for (std::size_t i = blockIdx.x * blockDim.x + threadIdx.x; i < size; i += gridDim.x * blockDim.x) {
    if (data[i] != (i ^ salt)) {
      atomicAdd(wrong, 1ULL);
    }
  }
}
__global__ void put_all(symmetric::span<unsigned long long> to, const unsigned long long* from, pe other) {
  put(by_block, to, from, other);
}

TEST_P(symmetric_pes, puts_of_more_than_four_gibibytes_arrive_whole) {
  constexpr std::size_t size = (std::size_t{4} << 30) / sizeof(unsigned long long) + 12'345;
  std::size_t room = 0, all = 0;
  check(cudaMemGetInfo(&room, &all));
  if (room < std::size_t{16} << 30) {
    GTEST_SKIP() << "this test needs 16 GiB of free device memory";
  }
  peer_backend backend(devices());
  heap<peer_backend> heap(backend, (size + 1024) * sizeof(unsigned long long));
  const scoped_array data(heap.allocate<unsigned long long>(size));
  const support::device_memory<unsigned long long> source(size);
  const support::device_memory<unsigned long long> wrong(1);
  const support::stream stream;
  for (const bool by_stream : {false, true}) {
    const unsigned long long salt = by_stream ? 0x5555 : 0xaaaa;
    membar::launch(launch_config{256, 512, stream.get()}, number_all, source.get(), size, salt);
    if (by_stream) {
      put_on_stream(heap, data.on(pe(0)), source.get(), pe(1), stream.get());
    } else {
      membar::launch(launch_config{1, 1024, stream.get()}, put_all, data.on(pe(0)), source.get(), pe(1));
    }
    membar::launch(launch_config{256, 512, stream.get()}, count_other_numbers,
                   static_cast<const unsigned long long*>(data.on(pe(0)).at(pe(1)).data()), size, salt, wrong.get());
    stream.synchronize();
  }
  EXPECT_EQ(copied(wrong)[0], 0U);
}

// 16-byte words that one PE stores and both PEs read.

struct alignas(16) word_of_16 {
  unsigned long long value;
  unsigned long long complement;
};

/// Tracks when the words change: all writers store from before the first read until after the last read.
struct torn_words {
  unsigned long long writers;  ///< The number of blocks that have begun to store.
  unsigned long long readers;  ///< the number of blocks that have finished
  unsigned long long torn;
  unsigned long long reads;
  /// The number of reads that found a value different from the thread's previous read of the same word.
  unsigned long long changed;
  unsigned long long late;
};

[[nodiscard]] __device__ inline unsigned long long counted(unsigned long long& count) {
  return membar::load<membar::thread_scope::system>(&count, membar::relaxed);
}
__device__ inline void count_block(unsigned long long& count) {
  __syncthreads();
  if (threadIdx.x == 0) {
    membar::atomic_ref<unsigned long long, membar::thread_scope::system>(count).add(1, membar::relaxed);
  }
}

__global__ void store_words(span<word_of_16> words, pe home, unsigned long long readers, torn_words* told) {
  const unsigned mine = blockIdx.x * blockDim.x + threadIdx.x;
  word_of_16* const there = words.at(home).data();
  membar::detail::polling poll(membar::wait_budget::milliseconds(1'000'000));  // Longer than all the reads take.
  for (unsigned long long round = 1;; ++round) {
    const unsigned long long value = (round << 32) + mine;
    membar::store<membar::thread_scope::system>(there + mine % words.size(), word_of_16{value, ~value}, membar::relaxed);
    if (round == 1) {
      count_block(told->writers);
    }
    if (round % 64 == 0 && (counted(told->readers) == readers || poll.time_is_up())) {
      break;
    }
  }
}
__global__ void read_words(span<word_of_16> words, pe home, unsigned reads, unsigned long long writers, torn_words* told) {
  constexpr unsigned at_one_word = 64;
  const unsigned mine = blockIdx.x * blockDim.x + threadIdx.x;
  const word_of_16* const there = words.at(home).data();
  membar::detail::polling poll(generous);
  bool late = false;
  while (counted(told->writers) != writers && !late) {
    late = poll.time_is_up();
  }
  unsigned long long wrong = 0;
  unsigned long long changed = 0;
  unsigned long long before = 0;
  for (unsigned i = 0; i != reads; ++i) {
    const word_of_16 seen =
        membar::load<membar::thread_scope::system>(there + (mine + i / at_one_word) % words.size(), membar::relaxed);
    wrong += checked(seen.complement != ~seen.value && (seen.value != 0 || seen.complement != 0));
    changed += checked(i % at_one_word != 0 && seen.value != before);
    before = seen.value;
  }
  const auto add = [](unsigned long long& to, unsigned long long value) {
    membar::atomic_ref<unsigned long long, membar::thread_scope::system>(to).add(value, membar::relaxed);
  };
  add(told->torn, wrong);
  add(told->reads, reads);
  add(told->changed, changed);
  add(told->late, late ? 1 : 0);
  count_block(told->readers);
}

TEST_P(symmetric_pes, words_of_sixteen_bytes_are_never_torn) {
  constexpr unsigned threads = 512;
  constexpr unsigned writing_blocks = 4;
  peer_backend backend(devices());
  heap<peer_backend> heap(backend, 1 << 20);
  const scoped_array words(heap.allocate<word_of_16>(1024));
  // The results are in device memory that both PEs can access, because a link to the host may not support the additions.
  const scoped_array told_at(heap.allocate<torn_words>(1));
  const unsigned reads =
      static_cast<unsigned>(stress_count("MEMBAR_STRESS_READS", 100'000'000) / (2ULL * blocks * threads)) + 1;
  std::vector<std::unique_ptr<support::stream>> streams;
  const pe home(0);
  for (const pe which : backend.local_pes()) {
    const membar::device_guard guard(backend.device_of(which));
    load(store_words), load(read_words);
    for (int i = 0; i != 2; ++i) {
      streams.push_back(std::make_unique<support::stream>());
    }
  }
  // Both PEs store at PE 0 and read there: one in its own memory, and the other over the link.
  torn_words* const told = heap.address_at(told_at.on(home), home);
  for (const pe which : backend.local_pes()) {
    const membar::device_guard guard(backend.device_of(which));
    const auto own = static_cast<std::size_t>(2 * which.index());
    membar::launch(launch_config{writing_blocks, threads, streams[own]->get()}, store_words, words.on(which), home,
                   2ULL * blocks, told);
    membar::launch(launch_config{blocks, threads, streams[own + 1]->get()}, read_words, words.on(which), home, reads,
                   2ULL * writing_blocks, told);
  }
  for (const auto& each : streams) {
    each->synchronize();
  }
  const torn_words seen = copied(told, 1)[0];
  EXPECT_EQ(seen.late, 0U) << "readers timed out while they waited for the writers to begin";
  EXPECT_EQ(seen.torn, 0U);
  EXPECT_EQ(seen.reads, 2ULL * blocks * threads * reads);
  EXPECT_GT(seen.changed, 2ULL * blocks * threads) << "the memory hardly changed while it was read";
  RecordProperty("reads", std::to_string(seen.reads));
  RecordProperty("changed", std::to_string(seen.changed));
}

// A budget covers the whole barrier, no matter how many PEs are late.

__global__ void arrive_late(span<symmetric::barrier_word> words, unsigned long long step, membar::wait_budget budget,
                            unsigned long long* took) {
  const unsigned long long begin = membar::global_nanoseconds();
  while (membar::global_nanoseconds() - begin < step * static_cast<unsigned long long>(words.self().index())) {
  }
  const bool done = try_barrier(by_thread, words, budget) == wait_result::done;
  if (words.self() == pe(0)) {
    took[0] = membar::global_nanoseconds() - begin;
    took[1] = done ? 1 : 0;
  }
}

TEST_P(symmetric_barrier, of_five_has_one_budget) {
  constexpr unsigned long long step = 80'000'000;  // PE 1 is on time, and PE 2 is late by less than a budget.
  constexpr auto budget = membar::wait_budget::milliseconds(100);
  peer_backend backend(devices(5));
  heap<peer_backend> heap(backend, 1 << 20);
  const scoped_array words(heap.allocate_barrier());
  const support::pinned_memory<unsigned long long> took(2);
  run(backend, 1, 1, arrive_late, [&](pe which, auto launch) { launch(words.on(which), step, budget, took.get()); });
  EXPECT_EQ(took[1], 0U) << "the barrier waited a whole budget for each PE instead of one budget for all of them";
  EXPECT_GE(took[0], budget.in_nanoseconds());
  EXPECT_LT(took[0], budget.in_nanoseconds() + step / 2);
}

// Waits on streams that time out. The program continues after them.

TEST_P(symmetric_pes, a_timed_out_wait_on_a_stream_ends_the_waits_of_all_pes_and_the_program_continues) {
  using symmetric::stream_result;
  peer_backend backend(devices());
  heap<peer_backend> heap(backend, 1 << 20);
  load_stream_operations(heap);
  load_recoverable_operations(heap);
  const pe here(0);
  const pe there(1);
  const support::stream own;
  std::optional<support::stream> theirs;
  {
    const membar::device_guard guard(backend.device_of(there));
    theirs.emplace();
  }
  const support::pinned_memory<symmetric::stream_status> status(4);
  std::fill_n(status.get(), 4, symmetric::stream_status{});
  {
    const scoped_array flags(heap.allocate<signal<set>>(1));
    const scoped_array epochs(heap.allocate<symmetric::epoch>(1));
    const scoped_array words(heap.allocate_barrier());
    const scoped_array aborts(heap.allocate<symmetric::abort_flag>(1));
    const auto begin = std::chrono::steady_clock::now();
    {
      const membar::device_guard guard(backend.device_of(there));
      try_wait_on_stream(flags.on(there)[0], epochs.on(there)[0], generous, aborts.on(there)[0], status.get() + 1,
                         theirs->get());
      try_barrier_on_stream(words.on(there), generous, aborts.on(there)[0], status.get() + 2, theirs->get());
    }
    try_wait_on_stream(flags.on(here)[0], equals(5), membar::wait_budget::milliseconds(50), aborts.on(here)[0], status.get(),
                       own.get());
    own.synchronize();
    theirs->synchronize();
    EXPECT_LT(std::chrono::steady_clock::now() - begin, std::chrono::nanoseconds(generous.in_nanoseconds() / 2));
    EXPECT_EQ(status[0].result, stream_result::timed_out);
    EXPECT_EQ(status[0].pe, 0);
    EXPECT_EQ(status[0].expected, 5U);
    EXPECT_EQ(status[0].seen, 0U);
    EXPECT_EQ(status[1].result, stream_result::aborted);
    EXPECT_EQ(status[2].result, stream_result::aborted);
    EXPECT_EQ(status[2].expected, 1U);
    EXPECT_EQ(status[2].missing, 0) << "the status must name PE 0, which had not arrived";
    // Like a wait in a replayed graph, this wait finds the failure flag set, and keeps the first failure.
    try_wait_on_stream(flags.on(here)[0], equals(5), generous, aborts.on(here)[0], status.get(), own.get());
    own.synchronize();
    EXPECT_EQ(status[0].result, stream_result::timed_out);
  }
  // Words that are reallocated work like new words.
  const scoped_array flags(heap.allocate<signal<set>>(1));
  const scoped_array epochs(heap.allocate<symmetric::epoch>(2));
  const scoped_array words(heap.allocate_barrier());
  const scoped_array aborts(heap.allocate<symmetric::abort_flag>(1));
  notify_on_stream(flags.on(here)[0], epochs.on(here)[0], there, own.get());
  try_barrier_on_stream(words.on(here), generous, aborts.on(here)[0], status.get(), own.get());
  {
    const membar::device_guard guard(backend.device_of(there));
    try_wait_on_stream(flags.on(there)[0], epochs.on(there)[1], generous, aborts.on(there)[0], status.get() + 1, theirs->get());
    try_barrier_on_stream(words.on(there), generous, aborts.on(there)[0], status.get() + 2, theirs->get());
  }
  own.synchronize();
  theirs->synchronize();
  for (std::size_t i = 0; i != 3; ++i) {
    EXPECT_EQ(status[i].result, stream_result::done) << i;
  }
}

// Graphs that are captured once and replayed with different data each time.

/// Writes the data of the next round, and counts rounds.
__global__ void write_next(int* to, unsigned size, unsigned* round) {
  const unsigned now = *round + 1;
  fill(by_block, to, size, 0, now);
  if (threadIdx.x == 0) {
    *round = now;
  }
}
/// Checks that the data belongs to the next round, and counts rounds.
__global__ void expect_next(const int* from, unsigned size, unsigned* round, pe_report* report) {
  const unsigned now = *round + 1;
  add_to(*report, by_block, wrong_words(by_block, from, size, 0, now), false, 1);
  __syncthreads();
  if (threadIdx.x == 0) {
    *round = now;
  }
}

/// The memory that the graphs of both PEs use.
struct replayed_memory {
  explicit replayed_memory(heap<peer_backend>& from)
      : all(&from),
        data(from.allocate<int>(size)),
        source(from.allocate<int>(size)),
        flags(from.allocate<signal<set>>(2)),
        sums(from.allocate<signal<add>>(2)),
        epochs(from.allocate<symmetric::epoch>(4)),
        boxes(from.allocate<packed<long_packed_payload>>(1)),
        words(from.allocate_barrier()) {}

  static constexpr unsigned size = 4096;
  heap<peer_backend>* all;
  scoped_array<int, peer_backend> data, source;
  scoped_array<signal<set>, peer_backend> flags;
  scoped_array<signal<add>, peer_backend> sums;
  scoped_array<symmetric::epoch, peer_backend> epochs;
  scoped_array<packed<long_packed_payload>, peer_backend> boxes;
  scoped_array<symmetric::barrier_word, peer_backend> words;
};

/// The ways in which a stream of one PE notifies the other PE's stream that data is ready (0) or has been read (1).
struct tell_by_addition {
  static void tell(const replayed_memory& all, std::size_t what, pe self, cudaStream_t stream) {
    notify_on_stream(all.sums.on(self)[what], 1, ring_neighbour(self, 1, 2), stream);
  }
  static void hear(const replayed_memory& all, std::size_t what, pe self, cudaStream_t stream) {
    wait_on_stream(all.sums.on(self)[what], all.epochs.on(self)[what], generous, stream);
  }
};
struct tell_by_epoch {
  static void tell(const replayed_memory& all, std::size_t what, pe self, cudaStream_t stream) {
    notify_on_stream(all.flags.on(self)[what], all.epochs.on(self)[2 + what], ring_neighbour(self, 1, 2), stream);
  }
  static void hear(const replayed_memory& all, std::size_t what, pe self, cudaStream_t stream) {
    wait_on_stream(all.flags.on(self)[what], all.epochs.on(self)[what], generous, stream);
  }
};
struct tell_by_barrier {
  static void tell(const replayed_memory& all, std::size_t, pe self, cudaStream_t stream) {
    barrier_on_stream(all.words.on(self), generous, stream);
  }
  static void hear(const replayed_memory& all, std::size_t what, pe self, cudaStream_t stream) {
    tell(all, what, self, stream);
  }
};

/// The same, in kernels: a put with an epoch's notification, and the corresponding wait.
__global__ void put_and_notify_next(span<int> data, const int* source, object<signal<set>> ready, object<symmetric::epoch> sent,
                                    pe other) {
  put(by_block, data, source, other);
  notify(by_block, ready, sent, other);
}
__global__ void wait_for_next(object<signal<set>> ready, object<symmetric::epoch> seen, pe_report* report) {
  const bool late = try_wait(by_block, ready, seen, generous) != wait_result::done;
  if (threadIdx.x == 0) {
    add_to(report->late, late ? 1 : 0);
  }
}
__global__ void put_next_packed(object<packed<long_packed_payload>> box, const int* source, object<symmetric::epoch> sent,
                                pe other) {
  put_packed(by_warp, box, reinterpret_cast<const long_packed_payload*>(source), sent, other);
}
__global__ void take_next_packed(object<packed<long_packed_payload>> box, int* data, object<symmetric::epoch> taken,
                                 pe_report* report) {
  const bool late =
      try_take_packed(by_warp, box, reinterpret_cast<long_packed_payload*>(data), taken, generous) != wait_result::done;
  if (threadIdx.x == 0) {
    add_to(report->late, late ? 1 : 0);
  }
}

/// The number of times a graph is replayed; MEMBAR_STRESS_REPLAYS requests more.
[[nodiscard]] inline unsigned graph_replays() { return static_cast<unsigned>(stress_count("MEMBAR_STRESS_REPLAYS", 1'000)); }

class symmetric_graphs : public symmetric_pes {
 protected:
  /// Replays the work that `send` and `receive` capture. `send` comes after the data is written and before the wait for the
  /// notification that it was read; `receive` comes before the data is read.
  template <class Send, class Receive, class Answer, class Hear>
  void expect_replays(unsigned size, Send send, Receive receive, Answer answer, Hear hear) {
    const unsigned replays = graph_replays();
    const pe sender(0);
    const pe receiver(1);
    peer_backend backend(devices());
    heap<peer_backend> heap(backend, 1 << 20);
    load_stream_operations(heap);
    const replayed_memory all(heap);
    const support::pinned_memory<pe_report> report(1);
    *report.get() = {};
    std::vector<std::unique_ptr<support::stream>> streams;
    std::vector<std::unique_ptr<support::device_memory<unsigned>>> rounds;
    std::vector<std::unique_ptr<captured_graph>> graphs;
    std::vector<cudaGraphExec_t> executables;
    for (const pe which : {sender, receiver}) {
      const membar::device_guard guard(backend.device_of(which));
      load(write_next), load(expect_next), load(put_and_notify_next), load(wait_for_next);
      load(put_next_packed), load(take_next_packed);
      streams.push_back(std::make_unique<support::stream>());
      rounds.push_back(std::make_unique<support::device_memory<unsigned>>(1));
      check(cudaMemset(rounds.back()->get(), 0, sizeof(unsigned)));
      finish();
      const cudaStream_t stream = streams.back()->get();
      unsigned* const round = rounds.back()->get();
      graphs.push_back(std::make_unique<captured_graph>(stream, [&] {
        if (which == sender) {
          membar::launch(launch_config{1, 256, stream}, write_next, all.source.on(sender).local(), size, round);
          send(all, sender, stream);
          hear(all, sender, stream);
        } else {
          receive(all, receiver, stream, report.get());
          membar::launch(launch_config{1, 256, stream}, expect_next, static_cast<const int*>(all.data.on(receiver).local()),
                         size, round, report.get());
          answer(all, receiver, stream);
        }
      }));
      cudaGraphExec_t executable = nullptr;
      check(cudaGraphInstantiate(&executable, graphs.back()->get(), 0));
      executables.push_back(executable);
      check(cudaGraphUpload(executable, stream));
      streams.back()->synchronize();
    }
    for (unsigned i = 0; i != replays; ++i) {
      for (const std::size_t which : {0U, 1U}) {
        const membar::device_guard guard(backend.device_of(pe(static_cast<int>(which))));
        check(cudaGraphLaunch(executables[which], streams[which]->get()));
      }
    }
    for (const auto& each : streams) {
      each->synchronize();
    }
    for (const cudaGraphExec_t each : executables) {
      check(cudaGraphExecDestroy(each));
    }
    expect_clean(report[0]);
    EXPECT_EQ(report[0].messages, replays);
  }

  template <class Way>
  void expect_puts_replay() {
    expect_replays(
        replayed_memory::size,
        [](const replayed_memory& all, pe self, cudaStream_t stream) {
          put_on_stream(*all.all, all.data.on(self), all.source.on(self).local(), pe(1), stream);
          Way::tell(all, 0, self, stream);
        },
        [](const replayed_memory& all, pe self, cudaStream_t stream, pe_report*) { Way::hear(all, 0, self, stream); },
        [](const replayed_memory& all, pe self, cudaStream_t stream) { Way::tell(all, 1, self, stream); },
        [](const replayed_memory& all, pe self, cudaStream_t stream) { Way::hear(all, 1, self, stream); });
  }
};

TEST_P(symmetric_graphs, replay_additions_and_waits) { expect_puts_replay<tell_by_addition>(); }
TEST_P(symmetric_graphs, replay_sets_and_waits) { expect_puts_replay<tell_by_epoch>(); }
TEST_P(symmetric_graphs, replay_barriers) { expect_puts_replay<tell_by_barrier>(); }

TEST_P(symmetric_graphs, replay_kernels_that_put_and_wait) {
  expect_replays(
      replayed_memory::size,
      [](const replayed_memory& all, pe self, cudaStream_t stream) {
        membar::launch(launch_config{1, 256, stream}, put_and_notify_next, all.data.on(self),
                       static_cast<const int*>(all.source.on(self).local()), all.flags.on(self)[0], all.epochs.on(self)[2],
                       pe(1));
      },
      [](const replayed_memory& all, pe self, cudaStream_t stream, pe_report* report) {
        membar::launch(launch_config{1, 256, stream}, wait_for_next, all.flags.on(self)[0], all.epochs.on(self)[0], report);
      },
      [](const replayed_memory& all, pe self, cudaStream_t stream) { tell_by_epoch::tell(all, 1, self, stream); },
      [](const replayed_memory& all, pe self, cudaStream_t stream) { tell_by_epoch::hear(all, 1, self, stream); });
}

TEST_P(symmetric_graphs, replay_packed_messages) {
  expect_replays(
      sizeof(long_packed_payload) / sizeof(int),
      [](const replayed_memory& all, pe self, cudaStream_t stream) {
        membar::launch(launch_config{1, 32, stream}, put_next_packed, all.boxes.on(self)[0],
                       static_cast<const int*>(all.source.on(self).local()), all.epochs.on(self)[2], pe(1));
      },
      [](const replayed_memory& all, pe self, cudaStream_t stream, pe_report* report) {
        membar::launch(launch_config{1, 32, stream}, take_next_packed, all.boxes.on(self)[0], all.data.on(self).local(),
                       all.epochs.on(self)[0], report);
      },
      [](const replayed_memory& all, pe self, cudaStream_t stream) { tell_by_addition::tell(all, 1, self, stream); },
      [](const replayed_memory& all, pe self, cudaStream_t stream) { tell_by_addition::hear(all, 1, self, stream); });
}

TEST_P(symmetric_graphs, that_would_replay_a_value_are_refused) {
  peer_backend backend(devices());
  heap<peer_backend> heap(backend, 1 << 20);
  const replayed_memory all(heap);
  const support::stream stream;
  EXPECT_THROW(captured_graph(stream.get(), [&] { notify_on_stream(all.flags.on(pe(0))[0], 1, pe(1), stream.get()); }),
               membar::error);
  EXPECT_THROW(captured_graph(stream.get(),
                              [&] { wait_on_stream(all.flags.on(pe(0))[0], symmetric::equals(1), generous, stream.get()); }),
               membar::error);
}

}  // namespace membar_test
