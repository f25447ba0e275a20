// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The synchronization patterns between threads of the host, and how each of their waits ends. Needs nvcc, and no GPU.
#include <membar/sync/cross_barrier.cuh>
#include <membar/sync/mpsc_channel.cuh>
#include <membar/sync/packed_channel.cuh>
#include <membar/sync/queue_lock.cuh>
#include <membar/sync/spsc_channel.cuh>
#include <membar/sync/ticket_lock.cuh>

#include <gtest/gtest.h>

#include <chrono>
#include <cstring>
#include <memory>
#include <string>
#include <thread>
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

/// An object as memory is given to the patterns: all-zero bytes.
template <class T>
struct zeroed {
  zeroed() noexcept { std::memset(static_cast<void*>(bytes), 0, sizeof bytes); }
  T& operator*() noexcept { return *reinterpret_cast<T*>(bytes); }
  T* operator->() noexcept { return &**this; }
  alignas(T) unsigned char bytes[sizeof(T)];
};

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

template <class Channel>
class one_producer : public ::testing::Test {};
using one_producer_channels = ::testing::Types<membar::spsc_channel<message, capacity, thread_scope::system>,
                                               membar::packed_spsc_channel<message, capacity, thread_scope::system>>;
TYPED_TEST_SUITE(one_producer, one_producer_channels);

TYPED_TEST(one_producer, passes_every_message_once_whole_and_in_order) {
  zeroed<TypeParam> channel;
  std::jthread producing([&] {
    typename TypeParam::producer end(*channel);
    for (unsigned i = 0; i != messages; ++i) {
      ASSERT_EQ(end.push(numbered(0, i), generous), wait_result::done);
    }
    end.close();
  });
  typename TypeParam::consumer end(*channel);
  message got{};
  unsigned expected = 0;
  wait_result result = wait_result::done;
  while ((result = end.pop(got, generous)) == wait_result::done) {
    ASSERT_TRUE(whole(got));
    ASSERT_EQ(got.number, expected++);
  }
  producing.join();
  EXPECT_EQ(result, wait_result::closed);
  EXPECT_EQ(expected, messages);
}

TYPED_TEST(one_producer, that_finds_it_full_ends_within_its_budget) {
  zeroed<TypeParam> channel;
  typename TypeParam::producer end(*channel);
  for (unsigned i = 0; i != capacity; ++i) {
    EXPECT_EQ(end.try_push(numbered(0, i)), wait_result::done);
  }
  EXPECT_EQ(end.try_push(numbered(0, capacity)), wait_result::would_wait);
  EXPECT_EQ(end.push(numbered(0, capacity), short_one), wait_result::timed_out);
  typename TypeParam::consumer other(*channel);
  message got{};
  EXPECT_EQ(other.try_pop(got), wait_result::done);
  EXPECT_EQ(got.number, 0U);
  EXPECT_EQ(end.try_push(numbered(0, capacity)), wait_result::done) << "a push that timed out changes nothing";
}

TYPED_TEST(one_producer, that_closed_pushes_no_more_and_what_it_pushed_is_taken) {
  zeroed<TypeParam> channel;
  typename TypeParam::producer end(*channel);
  EXPECT_EQ(end.try_push(numbered(0, 0)), wait_result::done);
  end.close();
  EXPECT_EQ(end.try_push(numbered(0, 1)), wait_result::closed);
  EXPECT_EQ(end.push(numbered(0, 1), generous), wait_result::closed);
  typename TypeParam::consumer other(*channel);
  message got{};
  EXPECT_EQ(other.try_pop(got), wait_result::done);
  EXPECT_EQ(other.try_pop(got), wait_result::closed);
  EXPECT_EQ(other.pop(got, generous), wait_result::closed);
}

TYPED_TEST(one_producer, finds_out_when_full_that_the_consumer_closed) {
  zeroed<TypeParam> channel;
  typename TypeParam::producer end(*channel);
  typename TypeParam::consumer other(*channel);
  other.close();
  message got{};
  EXPECT_EQ(other.try_pop(got), wait_result::closed);
  for (unsigned i = 0; i != capacity; ++i) {
    EXPECT_EQ(end.try_push(numbered(0, i)), wait_result::done);
  }
  EXPECT_EQ(end.push(numbered(0, capacity), generous), wait_result::closed);
  EXPECT_EQ(end.try_push(numbered(0, capacity)), wait_result::closed);
}

TYPED_TEST(one_producer, that_never_pushes_lets_the_consumer_go_after_its_budget) {
  zeroed<TypeParam> channel;
  typename TypeParam::consumer end(*channel);
  message got{};
  EXPECT_EQ(end.try_pop(got), wait_result::would_wait);
  EXPECT_EQ(end.pop(got, short_one), wait_result::timed_out);
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
class many_producers : public ::testing::Test {};
using many_producer_channels = ::testing::Types<membar::mpsc_channel<message, capacity, thread_scope::system>,
                                                membar::packed_mpsc_channel<message, capacity, thread_scope::system>>;
TYPED_TEST_SUITE(many_producers, many_producer_channels);

TYPED_TEST(many_producers, pass_every_message_once_whole_and_each_in_its_order) {
  constexpr unsigned producers = 3;
  zeroed<TypeParam> channel;
  std::vector<std::jthread> producing;
  for (unsigned p = 0; p != producers; ++p) {
    producing.emplace_back([&, p] {
      for (unsigned i = 0; i != messages / producers; ++i) {
        ASSERT_EQ(channel->push(numbered(p, i), generous), wait_result::done);
      }
    });
  }
  typename TypeParam::consumer end(*channel);
  unsigned next[producers] = {};
  for (unsigned i = 0; i != messages / producers * producers; ++i) {
    message got{};
    ASSERT_EQ(end.pop(got, generous), wait_result::done);
    ASSERT_TRUE(whole(got));
    ASSERT_EQ(got.number, next[got.producer]++);
  }
  for (std::jthread& thread : producing) {
    thread.join();
  }
  message got{};
  EXPECT_EQ(end.try_pop(got), wait_result::would_wait);
  channel->close();
  EXPECT_EQ(end.try_pop(got), wait_result::closed);
}

TYPED_TEST(many_producers, end_within_their_budget_when_it_is_full_and_at_once_when_it_is_closed) {
  zeroed<TypeParam> channel;
  for (unsigned i = 0; i != capacity; ++i) {
    EXPECT_EQ(channel->try_push(numbered(0, i)), wait_result::done);
  }
  EXPECT_EQ(channel->try_push(numbered(0, capacity)), wait_result::would_wait);
  EXPECT_EQ(channel->push(numbered(0, capacity), short_one), wait_result::timed_out);
  channel->close();
  EXPECT_EQ(channel->push(numbered(0, capacity), generous), wait_result::closed);
  typename TypeParam::consumer end(*channel);
  message got{};
  for (unsigned i = 0; i != capacity; ++i) {
    EXPECT_EQ(end.try_pop(got), wait_result::done);
    EXPECT_EQ(got.number, i);
  }
  EXPECT_EQ(end.pop(got, generous), wait_result::closed);
}

/// A lock with one interface: the ticket lock as it is, the queue lock with a node for each thread.
struct ticket {
  membar::ticket_lock<thread_scope::system> lock;
  struct holder {
    explicit holder(ticket& t) : of(&t.lock) {}
    wait_result try_lock() const { return of->try_lock(); }
    wait_result lock(wait_budget budget) const { return of->lock(budget); }
    wait_result unlock() const {
      of->unlock();
      return wait_result::done;
    }
    membar::ticket_lock<thread_scope::system>* of;
  };
};
struct queue {
  membar::queue_lock<thread_scope::system> lock;
  struct holder {
    explicit holder(queue& q) : of(&q.lock) {}
    wait_result try_lock() const { return of->try_lock(*node); }
    wait_result lock(wait_budget budget) const { return of->lock(*node, budget); }
    wait_result unlock() const { return of->unlock(*node, generous); }
    membar::queue_lock<thread_scope::system>* of;
    std::shared_ptr<membar::queue_lock<thread_scope::system>::node> node =
        std::make_shared<membar::queue_lock<thread_scope::system>::node>();
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
  std::vector<std::jthread> working;
  for (int t = 0; t != threads; ++t) {
    working.emplace_back([&, t] {
      const typename TypeParam::holder mine(*lock);
      for (int i = 0; i != rounds; ++i) {
        while (t == 0 && i % 8 == 0) {
          const wait_result tried = mine.try_lock();
          ASSERT_NE(tried, wait_result::closed);
          if (tried == wait_result::done) {
            ++counter;
            ASSERT_EQ(mine.unlock(), wait_result::done);
            break;
          }
          std::this_thread::yield();
        }
        if (t != 0 || i % 8 != 0) {
          ASSERT_EQ(mine.lock(generous), wait_result::done);
          ++counter;
          ASSERT_EQ(mine.unlock(), wait_result::done);
        }
      }
    });
  }
  for (std::jthread& thread : working) {
    thread.join();
  }
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
  std::vector<std::jthread> working;
  for (int r = 0; r != ranks; ++r) {
    working.emplace_back([&, r] {
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
  for (std::jthread& thread : working) {
    thread.join();
  }
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
