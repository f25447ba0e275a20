// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <membar/access_policy_window.hpp>
#include <membar/launch.hpp>
#include <membar/managed_memory.hpp>
#include <membar/mapped_memory.hpp>

struct owner {
  ~owner() {}
};

void kernel() {}

int main() {
#ifdef RULE_mapped_memory_runs_no_destructor  // expect: membar: mapped memory holds a trivially copyable and destructible type
  membar::mapped_memory<owner> words(1);
#else
  membar::mapped_memory<int> words(1);
#endif
#ifdef RULE_managed_memory_runs_no_destructor  // expect: membar: managed memory holds a trivially copyable and destructible
  membar::managed_memory<owner> pages(1);
#else
  membar::managed_memory<int> pages(1);
#endif
#ifdef RULE_mapped_memory_is_not_copied  // expect: use of deleted function
  const membar::mapped_memory<int> copy = words;
#else
  const membar::mapped_memory<int> moved = static_cast<membar::mapped_memory<int>&&>(words);
#endif

  const membar::access_policy_window window;
#ifdef RULE_a_launch_has_one_window  // expect: membar: this launch was given the attribute before
  membar::launch(membar::launch_config{1, 1}.with(window).with(window), kernel);
#else
  membar::launch(membar::launch_config{1, 1}.with(window), kernel);
#endif
#ifdef RULE_a_set_aside_has_a_name  // expect: give it a name
  membar::l2_set_aside(0, 1024);
#else
  const membar::l2_set_aside hold(0, 1024);
#endif
#ifdef RULE_a_plan_is_of_a_range  // expect: memory_range
  static_cast<void>(membar::window_over(7));
#else
  static_cast<void>(membar::window_over(pages));
#endif
}
