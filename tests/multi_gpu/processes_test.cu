// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Symmetric memory between processes that have one GPU each and use only membar: the same protocols as for the peer backend, in
// memory that the processes share.
#include <membar/symmetric/on_stream.cuh>
#include <membar/symmetric/process_memory.hpp>

#include <tests/common/ipc_processes.hpp>
#include <tests/common/symmetric_processes.cuh>

#include <cstdio>
#include <string>
#include <vector>

namespace membar_test {

namespace {

using backend = symmetric::adopted_backend;
using symmetric::host_group, symmetric::process_memory, symmetric::shared_by;

constexpr std::size_t shared_bytes = std::size_t{16} << 20;

class process_pes : public gpu_processes {
 protected:
  /// Runs `body(backend)` in a process for each GPU, in shared memory, and expects it to return 0.
  template <class Body>
  static void expect_success(Body body) {
    expect_success_in_a_group([&](host_group& group) {
      const process_memory memory(group, shared_bytes);
      backend of(memory.memory(), group.callback());
      return body(of);
    });
  }
};

TEST_F(process_pes, put_with_signal_shows_its_data) { expect_success(pass_protocol<by_put_signal, backend>); }
TEST_F(process_pes, put_with_an_added_signal_shows_its_data) { expect_success(pass_protocol<by_put_signal_added, backend>); }
TEST_F(process_pes, two_puts_and_a_fence_show_both_arrays) { expect_success(pass_protocol<by_two_puts_and_a_fence, backend>); }
TEST_F(process_pes, notification_releases_the_put_before_it) { expect_success(pass_protocol<by_put_and_notify, backend>); }
TEST_F(process_pes, quiet_completes_what_does_not_block) {
  expect_success(pass_protocol<by_nonblocking_put_and_quiet, backend>);
}
TEST_F(process_pes, get_reads_what_was_notified) { expect_success(pass_protocol<by_get, backend>); }
TEST_F(process_pes, packed_messages_are_whole) { expect_success(pass_all_packed<backend>); }
TEST_F(process_pes, barriers_hold) { expect_success(pass_barriers_of<backend>); }

TEST_F(process_pes, copies_of_streams_reach_the_other_process) { expect_success(pass_by_copies_of_streams<backend>); }

TEST_F(process_pes, put_with_signal_shows_its_data_in_memory_of_cuda_ipc) {
  expect_success_in_a_group(
      [](host_group& group) { return in_ipc_memory(group, shared_bytes, pass_protocol<by_put_signal, backend>); });
}
TEST_F(process_pes, barriers_hold_in_memory_of_cuda_ipc) {
  expect_success_in_a_group([](host_group& group) { return in_ipc_memory(group, shared_bytes, pass_barriers_of<backend>); });
}

TEST_F(process_pes, share_by_fabric_handles_or_say_why_not) {
  const auto codes = in_a_group([](host_group& group) {
    try {
      const process_memory memory(group, shared_bytes, shared_by::fabric);
      backend of(memory.memory(), group.callback());
      return pass_barriers_of(of);
    } catch (const membar::error& refused) {
      std::fprintf(stderr, "%s\n", refused.what());
      const std::string sentence = refused.what();
      return sentence.find("by fabric handles") != sentence.npos ||
                     sentence.find("the memory was not shared on any PE") != sentence.npos
                 ? 0
                 : 3;
    }
  });
  EXPECT_EQ(codes, (std::vector<int>{0, 0}));
}

TEST_F(process_pes, end_their_waits_for_a_killed_process_and_name_it) { expect_waits_to_end_and_to_name_the_killed(2); }

}  // namespace
}  // namespace membar_test
