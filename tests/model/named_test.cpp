// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Litmus tests that are written both in C++ with names and as text, and the final states of their interleavings.
#include "sync_litmus.hpp"

#include <litmus/reader.hpp>
#include <litmus/writer.hpp>
#include <membar/model/interleave.hpp>
#include <membar/model/named_test.hpp>
#include <membar/model/outcomes.hpp>
#include <membar/model/test.hpp>

#include <gtest/gtest.h>

#include <cstdint>
#include <set>
#include <utility>
#include <vector>

namespace named_test {

using namespace membar_test::sync_litmus;

TEST(interleavings, show_no_weak_outcome) {
  const model::litmus_test test = model::named_test(relaxed_store_buffering, "SB");
  EXPECT_EQ(model::interleaved_outcomes(test), (std::set<std::vector<std::int64_t>>{{0, 1}, {1, 0}, {1, 1}}));
  EXPECT_EQ(model::outcomes(test).size(), 4U);
}

TEST(interleavings, run_updates_branches_and_addresses) {
  const model::litmus_test test = membar::litmus_files::read_litmus(
      "PTX T\n{ x=0; y=0; P0:r1=&x; }\n"
      " P0@cta 0,gpu 0                | P1@cta 1,gpu 0                ;\n"
      " atom.relaxed.gpu.add r0, r1, 2 | atom.relaxed.gpu.cas r0, x, 0, 5 ;\n"
      " bne r0, 0, L                   | ld.weak r1, y                 ;\n"
      " st.weak y, 7                   |                               ;\n"
      " L:                             |                               ;\n"
      "locations [P0:r0; P1:r0; P1:r1; x; y]\n");
  EXPECT_EQ(model::interleaved_outcomes(test),
            (std::set<std::vector<std::int64_t>>{{0, 2, 0, 2, 7}, {0, 2, 7, 2, 7}, {5, 0, 0, 7, 0}}));
}

TEST(named_test, reads_back_as_the_same_test) {
  const auto same = [](const auto& test) {
    const model::litmus_test named = model::named_test(test, "T");
    const model::litmus_test read = membar::litmus_files::read_litmus(membar::litmus_files::write_litmus(named));
    EXPECT_EQ(membar::litmus_files::write_litmus(read), membar::litmus_files::write_litmus(named));
    EXPECT_EQ(model::decide(read).reachable, test.reachable()) << membar::litmus_files::write_litmus(named);
    EXPECT_EQ(model::outcomes(read), model::outcomes(named));
  };
  same(relaxed_store_buffering);
  same(model::litmus(
           model::thread(model::in_domain(model::block(0), 1), model::store(x, 1), model::thread_fence<device>(membar::seq_cst),
                         model::add<thread_scope::system>(y, 2, membar::release)),
           model::thread(model::host(), model::load<thread_scope::system>(r0, y, membar::acquire),
                         model::exchange<thread_scope::system>(r1, x, r0, membar::acq_rel)),
           model::thread(model::in_cluster(model::block(3), 1),
                         model::compare_exchange<thread_scope::cluster>(r0, x, 0, 4, membar::relaxed),
                         model::fetch_add<thread_scope::block>(r1, y, 1, membar::acquire)))
           .when(!(model::in(1, r0) == 2 && model::in(2, r1) != 0) || model::in_memory(x) == 4));
  same(model::litmus(model::thread(model::block(0), model::store(x, 1), model::shuffle<model::shuffle_mode::up>(r0, 7, 1)),
                     model::thread(model::block(0), model::shuffle<model::shuffle_mode::up>(r0, 8, 1),
                                   model::set_if(r1, r0, model::comparison::less_equal, 8),
                                   model::only_if(r1, model::load_read_only(r0, x)), model::unless(r1, model::store(y, 1))))
           .when(model::in(1, r0) == 0 && model::in_memory(y) == 0));
  constexpr model::variable own = model::shared(1);
  same(model::litmus(model::thread(model::block(0), model::store(own, 1), model::add<device>(x, 1, membar::relaxed)),
                     model::thread(model::block(1), model::load(r0, own),
                                   model::sized(model::fetch_add<device>(r1, x, 1, membar::relaxed), 8)))
           .when(model::in(1, r0) == 0 && model::in(0, own) == 1 && model::in_memory(x) == 2));
}

TEST(named_test, observes_what_the_condition_names_once) {
  const model::litmus_test named = model::named_test(
      relaxed_store_buffering.when(model::in_memory(y) == 1 || (model::in(1, r0) == 1 && model::in_memory(y) == 0)), "T");
  ASSERT_EQ(named.observed.size(), 2U);
  EXPECT_EQ(named.observed[0].name, "y");
  EXPECT_EQ(named.observed[1].name, "P1:r0");
  EXPECT_EQ(named.condition_text, "(y == 1 \\/ (P1:r0 == 1 /\\ y == 0))");
  EXPECT_THROW(static_cast<void>(model::named_test(model::litmus(model::thread(model::block(0), model::store(x, 1))), "T")),
               model::error);
}

TEST(named_test, rejects_more_locations_than_the_model_has) {
  const auto up_to = [](int last) {
    return model::named_test(model::litmus(model::thread(model::block(0), model::store(model::variable{last}, 1)))
                                 .when(model::in_memory(model::variable{0}) == 0),
                             "T");
  };
  EXPECT_EQ(up_to(15).locations.size(), 16U);
  EXPECT_THROW(static_cast<void>(up_to(16)), model::error);
}

// A view of a temporary would refer to a destroyed test.
template <class Test>
concept viewed_as_temporary = requires(Test test) { std::move(test).view(); };
static_assert(!viewed_as_temporary<model::litmus_test>);

TEST(litmus_test, has_views_that_are_independent_of_each_other) {
  const model::litmus_test test = model::named_test(relaxed_store_buffering, "SB");
  const model::test_view one = test.view();
  const model::test_view other = test.view();
  EXPECT_NE(&*one.program.threads.begin(), &*other.program.threads.begin()) << "two views share the list of threads";
  EXPECT_EQ(model::decide(one).reachable, model::decide(other).reachable);
}

}  // namespace named_test
