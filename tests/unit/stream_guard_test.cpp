// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <membar/symmetric/stream_guard.hpp>

#include <tests/common/refusal.hpp>
#include <tests/fake_cuda/fake_cuda.hpp>

#include <atomic>
#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <vector>

namespace {

using fake_cuda::now, fake_cuda::stream;
using membar::symmetric::stream_guard;
using membar_test::refusal, membar_test::says;

class guarded_team : public fake_cuda::test {
 protected:
  /// Tries to obtain a hold. If it is rejected, returns the error message; otherwise, releases the hold and returns an empty
  /// string.
  std::string on(stream& in) {
    return refusal([&] { return guard.on(in.handle()); });
  }
  std::string on_host() {
    return refusal([&] { return guard.on_host(); });
  }

  stream_guard guard{"world"};
  stream first;
  stream second;
};

TEST_F(guarded_team, is_used_on_one_stream_at_a_time) {
  {
    const auto held = guard.on(first.handle());
    const std::string refused = on(second);
    EXPECT_TRUE(says(refused, "membar: team world is in use on stream 0x"));
    EXPECT_TRUE(says(refused, "at the same time: end the first hold, or give the second its own team"));
    EXPECT_NE(refusal([&] { return guard.on_after_previous(second.handle()); }), "");
  }
  EXPECT_EQ(on(second), "");
}

TEST_F(guarded_team, is_not_used_by_the_host_and_a_stream_at_once) {
  {
    const auto held = guard.on(first.handle());
    EXPECT_TRUE(says(on_host(), "cannot be used on the host"));
  }
  const auto held = guard.on_host();
  EXPECT_TRUE(says(on(first), "is in use on the host"));
  EXPECT_TRUE(says(refusal([&] { return guard.on(nullptr); }), "cannot be used on the default stream"));
}

TEST_F(guarded_team, may_be_held_again_by_whoever_holds_it) {
  const auto outer = guard.on(first.handle());
  { const auto inner = guard.on(first.handle()); }
  EXPECT_TRUE(now().records.empty()) << "the outer hold continues";
  EXPECT_NE(on(second), "");
}

TEST_F(guarded_team, is_not_used_by_two_threads_at_once_in_one_stream_either) {
  const auto held = guard.on(first.handle());
  std::string refused;
  std::thread([&] { refused = on(first); }).join();
  EXPECT_TRUE(says(refused, "by another thread"));
}

TEST_F(guarded_team, waits_for_what_still_runs_only_where_it_is_asked_to) {
  first.busy = true;
  { const auto held = guard.on(first.handle()); }
  const std::string refused = on(second);
  EXPECT_TRUE(says(refused, "may still be running: wait for that stream first, or use on_after_previous, which waits"));
  EXPECT_TRUE(says(on_host(), "on_host_after_previous"));
  EXPECT_TRUE(second.waits_for.empty());
  { const auto ordered = guard.on_after_previous(second.handle()); }
  EXPECT_EQ(second.waits_for.size(), 1U);
  EXPECT_EQ(on(second), "");
  EXPECT_EQ(second.waits_for.size(), 1U) << "a stream does not need an event for its own work";
}

TEST_F(guarded_team, tells_streams_apart_that_have_one_handle_after_the_other) {
  std::optional<stream> old(std::in_place);
  const cudaStream_t handle = old->handle();
  { const auto held = guard.on(handle); }
  old.emplace();  // The old stream is destroyed, but work that was enqueued in it still runs.
  old->busy = true;
  ASSERT_EQ(old->handle(), handle);
  EXPECT_TRUE(says(on(*old), "may still be running"));
  { const auto ordered = guard.on_after_previous(handle); }
  EXPECT_EQ(old->waits_for.size(), 1U);
}

TEST_F(guarded_team, lets_the_host_wait) {
  first.busy = true;
  { const auto held = guard.on(first.handle()); }
  const auto held = guard.on_host_after_previous();
  EXPECT_FALSE(first.busy);
  EXPECT_EQ(now().calls, std::vector<std::string>{"cudaEventSynchronize"});
}

TEST_F(guarded_team, is_given_on_once_the_work_has_ended) {
  first.busy = true;
  { const auto held = guard.on(first.handle()); }
  first.busy = false;
  EXPECT_EQ(on(second), "");
}

TEST_F(guarded_team, has_no_work_yet_in_a_stream_that_is_captured) {
  first.capturing = true;
  first.busy = true;
  { const auto held = guard.on(first.handle()); }
  EXPECT_TRUE(now().records.empty());
  EXPECT_EQ(on(second), "");
  EXPECT_TRUE(now().failures.empty());
}

TEST_F(guarded_team, is_used_in_one_captured_stream_at_a_time) {
  first.capturing = second.capturing = true;
  const auto held = guard.on(first.handle());
  { const auto inner = guard.on(first.handle()); }
  EXPECT_TRUE(says(on(second), "membar: team world is in use on captured stream 0x"));
}

TEST_F(guarded_team, is_kept_by_a_capture_from_its_own_streams_only) {
  first.capturing = true;
  std::unique_ptr<stream_guard::hold> captured(new stream_guard::hold(guard.on(first.handle())));
  const auto held = guard.on(second.handle());
  captured.reset();  // must not release the other hold
  EXPECT_TRUE(says(on_host(), "is in use on stream"));
}

TEST_F(guarded_team, knows_across_a_capture_whose_work_still_runs) {
  first.busy = true;
  { const auto held = guard.on(first.handle()); }
  second.capturing = true;
  EXPECT_EQ(on(second), "") << "what is captured runs later";
  second.capturing = false;
  EXPECT_TRUE(says(on(second), "may still be running"));
  EXPECT_EQ(on(first), "") << "a stream does not need to wait for its own work";
}

TEST_F(guarded_team, is_one_of_several) {
  stream_guard row("row");
  const auto held = guard.on(first.handle());
  EXPECT_EQ(refusal([&] { return row.on(second.handle()); }), "");
}

TEST_F(guarded_team, is_never_held_twice_by_threads_that_try) {
  stream streams[4];
  std::atomic<int> inside = 0;
  std::atomic<int> together = 0;
  std::atomic<int> taken = 0;
  std::vector<std::jthread> threads;
  for (stream& each : streams) {
    threads.emplace_back([&] {
      for (int i = 0; i != 1000; ++i) {
        try {
          const auto held = guard.on(each.handle());
          together += inside++ != 0 ? 1 : 0;
          ++taken;
          --inside;
        } catch (const membar::error&) {
        }
      }
    });
  }
  threads.clear();  // joins the thread
  EXPECT_EQ(together, 0);
  EXPECT_GT(taken, 0);
}

}  // namespace
