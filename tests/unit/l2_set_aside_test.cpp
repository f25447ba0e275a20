// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <membar/l2_facts.hpp>
#include <membar/l2_set_aside.hpp>

#include <tests/common/refusal.hpp>
#include <tests/fake_cuda/fake_cuda.hpp>

#include <time.h>

#include <atomic>
#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string_view>
#include <thread>

namespace {

using fake_cuda::MiB, fake_cuda::now;
using membar_test::refusal, membar_test::says;

class l2_set_aside : public fake_cuda::test {
 protected:
  static std::size_t& limit(std::size_t device = 0) { return now().devices[device].persisting_l2_limit; }
};
class l2_facts : public l2_set_aside {};

TEST_F(l2_facts, are_what_the_device_says) {
  limit() = 7 * MiB;
  const membar::l2_facts facts = membar::l2_facts_of(0);
  EXPECT_EQ(facts.l2_bytes, 60 * MiB);
  EXPECT_EQ(facts.max_set_aside, 40 * MiB);
  EXPECT_EQ(facts.max_window, 128 * MiB);
  EXPECT_EQ(facts.set_aside, 7 * MiB);
  EXPECT_FALSE(facts.mig);
  EXPECT_FALSE(facts.mps);
}

TEST_F(l2_facts, tell_a_mig_instance_by_its_name) {
  now().attribute(cudaDevAttrMaxPersistingL2CacheSize, 1) = 0;
  EXPECT_FALSE(membar::l2_facts_of(1).mig);
  now().devices[1].name = "NVIDIA H200 MIG 1g.18gb";
  EXPECT_TRUE(membar::l2_facts_of(1).mig);
  now().devices[1].name = "NVIDIA AMIG 1";
  EXPECT_FALSE(membar::l2_facts_of(1).mig);
}

TEST_F(l2_facts, leave_mps_open_where_the_runtime_cannot_tell) {
  now().driver_version = 12020;
  now().devices[0].attributes.erase(cudaDevAttrMpsEnabled);
  EXPECT_FALSE(membar::l2_facts_of(0).mps);
  now().driver_version = 12030;
  now().attribute(cudaDevAttrMpsEnabled) = 1;
  EXPECT_TRUE(membar::l2_facts_of(0).mps);
}

TEST_F(l2_facts, do_not_change_the_last_error) {
  now().driver_version = 12020;
  now().devices[0].attributes.erase(cudaDevAttrMpsEnabled);
  now().last_error = cudaErrorInvalidConfiguration;
  static_cast<void>(membar::l2_facts_of(0));
  EXPECT_EQ(now().last_error, cudaErrorInvalidConfiguration);
}

TEST_F(l2_facts, do_not_change_the_current_device) {
  static_cast<void>(membar::l2_facts_of(1));
  EXPECT_EQ(fake_cuda::current_device(), 0);
}

TEST_F(l2_set_aside, sets_the_limit_and_puts_it_back) {
  limit() = 3 * MiB;
  {
    const membar::l2_set_aside hold(0, 24 * MiB);
    EXPECT_EQ(limit(), 24 * MiB);
    EXPECT_EQ(hold.bytes(), 24 * MiB);
    EXPECT_EQ(hold.device(), 0);
  }
  EXPECT_EQ(limit(), 3 * MiB);
}

TEST_F(l2_set_aside, adds_up_what_is_held) {
  auto first = std::make_unique<membar::l2_set_aside>(0, 10 * MiB);
  auto second = std::make_unique<membar::l2_set_aside>(0, 20 * MiB);
  EXPECT_EQ(limit(), 30 * MiB);
  EXPECT_EQ(first->granted_together(), 30 * MiB);
  first.reset();  // The first set-aside ends first: set-asides need not be nested.
  EXPECT_EQ(limit(), 20 * MiB);
  second.reset();
  EXPECT_EQ(limit(), 0U);
}

TEST_F(l2_set_aside, is_never_more_than_the_largest) {
  limit() = 5 * MiB;
  auto first = std::make_unique<membar::l2_set_aside>(0, 30 * MiB);
  auto second = std::make_unique<membar::l2_set_aside>(0, 30 * MiB);
  EXPECT_EQ(limit(), 40 * MiB);
  EXPECT_EQ(second->granted_together(), 40 * MiB);
  second.reset();
  EXPECT_EQ(limit(), 30 * MiB);
  first.reset();
  EXPECT_EQ(limit(), 5 * MiB);
}

TEST_F(l2_set_aside, of_more_bytes_than_a_number_counts_is_the_largest) {
  const auto all = std::make_unique<membar::l2_set_aside>(0, SIZE_MAX);
  {
    const membar::l2_set_aside more(0, 4096);
    EXPECT_EQ(limit(), 40 * MiB);
    EXPECT_EQ(all->granted_together(), 40 * MiB);
    EXPECT_EQ(all->bytes(), SIZE_MAX);
  }
  EXPECT_EQ(limit(), 40 * MiB);
}

TEST_F(l2_set_aside, puts_the_limit_back_after_an_exception) {
  limit() = MiB;
  const auto work = [] {
    const membar::l2_set_aside outer(0, 8 * MiB);
    const membar::l2_set_aside inner(0, 8 * MiB);
    throw std::runtime_error("in the middle");
  };
  EXPECT_THROW(work(), std::runtime_error);
  EXPECT_EQ(limit(), MiB);
}

TEST_F(l2_set_aside, keeps_devices_apart) {
  limit(1) = 2 * MiB;
  {
    const membar::l2_set_aside first(0, 8 * MiB);
    const membar::l2_set_aside second(1, 16 * MiB);
    EXPECT_EQ(limit(0), 8 * MiB);
    EXPECT_EQ(limit(1), 16 * MiB);
    EXPECT_EQ(fake_cuda::current_device(), 0);
  }
  EXPECT_EQ(limit(0), 0U);
  EXPECT_EQ(limit(1), 2 * MiB);
  EXPECT_EQ(fake_cuda::current_device(), 0);
}

TEST_F(l2_set_aside, of_another_device_leaves_the_current_one_current) {
  limit(1) = 2 * MiB;
  {
    const membar::l2_set_aside hold(1, 16 * MiB);
    EXPECT_EQ(fake_cuda::current_device(), 0);
    EXPECT_EQ(limit(1), 16 * MiB);
  }
  EXPECT_EQ(limit(1), 2 * MiB);
  EXPECT_EQ(fake_cuda::current_device(), 0);
}

TEST_F(l2_set_aside, keeps_the_context_that_the_program_made) {
  fake_cuda::make_context_current(fake_cuda::own_context(2));
  {
    const membar::l2_set_aside hold(1, 16 * MiB);
    EXPECT_EQ(fake_cuda::current_context(), fake_cuda::own_context(2));
  }
  EXPECT_EQ(fake_cuda::current_context(), fake_cuda::own_context(2));
  EXPECT_EQ(fake_cuda::current_device(), 2);
}

class device_guard : public fake_cuda::test {};

TEST_F(device_guard, makes_a_device_current_for_its_scope) {
  {
    const membar::device_guard guard(3);
    EXPECT_EQ(fake_cuda::current_device(), 3);
  }
  EXPECT_EQ(fake_cuda::current_device(), 0);
}

TEST_F(device_guard, gives_back_the_context_that_the_program_made) {
  fake_cuda::make_context_current(fake_cuda::own_context(2));
  {
    const membar::device_guard same(2);
    EXPECT_EQ(fake_cuda::current_context(), fake_cuda::own_context(2));
    const membar::device_guard other(1);
    EXPECT_EQ(fake_cuda::current_device(), 1);
  }
  EXPECT_EQ(fake_cuda::current_context(), fake_cuda::own_context(2));
}

TEST_F(device_guard, of_a_device_that_does_not_exist_changes_nothing) {
  fake_cuda::make_context_current(fake_cuda::own_context(2));
  EXPECT_NE(refusal([] { const membar::device_guard guard(7); }), "");
  EXPECT_EQ(fake_cuda::current_context(), fake_cuda::own_context(2));
  EXPECT_TRUE(now().failures.empty());
}

TEST_F(l2_set_aside, that_cannot_be_set_leaves_the_limit_and_the_account) {
  limit() = MiB;
  now().fails["cudaDeviceSetLimit"] = {0, cudaErrorInvalidValue};
  EXPECT_NE(refusal([] { const membar::l2_set_aside hold(0, 8 * MiB); }), "");
  now().fails.clear();
  EXPECT_EQ(limit(), MiB);
  {
    const membar::l2_set_aside hold(0, 4 * MiB);
    EXPECT_EQ(limit(), 4 * MiB) << "the set-aside that failed is counted";
  }
  EXPECT_EQ(limit(), MiB);
}

TEST_F(l2_set_aside, on_a_mig_instance_is_rejected_in_a_sentence) {
  now().attribute(cudaDevAttrMaxPersistingL2CacheSize, 1) = 0;
  now().devices[1].name = "NVIDIA H200 MIG 1g.18gb";
  EXPECT_EQ(refusal([] { const membar::l2_set_aside hold(1, 1024); }),
            "membar: 1024 bytes of L2 cannot be set aside on device 1, because the device is a MIG instance, on which CUDA "
            "disables the set-aside: use "
            "the whole device, or leave the window out");
  EXPECT_TRUE(now().devices[1].limits_set.empty());
}

TEST_F(l2_set_aside, before_compute_capability_8_is_rejected_in_a_sentence) {
  now().attribute(cudaDevAttrMaxPersistingL2CacheSize) = 0;
  EXPECT_TRUE(says(refusal([] { const membar::l2_set_aside hold(0, 1024); }),
                   "setting L2 aside for persisting lines requires compute capability 8.0"));
}

TEST_F(l2_set_aside, under_mps_is_what_the_server_fixed) {
  now().attribute(cudaDevAttrMpsEnabled) = 1;
  limit() = 10 * MiB;
  EXPECT_EQ(refusal([] { const membar::l2_set_aside hold(0, 8 * MiB); }), "");
  EXPECT_EQ(refusal([] { const membar::l2_set_aside hold(0, 10 * MiB); }), "");
  const std::string said = refusal([] { const membar::l2_set_aside hold(0, 11 * MiB); });
  EXPECT_TRUE(says(said, "MPS fixed the limit at 10485760"));
  EXPECT_TRUE(says(said, "CUDA_DEVICE_DEFAULT_PERSISTING_L2_CACHE_PERCENTAGE_LIMIT"));
  EXPECT_TRUE(now().devices[0].limits_set.empty());
  EXPECT_EQ(limit(), 10 * MiB);
}

TEST_F(l2_set_aside, that_cannot_be_put_back_is_reported_and_does_not_throw) {
  {
    const membar::l2_set_aside hold(0, 8 * MiB);
    now().fails["cudaDeviceSetLimit"] = {0, cudaErrorUnknown};
  }
  ASSERT_EQ(now().failures.size(), 1U);
  EXPECT_TRUE(says(now().failures[0], "the L2 set-aside could not be restored"));
}

/// The set-aside through which the handler for failed restores reads the limit that applies to all requests on the device.
const membar::l2_set_aside* read_by_the_handler = nullptr;
std::size_t granted_to_the_handler = 0;

class l2_set_aside_handler : public l2_set_aside {
 protected:
  l2_set_aside_handler() {
    granted_to_the_handler = 0;
    membar::set_restore_failure_handler(
        [](const char*) noexcept { granted_to_the_handler = read_by_the_handler->granted_together(); });
  }
};

TEST_F(l2_set_aside_handler, may_use_set_asides_after_a_holder_that_was_destroyed) {
  const membar::l2_set_aside other(0, MiB);
  read_by_the_handler = &other;
  {
    const membar::l2_set_aside hold(0, 8 * MiB);
    now().fails["cudaDeviceSetLimit"] = {0, cudaErrorUnknown};
  }
  EXPECT_EQ(granted_to_the_handler, MiB);
  now().fails.clear();
}

TEST_F(l2_set_aside_handler, may_use_set_asides_after_a_holder_that_was_made) {
  const membar::l2_set_aside other(0, MiB);
  read_by_the_handler = &other;
  now().fails["cudaSetDevice"] = {1, cudaErrorUnknown, -1, 1};  // the call that returns to device 0
  const membar::l2_set_aside hold(1, 8 * MiB);
  EXPECT_EQ(granted_to_the_handler, MiB);
}

std::chrono::nanoseconds processor_time_of_this_thread() {
  timespec used{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &used);
  return std::chrono::seconds(used.tv_sec) + std::chrono::nanoseconds(used.tv_nsec);
}

TEST_F(l2_set_aside, of_one_thread_lets_another_sleep_while_the_driver_sets_the_limit) {
  const membar::l2_set_aside mine(0, MiB);
  std::atomic<bool> setting = false;
  now().on_call = [&](std::string_view call) {
    if (call == "cudaDeviceSetLimit" && !setting.exchange(true)) {
      std::this_thread::sleep_for(std::chrono::milliseconds(300));
    }
  };
  std::optional<membar::l2_set_aside> theirs;
  std::jthread other([&] { theirs.emplace(0, MiB); });
  while (!setting) {
    std::this_thread::yield();
  }
  const auto before = processor_time_of_this_thread();
  EXPECT_EQ(mine.granted_together(), 2 * MiB);
  EXPECT_LT(processor_time_of_this_thread() - before, std::chrono::milliseconds(100));
  other.join();
}

}  // namespace
