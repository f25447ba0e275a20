// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Data races: which programs have one, and between which accesses.
#include <membar/model/explain.hpp>
#include <membar/model/litmus_file.hpp>
#include <membar/model/test.hpp>

#include <gtest/gtest.h>

#include <string>

namespace {

using namespace membar::model;
using membar::acquire, membar::relaxed, membar::release;
constexpr auto device = membar::thread_scope::device;
constexpr auto in_block = membar::thread_scope::block;
constexpr variable x{0}, y{1};
constexpr reg r0{0}, r1{1};

// A read that the reader makes whatever it has seen races with the write; behind a barrier, or between atomics, nothing does.
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

struct program {
  const char* rows;
  const char* race;  ///< what races; empty: nothing
};

TEST(races, are_named_and_found_in_no_race_free_test) {
  const program all[] = {
      // message passing: the reader waits, or not; the flag is weak
      {"st.weak x, 1 | L: ;\n st.release.gpu y, 1 | ld.acquire.gpu r0, y ;\n | bne r0, 1, L ;\n | ld.weak r1, x", ""},
      {"st.weak x, 1 | ld.acquire.gpu r0, y ;\n st.release.gpu y, 1 | bne r0, 1, END ;\n | ld.weak r1, x ;\n | END:", ""},
      {"st.weak x, 1 | ld.acquire.gpu r0, y ;\n st.release.gpu y, 1 | ld.weak r1, x",
       "P0 'st.weak x, 1' and P1 'ld.weak r1, x'"},
      {"st.weak x, 1 | L: ;\n st.weak y, 1 | ld.weak r0, y ;\n | bne r0, 1, L", "P0 'st.weak y, 1' and P1 'ld.weak r0, y'"},
      {"st.weak x, 1 | L: ;\n st.release.cta y, 1 | ld.acquire.gpu r0, y ;\n | bne r0, 1, L",
       "P0 'st.release.cta y, 1' and P1 'ld.acquire.gpu r0, y'"},
      // a read of the data in an iteration that still waits
      {"st.weak x, 1 | L: ;\n st.release.gpu y, 1 | ld.weak r1, x ;\n | ld.acquire.gpu r0, y ;\n | bne r0, 1, L",
       "P0 'st.weak x, 1' and P1 'ld.weak r1, x'"},
      // a lock
      {"L: | L: ;\n atom.acquire.gpu.cas r0, y, 0, 1 | atom.acquire.gpu.cas r0, y, 0, 1 ;\n bne r0, 0, L | bne r0, 0, L ;\n"
       " ld.weak r1, x | ld.weak r1, x ;\n add r1, r1, 1 | add r1, r1, 1 ;\n st.weak x, r1 | st.weak x, r1 ;\n"
       " st.release.gpu y, 0 | st.release.gpu y, 0",
       ""},
      {"L: | L: ;\n atom.relaxed.gpu.cas r0, y, 0, 1 | atom.relaxed.gpu.cas r0, y, 0, 1 ;\n bne r0, 0, L | bne r0, 0, L ;\n"
       " st.weak x, 1 | st.weak x, 2 ;\n st.release.gpu y, 0 | st.release.gpu y, 0",
       "P0 'st.weak x, 1' and P1 'st.weak x, 2'"},
      // store buffering with and without fences, and with atomics
      {"st.weak x, 1 | st.weak y, 1 ;\n fence.sc.gpu | fence.sc.gpu ;\n ld.weak r0, y | ld.weak r0, x",
       "P0 'ld.weak r0, y' and P1 'st.weak y, 1'"},
      {"st.relaxed.gpu x, 1 | st.relaxed.gpu y, 1 ;\n ld.relaxed.gpu r0, y | ld.relaxed.gpu r0, x", ""},
      // an update beside a weak store of the same thread and another thread's update
      {"atom.relaxed.gpu.add r0, x, 1 | atom.relaxed.gpu.add r0, x, 1", ""},
      {"atom.relaxed.gpu.add r0, x, 1 | st.weak x, 1", "P0 'atom.relaxed.gpu.add r0, x, 1' and P1 'st.weak x, 1'"},
  };
  for (const program& p : all) {
    const litmus_test test = read_litmus("PTX t\n{ x=0; y=0; }\n P0@cta 0,gpu 0 | P1@cta 1,gpu 0 ;\n " + std::string(p.rows) +
                                         " ;\nexists (true)\n");
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

}  // namespace
