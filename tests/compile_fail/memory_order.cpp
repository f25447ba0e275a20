// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <membar/memory_order.hpp>

void take(membar::acquire_t) {}

template <membar::load_order Order>
void load(Order) {}

int main() {
#ifdef RULE_braces_name_no_order  // expect: would use explicit constructor
  take({});
#else
  take(membar::acquire);
#endif
#ifdef RULE_an_order_is_a_tag_and_not_a_value  // expect: could not convert
  take(membar::memory_order::acquire);
#else
  take(membar::acquire_t{});
#endif
#ifdef RULE_a_load_releases_nothing  // expect: load_order
  load(membar::release);
#else
  load(membar::seq_cst);
#endif
}
