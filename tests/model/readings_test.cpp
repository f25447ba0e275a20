// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The readings of passages in the PTX ISA that allow several (docs/readings.md): each test's verdict changes if its reading is
// replaced with the alternative.
#include "two_forms.hpp"

#include <tests/litmus/litmus_files.hpp>

#include <litmus/reader.hpp>
#include <litmus/readings.hpp>
#include <litmus/writer.hpp>
#include <membar/model/decide.hpp>
#include <membar/model/races.hpp>

#include <gtest/gtest.h>

#include <ostream>
#include <set>
#include <string>
#include <vector>

namespace readings_test {

using namespace membar::model;
using namespace membar::litmus_files;
using namespace membar_test;

/// A program with a final state that is reachable with one reading of the passage but not with the other.
struct reading_test {
  std::string reading;
  std::string name;
  std::string state;
  std::string places;
  std::vector<std::string> of;
  std::string end;
  bool reachable;  ///< according to the model's reading

  [[nodiscard]] litmus_test test() const { return program({name, "", rule::count, state, places, of, end}, false); }
};

std::ostream& operator<<(std::ostream& to, const reading_test& t) { return to << t.name; }

const std::string one = "P0@cta 0,gpu 0";
const std::string one_block = one + " | P1@cta 0,gpu 0";
const std::string two_blocks = one + " | P1@cta 1,gpu 0";
const std::string two_domains = "P0@cta 0,gpu 0,domain 0 | P1@cta 1,gpu 0,domain 1";
const std::string cluster = "P0@cta 0,cluster 0,gpu 0 | P1@cta 1,cluster 0,gpu 0";
const std::string two_devices = "P0@cta 0,gpu 0 | P1@cta 0,gpu 1";
const std::string expect = "mbarrier.arrive.expect_tx b, 16; ";
const std::string load = "cp.async.bulk.shared::cta.global.mbarrier::complete_tx::bytes [s], [x], 16, [b]; ";
const std::string store = "cp.async.bulk.global.shared::cta.bulk_group [x], [s], 16; ";
const std::string commit = "cp.async.bulk.commit_group; ";
const std::string tensor_load =
    "cp.async.bulk.tensor.1d.shared::cta.global.tile.mbarrier::complete_tx::bytes [s], [m, {0}], [b]; ";
const std::string wait = "mbarrier.try_wait b, 0; ";
const std::string read_s = "ld.weak.shared r0, s";
const std::string map = "x=1; y=2; m=&x; s @ shared; b @ mbarrier 1; P0:r9=&y; ";

const std::vector<reading_test>& readings() {
  static const std::vector<reading_test> all = {
      {"fence-after-init",
       "a_copy_after_the_initialization_of_its_mbarrier",
       "x=1; s @ shared; b @ mbarrier 1;",
       one,
       {"mbarrier.init b, 1; " + expect + load + wait + read_s},
       "P0:r0 == 0",
       false},
      {"map-until-mbarrier",
       "a_map_that_is_changed_after_the_wait",
       map,
       one,
       {expect + tensor_load + wait + "st.weak.b64 m, r9; " + read_s},
       "P0:r0 == 2",
       false},
      {"group-wait-for-one-thread",
       "a_bulk_store_that_another_thread_waited_for",
       "x=0; y=0; s @ shared = 1;",
       two_blocks,
       {store + commit + "cp.async.bulk.wait_group 0; st.release.gpu y, 1", "ld.acquire.gpu r1, y; ld.weak r0, x"},
       "P1:r1 == 1 /\\ P1:r0 == 0",
       false},
      {"sc-fence-orders-fences",
       "message_passing_through_sc_fences_with_a_relaxed_flag",
       "x=0; y=0;",
       two_blocks,
       {"st.weak x, 1; fence.sc.gpu; st.relaxed.gpu y, 1", "ld.relaxed.gpu r1, y; fence.acquire.gpu; ld.weak r0, x"},
       "P1:r1 == 1 /\\ P1:r0 == 0",
       false},
      {"one-way-fence-alone",
       "a_release_of_the_async_proxy_without_an_acquire",
       "x=0; s @ shared;",
       one,
       {"st.weak.shared s, 1; fence.proxy.async::generic.release.sync_restrict::shared::cta.cluster; " + store + commit +
        "cp.async.bulk.wait_group 0; ld.weak r0, x"},
       "P0:r0 == 0",
       true},
      {"fence-of-another-block",
       "a_proxy_fence_of_the_writer_and_a_copy_of_another_block",
       "x=0; y=0; s @ shared; b @ mbarrier 1;",
       two_blocks,
       {"st.weak x, 1; fence.proxy.async; st.release.gpu y, 1", "ld.acquire.gpu r1, y; " + expect + load + wait + read_s},
       "P1:r1 == 1 /\\ P1:r0 == 0",
       true},
      {"copies-of-two-blocks",
       "a_copy_of_what_another_block_has_copied",
       "x=0; y=0; s @ shared = 1; b @ mbarrier 1;",
       two_blocks,
       {store + commit + "cp.async.bulk.wait_group 0; st.release.gpu y, 1",
        "ld.acquire.gpu r1, y; " + expect + load + wait + read_s},
       "P1:r1 == 1 /\\ P1:r0 == 0",
       true},
      {"maps-at-kernel-start",
       "a_map_that_the_kernel_before_wrote",
       map + "P0 precedes P1;",
       two_blocks,
       {"st.weak.b64 m, r9", expect + tensor_load + wait + read_s},
       "P1:r0 == 1",
       true},
      {"maps-at-kernel-start",
       "a_map_that_the_grid_before_wrote",
       map + "P0 launches P1;",
       two_blocks,
       {"st.weak.b64 m, r9", "griddepcontrol.wait; " + expect + tensor_load + wait + read_s},
       "P1:r0 == 1",
       true},
      {"fence-before-complete-tx",
       "a_fence_before_a_completion_by_hand",
       "x=0; b @ mbarrier 1;",
       one_block,
       {"st.weak x, 1; fence.release.cta; mbarrier.complete_tx b, 16",
        "mbarrier.arrive.expect_tx b, 16; " + wait + "ld.weak r0, x"},
       "P1:r0 == 0",
       true},
      {"multimem-flags",
       "a_flag_that_a_reduction_sets_and_its_own_address_reads",
       "x=0; y=0; z=0; m @ multimem aliases x, y;",
       two_devices,
       {"st.weak z, 1; multimem.red.release.sys.add m, 1", "ld.acquire.sys r0, y; ld.weak r1, z"},
       "P1:r0 == 1 /\\ P1:r1 == 0",
       true},
      {"device-wide-scope",
       "message_passing_between_domains_at_device_scope",
       "x=0; y=0;",
       two_domains,
       {"st.weak x, 1; st.release.gpu y, 1", "ld.acquire.gpu r1, y; ld.weak r0, x"},
       "P1:r1 == 1 /\\ P1:r0 == 0",
       true},
      {"cluster-scope-of-mbarriers",
       "an_arrival_at_another_blocks_mbarrier_without_a_scope",
       "x=0; b @ mbarrier 1;",
       cluster,
       {"st.weak x, 1; mbarrier.arrive b", "mbarrier.try_wait b, 0; ld.weak r0, x"},
       "P1:r0 == 0",
       true},
  };
  return all;
}

bool reachable(litmus_test test, const chosen_readings& readings) {
  readings.apply(test);
  return decide(test, {}, readings.rules()).reachable;
}

class each_reading : public testing::TestWithParam<reading_test> {};

TEST_P(each_reading, turns_a_verdict) {
  const reading_test& t = GetParam();
  chosen_readings other;
  ASSERT_TRUE(other.take(t.reading));
  EXPECT_EQ(decide(t.test()).reachable, t.reachable) << "as the model reads it";
  EXPECT_EQ(reachable(t.test(), {}), t.reachable) << "with no reading chosen";
  EXPECT_EQ(reachable(t.test(), other), !t.reachable) << "with the other side";
  chosen_readings lenient;
  chosen_readings strict;
  ASSERT_TRUE(lenient.take_all("lenient") && strict.take_all("strict"));
  EXPECT_FALSE(reachable(t.test(), lenient)) << "the lenient side forbids more";
  EXPECT_TRUE(reachable(t.test(), strict)) << "the strict side allows more";
}

INSTANTIATE_TEST_SUITE_P(, each_reading, testing::ValuesIn(readings()), [](const auto& each) { return each.param.name; });

TEST(readings, an_observed_update_is_observed_as_a_whole_or_by_its_write_alone) {
  const litmus_test test = read_litmus(
      "PTX t\n{ x=0; }\nP0@cta 0,gpu 0 | P1@cta 1,gpu 0;\natom.relaxed.gpu.add r0, x, 1 | ld.acquire.gpu r0, x;\n"
      " | beq r0, 0, END;\n | st.weak x, 2;\n | END: ;\nexists (true)\n");
  chosen_readings other;
  ASSERT_TRUE(other.take("whole-updates-are-observed"));
  const test_view view = test.view();
  EXPECT_TRUE(find_race(view.program));
  EXPECT_FALSE(find_race(view.program, other.rules()));
}

TEST(readings, each_has_a_test) {
  std::set<std::string> tested = {"whole-updates-are-observed"};
  for (const reading_test& t : readings()) {
    tested.insert(t.reading);
  }
  for (const std::string& name : reading_names()) {
    EXPECT_TRUE(tested.contains(name)) << name;
  }
}

TEST(readings, of_tensor_maps_depend_on_the_version_that_a_test_declares) {
  const auto reads_the_old_map = [](const std::string& version) {
    litmus_test test = read_litmus("PTX t\n{ " + map + version + "P0 precedes P1; }\nP0@cta 0,gpu 0 | P1@cta 1,gpu 0;\n" +
                                   "st.weak.b64 m, r9 | " + expect + "\n | " + tensor_load + "\n | " + wait + "\n | " + read_s +
                                   ";\nexists (P1:r0 == 1)\n");
    EXPECT_EQ(read_litmus(write_litmus(test)).version, test.version);
    return decide(test).reachable;
  };
  EXPECT_TRUE(reads_the_old_map(""));
  EXPECT_TRUE(reads_the_old_map(".version 9.2; "));
  EXPECT_TRUE(reads_the_old_map(".version 10.0; "));
  EXPECT_FALSE(reads_the_old_map(".version 9.1; "));
  EXPECT_FALSE(reads_the_old_map(".version 8.0; "));
  for (const std::string wrong :
       {".version 9; ", ".version 9.10; ", ".version 0.9; ", ".versoin 9.0; ", ".version 9.0; .version 9.0; "}) {
    EXPECT_THROW((void)reads_the_old_map(wrong), error) << wrong;
  }
}

TEST(readings, that_nobody_has_are_rejected) {
  chosen_readings none;
  EXPECT_FALSE(none.take("maps"));
  EXPECT_FALSE(none.take_all("friendly"));
  EXPECT_TRUE(none.take_all("default"));
  EXPECT_FALSE(none);
}

}  // namespace readings_test
