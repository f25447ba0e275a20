// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <membar/access_policy_window.hpp>
#include <membar/launch.hpp>

#include <tests/common/refusal.hpp>
#include <tests/fake_cuda/fake_cuda.hpp>

#include <array>
#include <cstdint>
#include <limits>
#include <vector>

namespace {

using fake_cuda::MiB, fake_cuda::now;
using membar::access_policy_window, membar::access_property;
using membar_test::refusal, membar_test::says;

constexpr membar::l2_facts big{
    .device = 0, .l2_bytes = 60 * MiB, .max_set_aside = 40 * MiB, .max_window = 128 * MiB, .set_aside = 24 * MiB};

const void* const somewhere = reinterpret_cast<const void*>(std::size_t{0x7000'0000'0000});

std::string refusal_of(const access_policy_window& window, const membar::l2_facts& facts = big) {
  return refusal([&] { membar::validate(window, facts); });
}

TEST(access_policy_window, is_off_unless_it_has_bytes) {
  EXPECT_TRUE(access_policy_window{}.off());
  EXPECT_EQ(refusal_of({}), "");
  EXPECT_EQ(refusal_of({.bytes = 0, .hit_ratio = 7.0F}), "");
  EXPECT_EQ((access_policy_window{.start = somewhere}), access_policy_window{});
}

TEST(access_policy_window, of_a_legal_kind_is_accepted) {
  for (const float ratio : {0.0F, 0.5F, 1.0F}) {
    for (const access_property hit : {access_property::normal, access_property::streaming, access_property::persisting}) {
      for (const access_property miss : {access_property::normal, access_property::streaming}) {
        EXPECT_EQ(refusal_of({somewhere, 128 * MiB, ratio, hit, miss}), "");
      }
    }
  }
}

TEST(access_policy_window, with_a_null_region_is_rejected) {
  EXPECT_EQ(refusal_of({.bytes = 4096}),
            "membar: the access-policy window of 4096 bytes starts at a null pointer: pass the address of the hot region, or 0 "
            "bytes to turn the window off");
}

TEST(access_policy_window, with_an_invalid_hit_ratio_is_rejected) {
  EXPECT_EQ(refusal_of({.start = somewhere, .bytes = 4096, .hit_ratio = 1.5F}),
            "membar: the hit ratio of the access-policy window is 1.5: use a value from 0 to 1");
  EXPECT_EQ(refusal_of({.start = somewhere, .bytes = 4096, .hit_ratio = std::numeric_limits<float>::quiet_NaN()}),
            "membar: the hit ratio of the access-policy window is nan: use a value from 0 to 1");
  EXPECT_NE(refusal_of({.start = somewhere, .bytes = 4096, .hit_ratio = -0.1F}), "");
}

TEST(access_policy_window, whose_misses_persist_is_rejected) {
  const std::string said = refusal_of({.start = somewhere, .bytes = 4096, .miss = access_property::persisting});
  EXPECT_TRUE(says(said, "the miss property of an access-policy window cannot be persisting"));
}

TEST(access_policy_window, larger_than_the_largest_is_rejected) {
  EXPECT_EQ(refusal_of({.start = somewhere, .bytes = 128 * MiB + 1}),
            "membar: the access-policy window is 134217729 bytes long, but windows on device 0 can be at most 134217728 bytes "
            "long: use the window for the most frequently accessed part, or launch the kernel once per part, each time with a "
            "window for that part");
}

TEST(access_policy_window, that_persists_on_a_mig_instance_is_rejected) {
  const membar::l2_facts mig{.device = 3, .l2_bytes = 8 * MiB, .max_window = 128 * MiB, .mig = true};
  const std::string said = refusal_of({.start = somewhere, .bytes = 4096}, mig);
  EXPECT_TRUE(says(said, "cannot hold persisting lines on device 3, because the device is a MIG instance"));
  EXPECT_EQ(refusal_of({.start = somewhere, .bytes = 4096, .hit = access_property::streaming}, mig), "")
      << "streaming needs no set-aside";
}

TEST(access_policy_window, that_persists_where_nothing_is_set_aside_is_rejected) {
  membar::l2_facts none = big;
  none.set_aside = 0;
  EXPECT_EQ(refusal_of({.start = somewhere, .bytes = 4096}, none),
            "membar: no part of the L2 cache is set aside on device 0 for the 4096 persisting bytes of an access-policy "
            "window: keep an l2_set_aside alive while the window is in use, or use streaming or normal");
  EXPECT_EQ(refusal_of({.start = somewhere, .bytes = 4096, .hit = access_property::streaming}, none), "");
  EXPECT_EQ(refusal_of(membar::back_to_normal({.start = somewhere, .bytes = 4096}), none), "");
}

TEST(access_policy_window, asks_for_bytes_times_ratio_of_the_set_aside) {
  EXPECT_EQ((access_policy_window{.start = somewhere, .bytes = 32 * 1024, .hit_ratio = 0.5F}).persisting_bytes(), 16U * 1024);
  EXPECT_EQ((access_policy_window{.start = somewhere, .bytes = 64, .hit = access_property::streaming}).persisting_bytes(), 0U);
}

TEST(access_policy_window, covers_a_range) {
  const std::array<double, 10> values{};
  const access_policy_window window = membar::window_over(values, 0.25F);
  EXPECT_EQ(window.start, values.data());
  EXPECT_EQ(window.bytes, 80U);
  EXPECT_EQ(window.hit_ratio, 0.25F);
}

TEST(access_policy_window, goes_back_to_normal_over_the_same_range) {
  const access_policy_window back = membar::back_to_normal({.start = somewhere, .bytes = 4096, .hit_ratio = 0.5F});
  EXPECT_EQ(back, (access_policy_window{somewhere, 4096, 1.0F, access_property::normal, access_property::normal}));
}

static_assert(membar::legal_on_a_launch<access_policy_window>);
static_assert(membar::legal_on_a_stream<access_policy_window>);
static_assert(membar::legal_on_a_graph_node<access_policy_window>);

class window_as_attribute : public fake_cuda::test {
 protected:
  window_as_attribute() { now().devices[0].persisting_l2_limit = 8 * MiB; }

  access_policy_window window{somewhere, 8 * MiB, 0.75F, access_property::persisting, access_property::normal};
};

void kernel() {}

TEST_F(window_as_attribute, of_a_launch_is_what_cuda_gets) {
  membar::launch(membar::launch_config{1, 1}.with(window), kernel);
  ASSERT_EQ(now().launches.size(), 1U);
  ASSERT_EQ(now().launches[0].attributes.size(), 1U);
  EXPECT_EQ(membar::attribute_traits<access_policy_window>::decode(now().launches[0].attributes[0].val), window);
}

TEST_F(window_as_attribute, of_a_stream_lasts_for_the_scope) {
  const access_policy_window before{.start = somewhere, .bytes = 64, .hit_ratio = 0.5F};
  membar::set_attribute(cudaStream_t{}, before);
  {
    const membar::scoped_stream_attribute restore(cudaStream_t{}, window);
    EXPECT_EQ(membar::get_attribute<access_policy_window>(cudaStream_t{}), window);
  }
  EXPECT_EQ(membar::get_attribute<access_policy_window>(cudaStream_t{}), before);
}

TEST_F(window_as_attribute, of_a_node_is_read_back) {
  fake_cuda::node node;
  membar::set_attribute(node.handle(), window);
  EXPECT_EQ(membar::get_attribute<access_policy_window>(node.handle()), window);
}

TEST_F(window_as_attribute, turned_off_is_nothing_at_all) {
  membar::set_attribute(cudaStream_t{}, window);
  membar::set_attribute(cudaStream_t{}, access_policy_window{.start = somewhere, .bytes = 0, .hit_ratio = 9.0F});
  const cudaAccessPolicyWindow& off = now().null_stream.attributes[cudaLaunchAttributeAccessPolicyWindow].accessPolicyWindow;
  EXPECT_EQ(off.num_bytes, 0U);
  EXPECT_EQ(off.hitRatio, 0.0F);
  EXPECT_TRUE(membar::get_attribute<access_policy_window>(cudaStream_t{}).off());
}

TEST_F(window_as_attribute, that_is_rejected_leaves_the_stream_as_it_was) {
  membar::set_attribute(cudaStream_t{}, window);
  access_policy_window wrong = window;
  wrong.hit_ratio = 2.0F;
  EXPECT_NE(refusal([&] { membar::set_attribute(cudaStream_t{}, wrong); }), "");
  EXPECT_EQ(membar::get_attribute<access_policy_window>(cudaStream_t{}), window);
}

TEST_F(window_as_attribute, persisting_lines_are_reset_by_one_call) {
  membar::reset_persisting_lines();
  EXPECT_EQ(now().resets, 1);
}

class l2_plan : public fake_cuda::test {};

TEST_F(l2_plan, lets_all_of_a_region_persist_that_fits) {
  const access_policy_window window = membar::l2_plan(big).window(somewhere, 24 * MiB);
  EXPECT_EQ(window.hit_ratio, 1.0F);
  EXPECT_EQ(window.bytes, 24 * MiB);
}

TEST_F(l2_plan, keeps_the_persisting_bytes_within_the_share) {
  for (const std::size_t bytes : {24 * MiB + 1, 25 * MiB, 33 * MiB + 12345, 100 * MiB, 128 * MiB}) {
    for (const std::size_t share : {std::size_t{1000}, 3 * MiB, 7 * MiB + 11, 24 * MiB}) {
      const access_policy_window window = membar::l2_plan(big).with_share(share).window(somewhere, bytes);
      EXPECT_LE(window.persisting_bytes(), share) << bytes;
      EXPECT_GE(window.persisting_bytes(), share - share / 1000 - 1) << bytes;
    }
  }
}

TEST_F(l2_plan, keeps_a_ratio_that_a_float_holds) {
  EXPECT_EQ(membar::l2_plan(big).with_share(8 * MiB).window(somewhere, 16 * MiB).hit_ratio, 0.5F);
  EXPECT_EQ(membar::l2_plan(big).with_share(3 * MiB).window(somewhere, 4 * MiB).hit_ratio, 0.75F);
}

// The ratio is rounded to a float; in half of the cases, this rounds up.
TEST_F(l2_plan, keeps_the_persisting_bytes_within_any_share_of_any_region) {
  std::uint64_t state = 1;
  const auto random_below = [&](std::uint64_t end) {
    state = state * 6364136223846793005ULL + 1442695040888963407ULL;
    return (state >> 24) % end;
  };
  int over = 0;
  int far_below = 0;
  for (int i = 0; i != 200'000; ++i) {
    const std::size_t share = 1 + random_below(big.set_aside);
    const std::size_t bytes = share + random_below(big.max_window - share + 1);
    const access_policy_window window = membar::l2_plan(big).with_share(share).window(somewhere, bytes);
    const double persisting = static_cast<double>(window.bytes) * static_cast<double>(window.hit_ratio);
    over += persisting > static_cast<double>(share) ? 1 : 0;
    far_below += persisting < static_cast<double>(share) * (1.0 - 1.0 / (1 << 20)) ? 1 : 0;
  }
  EXPECT_EQ(over, 0);
  EXPECT_EQ(far_below, 0);
}

TEST_F(l2_plan, shares_no_more_than_is_set_aside) { EXPECT_EQ(membar::l2_plan(big).with_share(99 * MiB).share(), 24 * MiB); }

TEST_F(l2_plan, without_a_set_aside_says_so) {
  membar::l2_facts none = big;
  none.set_aside = 0;
  EXPECT_TRUE(says(refusal([&] { static_cast<void>(membar::l2_plan(none).window(somewhere, 100)); }),
                   "no part of the L2 cache is set aside on device 0 for the 100 persisting bytes of an access-policy window: "
                   "keep an l2_set_aside"));
}

TEST_F(l2_plan, without_a_share_says_so) {
  EXPECT_EQ(refusal([&] { static_cast<void>(membar::l2_plan(big).with_share(0).window(somewhere, 100)); }),
            "membar: this plan's share of the 25165824 bytes that are set aside on device 0 is 0, which leaves nothing for a "
            "window of 100 bytes: use a share above 0");
}

TEST_F(l2_plan, of_an_empty_range_is_a_window_that_is_off) {
  EXPECT_TRUE(membar::l2_plan(big).window(std::vector<int>{}).off());
}

TEST_F(l2_plan, takes_the_set_aside_that_is_held) {
  const membar::l2_set_aside hold(1, 24 * MiB);
  EXPECT_EQ(membar::l2_plan(1).share(), 24 * MiB);
  EXPECT_EQ(membar::l2_plan(0).share(), 0U);
}

}  // namespace
