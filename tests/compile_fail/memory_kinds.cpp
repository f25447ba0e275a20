// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "refused.hpp"

#include <membar/access_policy_window.hpp>
#include <membar/launch.hpp>
#include <membar/managed_memory.hpp>
#include <membar/mapped_memory.hpp>

using namespace membar;

struct owner {
  ~owner() {}
};

void kernel() {}

int main() {
  // expect: membar: mapped memory needs a trivially copyable and trivially destructible type,
  REFUSED(mapped_memory_runs_no_destructor, mapped_memory<owner> refused_words(1));
  mapped_memory<int> words(1);
  // expect: membar: managed memory needs a trivially copyable and trivially destructible
  REFUSED(managed_memory_runs_no_destructor, managed_memory<owner> refused_pages(1));
  managed_memory<int> pages(1);
  // expect: use of deleted function
  REFUSED(mapped_memory_is_not_copied, const mapped_memory<int> refused_copy = words);
  const mapped_memory<int> moved = static_cast<mapped_memory<int>&&>(words);

  const access_policy_window window;
  // expect: membar: this launch already sets this attribute, or sets a domain
  REFUSED(a_launch_has_one_window, launch(launch_config{1, 1}.with(window).with(window), kernel));
  launch(launch_config{1, 1}.with(window), kernel);
  // expect: destroying this object ends the set-aside: give the object a name
  REFUSED(a_set_aside_has_a_name, l2_set_aside(0, 1024));
  const l2_set_aside hold(0, 1024);
  // expect: memory_range
  REFUSED(a_plan_is_of_a_range, static_cast<void>(window_over(7)));
  static_cast<void>(window_over(pages));
}
