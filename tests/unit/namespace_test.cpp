// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// A program may use `using namespace membar` together with names from the C library.
#include <membar/deadlock/recorder.hpp>
#include <membar/symmetric/collective_launch.hpp>
#include <membar/symmetric/heap.hpp>
#include <membar/symmetric/host_copy.hpp>
#include <membar/symmetric/peer_backend.hpp>
#include <membar/symmetric/stream_guard.hpp>

#include <gtest/gtest.h>

#include <csignal>

using namespace membar;

namespace {

volatile std::sig_atomic_t caught = 0;
void note(int number) { caught = number; }

TEST(namespace_membar, leaves_the_names_of_csignal_to_the_program) {
  ASSERT_NE(signal(SIGUSR1, &note), SIG_ERR);
  ASSERT_EQ(raise(SIGUSR1), 0);
  EXPECT_EQ(caught, SIGUSR1);
  static_assert(symmetric::detail::is_signal<symmetric::signal<symmetric::set>>);
}

}  // namespace
