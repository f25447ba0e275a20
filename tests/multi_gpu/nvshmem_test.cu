// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Symmetric memory over NVSHMEM: the same protocols as for the peer backend, with one process per GPU. The test's own process
// makes no CUDA call, because it forks.
#include <membar/co_residency.hpp>
#include <membar/symmetric/collective_launch.hpp>
#include <membar/symmetric/nvshmem_backend.cuh>

#include <bench/common/pe_processes.hpp>

#include <tests/common/gpu_test.hpp>
#include <tests/common/symmetric_processes.cuh>

#include <algorithm>
#include <string>
#include <tuple>
#include <vector>

namespace membar_test {

namespace {

using symmetric::heap;

class nvshmem : public gpu_processes {
 protected:
  /// Runs `body(session)` on every PE, and expects it to return 0 on all of them.
  template <class Body>
  static void expect_success(Body body) {
    for (const int code : support::run_as_pes(pes, processes_deadline(), body)) {
      EXPECT_EQ(code, 0) << "-1: crashed or timed out; standard error has the details";
    }
  }
};

template <class Protocol>
int protocol(const symmetric::nvshmem_session& session) {
  symmetric::nvshmem_backend of(session);
  return pass_protocol<Protocol>(of);
}

TEST_F(nvshmem, put_with_signal_shows_its_data) { expect_success(protocol<by_put_signal>); }
TEST_F(nvshmem, put_with_an_added_signal_shows_its_data) { expect_success(protocol<by_put_signal_added>); }
TEST_F(nvshmem, two_puts_and_a_fence_show_both_arrays) { expect_success(protocol<by_two_puts_and_a_fence>); }
TEST_F(nvshmem, notification_releases_the_put_before_it) { expect_success(protocol<by_put_and_notify>); }
TEST_F(nvshmem, quiet_completes_what_does_not_block) { expect_success(protocol<by_nonblocking_put_and_quiet>); }
TEST_F(nvshmem, get_reads_what_was_notified) { expect_success(protocol<by_get>); }

TEST_F(nvshmem, packed_messages_are_whole_where_all_is_in_reach) {
  expect_success([](const symmetric::nvshmem_session& session) {
    symmetric::basic_nvshmem_backend<symmetric::visibility::everywhere> of(session);
    return pass_all_packed(of);
  });
}

TEST_F(nvshmem, barriers_hold) {
  expect_success([](const symmetric::nvshmem_session& session) {
    symmetric::nvshmem_backend of(session);
    return pass_barriers_of(of);
  });
}

TEST_F(nvshmem, that_the_program_has_initialized_is_used_and_left_to_it) {
  expect_success([](const symmetric::nvshmem_session& session) {
    {
      const auto other = symmetric::nvshmem_session::of_program();
      symmetric::nvshmem_backend of(other);
      if (const int wrong = pass_barriers_of(of); wrong != 0 || other.self() != session.self()) {
        return 2;
      }
    }
    symmetric::nvshmem_backend again(session);  // the session still exists
    return pass_barriers_of(again);
  });
}

TEST_F(nvshmem, that_nobody_has_initialized_is_rejected) {
  const pid_t child = support::detail::forked([] {
    try {
      static_cast<void>(symmetric::nvshmem_session::of_program());
    } catch (const membar::error& refused) {
      return std::string(refused.what()).find("has not initialized NVSHMEM: call nvshmem_init") != std::string::npos ? 0 : 2;
    }
    return 3;
  });
  EXPECT_EQ(support::detail::ended({child}, std::chrono::seconds(60)), std::vector<int>{0});
}

/// All blocks wait on PE 0.
__global__ void wait_on_the_first(object<signal<set>, symmetric::nvshmem_backend> ready, pe_report* report) {
  if (ready.self() == pe(0)) {
    const bool late = try_wait(by_block, ready, equals(1), membar::wait_budget::milliseconds(5'000)) != wait_result::done;
    add_to(*report, by_block, 0, late, 1);
  }
}

TEST_F(nvshmem, a_collective_launch_that_fills_a_device_returns_on_every_pe) {
  expect_success([](const symmetric::nvshmem_session& session) {
    symmetric::nvshmem_backend of(session);
    heap<symmetric::nvshmem_backend> heap(of, 1 << 20);
    const pe self = session.self();
    const auto ready = heap.allocate<signal<set>>(1);
    load_stream_operations(heap);
    const support::device_memory<pe_report> report(1);
    const support::stream stream;
    const cudaStream_t streams[] = {stream.get()};
    const symmetric::collective_grid full{.grid = membar::co_resident_blocks(wait_on_the_first, 1024), .block = 1024};
    collective_launch(of, full, streams, wait_on_the_first, [&](pe) { return std::tuple(ready.on(self)[0], report.get()); });
    if (self == pe(1)) {  // PE 0's grid waits for this notification, so the host must get here before the grid has ended.
      const support::stream other;
      notify_on_stream(ready.on(self)[0], 1, pe(0), other.get());
      membar::check(cudaStreamSynchronize(other.get()));
    }
    const int result = verdict(report);
    heap.free(ready);
    return result;
  });
}

TEST_F(nvshmem, collective_calls_that_differ_are_errors_of_every_pe) {
  expect_success([](const symmetric::nvshmem_session& session) {
    symmetric::nvshmem_backend of(session);
    heap<symmetric::nvshmem_backend> heap(of, 1 << 20);
    try {
      static_cast<void>(heap.allocate<int>(10 + static_cast<std::size_t>(session.self().index())));
    } catch (const membar::error& refused) {
      return std::string(refused.what()).find("PE 1 has an allocation with an object count of 11, but PE 0 has 10") !=
                     std::string::npos
                 ? 0
                 : 2;
    }
    return 3;
  });
}

}  // namespace
}  // namespace membar_test
