// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
/// @file
/// Tests of litmus threads that run on the host: their writes to the cells, and the observations that they report.
#include "message_passing.cuh"

#include <gtest/gtest.h>

#include <array>

namespace {

using namespace conformance;
using enum memory_order;

constexpr auto everywhere = thread_scope::system;
using mailbox = message_passing<atomic_store<everywhere, release>, atomic_load<everywhere, acquire>>;
using unordered = message_passing<atomic_store<everywhere, relaxed>, atomic_load<everywhere, relaxed>>;

class conformance_host_threads : public ::testing::Test {
 protected:
  conformance_host_threads() {
    layout.locations = 2;
    layout.observations = 2;
    holds<mailbox, where::host_last, unordered>({&all, "host"});
    holds<mailbox, where::host_first, unordered>({&all, "host"});
  }

  void run(const char* place, int thread) {
    const placed_test* test = all.find(mailbox::name() + "@" + place);
    ASSERT_NE(test, nullptr);
    ASSERT_TRUE(test->test.on_host);
    test->test.on_host(thread, membar::litmus::instance_cells(layout, memory.data(), rotations.data(), 0, nullptr, 0),
                       membar::litmus::instance_digits(layout, digits.data(), 0));
  }
  unsigned& cell(int location) {
    return *membar::litmus::instance_cells(layout, memory.data(), rotations.data(), 0, nullptr, 0).as<unsigned>(location);
  }
  unsigned digit(unsigned observation) { return digits[membar::litmus::digit_offset(layout, observation, 0)]; }

  suite all;
  membar::litmus::instance_layout layout{};
  std::array<unsigned, 2> rotations{};
  alignas(16) std::array<unsigned char, 2 * 32 * 16> memory{};
  std::array<unsigned char, 2 * 32> digits{};
};

TEST_F(conformance_host_threads, readers_report_the_digits_of_what_they_found) {
  run("host_last", 1);
  EXPECT_EQ(digit(0), 0u);
  EXPECT_EQ(digit(1), 0u);
  cell(y) = 1;
  run("host_last", 1);
  EXPECT_EQ(digit(0), 1u);
  EXPECT_EQ(digit(1), 0u);
}

TEST_F(conformance_host_threads, a_value_that_no_thread_writes_is_the_last_digit) {
  cell(x) = 77;
  run("host_last", 1);
  EXPECT_EQ(digit(1), all.find(mailbox::name() + "@host_last")->test.observed[1].radix() - 1);
}

TEST_F(conformance_host_threads, writers_write_and_report_nothing) {
  digits.fill(9);
  run("host_first", 0);
  EXPECT_EQ(cell(x), 1u);
  EXPECT_EQ(cell(y), 1u);
  EXPECT_EQ(digit(0), 9u);
}

TEST_F(conformance_host_threads, threads_of_the_device_are_not_run) {
  run("host_last", 0);
  EXPECT_EQ(cell(x), 0u);
  EXPECT_EQ(cell(y), 0u);
}

TEST_F(conformance_host_threads, places_are_those_of_the_test) {
  const auto& threads = all.find(mailbox::name() + "@host_last")->test.model_test.threads;
  EXPECT_FALSE(threads[0].where.host);
  EXPECT_TRUE(threads[1].where.host);
}

}  // namespace
