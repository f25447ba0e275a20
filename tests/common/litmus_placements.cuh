// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
/// @file
/// Message passing with the litmus engine, for every placement of the test's two threads, and the outcomes that must be
/// observed with each placement.
#pragma once

#include <membar/litmus/engine.hpp>
#include <membar/litmus/report.hpp>
#include <membar/litmus/test.cuh>

#include <bench/common/classic_litmus_tests.cuh>

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <numeric>

namespace membar_test {

/// With release and acquire at system scope, the reader always sees the data, wherever the threads are; in the unordered test,
/// the reader may miss the data. The threads of an instance overlap in time, so the reader sees the flag in some instances but
/// not in others.
inline void expect_passed_on(const membar::model::place& first, const membar::model::place& second,
                             const membar::litmus::parameters& how = {}, const membar::litmus::host_thread& on_host = {}) {
  using namespace membar::litmus;
  using passed_on = support::classic::mp<membar::thread_scope::system, membar::release_t, membar::acquire_t>;
  using unordered = support::classic::mp<membar::thread_scope::system>;
  engine e;
  for (const bool ordered : {true, false}) {
    runnable_test test = ordered ? make_test<passed_on>("ordered", on_host) : make_test<unordered>("unordered", on_host);
    test.model_test.threads[0].where = first;
    test.model_test.threads[1].where = second;
    run_options options;
    options.seconds = 0.3;
    const report seen = make_report(test, e.run(test, how, options));
    EXPECT_EQ(std::accumulate(seen.run.counts.begin(), seen.run.counts.end(), std::uint64_t{0}), seen.run.instances);
    EXPECT_EQ(seen.condition_allowed, !ordered);
    EXPECT_TRUE(seen.sound()) << text_of(seen);
    EXPECT_GE(std::count_if(seen.outcomes.begin(), seen.outcomes.end(), [](const outcome& o) { return o.count != 0; }), 2)
        << text_of(seen);
  }
}

}  // namespace membar_test
