// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <membar/symmetric/stream_guard.hpp>

#include <tests/common/refusal.hpp>
#include <tests/fake_cuda/fake_cuda.hpp>

#include <atomic>
#include <string>
#include <thread>
#include <vector>

namespace {

using fake_cuda::now, fake_cuda::stream;
using membar::symmetric::stream_guard;
using membar_test::refusal;

class guarded_team : public fake_cuda::test {
 protected:
  static bool contains(const std::string& text, const char* words) { return text.find(words) != std::string::npos; }

  stream first;
  stream second;
};

TEST_F(guarded_team, is_used_on_one_stream_at_a_time) {
  stream_guard guard("world");
  {
    const auto held = guard.on(first.handle());
    const std::string refused = refusal([&] { const auto other = guard.on(second.handle()); });
    EXPECT_TRUE(contains(refused, "membar: team world is in use on stream 0x")) << refused;
    EXPECT_TRUE(contains(refused, "one team, one of them at a time; end the first hold, or give the second a team of its own"))
        << refused;
    EXPECT_NE(refusal([&] { const auto other = guard.on_after_previous(second.handle()); }), "");
  }
  EXPECT_EQ(refusal([&] { const auto other = guard.on(second.handle()); }), "");
}

TEST_F(guarded_team, is_not_used_by_the_host_and_a_stream_at_once) {
  stream_guard guard("world");
  {
    const auto held = guard.on(first.handle());
    EXPECT_TRUE(contains(refusal([&] { const auto other = guard.on_host(); }), "was to be used on the host"));
  }
  const auto held = guard.on_host();
  EXPECT_TRUE(contains(refusal([&] { const auto other = guard.on(first.handle()); }), "is in use on the host"));
  EXPECT_TRUE(contains(refusal([&] { const auto other = guard.on(nullptr); }), "was to be used on the default stream"));
}

TEST_F(guarded_team, may_be_held_again_by_whoever_holds_it) {
  stream_guard guard("world");
  const auto outer = guard.on(first.handle());
  { const auto inner = guard.on(first.handle()); }
  EXPECT_TRUE(now().records.empty()) << "the outer hold goes on";
  EXPECT_NE(refusal([&] { const auto other = guard.on(second.handle()); }), "");
}

TEST_F(guarded_team, is_not_used_by_two_threads_at_once_in_one_stream_either) {
  stream_guard guard("world");
  const auto held = guard.on(first.handle());
  std::string refused;
  std::thread([&] { refused = refusal([&] { const auto other = guard.on(first.handle()); }); }).join();
  EXPECT_TRUE(contains(refused, "by another thread")) << refused;
}

TEST_F(guarded_team, waits_for_what_still_runs_only_where_it_is_asked_to) {
  stream_guard guard("world");
  first.busy = true;
  { const auto held = guard.on(first.handle()); }
  const std::string refused = refusal([&] { const auto other = guard.on(second.handle()); });
  EXPECT_TRUE(contains(refused, "may still run: wait for that stream first, or use on_after_previous, which waits")) << refused;
  EXPECT_TRUE(contains(refusal([&] { const auto other = guard.on_host(); }), "on_host_after_previous"));
  EXPECT_TRUE(second.waits_for.empty());
  { const auto ordered = guard.on_after_previous(second.handle()); }
  EXPECT_EQ(second.waits_for.size(), 1U);
  EXPECT_EQ(refusal([&] { const auto again = guard.on(second.handle()); }), "");
  EXPECT_EQ(second.waits_for.size(), 1U) << "a stream needs no event for its own work";
}

TEST_F(guarded_team, lets_the_host_wait) {
  stream_guard guard("world");
  first.busy = true;
  { const auto held = guard.on(first.handle()); }
  const auto held = guard.on_host_after_previous();
  EXPECT_FALSE(first.busy);
  EXPECT_EQ(now().calls, std::vector<std::string>{"cudaEventSynchronize"});
}

TEST_F(guarded_team, is_given_on_once_the_work_has_ended) {
  stream_guard guard("world");
  first.busy = true;
  { const auto held = guard.on(first.handle()); }
  first.busy = false;
  EXPECT_EQ(refusal([&] { const auto other = guard.on(second.handle()); }), "");
}

TEST_F(guarded_team, has_no_work_yet_in_a_stream_that_is_captured) {
  stream_guard guard("world");
  first.capturing = true;
  first.busy = true;
  { const auto held = guard.on(first.handle()); }
  EXPECT_TRUE(now().records.empty());
  EXPECT_EQ(refusal([&] { const auto other = guard.on(second.handle()); }), "");
  EXPECT_TRUE(now().failures.empty());
}

TEST_F(guarded_team, is_one_of_several) {
  stream_guard world("world");
  stream_guard row("row");
  const auto a = world.on(first.handle());
  EXPECT_EQ(refusal([&] { const auto b = row.on(second.handle()); }), "");
}

TEST_F(guarded_team, is_never_held_twice_by_threads_that_try) {
  stream_guard guard("world");
  stream streams[4];
  std::atomic<int> inside = 0;
  std::atomic<int> together = 0;
  std::atomic<int> taken = 0;
  std::vector<std::thread> threads;
  for (stream& each : streams) {
    threads.emplace_back([&] {
      for (int i = 0; i != 1000; ++i) {
        try {
          const auto held = guard.on(each.handle());
          together += inside++ != 0 ? 1 : 0;
          ++taken;
          --inside;
        } catch (const membar::error&) {
          continue;
        }
      }
    });
  }
  for (std::thread& each : threads) {
    each.join();
  }
  EXPECT_EQ(together, 0);
  EXPECT_GT(taken, 0);
}

}  // namespace
