// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <membar/symmetric/collective_launch.hpp>
#include <membar/symmetric/deadlock/recorder.hpp>
#include <membar/symmetric/host_copy.hpp>
#include <membar/symmetric/peer_backend.hpp>
#include <membar/symmetric/stream_guard.hpp>

#include <tuple>
#include <vector>

void kernel(int) {}

void use(membar::symmetric::peer_backend& gpus, membar::symmetric::span<int> data,
         membar::symmetric::span<membar::symmetric::signal<membar::symmetric::set>> signals,
         membar::symmetric::deadlock::recorder& recorder, membar::symmetric::stream_guard& team, cudaStream_t stream) {
  const std::vector<int> values(data.size());
#ifdef RULE_words_are_not_filled_by_the_host  // expect: membar: signals, counters and other words are not copied
  membar::symmetric::fill_bytes(signals, 0, stream);
#else
  static_cast<void>(signals);
  membar::symmetric::fill_bytes(data, 0, stream);
#endif
#ifdef RULE_a_copy_goes_to_the_own_symmetric_address  // expect: no matching function for call to
  membar::symmetric::copy_to(data.at(membar::symmetric::pe(1)), values, stream);
#else
  membar::symmetric::copy_to(data, values, stream);
#endif
#ifdef RULE_a_copy_keeps_the_type  // expect: no matching function for call to
  membar::symmetric::copy_to(data, std::vector<float>(data.size()), stream);
#else
  membar::symmetric::copy_to(data, std::vector<int>(data.size()), stream);
#endif
#ifdef RULE_a_pe_is_no_integer  // expect: cannot convert
  recorder.work(0, stream);
#else
  recorder.work(membar::symmetric::pe(0), stream);
#endif
#ifdef RULE_a_collective_launch_passes_what_the_kernel_takes  // expect: membar: each argument of a launch must convert
  membar::symmetric::collective_launch(gpus, {1, 32}, {}, kernel, [](membar::symmetric::pe) { return std::tuple("one"); });
#else
  membar::symmetric::collective_launch(gpus, {1, 32}, {}, kernel, [](membar::symmetric::pe) { return std::tuple(1); });
#endif
#ifdef RULE_a_hold_is_not_copied  // expect: use of deleted function
  const auto held = team.on(stream);
  const auto copy = held;
#else
  const auto held = team.on(stream);
#endif
}

int main() {}
