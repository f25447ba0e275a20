// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Tests the synchronization patterns between host threads, and all the ways in which a wait can end. The tests need nvcc, but
// no GPU.
#include <membar/sync/cross_barrier.cuh>
#include <membar/sync/mpmc_channel.cuh>
#include <membar/sync/mpsc_channel.cuh>
#include <membar/sync/packed_channel.cuh>
#include <membar/sync/queue_lock.cuh>
#include <membar/sync/spsc_channel.cuh>
#include <membar/sync/ticket_lock.cuh>

#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <cstring>
#include <memory>
#include <mutex>
#include <ratio>
#include <thread>
#include <type_traits>
#include <vector>

namespace {

using membar::thread_scope, membar::wait_budget, membar::wait_result;

constexpr wait_budget generous = wait_budget::milliseconds(20'000);
constexpr wait_budget short_one = wait_budget::milliseconds(5);
constexpr int capacity = 8;
constexpr unsigned messages = 100'000;

struct message {
  unsigned producer;
  unsigned number;
  unsigned check;
};

message numbered(unsigned producer, unsigned number) { return {producer, number, producer * 31 + number * 7 + 1}; }
bool whole(const message& m) { return m.check == m.producer * 31 + m.number * 7 + 1; }

/// An object whose bytes are all zero, like the memory that the patterns receive.
template <class T>
struct zeroed {
  zeroed() noexcept { std::memset(static_cast<void*>(bytes), 0, sizeof bytes); }
  T& operator*() noexcept { return *reinterpret_cast<T*>(bytes); }
  T* operator->() noexcept { return &**this; }
  alignas(T) unsigned char bytes[sizeof(T)];
};

/// Runs `work(0)` to `work(count - 1)`, each on its own thread, and waits for all.
void on_threads(int count, auto work) {
  std::vector<std::jthread> threads;
  for (int i = 0; i != count; ++i) {
    threads.emplace_back(work, i);
  }
}

static_assert(wait_budget::milliseconds(3).in_nanoseconds() == 3'000'000 &&
              wait_budget::microseconds(3).in_nanoseconds() == 3'000);
static_assert(wait_budget::milliseconds(1ULL << 58).in_nanoseconds() == ~0ULL,
              "the longest budget, not the remainder modulo 2^64");
static_assert(wait_budget::microseconds(~0ULL).in_nanoseconds() == ~0ULL);
static_assert(wait_budget::milliseconds(~0ULL / 1'000'000).in_nanoseconds() == ~0ULL / 1'000'000 * 1'000'000);

// Durations of the standard library are accepted wherever a budget is accepted.
static_assert(wait_budget(std::chrono::milliseconds(3)).in_nanoseconds() == 3'000'000 &&
              wait_budget(std::chrono::duration<double>(0.5)).in_nanoseconds() == 500'000'000 &&
              wait_budget(std::chrono::duration<long, std::pico>(2500)).in_nanoseconds() == 2);
static_assert(wait_budget(std::chrono::seconds(-1)).in_nanoseconds() == 0 &&
              wait_budget(std::chrono::duration<double>(-1)).in_nanoseconds() == 0);
static_assert(wait_budget(std::chrono::hours::max()).in_nanoseconds() == ~0ULL &&
              wait_budget(std::chrono::duration<double>(1e300)).in_nanoseconds() == ~0ULL);
static_assert(std::is_convertible_v<std::chrono::microseconds, wait_budget> && !std::is_convertible_v<int, wait_budget>);

TEST(wait_budget_on_the_host, ends_a_wait_no_earlier_and_hardly_later) {
  const auto begin = std::chrono::steady_clock::now();
  EXPECT_EQ(membar::detail::wait_until(wait_budget::milliseconds(100), [] { return wait_result::would_wait; }),
            wait_result::timed_out);
  const auto waited = std::chrono::steady_clock::now() - begin;
  EXPECT_GE(waited, std::chrono::milliseconds(100));
  EXPECT_LT(waited, std::chrono::seconds(5));
}

TEST(wait_budget_on_the_host, of_nothing_still_looks) {
  int looks = 0;
  EXPECT_EQ(membar::detail::wait_until(wait_budget::nanoseconds(0),
                                       [&] { return ++looks == 3 ? wait_result::done : wait_result::would_wait; }),
            wait_result::done);
}

TEST(wait_result_names, are_the_words_of_the_documentation) {
  EXPECT_STREQ(name(wait_result::done), "done");
  EXPECT_STREQ(name(wait_result::would_wait), "would_wait");
  EXPECT_STREQ(name(wait_result::timed_out), "timed_out");
  EXPECT_STREQ(name(wait_result::closed), "closed");
}

/// Fills a channel by calling `push` as many times as the channel has slots.
void fill(auto push) {
  for (unsigned i = 0; i != capacity; ++i) {
    EXPECT_EQ(push(numbered(0, i)), wait_result::done);
  }
}

template <class Channel>
class one_producer : public ::testing::Test {
 protected:
  zeroed<Channel> channel;
  message got{};
};
using one_producer_channels = ::testing::Types<membar::spsc_channel<message, capacity, thread_scope::system>,
                                               membar::packed_spsc_channel<message, capacity, thread_scope::system>>;
TYPED_TEST_SUITE(one_producer, one_producer_channels);

TYPED_TEST(one_producer, passes_every_message_once_whole_and_in_order) {
  std::jthread producing([&] {
    typename TypeParam::producer end(*this->channel);
    for (unsigned i = 0; i != messages; ++i) {
      ASSERT_EQ(end.push(numbered(0, i), generous), wait_result::done);
    }
    end.close();
  });
  typename TypeParam::consumer end(*this->channel);
  unsigned expected = 0;
  wait_result result = wait_result::done;
  while ((result = end.pop(this->got, generous)) == wait_result::done) {
    ASSERT_TRUE(whole(this->got));
    ASSERT_EQ(this->got.number, expected++);
  }
  producing.join();
  EXPECT_EQ(result, wait_result::closed);
  EXPECT_EQ(expected, messages);
}

TYPED_TEST(one_producer, that_finds_it_full_ends_within_its_budget) {
  typename TypeParam::producer end(*this->channel);
  fill([&](const message& each) { return end.try_push(each); });
  EXPECT_EQ(end.try_push(numbered(0, capacity)), wait_result::would_wait);
  EXPECT_EQ(end.push(numbered(0, capacity), short_one), wait_result::timed_out);
  typename TypeParam::consumer other(*this->channel);
  EXPECT_EQ(other.try_pop(this->got), wait_result::done);
  EXPECT_EQ(this->got.number, 0U);
  EXPECT_EQ(end.try_push(numbered(0, capacity)), wait_result::done) << "a push that timed out changes nothing";
}

TYPED_TEST(one_producer, that_closed_pushes_no_more_and_what_it_pushed_is_taken) {
  typename TypeParam::producer end(*this->channel);
  EXPECT_EQ(end.try_push(numbered(0, 0)), wait_result::done);
  end.close();
  EXPECT_EQ(end.try_push(numbered(0, 1)), wait_result::closed);
  EXPECT_EQ(end.push(numbered(0, 1), generous), wait_result::closed);
  typename TypeParam::consumer other(*this->channel);
  EXPECT_EQ(other.try_pop(this->got), wait_result::done);
  EXPECT_EQ(other.try_pop(this->got), wait_result::closed);
  EXPECT_EQ(other.pop(this->got, generous), wait_result::closed);
}

TYPED_TEST(one_producer, finds_out_when_full_that_the_consumer_closed) {
  typename TypeParam::producer end(*this->channel);
  typename TypeParam::consumer other(*this->channel);
  other.close();
  EXPECT_EQ(other.try_pop(this->got), wait_result::closed);
  fill([&](const message& each) { return end.try_push(each); });
  EXPECT_EQ(end.push(numbered(0, capacity), generous), wait_result::closed);
  EXPECT_EQ(end.try_push(numbered(0, capacity)), wait_result::closed);
}

TYPED_TEST(one_producer, that_never_pushes_lets_the_consumer_go_after_its_budget) {
  typename TypeParam::consumer end(*this->channel);
  EXPECT_EQ(end.try_pop(this->got), wait_result::would_wait);
  EXPECT_EQ(end.pop(this->got, short_one), wait_result::timed_out);
}

TEST(one_producer_at_a_time, can_hand_its_end_on) {
  zeroed<membar::spsc_channel<message, capacity, thread_scope::system>> channel;
  using type = std::remove_reference_t<decltype(*channel)>;
  message got{};
  for (unsigned i = 0; i != 3 * capacity + 1; ++i) {
    type::producer end(*channel);
    ASSERT_EQ(end.try_push(numbered(0, i)), wait_result::done);
    type::consumer other(*channel);
    ASSERT_EQ(other.try_pop(got), wait_result::done);
    ASSERT_EQ(got.number, i);
  }
}

template <class Channel>
class many_producers : public ::testing::Test {
 protected:
  zeroed<Channel> channel;
  message got{};
};
using many_producer_channels = ::testing::Types<membar::mpsc_channel<message, capacity, thread_scope::system>,
                                                membar::packed_mpsc_channel<message, capacity, thread_scope::system>>;
TYPED_TEST_SUITE(many_producers, many_producer_channels);

TYPED_TEST(many_producers, pass_every_message_once_whole_and_each_in_its_order) {
  constexpr int producers = 3;
  constexpr unsigned each = messages / producers;
  std::jthread producing([&] {
    on_threads(producers, [&](int p) {
      for (unsigned i = 0; i != each; ++i) {
        ASSERT_EQ(this->channel->push(numbered(static_cast<unsigned>(p), i), generous), wait_result::done);
      }
    });
  });
  typename TypeParam::consumer end(*this->channel);
  unsigned next[producers] = {};
  for (unsigned i = 0; i != each * producers; ++i) {
    ASSERT_EQ(end.pop(this->got, generous), wait_result::done);
    ASSERT_TRUE(whole(this->got));
    ASSERT_EQ(this->got.number, next[this->got.producer]++);
  }
  producing.join();
  EXPECT_EQ(end.try_pop(this->got), wait_result::would_wait);
  this->channel->close();
  EXPECT_EQ(end.try_pop(this->got), wait_result::closed);
}

TYPED_TEST(many_producers, end_within_their_budget_when_it_is_full_and_at_once_when_it_is_closed) {
  fill([&](const message& each) { return this->channel->try_push(each); });
  EXPECT_EQ(this->channel->try_push(numbered(0, capacity)), wait_result::would_wait);
  EXPECT_EQ(this->channel->push(numbered(0, capacity), short_one), wait_result::timed_out);
  this->channel->close();
  EXPECT_EQ(this->channel->push(numbered(0, capacity), generous), wait_result::closed);
  typename TypeParam::consumer end(*this->channel);
  for (unsigned i = 0; i != capacity; ++i) {
    EXPECT_EQ(end.try_pop(this->got), wait_result::done);
    EXPECT_EQ(this->got.number, i);
  }
  EXPECT_EQ(end.pop(this->got, generous), wait_result::closed);
}

using work_queue = membar::mpmc_channel<message, capacity, thread_scope::system>;

TEST(many_consumers, take_every_message_once_whole_and_those_of_a_producer_in_its_order) {
  constexpr int producers = 3;
  constexpr int consumers = 2;
  constexpr unsigned each = messages / producers;
  zeroed<work_queue> channel;
  std::jthread producing([&] {
    on_threads(producers, [&](int p) {
      for (unsigned i = 0; i != each; ++i) {
        ASSERT_EQ(channel->push(numbered(static_cast<unsigned>(p), i), generous), wait_result::done);
      }
    });
    channel->close();
  });
  std::vector<std::vector<bool>> taken(producers, std::vector<bool>(each));
  std::mutex counting;
  on_threads(consumers, [&](int) {
    std::vector<message> mine;
    unsigned next[producers] = {};
    message got{};
    wait_result result = wait_result::done;
    while ((result = channel->pop(got, generous)) == wait_result::done) {
      ASSERT_TRUE(whole(got));
      ASSERT_GE(got.number, next[got.producer]);
      next[got.producer] = got.number + 1;
      mine.push_back(got);
    }
    EXPECT_EQ(result, wait_result::closed);
    const std::lock_guard lock(counting);
    for (const message& m : mine) {
      EXPECT_FALSE(taken[m.producer][m.number]);
      taken[m.producer][m.number] = true;
    }
  });
  for (const std::vector<bool>& of_one : taken) {
    EXPECT_EQ(std::find(of_one.begin(), of_one.end(), false), of_one.end());
  }
}

TEST(many_consumers, end_within_their_budget_when_it_is_empty_and_find_it_closed_when_all_is_taken) {
  zeroed<work_queue> channel;
  message got{};
  EXPECT_EQ(channel->try_pop(got), wait_result::would_wait);
  EXPECT_EQ(channel->pop(got, short_one), wait_result::timed_out);
  fill([&](const message& one) { return channel->try_push(one); });
  EXPECT_EQ(channel->push(numbered(0, capacity), short_one), wait_result::timed_out);
  channel->close();
  EXPECT_EQ(channel->try_push(numbered(0, capacity)), wait_result::closed);
  for (unsigned i = 0; i != capacity; ++i) {
    EXPECT_EQ(channel->try_pop(got), wait_result::done);
    EXPECT_EQ(got.number, i);
  }
  EXPECT_EQ(channel->pop(got, generous), wait_result::closed);
}

/// Locks with a common interface: the ticket lock itself, and the queue lock with one node per thread.
struct ticket : membar::ticket_lock<thread_scope::system> {
  struct holder {
    explicit holder(ticket& t) : of(t) {}
    wait_result try_lock() const { return of.try_lock(); }
    wait_result lock(wait_budget budget) const { return of.lock(budget); }
    wait_result unlock() const { return of.unlock(), wait_result::done; }
    ticket& of;
  };
};
struct queue : membar::queue_lock<thread_scope::system> {
  struct holder {
    explicit holder(queue& q) : of(q) {}
    wait_result try_lock() const { return of.try_lock(*own); }
    wait_result lock(wait_budget budget) const { return of.lock(*own, budget); }
    wait_result unlock() const { return of.unlock(*own, generous); }
    queue& of;
    std::unique_ptr<node> own = std::make_unique<node>();
  };
};

template <class Lock>
class fair_lock : public ::testing::Test {};
using locks = ::testing::Types<ticket, queue>;
TYPED_TEST_SUITE(fair_lock, locks);

TYPED_TEST(fair_lock, is_held_by_one_thread_at_a_time) {
  zeroed<TypeParam> lock;
  long long counter = 0;
  constexpr int threads = 3;
  constexpr int rounds = 5000;
  on_threads(threads, [&](int t) {
    const typename TypeParam::holder mine(*lock);
    for (int i = 0; i != rounds; ++i) {
      wait_result tried = wait_result::would_wait;
      if (t != 0 || i % 8 != 0) {
        tried = mine.lock(generous);
      } else {
        while ((tried = mine.try_lock()) == wait_result::would_wait) {
          std::this_thread::yield();
        }
      }
      ASSERT_EQ(tried, wait_result::done);
      ++counter;
      ASSERT_EQ(mine.unlock(), wait_result::done);
    }
  });
  EXPECT_EQ(counter, threads * rounds);
}

TYPED_TEST(fair_lock, that_is_held_is_not_tried) {
  zeroed<TypeParam> lock;
  const typename TypeParam::holder first(*lock);
  const typename TypeParam::holder second(*lock);
  EXPECT_EQ(first.try_lock(), wait_result::done);
  EXPECT_EQ(second.try_lock(), wait_result::would_wait);
  EXPECT_EQ(first.unlock(), wait_result::done);
  EXPECT_EQ(second.try_lock(), wait_result::done);
}

TYPED_TEST(fair_lock, whose_holder_is_gone_closes_after_the_budget) {
  zeroed<TypeParam> lock;
  const typename TypeParam::holder gone(*lock);
  const typename TypeParam::holder waiting(*lock);
  const typename TypeParam::holder later(*lock);
  EXPECT_EQ(gone.lock(generous), wait_result::done);
  EXPECT_EQ(waiting.lock(short_one), wait_result::timed_out);
  EXPECT_EQ(later.lock(generous), wait_result::closed);
  EXPECT_EQ(later.try_lock(), wait_result::closed);
}

TEST(cross_barrier_on_the_host, lets_no_rank_on_before_all_have_come) {
  constexpr int ranks = 3;
  using barrier = membar::cross_barrier<ranks>;
  zeroed<barrier::flags> flags[ranks];
  barrier::flags* const all[ranks] = {&*flags[0], &*flags[1], &*flags[2]};
  constexpr int rounds = 2000;
  int phase[ranks] = {};
  on_threads(ranks, [&](int r) {
    barrier mine(all, r);
    for (int i = 1; i <= rounds; ++i) {
      phase[r] = i;
      ASSERT_EQ(mine.sync(generous), wait_result::done);
      for (const int seen : phase) {
        ASSERT_EQ(seen, i);
      }
      ASSERT_EQ(mine.sync(generous), wait_result::done);
    }
  });
}

TEST(cross_barrier_on_the_host, ends_within_the_budget_without_a_rank) {
  using barrier = membar::cross_barrier<2>;
  zeroed<barrier::flags> flags;
  barrier::flags* const all[2] = {&*flags, &*flags};
  barrier mine(all, 0);
  EXPECT_EQ(mine.sync(short_one), wait_result::timed_out);
  barrier late(all, 1);
  late.arrive(membar::release);
  EXPECT_EQ(late.wait(membar::acquire, generous), wait_result::done);
  EXPECT_EQ(mine.wait(membar::relaxed, generous), wait_result::done);
}

}  // namespace
