// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Data races: which programs have a race, and between which accesses.
#include "search_cases.hpp"

#include <litmus/explain.hpp>
#include <litmus/reader.hpp>
#include <membar/model/test.hpp>

#include <gtest/gtest.h>

#include <string>

namespace race_test {

using namespace membar::model;
using namespace membar::litmus_files;
using membar::acquire, membar::relaxed, membar::release;
constexpr auto device = membar::thread_scope::device;
constexpr auto in_block = membar::thread_scope::block;
constexpr variable x{0}, y{1};
constexpr reg r0{0}, r1{1};

// A read that is executed whether or not the reader has seen the flag races with the write. After a barrier, or between
// atomics, there is no race.
static_assert(!race_free(litmus(thread(block(0), store(x, 1)), thread(block(1), load(r0, x)))));
static_assert(race_free(litmus(thread(block(0), load(r1, x)), thread(block(1), load(r0, x)))));
static_assert(race_free(litmus(thread(block(0), store<device>(x, 1, relaxed)),
                               thread(block(1), load<device>(r0, x, relaxed)))));
static_assert(!race_free(litmus(thread(block(0), store<in_block>(x, 1, relaxed)),
                                thread(block(1), load<device>(r0, x, relaxed)))));
static_assert(race_free(litmus(thread(block(0), store(x, 1), sync_block()), thread(block(0), sync_block(), load(r0, x)))));
static_assert(!race_free(litmus(thread(block(0), store(x, 1), store<device>(y, 1, release)),
                                thread(block(1), load<device>(r0, y, acquire), load(r1, x)))));
static_assert(race_free(litmus(thread(block(0), store(x, 1)), thread(block(1), load(r0, x))).ordered(0, 1)));

TEST(races, are_named_and_found_in_no_race_free_test) {
  for (const membar_test::racing_program& p : membar_test::racing_programs) {
    const litmus_test test = p.test();
    const data_race found = find_race(test.view().program);
    EXPECT_EQ(found ? race_text(test, found) : "", p.race) << p.rows;
    const std::string text = explain(test);
    EXPECT_NE(text.find(found ? "Data race: " + race_text(test, found) : "No execution has a data race"), std::string::npos)
        << text;
  }
}

TEST(races, a_loop_that_is_cut_may_hide_one) {
  const litmus_test test = read_litmus(
      "PTX t\n{ x=0; }\n P0@cta 0,gpu 0 ;\n L: add r0, r0, 1 ;\n st.weak x, r0 ;\n bne r0, 3, L ;\nexists (x == 3)\n");
  EXPECT_THROW((void)find_race(test.view().program), error);
}

}  // namespace race_test
