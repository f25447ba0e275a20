// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "refused.hpp"

#include <membar/memory_order.hpp>

void take(membar::acquire_t) {}

template <membar::load_order Order>
void load(Order) {}

int main() {
  // expect: would use explicit constructor
  REFUSED(braces_name_no_order, take({}));
  take(membar::acquire);
  // expect: could not convert
  REFUSED(an_order_is_a_tag_and_not_a_value, take(membar::memory_order::acquire));
  take(membar::acquire_t{});
  // expect: load_order
  REFUSED(a_load_releases_nothing, load(membar::release));
  load(membar::seq_cst);
}
