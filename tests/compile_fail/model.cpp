// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "refused.hpp"

#include <membar/model/witness.hpp>

namespace model = membar::model;
using membar::acquire;
using membar::relaxed;
using membar::release;
using model::in;

constexpr auto device = membar::thread_scope::device;
constexpr model::variable x{0}, y{1};
constexpr model::reg r0{0}, r1{1};

template <class Order>
constexpr auto message_passing(Order order) {
  return model::litmus(model::thread(model::block(0), model::store<device>(x, 1, relaxed), model::store<device>(y, 1, order)),
                       model::thread(model::block(1), model::load<device>(r0, y, acquire), model::load<device>(r1, x, relaxed)))
      .when(in(1, r0) == 1 && in(1, r1) == 0);
}
constexpr auto proven = message_passing(release);
constexpr auto weak = message_passing(relaxed);
constexpr auto racing =
    model::litmus(model::thread(model::block(0), model::store(x, -5)), model::thread(model::block(1), model::store(x, 2)))
        .when(model::in_memory(x) == -5);

static_assert(model::require_forbidden<proven>());
static_assert(model::require_race_free<proven>());

// expect: P0 writes x=1, y=1; P1 reads y=1 of P0, x=0 initially
REFUSED(an_allowed_condition_names_who_reads_what, static_assert(model::require_forbidden<weak>()));
// expect: P0 writes x=-5; P1 writes x=2; in the end x=-5
REFUSED(an_allowed_condition_names_the_final_memory, static_assert(model::require_forbidden<racing>()));
// expect: instruction 1 and P1
REFUSED(a_race_names_its_two_accesses, static_assert(model::require_race_free<racing>()));

static constexpr auto long_values =
    model::litmus(
        model::thread(
            model::block(0), model::store(x, 123456789012345678), model::store(x, 123456789012345678),
            model::store(x, 123456789012345678), model::store(x, 123456789012345678), model::store(x, 123456789012345678),
            model::store(x, 123456789012345678), model::store(x, 123456789012345678), model::store(x, 123456789012345678),
            model::store(x, 123456789012345678), model::store(x, 123456789012345678), model::store(x, 123456789012345678),
            model::store(x, 123456789012345678), model::store(x, 123456789012345678), model::store(x, 123456789012345678),
            model::store(x, 123456789012345678), model::store(x, 123456789012345678), model::store(x, 123456789012345678),
            model::store(x, 123456789012345678), model::store(x, 123456789012345678), model::store(x, 123456789012345678)))
        .when(model::in_memory(x) == 123456789012345678);
// expect: ..."
REFUSED(a_witness_without_room_ends_in_dots, static_assert(model::require_forbidden<long_values>()));
