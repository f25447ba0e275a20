// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "refused.hpp"

#include <membar/deadlock/recorder.hpp>
#include <membar/symmetric/collective_launch.hpp>
#include <membar/symmetric/host_copy.hpp>
#include <membar/symmetric/peer_backend.hpp>
#include <membar/symmetric/stream_guard.hpp>

#include <tuple>
#include <vector>

namespace symmetric = membar::symmetric;

void kernel(int) {}

void use(symmetric::peer_backend& gpus, symmetric::span<int> data,
         [[maybe_unused]] symmetric::span<symmetric::signal<symmetric::set>> signals, membar::deadlock::recorder& recorder,
         symmetric::stream_guard& team, cudaStream_t stream) {
  const std::vector<int> values(data.size());
  // expect: membar: signals, counters and other words cannot be copied:
  REFUSED(words_are_not_filled_by_the_host, symmetric::fill_bytes(signals, 0, stream));
  symmetric::fill_bytes(data, 0, stream);
  // expect: no matching function for call to
  REFUSED(a_copy_goes_to_the_own_symmetric_address, symmetric::copy_to(data.at(symmetric::pe(1)), values, stream));
  symmetric::copy_to(data, values, stream);
  // expect: no matching function for call to
  REFUSED(a_copy_keeps_the_type, symmetric::copy_to(data, std::vector<float>(data.size()), stream));
  symmetric::copy_to(data, std::vector<int>(data.size()), stream);
  // expect: an integer is not a PE, because it could also be a value or a device: write
  REFUSED(a_pe_is_no_integer, recorder.work(0, stream));
  recorder.work(symmetric::pe(0), stream);
  // expect: membar: each argument of a launch must convert
  REFUSED(a_collective_launch_passes_what_the_kernel_takes,
          symmetric::collective_launch(gpus, {1, 32}, {}, kernel, [](symmetric::pe) { return std::tuple("one"); }));
  symmetric::collective_launch(gpus, {1, 32}, {}, kernel, [](symmetric::pe) { return std::tuple(1); });
  const auto held = team.on(stream);
  // expect: use of deleted function
  REFUSED(a_hold_is_not_copied, const auto copy = held);
}

int main() {}
