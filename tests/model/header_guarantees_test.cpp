// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The guarantees in the headers for fences, atomics, domains and launches. Each guarantee is a litmus test whose outcome the
// model forbids, with a weakened form whose outcome it allows. If this file compiles, the guarantees hold.
#include "sync_litmus.hpp"

#include <litmus/reader.hpp>
#include <membar/model/test.hpp>

#include <gtest/gtest.h>

#include <string>

namespace header_guarantees_test {

using namespace membar_test::sync_litmus;
using model::in_cluster, model::thread_fence;

constexpr model::variable data{0}, flag{1}, second{2};
constexpr model::reg seen{0}, value{1};

/// A thread's place, the farthest place that the scope includes, and a place that the scope does not include.
struct reach {
  model::place here;
  model::place inside;
  model::place outside;
};
template <thread_scope Scope>
constexpr reach reach_of() {
  switch (Scope) {
    case thread_scope::block:
      return {block(0), block(0), block(1)};
    case thread_scope::cluster:
      return {in_cluster(block(0), 1), in_cluster(block(1), 1), block(2)};
    case thread_scope::device:
      return {block(0), block(1), in_domain(block(1), 1)};
    case thread_scope::system:
      return {block(0), host(), host()};
  }
  return {};
}

/// thread_scope.hpp, fence.cuh: a release fence and then a relaxed store synchronize with a relaxed load of the stored value
/// and then an acquire fence.
template <thread_scope Scope>
constexpr auto by_fences(model::place reader, auto before, auto after) {
  return litmus(thread(reach_of<Scope>().here, store(data, 1), thread_fence<Scope>(before), store<Scope>(flag, 1, relaxed)),
                thread(reader, load<Scope>(seen, flag, relaxed), thread_fence<Scope>(after), load(value, data)))
      .when(in(1, seen) == 1 && in(1, value) == 0);
}

template <thread_scope Scope>
constexpr bool fences_synchronize_inside() {
  constexpr model::place inside = reach_of<Scope>().inside;
  return model::forbidden(by_fences<Scope>(inside, release, acquire)) &&
         model::forbidden(by_fences<Scope>(inside, acq_rel, acq_rel)) &&
         model::forbidden(by_fences<Scope>(inside, seq_cst, seq_cst)) &&
         model::allowed(by_fences<Scope>(inside, acquire, acquire)) &&
         model::allowed(by_fences<Scope>(inside, release, release));
}
static_assert(fences_synchronize_inside<in_block>());
static_assert(fences_synchronize_inside<thread_scope::cluster>());
static_assert(fences_synchronize_inside<device>());
static_assert(fences_synchronize_inside<system_wide>());

/// thread_scope.hpp: two operations synchronize only if the scope of each includes the other's thread.
template <thread_scope Scope>
constexpr bool fences_end_at_the_scope() {
  return model::allowed(by_fences<Scope>(reach_of<Scope>().outside, acq_rel, acq_rel));
}
static_assert(fences_end_at_the_scope<in_block>());
static_assert(fences_end_at_the_scope<thread_scope::cluster>());
static_assert(fences_end_at_the_scope<device>());

/// memory_order.hpp, fence.cuh: sequentially consistent fences in scope have a single total order; acq_rel fences do not.
template <thread_scope Scope>
constexpr bool only_seq_cst_has_one_order() {
  constexpr reach where = reach_of<Scope>();
  return model::forbidden(store_buffering<Scope>(seq_cst, where.here, where.inside)) &&
         model::allowed(store_buffering<Scope>(acq_rel, where.here, where.inside));
}
static_assert(only_seq_cst_has_one_order<in_block>());
static_assert(only_seq_cst_has_one_order<thread_scope::cluster>());
static_assert(only_seq_cst_has_one_order<device>());
static_assert(only_seq_cst_has_one_order<system_wide>());

/// atomic.cuh: a release operation synchronizes with an acquire operation that reads its value.
template <thread_scope Scope>
constexpr bool atomics_synchronize_inside() {
  constexpr reach where = reach_of<Scope>();
  return model::forbidden(stale_data<Scope>(release, acquire, where.here, where.inside)) &&
         model::allowed(stale_data<Scope>(relaxed, acquire, where.here, where.inside)) &&
         model::allowed(stale_data<Scope>(release, relaxed, where.here, where.inside));
}
static_assert(atomics_synchronize_inside<in_block>());
static_assert(atomics_synchronize_inside<thread_scope::cluster>());
static_assert(atomics_synchronize_inside<device>());
static_assert(atomics_synchronize_inside<system_wide>());

/// atomic.cuh: ... or the value written by a read-modify-write that follows the release operation. The read-modify-write may be
/// relaxed, but its scope must be wide enough.
template <thread_scope Middle>
constexpr auto release_sequence() {
  return litmus(thread(block(0), store(data, 1), store<device>(flag, 1, release)),
                thread(block(1), model::fetch_add<Middle>(seen, flag, 1, relaxed)),
                thread(block(2), load<device>(seen, flag, acquire), load(value, data)))
      .when(in(1, seen) == 1 && in(2, seen) == 2 && in(2, value) == 0);
}
static_assert(model::forbidden(release_sequence<device>()));
static_assert(model::allowed(release_sequence<in_block>()));

/// atomic.cuh: seq_cst is a `fence.sc` before the acquire form of a load or update, and before a relaxed store.
constexpr auto sequentially_consistent_accesses =
    litmus(thread(block(0), thread_fence<device>(seq_cst), store<device>(data, 1, relaxed), thread_fence<device>(seq_cst),
                  load<device>(seen, flag, acquire)),
           thread(block(1), thread_fence<device>(seq_cst), store<device>(flag, 1, relaxed), thread_fence<device>(seq_cst),
                  load<device>(seen, data, acquire)))
        .when(in(0, seen) == 0 && in(1, seen) == 0);
static_assert(model::forbidden(sequentially_consistent_accesses));

/// sync_domain.hpp: device scope orders nothing between kernels in different domains of a device; such kernels need system
/// scope.
static_assert(model::allowed(stale_data<device>(release, acquire, block(0), in_domain(block(1), 1))));
static_assert(model::forbidden(stale_data<system_wide>(release, acquire, block(0), in_domain(block(1), 1))));

/// sync_domain.hpp: a system-scope release also covers what its thread has observed at device scope within its domain, for the
/// host and for other domains.
constexpr auto carried_on(model::place last) {
  return litmus(thread(block(0), store(data, 1), store<device>(flag, 1, release)),
                thread(block(1), load<device>(seen, flag, acquire), store<system_wide>(second, 1, release)),
                thread(last, load<system_wide>(seen, second, acquire), load(value, data)))
      .when(in(1, seen) == 1 && in(2, seen) == 1 && in(2, value) == 0);
}
static_assert(model::forbidden(carried_on(host())));
static_assert(model::forbidden(carried_on(in_domain(block(2), 1))));

/// launch.hpp: the end of a kernel makes its writes visible to the operations that the stream orders after it, in any domain.
constexpr auto kernel_boundary(int domain) {
  return litmus(thread(block(0), store(data, 1)), thread(in_domain(block(1), domain), load(value, data)))
      .when(in(1, value) == 0);
}
static_assert(model::forbidden(kernel_boundary(0).ordered(0, 1)));
static_assert(model::forbidden(kernel_boundary(1).ordered(0, 1)));
static_assert(model::allowed(kernel_boundary(0)));

/// memory_order.hpp: relaxed operations order only accesses to the same location.
constexpr auto coherent = litmus(thread(block(0), store<device>(data, 1, relaxed)),
                                 thread(block(1), load<device>(seen, data, relaxed), load<device>(value, data, relaxed)))
                              .when(in(1, seen) == 1 && in(1, value) == 0);
static_assert(model::forbidden(coherent));

TEST(header_guarantees, hold_at_run_time_too) {
  EXPECT_TRUE(fences_synchronize_inside<device>());
  EXPECT_TRUE(fences_end_at_the_scope<device>());
  EXPECT_TRUE(only_seq_cst_has_one_order<device>());
  EXPECT_TRUE(atomics_synchronize_inside<device>());
  EXPECT_TRUE(model::forbidden(carried_on(host())));
  EXPECT_TRUE(model::forbidden(kernel_boundary(1).ordered(0, 1)));
}

/// atomic.hpp: lane 1 releases on behalf of lane 0 with an update that merges both lanes' updates. Each lane executes the fence
/// `own` before the barrier and the fence `merged` after it.
bool merged_update_does_not_release(const std::string& own, const std::string& barrier, const std::string& merged) {
  return model::decide(membar::litmus_files::read_litmus("PTX merged_update_releases\n{ x=0; y=0; }\n"
                                                         " P0@cta 0,gpu 0,warp 0 | P1@cta 0,gpu 0,warp 0 | P2@cta 1,gpu 0 ;\n"
                                                         " st.weak x, 1 | " +
                                                         own + " | ld.relaxed.gpu r0, y ;\n " + own + " | " + barrier +
                                                         " | fence.acquire.gpu ;\n " + barrier + " | " + merged +
                                                         " | ld.weak r1, x ;\n"
                                                         " | atom.relaxed.gpu.add r0, y, 2 | ;\n"
                                                         "exists (P2:r0 == 2 /\\ P2:r1 == 0)\n"))
      .reachable;
}

/// Lane 1 acquires on behalf of lane 0. Each lane executes the fence `merged` before the barrier and the fence `own` after it.
bool merged_update_does_not_acquire(const std::string& merged, const std::string& barrier, const std::string& own) {
  return model::decide(membar::litmus_files::read_litmus(
                           "PTX merged_update_acquires\n{ x=0; y=0; }\n"
                           " P0@cta 0,gpu 0,warp 0 | P1@cta 0,gpu 0,warp 0 | P2@cta 1,gpu 0 ;\n " +
                           barrier + " | atom.relaxed.gpu.add r0, y, 2 | st.weak x, 1 ;\n " + own + " | " + merged +
                           " | fence.release.gpu ;\n"
                           " ld.weak r1, x | " +
                           barrier +
                           " | st.relaxed.gpu y, 1 ;\n"
                           "exists (P1:r0 == 1 /\\ P0:r1 == 0)\n"))
      .reachable;
}

TEST(header_guarantees, an_update_merged_for_two_lanes_needs_its_fences_between_two_barriers) {
  EXPECT_FALSE(merged_update_does_not_release("fence.release.gpu", "bar.warp.sync 3", "fence.release.gpu"));
  EXPECT_TRUE(merged_update_does_not_release("fence.release.gpu", "bar.warp.sync 3", ""));
  EXPECT_TRUE(merged_update_does_not_release("fence.release.gpu", "", "fence.release.gpu"));
  EXPECT_FALSE(merged_update_does_not_acquire("fence.acquire.gpu", "bar.warp.sync 3", "fence.acquire.gpu"));
  EXPECT_TRUE(merged_update_does_not_acquire("", "bar.warp.sync 3", "fence.acquire.gpu"));
  EXPECT_TRUE(merged_update_does_not_acquire("fence.acquire.gpu", "", "fence.acquire.gpu"));
}

TEST(header_guarantees, an_edge_of_the_api_names_threads_of_the_test) {
  EXPECT_THROW(static_cast<void>(kernel_boundary(0).ordered(0, 2)), model::error);
  EXPECT_THROW(static_cast<void>(kernel_boundary(0).ordered(-1, 1)), model::error);
}

}  // namespace header_guarantees_test
